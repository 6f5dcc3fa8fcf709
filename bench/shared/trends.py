"""The page and the picture of how the kept figures moved.

    hush bench trends [-- --history bench/history --page docs/benchmarks-trends.md]

What a run of a benchmark adds is on the page at once; this is for lines that were edited or merged.  Each figure is
one line of the picture, on a scale of its own from its least to its largest value.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from bench.shared.places import ROOT

FOLDER = ROOT / "bench" / "history"
PAGE = ROOT / "docs" / "benchmarks-trends.md"
PICTURE = Path("images") / "trends.svg"
WIDTH, ROW, LEFT, RIGHT = 860, 20, 430, 110
"""Pixels: of the picture, of one figure's line, of its name on the left and its last value on the right."""

HEAD = """\
# Benchmarks: how figures moved

Written from `bench/history`, where each run of a benchmark leaves a line with the date, the commit and its figures.
Kept are figures that mean the same on another machine: ratios of two programs that ran side by side, errors, shares. A
plus sign behind a commit says that files had changed since. The lines from before the history was kept were read from
the pages of those commits.
"""


@dataclass(frozen=True)
class Series:
    """One figure over the runs that had it."""

    benchmark: str
    figure: str
    values: tuple[float, ...]
    first: str
    last: str


def kept(folder: Path = FOLDER) -> dict[str, list[dict[str, Any]]]:
    """All runs of all benchmarks, oldest first."""
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted(folder.glob("*.jsonl"))
    }


def series(history: dict[str, list[dict]]) -> list[Series]:
    """Every figure of every benchmark, in the order in which they first appeared."""
    found = []
    for benchmark, runs in history.items():
        names = dict.fromkeys(name for run in runs for name in run["figures"])
        for name in names:
            having = [run for run in runs if name in run["figures"]]
            values = tuple(run["figures"][name] for run in having)
            when = [f"{run['date']}, {run['commit']}" for run in having]
            found.append(Series(benchmark, name, values, when[0], when[-1]))
    return found


def page(found: list[Series]) -> str:
    """The whole page."""
    lines = [
        HEAD,
        f"![One line for each kept figure, from its first run to its last, each on its own scale.]({PICTURE})",
    ]
    for benchmark in dict.fromkeys(s.benchmark for s in found):
        lines += [
            "",
            f"## {benchmark}",
            "",
            "| figure | runs | first | last | change | last run |",
            "|---|---|---|---|---|---|",
        ]
        for s in found:
            if s.benchmark == benchmark:
                first, last = s.values[0], s.values[-1]
                change = f"{100 * (last / first - 1):+.0f}%" if first else ""
                lines.append(
                    f"| {s.figure} | {len(s.values)} | {first:.4g} | {last:.4g} | {change} | {s.last} |"
                )
    return "\n".join(lines) + "\n"


def picture(found: list[Series]) -> str:
    """All figures below each other, as SVG."""
    height = ROW * (len(found) + 1)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'font-family="sans-serif" font-size="11" fill="#222">',
            f"<title>{len(found)} figures over their runs</title>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
            *(line for row, s in enumerate(found) for line in _drawn(s, row)),
            "</svg>\n",
        ]
    )


def _drawn(s: Series, row: int) -> Iterator[str]:
    middle = ROW * (row + 0.5) + ROW / 2
    yield f'<text x="{LEFT - 10}" y="{middle + 4:g}" text-anchor="end">{escape(f"{s.benchmark}: {s.figure}")}</text>'
    low, high = min(s.values), max(s.values)
    wide, tall = WIDTH - LEFT - RIGHT, ROW - 8
    places = [
        (
            LEFT + (wide * k / (len(s.values) - 1) if len(s.values) > 1 else wide),
            middle + tall * (0.5 - ((value - low) / (high - low) if high > low else 0.5)),
        )
        for k, value in enumerate(s.values)
    ]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    yield f'<polyline points="{points}" fill="none" stroke="#3b6ea5" stroke-width="1.5"/>'
    yield f'<circle cx="{places[-1][0]:.1f}" cy="{places[-1][1]:.1f}" r="2.5" fill="#3b6ea5"/>'
    yield f'<text x="{WIDTH - RIGHT + 12}" y="{middle + 4:g}">{s.values[-1]:.4g}</text>'


def write(history: Path = FOLDER, to: Path = PAGE) -> None:
    """Page and picture of what is kept."""
    found = series(kept(history))
    image = to.parent / PICTURE
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(picture(found), encoding="utf-8")
    to.write_text(page(found), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--history", type=Path, default=FOLDER)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    write(options.history, options.page)


if __name__ == "__main__":
    main()
