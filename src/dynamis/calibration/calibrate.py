"""`dy.calibrate`: the geometry of an arm as it was built, from what was measured at its tool."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, number
from ..compile.arrays import finite, numbers
from ..errors import OptionError, ShapeError, counted, shown
from ..model.check.finding import Finding
from ..model.dh.convert import to_placements
from ..progress import stage
from .accuracy import of_fit
from .calibration import Calibration, observation_sets
from .error_model import ErrorModel, Tolerances
from .findings import of_calibration, verdict, wrong_readings
from .fit import fitted, start
from .held_out import held_out
from .identifiable import folds_of, independent, paying
from .observations import Observations
from .residuals import Block, blocks_of
from .uncertainty import uncertainty

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot import Robot

LEAST = 3  # postures of a set
FINEST = 1e-9  # tolerance


@checked
def calibrate(
    robot: "Robot",
    observations: Any,
    *,
    stiffness: bool = False,
    harmonics: bool = False,
    gear: bool = False,
    temperature: "ArrayLike | bool | None" = None,
    select: bool = True,
    length_tolerance: float = 1e-3,
    angle_tolerance: float = 5e-3,
) -> Calibration:
    """The robot as built, from `observations`: one set, or a list of them.

    Sets are `dy.calibration.Points`, `Poses`, `Sockets`, `Plane` and `Touch`. Unknown are six
    errors of every joint's placement: joint zeros first, then lengths, then angles. On request
    `stiffness` of the joints under gravity and payload (torques from the robot's own model), the
    first `harmonics` of their encoders, errors of the `gear` ratio, and thermal growth:
    `temperature` (N,) in deg C of one set, or True where the sets have theirs.

    What the observations cannot tell stays nominal, and so does what does not pay on places held
    out (not without `select`). `length_tolerance` (m) and `angle_tolerance` (rad) are how well the
    arm is expected to be built (one standard deviation).
    """
    sets = _warmed(observation_sets(observations), temperature)
    for one in sets:
        if len(one) < LEAST:
            what = f"{type(one).__name__} has {counted(len(one), 'posture')}, expected at least"
            raise ShapeError(f"{what} {LEAST}", "40 and more are usual")
    for name, size, unit in (
        ("length_tolerance", length_tolerance, "metres"),
        ("angle_tolerance", angle_tolerance, "radians"),
    ):
        number(size, name, f"{unit} from {FINEST:g} to 1", lambda x: FINEST <= x <= 1.0)
    robot.model.refuse_closures("calibrate")
    to_placements(robot.model)  # an arm that has no calibrated one is refused first
    reference = _reference(sets) if temperature is not None and temperature is not False else None
    with stage(f"calibrating {robot.name}"):
        blocks = blocks_of(robot, sets, reference)
        largest = np.max([b.largest_torque for b in blocks], axis=0)
        model = ErrorModel(
            robot, Tolerances(length_tolerance, angle_tolerance), stiffness, harmonics, gear,
            reference is not None, largest,
        )  # fmt: skip
        return _calibrated(model, blocks, select, reference)


def _calibrated(
    model: ErrorModel, blocks: Sequence[Block], select: bool, reference: float | None
) -> Calibration:
    wrong = wrong_readings(model, blocks)
    first = start(model, blocks)
    nominal = of_fit("nominal", first)
    refused = any(x.level == "error" for x in wrong)
    known = independent(first)
    fold = None if refused else folds_of(sum(b.count for b in blocks))
    fit = first if refused else fitted(first, known)
    if fold is not None and select:
        fit = fitted(fit, paying(fit, fold))
    found = uncertainty(fit)
    held = None if fold is None else held_out(fit, fold)
    names = [x.name for x in model.parameters]
    unknown = tuple(n for n, k in zip(names, known, strict=True) if not k)
    unhelpful = tuple(
        n for n, k, used in zip(names, known, fit.kept, strict=True) if k and not used
    )
    after = of_fit("fit", fit)
    findings: list[Finding] = list(wrong)
    if not refused:
        findings += of_calibration(fit, found, nominal, held, unknown)
    findings = sorted(findings)
    said = verdict(findings, nominal, held, after)
    own = fit, found, reference
    return Calibration(nominal, after, held, unknown, unhelpful, findings, said, *own)


def _warmed(sets: list[Observations], temperature: Any) -> list[Observations]:
    """The sets with the temperatures that were given."""
    if temperature is None or isinstance(temperature, (bool, np.bool_)):
        if temperature and any(x.temperature is None for x in sets):
            raise OptionError(
                "temperature is True, but a set of observations has none",
                "give temperature=(N,) to each set, or to calibrate where there is one set",
            )
        return sets
    if len(sets) != 1:
        raise OptionError(
            f"temperature is {shown(temperature)} for {len(sets)} sets of observations",
            "give temperature= to each set, and calibrate(..., temperature=True)",
        )
    given = finite(numbers(temperature, "temperature", "expected deg C"), "temperature")
    return [replace(sets[0], temperature=given)]


def _reference(sets: Sequence[Observations]) -> float:
    """Mean temperature: that of the nominal lengths."""
    return float(np.concatenate([np.asarray(x.temperature) for x in sets]).mean())
