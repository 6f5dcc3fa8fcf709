"""Counting with bit planes: one bit per record and category, AND and population count.

Plain compiled loops over arrays that ``plane_program`` lays out.  They never look at a code except to compare it
with a category, so a code outside the declared range sets no bit and counts as the last category.  Which marginals
are counted this way, and threads, are decided elsewhere.
"""

# numba and llvmlite carry no types:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedFunctionDecorator=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from hushtable.compiled import njit

LANES = 8
"""Words of one vector; the length of every run of words is a multiple of it."""

WORD = 64
"""Records in one word."""


class Steps(NamedTuple):
    """A straight-line program: step i joins a plane to the one above it, then counts it against its partners.

    ``scratch[depth] = scratch[depth - 1] & planes[plane]`` and, for j in ``start .. stop - 1``,
    ``counters[target + j - start] += popcount(scratch[depth] & planes[partners[j]])``.  Depth 0 is all ones.
    """

    depth: NDArray[np.int64]
    plane: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    target: NDArray[np.int64]
    partners: NDArray[np.int64]


class Places(NamedTuple):
    """Where the counters of marginals of one order lie, and where their tables go.

    ``base`` and ``pitch`` (sets x 2^order) give, for each subset of a set as a bit mask of its axes, the first
    counter and the distance between rows of counters.  ``sizes`` and ``strides`` (sets x order) describe the
    table; ``offset`` (sets) is its first cell.
    """

    base: NDArray[np.int64]
    pitch: NDArray[np.int64]
    sizes: NDArray[np.int64]
    strides: NDArray[np.int64]
    offset: NDArray[np.int64]


def _vector_function(builder: Any, name: str, result: Any, argument: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [argument]), name)


def _load(builder: Any, base: Any, index: Any, vector: Any, alignment: int) -> Any:
    pointer = builder.bitcast(builder.gep(base, [index]), vector.as_pointer())
    return builder.load(pointer, align=alignment)


