"""A table of whole numbers in PostgreSQL: the schema and layout that tests read it by."""

from __future__ import annotations

import gc

import pytest

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Layout

PLAIN = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})
CAPPED = ht.Schema.from_dict(PLAIN.to_dict() | {"person": "id"})
LAYOUT = Layout(PLAIN.sizes, ((), (0,)))


def refusal(url: str, declared: ht.Schema = PLAIN) -> HushtableError:
    with pytest.raises(HushtableError) as caught:
        open_counter(url, declared)
    assert caught.value.__context__ is None
    error = caught.value.with_traceback(None)
    del caught
    gc.collect()  # frames of the traceback hold the table, and the table its locks
    return error
