"""Code of the user's that changes between two calls: the second gives the new numbers.

Every way in which a function changes (a row of WAYS) is tried on every place that takes one (a row
of USES): the second result differs from the first by the factor that changed, whatever was traced,
compiled or kept for the first. A checkpoint of other code is refused.
"""

import copy
import functools
import operator
import re
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.control import (
    ComputedTorque,
    Controller,
    ControlLoop,
    JointPID,
    MomentumObserver,
)
from dynamis.control.controller import Compensating
from dynamis.control.law import Law as WholeLaw
from dynamis.digest import _defined, as_defined, keep_definitions
from dynamis.errors import OptionError
from dynamis.trajectory import Trajectory
from tests.control.blocks import LAWS
from tests.simulation.arms import bar, pair

Q0 = np.array([0.3, 0.2])
BEFORE, AFTER = 1.0, 2.0


@pytest.fixture(scope="module")
def arm():
    return pair(bar(), bar(), gravity=(0.0, 0.0, 0.0))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAMIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")


# ways in which what a function computes changes: each gives the function, and what changes it

NUMBER = BEFORE
NUMBERS = np.array([BEFORE])
PICK = min
helpers = types.ModuleType("helpers")


class Scale:
    """A class whose attribute and method are patched."""

    size = BEFORE

    def factor(self):
        return self.size


SCALE = Scale()


@dataclass(frozen=True)
class Held:
    factor: float = BEFORE

    def __call__(self):
        return self.factor


def _global():
    def factor():
        return NUMBER

    return factor, lambda: globals().update(NUMBER=AFTER)


def _array():
    def factor():
        return NUMBERS[0]

    return factor, lambda: NUMBERS.__setitem__(0, AFTER)


def _closure():
    number = BEFORE

    def factor():
        return number

    def edit():
        nonlocal number
        number = AFTER

    return factor, edit


def _mutable_default():
    def factor(box=[BEFORE]):  # noqa: B006
        return box[0]

    return factor, lambda: factor.__defaults__[0].__setitem__(0, AFTER)


def _default():
    def factor(number=BEFORE, *, more=0.0):
        return number + more

    return factor, lambda: factor.__kwdefaults__.update(more=AFTER - BEFORE)


def _class_attribute():
    def factor():
        return SCALE.factor()

    return factor, lambda: setattr(Scale, "size", AFTER)


def _method():
    def factor():
        return SCALE.factor()

    return factor, lambda: setattr(Scale, "factor", lambda self: AFTER)


def _helper():
    def factor():
        return helpers.factor()

    helpers.factor = lambda: BEFORE
    return factor, lambda: setattr(helpers, "factor", lambda: AFTER)


def _partial():
    box = [BEFORE]
    return functools.partial(operator.getitem, box, 0), lambda: box.__setitem__(0, AFTER)


def _c_function():
    return lambda: PICK(BEFORE, AFTER), lambda: globals().update(PICK=max)


def _field():
    held = Held()
    return held, lambda: object.__setattr__(held, "factor", AFTER)


def _code():
    def factor():
        return BEFORE

    return factor, lambda: setattr(factor, "__code__", (lambda: AFTER).__code__)


WAYS: dict[str, Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]] = {
    "a global": _global,
    "an array edited in place": _array,
    "a closure": _closure,
    "a mutable default": _mutable_default,
    "a default": _default,
    "an attribute of a class": _class_attribute,
    "a method": _method,
    "a helper in another module": _helper,
    "a partial": _partial,
    "a C function": _c_function,
    "a field": _field,
    "code": _code,
}


@pytest.fixture(params=WAYS)
def way(request):
    """A function that gives BEFORE, and a function after which it gives AFTER."""
    kept = dict(vars(Scale))
    yield WAYS[request.param]()
    globals().update(NUMBER=BEFORE, PICK=min)
    NUMBERS[0] = BEFORE
    Scale.size, Scale.factor = kept["size"], kept["factor"]


# places that take a function of the user's: each gives a number that is the factor times another


@dataclass(frozen=True)
class Law(Controller):
    factor: Any
    model: Any = None
    sample_time: float | None = None

    def step(self, arm, sample):
        return [self.factor() * x for x in sample.q], {}


@dataclass(frozen=True)
class Start(Controller):
    """Its state before the first sample changes, and the numbers it computes with."""

    factor: Any
    model: Any = None
    sample_time: float | None = None

    def gains(self, robot):
        return {"size": [self.factor() * 0.5]}

    def start(self, arm, sample):
        return {"size": [self.factor() * 0.5 * arm.n]}

    def step(self, arm, sample):
        (size,), (gain,) = sample.state.size, sample.gains.size
        return [(size + gain) * x for x in sample.q], {"size": [size]}


