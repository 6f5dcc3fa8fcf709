"""What curators change: grants, budgets, schemas, publications and roles; some of it only with a second curator.

A change that needs two is a proposal first: another curator of the dataset approves it, and only then is it made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hushtable.addresses import POSTGRES, scheme_of
from hushtable.errors import HushtableError, LedgerError, RefusedError
from hushtable.ledger import Ledger, Unit
from hushtable.privacy import Budget
from hushtable.schema import Schema
from hushtable.service import bodies
from hushtable.service.catalogue import CLOSED, Dataset
from hushtable.service.config import ServeConfig
from hushtable.service.desk import AbsentError, Desk
from hushtable.service.roles import Role
from hushtable.service.service import Service
from hushtable.service.storage import Record, new_id
from hushtable.service.users import User


def new_dataset(service: Service, founder: User, body: bodies.DatasetBody) -> Dataset:
    """A dataset over data that the worker's file names; its maker is its curator."""
    schema = Schema.loads(body.schema_yaml)
    schema.require_reviewed()
    made = Dataset(
        body.name,
        schema.to_yaml(),
        _new_ledger(service.config, body.name),
        body.largest_rows,
        body.share_answers,
        body.two_curators,
        CLOSED,
    )
    taken = RefusedError("dataset.exists", "A dataset of this name exists.", "Choose another name.")
    if service.catalogue.named(body.name) is not None:
        raise taken
    try:
        Ledger.create(made.ledger_address, Budget.parse(body.budget), Unit.of(schema), name=body.name)
    except LedgerError as error:
        raise taken if error.code == "ledger.exists" else error from None
    if not service.catalogue.add(made):
        raise taken
    service.users.set_role(founder, body.name, Role.CURATOR)
    service.deeds.note("dataset_create", "done", person=founder.id, dataset=body.name)
    return made


def _new_ledger(config: ServeConfig, name: str) -> str:
    """Where the ledger of a new dataset is kept: with the service's own tables."""
    if scheme_of(config.database, ()) in POSTGRES:
        joined = "&" if "?" in config.database else "?"
        return f"{config.database}{joined}ledger={name}"
    folder = Path(config.folder) / "ledgers"
    folder.mkdir(exist_ok=True)
    return str(folder / f"{name}.ledger")


