"""Misprints of Torres-Torriti 2011, "Modelación dinámica y simulación de robots"."""

import numpy as np

from .engine import Verdict, facts, verdict
from .entry import Entry


def parallel_axes() -> Verdict:
    """Axes 1 and 2 of the planar arm: their angle, and the distance between them."""
    at = facts("planar-rr")
    first, second = at.pose(0), at.pose(1)
    angle = np.linalg.norm(np.cross(first[:3, 2], second[:3, 2]))
    distance = np.linalg.norm(np.cross(first[:3, 2], second[:3, 3] - first[:3, 3]))
    return Verdict(printed=float(distance), right=float(angle))  # both should be what is said: 0


def sliding_origin() -> Verdict:
    """Algorithm 2, prismatic: joint 2 of the R P P R arm."""
    at = facts("rppr")
    R, w, wd, p = at["1R2"], at["2w2"], at["2wd2"], at["2p2"]
    z = R.T @ [0.0, 0.0, 1.0]
    rest = R.T @ at["1vd1"] + np.cross(wd, p) + np.cross(w, np.cross(w, p))
    rest = rest + 2 * np.cross(w, z * at.qd[1])
    return verdict(rest + z * at.qd[1], rest + z * at.qdd[1], at["2vd2"])


ENTRIES = (
    Entry(
        "Denavit-Hartenberg procedure, note 3, case c (parallel axes)",
        r"z_{i-1} \parallel z_{i} \quad \Rightarrow \quad a_{i} = 0",
        r"z_{i-1} \parallel z_{i} \quad \Rightarrow \quad \alpha_{i} = 0",
        "Parallel axes have no angle between them; the distance between them is the link's length.",
        parallel_axes,
    ),
    Entry(
        "Algorithm 2, acceleration of a prismatic link",
        r"{}^{i}R_{i-1} \left(\dot{q}_{i} z_{0} + {}^{i-1}R_{0} \dot{v}_{i-1}\right) + \ldots",
        r"{}^{i}R_{i-1} \left(\ddot{q}_{i} z_{0} + {}^{i-1}R_{0} \dot{v}_{i-1}\right) + \ldots",
        "An acceleration is added to an acceleration; algorithms 1 and 3 have it so.",
        sliding_origin,
    ),
)
