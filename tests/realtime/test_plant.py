"""The plant as a program: packets, loss and delay, and the same arm as `dy.simulate`."""

import contextlib
import itertools
import json
import math
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import FileError, OptionError, ShapeError
from dynamis.realtime.loop import udp
from dynamis.realtime.loop.plant import (
    SILENCE,
    Encoder,
    LossyChannel,
    PlantRun,
    PlantServer,
    tracking_table,
)

RATE = 200.0  # steps per second that any machine keeps up with


@pytest.fixture(scope="module")
def arm():
    return dy.load("planar-rr")


# packets


def test_a_packet_survives_the_wire():
    data = udp.measurement(7, 0.25, [1.0, -2.0], [3.0, 4.5])
    assert len(data) == udp.HEAD.size + 8 * 4
    assert udp.unpacked(data, udp.MEASUREMENT, 4) == (1, 7, 0.25, (1.0, -2.0, 3.0, 4.5))


def test_the_bytes_are_the_documented_ones():
    data = udp.torque(2, 0.0, [1.0], 0.0)
    assert data[:4] == b"DYN1"
    assert data[4:16] == bytes([2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0])
    assert data[24:32] == bytes([0, 0, 0, 0, 0, 0, 0xF0, 0x3F])  # 1.0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        udp.torque(1, 0.0, [1.0, 2.0], 0.0)[:-1],
        udp.torque(1, 0.0, [1.0, 2.0], 0.0) + b"x",
        b"XXXX" + udp.torque(1, 0.0, [1.0, 2.0], 0.0)[4:],
        udp.torque(1, 0.0, [1.0], 0.0),
        udp.torque(1, 0.0, [math.nan, 2.0], 0.0),
        udp.torque(1, math.inf, [1.0, 2.0], 0.0),
        udp.measurement(1, 0.0, [1.0, 2.0], [0.0])[:-8] + bytes(8),
    ],
    ids=["empty", "short", "long", "magic", "joints", "nan", "time", "kind"],
)
def test_other_bytes_are_no_torque(data):
    assert udp.torque_of(udp.torque(1, 0.0, [1.0, 2.0], 0.0), 2) is not None
    assert udp.torque_of(data, 2) is None


# loss, delay, encoders


def test_a_channel_loses_and_delays_as_asked():
    count, loss, delay, jitter = 20_000, 0.01, 0.002, 0.001
    channel = LossyChannel(loss, delay, jitter, seed=3)
    for k in range(count):
        channel.put(0.0, str(k).encode())
    sigma = math.sqrt(count * loss * (1 - loss))
    assert abs(channel.lost - count * loss) < 5 * sigma
    assert list(channel.ready(delay)) == []
    early = len(list(channel.ready(delay + jitter / 2)))
    assert abs(early / (count - channel.lost) - 0.5) < 5 * 0.5 / math.sqrt(count)
    assert early + len(list(channel.ready(delay + jitter))) == count - channel.lost
    assert channel.due == math.inf


def test_a_channel_repeats_itself():
    def out(seed):
        channel = LossyChannel(0.5, 0.0, 1.0, seed)
        for k in range(50):
            channel.put(0.0, bytes([k]))
        return list(channel.ready(1.0))

    assert out(1) == out(1) != out(2)


def test_an_encoder_counts(arm):
    encoder = Encoder(arm, 0.01, 0.1)
    q, qd = encoder.read(np.array([0.118, -0.036]), np.array([0.3, 0.0]))
    assert q == pytest.approx([0.12, -0.04])
    assert qd == pytest.approx([0.3, 0.0])  # as if the arm had moved evenly until now
    assert encoder.read(np.array([0.143, -0.036]), np.zeros(2))[1] == pytest.approx([0.2, 0.0])
    exact = Encoder(arm, None, 0.1).read(np.array([0.123, 0.0]), np.array([9.0, 8.0]))
    assert exact == ([0.123, 0.0], [9.0, 8.0])


# the arm


