"""The user's Robot."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, known_options
from ..compile import arrays as door
from ..errors import DynamisWarning, ModelError, OptionError, did_you_mean, shown
from ..lazy import cached_property
from ..model.link import Link
from ..model.model import GRAVITY, Model, Payload
from ..model.parameters import parameter_names, with_parameters
from ..model.pose import pose
from ..model.quantity import resolve
from .calls import finished
from .code import CodeMethods
from .elsewhere import no_attribute
from .kinematics import KinematicMethods

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..base.significance import Significance
    from ..ik.solutions import Solutions
    from ..model.check.finding import Finding
    from ..model.dh.table import DhTable


class Robot(KinematicMethods, CodeMethods):
    """A robot arm: `dy.load("puma560")`, a file, or `Robot.from_dh(...)`.

    Every method takes array-likes, broadcasts leading axes and returns float64 arrays; every one
    takes `out=`, `threads=` and `dtype=`. SI units, radians. A Robot does not change: variations
    return a new one.
    """

    def __init__(self, model: Model):
        if not isinstance(model, Model):
            raise ModelError(
                f"Robot got {type(model).__name__}, expected a Model",
                "use dy.load(...) or dy.Robot.from_dh(...)",
            )
        super().__init__(model)

    @classmethod
    def from_dh(
        cls,
        name: str,
        *,
        convention: str | None = None,
        links: Sequence[Link] = (),
        gravity: Any = GRAVITY,
        base: Any = None,
        tool: Any = None,
        **rest: Any,
    ) -> "Robot":
        """A robot from a DH table; `convention` is "standard" or "modified", never guessed.

        `base` and `tool` are 4x4 matrices or {"xyz": ..., "rpy": ...}; the rest of the keywords
        are the fields of a model: values, configurations, payload, gear_matrix, rotors, ...
        """
        if convention is None:
            raise OptionError(
                "from_dh was called without convention",
                "say convention='standard' (Denavit-Hartenberg) or 'modified' (Craig): the numbers "
                "of one are wrong in the other",
            )
        known = set(Model.__dataclass_fields__)
        unknown = next((key for key in rest if key not in known), None)
        if unknown is not None:
            raise OptionError(
                f"from_dh got unknown keyword {unknown!r}", did_you_mean(unknown, sorted(known))
            )
        model = Model(
            name=name,
            convention=convention,
            links=links,  # type: ignore[arg-type]
            gravity=gravity,
            base=pose(base, "base"),
            tool=pose(tool, "tool"),
            **rest,
        )
        return cls(model)

    @classmethod
    @checked
    def from_axes(
        cls,
        name: str,
        axes: Sequence[Any],
        *,
        convention: str = "modified",
        base: Any = None,
        tool: Any = None,
        **rest: Any,
    ) -> "Robot":
        """A robot from its joint axes by the Denavit-Hartenberg procedure, without bodies yet.

        Each axis is ("revolute" or "prismatic", point, direction) in the reference frame at q = 0;
        `base` and `tool` are poses in the same frame.
        """
        from ..model.dh.axes import Axis
        from ..model.dh.procedure import dh_from_axes

        if "links" in rest:
            raise OptionError("from_axes got links, expected none: it makes them from the axes")
        given = list(axes) if isinstance(axes, Sequence) and not isinstance(axes, str) else None
        if given is None:
            raise ModelError(f"axes is {shown(axes)}, expected a list of (kind, point, direction)")
        lines = [x if isinstance(x, Axis) else Axis(*_axis(x, i)) for i, x in enumerate(given)]
        frames = [pose(x, what).frame({}) for x, what in ((base, "base"), (tool, "tool"))]
        found = dh_from_axes(lines, convention, *frames)
        if found.doubt:
            warnings.warn(f"{name!r}: {found.doubt}", DynamisWarning, stacklevel=2)
        links = [Link(**row._asdict()) for row in found.rows]
        return cls.from_dh(
            name, convention=convention, links=links, base=found.base, tool=found.tool, **rest
        )

    # -- what it is ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.model.joint_names

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the moving links."""
        return self.model.link_names

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of free fall, in the reference frame."""
        return np.array(self.chain.gravity)

    @cached_property
    def configurations(self) -> Mapping[str, np.ndarray]:
        """Named joint positions."""
        return MappingProxyType(
            {name: _frozen(np.array(q)) for name, q in self.model.configurations.items()}
        )

    @cached_property
    def limits(self) -> np.ndarray:
        """Joint limits, (n, 2); infinite where none are given."""
        free = (-np.inf, np.inf)
        rows = [x.limits or free for x in self.model.links if x.mimic is None]
        numbers = [[float(resolve(v, self.model.values)) for v in row] for row in rows]
        return _frozen(np.array(numbers))

    if not TYPE_CHECKING:  # a type checker should still know what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for what is not there: say what it is called here."""
            if name.startswith("_") or hasattr(type(self), name):  # a property that failed
                return object.__getattribute__(self, name)
            raise no_attribute(name, [x for x in dir(type(self)) if not x.startswith("_")])

    def __repr__(self) -> str:
        kinds = "".join(x.joint[0].upper() for x in self.model.links)
        return f"Robot({self.name!r}, {self.n} joints {kinds}, {self.model.convention})"

    def _repr_html_(self) -> str:
        from ..equations.show import robot_html

        return robot_html(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.name, self.model.links))

    @checked
    def dh(self, convention: str | None = None) -> "DhTable":
        """The DH table in either convention, also of a URDF chain."""
        from ..model.dh.table import dh_table

        return dh_table(self.model, convention)

    def check(self) -> "list[Finding]":
        """Preflight: findings with level, where, what is wrong and what to do."""
        from .preflight import preflight

        return preflight(self)

    def manipulability(self, q: Any, task: Any = None, **options: Any) -> np.ndarray:
        """Yoshikawa's measure sqrt(det(J J^T)) of the task's rows, (...,)."""
        from ..ik.target import task_mask

        J = self.jacobian(q)[..., task_mask(self, task), :]
        if J.shape[-2] > self.n:
            J = np.swapaxes(J, -1, -2)
        with np.errstate(invalid="ignore"):
            volume = np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))
        return finished(volume, options)

    def ik(self, T: Any, task: Any = None, **options: Any) -> "Solutions":
        """Every distinct q found that puts the tool at T: .q (k, n), .residual (k,), .reason.

        `task` is "pose" (default for n >= 6), "position" (default for n < 6) or a mask of six;
        `limits=True` keeps only solutions within the joint limits.
        """
        from ..ik.solve import solve

        known = ("limits", "tolerance", "starts", "seed")
        return solve(self, T, task, **known_options(options, known))

    @checked
    def significance(self, percent: float = 1.0, **options: Any) -> "Significance":
        """Which base parameters contribute less than `percent` of the torque, and an APPROXIMATE
        robot without them: .shares, .dropped, .approximate, .error (measured, in percent).
        """
        from ..base.significance import significance

        known = ("speed", "acceleration", "samples", "seed")
        return significance(self, percent, **known_options(options, known))

    @checked
    def plot(self, q: Any, frames: bool = True, path: Any = None, ax: Any = None) -> "Figure":
        """A picture of the arm at q (n,); of several q (K, n) the last is solid.

        `frames` draws the axes of every link's frame, `path` also writes the picture, `ax` draws
        on matplotlib axes of your own.
        """
        from ..plots.robot_plot import plot_robot

        return plot_robot(self, q, frames=frames, path=path, ax=ax)

    # -- variations: every one returns a new Robot --------------------------------------------

    def to_dh(self, convention: str) -> "Robot":
        """The same arm as a DH robot: inertias, friction and drives carried over."""
        from ..model.dh.convert import to_dh

        return Robot(to_dh(self.model, convention))

    def with_payload(self, mass: Any, com: Any = (0, 0, 0), inertia: Any = None) -> "Robot":
        """Carrying a body: com in the tool frame, inertia about it. Replaces any other payload."""
        payload = Payload(mass=mass, com=com, inertia=inertia)
        return Robot(replace(self.model, payload=payload))

    def with_gravity(self, gravity: Any) -> "Robot":
        """Under another gravity: the acceleration of free fall in the reference frame."""
        return Robot(replace(self.model, gravity=gravity))

    def with_parameters(self, values: Any) -> "Robot":
        """With another parameter vector, in the order of `parameters.names`."""
        size = len(parameter_names(self.model))
        vector = door.as_batch(values, "values", (size,), f"the parameters of {self.name!r}")
        if vector.ndim != 1:
            raise ModelError(f"values has shape {vector.shape}, expected ({size},)")
        if not np.isfinite(vector).all():
            first = int(np.flatnonzero(~np.isfinite(vector))[0])
            name = parameter_names(self.model)[first]
            raise ModelError(
                f"values[{first}] ({name}) is {vector[first]}, expected finite numbers"
            )
        return Robot(with_parameters(self.model, vector.tolist()))

    def with_values(self, **values: float) -> "Robot":
        """With values for symbols."""
        unknown = next((v for v in values if v not in self.model.symbols), None)
        if unknown is not None:
            raise OptionError(
                f"robot {self.name!r} has no symbol {unknown!r}",
                did_you_mean(unknown, self.model.symbols),
            )
        return Robot(replace(self.model, values={**self.model.values, **values}))

    def save(self, path: str | Path) -> None:
        """Write the model as .toml or .urdf; `dy.load` reads it back."""
        from ..model.formats.files import save_model

        save_model(self.model, path)


def _axis(given: Any, index: int) -> tuple[Any, Any, Any]:
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != 3:
        raise ModelError(f"axes[{index}] is {shown(given)}, expected (kind, point, direction)")
    kind, point, direction = given
    return kind, point, direction


def _frozen(array: np.ndarray) -> np.ndarray:
    """The array, read-only: a Robot does not change."""
    array.flags.writeable = False
    return array


def load(
    source: str | Path, tip: str | None = None, lock: Mapping[str, float] | None = None
) -> Robot:
    """A robot by catalogue name, or from a .toml or .urdf file.

    For a URDF, `tip` names the link that carries the tool, `lock` holds joints at a value.
    """
    from ..model.formats.files import load_model  # XML and TOML are only needed here

    return Robot(load_model(source, tip=tip, lock=lock))
