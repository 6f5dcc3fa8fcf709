"""Post-processing: from released noisy integers to consistent estimates and their intervals."""

from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.reconstruct.bounds import FULLY
    from hushtable.reconstruct.confidence import half_widths, intervals
    from hushtable.reconstruct.evaluation import Evaluation
    from hushtable.reconstruct.fits import (
        RECONSTRUCTIONS,
        Fitted,
        Reconstruction,
        reconstruction_named,
        register,
    )
    from hushtable.reconstruct.mle import (
        ResidualEstimates,
        combine,
        from_answers,
        from_marginals,
        from_residuals,
    )
else:
    __getattr__, __dir__ = lazily(__name__)

__all__ = [
    "FULLY",
    "RECONSTRUCTIONS",
    "Evaluation",
    "Fitted",
    "Reconstruction",
    "ResidualEstimates",
    "combine",
    "from_answers",
    "from_marginals",
    "from_residuals",
    "half_widths",
    "intervals",
    "reconstruction_named",
    "register",
]
