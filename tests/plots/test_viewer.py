"""The moving arm of a page: its triangles are where the arm is, for every kind of arm."""

import base64
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

import dynamis as dy
from dynamis.plots.solid import solid
from dynamis.plots.viewer import moving_arm, scene


def unpacked(given):
    scale, text = given
    return scale * np.frombuffer(base64.b64decode(text), "<i2").astype(float)


@pytest.mark.parametrize("name", ["planar-rr", "scara", "five-bar"])
def test_triangles_are_where_the_arm_is(name):
    robot = dy.load(name)
    start = robot.home if robot.model.closures else np.full(robot.n, 0.3)
    q = np.stack([start, start])
    if not robot.model.closures:
        q[1] += 0.2
    shape = solid(robot)
    expected = shape.corners(shape.transforms(robot.frames(q)))
    made = scene(robot, robot.frames(q))
    moves = [unpacked(move).reshape(2, 3, 4) for move in made["moves"]]
    parts = made["parts"][: len(shape.parts)]
    found = np.concatenate(
        [
            unpacked(p["v"]).reshape(-1, 3) @ np.swapaxes(moves[p["move"]][..., :3], 1, 2)
            + moves[p["move"]][:, None, :, 3]
            for p in parts
        ],
        axis=1,
    )
    assert found == pytest.approx(expected, abs=2e-4 * shape.reach)
    for p, own in zip(parts, shape.parts, strict=True):
        faces = np.frombuffer(base64.b64decode(p["f"]), "<u2").reshape(-1, 3)
        assert (faces == own.faces).all()
    floor = np.array(made["foot"]) @ shape.up
    assert floor <= (expected @ shape.up).min()
    outline = unpacked(made["outline"]).reshape(-1, 3)
    assert outline.max(axis=0) == pytest.approx(expected.max(axis=(0, 1)), abs=0.05 * shape.reach)


def test_the_elements_of_a_page_hold_data_only():
    robot = dy.load("planar-rr")
    t = np.linspace(0.0, 2.0, 2001)
    run = SimpleNamespace(robot=robot, t=t, q=np.stack([t, -t], axis=1))
    text = moving_arm(run, '"><script>alert(1)</script>')
    assert "<script>alert" not in text and "&quot;&gt;&lt;script&gt;" in text
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', text)
    found = json.loads(data)
    assert found["seconds"] == 2.0
    trail = unpacked(found["trail"]).reshape(-1, 3)
    assert trail[-1] == pytest.approx(robot.fk(run.q[-1])[:3, 3], abs=1e-4)
    assert len(unpacked(found["moves"][0])) == 41 * 12  # 20 a second
