"""A name of a module or a type has one home, and a package is used through its ``__init__``."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from source_trees import ROOT, SOURCE, modules, parsed, text_of

from hushtable.cli.app import app

COMMANDS = {Path("cli", f"{name}.py") for name in app.commands}
"""A command's module has the command's name, also where a package has it."""
PAST = {
    (
        "kernel/sources/written.py",
        "schema.day_formats",
    ): "a loop is compiled anew when a source that it names changes"
}
"""Imports that reach past an ``__init__``, and why."""
MEASURED = {
    "kernel.draw": "what draws, without a ledger",
    "kernel.run": "the loop, stopped at its instructions",
    "kernel.select": "scores of candidates, without a run",
    "kernel.sources.tallying": "one exact answer",
    "kernel.tabulate": "counting alone",
    "kernel.weighing": "summing alone",
    "planning.aim": "what the published loop skips",
    "planning.exact_plans": "rounding as the loop does it",
    "planning.problem": "prices of residuals",
    "planning.round_loops": "one round of the loop",
    "deciders.on_margin": "a threshold without its question",
    "privacy.bits": "the source of bits, replaced by a known one",
    "privacy.sampler": "the threads of long draws, set to one",
    "cli.app": "the command line itself",
    "cli.parameters": "the command line itself",
    "cli.simulate": "the town of the demonstration",
}
"""Insides that a benchmark times, replaces or documents for themselves; all else it uses as anybody does."""
ONE_IDEA = {
    "aim": "the strategy, and the loop that it runs",
    "auto": "the same",
    "bundle": "what a bundle is, and what is read of one",
    "count": "the aggregate, and the deciders of its questions",
    "draw": "an entry says that the kernel drew",
    "measurement": "one of many, and the package of all",
    "microdata": "records, and the package that makes them",
    "preflight": "what was found, and the look that finds it",
    "program": "the numbers of a quadratic program, and its solution",
    "queries": "released answers to questions, and their language",
    "select": "the request, and how the kernel answers it",
    "store": "the entry that a payload was stored, and what stores it",
    "workloadfile": "the flag, and the file that it names",
    "rehearsal": "the module runs one, the type is what it found",
}
"""A module and a type of one name in two places, because they are about one thing; names without letter case."""
TWO_IDEAS = {
    "account",
    "addresses",
    "asked",
    "asking",
    "batch",
    "confidential",
    "counts",
    "curve",
    "flags",
    "guard",
    "intervals",
    "kinds",
    "margins",
    "names",
    "parquetfiles",
    "places",
    "promise",
    "readers",
    "record",
    "registry",
    "rows",
    "rules",
    "slots",
    "tables",
    "targets",
    "text",
    "textfiles",
    "texts",
    "uniform",
    "values",
    "writing",
    "written",
}
"""The same where they are about two things: fewer with time, never more."""
EXACT = "privacy/amounts.py"
"""The module that knows that a float means the decimal it prints as."""
COPIED = (
    "engine_in_pieces.py",
    "foreign_counters.py",
    "foreign_stores.py",
    "test_new_family.py",
    "test_new_format.py",
    "test_new_reconstruction.py",
    "test_new_strategy.py",
    "test_plugins.py",
)
"""Examples of what somebody else adds, for others to copy."""


def homes() -> dict[str, set[Path]]:
    """Where modules and types have their names; a package and its module of the same name are one home."""
    found: defaultdict[str, set[Path]] = defaultdict(set)
    for file, tree in modules().items():
        home = file.parent if file.stem in ("__init__", file.parent.name) else file.with_suffix("")
        if file not in COMMANDS:
            found[home.name].add(home)
        for name in types_in(tree):
            found[name].add(file)
    return found


def types_in(tree: ast.Module) -> Iterator[str]:
    """Classes of a module, and its names for types of others, which are written like a class."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            for name in node.targets:
                if isinstance(name, ast.Name) and re.match("[A-Z].*[a-z]", name.id):
                    yield name.id


