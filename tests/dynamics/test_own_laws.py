"""Torque laws and friction laws of one's own: what is refused, motion, C, files, identification."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.service import forget
from dynamis.errors import DynamisError, ModelError, OptionError
from tests.random_robots import Cable, Grease, Hose, grease_torque, hose_rest, hose_torque
from tests.realtime.laws_in_c import kernel_in_c


def state(robot, seed, *shape):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (3, *shape, robot.n))


def rubbing(robot, law=None):
    """The robot with a friction law of one's own on every joint, nothing beside it."""
    own = dy.Friction(law=law or Grease(), offset=0.1)
    links = [replace(x, friction=own, drive=None) for x in robot.model.links]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def test_a_load_without_an_energy_adds_none():
    arm = dy.load("planar-2link")
    loaded = arm.with_load(Bias())
    assert loaded.potential_energy([0.3, 0.2]) == arm.potential_energy([0.3, 0.2])


@dataclass(frozen=True)
class Bias:
    size: float = 2.0

    def torque(self, q, qd, constants, fn):
        return [constants["size"]] * len(q)


def test_linear_constants_are_parameters_at_the_very_end():
    spring = dy.Spring(kind="torsion", joint="joint1", stiffness=3.0)
    arm = dy.load("planar-2link")
    arm = dy.Robot(replace(arm.model, springs=(spring,)))
    plain = arm.parameters.names
    arm = rubbing(arm).with_load(Hose()).with_load(Bias())
    assert arm.parameters.names[len(plain) :] == (
        *("Hose.stiffness", "Hose.damping", "Hose.bias", "Bias.size"),
        *("joint1.dry", "joint1.extra", "joint1.root", "joint2.dry", "joint2.extra", "joint2.root"),
    )
    assert arm.parameters.values[-10:].tolist() == [30.0, 2.0, -1.5, 2.0, *[2.0, 1.0, 0.5] * 2]
    other = arm.with_parameters(np.array(arm.parameters.values) * 2.0)
    assert [law.own for law in other.model.loads] == [Hose(60.0, 4.0, -3.0), Bias(4.0)]
    assert other.model.links[0].friction.own.own == Grease(4.0, 2.0, 1.0)


ENTERS = {
    "a * x": ("a",),
    "a * x + b * fn.sin(x)": ("a", "b"),
    "(a + b * x) / (1.0 + x * x)": ("a", "b"),
    "-(a - 2.0 * b) + x": ("a", "b"),
    "fn.select(x > 0.0, a, b * x)": ("a", "b"),
    "a * x * b": ("a",),  # of a product the first
    "b * fn.exp(-x * a)": ("b",),
    "a * a * x": (),
    "x / a": (),
    "x ** a": (),
    "fn.select(x > a, b, 0.0)": ("b",),
    "fn.max(a * x, 0.0)": (),
    "abs(a) * x + b": ("b",),
    "0.0 * x": (),
    "a * (b + x)": ("a",),
}


@pytest.mark.parametrize("formula", ENTERS)
def test_constants_that_enter_linearly_are_found(formula):
    @dataclass(frozen=True)
    class Own:
        a: float = 0.7
        b: float = 0.4

        def torque(self, q, qd, constants, fn):
            names = {"a": constants["a"], "b": constants["b"], "x": q[0], "fn": fn}
            return [eval(formula, names), 0.0]  # the formulas above

    arm = dy.load("planar-2link").with_load(Own())
    names = tuple(x.removeprefix("Own.") for x in arm.parameters.names if x.startswith("Own."))
    assert names == ENTERS[formula]
    q = np.array([0.3, -0.2])
    for name in names:  # a line through two values passes a third
        tau = [
            dy.load("planar-2link").with_load(Own(**{name: v})).load_torque(q, q)
            for v in (0.0, 1.0, 3.0)
        ]
        np.testing.assert_allclose(tau[2] - tau[0], 3.0 * (tau[1] - tau[0]), atol=1e-12)


@dataclass(frozen=True)
class Numbered:
    name: str = "first"
    gain: float = 1.0
    joint: int = 1

    def torque(self, q, qd, constants, fn):
        return [constants["gain"] * q[i] if i == self.joint else 0.0 for i in range(len(q))]


def test_several_loads_by_name():
    arm = dy.load("planar-2link").with_load(Numbered()).with_load(Numbered("second", 3.0, joint=0))
    assert arm.parameters.names[-2:] == ("first.gain", "second.gain")
    np.testing.assert_allclose(arm.load_torque([0.5, 0.2], [0, 0]), [1.5, 0.2])
    with pytest.raises(ModelError, match="two loads are called 'first'"):
        arm.with_load(Numbered())
    with pytest.raises(ModelError, match="load 'link2' is called like a link, a joint"):
        arm.with_load(Numbered("link2"))


