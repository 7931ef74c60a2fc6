"""Draws the pictures of docs/concepts, the moving arms of the front page and the arms of the gallery.

python docs/pictures.py [NAME ...]: all of them, or those named.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib import rcParams
from matplotlib.figure import Figure

OUT = Path(__file__).resolve().parent / "pictures"
INK, X, Z, LINK = "#37474f", "#d84315", "#1565c0", "#b0bec5"
rcParams["svg.fonttype"] = "path"
rcParams["svg.hashsalt"] = "dynamis"


def arrow(ax, start, end, color, text="", shift=(0, 0), width=2.0, style="-|>"):
    """An arrow and its name near the tip."""
    ax.annotate(
        "", end, start,
        arrowprops={"arrowstyle": style, "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    if text:
        ax.text(
            end[0] + shift[0],
            end[1] + shift[1],
            text,
            color=color,
            fontsize=12,
            ha="center",
            va="center",
        )


def joint(ax, place, turn, text, shift):
    """A hinge seen from the side, its axis along the direction `turn` (degrees)."""
    c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
    along, across = np.array([c, s]), np.array([-s, c])
    corners = [
        place + a * 0.32 * along + b * 0.13 * across
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    ax.fill(*np.array(corners).T, color="#cfd8dc", ec=INK, lw=1.2, zorder=3)
    ax.text(
        place[0] + shift[0],
        place[1] + shift[1],
        text,
        fontsize=10,
        color=INK,
        ha="center",
        va="center",
    )


def axis_line(ax, place, turn, before=1.0, after=1.0):
    """A joint axis as a dash-dotted line."""
    d = np.array([np.cos(np.radians(turn)), np.sin(np.radians(turn))])
    a, b = place - before * d, place + after * d
    ax.plot([a[0], b[0]], [a[1], b[1]], color="0.6", lw=0.9, ls=(0, (8, 3, 2, 3)), zorder=1)


def bare(width, height, x, y):
    """A figure without axes, drawn to scale."""
    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.subplots()
    ax.set(xlim=x, ylim=y, aspect="equal")
    ax.axis("off")
    return figure, ax


def measure(ax, start, end, text, shift):
    """A length between two points."""
    arrow(ax, start, end, INK, width=1.0, style="<|-|>")
    middle = (np.array(start) + end) / 2 + shift
    ax.text(*middle, text, fontsize=12, color=INK, ha="center", va="center")


def dh(convention: str) -> Figure:
    """Two skew axes, the common normal and the frames of one link."""
    standard = convention == "standard"
    figure, ax = bare(6.6, 3.95, (-1.9, 7.6), (-1.6, 4.1))
    low, high, tilt = np.array([0.0, 0.0]), np.array([5.2, 1.2]), 60.0
    up, lean = np.array([0.0, 1.0]), np.array([np.cos(np.radians(tilt)), np.sin(np.radians(tilt))])
    first, second = ("i", "i + 1") if standard else ("i - 1", "i")
    axis_line(ax, low, 90, 1.5, 3.6)
    axis_line(ax, high, tilt, 1.6, 2.9)
    foot = low + 1.2 * up  # of the common normal
    ax.plot(
        [foot[0], high[0]], [foot[1], high[1]], color=LINK, lw=9, solid_capstyle="round", zorder=0
    )
    ax.plot(
        [low[0], foot[0]], [low[1], foot[1]], color=LINK, lw=9, solid_capstyle="round", zorder=0
    )
    joint(ax, low - 0.75 * up, 90, f"joint {first}", (0.85, -0.05))
    joint(ax, high - 1.0 * lean, tilt, f"joint {second}", (1.05, -0.05))
    ax.text(
        2.6, 0.88, f"link {'i' if standard else 'i - 1'}", fontsize=11, color="0.4", ha="center"
    )
    # frame before
    o1 = low if standard else foot
    name = "{i-1}"
    arrow(ax, o1, o1 + 1.5 * up, Z, f"$z_{name}$", (-0.42, 0.0))
    side = np.array([-0.77, -0.64]) if standard else np.array([1.0, 0.0])
    arrow(ax, o1, o1 + 1.25 * side, X, f"$x_{name}$", (-0.1, -0.28) if standard else (-0.15, 0.32))
    ax.plot(*o1, "o", color=INK, ms=6, zorder=5)
    ax.text(
        o1[0] + (0.5 if standard else -0.55),
        o1[1] + (-0.22 if standard else -0.05),
        "$O_{i-1}$",
        fontsize=12,
        color=INK,
        ha="center",
    )
    # frame after
    o2 = high if standard else high + 1.35 * lean
    arrow(ax, o2, o2 + 1.35 * lean, Z, "$z_i$", (0.42, 0.0))
    side = np.array([1.0, 0.0]) if standard else np.array([0.93, -0.36])
    arrow(ax, o2, o2 + 1.35 * side, X, "$x_i$", (0.3, 0.0))
    ax.plot(*o2, "o", color=INK, ms=6, zorder=5)
    ax.text(
        o2[0] + (-0.4 if standard else 0.25),
        o2[1] + (0.25 if standard else -0.6),
        "$O_i$",
        fontsize=12,
        color=INK,
        ha="center",
    )
    # the four numbers
    a, alpha = ("$a_i$", r"$\alpha_i$") if standard else ("$a_{i-1}$", r"$\alpha_{i-1}$")
    height = foot[1] + 2.35
    ax.plot([foot[0], foot[0]], [foot[1], height], color="0.7", lw=0.7, ls=":")
    ax.plot([high[0], high[0]], [high[1], height], color="0.7", lw=0.7, ls=":")
    measure(ax, (foot[0], height - 0.1), (high[0], height - 0.1), a, (0, 0.27))
    if standard:
        measure(ax, (-1.45, low[1]), (-1.45, foot[1]), "$d_i$", (-0.3, 0))
        for y in (low[1], foot[1]):
            ax.plot([-1.6, -0.1], [y, y], color="0.7", lw=0.7, ls=":")
    else:
        shift = 0.95 * np.array([-lean[1], lean[0]])
        for end in (high, o2):
            ax.plot(*np.transpose([end, end + 1.1 * shift]), color="0.7", lw=0.7, ls=":")
        measure(ax, high + shift, o2 + shift, "$d_i$", (-0.3, 0.12))
    theta = (
        r"$\theta_i$: turn about $z_{i-1}$, from $x_{i-1}$ to $x_i$"
        if standard
        else r"$\theta_i$: turn about $z_i$, from $x_{i-1}$ to $x_i$"
    )
    bend = alpha + (
        r": turn about $x_i$, from $z_{i-1}$ to $z_i$"
        if standard
        else r": turn about $x_{i-1}$, from $z_{i-1}$ to $z_i$"
    )
    ax.text(1.9, -0.95, theta + "\n" + bend, fontsize=11, color=INK, va="center", linespacing=1.7)
    return figure


def wrench() -> Figure:
    """What the tool does to the world, and gravity."""
    figure, ax = bare(6.6, 3.4, (-0.6, 7.6), (-0.5, 3.6))
    ax.plot([-0.4, 1.0], [0, 0], color=INK, lw=2)
    for x in np.linspace(-0.35, 0.85, 7):
        ax.plot([x, x - 0.12], [0, -0.16], color=INK, lw=0.8)
    points = np.array([[0.3, 0.0], [1.0, 2.2], [3.6, 2.6], [4.6, 1.4]])
    ax.plot(*points.T, color=LINK, lw=9, solid_capstyle="round", solid_joinstyle="round", zorder=0)
    for p in points[:3]:
        ax.plot(*p, "o", color="#cfd8dc", mec=INK, ms=11, zorder=3)
    tip = points[3]
    ax.fill([5.15, 5.35, 5.35, 5.15], [0.1, 0.1, 2.4, 2.4], color="#cfd8dc")
    ax.plot([5.15, 5.15], [0.1, 2.4], color=INK, lw=1.5)
    ax.plot([tip[0], 5.15], [tip[1], tip[1]], color=LINK, lw=6, zorder=0)
    arrow(ax, (5.15, tip[1]), (6.45, tip[1]), X)
    ax.text(
        5.5, tip[1] + 0.55, "force of the tool\non the world", fontsize=10, color=X, va="center"
    )
    ax.text(5.5, tip[1] - 0.42, "wrench = (f, n)", fontsize=11, color=X, va="center")
    arrow(ax, (2.3, 1.75), (2.3, 0.65), Z)
    ax.text(2.5, 1.15, "gravity:\nfree fall", fontsize=10, color=Z, va="center")
    ax.text(5.25, 2.62, "world", fontsize=10, color=INK, ha="center")
    return figure


def friction() -> Figure:
    """The friction laws over velocity."""
    figure = Figure(figsize=(8.2, 3.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    v = np.linspace(-1, 1, 2001)
    coulomb, viscous, static = 1.0, 0.6, 1.5
    slide = np.where(v > 0, 1.0, -1.0)
    gap = np.abs(v) < 1e-3

    def curve(ax, y, name, color, **how):
        ax.plot(
            v,
            np.where(gap, np.nan, y) if how.pop("jump", False) else y,
            label=name,
            color=color,
            **how,
        )

    curve(left, coulomb * slide + viscous * v, "coulomb, viscous", "C0", jump=True)
    curve(left, np.where(v > 0, 1.2, -0.7) + viscous * v, "asymmetric", "C1", jump=True)
    curve(left, coulomb * np.tanh(v / 0.08) + viscous * v, "smooth", "C2")
    curve(right, coulomb * slide + viscous * v, "coulomb, viscous", "C0", jump=True)
    stribeck = (coulomb + (static - coulomb) * np.exp(-((v / 0.15) ** 2))) * slide + viscous * v
    curve(right, stribeck, "stribeck", "C3", jump=True)
    curve(
        right,
        coulomb * slide + viscous * np.sign(v) * np.abs(v) ** (1 / 3),
        "grotjahn: a root of v",
        "C4",
        jump=True,
    )
    right.plot([0, 0], [-static, static], color="0.75", lw=4, zorder=0, label="holding: any value")
    for ax in (left, right):
        ax.axhline(0, color="0.7", lw=0.8, zorder=0)
        ax.set(xlabel="velocity", xticks=[0], xticklabels=["0"], yticks=[], ylim=(-2.5, 2.5))
        ax.legend(fontsize=8, loc="upper left", frameon=False)
        ax.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("torque against the motion")
    return figure


def pipeline() -> Figure:
    """The folders in the order in which data pass through them."""
    figure, ax = bare(8.6, 3.6, (0, 8.6), (0, 3.7))
    math, compiler, arm, use, page = "#e3f2fd", "#fff3e0", "#e8f5e9", "#f3e5f5", "#eceff1"
    rows = [
        [
            ("spatial", math),
            ("model", math),
            ("dynamics", math),
            ("compile", compiler),
            ("export", compiler),
        ],
        [("robot", arm), ("ik", arm), ("base", arm), ("equations", arm), ("plots", arm)],
        [
            ("trajectory", use),
            ("control", use),
            ("simulation", use),
            ("logs, identify", use),
            ("excite, realtime", use),
        ],
        [("agree, bench", page), ("report", page), ("demo", page), ("cli", page), ("studio", page)],
    ]
    for i, row in enumerate(rows):
        y = 2.95 - 0.9 * i
        for j, (name, color) in enumerate(row):
            x = 0.1 + 1.72 * j
            ax.fill(
                [x, x + 1.42, x + 1.42, x],
                [y, y, y + 0.56, y + 0.56],
                color=color,
                ec="#90a4ae",
                lw=1,
            )
            ax.text(x + 0.71, y + 0.28, name, ha="center", va="center", fontsize=10, color=INK)
            if j < 4:
                arrow(ax, (x + 1.44, y + 0.28), (x + 1.70, y + 0.28), "#90a4ae", width=1.2)
        if i < 3:
            ax.plot(
                [7.7, 7.7, 0.81, 0.81],
                [y - 0.02, y - 0.17, y - 0.17, y - 0.19],
                color="#90a4ae",
                lw=1.2,
            )
            arrow(ax, (0.81, y - 0.17), (0.81, y - 0.33), "#90a4ae", width=1.2)
    return figure


# arms of the catalogue, solid as run.animate draws them

MOVING = OUT.parent / "images" / "arms.gif"
ARMS = ("puma560", "ur10e", "panda", "delta", "palletizer", "pendulum3")  # of the moving picture
TILE, COLUMNS, DPI = 2.5, 3, 100  # inches, and pixels per inch
FRAMES, FPS = 60, 20.0
STILL = ("puma560", "ur10e", "panda", "stanford", "scara", "kr16", "palletizer", "delta",
         "gough-stewart", "five-bar", "pendulum3", "cartesian-xy")  # fmt: skip


def still_pose(robot):
    """A pose that shows the arm, closed where it has closures."""
    named = robot.configurations
    for name in ("nominal", "ready", "home", "elbow", "stretched"):
        if name in named:
            return np.array(named[name], float)
    return np.linspace(0.5, 0.3, robot.n)


def waving(robot):
    """A periodic motion of the drives about a pose, (FRAMES, n)."""
    home, turn = still_pose(robot), 2 * np.pi * np.arange(FRAMES) / FRAMES
    drives = list(robot.active)
    wide = np.linspace(0.55, 0.35, len(drives))
    phase = 2 * np.pi * np.arange(len(drives)) / len(drives)
    moved = home[drives] + wide * (np.sin(turn[:, None] + phase) - np.sin(phase))
    if not robot.model.closures:
        q = np.tile(home, (FRAMES, 1))
        q[:, drives] = moved
        return q
    moved = home[drives] + 0.6 * (moved - home[drives])
    found, last = [], home
    for row in moved:
        last = robot.assemble(row, q0=last)[0]
        found.append(last)
    return np.array(found)


def moving_arms() -> None:
    """Several arms in one film that repeats itself."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    import dynamis as dy
    from dynamis.plots.scene import Solids, View, add_axes, bodywork, prepare
    from dynamis.plots.skeleton import skeleton
    from dynamis.plots.solid import upright

    rows = -(-len(ARMS) // COLUMNS)
    figure = Figure(figsize=(COLUMNS * TILE, rows * TILE), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    drawn = []
    for k, name in enumerate(ARMS):
        robot = dy.load(name)
        arm = skeleton(robot, waving(robot))
        view = View(np.eye(3), upright(robot.gravity))
        body = bodywork(robot, arm, 12)
        axes = add_axes(figure, view)
        axes.set_position(
            ((k % COLUMNS) / COLUMNS, 1 - (k // COLUMNS + 1) / rows, 1 / COLUMNS, 0.94 / rows)
        )
        prepare(axes, view, body.bounds(view, arm))
        axes.set_box_aspect(axes._box_aspect, zoom=1.25)
        axes.set_axis_off()
        axes.set_title(name, color=INK, fontsize=10, y=0.96)
        drawn.append((arm, Solids(axes, view, body)))
    pictures = []
    for k in range(FRAMES):
        for arm, solids in drawn:
            solids.move(arm.frames[k])
        canvas.draw()
        pictures.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy()))
    few = pictures[0].quantize(96, dither=Image.Dither.NONE)
    table = np.array(few.getpalette()).reshape(-1, 3)
    table[table.min(axis=1) > 250] = 255  # the paper is white
    few.putpalette(table.ravel().tolist())
    small = [picture.quantize(palette=few, dither=Image.Dither.NONE) for picture in pictures]
    small[0].save(
        MOVING, save_all=True, append_images=small[1:], duration=round(1000 / FPS), loop=0, optimize=False,
        disposal=1,
    )  # fmt: skip


def still_arms() -> None:
    """An arm of the catalogue each, for the gallery."""
    import tempfile

    from shrink import shrink

    import dynamis as dy

    with tempfile.TemporaryDirectory() as folder:
        for name in STILL:
            raw = Path(folder) / f"arm-{name}.png"
            robot = dy.load(name)
            figure = robot.plot(still_pose(robot), frames=False)
            figure.set_size_inches(5.6, 4.9)
            figure.savefig(raw, dpi=80)
            shrink(raw, OUT.parent / "gallery" / raw.name)


PICTURES = {
    "dh-standard": lambda: dh("standard"),
    "dh-modified": lambda: dh("modified"),
    "wrench": wrench,
    "friction": friction,
    "pipeline": pipeline,
}


def main(names: list[str]) -> None:
    """Every picture, or those named."""
    OUT.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        if not names or name in names:
            draw().savefig(OUT / f"{name}.svg", metadata={"Date": None})
    for name, draw in {"moving": moving_arms, "still": still_arms}.items():
        if not names or name in names:
            draw()


if __name__ == "__main__":
    main(sys.argv[1:])
