"""Releases, a choice and checks under bits that repeat: what they store must not depend on where the rows lie."""

from __future__ import annotations

import secrets
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from made_people import people

import hushtable as ht
from bit_sources import SeededBits
from hushtable import kernel
from hushtable.privacy import bits, sampler

STRATEGIES = ("auto", "aim", "residual-planner", "identity")
QUERIES = [
    "COUNT WHERE sex = 'F'",
    "SUM(age) WHERE born IS NOT NULL",
    "MEDIAN(income)",
    "COUNT WHERE cost < 1",
]


def public_rows(declared: ht.Schema) -> pl.DataFrame:
    """A synthetic file that checks are about."""
    public = pl.from_arrow(people(500, seed=9)).select("sex", "age", "member")
    public = public.filter(pl.col("sex").is_in(["F", "M"]), pl.col("age").is_between(0, 99), pl.col("member"))
    rest = {
        "income": 1.0,
        "cost": 0.5,
        "born": date(1995, 1, 1),
        "seen": date(2020, 5, 5),
        "left": date(2020, 5, 6),
    }
    return public.with_columns(**{k: pl.lit(v) for k, v in rest.items()}).select(declared.names)


def stored_payloads(
    data: Any, declared: ht.Schema, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """SHA-256 of everything that is stored by releases of all strategies, a choice and checks.

    Rows that are weighed cannot be checked, and ``aim`` measures no totals.
    """
    with monkeypatch.context() as patch:
        patch.setattr(sampler, "_SHARED", 1 << 20)  # one thread draws, so that the order of bits is fixed
        patch.setattr(secrets, "token_hex", lambda size: "00" * size)
        patch.setattr(bits, "_SYSTEM", SeededBits(7))
        # a choice's first payload says where its file is
        patch.setattr(kernel, "place_of", lambda data: None, raising=False)
        session = ht.Session.open(data, schema=declared, ledger=ledger, budget=ht.ZCDP(50))
        workload = ht.Workload.all_marginals(declared, order=2)
        for strategy in STRATEGIES if not declared.sums else [s for s in STRATEGIES if s != "aim"]:
            session.release(workload, budget=ht.ZCDP(0.2), strategy=strategy, request=strategy)
        options = [ht.linear.marginals(declared, order=k) for k in (1, 2)]
        session.choose(options, budget=ht.ZCDP(0.2)).finish(1)
        for query in QUERIES if declared.weight is None else ():
            session.check(query, public_rows(declared), tau="10%", budget=ht.ZCDP(2))
    found = ht.Ledger.open(ledger)
    return [str(charge.sha256) for holding in found.reservations() for charge in holding.charges]
