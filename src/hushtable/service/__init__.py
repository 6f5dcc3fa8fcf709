"""Many people, one ledger: ``hush serve`` answers HTTP, ``hush worker`` opens the data.

    roles        who may do what: one table, enforced, documented and tested
    desk         the library's verbs for somebody with a role; managing: what curators change
    jobs, slots  what spends is a job; its answer appears at a time that was fixed when it was handed in
    web/         routes under /v1; imports neither session nor kernel
    worker/      the only part that opens data
    backup_copies  copies of a service, taken while it runs, and put back
    serving      starts and watches the processes

What lies below web and worker is shared by both: storage, users, catalogue, shelf, config, problems.
"""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.service.backup_copies import BackupReport, make_backup, restore_backup
    from hushtable.service.config import ServeConfig, WorkerConfig
    from hushtable.service.demonstration import ACCOUNTS, PASSWORD, Demonstration
    from hushtable.service.roles import ROUTES, Audience, Reach, Role, Scope, table_of_routes
    from hushtable.service.service import Service
    from hushtable.service.serving import require_installed, serve, work
    from hushtable.service.users import Users
else:
    __getattr__, __dir__ = lazily(__name__)
