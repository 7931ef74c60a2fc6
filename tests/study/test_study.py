"""Studies: every figure is that of simulating the drawn arms one by one."""

import re

import numpy as np
import pytest

import dynamis as dy
from dynamis.simulation.measures import MEASURES
from tests.simulation.arms import GRAVITY, bar, pair, slider

DT, DURATION = 2e-3, 0.1
GOAL = np.array([0.4, -0.3])


def rubbing():
    return pair(*[bar(dy.Friction(viscous=0.5, coulomb=1.0), limits=(-0.1, 0.5)) for _ in range(2)])


def law():
    return dy.control.JointPID(kp=[400.0, 200.0], kd=[40.0, 20.0])


def move():
    return dy.trajectory.quintic([0.0, 0.0], GOAL, 0.08)


def vary(robot, **more):
    more |= {"friction": 0.3} if robot.friction_torque(np.ones(robot.n)).any() else {}
    return dy.Scatter(robot, mass=0.2, com=0.05, payload=(0.0, 2.0), **more)


def asked(robot=None, **more):
    robot = rubbing() if robot is None else robot
    options = {"dt": DT, "controller": law(), "reference": move()}
    options |= {} if "vary" in more else {"vary": vary(robot)}
    return dy.study(robot, DURATION, **{**options, "samples": 6, **more})


def alone(study, index, **more):
    """That sample, simulated by itself from its description."""
    drawn = study.draw(index)
    options = {"dt": DT, "controller": law(), "reference": move()}
    return dy.simulate(
        study.robot.with_parameters(drawn.parameters[0]), DURATION, q0=drawn.q0[0],
        qd0=drawn.qd0[0], **{**options, **more},
    )  # fmt: skip


def expected(run, band=0.01):
    """Every measure from its definition."""
    e, robot, dt = run.q - run.reference.q, run.robot, run.t[1] - run.t[0]
    gap = robot.fk(run.q)[:, :3, 3] - robot.fk(run.reference.q)[:, :3, 3]
    distance, power = np.linalg.norm(gap, axis=1), np.abs(run.tau * run.qd).sum(axis=1)
    settled = []
    for column in np.abs(e).T:
        outside = np.flatnonzero(~(column <= band))
        last = -1 if not len(outside) else outside[-1]
        settled.append(np.inf if last == len(e) - 1 else run.t[last + 1])
    return {
        "rms_error": np.sqrt((e**2).mean(axis=0)),
        "peak_error": np.abs(e).max(axis=0),
        "final_error": np.abs(e[-1]),
        "settling_time": settled,
        "rms_tool_error": [np.sqrt((distance**2).mean())],
        "peak_tool_error": [distance.max()],
        "final_tool_error": [distance[-1]],
        "peak_torque": np.abs(run.tau).max(axis=0),
        "rms_torque": np.sqrt((run.tau**2).mean(axis=0)),
        "peak_velocity": np.abs(run.qd).max(axis=0),
        "peak_power": [power.max()],
        "energy": [power.sum() * dt],
        "stop_hit": ((run.q <= -0.1) | (run.q >= 0.5)).any(axis=0),
    }


def values_of(study, name):
    """By sample: a small study keeps all of them among the worst."""
    found = study.worst(name, study.samples)
    return found.values[np.argsort(found.samples)]


@pytest.fixture(params=["machine code", "numpy"])
def either(request):
    if request.param == "machine code":
        request.getfixturevalue("compiled")


@pytest.fixture(params=["machine code", pytest.param("numpy", marks=pytest.mark.thorough)])
def mostly(request):
    """As `either`, where NumPy takes longest."""
    if request.param == "machine code":
        request.getfixturevalue("compiled")


def test_every_measure_is_that_of_the_arm_alone(either):
    study = asked(measure=tuple(MEASURES), band=0.05)
    for index in (0, study.samples - 1):
        wanted = expected(alone(study, index), band=0.05)
        assert wanted.keys() == MEASURES.keys()
        for name, value in wanted.items():
            found = values_of(study, name)[index]
            np.testing.assert_allclose(found, value, rtol=1e-7, atol=1e-10, err_msg=name)
    assert values_of(study, "settling_time").max() > 0.0
    assert not study.failed


