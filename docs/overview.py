"""Draws docs/images/overview.png from the file that `dynamis bench --output FILE` wrote."""

import json
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import dynamis as dy

BLUE, GREY, ORANGE = "#1f5fa8", "#b9bec6", "#d9822b"


def arm(axes) -> None:
    """The PUMA as a line through its link frames."""
    robot = dy.load("puma560")
    q = robot.configurations["nominal"] + [0.4, 0, 0, 0, 0, 0]
    T = robot.frames(q)
    points = [np.array([0, 0, -0.4]), *T[:, :3, 3]]
    points = np.array([p for i, p in enumerate(points) if i == 0 or np.ptp([p, points[i - 1]]) > 0])
    axes.plot(*points.T, color=BLUE, lw=7, solid_capstyle="round", alpha=0.9)
    axes.plot(*points[1:].T, "o", color="white", ms=5, mec=BLUE, mew=2)
    for k, colour in enumerate(("#c0392b", "#27ae60", "#2c5fd5")):
        tip = T[-1, :3, 3] + 0.15 * T[-1, :3, k]
        axes.plot(*np.array([T[-1, :3, 3], tip]).T, color=colour, lw=2)
    axes.set(xlim=(-0.4, 0.6), ylim=(-0.5, 0.5), zlim=(-0.4, 0.6), title="puma560, nominal pose")
    axes.set_box_aspect((1, 1, 1))
    axes.tick_params(labelsize=7)
    axes.view_init(20, -60)


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
    axes.set(title="torque of joint 2, by part", xlabel="time, s", ylabel="N m")
    axes.legend(frameon=False, fontsize=8)


def speed(axes, bench: dict) -> None:
    """One call next to Pinocchio."""
    names = ["inverse_dynamics", "forward_dynamics", "regressor", "inverse_dynamics_derivatives"]
    found = [f for f in bench["figures"] if f["robot"] == "puma560" and f["peer"] == "Pinocchio"]
    rows = [next(f for f in found if f["what"] == name) for name in names]
    y = np.arange(len(rows))
    axes.barh(y - 0.2, [f["theirs"] * 1e6 for f in rows], 0.38, color=GREY, label="Pinocchio")
    axes.barh(y + 0.2, [f["ours"] * 1e6 for f in rows], 0.38, color=BLUE, label="dynamis")
    for k, f in enumerate(rows):
        axes.text(f["ours"] * 1e6 + 0.05, k + 0.2, f"{f['ratio']:.1f}x", va="center", fontsize=8)
    labels = ["inverse\ndynamics", "forward\ndynamics", "regressor", "derivatives"]
    axes.set_yticks(y, labels)
    axes.invert_yaxis()
    axes.set(title="one call from Python, us")
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def main(path: str) -> None:
    """The three panels side by side."""
    bench = json.loads(Path(path).read_text())
    figure = plt.figure(figsize=(13, 4))
    arm(figure.add_subplot(131, projection="3d"))
    terms(figure.add_subplot(132))
    speed(figure.add_subplot(133), bench)
    for axes in figure.axes[1:]:
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(Path(__file__).parent / "images" / "overview.png", dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
