"""Writes docs/operations.md: the operations of every robot with masses, before and after."""

from collections.abc import Iterable
from math import log
from pathlib import Path

import dynamis as dy
from dynamis.model import catalogue

KERNELS = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "regressor")
HEAD = """# Operations

Multiplications and additions of what is compiled (`robot.cost(name)`), and in brackets of the same algorithm traced on the model
without optimisation (`optimise="nothing"`). Friction and rotors are included; divisions, sines and cosines are not counted. Written by
`python docs/operations.py`.

The steps: frames are moved along their joint axes to where the transformations have the fewest entries; parameters that act only in combination are
regrouped to the previous link (Gautier and Khalil); the frame of a last link that keeps only Izz is not
rotated; common factors are taken out of sums; regressor columns that are linear combinations of the parent's are combined instead of propagated. With `optimise="operations"` the angles of
parallel axes are added as well, at the cost of one more sine and cosine each.

"""


def cell(robot, name: str) -> str:
    """Products and sums after optimisation, and before."""
    try:
        now, before = (robot.cost(name, optimise=way) for way in ("speed", "nothing"))
    except dy.errors.DynamisError:
        return "-"
    return f"{now.mul} x, {now.add} + ({before.mul} x, {before.add} +)"


def rigid_puma() -> str:
    """The figure everyone compares: the rigid PUMA with the values of 1986."""
    robot = dy.load("puma560-mdh")
    p = robot.parameters
    rigid = [x if "link" in n else 0.0 for n, x in zip(p.names, p.values, strict=True)]
    cost = robot.with_parameters(rigid).cost("inverse_dynamics", optimise="operations")
    steps = ", ".join(f"{step} {saved}" for step, saved in cost.saved.items())
    return (
        "The rigid PUMA 560 with the values of Armstrong, Khatib and Burdick (1986), exact, sines and cosines not counted: "
        f"**{cost.mul} x, {cost.add} +, {cost.total} in all** (saved by step: {steps}). Their explicit model needs 1165, "
        "their 1 % approximation 305, SymPyBotics 368.\n"
    )


GROWTH = """## Growth with the number of joints

Products and sums of inverse dynamics of arms with n equal links (a = 0.2 m, d = 0.1 m, alpha = 90 degrees, a general body), by `robot.cost("inverse_dynamics", method)`. The local exponent is
log(N(n) / N(n - 1)) / log(n / (n - 1)). The ten steps of Lagrange-Euler are of order n^4 (n^3 coefficients h_ikm, each a sum over the links); up to 12 joints what is of lower order still counts.

| joints | Lagrange-Euler | local exponent | Newton-Euler |
|---|---|---|---|
"""
SIZES = range(4, 13)


def equal_links(n: int) -> dy.Robot:
    """An arm of n general links, all alike."""
    inertia = (0.01, 0.02, 0.03, 0.001, 0.002, 0.003)
    link = dy.Link(d=0.1, a=0.2, alpha="pi/2", mass=1.0, com=(0.1, 0.02, 0.03), inertia=inertia)
    return dy.Robot.from_dh(f"{n} equal links", convention="standard", links=[link] * n)


def products_and_sums(n: int, method: str) -> int:
    """Those of inverse dynamics of n equal links."""
    cost = equal_links(n).cost("inverse_dynamics", method)
    return cost.mul + cost.add


def growth(sizes: Iterable[int] = SIZES) -> list[str]:
    """A row for every number of joints."""
    rows, before = [], None
    for n in sizes:
        lagrange, newton = (products_and_sums(n, x) for x in ("lagrange-euler", "newton-euler"))
        local = f"{log(lagrange / before) / log(n / (n - 1)):.2f}" if before else "-"
        rows.append(f"| {n} | {lagrange} | {local} | {newton} |")
        before = lagrange
    return rows


def main() -> None:
    """One row per robot."""
    lines = ["| robot | " + " | ".join(k.replace("_", " ") for k in KERNELS) + " |"]
    lines.append("|---" * (len(KERNELS) + 1) + "|")
    for name in catalogue.names():
        robot = dy.load(name)
        if not any(body.inertia.m for body in robot.chain.bodies):
            continue  # geometry alone
        lines.append(f"| {name} | " + " | ".join(cell(robot, k) for k in KERNELS) + " |")
    page = HEAD + rigid_puma() + "\n" + "\n".join(lines) + "\n"
    page += "\n" + GROWTH + "\n".join(growth()) + "\n"
    (Path(__file__).parent / "operations.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
