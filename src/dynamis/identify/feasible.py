"""The estimate nearest to the data among all physically consistent arms.

    min |R (x(phi) - x_data)|^2 + prior,   every link's pseudo-inertia >= margin, friction >= 0

One semidefinite program on as many rows as unknowns: the data enter as a triangular factor.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear

from ..base.groupings import scaled
from ..errors import DynamisError
from ..lazy import package
from ..model.parameters import coulomb_pairs
from ..model.places import Place
from ..spatial.inertia import from_linear, pseudo_inertia
from .information import Information
from .unknowns import BESIDE_ROBOT, NOT_NEGATIVE, Unknowns

# When ten numbers are a body: the pseudo-inertia is positive semidefinite (Wensing 2018).
# P is the integral of [r; 1][r; 1]^T dm, so a distribution of mass exists exactly if P >= 0.

ROUNDING = 1e-9  # of the largest eigenvalue


def pseudo_inertias(ten: Any) -> np.ndarray:
    """P of the ten parameters of links, (..., 4, 4)."""
    body = from_linear(np.moveaxis(np.asarray(ten, dtype=float), -1, 0))
    return np.moveaxis(np.array(pseudo_inertia(body)), (0, 1), (-2, -1))


def lengths(P: np.ndarray, size: float) -> np.ndarray:
    """P with lengths measured in units of `size`, so that its entries compare."""
    D = np.diag([1.0 / size, 1.0 / size, 1.0 / size, 1.0])
    return D @ P @ D


def physical(ten: Any, size: float = 0.1) -> np.ndarray:
    """Whether each link is a body, (...,); a link without anything is one too."""
    values = np.linalg.eigvalsh(lengths(pseudo_inertias(ten), size))
    return values[..., 0] >= -ROUNDING * np.maximum(values[..., -1], 0.0)


def links_of(full: Any, links: int) -> np.ndarray:
    """The ten parameters of every link, (links, 10)."""
    return np.asarray(full, dtype=float)[: 10 * links].reshape(links, 10)


SIZE = 0.1  # metres: lengths are measured in these inside the program
BODY = np.array([1.0, *[SIZE] * 3, *[SIZE * SIZE] * 6])  # ten parameters of 1 kg, some decimetres
MARGIN = 1e-5  # of a kilogram: what the solver's tolerance may eat
FIRM = 1e4  # weight of what is known beforehand
FAINT = 1.0  # rows of data that the prior weighs: it decides what the data leave open
FAINTEST = 1e-3  # rows: with less the solver wanders off along what the data leave open

# the solver's own settings first; where its steps lose their digits, others help
ATTEMPTS: tuple[dict[str, Any], ...] = (
    {},
    {"max_step_fraction": 0.9, "max_iter": 500},
    {"equilibrate_enable": False, "max_iter": 500},
    {"equilibrate_max_iter": 50, "max_iter": 500},
    {"static_regularization_constant": 1e-7, "iterative_refinement_max_iter": 50},
)


HINT = "check signs, units and sizes; another prior, or estimator='weighted', may help"


class SolverError(DynamisError):
    """The semidefinite program could not be solved."""


def feasible(
    info: Information,
    weights: np.ndarray,
    unknowns: Unknowns,
    prior: float | Mapping[str, float] | None = None,
    reference: np.ndarray | None = None,
    known: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Unknowns and full parameters; `prior` weighs, in rows of data, the distance to `reference`.

    The distance is the log-det divergence of pseudo-inertias, which knows no units. Without a
    physical reference, a little trace keeps open parameters small. `prior` may be a mapping from
    links to their weights; a weight of 0 is the least that gives one answer.
    """
    cp = cvxpy_module()
    model = _Program(cp, unknowns)
    misfit = misfit_of(cp, info, weights, model.x)
    rows = max(int(info.rows.sum()), 1)
    cost = misfit + model.distance(reference, model.weights(prior) / rows)
    if known is not None:
        fixed = np.flatnonzero(~np.isnan(known))
        size_of = np.maximum(np.abs(known[fixed]), 1e-2)
        cost = cost + FIRM * cp.sum_squares((model.x[fixed] - known[fixed]) / size_of)
    solved(cp, cp.Problem(cp.Minimize(cost), model.rules))
    full = model.full()
    x = unknowns.group @ full
    if model.added is not None:
        x[model.own] = model.added.value
    return x, full


def friction_alone(info: Information, weights: np.ndarray, unknowns: Unknowns) -> np.ndarray:
    """Friction that feeds no power in, where the bodies are known and have no columns."""
    signed = unknowns.of_kind(*NOT_NEGATIVE)
    low = np.full(len(unknowns), -np.inf)
    low[signed] = 0.0
    R = info.stacked(weights)
    unit, size = scaled(R[:, :-1])
    return lsq_linear(unit, R[:, -1], (low, np.inf), method="bvls").x / size


def misfit_of(cp: Any, info: Information, weights: np.ndarray, x: Any) -> Any:
    """|R (x - x_data)|^2 next to what the data leave over, for CVXPY."""
    R = info.stacked(weights)
    unit, size = scaled(R[:, :-1])
    best = unit @ np.linalg.lstsq(unit, R[:, -1], rcond=None)[0]
    left = float(np.linalg.norm(best - R[:, -1]))
    scale = max(left, 1e-6 * float(np.linalg.norm(R[:, -1])), 1e-300)
    return cp.sum_squares((unit @ cp.multiply(size, x) - best) / scale)


