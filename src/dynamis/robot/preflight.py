"""Preflight of a robot: what its model gives away, and what only its dynamics do."""

from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.elastic import coordinate
from ..errors import DynamisError, counted
from ..model.check.finding import Finding, Numbers, listed
from ..model.check.model import check_model
from .body_check import check_bodies
from .closed_check import Tried, check_closed
from .resonances import link_side

if TYPE_CHECKING:
    from . import Robot

SAMPLES = 48  # configurations in which the mass matrix is looked at
SPEEDS = (1.0, 0.1, 0.01)  # rad/s or m/s at which friction laws of the user's are looked at
UNFELT = 1e-9  # m; a weight that acts on every joint at a shorter lever is not felt
LIGHT = 0.01  # kg m^2; rotors behind gears have more, seen from the joint
SAMPLE_TIME = 0.005  # s, of a usual controller
SOFTEST, STIFFEST = 1.0, 2e4  # Hz, between which gears and their motors resonate
INDEFINITE = 1e-9  # an eigenvalue this far below zero, next to the largest, is no rounding error


def preflight(robot: "Robot") -> list[Finding]:
    """Every finding about a robot, worst first."""
    findings = check_model(robot.model)
    try:
        robot.chain  # noqa: B018  raises where a symbol has no value
        tried = usual_configurations(robot)
    except DynamisError:  # the model check has already said why
        return findings
    if robot.model.closures:
        closed, tried = check_closed(robot, tried)
        findings += closed
    moving = check_bodies(robot) + _pushing(robot)
    if len(tried.q):
        moving += _weightless(robot, tried) + _singular(robot, tried) + _undefined(robot, tried)
        moving += _without_rotors(robot, tried) + _elastic(robot, tried)
    return sorted(findings + moving)


def _weightless(robot: "Robot", tried: Tried) -> list[Finding]:
    """Gravity that no joint ever feels, though the arm has mass."""
    g, model = robot.gravity, robot.model
    bodies = [Numbers(model).body(x) for x in (*model.links, model.payload) if x is not None]
    weight = sum(abs(body.m) for body in bodies if body) * float(np.linalg.norm(g))
    torque = robot._calls.interpreted("gravity_torque", {"q": tried.q})
    if weight == 0.0 or not np.abs(torque).max() <= UNFELT * weight:
        return []
    what = f"no joint feels {listed(g)}: is it in the right direction?"
    remedy = (
        "right for an arm that moves in a horizontal plane; for one in the vertical plane xy give "
        "(0, -9.81, 0)"
    )
    return [Finding("note", "gravity", what, remedy)]


def _pushing(robot: "Robot") -> list[Finding]:
    """Friction laws of the user's own that drive their joint; a mean of both directions may."""
    qd = np.outer(SPEEDS, np.ones(robot.n))
    forward, back = (
        robot._calls.interpreted("friction_torque", {"qd": way * qd}) for way in (1.0, -1.0)
    )
    found = []
    for link in robot.model.moving_links:
        j = robot.joint_names.index(str(link.joint_name))
        bad = np.flatnonzero(forward[:, j] < back[:, j])
        if link.friction.own is not None and len(bad):
            name, speed = link.friction.own.name, SPEEDS[bad[0]]
            what = f"its friction law {name!r} pushes the joint on at {speed:g} per second"
            remedy = "the torque of friction has the sign of qd"
            found.append(Finding("error", f"joint {link.joint_name!r}", what, remedy))
    return found


def _undefined(robot: "Robot", tried: Tried) -> list[Finding]:
    """Springs without a force in some of the configurations, or at q = 0 within the limits."""
    low, high = robot.limits.T
    zero = np.zeros((1, robot.n))
    open_there = robot._calls.interpreted("closure_status", {"q": zero}).any()
    possible = (low <= 0.0).all() and (high >= 0.0).all() and not open_there
    home = zero if possible else zero[:0]
    found = []
    for spring in robot.model.springs:
        alone = robot._with_model(springs=(spring,))
        torque = alone._calls.interpreted("spring_torque", {"q": np.concatenate([tried.q, home])})
        bad = np.isnan(torque).any(axis=1)
        there = bad[: len(tried.q)]
        if not bad.any():
            continue
        when = tried.where(there) if there.any() else "at q = 0"
        what = f"no direction or no gas {'everywhere' if bad.all() else when}: its force is NaN"
        remedy = "move its points apart, give a longer gas_length, or joint limits that keep off"
        level = "error" if bad.all() else "warning"
        found.append(Finding(level, f"spring {spring.name!r}", what, remedy))
    return found


def _singular(robot: "Robot", tried: Tried) -> list[Finding]:
    """The joint at which the mass matrix has no positive pivot, in any of the configurations."""
    bad = np.isnan(robot._calls.interpreted("pivots", {"q": tried.q}))
    if not bad.any():
        return []
    singular = np.asarray(bad.any(axis=1))
    # pivots before the joint are NaN too
    joint = max(int(np.flatnonzero(row)[-1]) for row in bad[singular])
    name = robot.joint_names[robot.independent[joint]]
    negative = _indefinite(robot.mass_matrix(tried.q))
    kind = "a mass matrix that is not positive definite" if negative else "a singular mass matrix"
    when = "everywhere" if singular.all() else tried.where(singular)
    reason = "" if negative else ": it moves no inertia"
    what = f"has {kind} {when}{reason}; forward dynamics will refuse"
    remedy = "give the links it moves an inertia about its axis, or the joint a rotor inertia"
    level = "error" if singular.all() or negative else "warning"
    return [Finding(level, f"joint {name!r}", what, remedy)]


