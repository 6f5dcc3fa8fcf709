"""Items of arrays and rounds of ranges are what Python says, however they are written for LLVM."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

from hushtable.compiled import njit

LONG = pytest.mark.long


@njit(cache=False)
def _read(table: Any, row: int, column: Any, whole: Any, out: Any) -> None:
    out[0] = table[row, column]
    out[1] = table[-1, 0]
    out[2] = whole[-2] + whole[column]
    out[-1] = table[row][column]
    out[3] = table[1:, 1][0]


@njit(cache=False)
def _write(flat: Any, row: Any, floats: Any, flags: Any) -> None:
    for k in range(flat.size):
        flat[k] = floats[k] * 2.0
    flat[-1] += 7
    row[np.uint8(1), -1] = flat[0]
    flags[1] = not flags[0]


@njit(cache=False)
def _rounds(first: int, last: int, step: int, out: Any) -> int:
    at, k = 0, -9
    for start, stop in ((0, last), (first, last), (last, first)):
        for k in range(start, stop):
            if k == 3:
                continue
            if at > 12:
                break
            out[at] = k
            at += 1
    for k in range(last, first, step):
        out[at] = k
        at += 1
    for _ in range(2):
        for j in range(k, k + 2):
            out[at] = j
            at += 1
    return 100 * at + k


@njit(cache=False)
def _made(n: int, given: Any) -> Any:
    kept = np.zeros(n)
    for k in range(n):
        part = np.empty(k + 1)
        for j in range(part.size):
            part[j] = given[j % given.size] if k % 2 else -1.0
        kept[k] = part[k]
        given = part if k > 2 else given
    return kept


def _tables() -> dict[str, Any]:
    plain = np.arange(12, dtype=np.float64).reshape(3, 4)
    return {
        "C": plain,
        "Fortran": np.asfortranarray(plain),
        "strided": np.arange(48, dtype=np.float64).reshape(6, 8)[::2, ::2],
        "read-only": np.frombuffer(plain.tobytes()).reshape(3, 4),
        "small": plain.astype(np.int8),
        "flags": plain > 4,
    }


@LONG
@pytest.mark.parametrize("layout", list(_tables()))
@pytest.mark.parametrize("column", [1, -3, np.uint64(2), np.int8(-1)])
def test_items_are_read_by_any_whole_number_from_any_array(layout: str, column: Any) -> None:
    found, expected = np.zeros(5), np.zeros(5)
    table, whole = _tables()[layout], np.arange(10, 16)
    _read(table, 1, column, whole, found)
    _read.py_func(table, 1, column, whole, expected)
    np.testing.assert_array_equal(found, expected)


@LONG
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int16, np.uint8])
def test_items_are_written_as_the_type_of_the_array(kind: Any) -> None:
    floats, results = np.array([1.5, 2.0, 3.5, 60.0]), list[Any]()
    for write in (_write, _write.py_func):
        flat, row, flags = np.zeros(4, kind), np.zeros((2, 3), kind), np.array([False, False])
        write(flat, row, floats, flags)
        results.append((flat, row, flags))
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


@LONG
@pytest.mark.parametrize(("first", "last", "step"), [(1, 5, -1), (-2, 2, -3), (4, 4, -1), (5, 1, 2)])
def test_ranges_go_round_as_often_as_in_python(first: int, last: int, step: int) -> None:
    found, expected = np.full(40, -1), np.full(40, -1)
    assert _rounds(first, last, step, found) == _rounds.py_func(first, last, step, expected)
    np.testing.assert_array_equal(found, expected)


@LONG
def test_arrays_made_in_a_loop_live_as_long_as_they_are_used() -> None:
    given = np.arange(9.0)
    expected = _made.py_func(9, given)
    for _ in range(200):
        np.testing.assert_array_equal(_made(9, given), expected)


@LONG
def test_memory_that_a_loop_made_is_given_back() -> None:
    from numba.core.runtime import _nrt_python as counter

    _made(3, np.arange(9.0))
    counter.memsys_enable_stats()
    try:
        made, given_back = counter.memsys_get_stats_alloc(), counter.memsys_get_stats_free()
        kept = _made(50, np.arange(50.0))
        del kept
        made, given_back = (
            counter.memsys_get_stats_alloc() - made,
            counter.memsys_get_stats_free() - given_back,
        )
    finally:
        counter.memsys_disable_stats()
    assert made == given_back > 50


def test_what_an_operator_gives_is_what_numba_finds_whatever_was_asked_before() -> None:
    """Constants first: numba knows of two of them whether they are equal, which says nothing of variables."""
    from numba.core import types
    from numba.core.registry import cpu_target

    import hushtable.compiling  # noqa: F401

    look, context = types.functions.BaseFunction.get_call_type, cpu_target.typing_context
    context.refresh()
    kinds = (types.literal(0), types.literal(1), types.literal(True), types.int64, types.uint64, types.uint8)
    for name in ("eq", "ne", "lt", "add", "mul", "floordiv", "truediv", "and_", "lshift", "iadd"):
        function = context.resolve_value_type(getattr(operator, name))
        for _, arguments in itertools.product(range(2), itertools.product((*kinds, types.float64), repeat=2)):
            asked = []
            for way in (type(function).get_call_type, look):
                try:
                    asked.append(way(function, context, arguments, {}))
                except Exception as error:  # numba refuses this pair
                    asked.append(type(error))
            assert asked[0] == asked[1], (name, arguments)
