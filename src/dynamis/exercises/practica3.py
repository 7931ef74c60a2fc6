"""The function library of "Práctica 3, Dinámica de Robots" by its names, over dynamis.

    from dynamis.exercises.practica3 import newtoneuler4, walkerorin4, simula3

Arguments are those of the practice, in its order; vectors are arrays of length 3 or n (columns are
taken too), matrices (3, 3). R is the rotation {}^{i}R_{i-1} unless a function says otherwise; every
vector of link i is in frame i, standard Denavit-Hartenberg. Formulas are those of table 3.1 without
its misprints. Arms are `rppr` (4), `elbow6` (6) and `pendulum3` (3) of the catalogue.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import transforms
from ..arguments import LARGEST, checked, number, positive, strict
from ..compile.arrays import numbers
from ..errors import OptionError, ShapeError, shown
from ..lazy import public_dir
from ..robot import Robot, load
from ..simulation import Simulator, simulate

__all__ = [
    "animacion3", "denavit", "dh", "f_p", "h3", "h4", "h6", "newtoneuler3", "newtoneuler4",
    "newtoneuler6", "ri0ai", "ri0fi", "ri0fia", "ri0ni", "ri0nia", "ri0pi", "ri0si", "ri0vpi_p",
    "ri0vpi_r", "ri0wi", "ri0wpi", "simula3", "t_r", "walkerorin3", "walkerorin4", "walkerorin6",
    "walkerorinrunge3",
]  # fmt: skip
__dir__ = public_dir(__name__)

ANGLE = "an angle in radians"
G = 9.8  # m/s^2: WALKERORIN and SIMULA3 take no other
ROUNDED = 13  # decimals that WALKERORINRUNGE3 keeps
Z0 = np.array([0.0, 0.0, 1.0])
ARMS = {3: "pendulum3", 4: "rppr", 6: "elbow6"}


# geometry: the matrices of práctica 2, p and s


@strict
def denavit(teta: float, d: float, a: float, alfa: float) -> np.ndarray:
    """DENAVIT: the matrix {}^{i-1}A_i of one row of the table, (4, 4)."""
    turn, twist = number(teta, "teta", ANGLE), number(alfa, "alfa", ANGLE)
    return transforms.dh(turn, d, a, twist, "standard")


@strict
def dh(teta: float, alfa: float) -> np.ndarray:
    """DH: the rotation {}^{i-1}R_i, (3, 3); its transpose is what the functions below take."""
    return denavit(teta, 0.0, 0.0, alfa)[:3, :3]


@strict
def ri0pi(a: float, d: float, alfa: float) -> np.ndarray:
    """RI0PI: p from the origin of frame i - 1 to that of frame i, (a, d sin alfa, d cos alfa)."""
    return -transforms.dh_inverse(0.0, d, a, number(alfa, "alfa", ANGLE), "standard")[:3, 3]


@strict
def ri0si(a: float, d: float, alfa: float, factor: float) -> np.ndarray:
    """RI0SI: the centre of mass from the origin of frame i, factor times p."""
    return number(factor, "factor") * ri0pi(a, d, alfa)


# table 3.1, outwards


@strict
def ri0wi(r: Any, w: Any, qp: float) -> np.ndarray:
    """RI0WI: w_i = R (w_{i-1} + z0 qp), (3.27) of a revolute joint; of others it is R w_{i-1}."""
    return _matrix(r, "r") @ (_vector(w, "w") + Z0 * number(qp, "qp"))


@strict
def ri0wpi(r: Any, wp: Any, w: Any, qp: float, qpp: float) -> np.ndarray:
    """RI0WPI: wp_i = R (wp_{i-1} + z0 qpp + w_{i-1} x z0 qp), (3.28) of a revolute joint."""
    turned = np.cross(_vector(w, "w"), Z0 * number(qp, "qp"))
    return _matrix(r, "r") @ (_vector(wp, "wp") + Z0 * number(qpp, "qpp") + turned)


@strict
def ri0vpi_r(r: Any, vp: Any, wp: Any, w: Any, p: Any) -> np.ndarray:
    """RI0VPI_R: vp_i = wp_i x p_i + w_i x (w_i x p_i) + R vp_{i-1}, (3.29) of a revolute joint."""
    return _carried(_matrix(r, "r") @ _vector(vp, "vp"), wp, w, p, "p")


@strict
def ri0vpi_p(r: Any, vp: Any, wp: Any, w: Any, p: Any, qp: float, qpp: float) -> np.ndarray:
    """RI0VPI_P: what RI0VPI_R gives, + R z0 qpp + 2 w_i x (R z0 qp), of a prismatic joint."""
    z = _matrix(r, "r") @ Z0
    slid = z * number(qpp, "qpp") + 2.0 * np.cross(_vector(w, "w"), z * number(qp, "qp"))
    return ri0vpi_r(r, vp, wp, w, p) + slid


@strict
def ri0ai(vp: Any, wp: Any, w: Any, s: Any) -> np.ndarray:
    """RI0AI: a_i = wp_i x s_i + w_i x (w_i x s_i) + vp_i, of the centre of mass, (3.30)."""
    return _carried(_vector(vp, "vp"), wp, w, s, "s")


@strict
def ri0fi(a: Any, m: float) -> np.ndarray:
    """RI0FI: F_i = m_i a_i"""
    return number(m, "m") * _vector(a, "a")


@strict
def ri0ni(wp: Any, w: Any, inercia: Any) -> np.ndarray:
    """RI0NI: N_i = I_i wp_i + w_i x (I_i w_i), (3.19)."""
    inertia, turning = _matrix(inercia, "inercia"), _vector(w, "w")
    return inertia @ _vector(wp, "wp") + np.cross(turning, inertia @ turning)


# table 3.1, inwards; here r is {}^{i}R_{i+1}


@strict
def ri0fia(r: Any, f: Any, fuerza: Any) -> np.ndarray:
    """RI0FIA: f_i = R f_{i+1} + F_i, (3.31)."""
    return _matrix(r, "r") @ _vector(f, "f") + _vector(fuerza, "fuerza")


@strict
def ri0nia(
    r: Any, n: Any, f: Any, par: Any, fuerza: Any, p_siguiente: Any, p: Any, s: Any
) -> np.ndarray:
    """RI0NIA: n_i = R (n_{i+1} + p x f_{i+1}) + (p_i + s_i) x F_i + N_i, (3.32).

    n and f are n_{i+1} and f_{i+1}, par and fuerza N_i and F_i; p_siguiente is p_i in frame i + 1.
    """
    carried = _vector(n, "n") + np.cross(_vector(p_siguiente, "p_siguiente"), _vector(f, "f"))
    arm = _vector(p, "p") + _vector(s, "s")
    own = np.cross(arm, _vector(fuerza, "fuerza")) + _vector(par, "par")
    return _matrix(r, "r") @ carried + own


@strict
def t_r(r: Any, n: Any, qp: float, b: float) -> float:
    """T_R: tau_i = n_i . (R z0) + b qp, the torque of a revolute joint, (3.33)."""
    friction = number(b, "b") * number(qp, "qp")
    return float(_vector(n, "n") @ _matrix(r, "r") @ Z0) + friction


@strict
def f_p(r: Any, f: Any, qp: float, b: float) -> float:
    """F_P (T_P in the practice's table): tau_i = f_i . (R z0) + b qp, the force of a slide."""
    friction = number(b, "b") * number(qp, "qp")
    return float(_vector(f, "f") @ _matrix(r, "r") @ Z0) + friction


# inverse and forward dynamics of the three arms


@strict
def newtoneuler3(q: Any, qp: Any, qpp: Any, g: float, m4: float, iexter: Any) -> np.ndarray:
    """NEWTONEULER3: torques (3,) of the pendulum; arguments as of NEWTONEULER4, g along -y0."""
    return _torque(3, (q, qp, qpp), g, m4, iexter, "m4")


@strict
def newtoneuler4(q: Any, qp: Any, qpp: Any, g: float, m5: float, iexter: Any) -> np.ndarray:
    """NEWTONEULER4: torques and forces (4,) of the R P P R arm.

    q, qp, qpp are positions, velocities and accelerations of the joints, (4,), in rad and m; g is
    the size of gravity, along -z0. The load is a link 5: its mass m5 (kg) and its inertia iexter
    (3, 3) about the origin of frame 4, np.zeros((3, 3)) for none.
    """
    return _torque(4, (q, qp, qpp), g, m5, iexter, "m5")


@strict
def newtoneuler6(q: Any, qp: Any, qpp: Any, g: float, m7: float, iexter: Any) -> np.ndarray:
    """NEWTONEULER6: torques (6,) of the six-axis arm; arguments as of NEWTONEULER4."""
    return _torque(6, (q, qp, qpp), g, m7, iexter, "m7")


@strict
def h3(q: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """H3: the matrix H(q) of the pendulum, (3, 3), by composite bodies."""
    return _loaded(3, masaext, inerciaext).mass_matrix(_joints(q, "q", 3))


@strict
def h4(q: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """H4: the matrix H(q) of the R P P R arm, (4, 4)."""
    return _loaded(4, masaext, inerciaext).mass_matrix(_joints(q, "q", 4))


@strict
def h6(q: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """H6: the matrix H(q) of the six-axis arm, (6, 6)."""
    return _loaded(6, masaext, inerciaext).mass_matrix(_joints(q, "q", 6))


@strict
def walkerorin3(q: Any, qp: Any, tau: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """WALKERORIN3: accelerations (3,) of the pendulum, Walker and Orin's third method; g = 9.8."""
    return _acceleration(3, (q, qp, tau), masaext, inerciaext)


@strict
def walkerorin4(q: Any, qp: Any, tau: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """WALKERORIN4: accelerations (4,) of the R P P R arm."""
    return _acceleration(4, (q, qp, tau), masaext, inerciaext)


@strict
def walkerorin6(q: Any, qp: Any, tau: Any, masaext: float, inerciaext: Any) -> np.ndarray:
    """WALKERORIN6: accelerations (6,) of the six-axis arm."""
    return _acceleration(6, (q, qp, tau), masaext, inerciaext)


# the pendulum in time


@strict
def walkerorinrunge3(
    qini: Any, qpini: Any, par: Any, t0: float, tf: float, masaext: float, inerciaext: Any
) -> tuple[np.ndarray, np.ndarray]:
    """WALKERORINRUNGE3: positions and velocities at tf, by one step of Runge-Kutta from t0.

    Both are rounded to 13 decimals, as in the practice.
    """
    arm = _loaded(3, masaext, inerciaext)
    start, end = number(t0, "t0"), number(tf, "tf")
    simulator = Simulator(arm, dt=positive(end - start, "tf - t0"))
    simulator.reset(_joints(qini, "qini", 3), _joints(qpini, "qpini", 3))
    simulator.step(_joints(par, "par", 3))
    return simulator.q.round(ROUNDED), simulator.qd.round(ROUNDED)


@strict
def simula3(tsim: float, pint: float) -> np.ndarray:
    """SIMULA3: positions of the free pendulum every `pint` seconds up to `tsim`, (3, N).

    From rest at q = 0, without torque and load; of the whole run, energy included, see
    `dy.simulate(dy.load("pendulum3"), tsim, pint)`.
    """
    duration, dt = positive(tsim, "tsim"), positive(pint, "pint")
    if not 1 <= duration / dt < LARGEST:
        raise OptionError(f"tsim is {duration:g} s and pint {dt:g} s, expected at least one step")
    steps = int(duration / dt * (1.0 + 1e-12))  # t = 0:pint:tsim
    return simulate(_loaded(3, 0.0, np.zeros((3, 3))), steps * dt, dt).q.T


class Drawn(NamedTuple):
    """Positions that an animation shows."""

    robot: Robot
    t: np.ndarray
    q: np.ndarray


@checked
def animacion3(
    mat_q: Any, path: str | Path = "animacion3.gif", pint: float = 1e-3, fps: float = 30.0
) -> Path:
    """ANIMACION3: the pendulum's motion as a film (.gif, .mp4 or .html) instead of a window.

    `mat_q` (3, N) is what `simula3` gave, `pint` the time from a column to the next.
    """
    from ..plots import animate

    expected = "expected numbers of shape (3, N): a column for each instant"
    given = numbers(mat_q, "mat_q", expected)
    if given.ndim != 2 or given.shape[0] != 3 or not given.shape[1]:
        raise ShapeError(f"mat_q has shape {given.shape}, {expected}")
    t = np.arange(given.shape[1]) * positive(pint, "pint")
    return animate(Drawn(load(ARMS[3]), t, given.T), path, fps=fps)  # type: ignore[arg-type]


# arms and arguments


def _torque(n: int, state: Any, g: float, mass: float, inertia: Any, name: str) -> np.ndarray:
    arm = _loaded(n, mass, inertia, "iexter", name, number(g, "g"))
    q, qp, qpp = (_joints(x, y, n) for x, y in zip(state, ("q", "qp", "qpp"), strict=True))
    return arm.inverse_dynamics(q, qp, qpp)


def _acceleration(n: int, state: Any, mass: float, inertia: Any) -> np.ndarray:
    arm = _loaded(n, mass, inertia)
    q, qp, tau = (_joints(x, y, n) for x, y in zip(state, ("q", "qp", "tau"), strict=True))
    return arm.forward_dynamics(q, qp, tau, method="walker-orin-3")


def _loaded(
    n: int, mass: Any, inertia: Any, name: str = "inerciaext", of: str = "masaext", g: float = G
) -> Robot:
    """The arm of n joints with a load at the origin of its last frame."""
    rows = _matrix(inertia, name)
    weight = number(mass, of, "a mass in kg, not negative", lambda x: 0.0 <= x < np.inf)
    return _arm(n, weight, tuple(map(tuple, rows.tolist())), g)


@lru_cache(maxsize=64)
def _arm(n: int, mass: float, inertia: tuple, g: float) -> Robot:
    arm = load(ARMS[n])
    arm = arm.with_gravity(tuple(arm.gravity / G * g))
    if mass == 0.0 and not np.any(inertia):
        return arm
    return arm.with_payload(mass, inertia=inertia)


def _carried(a: np.ndarray, wp: Any, w: Any, r: Any, name: str) -> np.ndarray:
    """a + wp x r + w x (w x r)"""
    turning, place = _vector(w, "w"), _vector(r, name)
    centripetal = np.cross(turning, np.cross(turning, place))
    return a + np.cross(_vector(wp, "wp"), place) + centripetal


def _vector(value: Any, name: str) -> np.ndarray:
    return _column(value, name, 3)


def _joints(value: Any, name: str, n: int) -> np.ndarray:
    return _column(value, name, n)


def _column(value: Any, name: str, n: int) -> np.ndarray:
    """Finite numbers (n,), also of a column or a row."""
    expected = f"expected {n} finite numbers"
    found = numbers(value, name, expected)
    if found.size != n or max(found.shape, default=0) != n or not np.isfinite(found).all():
        raise ShapeError(f"{name} is {shown(value)}, {expected}")
    return found.reshape(n)


def _matrix(value: Any, name: str) -> np.ndarray:
    expected = "expected a matrix (3, 3) of finite numbers"
    found = numbers(value, name, expected)
    if found.shape != (3, 3) or not np.isfinite(found).all():
        hint = "0.05 * np.eye(3), or np.zeros((3, 3)) for none" if found.size == 1 else None
        raise ShapeError(f"{name} is {shown(value)}, {expected}", hint)
    return found
