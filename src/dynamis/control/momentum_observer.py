"""External torque from the momentum, without acceleration or force sensors (De Luca 2003)."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice
from ..compile.arm import Arm
from ..errors import OptionError
from .controller import Measured, Scalars, Values, check_block, model_of, per_joint
from .task import transposed_product

if TYPE_CHECKING:
    from ..robot import Robot

FRICTION = ("measured", "none")


@dataclass(frozen=True)
class MomentumObserver:
    """r = K (p - p0 - integral of (tau + C^T qd - g - friction + r)), with p = M qd.

    So r' = K (tau_ext - r), where tau_ext is what acts on the joints besides the motors:
    M qdd + C qd + g + friction = tau + tau_ext. `gain` K is 1 / time constant (1/s), one number or
    one per joint. From sample to sample the filter is solved exactly,
    r += (1 - exp(-K dt)) (mean tau_ext since the last sample - r): stable for every K dt, and a
    constant tau_ext is found without bias.

    Friction is that of the model at the measured velocity. At rest its law gives the offset alone:
    what stiction carries there is reported as external torque, anywhere between the two values
    of `stiction(robot)`. It is not filtered away: contacts below that level cannot be told from it.
    """

    gain: Any
    model: "Robot | None" = None
    friction: str = "measured"
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)

    @property
    def options(self) -> tuple[Any, ...]:
        """Whether friction is known."""
        return (self.friction,)

    @property
    def key(self) -> str:
        """Text that tells apart observers whose code differs."""
        return f"{type(self).__module__}.{type(self).__qualname__}{self.options!r}"

    @checked
    def gains(self, robot: "Robot") -> Values:
        """gain, one per joint, above 0."""
        model_of(self, robot)
        gain = per_joint(self.gain, "gain", robot)
        if 0.0 in gain:
            raise OptionError(f"gain is {self.gain!r}, expected numbers above 0 (1/s)")
        return {"gain": gain}

    def start(self, arm: Arm, gains: SimpleNamespace, measured: Measured) -> Values:
        """Nothing seen yet: the first step only notes the momentum and the bias."""
        rest = [0.0] * arm.n
        return {"estimate": rest, "momentum": rest, "bias": rest, "seen": [0.0]}

    def step(
        self,
        arm: Arm,
        gains: SimpleNamespace,
        state: SimpleNamespace,
        measured: Measured,
        tau: Scalars,
        dt: Any,
    ) -> tuple[Scalars, Values]:
        """The estimate at this sample; `tau` acted since the last one, dt ago."""
        momentum = list(arm.mass_times(measured.q, measured.qd))
        bias = self._bias(arm, measured)
        estimate = []
        for i in range(arm.n):
            known = tau[i] + 0.5 * (bias[i] + state.bias[i])
            external = (momentum[i] - state.momentum[i]) / dt - known
            share = state.seen[0] * (1.0 - arm.exp(-gains.gain[i] * dt))
            estimate.append(state.estimate[i] + share * (external - state.estimate[i]))
        after = {"estimate": estimate, "momentum": momentum, "bias": bias, "seen": [1.0]}
        return estimate, after

    @checked
    def stiction(self, robot: "Robot") -> np.ndarray:
        """Lowest and highest torque that friction at rest may pass off as external, (2, n)."""
        model = model_of(self, robot)
        if self.friction == "none":
            return np.zeros((2, robot.n))
        slow = np.full(robot.n, np.finfo(float).tiny)
        rest = model.friction_torque(np.zeros(robot.n))
        sides = [model.friction_torque(v) - rest for v in (slow, -slow)]
        return np.sort(np.array(sides), axis=0)

    def _bias(self, arm: Arm, measured: Measured) -> list[Any]:
        """C^T qd - g - friction"""
        C = arm.coriolis_matrix(measured.q, measured.qd)
        turned = transposed_product(C, measured.qd)
        g = arm.gravity_torque(measured.q)
        none = [0.0] * arm.n
        resist = none if self.friction == "none" else arm.friction_torque(measured.qd)
        return [turned[i] - g[i] - resist[i] for i in range(arm.n)]
