"""What stands between the kernel and confidential rows: three questions, answered in exact integers.

Every kind of data is one ``Counter``: files and frames read their rows through our encoder, a database hands over a
stream of them, a cluster counts where the rows are.  What a counter must keep, whatever it is:

* all calls of one counter see the same rows, in one snapshot or not at all: where the rows changed in between, a call
  refuses (``source.changed``);
* a row counts as the schema says: dropped or encoded by its own values alone, at most k rows of a person, chosen by
  that person's rows alone;
* a refusal depends on ``probe`` alone, and no message holds a value;
* memory is bounded by what is asked for, not by the number of rows (with a person column, by the number of persons);
* integers are exact, and no noise is added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hushtable.arrays import Ints
from hushtable.deciders import Question, Tally
from hushtable.marginals import Layout


class Counter(Protocol):
    """Exact counts of one confidential table under one schema."""

    def tabulate(self, layout: Layout) -> Ints:
        """The marginals of the layout, flat, in its order."""
        ...

    def tally(self, questions: Sequence[Question]) -> list[Tally]:
        """Of each question the whole numbers that its decider is a function of, in one pass over the rows."""
        ...

    def staged(self) -> Counter:
        """The same rows for one who will ask for tables again and again; it may keep codes, and ends with its user."""
        ...
