"""Linear loop of a law that runs in samples: growth of deviations from rest.

The arm under u = -K q - D v, held for a sample of length h; v = qd or (q - q_before) / h.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..spatial.functions import MATH
from .damping import damping_of, mobilities, shaking

if TYPE_CHECKING:
    from ..robot import Robot
    from .law import Law

NEARBY = 1e-7  # rad or m: deviations that do not reach limits of the torque
GROWS = 1.05  # per sample; less may be held by friction
TURN = 0.5  # rad per sample: slower ones are those of the arm, not of the samples
SETTLED = 3  # samples after which filters have begun
NOTABLE = 10.0  # times: a growth that ends a run


class SampledArm(NamedTuple):
    """Linear model of an arm over one sample, x = (q, qd) of its drives, then any other states.

    x' = A x + B u + B_before u_before: with a delay the torque of the sample before acts first.
    """

    A: np.ndarray
    B: np.ndarray
    B_before: np.ndarray


class Growth(NamedTuple):
    """Growth of a deviation per sample, and the drive that moves most."""

    factor: float
    drive: str


def free_arm(mobility: np.ndarray, h: float, delay: float = 0.0) -> SampledArm:
    """The arm as masses that nothing but the law holds: qdd = M^-1 u. `mobility` is M^-1 (n, n)."""
    n, rest = len(mobility), h - delay
    A = np.eye(2 * n)
    A[:n, n:] = h * np.eye(n)
    before = (delay * (rest + 0.5 * delay), delay)
    return SampledArm(
        A,
        np.vstack([0.5 * rest**2 * mobility, rest * mobility]),
        np.vstack([x * mobility for x in before]),
    )


class LawMemory(NamedTuple):
    """What filters or an observer of a law add to its gains, m = F m_before + G (q, v).

    u = -K q - D v + H m_before, all as deviations from rest.
    """

    F: np.ndarray
    G: np.ndarray
    H: np.ndarray


def memory_at(law: "Law", q: np.ndarray) -> tuple[np.ndarray, np.ndarray, LawMemory]:
    """K, D and the memory of a law about rest of the drives at q (n,), velocities measured."""
    n, seen, rest = law.n, replace(law, velocity="measured"), np.zeros(law.n)
    wanted = law._resting(q.tolist())
    state = np.array(seen.start(q.tolist(), rest.tolist(), MATH), float)
    own = np.concatenate(
        [[name.startswith("controller.")] * size for name, size in seen.slots.items()]
    ).astype(bool)

    def step(memory: np.ndarray, place: np.ndarray, rate: np.ndarray) -> np.ndarray:
        full = state.copy()
        full[own] = memory
        given = full.tolist(), place.tolist(), rate.tolist(), wanted
        torque, after, _ = seen.step(*given, MATH)
        return np.concatenate([torque, np.array(after, float)[own]])

    m = state[own]
    for _ in range(SETTLED):
        m = step(m, q, rest)[n:]
    nearby, size = NEARBY * np.eye(len(m) + 2 * n), len(m)
    columns = [
        (step(m + x[:size], q + x[size : size + n], x[size + n :])
         - step(m - x[:size], q - x[size : size + n], -x[size + n :])) / (2.0 * NEARBY)
        for x in nearby
    ]  # fmt: skip
    slopes = np.array(columns).T
    K, D = -slopes[:n, size : size + n], -slopes[:n, size + n :]
    return K, D, LawMemory(slopes[n:, :size], slopes[n:, size:], slopes[:n, :size])


def gains_at(law: "Law", q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """K and D (n, n) of a law about rest of the drives at q (n,), velocities measured."""
    n, seen, rest = law.n, replace(law, velocity="measured"), [0.0] * law.n
    wanted = law._resting(q.tolist())
    state = seen.start(q.tolist(), rest, MATH)
    rows = [seen.step(state, x.tolist(), rest, wanted, MATH)[0] for x in q + NEARBY * np.eye(n)]
    K = (np.array(seen.step(state, q.tolist(), rest, wanted, MATH)[0]) - np.array(rows)).T / NEARBY
    return K, damping_of(seen, q.tolist())


def closed_loop(
    K: np.ndarray,
    D: np.ndarray,
    arm: SampledArm,
    h: float,
    differs: bool = False,
    pole: float = 0.0,
    memory: LawMemory | None = None,
) -> np.ndarray:
    """Matrix of a sample of the loop closed by u = -K q - D v: of x, and q, v, u one sample ago.

    v is qd, or where it `differs` pole v_before + (1 - pole) (q - q_before) / h. The `memory` of
    the law stands behind them.
    """
    n, size = len(K), len(arm.A)
    velocity = np.zeros((n, size + 3 * n))
    if differs:
        own = (1.0 - pole) / h * np.eye(n)
        velocity[:, :n], velocity[:, size : size + n] = own, -own
        velocity[:, size + n : size + 2 * n] = pole * np.eye(n)
    else:
        velocity[:, n : 2 * n] = np.eye(n)
    u = -D @ velocity
    u[:, :n] -= K
    A = np.zeros((size + 3 * n, size + 3 * n))
    A[:size, :size], A[:size, size + 2 * n :] = arm.A, arm.B_before
    A[:size] += arm.B @ u
    A[size : size + n, :n] = np.eye(n)
    A[size + n : size + 2 * n], A[size + 2 * n :] = velocity, u
    if memory is None:
        return A
    reads = memory.G[:, n:] @ velocity
    reads[:, :n] += memory.G[:, :n]
    acts = np.zeros((len(A), len(memory.F)))
    acts[:size], acts[size + 2 * n :] = arm.B @ memory.H, memory.H
    return np.block([[A, acts], [reads, memory.F]])


def growth(law: "Law", K: np.ndarray, D: np.ndarray, arm: SampledArm) -> Growth | None:
    """Growth of oscillations about rest under a sampled law with gains K and D; None where they do
    not grow, or where that is not known."""
    n, h = law.n, law.sample_time
    if law.velocity_filter is not None or law.controller.dynamic:
        return None
    A = closed_loop(K, D, arm, h, law.velocity == "difference")
    if not np.isfinite(A).all():
        return None
    values, vectors = np.linalg.eig(A)
    factors = np.where(np.abs(np.angle(values)) > TURN, np.abs(values), 0.0)
    most = int(np.argmax(factors))
    drive = law.robot.drive_names[int(np.argmax(np.abs(vectors[:n, most])))]
    return Growth(float(factors[most]), drive) if factors[most] > GROWS else None


def grows(law: "Law", found: Growth) -> str:
    """A growth in words."""
    return (
        f"every {law.sample_time:g} s a deviation of joint {found.drive!r} grows "
        f"{found.factor:.3g} times: the sampled loop is unstable"
    )


def why_unstable(
    law: "Law", robot: "Robot", q: np.ndarray, t: float, delay: float = 0.0
) -> tuple[str, str]:
    """Reason and remedy of a run from q (joints) to t whose law has gains too high for its samples.

    Two empty texts if they were not.

    `robot` is the arm itself, with parameters of its own.
    """
    h = law.sample_time
    mobility = mobilities(robot, q[None])
    if not len(mobility):
        return "", ""
    arm = free_arm(mobility[0], h, delay)
    K, D = gains_at(law, q[list(robot.driven)])
    found = growth(law, K, D, arm)
    if found is None or max(1.0, t / h) * math.log(found.factor) < math.log(NOTABLE):
        return "", ""
    shakes = shaking(law, q, robot)
    damps = bool(shakes) or growth(law, 0.0 * K, D, arm) is not None
    return shakes or grows(law, found), f"lower the {'velocity' if damps else 'position'} gain"
