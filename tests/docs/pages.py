"""The pages of the documentation, the snippets in them, and a folder in which the snippets can run.

How a page is read:

- ```` ```python ```` blocks of one page run one after another in one namespace;
- ```` ```console ```` blocks have commands behind ``$ `` and their output below;
- in ```` ```sh ```` blocks every line is a command;
- a ```` ```yaml ```` or ```` ```text ```` block whose first line is ``# NAME`` is written to that file;
- ``<!-- not run: REASON -->`` above a block leaves it out.

``hush`` runs in this process.  Of ``make`` and ``python FILE`` it is only checked that the target or file exists.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hushtable.cli.app import run
from hushtable.cli.simulate import town

ROOT = Path(__file__).parents[2]
ALIKE = 0.8
"""Share of the shown lines that must be printed; a bar, a round or a widest table may differ by chance."""
CERTAIN = ("plan", "bounds")
"""Commands that draw nothing: what they print is compared with its numbers."""
RUNS = {"python", "console", "sh"}
SCHEMA_TEXT = """\
max_rows_per_person: 1
person: person_id
attributes:
  sex:        {type: categorical, values: [F, M, X], outside: other}
  age:        {type: integer, bounds: [0, 109], cuts: [16, 25, 45, 65, 80]}
  employment: {type: categorical, values: [child, student, employed, self-employed, unemployed, retired, at home]}
  car:        {type: boolean, null: category}
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, where it begins, and why it is not run, if it is not."""

    page: Path
    line: int
    language: str
    text: str
    skipped: str = ""

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Command:
    """A command and the output that the page shows for it."""

    words: str
    shown: tuple[str, ...]


@dataclass
class Workplace:
    """A folder with what a page starts from, and what its commands printed."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    outputs: list[str] = field(default_factory=list)


def pages() -> list[Path]:
    """Every page for readers; the proofs and decisions have no snippets that run."""
    top = [
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "RELEASING.md",
            "SECURITY.md",
            "CODE_OF_CONDUCT.md",
            "CHANGELOG.md",
        )
    ]
    return [*top, *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "proofs").glob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    inside: list[str] | None = None
    language, start, skipped, indent = "", 0, "", 0
    for number, line in enumerate(lines, 1):
        fence = re.match(r"(\s*)```(\w*)", line)
        if inside is None:
            note = re.match(r"\s*<!-- not run: (.+) -->", line)
            if fence:
                inside, language, start, indent = [], fence[2], number, len(fence[1])
            elif note or line.strip():
                skipped = note[1] if note else ""
        elif fence and not fence[2]:
            yield Block(page, start, language, "\n".join(inside) + "\n", skipped)
            inside, skipped = None, ""
        else:
            inside.append(line[indent:])


def commands(block: Block) -> list[Command]:
    """The commands of a console or sh block, with what is shown below each."""
    found: list[tuple[str, list[str]]] = []
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        if block.language == "console" and not line.startswith("$ "):
            if found:
                found[-1][1].append(line)
        elif line.strip() and not line.lstrip().startswith("#"):
            found.append((line.removeprefix("$ ").strip(), []))
    return [Command(words, tuple(shown)) for words, shown in found]


def written_file(block: Block) -> str | None:
    """The name of the file that a yaml or text block stands for, if it says so."""
    match = re.match(r"# ([\w.-]+\.\w+)$", block.text.splitlines()[0] if block.text.strip() else "")
    return match[1] if match and block.language in ("yaml", "text", "sql") else None


def write_people(folder: Path, people: int) -> None:
    """The confidential file of the examples, and its schema."""
    columns = ("person_id", "sex", "age", "employment", "car")
    town(people).select(columns).write_csv(folder / "people.csv")
    (folder / "people.yaml").write_text(SCHEMA_TEXT, encoding="utf-8")


def run_block(block: Block, place: Workplace) -> None:
    """Run one block where it stands; an exit code other than the one shown fails."""
    name = written_file(block)
    if name is not None:
        (place.folder / name).write_text(block.text, encoding="utf-8")
    elif block.language == "python":
        for name in re.findall(r'Ledger\.create\("([\w.-]+)"|\.save\("([\w.-]+)"\)', block.text):
            _remove_all(next(filter(None, name)))
        code = compile("\n" * block.line + block.text, str(block.page), "exec")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, place.names)
        place.outputs.append(said.getvalue())
    elif block.language in RUNS:
        for command in commands(block):
            place.outputs.append(run_command(command, place, block))


