"""The privacy core: exact budgets, exact noise, and what each mechanism costs.

No files, no clock, no logging, no ordinary random numbers.
"""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.privacy.amounts import positive, text
    from hushtable.privacy.bits import BitSource, system_bits
    from hushtable.privacy.budget import (
        UNIT,
        ZCDP,
        ApproxDP,
        Budget,
        Cost,
        Kind,
        PureDP,
        charge,
        decimal,
        epsilon_from,
        price_in,
        rho_from,
    )
    from hushtable.privacy.mechanism import (
        DistanceNoise,
        GaussianNoise,
        LaplaceNoise,
        Mechanism,
        Price,
        ResidualNoise,
        Selection,
        pure_rho,
        total_price,
    )
    from hushtable.privacy.sampler import (
        LARGEST_SCALE,
        Segments,
        bernoulli,
        bernoulli_exp,
        discrete_gaussian,
        discrete_gaussian_kurtosis,
        discrete_gaussian_segments,
        discrete_gaussian_variance,
        discrete_laplace,
        discrete_laplace_kurtosis,
        discrete_laplace_segments,
        discrete_laplace_variance,
        exponential_mechanism,
        gaussian_segments,
        get_ready,
        laplace_segments,
        uniform_below,
    )
    from hushtable.privacy.truncation import TruncatedNoise, shared_bound
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "LARGEST_SCALE",
    "UNIT",
    "ZCDP",
    "ApproxDP",
    "BitSource",
    "Budget",
    "Cost",
    "DistanceNoise",
    "GaussianNoise",
    "Kind",
    "LaplaceNoise",
    "Mechanism",
    "Price",
    "PureDP",
    "ResidualNoise",
    "Segments",
    "Selection",
    "TruncatedNoise",
    "bernoulli",
    "bernoulli_exp",
    "charge",
    "decimal",
    "discrete_gaussian",
    "discrete_gaussian_kurtosis",
    "discrete_gaussian_segments",
    "discrete_gaussian_variance",
    "discrete_laplace",
    "discrete_laplace_kurtosis",
    "discrete_laplace_segments",
    "discrete_laplace_variance",
    "epsilon_from",
    "exponential_mechanism",
    "gaussian_segments",
    "get_ready",
    "laplace_segments",
    "positive",
    "price_in",
    "pure_rho",
    "rho_from",
    "shared_bound",
    "system_bits",
    "text",
    "total_price",
    "uniform_below",
]
