"""Requests to one service: repeated after a lost connection, waiting as long as it asks for, errors by code."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from hushtable_client.errors import ConnectionLost, ServiceError, VersionMismatch
from hushtable_client.version import __version__

TRIES = 6
"""How often a request is sent: with the pauses below for half a minute, longer than a service takes to restart."""
PAUSE, LONGEST_PAUSE = 0.5, 8.0
"""Seconds before the second try, doubled each time, up to the longest."""
PASSING = (502, 503, 504)
"""Statuses of what passes by itself; 429 says itself how long to wait."""
MOST_WAIT = 60.0
"""Seconds that a service may ask to wait before the next try; more is told to the caller."""
VERSION = "hushtable-version"


class Connection:
    """An address and a token.  Not for several threads at once."""

    def __init__(self, url: str, token: str, *, timeout: float = 60.0, transport: Any = None) -> None:
        headers = {"authorization": f"Bearer {token}", "user-agent": f"hushtable-client/{__version__}"}
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=timeout,
            transport=transport,
            follow_redirects=False,
        )

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def get(self, path: str, **parameters: Any) -> Any:
        """The JSON value of an address."""
        return self.send("GET", path, parameters=parameters).json()

    def items(self, path: str, **parameters: Any) -> Iterator[Any]:
        """A list to its end, page by page."""
        cursor = ""
        while True:
            page = self.get(path, **parameters, **({"cursor": cursor} if cursor else {}))
            yield from page["items"]
            cursor = page.get("next") or ""
            if not cursor:
                return

    def post(self, path: str, body: Any, *, key: str | None = None) -> httpx.Response:
        """Send a body; with ``key`` it may spend, and is repeated under that key alone."""
        return self.send("POST", path, body=body, key=key)

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        body: Any = None,
        content: bytes | None = None,
        kind: str | None = None,
        key: str | None = None,
    ) -> httpx.Response:
        """One request, sent again where that is safe; refusals are raised."""
        headers = {"idempotency-key": key} if key is not None else {}
        if kind is not None:
            headers["content-type"] = kind
        repeatable = method != "POST" or key is not None
        for attempt in range(TRIES if repeatable else 1):
            last = attempt == (TRIES - 1 if repeatable else 0)
            pause = min(PAUSE * 2**attempt, LONGEST_PAUSE)
            try:
                answer = self._http.request(
                    method, path, params=_given(parameters), json=body, content=content, headers=headers
                )
            except httpx.HTTPError:
                if last:
                    raise ConnectionLost(key) from None
                time.sleep(pause)
                continue
            if not last and (answer.status_code in PASSING or answer.status_code == 429):
                wait = waiting(answer)
                if wait is None or wait <= MOST_WAIT:
                    time.sleep(pause if wait is None else wait)
                    continue
            return self._checked(answer)
        raise ConnectionLost(key)

    def _checked(self, answer: httpx.Response) -> httpx.Response:
        theirs = answer.headers.get(VERSION)
        if theirs is None and answer.status_code in PASSING:
            raise ConnectionLost(None)
        if theirs is None or theirs.split(".")[:2] != __version__.split(".")[:2]:
            raise VersionMismatch(theirs, __version__)
        if answer.is_success or answer.status_code == 304:
            return answer
        raise refused(answer)


def refused(answer: httpx.Response) -> ServiceError:
    """The error that a response says."""
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    return ServiceError.of(problem if isinstance(problem, dict) else {}, answer.status_code)


def waiting(answer: httpx.Response) -> float | None:
    """Seconds that a response asks to wait."""
    text = answer.headers.get("retry-after", "")
    return float(text) if text.isascii() and text.isdigit() else None


def new_key() -> str:
    """An idempotency key that nobody has used."""
    return secrets.token_urlsafe(24)


def _given(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    """Parameters that were given; httpx repeats the name for each of a list."""
    return {name: value for name, value in (parameters or {}).items() if value is not None}
