"""Between packages travel typed values: a dict of anything by name is for ``to_dict`` and ``from_dict`` alone."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from source_trees import modules

import hushtable

BY_TEXT = re.compile(r"\b(dict|Mapping|defaultdict)\[(str|Text), ")
SPOKEN = {"to_dict", "from_dict"}
KEPT_AS_JSON = {
    "Ledger.export": "every entry as its own to_dict",
    "Ledger.find": "the detail of an entry, as to_dict of its type wrote it",
    "Ledger.reserve": "the same",
    "Reservation": "the same, for ever: later versions read what earlier ones wrote",
    "Asking": "facts that are compared with the detail of an entry",
    "is_about": "the detail of an entry of any kind",
    "Line": "facts of a stored line, read by the request that asked it",
    "Request.facts": "the same, written",
    "Measure.facts": "the same",
    "Select.facts": "the same",
    "Compare.facts": "the same",
    "Decide.facts": "the same",
    "Family.facts": "the same, of a part of a choice",
    "Family.stored": "the same, read",
    "read_option": "an option as its own to_dict wrote it",
    "Family.read": "the same, by the family of the option",
    "Schema.of": "what a person writes as a schema",
    "Impossible": "the same",
    "SourceKind.dialect": "the same, for the self-test",
    "drawn": "charts as their library writes them, for a page",
    "drawn_figures": "the same",
    "dispatcher": "options of the compiler, handed on",
    "inner_dispatcher": "the same",
}
"""Values that are JSON: written by ``to_dict`` or a library, and handed on."""

BY_NAMES = {
    "About": "languages, and in each the attributes",
    "BackupReport": "datasets",
    "Boolean": "labels of values",
    "Bundle": "quantities that the schema sums",
    "Card": "packages whose versions it names",
    "Categorical": "labels of values",
    "Dependency": "labels of values",
    "Dependency.codes_of": "attributes",
    "Dependency.mapped": "attributes",
    "Header": "columns of the data",
    "Ledger.grants": "spenders",
    "Ledger.schemas": "hashes of schemas",
    "Manifest": "files of the bundle, with their hashes",
    "Release": "quantities that the schema sums",
    "ReleaseShown": "languages",
    "Schema": "attributes",
    "Schema.from_domain": "attributes",
    "TableRead": "queries",
    "Transcript.quantities": "quantities that the schema sums",
    "Users.members": "people",
    "Users.roles": "datasets",
    "Users.take_claimed": "datasets",
    "Worker": "datasets",
    "columns_of": "columns of the schema",
    "frame_from_codes": "attributes",
    "html_card": "words beside a value, in a notebook",
    "read_verdicts": "keys of questions",
    "settle": "attributes",
    "shared_columns": "attributes",
    "verdicts_of": "keys of questions",
}
"""No records: lookups by a name that a person or a hash gave, all values of one type; and whose names they are."""


@cache
def exported() -> dict[tuple[str, str], Any]:
    """What packages offer, and what one takes from another."""
    found: dict[tuple[str, str], Any] = {}
    for package in pkgutil.walk_packages(hushtable.__path__, "hushtable."):
        if package.ispkg:
            for name in getattr(import_module(package.name), "__all__", ()):
                found |= _looked_up(package.name, name)
    for file, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hushtable."):
                home = str(node.module).split(".")[1]
                if home != file.parts[0].removesuffix(".py"):
                    for alias in node.names:
                        found |= _looked_up(str(node.module), alias.name)
    return found


def _looked_up(package: str, name: str) -> dict[tuple[str, str], Any]:
    try:
        value = getattr(import_module(package), name)
    except ModuleNotFoundError as missing:
        if str(missing.name).startswith("hushtable"):
            raise
        return {}  # of an extra that is not installed here
    return {(getattr(value, "__module__", package), name): value}


def spelled(function: Callable[..., Any]) -> bool:
    return any(BY_TEXT.search(str(kind)) for kind in getattr(function, "__annotations__", {}).values())


def crossing(name: str, value: Any) -> Iterator[str]:
    """Where a value that a package offers takes, holds or gives things by name."""
    if inspect.isfunction(value) and spelled(value):
        yield name
    if not inspect.isclass(value):
        return
    if any(
        not k.startswith("_") and BY_TEXT.search(str(v)) for k, v in inspect.get_annotations(value).items()
    ):
        yield name
    for method, part in vars(value).items():
        function = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
        if not method.startswith("_") and method not in SPOKEN and function and spelled(function):
            yield f"{name}.{method}"


def test_no_record_crosses_a_package_as_a_dict() -> None:
    """All that is by name is either JSON that ``to_dict`` wrote, or a lookup by names that people gave."""
    found = {place for (_, name), value in exported().items() for place in crossing(name, value)}
    other = {place for place in found if not {place, place.split(".")[0]} & set(KEPT_AS_JSON)}
    assert sorted(other - set(BY_NAMES)) == []


def test_lookups_by_name_hold_values_of_one_type_and_are_all_there() -> None:
    found = {place for (_, name), value in exported().items() for place in crossing(name, value)}
    web = {"BackupReport", "ReleaseShown", "Users.members", "Users.roles", "Users.take_claimed", "Worker"}
    assert set(BY_NAMES) - web <= found, "what is gone from the source goes from the list"
    places = [(name, value) for (_, name), value in exported().items() if name in BY_NAMES]
    for name, value in places:
        assert not re.search(
            r"\[(str|Text), (Any|object|float)\]", str(getattr(value, "__annotations__", ""))
        ) or (name == "html_card"), name


def test_the_rule_sees_what_it_is_for() -> None:
    def gives() -> dict[str, Any]: ...

    class Held:
        card: dict[str, float]

        def to_dict(self) -> dict[str, Any]: ...
        def told(self) -> dict[str, Any]: ...

    assert list(crossing("gives", gives)) == ["gives"]
    assert list(crossing("Held", Held)) == ["Held", "Held.told"]
    names = {name for _, name in exported()}
    assert {"Card", "html_card", "settle"} <= names, "offered, of a module, and taken from another package"
