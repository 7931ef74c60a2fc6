"""Bodies that touch a world: free ones and those in a plane, as arms of massless joints."""

import math
from dataclasses import replace

import numpy as np

import dynamis as dy

GRAVITY = 9.81
QUARTER = math.pi / 2


def slide(theta=0.0, alpha=0.0, **body):
    """A sliding joint, massless unless a body is given."""
    return _link("prismatic", theta, alpha, **body)


def hinge(theta=0.0, alpha=0.0, **body):
    """A turning joint."""
    return _link("revolute", theta, alpha, **body)


def _link(joint, angle, alpha, mass=0.0, inertia=(0, 0, 0), com=(0, 0, 0)):
    turned = {"theta": angle} if joint == "prismatic" else {"offset": angle}
    return dy.Link(joint=joint, alpha=alpha, mass=mass, com=com, inertia=inertia, **turned)


def body(*links, geometry, gravity=(0, 0, -GRAVITY)):
    """An arm whose last link is the body: shapes stand upright at q = 0."""
    links = [replace(x, name=f"link{i}") for i, x in enumerate(links, 1)]
    options = {"convention": "standard", "links": links, "gravity": gravity}
    T = dy.Robot.from_dh("body", **options).fk(np.zeros(len(links)))
    upright = tuple(dy.transforms.to_rpy(T[:3, :3].T).tolist())
    shapes = [replace(x, link=links[-1].name, rpy=upright) for x in geometry]
    return dy.Robot.from_dh("body", geometry=shapes, **options)


def moving_point(geometry, mass=1.0, gravity=(0, 0, -GRAVITY)):
    """A body that moves along z, x and y (in that order) and does not turn."""
    return body(
        slide(QUARTER, QUARTER),
        slide(-QUARTER, -QUARTER),
        slide(0.0, 0.0, mass=mass),
        geometry=geometry,
        gravity=gravity,
    )


def free_body(geometry, mass=1.0, inertia=(0.1, 0.1, 0.1), gravity=(0, 0, -GRAVITY)):
    """A body with all six freedoms, coordinates as `moving_point` and then three hinges."""
    return body(
        slide(QUARTER, QUARTER),
        slide(-QUARTER, -QUARTER),
        slide(0.0, 0.0),
        hinge(0.0, QUARTER),
        hinge(QUARTER, QUARTER),
        hinge(0.0, 0.0, mass=mass, inertia=inertia),
        geometry=geometry,
        gravity=gravity,
    )


def tilted(angle):
    """Gravity of an incline: down the x axis by `angle`, and into the plane z = 0."""
    return GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle)


def place_of(robot, q):
    """Position and rotation of the body."""
    T = robot.fk(np.asarray(q, float))
    return T[:3, 3], T[:3, :3]
