from collections.abc import Sequence
from typing import Any

class RequestValidationError(Exception):
    def errors(self) -> Sequence[Any]: ...

class HTTPException(Exception):
    status_code: int
    headers: dict[str, str] | None
