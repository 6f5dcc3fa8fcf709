"""Addresses of tables in a lake: a scheme, a place, and options after a question mark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from hushtable.errors import UsageError


@dataclass(frozen=True)
class LakeUrl:
    """``SCHEME:PLACE?OPTION=VALUE``; a place may itself be a URL, such as ``s3://bucket/table``.

    >>> LakeUrl.read("delta:/lake/people?version=7", "delta", ["version"])
    LakeUrl(place='/lake/people', options={'version': '7'})
    """

    place: str
    options: dict[str, str]

    @classmethod
    def read(cls, url: str, scheme: str, known: Sequence[str]) -> LakeUrl:
        """The parts of an address; refuses options that are not known."""
        place, _, query = url.removeprefix(f"{scheme}:").partition("?")
        options = {key: unquote(value) for key, _, value in (p.partition("=") for p in query.split("&") if p)}
        if not place or set(options) - set(known):
            shown = "&".join(f"{name}=..." for name in known)
            fix = f"Write {scheme}:PLACE or {scheme}:PLACE?{shown}."
            raise UsageError("source.bad-url", "The address of the table cannot be read.", fix)
        return cls(place, options)

    def number(self, option: str) -> int | None:
        """A whole number among the options."""
        found = self.options.get(option)
        if found is None:
            return None
        if not (found.isascii() and found.isdigit()):
            text = f"The {option} of the table is not a whole number."
            raise UsageError("source.bad-url", text, f"Write ?{option}=N.")
        return int(found)

    def written(self, scheme: str, **more: object) -> str:
        """The address with further options."""
        options = self.options | {name: str(value) for name, value in more.items()}
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in options.items())
        return f"{scheme}:{self._absolute}" + (f"?{query}" if query else "")

    @property
    def _absolute(self) -> str:
        """The place; a path in full, so that it is the same from another folder."""
        return str(Path(self.place).absolute()) if Path(self.place).exists() else self.place
