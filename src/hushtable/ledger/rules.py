"""Which entry may follow: the rules that every write obeys and that ``verify`` applies again to every entry.

Each rule refuses with the error that the caller sees.  Nothing here reads or writes a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import assert_never

from hushtable.errors import BudgetExhausted, HushtableError, LedgerError
from hushtable.ledger import entries, names
from hushtable.ledger.book import Balance, Book, Folder
from hushtable.ledger.entries import Amount, Body, Entry
from hushtable.ledger.stores import older_than_payloads
from hushtable.privacy import ApproxDP, Budget, Cost, Kind

_COUNTS: dict[Kind, str] = {"pure": "pure epsilon", "zcdp": "zCDP rho", "approx": "pure epsilon and zCDP rho"}


def check(book: Book, body: Body) -> None:
    """Refuse an entry that may not follow those in the book."""
    if (book.dataset is None) != isinstance(body, entries.Create):
        raise entries.spoilt("A ledger has one create entry, its first.")
    match body:
        case entries.Create():
            names.check_dataset(body.name)
            _check_limit(body)
        case entries.Bind():
            _check_bind(book)
        case entries.Grant():
            _check_grant(book, body)
        case entries.Raise():
            _check_raise(dataset(book), body)
        case entries.SchemaVersion():
            _check_schema(book, body)
        case entries.Reserve():
            _check_reserve(book, body)
        case entries.Draw():
            _check_draw(book, body)
        case entries.Store():
            _check_store(book, body)
        case entries.Settle():
            if find_folder(book, body.reservation).settled:
                raise settled(body.reservation)
        case entries.Move():
            if not body.to.isprintable():
                raise entries.spoilt("The place that a ledger moved to is no plain text.")
        case _:
            assert_never(body)


def sealed(book: Book, body: Body) -> Entry:
    """The next entry, if it may follow; it is not recorded yet."""
    check(book, body)
    return entries.seal(body, number=book.count + 1, previous=book.head)


def take_in(book: Book, row: entries.Row) -> Entry:
    """Read the next stored entry, check it against the chain and the rules, and record it."""
    number = book.count + 1
    if row[0] != number:
        raise entries.damaged(number, "is missing")
    entry = entries.read(row, number=number, previous=book.head)
    try:
        check(book, entry.body)
        book.record(entry)
    except HushtableError as error:
        raise entries.damaged(number, f"breaks a rule ({error.code})") from None
    return entry


def dataset(book: Book) -> Balance:
    """The dataset's account; every book but an empty one has it."""
    if book.dataset is None:
        raise entries.spoilt("The ledger has no entries.")
    return book.dataset


def check_charged(book: Book, present: Iterable[int]) -> None:
    """Refuse payloads whose charge the ledger does not have: they were paid for in a later state of it."""
    for charge in present:
        if charge not in book.draws and charge not in book.moves:
            raise older_than_payloads(charge)


def find_folder(book: Book, number: int, hash: str | None = None) -> Folder:
    """The reservation with that entry number; with the hash of one handed out earlier, by no other ledger."""
    folder = book.folders.get(number)
    if folder is None or hash not in (None, folder.entry.hash):
        raise LedgerError(
            "ledger.unknown-reservation",
            "The reservation is not one of this ledger.",
            "Use the reservation that this ledger's reserve() or find() returned.",
        )
    return folder


def account_of(book: Book, spender: str | None) -> Balance:
    """A spender's account, or the dataset's."""
    if spender is None:
        return dataset(book)
    if spender not in book.grants:
        raise LedgerError(
            "ledger.unknown-spender",
            f"The ledger grants nothing to {spender!r}.",
            f"Ask the curator for `hush ledger grant L {spender} --budget ...`, or correct the name.",
        )
    return book.grants[spender]


def earlier(book: Book, body: entries.Reserve) -> list[Folder]:
    """The reservation that this request id made before, if any; refused if it was another request."""
    if body.request is None or body.request not in book.requests:
        return []
    folder = book.folders[book.requests[body.request]]
    if _identity(folder.body) != _identity(body):
        raise differs(body.request)
    return [folder]


