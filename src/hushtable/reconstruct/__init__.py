"""Post-processing: from released noisy integers to consistent estimates and their intervals."""

from hushtable.reconstruct.answers import Answers
from hushtable.reconstruct.intervals import half_widths, intervals
from hushtable.reconstruct.mle import ResidualEstimates, combine, from_answers, from_marginals, from_residuals

__all__ = [
    "Answers",
    "ResidualEstimates",
    "combine",
    "from_answers",
    "from_marginals",
    "from_residuals",
    "half_widths",
    "intervals",
]
