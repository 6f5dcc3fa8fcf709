class HTTPException(Exception):
    status_code: int
    headers: dict[str, str] | None
