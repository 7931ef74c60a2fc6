"""Friction models by name: which columns a joint gets, and which law shapes them over velocity."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ...arguments import check_fields, checked, choice, is_list, is_word, strict
from ...errors import OptionError, did_you_mean, shown
from ...model.friction import LAWS, sides
from ...model.memory import Memory
from ...model.quantity import resolve
from ...spatial.functions import MATH

if TYPE_CHECKING:
    from ...robot import Robot


class Bristle(NamedTuple):
    """Bristles of a joint where their torque is linearised; a constant of 0.0 is not sought.

    `stribeck` is the torque that they hold beyond `coulomb`; `shown` says whether the log tells
    their stiffness.
    """

    coulomb: float
    stribeck: float
    velocity: float
    stiffness: float
    damping: float
    shown: bool = True

    @property
    def constants(self) -> dict[str, float]:
        """The constants of law "lugre"."""
        ratio = 1.0 + (self.stribeck / self.coulomb if self.coulomb > 0.0 else 0.0)
        return {
            "static_ratio": ratio,
            "velocity": self.velocity,
            "stiffness": self.stiffness,
            "damping": self.damping,
        }


@strict
@dataclass(frozen=True)
class FrictionModel:
    """Columns per joint and the law with its constants.

    `coulomb` is one number per joint, the same in both directions; with `offset` the two directions
    differ: coulomb+ = coulomb + offset, coulomb- = -coulomb + offset while the joint moves. `root`
    multiplies |qd|^(1/3) (Grotjahn 2001), `load` the size of the torque that the joint transmits
    (`Friction.load`), `thermal` qd times the temperature above the joint's reference, which the log
    must hold. With `viscous-` viscous friction differs by direction; `memory` adds elements that
    stretch before they slip, of these `radii` (rad or m), or those that the log decides on
    (`dy.Memory`). `bristle_stiffness`, `bristle_damping`, `stribeck` (the torque at rest beyond
    Coulomb's) and `stribeck_velocity` are those of law "lugre", linearised where the log decides,
    or at the `bristles` of a joint. With `law` None every joint keeps the law it has, one of the
    user's own too, whose linear constants are sought, as are those of bristles, and the radii it
    has.
    """

    name: str
    law: str | None = "coulomb"
    columns: tuple[str, ...] = ("viscous", "coulomb", "offset")
    constants: Mapping[str, float] = field(default_factory=dict)
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # tried by "auto"
    radii: tuple[float, ...] = ()  # of the elements with memory
    bristles: Mapping[str, Any] = field(default_factory=dict)  # of joints: `Bristle` by name

    def __post_init__(self) -> None:
        check_fields(self)
        if self.law is not None:
            choice(self.law, "law", LAWS)
        object.__setattr__(self, "constants", {**self._defaults, **self.constants})
        for name, value in self.bristles.items():
            if not isinstance(value, Bristle):
                raise OptionError(
                    f"bristles of {name!r} are {shown(value)}, expected those of an estimate",
                    "leave them out: the log decides",
                )
        radii = [*self.radii] if is_list(self.radii) else [self.radii]
        if radii:
            settled = Memory(radii, [0.0] * len(radii)).radii
            object.__setattr__(self, "radii", settled)
            if not self.has_memory:
                raise OptionError(
                    f"radii were given, but friction {self.name!r} has no memory",
                    'add "memory" to its columns',
                )

    @property
    def _defaults(self) -> Mapping[str, float]:
        return {} if self.law is None else LAWS[self.law]

    @property
    def is_usual(self) -> bool:
        """True where the constants of the law are its usual ones."""
        return self.constants == self._defaults

    @property
    def speed(self) -> float:
        """The velocity within which friction changes its sign; bristles know no such velocity."""
        if self.law == "lugre":
            return 0.0
        return self.constants["velocity"] if self.law == "smooth" else SPEED

    @property
    def has_memory(self) -> bool:
        """True where elements stretch before they slip."""
        return "memory" in self.columns

    @property
    def has_bristles(self) -> bool:
        """True where bristles bend before a joint slides."""
        return "bristle_stiffness" in self.columns

    @property
    def open_radii(self) -> bool:
        """True where the log decides on the radii."""
        return self.law is not None and self.has_memory and not self.radii

    @property
    def memory(self) -> Memory | None:
        """The elements of every joint, weights open; of the usual radii where none were chosen."""
        if self.law is None or not self.has_memory:
            return None
        radii = self.radii or USUAL_RADII
        return Memory(radii, [0.0] * len(radii))

    def with_radii(self, *radii: float) -> "FrictionModel":
        """The same with elements of these radii."""
        columns = self.columns if self.has_memory else (*self.columns, "memory")
        return replace(self, columns=columns, radii=tuple(sorted(radii)))

    @checked
    def described_by(self, robot: "Robot") -> "FrictionModel":
        """With `law` None: the columns that the robot's own friction has besides."""
        sided = any(isinstance(link.friction.viscous, tuple) for link in robot.model.links)
        memory = any(link.friction.memory is not None for link in robot.model.links)
        bent = any(link.friction.law == "lugre" for link in robot.model.links)
        bent &= not robot.model.closures and robot.model.gear_matrix is None
        shown = {"viscous-": sided, "load": robot.rubs_under_load, "memory": memory}
        shown |= dict.fromkeys(BRISTLE_COLUMNS, bent)
        more = [column for column, has in shown.items() if has and column not in self.columns]
        return self if self.law is not None else replace(self, columns=(*self.columns, *more))

    @checked
    def applied(self, robot: "Robot") -> "Robot":
        """The robot with this law on every joint; coefficients stay what they are."""
        links = []
        for link in robot.model.links:
            viscous = link.friction.viscous
            own: dict[str, Any] = {"load": 0.0}
            if self.law is not None:
                memory = self.memory if link.mimic is None else None
                own |= {"law": self.law, "constants": dict(self.constants), "memory": memory}
                if self.has_bristles and link.mimic is not None:  # rubs as part of its leader
                    own |= {"law": "coulomb", "constants": {}}
                if "viscous-" in self.columns:
                    own["viscous"] = sides(viscous)
                elif isinstance(viscous, tuple):
                    own["viscous"] = 0.5 * sum(resolve(viscous, robot.model.values, MATH))
            links.append(replace(link, friction=replace(link.friction, **own)))
        return robot._with_model(links=tuple(links))

    def variants(self) -> "list[FrictionModel]":
        """The model with every combination of constants worth trying."""
        tried = (
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        )
        return [replace(self, constants={**self.constants, **values}) for values in tried]

    def __str__(self) -> str:
        shown = {k: v for k, v in self.constants.items() if v != self._defaults[k]}
        inside = ", ".join(f"{k} = {v:g}" for k, v in shown.items())
        if self.radii:
            radii = "radii = " + " and ".join(f"{x:g}" for x in self.radii)
            inside = f"{inside}, {radii}" if inside else radii
        return f"{self.name} ({inside})" if inside else self.name


RADII = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)  # rad or m, that the log decides among
USUAL_RADII = (3e-4, 3e-3)  # of logs that are too short to decide
SPEED = 0.01  # rad/s or m/s
TRIED = {"velocity": (0.001, 0.003, 0.01)}
SLOW = 3.0  # of that speed: slower rows do not tell friction from rest
ROOTED = ("viscous", "root", "coulomb", "offset")
SLIDING = ("viscous", "coulomb", "offset")
BRISTLE_COLUMNS = ("bristle_stiffness", "stribeck", "stribeck_velocity", "bristle_damping")
_STATIC = {
    f.name: f
    for f in (
        FrictionModel("none", columns=()),
        FrictionModel("viscous", columns=("viscous",)),
        FrictionModel("symmetric", columns=("viscous", "coulomb")),
        FrictionModel("asymmetric"),
        FrictionModel("described", law=None),
        FrictionModel(
            "stribeck", "stribeck", grid={"velocity": (0.03, 0.1), "static_ratio": (1.3,)}
        ),
        FrictionModel("smooth", "smooth", grid=TRIED),
        FrictionModel(
            "directional", "smooth", ("viscous", "viscous-", "coulomb", "offset"), grid=TRIED
        ),
        FrictionModel("thermal", "smooth", ("viscous", "thermal", "coulomb", "offset"), grid=TRIED),
        FrictionModel("grotjahn", "smooth", ROOTED, grid=TRIED),
        FrictionModel("loaded", "smooth", ("viscous", "coulomb", "offset", "load"), grid=TRIED),
        FrictionModel("loaded-grotjahn", "smooth", (*ROOTED, "load"), grid=TRIED),
        FrictionModel("dahl", "lugre", (*SLIDING, "bristle_stiffness")),
        FrictionModel("lugre", "lugre", (*SLIDING, *BRISTLE_COLUMNS)),
    )
}


