"""Journeys in a real browser: what each role takes along, hands in, takes back, and decides with others."""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from opened import Opened, assert_readable
from persons import PATIENCE, SIZES, Person, Sitting, sized
from providers import Provider
from running import Running, Visitor, released_in, wait_for
from sites import SCHEMA, Site, people

import hushtable as ht
from hushtable.service import Role

ONE = [("phone", "light")]
OTHER = [("desktop", "dark")]
PASSWORD = "four made-up people"
D = "/datasets/people"
STEP = itertools.count(1)
"""Budgets are only raised: each journey raises them further."""


def unpacked(archive: Path) -> Path:
    """The one folder of an archive that was taken along."""
    target = archive.with_suffix(".unpacked")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(target)
    [folder] = target.iterdir()
    return folder


@sized(ONE)
def test_a_reader_takes_bundle_records_and_report_along(
    device: str, scheme: str, sits: Sitting, demo: Running, browser: Any
) -> None:
    rosa = sits("rosa", device, scheme)
    place = f"/datasets/town/releases/{released_in(demo.signed_in('rosa'))}"
    rosa.goes(place)
    release = ht.Release.load(unpacked(rosa.takes("text=The release (ZIP)")))
    records = pl.read_csv(rosa.takes("text=Records (CSV)"))
    assert set(records.columns) >= set(release.schema.names) - {"region"} and records.height > 1000
    report = rosa.takes("text=Report (HTML)")
    opened = Opened(browser, report)
    assert_readable(opened)
    assert release.card.ledger.head in opened.page.content()
    opened.page.close()
    rosa.looks("release-taken-along")


@sized(OTHER)
def test_an_analyst_asks_about_an_uploaded_file_and_releases_tables(
    device: str, scheme: str, sits: Sitting, demo: Running, tmp_path: Path
) -> None:
    anna = sits("anna", device, scheme)
    made = released_in(demo.signed_in("anna"))
    content = demo.signed_in("anna").http.get(f"/v1/datasets/town/releases/{made}/microdata").content
    file = tmp_path / "mine.csv"
    file.write_bytes(content)
    page = anna.goes("/datasets/town/check")
    page.click("text=Upload a file of your own")
    page.click("button:text-is('Upload')")
    page.wait_for_selector(".refused:has-text('No file was chosen')")
    page.reload()
    anna.ready()
    page.click("text=Upload a file of your own")
    page.set_input_files("#file", file)
    page.click("button:text-is('Upload')")
    page.wait_for_selector("#source-field option[selected]:has-text('your upload')", state="attached")
    assert page.input_value("#source-field select").startswith("upload:")
    page.fill("#epsilon", f"0.0{6 + SIZES.index((device, scheme))}")
    page.fill("#query", "COUNT WHERE sex = 'M'")
    page.wait_for_selector(f"#plan .tile-value:has-text('epsilon={page.input_value('#epsilon')}')")
    page.wait_for_selector("#plan .chart svg")
    anna.looks("check-upload")
    page.click("#plan button.main")
    page.wait_for_selector("#answer .verdict", timeout=PATIENCE)
    page = anna.goes("/datasets/town/release")
    page.fill("#marginals", "sex")
    page.fill("#budget", f"rho=0.000{3 + SIZES.index((device, scheme))}")
    page.wait_for_selector(f"#plan .tile-value:has-text('{page.input_value('#budget')}')")
    page.click("#plan button.main")
    page.wait_for_selector("#answer .job:has-text('Handed in')")
    assert page.locator("progress").count() == 0, "an analyst sees no rounds"
    anna.looks("release-handed-in")
    page.click("#answer .good a", timeout=PATIENCE)
    anna.ready()
    page.wait_for_selector("#explorer table")
    assert page.locator("button:has-text('Publish')").count() == 0
    anna.looks("release-of-an-analyst")


