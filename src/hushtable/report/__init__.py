"""Charts and the HTML report, from a bundle only: nothing here can reach the confidential data."""

from hushtable.report.confidential import STAMP, write_confidential_report
from hushtable.report.public import public_report, write_report

__all__ = ["STAMP", "public_report", "write_confidential_report", "write_report"]
