"""Write the pages of ``docs/reference`` on the library, the commands and what is registered, from the source.

    python docs/write_reference.py

Every public name has its signature and the first sentence of its docstring; every command its arguments, options and
example; every registered decider, strategy, reconstruction and family of options what it is for.  What these pages say
is what ``help()`` and ``--help`` say.
"""

from __future__ import annotations

import enum
import inspect
import json
import re
import typing
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import hushtable
from hushtable.cli.app import app
from hushtable.cli.parameters import filled
from hushtable.deciders import DECIDERS, Decider, Interval, build
from hushtable.planning import STRATEGIES
from hushtable.reconstruct import RECONSTRUCTIONS
from hushtable.release import Manifest
from hushtable.release.choices import FAMILIES
from hushtable.service import table_of_routes
from hushtable.service.web.pages import table_of_pages

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "docs" / "reference" / "library.md"
COMMANDS = ROOT / "docs" / "reference" / "command-line.md"
DECIDERS_PAGE = ROOT / "docs" / "reference" / "deciders.md"
STRATEGIES_PAGE = ROOT / "docs" / "reference" / "strategies.md"
RELEASE_SCHEMA = ROOT / "docs" / "reference" / "release.schema.json"
ROUTES_PAGE = ROOT / "docs" / "reference" / "service-routes.md"
ROUTES_HEAD = """\
# Routes of the service

Who may use what of `hush serve`, and how far. `own`: what the person made. `own and published`: also releases that a
curator published. `published, once due`: releases from their release time on. `-`: denied with `auth.role`. A dataset
that somebody has no role in answers exactly like one that does not exist. A job is handed in with an `Idempotency-Key`
and answered with 202 and a `Location`. The same table decides in the code and is walked through in the tests.

This page is written by `python docs/write_reference.py`.

"""
PAGES_HEAD = """
## Pages

The pages for people, and the forms on them, behind the same guard.

"""
LIBRARY_HEAD = """\
# The library

`import hushtable as ht`. Budget parameters are keyword-only, except the one argument of `ZCDP` and `PureDP`. Functions
that take attribute numbers count them from 0 in schema order. Every error is a `HushtableError` with a stable code:
[error codes](errors.md). Files: [formats](formats.md), [schema](schema.md), [ledger](ledger.md).

This page is written by `python docs/write_reference.py`.

"""
COMMANDS_HEAD = """\
# The command line

Every command has `--help` with an example, and `--json` for one JSON object on standard output. Exit codes: 0 done,
1 refused with a code, 2 bad usage, 130 interrupted. Results go to standard output; progress and errors to standard
error. Messages never contain values of the data. `hush` alone says what to do first; `hush --version` prints the
version.

This page is written by `python docs/write_reference.py`.

"""

DECIDERS_HEAD = """\
# The deciders

Names for `--decider` and `decider=`. `auto` takes one of those that say so. Each is epsilon-DP for one row and can be
paid for in every currency; the last column is what epsilon 1 costs in rho, for values from 0 to 100. What a verdict by
it assumes: [check a number](../howto/check-a-number.md); why each is private: [proofs](../../proofs).

This page is written by `python docs/write_reference.py`.

| name | question | how it decides | from | `auto` takes it | rho |
|---|---|---|---|---|---|
"""
STRATEGIES_HEAD = """\
# Strategies, reconstructions and families of options

What is registered under a name. This page is written by `python docs/write_reference.py`.

"""
TAKEN = {
    "epsilon": "for a price in epsilon",
    "rho": "for a price in rho, or with a delta",
    "largest": "if `largest` makes its threshold the smallest",
    None: "",
}


def library_page() -> str:
    """Every name of ``hushtable.__all__``; for a package, every name of its own ``__all__``."""
    names = [name for name in hushtable.__all__ if not name.startswith("_")]
    objects = {name: getattr(hushtable, name) for name in names}
    packages = {name: value for name, value in objects.items() if isinstance(value, ModuleType)}
    plain = {name: value for name, value in objects.items() if name not in packages}
    parts = [LIBRARY_HEAD, "## ht\n\n", *(entry(name, value) for name, value in sorted(plain.items()))]
    for name, module in sorted(packages.items()):
        parts.append(f"\n## ht.{name}\n\n{sentence(module)}\n\n")
        parts += [entry(member, getattr(module, member)) for member in public_names(module)]
    return "".join(parts)


