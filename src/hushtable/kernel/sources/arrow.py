"""pyarrow under the names that this package uses; it has no types of its own, so they are declared as Any."""

from __future__ import annotations

from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.fs
import pyarrow.parquet

pa: Any = pyarrow
pc: Any = pyarrow.compute
pq: Any = pyarrow.parquet
fs: Any = pyarrow.fs
