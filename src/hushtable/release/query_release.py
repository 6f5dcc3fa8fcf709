"""Released answers that are not marginals of the schema: a table over buckets, or the queries of a matrix.

One tidy frame with an error bar on every number, a privacy card, and a folder on disk (Parquet and JSON).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
import polars as pl
import pyarrow as pa
from pydantic import Field, TypeAdapter

from hushtable.arrays import Floats
from hushtable.errors import BundleError
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.plain import Text
from hushtable.reconstruct import FULLY, least_upper, published_ends
from hushtable.release.bundle import new_folder
from hushtable.release.bundle_files import MANIFEST, manifest_of, opened, require, sha256
from hushtable.release.card import Card
from hushtable.release.parquet_check import Leaf, ParquetPart, finite_column, refusing_damage, text_column
from hushtable.release.tables import UNBIASED

FORMAT = "hushtable-queries-1"
ANSWERS = "answers.parquet"
MOST_ANSWERS, MOST_BYTES, MOST_LABEL = 10_000_000, 2**32, 10_000
"""Answers of a folder, bytes of its file and letters of a label: nothing in the folder implies them."""
_NUMBERS = {name: Leaf("DOUBLE") for name in ("estimate", "std", "lower", "upper")}
_LABELS = TypeAdapter(Annotated[list[Text], Field(max_length=1000, strict=True)])
"""Names of the columns that label answers."""
_WORDS = Leaf("BYTE_ARRAY")
_UNBIASED = {name: Leaf("DOUBLE") for name in UNBIASED}


@dataclass(frozen=True, eq=False)
class QueryRelease:
    """Noisy answers with labels: ``labels`` has one row per answer.  ``counts``: no true answer is negative."""

    labels: pl.DataFrame
    estimates: Floats
    variances: Floats
    card: Card
    counts: bool = False

    def table(self, *, alpha: float = 0.05) -> pl.DataFrame:
        """Labels, estimate, std, lower, upper, measured, and the estimate again with its own interval.

        An interval holds the true answer with probability ``1 - alpha``; that of a count does not reach below 0.
        """
        if not 0 < alpha < 1:
            raise BundleError("table.alpha", "alpha must lie between 0 and 1.", "Use alpha=0.05.")
        std = np.sqrt(self.variances)
        half = NormalDist().inv_cdf(1 - alpha / 2) * std
        lower, upper = self.estimates - half, self.estimates + half
        shown = (lower, upper)
        if self.counts:
            shown = published_ends(lower, least_upper(lower, upper), self.estimates)
        own = dict(zip(UNBIASED, (self.estimates, lower, upper), strict=True))
        return self.labels.with_columns(
            pl.Series("estimate", self.estimates),
            pl.Series("std", std),
            pl.Series("lower", shown[0]),
            pl.Series("upper", shown[1]),
            pl.lit(FULLY).alias("measured"),
            *(pl.Series(name, values) for name, values in own.items() if name not in self.labels.columns),
        )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write ``answers.parquet`` and ``release.json``."""
        with new_folder(folder, "write them again with `hush choose show`") as building:
            self.table().write_parquet(building / ANSWERS)
            manifest = {
                "format": FORMAT,
                "card": self.card.to_dict(),
                "labels": self.labels.columns,
                "counts": self.counts,
                "files": {ANSWERS: sha256(building / ANSWERS)},
            }
            (building / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> QueryRelease:
        """Read what :meth:`save` wrote; folders of version 0.1 have no hash of their answers, and only their shape is
        checked."""
        place = Path(folder)
        manifest = manifest_of(place, FORMAT)
        with refusing_damage(place):
            card, labels = Card.from_dict(manifest["card"]), _LABELS.validate_python(manifest["labels"])
            digest = manifest.get("files", {}).get(ANSWERS)
            with opened(place, ANSWERS, most=MOST_BYTES, digest=digest) as file:
                part = ParquetPart(file, {**dict.fromkeys(labels), **_NUMBERS, "measured": _WORDS}, _UNBIASED)
                require(part.rows <= MOST_ANSWERS, "rows")
                names = [*labels, *_NUMBERS]
                table = part.read(names, most_bytes=64 * part.rows * len(names))
            numbers = {name: finite_column(table[name]) for name in _NUMBERS}
            require(not (numbers["std"] < 0).any(), "std")
            words = [text_column(table[name], MOST_LABEL) for name in labels]
            frame = pl.DataFrame(pl.from_arrow(pa.table(words, names=labels)))
        return cls(frame, numbers["estimate"], numbers["std"] ** 2, card, bool(manifest.get("counts", False)))

    def to_dict(self) -> dict[str, Any]:
        """The card and every answer with its error bar."""
        return {"card": self.card.to_dict(), "answers": self.table().to_dicts()}

    def _repr_html_(self) -> str:
        shown = self.table().head(MOST_ROWS)
        facts = {"price": self.card, "unit": self.card.unit}
        return html_card(
            repr(self).strip("<>"), facts, shown.columns, shown.rows(), len(self.estimates) - shown.height
        )

    def __repr__(self) -> str:
        worst = float(np.sqrt(self.variances).max(initial=0.0))
        return f"<QueryRelease of {len(self.estimates):,} answers, std up to {worst:,.1f}>"
