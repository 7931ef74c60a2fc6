"""Arms that are drawn: bodies that can exist, and the distribution that is stated."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dynamis as dy
from dynamis.control.random_numbers import SAMPLES, normal, uniform
from dynamis.spatial.functions import MATH
from dynamis.study.scatter import moved_body
from tests.random_robots import body, build
from tests.simulation.arms import pair


def pseudo_inertias(parameters, links):
    """4 x 4 matrices of every link, from the definition: integrals over the mass."""
    m, h, I = np.split(parameters[:, : 10 * links].reshape(-1, links, 10), [1, 4], axis=2)
    xx, xy, yy, xz, yz, zz = np.moveaxis(I, 2, 0)
    rotational = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotational = np.moveaxis(rotational, (0, 1), (2, 3))
    trace = np.trace(rotational, axis1=2, axis2=3)
    J = np.zeros((*m.shape[:2], 4, 4))
    J[..., :3, :3] = 0.5 * trace[..., None, None] * np.eye(3) - rotational
    J[..., :3, 3] = J[..., 3, :3] = h
    J[..., 3, 3] = m[..., 0]
    return J


def test_uniform_numbers_depend_on_nothing_but_their_place():
    all_of_them = uniform(7, SAMPLES, 0, 1000, 11)
    np.testing.assert_array_equal(uniform(7, SAMPLES, 317, 20, 11), all_of_them[317:337])
    assert not np.isin(uniform(8, SAMPLES, 0, 1000, 11), all_of_them).any()
    assert (all_of_them > 0).all() and (all_of_them <= 1).all()
    assert stats.kstest(all_of_them.ravel(), "uniform").pvalue > 1e-3


def test_normal_numbers_are_normal_and_independent(compiled):
    z = normal(uniform(1, SAMPLES, 0, 20_000, 6))
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    correlation = np.corrcoef(z.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / math.sqrt(len(z))


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from(["standard", "modified", "urdf"]))
def test_every_body_of_a_random_robot_can_exist(seed, convention):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["revolute", "prismatic"], rng.integers(1, 5))
    robot = build(convention, list(kinds), seed)
    vary = dy.Scatter(robot, mass=0.5, com=0.2, inertia=0.8, friction=0.7, payload=(0.0, 5.0))
    drawn = vary.draw(0, 40, seed)
    J = pseudo_inertias(drawn.parameters, len(robot.model.links))
    eigenvalues = np.linalg.eigvalsh(J)
    assert (eigenvalues[..., 0] > -1e-12 * eigenvalues[..., -1]).all()
    names = np.array(robot.parameters.names)
    for end, sign in (("coulomb+", 1), ("coulomb-", -1), (".viscous", 1)):
        rows = drawn.parameters[:, [name.endswith(end) for name in names]]
        assert (sign * rows >= 0.0).all()


@settings(max_examples=50)
@given(st.integers(0, 2**32))
def test_a_moved_body_is_the_body_of_moved_points(seed):
    rng = np.random.default_rng(seed)
    points, masses = rng.normal(size=(7, 3)), rng.uniform(0.1, 2.0, 7)
    factor, stretch, shift = rng.uniform(0.5, 2), rng.uniform(0.5, 2, 3), rng.normal(size=3)

    def ten(points, masses):
        I = np.einsum("k,kij->ij", masses, [p @ p * np.eye(3) - np.outer(p, p) for p in points])
        rows = I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]
        return [masses.sum(), *(masses @ points), *rows]

    centre = masses @ points / masses.sum()
    moved = centre + shift + stretch * (points - centre)
    found = moved_body(ten(points, masses), factor, list(stretch), list(shift), MATH)
    np.testing.assert_allclose(found, ten(moved, factor * masses), rtol=1e-9, atol=1e-9)


def test_the_distribution_is_the_one_that_is_stated(compiled):
    robot = pair()
    vary = dy.Scatter(robot, mass=0.1, com=0.02, payload=(1.0, 3.0), joint_offset=0.01, q0=0.2)
    drawn = vary.draw(0, 40_000, 5)
    nominal = np.array(robot.parameters.values, dtype=float)
    bare = drawn.parameters[:, 0]
    assert stats.kstest(np.log(bare / nominal[0]) / 0.1, "norm").pvalue > 1e-3
    centre = drawn.parameters[:, 1] / bare - nominal[1] / nominal[0]
    assert stats.kstest(centre / 0.02, "norm").pvalue > 1e-3
    assert stats.kstest(drawn.joint_offset.ravel() / 0.01, "norm").pvalue > 1e-3
    assert stats.kstest(drawn.q0[:, 1] / 0.2, "norm").pvalue > 1e-3
    load = drawn.factors[:, vary.names.index("payload")] / math.sqrt(12.0) + 0.5
    assert stats.kstest(load, "uniform").pvalue > 1e-3
    np.testing.assert_allclose(drawn.factors.mean(axis=0), 0.0, atol=0.03)
    np.testing.assert_allclose(drawn.factors.std(axis=0), 1.0, atol=0.03)


def test_a_payload_is_that_of_with_payload():
    robot = pair()
    vary = dy.Scatter(robot, payload=(0.5, 4.0), payload_com=(0.1, -0.2, 0.3))
    drawn = vary.draw(3, 5, 1)
    for row, factor in zip(drawn.parameters, drawn.factors[:, 0], strict=True):
        mass = 0.5 + 3.5 * (factor / math.sqrt(12.0) + 0.5)
        loaded = robot.with_payload(mass, (0.1, -0.2, 0.3))
        np.testing.assert_allclose(row, loaded.parameters.values, atol=1e-12)
    again = dy.Scatter(robot.with_payload(9.0), payload=(0.5, 4.0), payload_com=(0.1, -0.2, 0.3))
    np.testing.assert_allclose(again.draw(3, 5, 1).parameters, drawn.parameters, atol=1e-12)


def test_a_sample_is_the_same_in_every_block(compiled):
    vary = dy.Scatter(pair(), mass=0.1, com=0.01, q0=([-1, -1], [1, 1]), delay=[0.0, 1e-3])
    whole = vary.draw(0, 100, 3)
    part = vary.draw(60, 17, 3)
    for a, b in zip(whole.part(slice(60, 77)).arrays, part.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(whole.chosen["delay"][60:77], part.chosen["delay"])
    assert set(whole.chosen["delay"]) == {0, 1}


def test_nothing_varies_without_being_asked():
    robot = pair()
    drawn = dy.Scatter(robot).draw(0, 3, 0)
    np.testing.assert_array_equal(drawn.parameters, np.tile(robot.parameters.values, (3, 1)))
    assert drawn.factors.shape == (3, 0) and not drawn.q0.any()


def test_by_link_and_joint():
    robot = pair()
    link, joint = robot.link_names[1], robot.joint_names[0]
    with pytest.warns(dy.errors.DynamisWarning, match=f"zero in '{joint}'"):
        vary = dy.Scatter(robot, mass={link: 0.1}, friction={joint: 0.2})
    assert vary.names == (f"{link}.mass",)  # that joint has no friction to vary
    drawn = vary.draw(0, 10, 0).parameters
    assert (drawn[:, :10] == drawn[0, :10]).all() and np.ptp(drawn[:, 10]) > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mass": -0.1}, "mass is -0.1"),
        ({"mass": 5.0}, "such as 0.05"),
        ({"mass": {"nose": 0.1}}, "names 'nose'"),
        ({"mass": "much"}, "mass is 'much'"),
        ({"payload": (3.0, 1.0)}, "payload is"),
        ({"payload": (1.0, 2.0, 3.0)}, "payload is"),
        ({"joint_offset": [1.0]}, "joint_offset is"),
        ({"q0": [1.0, 2.0, 3.0]}, "q0 is"),
        ({"q0": ([1.0, 1.0], [0.0, 0.0])}, "q0 is"),
        ({"delay": 0.1}, "delay is 0.1, expected a list"),
        ({"delay": []}, "delay is"),
        ({"com": math.nan}, "com is nan"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options, words):
    with pytest.raises(dy.errors.DynamisError, match=words):
        dy.Scatter(pair(), **options)


def test_to_vary_what_is_zero_is_refused_or_left_out_by_name():
    smooth = pair()
    rubs = smooth.with_friction(viscous=[0.0, 1.0])
    said = "friction of 'pair' is zero in every joint: to change it by friction=0.3 changes nothing"
    with pytest.raises(dy.errors.OptionError, match=said) as error:
        dy.Scatter(smooth, friction=0.3)
    assert "with_friction(viscous=" in str(error.value)
    with pytest.raises(dy.errors.OptionError, match="rotor inertia of 'pair' is zero in every"):
        dy.Scatter(smooth, rotor=0.1, payload=(2, 2))
    with pytest.warns(dy.errors.DynamisWarning, match="friction of 'pair' .* left out"):
        assert dy.Scatter(smooth, friction=0.3, payload=(0, 1)).names == ("payload",)
    assert dy.Scatter(rubs, friction=0.3).names == ("joint2.viscous",)  # of the joints that rub
    with pytest.warns(dy.errors.DynamisWarning, match="is zero in 'joint1'"):
        dy.Scatter(rubs, friction={"joint1": 0.3, "joint2": 0.3})


def test_a_load_that_is_the_same_for_all_arms_is_said():
    with pytest.raises(dy.errors.OptionError, match=r"payload is 3, .*\n.*\(0, 3\) varies"):
        dy.Scatter(pair(), payload=3)
    assert repr(dy.Scatter(pair(), payload=(3, 3))) == (
        "Scatter('pair', 0 factors, 3 kg at every tool)"
    )


def test_a_link_that_is_no_body_is_named():
    flat = dy.Robot.from_dh(
        "flat",
        convention="standard",
        links=[dy.Link(a=1.0, mass=1.0, com=(0, 0, 0), inertia=(0, 0, 1))],
    )
    with pytest.raises(dy.errors.ModelError, match="no body that can exist"):
        dy.Scatter(flat, mass=0.1)
    assert dy.Scatter(flat, mass=0.1, consistent=False).draw(0, 2, 0).parameters.shape[0] == 2
    assert dy.Scatter(flat, payload=(0, 1)).names == ("payload",)


def test_massless_links_stay_massless():
    links = [dy.Link(a=0.5), dy.Link(a=1.0, **body(np.random.default_rng(0)))]
    robot = dy.Robot.from_dh("light", convention="standard", links=links)
    drawn = dy.Scatter(robot, mass=0.2, com=0.1, inertia=0.1).draw(0, 50, 0).parameters
    assert not drawn[:, :10].any() and np.ptp(drawn[:, 10]) > 0
