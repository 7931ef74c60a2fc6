"""How often the interval that an identification predicts holds what the true arm does.

    python -m tests.identify.coverage --count 1000 --estimator weighted

Every case is an arm drawn about a described one, a log of it, an identification of the log, and the
error of one controller: on 400 samples of the estimate, and on the arm itself.
"""

import argparse
import time
from typing import NamedTuple

import numpy as np

import dynamis as dy
from dynamis.identify.feasible import pseudo_inertias
from dynamis.identify.posterior import posterior

from .motions import arm, series

DESCRIBED = arm()
BODIES, FRICTION = 0.2, 0.2  # relative deviations of the arms that are drawn
TORQUE, POSITION = 0.3, 1e-5  # N m and rad: white noise of the log
MOTION = series(0, seconds=10.0, rate=200.0)
TORQUES = DESCRIBED.kernel("inverse_dynamics", parameters="argument")
SAMPLES = 400
BETWEEN = (0.025, 0.975)
LAW = dy.control.ComputedTorque(kp=100.0, kd=20.0, model=DESCRIBED)
REFERENCE = dy.trajectory.fourier(
    a=[[0.3, -0.2, 0.1], [-0.2, 0.3, 0.2]], b=[[0.1, 0.2, -0.1], [0.2, -0.1, 0.1]], period=2.0
)


class Case(NamedTuple):
    """Of every joint the error of the true arm, and the ends of the interval predicted for it.

    `distance` is that of the estimate from the truth, e^T C^-1 e over the number of unknowns: 1 on
    average if the covariance C is right.
    """

    true: np.ndarray
    low: np.ndarray
    high: np.ndarray
    distance: float

    @property
    def held(self) -> np.ndarray:
        """Whether the interval holds the error, (n,) bool."""
        return (self.low <= self.true) & (self.true <= self.high)

    @property
    def width(self) -> np.ndarray:
        """Half the interval over the error, (n,)."""
        return 0.5 * (self.high - self.low) / self.true


def true_parameters(rng: np.random.Generator) -> np.ndarray:
    """An arm near the described one that can exist: pseudo-inertias R (1 + BODIES E) R^T."""
    full = np.array(DESCRIBED.parameters.values, dtype=float)
    links = len(DESCRIBED.model.links)
    for i in range(links):
        P = pseudo_inertias(full[10 * i : 10 * i + 10])
        R, values = np.linalg.cholesky(P), [-1.0]
        while values[0] <= 0.0:
            E = rng.normal(size=(4, 4))
            near = np.eye(4) + BODIES * (E + E.T) / np.sqrt(4.0)
            values = np.linalg.eigvalsh(near)
        S = R @ near @ R.T
        half = np.trace(S[:3, :3]) * np.eye(3) - S[:3, :3]
        inertia = [half[a, b] for a, b in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
        full[10 * i : 10 * i + 10] = [S[3, 3], *S[:3, 3], *inertia]
    friction = np.exp(FRICTION * rng.normal(size=(links, 4)))
    rubs = full[10 * links :].reshape(links, 5)
    rubs[:, [0, 1, 2, 4]] *= friction
    rubs[:, 3] *= friction[:, 2]
    return full


def log_of(true: np.ndarray, rng: np.random.Generator) -> dy.Log:
    """What is recorded of one motion."""
    t, q, qd, qdd = MOTION
    tau = TORQUES(q, qd, qdd, true)
    noisy = [x + s * rng.normal(size=x.shape) for x, s in ((q, POSITION), (tau, TORQUE))]
    return dy.Log(t=t, q=noisy[0], tau=noisy[1])


def errors(parameters: np.ndarray) -> np.ndarray:
    """RMS error of every joint of arms with these parameters (N, p), (N, n)."""
    q0, qd0, _ = REFERENCE(0.0)
    run = dy.simulate(
        DESCRIBED, 2.0, dt=2e-3, q0=q0, qd0=qd0, controller=LAW, reference=REFERENCE,
        parameters=parameters, save_every=5,
    )  # fmt: skip
    off = run.q - REFERENCE(run.t)[0]
    return np.sqrt((off * off).mean(axis=-2))


def case(seed: int, estimator: str) -> Case:
    """One arm, identified and predicted."""
    rng = np.random.default_rng([seed, 11])
    true = true_parameters(rng)
    log = log_of(true, rng)
    found = dy.identify(
        DESCRIBED, log, estimator=estimator, friction="asymmetric", held_out=False, force=True
    )
    draws = posterior(found, pool=512).draw(0, SAMPLES, seed)
    off = errors(np.concatenate([draws, true[None]]))
    low, high = np.quantile(off[:-1], BETWEEN, axis=0)
    e = found.values - found.unknowns.group @ true
    return Case(off[-1], low, high, float(e @ np.linalg.solve(found.covariance, e)) / len(e))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--estimator", default="weighted")
    asked = parser.parse_args()
    begin, held, widths, distances = time.time(), [], [], []
    for k in range(asked.count):
        found = case(asked.first + k, asked.estimator)
        held.append(found.held)
        widths.append(found.width)
        distances.append(found.distance)
        if (k + 1) % 50 == 0 or k + 1 == asked.count:
            share, width = np.mean(held, axis=0), np.median(widths, axis=0)
            each = (time.time() - begin) / (k + 1)
            print(
                f"{asked.estimator}: {k + 1} arms, {100 * np.mean(held):.1f} % held "
                f"({', '.join(f'{100 * x:.1f}' for x in share)} by joint), half widths "
                f"{', '.join(f'{100 * x:.1f} %' for x in width)} of the error, "
                f"squared deviations {np.mean(distances):.2f} of those stated, {each:.1f} s each",
                flush=True,
            )


if __name__ == "__main__":
    main()
