"""Malformed CSV, YAML, JSON and flags with planted secrets, made from a seed, and what must never be found afterwards.

A secret is a value: in a cell of the data, behind a field of a schema or workload, in a damaged JSON file, behind a
flag.  Names of columns, attributes, files and fields are not secret, and what a schema declares is public.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import yaml

WORD = "Xq7Secret"
NUMBER = 918273645
SECRETS = [
    form
    for text in (WORD, WORD.lower(), WORD.upper(), str(NUMBER), f"{NUMBER:,}")
    for form in (text.encode(), text.encode("utf-16-le"))
]
DECLARED: dict[str, Any] = {
    "max_rows_per_person": 1,
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
        "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
        "income": {"type": "real", "bounds": [0, 1000], "bins": 4, "null": "category"},
        "born": {"type": "date", "bounds": ["1900-01-01", "2020-12-31"], "width": "10 years"},
        "member": {"type": "boolean", "null": "drop"},
    },
}
COLUMNS = tuple(DECLARED["attributes"])
RELEASE = (
    *("release", "data.csv", "--schema", "schema.yaml", "--ledger", "people.ledger"),
    *(
        "--order",
        "1",
        "--budget",
        "rho=0.001",
        "--strategy",
        "residual-planner",
        "--no-report",
        "--out",
        "out",
    ),
)
PURE_RELEASE = tuple("identity" if part == "residual-planner" else part for part in RELEASE)


@dataclass
class Case:
    """One command line and the files that it finds; ``declares`` says that the secret is part of a schema."""

    family: str
    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    declares: bool = False


# CSV

CELLS: tuple[Callable[[random.Random], str], ...] = (
    lambda chance: WORD,
    lambda chance: str(NUMBER),
    lambda chance: f"{WORD}{chance.randrange(1000)}",
    lambda chance: f"-{NUMBER}{'0' * chance.randrange(400)}",
    lambda chance: f"{NUMBER}e{chance.randrange(-5000, 5000)}",
    lambda chance: f'"{WORD}""{WORD}"',
    lambda chance: f'"{WORD}',
    lambda chance: f'{WORD}"',
    lambda chance: f"{WORD}\0",
    lambda chance: f"=HYPERLINK({WORD})",
    lambda chance: f"{WORD}\r",
    lambda chance: f"'; DROP TABLE t; -- {WORD}",
    lambda chance: f"%s{{0}}{WORD}$(id)`id`",
    lambda chance: WORD * chance.randrange(1, 3000),
    lambda chance: f"\u202e{WORD}\ufeff",
    lambda chance: chance.choice(
        ["", "nan", "inf", "-0", "NULL", "1e999", "0x10", "1_000", "2000-02-30", "True", "tRUE"]
    ),
    lambda chance: str(chance.randrange(80)),
    lambda chance: chance.choice(["F", "M", "true", "false", "1999-12-31"]),
)
HEADERS = (
    ",".join(COLUMNS),
    ",".join(reversed(COLUMNS)),
    ",".join(f'"{name}"' for name in COLUMNS),
    "\ufeff" + ",".join(COLUMNS),
    ",".join(COLUMNS) + ",extra,extra2",
    ",".join(COLUMNS) + ",extra,extra",
    ",".join(COLUMNS[1:]),
    ";".join(COLUMNS),
    ",".join(COLUMNS) + ",",
    "",
    '"age,sex',
)


def csv_case(chance: random.Random) -> Case:
    """A table of odd cells, then damage to its bytes."""
    rows = [
        ",".join(
            chance.choice(CELLS)(chance)
            for _ in range(len(COLUMNS) if chance.random() < 0.8 else chance.randrange(9))
        )
        for _ in range(chance.randrange(12))
    ]
    header = HEADERS[0] if chance.random() < 0.7 else chance.choice(HEADERS)
    if chance.random() < 0.05 and rows:
        header = rows[0]
    body = chance.choice(["\n", "\n", "\r\n"]).join(rows).encode("utf-8", "surrogatepass")
    data = header.encode() + b"\n" + damaged(body, chance)
    arguments = list(chance.choice([RELEASE, RELEASE, PURE_RELEASE]))
    if chance.random() < 0.2:
        packed = gzip.compress(data, compresslevel=1)
        cut = packed if chance.random() < 0.5 else damaged(packed, chance)
        arguments[1] = "data.csv.gz"
        return Case("csv", arguments, {"data.csv.gz": cut})
    if chance.random() < 0.05:
        arguments[1] = "data.parquet"
        return Case("csv", arguments, {"data.parquet": b"PAR1" + data + b"PAR1"})
    return Case("csv", arguments + (["--json"] if chance.random() < 0.2 else []), {"data.csv": data})


def damaged(data: bytes, chance: random.Random) -> bytes:
    """A few bytes removed, repeated, changed or put in."""
    made = bytearray(data)
    for _ in range(chance.choice([0, 0, 1, 3, 10])):
        place = chance.randrange(len(made) + 1)
        kind = chance.randrange(4)
        if kind == 0:
            del made[place : place + chance.randrange(1, 8)]
        elif kind == 1:
            made[place:place] = chance.choice(
                [b'"', b"\xff\xfe", b"\0", b"\r", b",", b"\n", b"\xed\xa0\x80", b'"\n"', b"\x1a"]
            )
        elif kind == 2 and made:
            made[place % len(made)] = chance.randrange(256)
        else:
            made[place:place] = made[: chance.randrange(200)]
    return bytes(made)


# YAML

ODD: tuple[Any, ...] = (
    *(
        WORD,
        NUMBER,
        -NUMBER,
        [WORD],
        {"type": WORD},
        [WORD, WORD],
        [[WORD]],
        None,
        True,
        0,
        -1,
        1e308,
        10**40,
        "",
        [],
        {},
    ),
    *(
        f"{WORD}\n{WORD}",
        f"{NUMBER}-01-01",
        [NUMBER, 0],
        [0, WORD],
        f"{NUMBER} years",
        "x" * 5000,
        [0] * 200,
        "1 week",
    ),
)


def odd_schema(chance: random.Random) -> dict[str, Any]:
    """The declared schema with a few values replaced."""
    made = json.loads(json.dumps(DECLARED))
    for _ in range(chance.randrange(1, 4)):
        fields = made["attributes"][chance.choice(COLUMNS)]
        place = chance.randrange(6)
        if place == 0:
            made[chance.choice(["max_rows_per_person", "csv", "impossible", "learnt_from_data"])] = odd(
                chance
            )
        elif place == 1:
            made["csv"] = {
                chance.choice(["delimiter", "quote", "escape", "header", "columns", "encoding"]): odd(chance)
            }
        elif isinstance(fields, dict):
            name = chance.choice(
                [
                    *fields,
                    "values",
                    "cuts",
                    "bins",
                    "width",
                    "bounds",
                    "null",
                    "outside",
                    "labels",
                    "column",
                    "resolution",
                ]
            )
            if name != "column":
                fields[name] = odd(chance)
        if chance.random() < 0.05:
            made["attributes"][chance.choice(COLUMNS)] = odd(chance)
    return made


def odd(chance: random.Random) -> Any:
    """A value that does not belong where it is put."""
    return chance.choice(ODD)


def yaml_case(chance: random.Random) -> Case:
    """A schema or workload with wrong values, sometimes damaged as a text."""
    if chance.random() < 0.2:
        value = [[chance.choice([*COLUMNS, "height", 7, None, [WORD]]) for _ in range(3)] for _ in range(3)]
        other = chance.choice([value for value in ODD if value != [[WORD]]])  # which would name an attribute
        shape = chance.choice([value, {"marginals": value}, {"marginals": value, "weights": other}, other])
        text = dumped(shape, chance)
        flags = ["plan", "--schema", "schema.yaml", "--workload", "w.yaml", "--budget", "rho=0.1"]
        return Case("yaml", flags, {"w.yaml": text}, declares=True)
    text = dumped(odd_schema(chance), chance)
    if chance.random() < 0.3:
        return Case("yaml", list(RELEASE), {"schema.yaml": text}, declares=True)
    flags = ["plan", "--schema", "schema.yaml", "--order", "1", "--budget", "rho=0.1"]
    return Case("yaml", flags, {"schema.yaml": text}, declares=True)


def dumped(value: Any, chance: random.Random) -> bytes:
    """YAML or JSON, sometimes with a tag, an anchor, a tab, a second document, or cut short."""
    if chance.random() < 0.3:
        text = json.dumps(value, indent=chance.choice([None, 2]))
    else:
        text = yaml.safe_dump(value, sort_keys=False, default_flow_style=chance.choice([None, False]))
    if chance.random() < 0.3:
        line = chance.choice(
            [
                f"&a {WORD}",
                f"!!python/object:os.{WORD} x",
                f"x: *{WORD}",
                f"\t{WORD}",
                f"---\n{WORD}",
                f"<<: {WORD}",
                f"? [{WORD}]",
            ]
        )
        text = chance.choice([f"{line}\n{text}", f"{text}\n{line}"])
    data = text.encode()
    if chance.random() < 0.15:
        data = data[: chance.randrange(len(data) + 1)]
    if chance.random() < 0.1:
        data += chance.choice([b"\xff\xfe", b"\0", b"\x1b[2J", b"[" * 5000, b"- " * 3000])
    return data


# JSON


def json_case(chance: random.Random) -> Case:
    """Damaged JSON where a command reads it: a bundle's manifest, an interrupted release, a workload, a schema."""
    place = chance.randrange(4)
    if place == 0:
        value: Any = {
            "format": "hushtable-release-1",
            "card": odd(chance),
            "workload": odd(chance),
            "files": odd(chance),
        }
        if chance.random() < 0.5:
            value = {**value, chance.choice(list(value)): odd(chance)}
        flags = ["table", "bundle", chance.choice(["age", "sex"])]
        return Case("json", flags, {"bundle/release.json": damaged(json.dumps(value).encode(), chance)})
    if place == 1:
        value = chance.choice(
            [{"request": [WORD]}, odd(chance), {WORD: NUMBER}, {"request": "", "data": WORD}]
        )
        return Case(
            "json",
            list(RELEASE),
            {".out.request": damaged(json.dumps(value).encode(), chance)},
            declares=True,
        )
    text = damaged(
        json.dumps(odd_schema(chance)).encode().replace(b'"' + WORD.encode() + b'": ', b'"x": '), chance
    )
    name = "schema.json" if place == 2 else "w.json"
    flags = ["plan", "--schema", "schema.json" if place == 2 else "schema.yaml", "--budget", "rho=0.1"]
    flags += ["--order", "1"] if place == 2 else ["--workload", "w.json"]
    return Case("json", flags, {name: text}, declares=True)


