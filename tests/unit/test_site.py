"""A site of releases: what is listed, what is refused, and that nothing published vanishes."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.report import write_site
from hushtable.report.citation import Citation
from hushtable.report.view import View

SCHEMA = {
    "about": {"title": "People & <b>pets</b>", "source": "Office_1", "period": 2025, "unit": "people"},
    "attributes": {
        "sex": {"type": "categorical", "values": ["F", "</script><script>alert(1)</script>"]},
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
    },
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two releases of one ledger, in folders called 2024 and 2025."""
    folder = tmp_path_factory.mktemp("years")
    rows = pl.DataFrame({"sex": ["F", "?"] * 200, "age": list(range(80)) * 5})
    session = ht.Session.open(rows, schema=SCHEMA, ledger=folder / "l", budget=ht.ZCDP(1))
    for year in ("2024", "2025"):
        session.release(ht.Workload([("sex", "age")]), budget=ht.ZCDP("0.1")).save(folder / year)
    return folder


@pytest.fixture(scope="module")
def site(releases: Path) -> Path:
    write_site([releases / "2024", releases / "2025"], releases / "site", formats=["csv"])
    return releases / "site"


def test_the_list_for_programs_has_every_archive_with_its_hash(releases: Path, site: Path) -> None:
    listed = json.loads((site / "releases.json").read_text())
    assert [release["name"] for release in listed["releases"]] == ["2024", "2025"]
    for release in listed["releases"]:
        own = releases / release["name"]
        assert release["release_sha256"] == hashlib.sha256((own / "release.json").read_bytes()).hexdigest()
        assert release["ledger"]["head"] == ht.Release.load(own).card.ledger.head
        assert [file["format"] for file in release["downloads"]] == ["release", "csv"]
        for file in release["downloads"]:
            content = (site / file["path"]).read_bytes()
            assert file["sha256"] == hashlib.sha256(content).hexdigest() and file["bytes"] == len(content)


def test_the_archive_of_a_release_is_the_release(site: Path, releases: Path, tmp_path: Path) -> None:
    (releases / "2024" / "notes.txt").write_text("not part of the release")
    with zipfile.ZipFile(site / "2024" / "downloads" / "2024-release.zip") as archive:
        archive.extractall(tmp_path)
    found = ht.Release.load(tmp_path / "2024")
    assert found.table("sex").equals(ht.Release.load(releases / "2024").table("sex"))
    assert not (tmp_path / "2024" / "notes.txt").exists()


@pytest.mark.long
def test_the_same_releases_make_the_same_bytes(site: Path, releases: Path, tmp_path: Path) -> None:
    write_site([releases / "2024", releases / "2025"], tmp_path / "again", formats=["csv"])
    ours = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = tmp_path / "again"
    assert ours == {p.relative_to(again): p.read_bytes() for p in again.rglob("*") if p.is_file()}


def test_nothing_runs_but_the_files_of_the_site_and_no_address_leads_elsewhere(site: Path) -> None:
    for page in (site / "index.html", site / "2024" / "index.html"):
        text = page.read_text()
        assert re.search("script-src 'self' file:; style-src 'self' file:;", text)
        runs = re.findall(r"<script(?! type=\"application/)([^>]*)>", text)
        assert all(re.fullmatch(r' src="(\.\./)?assets/[a-z]+\.js"', found) for found in runs)
        assert not re.search(r"\son[a-z]+=|<style|\sstyle=", text)
        links = re.findall(r'(?:href|src)="([^"]*)"', text)
        assert links and not [link for link in links if "//" in link]
        assert "<script>alert" not in text and "People &amp; &lt;b&gt;pets" in text


@pytest.mark.long
def test_a_release_that_somebody_may_cite_does_not_vanish(site: Path, releases: Path) -> None:
    before = (site / "2025" / "index.html").read_bytes()
    with pytest.raises(HushtableError, match="has the release 2025, which would vanish") as refused:
        write_site([releases / "2024"], site)
    assert refused.value.code == "publish.would-vanish"
    assert (site / "2025" / "index.html").read_bytes() == before
    shutil.copytree(releases / "2025", releases / "2026")
    made = write_site([releases / year for year in ("2024", "2025", "2026")], site, formats=["csv"])
    assert [release.name for release in made.releases] == ["2024", "2025", "2026"]
    assert (site / "2026" / "index.html").exists()
    assert [path.name for path in releases.iterdir() if path.name.startswith(".")] == []
    write_site([releases / "2024", releases / "2025", releases / "2026"], site, formats=["csv"])
    shutil.rmtree(releases / "2026")


@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (["2024", "2024"], "publish.same-name", 2),
        (["nowhere"], "bundle.missing", 1),
        (["2024", "--out", "2025"], "publish.occupied", 2),
        (["2024", "--out", "no/such/folder"], "publish.not-written", 1),
        (["2024", "--format", "doc"], "export.format", 2),
        (["2024", "--language", "xx"], "schema.no-language", 2),
        ([], "usage.flags", 2),
    ],
)
def test_slips_are_refused_before_anything_is_written(
    words: list[str],
    code: str,
    exit_code: int,
    releases: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(releases)
    out = [] if "--out" in words else ["--out", "new"]
    assert run(["publish", *words, *out]) == exit_code
    assert f"[{code}]" in capsys.readouterr().err
    assert not (releases / "new").exists()


def test_a_citation_says_who_what_when_and_where_to_check_it(releases: Path) -> None:
    cite = Citation.of(View.open(releases / "2024"))
    card = ht.Release.load(releases / "2024").card
    assert cite.text.startswith(
        "Office_1. People & <b>pets</b>. 2025. Differentially private counts of people"
    )
    assert f"entry {card.ledger.entry} of the ledger l, head {card.ledger.head[:16]}." in cite.text
    assert r"author = {{Office\_1}}" in cite.bibtex and r"People \& <b>pets</b>" in cite.bibtex
    assert cite.bibtex.count("{") - cite.bibtex.count(r"\{") == cite.bibtex.count("}") - cite.bibtex.count(
        r"\}"
    )
    assert cite.dataset([])["identifier"] == card.ledger.head
