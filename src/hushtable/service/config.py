"""``hush.toml`` of a service: the table ``[serve]``, and ``[worker]`` in a file that web processes never open.

    [serve]                                       [worker]
    database = "service.db"                       serve = "hush.toml"
    folder = "state"
    worker = "worker.toml"                        [worker.data]
                                                  town = "confidential/town.csv"
    [serve.datasets.town]
    schema = "town.yaml"
    ledger = "town.ledger"
    largest_rows = 100000

Paths are from the file's own folder.  Where the data are, and what opens them, stands in the worker's file alone.
"""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Self, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hushtable.addresses import scheme_of
from hushtable.errors import UsageError

# The ports that there are.
Port = Annotated[int, Field(ge=0, le=65535)]
LOOPBACK = ("127.0.0.1", "::1", "localhost")
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]


class ConfigTable(BaseModel):
    """A table of a configuration file; what it does not know is refused by name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, value: object, file: Path, table: str) -> Self:
        """From the values of a file; the first fault is said in one sentence, without its value."""
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            raise _fault(cls, error, f"[{table}] of {file.name}") from None


class OpenIdProvider(ConfigTable):
    """Sign-in by OpenID Connect: ``[serve.oidc]``."""

    issuer: str
    client: str
    secret_variable: str | None = None
    """The environment variable with the client's secret; none for a public client."""
    name_claim: str = "preferred_username"
    roles_claim: str = "hushtable"
    """The claim with roles: a list of DATASET:ROLE."""
    title: str = "single sign-on"


class DatasetTable(ConfigTable):
    """A dataset as web processes know it: ``[serve.datasets.NAME]``."""

    schema_file: Annotated[str, Field(alias="schema")]
    ledger: str
    largest_rows: Annotated[int, Field(ge=1, le=10**12)]
    """Declared and public: slots are as long as a table of so many rows needs."""
    share_answers: bool = False
    """Whether a question that somebody else asked is free; its price then tells that it was asked."""
    two_curators: bool = False
    """Whether raising the budget, changing the schema and publishing need a second curator."""


