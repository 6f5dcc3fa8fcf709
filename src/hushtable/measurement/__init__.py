"""What can be measured, asked and stored: public, data-free, and all that a reader of a ledger needs."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.measurement.answers import Answers
    from hushtable.measurement.arithmetic import MAX_ROWS, check_arithmetic, check_cell_noise
    from hushtable.measurement.claim import Claim
    from hushtable.measurement.line import DECIDE, LOST, NOTE, ChoiceStep, Line
    from hushtable.measurement.linear_parts import CellPart, DeviationPart, MatrixPart
    from hushtable.measurement.parts import (
        DiscreteNoise,
        MarginalPart,
        Part,
        ResidualPart,
        TablePart,
    )
    from hushtable.measurement.quantities import JointPart, QuantityPart, StackedPart
    from hushtable.measurement.requests import (
        GRID,
        LARGEST_PENALTY,
        Compare,
        Label,
        Measure,
        OnePrice,
        Policy,
        Purse,
        Reply,
        Request,
        Round,
        Select,
        fingerprint,
    )
    from hushtable.measurement.residuals import Residuals
    from hushtable.measurement.transcript import Transcript, columns_of, lines_from_bytes, lines_to_bytes
else:
    __getattr__, __dir__ = lazily(__name__)
