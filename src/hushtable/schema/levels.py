"""Levels of an attribute: what a schema declares of them, and where the categories of each lie in those above.

Three forms, all public: a tree of categories, written out or in a file with one column for each level; widths or cuts
of numbers and dates; lengths of the prefixes of codes.  The coarsest level comes first, the finest is what is read of a
row.  Each level is an attribute of its own here, with labels and codes; "(null)" and "(other)" are on all of them.
"""

from __future__ import annotations

import csv
import io
from array import array
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from hushtable.axes import Axes
from hushtable.errors import SchemaError
from hushtable.schema.fields import Fields, is_integer, is_mapping, key_text

if TYPE_CHECKING:
    from hushtable.schema.attribute import Attribute, Binned, Categorical

MAX_LEVELS = 8
"""Of one attribute.  A marginal of k attributes is made of up to (levels + 1)^k residuals; with more, plans grow."""
AUTO = "auto"
"""What `levels` says where the planner may choose: halves of halves."""
MAX_TREE_BYTES = 16 * 2**20
"""Of a tree file: 400,000 leaves of forty letters, which take many times that in memory."""

_OTHER_MARKS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What stands between the columns of files that are no CSV with commas."""

TreePath = tuple[Any, ...]
"""A leaf of a tree with all that lie above it, one for each level."""


@dataclass(frozen=True)
class Levels:
    """The levels of one attribute, the coarsest first; ``coarser`` are all but the finest, which is the attribute.

    ``blocks[k]`` says where the categories of each category above begin on level ``k``.  A tree is kept by its leaves,
    each with all that lie above it; other levels by the width, the cuts or the length of prefixes of each.
    """

    names: tuple[str, ...]
    coarser: tuple[Attribute, ...]
    blocks: tuple[array[int], ...] = field(compare=False)
    paths: tuple[TreePath, ...] = ()
    widths: tuple[Any, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The fields that declare them."""
        if self.paths:
            return {"levels": list(self.names), "tree": _nested(self.paths)}
        if self.widths == (AUTO,):
            return {"levels": AUTO}
        return {"levels": dict(zip(self.names, self.widths, strict=True))}


class Expanded(NamedTuple):
    """The axes of attributes: what each holds, by name, their lengths, and other names of the finest ones."""

    levels: dict[str, Attribute]
    sizes: tuple[int, ...]
    aliases: dict[str, int]


def axes_of(attributes: Mapping[str, Attribute]) -> Expanded:
    """One axis for each attribute, or for each of its levels; without levels sizes are a plain tuple."""
    levels: dict[str, Attribute] = {}
    aliases: dict[str, int] = {}
    parents: list[int] = []
    blocks: list[Any] = []
    for name, attribute in attributes.items():
        chain = attribute.levels
        names = (name,) if chain is None else chain.names
        made = (attribute,) if chain is None else (*chain.coarser, attribute)
        blocks += [(0, attribute.size)] if chain is None else chain.blocks
        for k, (level, what) in enumerate(zip(names, made, strict=True)):
            parents.append(-1 if k == 0 else len(levels) - 1)
            levels[level] = what
        if names[-1] != name:
            aliases[name] = len(levels) - 1
    sizes = tuple(attribute.size for attribute in levels.values())
    plain = all(parent < 0 for parent in parents)
    return Expanded(levels, sizes if plain else Axes(sizes, parents, blocks), aliases)


def tree_paths(fields: Fields, folder: Path | None) -> tuple[tuple[str, ...], list[TreePath]]:
    """Names of the levels and the leaves of `tree`, those under one parent together."""
    given = fields["tree"]
    if isinstance(given, str):
        header, rows, numbers = _tree_file(fields, given, folder)
        names = _level_names(fields) if "levels" in fields else header
        if names != header:
            raise fields.error(
                "schema.wrong-tree",
                "tree",
                "has other columns than `levels`, or in another order",
                f"Write `levels: [{', '.join(header)}]`, the coarsest level first.",
            )
    else:
        names = _level_names(fields)
        rows, numbers = _written_tree(fields, given, len(names)), ()
    return names, _checked_paths(fields, rows, names, numbers)


