"""What an epsilon-DP decider costs in zCDP, per row.

Any epsilon-DP mechanism satisfies epsilon tanh(epsilon/2)-zCDP, with equality for randomised response; the
exponential mechanism, whose log ratio has a range of epsilon, satisfies epsilon^2/8-zCDP.  ``proofs/decider-cost.md``
has the arguments.  Amounts are upper bounds and rational.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from hushtable.privacy import pure_rho


def rho_of_pure(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon/2), rounded up: the tight price of a mechanism known only to be epsilon-DP."""
    return Fraction(*pure_rho(epsilon.as_integer_ratio()))


def rho_of_parts(epsilons: Iterable[Fraction]) -> Fraction:
    """Price of independent or adaptive pure mechanisms, one after another."""
    return sum((rho_of_pure(part) for part in epsilons), Fraction(0))


def rho_of_exponential(epsilon: Fraction) -> Fraction:
    """epsilon^2 / 8."""
    return epsilon * epsilon / 8
