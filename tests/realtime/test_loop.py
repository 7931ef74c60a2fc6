"""The generated controller as a program, against plants that behave and plants that do not."""

import contextlib
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime import udp
from dynamis.realtime.export_controller import export_controller
from dynamis.realtime.plant_run import PlantRun
from dynamis.realtime.posix_loop import DROPPED, INSIDE, LET_DOWN, STILL
from dynamis.realtime.tracking import tracking_table

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
SLOW = 0.04  # s: a cycle that any machine keeps
LATCH = 50  # bad samples of the puma's loop until it stays safe
MOVE, LASTS = [0.5, -0.4, 0.6, 0.2, 0.3, 0.1], 2.0
# e = qd * delay: the measurement is up to two cycles old when its torque is made, which takes up to
# one more; qd is 0.33 rad/s in the mean square, so 1 mrad; twice that for a machine with other work
TRACKING = 2e-3
AGELESS = ("--oldest", 1000)  # for plants whose time is a count of answers
BEGINNING = (0.3, -0.2)  # of the small arm's trajectory
STALL = 0.02  # s: a machine that stops one of them for longer says nothing about them


@pytest.fixture(scope="module")
def cc():
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    pytest.skip("no C compiler")


def built(cc, folder, law, arm, sample_time=0.005, *flags, **options):
    """The loop of a controller, compiled."""
    export_controller(law, arm, folder, sample_time, **options)
    sources = [str(f) for f in sorted(folder.glob("*.c")) if not f.name.endswith("_test.c")]
    command = [cc, *FLAGS, *flags, *sources, "-lm", "-o", str(folder / "loop")]
    subprocess.run(command, check=True)
    return folder / "loop"


@pytest.fixture(scope="module")
def still(cc, tmp_path_factory):
    """A loop that keeps a small arm where it is, slowly."""
    law = dy.control.ComputedTorque.from_bandwidth(5.0)
    return built(cc, tmp_path_factory.mktemp("still"), law, dy.load("planar-rr"), SLOW)


@pytest.fixture(scope="module")
def puma(cc, tmp_path_factory):
    """A loop that moves the PUMA 560 at 1 kHz."""
    law = dy.control.ComputedTorque.from_bandwidth(20.0, integral=True)
    motion = dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    folder = tmp_path_factory.mktemp("puma")
    return built(cc, folder, law, dy.load("puma560"), 1e-3, reference=motion, latch=LATCH)


def ran(program, *words):
    return subprocess.run(
        [str(program), *map(str, words)], capture_output=True, text=True, check=False
    )


