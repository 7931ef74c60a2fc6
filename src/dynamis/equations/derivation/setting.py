"""What every derivation shares: a setting to compute in, drafts of steps, geometry, joint torques.

One derivation runs over polynomials (what is printed) and over floats (the numbers beside it).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import sympy as sp

from ...dynamics import coupling, drives
from ...dynamics.elements import friction
from ...dynamics.kinematics import motions, poses
from ...errors import ModelError
from ...model.chain import Chain, chain
from ...model.dh.table import dh_table
from ...model.model import Model
from ...model.pose import Pose
from ...robot.html import geometry
from ...spatial.frames import Frame, compose, matrix
from ...spatial.functions import MATH, Functions
from ...spatial.vectors import Vector
from ..closed import parallel
from ..loops import as_it_is
from ..scalars.polynomial import Alphabet, Polynomial
from ..scalars.scalars import converted, coordinates, symbolic_chain
from ..scalars.simplify import readable

BUDGET = 400_000  # products of terms: some seconds
NAMED_FROM = 4  # joints from which on long vectors get names
COMPACT = 16  # operations (and terms before they are gathered) of a formula that needs no name


def _always(name: str) -> bool:
    return True


@dataclass(frozen=True)
class Setting:
    """A robot at one state over one kind of scalar; x, xd, xdd are those of the tree's joints."""

    model: Model
    fn: Functions
    chain: Chain
    links: tuple[Chain, ...]  # every link as a robot of its own, in the user's frame before it
    state: tuple[Sequence[Any], Sequence[Any], Sequence[Any]]  # q, qd, qdd
    x: Sequence[Any]
    xd: Sequence[Any]
    xdd: Sequence[Any]
    named: Callable[[str, Any], Any]  # an entry, or its name if it is long
    once: Callable[[str, Any], Any] = as_it_is  # the same, equal ones by one name
    letter: Callable[[str, Any], Any] = as_it_is  # the name of what is no number
    compact: Callable[[str, Any], Any] = as_it_is  # an entry, or its name if it is no short formula
    divisor: Callable[[str, Any], Any] = as_it_is  # what is divided by, by name unless it is simple
    listed: Callable[[str], bool] = _always  # whether an entry went on by its name
    definitions: Mapping[str, Any] = field(default_factory=dict)  # what names stand for, in order
    divisors: Mapping[str, Any] = field(default_factory=dict)  # those that are divided by
    groups: Mapping[Any, int] = field(default_factory=dict)  # angles about parallel axes

    def vector(self, name: str, v: Vector) -> Vector:
        """A vector to compute on with: itself, or the names name.x, name.y, name.z."""
        return tuple(self.named(f"{name}.{x}", c) for x, c in zip("xyz", v, strict=True))  # type: ignore

    def matrix(self, name: str, columns: Sequence[Vector]) -> list[Vector]:
        """Columns to compute on with, entries named name.11 and so on."""
        return [
            tuple(self.named(f"{name}.{r + 1}{c + 1}", x) for r, x in enumerate(column))
            for c, column in enumerate(columns)
        ]  # type: ignore[return-value]


def numeric(
    model: Model, q: Sequence[float], qd: Sequence[float], qdd: Sequence[float],
    listed: Callable[[str], bool] = _always,
) -> Setting:  # fmt: skip
    """A setting over floats."""
    whole = chain(model)
    links = tuple(chain(one_link(model, i)) for i in range(len(model.links)))
    x, xd, xdd = _tree(whole, q, qd, qdd)
    return Setting(model, MATH, whole, links, (q, qd, qdd), x, xd, xdd, as_it_is, listed=listed)


