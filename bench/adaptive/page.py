"""The page of the adaptive benchmarks, assembled from the figures on disk; parts that were not run say so."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from bench.adaptive import charts
from bench.adaptive.figures import Figures
from bench.shared.places import ROOT

PAGE = ROOT / "docs" / "benchmarks-adaptive.md"
TUNED = ("adult",)
TIMES = ("elapsed", "processor", "updating", "updating_processor")
Row = dict[str, Any]


def write(folder: Path, page: Path = PAGE) -> None:
    """Write the page and its charts."""
    images = page.parent / "images"
    lines = [
        "# Benchmarks of adaptive releases",
        "",
        *prose(
            """
            Written by `make bench-adaptive`, which measures again only what is missing in its kept figures;
            `--fresh` measures all, `--parts errors sequence axes model scale` chooses, `--page` only writes
            this page. All three-way marginals, delta 1e-9, exact noise. Errors are divided by the number of
            records. Elapsed times suffer from other programs on the machine; processor times less. The
            stand-ins `acs` and `loans` are drawn tables with the shapes of aim-grem's data sets.
            """
        ),
        "",
    ]
    for part, section in (
        ("errors", errors),
        ("model", model),
        ("sequence", sequence),
        ("axes", axes),
        ("scale", scale),
    ):
        figures = Figures(part, folder)
        lines += [*section(figures, images, folder), "", *measured_when(figures), ""]
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def prose(text: str) -> list[str]:
    """A paragraph in lines, however it stands here."""
    return wrap(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def header(columns: str) -> list[str]:
    """The first two lines of a table, from the names of its columns with bars between them."""
    return [f"| {columns} |", "|" + "---|" * (columns.count("|") + 1)]


def measured_when(figures: Figures) -> list[str]:
    """How and when a part was measured."""
    if not figures.runs:
        return ["This part has not been run."]
    return [
        f"Measured {r['date']}, sources at {r['commit']}, {r['cores']} cores, load {r['load']:g} at the start: "
        f"`{r['options']}`."
        for r in figures.runs
    ]


def shown(path: Path, page_folder: Path, what: str) -> list[str]:
    return ["", f"![{what}]({path.relative_to(page_folder).as_posix()})"]


def averaged(rows: list[Row]) -> Row:
    """One line for the seeds of a method."""
    found = [r for r in rows if "l1" in r]
    if not found:
        return rows[0]
    mean = {k: float(np.mean([r[k] for r in found])) for k in ("l1", "l2", "largest", "elapsed", "processor")}
    spread = float(np.std([r["l1"] for r in found], ddof=1)) if len(found) > 1 else None
    differ = max(r.get("differ", 0.0) for r in found)
    return found[0] | mean | {"seeds": len(found), "spread": spread, "differ": differ}


def errors(figures: Figures, images: Path, folder: Path) -> list[str]:
    tuned = " and ".join(f"`{table}`" for table in TUNED)
    lines = [
        "## Errors and times by strategy",
        "",
        *prose(
            f"""
            Mean and standard deviation of the mean L1 over seeds; then the mean L2 and the largest L1 over
            marginals. `differ` is the largest difference, in records, of a two-way table read from two
            maximum-entropy tables. `aim` with `mle` is AIM+GReM as published. Constants were tuned on
            {tuned} only.
            """
        ),
    ]
    groups: dict[str, dict[tuple[Any, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for r in figures.rows.values():
        groups[r["table"]][r["epsilon"], r["strategy"], r["reconstruction"]].append(r)
    for name in in_order(list(groups)):
        methods = groups[name]
        lines += ["", f"### {name} ({'tuned on' if name in TUNED else 'not tuned on'})"]
        image = images / f"adaptive-errors-{name}.svg"
        if charts.by_epsilon(figures, name, image):
            lines += shown(image, images.parent, f"mean L1 by epsilon on {name}")
        lines += [
            "",
            *header(
                "epsilon | strategy | reconstruction | seeds | mean L1 | mean L2 | max L1 | differ "
                "| elapsed, s | processor, s | "
            ),
        ]
        order = list(charts.LABELS)
        for (epsilon, strategy, way), rows in sorted(
            methods.items(), key=lambda m: (m[0][0], order.index(m[0][1:]))
        ):
            lines.append(error_line(epsilon, strategy, way, averaged(rows)))
    return lines


def in_order(names: list[str]) -> list[str]:
    """Tables from the one that was tuned on to the largest."""
    order = ["adult", "titanic", "adult_wide", "acs", "loans"]
    return sorted(names, key=lambda name: order.index(name) if name in order else len(order))


def error_line(epsilon: float, strategy: str, way: str, r: Row) -> str:
    head = f"| {epsilon:g} | {strategy} | {way} "
    if "l1" not in r:
        return f"{head}| | | | | | | | left out: {r['left_out']} |"
    spread = "" if r.get("spread") is None else f" ± {r['spread']:.4f}"
    differ = f"{r['differ']:.1f}" if way == "maxent" and r["differ"] else ""
    return (
        f"{head}| {r['seeds']} | {r['l1']:.4f}{spread} | {r['l2']:.4f} | {r['largest']:.3f} | {differ} "
        f"| {r['elapsed']:.1f} | {r['processor']:.1f} | {r.get('note', '')} |"
    )


def model(figures: Figures, images: Path, folder: Path) -> list[str]:
    lines = [
        "## Against the graphical-model AIM of smartnoise-synth",
        "",
        *prose(
            """
            The same marginals, epsilon and delta; a model of at most 50 MB (`max_model_size`), as in
            aim-grem. It has a limit of processor seconds; when it is stopped, the model of its last
            complete round answers. `auto` is the mean of the first section.
            """
        ),
        "",
        *header(
            "table | epsilon | mean L1 | mean L2 | max L1 | elapsed, s "
            "| processor, s | fits |  | `auto`: mean L1 | elapsed, s"
        ),
    ]
    installed = ""
    for r in figures.rows.values():
        found = Figures("errors", folder).where(
            table=r["table"], epsilon=r["epsilon"], strategy="auto", reconstruction="maxent"
        )
        ours = averaged(found) if found else None
        beside = f"{ours['l1']:.4f} | {ours['elapsed']:.1f} |" if ours else "| |"
        head = f"| {r['table']} | {r['epsilon']:g} "
        if "l1" not in r:
            lines.append(f"{head}| | | | {r['elapsed']:.0f} | | | left out: {r['left_out']} | {beside}")
            continue
        installed = r["versions"]
        lines.append(
            f"{head}| {r['l1']:.4f} | {r['l2']:.4f} | {r['largest']:.3f} | {r['elapsed']:.0f} | {r['processor']:.0f} "
            f"| {r['rounds']} | {r['note']} | {beside}"
        )
    return [*lines, "", f"Installed: {installed}."] if installed else lines


def whole(r: Row, figures: Figures, field: str) -> float:
    """A time of the whole sequence: OpenDP's noise by cells drawn, all else by measurements, the first included."""
    if r["measurements"] >= r["total"]:
        return float(r[field])
    if r["noise"] == "opendp":
        other = figures.where(table=r["table"], loop="plain", noise="floats")
        if other and other[0]["measurements"] == other[0]["total"]:
            return float(r[field]) * other[0]["drawn"] / r["drawn"]
    return float(r[field]) * (r["total"] + 1) / (r["measurements"] + 1)


