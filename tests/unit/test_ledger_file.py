"""The ledger as a file: what is refused and left alone, what is private, what a damaged one says."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from hushtable.errors import HushtableError, LedgerError
from hushtable.ledger import Ledger, Unit, failpoints, verify_ledger
from hushtable.privacy.budget import ZCDP, Cost, decimal
from threads import in_threads

TENTH = Cost(0, 10**11)


def spend(ledger: Ledger, payload: bytes = b"noisy", request: str | None = None) -> int:
    reservation = ledger.reserve(cost=TENTH, kind="release", request=request, spender=None, detail={"n": 1})
    charge = ledger.charge(reservation, TENTH)
    ledger.store(charge, payload)
    ledger.settle(reservation)
    return charge.number


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(HushtableError) as caught:
        action()
    assert caught.value.message.endswith(".") and caught.value.fix
    return caught.value.code


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, ZCDP(1), Unit(1))


def edit(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


# Places


def foreign_sqlite(path: Path) -> None:
    edit(path, "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT, hash TEXT)")


def foreign_wal(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "make",
    [
        foreign_sqlite,
        foreign_wal,
        lambda p: p.write_bytes(b""),
        lambda p: p.write_bytes(b"a,b\n1,2\n"),
        lambda p: p.write_bytes(b"SQLite format 3\0" + bytes(50)),
        lambda p: p.write_bytes(os.urandom(5000)),
    ],
    ids=["sqlite", "sqlite-wal", "empty", "csv", "cut-header", "random"],
)
def test_a_foreign_file_is_refused_and_not_touched(path: Path, make: Callable[[Path], object]) -> None:
    make(path)
    before, names = path.read_bytes(), sorted(p.name for p in path.parent.iterdir())
    assert code_of(lambda: Ledger.open(path)) == "ledger.foreign"
    assert code_of(lambda: verify_ledger(path)) == "ledger.foreign"
    assert path.read_bytes() == before and sorted(p.name for p in path.parent.iterdir()) == names


def test_special_places_are_refused_with_their_own_code(tmp_path: Path, ledger: Ledger, path: Path) -> None:
    link = tmp_path / "link.ledger"
    link.symlink_to(path)
    (tmp_path / "dangling.ledger").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    assert code_of(lambda: Ledger.open(link)) == "ledger.symlink"
    assert code_of(lambda: Ledger.open(tmp_path)) == "ledger.is-folder"
    assert code_of(lambda: Ledger.open(tmp_path / "pipe")) == "ledger.foreign"
    assert code_of(lambda: Ledger.open(tmp_path / "none.ledger")) == "ledger.missing"
    assert code_of(lambda: Ledger.open(tmp_path / "none" / "a.ledger")) == "ledger.no-folder"
    assert code_of(lambda: Ledger.open("")) == "ledger.bad-path"
    (tmp_path / "round.ledger").symlink_to(tmp_path / "round.ledger")
    assert code_of(lambda: Ledger.open(tmp_path / "round.ledger")) == "ledger.symlink"
    assert code_of(lambda: Ledger.open(tmp_path / "round.ledger" / "a")) == "ledger.unreadable"
    assert code_of(lambda: Ledger.open(tmp_path / ("x" * 300))) == "ledger.unreadable"
    for impossible in ("a\0b", "~nobody-of-that-name/a.ledger", "a\ud800.ledger"):
        assert code_of(lambda p=impossible: Ledger.open(p)) == "ledger.bad-path"
    for place, code in {
        link: "ledger.exists",
        tmp_path: "ledger.exists",
        tmp_path / "dangling.ledger": "ledger.exists",
        path: "ledger.exists",
        tmp_path / "none" / "a.ledger": "ledger.no-folder",
    }.items():
        assert code_of(lambda place=place: Ledger.create(place, ZCDP(1))) == code
    assert Ledger.open(path).verify().ok


def test_a_folder_reached_through_a_link_is_fine(tmp_path: Path, ledger: Ledger) -> None:
    (tmp_path / "sub").symlink_to(tmp_path)
    spend(Ledger.open(tmp_path / "sub" / "people.ledger"))
    assert ledger.remaining() == Cost(0, 9 * 10**11)


@pytest.mark.parametrize("name", ["a b?c#d%41.ledger", "é.ledger", ":memory:", "-x.ledger", "file:q.ledger"])
def test_any_file_name_is_the_file_of_that_name(tmp_path: Path, name: str) -> None:
    spend(Ledger.create(tmp_path / name, ZCDP(1), Unit(1)))
    assert {name, f"{name}.payloads"} <= {p.name for p in tmp_path.iterdir()}
    assert Ledger.open(tmp_path / name).spent() == TENTH


def test_the_name_is_the_stem_unless_given(path: Path, tmp_path: Path, ledger: Ledger) -> None:
    assert ledger.name == "people"
    assert Ledger.create(tmp_path / "b.ledger", ZCDP(1), name="town").name == "town"
    assert code_of(lambda: Ledger.create(tmp_path / "c.ledger", ZCDP(1), name="a\nb")) == "ledger.bad-name"


def test_only_the_owner_may_read(path: Path, ledger: Ledger) -> None:
    old = os.umask(0)
    try:
        other = Ledger.create(path.with_name("other.ledger"), ZCDP(1), Unit(1))
        number = spend(other)
    finally:
        os.umask(old)
    folder = path.with_name("other.ledger.payloads")
    modes = [stat.S_IMODE(p.stat().st_mode) for p in (Path(other.path), folder, folder / f"{number}.bin")]
    assert modes == [0o600, 0o700, 0o600]
    assert [p.name for p in folder.iterdir()] == [f"{number}.bin"]


def test_bad_units_are_refused() -> None:
    for rows, person in ((0, None), (True, None), ("1", None), (1.0, None), (1, ""), (1, "a\nb")):
        assert code_of(lambda rows=rows, person=person: Unit(rows, person)) == "ledger.bad-unit"  # type: ignore[arg-type]


# Locks


def test_a_locked_ledger_says_so_and_spends_nothing(path: Path, ledger: Ledger) -> None:
    hurried = Ledger.open(path, wait=0.05)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert code_of(lambda: spend(hurried)) == "ledger.locked"
    assert hurried.remaining() == ZCDP(1).limit
    blocker.execute("ROLLBACK")
    blocker.execute("BEGIN EXCLUSIVE")
    assert code_of(lambda: hurried.remaining()) == "ledger.locked"
    blocker.execute("ROLLBACK")
    blocker.close()
    spend(hurried)
    assert ledger.spent() == TENTH


def test_threads_share_one_ledger(ledger: Ledger) -> None:
    outcomes: list[str] = []

    def work() -> None:
        for _ in range(3):
            try:
                spend(ledger)
                outcomes.append("spent")
            except HushtableError as error:
                outcomes.append(error.code)

    in_threads(5, work)
    assert sorted(outcomes) == ["ledger.exhausted"] * 5 + ["spent"] * 10
    assert ledger.remaining() == Cost.ZERO and ledger.verify().ok


# The chain


def test_the_chain_is_sha256_over_sorted_compact_json_with_the_previous_hash(
    path: Path, ledger: Ledger
) -> None:
    spend(ledger)
    previous = "0" * 64
    for number, exported in enumerate(ledger.export(), 1):
        stated = exported.pop("hash")
        text = json.dumps(exported, sort_keys=True, separators=(",", ":"))
        assert (exported["number"], exported["previous"]) == (number, previous)
        assert hashlib.sha256(text.encode()).hexdigest() == stated
        previous = stated
    assert previous == ledger.head


def test_two_ledgers_with_the_same_budget_have_different_heads(tmp_path: Path, ledger: Ledger) -> None:
    assert Ledger.create(tmp_path / "b.ledger", ZCDP(1), Unit(1), name="people").head != ledger.head


def rechained(path: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    """Edit the entries and compute every hash anew, as someone who knows the format would."""
    connection = sqlite3.connect(path)
    bodies = [json.loads(row[0]) for row in connection.execute("SELECT body FROM entry ORDER BY number")]
    change(bodies)
    previous = "0" * 64
    connection.execute("DELETE FROM entry")
    for number, body in enumerate(bodies, 1):
        text = json.dumps(
            {**body, "number": number, "previous": previous}, sort_keys=True, separators=(",", ":")
        )
        previous = hashlib.sha256(text.encode()).hexdigest()
        connection.execute("INSERT INTO entry VALUES (?, ?, ?)", (number, text, previous))
    connection.commit()
    connection.close()


def entry(bodies: list[dict[str, object]], number: int) -> dict[str, object]:
    return bodies[number - 1]["entry"]  # type: ignore[return-value]


FORGERIES: dict[str, Callable[[list[dict[str, object]]], object]] = {
    "spends above the limit": lambda b: entry(b, 1).update(limit={"xi": 0, "rho": 10**10}),
    "negative charge": lambda b: entry(b, 4).update(cost={"xi": 0, "rho": -1}),
    "charge above its reservation": lambda b: entry(b, 4).update(cost={"xi": 0, "rho": 2 * 10**11}),
    "charge of no reservation": lambda b: entry(b, 4).update(reservation=99),
    "store without a charge": lambda b: entry(b, 5).update(charge=3),
    "two stores for one charge": lambda b: b.insert(5, b[4]),
    "two creates": lambda b: b.insert(1, b[0]),
    "no create": lambda b: b.pop(0),
    "two units": lambda b: b.insert(2, b[1]),
    "no unit": lambda b: b.pop(1),
    "settled twice": lambda b: b.append(b[5]),
    "unknown key": lambda b: entry(b, 4).update(refund=1),
    "unknown type": lambda b: entry(b, 6).update(type="refund"),
    "number as text": lambda b: entry(b, 4).update(ordinal="0"),
    "budget of another kind": lambda b: entry(b, 1).update(budget={"kind": "pure", "rho": "1"}),
}


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES.keys())
def test_a_rehashed_forgery_that_breaks_a_rule_is_found_even_without_a_head(
    path: Path, ledger: Ledger, forgery: Callable[[list[dict[str, object]]], object]
) -> None:
    spend(ledger)
    rechained(path, lambda bodies: None)
    assert verify_ledger(path).ok
    rechained(path, forgery)
    report = verify_ledger(path)
    assert not report.ok and report.findings
    assert code_of(lambda: Ledger.open(path)) == "ledger.damaged"


def test_a_rehashed_history_that_keeps_the_rules_needs_the_published_head(path: Path, ledger: Ledger) -> None:
    spend(ledger)
    head = ledger.head
    rechained(path, lambda bodies: bodies.__delitem__(slice(2, None)))
    shutil.rmtree(path.with_name("people.ledger.payloads"))
    assert verify_ledger(path).ok and Ledger.open(path).remaining() == ZCDP(1).limit
    assert not verify_ledger(path, head=head).ok
    assert code_of(lambda: Ledger.open(path, head=head)) == "ledger.older-than-head"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM entry WHERE number = new.number; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (a)",
        "DELETE FROM entry",
        "UPDATE entry SET body = CAST(body AS BLOB)",
        "UPDATE entry SET hash = upper(hash)",
        "UPDATE entry SET number = number + 1 WHERE number = 2",
    ],
)
def test_foreign_objects_and_edited_rows_are_damage(path: Path, ledger: Ledger, statement: str) -> None:
    edit(path, statement)
    assert code_of(lambda: Ledger.open(path)) == "ledger.damaged"
    assert code_of(lambda: spend(ledger)) in {"ledger.damaged", "ledger.replaced"}
    assert not verify_ledger(path).ok


def test_another_format_is_refused(path: Path, ledger: Ledger) -> None:
    edit(path, "PRAGMA user_version = 2")
    assert code_of(lambda: Ledger.open(path)) == "ledger.format"


def test_an_older_copy_put_under_an_open_ledger_is_noticed_at_the_next_call(
    path: Path, ledger: Ledger
) -> None:
    shutil.copy(path, path.with_suffix(".bak"))
    spend(ledger)
    path.with_suffix(".bak").replace(path)
    assert code_of(ledger.remaining) == "ledger.replaced"
    assert code_of(lambda: spend(ledger)) == "ledger.replaced"


def test_a_ledger_replaced_by_another_or_removed_is_noticed(
    path: Path, ledger: Ledger, tmp_path: Path
) -> None:
    Ledger.create(tmp_path / "b.ledger", ZCDP(9), Unit(1))
    (tmp_path / "b.ledger").replace(path)
    assert code_of(lambda: spend(ledger)) == "ledger.replaced"
    path.unlink()
    assert code_of(lambda: spend(ledger)) == "ledger.unreadable"
    assert not path.exists()


def test_damage_that_even_the_error_message_cannot_spell_is_still_an_error_of_ours(
    path: Path, ledger: Ledger
) -> None:
    data = bytearray(path.read_bytes())
    data[data.index(b"CREATE TABLE entry") + 2] = 0xAC
    path.write_bytes(data)
    with pytest.raises(UnicodeDecodeError), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM entry")
    assert code_of(lambda: Ledger.open(path)) == "ledger.damaged"
    assert not verify_ledger(path).ok


# Payloads


@pytest.mark.parametrize(
    "harm",
    [
        lambda f: f.write_bytes(b"noisy!"),
        lambda f: f.write_bytes(b""),
        lambda f: f.unlink(),
        lambda f: (f.unlink(), f.mkdir()),
        lambda f: (f.rename(f.with_suffix(".x")), f.symlink_to(f.with_suffix(".x"))),
    ],
    ids=["edited", "emptied", "removed", "folder", "link"],
)
def test_a_damaged_payload_is_found_and_never_returned(
    path: Path, ledger: Ledger, harm: Callable[[Path], object]
) -> None:
    number = spend(ledger, request="r")
    harm(path.with_name("people.ledger.payloads") / f"{number}.bin")
    assert code_of(lambda: ledger.payload(number)) == "ledger.payload-damaged"
    assert code_of(lambda: ledger.find("r")) == "ledger.payload-damaged"
    report = ledger.verify()
    assert not report.ok and len(report.findings) == 1
    assert ledger.spent() == TENTH


def test_a_payload_folder_that_is_a_link_is_refused(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path.with_name("people.ledger.payloads").symlink_to(tmp_path / "elsewhere")
    assert code_of(lambda: spend(ledger)) == "ledger.payload-folder"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_left_over_temporary_files_harm_nothing(path: Path, ledger: Ledger) -> None:
    spend(ledger)
    folder = path.with_name("people.ledger.payloads")
    (folder / ".4.0123456789abcdef.tmp").write_bytes(b"half")
    (folder / "notes.txt").write_bytes(b"nobody's")
    (path.parent / ".people.ledger.00.tmp").write_bytes(b"half")
    assert Ledger.open(path).verify(ledger.head).ok


@pytest.mark.parametrize("name", ["7.bin", "3.bin", "999.bin", ".9.0123456789abcdef.tmp"])
def test_a_payload_without_its_charge_shows_that_the_ledger_is_older(
    path: Path, ledger: Ledger, name: str
) -> None:
    spend(ledger)
    (path.with_name("people.ledger.payloads") / name).write_bytes(b"paid for")
    assert code_of(lambda: Ledger.open(path)) == "ledger.older-than-payloads"
    report = verify_ledger(path)
    assert not report.ok and "older than its payloads" in report.findings[0]


def test_a_restored_older_copy_is_refused_without_a_head_and_its_payloads_stay(
    path: Path, ledger: Ledger
) -> None:
    shutil.copy(path, path.with_suffix(".bak"))
    number = spend(ledger, b"shown to many")
    path.with_suffix(".bak").replace(path)
    assert code_of(lambda: Ledger.open(path)) == "ledger.older-than-payloads"
    path.unlink()
    assert code_of(lambda: Ledger.create(path, ZCDP(1), Unit(1))) == "ledger.older-than-payloads"
    assert not path.exists()
    assert (path.with_name("people.ledger.payloads") / f"{number}.bin").read_bytes() == b"shown to many"


def test_a_payload_is_never_overwritten(path: Path, ledger: Ledger) -> None:
    reservation = ledger.reserve(cost=TENTH, kind="release", detail={})
    charge = ledger.charge(reservation, TENTH)
    file = path.with_name("people.ledger.payloads") / f"{charge.number}.bin"
    file.write_bytes(b"shown to many")
    assert code_of(lambda: ledger.store(charge, b"drawn now")) == "ledger.older-than-payloads"
    assert file.read_bytes() == b"shown to many"


def test_a_draw_lost_between_its_file_and_its_entry_is_no_rollback(path: Path, ledger: Ledger) -> None:
    def trouble(name: str) -> None:
        if name == "store.renamed":
            raise RuntimeError

    reservation = ledger.reserve(cost=TENTH, kind="release", request="r", detail={})
    charge = ledger.charge(reservation, TENTH)
    failpoints.arm(trouble)
    try:
        with pytest.raises(RuntimeError):
            ledger.store(charge, b"lost")
    finally:
        failpoints.arm(None)
    again = Ledger.open(path)
    assert again.verify().ok and again.find("r").payloads == (None,)  # type: ignore[union-attr]
    spend(again)
    ledger.store(charge, b"lost")  # the same bytes, by the one that drew them
    assert ledger.payload(charge.number) == b"lost" and ledger.verify().ok


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_payload_folder_that_others_may_write_is_refused_before_a_charge(
    path: Path, ledger: Ledger, mode: int
) -> None:
    spend(ledger)
    folder = path.with_name("people.ledger.payloads")
    folder.chmod(mode)
    assert code_of(lambda: Ledger.open(path)) == "ledger.payload-folder-shared"
    assert code_of(lambda: spend(ledger)) == "ledger.payload-folder-shared"
    assert not verify_ledger(path).ok
    folder.chmod(0o755)
    assert ledger.spent() == TENTH and Ledger.open(path).verify().ok


def test_a_ledger_with_a_second_name_is_refused(path: Path, ledger: Ledger, tmp_path: Path) -> None:
    os.link(path, tmp_path / "second.ledger")
    for name in ("people.ledger", "second.ledger"):
        assert code_of(lambda name=name: Ledger.open(tmp_path / name)) == "ledger.hard-link"
        assert code_of(lambda name=name: verify_ledger(tmp_path / name)) == "ledger.hard-link"
    (tmp_path / "second.ledger").unlink()
    assert Ledger.open(path).verify().ok


def test_the_second_name_that_an_interrupted_creation_left_is_removed(path: Path, ledger: Ledger) -> None:
    left = path.with_name(f".{path.name}.{'0' * 16}.tmp")
    os.link(path, left)
    assert Ledger.open(path).verify().ok and not left.exists()


@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "socket", "link", "folder"])
def test_a_journal_that_is_not_a_file_is_refused_at_once(
    path: Path, ledger: Ledger, ending: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = path.with_name(path.name + ending)
    journal.unlink(missing_ok=True)
    monkeypatch.chdir(path.parent)  # the path of a socket is short
    if kind == "pipe":
        os.mkfifo(journal)
    elif kind == "socket":
        socket.socket(socket.AF_UNIX).bind(journal.name)
    elif kind == "link":
        journal.symlink_to(path.parent / "elsewhere")
    else:
        journal.mkdir()
    assert code_of(lambda: Ledger.open(path)) == "ledger.journal"
    assert code_of(lambda: verify_ledger(path)) == "ledger.journal"
    assert code_of(lambda: spend(ledger)) == "ledger.journal"


# Failures in the middle


def test_a_failed_write_leaves_the_ledger_as_it_was(path: Path, ledger: Ledger) -> None:
    class Trouble(Exception):
        pass

    def trouble(name: str) -> None:
        if name == wanted:
            raise Trouble

    for wanted in (
        "reserve.locked",
        "reserve.inserted",
        "charge.inserted",
        "store.renamed",
        "store.inserted",
    ):
        before = ledger.spent() if not wanted.startswith("store") else None
        failpoints.arm(trouble)
        try:
            with pytest.raises(Trouble):
                spend(ledger)
        finally:
            failpoints.arm(None)
        assert ledger.verify().ok
        if before is not None:
            assert ledger.spent() == before
        for holding in ledger.open_reservations():
            ledger.settle(holding.reservation)
    assert ledger.spent() == Cost(0, 2 * 10**11)


def test_nothing_but_python_code_arms_a_failpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Path(failpoints.__file__).read_text()
    assert "import os" not in text and "environ" not in text.split('"""', 2)[2]
    failpoints.reach("charge.committed")


def test_every_failpoint_in_the_code_has_a_name() -> None:
    seen: set[str] = set()
    failpoints.arm(seen.add)
    try:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            ledger = Ledger.create(Path(folder) / "a.ledger", ZCDP(1))
            ledger.bind_unit(Unit(1))
            ledger.grant("ann", ZCDP(1))
            ledger.raise_budget(ZCDP(2))
            ledger.schema_version("{}")
            spend(ledger)
    finally:
        failpoints.arm(None)
    assert seen == set(failpoints.LEDGER)


def test_amounts_are_written_exactly() -> None:
    cases = {
        0: "0",
        1: "0.000000000001",
        10**11: "0.1",
        123 * 10**10: "1.23",
        10**18: "1000000",
        10**13: "10",
    }
    assert {n: decimal(n) for n in cases} == cases


def test_an_error_never_quotes_the_file(path: Path) -> None:
    path.write_bytes(b"secret,value\n" * 100)
    with pytest.raises(LedgerError) as caught:
        Ledger.open(path)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
