"""The session of Spark in which tables are looked up: one that runs, a server's, or one that is started here."""

from __future__ import annotations

import os
import socket
import sys
from typing import Any
from urllib.parse import urlsplit

from hushtable.kernel.sources.database import package
from hushtable.kernel.sources.engines.spark_calls import SparkCall

_START = "Nothing was spent; install OpenJDK 17, or start the server that SPARK_REMOTE names."
_PORT = 15002  # of Spark Connect, unless another is named
_PATIENCE = 20
"""Seconds until a server is taken not to answer: long enough for a slow network, and shorter than a user's own."""
_LOCAL = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
}
"""Settings of a session that we start."""


def running_session() -> Any:
    """The session that is running, the one at SPARK_REMOTE, or one of this process, quiet and without a web page."""
    sql = package("pyspark.sql", "spark")
    running = sql.SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with SparkCall("No session of Spark can be started or reached", "source.no-engine", _START) as asking:
        builder = sql.SparkSession.builder.appName("hushtable")
        if "SPARK_REMOTE" in os.environ:
            _require_answer(os.environ["SPARK_REMOTE"])
            return builder.getOrCreate()
        for name, value in _LOCAL.items():
            builder = builder.config(name, value)
        found = builder.getOrCreate()
        found.sparkContext.setLogLevel("OFF")
        return found
    raise asking.refusal


def _require_answer(url: str) -> None:
    """Raises where no server listens; Spark's client would try for ten minutes."""
    if url.startswith("sc://"):
        found = urlsplit(url.partition(";")[0])
        socket.create_connection((found.hostname or "", found.port or _PORT), _PATIENCE).close()
