"""Closed mechanisms for tests: small ones by hand, random ones, and states that close."""

from dataclasses import replace
from functools import cache

import numpy as np
from hypothesis import assume, reject
from hypothesis import strategies as st

import dynamis as dy
from dynamis.errors import ModelError
from dynamis.model import catalogue
from dynamis.model.formats.files import load_model
from dynamis.model.model import Payload
from dynamis.model.pose import Pose

from .random_robots import EFFECTS, body, drive, friction, wearing, with_links

OPEN_ARMS = (  # one of each kind: what compiles every arm takes these
    *("cartesian-xy", "elbow6", "fr3", "kr16", "kr16-p4", "panda", "pendulum3", "planar-2link"),
    *("planar-rp", "planar-rr", "polar-rp", "puma560", "puma560-mdh", "rppr", "scara", "sixr"),
    *("so101", "stanford", "ur10e"),
)
STATES = 5  # of a mechanism that laws are tried at
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


def five_bar(kind="pin", passive=True, size=1.0, ground=0.4, **more):
    """Two driven cranks of 0.3 m, `ground` apart, and two coupler bars of 0.4 m; times `size`."""
    crank, far, ground = 0.3 * size, 0.4 * size, ground * size
    links = [
        bar("a1", length=crank),
        bar("a2", "a1", (crank, 0, 0), far, passive=passive),
        bar("b1", xyz=(ground, 0, 0), length=crank),
        bar("b2", "b1", (crank, 0, 0), far, passive=passive),
    ]
    return made("five", links, [joined(kind, "a2", "b2", far, far)], **more)


def four_bar(passive=(False, True, True), crank=0.1, coupler=0.35, rocker=0.3, name="four", **more):
    """Four bars of these lengths, on a ground of 0.4 m; one degree of freedom."""
    links = [
        bar("crank", length=crank, passive=passive[0]),
        bar("coupler", "crank", (crank, 0, 0), coupler, passive=passive[1]),
        bar("rocker", xyz=(0.4, 0, 0), length=rocker, passive=passive[2]),
    ]
    return made(name, links, [joined("pin", "coupler", "rocker", coupler, rocker)], **more)


def joined(kind, first, second, *lengths):
    """The ends of two bars held together."""
    ends = tuple({"xyz": (length, 0, 0)} for length in lengths)
    return dy.Closure(kind=kind, between=(first, second), frames=ends)


def parallelogram():
    """Crank and rocker of 0.3 m, coupler and ground of 0.4 m; all but the crank passive."""
    home = {"home": (0.9, -0.9, 0.9)}
    return four_bar(crank=0.3, coupler=0.4, name="parallel", configurations=home)


def motions(robot, count, seed=0, spread=0.5):
    """q, qd, qdd that close, and v, a of the independent joints, about an assembly found."""
    from dynamis.dynamics.mobility import assemblies

    starts = [tuple(q) for q in robot.configurations.values()]
    home = np.array(assemblies(robot.chain, starts)[0][0])
    found = states_near(robot, count, seed, spread, 15.0, np.inf, home, 0.1, tries=100)
    assert len(found[0]) == count
    return found


def six_rss(crank=0.1, rod=0.35, base=0.3, platform=0.2):
    """A platform on six rods with ball joints, each moved by a driven crank about a radius."""
    free, links, closures = {"passive": True, "limits": (-1.5, 1.5)}, [], []
    for k, axis in enumerate((*np.eye(3), *np.eye(3))):
        own = {"joint": "prismatic" if k < 3 else "revolute", "parent": f"p{k - 1}" if k else None}
        body = {"mass": 1.5, "inertia": (0.02, 0.02, 0.03)} if k == 5 else {}
        links.append(dy.Link(name=f"p{k}", axis=axis, **own, **body, **free))
    angles = np.radians([(-10, -50), (10, 50), (110, 70), (130, 170), (230, 190), (250, 290)])
    for i, (a, b) in enumerate(angles):
        radius, side = np.array([np.cos(a), np.sin(a), 0]), 1.0 if i % 2 else -1.0
        arm = crank * side * np.array([-np.sin(a), np.cos(a), 0])
        own = {"mass": 0.1, "com": arm / 2, "inertia": (1e-4, 1e-4, 1e-4), "limits": (-1.5, 1.5)}
        links.append(dy.Link(name=f"crank{i}", xyz=base * radius, axis=radius, **own))
        links.append(dy.Link(name=f"hinge{i}", parent=f"crank{i}", xyz=arm, axis=(1, 0, 0), **free))
        own = {"mass": 0.05, "com": (0, 0, rod / 2), "inertia": (5e-4, 5e-4, 1e-6), **free}
        links.append(dy.Link(name=f"rod{i}", parent=f"hinge{i}", axis=(0, 1, 0), **own))
        ends = {"xyz": (0, 0, rod)}, {"xyz": (platform * np.cos(b), platform * np.sin(b), 0)}
        closures.append(dy.Closure(kind="ball", between=(f"rod{i}", "p5"), frames=ends))
    robot = made("6-rss", links, closures, gravity=(0, 0, -9.81), tool_link="p5")
    return robot.with_home(robot.project(0.3 * np.eye(24)[2]))


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


