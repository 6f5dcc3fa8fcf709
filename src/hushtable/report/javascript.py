"""The JavaScript of a report: Vega with Vega-Lite and Vega-Embed in one piece, the explorer, and the page's few lines.

Vega comes from ``vl-convert``, which needs some seconds to put it together; the result is kept in the user's cache
folder, by version.  A cache that cannot be written only costs time.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import altair as alt
import vl_convert as vlc

from hushtable.outputs import whole_file

_GLOBALS = "window.vegaEmbed = vegaEmbed;"
_LAST = "// the end"
_END = re.compile(r"</(?=script)", re.IGNORECASE)
_HOME = Path(__file__).parent
EXPLORER = (
    "explorer-data.js",
    "explorer-files.js",
    "explorer-draw.js",
    "explorer-model.js",
    "explorer-address.js",
    "explorer.js",
)
"""The explorer, in the order in which a page needs its files."""


def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that cannot end its element early."""
    file = _cache_file()
    try:
        kept = file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        kept = ""
    if kept.rstrip().endswith(_LAST):
        return kept
    script = _END.sub(r"<\\/", vlc.javascript_bundle(_GLOBALS, vl_version=_vega_lite())) + f"\n{_LAST}\n"
    _keep(file, script)
    return script


def page_script() -> str:
    """What draws the charts, searches the tables and saves their data."""
    return (_HOME / "page.js").read_text(encoding="utf-8")


def explorer_scripts() -> list[str]:
    """The files of the explorer; a page may hold them or link to them."""
    return [(_HOME / name).read_text(encoding="utf-8") for name in EXPLORER]


def _vega_lite() -> str:
    """The version of Vega-Lite that Altair writes, as ``6.4``."""
    return ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])


def _cache_file() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "hushtable" / f"vega-{version('vl-convert-python')}-{_vega_lite()}.js"


def _keep(file: Path, script: str) -> None:
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as kept:
            kept.write(script.encode())
