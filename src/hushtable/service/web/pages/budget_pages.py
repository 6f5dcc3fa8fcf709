"""Budget: what is left, who may spend what, what each spend bought; grants, raises, members; verifying the ledger."""

from __future__ import annotations

import io
import json
import time
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request, Response

from hushtable import report
from hushtable.ledger import INCLUSION_SCRIPT, Holding, InclusionProof, Ledger, Statement
from hushtable.privacy import Cost
from hushtable.service import bodies
from hushtable.service.desk import AbsentError, Desk
from hushtable.service.managing import Manager
from hushtable.service.roles import ROUTES, Role
from hushtable.service.web.guard import caller_in, desk_of
from hushtable.service.web.pages.form_fields import FormText
from hushtable.service.web.pages.frame import elsewhere, not_a_form, page, page_router

MOST_SPENDS = 100
"""Spends that a page lists; the export has all."""
NO_ROLE = "none"
"""What the form sends to take a role away: a field that is empty is not sent."""
NOTES = Path(__file__).parent / "proofs"
"""A link to the notes of the repository, so that an installed service has them too."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(
        budget_page, verify_part, proof_file, grant_form, raise_form, member_form, proposal_form
    )


def budget_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    role = desk.access.role
    context: dict[str, Any] = {"tab": "budget", "whole": None, "remaining": None, "jobs": []}
    if role in ROUTES["ledger"].reach:
        context |= _account(desk)
    if role in ROUTES["remaining"].reach:
        context["remaining"] = desk.remaining()
        context["jobs"] = _jobs(desk, caller_in(request).person.id)
    return page(request, "budget.html.j2", **context, Role=Role, now=time.time())


def verify_part(request: Request, dataset: str, head: str | None = None) -> Response:
    return page(request, "verify-part.html.j2", found=desk_of(request).ledger.verify(head or None))


def proof_file(request: Request, dataset: str, entry: int | None = None) -> Response:
    """The proof of an entry, what checks it offline, and the notes on why each mechanism is private, in one archive."""
    proof = InclusionProof.of(desk_of(request).ledger, entry)
    number = json.loads(proof.lines[0])["number"]
    files = {"proof.json": json.dumps(proof.to_dict(), indent=1), "verify.py": INCLUSION_SCRIPT}
    files |= {f"notes/{one.name}": one.read_text(encoding="utf-8") for one in sorted(NOTES.glob("*.md"))}
    content, name = io.BytesIO(), f"{dataset}-entry-{number}"
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, text in files.items():
            archive.writestr(zipfile.ZipInfo(f"{name}/{place}"), text)
    headers = {"content-disposition": f'attachment; filename="{name}.zip"'}
    return Response(content.getvalue(), 200, headers, "application/zip")


def grant_form(request: Request, dataset: str, person: FormText, budget: FormText) -> Response:
    Manager(desk_of(request)).grant(bodies.GrantBody(person=person, budget=budget))
    return elsewhere(request, f"/datasets/{dataset}/budget")


def raise_form(request: Request, dataset: str, budget: FormText) -> Response:
    Manager(desk_of(request)).change("raise_budget", bodies.RaiseBody(budget=budget))
    return elsewhere(request, f"/datasets/{dataset}/budget")


def member_form(request: Request, dataset: str, person: FormText, role: FormText) -> Response:
    if role != NO_ROLE and role not in list(Role):
        raise not_a_form("role")
    Manager(desk_of(request)).set_role(person, None if role == NO_ROLE else Role(role))
    return elsewhere(request, f"/datasets/{dataset}/budget")


def proposal_form(request: Request, dataset: str, proposal: str, answer: str) -> Response:
    manager = Manager(desk_of(request))
    ways = {"approve": manager.approve, "reject": manager.reject}
    if answer not in ways:
        raise AbsentError("page")
    ways[answer](proposal)
    return elsewhere(request, f"/datasets/{dataset}/budget")


def _account(desk: Desk) -> dict[str, Any]:
    ledger = desk.ledger
    holdings = ledger.reservations()
    spends = [
        report.BookedSpend(one.reservation.number, one.reservation.time, one.reservation.kind, one.drawn)
        for one in holdings
    ]
    section = report.account_section(Statement.of(ledger), spends)
    names = desk.service.users.members(desk.dataset.name)
    manager = Manager(desk)
    return {
        "whole": section,
        "charts": report.drawn(section),
        "ledger": ledger,
        "statement": Statement.of(ledger),
        "grants": _grants(ledger),
        "members": names,
        "spends": [_spend(ledger, one) for one in reversed(holdings[-MOST_SPENDS:])],
        "proposals": manager.proposals(),
        "me": desk.access.caller.person.name,
        "may_manage": desk.access.role in ROUTES["grant"].reach,
        "slots": desk.service.config.slots,
        "overruns": [one for one in desk.service.jobs.overruns() if one.overruns],
        "releases": desk.releases("").rows if desk.access.role in ROUTES["releases"].reach else [],
    }


def _grants(ledger: Ledger) -> list[tuple[str, str, str, str]]:
    return [
        (name, str(budget), str(ledger.spent(name)), str(ledger.remaining(name)))
        for name, budget in ledger.grants.items()
    ]


def _spend(ledger: Ledger, holding: Holding) -> dict[str, Any]:
    """A line of the account: what it was for, and what it cost."""
    entry = holding.reservation
    return {
        "number": entry.number,
        "seconds": datetime.fromisoformat(entry.time).timestamp(),
        "kind": entry.kind,
        "what": report.bought(ledger, holding),
        "spender": entry.spender or "",
        "cost": str(holding.drawn),
        "state": holding.state,
    }


def _jobs(desk: Desk, person: str) -> list[dict[str, Any]]:
    """What one has asked for, and its price."""
    now = time.time()
    found = desk.service.jobs.listed(desk.dataset.name, person, "", 50, None)
    return [
        {"job": one, "state": one.shown(now), "price": str(Cost.from_dict(json.loads(one.price)))}
        for one in found
    ]
