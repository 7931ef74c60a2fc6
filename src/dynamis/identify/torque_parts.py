"""Parts of a validated torque over time: inertial, Coriolis-centrifugal, gravity, friction."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..logs.log import Log, interpolated
from .processing import Processing, prepare

if TYPE_CHECKING:
    from ..robot import Robot
    from .estimate import Estimate

FRICTION = "friction"


class ValidationSource(NamedTuple):
    """Data that a validation was made from."""

    estimate: "Estimate"
    log: Log
    processing: Processing

    def parts(self, t: np.ndarray, predicted: np.ndarray) -> dict[str, np.ndarray]:
        """Parts of the predicted torque at logged instants t (N,), each (N, n), by name.

        Those of the identified robot; friction is what they leave of `predicted`, so that all
        parts add up to it: also what has no place in a robot, and memory.
        """
        robot = self.estimate.robot
        q, qd, qdd = _motion(self.log, self.processing, robot, t)
        found = robot.torque_terms(q, qd, qdd)
        rigid = {name: x[:, robot.driven] for name, x in found.items() if name != FRICTION}
        return {**rigid, FRICTION: predicted - sum(rigid.values())}


def _motion(log: Log, how: Processing, robot: "Robot", t: np.ndarray) -> list[np.ndarray]:
    """Filtered positions, velocities and accelerations at some instants, as predictions take it."""
    found = [np.full((len(t), robot.n), np.nan) for _ in range(3)]
    prepared, chosen = prepare(log, how, thin=False, robot=robot)
    delay = float(chosen.torque_delay or 0.0)
    for samples in prepared:
        here = (t >= samples.t[0] - log.step) & (t <= samples.t[-1] + log.step)
        for values, own in zip(found, (samples.q, samples.qd, samples.qdd), strict=True):
            values[here] = interpolated(t[here] - delay, samples.t, own)
    return found
