"""``hush demo``: a town's register from the confidential file to what is published, told in the commands of a curator.

Every command that is shown is run as shown, by the same code as on the command line.
"""

from __future__ import annotations

import contextlib
import io
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import click

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Option
from hushtable.errors import UsageError
from hushtable.outputs import is_occupied, is_taken

EXAMPLE = "Example: hush demo --out demo"
MARK = "made by hush demo"
COARSE = "- [district]\n- [education]\n"
FINE = "- [district, education]\n"
RETIRED = "COUNT WHERE employment = 'retired' AND age >= 65"
DRIVERS = "COUNT WHERE commute = 'car' AND car = TRUE"


def demo(
    context: click.Context,
    out: Annotated[Path, Option("Folder for everything it makes.", "DIR", short="-o")] = Path("hush-demo"),
    people: Annotated[int, Option("Size of the town.", "N", between=(1000, 10_000_000))] = 50_000,
    json: flags.Json = False,
) -> None:
    """Publish a made-up town: tables, microdata, a choice, three checks, the ledger and the report.

    --json prints the ledger that it leaves behind.
    """
    _clear(out)
    story = _Story(out, lambda words: _run(context, words), quiet=json)
    story.tell(people)
    if json:
        emit(ht.Ledger.open(out / "town.ledger").to_dict())


class _Story:
    """The folder of the town, and how its story is told."""

    def __init__(self, out: Path, run: Callable[[list[str]], None], *, quiet: bool) -> None:
        self._out, self._run, self._quiet = out, run, quiet
        self._known = f"--schema {self._at('town.yaml')} --ledger {self._at('town.ledger')}"

    def tell(self, people: int) -> None:
        """From the register to the report."""
        from hushtable.cli.simulate import (  # arrays and frames, which a usage error does without
            shuffle,
            write_town,
        )

        write_town(self._out, people, official=True)
        data, ledger = self._at("town.csv"), self._at("town.ledger")
        tables, records = self._at("tables"), self._at("records.csv")
        self._say(
            f"A town keeps a register of {people:,} people (made up): 15 attributes, nulls, misspelt codes.",
            f"The file is confidential: {data}.  What may be published is declared in {self._at('town.yaml')}.",
        )
        self._say("1. An account of privacy, for everything that will ever be published of this register.")
        self._do(f"ledger create {ledger} --budget rho=0.5")
        self._say(
            "   Before anything is spent: what would be lost of the file?  Only the curator may see this."
        )
        self._do(f"preflight {data} {self._known}")
        self._say(
            "2. All tables of two attributes, for a fifth of it.  Districts lie in regions: both are measured."
        )
        self._do(f"release {data} {self._known} --order 2 --budget rho=0.1 --out {tables} --no-report")
        self._say("   One of the 105 tables.  Every number has an error bar.")
        self._do(f"table {tables} employment sex --rows 9")
        self._say("   A region, from the same answers; and an area that no region is.")
        self._do(f"table {tables} region car")
        self._do(f'table {tables} car --area "Harbour,Station,University"')
        self._say(
            "   Income was added up beside the counts; and a census counts the districts, to whose figures the last",
            "   three columns are adjusted.",
        )
        self._do(f'table {tables} region --value "mean(income)"')
        self._do(f"table {tables} region sex")
        self._say(
            "3. Records, for those who need a file.  They are made from the tables and cost nothing more."
        )
        self._do(f"microdata {tables} --out {records}")
        self._say(
            "4. The council would like education by district.  Can the register bear it?  What both options share is",
            "   measured first; half of the cells shall be five times as large as the noise.",
        )
        self._write_options()
        options = f"{self._at('coarse.yaml')} {self._at('fine.yaml')}"
        chosen = f"--budget rho=0.01 --snr 0.5:5 --out {self._at('education')}"
        self._do(f"choose {data} {self._known} --options {options} {chosen}")
        self._say("5. A newspaper counts in the records.  May it print these two numbers?")
        asked = f"check {data} {self._known} --tau 5% --budget epsilon=0.1"
        self._do(f'{asked} --synthetic {records} --query "{RETIRED}"')
        self._do(f'{asked} --synthetic {records} --query "{DRIVERS}"')
        shuffle(self._out / "records.csv", self._out / "shuffled.csv")
        self._say(
            "   Somebody else has another file: each column is right by itself, and the columns were shuffled."
        )
        self._do(f'{asked} --synthetic {self._at("shuffled.csv")} --query "{RETIRED}"')
        self._say("6. The account: what was spent on what, and proof that nobody edited it.")
        self._do(f"ledger show {ledger}")
        self._do(f"ledger verify {ledger}")
        self._say("7. One page for the director.  It opens in any browser, without a network.")
        charts = f"--table age,employment --table district,car --microdata {records}"
        self._do(f"report {tables} --ledger {ledger} {charts}")
        self._say("Try next:", *(f"  hush {words}" for words in self.next_commands()))

    def next_commands(self) -> list[str]:
        """Commands that work on what the story left behind."""
        schema, ledger, tables = self._at("town.yaml"), self._at("town.ledger"), self._at("tables")
        data, records = self._at("town.csv"), self._at("records.csv")
        return [
            f"table {tables} age health",
            f"quantile {tables} age --by region",
            f"export {tables} --format csv --publish --out {self._at('published')}",
            f'plan --schema {schema} --order 1 --want "age=25"',
            f"microdata {tables} --explain",
            f'check {data} {self._known} --synthetic {records} --query "MEDIAN(age)" --tau 2 '
            "--budget epsilon=0.1 --plan",
            f"release {data} {self._known} --order 1 --budget rho=0.02 --reuse --out {self._at('ages')}",
            f"ledger verify {ledger}",
        ]

    def _at(self, name: str) -> str:
        return shlex.quote(str(self._out / name))

    def _say(self, *lines: str) -> None:
        if not self._quiet:
            say("", *lines)

    def _do(self, words: str) -> None:
        """Show a command and run it."""
        if self._quiet:
            with contextlib.redirect_stdout(io.StringIO()):
                self._run(shlex.split(words))
            return
        say("", f"$ hush {words}")
        self._run(shlex.split(words))

    def _write_options(self) -> None:
        (self._out / "coarse.yaml").write_text(COARSE, encoding="utf-8")
        (self._out / "fine.yaml").write_text(FINE, encoding="utf-8")


def _run(context: click.Context, words: list[str]) -> None:
    """Run a command line inside this one."""
    context.find_root().command.main(words, standalone_mode=False, prog_name="hush")


def _clear(out: Path) -> None:
    """Make the folder; an earlier demonstration is replaced, anything else is left alone and refused."""
    if is_occupied(out) and not is_taken(out / ".demo"):
        raise UsageError(
            "demo.exists", f"{out} exists and was not made by this command.", "Give --out another folder."
        )
    try:
        str(out.absolute()).encode()
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        (out / ".demo").write_text(MARK, encoding="utf-8")
    except (OSError, ValueError):
        raise UsageError(
            "demo.not-written", f"The folder {out} cannot be made.", "Give --out another folder."
        ) from None
