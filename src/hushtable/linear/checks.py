"""Orders and rules that there are: apart from arrays and matrices, so that a wrong one is refused at once."""

from __future__ import annotations

from typing import Any, Literal, cast, get_args

from hushtable.errors import WorkloadError

SignalRule = Literal["point", "three-sigma"]


def checked_rule(rule: str) -> SignalRule:
    """A rule that there is."""
    if rule not in get_args(SignalRule):
        raise WorkloadError(
            "linear.rule", "The rule is not known.", f"Give one of {', '.join(get_args(SignalRule))}."
        )
    return cast("SignalRule", rule)


def checked_order(order: Any, attributes: int) -> int:
    """A number of attributes that a marginal can have."""
    if not isinstance(order, int) or isinstance(order, bool) or not 0 <= order <= attributes:
        raise WorkloadError(
            "linear.order",
            f"The order must be a whole number from 0 to {attributes}.",
            "For example order=2.",
        )
    return order


def not_common() -> WorkloadError:
    """A residual was asked for beyond what the mechanism does not answer."""
    return WorkloadError(
        "linear.not-common",
        "The common mechanism cannot be answered from this mechanism.",
        "Give the result of common() over options that include this mechanism.",
    )
