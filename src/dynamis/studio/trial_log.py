"""A log of an arm that nobody has built: an exciting motion, simulated with friction and noise."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..control import ComputedTorque
from ..errors import OptionError
from ..identify.excite import excite
from ..identify.log import Log
from ..robot import Robot
from ..simulate import Sensors, simulate
from .variations import has_friction, heavier, rubbing

HARMONICS, ITERATIONS = 5, 25
STEP, SAMPLE = 1e-3, 2e-3  # s
ENCODER = 2e-5  # rad or m per count
BANDWIDTH = 25.0  # rad/s


@dataclass(frozen=True)
class Trial:
    """How the log is made: seconds, and how the real arm differs from its description."""

    period: float = 6.0
    heavier: float = 10.0  # percent
    noise: float = 1.0  # percent of the largest torque

    def log(self, robot: Robot, say: Callable[[str], None]) -> Log:
        """Design the motion, simulate it, and keep what the sensors gave."""
        say("Designing an exciting motion …")
        motion = excite(
            robot, HARMONICS, self.period, starts=1, max_iterations=ITERATIONS, progress=False
        )
        largest = np.maximum(motion.demand.tau, 1e-6)
        real = heavier(robot, self.heavier)
        if not has_friction(real):
            real = rubbing(real, largest)
        say("Simulating it …")
        run = simulate(
            real,
            self.period,
            STEP,
            motion.trajectory(0.0).q,
            controller=ComputedTorque.from_bandwidth(BANDWIDTH, sample_time=SAMPLE),
            reference=motion.trajectory,
            sensors=Sensors(encoder=ENCODER, torque_noise=self.noise / 100.0 * largest),
            progress=False,
        )
        if run.message or run.measured is None:
            raise OptionError(f"the motion could not be simulated: {run.message}")
        seen = run.measured
        return Log(t=seen.t, q=seen.q, tau=seen.tau, name=f"{robot.name}, simulated")
