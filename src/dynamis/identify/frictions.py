"""Friction models by name: which columns a joint gets, and which law shapes them over velocity."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from ..arguments import check_fields, checked, choice, is_word, strict
from ..errors import OptionError, did_you_mean
from ..model.friction import LAWS, sides
from ..model.quantity import resolve
from ..spatial.functions import MATH

if TYPE_CHECKING:
    from ..robot import Robot


@strict
@dataclass(frozen=True)
class FrictionModel:
    """Columns per joint and the law with its constants.

    `coulomb` is one number per joint, the same in both directions; with `offset` the two directions
    differ: coulomb+ = coulomb + offset, coulomb- = -coulomb + offset while the joint moves. `root`
    multiplies |qd|^(1/3) (Grotjahn 2001), `load` the size of the torque that the joint transmits
    (`Friction.load`), `thermal` qd times the temperature above the joint's reference, which the log
    must hold. With `viscous-` viscous friction differs by direction. With `law` None every
    joint keeps the law it has, one of the user's own too, whose linear constants are sought.
    """

    name: str
    law: str | None = "coulomb"
    columns: tuple[str, ...] = ("viscous", "coulomb", "offset")
    constants: Mapping[str, float] = field(default_factory=dict)
    grid: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # tried by "auto"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.law is not None:
            choice(self.law, "law", LAWS)
        object.__setattr__(self, "constants", {**self._defaults, **self.constants})

    @property
    def _defaults(self) -> Mapping[str, float]:
        return {} if self.law is None else LAWS[self.law]

    @property
    def speed(self) -> float:
        """The velocity within which friction changes its sign."""
        return self.constants["velocity"] if self.law == "smooth" else SPEED

    @checked
    def described_by(self, robot: "Robot") -> "FrictionModel":
        """With `law` None: the columns that the robot's own friction has besides."""
        sided = any(isinstance(link.friction.viscous, tuple) for link in robot.model.links)
        more = [*(["viscous-"] if sided else []), *(["load"] if robot.rubs_under_load else [])]
        return self if self.law is not None else replace(self, columns=(*self.columns, *more))

    @checked
    def applied(self, robot: "Robot") -> "Robot":
        """The robot with this law on every joint; coefficients stay what they are."""
        links = []
        for link in robot.model.links:
            viscous = link.friction.viscous
            own: dict[str, Any] = {"load": 0.0}
            if self.law is not None:
                own |= {"law": self.law, "constants": dict(self.constants)}
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
        return f"{self.name} ({inside})" if inside else self.name


SPEED = 0.01  # rad/s or m/s
TRIED = {"velocity": (0.001, 0.003, 0.01)}
SLOW = 3.0  # of that speed: slower rows do not tell friction from rest
ROOTED = ("viscous", "root", "coulomb", "offset")
FRICTIONS: Mapping[str, FrictionModel] = {
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
    )
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
