"""Notch filters: the torque of a law without the frequency at which an arm rings.

    H(s) = (s^2 + 2 depth width w s + w^2) / (s^2 + 2 width w s + w^2),    w = 2 pi frequency

1 at low and high frequencies, `depth` at w; sampled by Tustin's rule, prewarped so that the middle
stays at w. With p = w T:

    H(z) = (1 + a - 2 cos(p) / z + (1 - a) / z^2) / (1 + b - 2 cos(p) / z + (1 - b) / z^2),
    a = depth width sin(p),    b = width sin(p)
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..arguments import checked, positive, strict
from ..errors import OptionError, shown
from ..robot.arm import Arm
from .controller import Controller, Gain, Sample, Step, Values, above_zero, clipped, code_key

if TYPE_CHECKING:
    from ..robot import Robot

OWN = "law."  # before the names of the law within
COEFFICIENTS = ("b0", "b1", "b2", "a2")


@strict
@dataclass(frozen=True)
class Notch(Controller):
    """The torques of `law`, each through a notch filter at `frequency` (Hz; 0: none there).

    The torque at `frequency` is multiplied by `depth`; `width` is the damping ratio of the filter's
    poles. It filters all of the torque and delays what is below its frequency: made for feedback,
    not for feed-forward. It starts at rest at the first torque. `limit` clips what comes out.
    """

    law: Controller
    frequency: Gain
    depth: Gain = 0.1
    width: Gain = 0.7
    limit: Gain | None = None
    sample_time: float | None = None
    GAINS = ("frequency", "depth", "width", "limit")
    dynamic = True

    def __post_init__(self) -> None:
        if not isinstance(self.law, Controller):
            raise OptionError(
                f"law is {shown(self.law)}, expected a controller of dy.control",
                "such as Notch(dy.control.JointPID(kp, ki, kd), frequency=12.0)",
            )
        if self.sample_time is None:
            object.__setattr__(self, "sample_time", self.law.sample_time)
        self._check()

    @property
    def model(self) -> "Robot | None":  # type: ignore[override]
        """The robot that the law within computes with."""
        return self.law.model

    @property
    def needs_model(self) -> bool:  # type: ignore[override]
        """Whether the law within does."""
        return self.law.needs_model

    @property
    def needs_reference(self) -> bool:  # type: ignore[override]
        """Whether the law within does."""
        return self.law.needs_reference

    @property
    def derivatives(self) -> int:  # type: ignore[override]
        """Derivatives of the reference that the law within computes with."""
        return self.law.derivatives

    @property
    def key(self) -> str | None:  # type: ignore[override]
        """Text that tells apart filtered laws whose code differs; None if a user wrote the law."""
        own = code_key(self.law)
        return None if own is None else f"{type(self).__module__}.{type(self).__qualname__}({own})"

    @checked
    def sampled(self, sample_time: float) -> Self:
        """The filter at a sample time; refuses a notch at or above half the sample rate."""
        h = positive(sample_time, "sample_time", "seconds")
        most, frequency = 0.5 / h, np.asarray(self.frequency, float)
        if not (frequency < most).all():
            raise OptionError(
                f"frequency is {shown(self.frequency)}, expected below half the sample rate, "
                f"{most:g} Hz",
                "sample faster, or leave the notch of that joint out (0)",
            )
        return replace(self, law=self.law.sampled(h), sample_time=h)

    def gains(self, robot: "Robot") -> Values:
        """Numbers of the sampled filters by name, and those of the law within."""
        given = super().gains(robot)
        h = positive(self.sample_time, "sample_time", "seconds")
        above_zero(self.width, "width", robot, "damping ratios")
        rows = [
            _coefficients(math.tau * f * h, depth, width)
            for f, depth, width in zip(
                given["frequency"], given["depth"], given["width"], strict=True
            )
        ]
        found = {name: [row[k] for row in rows] for k, name in enumerate(COEFFICIENTS)}
        found["limit"] = given["limit"]
        return {**found, **{OWN + name: row for name, row in self.law.gains(robot).items()}}

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The state of the law within; torques of two samples before and after the filter."""
        own = self.law.start(arm, self._within(sample))
        still = {
            name: [0.0] * arm.n for name in ("wanted", "wanted_before", "given", "given_before")
        }
        return {**{OWN + name: row for name, row in own.items()}, **still, "begun": [0.0]}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the state after it."""
        wanted, own = self.law.step(arm, self._within(sample))
        gains, state, tau, given = sample.gains, sample.state, [], []
        begun = state.begun[0] > 0.0
        for i, u in enumerate(wanted):
            u1, u2, y1, y2 = (
                arm.select(begun, row[i], u)
                for row in (state.wanted, state.wanted_before, state.given, state.given_before)
            )
            y = gains.b0[i] * u - gains.b1[i] * (u1 - y1) + gains.b2[i] * u2 - gains.a2[i] * y2
            given.append(y)
            tau.append(clipped(arm, y, gains.limit[i]))
        after = {OWN + name: row for name, row in own.items()}
        after |= {"wanted": list(wanted), "given": given, "begun": [1.0]}
        for name in ("wanted", "given"):
            last = getattr(state, name)
            now = wanted if name == "wanted" else given
            after[f"{name}_before"] = [
                arm.select(begun, x, y) for x, y in zip(last, now, strict=True)
            ]
        return tau, after

    def _within(self, sample: Sample) -> Sample:
        """The sample as the law within sees it."""
        gains, state = (SimpleNamespace(**_stripped(vars(x))) for x in (sample.gains, sample.state))
        return sample._replace(gains=gains, state=state)


def _stripped(rows: Mapping[str, Any]) -> dict[str, Any]:
    return {k.removeprefix(OWN): v for k, v in rows.items() if k.startswith(OWN)}


def _coefficients(phase: float, depth: float, width: float) -> tuple[float, ...]:
    """b0, b1, b2, a2 of y = b0 u - b1 (u1 - y1) + b2 u2 - a2 y2; at phase 0 no filter."""
    if phase == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    b = width * math.sin(phase)
    a, whole = depth * b, 1.0 + b
    return (1.0 + a) / whole, 2.0 * math.cos(phase) / whole, (1.0 - a) / whole, (1.0 - b) / whole
