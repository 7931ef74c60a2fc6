"""Laws of mechanics, one list, on any robot: every effect in any company, open and closed.

A law is a function of a `Case`: a robot in motion, of closed mechanisms in several states. Where
closures hold, it is stated for the motions that they allow: torques and slopes are those along the
columns of Z, qd = Z v. What paper says (springs, friction, gears, loads) is written here once more,
in NumPy.
"""

import copy
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import dynamis as dy
from dynamis.agree.closed import closure_bias, dense_forward_dynamics
from dynamis.compile.kernels import FORWARD_METHODS, INVERSE_METHODS
from dynamis.dynamics import coriolis, equation
from dynamis.dynamics.elements.bodies import shared_observation_matrix
from dynamis.dynamics.gibbs_appell import observation_matrix
from dynamis.dynamics.reduce import OPERATIONS, reduced
from dynamis.model.formats.files import model_from_toml, toml_text
from dynamis.model.formats.urdf import model_from_urdf, urdf_text
from dynamis.model.friction import sides
from dynamis.model.pose import Pose
from dynamis.spatial.functions import MATH
from tests.thorough import thorough_but

from ..closed_mechanisms import (
    KINDS,
    MECHANISMS,
    WORN_BY_MECHANISMS,
    P,
    R,
    any_mechanism,
    equipped,
    loops,
    mechanism,
    motion,
    random_loops,
    six_rss,
    tied,
)
from ..random_robots import (
    Grease,
    Hose,
    SlowGrease,
    any_arm,
    build,
    close,
    dressed,
    grease_torque,
    hose_rest,
    hose_torque,
    lossless,
    states,
    with_links,
)

STEP = 1e-6  # of central differences
DIFFERENCE = 1e-6  # of their results
COLUMNS = 12  # of the regressor, looked at one by one
few = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
WRENCH = np.array([10.0, -20.0, 30.0, 5.0, -6.0, 7.0])


def times(A, x):
    """A x of every sample."""
    return np.einsum("...ij,...j->...i", A, x)


def dot(a, b):
    """a . b of every sample."""
    return (a * b).sum(axis=-1)


def turned(A):
    """A transposed, of every sample."""
    return np.swapaxes(A, -1, -2)


def applies(robot, method):
    coupled = robot.chain.coupling is not None or any(m.coupled for m in robot.chain.motors)
    return not (method == "articulated-body" and coupled)


class Case:
    """A robot in motion: a state of an arm, or several that the closures of a mechanism allow."""

    def __init__(self, robot):
        self.robot = robot
        self.closed = bool(robot.model.closures)
        self.tree = robot.without_closures() if self.closed else robot
        if self.closed:
            self.q, self.qd, self.qdd, self.v, self.a = motion(robot)
            self.Z = turned(robot.joint_rates(self.q[..., None, :], np.eye(robot.dof)))
        else:
            self.q, self.qd, self.qdd = states(robot)
            self.v, self.a, self.Z = self.qd, self.qdd, np.eye(robot.n)
        self.motion = self.q, self.qd, self.qdd
        self.first = [x.reshape(-1, robot.n)[0] for x in self.motion]
        self.own, self.driven = list(robot.independent), list(robot.active)
        self.temperature = np.linspace(15.0, 45.0, robot.n)
        self.forces = self.rng.normal(size=(len(robot.link_names), 6))
        self.pushed = {"wrench": WRENCH, "link_forces": self.forces}
        self.warm = {**self.pushed, "temperature": self.temperature}
        self.tau = robot.inverse_dynamics(*self.motion)
        self.unloaded = unloaded(robot)
        self.speed = np.abs(robot.chain.coupling or 1.0).max(initial=1.0)  # of rotors: fast
        self.under_load = robot.load_friction(*self.motion) if robot.rubs_under_load else 0.0
        self.still, self.damped = paper_springs(self.tree, self.q, self.qd)
        self.load, self.rest, self.dragged = paper_load(self.tree, self.q, self.qd)
        self.has_motors = not any(x.mimic for x in robot.model.links)
        links = [*robot.link_names, None]  # the tool last
        J = [self.tree.jacobian(self.q, frame="tool", link=x) for x in links]
        self.jacobians = np.stack(J, axis=-3)
        self.push, self.push_tool = (
            np.einsum("...lij,li->...j", self.jacobians[..., part, :, :], forces)
            for part, forces in ((slice(-1), self.forces), (slice(-1, None), WRENCH[None]))
        )

    @property
    def rng(self):
        """Numbers of its own for every law."""
        return np.random.default_rng(1)

    def along(self, tau):
        """Z^T tau"""
        return times(turned(self.Z), tau)

    def of_drives(self, values):
        """The values, zero for joints without a drive."""
        return np.where(np.isin(range(self.robot.n), self.driven), values, 0.0)

    def moved(self, x):
        """q after a small motion x of the independent joints."""
        return self.robot.project(self.q + times(self.Z, x)) if self.closed else self.q + x

    def rates(self, q, v):
        """qd of all joints."""
        return self.robot.joint_rates(q, v) if self.closed else v

    def accelerations(self, q, qd, a):
        """qdd of all joints."""
        return self.robot.joint_accelerations(q, qd, a) if self.closed else a

    def slopes(self, function):
        """d function(x) / dx at zero, a column for every independent joint."""
        size = len(self.own)
        steps = STEP * np.eye(size).reshape(size, *[1] * (self.v.ndim - 1), size)
        ahead, back = function(np.stack([steps, -steps]))
        return np.moveaxis(ahead - back, 0, -1) / (2 * STEP)

    def rate(self, function, step=1e-5):
        """d/dt of a function of q and qd along the motion."""
        t = step * np.array([1.0, -1.0]).reshape(2, *[1] * self.q.ndim)
        q = self.q + t * self.qd + t * t / 2 * self.qdd
        ahead, back = function(q, self.qd + t * self.qdd)
        return (ahead - back) / (2 * step)


# what paper says


