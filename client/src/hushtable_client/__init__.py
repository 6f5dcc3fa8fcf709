"""A Hushtable service in Python: ``connect(url, token).dataset("town").check(...)``, with the verbs of the library."""

from hushtable_client.choices import Choice
from hushtable_client.connection import Connection
from hushtable_client.dataset import Dataset
from hushtable_client.errors import ConnectionLost, ServiceError, VersionMismatch
from hushtable_client.jobs import Job
from hushtable_client.releases import Release
from hushtable_client.service import Service, connect
from hushtable_client.version import __version__

__all__ = [
    "Choice",
    "Connection",
    "ConnectionLost",
    "Dataset",
    "Job",
    "Release",
    "Service",
    "ServiceError",
    "VersionMismatch",
    "__version__",
    "connect",
]
