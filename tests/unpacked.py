"""Tables of a report as a reader without a browser finds them: the data of its explorer, by their description alone."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = {"0": 2, "1": 3, "2": 4}


def explorer_data(page: Path | str) -> dict[str, Any]:
    """The JSON inside a page."""
    html = page.read_text(encoding="utf-8") if isinstance(page, Path) else page
    match = re.search(r'<script type="application/json" id="explorer-data">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def index_of(data: dict[str, Any]) -> dict[str, Any]:
    """Its list of tables."""
    return json.loads(zlib.decompress(b64decode(data["index"])))


def tables_of(data: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    """Estimates, ends and errors by the names of the attributes, cells in C order."""
    index, names = index_of(data), [a["name"] for a in data["attributes"]]
    sizes = [len(a["labels"]) for a in data["attributes"]]
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    ends = [*index["begins"][1:], len(index["sets"])]
    for begin, end, text in zip(index["begins"], ends, data["pieces"], strict=True):
        numbers, at = _numbers(text), 0
        for k in range(begin, end):
            axes, error = index["sets"][k], index["error"][k]
            cells = prod(sizes[a] for a in axes)
            width = COLUMNS[index["kinds"][k]] + isinstance(error, list)
            columns = numbers[at : at + width * cells].reshape(width, cells)
            at += width * cells
            found[tuple(names[a] for a in axes)] = _table(index, k, columns, data["least"])
        assert at == len(numbers)
    return found


def _table(index: dict[str, Any], k: int, columns: Any, least: float) -> dict[str, Any]:
    kind, step, error = index["kinds"][k], index["steps"][k], index["error"][k]
    flags, columns = columns[0], columns[1:]
    estimate = columns[0] * step
    made = {
        "kind": kind,
        "step": step,
        "asked": index["asked"][k] == "1",
        "estimate": estimate,
        "flags": flags,
    }
    if kind == "2":
        return made | {"lower": estimate - columns[1] * step, "upper": estimate + columns[2] * step}
    errors = np.array(index["errors"])
    classes = [error[c] for c in columns[-1]] if isinstance(error, list) else [error] * columns.shape[1]
    own = errors[classes]
    std, reach, far = own.T
    unbiased = estimate if kind == "0" else (columns[0] + columns[1]) * step
    lower = np.maximum(0, np.minimum(estimate, unbiased - reach))
    upper = np.maximum(least * reach, np.maximum(estimate, unbiased + reach))
    return made | {
        "unbiased": unbiased,
        "std": std,
        "reach": reach,
        "far": far,
        "lower": lower,
        "upper": upper,
    }


def _numbers(text: str) -> Any:
    planes = np.frombuffer(zlib.decompress(b64decode(text)), np.uint8).reshape(4, -1).astype(np.int64)
    unsigned = planes[0] + (planes[1] << 8) + (planes[2] << 16) + (planes[3] << 24)
    return np.where(unsigned % 2 == 1, -(unsigned + 1) // 2, unsigned // 2)
