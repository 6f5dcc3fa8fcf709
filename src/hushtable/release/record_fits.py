"""Records from a release: choose the way, fit or generate, round, give values back, and say what it cost.

Small domains are fitted as a whole; large ones are generated from the released tables.  Released answers only: no
budget, no data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.errors import HushtableError, WorkloadError
from hushtable.marginals import AttributeSet, Layout, closure, largest_sets, marginal_label
from hushtable.measurement import Answers, MarginalPart, ResidualPart
from hushtable.microdata import (
    Explanation,
    Measurement,
    Method,
    Noise,
    Promise,
    TableGap,
    Targets,
    Totals,
    affordable,
    checked_method,
    codes_from_counts,
    compare,
    count_records,
    fit,
    frame_from_codes,
    generate,
    likeliest,
    promise,
    require_foreseen,
    round_table,
    settle,
    small_cells,
    walkable,
    whole_rows,
)
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.release import level_records
from hushtable.release.dictionaries import band_note, data_dictionary
from hushtable.release.modelled import modelled_tables
from hushtable.release.record_weights import with_record_weights
from hushtable.schema import Schema
from hushtable.texts import counted
from hushtable.watching import Progress

if TYPE_CHECKING:
    from hushtable.release.release import Release

Priorities = Sequence[Sequence[Sequence[str]]]
_Made = tuple[NDArray[np.int32], float | None, tuple[str, ...]]
"""Records, the KKT residual of their fit (None for generated ones), and what a reader should know of them."""
MOST_MEASURED = 2_000_000
"""Cells of a domain that is fitted as a whole when its cells were measured."""
MOST_DERIVED = 100_000
"""The same when only smaller marginals were measured; what fewer cells cost is predicted, see ``MOST_WORK``."""
MOST_WORK = 3e10
"""Multiplications of a fit of the whole table: five seconds of one core at 0.16 ns (``microdata.dual_loops``).  With
more of them larger domains are fitted as a whole, and giving up in favour of generated records takes longer."""
FULL_CELLS = 4
"""Records per cell from which on rounding cell by cell does not matter."""
MOST_COMPARED = 20_000_000
"""Cells of the marginals that the explanation compares."""
MOST_ASSEMBLED = 1e9
"""Cells of these marginals times the residuals that each is made of: seconds, where one table of fourteen attributes
with all that lies in it would take minutes."""
MOST_COUNTED = 2e9
"""Records times marginals that the explanation counts."""


@dataclass(frozen=True)
class RecordColumns:
    """What records show: coarser levels beside the attributes, numbers and dates as their bands (``labels``)."""

    levels: tuple[str, ...] = ()
    labels: bool = False


PLAIN = RecordColumns()


@dataclass(frozen=True, eq=False, repr=False)
class Microdata:
    """Records of a release; ``explanation`` says how they came about and compares them with every released table.

    ``dictionary`` says of every column what it is, and of every category what it is called.
    """

    frame: pl.DataFrame
    codes: NDArray[np.int32]
    explanation: Explanation
    dictionary: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """How the records came about and how far they lie from the tables; not the records."""
        return self.explanation.to_dict()

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        return f"<Microdata: {counted(rows, 'record')} of {counted(columns, 'attribute')}, {self.explanation.fit}>"

    def _repr_html_(self) -> str:
        told = self.explanation
        facts = {"tables that agree up to noise": f"{told.agreeing:,} of {len(told.tables):,}"}
        rows, more = self.frame.head(MOST_ROWS), max(0, self.frame.height - MOST_ROWS)
        return html_card(repr(self).strip("<>"), facts, rows.columns, rows.rows(), more)


def make_microdata(
    release: Release,
    *,
    fit: str = "reweighted",
    priorities: Priorities | None = None,
    rows: int | None = None,
    seed: object = 0,
    progress: Progress | None = None,
    work: float = MOST_WORK,
    columns: RecordColumns = PLAIN,
) -> Microdata:
    """Records whose tables are near the released ones; ``rows`` is by default what the fit adds up to.

    The whole table is fitted where that takes at most ``work`` multiplications; otherwise, and where attributes have
    levels, records are generated, as many as the released total says.
    """
    wanted = None if rows is None else whole_rows(rows)
    way = checked_method(fit, ordered=priorities is not None)
    level_records.require_generated(release.schema, way)
    release.outline.check_levels(columns.levels)
    found, name = _whole_if_possible(release, way, priorities, wanted, seed, work), fit
    if found is None:
        found, name = _generated(release, wanted, seed, progress), "generated"
    codes, certificate, notes = found
    codes, drawn = settle(release.schema, codes, seed=seed)
    frame = frame_from_codes(release.schema, codes, seed=seed, drawn=drawn, labels=columns.labels)
    frame = frame.with_columns(level_records.level_columns(release.schema, codes, columns.levels))
    bands = () if columns.labels else band_note(release.schema)
    frame, adjusted = with_record_weights(release.schema, codes, frame)
    dictionary = data_dictionary(release.schema, frame, labels=columns.labels)
    told = _explained(release, name, codes, certificate, (*notes, *bands, *adjusted))
    return Microdata(frame, codes, told, dictionary)


def complete_priorities(release: Release, named: Sequence[Sequence[str]]) -> list[list[tuple[str, ...]]]:
    """Levels of one marginal each: those named, then all others that were released, from small to large."""
    names = release.schema.names
    first = [tuple(sorted(release.schema.axes(entry))) for entry in named]
    _, sets = _measurements(release)
    return [[tuple(names[a] for a in s)] for s in [*first, *(s for s in sets if s not in first)]]


def _whole_if_possible(
    release: Release, way: Method, priorities: Priorities | None, rows: int | None, seed: object, work: float
) -> _Made | None:
    """Records by a fit of the whole table; None where they are better generated, an error where that was not asked."""
    if release.schema.has_levels:
        return None
    measured = tuple(range(len(release.schema.sizes))) in release.answers.layout.index
    fits = release.schema.domain_cells <= (MOST_MEASURED if measured else MOST_DERIVED)
    try:
        if fits and (not way.yields or _rounds_well(release, rows)):
            return _whole(release, way, priorities, rows, seed, work)
    except HushtableError as error:
        if not way.yields or error.code not in ("microdata.too-much-work", "microdata.unsolved"):
            raise
    if way.yields:
        return None
    raise WorkloadError(
        "microdata.too-large",
        "The domain has too many cells for a fit of the whole table.",
        "Use --fit reweighted: records are then generated from the released tables.",
    )


def _rounds_well(release: Release, rows: int | None) -> bool:
    """Whether rounding keeps the tables near the fit: it can walk, or cells are large against their fractions.

    On 5,000 records rounding cell by cell added nothing to the error of 1,024 cells, a quarter to that of 2,048 and a
    third to that of 16,384, each against generated records.
    """
    sizes, cells = release.schema.sizes, release.schema.domain_cells
    largest = [s for s in largest_sets(release.workload) if len(s) < len(sizes)]
    sums = sum(prod(sizes[a] for a in s) for s in largest)
    records = float(release.estimates.marginal(())) if rows is None else rows
    return len(largest) <= 2 or walkable(cells, sums) or FULL_CELLS * cells <= records


def _whole(
    release: Release, way: Method, priorities: Priorities | None, rows: int | None, seed: object, work: float
) -> _Made:
    """Fit the full table, round it."""
    possible = possible_cells(release.schema)
    residual = not _as_measured(release)
    if residual and way.likely:
        table, certificate = _residual_fit(release, way, possible, work)
        notes: tuple[str, ...] = ()
    else:
        if not way.signed:
            require_foreseen(_measured_sets(release), release.schema.sizes, np.array([work]))
        given, sets = _measurements(release)
        levels = None if priorities is None else _levels(release.schema, priorities, sets)
        allowed = None if way.signed else possible
        found = fit(given, release.schema.sizes, way.name, levels, possible=allowed, work=work)
        unit = 1.0 if residual else float(release.schema.count_unit)
        table, certificate = found.weights * unit, found.certificate
        notes = (
            ("The fit treats reconstructed tables as independent, which is approximate.",) if residual else ()
        )
    if way.signed:
        rows = max(0, round(float(table.sum()))) if rows is None else rows
        table = np.where(True if possible is None else possible, np.maximum(table, 0.0), 0.0)
        notes += ("Least squares goes below zero; negative cells were set to zero and the rest scaled down.",)
    rounded = round_table(table, largest_sets(release.workload), total=rows, seed=seed)
    if rounded.worst >= 1.0:
        notes += (f"Rounding moved a cell of a marginal by up to {rounded.worst:.1f}.",)
    return codes_from_counts(rounded.counts), certificate, notes


def _residual_fit(
    release: Release, way: Method, possible: NDArray[np.bool_] | None, work: float
) -> tuple[NDArray[np.float64], float]:
    """GReM's maximum likelihood, with or without the condition that cells are at least zero."""
    estimates, sizes = release.estimates, release.schema.sizes
    everything = Layout(sizes, (tuple(range(len(sizes))),))
    start = estimates.estimate_all(everything).reshape(sizes)
    if way.signed:
        return start, 0.0
    precision = estimates.precisions
    parts = [
        (s, estimates.value(s), float(precision[k]))
        for k, s in enumerate(estimates.layout.sets)
        if np.isfinite(precision[k])
    ]
    return likeliest(sizes, parts, start, possible, work)


