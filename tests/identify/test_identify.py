"""Arms whose truth is known come back; estimators, intervals, feasibility, what is said."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import DynamisError, DynamisWarning, OptionError, ShapeError
from dynamis.identify.estimators import ESTIMATORS
from dynamis.identify.feasible import physical, pseudo_inertias
from dynamis.identify.friction.models import FRICTIONS
from dynamis.identify.information import condition, information, joined, ordinary, weighted
from dynamis.identify.motion import lowpass
from dynamis.identify.processing import Processing, prepare
from dynamis.identify.unknowns import Unknowns, unknowns
from dynamis.identify.verdict.diagnose import LogError
from tests.thorough import thorough_but

from .motions import arm, coupled, log_of, series

ROBOT = arm()
LOG = log_of(ROBOT)
OTHER = log_of(ROBOT, seed=3)


WARM = replace(LOG, temperature=np.linspace([25.0, 25.0], [35.0, 40.0], len(LOG)))


def truth(estimate, robot=ROBOT):
    return estimate.unknowns.group @ np.asarray(robot.parameters.values)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_truth_comes_back(estimator):
    found = dy.identify(ROBOT, LOG, friction="asymmetric", estimator=estimator)
    size = np.abs(truth(found))
    assert np.abs(found.values - truth(found)).max() < 0.02 * size.max()
    assert found.validate(OTHER).relative_error_overall < 0.01
    assert found.held_out.relative_error_overall < 0.01


def test_the_robot_predicts_what_the_estimate_predicts():
    found = dy.identify(ROBOT, LOG, friction="asymmetric", estimator="weighted", held_out=False)
    samples, _ = prepare(OTHER, found._how(OTHER), thin=False)
    one = samples[0]
    tau = found.robot.inverse_dynamics(one.q, one.qd, one.qdd)
    np.testing.assert_allclose(tau, found.predict(OTHER), atol=1e-9)


@pytest.mark.parametrize("friction", [n for n in FRICTIONS if n != "none"])
def test_every_friction_model_fits_its_own_kind(friction):
    found = dy.identify(ROBOT, WARM, friction=friction, estimator="weighted", held_out=False)
    limit = 0.15 if friction == "viscous" else 0.02
    assert found.training[0].moving(0.1).relative_error_overall < limit


def test_intervals_hold_the_truth():
    """99 % intervals over seeds: the share inside is near 99 %, residuals being white."""
    inside = []
    for seed in range(12):
        log = log_of(ROBOT, seed=1, noise=0.0)
        noise = 0.3 * np.random.default_rng(seed).normal(size=log.q.shape)
        noisy = dy.Log(t=log.t, q=log.q, qd=log.qd, tau=log.tau + noise)
        found = dy.identify(
            ROBOT, noisy, friction="asymmetric", estimator="weighted", held_out=False
        )
        low, high = found.intervals(0.99).T
        inside.append((low <= truth(found)) & (truth(found) <= high))
    assert np.mean(inside) > 0.95


def test_more_noise_makes_wider_intervals():
    wide, narrow = (
        dy.identify(ROBOT, log_of(ROBOT, noise=s), friction="asymmetric", held_out=False)
        for s in (0.2, 0.02)
    )
    assert (wide.standard_deviations > 3 * narrow.standard_deviations).all()


def test_a_feasible_estimate_is_physical_where_least_squares_is_not():
    """A short, weak and noisy motion."""
    log = log_of(ROBOT, seed=5, noise=3.0, seconds=2.0, size=0.05)
    free = dy.identify(ROBOT, log, friction="asymmetric", estimator="ordinary", held_out=False)
    bound = dy.identify(ROBOT, log, friction="asymmetric", held_out=False)
    assert not free.is_physical
    assert bound.is_physical and all(bound.links_physical) and bound.friction_physical
    assert bound.robot.check() is not None
    q = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    assert (np.linalg.eigvalsh(bound.robot.mass_matrix(q))[:, 0] > 0).all()
    assert (np.linalg.eigvalsh(free.robot.mass_matrix(q))[:, 0] < 0).any()


def test_auto_finds_the_law():
    """Friction with a root and friction without one."""
    rooted = arm(law="smooth", velocity=0.01, ratio=2.0)
    found = dy.identify(rooted, log_of(rooted, noise=0.05), friction="auto", held_out=False)
    assert "grotjahn" in found.friction and found.scores[0][1] < 0.5 * found.scores[-1][1]
    plain = dy.identify(ROBOT, log_of(ROBOT, noise=0.3), friction="auto", held_out=False)
    assert plain.unknowns.friction.name in ("smooth", "asymmetric")


def test_a_root_reaches_the_robot():
    rooted = arm(law="smooth", velocity=0.01, ratio=2.0)
    log = log_of(rooted, noise=0.01)
    found = dy.identify(rooted, log, friction="grotjahn", estimator="weighted", held_out=False)
    speed = np.array([[-1.0, 0.5], [0.2, 0.05]])
    np.testing.assert_allclose(
        found.robot.friction_torque(speed), rooted.friction_torque(speed), rtol=0.05, atol=0.05
    )


def log_with_load():
    """A log of an arm whose gears rub in proportion to what they carry."""
    t, q, qd, qdd = series(2)
    rigid = ROBOT.inverse_dynamics(q, qd, qdd) - ROBOT.friction_torque(qd)
    tau = rigid + ROBOT.friction_torque(qd) + 0.08 * np.tanh(qd / 0.01) * np.abs(rigid)
    return dy.Log(t=t, q=q, qd=qd, tau=tau)


def test_a_load_reaches_the_friction_of_the_robot():
    """Friction of the teeth: torque times 1 + mu when driving, 1 - mu when driven."""
    log = log_with_load()
    found = dy.identify(ROBOT, log, friction="loaded", estimator="weighted", held_out=False)
    loads = found.values[found.unknowns.of_kind("load")]
    np.testing.assert_allclose(loads, 0.08, atol=0.01)
    assert [link.friction.load for link in found.robot.model.links] == loads.tolist()


def test_viscous_friction_by_direction_is_identified():
    links = [
        replace(x, friction=replace(x.friction, viscous=(2.0, 3.5), law="smooth"))
        for x in ROBOT.model.links
    ]
    sided = dy.Robot(replace(ROBOT.model, links=tuple(links)))
    log = log_of(sided, noise=0.01)
    for estimator in ("weighted", "feasible"):
        found = dy.identify(ROBOT, log, friction="directional", estimator=estimator, held_out=False)
        pairs = [link.friction.viscous for link in found.robot.model.links]
        np.testing.assert_allclose(pairs, 2 * [(2.0, 3.5)], rtol=0.03)


def test_springs_that_gravity_and_friction_hide_stay_as_described():
    """About a fixed axis k l dl/dq is a sine like gravity's; a damper at a joint is viscous."""
    springs = (
        dy.Spring(name="balance", from_point=(0, 0.5, 0), to="link1", to_point=(-0.2, 0.05, 0),
                  stiffness=90.0, rest_length=0.2, preload=4.0),
        dy.Spring(name="coil", kind="torsion", joint="joint2", stiffness=6.0, rest_angle=0.2,
                  damping=0.3),
    )  # fmt: skip
    true = dy.Robot(replace(ROBOT.model, springs=springs))
    guess = (replace(springs[0], stiffness=60.0), replace(springs[1], stiffness=1.0))
    log, other = log_of(true, noise=0.005), log_of(true, seed=3)
    for estimator in ("weighted", "feasible"):
        found = dy.identify(
            dy.Robot(replace(ROBOT.model, springs=guess)), log, friction="asymmetric",
            estimator=estimator, held_out=False,
        )  # fmt: skip
        assert found.unknowns.described == ("balance.preload", "coil.damping")
        assert "stays as described" in found.not_identifiable["coil.damping"]
        balance, coil = found.robot.model.springs
        assert (balance.preload, coil.damping) == (4.0, 0.3)
        assert balance.stiffness == pytest.approx(90.0, rel=0.05)
        assert coil.stiffness == pytest.approx(6.0, rel=0.05)
        assert found.validate(other).relative_error_overall < 0.01
        assert found.robot.model.findings == ()  # it is the model that was validated


