"""Many analysts at once: everybody asks their questions until each has an answer or a refusal."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import httpx
from running import Running, Visitor

THREADS = 200
"""Analysts who ask at the same moment."""


def question(number: int) -> str:
    """A question that no other number asks."""
    low, high = number % 40, 41 + number // 40 % 39
    sex = ("F", "M")[number // 1560 % 2]
    return f"COUNT WHERE age >= {low} AND age <= {high} AND sex = '{sex}'"


@dataclass
class Analyst:
    """One client that keeps asking until it has been answered, whatever is killed meanwhile.

    It gives up where nobody can answer any more: the service has ended, or said nothing new for too long.
    """

    running: Running
    visitor: Visitor
    dataset: str
    upload: str
    name: str
    budget: str
    latencies: list[float] = field(default_factory=list)
    answers: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    places: dict[int, str] = field(default_factory=dict)
    ready: dict[int, float] = field(default_factory=dict)

    def hand_in(self, number: int, patience: float) -> None:
        body = {
            "query": question(number),
            "synthetic": {"upload": self.upload},
            "tau": 40,
            "budget": self.budget,
        }
        limit = time.time() + patience
        while True:
            assert time.time() < limit, "nobody takes the question"
            begun = time.perf_counter()
            answer = self._send(
                "POST",
                f"/v1/datasets/{self.dataset}/checks",
                json=body,
                headers={"idempotency-key": f"q{number}"},
            )
            if answer is None or answer.status_code in (429, 503):
                time.sleep(0.3)
                continue
            self.latencies.append(time.perf_counter() - begun)
            if answer.status_code in (202, 409) and "location" in answer.headers:
                self.places[number] = answer.headers["location"]
                self.ready[number] = time.time() + int(answer.headers["retry-after"])
            else:
                self.answers[number] = (answer.status_code, answer.content)
            return

    def collect(self, patience: float) -> None:
        """Wait for all that was handed in, as long as one after the other is answered."""
        limit = time.time() + patience
        while self.places:
            assert time.time() < limit, f"{len(self.places)} questions have no answer"
            number = min(self.places, key=lambda one: self.ready[one])
            time.sleep(max(0.0, self.ready[number] - time.time()))
            told = self._send("GET", f"{self.places[number]}/result")
            if told is None or told.status_code in (429, 503) or _waiting(told):
                later = 1 if told is None else int(told.headers.get("retry-after", 1))
                self.ready[number] = time.time() + later
                continue
            self.answers[number] = (told.status_code, told.content)
            del self.places[number]
            limit = time.time() + patience

    def _send(self, method: str, place: str, **more: Any) -> httpx.Response | None:
        with contextlib.suppress(httpx.HTTPError):
            return self.visitor.http.request(method, place, **more)
        assert self.running.process.poll() is None, "the service has ended"
        return None


def _waiting(answer: httpx.Response) -> bool:
    return answer.status_code == 409 and answer.json()["code"] == "job.waiting"


def ask_all(analysts: Sequence[Analyst], each: int, patience: float, first: int = 0) -> float:
    """Everybody asks so many questions at once; the seconds that it took.

    ``patience`` is how many seconds anybody waits for one thing to happen, ``first`` the number of the first question.
    """
    begun = time.perf_counter()

    def work(analyst: Analyst) -> None:
        for number in range(each):
            analyst.hand_in(first + number + each * int(analyst.name.rpartition("-")[2]), patience)
        analyst.collect(patience)

    with ThreadPoolExecutor(min(THREADS, len(analysts))) as pool:
        list(pool.map(work, analysts))
    return time.perf_counter() - begun


def statuses(analysts: Sequence[Analyst]) -> Counter[int]:
    """How often each status was the last word."""
    return Counter(status for one in analysts for status, _ in one.answers.values())
