"""Confidential tables as streams of integer codes."""

from hushtable.kernel.sources.source import Source, open_source

__all__ = ["Source", "open_source"]
