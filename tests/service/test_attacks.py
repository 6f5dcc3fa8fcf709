"""What somebody may try: keys of others, names that are scripts, pages that lead away, a connection without TLS."""

from __future__ import annotations

import datetime as dt
import io
import ipaddress
import re
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import quote

import httpx
import polars as pl
import pytest
from inside import Inside
from running import started
from sites import Site

import hushtable as ht
from hushtable.service import Role
from hushtable.service.shelf import KEPT_UPLOADS

P = "/v1/datasets/people"
HOSTILE = "</script><img src=x onerror=alert(1)>"
BUDGET = ht.ApproxDP(epsilon=50, delta="1e-9", pure=20)
SHARE = "epsilon=10,delta=1e-9,pure=5"


def test_a_guessed_idempotency_key_is_of_no_use(tmp_path: Path) -> None:
    """The same key of somebody else, of another dataset or of another route is another job."""
    site = Site(tmp_path, settings={"slots": False})
    for name in ("anna", "amir"):
        site.let_in(name, Role.ANALYST, grant="epsilon=1")
    inside = Inside(site)
    asked = {"query": "COUNT", "tau": 40, "budget": "epsilon=0.1"}
    own = {name: {**asked, "synthetic": {"upload": site.upload(name)}} for name in ("anna", "amir")}
    first = inside.spend("anna", f"{P}/checks", own["anna"], "guessed")
    inside.work()
    secret = inside.ask("anna", "GET", f"{first.headers['location']}/result")
    assert secret.status_code == 200
    stolen = inside.spend("amir", f"{P}/checks", own["anna"], "guessed")
    assert stolen.json()["code"] == "upload.absent", "the file of somebody else is absent"
    mine = inside.spend("amir", f"{P}/checks", own["amir"], "guessed")
    assert mine.status_code == 202 and mine.json()["id"] != first.json()["id"]
    assert inside.ask("amir", "GET", f"{first.headers['location']}/result").status_code == 404
    inside.work()
    ledger = ht.Ledger.open(site.ledger_of("people"))
    assert ledger.spent("amir") == ledger.spent("anna") == ht.PureDP("0.1").limit
    again = inside.spend("anna", f"{P}/checks", own["anna"], "guessed")
    assert again.content == secret.content and ledger.spent("anna") == ht.PureDP("0.1").limit


def packed_of(table: pl.DataFrame) -> bytes:
    """A Parquet file, packed small."""
    file = io.BytesIO()
    table.write_parquet(file, compression="zstd")
    assert len(file.getvalue()) < 10_000
    return file.getvalue()


def test_a_small_file_with_billions_of_values_is_refused_and_only_the_newest_files_are_kept(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, settings={"slots": False, "upload_megabytes": 1})
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside, place = Inside(site), f"{P}/synthetic"
    packed = {"content-type": "application/vnd.apache.parquet"}
    bomb = io.BytesIO()
    pl.select(pl.repeat("F", 3_000_000).alias("sex")).write_parquet(bomb)
    assert len(bomb.getvalue()) < 100_000
    long = pl.repeat("F" * 20_000, 1000, eager=True).alias("sex").to_frame()
    lists = pl.select(pl.lit([["F"] * 1000]).alias("sex"))
    for content, code in (
        (bomb.getvalue(), "upload.too-many-values"),
        (packed_of(long), "upload.too-many-values"),
        (packed_of(pl.DataFrame({"sex": [b"F" * 500_000] * 3})), "upload.too-many-values"),
        (packed_of(lists), "upload.format"),
        (packed_of(pl.DataFrame({"sex": [{"a": "F"}]})), "upload.format"),
        (b"PAR1 is not enough", "upload.format"),
    ):
        answer = inside.ask("anna", "POST", place, content=content, headers=packed)
        assert (answer.status_code, answer.json()["code"]) == (422, code)
    born = [dt.date(2000, 1, 1)] * 100_000
    many = pl.DataFrame({"sex": ["F", None] * 50_000, "a.b": list(range(100_000)), "born": born})
    file = io.BytesIO()
    many.with_columns(pl.col("sex").cast(pl.Categorical).alias("town")).write_parquet(file)
    assert inside.ask("anna", "POST", place, content=file.getvalue(), headers=packed).status_code == 201
    sent = [
        inside.ask("anna", "POST", place, content=b"sex\nF\n", headers={"content-type": "text/csv"}).json()
        for _ in range(KEPT_UPLOADS + 3)
    ]
    kept = [one["id"] for one in inside.ask("anna", "GET", place).json()["items"]]
    assert sorted(kept) == sorted(one["id"] for one in sent)[3:]
    assert sorted(file.stem for file in (tmp_path / "state" / "synthetic").iterdir()) == sorted(kept)


def test_a_large_upload_makes_its_own_slot_longer(tmp_path: Path) -> None:
    """Were it not, one person's file would overrun a slot, and slots of everybody stay longer."""
    site = Site(tmp_path)
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside, lengths = Inside(site), []
    for rows in (500, 200_000):
        asked = {"query": "COUNT", "tau": 40, "budget": "epsilon=0.1"}
        upload = site.upload("anna", rows=rows)
        handed = inside.spend("anna", f"{P}/checks", {**asked, "synthetic": {"upload": upload}})
        job = site.service.jobs.get("people", handed.json()["id"])
        lengths.append(job.seconds)
    assert lengths[1] > lengths[0]


