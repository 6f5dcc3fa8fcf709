"""Common and residual parts of mechanisms of any kind.

Marginals with independent noise and single tables over buckets have closed forms and exact prices; everything else
goes through matrices.  Mixed kinds are turned into matrices when the domain is small enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any, TypeGuard, TypeVar

from hushtable.errors import WorkloadError
from hushtable.linear.decompose import (
    dense_answerable,
    dense_common,
    dense_recreate,
    dense_residual,
    require_cells,
)
from hushtable.linear.dense import LinearGaussian, stack_dense
from hushtable.linear.lattice import (
    MarginalMechanism,
    residual_answerable,
    residual_common,
    residual_residual,
    residual_stack,
)
from hushtable.linear.partitions import (
    BucketResidual,
    BucketTable,
    bucket_answerable,
    bucket_common,
    bucket_recreate,
    bucket_residual,
)
from hushtable.linear.reading import residual_recreate
from hushtable.privacy.bits import BitSource

Mechanism = LinearGaussian | MarginalMechanism | BucketTable
Part = LinearGaussian | MarginalMechanism | BucketTable | BucketResidual
AnyPart = TypeVar("AnyPart", bound=Part)


def common(mechanisms: Sequence[Mechanism]) -> Mechanism | None:
    """The maximal mechanism that is answerable from every option, or None when they share nothing.

    Exact for marginals and for tables over buckets.  For matrices it is the member of the maximal ones with the
    smallest total variance in an orthonormal basis of the shared queries: a closed form for two, a semidefinite program
    for more.
    """
    options = _same_domain(mechanisms)
    if _all_marginal(options):
        return residual_common(options)
    if _all_tables(options):
        return bucket_common(options)
    return dense_common([as_dense(m) for m in options])


def ladder(mechanisms: Sequence[Mechanism]) -> list[Mechanism | None]:
    """Common to all options, to all but the first, ..., and the last option itself.

    Each step is answerable from the next one, so that options ordered from coarse to fine are decided one after another
    and every step pays the difference only.  A step is the common mechanism of its option and the next step.
    """
    options = _same_domain(mechanisms)
    steps: list[Mechanism | None] = [options[-1]]
    for option in reversed(options[:-1]):
        finer = steps[-1]
        steps.append(None if finer is None else common([option, finer]))
    return steps[::-1]


def residual(mechanism: Mechanism, common_part: Mechanism | None) -> Part | None:
    """What completes the common part to ``mechanism``; None when nothing is missing.

    With no common part it is the mechanism itself.
    """
    if common_part is None:
        return mechanism
    pair = _same_domain([mechanism, common_part])
    if _all_marginal(pair):
        return residual_residual(pair[0], pair[1])
    if _all_tables(pair):
        return bucket_residual(pair[0], pair[1])
    return dense_residual(as_dense(mechanism), as_dense(common_part))


def recreate(
    mechanism: Mechanism,
    common_part: Mechanism | None,
    residual_part: Part | None,
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
    source = bits if exact else None
    parts = [
        (p, o) for p, o in ((common_part, common_output), (residual_part, residual_output)) if p is not None
    ]
    if not parts:
        raise WorkloadError(
            "linear.output", "There is neither a common nor a residual part.", "Give one of them."
        )
    if isinstance(mechanism, BucketTable):
        return _recreate_table(mechanism, parts, source)
    if isinstance(mechanism, MarginalMechanism) and _all_marginal([p for p, _ in parts]):
        return residual_recreate(
            mechanism, [(p, o) for p, o in parts if isinstance(p, MarginalMechanism)], source
        )
    return dense_recreate(as_dense(mechanism), [(as_dense(p), o) for p, o in parts], source)


def answerable(b: Part, *, from_: Part) -> bool:
    """Whether ``b`` can be had from the output of ``from_`` without touching the data again (Theorem 3.5)."""
    pair = _same_domain([b, from_])
    if _all_marginal(pair):
        return residual_answerable(pair[0], pair[1])
    if _all_tables(pair):
        return bucket_answerable(pair[0], pair[1])
    return dense_answerable(as_dense(b), as_dense(from_))


def equivalent(a: Part, b: Part) -> bool:
    """Whether each is answerable from the other: the same information at the same price (Definition 3.6)."""
    return answerable(a, from_=b) and answerable(b, from_=a)


def stack(mechanisms: Sequence[Part]) -> Part:
    """One mechanism that runs all of them with independent noise."""
    options = _same_domain(mechanisms)
    if _all_marginal(options):
        return residual_stack(options)
    return stack_dense([as_dense(m) for m in options])


def budget_saved(mechanisms: Sequence[Mechanism]) -> Fraction | float:
    """Price of the common part as a fraction of the dearest option's: what measuring it first would have wasted."""
    shared = common(mechanisms)
    if shared is None:
        return 0.0
    return shared.rho / max(m.rho for m in mechanisms)


def as_dense(mechanism: Part) -> LinearGaussian:
    """The mechanism with explicit matrices."""
    return mechanism if isinstance(mechanism, LinearGaussian) else mechanism.dense()


def _recreate_table(mechanism: BucketTable, parts: Sequence[tuple[Part, Any]], bits: BitSource | None) -> Any:
    match parts:
        case [(BucketTable() as shared, coarse), (BucketResidual() as rest, (deviations, totals))]:
            return bucket_recreate(rest, shared, coarse, deviations, totals)
        case [(BucketTable(), output)]:
            return output
        case _:
            return dense_recreate(mechanism.dense(), [(as_dense(p), o) for p, o in parts], bits)


def _same_domain(mechanisms: Sequence[AnyPart]) -> Sequence[AnyPart]:
    """The mechanisms, all known kinds over one domain, or an error."""
    if not mechanisms:
        raise WorkloadError("linear.empty", "There is no mechanism to compare.", "Give at least one.")
    if not all(isinstance(m, Part) for m in mechanisms):
        raise WorkloadError(
            "linear.kind",
            "Something in the list is not a linear mechanism.",
            "Give for example marginals(schema, order=1).",
        )
    shapes = {_sizes(m) for m in mechanisms} - {None}
    if len(shapes) > 1:
        raise WorkloadError(
            "linear.domains",
            "The options are over different schemas.",
            "Write all options over the same schema.",
        )
    require_cells(*(m.cells if isinstance(m, LinearGaussian) else prod(_sizes(m) or ()) for m in mechanisms))
    return mechanisms


def _sizes(mechanism: Part) -> tuple[int, ...] | None:
    if isinstance(mechanism, LinearGaussian):
        return None
    return mechanism.table.sizes if isinstance(mechanism, BucketResidual) else mechanism.sizes


def _all_marginal(mechanisms: Sequence[Part]) -> TypeGuard[Sequence[MarginalMechanism]]:
    return all(isinstance(m, MarginalMechanism) for m in mechanisms)


def _all_tables(mechanisms: Sequence[Part]) -> TypeGuard[Sequence[BucketTable]]:
    return all(isinstance(m, BucketTable) for m in mechanisms)
