"""Commands from functions: the annotation of a parameter says what it is called and what it means on the command line.

    def table(folder: Annotated[Path, Argument(help="...", metavar="DIR")], json: Annotated[bool, Option(...)] = False)

click does the parsing.  typer would read the same annotations, but loads pydantic for it, which takes as long as all
else that a usage error needs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click
from click.shell_completion import CompletionItem

import hushtable as ht
from hushtable.cli.defaults import defaults_for, tell_used

LISTS: dict[str, Callable[[], Iterable[str]]] = {
    "{deciders}": lambda: ht.deciders.DECIDERS,
    "{strategies}": lambda: ht.planning.STRATEGIES,
    "{formats}": lambda: ht.release.exports.EXPORT_FORMATS,
    "{fits}": lambda: ht.microdata.METHODS,
    "{reconstructions}": lambda: ht.reconstruct.RECONSTRUCTIONS,
}
"""What stands for names in the help of a flag: known when it is printed, because anybody may register one."""


@dataclass(frozen=True)
class Option:
    """A flag: what it means, what stands for its value, and between which numbers that lies.

    Whole numbers may be the ends, others may not: they are probabilities.

    It is called as the parameter is, ``--no-report`` for ``no_report``, where ``name`` does not say otherwise.
    """

    help: str
    metavar: str | None = None
    _: KW_ONLY
    short: str | None = None
    name: str | None = None
    between: tuple[int, int] | None = None

    def made(self, name: str, kind: Any, several: bool, default: Any) -> click.Parameter:
        """click's option for a parameter of a function; without a default it is required."""
        missing = default is inspect.Parameter.empty
        names = filter(None, (self.name or f"--{name.replace('_', '-')}", self.short, name))
        return click.Option(
            list(names),
            type=kind if self.between is None else _range(kind, *self.between),
            is_flag=kind is bool or None,
            required=missing,
            **({"default": default} if kind is bool else _default(default)),
            show_default=not missing and default not in (None, True, False),
            multiple=several,
            help=self.help,
            metavar=self.metavar,
            shell_complete=_completing(self.help, kind),
        )


@dataclass(frozen=True)
class Argument:
    """A word at its place."""

    help: str
    metavar: str

    def made(self, name: str, kind: Any, several: bool, default: Any) -> click.Parameter:
        """click's argument for a parameter of a function; without a default it is required."""
        missing = default is inspect.Parameter.empty
        return click.Argument(
            [name],
            type=kind,
            required=missing,
            **_default(default),
            nargs=-1 if several else 1,
            help=self.help,
            metavar=self.metavar,
            shell_complete=_completing(
                self.help, Path if self.metavar in ("DATA", "DIR", "THIS", "LAST") else kind
            ),
        )


def _completing(text: str, kind: Any) -> Any:
    """What Tab offers for a value: registered names, or files; None for click's own."""
    named = [known for name, known in LISTS.items() if name in text]

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        if named:
            return [CompletionItem(name) for known in named for name in known() if name.startswith(begun)]
        return [CompletionItem(begun, type="file")]

    return complete if named or kind is Path else None


def _range(kind: type, low: int, high: int) -> Any:
    if kind is int:
        return click.IntRange(low, high)
    return click.FloatRange(low, high, min_open=True, max_open=True)


def _default(value: Any) -> dict[str, Any]:
    """A default for click, which takes None for a value that it converts."""
    return {} if value is None or value is inspect.Parameter.empty else {"default": value}


class Command(click.Command):
    """A command whose help knows what is registered when it is printed, and whose flags may have defaults in a file."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.default_map = {**defaults_for(ctx, args), **(ctx.default_map or {})}
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        tell_used(ctx)
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        named = [flag for flag in self.params if isinstance(flag, click.Option) and flag.help]
        written = [flag.help or "" for flag in named]
        for flag, text in zip(named, written, strict=True):
            flag.help = filled(text)
        try:
            super().format_options(ctx, formatter)
        finally:  # what is registered later belongs into the next help
            for flag, text in zip(named, written, strict=True):
                flag.help = text


def _first_sentence(text: str) -> str:
    """Up to the first full stop, without it; a colon or comma ends no sentence."""
    return " ".join(text.split("\n\n")[0].split()).split(".  ")[0].split(". ")[0].removesuffix(".")


def filled(text: str) -> str:
    """The help of a flag with the names that are registered now."""
    for name in filter(text.__contains__, LISTS):
        text = text.replace(name, ", ".join(LISTS[name]()))
    return text


def command(function: Callable[..., Any], name: str, epilog: str) -> Command:
    """A command that calls a function with what was typed; a parameter called ``context`` is given click's."""
    hints = get_type_hints(function, include_extras=True)
    takes = inspect.signature(function).parameters
    parameters: list[click.Parameter] = []
    lists: list[str] = []
    for given in takes.values():
        if given.name == "context":
            continue
        annotation, declared = get_args(hints[given.name])
        whole = get_origin(annotation) is list or not get_args(annotation)
        [kind] = [annotation] if whole else [k for k in get_args(annotation) if k is not NoneType]
        several = get_origin(kind) is list
        if several:
            [kind] = get_args(kind)
            lists.append(given.name)
        parameters.append(declared.made(given.name, kind, several, given.default))

    @functools.wraps(function)
    def call(**typed: Any) -> Any:
        typed |= {name: list(typed[name]) or None for name in lists}
        if "context" in takes:
            typed["context"] = click.get_current_context()
        return function(**typed)

    doc = inspect.getdoc(function) or ""
    return Command(name, params=parameters, callback=call, help=doc, epilog=epilog)


class Group(click.Group):
    """Several commands under one word, listed in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with its whole first sentence."""
        rows = [(name, _first_sentence(self.commands[name].help or "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def verb(
        self, name: str | None = None, *, epilog: str
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Make a command of the function below it, under its own name or another."""

        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self.add_command(command(function, name or function.__name__, epilog))
            return function

        return add
