"""How large the pieces of the source may be: modules, the session, and what a function is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "hushtable"
MODULES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MOST_SESSION, MOST_PARAMETERS = 600, 300, 8
COMPILERS = ("njit", "vectorize", "guvectorize", "intrinsic")
INTERFACE = {("session.py", "release")}
"""What others call as it is, whatever it takes: the public interface."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def parameters(function: Function) -> int:
    """How many values a caller may give; the object or class of a method is not counted."""
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    own = bool(named) and named[0].arg in ("self", "cls")
    return len(named) - own + (given.vararg is not None) + (given.kwarg is not None)


def compiled(tree: ast.AST) -> set[str]:
    """Functions that a compiler takes: decorated, or handed to it by name."""
    found = {
        function.name
        for function in functions(tree)
        for decorator in function.decorator_list
        if any(name in ast.unparse(decorator) for name in COMPILERS)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in COMPILERS:
            found |= {part.id for part in node.args if isinstance(part, ast.Name)}
    return found


def is_command(file: Path, function: Function) -> bool:
    """A command of ``hush``: its parameters are its flags."""
    verbs = any(".verb(" in ast.unparse(decorator) for decorator in function.decorator_list)
    return file.parent.name == "cli" and (verbs or function.name == file.stem)


def too_many(file: Path, text: str) -> list[str]:
    tree = ast.parse(text)
    spared = compiled(tree) | {name for home, name in INTERFACE if home == file.name}
    return [
        f"{function.name} takes {parameters(function)}"
        for function in functions(tree)
        if parameters(function) > MOST_PARAMETERS
        and function.name not in spared
        and not is_command(file, function)
    ]


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_modules_are_short_and_functions_are_given_little(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert too_many(file, text) == []


def test_the_session_reads_as_one_flow() -> None:
    assert len((SOURCE / "session.py").read_text(encoding="utf-8").splitlines()) <= MOST_SESSION


def test_the_rule_sees_what_it_is_for() -> None:
    nine = ", ".join(f"a{k}" for k in range(9))
    assert too_many(SOURCE / "x.py", f"def f({nine}): ...") == ["f takes 9"]
    assert too_many(SOURCE / "x.py", f"class A:\n  def f(self, {nine}): ...") == ["f takes 9"]
    assert too_many(SOURCE / "x.py", "def f(a, b, c, d, *, e, g, h, **i): ...") == []
    assert too_many(SOURCE / "x.py", f"@njit(cache=True)\ndef f({nine}): ...") == []
    assert too_many(SOURCE / "x.py", f"def g({nine}): ...\nf = intrinsic(g)") == []
    assert too_many(SOURCE / "cli" / "x.py", f"def x({nine}): ...\ndef y({nine}): ...") == ["y takes 9"]
