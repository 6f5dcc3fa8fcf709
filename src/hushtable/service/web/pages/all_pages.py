"""All pages in one router."""

from __future__ import annotations

from fastapi import APIRouter

from hushtable.service.web.pages import (
    account_pages,
    budget_pages,
    check_pages,
    choose_pages,
    dataset_pages,
    explore_pages,
    front_pages,
    job_parts,
    release_pages,
)


def router() -> APIRouter:
    """The pages, each with its guard."""
    made = APIRouter()
    for module in (
        front_pages,
        account_pages,
        dataset_pages,
        explore_pages,
        release_pages,
        check_pages,
        choose_pages,
        budget_pages,
        job_parts,
    ):
        made.include_router(module.router())
    return made
