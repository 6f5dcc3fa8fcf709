"""Says why the tests beside it do not run, where they do not."""

from __future__ import annotations

import pytest

from conftest import MISSING


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}; make test-office has them")
def test_readers_of_office_formats_are_installed() -> None:
    assert MISSING == []
