"""Gaussian low-pass filters whose kernels are differentiated: signals and rates filtered alike."""

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import oaconvolve

HALF_POWER = 0.1325  # cut-off (Hz) of a Gaussian kernel times its standard deviation (s)
REACH = 5.0  # standard deviations of a kernel on either side


def kernels(step: float, cutoff: float, shift: float = 0.0) -> list[np.ndarray]:
    """A Gaussian low-pass and its first three derivatives, `shift` seconds ahead."""
    s = HALF_POWER / cutoff
    x = np.arange(-(m := int(np.ceil((REACH * s + abs(shift)) / step)) + 1), m + 1) * step + shift
    g = np.exp(-0.5 * (x / s) ** 2)
    g /= g.sum()
    u = x / s
    return [g, -u * g / s, (u**2 - 1.0) * g / s**2, (3.0 * u - u**3) * g / s**3]


def convolved(kernel: np.ndarray, x: np.ndarray) -> np.ndarray:
    """A signal (N,) through a kernel, as long as it was."""
    m = len(kernel) // 2
    return oaconvolve(x, kernel)[m : m + len(x)]


def convolved_ends(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """A signal through a kernel, continued at both ends, turned about its end points."""
    size = min(len(kernel), len(x) - 1)
    padded = np.pad(x, size, mode="reflect", reflect_type="odd")
    return convolved(kernel, padded)[size:-size]


def ahead(x: np.ndarray, steps: float) -> np.ndarray:
    """A signal some steps later, between samples by cubic pieces."""
    if steps == 0.0:
        return x
    at = np.arange(len(x))
    return make_interp_spline(at, x, 3)(np.clip(at + steps, 0, len(x) - 1))