# random ones: trees whose closures are put where a random q has them


def closing(tree, q, kind, between, frame, rng):
    """A closure of this kind between two links, closed at q; `frame` is on the first."""
    ends = tree.frames(q)[[tree.link_names.index(x) + 1 if x else 0 for x in between]]
    A = ends[0] @ frame
    move = np.eye(4)
    length = None
    if kind == "rod":
        move[:3, 3] = rng.uniform(0.2, 0.6, 3)
        length = float(np.linalg.norm(move[:3, 3]))
    elif kind == "slide":
        move[2, 3] = rng.uniform(-0.3, 0.3)
    B = np.linalg.inv(ends[1]) @ A @ move
    return dy.Closure(kind=kind, between=between, frames=(frame, B), length=length)


def random_loops(kinds, parents, closures, seed, planar=False, passive=1.0, extra=None, **more):
    """A tree of these joints whose links `closures` hold: (kind, first, second) by number.

    It closes at its configuration "home". Of the joints that the others decide, a share of
    `passive` has no drive. `extra(rng, links)` changes the links before the loops are closed.
    """
    rng = np.random.default_rng(seed)
    links = []
    for k, (kind, parent) in enumerate(zip(kinds, parents, strict=True)):
        xyz, rpy, axis = (
            rng.normal(scale=0.4, size=3),
            rng.uniform(-1.5, 1.5, 3),
            rng.normal(size=3),
        )
        if planar:
            xyz[2], rpy[:2], axis = 0.0, 0.0, np.array([0.0, 0.0, 1.0])
            if kind == "prismatic":
                axis = np.array([np.cos(k + 0.4), np.sin(k + 0.4), 0.0])
        links.append(
            dy.Link(
                name=f"link{k + 1}", joint=kind, parent=None if parent < 0 else f"link{parent + 1}",
                xyz=xyz, rpy=rpy, axis=axis, **body(rng),
            )
        )  # fmt: skip
    links = extra(rng, links) if extra else links
    tree = made("random", links, [], gravity=tuple(rng.normal(scale=5, size=3)), **more)
    q = rng.uniform(-1.0, 1.0, tree.n) * np.where(
        [kind == "revolute" for kind in tree.joint_kinds], 1.5, 0.3
    )
    held = []
    for kind, first, second in closures:
        frame = np.eye(4)
        frame[:3, 3] = rng.normal(scale=0.2, size=3)
        if planar and kind == "slide":  # along x of the plane
            frame[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
        elif not planar:
            frame[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            frame[:3, 0] *= np.linalg.det(frame[:3, :3])
        names = tuple(None if k < 0 else f"link{k + 1}" for k in (first, second))
        held.append(closing(tree, q, kind, names, frame, rng))
    model = replace(tree.model, closures=tuple(held), configurations={"home": tuple(q)})
    robot = dy.Robot(model)
    free = [str(robot.joint_names[k]) for k in robot.chain.mobility.dependent]
    free = [name for name in free if rng.random() < passive]
    return dy.Robot(replace(model, links=tuple(_undriven(link, free) for link in model.links)))


def _undriven(link, free):
    if link.joint_name not in free or link.mimic:
        return link
    return replace(link, passive=True, drive=None)


KINDS = ("ball", "universal", "pin", "weld", "slide", "rod")
PLANAR = {"ball": 2, "universal": 3, "pin": 2, "weld": 3, "slide": 2, "rod": 1}  # rows that count
SPATIAL = {"ball": 3, "universal": 4, "pin": 5, "weld": 6, "slide": 5, "rod": 1}


@st.composite
def loops(draw, longest=7, most=6, **more):
    """Random mechanisms with one or two closures and at least one degree of freedom.

    Of the conditions at most `most` count in each closure.
    """
    planar = draw(st.booleans())
    sizes = PLANAR if planar else SPATIAL
    kinds = [kind for kind in KINDS if sizes[kind] <= most]
    chosen = [draw(st.sampled_from(kinds))]
    chosen += draw(st.lists(st.sampled_from(kinds), max_size=int(planar)))
    rows = sum(sizes[x] for x in chosen)
    n = draw(st.integers(rows + 1, max(rows + 2, longest)))
    joints = draw(st.lists(st.sampled_from(("revolute",) * 3 + ("prismatic",)), min_size=n,
                           max_size=n))  # fmt: skip
    split = draw(st.integers(1, n - 1)) if n > 2 else n
    parents = [k - 1 if k != split else -1 for k in range(n)]
    ends = (split - 1, n - 1) if n > 2 else (n - 1, -1)
    closures = [(chosen[0], *ends)]
    if len(chosen) > 1:  # from the base to a link inside
        closures.append((chosen[1], -1, draw(st.integers(0, n - 1))))
    seed, share = draw(st.integers(0, 2**31)), draw(st.sampled_from((1.0, 1.0, 0.5)))
    try:
        return random_loops(joints, parents, closures, seed, planar, share, **more)
    except ModelError as error:
        assume("degrees of freedom" not in str(error))
        raise


def states_near(
    robot, count, seed=0, spread=0.3, condition=30.0, most=10.0, home=None, slide=0.2, tries=4
):
    """q, qd, qdd that close, near "home" or another q, and v, a of the independent joints.

    q whose loops are worse conditioned, or where a joint follows by `most` times the rates of those
    that decide, are left out.
    """
    rng, kept = np.random.default_rng(seed), []
    first = home is None  # "home" itself
    home = robot.configurations["home"] if first else home
    found = robot.chain.mobility
    counting = np.ix_(found.rows, found.dependent)
    scale = np.where([kind == "revolute" for kind in robot.joint_kinds], 1.0, slide) * spread
    for k in range(tries * count):
        if len(kept) == count:
            break
        try:
            q = robot.project(home + scale * rng.uniform(-1, 1, robot.n) * (k > 0 or not first))
        except dy.errors.ClosureError:
            continue
        if np.linalg.cond(robot.closure_jacobian(q)[counting]) > condition:
            continue
        if np.abs(robot.joint_rates(np.tile(q, (robot.dof, 1)), np.eye(robot.dof))).max() < most:
            kept.append(q)
    q = np.array(kept).reshape(-1, robot.n)
    v, a = rng.normal(size=(2, len(q), robot.dof))
    qd = robot.joint_rates(q, v)
    return q, qd, robot.joint_accelerations(q, qd, a), v, a


R, P = "revolute", "prismatic"
MECHANISMS = {
    "five-bar": five_bar,
    "five-bar, ball": lambda: five_bar("ball"),
    "five-bar, four drives": lambda: five_bar(passive=False),
    "four-bar": four_bar,
    "four-bar, rocker driven": lambda: four_bar(passive=(True, True, False)),
    "plane": lambda: random_loops([R, P, R, R], [-1, 0, -1, 2], [("pin", 1, 3)], 11, True),
    "mimic": lambda: random_loops([R] * 5, [-1, 0, 1, -1, 3], [("ball", 2, 4)], 1, extra=tied),
}


def tied(rng, links):
    """The second link mimics the first."""
    return [links[0], replace(links[1], mimic=("joint1", -0.7, 0.2)), *links[2:]]


def equipped(robot, name, seed=0):
    """The mechanism with friction in every joint, motors with losses, a tool and a payload."""
    rng = np.random.default_rng(seed)

    def change(link, i):
        own = None if link.passive else drive(rng)
        return replace(link, friction=friction(rng), drive=own)

    base, tool = Pose((0.3, -0.2, 0.7), (0.4, 0.2, -1.0)), Pose((0.1, 0.2, 0.3))
    more = {"base": base, "tool": tool, "payload": Payload(**body(rng))}
    return with_links(robot, change, name=name, **more)


@cache
def mechanism(name):
    """One of these, equipped."""
    return equipped(MECHANISMS[name](), name, len(name))


@cache
def _motion(name):
    return motions(mechanism(name), STATES)


def motion(robot):
    """q, qd, qdd, v, a of a mechanism; one of these has the same whatever its effects."""
    if robot.name in MECHANISMS:
        return _motion(robot.name)
    found = states_near(robot, STATES, condition=300.0)
    return found if len(found[0]) else reject()


WORN_BY_MECHANISMS = tuple(x for x in EFFECTS if x not in ("mimic", "gear matrix", "no losses"))


def any_mechanism():
    """A small closed mechanism with any effects."""
    return wearing(st.sampled_from([*MECHANISMS]).map(mechanism), WORN_BY_MECHANISMS)
