"""Chapters on the model: description and check, equations, agreement."""

from typing import Any

from ..agree import AgreementTable
from ..equations.render.math import latex
from ..robot import Robot
from .chapter import Chapter

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
SHOWN = (2, 3, 4)  # joints whose gravity torque is short


def model(robot: Robot) -> Chapter:
    """The DH table, and what a check of the description finds."""
    table = robot.dh()
    made = Chapter(
        "The arm",
        f"{robot.model.description.split('. ')[0]}: {robot.n} joints, {table.convention} "
        "Denavit-Hartenberg convention.",
    )
    header, *rows = table.cells()
    made.table(f"{table.convention} DH table", header, rows)
    found = [(f.level, f.where, f.what, f.remedy) for f in robot.check()]
    made.table(
        f"{robot.name}: findings of a check", ("level", "where", "what", "what to do"),
        found or [("", "", "none", "")],
    )  # fmt: skip
    made.facts = {"robot": robot.name, "findings": [" ".join(row[:3]) for row in found]}
    return made


def equations(robot: Robot) -> Chapter:
    """Gravity torques in closed form, and the operations of each kernel."""
    found = robot.equations()
    g: Any = found.g
    made = Chapter(
        "Equations",
        "Derived symbolically by Lagrange-Euler; here the gravity torques of three "
        "joints (c23 is the cosine of q2 + q3). The compiled code is optimised for this arm: "
        "terms that are zero, one, or repeated are removed.",
        formulas=[f"g_{{{i + 1}}} = {latex(g[i])}" for i in SHOWN],
    )
    rows = []
    for name in KERNELS:
        cost = robot.cost(name)
        rows.append((name, cost.mul, cost.add, cost.trig, sum(cost.saved.values())))
    header = ("kernel", "products", "sums", "sines, cosines", "saved")
    made.table("operations of one call", header, [tuple(map(str, row)) for row in rows])
    made.facts = {
        "operations": {row[0]: dict(zip(header[1:], row[1:], strict=True)) for row in rows}
    }
    return made


def agreement(robot: Robot, table: AgreementTable) -> Chapter:
    """Comparison of independent formulations and other engines."""
    verdict = "agrees" if table.ok else "DISAGREES"
    worst = max((row.difference or 0.0) / row.limit for row in table.rows)
    made = Chapter(
        "Agreement",
        f"{robot.name}: {verdict}. Independent formulations and the engines installed here, at "
        f"random states; the largest difference is {worst:.1e} of its limit.",
        good=table.ok,
    )
    rows: list[tuple[Any, ...]] = []
    for row in table.rows:
        shown = "" if row.difference is None else f"{row.difference:.1e}"
        mark = "" if row.difference is None else "good" if row.ok else "bad"
        rows.append((row.source, row.quantity, (shown, mark), f"{row.limit:.0e}", row.reason))
    header = ("method or engine", "quantity", "difference", "limit", "")
    made.table(f"{robot.name}: {verdict}", header, rows)
    made.facts = table.as_dict()
    return made
