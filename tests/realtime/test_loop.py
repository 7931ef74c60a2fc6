"""The generated controller as a program, against plants that behave and plants that do not."""

import contextlib
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dynamis as dy
from dynamis.realtime import udp
from dynamis.realtime.export_controller import export_controller
from dynamis.realtime.posix_loop import INSIDE, STILL

FLAGS = ["-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
SLOW = 0.02  # s: a cycle that any machine keeps
MOVE, LASTS = [0.5, -0.4, 0.6, 0.2, 0.3, 0.1], 2.0
# e = qd * delay: the measurement is up to two cycles old when its torque acts, qd is 0.56 rad/s
# at most and 0.33 rad/s in the mean square, so 0.7 mrad; twice that for a machine with other work
TRACKING = 1.4e-3
STALLS = 50  # cycles that a machine with other work may stop the plant for


@pytest.fixture(scope="module")
def cc():
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    pytest.skip("no C compiler")


def built(cc, folder, law, arm, sample_time=0.005, **options):
    """The loop of a controller, compiled."""
    export_controller(law, arm, folder, sample_time, **options)
    sources = [str(f) for f in sorted(folder.glob("*.c")) if not f.name.endswith("_test.c")]
    subprocess.run([cc, *FLAGS, *sources, "-lm", "-o", str(folder / "loop")], check=True)
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
    return built(cc, folder, law, dy.load("puma560"), 1e-3, reference=motion)


def ran(program, *words):
    return subprocess.run(
        [str(program), *map(str, words)], capture_output=True, text=True, timeout=60, check=False
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
    timed = ran(program, "--dry", "--cycles", 3000, "--period", 1e-4, "--json")
    found = json.loads(timed.stdout)
    assert timed.returncode == 0 and found["mode"] == "dry"
    assert found["cycles"] == 3000 and not found["safe"] and found["bad"] == 0


@pytest.mark.parametrize(
    "words", [["--nonsense"], ["--cycles"], ["--cycles", "x"], ["--port", "70000"],
              ["--period", "0"], ["--period", "nan"], ["--hold", "-1"], ["--listen", "1"]]
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


# what it does without measurements


class Scripted:
    """A plant that never moves and leaves out the measurements it is told to, counted from the
    first torque; it keeps the torques."""

    def __init__(self, left_out, spoiled=()):
        self.left_out, self.spoiled, self.torques, self.done = left_out, spoiled, [], False
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.bind((udp.HOST, 0))
        self.link.setblocking(False)
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self.link.getsockname()[1]

    def __exit__(self, *_):
        self.done = True
        self.thread.join()
        self.link.close()

    def run(self):
        begun, peer, k, since = time.monotonic(), None, 0, 0
        while not self.done:
            time.sleep(max(0.0, begun + SLOW * k - time.monotonic()))
            with contextlib.suppress(BlockingIOError):
                while True:
                    data, peer = self.link.recvfrom(2048)
                    packet = udp.torque_of(data, 2)
                    assert packet is not None, "a torque that is no number"
                    if packet.values[-1] != udp.LISTENING:
                        self.torques.append(packet.values)
            since += bool(self.torques)
            if peer is not None and since not in self.left_out:
                q = [math.nan, 0.2] if since in self.spoiled else [0.3, 0.2]
                self.link.sendto(udp.measurement(k, SLOW * k, q, [0.0, 0.0]), peer)
            k += 1


def scripted(program, left_out, spoiled=(), cycles=50):
    """What a loop says and sends, its good-bye aside; stalls of the machine are no news."""
    for _ in range(4):
        plant = Scripted(set(left_out), set(spoiled))
        with plant as port:
            told = ran(program, "--port", port, "--cycles", cycles, "--listen", 10, "--json")
        found = json.loads(told.stdout)
        if (
            found["missing"] <= len(left_out) + (cycles if found["safe"] else 0)
            and not found["overruns"]
        ):
            break
    return told, found, [values[-1] for values in plant.torques][:-1]


def test_it_ends_with_zero_torque(still):
    plant = Scripted(set(), set())
    with plant as port:
        ran(still, "--port", port, "--cycles", 30, "--listen", 10, "--json")
    *torque, status = plant.torques[-1]
    assert status == udp.SAFE and not any(torque[-2:])


def test_single_losses_go_on_with_the_last_measurement(still):
    told, found, statuses = scripted(still, [10, 20, 30])
    assert told.returncode == 0 and not found["safe"] and found["bad"] == 0
    assert found["lost"] == 3 and found["missing"] >= 3
    assert set(statuses) == {udp.RUNNING}


def test_two_losses_in_a_row_give_the_safe_torque_once(still):
    told, found, statuses = scripted(still, [20, 21])
    assert told.returncode == 0 and not found["safe"] and found["bad"] == 1
    assert statuses.count(udp.BAD) == 1 and statuses[-1] == udp.RUNNING


@pytest.mark.parametrize("spoiled", [False, True])
def test_silence_and_nan_are_safe_within_two_cycles_and_latch(still, spoiled):
    which = range(20, 24)
    told, found, statuses = scripted(still, [] if spoiled else which, which if spoiled else [])
    assert told.returncode == 1 and found["safe"]
    assert told.stderr.count("SAFE: cycle") == 1
    assert found["silent_until_safe_torque"] == (0 if spoiled else 2)
    first = statuses.index(udp.BAD)
    assert set(statuses[first + 1 :]) == {udp.SAFE}  # though measurements came back


def test_hold_makes_it_more_patient(still):
    told, found, _ = scripted(still, range(20, 24), cycles=40)
    plant = Scripted(set(range(20, 24)))
    with plant as port:
        patient = ran(still, "--port", port, "--cycles", 40, "--listen", 10, "--hold", 4, "--json")
    assert found["safe"] and told.returncode == 1
    assert not json.loads(patient.stdout)["safe"] and patient.returncode == 0


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
        plant.terminate()
        plant.communicate(timeout=30)


def loop_of(program, *words):
    command = [str(program), *map(str, words)]
    with together():
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_puma_follows_over_a_lossy_line(puma, tmp_path):
    log = tmp_path / "run.csv"
    with plant_of("--loss", "0.01", "--jitter", "0.001", "--log", str(log)) as (_, port):
        loop = loop_of(puma, "--port", port, "--cycles", 3000, "--hold", STALLS, "--json")
        out, err = loop.communicate(timeout=60)
    found = json.loads(out)
    assert loop.returncode == 0, err
    assert not found["safe"] and found["lost"] > 0
    rows = np.genfromtxt(log, delimiter=",", names=True)
    t = rows["t_controller"]
    motion = dy.trajectory.quintic(np.zeros(6), np.array(MOVE), LASTS)
    names = rows.dtype.names or ()
    q = np.stack([rows[name] for name in names if name.startswith("q_")], axis=1)
    live = slice(0, int(np.argmax(t)))  # afterwards nobody holds the arm
    error = motion(np.minimum(t, LASTS)).q[live] - q[live]
    assert len(error) > 2000
    assert np.sqrt((error**2).mean(axis=0)).max() < TRACKING


def test_a_killed_plant_makes_it_safe_within_two_cycles(puma):
    with plant_of() as (plant, port):
        loop = loop_of(puma, "--port", port, "--cycles", 20000, "--json")
        time.sleep(1.0)
        plant.kill()
        out, err = loop.communicate(timeout=30)
    found = json.loads(out)
    assert loop.returncode == 1 and "SAFE: cycle" in err
    assert found["safe"] and found["cycles"] < 20000
    assert found["silent_until_safe_torque"] <= 2
