"""Parameters in motion: shares of motors, and studies that vary nothing."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy

from ..random_robots import dressed, with_links


def test_a_motor_keeps_its_share_of_a_friction_that_changes():
    robot = dy.load("puma560")
    values = np.asarray(robot.parameters.values) * 1.5
    changed = robot.with_parameters(values)
    np.testing.assert_allclose(changed.parameters.values, values, rtol=1e-14)
    for old, new in zip(robot.chain.motors, changed.chain.motors, strict=True):
        assert old.plus > 0.0
        assert new.plus == pytest.approx(1.5 * old.plus, rel=1e-14)
        assert new.minus == pytest.approx(1.5 * old.minus, rel=1e-14)
    assert all(link.friction.viscous == 0.0 for link in changed.model.links)


LOSSY = dy.Drive(gear=50.0, viscous=1e-4, coulomb=0.02, efficiency=0.8)
WORN = {"losses": (), "effects": ("springs", "loads", "by direction", "under load", "temperature")}


@pytest.mark.parametrize("worn", WORN.values(), ids=WORN)
def test_a_study_that_varies_nothing_is_the_simulation(worn):
    robot = with_links(dy.load("planar-2link"), lambda link, i: replace(link, drive=LOSSY))
    robot = dressed(robot, worn)
    law = dy.control.ComputedTorque.from_bandwidth(robot, 20.0, friction="none")
    move = dy.trajectory.quintic([0.0, 0.0], [0.4, -0.3], duration=0.2)
    run = dy.simulate(robot, 0.2, controller=law, reference=move)
    study = dy.study(
        robot, 0.2, controller=law, reference=move, samples=2, seed=0,
        vary=dy.Scatter(robot, mass=1e-13), measure=("peak_error", "peak_torque"),
    )  # fmt: skip
    for measure, wanted in (("peak_error", run.error), ("peak_torque", run.tau)):
        _, highest = study.extremes(measure)
        np.testing.assert_allclose(highest, np.abs(wanted).max(axis=0), rtol=1e-9)
