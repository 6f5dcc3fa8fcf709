"""The version of the client: that of the services it is for."""

__version__ = "0.2.0"
