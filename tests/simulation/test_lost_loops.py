"""Runs of closed mechanisms keep their loops and their energy, or end and say why."""

import re
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

import dynamis as dy
from dynamis.dynamics.mobility import CLOSED, closed, known_assemblies
from dynamis.errors import DynamisWarning, ModelError
from dynamis.simulation.closing.loops import TURN

from ..closed_mechanisms import (
    KINDS,
    PLANAR,
    SPATIAL,
    bar,
    five_bar,
    four_bar,
    loops,
    made,
    motions,
    parallelogram,
    random_loops,
)
from ..thorough import thorough_but

pytestmark = [
    pytest.mark.usefixtures("compiled"),
    pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning"),
]

# Of the largest kinetic energy, what runs by "rk4" that end without a word may gain or lose: each
# of ten steps near a singular configuration TURN^4. The worst of the 200 below is 9 %, at 20 ms.
ENERGY = 10 * TURN**4


def change_point():
    """A four-bar whose bars lie in one line where the crank is folded: 0.1 + 0.4 = 0.35 + 0.15."""
    links = [
        bar("crank", length=0.1),
        bar("coupler", "crank", (0.1, 0, 0), 0.35, passive=True),
        bar("rocker", xyz=(0.4, 0, 0), length=0.15, passive=True),
    ]
    ends = ({"xyz": (0.35, 0, 0)}, {"xyz": (0.15, 0, 0)})
    return made("fold", links, [dy.Closure(between=("coupler", "rocker"), frames=ends, kind="pin")])


def energy(robot, q, qd):
    """Kinetic and whole energy, without machine code."""
    parts = {"q": q, "qd": qd}
    kinetic = robot._calls.interpreted("kinetic_energy", parts)
    return kinetic, kinetic + robot._calls.interpreted("potential_energy", {"q": q})


def gained(robot, q, qd, losses=False):
    """By how much the energy of a run is wrong, next to its largest kinetic energy."""
    known = np.isfinite(q).all(axis=-1)
    kinetic, whole = energy(robot, q[known], qd[known])
    wrong = whole - np.minimum.accumulate(whole) if losses else np.abs(whole - whole[0])
    return wrong.max() / max(kinetic.max(), 1e-9)


@pytest.mark.parametrize("make", [change_point, parallelogram], ids=["fold", "parallelogram"])
def test_a_run_ends_where_the_closures_lose_rank(make):
    """Beyond that configuration there are two ways on: four-bars made 18 J of energy 2607 J."""
    robot = make()
    rng = np.random.default_rng(0)
    q0 = np.array([robot.assemble([x])[0] for x in rng.uniform(0.5, 2.6, 12)])
    qd0 = robot.joint_rates(q0, rng.uniform(5.0, 20.0, (12, 1)))
    for dt in (1e-3, 5e-3):
        run = dy.simulate(robot, 1.5, dt, q0=q0, qd0=qd0)
        assert run.diverged.sum() >= 10
        assert "the closures lose rank" in run.message and "arm " in run.message
        for k in range(12):
            assert gained(robot, run.q[k], run.qd[k]) < 1e-3
        first = int(np.nanargmin(run.diverged_at))
        with pytest.warns(DynamisWarning, match="the closures lose rank"):
            one = dy.simulate(robot, 1.5, dt, q0=q0[first], qd0=qd0[first])
        assert one.diverged and one.diverged_at == run.diverged_at[first]
        assert one.message.startswith(f"diverged at t = {one.diverged_at:g} s: ")
        np.testing.assert_array_equal(one.q, run.q[first, : len(one.t)])


@pytest.mark.parametrize(
    "options",
    [
        {"save_every": 7},
        {"save_every": 300},
        {"integrator": "heun"},
        {"integrator": "dormand-prince"},
        {"integrator": "dormand-prince", "save_every": 50},
    ],
    ids=str,
)
def test_the_reason_is_found_from_rows_apart_and_with_any_integrator(options):
    robot, q0 = parallelogram(), [0.9, -0.9, 0.9]
    run = dy.simulate(robot, 1.0, 2e-3, q0=q0, **options)
    every = dy.simulate(robot, 1.0, 2e-3, q0=q0, **(options | {"save_every": 1}))
    assert run.diverged_at == every.diverged_at and abs(run.diverged_at - 0.25) < 0.01
    assert "the closures lose rank, beyond it" in run.message and "condition number" in run.message


SAMPLINGS = {"dt": 1e-3}, {"dt": 2e-4, "sample_time": 1e-3}


@pytest.mark.parametrize("sampling", thorough_but(SAMPLINGS[:1], SAMPLINGS), ids=str)
@pytest.mark.parametrize(
    "law, gain",
    [
        (dy.control.ComputedTorque(kp=1e6, kd=5e3), "velocity"),
        (dy.control.JointPID(kp=1e6, kd=1e5), "velocity"),
        (dy.control.ComputedTorque(kp=1e8, kd=200.0), "position"),
        (dy.control.JointPID(kp=1e8, kd=10.0), "position"),
    ],
)
def test_gains_too_high_for_the_samples_are_the_reason(law, gain, sampling):
    """The loops were the reason, with a shorter dt as remedy, which changed nothing."""
    robot = dy.load("five-bar")
    wanted = robot.home[list(robot.driven)] + 0.1
    run = dy.simulate(robot, 0.2, **sampling, controller=law, reference=wanted)
    assert run.diverged and f"lower the {gain} gain or shorten sample_time" in run.message
    many = dy.simulate(
        robot, 0.2, q0=[robot.home] * 2, **sampling, controller=law, reference=wanted
    )
    assert f"lower the {gain} gain" in many.message


