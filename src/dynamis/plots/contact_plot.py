"""Contacts of a run over time: normal force, friction beside its limit, slip."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure

from ..arguments import checked
from ..errors import OptionError, shown
from ..simulation.contact.history import Contacts
from .figure import INK, SOFT, Picture, check_save, plain, save
from .run_plot import style

ROBUST = 99.5  # percent: impacts above three times this are cut off, and said


@checked
def plot_contacts(contacts: Contacts, path: str | Path | None = None) -> Figure:
    """Normal force, friction and slip of every pair over time; the limit of friction is dotted."""
    if not isinstance(contacts, Contacts):
        raise OptionError(f"contacts is {shown(contacts)}, expected `run.contacts`")
    if contacts.q.ndim != 2:
        raise OptionError(f"contacts are of an ensemble {contacts.q.shape[:-2]}, expected one arm")
    check_save(path)
    figure: Any = Picture(figsize=(7.2, 5.6), layout="constrained")
    rows = figure.subplots(3, 1, sharex=True)
    pairs = list(dict.fromkeys(contacts.pairs))
    normal, across, slip = contacts.normal_force, contacts.friction_force, contacts.slip
    limits = normal * np.array([p.material.friction for p in contacts.points])
    for pair, colour in zip(pairs, _colours(len(pairs)), strict=True):
        own = [k for k, other in enumerate(contacts.pairs) if other == pair]
        look = {"color": colour, "linewidth": 1.4, "label": plain(f"{pair[0]} on {pair[1]}")}
        rows[0].plot(contacts.t, normal[:, own].sum(axis=1), **look)
        rows[1].plot(contacts.t, across[:, own].sum(axis=1), **look)
        rows[1].plot(contacts.t, limits[:, own].sum(axis=1), color=colour, linestyle=":")
        rows[2].plot(contacts.t, 1000.0 * slip[:, own].max(axis=1), **look)
    heads = ("normal force (N)", "friction, and its limit (N)", "slip (mm/s)")
    for axes, head in zip(rows, heads, strict=True):
        style(axes)
        axes.set_title(head, loc="left", fontsize=9, color=INK)
    for axes, values in ((rows[0], normal), (rows[1], limits)):
        _cut_impacts(axes, values.sum(axis=1))
    rows[-1].set_xlabel("t (s)", fontsize=9, color=SOFT)
    figure.legend(
        *rows[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, fontsize=8
    )
    if path is not None:
        save(figure, path)
    return figure


def _colours(count: int) -> list[Any]:
    """A colour for every pair."""
    return [colormaps["tab10"](k % 10) for k in range(count)]


def _cut_impacts(axes: Any, values: np.ndarray) -> None:
    """Leave the peaks of impacts outside, where they would flatten all the rest."""
    usual, most = 3.0 * float(np.percentile(values, ROBUST)), float(values.max(initial=0.0))
    if 0.0 < usual < most:
        axes.set_ylim(-0.03 * usual, usual)
        said = f"impacts up to {most:.3g} N"
        axes.annotate(
            said,
            (1.0, 1.0),
            xycoords="axes fraction",
            ha="right",
            va="bottom",
            fontsize=8,
            color=SOFT,
        )
