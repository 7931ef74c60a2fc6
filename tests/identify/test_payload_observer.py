"""A payload is found while the arm moves, physically consistent at every sample, in C as here."""

import ctypes
import re
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.arrays import NUMPY
from dynamis.compile.ops import OPS
from dynamis.compile.program import Operation
from dynamis.control.observer import ObserverStep
from dynamis.dynamics.tool_body import momentum_columns
from dynamis.errors import OptionError, ShapeError
from dynamis.identify.feasible import pseudo_inertias
from dynamis.identify.payload_observer import ALL_PAIRS, ROWS, _squares, _without_offsets
from dynamis.realtime.export import FLAGS
from dynamis.robot.arm import arm_of
from dynamis.spatial.functions import MATH
from dynamis.spatial.inertia import from_linear, linear, to_com, to_com_slope
from tests.control.blocks import ARMS
from tests.random_robots import build

from .test_payload import COM, INERTIA, MASS, TRUTH

RATE, LENGTH = 50.0, 5.0
WITHIN_MASS, WITHIN_COM = 0.02, 0.005  # after five seconds of ordinary motion
LOAD = 2.805  # kg, on the UR10e
GAINS = (13.70, 12.13, 10.09, 10.44, 10.29, 10.38)  # N m/A, by dy.identify_drive_gains
C_EQUAL = 1e-9  # of the largest entry, after a whole log


