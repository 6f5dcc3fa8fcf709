"""What stands between the kernel and confidential rows: three questions, answered in exact integers.

Every kind of data is one ``Counter``: files and frames read their rows through our encoder, a database hands over a
stream of them, a cluster counts where the rows are.  What a counter must keep, whatever it is:

* all calls of one counter see the same rows: one snapshot, or a refusal where they changed in between
  (``source.changed``).  A frame is its caller's, who leaves it alone;
* a row counts as the schema says: dropped or encoded by its own values alone, at most k rows of a person, chosen as
  ``sources.kept_rows`` does from that person's rows alone, in whatever order they come;
* a refusal depends on ``probe`` alone, and no message holds a value;
* memory is bounded by what is asked for, not by the number of rows (with a person column, by the number of persons);
* integers are exact, and no noise is added here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hushtable.arrays import Ints
from hushtable.marginals import Counting, Layout

if (
    TYPE_CHECKING
):  # a question knows its decider, and with it noise: not loaded where rows are counted elsewhere
    from hushtable.deciders import Question, Tally


@dataclass(frozen=True)
class Header:
    """What one file or table says of itself: how to name it in a message, and the Arrow type of each column.

    ``rounded`` names the types of columns whose values the engine gives less exactly than they are stored.
    """

    shown: str
    names: list[str]
    types: list[Any]
    rounded: Mapping[str, str] = field(default_factory=dict[str, str])

    def type_of(self, column: str) -> Any:
        """Arrow type of a column."""
        return self.types[self.names.index(column)]


class Counter(Protocol):
    """Exact counts of one confidential table under one schema."""

    def probe(self) -> Sequence[Header]:
        """Public names and types of the columns, in each of the files or tables that are one: no row is read."""
        ...

    def tabulate(self, layout: Layout) -> Ints:
        """The marginals of the layout, flat, in its order.

        Where the schema has levels, each of them is an axis: ``layout.axes`` says which category of a coarser level
        a finer one lies in.
        """
        ...

    def totals(self, wanted: Sequence[Counting]) -> list[Ints]:
        """Several tables in one pass: of rows, as ``tabulate`` gives them, and of the columns that the schema sums.

        ``COVERAGE`` is what was left out of rows, along one axis, in the order of ``Schema.losses``.
        """
        ...

    def tally(self, questions: Sequence[Question]) -> list[Tally]:
        """Of each question the whole numbers that its decider is a function of, in one pass over the rows."""
        ...

    def keyed(self, ledger: str) -> Counter:
        """The same data; of people with too many rows, those count that the ledger of this id has count."""
        ...

    def staged(self, again: int = 0) -> Counter:
        """The same rows for one who will ask for tables again and again; it may keep codes, and ends with its user.

        ``again`` is how often at most, where that is known and a counter to which it matters should say so.

        A counter that is quick as it is gives itself.
        """
        ...
