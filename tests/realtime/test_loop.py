"""The generated controller as a program: its words, and what it does without measurements."""

import json
import shutil
import socket
import subprocess
from itertools import pairwise

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime.c_text import DROPPED, INSIDE, LET_DOWN, STILL
from dynamis.realtime.export import export_controller
from dynamis.realtime.loop import udp
from tests.thorough import thorough_but

from .loops import AGELESS, SLOW, Answering, answered, built, ran, silent_from, statuses

# the program


@pytest.mark.parametrize("dtype", thorough_but(["float32"], ["float64", "float32"]))
@pytest.mark.parametrize("inside", [True, False])
def test_it_compiles_without_warnings(cc, tmp_path, dtype, inside):
    arm = dy.load("planar-rr")
    motion = dy.trajectory.quintic(np.zeros(2), np.ones(2), 1.0) if inside else None
    law = dy.control.ComputedTorque.from_bandwidth(arm, 5.0)
    program = built(
        cc,
        tmp_path,
        law,
        arm,
        0.005,
        "-O2",
        reference=motion,
        dtype=dtype,
        safe="gravity",
        safe_damping=0.0,
        trig="own",
    )
    told = ran(program, "--help")
    assert told.returncode == 0 and (INSIDE if inside else STILL) in told.stdout
    assert LET_DOWN.format("without", 1.0) in told.stdout and DROPPED not in told.stdout
    timed = ran(program, "--dry", "--cycles", 3000, "--period", 1e-4, "--json")
    found = json.loads(timed.stdout)
    assert timed.returncode == 0 and found["mode"] == "dry"
    assert found["cycles"] == 3000 and not found["safe"] and found["bad"] == 0


@pytest.mark.parametrize(
    "words", [["--nonsense"], ["--cycles"], ["--cycles", "x"], ["--port", "70000"],
              ["--period", "0"], ["--period", "nan"], ["--hold", "-1"], ["--listen", "1"],
              ["--oldest", "-1"], ["--start-tolerance", "x"], ["--wait", "1e10"]]
)  # fmt: skip
def test_wrong_words_are_refused(still, words):
    told = ran(still, *words)
    assert told.returncode == 2 and told.stderr.startswith("usage:") and told.stdout == ""


def test_without_a_plant_it_says_so(still):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as nobody:
        nobody.bind((udp.HOST, 0))
        port = nobody.getsockname()[1]
        told = ran(still, "--port", port, "--wait", 0.3)
    assert told.returncode == 2
    assert f"error: no plant at 127.0.0.1 port {port}" in told.stderr


def test_an_empty_loop_times_the_machine(still):
    found = json.loads(ran(still, "--empty", "--cycles", 500, "--period", 1e-3, "--json").stdout)
    for what in ("cycle_us", "latency_us"):
        times = found[what]
        assert 0 < times["mean"] <= times["max"] and times["p99.9"] <= times["max"]
        edges, counts = np.array(times["below"]).T
        assert counts.sum() == 500
        above = edges @ counts / 500  # every bin ends at twice its beginning, the first begins at 0
        assert above / 2 - edges[0] <= times["mean"] <= above
    assert found["step_us"]["below"] == []
    assert "latency" in ran(still, "--empty", "--cycles", 10, "--period", 1e-3).stdout


