"""Frequency responses of elastic joints: exact for two masses, measured ones beside them."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.elastic.response import OUTPUTS, frequency_response
from tests.thorough import thorough_but

from .test_elastic import DAMPING, TONES, B, K, M, counted, drive, moved, two_links, two_masses

pytestmark = pytest.mark.usefixtures("compiled")
MOTOR, LINK = 0.5, 0.2  # viscous friction of `two_masses`
HOW = {"elastic": "auto", "held_out": False, "estimator": "weighted", "friction": "symmetric"}


@pytest.fixture(scope="module")
def one(compiled):
    arm = two_masses()
    return dy.identify(arm, counted(moved(arm)), **HOW)


@pytest.fixture(scope="module")
def two(compiled):
    arm = two_links([drive(100, 0.2, 4000.0, 2.0), drive(80, 0.1, 1500.0, 0.5)])
    options = {"amplitude": (3.0, 1.0), "hold": (30.0, 8.0), "damp": 0.1, "duration": 12.0}
    return dy.identify(arm, counted(moved(arm, **options)), **HOW)


def exact(f, drive, inertia, viscous):
    """Velocity of the motor and deflection per torque of two masses."""
    s = 2j * np.pi * f
    gear = drive.stiffness + drive.damping * s
    motor = drive.rotor_inertia * s**2 + drive.viscous * s + gear
    link = inertia * s**2 + viscous * s + gear
    theta = link / (motor * link - gear**2)
    return s * theta, theta - theta * gear / link


def test_the_model_of_two_masses_is_the_exact_one(one):
    found = frequency_response(one)
    (joint,) = found.joints
    own = one.robot.model.links[0]
    inertia = one.values[one.unknowns.kinds.index("body")]
    formulas = exact(joint.f, own.drive, inertia, float(own.friction.viscous))
    for output, response in zip(OUTPUTS, formulas, strict=True):
        np.testing.assert_allclose(joint.model[output], response, rtol=1e-9)
    truth = dy.Drive(rotor_inertia=B, viscous=MOTOR, stiffness=K, damping=DAMPING)
    for output, response in zip(OUTPUTS, exact(joint.f, truth, M, LINK), strict=True):
        ratio = np.abs(joint.model[output] / response)
        assert np.median(ratio) == pytest.approx(1.0, abs=0.02)


def test_modes_are_those_of_two_masses(one):
    modes = frequency_response(one).modes
    assert modes.free[0] == pytest.approx(math.sqrt(K * (1 / B + 1 / M)) / (2 * math.pi), rel=0.01)
    assert modes.locked[0] == pytest.approx(math.sqrt(K / M) / (2 * math.pi), rel=0.01)


@pytest.mark.parametrize("name", thorough_but(("one",), ["one", "two"]))
def test_measured_responses_lie_on_the_model(name, request):
    """At the tones of the torque, 12 a joint; Coulomb friction bends slow velocities."""
    found = frequency_response(request.getfixturevalue(name))
    assert len(found.joints) == {"one": 1, "two": 2}[name]
    for joint in found.joints:
        for output, within in (("velocity", 0.4), ("deflection", 0.25)):
            seen = joint.seen(output)
            assert seen.sum() > TONES and not seen.all()
            ratio = np.abs(joint.measured[output] / joint.model[output])[seen]
            assert np.median(ratio) == pytest.approx(1.0, abs=0.05)
            assert (np.abs(ratio - 1.0) < within).mean() > 0.85
            fast = seen & (joint.f > 8.0)
            turned = np.angle(joint.measured[output] / joint.model[output])[fast]
            assert np.median(np.abs(turned)) < 0.15  # rad


def test_a_wrong_stiffness_shows(one):
    """The measured peak stays where it is, that of the model moves."""
    joints = replace(one.elastic.joints[0], stiffness=2.0 * K)
    wrong = replace(one, elastic=replace(one.elastic, joints=(joints,)))
    (joint,) = frequency_response(wrong).joints
    seen = joint.seen("deflection")
    ratio = np.abs(joint.measured["deflection"] / joint.model["deflection"])[seen]
    assert np.median(ratio) > 1.5


def test_what_has_no_response_is_refused(one):
    with pytest.raises(OptionError, match="no elastic joints"):
        frequency_response(replace(one, elastic=None))
    short = one.recorded[0].window(1.0, 1.2)
    with pytest.raises(OptionError, match="expected 320 or more"):
        frequency_response(replace(one, recorded=(short,)))
