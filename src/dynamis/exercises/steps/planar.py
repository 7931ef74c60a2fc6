"""Steps of the questions about planar arms and single joints."""

from dataclasses import replace
from functools import cache
from typing import Any

import sympy as sp

from ...dynamics import kinematics
from ...equations.closed import parallel
from ...equations.equations import Equations
from ...equations.scalars.scalars import coordinates, exactly, symbolic_chain
from ...equations.scalars.simplify import tidy
from ...model.drive import Drive
from ...robot import Robot, load
from ...trajectory.polynomial import basis, horner
from ..question import Step
from ..questions.planar import bar, planar_robot, point_mass


def symbol(name: str) -> sp.Symbol:
    """A real number."""
    return sp.Symbol(name, real=True)


def bar_inertia(length: str, mass: str) -> Any:
    """Inertia of a slender bar about its end."""
    return planar_robot(bar(length, mass), gravity=0.0).equations().M[0]


@cache
def bars() -> Robot:
    """Two bars of any lengths and masses."""
    return planar_robot(bar("L1", "m1"), bar("L2", "m2"))


@cache
def motion() -> Equations:
    """Equations of two bars."""
    return bars().equations(gravity="g")


def position() -> list[Any]:
    """x and y of the tool."""
    return [row[3] for row in geometry(kinematics.fk)]


def jacobian() -> list[Step]:
    """Entries of the Jacobian, row by row."""
    rows = geometry(kinematics.jacobian)
    return [Step(f"J{r + 1}{c + 1}", rows[r][c], "m") for r in range(2) for c in range(2)]


@cache
def geometry(algorithm: Any) -> list[list[Any]]:
    """The first two rows of a matrix of the two bars."""
    chain = symbolic_chain(bars().model)
    rows = exactly(algorithm, chain, coordinates(2)[0])[:2]
    return [[tidy(x, parallel(chain)) for x in row] for row in rows]


def entries(letter: str) -> sp.Matrix:
    """A matrix of the symbols that steps gave names to."""
    return sp.Matrix(2, 2, lambda r, c: symbol(f"{letter}{r + 1}{c + 1}"))


def forward_kinematics() -> list[Step]:
    """Where the tool is."""
    return [Step(name, x, "m") for name, x in zip("xy", position(), strict=True)]


def inverse_kinematics() -> list[Step]:
    """Angles from the position, by the cosine of the second."""
    x, y, c2, s2, k1, k2, q1, q2 = map(symbol, ("x", "y", "c2", "s2", "k1", "k2", "q1", "q2"))
    tool = position()
    ahead = [p.subs(q1, 0) for p in tool]  # the distance does not depend on q1
    square = tidy(ahead[0] ** 2 + ahead[1] ** 2).subs(sp.cos(q2), c2)
    ahead = [p.subs({sp.cos(q2): c2, sp.sin(q2): s2}) for p in ahead]
    return [
        Step("r2", square),
        Step("c2", sp.solve(x**2 + y**2 - square, c2)[0]),
        Step("s2", sp.sqrt(1 - c2**2)),
        Step("q2", sp.atan2(s2, c2), "rad"),
        Step("k1", ahead[0], "m"),
        Step("k2", ahead[1], "m"),
        Step("q1", sp.atan2(y, x) - sp.atan2(k2, k1), "rad"),
    ]


def tool_velocity() -> list[Step]:
    """v = J qd"""
    v = entries("J") * sp.Matrix(coordinates(2)[1])
    return [*jacobian(), Step("vx", v[0], "m/s"), Step("vy", v[1], "m/s")]


def statics() -> list[Step]:
    """tau = J^T F"""
    tau = entries("J").T * sp.Matrix([symbol("Fx"), symbol("Fy")])
    return [*jacobian(), Step("tau1", tau[0], "N m"), Step("tau2", tau[1], "N m")]


def gravity_torques() -> list[Step]:
    """Slopes of the potential energy."""
    found = bars().with_payload("mL").equations(gravity="g")
    torques = [Step(f"tau{i + 1}", found.g[i], "N m") for i in range(2)]
    return [Step("U", found.potential_energy, "J"), *torques]


def inertias() -> list[Step]:
    """M11, M12, M22"""
    M = motion().M
    return [Step(f"M{r + 1}{c + 1}", M[r, c], "kg m²") for r, c in ((0, 0), (0, 1), (1, 1))]


def mass_matrix() -> list[Step]:
    """Kinetic energy and the inertias from it."""
    return [Step("T", motion().kinetic_energy), *inertias()]


def velocity_torques() -> list[Any]:
    """C qd by the one Christoffel symbol that two bars have."""
    c, qd, h = motion().christoffel, motion().qd, symbol("h")
    pairs = [(j, k) for j in range(2) for k in range(2)]

    def ratio(i: int, j: int, k: int) -> Any:
        entry: Any = c[i, j, k]
        return sp.cancel(entry / c[1, 0, 0])

    return [
        sp.factor(h * sp.Add(*(ratio(i, j, k) * qd[j] * qd[k] for j, k in pairs))) for i in range(2)
    ]


def christoffel() -> Step:
    """h = c_211"""
    return Step("h", motion().christoffel[1, 0, 0], "kg m²")


