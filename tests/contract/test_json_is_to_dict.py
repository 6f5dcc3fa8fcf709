"""``--json`` of every command prints ``to_dict()`` of what the library gives for the same, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import app, run
from hushtable.selftest.outcomes import Outcome, SelftestReport

SCHEMA = """
attributes:
  age: {type: integer, bounds: [0, 79], width: 20}
  sex: {type: categorical, values: [F, M]}
"""
KNOWN = ["--schema", "people.yaml", "--ledger", "people.ledger"]
ASKED = [
    "--synthetic",
    "people.csv",
    "--query",
    "COUNT WHERE sex = 'F'",
    "--tau",
    "20",
    "--budget",
    "epsilon=1",
]


def commands(group: click.Group, path: str = "") -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
        words = f"{path} {name}".strip()
        yield from commands(command, words) if isinstance(command, click.Group) else [words]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with data, schema, ledger and a release, as the working folder."""
    folder = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        rows = pl.DataFrame({"age": list(range(80)) * 5, "sex": ["F", "M"] * 200})
        rows.write_csv("people.csv")
        Path("people.yaml").write_text(SCHEMA)
        ht.Ledger.create("people.ledger", ht.ApproxDP(epsilon=20, delta="1e-9", pure=5))
        measured_in_full = ["--strategy", "residual-planner", "--order", "2", "--budget", "rho=0.01"]
        assert run(["release", "people.csv", *KNOWN, *measured_in_full, "--out", "out"]) == 0
        yield folder


