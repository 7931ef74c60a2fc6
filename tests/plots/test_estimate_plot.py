"""Figures of estimates: loops of friction, frequency responses; nothing on top of another."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.identify.friction.models import FRICTIONS
from dynamis.plots import plot_hysteresis, plot_response

from ..identify.test_elastic import counted, moved, two_masses
from ..identify.test_memory import WEIGHTS, hysteretic, recorded
from .test_study_plot import refuse_overlaps

pytestmark = pytest.mark.usefixtures("compiled")
HOW = {"held_out": False, "estimator": "weighted"}


@pytest.fixture(scope="module")
def sticky(compiled):
    true, described = hysteretic()
    model = replace(FRICTIONS["memory"], radii=(*WEIGHTS,))
    return dy.identify(described, recorded(true), friction=model, cutoff=25.0, **HOW)


@pytest.fixture(scope="module")
def soft(compiled):
    arm = two_masses()
    return dy.identify(arm, counted(moved(arm)), elastic="auto", friction="symmetric", **HOW)


def lines(axes):
    return {x.get_label(): x.get_data() for x in axes.get_lines()}


def test_loops_of_every_joint(sticky, tmp_path):
    figure = plot_hysteresis(sticky, path=tmp_path / "loops.png")
    assert (tmp_path / "loops.png").stat().st_size > 10_000
    refuse_overlaps(figure)
    assert len(figure.axes) == 4
    loop = lines(figure.axes[0])
    assert {"measured", "identified model", "static law"} <= {*loop}
    model, static = (np.nanmean(np.abs(loop["measured"][1] - loop[x][1]))
                     for x in ("identified model", "static law"))  # fmt: skip
    assert model < 0.3 * static
    one = sticky.plot_hysteresis("joint2")
    assert len(one.axes) == 2 and one.axes[0].get_title(loc="left") == "joint2"


def test_responses_with_modes_and_coherence(soft, tmp_path):
    figure = plot_response(soft, tmp_path / "response.svg")
    assert (tmp_path / "response.svg").exists()
    refuse_overlaps(figure)
    velocity, _, coherence, _ = figure.axes
    drawn = lines(velocity)
    free = soft.robot.resonances([0.0]).free[0]
    np.testing.assert_allclose(drawn["modes, rotors free"][0], free, rtol=0.01)
    f, size = drawn["identified model"]
    top = f[size.argmax()] if f[size.argmax()] > 10.0 else f[f > 10.0][size[f > 10.0].argmax()]
    assert top == pytest.approx(free, rel=0.05)
    (line,) = coherence.get_lines()
    assert (line.get_ydata() >= 0.0).all() and (line.get_ydata() <= 1.0 + 1e-9).all()
    assert len(soft.plot_response().axes) == 4


def test_what_cannot_be_drawn_is_said(sticky, soft):
    with pytest.raises(OptionError, match="expected 'joint1', 'joint2'"):
        plot_hysteresis(sticky, "joint3")
    with pytest.raises(OptionError, match="no elastic joints"):
        plot_response(sticky)
    t = np.linspace(0.0, 10.0, 2001)
    q = np.stack([0.1 * t, 0.05 * t + 0.02 * t**2], axis=1)
    still = replace(
        sticky, logs=(dy.Log(t=t, q=q, qd=np.gradient(q, t, axis=0), tau=np.ones_like(q)),)
    )
    with pytest.raises(OptionError, match="turn back often"):
        plot_hysteresis(still)
