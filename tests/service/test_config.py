"""What may be wrong with a set-up: one clear sentence each."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from running import HUSH, wait_for
from sites import Site

from hushtable.errors import UsageError
from hushtable.service import ServeConfig, WorkerConfig

GOOD = '[serve]\n[serve.datasets.people]\nschema = "a.yaml"\nledger = "a.ledger"\nlargest_rows = 10\n'

RELEASE = {"order": 1, "budget": "epsilon=1", "strategy": "identity"}


def refused(tmp_path: Path, text: str, *, worker: bool = False) -> UsageError:
    file = tmp_path / "hush.toml"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        (WorkerConfig if worker else ServeConfig).load(file)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("[serve]\nprot = 80\n", "unknown key, prot", "Did you mean port?"),
        (GOOD + "shares = 1\n", "unknown key, datasets.people.shares", "share_answers"),
        (GOOD.replace("largest_rows = 10\n", ""), "lacks datasets.people.largest_rows", "Add a line"),
        ('[serve]\nport = "x"\n', "port is not as it should be", ""),
        ("[server]\n", "no table [serve]", "[serve]"),
        ("[serve\n", "cannot be read", "TOML"),
        ('[serve]\nhost = "0.0.0.0"\n', "no loopback address", "certificate"),
        ('[serve]\ncertificate = "a.pem"\n', "come together", "both"),
        ('[serve]\nproxies = ["office"]\n', "an address in proxies", "10.0.0.5"),
        ("[serve]\nprocesses = 2\n", "need PostgreSQL", "processes = 1"),
        ('[serve.oidc]\nissuer = "https://a"\nclient = "b"\n', "needs an address", "address"),
    ],
)
def test_a_configuration_is_refused_in_one_sentence(
    tmp_path: Path, text: str, message: str, fix: str
) -> None:
    error = refused(tmp_path, text)
    assert message in error.message and fix in error.fix


def test_the_worker_file_is_read_alike(tmp_path: Path) -> None:
    error = refused(tmp_path, '[worker]\nserve = "hush.toml"\ndate = 1\n', worker=True)
    assert "unknown key, date" in error.message and error.fix == "Did you mean data?"


def test_paths_are_from_the_folder_of_the_file_and_addresses_stay(tmp_path: Path) -> None:
    (tmp_path / "hush.toml").write_text('[serve]\ndatabase = "postgresql://h/d"\nfolder = "state"\n')
    config = ServeConfig.load(tmp_path / "hush.toml")
    assert config.database == "postgresql://h/d" and config.folder == str(tmp_path / "state")


def hush(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HUSH, *words], capture_output=True, text=True, timeout=120, check=False)


def test_a_port_in_use_and_a_missing_certificate_are_said_before_anything_starts(tmp_path: Path) -> None:
    site = Site(tmp_path)
    file = tmp_path / "hush.toml"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = hush("serve", "--config", str(file), "--port", str(port))
    assert done.returncode == 1 and f"Port {port}" in done.stderr and "serve.port" in done.stderr
    text = file.read_text().replace("[serve]\n", '[serve]\ncertificate = "none.pem"\nkey = "none.key"\n', 1)
    file.write_text(text)
    done = hush("serve", "--config", str(file), "--port", "0")
    assert done.returncode == 2 and "none.pem" in done.stderr and "Traceback" not in done.stderr
    site.service.storage.close()


def test_a_second_worker_on_one_file_is_refused(tmp_path: Path) -> None:
    site = Site(tmp_path)
    command = [*HUSH, "worker", "--config", str(tmp_path / "worker.toml")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
        try:
            wait_for(lambda: site.service.jobs.workers() == 1)
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        finally:
            first.terminate()
    assert done.returncode == 1 and "serve.second-worker" in done.stderr


def test_a_web_process_never_loads_the_session_or_the_kernel(tmp_path: Path) -> None:
    """It answers requests of each kind, and then looks at what Python has loaded."""
    site = Site(tmp_path, settings={"slots": False})
    from inside import Inside

    from hushtable.service import Role

    site.let_in("clara", Role.CURATOR)
    made = Inside(site).made(
        "clara", "/v1/datasets/people/releases", {"order": 2, "budget": "epsilon=1", "strategy": "identity"}
    )
    probe = f"""