def _emit_counts(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Code for ``popcount(prefix & plane)`` over a run of words, for several planes side by side."""
    prefix, at, planes, *starts, words = args
    integer = ir.IntType(64)
    vector = ir.VectorType(integer, LANES)
    left = builder.gep(make_array(signature.args[0])(context, builder, prefix).data, [at])
    data = make_array(signature.args[2])(context, builder, planes).data
    rights = [builder.gep(data, [start]) for start in starts]
    sums = [cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES)) for _ in starts]
    popcount = _vector_function(builder, f"llvm.ctpop.v{LANES}i64", vector, vector)
    begin, step = ir.Constant(integer, 0), ir.Constant(integer, LANES)
    with cgutils.for_range_slice(builder, begin, words, step, inc=True) as (word, _):
        x = _load(builder, left, word, vector, 8)
        for right, total in zip(rights, sums, strict=True):
            y = _load(builder, right, word, vector, 8)
            builder.store(
                builder.add(builder.load(total), builder.call(popcount, [builder.and_(x, y)])), total
            )
    add_up = _vector_function(builder, f"llvm.vector.reduce.add.v{LANES}i64", integer, vector)
    values = [builder.call(add_up, [builder.load(total)]) for total in sums]
    return values[0] if len(values) == 1 else context.make_tuple(builder, signature.return_type, values)


def _type_count_one(typing: Any, prefix: Any, at: Any, planes: Any, start: Any, words: Any) -> Any:
    """Records in which both the prefix and one plane are set."""
    whole = types.int64
    return whole(prefix, whole, planes, whole, whole), _emit_counts


def _type_count_four(
    typing: Any, prefix: Any, at: Any, planes: Any, s0: Any, s1: Any, s2: Any, s3: Any, words: Any
) -> Any:
    """The same for four planes, so that each word of the prefix is loaded once."""
    whole = types.int64
    result = types.UniTuple(whole, 4)
    return result(prefix, whole, planes, whole, whole, whole, whole, whole), _emit_counts


def _emit_equal(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Code that compares 64 codes with one category at once."""
    codes, index, value = args
    element = context.get_value_type(signature.args[0].dtype)
    vector = ir.VectorType(element, WORD)
    data = make_array(signature.args[0])(context, builder, codes).data
    loaded = _load(builder, data, index, vector, element.width // 8)
    narrow = builder.trunc(value, element) if element.width < 64 else value
    splat = builder.insert_element(ir.Constant(vector, ir.Undefined), narrow, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WORD), [0] * WORD)
    equal = builder.icmp_unsigned("==", loaded, builder.shuffle_vector(splat, splat, zeros))
    return builder.bitcast(equal, ir.IntType(WORD))


def _type_equal_word(typing: Any, codes: Any, index: Any, value: Any) -> Any:
    """One word: which of the 64 codes from ``index`` on equal ``value``."""
    return types.uint64(codes, types.int64, types.int64), _emit_equal


_count_one: Any = intrinsic(_type_count_one)
_count_four: Any = intrinsic(_type_count_four)
_equal_word: Any = intrinsic(_type_equal_word)


@njit(cache=True, nogil=True)
def build_planes(
    codes: Any, starts: Any, first_plane: Any, words: int, span: int, first: int, stop: int, planes: Any
) -> None:
    """Write the planes of blocks ``first .. stop - 1``.

    ``codes`` is flat; ``starts`` says where the codes of each column begin, padded to whole words with the last
    category, which has no plane.
    ``planes`` is flat: block, plane, word; a block has ``span`` words.
    """
    count = first_plane[-1]
    for block in range(first, stop):
        here = min(span, words - block * span)
        for a in range(starts.size):
            record = starts[a] + block * span * WORD
            for value in range(first_plane[a + 1] - first_plane[a]):
                at = (block * count + first_plane[a] + value) * span
                for word in range(here):
                    planes[at + word] = _equal_word(codes, record + word * WORD, value)


class Planes(NamedTuple):
    """Bit planes in blocks of ``span`` words: ``number`` planes in each, ``words`` words of each plane in all."""

    bits: Any
    number: int
    words: int
    span: int


@njit(cache=True, nogil=True)
def _join(scratch: Any, depth: int, planes: Any, at: int, span: int, words: int) -> None:
    above = (depth - 1) * span
    below = depth * span
    for word in range(words):
        scratch[below + word] = scratch[above + word] & planes[at + word]


@njit(cache=True, nogil=True)
def run_steps(
    planes: Any, steps: Any, ancestors: Any, first: int, stop: int, scratch: Any, counters: Any
) -> None:
    """Run steps ``first .. stop - 1`` on every block; ``ancestors`` are the steps above the first one, top down."""
    bits, count, words, span = planes
    scratch[:span] = ~np.uint64(0)
    for block in range((words + span - 1) // span):
        here = min(span, words - block * span)
        origin = block * count * span
        for step in ancestors:
            if steps.depth[step] > 0:
                _join(scratch, steps.depth[step], bits, origin + steps.plane[step] * span, span, here)
        for step in range(first, stop):
            depth = steps.depth[step]
            if depth > 0:
                _join(scratch, depth, bits, origin + steps.plane[step] * span, span, here)
            at = depth * span
            target = steps.target[step]
            j = steps.start[step]
            end = steps.stop[step]
            while j + 4 <= end:
                found = _count_four(
                    scratch,
                    at,
                    bits,
                    origin + steps.partners[j] * span,
                    origin + steps.partners[j + 1] * span,
                    origin + steps.partners[j + 2] * span,
                    origin + steps.partners[j + 3] * span,
                    here,
                )
                counters[target] += found[0]
                counters[target + 1] += found[1]
                counters[target + 2] += found[2]
                counters[target + 3] += found[3]
                target += 4
                j += 4
            while j < end:
                counters[target] += _count_one(scratch, at, bits, origin + steps.partners[j] * span, here)
                target += 1
                j += 1


@njit(cache=True, nogil=True)
def _place_subset(places: Any, s: int, mask: int, counters: Any, out: Any) -> None:
    """Write the counters of one subset at the last category of every axis outside it."""
    order = places.sizes.shape[1]
    last = 0
    rows = 1
    corner = places.offset[s]
    for axis in range(order):
        if mask >> axis & 1:
            last = axis
            rows *= places.sizes[s, axis] - 1
        else:
            corner += (places.sizes[s, axis] - 1) * places.strides[s, axis]
    width = places.sizes[s, last] - 1
    if width == 0 or rows == 0:
        return
    rows //= width
    for row in range(rows):
        at = corner
        rest = row
        for axis in range(last - 1, -1, -1):
            if mask >> axis & 1:
                at += rest % (places.sizes[s, axis] - 1) * places.strides[s, axis]
                rest //= places.sizes[s, axis] - 1
        source = places.base[s, mask] + row * places.pitch[s, mask]
        for value in range(width):
            out[at + value * places.strides[s, last]] = counters[source + value]


@njit(cache=True, nogil=True)
def expand(places: Any, first: int, stop: int, counters: Any, records: int, out: Any) -> None:
    """Fill the tables of sets ``first .. stop - 1`` from the counters of all their subsets.

    The last category of an axis first holds the sum over that axis, then the other categories are subtracted.
    """
    order = places.sizes.shape[1]
    for s in range(first, stop):
        begin = places.offset[s]
        cells = 1
        for axis in range(order):
            cells *= places.sizes[s, axis]
        out[begin + cells - 1] = records
        for mask in range(1, 1 << order):
            _place_subset(places, s, mask, counters, out)
        for axis in range(order):
            size = places.sizes[s, axis]
            stride = places.strides[s, axis]
            for outer in range(0, cells, size * stride):
                for inner in range(stride):
                    at = begin + outer + inner
                    last = at + (size - 1) * stride
                    for value in range(size - 1):
                        out[last] -= out[at + value * stride]