def motion(n, seed=0, length=LENGTH, rate=RATE):
    """(t, q, qd, qdd) below 1 Hz, of a reach that suits slides too."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, length, 1.0 / rate)
    w = 2.0 * np.pi * np.arange(1, 5)[:, None] / 6.0
    a, b = rng.normal(size=(2, 4, n)) * 0.6 / np.arange(1, 5)[:, None]
    x = t[:, None, None] * w
    q = (a * np.sin(x) + b * np.cos(x)).sum(axis=1)
    qd = (w * (a * np.cos(x) - b * np.sin(x))).sum(axis=1)
    return t, q, qd, (-(w**2) * (a * np.sin(x) + b * np.cos(x))).sum(axis=1)


def rubbing(robot, load=0.0):
    """The arm with friction of a tenth of its torques, part of it growing with the load."""
    _, q, qd, qdd = motion(robot.n, 9)
    size = np.sqrt((robot.inverse_dynamics(q, qd, qdd) ** 2).mean(axis=0))
    links = tuple(
        replace(k, friction=dy.Friction(viscous=0.05 * s, coulomb=0.1 * s, load=load), drive=None)
        for k, s in zip(robot.model.links, size, strict=True)
    )
    return dy.Robot(replace(robot.model, links=links))


def recorded(robot, seed=0, noise=0.01, length=LENGTH, mass=MASS):
    """Positions to 1e-5, their differences as velocities, torques to 1 %."""
    t, q, qd, qdd = motion(robot.n, seed, length)
    carrying = robot.with_payload(mass, COM, (INERTIA * mass / MASS).tolist())
    tau, rng = carrying.inverse_dynamics(q, qd, qdd), np.random.default_rng(seed)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return dy.Log(t=t, q=q + 1e-5 * rng.normal(size=q.shape), tau=tau)


def small():
    return rubbing(build("standard", ("revolute", "prismatic", "revolute"), 3))


@pytest.mark.parametrize("arm", ["puma560", "stanford", "random-rpr", "random-tree"])
def test_the_momentum_gives_the_torque_of_the_payload(arm):
    """d/dt (P p) - B p is what the payload adds to the inverse dynamics."""
    robot = ARMS[arm]()
    bare = dy.Robot(replace(robot.model, payload=None))
    m, c = MASS, np.array(COM)
    about = INERTIA + m * (c @ c * np.eye(3) - np.outer(c, c))
    ten = np.array([m, *(m * c), *about[[0, 0, 1, 0, 1, 2], [0, 1, 1, 2, 2, 2]]])
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, robot.n))

    def columns(h):
        place, speed = q + h * qd + 0.5 * h * h * qdd, qd + h * qdd
        return momentum_columns(bare.chain, place.tolist(), speed.tolist(), MATH)

    h = 1e-6
    (ahead, _), (behind, _), (_, B) = columns(h), columns(-h), columns(0.0)
    found = (np.array(ahead) - behind) @ ten / (2.0 * h) - np.array(B) @ ten
    loaded = bare.with_payload(MASS, COM, INERTIA.tolist())
    state = q, qd, qdd
    added = loaded.inverse_dynamics(*state) - bare.inverse_dynamics(*state)
    np.testing.assert_allclose(found, added, atol=1e-6 * np.abs(added).max())


@pytest.mark.parametrize("arm", ARMS)
def test_the_momentum_grows_by_the_turning_axes(arm):
    robot = ARMS[arm]()
    q, qd = np.random.default_rng(1).normal(size=(2, robot.n))
    found = arm_of(robot, MATH).coriolis_transposed(q.tolist(), qd.tolist())
    expected = robot.coriolis_matrix(q, qd).T @ qd
    np.testing.assert_allclose(found, expected, atol=1e-12 * (1.0 + np.abs(expected).max()))


def test_the_slope_of_mass_centre_and_inertia():
    ten = np.array([2.0, 0.1, -0.3, 0.2, 0.3, 0.01, 0.4, 0.02, -0.03, 0.5])

    def values(x):
        m, c, about = to_com(from_linear(x))
        return np.array([m, *c, *about])

    steps = 1e-6 * np.eye(10)
    differences = [(values(ten + d) - values(ten - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(
        to_com_slope(from_linear(ten)), np.array(differences).T, atol=1e-8, rtol=0
    )
    assert linear(from_linear(ten)) == tuple(ten)


CASES = {
    "puma560": lambda: rubbing(dy.load("puma560"), load=0.05),
    "stanford": lambda: rubbing(dy.load("stanford")),
    "scara": lambda: rubbing(dy.load("scara")),  # which feels no height of the centre of mass
}


@pytest.mark.parametrize("name", CASES)
def test_five_seconds_of_ordinary_motion(name):
    """Noise in positions and torques, friction, one arm with gears that rub under load."""
    robot = CASES[name]()
    track = dy.PayloadObserver().run(robot, recorded(robot))
    found = track.estimate
    seen = np.array([name not in found.unseen for name in found.names])
    assert found.mass == pytest.approx(MASS, rel=WITHIN_MASS)
    assert set(found.unseen) & {"m", "cx", "cy"} == set() and seen[3] == (name != "scara")
    assert np.abs(found.com - COM)[seen[1:4]].max() < WITHIN_COM
    assert (np.abs(found.values - TRUTH)[seen] < 4.0 * found.standard_deviations[seen]).all()
    assert np.isinf(found.standard_deviations[~seen]).all()
    assert found.is_physical and found.status == "recursive"
    assert (found.residual < found.residual_without).all()
    carried = found.robot.model.payload
    assert carried is not None and carried.mass == pytest.approx(found.mass)
    low, high = track.intervals()[-1][0]
    assert 0.0 < low < MASS < high
    assert track.standard_deviations[-1][0] < 0.2 * track.standard_deviations[0][0]


def test_velocities_are_differences_by_the_stamps():
    """Of a log whose steps vary by a third."""
    robot = small()
    even = recorded(robot, noise=0.0)
    rng = np.random.default_rng(0)
    t = even.t + 0.3 * even.step * rng.uniform(-1.0, 1.0, len(even))
    q, tau = (np.stack([np.interp(t, even.t, x) for x in y.T], axis=1) for y in (even.q, even.tau))
    found = dy.PayloadObserver().run(robot, dy.Log(t=t, q=q, tau=tau)).estimate
    assert found.mass == pytest.approx(MASS, rel=WITHIN_MASS)


def test_what_the_robot_carries_already_is_taken_off():
    robot = small()
    log, observer = recorded(robot, length=1.0), dy.PayloadObserver()
    bare, other = observer.run(robot, log), observer.run(robot.with_payload(5.0), log)
    np.testing.assert_array_equal(bare.parameters, other.parameters)


@pytest.mark.parametrize("hostile", ["negative mass", "noise"])
def test_every_sample_is_a_body(hostile):
    """Torques that no body explains, and jumps: P > 0 all the time."""
    robot = small()
    log, rng = recorded(robot, length=3.0, mass=20.0), np.random.default_rng(3)
    _, q, qd, qdd = motion(robot.n, length=3.0)
    tau = 2.0 * robot.inverse_dynamics(q, qd, qdd) - log.tau  # of a body of -20 kg
    tau[: len(tau) // 3] = log.tau[: len(tau) // 3]
    if hostile == "noise":
        tau = log.tau + 500.0 * rng.normal(size=log.tau.shape) - 200.0
        tau[40:60] *= 1e5
    track = dy.PayloadObserver(memory=0.5).run(robot, replace(log, tau=tau))
    P = pseudo_inertias(track.parameters)
    assert (np.linalg.eigvalsh(P) > 0.0).all() and (track.mass > 0.0).all()
    assert np.isfinite(track.standard_deviations).all()
    if hostile == "negative mass":
        assert track.at(0.9).mass > 5.0 and track.estimate.mass < 0.5


def stepping(robot, log, observer, samples):
    """States after each sample, which is (q, qd, tau), or None for one that is lost."""
    whole = ObserverStep(observer, robot)
    state = whole.start(log.q[0].tolist(), [0.0] * robot.n, MATH)
    states = []
    for q, qd, tau in samples:
        state = whole.step(state, list(q), list(qd), list(tau), 1.0 / RATE, whole.numbers, MATH)[1]
        states.append(state)
    return whole.slots, np.array(states)


def test_a_sample_that_is_no_number_does_not_count():
    robot = small()
    log = recorded(robot, length=2.0)
    qd, observer = np.gradient(log.q, log.t, axis=0), dy.PayloadObserver()
    rows = [list(x) for x in zip(log.q.tolist(), qd.tolist(), log.tau.tolist(), strict=True)]
    _, whole = stepping(robot, log, observer, rows)
    rows[50][2] = [float("nan")] * robot.n
    rows[51][1] = [float("inf"), *rows[51][1][1:]]
    slots, states = stepping(robot, log, observer, rows)
    assert np.isfinite(states).all()
    for name in ("information", "second", "rows"):
        np.testing.assert_array_equal(states[50:53, slots[name]], states[[49] * 3][:, slots[name]])
    mass = slots["estimate"].start
    assert states[-1, mass] == pytest.approx(whole[-1, mass], rel=0.1)


def test_at_rest_nothing_is_learned_and_nothing_forgotten():
    robot = small()
    log = recorded(robot, length=3.0)
    q, tau = log.q[-1], robot.gravity_torque(log.q[-1]) + 0.05
    still = np.arange(1, 200)[:, None] / RATE
    stays = dy.Log(
        t=np.concatenate([log.t, log.t[-1] + still[:, 0]]),
        q=np.concatenate([log.q, np.repeat(q[None], len(still), axis=0)]),
        tau=np.concatenate([log.tau, np.repeat(tau[None], len(still), axis=0)]),
    )
    track = dy.PayloadObserver(memory=1.0).run(robot, stays)
    settled = len(log) + 20
    assert np.ptp(track.mass[settled:]) < 1e-2 * MASS
    known = np.linalg.norm(track.information, axis=1)
    assert known[-1] > 0.9 * known[settled]


def test_a_track_is_what_was_known_then_in_few_numbers():
    """At a time: as if the log had ended there."""
    robot = small()
    log, observer = recorded(robot, length=3.0), dy.PayloadObserver()
    log = replace(log, qd=np.gradient(log.q, log.t, axis=0))
    half = len(log) // 2
    track, short = observer.run(robot, log), observer.run(robot, log.rows(0, half))
    then, ended = track.at(float(log.t[half - 1])), short.estimate
    for name in ("parameters", "covariance", "residual", "residual_without"):
        np.testing.assert_allclose(getattr(then, name), getattr(ended, name), rtol=1e-12)
    assert then.unseen == ended.unseen and (then.residual < then.residual_without).all()
    arrays = [x for x in vars(track).values() if isinstance(x, np.ndarray)]
    assert sum(x.size for x in arrays) <= len(log) * (76 + 3 * robot.n)


def test_an_arm_without_masses_has_no_typical_torque():
    """Its noise must be given; a payload is then found, and nothing where there is nothing."""
    links = [dy.Link(joint="revolute", a=0.5) for _ in range(2)]
    robot = dy.Robot.from_dh("bare", convention="standard", gravity=(0, -9.81, 0), links=links)
    log = recorded(robot)
    for tau in (log.tau, 0.0 * log.tau):
        with pytest.raises(OptionError, match="'bare' moves without torque"):
            dy.PayloadObserver().run(robot, replace(log, tau=tau))
    observer = dy.PayloadObserver(noise=0.5)
    assert observer.run(robot, log).estimate.mass == pytest.approx(MASS, rel=WITHIN_MASS)
    assert 0.0 < observer.run(robot, replace(log, tau=0.0 * log.tau)).mass[-1] < 0.01 * MASS


def test_memory_decides_how_fast_a_change_is_followed():
    robot = small()
    first, second = recorded(robot, length=3.0), recorded(robot, length=6.0, mass=2.0 * MASS)
    tau = np.concatenate([first.tau, second.tau[len(first) :]])
    log = dy.Log(t=second.t, q=second.q, tau=tau)
    quick, slow = (dy.PayloadObserver(memory=x).run(robot, log) for x in (0.5, None))
    assert quick.at(2.9).mass == pytest.approx(MASS, rel=0.1)
    assert quick.estimate.mass == pytest.approx(2.0 * MASS, rel=0.1)
    assert abs(slow.estimate.mass - 2.0 * MASS) > 3.0 * abs(quick.estimate.mass - 2.0 * MASS)


def batch(robot, logs, observer):
    """Mass and its deviation at the end of every log, all at once over arrays."""
    whole = ObserverStep(observer, robot)
    q, tau = (np.array([getattr(x, k) for x in logs]) for k in ("q", "tau"))
    qd, dt = np.gradient(q, logs[0].t, axis=1), logs[0].step
    acted = np.concatenate([tau[:, :1], 0.5 * (tau[:, 1:] + tau[:, :-1])], axis=1)
    state = whole.start(list(q[:, 0].T), list(qd[:, 0].T), NUMPY)
    for k in range(q.shape[1]):
        place, speed, torque = (list(x[:, k].T) for x in (q, qd, acted))
        state = whole.step(state, place, speed, torque, dt, whole.numbers, NUMPY)[1]
    mass, deviation = (state[whole.slots[name].start] for name in ("estimate", "deviation"))
    return np.array(mass), np.array(deviation)


OFFSETS = (0.0, 0.1, 0.3)  # N m or N, on every joint, of either sign


def offset_logs(robot, count, length):
    """Motions with each of OFFSETS."""
    for size in OFFSETS:
        for seed in range(count):
            log = recorded(robot, seed, length=length)
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], robot.n)
            yield replace(log, tau=log.tau + size * signs)


def test_the_interval_holds_with_a_constant_torque():
    """On the slide of a SCARA it looks like a mass: only its expected size tells."""
    robot, count = CASES["scara"](), 12
    mass, deviation = batch(robot, list(offset_logs(robot, count, 3.0)), dy.PayloadObserver())
    inside = (np.abs(mass - MASS) < 1.96 * deviation).reshape(-1, count).sum(axis=1)
    assert (inside >= 11).all(), inside
    assert deviation[:count].mean() < 0.01 * MASS  # what the other joints say still counts


@pytest.mark.thorough
@pytest.mark.parametrize("make", [CASES["puma560"], small])
def test_the_interval_holds_with_a_constant_torque_on_more_arms(make):
    """A motion that separates offsets and payload leaves little of them in the error."""
    robot, count = make(), 20
    mass, deviation = batch(robot, list(offset_logs(robot, count, LENGTH)), dy.PayloadObserver())
    error = np.abs(mass - MASS).reshape(-1, count)
    assert ((error < 1.96 * deviation.reshape(-1, count)).sum(axis=1) >= 18).all()
    assert (error.mean(axis=1) < 0.02 * MASS).all()


def test_eliminating_a_constant_torque_is_the_least_squares_with_it():
    """e (G - g g^T / (N + v / s^2)) e = min_b |r - u b|^2 + b^2 v / s^2, r = u b the residual."""
    rng = np.random.default_rng(0)
    rows, ten, s, sigma, alike = rng.normal(size=(30, 12)), rng.normal(size=10), 0.7, 0.3, 2.5
    gram = rows.T @ rows
    gains = SimpleNamespace(noise=[sigma], offset=[s])
    full = [[gram[a, b] for a, b in ALL_PAIRS]]
    grams, offsets = _without_offsets(ten.tolist(), full, [30.0], [alike], gains, MATH)
    r, u = rows[:, 10] - rows[:, :10] @ ten, rows[:, 11]
    free = r - u * (u @ r) / (u @ u)
    weight = alike * (free @ free + ROWS * sigma**2) / (30.0 + ROWS) / s**2
    design, wanted = np.append(u, np.sqrt(weight)), np.append(r, 0.0)
    b = design @ wanted / (design @ design)
    assert offsets[0] == pytest.approx(b)
    left = np.sum((wanted - b * design) ** 2)
    assert np.dot(grams[0], _squares([*ten, -1.0])) == pytest.approx(left)


@pytest.mark.thorough
def test_the_interval_is_honest():
    """Torque noise that is white, or stays alike for 0.3 s: masses lie in their 95 % intervals."""
    robot, count, keep = small(), 40, np.exp(-1.0 / (RATE * 0.3))
    log, logs = recorded(robot, 0, noise=0.0, length=3.0), []
    for seed in range(2 * count):
        noise = np.random.default_rng(seed).normal(size=log.tau.shape)
        if seed >= count:
            for k in range(1, len(noise)):
                noise[k] = keep * noise[k - 1] + np.sqrt(1.0 - keep * keep) * noise[k]
        logs.append(replace(log, tau=log.tau + 0.05 * log.tau.std(axis=0) * noise))
    found = batch(robot, logs, dy.PayloadObserver(memory=None))
    for part in (slice(count), slice(count, None)):
        mass, deviation = (x[part] for x in found)
        assert (np.abs(mass - MASS) < 1.96 * deviation).mean() >= 0.9
        assert deviation.mean() < 4.0 * np.sqrt(((mass - MASS) ** 2).mean())


@pytest.mark.thorough
def test_windows_of_a_real_log(data):
    """2.805 kg on a UR10e: in the 95 % interval in 93 of 100 windows of 5 s, and near it."""
    columns = {"t": "t", "q": "q", "qd": "qd", "current": "i"}
    free, load = (
        dy.read_log(data / "ur10e" / f"{name}.npz", columns, drive_gains=GAINS, rows=rows)
        for name, rows in (("free_50s", (194, 4966)), ("load_50s", (307, 5071)))
    )
    options = {"friction": "loaded", "estimator": "weighted", "rotors": True, "held_out": False}
    arm = dy.identify(dy.load("ur10e"), free, **options).robot
    even = load.uniform(30.0)
    windows = [even.rows(k, k + 150) for k in range(0, len(even) - 150, 15)]
    mass, deviation = batch(arm, windows, dy.PayloadObserver())
    assert len(windows) > 80 and (np.abs(mass - LOAD) < 1.96 * deviation).mean() >= 0.93
    assert np.sqrt(((mass - LOAD) ** 2).mean()) < 0.02 * LOAD


def test_machine_code_is_the_observer(compiled):
    robot, observer = rubbing(dy.load("planar-2link")), dy.PayloadObserver()
    log = recorded(robot, length=1.0)
    qd = np.gradient(log.q, log.t, axis=0)
    fast = observer.run(robot, replace(log, qd=qd))
    tau = np.concatenate([log.tau[:1], 0.5 * (log.tau[1:] + log.tau[:-1])])
    rows = zip(log.q.tolist(), qd.tolist(), tau.tolist(), strict=True)
    slots, states = stepping(robot, log, observer, rows)
    np.testing.assert_allclose(fast.parameters, states[:, slots["estimate"]], rtol=1e-7, atol=1e-9)


def test_a_simulated_arm_is_watched():
    robot = dy.load("planar-2link")
    plan = dy.trajectory.fourier(np.full((2, 2), 0.4), np.full((2, 2), -0.3), 4.0)
    observer = dy.PayloadObserver(model=robot, noise=1.0)
    run = dy.simulate(
        robot.with_payload(MASS, (0.1, 0.05, 0.0), (0.01, 0.01, 0.02)), 2.0, dt=8e-3,
        q0=plan(0.0).q, qd0=plan(0.0).qd, controller=dy.control.ComputedTorque(100.0, 20.0),
        reference=plan, observer=observer,
    )  # fmt: skip
    track = observer.track(run)
    assert track.mass[-1] == pytest.approx(MASS, rel=WITHIN_MASS)
    assert track.external.shape == run.q.shape and track.t is run.t
    assert np.abs(track.external[-50:]).max() < 0.1 * np.abs(run.tau).max()
    watched = dy.simulate(robot, 0.1, dt=4e-3, observer=dy.control.MomentumObserver(10.0))
    with pytest.raises(OptionError, match="no payload observer watched"):
        observer.track(watched)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The observer of a small arm as C."""
    path = tmp_path_factory.mktemp("observer")
    robot = small()
    dy.export_observer(robot, dy.PayloadObserver(), path, 1.0 / RATE)
    return robot, path, next(path.glob("*_payloadobserver.h")).stem


