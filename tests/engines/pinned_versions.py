"""What holds of every table with versions: work that was begun goes on with the version that it began with."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from lakes import Growing

import hushtable as ht
from hushtable import kernel
from hushtable.cli.app import run

FIELDS = {"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}}


def finishes_in_the_version_of_its_beginning(table: Growing, url: str, folder: Path) -> None:
    """A choice, finished after the table has grown by somebody who knows its ledger and id alone."""
    for _ in range(2):
        table.add(range(10))
    declared = ht.Schema.from_dict({**FIELDS, "frozen": True})
    ledger = str(folder / "l")
    assert run(["ledger", "create", ledger, "--budget", "rho=100000"]) == 0
    session = ht.Session.open(url, schema=declared, ledger=ledger)
    options = [ht.linear.marginals(declared, order=k) for k in (0, 1)]
    choice = session.choose(options, budget=ht.ZCDP(20_000))
    table.add(range(10))
    found = ht.session.open_choice(ledger, choice.id).finish(1).table("n")
    assert found["estimate"].round().to_list() == [2] * 10
    holding = ht.Ledger.open(ledger).reservations()[0]
    assert "version=" not in str(holding) and "snapshot=" not in str(holding)


def goes_on_with_the_version_of_its_beginning(
    table: Growing, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped after its charge, while the table grows; the same command goes on with the rows that it began with."""
    for _ in range(2):
        table.add(range(10))
    ht.Schema.from_dict(FIELDS).save(folder / "s.yaml")
    ledger, out = str(folder / "l"), str(folder / "out")
    assert run(["ledger", "create", ledger, "--budget", "rho=40000"]) == 0
    known = ["--schema", str(folder / "s.yaml"), "--ledger", ledger, "--order", "1", "--strategy", "identity"]
    command = ["release", url, *known, "--budget", "rho=20000", "--no-report"]

    def stop(self: Any, *given: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ht.Release, "save", stop)
        with suppress(KeyboardInterrupt):
            run([*command, "--out", out])
    assert not Path(out).exists()
    begun = kernel.pinned(url)
    table.add(range(10))
    assert kernel.pinned(url) != begun
    opened: list[str] = []
    open_counter = kernel.open_counter

    def seen(data: Any, schema: ht.Schema) -> Any:
        opened.append(data)
        return open_counter(data, schema)

    with monkeypatch.context() as patch:
        patch.setattr(kernel, "open_counter", seen)
        assert run([*command, "--resume", out]) == 0
    assert ht.Release.load(out).table("n")["estimate"].round().to_list() == [2] * 10
    assert opened and set(opened) == {begun}