def levels_of_tree(made: Categorical, names: Sequence[str], paths: Sequence[TreePath]) -> Levels:
    """The levels of a categorical attribute whose values are the leaves."""
    nodes = [list(dict.fromkeys(path[: k + 1] for path in paths)) for k in range(len(names))]
    coarser = [
        replace(made, name=name, values=tuple(node[-1] for node in level), value_labels={})
        for name, level in zip(names[:-1], nodes[:-1], strict=True)
    ]
    counts = [[len(nodes[0])]]
    for above, level in pairwise(nodes):
        children: dict[TreePath, int] = dict.fromkeys(above, 0)
        for node in level:
            children[node[:-1]] += 1
        counts.append(list(children.values()))
    return Levels(tuple(names), tuple(coarser), _blocks(counts, made), tuple(paths))


def prefix_paths(
    fields: Fields, values: Sequence[Any], text_of: Any
) -> tuple[tuple[str, ...], list[TreePath]]:
    """Levels of codes by the lengths of their prefixes: the values with all that lie above them, sorted together."""
    lengths = fields["levels"]
    names = _level_names(fields)
    wanted = [lengths[name] for name in names]
    if not all(is_integer(n) and n >= 1 for n in wanted) or any(a >= b for a, b in pairwise(wanted)):
        raise fields.error(
            "schema.wrong-levels",
            "levels",
            "of codes must be lengths of their prefixes that rise",
            "Write `levels: {section: 1, division: 2, group: 4}`.",
        )
    longest = max((len(text_of(value)) for value in values), default=0)
    if longest != wanted[-1] and fields.folder is not None:  # a finished release may have any
        raise fields.error(
            "schema.wrong-levels",
            "levels",
            f"end with prefixes of {wanted[-1]} characters, but the longest code has {longest}: the last level is the "
            "codes themselves",
            f"Write `{names[-1]}: {longest}`, or add a level of that length below it.",
        )
    paths = [(*(text_of(value)[:n] for n in wanted[:-1]), value) for value in values]
    for depth in range(len(names) - 1):
        first = {path[: depth + 1]: k for k, path in reversed(list(enumerate(paths)))}
        paths.sort(key=lambda path, d=depth, f=first: f[path[: d + 1]])
    return names, paths


def levels_of_codes(made: Categorical, names: Sequence[str], paths: Sequence[TreePath], given: Any) -> Levels:
    """The levels of codes by their prefixes."""
    found = levels_of_tree(made, names, paths)
    return replace(found, paths=(), widths=tuple(given.values()))


def levels_of_edges(fields: Fields, levels: Sequence[tuple[str, Binned, Any]]) -> Levels:
    """The levels of numbers or dates: one attribute for each, whose bins must lie inside those above."""
    counts: list[list[int]] = [[levels[0][1].regular]]
    for (above, wide, _), (name, fine, _) in pairwise(levels):
        places = [bisect_left(fine.starts, edge) for edge in wide.starts]
        if any(
            fine.starts[min(at, fine.regular)] != edge for at, edge in zip(places, wide.starts, strict=True)
        ):
            raise fields.error(
                "schema.wrong-levels",
                "levels",
                f"do not nest: a bin of {above!r} begins inside one of {name!r}",
                "Choose widths that divide each other, counted from the lower bound.",
            )
        counts.append([end - first for first, end in pairwise(places)])
        if wide.regular == fine.regular and fields.folder is not None:  # a finished release may have any
            raise fields.error(
                "schema.wrong-levels",
                "levels",
                f"have the same bins on {above!r} and {name!r}",
                f"Leave {above!r} out, or give it wider bins.",
            )
    made = levels[-1][1]
    coarser = tuple(replace(level, name=name) for name, level, _ in levels[:-1])
    names, widths = tuple(name for name, _, _ in levels), tuple(width for _, _, width in levels)
    return Levels(names, coarser, _blocks(counts, made), widths=widths)


