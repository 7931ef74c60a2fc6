"""The equation of motion over the free coordinates, of open arms and closed mechanisms alike.

    inverse dynamics    tau = Z^T (M qdd + h), shared by the drives, zero for passive joints
    over the free ones  Z^T M Z,  Z^T (M Zd + C Z),  Z^T g
    regressor           tau = Z^T Y parameters, Y that of the tree
    forward dynamics    M qdd + h = tau + J^T f,  J qdd + Jd qd = 0

M, h, C, g and Y are those of `equation`, `coriolis` and `regressor`, all joints driven; Z and J are
those of `coordinates`, or of the coordinates given as `on`. Nobody else asks whether a robot has
closures.
"""

from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.rotations import rotate_back
from ..spatial.vectors import Scalars, less, plus
from . import coriolis as tree
from . import coupling, elements, equation, kinematics
from . import regressor as regressors
from .closed import Rows, mobility
from .closures import closure_error, closure_exertions, ends_of
from .coordinates import Closed, Free, coordinates
from .elements import friction
from .forward_dynamics import pivots_from_tip
from .instant import Instant
from .kinematics import poses
from .newton_euler import reactions

On = Free | Closed | None

# kinematics


def joint_rates(chain: Chain, q: Scalars, qd_active: Scalars, fn: Functions) -> Scalars:
    """qd of all joints from those of the free ones, (n,)."""
    on = coordinates(chain, q, fn)
    return on.certain(on.rates(qd_active))


def joint_accelerations(
    chain: Chain, q: Scalars, qd: Scalars, qdd_active: Scalars, fn: Functions
) -> Scalars:
    """qdd of all joints from those of the free ones, (n,)."""
    on = coordinates(chain, q, fn)
    return on.certain(_accelerations(on, qd, qdd_active), qd)


def _accelerations(on: Free | Closed, qd: Scalars, a: Scalars) -> Scalars:
    """Z a + Zd v of qd = Z v"""
    drift = on.drift(qd, qd)
    return on.rates(a) if drift is None else plus(on.rates(a), drift)


def joint_motion(
    chain: Chain, q: Scalars, v: Scalars, a: Scalars, fn: Functions
) -> tuple[Scalars, Scalars]:
    """qd and qdd of all joints from those of the free ones, where q closes, (n,) each."""
    on = coordinates(chain, q, fn)
    qd = on.rates(v)
    return qd, _accelerations(on, qd, a)


def drive_jacobian(
    chain: Chain, q: Scalars, fn: Functions, frame: str = "base", **place: Any
) -> Rows:
    """J Z: (v, w) of the tool per rate of each free joint, linear first, (6, dof)."""
    J = kinematics.jacobian(chain, q, fn, frame, **place)
    return coordinates(chain, q, fn).per_coordinate(J)


def closure_status(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """0: q closes and the loops are sound; 1: near a singular configuration; 2: it does not."""
    return coordinates(chain, q, fn).status


# dynamics


def inverse_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, preload: Any = None,
    temperature: Any = None, on: On = None, **given: Any,
) -> Scalars:  # fmt: skip
    """Torques of the drives that give the motion, zero for passive joints, (n,).

    More drives than degrees of freedom share the load with the least squares of their torques, or
    of their differences from `preload`.
    """
    chain = friction.at_temperature(chain, temperature, fn)
    on, h = on or coordinates(chain, q, fn), _without_load(chain, q, qd, qdd, fn, **given)
    tau = on.held(h, qd, qdd, preload)[0]
    more = _load_friction(chain, on, qd, tau, fn)
    return tau if more is None else plus(tau, more)


def _without_load(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, **given: Any
) -> Scalars:
    """Torques of all joints of the tree, without friction under load."""
    plain = friction.without_load_friction(chain) if friction.load_dependent(chain) else chain
    return equation.inverse_dynamics(plain, q, qd, qdd, fn, **given)


def _load_friction(
    chain: Chain, on: Free | Closed, qd: Scalars, tau: Scalars, fn: Functions
) -> Scalars | None:
    """Friction under load of drives that would give tau without it, zero for passive joints.

    None where friction does not know the load.
    """
    if not friction.load_dependent(chain):
        return None
    carried = less(tau, friction.friction_torque(chain, qd, fn))
    more = friction.load_friction(chain, qd, carried, fn)
    return [x if k in on.drives else 0.0 for k, x in enumerate(more)]


