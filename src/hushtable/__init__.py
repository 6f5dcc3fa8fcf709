"""Publish tables from confidential records under differential privacy, with an error bar on every number.

Names are loaded when they are first used, so that ``import hushtable`` costs nothing.
"""

from hushtable.lazily import TYPE_CHECKING, lazily
from hushtable.version import __version__

if TYPE_CHECKING:
    from hushtable import deciders, errors, linear, marginals, microdata, planning, privacy
    from hushtable import ledger as ledger
    from hushtable import reconstruct as reconstruct
    from hushtable import release as release
    from hushtable import report as report
    from hushtable import schema as schema
    from hushtable import selftest as selftest
    from hushtable import session as session
    from hushtable import spreadsheets as spreadsheets
    from hushtable.ledger import Ledger
    from hushtable.marginals import Workload
    from hushtable.privacy import ZCDP, ApproxDP, PureDP
    from hushtable.rehearsal import rehearse
    from hushtable.release import Plan, Release, compare
    from hushtable.schema import Schema
    from hushtable.session import Session, preflight
    from hushtable.synthesizer import Synthesizer
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Ledger",
    "Plan",
    "PureDP",
    "Release",
    "Schema",
    "Session",
    "Synthesizer",
    "Workload",
    "__version__",
    "compare",
    "deciders",
    "errors",
    "linear",
    "marginals",
    "microdata",
    "planning",
    "preflight",
    "privacy",
    "rehearse",
]
