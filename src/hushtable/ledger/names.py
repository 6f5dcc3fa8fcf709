"""What a caller may write into a ledger: names, request ids, kinds and details.

Everything here is public text; nothing checks whether a spend is allowed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import suppress
from typing import Any, cast

from pydantic import JsonValue, TypeAdapter

from hushtable.errors import LedgerError
from hushtable.ledger.entries import canonical

NAME_LENGTH = 100
REQUEST_LENGTH = 200
DETAIL_BYTES = 64 * 1024
SCHEMA_BYTES = 16 * 1024 * 1024
"""Letters of names and of request ids, bytes of a detail and of a schema.  Chosen so that no entry of a ledger is
large; a schema may have sixteen times the bytes of its file."""

_detail: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def check_spender(name: object) -> str:
    return _plain(name, what="spender's name", code="ledger.bad-spender", length=NAME_LENGTH)


def check_dataset(name: object) -> str:
    return _plain(name, what="ledger's name", code="ledger.bad-name", length=NAME_LENGTH)


def check_person(name: object) -> str:
    return _plain(name, what="person column's name", code="ledger.bad-unit", length=REQUEST_LENGTH)


def check_request(request: object) -> str:
    return _plain(request, what="request id", code="ledger.bad-request", length=REQUEST_LENGTH)


def check_kind(kind: object) -> str:
    """A kind is a word such as ``release`` or ``check``."""
    if isinstance(kind, str) and re.fullmatch(r"[a-z][a-z0-9-]{0,39}", kind):
        return kind
    raise LedgerError(
        "ledger.bad-kind",
        "The kind of a reservation is not a short word in lower case.",
        "Use letters, digits and hyphens, for example kind='release'.",
    )


def check_head(head: object) -> str:
    """A published head: 64 hexadecimal digits."""
    if isinstance(head, str) and re.fullmatch(r"[0-9a-f]{64}", head.strip().lower()):
        return head.strip().lower()
    raise LedgerError(
        "ledger.bad-head",
        "The head is not 64 hexadecimal digits.",
        "Copy it in full from `hush ledger show L` or from the release that published it.",
    )


def public_detail(detail: object) -> dict[str, Any]:
    """The detail as plain JSON values, in one spelling."""
    try:
        text = canonical(detail)
        plain: dict[str, Any] = _detail.validate_json(text)
        same = canonical(plain) == text
    except (TypeError, ValueError, RecursionError):
        same, text, plain = False, "", {}
    if not same:
        raise LedgerError(
            "ledger.bad-detail",
            "The detail of a reservation is not a JSON object.",
            "Use a dict of strings, finite numbers, booleans, None, lists and dicts only.",
        )
    if len(text) > DETAIL_BYTES:
        raise LedgerError(
            "ledger.detail-too-long",
            f"The detail of a reservation is longer than {DETAIL_BYTES} characters of JSON.",
            "Name the workload or its file in the detail instead of listing it, or store a hash of it.",
        )
    return plain


def schema_object(schema_json: object) -> dict[str, Any]:
    """A schema's JSON text as a dict."""
    value: object = None
    if isinstance(schema_json, str) and len(schema_json) <= SCHEMA_BYTES:
        with suppress(ValueError, RecursionError):
            value = json.loads(schema_json)
    if not isinstance(value, dict):
        raise LedgerError(
            "ledger.bad-schema", "The schema is not a JSON object.", "Pass the schema's own JSON text."
        )
    return cast(dict[str, Any], value)


def _plain(text: object, *, what: str, code: str, length: int) -> str:
    if (
        isinstance(text, str)
        and 0 < len(text) <= length
        and text.isprintable()
        and text == text.strip()
        and unicodedata.is_normalized("NFC", text)
    ):
        return text
    raise LedgerError(
        code,
        f"The {what} is empty, longer than {length} characters, or has characters that cannot be printed.",
        "Use letters, digits, spaces inside and punctuation, for example 'team-a'.",
    )
