"""Writes plain values as YAML that the strict reader reads back as the same values."""

from __future__ import annotations

from typing import Any, cast

import yaml

from hushtable.schema.document import scalar
from hushtable.texts import visible, visible_lines


def block(value: Any) -> str:
    """A whole document, one field per line, short lists inline."""
    return visible_lines(_dumped(value, default_flow_style=None, width=110))


def inline(value: Any) -> str:
    """A value on one line, for use after `field: `."""
    text = _dumped(value, default_flow_style=True, width=10**9)
    return visible(text.removesuffix("\n").removesuffix("\n..."))


def _dumped(value: Any, **layout: Any) -> str:
    return cast("Any", yaml).dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **layout)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that would be read back as something else, and uses no aliases.

    A text with invisible characters is in double quotes, where they may be written out.
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> Any:
    if not text.isprintable():
        style = '"'
    elif isinstance(scalar(text), str) and text != "<<":
        style = None
    else:
        style = "'"
    return cast("Any", dumper).represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
