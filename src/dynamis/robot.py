"""The user's Robot: a model plus everything that can be computed from it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import evaluate as door
from .dynamics import coriolis, energy, equation, friction, kinematics
from .dynamics.lagrange_euler import LagrangeEuler, lagrange_euler_terms
from .dynamics.regressor import regressor
from .errors import ModelError, OptionError, SingularError, did_you_mean
from .model.chain import Chain, chain
from .model.link import Link
from .model.model import GRAVITY, Model, Payload
from .model.parameters import Parameters, parameter_names, parameter_values, with_parameters
from .model.pose import pose
from .model.to_dh import DhTable, dh_table, to_dh
from .spatial.frames import Frame, compose

if TYPE_CHECKING:
    from .ik.solutions import Solutions
    from .model.check import Finding

FRAMES = ("base", "tool")


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

    # -- making one ---------------------------------------------------------------------------

    @classmethod
    def from_dh(
        cls,
        name: str,
        *,
        convention: str,
        links: Sequence[Link],
        gravity: Any = GRAVITY,
        base: Any = None,
        tool: Any = None,
        **rest: Any,
    ) -> "Robot":
        """A robot from a DH table; `convention` is "standard" or "modified", never guessed.

        `base` and `tool` are 4x4 matrices or {"xyz": ..., "rpy": ...}; the rest of the keywords
        are the fields of a model: values, configurations, payload, gear_matrix, rotors, ...
        """
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

    # -- what it is ---------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of joints that move by themselves: the length of q."""
        return self.model.n

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
        return {name: np.array(q) for name, q in self.model.configurations.items()}

    @cached_property
    def limits(self) -> np.ndarray:
        """Joint limits, (n, 2); infinite where none are given."""
        free = (-np.inf, np.inf)
        rows = [x.limits or free for x in self.model.links if x.mimic is None]
        values = self.model.values
        from .model.quantity import resolve

        return np.array([[float(resolve(v, values)) for v in row] for row in rows])

    @cached_property
    def chain(self) -> Chain:
        """The canonical chain over floats; raises if a symbol has no value."""
        return chain(self.model)

    def __repr__(self) -> str:
        kinds = "".join(x.joint[0].upper() for x in self.model.links)
        return f"Robot({self.name!r}, {self.n} joints {kinds}, {self.model.convention})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Robot) and self.model == other.model

    def __hash__(self) -> int:
        return hash((self.name, self.model.links))

    # -- calling kernels ----------------------------------------------------------------------

    def _call(
        self,
        function: Callable[..., Any],
        arguments: Mapping[str, Any],
        output: tuple[int, ...],
        options: Mapping[str, Any],
        sizes: Mapping[str, tuple[int, ...]] | None = None,
    ) -> np.ndarray:
        """Evaluate `function(chain, **arguments, fn=...)`; arguments are joint vectors by default."""
        what = f"robot {self.name!r} with joints {', '.join(self.joint_names)}"
        arrays, dims = [], []
        for name, value in arguments.items():
            core = (sizes or {}).get(name, (self.n,))
            arrays.append(door.as_batch(value, name, core, what))
            dims.append(len(core))
        names = tuple(arguments)

        def call(*scalars: Any) -> Any:
            *values, fn = scalars
            return function(self.chain, **dict(zip(names, values, strict=True)), fn=fn)

        return door.evaluate(call, arrays, dims, output, names, **_options(options))

    def _place(self, link: str | None) -> tuple[int | None, Frame | None]:
        """Tree index and offset of a named frame; None is the tool."""
        if link is None:
            return None, None
        model, c = self.model, self.chain
        if link in model.link_names:
            i = model.link_names.index(link)
            return i, c.bodies[i].user
        if link == model.base_name:
            return -1, c.base
        for frame in model.frames:
            if frame.name == link:
                offset = frame.pose.frame(model.values)
                if frame.link is None:
                    return -1, compose(c.base, offset)
                i = model.link_names.index(frame.link)
                return i, compose(c.bodies[i].user, offset)
        if link == model.tool_name:
            return c.tip, c.tool
        names = [*model.link_names, *(f.name for f in model.frames), model.base_name]
        raise OptionError(f"robot {self.name!r} has no link {link!r}", did_you_mean(link, names))

    # -- kinematics ---------------------------------------------------------------------------

    def fk(self, q: Any, link: str | None = None, **options: Any) -> np.ndarray:
        """Pose of the tool (or of a named link) in the reference frame, (..., 4, 4)."""
        index, offset = self._place(link)
        if index is None:
            return self._call(kinematics.fk, {"q": q}, (4, 4), options)
        function = partial(kinematics.link_pose, link=index, offset=offset)
        return self._call(function, {"q": q}, (4, 4), options)

    def frames(self, q: Any, **options: Any) -> np.ndarray:
        """Base and link frames in the user's own frames (DH or URDF), (..., links + 1, 4, 4)."""
        shape = (len(self.model.links) + 1, 4, 4)
        return self._call(kinematics.frames, {"q": q}, shape, options)

    def jacobian(
        self, q: Any, frame: str = "base", link: str | None = None, **options: Any
    ) -> np.ndarray:
        """J: (v, w) = J qd, linear rows first, in base or tool axes, (..., 6, n)."""
        function = self._jacobian(kinematics.jacobian, frame, link)
        return self._call(function, {"q": q}, (6, self.n), options)

    def jacobian_dot(
        self, q: Any, qd: Any, frame: str = "base", link: str | None = None, **options: Any
    ) -> np.ndarray:
        """dJ/dt along qd, (..., 6, n)."""
        function = self._jacobian(kinematics.jacobian_dot, frame, link)
        return self._call(function, {"q": q, "qd": qd}, (6, self.n), options)

    def _jacobian(self, function: Callable[..., Any], frame: str, link: str | None) -> Callable:
        if frame not in FRAMES:
            raise OptionError(
                f"frame is {frame!r}, expected 'base' or 'tool'", did_you_mean(str(frame), FRAMES)
            )
        index, offset = self._place(link)
        return partial(function, link=index, offset=offset, frame=frame)

    def manipulability(self, q: Any, task: Any = None) -> np.ndarray:
        """Yoshikawa's measure sqrt(det(J J^T)) of the task's rows, (...,)."""
        from .ik.task import task_mask

        J = self.jacobian(q)[..., task_mask(self, task), :]
        if J.shape[-2] > self.n:
            J = np.swapaxes(J, -1, -2)
        with np.errstate(invalid="ignore"):
            return np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))

    def ik(self, T: Any, task: Any = None, **options: Any) -> "Solutions":
        """Every distinct q found that puts the tool at T: .q (k, n), .residual (k,), .reason.

        `task` is "pose" (default for n >= 6), "position" (default for n < 6) or a mask of six;
        `limits=True` keeps only solutions within the joint limits.
        """
        from .ik.solve import solve

        return solve(self, T, task, **_options(options, ("limits", "tolerance", "starts", "seed")))

    def dh(self, convention: str | None = None) -> DhTable:
        """The DH table in either convention, also of a URDF chain."""
        return dh_table(self.model, convention)

    def to_dh(self, convention: str) -> "Robot":
        """The same arm as a DH robot: inertias, friction and drives carried over."""
        return Robot(to_dh(self.model, convention))

    # -- dynamics -----------------------------------------------------------------------------

    def inverse_dynamics(
        self,
        q: Any,
        qd: Any,
        qdd: Any,
        method: str = "newton-euler",
        wrench: Any = None,
        base_motion: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """tau = M qdd + C qd + g + friction + J^T wrench, (..., n).

        `wrench` (..., 6): forces then moments the tool exerts on the world, in the tool frame.
        `base_motion` (..., 9): angular velocity, angular acceleration, linear acceleration of the
        base, in the reference frame.
        """
        _known(method, equation.INVERSE_METHODS, "inverse dynamics method")
        arguments = {"q": q, "qd": qd, "qdd": qdd}
        sizes = {}
        if wrench is not None:
            arguments["wrench"], sizes["wrench"] = wrench, (6,)
        if base_motion is not None:
            if method not in equation.RECURSIONS:
                raise OptionError(
                    f"method {method!r} does not take base_motion",
                    f"use one of {', '.join(equation.RECURSIONS)}",
                )
            arguments["base_motion"], sizes["base_motion"] = base_motion, (9,)
        function = partial(equation.inverse_dynamics, method=method)
        return self._call(function, arguments, (self.n,), options, sizes)

    def forward_dynamics(
        self,
        q: Any,
        qd: Any,
        tau: Any,
        method: str | None = None,
        wrench: Any = None,
        **options: Any,
    ) -> np.ndarray:
        """qdd from torques, (..., n); a singular mass matrix raises and names the joint."""
        method = "walker-orin-3" if method is None else method
        _known(method, equation.FORWARD_METHODS, "forward dynamics method")
        if method == "articulated-body":
            self._refuse_coupling(method)
        arguments = {"q": q, "qd": qd, "tau": tau}
        sizes = {}
        if wrench is not None:
            arguments["wrench"], sizes["wrench"] = wrench, (6,)
        function = partial(equation.forward_dynamics, method=method)
        qdd = self._call(function, arguments, (self.n,), options, sizes)
        if method == "walker-orin-4" or not np.isfinite(qdd).all():
            self._refuse_singular(q)
        return qdd

    def _refuse_coupling(self, method: str) -> None:
        if self.chain.coupling is not None or any(m.coupled for m in self.chain.motors):
            raise OptionError(
                f"robot {self.name!r} couples its joints (mimic joints, a gear matrix or full "
                f"rotors), which method {method!r} cannot follow",
                "use method=None or a walker-orin method",
            )

    def _refuse_singular(self, q: Any) -> None:
        """Name the joint and the sample that make the mass matrix singular, if any does."""
        pivots = self._call(equation.pivots, {"q": q}, (self.n,), {})
        finite = np.isfinite(np.asarray(q, dtype=float)).all(axis=-1)
        bad = np.isnan(pivots) & finite[..., None]
        if not bad.any():
            return
        *sample, _ = (int(i[0]) for i in np.nonzero(bad))
        joint = int(np.flatnonzero(bad[tuple(sample)])[-1])
        where = f" (sample {tuple(sample)})" if sample else ""
        raise SingularError(
            f"robot {self.name!r} has a singular mass matrix at joint "
            f"{self.joint_names[joint]!r} (joint {joint + 1}){where}: nothing resists its "
            "acceleration",
            "give the links it moves an inertia about its axis, or the joint a rotor inertia",
        )

    def mass_matrix(self, q: Any, **options: Any) -> np.ndarray:
        """M(q), reflected rotors included, (..., n, n)."""
        return self._call(equation.mass_matrix, {"q": q}, (self.n, self.n), options)

    def coriolis_matrix(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """C(q, qd) with Mdot - 2C skew, (..., n, n)."""
        shape = (self.n, self.n)
        return self._call(coriolis.coriolis_matrix, {"q": q, "qd": qd}, shape, options)

    def gravity_torque(self, q: Any, **options: Any) -> np.ndarray:
        """g(q), without friction offsets, (..., n)."""
        return self._call(equation.gravity_torque, {"q": q}, (self.n,), options)

    def friction_torque(self, qd: Any, **options: Any) -> np.ndarray:
        """Friction of joints and motors, on the joint side, (..., n)."""
        return self._call(friction.friction_torque, {"qd": qd}, (self.n,), options)

    def kinetic_energy(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """Kinetic energy with the reflected rotors, (...,)."""
        return self._call(energy.kinetic_energy, {"q": q, "qd": qd}, (), options)

    def potential_energy(self, q: Any, **options: Any) -> np.ndarray:
        """Potential energy, zero at the reference origin, (...,)."""
        return self._call(energy.potential_energy, {"q": q}, (), options)

    def momentum(self, q: Any, qd: Any, **options: Any) -> np.ndarray:
        """Linear then angular momentum of the links about the reference origin, (..., 6)."""
        return self._call(energy.spatial_momentum, {"q": q, "qd": qd}, (6,), options)

    def operational_inertia(self, q: Any) -> np.ndarray:
        """(J M^-1 J^T)^-1 of the tool in base axes, (..., 6, 6).

        Directions in which the tool cannot move get zero (pseudo-inverse).
        """
        J, M = self.jacobian(q), self.mass_matrix(q)
        self._refuse_singular(q)
        with np.errstate(invalid="ignore"):
            mobility = J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))
        known = np.isfinite(mobility).all(axis=(-1, -2), keepdims=True)
        inertia = np.linalg.pinv(np.where(known, mobility, 0.0), rcond=1e-10, hermitian=True)
        return np.where(known, inertia, np.nan)

    def torque_terms(self, q: Any, qd: Any, qdd: Any) -> dict[str, np.ndarray]:
        """Inertial, Coriolis-centrifugal, gravity and friction parts of the torque, by name."""
        zero = np.zeros(self.n)
        gravity = self.gravity_torque(q)
        resist = self.friction_torque(qd)
        moving = self.inverse_dynamics(q, qd, zero)
        coriolis_part = moving - gravity - resist
        inertial = self.inverse_dynamics(q, qd, qdd) - moving
        parts = np.broadcast_arrays(inertial, coriolis_part, gravity, resist)
        names = ("inertial", "coriolis", "gravity", "friction")
        return {name: np.array(part) for name, part in zip(names, parts, strict=True)}

    def motor_torque(self, q: Any, qd: Any, qdd: Any, **options: Any) -> np.ndarray:
        """Torque of every motor, behind the gears and with their efficiency, (..., n)."""
        for link, motor in zip(self.model.links, self.chain.motors, strict=True):
            if motor.gear == 0.0:
                raise OptionError(
                    f"joint {link.joint_name!r} has gear 0: its motor torque is not defined"
                )
            if link.mimic is not None:
                raise OptionError(
                    f"joint {link.joint_name!r} mimics {link.mimic[0]!r}: which motor carries it "
                    "is not defined",
                    "lock it when loading",
                )
        arguments = {"q": q, "qd": qd, "qdd": qdd}
        return self._call(equation.motor_torque, arguments, (self.n,), options)

    def lagrange_euler(self, q: Any, qd: Any, qdd: Any) -> LagrangeEuler:
        """The intermediate results of Lagrange-Euler at one state: .A .U .UU .J .D .h .H .C .tau."""
        what = f"one state of robot {self.name!r}"
        state = [
            door.as_batch(value, name, (self.n,), what)
            for name, value in (("q", q), ("qd", qd), ("qdd", qdd))
        ]
        for name, value in zip(("q", "qd", "qdd"), state, strict=True):
            if value.ndim != 1:
                raise OptionError(f"{name} has shape {value.shape}, expected one state ({self.n},)")
        if self.chain.coupling is not None:
            raise OptionError("Lagrange-Euler's tables are for robots without coupled joints")
        terms = lagrange_euler_terms(self.chain, *(v.tolist() for v in state), door.MATH)
        size = range(self.n)
        zero = ((0.0,) * 4,) * 4
        U = [[terms.U[i][j] or zero for j in size] for i in size]
        UU = [[[terms.UU[i][j][k] or zero for k in size] for j in size] for i in size]
        return LagrangeEuler(*(np.array(x) for x in terms._replace(U=U, UU=UU)))

    # -- parameters ---------------------------------------------------------------------------

    @property
    def parameters(self) -> Parameters:
        """Every linear parameter: .names, .values; in the user's frames."""
        return Parameters(
            parameter_names(self.model), np.array(parameter_values(self.model, self.chain))
        )

    def regressor(
        self, q: Any, qd: Any, qdd: Any, qd_ref: Any = None, **options: Any
    ) -> np.ndarray:
        """Y with Y @ parameters.values = inverse_dynamics, (..., n, p).

        With `qd_ref`: M qdd + C(q, qd) qd_ref + g + friction(qd), with Mdot - 2C skew.
        """
        shape = (self.n, len(parameter_names(self.model)))
        arguments = {"q": q, "qd": qd, "qdd": qdd}
        if qd_ref is not None:
            arguments["qd_ref"] = qd_ref
        return self._call(regressor, arguments, shape, options)

    # -- variations ---------------------------------------------------------------------------

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
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise ModelError(f"values has shape {vector.shape}, expected ({size},) finite numbers")
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

    # -- checking and keeping -----------------------------------------------------------------

    def check(self) -> "list[Finding]":
        """Preflight: findings with level, where, what is wrong and what to do."""
        from .preflight import preflight

        return preflight(self)

    def save(self, path: str | Path) -> None:
        """Write the model as .toml or .urdf; `dy.load` reads it back."""
        from .model.files import save_model

        save_model(self.model, path)


def load(
    source: str | Path, tip: str | None = None, lock: Mapping[str, float] | None = None
) -> Robot:
    """A robot by catalogue name, or from a .toml or .urdf file.

    For a URDF, `tip` names the link that carries the tool, `lock` holds joints at a value.
    """
    from .model.files import load_model  # XML and TOML are only needed here

    return Robot(load_model(source, tip=tip, lock=lock))


def _known(name: Any, known: Sequence[str], what: str) -> None:
    if name not in known:
        raise OptionError(f"{what} {name!r} does not exist", did_you_mean(str(name), known))


def _options(
    options: Mapping[str, Any], known: Sequence[str] = ("out", "threads", "dtype")
) -> Mapping[str, Any]:
    unknown = next((key for key in options if key not in known), None)
    if unknown is not None:
        raise OptionError(f"unknown option {unknown!r}", did_you_mean(unknown, known))
    return options
