"""Which data a preflight was run for: public facts in a file beside the ledger, without any number.

A preflight shows the curator confidential rows.  What its schema declares of a column is public only where it was
declared before that; whatever is changed afterwards is learnt from the data, and needs a mark that it was reviewed.
So the file keeps, for each name of data, what was declared of each column when its preflight was first run, as
digests under a key of their own, what was accepted in a review since then, and which schemas the ledger knew at first:
what was paid for with one of them must stay readable.  A mark in a schema says that a field was reviewed, not as what;
that is said here, so that a mark of yesterday does not cover the bounds of today.  It is no part of the ledger and of
no release.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from hushtable.addresses import name_of, scheme_of
from hushtable.errors import LedgerError, SchemaError
from hushtable.ledger.ledger import Ledger
from hushtable.ledger.private_notes import PREFLIGHTS, private_file
from hushtable.ledger.stores import STORES, Address, store_at
from hushtable.outputs import whole_file
from hushtable.schema import Attribute, Binned, Boolean, Categorical, Levels, Review, Schema, review_file
from hushtable.texts import counted

REMINDER = (
    "No preflight of these data is on record: `hush preflight DATA --schema S --ledger L` shows what a release would "
    "lose, before anything is spent."
)
"""Always in these words, whatever the data are."""
_COLUMNS = TypeAdapter(dict[str, dict[str, list[str]]])
"""By name of data and column: what was declared of it, and the schemas that were known."""
_DRAFTED = "?"
"""Before the digest of what a preflight saw as learnt and not reviewed: a mark in the schema is enough for it."""


class PreflightNotes:
    """The file of one ledger; it may be there before the ledger is."""

    def __init__(self, ledger: Address) -> None:
        self._ledger = ledger
        self._file = private_file(ledger, PREFLIGHTS)
        self._kept = self._read()

    def reminder(self, data: object) -> str | None:
        """What is said as long as no preflight was run for data of this name."""
        return None if name_of(data) in self._kept["data"] else REMINDER

    def knows(self, data: object) -> bool:
        """Whether a preflight was run for data of this name: they are confidential then."""
        return name_of(data) in self._kept["data"]

    def remember(self, data: object, schema: Schema) -> None:
        """Note that a preflight was run; what was declared of a column is kept the first time only."""
        columns: dict[str, list[str]] = self._kept["data"].setdefault(name_of(data), {})
        fresh = {attribute.column for attribute in schema.row_fields} - set(columns)
        used = self._schemas_used() if fresh else []
        for attribute in schema.row_fields:
            if attribute.column in fresh:
                known = columns.setdefault(attribute.column, list(used))
                known += [
                    (_DRAFTED if path in schema.unreviewed else "") + self._digest(said)
                    for path, said in _declared(attribute, schema)
                ]
        self._write()

    def accept(self, schema: Schema, paths: Collection[str]) -> None:
        """Note that these fields were reviewed as the schema has them now."""
        for columns in self._kept["data"].values():
            for attribute in schema.row_fields:
                for path, said in _declared(attribute, schema):
                    known = columns.get(attribute.column)
                    if path in paths and known is not None and self._digest(said) not in known:
                        known.append(self._digest(said))
        self._write()

    def _write(self) -> None:
        try:
            if scheme_of(self._ledger, STORES) is not None:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(self._file, mode=0o600) as file:
                file.write(json.dumps(self._kept, indent=1).encode())
        except OSError:
            raise LedgerError(
                "ledger.preflight-not-noted",
                "That a preflight was run cannot be noted beside the ledger.",
                "Check that its folder may be written, or leave --ledger out.",
            ) from None

    def changed(self, schema: Schema, data: object = None) -> tuple[str, ...]:
        """Fields that are not what they were when a preflight showed the data, or what a review accepted since.

        Of one name of data, or of all that are noted.
        """
        noted: dict[str, dict[str, list[str]]] = self._kept["data"]
        looks = noted.values() if data is None else [noted.get(name_of(data), {})]
        found = (
            path
            for columns in looks
            for attribute in schema.row_fields
            if (known := columns.get(attribute.column)) is not None and schema.version not in known
            for path, said in _declared(attribute, schema)
            if not self._is_known(said, known, marked=schema.is_reviewed(path))
        )
        return tuple(dict.fromkeys(found))

    def _is_known(self, said: list[Any], known: list[str], *, marked: bool) -> bool:
        digest = self._digest(said)
        return digest in known or (marked and _DRAFTED + digest in known)

    def require_reviewed(self, data: object, schema: Schema) -> None:
        """Refuse what was changed in a schema after a preflight and was not reviewed as it is now."""
        changed = self.changed(schema, data)
        if changed:
            shown = ", ".join(changed[:10]) + (", ..." if len(changed) > 10 else "")
            raise SchemaError(
                "schema.changed-after-preflight",
                f"{counted(len(changed), 'field')} changed after a preflight had shown the data: {shown}.",
                "Check each against what is publicly known: `hush review SCHEMA --ledger LEDGER` shows them, and notes "
                "what you accept.",
            )

    def _schemas_used(self) -> list[str]:
        """The schemas that the ledger knows, by their SHA-256: declared before the preflight, all of them."""
        return list(Ledger.open(self._ledger).schemas) if store_at(self._ledger).exists() else []

    def _digest(self, said: list[Any]) -> str:
        return hashlib.blake2b(json.dumps(said).encode(), key=bytes.fromhex(self._kept["key"])).hexdigest()

    def _read(self) -> dict[str, Any]:
        try:
            if self._file.is_file():  # a pipe would be waited for
                kept = json.loads(self._file.read_text(encoding="utf-8"))
                hashlib.blake2b(key=bytes.fromhex(kept["key"]))
                return {"key": kept["key"], "data": _COLUMNS.validate_python(kept["data"], strict=True)}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            pass
        return {"key": secrets.token_hex(32), "data": {}}


def review_schema(
    file: str | os.PathLike[str],
    *,
    ledger: Address | None = None,
    accept: Collection[str] = (),
    drop: Collection[str] = (),
) -> Review:
    """Say that items of a schema's file were reviewed, leave out attributes, and see what is left.

    What changed after a preflight is marked as learnt again, and what is accepted is noted, beside ``ledger``.
    """
    place = Path(file)
    notes = None if ledger is None else PreflightNotes(ledger)
    changed = () if notes is None else notes.changed(Schema.load(place))
    before = review_file(place, reopen=changed)
    found = review_file(place, accept=accept, drop=drop)
    marks = {mark for item in before.left if item.name in accept for mark in item.marks}
    if notes is not None and marks:
        notes.accept(Schema.load(place), marks)
    return found


def other_name(ledger: str, data: object) -> str | None:
    """A sentence where ledger and data have names that do not look alike: perhaps it is the account of other people.

    >>> other_name("people", "people-2025.csv"), other_name("Town", "town.parquet"), other_name("clinic", "people.csv")
    (None, None, "The ledger is called 'clinic' and the data 'people.csv': a ledger is the account of one dataset.")
    """
    called = name_of(data)
    mine, stem = (re.sub(r"[^a-z0-9]", "", text.lower()) for text in (ledger, called.split(".")[0]))
    named = isinstance(data, str | os.PathLike)
    if not named or not mine or not stem or mine in stem or stem in mine:
        return None
    return f"The ledger is called {ledger!r} and the data {called!r}: a ledger is the account of one dataset."


def _declared(attribute: Attribute, schema: Schema) -> list[tuple[str, list[Any]]]:
    """What a look at the data can teach of an attribute: where the schema says it, and what it says."""
    place = f"attributes.{attribute.name}"
    if schema.weight is not None and attribute is schema.weight.read:
        place = "count" if schema.weight.kind == "count" else "weight"
    place = next((f"sums.{s.name}" for s in schema.sums.values() if attribute is s.read), place)
    if schema.replicates is not None and any(attribute is one.read for one in schema.replicates.columns):
        place = "sample.replicates"
    found: list[tuple[str, list[Any]]] = []
    if isinstance(attribute, Categorical):
        found.append((f"{place}.values", ["values", *attribute.texts]))
    if isinstance(attribute, Boolean) and attribute.true_texts != Boolean.true_texts:
        found.append((f"{place}.true", ["words", [*attribute.true_texts], [*attribute.false_texts]]))
    if isinstance(attribute, Binned):
        ends = [*attribute.bounds, *(attribute.cuts or ())]
        found.append((f"{place}.bounds", ["bounds", attribute.kind, *map(str, ends)]))
    if attribute.levels is not None:
        found += _declared_levels(place, attribute.levels)
    own = [text for text in attribute.nulls if text not in schema.csv.nulls]
    return [*found, (f"{place}.nulls", ["nulls", *own]), ("csv.nulls", ["csv", *schema.csv.nulls])]


def _declared_levels(place: str, levels: Levels) -> list[tuple[str, list[Any]]]:
    """Which categories stand together, and where numbers are cut: rows show what goes well together."""
    if levels.paths:
        return [(f"{place}.tree", ["tree", *([str(node) for node in path] for path in levels.paths)])]
    lists: list[list[Any]] = [[*given] for given in levels.widths if isinstance(given, list | tuple)]
    cuts = [[str(cut) for cut in given] for given in lists]
    return [(f"{place}.levels", ["levels", *cuts])] if cuts else []
