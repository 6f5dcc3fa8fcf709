"""The pages of the bench of microdata: every figure comes from its JSON file and from the paper's text."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from bench.records.paper import METHODS, Figures, Key, Printed

OWN = "balanced"
SHOWN = (*METHODS, OWN)
QUERIES = {"sum": "the sum", "id": "the cells", "marg1": "the first marginal", "marg2": "the second marginal"}
REFERENCE = {
    ("sum", "Level00-2d"): (452, 484, 128, 107),
    ("sum", "PUMA0101301"): (533, 554, 128, 107),
    ("sum", "PUMA3603710"): (288, 292, 128, 110),
    ("id", "Level00-2d"): (340, 395, 450, 154),
    ("id", "PUMA0101301"): (818, 866, 784, 738),
    ("id", "PUMA3603710"): (2938, 2962, 2569, 2925),
}
"""Expected squared errors at epsilon 0.5 of nnls, max, sequential and reweighted, known from exact solves by others."""
Paper = dict[Key, Figures]


def family(name: str) -> str:
    return "1-d" if name.endswith("1d") else "2-d" if name.endswith("2d") else "PUMS"


def write_pages(kept: dict[str, Any], paper: Paper, page: Path) -> None:
    """The page itself and, beside it, one with all appendix tables."""
    appendix = page.with_name(f"{page.stem}-appendix.md")
    lines = [*_head(appendix.name)]
    half = kept.get("budgets", {}).get("epsilon 0.5", {}).get("results", {})
    if half:
        lines += [*_main_tables(half, paper), *_reference(half)]
    lines += [*_bias(kept, paper), *_own(kept), *_speed(kept), *_records(kept)]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    appendix.write_text("\n".join(_appendix(kept, paper)) + "\n", encoding="utf-8")


def _head(appendix: str) -> list[str]:
    return [
        "# Microdata: accuracy and speed",
        "",
        *_prose(
            "Written by `make bench-microdata` (`bench/records/microdata.py`): the benchmark of "
            "uncertainty-principle-microdata, 16 synthetic tables, which it makes itself, and 15 census "
            "histograms (race by Hispanic origin, 9 x 24) from the data folder. `--epsilon`, `--rho`, `--runs`, "
            "`--only`, `--methods` and `--parts` choose a piece of it; `--json FILE` keeps the figures. "
            "Expected squared errors, ours ± standard error (printed in the paper). All fits of a row share "
            f"their noise. All other budgets and the marginals: [appendix]({appendix})."
        ),
    ]


def _grid(head: list[str], rows: list[list[str]]) -> list[str]:
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
    ]


def _prose(text: str) -> list[str]:
    return [*wrap(text, 140), ""]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _cell(found: dict[str, Any] | None, query: str, theirs: Printed | None, *, largest: bool) -> str:
    if found is None:
        return ""
    mean, error, most = found[query]
    text = f"{_number(mean)} ± {_number(error)}"
    if largest:
        text += f", {_number(most)}"
    if theirs is not None:
        more = "" if not largest or theirs.largest is None else f", {_number(theirs.largest)}"
        text += f" ({_number(theirs.total)}{more})"
    return text


def _table(
    results: dict[str, Any], names: list[str], query: str, paper: Figures, *, largest: bool
) -> list[str]:
    rows = [
        [n, *(_cell(results[n].get(m), query, paper.get(n, {}).get(m), largest=largest) for m in SHOWN)]
        for n in names
    ]
    return _grid(["", *SHOWN], rows)


def _main_tables(half: dict[str, Any], paper: Paper) -> list[str]:
    names = [n for n in sorted(half) if n == "Level00-2d" or family(n) == "PUMS"]
    lines: list[str] = []
    for number, query in ((1, "sum"), (2, "id")):
        figures = {**paper.get((query, "2-d", "lap", 0.5), {}), **paper.get((query, "PUMS", "lap", 0.5), {})}
        what = "the sum" if query == "sum" else "all cells: total, largest cell"
        lines += [f"## Table {number}: error of {what}, epsilon 0.5", ""]
        lines += _table(half, names, query, figures, largest=query == "id")
    return lines


def _reference(half: dict[str, Any]) -> list[str]:
    rows, inside = [], 0
    for (query, name), wanted in REFERENCE.items():
        for method, want in zip(METHODS[1:], wanted, strict=True):
            if method not in half.get(name, {}):
                continue
            mean, error, _ = half[name][method][query]
            away = (mean - want) / error
            inside += abs(away) <= 3.0
            ok = "yes" if abs(away) <= 3.0 else "no"
            rows.append(
                [name, query, method, f"{_number(mean)} ± {_number(error)}", str(want), f"{away:+.1f}", ok]
            )
    return [
        "## Against known figures",
        "",
        *_prose(
            "Expected errors that exact solves must have, found independently of this program, at epsilon 0.5: "
            f"{inside} of {len(rows)} lie within three standard errors."
        ),
        *_grid(["table", "query", "fit", "ours", "known", "standard errors away", "within three"], rows),
    ]


def _implied(found: dict[str, Any], theirs: Printed | None) -> float | None:
    """Runs behind a printed standard error of the sum, if single runs vary as ours do; None where ours are few."""
    if theirs is None or not theirs.error or found["runs"] < 100:
        return None
    return float(found["runs"] * (found["sum"][1] / theirs.error) ** 2)


def _bias(kept: dict[str, Any], paper: Paper) -> list[str]:
    rows = []
    for budget, entry in kept.get("budgets", {}).items():
        currency, amount = budget.split()
        law = "lap" if currency == "epsilon" else "gauss"
        for kind in ("1-d", "2-d", "PUMS"):
            figures = paper.get(("sum", kind, law, float(amount)), {})
            names = [n for n in entry["results"] if family(n) == kind and n in figures]
            row = [budget, kind]
            for method in METHODS:
                runs = [
                    r
                    for n in names
                    if method in entry["results"][n]
                    and (r := _implied(entry["results"][n][method], figures[n].get(method))) is not None
                ]
                row.append(f"{min(runs):,.0f} to {max(runs):,.0f}" if runs else "")
            if any(row[2:]):
                rows.append(row)
    if not rows:
        return []
    return [
        "## Where the printed figures are biased",
        "",
        *_prose(
            "The paper left out runs in which its solver failed. Its standard errors of the sum tell how many "
            "of its 1,000 runs were kept: the variance of one run, as measured here, divided by the square of "
            "its standard error (smallest and largest over tables; a standard error of heavy-tailed noise is "
            "itself uncertain). For ols, nnls and reweighted these are about 1,000 or more, and the printed "
            "figures are sound; for max they are far fewer, for sequential fewer, and the printed figures are means "
            "over the runs that the solver found easy. Exact fits do not fail. The sum error of sequential fitting "
            "must be the variance of the noise on every table (128 at epsilon 0.5 in two dimensions); the paper "
            "prints 86 to 149. Its `largest` is a maximum of means over runs and lies too high by chance; so "
            "does ours. For sequential fitting of PUMA2401004 at epsilon 0.1 it prints NA."
        ),
        *_grid(["budget", "tables", *METHODS], rows),
    ]


def _own(kept: dict[str, Any]) -> list[str]:
    rows = []
    for budget in ("epsilon 0.1", "epsilon 0.5", "epsilon 1"):
        results = kept.get("budgets", {}).get(budget, {}).get("results", {})
        census = [r for n, r in results.items() if family(n) == "PUMS" and set(SHOWN) <= set(r)]
        if not census:
            continue
        for method in SHOWN[1:]:
            sums = [r[method]["sum"][0] / r["ols"]["sum"][0] for r in census]
            cells = [r[method]["id"][0] / r["reweighted"]["id"][0] for r in census]
            any_query = [_largest(r[method]) / _largest(r["nnls"]) for r in census]
            single = [r[method]["id"][2] / r["nnls"]["id"][2] for r in census]
            rows.append(
                [
                    budget,
                    method,
                    f"{np.mean(sums):.2f} (at most {max(sums):.2f})",
                    f"{np.mean(cells):.2f}",
                    f"{sum(x <= 1.0 for x in any_query)} of {len(census)} ({np.mean(any_query):.2f})",
                    f"{sum(x <= 1.0 for x in single)} of {len(census)} ({np.mean(single):.2f})",
                ]
            )
    if not rows:
        return []
    head = [
        "budget",
        "fit",
        "sum / ols",
        "cells / reweighted",
        "largest of any query <= nnls",
        "largest cell <= nnls",
    ]
    return [
        "## A fit of our own",
        "",
        *_prose(
            "`balanced` on the 15 census histograms against the other fits: error of the sum over that of least "
            "squares and total error of the cells over that of reweighted, as means over tables, and on how "
            "many tables the largest expected error, of any query or of any single cell, is at most that of "
            "nnls (in brackets the mean ratio)."
        ),
        *_grid(head, rows),
        *_prose(
            "The constants of `balanced` are the best of six pairs on the two-dimensional synthetic tables; the same "
            "pairs had been run on the census histograms beside them, so these are no untouched test. What stands in "
            "the way for single cells: holding the total takes the surplus that noise adds to small cells from all "
            "cells, also from the largest one, whose error nnls leaves untouched."
        ),
    ]


def _largest(found: dict[str, Any]) -> float:
    return max(found[query][2] for query in QUERIES if query in found)


def _speed(kept: dict[str, Any]) -> list[str]:
    lines = ["## Speed", ""]
    budgets = kept.get("budgets", {})
    for budget, entry in budgets.items():
        if "five" in entry:
            five = entry["five"]
            lines.append(
                f"- {budget}: 31 tables x 5 fits x {five['runs']:,} runs in {five['seconds'] / 60:.1f} minutes, "
                f"{five['jobs']} processes; processor time {five['processor'] / 60:.1f} minutes."
            )
    every = [f for e in budgets.values() for r in e["results"].values() for f in r.values()]
    if every:
        failed, worst = sum(f["failed"] for f in every), max(f["certificate"] for f in every)
        lines += [
            f"- {sum(f['runs'] for f in every):,} fits behind these pages, {failed} failed; largest relative KKT "
            f"residual {worst:.0e}.",
            "",
        ]
    if "speed" in kept:
        small, large = kept["speed"]["small"], kept["speed"]["large"]
        lines += ["Processor time of one fit, one core: 9 x 24 is the median of 300.", ""]
        sides = ("9 x 24, ms", "250 x 250, s", "500 x 500, s", "1,000 x 1,000, s")
        rows = [
            [m, f"{small[m]:.2f}", *(f"{t:.2f}" for t in large[m])]
            if m in large
            else [m, f"{small[m]:.2f}", "", "", ""]
            for m in small
        ]
        lines += _grid(["fit", *sides], rows)
    return lines


def _records(kept: dict[str, Any]) -> list[str]:
    if "records" not in kept:
        return []
    rows = []
    for name, found in kept["records"].items():
        for run in found["runs"]:
            ratio = run["records_l1"] / run["tables_l1"]
            rows.append(
                [
                    name,
                    f"{found['attributes']} / {found['records']:,}",
                    f"{found['order']}",
                    f"{run['release'][0]:.0f} ({run['release'][1]:.0f})",
                    f"{run['records'][0]:.0f} ({run['records'][1]:.0f})",
                    f"{run['made']:,}",
                    f"{run['tables_l1']:.4f}",
                    f"{run['records_l1']:.4f}",
                    f"{ratio:.3f}",
                ]
            )
    head = ["table", "attributes / records", "order", "release, s", "records, s", "made", "L1 of tables"]
    peaks = ", ".join(f"{name} {found['peak']:.1f} GB" for name, found in kept["records"].items())
    compared = ", ".join(f"{found['compared']}-way for {name}" for name, found in kept["records"].items())
    return [
        "## Records at scale",
        "",
        *_prose(
            "`auto` releases of all marginals of that order at epsilon 1, delta 1e-9, from the table to a "
            "Parquet file of records, the comparison with the released tables included (`--parts records`). "
            "Seconds are elapsed (processor time in brackets). L1 is the mean distance to the true tables over "
            f"the number of records ({compared}). Peak memory of the whole process: {peaks}."
        ),
        *_grid([*head, "L1 of records", "ratio"], rows),
    ]


def _appendix(kept: dict[str, Any], paper: Paper) -> list[str]:
    lines = [
        "# Microdata: all tables of the benchmark",
        "",
        *_prose(
            "Written by `make bench-microdata`. Expected squared errors: total ± standard error, largest cell "
            "(printed: total, largest). What the printed figures for max and sequential leave out: "
            "[microdata](benchmarks-microdata.md)."
        ),
    ]
    for budget, entry in kept.get("budgets", {}).items():
        currency, amount = budget.split()
        law = "lap" if currency == "epsilon" else "gauss"
        for kind in ("1-d", "2-d", "PUMS"):
            names = [n for n in entry["results"] if family(n) == kind]
            for query, words in QUERIES.items():
                if not names or not all(query in r for n in names for r in entry["results"][n].values()):
                    continue
                figures = paper.get((query, kind, law, float(amount)), {})
                number = next((f.table for row in figures.values() for f in row.values()), None)
                label = f" (Table {number})" if number else ""
                counts = sorted({r["runs"] for n in names for r in entry["results"][n].values()})
                runs = " to ".join(f"{c:,}" for c in dict.fromkeys((counts[0], counts[-1])))
                lines += [f"## {words.capitalize()}, {kind}, {budget}{label}", "", f"{runs} runs.", ""]
                lines += _table(entry["results"], names, query, figures, largest=query != "sum")
    return lines