def public_names(module: ModuleType) -> list[str]:
    """What a package offers: its ``__all__``, or the classes and functions that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
    return sorted((n for n in listed if not n.startswith("_")), key=str.lower)


def entry(name: str, value: Any) -> str:
    """A line for a name, and one for each method of a class."""
    if inspect.isclass(value):
        return f"- **`{name}{signature(value)}`**: {sentence(value)}\n" + "".join(members(value))
    if callable(value) and not is_alias(value):
        return f"- **`{name}{signature(value)}`**: {sentence(value)}\n"
    return f"- **`{name}`**: {constant(value)}\n"


def members(kind: type) -> Iterator[str]:
    """The public methods and properties that a class defines itself."""
    if issubclass(kind, BaseException | enum.Enum | typing.Protocol):  # type: ignore[arg-type]
        return
    for name, raw in vars(kind).items():
        if name.startswith("_"):
            continue
        if isinstance(raw, property) or type(raw).__name__ == "cached_property":
            doc = sentence(raw.fget if isinstance(raw, property) else raw.func)
            yield f"  - `.{name}`{': ' + doc if doc else ''}\n"
        elif inspect.isfunction(raw) or isinstance(raw, classmethod | staticmethod):
            doc = sentence(getattr(kind, name))
            yield f"  - `.{name}{signature(getattr(kind, name))}`{': ' + doc if doc else ''}\n"


def signature(value: Any) -> str:
    """Parameters with their defaults and without their types, which would fill the page."""
    try:
        parameters = list(inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return ""
    if inspect.isclass(value) and (
        issubclass(value, BaseException) or getattr(value, "_is_protocol", False) or value.__doc__ is None
    ):
        return ""
    bare = [p.replace(annotation=p.empty) for p in parameters if p.name != "self"]
    text = str(inspect.Signature(bare))
    return re.sub(r"<factory>|<[^<>]* at 0x[0-9a-f]+>", "...", text)


def sentence(value: Any) -> str:
    """The first paragraph of a docstring, up to the end of its first sentence."""
    doc = inspect.getdoc(value) or ""
    first = " ".join(doc.split("\n\n")[0].split())
    plain = re.sub(r":[a-z]+:`([^`]+)`", r"`\1`", first).replace("``", "`")
    return re.split(r"(?<=[.?])\s+(?=[A-Z`])", plain)[0]


def is_alias(value: Any) -> bool:
    """Whether a name stands for a type that was put together from others."""
    return typing.get_origin(value) is not None


def constant(value: Any) -> str:
    """What a name that is neither class nor function stands for."""
    if isinstance(value, int | str | float):
        return f"`{value!r}`"
    if isinstance(value, Mapping):
        value = tuple(value)
    if isinstance(value, tuple | list | frozenset) and all(isinstance(v, str) for v in value):
        return ", ".join(f"`{v}`" for v in value)
    if is_alias(value) or "Union" in type(value).__name__:
        return f"stands for `{re.sub(r'hushtable[.a-z_]*[.]', '', str(value))}`"
    return f"a {type(value).__name__}"


def deciders_page() -> str:
    """Every registered decider."""
    return DECIDERS_HEAD + "".join(map(decider_row, DECIDERS.values()))


def decider_row(kind: type[Decider]) -> str:
    rho = build(kind.name, within=Interval(Fraction(50), Fraction(5)), epsilon=1, domain=range(101)).rho
    origin = "dp-pqd" if kind.published else "ours"
    cells = (f"`{kind.name}`", kind.aggregate.name.upper(), kind.summary, origin, TAKEN[kind.preferred])
    return f"| {' | '.join(cells)} | {float(rho):.3f} |\n"


def strategies_page() -> str:
    """Every registered strategy, reconstruction and family of options."""
    strategies = [
        (f"`{name}`", sentence(type(way)), f"`{way.reconstruction}`", yes(way.foreseen), yes(way.pays_pure))
        for name, way in STRATEGIES.items()
    ]
    ways = [(f"`{name}`", way.estimate) for name, way in RECONSTRUCTIONS.items()]
    families = [
        (
            f"`{name}`",
            sentence(type(family)),
            f"`{family.example}`" if family.example else "",
            yes(family.levels),
        )
        for name, family in FAMILIES.items()
    ]
    return STRATEGIES_HEAD + "\n".join(
        (
            table(
                "How a workload is measured: `--strategy`, `strategy=`",
                ("name", "what it does", "read by", "errors known beforehand", "pure epsilon"),
                strategies,
            ),
            table("How tables are read: `--reconstruct`, `reconstruct=`", ("name", "its estimates"), ways),
            table(
                "What a choice is between: `hush choose --options`, `Session.choose`",
                ("name", "an option", "in a file", "over levels"),
                families,
            ),
        )
    )


def yes(holds: bool) -> str:
    return "yes" if holds else ""


def table(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return f"## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def commands_page() -> str:
    """Every command with its options."""
    return COMMANDS_HEAD + "\n".join(command_text(words, command) for words, command in commands())


def commands() -> list[tuple[str, Any]]:
    """Every command that does something, with the words that call it."""
    found: list[tuple[str, Any]] = []

    def walk(words: str, command: Any) -> None:
        children = getattr(command, "commands", None)
        if children is None:
            found.append((words, command))
            return
        for name, child in children.items():
            walk(f"{words} {name}", child)

    walk("hush", app)
    return found


def command_text(words: str, command: Any) -> str:
    """One section: what it does, how it is called, its options, an example."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    needed = [f"{long_name(p)} {p.metavar}" for p in options if p.required]
    call = " ".join([words, *(shown(p) for p in arguments), *needed, "[OPTIONS]"])
    rows = [f"| `{p.metavar}` | {described(p)} |\n" for p in arguments]
    rows += [f"| `{flags(p)}` | {described(p)} |\n" for p in options]
    doc = " ".join((command.help or "").split())
    example = re.sub(r"^Examples?: ", "", " ".join((command.epilog or "").split()))
    shown_example = "".join(f"    {line}\n" for line in example.split("; ")) if example else ""
    table = "| argument or option | meaning |\n|---|---|\n" + "".join(rows)
    return f"## {words}\n\n{doc}\n\n    {call}\n\n{table}" + (
        f"\nFor example:\n\n{shown_example}" if example else ""
    )