def test_a_spring_that_pushes_the_wrong_way_is_no_robot():
    """A log of an arm that lacks the cylinder it is described with."""
    gas = dy.Spring(
        name="cylinder", kind="gas", from_point=(0, 2, 0), to="link2", force=10.0, gas_length=30.0
    )  # fmt: skip
    described, log = dy.Robot(replace(ROBOT.model, springs=(gas,))), log_of(ROBOT, noise=0.5)
    found = dy.identify(described, log, friction="asymmetric", estimator="weighted", held_out=False)
    assert found.values[found.unknowns.of_kind("spring")] < 0.0
    with pytest.raises(DynamisError, match=r"this estimate is no robot: spring.force is -0"):
        found.robot  # noqa: B018
    bound = dy.identify(described, log, friction="asymmetric", held_out=False)
    assert 0.0 <= bound.robot.model.springs[0].force < 1e-3


@dataclass(frozen=True)
class Rubber:
    """A load with a part that no constant multiplies, beside one that is linear."""

    size: float = 8.0
    width: float = 0.3

    def torque(self, q, qd, constants, fn):
        return [0.0, 5.0 * fn.tanh(q[1] / constants["width"]) + constants["size"] * fn.sin(q[0])]


def test_friction_under_load_knows_what_no_unknown_multiplies():
    """The robot that is handed over is the model that was validated."""
    true = ROBOT.with_load(Rubber())
    links = [
        replace(x, friction=replace(x.friction, load=0.1, law="smooth")) for x in true.model.links
    ]
    log = log_of(dy.Robot(replace(true.model, links=tuple(links))), noise=0.01)
    found = dy.identify(true, log, friction="loaded", estimator="weighted", held_out=False)
    assert found.robot.model.findings == ()
    np.testing.assert_allclose(found.values[found.unknowns.of_kind("load")], 0.1, atol=0.01)


