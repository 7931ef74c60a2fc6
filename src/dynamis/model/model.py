"""A whole robot as frozen data in the user's own frames and words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, get_args

from ..arguments import choice, duplicate, flag, is_list, is_word, one_of, positive, strict
from ..errors import ModelError, counted, shown
from ..lazy import cached_property
from ..spatial.functions import Functions
from ..spatial.inertia import Inertia, from_com, from_entries
from .check.finding import Finding
from .closure import TREE, Closure, refuse_closures
from .conventions import CONVENTIONS, convention_named
from .drive import Drive
from .force import Force
from .friction import Friction
from .geometry import Geometry
from .law import UserLaw, load_law
from .link import VARIABLE, Link, inertia_entries
from .pose import Pose, Triple, pose
from .quantity import (
    Expression,
    Scalar,
    Values,
    quantities,
    quantity,
    resolve,
    settle,
    symbols_in,
)
from .schema import About, settle_fields
from .spring import Spring

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

GRAVITY = (0.0, 0.0, -9.81)
ROTORS = ("reflected", "full")
NO_SYMBOLS = ("links", "findings", "loads", "kept_elements")  # links are looked at one by one
MOST_CONDITIONS = 60  # of all closures


@strict
@dataclass(frozen=True, kw_only=True)
class Payload:
    """A body carried by the tool: mass, centre of mass and inertia in the tool frame."""

    mass: Annotated[Scalar, About("of the payload", "kg", least=0.0)]
    com: Annotated[Triple, About("centre of mass in the tool frame", "m", 3)] = (0.0, 0.0, 0.0)
    inertia: Annotated[Any, About("about com, as of a link", "kg m^2", 0)] = None

    def __post_init__(self) -> None:
        settle_fields(self, "payload.")
        settle(self, inertia=inertia_entries(self.inertia))

    def body(self, values: Values, fn: Functions) -> Inertia:
        """Inertia about the tool frame's origin."""
        m, c, inertia = resolve((self.mass, self.com, self.inertia), values, fn)
        return from_com(m, c, from_entries(inertia))


@dataclass(frozen=True, kw_only=True)
class NamedFrame:
    """A frame fixed to a link (or to the base), such as a URDF link behind a fixed joint."""

    name: str
    link: str | None
    pose: Pose


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class KeptElements:
    """Elements of a URDF file that a model has no place for (<gazebo>), to be saved again.

    By the names of links and joints, and those of the robot itself; `attributes` of <robot>, names
    of fixed joints by the link they carry, the convention whose link frames they are in, and the
    file's folder (None: not from a file).
    """

    robot: tuple["Element", ...] = ()
    links: Mapping[str, tuple["Element", ...]] = field(default_factory=dict)
    joints: Mapping[str, tuple["Element", ...]] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fixed_joints: Mapping[str, str] = field(default_factory=dict)
    convention: str = "urdf"
    folder: "Path | None" = None


