"""Compiling a loop with numba, and keeping the code until a source that went into it changes.

Code is kept beside its module, or in the user's cache folder where that cannot be written, or nowhere at all.  numba
itself looks only at the file of the function: code compiled with a helper or a constant of another module would run on
with the old one.  Here the key is made of the sources of the module and of all modules of its own package and of this
one that it imports, directly or through others; the module of a plugin may be a package, or a file of its own.
"""

# numba carries no types:
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownMemberType=false

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import re
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numba
from numba.core import caching, codegen, compiler, compiler_machinery, event, types
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.registry import cpu_target

from hushtable.watching import tell

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_MODULE = re.compile(r"[\w.]+")
_njit = cast("Callable[..., Any]", numba.njit)
_kind = cast("Callable[..., Any]", types.unliteral)
_register = cast("Callable[..., Any]", event.register)


_OPTIONS = {"error_model": "numpy", "no_cfunc_wrapper": True}
"""No loop divides by zero and waits for an exception, and none is called by C."""

_STEPS: tuple[Any, ...] = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    untyped.RewriteSemanticConstants,
    untyped.DeadBranchPrune,
    untyped.GenericRewrites,
    untyped.ReconstructSSA,
    typed.NopythonTypeInference,
    typed.PreLowerStripPhis,
    typed.NopythonRewrites,
    typed.IRLegalization,
    typed.NativeLowering,
    typed.NoPythonBackend,
)
"""numba's steps without those for closures, functions inlined in Python and listings."""


class _Code(codegen.JITCodeLibrary):
    """Code of a loop, optimised lightly before what it calls is linked in, and fully afterwards."""

    def _optimize_functions(self, ll_module: Any) -> None:
        to: Any = self._codegen
        ll_module.data_layout = to._data_layout
        if ll_module.name != "wrapper":
            passes, builder = to._function_pass_manager(opt=1, loop_vectorize=False, slp_vectorize=False)
            for function in ll_module.functions:
                passes.run(function, builder)


class _Linked(_Code):
    """Code that is optimised and turned into machine code with its callers' alone, into which it is linked."""

    def _optimize_final_module(self) -> None: ...

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@compiler_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Linking(typed.NativeLowering):
    """Writes code without making it executable."""

    _name = "linking"

    def run_pass(self, state: Any) -> Literal[True]:
        state.flags.no_compile = True
        super().run_pass(state)
        name: Any = list[Any]().append  # in C and like no other: callers know the code by it, nobody calls it
        state.targetctx.insert_user_function(name, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=name)
        return True


