"""A name of a module or a type has one home, and a package is used through its ``__init__``."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from hushtable.cli.app import app

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hushtable"
MODULES = [(file.relative_to(SOURCE), ast.parse(file.read_text("utf-8"))) for file in SOURCE.rglob("*.py")]
COMMANDS = {Path("cli", f"{name}.py") for name in app.commands}
"""A command's module has the command's name, also where a package has it."""
PAST = {
    (
        "kernel/sources/written.py",
        "schema.day_formats",
    ): "a loop is compiled anew when a source that it names changes"
}
"""Imports that reach past an ``__init__``, and why."""


def homes() -> dict[str, set[Path]]:
    """Where modules and types have their names; a package and its module of the same name are one home."""
    found: defaultdict[str, set[Path]] = defaultdict(set)
    for file, tree in MODULES:
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
    for node in ast.walk(dict(MODULES)[package / "__init__.py"]):
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


def test_a_package_is_used_through_its_init() -> None:
    found = {(file.as_posix(), name) for file, tree in MODULES for name in past(file, tree)}
    assert found == set(PAST)


def test_only_axes_ask_whether_lengths_are_those_of_levels() -> None:
    found = {
        file.as_posix()
        for file, tree in MODULES
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "isinstance"
        and "Axes" in {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    }
    assert found == {"axes.py"}


def test_the_rule_sees_what_it_is_for() -> None:
    def seen(text: str, file: str = "kernel/x.py") -> list[str]:
        return list(past(Path(file), ast.parse(text)))

    assert seen("from hushtable.schema.write import block") == ["schema.write"]
    assert seen("from hushtable.schema import write") == ["schema.write"]
    assert seen("from hushtable.schema import Schema\nfrom hushtable.errors import SchemaError") == []
    assert seen("from hushtable.schema.write import block", "schema/x.py") == []
    written = "class Step: ...\nPlaces = NDArray[np.int32]\nMOST = 3\nT = TypeVar('T')\nx = int"
    assert list(types_in(ast.parse(written))) == ["Step", "Places"]
