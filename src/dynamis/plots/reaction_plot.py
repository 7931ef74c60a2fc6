"""Reactions of joints over time: force left, moment right, a row for every joint."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ..arguments import checked
from ..errors import OptionError, shown
from ..robot.joint_reactions import JointReactions
from .figure import INK, SOFT, Picture, check_save, plain, save
from .run_plot import COLOURS, LEGEND, style
from .run_series import joint_indices

HEADS = ("force (N)", "moment (N m)")


@checked
def plot_reactions(found: JointReactions, joints: Any = None, path: Any = None) -> Figure:
    """Components of force and moment of every joint over time, or of the `joints` named.

    In the frames of the joints; the grey line is the size of the whole force or moment.
    """
    check_save(path)
    if not isinstance(found, JointReactions):
        raise OptionError(f"found is {shown(found)}, expected `run.reactions`")
    names = found.joint_names
    chosen = joint_indices(found.robot, range(len(names)) if joints is None else joints, names)
    figure = Picture(figsize=(9.0, 0.9 + 1.7 * len(chosen)), layout="constrained")
    panels = figure.subplots(len(chosen), 2, squeeze=False, sharex=True)
    for row, (axes, k) in enumerate(zip(panels, chosen, strict=True)):
        for part, own in enumerate(axes):
            values = found.values[:, k, 3 * part : 3 * part + 3]
            size = np.linalg.norm(values, axis=-1)
            own.plot(found.t, size, color=SOFT, alpha=0.45, linewidth=2.4, label="size")
            for letter, colour, column in zip("xyz", COLOURS, values.T, strict=False):
                own.plot(found.t, column, color=colour, linewidth=1.2, label=letter)
            style(own)
            if row == 0:
                own.set_title(HEADS[part], fontsize=9, color=INK)
        axes[0].set_ylabel(plain(found.joint_names[k]), fontsize=9, color=INK)
    for own in panels[-1]:
        own.set_xlabel("t (s)", fontsize=8, color=SOFT)
    figure.align_ylabels(panels[:, 0])
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, **LEGEND)
    if path is not None:
        save(figure, path)
    return figure
