"""The free body of one link: every force and moment on it, by d'Alembert in equilibrium.

    f_i - sum f_c + m_i g - m_i a_i = 0
    n_i - sum n_c - N_i + sum of the arms from the centre of mass x these forces = 0

f_i and n_i are what the link before exerts (f_c, n_c what the link exerts on those after it), N_i
is the rate of the angular momentum about the centre of mass. All vectors are in base axes.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import strict
from ..compile.arrays import numbers
from ..dynamics.kinematics import inertias, poses
from ..dynamics.newton_euler import joint_frames, outward, reactions, wrench_of
from ..errors import ModelError, OptionError, ShapeError, shown
from ..model.chain import Chain
from ..model.closure import refuse_closures
from ..spatial.frames import compose, matrix
from ..spatial.functions import MATH
from ..spatial.inertia import symmetric_matrix, to_com
from ..tables import text_table
from .variations import number_of

if TYPE_CHECKING:
    from . import Robot

ROUNDING = 1e-12  # of a vector's largest entry


class Load(NamedTuple):
    """A force (3,) at a point and a moment (3,) on the link, N and N m; letters as in the sums."""

    source: str  # a joint, a link, "tool", "weight" or "inertia"
    letters: tuple[str, str]  # of the force and of the moment
    point: np.ndarray
    force: np.ndarray
    moment: np.ndarray


@strict
@dataclass(frozen=True)
class FreeBody:
    """What acts on a link at one state: `loads` by source, the link before it first.

    `frame` (4, 4) is the link's own frame: `frame[:3, :3].T @ v` has the coordinates of table 3.1
    of Newton-Euler. Moments are about the point where the force acts; for the joint that is the
    origin of frame i - 1 in the standard convention, else that of frame i.
    """

    robot: "Robot"
    link: int
    q: np.ndarray
    frame: np.ndarray
    loads: tuple[Load, ...]

    @property
    def name(self) -> str:
        """The link's name."""
        return self.robot.link_names[self.link]

    def __getitem__(self, source: str) -> Load:
        """The load of a source: the joint's name, a link's after it, "weight", ..."""
        found = {load.source: load for load in self.loads}
        if not isinstance(source, str) or source not in found:
            known = ", ".join(map(repr, found))
            raise OptionError(f"{shown(source)} acts not on {self.name!r}", f"there are {known}")
        return found[source]

    @property
    def residual(self) -> np.ndarray:
        """Sum of all forces and of all moments about the base's origin, (6,): zero but rounding."""
        forces = sum(load.force for load in self.loads)
        moments = sum(load.moment + np.cross(load.point, load.force) for load in self.loads)
        return np.concatenate([forces, moments])

    @property
    def rows(self) -> list[list[str]]:
        """The table that `print` shows: a row for every force and every moment."""
        found = [["", "on " + self.name, "x", "y", "z", "size", ""]]
        for load in self.loads:
            values = (load.force, "N"), (load.moment, "N m")
            for letter, (value, unit) in zip(load.letters, values, strict=True):
                if letter:
                    size = float(np.linalg.norm(value))
                    cells = map(_short, (*_without_rounding(value), size))
                    found.append([letter, load.source, *cells, unit])
        return found

    def __str__(self) -> str:
        return text_table(self.rows, right=0)

    def plot(self, path: Any = None, ax: Any = None, language: str = "en") -> Any:
        """The link alone with its forces (straight arrows) and moments, and the numbers.

        `path` also writes the picture, `ax` draws on matplotlib axes of your own, `language` of
        the words is "en" or "es".
        """
        from ..plots.free_body_plot import plot_free_body

        return plot_free_body(self, path, ax, language)


def _short(value: float) -> str:
    """Four digits."""
    return f"{value + 0.0:.4g}" if value == 0.0 or abs(value) >= 1e-3 else f"{value:.1e}"


def _without_rounding(v: np.ndarray) -> np.ndarray:
    """The vector with zeros where only rounding is left."""
    return np.where(np.abs(v) > ROUNDING * np.abs(v).max(), v, 0.0)


