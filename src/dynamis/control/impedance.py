"""Impedance: the tool as a mass on a spring and a damper."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, choice, passed_on
from ..compile.arm import Arm
from ..dynamics.linear_solve import factor, substitute
from ..errors import OptionError
from .controller import (
    FRICTION,
    Controller,
    Measured,
    Reference,
    Scalars,
    Values,
    check_block,
    check_sampling,
    for_inertia,
    friction_compensation,
    model_of,
    one_position,
    per_joint,
    second_order,
)
from .task import (
    Deviation,
    check_task,
    deviation,
    gram,
    null_motion,
    product,
    singular_damping,
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

    def __post_init__(self) -> None:
        check_block(self)
        choice(self.friction, "friction", FRICTION)
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
        check_sampling(bandwidth, options.get("sample_time"))
        law = cls(stiffness=0.0, **passed_on(options, cls, "stiffness"))
        q = one_position(robot, q)
        J = robot.jacobian(q)[task_rows(robot, law.task)]
        mobility = J @ np.linalg.solve(robot.mass_matrix(q), J.T)
        damped = mobility + law.singular_damping**2 * np.eye(len(J))
        inertia = np.diagonal(np.linalg.inv(damped))
        K, D = for_inertia(second_order(bandwidth, damping), inertia)
        return cls(stiffness=K, damping=D, **passed_on(options, cls, "stiffness", "damping"))

    @property
    def options(self) -> tuple[Any, ...]:
        """The task, where friction is taken, and how the damping is meant."""
        return self.task, self.friction, self.damping is None

    @checked
    def gains(self, robot: "Robot") -> Values:
        """Stiffness, damping or its ratio, one per row of the task; and as `TaskSpace`."""
        model_of(self, robot)
        rows = task_rows(robot, self.task)
        ratio = 1.0 if self.damping_ratio is None else self.damping_ratio
        damping = {"damping_ratio": ratio} if self.damping is None else {"damping": self.damping}
        given = {"stiffness": self.stiffness, **damping}
        return {
            **{k: per_joint(value, k, robot, size=len(rows)) for k, value in given.items()},
            "singular_damping": singular_damping(self.singular_damping, robot, rows),
            "null_damping": per_joint(self.null_damping, "null_damping", robot),
            "null_stiffness": per_joint(self.null_stiffness, "null_stiffness", robot),
        }

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
        tool = deviation(arm, task_rows(arm, self.task), measured, reference)
        v = null_motion(gains, measured, reference)
        Jv = product(tool.J, v)
        mobility = factor(_mobility(arm, measured, tool, gains.singular_damping[0]), arm.fn)
        rows = range(len(tool.e))
        inertial = substitute(*mobility, [tool.xdd_d[i] - tool.bias[i] - Jv[i] for i in rows])
        D = self._damping(arm, gains, mobility)
        force = [inertial[i] - D[i] * tool.ed[i] - gains.stiffness[i] * tool.e[i] for i in rows]
        rigid = arm.frictionless_torque(measured.q, measured.qd, v)
        resist = friction_compensation(arm, self.friction, measured, reference)
        push = transposed_product(tool.J, force)
        return [rigid[i] + resist[i] + push[i] for i in range(arm.n)], {}

    def _damping(self, arm: Arm, gains: SimpleNamespace, mobility: tuple[Any, Any]) -> Scalars:
        if self.damping is not None:
            return gains.damping
        D = []
        for i, (ratio, k) in enumerate(zip(gains.damping_ratio, gains.stiffness, strict=True)):
            unit = [1.0 if j == i else 0.0 for j in range(len(gains.stiffness))]
            D.append(2.0 * ratio * arm.sqrt(k * substitute(*mobility, unit)[i]))
        return D


def _mobility(arm: Arm, measured: Measured, tool: Deviation, damping: Any) -> list[list[Any]]:
    """J M^-1 J^T + damping^2 E = Lambda^-1"""
    M = factor(arm.mass_matrix(measured.q), arm.fn)
    return gram(tool.J, [substitute(*M, row) for row in tool.J], damping)
