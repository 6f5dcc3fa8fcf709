from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response

class APIRoute:
    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]: ...
