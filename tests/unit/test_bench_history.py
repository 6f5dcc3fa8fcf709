"""The kept figures of benchmarks: what a run adds, and that page and picture show all of it."""

from __future__ import annotations

import json
import math
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import hushtable as ht

ROOT = Path(ht.__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from bench.shared import trends  # noqa: E402
from bench.shared.history import keep  # noqa: E402
from bench.shared.trends import kept  # noqa: E402


def test_each_run_adds_a_line_with_its_date_and_commit(tmp_path: Path) -> None:
    keep("speed", {"ratio": 1 / 3}, tmp_path)
    keep("speed", {"ratio": 0.5, "share": 0.95}, tmp_path, revision="v0")
    first, second = (json.loads(line) for line in (tmp_path / "speed.jsonl").read_text().splitlines())
    assert first["figures"] == {"ratio": 0.333333} and second["revision"] == "v0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", first["date"]) and first["commit"]
    assert kept(tmp_path) == {"speed": [first, second]}


def test_the_picture_has_a_line_for_each_figure_on_its_own_scale() -> None:
    runs = [
        {"date": "2026-01-01", "commit": "a", "figures": {"small & odd": 1.0, "large": 1000.0}},
        {"date": "2026-01-02", "commit": "b", "figures": {"small & odd": 3.0}},
        {"date": "2026-01-03", "commit": "c", "figures": {"small & odd": 2.0}},
    ]
    found = trends.series({"speed": runs})
    drawing = ET.fromstring(trends.picture(found))
    lines = [line.get("points").split() for line in drawing.iter("{http://www.w3.org/2000/svg}polyline")]
    heights = [float(point.split(",")[1]) for point in lines[0]]
    assert [len(line) for line in lines] == [3, 1]
    assert heights[1] < heights[2] < heights[0], "larger is higher"
    assert math.isclose(heights[2], (heights[0] + heights[1]) / 2, abs_tol=0.1)
    assert "| small & odd | 3 | 1 | 2 | +100% | 2026-01-03, c |" in trends.page(found)


@pytest.mark.parametrize(
    "file", [trends.PAGE, trends.PAGE.parent / trends.PICTURE], ids=lambda file: file.name
)
def test_the_page_shows_what_is_kept(file: Path, tmp_path: Path) -> None:
    found = trends.series(kept())
    made = trends.picture(found) if file.suffix == ".svg" else trends.page(found)
    assert file.read_text(encoding="utf-8") == made, "run `hush bench trends`"
    assert len(found) > 20
