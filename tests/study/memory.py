"""Memory of the process that drives a study, and bytes that travel, by the number of samples.

    python -m tests.study.memory 1e4 1e5 1e6

A study of ten steps of a two-link arm with two processes, each number in a process of its own.
"""

import pickle
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import dynamis as dy


class Counted(ProcessPoolExecutor):
    """Two processes, and the bytes that go there and come back."""

    def __init__(self) -> None:
        super().__init__(2)
        self.tasks = self.there = self.back = 0

    def submit(self, function, *arguments):
        self.tasks += 1
        self.there += len(pickle.dumps((function, arguments)))
        future = super().submit(function, *arguments)
        future.add_done_callback(self._came)
        return future

    def _came(self, future):
        self.back += len(pickle.dumps(future.result()))


def one(samples: int) -> None:
    """One row of the table."""
    import resource

    robot = dy.load("planar-2link")
    with Counted() as executor:
        begun = time.monotonic()
        dy.study(
            robot, 0.01, controller=dy.control.ComputedTorque(kp=100.0, kd=20.0), q0=[0.1, 0.0],
            reference=dy.trajectory.quintic([0.0, 0.0], [0.5, -0.4], duration=0.01), progress=False,
            vary=dy.Scatter(robot, mass=0.05, com=0.005, payload=(0, 3)), samples=samples,
            executor=executor,
        )  # fmt: skip
        seconds = time.monotonic() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    e = executor
    print(
        f"{samples:>10}  {seconds:7.1f} s  peak {peak:6.1f} MiB  {e.tasks:6} tasks  "
        f"per task {e.there / e.tasks:7.0f} B there {e.back / e.tasks:9.0f} B back  "
        f"per sample {e.there / samples:6.2f} B there {e.back / samples:7.2f} B back",
        flush=True,
    )


if __name__ == "__main__":
    if len(sys.argv) == 2:
        one(int(float(sys.argv[1])))
    else:
        for number in sys.argv[1:] or ["1e4", "1e5", "1e6"]:
            subprocess.run([sys.executable, "-m", "tests.study.memory", number], check=True)
