"""The user's Robot."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, final, overload

import numpy as np

from ..arguments import (
    Given,
    checked,
    choice,
    flag,
    formerly,
    is_word,
    known_options,
    one_of,
    positive,
    strict,
)
from ..compile import arrays
from ..compile.kernels import (
    FORWARD_METHODS,
    INVERSE_METHODS,
    OPTIMISE,
    RECURSIONS,
    WRENCH,
    Kernel,
    kernel_named,
    row_taking,
)
from ..dynamics.elements.springs import refuse_coincident
from ..dynamics.mobility import first_assembly
from ..errors import (
    ModelError,
    OptionError,
    SymbolError,
    counted,
    shown,
    warn,
)
from ..lazy import cached_property
from ..model.chain import Chain
from ..model.check.finding import Findings
from ..model.drive import Drive
from ..model.friction import LAWS, Friction
from ..model.link import Link
from ..model.model import GRAVITY, Model, Payload
from ..model.parameters import (
    Parameters,
    parameter_names,
    parameter_values,
    refuse_taken,
)
from ..model.pose import pose
from ..model.quantity import resolve
from ..model.schema import schema
from ..model.spring import Spring
from . import terms, variations
from .calls import Calls, fast, no_attribute, with_call_options, with_keywords
from .closing import refuse_immobile, refuse_undriven
from .placing import place_of, refuse_coupled, refuse_motorless, seen_from

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import Unpack

    import casadi
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike, DTypeLike

    from ..base.base_parameters import BaseParameters, Significance
    from ..compile.program import Cost, Program
    from ..dynamics.formulations.observation import ObservationMatrix
    from ..dynamics.gibbs_appell import GibbsAppell
    from ..dynamics.lagrange_euler import LagrangeEuler
    from ..equations.equations import Equations
    from ..equations.kinematics.equations import KinematicEquations
    from ..ik.batch import PoseSolutions
    from ..ik.singularity import Singularity
    from ..ik.solve import Solutions
    from ..model.dh.axes import Axis
    from ..model.dh.table import DhTable
    from ..model.world import World
    from .distance import CollisionPairs
    from .free_body import FreeBody
    from .keywords import (
        ArrayKernel,
        DriveFields,
        FrictionFields,
        IkOptions,
        LinkFields,
        ManyKernel,
        ManyOptions,
        ManyPoses,
        Method,
        ModelFields,
        NamedOptions,
        OnePose,
        Options,
        PerJoint,
        PoseLike,
        Quantities,
        Quantity,
        SpringFields,
        Task,
        Three,
    )
    from .resonances import Resonances

NEWTON_EULER = "newton-euler"
COMPILED_INVERSE = (NEWTON_EULER, "gibbs-appell")
FEW = 16  # joints up to which gibbs-appell, whose operations grow with their square, is compiled
COMPILED_FORWARD = ("walker-orin-3", "articulated-body")
PARAMETERS = ("inline", "argument")
CONSTANTS = tuple(name for law in LAWS.values() for name in law)  # of friction


def _parameters_second(given: tuple[Any, ...], named: dict[str, Any]) -> Given | None:
    """A call (name, parameters, method) of `Robot.kernel` as (name, method, parameters=...)."""
    if len(given) > 1 and is_word(given[1], PARAMETERS) and "parameters" not in named:
        return (given[0], *given[2:]), {"parameters": given[1], **named}
    return None


@strict
@final
class Robot:
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
        self.model = model
        self._calls = Calls(model)
        refuse_taken(model)
        with suppress(SymbolError):  # of a symbol without a value: it may still get one
            if model.closures:
                refuse_immobile(self.chain, model)
            if model.springs:
                refuse_coincident(self.chain, [str(spring.name) for spring in model.springs])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model,)

    @classmethod
    def from_dh(
        cls,
        name: str,
        *,
        convention: str | None = None,
        links: Sequence[Link] = (),
        gravity: "Quantities" = GRAVITY,
        base: "PoseLike" = None,
        tool: "PoseLike" = None,
        **rest: "Unpack[ModelFields]",
    ) -> "Robot":
        """A robot from a DH table; `convention` is "standard" or "modified", never guessed.

        `base` and `tool` are 4x4 matrices or {"xyz": ..., "rpy": ...}; the rest of the keywords
        are the fields of a model: values, configurations, payload, gear_matrix, rotors, ...
        """
        known_options(rest, Model.__dataclass_fields__)
        if convention is None:
            raise OptionError(
                "from_dh was called without convention",
                "say convention='standard' (Denavit-Hartenberg) or 'modified' (Craig): the numbers "
                "of one are wrong in the other",
            )
        fields: Any = {"links": links, "gravity": gravity, **rest}
        poses = {"base": pose(base, "base"), "tool": pose(tool, "tool")}
        return cls(Model(name=name, convention=convention, **poses, **fields))

    @classmethod
    @checked
    def from_axes(
        cls,
        name: str,
        axes: "Sequence[Axis | tuple[str, Sequence[float], Sequence[float]]]",
        *,
        convention: str = "modified",
        base: "PoseLike" = None,
        tool: "PoseLike" = None,
        **rest: "Unpack[ModelFields]",
    ) -> "Robot":
        """A robot from its joint axes by the Denavit-Hartenberg procedure, without bodies yet.

        Each axis is ("revolute" or "prismatic", point, direction) in the reference frame at q = 0;
        `base` and `tool` are poses in the same frame. Without `tool` it is on the last axis: at its
        point, z along its direction, x across it and nearest to the x of the reference frame.
        """
        from ..model.dh.axes import axes_of
        from ..model.dh.procedure import dh_from_axes

        if "links" in rest:
            raise OptionError("from_axes got links, expected none: it makes them from the axes")
        given = list(axes) if isinstance(axes, Sequence) and not isinstance(axes, str) else None
        if given is None:
            raise ModelError(f"axes is {shown(axes)}, expected a list of (kind, point, direction)")
        end = None if tool is None else pose(tool, "tool").frame({})
        found = dh_from_axes(axes_of(given), convention, pose(base, "base").frame({}), end)
        if found.doubt:
            warn(f"{name!r}: {found.doubt}")
        given = {"links": found.rows, "base": found.base, "tool": found.tool, **rest}
        return cls.from_dh(name, convention=convention, **given)

    # -- what it is ---------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def n(self) -> int:
        """Number of joints that move by themselves: the length of q."""
        return self.model.n

    @cached_property
    def chain(self) -> Chain:
        """The canonical chain over floats; raises if a symbol has no value."""
        return self._calls.chain

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the entries of q."""
        return self.model.joint_names

    @property
    def joint_kinds(self) -> tuple[str, ...]:
        """ "revolute" or "prismatic" for every entry of q."""
        return self.model.joint_kinds

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
        """Joint positions (n,) that the model names, by name."""
        return MappingProxyType(
            {name: _frozen(np.array(q)) for name, q in self.model.configurations.items()}
        )

    @property
    def active(self) -> list[int]:
        """Entries of q whose joints have a drive, q[..., robot.active]: all but passive ones."""
        return list(self.model.active)

    @property
    def driven(self) -> list[int]:
        """Entries of q that controllers see, q[..., robot.driven]: all, or the drives of loops."""
        return list(self.model.driven)

    @property
    def drive_names(self) -> tuple[str, ...]:
        """Names of the joints that controllers see."""
        return tuple(self.joint_names[k] for k in self.driven)

    @property
    def independent(self) -> list[int]:
        """Entries of q that decide all others: the drives, where there are as many as needed."""
        found = self.chain.mobility
        return list(range(self.n)) if found is None else list(found.independent)

    @cached_property
    def home(self) -> np.ndarray:
        """Where a simulation without trajectory starts unasked: q = 0; with closures assembled."""
        if not self.model.closures:
            return _frozen(np.zeros(self.n))
        return _frozen(np.array(first_assembly(self.model)))

    @property
    def dof(self) -> int:
        """Degrees of freedom: n, less what closures hold."""
        return len(self.independent)

    @property
    def closure_rows(self) -> tuple[str, ...]:
        """Names of the entries of `closure_error` and `constraint_forces`."""
        return self.model.closure_rows

    @cached_property
    def limits(self) -> np.ndarray:
        """Joint limits, (n, 2); infinite where none are given."""
        free = (-np.inf, np.inf)
        rows = [x.limits or free for x in self.model.moving_links]
        numbers = [[float(resolve(v, self.model.values)) for v in row] for row in rows]
        return _frozen(np.array(numbers))

    if not TYPE_CHECKING:  # a type checker should still know what is missing

        def __getattr__(self, name: str) -> Any:
            """Only called for what is not there: say what it is called here."""
            if name.startswith("_") or hasattr(type(self), name):  # a property that failed
                return object.__getattribute__(self, name)
            raise no_attribute(name, [x for x in dir(type(self)) if not x.startswith("_")])

    def __repr__(self) -> str:
        if self.model.closures:
            return f"Robot({self.name!r}, {self.model.size_text}, {self.model.convention})"
        kinds = "".join(kind[0].upper() for kind in self.joint_kinds)
        more = len(self.model.links) - self.n
        size = f"{counted(self.n, 'joint')} {kinds}" + (f" + {more} mimic" if more else "")
        return f"Robot({self.name!r}, {size}, {self.model.convention})"

    def _repr_html_(self) -> str:
        from .html import robot_html

        return robot_html(self.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.name, self.model.links))

    # -- kinematics --------------------------------------------------------------------------------

    @fast
    def fk(
        self, q: "ArrayLike", link: str | None = None, **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Pose of the tool (or of a named link) in the reference frame, (..., 4, 4)."""
        return self._calls("fk", {"q": q}, options, {"link": link}, **place_of(self._calls, link))

    @fast
    def frames(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Base and link frames in the user's own frames (DH or URDF), (..., links + 1, 4, 4)."""
        return self._calls("frames", {"q": q}, options)

    @fast
    def jacobian(
        self,
        q: "ArrayLike",
        frame: str = "base",
        link: str | None = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """J: (v, w) = J qd, linear rows first, in base or tool axes, (..., 6, n)."""
        words, chosen = {"frame": frame, "link": link}, seen_from(self._calls, frame, link)
        return self._calls("jacobian", {"q": q}, options, words, **chosen)

    @fast
    def jacobian_dot(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        frame: str = "base",
        link: str | None = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """dJ/dt along qd, (..., 6, n)."""
        words, chosen = {"frame": frame, "link": link}, seen_from(self._calls, frame, link)
        return self._calls("jacobian_dot", {"q": q, "qd": qd}, options, words, **chosen)

    # -- closed loops ------------------------------------------------------------------------------

    @fast
    def closure_error(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """How far every condition of the closures is from being met, m or rad, (..., rows)."""
        return self._calls("closure_error", {"q": q}, options)

    @fast
    def closure_jacobian(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """J with d/dt closure_error = J qd, (..., rows, n)."""
        return self._calls("closure_jacobian", {"q": q}, options)

    @fast
    def closure_status(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """0: closed; 1: near a singular configuration of the drives; 2: not closed, (...,).

        Of an arm without closures: 0.
        """
        return self._calls("closure_status", {"q": q}, options)

    @fast
    def joint_rates(
        self, q: "ArrayLike", qd_active: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """qd of all joints from those of the drives (`independent`), (..., n)."""
        return self._calls("joint_rates", {"q": q, "qd_active": qd_active}, options)

    @fast
    def joint_accelerations(
        self, q: "ArrayLike", qd: "ArrayLike", qdd_active: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """qdd of all joints from those of the drives (`independent`), at qd (..., n), (..., n)."""
        arguments = {"q": q, "qd": qd, "qdd_active": qdd_active}
        return self._calls("joint_accelerations", arguments, options)

    @fast
    def drive_jacobian(
        self,
        q: "ArrayLike",
        frame: str = "base",
        link: str | None = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """J: (v, w) of the tool (the platform) = J times the rates of the drives, (..., 6, dof)."""
        words = {"frame": frame, "link": link}
        chosen = seen_from(self._calls, frame, link)
        return self._calls("drive_jacobian", {"q": q}, options, words, **chosen)

    @fast
    def constraint_forces(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        wrench: "ArrayLike | None" = None,
        link_forces: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """Forces and moments of the closures in a motion, (..., rows) as `closure_rows` names them.

        What the first link exerts on the second, in the axes of the first frame. A condition that
        others imply carries nothing.
        """
        refuse_undriven(self._calls)
        arguments = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "base_motion": base_motion}
        arguments["link_forces"] = link_forces
        return self._calls("constraint_forces", arguments, options)

    @fast
    def closure_reactions(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        wrench: "ArrayLike | None" = None,
        link_forces: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """Force then moment that holds every closure in a motion, (..., closures, 6), N and N m.

        What the first link exerts on the second at the origin of the second frame, in the axes of
        the first: `constraint_forces` put together. A condition that others imply carries nothing.
        """
        refuse_undriven(self._calls)
        arguments = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "base_motion": base_motion}
        arguments["link_forces"] = link_forces
        return self._calls("closure_reactions", arguments, options)

    def assemble(
        self,
        q_active: "ArrayLike",
        *,
        limits: bool | str = "passive",
        q0: "ArrayLike | None" = None,
        starts: int | None = None,
        seed: int = 0,
    ) -> np.ndarray:
        """Every assembly found with the drives (`independent`) at q_active (dof,), (k, n).

        Revolute joints come in (-pi, pi]. Limits of passive joints count; with `limits=True` all
        do, with `limits=False` none. `q0=` puts the nearest first. `starts` and `seed` are those
        of the search.
        """
        from ..ik.assemble import assemble

        return assemble(self, q_active, limits=limits, q0=q0, starts=starts, seed=seed)

    @overload
    def project(self, q: "ArrayLike", qd: None = None) -> np.ndarray: ...
    @overload
    def project(self, q: "ArrayLike", qd: "ArrayLike") -> tuple[np.ndarray, np.ndarray]: ...
    def project(self, q: "ArrayLike", qd: "ArrayLike | None" = None) -> Any:
        """The nearest configuration that closes, (..., n); with qd also the nearest rates."""
        from ..ik.assemble import project

        return project(self, q, qd)

    def without_closures(self) -> "Robot":
        """The tree with its closures taken out and every joint driven."""
        return Robot(variations.without_closures(self.model))

    def with_closure_limits(
        self,
        tolerance: float | None = None,
        condition: float | None = None,
        nan: bool | None = None,
    ) -> "Robot":
        """With another `tolerance` (m, rad) of what counts as closed, or another `condition`.

        Without a tolerance it is 1e-6, or 1e-5 of the mechanism's size in m if that is less.
        Loops worse conditioned than `condition` are near a singular configuration: calls raise
        there; with nan=True such samples of a batch are NaN instead, and `closure_status` tells
        which.
        """
        given = {"tolerance": tolerance, "condition": condition, "nan": nan}
        return Robot(variations.with_closure_limits(self.model, **given))

    @checked
    def with_home(self, q: "ArrayLike") -> "Robot":
        """A closed mechanism with q (n,) as its first configuration, `home`.

        It starts from there unasked, and its control computer takes it to be in the assembly that
        leads to: drives alone do not tell.
        """
        return Robot(variations.with_home(self._calls, q))

    # -- dynamics ----------------------------------------------------------------------------------

    @fast
    def inverse_dynamics(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        method: "Method" = "newton-euler",
        wrench: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        link_forces: "ArrayLike | None" = None,
        temperature: "ArrayLike | None" = None,
        preload: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """tau = M qdd + C qd + g + friction + J^T wrench + sum J_i^T link_forces_i, (..., n).

        `wrench` (..., 6): forces then moments the tool exerts on the world, in the tool frame.
        `base_motion` (..., 9): angular velocity, angular acceleration, linear acceleration of the
        base, in the reference frame. `link_forces` (..., links, 6): a wrench for every link of
        `link_names`, which the link exerts on the world at the origin of its frame (`frames`), in
        its axes; what acts on the arm is the opposite. `temperature` (..., n): of the joints, deg
        C, where friction depends on it (default: its reference temperature). Methods: newton-euler
        and gibbs-appell (compiled), newton-euler-base, lagrange-euler, kane.

        Of a mechanism with closures: torques of the drives, zero for passive joints. More drives
        than degrees of freedom share the load by the least squares of their torques, or of the
        differences from `preload` (..., n).
        """
        choice(method, "method", INVERSE_METHODS)
        if base_motion is not None and method not in RECURSIONS:
            raise OptionError(
                f"method {method!r} does not take base_motion",
                f"use one of {', '.join(RECURSIONS)}",
            )
        arguments = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "base_motion": base_motion}
        arguments |= {"link_forces": link_forces, "temperature": temperature}
        if self.model.closures:
            arguments["preload"] = preload
            refuse_undriven(self._calls)
        elif preload is not None:
            raise OptionError(f"robot {self.name!r} has no closures: preload does nothing")
        if method not in COMPILED_INVERSE or (method != NEWTON_EULER and self.n > FEW):
            return self._calls.interpreted("inverse_dynamics", arguments, options, method=method)
        chosen = (
            {} if method == NEWTON_EULER else {"method": method}
        )  # the default has its own code
        return self._calls("inverse_dynamics", arguments, options, {"method": method}, **chosen)

    @fast
    def forward_dynamics(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        tau: "ArrayLike",
        method: "Method | None" = None,
        wrench: "ArrayLike | None" = None,
        link_forces: "ArrayLike | None" = None,
        temperature: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """qdd from torques, (..., n); a singular mass matrix raises and names the joint.

        `wrench`, `link_forces`, `temperature` and `base_motion` are those of `inverse_dynamics`
        (`dy.trajectory.BaseMotion` makes it of poses and of IMUs). Methods: None picks the cheapest
        by operation count; walker-orin-1, -2, -3, -4, articulated-body.
        """
        if method is not None:
            choice(method, "method", FORWARD_METHODS)
        if method is not None and self.model.closures:
            raise OptionError(
                f"method {method!r} is for arms without closures", "leave method out, or None"
            )
        if method == "articulated-body":
            refuse_coupled(self.model, self.chain, "articulated-body")
        arguments = {"q": q, "qd": qd, "tau": tau, "wrench": wrench, "base_motion": base_motion}
        arguments |= {"link_forces": link_forces, "temperature": temperature}
        chosen = {} if method is None else {"method": method}
        if method is None or method in COMPILED_FORWARD:
            return self._calls("forward_dynamics", arguments, options, {"method": method}, **chosen)
        qdd = self._calls.interpreted("forward_dynamics", arguments, options, **chosen)
        if method == "walker-orin-4" or not np.isfinite(qdd).all():
            self._refuse_singular(q)
        return qdd

    def _refuse_singular(self, q: "ArrayLike") -> None:
        self._calls.refuse_singular(q)

    @fast
    def joint_reactions(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        wrench: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        link_forces: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """Force then moment that carries every joint in a motion, (..., links, 6), N and N m.

        What the link before the joint exerts on the link behind it through bearings, gear and
        motor, in the frame of the joint: of a standard DH table frame i - 1, whose z is its axis
        (of a tree that of the link before), of a modified one frame i, of a URDF the frame of the
        child link; moments are about its origin. A row per link of `link_names`, joints that mimic
        others too. `wrench`, `base_motion` and `link_forces` are those of `inverse_dynamics`.

        The moment about the axis of a revolute joint, or the force along that of a prismatic one,
        is the torque of the drive less friction, reflected rotor, torsion springs and own loads,
        which act within the joint; springs between two points pull at the links. Reflected rotors
        load no bearing; with rotors="full" they are bodies that do. Of elastic joints q is the link
        side. Of a mechanism with closures: with the forces of its closures (`closure_reactions`);
        conditions that others imply carry nothing.
        """
        arguments = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench, "base_motion": base_motion}
        arguments["link_forces"] = link_forces
        if self.model.closures:
            refuse_undriven(self._calls)
        return self._calls("joint_reactions", arguments, options)

    @fast
    def mass_matrix(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """M(q), reflected rotors included, (..., n, n).

        Of a mechanism with closures: over its independent joints, (..., dof, dof).
        """
        return self._calls("mass_matrix", {"q": q}, options)

    @fast
    def coriolis_matrix(
        self, q: "ArrayLike", qd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """C(q, qd) with Mdot - 2C skew, (..., n, n); with closures (..., dof, dof)."""
        return self._calls("coriolis_matrix", {"q": q, "qd": qd}, options)

    @fast
    def gravity_torque(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """g(q), without friction offsets, (..., n); with closures (..., dof)."""
        return self._calls("gravity_torque", {"q": q}, options)

    @fast
    def friction_torque(
        self, qd: "ArrayLike", temperature: "ArrayLike | None" = None, **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Friction of joints and motors by velocity, on the joint side, (..., n).

        At the reference temperatures of the joints, or at those given (deg C). What grows with the
        load is in `load_friction`.
        """
        arguments = {"qd": qd, "temperature": temperature}
        return self._calls("friction_torque", arguments, options)

    @fast
    def spring_torque(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Torque that holds against the springs at rest, (..., n); not part of `gravity_torque`."""
        return self._calls("spring_torque", {"q": q}, options)

    @fast
    def load_torque(
        self, q: "ArrayLike", qd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Torque against loads of your own (`with_load`), (..., n); not in `gravity_torque`."""
        return self._calls("load_torque", {"q": q, "qd": qd}, options)

    @fast
    def kinetic_energy(
        self, q: "ArrayLike", qd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Kinetic energy with the reflected rotors, (...,)."""
        return self._calls("kinetic_energy", {"q": q, "qd": qd}, options)

    @fast
    def potential_energy(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Potential energy of weights (zero at the reference origin) and springs, (...,).

        And of loads of your own that have an `energy`; the others add nothing.
        """
        return self._calls("potential_energy", {"q": q}, options)

    @fast
    def momentum(self, q: "ArrayLike", qd: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Linear then angular momentum of the links about the reference origin, (..., 6)."""
        return self._calls("momentum", {"q": q, "qd": qd}, options)

    @fast
    def centroidal_momentum(
        self, q: "ArrayLike", qd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Linear momentum, then angular momentum about the centre of mass, (..., 6)."""
        return self._calls("centroidal_momentum", {"q": q, "qd": qd}, options)

    @fast
    def com(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Centre of mass of the arm and its payload in the reference frame, (..., 3)."""
        return self._calls("com", {"q": q}, options)

    @fast
    def com_jacobian(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """J with velocity of the centre of mass = J qd, (..., 3, n)."""
        return self._calls("com_jacobian", {"q": q}, options)

    @with_call_options
    def operational_inertia(self, q: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """(J M^-1 J^T)^-1 of the tool in base axes, (..., 6, 6).

        Directions in which the tool cannot move get zero (pseudo-inverse). Of a mechanism with
        closures: M and J are those of the independent joints (`drive_jacobian`).
        """
        return arrays.stored([terms.operational_inertia(self, q)], options)

    @with_call_options
    def torque_terms(
        self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike", **options: "Unpack[NamedOptions]"
    ) -> dict[str, np.ndarray]:
        """Inertial, Coriolis, gravity, friction, spring and load parts of the torque, by name.

        `out` is a dictionary of arrays by the same names. Of a mechanism with closures: parts of
        the torques of the drives, to which the bodies and the friction of all joints contribute.
        """
        return terms.named_parts(terms.torque_terms(self, q, qd, qdd), options)

    def _effect_torques(self, q: "ArrayLike", qd: "ArrayLike") -> dict[str, np.ndarray]:
        """Torques of all joints, (..., n), for friction and whatever else acts on the robot."""
        return terms.effect_torques(self._calls, q, qd)

    @property
    def rubs_under_load(self) -> bool:
        """Whether friction of some joint grows with the torque it transmits."""
        return self.model.rubs_under_load

    @fast
    def load_shares(self, qd: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """Friction per transmitted torque, of the sign of the motion, (..., n): s of s |T|."""
        return self._calls("load_shares", {"qd": qd}, options)

    @fast
    def load_friction(
        self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """What friction under load (`Friction.load`) adds to the torque, (..., n).

        Neither `friction_torque` nor the regressor holds it: regressor @ parameters + load_friction
        = inverse_dynamics.
        """
        return self._calls("load_friction", {"q": q, "qd": qd, "qdd": qdd}, options)

    @fast
    def motor_torque(
        self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike", **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Torque of every motor, behind the gears and with their efficiency, (..., n).

        Of a mechanism with closures: of the motors of its drives, zero for passive joints.
        """
        refuse_undriven(self._calls)
        refuse_motorless(self.model, self.chain)
        return self._calls("motor_torque", {"q": q, "qd": qd, "qdd": qdd}, options)

    @fast
    def inverse_dynamics_derivatives(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        wrench: "ArrayLike | None" = None,
        **options: "Unpack[ManyOptions]",
    ) -> "Three":
        """(dtau_dq, dtau_dqd, dtau_dqdd), exact, each (..., n, n).

        `wrench` is that of `inverse_dynamics`: it stays, in the tool frame, while q changes. Of a
        mechanism with closures: over its independent joints, the others following.
        """
        arguments = {"q": q, "qd": qd, "qdd": qdd, "wrench": wrench}
        return self._calls("inverse_dynamics_derivatives", arguments, options)

    @fast
    def forward_dynamics_derivatives(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        tau: "ArrayLike",
        wrench: "ArrayLike | None" = None,
        **options: "Unpack[ManyOptions]",
    ) -> "Three":
        """(dqdd_dq, dqdd_dqd, dqdd_dtau), through M^-1, each (..., n, n).

        `wrench` is that of `inverse_dynamics`: it stays, in the tool frame, while q changes. Of a
        mechanism with closures: over its independent joints, the others following.
        """
        if terms.derived_by_inverse(self, tau):
            found = terms.forward_derivatives(self, q, qd, tau, wrench)
            return arrays.stored(found, options)
        arguments = {"q": q, "qd": qd, "tau": tau, "wrench": wrench}
        return self._calls("forward_dynamics_derivatives", arguments, options)

    def lagrange_euler(self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike") -> "LagrangeEuler":
        """Lagrange-Euler's tables at one state: .A .U .UU .J .D .h .H .C .tau, as arrays.

        .D_traces and .h_traces are the matrices whose traces are summed in D and h.
        Of the links alone: no friction, no rotors. Of a mechanism with closures: the tables of its
        tree, .tau of the drives with Lagrange multipliers, and .loops: .J .bias .Z .gamma .f.
        """
        from .tables import lagrange_euler

        return lagrange_euler(self._calls, q, qd, qdd)

    def gibbs_appell(self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike") -> "GibbsAppell":
        """Gibbs-Appell terms: .W .phi .tau, and .G .C .M extracted from W.

        Of the links alone: no friction, no rotors; compiled, and batches. Of a mechanism with
        closures, at one state: .W .G .C .M are projected onto the independent joints by .loops.Z,
        W phi are the torques that these need, and .tau those of the drives; .loops: .J .bias .Z
        .gamma .f.
        """
        from .tables import gibbs_appell

        return gibbs_appell(self._calls, q, qd, qdd)

    def observation_matrix(
        self, q: "ArrayLike", qd: "ArrayLike", qdd: "ArrayLike"
    ) -> "ObservationMatrix":
        """W and Phi of tau = W Phi with the blocks of W, as Rosillo et al. (2010) write them.

        .A .eta .B1 .delta .B2 .a .D .AB .W_l .W_f .W, .Phi_l .Phi_f .Phi with .names, and Gibbs's
        function .G of every link; the last link comes first, rows of D and W are in the order of q.
        Columns of W are those of `regressor`, friction under load is left out. Of a mechanism with
        closures: those of its tree.
        """
        from .tables import observation_matrix

        return observation_matrix(self._calls, q, qd, qdd)

    @checked
    def free_body(
        self,
        link: str | int,
        q: "ArrayLike",
        qd: "ArrayLike | None" = None,
        qdd: "ArrayLike | None" = None,
        wrench: "ArrayLike | None" = None,
    ) -> "FreeBody":
        """Forces and moments on a link (its name, or a number from 0) at one state, by d'Alembert.

        Those of the joint before it, of the links after it, of the tool (`wrench`), its weight and
        its inertia, in base axes; print it, or `.plot()`. Without qd and qdd the arm rests.
        Friction, rotors and torsion springs act in the joints and change none of them.
        """
        from .free_body import free_body

        return free_body(self, link, q, qd, qdd, wrench)

    @property
    def parameters(self) -> Parameters[np.ndarray]:
        """Every linear parameter: .names, .values; in the user's frames."""
        values = np.array(parameter_values(self.model, self.chain))
        return Parameters(parameter_names(self.model), values)

    @checked
    def base_parameters(
        self, inertial_only: bool = False, *, tolerance: float = 1e-9
    ) -> "BaseParameters":
        """The fewest combinations the torques depend on: .rank, .names, .values, .regressor(...).

        `inertial_only` leaves friction and drives out; `tolerance` is that of the numeric rank.
        """
        from ..base import base_parameters

        return base_parameters(self, inertial_only, tolerance)

    @fast
    def regressor(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        qd_ref: "ArrayLike | None" = None,
        base_motion: "ArrayLike | None" = None,
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """Y with Y @ parameters.values = inverse_dynamics, (..., n, p).

        Y leaves out friction under load (`load_friction`), and what a law of your own gives without
        its linear constants. With `qd_ref`: columns of M qdd + C(q, qd) qd_ref + g, with Mdot - 2C
        skew; those of friction are zero, as it is not part of that sum. With `base_motion`: those
        of `inverse_dynamics` on a base that moves.

        Of a mechanism with closures: zero in the rows of passive joints; qd_ref must keep the loops
        closed, and qdd be its rate of change.
        """
        refuse_undriven(self._calls)
        parameter_names(self.model)  # raises for a centre of mass that moves in its link
        if qd_ref is not None and base_motion is not None:
            raise OptionError("regressor got qd_ref and base_motion, expected one of them at most")
        arguments = {"q": q, "qd": qd, "qdd": qdd, "qd_ref": qd_ref, "base_motion": base_motion}
        return self._calls("regressor", arguments, options)

    # -- elastic joints ----------------------------------------------------------------------------

    def resonances(self, q: "ArrayLike") -> "Resonances":
        """Natural frequencies (Hz) and modes at q (..., n), rotors free and locked.

        `.free` and `.locked` (..., k), lowest first, one for every elastic joint and for every
        passive one, which springs may hold; `.free_modes` (..., k, 2, n) of the joints and of their
        motors, `.locked_modes` (..., k, n). About static equilibrium, without damping and friction:
        with the stiffness of gears (their hardening at the torque they hold, teeth in contact),
        springs, loads and gravity. Rigid joints move with their motors. Of a mechanism with
        closures q must close.
        """
        from .resonances import resonances

        return resonances(self, q)

    @fast
    def elastic_inverse_dynamics(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        qddd: "ArrayLike",
        qdddd: "ArrayLike",
        **options: "Unpack[ManyOptions]",
    ) -> "Three":
        """(tau, motor, motor_rate) that move the links of an elastic arm so, each (..., n).

        tau is the torque of the motors in units of the joints, as that of `inverse_dynamics`;
        `motor` and `motor_rate` are their positions and rates in the same units: where the joint
        is rigid, q and qd. A motion of the links decides them by its first four derivatives:
        through the gear goes e = M qdd + C qd + g + friction of the links, K d + hardening d^3 = e
        gives motor = q + d, and tau = B motor'' + friction of the motor + e. Coulomb friction of
        the links counts as constant (its steps have no derivative).

        Damping and backlash of the gear are refused by name: the motor would not follow from the
        motion at one instant.
        """
        refuse_undriven(self._calls)
        arguments = {"q": q, "qd": qd, "qdd": qdd, "qddd": qddd, "qdddd": qdddd}
        return self._calls("elastic_inverse_dynamics", arguments, options)

    @property
    def elastic_parameters(self) -> Parameters:
        """Parameters of both sides of elastic joints, as columns of `elastic_regressor`.

        Those of `parameters`, friction of elastic joints without that of their motors; then, for
        every elastic joint, motor_viscous, motor_coulomb+ and motor_coulomb-; then stiffness,
        damping and hardening.
        """
        from ..dynamics.elastic_regressor import elastic_parameters

        names, values = elastic_parameters(self.model, self.chain)
        return Parameters(names, np.array(values))

    @fast
    def elastic_regressor(
        self,
        q: "ArrayLike",
        qd: "ArrayLike",
        qdd: "ArrayLike",
        motor: "ArrayLike",
        motor_rate: "ArrayLike",
        motor_acceleration: "ArrayLike",
        **options: "Unpack[Options]",
    ) -> np.ndarray:
        """Y with Y @ elastic_parameters.values = torques of both sides, (..., n + m, p).

        Rows: the n joints, whose torque is 0 behind an elastic gear and that of the drive where it
        is rigid; then the motors of the m elastic joints, in the order of q. Motors are in units of
        the joints, (..., n); entries of rigid joints do nothing. As in `regressor`, friction under
        load is left out.
        """
        parameter_names(self.model)  # raises for a centre of mass that moves in its link
        arguments = {"q": q, "qd": qd, "qdd": qdd, "motor": motor, "motor_rate": motor_rate}
        arguments["motor_acceleration"] = motor_acceleration
        return self._calls("elastic_regressor", arguments, options)

    # -- text and code -----------------------------------------------------------------------------

    def program(
        self,
        name: str,
        method: str | None = None,
        parameters: str = "inline",
        optimise: str = "speed",
    ) -> "Program":
        """The straight-line program of a kernel.

        `optimise`: "speed" is what is compiled; "operations" counts sines and cosines as free and
        adds up the angles of parallel axes; "nothing" traces the model as it stands.
        """
        from ..compile.programs import program

        return program(_chosen(name, method, optimise), self.model, _argument(parameters))

    def cost(self, name: str, method: str | None = None, optimise: str = "speed") -> "Cost":
        """Operations of a kernel: .mul .add .div .trig, and .saved by each step of optimisation.

        Of a matrix that a long robot gets column by column: of one column.
        """
        from ..compile.programs import cost, program

        kernel = _chosen(name, method, optimise)
        column = kernel.by_columns(self.model)
        if column is None:
            return cost(kernel, self.model)
        parameters = "seed" not in column.inputs
        return program(replace(column, optimise=optimise), self.model, parameters).cost

    @overload
    def kernel(
        self,
        name: Literal[
            "inverse_dynamics_derivatives",
            "forward_dynamics_derivatives",
            "elastic_inverse_dynamics",
        ],
        method: str | None = None,
        parameters: str = "inline",
    ) -> "ManyKernel": ...
    @overload
    def kernel(
        self, name: str, method: str | None = None, parameters: str = "inline"
    ) -> "ArrayKernel": ...
    @formerly(_parameters_second)
    def kernel(self, name: str, method: str | None = None, parameters: str = "inline") -> Any:
        """A kernel as a function; with parameters="argument" the parameter vector comes last.

        The vector may be one, or one per sample: kernel(q, qd, qdd, values).
        """
        call: Any = self._calls.function(_chosen(name, method), _argument(parameters))
        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"Kernel {name!r} of robot {self.name!r}."
        return call

    @overload
    def equations(
        self, method: str = "lagrange-euler", gravity: str | None = None, *,
        what: Literal["kinematics"],
    ) -> "KinematicEquations": ...  # fmt: skip
    @overload
    def equations(
        self, method: str = "lagrange-euler", gravity: str | None = None, *,
        what: str | None = None,
    ) -> "Equations": ...  # fmt: skip
    def equations(
        self, method: str = "lagrange-euler", gravity: str | None = None, *,
        what: str | None = None,
    ) -> "Equations":  # fmt: skip
        """The equations of motion in closed form: .M .C .g .tau (SymPy), .steps, .latex().

        `method` is "lagrange-euler", "newton-euler", "gibbs-appell" or "kane"; `gravity` names a
        symbol that stands for the size of gravity, in every step of the derivation too. With
        what="kinematics", and of an arm that has no masses by itself, the steps are those of the
        kinematics: frames, Jacobians, singularities, statics, inverse kinematics by hand.
        """
        from ..equations.equations import equations

        return equations(self.model, method, gravity, what)

    def casadi(
        self,
        name: str,
        method: str | None = None,
        parameters: str = "inline",
        wrench: bool = False,
    ) -> "casadi.Function":
        """A kernel as a CasADi Function of column vectors, for optimal control and estimation.

        With `wrench` the wrench of the tool is an argument too, behind the others.
        """
        from ..export.casadi_folder import casadi_function

        if flag(wrench, "wrench"):
            own = kernel_named(name).inputs
            name = row_taking(name.partition(":")[0], tuple(dict.fromkeys((*own, WRENCH)))).name
        return casadi_function(_chosen(name, method), self.model, _argument(parameters))

    @checked
    def export(
        self,
        names: str | Sequence[str],
        target: str = "c",
        directory: str | Path = "out",
        dtype: "DTypeLike | None" = None,
        optimise: str = "speed",
        overwrite: bool = False,
    ) -> list[Path]:
        """Write kernels as source code into a folder that compiles and tests itself.

        One with further arguments has their names behind its own: "inverse_dynamics:wrench".
        `optimise` as for `program`. Files that dynamis did not write are replaced only with
        `overwrite`; else nothing is written.
        """
        from ..export.export import export

        if not isinstance(names, (str, list, tuple)):
            raise OptionError(f"names is {shown(names)}, expected the name of a kernel, or several")
        wanted = [names] if isinstance(names, str) else list(names)
        kind, way = arrays.checked_dtype(dtype).name, choice(optimise, "optimise", OPTIMISE)
        return export(self, wanted, target, Path(directory), kind, way, overwrite)

    # -- other questions ---------------------------------------------------------------------------

    @checked
    def dh(self, convention: str | None = None) -> "DhTable":
        """The DH table in either convention, also of a URDF chain."""
        from ..model.dh.table import dh_table

        return dh_table(self.model, convention)

    def check(self) -> Findings:
        """Preflight: findings with level, where, what is wrong and what to do, worst first."""
        from .preflight import preflight

        return Findings(preflight(self))

    @with_call_options
    def manipulability(
        self, q: "ArrayLike", task: "Task" = None, **options: "Unpack[Options]"
    ) -> np.ndarray:
        """Yoshikawa's measure sqrt(det(J J^T)) of the task's rows, (...,).

        Of a mechanism with closures: of `drive_jacobian`.
        """
        from ..ik.target import task_mask

        found = terms.manipulability(self.drive_jacobian(q)[..., task_mask(self, task), :])
        return arrays.stored([found], options)

    def singularity(
        self, q: "ArrayLike", task: "Task" = None, *, condition: float = 1e3
    ) -> "Singularity":
        """Condition numbers of both kinds of singularities at q (..., n), which must close.

        `.serial` (type 1: the tool loses a direction) and `.parallel` (type 2: the drives do not
        hold the mechanism), (...,); `.kind` names them where one is at least `condition` (1e3),
        `.reason` says of one q what moves or cannot.
        """
        from ..ik.singularity import singularity

        return singularity(self, q, task, condition)

    @overload
    def ik(
        self, T: "OnePose", task: "Task" = None, **options: "Unpack[IkOptions]"
    ) -> "Solutions": ...
    @overload
    def ik(
        self, T: "ManyPoses", task: "Task" = None, **options: "Unpack[IkOptions]"
    ) -> "PoseSolutions": ...
    @overload
    def ik(
        self, T: "ArrayLike", task: "Task" = None, **options: "Unpack[IkOptions]"
    ) -> "Solutions | PoseSolutions": ...
    def ik(
        self,
        T: "ArrayLike",
        task: "Task" = None,
        *,
        limits: bool | str | None = None,
        tolerance: float = 1e-9,
        starts: int | None = None,
        seed: int = 0,
        q0: "ArrayLike | None" = None,
        world: "World" = None,
    ) -> "Solutions | PoseSolutions":
        """Every distinct q found that puts the tool at T: .q (k, n), .residual (k,), .reason.

        `task` is "pose" (default for n >= 6), "position" (default for n < 6) or a mask of six;
        `limits=True` keeps only solutions within the joint limits; `q0=` puts those nearest to it
        first; `world=` keeps those that collide neither with it nor with the arm itself ([]: with
        the arm alone). Of many poses (..., 4, 4) it gives the first solution of each: .q (..., n),
        .found (...,), .residual (...,), and every one in .solutions (..., k, n), NaN behind the
        last.

        Of a mechanism with closures: every working mode. The default of `task` goes by `dof`, and
        limits of passive joints count unless `limits=False`. A type checker takes an array whose
        number of axes it does not know for one pose, and a list of arrays for many.
        """
        from ..ik.solve import solve

        options: Any = {"limits": limits, "tolerance": tolerance, "starts": starts, "seed": seed}
        return solve(self, T, task, q0=q0, world=world, **options)

    @checked
    def distance(self, q: "ArrayLike", world: "World" = None) -> np.ndarray:
        """Distance of the nearest two bodies, (...,) in m: of the arm, its base, and a world.

        Bodies are the shapes of `model.geometry` for collision; negative where they overlap.
        `world` is a list of `dy.Plane`, `dy.Box`, `dy.Sphere` and `dy.Capsule`. Pairs, and those
        that are left out because they always touch: `robot.collision_pairs(world)`.
        """
        from .distance import distance

        return distance(self, q, world)

    @checked
    def collides(self, q: "ArrayLike", world: "World" = None) -> np.ndarray:
        """Whether bodies of the arm overlap, or one with its base or a world, (...,)."""
        from .distance import collides

        return collides(self, q, world)

    @checked
    def collision_pairs(self, world: "World" = None) -> "CollisionPairs":
        """Pairs of bodies: .names, .left_out with reasons, .distances(q), .nearest(q)."""
        from .distance import collision_pairs

        return collision_pairs(self, world)

    @checked
    def significance(
        self,
        percent: float = 1.0,
        *,
        speed: float = 1.0,
        acceleration: float = 1.0,
        samples: int = 2000,
        seed: int = 0,
    ) -> "Significance":
        """Which base parameters contribute less than `percent` of the torque, and an APPROXIMATE
        robot without them: .shares, .dropped, .approximate, .error (measured, in percent).
        """
        from ..base.base_parameters import significance

        return significance(self, percent, speed, acceleration, samples, seed)

    @checked
    def plot(
        self,
        q: "ArrayLike",
        frames: bool = True,
        path: "str | Path | None" = None,
        ax: "Axes | None" = None,
        links: str = "solid",
        labels: bool = True,
    ) -> "Figure":
        """A picture of the arm at q (n,); of several q (K, n) the earlier ones are pale sticks.

        `frames` draws the axes of every link's frame, `labels` names them (x0, z0, ...) and the
        joints; `path` also writes the picture, `ax` draws on matplotlib axes of your own, `links`
        is "solid" or "sticks".
        """
        from ..plots.robot_plot import plot_robot

        return plot_robot(self, q, frames, path, ax, links, labels)

    def plot_workspace(
        self,
        path: "str | Path | None" = None,
        ax: "Axes | None" = None,
        *,
        plane: str | None = None,
        at: float | None = None,
        q0: "ArrayLike | None" = None,
        points: int = 81,
        extent: "Sequence[Sequence[float]] | np.ndarray | None" = None,
        task: "Task" = None,
        limits: bool = True,
        world: "World" = None,
    ) -> "Figure":
        """A map of where the tool can be in a plane, coloured by conditioning.

        `plane` ("xy", "xz", "yz"), `at` (m, along the third axis), `points` along the longer side,
        `extent` ((x0, x1), (y0, y1)), `task`, `limits` (default True). Of all solutions of a point
        the best conditioned counts; with `q0` its working mode alone, with singular curves; with
        `world` ([]: the arm itself) only those that do not collide.
        """
        from ..plots.workspace_plot import plot_workspace

        return plot_workspace(
            self, path, ax, plane=plane, at=at, q0=q0, points=points, extent=extent, task=task,
            limits=limits, world=world,
        )  # fmt: skip

    # -- variations: every one returns a new Robot --------------------------------------------

    def _with_model(self, **changes: Any) -> "Robot":
        """With other fields of its model."""
        return Robot(replace(self.model, **changes))

    def to_dh(self, convention: str) -> "Robot":
        """This arm as a DH robot: inertias, friction and drives carried over."""
        from ..model.dh.convert import to_dh

        return Robot(to_dh(self.model, convention))

    def with_payload(
        self,
        mass: "Quantity",
        com: "Quantities" = (0, 0, 0),
        inertia: "Quantities | Sequence[Quantities] | None" = None,
    ) -> "Robot":
        """Carrying a body: com in the tool frame, inertia about it. Replaces any other payload."""
        body: Any = {"mass": mass, "com": com, "inertia": inertia}
        return self._with_model(payload=Payload(**body))

    @with_keywords(dict.fromkeys((*schema(Friction), *CONSTANTS), ...))
    def with_friction(
        self,
        viscous: "PerJoint" = 0.0,
        coulomb: "PerJoint" = 0.0,
        **more: "Unpack[FrictionFields]",
    ) -> "Robot":
        """With other friction in its joints: `dy.Friction(viscous=..., coulomb=...)`.

        Each is one number for all joints, or a list of one per joint (a number, or a pair moving
        positive, moving negative). `more` are other fields of `dy.Friction`, the same for all.

        arm = dy.load("ur5e").with_friction(viscous=[6, 8, 6, 2, 2, 1], coulomb=2.0)
        """
        return Robot(variations.with_friction(self.model, viscous, coulomb, more))

    @with_keywords(dict.fromkeys(schema(Link), ...))
    def with_link(self, link: "str | int", **fields: "Unpack[LinkFields]") -> "Robot":
        """With other fields of one link (`dy.Link`), by its name or its number from 0 on.

        arm.with_link("link2", mass=4.0, com=(0.2, 0, 0))

        All else stays. Mass, com or inertia of a link that has `linear` parameters take their
        place; a link or joint with a new name keeps what refers to it.
        """
        return Robot(variations.with_link(self.model, link, fields))

    @with_keywords(dict.fromkeys(schema(Drive), ...))
    def with_drive(
        self,
        joint: "str | int",
        drive: "Drive | EllipsisType | None" = ...,
        **fields: "Unpack[DriveFields]",
    ) -> "Robot":
        """With other fields of a joint's drive, or another `drive`; None takes it away.

        arm.with_drive("joint2", gear=120, rotor_inertia=2e-4)
        arm.with_drive(1, dy.Drive(gear=120))

        `joint` is a name or an entry of q. Fields that are not named stay; a joint without a drive
        gets one. A gear takes the place of a screw's lead, and a lead that of a gear.
        """
        return Robot(variations.with_drive(self.model, joint, drive, fields))

    @with_keywords(dict.fromkeys(schema(Spring), ...))
    def with_spring(
        self,
        spring: "str | int | Spring",
        new: "Spring | EllipsisType | None" = ...,
        **fields: "Unpack[SpringFields]",
    ) -> "Robot":
        """With one more spring, or with other fields of one that it has; None takes it away.

        arm.with_spring(dy.Spring(kind="torsion", joint="joint2", stiffness=200))
        arm.with_spring("spring1", stiffness=300)

        A spring of a name that exists, or `new`, takes the place of that one.
        """
        return Robot(variations.with_spring(self.model, spring, new, fields))

    def with_limits(
        self,
        joint: "str | int",
        limits: "Quantities | EllipsisType | None" = ...,
        *,
        velocity_limit: "Quantity | EllipsisType | None" = ...,
        effort_limit: "Quantity | EllipsisType | None" = ...,
    ) -> "Robot":
        """With other limits of a joint, by its name or its entry of q; None: without.

        arm.with_limits("joint1", (-2.0, 2.0), velocity_limit=1.5)

        `limits` are the lowest and highest q; limits that are not named stay. Those of a motor are
        fields of its drive.
        """
        given = {"velocity_limit": velocity_limit, "effort_limit": effort_limit}
        return Robot(variations.with_limits(self.model, joint, limits=limits, **given))

    def at_temperature(self, temperature: "ArrayLike") -> "Robot":
        """The robot whose joints are at rest at these temperatures (deg C), one or one per joint.

        Their friction is that of `Friction.temperature_slope`, from there on; viscous friction of a
        motor that turns one joint belongs to it.
        """
        return Robot(variations.at_temperature(self._calls, temperature))

    def with_load(self, law: object) -> "Robot":
        """With a torque law of your own that the drives must supply too.

        `law` is an instance of a frozen dataclass with torque(self, q, qd, constants, fn), which
        returns n torques (signs as of friction and springs), and perhaps energy(self, q, constants,
        fn). `constants` are its fields that hold numbers, by name; `fn` has sin, exp, select, ...
        It is called once, here. Constants the torque is linear in are parameters
        `<name>.<constant>`; its name is that of the class, or its `name`.

        A class that names `states` has a rate(self, q, qd, constants, fn, state) of them, which
        simulations integrate from 0 on, and a torque with `state` too. All that knows no motion in
        time has states at steady(self, q, qd, constants, fn), or 0 without it.
        """
        return self._with_model(loads=(*self.model.loads, law))

    def with_gravity(self, gravity: "Quantities") -> "Robot":
        """Under another gravity: the acceleration of free fall in the reference frame."""
        return self._with_model(gravity=gravity)

    def with_parameters(self, values: "ArrayLike | Mapping[str, float]") -> "Robot":
        """With another parameter vector, in the order of `parameters.names`; or some, by name.

        robot.with_parameters({"link2.m": 3.0, "joint1.viscous": 0.5}) keeps the others;
        "joint1.coulomb" is that of both directions, "joint1.coulomb+" and "-" one alone.
        """
        return Robot(variations.with_vector(self.model, self.parameters, values))

    def with_constant_com(self, q: "ArrayLike | None" = None) -> "Robot":
        """With centres of mass that stay in their links where they are at q (n,), or at q = 0.

        Of prismatic links described by `com_factor`, whose centres of mass move with q: they have
        no constant parameters, so no `parameters`, `regressor` and base parameters. At this q all
        torques are the same, elsewhere they are those of another arm.
        """
        return Robot(variations.with_constant_com(self._calls, q))

    @checked
    def with_simple_shapes(self, radius: float | None = None) -> "Robot":
        """With capsules, spheres and boxes for collision, which need no other package.

        Each contains the cylinder, hull or mesh that it replaces; of links without shapes for
        collision the visual ones count, of links without any rods of `radius` (default: 0.05 m,
        less for small arms) from joint to joint. Visual shapes stay.
        """
        from .bodies.simple import with_simple_shapes

        wide = None if radius is None else positive(radius, "radius", "metres")
        return Robot(with_simple_shapes(self, wide))

    def with_values(self, **values: float) -> "Robot":
        """A robot with these values for symbols of its model, by name."""
        return Robot(variations.with_values(self.model, values))

    def save(self, path: str | Path, laws: bool = False) -> None:
        """Write the model as .toml or .urdf; `dy.load` reads it back.

        A .urdf file gets back what its own elements were beyond the model: meshes, transmissions.
        A robot with laws of your own is refused, since a file holds no code; `laws=True` writes
        their names and constants into a .toml file, for `dy.load(path, laws={"Hose": Hose})`.
        """
        from ..model.formats.files import save_model

        save_model(self.model, path, flag(laws, "laws"))


def _frozen(array: np.ndarray) -> np.ndarray:
    """The array, read-only: a Robot does not change."""
    array.flags.writeable = False
    return array


def _chosen(name: str, method: str | None, optimise: str = "speed") -> Kernel:
    kernel = replace(kernel_named(name), optimise=choice(optimise, "optimise", OPTIMISE))
    if method is None:
        return kernel
    one_of(method, kernel.formulations, f"kernel {name!r} has no method {shown(method)}")
    return replace(kernel, options={"method": method})


def _argument(parameters: str) -> bool:
    return choice(parameters, "parameters", PARAMETERS) == "argument"


@strict
def load(
    source: str | Path,
    tip: str | None = None,
    lock: Mapping[str, float] | None = None,
    laws: Mapping[str, Callable[..., object]] | None = None,
    run_xacro: bool | Mapping[str, object] = False,
    download: bool = False,
    joints: str | Sequence[str] | None = None,
) -> Robot:
    """A robot by catalogue name, or from a .toml, .urdf, .sdf or MJCF (.xml) file.

    `tip` names the link that is the tool. Without it the tool of a URDF or SDF is the first link
    that the most moving joints lead to, moved on through the fixed links behind it while there is
    exactly one: with a gripper that may be a finger. `robot.model.tool_name` says which it is,
    `robot.check()` where another is as likely. `lock` holds joints of a URDF, SDF or MJCF at a
    value, and `joints` all but those named at 0: a list, or "left_*" for one of two arms. `laws`
    gives the classes of your own laws that a .toml file names: {"Hose": Hose}. A file is data:
    nothing that it names is imported or run.

    A .xacro file is a program. `run_xacro=True` runs it, with your rights, through the package
    xacro; {"ur_type": "ur5e"} instead of True gives it arguments. Only for files you trust.
    $(find PACKAGE) is found without ROS by the package.xml above the file or beside that package,
    or in ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.

    "robot_descriptions:NAME" is an arm of the package robot_descriptions, from its cache on this
    machine; `download=True` lets that package fetch it from the internet if it is not there.
    """
    from ..model.formats.files import load_model  # XML and TOML are only needed here

    options: Any = {"lock": lock, "laws": laws, "run_xacro": run_xacro, "download": download}
    return Robot(load_model(source, tip=tip, joints=joints, **options))