class Manager:
    """The changes of one curator at one dataset."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._service, self._dataset = desk, desk.service, desk.dataset

    def grant(self, body: bodies.GrantBody) -> dict[str, Any]:
        """Let a member spend up to a total, and tell how the account stands."""
        if body.person not in self._service.users.members(self._dataset.name):
            raise AbsentError("member")
        ledger = self._desk.ledger
        self._desk.noted("grant", lambda: ledger.grant(body.person, Budget.parse(body.budget)))
        return ledger.to_dict()

    def set_role(self, name: str, role: Role | None) -> dict[str, Any]:
        """Give somebody a role, or none.

        Where two curators decide, neither makes or removes one alone: a second one of their own choice would agree.
        """
        users, dataset = self._service.users, self._dataset.name
        person = users.named(name)
        held = None if person is None else users.role(person, dataset)
        if person is None or (role is None and held is None):
            raise AbsentError("member")
        change = {"person": name, "role": role}
        several = list(users.members(dataset).values()).count(Role.CURATOR) > 1
        if role is not held and Role.CURATOR in (role, held) and several:
            return self._two("member_set", change)
        return self._desk.noted("member_set", lambda: self._do("member_set", change))

    def publish(self, release: str, body: bodies.PublishBody) -> dict[str, Any]:
        """Publish a release, at once or at a time."""
        kept = self._desk.kept(release)
        self._require_unseen(kept.id)
        at = time.time() if body.at is None else body.at
        return self._two("publish", {"release": kept.id, "at": at})

    def change(self, action: str, body: bodies.RequestBody) -> dict[str, Any]:
        """Raise the budget or change the schema; what cannot be is refused before it is proposed."""
        if isinstance(body, bodies.SchemaBody):
            Schema.loads(body.schema_yaml).require_reviewed()
        if isinstance(body, bodies.RaiseBody):
            Budget.parse(body.budget)
        return self._two(action, body.model_dump(mode="json", by_alias=True))

    def _two(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        """Do it at once, or propose it where a second curator must agree."""
        if not self._dataset.two_curators:
            return self._desk.noted(action, lambda: self._do(action, body))
        made, person = new_id(), self._desk.access.caller.person.id
        with self._service.storage.writing() as rows:
            rows.add(
                "proposal",
                id=made,
                dataset=self._dataset.name,
                person=person,
                action=action,
                body=json.dumps(body),
                state="open",
            )
        self._desk.noted(f"{action} proposed", lambda: None)
        return {"proposal": made, "state": "open"}

    def _do(self, action: str, body: dict[str, Any]) -> dict[str, Any]:
        ways: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "raise_budget": self._raise,
            "schema_change": self._schema,
            "publish": self._publish,
            "member_set": self._member,
        }
        return ways[action](body)

    def _raise(self, body: dict[str, Any]) -> dict[str, Any]:
        self._desk.ledger.raise_budget(Budget.parse(body["budget"]))
        return self._desk.ledger.to_dict()

    def _schema(self, body: dict[str, Any]) -> dict[str, Any]:
        schema = Schema.loads(body["schema"])
        self._desk.ledger.schema_version(schema.canonical)  # refuses another unit
        if schema.to_yaml() != self._dataset.schema_yaml:
            self._service.catalogue.set_schema(self._dataset.name, schema.to_yaml())
        return schema.to_dict()

    def _require_unseen(self, release: str) -> None:
        """Refuse another time for what readers have seen already."""
        kept = self._service.shelf.get(self._dataset.name, release)
        if kept is not None and kept.published is not None and kept.published <= time.time():
            raise RefusedError(
                "release.published",
                "Readers see this release already.",
                "Nothing is taken back by a later time.",
            )

    def _publish(self, body: dict[str, Any]) -> dict[str, Any]:
        self._require_unseen(body["release"])
        self._service.shelf.publish(body["release"], float(body["at"]))
        return {"release": body["release"], "published": body["at"]}

    def _member(self, body: dict[str, Any]) -> dict[str, Any]:
        person, role = self._service.users.named(body["person"]), body["role"]
        if person is None:
            raise AbsentError("member")
        self._service.users.set_role(person, self._dataset.name, None if role is None else Role(role))
        return {"name": body["person"], "role": role}

    def proposals(self) -> list[dict[str, Any]]:
        """What was proposed, newest first."""
        asked = (
            "SELECT r.*, p.name AS proposer FROM proposal r JOIN person p ON p.id = r.person "
            "WHERE r.dataset = ? ORDER BY r.id DESC"
        )
        with self._service.storage.reading() as rows:
            found = rows.all(asked, self._dataset.name)
        names = ("id", "action", "state", "proposer")
        return [{name: row[name] for name in names} | {"body": json.loads(row["body"])} for row in found]

    def approve(self, proposal: str) -> dict[str, Any]:
        """Make a change that another curator proposed."""
        row = self._open(proposal)
        if row["person"] == self._desk.access.caller.person.id:
            raise RefusedError(
                "auth.second-curator", "A second curator must agree.", "Ask another curator to approve it."
            )
        self._decide(row, "approved")
        try:
            return self._desk.noted(row["action"], lambda: self._do(row["action"], json.loads(row["body"])))
        except HushtableError:
            self._decide(row, "open", after="approved")  # nothing was changed
            raise

    def reject(self, proposal: str) -> dict[str, Any]:
        """Close a proposal without making it."""
        row = self._open(proposal)
        self._desk.noted(f"{row['action']} rejected", lambda: self._decide(row, "rejected"))
        return {"proposal": proposal, "state": "rejected"}

    def _open(self, proposal: str) -> Record:
        asked = "SELECT * FROM proposal WHERE id = ? AND dataset = ?"
        with self._service.storage.reading() as rows:
            row = rows.one(asked, proposal, self._dataset.name)
        if row is None:
            raise AbsentError("proposal")
        return row

    def _decide(self, row: Record, state: str, after: str = "open") -> None:
        changed = "UPDATE proposal SET state = ?, decided_by = ? WHERE id = ? AND state = ?"
        with self._service.storage.writing() as rows:
            if not rows.run(changed, state, self._desk.access.caller.person.id, row["id"], after):
                raise RefusedError(
                    "proposal.closed", "The proposal was decided on before.", "Make a new one."
                )
