"""How a loop begins and ends."""

import json
import signal
import time

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime.c_text import DROPPED
from dynamis.realtime.loop import udp

from .loops import BEGINNING, SLOW, Clocked, begun, built, ended, ran, statuses


@pytest.fixture(scope="module")
def lowering(cc, tmp_path_factory):
    """Loops with gravity compensation as the safe torque: with a trajectory or not, ramps."""

    def make(inside=True, ramp=0.4):
        if (inside, ramp) not in made:
            motion = dy.trajectory.quintic(np.array(BEGINNING), np.array([0.5, 0.1]), 2.0)
            made[inside, ramp] = built(
                cc, tmp_path_factory.mktemp("lowering"), dy.control.JointPID(50.0, 0.0, 5.0),
                dy.load("planar-rr"), SLOW, reference=motion if inside else None, safe="gravity",
                safe_damping=1.0, ramp=ramp, latch=1000,
            )  # fmt: skip
        return made[inside, ramp]

    made = {}
    return make


def test_an_arm_that_is_elsewhere_is_not_moved(lowering):
    with Clocked(rest=(0.31, 0.5)) as plant:
        loop = begun(lowering(), plant, "--cycles", 20)
        _, err = loop.communicate()
    assert loop.returncode == 2 and not plant.heard
    assert "joint 'joint2' is at 0.5, the trajectory begins at -0.2" in err
    assert "--start 0.3,-0.2" in err and "--start-tolerance" in err


@pytest.mark.parametrize(
    ("rest", "words"),
    [(BEGINNING, ()), ((0.34, -0.24), ()), ((0.31, 0.5), ("--start-tolerance", 0.71))],
)
def test_an_arm_that_is_there_is_moved(lowering, rest, words):
    with Clocked(rest=rest) as plant:
        loop = begun(lowering(), plant, "--cycles", 5, *words)
        ended(loop)
    assert loop.returncode == 0 and udp.RUNNING in statuses(plant.heard)


def let_down(heard, ramp):
    """Parts of the gravity torque that were sent behind the last running torque."""
    last = max(k for k, one in enumerate(heard) if one.status == udp.RUNNING)
    rows = np.array([one.torque for one in heard[last + 1 : -1]])
    gravity = dy.load("planar-rr").gravity_torque(BEGINNING)
    parts = rows / gravity
    np.testing.assert_allclose(parts[:, 0], parts[:, 1], rtol=0, atol=1e-9)
    assert len(parts) >= ramp / SLOW - 3 and (np.diff(parts[:, 0]) < 1e-12).all()
    assert parts[0, 0] > 0.6 and abs(parts[-1, 0]) < 1e-9
    assert heard[-1].status == udp.BYE and not any(heard[-1].torque)


@pytest.mark.parametrize(
    "inside, how", [(True, "--cycles"), (False, signal.SIGINT), (True, signal.SIGTERM)]
)
def test_the_arm_is_let_down_at_the_end(lowering, inside, how):
    with Clocked(rest=BEGINNING) as plant:
        words = ("--cycles", 10) if how == "--cycles" else ()
        loop = begun(lowering(inside), plant, *words)
        if how != "--cycles":
            plant.wait(10)
            loop.send_signal(how)
        found, err = ended(loop)
    assert loop.returncode == 0 and not found["safe"] and err.count("ENDING: cycle") == 1
    assert found["ramped"] == round(0.4 / SLOW) + 1
    let_down(plant.heard, 0.4)


def test_a_second_signal_ends_at_once(lowering):
    with Clocked(rest=BEGINNING) as plant:
        loop = begun(lowering(True, 100.0), plant)
        plant.wait(5)
        loop.send_signal(signal.SIGINT)
        while plant.heard[-1].status == udp.RUNNING:
            assert loop.poll() is None, "it ended before the second signal"
            time.sleep(0.005)
        plant.wait(len(plant.heard) + 5)  # it goes on
        assert plant.heard[-1].status != udp.BYE and loop.poll() is None
        loop.send_signal(signal.SIGINT)
        found, _ = ended(loop)
    assert loop.returncode == 0 and 5 <= found["ramped"] < 1000
    assert plant.heard[-1].status == udp.BYE


def test_without_a_ramp_it_ends_at_once(telling):
    assert DROPPED in ran(telling, "--help").stdout
    with Clocked() as plant:
        loop = begun(telling, plant)
        plant.wait(5)
        loop.send_signal(signal.SIGTERM)
        found, err = ended(loop)
    assert loop.returncode == 0 and found["ramped"] == 0 and "ENDING" not in err
    assert plant.heard[-1].status == udp.BYE


@pytest.mark.parametrize("period", [SLOW, 0.05])
def test_another_period_is_warned_of(telling, period):
    with Clocked() as plant:
        _, err = ended(begun(telling, plant, "--cycles", 3, "--period", period))
    warned = "warning: cycles of 0.05 s, but gains, filters and velocities are for 0.04 s" in err
    assert warned == (period != SLOW)


def test_dry_measurements_do_not_leap(cc, tmp_path):
    law, arm = dy.control.JointPID(1.0), dy.load("planar-rr")
    program = built(cc, tmp_path, law, arm, 1e-3, jump=0.004)
    found = json.loads(ran(program, "--dry", "--cycles", 2200, "--json").stdout)
    assert found["cycles"] == 2200 and found["bad"] == found["safe_torques"] == 0
