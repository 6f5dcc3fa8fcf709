"""Every error that Hushtable raises on purpose.

    HushtableError
    |-- UsageError             what was asked for cannot be understood   (exit code 2)
    |   |-- SchemaError        a schema, or its disagreement with the data's header
    |   |-- BudgetError        an amount that is not a budget
    |   |-- WorkloadError      marginals, weights, orders, sizes
    |   `-- QueryError         a question to a decider
    `-- RefusedError           understood, and refused                   (exit code 1)
        |-- BudgetExhausted    the ledger does not allow the spend
        |-- LedgerError        the ledger is missing, foreign, locked or damaged
        |-- SourceError        the confidential data cannot be read
        `-- BundleError        a release on disk cannot be read or written

An error has a stable ``code`` (``docs/reference/errors.md`` lists them all), a ``message`` of one sentence and a
``fix``: what to type instead.  Messages name columns, flags and files; they never contain a value from the data.
"""

from __future__ import annotations

from hushtable.python_words import in_python


class HushtableError(Exception):
    """Base of all errors of this package."""

    exit_code = 1

    def __init__(self, code: str, message: str, fix: str = "") -> None:
        super().__init__(code, message, fix)
        self.code = code
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        """For a program: what to type is said in Python; ``fix`` says it in flags."""
        return f"{self.message} {in_python(self.fix)}".strip() + f" [{self.code}]"


class UsageError(HushtableError):
    """The request cannot be understood; nothing was spent."""

    exit_code = 2


class SchemaError(UsageError):
    """A schema is wrong, or does not fit the header of the data."""


class BudgetError(UsageError):
    """An amount of privacy that is not a budget."""


class WorkloadError(UsageError):
    """Marginals that cannot be asked for."""


class QueryError(UsageError):
    """A question that a decider cannot answer."""


class RefusedError(HushtableError):
    """The request is understood and refused."""


class BudgetExhausted(RefusedError):
    """The ledger does not allow this spend; nothing was spent."""


class LedgerError(RefusedError):
    """The ledger is missing, foreign, locked or damaged."""


class SourceError(RefusedError):
    """The confidential data cannot be read."""


class BundleError(RefusedError):
    """A release on disk cannot be read or written."""


def unexpected(error: BaseException) -> RefusedError:
    """An error that nobody foresaw: its kind and place may be shown, its text may not."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f"{place.tb_frame.f_globals.get('__name__', '?')}:{place.tb_lineno}"
    return RefusedError(
        "internal.unexpected",
        f"Something went wrong that should not have ({type(error).__name__} at {where}).",
        "Please report it with the version and the command; the ledger shows what was charged.",
    )
