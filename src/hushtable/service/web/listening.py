"""A web process: a socket, uvicorn on it, and a port of its own for public quantities."""

from __future__ import annotations

import contextlib
import http.server
import logging
import socket
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

from hushtable.errors import HushtableError, RefusedError, UsageError
from hushtable.lazily import Later
from hushtable.service.config import ServeConfig
from hushtable.service.service import Service

uvicorn = Later("uvicorn")
GRACE = 20
"""Seconds that requests get to end when the service stops; each takes less, because what takes long is a job."""
THREADS = 16
"""Requests that a process works on at once: twice its connections, because many never ask the database."""


def socket_at(host: str, port: int) -> socket.socket:
    """A socket that listens; a port in use is refused in one sentence."""
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError:
        made.close()
        raise RefusedError(
            "serve.port",
            f"Port {port} of {host} cannot be used: another program may have it.",
            "Give --port another.",
        ) from None
    made.listen(1024)
    return made


def check_certificate(config: ServeConfig) -> None:
    """Refuse a certificate or key that is not there or does not fit."""
    if config.certificate is None or config.key is None:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(config.certificate, config.key)
    except (OSError, ssl.SSLError):
        named = Path(config.certificate).name, Path(config.key).name
        raise UsageError(
            "serve.certificate",
            f"The certificate {named[0]} and the key {named[1]} cannot be read, or do not belong together.",
            "Give a certificate and its key in PEM.",
        ) from None


def run_web(config: ServeConfig, listening: socket.socket, number: int = 0) -> None:
    """Serve until a signal says to stop; requests that have begun are ended first.  Web processes are numbered."""
    from hushtable.service.web.application import application

    check_certificate(config)
    app: Any = application(Service.open(config))
    settings: dict[str, Any] = {
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": bool(config.proxies),
        "forwarded_allow_ips": list(config.proxies),
        "timeout_graceful_shutdown": GRACE,
        "ssl_certfile": config.certificate,
        "ssl_keyfile": config.key,
    }
    limiter = Later("anyio.to_thread")

    async def bounded(scope: Any, receive: Any, send: Any) -> None:
        limiter.current_default_thread_limiter().total_tokens = THREADS
        await app(scope, receive, send)

    with _metrics(config, app, number):
        uvicorn.Server(uvicorn.Config(bounded, **settings)).run(sockets=[listening])


@contextlib.contextmanager
def _metrics(config: ServeConfig, app: Any, number: int) -> Generator[None]:
    """Public quantities on a port of their own, which nobody outside needs to reach; each process has the next port."""
    if config.metrics_port is None:
        yield
        return

    class Quantities(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, content = 200, app.state.counts.text(app.state.service)
            except HushtableError:
                status, content = 503, ""
            self.send_response(status)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, format: str, *args: object) -> None:
            logging.getLogger("hushtable.metrics").debug("asked")

    port = config.metrics_port + number
    try:
        server = http.server.ThreadingHTTPServer((config.host, port), Quantities)
    except (OSError, OverflowError):
        raise RefusedError(
            "serve.port", f"Port {port} for metrics cannot be used.", "Choose another."
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
