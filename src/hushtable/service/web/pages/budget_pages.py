"""Budget: what is left, who may spend what, what each spend bought; grants, raises, members; verifying the ledger."""

from __future__ import annotations

import json
import time
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request, Response

from hushtable import report
from hushtable.ledger import Holding, Ledger, Statement
from hushtable.privacy import Cost
from hushtable.service import bodies
from hushtable.service.desk import AbsentError, Desk
from hushtable.service.managing import Manager
from hushtable.service.roles import ROUTES, Role
from hushtable.service.web.guard import caller_in, desk_of
from hushtable.service.web.pages.form_fields import FormText
from hushtable.service.web.pages.frame import elsewhere, page, page_router

MOST_SPENDS = 100
"""Spends that a page lists; the export has all."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(budget_page, verify_part, grant_form, raise_form, member_form, proposal_form)


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


def grant_form(request: Request, dataset: str, person: FormText, budget: FormText) -> Response:
    Manager(desk_of(request)).grant(bodies.GrantBody(person=person, budget=budget))
    return elsewhere(request, f"/datasets/{dataset}/budget")


def raise_form(request: Request, dataset: str, budget: FormText) -> Response:
    Manager(desk_of(request)).change("raise_budget", bodies.RaiseBody(budget=budget))
    return elsewhere(request, f"/datasets/{dataset}/budget")


def member_form(request: Request, dataset: str, person: FormText, role: FormText) -> Response:
    Manager(desk_of(request)).set_role(person, Role(role) if role in list(Role) else None)
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
