"""The parameter vector: every number the torque is linear in, by name.

Ten per link in the user's frame about its origin (Pinocchio's order), then five per joint, then
what coupled motors, spinning rotors, viscous friction by direction, friction with memory, springs,
loads and friction laws of one's own add.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, TypeVar

from ..errors import ModelError, OptionError, counted, did_you_mean, shown
from ..lazy import once
from ..spatial.inertia import NAMES
from ..tables import MOST, html_table, rest, text_table
from .chain import Chain, Motor, chain, joint_friction
from .drive import Drive
from .link import Link
from .memory import parameter_name
from .model import FORCES, Model
from .places import JOINT_NAMES, MEMORY, TAKEN, UNBALANCE, Place, full_name, places, value

KINDS = {NAMES: "link", JOINT_NAMES: "joint"}  # whose parameters these are


V = TypeVar("V")  # array of the values


@dataclass(frozen=True)
class Parameters(Generic[V]):
    """Names and values, in the order of the regressor's columns.

    A parameter is called OWNER.NAME, such as link2.Izz or joint1.coulomb+. Where one is asked for,
    the names in formulas (Izz2, coulomb_plus1, Khalil's ZZ2) are understood too.
    """

    names: tuple[str, ...]
    values: V

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int:
        """Position of a parameter."""
        return parameter_index(self.names, name)

    def __getitem__(self, name: str) -> float:
        """Value of a parameter."""
        values: Any = self.values
        return values[self.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __repr__(self) -> str:
        such = f", named such as {self.names[0]!r}" if self.names else ""
        parts = [f"Parameters({len(self)} values{such})"]
        for rows in self._tables():
            parts += [
                text_table(rows[: MOST + 1], right=len(rows[0]) - 1, rule=False),
                *rest(len(rows) - 1),
            ]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        return "".join(map(html_table, self._tables()))

    def _tables(self) -> Iterator[list[tuple[str, ...]]]:
        """Links and joints in rows, their parameters in columns."""
        every: Any = self.values
        values = iter(every)
        for block in blocks(self.names):
            head = (KINDS.get(block.parameters, "of"), *block.parameters)
            cells = ([f"{next(values):.5g}" for _ in block.parameters] for _ in block.owners)
            yield [head, *((x, *row) for x, row in zip(block.owners, cells, strict=True))]


class ParameterBlock(NamedTuple):
    """Owners in a row that have the same parameters."""

    parameters: tuple[str, ...]
    owners: tuple[str, ...]


def blocks(names: Sequence[str]) -> list[ParameterBlock]:
    """The parameter vector as blocks: ten of every link, five of every joint, and what follows."""
    each: list[tuple[str, list[str]]] = []
    for owner, _, name in (x.rpartition(".") for x in names):
        if not each or each[-1][0] != owner or tuple(each[-1][1]) in KINDS:
            each.append((owner, []))
        each[-1][1].append(name)
    found: list[ParameterBlock] = []
    for owner, own in each:
        if found and found[-1].parameters == tuple(own):
            found[-1] = found[-1]._replace(owners=(*found[-1].owners, owner))
        else:
            found.append(ParameterBlock(tuple(own), (owner,)))
    return found


# parameters as people write them in a formula: Izz1 (Izz[forearm] of a link of that name), Khalil's
# ZZ1, and LaTeX

FORMULAS: Mapping[str, tuple[str, str]] = {  # Khalil's notation, LaTeX (# is the index)
    "m": ("M", "m_{#}"),
    "mcx": ("MX", "mc_{x,#}"),
    "mcy": ("MY", "mc_{y,#}"),
    "mcz": ("MZ", "mc_{z,#}"),
    "Ixx": ("XX", "I_{xx,#}"),
    "Ixy": ("XY", "I_{xy,#}"),
    "Iyy": ("YY", "I_{yy,#}"),
    "Ixz": ("XZ", "I_{xz,#}"),
    "Iyz": ("YZ", "I_{yz,#}"),
    "Izz": ("ZZ", "I_{zz,#}"),
    "rotor_inertia": ("IA", "J_{a,#}"),
    "viscous": ("FV", "F_{v,#}"),
    "viscous-": ("FV_minus", "F_{v,#}^{-}"),
    **{name: (f"{name}_", rf"w_{{{k + 1},#}}") for k, name in enumerate(MEMORY)},
    "coulomb+": ("FS_plus", "F_{c,#}^{+}"),
    "coulomb-": ("FS_minus", "F_{c,#}^{-}"),
    "offset": ("OFF", r"\tau_{0,#}"),
    "motor_viscous": ("FVM", "F_{vm,#}"),
    "motor_coulomb+": ("FSM_plus", "F_{cm,#}^{+}"),
    "motor_coulomb-": ("FSM_minus", "F_{cm,#}^{-}"),
    "unbalance_x": ("UX", "u_{x,#}"),
    "unbalance_y": ("UY", "u_{y,#}"),
    "stiffness": ("K", "k_{#}"),
    "preload": ("F0", "F_{0,#}"),
    "damping": ("D", "d_{#}"),
    "force": ("FG", "F_{g,#}"),
}
OTHER_NAMES = {"m": "mass"}  # what files call them


def labels(names: Sequence[str], style: str) -> list[str]:
    """Every parameter as formulas have it, in a style: "plain", "khalil" or "latex"."""
    numbers: dict[str, str] = {}
    for parameters, owners in blocks(names):
        word = KINDS.get(parameters, "")
        if word and owners == tuple(f"{word}{i + 1}" for i in range(len(owners))):
            numbers |= {owner: owner.removeprefix(word) for owner in owners}
    return [_label(name, style, numbers) for name in names]


def _label(full: str, style: str, numbers: Mapping[str, str]) -> str:
    owner, _, name = full.rpartition(".")
    khalil, latex = FORMULAS.get(name, (name, name))
    number = numbers.get(owner, "")
    if style == "latex":
        word = owner.replace("_", r"\_")
        return latex.replace("#", number or rf"\mathrm{{{word}}}")
    form = khalil if style == "khalil" else _word(name)
    form = f"{form}_" if number and form[-1].isdigit() else form  # memory1_2
    return f"{form}{number}" if number else f"{form}[{owner}]"


def _word(name: str) -> str:
    """coulomb_plus of coulomb+"""
    return name.replace("+", "_plus").replace("-", "_minus")


def parameter_index(names: Sequence[str], given: Any) -> int:
    """Position of a parameter, by its name or by one that formulas have for it."""
    if isinstance(given, str):
        if given in names:
            return names.index(given)
        found = [k for k, known in enumerate(_other_names(names)) if given in known]
        if len(found) == 1:
            return found[0]
    raise OptionError(f"there is no parameter {shown(given)}", did_you_mean(given, names))


def _other_names(names: Sequence[str]) -> list[set[str]]:
    """What else every parameter may be called: Izz1, ZZ1, joint1.coulomb_plus, link1.mass."""
    found = [{*pair} for pair in zip(labels(names, "plain"), labels(names, "khalil"), strict=True)]
    for known, full in zip(found, names, strict=True):
        owner, _, name = full.rpartition(".")
        known |= {f"{owner}.{_word(name)}", f"{owner}.{OTHER_NAMES.get(name, name)}"}
    return found


def parameter_names(model: Model) -> tuple[str, ...]:
    """Names of every parameter of a model."""
    return once(model, "parameter_names", lambda: _names(model))


def _names(model: Model) -> tuple[str, ...]:
    refuse_sliding(model)
    return tuple(full_name(place, model) for place in parameter_places(model))


def parameter_places(model: Model) -> tuple[Place, ...]:
    """Where the chain holds every parameter of a model."""
    return once(model, "parameter_places", lambda: tuple(places(chain_of(model))))


def coulomb_pairs(model: Model) -> list[tuple[int, int]]:
    """Positions of Coulomb friction of moving positive and negative, joint by joint."""
    found = {place: k for k, place in enumerate(parameter_places(model))}
    return [(k, found[p._replace(field="minus")]) for p, k in found.items() if p.field == "plus"]


def refuse_taken(model: Model) -> None:
    """A friction law's constant may not be called like a parameter its joint has already."""
    for link in model.links:
        taken = TAKEN & {*link.friction.linear}
        if link.friction.own is not None and taken:
            word = min(taken)
            raise ModelError(
                f"friction law {link.friction.own.name!r} has a constant {word!r}, but "
                f"{link.joint_name}.{word} is a parameter of every robot",
                "rename the constant; viscous, coulomb and offset can be given beside the law",
            )


def chain_of(model: Model, parameters: Sequence[float] | None = None) -> Chain:
    """The chain with every symbol that has no value set to 1: good for structure only.

    `parameters` replace every linear parameter, as in `chain`.
    """
    values = dict.fromkeys(model.symbols, 1.0) | dict(model.values)
    return chain(model, values, parameters=parameters)


def parameter_values(model: Model, c: Chain) -> list[Any]:
    """Values of every parameter, over the chain's scalars."""
    refuse_sliding(model)
    return [value(c, place) for place in places(c)]


def refuse_sliding(model: Model) -> None:
    """A centre of mass that moves in its link is no constant: there is nothing linear to name."""
    for link in model.links:
        if link.slides:
            raise ModelError(
                f"link {link.name!r} has com_factor on a prismatic joint: its centre of mass moves "
                "with q, so it has no constant parameters and no regressor",
                "give the link a constant com, or use robot.with_constant_com(q)",
            )


def with_parameters(model: Model, values: Sequence[float]) -> Model:
    """The model with these parameters; a payload is absorbed by the link that carries it.

    Of a joint's friction its motor keeps the share it had.
    """
    names = parameter_names(model)
    values = [float(x) for x in values]
    if len(values) != len(names):
        raise ModelError(f"got {counted(len(values), 'parameter')}, expected {len(names)}")
    p = dict(zip(names, values, strict=True))
    c = chain_of(model, values)
    links = []
    for link, motor, total in zip(model.links, c.motors, c.resistances, strict=True):
        own = [p[f"{link.name}.{name}"] for name in NAMES]
        drive = link.drive
        if drive is None and motor.inertia != 0.0:
            drive = Drive()
        if drive is not None:
            drive = replace(drive, **_drive_changes(link, motor, p))
        rubs = joint_friction(total, motor)
        sided = rubs.viscous_minus is not None
        friction = replace(
            link.friction,
            viscous=(rubs.viscous, rubs.viscous_minus) if sided else rubs.viscous,
            coulomb=(rubs.plus, rubs.minus),
            offset=rubs.offset,
        )
        if friction.memory is not None:
            weights = [parameter_name(k) for k in range(len(friction.memory))]
            weights = [p[f"{link.joint_name}.{name}"] for name in weights]
            friction = replace(friction, memory=replace(friction.memory, weights=weights))
        if friction.own is not None:
            constants = {x: p[f"{link.joint_name}.{x}"] for x in friction.linear}
            friction = replace(friction, law=friction.own.with_constants(constants))
        body = {"mass": 0.0, "com": None, "com_factor": None, "inertia": None, "linear": own}
        links.append(replace(link, **body, friction=friction, drive=drive))
    forces = {
        name: tuple(
            replace(force, **{x: p[f"{force.name}.{x}"] for x in force.coefficients})
            for force in getattr(model, name)
        )
        for name in FORCES
    }
    loads = tuple(
        law.with_constants({x: p[f"{law.name}.{x}"] for x in law.linear}) for law in model.loads
    )
    return replace(model, payload=None, links=tuple(links), loads=loads, **forces)


def _drive_changes(link: Link, motor: Motor, p: Mapping[str, float]) -> dict[str, Any]:
    """Changed fields of a drive: rotor, friction of the motor and unbalance, on its own side."""
    G = motor.gear
    if G == 0.0 and motor.inertia != 0.0:
        raise ModelError(f"joint {link.joint_name!r} has gear 0: no rotor inertia can reach it")
    square, size = (G * G, abs(G)) if G else (1.0, 1.0)
    changes: dict[str, Any] = {
        "rotor_inertia": motor.inertia / square,
        "viscous": motor.viscous / square,
        "coulomb": (motor.plus / size, motor.minus / size),
    }
    if f"{link.joint_name}.unbalance_x" in p:
        changes["unbalance"] = tuple(p[f"{link.joint_name}.{x}"] for x in UNBALANCE)
    return changes