def test_shorter_steps_are_proposed_with_the_samples_of_the_law():
    robot = dy.load("five-bar").with_friction(viscous=0.0, coulomb=0.0)
    q0, law = motions(robot, 24)[0], dy.control.JointPID(kp=1e-3)
    options = {"controller": law, "reference": [0.0, 0.0]}
    found = dy.simulate(robot, 1.5, 5e-3, q0=q0, **options)
    first = int(np.nanargmin(found.diverged_at))
    one = dy.simulate(robot, 1.5, 5e-3, q0=q0[first], **options)
    proposed = re.search(r"use dt=(\S+), sample_time=0.005$", one.message)
    assert proposed
    finer = {"dt": float(proposed[1]), "sample_time": 5e-3}
    assert not dy.simulate(robot, one.diverged_at + 0.1, q0=q0[first], **options, **finer).diverged


def test_steps_too_long_for_the_loops_are_named_and_shorter_ones_proposed():
    """A catalogue five-bar that falls at 5 ms made energy of nothing."""
    robot = dy.load("five-bar").with_friction(viscous=0.0, coulomb=0.0)
    q0 = motions(robot, 24)[0]
    run = dy.simulate(robot, 1.5, 5e-3, q0=q0)
    assert 0 < run.diverged.sum() < 24 and "too long for the loops" in run.message
    silent = [gained(robot, run.q[k], run.qd[k]) for k in np.flatnonzero(~run.diverged)]
    assert max(silent) < ENERGY
    first = int(np.nanargmin(run.diverged_at))
    one = dy.simulate(robot, 1.5, 5e-3, q0=q0[first])
    proposed = float(one.message.rsplit("use dt=")[1])
    assert 1e-4 < proposed < 5e-3
    finer = dy.simulate(robot, one.diverged_at + 0.1, proposed, q0=q0[first])
    assert not finer.diverged and gained(robot, finer.q, finer.qd) < 1e-2


def test_only_the_member_that_is_lost_ends():
    """Beside it the others have the bits they have alone; a simulator and a file of C have NaN."""
    robot = change_point()
    q0 = np.array([robot.assemble([x])[0] for x in (0.3, 1.5)])
    qd0 = robot.joint_rates(q0, [[0.0], [15.0]])
    run = dy.simulate(robot, 0.15, 1e-3, q0=q0, qd0=qd0)
    assert run.diverged.tolist() == [False, True]
    alone = dy.simulate(robot, 0.15, 1e-3, q0=q0[:1], qd0=qd0[:1])
    np.testing.assert_array_equal(alone.q[0], run.q[0])
    sim = dy.Simulator(robot, 1e-3)
    sim.reset(q0[1], qd0[1])
    sim.step(steps=150)
    assert np.isnan(sim.q).all() and np.isnan(sim.qd).all()


def limited(robot, width, **friction):
    """The mechanism with joint limits about where it starts, and with friction."""
    q0 = motions(robot, 1)[0][0]
    rubs = {"friction": dy.Friction(**friction)} if friction else {}
    links = [
        replace(x, limits=(a - width, a + width), **rubs)
        for x, a in zip(robot.model.links, q0, strict=True)
    ]
    return dy.Robot(replace(robot.model, links=tuple(links))), q0


IMPACTS = [
    (make, friction, restitution)
    for make in (four_bar, five_bar)
    for friction in ({}, {"coulomb": 0.05})
    for restitution in (0.0, 0.6)
]


@pytest.mark.parametrize(
    "make, friction, restitution", thorough_but((IMPACTS[0], IMPACTS[-1]), IMPACTS)
)
def test_loops_stay_closed_through_impacts(make, friction, restitution):
    """All joints come to rest at once, more of them than degrees of freedom."""
    robot, q0 = limited(make(), 0.25, **friction)
    for dt in (1e-3, 4e-3):
        run = dy.simulate(robot, 1.0, dt, q0=q0, stops=True, restitution=restitution)
        assert run.message == ""
        beyond = np.abs(run.q - q0).max() - 0.25
        assert 0.0 <= beyond <= 1e-12 + (dt * np.abs(run.qd).max() if restitution else 0.0)
        robot.gravity_torque(run.q)  # raises where the loops are open
        robot.coriolis_matrix(run.q, run.qd)
        assert gained(robot, run.q, run.qd, losses=True) < (0.02 if restitution else 1e-6)


