"""The options of a choice as they are named: orders, or files; refused before matrices are loaded."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.release import choices

if TYPE_CHECKING:
    from hushtable.linear import OptionMechanism
    from hushtable.schema import Schema


def require_several(options: Sequence[object]) -> None:
    """Refuse fewer than two options, or whatever names them."""
    if len(options) < 2:
        raise WorkloadError(
            "choose.one-option",
            "A choice needs at least two options.",
            "Add an option, or use a plain release (`hush release`).",
        )


def options_from(
    schema: Schema, *, orders: Sequence[int] = (), files: Sequence[str | PathLike[str]] = ()
) -> list[OptionMechanism]:
    """All tables of each of some orders, then what each of some files describes."""
    require_several([*orders, *files])
    for order in orders:
        linear.checked_order(order, len(schema.attributes))
    described = choices.options_from_files(schema, files) if files else []
    return [*(linear.marginals(schema, order=order) for order in orders), *described]
