"""Linear Gaussian mechanisms and what they have in common, dense and by residuals."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.linear.dense import LinearGaussian, estimates, query_variances
    from hushtable.linear.lattice import MarginalMechanism, marginals
    from hushtable.linear.mechanisms import (
        Mechanism,
        answerable,
        budget_saved,
        common,
        equivalent,
        ladder,
        recreate,
        residual,
        stack,
    )
    from hushtable.linear.partitions import BucketResidual, BucketTable, bucket_table, buckets
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
    "Rule",
    "Signal",
    "answerable",
    "bucket_table",
    "buckets",
    "budget_saved",
    "checked_rule",
    "common",
    "consistent_datasets",
    "equivalent",
    "estimates",
    "ladder",
    "marginals",
    "posterior",
    "query_variances",
    "recreate",
    "residual",
    "signal_to_noise",
    "stack",
    "variance_reduction",
]