@pytest.mark.thorough
def test_a_delta_falls_on_its_stops_and_its_run_can_be_used():
    robot = dy.load("delta")
    q0 = np.repeat(robot.home[None], 4, axis=0)
    qd0 = robot.joint_rates(q0, np.random.default_rng(0).normal(scale=2.0, size=(4, 3)))
    run = dy.simulate(robot, 0.8, q0=q0, qd0=qd0, stops=True)
    assert run.message == "" and np.abs(robot.closure_error(run.q)).max() < 1e-7
    robot.gravity_torque(run.q)


# laws of random mechanisms, dropped from random assemblies


def dropped(robot, q0, steps, losses, parameters=None):
    """(dt, runs, ended, worst energy, worst opening by the tolerance) of runs that end silently."""
    rows = []
    for dt in steps:
        run = dy.simulate(robot, 1.0, dt, q0=q0, parameters=parameters)
        good = np.flatnonzero(~run.diverged)
        assert len(good) == len(q0) or "arm " in run.message
        own = [robot if parameters is None else robot.with_parameters(p) for p in parameters or q0]
        wrong = [gained(own[k], run.q[k], run.qd[k], losses) for k in good]
        error = robot._calls.interpreted("closure_error", {"q": run.q[good]})
        opening = np.abs(error).max(initial=0.0) / robot.chain.tolerance
        rows.append((dt, len(q0), len(q0) - len(good), max(wrong, default=0.0), opening))
    return rows


@settings(max_examples=2)
@given(loops(longest=4, most=3))
def test_random_mechanisms_keep_energy_and_closure_or_say_why(robot):
    q0 = np.array(known_assemblies(robot.chain, robot.model))
    for *_, wrong, opening in dropped(robot, q0, (1e-3, 4e-3, 16e-3), losses=False):
        assert wrong < ENERGY and opening <= 1.0


def random_mechanism(rng, which):
    """One of up to six joints; with springs, with friction, or without either."""
    planar = rng.random() < 0.6
    sizes = PLANAR if planar else SPATIAL
    kind = str(rng.choice([k for k in KINDS if sizes[k] <= 4]))
    n = sizes[kind] + int(rng.integers(1, 3))
    joints = [str(x) for x in rng.choice(("revolute",) * 3 + ("prismatic",), n)]
    split = int(rng.integers(1, n)) if n > 2 else n
    parents = [k - 1 if k != split else -1 for k in range(n)]
    ends = (split - 1, n - 1) if n > 2 else (n - 1, -1)

    def rubbing(rng, links):
        each = [dy.Friction(viscous=v, coulomb=c) for v, c in rng.uniform(0, 0.4, (n, 2))]
        return [replace(x, friction=f) for x, f in zip(links, each, strict=True)]

    more = {"extra": rubbing} if which == "friction" else {}
    if which == "springs":
        more["springs"] = [dy.Spring(kind="torsion", joint="joint1", stiffness=20.0)]
        joints[0] = "revolute"
    return random_loops(joints, parents, [(kind, *ends)], int(rng.integers(2**31)), planar, **more)


def assemblies(robot, rng, count):
    """Where the mechanism closes, from random positions about its first assembly."""
    home, found = np.array(known_assemblies(robot.chain, robot.model)[0]), []
    for start in home + rng.uniform(-1.0, 1.0, (4 * count, robot.n)):
        q, (left, _) = closed(robot.chain, start.tolist())
        if left <= CLOSED and len(found) < count:
            found.append(q)
    return np.array(found)


@pytest.mark.thorough
def test_two_hundred_random_mechanisms(capsys):
    """Ten sets of bodies for every geometry, three step sizes; with springs, with friction, and
    four-bars that fold."""
    rng, table = np.random.default_rng(3), {}
    for geometry in range(20):
        which, q0 = ("plain", "springs", "friction", "plain", "fold")[geometry % 5], ()
        while len(q0) < 10:
            with suppress(ModelError):  # it cannot move
                robot = change_point() if which == "fold" else random_mechanism(rng, which)
                q0 = assemblies(robot, rng, 10)
        links = [robot.link_names.index(x.split(".")[0]) if x.startswith(tuple(
            robot.link_names)) else -1 for x in robot.parameters.names]  # fmt: skip
        scale = np.c_[rng.uniform(0.5, 2.0, (10, len(robot.model.links))), np.ones(10)]
        own = list(np.array(robot.parameters.values) * scale[:, links])
        for dt, *counts, wrong, opening in dropped(
            robot, q0, (1e-3, 5e-3, 2e-2), which == "friction", own
        ):
            row = table.setdefault((which, dt), np.zeros(4))
            row[:] = [*(row[:2] + counts), max(row[2], wrong), max(row[3], opening)]
    with capsys.disabled():
        print("\nwhich, dt: runs, ended, worst energy and opening (by its tolerance) of the others")
        for (which, dt), row in sorted(table.items()):
            print(f"{which} {dt:g}: {row[0]:g}, {row[1]:g}, {row[2]:.1e}, {row[3]:.1e}")
    for (which, dt), (runs, ended, wrong, opening) in table.items():
        assert wrong < (1e-3 if dt == 1e-3 else ENERGY) and opening <= 1.0
        assert ended <= (0.05 if dt == 1e-3 else 0.5) * runs or which == "fold"