def halved_levels(made: Binned) -> Levels:
    """Levels that the planner may use for ranges: every level has two bins of the next in each of its own.

    A level is called by how many of the finest bins it holds, as in "age.8".
    """
    steps = [1 << k for k in range(max(0, (made.regular - 1).bit_length() - 1), 0, -1)]
    coarser = [_grouped(made, step) for step in steps]
    counts = [[(coarser[0] if coarser else made).regular]]
    for wide, fine in pairwise([*coarser, made]):
        counts.append([min(2, fine.regular - 2 * k) for k in range(wide.regular)])
    names = (*(f"{made.name}.{step}" for step in steps), made.name)
    return Levels(names, tuple(coarser), _blocks(counts, made), widths=(AUTO,))


def _grouped(made: Binned, step: int) -> Binned:
    """An attribute whose bins are each ``step`` neighbouring ones of another."""
    starts = made.starts[: made.regular : step]
    starts.append(made.starts[-1])
    return replace(made, name=f"{made.name}.{step}", starts=starts, width=None, bins=None, cuts=None)


def declared_levels(fields: Fields) -> list[tuple[str, Any]]:
    """Names and what stands beside them in `levels` of numbers, dates or codes."""
    given = fields["levels"]
    if not is_mapping(given):
        raise fields.error(
            "schema.wrong-levels",
            "levels",
            "must map each level to a width or to cuts",
            "Write `levels: {decade: 10, five: 5, year: 1}`, the coarsest first.",
        )
    return [(name, value) for name, value in zip(_level_names(fields), given.values(), strict=True)]


def _level_names(fields: Fields) -> tuple[str, ...]:
    given = fields.get("levels")
    names: Any = [key_text(key) for key in given] if is_mapping(given) else given
    if (
        not _is_list(names)
        or not 1 <= len(names) <= MAX_LEVELS
        or not all(isinstance(name, str) and name and name.isprintable() for name in names)
        or len(set(names)) < len(names)
    ):
        raise fields.error(
            "schema.wrong-levels",
            "levels",
            f"must name up to {MAX_LEVELS} levels, each once, the coarsest first",
            "Write `levels: [region, state, county]`.",
        )
    return tuple(names)


def _is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple)


def _written_tree(fields: Fields, given: Any, depth: int) -> list[TreePath]:
    rows: list[TreePath] = []

    def walk(node: Any, above: TreePath) -> None:
        if (_is_list(node) or is_mapping(node)) and not node and above:
            raise _wrong_tree(
                fields, f"has no category under {above[-1]!r}, which is a leaf without brackets"
            )
        if node is None or ((_is_list(node) or is_mapping(node)) and not node):
            if not above:
                raise _wrong_tree(fields, "is empty")
            rows.append(above)
        elif len(above) >= depth:
            raise _wrong_tree(fields, f"is deeper than the {depth} levels")
        elif is_mapping(node):
            for key, inner in node.items():
                walk(inner, (*above, key_text(key)))
        elif _is_list(node):
            for leaf in node:
                if _is_list(leaf) or is_mapping(leaf) or leaf is None:
                    raise _wrong_tree(fields, "has a list that holds something else than categories")
                walk(None, (*above, leaf))
        else:
            walk(None, (*above, node))

    walk(given, ())
    return [(*row, *[row[-1]] * (depth - len(row))) for row in rows]


