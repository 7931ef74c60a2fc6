"""Accelerations and reactions of runs, their figures by joint, and how they are shown."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import OptionError
from dynamis.plots import plot_reactions
from dynamis.robot.joint_reactions import JointReactions

from ..closed_mechanisms import five_bar
from ..elastic_arms import elastic
from ..random_robots import close, with_links
from .arms import pair, slider, spinner

WRENCH = (3.0, -2.0, 1.0, 0.1, 0.2, -0.3)


def rates(run, of):
    """Central differences over time of a quantity."""
    return np.gradient(of, run.t, axis=0)[1:-1]


def axes(w):
    return w[..., 5]


def test_accelerations_are_those_of_the_equation_of_motion():
    """With friction as it acted, forces of all kinds and parameters of its own."""
    rubs = dy.Friction(viscous=0.5, coulomb=2.0)
    robot = with_links(dy.load("puma560"), lambda x, i: replace(x, friction=rubs))
    frictionless = with_links(
        robot,
        lambda x, i: replace(
            x, friction=dy.Friction(), drive=replace(x.drive, viscous=0.0, coulomb=(0.0, 0.0))
        ),
    )
    forces = np.random.default_rng(0).normal(size=(6, 6))
    external = np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.1])

    def pushing(t):
        return np.sin(t) * np.array(WRENCH)

    run = dy.simulate(
        robot, 0.3, dt=2e-3, qd0=np.full(6, 0.4), wrench=pushing, external=external,
        torque=np.full(6, 5.0), link_forces=forces,
    )  # fmt: skip
    pushed = {"wrench": [pushing(t) for t in run.t], "link_forces": forces}
    tau = run.tau + external - run.friction
    expected = frictionless.forward_dynamics(run.q, run.qd, tau, **pushed)
    close(run.qdd, expected, 1e-9)
    close(run.reactions.values, robot.joint_reactions(run.q, run.qd, expected, **pushed), 1e-9)
    assert not run.qdd[run.stuck].any() and run.stuck.any()


def test_elastic_joints_carry_what_their_gears_transmit():
    run = dy.simulate(elastic(pair()), 0.3, dt=2e-4, q0=[0.3, 0.1], torque=[40.0, 20.0])
    close(run.qdd[1:-1], rates(run, run.qd), 1e-3)
    carried = axes(run.reactions.values) + run.friction
    close(carried, run.transmitted, 1e-9, size=np.abs(run.transmitted).max())


def test_gears_that_lose_power():
    drive = dy.Drive(gear=50.0, rotor_inertia=1e-4, efficiency=0.7)
    run = dy.simulate(spinner(drive=drive), 0.5, dt=1e-3, torque=[4.0])
    close(run.qdd[:, 0], np.full(501, run.qd[-1, 0] / 0.5), 1e-9)
    close(axes(run.reactions.values)[:, 0], 0.5 * run.qdd[:, 0])


def test_closed_mechanisms_and_stages():
    """Under a function of Python, which is asked at every stage."""
    robot = five_bar()
    run = dy.simulate(robot, 0.2, dt=5e-4, controller=lambda t, q, qd: -2.0 * q - 0.2 * qd)
    close(run.qdd[1:-1], rates(run, run.qd), 1e-4, size=np.abs(run.qdd).max())
    close(run.reactions.values, robot.joint_reactions(run.q, run.qd, run.qdd))


def test_a_motion_by_hand():
    """A mass on a rail that is pushed evenly: F = m (g + a) along it, nothing else."""
    run = dy.simulate(slider(gravity=10.0), 1.0, dt=0.01, torque=[26.0])
    found = run.reactions
    close(found.values, np.broadcast_to([0, 0, 26.0, 0, 0, 0], (101, 1, 6)))
    close(found.by_axis, np.broadcast_to([26.0, 0, 0, 0], (101, 1, 4)))
    close(found.largest, [[0, 0, 26.0, 0, 0, 0]])
    assert "26" in str(found) and "axial (N)" in found._repr_html_()


def test_largest_rms_and_parts_by_the_axis():
    """RMS over time, whatever the instants; axis of a URDF joint anywhere."""
    link = dy.Link(mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1), axis=(0, 1, 0))
    robot = dy.Robot.from_dh("u", convention="urdf", links=[link])
    t = np.array([0.0, 1.0, 4.0])
    values = np.zeros((3, 1, 6))
    values[:, 0] = [[3, -2, 4, 1, 7, 0], [3, -2, 4, 1, 7, 0], [0, 0, 0, 0, 0, 0]]
    found = JointReactions(robot, t, values)
    close(found.largest, [[3, 2, 4, 1, 7, 0]])
    close(found.rms**2, np.square([[3, 2, 4, 1, 7, 0]]) * (1.0 + 1.5) / 4.0)
    close(found.by_axis[0], [[-2, 5, 1, 7]])
    close(found.largest_by_axis, [[2, 5, 1, 7]])
    close(found.rms_by_axis**2, np.square([[2, 5, 1, 7]]) * 2.5 / 4.0)
    close(np.asarray(found), values)


def test_copies_keep_them_and_ensembles_have_none():
    run = dy.simulate(pair(), 0.1, dt=0.01, wrench=lambda t: np.array(WRENCH) * t)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(again.reactions.values, run.reactions.values)
    many = dy.simulate(pair(), 0.1, dt=0.01, q0=np.zeros((3, 2)))
    with pytest.raises(OptionError, match="of an ensemble are not kept"):
        _ = many.reactions


def test_adaptive_steps_and_rows_apart():
    for options in ({"integrator": "dormand-prince"}, {"save_every": 5}):
        run = dy.simulate(pair(), 0.5, dt=2e-3, q0=[0.3, 0.2], **options)
        close(run.qdd, pair().forward_dynamics(run.q, run.qd, np.zeros(2)), 1e-9)


def test_a_picture_a_page_and_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run = dy.simulate(pair(), 0.1, dt=0.01)
    figure = run.reactions.plot("joint2", path="some.png")
    assert len(figure.axes) == 2 and len(plot_reactions(run.reactions).axes) == 4
    for axes_, part in zip(figure.axes, (slice(0, 3), slice(3, 6)), strict=True):
        drawn = np.array([line.get_ydata() for line in axes_.lines[1:]]).T
        close(drawn, run.reactions.values[:, 1, part])
    with pytest.raises(OptionError, match="joints has 'joint3'"):
        run.reactions.plot("joint3")
    page = run.reactions.report("reactions.html").read_text()
    assert "tilting (N m)" in page and "<svg" in page and "joint2" in page
    assert main(["simulate", "planar-rr", "--duration", "0.1", "--reactions", "arm.html"]) == 0
    assert "Joint reactions of planar-rr" in (tmp_path / "arm.html").read_text()
    assert "arm.html" in capsys.readouterr().err
