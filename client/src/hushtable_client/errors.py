"""What can go wrong: a refusal of the service, in its words, or a service that does not answer.

ServiceError           refused, with a code
|-- ConnectionLost     no answer; the same call under the same key pays nothing twice
`-- VersionMismatch    a service of another version, or none at all
"""

from __future__ import annotations

from typing import Any


class ServiceError(Exception):
    """A refusal: ``code`` is stable, ``message`` one sentence, ``fix`` what to do instead, ``status`` that of HTTP."""

    def __init__(self, code: str, message: str, fix: str = "", status: int | None = None) -> None:
        super().__init__(code, message, fix)
        self.code, self.message, self.fix, self.status = code, message, fix, status
        self.problem: dict[str, Any] = {}
        """All that the service said."""

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".strip() + f" [{self.code}]"

    @classmethod
    def of(cls, problem: dict[str, Any], status: int) -> ServiceError:
        """From problem details (RFC 9457)."""
        made = cls(
            str(problem.get("code", "service.unknown")),
            str(problem.get("title", f"The service answered with {status}.")),
            str(problem.get("fix", "")),
            status,
        )
        made.problem = problem
        return made


class ConnectionLost(ServiceError):
    """The service did not answer."""

    def __init__(self, key: str | None) -> None:
        again = f"Call it again with key={key!r}: nothing is paid for twice." if key else "Try again."
        super().__init__("client.no-answer", "The service does not answer.", again)


class VersionMismatch(ServiceError):
    """The service is of another version than this client."""

    def __init__(self, theirs: str | None, ours: str) -> None:
        if theirs is None:
            super().__init__(
                "client.version", "This address is not that of a Hushtable service.", "Check it."
            )
        else:
            wanted = ".".join(theirs.split(".")[:2])
            super().__init__(
                "client.version",
                f"The service runs Hushtable {theirs}, and this client is for {ours}.",
                f"Type pip install 'hushtable-client=={wanted}.*'.",
            )
