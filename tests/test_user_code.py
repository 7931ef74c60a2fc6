"""What a user writes and cannot work: the message names the line and what to write instead."""

import inspect
import math
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from dynamis.realtime import Law
from dynamis.spatial.functions import MATH
from dynamis.user_code import ELEMENTARY, INSTEAD, location

ARM = dy.load("planar-2link")

# mistakes: what is done with a vector x and the namespace fn; what the message says, and the hint
MISTAKES = {
    "if": (lambda x, fn: [1.0, 0.0] if x[0] > 0 else x, "branches on a value", r"\.select\("),
    "and": (
        lambda x, fn: [fn.select(x[0] > 0 and x[1] > 0, 1.0, 0.0), 0.0],
        "branches on a value",
        "`and`",
    ),
    "not": (lambda x, fn: [fn.select(not x[0] > 0, 1.0, 0.0), 0.0], "branches", "`not`"),
    "max": (lambda x, fn: [max(x[0], 0.0), 0.0], "branches on a value", r"\.max instead"),
    "math.sin": (lambda x, fn: [math.sin(x[0]), 0.0], "the number behind", r"\.sin\(x\) instead"),
    "math.atan2": (lambda x, fn: [math.atan2(x[0], 1.0), 0.0], "number behind", r"\.atan2\(y, x"),
    "np.clip": (lambda x, fn: [np.clip(x[0], -1, 1), 0.0], "NumPy|branches", r"\.max\(low, "),
    "np.where": (lambda x, fn: [np.where(x[0] > 0, 1, 0), 0.0], "NumPy|branches", r"\.select\("),
    "float": (lambda x, fn: [float(x[0]), 0.0], "the number behind", r"leave out float\(\)"),
    "int": (lambda x, fn: [int(x[0]), 0.0], "the number behind", r"int\(\)"),
    "dtype": (lambda x, fn: np.array(x, dtype=float), "the number behind", "dtype=float"),
    "format": (lambda x, fn: [f"{x[0]:.3f}", 0.0], "the number behind", "without a format"),
    "index": (lambda x, fn: [x[x[0]], 0.0], "counts or indexes|number behind", "symbols|plain"),
    "list": (lambda x, fn: x * 2.0, "multiplies a list by a number", r"\[2.0 \* x for x in q\]"),
    "NaN": (lambda x, fn: [math.nan * x[0], 0.0], "computes with NaN", "where the NaN comes from"),
    "by zero": (lambda x, fn: [x[0] / 0.0, 0.0], "divides by the number 0", "is zero"),
    "tan": (lambda x, fn: [fn.tan(x[0]), 0.0], r"asks for (fn|arm)\.tan", r"\.sin\(x\) / "),
    "misspelt": (lambda x, fn: [fn.sinn(x[0]), 0.0], r"asks for (fn|arm)\.sinn", "did you mean"),
    "name": (lambda x, fn: [unknown * x[0], 0.0], "raises NameError: name 'unknown'", ""),  # noqa: F821
    "index error": (lambda x, fn: [x[2], 0.0], "raises IndexError", ""),
    "nothing": (lambda x, fn: None, "None, expected", "return|one per joint|^$"),
    "text": (lambda x, fn: "no", "'no'", ""),
}


@dataclass(frozen=True)
class OwnController(dy.control.Controller):
    law: Any
    model: Any = None
    sample_time: float | None = None

    def step(self, arm, sample):
        torques = self.law(sample.q, arm)
        return torques, {}


@dataclass(frozen=True)
class OwnLoad:
    law: Any = field(metadata={"init": False}, default=None)

    def torque(self, q, qd, constants, fn):
        return self.__class__.rule(q, fn)


def controlled(mistake):
    Law(OwnController(mistake), ARM, 1e-3).program()


def loaded(mistake):
    class Mine(OwnLoad):
        rule = staticmethod(mistake)

    ARM.with_load(Mine())


def rubbing(mistake):
    @dataclass(frozen=True)
    class Mine:
        def torque(self, qd, direction, constants, fn):
            found = mistake([qd, direction], fn)
            return found if found is None or isinstance(found, str) else found[0]

    dy.Friction(law=Mine())


def compiled_function(mistake):
    dy.compile(ARM, lambda arm, q: mistake(q, arm))


