"""The table of pages, in full: every page and form with every role and every ownership answers as the table says."""

from __future__ import annotations

import html
import json
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from inside import Inside
from sites import Site
from test_roles import CHOICE, MEMBERS, OWNERS, RELEASE, P, Things, expected, thing_of, things_in

import hushtable as ht
from hushtable.service import Audience, Role
from hushtable.service.web.pages import PAGES

FIELDS: dict[str, dict[str, Any]] = {
    "step_form": {"key": "key-of-step", "option": "0"},
    "publish_form": {"at": "2031-01-01T00:00"},
}
"""What forms about somebody's things send; without it they would be refused for a field that is missing."""
MEMBER_PAGES = [name for name, row in PAGES.items() if row.audience is Audience.MEMBERS]


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> Things:
    made = things_in(tmp_path_factory.mktemp("reach"))
    made.release["spare"] = made.inside.made("amir", f"{P}/releases", RELEASE)
    return made


def seen(things: Things, name: str, page: str, owner: str, dataset: str = "people") -> httpx.Response:
    """What somebody's browser gets of a page about a thing of an owner."""
    row = PAGES[page]
    kinds = {"release": things.release, "choice": things.choice, "job": things.job}
    values = {kind: ids.get(owner, "none") for kind, ids in kinds.items()}
    values |= {"dataset": dataset, "page": "tables-1.html", "step": "abandon"}
    values |= {"proposal": "none", "answer": "approve"}
    users = things.inside.service.users
    secret, csrf = users.sign_in(users.named(name))
    headers = {"cookie": f"hush={secret}", "x-csrf-token": csrf}
    form = dict(FIELDS.get(page, {}))
    if "key" in form:
        form["key"] = f"key-{time.time_ns()}"
    more: dict[str, Any] = {"data": form} if row.method == "POST" else {}
    client = things.inside.client(follow_redirects=False)
    answer = client.request(row.method, row.path.format(**values), headers=headers, **more)
    things.inside.work()
    return answer


def code_of(answer: httpx.Response) -> str | None:
    """The code with which a page hides or forbids something."""
    assert answer.status_code < 500, answer.text
    found = re.search(r'<p class="says">([a-z.-]+)</p>', answer.text) if answer.status_code >= 400 else None
    code = found[1] if found else ""
    return code if code.startswith("auth.") or code.endswith(".absent") else None


@pytest.mark.parametrize("page", MEMBER_PAGES)
def test_every_role_and_ownership_gets_of_a_page_what_the_table_says(things: Things, page: str) -> None:
    row = PAGES[page]
    thing = thing_of(row)
    for name, role in MEMBERS.items():
        for owner in OWNERS.get(thing or "", ["anna"]):
            about = "spare" if page == "publish_form" and role is Role.CURATOR else owner
            answer = seen(things, name, page, about)
            wanted = expected(row, role, owner)
            if thing is None and wanted is None:
                assert code_of(answer) in (None, "proposal.absent", "member.absent"), (page, role)
                continue
            if page == "tables_page" and wanted is None:
                assert code_of(answer) in (None, "page.absent"), "a small release has one page"
                continue
            assert code_of(answer) == wanted, (page, role, owner, answer.status_code, answer.text[-900:])
            if wanted is None and page != "publish_form":
                assert answer.status_code < 400 or code_of(answer) is None


@pytest.mark.parametrize("page", MEMBER_PAGES)
def test_a_page_of_a_dataset_without_a_role_is_like_one_of_none(things: Things, page: str) -> None:
    hidden, absent = (seen(things, "olga", page, "anna", dataset=name) for name in ("people", "nothing"))
    assert hidden.status_code == absent.status_code == 404 and code_of(hidden) == "dataset.absent"

    def plain(answer: httpx.Response) -> str:
        return re.sub(r"x-csrf-token[^}]*", "", answer.text)

    assert plain(hidden) == plain(absent) and sorted(hidden.headers) == sorted(absent.headers)