@dataclass(frozen=True, kw_only=True)
class Model:
    """Links in order, parents before children, with everything around them.

    `base` and `gravity` are given in the reference frame; the tool sits in the frame of
    `tool_link` (default: the last link). `gear_matrix` takes joint to motor speeds. `findings` are
    what whoever made the model knows about it: `check` repeats them, files keep them. `loads` are
    laws of the user's own (see `dynamis.model.law`). `closures` make closed loops: q closes them
    within `closure_tolerance` (m, rad; None: 1e-6, or 1e-5 of the mechanism's size if that is
    less), and what is computed is NaN where the loops are worse conditioned than
    `closure_condition`; calls raise then, unless `closure_nan`. Equal models may differ in
    `geometry`, shapes of links, and in `kept_elements`, what else was in its URDF file.
    """

    name: Annotated[str, About("of the robot")]
    convention: Annotated[str, About("standard, modified or urdf")]
    description: Annotated[str, About("what it is and where its numbers are from")] = ""
    gravity: Annotated[Triple, About("acceleration of free fall", "m/s^2", 3)] = GRAVITY
    base: Annotated[Pose, About("of the first joint in the reference frame")] = Pose()
    tool: Annotated[Pose, About("in the frame of tool_link")] = Pose()
    tool_link: Annotated[str | None, About("that carries the tool; the last")] = None
    tool_name: Annotated[str, About("of the tool's frame")] = "tool"
    base_name: Annotated[str, About("of the base")] = "base"
    gear_matrix: Annotated[
        tuple[tuple[Scalar, ...], ...] | None, About("motor by joint speeds; the gears")
    ] = None
    rotors: Annotated[str, About("reflected, or full: bodies that spin")] = "reflected"
    closure_tolerance: Annotated[
        float | None, About("what counts as closed; by the size of the mechanism", "m or rad", 0)
    ] = None
    closure_condition: Annotated[float, About("of loops that are computed with", "-", 0)] = 1e6
    closure_nan: Annotated[bool, About("true: singular samples are NaN, no error")] = False
    payload: Annotated[Payload | None, About("carried by the tool")] = None
    values: Annotated[Mapping[str, float], About("of the symbols")] = field(default_factory=dict)
    configurations: Annotated[
        Mapping[str, tuple[float, ...]], About("named positions, one entry per joint")
    ] = field(default_factory=dict)
    links: Annotated[
        tuple[Link, ...], About("with the joints that move them, from the base on", key="link")
    ]
    frames: Annotated[tuple[NamedFrame, ...], About("fixed to links", key="frame")] = ()
    springs: Annotated[tuple[Spring, ...], About("between links, at joints", key="spring")] = ()
    closures: Annotated[tuple[Closure, ...], About("that make loops", key="closure")] = ()
    loads: Annotated[tuple[UserLaw, ...], About("laws of one's own", key="load")] = ()
    geometry: Annotated[tuple[Geometry, ...], About("shapes of links and base", key="geometry")] = (
        field(default=(), compare=False, repr=False)
    )
    findings: Annotated[tuple[Finding, ...], About("remarks of its author", key="finding")] = ()
    kept_elements: Annotated[
        KeptElements | None, About("of the URDF it was read from", key=None)
    ] = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        convention_named(self.convention)
        if not isinstance(self.name, str) or not self.name:
            raise ModelError(f"name is {shown(self.name)}, expected a non-empty text")
        self._check_kinds()
        if not self.links:
            raise ModelError(f"robot {self.name!r} has no links, expected at least one")
        choice(self.rotors, "rotors", ROTORS)
        settle_fields(self, "")
        settle(self, base=pose(self.base, "base"), tool=pose(self.tool, "tool"))
        settle(self, links=tuple(_named(link, i) for i, link in enumerate(self.links)))
        self._check_names()
        self._check_forces()
        self._check_closures()
        self._check_loads()
        self._check_geometry()
        self._check_fields()
        self._check_elastic()
        self._set_values()
        self._set_gears()
        self._check_symbols()

    def _check_kinds(self) -> None:
        """What is not even of the right kind, before anything is read from it."""
        lists = {
            "links": (Link, "dy.Link(...)"),
            "frames": (NamedFrame, "named frames"),
            **{name: (kind, f"dy.{kind.__name__}(...)") for name, kind in FORCES.items()},
            "closures": (Closure, "dy.Closure(...)"),
            "geometry": (Geometry, "dy.Geometry(...)"),
            "loads": (object, "frozen dataclasses with a torque"),
            "findings": (Finding, "findings"),
        }
        others = {
            "values": (Mapping, "numbers by symbol, such as {'m1': 3.0}"),
            "configurations": (Mapping, "joint positions by name"),
            "kept_elements": ((KeptElements, type(None)), "those of a model from a URDF file"),
            "payload": ((Payload, type(None)), "mass, com and inertia as robot.with_payload does"),
        }
        for name, (kind, words) in lists.items():
            if not is_list(given := getattr(self, name)):
                raise ModelError(f"{name} is {shown(given)}, expected a list of {words}")
            settle(self, **{name: tuple(given)})
            wrong = [x for x in getattr(self, name) if not isinstance(x, kind)]
            if wrong:
                raise ModelError(f"{name} contains {shown(wrong[0])}, expected {words}")
        for name, (kind, words) in others.items():
            if not isinstance(given := getattr(self, name), kind):
                raise ModelError(f"{name} is {shown(given)}, expected {words}")

    def _check_names(self) -> None:
        refuse_twice("link", self.link_names)
        refuse_twice("joint", self.tree_joint_names)
        links = dict.fromkeys(self.link_names)
        if self.tool_link is not None:
            what = f"tool_link {self.tool_link!r} is not a link of {self.name!r}"
            one_of(self.tool_link, links, what)
        for frame in self.frames:
            if frame.link is not None:
                what = f"frame {frame.name!r} sits on {frame.link!r}, which is not a link"
                one_of(frame.link, links, what)
        known: set[str] = set()
        for link in self.links:
            if link.parent is not None and not is_word(link.parent, known):
                raise ModelError(
                    f"link {link.name!r} has parent {link.parent!r}, expected a link listed "
                    f"before it: {sorted(known)}"
                )
            known.add(str(link.name))
            if link.mimic is not None:
                what = f"joint {link.joint_name!r} mimics {link.mimic[0]!r}"
                message = f"{what}, which is not a joint that moves by itself"
                one_of(link.mimic[0], self.joint_names, message)

    def _check_forces(self) -> None:
        for name in FORCES:
            word = name[:-1]
            settle(self, **{name: _called(getattr(self, name), word)})
            refuse_twice(word, [str(force.name) for force in getattr(self, name)])
            for force in getattr(self, name):
                self._check_force(force, f"{word} {force.name!r}")
        refuse_twice("force", [str(force.name) for force in self.forces])

    def _check_force(self, force: Force, what: str) -> None:
        for joint in (getattr(force, x) for x in force.joints):
            message = f"{what} sits at joint {shown(joint)}, which does not exist"
            one_of(joint, self.tree_joint_names, message)
        links = [self.link_index(getattr(force, x), what) for x in force.ends]
        if (both := duplicate(links)) is not None:
            both = (*self.link_names, self.base_name)[both]
            raise ModelError(f"{what} has both ends on {both!r}, expected two links")

    def _check_closures(self) -> None:
        base = self.base_name
        named = [replace(x, between=tuple(y or base for y in x.between)) for x in self.closures]
        settle(self, closures=_called(named, "closure"))
        refuse_twice("closure", [str(closure.name) for closure in self.closures])
        for closure in self.closures:
            what = f"closure {closure.name!r}"
            first, second = (self.link_index(name, what) for name in closure.between)
            if first == second:
                both = closure.between[0]
                raise ModelError(f"{what} has both frames on {both!r}, expected two links")
        if len(self.closure_rows) > MOST_CONDITIONS:
            raise ModelError(
                f"the closures of {self.name!r} have {len(self.closure_rows)} conditions, expected "
                f"at most {MOST_CONDITIONS}"
            )
        limits = {"closure_condition": self.closure_condition}
        if self.closure_tolerance is not None:
            limits["closure_tolerance"] = self.closure_tolerance
        settle(self, **{name: positive(value, name) for name, value in limits.items()})
        settle(self, closure_nan=flag(self.closure_nan, "closure_nan"))

    def _check_geometry(self) -> None:
        settle(self, geometry=_called(self.geometry, "geometry"))
        refuse_twice("geometry", [str(shape.name) for shape in self.geometry])
        known = (self.base_name, *self.link_names, *(frame.name for frame in self.frames))
        for shape in self.geometry:
            if shape.link is not None:
                what = f"geometry {shape.name!r} is on {shape.link!r}, which is not a link"
                one_of(shape.link, known, what)

    def _check_loads(self) -> None:
        settle(self, loads=tuple(load_law(law, self.joint_names) for law in self.loads))
        names = [law.name for law in self.loads]
        refuse_twice("load", names)
        forces = [str(force.name) for force in self.forces]
        others = {*self.link_names, *self.tree_joint_names, *forces}
        taken = next((name for name in names if name in others), None)
        if taken is not None:
            raise ModelError(
                f"load {taken!r} is called like a link, a joint or a spring, expected a name of "
                "its own",
                f"give its class a field name: str = 'my_{taken}'",
            )

    @property
    def forces(self) -> tuple[Force, ...]:
        """Springs, and what other forces have data of their own."""
        return tuple(force for name in FORCES for force in getattr(self, name))

    @property
    def rubs_under_load(self) -> bool:
        """Whether friction of some joint grows with the torque it transmits."""
        return any(link.friction.load != 0.0 for link in self.links)

    @property
    def own_laws(self) -> tuple[str, ...]:
        """What of it is code of the user's: its loads and friction laws, in words."""
        loads = [f"load {law.name!r}" for law in self.loads]
        rubs = [(x, x.friction.own) for x in self.links]
        return (
            *loads,
            *(f"friction law {own.name!r} of {x.joint_name}" for x, own in rubs if own is not None),
        )

    @property
    def law_states(self) -> tuple[str, ...]:
        """States of the user's laws, OWNER.NAME, as `run.states["law_state"]` has them."""
        owners = [(x.joint_name, x.friction.own) for x in self.links]
        owners += [(law.name, law) for law in self.loads]
        laws = ((owner, law.states) for owner, law in owners if law is not None)
        return tuple(f"{owner}.{x}" for owner, own in laws if own is not None for x in own.names)

    def link_index(self, name: str | None, what: str = "") -> int:
        """Number of a link, -1 for the base (None, or its name)."""
        if name in (None, self.base_name):
            return -1
        known = (self.base_name, *self.link_names)
        one_of(name, known, f"{what} ends on {shown(name)}, which is not a link")
        return self.link_names.index(str(name))

    def _check_fields(self) -> None:
        """Fields of another convention would be ignored: refuse them instead."""
        own = CONVENTIONS[self.convention].fields
        plain = Link()
        for row in CONVENTIONS.values():
            for name in row.fields:
                for link in self.links:
                    if name not in own and getattr(link, name) != getattr(plain, name):
                        raise ModelError(
                            f"link {link.name!r} gives {name!r}, which convention "
                            f"{shown(self.convention)} does not use; it uses {', '.join(own)}"
                        )
        for link in self.links:
            if link.com_factor is not None and self.convention != "standard":
                raise ModelError(
                    f"link {link.name!r} gives com_factor, which means something only in "
                    "the standard convention",
                    "give com instead",
                )

    def _check_elastic(self) -> None:
        """Refuse elastic gears where no motor moves by itself behind them."""
        for link in self.links:
            if link.drive is None or link.drive.stiffness is None:
                continue
            reasons = {
                "no drive (passive)": link.passive,
                "no motor of its own (mimic)": link.mimic is not None,
                "motors that are shared (gear_matrix)": self.gear_matrix is not None,
                'rotors="full", whose spin is tied to the joints': self.rotors == "full",
                "no rotor_inertia: its motor would have no mass": link.drive.rotor_inertia == 0.0,
                "drive.gear 0: its motor would have no mass at the joint": link.drive.gear == 0.0,
            }
            for words, is_so in reasons.items():
                if is_so:
                    own = "give the joint a motor of its own with a rotor_inertia"
                    if self.rotors == "full":
                        own = 'use rotors="reflected", which neglects terms of order 1 / gear'
                    raise ModelError(
                        f"joint {link.joint_name!r} has drive.stiffness {link.drive.stiffness}, "
                        f"and {words}",
                        f"leave the stiffness out (a rigid joint), or {own}",
                    )

    def _set_values(self) -> None:
        values = {str(k): _value(str(k), v) for k, v in self.values.items()}
        rows = {}
        for name, q in self.configurations.items():
            row = resolve(quantities(q, self.n, f"configurations.{name}"), values)
            rows[str(name)] = tuple(map(float, row))
        settle(self, values=MappingProxyType(values), configurations=MappingProxyType(rows))

    def _check_symbols(self) -> None:
        """Refuse a constant with the name of a joint's position, velocity or acceleration."""
        moving = self.moving_links
        for name in self.symbols:
            found = VARIABLE.fullmatch(name)
            if found is None or len(found[2]) > 4 or int(found[2]) > len(moving):
                continue
            number, letter = int(found[2]), found[1]
            joint = moving[number - 1].joint
            variable = "d" if joint == "prismatic" else "theta"
            rate = {"q": f"variable {variable}", "qd": "velocity", "qdd": "acceleration"}[letter]
            where, key = self._place_of(name)
            instead = "give the symbol another name"
            if key in ("theta", "d", "a", "alpha", "offset"):
                instead = f"leave {key} out or give a constant"
            raise ModelError(
                f"{where} has the symbol {name!r}, which is the name of the {rate} of {joint} "
                f"joint {number}",
                f"the variable of {joint} joint {number} is {variable}, named q{number}: {instead}",
            )

    def _place_of(self, symbol: str) -> tuple[str, str]:
        """Where a symbol is used, such as "theta of link 'link3'", and the key there."""
        for link in self.links:
            for key in (f.name for f in fields(link)):
                if symbol in symbols_in(getattr(link, key)):
                    return f"{key} of link {link.name!r}", key
        names = (f.name for f in fields(self) if f.name not in NO_SYMBOLS)
        key = next(x for x in names if symbol in symbols_in(getattr(self, x)))
        return key, key

    def _set_gears(self) -> None:
        if self.gear_matrix is None:
            return
        size = len(self.links)
        if not is_list(self.gear_matrix):
            raise ModelError(f"gear_matrix is {shown(self.gear_matrix)}, expected rows of numbers")
        rows = tuple(self.gear_matrix)
        if len(rows) != size:
            raise ModelError(f"gear_matrix has {counted(len(rows), 'row')}, expected {size}")
        matrix = tuple(quantities(r, size, f"gear_matrix[{i}]") for i, r in enumerate(rows))
        for i, link in enumerate(self.links):
            if link.drive is not None and link.drive.gear not in (1.0, matrix[i][i]):
                raise ModelError(
                    f"joint {link.joint_name!r} has gear {link.drive.gear} but "
                    f"gear_matrix[{i}][{i}] is {matrix[i][i]}, expected the same number"
                )
        settle(self, gear_matrix=matrix)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {f: getattr(self, f) for f in self.__dataclass_fields__}
        plain = {name: dict(state[name]) for name in ("values", "configurations")}
        return partial(Model, **state | plain), ()

    @property
    def link_names(self) -> tuple[str, ...]:
        """Moving links in order."""
        return tuple(str(link.name) for link in self.links)

    @property
    def elastic_count(self) -> int:
        """Number of elastic joints."""
        return sum(x.drive is not None and x.drive.stiffness is not None for x in self.links)

    @property
    def tree_joint_names(self) -> tuple[str, ...]:
        """Every joint, also those that mimic another."""
        return tuple(str(link.joint_name) for link in self.links)

    @cached_property
    def moving_links(self) -> tuple[Link, ...]:
        """Links whose joint moves by itself, one for every entry of q; not those that mimic one."""
        return tuple(link for link in self.links if link.mimic is None)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Joints that move by themselves: the coordinates q."""
        return tuple(str(link.joint_name) for link in self.moving_links)

    @cached_property
    def joint_kinds(self) -> tuple[str, ...]:
        """ "revolute" or "prismatic" for every entry of q."""
        return tuple(link.joint for link in self.moving_links)

    @cached_property
    def n(self) -> int:
        """Number of coordinates."""
        return len(self.joint_names)

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Entries of q whose joints have a drive: all but the passive ones."""
        return tuple(k for k, link in enumerate(self.moving_links) if not link.passive)

    def drive(self, i: int) -> Drive:
        """The drive of link i, a plain one where none is given."""
        return self.links[i].drive or Drive()

    @cached_property
    def unbalanced(self) -> tuple[int, ...]:
        """Links whose rotors spin as bodies (`rotors="full"`) off their centre of mass."""
        if self.rotors != "full":
            return ()
        return tuple(i for i in range(len(self.links)) if any(self.drive(i).unbalance))

    @cached_property
    def driven(self) -> tuple[int, ...]:
        """Entries of q that controllers see: all of an arm's, the drives of closed loops."""
        return self.active if self.closures else tuple(range(self.n))

    @property
    def driven_word(self) -> str:
        """What the joints of `driven` are called: drives, of an arm joints."""
        return "drives" if self.closures else "joints"

    @cached_property
    def follows(self) -> tuple[bool, ...]:
        """Of every link, whether closures alone move its joint: it has no drive."""
        return tuple(link.passive and bool(self.closures) for link in self.links)

    def refuse_closures(self, what: str, instead: str = TREE) -> None:
        """Say that something is not available where there are closures, and what to use instead."""
        refuse_closures(self.closures, what, instead)

    @property
    def size_text(self) -> str:
        """Joints, and of mechanisms with closures drives and closures too, in words."""
        words = [counted(self.n, "joint")]
        if closures := len(self.closures):
            words += [counted(len(self.active), "drive"), counted(closures, "closure")]
        return ", ".join(words)

    @property
    def joint_letters(self) -> str:
        """RRP of an arm with two revolute joints and a prismatic one."""
        return "".join(link.joint[0].upper() for link in self.links)

    @property
    def closure_rows(self) -> tuple[str, ...]:
        """Every condition of its closures by name."""
        return tuple(f"{closure.name}.{row}" for closure in self.closures for row in closure.rows)

    @property
    def parents(self) -> tuple[int, ...]:
        """Index of each link's parent, -1 for the base."""
        if self.convention != "urdf":
            return tuple(range(-1, len(self.links) - 1))
        index = {name: i for i, name in enumerate(self.link_names)}
        return tuple(-1 if x.parent is None else index[x.parent] for x in self.links)

    @property
    def depths(self) -> tuple[int, ...]:
        """Number of links from the base to each link, itself included."""
        found: list[int] = []
        for parent in self.parents:
            found.append(1 if parent < 0 else found[parent] + 1)
        return tuple(found)

    @property
    def is_tree(self) -> bool:
        """Whether some link carries more than one other."""
        return self.parents != tuple(range(-1, len(self.links) - 1))

    @property
    def tip(self) -> int:
        """Index of the link that carries the tool."""
        if self.tool_link is None:
            return len(self.links) - 1
        return self.link_names.index(self.tool_link)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Every symbol the model uses, with or without a value."""
        owners = (self.links, self.gravity, self.base, self.tool, self.payload, self.closures)
        return symbols_in((*owners, self.gear_matrix, self.frames, self.forces, self.geometry))


# lists of forces, in the order of their parameters
FORCES: Mapping[str, type[Force]] = {
    x.name: kind
    for x in fields(Model)
    for kind in get_args(get_args(x.type)[0])[:1]
    if isinstance(kind, type) and issubclass(kind, Force)
}
NO_FORCES: Mapping[str, Any] = {"loads": (), **dict.fromkeys(FORCES, ())}


def refuse_twice(what: str, names: Iterable[str]) -> None:
    """Names must differ."""
    twice = duplicate(names)
    if twice is not None:
        raise ModelError(f"two {what}s are called {twice!r}, expected distinct names")


def _called(things: Sequence[Any], word: str) -> tuple[Any, ...]:
    """Springs or closures with a name each: spring2 by its place, or the next free number."""
    taken = {thing.name for thing in things if isinstance(thing.name, str)}
    found = []
    for place, thing in enumerate(things, 1):
        name = thing.name
        if name is None:
            name = next(x for k in count(place) if (x := f"{word}{k}") not in taken)
            taken.add(name)
        elif not isinstance(name, str) or not name:
            raise ModelError(f"{word}.name is {shown(name)}, expected a non-empty text")
        found.append(replace(thing, name=name))
    return tuple(found)


def _named(link: Link, index: int) -> Link:
    changes = {}
    for name, automatic in (("name", "link"), ("joint_name", "joint")):
        value = getattr(link, name)
        if value is None:
            changes[name] = f"{automatic}{index + 1}"
        elif not isinstance(value, str) or not value:
            raise ModelError(f"{name} is {shown(value)}, expected a non-empty text")
    return replace(link, **changes) if changes else link


def _value(name: str, value: Any) -> float:
    """The number a symbol stands for."""
    try:
        own = Expression(name).symbols == (name,)
    except ModelError:
        own = False
    if not own:
        raise ModelError(f"values has {name!r}, expected the name of a symbol such as 'm1'")
    number = quantity(value, f"values.{name}")
    if isinstance(number, Expression):
        raise ModelError(f"values.{name} is {shown(value)}, expected a number without symbols")
    return number


def with_friction(model: Model, friction: Iterable[Friction]) -> Model:
    """The model with friction of one's own for each link; drives then have none."""
    links = [
        replace(x, friction=own, drive=x.drive and replace(x.drive, viscous=0.0, coulomb=0.0))
        for x, own in zip(model.links, friction, strict=True)
    ]
    return replace(model, links=tuple(links))