def _measurements(release: Release) -> tuple[list[Measurement], list[AttributeSet]]:
    """What a fit sees, small marginals first: the answers themselves, as integers, or the reconstructed marginals."""
    answers, part, sets = release.answers, release.answers.part, _measured_sets(release)
    if isinstance(part, MarginalPart) and _as_measured(release):
        laws = dict(zip(part.sets, laws_of(part), strict=True))
        return [Measurement(s, answers.of(s), laws[s]) for s in sets], sets
    estimates = release.estimates
    least = 1.0 / float(estimates.precisions.max())  # of tables that are known from elsewhere
    noises = [Noise.gaussian(max(estimates.variance(s), least)) for s in sets]
    return [Measurement(s, estimates.marginal(s), n) for s, n in zip(sets, noises, strict=True)], sets


def _measured_sets(release: Release) -> list[AttributeSet]:
    """The marginals that a fit sees, small ones first."""
    part = release.answers.part
    if isinstance(part, MarginalPart) and _as_measured(release):
        return sorted(part.sets, key=lambda s: (len(s), s))
    return [s for s in closure(release.workload) if release.estimates.measured(s)]


def _as_measured(release: Release) -> bool:
    """Whether a fit sees the answers as they are: marginals, and no others that are known from elsewhere."""
    return isinstance(release.answers.part, MarginalPart) and not release.schema.free_tables