def _tree_file(
    fields: Fields, given: str, folder: Path | None
) -> tuple[tuple[str, ...], list[TreePath], list[int]]:
    """The levels and leaves of a CSV file, and the row of each leaf.

    A leaf that ends early stands for itself on the finer levels.
    """
    if folder is None:
        raise _wrong_tree(fields, "is a file, which a stored schema does not name")
    try:
        with (folder / given).open("rb") as file:
            data = file.read(MAX_TREE_BYTES + 1)
        if len(data) > MAX_TREE_BYTES:
            raise _wrong_tree(fields, f"is a file of more than {MAX_TREE_BYTES:,} bytes")
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (OSError, ValueError, csv.Error):
        raise _wrong_tree(fields, "is a file that cannot be read as UTF-8 text with commas") from None
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    header, rows = (tuple(numbered[0][1]) if numbered else ()), list[TreePath]()
    ends, above = dict[TreePath, int](), dict[TreePath, None]()
    other = next((mark for mark in _OTHER_MARKS if len(header) == 1 and mark in header[0]), None)
    if other is not None:
        raise fields.error(
            "schema.wrong-tree",
            "tree",
            f"is a file whose columns stand apart by {_OTHER_MARKS[other]}",
            "Write commas between its columns.",
        )
    for number, line in numbered[1:]:
        filled = [text for text in line if text]
        if len(line) != len(header) or not filled or line[: len(filled)] != filled:
            raise _wrong_tree(fields, f"is a file whose row {number} lacks a category above another one")
        rows.append((*filled, *[filled[-1]] * (len(header) - len(filled))))
        ends |= {tuple(filled): number} if len(filled) < len(header) else {}
        above |= dict.fromkeys(tuple(filled[:k]) for k in range(1, len(filled)))
    early = [number for path, number in ends.items() if path in above]
    if early:
        raise _wrong_tree(
            fields, f"is a file whose row {early[0]} ends at a category that has others below it"
        )
    if not header or not all(header) or len(set(header)) < len(header) or not rows:
        raise _wrong_tree(fields, "is a file without a line of level names and a leaf in each further one")
    return header, rows, [number for number, _ in numbered[1:]]


def _checked_paths(
    fields: Fields, rows: list[TreePath], names: Sequence[str], numbers: Sequence[int]
) -> list[TreePath]:
    """Leaves of one parent together, in the order of its first; a category lies under one parent only, and once.

    ``numbers``: the rows of a file that the leaves stand in.
    """
    above: dict[str, TreePath] = {}
    for at, row in enumerate(rows):
        if (before := above.get(str(row[-1]))) is not None:
            where = "twice" if before == row[:-1] else "under two parents"
            raise _wrong_tree(fields, f"has the {names[-1]} {str(row[-1])!r} {where}{_in_row(numbers, at)}")
        above[str(row[-1])] = row[:-1]
    for depth in range(1, len(names)):
        if all(row[depth] == row[depth - 1] for row in rows):
            raise _wrong_tree(fields, f"has no category on the level {names[depth]!r}")
        parent: dict[str, TreePath] = {}
        for at, row in enumerate(rows):
            if parent.setdefault(str(row[depth]), row[:depth]) != row[:depth]:
                named = f"{names[depth]} {str(row[depth])!r}"
                raise _wrong_tree(fields, f"has the {named} under two parents{_in_row(numbers, at)}")
    for depth in range(len(names) - 1):
        first = {row[: depth + 1]: k for k, row in reversed(list(enumerate(rows)))}
        rows.sort(key=lambda row, d=depth, f=first: f[row[: d + 1]])
    return rows


def _in_row(numbers: Sequence[int], at: int) -> str:
    """Where a leaf stands in its file, if it has one."""
    return f" in row {numbers[at]} of the file" if numbers else ""


def _wrong_tree(fields: Fields, what: str) -> SchemaError:
    return fields.error(
        "schema.wrong-tree",
        "tree",
        what,
        "Write `tree: {North: {N1: [a, b], N2: [c]}}`, or a CSV file with one column for each level.",
    )


def _nested(paths: Sequence[TreePath]) -> Any:
    """Leaves as a tree that `_written_tree` reads back: the last level in lists."""
    if len(paths[0]) == 1:
        return [path[0] for path in paths]
    groups: dict[Any, list[TreePath]] = {}
    for path in paths:
        groups.setdefault(path[0], []).append(path[1:])
    return {key: _nested(inner) for key, inner in groups.items()}


def _blocks(counts: Sequence[Sequence[int]], made: Attribute) -> tuple[array[int], ...]:
    """Where blocks begin on each level; "(null)" and "(other)" are last on every level, each under itself."""
    extra = made.size - made.regular
    first = array("q", [0, counts[0][0] + extra])
    deeper = [array("q", accumulate((*level, *([1] * extra)), initial=0)) for level in counts[1:]]
    return (first, *deeper)