@pytest.fixture
def hush(desk: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    def typed(*words: str) -> Any:
        capsys.readouterr()
        assert run([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return typed


def plain(value: Any) -> Any:
    """What a JSON reader makes of a value."""
    return json.loads(json.dumps(value))


def opened() -> ht.Session:
    return ht.Session.open("people.csv", schema="people.yaml", ledger="people.ledger")


def pairs() -> ht.Workload:
    return ht.Workload.all_marginals(ht.Schema.load("people.yaml"), order=2)


def ledger(printed: dict[str, Any]) -> None:
    assert printed == plain(ht.Ledger.open("people.ledger").to_dict())


def an_init(hush: Callable[..., Any]) -> None:
    assert hush("init", "people.csv") == plain(ht.Schema.loads(ht.session.draft("people.csv")).to_dict())


def a_review(hush: Callable[..., Any]) -> None:
    Path("draft.yaml").write_text(ht.session.draft("people.csv"))
    printed = hush("review", "draft.yaml", "--accept", "@names", "--accept", "@unit", "--drop", "age")
    assert printed == plain(ht.schema.review_file("draft.yaml").to_dict())
    assert [item["name"] for item in printed["unreviewed"]] == ["sex"]


def a_preflight(hush: Callable[..., Any]) -> None:
    printed = hush("preflight", "people.csv", "--schema", "people.yaml")
    assert printed == plain(ht.preflight("people.csv", schema="people.yaml").to_dict())


def a_plan(hush: Callable[..., Any]) -> None:
    printed = hush("plan", "--schema", "people.yaml", "--order", "2", "--budget", "rho=0.1", "--alpha", "0.1")
    assert printed == plain(opened().plan(pairs(), budget=ht.ZCDP("0.1")).to_dict(0.1))


def a_release(hush: Callable[..., Any]) -> None:
    asked = ["release", "people.csv", *KNOWN, "--order", "2", "--budget", "rho=0.02", "--request", "again"]
    printed = hush(*asked, "--out", "again", "--no-report")
    assert printed == plain(ht.Release.load("again").to_dict())
    assert printed == plain(opened().release(pairs(), budget=ht.ZCDP("0.02"), request="again").to_dict())


def an_export(hush: Callable[..., Any]) -> None:
    printed = hush("export", "out", "--format", "csv", "--table", "age,sex")
    assert printed == plain({**ht.Release.load("out").export("mine", tables=[("age", "sex")]).to_dict(),
                             "folder": printed["folder"]})  # fmt: skip


def a_quantile(hush: Callable[..., Any]) -> None:
    printed = hush("quantile", "out", "age", "--at", "0.5", "--alpha", "0.2")
    release = ht.Release.load("out")
    made = ht.release.quantiles_of(release, "age", [0.5], (), 0.2)
    assert printed == plain(made.to_dict()) and made.frame.equals(release.quantile("age", 0.5, alpha=0.2))


def a_combination(hush: Callable[..., Any]) -> None:
    Path("weights.csv").write_text("sex,weight\nF,1\nM,-1\n")
    release, weights = ht.Release.load("out"), {"sex": ["F", "M"], "weight": [1, -1]}
    made = ht.release.combination_of(release, weights, 0.05)
    assert hush("combine", "out", "weights.csv") == plain(made.to_dict())
    assert made.frame.equals(release.combine(weights))


def a_comparison(hush: Callable[..., Any]) -> None:
    other = opened().release(pairs(), budget=ht.ZCDP("0.02"), strategy="residual-planner", request="compared")
    other.save("compared")
    found = ht.compare(ht.Release.load("out"), ht.Release.load("compared"))
    assert hush("compare", "out", "compared") == plain(found.to_dict())


def a_table(hush: Callable[..., Any]) -> None:
    printed = hush("table", "out", "age", "sex", "--alpha", "0.2")
    release = ht.Release.load("out")
    assert printed == plain(release.released_table("age", "sex", alpha=0.2).to_dict())
    part = ht.release.asked_table(release, ["age=0-39", "sex"])
    assert hush("table", "out", "age=0-39", "sex") == plain(part.to_dict())
    assert part.frame.equals(release.range("age", 0, 39, by=["sex"]))
    drawn = ht.release.replicates_of(release, 3, ["sex"])
    assert hush("table", "out", "sex", "--replicates", "3") == plain(drawn.to_dict())
    assert drawn.frame.equals(release.replicates(3, "sex"))


def a_microdata(hush: Callable[..., Any]) -> None:
    printed = hush("microdata", "out", "--out", "records.csv", "--explain", "--seed", "3")
    made = ht.release.make_microdata(ht.Release.load("out"), seed=3)
    assert printed == plain(made.to_dict()) == json.loads(Path("out/microdata.json").read_text())


def a_report(hush: Callable[..., Any]) -> None:
    printed = hush("report", "out", "--out", "report.html")
    assert printed == plain(ht.report.write_report("out", out="report.html").to_dict())
    internal = hush("report", "out", "--against", "people.csv", "--confidential", "--out", "internal.html")
    release, rows = ht.Release.load("out"), ht.preflight("people.csv", schema="people.yaml")
    errors = opened().evaluate(release, confidential=True)
    made = ht.report.write_confidential_report("out", errors, release.card, internal["report"], rows=rows)
    assert internal == plain(made.to_dict())


def a_site(hush: Callable[..., Any]) -> None:
    printed = hush("publish", "out", "--out", "site", "--format", "csv")
    assert printed == plain(ht.report.write_site(["out"], "site", formats=["csv"]).to_dict())


def a_check(hush: Callable[..., Any]) -> None:
    question = ("COUNT WHERE sex = 'F'", "people.csv")
    asked = {"tau": "20", "budget": ht.PureDP(1)}
    planned = hush("check", "people.csv", *KNOWN, *ASKED, "--plan", "--beta", "0.1", "--distance", "7")
    assert planned == plain(opened().plan_check(*question, **asked).to_dict(0.1, [7]))
    hush("check", "people.csv", *KNOWN, *ASKED)
    printed, session = hush("check", "people.csv", *KNOWN, *ASKED), opened()
    [verdict] = verdicts = session.check([question[0]], question[1], **asked)
    assert printed == plain(verdicts.to_dict()) and verdict.repeated
    assert printed["verdicts"] == [plain(session.check(*question, **asked).to_dict())]
    assert printed["remaining"] == session.remaining.to_dict() and printed["head"] == session.ledger.head


def a_choice(hush: Callable[..., Any]) -> None:
    asked = ["choose", "people.csv", *KNOWN, "--orders", "1", "2", "--budget", "rho=0.01"]
    known = ["--ledger", "people.ledger", "--choice"]
    begun = hush(*asked, "--request", "taken")
    view = ht.release.ChoiceView(ht.Ledger.open("people.ledger"), "taken")
    assert begun == plain(view.to_dict()) == hush("choose", "show", *known, "taken")
    taken = hush("choose", "finish", *known, "taken", "--option", "1", "--out", "taken")
    assert taken == plain(opened().choice("taken").to_dict())
    hush(*asked, "--request", "left")
    ended = hush("choose", "abandon", *known, "left")
    assert ended == plain(ht.Ledger.open("people.ledger").holding("left").to_dict())


def a_longer_choice(hush: Callable[..., Any]) -> None:
    Path("sex.yaml").write_text("- [sex]\n")
    Path("age.yaml").write_text("- [age]\n- [sex]\n")
    Path("both.yaml").write_text("- [age, sex]\n")
    files = ["--options", "sex.yaml", "age.yaml", "both.yaml"]
    hush("choose", "people.csv", *KNOWN, *files, "--budget", "rho=0.01", "--request", "long")
    known = ["--ledger", "people.ledger", "--choice", "long"]
    view = ht.release.ChoiceView(ht.Ledger.open("people.ledger"), "long")
    told = hush("choose", "outlook", *known, "--prior-variance", "1000")
    assert told == plain(view.outlook(prior_variance=1000).to_dict())
    assert told["options"][0]["gain"] == pytest.approx(view.gain(0, prior_variance=1000))
    advanced = hush("choose", "advance", *known)
    assert advanced["stage"] == 1
    refined = hush("choose", "refine", *known, "--rho", "0.002")
    after = ht.release.ChoiceView(ht.Ledger.open("people.ledger"), "long")
    assert refined == plain(after.to_dict()) and after.stage == 1


def a_curve(hush: Callable[..., Any]) -> None:
    assert hush("bounds", "out") == plain(ht.release.curve_of(ht.Release.load("out")).to_dict())
    asked = hush("bounds", "--cells", "500", "--budget", "epsilon=1")
    assert asked == plain(ht.release.curve_at(500, ht.PureDP(1)).to_dict())


def ledgers(hush: Callable[..., Any]) -> None:
    made = hush("ledger", "create", "other.ledger", "--budget", "rho=1")
    assert made == plain(ht.Ledger.open("other.ledger").to_dict())
    ledger(hush("ledger", "show", "people.ledger"))
    ledger(hush("ledger", "grant", "people.ledger", "maria", "--budget", "epsilon=1,delta=1e-9"))
    ledger(hush("ledger", "raise", "people.ledger", "--budget", "epsilon=21,delta=1e-9,pure=5"))
    assert hush("ledger", "verify", "people.ledger") == plain(
        ht.ledger.verify_ledger("people.ledger").to_dict()
    )
    account = ht.Ledger.open("people.ledger")
    account.reserve(cost=ht.ZCDP("0.001").limit, kind="release", request="open", detail={"n": 1})
    ended = hush("ledger", "end", "people.ledger", "open")
    assert ended == plain(account.holding("open").to_dict()) and ended["state"] == "settled"
    moved = hush("ledger", "copy", "other.ledger", "moved.ledger")
    assert moved == plain(ht.Ledger.open("moved.ledger").to_dict())
    exported = hush("ledger", "export", "people.ledger")
    assert exported["entries"] == plain([entry.to_dict() for entry in account.history()])
    assert (exported["ledger"], exported["head"]) == (account.name, account.head)


def a_rehearsal(hush: Callable[..., Any]) -> None:
    Path("old.csv").write_bytes(Path("people.csv").read_bytes())
    asked = ["--schema", "people.yaml", "--order", "1", "--budget", "rho=0.1", "--runs", "1"]
    printed = hush("rehearse", "old.csv", *asked)
    workload = ht.Workload.all_marginals(ht.Schema.load("people.yaml"), order=1)
    found = ht.rehearse(
        "old.csv", schema="people.yaml", workload=workload, budget=ht.ZCDP("0.1"), runs=1
    ).to_dict()
    assert printed.keys() == found.keys()  # noise is drawn anew
    assert [row["marginal"] for row in printed["marginals"]] == [
        row["marginal"] for row in found["marginals"]
    ]


WALKS: dict[Callable[[Callable[..., Any]], None], set[str]] = {
    an_init: {"init"},
    a_review: {"review"},
    a_preflight: {"preflight"},
    a_plan: {"plan"},
    a_rehearsal: {"rehearse"},
    a_release: {"release"},
    a_table: {"table"},
    an_export: {"export"},
    a_quantile: {"quantile"},
    a_combination: {"combine"},
    a_comparison: {"compare"},
    a_microdata: {"microdata"},
    a_report: {"report"},
    a_site: {"publish"},
    a_check: {"check"},
    a_choice: {"choose start", "choose show", "choose finish", "choose abandon"},
    a_longer_choice: {"choose advance", "choose refine", "choose outlook"},
    a_curve: {"bounds"},
    ledgers: {
        f"ledger {verb}" for verb in ("create", "show", "grant", "raise", "end", "verify", "export", "copy")
    },
}
ELSEWHERE = {"demo", "bench", "selftest", "completion", "serve", "worker", "user add", "backup", "restore"}
"""The story of the demonstration, other programs, a long self-test, lines for a shell, what needs the packages of the
service: shown by their own tests."""


@pytest.mark.long
@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk.__name__)
def test_a_command_prints_what_the_library_gives(walk: Callable[..., None], hush: Callable[..., Any]) -> None:
    walk(hush)


def test_every_command_is_walked_through() -> None:
    assert set(commands(app)) == set.union(ELSEWHERE, *WALKS.values())


@pytest.mark.long
def test_every_result_has_a_short_text_and_a_look_in_notebooks(desk: Path) -> None:
    session = opened()
    release = ht.Release.load("out")
    verdict = session.check("COUNT", "people.csv", tau=50, budget=ht.PureDP("0.5"))
    options = [ht.linear.marginals(session.schema, order=k) for k in (1, 2)]
    started = session.choose(options, budget=ht.ZCDP("0.01"), request="seen")
    results = [
        session.plan(pairs(), budget=ht.ZCDP("0.1")),
        session.plan_check("COUNT", "people.csv", tau=50, budget=ht.PureDP("0.5")),
        release,
        release.card,
        release.released_table("age"),
        ht.release.quantiles_of(release, "age", [0.5], [], 0.05),
        ht.release.replicates_of(release, 3, ["age"]),
        ht.compare(release, session.release(pairs(), budget=ht.ZCDP("0.1"), strategy="residual-planner")),
        ht.release.write_export(release, "csv-files", "csv"),
        ht.release.make_microdata(release),
        verdict,
        session.check(["COUNT"], "people.csv", tau=50, budget=ht.PureDP("0.5")),
        ht.report.write_report("out", out="again.html"),
        session.remaining,
        session.evaluate(release, confidential=True),
        ht.schema.review_file("people.yaml"),
        ht.preflight("people.csv", schema="people.yaml"),
        session.ledger,
        session.ledger.reservations()[0],
        session.ledger.history()[0],
        session.ledger.verify(),
        ht.ledger.Statement.of(session.ledger),
        ht.release.curve_of(release),
        started,
        started.outlook(prior_variance=1000),
        ht.release.ChoiceView(session.ledger, "seen"),
        ht.report.write_site(["out"], "shown", formats=["csv"]),
        ht.release.combination_of(release, {"sex": ["F", "M"], "weight": [1, -1]}, 0.05),
        SelftestReport((Outcome("ledger", True, "opened one", 0.5),)),
    ]
    for result in results:
        assert plain(result.to_dict()), type(result)
        assert len(repr(result)) < 300 and "\n" not in repr(result), type(result)
        assert result._repr_html_().startswith("<div><strong>"), type(result)
