"""Linear Gaussian mechanisms and what they have in common, dense and by residuals."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.linear.decompose import estimates, query_variances
    from hushtable.linear.dense import LinearGaussian
    from hushtable.linear.lattice import MarginalMechanism, marginals
    from hushtable.linear.mechanisms import (
        Mechanism,
        Part,
        answerable,
        as_dense,
        budget_saved,
        common,
        equivalent,
        ladder,
        recreate,
        residual,
        stack,
    )
    from hushtable.linear.partitions import BucketResidual, BucketTable, bucket_table, buckets
    from hushtable.linear.reading import combine, marginal_from
    from hushtable.linear.sampling import consistent_datasets
    from hushtable.linear.signal import (
        Rule,
        Signal,
        checked_rule,
        posterior,
        signal_to_noise,
        variance_reduction,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "BucketResidual",
    "BucketTable",
    "LinearGaussian",
    "MarginalMechanism",
    "Mechanism",
    "Part",
    "Rule",
    "Signal",
    "answerable",
    "as_dense",
    "bucket_table",
    "buckets",
    "budget_saved",
    "checked_rule",
    "combine",
    "common",
    "consistent_datasets",
    "equivalent",
    "estimates",
    "ladder",
    "marginal_from",
    "marginals",
    "posterior",
    "query_variances",
    "recreate",
    "residual",
    "signal_to_noise",
    "stack",
    "variance_reduction",
]
