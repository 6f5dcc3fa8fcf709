"""Choices between analyses: their families of options, their plan, what a ledger stores of them, and how they go on."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.release.choices.choice import Choice, ChoiceContext, start_choice
    from hushtable.release.choices.choice_plan import ChoicePlan, plan_choice
    from hushtable.release.choices.choice_view import ChoiceView
    from hushtable.release.choices.families import (
        FAMILIES,
        BucketTables,
        Family,
        option_text,
        options_from_files,
        register,
    )
    from hushtable.release.choices.record import ChoiceRecord, refuse_choice
    from hushtable.release.choices.several import options_from, require_several
else:
    __getattr__, __dir__ = lazily(__name__)