def left_of(log, predicted):
    """Relative error in percent, as a finding writes it."""
    return f"{100 * np.linalg.norm(log.tau - predicted) / np.linalg.norm(log.tau):.2f} %"


def motors_that_rub():
    """An arm whose motors have viscous friction of their own, by the law of their joints."""
    rooted = arm(law="smooth", velocity=0.01, ratio=2.0)
    drive = dy.Drive(gear=10.0, viscous=0.02, rotor_inertia=1e-4)
    links = tuple(replace(link, drive=drive) for link in rooted.model.links)
    return dy.Robot(replace(rooted.model, links=links))


@pytest.mark.parametrize("friction", ["grotjahn", "loaded-grotjahn", "thermal"])
@pytest.mark.parametrize("robot", [motors_that_rub(), coupled()], ids=["own", "coupled"])
def test_motors_that_rub_hand_over_the_validated_model(robot, friction):
    """The ratio of a root or slope to viscous friction is that of joint and motor together."""
    log = log_of(robot)
    log = replace(log, temperature=30.0 + np.outer(np.linspace(0, 20, len(log)), [1.0, 0.5]))
    found = dy.identify(robot, log, friction=friction, held_out=False)
    assert not [f.what for f in found.findings if f.where == "robot handed over"]
    assert found.training[0].relative_error_overall < 0.03


def test_a_robot_that_is_not_the_validated_model_says_so(tmp_path, monkeypatch):
    robot = arm(law="smooth", velocity=0.01, ratio=2.0)
    log = log_of(robot)
    monkeypatch.setattr(Unknowns, "_with_friction", lambda _, link, *__: link)  # no root
    found = dy.identify(robot, log, friction="grotjahn", held_out=False)
    (said,) = (f for f in found.robot.check() if f.where == "robot handed over")
    own = left_of(log, found.predict(log))
    samples, _ = prepare(log, found.processing[0], thin=False)
    parts = [found.robot.inverse_dynamics(s.q, s.qd, s.qdd) for s in samples]
    handed = left_of(log, np.concatenate(parts)[: len(log)])
    assert own != handed
    assert f"misses {handed} of the torque" in said.what
    assert f"the validated model {own}" in said.what
    assert said in found.findings and said.level == "warning"
    for name in ("arm.toml", "arm.urdf"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DynamisWarning)  # what URDF cannot hold
            assert found.save(tmp_path / name) == tmp_path / name
        assert said in dy.load(tmp_path / name).check()
    page = found.report(tmp_path / "id.html").read_text(encoding="utf-8")
    shown = page.index(f"misses {handed} of the torque")
    assert shown < page.index("<h2>")  # before the first section
    again = dy.identify(found.robot, LOG, friction="smooth", held_out=False)
    assert again.robot.model.findings == ()  # it spoke of another fit