def test_a_replayed_sample_is_the_sample(compiled):
    study = asked(measure=("rms_error", "peak_torque"))
    worst = study.worst("rms_error", 2)
    run = study.replay(int(worst.samples[0]))
    np.testing.assert_array_equal(
        np.abs(run.tau).max(axis=0), values_of(study, "peak_torque")[worst.samples[0]]
    )
    np.testing.assert_allclose(np.sqrt((run.error**2).mean(axis=0)), worst.values[0], rtol=1e-12)
    same = study.robot.with_parameters(study.draw(int(worst.samples[0])).parameters[0])
    np.testing.assert_allclose(run.robot.parameters.values, same.parameters.values)
    assert run.measured is not None and len(run.t) == 51


def test_what_does_not_vary_is_one_arm(compiled):
    study = asked(vary=None, samples=3, measure="rms_error")
    assert np.ptp(values_of(study, "rms_error"), axis=0).max() == 0.0
    run = dy.simulate(rubbing(), DURATION, DT, controller=law(), reference=move())
    np.testing.assert_allclose(study.mean("rms_error"), run.metrics.rms, rtol=1e-9)
    assert study.factors == () and not study.sensitivity("rms_error").shares.size


@pytest.mark.thorough
def test_starts_encoders_noise_and_delays_vary(mostly):
    robot = pair()
    noisy = dy.Sensors(position_noise=1e-3, seed=4)
    varied = dy.Scatter(
        robot, joint_offset=0.02, q0=0.1, qd0=0.2, delay=[0.0, DT], sensors=[noisy, dy.Sensors()],
        reference=[move(), dy.trajectory.quintic([0.0, 0.0], [0.1, 0.1], 0.1)],
    )  # fmt: skip
    study = asked(
        robot, vary=varied, reference=None, samples=12, measure=("rms_error", "peak_torque")
    )
    seen = set()
    for index in range(study.samples):
        drawn = study.draw(index)
        chosen = {name: getattr(varied, name)[x[0]] for name, x in drawn.chosen.items()}
        seen.add(tuple(int(x[0]) for x in drawn.chosen.values()))
        noise = chosen["sensors"].position_noise
        own = dy.Sensors(position_noise=noise, seed=4, offset=drawn.joint_offset[0])
        given = {**chosen, "sensors": own}
        if index == 0 or not chosen["sensors"].position_noise:  # alone an arm has number 0
            run = alone(study, index, **given)
            np.testing.assert_allclose(
                values_of(study, "rms_error")[index],
                np.sqrt(((run.q - run.reference.q) ** 2).mean(axis=0)), rtol=1e-8,
            )  # fmt: skip
        np.testing.assert_allclose(
            np.abs(study.replay(index).tau).max(axis=0),
            values_of(study, "peak_torque")[index],
            rtol=1e-9,
        )
    assert len(seen) > 4


def test_every_arm_has_noise_of_its_own_wherever_it_is_computed(compiled):
    sensors = dy.Sensors(position_noise=1e-3)
    study = asked(vary=None, sensors=sensors, samples=150, measure="rms_error")
    values = values_of_all(study, "rms_error")
    assert len(np.unique(values[:, 0])) == 150
    again = asked(vary=None, sensors=sensors, samples=150, measure="rms_error", threads=1)
    np.testing.assert_array_equal(values, values_of_all(again, "rms_error"))


def values_of_all(study, name):
    return study.case.values(study.case.draw(0, study.samples)).values[name]


def test_arms_alone_at_the_end_of_a_block_are_like_the_others(compiled):
    many = asked(samples=129, measure="rms_error")  # the last block has one
    np.testing.assert_allclose(
        many.case.values(many.case.draw(128, 1)).values["rms_error"],
        many.case.values(many.case.draw(100, 29)).values["rms_error"][-1:], rtol=0,
    )  # fmt: skip


def test_an_encoder_that_is_off_by_a_little_moves_the_arm_by_it(compiled):
    robot = slider()
    law = dy.control.JointPID(kp=400.0, kd=40.0)
    sensors = dy.Sensors(offset=0.01)
    run = dy.simulate(robot, 3.0, controller=law, reference=[0.2], sensors=sensors)
    np.testing.assert_allclose(run.q[-1], 0.19, atol=1e-6)
    np.testing.assert_allclose(run.measured.q[-1], 0.2, atol=1e-6)


