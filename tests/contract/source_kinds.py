"""One small table with its codes worked out by hand, as every kind of source holds it.

A new kind joins by adding a maker to KINDS.
"""

import csv
import gzip
import io
from datetime import date

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.schema import Schema
from rows_kept import rank, smallest

FIELDS = {
    "sex": {"type": "categorical", "values": ["F", "M", "X"], "null": "category", "outside": "other"},
    "zip": {"type": "categorical", "values": [12, 7, 300]},
    "age": {"type": "integer", "bounds": [0, 115], "width": 5, "column": "Age in years; 'q'"},
    "income": {"type": "real", "bounds": [0, 1], "width": 0.1, "null": "category"},
    "member": {"type": "boolean", "null": "category", "outside": "other"},
    "born": {"type": "date", "bounds": ["1990-01-01", "1999-12-31"], "width": "1 year", "outside": "other"},
}
SCHEMA = Schema.from_dict({"attributes": FIELDS})
COLUMNS = ["person", "extra", *(a.column for a in SCHEMA.attributes.values())]

# Raw rows (person, extra, then the attributes) and their codes, worked out by hand; None for a row that is dropped.
ROWS = [
    (("p1", "x", "F", 12, 0, 0.0, True, date(1990, 1, 1)), (0, 0, 0, 0, 1, 0)),
    (("p1", "y", "M", 7, 4, 0.1, False, date(1990, 12, 31)), (1, 1, 0, 1, 0, 0)),
    (("p2", None, None, 300, 115, 1.0, None, date(1999, 12, 31)), (3, 2, 23, 9, 2, 9)),
    (("p2", "x", "é?", 12, 200, 0.3, True, date(2005, 5, 5)), (4, 0, 23, 3, 1, 10)),
    (("p2", "x", "F", 12, -7, None, True, date(1995, 6, 1)), (0, 0, 0, 10, 1, 5)),
    (("p3", "x", "F", 13, 30, 0.5, True, date(1995, 6, 1)), None),
    (("p3", "x", "F", None, 30, 0.5, True, date(1995, 6, 1)), None),
    (("p3", "x", "F", 12, None, 0.5, True, date(1995, 6, 1)), None),
    (("p3", "x", "F", 12, 30, 0.5, True, None), None),
    ((None, "x", "X", 7, 30, -0.5, False, date(1995, 6, 1)), (2, 1, 6, 0, 0, 5)),
    (("p4", "x", "X", 7, 30, 1e300, False, date(1995, 6, 1)), (2, 1, 6, 9, 0, 5)),
]


def kept(rows, limit=None, ledger=""):
    """Rows that no attribute drops, and of each person those that count."""
    found = [(raw, code) for raw, code in rows if code is not None]
    if limit is None:
        return found
    ranked = (
        (raw[0], rank(raw[0].encode(), SCHEMA, code, raw[2:], ledger), (raw, code))
        for raw, code in found
        if raw[0] is not None
    )
    return smallest(ranked, limit)


def arrow_table(rows):
    columns = list(zip(*(raw for raw, _ in rows), strict=True)) or [()] * len(COLUMNS)
    types = [
        pa.string(),
        pa.string(),
        pa.string(),
        pa.int64(),
        pa.int32(),
        pa.float64(),
        pa.bool_(),
        pa.date32(),
    ]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    return pa.table(dict(zip(COLUMNS, arrays, strict=True)))


def csv_text(rows):
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(["" if v is None else v for v in raw] for raw, _ in rows)
    return file.getvalue()


def as_csv(rows, folder):
    (folder / "data.csv").write_text(csv_text(rows), encoding="utf-8")
    return folder / "data.csv"


def as_dressed_csv(rows, folder):
    text = "\ufeff" + csv_text(rows).removesuffix("\n").replace("\n", "\r\n")
    (folder / "data.csv").write_bytes(text.encode())
    return str(folder / "data.csv")


def as_gzip(rows, folder):
    (folder / "data.csv.gz").write_bytes(gzip.compress(csv_text(rows).encode()))
    return folder / "data.csv.gz"


def as_tsv(rows, folder):
    file = io.StringIO()
    csv.writer(file, delimiter="\t", lineterminator="\n").writerows(csv.reader(io.StringIO(csv_text(rows))))
    (folder / "data.tsv").write_text(file.getvalue(), encoding="utf-8")
    return folder / "data.tsv"


def as_glob(rows, folder):
    for k in range(3):
        part = rows[k * len(rows) // 3 : (k + 1) * len(rows) // 3]
        (folder / f"part{k}.csv").write_text(csv_text(part), encoding="utf-8")
    return str(folder / "part*.csv")


def as_parquet(rows, folder):
    pq.write_table(arrow_table(rows), folder / "data.parquet", row_group_size=4)
    return folder / "data.parquet"


def as_parquet_list(rows, folder):
    table, half = arrow_table(rows), len(rows) // 2
    pq.write_table(table[:half], folder / "a.parquet")
    pq.write_table(table[half:].select(COLUMNS[::-1]), folder / "b.parquet")
    return [folder / "a.parquet", str(folder / "b.parquet")]


def as_dictionary(rows, folder):
    table = arrow_table(rows)
    return table.set_column(2, "sex", table["sex"].dictionary_encode())


def as_pandas(rows, folder):
    return arrow_table(rows).to_pandas(date_as_object=False)


KINDS = {
    "csv": as_csv,
    "csv with BOM, CRLF and no last line break": as_dressed_csv,
    "csv.gz": as_gzip,
    "tsv": as_tsv,
    "glob": as_glob,
    "parquet": as_parquet,
    "list of parquet": as_parquet_list,
    "arrow": lambda rows, folder: arrow_table(rows),
    "arrow with a dictionary": as_dictionary,
    "polars": lambda rows, folder: pl.from_arrow(arrow_table(rows)),
    "polars lazy": lambda rows, folder: pl.from_arrow(arrow_table(rows)).lazy(),
    "polars categorical": lambda rows, folder: pl.from_arrow(arrow_table(rows)).with_columns(
        pl.col("sex").cast(pl.Categorical)
    ),
    "pandas": as_pandas,
    "pandas objects": lambda rows, folder: arrow_table(rows).to_pandas().astype(object),
    "pandas extension types": lambda rows, folder: as_pandas(rows, folder).convert_dtypes(),
    "pandas arrow types": lambda rows, folder: arrow_table(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "pandas categories": lambda rows, folder: as_pandas(rows, folder).astype({"sex": "category"}),
}
