"""What an installed package registers works for ``hush`` itself: one of each kind that a registry knows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import hushtable as ht
from hushtable import plugins

PLUGIN = """
from fractions import Fraction
import numpy as np
from hushtable import deciders, linear, planning, reconstruct
from hushtable.kernel import sources
from hushtable.ledger import stores
from hushtable.release import choices, exports

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

class Listing(sources.TextOpener):
    name, what, suffixes = "listing", "a listing", (".listing",)

class Boxed(stores.SQLiteStore):
    schemes, what = ("box",), "box:NAME"

    def __init__(self, address, *, wait):
        super().__init__(f"{address.removeprefix('box:')}.boxed", wait=wait)
        self.place = address

class Cells(exports.ExportFormat):
    name, summary = "cells", "estimates alone"

    def write(self, book, folder):
        for table in book.tables():
            path = f"{table.stem}.txt"
            (folder / path).write_text("\\n".join(map(str, table.frame["estimate"])))
            yield exports.ExportFile(path, table.title, "text/plain", table.number)

    def reading(self, files):
        return exports.ReadingLines()

class Cuts(linear.BucketTable):
    kinds = ("cuts",)

class CutTables(choices.BucketTables):
    name, mechanism, example = "cuts", Cuts, "cuts: [age, 1, 3]"

    def text(self, option, names):
        return f"{option.variances.size - 1} cuts"

    def from_file(self, schema, wanted):
        axis = schema.names.index(wanted[0])
        every = [linear.buckets(n, wanted[1:] if i == axis else ()) for i, n in enumerate(schema.sizes)]
        plain = linear.bucket_table(every)
        return Cuts(plain.partitions, plain.variances, fixed=False)

planning.register(Thrifty())
reconstruct.register(reconstruct.Reconstruction("whole", "rounded noisy count", lambda e, sets, zeros: Whole(e)))
deciders.register(CountOnce)
sources.register(Listing())
stores.register(Boxed)
exports.register(Cells())
choices.register(CutTables())
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
def test_a_store_a_format_and_a_family_of_an_installed_package_work_too(desk: Path) -> None:
    def told(*words: str) -> dict[str, Any]:
        made = hush(desk, *words, "--json")
        assert made.returncode == 0, made.stderr
        return json.loads(made.stdout)

    known = ["--schema", "people.yaml", "--ledger", "box:people", "--budget", "rho=0.1"]
    told("ledger", "create", "box:people", "--budget", "rho=1")
    told(
        "release",
        "people.listing",
        *known,
        "--order",
        "1",
        "--strategy",
        "identity",
        "--out",
        "out",
        "--no-report",
    )
    exported = told("export", "out", "--format", "cells")
    assert exported["files"] and all(
        (desk / "out-cells" / one["path"]).is_file() for one in exported["files"]
    )
    (desk / "few.yaml").write_text("cuts: [age, 2]\n")
    (desk / "more.yaml").write_text("cuts: [age, 1, 2, 3]\n")
    asked = ["--options", "few.yaml", "more.yaml", "--request", "spring"]
    begun = told("choose", "people.listing", *known, *asked)
    assert [option["what"] for option in begun["options"]] == ["1 cuts", "3 cuts"]
    taken = told(
        "choose", "finish", "--ledger", "box:people", "--choice", "spring", "--option", "1", "--out", "taken"
    )
    assert taken["taken"] == 1
    shown = told("ledger", "show", "box:people")
    assert [spend["kind"] for spend in shown["spends"]] == ["release", "choose"]
    assert (desk / "people.boxed").is_file() and not list(desk.glob("box:*"))


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