def test_functions_of_ones_own(mostly):
    def top(run):
        return run.q.max(axis=0)

    def fastest(run):
        return np.abs(run.qd).max()

    study = asked(measure=("peak_velocity", top, fastest))
    assert study.measures == ("peak_velocity", "top", "fastest")
    np.testing.assert_allclose(
        values_of(study, "fastest")[:, 0], values_of(study, "peak_velocity").max(axis=1)
    )
    plain = asked(measure="peak_velocity")
    np.testing.assert_allclose(
        values_of(study, "peak_velocity"), values_of(plain, "peak_velocity"), rtol=1e-12
    )
    for index in range(study.samples):
        np.testing.assert_array_equal(
            study.replay(index).q.max(axis=0), values_of(study, "top")[index]
        )


@pytest.mark.parametrize(
    "more", [{"integrator": "dormand-prince", "controller": None}, {"function": True}]
)
def test_what_no_machine_code_can_run(compiled, more):
    options = dict(more)
    if options.pop("function", False):
        options["controller"] = lambda t, q, qd: 400.0 * (GOAL - q) - 40.0 * qd
    study = asked(pair(), measure=("peak_velocity", "rms_torque"), samples=3, **options)
    for index in range(3):
        given = {**options, "reference": None} if options.get("controller") is None else options
        run = alone(study, index, **given)
        found = values_of(study, "peak_velocity")[index]
        np.testing.assert_allclose(found, np.abs(run.qd).max(axis=0), rtol=1e-5)


def test_torques_along_a_trajectory(either):
    robot = rubbing()
    study = dy.study(
        robot, dt=DT, reference=move(), simulate=False, vary=vary(robot), samples=5,
        measure=("peak_torque", "rms_torque", "rms_error"),
    )  # fmt: skip
    t = DT * np.arange(41)
    wanted = move()(t)
    for index in range(5):
        arm = robot.with_parameters(study.draw(index).parameters[0])
        tau = arm.inverse_dynamics(*wanted)
        np.testing.assert_allclose(values_of(study, "peak_torque")[index], np.abs(tau).max(axis=0))
        np.testing.assert_allclose(study.replay(index).tau, tau, atol=1e-9)
    assert not values_of(study, "rms_error").any()


def test_evaluations_that_are_no_simulation(either):
    robot = pair()
    varied = dy.Scatter(robot, joint_offset=0.01, q0=([-1.0, -1.0], [1.0, 1.0]))

    def tool_error(draw):
        there, here = robot.fk(draw.q0), robot.fk(draw.q0 + draw.joint_offset)
        return {"distance": np.linalg.norm((here - there)[:, :3, 3], axis=1), "q": draw.q0}

    study = dy.study(robot, evaluate=tool_error, vary=varied, samples=300)
    assert study.measures == ("distance", "q")
    low, high = study.extremes("q")
    assert (low < -0.9).all() and (high > 0.9).all() and study.quantiles("distance", 0.5) < 0.05
    one = study.draw(17)
    worst = study.worst("distance", 1)
    assert tool_error(study.draw(int(worst.samples[0])))["distance"][0] == worst.values[0, 0]
    assert one.q0.shape == (1, 2)
    with pytest.raises(dy.errors.OptionError, match="no run"):
        study.replay(0)


def test_arms_that_diverge_are_counted_named_and_replayable(either):
    robot = pair()
    wild = dy.Scatter(robot, qd0=([0.0, 0.0], [1.9e6, 0.0]))
    study = dy.study(robot, 0.02, DT, vary=wild, samples=12, measure=("peak_velocity", "energy"))
    bad = [k for k in range(12) if study.draw(k).qd0[0, 0] >= 1e6]
    assert 0 < len(bad) < 12
    assert study.failed.count >= len(bad) and set(bad) <= set(study.failed.samples)
    assert all(reason.startswith("diverged at t = ") for reason in study.failed.reasons)
    assert study.replay(int(study.failed.samples[0])).diverged
    assert study.quantiles("energy", 1.0)[0] == np.inf and "failed" in repr(study)


def largest_position(run):
    """A measure of one's own."""
    return float(np.abs(run.q).max())


