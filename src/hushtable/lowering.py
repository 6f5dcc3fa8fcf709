"""How loops are written for LLVM: an item of an array and a count of rounds in few instructions.

numba writes an array into memory and reads it back for each item of it, and divides to learn how often ``range`` goes
round; LLVM takes all of that out again.  What is left is the same, and the way there took half of a first release.
"""

# numba carries no types:
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, cast

import numba.core.types
from llvmlite import ir
from numba.core import cgutils, lowering
from numba.core.ir import Expr

_Lower = cast("Any", lowering).Lower
_types, _words = cast("Any", numba.core.types), cast("Any", cgutils)


class Lower(_Lower):
    """numba's writer, with shorter words for what loops do all the time."""

    builder: Any
    context: Any
    typeof: Any

    _disable_sroa_like_opt = False  # asked for each variable, and only ever true for debuggers

    def incref(self, typ: Any, val: Any) -> None:
        """One more user of what is counted in a value."""
        if self._counted(typ):
            super().incref(*self._counter(typ, val))

    def decref(self, typ: Any, val: Any) -> None:
        """One user less."""
        if self._counted(typ):
            super().decref(*self._counter(typ, val))

    def delvar(self, name: str) -> None:
        """The end of a variable, of which only what counts its users needs to know."""
        if self._counted(self.typeof(name)):
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        """Give a variable a value, whose former one is looked at only if its users are counted."""
        kind = self.typeof(name)
        if argidx is None and name not in self._singly_assigned_vars and not self._counted(kind):
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def _counted(self, kind: Any) -> bool:
        """Whether values of a type hold memory whose users numba counts."""
        return self.context.data_model_manager[kind].contains_nrt_meminfo()

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        """An item of an array, or whatever else numba can get."""
        at = self._place(value, index, signature)
        if at is None or resty != signature.return_type:
            return super().lower_getitem(resty, expr, value, index, signature)
        return self.builder.load(at)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        """Write an item of an array, or whatever else numba can set."""
        at = self._place(target_var, index_var, signature)
        if at is None:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value, kind, given = self.loadvar(value_var.name), self.typeof(value_var.name), signature.args[2]
        stored = self.context.cast(self.builder, value, kind, given)
        stored = self.context.cast(self.builder, stored, given, self.typeof(target_var.name).dtype)
        return self.builder.store(stored, at)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        """The value of an expression."""
        if expr.op == "getiter" and self._counts_by_one(expr.value):
            return self._rounds(self.loadvar(expr.value.name))
        if expr.op == "iternext" and isinstance(self.typeof(expr.value.name), _types.RangeIteratorType):
            return self._next(self.loadvar(expr.value.name))
        if expr.op in ("pair_first", "pair_second") and not self._counted(resty):
            return self.builder.extract_value(self.loadvar(expr.value.name), int(expr.op == "pair_second"))
        return super().lower_expr(resty, expr)

    def _counter(self, kind: Any, value: Any) -> tuple[Any, Any]:
        """What counts the users of a value, with its type: of an array only what owns its memory."""
        if not isinstance(kind, _types.Array):
            return kind, value
        return _types.MemInfoPointer(kind.dtype), self.builder.extract_value(
            value, self._position(kind, "meminfo")
        )

    def _position(self, kind: Any, field: str) -> Any:
        """Where a field of an array is."""
        return self.context.data_model_manager[kind].get_field_position(field)

    def _place(self, array: Any, index: Any, signature: Any) -> Any:
        """Where an item is, if whole numbers say so for each axis of an array of numbers in C's order."""
        kind, by, asked = self.typeof(array.name), self.typeof(index.name), signature.args[1]
        if not (isinstance(kind, _types.Array) and kind.layout == "C" and kind.aligned):
            return None
        kinds = tuple(asked) if isinstance(asked, _types.BaseTuple) else (asked,)
        if (
            not isinstance(kind.dtype, _types.Integer | _types.Float)
            or len(kinds) != kind.ndim
            or not all(isinstance(one, _types.Integer) for one in kinds)
        ):
            return None
        whole = self.loadvar(array.name)
        shape = self.builder.extract_value(whole, self._position(kind, "shape"))
        lengths = _words.unpack_tuple(self.builder, shape, kind.ndim)
        given = self.context.cast(self.builder, self.loadvar(index.name), by, asked)
        parts = _words.unpack_tuple(self.builder, given, kind.ndim) if kinds[0] is not asked else [given]
        places = [self._from_start(*one) for one in zip(parts, kinds, lengths, strict=True)]
        items = self.builder.extract_value(whole, self._position(kind, "data"))
        place = self._product(places[0], lengths[1:])
        for axis in range(1, kind.ndim):
            place = self.builder.add(place, self._product(places[axis], lengths[axis + 1 :]))
        return self.builder.gep(items, [place])

    def _product(self, place: Any, lengths: Any) -> Any:
        """How far an index of an axis is from its first one: multiplied in numba's order."""
        if not lengths:
            return place
        whole = lengths[0]
        for length in lengths[1:]:
            whole = self.builder.mul(whole, length)
        return self.builder.mul(place, whole)

    def _from_start(self, number: Any, kind: Any, length: Any) -> Any:
        """A number that may count from the end."""
        if not kind.signed:
            return self.context.cast(self.builder, number, kind, _types.uintp)
        number = self.context.cast(self.builder, number, kind, _types.intp)
        if isinstance(number, ir.Constant) and number.constant >= 0:
            return number
        below = self.builder.icmp_signed("<", number, number.type(0))
        return self.builder.select(below, self.builder.add(number, length), number)

    def _counts_by_one(self, given: Any) -> bool:
        """Whether this is range(n) or range(first, last)."""
        if not isinstance(self.typeof(given.name), _types.RangeType):
            return False
        made = self.func_ir._definitions.get(given.name, [])
        return len(made) == 1 and isinstance(made[0], Expr) and made[0].op == "call" and len(made[0].args) < 3

    def _rounds(self, given: Any) -> Any:
        """The iterator of a range that counts by one."""
        start, stop, step = _words.unpack_tuple(self.builder, given, 3)
        rounds, none = self.builder.sub(stop, start), start.type(0)
        rounds = self.builder.select(self.builder.icmp_signed(">", rounds, none), rounds, none)
        return _words.make_anonymous_struct(
            self.builder,
            [
                _words.alloca_once_value(self.builder, start),
                stop,
                step,
                _words.alloca_once_value(self.builder, rounds),
            ],
        )

    def _next(self, iterator: Any) -> Any:
        """The next number of a range, and whether there is one."""
        number, _, step, rounds = _words.unpack_tuple(self.builder, iterator, 4)
        left, before = self.builder.load(rounds), self.builder.basic_block
        there = self.builder.icmp_signed(">", left, left.type(0))
        with self.builder.if_then(there):
            value = self.builder.load(number)
            self.builder.store(self.builder.sub(left, left.type(1), flags=["nsw"]), rounds)
            self.builder.store(self.builder.add(value, step), number)
            inside = self.builder.basic_block
        given = self.builder.phi(value.type)
        given.add_incoming(value.type(0), before)
        given.add_incoming(value, inside)
        return _words.make_anonymous_struct(self.builder, [given, there])
