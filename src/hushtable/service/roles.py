"""Who may do what: one table of routes, roles and ownership.

The web enforces this table, ``docs/reference/service-routes.md`` is written from it, and a test walks through it.
What is not listed is denied.  A dataset that somebody has no role in answers like one that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    """What a person is in one dataset."""

    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"
    READER = "reader"


class Reach(StrEnum):
    """Which things of a dataset a role reaches by a route."""

    ALL = "all"
    OWN = "own"
    """What the person made."""
    SHOWN = "own and published"
    """Also releases that are published, from the publication on."""
    RELEASED = "published, once due"
    """Releases that are published, from their release time on."""


class Scope(StrEnum):
    """What a token may be used for; a browser has all of them."""

    READ = "read"
    SPEND = "spend"
    MANAGE = "manage"


class Audience(StrEnum):
    """Whom a route answers at all."""

    EVERYBODY = "everybody"
    PEOPLE = "whoever is signed in"
    FOUNDERS = "founders"
    MEMBERS = "members of the dataset"


@dataclass(frozen=True)
class Route:
    """One route: its name in the code, what it is for, and who may use it how far."""

    name: str
    method: str
    path: str
    summary: str
    scope: Scope = Scope.READ
    audience: Audience = Audience.MEMBERS
    reach: Mapping[Role, Reach] = field(default_factory=dict[Role, Reach])
    spends: bool = False
    """Whether it needs an Idempotency-Key and answers with a job."""


C, A, U, R = Role.CURATOR, Role.ANALYST, Role.AUDITOR, Role.READER
_EVERYONE = {C: Reach.ALL, A: Reach.ALL, U: Reach.ALL, R: Reach.ALL}
_RELEASES = {C: Reach.ALL, A: Reach.SHOWN, U: Reach.ALL, R: Reach.RELEASED}
_MADE = {C: Reach.ALL, A: Reach.OWN, U: Reach.ALL}
_ASKING = {C: Reach.ALL, A: Reach.ALL}
_OWN = {C: Reach.ALL, A: Reach.OWN}
_ACCOUNT = {C: Reach.ALL, U: Reach.ALL}
_CURATOR = {C: Reach.ALL}
_D = "/v1/datasets/{dataset}"
_RELEASE = _D + "/releases/{release}"
_CHOICE = _D + "/choices/{choice}"


def _of(name: str, method: str, path: str, summary: str, reach: Mapping[Role, Reach]) -> Route:
    return Route(name, method, path, summary, reach=reach)


def _asked(name: str, path: str, summary: str, reach: Mapping[Role, Reach] = _ASKING) -> Route:
    return Route(name, "POST", path, summary, Scope.SPEND, reach=reach, spends=True)


def _managed(name: str, method: str, path: str, summary: str) -> Route:
    return Route(name, method, path, summary, Scope.MANAGE, reach=_CURATOR)


def _own(name: str, method: str, path: str, summary: str, scope: Scope = Scope.READ) -> Route:
    return Route(name, method, path, summary, scope, Audience.PEOPLE)


def _open(name: str, method: str, path: str, summary: str) -> Route:
    return Route(name, method, path, summary, audience=Audience.EVERYBODY)


ROUTES: Mapping[str, Route] = {
    route.name: route
    for route in (
        _open("health", "GET", "/healthz", "Whether the process runs"),
        _open("readiness", "GET", "/readyz", "Whether the database answers and a worker lives"),
        _open("sign_in", "POST", "/v1/sign-in", "Sign in by password"),
        _open("oidc_start", "GET", "/v1/sign-in/oidc", "Sign in at the configured provider"),
        _open("oidc_end", "GET", "/v1/sign-in/oidc/done", "Come back from the provider"),
        _own("me", "GET", "/v1/me", "Who one is, and the token for forms"),
        _own("sign_out", "POST", "/v1/sign-out", "End the sign-in"),
        _own("password", "POST", "/v1/password", "Change one's own password", Scope.MANAGE),
        _own("tokens", "GET", "/v1/tokens", "One's own tokens, without their secrets", Scope.MANAGE),
        _own("token_create", "POST", "/v1/tokens", "A new token, shown once", Scope.MANAGE),
        _own("token_revoke", "DELETE", "/v1/tokens/{token}", "End a token", Scope.MANAGE),
        _own("datasets", "GET", "/v1/datasets", "The datasets that one has a role in"),
        Route(
            "dataset_create",
            "POST",
            "/v1/datasets",
            "A new dataset over data that the worker knows",
            Scope.MANAGE,
            Audience.FOUNDERS,
        ),
        _of("dataset", "GET", _D, "A dataset: schema, unit, role", _EVERYONE),
        _managed("schema_change", "PUT", _D + "/schema", "Declare a changed schema"),
        _of("remaining", "GET", _D + "/remaining", "What one may still spend", _ASKING),
        _of("plan", "POST", _D + "/plan", "Noise, price and errors of a release; spends nothing", _ASKING),
        _asked("release", _D + "/releases", "Measure a workload"),
        _of("releases", "GET", _D + "/releases", "The releases that one may see", _RELEASES),
        _of("release_show", "GET", _RELEASE, "A release, as `to_dict()` gives it", _RELEASES),
        _of("table", "GET", _RELEASE + "/table", "A table with error bars", _RELEASES),
        _of("range", "GET", _RELEASE + "/range", "An interval of an ordered attribute", _RELEASES),
        _of("quantile", "GET", _RELEASE + "/quantile", "Quantiles with intervals", _RELEASES),
        _of("area", "GET", _RELEASE + "/area", "Categories of a tree together", _RELEASES),
        _of("replicates", "GET", _RELEASE + "/replicates", "Draws of the noise beside a table", _RELEASES),
        _of("combine", "POST", _RELEASE + "/combine", "Weighted sums of released cells", _RELEASES),
        _of("accuracy", "GET", _RELEASE + "/accuracy", "Errors of all tables of a release", _RELEASES),
        _of("microdata", "GET", _RELEASE + "/microdata", "Records made from the release", _RELEASES),
        _of("report", "GET", _RELEASE + "/report", "The report as a page", _RELEASES),
        _managed("publish", "POST", _RELEASE + "/publish", "Publish a release, at once or at a time"),
        _of("upload", "POST", _D + "/synthetic", "A synthetic file to check answers of", _ASKING),
        _of("uploads", "GET", _D + "/synthetic", "The synthetic files that one has uploaded", _OWN),
        _of(
            "plan_check", "POST", _D + "/checks/plan", "Price and errors of a check; spends nothing", _ASKING
        ),
        _asked("check", _D + "/checks", "Ask whether synthetic answers can be trusted"),
        _asked("choose", _D + "/choices", "Release what several analyses have in common"),
        _of("choices", "GET", _D + "/choices", "Choices and how they stand", _MADE),
        _of("choice_show", "GET", _CHOICE, "A choice, as `to_dict()` gives it", _MADE),
        _asked("finish", _CHOICE + "/finish", "Take an option and pay the difference", _OWN),
        _asked("advance", _CHOICE + "/advance", "Pass the coarsest open option by", _OWN),
        _asked("refine", _CHOICE + "/refine", "Buy the common part once more", _OWN),
        _asked("abandon", _CHOICE + "/abandon", "Take none, and free the rest", _OWN),
        _of("jobs", "GET", _D + "/jobs", "Jobs, newest first", _MADE),
        _of("job", "GET", _D + "/jobs/{job}", "How a job stands", _MADE),
        _of("job_result", "GET", _D + "/jobs/{job}/result", "What a job gave", _MADE),
        Route(
            "job_cancel", "DELETE", _D + "/jobs/{job}", "Cancel before the charge", Scope.SPEND, reach=_OWN
        ),
        _of("ledger", "GET", _D + "/ledger", "The account of privacy", _ACCOUNT),
        _of("ledger_verify", "GET", _D + "/ledger/verify", "Recompute chain, rules and payloads", _ACCOUNT),
        _of("ledger_export", "GET", _D + "/ledger/export", "Every entry", _ACCOUNT),
        _of(
            "ledger_proof", "GET", _D + "/ledger/proof", "That an entry is in the chain of the head", _ACCOUNT
        ),
        _managed("grant", "POST", _D + "/ledger/grants", "Let a member spend up to a total"),
        _managed("raise_budget", "POST", _D + "/ledger/raise", "Raise the budget to a new total"),
        _of("members", "GET", _D + "/members", "Who has which role", _ACCOUNT),
        _managed("member_set", "PUT", _D + "/members/{person}", "Give somebody a role"),
        _managed("member_remove", "DELETE", _D + "/members/{person}", "Take somebody's role away"),
        _of("proposals", "GET", _D + "/proposals", "What waits for a second curator", _ACCOUNT),
        _managed("approve", "POST", _D + "/proposals/{proposal}/approve", "Agree, as a second curator"),
        _managed("reject", "POST", _D + "/proposals/{proposal}/reject", "Disagree, or withdraw"),
        _of("configuration", "GET", _D + "/configuration", "What is configured, and slots", _ACCOUNT),
        _of("deeds", "GET", _D + "/deeds", "Who did what, without values", _ACCOUNT),
    )
}
"""Every route under ``/v1``, in the order of the documentation."""


def rows() -> Iterator[tuple[Route, Role, Reach | None]]:
    """Each route of a dataset with each role: how far it reaches, None where it is denied."""
    for route in ROUTES.values():
        if route.audience is Audience.MEMBERS:
            for role in Role:
                yield route, role, route.reach.get(role)


def table_of_routes() -> str:
    """The table for the documentation, in Markdown."""
    lines = [
        "| route | what it is for | " + " | ".join(Role) + " |",
        "|---|---|" + "---|" * len(Role),
    ]
    for route in ROUTES.values():
        where = f"`{route.method} {route.path}`" + (" (a job)" if route.spends else "")
        if route.audience is Audience.MEMBERS:
            cells = [str(route.reach.get(role, "-")) for role in Role]
        else:
            cells = [str(route.audience)] * len(Role)
        lines.append(f"| {where} | {route.summary} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
