"""Variation: everything in which the arms of a study differ from the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import is_list
from ..errors import OptionError, shown
from ..lazy import cached_property
from .scatter import ALTERNATIVES, Draw, Scatter

if TYPE_CHECKING:
    from ..identify.posterior import Posterior
    from ..robot import Robot

LOOKED_AT = 256  # draws of an estimate that show which of its parameters vary


@dataclass(frozen=True)
class Variation:
    """Everything that varies: draws of an estimate, a Scatter, or the second upon the first."""

    robot: "Robot"
    posterior: "Posterior | None" = None
    scatter: Scatter | None = None

    @staticmethod
    def of(robot: "Robot", vary: Any) -> "Variation":
        """From what a user gave: an Estimate, a Scatter, or a list with one of each."""
        items = list(vary) if is_list(vary) else [] if vary is None else [vary]
        found: dict[str, Any] = {}
        for item in items:
            kind, value = "scatter", item
            if hasattr(item, "posterior"):
                kind, value = "posterior", item.posterior
            elif not isinstance(item, Scatter):
                raise OptionError(
                    f"vary is {shown(item)}, expected an Estimate, dy.Scatter(...), or one of each"
                )
            if kind in found:
                raise OptionError("vary holds two of a kind, expected one Estimate, one Scatter")
            found[kind] = value
        variation = Variation(robot, **found)
        variation._refuse_other_robots()
        return variation

    def _refuse_other_robots(self) -> None:
        """Raise if the estimate or the Scatter is of an arm with other parameters."""
        names = self.robot.parameters.names
        if self.scatter is not None and self.scatter.robot.parameters.names != names:
            raise OptionError(
                f"the Scatter is of robot {self.scatter.robot.name!r}, which has other parameters "
                f"than {self.robot.name!r}",
                "make it of the robot that is studied",
            )
        if self.posterior is not None and self.posterior.draw(0, 1, 0).shape[1] != len(names):
            raise OptionError(
                f"the estimate has other parameters than robot {self.robot.name!r}",
                "study estimate.robot",
            )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the factors, those of the estimate first."""
        of_estimate = () if self.posterior is None else tuple(self.posterior.names)
        return of_estimate + (() if self.scatter is None else self.scatter.names)

    @cached_property
    def varied(self) -> tuple[int, ...]:
        """Numbers of the parameters that are not the robot's own in every sample."""
        found: set[int] = set()
        if self.scatter is not None:
            found |= set(self.scatter.varied)
            found |= set(np.flatnonzero(self.scatter._nominal != self.parameters).tolist())
        if self.posterior is not None:
            drawn = self.posterior.draw(0, LOOKED_AT, 0)
            found |= set(np.flatnonzero((drawn != self.parameters).any(axis=0)).tolist())
        return tuple(sorted(found))

    @property
    def alternatives(self) -> list[str]:
        """Those of ALTERNATIVES that are drawn."""
        if self.scatter is None:
            return []
        return [name for name in ALTERNATIVES if getattr(self.scatter, name) is not None]

    @property
    def moves_closed(self) -> bool:
        """Whether starts vary of a mechanism that has to be closed."""
        return self.scatter is not None and self.scatter._places

    @cached_property
    def parameters(self) -> np.ndarray:
        """Those of the robot, (p,)."""
        return np.array(self.robot.parameters.values, dtype=float)

    def draw(
        self, first: int, count: int, seed: int, start: tuple[np.ndarray, np.ndarray],
        threads: int | None = 1,
    ) -> Draw:  # fmt: skip
        """Samples first .. first + count - 1 of arms that start at (q0, qd0), or about it."""
        if self.posterior is None:
            return self._drawn(first, count, seed, None, start, threads)
        estimated = self.posterior.draw(first, count, seed)  # (count, p)
        drawn = self._drawn(first, count, seed, estimated, start, threads)
        factors = np.concatenate([self.posterior.factors(estimated), drawn.factors], axis=1)
        estimated[:, list(drawn.varied)] = drawn.values
        return self._of_varied(replace(drawn, factors=factors), estimated)

    def _drawn(
        self, first: int, count: int, seed: int, estimated: np.ndarray | None,
        start: tuple[np.ndarray, np.ndarray], threads: int | None,
    ) -> Draw:  # fmt: skip
        """What the Scatter draws, upon `estimated` parameters if there are any."""
        if self.scatter is not None:
            drawn = self.scatter._drawn(first, count, seed, estimated, start, threads)
        else:
            q0, qd0 = (np.tile(x, (count, 1)) for x in start)
            nothing, index = np.zeros((count, 0)), np.arange(first, first + count)
            offset = np.zeros((count, len(self.robot.driven)))
            drawn = Draw(index, nothing, q0, qd0, offset, nothing, {}, self.parameters, ())
        if estimated is not None:
            return drawn
        if drawn.varied == self.varied:
            return replace(drawn, nominal=self.parameters)
        return self._of_varied(drawn, drawn.parameters)

    def _of_varied(self, drawn: Draw, parameters: np.ndarray) -> Draw:
        """The draw with the columns that vary of full parameter vectors (count, p)."""
        values = np.take(parameters, self.varied, axis=1)
        return replace(drawn, values=values, varied=self.varied, nominal=self.parameters)

    # the middle of all that varies

    def nominal(
        self, count: int, start: tuple[np.ndarray, np.ndarray],
        stops: Sequence[tuple[float, float] | None],
    ) -> Draw:  # fmt: skip
        """Copies of the arm in the middle of all that varies, with the first alternatives.

        `start` is that of the model; none is beyond its joint stop.
        """
        parameters = self._nominal_parameters()[list(self.varied)]
        rows = (parameters, *self._nominal_start(start, stops))
        values, q0, qd0 = (np.tile(x, (count, 1)) for x in rows)
        return Draw(
            index=np.arange(count),
            values=values,
            q0=q0,
            qd0=qd0,
            joint_offset=np.zeros((count, len(self.robot.driven))),
            factors=np.zeros((count, len(self.names))),
            chosen={name: np.zeros(count, dtype=int) for name in self.alternatives},
            nominal=self.parameters,
            varied=self.varied,
        )

    def _nominal_parameters(self) -> np.ndarray:
        """Those of the robot, or of the Scatter without an estimate; half the range of loads."""
        scatter = self.scatter
        if scatter is None:
            return self.parameters
        own = self.parameters if self.posterior is not None else scatter._nominal
        if scatter._load is None:
            return own
        return own + scatter._unit_load * (0.5 * sum(scatter._load))

    def _nominal_start(
        self, start: tuple[np.ndarray, np.ndarray], stops: Sequence[tuple[float, float] | None]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(q0, qd0): the start of the model, or the middle of a range to draw from."""
        q0, qd0 = (x.copy() for x in start)
        if self.robot.model.closures:  # which the middle of a range need not close
            return q0, qd0
        starts = {} if self.scatter is None else self.scatter._starts
        for x, drawn_from in ((q0, starts.get("q0")), (qd0, starts.get("qd0"))):
            if isinstance(drawn_from, tuple):
                x[:] = 0.5 * (drawn_from[0] + drawn_from[1])
        for i, stop in enumerate(stops):
            if stop is not None:
                q0[i] = np.clip(q0[i], *stop)
        return q0, qd0