def test_the_exported_observer_passes_its_self_test(folder):
    _, path, stem = folder
    files = [str(path / f"{stem}{x}") for x in (".c", "_test.c")]
    subprocess.run(
        ["cc", *FLAGS.split(), "-O0", *files, "-o", str(path / "test"), "-lm"], check=True
    )
    done = subprocess.run([str(path / "test")], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout == "passed\n"


def test_c_equals_python_along_a_log(folder):
    robot, path, stem = folder
    shared = str(path / "observer.so")
    flags = [*FLAGS.split(), "-O0", "-fPIC", "-shared"]
    subprocess.run(["cc", *flags, str(path / f"{stem}.c"), "-o", shared, "-lm"], check=True)
    library = ctypes.CDLL(shared)
    log, n = recorded(robot, length=2.0), robot.n
    whole = ObserverStep(dy.PayloadObserver(), robot)
    qd = np.gradient(log.q, log.t, axis=0)
    state, out = np.zeros(whole.states), np.zeros(whole.states)
    external, ten, deviation = np.zeros(n), np.zeros(10), np.zeros(10)
    here = whole.start(log.q[0].tolist(), qd[0].tolist(), MATH)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (np.zeros(n), np.zeros(n), state)]
    getattr(library, f"{stem}_init")(*pointers)
    for q, v, tau in zip(log.q, qd, log.tau, strict=True):
        given = [np.ascontiguousarray(x) for x in (state, q, v, tau, out, external, ten, deviation)]
        getattr(library, f"{stem}_step")(*(ctypes.c_void_p(x.ctypes.data) for x in given))
        state[:] = given[4]
        here = whole.step(
            here, q.tolist(), v.tolist(), tau.tolist(), 1.0 / RATE, whole.numbers, MATH
        )[1]
        for got, name in ((given[6], "estimate"), (given[7], "deviation")):
            expected = np.array(here[whole.slots[name]])
            assert np.abs(got - expected).max() <= C_EQUAL * np.abs(expected).max()
    assert here[0] == pytest.approx(MASS, rel=0.1)


