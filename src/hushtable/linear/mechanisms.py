"""Common and residual parts of mechanisms of any kind.

Marginals with independent noise and single tables over buckets have closed forms and exact prices; everything else
goes through matrices.  Mixed kinds are turned into matrices when the domain is small enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

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
from hushtable.privacy import BitSource

Mechanism = LinearGaussian | MarginalMechanism | BucketTable
"""What can be an option of a choice."""
Part = Mechanism | BucketResidual
"""A mechanism, or what completes one."""
Output = tuple[Any, Any]
"""A part and what it released."""


@dataclass(frozen=True)
class Algebra:
    """How mechanisms of one kind are compared, taken apart and put together; all arguments are of that kind."""

    parts: tuple[type, ...]
    """The kind of mechanism, and what else its mechanisms can be recreated from."""
    common: Callable[[Sequence[Any]], Any]
    answerable: Callable[[Any, Any], bool]
    residual: Callable[[Any, Any], Any]
    stack: Callable[[Sequence[Any]], Any]
    recreate: Callable[[Any, Sequence[Output], BitSource | None], Any]


def _stack_dense(mechanisms: Sequence[Part]) -> LinearGaussian:
    return stack_dense([m.dense() for m in mechanisms])


def _recreate_dense(mechanism: Part, parts: Sequence[Output], bits: BitSource | None) -> Any:
    return dense_recreate(mechanism.dense(), [(p.dense(), o) for p, o in parts], bits)


def _recreate_table(mechanism: BucketTable, parts: Sequence[Output], bits: BitSource | None) -> Any:
    match parts:
        case [(BucketTable() as shared, coarse), (BucketResidual() as rest, (deviations, totals))]:
            return bucket_recreate(rest, shared, coarse, deviations, totals)
        case [(BucketTable(), output)]:
            return output
        case _:
            return _recreate_dense(mechanism, parts, bits)


CLOSED_FORMS = (
    Algebra(
        (MarginalMechanism,),
        common=residual_common,
        answerable=residual_answerable,
        residual=residual_residual,
        stack=residual_stack,
        recreate=residual_recreate,
    ),
    Algebra(
        (BucketTable, BucketResidual),
        common=bucket_common,
        answerable=bucket_answerable,
        residual=bucket_residual,
        stack=_stack_dense,
        recreate=_recreate_table,
    ),
)
MATRICES = Algebra(
    (LinearGaussian,),
    common=dense_common,
    answerable=dense_answerable,
    residual=dense_residual,
    stack=_stack_dense,
    recreate=_recreate_dense,
)
_KNOWN = (LinearGaussian, *(part for algebra in CLOSED_FORMS for part in algebra.parts))


def common(mechanisms: Sequence[Mechanism]) -> Mechanism | None:
    """The maximal mechanism that is answerable from every option, or None when they share nothing.

    Exact for marginals and for tables over buckets.  For matrices it is the member of the maximal ones with the
    smallest total variance in an orthonormal basis of the shared queries: a closed form for two, a semidefinite program
    for more.
    """
    algebra, options = _alike(mechanisms)
    return algebra.common(options)


def ladder(mechanisms: Sequence[Mechanism]) -> list[Mechanism | None]:
    """Common to all options, to all but the first, ..., and the last option itself.

    Each step is answerable from the next one, so that options ordered from coarse to fine are decided one after another
    and every step pays the difference only.  A step is the common mechanism of its option and the next step.
    """
    _require_domain(mechanisms)
    steps: list[Mechanism | None] = [mechanisms[-1]]
    for option in reversed(mechanisms[:-1]):
        finer = steps[-1]
        steps.append(None if finer is None else common([option, finer]))
    return steps[::-1]


def residual(mechanism: Mechanism, common_part: Mechanism | None) -> Part | None:
    """What completes the common part to ``mechanism``; None when nothing is missing.

    With no common part it is the mechanism itself.
    """
    if common_part is None:
        return mechanism
    algebra, pair = _alike([mechanism, common_part])
    return algebra.residual(pair[0], pair[1])


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
    parts = [
        (p, o) for p, o in ((common_part, common_output), (residual_part, residual_output)) if p is not None
    ]
    if not parts:
        raise WorkloadError(
            "linear.output", "There is neither a common nor a residual part.", "Give one of them."
        )
    fitting = (a for a in CLOSED_FORMS if _all(a.parts, [mechanism, *(p for p, _ in parts)]))
    return next(fitting, MATRICES).recreate(mechanism, parts, bits if exact else None)


def answerable(b: Part, *, from_: Part) -> bool:
    """Whether ``b`` can be had from the output of ``from_`` without touching the data again (Theorem 3.5)."""
    algebra, pair = _alike([b, from_])
    return algebra.answerable(pair[0], pair[1])


def equivalent(a: Part, b: Part) -> bool:
    """Whether each is answerable from the other: the same information at the same price (Definition 3.6)."""
    return answerable(a, from_=b) and answerable(b, from_=a)


def stack(mechanisms: Sequence[Part]) -> Part:
    """One mechanism that runs all of them with independent noise."""
    algebra, options = _alike(mechanisms)
    return algebra.stack(options)


def budget_saved(mechanisms: Sequence[Mechanism]) -> Fraction | float:
    """Price of the common part as a fraction of the dearest option's: what measuring it first would have wasted."""
    shared = common(mechanisms)
    if shared is None:
        return 0.0
    return shared.rho / max(m.rho for m in mechanisms)


def as_dense(mechanism: Part) -> LinearGaussian:
    """The mechanism with explicit matrices."""
    return mechanism.dense()


def _alike(mechanisms: Sequence[Part]) -> tuple[Algebra, Sequence[Part]]:
    """The mechanisms and their closed form, or matrices of all of them; refuses different domains."""
    _require_domain(mechanisms)
    for algebra in CLOSED_FORMS:
        if _all(algebra.parts[0], mechanisms):
            return algebra, mechanisms
    return MATRICES, [m.dense() for m in mechanisms]


def _require_domain(mechanisms: Sequence[Part]) -> None:
    if not mechanisms:
        raise WorkloadError("linear.empty", "There is no mechanism to compare.", "Give at least one.")
    if not _all(_KNOWN, mechanisms):
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


def _all(kinds: type | tuple[type, ...], mechanisms: Sequence[object]) -> bool:
    return all(isinstance(m, kinds) for m in mechanisms)