def offered(package: Path) -> set[str]:
    """Names that a package's ``__init__`` holds."""
    names: set[str] = set()
    for node in ast.walk(modules()[package / "__init__.py"]):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def imported(tree: ast.AST) -> Iterator[tuple[tuple[str, ...], str]]:
    """What a module imports from packages of the house: the module's path and the name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("hushtable."):
            for alias in node.names:
                yield tuple(node.module.split(".")[1:]), alias.name


def past(file: Path, tree: ast.AST) -> Iterator[str]:
    """What a module imports from the inside of another package; a package inside its own is its own."""
    for path, name in imported(tree):
        package = Path(*path)
        if path[0] == file.parts[0] or not (SOURCE / path[0]).is_dir():
            continue
        if not (SOURCE / package).is_dir():
            yield ".".join(path)
        elif name not in offered(package):
            yield ".".join((*path, name))


def test_a_name_of_a_module_or_a_type_has_one_home() -> None:
    assert {name: places for name, places in homes().items() if len(places) > 1} == {}


def test_a_module_and_a_type_of_one_name_are_about_one_thing() -> None:
    """Blind to letter case and underscores, as readers are; a type in the module or package of its name is at home."""
    folded: defaultdict[str, set[Path]] = defaultdict(set)
    for name, places in homes().items():
        if not name.startswith("_"):
            folded[name.lower().replace("_", "")] |= {place.parent / place.stem for place in places}
    found = {
        name
        for name, places in folded.items()
        if len([place for place in places if not any(other in place.parents for other in places)]) > 1
    }
    assert found == set(ONE_IDEA) | TWO_IDEAS


def decimals(tree: ast.AST) -> list[str]:
    """Where a number is read as the decimal that it prints as."""
    written = ("str", "repr", "float.__repr__")
    return [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Fraction"
        and node.args
        and isinstance(node.args[0], ast.Call)
        and ast.unparse(node.args[0].func) in written
    ]


def test_what_a_float_means_has_one_home() -> None:
    assert {file.as_posix() for file, tree in modules().items() if decimals(tree)} <= {EXACT}
    assert decimals(parsed("Fraction(repr(float(x))) + Fraction(str(x)) + Fraction(x)")) == [
        "Fraction(repr(float(x)))",
        "Fraction(str(x))",
    ]


def test_a_package_is_used_through_its_init() -> None:
    found = {(file.as_posix(), name) for file, tree in modules().items() for name in past(file, tree)}
    assert found == set(PAST)


def test_benchmarks_and_pages_reach_inside_for_what_they_measure_alone() -> None:
    files = [*ROOT.joinpath("bench").rglob("*.py"), *ROOT.joinpath("docs").rglob("*.py")]
    found = {name for file in files for name in past(Path(file.name), parsed(text_of(file)))}
    assert found == set(MEASURED)


@pytest.mark.parametrize("name", COPIED)
def test_what_others_copy_uses_packages_through_their_init_too(name: str) -> None:
    text = (Path(__file__).parent / name).read_text("utf-8")
    quoted = [node.value for node in ast.walk(parsed(text)) if isinstance(node, ast.Constant)]
    brought = [part for part in quoted if isinstance(part, str) and "import" in part and ".register(" in part]
    found = {each for part in (text, *brought) for each in past(Path(name), parsed(part))}
    inside = {each for each in found if not SOURCE.joinpath(*each.split(".")).is_dir()}  # a package is none
    assert inside <= {"cli.app"}, "the command line is what the test calls"


def test_only_axes_ask_whether_lengths_are_those_of_levels() -> None:
    found = {
        file.as_posix()
        for file, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and "Axes" in {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    }
    assert found == {"axes.py"}


def test_the_rule_sees_what_it_is_for() -> None:
    def seen(text: str, file: str = "kernel/x.py") -> list[str]:
        return list(past(Path(file), parsed(text)))

    assert seen("from hushtable.schema.write import block") == ["schema.write"]
    assert seen("from hushtable.schema import write") == ["schema.write"]
    assert seen("from hushtable.schema import Schema\nfrom hushtable.errors import SchemaError") == []
    assert seen("from hushtable.schema.write import block", "schema/x.py") == []
    written = "class Step: ...\nPlaces = NDArray[np.int32]\nMOST = 3\nT = TypeVar('T')\nx = int"
    assert list(types_in(parsed(written))) == ["Step", "Places"]