def free_body(robot: "Robot", link: Any, q: Any, qd: Any, qdd: Any, wrench: Any) -> FreeBody:
    """What acts on a link (a name or a number from 0) at one state."""
    model, chain = robot.model, robot.chain
    i = number_of(model, "link", link, model.link_names, len(model.link_names))
    _refuse(robot)
    x, xd, xdd = (
        _finite(value, name, robot.n) for name, value in (("q", q), ("qd", qd), ("qdd", qdd))
    )
    _, links = outward(chain, x, xd, xdd, MATH)
    bodies, where = inertias(chain, x), poses(chain, x, MATH)
    tool = compose(where[chain.tip], chain.tool)
    given = _finite(wrench, "wrench", 6)
    push = np.reshape(given, (2, 3)) @ np.array(tool.R).T  # in base axes
    T = np.array([matrix(frame) for frame in where])
    rows = reactions(chain, x, xd, xdd, MATH, given)
    passed = [
        (np.array(p), *(np.reshape(row, (2, 3)) @ np.array(R).T))
        for row, (R, p) in zip(rows, joint_frames(chain, where), strict=True)
    ]
    label = i + 1
    point, f, n = passed[i]
    loads = [Load(model.links[i].joint_name or "", (f"f{label}", f"n{label}"), point, f, n)]
    for k, joint in enumerate(chain.joints):
        if joint.parent == i:
            point, f, n = passed[k]
            letters = f"-f{k + 1}", f"-n{k + 1}"
            loads.append(Load(model.link_names[k], letters, point, -f, -n))
    if i == chain.tip and push.any():
        loads.append(Load("tool", ("-f_tool", "-n_tool"), np.array(tool.p), -push[0], -push[1]))
    loads += _of_the_mass(chain, bodies[i], links[i], T[i], label)
    frame = np.array(matrix(compose(where[i], chain.bodies[i].user)))
    return FreeBody(robot, i, np.array(x), frame, tuple(loads))


def _refuse(robot: "Robot") -> None:
    """Refuse arms whose links feel more than their joints."""
    model = robot.model
    refuse_closures(model.closures, "the free body of a link")
    between = [spring.name for spring in model.springs if spring.kind != "torsion"]
    if between or robot.chain.coupling is not None:
        why = f"spring {between[0]!r} pulls at links" if between else "its joints are coupled"
        raise OptionError(
            f"the free bodies of {model.name!r} are not written down: {why}",
            "they are for arms whose links meet at their joints alone",
        )


def _finite(value: Any, name: str, size: int) -> list[float]:
    """Finite numbers (size,); None is zero."""
    if value is None:
        return [0.0] * size
    expected = f"expected {size} finite numbers"
    found = numbers(value, name, expected)
    if found.shape != (size,) or not np.isfinite(found).all():
        raise ShapeError(f"{name} is {shown(value)}, {expected}")
    return found.tolist()


def _of_the_mass(chain: Chain, body: Any, motion: Any, T: np.ndarray, label: int) -> list[Load]:
    """Weight and inertia of the link; nothing of one without mass and inertia."""
    gravity, (F, _) = np.array(chain.gravity), wrench_of(body, motion)
    if not body.m:
        if any(body.h):
            raise ModelError(
                f"link {label} has a first moment but no mass, so it has no centre of mass",
                "give it mass and com",
            )
        mass, s, inertia = 0.0, np.zeros(3), body.I
    else:
        mass, s, inertia = to_com(body)
    I = np.array(symmetric_matrix(inertia))
    w, wd = np.array(motion.w), np.array(motion.wd)
    N = T[:3, :3] @ (I @ wd + np.cross(w, I @ w))
    weight, centre = mass * gravity, T[:3, :3] @ np.array(s) + T[:3, 3]
    F = T[:3, :3] @ np.array(F)  # m (a - g): the weight is in it
    reaction = np.where(np.abs(F + weight) > ROUNDING * np.abs(F).max(), -F - weight, 0.0)
    found = []
    if mass:
        found.append(Load("weight", (f"m{label} g", ""), centre, weight, np.zeros(3)))
    if reaction.any() or N.any():
        found.append(Load("inertia", (f"-m{label} a{label}", f"-N{label}"), centre, reaction, -N))
    return found
