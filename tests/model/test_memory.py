"""Friction with memory in a model: given, refused, kept, and among its parameters."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, ModelError

pytestmark = pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
MEMORY = dy.Memory((1e-3, 0.02), (0.5, 0.8))


def arm() -> dy.Robot:
    robot = dy.load("planar-2link")
    return robot.with_friction(0.1, [0.3, 0.0], memory=MEMORY)


def memories(robot):
    return [x.friction.memory for x in robot.model.links]


@pytest.mark.parametrize("suffix", [".toml", ".urdf"])
def test_files_keep_it(suffix, tmp_path):
    arm().save(path := tmp_path / f"arm{suffix}")
    assert memories(dy.load(path)) == [MEMORY, MEMORY]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.with_payload(1.0),
        lambda x: x.with_parameters(x.parameters.values),
        lambda x: x.to_dh("modified"),
        lambda x: x.with_drive(0, stiffness=1e4, rotor_inertia=1e-3, gear=10),
        lambda x: x.at_temperature(40.0),
    ],
)
def test_variations_keep_it(change):
    assert memories(change(arm())) == [MEMORY, MEMORY]


def test_one_number_is_one_element():
    assert dy.Memory(1e-3, 2.0) == dy.Memory([1e-3], [2.0])
    assert len(MEMORY) == 2


def test_weights_are_parameters():
    robot = arm()
    names = [f"joint{j}.memory{k}" for j in (1, 2) for k in (1, 2)]
    assert list(robot.parameters.names[-4:]) == names
    np.testing.assert_array_equal(robot.parameters.values[-4:], [0.5, 0.8, 0.5, 0.8])
    values = robot.parameters.values.copy()
    values[-1] = 3.0
    assert robot.with_parameters(values).model.links[1].friction.memory.weights == (0.5, 3.0)


def test_without_time_it_is_at_its_largest():
    q, qd = np.array([0.2, -0.4]), np.array([0.3, -1e-9])
    bare = arm().with_friction(0.1, [0.3, 0.0])
    more = arm().inverse_dynamics(q, qd, 0 * q) - bare.inverse_dynamics(q, qd, 0 * q)
    np.testing.assert_allclose(more, [1.3, -1.3], rtol=1e-12)


@pytest.mark.parametrize(
    ("radii", "weights", "named"),
    [
        ((), (), "radii has 0 entries"),
        ((1e-3, 1e-2), (1.0,), "weights has 1 entry, expected 2"),
        ((0.0,), (1.0,), "expected numbers above 0"),
        ((-1e-3,), (1.0,), "expected numbers above 0"),
        ((1e-3, 1e-3), (1.0, 2.0), "expected different numbers"),
        ((np.nan,), (1.0,), "radii"),
        ((1e-3,), (np.inf,), "weights"),
        (("m1",), (1.0,), "expected numbers above 0"),
        (np.full(17, 1.0).cumsum(), np.ones(17), "has 17 entries, expected 1 to 16"),
    ],
)
def test_bad_elements_are_refused(radii, weights, named):
    with pytest.raises(ModelError, match=named):
        dy.Memory(radii, weights)


def test_bad_friction_is_refused():
    with pytest.raises(ModelError, match=r"expected dy\.Memory"):
        dy.Friction(memory=(1e-3, 1.0))
    with pytest.raises(ModelError, match="whose bristles stretch too"):
        dy.Friction(law="lugre", coulomb=1.0, memory=MEMORY)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{ radii = [1e-3] }", "has no weights"),
        ("[1e-3]", "expected a table"),
        ("{ radii = [1e-3], weights = [1], law = 'x' }", "unknown key 'law'"),
    ],
)
def test_bad_files_are_refused(text, named, tmp_path):
    arm().save(path := tmp_path / "arm.toml")
    lines = path.read_text().splitlines()
    k = next(k for k, x in enumerate(lines) if "memory" in x)
    lines[k] = f"friction = {{ memory = {text} }}"
    path.write_text("\n".join(lines))
    with pytest.raises(DynamisError, match=named):
        dy.load(path)


def test_a_weight_below_zero_is_found():
    found = arm().with_friction(memory=dy.Memory(1e-3, -1.0)).check()
    assert any("friction.memory" in x.what and x.level == "error" for x in found)


def test_symbols_are_weights():
    robot = dy.load("planar-2link").with_friction(memory=dy.Memory(1e-3, "w1"))
    with pytest.raises(DynamisError, match="w1"):
        robot.friction_torque([1.0, 1.0])
    np.testing.assert_allclose(robot.with_values(w1=2.0).friction_torque([1.0, -1.0]), [2.0, -2.0])


@pytest.mark.filterwarnings("error::dynamis.errors.DynamisWarning")
@pytest.mark.parametrize("law", ["coulomb", "grotjahn", "smooth", "stribeck"])
def test_base_parameters_group_what_acts_as_one(law):
    """Without a motion in time elements act as one; beside a sharp law as Coulomb friction."""
    bare = dy.load("puma560").with_friction(0.5, 1.0, law=law)
    robot = bare.with_friction(0.5, 1.0, law=law, memory=MEMORY)
    spring = dy.Spring(kind="torsion", joint="joint2", stiffness=30.0)
    robot = dy.Robot(replace(robot.model, springs=(spring,)))
    base, less = robot.base_parameters(), bare.base_parameters()
    assert base.rank == less.rank + 1 + (6 if law in ("smooth", "stribeck") else 0)
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 8, 6))
    found = base.regressor(q, qd, qdd) @ base.values
    np.testing.assert_allclose(found, robot.inverse_dynamics(q, qd, qdd), atol=1e-9)
    if law == "coulomb":
        assert any(x.startswith("coulomb_plus2") and "memory1_2" in x for x in base.names)


def test_equations_have_it_at_its_largest():
    tau = arm().equations().tau
    assert "8*sign(qd1)/5" in str(tau[0])  # 0.3 + 0.5 + 0.8
    assert "13*sign(qd2)/10" in str(tau[1])


def test_labels_tell_joints_apart():
    from dynamis.model.parameters import labels

    names = arm().parameters.names
    assert len({*labels(names, "latex")}) == len({*labels(names, "plain")}) == len(names)
    assert "w_{2,1}" in labels(names, "latex") and "memory2_1" in labels(names, "plain")


def test_elements_are_typed_in_the_studio():
    from dynamis.studio.pages.parts import LINK

    model = arm().model
    row = next(x for x in LINK["Friction"] if x.key == "friction.memory")
    assert row.text(model.links[0], model) == "0.5 at 0.001, 0.8 at 0.02"
    edited = row.edited(model.links[0], "1.5 at 0.002", model)
    assert edited.friction.memory == dy.Memory(2e-3, 1.5)
    assert row.edited(model.links[0], "", model).friction.memory is None
    with pytest.raises(ModelError, match=r"expected elements such as 0\.5 at 0\.001"):
        row.edited(model.links[0], "1.5", model)
