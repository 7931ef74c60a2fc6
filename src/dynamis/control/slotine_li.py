"""Adaptive control that learns the arm's parameters while it tracks (Slotine and Li 1987)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, passed_on, strict
from ..compile.arrays import numbers
from ..dynamics.elements import friction
from ..errors import OptionError, ShapeError, shown
from ..model.parameters import parameter_index, parameter_places
from ..model.places import places
from ..robot.arm import Arm
from ..spatial.vectors import matrix_times, plus, transposed
from .controller import (
    NO_LIMIT,
    Controller,
    Gain,
    Sample,
    Scalars,
    Step,
    Values,
    check_sampling,
    for_inertia,
    joint_inertia,
    model_of,
    per_joint,
    second_order,
)

if TYPE_CHECKING:
    from ..robot import Robot

# which parameters an adaptive law moves, how fast, from where, and within what bounds


def adapted(names: Sequence[str], adapt: str | Iterable[str] | None) -> list[bool]:
    """Which of the names `adapt` picks: None is all, else names or patterns ("*.viscous")."""
    if adapt is None:
        return [True] * len(names)
    chosen: set[int] = set()
    for pattern in [adapt] if isinstance(adapt, str) else list(adapt):
        found = [k for k, name in enumerate(names) if fnmatchcase(name, str(pattern))]
        try:
            chosen |= {*(found or [parameter_index(names, pattern)])}
        except OptionError as error:
            raise OptionError(
                f"adapt names {shown(pattern)}, expected parameters of the model or patterns of "
                "them",
                error.hint,
            ) from None
    return [k in chosen for k in range(len(names))]


def adaptation_gains(
    robot: "Robot",
    adapt: str | Iterable[str] | None,
    adaptation: Gain,
    start_from: Gain | None,
) -> dict[str, list[float]]:
    """Rate, start and bounds of every parameter; what is not adapted has rate 0 and no bound.

    A start on the wrong side of a sign moves the bound to itself: nothing jumps.
    """
    names = robot.parameters.names
    chosen = adapted(names, adapt)
    moving = per_joint(adaptation, "adaptation", robot, size=sum(chosen))
    given = iter(moving)
    start = _start(robot, start_from)
    gains: dict[str, list[float]] = {"rate": [], "initial": start, "lowest": [], "highest": []}
    every = parameter_places(robot.model)
    for place, moves, value in zip(every, chosen, start, strict=True):
        sign = place.sign if moves else 0
        gains["rate"].append(next(given) if moves else 0.0)
        gains["lowest"].append(min(0.0, value) if sign > 0 else -NO_LIMIT)
        gains["highest"].append(max(0.0, value) if sign < 0 else NO_LIMIT)
    return gains


def _start(robot: "Robot", start_from: Gain | None) -> list[float]:
    own = robot.parameters.values
    given = (
        own
        if start_from is None
        else numbers(start_from, "start_from", "expected one number or one per parameter")
    )
    if given.shape not in ((), own.shape):
        raise ShapeError(
            f"start_from is {start_from!r}, expected one number or {len(own)}, one per parameter "
            f"of robot {robot.name!r}"
        )
    if not np.isfinite(given).all():
        raise OptionError(f"start_from is {start_from!r}, expected finite numbers")
    return np.broadcast_to(given, own.shape).tolist()


# The regressor of adaptive control, friction included.
#
#     Y a = M qdd_r + C(q, qd) qd_r + g + viscous V(qd_r) + coulomb tanh(qd_r / smoothing) + offset
#
# The rigid part is that of `dynamis.dynamics.regressor` with two velocities, whose friction columns
# are zero; friction is filled in here at the reference velocity, smoothed: the measured one would
# bring its noise and a limit cycle.


def reference_regressor(arm: Arm, sample: Sample, qd_r: Scalars, qdd_r: Scalars) -> list[list[Any]]:
    """Y, (n, p), columns as the parameters of the model."""
    chain, smoothing = arm.chain, sample.gains.smoothing[0]
    Y = [list(row) for row in arm.regressor(sample.q, sample.qd, qdd_r, qd_r)]
    found = friction.friction_columns(chain, arm.tree_rates(qd_r), arm.fn, smoothing)
    column = {place: k for k, place in enumerate(places(chain))}
    for place, entries in zip(found, arm.lowered(list(found.values())), strict=True):
        for row, value in zip(Y, entries, strict=True):
            row[column[place]] = value
    return Y


def unadapted(arm: Arm, sample: Sample, qd_r: Scalars) -> Scalars:
    """Torque of laws of one's own that no parameter multiplies, (n,)."""
    chain, fn, smoothing = arm.chain, arm.fn, sample.gains.smoothing[0]
    tree: list[Any] = [0.0] * len(chain.joints)
    xr = arm.tree_rates(qd_r)
    for i, resistance in enumerate(chain.resistances):
        if resistance.own is not None:
            s = fn.tanh(xr[i] / smoothing)
            tree[i] = friction.own_parts(resistance.own, xr[i], s, fn)[0]
    rest = arm.load_rest(sample.q, sample.qd)
    return plus(arm.lowered([tree])[0], rest)