def test_lists_on_pages_have_what_is_within_reach_and_no_more(things: Things) -> None:
    for name, role in MEMBERS.items():
        shown = seen(things, name, "explore_page", "anna").text
        for owner in OWNERS["release"]:
            wanted = expected(PAGES["release_page"], role, owner) is None
            assert (things.release[owner] in shown) == wanted, (role, owner)
    for name in ("anna", "clara"):
        shown = seen(things, name, "choose_page", "anna").text
        assert things.choice["anna"] in shown
        assert (things.choice["amir"] in shown) == (name == "clara")
    for owner in OWNERS["release"]:
        shown = seen(things, "anna", "check_page", "anna").text
        wanted = expected(PAGES["release_page"], Role.ANALYST, owner) is None
        assert (f"release:{things.release[owner]}" in shown) == wanted, "rows that one may check"
    mine, theirs = (
        things.inside.spend(
            name,
            f"{P}/checks",
            {"query": f"COUNT WHERE age >= {low}", "synthetic": {"upload": things.upload[name]}}
            | {"tau": 5, "budget": "epsilon=0.001"},
        ).json()
        for name, low in (("anna", 17), ("amir", 23))
    )
    assert mine["id"] != theirs["id"]
    things.inside.work()
    for page in ("check_page", "check_history"):
        shown = seen(things, "anna", page, "anna").text
        assert "age &gt;= 17" in shown and "age &gt;= 23" not in shown
    both = seen(things, "clara", "check_history", "anna").text
    assert "age &gt;= 17" in both and "age &gt;= 23" in both


def test_a_reader_sees_a_release_from_its_time_on(things: Things) -> None:
    release = things.inside.made("amir", f"{P}/releases", RELEASE)
    things.release["soon"] = release
    things.inside.service.shelf.publish(release, time.time() + 1.5)
    assert code_of(seen(things, "rosa", "release_page", "soon")) == "release.absent"
    assert release not in seen(things, "rosa", "explore_page", "soon").text
    time.sleep(1.6)
    assert seen(things, "rosa", "release_page", "soon").status_code == 200
    assert release in seen(things, "rosa", "explore_page", "soon").text


def test_a_step_of_somebody_elses_choice_takes_nothing(things: Things) -> None:
    made = things.inside.made("amir", f"{P}/choices", CHOICE)
    things.choice["fresh"] = made
    before = things.inside.ask("amir", "GET", f"{P}/choices/{made}").json()
    assert code_of(seen(things, "anna", "step_form", "fresh")) == "choice.absent"
    assert things.inside.ask("amir", "GET", f"{P}/choices/{made}").json() == before
    assert seen(things, "amir", "step_form", "fresh").status_code == 200
    assert things.inside.ask("amir", "GET", f"{P}/choices/{made}").json()["state"] == "abandoned"


def test_a_choice_tells_its_options_apart_where_they_coincide_and_leads_to_its_tables_once(
    tmp_path: Path,
) -> None:
    site = Site(tmp_path, settings={"slots": False}, budget=ht.ZCDP(1))
    site.let_in("amir", Role.ANALYST, grant="rho=0.5")
    inside = Inside(site)
    options = {"options": ["- [sex]\n", "- [town]\n"], "budget": "rho=0.1"}
    made = inside.made("amir", f"{P}/choices", options)
    place = f"/datasets/people/choices/{made}"
    page = inside.ask("amir", "GET", place).text
    [charts] = re.findall(r'<script type="application/json" class="charts">(.*?)</script>', page, re.DOTALL)
    lines = json.loads(html.unescape(charts))["specs"]["signal"]
    assert "total" in page, "two tables without an attribute in common share their total"
    told = [layer["encoding"] for layer in lines.get("layer", [lines])]
    assert all({one["strokeDash"]["field"], one["color"]["field"]} == {"option"} for one in told)
    for part in ("legend", "title"):
        assert all(one["strokeDash"][part] == one["color"][part] for one in told), "one legend"
    assert len({*map(str, told[0]["strokeDash"]["scale"]["range"])}) > 1
    handed = inside.spend("amir", f"{P}/choices/{made}/finish", {"option": 1})
    inside.work()
    part = inside.ask("amir", "GET", f"/datasets/people/jobs/{handed.json()['id']}").text
    release = inside.ask("amir", "GET", handed.headers["location"]).json()["made"]
    link = f'href="/datasets/people/releases/{release}"'
    assert (part + inside.ask("amir", "GET", place).text).count(link) == 1


def test_the_form_for_members_takes_a_role_away_and_no_unknown_role_does(things: Things) -> None:
    service = things.inside.service
    service.users.set_role(service.users.add("guest"), "people", Role.READER)

    def sent(role: str) -> int:
        secret, csrf = service.users.sign_in(service.users.named("clara"))
        headers = {"cookie": f"hush={secret}", "x-csrf-token": csrf}
        form = {"person": "guest", "role": role}
        client = things.inside.client(follow_redirects=False)
        return client.post("/datasets/people/budget/members", headers=headers, data=form).status_code

    page = things.inside.ask("clara", "GET", "/datasets/people/budget").text
    offered = re.findall(r'<option value="([^"]*)"', page[page.index('id="member-role"') :])
    assert set(offered) == {*Role, "none"}
    assert sent("king") == sent("") == 422 and service.users.members("people")["guest"] is Role.READER
    assert sent("none") == 303 and "guest" not in service.users.members("people")