def test_constant_work(folder):
    """One straight line of known operations; the C has no loop and no branch to another line."""
    robot, path, stem = folder
    program = ObserverStep(dy.PayloadObserver(), robot).program(1.0 / RATE)
    operations = [x.op for x in program.instructions if isinstance(x, Operation)]
    assert set(operations) <= set(OPS) and len(operations) < 8000
    text = re.sub(r"/\*.*?\*/", "", (path / f"{stem}.c").read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(for|while|do|if|goto|switch|malloc|static)\b", text)


def test_any_observer_is_exported(tmp_path):
    robot = dy.load("planar-2link")
    files = dy.export_observer(robot, dy.control.MomentumObserver(20.0), tmp_path, 0.002)
    assert {x.suffix for x in files} == {".h", ".hpp", ".c", ".txt", ""}
    assert dy.export_observer(robot, dy.control.MomentumObserver(20.0), tmp_path, 0.002) == files
    with pytest.raises(OptionError, match=r"dy\.export_controller writes controllers"):
        dy.export_observer(robot, dy.control.JointPID(1.0), tmp_path / "none")
    with pytest.raises(OptionError, match="the observer's own is"):
        dy.export_observer(robot, dy.PayloadObserver(sample_time=0.1), tmp_path / "none")
    with pytest.raises(OptionError, match="commands none"):
        dy.export_controller(robot, dy.PayloadObserver(), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_bad_input_is_named():
    robot = dy.load("planar-2link")
    for name in ("memory", "cutoff", "mass", "size"):
        for value in (0.0, -1.0, float("nan")):
            with pytest.raises(OptionError, match=f"{name} is"):
                dy.PayloadObserver(**{name: value})  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="slow is 0"):
        dy.PayloadObserver(slow=0.0).gains(robot)
    with pytest.raises(OptionError, match="noise is 0"):
        dy.PayloadObserver(noise=0.0).gains(robot)
    for name in ("noise", "offset"):
        with pytest.raises(ShapeError, match=f"{name} is .*expected one number or 2"):
            dy.PayloadObserver(**{name: [1.0, 2.0, 3.0]}).gains(robot)
    with pytest.raises(OptionError, match="offset is -1"):
        dy.PayloadObserver(offset=-1.0).gains(robot)
    with pytest.raises(ShapeError, match="has 3 joints, expected 2"):
        dy.PayloadObserver(model=small()).gains(robot)
    with pytest.raises(OptionError, match="expected a Log"):
        dy.PayloadObserver().run(robot, "log.csv")  # type: ignore[arg-type]
    t, rest = np.arange(5) / RATE, np.zeros((5, 3))
    with pytest.raises(ShapeError, match="3 joints, robot 'planar-2link' has 2"):
        dy.PayloadObserver().run(robot, dy.Log(t=t, q=rest, tau=rest))
    track = dy.PayloadObserver().run(robot, dy.Log(t=t, q=rest[:, :2], tau=rest[:, :2]))
    with pytest.raises(OptionError, match="level is 1"):
        track.intervals(1.0)