class _Outer(compiler.CompilerBase):
    """How numba compiles a loop that Python calls."""

    code: type[_Code] = _Code
    lowering: Any = typed.NativeLowering

    def define_pipelines(self) -> list[Any]:
        state: Any = self.state
        state.library = self.code(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        made = compiler_machinery.PassManager("loop")
        for step in _STEPS:
            name: str = step.name()
            made.add_pass(self.lowering if step is typed.NativeLowering else step, name)
        made.finalize()
        return [made]


class _Inner(_Outer):
    """How numba compiles a loop that other loops call."""

    code, lowering = _Linked, _Linking


def dispatcher(function: Callable[..., Any], options: dict[str, Any], cache: bool) -> Any:
    """A function for numba to compile when it is called."""
    made = _general(_njit(**_OPTIONS, pipeline_class=_Outer, **options)(function))
    if cache:
        made._cache = _kept(function)
    return made


def inner_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function that only other loops call, compiled into theirs; Python must not call it.

    It has no wrapper for Python, which takes numba as long as a short loop, and is kept with its callers.
    """
    return _general(_njit(**_OPTIONS, no_cpython_wrapper=True, pipeline_class=_Inner, **options)(function))


def _general(made: Any) -> Any:
    """No copy for each constant that a helper is called with: LLVM finds them by itself when it inlines."""
    of_types = made.get_call_template

    def of_kinds(arguments: Sequence[Any], keywords: dict[str, Any]) -> Any:
        return of_types(tuple(map(_kind, arguments)), keywords)

    made.get_call_template = of_kinds
    return made


class _Compiling(event.Listener):
    """Says when numba begins and ends to compile, which is seldom and slow; code from the cache is not compiled.

    The collector of cyclic garbage rests meanwhile: a tenth of the time went into its looking at numba's many objects.
    """

    def __init__(self) -> None:
        self._depth, self._collects, self._lock = 0, False, threading.Lock()

    def on_start(self, event: Any) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._collects = gc.isenabled()
                gc.disable()
                tell(True)

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                if self._collects:
                    gc.enable()
                tell(False)


_register("numba:compile", _Compiling())


def _remember(context: Any) -> None:
    """Let numba look once for what an operator gives: it tries dozens of meanings each time."""
    resolve, known = context.resolve_function_type, dict[Any, Any]()

    def remembered(function: Any, arguments: Any, keywords: Any) -> Any:
        key = None if keywords or not isinstance(function, types.Function) else (function, tuple(arguments))
        found = known.get(key) or resolve(function, arguments, keywords)
        if key and found and function.get_impl_key(found) is function.typing_key:  # depends on no option
            known[key] = found
        return found

    context.resolve_function_type = remembered


_remember(cpu_target.typing_context)


def _kept(function: Callable[..., Any]) -> Any:
    """The cache of one function; one that keeps nothing where no source can be read or no folder be written."""
    if _source(function.__module__) is None:
        return caching.NullCache()
    try:
        return _LoopCache(function)
    except (RuntimeError, OSError):
        return caching.NullCache()


@functools.cache
def sources_digest(module: str) -> bytes:
    """SHA-256 of the sources of a module and of everything that it imports from its own package and from this one."""
    packages = frozenset({module.partition(".")[0], __name__.partition(".")[0]})
    seen: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen[name], imported = _read(name, packages)
            waiting.extend(imported)
    whole = hashlib.sha256()
    for name in sorted(seen):
        whole.update(name.encode() + seen[name])
    return whole.digest()


@functools.cache
def _read(module: str, packages: frozenset[str]) -> tuple[bytes, tuple[str, ...]]:
    """SHA-256 of the source of a module, and the modules of the packages that it imports; nothing of what is none."""
    path = _source(module)
    if path is None:
        return b"", ()
    source = path.read_bytes()
    return hashlib.sha256(source).digest(), tuple(_imported(source.decode(), packages))


def _imported(text: str, packages: frozenset[str]) -> list[str]:
    """Modules of the packages that a source imports by absolute name, among names that may be no modules."""
    found: list[str] = []
    for origin, names, plain in _IMPORT.findall(text):
        found.extend(m for m in (origin, *_MODULE.findall(plain)) if m.partition(".")[0] in packages)
        if origin.partition(".")[0] in packages:
            found.extend(f"{origin}.{name}" for name in _MODULE.findall(names))
    return found


def _source(module: str) -> Path | None:
    """The file of a module of a package, or of one that is a file of its own; None for a name that is neither."""
    top, *inside = module.split(".")
    loaded: Any = sys.modules.get(top)
    if not hasattr(loaded, "__path__"):
        file = Path(getattr(loaded, "__file__", None) or "")
        return file if not inside and file.suffix == ".py" and file.is_file() else None
    for root in loaded.__path__:
        package = Path(root, *inside, "__init__.py")
        for file in (package, package.parent.with_suffix(".py")) if inside else (package,):
            if file.is_file():
                return file
    return None


class _Stamped(caching.CompileResultCacheImpl):
    """numba's way of writing compiled code down, with our key for its freshness."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        cast("Any", self)._locator.get_source_stamp = lambda: sources_digest(function.__module__)


class _LoopCache(caching.FunctionCache):
    """numba's cache of one function with a key over all sources that went into it."""

    _impl_class = _Stamped

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        index: Any = cast("Any", self)._cache_file
        # the version is read before all else: what is stale may name types that are gone
        index._version = index._version, index._source_stamp

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Compiled code; a file that a kill or a full disk has cut short is as good as none."""
        try:
            return cast("Any", super()).load_overload(sig, target_context)
        except Exception:
            with contextlib.suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code; where the disk is full, it is compiled again the next time."""
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)
