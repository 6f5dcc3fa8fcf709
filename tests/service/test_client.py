"""``hushtable-client`` against a running service: same verbs, same answers, nothing paid for twice."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import httpx
import hushtable_client
import polars as pl
import pytest
from hushtable_client import Connection, ConnectionLost, Service, ServiceError, VersionMismatch
from hushtable_client.frames import frame_of
from running import Running, released_in

ROOT = Path(__file__).resolve().parents[2]

WOMEN = "COUNT WHERE sex = 'F'"


@pytest.fixture(scope="module")
def token(demo: Running) -> str:
    anna = demo.signed_in("anna")
    released_in(anna)
    made = anna.http.post("/v1/tokens", json={"label": "client", "scopes": ["read", "spend"]})
    return str(made.json()["token"])


@pytest.fixture(scope="module")
def town(demo: Running, token: str) -> hushtable_client.Dataset:
    return hushtable_client.connect(demo.url, token).dataset("town")


class Flaky(httpx.BaseTransport):
    """A network that loses the answer of every other request, after the service has had it."""

    def __init__(self) -> None:
        self.sent: list[httpx.Request] = []
        self._inner = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        answer = self._inner.handle_request(request)
        if len(self.sent) % 2:
            answer.close()
            raise httpx.ReadError("lost")
        return answer


def test_tables_ranges_and_quantiles_are_frames(town: hushtable_client.Dataset) -> None:
    release = town.releases()[-1]
    table = release.table("sex", "age", alpha=0.1)
    assert isinstance(table, pl.DataFrame) and {"estimate", "lower", "upper"} <= set(table.columns)
    assert release.table().height == 1
    assert release.range("age", 20, 64).height == 1
    assert release.quantile("age", [0.25, 0.5]).height == 2
    weights = [{"sex": "F", "weight": 1}, {"sex": "M", "weight": -1}]
    assert release.combine(weights).height == 1
    assert release.accuracy().height > 10
    assert release.to_dict()["card"]["charged"]["rho"] == "0.1"


def test_records_and_the_report_are_written_to_files(town: hushtable_client.Dataset, tmp_path: Path) -> None:
    release = town.releases()[-1]
    assert pl.read_csv(release.microdata(tmp_path / "r.csv"), infer_schema_length=0).height > 15_000
    assert release.microdata(tmp_path / "r.parquet").read_bytes()[:4] == b"PAR1"
    assert "<!DOCTYPE html>" in release.report(tmp_path / "r.html").read_text()[:200]


def test_a_plan_costs_nothing_and_a_release_what_it_said(town: hushtable_client.Dataset) -> None:
    before = town.remaining
    way = {"budget": "rho=0.0005", "strategy": "residual-planner"}
    plan = town.plan([["sex"], ["car"]], **way)
    assert town.remaining == before
    release = town.release([["sex"], ["car"]], **way, key="client-release")
    assert release.to_dict()["card"]["charged"] == plan["charged"]
    assert release.table("sex").height == 4
    again = town.release([["sex"], ["car"]], **way, key="client-release")
    assert again.id == release.id
    with pytest.raises(ServiceError) as refused:
        town.release([["sex"]], **way, key="client-release")
    assert (refused.value.code, refused.value.status) == ("request.key-reused", 422)


def test_a_lost_answer_is_asked_for_again_and_paid_for_once(
    demo: Running, token: str, town: hushtable_client.Dataset
) -> None:
    release, network = town.releases()[-1], Flaky()
    flaky = Service(Connection(demo.url, token, transport=network)).dataset("town")
    asked: dict[str, Any] = {"tau": "7%", "budget": "epsilon=0.01"}
    price = town.plan_check(WOMEN, release, **asked)["charged"]
    verdict = flaky.check(WOMEN, release, **asked)["verdicts"][0]
    keys = {r.headers["idempotency-key"] for r in network.sent if r.method == "POST"}
    assert len(keys) == 1 and sum(r.method == "POST" for r in network.sent) >= 2
    spends = [job for job in town.jobs("check") if job["price"] == price]
    assert len(spends) == 1
    free = town.check(WOMEN, release, **asked)["verdicts"][0]
    assert free["repeated"] and free["satisfied"] == verdict["satisfied"]
    assert verdict["sentence"].startswith(("Yes: ", "No: "))


def test_an_uploaded_file_can_be_asked_about(town: hushtable_client.Dataset, tmp_path: Path) -> None:
    records = town.releases()[-1].microdata(tmp_path / "records.csv")
    job = town.check(WOMEN, records, tau="9%", budget="epsilon=0.01", wait=False)
    assert job.kind == "check" and job.result()["verdicts"][0]["query"] == WOMEN
    assert job.state == "done"


def test_a_choice_is_begun_looked_at_and_finished(town: hushtable_client.Dataset) -> None:
    choice = town.choose(options=["- [district]\n", "- [district, education]\n"], budget="rho=0.001")
    assert choice.to_dict()["state"] == "open"
    assert choice.id in {one.id for one in town.choices()}
    taken = choice.finish(0)
    assert taken.table("district").height == 12
    other = town.choose(orders=[1, 2], budget="rho=0.0005")
    other.abandon()
    assert other.to_dict()["state"] == "abandoned"


def test_refusals_have_codes_and_say_what_to_do(
    demo: Running, token: str, town: hushtable_client.Dataset
) -> None:
    with pytest.raises(ServiceError) as refused:
        town.releases()[0].table("nothing")
    assert refused.value.code.startswith(("schema.", "table.")) and refused.value.fix
    with pytest.raises(ServiceError, match=r"auth\.(role|scope)"):
        town.ledger()
    with pytest.raises(ServiceError, match=r"dataset\.absent"):
        hushtable_client.connect(demo.url, token).dataset("hidden").to_dict()
    with pytest.raises(ServiceError, match=r"auth\.required"):
        hushtable_client.connect(demo.url, "hush_wrong")
    with pytest.raises(ServiceError, match="exhausted"):
        town.release(1, budget="rho=5", strategy="residual-planner")


def test_another_version_and_no_service_get_one_sentence(
    demo: Running, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hushtable_client.connection.__version__", "9.9.0")
    with pytest.raises(
        VersionMismatch, match=r"this client is for 9\.9\.0\. Type pip install 'hushtable-client=="
    ):
        hushtable_client.connect(demo.url, token)
    monkeypatch.setattr("hushtable_client.connection.TRIES", 2)
    with pytest.raises(ConnectionLost, match="does not answer"):
        hushtable_client.connect("http://127.0.0.1:9", token)


def test_the_client_needs_httpx_alone() -> None:
    import ast

    allowed = {"httpx", "hushtable_client"} | set(sys.stdlib_module_names)
    for file in (ROOT / "client" / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= allowed, file
    assert frame_of([{"a": 1}], library="rows") == [{"a": 1}]
    import hushtable

    assert hushtable_client.__version__ == hushtable.__version__
