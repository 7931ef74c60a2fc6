"""External torque from the momentum, without acceleration or force sensors (De Luca 2003)."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, strict
from ..robot.arm import Arm
from ..spatial.vectors import plus
from .controller import Gain, Sample, Scalars, Step, Values, above_zero, model_of
from .observer import Observer

if TYPE_CHECKING:
    from ..robot import Robot

FRICTION = ("measured", "none")


@strict
@dataclass(frozen=True)
class MomentumObserver(Observer):
    """r = K (p - p0 - integral of (tau + C^T qd - g - friction + r)), with p = M qd.

    So r' = K (tau_ext - r), where tau_ext is what acts on the joints besides the motors:
    M qdd + C qd + g + friction = tau + tau_ext. `gain` K is 1 / time constant (1/s), one number or
    one per joint. From sample to sample the filter is solved exactly,
    r += (1 - exp(-K dt)) (mean tau_ext since the last sample - r): stable for every K dt, and a
    constant tau_ext is found without bias.

    Friction, losses of gears with it, is that of the model at the measured velocity; of these
    losses the share that accelerates rotors is reported as external torque. At rest its law gives
    the offset alone: what stiction carries there is reported as external torque, anywhere between
    the two values of `stiction(robot)`. It is not filtered away: contacts below that level cannot
    be told from it. Friction with memory is followed with the measured positions, relaxed at the
    first sample: what it holds at rest is known once its elements have slipped.
    """

    gain: Gain
    model: "Robot | None" = None
    friction: str = "measured"
    sample_time: float | None = None
    GAINS = ("gain",)
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()

    @checked
    def gains(self, robot: "Robot") -> Values:
        """gain, one per joint, above 0."""
        model_of(self, robot)
        return {"gain": above_zero(self.gain, "gain", robot, "numbers")}

    def start(self, arm: Arm, sample: Sample) -> Values:
        """Nothing seen yet: the first step only notes the momentum and the bias."""
        rest = [0.0] * arm.n
        parts = {"estimate": rest, "momentum": rest, "bias": rest, "seen": [0.0]}
        return parts if self.friction == "none" else {**parts, **relaxed_at(arm, sample)}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """The estimate at this sample; `tau` acted since the last one, dt ago."""
        state, dt, tau = sample.state, sample.dt, sample.tau
        momentum = list(arm.mass_times(sample.q, sample.qd))
        turned = arm.coriolis_transposed(sample.q, sample.qd)
        rubs = self.friction != "none"
        stretched = stretched_at(arm, sample) if rubs else {}
        bias = momentum_bias(arm, sample, turned, stretched.get("memory"), rubs)
        estimate = []
        for i in range(arm.n):
            known = tau[i] + 0.5 * (bias[i] + state.bias[i])
            external = (momentum[i] - state.momentum[i]) / dt - known
            share = state.seen[0] * (1.0 - arm.exp(-sample.gains.gain[i] * dt))
            estimate.append(state.estimate[i] + share * (external - state.estimate[i]))
        after = {"estimate": estimate, "momentum": momentum, "bias": bias, "seen": [1.0]}
        return estimate, {**after, **stretched}

    @checked
    def stiction(self, robot: "Robot") -> np.ndarray:
        """Lowest and highest torque that friction at rest may pass off as external, (2, n).

        Of closed mechanisms it is that of the drives at home, the most that all joints give.
        """
        model = model_of(self, robot)
        if self.friction == "none":
            return np.zeros((2, len(robot.driven)))
        slow = np.full(model.n, np.finfo(float).tiny)
        rest = model.friction_torque(np.zeros(model.n))
        sides = np.sort([model.friction_torque(v) - rest for v in (slow, -slow)], axis=0)
        Z = model.joint_rates(model.home, np.eye(model.dof))  # of all joints, by drive
        return np.stack([np.minimum(Z * sides[0], Z * sides[1]).sum(axis=1),
                         np.maximum(Z * sides[0], Z * sides[1]).sum(axis=1)])  # fmt: skip


def relaxed_at(arm: Arm, sample: Sample) -> Values:
    """State of friction with memory at the first sample, of arms that have some."""
    return {"memory": arm.relaxed_memory(sample.q)} if arm.has_memory else {}


def stretched_at(arm: Arm, sample: Sample) -> Values:
    """State of friction with memory, led on to a sample."""
    return {"memory": arm.follow_memory(sample.state.memory, sample.q)} if arm.has_memory else {}


def momentum_bias(
    arm: Arm,
    sample: Sample,
    turned: Scalars,
    stretched: Scalars | None = None,
    friction: bool = True,
) -> list[Any]:
    """C^T qd - g - springs - loads - friction: with tau, the rate of the momentum M qd.

    `turned` is C^T qd, `stretched` the state of friction with memory.
    """
    g = plus(arm.gravity_torque(sample.q), arm.applied_torque(sample.q, sample.qd))
    rubbing = _friction(arm, sample, stretched) if friction else [0.0] * arm.n
    return [turned[i] - g[i] - rubbing[i] for i in range(arm.n)]


def _friction(arm: Arm, sample: Sample, stretched: Scalars | None) -> Any:
    """Friction and losses of gears; what is transmitted follows from the torque of the drives."""
    total = arm.friction_torque(sample.qd, stretched)
    for more in (
        arm.driven_load_friction(sample.qd, sample.tau),
        arm.driven_gear_losses(sample.tau, sample.qd),
    ):
        total = total if more is None else plus(total, more)
    return total