def sequence(figures: Figures, images: Path, folder: Path) -> list[str]:
    lines = [
        "## A fixed sequence of measurements",
        "",
        *prose(
            """
            The sequence of aim-grem's Table 2: half the budget on 1-way marginals, half on every 3-way
            marginal in turn, epsilon 1. `lazy` touches what changed, `full` assembles every estimate after
            each measurement. `crp` is the conditional plan, `iid` equal noise in the cells of the chosen
            marginal. `plain` is lazy updating with the conditional plan in plain NumPy
            (`bench/adaptive/plain.py`), with floating-point noise, which is not private, or with OpenDP's
            exact noise. `updating` is the elapsed time of bringing estimates and their L1 distances up to
            date, without planning and drawing. Our loop uses two threads and draws exact noise. Loops
            stopped early are extrapolated by the number of measurements (OpenDP's: of cells drawn). Early
            measurements of the conditional plan touch more tables than later ones, so its extrapolated
            times are too long.
            """
        ),
        "",
        *header(
            "table | loop | noise | elapsed, s | processor, s | updating, s | of processor | extrapolated | mean L1"
        ),
    ]
    bars = []
    for r in figures.rows.values():
        head = f"| {r['table']} | {r['loop']} | {r['noise']} "
        if "left_out" in r:
            lines.append(f"{head}| | | | | left out: {r['left_out']} | |")
            continue
        times = [whole(r, figures, field) for field in TIMES]
        done = r["measurements"] >= r["total"]
        note = "no" if done else f"from {r['measurements'] + 1:,} of {r['total'] + 1:,}"
        error = f"{r['l1']:.3f}" if "l1" in r else ""
        lines.append(f"{head}| " + " | ".join(f"{t:.2f}" for t in times) + f" | {note} | {error} |")
        bars.append(
            {
                "table": r["table"],
                "loop": f"{r['loop']} {r['noise']}",
                "seconds": times[0],
                "extrapolated": "no" if done else "yes",
            }
        )
    image = images / "adaptive-sequence.svg"
    if charts.loops(bars, image):
        lines += shown(image, images.parent, "seconds of each loop")
    return [*lines, *ratios(figures)]


