"""Loops that are compiled when they are first called: ``njit`` as numba has it, without importing numba.

Importing numba takes longer than most commands that compile nothing, so that no module does it for its loops;
``compiling`` does, when one is called.  Nothing here knows what the loops compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit`` for functions of modules, loaded when one is first called; with ``cache`` it keeps its code."""

    def compile_lazily(function: Callable[..., Any]) -> Any:
        return Loop(function, options, cache)

    return compile_lazily


class Loop:
    """A function to be compiled: stands for numba's dispatcher and makes it when it is first needed."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any], cache: bool) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._options, self._cache = options, cache

    def __call__(self, *arguments: Any) -> Any:
        return self.dispatcher(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """numba's dispatcher, for callers in Python."""
        from hushtable.compiling import dispatcher  # numba, where it is needed

        return dispatcher(self._with_helpers(), self._options, self._cache)

    @functools.cached_property
    def inner(self) -> Any:
        """numba's dispatcher for other loops; where Python has called the function too, the one that it called."""
        from hushtable.compiling import inner_dispatcher

        if "dispatcher" in vars(self):
            return self.dispatcher
        return inner_dispatcher(self._with_helpers(), self._options)

    def _with_helpers(self) -> Callable[..., Any]:
        """The function with numba's dispatchers in place of the helpers that it names: numba knows only those."""
        function, names = self.py_func, self.py_func.__globals__
        helpers = {n: names[n].inner for n in function.__code__.co_names if isinstance(names.get(n), Loop)}
        if not helpers:
            return function
        made = FunctionType(
            function.__code__, names | helpers, function.__name__, function.__defaults__, function.__closure__
        )
        return functools.update_wrapper(made, function)
