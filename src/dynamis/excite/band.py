"""A band beside an exciting motion: tones of small amplitude that reach resonances and stiffness.

    qdd_i = A_i sum_k cos(w h_k t + phi_k),  phi_k = -pi k (k - 1) / K,  w = 2 pi / period

Every joint has harmonics h_k of its own, so that frequency responses of joints can be told apart,
of equal acceleration, so of about equal torque. The phases are those of M. R. Schroeder, Synthesis
of low-peak-factor signals, IEEE Transactions on Information Theory 16, 1970; a small change of the
amplitudes lets all joints rest at both ends of the period.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_word, number
from ..errors import OptionError, SingularError, shown
from ..lazy import cached_property
from ..model.check.finding import Finding
from ..robot.resonances import elastic_entries

if TYPE_CHECKING:
    from ..robot import Robot

RESONANCES = "resonances"
TONES = 24  # of a joint at most
FEWEST = 4  # of a joint: two of its numbers go into the rest at both ends
HIGHEST = 10_000  # harmonic
LOOKS = 20  # times in a period of the highest tone at which limits are verified
BELOW, ABOVE = 0.5, 1.3  # of the lowest and of the highest resonance: the band that reaches them
NEXT = 1.01  # times the highest frequency of the motion: where a band may begin
SEEN = 20  # configurations at which resonances are looked for


@dataclass(frozen=True, eq=False)
class Band:
    """Tones of n joints; a and b (n, tones) are amplitudes of velocity, as in a Fourier series."""

    period: float
    harmonics: tuple[int, ...]
    a: np.ndarray
    b: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the tones in Hz."""
        return np.array(self.harmonics) / self.period

    @property
    def low(self) -> float:
        """The lowest frequency, Hz."""
        return float(self.frequencies[0])

    @property
    def high(self) -> float:
        """The highest frequency, Hz."""
        return float(self.frequencies[-1])

    @property
    def looks(self) -> int:
        """Times in a period at which the band is seen well."""
        return LOOKS * self.harmonics[-1]

    def of_joint(self, i: int) -> np.ndarray:
        """Indices of the tones that a joint has."""
        return np.flatnonzero(np.hypot(self.a[i], self.b[i]))

    def states(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Displacement, velocity and acceleration at times t, (T, n) each."""
        columns = []
        for i in range(len(self.a)):
            k = self.of_joint(i)
            w = 2.0 * np.pi * self.frequencies[k]
            s, c = np.sin(np.outer(t, w)), np.cos(np.outer(t, w))
            a, b = self.a[i, k], self.b[i, k]
            columns.append((s @ (a / w) - c @ (b / w), c @ a + s @ b, c @ (b * w) - s @ (a * w)))
        q, qd, qdd = (np.stack(x, axis=-1) for x in zip(*columns, strict=True))
        return q, qd, qdd

    @cached_property
    def peaks(self) -> np.ndarray:
        """Largest displacement, velocity and acceleration of every joint, (3, n)."""
        t = np.linspace(0.0, self.period, self.looks, endpoint=False)
        return np.abs(self.states(t)).max(axis=1) / np.cos(np.pi / LOOKS)

    def scaled(self, factor: Any) -> "Band":
        """The band with every joint's amplitude multiplied by a number, (n,) or one for all."""
        size = np.broadcast_to(np.asarray(factor, dtype=float), len(self.a))[:, None]
        return replace(self, a=size * self.a, b=size * self.b)

    def __str__(self) -> str:
        most = ", ".join(f"{x:.3g}" for x in self.peaks[2])
        count = max(len(self.of_joint(i)) for i in range(len(self.a)))
        return (
            f"band: {self.low:.4g} to {self.high:.4g} Hz, {count} tones a joint, "
            f"accelerations up to {most}"
        )


def multisine(period: float, low: float, high: float, n: int) -> Band:
    """Tones of n joints from `low` to `high` Hz, interleaved, largest acceleration of each 1."""
    first, last = int(np.ceil(low * period - 1e-9)), int(np.floor(high * period + 1e-9))
    there = last - first + 1
    joints = (n - 1) / n  # of a spacing: from the first joint's tone to the last one's
    spacing = max(n, int(np.ceil((there - 1) / (TONES - 1 + joints))))
    count = int((there - 1 - (n - 1) * spacing // n) // spacing) + 1
    if count < FEWEST:
        raise OptionError(
            f"band is ({low:g}, {high:g}) Hz with {max(there, 0)} multiples of 1/period, expected "
            f"{FEWEST * n} or more: {FEWEST} for each joint",
            f"a wider band, or period={np.ceil(FEWEST * n / max(high - low, 1e-9)) + 1:g}",
        )
    if last > HIGHEST:
        raise OptionError(
            f"band reaches to {high:g} Hz, {last} times 1/period, expected at most {HIGHEST}",
            f"a band up to {HIGHEST / period:g} Hz, or a shorter period",
        )
    starts = first + np.arange(n) * spacing // n
    harmonics = (starts + spacing * np.arange(count)[:, None]).ravel()  # even, or peaks grow
    a, b = np.zeros((2, n, len(harmonics)))
    for i in range(n):
        a[i, i::n], b[i, i::n] = _schroeder(2.0 * np.pi * harmonics[i::n] / period)
    unit = Band(period, tuple(harmonics.tolist()), a, b)
    return unit.scaled(1.0 / unit.peaks[2])


def _schroeder(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Amplitudes a and b of velocity of tones w (rad/s) that begin at rest without acceleration.

    At t = 0 the velocity is sum a, the acceleration sum w b: both are taken away by the least
    change of the amplitudes of acceleration.
    """
    k = np.arange(len(w))
    phase = -np.pi * k * (k + 1) / len(w)
    cosine, sine = np.cos(phase), np.sin(phase)
    cosine -= cosine.mean()
    inverse = 1.0 / w
    sine -= inverse * (sine @ inverse) / (inverse @ inverse)
    return sine / w, cosine / w


def checked_band(
    band: Any, robot: "Robot", looks: np.ndarray, above: float
) -> tuple[float, float] | None:
    """Lowest and highest frequency in Hz of what was asked for; None without a band.

    `looks` (k, n) are configurations at which resonances are looked for; the series of the motion
    has all frequencies up to that `above` which a band lies.
    """
    if band is None:
        return None
    expected = f"(lowest, highest) in Hz, {RESONANCES!r} or None"
    if is_word(band, (RESONANCES,)):
        reach = resonance_range(robot, looks)
        if reach is None:
            raise OptionError(
                f"band is {RESONANCES!r}: robot {robot.name!r} has no elastic joints",
                "give drives a stiffness, or band=(lowest, highest) in Hz",
            )
        low, high = band_for(*reach)
        return (low if low > above else NEXT * above), high
    if isinstance(band, (str, bytes)) or not isinstance(band, (Sequence, np.ndarray)):
        raise OptionError(f"band is {shown(band)}, expected {expected}")
    if len(band) != 2:
        raise OptionError(f"band is {shown(band)}, expected {expected}")
    low, high = (number(x, "band", expected, lambda x: 0.0 < x < np.inf) for x in band)
    if not low < high:
        raise OptionError(f"band is ({low:g}, {high:g}), expected {expected}: the lower one first")
    if low <= above:
        raise OptionError(
            f"band begins at {low:g} Hz, expected more than {above:g} Hz: the harmonics of the "
            "motion reach to there",
            "a higher band, fewer harmonics, or a longer period",
        )
    return low, high


def resonance_range(robot: "Robot", looks: np.ndarray) -> tuple[float, float] | None:
    """Lowest and highest resonance (Hz) at configurations (k, n); None of a rigid arm."""
    if not robot.chain.elastic:
        return None
    try:
        found = robot.resonances(looks)
    except SingularError:  # links without inertia behind a gear have none
        return None
    every = np.concatenate([found.free, found.locked], axis=-1)
    every = every[np.isfinite(every) & (every > 0.0)]
    return (float(every.min()), float(every.max())) if len(every) else None


def band_for(low: float, high: float) -> tuple[float, float]:
    """A band around resonances from `low` to `high` Hz, in two digits."""
    return float(f"{BELOW * low:.2g}"), float(f"{ABOVE * high:.2g}")


def unreached_resonances(
    robot: "Robot", looks: np.ndarray, lowest: float | None, highest: float
) -> list[Finding]:
    """A note where the resonances of elastic joints are not within what a motion reaches.

    `lowest` and `highest` frequency (Hz) of the band; without one `lowest` is None, and `highest`
    that of the series.
    """
    reach = resonance_range(robot, looks)
    if reach is None:
        return []
    low, high = reach
    if lowest is not None and lowest <= low and high <= highest:
        return []
    names = [robot.joint_names[robot.independent[i]] for i in elastic_entries(robot)]
    own = "motion" if lowest is None else f"band from {lowest:.3g} Hz"
    wide = "({:g}, {:g})".format(*band_for(low, high))
    return [
        Finding(
            "note",
            "drive trains",
            f"resonances of elastic joints are from {low:.3g} to {high:.3g} Hz, the {own} reaches "
            f"to {highest:.3g} Hz: it may not show their stiffness",
            f"band={wide}, or {RESONANCES!r}: tones of small amplitude that reach them",
            tuple(names),
        )
    ]
