"""What a command does about an earlier run of itself: go on with one that was interrupted, or ask before paying again.

While a command is under way, a note beside its folder holds the id of its spend; it is the first thing written and the
last removed.  Whenever the command was stopped, repeating it finds the note, takes up the same spend, and writes the
folder from what was stored.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click

import hushtable as ht
from hushtable.cli.output import note
from hushtable.errors import BundleError, HushtableError, RefusedError, UsageError
from hushtable.outputs import can_make, whole_file


@dataclass(frozen=True)
class Again:
    """What to do where the same was paid for before: ``stored`` writes that, ``again`` pays for a new one."""

    stored: bool
    again: bool
    quiet: bool

    def __post_init__(self) -> None:
        if self.stored and self.again:
            raise UsageError("usage.again", "Give either --stored or --again.", "--stored spends nothing.")

    def request(
        self, asking: ht.release.Asking, ledger: ht.Ledger, typed: str | None, pending: Pending | None
    ) -> str:
        """The id of the spend: as typed, of the interrupted command, of the same one earlier, or a new one."""
        if typed is not None:
            self._may_spend(ledger.holding(typed))
            return typed
        begun = None if pending is None or (self.again and not pending.again) else pending.request
        held = None if begun is None else ledger.holding(begun)
        if begun is not None and held is not None and not (self.again and _is_lost(held)):
            self._may_spend(held)
            return begun
        return self._found_or_new(asking, ledger)

    def _may_spend(self, held: ht.ledger.Holding | None) -> None:
        """Refuse --stored for what is not finished: going on with it would spend."""
        if self.stored and (held is None or held.state == "open"):
            raise RefusedError(
                "repeat.nothing-stored",
                "The ledger has stored nothing for this command, or it has not been finished.",
                "Leave --stored out; the command then goes on, or is paid for.",
            )

    def _found_or_new(self, asking: ht.release.Asking, ledger: ht.Ledger) -> str:
        found = None if self.again else asking.earlier(ledger)
        self._may_spend(found)
        if found is None or found.reservation.request is None:
            return asking.new_request(ledger)
        request, time = found.reservation.request, found.reservation.time
        if found.state == "open":
            return request
        if self.stored or self._asks_for_stored(time):
            note(f"Written from what was stored on {time}: later rows are not in it, and nothing is spent.")
            return request
        return asking.new_request(ledger)

    def _asks_for_stored(self, time: str) -> bool:
        """Ask a person; a program is told how to say what it wants."""
        if self.quiet or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise RefusedError(
                "repeat.paid-before",
                f"The same was asked and paid for on {time}; asking again would pay again.",
                "Add --stored to write what was stored then, without later rows, for nothing; "
                "or --again to pay for a new one.",
            )
        note(f"The same was asked and paid for on {time}.  Rows that came later are not in what was stored.")
        answer = click.prompt("Write what was stored (s), pay for a new one (p), or stop (n)?", "n", err=True)
        if answer.strip().lower() not in ("s", "p"):
            raise click.Abort
        return answer.strip().lower() == "s"


def _is_lost(held: ht.ledger.Holding) -> bool:
    """Whether a spend has ended without answers that could be written: of a choice, without all of them."""
    stored = [charge.stored for charge in held.charges]
    whole = all(stored) if held.reservation.kind == ht.release.CHOOSE else any(stored)
    return held.state == "settled" and not (stored and whole)


class Pending:
    """The note of one command about one folder; the name of the data is kept in it, and other data are refused."""

    def __init__(self, out: Path, data: str, ledger: Path, *, must_exist: bool = False) -> None:
        self._file = out.absolute().with_name(f".{out.absolute().name}.request")
        self._out, self._data, self._ledger = out, data, str(ledger.absolute())
        self._begun: str | None = None
        self.again = False
        self.request = self._read()
        self.complete = self.request is not None and ht.release.request_in(out) == self.request
        if self.request is None and must_exist:
            raise BundleError(
                "bundle.nothing-to-resume",
                f"No interrupted release to {out} is known.",
                "Begin it with --out, or correct the folder.",
            )
        if not self.complete:
            ht.release.check_free(out)
            if not can_make(self._file):
                raise BundleError(
                    "bundle.long-name", f"The name of {out} is too long.", "Give --out a shorter name."
                )

    def _read(self) -> str | None:
        try:
            kept = json.loads(self._file.read_text(encoding="utf-8"))
            request = str(kept["request"])
            data, ledger = kept.get("data", self._data), kept.get("ledger", self._ledger)
            self.again = kept.get("again") is True
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        if ledger != self._ledger:
            raise self._other_settings()
        if data != self._data:
            raise BundleError(
                "bundle.other-data",
                f"The interrupted release to {self._out} was begun with other data.",
                "Name the same data again, or give --out another folder.",
            )
        return request

    @contextmanager
    def under_way(self, request: str, ledger: ht.Ledger, *, again: bool) -> Generator[None]:
        """Keep the note while the command runs, and remove it when it has ended or never began to spend.

        ``again``: the command has paid for a new one, which its repetition takes up and does not pay for once more.
        """
        if request != self.request:
            if self.complete:
                ht.release.check_free(self._out)
            with whole_file(self._file) as file:
                kept = {"request": request, "data": self._data, "ledger": self._ledger, "again": again}
                file.write(json.dumps(kept).encode())
            self._begun = request
            ht.ledger.failpoints.reach("note.written")
        try:
            yield
        except (KeyboardInterrupt, click.Abort):
            note(f"To go on, repeat the command as it was, or with --resume {self._out} instead of --out.")
            raise
        except HushtableError as error:
            if self._begun is None and error.code == "ledger.request-differs":
                raise self._other_settings() from None
            with suppress(HushtableError):
                if self._begun is not None and ledger.holding(self._begun) is None:
                    self._file.unlink(missing_ok=True)
            if error.code == "ledger.draw-lost":
                raise RefusedError(error.code, error.message, "Add --again to pay for a new one.") from None
            raise
        self._file.unlink(missing_ok=True)

    def _other_settings(self) -> BundleError:
        return BundleError(
            "bundle.other-settings",
            f"The interrupted release to {self._out} was begun with other settings.",
            "Repeat the command as it was, or give --out another folder.",
        )
