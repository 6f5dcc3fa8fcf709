"""What ``hush`` alone says: the path from a file to a published bundle, and the next step from here.

It looks at names in the current folder only; no data file is opened.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote

WELCOME = """\
Hushtable publishes tables from confidential records, with noise that protects each person and an error bar on
every number.

  hush demo                                          see the whole flow on a made-up town
  hush init people.csv --out people.yaml             draft a schema, then review it
  hush ledger create people.ledger --budget rho=0.5  open an account of privacy
  hush preflight people.csv --schema people.yaml --ledger people.ledger
  hush plan --schema people.yaml --order 2 --budget rho=0.1
  hush release people.csv --schema people.yaml --ledger people.ledger --order 2 --budget rho=0.1 --out out
  hush table out age sex                             read a table; `hush report out` draws them all
  hush microdata out --out people-synthetic.csv      make records from the released tables
  hush check people.csv ...                          ask whether a number of any synthetic file can be trusted
  hush choose people.csv ...                         pick between analyses without paying twice

`hush COMMAND --help` explains each with an example."""

DATA = (".csv", ".tsv", ".csv.gz", ".parquet", ".xlsx", ".sav", ".dta")


def welcome(folder: Path) -> list[str]:
    """The path, and the next step in this folder, line by line."""
    return [*WELCOME.split("\n"), "", f"Next: {next_step(folder)}"]


def next_step(folder: Path) -> str:
    """The command that brings a newcomer forward from what already lies in a folder."""
    names = _names(folder)
    bundle = next((name for name in names if (folder / name / "release.json").is_file()), None)
    if bundle is not None:
        return f"hush report {quote(bundle)}"
    data = next((name for name in names if name.lower().endswith(DATA)), None)
    if data is None:
        return "hush demo"
    schema = next((name for name in names if name.endswith((".yaml", ".yml"))), None)
    if schema is None:
        return f"hush init {quote(data)} --out {quote(_stem(data))}.yaml"
    ledger = next((name for name in names if name.endswith(".ledger")), None)
    if ledger is None:
        return f"hush ledger create {quote(_stem(data))}.ledger --budget rho=0.5"
    return (
        f"hush release {quote(data)} --schema {quote(schema)} --ledger {quote(ledger)} --order 2 --budget rho=0.1 "
        "--out out"
    )


def _names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def _stem(name: str) -> str:
    return name.split(".")[0] or "people"
