"""Post-processing: from released noisy integers to consistent estimates and their intervals."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.reconstruct.bounds import FULLY
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
        from_answers,
        from_marginals,
        from_residuals,
    )
else:
    __getattr__, __dir__ = lazily(__name__)
