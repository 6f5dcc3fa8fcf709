"""What curators change, alone or with a second one, and what readers see of it and when."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from inside import Inside
from sites import SCHEMA, Site

from hushtable.service import Role, Scope

P = "/v1/datasets/people"
RELEASE = {"order": 1, "budget": "epsilon=0.1", "strategy": "identity"}


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    words = "largest_rows = 1000\ntwo_curators = true\n"
    site = Site(tmp_path, settings={"slots": False}, dataset_settings=words)
    for name in ("clara", "carl"):
        site.let_in(name, Role.CURATOR)
    site.let_in("rosa", Role.READER)
    return Inside(site)


def test_a_raise_a_schema_and_a_publication_wait_for_a_second_curator(inside: Inside) -> None:
    release = inside.made("clara", f"{P}/releases", RELEASE)
    changed = SCHEMA.replace("[Ash, Elm, Oak]", "[Ash, Elm, Oak, Yew]")
    asked = [
        ("POST", f"{P}/ledger/raise", {"budget": "epsilon=2000"}),
        ("PUT", f"{P}/schema", {"schema": changed}),
        ("POST", f"{P}/releases/{release}/publish", {}),
    ]
    for method, path, body in asked:
        made = inside.ask("clara", method, path, json=body).json()["proposal"]
        own = inside.ask("clara", "POST", f"{P}/proposals/{made}/approve")
        assert (own.status_code, own.json()["code"]) == (403, "auth.second-curator")
        if path.endswith("publish"):
            assert inside.ask("rosa", "GET", f"{P}/releases").json()["items"] == []
        assert inside.ask("carl", "POST", f"{P}/proposals/{made}/approve").status_code == 200
        again = inside.ask("carl", "POST", f"{P}/proposals/{made}/approve")
        assert again.json()["code"] == "proposal.closed"
    assert inside.ask("clara", "GET", P).json()["budget"] == "epsilon=2000"
    assert "Yew" in inside.ask("clara", "GET", P).text
    assert [one["id"] for one in inside.ask("rosa", "GET", f"{P}/releases").json()["items"]] == [release]


def test_the_budget_page_keeps_what_waits_apart_from_what_was_decided(inside: Inside) -> None:
    made = [
        inside.ask("clara", "POST", f"{P}/ledger/raise", json={"budget": f"epsilon={total}"}).json()[
            "proposal"
        ]
        for total in (2000, 3000, 4000)
    ]
    inside.ask("carl", "POST", f"{P}/proposals/{made[0]}/approve")
    inside.ask("carl", "POST", f"{P}/proposals/{made[1]}/reject")

    def parts() -> dict[str, str]:
        page = inside.ask("carl", "GET", "/datasets/people/budget").text
        return dict(re.findall(r'<section><h2 id="(proposals|decided)">(.*?)</section>', page, re.DOTALL))

    assert "epsilon=4000" in parts()["proposals"]
    assert all(f"epsilon={total}" not in parts()["proposals"] for total in (2000, 3000))
    assert "agreed to" in parts()["decided"] and "rejected" in parts()["decided"]
    assert "epsilon=4000" not in parts()["decided"] and "/approve" not in parts()["decided"]
    inside.ask("clara", "POST", f"{P}/proposals/{made[2]}/reject")
    assert list(parts()) == ["decided"]


def test_a_change_that_cannot_be_made_when_it_is_agreed_to_stays_open(inside: Inside) -> None:
    """The budget was raised further meanwhile: nothing is changed, and nobody reads that it was agreed to."""
    made = [
        inside.ask("clara", "POST", f"{P}/ledger/raise", json={"budget": f"epsilon={total}"}).json()[
            "proposal"
        ]
        for total in (2000, 3000)
    ]
    assert inside.ask("carl", "POST", f"{P}/proposals/{made[1]}/approve").status_code == 200
    late = inside.ask("carl", "POST", f"{P}/proposals/{made[0]}/approve")
    assert late.status_code >= 400, late.text
    states = {one["id"]: one["state"] for one in inside.ask("carl", "GET", f"{P}/proposals").json()["items"]}
    assert states == {made[0]: "open", made[1]: "approved"}
    assert inside.ask("carl", "POST", f"{P}/proposals/{made[0]}/reject").status_code == 200


def test_readers_get_nothing_before_the_release_time(inside: Inside) -> None:
    release = inside.made("clara", f"{P}/releases", RELEASE)
    at = time.time() + 0.7
    made = inside.ask("clara", "POST", f"{P}/releases/{release}/publish", json={"at": at}).json()["proposal"]
    assert inside.ask("carl", "POST", f"{P}/proposals/{made}/approve").status_code == 200
    place = f"{P}/releases/{release}/table"
    early = inside.ask("rosa", "GET", place)
    assert early.content == inside.ask("rosa", "GET", f"{P}/releases/none/table").content
    time.sleep(max(0.0, at - time.time()) + 0.05)
    due = inside.ask("rosa", "GET", place)
    assert due.status_code == 200
    kept = {"if-none-match": due.headers["etag"]}
    assert inside.ask("rosa", "GET", place, headers=kept).status_code == 304
    later = inside.ask("clara", "POST", f"{P}/releases/{release}/publish", json={"at": at + 1000})
    assert later.json()["code"] == "release.published", "what readers have seen is not hidden again"


def test_a_second_curator_sees_what_is_proposed_before_agreeing(inside: Inside) -> None:
    inside.ask("clara", "POST", f"{P}/ledger/raise", json={"budget": "epsilon=2345"})
    inside.ask("clara", "PUT", f"{P}/schema", json={"schema": SCHEMA.replace("Oak", "Yew <b>")})
    inside.ask("clara", "PUT", f"{P}/members/rosa", json={"role": "curator"})
    page = inside.ask("carl", "GET", "/datasets/people/budget").text
    assert "To epsilon=2345 per person" in page and "Yew &lt;b&gt;" in page and "rosa: <span" in page


def test_a_raise_that_was_rejected_is_not_made(inside: Inside) -> None:
    made = inside.ask("clara", "POST", f"{P}/ledger/raise", json={"budget": "epsilon=3000"}).json()[
        "proposal"
    ]
    assert inside.ask("carl", "POST", f"{P}/proposals/{made}/reject").json()["state"] == "rejected"
    assert inside.ask("carl", "POST", f"{P}/proposals/{made}/approve").json()["code"] == "proposal.closed"
    assert inside.ask("clara", "GET", P).json()["budget"] == "epsilon=1000"


def test_no_curator_makes_or_removes_the_second_one_alone(inside: Inside) -> None:
    inside.site.let_in("puppet", Role.ANALYST)
    role = {"role": "curator"}
    made = inside.ask("clara", "PUT", f"{P}/members/puppet", json=role).json()["proposal"]
    assert inside.ask("puppet", "GET", f"{P}/members").json()["code"] == "auth.role"
    assert (
        inside.ask("clara", "POST", f"{P}/proposals/{made}/approve").json()["code"] == "auth.second-curator"
    )
    assert inside.ask("carl", "POST", f"{P}/proposals/{made}/approve").json() == {"name": "puppet", **role}
    assert inside.ask("clara", "DELETE", f"{P}/members/carl").json()["state"] == "open"
    assert inside.ask("carl", "GET", f"{P}/members").json()["items"][0] == {"name": "carl", **role}
    reader = inside.ask("clara", "PUT", f"{P}/members/rosa", json={"role": "auditor"})
    assert reader.json() == {"name": "rosa", "role": "auditor"}, "other roles need one curator"


def test_the_last_curator_cannot_leave_and_deeds_have_no_values(inside: Inside) -> None:
    leaves = inside.ask("clara", "DELETE", f"{P}/members/carl").json()["proposal"]
    assert inside.ask("carl", "POST", f"{P}/proposals/{leaves}/approve").status_code == 200
    last = inside.ask("clara", "DELETE", f"{P}/members/clara")
    assert last.json()["code"] == "user.last-curator"
    inside.ask("clara", "POST", f"{P}/ledger/grants", json={"person": "rosa", "budget": "epsilon=0.31337"})
    deeds = inside.ask("clara", "GET", f"{P}/deeds")
    assert "grant" in deeds.text and "31337" not in deeds.text


def test_a_founder_makes_a_dataset_over_data_that_the_worker_knows(inside: Inside, tmp_path: Path) -> None:
    users = inside.service.users
    person = users.add("fatima", founder=True)
    inside.site.tokens["fatima"] = users.new_token(person, "t", list(Scope), 60).secret
    body = {"name": "second", "schema": SCHEMA, "budget": "epsilon=5", "largest_rows": 1000}
    assert inside.ask("clara", "POST", "/v1/datasets", json=body).json()["code"] == "auth.role"
    made = inside.ask("fatima", "POST", "/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    closed = inside.spend("fatima", "/v1/datasets/second/releases", RELEASE)
    assert closed.json()["code"] == "serve.data-not-open"
    inside.worker.data["second"] = str(tmp_path / "data" / "people.csv")
    inside.worker.open_data()
    assert inside.made("fatima", "/v1/datasets/second/releases", RELEASE)
    assert inside.ask("fatima", "POST", "/v1/datasets", json=body).json()["code"] == "dataset.exists"
