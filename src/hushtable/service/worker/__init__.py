"""The worker: the only part of the service that opens data, and the only one that imports the session."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.service.worker.worker import Worker, run_worker
else:
    __getattr__, __dir__ = lazily(__name__)
