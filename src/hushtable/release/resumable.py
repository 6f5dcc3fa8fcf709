"""Work on a folder that can be interrupted at any moment and repeated: it goes on where it was, and pays once.

    resumable = Resumable("out", data="people.csv", ledger="people.ledger")
    request = Again().request(plan.asking(None, "people.csv"), session.ledger, resumable=resumable)
    with resumable.under_way(request, session.ledger):
        release = session.run(plan, request=request)
        write_once("out", request, lambda: release.save("out"))

While the work is under way, a note beside the folder holds the id of its spend; it is the first thing written and the
last removed.  Whenever it was stopped, repeating it finds the note, takes up the same spend, and writes the folder from
what was stored.  Where the ledger has paid for the same before, and nothing is under way, ``Again`` says what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path

from hushtable.errors import BundleError, HushtableError, RefusedError
from hushtable.ledger import Address, Ledger, failpoints, place_of
from hushtable.outputs import can_make, whole_file
from hushtable.release.bundle import check_free
from hushtable.release.bundle_files import request_in
from hushtable.release.request_notes import note_of


def write_once(folder: str | PathLike[str], request: str, save: Callable[[], None]) -> None:
    """Write the folder of a spend, unless it is there already or another process writes it in the meantime."""
    if request_in(folder) == request:
        return
    try:
        save()
    except BundleError:
        if request_in(folder) != request:
            raise


class Resumable:
    """The note about work on one folder; the names of data and ledger are kept in it, and others are refused.

    ``request`` is the spend that was interrupted, if one was; ``complete``, that only the note was left to remove.
    """

    def __init__(
        self, out: str | PathLike[str], data: str, ledger: Address, *, must_exist: bool = False
    ) -> None:
        out = Path(out)
        self._file = note_of(out)
        self._out, self._data, self._ledger = out, data, place_of(ledger)
        self._begun: str | None = None
        self.again = False
        self.request = self._read()
        written = request_in(out)
        self.complete = self.request is not None and written == self.request
        if self.request is None and must_exist and written is None:
            raise BundleError(
                "bundle.nothing-to-resume",
                f"No interrupted release to {out} is known.",
                "Begin it with --out, or correct the folder.",
            )
        if not self.complete:
            check_free(out)
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
    def under_way(
        self, request: str, ledger: Ledger, *, again: bool = False, version: str | None = None
    ) -> Generator[None]:
        """Keep the note while the work goes on, and remove it when that has ended or never began to spend.

        ``again``: it pays for a new one, which its repetition takes up and does not pay for once more.  ``version`` is
        where the data are; of a table with versions, by the address of the one that is read.
        """
        if request != self.request:
            if self.complete:
                check_free(self._out)
            with whole_file(self._file) as file:
                kept = {"request": request, "data": self._data, "ledger": self._ledger, "again": again}
                kept |= {} if version in (None, self._data) else {"version": version}
                file.write(json.dumps(kept).encode())
            self._begun = request
            failpoints.reach("note.written")
        try:
            yield
        except HushtableError as error:
            if self._begun is None and error.code == "ledger.request-differs":
                raise self._other_settings() from None
            mine = self._begun is not None and error.code != "ledger.in-progress"
            with suppress(HushtableError):
                if mine and ledger.holding(request) is None:
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