KINDS = {
    "controller": controlled, "load": loaded, "friction": rubbing, "compile": compiled_function,
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_its_line_and_what_to_write(name, kind):
    mistake, says, hint = MISTAKES[name]
    with pytest.raises(DynamisError) as caught:
        KINDS[kind](mistake)
    message, _, told = str(caught.value).partition("\nhint: ")
    if name == "text" and kind == "controller":  # a text is a list of letters
        says = "'n'"
    assert re.search(says, message)
    assert re.search(hint, told)
    _, first = inspect.getsourcelines(mistake)
    line = re.search(r"test_user_code\.py, line (\d+)", message)
    assert line, message
    if name not in ("nothing", "text"):  # nothing raises there: the function itself is named
        assert first <= int(line[1]) <= first + 2
        assert "casadi" not in message and "SXElem" not in message


def test_every_replacement_is_what_it_replaces():
    x, y, low, high = 0.3, -0.7, -0.2, 0.2
    told = {
        "round": 0.0, "ceil": 1.0, "clip": 0.2, "square": x * x, "heaviside": None, "where": None,
        "piecewise": None, "maximum": x, "minimum": y, "fmax": x, "fmin": y, "max": x, "min": y,
        "absolute": x, "pow": abs(x) ** y, "power": abs(x) ** y, "sign": 1.0, "trunc": 0.0,
        "atan2": math.atan2(y, x), "arctan2": math.atan2(y, x), "hypot": math.hypot(x, y),
        "abs": x, "fabs": x,
        **{f"arc{f}": getattr(math, f"a{f}")(x) for f in ("sin", "cos", "tan")},
    }  # fmt: skip
    for name, text in INSTEAD.items():
        expected = told[name] if name in told else getattr(math, name)(x)
        if expected is not None:
            space = {"FN": MATH, "x": x, "y": y, "low": low, "high": high}
            assert eval(text, space) == pytest.approx(expected, rel=1e-14), name
    assert set(ELEMENTARY) == set(MATH._fields)


def test_attributes_and_state_that_are_not_there_are_named():
    for law, says, hint in (
        (lambda sample: sample.q_d, r"asks for \.q_d", "did you mean 'q"),
        (lambda sample: sample.state.total, r"asks for \.total", "named by `start`"),
        (lambda sample: sample.gains.kp, r"asks for \.kp", "gains by GAINS"),
    ):

        @dataclass(frozen=True)
        class Own(dy.control.Controller):
            model: Any = None
            sample_time: float | None = None

            def step(self, arm, sample, law=law):
                return law(sample), {}

        with pytest.raises(DynamisError, match=says) as caught:
            Law(Own(), ARM, 1e-3).program()
        assert hint in str(caught.value)


def test_functions_over_numbers_are_named_with_their_line():
    def short(t, q, qd):
        return q[:1]

    def undefined(t, q, qd):
        return [math.nan, 0.0]

    def two(t):
        return np.zeros(2), np.zeros(2)

    def long(t):
        return np.zeros(2), np.zeros(3), np.zeros(2)

    def nothing(run):
        pass

    def broken(run):
        return run.q[99999]

    def line(function):
        return f"test_user_code.py, line {inspect.getsourcelines(function)[1]}"

    law = dy.control.ComputedTorque(1.0, 1.0)
    vary = dy.Scatter(ARM, mass=0.05)
    for function, call, says in (
        (short, lambda f: dy.simulate(ARM, 0.01, controller=f), "returned shape (1,)"),
        (undefined, lambda f: dy.simulate(ARM, 0.01, controller=f), "returned nan at t = 0 s"),
        (two, lambda f: dy.simulate(ARM, 0.01, controller=law, reference=f), "(q, qd, qdd)"),
        (long, lambda f: dy.simulate(ARM, 0.01, controller=law, reference=f), "qd of shape (3,)"),
        (nothing, lambda f: dy.study(ARM, 0.01, samples=2, vary=vary, measure=f), "returned None"),
    ):
        with pytest.raises(DynamisError) as caught:
            call(function)
        assert line(function) in str(caught.value) and says in str(caught.value)
    with pytest.raises(DynamisError, match=r"return run.q\[99999\]") as caught:
        dy.study(ARM, 0.01, samples=2, vary=vary, measure=broken)
    assert "test_user_code.py, line" in str(caught.value)
    study = dy.study(ARM, 0.01, samples=2, vary=vary, measure=lambda run: math.nan)
    assert all("test_user_code.py, line" in reason for reason in study.failed.reasons)
    with pytest.raises(DynamisError, match=r"q\[\.\.\., 0\] is joint 1"):
        dy.simulate(ARM, 0.01, q0=np.zeros((3, 2)), controller=lambda t, q, qd: [q[0], q[1]])


def test_a_controller_may_write_into_its_sample():
    @dataclass(frozen=True)
    class Own(dy.control.Controller):
        writes: bool = False
        model: Any = None
        sample_time: float | None = None

        def start(self, arm, sample):
            return {"count": [0.0]}

        def step(self, arm, sample):
            tau = [-3.0 * x for x in sample.q]
            after = {"count": [sample.state.count[0] + 1.0]}
            if self.writes:
                sample.q[0] = 5.0
                sample.qd[0] += 1.0
                sample.state.count[0] = 7.0
                sample.reference.q[0] = 9.0
            return tau, after

    plain, written = (dy.simulate(ARM, 0.01, controller=Own(x)) for x in (False, True))
    for name, values in plain.states.items():
        np.testing.assert_array_equal(values, written.states[name])


def test_arrays_may_be_returned():
    def function(arm, q):
        return np.array([[2.0 * q[0], q[1]], [0.0, 1.0]], dtype=object)

    found = dy.compile(ARM, function)([3.0, 4.0])
    np.testing.assert_array_equal(found, [[6.0, 4.0], [0.0, 1.0]])
    rounded = dy.compile(ARM, lambda arm, q: [np.tan(q[0]), np.ceil(q[1]), arm.atan2(*q)])
    np.testing.assert_allclose(rounded([0.3, 1.2]), [np.tan(0.3), 2.0, np.arctan2(0.3, 1.2)])


def test_code_of_the_package_has_no_location():
    assert location(dy.control.ComputedTorque.step) == ""
    assert location(math.sin) == ""