def symbolic(model: Model, by_links: bool = True) -> tuple[Setting, Alphabet]:
    """A setting over polynomials, and their letters; `by_links`: with every link by itself."""
    letters = Alphabet(BUDGET)

    def lift(value: Any) -> Any:
        return value if isinstance(value, bool) else letters.of(value)

    alone = [one_link(model, i) for i in range(len(model.links))] if by_links else []
    exact, *each = (symbolic_chain(x) for x in (model, *alone))
    whole, *links = (converted(x, lift) for x in (exact, *each))
    groups = parallel(exact)
    q, qd, qdd = ([letters.of(s) for s in row] for row in coordinates(model.n))
    state, (x, xd, xdd) = (q, qd, qdd), _tree(whole, q, qd, qdd)
    many = len(model.links) >= NAMED_FROM
    definitions: dict[str, Polynomial] = {}
    divisors: dict[str, Polynomial] = {}
    listed: set[str] = set()
    known: dict[Any, Any] = {}

    def letter(name: str, value: Any) -> Any:
        whole = letters.of(value)
        if set(whole.terms) <= {()}:  # a number
            return value
        definitions[name] = whole
        return letters.of(sp.Symbol(name, real=True))

    def named(name: str, value: Any) -> Any:
        short = not many or len(letters.of(value)) <= 1
        return value if short else own(name, value)

    def own(name: str, value: Any) -> Any:
        listed.add(name)
        return letter(name, value)

    def once(name: str, value: Any) -> Any:
        key = frozenset(letters.of(value).terms.items())
        if key not in known:
            known[key] = named(name, value)
        return known[key]

    def compact(name: str, value: Any) -> Any:
        whole = letters.of(value)
        short = len(whole) <= COMPACT and sp.count_ops(readable(whole, groups)) <= COMPACT
        return value if short else own(name, value)

    def divisor(name: str, value: Any) -> Any:
        whole = letters.of(value)
        used = [letters.letters[k] for monomial in whole.terms for k, _ in monomial]
        if len(whole) <= 1 and not any(isinstance(x, (sp.sin, sp.cos)) for x in used):
            return value  # angles are summed in what is not divided by
        divisors[name] = whole
        return own(name, value)

    found = Setting(
        model, letters.functions(), whole, tuple(links), state, x, xd, xdd, named, once, letter,
        compact, divisor, listed.__contains__, definitions, divisors, groups,
    )  # fmt: skip
    return found, letters


def one_link(model: Model, i: int) -> Model:
    """Link i alone, on a base where the user's frame of the link before is."""
    link = replace(model.links[i], parent=None, mimic=None)
    last = i == model.tip
    return replace(
        model,
        links=(link,),
        base=Pose(),
        tool=model.tool if last else Pose(),
        tool_link=None,
        gravity=(0.0, 0.0, 0.0),
        payload=model.payload if last else None,
        gear_matrix=None,
        rotors="reflected",
        frames=(),
        configurations={},
        closures=(),
    )


def _tree(whole: Chain, q: Sequence[Any], qd: Sequence[Any], qdd: Sequence[Any]) -> tuple:
    rates = [coupling.rates(whole, v) for v in (qd, qdd)]
    return list(coupling.positions(whole, q)), *(list(v) for v in rates)


class Raw(NamedTuple):
    """A named result over the setting's scalars: a scalar, a column or rows."""

    name: str
    value: Any
    same: str | None = None


class StepDraft(NamedTuple):
    """A step before it is written out."""

    title: str
    text: str
    formulas: tuple[str, ...] = ()
    items: Sequence[Raw] = ()
    table: tuple[tuple[str, ...], ...] = ()


def index(*numbers: int) -> str:
    """Subscripts run together while they are single digits."""
    return ("," if max(numbers) > 9 else "").join(map(str, numbers))


def entry(letter: str, value: Any, *indices: int, symmetric: bool = True) -> Raw:
    """One of many results of one letter, by indices from 0; symmetric in the last two."""
    *first, a, b = (k + 1 for k in indices)
    twin = f"{letter}_{{{index(*first, b, a)}}}" if symmetric and a > b else None
    return Raw(f"{letter}_{{{index(*first, a, b)}}}", value, twin)


def numbered(letter: str, values: Iterable[Any]) -> list[Raw]:
    """Results of one letter, one per link or joint."""
    return [Raw(f"{letter}_{{{i + 1}}}", x) for i, x in enumerate(values)]


def own(k: int, **values: Any) -> list[Raw]:
    """Results of link k in its own frame, by letter."""
    letters = {"w": r"\omega", "wd": r"\dot{\omega}", "vd": r"\dot{v}"}
    return [Raw(rf"{{}}^{{{k}}}{letters.get(x, x)}_{{{k}}}", v) for x, v in values.items()]


def link_frames(s: Setting) -> list[Frame]:
    """Each link's frame seen from the one before, both the user's."""
    pairs = zip(s.links, s.x, strict=False)
    return [compose(motions(link, [x], s.fn)[0], link.bodies[0].user) for link, x in pairs]


def table_step(s: Setting) -> StepDraft:
    """The DH table, or where the joints of a URDF sit."""
    model = s.model
    if model.convention == "urdf":
        text = "Where each joint sits in the frame of the link before it, and its axis."
        return StepDraft("Joints", text, table=geometry(model))
    text = TABLES[model.convention] + "".join(f" {note}." for note in dh_table(model).notes())
    return StepDraft("Denavit-Hartenberg table", text, table=geometry(model))


