"""New datasets and changed schemas: an editor that shows what becomes public, and which marks nobody has reviewed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from hushtable.ledger import Unit
from hushtable.schema import Schema, review_items, reviewed_text
from hushtable.service import bodies
from hushtable.service.managing import Manager, new_dataset
from hushtable.service.web.guard import caller_in, desk_of, service_of
from hushtable.service.web.pages.form_fields import FormDocument, FormNames, FormText
from hushtable.service.web.pages.frame import after, elsewhere, page, page_router

MOST_LABELS = 8
"""Categories of an attribute that the review lists: a line or two; the schema itself, beside it, has all."""


def router() -> APIRouter:
    """The pages of this module."""
    return page_router(
        new_dataset_page, new_dataset_review, new_dataset_form, schema_page, schema_review, schema_form
    )


def new_dataset_page(request: Request) -> Response:
    return page(request, "new-dataset.html.j2", tab="")


def new_dataset_review(request: Request, document: FormDocument, accept: FormNames = ()) -> Response:
    return _reviewed(request, document, accept, "/new/schema")


def new_dataset_form(
    request: Request,
    name: FormText,
    document: FormDocument,
    budget: FormText,
    largest_rows: Annotated[int, Form()],
    share_answers: Annotated[bool, Form()] = False,
    two_curators: Annotated[bool, Form()] = False,
) -> Response:
    body = bodies.DatasetBody.model_validate(
        {
            "name": name,
            "schema": document,
            "budget": budget,
            "largest_rows": largest_rows,
            "share_answers": share_answers,
            "two_curators": two_curators,
        }
    )
    new_dataset(service_of(request), caller_in(request).person, body)
    return elsewhere(request, f"/datasets/{name}/budget")


def schema_page(request: Request, dataset: str) -> Response:
    desk = desk_of(request)
    return page(request, "schema.html.j2", tab="schema", written=desk.dataset.schema_yaml)


def schema_review(request: Request, dataset: str, document: FormDocument, accept: FormNames = ()) -> Response:
    return _reviewed(request, document, accept, f"/datasets/{dataset}/schema/review")


def schema_form(request: Request, dataset: str, document: FormDocument) -> Response:
    body = bodies.SchemaBody.model_validate({"schema": document})
    return after(request, Manager(desk_of(request)).change("schema_change", body), dataset, "/schema")


def _reviewed(request: Request, text: str, accept: Sequence[str], place: str) -> Response:
    """What a schema makes public, and its marks; those that are accepted are moved in the text."""
    schema = Schema.loads(text)
    if accept:
        text = reviewed_text(text, accept)
        schema = Schema.loads(text)
    attributes: list[dict[str, Any]] = [
        {
            "name": name,
            "label": what.label or name,
            "kind": what.kind,
            "count": len(what.labels),
            "labels": what.labels[:MOST_LABELS],
        }
        for name, what in schema.attributes.items()
    ]
    return page(
        request,
        "schema-part.html.j2",
        written=text if accept else None,
        items=review_items(schema),
        attributes=attributes,
        unit=Unit.of(schema),
        place=place,
    )
