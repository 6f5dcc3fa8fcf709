"""Publish tables from confidential records under differential privacy, with an error bar on every number.

Names are loaded when they are first used, so that ``import hushtable`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hushtable import deciders, errors, linear, marginals, microdata, planning, privacy
    from hushtable.ledger import Ledger
    from hushtable.marginals import Workload
    from hushtable.privacy import ZCDP, ApproxDP, PureDP
    from hushtable.release import Plan, Release
    from hushtable.schema import Schema
    from hushtable.session import Session
    from hushtable.synthesizer import Synthesizer

__version__ = "0.1.0"

_HOMES = {
    "ApproxDP": "privacy",
    "Ledger": "ledger",
    "Plan": "release",
    "PureDP": "privacy",
    "Release": "release",
    "Schema": "schema",
    "Session": "session",
    "Synthesizer": "synthesizer",
    "Workload": "marginals",
    "ZCDP": "privacy",
}
_PACKAGES = ("deciders", "errors", "linear", "marginals", "microdata", "planning", "privacy")

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
    "deciders",
    "errors",
    "linear",
    "marginals",
    "microdata",
    "planning",
    "privacy",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"hushtable.{name}")
    if name in _HOMES:
        return getattr(import_module(f"hushtable.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hushtable' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