@pytest.mark.parametrize("measure", [None, largest_position])
def test_a_step_that_is_too_coarse_is_said_first(measure, compiled):
    """Once, of one sample, whose run alone has that error."""
    robot = pair()
    options = {"vary": dy.Scatter(robot, mass=0.1), "samples": 80, "measure": measure}
    said = (
        r"sample (\d) of the study, one of 4 looked at: joint '\w+': steps of 0.1 s are too coarse"
    )
    with pytest.warns(dy.errors.DynamisWarning, match=said) as warnings:
        study = dy.study(robot, 5.0, 0.1, **options)
    assert len(warnings) == 1
    text = str(warnings[0].message)
    found = study.replay(int(re.match(said, text)[1])).step_error
    assert f"by about {found.error:.2g} rad at t = {found.t:.4g} s; use dt={found.needed:g}" in text
    dy.study(robot, 5.0, 0.1, **options, check_step=False)  # warnings are errors
    dy.study(robot, 5.0, found.needed, **options)


def test_a_nominal_arm_that_diverges_is_said_first_and_the_table_is_of_the_others(compiled):
    robot = slider(dy.Friction(viscous=3.0), mass=1e-3)  # too stiff for DT
    options = {"q0": [0.1], "controller": dy.control.JointPID(kp=1.0), "reference": [0.0]}
    wide = dy.Scatter(robot, friction=1.5)
    with pytest.warns(dy.errors.DynamisWarning, match="the nominal arm .* diverged at t = "):
        study = dy.study(robot, 0.6, DT, vary=wide, samples=40, measure="rms_error", **options)
    assert study.nominal.startswith("diverged at t = ")
    good = 40 - study.failed.count
    assert 0 < good < 40 and all(x.startswith("diverged") for x in study.failed.reasons)
    assert f"{40 - good} failed (diverged), nominal arm diverged at t = " in repr(study)
    assert study.head[1::4] == (f"mean of {good} left", f"largest of {good} left")
    assert str(study).endswith(f"largest values and causes are of the other {good} only.")
    assert f"of the {good} arms that did not fail" in str(study.sensitivity("rms_error"))
    narrow = dy.Scatter(robot, friction=0.1)
    calm = dy.study(robot, 0.6, 1e-4, vary=narrow, samples=2, measure="rms_error", **options)
    assert calm.nominal == "" and calm.head[1] == "mean" and not calm.failures


def test_samples_that_raise_are_counted_and_named(compiled):
    def picky(run):
        if run.robot.parameters.values[0] > 3.2:
            raise RuntimeError("too heavy for me")
        return run.q[-1]

    study = asked(measure=(picky,), samples=30)
    heavy = [k for k in range(30) if study.draw(k).parameters[0, 0] > 3.2]
    assert list(study.failed.samples) == heavy and heavy
    assert study.failed.reasons[0] == "picky: RuntimeError: too heavy for me"


@pytest.mark.thorough
def test_float32_is_near(compiled):
    exact, rough = (
        values_of(asked(measure="rms_error", dtype=dtype), "rms_error")
        for dtype in ("float64", "float32")
    )
    np.testing.assert_allclose(rough, exact, rtol=1e-2)
    assert (rough != exact).any()


def test_stops_hold_and_starts_are_within_them(compiled):
    robot = pair(bar(limits=(-0.1, 0.5)), bar())
    varied = dy.Scatter(robot, q0=0.5)
    study = dy.study(
        robot, 0.3, DT, vary=varied, samples=40, stops=True, measure=("stop_hit", "peak_velocity")
    )
    starts = np.concatenate([study.draw(k).q0 for k in range(40)])
    assert starts[:, 0].min() == -0.1 and starts[:, 0].max() == 0.5
    assert study.mean("stop_hit")[0] > 0.9 and study.mean("stop_hit")[1] == 0.0
    assert not study.failed


def test_quantiles_and_their_intervals(compiled):
    robot = slider(mass=2.0, gravity=GRAVITY)
    varied = dy.Scatter(robot, payload=(0.0, 2.0))

    def weight(draw):
        return draw.parameters[:, 0] * GRAVITY

    study = dy.study(robot, evaluate=weight, vary=varied, samples=20_000, seed=3)
    shares = np.array([0.05, 0.5, 0.95])
    exact = GRAVITY * (2.0 + 2.0 * shares)
    intervals = study.quantile_intervals("weight", shares)
    assert (intervals[:, 0, 0] <= exact * 1.001).all() and (
        exact <= intervals[:, 1, 0] * 1.001
    ).all()
    np.testing.assert_allclose(study.quantiles("weight", shares)[:, 0], exact, rtol=0.01)
    few = dy.study(robot, evaluate=weight, vary=varied, samples=200).table()[0]
    assert few[4] == "largest of 200" and "largest" not in few[3]
    assert (
        "largest" not in dy.study(robot, evaluate=weight, vary=varied, samples=1000).table()[0][4]
    )
    assert study.quantile_intervals("weight", 0.99999)[0, 1, 0] == np.inf  # too few to know
    np.testing.assert_allclose(study.mean("weight"), 3.0 * GRAVITY, rtol=0.01)
    np.testing.assert_allclose(study.standard_deviation("weight"), 2 * GRAVITY / 12**0.5, rtol=0.02)
    np.testing.assert_allclose(study.sensitivity("weight").linear, [[1.0]], atol=1e-9)


