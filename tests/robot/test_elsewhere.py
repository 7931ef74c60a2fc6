"""Names of other libraries lead to ours."""

import copy
import pickle

import pytest

import dynamis as dy
from dynamis.robot.calls import OTHERS, TOOLBOX
from dynamis.rtb import NAMES


@pytest.fixture(scope="module")
def arm():
    return dy.load("planar-rr")


@pytest.mark.parametrize("name", [*TOOLBOX, *OTHERS])
def test_a_name_from_elsewhere_is_translated(name, arm):
    ours = (TOOLBOX | OTHERS)[name]
    with pytest.raises(AttributeError, match=f"Robot has no '{name}'; dynamis calls it ") as error:
        getattr(arm, name)
    assert ours in str(error.value)
    owner, word = (dy, ours.removeprefix("dy.")) if ours.startswith("dy.") else (arm, ours)
    assert hasattr(owner, word.partition("(")[0])


def test_the_toolbox_names_are_those_of_course_code(arm):
    assert set(TOOLBOX) <= set(NAMES)
    with pytest.raises(AttributeError, match=r"from dynamis\.rtb import rne for course code"):
        arm.rne([0, 0], [0, 0], [0, 0])


def test_a_slip_is_corrected(arm):
    with pytest.raises(AttributeError, match="did you mean 'mass_matrix'"):
        _ = arm.mass_matrx
    with pytest.raises(AttributeError, match="object has no attribute '_nothing'"):
        _ = arm._nothing
    assert copy.deepcopy(arm) == pickle.loads(pickle.dumps(arm)) == arm


def test_a_property_that_fails_keeps_its_reason():
    class Broken(dy.Robot):
        @property
        def name(self):
            return self.model.no_such_field

    with pytest.raises(AttributeError, match="no_such_field"):
        _ = Broken(dy.load("planar-rr").model).name


@pytest.mark.parametrize(
    ("name", "ours"), [("PD", "JointPID"), ("Computedtorque", "ComputedTorque")]
)
def test_a_controller_that_is_not_there(name, ours):
    with pytest.raises(AttributeError, match=f"no '{name}'; did you mean '{ours}'"):
        getattr(dy.control, name)