@pytest.mark.parametrize("name", ["planar-rr", "puma560"])
def test_it_is_the_arm_of_simulate(name):
    robot = dy.load(name)
    tau = np.random.default_rng(0).normal(size=(100, robot.n))
    q0 = 0.1 * np.ones(robot.n)
    run = dy.simulate(robot, 0.1, 1e-3, q0, torque=tau, save_every=1)
    sim, found = dy.Simulator(robot, 1e-3), []
    sim.reset(q0)
    for row in tau:
        found.append(sim.q)
        sim.step(row)
    np.testing.assert_allclose(found, run.q[: len(found)], rtol=0, atol=1e-13)


class Talk:
    """A plant in a thread, and a socket to talk to it."""

    def __init__(self, server):
        self.server = server
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.connect((udp.HOST, server.port))
        self.thread = threading.Thread(target=server.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.thread.join()
        self.link.close()

    def heard(self, link):
        """The next packet, as long as there is a plant that could send it."""
        while not select.select([link], [], [], 0.1)[0]:
            assert self.thread.is_alive(), "the plant is gone"
        return link.recv(2048)

    def measured(self):
        packet = udp.unpacked(self.heard(self.link), udp.MEASUREMENT, 4)
        assert packet is not None
        return packet


def test_brakes_hold_until_a_torque_acts_and_silence_ends_it(arm):
    server = PlantServer(arm, 0, q0=[0.3, 0.2], rate=RATE)
    with Talk(server) as talk:
        talk.link.send(udp.torque(0, 0.0, [5.0, 5.0], udp.LISTENING))
        assert all(talk.measured().values == (0.3, 0.2, 0.0, 0.0) for _ in range(10))
        assert not server.found.rows
        talk.link.send(udp.torque(1, 0.5, [0.125, 0.25], udp.RUNNING))
        while not server.found.silent:
            talk.measured()
    log = server.found.log
    acted = (log[:, -2:] == [0.125, 0.25]).all(axis=1)
    assert acted[0] and log[0, 1] == 0.5
    assert acted.sum() == pytest.approx(SILENCE * RATE, abs=1.5)
    assert not log[~acted][:, -2:].any() and (~acted).any()
    assert set(log[acted, 2]) == {udp.RUNNING} and set(log[~acted, 2]) == {udp.LISTENING}
    assert log[-1, 3] != 0.3


@pytest.mark.filterwarnings("ignore:the simulation ended early")
def test_friction_too_stiff_for_the_rate_is_simulated_in_shorter_steps(arm):
    """At the rate itself the arm diverges; between two measurements it takes several steps."""
    stiff = arm.with_friction(viscous=100.0)
    assert dy.simulate(stiff, 1.0, 1.0 / RATE, torque=[5.0, 0.0]).diverged
    server = PlantServer(stiff, 0, rate=RATE)
    with server.link:
        assert server.substeps > 1 and "too long for the viscous friction of" in server.remark
        server._command(udp.Packet(udp.TORQUE, 1, 0.0, (5.0, 0.0, udp.RUNNING)), None, 0.0)
        for k in range(8):
            server._step(k, k / RATE)
        fine = dy.simulate(stiff, 8 / RATE, 1.0 / RATE / server.substeps, torque=[5.0, 0.0])
        np.testing.assert_allclose(server.arm.q, fine.q[-1], atol=1e-12)
        assert len(server.found.rows) == 8 and not server.found.message
    plain = PlantServer(arm, 0, rate=RATE)
    plain.link.close()
    assert plain.substeps == 1 and not plain.remark


def test_the_run_says_how_far_every_joint_went():
    """As its own log has it; what passes a limit of the model is named."""
    robot = dy.load("planar-rr")
    links = [replace(x, limits=(-0.1, 0.35), effort_limit=4.0) for x in robot.model.links]
    arm = dy.Robot(replace(robot.model, links=tuple(links)))
    server = PlantServer(arm, 0, q0=[0.3, 0.2], rate=RATE)
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        for k, status in enumerate((udp.RUNNING, udp.BAD, *[udp.SAFE] * 40, udp.RUNNING)):
            link.send(udp.torque(k, 0.0, [-0.5, 5.0], status))
            server._receive(k / RATE)
            server._step(k, k / RATE)
    found, log = server.found, server.found.log
    q, qd, tau = log[:, 3:5], log[:, 5:7], log[:, 7:]
    assert found.safe == 41
    np.testing.assert_array_equal(found.end, q[-1])
    np.testing.assert_array_equal([found.lowest, found.highest], [q.min(0), q.max(0)])
    np.testing.assert_array_equal(found.largest_velocity, np.abs(qd).max(0))
    np.testing.assert_array_equal(found.largest_torque, np.abs(tau).max(0))
    assert q[:, 1].max() > 0.35 > q[:, 0].max()
    past = found.beyond(arm)
    assert past["joint2"] == ["position", "torque"] and "torque" not in past.get("joint1", ())


def test_what_happens_after_the_last_running_torque_counts_apart():
    run = PlantRun(("a",), 100.0)
    run._seen(np.array([0.0]), np.array([0.0]), [1.0], running=True)
    run._seen(np.array([0.5]), np.array([2.0]), [9.0])  # a safe torque between running ones
    assert run.afterwards.steps == 1 and run.largest_torque == 1.0
    run._seen(np.array([0.2]), np.array([1.0]), [1.0], running=True)
    run._seen(np.array([-3.0]), np.array([7.0]), [0.0])
    assert (run.lowest, run.highest, run.largest_velocity, run.largest_torque) == (0, 0.5, 2, 9)
    assert run.controlled.steps == 3 and run.end == -3.0
    after = run.afterwards
    assert (after.steps, after.lowest, after.largest_velocity) == (1, -3.0, 7.0)


def test_old_torques_and_noise_do_not_act(arm):
    server = PlantServer(arm, 0, rate=RATE)
    with Talk(server) as talk:
        for data in (
            b"noise",
            udp.torque(5, 0.0, [1.0, 0.0], 0.0),
            udp.torque(4, 0.0, [9.0, 0.0], 0.0),
            udp.torque(6, 0.0, [math.nan, 0.0], 0.0),
        ):
            talk.link.send(data)
        for _ in range(4):
            talk.measured()
    assert set(server.found.log[:, -2]) == {1.0}
    assert server.found.received == server.found.stale == 1


def test_a_second_controller_begins_at_its_own_numbers(arm):
    server = PlantServer(arm, 0, rate=RATE)
    with Talk(server) as talk, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as second:
        talk.link.send(udp.torque(500, 0.0, [1.0, 0.0], udp.RUNNING))
        talk.measured()
        second.connect((udp.HOST, server.port))
        for k, status in enumerate((udp.LISTENING, udp.RUNNING)):
            second.send(udp.torque(k, 0.0, [2.0, 0.0], status))
            for _ in range(4):
                talk.heard(second)
    assert server.found.received == 2 and server.found.log[-1, -2] == 2.0


def test_both_ways_lose_packets_each_for_itself(arm):
    """Torques go in at their step; nothing waits for the clock."""
    server = PlantServer(arm, 0, rate=RATE, loss=0.1, seed=1)
    count, dt = 2000, 1 / RATE
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        for k in range(count):
            link.send(udp.torque(k, k * dt, [0.0, 0.0], udp.RUNNING))
            server._receive(k * dt)
            server._step(k, k * dt)
    sigma = math.sqrt(count * 0.1 * 0.9)
    for way in (server.measurements, server.torques):
        assert abs(way.lost - 0.1 * count) < 5 * sigma
    assert server.measurements.lost != server.torques.lost
    assert server.found.received == count - server.torques.lost
    held = np.diff(server.found.log[:, 1]) == 0.0  # the torque of the step before acts again
    assert held.sum() == pytest.approx(server.torques.lost, abs=2)


def test_a_late_torque_acts_when_it_is_due(arm):
    server = PlantServer(arm, 0, rate=RATE, delay=2.5 / RATE)
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        for k in range(10):
            link.send(udp.torque(k, float(k), [0.0, 0.0], udp.RUNNING))
            server._receive(k / RATE)
            server._step(k, k / RATE)
    assert server.found.log[:, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert server.found.log[0, 0] == 3 / RATE


def test_a_late_plant_is_no_late_controller(arm):
    """What came while the machine stopped the plant acts in the first step it catches up."""
    server = PlantServer(arm, 0, rate=RATE)
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        link.send(udp.torque(0, 0.0, [1.0, 0.0], udp.RUNNING))
        server._until(time.monotonic() - 1.0, 0.1)  # 0.9 s late
        server._step(20, 0.1)
    assert server.found.received == 1 and server.found.log[:, 0].tolist() == [0.1]


def test_a_torque_that_another_overtook_does_not_act(arm):
    server = PlantServer(arm, 0, rate=RATE, jitter=5 / RATE, seed=2)
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        for k in range(200):
            link.send(udp.torque(k, float(k), [0.0, 0.0], udp.RUNNING))
            server._receive(k / RATE)
            server._step(k, k / RATE)
    acted = server.found.log[:, 1]
    assert server.found.stale > 20 and (np.diff(acted) >= 0).all()
    assert (np.arange(200)[-len(acted) :] - acted).max() < 7


# how well it followed


def rows_of(joints, t, status, q):
    """A run whose rows are made up."""
    n = len(joints)
    rows = np.column_stack([t, t, status, q, np.zeros((len(t), 2 * n))])
    return PlantRun(joints, 100.0, rows=[row.tobytes() for row in rows])


def test_tracking_is_that_of_the_rows(tmp_path):
    t = np.arange(100) / 100.0
    motion = dy.trajectory.quintic([0.0, 1.0], [1.0, 0.0], 0.9)
    status = np.zeros(100)
    status[40:43], status[50], status[98], status[99] = udp.BAD, udp.SAFE, udp.BYE, udp.LISTENING
    off = np.column_stack([np.where(np.arange(100) % 2, 0.01, -0.01), np.zeros(100)])
    off[41, 1] = -0.25
    off[98:] = 77.0  # nobody holds it any more
    run = rows_of(("a", "elbow"), t, status, motion(t).q + off)
    found = tracking_table(run, motion)
    np.testing.assert_allclose(found.rms, [0.01, 0.25 / math.sqrt(98)], rtol=1e-9)
    np.testing.assert_allclose(found.largest, [0.01, 0.25], rtol=1e-9)
    assert found.safe == 4 and found.steps == 98
    assert found.running == pytest.approx(94 / 98)
    lines = str(found).splitlines()
    assert lines[2].split() == ["elbow", "2.525e-02", "2.500e-01"]
    assert lines[-1] == "98 steps, 95.918 % under a running torque, 4 under a safe one"
    run.save(tmp_path / "run.csv")
    again = PlantRun.read(tmp_path / "run.csv")
    assert again.joints == run.joints and again.rate == pytest.approx(100.0)
    np.testing.assert_allclose(tracking_table(again, motion).rms, found.rms, rtol=1e-6)


def test_tracking_needs_rows_of_the_same_joints(tmp_path):
    motion = dy.trajectory.quintic([0.0], [1.0], 1.0)
    with pytest.raises(OptionError, match="none of them under a running torque"):
        tracking_table(PlantRun(("a",), 100.0), motion)
    with pytest.raises(ShapeError, match="the arm has 2"):
        tracking_table(PlantRun(("a", "b"), 100.0), motion)
    (tmp_path / "x.csv").write_text("t,x\n1,2\n")
    for name in ("x.csv", "absent.csv"):
        with pytest.raises(FileError, match=name):
            PlantRun.read(tmp_path / name)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": 1.5}, "loss is 1.5, expected a number from 0 to 1"),
        ({"jitter": -1e-3}, "jitter is -0.001"),
        ({"delay": math.nan}, "delay is nan"),
        ({"rate": 0.0}, "rate is 0.0, expected steps per second above 0"),
        ({"encoder": 0.0}, "encoder is 0.0"),
        ({"seed": -1}, "seed is -1, expected a whole number, 0 or more"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"q0": [[0.0, 0.0], [1.0, 1.0]]}, "q0 is for 2 arms"),
        ({"port": 70000}, "port 70000"),
        ({"host": "no.such.host.invalid"}, "no.such.host.invalid"),
    ],
)
def test_wrong_options_say_what_is_expected(arm, options, words):
    with pytest.raises(OptionError, match=words.replace(".", r"\.")):
        PlantServer(arm, **{"port": 0, **options})