@pytest.mark.parametrize("friction", thorough_but(["smooth", "stribeck"], FRICTIONS))
def test_a_robot_that_is_the_validated_model_predicts_the_same(friction, tmp_path):
    log = log_with_load() if "load" in friction else WARM
    found = dy.identify(ROBOT, log, friction=friction, held_out=False, force=True)
    assert found.robot.model.findings == ()
    found.robot.save(tmp_path / "arm.toml")
    samples, _ = prepare(log, found.processing[0], thin=False)
    for robot in (found.robot, dy.load(tmp_path / "arm.toml")):
        for s in samples:
            tau = robot.inverse_dynamics(s.q, s.qd, s.qdd, temperature=s.temperature)
            own = found.unknowns.regressor(s.q, s.qd, s.qdd, s.temperature) @ found.values
            assert np.linalg.norm(tau - own) < 1e-6 * np.linalg.norm(tau)


def test_blocks_do_not_matter(monkeypatch):
    """The information is the same however the rows are cut; Gram and QR agree."""
    wanted = unknowns(ROBOT, FRICTIONS["asymmetric"])
    motions, _ = prepare(LOG, Processing(cutoff=20.0))
    whole = {how: ordinary(information(motions, wanted, method=how)).x for how in ("gram", "qr")}
    np.testing.assert_allclose(whole["gram"], whole["qr"], rtol=1e-7, atol=1e-8)
    half = len(motions[0]) // 2
    parts = [information([motions[0].rows(*cut)], wanted) for cut in ((0, half), (half, None))]
    both = ordinary(joined(parts)).x
    assert np.abs(both - whole["qr"]).max() < 0.02