@sized(OTHER)
def test_a_curator_raises_the_budget_changes_members_and_sets_a_release_time(
    device: str, scheme: str, sits: Sitting, demo: Running
) -> None:
    clara = sits("clara", device, scheme)
    page = clara.goes("/datasets/town/budget")
    page.on("dialog", lambda dialog: dialog.accept())
    pure = 4 + next(STEP)
    raised = f"epsilon={10 + pure},delta=1e-9,pure={pure}"
    page.fill("#raise-budget", "epsilon=1,delta=1e-9,pure=1")
    page.click("button:text-is('Raise')")
    page.wait_for_selector(".said .refused:has-text('budget.')")
    clara.looks("budget-refused")
    page.fill("#raise-budget", raised)
    with page.expect_navigation():
        page.click("button:text-is('Raise')")
    clara.ready()
    assert f"epsilon={pure} and" in page.inner_text(".tiles li:nth-child(2)")
    for role in ("auditor", "reader"):
        page.fill("#member-person", "rosa")
        page.select_option("#member-role", role)
        with page.expect_navigation():
            page.click("text=Set the role")
        clara.ready()
        assert page.locator("li:has-text('rosa') .tag").inner_text() == role
    program = demo.signed_in("clara").program()
    handed = program.spend("/v1/datasets/town/releases", {"order": 1, "budget": "rho=0.0004"})
    program.done(handed)
    made = program.http.get(handed.headers["location"]).json()["made"]
    page = clara.goes(f"/datasets/town/releases/{made}")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    page.fill("#at", tomorrow.strftime("%Y-%m-%dT%H:%M"))
    with page.expect_navigation():
        page.click("button:has-text('Publish')")
    clara.ready()
    assert "Published, for readers from" in page.inner_text("main form")
    clara.looks("release-time")
    rosa = sits("rosa", device, scheme)
    link = f"main a[href$='{made}']"
    assert rosa.goes("/datasets/town").locator(link).count() == 0
    assert "There is no such release." in rosa.goes(f"/datasets/town/releases/{made}").inner_text("main")
    sooner = program.http.post(f"/v1/datasets/town/releases/{made}/publish", json={"at": time.time() + 2})
    assert sooner.status_code == 200, sooner.text
    assert rosa.goes("/datasets/town").locator(link).count() == 0
    wait_for(lambda: rosa.goes("/datasets/town").locator(link).count() == 1)


