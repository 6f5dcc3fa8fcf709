"""Charts and the HTML report, from a bundle only: nothing here can reach the confidential data."""

from hushtable.errors import BundleError
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.report.confidential import STAMP, write_confidential_report
    from hushtable.report.public import public_report, write_report
else:
    _load, __dir__ = lazily(__name__)

    def __getattr__(name: str) -> object:
        try:
            return _load(name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in ("altair", "jinja2", "vl_convert"):
                raise
        raise BundleError(
            "report.not-installed",
            "Reports need packages that are not installed here.",
            "Type pip install 'hushtable[report]'.",
        )


__all__ = ["STAMP", "public_report", "write_confidential_report", "write_report"]
