"""Pages for people: sign-in, explore, check, choose, budget; each a thin skin over the verbs of the desk.

Their routes are in ``all_pages``, which needs the packages of the service; what is offered here does not.
"""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.service.web.pages.page_routes import PAGES, table_of_pages
    from hushtable.service.web.pages.page_texts import PageTexts
else:
    __getattr__, __dir__ = lazily(__name__)
