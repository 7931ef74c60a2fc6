"""Steps of the questions about arms in space, workspaces, prismatic joints, and bodies."""

from functools import cache
from typing import Any

import sympy as sp

from ...dynamics import kinematics
from ...equations.closed import parallel
from ...equations.equations import Equations
from ...equations.scalars.scalars import coordinates as joint_symbols
from ...equations.scalars.scalars import exactly, symbolic_chain
from ...equations.scalars.simplify import tidy
from ...spatial.vectors import Vector, add, cross, scale
from ..question import Step
from ..questions.spatial import elbow_robot, lift_robot
from .frames import coordinates, symbols
from .planar import bar_inertia, symbol


def singularity() -> list[Step]:
    """Position, Jacobian, determinant, and where its second factor is zero."""
    chain = symbolic_chain(elbow_robot("L2", "L3").model)
    q = joint_symbols(3)[0]
    groups = parallel(chain)
    position = [tidy(row[3], groups) for row in exactly(kinematics.fk, chain, q)[:3]]
    J = sp.Matrix(3, 3, lambda i, j: sp.diff(position[i], q[j]))
    det = sp.factor(sp.trigsimp(sp.expand_trig(J.det(method="berkowitz"))))
    L2, L3, q3 = symbols("L2 L3 q3")
    reach = L2 * sp.cos(q[1]) + L3 * sp.cos(q[1] + q3)
    sine = sp.simplify(sp.expand_trig(det / reach.expand(trig=True)))  # -L2 L3 sin(q3)
    zero = sp.expand_trig(reach)
    s2, c2 = (zero.expand().coeff(f(q[1])) for f in (sp.sin, sp.cos))
    return [
        *(Step(name, x) for name, x in zip(("x", "y", "z"), position, strict=True)),
        Step("rho", reach, "m"),
        Step("det", sine * symbol("rho"), "m³"),
        Step("qs", sp.atan2(c2, -s2), "rad"),
    ]


def workspace() -> list[Step]:
    """Law of cosines, and the area of a ring."""
    L1, L2, qm, R, r = symbols("L1 L2 qm Ro Ri")
    inner = sp.sqrt(L1**2 + L2**2 + 2 * L1 * L2 * sp.cos(qm))
    area = sp.pi * (R**2 - r**2)
    return [Step("Ro", L1 + L2, "m"), Step("Ri", inner, "m"), Step("A", area, "m²")]


def wrist_center() -> list[Step]:
    """Back from the tool along its direction."""
    x, y, z, d6, a, b = symbols("x y z d6 a b")
    way = (sp.cos(b) * sp.cos(a), sp.cos(b) * sp.sin(a), -sp.sin(b))
    center = [p - d6 * symbol(k) for p, k in zip((x, y, z), ("kx", "ky", "kz"), strict=True)]
    xc, yc = symbols("xc yc")
    return [
        *coordinates("kx ky kz", way, ""),
        *coordinates("xc yc zc", center),
        Step("q1", sp.atan2(yc, xc), "rad"),
    ]


def spherical_inverse() -> list[Step]:
    """Seen from above, then in the vertical plane of the arm."""
    x, y, z, h, rho = symbols("x y z h rho")
    return [
        Step("q1", sp.atan2(y, x), "rad"),
        Step("rho", sp.sqrt(x**2 + y**2), "m"),
        Step("q2", sp.atan2(z - h, rho), "rad"),
        Step("d3", sp.sqrt(rho**2 + (z - h) ** 2), "m"),
    ]


def cylindrical_velocity() -> list[Step]:
    """Derivatives of x = r cos(q1) and y = r sin(q1)."""
    r, q, w, out, vx, vy, vz = symbols("r q1 w vr vx vy vz")

    def rate(p: Any) -> Any:
        return sp.diff(p, q) * w + sp.diff(p, r) * out

    speed = sp.sqrt(vx**2 + vy**2 + vz**2)
    place = [r * sp.cos(q), r * sp.sin(q)]
    return [
        *(Step(name, x) for name, x in zip("xy", place, strict=True)),
        Step("vx", rate(place[0]), "m/s"),
        Step("vy", rate(place[1]), "m/s"),
        Step("v", speed, "m/s"),
    ]