def tension(spring, length):
    """The force of a spring, damping left out."""
    s = length - spring.rest_length
    if spring.kind == "linear":
        return spring.preload + spring.stiffness * s
    if spring.law == "table":
        return spring.force * np.interp(length, spring.lengths, spring.forces)
    V, sign = spring.gas_length, 1.0 if spring.law == "pull" else -1.0
    return sign * spring.force * (V / (V - sign * s)) ** spring.exponent


def place(robot, q, link, point):
    """A point of a link in the reference frame, and its Jacobian, (3,) (3, n)."""
    T, J = robot.fk(q, link=link), robot.jacobian(q, link=link)
    arm = T[..., :3, :3] @ point
    return T[..., :3, 3] + arm, J[..., :3, :] - np.cross(arm[..., None], J[..., 3:, :], axis=-2)


def ties(model):
    """x = K q + x0 of the joints of the links, those that mimic others included."""
    names, free = model.tree_joint_names, model.joint_names
    K, x0 = np.zeros((len(names), len(free))), np.zeros(len(names))
    for i, link in enumerate(model.links):
        leader, ratio, x0[i] = link.mimic or (names[i], 1.0, 0.0)
        K[i, free.index(leader)] = ratio
    return K, x0


def paper_springs(robot, q, qd):
    """J^T F at either end, F along the line between them: at rest, and what damping adds."""
    rest, damped = np.zeros((2, *q.shape))
    K, x0 = ties(robot.model)
    for spring in robot.model.springs:
        if spring.kind == "torsion":
            j = robot.model.tree_joint_names.index(spring.joint)
            angle = q @ K[j] + x0[j] - spring.rest_angle
            rest += (spring.preload + spring.stiffness * angle)[..., None] * K[j]
            continue
        (a, Ja), (b, Jb) = (
            place(robot, q, link or robot.model.base_name, np.array(point))
            for link, point in ((spring.from_, spring.from_point), (spring.to, spring.to_point))
        )
        length = np.linalg.norm(b - a, axis=-1, keepdims=True)
        slope = times(turned(Jb - Ja), (b - a) / length)
        rest += tension(spring, length) * slope
        damped += spring.damping * dot(slope, qd)[..., None] * slope
    return rest, damped


def sign_of(law, constants, v):
    """What a law makes of sign(v)."""
    if law == "smooth":
        return np.tanh(v / constants["velocity"])
    if law not in ("stribeck", "lugre"):
        return np.sign(v)
    fall = np.exp(-((v / constants["velocity"]) ** 2))
    return np.sign(v) * (1.0 + (constants["static_ratio"] - 1.0) * fall)


def shaped(friction, v, viscous, coulomb):
    """Friction of a speed by the law of a joint with such coefficients."""
    law, constants = friction.law, friction.constants
    root = constants.get("ratio", 0.0) * np.sign(v) * abs(v) ** (1 / 3) if law == "grotjahn" else 0
    side = np.where(v > 0, coulomb[0], -coulomb[1])
    return np.where(v < 0, *viscous[::-1]) * (v + root) + side * sign_of(law, constants, v)


def paper_friction(robot, qd, temperature=None):
    """Friction of all joints and motors on the coordinates, and that of every motor, (n,) (m,).

    The latter in units of its joint. A motor of its own warms up with its joint.
    """
    model = robot.model
    K, _ = ties(model)
    rates = qd @ K.T
    tree, motors = np.zeros((2, *rates.shape))
    for i, link in enumerate(model.links):
        own, drive, factor = link.friction, link.drive or dy.Drive(), 1.0
        if temperature is not None and own.temperature_slope:
            above = temperature[K[i].nonzero()[0][0]] - own.reference_temperature
            factor = max(0.0, 1.0 + own.temperature_slope * above)
        row = np.eye(len(K))[i]
        if model.gear_matrix is not None:
            row = np.array(model.gear_matrix[i], dtype=float) / model.gear_matrix[i][i]
        G, alone, rate = drive.gear, (row != 0).sum() == 1, rates[..., i]
        viscous, coulomb = np.full(2, G**2 * drive.viscous), [abs(G) * c for c in drive.coulomb]
        tree[..., i] += own.offset
        tree[..., i] += shaped(own, rate, np.array(sides(own.viscous)) * factor, own.coulomb)
        if own.own is not None:
            tree[..., i] += grease_torque(own.own.own, rate)
        if own.memory is not None:  # at its largest
            tree[..., i] += sum(own.memory.weights) * np.sign(rate)
        warm = shaped(own, rates @ row, viscous * (factor if alone else 1.0), coulomb)
        tree += warm[..., None] * row
        motors[..., i] = shaped(own, rates @ row, viscous, coulomb)
    return tree @ K, motors


def paper_load(robot, q, qd):
    """Torque of the loads, and the part of it that no parameter multiplies and no energy has."""
    if not robot.model.loads:
        return np.zeros((3, *q.shape))
    hose = robot.model.loads[0].own
    whole = hose_torque(hose, q, qd)
    return whole, hose_rest(hose, q, qd), whole - hose_torque(hose, q, 0.0 * qd)


def unloaded(robot):
    """The robot whose friction does not grow with the load."""
    return with_links(robot, lambda x, i: replace(x, friction=replace(x.friction, load=0.0)))


def without_past(robot):
    """The robot whose own friction laws have no states, with the same steady torque."""

    def change(link, i):
        own = link.friction.own and link.friction.own.own
        if not isinstance(own, SlowGrease):
            return link
        return replace(link, friction=replace(link.friction, law=Grease(**vars(own))))

    return with_links(robot, change)


# the laws


def formulations_agree(c):
    tau = c.robot.inverse_dynamics(*c.motion, **c.warm)
    for method in INVERSE_METHODS:
        close(c.robot.inverse_dynamics(*c.motion, method=method, **c.warm), tau)