def coriolis() -> list[Step]:
    """Torques of velocities alone."""
    return [
        christoffel(),
        *(Step(f"tau{i + 1}", x, "N m") for i, x in enumerate(velocity_torques())),
    ]


def weights() -> list[Step]:
    """g1, g2"""
    return [Step(f"g{i + 1}", motion().g[i], "N m") for i in range(2)]


def inertia_matrix() -> sp.Matrix:
    """M of symbols."""
    return entries("M").subs(symbol("M21"), symbol("M12"))


def inverse_dynamics() -> list[Step]:
    """tau = M qdd + C qd + g"""
    inertial = inertia_matrix() * sp.Matrix(motion().qdd)
    torques = [
        Step(f"tau{i + 1}", inertial[i] + x + symbol(f"g{i + 1}"), "N m")
        for i, x in enumerate(velocity_torques())
    ]
    return [*inertias(), christoffel(), *weights(), *torques]


def release() -> list[Step]:
    """qdd = -M^-1 g, by the determinant."""
    M, g, D = inertia_matrix(), sp.Matrix([symbol("g1"), symbol("g2")]), symbol("D")
    above = -M.adjugate() * g
    found = [Step(f"qdd{i + 1}", above[i] / D, "rad/s²") for i in range(2)]
    return [*inertias(), *weights(), Step("D", M.det(), "kg² m⁴"), *found]


def polar() -> list[Step]:
    """Torque and force."""
    eq = load("polar-rp").equations()
    names = dict(zip((eq.q[1], *eq.qd, *eq.qdd), ("r", "w", "v", "alpha", "a"), strict=True))
    tau = eq.tau.subs({old: symbol(new) for old, new in names.items()})
    return [Step("tau", tau[0], "N m"), Step("F", tau[1], "N")]


def pendulum() -> list[Step]:
    """From the energy of the fall to the velocity."""
    eq = planar_robot(bar("L", "m")).with_payload("mE").equations(gravity="g")
    level, lowest = (eq.potential_energy.subs(eq.q[0], x) for x in (0, -sp.pi / 2))
    W, J = symbol("W"), symbol("J")
    kinetic = eq.kinetic_energy.subs(eq.qd[0], symbol("omega")).subs(eq.M[0], J)
    omega = sp.Pow(2 * W / J, sp.Rational(1, 2), evaluate=False)
    return [
        Step("W", sp.factor(level - lowest), "J"),
        Step("J", eq.M[0], "kg m²"),
        Step("T", kinetic),
        Step("omega", omega, "rad/s"),
    ]


def gear() -> list[Step]:
    """Inertia at the joint, its torque and that of the motor."""
    link = replace(bar("L", "m"), drive=Drive(gear="N", rotor_inertia="Jm"))
    J, qdd, N, tau = map(symbol, ("J", "qdd", "N", "tau"))
    return [
        Step("J", planar_robot(link, gravity=0.0).equations().M[0], "kg m²"),
        Step("tau", J * qdd, "N m"),
        Step("tau_m", tau / N, "N m"),
    ]


def pd_design() -> list[Step]:
    """By comparison of coefficients."""
    J, B, w, T, s, kp, kd = map(symbol, ("J", "B", "w", "T", "s", "kp", "kd"))
    P = sp.collect(sp.expand((J * s + B) * s + kp + kd * s), s)
    found = sp.solve(sp.Poly(P - J * (s + w) ** 2, s).coeffs(), [kp, kd])
    return [
        Step("P", P),
        Step("kp", found[kp], "N m/rad"),
        Step("kd", found[kd], "N m s/rad"),
        Step("e", T / P.subs(s, 0), "rad"),
    ]


def quintic_peaks() -> list[Step]:
    """Where the next derivative is zero."""
    D, T, u = map(symbol, ("D", "T", "u"))
    rising = sp.expand(horner([sp.Integer(round(x)) for x in basis(3)[0][0]], 1 - u))
    q, qd, qdd = (sp.factor(D * sp.diff(rising, u, k) / T**k) for k in range(3))
    fast = next(x for x in sp.solve(sp.diff(qd, u), u) if 0 < x < 1)
    hard = min(x for x in sp.solve(sp.diff(qdd, u), u) if 0 < x < 1)
    return [
        Step("q", q),
        Step("qd", qd),
        Step("qdd", qdd),
        Step("u1", fast),
        Step("qd_max", qd.subs(u, fast), "rad/s"),
        Step("u2", hard),
        Step("qdd_max", sp.simplify(qdd.subs(u, hard)), "rad/s²"),
    ]


def moment_from_torques() -> list[Step]:
    """Two equations for two unknowns."""
    eq = planar_robot(point_mass("mc")).equations(gravity="g")
    mc, offset, q, t0, t1 = map(symbol, ("mc", "offset", "q", "t0", "t1"))
    weight: Any = eq.g[0]
    torque = weight.subs(eq.q[0], q) + offset
    found = sp.solve([torque.subs(q, 0) - t0, torque - t1], [mc, offset])
    above, below = sp.fraction(found[mc])
    return [
        Step("t", torque),
        Step("mc", sp.expand(-above) / sp.expand(-below), "kg m"),
        Step("offset", sp.solve(torque.subs(q, 0) - t0, offset)[0], "N m"),
    ]
