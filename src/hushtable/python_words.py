"""What an error says to type, for a Python program: flags of the command line become keywords.

Messages are written once, with flags; a command shows them as they are, and a traceback shows them translated.
"""

from __future__ import annotations

import re

_SWITCHES = ("reuse", "frozen", "again", "stored", "wait", "confidential", "explain", "raw", "labels")
_NAMES = ("strategy", "fit", "reconstruct", "decider", "objective", "format")
_RENAMED = {"as": "spender", "out": "folder"}
_COMMAND = re.compile(r"(`[^`]*`)")
_OUT = re.compile(r"--out (?=an?(?:other)? )")
_FLAG = re.compile(r"--([a-z][a-z-]*)(?: (\"[^\"]*\"|[0-9][\w.:%/]*|[a-z]+=[\w.,=+-]*\w|[a-z][a-z-]*))?")
_BUDGET = re.compile(r"\"((?:rho|epsilon)=[^\"]+)\"")
_TWICE = re.compile(r"(\w+=True)`? \(\1\)")


def in_python(text: str) -> str:
    """A fix for a caller of the library.

    >>> in_python("Give --alpha 0.05.")
    'Give alpha=0.05.'
    >>> in_python('Use --strategy identity, or a budget such as "rho=0.1".')
    'Use strategy="identity", or a budget such as ht.ZCDP("0.1").'
    >>> in_python("Leave --fit out, or add --reuse; `hush plan --order 2` shows it.")
    'Leave fit out, or add reuse=True; `hush plan --order 2` shows it.'
    """
    if "--" not in text and "=" not in text:
        return text
    parts = _COMMAND.split(text)
    told = "".join(part if part.startswith("`hush") else _translated(part) for part in parts)
    return _TWICE.sub(r"\1", told)


def _translated(text: str) -> str:
    flagged = _FLAG.sub(_keyword, _OUT.sub("", text))
    return _BUDGET.sub(lambda found: _budget(found[1]), flagged)


def _keyword(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    word = _RENAMED.get(name, name.replace("-", "_"))
    after = "" if value is None else f" {value}"
    if name in _SWITCHES:
        return f"{word}=True{after}"
    if value is None or (value[0].isalpha() and "=" not in value and (name not in _NAMES or value == "out")):
        return f"{word}{after}"
    if "=" in value:
        return f"{word}={_budget(value)}" if name == "budget" else f"{word} {value}"
    return f"{word}={value}" if value[0].isdigit() else f'{word}="{value.strip(chr(34))}"'


def _budget(written: str) -> str:
    """``ht.ZCDP("0.1")`` for ``rho=0.1``; what is no whole budget stays as it is."""
    amounts = dict(part.split("=", 1) for part in written.split(",") if "=" in part)
    if any(not value.strip(".") for value in amounts.values()) or not amounts:
        return written
    if list(amounts) == ["rho"]:
        return f'ht.ZCDP("{amounts["rho"]}")'
    if list(amounts) == ["epsilon"]:
        return f'ht.PureDP("{amounts["epsilon"]}")'
    return "ht.ApproxDP(" + ", ".join(f'{name}="{value}"' for name, value in amounts.items()) + ")"
