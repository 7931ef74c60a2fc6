"""Random robots and states for property tests: every draw is a seed plus a structure.

`any_arm` and `any_mechanism` wear every effect that a model can have, in any company.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

import dynamis as dy
from dynamis.model.friction import LAWS
from dynamis.model.model import Model, Payload
from dynamis.model.pose import pose as as_pose

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


def with_links(robot: dy.Robot, change: Callable, **more) -> dy.Robot:
    """The robot with every link changed by change(link, number)."""
    links = tuple(change(link, i) for i, link in enumerate(robot.model.links))
    return dy.Robot(replace(robot.model, links=links, **more))


def lossless(robot: dy.Robot) -> dy.Robot:
    """The robot with gears that lose no power."""
    return with_links(
        robot, lambda x, i: replace(x, drive=x.drive and replace(x.drive, efficiency=1.0))
    )


# effects: what a model may have beside bodies, friction by velocity and drives


@dataclass(frozen=True)
class Hose:
    """A hose pack: a spring in sin(q), a damper, a bias, and parts that are not linear."""

    stiffness: float = 30.0
    damping: float = 2.0
    bias: float = -1.5
    speed: float = 0.4
    stop: float = 0.6

    def torque(self, q, qd, constants, fn):
        k, d, b = (constants[x] for x in ("stiffness", "damping", "bias"))
        smooth = fn.tanh(qd[-1] / constants["speed"])
        hit = fn.select(q[0] > constants["stop"], q[0] - constants["stop"], 0.0)
        rest = [0.0] * (len(q) - 1)
        first = k * fn.sin(q[0]) + 0.5 * k * q[-1] + d * qd[0] + 7.0 * hit
        if len(q) == 1:
            return [first + b + smooth]
        return [first, *rest[1:], 0.5 * k * q[0] + b + smooth]

    def energy(self, q, constants, fn):
        k, b = constants["stiffness"], constants["bias"]
        hit = fn.select(q[0] > constants["stop"], q[0] - constants["stop"], 0.0)
        both = 0.5 * k * q[0] * q[-1] if len(q) > 1 else 0.25 * k * q[0] * q[0]
        return -k * fn.cos(q[0]) + both + b * q[-1] + 3.5 * hit * hit


def hose_rest(hose, q, qd):
    """What none of its linear constants multiplies, in NumPy."""
    tau = np.zeros(np.shape(q))
    tau[..., 0] = 7.0 * np.maximum(q[..., 0] - hose.stop, 0.0)
    tau[..., -1] += np.tanh(qd[..., -1] / hose.speed)
    return tau


def hose_torque(hose, q, qd):
    """The law of `Hose` in NumPy."""
    tau = hose_rest(hose, q, qd)
    k = hose.stiffness
    tau[..., 0] += k * np.sin(q[..., 0]) + 0.5 * k * q[..., -1] + hose.damping * qd[..., 0]
    tau[..., -1] += hose.bias + (0.5 * k * q[..., 0] if q.shape[-1] > 1 else 0.0)
    return tau


@dataclass(frozen=True)
class Cable:
    """A cable on the first joint that gets stiffer, with a damper."""

    stiffness: float = 4.0
    damping: float = 0.3

    def torque(self, q, qd, constants, fn):
        first = constants["stiffness"] * q[0] ** 3 + constants["damping"] * qd[0]
        return [first, *[0.0] * (len(q) - 1)]

    def energy(self, q, constants, fn):
        return constants["stiffness"] * q[0] ** 4 / 4.0


@dataclass(frozen=True)
class Grease:
    """Dry friction that falls with speed to its kinetic value, and a root of the speed."""

    dry: float = 2.0
    extra: float = 1.0
    root: float = 0.5
    speed: float = 0.3

    def torque(self, qd, direction, constants, fn):
        u = qd / constants["speed"]
        falling = constants["dry"] + constants["extra"] * fn.exp(-u * u)
        return falling * direction + constants["root"] * qd / fn.sqrt(1.0 + u * u)


@dataclass(frozen=True)
class SlowGrease(Grease):
    """`Grease` whose root follows the speed some time later."""

    states = ("film",)

    def torque(self, qd, direction, constants, fn, state):
        still = Grease.torque(self, qd, direction, {**constants, "root": 0.0}, fn)
        return still + constants["root"] * state["film"]

    def rate(self, qd, direction, constants, fn, state):
        return {"film": 40.0 * (self.steady(qd, direction, constants, fn)["film"] - state["film"])}

    def steady(self, qd, direction, constants, fn):
        u = qd / constants["speed"]
        return {"film": qd / fn.sqrt(1.0 + u * u)}


def grease_torque(law, qd):
    """The law of `Grease` in NumPy."""
    u = qd / law.speed
    falling = (law.dry + law.extra * np.exp(-u * u)) * np.sign(qd)
    return falling + law.root * qd / np.sqrt(1.0 + u * u)


GAS = {"force": 300.0, "gas_length": 40.0, "exponent": 1.3, "rest_length": 0.7}


def sprung(robot: dy.Robot, seed: int) -> dy.Robot:
    """The robot with a spring of every kind between links at random."""
    rng = np.random.default_rng(seed)
    links = [robot.model.base_name, *robot.model.link_names]
    joint = str(rng.choice(robot.model.tree_joint_names))
    own = [dy.Spring(kind="torsion", joint=joint, stiffness=30.0, rest_angle=0.4, preload=-2.0)]
    laws = [
        {"stiffness": 400.0, "rest_length": 0.3, "preload": 20.0, "damping": 5.0},
        {"kind": "gas", "law": "pull", **GAS, "damping": 3.0},
        {"kind": "gas", "law": "push", **GAS, "exponent": 1.0},
        {"kind": "gas", "law": "table", "lengths": [0.2, 0.8, 2.0], "forces": [5.0, 60.0, -10.0]},
    ]
    for law in laws:
        a, b = rng.choice(len(links), 2, replace=False)
        points = {"from_point": rng.normal(size=3), "to_point": rng.normal(size=3)}
        own.append(dy.Spring(**{"from": links[a], "to": links[b]}, **points, **law))
    return dy.Robot(replace(robot.model, springs=tuple(own)))


def _springs(robot, rng):
    return sprung(robot, int(rng.integers(2**20)))


def _loads(robot, rng):
    hose = Hose(*rng.uniform((5, 0, -3), (40, 4, 3)), stop=rng.uniform(-0.5, 0.5))
    return robot.with_load(hose)


def _friction(rng, share=0.7, **more):
    """Change of the friction of most joints; `more` are functions of a link."""

    def change(link, i):
        given = {name: value(link) for name, value in more.items()}
        return replace(link, friction=replace(link.friction, **given))

    return lambda link, i: change(link, i) if rng.random() < share else link


def _own_friction(robot, rng):
    def law(link):
        numbers = rng.uniform(0.1, 2.0, 4)
        return (SlowGrease if numbers[0] > 1.0 else Grease)(*numbers)

    return with_links(robot, _friction(rng, law=law, constants=lambda link: {}))


def _by_direction(robot, rng):
    return with_links(robot, _friction(rng, viscous=lambda link: tuple(rng.uniform(0.1, 2.0, 2))))


def _temperature(robot, rng):
    own = {"temperature_slope": lambda link: rng.uniform(-0.012, 0.02),
           "reference_temperature": lambda link: rng.uniform(10.0, 40.0)}  # fmt: skip
    return with_links(robot, _friction(rng, **own))


def _under_load(robot, rng):
    def change(link, i):
        if link.mimic or link.friction.law == "lugre" or (i and rng.random() < 0.3):
            return link
        drive = link.drive and replace(link.drive, efficiency=1.0)
        return replace(link, friction=replace(link.friction, load=rng.uniform(0.05, 0.3)),
                       drive=drive)  # fmt: skip

    return with_links(robot, change)


def _memory(robot, rng):
    def change(link, i):
        if link.friction.law == "lugre" or (i and rng.random() < 0.3):
            return link
        memory = dy.Memory(np.sort(rng.uniform(1e-4, 0.1, 2)), rng.uniform(0.1, 2.0, 2))
        return replace(link, friction=replace(link.friction, memory=memory))

    return with_links(robot, change)


def _mimic(robot, rng):
    """One joint follows another before it."""
    k = int(rng.integers(1, len(robot.model.links))) if robot.n > 1 else 0
    leader = robot.model.links[int(rng.integers(max(k, 1)))].joint_name
    ratio = (leader, rng.choice([-1, 1]) * rng.uniform(0.5, 1.5), 0.2)
    return with_links(robot, lambda x, i: replace(x, mimic=ratio) if k and i == k else x)


def _full_rotors(robot, rng):
    def change(link, i):
        if link.drive is None:
            return link
        own = {"unbalance": tuple(rng.normal(scale=2e-3, size=2))}
        if rng.random() < 0.5:
            own |= {"rotor_axis": rng.normal(size=3), "rotor_position": rng.normal(size=3)}
        return replace(link, drive=replace(link.drive, **own))

    return with_links(robot, change, rotors="full")


def _gear_matrix(robot, rng):
    """Motors that turn with the joints before their own, too."""
    if robot.model.closures:  # whose passive joints have no motors
        return robot
    gears = [x.drive.gear for x in robot.model.links]
    G = np.diag(gears) + np.tril(rng.normal(scale=9.0, size=(len(gears),) * 2), -1)
    return dy.Robot(replace(robot.model, gear_matrix=G.tolist()))


def _massless(robot, rng):
    """A link that weighs nothing, before the last."""
    k = int(rng.integers(max(len(robot.model.links) - 1, 1)))
    light = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": None}
    return with_links(
        robot, lambda x, i: replace(x, **light) if i == k and len(robot.model.links) > 1 else x
    )


EFFECTS: Mapping[str, Callable] = {  # in the order of dressing
    "mimic": _mimic,
    "massless": _massless,
    "no losses": lambda robot, rng: lossless(robot),
    "own friction": _own_friction,
    "by direction": _by_direction,
    "temperature": _temperature,
    "under load": _under_load,
    "memory": _memory,
    "full rotors": _full_rotors,
    "gear matrix": _gear_matrix,
    "springs": _springs,
    "loads": _loads,
}


def dressed(robot: dy.Robot, names, seed: int = 0) -> dy.Robot:
    """The robot with these effects."""
    rng = np.random.default_rng(seed)
    for name in EFFECTS:
        robot = EFFECTS[name](robot, rng) if name in names else robot
    return robot


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


@st.composite
def wearing(draw, bare, effects=tuple(EFFECTS)):
    """Robots of `bare` with any of these effects."""
    worn = draw(st.lists(st.sampled_from(effects), unique=True))
    return dressed(draw(bare), worn, draw(st.integers(0, 2**20)))


def any_arm(longest: int = 5):
    """Any open robot with any effects."""
    return wearing(robots(longest))


def close(a, b, tolerance=1e-11, size=1.0):
    """Assert that two results agree next to the larger of b and `size`."""
    scale = max(np.abs(b).max(initial=0.0), size)
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance * scale


def states(robot, count: int | None = None, seed: int = 0, vectors: int = 3) -> list[np.ndarray]:
    """Random q, qd, qdd (as many `vectors` as asked for)."""
    rng = np.random.default_rng(seed)
    shape = (robot.n,) if count is None else (count, robot.n)
    return [rng.normal(size=shape) for _ in range(vectors)]