def counts_promise(answers: Answers, unit: Fraction | int = 1) -> Promise | None:
    """What Theorem 4 promises for records of these answers; None unless they are counts, or counts and their sum.

    ``unit`` is what one integer counts.
    """
    part = answers.part
    if isinstance(part, ResidualPart):
        return None
    laws, sets = set(laws_of(part)), part.sets
    if len(laws) != 1 or len(sets) > 2 or (len(sets) == 2 and () not in sets):
        return None
    accurate = "sum" if len(sets) == 2 else "point"
    made, square = promise(int(max(part.layout.lengths)), accurate, laws.pop()), float(unit) ** 2
    return Promise(made.point_error * square, made.sum_error * square)


def laws_of(part: MarginalPart) -> list[Noise]:
    """The noise of each measured marginal, as fits and bounds see it."""
    return [Noise.of(mechanism, part.bound) for mechanism in part.mechanisms]


def _levels(schema: Schema, priorities: Priorities, sets: list[AttributeSet]) -> list[list[int]]:
    """Levels of measurement numbers, when they name every measured marginal once."""

    def wrong(message: str) -> WorkloadError:
        fix = "Name each fully measured marginal once, as in [[()], [('age', 'sex'), ('age',)]]."
        return WorkloadError("microdata.priorities", message, fix)

    try:
        axes = [[tuple(sorted(schema.axes(names))) for names in level] for level in priorities]
    except TypeError:
        raise wrong("The priorities are not a list of levels of marginals.") from None
    named = [s for level in axes for s in level]
    for s in named:
        label = marginal_label(s, schema.names)
        if s not in sets:
            raise wrong(f"The marginal {label} was not measured in full.")
        if named.count(s) > 1:
            raise wrong(f"The marginal {label} is named more than once.")
    left = [s for s in sets if s not in named]
    if left:
        raise wrong(f"The priorities leave out {len(left)} measured marginals.")
    if not all(axes):
        raise wrong("A level of the priorities is empty.")
    return [[sets.index(s) for s in level] for level in axes]


