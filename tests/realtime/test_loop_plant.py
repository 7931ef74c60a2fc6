"""A loop against the simulated arm as a process, over UDP."""

import contextlib
import json
import os
import subprocess
import sys
import time

import numpy as np

import dynamis as dy
from dynamis.realtime.loop.plant import PlantRun, tracking_table

from .loops import (
    LASTS,
    LATCH,
    MOVE,
    STALL,
    TRACKING,
)


@contextlib.contextmanager
def together():
    """Puts plant and controller on one core: what stops one of them stops both."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def plant_of(*words):
    command = [sys.executable, "-m", "dynamis", "plant", "puma560", "--port", "0", *words]
    with together():
        plant = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "DYNAMIS_COMPILE": "on"},  # a step in Python takes 3 ms
        )
    assert plant.stderr is not None
    try:
        yield plant, int(plant.stderr.readline().split()[-1])
    finally:
        if plant.poll() is None:
            plant.terminate()
            plant.communicate()


def loop_of(program, *words):
    command = [str(program), *map(str, words)]
    with together():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_puma_follows_over_a_lossy_line(puma, tmp_path):
    log, motion = tmp_path / "run.csv", dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    words = ("--loss", "0.01", "--jitter", "0.001", "--log", str(log), "--json")
    for _ in range(4):
        with plant_of(*words) as (plant, port):
            loop = loop_of(puma, "--port", port, "--cycles", 3000, "--json")
            out, err = loop.communicate()
            plant.terminate()
            counts, found = json.loads(plant.communicate()[0]), json.loads(out)
        undisturbed = counts["latest"] < STALL and found["latency_us"]["max"] < 1e6 * STALL
        if undisturbed:
            break
    assert loop.returncode == 0, err
    assert not found["safe"] and found["lost"] > 0
    assert counts["lost_torques"] > 0 and counts["lost"] >= found["lost"]
    assert err.count("SAFE TORQUE: cycle") == min(found["spells"], 20)
    tracked = tracking_table(PlantRun.read(log), motion)
    if undisturbed:  # a computer busy with something else loses more than the line does
        assert tracked.steps > 2900 and tracked.running > 0.9, tracked
        assert tracked.rms.max() < TRACKING, tracked


def test_a_killed_plant_ends_it_in_the_safe_state(puma):
    for _ in range(4):
        with plant_of() as (plant, port):
            loop = loop_of(puma, "--port", port, "--cycles", 20000, "--json")
            time.sleep(1.0)
            plant.kill()
            out, err = loop.communicate()
        found = json.loads(out)
        if found["skipped"] == 0:  # else missed cycles are among the silent ones
            break
    assert loop.returncode == 1
    assert err.splitlines()[-1].startswith("SAFE: cycle")
    assert found["safe"] and found["cycles"] < 20000
    if found["skipped"] == 0:
        assert f"no measurement for {LATCH + 1} cycles" in err
        assert found["silent_until_safe_torque"] == 2 and found["safe_torques"] > LATCH
