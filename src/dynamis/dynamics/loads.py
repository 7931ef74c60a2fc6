"""Loads of one's own: torques that the drives must supply besides, their columns, their energy.

Each is a law of the coordinates q and their rates, kept as a tape (see `dynamis.model.law`).
"""

from typing import Any

from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, plus


def load_torque(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """Torque of every coordinate against the loads, (n,)."""
    total: list[Any] = [0.0] * chain.n
    for load in chain.loads:
        total = plus(total, load.run(load.tape, fn, q=q, qd=qd))
    return total


def loaded(chain: Chain, tau: Scalars, q: Scalars, qd: Scalars, fn: Functions) -> Scalars:
    """tau and the torque against the loads; tau itself where there are none."""
    if not chain.loads:
        return tau
    return plus(tau, load_torque(chain, q, qd, fn))


def load_columns(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[list[Any]]:
    """d tau / d constant, (n,) for every constant that is a parameter."""
    return [column for load in chain.loads for column in load.parts(fn, q=q, qd=qd)[1]]


def load_rest(chain: Chain, q: Scalars, qd: Scalars, fn: Functions) -> list[Any]:
    """The part of the loads that no parameter multiplies, (n,)."""
    total: list[Any] = [0.0] * chain.n
    for load in chain.loads:
        total = plus(total, load.parts(fn, q=q, qd=qd)[0])
    return total


def load_energy(chain: Chain, q: Scalars, fn: Functions) -> Any:
    """Energy of the loads that say theirs; the others have none."""
    known = [(load, load.energy) for load in chain.loads if load.energy is not None]
    return sum((load.run(tape, fn, q=q)[0] for load, tape in known), 0.0)