# Flags

VALUES = (
    *(
        WORD,
        str(NUMBER),
        f"rho={WORD}",
        f"epsilon={WORD}",
        f"epsilon=1,delta={WORD}",
        f"rho=-{NUMBER}",
        f"{WORD}=1",
    ),
    *(
        f"rho={NUMBER}e{NUMBER}",
        f"{WORD}\n",
        f"--{WORD}",
        f"-{WORD}",
        f"{WORD}=",
        "",
        " ",
        "-1",
        "nan",
        "1e400",
        "0.5",
        "2",
    ),
    *(
        f"age={WORD}",
        f"age={NUMBER}",
        f"{WORD},{WORD}={NUMBER}",
        f"{NUMBER}GB",
        f"{WORD}GB",
        f"\u202e{WORD}",
        "'" * 99 + WORD,
    ),
)
SAFE_FLAGS = {
    "release": (
        "--order",
        "--budget",
        "--strategy",
        "--objective",
        "--reconstruct",
        "--head",
        "--memory",
        f"--{WORD}",
    ),
    "plan": ("--order", "--budget", "--strategy", "--objective", "--want", "--alpha", f"--{WORD}"),
    "table": ("--alpha", "--rows", f"--{WORD}"),
    "ledger create": ("--budget", f"--{WORD}"),
    "ledger verify": ("--head", f"--{WORD}"),
    "ledger raise": ("--budget",),
    "demo": ("--people",),
}
BEGINNINGS = {
    "release": list(RELEASE),
    "plan": ["plan", "--schema", "schema.yaml"],
    "table": ["table", "bundle", "age"],
    "ledger create": ["ledger", "create", "new.ledger"],
    "ledger verify": ["ledger", "verify", "people.ledger"],
    "ledger raise": ["ledger", "raise", "people.ledger"],
    "demo": ["demo", "--out", "data.csv"],
}