def with_memory(model: FrictionModel) -> FrictionModel:
    """The same with elements that stretch before they slip, on whose radii the log decides."""
    name = "memory" if model.name == "smooth" else f"{model.name}-memory"
    return replace(model, name=name, columns=(*model.columns, "memory"))


def without_memory(model: FrictionModel) -> FrictionModel:
    """The same without them."""
    columns = tuple(column for column in model.columns if column != "memory")
    name = "smooth" if model.name == "memory" else model.name.removesuffix("-memory")
    return replace(model, name=name, columns=columns, radii=())


def simpler_than(model: FrictionModel) -> list[FrictionModel]:
    """Models of the table with the same law, Coulomb friction and fewer columns."""
    return [
        replace(x, constants=model.constants)
        for x in _STATIC.values()
        if x.law == model.law and {*x.columns} < {*model.columns} and may_have_memory(x)
    ]


def may_have_memory(model: FrictionModel) -> bool:
    """True for laws beside which elements with memory can be sought: with Coulomb friction."""
    remembers = model.has_memory or model.has_bristles
    return model.law is not None and "coulomb" in model.columns and not remembers


FRICTIONS: Mapping[str, FrictionModel] = _STATIC | {
    f.name: f for f in map(with_memory, filter(may_have_memory, _STATIC.values()))
}
# by "auto", of those that predict about equally well the first
CHOSEN_AMONG = (
    *("none", "viscous", "symmetric", "smooth", "asymmetric", "stribeck", "directional", "thermal"),
    *("grotjahn", "loaded", "loaded-grotjahn", "described"),
)


def chosen_among(robot: "Robot", heated: bool) -> list[FrictionModel]:
    """The models that "auto" compares: `heated` logs hold temperatures."""
    own = any(link.friction.own is not None for link in robot.model.links)
    without = {"thermal": not heated, "described": not own}
    without |= dict.fromkeys(("loaded", "loaded-grotjahn"), bool(robot.model.closures))
    return [FRICTIONS[name] for name in CHOSEN_AMONG if not without.get(name, False)]


def friction_named(name: Any) -> FrictionModel:
    """A row of the table, or a FrictionModel as it is."""
    if isinstance(name, FrictionModel):
        return name
    if not is_word(name, FRICTIONS):
        raise OptionError(
            f"friction {name!r} does not exist", did_you_mean(name, [*FRICTIONS, "auto"])
        )
    return FRICTIONS[name]