def load_friction(chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> Scalars:
    """What friction under load adds to the torques of the drives, (n,)."""
    on, h = coordinates(chain, q, fn), _without_load(chain, q, qd, qdd, fn)
    found = _load_friction(chain, on, qd, on.held(h, qd, qdd)[0], fn)
    return [0.0] * chain.n if found is None else found


def motor_torque(chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions) -> Scalars:
    """Torque of the motor of every drive, behind its gear, zero for passive joints, (n,)."""
    on, h = coordinates(chain, q, fn), _without_load(chain, q, qd, qdd, fn)
    tau, closing = on.held(h, qd, qdd)
    load = _load_friction(chain, on, qd, tau, fn)
    if closing is not None:
        load = less([0.0] * chain.n if load is None else load, closing)
    found = equation.motor_torque(chain, q, qd, qdd, fn, load)
    return [x if k in on.drives else 0.0 for k, x in enumerate(found)]


def constraint_forces(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, **given: Any
) -> list[Any]:
    """Forces and moments of the closures, which the first link exerts on the second, (rows,).

    In the first frame's axes, the moment of a universal closure about x of the first frame cross y
    of the second; conditions that others imply carry nothing. The joints of the tree feel the
    torques of the drives and J^T f.
    """
    h = _without_load(chain, q, qd, qdd, fn, **given)
    f = Closed(chain, q, fn).held_forces(h, qd, qdd)[1]
    found: list[Any] = [0.0] * len(closure_error(chain, q, fn))
    for row, value in zip(mobility(chain).rows, f, strict=True):
        found[row] = value
    return found


def joint_reactions(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, wrench: Any = None,
    base_motion: Any = None, link_forces: Any = None,
) -> Rows:  # fmt: skip
    """(f, n) that the link before every joint exerts on the link behind it, (links, 6).

    Forces of closures and of springs between two points count, in the joints that carry them.
    """
    at = Instant(chain, fn, q, qd, qdd, wrench, base_motion, link_forces)
    exerted = elements.exertions(at)
    if chain.closures:
        moving = {} if base_motion is None else {"base_motion": base_motion}
        moving |= {"wrench": wrench, "link_forces": link_forces}
        f = constraint_forces(chain, q, qd, qdd, fn, **moving)
        exerted += [x for pair in closure_exertions(chain, at.poses, f, fn) for x in pair]
    given = wrench, base_motion, link_forces
    on, rows = coordinates(chain, q, fn), reactions(chain, at.x, at.xd, at.xdd, fn, *given, exerted)
    return [on.certain(row, qd, qdd) for row in rows]


def closure_reactions(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, **given: Any
) -> Rows:
    """(f, n) that the first link of every closure exerts on the second, (closures, 6).

    At the origin of the second frame, in the axes of the first; rows as of `constraint_forces`.
    """
    where = poses(chain, coupling.positions(chain, q), fn)
    f = constraint_forces(chain, q, qd, qdd, fn, **given)
    axes = [A.R for A, _ in ends_of(chain, where)]
    pairs = zip(axes, closure_exertions(chain, where, f, fn), strict=True)
    rows = [[*rotate_back(R, x.force), *rotate_back(R, x.moment)] for R, (x, _) in pairs]
    on = coordinates(chain, q, fn)
    return [on.certain(row, qd, qdd) for row in rows]


def regressor(
    chain: Chain, q: Scalars, qd: Scalars, qdd: Scalars, fn: Functions, qd_ref: Any = None,
    base_motion: Any = None, on: On = None,
) -> Rows:  # fmt: skip
    """Y in the rows of the drives, zero for passive joints, (n, p).

    With qd_ref, which keeps the loops closed: columns of M qdd + C(q, qd) qd_ref + g, where
    qdd = d/dt qd_ref along qd, J qdd + Jd qd_ref = 0.
    """
    Y = regressors.regressor(chain, q, qd, qdd, fn, qd_ref, base_motion)
    motion = (qd, qdd) if qd_ref is None else (qd, qdd, qd_ref)
    return (on or coordinates(chain, q, fn)).driven_rows(Y, *motion)


def mass_matrix(chain: Chain, q: Scalars, fn: Functions, on: On = None) -> Rows:
    """Z^T M Z, (dof, dof)."""
    return (on or coordinates(chain, q, fn)).matrix(equation.mass_matrix(chain, q, fn))


def pivots(chain: Chain, q: Scalars, fn: Functions) -> list[Any]:
    """Pivots of the mass matrix, tip first, (dof,); the last NaN names a joint that is singular."""
    return pivots_from_tip(mass_matrix(chain, q, fn), fn)


def mass_times(chain: Chain, q: Scalars, seed: Scalars, fn: Functions, on: On = None) -> Scalars:
    """Z^T M Z seed, (dof,)."""
    on = on or coordinates(chain, q, fn)
    return on.torques(equation.mass_times(chain, q, on.rates(seed), fn))


def gravity_torque(chain: Chain, q: Scalars, fn: Functions, on: On = None) -> Scalars:
    """Z^T g, (dof,)."""
    return (on or coordinates(chain, q, fn)).torques(equation.gravity_torque(chain, q, fn))


def coriolis_matrix(chain: Chain, q: Scalars, qd: Scalars, fn: Functions, on: On = None) -> Rows:
    """Z^T (M Zd + C Z), with Mdot - 2C skew, (dof, dof); qd that opens the loops gives NaN."""
    on, C = on or coordinates(chain, q, fn), tree.coriolis_matrix(chain, q, qd, fn)
    return on.coriolis(C, equation.mass_matrix(chain, q, fn), qd)


def coriolis_transposed(
    chain: Chain, q: Scalars, qd: Scalars, fn: Functions, on: On = None
) -> Scalars:
    """(M Zd + C Z)^T qd of all joints: Z^T C^T qd + Zd^T M qd, (dof,)."""
    on, turned = on or coordinates(chain, q, fn), tree.coriolis_transposed(chain, q, qd, fn)
    return on.turned(turned, equation.mass_times(chain, q, qd, fn), qd)


def coriolis_times(chain: Chain, q: Scalars, qd: Scalars, seed: Scalars, fn: Functions) -> Scalars:
    """Z^T (M Zd + C Z) seed, (dof,)."""
    on = coordinates(chain, q, fn)
    z = on.rates(seed)
    total, zd = tree.coriolis_times(chain, q, qd, z, fn), on.drift(qd, z)
    if zd is not None:
        total = plus(equation.mass_times(chain, q, zd, fn), total)
    return on.torques(total, qd)


def forward_dynamics(
    chain: Chain, q: Scalars, qd: Scalars, tau: Scalars, fn: Functions, wrench: Any = None,
    link_forces: Any = None, temperature: Any = None, base_motion: Any = None, on: On = None,
    **method: Any,
) -> Scalars:  # fmt: skip
    """qdd of all joints, (n,); torques of passive joints act too, where they are given."""
    if not chain.closures:  # some methods never see M
        given = wrench, link_forces, temperature, base_motion
        return equation.forward_dynamics(chain, q, qd, tau, fn, *given, **method)
    chain = friction.at_temperature(chain, temperature, fn)
    chain, tau = friction.after_load_friction(chain, qd, tau, fn)
    rest = [0.0] * chain.n
    h = equation.inverse_dynamics(chain, q, qd, rest, fn, wrench, base_motion, link_forces)
    M = equation.mass_matrix(chain, q, fn)
    return (on or coordinates(chain, q, fn)).accelerations(M, less(tau, h), qd)


def generalised_torque(
    chain: Chain, q: Scalars, v: Scalars, a: Scalars, fn: Functions, tau: Any = None,
    wrench: Any = None, left: bool = False,
) -> Scalars:  # fmt: skip
    """Z^T (M qdd + h) as a function of the free rates v and accelerations a, (dof,).

    With `tau`, what it lacks to give these accelerations, Z^T (M qdd + h - tau), or what is `left`
    of it. Without, friction under load is that of drives which are the free joints.
    """
    on = coordinates(chain, q, fn)
    qd = on.rates(v)
    h = _without_load(chain, q, qd, _accelerations(on, qd, a), fn, wrench=wrench)
    if tau is not None:
        if friction.load_dependent(chain):
            tau = less(tau, friction.driven_load_friction(chain, qd, tau, fn))
        return on.torques(less(tau, h) if left else less(h, tau))
    total = on.torques(h)
    more = _load_friction(chain, on, qd, on.all_joints(total), fn)
    return total if more is None else plus(total, on.free(more))
