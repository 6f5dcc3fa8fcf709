from typing import Any

class Config:
    def __init__(self, app: Any, **settings: Any) -> None: ...

class Server:
    should_exit: bool
    started: bool
    def __init__(self, config: Config) -> None: ...
    def run(self, sockets: list[Any] | None = ...) -> None: ...
