"""Spark in this process and behind Spark Connect: one Java process for both, started once for all tests."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from spark_pages import SparkPages

LOGGING = """
status = error
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c %m%n%ex
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
COMPLAINT = re.compile(r"WARN |ERROR |Caused by: |[\w.]+(Exception|Error): ")
MEMORY = "900m"


def missing() -> str | None:
    """Why Spark cannot be tested here."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: `make test-engines` brings it"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "there is no Java: install OpenJDK 17 (Debian's openjdk-17-jre-headless)"
    return None


@dataclass
class Sparks:
    """Sessions of one Java process, its logs and its event logs."""

    local: Any
    remote: str
    folder: Path

    @cached_property
    def connect(self) -> Any:
        """A session behind Spark Connect."""
        from pyspark.sql.connect.session import SparkSession

        return SparkSession.builder.remote(self.remote).create()

    @cached_property
    def pages(self) -> SparkPages:
        """What a browser shows, and the web service behind it."""
        context = self.local.sparkContext
        return SparkPages(context.uiWebUrl, context.applicationId)

    def settle(self) -> None:
        """Wait until everything that happened is written down."""
        self.local.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()

    def logs(self) -> bytes:
        """All that Spark has written to files so far: its log, its event log, and what Java and workers print."""
        self.settle()
        files = [
            path for name in ("events", "log") for path in (self.folder / name).rglob("*") if path.is_file()
        ]
        return b"".join(path.read_bytes() for path in files)

    def complaints(self) -> str:
        """The last warnings and errors in Spark's log, with the exceptions that are named there."""
        lines = (self.folder / "log" / "spark.log").read_text(errors="replace").splitlines()
        told = [line for line in lines if COMPLAINT.match(line)]
        return "\n".join(line[:500] for line in told[-40:])

    def stop(self) -> None:
        """End sessions and the Java process."""
        gateway = self.local.sparkContext._gateway
        if "connect" in vars(self):
            self.connect.stop()
        self.local.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def start() -> Sparks:
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    (folder / "events").mkdir()
    (folder / "log").mkdir()
    (folder / "log4j2.properties").write_text(LOGGING.format(file=folder / "log" / "spark.log"))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    port = free_port()
    settings = {
        "spark.driver.memory": MEMORY,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.port": str(free_port()),
        "spark.ui.liveUpdate.period": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": str(folder / "events"),
        "spark.eventLog.compress": "false",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.files.maxPartitionBytes": "128m",
    }
    builder = SparkSession.builder.master("local[2,4]").appName("tests")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with printing_to(folder / "log" / "printed"):
        session = builder.getOrCreate()
    return Sparks(session, f"sc://127.0.0.1:{port}", folder)


@contextmanager
def printing_to(file: Path) -> Generator[None]:
    """What processes that are started meanwhile print goes to a file, and what their own workers print."""
    kept = [os.dup(number) for number in (1, 2)]
    with file.open("wb") as found:
        for number in (1, 2):
            os.dup2(found.fileno(), number)
    try:
        yield
    finally:
        for number, was in zip((1, 2), kept, strict=True):
            os.dup2(was, number)
            os.close(was)
