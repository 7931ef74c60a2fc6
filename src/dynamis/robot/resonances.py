"""Natural frequencies and modes of an arm whose gears or links are elastic.

Small motions about static equilibrium at q, without damping and friction:

    M q'' + G q = K (th - q),    B th'' = K (q - th)      rotors free
    M q'' + G q = -K q,          th = 0                   rotors locked

M is the inertia of the links, G the slope over q of the torque that holds them against gravity,
springs and loads, K the slope of what the gears transmit there (hardening counts), teeth in
contact. A rigid joint moves with its motor: free where rotors are free, locked where they are.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compile.arrays import NUMPY, as_batch
from ..dynamics.elastic import coordinate
from ..dynamics.elements.gears import static_deflection
from ..errors import ClosureError, OptionError, SingularError, counted
from ..lazy import once
from . import variations

if TYPE_CHECKING:
    from . import Robot


@dataclass(frozen=True, eq=False)
class Resonances:
    """Natural frequencies in Hz, lowest first, and their modes, k of each.

    A mode is scaled to a largest entry of 1. Where gravity overcomes the stiffness there is no
    oscillation, and the frequency is 0.
    """

    free: np.ndarray  # (..., k), rotors free
    locked: np.ndarray  # (..., k), rotors locked
    free_modes: np.ndarray  # (..., k, 2, n): of the joints, and of their motors in units of these
    locked_modes: np.ndarray  # (..., k, n): of the joints

    def __repr__(self) -> str:
        if self.free.ndim > 1:
            size = counted(int(np.prod(self.free.shape[:-1])), "configuration")
            return f"Resonances({counted(self.free.shape[-1], 'mode')} at {size})"
        free, locked = (", ".join(f"{x:.4g}" for x in f) for f in (self.free, self.locked))
        return f"Resonances(rotors free {free} Hz, locked {locked} Hz)"


def resonances(robot: "Robot", q: Any) -> Resonances:
    """Frequencies and modes at q (..., n), which must close."""
    given = as_batch(q, "q", (robot.n,), f"robot {robot.name!r}")
    own, n, gears = elastic_entries(robot), robot.dof, robot.chain.elastic
    passive = [i for i, k in enumerate(robot.independent) if k not in robot.active]
    moving = sorted({*own, *passive})  # where rotors are locked
    if not moving:
        raise OptionError(
            f"robot {robot.name!r} has no elastic joints, so it has no resonances",
            'give drives a stiffness on the joint side: robot.with_drive("joint1", stiffness=1e4)',
        )
    M, K = np.zeros((2, *given.shape[:-1], n + len(own), n + len(own)))
    links, rest, motors = link_side(robot), np.zeros(robot.n), range(n, n + len(own))
    M[..., :n, :n] = links.mass_matrix(given)
    M[..., motors, motors] = [robot.chain.motors[x.joint].inertia for x in gears]
    K[..., :n, :n] = links.inverse_dynamics_derivatives(given, rest, rest)[0]
    held = links.inverse_dynamics(given, rest, rest)
    for gear, i, th in zip(gears, own, motors, strict=True):
        s = static_deflection(gear, held[..., robot.independent[i]], NUMPY)
        k = gear.stiffness + 3.0 * gear.hardening * s * s
        for a, b, sign in ((i, i, 1.0), (th, th, 1.0), (i, th, -1.0), (th, i, -1.0)):
            K[..., a, b] += sign * k
    free, modes = _modes(robot, M, K, len(moving))
    joints = robot.joint_rates(given[..., None, :], modes[..., :n])
    turned = joints.copy()
    turned[..., [robot.independent[i] for i in own]] = modes[..., n:]
    block = (..., *np.ix_(moving, moving))
    locked, modes = _modes(robot, M[block], K[block], len(moving))
    still = robot.joint_rates(given[..., None, :], modes @ np.eye(n)[moving])
    both = _scaled(np.stack([joints, turned], axis=-2), (-1, -2))
    return Resonances(free, locked, both, _scaled(still, (-1,)))


def _modes(
    robot: "Robot", M: np.ndarray, K: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The highest frequencies of M x'' + K x = 0, Hz, and their modes in rows."""
    known = np.asarray(np.isfinite(M + K).all((-1, -2), keepdims=True))
    M, K = np.where(known, M, np.eye(M.shape[-1])), np.where(known, K, 0.0)
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        raise SingularError(
            f"robot {robot.name!r} has links without inertia behind an elastic joint",
            "give them mass or inertia of their own: the rotor is on the other side of the gear",
        ) from None
    half = np.linalg.solve(L, 0.5 * (K + np.swapaxes(K, -1, -2)))
    values, vectors = np.linalg.eigh(np.linalg.solve(L, np.swapaxes(half, -1, -2)))
    modes = np.swapaxes(np.linalg.solve(np.swapaxes(L, -1, -2), vectors), -1, -2)
    frequencies = np.sqrt(np.maximum(values[..., -count:], 0.0)) / (2.0 * np.pi)
    return np.where(known[..., 0], frequencies, np.nan), modes[..., -count:, :]


def _scaled(modes: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Modes with a largest entry of 1."""
    size = np.abs(modes).max(axes, keepdims=True)
    sign = np.where(modes.max(axes, keepdims=True) < size, -1.0, 1.0)
    return sign * modes / size


def elastic_entries(robot: "Robot") -> list[int]:
    """Entries of the independent joints that have an elastic gear, gear by gear."""
    own = list(robot.independent)
    joints = [coordinate(robot.chain, gear) for gear in robot.chain.elastic]
    for k in joints:
        if k not in own:
            raise ClosureError(
                f"joint {robot.joint_names[k]!r} is elastic and follows other joints: the drives "
                f"of robot {robot.name!r} are more than its {counted(robot.dof, 'degree')} of "
                "freedom",
                "make a drive passive, or elastic joints rigid (stiffness=None)",
            )
    return [own.index(k) for k in joints]


def link_side(robot: "Robot") -> "Robot":
    """The robot without the motors of its elastic joints: what their gears move."""
    return once(robot, "link_side", lambda: type(robot)(variations.link_side(robot.model)))