def test_both_sides_pass_one_filter():
    """tau = Y x stays true; what is fast is gone, and a few rows stay as they are."""
    wanted = unknowns(ROBOT, FRICTIONS["asymmetric"])
    (m, *_), _ = prepare(LOG, Processing(cutoff=5.0, every=3))
    x = np.random.default_rng(0).normal(size=len(wanted))
    Y = wanted.regressor(m.q, m.qd, m.qdd)
    np.testing.assert_allclose(m.low_passed(Y) @ x, m.low_passed(Y @ x), atol=1e-9)
    (columns, tau, _, index), *_ = m.blocks(wanted)
    np.testing.assert_allclose(columns, m.low_passed(Y)[index], atol=1e-6)
    np.testing.assert_allclose(tau, m.low_passed(m.tau)[index], atol=1e-6)
    fast = np.tile([[1.0], [-1.0]], (len(m) // 2, 1))
    assert np.abs(m.low_passed(fast)[m.settle : -m.settle]).max() < 1e-3
    assert (m.low_passed(fast[:30]) == fast[:30]).all()


def test_nearly_dependent_columns_go_by_qr():
    """Two joints that always move together cannot be told apart: said, and no wild numbers."""
    t, q, qd, qdd = series(0)
    q, qd, qdd = (np.repeat(x[:, :1], 2, axis=1) for x in (q, qd, qdd))
    log = dy.Log(t=t, q=q, qd=qd, tau=ROBOT.inverse_dynamics(q, qd, qdd))
    options = {"friction": "asymmetric", "estimator": "weighted", "held_out": False}
    with pytest.raises(LogError, match="cannot tell the unknowns apart"):
        dy.identify(ROBOT, log, **options)
    found = dy.identify(ROBOT, log, force=True, **options)
    hidden = ~np.isfinite(found.standard_deviations)
    assert hidden.any() and set(np.array(found.names)[hidden]) <= set(found.not_identifiable)


def test_a_clean_log_that_begins_and_ends_in_motion():
    """Filters invent what came before and after: those rows do not count."""
    t, q, qd, qdd = series(4)
    log = dy.Log(t=t, q=q, tau=ROBOT.inverse_dynamics(q, qd, qdd))
    for name in ("ordinary", "weighted", "feasible"):
        found = dy.identify(ROBOT, log, friction="asymmetric", estimator=name, held_out=False)
        assert np.abs(found.values - truth(found)).max() < 0.01
        assert found.is_physical


def test_pseudo_inertia():
    ten = np.array([2.0, 0.2, 0.1, 0.0, 0.5, 0.01, 0.6, 0.0, 0.02, 0.4])
    P = pseudo_inertias(ten)
    np.testing.assert_allclose(P, np.tensordot(ten, pseudo_inertias(np.eye(10)), 1))
    points = np.random.default_rng(0).normal(size=(50, 3))
    mass = np.random.default_rng(1).uniform(0.1, 1, 50)
    ones = np.column_stack([points, np.ones(50)])
    direct = (mass[:, None] * ones).T @ ones
    I = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(mass, points, strict=True))
    h = mass @ points
    ten = [mass.sum(), *h, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
    np.testing.assert_allclose(pseudo_inertias(ten), direct)
    assert physical(ten) and physical(np.zeros(10))
    assert not physical([1.0, 0, 0, 0, 1.0, 0, 0.1, 0, 0, 0.1])  # the triangle inequality


def test_lowpass_has_no_phase():
    t = np.arange(0, 10, 0.01)
    slow = np.sin(2 * np.pi * t)[:, None]
    np.testing.assert_allclose(lowpass(slow, 10.0, 100.0)[50:-50], slow[50:-50], atol=1e-4)
    fast = np.sin(2 * np.pi * 30 * t)[:, None]
    assert np.abs(lowpass(fast, 5.0, 100.0)[50:-50]).max() < 1e-3


def test_scaling_does_not_change_the_condition_number():
    R = np.random.default_rng(0).normal(size=(20, 5))
    assert condition(R * np.array([1, 1e6, 1e-6, 3, 7])) == pytest.approx(condition(R))


def test_joints_are_weighted_by_their_noise():
    wanted = unknowns(ROBOT, FRICTIONS["asymmetric"])
    t, q, qd, qdd = series(0)
    noise = np.random.default_rng(0).normal(size=q.shape) * (5.0, 0.01)
    log = dy.Log(t=t, q=q, qd=qd, tau=ROBOT.inverse_dynamics(q, qd, qdd) + noise)
    info = information(prepare(log, Processing(cutoff=50.0, every=1))[0], wanted)
    better, plain = weighted(info), ordinary(info)
    true = wanted.group @ np.asarray(ROBOT.parameters.values)
    second = [k for k, name in enumerate(wanted.names) if "joint2" in name]
    error = [np.abs(s.x - true)[second].max() for s in (better, plain)]
    assert error[0] < 0.3 * error[1]


def test_several_logs_and_a_table():
    found = dy.identify(ROBOT, [LOG, OTHER], friction="asymmetric")
    assert len(found.training) == 2 and found.held_out.name == OTHER.name
    assert len(found.table()) == len(found.names) and "joint" in str(found.training[0])
    assert "physical" in repr(found) and "link1.Ixx" in found.not_identifiable


def test_save_and_load(tmp_path):
    found = dy.identify(ROBOT, LOG, friction="asymmetric", held_out=False)
    for name in ("arm.toml", "arm.urdf"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DynamisWarning)  # what URDF cannot hold
            assert found.save(tmp_path / name) == tmp_path / name
            assert found.save(str(tmp_path / name)) == tmp_path / name
        again = dy.load(tmp_path / name)
        q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2))
        np.testing.assert_allclose(
            again.inverse_dynamics(q, qd, qdd), found.robot.inverse_dynamics(q, qd, qdd), rtol=1e-9
        )


@pytest.mark.parametrize(
    "options, said",
    [
        ({"friction": "slippery"}, "friction 'slippery' does not exist"),
        ({"estimator": "magic"}, "estimator 'magic' does not exist"),
        ({"method": "three-step"}, "method is 'three-step'"),
        ({"cutoff": -1.0}, "cutoff is -1.0"),
        ({"processing": Processing(velocity="log")}, "no velocities"),
    ],
)
def test_bad_options(options, said):
    bare = dy.Log(t=LOG.t, q=LOG.q, tau=LOG.tau)
    with pytest.raises(OptionError, match=said):
        dy.identify(ROBOT, bare, **options)


def test_wrong_number_of_joints():
    with pytest.raises(ShapeError, match="has 2 joints, robot 'puma560' has 6"):
        dy.identify(dy.load("puma560"), LOG)


def test_something_that_is_no_log():
    with pytest.raises(OptionError, match="expected a Log"):
        dy.identify(ROBOT, "run.csv")


def test_a_cutoff_above_half_the_rate_is_refused():
    half = 0.5 * LOG.rate
    with pytest.raises(OptionError, match=f"cutoff is {1.2 * half:g} Hz, .* {half:g} Hz, half"):
        dy.identify(ROBOT, LOG, cutoff=1.2 * half)
