"""Releases, plans and bundles: everything a curator hands out, made from charged answers only."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.release import choices, exports, verdicts
    from hushtable.release.area_maps import AreaMap, checked_areas
    from hushtable.release.benchmarked import adjusts
    from hushtable.release.bundle import add_explanation, check_free
    from hushtable.release.bundle_files import request_in, sha256
    from hushtable.release.card import Card, LedgerStamp
    from hushtable.release.choices import Choice, ChoiceView
    from hushtable.release.comparison import ReleaseComparison, compare
    from hushtable.release.details import CheckDetail
    from hushtable.release.dictionaries import records_package
    from hushtable.release.exports import Exported, write_export
    from hushtable.release.loading import Bundle, Manifest
    from hushtable.release.measured import measure
    from hushtable.release.outline import Outline, checked_replicates
    from hushtable.release.plan import Plan
    from hushtable.release.plan_maker import Way, plan_release
    from hushtable.release.promise import ALPHA, MODELLED, WHOLE_TABLE, approximate, interval_promise
    from hushtable.release.quality import (
        CAUTION_ABOVE,
        QUALITY_FLAGS,
        UNRELIABLE_ABOVE,
        QualityFlag,
        grade_column,
        quality_codes,
        quality_column,
        relative_errors,
    )
    from hushtable.release.query_release import QueryRelease
    from hushtable.release.record_fits import (
        MOST_WORK,
        Microdata,
        RecordColumns,
        complete_priorities,
        counts_promise,
        make_microdata,
    )
    from hushtable.release.rehearsed import REHEARSED, Rehearsal, checked_runs
    from hushtable.release.release import Release
    from hushtable.release.repeats import Again, Asking
    from hushtable.release.replicates import replicates_of
    from hushtable.release.request_notes import begun_version
    from hushtable.release.resumable import Resumable, write_once
    from hushtable.release.sample_errors import CVS, has_sampling_errors
    from hushtable.release.spend_kinds import CHECK, CHOOSE, is_choice
    from hushtable.release.sums import areas_of, asked_table, combination_of, quantiles_of
    from hushtable.release.table_value import TableValue
    from hushtable.release.tables import ReleasedTable
    from hushtable.release.uncertainty_curve import MeasuredTable, UncertaintyCurve, curve_at, curve_of
    from hushtable.release.wanted_budget import budget_wanted
    from hushtable.release.whole_numbers import WholeNumbers
    from hushtable.release.wish import Wish
else:
    __getattr__, __dir__ = lazily(__name__)
