"""The reference pages are what the source says, and nothing public is missing from them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import jsonschema
import polars as pl
import pytest
from pages import ROOT

import hushtable

PATH = ROOT / "docs" / "write_reference.py"


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_reference", PATH)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_of_the_library_is_up_to_date(writer: ModuleType) -> None:
    page = writer.LIBRARY.read_text(encoding="utf-8")
    assert page == writer.library_page(), "run `make docs`"


def test_the_reference_of_the_command_line_is_up_to_date(writer: ModuleType) -> None:
    page = writer.COMMANDS.read_text(encoding="utf-8")
    assert page == writer.commands_page(), "run `make docs`"


def test_the_reference_of_the_deciders_is_up_to_date(writer: ModuleType) -> None:
    page = writer.DECIDERS_PAGE.read_text(encoding="utf-8")
    assert page == writer.deciders_page(), "run `make docs`"
    assert all(f"| `{name}` |" in page for name in hushtable.deciders.DECIDERS)


def test_the_reference_of_what_is_registered_is_up_to_date(writer: ModuleType) -> None:
    page = writer.STRATEGIES_PAGE.read_text(encoding="utf-8")
    assert page == writer.strategies_page(), "run `make docs`"
    names = [*writer.STRATEGIES, *writer.RECONSTRUCTIONS, *writer.FAMILIES]
    assert [name for name in names if f"| `{name}` |" not in page] == []


@pytest.mark.long
def test_the_schema_of_a_manifest_is_up_to_date_and_fits_what_is_written(
    writer: ModuleType, tmp_path: Path, small_schema: hushtable.Schema, small_frame: pl.DataFrame
) -> None:
    text = writer.RELEASE_SCHEMA.read_text(encoding="utf-8")
    assert text == writer.release_schema(), "run `make docs`"
    assert all(f'"{name}"' in text for name in (*writer.STRATEGIES, *writer.RECONSTRUCTIONS))
    session = hushtable.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "l", budget=hushtable.ZCDP(1)
    )
    pairs = hushtable.Workload.all_marginals(small_schema, order=2)
    for strategy in writer.STRATEGIES:
        out = tmp_path / strategy
        session.release(pairs, budget=hushtable.ZCDP("0.1"), strategy=strategy).save(out)
        manifest = json.loads((out / "release.json").read_text(encoding="utf-8"))
        jsonschema.validate(manifest, json.loads(text))
        del manifest["card"]["ledger"]
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(manifest, json.loads(text))


def test_every_public_name_is_in_the_reference(writer: ModuleType) -> None:
    page = writer.LIBRARY.read_text(encoding="utf-8")
    wanted = [name for name in hushtable.__all__ if not name.startswith("_")]
    assert [n for n in wanted if f"`{n}" not in page and f"## ht.{n}\n" not in page] == []


def test_every_contract_function_is_in_the_reference_with_a_sentence(writer: ModuleType) -> None:
    page = writer.LIBRARY.read_text(encoding="utf-8")
    contract = {
        "marginals": ("decompose", "reconstruct"),
        "planning": ("conditional_plan", "residual_plan"),
        "linear": (
            "LinearGaussian",
            "answerable",
            "equivalent",
            "common",
            "residual",
            "recreate",
            "budget_saved",
        ),
        "microdata": ("Measurement", "Noise", "fit", "lower_bound", "upper_bound"),
        "deciders": ("probability_satisfied", "effectiveness_threshold"),
        "privacy": ("rho_from", "epsilon_from", "discrete_gaussian", "discrete_laplace"),
    }
    for package, names in contract.items():
        section = page.partition(f"\n## ht.{package}\n")[2].partition("\n## ")[0]
        for name in names:
            assert re.search(rf"^- \*\*`{name}\(.*\)`\*\*: \S", section, re.MULTILINE), f"{package}.{name}"


def test_every_public_name_has_a_sentence(writer: ModuleType) -> None:
    page = writer.LIBRARY.read_text(encoding="utf-8")
    assert re.findall(r"^- \*\*`.*`\*\*: *$", page, re.MULTILINE) == []


def test_every_command_has_an_example_and_every_option_a_meaning(writer: ModuleType) -> None:
    page = writer.COMMANDS.read_text(encoding="utf-8")
    for words, command in writer.commands():
        assert f"## {words}\n" in page
        assert command.epilog, f"{words} has no example"
        for parameter in command.params:
            assert parameter.help, f"{words} {parameter.name} has no meaning"
            for flag in parameter.opts:
                assert not flag.startswith("--") or flag in page


def test_the_page_of_routes_is_the_table_that_the_service_enforces(writer) -> None:
    assert writer.ROUTES_PAGE.read_text(encoding="utf-8") == writer.routes_page()
