"""Fields of forms, with the most letters that each may have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Form

FormText = Annotated[str, Form(max_length=200)]
FormKey = Annotated[str, Form(min_length=8, max_length=200)]
FormLines = Annotated[str, Form(max_length=20_000)]
FormDocument = Annotated[str, Form(max_length=2_000_000)]
FormNames = Annotated[tuple[str, ...], Form(max_length=1000)]
"""Amounts and names; keys that a page made; questions and lists of tables; a schema; names that are ticked."""
