"""What people may ask, as bodies of requests, and what each means in the library's own words.

Nothing is planned or priced here: a body gives the library's objects, and the library refuses what they cannot be.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from hushtable import marginals, planning, release
from hushtable.errors import UsageError
from hushtable.privacy import Budget, Kind
from hushtable.schema import Schema
from hushtable.service.roles import Role, Scope

if TYPE_CHECKING:  # a service that starts answers its first page before it plans anything
    from hushtable.linear import OptionMechanism
    from hushtable.marginals import Workload
    from hushtable.release import Plan

ShortText = Annotated[str, Field(max_length=200)]
BudgetWords = Annotated[str, Field(max_length=200, examples=["rho=0.01", "epsilon=0.5"])]
QueryText = Annotated[str, Field(max_length=10_000)]
LongText = Annotated[str, Field(max_length=1_000_000)]
Attributes = Annotated[list[ShortText], Field(max_length=100)]
CellNumber = Annotated[int, Field(ge=-(2**53), le=2**53)]
CellRow = dict[ShortText, ShortText | CellNumber | float | bool | None]
CellWeight = int | float | Annotated[str, Field(max_length=60)]
"""Lengths keep a request from filling the memory; what is longer was never meant.  Numbers fit into any column."""
MOST_LISTED = 10_000
"""Marginals, options or rows of a body: more than a workload that a release of an evening can measure."""
MOST_CELLS = 10_000_000
"""Cells of all tables of a request: a release of an hour.  What has more would keep a web process planning, and then
the worker, for as long as nobody else gets an answer; whoever holds the data releases it with `hush release`."""
MOST_QUESTIONS = 1000
"""Questions of a check: the library's own limit for a batch."""


class RequestBody(BaseModel):
    """A body; keys that it does not know are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class WorkloadBody(RequestBody):
    """Marginals: all of an order, or those that are listed."""

    order: Annotated[int, Field(ge=0, le=100)] | None = None
    marginals: Annotated[list[Attributes], Field(max_length=MOST_LISTED)] | None = None
    weights: Annotated[list[CellWeight], Field(max_length=MOST_LISTED)] | None = None

    def workload(self, schema: Schema) -> Workload:
        """The workload that is meant."""
        if (self.order is None) == (self.marginals is None):
            raise UsageError(
                "usage.workload", "Give either order or marginals.", 'Send "order": 2 for all pairs.'
            )
        if self.marginals is None:
            return marginals.Workload.all_marginals(schema, order=self.order or 0)
        return marginals.Workload([tuple(one) for one in self.marginals], weights=self.weights)


class ReleaseBody(WorkloadBody):
    """A release, or the plan of one."""

    budget: BudgetWords
    strategy: ShortText = "auto"
    reconstruct: ShortText | None = None
    objective: ShortText = "sum_variance"
    reuse: bool = False

    def plan(self, schema: Schema, kind: Kind) -> Plan:
        """Noise and price, as ``Session.plan`` gives them."""
        way = release.Way(self.strategy, self.reconstruct, self.reuse, planning.PlanOptions(self.objective))
        workload = self.workload(schema)
        require_fewer_cells(workload, schema)
        return release.plan_release(schema, workload, Budget.parse(self.budget), way, lambda: kind)


def require_fewer_cells(workload: Workload, schema: Schema) -> None:
    """Refuse tables that are too large, before anything is planned."""
    resolved = workload.resolve(schema)
    if len(resolved.sets) > MOST_LISTED or resolved.cells > MOST_CELLS:
        raise UsageError(
            "request.too-many-cells",
            f"These are more than {MOST_LISTED:,} tables, or more than {MOST_CELLS:,} cells together.",
            "Ask for fewer or smaller tables; the curator can make larger releases with `hush release`.",
        )


class SyntheticPlace(RequestBody):
    """Where the synthetic rows are: records of a release, or a file that was uploaded."""

    release: ShortText | None = None
    upload: ShortText | None = None


class CheckBody(RequestBody):
    """A check, or the plan of one."""

    query: QueryText | Annotated[list[QueryText], Field(min_length=1, max_length=MOST_QUESTIONS)]
    synthetic: SyntheticPlace
    tau: float | ShortText
    budget: BudgetWords
    decider: ShortText = "auto"
    largest: float | None = None

    @property
    def queries(self) -> list[str]:
        """The questions, of which there may be one."""
        return [self.query] if isinstance(self.query, str) else self.query

    def asked(self) -> dict[str, Any]:
        """The keywords of ``Session.check``."""
        budget = Budget.parse(self.budget)
        return {"tau": self.tau, "budget": budget, "decider": self.decider, "largest": self.largest}


class CheckPlanBody(CheckBody):
    """The plan of a check, with what it should tell beyond."""

    beta: Annotated[float, Field(gt=0, lt=1)] = 0.05
    distances: Annotated[list[float], Field(max_length=1000)] = []


class ChooseBody(RequestBody):
    """A choice between analyses, from coarse to fine."""

    orders: Annotated[list[Annotated[int, Field(ge=0, le=100)]], Field(max_length=20)] = []
    options: Annotated[list[LongText], Field(max_length=20)] = []
    """Texts of option files, as `hush choose --options` reads them."""
    budget: BudgetWords

    def mechanisms(self, schema: Schema) -> list[OptionMechanism]:
        """The options that are meant."""
        for order in self.orders:
            require_fewer_cells(marginals.Workload.all_marginals(schema, order=order), schema)
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"option-{k}.yaml" for k in range(len(self.options))]
            for file, text in zip(files, self.options, strict=True):
                file.write_text(text, encoding="utf-8")
            return release.choices.options_from(schema, orders=self.orders, files=files)


class FinishBody(RequestBody):
    """The option that is taken."""

    option: Annotated[int, Field(ge=0, le=100)]


class RefineBody(RequestBody):
    """What a better look may cost per person."""

    rho: Annotated[str, Field(max_length=60)]


class NoBody(RequestBody):
    """Nothing more to say."""


class CombineBody(RequestBody):
    """Weights of cells: rows with attribute values, ``weight`` and perhaps a ``name``."""

    weights: Annotated[list[CellRow], Field(min_length=1, max_length=MOST_LISTED)]
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05


class GrantBody(RequestBody):
    """What a member may spend in total."""

    person: ShortText
    budget: BudgetWords


class RaiseBody(RequestBody):
    """The new total."""

    budget: BudgetWords


class PublishBody(RequestBody):
    """From when on readers see it: seconds since 1970; without it at once."""

    at: Annotated[float, Field(ge=0, le=1e11)] | None = None


class SchemaBody(RequestBody):
    """A schema in YAML."""

    schema_yaml: Annotated[LongText, Field(alias="schema")]


class DatasetBody(SchemaBody):
    """A new dataset over data that the worker's file names."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
    budget: BudgetWords
    largest_rows: Annotated[int, Field(ge=1, le=10**12)]
    share_answers: bool = False
    two_curators: bool = False


class RoleBody(RequestBody):
    """The role that somebody gets."""

    role: Role


class SignInBody(RequestBody):
    """Name and password."""

    name: ShortText
    password: Annotated[str, Field(max_length=1000)]


class PasswordBody(RequestBody):
    """The old password and the new one."""

    old: Annotated[str, Field(max_length=1000)]
    new: Annotated[str, Field(max_length=1000)]


class TokenBody(RequestBody):
    """A new token: what it is for, what it may do, how long it lives."""

    label: ShortText
    scopes: list[Scope] = [Scope.READ]
    days: Annotated[float, Field(gt=0, le=366)] = 30
