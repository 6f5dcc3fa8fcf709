"""No malformed input brings out a traceback, an exit code of its own, or a secret."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from malformed_inputs import COLUMNS, DECLARED, RELEASE, SECRETS, WORD, Case, cases, leaks

import hushtable as ht
from hushtable.cli import app

DATA = ",".join(COLUMNS) + "\n33,F,250.5,1987-05-04,true\n,,,,\n"
QUIET_CODES = {0, 1, 2}


class Desk:
    """A folder that looks the same before every case: data, schema, ledger, a released bundle, a temporary folder."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.template, self.folder = folder / "template", folder / "desk"
        self.template.mkdir()
        (self.template / "data.csv").write_text(DATA)
        ht.Schema.from_dict(DECLARED).save(self.template / "schema.yaml")
        ht.Ledger.create(self.template / "people.ledger", ht.ZCDP(1), name="people")
        patch.chdir(self.template)
        other = [
            "rho=0.002" if word == "rho=0.001" else word for word in RELEASE[:-1]
        ]  # not the cases' own release
        assert other != RELEASE[:-1] and app.run([*other, "bundle"]) == 0
        self.folder.mkdir()
        patch.chdir(self.folder)
        patch.setenv("TMPDIR", str(self.folder / "tmp"))
        patch.setattr(tempfile, "tempdir", str(self.folder / "tmp"))
        self.log = io.StringIO()
        self.handler = logging.StreamHandler(self.log)

    def lay(self, case: Case) -> None:
        """Everything in its place, and the files of the case."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(self.template, self.folder, dirs_exist_ok=True)
        (self.folder / "tmp").mkdir()
        for name, data in case.files.items():
            (self.folder / name).write_bytes(data)

    def run_here(self, case: Case) -> tuple[int, bytes]:
        """Exit code and all that was printed or logged, in this process."""
        self.lay(case)
        self.log.seek(0)
        self.log.truncate()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            code = app.run(case.arguments)
        return code, (out.getvalue() + self.log.getvalue()).encode("utf-8", "surrogatepass")

    def run_apart(self, case: Case) -> tuple[int, bytes]:
        """The same in a process of its own."""
        self.lay(case)
        command = [sys.executable, "-c", "from hushtable.cli import main; main()", *case.arguments]
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout


@pytest.fixture
def desk(memory_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    made = Desk(memory_path, monkeypatch)
    root = logging.getLogger()
    level = root.level
    root.addHandler(made.handler)
    root.setLevel(logging.DEBUG)
    yield made
    root.removeHandler(made.handler)
    root.setLevel(level)


def verdict(case: Case, desk: Desk, code: int, printed: bytes) -> str:
    """What is wrong with a run, or nothing."""
    text = printed.decode("utf-8", "replace")
    problems = leaks(case, desk.folder, printed)
    if code not in QUIET_CODES:
        problems.append(f"exit code {code}")
    if "Traceback" in text or "internal.unexpected" in text:
        problems.append("an error that nobody foresaw")
    if (
        code
        and "[" not in text
        and '"error"' not in text
        and "NOT in order" not in text
        and '"ok"' not in text
    ):
        problems.append("no error code")
    return f"{problems}\n{case.arguments}\n{str(case.files)[:1500]}\n{text[:1500]}" if problems else ""


def campaign(desk: Desk, count: int, seed: int) -> Counter[tuple[str, int]]:
    """Run the cases, fail at the first that goes wrong, and count how they ended."""
    ends: Counter[tuple[str, int]] = Counter()
    for case in cases(count, seed):
        code, printed = desk.run_here(case)
        assert not (problem := verdict(case, desk, code, printed)), problem
        ends[case.family, code] += 1
    return ends


@pytest.mark.parametrize(
    ("count", "seed"), [(1_000, 11), pytest.param(20_000, 12, marks=pytest.mark.slow)], ids=["1000", "20000"]
)
def test_malformed_inputs_end_with_a_code_and_without_a_secret(desk: Desk, count: int, seed: int) -> None:
    ends = campaign(desk, count, seed)
    assert sum(ends.values()) == count
    for family in ("csv", "yaml", "json", "flags"):
        assert sum(n for (name, _), n in ends.items() if name == family) >= count / 10
    assert ends["csv", 0] > count / 10, "too few tables got as far as a release"
    assert ends["yaml", 2] > count / 10 and ends["flags", 2] > count / 20


@pytest.mark.parametrize(
    ("count", "seed"), [(10, 13), pytest.param(200, 14, marks=pytest.mark.slow)], ids=["10", "200"]
)
def test_malformed_inputs_to_real_processes(desk: Desk, count: int, seed: int) -> None:
    chosen = [case for case in cases(3 * count, seed) if not any("\0" in part for part in case.arguments)]
    random.Random(seed).shuffle(chosen)
    for case in chosen[:count]:
        code, printed = desk.run_apart(case)
        assert not (problem := verdict(case, desk, code, printed)), problem


def test_a_secret_would_be_found_wherever_it_is(desk: Desk) -> None:
    case = Case("csv", list(RELEASE), {"data.csv": f"{','.join(COLUMNS)}\n{WORD},F,1,,true\n".encode()})
    code, printed = desk.run_here(case)
    assert code == 0 and leaks(case, desk.folder, printed) == []
    assert leaks(case, desk.folder, printed + SECRETS[0]) != []
    for name in ("tmp/x", "out/notes.txt", "people.ledger.payloads/9.bin", f"{WORD}.txt"):
        (desk.folder / name).write_bytes(b"x" + (SECRETS[0] if WORD not in name else b""))
        assert leaks(case, desk.folder, printed) != [], name
        (desk.folder / name).unlink()
    assert leaks(case, desk.folder, printed) == []
