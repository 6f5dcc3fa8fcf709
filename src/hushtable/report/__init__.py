"""Charts and the HTML report, from a bundle only: nothing here can reach the confidential data."""

# pyright: reportUnusedImport=false
from hushtable.errors import BundleError
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.report.assets import explorer_text, vega_text
    from hushtable.report.bar_table import BarTable
    from hushtable.report.books import BookedSpend, bought
    from hushtable.report.comparison_page import write_comparison_report as write_comparison_report
    from hushtable.report.confidential import STAMP as STAMP
    from hushtable.report.confidential import write_confidential_report as write_confidential_report
    from hushtable.report.pieces import Section
    from hushtable.report.plan_figures import drawn, drawn_figures, profile_figure, signal_figure
    from hushtable.report.public import public_report as public_report
    from hushtable.report.public import write_report as write_report
    from hushtable.report.rehearsal_page import write_rehearsal_report as write_rehearsal_report
    from hushtable.report.release_shown import ReleaseShown
    from hushtable.report.sections.budget_section import account_section
    from hushtable.report.site import Site as Site
    from hushtable.report.site import write_site as write_site
    from hushtable.report.templates import environment, script_json, style_text
else:
    _load, __dir__ = lazily(__name__)

    def __getattr__(name: str) -> object:
        try:
            return _load(name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("altair", "jinja2", "markupsafe", "vl_convert"):
                raise
        raise BundleError(
            "report.not-installed",
            "Reports need packages that are not installed here.",
            "Type pip install 'hushtable[report]'.",
        )


__all__ = [
    "STAMP",
    "Site",
    "public_report",
    "write_comparison_report",
    "write_confidential_report",
    "write_rehearsal_report",
    "write_report",
    "write_site",
]
