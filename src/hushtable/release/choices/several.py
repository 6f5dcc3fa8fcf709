"""How many options a choice has; apart from their matrices, so that a single one is refused at once."""

from __future__ import annotations

from collections.abc import Sequence

from hushtable.errors import WorkloadError


def require_several(options: Sequence[object]) -> None:
    """Refuse fewer than two options, or whatever names them."""
    if len(options) < 2:
        raise WorkloadError(
            "choose.one-option",
            "A choice needs at least two options.",
            "Add an option, or use a plain release (`hush release`).",
        )
