"""The observation matrix of Gibbs-Appell in symbols: every block as a SymPy matrix."""

from dataclasses import fields
from typing import Any

import sympy as sp

from ..dynamics.formulations.observation import ObservationMatrix, observation, parameter_order
from ..errors import OptionError
from ..model.model import Model
from ..model.parameters import chain_of
from ..model.places import full_name
from ..progress import stage
from .derivation.setting import symbolic
from .scalars.polynomial import TooLongError
from .scalars.simplify import readable

LONGEST = 20_000  # terms of all entries together that are still written out


def observation_matrix(model: Model) -> ObservationMatrix:
    """W, Phi and the blocks of W over SymPy, as `Robot.observation_matrix` has them in numbers."""
    if model.springs or model.own_laws or model.gear_matrix is not None or model.rotors == "full":
        raise OptionError(
            f"the observation matrix of {model.name!r} is not written in symbols: it has springs, "
            "laws of your own or coupled joints",
            "robot.observation_matrix(q, qd, qdd) gives the numbers",
        )
    with stage(f"writing the observation matrix of {model.name}"):
        return _written(model)


def _written(model: Model) -> ObservationMatrix:
    setting, letters = symbolic(model, by_links=False)
    too_long = OptionError(
        f"the observation matrix of {model.name!r} is too long to write out",
        "robot.observation_matrix(q, qd, qdd) gives the numbers, "
        "robot.equations('gibbs-appell').steps its rows in named intermediates",
    )
    try:
        state = setting.x, setting.xd, setting.xdd
        found = observation(setting.chain, *state, setting.fn)
    except TooLongError:
        raise too_long from None
    every = {f.name: _polynomials(getattr(found, f.name), letters.of) for f in fields(found)[:-1]}
    if sum(len(p) for rows in every.values() for row in rows for p in row) > LONGEST:
        raise too_long
    known: dict[Any, Any] = {}

    def entry(p: Any) -> Any:
        key = frozenset(p.terms.items())
        if key not in known:
            known[key] = readable(p, setting.groups)
        return known[key]

    matrices = {
        name: sp.ImmutableMatrix([[entry(p) for p in row] for row in rows])
        for name, rows in every.items()
    }
    names = (full_name(place, model) for place in parameter_order(chain_of(model)))
    return ObservationMatrix(**matrices, names=tuple(names))


def _polynomials(rows: Any, of: Any) -> list[list[Any]]:
    """A matrix, or a column, of polynomials."""
    return [[of(x) for x in row] if isinstance(row, list) else [of(row)] for row in rows]
