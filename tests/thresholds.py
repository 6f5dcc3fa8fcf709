"""Every statistical threshold of the test suite, with its reason and its false-alarm rate.

A test that compares random draws with their exact distribution fails by chance at the rate given here; a suite of a
few hundred such tests then fails by chance less than once in a million runs.  Each such test also has a mutant, a
slightly wrong distribution that it must reject, so that a threshold cannot be loosened unnoticed.
"""

from __future__ import annotations

from fractions import Fraction

from scipy import stats

FALSE_ALARM = 1e-9
"""Chance that one statistical test fails although all is well.  500 tests: 5e-7 per run of the suite."""

Z = float(stats.norm.isf(FALSE_ALARM / 2))
"""Two-sided threshold of a normal statistic with that rate, about 6.1: means, proportions, correlations."""

LEAST_EXPECTED = 200.0
"""Smallest expected count of a chi-square cell, so that the chi-square law is close enough at p = 1e-9: a Poisson count
of mean 200 is 6.1 standard deviations high with probability 1e-8 instead of 5e-10, one cell among thirty."""

DRAWS = 1_000_000
"""Draws per scale and distribution.  With thirty cells a Gaussian's standard deviation that is 1% wrong adds about 200
to a statistic of mean 30 and threshold 95 (a Laplace scale: 100, so that its mutant takes twice the draws)."""

MUTANT_SCALE = Fraction(101, 100)
"""The wrong scale that chi-square tests with DRAWS draws must reject.  Mutants are drawn from seeded bits: they are
rejected in every run or in none."""

AUDIT_ERROR = 0.05
"""Audits: a certified lower bound on the privacy loss of one batch of runs may be too high with this chance."""

AUDIT_BATCHES = 7
"""Audits: a claim fails when the bounds of this many fresh batches all exceed it, by chance at 0.05^7 < 1e-9; a
mechanism with 10% too little noise exceeds its claim in nearly every batch."""


def chi_square_threshold(cells: int) -> float:
    """Value that a chi-square statistic of `cells` cells exceeds with probability FALSE_ALARM."""
    return float(stats.chi2.isf(FALSE_ALARM, cells - 1))