def forward_of_inverse_is_the_identity(c):
    """In every method, pushed and warm or not."""
    M = c.robot.mass_matrix(c.q)
    condition = np.linalg.cond(M).max()
    for given_ in ({}, c.warm):
        tau = c.robot.inverse_dynamics(*c.motion, **given_)
        assert not np.delete(tau, c.driven, axis=-1).any()
        methods = (None,) if c.closed else (None, *FORWARD_METHODS)
        for method in (m for m in methods if applies(c.robot, m)):
            qdd = c.robot.forward_dynamics(c.q, c.qd, tau, method=method, **given_)
            size = max(1.0, np.abs(tau).max() / np.abs(M).max())
            close(qdd, c.qdd, max(1e-11, 1e-13 * condition), size)


def equation_of_motion_adds_up(c):
    """By its matrices and what paper says of the rest, as a whole and term by term."""
    q, qd, rubs = c.q, c.qd, paper_friction(c.robot, c.qd)[0]
    M, C, g = c.robot.mass_matrix(q), c.robot.coriolis_matrix(q, qd), c.robot.gravity_torque(q)
    parts = {"inertial": times(M, c.a), "coriolis": times(C, c.v), "gravity": g}
    parts["friction"] = c.along(rubs + c.under_load)
    parts |= {"spring": c.along(c.still + c.damped)} if c.robot.model.springs else {}
    parts |= {"load": c.along(c.load)} if c.robot.model.loads else {}
    size, terms = max(1.0, np.abs([c.tau, c.still]).max()), c.robot.torque_terms(*c.motion)
    assert list(terms) == list(parts)
    close(c.along(c.tau), sum(parts.values()), size=size)
    close(sum(terms.values()), c.tau, size=size)
    for name, part in parts.items():
        close(c.along(terms[name]), part, size=size)
        assert not np.delete(terms[name], c.driven, axis=-1).any()
    close(c.robot.friction_torque(qd), rubs, 1e-12)
    close(c.robot.spring_torque(q), c.still, size=size)
    close(c.robot.load_torque(q, qd), c.load, 1e-12, size=size)


def inertia_is_symmetric_and_positive(c):
    M = c.robot.mass_matrix(c.q)
    close(M, turned(M), 1e-12)
    assert np.linalg.eigvalsh(M).min() > 0
    close(c.robot.kinetic_energy(c.q, c.qd), 0.5 * dot(c.v, times(M, c.v)), 1e-12)


def mdot_less_2c_is_skew(c):
    h = 1e-5  # of the fourth order: near folds of a loop inertias change quickly
    at = c.robot.mass_matrix(c.moved(h * np.stack([c.v, -c.v, 2 * c.v, -2 * c.v])))
    ahead, Mdot = at[0], (8 * (at[0] - at[1]) - (at[2] - at[3])) / (12 * h)
    S = Mdot - 2 * c.robot.coriolis_matrix(c.q, c.qd)
    size = max(np.abs(Mdot).max(), np.abs(ahead).max(), c.speed**2)
    close(S + turned(S), 0.0, DIFFERENCE, size)


def torque_at_rest_is_the_slope_of_the_energy(c):
    slope = c.slopes(lambda x: c.tree.potential_energy(c.moved(x)))
    wanted = c.robot.gravity_torque(c.q) + c.along(c.still + c.load - c.dragged)
    close(slope, wanted, DIFFERENCE, max(1.0, 1e-2 * np.abs(c.tree.potential_energy(c.q)).max()))


def power_balance(c):
    """d/dt (T + U) is the power of the drives less that of friction, of dampers and of loads."""

    def total(q, qd):
        return c.tree.kinetic_energy(q, qd) + c.tree.potential_energy(q)

    lost = c.robot.friction_torque(c.qd) + c.damped + c.dragged + c.under_load
    rate = c.rate(total, 1e-5 / c.speed**0.5)
    size = max(1.0, 1e-2 * np.abs(total(c.q, c.qd)).max())
    close(rate, dot(c.tau - lost, c.qd), 1e-5, size)


def regressor_times_parameters_is_the_torque(c):
    """But for friction under load, and what no constant of a load multiplies."""
    p, Y = c.robot.parameters, c.robot.regressor(*c.motion)
    assert len(set(p.names)) == len(p.names) == len(p.values)
    assert not np.delete(Y, c.driven, axis=-2).any()
    linear = Y @ p.values + c.rest + c.under_load
    close(c.along(linear), c.along(c.tau), size=np.abs(c.tau).max())
    bare = dy.Robot(replace(c.unloaded.model, loads=()))
    Y, values = bare.regressor(*c.motion), bare.parameters.values
    others = [values * c.rng.uniform(0.5, 2.0, len(values))]
    if not (c.closed or bare.model.rotors == "full"):  # a zero rotor has no column to compare with
        some = c.rng.permutation(len(values))[:COLUMNS]
        others += [*np.eye(len(values))[some]]  # nothing else
    for other in others:
        tau = bare.with_parameters(other).inverse_dynamics(*c.motion)
        close(Y @ other, tau, size=np.abs(c.tau).max())


def regressor_of_a_reference_has_the_coriolis_matrix(c):
    """Z^T (M qdd + C qd_ref + g) for a reference that keeps the loops closed."""
    robot = dy.Robot(replace(c.robot.model, springs=(), loads=()))
    other = c.rng.normal(size=c.v.shape)
    ref, zero = c.rates(c.q, other), 0.0 * c.a
    qdd = c.accelerations(c.q, c.rates(c.q, zero), c.a)
    if c.closed:  # Zd other
        both, alone = (robot.joint_accelerations(c.q, x, zero) for x in (c.qd + ref, ref))
        qdd = qdd + 0.5 * (both - alone - robot.joint_accelerations(c.q, c.qd, zero))
    wanted = times(robot.mass_matrix(c.q), c.a) + robot.gravity_torque(c.q)
    wanted = wanted + times(robot.coriolis_matrix(c.q, c.qd), other)
    found = robot.regressor(c.q, c.qd, qdd, qd_ref=ref) @ robot.parameters.values
    close(c.along(found), wanted)


