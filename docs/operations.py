"""Writes docs/operations.md: the operations of every robot with masses, before and after."""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from pathlib import Path

import dynamis as dy
from dynamis.dynamics.formulations import observation
from dynamis.dynamics.newton_euler import LinkMotion
from dynamis.model import catalogue
from dynamis.spatial.recorder import Arithmetic

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


BLOCKS = """## The observation matrix, block by block

Sums and products of the blocks of `robot.observation_matrix` on an arm of n revolute joints in modified DH, counted as the functions that compute the blocks run (`dynamis/dynamics/formulations/observation.py`):
zeros and ones are free, so are signs; rotations have the one zero that all rotations of modified DH have. The formulas hold from four joints on. Beside them what Rosillo et al. (2010) print for theirs, and the sum of what they print: it is not the total that they print, 58 n^2 - 93 n + 50 sums and 76.5 n^2 - 130.5 n + 66 products
([errata](errata/index.md)). The recursions follow the printed ones, a rotation and a skew matrix at a time; the compiled `regressor` needs 436 sums and 577 products for the PUMA 560.

| block | sums counted | printed | products counted | printed | n = 6, counted | n = 6, printed |
|---|---|---|---|---|---|---|
"""
PRINTED = {  # sums and products as coefficients of n^2, n and 1
    "A": ((6, 3, 0), (13.5, -7.5, 0)),
    "eta": ((9, -3, 0), (9, -3, 0)),
    "B1": ((18, -18, 0), (21, -21, 0)),
    "delta": ((13, -39, 26), (15, -45, 30)),
    "B2": ((12, -12, 0), (18, -18, 0)),
}
SIX = 6  # joints of the PUMA 560
FITTED = (5, 6, 7)  # joints: blocks near the diagonal have zeros, so few joints take less


class Counted(Arithmetic):
    """A scalar that counts sums and products."""

    def __init__(self, count: Counter):
        self.count = count

    def operation(self, name: str, *operands: object) -> object:
        """Another scalar, or what a zero, a one or a sign leaves."""
        numbers = [x for x in operands if isinstance(x, float)]
        other = next((x for x in operands if isinstance(x, Counted)), self)
        if name == "neg":
            return self
        if numbers and name == "mul" and abs(numbers[0]) in (0.0, 1.0):
            return other if numbers[0] else 0.0
        if numbers and name in ("add", "sub") and numbers[0] == 0.0:
            return other
        self.count["products" if name == "mul" else "sums"] += 1
        return Counted(self.count)


def block_counts(n: int) -> dict[str, Counter]:
    """Sums and products of every block for n revolute joints."""
    count: Counter = Counter()

    def vector() -> tuple:
        return tuple(Counted(count) for _ in range(3))

    R = [((*vector()[:2], 0.0), vector(), vector()) for _ in range(n)]
    motion = [LinkMotion(vector(), vector(), vector(), (vector(),) * 3) for _ in range(n)]
    parents, still = tuple(range(-1, n - 1)), [(0.0, 0.0, 0.0)] * n
    frames = observation.Frames(parents, R, [vector() for _ in range(n)], still, still, motion)
    made: dict[str, object] = {}
    counted = {}
    for name, make in (
        ("A", lambda: observation.second_moments(frames)),
        ("eta", lambda: observation.first_forces(frames)),
        ("B1", lambda: observation.first_moments(frames, made["eta"])),
        ("delta", lambda: observation.arms(frames)),
        ("B2", lambda: observation.masses(frames, made["delta"])),
    ):
        count.clear()
        made[name] = make()
        counted[name] = Counter(count)
    return counted


def quadratic(values: Sequence[float]) -> tuple[float, float, float]:
    """Coefficients of n^2, n and 1 of what has these values for FITTED joints."""
    first, second, third = values
    n, square = FITTED[0], (third - 2 * second + first) / 2
    slope = second - first - square * (2 * n + 1)
    return square, slope, first - square * n**2 - slope * n


def formula(coefficients: Sequence[float]) -> str:
    """Coefficients as text: 6 n^2 + 3 n."""
    letters = (" n^2", " n", "")
    terms = [(x, letter) for x, letter in zip(coefficients, letters, strict=True) if x]
    text = "".join(f" {'-' if x < 0 else '+'} {abs(x):g}{letter}" for x, letter in terms)
    return text.removeprefix(" + ").strip() or "0"


def block_rows() -> list[str]:
    """A row for every block, and their sum."""
    few = [block_counts(n) for n in FITTED]
    kinds = ("sums", "products")
    found = {x: tuple(quadratic([c[x][kind] for c in few]) for kind in kinds) for x in PRINTED}
    tables = [found, dict(PRINTED)]
    for table in tables:
        table["all"] = tuple(
            tuple(sum(table[x][k][power] for x in few[0]) for power in range(3)) for k in range(2)
        )
    rows = []
    for name in found:
        (sums, products), (their_sums, their_products) = (table[name] for table in tables)
        own, theirs = (
            ", ".join(f"{round(x * SIX**2 + y * SIX + z)}{sign}" for (x, y, z), sign in pairs)
            for pairs in (
                zip((sums, products), (" +", " x"), strict=True),
                zip((their_sums, their_products), (" +", " x"), strict=True),
            )
        )
        cells = (name, *map(formula, (sums, their_sums, products, their_products)), own, theirs)
        rows.append(f"| {' | '.join(cells)} |")
    return rows


GROWTH = """## Growth with the number of joints

Products and sums of inverse dynamics of arms with n equal links (a = 0.2 m, d = 0.1 m, alpha = 90 degrees, a general body), by `robot.cost("inverse_dynamics", method)`. The local exponent, in brackets, is
log(N(n) / N(n - 1)) / log(n / (n - 1)). The ten steps of Lagrange-Euler are of order n^4 (n^3 coefficients h_ikm, each a sum over the links), Kane's equations and Gibbs-Appell's matrix W of order n^2 (a vector or block for every link and joint before it), Newton-Euler of order n;
up to 12 joints what is of lower order still counts.

| joints | Lagrange-Euler | Kane | Gibbs-Appell | Newton-Euler |
|---|---|---|---|---|
"""
SIZES = range(4, 13)
COMPARED = ("lagrange-euler", "kane", "gibbs-appell", "newton-euler")


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
    rows, before = [], dict.fromkeys(COMPARED, 0)
    for n in sizes:
        cells = []
        for method in COMPARED:
            now, last = products_and_sums(n, method), before[method]
            local = f" ({log(now / last) / log(n / (n - 1)):.2f})" if last else ""
            cells.append(f"{now}{local}")
            before[method] = now
        rows.append(f"| {n} | {' | '.join(cells)} |")
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
    page += "\n" + BLOCKS + "\n".join(block_rows()) + "\n"
    page += "\n" + GROWTH + "\n".join(growth()) + "\n"
    (Path(__file__).parent / "operations.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
