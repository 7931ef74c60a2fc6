"""The HTML report of the reactions of joints (`run.reactions.report`)."""

from pathlib import Path

from .. import __version__
from ..files import PAGES, checked_path
from ..lazy import package
from ..robot.joint_reactions import JointReactions
from .page import Page


def write(found: JointReactions, path: str | Path) -> Path:
    """Write the page whole or not at all."""
    return page(found).save(checked_path(path, PAGES, "report"))


def page(found: JointReactions) -> Page:
    """Tables and the figure."""
    mpl = package("matplotlib", "matplotlib", "a report", "plots")
    from ..plots.reaction_plot import plot_reactions

    robot, (components, by_axis) = found.robot, found.tables
    span = f"{found.t[0]:g} to {found.t[-1]:g} s" if len(found.t) else "no instants"
    made = Page(f"Joint reactions of {robot.name}", f"{span}, {len(found.t)} instants.")
    made.section(
        "By the axes of the joints",
        "Forces along and across the axis of every joint, moments across and about it: what "
        "bearings carry, and in the last column what the drive moves.",
    )
    header, *rows = by_axis
    made.table(header, rows, "reactions by axis")
    made.section(
        "By components",
        "Force and moment that the link before a joint exerts on the link behind it, in the frame "
        "of the joint.",
    )
    header, *rows = components
    made.table(header, rows, "reactions by components")
    with mpl.rc_context({"svg.fonttype": "none"}):
        made.section("Over time")
        made.figure(plot_reactions(found), "force and moment in every joint over time")
    made.text(f"Computed by dynamis {__version__}.")
    return made