def own_parameters_are_the_same_robot(c):
    robot, values = c.robot, c.robot.parameters.values
    same = robot.with_parameters(values)
    assert same.parameters.names == robot.parameters.names
    pairs = [x for x in robot.model.links if isinstance(x.friction.viscous, tuple)]
    assert sum(x.endswith(".viscous-") for x in same.parameters.names) == len(pairs)
    close(same.parameters.values, values, 1e-13)
    close(same.inverse_dynamics(*c.motion, **c.warm), robot.inverse_dynamics(*c.motion, **c.warm))
    if c.has_motors:
        close(same.motor_torque(*c.motion), robot.motor_torque(*c.motion))
    close(same.potential_energy(c.q), robot.potential_energy(c.q))


def parameters_may_be_an_argument(c):
    """Every kind of parameter reaches a kernel that takes them as it reaches the robot."""
    values = np.asarray(c.robot.parameters.values)
    values = values * c.rng.uniform(0.5, 2.0, len(values))
    other = c.robot.with_parameters(values)
    for name in ("inverse_dynamics", "motor_torque")[: 1 + c.has_motors]:
        kernel = c.robot.kernel(name, parameters="argument")
        close(kernel(*c.motion, values), getattr(other, name)(*c.motion))
    close(c.robot.kernel("mass_matrix", parameters="argument")(c.q, values), other.mass_matrix(c.q))


def every_column_of_the_regressor_is_the_torque_of_its_parameter(c):
    """Of that parameter alone, beside what no parameter multiplies."""
    size = len(c.unloaded.parameters.values)
    kernel = c.unloaded.kernel("inverse_dynamics", parameters="argument")
    each = kernel(*(x[..., None, :] for x in c.motion), np.vstack([np.zeros(size), np.eye(size)]))
    close(turned(each[..., 1:, :] - each[..., :1, :]), c.unloaded.regressor(*c.motion))


def forces_act_by_jacobians_transposed(c):
    tau = c.unloaded.inverse_dynamics(*c.motion)
    for given_, push in (({"link_forces": c.forces}, c.push), (c.pushed, c.push + c.push_tool)):
        found = c.unloaded.inverse_dynamics(*c.motion, **given_) - tau
        close(c.along(found), c.along(push), size=np.abs(tau).max())


def friction_under_load_is_a_share_of_what_is_transmitted(c):
    free, shares = c.unloaded, np.zeros(c.q.shape)
    for link in c.robot.model.links:
        if link.friction.load:
            k = c.robot.joint_names.index(link.joint_name)
            law, constants = link.friction.law, link.friction.constants
            shares[..., k] = link.friction.load * sign_of(law, constants, c.qd[..., k])
    for given_ in ({}, c.warm):
        rubs = free.friction_torque(c.qd, temperature=given_.get("temperature"))
        tau = free.inverse_dynamics(*c.motion, **given_)
        more = c.of_drives(shares * np.abs(tau - rubs))
        close(c.robot.inverse_dynamics(*c.motion, **given_), tau + more, 1e-12)
        if not given_:
            close(c.robot.load_friction(*c.motion), more, 1e-12, size=np.abs(tau).max())
    np.testing.assert_array_equal(c.robot.friction_torque(c.qd), free.friction_torque(c.qd))


def viscous_friction_follows_the_temperature(c):
    """Down to none."""
    robot, free = c.robot, c.unloaded
    rest = free.inverse_dynamics(*c.motion) - free.friction_torque(c.qd)
    for temperature in (c.temperature, c.temperature + 300.0, c.temperature - 300.0):
        rubs = paper_friction(robot, c.qd, temperature)[0]
        close(robot.friction_torque(c.qd, temperature=temperature), rubs, 1e-12)
    rubs = robot.friction_torque(c.qd, temperature=c.temperature)
    warm = free.inverse_dynamics(*c.motion, temperature=c.temperature)
    close(c.along(warm), c.along(rest + rubs))
    there = robot.at_temperature(c.temperature)
    for more in (0.0, 7.0):
        given_ = {"temperature": c.temperature + more}
        found = there.inverse_dynamics(*c.motion, **(given_ if more else {}))
        close(found, robot.inverse_dynamics(*c.motion, **given_), 1e-12)


def motors_give_what_gears_and_rotors_need(c):
    """Rotor and motor friction on the motor's side; the rest through the gear, with its losses."""
    if not c.has_motors:
        return
    model, n = c.robot.model, c.robot.n
    drives = [x.drive or dy.Drive() for x in model.links]
    G, J = (np.array([getattr(d, x) for d in drives]) for x in ("gear", "rotor_inertia"))
    rows = np.eye(n) if model.gear_matrix is None else np.array(model.gear_matrix) / G[:, None]
    own = G**2 * J * times(rows, c.qdd) + paper_friction(c.robot, c.qd)[1]
    through = times(np.linalg.inv(rows.T), c.tau) - own
    power, eta = through * times(rows, c.qd), np.array([d.efficiency for d in drives])
    factor = np.where(power > 0.0, 1 / eta, np.where(power < 0.0, eta, 1.0))
    close(c.robot.motor_torque(*c.motion), c.of_drives((own + through * factor) / G))


def derivatives_are_slopes(c):
    """Of inverse and forward dynamics, a wrench on the tool, over the independent joints."""
    robot, push = c.robot, {"wrench": WRENCH}
    driving = c.of_drives(0.5)  # against each other, too
    driving = driving + robot.inverse_dynamics(*c.motion, **push)

    def torque(q, v, a):
        qd = c.rates(q, v)
        return robot.inverse_dynamics(q, qd, c.accelerations(q, qd, a), **push)[..., c.own]

    def answer(q, v, x):
        tau = driving + x @ np.eye(robot.n)[c.own]
        return robot.forward_dynamics(q, c.rates(q, v), tau, **push)[..., c.own]

    calls = [(answer, 0.0 * c.a, robot.forward_dynamics_derivatives, driving)]
    if len(c.driven) == len(c.own):  # else torques are shared
        calls.append((torque, c.a, robot.inverse_dynamics_derivatives, c.qdd))
    for call, x, derivatives, last in calls:
        wanted = (
            c.slopes(lambda e, f=call, y=x: f(c.moved(e), c.v, y)),
            c.slopes(lambda e, f=call, y=x: f(c.q, c.v + e, y)),
            c.slopes(lambda e, f=call, y=x: f(c.q, c.v, y + e)),
        )
        size = max(1.0, 1e-3 * np.abs(call(c.q, c.v, x)).max())  # rounding, over STEP
        for slope, expected in zip(derivatives(c.q, c.qd, last, **push), wanted, strict=True):
            close(slope, expected, DIFFERENCE, size=size)