def composite_link() -> list[Step]:
    """Centre of mass, inertia about the axis, and the parallel axis theorem."""
    L, m, mE, R, c, J = symbols("L m mE R c J")
    return [
        Step("c", (m * L / 2 + mE * L) / (m + mE), "m"),
        Step("J", bar_inertia("L", "m") + mE * (L**2 + R**2 / 2), "kg m²"),
        Step("Jc", J - (m + mE) * c**2, "kg m²"),
    ]


def newton_euler() -> list[Step]:
    """Out along the chain with velocities and accelerations, back with forces and moments."""
    L, m, e, g, q2, w1, w2, a1, a2 = symbols("L m e g q2 qd1 qd2 qdd1 qdd2")
    s, c = sp.sin(q2), sp.cos(q2)
    names = {key: symbols(f"{key}x {key}y {key}z") for key in ("w", "alpha", "a", "F", "n")}
    turn: Vector = (w1 * s, w1 * c, w2)
    # the derivative in the link's own frame: e of the axis that turns with q2
    speeding = [sp.diff(x, q2) * w2 + sp.diff(x, w1) * a1 + sp.diff(x, w2) * a2 for x in turn]
    r: Vector = (L / 2, 0, e)
    w, wd = names["w"], names["alpha"]
    up = (g * s, g * c, 0)
    carried = add(cross(wd, r), cross(w, cross(w, r)), up)  # type: ignore[arg-type]
    force = scale(m, names["a"])  # type: ignore[arg-type]
    J = symbol("Jc")
    spin = (0, J * w[1], J * w[2])
    own = add((0, J * wd[1], J * wd[2]), cross(w, spin))  # type: ignore[arg-type]
    moment = add(cross(r, names["F"]), own)  # type: ignore[arg-type]
    n = names["n"]
    return [
        *coordinates("wx wy wz", turn, "rad/s"),
        *coordinates("alphax alphay alphaz", speeding, "rad/s²"),
        *coordinates("ax ay az", [sp.expand(x) for x in carried], "m/s²"),
        *coordinates("Fx Fy Fz", force, "N"),
        Step("Jc", m * L**2 / 12, "kg m²"),
        *coordinates("nx ny nz", moment, "N m"),
        Step("tau1", n[0] * s + n[1] * c, "N m"),
        Step("tau2", n[2], "N m"),
    ]


def walker_orin() -> list[Step]:
    """A column of M for each unit acceleration, then two linear equations."""
    names = ("M11", "M21", "M12", "M22")
    places = (("a1", "g1"), ("a2", "g2"), ("b1", "g1"), ("b2", "g2"))
    columns = [
        Step(name, symbol(one) - symbol(rest), "kg m²")
        for name, (one, rest) in zip(names, places, strict=True)
    ]
    M11, M21, M12, M22, e1, e2, D, t1, t2, h1, h2 = symbols("M11 M21 M12 M22 e1 e2 D t1 t2 h1 h2")
    M = sp.Matrix([[M11, M12], [M21, M22]])
    found = M.adjugate() * sp.Matrix([e1, e2])
    return [
        *columns,
        Step("e1", t1 - h1, "N m"),
        Step("e2", t2 - h2, "N m"),
        Step("D", M.det(), "kg² m⁴"),
        *(Step(f"qdd{i + 1}", found[i] / D, "rad/s²") for i in range(2)),
    ]


@cache
def lift_motion() -> Equations:
    """Equation of motion of the lift."""
    return lift_robot("L", "m1", "m2", g="g").equations()


def lift() -> list[Step]:
    """Energies, then force and torque."""
    eq = lift_motion()
    names = dict(zip((*eq.q, *eq.qd, *eq.qdd), symbols("d q v w a alpha"), strict=True))
    given: list[Any] = [eq.kinetic_energy, eq.potential_energy, eq.tau[0], eq.tau[1]]
    T, U, F, tau = (sp.expand(x.subs(names)) for x in given)
    force, torque = (sp.collect(x, symbol("g")) for x in (F, tau))
    return [Step("T", T), Step("U", U), Step("F", force, "N"), Step("tau", torque, "N m")]
