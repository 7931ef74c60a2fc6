"""The result of a calibration: the arm as built, how sure it is, and how it does elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, strict
from ..compile.arrays import finite, numbers
from ..errors import OptionError, shown
from ..identify.verdict.verdict import Verdict
from ..lazy import cached_property
from ..model.check.finding import Finding
from ..tables import html_table, text_table
from .accuracy import Accuracy, accuracy
from .as_built import as_built
from .error_model import ErrorModel, Postures
from .fit import Fit, start
from .observations import Observations, Sockets
from .residuals import Block, State, blocks_of
from .uncertainty import Uncertainty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot import Robot

HEAD = ("parameter", "value", "standard deviation", "unit")
SCALE = {"m": (1e3, "mm"), "rad": (1e3, "mrad")}  # for people


@strict
@dataclass(frozen=True, eq=False, repr=False)
class CalibratedParameters:
    """Errors of the nominal arm that were found, (P,) each; those that stayed nominal are not here.

    `values` and `deviations` (standard) are in the `units`: m, rad, rad/(N m), 1/K.
    """

    names: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray
    units: tuple[str, ...]
    kinds: tuple[str, ...]

    def cells(self) -> list[tuple[str, str, str, str]]:
        """Rows of a table, lengths in mm and angles in mrad."""
        found = []
        for name, value, sd, unit in zip(
            self.names, self.values, self.deviations, self.units, strict=True
        ):
            factor, said = SCALE.get(unit, (1.0, unit))
            found.append((name, f"{factor * value:.4g}", f"{factor * sd:.2g}", said))
        return found

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return text_table([HEAD, *self.cells()], right=2)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table([HEAD, *self.cells()])


@strict
@dataclass(frozen=True, eq=False, repr=False)
class Calibration:
    """The arm as built: `robot`, its `parameters`, and how far to trust them.

    `nominal` and `fit` are the accuracies of the arm before and after on what was fitted,
    `held_out` on places that were not (None: there is only one). `unidentifiable` names what these
    observations cannot tell, `unhelpful` what does not pay on held-out places; both stay nominal.
    """

    nominal: Accuracy
    fit: Accuracy
    held_out: Accuracy | None
    unidentifiable: tuple[str, ...]
    unhelpful: tuple[str, ...]
    findings: list[Finding]
    verdict: Verdict
    _fit: Fit
    _uncertainty: Uncertainty
    _reference: float | None

    @cached_property
    def robot(self) -> "Robot":
        """The robot with the geometry as built: joint zeros, lengths and angles.

        Deflections, harmonics, gear ratios and thermal growth are in `joint_positions` and `fk`.
        """
        return as_built(self._model, self._fit.values)

    @property
    def _model(self) -> ErrorModel:
        return self._fit.model

    @cached_property
    def parameters(self) -> CalibratedParameters:
        """Names, values and deviations of the parameters that were fitted."""
        kept = np.flatnonzero(self._fit.kept)
        own = [self._model.parameters[k] for k in kept]
        deviations = self._uncertainty.deviations[kept]
        words = (tuple(getattr(x, key) for x in own) for key in ("name", "unit", "kind"))
        names, units, kinds = words
        return CalibratedParameters(names, self._fit.values[kept], deviations, units, kinds)

    @property
    def error(self) -> float:
        """Mean distance in metres on held-out places; where there are none, of the fit."""
        return (self.held_out or self.fit).mean

    @property
    def outliers(self) -> tuple[np.ndarray, ...]:
        """Rows of every set of observations that were left out as outliers."""
        return tuple(
            np.flatnonzero(np.any([w.outliers for p, w in zip(ps, ws, strict=True)
                                   if not p.fixed], axis=0))
            for ps, ws in zip(self._fit.parts, self._fit.weights, strict=True)
        )  # fmt: skip

    @property
    def places(self) -> tuple[dict[str, np.ndarray], ...]:
        """Places fitted with the arm, for every set: "frame", "target", "sockets", "plane", ...

        Poses (4, 4) of the reference frame in the instrument's, points (3,) in the tool frame,
        sockets (k, 3) and planes (normal and offset) in the reference frame.
        """
        return tuple({k: v.copy() for k, v in state.items()} for state in self._fit.states)

    @checked
    def joint_positions(self, q: "ArrayLike", temperature: "ArrayLike | None" = None) -> np.ndarray:
        """Positions of the joints behind deflection, harmonics and gears, for measured q (..., n).

        Without any of them in the model, q itself.
        """
        at, shape = self._postures(q, temperature)
        return (at.q + self._model.corrections(self._fit.values, at)).reshape(shape)

    @checked
    def fk(self, q: "ArrayLike", temperature: "ArrayLike | None" = None) -> np.ndarray:
        """Pose of the tool with all that was found, (..., 4, 4) for measured q (..., n)."""
        at, shape = self._postures(q, temperature)
        arm = self._model.motion(self._fit.values, at, columns=False)
        T = np.tile(np.eye(4), (len(at.q), 1, 1))
        T[:, :3, :3], T[:, :3, 3] = arm.R, arm.p
        return T.reshape(*shape[:-1], 4, 4)

    @checked
    def tool_uncertainty(self, q: "ArrayLike") -> np.ndarray:
        """Standard deviations of the tool's position along x, y, z of the reference frame, in m.

        (..., 3) for q (..., n). What stays nominal counts as exact.
        """
        at, shape = self._postures(q, None)
        arm = self._model.motion(self._fit.values, at)
        J = np.moveaxis(arm.columns(np.zeros(3)), 0, 2)  # (N, 3, P)
        rest = np.zeros((*J.shape[:2], len(self._fit.priors) - J.shape[2]))
        found = self._uncertainty.along(np.concatenate([J, rest], axis=2))
        return found.reshape(*shape[:-1], 3)

    def _postures(self, q: Any, temperature: Any) -> tuple[Postures, tuple[int, ...]]:
        robot = self._model.robot
        given = finite(numbers(q, "q", "expected joint positions (..., n)"), "q")
        if given.ndim < 1 or given.shape[-1] != robot.n:
            raise OptionError(f"q has shape {given.shape}, expected (..., {robot.n})")
        rows = given.reshape(-1, robot.n)
        warmth = None
        if temperature is not None and self._reference is not None:
            each = finite(numbers(temperature, "temperature", "expected deg C"), "temperature")
            try:
                each = np.broadcast_to(each, given.shape[:-1]).reshape(-1)
            except ValueError:
                raise OptionError(
                    f"temperature has shape {each.shape}, expected {given.shape[:-1]}"
                ) from None
            warmth = each - self._reference
        return Postures(rows, robot.gravity_torque(rows), warmth), given.shape

    @checked
    def validate(
        self, other: Any, register: Any = None, *, nominal: bool = False, name: str = "validation"
    ) -> Accuracy:
        """Errors of the arm at other observations, in metres: .mean, .rms, .max, .errors.

        Instruments and targets are those of the calibration where it has a set of the same kind;
        `register` are observations that only place them anew (the arm stays as it is). Sockets are
        the means of their points. `nominal`: of the arm before the calibration, for comparison.
        """
        sets = observation_sets(other)
        values = np.zeros_like(self._fit.values) if nominal else self._fit.values
        blocks = blocks_of(self._model.robot, sets, self._reference)
        placed = self._placed(values, register, nominal)
        states = [_state_for(b, placed) for b in blocks]
        return accuracy(name, self._model, values, blocks, states)

    def _placed(
        self, values: np.ndarray, register: Any, nominal: bool
    ) -> list[tuple[Block, State]]:
        """Sets with their places: those of the calibration, or of what registers."""
        if register is None and not nominal:
            return list(zip(self._fit.blocks, self._fit.states, strict=True))
        blocks = self._fit.blocks
        if register is not None:
            sets = observation_sets(register, "register")
            blocks = blocks_of(self._model.robot, sets, self._reference)
        found = only_places(self._model, blocks, values)
        return list(zip(found.blocks, found.states, strict=True))

    def save(self, path: str | Path) -> None:
        """Write the robot to a .toml or .urdf file."""
        self.robot.save(path)

    @checked
    def report(self, path: str | Path, validations: Sequence[Accuracy] = ()) -> Path:
        """Write a page with everything, with further accuracies by `validate`."""
        from ..report.calibration import write

        own = list(validations)
        wrong = next((x for x in own if not isinstance(x, Accuracy)), None)
        if wrong is not None:
            raise OptionError(
                f"validations has {shown(wrong)}, expected what calibration.validate gives"
            )
        return write(self, path, own)

    def __str__(self) -> str:
        rows = [x.cells() for x in (self.nominal, self.fit, self.held_out) if x is not None]
        head = ("accuracy", "rows", "mean, mm", "RMS, mm", "largest, mm")
        table = text_table([head, *rows], right=4, rule=False)
        kept = f"{len(self.parameters)} parameters of {self._model.robot.name}"
        return f"{kept}\n{table}\n{self.verdict}"

    def __repr__(self) -> str:
        kept, name = len(self.parameters), self._model.robot.name
        return (
            f"Calibration({name!r}, {kept} parameters, {1e3 * self.nominal.mean:.3g} mm -> "
            f"{1e3 * self.error:.3g} mm, {self.verdict.level})"
        )

    def __dir__(self) -> list[str]:
        return [x for x in super().__dir__() if not x.startswith("_") or x.startswith("__")]


def only_places(model: ErrorModel, blocks: Sequence[Block], values: np.ndarray) -> Fit:
    """The places that fit an arm best which stays as it is."""
    return start(model, blocks, values)


def _state_for(block: Block, placed: Sequence[tuple[Block, State]]) -> State:
    """Places of a set by those of one of its kind."""
    for other, state in placed:
        if type(other) is type(block):
            own = dict(state)
            return own | {
                k: getattr(block.data, k)
                for k in ("target", "frame", "at")
                if k in own and getattr(block.data, k, None) is not None
            }
    if isinstance(block.data, Sockets) and block.data.target is not None:
        return {"target": block.data.target}
    known = ", ".join(sorted({type(b.data).__name__ for b, _ in placed}))
    raise OptionError(
        f"{type(block.data).__name__} cannot be placed: the calibration has {known}",
        "register= takes observations of the same kind that place instrument and target",
    )


def observation_sets(given: Any, name: str = "observations") -> list[Observations]:
    """One set or a list of them."""
    found = [given] if isinstance(given, Observations) else given
    if not isinstance(found, (list, tuple)) or not found:
        raise OptionError(
            f"{name} is {shown(given)}, expected dy.calibration.Points, Poses, Sockets, Plane or "
            "Touch, or a list of them"
        )
    for one in found:
        if not isinstance(one, Observations) or type(one) is Observations:
            raise OptionError(
                f"{name} has {shown(one)}, expected dy.calibration.Points, Poses, Sockets, Plane "
                "or Touch"
            )
    return list(found)
