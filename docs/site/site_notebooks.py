"""The notebooks of ``docs/notebooks``: run them with Jupyter, keep what they print, and show them as pages of the site.

    python docs/site/site_notebooks.py      # run all, and write their outputs

A notebook runs in an empty folder of its own and makes its own data, so that anybody can run it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from site_pages import ROOT, Stage

FOLDER = ROOT / "docs" / "notebooks"
PATIENCE = 300
"""Seconds for one cell: the first one that releases compiles for ten, and four times as long on a busy machine."""


ORDER = ("publish-a-survey", "an-analysts-day", "audit-a-release")
"""As a reader would take them."""


def notebooks() -> list[Path]:
    """Every notebook."""
    return [FOLDER / f"{name}.ipynb" for name in ORDER]


def executed(path: Path, folder: Path) -> Any:
    """The notebook as it comes out of a new kernel that works in ``folder``; an error of a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran is nobody's business
    return notebook


def stage_notebooks(stage: Stage) -> list[str]:
    """Write a page for each notebook, beside the notebook itself; their places."""
    for path in notebooks():
        page = stage.folder / "docs" / "notebooks" / f"{path.stem}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        place = f"docs/notebooks/{path.stem}.md"
        parts = list(_parts(nbformat.read(path, as_version=4), stage, place))
        kept = f'<p><a href="{path.name}" download>Download this notebook</a>; it makes its own data.</p>'
        page.write_text("\n\n".join([parts[0], kept, *parts[1:]]) + "\n", encoding="utf-8")
        (page.parent / path.name).write_bytes(path.read_bytes())
    return [f"docs/notebooks/{path.stem}.md" for path in notebooks()]


def _parts(notebook: Any, stage: Stage, place: str) -> Iterator[str]:
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield stage.for_mkdocs(cell.source, place).rstrip()
        elif cell.cell_type == "code":
            yield f"```python\n{cell.source}\n```"
            yield from (shown for output in cell.outputs if (shown := _output(output)))


def _output(output: Any) -> str:
    """What a cell printed or gave: HTML where it has some, otherwise its text."""
    if output.output_type == "stream":
        return _text(output.text)
    data = output.get("data", {})
    if "text/html" in data:
        # a blank line would end the block of HTML
        lines = "".join(data["text/html"]).splitlines()
        return '<div class="output">\n' + "\n".join(line for line in lines if line.strip()) + "\n</div>"
    return _text("".join(data["text/plain"])) if "text/plain" in data else ""


def _text(text: str) -> str:
    return f"```{{.text .output}}\n{text.rstrip()}\n```" if text.strip() else ""


if __name__ == "__main__":
    for notebook_path in notebooks():
        with tempfile.TemporaryDirectory() as work:
            nbformat.write(executed(notebook_path, Path(work)), notebook_path)