def test_the_cause_is_found(compiled):
    robot = pair()
    study = asked(robot, vary=dy.Scatter(robot, payload=(0.0, 3.0), mass=0.001), samples=300)
    (first, share), *_ = study.sensitivity("rms_error").ranked()
    assert first == "payload" and share > 0.9


def test_saved_arrays_can_be_read_without_us(tmp_path, compiled):
    study = asked(samples=20)
    with np.load(study.save(tmp_path / "study.npz"), allow_pickle=False) as file:
        assert int(file["samples"]) == 20 and file["rms_error.quantiles"].shape[1] == 2
        assert list(file["factor_names"]) == list(study.factors)


def test_tables_and_words(compiled):
    study = asked(samples=3)
    assert "rms_error" in str(study) and "Study('pair', 3 samples" in repr(study)
    assert "<table>" in study._repr_html_()
    assert (
        study.units("rms_error") == ("rad", "rad") and study.columns("peak_torque")[0] == "joint1"
    )
    mixed = dy.study(slider(), 0.1, samples=2, measure="peak_velocity")
    assert mixed.units("peak_velocity") == ("m/s",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 0}, "samples is 0"),
        ({"samples": 2.5}, "samples is 2.5"),
        ({"measure": "rms_eror"}, "did you mean"),
        ({"measure": ()}, "measure is"),
        ({"measure": ("rms_error", "rms_error")}, "twice"),
        ({"measure": 3}, "measure is 3"),
        ({"vary": 3}, "vary is 3"),
        ({"vary": "estimate"}, "vary is 'estimate'"),
        ({"band": -1.0}, "band"),
        ({"seed": -1}, "seed is -1"),
        ({"executor": 4}, "executor is 4"),
        ({"q0": [1.0]}, "q0"),
        ({"stops": np.zeros(2)}, "stops is"),
        ({"torque": np.zeros((3, 1, 2))}, "torque differs from arm to arm"),
        ({"simulate": False}, "controller was given"),
        ({"evaluate": 3}, "evaluate is 3"),
        ({"evaluate": np.sum, "measure": "energy"}, "evaluate"),
        ({"duration": -1.0}, "duration is -1.0"),
    ],
)
def test_what_cannot_be_studied_is_refused(options, words):
    robot = rubbing()
    given = {"dt": DT, "controller": law(), "reference": move(), "duration": DURATION, **options}
    with pytest.raises(dy.errors.DynamisError, match=words):
        dy.study(robot, **given)


@pytest.mark.thorough
def test_blocks_computed_together_are_those_computed_one_by_one(mostly):
    """With alternatives, whose samples run apart from each other."""
    robot = rubbing()
    vary = dy.Scatter(robot, mass=0.1, q0=0.1, delay=[0.0, DT])
    study = dy.study(
        robot, DURATION, DT, controller=law(), reference=move(), vary=vary, samples=100
    )
    draws = [study.case.draw(first, count) for first, count in ((0, 30), (30, 1), (31, 9))]
    together = study.case.values_of(draws, 1)
    for draw, found in zip(draws, together, strict=True):
        alone = study.case.values(draw, 1)
        assert list(found.reasons) == list(alone.reasons)
        for name, values in alone.values.items():
            np.testing.assert_array_equal(found.values[name], values)
    assert {len(np.unique(draw.chosen["delay"])) for draw in draws} == {1, 2}


def test_a_reference_is_asked_for_where_starts_differ():
    robot = pair()
    with pytest.raises(dy.errors.OptionError, match="reference"):
        dy.study(robot, 0.1, vary=dy.Scatter(robot, q0=0.1), measure="rms_error", samples=3)


def test_the_scatter_of_another_robot_is_refused():
    with pytest.raises(dy.errors.OptionError, match="other parameters"):
        dy.study(pair(), 0.1, vary=dy.Scatter(slider(), mass=0.1), samples=2)
