"""Wrong arguments are answered by name."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.control import JointPID, MomentumObserver
from dynamis.control.sensors import Sensors
from dynamis.errors import OptionError, ShapeError, SingularError
from tests.simulation.arms import bar, pair

PID = JointPID(1.0)
ROBOT = pair()


def GOOD(t, q, qd):
    return 1.0


def late(value):
    rows = np.zeros((1000, 2))
    rows[700:, 1] = value
    return rows


def late_function(t):
    return [t, t], [1.0, 1.0], [0.0, np.inf if t > 0.6999 else 0.0]


BAD = [
    ({"q0": [0.0] * 3}, ShapeError, ["q0", "(3,)", "joint1, joint2"]),
    ({"qd0": [[0.0]]}, ShapeError, ["qd0"]),
    ({"q0": [0.0, np.nan]}, OptionError, ["q0", "nan"]),
    ({"qd0": [np.inf, 0.0]}, OptionError, ["qd0", "inf"]),
    ({"q0": "home"}, ShapeError, ["q0", "numbers"]),
    ({"q0": np.zeros((2, 2)), "qd0": np.zeros((3, 2))}, ShapeError, ["q0", "qd0"]),
    ({"parameters": [1.0]}, ShapeError, ["parameters"]),
    ({"dt": 0.0}, OptionError, ["dt is 0.0", "above 0"]),
    ({"dt": -1e-3}, OptionError, ["dt"]),
    ({"dt": "fast"}, OptionError, ["dt", "fast"]),
    ({"dt": True}, OptionError, ["dt"]),
    ({"duration": np.inf}, OptionError, ["duration"]),
    ({"duration": 0}, OptionError, ["duration"]),
    ({"dt": 2.0}, OptionError, ["dt is 2 s", "duration of 1 s"]),
    ({"integrator": "rk5"}, OptionError, ["'rk5'", "rk4"]),
    ({"integrator": None}, OptionError, ["None", "dormand-prince"]),
    ({"controller": PID, "sample_time": 1.5e-3}, OptionError, ["sample_time is 0.0015", "0.001"]),
    ({"controller": PID, "sample_time": 1e-4}, OptionError, ["sample_time"]),
    ({"controller": PID, "sample_time": 2e-3, "delay": 3e-3}, OptionError, ["delay", "0.002"]),
    ({"controller": PID, "delay": -1e-3}, OptionError, ["delay"]),
    ({"controller": PID, "delay": 4e-4}, OptionError, ["delay"]),
    (
        {"controller": PID, "delay": 1e-3, "integrator": "dormand-prince"},
        OptionError,
        ["delay", "rk4"],
    ),
    ({"controller": 3.0}, OptionError, ["controller is 3.0", "torque="]),
    ({"controller": JointPID}, OptionError, ["controller", "dy.control"]),
    ({"controller": JointPID([1.0, 2.0, 3.0])}, ShapeError, ["kp", "pair"]),
    ({"controller": lambda t, q, qd: [0.0] * 3}, ShapeError, ["controller", "(3,)", "(2,)"]),
    ({"torque": [1.0]}, ShapeError, ["torque", "(1,)", "2 numbers"]),
    ({"torque": np.zeros((7, 2))}, ShapeError, ["torque", "(7, 2)", "1000"]),
    ({"torque": np.zeros((7, 2))}, ShapeError, ["one per arm of an ensemble (arms, 1, 2)"]),
    (
        {"torque": np.zeros((7, 2)), "q0": np.zeros((7, 2))},
        ShapeError,
        ["(7, 2)", "(1000, 2)", "(7, 1, 2)", "np.asarray(torque)[:, None]"],
    ),
    (
        {"torque": np.zeros((1000, 2)), "q0": np.zeros((1000, 2))},
        ShapeError,
        ["one per step and one per arm", "np.asarray(torque)[None]", "np.asarray(torque)[:, None]"],
    ),
    ({"torque": np.zeros((7, 3, 2))}, ShapeError, ["(7, 3, 2)", "(arms, 1, 2)", "sim.step"]),
    ({"torque": np.zeros((7, 1, 3))}, ShapeError, ["(7, 1, 3)", "(arms, 1, 2)"]),
    (
        {"torque": np.zeros((7, 1, 2)), "q0": np.zeros((3, 2))},
        ShapeError,
        ["q0: (3,)", "torque: (7,)"],
    ),
    ({"torque": [[[0.0, np.nan]]]}, OptionError, ["torque holds nan"]),
    ({"torque": lambda t: [t]}, ShapeError, ["torque(0)", "(1,)"]),
    ({"torque": "much"}, ShapeError, ["torque", "much"]),
    ({"external": [1.0] * 3}, ShapeError, ["external"]),
    ({"wrench": [1.0, 2.0]}, ShapeError, ["wrench", "6 numbers"]),
    ({"link_forces": [1.0] * 6}, ShapeError, ["link_forces", "(6,)", "2 x 6 numbers"]),
    ({"link_forces": np.zeros((7, 2, 6))}, ShapeError, ["link_forces", "(7, 2, 6)", "1000"]),
    ({"link_forces": lambda t: [t] * 6}, ShapeError, ["link_forces(0)", "(2, 6)"]),
    ({"link_forces": [[np.nan] * 6] * 2}, OptionError, ["link_forces holds nan"]),
    ({"controller": PID, "reference": [0.0]}, ShapeError, ["reference", "(1,)"]),
    ({"controller": PID, "reference": "there"}, OptionError, ["reference", "there"]),
    ({"controller": PID, "reference": lambda t: [0.0, 0.0]}, OptionError, ["(q, qd, qdd)"]),
    (
        {"controller": PID, "reference": dy.trajectory.quintic([0] * 3, [1] * 3, 1.0)},
        ShapeError,
        ["3 joints", "has 2"],
    ),
    ({"controller": PID, "q0": [[0.0, 0.0], [1.0, 1.0]]}, OptionError, ["reference"]),
    ({"observer": PID}, OptionError, ["observer", "MomentumObserver"]),
    ({"observer": MomentumObserver}, OptionError, ["observer"]),
    ({"sensors": "encoder"}, OptionError, ["sensors", "Sensors"]),
    ({"sensors": Sensors(encoder=[1e-3] * 3)}, ShapeError, ["encoder"]),
    ({"sensors": Sensors(torque_noise=-1.0)}, OptionError, ["torque_noise"]),
    ({"sensors": Sensors(position_noise=[1.0])}, ShapeError, ["position_noise"]),
    ({"restitution": 1.5}, OptionError, ["restitution is 1.5"]),
    ({"save_every": 0}, OptionError, ["save_every is 0"]),
    ({"save_every": 2.5}, OptionError, ["save_every"]),
    ({"events": 5}, OptionError, ["events", "5"]),
    ({"events": [5]}, OptionError, ["events", "5"]),
    ({"events": lambda t, q, qd: q}, ShapeError, ["(2,)", "a number"]),
    ({"events": lambda t, q, qd: t, "q0": np.zeros((2, 2))}, OptionError, ["events"]),
    ({"tolerance": 0.0}, OptionError, ["tolerance"]),
    ({"threads": 0}, OptionError, ["threads"]),
    ({"duration": 1e9, "dt": 0.1}, OptionError, ["GB", "save_every"]),
    ({"duration": 1e9, "dt": 0.1, "events": GOOD}, OptionError, ["GB", "events"]),
    ({"stops": "yes"}, OptionError, ["stops is 'yes'", "True or False"]),
    ({"drives": 1}, OptionError, ["drives is 1", "True or False"]),
    ({"progress": "bar"}, OptionError, ["progress is 'bar'"]),
    ({"integrator": ["rk4"]}, OptionError, ["['rk4']"]),
    ({"sensors": np.zeros(2)}, OptionError, ["sensors"]),
    # functions that take or give the wrong things
    ({"controller": lambda t: [0.0] * 2}, OptionError, ["controller", "(t)", "(t, q, qd)"]),
    ({"torque": lambda t, q: [0.0] * 2}, OptionError, ["torque", "(t, q)", "function(t)"]),
    ({"controller": PID, "reference": lambda: 0}, OptionError, ["reference", "function(t)"]),
    ({"events": lambda q: 0.0}, OptionError, ["event", "(q)", "(t, q, qd)"]),
    ({"controller": lambda t, q, qd: "much"}, OptionError, ["controller", "t = 0", "'much'"]),
    ({"controller": lambda t, q, qd: None}, OptionError, ["controller", "t = 0", "None"]),
    (
        {"controller": lambda t, q, qd: None, "integrator": "dormand-prince"},
        OptionError,
        ["controller", "None"],
    ),
    ({"torque": lambda t: None}, OptionError, ["torque(0)", "None"]),
    ({"torque": lambda t: {}}, OptionError, ["torque(0)", "{}"]),
    ({"controller": PID, "reference": lambda t: [None] * 3}, OptionError, ["reference", "None"]),
    ({"events": lambda t, q, qd: "soon"}, OptionError, ["event 1", "soon"]),
    ({"events": [GOOD, lambda t, q, qd: None]}, OptionError, ["event 2", "None"]),
    # numbers that are none
    ({"torque": [0.0, np.nan]}, OptionError, ["torque holds nan at t = 0 s"]),
    ({"external": [np.inf, 0.0]}, OptionError, ["external holds inf"]),
    ({"wrench": [np.nan] * 6}, OptionError, ["wrench holds nan"]),
    ({"torque": lambda t: [np.log(0.5 - t), 0.0]}, OptionError, ["torque", "t = 0.5 s"]),
    ({"torque": late(np.nan)}, OptionError, ["torque holds nan at t = 0.7 s"]),
    ({"controller": PID, "reference": [0.0, np.nan]}, OptionError, ["reference holds nan"]),
    ({"controller": PID, "reference": late_function}, OptionError, ["reference", "t = 0.7 s"]),
    ({"controller": JointPID(np.inf)}, OptionError, ["kp holds inf"]),
    ({"controller": JointPID(np.nan)}, OptionError, ["kp is nan"]),
    ({"observer": MomentumObserver(np.inf)}, OptionError, ["gain holds inf"]),
    ({"sensors": Sensors(position_noise=np.inf)}, OptionError, ["position_noise holds inf"]),
    *(
        (
            {"controller": lambda t, q, qd: [0.0, np.nan if t > 0.01 else 0.0], **way},
            OptionError,
            ["bad_calls.py, line", "returned nan at t = 0.01"],
        )
        for way in ({}, {"sample_time": 1e-3}, {"integrator": "dormand-prince"})
    ),
]


@pytest.mark.parametrize("options, error, words", BAD)
def test_refused_by_name(options, error, words):
    with pytest.raises(error) as found, np.errstate(all="ignore"):
        dy.simulate(ROBOT, **options)
    for word in words:
        assert word in str(found.value)


HUGE = [
    {"save_every": 2**64 + 1},
    {"save_every": 2**63},
    {"save_every": np.uint64(2**63 + 1)},
    {"save_every": 10**5000},
    {"threads": 2**64 + 1},
    {"threads": 10**5000},
    {"sample_time": 1e300},
    {"sample_time": 2**64 * 1e-3},
    {"duration": 1e300, "save_every": 2**53},
    {"duration": 1.0, "dt": 5e-324},
    {"sensors_seed": 10**5000},
]


@pytest.mark.parametrize("options", HUGE, ids="-".join)
def test_numbers_that_machine_code_cannot_count_are_refused(options):
    options = {"duration": 0.05, **options}
    with pytest.raises(dy.errors.OptionError, match=r"whole number|can be counted"):
        if "sensors_seed" in options:
            options["sensors"] = Sensors(seed=options.pop("sensors_seed"))
        dy.simulate(ROBOT, **options)


@given(st.integers(min_value=1, max_value=2**31 - 1))
@settings(deadline=None, max_examples=30)
def test_any_interval_that_is_accepted_keeps_first_and_last(save_every):
    run = dy.simulate(ROBOT, 0.005, save_every=save_every)
    assert run.t[0] == 0.0 and run.t[-1] == 0.005
    assert len(run.t) == len({*range(0, 6, save_every), 5})


SENSORS = [
    ({"velocity": "guess"}, ["'guess'", "difference"]),
    ({"encoder": 1e-3, "velocity_filter": 0.0}, ["velocity_filter"]),
    ({"velocity_filter": 20.0}, ["velocity_filter", "exact"]),
    ({"resolution": 1}, ["resolution"]),
    ({"seed": "x"}, ["seed is 'x'", "whole number"]),
    ({"seed": -1}, ["seed is -1"]),
    ({"seed": 1.5}, ["seed is 1.5"]),
]


@pytest.mark.parametrize("options, words", SENSORS)
def test_sensors_refuse(options, words):
    with pytest.raises(dy.errors.DynamisError) as found:
        Sensors(**options)
    for word in words:
        assert word in str(found.value)


def test_a_start_beyond_a_stop_is_refused():
    robot = pair(bar(limits=(-1.0, 0.5)), bar())
    with pytest.raises(OptionError, match=r"(?s)'joint1' starts at 0.6.*-1 and 0.5"):
        dy.simulate(robot, q0=[0.6, 0.0], stops=True)
    with pytest.raises(OptionError, match=r"'joint1' starts at -1.2"):
        dy.simulate(robot, q0=[[0.0, 0.0], [-1.2, 0.0]], stops=True)
    dy.simulate(robot, 0.01, q0=[0.6, 0.0])


def test_a_joint_without_inertia_is_named():
    with pytest.raises(SingularError, match="joint"):
        dy.simulate(dy.load("sixr"), 0.01)


def test_a_reference_may_be_one_array():
    ways = [lambda t: ([t, 0], [1, 0], [0, 0]), lambda t: np.array([[t, 0], [1, 0], [0, 0]])]
    first, second = (dy.simulate(ROBOT, 0.01, controller=PID, reference=way) for way in ways)
    np.testing.assert_array_equal(first.q, second.q)
    np.testing.assert_array_equal(second.reference.qd[:, 0], 1.0)


def test_something_that_is_no_robot():
    with pytest.raises(OptionError, match=r"(?s)'puma560'.*dy\.load"):
        dy.simulate("puma560")
