"""Adaptive control that learns the arm's parameters while it tracks (Slotine and Li 1987)."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..arguments import checked, passed_on
from ..errors import OptionError
from ..generic import Arm
from .adaptation import adaptation_gains
from .checks import check_block, model_of
from .controller import Controller, Measured, Reference, Scalars, Values, per_joint
from .gains import check_sampling, for_inertia, joint_inertia, second_order
from .reference_regressor import reference_regressor
from .task import product, transposed_product

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class SlotineLi(Controller):
    """tau = Y(q, qd, qd_r, qdd_r) estimate - Kd s,   estimate' = - Gamma Y^T s.

        s = ed + Lambda e,   qd_r = qd_d - Lambda e,   qdd_r = qdd_d - Lambda ed,   e = q - q_d

    Lambda is `bandwidth` (rad/s), Gamma the diagonal `adaptation`. 1/2 s^T M s plus
    1/2 (estimate - a)^T Gamma^-1 (estimate - a) never grows: its rate is - s^T Kd s (less what
    friction takes). The parameters start from those of `model`, or from `start_from`; `adapt` names
    the ones that move ("*.viscous" picks many), by default all: those the torques do not show stay
    where they are. Masses, rotors and friction keep their sign. `smoothing` (rad/s) rounds Coulomb
    friction. The state `estimate` is in the order of the model's `parameters`.
    """

    kd: Any
    bandwidth: Any
    adaptation: Any
    model: "Robot | None" = None
    adapt: Any = None
    start_from: Any = None
    smoothing: float = 0.05
    sample_time: float | None = None

    def __post_init__(self) -> None:
        check_block(self)

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Any, adaptation: Any, q: Any = None, **options: Any
    ) -> "SlotineLi":
        """Lambda and Kd for two real poles at `bandwidth` (rad/s): Kd = w diag M(q)."""
        check_sampling(bandwidth, options.get("sample_time"))
        _, twice = second_order(bandwidth)
        (kd,) = for_inertia((twice,), 0.5 * joint_inertia(robot, q))
        known = passed_on(options, cls, "kd", "bandwidth", "adaptation")
        return cls(kd=kd, bandwidth=bandwidth, adaptation=adaptation, **known)

    @checked
    def gains(self, robot: "Robot") -> Values:
        """kd, bandwidth, smoothing; rate, initial, lowest and highest of every parameter."""
        model = model_of(self, robot)
        smoothing = per_joint(self.smoothing, "smoothing", robot, size=1)
        if smoothing[0] == 0.0:
            raise OptionError("smoothing is 0, expected a velocity above 0")
        return {
            "kd": per_joint(self.kd, "kd", robot),
            "bandwidth": per_joint(self.bandwidth, "bandwidth", robot),
            "smoothing": smoothing,
            **adaptation_gains(model, self.adapt, self.adaptation, self.start_from),
        }

    def start(self, arm: Arm, gains: SimpleNamespace, measured: Measured) -> Values:
        """The parameters believed at first."""
        return {"estimate": list(gains.initial)}

    def step(
        self,
        arm: Arm,
        gains: SimpleNamespace,
        state: SimpleNamespace,
        measured: Measured,
        reference: Reference,
        dt: Any,
    ) -> tuple[Scalars, Values]:
        """One sample."""
        joints = range(arm.n)
        e = [measured.q[i] - reference.q[i] for i in joints]
        ed = [measured.qd[i] - reference.qd[i] for i in joints]
        s = [ed[i] + gains.bandwidth[i] * e[i] for i in joints]
        qd_r = [reference.qd[i] - gains.bandwidth[i] * e[i] for i in joints]
        qdd_r = [reference.qdd[i] - gains.bandwidth[i] * ed[i] for i in joints]
        Y = reference_regressor(arm, measured, qd_r, qdd_r, gains.smoothing[0])
        known = product(Y, state.estimate)
        tau = [known[i] - gains.kd[i] * s[i] for i in joints]
        slope = transposed_product(Y, s)
        estimate = [
            arm.max(lowest, arm.min(a - dt * rate * d, highest))
            for a, rate, d, lowest, highest in zip(
                state.estimate, gains.rate, slope, gains.lowest, gains.highest, strict=True
            )
        ]
        return tau, {"estimate": estimate}