def _identity(body: entries.Reserve) -> str:
    """What makes two reservations the same request: kind, spender and detail, not the amount or the time."""
    return entries.canonical([body.kind, body.spender, body.detail])


def differs(request: str) -> LedgerError:
    return LedgerError(
        "ledger.request-differs",
        f"The request id {request!r} belongs to another request.",
        "Choose a new request id, or repeat the first request exactly to get its stored answer.",
    )


def settled(number: int) -> LedgerError:
    return LedgerError(
        "ledger.settled", f"Reservation {number} is settled.", "Reserve again under a new request id."
    )


def _check_bind(book: Book) -> None:
    if book.unit is not None:
        raise LedgerError(
            "ledger.unit-changed",
            f"The ledger is bound to another unit of privacy: {book.unit}.",
            "Use a schema with the same max_rows_per_person and person, or a ledger of its own.",
        )


def _check_currency(book: Book, limit: Amount) -> None:
    kind = dataset(book).budget.kind
    if (kind == "pure" and limit.rho) or (kind == "zcdp" and limit.xi) or (kind != "approx" and limit.delta):
        raise LedgerError(
            "ledger.other-currency",
            f"The ledger counts {_COUNTS[kind]}, and this amount is in another currency.",
            f"Give it as --budget {'epsilon' if kind == 'pure' else 'rho'}=..., or use a mechanism priced in that.",
        )


def _check_limit(body: entries.Create | entries.Grant | entries.Raise) -> None:
    """The limit of an entry follows from its budget; spends are held against the limit, people read the budget."""
    budget = Budget.from_dict(body.budget)
    if budget.to_dict() != body.budget or not budget.has_limit(body.limit.cost):
        raise LedgerError(
            "ledger.limit-differs",
            "The limit of an entry is not that of its budget.",
            "Restore the latest copy of the ledger and check it with `hush ledger verify L --head H`.",
        )


def _check_grant(book: Book, body: entries.Grant) -> None:
    names.check_spender(body.spender)
    _check_limit(body)
    _check_currency(book, body.limit)
    account = book.grants.get(body.spender)
    used = None if account is None else account.spent + account.held
    if used is not None and not used <= body.limit.cost:
        raise LedgerError(
            "ledger.below-spent",
            f"{body.spender!r} has already spent or reserved {used}, more than the new grant.",
            f"Grant at least {used}; a grant is a total, not an addition.",
        )


def _check_raise(account: Balance, body: entries.Raise) -> None:
    _check_limit(body)
    budget = Budget.from_dict(body.budget)
    if budget.kind != account.budget.kind:
        raise LedgerError(
            "ledger.other-currency",
            f"The ledger counts {_COUNTS[account.budget.kind]}, and the new budget does not.",
            f"Give a budget of the same kind as {account.budget}.",
        )
    same_delta = not isinstance(budget, ApproxDP) or budget.delta == getattr(account.budget, "delta", None)
    if not same_delta:
        raise LedgerError(
            "ledger.delta-changed",
            "The new budget has another delta; a ledger keeps one for its life.",
            f"Keep the delta of {account.budget} and raise epsilon.",
        )
    if not account.limit <= body.limit.cost or account.limit == body.limit.cost:
        raise LedgerError(
            "ledger.not-a-raise",
            f"The new budget is not larger than the present one, {account.budget}.",
            "Give the new total, at least as large in every part; a budget is never lowered.",
        )


def _check_schema(book: Book, body: entries.SchemaVersion) -> None:
    if body.sha256 in book.schemas or body.version != len(book.schemas) + 1:
        raise entries.spoilt("A schema's version is out of order.")


def _check_reserve(book: Book, body: entries.Reserve) -> None:
    if book.unit is None:
        raise LedgerError(
            "ledger.no-unit",
            "The ledger is not bound to a unit of privacy yet.",
            "Open a session with a schema first, or call bind_unit(Unit(rows=1)).",
        )
    _check_words(body)
    if body.request is not None and body.request in book.requests:
        raise differs(body.request)
    _check_currency(book, body.cost)
    check_room(book, body.spender, body.cost.cost)