def shown(parameter: Any) -> str:
    return parameter.metavar if parameter.required else f"[{parameter.metavar}]"


def long_name(parameter: Any) -> str:
    return max(parameter.opts, key=len)


def flags(parameter: Any) -> str:
    names = ", ".join(sorted(parameter.opts, key=len))
    value = "" if parameter.is_flag else f" {parameter.metavar or str(parameter.type.name).upper()}"
    return names + value


def described(parameter: Any) -> str:
    text = filled(parameter.help or "").replace("|", "\\|").strip()
    if parameter.required:
        return text + " Required."
    default = parameter.default
    said = isinstance(default, str | float | int | Path) and not isinstance(default, bool)
    return f"{text} Default: {default}." if said else text


def release_schema() -> str:
    """The JSON schema of a bundle's manifest, from the types that read it; registered names are examples."""
    made = Manifest.model_json_schema()
    made["title"], made["$schema"] = "release.json", "https://json-schema.org/draft/2020-12/schema"
    facts, card = (made["$defs"][name]["properties"] for name in ("PlanFacts", "Card"))
    facts["strategy"]["examples"], card["reconstruct"]["examples"] = list(STRATEGIES), list(RECONSTRUCTIONS)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


def routes_page() -> str:
    """Routes under ``/v1``, and pages."""
    return ROUTES_HEAD + table_of_routes() + PAGES_HEAD + table_of_pages()


if __name__ == "__main__":
    import write_architecture

    write_architecture.PICTURE.write_text(write_architecture.picture(), encoding="utf-8")
    LIBRARY.write_text(library_page(), encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")
    DECIDERS_PAGE.write_text(deciders_page(), encoding="utf-8")
    STRATEGIES_PAGE.write_text(strategies_page(), encoding="utf-8")
    ROUTES_PAGE.write_text(routes_page(), encoding="utf-8")
    RELEASE_SCHEMA.write_text(release_schema(), encoding="utf-8")
