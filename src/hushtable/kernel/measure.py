"""The noisy answers of a batch: one part, counted first, then drawn once ``spending`` has charged for it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hushtable.kernel.counter import Counter
from hushtable.kernel.draw import Confidential
from hushtable.kernel.spending import Draw
from hushtable.kernel.warm import warm_gaussian, warm_laplace
from hushtable.measurement import Answers, TablePart

Progress = Callable[[str, int, int], None]


def prepare_batch(counter: Counter, part: TablePart, progress: Progress) -> Draw:
    """Count everything in ``part``; the draw gives the bytes of an ``Answers``."""
    progress("counting", 0, 3)
    drawing = Confidential(counter).measure(part)
    (warm_gaussian if part.noise.law == "gaussian" else warm_laplace)()
    columns = Answers(part, np.empty(0, np.int64)).columns()
    progress("charging", 1, 3)
    return lambda: Answers(part, drawing()).to_bytes(columns)
