"""A dataset and its account: schema, ledger, members, what waits for a second curator, and who did what."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from hushtable.ledger import InclusionProof
from hushtable.service import bodies
from hushtable.service.managing import Manager, new_dataset
from hushtable.service.web.guard import add_route, caller_in, desk_of, service_of
from hushtable.service.web.replies import told


def router() -> APIRouter:
    """The routes of this module."""
    made = APIRouter()
    reads = (
        datasets,
        dataset,
        ledger,
        ledger_verify,
        ledger_export,
        ledger_proof,
        members,
        proposals,
        configuration,
        deeds,
    )
    changes = (dataset_create, schema_change, grant, raise_budget, publish, member_set, member_remove)
    for endpoint in (*reads, *changes, approve, reject):
        add_route(made, endpoint.__name__, endpoint)
    return made


def _manager(request: Request) -> Manager:
    return Manager(desk_of(request))


def datasets(request: Request) -> Response:
    service = service_of(request)
    roles = service.users.roles(caller_in(request).person)
    known = {one.name for one in service.catalogue.all()}
    items = [{"name": name, "role": role} for name, role in roles.items() if name in known]
    return told({"items": items, "next": None})


def dataset_create(request: Request, body: bodies.DatasetBody) -> Response:
    made = new_dataset(service_of(request), caller_in(request).person, body)
    return told(made.to_dict(), 201)


def dataset(request: Request, dataset: str) -> Response:
    access = desk_of(request).access
    return told({**access.dataset.to_dict(), "role": access.role})


def schema_change(request: Request, dataset: str, body: bodies.SchemaBody) -> Response:
    return told(_manager(request).change("schema_change", body))


def ledger(request: Request, dataset: str) -> Response:
    return told(desk_of(request).ledger.to_dict())


def ledger_verify(request: Request, dataset: str, head: str | None = None) -> Response:
    return told(desk_of(request).ledger.verify(head).to_dict())


def ledger_export(request: Request, dataset: str) -> Response:
    account = desk_of(request).ledger
    return told({"ledger": account.name, "head": account.head, "entries": account.export()})


def ledger_proof(request: Request, dataset: str, entry: int | None = None) -> Response:
    """The texts of the entries from one to the head; of the last entry if none is named."""
    return told(InclusionProof.of(desk_of(request).ledger, entry).to_dict())


def grant(request: Request, dataset: str, body: bodies.GrantBody) -> Response:
    return told(_manager(request).grant(body))


def raise_budget(request: Request, dataset: str, body: bodies.RaiseBody) -> Response:
    return told(_manager(request).change("raise_budget", body))


def publish(request: Request, dataset: str, release: str, body: bodies.PublishBody) -> Response:
    return told(_manager(request).publish(release, body))


def members(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    found = desk.service.users.members(desk.dataset.name)
    return told({"items": [{"name": name, "role": role} for name, role in found.items()], "next": None})


def member_set(request: Request, dataset: str, person: str, body: bodies.RoleBody) -> Response:
    return told(_manager(request).set_role(person, body.role))


def member_remove(request: Request, dataset: str, person: str) -> Response:
    return told(_manager(request).set_role(person, None))


def proposals(request: Request, dataset: str) -> Response:
    return told({"items": _manager(request).proposals(), "next": None})


def approve(request: Request, dataset: str, proposal: str) -> Response:
    return told(_manager(request).approve(proposal))


def reject(request: Request, dataset: str, proposal: str) -> Response:
    return told(_manager(request).reject(proposal))


def configuration(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    one, config = desk.dataset, desk.service.config
    return told(
        {
            "largest_rows": one.largest_rows,
            "share_answers": one.shares_answers,
            "two_curators": one.two_curators,
            "condition": one.condition,
            "slots": config.slots,
            "slot_lengths": {one.kind: one.to_dict() for one in desk.service.jobs.overruns()},
        }
    )


def deeds(request: Request, dataset: str, cursor: str = "") -> Response:
    desk = desk_of(request)
    found = desk.service.deeds.listed(desk.dataset.name, cursor, 100)
    return told(
        {"items": [dict(row) for row in found], "next": found[-1]["id"] if len(found) == 100 else None}
    )
