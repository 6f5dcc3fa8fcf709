"""Checks: the tallies that the questions of a plan need, and one decision about each of them."""

from __future__ import annotations

from hushtable.deciders import CheckPlan
from hushtable.kernel.counter import Counter
from hushtable.kernel.draw import verdict
from hushtable.kernel.run import Progress
from hushtable.kernel.spending import Draw
from hushtable.kernel.warm import warm_deciders


def prepare_check(counter: Counter, plan: CheckPlan, progress: Progress) -> Draw:
    """Make the tallies of every question of the plan; the draw decides them all, once."""
    progress("reading", 0, 3)
    tallies = counter.tally(plan.questions)
    pairs = [(question.decider, exact) for question, exact in zip(plan.questions, tallies, strict=True)]
    progress("deciding", 1, 3)
    warm_deciders()
    progress("charging", 2, 3)

    def draw() -> bytes:
        return plan.payload([verdict(decider, exact) for decider, exact in pairs])

    return draw
