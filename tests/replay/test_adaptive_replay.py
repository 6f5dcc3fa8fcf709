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


def run(
    frame: pl.DataFrame,
    schema: ht.Schema,
    folder: Path,
    strategy: str,
    patch: pytest.MonkeyPatch,
    replies: Any,
) -> tuple[list[str], list[np.ndarray], dict[str, str]]:
    """Questions asked, replies given, and all that was written, without what is random in every run."""
    asked: list[str] = []
    given: list[np.ndarray] = []
    prepare = Confidential.prepare

    def recorded(self: Confidential, request: Any) -> Callable[[], np.ndarray]:
        honest = prepare(self, request)

        def draw() -> np.ndarray:
            values = honest()
            asked.append(fingerprint(request))
            given.append(values if replies is None else replies[len(given)])
            return given[-1]

        return draw

    with patch.context() as here:
        here.setattr(Confidential, "prepare", recorded)
        session = ht.Session.open(frame, schema=schema, ledger=folder / "a.ledger", budget=ht.ZCDP(1))
        workload = ht.Workload.all_marginals(schema, order=3)
        options: Any = dict(zip(("strategy", "reconstruct"), strategy.split(), strict=False))
        release = session.release(workload, budget=ht.ZCDP("0.5"), request="r", **options)
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