def the_motor_torques_simulated_are_the_motion(c):
    """Through gears with losses, rotors reflected or bodies of their own; without past.

    Of the third step: which way the power goes through a gear is known from the step before.
    """
    if not c.has_motors or c.robot.model.gear_matrix is not None:
        return
    dry = {"law": "coulomb", "constants": {}}
    robot = with_links(without_past(c.robot), lambda x, i: replace(x, friction=replace(
        x.friction, memory=None, **(dry if x.friction.law == "lugre" else {}))))  # fmt: skip
    (q, qd, qdd), h = c.first, 1e-7
    tau = robot.motor_torque(q, qd, qdd) * [m.gear for m in robot.chain.motors]
    run = dy.simulate(robot, 3 * h, dt=h, q0=q, qd0=qd, torque=tau, check_step=False)
    scale = 1.0 + np.abs(qdd).max() + np.abs(robot.forward_dynamics(q, qd, 0.0 * q)).max()
    close((run.qd[-1] - run.qd[-2]) / h, qdd, 1e-4, size=scale)


def own_parameters_simulated_are_the_same_motion(c):
    """Of the robot, of that with its own parameters, and with them as an argument."""
    tau = np.zeros(c.robot.n)
    tau[c.driven] = np.linspace(-3.0, 4.0, len(c.driven))
    q, qd, _ = c.first
    options = {"dt": 1e-3, "q0": q, "qd0": qd, "torque": tau, "check_step": False}
    values = np.asarray(c.robot.parameters.values)
    run = dy.simulate(c.robot, 4e-3, **options)
    others = (
        dy.simulate(c.robot.with_parameters(values), 4e-3, **options),
        dy.simulate(c.robot, 4e-3, parameters=values, **options),
    )
    for other in others:
        close(other.q, run.q, 1e-9)
        close(other.qd, run.qd, 1e-9)


def a_step_is_runge_kutta_of_forward_dynamics(c):
    """Of arms whose friction is smooth and whose gears lose nothing."""
    smooth = {"law": "smooth", "constants": {"velocity": 0.5}}
    robot = with_links(lossless(without_past(c.robot)), lambda x, i: replace(x, friction=replace(
        x.friction, memory=None, **({} if x.friction.own else smooth))))  # fmt: skip
    if c.closed or any(m.coupled for m in robot.chain.motors):
        return
    (q, qd, _), h, n = c.first, 1e-4, robot.n
    tau = c.rng.normal(size=n)

    def rate(x):
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], tau)])

    x = np.concatenate([q, qd])
    run = dy.simulate(robot, 3 * h, dt=h, q0=q, qd0=qd, torque=tau, check_step=False)
    for _ in range(3):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    close(np.concatenate([run.q[-1], run.qd[-1]]), x, 1e-10)


def closed_forms_are_the_torque(c):
    """Term by term, step by step where steps are written; energy has the slope of its torques."""
    equations, (q, qd, qdd) = c.robot.equations(), c.first
    close(equations.evaluate(q, qd, qdd), c.tau)
    names = (*equations.q, *equations.qd, *equations.qdd)
    values = equations.values | dict(zip(names, (*q, *qd, *qdd), strict=True))
    close(float(equations.term("tau", 1).subs(values)), c.tau[1])
    slope = [equations.potential_energy.diff(x).subs(values) for x in equations.q]
    own = c.robot.gravity_torque(q) + c.still + c.load - c.dragged
    close(np.array(slope, float), own, 1e-9)
    if not c.robot.model.own_laws:
        steps = equations.derivation(q, qd, qdd)
        close(np.array([steps[f"tau{i + 1}"].value for i in range(c.robot.n)]), c.tau)


def reductions_keep_the_torques(c):
    """Regrouped inertias, slid frames, rotors that do not turn."""
    x = [v.tolist() for v in c.first]
    for function, arguments in (
        (equation.inverse_dynamics, x),
        (equation.mass_matrix, x[:1]),
        (equation.gravity_torque, x[:1]),
        (coriolis.coriolis_matrix, x[:2]),
        *([(equation.motor_torque, x)] if c.has_motors else []),
    ):
        expected = np.array(function(c.tree.chain, *arguments, fn=MATH))
        for k in range(len(OPERATIONS) + 1):
            small = reduced(c.tree.chain, OPERATIONS[:k])
            close(np.array(function(small, *arguments, fn=MATH)), expected, 1e-12)


def copies_and_files_are_the_same_robot(c):
    """Pickled, copied, from TOML; from URDF one that moves alike, where it holds all."""
    robot = c.robot
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        assert other == robot and hash(other) == hash(robot)
        np.testing.assert_array_equal(other.inverse_dynamics(*c.motion), c.tau)
    laws = {"Hose": Hose, "Grease": Grease, "SlowGrease": SlowGrease}
    assert model_from_toml(toml_text(robot.model), laws=laws) == robot.model
    if robot.model.loads or any(x.friction.own for x in robot.model.links):
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dy.errors.DynamisWarning)
        back = dy.Robot(model_from_urdf(urdf_text(robot.model).encode()))
    close(back.inverse_dynamics(*c.motion, **c.warm), robot.inverse_dynamics(*c.motion, **c.warm))


