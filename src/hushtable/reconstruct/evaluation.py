"""What a comparison of released tables with the truth says: for the curator's own eyes, never to be published."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from hushtable.notebook import MOST_ROWS, html_card


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """True errors: of all tables together, of each, by group of people, by size of the true count, the worst cells."""

    overall: pl.DataFrame
    marginals: pl.DataFrame
    groups: pl.DataFrame
    sizes: pl.DataFrame
    worst: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Each frame as a list of rows."""
        return {frame.name: getattr(self, frame.name).to_dicts() for frame in fields(self)}

    def __repr__(self) -> str:
        share = self.overall["l1_share"].item()
        return f"<Evaluation, confidential: {self.marginals.height:,} tables, mean L1 share {share:.4f}>"

    def _repr_html_(self) -> str:
        worst = self.marginals.sort("l1_share", descending=True).head(MOST_ROWS)
        more = self.marginals.height - worst.height
        facts = self.overall.to_dicts()[0]
        return html_card("True errors: confidential", facts, worst.columns, worst.rows(), more)
