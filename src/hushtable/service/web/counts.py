"""Public quantities of a process for Prometheus: requests by route and status, jobs by state, workers, slots."""

from __future__ import annotations

import threading
from collections import Counter

from hushtable.service.service import Service


class RequestCounts:
    """How often each route answered with each status."""

    def __init__(self) -> None:
        self._seen: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()

    def note(self, route: str, status: int) -> None:
        """Count one."""
        with self._lock:
            self._seen[route, status] += 1

    def text(self, service: Service) -> str:
        """All quantities, in the text format of Prometheus: no names of people or datasets, no amounts."""
        lines = ["# TYPE hush_requests_total counter"]
        with self._lock:
            seen = sorted(self._seen.items())
        lines += [f'hush_requests_total{{route="{r}",status="{s}"}} {n}' for (r, s), n in seen]
        lines.append("# TYPE hush_jobs gauge")
        lines += [f'hush_jobs{{state="{state}"}} {n}' for state, n in service.jobs.counts()]
        lines += ["# TYPE hush_workers gauge", f"hush_workers {service.jobs.workers()}"]
        lines.append("# TYPE hush_slot_overruns_total counter")
        for one in service.jobs.overruns():
            lines.append(f'hush_slot_overruns_total{{kind="{one.kind}"}} {one.overruns}')
        return "\n".join(lines) + "\n"