def jacobians_are_slopes(c):
    """Of every link and of the tool, in their axes: T^-1 dT/dt."""

    def everything(q, qd):
        return np.concatenate([c.tree.frames(q)[..., 1:, :, :], c.tree.fk(q)[..., None, :, :]], -3)

    T, J = everything(c.q, c.qd), c.jacobians
    rate = turned(T[..., :3, :3]) @ c.rate(everything)[..., :3, :]
    found = times(J, c.qd[..., None, :])
    close(rate[..., 3], found[..., :3], DIFFERENCE)
    close(rate[..., [2, 0, 1], [1, 2, 0]], found[..., 3:], DIFFERENCE)
    turn = np.kron(np.eye(2), np.ones((3, 3))) * np.tile(T[..., -1, :3, :3], (2, 2))
    close(c.tree.jacobian(c.q), turn @ J[..., -1, :, :])
    for frame in ("base", "tool"):
        slope = c.rate(lambda q, qd, f=frame: c.tree.jacobian(q, frame=f))
        close(c.tree.jacobian_dot(c.q, c.qd, frame=frame), slope, DIFFERENCE)


# of arms alone, and of mechanisms alone


def another_convention_is_the_same_robot(c):
    if c.robot.model.convention == "urdf" or not c.has_motors:
        return
    other = c.robot.to_dh("modified" if c.robot.model.convention == "standard" else "standard")
    tau, same = (x.inverse_dynamics(*c.motion, wrench=WRENCH) for x in (c.robot, other))
    close(same, tau)
    assert other.model.loads == c.robot.model.loads


def the_centre_of_mass_carries_the_weight(c):
    robot, (q, qd, _) = c.robot, c.motion
    J, at = robot.com_jacobian(q), robot.com(q)
    close(J, c.slopes(lambda x: robot.com(q + x)), DIFFERENCE)
    mass = sum(b.inertia.m + (b.load.m if b.load else 0.0) for b in robot.chain.bodies)
    bare, weight = dy.Robot(replace(robot.model, springs=(), loads=())), mass * robot.gravity
    close(bare.potential_energy(q), -weight @ at)
    close(robot.gravity_torque(q), -weight @ J, size=mass)
    whole, about = robot.momentum(q, qd), robot.centroidal_momentum(q, qd)
    close(about[:3], mass * (J @ qd), size=mass)
    close(whole[:3], about[:3], 1e-12, size=mass)
    close(whole[3:] - np.cross(at, whole[:3]), about[3:], size=mass)


def a_base_that_accelerates_is_gravity(c):
    """And the recursions agree on any motion of the base, the links pushed or not."""
    lift = np.array([0, 0, 0, 0, 0, 0, *(-c.robot.gravity)])
    still = c.robot.with_gravity((0, 0, 0))
    close(still.inverse_dynamics(*c.motion, base_motion=lift), c.tau)
    moves = {"base_motion": np.array([0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 1.0, 2.0, 3.0])}
    alone = c.unloaded.inverse_dynamics(*c.motion, **moves)
    for method in ("newton-euler", "newton-euler-base"):
        given_ = {**moves, "link_forces": c.forces, "method": method}
        close(c.unloaded.inverse_dynamics(*c.motion, **given_), alone + c.push)


def a_payload_is_a_body_at_the_tool(c):
    """Carrying a mass costs its weight, its inertia and nothing else: linear in the mass."""
    carrying = (c.unloaded.with_payload(m, (0.1, 0, 0.2)) for m in (0.0, 1.0, 3.0))
    none, one, three = (robot.inverse_dynamics(*c.motion) for robot in carrying)
    close(three - none, 3.0 * (one - none), 1e-9, size=1e-3 * np.abs(none).max())


def the_observation_matrix_of_document_003_is_the_regressor(c):
    """Built as document 003 does it, and with columns shared between links: the same matrix."""
    x = c.rng.normal(size=(3, len(c.robot.chain.joints))).tolist()
    W = np.array(observation_matrix(c.robot.chain, *x, MATH))
    close(np.array(shared_observation_matrix(c.robot.chain, *x, MATH)), W)


def motions_keep_the_loops_closed(c):
    """J is the slope of the error; rates and accelerations meet its conditions."""
    robot, (q, qd, qdd) = c.robot, c.motion
    J, steps = robot.closure_jacobian(q), STEP * np.eye(robot.n)[:, None]
    slope = (robot.closure_error(q + steps) - robot.closure_error(q - steps)) / (2 * STEP)
    close(J, np.moveaxis(slope, 0, -1), 1e-8)
    close(robot.closure_error(q), 0.0, 1e-8)
    close(times(J, qd), 0.0)
    close(times(J, qdd) + closure_bias(robot, q, qd), 0.0, 1e-8)


def closures_hold_by_forces_that_do_no_work(c):
    """The tree feels them; forward dynamics is that of dense algebra."""
    robot, J = c.unloaded, c.robot.closure_jacobian(c.q)
    for given_ in ({}, c.pushed):
        f = robot.constraint_forces(*c.motion, **given_)
        assert not np.delete(f, list(robot.chain.mobility.rows), axis=-1).any()
        close(dot(f, times(J, c.qd)), 0.0, size=np.abs(f).max())
        tau = robot.inverse_dynamics(*c.motion, **given_)
        tree = unloaded(c.tree).inverse_dynamics(*c.motion, **given_)
        close(tau + times(turned(J), f), tree, size=np.abs(f).max())
        close(dot(tau, c.qd), dot(tree, c.qd), size=np.abs(tree).max())
        at = c.q, c.qd, c.of_drives(c.rng.normal(scale=3, size=c.q.shape))
        close(robot.forward_dynamics(*at, **given_),
              dense_forward_dynamics(robot, *at, **given_), 1e-9)  # fmt: skip


def drives_that_share_the_load_do_not_pull_at_each_other(c):
    """Nothing of any term, and nothing beside a preload, along the rows of J of driven joints."""
    if len(c.driven) < c.robot.n:
        return
    J = c.robot.closure_jacobian(c.q)[..., list(c.robot.chain.mobility.rows), :]
    robot, preload = c.unloaded, c.rng.normal(size=c.robot.n)
    for part in robot.torque_terms(*c.motion).values():
        close(times(J, part), 0.0, size=max(1.0, np.abs(part).max()))
    tau = robot.inverse_dynamics(*c.motion, preload=preload)
    close(times(J, tau - preload), 0.0, size=max(1.0, np.abs(tau).max()))
    close(c.along(tau), c.along(robot.inverse_dynamics(*c.motion)), size=np.abs(tau).max())


