"""Elastic joints that logs of motors alone show, and links along the motors of any such log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...errors import OptionError
from ...lazy import cached_property
from ...logs.log import OPTIONAL, Log
from ...progress import Stage
from ..motion import on_even_grid
from .motor_search import MotorSearch, steps_of
from .prediction import JOINT, Motors, Prediction

if TYPE_CHECKING:
    from ...robot import Robot

SHORTEST = 200  # samples of a stretch
SEEN = 100.0  # gain of log-likelihood of an elastic joint next to a rigid one


@dataclass(frozen=True, eq=False)
class MotorSide:
    """Links and gears that logs of motors show, and the links along the motors of any such log.

    `values` are the unknowns of `prediction`; `half_widths` (m, 10) are of 95 % intervals of JOINT.
    """

    prediction: Prediction
    values: np.ndarray
    half_widths: np.ndarray
    names: tuple[str, ...]  # of the elastic joints
    explained: np.ndarray
    band: float  # Hz, up to which torques excite the arm

    @cached_property
    def constants(self) -> np.ndarray:
        """Constants of JOINT, (m, 10), the delays of the torques in all."""
        found = self.prediction.constants(self.values[None])[0]
        found[:, -1] += np.array(self.prediction.delays)[list(self.prediction.links.elastic)]
        return found

    def named(self, k: int) -> dict[str, float]:
        """Constants of the k-th elastic joint."""
        return dict(zip(JOINT, map(float, self.constants[k]), strict=True))

    def named_widths(self, k: int) -> dict[str, float]:
        """Half widths of their intervals of 95 %."""
        return dict(zip(JOINT, map(float, self.half_widths[k]), strict=True))

    def sees(self, k: int) -> bool:
        """Whether the logs show the stiffness of the k-th elastic joint."""
        better = self.prediction.gain_over_rigid(self.values, k) > SEEN
        return better and self.named_widths(k)["stiffness"] < self.named(k)["stiffness"]

    def frequencies(self, k: int) -> tuple[float, float]:
        """Vibration (Hz) of the k-th link with its motor held, and with it free."""
        own, M = self.named(k), float(self.inertia[k])
        K, B = own["stiffness"], max(own["rotor_inertia"], 1e-12)
        held, free = K / max(M, 1e-12), K * (1.0 / B + 1.0 / max(M, 1e-12))
        return float(np.sqrt(held)) / (2.0 * np.pi), float(np.sqrt(free)) / (2.0 * np.pi)

    def reach(self, k: int) -> str:
        """What the torques reach, in words."""
        held, free = self.frequencies(k)
        return (
            f"torques reach {self.band:.3g} Hz, its link vibrates at {held:.3g} Hz against its "
            f"motor held and at {free:.3g} Hz against it free"
        )

    def flanks(self, k: int) -> float:
        """Share of the time on the flank that is touched less."""
        d = np.concatenate(self.prediction.deflections(self.values, k))
        gap = self.named(k)["backlash"]
        return float(min((d > gap).mean(), (d < -gap).mean()))

    @cached_property
    def inertia(self) -> np.ndarray:
        """Inertia of the links at the elastic joints, where their motors begin, (m,)."""
        p = self.prediction
        arm = p.links.robot.with_parameters(p.parameters(self.values[None])[0])
        M = arm.mass_matrix(p.stretches[0].position[0])
        return np.diag(M)[list(p.links.elastic)]

    def both_sides(self, log: Log) -> Log:
        """A log of motors as one of both sides, links where they move along the motors."""
        found = []
        for piece in log.pieces():
            if len(piece) < SHORTEST:
                continue
            even, p = on_even_grid(piece), self.prediction
            motors = Motors(even.t, even.q, even.tau)
            one = replace(p, stretches=[motors], every=steps_of(p, self.constants, motors.step))
            q, th = np.array(even.q), np.array(even.q)
            x = one.converted(p, self.values)  # units are those of a log
            q[:, list(p.links.elastic)] = one.run(one.parts[0], x[None])[0][0]
            rest = {x: getattr(even, x) for x in OPTIONAL if getattr(even, x) is not None}
            rest = {x: y for x, y in rest.items() if x not in ("qd", "qdd")}
            found.append({"t": even.t, "q": q, "tau": even.tau, **rest, "motor": th})
        if not found:
            raise OptionError(f"log {log.name!r} has no stretch of {SHORTEST} samples without gaps")
        arrays = {name: np.concatenate([x[name] for x in found]) for name in found[0]}
        return replace(log, qd=None, qdd=None, motor_rate=None, **arrays)


def motor_side(
    robot: "Robot", logs: Sequence[Log], asked: Sequence[str], shown: Stage
) -> MotorSide:
    """The constants of the joints `asked` and of all links, from logs of motors."""
    stretches = [
        Motors(even.t, even.q, even.tau)
        for log in logs
        for piece in log.pieces()
        if len(piece) >= SHORTEST
        for even in [on_even_grid(piece)]
    ]
    if not stretches:
        raise OptionError(
            f"no log has a stretch of {SHORTEST} samples without gaps", "record longer motions"
        )
    search = MotorSearch(robot, stretches, tuple(robot.drive_names.index(x) for x in asked))
    starts = []
    for i in search.elastic:
        shown.tell(f"elastic joint {robot.drive_names[i]}")
        starts.append(search.one_joint(i))
    shown.tell("all elastic joints")
    p, x = search.all_joints(starts)
    for k in range(len(asked)):
        shown.tell(f"backlash of {asked[k]}")
        p, x = search.with_gap(p, x, k)
    shown.tell("intervals of the elastic joints")
    p, x = search.at_the_end(p, x)
    return MotorSide(p, x, search.half_widths(p, x), tuple(asked), p.explained(x), search.band)