class ServeConfig(ConfigTable):
    """The table ``[serve]``."""

    database: str = "service.db"
    folder: str = "state"
    worker: str | None = None
    """The worker's own file; `hush serve` starts a worker with it and does not read it."""
    host: str = "127.0.0.1"
    port: Port = 8000
    address: str | None = None
    """The address that people type, such as https://hush.example.org: providers of sign-ins send people back there."""
    metrics_port: Port | None = None
    processes: Annotated[int, Field(ge=1, le=64)] = 1
    workers: Annotated[int, Field(ge=0, le=64)] = 1
    certificate: str | None = None
    key: str | None = None
    proxies: tuple[str, ...] = ()
    """Addresses of proxies whose forwarded headers are believed; they speak TLS for us."""
    slots: bool = True
    """False only for tests and where every analyst may see the data: durations then tell about rows."""
    upload_megabytes: Annotated[int, Field(ge=1, le=4096)] = 64
    passwords: bool = True
    oidc: OpenIdProvider | None = None
    datasets: dict[Name, DatasetTable] = {}

    @classmethod
    def load(cls, file: str | Path) -> ServeConfig:
        """Read the table ``[serve]`` of a file, with its paths made absolute."""
        path = Path(file)
        found = cls.read(_table(path, "serve"), path, "serve")
        found._check(path)
        here = path.absolute().parent
        datasets = {
            name: one.model_copy(
                update={"schema_file": _placed(here, one.schema_file), "ledger": _placed(here, one.ledger)}
            )
            for name, one in found.datasets.items()
        }
        paths = ("database", "folder", "worker", "certificate", "key")
        placed = {key: _placed(here, value) for key in paths if (value := getattr(found, key)) is not None}
        return found.model_copy(update={**placed, "datasets": datasets})

    def _check(self, file: Path) -> None:
        if (self.certificate is None) != (self.key is None):
            raise _wrong(file, "certificate and key come together", "Give both, or neither.")
        for address in self.proxies:
            try:
                ip_network(address)
            except ValueError:
                raise _wrong(
                    file, "an address in proxies is none", 'Write for example proxies = ["10.0.0.5"].'
                ) from None
        if self.host not in LOOPBACK and self.certificate is None and not self.proxies:
            raise _wrong(
                file,
                "host is no loopback address, and neither a certificate nor a proxy protects passwords",
                "Give certificate and key, or proxies with the address of a proxy that speaks TLS.",
            )
        if self.oidc is not None:
            issuer = urlsplit(self.oidc.issuer)
            if self.address is None:
                raise _wrong(
                    file, "oidc needs an address to send people back to", 'Write address = "https://...".'
                )
            if issuer.scheme != "https" and issuer.hostname not in LOOPBACK:
                raise _wrong(file, "the issuer of oidc is not asked by TLS", "Give an https:// issuer.")
        if self.processes > 1 and scheme_of(self.database, ()) is None:
            raise _wrong(
                file,
                "several web processes need PostgreSQL, and database is a file",
                'Write database = "postgresql://HOST/DATABASE", or processes = 1.',
            )

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by TLS."""
        return self.certificate is not None or bool(self.proxies)


class WorkerConfig(ConfigTable):
    """The table ``[worker]``: where confidential data are.  Only workers read it."""

    serve: str
    data: dict[Name, str] = {}

    @classmethod
    def load(cls, file: str | Path) -> WorkerConfig:
        """Read the table ``[worker]`` of a file, with its paths made absolute."""
        path = Path(file)
        found, here = cls.read(_table(path, "worker"), path, "worker"), path.absolute().parent
        data = {name: _placed(here, where) for name, where in found.data.items()}
        return found.model_copy(update={"serve": _placed(here, found.serve), "data": data})


def _table(file: Path, name: str) -> object:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise UsageError(
            "serve.config", f"{file.name} cannot be read.", f"Write a table [{name}] in TOML."
        ) from None
    if name not in content:
        raise UsageError("serve.config", f"{file.name} has no table [{name}].", f"Write [{name}] on a line.")
    return content[name]


def _placed(here: Path, address: str) -> str:
    """A path from the file's folder; an address of a database, or a path that is absolute, as it is."""
    known = scheme_of(address, ("delta", "iceberg", "spark"))
    return address if known is not None else str(here / Path(address).expanduser())


def _wrong(file: Path, what: str, fix: str) -> UsageError:
    return UsageError("serve.config", f"In {file.name}, {what}.", fix)


def _fault(table: type[ConfigTable], error: ValidationError, place: str) -> UsageError:
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        known = _keys(table, first["loc"][:-1])
        near = get_close_matches(str(first["loc"][-1]), known, n=1)
        meant = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(known)}."
        return UsageError("serve.unknown-key", f"{place} has an unknown key, {where}.", meant)
    if first["type"] == "missing":
        return UsageError("serve.config", f"{place} lacks {where}.", f"Add a line {where} = ... to it.")
    return UsageError("serve.config", f"{place}: {where} is not as it should be ({first['type']}).", "")


def _keys(table: type[ConfigTable], path: tuple[Any, ...]) -> list[str]:
    """The keys that the table at a path knows."""
    for part in path:
        field = table.model_fields.get(str(part))
        if field is None:
            continue
        found = [kind for kind in _kinds(field.annotation) if issubclass(kind, ConfigTable)]
        table = found[0] if found else table
    return [field.alias or name for name, field in table.model_fields.items()]


def _kinds(annotation: Any) -> list[type]:
    parts = cast("tuple[Any, ...]", getattr(annotation, "__args__", ()))
    return [annotation] if isinstance(annotation, type) else [kind for part in parts for kind in _kinds(part)]
