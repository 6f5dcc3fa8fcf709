"""Rows of a COPY from libpq, thousands of them in a call.

psycopg gives a row per call, which costs several times what the server spends on it.  Here a compiled loop calls libpq
itself (``PQgetCopyData`` and what belongs to it) for a connection that psycopg has made and whose address it gives for
such a use.  The functions are those of the very library that psycopg uses, or none: then rows come through psycopg.
"""

# numba and llvmlite carry no types:
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from functools import cache
from typing import Any, Protocol

import numpy as np
from llvmlite import ir
from numba import extending
from numba.core import cgutils
from numba.core import types as numba_types

from hushtable.arrays import Words
from hushtable.compiled import njit
from hushtable.kernel.sources.rows import Octets

WAIT, FULL = 0, -3
"""Why there are no more rows: none has come yet, there is no room.  libpq has -1 for the end and -2 for a failure."""

types: Any = numba_types
intrinsic: Any = extending.intrinsic
_WORD, _NUMBER, _BYTE = ir.IntType(types.uintp.bitwidth), ir.IntType(32), ir.IntType(8)
"""C's address, ``int`` and ``char``."""


@intrinsic
def _call_get(_context: Any, function: Any, link: Any, place: Any) -> Any:
    """``int PQgetCopyData(PGconn *, char **, int)``, without waiting."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(_NUMBER, [_WORD, _WORD, _NUMBER])
        called = builder.inttoptr(given[0], kind.as_pointer())
        return builder.call(called, [given[1], given[2], ir.Constant(_NUMBER, 1)])

    return types.int32(types.uintp, types.uintp, types.uintp), code


@intrinsic
def _call_consume(_context: Any, function: Any, link: Any) -> Any:
    """``int PQconsumeInput(PGconn *)``."""

    def code(_context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(_NUMBER, [_WORD])
        return builder.call(builder.inttoptr(given[0], kind.as_pointer()), [given[1]])

    return types.int32(types.uintp, types.uintp), code


@intrinsic
def _call_free(_context: Any, function: Any, row: Any) -> Any:
    """``void PQfreemem(void *)``."""

    def code(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_WORD])
        builder.call(builder.inttoptr(given[0], kind.as_pointer()), [given[1]])
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp), code


@intrinsic
def _copy(_context: Any, to: Any, row: Any, size: Any) -> Any:
    """Bytes from one address to another."""

    def code(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        places = [builder.inttoptr(address, _BYTE.as_pointer()) for address in given[:2]]
        cgutils.raw_memcpy(builder, places[0], places[1], given[2], 1)
        return context.get_dummy_value()

    return types.void(types.uintp, types.uintp, types.intp), code


@njit(cache=True, nogil=True)
def _fetch(calls: Words, link: Any, row: Words, out: Octets, filled: int) -> tuple[int, int]:
    """Rows into ``out`` from ``filled`` on; where they end, and why.

    ``row`` is the address and size of one that has come and had no room.
    """
    place = np.uintp(out.ctypes.data)
    while True:
        if row[1] == 0:
            size = _call_get(calls[0], link, np.uintp(row.ctypes.data))
            if size == WAIT and _call_consume(calls[1], link) == 1:
                size = _call_get(calls[0], link, np.uintp(row.ctypes.data))
            if size <= 0:
                return filled, size
            row[1] = size
        if filled + row[1] > out.size:
            return filled, FULL
        _copy(place + np.uintp(filled), row[0], np.intp(row[1]))
        filled += int(row[1])
        _call_free(calls[2], row[0])
        row[1] = 0


class RowReader(Protocol):
    """Rows of a COPY as bytes."""

    def fill(self, out: Octets, filled: int) -> tuple[int, int]:
        """Rows into ``out`` from ``filled`` on, as long as there are some and room; where they end, and why."""
        ...


class LibraryRows:
    """Rows that libpq gives to a compiled loop."""

    def __init__(self, link: Any, calls: Words) -> None:
        self._link, self._calls = link, calls
        self._row = np.zeros(2, np.uint64)

    def fill(self, out: Octets, filled: int) -> tuple[int, int]:
        return _fetch(self._calls, np.uint64(self._link.pgconn_ptr), self._row, out, filled)


class DriverRows:
    """Rows that psycopg gives, one by one."""

    def __init__(self, link: Any) -> None:
        self._link = link
        self._row: Any = b""

    def fill(self, out: Octets, filled: int) -> tuple[int, int]:
        while True:
            size = len(self._row)
            if not size:
                size, self._row = self._link.get_copy_data(1)
                if size <= 0:
                    self._row = b""
                    return filled, size
            if filled + size > out.size:
                return filled, FULL
            out[filled : filled + size] = np.frombuffer(self._row, np.uint8)
            filled, self._row = filled + size, b""


def rows_of(link: Any) -> RowReader:
    """The rows of a COPY that a connection of psycopg's lower level is in the middle of."""
    calls = _calls(type(link))
    return DriverRows(link) if calls is None else LibraryRows(link, calls)


@cache
def _calls(kind: type) -> Words | None:
    """The addresses of functions in the library that connections of this class use, if that can be found."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(file)  # with all that it needs: a name is looked for in those too
        names = (library.PQgetCopyData, library.PQconsumeInput, library.PQfreemem)
        return np.array([ctypes.cast(name, ctypes.c_void_p).value for name in names], np.uint64)
    return None
