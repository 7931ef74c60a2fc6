"""`dynamis excite`: design of an exciting trajectory."""

from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import arg

from ..errors import OptionError
from ..files import TABLES, checked_path
from ..robot import load
from .arguments import (
    Json,
    Place,
    RobotName,
    RunXacro,
    Time,
    Word,
    check_pictures,
    listed,
    passive_names,
    place,
)
from .printing import data, data_json, number, table, talk, wrote

Criterion = Literal["d-optimal", "condition"]


def run(
    robot: RobotName, *, period: Time = 10.0, harmonics: int = 5,
    output: Path | None = None, dt: Time | None = None, periods: int = 1,
    criterion: Criterion = "d-optimal", friction: Word = "asymmetric",
    passive_friction: str = "described", center: Place = None,
    table_height: Annotated[str, arg(name="table", metavar="Z")] = "floor",
    clearance: Annotated[str, arg(metavar="M")] = "usual", capsule_radius: float | None = None,
    world: Path | None = None,
    max_condition: Annotated[str, arg(metavar="X")] = "usual",
    band: Annotated[str | None, arg(metavar="HZ,HZ")] = None, band_share: float = 0.1,
    starts: int = 4, max_iterations: int = 80, seed: int = 0,
    plot: Path | None = None, run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Design a periodic exciting trajectory within a robot's limits.

    A PLACE is the name of a configuration, or numbers in radians and metres with commas or spaces;
    90deg is accepted. Exit code 1 if a limit is violated.

    For example:

      dynamis excite puma560 --output excite.csv
      dynamis excite panda --table 0 --clearance 0.02 --periods 5 --output excite.csv
      dynamis excite delta --period 5 --max-condition 10 --output excite.csv
      dynamis excite scara --period 5 --harmonics 4 --criterion condition --json
      dynamis excite puma560 --band 5,40 --output excite.csv

    Args:
        period: Period of the motion, a Fourier series in every joint.
        harmonics: Number of harmonics of every joint's series.
        output: Write t, q, qd, qdd (of the drives of a closed mechanism) to this .csv or .npz.
        dt: Time step of the output (default: 0.01, less where a band asks for it).
        periods: Number of periods to write.
        criterion: Maximise the information (d-optimal) or minimise the condition number.
        friction: Friction model to be identified, as in dynamis identify.
        passive_friction: Passive joints of a closed mechanism that have friction: described (those
            with friction in the model), all, none, or names with commas.
        center: Centre of the motion (default: optimised).
        table_height: Height in metres that no part of the arm may go below; floor: the height of
            the base; none: no such limit.
        clearance: Least distance in metres between links that are not adjacent, and to the table
            and the world; usual: 0.02; none: no such limit between links.
        capsule_radius: Radius of links without shapes in metres (default: 0.05, less for small
            arms).
        world: File of obstacles around the arm, with rows [[obstacle]] (dy.save_world).
        max_condition: Largest condition number (serial and parallel singularities) of a closed
            mechanism; usual: 20; none: no such limit.
        band: Lowest and highest frequency of tones of small amplitude that are added, for
            stiffness and frequency responses; resonances: around those of elastic joints.
        band_share: Share of every limit that the band gets.
        starts: Number of random initial trajectories.
        max_iterations: Largest number of iterations from each of them.
        seed: Seed of the random trajectories.
        plot: Draw q, qd and qdd to this image.
    """
    from ..excite.design import excite
    from ..excite.excitation import STEP, step_count
    from ..excite.workspace import FLOOR, USUAL
    from ..model.formats.worlds import load_world

    if output is not None:
        checked_path(output, TABLES, "motion")
        step_count(periods * period, STEP if dt is None else dt)
    check_pictures(plot)
    arm = load(robot, run_xacro=run_xacro)
    found = excite(
        arm,
        harmonics,
        period,
        criterion=criterion,
        friction=friction,
        passive_friction=passive_names(passive_friction, arm),
        periods=periods,
        starts=starts,
        center=None if center is None else place(arm, center, "center"),
        table=_number(table_height, "table", FLOOR),
        clearance=_number(clearance, "clearance", USUAL),
        capsule_radius=capsule_radius,
        world=None if world is None else load_world(world),
        max_condition=_number(max_condition, "max-condition", USUAL, "a number"),
        band=_band(band),
        band_share=band_share,
        seed=seed,
        max_iterations=max_iterations,
    )
    if output is not None:
        found.save(output, dt)
    if plot is not None:
        found.plot(plot)
    _say(found, output, plot, json)
    return int(any(f.level == "error" for f in found.findings))


def _number(
    given: str, name: str, word: str, what: str = "a number of metres"
) -> float | str | None:
    """A number or a word; `none` is None."""
    if given in (word, "none"):
        return None if given == "none" else word
    try:
        return float(given)
    except ValueError:
        expected = f"{what}, {word} or none"
        raise OptionError(f"--{name} is {given!r}, expected {expected}") from None


def _band(given: str | None) -> Any:
    """Two frequencies, or the word for those of resonances."""
    from ..excite.band import RESONANCES

    return given if given in (None, RESONANCES) else listed(given, "Hz or resonances", "band")


def _say(found: Any, output: Path | None, plot: Path | None, json: bool) -> None:
    names, demand, near = found.robot.joint_names, found.demand, found.worst_clearance
    worst = found.worst_conditioning
    if json:
        data_json({
            "robot": found.robot.name,
            "period": found.period,
            "periods": found.periods,
            "criterion": found.criterion,
            "value": found.value,
            "condition_number": found.condition_number,
            "log_det": found.log_det,
            "unknowns": len(found.unknowns),
            "gain": found.gain._asdict(),
            "a": found.trajectory.a,
            "b": found.trajectory.b,
            "harmonics": found.trajectory.harmonics,
            "band": None if found.band is None else (found.band.low, found.band.high),
            "q0": found.trajectory.q0,
            "demand": demand._asdict(),
            "worst_clearance": None if near is None else near._asdict(),
            "worst_conditioning": None if worst is None else worst._asdict(),
            "findings": found.findings,
            "output": output,
            "plot": plot,
        })  # fmt: skip
        return
    for finding in found.findings:
        talk(str(finding))
    g = found.gain
    rows = [
        (f"{found.criterion} criterion", number(found.value), "", ""),
        ("condition number", number(found.condition_number),
         f"{g.condition_median:.3g}", f"{g.condition_best:.3g}"),
        ("information", "", f"{g.information_median:.3g}", f"{g.information_best:.3g}"),
    ]  # fmt: skip
    title = f"{found.robot.name}: {found.period:g} s, {len(found.unknowns)} unknowns"
    columns = ("figure", "value", "times better than random (median)", "than the best random")
    data(table(title, columns, rows, right=columns[1:]))
    columns = ("joint", "from", "to", "largest |qd|", "largest |qdd|", "largest |tau|")
    rows = [(name, *(number(float(c[i])) for c in demand)) for i, name in enumerate(names)]
    data(table("", columns, rows, right=columns[1:]))
    for one in (near, worst, found.band):
        if one is not None:
            data(str(one))
    wrote(output, plot)
