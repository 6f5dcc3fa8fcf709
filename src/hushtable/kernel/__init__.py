"""The confidential side: everything that can see a row or an exact count.

What leaves this package is noisy, charged and stored.  Only ``hushtable.session`` may import it, and the self-test
of its readers.
"""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.kernel.choosing import PartDrawer
    from hushtable.kernel.counter import Counter
    from hushtable.kernel.draft import draft_schema
    from hushtable.kernel.evaluate import true_errors
    from hushtable.kernel.preflight import run_preflight
    from hushtable.kernel.releasing import RequestRunner
    from hushtable.kernel.sources import open_counter, pinned, place_of
    from hushtable.kernel.spending import end_request, working_on
else:
    __getattr__, __dir__ = lazily(__name__)
