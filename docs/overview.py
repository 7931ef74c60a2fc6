"""Draws docs/images/overview.png: an arm, the parts of a torque, and the figures of README.md."""

import re
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from shrink import shrink

import dynamis as dy

HERE = Path(__file__).resolve().parent
BLUE, GREY, ORANGE = "#1f5fa8", "#b9bec6", "#d9822b"
ROWS = {  # of the table of README.md, and their names here
    "inverse dynamics, one call": "inverse\ndynamics",
    "forward dynamics, one call": "forward\ndynamics",
    "regressor": "regressor",
    "all derivatives of inverse dynamics": "derivatives",
}


def arm(axes) -> None:
    """The PUMA 560."""
    robot = dy.load("puma560")
    robot.plot(robot.configurations["nominal"] + [0.4, 0, 0, 0, 0, 0], ax=axes, frames=False)
    axes.set_box_aspect(axes._box_aspect, zoom=1.02)
    axes.set_title("puma560, nominal pose")
    axes.tick_params(labelsize=7)


def terms(axes) -> None:
    """Parts of joint 2's torque along a swing."""
    robot = dy.load("puma560")
    t = np.linspace(0, 2, 300)
    s = t / 2
    profile = 10 * s**3 - 15 * s**4 + 6 * s**5
    move = np.array([1.0, -0.9, 0.8, 0.5, 0.6, 0.7])
    q = robot.configurations["nominal"] + profile[:, None] * move
    qd = np.gradient(q, t, axis=0)
    parts = robot.torque_terms(q, qd, np.gradient(qd, t, axis=0))
    for (name, part), colour in zip(parts.items(), (BLUE, ORANGE, "#2e8b57", GREY), strict=True):
        axes.plot(t[3:-3], part[3:-3, 1], label=name, color=colour, lw=2)
    axes.set(title="torque of joint 2, by part", xlabel="time (s)", ylabel="N m")
    axes.legend(frameon=False, fontsize=8)


def figures() -> list[tuple[float, float, float]]:
    """Nanoseconds of dynamis and of Pinocchio and their ratio, of every row."""
    text = (HERE.parent / "README.md").read_text()
    found = []
    for name in ROWS:
        row = re.search(rf"^\| {name} \| (\d+) ns \| (\d+) ns \| ([\d.]+)x \|", text, re.MULTILINE)
        if row is None:
            raise SystemExit(f"README.md has no row {name!r} in its table of figures")
        found.append((float(row[1]), float(row[2]), float(row[3])))
    return found


def speed(axes) -> None:
    """One call next to Pinocchio."""
    ours, theirs, ratios = zip(*figures(), strict=True)
    y = np.arange(len(ratios))
    axes.barh(y - 0.2, np.divide(theirs, 1e3), 0.38, color=GREY, label="Pinocchio")
    axes.barh(y + 0.2, np.divide(ours, 1e3), 0.38, color=BLUE, label="dynamis")
    for k, (own, ratio) in enumerate(zip(ours, ratios, strict=True)):
        axes.text(own / 1e3 + 0.05, k + 0.2, f"{ratio:.1f}x", va="center", fontsize=8)
    axes.set_yticks(y, list(ROWS.values()))
    axes.invert_yaxis()
    axes.set(title="one call from Python", xlabel="microseconds")
    axes.legend(frameon=False, fontsize=8, loc="upper right")


def main() -> None:
    """The three panels side by side."""
    figure = Figure(figsize=(13, 4))
    arm(figure.add_axes((-0.015, 0.03, 0.32, 0.87), projection="3d"))
    terms(figure.add_axes((0.395, 0.14, 0.235, 0.75)))
    speed(figure.add_axes((0.72, 0.14, 0.26, 0.75)))
    for axes in figure.axes[1:]:
        axes.spines[["top", "right"]].set_visible(False)
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "overview.png"
        figure.savefig(raw, dpi=110)
        shrink(raw, HERE / "images" / raw.name)


if __name__ == "__main__":
    main()