def test_a_taken_port_is_refused(arm):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind((udp.HOST, 0))
        with pytest.raises(OptionError, match="cannot listen"):
            PlantServer(arm, taken.getsockname()[1])


# the command


def test_sigterm_ends_it_with_its_report(tmp_path):
    log = tmp_path / "run.csv"
    command = [
        sys.executable,
        "-m",
        "dynamis",
        "plant",
        "planar-rr",
        "--port",
        "0",
        "--rate",
        "200",
    ]
    plant = subprocess.Popen(
        [*command, "--log", str(log), "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert plant.stderr is not None
    assert "listens at 127.0.0.1 port" in plant.stderr.readline()
    plant.send_signal(signal.SIGTERM)
    out, _ = plant.communicate()
    assert plant.returncode == 0
    found = json.loads(out)
    assert found["steps"] >= 0 and found["received"] == found["lost_torques"] == 0
    assert found["latest"] >= 0 and found["overruns"] <= found["steps"]
    assert found["end"] == found["lowest"] == found["highest"] == [0.0, 0.0]
    assert found["largest_torque"] == [0.0, 0.0] and found["beyond_limits"] == {}
    assert log.read_text().splitlines()[0].startswith("t,t_controller,status,q_")


@pytest.mark.parametrize("encoder", [None, "1e-4"])
def test_an_arm_that_diverged_is_not_sent_and_ends_it(encoder):
    """A torque beyond all measure: every measurement is finite, then the plant says why it ends."""
    words = ["--port", "0", "--rate", "200", "--json", *(("--encoder", encoder) if encoder else ())]
    plant = subprocess.Popen(
        [sys.executable, "-m", "dynamis", "plant", "planar-rr", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert plant.stderr is not None
    port = int(plant.stderr.readline().split()[-1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind((udp.HOST, 0))
        for k in itertools.count(1):
            link.sendto(udp.torque(k, 0.0, [1e300, -1e300], udp.RUNNING), (udp.HOST, port))
            if plant.poll() is not None or select.select([plant.stderr], [], [], 0.01)[0]:
                break
        out, err = plant.communicate()
        link.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                packet = udp.unpacked(link.recv(2048), udp.MEASUREMENT, 4)
                assert packet is not None and all(map(math.isfinite, packet.values))
    assert plant.returncode == 1
    assert "error: the simulated arm diverged at t = " in err
    assert "diverged" in json.loads(out)["message"]


def test_its_table_says_what_was_lost_and_how_late_it_was():
    words = ["plant", "planar-rr", "--port", "0", "--rate", "200", "--duration", "0.1"]
    told = subprocess.run(
        [sys.executable, "-m", "dynamis", *words], capture_output=True, text=True, check=True
    )
    for name in ("lost", "lost_torques", "stale", "overruns", "latest"):
        assert f" {name} " in told.stdout


def test_a_negative_seed_is_refused():
    words = ["plant", "planar-rr", "--port", "0", "--duration", "0.1", "--seed", "-1"]
    told = subprocess.run(
        [sys.executable, "-m", "dynamis", *words], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2 and "seed is -1, expected a whole number" in told.stderr
    assert "Traceback" not in told.stderr
