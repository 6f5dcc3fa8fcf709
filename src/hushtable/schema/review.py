"""Reviews of a drafted schema: what was learnt from the data, mark by mark, and the file with the marks moved.

The file keeps its lines and comments.  Only the list of marks at ``learnt_from_data`` is written anew, and the lines of
an attribute that the curator leaves out are removed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import SchemaError, UsageError
from hushtable.notebook import html_card
from hushtable.outputs import whole_file
from hushtable.schema import document
from hushtable.schema.schema import Schema
from hushtable.schema.write import inline
from hushtable.texts import counted

FILE, NAMES, UNIT = "@file", "@names", "@unit"
"""What a review calls the marks of the dialect, of the names of columns, and of whose rows the budget is for."""
_UNIT_FIELDS = ("max_rows_per_person", "person")
_KEYS = {FILE: ("csv",), NAMES: ("attributes",), UNIT: _UNIT_FIELDS}
"""Lines of the file that such an item is about."""
_MARK, _DONE = "# learnt from the data: review", "# learnt from the data, reviewed"


@dataclass(frozen=True)
class ReviewItem:
    """An attribute, the unit, the file's dialect or the names: marks to review, and what becomes public."""

    name: str
    marks: tuple[str, ...]
    public: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "marks": list(self.marks), "public": list(self.public)}


@dataclass(frozen=True, repr=False)
class Review:
    """What nobody has reviewed yet in a file with a schema."""

    file: str
    left: tuple[ReviewItem, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"schema": self.file, "unreviewed": [item.to_dict() for item in self.left]}

    def __repr__(self) -> str:
        return f"<Review of {self.file}: {counted(len(self.left), 'item')} left>"

    def _repr_html_(self) -> str:
        rows = [(item.name, "; ".join(item.public)) for item in self.left]
        return html_card(f"Review of {self.file}", {"left": len(rows)}, ("item", "becomes public"), rows)


def review_file(
    file: str | Path,
    *,
    accept: Collection[str] = (),
    drop: Collection[str] = (),
    reopen: Collection[str] = (),
) -> Review:
    """Say that some items of a drafted file were reviewed, leave out some attributes, and see what is left.

    Fields at ``reopen`` are marked as learnt first, whatever was said of them before.
    """
    text, folder = document.read(file), Path(file).parent
    if reopen:
        text = reopened_text(text, reopen, folder)
    if accept or drop:
        text = reviewed_text(text, accept, drop, folder)
    if accept or drop or reopen:
        try:
            with whole_file(Path(file)) as out:
                out.write(text.encode())
        except OSError:
            raise UsageError(
                "review.not-written", f"{file} cannot be written.", "Check its permissions."
            ) from None
    return Review(str(file), tuple(review_items(Schema.loads(text, folder))))


def review_items(schema: Schema) -> list[ReviewItem]:
    """What nobody has reviewed yet, in the order of the attributes."""
    left = list(schema.unreviewed)
    items = [
        *_item(UNIT, [mark for mark in left if mark in _UNIT_FIELDS], _unit_lines(schema)),
        *_item(FILE, [mark for mark in left if mark.startswith("csv.")], _lines(schema.csv.to_dict())),
        *_item(NAMES, [mark for mark in left if mark == "attributes"], (", ".join(schema.attributes),)),
    ]
    fields = schema.to_dict()["attributes"]
    for name in schema.attributes:
        marks = [mark for mark in left if _belongs(mark, name, schema)]
        shown = (*_lines(fields[name]), f"categories: {', '.join(schema.attributes[name].labels[:60])}")
        items += _item(name, marks, shown)
    known = {mark for item in items for mark in item.marks}
    return [*items, *(ReviewItem(mark, (mark,), ()) for mark in left if mark not in known)]


def _item(name: str, marks: list[str], public: tuple[str, ...]) -> list[ReviewItem]:
    return [ReviewItem(name, tuple(marks), public)] if marks else []


def _unit_lines(schema: Schema) -> tuple[str, ...]:
    """What a release promises to whom; a claim about the data, not a question of what may be public."""
    rows = counted(schema.max_rows_per_person, "row")
    if schema.person is None:
        return (
            f"max_rows_per_person: {schema.max_rows_per_person}",
            "person: no column; it is your word alone that nobody has more rows, and if it is wrong,",
            "people with more rows are protected less than every page will say",
        )
    return (
        f"max_rows_per_person: {schema.max_rows_per_person}",
        f"person: {inline(schema.person)}; rows with the same value there are one person's, and {rows} of each count",
    )


