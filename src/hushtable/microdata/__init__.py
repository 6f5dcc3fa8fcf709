"""Nonnegative records from released answers, and what they cost: fits, bounds, rounding and generation."""

from hushtable.microdata.fits import METHODS, Fit, fit
from hushtable.microdata.measurement import Measurement
from hushtable.microdata.noise import Noise

__all__ = ["METHODS", "Fit", "Measurement", "Noise", "fit"]