def the_tool_has_the_energy_of_the_mechanism(c):
    """Where it moves as freely as the drives; its Jacobian is the slope of its place."""
    if c.robot.dof > 2:
        return
    J = c.robot.drive_jacobian(c.q)
    linear = J[..., :3, :]
    close(linear, c.slopes(lambda x: c.robot.fk(c.moved(x))[..., :3, 3]), DIFFERENCE)
    close(c.robot.manipulability(c.q) ** 2, np.linalg.det(turned(linear) @ linear), 1e-9)
    speed, free = times(J, c.v), np.linalg.cond(J) < 1e3
    energy = 0.5 * dot(speed, times(c.robot.operational_inertia(c.q), speed))
    close(energy[free], c.robot.kinetic_energy(c.q, c.qd)[free], 1e-9)


LAWS = (
    formulations_agree, forward_of_inverse_is_the_identity, equation_of_motion_adds_up,
    inertia_is_symmetric_and_positive, mdot_less_2c_is_skew,
    torque_at_rest_is_the_slope_of_the_energy, power_balance,
    regressor_times_parameters_is_the_torque, regressor_of_a_reference_has_the_coriolis_matrix,
    own_parameters_are_the_same_robot, forces_act_by_jacobians_transposed,
    friction_under_load_is_a_share_of_what_is_transmitted,
    viscous_friction_follows_the_temperature, motors_give_what_gears_and_rotors_need,
    reductions_keep_the_torques, copies_and_files_are_the_same_robot, jacobians_are_slopes,
)  # fmt: skip
OF_ARMS = (
    another_convention_is_the_same_robot, the_centre_of_mass_carries_the_weight,
    a_base_that_accelerates_is_gravity, a_payload_is_a_body_at_the_tool,
    the_observation_matrix_of_document_003_is_the_regressor,
)  # fmt: skip
OF_MECHANISMS = (
    motions_keep_the_loops_closed, closures_hold_by_forces_that_do_no_work,
    drives_that_share_the_load_do_not_pull_at_each_other,
    the_tool_has_the_energy_of_the_mechanism,
)  # fmt: skip
COSTLY = (  # programs are traced, motions integrated
    parameters_may_be_an_argument,
    every_column_of_the_regressor_is_the_torque_of_its_parameter,
    derivatives_are_slopes,
    the_motor_torques_simulated_are_the_motion,
    own_parameters_simulated_are_the_same_motion, a_step_is_runge_kutta_of_forward_dynamics,
)  # fmt: skip


def hold(laws, robot):
    c = Case(robot)
    for law in laws:
        law(c)


@settings(few, max_examples=40)
@given(any_arm(8))
def test_arms(robot):
    hold(LAWS + OF_ARMS, robot)


@settings(few, max_examples=16)
@given(any_mechanism())
def test_mechanisms(robot):
    hold(LAWS + OF_MECHANISMS, robot)


@settings(few, max_examples=10)
@given(any_arm(3))
def test_arms_at_length(robot):
    hold(COSTLY, robot)


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_at_length(name):
    hold(COSTLY, dressed(mechanism(name), WORN_BY_MECHANISMS))


