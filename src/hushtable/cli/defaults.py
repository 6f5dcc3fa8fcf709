"""``hush.toml``: flags that need not be typed again, from the table ``[defaults]`` of a file beside the data.

    [defaults]
    schema = "people.yaml"
    ledger = "people.ledger"
    budget = "rho=0.1"

It is looked for in the folder of DATA and then in the present one.  What is typed goes first; a command says which
flags it took from the file.  Paths in it are from its own folder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import click

from hushtable.addresses import is_file
from hushtable.cli.output import note
from hushtable.errors import UsageError

FILE = "hush.toml"
PATHS = ("data", "schema", "ledger", "workload", "synthetic")
OTHERS = (
    "budget",
    "order",
    "strategy",
    "reconstruct",
    "objective",
    "alpha",
    "spender",
    "tau",
    "decider",
    "memory",
)
KEYS = (*PATHS, *OTHERS)
"""What may have a default: what stays the same from command to command.  Nothing that writes, ends or pays again."""
_TYPED = tuple("as" if name == "spender" else name for name in KEYS)
"""The same as a curator types them."""


def defaults_for(context: click.Context, arguments: Sequence[str]) -> dict[str, Any]:
    """The defaults of a command's parameters; {} where there is no file.

    ``hush ledger`` takes its ledger alone from there: what a dataset may spend in all is no default.
    """
    above = context.parent.info_name if context.parent is not None else None
    known = ("ledger",) if above == "ledger" else KEYS
    wanted = {parameter.name for parameter in context.command.params}.intersection(known)
    file = _file(arguments) if wanted else None
    if file is None:
        return {}
    return {name: value for name, value in _read(file).items() if name in wanted}


def tell_used(context: click.Context) -> None:
    """Say which flags came from the file, so that nothing is spent by a file that nobody thought of."""
    used = [
        parameter.opts[0] if parameter.param_type_name == "option" else (parameter.metavar or "")
        for parameter in context.command.params
        if parameter.name
        and context.get_parameter_source(parameter.name) == click.core.ParameterSource.DEFAULT_MAP
    ]
    if used:
        note(f"From {FILE}: {', '.join(used)}.")


def _file(arguments: Sequence[str]) -> Path | None:
    """The nearest file: beside the data, which is the first argument, or here."""
    given = [
        Path(word).parent for word in arguments[:1] if word and not word.startswith("-") and "://" not in word
    ]
    places = (folder / FILE for folder in (*given, Path()))
    return next((place for place in places if is_file(place)), None)


def _read(file: Path) -> Mapping[str, Any]:
    import tomllib

    try:
        text = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(
            "usage.defaults",
            f"{FILE} cannot be read.",
            f'Write a table [defaults] with lines such as {KEYS[1]} = "x".',
        ) from None
    _refuse_elsewhere(text)
    table = text.get("defaults", {})
    if not isinstance(table, dict):
        raise UsageError(
            "usage.defaults", f"[defaults] of {FILE} is no table.", "Write [defaults] on a line."
        )
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", table).items():
        name = "spender" if key == "as" else key
        if name not in KEYS:
            near = get_close_matches(key, _TYPED, n=1)
            meant = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(
                "usage.defaults",
                f"{FILE} has a default that no command takes.{meant}",
                f"Known: {', '.join(_TYPED)}.",
            )
        found[name] = _placed(file.parent, value) if name in PATHS else value
    return found


def _refuse_elsewhere(text: Mapping[str, Any]) -> None:
    """A default above all tables, or in one whose name is nearly that of ours; a service has others in its file."""
    near = [name for name in get_close_matches("defaults", text, n=1) if name != "defaults"]
    loose = [name for name, value in text.items() if name in KEYS and not isinstance(value, dict)]
    if near or loose:
        raise UsageError(
            "usage.defaults",
            f"{FILE} has {f'[{near[0]}]' if near else loose[0]} where [defaults] is looked for.",
            f'Write a table [defaults] with lines such as {KEYS[1]} = "x".',
        )


def _placed(folder: Path, value: Any) -> Any:
    if not isinstance(value, str) or "://" in value or folder == Path():
        return value
    return str(folder / value)
