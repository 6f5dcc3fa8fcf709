"""How to cite a release: in a sentence, in BibTeX, and as a schema.org dataset, from what its schema says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from hushtable.report.view import View

SHORT_HEAD = 16
"""Letters of a ledger's head in a sentence: no two heads that anybody has seen begin alike; the page has all of it."""
_TEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


@dataclass(frozen=True)
class Citation:
    """Who published what about when, and where it can be checked."""

    author: str
    title: str
    period: str
    unit: str
    price: str
    released: str
    ledger: str
    head: str
    version: str

    @classmethod
    def of(cls, view: View) -> Citation:
        """The citation of a bundle."""
        about, card = view.schema.about, view.card
        return cls(
            author=about.source or about.contact,
            title=about.title or card.ledger.name,
            period=", ".join(filter(None, (about.area, about.period))),
            unit=about.unit or "records",
            price=f"{card.charged} per person",
            released=card.ledger.time[:10],
            ledger=f"entry {card.ledger.entry} of the ledger {card.ledger.name}",
            head=card.ledger.head,
            version=card.versions["hushtable"],
        )

    @property
    def text(self) -> str:
        """One sentence after the other; a page adds its own address."""
        named = ". ".join(_ended(part) for part in (self.author, self.title, self.period) if part)
        return (
            f"{named}. Differentially private counts of {self.unit}, {self.price}, released {self.released} with "
            f"Hushtable {self.version}: {self.ledger}, head {self.head[:SHORT_HEAD]}."
        )

    @property
    def bibtex(self) -> str:
        """An entry for a bibliography."""
        words = re.findall("[a-z]+", self.title.lower())
        fields = {
            "author": f"{{{_tex(self.author)}}}" if self.author else "",
            "title": _tex(", ".join(filter(None, (self.title, self.period)))),
            "year": self.released[:4],
            "note": _tex(
                f"Differentially private, {self.price}. Released {self.released}: {self.ledger}, head {self.head}"
            ),
        }
        lines = [f"  {name:<6} = {{{value}}}" for name, value in fields.items() if value]
        return f"@misc{{{''.join(words[:3]) or 'release'}{self.released[:4]},\n" + ",\n".join(lines) + "\n}\n"

    def dataset(self, files: list[dict[str, Any]]) -> dict[str, Any]:
        """A schema.org dataset, which search engines for data read."""
        made: dict[str, Any] = {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            "name": self.title,
            "description": self.text,
            "datePublished": self.released,
            "identifier": self.head,
            "isAccessibleForFree": True,
            "distribution": [
                {
                    "@type": "DataDownload",
                    "contentUrl": file["path"],
                    "encodingFormat": "application/zip",
                    "sha256": file["sha256"],
                }
                for file in files
            ],
        }
        return made | ({"creator": {"@type": "Organization", "name": self.author}} if self.author else {})


def _ended(text: str) -> str:
    return text.rstrip(". ")


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in text)