@sized(ONE)
def test_an_auditor_reads_a_card_and_takes_configuration_deeds_and_proofs(
    device: str, scheme: str, sits: Sitting
) -> None:
    audrey = sits("audrey", device, scheme)
    page = audrey.goes("/datasets/town")
    page.click(".cards h2 >> nth=-1 >> a")
    audrey.ready()
    assert "Every number" in page.inner_text("main") or "noise" in page.inner_text("main")
    assert page.locator("form[hx-post]").count() == 0
    assert page.locator("#release").inner_text() == "About this release"
    named = page.eval_on_selector_all("[id]", "all => all.map((one) => one.id)")
    assert len(named) == len(set(named)), "every place has a name of its own"
    audrey.looks("release-auditor")
    page = audrey.goes("/datasets/town/budget")
    told = json.loads(audrey.takes("text=Configuration (JSON)").read_text())
    assert told["slots"] is True and told["largest_rows"] == 100_000
    deeds = json.loads(audrey.takes("text=Who did what (JSON)").read_text())["items"]
    assert {"action", "outcome", "at"} <= set(deeds[0])
    head = page.inner_text("#verify ~ dl .hash")
    folder = unpacked(audrey.takes("a[aria-label^='Proof of entry'] >> nth=-1"))
    done = subprocess.run(
        [sys.executable, "-I", str(folder / "verify.py"), head], capture_output=True, text=True
    )
    assert done.returncode == 0 and "Proven: entry" in done.stdout, done.stderr
    assert (folder / "notes" / "residual.md").exists()
    assert len(list((unpacked(audrey.takes("text=Proof of the last entry")) / "notes").iterdir())) > 20
    assert audrey.complaints == []


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[tuple[Site, Running]]:
    """Two curators who decide together, slots of sixteen seconds, and sign-in at a provider as well."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Site(
        tmp_path_factory.mktemp("journeys"),
        budget=ht.ApproxDP(epsilon=50, delta="1e-9", pure=20),
        settings={"address": f"http://127.0.0.1:{port}", "port": port},
        tables={"people": people(2000)},
        dataset_settings="largest_rows = 5000000\ntwo_curators = true\n",
        schema="about: {title: People of three towns}\n" + SCHEMA,
    )
    file = made.folder / "hush.toml"
    file.write_text(
        f'{file.read_text()}[serve.oidc]\nissuer = "{provider.url}"\nclient = "hush"\ntitle = "the university"\n'
    )
    roles = {"clara": Role.CURATOR, "cleo": Role.CURATOR, "anna": Role.ANALYST, "rosa": Role.READER}
    for name, role in roles.items():
        made.let_in(name, role, grant="epsilon=5,delta=1e-9,pure=2" if name == "anna" else None)
        made.service.users.set_password(made.service.users.named(name), PASSWORD)
    with made.running(port=port) as running:
        running.password = PASSWORD
        yield made, running


Seat = Callable[..., Person]


@pytest.fixture
def seat(browser: Any, site: tuple[Site, Running], artefacts: Path) -> Seat:
    """Puts somebody of this site at a browser."""
    return lambda name, *size, **more: Person(browser, site[1], name, size, artefacts, **more)


@sized(ONE)
def test_an_analyst_takes_a_job_back_before_its_charge(
    device: str, scheme: str, seat: Seat, site: tuple[Site, Running]
) -> None:
    anna = seat("anna", device, scheme)
    page = anna.goes(f"{D}/release")
    page.wait_for_selector("#plan .tiles")
    before = page.inner_text(".left strong")
    page.fill("#budget", "rho=0.01")
    page.wait_for_selector("#plan .tile-value:has-text('rho=0.01')")
    page.click("#plan button.main")
    page.click("text=Cancel, if nobody has begun it")
    page.wait_for_selector("#job:has-text('Cancelled before any charge.')")
    anna.looks("job-cancelled")
    assert page.inner_text(".left strong") == before
    page = anna.goes(f"{D}/budget")
    assert "cancelled" in page.inner_text("#jobs ~ .scroll")
    anna.looks("budget-cancelled")
    assert ht.Ledger.open(site[0].ledger_of("people")).spent("anna") == ht.privacy.Cost.ZERO


@sized(OTHER)
def test_a_curator_watches_the_rounds_of_a_release(device: str, scheme: str, seat: Seat) -> None:
    clara = seat("clara", device, scheme)
    page = clara.goes(f"{D}/release")
    page.wait_for_selector("#plan .tiles")
    page.select_option("#strategy", "aim")
    page.fill("#budget", f"rho=0.0{1 + SIZES.index((device, scheme))}")
    page.wait_for_selector(f"#plan .tile-value:has-text('{page.input_value('#budget')}')")
    page.click("#plan button.main")
    page.wait_for_selector("#rounds", timeout=PATIENCE)
    assert float(page.get_attribute("#rounds", "max")) >= 1
    clara.looks("live-rounds")
    page.click("#answer .good a", timeout=PATIENCE)
    clara.ready()
    page.wait_for_selector("#explorer table")


@sized(OTHER)
def test_two_curators_decide_together(
    device: str, scheme: str, seat: Seat, site: tuple[Site, Running]
) -> None:
    where, running = site
    clara, cleo = seat("clara", device, scheme), seat("cleo", device, scheme)
    for person in (clara, cleo):
        person.page.on("dialog", lambda dialog: dialog.accept())
    number = next(STEP)
    raised = f"epsilon={60 + 2 * number},delta=1e-9,pure={20 + number}"
    for wanted in ("epsilon=99,delta=1e-9,pure=60", raised):
        page = clara.goes(f"{D}/budget")
        page.fill("#raise-budget", wanted)
        with page.expect_navigation():
            page.click("button:text-is('Raise')")
        clara.ready()
    limit, shown = ".tiles li:nth-child(2)", f"epsilon={20 + number} and"
    assert shown not in page.inner_text(limit)
    waiting = "#proposals ~ .cards li:has-text('proposed by clara, open')"
    assert page.locator(waiting).count() == 2
    assert page.locator("button:text-is('Agree')").count() == 0, "nobody agrees to their own"
    clara.looks("proposals-own")
    page = cleo.goes(f"{D}/budget")
    cleo.looks("proposals-second")
    with page.expect_navigation():
        page.click(f"{waiting} >> nth=1 >> button:text-is('Reject')")
    cleo.ready()
    with page.expect_navigation():
        page.click(f"{waiting} >> button:text-is('Agree')")
    cleo.ready()
    assert shown in page.inner_text(limit) and page.locator(waiting).count() == 0
    assert "rejected" in page.inner_text("#decided ~ .cards")
    program = Visitor(running.url, where.tokens["clara"])
    handed = program.spend(
        "/v1/datasets/people/releases", {"order": 1, "budget": "rho=0.001"}, f"for two {number}"
    )
    program.done(handed)
    made = program.http.get(handed.headers["location"]).json()["made"]
    page = clara.goes(f"{D}/releases/{made}")
    page.fill("#at", (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M"))
    with page.expect_navigation():
        page.click("button:has-text('Publish')")
    clara.ready()
    assert page.url.endswith("/budget#proposals")
    page = cleo.goes(f"{D}/budget")
    with page.expect_navigation():
        page.click(f"{waiting}:has-text('Publish a release') >> button:text-is('Agree')")
    page = cleo.goes(f"{D}/releases/{made}")
    assert "Published, for readers from" in page.inner_text("main form")
    rosa = seat("rosa", device, scheme)
    assert "Nothing is released yet that you may see." in rosa.goes(D).inner_text("main")
    rosa.looks("explore-nothing")


@sized(ONE)
def test_somebody_signs_in_at_the_provider(device: str, scheme: str, seat: Seat, provider: Provider) -> None:
    olga = seat("olga", device, scheme, provider=provider.url)
    assert olga.page.inner_text(".who a") == "olga" and "People of three towns" in olga.page.inner_text(
        "main"
    )
    olga.looks("datasets-by-provider")
    page = olga.goes(f"{D}/budget")
    assert page.locator(".tiles").count() == 1
    assert provider.codes == {}, "the code was used up"
    olga.leaves()
