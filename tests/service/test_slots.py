"""Slots: fixed from public facts, with room for everybody; and the limits of a queue."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from inside import Inside
from sites import Site

import hushtable as ht
from hushtable.errors import RefusedError
from hushtable.privacy import Cost
from hushtable.service import Role
from hushtable.service.jobs import AHEAD, MOST_WAITING, REGRET, JobAnswer, JobOrder
from hushtable.service.slots import LONGER, SHARE, SlotFacts, first_slot

P = "/v1/datasets/people"
FREE = json.dumps(Cost.ZERO.to_dict())


def order(person: str, number: int) -> JobOrder:
    return JobOrder("people", person, None, "check", "check", f"key-{number}", body=f"{number}", price=FREE)


def test_a_slot_begins_after_the_job_was_handed_in_and_ends_on_the_grid() -> None:
    facts = SlotFacts("check", 64, 10_000)
    seconds = facts.seconds(1.0)
    for now in (0.0, 1.0, 1234.5, 1e9 + 0.1):
        ends, length = first_slot(now, facts, 1.0, lambda _: (0, 0))
        assert length == seconds and ends % seconds == 0
        assert seconds <= ends - now <= 2 * seconds


def test_a_slot_grows_with_what_is_declared_and_with_overruns_only() -> None:
    small, large = SlotFacts("check", 64, 1000), SlotFacts("check", 64, 100_000_000)
    assert large.seconds(1.0) > small.seconds(1.0)
    assert small.seconds(LONGER**3) > small.seconds(1.0)
    assert large.room(large.seconds(1.0)) >= 1


def test_one_persons_queue_leaves_room_in_every_slot_for_others(tmp_path: Path) -> None:
    jobs, facts = Site(tmp_path).service.jobs, SlotFacts("check", 64, 1000)
    room = facts.room(facts.seconds(1.0))
    mine = [jobs.submit(order("greedy", number), facts)[0] for number in range(2 * room)]
    first = min(job.slot for job in mine)
    assert sum(job.slot == first for job in mine) <= max(1, room // SHARE)
    late, _ = jobs.submit(order("patient", 0), facts)
    assert late.slot <= first + 2 * facts.seconds(1.0)


def test_too_many_waiting_jobs_are_refused_with_a_time_to_come_back(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside = Inside(site)
    person = site.service.users.named("anna").id
    for number in range(MOST_WAITING):
        site.service.jobs.submit(order(person, number), None)
    with pytest.raises(RefusedError) as caught:
        site.service.jobs.submit(order(person, MOST_WAITING), None)
    assert caught.value.code == "serve.too-many-jobs"
    body = {"query": "COUNT", "synthetic": {"upload": site.upload("anna")}, "tau": 9, "budget": "epsilon=0.1"}
    answer = inside.spend("anna", f"{P}/checks", body)
    assert answer.status_code == 429 and int(answer.headers["retry-after"]) > 0


def test_a_late_job_lengthens_the_slots_of_its_kind_once_for_everybody(tmp_path: Path) -> None:
    jobs, facts = Site(tmp_path).service.jobs, SlotFacts("check", 64, 1000)
    made = [jobs.submit(order("anna", number), facts)[0] for number in range(2)]
    before = jobs.submit(order("amir", 9), facts)[0].seconds
    time.sleep(max(0.0, max(one.slot for one in made) - time.time()) + 0.05)
    for _ in made:
        [job] = jobs.take("worker")
        jobs.finish(job, "worker", JobAnswer(200, "{}"))
        shown = jobs.get("people", job.id)
        assert shown is not None and shown.slot > time.time() and shown.shown(time.time()) == "waiting"
    assert ("check", LONGER, 2) in jobs.overruns()
    assert jobs.submit(order("amir", 10), facts)[0].seconds >= before


def test_what_is_left_does_not_move_between_handing_in_and_the_end_of_the_slot(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside = Inside(site)
    body = {"query": "COUNT", "synthetic": {"upload": site.upload("anna")}, "tau": 9, "budget": "epsilon=0.1"}
    before = inside.ask("anna", "GET", f"{P}/remaining").json()
    handed = inside.spend("anna", f"{P}/checks", body)
    waiting = inside.ask("anna", "GET", f"{P}/remaining").json()
    time.sleep(max(0.0, handed.json()["begins"] - time.time()) + 0.01)
    assert inside.work() == 1
    charged = inside.ask("anna", "GET", f"{P}/remaining").json()
    assert inside.ask("anna", "GET", handed.headers["location"]).json()["state"] == "waiting"
    time.sleep(max(0.0, handed.json()["ready"] - time.time()) + 0.05)
    after = inside.ask("anna", "GET", f"{P}/remaining").json()
    assert before != waiting == charged == after


def test_nothing_that_an_analyst_reads_moves_when_a_worker_charges_somebody_elses_job(tmp_path: Path) -> None:
    site = Site(tmp_path, budget=ht.ApproxDP(epsilon=10, delta="1e-9"))
    for name in ("anna", "amir"):
        site.let_in(name, Role.ANALYST, grant="epsilon=2,delta=1e-9")
    inside = Inside(site)

    def handed(name: str, route: str, body: dict[str, object]) -> dict[str, object]:
        told = inside.spend(name, f"{P}/{route}", body).json()
        time.sleep(max(0.0, told["begins"] - time.time()) + 0.01)
        return told

    options = {"options": ["- [sex]\n", "- [sex, town]\n"], "budget": "rho=0.001"}
    own = handed("amir", "choices", options)
    inside.work()
    time.sleep(max(0.0, own["ready"] - time.time()) + 0.05)
    told = inside.ask("amir", "GET", f"{P}/jobs/{own['id']}").json()
    checked = {
        "query": "COUNT",
        "synthetic": {"upload": site.upload("amir")},
        "tau": 9,
        "budget": "rho=0.001",
    }
    reads = [
        "",
        "/remaining",
        "/releases",
        "/choices",
        f"/choices/{told['made']}",
        "/jobs",
        f"/jobs/{own['id']}/result",
    ]

    def seen() -> list[str]:
        plans = [inside.ask("amir", "POST", f"{P}/checks/plan", json=checked).text]
        return plans + [inside.ask("amir", "GET", f"{P}{place}").text for place in reads]

    theirs = handed("anna", "releases", {"order": 1, "budget": "rho=0.001", "strategy": "identity"})
    before = seen()
    assert inside.work() == 1
    assert seen() == before and time.time() < theirs["ready"], "charged, and its slot has not ended"
    left = inside.ask("amir", "GET", f"{P}/remaining").json()
    assert (
        f"rho={left['rho']}" in inside.ask("amir", "GET", f"{P}/choices/{told['made']}").json()["remaining"]
    )
    for place in ("finish", "check"):
        body = {"option": 1} if place == "finish" else checked
        route = f"choices/{told['made']}/finish" if place == "finish" else "checks"
        mine = handed("amir", route, body)
        inside.work()
        time.sleep(max(0.0, mine["ready"] - time.time()) + 0.05)
        assert "remaining" not in inside.ask("amir", "GET", f"{P}/jobs/{mine['id']}/result").json()


def test_a_job_is_cancelled_until_a_public_time_whether_a_worker_is_there_or_not(tmp_path: Path) -> None:
    """Neither a quick worker nor a slow one moves the time, so that trying to cancel is no clock."""
    site = Site(tmp_path)
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside = Inside(site)
    body = {"query": "COUNT", "synthetic": {"upload": site.upload("anna")}, "tau": 9, "budget": "epsilon=0.1"}
    told = inside.spend("anna", f"{P}/checks", body)
    assert inside.work() == 0, "no worker begins before that time"
    assert told.json()["submitted"] < told.json()["begins"] < told.json()["ready"]
    assert inside.ask("anna", "DELETE", told.headers["location"]).json()["state"] == "cancelled"
    for worked in (False, True):
        told = inside.spend("anna", f"{P}/checks", body)
        time.sleep(told.json()["begins"] - time.time() + 0.01)
        assert inside.work() == 1 if worked else True
        refused = inside.ask("anna", "DELETE", told.headers["location"])
        assert (refused.status_code, refused.json()["code"]) == (409, "job.begun")
        inside.work()


def test_a_job_in_a_long_queue_can_be_cancelled_for_long(tmp_path: Path) -> None:
    jobs, facts = Site(tmp_path).service.jobs, SlotFacts("check", 64, 1_000_000_000)
    made = [jobs.submit(order("anna", number), facts)[0] for number in range(9)]
    ahead = max(AHEAD, 2 * made[0].seconds)
    for one in made:
        assert one.begins == max(one.submitted + REGRET * one.seconds, one.slot - ahead)
    assert jobs.take("worker", 9) == []
    assert jobs.cancel(made[-1]) and not jobs.cancel(made[-1])


def test_a_place_in_the_queue_is_free_again_when_a_slot_ends_and_not_when_a_worker_is_done(
    tmp_path: Path,
) -> None:
    jobs, facts = Site(tmp_path).service.jobs, SlotFacts("release", 64, 1_000_000_000)
    for number in range(MOST_WAITING):
        jobs.submit(order("anna", number), None if number else facts)
    for job in jobs.take("worker", MOST_WAITING):
        jobs.finish(job, "worker", JobAnswer(200, "{}"))
    assert {one.state: one.jobs for one in jobs.counts()} == {"done": MOST_WAITING - 1, "waiting": 1}
    for number in range(MOST_WAITING, 2 * MOST_WAITING - 1):
        jobs.submit(order("anna", number), facts)
    with jobs._storage.writing() as rows:  # a quick worker
        rows.run("UPDATE job SET state = 'done' WHERE state = 'queued'")
    with pytest.raises(RefusedError) as caught:
        jobs.submit(order("anna", 2 * MOST_WAITING), facts)
    assert caught.value.code == "serve.too-many-jobs"
    assert {one.state: one.jobs for one in jobs.counts()}["waiting"] == MOST_WAITING


def test_what_somebody_else_asked_is_free_only_where_the_curator_allows_it(tmp_path: Path) -> None:
    for shared in (False, True):
        folder = tmp_path / str(shared)
        folder.mkdir()
        words = f"largest_rows = 1000\nshare_answers = {str(shared).lower()}\n"
        site = Site(folder, settings={"slots": False}, dataset_settings=words)
        inside = Inside.__new__(Inside)
        for name in ("anna", "amir"):
            site.let_in(name, Role.ANALYST, grant="epsilon=1")
        inside.__init__(site)
        told = []
        for name in ("anna", "amir", "amir"):
            body = {
                "query": "COUNT",
                "synthetic": {"upload": site.upload(name)},
                "tau": 9,
                "budget": "epsilon=0.1",
            }
            place = inside.spend(name, f"{P}/checks", body).headers["location"]
            inside.work()
            told.append(inside.ask(name, "GET", f"{place}/result").json()["verdicts"][0]["repeated"])
        assert told == [False, shared, True]
