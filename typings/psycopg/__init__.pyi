from typing import Any

from psycopg import conninfo as conninfo

class Error(Exception):
    sqlstate: str | None

class InterfaceError(Error): ...
class DataError(Error): ...
class OperationalError(Error): ...

class ConnectionInfo:
    backend_pid: int
    transaction_status: Any

class Cursor:
    description: Any
    statusmessage: str | None
    rowcount: int
    def fetchall(self) -> list[Any]: ...

class Connection:
    info: ConnectionInfo
    def execute(self, query: str, params: Any = ...) -> Cursor: ...
    def fileno(self) -> int: ...
    def close(self) -> None: ...

def connect(**settings: Any) -> Connection: ...
