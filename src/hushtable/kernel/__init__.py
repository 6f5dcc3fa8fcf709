"""The confidential side: everything that can see a row or an exact count.

What leaves this package is noisy, charged and stored.  Only ``hushtable.session`` may import it.
"""

from hushtable.kernel.adaptive import Confidential
from hushtable.kernel.draft import draft_schema
from hushtable.kernel.measure import prepare_batch
from hushtable.kernel.rounds import read_rounds, run_rounds
from hushtable.kernel.sources import Source, open_source
from hushtable.kernel.spending import end_request, working_on

__all__ = [
    "Confidential",
    "Source",
    "draft_schema",
    "end_request",
    "open_source",
    "prepare_batch",
    "read_rounds",
    "run_rounds",
    "working_on",
]
