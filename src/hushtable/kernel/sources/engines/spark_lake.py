"""Delta and Iceberg tables counted where Spark runs: ``spark:delta:FOLDER`` and ``spark:iceberg:NAME``.

The table's own package lists the files of one version on the driver; Spark's executors read them, so that no connector
is needed.  A name that Spark itself knows, through whatever connector a session has, is looked up there as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hushtable.kernel.counter import Counter
from hushtable.kernel.sources.delta_table import DeltaOpener
from hushtable.kernel.sources.engines.engine_counter import EngineCounter
from hushtable.kernel.sources.engines.engine_frame import EngineFrame
from hushtable.kernel.sources.engines.lake_frame import LakeFrame
from hushtable.kernel.sources.engines.spark import SparkFrame
from hushtable.kernel.sources.engines.spark_calls import SparkCall
from hushtable.kernel.sources.engines.spark_session import running_session
from hushtable.kernel.sources.iceberg_table import IcebergOpener
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.opener import Opener
from hushtable.kernel.sources.row_tables import require_fit
from hushtable.schema import Schema

_LakeOpener = DeltaOpener | IcebergOpener
_LAKES: Mapping[str, _LakeOpener] = {opener.name: opener for opener in (DeltaOpener(), IcebergOpener())}


class SparkLakeOpener(Opener):
    """Lake tables by their address, with ``spark:`` before it."""

    name = "spark lake"
    what = "spark:delta:FOLDER or spark:iceberg:NAME"
    schemes = ("spark",)
    begins = tuple(f"{kind}:" for kind in _LAKES)
    keeps_place = True

    def open(self, data: str, schema: Schema) -> Counter:
        """What cannot be read is refused before a session is started for it."""
        opener, address = _inner(data)
        table = opener.table(address, schema)
        require_fit(table.headers, schema)
        return EngineCounter(
            LakeFrame(table.headers[0], table.files(), _NumberTables(running_session())), schema
        )

    def look(self, data: str, header: bool | None) -> Look:
        opener, address = _inner(data)
        return opener.look(address, header)

    def pinned(self, data: str) -> str:
        opener, address = _inner(data)
        return f"spark:{opener.pinned(address)}"


class _NumberTables:
    """Tables of numbers in a session."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def __call__(self, numbers: int) -> EngineFrame:
        with SparkCall("The session cannot be used") as asking:
            return SparkFrame(self._session.range(0, numbers, 1, numbers))
        raise asking.refusal


def _inner(data: str) -> tuple[_LakeOpener, str]:
    """The kind of the table, and its address without ``spark:``."""
    kind, _, place = data.partition(":")[2].removeprefix("//").partition(":")
    return _LAKES[kind.lower()], f"{kind.lower()}:{place}"