import sys
from starlette.testclient import TestClient
from hushtable.service import Service, ServeConfig
from hushtable.service.web.application import application
client = TestClient(application(Service.open(ServeConfig.load({str(tmp_path / "hush.toml")!r}))))
client.headers["authorization"] = "Bearer {site.tokens["clara"]}"
base = "/v1/datasets/people"
for path in ("", "/ledger", "/ledger/verify", "/releases/{made}", "/releases/{made}/table?attribute=sex",
             "/releases/{made}/microdata", "/releases/{made}/report", "/remaining", "/jobs", "/deeds"):
    assert client.get(base + path).status_code == 200, (path, client.get(base + path).text)
check = {{"query": "COUNT", "synthetic": {{"release": "{made}"}}, "tau": 5, "budget": "epsilon=0.1"}}
assert client.post(base + "/plan", json={RELEASE!r}).status_code == 200
assert client.post(base + "/checks/plan", json=check).status_code == 200
assert client.post(base + "/checks", json=check, headers={{"idempotency-key": "a"}}).status_code == 202
seen = [name for name in sys.modules if name.startswith(("hushtable.kernel", "hushtable.session"))]
assert not seen, seen
"""
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_configuration_of_the_web_names_no_data(tmp_path: Path) -> None:
    Site(tmp_path)
    assert "data/people.csv" not in (tmp_path / "hush.toml").read_text()


def test_a_file_that_vanished_closes_its_dataset_with_a_clear_refusal(tmp_path: Path) -> None:
    from inside import Inside

    from hushtable.service import Role

    site = Site(tmp_path, settings={"slots": False})
    site.let_in("clara", Role.CURATOR)
    (tmp_path / "data" / "people.csv").unlink()
    inside = Inside(site)
    answer = inside.spend(
        "clara", "/v1/datasets/people/releases", {"order": 1, "budget": "epsilon=1", "strategy": "identity"}
    )
    assert (answer.status_code, answer.json()["code"]) == (503, "serve.data-not-open")
    assert inside.ask("clara", "GET", "/v1/datasets/people/configuration").json()["condition"] == "gone"


def test_a_file_that_vanishes_while_it_is_served_is_refused_without_its_place_and_opened_when_it_is_back(
    tmp_path: Path,
) -> None:
    from inside import Inside

    from hushtable.service import Role

    site = Site(tmp_path, settings={"slots": False})
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside, file = Inside(site), tmp_path / "data" / "people.csv"
    content = file.read_bytes()
    file.unlink()
    place, body = "/v1/datasets/people/releases", {**RELEASE, "budget": "epsilon=0.5"}
    handed = inside.spend("anna", place, body)
    inside.work()
    refused = inside.ask("anna", "GET", f"{handed.headers['location']}/result")
    assert (refused.status_code, refused.json()["code"]) == (503, "serve.data-unreadable")
    assert "people.csv" not in refused.text
    assert site.service.catalogue.named("people").ledger.spent("anna").xi == 0
    assert inside.spend("anna", place, body).json()["code"] == "serve.data-not-open"
    file.write_bytes(content)
    inside.worker.open_data()
    assert inside.made("anna", place, body)


def test_a_database_that_was_never_there_ends_the_service_with_its_sentence(tmp_path: Path) -> None:
    """A service that lost its database waits for it; one that never had it was told a wrong address."""
    Site(tmp_path)
    file = tmp_path / "hush.toml"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        address = f"postgresql://127.0.0.1:{taken.getsockname()[1]}/nothing"
        file.write_text(file.read_text().replace('database = "service.db"', f'database = "{address}"'))
        ended = hush("serve", "--config", str(file), "--port", "0")
    assert ended.returncode == 1
    lines = ended.stderr.splitlines()
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    assert logged and all("[serve.database]" in one["message"] for one in logged)
    said = [line.strip() for line in lines if not line.startswith("{")]
    assert said[0].endswith("has never answered since the service was started.")
    assert said[-1] == "[serve.never-reached]" and len(said) == 3
