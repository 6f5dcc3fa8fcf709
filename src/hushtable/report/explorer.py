"""What the explorer of a page reads: released tables with their errors, in JSON that a browser unpacks piece by piece.

A report has it inside; a service or a site may send the same JSON.  ``explorer-data.js`` reads it back and is the other
half of this module.  Nothing is left out that a share or an interval needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hushtable.axes import Axes
from hushtable.marginals import AttributeSet
from hushtable.planning import normal_spread
from hushtable.reconstruct import LEAST_UPPER, reconstruction_named
from hushtable.release import CAUTION_ABOVE, QUALITY_FLAGS, UNRELIABLE_ABOVE, Release, interval_promise
from hushtable.report.cells import FAR, Cells
from hushtable.report.deflated import deflated_json
from hushtable.report.packed import Packed
from hushtable.schema import Binned

FORMAT = "hushtable-explorer-1"
PIECE = 65_536
"""Numbers that are packed together.  A table is shown after unpacking one piece, a few milliseconds; smaller pieces
pack worse."""


@dataclass(frozen=True)
class Explorer:
    """Tables for one page: what they are about, an index of them, and their numbers in pieces."""

    about: dict[str, Any]
    index: dict[str, Any]
    pieces: tuple[str, ...]

    @property
    def asked(self) -> list[AttributeSet]:
        """Tables that were asked for, on this page."""
        marked = zip(self.index["sets"], self.index["asked"], strict=True)
        return [attributes for attributes, asked in marked if asked == "1"]

    def to_dict(self) -> dict[str, Any]:
        """What ``explorer-data.js`` reads."""
        return {
            "format": FORMAT,
            **self.about,
            "index": deflated_json(self.index),
            "pieces": list(self.pieces),
        }

    def beside(self, others: Mapping[str, Explorer]) -> Explorer:
        """The same, knowing which tables are on other pages, by their files."""
        listed = [{"file": file, "sets": page.asked} for file, page in others.items()]
        return replace(self, index={**self.index, "elsewhere": listed})


@dataclass
class _TablesPage:
    """A page that is being filled."""

    sets: list[AttributeSet] = field(default_factory=list[AttributeSet])
    held: set[AttributeSet] = field(default_factory=set[AttributeSet])
    pieces: list[str] = field(default_factory=list[str])
    begins: list[int] = field(default_factory=list[int])
    """The first table of each piece."""
    size: int = 0
    """Bytes of the pieces and of what the index says of them: where errors differ by table, a fifth of a page."""
    waiting: int = 0

    def flush(self, packed: Packed) -> None:
        """Pack the tables that came after the last piece."""
        first = self.begins[-1] if len(self.begins) > len(self.pieces) else len(self.sets)
        if first < len(self.sets):
            added = self.sets[first:]
            self.pieces.append(packed.piece(added))
            self.size += len(self.pieces[-1]) + len(deflated_json(packed.index(added)))
        self.waiting = 0


def explorer_pages(release: Release, cells: Cells, alpha: float, most_bytes: int) -> list[Explorer]:
    """The tables of a release on as many pages as it takes if none packs much more than ``most_bytes``; often one."""
    packed = Packed.of(cells, alpha, unbiased=reconstruction_named(release.reconstruction).unbiased)
    about = explorer_words(release, alpha)
    return [
        Explorer(
            about, {**packed.index(page.sets), "begins": page.begins, "elsewhere": []}, tuple(page.pieces)
        )
        for page in _paged(packed, release.schema.sizes, most_bytes)
    ]


def explorer_words(release: Release, alpha: float) -> dict[str, Any]:
    """What the tables are about: attributes with their categories, flags, and the sentences that belong to numbers."""
    schema, axes = release.schema, Axes.of(release.schema.sizes)
    attributes = [
        {
            "name": name,
            "label": what.label or name,
            "labels": list(what.labels),
            "ordered": isinstance(what, Binned),
            "parent": axes.parents[axis],
            "blocks": axes.blocks[axis].tolist(),
        }
        for axis, (name, what) in enumerate(schema.levels.items())
    ]
    return {
        "title": schema.about.title or release.card.ledger.name,
        "unit": schema.about.unit or "records",
        "alpha": alpha,
        "far": FAR,
        "spread": normal_spread(alpha),
        "least": LEAST_UPPER,
        "promise": interval_promise(release.card, alpha, adjusted=False),
        "estimate": reconstruction_named(release.reconstruction).estimate,
        "limits": [CAUTION_ABOVE, UNRELIABLE_ABOVE],
        "flags": [flag.to_dict() for flag in QUALITY_FLAGS],
        "attributes": attributes,
        "notes": list(schema.about.footnotes),
    }


def _paged(packed: Packed, sizes: tuple[int, ...], most_bytes: int) -> Iterator[_TablesPage]:
    """Tables with the ones inside them, which are their totals, page by page."""
    page, axes = _TablesPage(), Axes.of(sizes)
    for attributes in packed.asked:
        for inside in axes.below(attributes):
            if inside not in page.held:
                if not page.waiting:
                    page.begins.append(len(page.sets))
                page.sets.append(inside)
                page.held.add(inside)
                page.waiting += packed.numbers_of(inside)
        if page.waiting >= PIECE:
            page.flush(packed)
            if page.size >= most_bytes:
                yield page
                page = _TablesPage()
    page.flush(packed)
    if page.sets:
        yield page
