"""A loop against the simulated arm, over UDP: in lock step with it, and as a process beside it."""

import json
import os
import subprocess
import sys
import time

import numpy as np

import dynamis as dy
from dynamis.realtime.loop.plant import PlantRun, PlantServer, tracking_table

from .loops import LASTS, LATCH, MOVE, TRACKING, SteppedLoop


class LockStep:
    """The clock of a loop and a plant: it waits for both, however long a machine takes for them."""

    def __init__(self, loop):
        self.loop, self.time, self.sent = loop, 0.0, 0

    def now(self):
        return self.time

    def wait(self, server, seconds):
        """Let time pass for the plant; the loop has its cycles meanwhile."""
        came, self.sent = server.found.sent > self.sent, server.found.sent
        if self.loop.listens and came:
            self.loop.wake(self.time)
        elif self.loop.wakes <= self.time + seconds:
            self.time = max(self.time, self.loop.wakes)
            self.loop.wake()
        else:
            self.time += seconds
        if self.loop.ended:
            server.stop()


def follow(program, cycles, duration=np.inf, **line):
    """What a plant counted, and the loop that moved its arm."""
    server = PlantServer(dy.load("puma560"), 0, **line)
    loop = SteppedLoop(program, "--port", server.port, "--cycles", cycles, "--json")
    server.clock = LockStep(loop)
    plant, told = server.run(duration), loop.told()
    return plant, told, json.loads(told.stdout)


def test_the_puma_follows_over_a_lossy_line(puma, compiled, tmp_path):
    log, motion = tmp_path / "run.csv", dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    plant, told, found = follow(puma, 3000, loss=0.01, jitter=0.001)
    plant.save(log)
    assert told.returncode == 0, told.stderr
    assert not found["safe"] and found["lost"] > 0 and found["skipped"] == plant.overruns == 0
    assert plant.lost_torques > 0 and plant.lost >= found["lost"]
    assert told.stderr.count("SAFE TORQUE: cycle") == min(found["spells"], 20)
    tracked = tracking_table(PlantRun.read(log), motion)
    assert tracked.steps > 2900 and tracked.running > 0.99, tracked
    assert tracked.rms.max() < TRACKING, tracked


def test_a_plant_that_ends_is_answered_by_the_safe_torque_and_the_safe_state(puma, compiled):
    _, told, found = follow(puma, 20000, duration=1.0)
    assert told.returncode == 1 and found["safe"] and found["skipped"] == 0
    assert told.stderr.splitlines()[-1].startswith("SAFE: cycle")
    assert f"no measurement for {LATCH + 1} cycles" in told.stderr
    assert found["silent_until_safe_torque"] == 2 and found["safe_torques"] > LATCH
    assert found["cycles"] < 1100


def test_a_killed_plant_ends_it_in_the_safe_state(puma):
    """By the clock of the machine, with the command `dynamis plant`."""
    command = [sys.executable, "-m", "dynamis", "plant", "puma560", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    for patience in (0.5, 5.0, 50.0):  # a busy machine begins late
        compiling = {**os.environ, "DYNAMIS_COMPILE": "on"}  # a step in Python takes 3 ms
        with subprocess.Popen(command, **pipes, env=compiling) as plant:
            assert plant.stderr is not None
            port = plant.stderr.readline().split()[-1]
            words = ["--port", port, "--cycles", "200000", "--json"]
            with subprocess.Popen([str(puma), *words], **pipes) as loop:
                time.sleep(patience)
                plant.kill()
                out, err = loop.communicate()
        if "no plant" not in err:
            break
    found = json.loads(out)
    assert loop.returncode == 1 and found["safe"] and found["cycles"] < 200000
    assert err.splitlines()[-1].startswith("SAFE: cycle")
    assert found["safe_torques"] > LATCH