TABLES = {
    "standard": (
        "Every link carries a frame by the rules of Denavit and Hartenberg (standard convention): "
        "joint i moves about or along z of frame i - 1, and frame i sits at the far end of link i."
    ),
    "modified": (
        "Every link carries a frame by the rules of Denavit and Hartenberg as Craig modified "
        "them: joint i moves about or along z of its own frame i."
    ),
}
FRAMES = {
    "standard": r"{}^{i-1}A_{i} = R_z(\theta_i) \, T_z(d_i) \, T_x(a_i) \, R_x(\alpha_i)",
    "modified": r"{}^{i-1}A_{i} = R_x(\alpha_{i-1}) \, T_x(a_{i-1}) \, R_z(\theta_i) \, T_z(d_i)",
    "urdf": r"{}^{i-1}A_{i} = T(\mathit{xyz}) \, R(\mathit{rpy}) \, R_{\mathrm{axis}}(q_i)",
}


def frames_step(s: Setting) -> StepDraft:
    """A matrices, one by one and from the reference frame."""
    items = []
    where = poses(s.chain, s.x, s.fn)
    for i, frame in enumerate(link_frames(s)):
        before = s.model.parents[i] + 1
        items.append(Raw(rf"{{}}^{{{before}}}A_{{{i + 1}}}", matrix(frame)))
        if before or s.model.base != Pose():
            pose = matrix(compose(where[i], s.chain.bodies[i].user))
            items.append(Raw(rf"{{}}^{{0}}A_{{{i + 1}}}", pose))
    text = (
        "The matrices that take coordinates of a link's frame to the frame before it, and their "
        "products, which take them to the reference frame. Short for sines and cosines: c1 is "
        "cos q1, s23 is sin(q2 + q3)."
    )
    formulas = (FRAMES[s.model.convention], r"{}^{0}A_{i} = {}^{0}A_{i-1} \, {}^{i-1}A_{i}")
    return StepDraft("Transformation matrices", text, formulas, items)


def rotor_and_friction(s: Setting) -> list[Any]:
    """What rotors and friction add to the torque of each link's joint."""
    rotor = drives.rotor_torque(s.chain, s.xdd)
    both = zip(rotor, friction.friction_tree(s.chain, s.xd, s.fn), strict=True)
    return [a + b for a, b in both]


def has_rotor_or_friction(s: Setting) -> bool:
    """Whether some joint has friction or a rotor."""
    chain = s.chain
    values = [
        x
        for r in chain.resistances
        for x in (r.viscous, r.viscous_minus, r.plus, r.minus, r.offset)
    ]
    values += [x.weight for r in chain.resistances for x in r.memory]
    values += [x for m in chain.motors for x in (m.inertia, m.viscous, m.plus, m.minus)]
    return any(values)


def plain_tree(s: Setting, method: str) -> None:
    """Refuse what the link-by-link derivations do not write down."""
    if s.chain.rotors:
        raise ModelError(
            f"the {method} steps of {s.model.name!r} are not written for rotors = 'full'",
            "use rotors = 'reflected', or method 'lagrange-euler'",
        )


def torque(model: Model) -> str:
    """What the torques of an arm are called; with closures, those of the tree."""
    return r"\Gamma" if model.closures else r"\tau"


def coordinate_torques(s: Setting, tree: Sequence[Any]) -> list[Raw]:
    """Torques of the coordinates from those of the joints (they differ if joints mimic others)."""
    return numbered(torque(s.model), coupling.torques(s.chain, tree))


def of_tree(s: Setting) -> str:
    """What is said of the torques of a tree whose closures are open; of an arm nothing."""
    return TREE if s.model.closures else ""


TREE = "The torques that all joints of the tree would need for this motion, were its closures open."


def joint_torque(s: Setting, text: str, formula: str) -> tuple[str, tuple[str]]:
    """Text and formula of the torque, with what rotors and friction add."""
    formula = formula.replace(r"\tau", torque(s.model))
    text = f"{text} {of_tree(s)}".rstrip()
    if not has_rotor_or_friction(s):
        return text, (formula,)
    more = " Friction, and rotors behind their gears, add to the torque of their own joint."
    return text + more, (formula + r" + \tau_{\mathrm{joint}}",)
