"""Choices between analyses: their families of options, their plan, what a ledger stores of them, and how they go on."""

from hushtable.release.choices.choice import Choice, ChoiceContext
from hushtable.release.choices.choice_plan import ChoicePlan, plan_choice
from hushtable.release.choices.choice_view import ChoiceView
from hushtable.release.choices.families import FAMILIES, Family, option_from_file, register
from hushtable.release.choices.notes import Taken
from hushtable.release.choices.record import KIND, ChoiceRecord, StoredPart
from hushtable.release.choices.starting import option_text, plan_options, resume_choice, start_choice

__all__ = [
    "FAMILIES",
    "KIND",
    "Choice",
    "ChoiceContext",
    "ChoicePlan",
    "ChoiceRecord",
    "ChoiceView",
    "Family",
    "StoredPart",
    "Taken",
    "option_from_file",
    "option_text",
    "plan_choice",
    "plan_options",
    "register",
    "resume_choice",
    "start_choice",
]
