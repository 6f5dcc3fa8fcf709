"""The confidential side: everything that can see a row or an exact count.

What leaves this package is noisy, charged and stored.  Only ``hushtable.session`` may import it.
"""

from hushtable.kernel.adaptive import Confidential
from hushtable.kernel.draft import draft_schema
from hushtable.kernel.measure import Spend, measure_batch
from hushtable.kernel.rounds import run_rounds
from hushtable.kernel.sources import Source, open_source

__all__ = [
    "Confidential",
    "Source",
    "Spend",
    "draft_schema",
    "measure_batch",
    "open_source",
    "run_rounds",
]