@dataclass(frozen=True)
class Watch(MomentumObserver):
    factor: Any = None

    def step(self, arm, sample):
        return [self.factor() * x for x in sample.q], super().step(arm, sample)[1]


@dataclass(frozen=True, kw_only=True)
class Eyes(dy.Sensors):
    factor: Any = None

    def read(self, *given):
        found = super().read(*given)
        return {**found, "measured_q": [self.factor() * x for x in found["measured_q"]]}


def spring(factor):
    @dataclass(frozen=True)
    class Own:
        def torque(self, q, qd, constants, fn):
            return [factor() * x for x in q]

    return Own()


def grease(factor):
    @dataclass(frozen=True)
    class Own:
        def torque(self, qd, direction, constants, fn):
            return factor() * qd

    return Own()


class Place(Trajectory):
    n, duration = 2, 1.0

    def __init__(self, factor):
        self.factor = factor

    def at(self, t, fn=None):
        still = [0.0 * t, 0.0 * t]
        return [self.factor() * x + 0.0 * t for x in Q0], still, still


def of_torque(**options):
    """First torque of a simulation whose options hold the function."""

    def use(arm, factor, tmp_path):
        given = {"q0": Q0, **{name: made(factor) for name, made in options.items()}}
        return lambda: dy.simulate(arm, 2e-3, **given).tau[..., 0, :]

    return use


def stepping(made, **options):
    """The same of one simulator that is reset."""

    def use(arm, factor, tmp_path):
        sim = dy.Simulator(arm, controller=made(factor), **options)

        def torque():
            sim.reset(Q0)
            return sim.run(2e-3).tau[0]

        return torque

    return use


def stepping_members(arm, factor, tmp_path):
    """One simulator, first of one arm and then of several."""
    sim, starts = dy.Simulator(arm, controller=Law(factor)), iter([Q0, np.array([Q0, Q0])])

    def torque():
        sim.reset(next(starts))
        return sim.run(2e-3).tau.reshape(-1, 3, 2)[-1, 0]

    return torque


def watching(arm, factor, tmp_path):
    watch = Watch(50.0, factor=factor)
    return lambda: dy.simulate(arm, 2e-3, q0=Q0, observer=watch).observed[0]


def compiled(arm, factor, tmp_path):
    def own(arm, q):
        return [factor() * x for x in q]

    return lambda: dy.compile(arm, own)(Q0)


def loaded(arm, factor, tmp_path):
    return lambda: arm.with_load(spring(factor)).inverse_dynamics(Q0, 0 * Q0, 0 * Q0)


def loaded_in_motion(arm, factor, tmp_path):
    def acceleration():
        return dy.simulate(arm.with_load(spring(factor)), 2e-3, q0=Q0).qd[1]

    return acceleration


def rubbing(arm, factor, tmp_path):
    def torque():
        robot = pair(*(bar(friction=dy.Friction(law=grease(factor))) for _ in Q0))
        return robot.friction_torque(Q0)

    return torque


def by_loop(arm, factor, tmp_path):
    loop = ControlLoop(Law(factor), arm, 1e-3)
    return lambda: loop.step(0.0, Q0, 0 * Q0)


USES = {
    "simulate": of_torque(controller=Law),
    "simulate, start and gains": of_torque(controller=Start),
    "simulate, steps of any length": of_torque(
        controller=Law, integrator=lambda _: "dormand-prince"
    ),
    "simulate, many arms": of_torque(controller=Law, q0=lambda _: np.array([Q0, Q0])),
    "simulate, sensors": of_torque(
        controller=lambda _: JointPID(1.0, 0.0, 0.0),
        reference=lambda _: 0.0 * Q0,
        sensors=lambda f: Eyes(factor=f),
    ),
    "simulate, a function": of_torque(controller=lambda f: lambda t, q, qd: f() * q),
    "simulate, a function as torque": of_torque(torque=lambda f: lambda t: f() * Q0),
    "simulate, a function as reference": of_torque(
        controller=lambda _: JointPID(1.0, 0.0, 0.0),
        q0=lambda _: 0.0 * Q0,
        reference=lambda f: lambda t: (f() * Q0, 0 * Q0, 0 * Q0),
    ),
    "simulate, a trajectory": of_torque(
        controller=lambda _: JointPID(1.0, 0.0, 0.0), q0=lambda _: 0.0 * Q0, reference=Place
    ),
    "simulate, an observer": watching,
    "Simulator": stepping(Law),
    "Simulator, start and gains": stepping(Start),
    "Simulator, steps of any length": stepping(Law, integrator="dormand-prince"),
    "Simulator, other arms": stepping_members,
    "compile": compiled,
    "with_load": loaded,
    "with_load, simulate": loaded_in_motion,
    "Friction(law=)": rubbing,
    "ControlLoop": by_loop,
}


