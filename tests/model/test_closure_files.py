"""Closures in TOML and URDF files, and in other DH conventions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy
from dynamis.bench.closed import loop_chain
from dynamis.errors import DynamisError, DynamisWarning

from ..closed_mechanisms import five_bar, motions, random_loops, states_near

R, P = "revolute", "prismatic"


@pytest.mark.parametrize("suffix", ["toml", "urdf"])
@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
def test_closures_come_back(tmp_path, suffix):
    robots = [five_bar(), loop_chain(2)]
    robots.append(random_loops([R, P, R, R, R], range(-1, 4), [("ball", -1, 4), ("rod", -1, 3)], 2))
    for k, robot in enumerate(robots):
        path = tmp_path / f"arm{k}.{suffix}"
        robot.save(path)
        back = dy.load(path)
        assert back.model.closures == robot.model.closures
        assert [x.passive for x in back.model.links] == [x.passive for x in robot.model.links]
        home = "home" in robot.configurations
        q, qd, *_ = states_near(robot, 2, condition=300.0) if home else motions(robot, 2)
        found = back.forward_dynamics(q, qd, q)
        np.testing.assert_allclose(found, robot.forward_dynamics(q, qd, q), rtol=1e-12, atol=1e-9)


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
def test_urdf_keeps_names_lengths_and_limits(tmp_path):
    from dynamis.model.formats.urdf import model_from_urdf, urdf_text

    model = tied_five_bar()
    back = model_from_urdf(urdf_text(model).encode(), "text")
    for name in ("closures", "closure_tolerance", "closure_condition", "closure_nan", "values"):
        assert getattr(back, name) == getattr(model, name), name


def tied_five_bar():
    robot = five_bar()
    rod = dy.Closure(kind="rod", name="a rod, long", between=(None, "b2"), length="2*reach")
    loose = replace(robot.model.closures[0], name="<pin>")
    limits = {"closure_tolerance": 1e-5, "closure_condition": 1e4, "closure_nan": True}
    return replace(robot.model, closures=(loose, rod), values={"reach": 0.2}, **limits)


def test_what_only_the_extension_holds_is_said(tmp_path):
    with pytest.warns(DynamisWarning, match="closures.*which joints have no drive"):
        five_bar().save(tmp_path / "arm.urdf")


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning:dynamis.robot")
def test_edited_placements_drop_closures_and_say_so(tmp_path):
    path = tmp_path / "arm.urdf"
    with pytest.warns(DynamisWarning):
        five_bar().save(path)
    text = path.read_text()
    path.write_text(text.replace('xyz="0.4 0.0 0.0"', 'xyz="0.5 0.0 0.0"', 1))
    assert path.read_text() != text
    with pytest.warns(DynamisWarning, match=r"closures \(they are dropped\)"):
        robot = dy.load(path)
    assert not robot.model.closures and robot.active == [0, 1, 2, 3]


@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
def test_tip_and_lock(tmp_path):
    path = tmp_path / "arm.urdf"
    robot = five_bar()
    robot.save(path)
    moved = dy.load(path, tip="a2")
    assert (moved.model.closures, moved.dof, moved.model.tool_name) == (
        robot.model.closures, 2, "a2",
    )  # fmt: skip
    with pytest.raises(DynamisError, match="lock was given, but the robot has closures"):
        dy.load(path, lock={"joint1": 0.3})


WRONG = (
    "<closure/>",
    '<closure kind="glue"/>',
    '<closure kind="pin"><frame link="rocker"/></closure>',
    '<closure kind="pin"><frame link="rocker" colour="1"/><frame link="coupler"/></closure>',
)


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_elements_are_refused(tmp_path, wrong):
    """In a file of version 0.2; later ones have TOML."""
    path = tmp_path / "arm.urdf"
    text = (Path(__file__).parent / "urdf_0_2" / "closure-keys.urdf").read_text()
    start, end = text.index("<closure"), text.index("</closure>") + len("</closure>")
    path.write_text(text[:start] + wrong + text[end:])
    with pytest.raises(DynamisError):
        dy.load(path)


def test_dh_conventions_carry_closures_over():
    """A slide whose closure ties the tip of a chain to the base."""
    chain = random_loops([R, P, R, R], range(-1, 3), [("ball", 3, -1)], 2)
    q, qd, *_ = states_near(chain, 3, condition=300.0)
    for convention in ("standard", "modified"):
        dh = chain.to_dh(convention)
        assert dh.model.convention == convention and dh.dof == chain.dof
        np.testing.assert_allclose(dh.closure_error(q), chain.closure_error(q), atol=1e-10)
        found, expected = (x.forward_dynamics(q, qd, q) for x in (dh, chain))
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(DynamisError, match="is a tree"):
        five_bar().to_dh("standard")
