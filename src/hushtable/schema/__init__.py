"""The declared, public domain of a table: attributes, bins, nulls, rows per person; YAML in and out."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.schema import bins, document
    from hushtable.schema.about import About
    from hushtable.schema.attribute import (
        FALSE_TEXTS,
        TRUE_TEXTS,
        Attribute,
        Binned,
        Boolean,
        Categorical,
        Date,
        Integer,
        LabelError,
        Real,
        text_of,
    )
    from hushtable.schema.build import RESERVED
    from hushtable.schema.codebook import codebook_text, from_codebook
    from hushtable.schema.coverage import CLIPPED, MISSING, OUTSIDE, UNKNOWN, Coverage, Loss, fates_of
    from hushtable.schema.day_formats import months_of, steps_of
    from hushtable.schema.dependencies import Dependency
    from hushtable.schema.dialect import ENCODINGS, Dialect
    from hushtable.schema.document import MAX_STORED_BYTES
    from hushtable.schema.drawn_sample import DrawnSample
    from hushtable.schema.findings import (
        UNIT,
        ColumnFindings,
        FileLook,
        Hint,
        Malformed,
        Offender,
        PeopleFindings,
        Preflight,
    )
    from hushtable.schema.known_table import BENCHMARK, EXACT, INVARIANT, RECORD_WEIGHT, KnownTable
    from hushtable.schema.levels import Levels
    from hushtable.schema.quality_scale import PRESETS, QualityScale
    from hushtable.schema.replicate_weights import ReplicateWeights, replicate_of
    from hushtable.schema.review import Review, ReviewItem, review_file, review_items, reviewed_text
    from hushtable.schema.row_weight import RowWeight
    from hushtable.schema.schema import Impossible, Learnt, Schema, SchemaLike
    from hushtable.schema.shared_column import SharedColumn, shared_columns
    from hushtable.schema.summed import SummedColumn, total_of
    from hushtable.schema.write import inline
else:
    __getattr__, __dir__ = lazily(__name__)
