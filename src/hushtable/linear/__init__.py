"""Linear Gaussian mechanisms and what they have in common, dense and by residuals."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.linear.checks import SignalRule as SignalRule
    from hushtable.linear.checks import checked_order
    from hushtable.linear.checks import checked_rule as checked_rule
    from hushtable.linear.dense import LinearGaussian as LinearGaussian
    from hushtable.linear.dense import estimates as estimates
    from hushtable.linear.dense import query_variances as query_variances
    from hushtable.linear.lattice import MarginalMechanism as MarginalMechanism
    from hushtable.linear.lattice import marginals as marginals
    from hushtable.linear.lattice import positive
    from hushtable.linear.mechanisms import OptionMechanism as OptionMechanism
    from hushtable.linear.mechanisms import answerable as answerable
    from hushtable.linear.mechanisms import budget_saved as budget_saved
    from hushtable.linear.mechanisms import common as common
    from hushtable.linear.mechanisms import equivalent as equivalent
    from hushtable.linear.mechanisms import ladder as ladder
    from hushtable.linear.mechanisms import recreate as recreate
    from hushtable.linear.mechanisms import residual as residual
    from hushtable.linear.mechanisms import stack as stack
    from hushtable.linear.partitions import BucketResidual as BucketResidual
    from hushtable.linear.partitions import BucketTable as BucketTable
    from hushtable.linear.partitions import bucket_recreate, spread, sum_cells
    from hushtable.linear.partitions import bucket_table as bucket_table
    from hushtable.linear.partitions import buckets as buckets
    from hushtable.linear.sampling import consistent_datasets as consistent_datasets
    from hushtable.linear.signal import Signal as Signal
    from hushtable.linear.signal import posterior as posterior
    from hushtable.linear.signal import signal_to_noise as signal_to_noise
    from hushtable.linear.signal import variance_reduction as variance_reduction
else:
    __getattr__, __dir__ = lazily(__name__)