def _lines(fields: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"{name}: {inline(value)}" for name, value in fields.items())


def _belongs(mark: str, name: str, schema: Schema) -> bool:
    """Whether a mark is of this attribute; of two names that fit, the longer one has it."""
    fits = [other for other in schema.attributes if mark.startswith(f"attributes.{other}.")]
    return bool(fits) and max(fits, key=len) == name


def reviewed_text(
    text: str, accepted: Collection[str], dropped: Collection[str] = (), folder: str | Path = ""
) -> str:
    """The text of a schema with some items accepted and some attributes left out; it names files in ``folder``."""
    schema = Schema.loads(text, folder)
    items = {item.name: item for item in review_items(schema)}
    unknown = [name for name in (*accepted, *dropped) if name not in items]
    if unknown:
        known = ", ".join(items) or "nothing is left to review"
        raise SchemaError(
            "schema.nothing-to-review", f"{unknown[0]!r} has no mark to review.", f"To review: {known}."
        )
    for name in dropped:
        text = _without(text, name, folder)
    for name in accepted:
        for key in _KEYS.get(name, (f"  {re.escape(inline(name))}",)):
            text = _marked(text, key)
    gone = {mark for name in dropped for mark in items[name].marks}
    done = {mark for name in accepted for mark in items[name].marks}
    left = [mark for mark in schema.unreviewed if mark not in done | gone]
    earlier = [mark.path for mark in schema.learnt if mark.reviewed]
    return _remarked(text, folder, left, [*earlier, *(mark for mark in schema.unreviewed if mark in done)])


def reopened_text(text: str, paths: Collection[str], folder: str | Path = "") -> str:
    """The text of a schema with some fields marked as learnt and not reviewed."""
    schema = Schema.loads(text, folder)
    left = [*schema.unreviewed, *(path for path in paths if path not in schema.unreviewed)]
    reviewed = [mark.path for mark in schema.learnt if mark.reviewed and mark.path not in left]
    return _remarked(text, folder, left, reviewed)


def _remarked(text: str, folder: str | Path, left: list[str], reviewed: list[str]) -> str:
    """The text with other marks, if that changes nothing else of it."""
    made = _with_marks(text, left, reviewed)
    if Schema.loads(made, folder).canonical != Schema.loads(text, folder).canonical:
        raise SchemaError(
            "schema.not-a-draft",
            "The marks of the schema cannot be told apart from the rest.",
            "Move them by hand from `unreviewed` to `reviewed`.",
        )
    return made


def _without(text: str, name: str, folder: str | Path) -> str:
    """The text without the lines of an attribute, if each has its own, as a draft has."""
    key = re.escape(inline(name))
    shorter = re.sub(rf"(?m)^  {key}:[^\n]*\n(?:(?:    [^\n]*)?\n)*", "", text, count=1)
    if shorter == text or name in Schema.loads(shorter, folder).attributes:
        raise SchemaError(
            "schema.not-a-draft",
            f"The lines of {name!r} cannot be told apart from the others.",
            "Remove the attribute by hand; `hush review` leaves out attributes that are written as in a draft.",
        )
    return shorter


def _marked(text: str, key: str) -> str:
    """The text with the comments of a key and of the lines below it saying that they were reviewed."""
    inner = "" if key == "attributes" else rf"(?:{' ' * (len(key) - len(key.lstrip()))}  [^\n]*\n)*"
    return re.sub(rf"(?m)^{key}:[^\n]*\n{inner}", lambda found: found[0].replace(_MARK, _DONE), text, count=1)


def _with_marks(text: str, left: list[str], reviewed: list[str]) -> str:
    """The text with other marks; those of reviewed lines lose their comment."""
    kept = re.sub(
        r"(?m)^learnt_from_data:[^\n]*\n(?:[ #][^\n]*\n|\n)*",
        "",
        text if text.endswith("\n") else text + "\n",
    )
    lines = ["learnt_from_data:", f"  unreviewed: {'' if left else '[]'}".rstrip()]
    lines += [f"    - {inline(mark)}" for mark in left]
    lines += [
        f"  reviewed: {'' if reviewed else '[]'}".rstrip(),
        *(f"    - {inline(mark)}" for mark in reviewed),
    ]
    return kept + "\n".join(lines) + "\n"
