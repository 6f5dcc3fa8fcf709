"""Post-processing: from released noisy integers to consistent estimates and their intervals."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.reconstruct.bounds import (
        DERIVED,
        FULLY,
        LEAST_UPPER,
        PARTLY,
        intervals,
        least_upper,
        measured_flags,
        published_ends,
    )
    from hushtable.reconstruct.cell_sums import combined, sum_table, sum_variances
    from hushtable.reconstruct.evaluation import Evaluation
    from hushtable.reconstruct.fits import (
        RECONSTRUCTIONS,
        Fitted,
        Reconstruction,
        StateFits,
        fit_for,
        fit_tables,
        reconstruction_named,
        refit_for,
        register,
        require_levels,
    )
    from hushtable.reconstruct.known_totals import KnownFitted, with_known
    from hushtable.reconstruct.level_tables import fit_levels, refit_levels
    from hushtable.reconstruct.local import LocalTables
    from hushtable.reconstruct.maxent import fit_maxent, start_tables
    from hushtable.reconstruct.mle import ResidualEstimates, from_answers, from_marginals, from_residuals
    from hushtable.reconstruct.nonneg import fit_nonneg, fit_smooth
    from hushtable.reconstruct.raking import CLOSE, ROUNDS, Margin, margins_of, raked
    from hushtable.reconstruct.table_bounds import l1_bounds
    from hushtable.reconstruct.zeros import Zeros
else:
    __getattr__, __dir__ = lazily(__name__)