# the program


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("inside", [True, False])
def test_it_compiles_without_warnings(cc, tmp_path, dtype, inside):
    arm = dy.load("planar-rr")
    motion = dy.trajectory.quintic(np.zeros(2), np.ones(2), 1.0) if inside else None
    law = dy.control.ComputedTorque.from_bandwidth(5.0)
    program = built(
        cc, tmp_path, law, arm, reference=motion, dtype=dtype, safe="gravity", trig="own"
    )
    told = ran(program, "--help")
    assert told.returncode == 0 and (INSIDE if inside else STILL) in told.stdout
    assert LET_DOWN.format(1.0) in told.stdout and DROPPED not in told.stdout
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
    export_controller(law, dy.load("planar-rr"), tmp_path, SLOW, velocity="difference")
    (source,) = tmp_path.glob("*_loop.c")
    told = subprocess.run(
        ["cppcheck", "--enable=warning,performance,portability", "--error-exitcode=1",
         "--std=c99", "--inline-suppr", "--quiet", str(source)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr


# what it does without measurements


class Heard(NamedTuple):
    """A torque packet, and when it came."""

    at: float
    t: float
    torque: tuple[float, ...]
    status: float


class Answering:
    """A plant that answers every torque with one measurement, or with as many as it is told to.

    The number of a measurement is its position, so that a torque tells which one it was made of.
    No clock is involved: a machine that stops the plant makes silent cycles, but no wrong answers.
    """

    def __init__(self, answers, spoiled=(), speed=1.0):
        self.answers, self.spoiled, self.speed = answers, spoiled, speed
        self.heard, self.sent, self.done = [], 0, False
        self.sent_at = time.monotonic()
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind((udp.HOST, 0))
        self.link.settimeout(0.05)
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self.link.getsockname()[1]

    def __exit__(self, *_):
        self.done = True  # what is on its way is still heard
        self.thread.join()
        self.link.close()

    def run(self):
        hellos = 0
        while True:
            try:
                data, peer = self.link.recvfrom(2048)
            except TimeoutError:
                if self.done:
                    return
                continue
            packet = udp.torque_of(data, 2)
            assert packet is not None, "a torque that is no number"
            *torque, status = packet.values
            if status == udp.LISTENING:  # the arm stands still
                hellos += 1
                self.send(hellos - 1000, 0.0, peer)
                continue
            self.heard.append(Heard(time.monotonic(), packet.t, tuple(torque), status))
            k = len(self.heard)
            for _ in range(self.answers.get(k, 1)):
                self.sent = max(self.sent + 1, k)
                self.send(
                    self.sent, math.nan if k in self.spoiled else self.speed * self.sent, peer
                )

    def send(self, number, place, peer):
        t = SLOW * (number + 1000)
        data = udp.measurement(number + 1000, t, [place, 0.0], [0.0, 0.0])
        self.link.sendto(data, peer)
        self.sent_at = time.monotonic()


def answered(program, answers, *words, spoiled=(), cycles=40, speed=1.0):
    """What a loop says, counts and sends; again where the machine made it miss more."""
    wanted = 1 + sum(n == 0 for k, n in answers.items() if k < cycles)  # nobody answers the first
    for _ in range(12):
        plant = Answering(answers, spoiled, speed)
        with plant as port:
            given = ("--port", port, "--listen", 3, *AGELESS, *words)
            told = ran(program, "--cycles", cycles, "--json", *given)
        found = json.loads(told.stdout)
        if found["overruns"] == 0 and found["missing"] <= wanted:
            break
    assert plant.heard[-1].status == udp.BYE
    return told, found, plant.heard[:-1], plant


def silent_from(k, until=1000):
    return dict.fromkeys(range(k, until), 0)


def statuses(heard):
    return [one.status for one in heard]


@pytest.fixture(scope="module")
def telling(cc, tmp_path_factory):
    """A loop whose torque is minus the measured position, and that never latches."""
    law, arm = dy.control.JointPID(1.0), dy.load("planar-rr")
    return built(cc, tmp_path_factory.mktemp("telling"), law, arm, SLOW, latch=100_000)


@pytest.fixture(scope="module")
def braking(cc, tmp_path_factory):
    """A loop whose torque is minus the velocity that it makes from positions, over SLOW."""
    law, arm = dy.control.JointPID(0.0, 0.0, SLOW), dy.load("planar-rr")
    folder = tmp_path_factory.mktemp("braking")
    return built(cc, folder, law, arm, SLOW, velocity="difference", latch=100_000)


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
    prompt = []
    for _ in range(5):
        _, found, heard, plant = answered(telling, {**silent_from(21), **before})
        first, safe = safe_within_two(heard, plant.sent)
        assert found["silent_until_safe_torque"] == 2
        prompt.append(safe.at - plant.sent_at < 3.5 * SLOW and safe.t - first.t < 2.5 * SLOW)
        if prompt[-1]:
            break
    assert any(prompt)


def test_no_measurement_is_ever_used_by_three_cycles(telling):
    pattern = (1, 1, 2, 0, 0, 1, 0, 2, 0, 1, 2, 2, 0, 0, 0)
    answers = {k: pattern[k % len(pattern)] for k in range(1, 100)}
    _, found, heard, _ = answered(telling, answers, cycles=80)
    used = [(-one.torque[0], one.status) for one in heard]
    for a, b, c in zip(used, used[1:], used[2:], strict=False):
        assert not a == b == c or a[1] != udp.RUNNING
    assert found["safe_torques"] == sum(s != udp.RUNNING for _, s in used) > 5
    begins = [b for a, b in pairwise(statuses(heard)) if a == udp.RUNNING != b]
    assert found["spells"] == len(begins)


def test_spells_are_told_twenty_times_and_counted_further(telling):
    answers = {k: 0 for k in range(1, 200) if k % 4 > 1}
    told, found, _, _ = answered(telling, answers, cycles=120)
    assert found["spells"] > 22
    assert told.stderr.count("SAFE TORQUE: cycle") == 20
    table = ran_against(telling, answers, 30)
    assert f"in {statuses(table[1]).count(udp.BAD)} spells" in table[0].stdout


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


# a loop that stood still, measurements that are old, packets that are none


class Clocked:
    """A plant that measures by its own clock, at rest until a torque acts, then at a steady speed.

    `lag` makes it say where the arm was, and when, so many seconds ago.
    """

    def __init__(self, speed=0.0, rest=(0.0, 0.0), every=SLOW / 8):
        self.speed, self.rest, self.every, self.lag = speed, rest, every, 0.0
        self.heard, self.done, self.begun = [], False, time.monotonic() - 10.0
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind((udp.HOST, 0))
        self.port = self.link.getsockname()[1]
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        time.sleep(0.1)  # what is on its way
        self.done = True
        self.thread.join()
        self.link.close()

    def clock(self):
        return time.monotonic() - self.begun

    def run(self):
        peer, k, due = None, 0, time.monotonic()
        while not self.done:
            due = max(due + self.every, time.monotonic())
            self.link.settimeout(max(1e-4, due - time.monotonic()))
            with contextlib.suppress(TimeoutError, ConnectionError):
                while time.monotonic() < due:
                    data, peer = self.link.recvfrom(2048)
                    packet = udp.torque_of(data, 2)
                    assert packet is not None, "a torque that is no number"
                    *torque, status = packet.values
                    if status != udp.LISTENING:
                        self.heard.append(Heard(self.clock(), packet.t, tuple(torque), status))
                    self.link.settimeout(max(1e-4, due - time.monotonic()))
            if peer is not None:
                t, k = self.clock() - self.lag, k + 1
                place = self.rest[0] + (self.speed * t if self.heard else 0.0)
                with contextlib.suppress(OSError):
                    self.link.sendto(udp.measurement(k, t, [place, self.rest[1]], [0.0, 0.0]), peer)

    def wait(self, count):
        """Until so many torques came."""
        while len(self.heard) < count:
            assert self.thread.is_alive(), "nobody listens"
            time.sleep(0.005)


def begun(program, plant, *words):
    words = ("--port", plant.port, "--listen", 5, "--json", *words)
    return subprocess.Popen(
        [str(program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(loop):
    out, err = loop.communicate()
    return json.loads(out), err


def stop_for(loop, seconds, plant):
    """Stops a loop for a while; returns how many torques came before."""
    loop.send_signal(signal.SIGSTOP)
    time.sleep(seconds / 2)
    before = len(plant.heard)
    time.sleep(seconds / 2)
    loop.send_signal(signal.SIGCONT)
    return before


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


@pytest.mark.parametrize("hold", [1, 30])
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
    export_controller(dy.control.JointPID(1.0), dy.load("planar-rr"), tmp_path, 1e-3)
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


# how it begins and ends


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


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("how", ["--cycles", signal.SIGINT, signal.SIGTERM])
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


# software in the loop


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
        plant = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
        if counts["latest"] < STALL and found["latency_us"]["max"] < 1e6 * STALL:
            break
    assert loop.returncode == 0, err
    assert not found["safe"] and found["lost"] > 0
    assert counts["lost_torques"] > 0 and counts["lost"] >= found["lost"]
    assert err.count("SAFE TORQUE: cycle") == min(found["spells"], 20)
    tracked = tracking_table(PlantRun.read(log), motion)
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
