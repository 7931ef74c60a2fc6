"""`dy.calibrate` on simulated arms: what it finds, how sure it is, and what it says is wrong."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError

from ..thorough import thorough_but
from .simulated import (
    FRAME,
    TARGET,
    K,
    built,
    identifiable,
    motion,
    points,
    poses,
    postures,
    sockets,
)  # fmt: skip

ROBOT = dy.load("puma560")
NOISE = 5e-5  # m


def of_kept(robot, sets, seed=0, size=0.5, **more):
    """An arm whose errors are all told by sets like these."""
    return built(robot, seed, size, identifiable(robot, sets, **more), **more)


def an_arm(robot=ROBOT, seed=0, **more):
    q = postures(robot, 60, 9)
    return of_kept(robot, [points(built(robot, size=0.0), q)], seed, **more)


def held(calibration):
    """Its accuracy on held-out places."""
    assert calibration.held_out is not None
    return calibration.held_out


@pytest.fixture(scope="module")
def arm():
    return an_arm()


@pytest.fixture(scope="module")
def found(arm):
    return dy.calibrate(ROBOT, points(arm, postures(ROBOT, 200), NOISE))


def test_without_noise_the_arm_is_found_exactly(arm):
    """Priors are nothing beside exact measurements."""
    c = dy.calibrate(ROBOT, points(arm, postures(ROBOT, 100)), select=False)
    kept = arm.values != 0.0
    names = [x.name for x, k in zip(arm.model.parameters, kept, strict=True) if k]
    assert list(c.parameters.names) == names
    np.testing.assert_allclose(c.parameters.values, arm.values[kept], atol=1e-9)
    q = postures(ROBOT, 30, 5)
    T, true = c.robot.fk(q), motion(arm, q)
    assert np.abs(T[:, :3, 3] - true.p).max() < 1e-8
    np.testing.assert_allclose(c.places[0]["frame"], FRAME, atol=1e-8)
    np.testing.assert_allclose(c.places[0]["target"], TARGET, atol=1e-8)


def test_held_out_places_are_met_to_the_noise(found):
    assert found.verdict.level == "good"
    assert found.nominal.mean > 5e-4
    noise = NOISE * np.sqrt(8.0 / np.pi)  # mean length of three normal numbers
    assert held(found).mean == pytest.approx(noise, rel=0.15)
    assert found.error == held(found).mean
    assert found.fit.mean < held(found).mean
    assert len(held(found).errors) == 200


def test_validation_knows_the_instrument_or_registers_it(arm, found):
    q = postures(ROBOT, 50, 8)
    other = points(arm, q, NOISE, 4)
    check = found.validate(other)
    assert check.mean < 1.3 * found.error and check.max >= check.rms >= check.mean
    np.testing.assert_allclose(np.linalg.norm(check.vectors, axis=1), check.errors)
    moved = replace(other, position=other.position @ FRAME[:3, :3] + 1.0)
    assert found.validate(moved).mean > 0.1
    first, second = (
        replace(moved, q=moved.q[rows], position=moved.position[rows])
        for rows in (slice(0, 15), slice(15, 50))
    )
    assert found.validate(second, register=first).mean < 1.6 * found.error
    assert found.validate(other, nominal=True).mean > 5.0 * check.mean
    with pytest.raises(OptionError, match="register= takes"):
        found.validate(poses(arm, q))
    assert found.validate(poses(arm, q), register=poses(arm, q)).angles.max() < 1e-3


def test_poses_and_sockets_tell_the_arm_too(arm):
    q = postures(ROBOT, 150)
    c = dy.calibrate(ROBOT, poses(arm, q, NOISE))
    assert held(c).mean < 3.0 * NOISE < 0.3 * c.nominal.mean
    assert held(c).angles.mean() < 4.0 * NOISE
    c = dy.calibrate(ROBOT, sockets(arm, places=8, noise=2e-5))
    assert held(c).mean < 1e-4 < 0.3 * c.nominal.mean
    assert np.abs(held(c).distance_errors).max() < 2e-4
    assert c.validate(sockets(arm, places=3, seed=30)).mean < 1e-4


def test_several_sets_at_once(arm):
    q = postures(ROBOT, 80)
    sets = [points(arm, q, NOISE, name="tracker"), sockets(arm, places=4, noise=2e-5)]
    c = dy.calibrate(ROBOT, sets)
    assert [sorted(x) for x in c.places] == [["frame", "target"], ["sockets", "target"]]
    assert len(c.fit.errors) == sum(len(x) for x in sets) == len(held(c).errors)
    assert c.verdict.level == "good"


def test_what_is_not_told_is_named_and_stays_nominal(found):
    assert {"joint1.zero", "joint6.zero", "tool.x"} <= set(found.unidentifiable)
    kept, out = set(found.parameters.names), {*found.unidentifiable, *found.unhelpful}
    assert not kept & out
    assert len(kept) + len(out) == 6 * 7


def test_a_parameter_that_does_not_pay_stays_nominal():
    """Three joints are off; of the others noise alone would be fitted."""
    own = np.zeros(42)
    own[[1, 2, 3]] = 4e-3, -3e-3, 2e-3
    arm = built(ROBOT, size=0.0)._replace(values=own)
    seen = points(arm, postures(ROBOT, 40), 2e-4)
    every = dy.calibrate(ROBOT, seen, select=False)
    c = dy.calibrate(ROBOT, seen)
    assert {"joint2.zero", "joint3.zero", "joint4.zero"} <= set(c.parameters.names)
    assert len(c.parameters) < len(every.parameters) and c.unhelpful
    q = postures(ROBOT, 200, 3)
    off = [np.linalg.norm(x.fk(q)[:, :3, 3] - motion(arm, q).p, axis=1).mean() for x in (c, every)]
    assert off[0] < off[1]


def test_stiffness_harmonics_gear_and_growth_are_found():
    options = {"compliance": True, "harmonics": True, "gear": True, "expansion": True}
    q = postures(ROBOT, 400)
    warm = 20.0 + 8.0 * np.sin(np.arange(400.0))
    arm = built(ROBOT, size=0.0, **options)
    kinds = arm.model.of_kind("compliance", "expansion")
    zero = arm.model.of_kind("zero") & (np.arange(len(kinds)) == 2)
    values = np.where(kinds | zero, arm.model.priors * 0.8, 0.0)
    arm = arm._replace(values=values)
    warmth = warm - warm.mean()
    at = {"warmth": warmth}
    p = motion(arm, q, **at).point(TARGET) @ FRAME[:3, :3].T + FRAME[:3, 3]
    seen = K.Points(q, p)
    more = {"stiffness": True, "harmonics": True, "gear": True}
    c = dy.calibrate(ROBOT, seen, temperature=warm, select=False, **more)
    found = dict(zip(c.parameters.names, c.parameters.values, strict=True))
    names = [x.name for x in arm.model.parameters]
    assert found["expansion"] == pytest.approx(values[names.index("expansion")], rel=1e-3)
    for name in ("joint2.compliance", "joint3.compliance"):
        assert found[name] == pytest.approx(values[names.index(name)], rel=0.02)
    T = c.fk(q, warm)
    assert np.abs(T[:, :3, 3] - motion(arm, q, **at).p).max() < 1e-5
    assert np.abs(c.joint_positions(q) - q).max() > 1e-3
    rigid = dy.calibrate(ROBOT, seen)
    assert rigid.error > 20.0 * c.error


def test_a_payload_tells_stiffness_apart():
    arm = built(ROBOT, size=0.0, compliance=True)
    values = np.where(arm.model.of_kind("compliance"), arm.model.priors, 0.0)
    q = postures(ROBOT, 150)
    sets = []
    for mass in (0.0, 10.0):
        heavy = ROBOT.with_payload(mass, (0.0, 0.0, 0.1)) if mass else ROBOT
        at = replace_torque(heavy, q)
        p = arm.model.motion(values, at, columns=False).point(TARGET)
        sets.append(K.Points(q, p, frame=np.eye(4), target=TARGET, payload=(mass, (0, 0, 0.1))))
    c = dy.calibrate(ROBOT, sets, stiffness=True, select=False)
    found = dict(zip(c.parameters.names, c.parameters.values, strict=True))
    for x, value in zip(arm.model.parameters, values, strict=True):
        if x.kind == "compliance":
            assert found[x.name] == pytest.approx(value, rel=0.03)
    assert c.fit.max < 1e-6


def replace_torque(robot, q):
    from dynamis.calibration.error_model import Postures

    return Postures(q, robot.gravity_torque(q))


# what is wrong with observations


def wrong(observations):
    """The verdict and the worst finding on observations that cannot be right."""
    c = dy.calibrate(ROBOT, observations)
    assert c.verdict.level == "not usable"
    assert c.findings[0].level == "error"
    assert not len(c.parameters)
    q = postures(ROBOT, 5)
    np.testing.assert_allclose(c.robot.fk(q), ROBOT.fk(q), atol=1e-12)  # left as it was
    return c.findings[0].what


def test_wrong_units_columns_and_frames_are_named(arm):
    q = postures(ROBOT, 60)
    seen = points(arm, q, NOISE)
    assert "millimetres" in wrong(replace(seen, position=1e3 * seen.position))
    assert "inches" in wrong(replace(seen, position=seen.position / 0.0254))
    assert "degrees" in wrong(replace(seen, q=np.degrees(q)))
    assert "left-handed" in wrong(replace(seen, position=seen.position * (1, -1, 1)))
    assert "left-handed" in wrong(replace(seen, position=seen.position[:, [1, 0, 2]]))
    columns = wrong(replace(seen, q=q[:, [0, 2, 1, 3, 4, 5]]))
    assert "joint2 and joint3 are exchanged" in columns
    assert "sign of joint3 is turned" in wrong(replace(seen, q=q * (1, 1, -1, 1, 1, 1)))
    touched = sockets(arm, places=4)
    swapped = {k: [x[:, [0, 1, 2, 4, 3, 5]] for x in v] for k, v in touched.places.items()}
    assert "joint4 and joint5 are exchanged" in wrong(replace(touched, places=swapped))
    degrees = {k: [np.degrees(x) for x in v] for k, v in touched.places.items()}
    assert "degrees" in wrong(replace(touched, places=degrees))


def test_three_outliers_are_named_and_left_out(arm, found):
    seen = points(arm, postures(ROBOT, 200), NOISE)
    rows = [17, 80, 133]
    position = seen.position.copy()
    position[rows] += np.array([0.02, 0.0, 0.0])
    c = dy.calibrate(ROBOT, replace(seen, position=position))
    assert c.outliers[0].tolist() == rows
    assert not c._fit.weights[0][0].w[rows].any()
    said = next(x for x in c.findings if "left out" in x.what)
    assert all(f"{k} (" in said.what for k in rows) and "(20" in said.what
    q = postures(ROBOT, 50, 6)
    np.testing.assert_allclose(c.fk(q)[:, :3, 3], found.fk(q)[:, :3, 3], atol=5e-5)


def test_observations_are_checked():
    q = postures(ROBOT, 10)
    with pytest.raises(ShapeError, match=r"position has shape \(9, 3\), expected \(10, 3\)"):
        K.Points(q, np.zeros((9, 3)))
    with pytest.raises(ShapeError, match="at least 3"):
        dy.calibrate(ROBOT, K.Points(q[:2], np.zeros((2, 3))))
    with pytest.raises(OptionError, match="expected joint positions by the name"):
        K.Sockets(q)
    with pytest.raises(OptionError, match="normal"):
        K.Plane(q, offset=1.0)
    with pytest.raises(OptionError, match=r"expected dy\.calibration\.Points"):
        dy.calibrate(ROBOT, q)
    with pytest.raises(OptionError, match=r"expected\s*\(N, 6\)"):
        dy.calibrate(ROBOT, K.Points(q[:, :5], np.zeros((10, 3))))
    with pytest.raises(OptionError, match="closures"):
        dy.calibrate(dy.load("five-bar"), K.Points(q, np.zeros((10, 3))))
    with pytest.raises(OptionError, match="has none"):
        dy.calibrate(ROBOT, K.Points(q, np.zeros((10, 3))), temperature=True)


# intervals


def drawn(name, seed, **more):
    """One arm of many, and whether 95 % intervals hold: of its parameters, of its tool."""
    robot = dy.load(name)
    q = postures(robot, 60, seed)
    arm = of_kept(robot, [points(built(robot, size=0.0), q)], seed, **more)
    words = {"stiffness": "compliance" in more}
    c = dy.calibrate(robot, points(arm, q, NOISE, seed + 1), select=False, **words)
    kept = [x.name in c.parameters.names for x in arm.model.parameters]
    inside = np.abs(c.parameters.values - arm.values[kept]) < 1.96 * c.parameters.deviations
    at = postures(robot, 10, seed + 7)
    off = np.abs(c.fk(at)[:, :3, 3] - motion(arm, at).p)
    return inside, (off < 1.96 * c.tool_uncertainty(at)).ravel()


@pytest.mark.parametrize("name", thorough_but(["stanford"], ["stanford", "puma560"]))
def test_intervals_hold(name):
    found = [drawn(name, seed) for seed in range(15)]
    for each in zip(*found, strict=True):
        assert np.concatenate(each).mean() > 0.92


# recordings of real arms


def split_tracker(data, seed):
    d = np.load(data / "calibration" / "ur10_tracker.npz")
    rows = np.random.default_rng(seed).permutation(len(d["q"]))
    return [
        K.Points(d["q"][k], d["position"][k], d["position_std"][k], temperature=d["temperature"][k])
        for k in (rows[:600], rows[600:])
    ]


def test_ur10_by_a_tracker(data):
    """1.03 mm as nominal, 0.40 mm by about thirty parameters of others."""
    robot, means = dy.load("ur10"), []
    for seed in (0, 1, 2):
        train, test = split_tracker(data, seed)
        c = dy.calibrate(robot, train)
        means.append(c.validate(test).mean)
        assert c.validate(test, nominal=True).mean == pytest.approx(1.03e-3, abs=3e-5)
    assert np.mean(means) < 0.40e-3
    more = dy.calibrate(robot, train, stiffness=True, harmonics=True)
    assert more.validate(test).mean < 0.36e-3


@pytest.mark.parametrize(
    ("name", "spread", "distance"),
    [("panda_1", 0.65, 0.5), ("panda_2_clean", 0.30, 0.2), ("panda_3", 0.20, 0.1)],
)
def test_pandas_by_sockets(data, name, spread, distance):
    """9.7, 7.8 and 2.7 mm as nominal."""
    d = np.load(data / "calibration" / "panda_sockets.npz")
    places = sorted({k.split("/")[1] for k in d.files if k.startswith(f"{name}/")})
    train, test = (
        K.Sockets({p: [d[f"{name}/{p}/{k}"] for k in (0, 1)] for p in own}, distance=0.05)
        for own in (places[::2], places[1::2])
    )
    c = dy.calibrate(dy.load("panda"), train)
    check = c.validate(test)
    assert check.mean < spread * 1e-3 < 0.2 * c.validate(test, nominal=True).mean
    assert np.abs(check.distance_errors).max() < distance * 1e-3
