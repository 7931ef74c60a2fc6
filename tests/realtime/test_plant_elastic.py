"""Elastic arms behind a UDP port: measured on their motors, moved as `dy.simulate` moves them."""

import json
import socket

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.realtime.loop import udp
from dynamis.realtime.loop.plant import PlantServer
from tests.simulation.test_elastic import simulated, two_links

from .loops import SteppedLoop, built
from .test_loop_plant import LockStep

pytestmark = pytest.mark.usefixtures("compiled")

Q0, RATE = [0.3, 0.4], 1000.0
ARMS = {
    "backlash": lambda: two_links(2e3, 0.5, backlash=2e-3),
    "ros34pw2": lambda: two_links(1e6),
}


@pytest.mark.parametrize("side", ["motor", "link"])
@pytest.mark.parametrize("name", list(ARMS))
def test_an_elastic_arm_has_the_bits_of_simulate(name, side):
    robot, measured = ARMS[name](), []
    tau = np.random.default_rng(0).uniform(-20.0, 20.0, (100, 2))
    run = simulated(robot, 0.1, q0=Q0, torque=tau)
    server = PlantServer(robot, 0, q0=Q0, rate=RATE, side=side)
    with server.link, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.connect((udp.HOST, server.port))
        for k, row in enumerate(tau):
            link.send(udp.torque(k, k / RATE, row.tolist(), udp.RUNNING))
            server._receive(k / RATE)
            server._step(k, k / RATE)
            for data in server.measurements.ready(k / RATE):
                server._send(data)
            packet = udp.unpacked(link.recv(2048), udp.MEASUREMENT, 4)
            assert packet is not None
            measured.append(packet.values)
    seen = (run.motor, run.motor_rate) if side == "motor" else (run.q, run.qd)
    assert (np.array(measured) == np.concatenate(seen, axis=1)[:-1]).all()
    assert (server.found.log[:, 3:] == np.concatenate([run.q[:-1], run.qd[:-1], tau], 1)).all()
    assert (server.arm.q == run.q[-1]).all() and (run.motor != run.q).any()


def test_an_exported_controller_moves_an_elastic_arm(cc, tmp_path):
    """It follows with its motors; the links hang behind by what the gears bend."""
    robot = two_links(1e4, 5.0, backlash=1e-4)
    law = dy.control.ComputedTorque(kp=900.0, kd=60.0)
    motion = dy.trajectory.quintic(np.array(Q0), np.array([0.6, 0.1]), 0.5)
    program = built(cc, tmp_path, law, robot, 1e-3, reference=motion, latch=100)
    server = PlantServer(robot, 0, q0=Q0)
    loop = SteppedLoop(program, "--port", server.port, "--cycles", 700, "--json")
    server.clock = LockStep(loop)
    plant, told = server.run(), loop.told()
    assert told.returncode == 0, told.stderr
    assert not json.loads(told.stdout)["safe"] and not plant.message
    log = plant.log[plant.log[:, 2] == udp.RUNNING]
    run = simulated(robot, len(log) / RATE, q0=Q0, torque=log[:, 7:9])  # the torques that acted
    assert (run.q[:-1] == log[:, 3:5]).all() and (run.qd[:-1] == log[:, 5:7]).all()
    off = run.motor[-1] - motion(1.0).q
    assert np.abs(off).max() < 0.5 * np.abs(run.deflection[-1]).max()


def stiff_wrist(stiffness: float) -> dy.Robot:
    """A light link that rubs much, behind an elastic gear."""
    drive = dy.Drive(rotor_inertia=0.2, stiffness=stiffness, damping=0.1)
    rubbing = dy.Friction(viscous=5.0)
    link = dy.Link(inertia=(0, 0, 1e-3, 0, 0, 0), friction=rubbing, drive=drive)
    return dy.Robot.from_dh("wrist", convention="standard", gravity=(0, 0, 0), links=[link])


@pytest.mark.filterwarnings("ignore:the simulation ended early")
@pytest.mark.parametrize("stiffness", [1e2, 1e3, 1e5])
def test_friction_too_stiff_for_links_behind_gears(stiffness):
    """The rigid arm would bear it; a stiff gear takes the motor along, and bears it too."""
    robot = stiff_wrist(stiffness)
    run = simulated(robot, 0.2, q0=[0.0], qd0=[0.1])
    server = PlantServer(robot, 0, rate=RATE)
    with server.link:
        assert run.diverged == (stiffness < 1e5) == (server.substeps > 1) == bool(server.remark)
        assert not run.diverged or "viscous friction of joint 'joint1', use dt=" in run.message
        server._command(udp.Packet(udp.TORQUE, 1, 0.0, (5.0, udp.RUNNING)), None, 0.0)
        for k in range(40):  # before a silent line ends the torque
            server._step(k, k / RATE)
        fine = simulated(robot, 0.04, dt=1e-3 / server.substeps, q0=[0.0], torque=[5.0])
        assert np.abs(fine.q[-1]).max() > 1e-3 and not server.found.message
        np.testing.assert_allclose(server.arm.q, fine.q[-1], atol=1e-12)


def test_a_side_that_is_none_is_refused():
    with pytest.raises(OptionError, match=r"side is 'joint', expected .*motor"):
        PlantServer(two_links(), 0, side="joint")
