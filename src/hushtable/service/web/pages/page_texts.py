"""Every text of the pages, by key: one file a language, so that others can translate.

Sentences about numbers (promises, verdicts, plans, refusals) are the library's own and are not said again here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "words"
FIRST = "en"


class PageTexts:
    """The texts of one language; a key that it lacks is taken from English."""

    def __init__(self, language: str) -> None:
        self.language = language
        self._texts = dict(_flat(_read(FIRST))) | dict(_flat(_read(language)))

    def __call__(self, key: str, **values: Any) -> str:
        """The text of a key, with values in its braces."""
        text = self._texts[key]
        return text.format(**values) if values else text

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    @property
    def keys(self) -> frozenset[str]:
        """All keys."""
        return frozenset(self._texts)


def spoken(header: str) -> PageTexts:
    """The first language of an Accept-Language header that there are texts of."""
    known = _languages()
    wanted = [part.split(";")[0].strip().lower().split("-")[0] for part in header[:200].split(",")]
    return _texts(next((one for one in wanted if one in known), FIRST))


@cache
def _languages() -> frozenset[str]:
    return frozenset(file.stem for file in FOLDER.glob("*.toml"))


@cache
def _texts(language: str) -> PageTexts:
    """As many as there are files; headers of requests are not kept."""
    return PageTexts(language)


def _read(language: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{language}.toml").read_text(encoding="utf-8"))


def _flat(texts: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in texts.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{key}.")  # pyright: ignore
        else:
            yield f"{above}{key}", str(value)
