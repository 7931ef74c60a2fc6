"""The plant as a program: packets, loss and delay, and the same arm as `dy.simulate`."""

import json
import math
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime import udp
from dynamis.realtime.plant import SILENCE, Channel, Encoder, PlantServer, Stepper

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
    channel = Channel(loss, delay, jitter, seed=3)
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
        channel = Channel(0.5, 0.0, 1.0, seed)
        for k in range(50):
            channel.put(0.0, bytes([k]))
        return list(channel.ready(1.0))

    assert out(1) == out(1) != out(2)


def test_an_encoder_counts(arm):
    encoder = Encoder(arm, 0.01, 0.1)
    q, qd = encoder.read(np.array([0.118, -0.036]), np.array([9.0, 9.0]))
    assert q == pytest.approx([0.12, -0.04]) and qd == [0.0, 0.0]
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
    stepper, found = Stepper(robot, q0, 1e-3, False), []
    for row in tau:
        found.append(stepper.q.copy())
        stepper.step(row)
    np.testing.assert_allclose(found, run.q[: len(found)], rtol=0, atol=1e-13)


class Talk:
    """A plant in a thread, and a socket to talk to it."""

    def __init__(self, server):
        self.server = server
        self.link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.link.settimeout(5.0)
        self.link.connect((udp.HOST, server.port))
        self.thread = threading.Thread(target=server.run, args=(30.0,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.thread.join()
        self.link.close()

    def measured(self):
        packet = udp.unpacked(self.link.recv(2048), udp.MEASUREMENT, 4)
        assert packet is not None
        return packet


def test_brakes_hold_until_a_torque_acts_and_silence_ends_it(arm):
    server = PlantServer(arm, 0, q0=[0.3, 0.2], rate=RATE)
    with Talk(server) as talk:
        talk.link.send(udp.torque(0, 0.0, [5.0, 5.0], udp.LISTENING))
        assert all(talk.measured().values == (0.3, 0.2, 0.0, 0.0) for _ in range(10))
        assert not server.found.rows
        talk.link.send(udp.torque(1, 0.5, [0.125, 0.25], udp.RUNNING))
        end = time.monotonic() + 10.0
        while not server.found.silent and time.monotonic() < end:
            talk.measured()
    log = server.found.log
    acted = (log[:, -2:] == [0.125, 0.25]).all(axis=1)
    assert acted[0] and log[0, 1] == 0.5
    assert acted.sum() == pytest.approx(SILENCE * RATE, abs=1.5)
    assert not log[~acted][:, -2:].any() and (~acted).any()
    assert log[-1, 3] != 0.3


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
    assert server.found.received == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"loss": 1.5}, "loss is 1.5, expected a number from 0 to 1"),
        ({"jitter": -1e-3}, "jitter is -0.001"),
        ({"delay": math.nan}, "delay is nan"),
        ({"rate": 0.0}, "rate is 0.0, expected steps per second above 0"),
        ({"encoder": 0.0}, "encoder is 0.0"),
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
    time.sleep(0.2)
    plant.send_signal(signal.SIGTERM)
    out, _ = plant.communicate(timeout=20)
    assert plant.returncode == 0
    found = json.loads(out)
    assert found["steps"] > 0 and found["received"] == 0
    assert log.read_text().splitlines()[0].startswith("t,t_controller,status,q_")
