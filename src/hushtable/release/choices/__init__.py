"""Choices between analyses: their families of options, their plan, what a ledger stores of them, and how they go on."""

from hushtable.release.choices.choice import Choice, ChoiceContext, start_choice
from hushtable.release.choices.choice_plan import ChoicePlan, plan_choice
from hushtable.release.choices.choice_view import ChoiceView
from hushtable.release.choices.families import FAMILIES, Family, option_from_file, option_text, register
from hushtable.release.choices.record import KIND, ChoiceRecord, refuse_choice

__all__ = [
    "FAMILIES",
    "KIND",
    "Choice",
    "ChoiceContext",
    "ChoicePlan",
    "ChoiceRecord",
    "ChoiceView",
    "Family",
    "option_from_file",
    "option_text",
    "plan_choice",
    "refuse_choice",
    "register",
    "start_choice",
]