PATH_FLAGS = ("--out", "--schema", "--ledger")


def _drop_a_value(arguments: list[str], chance: random.Random) -> None:
    """Leave a flag without its value; never a path, or the next secret would be typed as a name."""
    values = [
        k
        for k in range(1, len(arguments))
        if arguments[k - 1].startswith("--") and arguments[k - 1] not in PATH_FLAGS
    ]
    if values:
        del arguments[chance.choice(values)]


def flag_case(chance: random.Random) -> Case:
    """A command line with wrong values behind its flags, flags that do not exist, and flags without a value."""
    command = chance.choice(list(BEGINNINGS))
    arguments = list(BEGINNINGS[command])
    names_follow = command == "table"  # whatever stands alone there is typed as the name of an attribute
    for _ in range(chance.randrange(1, 4)):
        flag, value = chance.choice(SAFE_FLAGS[command]), chance.choice(VALUES)
        forms = [[flag, value], [f"{flag}={value}"], [flag]]
        arguments += forms[1] if names_follow else chance.choice(forms)
    if chance.random() < 0.2:
        arguments.append("--json")
    if chance.random() < 0.1:
        arguments = [chance.choice([WORD, f"--{WORD}", "ledger", ""]), *arguments]
    if chance.random() < 0.1 and not names_follow:
        _drop_a_value(arguments, chance)
    return Case("flags", arguments)


FAMILIES = (
    csv_case,
    csv_case,
    csv_case,
    yaml_case,
    yaml_case,
    yaml_case,
    json_case,
    json_case,
    flag_case,
    flag_case,
)


def cases(count: int, seed: int) -> list[Case]:
    """So many cases; the same for the same seed."""
    chance = random.Random(seed)
    return [FAMILIES[k % len(FAMILIES)](chance) for k in range(count)]


# What is left behind


def leaks(case: Case, folder: Path, printed: bytes) -> list[str]:
    """Where a secret is found: in what was printed, or in a file that the command wrote."""
    found = [f"printed {secret!r}" for secret in SECRETS if secret in printed]
    if case.declares:
        return found
    given = {*case.files, "data.csv", "schema.yaml"}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if any(secret in name.encode() for secret in SECRETS):
            found.append(f"file name {name}")
        if path.is_file() and name not in given:
            content = path.read_bytes()
            if name.endswith(".parquet"):
                content += pl.read_parquet(path).write_ndjson().encode()
            found += [f"{name} has {secret!r}" for secret in SECRETS if secret in content]
    return found
