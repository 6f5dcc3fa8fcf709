"""The decider that "auto" takes, without looking: from the aggregate, public bounds, the price and nothing else.

For a pure price the noisy margin has the smallest threshold of all deciders whose threshold does not depend on the
data; for a zCDP price the coin on the margin has, because it costs a quarter.  The race wins for SUM only when the
caller supposes that the largest value is far below the bound.
"""

from __future__ import annotations

import math

from hushtable.deciders.aggregates import BETA, Aggregate, Facts
from hushtable.deciders.decider import Decider, Preferred
from hushtable.deciders.intervals import Number
from hushtable.deciders.registry import DECIDERS
from hushtable.deciders.thresholds import threshold_of


def choose_decider(
    aggregate: Aggregate,
    facts: Facts,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    largest: int | None = None,
) -> Decider:
    """The decider for a pure price ``epsilon`` or a zCDP price ``rho``, per row; not checked; its ``reason`` says why.

    ``largest`` is what the caller supposes to be the largest value in the data, in grid steps: public knowledge, or
    None.
    """

    usual = preferred(aggregate, "epsilon" if rho is None else "rho")[0]
    rivals = [] if largest is None else preferred(aggregate, "largest")
    able = [kind for kind in rivals if not (kind.nonnegative and facts.low < 0)]
    made = [kind.priced(facts, epsilon=epsilon, rho=rho) for kind in (usual, *able)]
    if not able:
        return made[0]
    return min(made, key=lambda one: threshold_of(one, BETA, largest) or math.inf)


def preferred(aggregate: Aggregate, when: Preferred) -> list[type[Decider]]:
    """The deciders that "auto" takes in this case; the first one registered comes first."""
    return [kind for kind in DECIDERS.values() if kind.aggregate is aggregate and kind.preferred == when]