def _check_words(body: entries.Reserve) -> None:
    names.check_kind(body.kind)
    if body.request is not None:
        names.check_request(body.request)
    try:
        entries.canonical(body.detail)  # an infinite number in it has no spelling
        datetime.fromisoformat(body.time)
    except ValueError:
        raise LedgerError(
            "ledger.bad-reservation",
            "The time of a reservation is not a time, or its detail is not JSON.",
            "Restore a copy of the ledger.",
        ) from None


def check_room(book: Book, spender: str | None, cost: Cost) -> None:
    """Refuse a cost that the spender's grant or the dataset's budget has no room for."""
    if spender is not None:
        _check_account(book, spender, cost)
    _check_account(book, None, cost)


def _check_account(book: Book, spender: str | None, cost: Cost) -> None:
    account = account_of(book, spender)
    remaining = account.remaining
    if cost <= remaining:
        return
    whose = "the ledger" if spender is None else f"the grant of {spender!r}"
    open_count = len(book.open_folders(spender))
    part = next(name for name in ("rho", "xi", "delta") if getattr(cost, name) > getattr(remaining, name))
    left = remaining.to_dict().get(part, "0")
    word = {"xi": "epsilon", "delta": "truncation"}.get(part, part)
    waiting = f"; open reservations ({open_count}) hold {account.held}" if open_count else ""
    if left == "0":
        fix = "Ask the curator to raise it (`hush ledger raise` or `hush ledger grant`)."
    elif part != "delta":
        fix = f"Ask for at most --budget {word}={left}."
    elif (
        cost.xi and not cost.rho
    ):  # a truncation is written with the epsilon and the delta that it is part of
        epsilon = cost.to_dict()["xi"]
        fix = f"Ask for at most --budget epsilon={epsilon},delta={left},truncation={left}."
    else:
        fix = f"Spend a delta of at most {left}."
    raise BudgetExhausted(
        "ledger.exhausted" if spender is None else "ledger.grant-exhausted",
        f"The request costs {cost} and the remaining {word} of {whose} is {left}{waiting}.",
        fix,
    )


def _check_draw(book: Book, body: entries.Draw) -> None:
    folder = find_folder(book, body.reservation)
    if folder.settled:
        raise settled(body.reservation)
    if body.ordinal != len(folder.charges):
        raise LedgerError(
            "ledger.charge-raced",
            f"Reservation {body.reservation} has {len(folder.charges)} charges, so charge {body.ordinal} is not next.",
            "Another process works on this request; wait for it, then ask again with the same request id.",
        )
    if not body.cost.cost <= folder.held:
        raise BudgetExhausted(
            "ledger.over-reservation",
            f"The charge of {body.cost.cost} is more than the reservation still holds, {folder.held}.",
            "Charge no more than was reserved, or reserve the rest under its own request.",
        )


def check_in_time(book: Book, body: entries.Store) -> None:
    """Refuse to store what came too late: its reservation has ended, or was charged again meanwhile.

    Asked of every new entry, not of old ones: version 0.1 let a second process overtake the first.
    """
    folder = find_folder(book, book.draws[body.charge].reservation)
    if folder.settled or folder.charges[-1] != body.charge:
        raise LedgerError(
            "ledger.too-late",
            f"Charge {body.charge} was overtaken: its request went on, or ended, without its answers.",
            "They stay spent; ask again with the same request id for what was stored.",
        )


def _check_store(book: Book, body: entries.Store) -> None:
    if body.charge not in book.draws:
        raise LedgerError(
            "ledger.unknown-charge",
            f"The ledger has no charge {body.charge}.",
            "Charge first, then store its payload.",
        )
    if body.charge in book.payloads:
        raise LedgerError(
            "ledger.already-stored",
            f"Charge {body.charge} has its payload already.",
            "Read it with payload(); a second draw needs a second charge.",
        )
