"""Impedance: the tool as a mass on a spring and a damper."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, passed_on
from ..compile.arm import Arm
from ..dynamics.forward_dynamics import factor, substitute
from ..errors import OptionError
from .controller import (
    FRICTION,
    Controller,
    Sample,
    Scalars,
    Step,
    Values,
    friction_compensation,
    one_position,
)
from .task import (
    Deviation,
    check_task,
    deviation,
    gram,
    null_motion,
    product,
    task_gains,
    task_rows,
    transposed_product,
)

if TYPE_CHECKING:
    from ..robot import Robot


@dataclass(frozen=True)
class Impedance(Controller):
    """tau = M v + C qd + g + friction + J^T (Lambda (xdd_d - Jdot qd - J v) - D ed - K e).

    With the exact model Lambda (xdd - xdd_d) + D ed + K e = F, the force the world exerts on the
    tool, with the arm's own operational inertia Lambda = (J M^-1 J^T + singular_damping^2 E)^-1:
    no force sensor is needed. e is position and orientation error, base axes; v (see `TaskSpace`)
    moves the joints that the task leaves free, and is not felt at the tool.

    `damping` is D (N s/m, N m s/rad). `damping_ratio` instead (1 if neither is given) takes
    D = 2 ratio sqrt(K Lambda_ii) at every instant, exact where Lambda is diagonal.
    """

    stiffness: Any
    damping: Any = None
    damping_ratio: Any = None
    task: Any = None
    model: "Robot | None" = None
    friction: str = "desired"
    singular_damping: float = 0.005
    null_damping: Any = 10.0
    null_stiffness: Any = 0.0
    sample_time: float | None = None
    CHOICES = {"friction": FRICTION}  # noqa: RUF012

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "task", check_task(self.task))
        if self.damping is not None and self.damping_ratio is not None:
            raise OptionError(
                f"damping is {self.damping!r} and damping_ratio {self.damping_ratio!r}, "
                "expected one of the two"
            )

    @classmethod
    @checked
    def from_bandwidth(
        cls, robot: "Robot", bandwidth: Any, damping: Any = 1.0, q: Any = None, **options: Any
    ) -> "Impedance":
        """K and D for the inertia the tool has along each row at q (zero if not given)."""
        law = cls(stiffness=0.0, **passed_on(options, cls, "stiffness"))
        q = one_position(robot, q)
        J = robot.jacobian(q)[task_rows(robot, law.task)]
        mobility = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
        damped = mobility + law.singular_damping**2 * np.eye(len(J))
        inertia = np.diagonal(np.linalg.inv(damped))
        names = ("stiffness", "damping")
        return cls._designed(options, bandwidth, damping, inertia, names=names)

    @property
    def options(self) -> tuple[Any, ...]:
        """The task, where friction is taken, and how the damping is meant."""
        return self.task, self.friction, self.damping is None

    @checked
    def gains(self, robot: "Robot") -> Values:
        """Stiffness, damping or its ratio, one per row of the task; and as `task_gains`."""
        ratio = 1.0 if self.damping_ratio is None else self.damping_ratio
        damping = {"damping_ratio": ratio} if self.damping is None else {"damping": self.damping}
        return task_gains(self, robot, {"stiffness": self.stiffness, **damping})

    def step(self, arm: Arm, sample: Sample) -> Step:
        """One sample."""
        gains, v = sample.gains, null_motion(sample)
        tool = deviation(arm, task_rows(arm, self.task), sample)
        Jv = product(tool.J, v)
        mobility = factor(_mobility(arm, sample, tool), arm.fn)
        rows = range(len(tool.e))
        inertial = substitute(*mobility, [tool.xdd_d[i] - tool.bias[i] - Jv[i] for i in rows])
        D = self._damping(arm, gains, mobility)
        force = [inertial[i] - D[i] * tool.ed[i] - gains.stiffness[i] * tool.e[i] for i in rows]
        rigid = arm.frictionless_torque(sample.q, sample.qd, v)
        friction = friction_compensation(arm, self.friction, sample)
        push = transposed_product(tool.J, force)
        return [rigid[i] + friction[i] + push[i] for i in range(arm.n)], {}

    def _damping(self, arm: Arm, gains: Any, mobility: tuple[Any, Any]) -> Scalars:
        if self.damping is not None:
            return gains.damping
        D = []
        for i, (ratio, k) in enumerate(zip(gains.damping_ratio, gains.stiffness, strict=True)):
            unit = [1.0 if j == i else 0.0 for j in range(len(gains.stiffness))]
            D.append(2.0 * ratio * arm.sqrt(k * substitute(*mobility, unit)[i]))
        return D


def _mobility(arm: Arm, sample: Sample, tool: Deviation) -> list[list[Any]]:
    """J M^-1 J^T + damping^2 E = Lambda^-1"""
    M = factor(arm.mass_matrix(sample.q), arm.fn)
    columns = [substitute(*M, row) for row in tool.J]
    return gram(tool.J, columns, sample.gains.singular_damping[0])
