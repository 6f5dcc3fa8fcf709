"""The files of a container say what the how-to promises; they are read here, because no engine is needed for that."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage of the Dockerfile."""
    text = re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "Dockerfile").read_text())
    lines = [line for line in re.sub(r"\\\n", " ", text).splitlines() if line.strip()]
    found: list[list[tuple[str, str]]] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest.strip()))
    return found


def last(word: str) -> list[str]:
    """Instructions of one kind in the stage that becomes the image."""
    return [rest for name, rest in stages()[-1] if name == word]


def test_the_image_runs_as_nobody_in_particular_and_writes_only_its_state() -> None:
    assert last("USER") == ["10001:0"], "a number, so that platforms can see that it is not root; group 0"
    assert last("WORKDIR") == ["/state"] and last("VOLUME") == ['["/state"]']
    [state] = last("RUN")
    assert "chgrp 0 /state" in state and "chmod g=u /state" in state
    words = [name for name, _ in stages()[-1]]
    assert words.index("USER") > words.index("RUN"), "nothing is run as root by whoever starts the image"
    variables = dict(one.split("=", 1) for rest in last("ENV") for one in shlex.split(rest))
    assert variables["PYTHONDONTWRITEBYTECODE"] == "1"
    assert variables["HOME"] == "/tmp" and variables["XDG_CACHE_HOME"].startswith("/tmp/")


def test_the_image_has_what_was_locked_and_nothing_of_the_folder_it_was_built_in() -> None:
    built, image = stages()
    for stage in (built, image):
        [base] = [rest for name, rest in stage if name == "FROM"]
        assert re.match(r"python:3\.\d+-slim\b", base), base
        assert not [name for name, _ in stage if name == "ADD"], "nothing is fetched at a build but packages"
    assert last("COPY") == ["--from=build /opt/hush /opt/hush"]
    copied = [rest.split() for name, rest in built if name == "COPY"]
    for *sources, _ in copied:
        for source in sources:
            assert source != "." and (ROOT / source).exists(), source
    installed = " ".join(rest for name, rest in built if name == "RUN")
    assert "--constraint constraints.txt" in installed and "requirements-serve.lock" in installed
    assert "hush selftest" in installed, "loops are compiled while the file system can be written"


def test_the_constraints_of_the_build_are_plain_versions() -> None:
    """What the RUN line makes of the lock: a version for each package, which pip takes as a constraint."""
    lines = [
        re.sub(r"\[[a-z,-]*\]", "", re.sub(r" *\\$", "", line))
        for line in (ROOT / "requirements-serve.lock").read_text().splitlines()
        if re.match(r"[A-Za-z0-9]", line)
    ]
    assert lines and all(re.fullmatch(r"[A-Za-z0-9._-]+==[^\s\\]+( ;.*)?", line) for line in lines)
    names = {line.partition("==")[0] for line in lines}
    assert {"fastapi", "uvicorn", "polars", "numpy"} <= names


def test_the_image_is_asked_whether_it_lives_where_the_service_answers() -> None:
    from hushtable.service import ROUTES

    [asked] = last("HEALTHCHECK")
    assert f"127.0.0.1:{last('EXPOSE')[0]}{ROUTES['health'].path}" in asked
    assert last("ENTRYPOINT") == ['["hush"]'] and last("CMD") == ['["serve", "--config", "/state/hush.toml"]']


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def ours(composed: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in composed["services"].items() if one.get("image") == "hushtable"}


def test_every_container_of_ours_has_no_right_that_it_does_not_need(composed: dict[str, Any]) -> None:
    assert set(ours(composed)) == {"web", "worker"}
    for name, one in ours(composed).items():
        assert one["read_only"] is True and one["tmpfs"] == ["/tmp"], name
        assert one["cap_drop"] == ["ALL"] and "no-new-privileges:true" in one["security_opt"]
        assert re.fullmatch(r"\$\{HUSH_USER:-\d+\}:0", one["user"]), "any user id, group 0"
        assert not {"privileged", "cap_add", "devices", "network_mode", "pid"} & set(one), name


def test_only_the_worker_gets_at_the_data_and_nobody_reaches_the_worker(composed: dict[str, Any]) -> None:
    web, worker = composed["services"]["web"], composed["services"]["worker"]
    assert [one for one in worker["volumes"] if ":/secret" in one] and worker["volumes"][-1].endswith(":ro")
    assert web["volumes"] == ["state:/state"], "the web knows no address or password of the data"
    assert web["command"][0] == "serve" and worker["command"][0] == "worker"
    assert worker["command"][-1].startswith("/secret/") and "/secret" not in str(web)
    assert worker["networks"] == ["back"] and composed["networks"]["back"]["internal"] is True
    assert not [name for name, one in composed["services"].items() if name != "town" and "ports" in one]
    assert "environment" not in web and "environment" not in worker


def test_what_is_stopped_gets_the_time_that_it_needs(composed: dict[str, Any]) -> None:
    from hushtable.service.web.listening import GRACE

    assert int(composed["services"]["web"]["stop_grace_period"].rstrip("s")) > GRACE
    assert last("STOPSIGNAL") == ["SIGTERM"]
