"""``hush demo``: the whole flow on a made-up town, with the commands that a curator would type."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from hushtable.cli.options import Json
from hushtable.cli.output import emit, progress, say
from hushtable.cli.simulate import write_town
from hushtable.cli.table import print_table
from hushtable.errors import UsageError
from hushtable.ledger import Ledger, verify_file
from hushtable.marginals import Workload
from hushtable.privacy import ZCDP
from hushtable.release import Release
from hushtable.session import Session

EXAMPLE = "Example: hush demo --out demo"
MARK = "made by hush demo"


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for everything it makes.", metavar="DIR")
    ] = Path("hush-demo"),
    people: Annotated[
        int, typer.Option("--people", min=1, max=10_000_000, help="Size of the town.", metavar="N")
    ] = 50_000,
    json: Json = False,
) -> None:
    """Draw a town of 50,000 people, open a ledger, release its tables with error bars, and read one."""
    _clear(out)
    _tell(json, f"A town of {people:,} made-up people, 15 attributes, nulls and odd values:")
    data, schema = write_town(out, people)
    ledger, folder = out / "town.ledger", out / "tables"
    _tell(
        json,
        f"  {data}",
        f"  {schema}",
        "",
        "An account of privacy for everything that will ever be published of it:",
    )
    account = Ledger.create(ledger, ZCDP("0.5"), name="town")
    _tell(json, f"$ hush ledger create {ledger} --budget rho=0.5", f"  head {account.head}", "")

    session = Session.open(data, schema=schema, ledger=ledger)
    pairs = Workload.all_marginals(session.schema, order=2)
    plan = session.plan(pairs, budget=ZCDP("0.1"))
    widest = plan.tables()["half_width"].max()
    _tell(
        json,
        "What would all tables of two attributes cost, and how wrong would they be?",
        f"$ hush plan --schema {schema} --order 2 --budget rho=0.1",
        *(f"  {line}" for line in str(plan).splitlines()),
        f"  95% of cells within ± {widest:.0f} in the widest table",
        "",
        "Release them: count, charge, draw noise, store, show.",
        f"$ hush release {data} --schema {schema} --ledger {ledger} --order 2 --budget rho=0.1 "
        f"--strategy residual-planner --out {folder}",
    )
    with progress(quiet=json) as steps:
        made = session.release(
            pairs, budget=ZCDP("0.1"), strategy="residual-planner", request="demo", progress=steps
        )
        made.save(folder)
    again = session.release(pairs, budget=ZCDP("0.1"), strategy="residual-planner", request="demo")
    report = verify_file(ledger, head=made.card["ledger"]["head"])
    if json:
        emit(
            {"out": str(out), "card": made.card, "remaining": str(session.remaining), "ledger_ok": report.ok}
        )
        return
    say(f"  {made!r}", f"  remaining {session.remaining}", f"  head {made.card['ledger']['head']}", "")
    say(f"$ hush table {folder} employment sex")
    print_table(Release.load(folder).table("employment", "sex"), ["employment", "sex"], alpha=0.05, rows=12)
    same = (
        "the same answers, nothing spent"
        if (again.answers.values == made.answers.values).all()
        else "different answers"
    )
    say(
        "",
        f"The same request again: {same}.",
        f"$ hush ledger verify {ledger}",
        f"  in order: {report.ok}",
        "",
    )
    say(
        "Try next:",
        f"  hush table {folder} age health",
        f'  hush plan --schema {schema} --order 1 --want "age=25"',
        f"  hush ledger show {ledger}",
        f"  hush release {data} --schema {schema} --ledger {ledger} --order 1 --budget rho=0.02 --out {out / 'ages'}",
    )


def _tell(quiet: bool, *lines: str) -> None:
    if not quiet:
        say(*lines)


def _clear(out: Path) -> None:
    """Make the folder; an earlier demonstration is replaced, anything else is left alone and refused."""
    mark = out / ".demo"
    if out.exists() and not mark.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(
            "demo.exists", f"{out} exists and was not made by this command.", "Give --out another folder."
        )
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    mark.write_text(MARK, encoding="utf-8")
