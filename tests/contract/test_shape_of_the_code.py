"""How large the pieces of the source may be, what a function is given, and that a chosen number says why."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from source_trees import FILES, ROOT, SOURCE, parsed, text_of

MOST_LINES, MOST_SESSION, MOST_PARAMETERS = 600, 300, 8
COMPILERS = ("njit", "vectorize", "guvectorize", "intrinsic")
INTERFACE = {("session.py", "release")}
"""What others call as it is, whatever it takes: the public interface."""

SPARED = ("selftest",)
"""The package whose numbers are sizes of made-up tables; elsewhere each says where it comes from and what
moves with it."""
NOT_CHOSEN = {
    "cli/flags.py": {"Alpha"},
    "kernel/sources/assign.py": {"DROP"},
    "kernel/sources/defects.py": {"GOOD, EMPTY, LONG, NUL, ENCODING, QUOTES, FEW, MANY", "_NEWLINE, _RETURN"},
    "kernel/sources/keys.py": {"_PER_SECOND", "_WIDE"},
    "kernel/sources/objects.py": {"_ZERO", "_UNITS"},
    "kernel/sources/parse.py": {
        "VALUE, NULL, OTHER",
        "_PRIME",
        "_PLUS, _MINUS, _POINT, _COLON",
        "_ZERO, _NINE",
        "_POWERS",
    },
    "kernel/sources/rows.py": {"_NEWLINE", "_RETURN"},
    "kernel/sources/sniff.py": {"_C1"},
    "kernel/sources/typed.py": {"_DAYS_PER"},
    "kernel/sources/written.py": {"_ZERO, _NINE, _POINT, _PLUS, _MINUS"},
    "ledger/entries.py": {"FORMAT", "GENESIS", "Natural"},
    "microdata/sequential.py": {"_UNIT"},
    "plain.py": {"Text", "WholeNumber", "NotNegative"},
    "privacy/budget.py": {"_DIGITS", "Cost.ZERO"},
    "schema/bins.py": {"DAY_ZERO"},
    "schema/build.py": {"_SCALES"},
}
"""Codes of letters and states, units, and values given to a first call: no other number would do, or any would."""

COMPUTING = (
    "deciders",
    "linear",
    "marginals",
    "measurement",
    "microdata",
    "planning",
    "privacy",
    "reconstruct",
)
"""Packages whose numbers decide what is measured or told; in others most are widths, codes and sizes of pages."""
PLAIN = {0.0, 0.5, 1.0, 2.0, 3.0, 4.0}
"""Parts of formulas."""
BARE = {
    "deciders/canonical.py": 1,
    "deciders/check_plan.py": 1,
    "deciders/parser.py": 4,
    "deciders/thresholds.py": 1,
    "linear/loewner.py": 3,
    "linear/sampling.py": 3,
    "linear/spaces.py": 2,
    "linear/uniform.py": 2,
    "marginals/layout.py": 2,
    "marginals/workload.py": 3,
    "microdata/decoding.py": 2,
    "microdata/generator.py": 1,
    "microdata/generator_loops.py": 1,
    "microdata/noise.py": 2,
    "microdata/packing.py": 14,
    "microdata/rounding.py": 3,
    "microdata/rounding_loops.py": 1,
    "microdata/seeded.py": 7,
    "microdata/uncertainty.py": 6,
    "planning/adaptive.py": 4,
    "planning/aim.py": 1,
    "planning/limits.py": 3,
    "planning/minimax.py": 1,
    "planning/wishes.py": 2,
    "privacy/budget.py": 1,
    "privacy/sampler.py": 5,
    "privacy/sampler_loops.py": 10,
}
"""Numbers inside functions that no name and no comment explains, by module: fewer with time, never more."""

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
    tree = parsed(text)
    spared = compiled(tree) | {name for home, name in INTERFACE if home == file.name}
    return [
        f"{function.name} takes {parameters(function)}"
        for function in functions(tree)
        if parameters(function) > MOST_PARAMETERS
        and function.name not in spared
        and not is_command(file, function)
    ]


def is_assigned(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AnnAssign)


def is_numeric(node: ast.stmt) -> bool:
    """Whether a statement of a module names a number, in upper case; empty arrays and the like are none."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target).strip("()")
    numbers = [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
    chosen = any(isinstance(number, int | float) and not isinstance(number, bool) for number in numbers)
    return chosen and re.match(r"_?[A-Z]", name) is not None and "np.empty(" not in ast.unparse(node.value)


def is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def has_comment(lines: Sequence[str], node: ast.stmt) -> bool:
    """Above a statement, or in it."""
    own = lines[node.lineno - 1 : node.end_lineno]
    return any(" # " in line for line in own) or lines[node.lineno - 2].startswith("# ")


def unexplained(text: str) -> list[str]:
    """Numbers without a docstring or comment; neighbours without a line between them share one."""
    lines, body, bare = text.splitlines(), parsed(text).body, list[str]()
    for k, node in enumerate(body):
        if not is_numeric(node) or has_comment(lines, node):
            continue
        last = k
        while (
            last + 1 < len(body)
            and is_assigned(body[last + 1])
            and body[last + 1].lineno == (body[last].end_lineno or 0) + 1
        ):
            last += 1
        if last + 1 == len(body) or not is_docstring(body[last + 1]):
            bare.append(ast.unparse(node).split(" = ")[0].split(":")[0].strip("()"))
    return bare


@pytest.mark.parametrize(
    "file",
    [file for file in FILES if file.relative_to(SOURCE).parts[0] not in SPARED],
    ids=lambda file: str(file.relative_to(SOURCE)),
)
def test_a_chosen_number_says_why(file: Path) -> None:
    spared = NOT_CHOSEN.get(file.relative_to(SOURCE).as_posix(), set())
    assert set(unexplained(text_of(file))) == spared


def is_chosen(value: object) -> bool:
    """Whether a number looks as if another might do: small ones, powers of 2 and of 10 and their neighbours do not."""
    if isinstance(value, float):
        return value not in PLAIN
    if not isinstance(value, int) or isinstance(value, bool) or value <= 10:
        return False
    return value & (value - 1) != 0 and value & (value + 1) != 0 and value != 10 ** (len(str(value)) - 1)


def bare_numbers(text: str) -> list[float]:
    """Numbers in the bodies of functions, in lines without a comment; defaults of parameters have a name."""
    lines, found = text.splitlines(), dict[tuple[int, int], float]()
    for function in functions(parsed(text)):
        for node in (node for part in function.body for node in ast.walk(part)):
            if (
                isinstance(node, ast.Constant)
                and is_chosen(node.value)
                and " # " not in lines[node.lineno - 1]
            ):
                found[node.lineno, node.col_offset] = float(str(node.value))
    return list(found.values())


def test_numbers_inside_functions_become_fewer() -> None:
    """A number that was chosen stands at the top of its module, where it says why; formulas have small ones."""
    found = {
        file.relative_to(SOURCE).as_posix(): len(bare_numbers(text_of(file)))
        for file in FILES
        if file.relative_to(SOURCE).parts[0] in COMPUTING
    }
    assert {name: number for name, number in found.items() if number} == BARE


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_modules_are_short_and_functions_are_given_little(file: Path) -> None:
    text = text_of(file)
    assert len(text.splitlines()) <= MOST_LINES
    assert too_many(file, text) == []


@pytest.mark.parametrize("folder", ["tests", "bench", "docs", "client"])
def test_what_stands_beside_the_source_is_as_short(folder: str) -> None:
    files = [file for file in (ROOT / folder).rglob("*.py") if "build" not in file.parts]
    assert files
    assert [file.name for file in files if len(text_of(file).splitlines()) > MOST_LINES] == []


def test_the_session_reads_as_one_flow() -> None:
    assert len((SOURCE / "session.py").read_text(encoding="utf-8").splitlines()) <= MOST_SESSION


def test_the_rules_see_what_they_are_for() -> None:
    nine = ", ".join(f"a{k}" for k in range(9))
    assert too_many(SOURCE / "x.py", f"def f({nine}): ...") == ["f takes 9"]
    assert too_many(SOURCE / "x.py", f"class A:\n  def f(self, {nine}): ...") == ["f takes 9"]
    assert too_many(SOURCE / "x.py", "def f(a, b, c, d, *, e, g, h, **i): ...") == []
    assert too_many(SOURCE / "x.py", f"@njit(cache=True)\ndef f({nine}): ...") == []
    assert too_many(SOURCE / "x.py", f"def g({nine}): ...\nf = intrinsic(g)") == []
    assert too_many(SOURCE / "cli" / "x.py", f"def x({nine}): ...\ndef y({nine}): ...") == ["y takes 9"]
    assert unexplained("A = 1\nB, _C = 2, 3\nd = 4\nE = True\nF = 'x'\n") == ["A", "B, _C"]
    assert unexplained('A = 1\nB: int = 2\n"""Why."""\nC = 3  # why\n# Why.\nD = 4\n') == []
    assert unexplained('A = 1\n\nB = 2\n"""Why."""\n') == ["A"]
    assert bare_numbers("def f(a=0.3):\n  def g():\n    return 1.4 * a\n  for _ in range(30): g()") == [
        1.4,
        30.0,
    ]
    assert bare_numbers("def f(a):\n  return 0.5 * a + 7 - 64 + 1000 + 255\nB = 0.7") == []
    assert bare_numbers("def f(a):\n  return 0.3 * a  # why") == []