def run_command(command: Command, place: Workplace, block: Block) -> str:
    """Run a command line; returns what it printed."""
    words = shlex.split(command.words, comments=True)
    if not words or words[0] in ("cd", "ls", "cat", "git", "mkdir", "source", "export", "open"):
        return ""
    program = words[0].removeprefix(".venv/bin/")
    if program == "make":
        targets = (ROOT / "Makefile").read_text(encoding="utf-8")
        for target in words[1:]:
            known = re.search(rf"^{re.escape(target)}:", targets, re.M)
            bench = target.startswith("bench-") and any((ROOT / "bench").glob(f"*/{target[6:]}.py"))
            assert known or bench, f"{block.place}: the Makefile has no target {target}"
        return ""
    if program in ("python", "python3", "pytest", "ruff", "pyright", "lint-imports"):
        for word in words[1:]:
            if re.search(r"/.*\.py|^(?:tests|docs|bench|src)/", word):
                assert (ROOT / word.partition("::")[0]).exists(), f"{block.place}: there is no {word}"
        return ""
    assert program == "hush", f"{block.place}: {program} is not a command that the tests know"
    redirect = words.index(">") if ">" in words else len(words)
    arguments = _filled(words[1:redirect], place)
    _make_room(arguments)
    said, noted = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(noted):
        code = run(arguments)
    printed = said.getvalue()
    expected = re.search(r"# exit code (\d)", command.words)
    assert code == (int(expected[1]) if expected else 0), (
        f"{block.place}: {command.words}\n{noted.getvalue()}"
    )
    if redirect < len(words):
        (place.folder / words[redirect + 1]).write_text(printed, encoding="utf-8")
    all_of_it = printed + noted.getvalue()
    assert alike(command.shown, all_of_it) >= ALIKE, f"{block.place}: {command.words} printed\n{all_of_it}"
    if arguments[0] in CERTAIN:
        stale = [
            line
            for line in command.shown
            if line.strip(" .") and line.split() not in map(str.split, all_of_it.splitlines())
        ]
        assert stale == [], f"{block.place}: {command.words} printed\n{all_of_it}"
    return all_of_it


def _filled(arguments: list[str], place: Workplace) -> list[str]:
    """``ID`` and ``HEAD`` are what the reader copies from the output above."""
    text = "\n".join(place.outputs)
    known = {
        "ID": re.findall(r"--choice (\S+)|Choice (\S+) between", text),
        "HEAD": re.findall(r"head\s+([0-9a-f]{64})()", text),
    }
    filled = {name: next(filter(None, found[-1])) for name, found in known.items() if found}
    return [filled.get(word, word) for word in arguments]


def _make_room(arguments: list[str]) -> None:
    """Remove what the page's folder was given and a command is about to make itself; never the data."""
    for flag in ("--out", "-o"):
        if flag in arguments and arguments[0] != "demo":
            _remove(Path(arguments[arguments.index(flag) + 1]))
    if arguments[:2] == ["ledger", "create"]:
        _remove_all(arguments[2])


def _remove_all(name: str) -> None:
    _remove(Path(name))
    _remove(Path(f"{name}.payloads"))


def _remove(path: Path) -> None:
    if path.name in ("people.csv", "people.yaml"):
        return
    if not path.is_absolute() and path.is_dir():
        shutil.rmtree(path)
    elif not path.is_absolute():
        path.unlink(missing_ok=True)


def skeleton(line: str) -> str:
    """A line without what differs from run to run: numbers, hashes, bars and spaces."""
    plain = re.sub(r"\b[0-9a-f]{32,64}\b", "H", line)
    plain = re.sub(r"[█▒▏▎▍▌▋▊▉#.]{2,}|[█▒]", "", plain)
    plain = re.sub(r"[-+−]?\d[\d,.:TZ-]*%?", "N", plain)
    return " ".join(plain.split())


def alike(shown: Sequence[str], printed: str) -> float:
    """Share of the shown lines whose skeleton was printed."""
    known = {skeleton(line) for line in printed.splitlines()}
    wanted = [skeleton(line) for line in shown if line.strip() and line.strip() != "..."]
    return sum(line in known for line in wanted) / len(wanted) if wanted else 1.0


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Work in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
