"""Results appear whole or not at all, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hushtable.outputs import can_make, can_write, is_taken, whole_file, whole_folder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_takes_its_place_only_when_all_was_written(tmp_path: Path) -> None:
    place = tmp_path / "a.csv"
    with pytest.raises(KeyboardInterrupt), whole_file(place) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert names(tmp_path) == []
    with whole_file(place, mode=0o600) as file:
        file.write(b"whole")
        assert not place.exists()
    assert place.read_bytes() == b"whole" and names(tmp_path) == ["a.csv"]
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_folder_takes_its_place_only_when_all_was_written(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    with pytest.raises(OSError, match="full"), whole_folder(place) as folder:
        (folder / "part").touch()
        raise OSError("full")
    assert names(tmp_path) == ["out"] and names(place) == []
    with whole_folder(place) as folder:
        (folder / "part").touch()
        assert names(place) == []
    assert names(place) == ["part"] and names(tmp_path) == ["out"]


def test_a_folder_never_replaces_one_that_was_filled_meanwhile(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with pytest.raises(OSError), whole_folder(place) as folder:
        (folder / "mine").touch()
        place.mkdir()
        (place / "theirs").touch()
    assert names(place) == ["theirs"] and names(tmp_path) == ["out"]


KILLED = """
import os, signal, sys
from pathlib import Path
from hushtable.outputs import whole_file, whole_folder
with {how}(Path("out")) as made:
    {write}
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("how", "write"),
    [("whole_file", "made.write(b'half')"), ("whole_folder", "(made / 'part').touch()")],
    ids=["file", "folder"],
)
def test_what_a_killed_process_left_is_removed_by_the_next(how: str, write: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(how=how, write=write)], cwd=tmp_path, check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert len(names(tmp_path)) == 1 and "out" not in names(tmp_path)
    with whole_file(tmp_path / "other") as file:
        file.write(b"")
    assert len(names(tmp_path)) == 2, "what was made for another place is left alone"
    with whole_file(tmp_path / "out") as file:
        file.write(b"whole")
    assert names(tmp_path) == ["other", "out"]


def test_work_in_progress_of_others_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "out"
    with whole_folder(place) as first:
        (first / "first").touch()
        with pytest.raises(ZeroDivisionError), whole_folder(place) as second:
            (second / "second").touch()
            raise ZeroDivisionError
        assert names(first) == ["first"]
    assert names(place) == ["first"]


def test_odd_places_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    odd = [
        "missing/x",
        "file/x",
        "loop",
        "loop/x",
        "dangling",
        "a\0b",
        "x" * 300,
        os.fsdecode(b"\xff"),
        "\ud800",
    ]
    for name in odd:
        assert not can_make(tmp_path / name), name
    assert not can_make("/proc/x") and not can_write("")
    assert can_make(tmp_path / ("x" * 255)) and can_make(tmp_path / "file")
    assert can_write(tmp_path / "file") and not can_write(tmp_path / "pipe") and not can_write(tmp_path)
    assert can_write(tmp_path / "new" / "folders" / "x", parents=True)
    assert not can_write(tmp_path / "file" / "folders" / "x", parents=True)
    assert is_taken(tmp_path / "loop") and not is_taken(tmp_path / "missing")
    assert names(tmp_path) == ["dangling", "file", "loop", "pipe"]