def ratios(figures: Figures) -> list[str]:
    """What the compiled loop gains, and aim-grem's own ratios."""
    lines = [
        "",
        *prose(
            """
            How many times longer than our lazy loop with the conditional plan (aim-grem, Table 2: lazy+iid
            2.0, 2.0 and 12.9, full+iid 18.5, 45.2 and 92.6 for Adult, ACS and Loans):
            """
        ),
        "",
        *header("table | compared | elapsed | processor | updating | updating, processor"),
    ]
    lines[1:1] = prose(
        """
        With tables of thousands of cells NumPy updates nearly as fast as compiled loops, and what an honest release
        adds is exact noise; with tables of tens of cells the compiled loop gains.
        """
    )
    for r in figures.rows.values():
        base = figures.where(table=r["table"], loop="lazy", noise="crp")
        if (r["loop"], r["noise"]) == ("lazy", "crp") or "left_out" in r or not base:
            continue
        times = [whole(r, figures, field) / whole(base[0], figures, field) for field in TIMES]
        name = f"{r['loop']}, {r['noise']}"
        lines.append(f"| {r['table']} | {name} | " + " | ".join(f"{t:.2f}" for t in times) + " |")
    return lines


def axes(figures: Figures, images: Path, folder: Path) -> list[str]:
    lines = [
        "## In the axes of an array, or by Kronecker products",
        "",
        *prose(
            """
            aim-grem, Figure 3: the residual of a whole marginal, and its part of the marginal, by
            `marginals.decompose` and `reconstruct` and by one small matrix per attribute with shuffles.
            Elapsed milliseconds, best of several alternating runs, one thread each. Seven attributes of 16
            values, the paper's largest, are left out: 268 million cells in several copies.
            """
        ),
        "",
        *header(
            "attributes | values | cells | decompose | Kronecker | ratio | reconstruct | Kronecker | ratio"
        ),
    ]
    down: dict[str, list[float]] = defaultdict(list)
    up: list[float] = []
    for r in figures.rows.values():
        a, b = r["decompose_kronecker"] / r["decompose"], r["reconstruct_kronecker"] / r["reconstruct"]
        down[r["setting"]].append(a)
        up += [b] if r["cells"] > 10_000 else []
        lines.append(
            f"| {r['attributes']} | {r['values']} | {r['cells']:,} | {1e3 * r['decompose']:.3f} "
            f"| {1e3 * r['decompose_kronecker']:.3f} | {a:.2f} | {1e3 * r['reconstruct']:.3f} "
            f"| {1e3 * r['reconstruct_kronecker']:.3f} | {b:.2f} |"
        )
    if down:
        means = "; ".join(f"{setting}: {np.mean(found):.2f}" for setting, found in down.items())
        lines += ["", f"Mean ratio of decomposition: {means} (the paper: 3.14 and 3.75)."]
        lines += [f"Least ratio of reconstruction over 10,000 cells: {min(up):.2f}."]
    image = images / "adaptive-axes.svg"
    if charts.axes(figures, image):
        lines += shown(image, images.parent, "seconds by cells")
    return lines


def scale(figures: Figures, images: Path, folder: Path) -> list[str]:
    lines = [
        "## Whole releases, from a file to saved tables",
        "",
        *prose(
            """
            `hush release` with a schema and a ledger, in a process of its own, after a small release that
            compiles; no report page. CSV for Adult, Parquet for the stand-ins. Times and memory are of that
            process, starting Python included.
            """
        ),
        "",
        *header(
            "table | epsilon | strategy | rounds | elapsed, s | at most | processor, s "
            "| memory, GB | at most | saved, GB | mean L1"
        ),
    ]
    for r in figures.rows.values():
        times = f"{r['elapsed']:.1f} | {r['most_seconds']:.0f} | {r['processor']:.1f} "
        times += f"| {r['gigabytes']:.2f} | {r['most_gigabytes']:g}"
        head = f"| {r['table']} | {r['epsilon']:g} | {r['strategy']}, {r['reconstruction']} "
        if "left_out" in r:
            lines.append(f"{head}| {r['left_out']} | {times} | | |")
        else:
            lines.append(f"{head}| {r['rounds']:,} | {times} | {r['saved']:.2f} | {r['l1']:.4f} |")
    return [*lines, "", "Errors on `loans` are of 300 tables, drawn."]
