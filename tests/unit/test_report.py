"""The public report: what it shows is what the bundle holds, in one file that needs nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from math import isclose
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import BundleError, WorkloadError
from hushtable.report import javascript, public_report, write_confidential_report, write_report
from hushtable.report.sections.error_map_section import error_map_data
from hushtable.report.sections.marginals_section import marginals_data
from hushtable.report.sections.tables_section import table_data
from hushtable.report.view import View


class Tags(HTMLParser):
    """Every start tag with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def bundle(
    tmp_path_factory: pytest.TempPathFactory, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> Path:
    """A release of all pairs, out of half of its ledger's budget."""
    folder = tmp_path_factory.mktemp("report")
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=folder / "town.ledger", budget=ht.ZCDP(1)
    )
    pairs = ht.Workload.all_marginals(small_schema, order=2)
    session.release(pairs, budget=ht.ZCDP("0.5"), strategy="residual-planner").save(folder / "out")
    return folder / "out"


def payload(html: str, name: str = "report-data") -> dict[str, dict[str, object]]:
    match = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_the_report_is_one_file_with_its_data_beside_it(bundle: Path) -> None:
    file = write_report(bundle).path
    assert file == bundle / "report.html"
    html = file.read_text(encoding="utf-8")
    assert len(html) < 2_000_000
    keys = {*payload(html)["specs"], *payload(html)["tables"]}
    assert keys <= {path.stem for path in (bundle / "report-data").glob("*.csv")}
    loads = [
        attributes
        for tag, attributes in Tags(html).found
        if tag in ("img", "link", "iframe") or "src" in attributes
    ]
    assert loads == []
    assert ht.Release.load(bundle).marginals, "a bundle with a report is still a bundle"


def test_the_same_bundle_gives_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    first = write_report(bundle, out=tmp_path / "a.html").path.read_bytes()
    assert write_report(bundle, out=tmp_path / "b.html").path.read_bytes() == first


def test_every_chart_has_a_sentence_and_every_id_is_its_own(bundle: Path) -> None:
    tags = Tags(public_report(bundle).html()).found
    charts = [a for tag, a in tags if "chart" in (a.get("class") or "").split()]
    assert len(charts) == len(payload(public_report(bundle).html())["specs"]) > 1
    assert all(a["role"] == "img" and len(a["aria-label"] or "") > 30 for a in charts)
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert dict(tags)["html"] == {"lang": "en"}
    assert all("scope" in a for tag, a in tags if tag == "th")
    labelled = {a["for"] for tag, a in tags if tag == "label"}
    assert {a["id"] for tag, a in tags if tag == "input"} == labelled
    named = {a["aria-labelledby"] for tag, a in tags if tag in ("section", "figure")}
    assert named <= set(ids) and len(named) > 10


def test_marginals_show_the_accuracy_of_the_release_and_count_cells_below_two_errors(bundle: Path) -> None:
    release = ht.Release.load(bundle)
    data = marginals_data(View.open(bundle))
    assert data["marginal"].to_list() == [" x ".join(names) for names in release.marginals]
    for row, names in zip(data.iter_rows(named=True), release.marginals, strict=True):
        table = release.table(*names)
        assert isclose(row["std"], table["std"][0])
        assert isclose(row["half_range"], float((table["upper"] - table["lower"]).median()) / 2)
        assert isclose(row["below"], sum(table["estimate"] < 2 * table["std"]) / table.height)


def test_the_map_is_symmetric_and_grey_where_nothing_was_released(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "l.ledger", budget=ht.ZCDP(1)
    )
    asked = ht.Workload([("age", "sex")])
    session.release(asked, budget=ht.ZCDP(1), strategy="residual-planner").save(tmp_path / "o")
    data = error_map_data(View.open(tmp_path / "o"))
    cells = {(row["first"], row["second"]): row for row in data.iter_rows(named=True)}
    assert len(cells) == 9
    assert cells["age", "sex"]["half_width"] == cells["sex", "age"]["half_width"] > 0
    assert cells["age", "age"]["half_width"] is not None
    assert cells["member", "age"]["measured"] == "not released"
    assert cells["member", "member"]["half_width"] is None


def test_microdata_outside_an_interval_are_marked(bundle: Path) -> None:
    view = View.open(bundle)
    table = view.release.table("sex")
    counts = {"F": round(table["estimate"][0]), "M": round(table["upper"][1]) + 5}
    records = pl.DataFrame({"sex": [label for label, n in counts.items() for _ in range(n)]})
    data = table_data(view, ("sex",), records)
    assert data["microdata"].to_list() == [counts["F"], counts["M"], 0]
    assert data["microdata_is"].to_list()[:2] == ["inside", "outside"]


def test_the_waterfall_adds_up_to_the_budget(bundle: Path) -> None:
    ledger = bundle.parent / "town.ledger"
    frames = public_report(bundle, ledger=ledger).data()
    steps = frames["budget-rho"]
    assert isclose(steps["share"].sum(), 1)
    assert isclose(steps.filter(pl.col("step") == "left")["amount"][0], 0.5, abs_tol=1e-9)
    assert steps["end"].to_list()[:-1] == steps["begin"].to_list()[1:]
    without = public_report(bundle).data()["budget-rho"]
    assert without.equals(steps), "the card keeps the account as it stood after the release"


