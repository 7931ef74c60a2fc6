"""Parameters by name: one spelling, the others understood."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.slotine_li import adapted
from dynamis.errors import OptionError
from dynamis.model.parameters import labels


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("link2.Izz", "link2.Izz"),
        ("Izz2", "link2.Izz"),
        ("ZZ2", "link2.Izz"),
        ("link1.mass", "link1.m"),
        ("m1", "link1.m"),
        ("M1", "link1.m"),
        ("joint2.coulomb+", "joint2.coulomb+"),
        ("joint2.coulomb_plus", "joint2.coulomb+"),
        ("coulomb_minus1", "joint1.coulomb-"),
        ("FS_plus2", "joint2.coulomb+"),
    ],
)
def test_every_spelling_is_understood(given, name):
    arm = dy.load("planar-2link")
    own = arm.parameters
    assert own.index(given) == own.names.index(name)
    assert own[given] == own.values[own.names.index(name)]
    changed = arm.with_parameters({given: 2.5}).parameters
    assert changed.names[(changed.values != own.values).argmax()] == name
    assert changed[name] == 2.5 and (changed.values != own.values).sum() == 1
    assert adapted(own.names, [given]) == [x == name for x in own.names]


def test_links_with_names_have_them_in_brackets():
    own = dy.load("ur10e").parameters
    names = [x for x in labels(own.names, "plain") if x.startswith("Izz")]
    assert own.index(names[2]) == own.names.index(names[2][4:-1] + ".Izz")
    assert list(own) == list(own.names)


@pytest.mark.parametrize("given", ["link1.mcq", "link9.m", "mass", 3, ["m1"]])
def test_what_is_no_parameter_is_refused_with_the_closest(given):
    arm = dy.load("planar-2link")
    for ask in (arm.parameters.index, lambda x: adapted(arm.parameters.names, [x])):
        with pytest.raises(OptionError) as caught:
            ask(given)
        assert "link1." in str(caught.value.hint) or "did you mean" in str(caught.value.hint)
    with pytest.raises(OptionError, match=r"did you mean 'link1\.mcx'"):
        arm.with_parameters({"link1.mcxx": 1.0})
    with pytest.raises(OptionError, match=r"values\['link1.m'\] is 'x', expected a finite number"):
        arm.with_parameters({"link1.m": "x"})
    with pytest.raises(OptionError, match="finite"):
        arm.with_parameters({"link1.m": np.nan})


def test_coulomb_friction_of_both_directions():
    robot = dy.load("planar-2link").with_parameters({"joint1.coulomb": 3.0})
    assert robot.parameters["joint1.coulomb+"] == 3.0
    assert robot.parameters["joint1.coulomb-"] == -3.0
    for speed in (2.0, -2.0):
        assert robot.friction_torque([speed, 0.0])[0] == np.sign(speed) * 3.0
