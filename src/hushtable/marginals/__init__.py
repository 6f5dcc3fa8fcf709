"""Marginals, residuals and workloads: the public algebra, on axis numbers and flat arrays, free of data access."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.marginals.algebra import centre, decompose, lift, reconstruct
    from hushtable.marginals.fused import accumulate, assemble, centre_all, lift_all
    from hushtable.marginals.incidence import Incidence
    from hushtable.marginals.layout import (
        MAX_SETS,
        AttributeSet,
        Layout,
        closure,
        is_attribute_set,
        largest_sets,
        sorted_sets,
        subsets,
    )
    from hushtable.marginals.threads import in_ranges
    from hushtable.marginals.workload import Domain, ResolvedWorkload, Workload, marginal_label
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "MAX_SETS",
    "AttributeSet",
    "Domain",
    "Incidence",
    "Layout",
    "ResolvedWorkload",
    "Workload",
    "accumulate",
    "assemble",
    "centre",
    "centre_all",
    "closure",
    "decompose",
    "in_ranges",
    "is_attribute_set",
    "largest_sets",
    "lift",
    "lift_all",
    "marginal_label",
    "reconstruct",
    "sorted_sets",
    "subsets",
]
