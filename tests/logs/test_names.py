"""Joints that carry the prefix of a driver, found by the end of their names; two arms refused."""

import numpy as np
import pytest

from dynamis.errors import OptionError
from dynamis.identify import read_log
from dynamis.logs.names import by_suffix

from .test_read_log import T, arrays, said, same, two_links

SPEC = {"q": "*_position", "tau": "*_effort"}


def prefixed(*names):
    """Columns of positions and efforts of joints so named, in this order."""
    data = arrays(len(names))
    out = {"t": T}
    for k, name in enumerate(names):
        out |= {f"{name}_position": data["q"][:, k], f"{name}_effort": data["tau"][:, k]}
    return out, data


@pytest.mark.parametrize(
    ("own", "theirs"),
    [("", "fer_"), ("panda_", "fr3_"), ("panda_", ""), ("", "/robot1/"), ("fr3_", "/ns/panda_")],
)
def test_a_prefix_of_the_driver_is_no_other_joint(own, theirs):
    source, data = prefixed(f"{theirs}joint2", f"{theirs}finger", f"{theirs}joint1")
    log = read_log(source, SPEC, robot=two_links(f"{own}joint1", f"{own}joint2"))
    same(log, {k: data[k][:, [2, 0]] for k in ("q", "tau")})
    said(log, f"{theirs}* is taken for {own}*", "note")
    said(log, f"left out, as the robot has none such: {theirs}finger", "note")


def test_joints_of_two_arms_are_refused_with_both():
    names = [f"{side}_joint{k}" for side in ("left", "right") for k in (1, 2)]
    source, data = prefixed(*names)
    robot = two_links("panda_joint1", "panda_joint2")
    with pytest.raises(OptionError, match="'left_joint1' and 'right_joint1': joints of 2 arms"):
        read_log(source, SPEC, robot=robot)
    log = read_log(source, SPEC, robot=robot, joints=["right_joint1", "right_joint2"])
    same(log, {"q": data["q"][:, 2:]})
    assert not [x for x in log.findings if "taken for" in x.what]
    own = read_log(source, SPEC, robot=two_links("right_joint1", "right_joint2"))
    assert np.array_equal(own.q, log.q)


@pytest.mark.parametrize(
    ("wanted", "labels"),
    [
        (("left_elbow", "left_wrist"), ("right_elbow", "right_wrist")),  # the other arm
        (("arm2_elbow", "arm2_wrist"), ("arm1_elbow", "arm1_wrist")),
        (("joint_1", "joint_2"), ("finger_1", "finger_2")),  # a number is no name
        (("pan_joint", "lift_joint"), ("roll_joint", "lift_joint")),  # not one prefix for all
        (("joint1", "joint2"), ("myjoint1", "myjoint2")),  # within a word
        (("joint1", "joint2"), ("a_joint1", "b_joint2")),
        (("joint1",), ("joint1", "left_joint1")),  # as it is spelt
        ((), ("joint1",)),
    ],
)
def test_names_that_only_look_alike(wanted, labels):
    assert by_suffix(wanted, labels, "log") is None


def test_joints_asked_for_by_name_are_not_guessed():
    source, _ = prefixed("fer_joint1", "fer_joint2")
    with pytest.raises(OptionError, match="has no joint 'joint1'"):
        read_log(source, SPEC, robot=two_links("joint1", "joint2"), joints=["joint1", "joint2"])