def watched_by_simulator(arm, gains):
    watch = MomentumObserver(gains)
    return dy.Simulator(arm, observer=watch, external=Q0), lambda run: run.observed[1]


def driven_by_simulator(arm, gains):
    law = JointPID(gains, 0.0, 0.0)
    return dy.Simulator(arm, controller=law, reference=0 * Q0), lambda run: run.tau[0]


def driven_by_law(arm, gains):
    law = WholeLaw(JointPID(gains, 0.0, 0.0), arm, 1e-3)
    return dy.Simulator(arm, controller=law, reference=0 * Q0), lambda run: run.tau[0]


@pytest.mark.parametrize("made", [driven_by_simulator, driven_by_law, watched_by_simulator])
def test_a_reset_takes_arrays_of_gains_as_they_are_now(arm, made):
    gains = np.array([BEFORE, BEFORE])
    sim, number = made(arm, gains)
    found = []
    for _ in range(3):
        sim.reset(Q0, Q0)
        found.append(number(sim.run(2e-3)))
        gains[:] = AFTER
    assert np.abs(found[0]).max() > 1e-9
    np.testing.assert_allclose(found[1], AFTER / BEFORE * found[0], rtol=2e-3)
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("use", USES)
def test_the_second_call_gives_the_new_numbers(arm, way, use, tmp_path):
    factor, edit = way
    call = USES[use](arm, factor, tmp_path)
    before = np.array(call())
    edit()
    after = np.array(call())
    assert np.abs(before).max() > 1e-6
    np.testing.assert_allclose(after, AFTER / BEFORE * before, rtol=1e-3)


# exports: the second folder is that of a law which always had the new factor


def code_in(folder):
    """C files by name, without the comments: they show the function itself."""
    return {x.name: re.sub(r"/\*.*?\*/", "", x.read_text(), flags=re.S) for x in folder.glob("*.c")}


def controller_text(factor, arm, folder):
    dy.export_controller(arm, Law(factor), folder)
    return code_in(folder)


def observer_text(factor, arm, folder):
    dy.export_observer(arm, Watch(50.0, factor=factor), folder, 1e-3)
    return code_in(folder)


@pytest.mark.parametrize("export", [controller_text, observer_text])
def test_the_second_export_is_of_the_new_law(arm, way, export, tmp_path):
    factor, edit = way
    before = export(factor, arm, tmp_path / "own")
    assert before == export(lambda: BEFORE, arm, tmp_path / "before")
    edit()
    after = export(factor, arm, tmp_path / "own")
    assert after == export(lambda: AFTER, arm, tmp_path / "after")
    assert after != before


# checkpoints: refused by name

STUDIES: dict[str, tuple[Callable[[Any], dict[str, Any]], str]] = {
    "measure": (lambda f: {"measure": lambda run: f() * run.q[-1, 0]}, "functions"),
    "controller": (lambda f: {"controller": Law(f)}, "controller"),
    "function": (lambda f: {"controller": lambda t, q, qd: f() * q}, "functions"),
    "reference": (lambda f: {"reference": lambda t: (f() * Q0, 0 * Q0, 0 * Q0)}, "functions"),
    "trajectory": (lambda f: {"reference": Place(f)}, "controller, reference or forces"),
}


@pytest.mark.parametrize("given", STUDIES)
def test_a_checkpoint_of_other_code_is_refused(arm, way, given, tmp_path):
    factor, edit = way
    made, differs = STUDIES[given]
    options = {"controller": JointPID(1.0, 0.0, 0.0), "measure": "peak_torque"} | made(factor)

    def study():
        vary = dy.Scatter(arm, mass=0.05)
        return dy.study(
            arm, 2e-3, q0=Q0, samples=4, vary=vary, progress=False, checkpoint=tmp_path / "kept",
            **options,
        )  # fmt: skip

    study()
    assert study().resumed == 4
    edit()
    with pytest.raises(OptionError, match=f"is of another study: it differs in .*{differs}"):
        study()


# the cache on disk, in a new process: tried without changes too, so that something is found there

