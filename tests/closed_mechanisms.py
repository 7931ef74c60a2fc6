"""Closed mechanisms for tests: small ones by hand, random ones, and states that close."""

import numpy as np

import dynamis as dy
from dynamis.model import catalogue
from dynamis.model.formats.files import load_model

OPEN_ARMS = tuple(name for name in catalogue.names() if not load_model(name).closures)
CLOSED = tuple(name for name in catalogue.names() if load_model(name).closures)


def bar(name, parent=None, xyz=(0, 0, 0), length=0.4, mass=1.0, axis=(0, 0, 1), **more):
    inertia = (0.002, mass * length**2 / 12, mass * length**2 / 12)
    return dy.Link(
        name=name, parent=parent, xyz=xyz, axis=axis, mass=mass, com=(length / 2, 0, 0),
        inertia=inertia, **more,
    )  # fmt: skip


def made(name, links, closures, gravity=(0, -9.81, 0), **more):
    return dy.Robot.from_dh(
        name, convention="urdf", links=links, closures=closures, gravity=gravity, **more
    )


def five_bar(kind="pin", passive=True, **more):
    """Two driven cranks of 0.3 m, 0.4 m apart, and two coupler bars of 0.4 m."""
    links = [
        bar("a1", length=0.3),
        bar("a2", "a1", (0.3, 0, 0), passive=passive),
        bar("b1", xyz=(0.4, 0, 0), length=0.3),
        bar("b2", "b1", (0.3, 0, 0), passive=passive),
    ]
    ends = ({"xyz": (0.4, 0, 0)}, {"xyz": (0.4, 0, 0)})
    return made("five", links, [dy.Closure(kind=kind, between=("a2", "b2"), frames=ends)], **more)


def four_bar(passive=(False, True, True), **more):
    """Crank 0.1 m, coupler 0.35 m, rocker 0.3 m, ground 0.4 m; one degree of freedom."""
    links = [
        bar("crank", length=0.1, passive=passive[0]),
        bar("coupler", "crank", (0.1, 0, 0), 0.35, passive=passive[1]),
        bar("rocker", xyz=(0.4, 0, 0), length=0.3, passive=passive[2]),
    ]
    ends = ({"xyz": (0.35, 0, 0)}, {"xyz": (0.3, 0, 0)})
    return made(
        "four", links, [dy.Closure(kind="pin", between=("coupler", "rocker"), frames=ends)], **more
    )


def motions(robot, count, seed=0, spread=0.5):
    """q, qd, qdd that close, and the rates of the independent joints, from q the check found."""
    from dynamis.dynamics.mobility import assemblies

    rng = np.random.default_rng(seed)
    starts = [tuple(q) for q in robot.configurations.values()]
    home = np.array(assemblies(robot.chain, starts)[0][0])
    kept = []
    while len(kept) < count:
        tried = home + rng.uniform(-spread, spread, (4 * count, robot.n)) * np.where(
            [kind == "revolute" for kind in robot.joint_kinds], 1.0, 0.1
        )
        for row in tried:
            try:
                q = robot.project(row)
            except dy.errors.ClosureError:
                continue
            J = robot.closure_jacobian(q)[list(robot.chain.mobility.rows)]
            J = J[:, list(robot.chain.mobility.dependent)]
            if np.linalg.cond(J) < 15 and len(kept) < count:
                kept.append(q)
    q = np.array(kept)
    v, a = rng.normal(size=(2, count, robot.dof))
    qd = robot.joint_rates(q, v)
    return q, qd, robot.joint_accelerations(q, qd, a), v, a


def gough(base, platform, home, limits=((-2, 2), (-2, 2), (-2, 2))):
    """A platform on six legs that weigh nothing, at the pose `home` (x, y, z, roll, pitch, yaw)."""
    free = {"passive": True}
    links = []
    for k, axis in enumerate(np.eye(3)):
        parent = links[-1].name if links else None
        own = {"joint": "prismatic", "axis": axis, "limits": limits[k], **free}
        links.append(dy.Link(name=f"slide{k}", parent=parent, **own))
    bounds = (None, (-np.pi / 2, np.pi / 2), None)  # of the pitch: every orientation once
    for k, axis in enumerate(np.eye(3)):
        body = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)} if k == 2 else {}
        own = {"axis": axis, "limits": bounds[k], **free, **body}
        links.append(dy.Link(name=f"turn{k}", parent=links[-1].name, **own))
    swing = (-np.pi / 2, np.pi / 2)
    closures = []
    for i, (a, b) in enumerate(zip(base, platform, strict=True)):
        turning = {"limits": (-np.pi, np.pi), **free}
        links.append(dy.Link(name=f"hinge{i}", xyz=a, axis=(1, 0, 0), **turning))
        own = {"parent": f"hinge{i}", "axis": (0, 1, 0), "limits": swing, **free}
        links.append(dy.Link(name=f"cylinder{i}", **own))
        slide = {"joint": "prismatic", "axis": (0, 0, 1), "limits": (0.0, 5.0)}
        links.append(dy.Link(name=f"piston{i}", parent=f"cylinder{i}", **slide))
        ends = f"piston{i}", "turn2"
        closures.append(dy.Closure(between=ends, frames=(None, {"xyz": b})))
    robot = made("gough", links, closures, tool_link="turn2")
    q = np.concatenate([home, np.ones(18)])
    return made(
        "gough", links, closures, tool_link="turn2", configurations={"home": robot.project(q)}
    )


def planar_3rpr():
    """T. Sauer, Numerical Analysis, Reality Check 1: three telescopic legs and a triangle."""
    L1, L2, L3, gamma, x1, x2, y2 = 3.0, 3.0 * np.sqrt(2.0), 3.0, np.pi / 4, 5.0, 0.0, 6.0
    corners = [(0, 0, 0), (L3, 0, 0), (L2 * np.cos(gamma), L2 * np.sin(gamma), 0)]
    assert np.isclose(np.hypot(*np.subtract(corners[2], corners[1])[:2]), L1)
    anchors = [(0, 0, 0), (x1, 0, 0), (x2, y2, 0)]
    links, closures = [], []
    for i, anchor in enumerate(anchors):
        links.append(bar(f"cylinder{i}", xyz=anchor, passive=True))
        slide = {"joint": "prismatic", "axis": (1, 0, 0), "limits": (0.1, 20.0)}
        links.append(dy.Link(name=f"piston{i}", parent=f"cylinder{i}", mass=1.0, **slide))
        if i:
            ends = (None, {"xyz": corners[i]})
            closures.append(dy.Closure(kind="pin", between=(f"piston{i}", "plate"), frames=ends))
    plate = dy.Link(
        name="plate", parent="piston0", mass=2.0, com=(1, 1, 0), inertia=(1, 1, 2), passive=True
    )
    links.insert(2, plate)
    return made("3-rpr", links, closures, tool_link="plate")
