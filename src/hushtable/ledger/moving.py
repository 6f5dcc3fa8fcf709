"""Moving a ledger from one store to another, so that at every moment one of them at most can be spent from.

Both chains end in the same ``moved`` entry.  The new place alone has a payload under its number: that is how they are
told apart, wherever they are.  The old place is closed when the new one is written and only its commit is left; if that
is lost, the move is repeated to the same place, and to no other.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

from hushtable.errors import LedgerError
from hushtable.ledger import entries, rules
from hushtable.ledger.book import Book
from hushtable.ledger.failpoints import reach
from hushtable.ledger.stores import LedgerStore, exists_already

ARRIVED = b"The ledger goes on here."


def moved_to(book: Book, store: LedgerStore) -> str | None:
    """Where the ledger goes on, if that is elsewhere."""
    last = max(book.moves, default=None)
    return None if last is None or store.content(last) is not None else book.moves[last]


def require_here(book: Book, store: LedgerStore) -> None:
    """Refuse to write where the ledger has moved away from."""
    to = moved_to(book, store)
    if to is not None:
        raise LedgerError(
            "ledger.moved",
            f"The ledger has moved to {to}; nothing can be spent or changed here.",
            f"Give {to} as the ledger; if it is not there, repeat `hush ledger copy` to it.",
        )


def move(old: LedgerStore, new: LedgerStore) -> str:
    """Write a ledger elsewhere and close it here; returns the head of both."""
    if old.place == new.place:
        raise exists_already(new.place)
    with ExitStack() as closing:
        transaction = closing.enter_context(old.writing())
        book = Book()
        chain = [rules.take_in(book, row) for row in transaction.rows(start=0)]
        begun = moved_to(book, old) == new.place
        if not begun:
            require_here(book, old)
            chain.append(rules.sealed(book, entries.Move(to=new.place)))
        elif new.exists():
            return book.head
        end = chain[-1]
        contents = {charge: partial(old.payload, charge, sha256) for charge, sha256 in book.payloads.items()}

        def close() -> None:
            reach("copy.written")
            if not begun:
                transaction.append(end)
            closing.close()
            reach("copy.closed")

        new.create(chain, {**contents, end.number: lambda: ARRIVED}, close)
        reach("copy.done")
        return end.hash
