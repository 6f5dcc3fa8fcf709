"""Marginals, residuals and workloads: the public algebra, on axis numbers and flat arrays, free of data access."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.axes import summed_to as summed_to
    from hushtable.marginals.algebra import centre as centre
    from hushtable.marginals.algebra import decompose as decompose
    from hushtable.marginals.algebra import lift as lift
    from hushtable.marginals.algebra import reconstruct as reconstruct
    from hushtable.marginals.asks import INTERVALS, PREFIXES, RANGES, Ask
    from hushtable.marginals.counting import COVERAGE, REPLICATES, ROWS, Counting
    from hushtable.marginals.free_counts import put_free
    from hushtable.marginals.fused import accumulate as accumulate
    from hushtable.marginals.fused import assemble as assemble
    from hushtable.marginals.fused import centre_all as centre_all
    from hushtable.marginals.fused import centre_lifted as centre_lifted
    from hushtable.marginals.fused import lift_all as lift_all
    from hushtable.marginals.half_octaves import BINS, LEVELS, SMALLEST, bin_of
    from hushtable.marginals.incidence import Incidence as Incidence
    from hushtable.marginals.incidence import Links
    from hushtable.marginals.kernels import SHORT, add_repeated, add_sums, grouped, next_place
    from hushtable.marginals.layout import Layout as Layout
    from hushtable.marginals.level_sums import repeated_along as repeated_along
    from hushtable.marginals.sets import MAX_SETS as MAX_SETS
    from hushtable.marginals.sets import AttributeSet as AttributeSet
    from hushtable.marginals.sets import closure as closure
    from hushtable.marginals.sets import is_attribute_set as is_attribute_set
    from hushtable.marginals.sets import largest_sets as largest_sets
    from hushtable.marginals.sets import sorted_sets as sorted_sets
    from hushtable.marginals.sets import subsets as subsets
    from hushtable.marginals.spreads import kinds_of as kinds_of
    from hushtable.marginals.spreads import spreads_of as spreads_of
    from hushtable.marginals.threads import in_ranges as in_ranges
    from hushtable.marginals.workload import Domain as Domain
    from hushtable.marginals.workload import ResolvedWorkload as ResolvedWorkload
    from hushtable.marginals.workload import Workload as Workload
    from hushtable.marginals.workload import marginal_label as marginal_label
    from hushtable.marginals.workload_file import read_workload_text
else:
    __getattr__, __dir__ = lazily(__name__)
