"""The ``hush`` command: a thin shell over ``hushtable.session``, one module per command."""

from hushtable.cli.app import main

__all__ = ["main"]
