"""How objects look in a notebook: a heading, facts and a small table as HTML with everything escaped.

Knows nothing of the package; objects with a ``_repr_html_`` call it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_ROWS = 10
"""Rows of a table in a notebook's cell: with more, a card no longer fits beside what explains it."""


def html_card(
    title: str,
    facts: Mapping[str, object],
    columns: Sequence[str] = (),
    rows: Iterable[Sequence[object]] = (),
    more: int = 0,
) -> str:
    """A card; ``more`` says how many rows are left out.

    >>> html_card("A < B", {"price": "rho=0.1"})
    '<div><strong>A &lt; B</strong><br>price: rho=0.1</div>'
    """
    lines = [f"<strong>{escape(title)}</strong>"]
    lines += [f"{escape(name)}: {escape(str(value))}" for name, value in facts.items()]
    return f"<div>{'<br>'.join(lines)}{_table(columns, rows)}{_rest(more)}</div>"


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    if not columns:
        return ""
    head = "".join(f"<th scope='col'>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(_text(v))}</td>' for v in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _rest(more: int) -> str:
    return f"<em>and {more:,} more</em>" if more > 0 else ""


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
