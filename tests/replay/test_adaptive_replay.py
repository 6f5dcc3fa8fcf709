"""Adaptive releases on neighbouring tables: given the same charged replies, everything else is the same, byte for byte.

The replies of one run are recorded and handed to a second run on a neighbouring table.  If anything but the replies
depended on the data, questions, ledger, history or tables would differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.kernel.draw import Confidential
from hushtable.measurement import fingerprint

RANDOM = re.compile(r"[0-9a-f]{64}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def neighbours(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    odd = pl.DataFrame({"age": [3], "sex": ["nobody"], "member": [True]}, schema=frame.schema)
    return {
        "one person more": pl.concat([frame, odd]),
        "one person less": frame.slice(1),
        "nobody": frame.clear(),
        "everybody alike": pl.concat([odd] * 50),
    }


TREE = ht.Schema.from_dict(
    {
        "attributes": {
            "place": {
                "type": "categorical",
                "levels": ["region", "district"],
                "tree": {"North": ["a", "b", "c"], "South": ["d"], "West": ["e", "f"]},
            },
            "age": {"type": "integer", "bounds": [0, 7], "levels": {"four": 4, "two": 2, "age": 1}},
            "sex": {"type": "categorical", "values": ["F", "M"]},
        }
    }
)
"""Blocks of one, two and three districts, and halves of ages."""


def people_in_districts() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "place": ["abcdeffe"[k % 8] for k in range(60)],
            "age": [k * k % 8 for k in range(60)],
            "sex": ["FM"[k % 3 == 0] for k in range(60)],
        }
    )


def district_neighbours(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    alone, other = (
        pl.DataFrame({"place": [p], "age": [7], "sex": ["M"]}, schema=frame.schema) for p in ("d", "nowhere")
    )
    return {
        "one more, the only one of a block": pl.concat([frame, alone]),
        "one more, outside of the tree": pl.concat([frame, other]),
        "one person less": frame.slice(1),
        "nobody": frame.clear(),
        "everybody in one block": pl.concat([alone] * 60),
    }


class Stopped(Exception):
    """An interruption."""


def run(
    frame: pl.DataFrame,
    schema: ht.Schema,
    folder: Path,
    strategy: str,
    patch: pytest.MonkeyPatch,
    replies: Any,
    *,
    workload: ht.Workload | None = None,
    stop: int | None = None,
) -> tuple[list[str], list[np.ndarray], dict[str, str]]:
    """Questions asked, replies given, and all that was written, without what is random in every run.

    With ``stop`` the release is interrupted before that question and asked for again.
    """
    asked: list[str] = []
    given: list[np.ndarray] = []
    stopped: list[bool] = []
    prepare = Confidential.prepare

    def recorded(self: Confidential, request: Any) -> Callable[[], np.ndarray]:
        honest = prepare(self, request)
        if len(asked) == stop and not stopped:
            stopped.append(True)
            raise Stopped

        def draw() -> np.ndarray:
            values = honest()
            asked.append(fingerprint(request))
            given.append(values if replies is None else replies[len(given)])
            return given[-1]

        return draw

    with patch.context() as here:
        here.setattr(Confidential, "prepare", recorded)
        session = ht.Session.open(frame, schema=schema, ledger=folder / "a.ledger", budget=ht.ZCDP(1))
        workload = ht.Workload.all_marginals(schema, order=3) if workload is None else workload
        options: Any = dict(zip(("strategy", "reconstruct"), strategy.split(), strict=False))
        options |= {"budget": ht.ZCDP("0.5"), "request": "r"}
        if stop is not None:
            with pytest.raises(Stopped):
                session.release(workload, **options)
        release = session.release(workload, **options)
        release.save(folder / "out")
    written = {
        str(path.relative_to(folder)): RANDOM.sub("#", path.read_bytes().decode("latin-1"))
        for path in sorted((folder / "out").rglob("*"))
        if path.is_file()
    }
    written["ledger"] = RANDOM.sub("#", repr(session.ledger.export()))
    written["remaining"] = str(session.remaining)
    return asked, given, written


@pytest.mark.parametrize("strategy", ["auto", "aim", "aim maxent"])
def test_only_the_replies_depend_on_the_data(
    strategy: str,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "base").mkdir()
    base = run(small_frame, small_schema, tmp_path / "base", strategy, monkeypatch, None)
    for name, frame in neighbours(small_frame).items():
        (tmp_path / name).mkdir()
        other = run(frame, small_schema, tmp_path / name, strategy, monkeypatch, base[1])
        assert other[0] == base[0], name
        assert other[2].keys() == base[2].keys()
        for file, text in base[2].items():
            assert other[2][file] == text, (name, file)


LEVELS = ht.Workload([("district", "age"), ("region", "two", "sex"), ("district", "sex")])
WAYS = ["auto", "aim", "aim maxent"]


@pytest.mark.long
@pytest.mark.parametrize("strategy", WAYS)
def test_on_levels_too_only_the_replies_depend_on_the_data(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people_in_districts()
    (tmp_path / "base").mkdir()
    base = run(frame, TREE, tmp_path / "base", strategy, monkeypatch, None, workload=LEVELS)
    for name, other in district_neighbours(frame).items():
        (tmp_path / name).mkdir()
        found = run(other, TREE, tmp_path / name, strategy, monkeypatch, base[1], workload=LEVELS)
        assert found[0] == base[0], name
        assert found[2] == base[2], name


@pytest.mark.long
@pytest.mark.parametrize("strategy", WAYS)
def test_rounds_on_levels_that_are_resumed_ask_and_tell_what_uninterrupted_ones_do(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people_in_districts()
    (tmp_path / "base").mkdir()
    base = run(frame, TREE, tmp_path / "base", strategy, monkeypatch, None, workload=LEVELS)
    for stop in {0, min(1, len(base[0]) - 1), len(base[0]) - 1}:
        folder = tmp_path / str(stop)
        folder.mkdir()
        found = run(frame, TREE, folder, strategy, monkeypatch, base[1], workload=LEVELS, stop=stop)
        assert found[0] == base[0], stop
        tables = {name for name in base[2] if name.endswith(".parquet")}
        assert tables and {name: found[2][name] for name in tables} == {
            name: base[2][name] for name in tables
        }
        assert found[2]["remaining"] == base[2]["remaining"]
