"""The entry of a child of ``hush serve``: a web process on a socket that the parent opened, or a worker."""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence

from hushtable.errors import HushtableError, unexpected
from hushtable.service.config import ServeConfig
from hushtable.service.problems import PASSING

CRASHED, AWAITED = 70, 75
"""The exit codes of a child that met what nobody foresaw, and of one that met what passes by itself, as a database that
is starting: its parent starts it again, as it does after a kill."""


class LogLines(logging.Formatter):
    """One JSON object a line: time, level, where from, and words that name no value."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record; tracebacks, which may hold values, are left out."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        return json.dumps(
            {"time": at, "level": record.levelname, "from": record.name, "message": record.getMessage()}
        )


def set_up_logs() -> None:
    """Ours on standard error; of the libraries only what is a warning, because they may quote requests."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines())
    logging.basicConfig(level=logging.ERROR, handlers=[handler], force=True)
    logging.getLogger("hushtable").setLevel(os.environ.get("HUSH_LOG", "WARNING"))


def follow(lifeline: int) -> None:
    """End this process gently when the parent, who holds the other end, is gone."""

    def wait() -> None:
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def main(words: Sequence[str]) -> int:
    """Run a child; its exit code says whether it refused to start."""
    set_up_logs()
    try:
        if words[0] == "worker":
            follow(int(words[2]))
            from hushtable.service.serving import work

            work(words[1])
        else:
            follow(int(words[4]))
            from hushtable.service.web import run_web

            run_web(ServeConfig.load(words[1]), socket.socket(fileno=int(words[2])), int(words[3]))
    except HushtableError as error:
        if error.code in PASSING:
            logging.getLogger("hushtable.service").warning("%s [%s]", error.message, error.code)
            return AWAITED
        sys.stderr.write(f"hush: {error.message}\n  {error.fix}\n  [{error.code}]\n")
        return error.exit_code
    except Exception as error:  # with its text and traceback, which may hold values, left out
        logging.getLogger("hushtable.service").error("%s", unexpected(error).message)
        return CRASHED
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
