"""What somebody does first who has installed the wheel and nothing else; ``make test-wheel`` runs it there.

    python -I smoke.py bare|report

``bare`` is an installation without extras: everything but the report works, and the report says what to install.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from importlib.metadata import requires, version
from importlib.resources import files
from pathlib import Path

HUSH = Path(sys.executable).with_name("hush")


def hush(*words: str, folder: Path, code: int = 0) -> str:
    """Run the installed command; what it printed."""
    done = subprocess.run([HUSH, *words], cwd=folder, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == code, f"hush {' '.join(words)} ended with {done.returncode}:\n{said[-3000:]}"
    return said


def write_own_file(folder: Path) -> None:
    draw = random.Random(5)
    rows = (f"{draw.choice(('clay', 'sand', 'loam'))},{draw.randrange(20, 400)}" for _ in range(1500))
    (folder / "mine.csv").write_text("soil,metres\n" + "\n".join(rows) + "\n", encoding="utf-8")


def review(schema: Path) -> None:
    text = (
        schema.read_text(encoding="utf-8").replace("reviewed: []\n", "").replace("unreviewed:", "reviewed:")
    )
    schema.write_text(text, encoding="utf-8")


def own_table(folder: Path) -> None:
    """The five commands of the README."""
    write_own_file(folder)
    hush("init", "mine.csv", "--out", "mine.yaml", folder=folder)
    review(folder / "mine.yaml")
    hush("ledger", "create", "mine.ledger", "--budget", "rho=0.5", folder=folder)
    known = ("--schema", "mine.yaml", "--ledger", "mine.ledger", "--order", "2", "--budget", "rho=0.1")
    hush("release", "mine.csv", *known, "--out", "tables", folder=folder)
    table = json.loads(hush("table", "tables", "soil", "--json", folder=folder))
    assert {"clay", "sand", "loam"} <= {str(row["soil"]) for row in table["rows"]}
    assert all(row["lower"] <= row["estimate"] <= row["upper"] for row in table["rows"])


def package_is_whole() -> None:
    """Files that are no modules came along, and nothing that belongs to the repository."""
    package = files("hushtable")
    for name in ("py.typed", "cli/town.yaml", "report/page.css", "service/web/pages/proofs/residual.md"):
        assert package.joinpath(name).is_file(), name
    assert any(p.name.endswith(".j2") for p in package.joinpath("report").iterdir())
    assert requires("hushtable"), "the wheel names no dependency"
    assert "site-packages" in str(package), f"not the installed copy: {package}"


def main(stage: str) -> None:
    package_is_whole()
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        assert version("hushtable") in hush("--version", folder=folder)
        if stage == "bare":
            own_table(folder)
            said = hush("report", "tables", folder=folder, code=1)
            assert "hushtable[report]" in said, said
        else:
            hush("demo", "--out", "demo", "--people", "5000", folder=folder)
            assert (folder / "demo" / "tables" / "report.html").stat().st_size > 100_000
            own_table(folder)
            assert (folder / "tables" / "report.html").exists()
    print(f"the wheel works ({stage})")


if __name__ == "__main__":
    main(sys.argv[1])
