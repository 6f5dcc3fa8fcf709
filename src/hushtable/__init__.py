"""Publish tables from confidential records under differential privacy, with an error bar on every number."""
