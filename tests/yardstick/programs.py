"""Digests of the programs of many arms, plants and controllers: whether a change alters any text.

python -m tests.yardstick.compare OLD --only 'programs/*'

A case is one robot; its arrays are the digest and the number of operations of every program, or
the name of the error where there is none. Programs have no public name for simulations and
parameters, so internal names are used here: a commit that renames them renames them here, for old
and new.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

import dynamis as dy
from dynamis.compile.kernels import KERNELS
from dynamis.compile.program import Program
from dynamis.compile.programs import program
from tests.closed_mechanisms import five_bar, four_bar, parallelogram
from tests.random_robots import Grease, Hose

Digests = dict[str, np.ndarray]


GAS = {"force": 300.0, "gas_length": 40.0, "exponent": 1.3, "rest_length": 0.7}
SPRINGS = (
    {"stiffness": 400.0, "rest_length": 0.3, "preload": 20.0, "damping": 5.0},
    {"kind": "gas", "law": "pull", **GAS, "damping": 3.0},
    {"kind": "gas", "law": "push", **GAS, "exponent": 1.0},
    {"kind": "gas", "law": "table", "lengths": [0.2, 0.8, 2.0], "forces": [5.0, 60.0, -10.0]},
)
WARM = {
    "temperature_slope": -0.01, "reference_temperature": 25.0, "heating": (0.2, 0.3),
    "heating_time": (60.0, 600.0),
}  # fmt: skip
GEARS = ((100.0, 0, 0), (25.0, -50.0, 0), (0.0, 8.0, 30.0))


def sprung(robot: dy.Robot) -> dy.Robot:
    """The robot with a spring of every kind."""
    rng = np.random.default_rng(3)
    links = [robot.model.base_name, *robot.model.link_names]
    joint = str(rng.choice(robot.model.tree_joint_names))
    own = [dy.Spring(kind="torsion", joint=joint, stiffness=30.0, rest_angle=0.4, preload=-2.0)]
    for law in SPRINGS:
        a, b = rng.choice(len(links), 2, replace=False)
        points = {"from_point": rng.normal(size=3), "to_point": rng.normal(size=3)}
        own.append(dy.Spring(**{"from": links[a], "to": links[b]}, **points, **law))
    return dy.Robot(replace(robot.model, springs=tuple(own)))


def rubbing(robot: dy.Robot, load: float = 0.0, **friction) -> dy.Robot:
    """The robot with the same friction in every joint; none under load where no drive is."""
    links = tuple(
        replace(x, friction=dy.Friction(load=0.0 if x.passive else load, **friction))
        for x in robot.model.links
    )
    return dy.Robot(replace(robot.model, links=links))


def three_links(efficiency: float = 1.0) -> dy.Robot:
    """Three links out of plane, each with friction of another law and a drive."""
    rng = np.random.default_rng(7)
    links = [
        dy.Link(
            joint="revolute", a=0.3 + 0.1 * i, alpha=(0.0, np.pi / 2, 0.3)[i], d=0.05,
            mass=2.0 - 0.3 * i, com=tuple(rng.normal(scale=0.1, size=3)),
            inertia=(0.02, 0.03, 0.025),
            friction=dy.Friction(viscous=0.3, coulomb=(0.8, -0.7), offset=0.05, law=law),
            drive=dy.Drive(
                gear=(100, -50, 30)[i], rotor_inertia=1e-4, viscous=1e-4, coulomb=(0.01, -0.01),
                efficiency=efficiency if i == 0 else 1.0, unbalance=(1e-3 * (i == 2), 0.0),
            ),
        )
        for i, law in enumerate(("coulomb", "stribeck", "lugre"))
    ]  # fmt: skip
    return dy.Robot.from_dh("p3", convention="standard", links=links, gravity=(0, -9.81, 0))


def open_arms() -> dict[str, Callable[[], dy.Robot]]:
    """One open arm of every effect, and all effects at once."""
    p3 = three_links()
    first, second, third = p3.model.links
    tied = replace(
        third, mimic=("joint1", -1.5, 0.2), friction=dy.Friction(viscous=0.2, coulomb=0.3)
    )
    mimic = dy.Robot(replace(p3.model, links=(first, second, tied)))
    names = ("planar-2link", "scara", "rppr", "puma560", "ur10e", "panda")
    coupled = rubbing(p3, viscous=0.3, coulomb=0.5).model
    every = rubbing(p3, viscous=(0.3, 0.5), coulomb=0.4, load=0.1)
    return {name: partial(dy.load, name) for name in names} | {
        "p3": lambda: p3,
        "p3-eta": partial(three_links, efficiency=0.8),
        "mimic": lambda: mimic,
        "gears": lambda: dy.Robot(replace(coupled, gear_matrix=GEARS)),
        "full": lambda: dy.Robot(replace(p3.model, rotors="full")),
        "sprung": lambda: sprung(p3),
        "sprung-mimic": lambda: sprung(mimic),
        "sprung-puma": lambda: sprung(dy.load("puma560")),
        "load": lambda: p3.with_load(Hose()),
        "load-puma": lambda: dy.load("puma560").with_load(Hose()),
        "own-friction": lambda: rubbing(p3, viscous=0.1, law=Grease()),
        "sided": lambda: rubbing(p3, viscous=(0.3, 0.6), coulomb=0.4),
        "rub": lambda: rubbing(p3, viscous=0.3, coulomb=0.4, load=0.1),
        "warm": lambda: rubbing(p3, viscous=0.3, coulomb=0.4, **WARM),
        "all": lambda: sprung(every).with_load(Hose()),
    }


def closed_arms() -> dict[str, Callable[[], dy.Robot]]:
    """Closed mechanisms, plain and with springs, loads and friction under load."""
    names = ("five-bar", "delta", "3-rps", "palletizer")
    return {name: partial(dy.load, name) for name in names} | {
        "four": four_bar,
        "parallelogram": parallelogram,
        "five-redundant": partial(five_bar, passive=False),
        "five-sprung": lambda: sprung(five_bar()),
        "five-load": lambda: five_bar().with_load(Hose()),
        "five-rub": lambda: rubbing(five_bar(), viscous=0.3, coulomb=0.2, load=0.1),
    }


# programs

LAWS: dict[str, Callable[[dy.Robot], object]] = {
    "slotine-li": lambda robot: dy.control.SlotineLi.from_bandwidth(robot, 20.0, 1.0),
    "computed-torque": lambda robot: dy.control.ComputedTorque.from_bandwidth(robot, 20.0),
    "feed-forward": lambda robot: dy.control.FeedForward.from_bandwidth(robot, 20.0),
    "joint-pid": lambda robot: dy.control.JointPID.from_bandwidth(robot, 20.0),
}


def digest(make: Callable[[], Program]) -> np.ndarray:
    """Digest and length of a program, or the error that there is none, as bytes."""
    try:
        found = make()
        text = f"{hashlib.sha256(found.text.encode()).hexdigest()[:16]} {found.length} operations"
    except (dy.errors.DynamisError, ValueError) as error:
        text = f"{type(error).__name__}: {error}"
    return np.frombuffer(text.encode(), np.uint8)


def kernel_programs(make: Callable[[], dy.Robot], parameters: tuple[bool, ...]) -> Digests:
    """Every kernel of a robot, with parameters inlined and as an argument."""
    robot = make()
    model, found = robot.model, {}
    rows = {row.name: row for given in KERNELS.values() for row in given.rows()}
    for name, row in rows.items():
        if not row.serves(bool(model.closures)) or row.by_columns(model) is not None:
            continue
        for argument in parameters:
            label = f"{name}{' of parameters' if argument else ''}"
            found[label] = digest(partial(program, row, model, argument))
    return found


def simulation_programs(make: Callable[[], dy.Robot]) -> Digests:
    """The step of the plant and of laws that compute with the model."""
    robot = make()
    stops = all(x.limits is not None for x in robot.model.links)
    plant = dy.Simulator(robot, dt=1e-3, stops=stops).assembly.plant_task
    found = {"plant": digest(plant.program)}
    for name, law in LAWS.items() if not robot.model.closures else ():
        found[name] = digest(partial(law_program, robot, law))
    return found


def law_program(robot: dy.Robot, law: Callable) -> Program:
    """The step of the control computer."""
    given = {"controller": law(robot), "reference": robot.home}
    return dy.Simulator(robot, dt=1e-3, **given).assembly.computer_task.program()


def programs() -> Iterator[tuple[str, Callable[[], Digests]]]:
    """Every case by name."""
    for name, make in open_arms().items():
        yield f"kernels of {name}", partial(kernel_programs, make, (False, True))
        yield f"simulations of {name}", partial(simulation_programs, make)
    for name, make in closed_arms().items():
        yield f"kernels of {name}", partial(kernel_programs, make, (False,))
        yield f"simulations of {name}", partial(simulation_programs, make)