# machine code


def scaled_law(factor):
    """A class of its own every time, always of the same name and with the same constants."""

    @dataclass(frozen=True)
    class Same:
        gain: float = 1.0

        def torque(self, q, qd, constants, fn):
            return [factor["now"] * constants["gain"] * q[0], 0.0]

    return Same


def test_edited_code_is_never_answered_from_a_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DYNAMIS_COMPILE", "on")
    monkeypatch.setenv("DYNAMIS_CACHE", str(tmp_path))
    arm, still, factor = dy.load("planar-2link"), np.zeros(2), {"now": 1.0}
    q = np.array([0.5, 0.2])

    def added(law):
        found = arm.with_load(law).inverse_dynamics(q, still, still)
        run = dy.simulate(arm.with_load(law), 2e-3, q0=q)
        return found[0] - arm.inverse_dynamics(q, still, still)[0], run.qd[-1][0]

    kind = scaled_law(factor)
    first = added(kind())
    assert first[0] == pytest.approx(0.5)
    factor["now"] = 3.0  # what a global or a closure holds
    second = added(kind())
    assert second[0] == pytest.approx(1.5) and second[1] < first[1]
    forget()
    assert added(scaled_law({"now": 3.0})()) == second  # another class that computes the same
    kind.torque = lambda self, q, qd, constants, fn: [5.0 * q[0], 0.0]
    assert added(kind())[0] == pytest.approx(2.5)
    factor["now"] = 1.0
    forget()
    assert added(scaled_law(factor)()) == first


def test_a_robot_keeps_the_law_it_was_given():
    factor = {"now": 1.0}
    arm = dy.load("planar-2link").with_load(scaled_law(factor)())
    factor["now"] = 3.0
    assert arm.load_torque([0.5, 0.0], [0.0, 0.0])[0] == 0.5
    assert arm.with_gravity((0, 0, 0)).load_torque([0.5, 0.0], [0.0, 0.0])[0] == 0.5


