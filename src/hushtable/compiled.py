"""Loops that are compiled when they are first called: ``njit`` as numba has it, without importing numba.

Importing numba takes longer than most commands that compile nothing, so that no module does it for its loops;
``compiling`` does, when one is called.  Nothing here knows what the loops compute.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
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
        """numba's dispatcher; the helpers that the function names are made first, because numba knows only those."""
        from hushtable.compiling import dispatcher  # numba, where it is needed

        names = self.py_func.__globals__
        for name in self.py_func.__code__.co_names:
            if isinstance(names.get(name), Loop):
                names[name] = names[name].dispatcher
        return dispatcher(self.py_func, self._options, self._cache)
