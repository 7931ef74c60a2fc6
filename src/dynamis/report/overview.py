"""The report of `dynamis demo`: one robot, looked at from every side there is so far."""

from typing import Any

import numpy as np

from ..agree import AgreementTable
from ..robot import Robot
from .page import Page

KERNELS = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "gravity_torque",
    "fk",
    "jacobian",
    "regressor",
    "inverse_dynamics_derivatives",
)
COLOURS = ("#1f5fa8", "#d9822b", "#2e8b57", "#9aa3ad")


def overview(robot: Robot, agreement: AgreementTable) -> Page:
    """Geometry, check, a motion's torques, operations, agreement."""
    page = Page(robot.name, robot.model.description.split(". ")[0])
    table = robot.dh()
    page.section("Geometry", f"Denavit-Hartenberg table, {table.convention} convention.")
    header, *rows = table.cells()
    page.table(header, rows)
    page.section("Check", "What a look at its description finds.")
    found = [(f.level, f.where, f.what, f.remedy) for f in robot.check()]
    page.table(("level", "where", "what", "what to do"), found or [("", "", "nothing", "")])
    page.section(
        "Torques of a motion",
        "Half a radian or more on every joint in two seconds (quintic), split into its parts.",
    )
    page.figure(torque_figure(robot))
    page.section("Operations", "What is compiled, and what optimising the model saved.")
    page.table(("kernel", "products", "sums", "sines, cosines", "saved"), operations(robot))
    verdict = "agree" if agreement.ok else "DISAGREE"
    page.section(
        "Agreement",
        f"Methods and engines {verdict}: worst relative difference over random states.",
    )
    page.table(("method or engine", "quantity", "difference", "limit", ""), differences(agreement))
    return page


def operations(robot: Robot) -> list[tuple[Any, ...]]:
    """Operation counts of the usual kernels."""
    rows = []
    for name in KERNELS:
        cost = robot.cost(name)
        rows.append((name, cost.mul, cost.add, cost.trig, sum(cost.saved.values())))
    return rows


def differences(agreement: AgreementTable) -> list[tuple[Any, ...]]:
    """Rows of the agreement table."""
    rows = []
    for row in agreement.rows:
        shown = "" if row.difference is None else f"{row.difference:.1e}"
        mark = "" if row.difference is None else "good" if row.ok else "bad"
        rows.append((row.source, row.quantity, (shown, mark), f"{row.limit:.0e}", row.reason))
    return rows


def torque_figure(robot: Robot) -> Any:
    """Parts of every joint's torque along a quintic move from the first named configuration."""
    import matplotlib.pyplot as plt

    t = np.linspace(0.0, 2.0, 201)
    s = t / t[-1]
    shape = (10 * s**3 - 15 * s**4 + 6 * s**5, 30 * s**2 - 60 * s**3 + 30 * s**4,
             60 * s - 180 * s**2 + 120 * s**3)  # fmt: skip
    start = robot.configurations.get("nominal", np.zeros(robot.n))
    move = np.array([(-1) ** i * (0.5 + 0.1 * i) for i in range(robot.n)])
    q, qd, qdd = (f[:, None] * move / t[-1] ** k for k, f in enumerate(shape))
    parts = robot.torque_terms(start + q, qd, qdd)
    rows = (robot.n + 2) // 3
    figure, axes = plt.subplots(rows, 3, figsize=(11, 2.4 * rows), sharex=True, squeeze=False)
    for i, axis in enumerate(axes.flat):
        axis.set_visible(i < robot.n)
        if i >= robot.n:
            continue
        for (name, part), colour in zip(parts.items(), COLOURS, strict=True):
            axis.plot(t, part[:, i], color=colour, label=name, lw=1.6)
        axis.set_title(robot.joint_names[i], fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
    axes[-1][0].set_xlabel("time, s", fontsize=8)
    axes[0][0].set_ylabel("N m", fontsize=8)
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="upper center", ncols=4,
                  frameon=False, fontsize=9, bbox_to_anchor=(0.5, 1.04))  # fmt: skip
    figure.tight_layout()
    plt.close(figure)
    return figure