def test_a_plan_that_would_keep_a_process_busy_is_refused_at_once(tmp_path: Path) -> None:
    names = [f"a{k}" for k in range(12)]
    schema = "attributes:\n" + "".join(
        f"  {name}: {{type: integer, bounds: [0, 19], width: 1}}\n" for name in names
    )
    rows = pl.DataFrame({name: [1] for name in names})
    site = Site(tmp_path, settings={"slots": False}, tables={"people": rows}, schema=schema, budget=BUDGET)
    site.let_in("anna", Role.ANALYST, grant=SHARE)
    inside, begun = Inside(site), time.monotonic()
    large = {"order": 6, "budget": "rho=0.01", "strategy": "residual-planner"}
    for path in ("plan", "releases"):
        answer = inside.spend("anna", f"{P}/{path}", large)
        assert (answer.status_code, answer.json()["code"]) == (422, "request.too-many-cells")
    choice = inside.spend("anna", f"{P}/choices", {"orders": [1, 6], "budget": "rho=0.01"})
    assert choice.json()["code"] == "request.too-many-cells"
    assert time.monotonic() - begun < 30


@pytest.fixture(scope="module")
def scripted(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    """A dataset whose categories and labels are scripts, released and published."""
    schema = f"""
attributes:
  kind: {{type: categorical, values: [a, {HOSTILE!r}], label: {HOSTILE!r}}}
  sex: {{type: categorical, values: [F, M]}}
"""
    table = pl.DataFrame({"kind": ["a", HOSTILE] * 50, "sex": ["F", "M"] * 50})
    site = Site(
        tmp_path_factory.mktemp("scripted"),
        schema=schema,
        tables={"people": table},
        budget=BUDGET,
        settings={"slots": False},
    )
    site.let_in("clara", Role.CURATOR)
    site.service.users.set_password(site.service.users.named("clara"), "a long password")
    inside = Inside(site)
    body = {"order": 2, "budget": "rho=0.1", "strategy": "residual-planner"}
    inside.made("clara", f"{P}/releases", body)
    return inside


def test_names_of_categories_are_never_markup(scripted: Inside) -> None:
    release = scripted.ask("clara", "GET", f"{P}/releases").json()["items"][0]["id"]
    with scripted.client() as client:
        signed = client.post("/v1/sign-in", json={"name": "clara", "password": "a long password"})
        assert signed.status_code == 200
        places = [f"/datasets/people/{end}" for end in ("", "check", "choose", "release", "budget", "schema")]
        places = [place.rstrip("/") for place in places] + [f"/datasets/people/releases/{release}"]
        for place in places:
            page = client.get(place)
            assert page.status_code == 200 and page.headers["content-type"].startswith("text/html"), place
            assert HOSTILE not in page.text and "<img src=x" not in page.text, place
        told = client.get(f"{P}/releases/{release}/table", params={"attribute": ["kind"]})
        assert told.headers["content-type"] == "application/json" and HOSTILE in told.text
        assert told.headers["x-content-type-options"] == "nosniff"
        report = client.get(f"{P}/releases/{release}/report")
        assert report.headers["content-disposition"].startswith("attachment")
        assert HOSTILE not in report.text


@pytest.mark.parametrize(
    "target", ["//example.org", "https://example.org", "/\\example.org", "javascript:alert(1)"]
)
def test_no_address_leads_to_another_site(scripted: Inside, target: str) -> None:
    with scripted.client(follow_redirects=False) as client:
        for place in ("/", "/sign-in", "/v1/sign-in/oidc", "/datasets/people", "/account"):
            answer = client.get(place, params={"next": target, "return": target, "url": target})
            assert answer.headers.get("location", "/sign-in") in ("/sign-in", "/"), place
        form = {"name": "clara", "password": "a long password", "next": target}
        answer = client.post("/sign-in", params={"next": target}, data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert client.get("/" + quote(target, safe="")).status_code == 404


def test_pages_cannot_be_framed_and_load_nothing_from_elsewhere(scripted: Inside) -> None:
    page = scripted.client().get("/sign-in")
    assert page.headers["x-frame-options"] == "DENY"
    policy = page.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "form-action 'self'" in policy
    assert not re.search(r"(?:src|href)=\"(?:https?:)?//", page.text)


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of our own for loopback."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hush")])
    now = datetime.now(UTC)
    alternatives = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(alternatives, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    files[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    )
    return files


@pytest.mark.long
def test_a_sign_in_over_tls_has_a_secure_cookie_and_plain_http_gets_nothing(tmp_path: Path) -> None:
    files = certificate(tmp_path)
    site = Site(tmp_path, settings={"certificate": files[0].name, "key": files[1].name})
    site.service.users.add("clara", "a long password")
    words = ["--config", str(tmp_path / "hush.toml"), "--port", "0"]
    trusting = ssl.create_default_context(cafile=str(files[0]))
    with started(words, tmp_path / "log", verify=trusting) as running:
        assert running.url.startswith("https://")
        with httpx.Client(base_url=running.url, verify=trusting, trust_env=False) as client:
            answer = client.post("/v1/sign-in", json={"name": "clara", "password": "a long password"})
            cookie = answer.headers["set-cookie"]
            assert cookie.startswith("__Host-hush=") and "Secure" in cookie and "HttpOnly" in cookie
            assert answer.headers["strict-transport-security"] == "max-age=31536000"
            assert client.get("/v1/me").json()["name"] == "clara"
        with pytest.raises(httpx.HTTPError):
            httpx.get(running.url.replace("https", "http") + "/healthz", trust_env=False)
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{running.url}/healthz", trust_env=False)