SCRIPT = """
import sys
from dataclasses import dataclass
from typing import Any
import dynamis as dy
from dynamis.control import Controller
from tests.simulation.arms import bar, pair

factor = float(sys.argv[1])

@dataclass(frozen=True)
class Law(Controller):
    model: Any = None
    sample_time: Any = None
    def step(self, arm, sample):
        return [factor * x for x in sample.q], {}

@dataclass(frozen=True)
class Hose:
    def torque(self, q, qd, constants, fn):
        return [factor * x for x in q]

@dataclass(frozen=True)
class Grease:
    def torque(self, qd, direction, constants, fn):
        return factor * qd

arm, q0 = pair(gravity=(0.0, 0.0, 0.0)), [0.3, 0.2]
rough = pair(*[bar(friction=dy.Friction(law=Grease())) for _ in range(2)])
print(dy.simulate(arm, 2e-3, q0=q0, controller=Law()).tau[0, 0])
print(dy.compile(arm, lambda arm, q: [factor * x for x in q])(q0)[0])
print(arm.with_load(Hose()).inverse_dynamics(q0, [0, 0], [0, 0])[0])
print(rough.friction_torque(q0)[0])
"""


def test_the_cache_on_disk_answers_for_no_other_code():
    def numbers(factor):
        command = [sys.executable, "-c", SCRIPT, str(factor)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return np.array(done.stdout.split(), dtype=float)

    first, again, other = numbers(BEFORE), numbers(BEFORE), numbers(AFTER)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(other, AFTER / BEFORE * first, rtol=1e-12)


# classes of the package that somebody changed


def zero(self, arm, sample):
    return [0.0] * arm.n, {"integral": [0.0] * arm.n}


def shifted(self, arm, sample):
    return {"integral": [5.0] * arm.n}


PATCHES = {
    "a method": (ComputedTorque, "step", zero),
    "a method of a base": (Compensating, "compensation", lambda self, arm, *_: [7.0] * arm.n),
    "a method that it inherits": (JointPID, "start", shifted),
    "the code of a method": (ComputedTorque.step, "__code__", zero.__code__),
    "a property": (ComputedTorque, "options", property(lambda self: ())),
    "an attribute": (JointPID, "GAINS", ("kp", "ki")),
}


@pytest.mark.parametrize("patch", PATCHES)
def test_a_class_of_the_package_that_was_changed_is_traced(patch, monkeypatch):
    laws = ComputedTorque(25.0, 10.0), JointPID(5.0, 1.0, 1.0)
    assert all(map(as_defined, laws))
    monkeypatch.setattr(*PATCHES[patch])
    assert not all(map(as_defined, laws))
    monkeypatch.undo()
    assert all(map(as_defined, laws))


def test_a_default_of_the_package_that_was_changed_is_seen(monkeypatch):
    def later(self, arm, sample, more=1.0):
        return ComputedTorque.step(self, arm, sample)

    class Own(ComputedTorque):
        step = later

    keep_definitions(Own)
    assert as_defined(Own(25.0, 10.0))
    monkeypatch.setattr(later, "__defaults__", (2.0,))
    assert not as_defined(Own(25.0, 10.0))
    _defined.pop(Own)


@pytest.mark.parametrize("name", ["step", "compensation"])
def test_a_law_of_the_package_computes_what_its_class_says_now(arm, name, monkeypatch):
    law = ComputedTorque(25.0, 10.0)

    def torque():
        return dy.simulate(arm, 2e-3, q0=Q0, controller=law, reference=0.0 * Q0).tau[0]

    plain = torque()
    kind, _, function = PATCHES["a method" if name == "step" else "a method of a base"]
    with monkeypatch.context() as patch:
        patch.setattr(kind, name, function)
        changed = torque()
    np.testing.assert_allclose(changed, 0.0 * plain if name == "step" else plain + 7.0, atol=1e-12)
    np.testing.assert_array_equal(torque(), plain)


LAWS_OF_THE_PACKAGE = [*LAWS.values(), MomentumObserver(50.0), dy.PayloadObserver(), dy.Sensors()]


@pytest.mark.parametrize("law", LAWS_OF_THE_PACKAGE, ids=lambda x: type(x).__name__)
def test_laws_of_the_package_are_known_by_class_and_fields(law):
    assert as_defined(law)
    assert as_defined(copy.copy(law))  # which leaves a note in its class
    own = type(type(law).__name__, (type(law),), {"__module__": type(law).__module__})
    assert not as_defined(copy.copy(law).__class__.__new__(own))
    changed = copy.copy(law)
    object.__setattr__(changed, "step", zero)
    assert not as_defined(changed)
