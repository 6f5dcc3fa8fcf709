"""Templates of pages: every text escaped and visible, styles and values that cannot end the element they stand in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from hushtable.report.headings import SHOWN_ROWS
from hushtable.texts import escaped_json, visible_lines

HOME = Path(__file__).parent


@cache
def environment(*folders: Path) -> Environment:
    """Templates of these folders, and of the report below them."""
    made = Environment(
        loader=FileSystemLoader([*folders, HOME]),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        finalize=visible_text,
    )
    made.globals["most_rows"] = SHOWN_ROWS  # pyright: ignore
    return made


def render(name: str, **context: Any) -> str:
    """A template of the report, filled in."""
    return environment().get_template(name).render(**context)


def style_text(names: Sequence[str]) -> str:
    """Style sheets of the report, one after the other."""
    return "".join((HOME / name).read_text(encoding="utf-8") for name in names)


def visible_text(value: Any) -> Any:
    """What a template or a chart shows: a text with what is invisible in it written out, anything else as it is."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def script_json(value: Any) -> Markup:
    """JSON that cannot end the element it stands in, with nothing invisible in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(escaped_json(text.replace("<", "\\u003c")))
