"""`dynamis bench`: speed and accuracy compared with other engines."""

from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import Json, check_folders, check_pictures
from .printing import Cell, data, data_json, table, talk

if TYPE_CHECKING:
    from ..bench.table import Figure


def run(
    *,
    quick: bool = False,
    output: Path | None = None,
    plot: Path | None = None,
    markdown: bool = False,
    json: Json = False,
) -> int:
    """Measure speed compared with what is installed of Pinocchio, MuJoCo and Robotics Toolbox.

    Times are the shortest of several interleaved rounds; ratios are within this run. The error is
    the largest relative difference from extended precision. Exit code 1 if a target is missed.

    For example:

      dynamis bench
      dynamis bench --quick
      dynamis bench --output bench.json --plot growth.png

    Args:
        quick: Leave out start-up times and long chains.
        output: Also write everything to this JSON file.
        plot: Also plot the time of a call over the number of joints to this image.
        markdown: Print a Markdown table instead.
    """
    from ..bench import bench

    check_folders(output)
    check_pictures(plot)
    found = bench(quick, say=talk)
    if output is not None:
        found.save(output)
    if plot is not None:
        from ..bench.table import growth_plot

        growth_plot(found, plot)
    if json:
        data_json(found.as_dict())
    elif markdown:
        from ..bench.table import readme_table

        data(readme_table(found))
    else:
        talk(f"processor: {found.machine}")
        columns = ("", "robot", "ours", "peer", "theirs", "ratio", "target", "error")
        rows = [_figure(f) for f in found.figures]
        data(table("speed", columns, rows, right=("ours", "theirs", "ratio", "target", "error")))
        joints = sorted(next(iter(found.growth.values())))
        columns = ("joints", *map(str, joints), "exponent")
        rows = [
            (name, *(_duration(times[n]) for n in joints), f"{found.slopes[name]:.2f}")
            for name, times in found.growth.items()
        ]
        data(table("growth", columns, rows, right=columns[1:]))
    return int(any(f.reached is False for f in found.figures))


def _figure(f: "Figure") -> tuple[Cell, ...]:
    target: Cell = ""
    if f.target is not None:
        text = f">= {f.target:.3g}" if f.ratio is not None else f"<= {_duration(f.target)}"
        target = text, "good" if f.reached else "error"
    theirs = "" if f.theirs is None else _duration(f.theirs)
    ratio = "" if f.ratio is None else f"{f.ratio:.2f}"
    error = "" if f.error is None else f"{f.error:.0e}"
    return f.what, f.robot, _duration(f.ours), f.peer, theirs, ratio, target, error


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
