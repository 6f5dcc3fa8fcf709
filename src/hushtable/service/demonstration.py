"""A service to look at: a made-up town, a curator, two analysts and an auditor, in a folder of its own."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from hushtable.ledger import Ledger, Unit
from hushtable.privacy import ApproxDP, Budget
from hushtable.schema import Schema
from hushtable.service.bodies import ReleaseBody
from hushtable.service.catalogue import OPEN
from hushtable.service.config import ServeConfig
from hushtable.service.desk import Access, Desk
from hushtable.service.roles import Reach, Role, Scope
from hushtable.service.service import Service
from hushtable.service.users import Caller

PASSWORD = "a made-up town"
ACCOUNTS = {
    "clara": Role.CURATOR,
    "anna": Role.ANALYST,
    "amir": Role.ANALYST,
    "audrey": Role.AUDITOR,
    "rosa": Role.READER,
}
"""Who is there, all with one password; the service listens on loopback only."""
GRANT = "epsilon=2,delta=1e-9,pure=1"
BUDGET = {"epsilon": 10, "delta": "1e-9", "pure": 4}
"""What each analyst may spend, and all together: enough for an afternoon of questions."""
LARGEST = 100_000
"""Rows that the town may have at most, as declared."""
PATIENCE = 600.0
"""Seconds to wait for the first release; on a cold machine loops are compiled first."""


@dataclass(frozen=True)
class Demonstration:
    """A folder with the data, schema, ledger and configuration of a service."""

    folder: Path
    data: Path
    schema: Path

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "hush.toml"

    def prepare(self) -> None:
        """Write the configuration, open the account, let people in and give the analysts grants."""
        schema = Schema.load(self.schema)
        ledger = Ledger.create(self.folder / "town.ledger", ApproxDP(**BUDGET), Unit.of(schema))
        for name, role in ACCOUNTS.items():
            if role is Role.ANALYST:
                ledger.grant(name, Budget.parse(GRANT))
        dataset = f'schema = "{self.schema.name}"\nledger = "town.ledger"\nlargest_rows = {LARGEST}\n'
        self.config.write_text(
            f'[serve]\nworker = "worker.toml"\nport = 8000\n\n[serve.datasets.town]\n{dataset}',
            encoding="utf-8",
        )
        (self.folder / "worker.toml").write_text(
            f'[worker]\nserve = "hush.toml"\n\n[worker.data]\ntown = "{self.data.name}"\n', encoding="utf-8"
        )
        service = Service.open(ServeConfig.load(self.config))
        made = [service.users.add(name, founder=role is Role.CURATOR) for name, role in ACCOUNTS.items()]
        for person, role in zip(made, ACCOUNTS.values(), strict=True):
            service.users.set_role(person, "town", role)
        service.users.set_password(made[0], PASSWORD)
        service.users.share_password(*made)
        service.storage.close()

    def publish_first(self) -> None:
        """Hand in the curator's first release, once the data are open, and publish it when it is done."""
        service = Service.open(ServeConfig.load(self.config))
        limit = time.time() + PATIENCE
        curator = service.users.named("clara")
        job = None
        while time.time() < limit and curator is not None:
            dataset = service.catalogue.named("town")
            if dataset is not None and dataset.condition == OPEN:
                caller = Caller(curator, frozenset(Scope))
                desk = Desk(Access(service, caller, dataset, Role.CURATOR, Reach.ALL))
                if job is None:
                    body = ReleaseBody.model_validate(json.loads('{"order": 2, "budget": "rho=0.1"}'))
                    job, _ = desk.ask_release(body, "demonstration")
                elif desk.job(job.id).shown(time.time()) != "waiting":
                    service.shelf.publish(job.id, time.time())
                    break
            time.sleep(0.1)
        service.storage.close()
