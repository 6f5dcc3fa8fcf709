"""The web: what answers HTTP.  Nothing here imports the session or the kernel, so no process of it can open data."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.service.web.listening import run_web, socket_at
else:
    __getattr__, __dir__ = lazily(__name__)
