"""What the numbers are about: words for readers, which change nothing that is counted.

They are public, declared with the schema, kept in every bundle, and no part of the schema's version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from hushtable.schema.attribute import Attribute, Boolean, Categorical, text_of
from hushtable.schema.document import Document
from hushtable.schema.fields import Fields, is_mapping, key_text

HEADINGS = {
    "universe": "Universe",
    "period": "Reference period",
    "area": "Area",
    "unit": "Unit counted",
    "source": "Source",
    "contact": "Contact",
}
"""Facts in the order in which a page lists them."""

_TEXTS = ("title", *HEADINGS, "language")


@dataclass(frozen=True)
class AttributeWords:
    """An attribute in another language: its label, and the labels of its values."""

    label: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class About:
    """The ``about`` part of a schema; "" for what is not said.

    ``labels`` has, by language and attribute, the words for readers of that language; ``language`` is that of the rest.
    """

    title: str = ""
    universe: str = ""
    period: str = ""
    area: str = ""
    unit: str = ""
    source: str = ""
    contact: str = ""
    language: str = ""
    footnotes: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[str, AttributeWords]] = field(
        default_factory=dict[str, Mapping[str, AttributeWords]]
    )

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Headings and texts of what is said."""
        return tuple((shown, text) for name, shown in HEADINGS.items() if (text := getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """What ``read_about`` reads back."""
        made: dict[str, Any] = {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        if self.footnotes:
            made["footnotes"] = list(self.footnotes)
        if self.labels:
            made["labels"] = {
                language: {name: _words_dict(words) for name, words in known.items()}
                for language, known in self.labels.items()
            }
        return made


def _words_dict(words: AttributeWords) -> dict[str, Any]:
    said: dict[str, Any] = {"label": words.label} if words.label else {}
    return said | ({"values": dict(words.values)} if words.values else {})


ABOUT_FIELDS = tuple(part.name for part in fields(About))


def read_about(document: Document, value: Any, attributes: Mapping[str, Attribute]) -> About:
    """The ``about`` part, checked against the attributes that it has words for."""
    given = Fields(document, ("about",), value, ABOUT_FIELDS)
    notes = given.items("footnotes") or []
    if not all(isinstance(note, str) and note for note in notes):
        raise given.error("schema.wrong-type", "footnotes", "must list texts", "Put each in quotes.")
    labels = dict(_read_labels(document, given["labels"], attributes)) if "labels" in given else {}
    texts = {name: _text(given, name) for name in _TEXTS}
    return About(**texts, footnotes=tuple(notes), labels=labels)


def _text(given: Fields, name: str) -> str:
    """A text, or a number such as a year, as text."""
    value = given.checked(
        name,
        lambda item: isinstance(item, int) or bool(item and isinstance(item, str)),
        "text",
        "Put it in quotes.",
    )
    return "" if value is None else text_of(value)


def _read_labels(
    document: Document, value: Any, attributes: Mapping[str, Attribute]
) -> Iterator[tuple[str, dict[str, AttributeWords]]]:
    place = ("about", "labels")
    languages: list[Any] = [*value] if is_mapping(value) else []
    given = Fields(document, place, value, map(key_text, languages))
    for language in map(key_text, languages):
        known = Fields(document, (*place, language), given[language], attributes)
        words: dict[str, AttributeWords] = {}
        for name, attribute in attributes.items():
            if name in known:
                words[name] = _read_words(document, (*place, language, name), known[name], attribute)
        yield language, words


def _read_words(
    document: Document, place: tuple[str | int, ...], value: Any, attribute: Attribute
) -> AttributeWords:
    given = Fields(document, place, value, ("label", "values"))
    texts = value_texts(attribute)
    shown: dict[str, str] = {}
    if "values" in given:
        inner = Fields(document, (*place, "values"), given["values"], texts)
        shown = {text: inner.text(text) or text for text in texts if text in inner}
        all_shown = [shown.get(text, text) for text in texts]
        if len(set(all_shown)) < len(all_shown):
            raise given.error(
                "schema.duplicate-value", "values", "shows two values under one label", "Give each its own."
            )
    return AttributeWords(given.text("label") or "", shown)


def value_texts(attribute: Attribute) -> tuple[str, ...]:
    """The texts of an attribute's values that can have labels."""
    if isinstance(attribute, Categorical):
        return attribute.texts
    return ("false", "true") if isinstance(attribute, Boolean) else ()


def spoken(attribute: Attribute, words: AttributeWords) -> Attribute:
    """An attribute with other labels; values without one keep theirs."""
    named = replace(attribute, label=words.label or attribute.label)
    if isinstance(named, Categorical | Boolean):
        return replace(named, value_labels={**named.value_labels, **words.values})
    return named
