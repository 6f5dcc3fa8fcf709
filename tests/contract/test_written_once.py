"""What stands twice in the source is listed in ``docs/duplicates.md`` with a reason."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from source_trees import FILES, ROOT, SOURCE, parsed, text_of

PAGE = ROOT / "docs" / "duplicates.md"
LINES, MOST_PAIRS = 6, 20
Pair = tuple[str, str]


def code_of(text: str) -> list[str]:
    """The lines that count: no imports, comments, blank lines or lone brackets; white space folded."""
    imports = {
        number
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    folded = ((number, " ".join(line.split())) for number, line in enumerate(text.splitlines(), 1))
    return [
        line
        for number, line in folded
        if number not in imports and not line.startswith("#") and any(c.isalnum() for c in line)
    ]


def pairs(files: Iterable[tuple[str, str]]) -> set[Pair]:
    """Names of files that share a run of ``LINES`` lines, each with itself where it stands twice there."""
    places: defaultdict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for name, text in files:
        code = code_of(text)
        for start in range(len(code) - LINES + 1):
            places[tuple(code[start : start + LINES])].append((name, start))
    return {
        (one, two)
        for found in places.values()
        for (one, first), (two, second) in combinations(found, 2)
        if one != two or second - first >= LINES
    }


def test_every_pair_is_listed_with_a_reason() -> None:
    rows = re.findall(r"^\| `([\w/.]+)` \| `([\w/.]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M)
    files = [(str(file.relative_to(SOURCE)), text_of(file)) for file in FILES]
    found = pairs(files)
    assert found == {(one, two) for one, two, _ in rows}
    assert len(found) <= MOST_PAIRS
    assert all(len(why) > 20 for _, _, why in rows)


def test_a_copy_is_found_wherever_it_stands() -> None:
    lines = [f"x{k} = f(x{k - 1}, {k})" for k in range(1, LINES + 1)]
    copy = "\n".join(["import os", *lines[:3], "# why", "", *(f"    {line}".strip() for line in lines[3:])])
    assert pairs([("a", "\n".join(lines)), ("b", copy)]) == {("a", "b")}
    assert pairs([("a", "\n".join([*lines, "y = 1", *lines]))]) == {("a", "a")}
    assert pairs([("a", "\n".join(lines)), ("b", "\n".join(lines[1:]))]) == set()