def _generated(release: Release, rows: int | None, seed: object, progress: Progress | None) -> _Made:
    """Records of a large domain."""
    total = float(release.estimates.marginal(()))
    count = whole_rows(max(0, round(total))) if rows is None else rows
    levels = release.schema.has_levels
    targets = level_records.record_targets(release, count) if levels else _targets(release, count)
    records, sweeps = generate(targets, release.schema, count, seed=seed, progress=progress)
    order = max((len(s) for s in targets.layout.sets), default=0)
    why = (
        "attributes with levels are on their finest one."
        if levels
        else f"a fit of the whole table of {release.schema.domain_cells:,} cells would take too long or round badly."
    )
    tables = f"released tables of up to {counted(order, 'attribute')}"
    note = f"Generated from the {tables}, {counted(sweeps, 'sweep')}; {why}"
    return records, None, (note,)


def generated_records(release: Release, seed: object = 0) -> NDArray[Any]:
    """Whole records near all released tables, by the codes of every attribute, as many as the noisy total."""
    return _generated(release, None, seed, None)[0]


def _targets(release: Release, count: int) -> Targets:
    """The tables that ``count`` records are drawn to."""
    sizes = release.schema.sizes
    sets = affordable(closure(release.workload), sizes, count)
    tables = modelled_tables(release, ((), *sets))
    layout = Layout(sizes, sets)
    return Targets(layout, tables.estimate_all(layout))


def _explained(
    release: Release, name: str, codes: NDArray[np.int32], certificate: float | None, notes: tuple[str, ...]
) -> Explanation:
    sizes, names = release.schema.sizes, release.schema.names
    kept: list[AttributeSet] = []
    cells = sums = 0
    for s in sorted({(), *closure(release.workload, sizes)}, key=lambda s: (len(s), s)):
        size = prod(sizes[a] for a in s)
        cells, sums = cells + size, sums + (size << len(s))
        if cells > MOST_COMPARED or sums > MOST_ASSEMBLED or len(codes) * len(kept) > MOST_COUNTED:
            break
        kept.append(s)
    layout = Layout(sizes, tuple(kept))
    stds = release.estimates.errors(layout.sets).std
    labels = [marginal_label(s, names) for s in layout.sets]
    counted = count_records(level_records.on_axes(release.schema, codes), layout).astype(np.float64)
    compared = list(compare(layout, labels, release.fitted.estimate_all(layout), counted, stds.tolist()))
    return Explanation(
        fit=name,
        rows=len(codes),
        certificate=certificate,
        notes=notes,
        tables=tuple(TableGap.of(one, len(codes)) for one in compared),
        small_cells=small_cells(compared),
        sum=Totals.of(compared, len(codes)),
    )


def possible_cells(schema: Schema) -> NDArray[np.bool_] | None:
    """A mask of the full domain without the impossible combinations; None when everything is possible."""
    if not schema.impossible:
        return None
    sizes = schema.record_sizes
    mask = np.ones(sizes, np.bool_)
    for rule in schema.record_rules:
        chosen = dict(rule)
        index = [list(chosen[a]) if a in chosen else list(range(n)) for a, n in enumerate(sizes)]
        mask[np.ix_(*index)] = False
    return mask