def test_labels_cannot_break_out_of_the_page(tmp_path: Path) -> None:
    nasty = "</script><script>alert(1)</script>"
    schema = ht.Schema.from_dict(
        {"attributes": {nasty: {"type": "categorical", "values": ["<b>&", "'\"", nasty]}}}
    )
    frame = pl.DataFrame({nasty: ["<b>&"] * 50})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l.ledger", budget=ht.ZCDP(1))
    session.release(ht.Workload([(nasty,)]), budget=ht.ZCDP(1), strategy="residual-planner").save(
        tmp_path / "o"
    )
    html = public_report(tmp_path / "o").html()
    scripts = 4 + len(javascript.EXPLORER)  # data of charts and of tables, what draws charts, the page's own
    assert len(re.findall("<script", html)) == len(re.findall("</script", html)) == scripts
    assert "<b>" not in html


def test_what_is_invisible_in_labels_is_written_out_in_page_and_charts(tmp_path: Path) -> None:
    values = ["\x1b[31mred", "\u202eltr", "\u2028", "plain"]
    schema = ht.Schema.from_dict(
        {"attributes": {n: {"type": "categorical", "values": values} for n in ("a", "b")}}
    )
    frame = pl.DataFrame({"a": values * 9, "b": values * 9})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l.ledger", budget=ht.ZCDP(9))
    pairs = ht.Workload.all_marginals(schema, order=2)
    session.release(pairs, budget=ht.ZCDP(9), strategy="residual-planner").save(tmp_path / "o")
    html = public_report(tmp_path / "o").html()
    own = html[: html.index("<script>")]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u0085\u2028\u2029\u202a-\u202e\u2066-\u2069]", own)
    assert r'<th scope="row">\x1b[31mred</th>' in own and r'<th scope="row">\u202eltr</th>' in own
    assert [a["labels"] for a in payload(html, "explorer-data")["attributes"]] == [
        values
    ] * 2  # data stay as they are


def test_chosen_tables_replace_the_default_ones(bundle: Path) -> None:
    page = public_report(bundle, tables=[("age", "sex")])
    assert "counts-0-1" in page.data() and "counts-0" not in page.data()
    with pytest.raises(WorkloadError) as caught:
        public_report(bundle, tables=[("age", "sex", "member")])
    assert caught.value.code == "table.not-released"


def test_places_that_cannot_be_written_and_folders_without_a_release_are_refused(
    bundle: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError) as caught:
        write_report(bundle, out=tmp_path / "file" / "report.html")
    assert caught.value.code == "report.not-written"
    with pytest.raises(BundleError) as caught:
        write_report(tmp_path)
    assert caught.value.code == "bundle.missing"


@pytest.mark.long
@pytest.mark.parametrize(
    ("strategy", "reconstruct", "budget", "marginals", "rows"),
    [
        ("identity", "mle", ht.PureDP(1), [("age", "sex")], 600),
        ("residual-planner", "nonneg", ht.ZCDP(1), [("age", "sex")], 600),
        ("aim", "mle", ht.ZCDP(1), [("age", "sex"), ("member",)], 600),
        ("auto", "maxent", ht.ZCDP(1), [("age",), ("sex",)], 0),
        ("residual-planner", "mle", ht.ZCDP(1), [()], 600),
    ],
)
def test_every_kind_of_release_has_both_reports(
    strategy: str,
    reconstruct: str,
    budget: ht.privacy.Budget,
    marginals: list[tuple[str, ...]],
    rows: int,
    tmp_path: Path,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
) -> None:
    frame = small_frame.head(rows)
    session = ht.Session.open(frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=budget)
    release = session.release(
        ht.Workload(marginals), budget=budget, strategy=strategy, reconstruct=reconstruct
    )
    release.save(tmp_path / "out")
    page = public_report(tmp_path / "out", ledger=tmp_path / "a.ledger")
    assert ("rounds" in {section.key for section in page.sections}) == (strategy in ("aim", "auto"))
    assert len(page.data()["marginals"]) == len(marginals)
    frames = session.evaluate(release, confidential=True)
    assert write_confidential_report(tmp_path / "out", frames, release.card).path.exists()


def test_the_command_line_draws_both_reports_and_refuses_the_second_without_its_flag(
    bundle: Path, tmp_path: Path, small_frame: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    small_frame.write_csv(tmp_path / "data.csv")
    assert run(["report", str(bundle), "--out", str(tmp_path / "r.html"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {
        "report": str(tmp_path / "r.html"),
        "bytes": (tmp_path / "r.html").stat().st_size,
        "stamp": None,
    }
    against = [
        "report",
        str(bundle),
        "--against",
        str(tmp_path / "data.csv"),
        "--out",
        str(tmp_path / "c.html"),
    ]
    assert run(against) == 1
    assert "[report.not-private]" in capsys.readouterr().err and not (tmp_path / "c.html").exists()
    assert run([*against, "--confidential"]) == 0
    assert (tmp_path / "c-data" / "true-marginals.csv").stat().st_mode & 0o077 == 0
    assert run(["report", str(bundle), "--confidential"]) == 2
    assert run(["report", str(tmp_path)]) == 1


def test_a_damaged_cache_of_the_charts_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(javascript.vlc, "javascript_bundle", lambda snippet, vl_version: "draw('</script>')")
    made = javascript.vega()
    assert "</script" not in made and made.startswith("draw(")
    (kept,) = (tmp_path / "hushtable").iterdir()
    kept.write_text(made[:10])
    assert javascript.vega() == made == kept.read_text()


@pytest.mark.long
@pytest.mark.parametrize("library", ["altair", "jinja2", "vl_convert"])
def test_without_the_extra_a_report_is_refused_with_what_to_install(bundle: Path, library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None; import hushtable as ht\n"
        f"try: ht.report.write_report({str(bundle)!r})\n"
        "except ht.errors.BundleError as error: print(error.code, error.fix)\n"
        f"from hushtable.cli.app import run; print(run(['report', {str(bundle)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["report.not-installed Type pip install 'hushtable[report]'.", "1"]
    assert "report.not-installed" in done.stderr and "Traceback" not in done.stderr
