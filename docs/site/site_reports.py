"""A gallery of reports for the site: each is made anew from made-up people, as a curator would make it.

python docs/site/site_reports.py       # make them, and take the pictures that docs/gallery.md shows
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from site_pages import ROOT, Stage

import hushtable as ht
from hushtable.cli.simulate import write_town
from hushtable.release import add_explanation, make_microdata
from hushtable.report import write_confidential_report, write_report
from hushtable.session import evaluate_release

GALLERY = "docs/gallery.md"
PICTURES = ROOT / "docs" / "images"
TOWN, CLUB = 20_000, 400


@dataclass(frozen=True)
class Shown:
    """A report: its name, what the gallery says of it, and how it is made in a folder."""

    name: str
    summary: str
    make: Callable[[Path], Path]


def town(folder: Path) -> Path:
    """A release with records, a verdict and a choice in its ledger."""
    data, schema = write_town(folder, TOWN)
    session = ht.Session.open(data, schema=schema, ledger=folder / "town.ledger", budget=ht.ZCDP("0.5"))
    pairs = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(pairs, budget=ht.ZCDP("0.1"))
    release.save(folder / "out")
    made = make_microdata(release)
    made.frame.write_csv(folder / "records.csv")
    add_explanation(folder / "out", made.explanation)
    options = [[("district",), ("education",)], [("district", "education")]]
    session.choose(
        [ht.linear.marginals(session.schema, sets=option) for option in options], budget=ht.ZCDP("0.01")
    ).finish(1)
    session.check("COUNT WHERE age >= 65", made.frame, tau="5%", budget=ht.ZCDP("0.005"))
    records, tables = folder / "records.csv", [("age", "employment"), ("district", "car")]
    write_report(folder / "out", ledger=folder / "town.ledger", microdata=records, tables=tables)
    return folder / "out" / "report.html"


def levels(folder: Path) -> Path:
    """Places in regions and ages in groups, at an office's budget."""
    chance = np.random.default_rng(5)
    tree = {"North": ["Alder", "Birch", "Cedar"], "South": ["Dogwood", "Elm"]}
    places = chance.choice(
        [p for region in tree.values() for p in region], 12_000, p=[0.4, 0.25, 0.05, 0.2, 0.1]
    )
    people = pl.DataFrame(
        {
            "place": places.astype(str),
            "age": np.minimum(chance.gamma(4.0, 10.0, 12_000), 99).astype(int),
            "sex": chance.choice(["F", "M"], 12_000).astype(str),
        }
    )
    schema = ht.Schema.from_dict(
        {
            "max_rows_per_person": 1,
            "about": {
                "title": "Residents",
                "universe": "Everybody who lives here",
                "period": "1 January 2026",
            },
            "attributes": {
                "place": {"type": "categorical", "levels": ["region", "district"], "tree": tree},
                "age": {
                    "type": "integer",
                    "bounds": [0, 99],
                    "levels": {"group": [18, 65], "ten": [10, 18, 20, 30, 40, 50, 60, 65, 70, 80, 90]},
                },
                "sex": {"type": "categorical", "values": ["F", "M"]},
            },
        }
    )
    session = ht.Session.open(people, schema=schema, ledger=folder / "l.ledger", budget=ht.ZCDP("0.5"))
    asked = ht.Workload([("region", "group", "sex"), ("district", "sex"), ("district", "ten")])
    release = session.release(asked, budget=ht.ZCDP("0.2"), strategy="residual-planner")
    release.save(folder / "out")
    write_report(folder / "out", ledger=folder / "l.ledger", tables=[("district", "sex")])
    return folder / "out" / "report.html"


def club(folder: Path) -> Path:
    """A handful of people and a small budget: most numbers drown, and the report says which."""
    chance = np.random.default_rng(9)
    plots = pl.DataFrame(
        {
            "soil": chance.choice(["clay", "sand", "loam", "peat"], CLUB, p=[0.55, 0.3, 0.12, 0.03]).astype(
                str
            ),
            "greenhouse": chance.random(CLUB) < 0.2,
            "metres": chance.integers(20, 400, CLUB),
        }
    )
    schema = ht.Schema.from_dict(
        {
            "max_rows_per_person": 1,
            "about": {"title": "Plots of a gardening club", "unit": "plots"},
            "attributes": {
                "soil": {"type": "categorical", "values": ["clay", "sand", "loam", "peat"]},
                "greenhouse": {"type": "boolean"},
                "metres": {"type": "integer", "bounds": [0, 400], "width": 50},
            },
        }
    )
    session = ht.Session.open(plots, schema=schema, ledger=folder / "c.ledger", budget=ht.ZCDP("0.02"))
    pairs = ht.Workload.all_marginals(schema, order=2)
    session.release(pairs, budget=ht.ZCDP("0.01")).save(folder / "out")
    write_report(folder / "out", ledger=folder / "c.ledger", tables=[("soil", "greenhouse")])
    return folder / "out" / "report.html"


def confidential(folder: Path) -> Path:
    """The town's release against the town itself."""
    report = town(folder)
    release = ht.Release.load(report.parent)
    frames = evaluate_release(folder / "town.csv", release, confidential=True)
    rows = ht.preflight(folder / "town.csv", schema=folder / "town.yaml")
    return write_confidential_report(report.parent, frames, release.card, rows=rows).path


REPORTS = (
    Shown("town", f"All 105 tables of two attributes of a town of {TOWN:,} people, for rho 0.1", town),
    Shown("levels", "Regions, districts and ages in groups, for rho 0.2", levels),
    Shown("club", f"A gardening club of {CLUB} members, for rho 0.01", club),
    Shown("confidential", "The curator's own: the town's tables against the truth", confidential),
)


def made(folder: Path) -> dict[str, Path]:
    """Every report, in a folder of its own."""
    found: dict[str, Path] = {}
    for shown in REPORTS:
        (folder / shown.name).mkdir(parents=True)
        found[shown.name] = shown.make(folder / shown.name)
    return found


def stage_gallery(stage: Stage) -> None:
    """Put the reports beside the gallery, and a link below each picture."""
    text = (ROOT / GALLERY).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as work:
        for name, report in made(Path(work)).items():
            to = stage.folder / "docs" / "gallery" / name
            to.mkdir(parents=True)
            shutil.copy(report, to / "report.html")
            picture = f"](images/gallery-{name}.png)"
            text = text.replace(picture, f"{picture}\n\n**[Open this report](gallery/{name}/report.html)**")
    stage.write(GALLERY, text)


def take_pictures(folder: Path, chromium: str) -> None:
    """The first screen of each report, as the gallery shows it on GitHub."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=0.75)
        for name, report in made(folder).items():
            page.goto(report.as_uri())
            page.wait_for_timeout(1500)
            page.screenshot(path=PICTURES / f"gallery-{name}.png")
        browser.close()


if __name__ == "__main__":
    found = shutil.which("chromium")
    if found is None:
        sys.exit("chromium is not installed: make browser")
    with tempfile.TemporaryDirectory() as work:
        take_pictures(Path(work), found)
