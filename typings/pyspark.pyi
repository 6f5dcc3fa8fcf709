from typing import Any

class TaskContext:
    @staticmethod
    def get() -> Any: ...
