"""Friction with memory from logs: weights, radii, and what is handed over with them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.estimate import beside
from dynamis.identify.friction.dense_rows import rows_to_fit
from dynamis.identify.friction.models import FRICTIONS, USUAL_RADII, friction_named
from dynamis.identify.processing import Processing, prepare, torque_of
from dynamis.identify.unknowns import unknowns
from dynamis.logs.log import LONG_GAP
from dynamis.robot.deflections import deflections
from tests.thorough import thorough_but

from ..closed_mechanisms import parallelogram
from .motions import arm, series

WEIGHTS = {1e-3: 0.8, 1e-2: 0.5}
VELOCITY = 0.003  # rad/s, of their Coulomb friction
WITHIN = 0.1  # of a weight


def step_by_step(q, radii):
    """Deflections of elements over their radii, one row after the other."""
    z, found = np.zeros(len(radii)), []
    for k in range(len(q)):
        z = np.clip(z + q[k] - q[max(k - 1, 0)], -radii, radii)
        found.append(z / radii)
    return np.array(found).reshape(q.shape)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 400), st.integers(0, 3), st.integers(0, 1000))
def test_deflections_are_those_of_one_step_after_the_other(rows, size, seed):
    rng = np.random.default_rng(seed)
    q, radii = np.cumsum(rng.normal(size=(rows, size)), axis=0), rng.uniform(0.1, 30.0, size)
    found, told = deflections(q, radii)
    np.testing.assert_allclose(found, step_by_step(q, radii), rtol=0.0, atol=1e-12 * rows)
    assert told.shape == found.shape and (np.diff(told.astype(int), axis=0) >= 0).all()
    if rows:  # of rows that tell it how the element began does not matter
        begun = np.concatenate([q[:1] - 2.0 * radii, q])
        moved = deflections(begun, radii)[0][1:]
        np.testing.assert_allclose(found[told], moved[told], rtol=0.0, atol=1e-9 * rows)


def with_hysteresis(robot, q, qd, qdd):
    """What the robot needs for a motion, its elements with memory carried along."""
    tau = robot.inverse_dynamics(q, qd, qdd)
    for joint, link in enumerate(robot.model.links):
        memory = link.friction.memory
        for radius, weight in zip(memory.radii, memory.weights, strict=True):
            u = step_by_step(q[:, [joint]], np.array([radius]))[:, 0]
            tau[:, joint] += weight * (u - np.sign(qd[:, joint]))
    return tau


def hysteretic(**weights):
    """Two links whose joints have memory, and the same arm described without."""
    true = arm(law="smooth", velocity=VELOCITY, memory=dy.Memory((*WEIGHTS,), (*WEIGHTS.values(),)))
    links = [replace(x, friction=dy.Friction(law="smooth")) for x in true.model.links]
    return true, dy.Robot(replace(true.model, links=tuple(links)))


def recorded(robot, seed=0, noise=0.05, **options):
    """The log of a random motion with many reversals."""
    options = {"seconds": 30.0, "rate": 250.0, "harmonics": 25, "size": 0.2} | options
    t, q, qd, qdd = series(seed, robot.n, **options)
    noisy = noise * np.random.default_rng([seed, 7]).normal(size=q.shape)
    tau = with_hysteresis(robot, q, qd, qdd) + noisy
    return dy.Log(t=t, q=q, qd=qd, tau=tau, name=f"motion {seed}")


@pytest.fixture(scope="module")
def identified(compiled):
    true, described = hysteretic()
    return true, dy.identify(described, recorded(true), estimator="feasible")


def weights_of(found):
    of = found.unknowns.of_kind("memory")
    return dict(zip(np.array(found.names)[of], found.values[of], strict=True))


def test_auto_finds_radii_and_weights(identified):
    true, found = identified
    assert found.unknowns.friction.name == "memory"
    assert found.unknowns.friction.radii == (*WEIGHTS,)
    low, high = found.intervals(0.99).T
    for joint in true.joint_names:
        for k, weight in enumerate(WEIGHTS.values()):
            i = found.names.index(f"{joint}.memory{k + 1}")
            assert found.values[i] == pytest.approx(weight, rel=WITHIN)
            assert low[i] <= weight <= high[i]
    (choice,) = (x for x in found.choices if x.what == "radii of memory")
    assert choice.chosen == "0.001, 0.01" and choice.others[0][0] == "none"
    assert choice.others[0][1] > 1.1 * choice.error
    assert found.is_physical and found.verdict.level == "good"
    assert dict(found.scores)[found.friction] == choice.error


def test_the_robot_has_the_memory_that_was_validated(identified):
    true, found = identified
    for joint, link in enumerate(found.robot.model.links):
        memory = link.friction.memory
        assert memory.radii == (*WEIGHTS,)
        named = [weights_of(found)[f"{true.joint_names[joint]}.memory{k + 1}"] for k in (0, 1)]
        np.testing.assert_allclose(memory.weights, named)
    log = recorded(true, 3)
    own = beside(lambda s: torque_of(found.robot, s), found.robot, log, found._how(log))
    np.testing.assert_allclose(own.predicted, found.validate(log).predicted, atol=1e-9)
    assert found.validate(log).relative_error_overall < 0.01
    assert not any("not the model that was validated" in x.what for x in found.findings)
    without = dy.identify(found.unknowns.robot, found.logs[0], friction="smooth", held_out=False)
    error = without.validate(log).relative_error_overall
    assert error > 2.0 * found.validate(log).relative_error_overall


def test_a_law_bends_beside_elements_where_it_does_not_without(identified):
    """Alone a smooth law takes the place of elements, over three times the velocities it has."""
    _, found = identified
    assert found.unknowns.friction.constants["velocity"] == VELOCITY
    (choice,) = (x for x in found.choices if x.what == "constants beside memory")
    assert choice.chosen == "velocity = 0.003" and choice.error < min(e for _, e in choice.others)
    (law,) = (x for x in found.choices if x.what == "friction")
    assert "velocity" not in law.chosen  # 0.01, the usual one
    off = [(weights_of(found)[f"joint{k}.memory1"] - WEIGHTS[1e-3]) for k in (1, 2)]
    assert np.abs(off).max() < 0.006  # 0.7 % of it; 1 to 2 % at 0.01 rad/s


@pytest.mark.thorough
@pytest.mark.parametrize("step", [0.0, 2e-4])
def test_intervals_of_weights_hold(compiled, step):
    """Twelve motions, exact positions or coarse ones: no bias, and intervals of 95 %."""
    true, described = hysteretic()
    off, said = [], []
    for seed in range(400, 412):
        log = recorded(true, seed)
        if step:
            log = dy.Log(t=log.t, q=step * np.round(log.q / step), tau=log.tau)
        found = dy.identify(described, log, held_out=False)
        assert found.unknowns.friction.radii == (*WEIGHTS,)
        of = found.unknowns.of_kind("memory")
        off.append(found.values[of] - 2 * [*WEIGHTS.values()])
        said.append(found.standard_deviations[of])
    off, said = np.array(off), np.array(said)
    assert (np.abs(off) < 1.96 * said).mean() >= 0.9
    assert np.abs(off).max() < (0.05 if step else 0.02) * WEIGHTS[1e-3]
    chance = np.sqrt((off**2).mean(axis=0) / len(off))
    assert (np.abs(off.mean(axis=0)) < 3.0 * chance).all()


def test_rows_of_a_low_cutoff_miss_no_turn(compiled):
    """Thinned before the filter, as rows without memory are, they miss weights by 1 to 4 %."""
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=(*WEIGHTS,), constants={"velocity": VELOCITY})
    log, how = recorded(true, noise=0.0), Processing(cutoff=4.0, torque_delay=0.0)
    options = {"held_out": False, "estimator": "weighted", "processing": how}
    found = dy.identify(described, log, friction=model, **options)
    wanted = 2 * [*WEIGHTS.values()]
    np.testing.assert_allclose([*weights_of(found).values()], wanted, rtol=2e-3)
    (plain,), chosen = rows_to_fit(log, how, FRICTIONS["smooth"], true)
    (dense,), same = rows_to_fit(log, how, model, true)
    assert chosen == same and len(dense) == len(log) > len(plain)
    kept = [np.diff(x.t[:: x.every]) for x in (plain, dense)]
    np.testing.assert_allclose(kept[1], 15.0 * log.step)  # four a period
    assert dense.passed == pytest.approx(4.0 * kept[1][0])


def test_constants_that_are_given_stay(compiled):
    true, described = hysteretic()
    for velocity in (0.02, 0.01):
        model = replace(FRICTIONS["memory"], constants={"velocity": velocity})
        found = dy.identify(described, recorded(true), friction=model, held_out=False)
        sought = velocity == 0.01  # the usual one
        assert found.unknowns.friction.constants["velocity"] == (VELOCITY if sought else velocity)


def test_samples_reports_and_curves_go_on_working(identified, tmp_path):
    _, found = identified
    names = found.robot.parameters.names
    of = [k for k, name in enumerate(names) if ".memory" in name]
    draws = found.sample(200)[:, of]
    assert (draws >= 0.0).all() and (draws.std(axis=0) > 0.0).all()
    values = np.array(found.robot.parameters.values)[of]
    np.testing.assert_allclose(draws.mean(axis=0), values, rtol=0.1)
    assert "memory" in found.report(tmp_path / "report.html").read_text()
    assert found.interval_source and np.isfinite(found.standard_deviations).all()


def test_an_arm_without_memory_gets_none(compiled):
    true = arm(law="smooth", velocity=0.003, memory=dy.Memory(1e-3, 0.0))
    found = dy.identify(hysteretic()[1], recorded(true), held_out=False, estimator="weighted")
    assert not len(found.unknowns.of_kind("memory"))
    assert not any(x.what == "radii of memory" for x in found.choices)


@pytest.mark.parametrize("estimator", ["ordinary", "robust", "instrumental", "feasible"])
def test_no_weight_is_below_zero(compiled, estimator):
    """Of radii that are not there some would have a negative weight."""
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=(3e-4, 1e-3, 3e-3, 1e-2, 3e-2))
    log = recorded(true, seconds=10.0)
    found = dy.identify(described, log, friction=model, held_out=False, estimator=estimator)
    weights = np.array([*weights_of(found).values()]).reshape(2, 5)
    assert (weights >= 0.0).all()
    np.testing.assert_allclose(weights.sum(axis=1), sum(WEIGHTS.values()), rtol=0.3)


@pytest.mark.parametrize("seed", thorough_but([205], [201, 205, 211]))
def test_radii_from_coarse_encoders(compiled, seed):
    """Positions in steps of a fifth of the smaller radius: a filter hides which one it is."""
    true, described = hysteretic()
    log = recorded(true, seed)
    log = dy.Log(t=log.t, q=2e-4 * np.round(log.q / 2e-4), tau=log.tau)
    found = dy.identify(described, log, held_out=False)
    assert {1e-3, 1e-2} <= set(found.unknowns.friction.radii)
    by_radius = found.values[found.unknowns.of_kind("memory")].reshape(2, -1)
    for k, radius in enumerate(found.unknowns.friction.radii):
        wanted = WEIGHTS.get(radius, 0.0)
        np.testing.assert_allclose(by_radius[:, k], wanted, atol=WITHIN * WEIGHTS[1e-3])


def test_radii_that_are_given_stay(compiled):
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=(1e-3, 1e-2), constants={"velocity": 0.003})
    found = dy.identify(described, recorded(true), friction=model, held_out=False)
    assert found.unknowns.friction.radii == (1e-3, 1e-2)
    for name, weight in weights_of(found).items():
        assert weight == pytest.approx((*WEIGHTS.values(),)[int(name[-1]) - 1], rel=WITHIN)


def test_radii_by_name_are_chosen_and_short_logs_take_the_usual_ones(compiled):
    true, described = hysteretic()
    found = dy.identify(described, recorded(true), friction="memory", held_out=False)
    assert found.unknowns.friction.radii == (*WEIGHTS,)
    short = recorded(true, seconds=1.0)
    found = dy.identify(
        described, short, friction="memory", held_out=False, estimator="weighted", force=True
    )
    elements = found.unknowns.elements
    assert tuple(elements.radii) == 2 * USUAL_RADII


def test_radii_are_refused_without_memory():
    with pytest.raises(OptionError, match="has no memory"):
        replace(FRICTIONS["smooth"], radii=(1e-3,))
    for radii in ((-1.0,), (0.0,), (1e-3, 1e-3)):
        with pytest.raises(dy.errors.DynamisError, match="radii"):
            replace(FRICTIONS["memory"], radii=radii)
    with pytest.raises(OptionError, match="does not exist"):
        friction_named("memori")
    assert str(replace(FRICTIONS["memory"], radii=(1e-3,))) == "memory (radii = 0.001)"


def test_the_robots_own_radii_are_kept_where_it_is_described(compiled):
    """Joints may have other radii, or none."""
    true, _ = hysteretic()
    first, second = true.model.links
    links = (first, replace(second, friction=replace(second.friction, memory=None)))
    guess = replace(first.friction, memory=dy.Memory((*WEIGHTS,), (0.1, 0.1)))
    robot = dy.Robot(replace(true.model, links=links))
    described = dy.Robot(replace(true.model, links=(replace(first, friction=guess), links[1])))
    t, q, qd, qdd = series(0, 2, seconds=30.0, rate=250.0, harmonics=25, size=0.2)
    tau = robot.inverse_dynamics(q, qd, qdd)
    for radius, weight in WEIGHTS.items():
        u = step_by_step(q[:, [0]], np.array([radius]))[:, 0]
        tau[:, 0] += weight * (u - np.sign(qd[:, 0]))
    found = dy.identify(
        described, dy.Log(t=t, q=q, qd=qd, tau=tau), friction="described", held_out=False
    )
    assert [*weights_of(found)] == ["joint1.memory1", "joint1.memory2"]
    np.testing.assert_allclose([*weights_of(found).values()], [*WEIGHTS.values()], rtol=WITHIN)


def test_gaps_reset_elements_and_rows_before_they_slip_do_not_count(compiled):
    true, described = hysteretic()
    log = recorded(true, seconds=20.0)
    keep = (log.t < 8.0) | (log.t > 8.0 + 2.0 * LONG_GAP * log.step + 0.5)
    parts = {name: getattr(log, name)[keep] for name in ("t", "q", "qd", "tau")}
    how = Processing(cutoff=40.0, velocity="log")
    sought = unknowns(described, replace(FRICTIONS["memory"], radii=(1e-3, 0.3)), True)
    first, second = prepare(dy.Log(**parts), how)[0]
    for samples in (first, second):
        u, told = samples.deflection(sought)
        assert (u[0] == 0.0).all() and u.shape == (len(samples), 4)
        for joint in (0, 1):
            moved = np.ptp(samples.q[: np.argmax(told[:, joint]) + 1, joint])
            assert 0.2 < moved <= 0.61
        counted = np.concatenate([w for *_, w, _ in samples.blocks(sought)])
        assert (counted[~told[:: samples.every]] == 0.0).all()
    never = unknowns(described, replace(FRICTIONS["memory"], radii=(1e-3, 30.0)), True)
    assert first.deflection(never)[1][-1].all()  # how it began looks like an offset
    resting = replace(first, q=0.0 * first.q)
    assert resting.deflection(never)[1].all() and not resting.deflection(never)[0].any()


def test_a_slide_has_radii_in_metres(compiled):
    link = dy.Link(
        joint="prismatic", mass=20.0, com=(0, 0, 0), inertia=(1, 1, 1),
        friction=dy.Friction(
            viscous=50.0, coulomb=3.0, law="smooth", velocity=0.003, memory=dy.Memory(3e-4, 12.0)
        ),
    )  # fmt: skip
    true = dy.Robot.from_dh("slide", convention="standard", gravity=(0, 0, 0), links=[link])
    plain = replace(link, friction=dy.Friction())
    described = dy.Robot(replace(true.model, links=(plain,)))
    found = dy.identify(described, recorded(true, noise=0.3, size=0.1), held_out=False)
    assert found.unknowns.friction.has_memory and found.unknowns.friction.radii == (3e-4,)
    assert weights_of(found)["joint1.memory1"] == pytest.approx(12.0, rel=WITHIN)


@pytest.mark.parametrize("name", thorough_but((), ["five-bar", "parallelogram"]))
def test_passive_joints_of_a_closed_mechanism(compiled, name):
    """Joints that turn alike share one weight."""
    robot = dy.load("five-bar") if name == "five-bar" else parallelogram()
    model = replace(FRICTIONS["memory"], radii=(1e-3,))
    sought = unknowns(robot, model, passive="all")
    of = sought.of_kind("memory")
    assert all(name.count("memory") >= 1 for name in np.array(sought.names)[of])
    assert len(of) == len({*sought.elements.joints})


def test_turns_in_few_blocks_are_enough(compiled):
    """A large element and a small one that only the blocks with turns show."""
    memory = dy.Memory((1e-3, 1e-2), (3.0, 4.0))
    real = one_bar(dy.Friction(viscous=1.5, coulomb=1.0, memory=memory))
    a, b = [[0.5, -0.3, 0.12, 0.08]], [[-0.2, 0.25, 0.1, -0.12]]
    move = dy.trajectory.fourier(a, b, 5.0)
    run = dy.simulate(
        real, 20.0, 1e-3, q0=move(0.0)[0], controller=dy.control.ComputedTorque(400.0, 40.0),
        reference=move, sensors=dy.Sensors(encoder=2 * np.pi / 2**20, seed=1), check_step=False,
    )  # fmt: skip
    found = dy.identify(one_bar(dy.Friction()), dy.Log.from_run(run), friction="memory")
    has = found.robot.model.links[0].friction
    assert has.memory.radii == memory.radii
    np.testing.assert_allclose(has.memory.weights, memory.weights, rtol=0.03)
    assert has.coulomb[0] == pytest.approx(1.0, abs=0.1)


def one_bar(friction):
    """A bar of 1 m in the vertical plane."""
    link = dy.Link(a=1.0, mass=5.0, com=(-0.5, 0, 0), inertia=(0, 0.4, 0.4), friction=friction)
    return dy.Robot.from_dh("bar", convention="standard", gravity=(0, -9.81, 0), links=[link])
