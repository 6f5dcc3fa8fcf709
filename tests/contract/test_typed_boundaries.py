"""Between packages travel typed values: a dict of anything by name is for ``to_dict`` and ``from_dict`` alone."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import hushtable

RECORD = re.compile(r"\b(dict|Mapping)\[str, Any\]")
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
}


def exported() -> Iterator[tuple[str, Any]]:
    """What packages offer, each once."""
    seen: set[int] = set()
    for package in pkgutil.walk_packages(hushtable.__path__, "hushtable."):
        if not package.ispkg:
            continue
        module = import_module(package.name)
        for name in getattr(module, "__all__", ()):
            try:
                value = getattr(module, name)
            except ModuleNotFoundError as missing:
                if str(missing.name).startswith("hushtable"):
                    raise
                continue  # of an extra that is not installed here
            if id(value) not in seen:
                seen.add(id(value))
                yield name, value


def spelled(function: Callable[..., Any]) -> bool:
    return any(RECORD.search(str(kind)) for kind in getattr(function, "__annotations__", {}).values())


def crossing(name: str, value: Any) -> Iterator[str]:
    """Where a value that a package offers takes, holds or gives a record as a dict."""
    if inspect.isfunction(value) and spelled(value):
        yield name
    if not inspect.isclass(value):
        return
    if any(
        not k.startswith("_") and RECORD.search(str(v)) for k, v in inspect.get_annotations(value).items()
    ):
        yield name
    for method, part in vars(value).items():
        function = part.fget if isinstance(part, property) else getattr(part, "__func__", part)
        if not method.startswith("_") and method not in SPOKEN and function and spelled(function):
            yield f"{name}.{method}"


def test_only_to_dict_and_what_is_kept_as_json_speak_in_dicts() -> None:
    found = {place for name, value in exported() for place in crossing(name, value)}
    other = [place for place in found if not {place, place.split(".")[0]} & set(KEPT_AS_JSON)]
    assert other == []


def test_the_rule_sees_what_it_is_for() -> None:
    def gives() -> dict[str, Any]: ...

    class Held:
        card: dict[str, Any]

        def to_dict(self) -> dict[str, Any]: ...
        def told(self) -> dict[str, Any]: ...

    assert list(crossing("gives", gives)) == ["gives"]
    assert list(crossing("Held", Held)) == ["Held", "Held.told"]
