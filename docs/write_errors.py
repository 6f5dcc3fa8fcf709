"""Write ``docs/reference/errors.md`` from the source: every code with its message and its fix.

    python docs/write_errors.py

Calls that make an error have the code as a constant of the form ``noun.problem`` as their first argument, and texts
after it.  What varies in a text is shown as an ellipsis.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "errors.md"
CODE = re.compile(r"[a-z]+(?:-[a-z]+)*\.[a-z0-9]+(?:-[a-z0-9]+)*")
MAKES_ERRORS = re.compile(r"error|exhausted|refus|wrong|bad|invalid|unreadable|problem", re.IGNORECASE)
HEAD = """\
# Error codes

Every error of Hushtable has a stable code, one sentence and a fix; it is an instance of
`hushtable.errors.HushtableError` with the attributes `code`, `message` and `fix`. The command line exits with 2 for
bad usage and with 1 for a refusal, and prints the code last; with `--json` it prints
`{"error": {"code": ..., "message": ..., "fix": ...}}`. Messages name columns, flags and files, never a value from the
data. Nothing was spent when an error is raised, unless its sentence says so.

This page is written by `python docs/write_errors.py`; an ellipsis stands for what varies.

| code | what it says | what to do |
|---|---|---|
"""


def errors_in(tree: ast.AST) -> dict[str, tuple[str, str]]:
    """Code -> (message, fix) of the calls in one module."""
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)):
            continue
        code = node.args[0].value
        name = ast.unparse(node.func).rpartition(".")[2]
        if isinstance(code, str) and CODE.fullmatch(code) and MAKES_ERRORS.search(name):
            texts = [text for text in map(template, node.args[1:]) if " " in text or text == "…"]
            message, fix = [*texts, "", ""][:2]
            if code not in found or len(message) > len(found[code][0]):
                found[code] = (message, fix)
    return found


def template(node: ast.expr) -> str:
    """The text of a constant or f-string; an ellipsis for what is filled in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp):
        return template(node.left) + template(node.right)
    if isinstance(node, ast.IfExp):
        return template(node.body) or template(node.orelse)
    return "…"


def page() -> str:
    """The whole page."""
    codes: dict[str, tuple[str, str]] = {}
    for path in sorted((ROOT / "src").rglob("*.py")):
        for code, texts in errors_in(ast.parse(path.read_text(encoding="utf-8"))).items():
            if code not in codes or len(texts[0]) > len(codes[code][0]):
                codes[code] = texts
    rows = [
        f"| `{code}` | {cell(message)} | {cell(fix)} |\n" for code, (message, fix) in sorted(codes.items())
    ]
    return HEAD + "".join(rows)


def cell(text: str) -> str:
    """A text that is safe inside a Markdown table."""
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
