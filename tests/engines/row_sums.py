"""What a database makes of weights, totals and replicate weights of ``made_people.weighed``, in SQL of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from made_people import weighed

from hushtable.kernel.sources import open_counter
from hushtable.marginals import ROWS, Counting, Layout
from hushtable.schema import replicate_of, total_of

SQL = """
SELECT member, SUM(w), SUM(w * c), SUM(a - m), SUM(i - m), SUM(k - m)
FROM (
  SELECT *, FLOOR((2 * (a + i + k) + 3) / 6.0) AS m
  FROM (
    SELECT member,
           LEAST(GREATEST(age, 0), 99) AS w,
           LEAST(GREATEST(age, 0), 198) AS a,
           FLOOR(LEAST(GREATEST(income, 0), 198) + 0.5) AS i,
           FLOOR(LEAST(GREATEST(cost, 0), 198) + 0.5) AS k,
           LEAST(GREATEST(cost, -5), 5) * 100 AS c
    FROM {table} WHERE age IS NOT NULL AND cost IS NOT NULL AND NOT {nan}
  ) AS read_rows
) AS moved
GROUP BY member
"""
"""Half-samples of three in these bounds are never too long, so that nothing is shortened."""


def summed_by(rows: Iterable[Any]) -> list[list[int]]:
    """The integers of such an answer: for each sum those of false, true and null."""
    found = {row[0]: [int(number) for number in row[1:]] for row in rows}
    return [list(sums) for sums in zip(*(found[member] for member in (False, True, None)), strict=True)]


def counted(data: Any) -> list[list[int]]:
    """The same from rows, as releases have them."""
    declared = weighed()
    layout = Layout(declared.sizes, ((declared.axis("member"),),))
    quantities = (ROWS, total_of("cost"), *map(replicate_of, range(3)))
    counts = open_counter(data, declared).totals([Counting(layout, of) for of in quantities])
    return [one.tolist() for one in counts]
