"""What people who come from other tools expect: frames, domains as JSON, readable objects."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import BudgetExhausted, RefusedError, SchemaError


@pytest.fixture(scope="module")
def release(
    tmp_path_factory: pytest.TempPathFactory, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> ht.Release:
    ledger = tmp_path_factory.mktemp("adapters") / "t.ledger"
    session = ht.Session.open(small_frame, schema=small_schema, ledger=ledger, budget=ht.ZCDP(1))
    pairs = ht.Workload.all_marginals(small_schema, order=2)
    return session.release(pairs, budget=ht.ZCDP(1), strategy="residual-planner")


@pytest.mark.long
def test_frames_of_every_kind_hold_the_same_table(release: ht.Release) -> None:
    table = release.table("sex", "age")
    assert release.to_polars("sex", "age").equals(table)
    assert pl.from_arrow(release.to_arrow("sex", "age")).equals(table)
    assert pl.from_pandas(release.to_pandas("sex", "age")).equals(table)


def test_the_long_frame_has_every_cell_of_every_table_once(release: ht.Release) -> None:
    long = release.to_polars()
    assert long.height == sum(release.table(*names).height for names in release.marginals)
    part = long.filter(pl.col("marginal") == "sex x member")
    table = release.table("sex", "member")
    assert part["estimate"].to_list() == table["estimate"].to_list()
    assert part["sex"].cast(pl.String).to_list() == table["sex"].to_list()
    assert part["member"].cast(pl.String).to_list() == [str(m).lower() for m in table["member"]]
    assert part["age"].is_null().all()


def test_a_domain_as_mbi_writes_it_becomes_a_schema_of_integer_codes(tmp_path: Path) -> None:
    file = tmp_path / "domain.json"
    file.write_text(json.dumps({"age": 3, "income>50K": 2}))
    schema = ht.Schema.from_domain(file)
    assert schema == ht.Schema.from_domain({"age": 3, "income>50K": 2})
    assert schema.names == ("age", "income>50K") and schema.sizes == (3, 2)
    assert schema.attributes["age"].values_of(2) == 2


@pytest.mark.parametrize("domain", [{}, {"age": 0}, {"age": True}, {"age": "3"}, {"age": 2.0}, {"age": None}])
def test_domains_that_are_none_are_refused(domain: dict[str, object]) -> None:
    with pytest.raises(SchemaError) as caught:
        ht.Schema.from_domain(domain)
    assert caught.value.code == "schema.domain"


def test_objects_have_readable_text_and_html_forms(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(
        small_frame,
        schema=small_schema,
        ledger=tmp_path / "town.ledger",
        budget=ht.ApproxDP(epsilon=3, delta="1e-9", pure=1),
    )
    plan = session.plan(ht.Workload.all_marginals(small_schema, order=2), budget=ht.ZCDP("0.05"))
    verdict = session.check("COUNT WHERE age >= 40", small_frame, tau=50, budget=ht.PureDP("0.5"))
    options = [ht.linear.marginals(small_schema, order=1), ht.linear.marginals(small_schema, order=2)]
    choice = session.choose(options, budget=ht.ZCDP("0.01"))
    for thing in (session, small_schema, plan, verdict, choice):
        html = thing._repr_html_()
        assert html.startswith("<div><strong>") and html.endswith("</div>")
    assert repr(small_schema) == "<Schema of 3 attributes: age (4), sex (3), member (2)>"
    assert repr(session).startswith("<Session on 'town': 3 attributes, epsilon=0.5 and rho=")
    assert repr(session.ledger).startswith(
        "<Ledger 'town': budget epsilon=3,delta=1e-9,pure=1, epsilon=0.5 and rho="
    )


def test_a_release_is_readable_in_a_notebook_and_escapes_names(release: ht.Release) -> None:
    html = release._repr_html_()
    assert "Release of 3 marginals" in html and "<td>age x sex</td>" in html
    assert "<Release" not in html


@pytest.mark.long
def test_a_synthesizer_fits_and_samples_in_two_lines_and_pays_for_each_fit(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [k % 3 for k in range(900)], "sex": [k % 2 for k in range(900)]})
    synthesizer = ht.Synthesizer(schema={"age": 3, "sex": 2}, ledger=tmp_path / "s.ledger", epsilon=8)
    records = synthesizer.fit_sample(frame)
    assert records.columns == ["age", "sex"] and 700 < records.height < 1100
    assert set(records["age"]) <= {0, 1, 2}
    assert synthesizer.sample(17).height == 17
    assert synthesizer.sample(17).equals(synthesizer.sample(17))
    with pytest.raises(BudgetExhausted):
        synthesizer.fit(frame)


@pytest.mark.long
def test_a_synthesizer_gives_pandas_for_pandas_and_needs_a_fit(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [k % 3 for k in range(300)]}).to_pandas()
    synthesizer = ht.Synthesizer(schema={"age": 3}, ledger=tmp_path / "s.ledger", budget=ht.ZCDP(1))
    with pytest.raises(RefusedError) as caught:
        synthesizer.sample()
    assert caught.value.code == "synthesizer.not-fitted"
    assert "not fitted" in repr(synthesizer)
    sampled = synthesizer.fit(frame).sample(5)
    assert type(sampled) is type(frame) and len(sampled) == 5