def body_matrix(row: Any) -> Any:
    """The pseudo-inertia of ten variables in units of BODY, lengths in units of SIZE."""
    B = lengths(pseudo_inertias(np.diag(BODY)), SIZE)
    return sum(row[k] * B[k] for k in range(10))


def signs(unknowns: Unknowns) -> np.ndarray:
    """1 for parameters that are never negative, -1 for never positive, 0 for either sign, (p,).

    Bodies have another rule.
    """

    forces = unknowns.robot.model.forces

    def sign(place: Place, name: str) -> int:
        if place.part == "forces":
            return int(name.rpartition(".")[2] not in forces[place.index].signed)
        return 0 if place.part == "bodies" else place.sign

    return np.array([*map(sign, unknowns.places, unknowns.full_names)])


def beside_bodies(unknowns: Unknowns) -> list[int]:
    """Indices of the parameters besides those of the bodies that unknowns show."""
    shown = np.any(unknowns.group != 0.0, axis=0)
    shown &= np.any(unknowns.pick != 0.0, axis=1) | ~unknowns.taken_as_zero
    return [int(k) for k in np.flatnonzero(shown) if k >= 10 * len(unknowns.robot.model.links)]


class _Program:
    """Variables and constraints of one robot."""

    def __init__(self, cp: Any, unknowns: Unknowns):
        self.cp, self.unknowns = cp, unknowns
        self.links = len(unknowns.robot.model.links)
        self.signs = signs(unknowns)
        self.joint = beside_bodies(unknowns)
        self.bodies = cp.Variable((self.links, 10))
        self.others = cp.Variable(len(self.joint))
        self.ten = cp.multiply(self.bodies, np.tile(BODY, (self.links, 1)))
        G, flat = unknowns.group, cp.reshape(self.ten, (10 * self.links,), order="C")
        self.own = unknowns.of_kind(*BESIDE_ROBOT)
        self.added = cp.Variable(len(self.own)) if len(self.own) else None
        self.x = G[:, : 10 * self.links] @ flat + G[:, self.joint] @ self.others
        if self.added is not None:
            self.x = self.x + np.eye(len(unknowns))[:, self.own] @ self.added
        self.P = [body_matrix(self.bodies[i]) for i in range(self.links)]
        self.rules = [P >> MARGIN * np.eye(4) for P in self.P] + self._signs()

    def _signs(self) -> list[Any]:
        rules, place = [], {k: i for i, k in enumerate(self.joint)}
        pairs = dict(coulomb_pairs(self.unknowns.robot.model))
        for k, i in place.items():
            if self.signs[k] < 0:
                rules.append(self.others[i] <= 0.0)
            elif self.signs[k] > 0:
                rules.append(self.others[i] >= 0.0)
            if pairs.get(k) in place:  # one number for both directions
                rules.append(self.others[i] == -self.others[place[pairs[k]]])
        if self.added is not None:
            kinds = [self.unknowns.kinds[k] for k in self.own]
            rules += [self.added[i] >= 0.0 for i, x in enumerate(kinds) if x in NOT_NEGATIVE]
        return rules

    def weights(self, prior: float | Mapping[str, float] | None) -> np.ndarray:
        """Rows of data that each link's distance weighs, (links,)."""
        names = self.unknowns.robot.model.link_names
        own = prior if isinstance(prior, Mapping) else {}
        usual = FAINT if prior is None or isinstance(prior, Mapping) else prior
        return np.maximum([own.get(name, usual) for name in names], FAINTEST)

    def distance(self, reference: np.ndarray | None, weights: np.ndarray) -> Any:
        """Log-det divergence from a physical reference, else the traces, weighted by link."""
        cp = self.cp
        total: Any = 0.0
        given = None if reference is None else links_of(reference, self.links)
        for i, P in enumerate(self.P):
            if given is not None and bool(physical(given[i])) and given[i][0] > 0.0:
                P0 = lengths(pseudo_inertias(given[i]), SIZE)
                P0 = P0 + 1e-3 * np.trace(P0) / 4.0 * np.eye(4)
                total = total + weights[i] * (cp.trace(np.linalg.inv(P0) @ P) - cp.log_det(P))
            else:
                total = total + weights[i] * cp.trace(P)
        return total

    def full(self) -> np.ndarray:
        """The full parameters, without the solver's rounding on the wrong side of zero."""
        full = self.unknowns.kept.copy()
        full[: 10 * self.links] = np.asarray(self.ten.value).ravel()
        for k, value in zip(self.joint, np.asarray(self.others.value), strict=True):
            full[k] = value if value * self.signs[k] >= 0.0 else 0.0
        return full


def solved(cp: Any, problem: Any) -> str:
    """Solve a program and return its status; what is no solution is an error."""
    for settings in ATTEMPTS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the status says it, and is reported
                problem.solve(solver=cp.CLARABEL, **settings)
            break
        except Exception as error:  # whatever numbers out of all proportion make a solver raise
            failed = error
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # of Rust code: no Exception
                raise
            failed = error
    else:
        raise SolverError(f"the semidefinite program failed: {str(failed)[:200]}", HINT)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise SolverError(f"the semidefinite program is {problem.status}", HINT)
    return problem.status


def cvxpy_module(instead: str = "estimator='weighted'") -> Any:
    """CVXPY, or a word on how to get it, or do without."""
    without = f"or use {instead}, which does not force the estimate to be possible"
    return package("cvxpy", "cvxpy", "a physically feasible estimate", "identify", without)
