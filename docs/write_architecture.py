"""Write the picture of the house, ``docs/images/house.svg``, from the import contracts in ``pyproject.toml``.

    python docs/write_architecture.py

Each layer is a row, the highest on top; a box says what its module or package is for, in the first sentence of its
docstring.  Red is the confidential side, and the lines on the right are all that may import it.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from textwrap import shorten
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "house.svg"
WIDTH, MARGIN, HEIGHT, GAP = 900, 60, 34, 8
"""Pixels: of the picture, of the space on its right, of a box and between two rows."""

PLAIN, SECRET = ("#eef3f8", "#5b7fa3"), ("#fbe3e1", "#b3423a")
"""Fill and edge of a box."""


def contracts() -> dict[str, dict]:
    """The import contracts by their name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {contract["name"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def layers() -> list[list[str]]:
    """Names of modules and packages, row by row from the top."""
    (rows,) = (c["layers"] for c in contracts().values() if c["type"] == "layers")
    return [[name.strip(" ()").removeprefix("hushtable.") for name in row.split("|")] for row in rows]


def may_see_the_kernel() -> list[str]:
    """What stands above the kernel and is not forbidden to import it."""
    (refused,) = (
        c["source_modules"]
        for c in contracts().values()
        if c.get("forbidden_modules") == ["hushtable.kernel"]
    )
    names = [name for row in layers() for name in row]
    above = names[: names.index("kernel")]
    return [name for name in above if f"hushtable.{name}" not in refused]


def purpose(name: str) -> str:
    """The first sentence of what a module or package says of itself."""
    place = ROOT / "src" / "hushtable" / name
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = " ".join((ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").split())
    return re.split(r"(?<=[a-z)])[.?](?: |$)", text.replace("``", ""))[0]


def picture() -> str:
    """The whole picture as SVG."""
    rows = layers()
    height = len(rows) * (HEIGHT + GAP) + GAP
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" font-family="sans-serif">',
        "<title>The layers of Hushtable: each may import what is below it</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    middles: dict[str, float] = {}
    for number, row in enumerate(rows):
        top = GAP + number * (HEIGHT + GAP)
        wide = (WIDTH - MARGIN - 2 * GAP - GAP * (len(row) - 1)) / len(row)
        for k, name in enumerate(row):
            middles[name] = top + HEIGHT / 2
            drawn += box(name, GAP + k * (wide + GAP), top, wide)
    for k, name in enumerate(may_see_the_kernel()):
        drawn.append(line(middles[name], middles["kernel"], WIDTH - MARGIN - GAP, 18 + 14 * k))
    return "\n".join([*drawn, "</svg>\n"])


def box(name: str, left: float, top: float, wide: float) -> list[str]:
    fill, edge = SECRET if name == "kernel" else PLAIN
    room = max(8, int((wide - 24 - 8 * len(name)) / 5.6))
    said = shorten(purpose(name), room, placeholder=" …")
    return [
        f'<rect x="{left:g}" y="{top:g}" width="{wide:g}" height="{HEIGHT}" rx="4" fill="{fill}" stroke="{edge}"/>',
        f'<text x="{left + 8:g}" y="{top + 21:g}" font-size="13" font-weight="bold" fill="#222">{name}</text>',
        f'<text x="{left + 16 + 8 * len(name):g}" y="{top + 21:g}" font-size="11" fill="#444">{escape(said)}</text>',
    ]


def line(start: float, end: float, left: float, out: float) -> str:
    """From the right edge of a box down to that of the kernel."""
    path = f"M{left:g},{start:g} h{out:g} V{end + 4 - out / 6:g} h-{out:g}"
    return f'<path d="{path}" fill="none" stroke="{SECRET[1]}" stroke-width="1.5"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
