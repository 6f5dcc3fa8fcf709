"""Common and residual parts of mechanisms of any kind.

Marginals with independent noise and single tables over buckets have closed forms and exact prices; everything else
goes through matrices.  Mixed kinds are turned into matrices when the domain is small enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

from hushtable.errors import WorkloadError
from hushtable.linear.dense import LinearGaussian, dense_recreate, require_cells
from hushtable.linear.lattice import MarginalMechanism
from hushtable.linear.partitions import BucketResidual, BucketTable, bucket_recreate
from hushtable.linear.recreating import residual_recreate
from hushtable.privacy import BitSource

OptionMechanism = LinearGaussian | MarginalMechanism | BucketTable
"""What can be an option of a choice."""
OptionPart = OptionMechanism | BucketResidual
"""A mechanism, or what completes one."""


def common(mechanisms: Sequence[OptionMechanism]) -> OptionMechanism | None:
    """The maximal mechanism that is answerable from every option, or None when they share nothing.

    Exact for marginals and for tables over buckets.  For matrices it is the member of the maximal ones with the
    smallest total variance in an orthonormal basis of the shared queries: a closed form for two, a semidefinite program
    for more.
    """
    first, *others = _alike(mechanisms)
    return first.shared_with(others)


def ladder(mechanisms: Sequence[OptionMechanism]) -> list[OptionMechanism | None]:
    """Common to all options, to all but the first, ..., and the last option itself.

    Each step is answerable from the next one, so that options ordered from coarse to fine are decided one after another
    and every step pays the difference only.  A step is the common mechanism of its option and the next step.  For three
    and more matrices its total variance can exceed that of ``common`` of all of them by a few per cent: where that one
    is answerable from the next step the two are the same, and where it is not, no step leads from it to the next.
    """
    _require_domain(mechanisms)
    steps: list[OptionMechanism | None] = [mechanisms[-1]]
    for option in reversed(mechanisms[:-1]):
        finer = steps[-1]
        steps.append(None if finer is None else common([option, finer]))
    return steps[::-1]


def residual(mechanism: OptionMechanism, common_part: OptionMechanism | None) -> OptionPart | None:
    """What completes the common part to ``mechanism``; None when nothing is missing.

    With no common part it is the mechanism itself.
    """
    if common_part is None:
        return mechanism
    target, shared = _alike([mechanism, common_part])
    return target.beyond(shared)


def recreate(
    mechanism: OptionMechanism,
    common_part: OptionMechanism | None,
    residual_part: OptionPart | None,
    common_output: Any,
    residual_output: Any,
    *,
    exact: bool = False,
    bits: BitSource | None = None,
) -> Any:
    """The answers of ``mechanism`` from the outputs of its common and residual parts.

    Matrices: arrays (m,) or (m, draws) in, answers to ``mechanism.queries`` out.  Marginals: residuals in centred form,
    keyed by attribute set, in; tables keyed by attribute set out.  Tables over buckets: the common table and a pair
    (deviations, totals) in, the table out.  Without ``exact`` the answers are consistent and have the least noise; with
    it, noise from ``bits`` makes them distributed like the
    mechanism itself.
    """
    if exact and bits is None:
        raise WorkloadError(
            "linear.bits",
            "Exact recreation draws noise and has no source for it.",
            "Give bits=, a source of bits.",
        )
    parts = [
        (p, o) for p, o in ((common_part, common_output), (residual_part, residual_output)) if p is not None
    ]
    if not parts:
        raise WorkloadError(
            "linear.output", "There is neither a common nor a residual part.", "Give one of them."
        )
    source = bits if exact else None
    if all(isinstance(m, MarginalMechanism) for m in (mechanism, *(p for p, _ in parts))):
        return residual_recreate(cast("Any", mechanism), cast("Any", parts), source)
    match mechanism, *parts:
        case BucketTable(), (BucketTable() as shared, coarse), (
            BucketResidual() as rest,
            (deviations, totals),
        ):
            return bucket_recreate(rest, shared, coarse, deviations, totals)
        case BucketTable(), (BucketTable(), output):
            return output
        case _:
            return dense_recreate(mechanism.dense(), [(p.dense(), o) for p, o in parts], source)


def answerable(b: OptionPart, *, from_: OptionPart) -> bool:
    """Whether ``b`` can be had from the output of ``from_`` without touching the data again (Theorem 3.5)."""
    part, whole = _alike([b, from_])
    return part.answerable(whole)


def equivalent(a: OptionPart, b: OptionPart) -> bool:
    """Whether each is answerable from the other: the same information at the same price (Definition 3.6)."""
    return answerable(a, from_=b) and answerable(b, from_=a)


def stack(mechanisms: Sequence[OptionPart]) -> OptionPart:
    """One mechanism that runs all of them with independent noise."""
    first, *others = _alike(mechanisms)
    return first.stacked(others)


def budget_saved(mechanisms: Sequence[OptionMechanism]) -> Fraction | float:
    """Price of the common part as a fraction of the dearest option's: what measuring it first would have wasted."""
    shared = common(mechanisms)
    if shared is None:
        return 0.0
    return shared.rho / max(m.rho for m in mechanisms)


def _alike(mechanisms: Sequence[OptionPart]) -> Sequence[Any]:
    """The mechanisms where all are of one kind that has a closed form, else matrices; refuses different domains."""
    _require_domain(mechanisms)
    if any(all(isinstance(m, kind) for m in mechanisms) for kind in (MarginalMechanism, BucketTable)):
        return mechanisms
    return [m.dense() for m in mechanisms]


def _require_domain(mechanisms: Sequence[OptionPart]) -> None:
    if not mechanisms:
        raise WorkloadError("linear.empty", "There is no mechanism to compare.", "Give at least one.")
    if not all(isinstance(cast("object", m), OptionPart) for m in mechanisms):
        raise WorkloadError(
            "linear.kind",
            "Something in the list is not a linear mechanism.",
            "Give for example marginals(schema, order=1).",
        )
    if len({m.sizes for m in mechanisms} - {None}) > 1:
        raise WorkloadError(
            "linear.domains",
            "The options are over different schemas.",
            "Write all options over the same schema.",
        )
    require_cells(*(m.cells for m in mechanisms))
