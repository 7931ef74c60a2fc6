"""Random robots and states for property tests: every draw is a seed plus a structure."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

import dynamis as dy
from dynamis.model.friction import LAWS
from dynamis.model.model import Model, Payload

KINDS = ("revolute", "prismatic")
RIGHT = (0.0, np.pi / 2, -np.pi / 2, np.pi)


def body(rng) -> dict:
    """A physical body: inertia from a cloud of points, so the triangle inequality holds."""
    mass = rng.uniform(0.2, 5.0)
    points = rng.normal(scale=0.2, size=(6, 3))
    S = mass * np.cov(points.T)
    return {
        "mass": mass,
        "com": rng.normal(scale=0.3, size=3),
        "inertia": np.trace(S) * np.eye(3) - S,
    }


def friction(rng) -> dy.Friction:
    law = rng.choice(sorted(LAWS))
    constants = {"grotjahn": {"ratio": 0.3}}.get(str(law), {})
    return dy.Friction(
        viscous=rng.uniform(0, 1),
        coulomb=(rng.uniform(0, 1), -rng.uniform(0, 1)),
        offset=rng.normal(scale=0.1),
        law=str(law),
        constants=constants,
    )


def drive(rng) -> dy.Drive:
    return dy.Drive(
        gear=rng.choice([-1, 1]) * rng.uniform(1, 100),
        rotor_inertia=rng.uniform(1e-5, 1e-3),
        viscous=rng.uniform(0, 1e-3),
        coulomb=(rng.uniform(0, 0.1), -rng.uniform(0, 0.1)),
        efficiency=rng.uniform(0.5, 1.0),
    )


def angle(rng) -> float:
    return float(rng.choice(RIGHT)) if rng.random() < 0.5 else rng.uniform(-np.pi, np.pi)


def dh_link(rng, kind: str) -> dy.Link:
    place = {"a": rng.normal(scale=0.5), "alpha": angle(rng), "offset": rng.normal()}
    place |= {"d": rng.normal(scale=0.5)} if kind == "revolute" else {"theta": angle(rng)}
    return dy.Link(joint=kind, **place, **body(rng), friction=friction(rng), drive=drive(rng))


def tree_link(rng, kind: str, parent: str | None) -> dy.Link:
    return dy.Link(
        joint=kind,
        parent=parent,
        xyz=rng.normal(scale=0.5, size=3),
        rpy=rng.uniform(-np.pi, np.pi, size=3),
        axis=rng.normal(size=3),
        **body(rng),
        friction=friction(rng),
        drive=drive(rng),
    )


def pose(rng) -> dict:
    return {"xyz": rng.normal(size=3), "rpy": rng.uniform(-1.5, 1.5, size=3)}


def build(convention: str, kinds, seed: int, parents=None, rotors="reflected", load=True):
    """A robot of the given structure with random numbers."""
    rng = np.random.default_rng(seed)
    if convention == "urdf":
        parents = parents or [i - 1 for i in range(len(kinds))]
        names = [None if p < 0 else f"link{p + 1}" for p in parents]
        links = [tree_link(rng, k, p) for k, p in zip(kinds, names, strict=True)]
    else:
        links = [dh_link(rng, k) for k in kinds]
    from dynamis.model.pose import pose as as_pose

    return dy.Robot(
        Model(
            name=f"{convention}-{seed}",
            convention=convention,
            links=tuple(links),
            gravity=tuple(rng.normal(scale=5, size=3)),
            base=as_pose(pose(rng), "base"),
            tool=as_pose(pose(rng), "tool"),
            payload=Payload(**body(rng)) if load else None,
            rotors=rotors,
        )
    )


def lossless(robot: dy.Robot) -> dy.Robot:
    """The robot with gears that lose no power."""
    links = (replace(x, drive=replace(x.drive, efficiency=1.0)) for x in robot.model.links)
    return dy.Robot(replace(robot.model, links=tuple(links)))


@st.composite
def chains(draw, longest: int = 8, rotors: bool = False):
    """Serial robots in either DH convention, revolute and prismatic."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=longest))
    convention = draw(st.sampled_from(["standard", "modified"]))
    full = draw(st.booleans()) if rotors else False
    seed = draw(st.integers(0, 2**31))
    return build(convention, kinds, seed, rotors="full" if full else "reflected")


@st.composite
def trees(draw, longest: int = 8):
    """URDF-like robots of up to three branches."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=longest))
    branches = draw(st.integers(1, 3))
    ends: list[int] = [-1]
    parents = []
    for i in range(len(kinds)):
        fork = len(ends) < branches and draw(st.booleans())
        parent = draw(st.integers(-1, i - 1)) if fork else draw(st.sampled_from(ends))
        if parent in ends and not fork:
            ends[ends.index(parent)] = i
        else:
            ends.append(i)
        parents.append(parent)
    return build("urdf", kinds, draw(st.integers(0, 2**31)), parents)


def robots(longest: int = 8):
    """Any random robot."""
    return st.one_of(chains(longest), trees(longest))


def states(robot, count: int | None = None, seed: int = 0, vectors: int = 3) -> list[np.ndarray]:
    """Random q, qd, qdd (as many `vectors` as asked for)."""
    rng = np.random.default_rng(seed)
    shape = (robot.n,) if count is None else (count, robot.n)
    return [rng.normal(size=shape) for _ in range(vectors)]
