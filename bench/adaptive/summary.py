"""The few lines on adaptive releases in the page that collects all benchmarks, between two marks."""

from __future__ import annotations

from pathlib import Path

from bench.adaptive import charts
from bench.adaptive.figures import Figures
from bench.adaptive.page import averaged, header, in_order
from bench.shared.places import ROOT

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- adaptive: written by bench adaptive -->", "<!-- end of adaptive -->"
EPSILONS = (0.1, 1.0, 10.0)


def write(folder: Path, page: Path = PAGE) -> None:
    """Replace what stands between the marks."""
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page.name} has lost its marks.")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    inside = "\n".join(errors(Figures("errors", folder)) + scale(Figures("scale", folder)))
    page.write_text(f"{before}{BEGIN}\n{inside}\n{END}{after}", encoding="utf-8")


def errors(figures: Figures) -> list[str]:
    """Mean L1 of every method at three epsilons."""
    lines = ["", *header("table", "epsilon", *(f"{s}, {r}" for s, r in charts.LABELS))]
    for name in in_order(list({r["table"] for r in figures.rows.values()})):
        for epsilon in EPSILONS:
            rows = [
                figures.where(table=name, epsilon=epsilon, strategy=s, reconstruction=r)
                for s, r in charts.LABELS
            ]
            if any(rows):
                found = [averaged(r) if r else {} for r in rows]
                cells = [f"{f['l1']:.3g}" if "l1" in f else "" for f in found]
                lines.append(f"| {name} | {epsilon:g} | " + " | ".join(cells) + " |")
    return lines


def scale(figures: Figures) -> list[str]:
    """Times and memory of whole releases."""
    if not figures.rows:
        return []
    columns = ("whole release", "epsilon", "elapsed, s", "processor, s", "memory, GB")
    lines = ["", *header(*columns)]
    for r in figures.rows.values():
        note = f" ({r['left_out']})" if "left_out" in r else ""
        lines.append(
            f"| {r['table']}, {r['strategy']}, {r['reconstruction']}{note} | {r['epsilon']:g} "
            f"| {r['elapsed']:.1f} | {r['processor']:.1f} | {r['gigabytes']:.2f} |"
        )
    return lines
