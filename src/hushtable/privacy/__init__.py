"""The privacy core: exact budgets, exact noise, and what each mechanism costs.

No files, no clock, no logging, no ordinary random numbers.
"""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.privacy import sampler_loops
    from hushtable.privacy.amounts import Number as Number
    from hushtable.privacy.amounts import exact_number
    from hushtable.privacy.amounts import positive as positive
    from hushtable.privacy.amounts import text as text
    from hushtable.privacy.bits import BitSource as BitSource
    from hushtable.privacy.bits import system_bits as system_bits
    from hushtable.privacy.budget import UNIT as UNIT
    from hushtable.privacy.budget import ZCDP as ZCDP
    from hushtable.privacy.budget import ApproxDP as ApproxDP
    from hushtable.privacy.budget import Budget as Budget
    from hushtable.privacy.budget import Cost as Cost
    from hushtable.privacy.budget import Kind as Kind
    from hushtable.privacy.budget import PureDP as PureDP
    from hushtable.privacy.budget import charge as charge
    from hushtable.privacy.budget import decimal as decimal
    from hushtable.privacy.budget import price_in as price_in
    from hushtable.privacy.conversion import epsilon_from as epsilon_from
    from hushtable.privacy.conversion import rho_from as rho_from
    from hushtable.privacy.mechanism import LAWS as LAWS
    from hushtable.privacy.mechanism import CountNoise as CountNoise
    from hushtable.privacy.mechanism import DistanceNoise as DistanceNoise
    from hushtable.privacy.mechanism import GaussianNoise as GaussianNoise
    from hushtable.privacy.mechanism import LaplaceNoise as LaplaceNoise
    from hushtable.privacy.mechanism import Mechanism as Mechanism
    from hushtable.privacy.mechanism import Price as Price
    from hushtable.privacy.mechanism import Ratio as Ratio
    from hushtable.privacy.mechanism import ResidualNoise as ResidualNoise
    from hushtable.privacy.mechanism import Selection as Selection
    from hushtable.privacy.mechanism import pure_rho as pure_rho
    from hushtable.privacy.mechanism import total_price as total_price
    from hushtable.privacy.moments import discrete_gaussian_kurtosis as discrete_gaussian_kurtosis
    from hushtable.privacy.moments import discrete_gaussian_variance as discrete_gaussian_variance
    from hushtable.privacy.moments import discrete_laplace_kurtosis as discrete_laplace_kurtosis
    from hushtable.privacy.moments import discrete_laplace_variance as discrete_laplace_variance
    from hushtable.privacy.sampler import LARGEST_SCALE as LARGEST_SCALE
    from hushtable.privacy.sampler import Segments as Segments
    from hushtable.privacy.sampler import bernoulli as bernoulli
    from hushtable.privacy.sampler import bernoulli_exp as bernoulli_exp
    from hushtable.privacy.sampler import discrete_gaussian as discrete_gaussian
    from hushtable.privacy.sampler import discrete_laplace as discrete_laplace
    from hushtable.privacy.sampler import exponential_mechanism as exponential_mechanism
    from hushtable.privacy.sampler import gaussian_segments as gaussian_segments
    from hushtable.privacy.sampler import get_ready as get_ready
    from hushtable.privacy.sampler import laplace_segments as laplace_segments
    from hushtable.privacy.sampler import uniform_below as uniform_below
    from hushtable.privacy.truncation import TruncatedNoise as TruncatedNoise
    from hushtable.privacy.truncation import shared_bound as shared_bound
else:
    __getattr__, __dir__ = lazily(__name__)