def test_a_regressor_by_columns_leaves_the_same_out(compiled):
    links = [dy.Link(a=0.1, mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(24)]
    arm = dy.Robot.from_dh("snake", convention="standard", links=links).with_load(Hose())
    q, qd, qdd = state(arm, 6)
    linear = arm.regressor(q, qd, qdd) @ arm.parameters.values
    tau = arm.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(linear + hose_rest(Hose(), q, qd), tau, rtol=1e-9, atol=1e-9)


def test_the_laws_in_c(tmp_path):
    plain = rubbing(dy.load("planar-2link"), Grease(dry=0.0, extra=0.0, root=0.0))
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    q, qd, qdd = state(arm, 8)
    own = hose_torque(Hose(), q, qd) + grease_torque(Grease(), qd)
    tau = plain.inverse_dynamics(q, qd, qdd) + own
    for kernel, last, wanted, rounding in (
        ("inverse_dynamics", qdd, tau, 1e-12),
        ("forward_dynamics", tau, qdd, 1e-10),
    ):
        found = kernel_in_c(arm, kernel, tmp_path / kernel)(2, q[None], qd[None], last[None])
        np.testing.assert_allclose(found[0], wanted, rtol=rounding)


def test_casadi_and_matlab_have_the_laws(tmp_path):
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    q, qd, qdd = state(arm, 9)
    found = arm.casadi("inverse_dynamics")(q, qd, qdd).full().ravel()
    np.testing.assert_allclose(found, arm.inverse_dynamics(q, qd, qdd), rtol=1e-12)
    assert arm.export("inverse_dynamics", target="matlab", directory=tmp_path)


# parts, equations, copies


def test_the_equations_have_the_laws():
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    equations = arm.equations()
    assert str(equations.load[1]) == "15*q1 + tanh(5*qd2/2) - 3/2"
    assert "load2 = " in str(equations) and r"\tau_{\mathrm{l},2}" in equations.latex()


def test_robots_with_other_laws_differ():
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    assert arm != rubbing(dy.load("planar-2link")).with_load(Hose(stiffness=1.0))
    assert arm != rubbing(dy.load("planar-2link"), Grease(dry=1.0)).with_load(Hose())


def test_what_is_not_written_for_laws_is_refused_by_name():
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    with pytest.raises(OptionError, match=r"load 'Hose', friction law 'Grease' of joint1.*derivat"):
        arm.equations().derivation()
    with pytest.raises(OptionError, match=r"load 'Hose'.*base parameters are those of bodies"):
        arm.base_parameters()


# bad input


def own_load(**members: Any) -> Any:
    """An instance of a class Bad with these fields and methods."""
    types = {k: type(v) for k, v in members.items() if not callable(v)}
    defaults = {k: field(default_factory=lambda v=v: v) if isinstance(v, list) else v
                for k, v in members.items()}  # fmt: skip
    return dataclass(frozen=True)(type("Bad", (), {"__annotations__": types, **defaults}))()


def good(self, q, qd, constants, fn):
    return [0.0] * len(q)


class Plain:
    torque = good


@dataclass
class Thawed:
    torque = good


def branching(self, q, qd, constants, fn):
    return [1.0, 0.0] if q[0] > 0 else [0.0, 0.0]


def giving(function):
    """A load of q, constants and fn."""
    return own_load(torque=lambda s, q, qd, c, fn: function(q, c, fn))


REFUSED = {
    "3 torques": (giving(lambda q, c, fn: [0.0] * 3), "returned 3 torques, expected"),
    "one torque": (giving(lambda q, c, fn: q[0]), "returned one value, expected a li"),
    "nothing": (giving(lambda q, c, fn: None), "returned None, expected a list of 2"),
    "a text": (giving(lambda q, c, fn: ["a", 0.0]), "computes with str, expected num"),
    "branches": (own_load(torque=branching), "branches on a value.*\\n.*write fn.select"),
    "max": (giving(lambda q, c, fn: [max(q), 0.0]), "branches on a value"),
    "equal": (giving(lambda q, c, fn: [q[0] == 0, 0.0]), "whether two values are eq"),
    "math.sin": (giving(lambda q, c, fn: [math.sin(q[0]), 0.0]), "write fn.sin"),
    "np.sin": (giving(lambda q, c, fn: [np.sin(q[0]), 0.0]), "cannot be used: .*sin"),
    "NaN": (giving(lambda q, c, fn: [math.nan, 0.0]), "gives nan whatever its argu"),
    "NaN inside": (giving(lambda q, c, fn: [q[0] + math.nan, 0.0]), "line .* computes with NaN"),
    "infinity": (giving(lambda q, c, fn: [0.0, math.inf]), "gives inf whatever its"),
    "raises": (giving(lambda q, c, fn: 1 / 0), "division by zero"),
    "no constant": (giving(lambda q, c, fn: [c["k"], 0.0]), "no constant 'k'"),
    "no name": (
        own_load(gains=(1.0, 2.0), torque=good),
        r"gains = \(1.0, 2.0\), expected a",
    ),
    "a list": (own_load(gains=[1.0], torque=good), r"gains = \[1.0\], expected a number, a text"),
    "not finite": (own_load(gain=math.nan, torque=good), "'Bad' has gain = nan, expected a finite"),
    "no torque": (own_load(gain=1.0), "'Bad' has no torque, expected a method torque"),
    "name": (own_load(name="", torque=good), "has name '', expected a non-empty text"),
    "signature": (own_load(torque=lambda s, q: [0.0, 0.0]), "cannot be used: .*takes 2 positional"),
    "energy": (own_load(torque=good, energy=lambda s, q, c, fn: math.cos(q[0])), "the energy of l"),
    "a class": (Hose, r"load is the class Hose, expected Hose\(...\)"),
    "no dataclass": (Plain(), "expected a frozen dataclass with torque"),
    "not frozen": (Thawed(), "load Thawed can be changed after it was given"),
    "a number": (3.0, "load is 3.0, expected a frozen dataclass"),
    "None": (None, "load is None, expected a frozen dataclass"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_loads_are_refused_by_name(case):
    law, words = REFUSED[case]
    with pytest.raises(DynamisError, match=words):
        dy.load("planar-2link").with_load(law)


@dataclass(frozen=True)
class Viscous:
    viscous: float = 1.0

    def torque(self, qd, direction, constants, fn):
        return constants["viscous"] * qd


def friction_of(function):
    return own_load(torque=function)


BAD_FRICTION = {
    "two torques": (friction_of(lambda s, qd, d, c, fn: [qd, qd]), "returned 2 values"),
    "branches": (friction_of(lambda s, qd, d, c, fn: 1.0 if qd > 0 else 0.0), "on a value"),
    "math": (friction_of(lambda s, qd, d, c, fn: math.exp(qd)), "write fn.exp"),
    "NaN": (friction_of(lambda s, qd, d, c, fn: math.nan), "friction law 'Bad' gives nan"),
    "a class": (Grease, r"friction law is the class Grease, expected Grease\(...\)"),
    "thawed": (Thawed(), "friction law Thawed can be changed"),
    "a number": (7, "friction law 7 does not exist"),
    "None": (None, "friction law None does not exist"),
    "a word": ("grease", "friction law 'grease' does not exist"),
}


@pytest.mark.parametrize("case", BAD_FRICTION)
def test_bad_friction_laws_are_refused_by_name(case):
    law, words = BAD_FRICTION[case]
    with pytest.raises(DynamisError, match=words):
        dy.Friction(law=law)


def test_a_constant_may_not_be_called_like_a_parameter_of_the_joint():
    with pytest.raises(ModelError, match=r"a constant 'viscous', but joint1.viscous is a param"):
        rubbing(dy.load("planar-2link"), Viscous())
    with pytest.raises(OptionError, match="has no constant 'velocity'"):
        dy.Friction(law=Grease(), constants={"velocity": 1.0})


# friction in motion


@dataclass(frozen=True)
class Dry:
    """Coulomb friction and a Stribeck fall, as the package has it."""

    kinetic: float = 2.0
    ratio: float = 1.5
    speed: float = 0.1

    def torque(self, qd, direction, constants, fn):
        u = qd / constants["speed"]
        fall = 1.0 + (constants["ratio"] - 1.0) * fn.exp(-u * u)
        return constants["kinetic"] * fall * direction


def bar(friction, load=None):
    """A rod of 1 m and 1 kg on a horizontal axis, hanging at q = -pi/2."""
    link = dy.Link(a=1.0, mass=1.0, com=(-0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
    links = [replace(link, friction=friction)]
    arm = dy.Robot.from_dh("bar", convention="standard", gravity=(0, -9.81, 0), links=links)
    return arm if load is None else arm.with_load(load)


def test_a_law_with_a_direction_sticks_as_the_packages_own(compiled):
    stribeck = {"coulomb": 2.0, "static_ratio": 1.5, "velocity": 0.1}
    theirs = bar(dy.Friction(law="stribeck", **stribeck))
    own = bar(dy.Friction(law=Dry()))
    for q0 in (-1.0, -0.5, 0.4):
        a, b = (dy.simulate(arm, 4.0, q0=[q0]) for arm in (theirs, own))
        np.testing.assert_allclose(b.q, a.q, atol=1e-12)
        np.testing.assert_allclose(b.friction, a.friction, atol=1e-9)
        assert b.qd[-1] == 0.0  # both hold


@pytest.mark.parametrize("torque", [2.99, 3.01])
def test_it_holds_up_to_its_static_limit(torque, compiled):
    arm = bar(dy.Friction(law=Dry())).with_gravity((0, 0, 0))
    run = dy.simulate(arm, 0.5, q0=[0.0], controller=lambda t, q, qd: [torque])
    assert (run.q[-1, 0] == 0.0) == (torque < 3.0)


def test_a_law_without_a_direction_never_sticks(compiled):
    @dataclass(frozen=True)
    class Smooth:
        size: float = 2.0

        def torque(self, qd, direction, constants, fn):
            return constants["size"] * fn.tanh(qd / 0.01)

    smooth = dy.Friction(coulomb=2.0, law="smooth", velocity=0.01)
    a, b = (dy.simulate(bar(f), 1.0, q0=[0.4]) for f in (smooth, dy.Friction(law=Smooth())))
    np.testing.assert_allclose(b.q, a.q, atol=1e-10)


def test_other_libraries_leave_laws_out_by_name():
    arm = rubbing(dy.load("planar-2link")).with_load(Hose())
    with pytest.warns(dy.errors.DynamisWarning, match="load 'Hose', friction law 'Grease' of jo"):
        dy.interop.to_mjcf(arm)


def test_a_time_optimal_motion_keeps_the_torque_limits_with_a_load():
    arm = bar(dy.Friction(), Cable(stiffness=4.0, damping=2.0))
    move = dy.trajectory.time_optimal(arm, [[-1.5], [-0.4], [0.7]], torque=[20.0])
    t = np.linspace(0.0, move.duration, 400)
    tau = arm.inverse_dynamics(*move(t))
    assert np.abs(tau).max() < 20.2 and np.abs(tau).max(axis=1).mean() > 19.0


def test_a_functional_mock_up_unit_is_written(tmp_path):
    arm = bar(dy.Friction(law=Dry()), Cable())
    assert dy.export_fmu(arm, tmp_path / "arm.fmu").stat().st_size > 1000
