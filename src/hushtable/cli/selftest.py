"""``hush selftest``: show that this installation is sound on this machine."""

from __future__ import annotations

import click

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, progress, say

EXAMPLE = "Example: hush selftest"


def selftest(json: flags.Json = False) -> None:
    """Test noise, ledger and readers on this machine, with made-up data; takes less than a minute."""
    with progress(quiet=json) as steps:
        report = ht.selftest.run(steps)
    if json:
        emit(report.to_dict())
    else:
        rows = [
            ["✓" if part.passed else "✗", part.name, part.said, f"{part.seconds:.1f} s"]
            for part in report.outcomes
        ]
        grid(["", "part", "", "time"], rows, right=["time"])
        if report.ok:
            say(f"Sound on this machine ({report.seconds:.0f} s).")
        else:
            say("NOT sound on this machine: publish nothing from here before the reason is known.")
    if not report.ok:
        raise click.exceptions.Exit(1)
