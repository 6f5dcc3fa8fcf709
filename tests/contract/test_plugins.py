"""What an installed package registers works for ``hush`` itself: strategy, reconstruction, decider, kind of data."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable import plugins

PLUGIN = """
from fractions import Fraction
import numpy as np
from hushtable import deciders, planning, reconstruct
from hushtable.kernel import sources
from hushtable.kernel.sources.text_opener import TextOpener

class Thrifty(planning.Strategy):
    name = "thrifty"
    reconstruction = "whole"

    def gaussian(self, workload, rho, rows, options):
        return planning.plan_residuals(workload, rho=rho / 2, objective=options.objective, rows=rows)

class Whole:
    def __init__(self, estimates):
        self._estimates = estimates

    def estimate_all(self, layout):
        return np.rint(self._estimates.estimate_all(layout))

class CountOnce(deciders.AdditiveDecider, deciders.NoisyDecider):
    name, aggregate, summary = "count-once", deciders.COUNT, "a noisy count"

    @property
    def noise(self):
        return (1 / Fraction(self.epsilon),)

    def decide(self, tally, noise):
        return self.interval.contains(tally.rows + noise[0])

    def probability(self, tally):
        return 0.5

class Listing(TextOpener):
    name, what, suffixes = "listing", "a listing", (".listing",)

planning.register(Thrifty())
reconstruct.register(reconstruct.Reconstruction("whole", "rounded noisy count", lambda e, sets, zeros: Whole(e)))
deciders.register(CountOnce)
sources.register(Listing())
"""
KNOWN = ["--schema", "people.yaml", "--ledger", "people.ledger"]


@pytest.fixture
def desk(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> Path:
    """Confidential data of a kind that only the plugin knows, and a folder where packages are installed."""
    small_frame.write_csv(tmp_path / "people.listing")
    small_frame.write_csv(tmp_path / "records.csv")
    small_schema.save(tmp_path / "people.yaml")
    ht.Ledger.create(tmp_path / "people.ledger", ht.ApproxDP(epsilon=20, delta=1e-9, pure=5))
    install(tmp_path / "installed", PLUGIN)
    return tmp_path


def install(place: Path, module: str) -> None:
    """A distribution as an installer leaves it."""
    facts = place / "hush_extras-1.0.dist-info"
    facts.mkdir(parents=True, exist_ok=True)
    (place / "hush_extras.py").write_text(module)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: hush-extras\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[hushtable.plugins]\nextras = hush_extras\n")


def hush(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(filter(None, (str(folder / "installed"), os.environ.get("PYTHONPATH"))))
    told = [sys.executable, "-c", "from hushtable.cli import main; main()", *words]
    env = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(told, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.long
def test_a_command_works_with_what_an_installed_package_registers(desk: Path) -> None:
    asked = ["--order", "1", "--budget", "rho=0.1", "--strategy", "thrifty"]
    made = hush(desk, "release", "people.listing", *KNOWN, *asked, "--out", "out", "--no-report", "--json")
    assert made.returncode == 0, made.stderr
    card = json.loads(made.stdout)["card"]
    assert card["plan"]["strategy"] == "thrifty" and card["reconstruct"] == "whole"
    assert float(card["charged"]["rho"]) == pytest.approx(0.05, abs=1e-9)
    table = hush(desk, "table", "out", "sex", "--json")
    assert all(row["estimate"] == round(row["estimate"]) for row in json.loads(table.stdout)["rows"]), table
    checked = ["--synthetic", "records.csv", "--query", "COUNT", "--tau", "50", "--budget", "epsilon=2"]
    said = hush(desk, "check", "people.listing", *KNOWN, *checked, "--decider", "count-once", "--json")
    assert json.loads(said.stdout)["verdicts"][0]["decider"] == "count-once", said.stderr
    assert "thrifty" in hush(desk, "release", "--help").stdout


@pytest.mark.long
def test_a_plugin_that_cannot_be_loaded_is_named_and_only_where_it_is_needed(desk: Path) -> None:
    install(desk / "installed", "import no_such_library\n")
    planned = hush(desk, "plan", "--schema", "people.yaml", "--order", "1", "--budget", "rho=0.1")
    assert planned.returncode == 1 and planned.stdout == "" and "Traceback" not in planned.stderr
    assert (
        "'extras'" in planned.stderr
        and "hush_extras" in planned.stderr
        and "[plugin.broken]" in planned.stderr
    )
    assert hush(desk, "--version").returncode == 0
    assert hush(desk, "table", "nowhere", "--alpha", "2").returncode == 2


@pytest.mark.parametrize("kind", ["dist-info", "egg-info"])
def test_a_plugin_is_found_as_any_installer_leaves_it(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert not plugins._is_named()
    (tmp_path / "other.dist-info" / "entry_points.txt").mkdir(parents=True)  # cannot be read as a file
    facts = tmp_path / f"hush_extras.{kind}"
    facts.mkdir()
    (facts / "entry_points.txt").write_text("[hushtable.plugins]\nextras = hush_extras\n")
    assert plugins._is_named()
