"""A single joint under a PID: independent joint control of one axis of an arm.

    (J s + B) s q = k u - tau_p,   u = -R(s) e,   R(s) = kp + kd s + ki / s,   e = q - q_d

    e = -(tau_p + (J s + B) s q_d) / (k R + (J s + B) s)

J is the inertia, B the viscous damping, k the torque per unit of u, tau_p the disturbance (gravity
and the other joints). Textbooks that write the error as q_d - q have no minus.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number, strict
from ..compile.arrays import numbers
from ..errors import OptionError

if TYPE_CHECKING:
    from scipy.signal import TransferFunction


@strict
@dataclass(frozen=True)
class SingleJoint:
    """A joint and its PID: stability, steady errors, transfer functions and exact responses.

    The PID acts on the error, derivative included, so a step of the reference gives an impulse.
    """

    inertia: float
    damping: float = 0.0
    gain: float = 1.0
    kp: float = 0.0
    ki: float = 0.0
    kd: float = 0.0

    def __post_init__(self) -> None:
        for name in ("inertia", "damping", "gain", "kp", "ki", "kd"):
            object.__setattr__(self, name, number(getattr(self, name), name))
        for name in ("inertia", "gain"):
            if not getattr(self, name) > 0:
                raise OptionError(f"{name} is {getattr(self, name):g}, expected a number above 0")
        if self.damping < 0:
            raise OptionError(f"damping is {self.damping:g}, expected at least 0")

    @classmethod
    @checked
    def from_bandwidth(
        cls,
        inertia: float,
        damping: float = 0.0,
        gain: float = 1.0,
        *,
        bandwidth: float,
        damping_ratio: float = 1.0,
        integral: float = 0.0,
    ) -> "SingleJoint":
        """Gains that place the poles: J (s^2 + 2 z w s + w^2)(s + integral w).

        w is `bandwidth` (rad/s), z `damping_ratio`; integral=0 is a PD, without the last factor.
        """
        w, z, a = (
            number(value, name)
            for value, name in (
                (bandwidth, "bandwidth"),
                (damping_ratio, "damping_ratio"),
                (integral, "integral"),
            )
        )
        if not w > 0 or not z > 0 or a < 0:
            raise OptionError(
                f"bandwidth is {w:g}, damping_ratio {z:g}, integral {a:g}, expected the first two "
                "above 0 and integral at least 0"
            )
        plant = cls(inertia, damping, gain)
        J, B, k = plant.inertia, plant.damping, plant.gain
        kd = (J * (2 * z + a) * w - B) / k
        if kd < 0:
            raise OptionError(
                f"damping {B:g} is more than these poles need ({J * (2 * z + a) * w:g}): kd would "
                f"be {kd:g}",
                f"ask for a bandwidth of at least {B / (J * (2 * z + a)):g} rad/s",
            )
        kp = J * (1 + 2 * z * a) * (w * w) / k
        return cls(J, B, k, kp=kp, ki=J * a * (w * w * w) / k, kd=kd)

    # -- stability ----------------------------------------------------------------------------

    @property
    def characteristic(self) -> np.ndarray:
        """Coefficients of J s^3 + (B + k kd) s^2 + k kp s + k ki, without the last if ki = 0."""
        k = self.gain
        c = [self.inertia, self.damping + k * self.kd, k * self.kp, k * self.ki]
        return np.array(c if self.ki else c[:3])

    @property
    def poles(self) -> np.ndarray:
        """Roots of the characteristic polynomial."""
        return np.roots(self.characteristic)

    @property
    def stable(self) -> bool:
        """Routh: every coefficient positive, and (B + k kd) kp > J ki."""
        positive = bool(np.all(self.characteristic > 0))
        return positive and (self.ki == 0 or self.ki < self.ki_limit)

    @property
    def ki_limit(self) -> float:
        """The ki at which the loop begins to swing for ever: (B + k kd) kp / J."""
        return (self.damping + self.gain * self.kd) * self.kp / self.inertia

    @property
    def stability_margin(self) -> float:
        """How far the slowest pole lies left of the imaginary axis, 1/s; negative if unstable."""
        return -float(np.real(self.poles).max())

    # -- errors that stay ---------------------------------------------------------------------

    @property
    def disturbance_error(self) -> float:
        """e left by a unit step of tau_p: 0 with ki, else -1 / (k kp)."""
        self._settles()
        return 0.0 if self.ki else -1.0 / (self.gain * self.kp)

    @property
    def ramp_error(self) -> float:
        """e left behind a reference of unit velocity: 0 with ki, else -B / (k kp)."""
        self._settles()
        return 0.0 if self.ki else -self.damping / (self.gain * self.kp)

    def _settles(self) -> None:
        if not self.stable:
            raise OptionError(
                f"this loop is not stable, so no error is its steady one: {self}",
                f"kp, ki and B + k kd must be positive (ki may be 0), ki below {self.ki_limit:g}",
            )

    # -- transfer functions -------------------------------------------------------------------

    @property
    def error_from_disturbance(self) -> "TransferFunction":
        """e / tau_p = -1 / (k R + (J s + B) s)."""
        return self._transfer([-1.0, 0.0] if self.ki else [-1.0], self.characteristic)

    @property
    def error_from_reference(self) -> "TransferFunction":
        """e / q_d = -(J s + B) s / (k R + (J s + B) s)."""
        numerator = [-self.inertia, -self.damping, 0.0] + [0.0] * bool(self.ki)
        return self._transfer(numerator, self.characteristic)

    @property
    def position_from_reference(self) -> "TransferFunction":
        """q / q_d = k R / (k R + (J s + B) s)."""
        return self._transfer(self._regulator(), self.characteristic)

    @property
    def open_loop(self) -> "TransferFunction":
        """k R / ((J s + B) s), for Bode and Nyquist plots."""
        plant = [self.inertia, self.damping, 0.0] + [0.0] * bool(self.ki)
        return self._transfer(self._regulator(), plant)

    def _regulator(self) -> list[float]:
        """Coefficients of k R, times s if it integrates; no leading zeros."""
        k = self.gain
        c = [k * self.kd, k * self.kp] + ([k * self.ki] if self.ki else [])
        while len(c) > 1 and c[0] == 0.0:
            c = c[1:]
        return c

    @staticmethod
    def _transfer(numerator: Any, denominator: Any) -> "TransferFunction":
        from scipy.signal import TransferFunction

        return TransferFunction(numerator, denominator)

    # -- responses ----------------------------------------------------------------------------

    @checked
    def step_disturbance(self, t: Any, tau_p: float = 1.0) -> np.ndarray:
        """q(t) from rest at q = q_d = 0 under a step of the disturbance at t = 0; here q = e."""
        return self._error(t, 0.0, 0.0, -number(tau_p, "tau_p") / self.inertia)

    @checked
    def step_reference(self, t: Any, height: float = 1.0) -> np.ndarray:
        """q(t) from rest at 0 when q_d steps to `height` at t = 0 (values at 0+).

        The impulse of kd on the step starts the motion at qd(0+) = k kd height / J.
        """
        h = number(height, "height")
        return h + self._error(t, -h, self.gain * self.kd * h / self.inertia, 0.0)

    def _error(self, t: Any, e: float, ed: float, push: float) -> np.ndarray:
        """J e'' + (B + k kd) e' + k kp e + k ki (integral of e) = J push, by its exponential."""
        from scipy.linalg import expm

        times = _times(t)
        J, k = self.inertia, self.gain
        F = np.zeros((4, 4))  # of [integral of e, e, e', 1]
        F[0, 1] = F[1, 2] = 1.0
        F[2] = -k * self.ki / J, -k * self.kp / J, -(self.damping + k * self.kd) / J, push
        return (expm(times[..., None, None] * F) @ [0.0, e, ed, 1.0])[..., 1]


def _times(t: Any) -> np.ndarray:
    times = numbers(t, "t", "expected seconds")
    if not np.all(np.isfinite(times) & (times >= 0)):
        raise OptionError("t holds negative or non-finite times, expected seconds from 0 on")
    return times
