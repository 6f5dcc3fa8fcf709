"""Nothing is declared: whatever is used of this package counts as Any, which no rule of ours looks into."""

from typing import Any

def __getattr__(name: str) -> Any: ...
