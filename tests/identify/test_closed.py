"""Identification of closed mechanisms: logs of drives, friction of passive joints, the platform."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import ClosureError, OptionError, ShapeError
from dynamis.identify.estimate import fitted_rows, friction_curve
from dynamis.identify.friction.models import chosen_among, friction_named
from dynamis.identify.processing import prepare
from dynamis.identify.unknowns import unknowns
from dynamis.identify.verdict.diagnose import LogError
from dynamis.ik.driven import assembly, random_motion
from tests.thorough import thorough_but

from ..closed_mechanisms import five_bar, parallelogram
from ..robot.test_closed_answers import tooled

pytestmark = pytest.mark.usefixtures("compiled")
RATE = 250.0
PASSIVE = {"3-rps": (("hinge1", "hinge2", "hinge3"), 4.0, 2.0, 0.12, 2e-6)}
PASSIVE["delta"] = (("knee1", "knee2", "knee3"), 0.05, 0.1, 0.6, 1e-5)
PASSIVE["five-bar"] = (("left_elbow", "right_elbow"), 0.02, 0.05, 0.6, 1e-5)


def rubbing(name):
    """A mechanism of the catalogue whose passive joints rub too, by smooth laws."""
    robot, (joints, viscous, coulomb, *_) = dy.load(name), PASSIVE[name]
    links = []
    for link in robot.model.links:
        own = link.friction
        if link.joint_name in joints:
            own = dy.Friction(viscous=viscous, coulomb=coulomb)
        links.append(replace(link, friction=replace(own, law="smooth")))
    return dy.Robot(replace(robot.model, links=tuple(links)))


def within_limits(robot, motion):
    low, high = robot.limits.T
    return np.isfinite(motion.q).all() and ((motion.q >= low) & (motion.q <= high)).all()


def waves(robot, amplitude, duration=24.0, seed=0):
    """A sum of sines of every drive, within the limits of all joints."""
    own, rng, k = assembly(robot), np.random.default_rng(seed), robot.dof
    t = np.arange(0.0, duration, 1.0 / RATE)
    w = 2.0 * np.pi * 0.15 * np.arange(1, 6)
    a, phase = rng.normal(size=(k, 5)) / np.arange(1, 6) ** 0.5, rng.uniform(0, 6, (k, 5))
    angles = t[:, None, None] * w + phase
    parts = [a * np.sin(angles), a * w * np.cos(angles), -a * w * w * np.sin(angles)]
    q, qd, qdd = (x.sum(axis=-1) for x in parts)
    size = amplitude / np.abs(q).max(axis=0)
    while True:
        middle = own.start[own.drives]
        motion = own.motion(middle + size * q, size * qd, size * qdd)
        if within_limits(robot, motion):
            return t, motion
        size = 0.9 * size


def from_point_to_point(robot, amplitude, count=6, seconds=1.5, seed=5):
    """Quintic polynomials from one place to the next."""
    own, rng = assembly(robot), np.random.default_rng(seed)
    u = np.arange(0.0, 1.0, 1.0 / (RATE * seconds))
    shapes = (
        10 * u**3 - 15 * u**4 + 6 * u**5,
        (30 * u**2 - 60 * u**3 + 30 * u**4) / seconds,
        (60 * u - 180 * u**2 + 120 * u**3) / seconds**2,
    )
    here, parts = own.start[own.drives], []
    while len(parts) < count:
        goal = own.start[own.drives] + amplitude * rng.uniform(-1, 1, robot.dof)
        q, qd, qdd = (np.outer(x, goal - here) for x in shapes)
        motion = own.motion(here + q, qd, qdd)
        if within_limits(robot, motion):
            here = goal
            parts.append(motion)
    motion = type(parts[0])(*(np.concatenate(x) for x in zip(*parts, strict=True)))
    return np.arange(len(motion.q)) / RATE, motion


def recorded(robot, t, motion, encoder=0.0, noise=0.02, seed=1, **more):
    """The log of the drives: noisy encoders, and torques with noise of so much of their size."""
    rng, drives = np.random.default_rng(seed), list(robot.driven)
    tau = robot.inverse_dynamics(*motion)[:, drives]
    size = noise * np.sqrt((tau**2).mean(axis=0))
    q = motion.q[:, drives] + encoder * rng.normal(size=tau.shape)
    return dy.Log(t=t, q=q, tau=tau + size * rng.normal(size=tau.shape), **more)


@pytest.fixture(scope="module", params=thorough_but((), ["3-rps", "delta"]))
def identified(request):
    robot, (*_, amplitude, encoder) = rubbing(request.param), PASSIVE[request.param]
    log = recorded(robot, *waves(robot, amplitude), encoder, name="waves")
    return robot, dy.identify(robot, log, held_out=False)


def test_base_parameters_lie_in_their_intervals(identified):
    robot, found = identified
    low, high = found.intervals(0.99).T
    true = found.unknowns.values
    inside = (true >= low) & (true <= high)
    assert (~inside).sum() <= 1, np.array(found.names)[~inside]  # of 43 and 49
    joints = PASSIVE[robot.name][0]
    assert all(f"{name}.viscous" in found.names for name in joints)
    assert found.is_physical and found.verdict.level == "good"
    assert set(found.verdict.joints) == {robot.joint_names[k] for k in robot.driven}


def test_unknowns_do_not_depend_on_names():
    """Two links of the 3-rps are called as their joints; neither has mass, nor is it sought."""
    robot = dy.load("3-rps")
    links = [replace(x, joint_name=f"pivot{k}") for k, x in enumerate(robot.model.links)]
    named = dy.Robot(replace(robot.model, links=tuple(links)))
    found, other = (unknowns(x, friction_named("smooth")) for x in (robot, named))
    assert found.kinds == other.kinds and found.kinds.count("body") == 25


def test_a_motion_of_another_kind_is_predicted(identified):
    robot, found = identified
    *_, amplitude, encoder = PASSIVE[robot.name]
    t, motion = from_point_to_point(robot, 0.8 * amplitude)
    check = found.validate(recorded(robot, t, motion, encoder, seed=3, name="points"))
    assert check.kind == "a motion of another kind" and "points" not in check.joint_names
    assert check.relative_error_overall < 0.022  # 2 % of it is noise
    drives = list(robot.driven)
    a, b = (x.inverse_dynamics(*motion)[:, drives] for x in (robot, found.robot))
    assert np.linalg.norm(a - b) < 0.003 * np.linalg.norm(a)
    assert found.robot.model.closures and found.robot.active == robot.active


@pytest.fixture(scope="module")
def small():
    robot = rubbing("five-bar")
    t, motion = waves(robot, 0.6, 16.0)
    return robot, t, motion


@pytest.mark.parametrize("estimator", ["weighted", "instrumental", "robust"])
def test_without_noise_every_estimator_finds_the_truth(small, estimator):
    robot, t, motion = small
    log = recorded(robot, t, motion, noise=1e-6)
    found = dy.identify(robot, log, estimator=estimator, held_out=False, cutoff=30.0)
    true = found.unknowns.values
    assert np.abs(found.values - true).max() < 0.003 * np.abs(true).max()


def test_friction_under_load_is_not_among_the_models(small):
    robot, t, motion = small
    names = [model.name for model in chosen_among(robot, heated=False)]
    assert "smooth" in names and not [name for name in names if "loaded" in name]
    with pytest.raises(OptionError, match="friction under load is not available"):
        dy.identify(robot, recorded(robot, t, motion), friction="loaded")


def test_passive_joints_that_rub_are_chosen(small):
    robot, t, motion = small
    log = recorded(robot, t, motion)

    def passive(**options):
        found = dy.identify(robot, log, estimator="weighted", held_out=False, **options)
        return {name for name in found.names if "elbow" in name and ("v" in name or "b." in name)}

    both = {"left_elbow.viscous", "right_elbow.viscous"}
    assert both <= passive() and not both & passive(passive_friction="none")
    one = passive(passive_friction=["left_elbow"])
    assert "left_elbow.viscous" in one and "right_elbow.viscous" not in one
    with pytest.raises(OptionError, match="there is no passive joint 'left_motor'"):
        passive(passive_friction=["left_motor"])
    with pytest.raises(OptionError, match="passive_friction"):
        passive(passive_friction="some")


def test_joints_that_turn_alike_share_their_friction():
    """In a parallelogram: two passive joints turn with the crank, one of them against it."""
    robot = parallelogram()
    rubs = (dy.Friction(viscous=0.1), dy.Friction(viscous=0.2), dy.Friction(viscous=0.4))
    pairs = zip(robot.model.links, rubs, strict=True)
    links = tuple(replace(x, friction=friction) for x, friction in pairs)
    robot = dy.Robot(replace(robot.model, links=links))
    wanted = unknowns(robot, friction_named("viscous"), passive="all")
    assert "joint1.viscous + joint2.viscous + joint3.viscous" in wanted.names
    assert wanted.kinds.count("viscous") == 1
    state = random_motion(robot, 10, np.random.default_rng(4))
    found = wanted.regressor(*state) @ wanted.values
    np.testing.assert_allclose(found, robot.inverse_dynamics(*state)[:, :1], atol=1e-9)


def test_springs_are_identified_and_friction_of_a_drive_is_drawn():
    robot = tooled()
    links = tuple(replace(x, friction=replace(x.friction, law="smooth")) for x in robot.model.links)
    robot = dy.Robot(replace(robot.model, links=links))
    log = recorded(robot, *waves(robot, 0.5, 12.0), noise=1e-5)
    found = dy.identify(robot, log, estimator="weighted", held_out=False, cutoff=30.0)
    got = dict(zip(found.names, found.values, strict=True))
    assert abs(got["spring1.stiffness"] - 40.0) < 0.4 and abs(got["spring1.damping"] - 3.0) < 0.1
    rows = fitted_rows(found)[0]
    v, tau, _ = friction_curve(found, 1, float(np.abs(rows.qd[:, 1]).max()))
    qd = np.zeros((len(v), robot.n))
    qd[:, 2] = v
    assert np.abs(tau - robot.friction_torque(qd)[:, 2]).max() < 0.02
    own, fast = np.interp(rows.qd[:, 1], v, tau), np.abs(rows.qd[:, 1]) > 0.3
    assert np.median(np.abs(rows.friction[:, 1] - own)[fast & rows.counted[:, 1]]) < 0.01


def test_a_platform_that_carries_something(small):
    robot, t, motion = small
    carrying = robot.with_payload(0.8, (0.02, -0.01, 0.0), np.diag([0.004, 0.005, 0.003]).tolist())
    log = recorded(carrying, t, motion, noise=0.005)
    found = dy.identify_payload(robot, log)
    assert abs(found.mass - 0.8) < 4.0 * found.standard_deviations[0] < 0.1
    assert {"cz", "Ixx"} <= set(found.unseen)  # it moves in a plane
    assert found.residual_without.max() > 3.0 * found.residual.max()
    free = recorded(robot, t, motion, noise=0.005, seed=9)
    heavier = robot.with_parameters(1.1 * np.asarray(robot.parameters.values))
    other = dy.identify_payload(heavier, log, free=free, friction="offset")
    assert abs(other.mass - 0.8) < 0.05
    with pytest.raises(OptionError, match="PayloadObserver is not available"):
        dy.PayloadObserver(model=robot).gains(robot)


def test_samples_that_do_not_close_are_left_out_and_named(small):
    robot, t, motion = small
    whole = recorded(robot, t, motion)
    q = np.array(whole.q)
    q[1000:1080] = np.pi, 0.0  # the cranks apart, beyond what the couplers reach
    log = dy.Log(t=t, q=q, tau=whole.tau)
    samples, _ = prepare(log, dy.Processing(cutoff=20.0, spikes="keep"), robot=robot)
    assert len(samples) == 2 and np.isfinite(samples[1].qdd).all()
    assert samples[0].t[-1] < t[1000] and samples[1].t[0] > t[1079]
    how = {"held_out": False, "force": True, "processing": dy.Processing(spikes="keep")}
    found = dy.identify(robot, log, estimator="weighted", **how)
    said = [f.what for f in found.findings if "do not close the loops" in f.what]
    assert said and "t = 4 s" in said[0]
    predicted = found.predict(log)
    assert np.isnan(predicted[1040]).all() and np.isfinite(predicted[500]).all()
    far = dy.Log(t=t, q=0.1 * (q - q[0]) + [np.pi, 0.0], tau=whole.tau)
    with pytest.raises((ClosureError, LogError), match="clos"):
        dy.identify(robot, far)


def test_logs_are_those_of_the_drives(small):
    robot, t, motion = small
    tau = robot.inverse_dynamics(*motion)
    every = dy.Log(t=t, q=motion.q, tau=tau)  # all joints: those of the drives count
    found = dy.identify(robot, every, estimator="weighted", held_out=False)
    assert found.logs[0].n == 2 and found.predict(every).shape == (len(t), 2)
    with pytest.raises(ShapeError, match="has 2 drives: left_motor, right_motor"):
        dy.identify(robot, dy.Log(t=t, q=motion.q[:, :3], tau=tau[:, :3]))
    with pytest.raises(OptionError, match="more drives than degrees of freedom"):
        dy.identify(five_bar(passive=False), every)
    with pytest.raises(OptionError, match="refine is not available"):
        found.refine(found.logs[0], dy.control.PointToPoint(kp=[1, 1], kd=[1, 1]), [0.0, 0.0])


def test_a_simulated_run_becomes_a_report(tmp_path):
    """Through a file of all joints, of which those of the drives count."""
    robot = rubbing("five-bar")
    pid = dy.control.JointPID(kp=[60.0, 60.0], ki=[20.0, 20.0], kd=[6.0, 6.0])
    start, w = robot.home[list(robot.driven)], np.array([2.2, 3.1])

    def reference(t):
        x = np.multiply.outer(t, w)
        return start + 0.3 * np.sin(x), 0.3 * w * np.cos(x), -0.3 * w * w * np.sin(x)

    run = dy.simulate(robot, 4.0, dt=2e-3, q0=robot.home, controller=pid, reference=reference)
    log = dy.Log.from_run(run)
    assert log.n == 2
    again = dy.read_log(run.save(tmp_path / "run.csv"), robot=robot)
    np.testing.assert_allclose(again.q, log.q)
    found = dy.identify(robot, again, estimator="weighted", force=True, held_out=False)
    assert found.training[0].relative_error_overall < 0.05
    page = found.report(tmp_path / "id.html").read_text()
    assert "left_motor" in page and "right_motor" in page


def test_draws_are_mechanisms(small):
    robot, t, motion = small
    log = recorded(robot, t, motion)
    found = dy.identify(robot, log, held_out=False)
    draws = found.sample(20)
    drawn = robot.with_parameters(draws[0])
    assert drawn.model.closures and len(draws) == 20
    spread = (found.unknowns.group @ draws.T).std(axis=1) / found.standard_deviations
    assert 0.05 < np.median(spread) < 3.0
