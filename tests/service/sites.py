"""Services that tests set up themselves: a small table, as many people as wanted, each with a token."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from running import Running, Visitor, started, wait_for

import hushtable as ht
from hushtable.service import Role, Scope, ServeConfig, Service

SCHEMA = """
attributes:
  age: {type: integer, bounds: [0, 79], width: 10}
  sex: {type: categorical, values: [F, M]}
  town: {type: categorical, values: [Ash, Elm, Oak]}
"""


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    """A made-up table."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 80, rows),
            "sex": np.array(["F", "M"])[rng.integers(0, 2, rows)],
            "town": np.array(["Ash", "Elm", "Oak"])[rng.integers(0, 3, rows)],
        }
    )


@dataclass
class Site:
    """A folder with a service's configuration, and the tokens of its people."""

    folder: Path
    database: str = "service.db"
    ledger: str = "{name}.ledger"
    budget: ht.privacy.Budget = field(default_factory=lambda: ht.PureDP(1000))
    settings: Mapping[str, object] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=lambda: {"people": people(1000)})
    dataset_settings: str = "largest_rows = 10000\n"
    schema: str = SCHEMA

    def __post_init__(self) -> None:
        self.tokens: dict[str, str] = {}
        (self.folder / "schema.yaml").write_text(self.schema)
        (self.folder / "data").mkdir()
        serve = {"database": self.database, "worker": "worker.toml", **self.settings}
        lines = ["[serve]", *(f"{key} = {_toml(value)}" for key, value in serve.items())]
        data = ["[worker]", 'serve = "hush.toml"', "[worker.data]"]
        for name, table in self.tables.items():
            table.write_csv(self.folder / "data" / f"{name}.csv")
            address = self.ledger_of(name)
            ht.Ledger.create(address, self.budget, name=name)
            lines += [f"[serve.datasets.{name}]", 'schema = "schema.yaml"', f'ledger = "{address}"']
            lines.append(self.dataset_settings)
            data.append(f'{name} = "data/{name}.csv"')
        (self.folder / "hush.toml").write_text("\n".join(lines) + "\n")
        (self.folder / "worker.toml").write_text("\n".join(data) + "\n")
        self.service = Service.open(ServeConfig.load(self.folder / "hush.toml"))

    def ledger_of(self, name: str) -> str:
        """The address of a dataset's ledger."""
        return self.ledger.format(name=name) if "://" in self.ledger else str(self.folder / f"{name}.ledger")

    def let_in(self, name: str, role: Role | None, dataset: str = "people", grant: str | None = None) -> None:
        """Somebody with a role, a token and perhaps a grant."""
        person = self.service.users.named(name) or self.service.users.add(name)
        if role is not None:
            self.service.users.set_role(person, dataset, role)
        self.tokens[name] = self.service.users.new_token(person, "test", list(Scope), 86400).secret
        if grant is not None:
            ht.Ledger.open(self.ledger_of(dataset)).grant(name, ht.privacy.Budget.parse(grant))

    def upload(self, name: str, dataset: str = "people", rows: int = 500) -> str:
        """A synthetic file of somebody, as it is known to the service."""
        person = self.service.users.named(name)
        content = people(rows, seed=7).write_csv().encode()
        return self.service.shelf.upload(dataset, person.id, content, "csv")

    def visitor(self, running: Running, name: str) -> Visitor:
        """Somebody who talks to the running service."""
        return Visitor(running.url, self.tokens[name])

    @contextmanager
    def running(self, port: int = 0, **environment: str) -> Generator[Running]:
        """The service with its processes, once a worker has opened the data."""
        words = ["--config", str(self.folder / "hush.toml"), "--port", str(port)]
        with started(words, self.folder / "log", **environment) as made:
            wait_for(lambda: all(one.condition == "open" for one in self.service.catalogue.all()))
            yield made


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return str(value) if isinstance(value, int | float | list) else f'"{value}"'