def test_cppcheck_says_nothing(tmp_path):
    if not shutil.which("cppcheck"):
        pytest.skip("no cppcheck")
    law = dy.control.JointPID(1.0, 0.0, 1.0)
    export_controller(dy.load("planar-rr"), law, tmp_path, SLOW, velocity="difference")
    (source,) = tmp_path.glob("*_loop.c")
    told = subprocess.run(
        ["cppcheck", "--enable=warning,performance,portability", "--error-exitcode=1",
         "--std=c99", "--inline-suppr", "--quiet", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr


# what it does without measurements


def test_it_ends_with_zero_torque(still):
    plant = Answering({})
    with plant as port:
        ran(still, "--port", port, "--cycles", 10, "--listen", 3, "--json", *AGELESS)
    assert plant.heard[-1].status == udp.BYE and not any(plant.heard[-1].torque)
    assert udp.BYE not in statuses(plant.heard[:-1])


def test_single_losses_go_on_with_the_last_measurement(telling):
    told, found, heard, _ = answered(telling, {10: 0, 20: 0, 30: 0})
    assert told.returncode == 0 and "SAFE" not in told.stderr
    assert found["missing"] == 4  # nothing was measured before the first torque
    assert found["safe_torques"] == found["spells"] == 0
    assert set(statuses(heard)) == {udp.RUNNING}
    for k in (10, 20, 30):
        assert heard[k].torque == heard[k - 1].torque != heard[k + 1].torque


def test_two_losses_in_a_row_give_the_safe_torque_once(telling):
    told, found, heard, _ = answered(telling, {20: 0, 21: 0})
    assert told.returncode == 0 and not found["safe"]
    assert found["bad"] == found["safe_torques"] == found["spells"] == 1
    assert statuses(heard).count(udp.BAD) == 1 and heard[21].status == udp.BAD
    assert heard[-1].status == udp.RUNNING
    assert told.stderr.count("SAFE TORQUE: cycle 21, no measurement for 2 cycles") == 1


def safe_within_two(heard, last):
    """What was sent after the plant's last measurement, checked on the packets alone."""
    used = [-one.torque[0] for one in heard]
    first = used.index(last)  # the cycle that got it
    after = heard[first + 1 :]
    running = [one for one in after if one.status == udp.RUNNING]
    assert len(running) <= 1 and after[: len(running)] == running
    assert all(-one.torque[0] == last for one in running)  # the held measurement
    safe = after[len(running) :]
    assert len(safe) > 5 and {one.status for one in safe} <= {udp.BAD, udp.SAFE}
    assert not any(x for one in safe for x in one.torque)
    return heard[first], safe[0]


@pytest.mark.parametrize(
    "before", [{}, {20: 2}, {19: 0, 20: 2}, {16: 2, 18: 2, 20: 2}, {18: 2, 19: 2, 20: 2}],
    ids=["plain", "burst", "late", "bursts", "many"],
)  # fmt: skip
def test_a_plant_that_stops_gets_the_safe_torque_within_two_cycles(telling, before):
    _, found, heard, plant = answered(telling, {**silent_from(21), **before})
    first, safe = safe_within_two(heard, plant.sent)
    assert found["silent_until_safe_torque"] == 2
    assert safe.at - plant.sent_at < 3.5 * SLOW and safe.t - first.t < 2.5 * SLOW


def test_no_measurement_is_ever_used_by_three_cycles(telling):
    pattern = (1, 1, 2, 0, 0, 1, 0, 2, 0, 1, 2, 2, 0, 0, 0)
    answers = {k: pattern[k % len(pattern)] for k in range(1, 100)}
    _, found, heard, _ = answered(telling, answers, cycles=80)
    used = [(-one.torque[0], one.status) for one in heard]
    for a, b, c in zip(used, used[1:], used[2:], strict=False):
        assert not a == b == c or a[1] != udp.RUNNING
    assert found["safe_torques"] == sum(s != udp.RUNNING for _, s in used) > 5
    assert found["spells"] == spells(heard)


def spells(heard):
    """How often safe torques began: on a busy machine a spell may last several cycles."""
    return sum(a == udp.RUNNING != b for a, b in pairwise(statuses(heard)))


def test_spells_are_told_twenty_times_and_counted_further(telling):
    answers = {k: 0 for k in range(1, 200) if k % 4 > 1}
    told, found, _, _ = answered(telling, answers, cycles=120)
    assert found["spells"] > 22
    assert told.stderr.count("SAFE TORQUE: cycle") == 20
    table = ran_against(telling, answers, 30)
    assert f"in {spells(table[1][:-1])} spells" in table[0].stdout


def ran_against(program, answers, cycles):
    plant = Answering(answers)
    with plant as port:
        told = ran(program, "--port", port, "--cycles", cycles, "--listen", 3, *AGELESS)
    return told, plant.heard


@pytest.mark.parametrize("spoiled", [False, True])
def test_two_bad_samples_latch_and_are_told(still, spoiled):
    which = range(20, 24)
    answers = {} if spoiled else dict.fromkeys(which, 0)
    told, found, heard, _ = answered(still, answers, spoiled=which if spoiled else (), speed=0.0)
    assert told.returncode == 1 and found["safe"]
    assert told.stderr.count("SAFE: cycle") == told.stderr.count("SAFE TORQUE: cycle") == 1
    assert ("not plausible" in told.stderr) == spoiled
    assert found["silent_until_safe_torque"] == (0 if spoiled else 2)
    first = statuses(heard).index(udp.BAD)
    assert set(statuses(heard)[first + 1 :]) == {udp.SAFE}  # though measurements came back
    assert found["safe_torques"] == len(heard) - first and found["spells"] == 1
    assert not any(x for one in heard[first:] for x in one.torque)


def test_hold_makes_it_more_patient(telling):
    answers = dict.fromkeys(range(20, 25), 0)
    _, found, heard, _ = answered(telling, answers, "--hold", 4)
    assert found["safe_torques"] == 1 and found["silent_until_safe_torque"] == 5
    assert heard[24].status == udp.BAD and heard[23].torque == heard[19].torque


@pytest.mark.parametrize("burst", [False, True])
def test_a_missing_position_is_where_the_arm_was_going(braking, burst):
    """Minus the way of one cycle: 1, also in a silent cycle, also behind two packets in one."""
    _, _, heard, _ = answered(braking, {19: 2, 20: 0} if burst else {20: 0})
    torque = np.array([one.torque[0] for one in heard])
    assert set(statuses(heard)) == {udp.RUNNING}
    expected = -np.ones(len(torque))
    if burst:  # one number more, and one less
        expected[19], expected[21] = -2.0, 0.0
    np.testing.assert_allclose(torque[3:], expected[3:], rtol=0, atol=1e-9)
