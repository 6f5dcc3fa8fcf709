"""Charts and the HTML report, from a bundle only: nothing here can reach the confidential data."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.report.confidential import STAMP, write_confidential_report
    from hushtable.report.public import public_report, write_report
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = ["STAMP", "public_report", "write_confidential_report", "write_report"]
