"""Releases, plans and bundles: everything a curator hands out, made from charged answers only."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.release import choices
    from hushtable.release.bundle import add_explanation, check_free
    from hushtable.release.card import (
        Card,
        Chosen,
        L1Bounds,
        LedgerStamp,
        PlanFacts,
        Reused,
        epsilon_by_delta,
        guarantees,
    )
    from hushtable.release.choices import KIND as CHOOSE
    from hushtable.release.choices import (
        Choice,
        ChoiceView,
        option_from_file,
        option_text,
    )
    from hushtable.release.details import CheckDetail, ReleaseDetail
    from hushtable.release.files import request_in
    from hushtable.release.history import history_frame
    from hushtable.release.loading import Bundle
    from hushtable.release.measured import Measured
    from hushtable.release.microdata import Microdata, complete_priorities, counts_promise, make_microdata
    from hushtable.release.plan import Plan, budget_to_reach, plan_release
    from hushtable.release.promise import MODELLED, approximate
    from hushtable.release.release import Release
    from hushtable.release.repeats import Asking
    from hushtable.release.resumable import Again, Resumable
    from hushtable.release.verdicts import plan_questions
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "CHOOSE",
    "MODELLED",
    "Again",
    "Asking",
    "Bundle",
    "Card",
    "CheckDetail",
    "Choice",
    "ChoiceView",
    "Chosen",
    "L1Bounds",
    "LedgerStamp",
    "Measured",
    "Microdata",
    "Plan",
    "PlanFacts",
    "Release",
    "ReleaseDetail",
    "Resumable",
    "Reused",
    "add_explanation",
    "approximate",
    "budget_to_reach",
    "check_free",
    "choices",
    "complete_priorities",
    "counts_promise",
    "epsilon_by_delta",
    "guarantees",
    "history_frame",
    "make_microdata",
    "option_from_file",
    "option_text",
    "plan_questions",
    "plan_release",
    "request_in",
]