@strict
@dataclass(frozen=True)
class SlotineLi(Controller):
    """tau = Y(q, qd, qd_r, qdd_r) estimate - Kd s,   estimate' = - Gamma Y^T s.

        s = ed + Lambda e,   qd_r = qd_d - Lambda e,   qdd_r = qdd_d - Lambda ed,   e = q - q_d

    Lambda is `bandwidth` (rad/s), Gamma the diagonal `adaptation`. 1/2 s^T M s plus 1/2 (estimate -
    a)^T Gamma^-1 (estimate - a) never grows: its rate is - s^T Kd s (less what friction takes). The
    parameters start from those of `model`, or from `start_from`; `adapt` names the ones that move
    ("*.viscous" picks many), by default all: those the torques do not show stay where they are.
    Masses, rotors and friction keep their sign. `smoothing` (rad/s) rounds Coulomb friction; losses
    of the model's gears are compensated at the desired velocity. The state `estimate` is in the
    order of the model's `parameters`.
    """

    kd: Gain
    bandwidth: Gain
    adaptation: Gain
    model: "Robot | None" = None
    adapt: str | Iterable[str] | None = None
    start_from: Gain | None = None
    smoothing: float = 0.05
    sample_time: float | None = None

    def __post_init__(self) -> None:
        self._check()

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Gain, adaptation: Gain, q: Any = None, **options: Any
    ) -> "SlotineLi":
        """Lambda and Kd for two real poles at `bandwidth` (rad/s): Kd = w diag M(q)."""
        check_sampling(bandwidth, options.get("sample_time"))
        _, twice = second_order(bandwidth)
        (kd,) = for_inertia((twice,), 0.5 * joint_inertia(robot, q))
        known = passed_on(options, cls, "kd", "bandwidth", "adaptation")
        law = cls(kd=kd, bandwidth=bandwidth, adaptation=adaptation, **known)
        law._warn_of_bandwidth(robot, bandwidth)
        return law

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

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The parameters believed at first."""
        return {"estimate": list(sample.gains.initial)}

    def step(self, arm: Arm, sample: Sample) -> Step:
        """Torques of this sample, and the parameters believed after it."""
        joints, gains, reference = range(arm.n), sample.gains, sample.reference
        e, ed, before = sample.e, sample.ed, sample.state.estimate
        s = [ed[i] + gains.bandwidth[i] * e[i] for i in joints]
        qd_r = [reference.qd[i] - gains.bandwidth[i] * e[i] for i in joints]
        qdd_r = [reference.qdd[i] - gains.bandwidth[i] * ed[i] for i in joints]
        Y = reference_regressor(arm, sample, qd_r, qdd_r)
        known = matrix_times(Y, before)
        if arm.chain.loads or any(r.own is not None for r in arm.chain.resistances):
            rest = unadapted(arm, sample, qd_r)
            known = plus(known, rest)
        tau = [known[i] - gains.kd[i] * s[i] for i in joints]
        lost = arm.gear_losses(tau, reference.qd, qdd_r)
        tau = tau if lost is None else plus(tau, lost)
        slope = matrix_times(transposed(Y), s)
        estimate = [
            arm.max(lowest, arm.min(a - sample.dt * rate * d, highest))
            for a, rate, d, lowest, highest in zip(
                before, gains.rate, slope, gains.lowest, gains.highest, strict=True
            )
        ]
        return tau, {"estimate": estimate}