def _without_rotors(robot: "Robot", tried: Tried) -> list[Finding]:
    """Turning joints that move next to nothing: descriptions such as URDF leave rotors out."""
    model = robot.model
    if model.closures or model.gear_matrix is not None:
        return []
    M = robot._calls.interpreted("mass_matrix", {"q": tried.q})
    M = M[np.isfinite(M).all((1, 2))]
    M = M[np.linalg.eigvalsh(M)[:, 0] > 0.0]
    if not len(M):
        return []
    felt = 1.0 / np.diagonal(np.linalg.inv(M), axis1=1, axis2=2).min(0)  # other joints free
    x, light = Numbers(model), []
    for k, link in enumerate(model.moving_links):
        bare = link.drive is None or not x.of(link.drive.rotor_inertia)
        if bare and robot.joint_kinds[k] == "revolute" and felt[k] < LIGHT:
            light.append(k)
    if not light:
        return []
    worst = min(light, key=lambda k: felt[k])
    name = robot.joint_names[worst]
    what = (
        f"has no rotor inertia and moves at most {felt[worst]:.2g} kg m^2: a controller sampled "
        f"every {SAMPLE_TIME:g} s is unstable with more than {2.0 * felt[worst] / SAMPLE_TIME:.2g} "
        "N m s/rad of damping, which the rotor of a geared drive would bear"
    )
    if light[1:]:
        what += f"; {counted(len(light) - 1, 'more joint')} below {LIGHT:g} kg m^2"
    remedy = (
        "add gear^2 times the rotor's inertia from the data sheet or an identification: "
        f'drive = {{ gear = .., rotor_inertia = .. }}, or robot.with_parameters({{"{name}.'
        'rotor_inertia": ..})'
    )
    return [Finding("note", f"joint {name!r}", what, remedy)]


def _elastic(robot: "Robot", tried: Tried) -> list[Finding]:
    """Gears whose stiffness must be in another unit, or of the other side, by their frequency.

    sqrt(K (1 / B + 1 / M)): a motor against the links that its gear moves, the other gears open.
    """
    if not robot.chain.elastic:
        return []
    own, found = list(robot.independent), []
    M = link_side(robot)._calls.interpreted("mass_matrix", {"q": tried.q})
    M = M[np.isfinite(M).all((1, 2))]
    M = M[np.linalg.eigvalsh(M)[:, 0] > 0.0]
    for gear in robot.chain.elastic:
        k, motor = coordinate(robot.chain, gear), robot.chain.motors[gear.joint]
        where = f"joint {robot.joint_names[k]!r}"
        if not len(M):
            what = "is elastic, and moves links without inertia: they have no resonance"
            remedy = "give them mass or inertia: the rotor is on the other side of the gear"
            found.append(Finding("error", where, what, remedy))
        elif k in own:
            felt = np.diagonal(np.linalg.inv(M), axis1=1, axis2=2)[:, own.index(k)]
            f = np.sqrt(gear.stiffness * (1.0 / motor.inertia + felt)) / (2.0 * np.pi)
            if f.max() < SOFTEST or f.min() > STIFFEST:
                unit = "N m/rad" if robot.joint_kinds[k] == "revolute" else "N/m"
                nearest = f.max() if f.max() < SOFTEST else f.min()
                what = (
                    f"has drive.stiffness {gear.stiffness:g} {unit}, with which its motor swings "
                    f"against the links at {nearest:.3g} Hz"
                )
                remedy = (
                    f"give {unit} on the joint side: gear^2 = {motor.gear**2:g} times what it is "
                    "at the motor's shaft"
                )
                if robot.joint_kinds[k] == "revolute":
                    remedy += ", 57.3 times what it is per degree"
                found.append(Finding("warning", where, what, remedy))
    return found


def _indefinite(M: np.ndarray) -> bool:
    """Whether some kinetic energy is negative: an eigenvalue below zero."""
    if not np.isfinite(M).all():
        return False
    eigenvalues = np.linalg.eigvalsh(M)
    largest = np.abs(eigenvalues).max(axis=1)
    return bool((eigenvalues[:, 0] < -INDEFINITE * largest).any())


def usual_configurations(robot: "Robot") -> Tried:
    """The named positions, then always the same random ones, within the limits if there are any."""
    anywhere = random_positions(robot, SAMPLES, np.random.default_rng(0))
    named = [q[None] for q in robot.configurations.values()]
    return Tried(tuple(robot.configurations), np.concatenate([*named, anywhere]))


def random_positions(robot: "Robot", count: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of all joints within the limits and +-pi (rad or m), (count, n).

    Those of a closed mechanism need not close.
    """
    low, high = np.sort(np.clip(robot.limits, -np.pi, np.pi)).T
    return rng.uniform(low, high, (count, robot.n))
