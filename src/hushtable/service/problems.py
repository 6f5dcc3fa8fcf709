"""Errors as RFC 9457 problem details, with the code that every error of ours has; never with a value."""

from __future__ import annotations

import json
from typing import Any

from hushtable.errors import BudgetExhausted, HushtableError, RefusedError, SourceError, UsageError

PASSING = frozenset(
    {
        "serve.database",
        "ledger.connection-lost",
        "ledger.unreachable",
        "ledger.unsure",
        "ledger.locked",
        "ledger.in-progress",
        "ledger.charge-raced",
    }
)
"""Codes of what passes by itself: the same again, under the same key, is the remedy."""
_STATUS = {
    "auth.required": 401,
    "user.wrong-password": 401,
    "auth.role": 403,
    "auth.scope": 403,
    "auth.csrf": 403,
    "auth.second-curator": 403,
    "ledger.exhausted": 403,
    "ledger.grant-exhausted": 403,
    "request.too-large": 413,
    "request.no-key": 400,
    "serve.too-many-jobs": 429,
    "serve.too-many-requests": 429,
    "user.too-many-attempts": 429,
    "serve.data-not-open": 503,
    "serve.data-unreadable": 503,
    "internal.unexpected": 500,
}
_PLACED = frozenset(
    f"ledger.{name}"
    for name in [
        "connection-lost",
        "database",
        "exists",
        "foreign",
        "hard-link",
        "is-folder",
        "locked",
        "missing",
        "no-fsync",
        "not-allowed",
        "payload-damaged",
        "pooler",
        "read-only",
        "replaced",
        "symlink",
        "unreachable",
        "unreadable",
        "unsure",
        "unwritable",
    ]
)
"""Codes of what is wrong with a ledger, in words that name its file or server: those are the operator's alone."""
RETRY = 5
"""Seconds after which a client may try again what passes by itself: longer than a restart of a worker or server."""


def status_of(error: HushtableError) -> int:
    """The status of HTTP that says the same."""
    if error.code in _STATUS:
        return _STATUS[error.code]
    if error.code.endswith(".absent"):
        return 404
    if error.code in PASSING or isinstance(error, SourceError):
        return 503
    if isinstance(error, BudgetExhausted):
        return 403
    return 422 if isinstance(error, UsageError) else 409


def without_place(error: HushtableError) -> HushtableError:
    """The same without the file or the server of a ledger in its words."""
    if error.code not in _PLACED:
        return error
    return RefusedError(
        error.code,
        "The ledger of this dataset cannot be used at the moment.",
        "Try again in a while, or ask its curator to look at it with `hush ledger verify`.",
    )


def problem(error: HushtableError, status: int | None = None) -> dict[str, Any]:
    """The body of a problem."""
    status, error = status or status_of(error), without_place(error)
    return {
        "type": f"urn:hushtable:error:{error.code}",
        "title": error.message,
        "status": status,
        "code": error.code,
        "detail": f"{error.message} {error.fix}".strip(),
        "fix": error.fix,
    }


def problem_text(error: HushtableError) -> str:
    """The same as JSON."""
    return json.dumps(problem(error))
