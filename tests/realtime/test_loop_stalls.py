"""A loop that stood still, measurements that are old, packets that are none."""

import json
import math
import subprocess
import time

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime.export import export_controller
from dynamis.realtime.loop import udp

from .loops import AGELESS, SLOW, Answering, Clocked, begun, built, ended, ran, statuses, stop_for


def test_a_loop_that_stood_still_ends_in_the_safe_state(still):
    for _ in range(6):
        with Clocked() as plant:
            loop = begun(still, plant, "--cycles", 200)
            plant.wait(10)
            before = stop_for(loop, 1.0, plant)
            found, err = ended(loop)
        if plant.heard[before - 1].status == udp.RUNNING:
            break
    after = plant.heard[before:-1]
    assert plant.heard[before - 1].status == udp.RUNNING and plant.heard[-1].status == udp.BYE
    assert loop.returncode == 1 and found["safe"] and found["skipped"] > 15
    assert after and set(statuses(after)) == {udp.SAFE}
    assert not any(x for one in after for x in one.torque)
    assert "of them the loop itself missed" in err


@pytest.mark.thorough
@pytest.mark.parametrize("hold", [1, pytest.param(30, marks=pytest.mark.thorough)])
def test_a_short_stop_makes_no_velocities(braking, hold):
    """Minus the way of one cycle is 1; five cycles were missed."""
    for _ in range(6):
        with Clocked(speed=1.0 / SLOW) as plant:
            loop = begun(braking, plant, "--cycles", 60, "--hold", hold)
            plant.wait(20)
            before = stop_for(loop, 5 * SLOW, plant)
            found, _ = ended(loop)
        after = plant.heard[before:-1]
        torque = np.array([one.torque[0] for one in plant.heard[10:-1]])
        good = torque.min() > -1.7 and torque.max() <= 0.0 and len(after) > 10
        safe = [k for k, one in enumerate(after) if one.status != udp.RUNNING]
        if good and safe == ([0] if hold == 1 else []):
            break
    assert loop.returncode == 0 and not found["safe"] and found["skipped"] >= 3
    assert safe == ([0] if hold == 1 else []), statuses(after)  # once, or never
    assert good, torque
    assert after[-1].torque[0] < -0.3


def ages(heard):
    """How old the measurement of every running torque was when the torque came."""
    return np.array([one.at + one.torque[0] for one in heard if one.status == udp.RUNNING])


def test_no_torque_is_made_of_what_waited_in_the_line(telling):
    """So many measurements came meanwhile that the machine threw the newest away."""
    for _ in range(6):
        with Clocked(speed=1.0, every=5e-4) as plant:
            loop = begun(telling, plant, "--cycles", 60)
            plant.wait(15)
            before = stop_for(loop, 1.2, plant)
            found, _ = ended(loop)
        found_ages = ages(plant.heard[5:-1])
        if len(found_ages) > 20 and found_ages.max() < 3.5 * SLOW:
            break
    assert loop.returncode == 0 and found["skipped"] > 20
    assert plant.heard[before].status == udp.BAD and plant.heard[-2].status == udp.RUNNING
    assert len(found_ages) > 20 and found_ages.max() < 3.5 * SLOW


@pytest.mark.parametrize("patient", [False, True])
def test_a_line_that_falls_behind_is_no_line(telling, patient):
    with Clocked(speed=1.0) as plant:
        loop = begun(telling, plant, "--cycles", 60, *(("--oldest", 10) if patient else ()))
        plant.wait(20)
        plant.lag = 1.0
        time.sleep(0.1)
        before = len(plant.heard) + 3
        found, err = ended(loop)
    after = plant.heard[before:-1]
    assert len(after) > 10
    if patient:
        assert statuses(after).count(udp.RUNNING) > 8 and found["old"] == 0
        assert ages(after).min() > 0.9
    else:
        assert set(statuses(after)) == {udp.BAD} and "SAFE TORQUE" in err
        assert found["old"] >= len(after)


AGES = r"""
#define main loop_main
#include "@LOOP@"
#undef main

static int64_t seed = 1;

static int64_t noise(void) /* up to a period */
{
    seed = (seed * 48271) % 2147483647;
    return seed % 1000000;
}

int main(void)
{
    static const double drifts[5] = { 0.0, 2e-4, -2e-4, 4e-4, -4e-2 };
    options o;
    int i, k;
    memset(&o, 0, sizeof o);
    o.period = 1e-3;
    o.oldest = 2e-3;
    for (i = 0; i < 5; i++) {
        int64_t quickest = 1000, last = 0;
        for (k = 0; k < 1000000; k++) {
            last = 1000 + (int64_t)(drifts[i] * 1e6 * k);
            if (!young(last + noise(), &quickest, &o)) return printf("drift %d, cycle %d\n", i, k);
        }
        for (k = 0; k < 1000; k++)
            if (young(last + 4000000 + noise(), &quickest, &o)) return printf("old %d, %d\n", i, k);
        if (!young(last + noise(), &quickest, &o)) return printf("not back %d\n", i);
    }
    return 0;
}
"""


def test_age_is_measured_though_clocks_drift(cc, tmp_path):
    export_controller(dy.load("planar-rr"), dy.control.JointPID(1.0), tmp_path, 1e-3)
    (loop,) = tmp_path.glob("*_loop.c")
    (source,) = (f for f in tmp_path.glob("*.c") if not f.name.endswith(("_test.c", "_loop.c")))
    (tmp_path / "ages.c").write_text(AGES.replace("@LOOP@", loop.name))
    program = tmp_path / "ages"
    command = [cc, "-std=c99", "-O2", str(tmp_path / "ages.c"), str(source), "-lm", "-o", program]
    subprocess.run(command, check=True)
    told = ran(program)
    assert told.returncode == 0, told.stdout


class Babbling(Answering):
    """Sends packets that are none before every measurement."""

    TIMES = (math.nan, math.inf, -math.inf, -1.0, 1e300, -1e300, 1.1e9)

    def send(self, number, place, peer):
        for t in self.TIMES:
            self.link.sendto(udp.measurement(2**60, t, [9.5, 0.0], [0.0, 0.0]), peer)
        for data in (b"", b"DYN1", bytes(500)):
            self.link.sendto(data, peer)
        super().send(number, place, peer)


def test_times_that_are_none_are_dropped(cc, tmp_path):
    law, arm = dy.control.JointPID(1.0), dy.load("planar-rr")
    flags = ("-fsanitize=undefined,float-cast-overflow", "-fno-sanitize-recover=all")
    try:
        loop = built(cc, tmp_path, law, arm, SLOW, *flags, velocity="difference", latch=100_000)
    except subprocess.CalledProcessError:
        pytest.skip("no sanitizers")
    plant = Babbling({})
    with plant as port:
        told = ran(loop, "--port", port, "--cycles", 20, "--listen", 3, "--json", *AGELESS)
    assert told.returncode == 0 and "runtime error" not in told.stderr, told.stderr
    found = json.loads(told.stdout)
    assert found["bad_packets"] >= 10 * found["received"] > 50
    assert statuses(plant.heard).count(udp.RUNNING) > 10
    assert all(one.torque[0] != -9.5 for one in plant.heard)