@pytest.mark.parametrize("planar", [True, False], ids=["planar", "spatial"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_closure(kind, planar):
    n = 5 if planar else 8
    robot = random_loops([R] * n, [-1, 0, -1, *range(2, n - 1)], [(kind, 1, n - 1)], 11, planar)
    hold(LAWS + OF_MECHANISMS, equipped(robot, kind))


@pytest.mark.parametrize("effect", [*WORN_BY_MECHANISMS, "mimic"])
@pytest.mark.parametrize("kind", thorough_but(["slide"], ["ball", "slide"]))
def test_loops_in_space(effect, kind):
    n, extra = 6 if kind == "ball" else 8, tied if effect == "mimic" else None
    joints, parents = [R, R, P, *[R] * (n - 3)], [-1, 0, 1, -1, *range(3, n - 1)]
    robot = random_loops(joints, parents, [(kind, 2, n - 1), ("rod", -1, 2)], 21, extra=extra)
    worn = (effect,) if effect != "mimic" else ()
    hold(LAWS + OF_MECHANISMS, dressed(equipped(robot, kind), worn))


def test_a_platform_on_six_cranks():
    robot = six_rss()
    assert robot.dof == 6 and robot.driven == robot.independent
    hold((torque_at_rest_is_the_slope_of_the_energy, forward_of_inverse_is_the_identity), robot)


@pytest.mark.thorough
@settings(few, max_examples=20)
@given(loops())
def test_random_loops(robot):
    hold(LAWS + OF_MECHANISMS, equipped(robot, "loops"))


@pytest.mark.thorough
@settings(few, max_examples=4)
@given(loops(longest=4, most=4))
def test_derivatives_of_random_loops(robot):
    hold((derivatives_are_slopes,), equipped(robot, "loops"))


KNOWN = ("planar-2link", "scara", "puma560", "ur10e")


@pytest.mark.parametrize("name", (*KNOWN, "stanford", "rppr", "elbow6", "pendulum3"))
def test_known_arms(name):
    robot = dy.load(name).with_payload(3.0, inertia=[0.05] * 3)
    slides = any(x.slides for x in robot.model.links)  # masses that move in their links: no energy
    laws = (formulations_agree, forward_of_inverse_is_the_identity) if slides else LAWS + OF_ARMS
    hold(laws, dressed(robot, ("springs", "loads", "temperature"), 1))


WORN = (("springs",), ("loads", "own friction"), ("under load", "by direction"))


@pytest.mark.parametrize("worn", WORN)
@pytest.mark.parametrize("name", ["planar-2link", "planar-rr"])
def test_closed_forms(name, worn):
    hold((closed_forms_are_the_torque,), dressed(dy.load(name), worn, len(name)))


@pytest.mark.parametrize("effect", ["springs", "loads", "own friction", "under load"])
def test_controllers_and_observers_know(effect, compiled):
    move, smooth = dy.trajectory.quintic([0.1, 0.2], [0.9, -0.5], 1.0), dy.Friction(
        law="smooth", viscous=2.0, coulomb=1.0, velocity=0.1)  # fmt: skip
    robot = with_links(dy.load("planar-2link"), lambda x, i: replace(x, friction=smooth))
    arm = dressed(robot, (effect,), 9)
    laws = (
        dy.control.ComputedTorque(kp=100.0, kd=20.0), dy.control.FeedForward(kp=4e3, kd=400.0),
        dy.control.SlotineLi(kd=20.0, bandwidth=5.0, adaptation=0.0),
    )  # fmt: skip
    for law in {"under load": laws[:2], "own friction": laws[::2]}.get(effect, laws):
        worst = []
        for model in (arm, robot):
            given_ = {"controller": replace(law, model=model), "reference": move}
            given_["observer"] = dy.control.MomentumObserver(gain=100.0, model=model)
            run = dy.simulate(arm, 1.0, q0=[0.1, 0.2], **given_)
            worst.append([np.abs(x).max() for x in (run.error, run.observed)])
        known, blind = np.array(worst)
        assert (known < blind * [0.1, 0.25 if effect == "own friction" else 0.01]).all(), law


def test_controllers_hold_springs_and_loads(compiled):
    arm, goal = dressed(dy.load("planar-2link"), ("springs", "loads"), 9), [0.9, -0.3]
    for law in (
        dy.control.ComputedTorque(kp=100.0, kd=20.0),
        dy.control.JointPID(kp=4e3, kd=400.0, gravity=True),
        dy.control.FeedForward(kp=4e3, kd=400.0),
        dy.control.SlotineLi(kd=20.0, bandwidth=10.0, adaptation=0.0),
    ):
        run = dy.simulate(arm, 0.5, q0=goal, observer=dy.control.MomentumObserver(gain=50.0),
                          controller=law, reference=goal)  # fmt: skip
        assert np.abs(run.error).max() < 1e-6 and np.abs(run.observed).max() < 1e-6, law


def test_long_arms():
    """Whose derivatives are made column by column."""
    links = [dy.Link(a=0.1, alpha=0.3, mass=1.0, inertia=(0.01, 0.01, 0.01)) for _ in range(16)]
    rubs = dy.Friction(law="smooth", viscous=(2.0, 5.0), coulomb=(1.0, -2.0), load=0.25)
    links = [replace(x, friction=rubs) for x in links]
    hold((derivatives_are_slopes,), dy.Robot.from_dh("snake", convention="standard", links=links))


PROGRAMS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "regressor": 3, "motor_torque": 3,
    "spring_torque": 1, "load_torque": 2, "potential_energy": 1, "load_friction": 3,
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_machine_code_is_python(name, compiled, monkeypatch):
    worn = ("springs", "loads", "own friction", "by direction", "under load")
    found = []
    for code in ("on", "off"):
        monkeypatch.setenv("DYNAMIS_COMPILE", code)
        robot = dressed(dy.load(name), worn, 5)
        x = states(robot, 3)
        programs = [*PROGRAMS.items()][: 3 if robot.n > 4 else None]
        found.append([getattr(robot, kernel)(*x[:k]) for kernel, k in programs])
    for fast, slow in zip(*found, strict=True):
        close(fast, slow, 1e-12)


@pytest.mark.parametrize("effect", ["springs", "loads"])
@pytest.mark.parametrize("name", ["planar-2link", "puma560"])
def test_robots_that_lost_an_effect_hold_no_trace_of_it(name, effect):
    """The text of their programs, or of those with a list of none, is that of the robot."""
    robot = dy.load(name)
    many = dressed(robot, (effect,), 1)
    lost, none = (dy.Robot(replace(x.model, **{effect: y})) for x, y in ((many, ()), (robot, [])))
    assert lost.chain == none.chain == robot.chain and lost == none == robot
    assert not (robot.spring_torque(robot.home).any() or getattr(robot.chain, effect))
    kernels = ("inverse_dynamics", "inverse_dynamics:wrench", "forward_dynamics", "regressor")
    for kernel in (*kernels, "motor_torque", "potential_energy", "mass_matrix", "fk"):
        text = robot.program(kernel).text
        assert lost.program(kernel).text == none.program(kernel).text == text
        assert " sqrt " not in text and "sqrt(" not in text
        assert (many.program(kernel).text != text) == (kernel not in ("mass_matrix", "fk"))


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_moving_base_is_an_extra_joint(convention):
    """Turning the base about its z is the same as one more revolute joint below."""
    robot = build(convention, ["revolute", "prismatic", "revolute"], 7)
    model = replace(robot.model, base=Pose(), gravity=(0, 0, -9.81))
    robot = dy.Robot(model)
    links = (dy.Link(mass=0.0), *model.links)
    named = [replace(x, name=f"l{i}", joint_name=f"j{i}") for i, x in enumerate(links)]
    taller = dy.Robot(replace(model, links=tuple(named)))
    q, qd, qdd = states(taller)
    q[0] = 0.0
    motion = [0, 0, qd[0], 0, 0, qdd[0], 0, 0, 0]
    expected = taller.inverse_dynamics(q, qd, qdd)[1:]
    close(robot.inverse_dynamics(q[1:], qd[1:], qdd[1:], base_motion=motion), expected)


def test_operational_inertia_inverts_the_mobility():
    robot = build("standard", ["revolute"] * 7, 3)
    q = states(robot)[0]
    J, M = robot.jacobian(q), robot.mass_matrix(q)
    close(robot.operational_inertia(q) @ (J @ np.linalg.inv(M) @ J.T), np.eye(6), 1e-7)
