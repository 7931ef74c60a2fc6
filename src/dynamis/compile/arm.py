"""A robot over any scalar, for functions of one's own, and their compilation."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import checked, whole
from ..dynamics import (
    closed,
    coriolis,
    coupling,
    drive_coordinates,
    drives,
    energy,
    equation,
    forward_dynamics,
    friction,
    kinematics,
    loads,
    springs,
)
from ..dynamics import regressor as regressors
from ..dynamics.reduce import reduced
from ..errors import DynamisError, OptionError, shown
from ..lazy import LOCK, once
from ..model.chain import Chain
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, less, plus, transposed
from ..user_code import explained, location
from . import arrays

if TYPE_CHECKING:
    from ..robot import Robot

Rows = Sequence[Scalars]  # of a matrix
MOST = 10_000  # entries of an argument of a compiled function


class Arm:
    """The robot a scalar-generic function gets: the same algorithms, one sample, any scalar.

    Vectors are sequences of scalars, matrices rows of them; the elementary functions are here too.
    Torques may be computed on a `lean` chain, whose inertias are regrouped.
    """

    def __init__(self, chain: Chain, fn: Functions, lean: Chain | None = None):
        self.chain, self.fn, self.n = chain, fn, chain.n
        self.dof = len(closed.mobility(chain).independent) if chain.closures else chain.n
        self._dynamics: Any = closed if chain.closures else equation
        self.lean = lean or chain
        self.sin, self.cos, self.sqrt, self.exp, self.tanh = (
            fn.sin,
            fn.cos,
            fn.sqrt,
            fn.exp,
            fn.tanh,
        )
        self.sign, self.min, self.max, self.select = fn.sign, fn.min, fn.max, fn.select
        self.floor, self.log, self.atan2 = fn.floor, fn.log, fn.atan2

    def inverse_dynamics(self, q: Scalars, qd: Scalars, qdd: Scalars, **options: Any) -> Scalars:
        """Torques tau of a motion: inertia, Coriolis, gravity, friction, springs, loads, (n,).

        `options` are further arguments of `Robot.inverse_dynamics`, such as `wrench`.
        """
        c = self.chain if options else self.lean
        return self._dynamics.inverse_dynamics(c, q, qd, qdd, self.fn, **options)

    def forward_dynamics(self, q: Scalars, qd: Scalars, tau: Scalars, **options: Any) -> Scalars:
        """Accelerations qdd under the torques tau, (n,); NaN where M(q) is singular.

        `options` are further arguments of `Robot.forward_dynamics`, such as `wrench`.
        """
        c = self.chain if options else self.lean
        return self._dynamics.forward_dynamics(c, q, qd, tau, self.fn, **options)

    def mass_matrix(self, q: Scalars) -> Rows:
        """Mass matrix M(q), n rows of n; of closed mechanisms dof rows of dof."""
        return self._dynamics.mass_matrix(self.lean, q, self.fn)

    def coriolis_matrix(self, q: Scalars, qd: Scalars) -> Rows:
        """C(q, qd) with Mdot - 2C skew, rows as those of `mass_matrix`."""
        of = closed if self.chain.closures else coriolis
        return of.coriolis_matrix(self.lean, q, qd, self.fn)

    def coriolis_transposed(self, q: Scalars, qd: Scalars) -> Scalars:
        """C(q, qd)^T qd, (n,)."""
        self._refuse_closed("coriolis_transposed")
        return coriolis.coriolis_transposed(self.lean, q, qd, self.fn)

    def gravity_torque(self, q: Scalars) -> Scalars:
        """Torques g(q) that hold the weights, (n,); of closed mechanisms (dof,)."""
        return self._dynamics.gravity_torque(self.lean, q, self.fn)

    def friction_torque(self, qd: Scalars) -> Scalars:
        """Friction on the joint side of an arm that transmits nothing, (n,)."""
        return friction.friction_torque(self.chain, qd, self.fn)

    def load_friction(self, qd: Scalars, carried: Scalars) -> Scalars | None:
        """Friction under load of joints that transmit `carried`, (n,); None where there is none."""
        return self._load_friction(qd, carried) if friction.load_dependent(self.chain) else None

    def _load_friction(self, qd: Scalars, carried: Scalars) -> Scalars:
        return friction.load_friction(self.chain, qd, carried, self.fn)

    def driven_load_friction(self, qd: Scalars, tau: Scalars) -> Scalars | None:
        """Friction under load of joints whose drives exert `tau`; None where there is none."""
        return self._driven_load_friction(qd, tau) if friction.load_dependent(self.chain) else None

    def _driven_load_friction(self, qd: Scalars, tau: Scalars) -> Scalars:
        return friction.driven_load_friction(self.chain, qd, tau, self.fn)

    def gear_losses(self, tau: Scalars, qd: Scalars, qdd: Scalars) -> Scalars | None:
        """Torques that drives must add to tau for the losses of their gears, (n,).

        `tau` is the torque of the motion without losses; None where gears lose nothing.
        """
        return self._gear_losses(tau, qd, qdd) if drives.lossy(self.chain) else None

    def _gear_losses(self, tau: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
        return equation.gear_losses(self.chain, tau, qd, qdd, self.fn)

    def driven_gear_losses(self, tau: Scalars, qd: Scalars) -> Scalars | None:
        """Torques that gears take away of the drives' tau, (n,); None where they lose nothing.

        Rotors are taken to turn at a steady speed.
        """
        return self._driven_gear_losses(tau, qd) if drives.lossy(self.chain) else None

    def _driven_gear_losses(self, tau: Scalars, qd: Scalars) -> Scalars:
        return equation.driven_gear_losses(self.chain, tau, qd, self.fn)

    def spring_torque(self, q: Scalars, qd: Scalars | None = None) -> Scalars:
        """Torques against the springs, (n,); with qd against their damping too."""
        return springs.spring_torque(self.chain, q, self.fn, qd)

    def load_torque(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques against loads of one's own, (n,)."""
        return loads.load_torque(self.chain, q, qd, self.fn)

    def static_torque(self, q: Scalars) -> Scalars:
        """Torques that hold the arm, (n,): gravity, springs and loads of one's own."""
        self._refuse_closed("static_torque")
        g = self.gravity_torque(q)
        if self.chain.springs:
            g = plus(g, self.spring_torque(q))
        return loads.loaded(self.chain, g, q, [0.0] * self.n, self.fn)

    def frictionless_torque(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
        """M qdd + C qd + g, rotors, springs and loads, (n,): all but friction and its offset."""
        self._refuse_closed("frictionless_torque")
        links = equation.rigid_torque(self.lean, q, qd, qdd, self.fn)
        rotors = drives.rotor_torque(self.chain, coupling.rates(self.chain, qdd))
        lowered = coupling.torques(self.chain, rotors)
        total = plus(links, lowered)
        if self.chain.springs:
            total = plus(total, self.spring_torque(q, qd))
        return loads.loaded(self.chain, total, q, qd, self.fn)

    def mass_times(self, q: Scalars, v: Scalars) -> Scalars:
        """M(q) v, as long as v."""
        return self._dynamics.mass_times(self.lean, q, v, self.fn)

    def regressor(
        self, q: Scalars, qd: Scalars, qdd: Scalars, qd_ref: Scalars | None = None
    ) -> Rows:
        """Y, n rows of p; with qd_ref columns of M qdd + C(q, qd) qd_ref + g, friction's zero."""
        self._refuse_closed("regressor")
        return regressors.regressor(self.chain, q, qd, qdd, self.fn, qd_ref)

    def solve(self, M: Sequence[Scalars], b: Scalars) -> Scalars:
        """x of M x = b, M symmetric positive definite; NaN where it is not."""
        return forward_dynamics.solve(M, b, self.fn)

    def fk(self, q: Scalars) -> Rows:
        """Pose of the tool in the reference frame, 4 rows of 4."""
        return kinematics.fk(self.chain, q, self.fn)

    def jacobian(self, q: Scalars, frame: str = "base") -> Rows:
        """Jacobian of the tool, 6 rows of n, linear first; `frame` is "base" or "tool"."""
        return kinematics.jacobian(self.chain, q, self.fn, frame=frame)

    def jacobian_dot(self, q: Scalars, qd: Scalars, frame: str = "base") -> Rows:
        """Rate dJ/dt of the Jacobian, 6 rows of n, linear first."""
        return kinematics.jacobian_dot(self.chain, q, qd, self.fn, frame=frame)

    def joint_rates(self, q: Scalars, qd_active: Scalars) -> Scalars:
        """Rates qd of all joints of a closed mechanism from those of its drives."""
        return closed.joint_rates(self.lean, q, qd_active, self.fn)

    def tree_rates(self, qd: Scalars) -> Scalars:
        """Rates of all joints of the tree, those that mimic others and rotors too."""
        return coupling.rates(self.chain, qd)

    def lowered(self, columns: Sequence[Scalars]) -> Sequence[Scalars]:
        """Torques over all joints of the tree, each as torques of the coordinates."""
        return [coupling.torques(self.chain, column) for column in columns]

    def load_rest(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques against loads of one's own that no parameter multiplies, (n,)."""
        return loads.load_rest(self.chain, q, qd, self.fn)

    def _refuse_closed(self, what: str) -> None:
        if self.chain.closures:
            raise OptionError(f"arm.{what} is not available for mechanisms with closures")

    def kinetic_energy(self, q: Scalars, qd: Scalars) -> Any:
        """Kinetic energy with the reflected rotors, a scalar."""
        return energy.kinetic_energy(self.chain, q, qd, self.fn)

    def potential_energy(self, q: Scalars) -> Any:
        """Potential energy of weights and springs, a scalar."""
        return energy.potential_energy(self.chain, q, self.fn)


class Drives(Arm):
    """A mechanism with closures in the coordinates of its drives, as its control computer sees it.

    All vectors are those of the drives. `near` are positions of all joints a little while ago: the
    other joints follow from there. Without it nothing is known of them. What does not close or is
    near a singular configuration is NaN.
    """

    def __init__(
        self, chain: Chain, fn: Functions, lean: Chain | None = None, near: Scalars | None = None,
        robot: "Robot | None" = None,
    ):  # fmt: skip
        super().__init__(chain, fn, lean)
        self.n, self.robot = len(chain.active), robot
        self._near, self._known = near, dict[Any, Any]()

    def near(self, joints: Scalars, drives: Scalars, sampled: bool = True) -> "Drives":
        """It with all joints near the positions given, and drives that are measured.

        `sampled`: those are positions of the sample before.
        """
        found = Drives(self.chain, self.fn, self.lean, joints, self.robot)
        given = self._controlled, drives, joints, self.fn
        here = drive_coordinates.followed(*given, sampled=sampled)
        found.here = found._known[_key(drives)] = here
        return found

    def approached(self, home: Scalars, drives: Scalars) -> Scalars:
        """All joints from home to near where drives are measured."""
        return drive_coordinates.approached(self._controlled, drives, home, self.fn)

    def approach(self, joints: Scalars, drives: Scalars, share: Any, home: Scalars) -> Scalars:
        """All joints with the drives a share of the way from home to where they are measured."""
        chain = self._controlled
        return drive_coordinates.approach(chain, joints, drives, share, home, self.fn)

    @property
    def _controlled(self) -> Chain:
        return drive_coordinates.controlled(self.lean)

    @property
    def here(self) -> drive_coordinates.Configuration:
        """The measured configuration; refused where passive joints are not known."""
        if self._here is None:
            raise OptionError(
                "the controller computes with the model of a mechanism with closures, whose "
                "passive joints are not known",
                "say needs_model = True in its class",
            )
        return self._here

    @here.setter
    def here(self, found: drive_coordinates.Configuration) -> None:
        self._here = found

    _here: drive_coordinates.Configuration | None = None

    @property
    def joints(self) -> Scalars:
        """Positions of all joints to go on from.

        The measured ones where they close, else those before; NaN from where the mechanism nears a
        singular configuration: nobody knows on which side of it the other joints go on.
        """
        here, fn, found = self.here, self.fn, []
        assert self._near is not None
        for now, before in zip(here.q, self._near, strict=True):
            kept = fn.select(here.good > 0.0, now, before)
            found.append(fn.select(here.lost > 0.0, math.nan, kept))
        return found

    def _at(self, q: Scalars) -> drive_coordinates.Configuration:
        """Where the drives are at q; others than the measured ones are reached from there."""
        key, here = _key(q), self.here
        if key not in self._known:
            far = drive_coordinates.FARTHER
            self._known[key] = drive_coordinates.followed(here.chain, q, here.q, self.fn, far)
        return self._known[key]

    # all joints of the tree, then torques of the drives

    def _tree(self) -> Arm:
        """The tree alone, every joint driven."""
        bare, lean = (replace(c, closures=()) for c in (self.chain, self.lean))
        return Arm(bare, self.fn, lean)

    def inverse_dynamics(self, q: Scalars, qd: Scalars, qdd: Scalars, **options: Any) -> Scalars:
        """Torques of the drives that give them the accelerations qdd."""
        here = self._at(q)
        rates = here.rates(qd)
        plain = friction.without_load_friction(self.lean)
        moved = here.accelerations(rates, qdd)
        h = equation.inverse_dynamics(plain, here.q, rates, moved, self.fn, **options)
        tau = here.lowered(h)
        carried = less(tau, self.friction_torque(qd))
        more = self.load_friction(qd, carried)
        return tau if more is None else plus(tau, more)

    def forward_dynamics(self, q: Scalars, qd: Scalars, tau: Scalars, **options: Any) -> Scalars:
        """Accelerations of the drives under their torques tau."""
        here = self._at(q)
        chain, spread = here.chain, here.spread(tau)
        qdd = closed.forward_dynamics(chain, here.q, here.rates(qd), spread, self.fn, **options)
        return [qdd[k] for k in chain.active]

    def mass_matrix(self, q: Scalars) -> Rows:
        """Mass matrix over the drives, n rows of n; the drives must be independent."""
        here = self._square(q, "mass_matrix")
        return closed.mass_matrix(here.chain, here.q, self.fn)

    def coriolis_matrix(self, q: Scalars, qd: Scalars) -> Rows:
        """C over the drives, rows as those of `mass_matrix`."""
        here = self._square(q, "coriolis_matrix")
        return closed.coriolis_matrix(here.chain, here.q, here.rates(qd), self.fn)

    def coriolis_transposed(self, q: Scalars, qd: Scalars) -> Scalars:
        """C^T qd over the drives."""
        here = self._square(q, "coriolis_transposed")
        rates = here.rates(qd)
        momentum = equation.mass_times(self.lean, here.q, rates, self.fn)
        turned = coriolis.coriolis_transposed(self.lean, here.q, rates, self.fn)
        return here.momentum_turned(rates, momentum, turned)

    def gravity_torque(self, q: Scalars) -> Scalars:
        """Torques of the drives that hold the weights."""
        here = self._at(q)
        return here.lowered(equation.gravity_torque(self.lean, here.q, self.fn))

    def friction_torque(self, qd: Scalars) -> Scalars:
        """Friction of drives and passive joints, felt by drives that transmit nothing."""
        here = self.here
        return here.lowered(friction.friction_torque(self.chain, here.rates(qd), self.fn))

    def _load_friction(self, qd: Scalars, carried: Scalars) -> Scalars:
        return drive_coordinates.drive_load_friction(self.here, qd, carried, self.fn)

    def _driven_load_friction(self, qd: Scalars, tau: Scalars) -> Scalars:
        here = self.here
        spread, rates = here.spread(tau), here.rates(qd)
        more = friction.driven_load_friction(self.chain, rates, spread, self.fn)
        return [more[k] for k in self.chain.active]

    def _gear_losses(self, tau: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
        here = self.here
        moving = here.spread(tau), here.spread(qd), here.spread(qdd)  # passive joints have no gear
        added = equation.gear_losses(self.chain, *moving, self.fn)
        return [added[k] for k in self.chain.active]

    def _driven_gear_losses(self, tau: Scalars, qd: Scalars) -> Scalars:
        here = self.here
        lost = equation.driven_gear_losses(self.chain, here.spread(tau), here.spread(qd), self.fn)
        return [lost[k] for k in self.chain.active]

    def spring_torque(self, q: Scalars, qd: Scalars | None = None) -> Scalars:
        """Torques of the drives against the springs; with qd against their damping too."""
        here = self._at(q)
        rates = None if qd is None else here.rates(qd)
        return here.lowered(springs.spring_torque(self.chain, here.q, self.fn, rates))

    def load_torque(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques of the drives against loads of one's own."""
        here = self._at(q)
        return here.lowered(loads.load_torque(self.chain, here.q, here.rates(qd), self.fn))

    def static_torque(self, q: Scalars) -> Scalars:
        """Torques that hold the mechanism: gravity, springs and loads of one's own."""
        here = self._at(q)
        return here.lowered(self._tree().static_torque(here.q))

    def frictionless_torque(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
        """M qdd + C qd + g, rotors, springs and loads: all but friction and its offset."""
        here = self._at(q)
        rates = here.rates(qd)
        moved = here.accelerations(rates, qdd)
        return here.lowered(self._tree().frictionless_torque(here.q, rates, moved))

    def mass_times(self, q: Scalars, v: Scalars) -> Scalars:
        """M v over the drives."""
        here = self._square(q, "mass_times")
        return here.lowered(equation.mass_times(self.lean, here.q, here.rates(v), self.fn))

    def regressor(
        self, q: Scalars, qd: Scalars, qdd: Scalars, qd_ref: Scalars | None = None
    ) -> Rows:
        """Y, a row for each drive; with qd_ref as in `Arm.regressor`."""
        here = self._at(q)
        rates = here.rates(qd)
        wanted = rates if qd_ref is None else here.rates(qd_ref)
        moved = here.loops.along(here.decisive(qdd))
        moved = plus(moved, here.turning(rates, wanted))
        given = None if qd_ref is None else wanted
        rows = closed.regressor(self.chain, here.q, rates, moved, self.fn, given)
        return [rows[k] for k in self.chain.active]

    def fk(self, q: Scalars) -> Rows:
        """Pose of the tool in the reference frame, 4 rows of 4."""
        here = self._at(q)
        *upper, last = kinematics.fk(self.chain, here.q, self.fn)
        return [*(here.certain(row) for row in upper), last]

    def jacobian(self, q: Scalars, frame: str = "base") -> Rows:
        """Jacobian of the tool by the rates of the drives, 6 rows of n, linear first."""
        here = self._square(q, "jacobian")
        J = kinematics.jacobian(self.chain, here.q, self.fn, frame=frame)
        return here.per_drive(J)

    def jacobian_dot(self, q: Scalars, qd: Scalars, frame: str = "base") -> Rows:
        """Rate of that Jacobian, 6 rows of n, linear first."""
        here = self._square(q, "jacobian_dot")
        rates = here.rates(qd)
        J = kinematics.jacobian(self.chain, here.q, self.fn, frame=frame)
        Jd = kinematics.jacobian_dot(self.chain, here.q, rates, self.fn, frame=frame)
        # (J Z)' = Jd Z + J Zd, by rows: Z^T of a row of Jd, and Zd^T of one of J
        return [here.momentum_turned(rates, a, b) for a, b in zip(J, Jd, strict=True)]

    def joint_rates(self, q: Scalars, qd_active: Scalars) -> Scalars:
        """Rates of all joints from those of the drives."""
        here = self._at(q)
        return here.certain(here.rates(qd_active))

    def tree_rates(self, qd: Scalars) -> Scalars:
        """Rates of all joints of the tree where the mechanism is measured."""
        return coupling.rates(self.chain, self.here.rates(qd))

    def lowered(self, columns: Sequence[Scalars]) -> Sequence[Scalars]:
        """Torques over all joints of the tree, each as torques of the drives."""
        tree = [coupling.torques(self.chain, column) for column in columns]
        rows = self.here.lowered_rows(transposed(tree))
        return transposed(rows)

    def load_rest(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques of the drives against loads of one's own that no parameter multiplies."""
        here = self._at(q)
        return here.lowered(loads.load_rest(self.chain, here.q, here.rates(qd), self.fn))

    def kinetic_energy(self, q: Scalars, qd: Scalars) -> Any:
        """Kinetic energy with the reflected rotors, a scalar."""
        here = self._at(q)
        return here.certain([energy.kinetic_energy(self.chain, here.q, here.rates(qd), self.fn)])[0]

    def potential_energy(self, q: Scalars) -> Any:
        """Potential energy of weights and springs, a scalar."""
        here = self._at(q)
        return here.certain([energy.potential_energy(self.chain, here.q, self.fn)])[0]

    def _square(self, q: Scalars, what: str) -> drive_coordinates.Configuration:
        """Where the drives are at q, if they are as many as the degrees of freedom."""
        if self.n != self.dof:
            raise OptionError(
                f"arm.{what} of a mechanism with {self.n} drives and {self.dof} degrees of freedom",
                "its drives are not independent: use frictionless_torque or inverse_dynamics",
            )
        return self._at(q)


def _key(values: Scalars) -> Any:
    """That tells the same scalars again: the very objects, which the key keeps alive."""
    return tuple(_Same(x) for x in values)


class _Same:
    """A scalar compared by identity: symbols cannot be compared by value."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def arm_of(robot: "Robot", fn: Functions, computer: bool = False) -> Arm:
    """The arm of a robot over any scalar, lean where that changes no torque.

    For a control `computer` a mechanism with closures is its drives.
    """
    lean = once(robot, "lean", lambda: reduced(robot.chain))
    if computer and robot.chain.closures:
        return Drives(robot.chain, fn, lean, robot=robot)
    return Arm(robot.chain, fn, lean)


@checked
def compile_function(
    function: Callable[..., Any], robot: "Robot", sizes: Mapping[str, int] | None = None
) -> Callable[..., Any]:
    """Machine code of `function(arm, q, ...)`, any scalar-generic function of a robot.

    The first parameter receives an `Arm`; the others are vectors as long as q unless `sizes` says
    otherwise. It may return a scalar, a vector or rows of a matrix. The result takes arrays and
    broadcasts like every method of a Robot (`out=`, `threads=`, `dtype=`).
    """
    from .service import Code

    names = _vectors(function)
    named = str(getattr(function, "__name__", type(function).__name__))
    unknown = next((s for s in sizes or {} if s not in names), None)
    if unknown is not None:
        raise OptionError(
            f"sizes names {shown(unknown)}, expected parameters of the function after the first: "
            f"{', '.join(names)}"
        )
    lengths = {k: whole(v, f"sizes[{k!r}]", most=MOST) for k, v in (sizes or {}).items()}
    with LOCK:
        from .function import Function
        from .libraries import evaluate_elsewhere, origins
        from .optimise import share_reciprocals
        from .program import Port
        from .tracer import SX, nested, program_of, symbols

        inputs = [Port(name, (lengths.get(name, robot.n),)) for name in names]
        columns = symbols(inputs)

        def over(given: Sequence[Any]) -> list[Any]:
            scalars = [nested(c, p.shape) for c, p in zip(given, inputs, strict=True)]
            return [_lists(over_symbols(function, named, arm_of(robot, SX), *scalars))]

        (result,) = over(columns)
        outputs = [Port("result", _shape(result, f"{named}{location(function)}"))]
        traced = share_reciprocals(program_of(named, columns, [result], inputs, outputs))
    made = Function(named, (traced.text,), tuple(inputs), tuple(outputs), over, lambda: traced)
    codes: dict[str, Code] = {}
    what = f"{named} of robot {robot.name!r}"

    def evaluated(given: Mapping[str, Any], options: Mapping[str, Any], callable_: Any) -> Any:
        if arrays.foreign(given.values()) and origins(given.values()):
            return evaluate_elsewhere(made, given, options, what)
        out, threads, kind = arrays.checked_options(options)
        code = codes.get(kind.name)
        if code is None:
            code = codes[kind.name] = made.code(kind.name)
        if callable_ is not None:
            arrays.install(callable_, code)
        checked = [arrays.as_batch(given[p.name], p.name, p.shape, what) for p in inputs]
        return arrays.run(code, checked, names, out, threads)

    call: Any = arrays.function(named, names, evaluated)
    call.program = traced
    call.__name__ = call.__qualname__ = named
    call.__doc__ = function.__doc__
    return call


def _vectors(function: Any) -> list[str]:
    """Names of the parameters after the first; a function that cannot be traced is refused."""
    expected = "expected a function(arm, q, ...)"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # no function, or a builtin that keeps it to itself
        raise OptionError(f"{shown(function)} was given, {expected}") from None
    kinds = {p.kind for p in signature.parameters.values()}
    plain = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    if isinstance(function, type) or len(signature.parameters) < 2 or not kinds <= plain:
        raise OptionError(f"{shown(function)} takes {signature}, {expected}")
    return list(signature.parameters)[1:]


def over_symbols(function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """What a function of the user's returns for symbols; what cannot be traced is said plainly."""
    from .tracer import no_numbers

    with warnings.catch_warnings(), no_numbers():
        warnings.simplefilter("ignore", FutureWarning)  # NumPy functions on CasADi values work
        try:
            found = function(*arguments)
        except DynamisError:
            raise
        except Exception as error:  # whatever somebody else's code does with a symbol
            said, hint = explained(error, "arm", f"{name} cannot be compiled")
            raise OptionError(said, _arm_first(function, error) or hint) from error
    if any(map(_is_nan, _leaves(found))):
        raise OptionError(
            f"{name}{location(function)} gives NaN whatever its arguments",
            "look where the NaN comes from: a constant, 0.0 / 0.0, the square root of -1",
        )
    return found


def _arm_first(function: Callable[..., Any], error: Exception) -> str | None:
    """What to write where a function uses the arm as if it were a vector."""
    names = list(inspect.signature(function).parameters)
    if "'Arm'" not in str(error) or isinstance(error, AttributeError) or "arm" in names[:1]:
        return None
    named = getattr(function, "__name__", "function")
    return f"the first parameter is the arm: def {named}({', '.join(('arm', *names))})"


def _leaves(value: Any) -> Iterator[Any]:
    """Every scalar of nested lists, arrays and mappings."""
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, (list, tuple, np.ndarray)):
        yield value
        return
    for item in value:
        yield from _leaves(item)


def _is_nan(value: Any) -> bool:
    """Whether a scalar is the constant NaN, as a number or as a symbol."""
    if isinstance(value, float):
        return value != value
    if not hasattr(value, "is_constant") or value.numel() != 1 or not value.is_constant():
        return False
    number = float(value)
    return number != number


def _lists(value: Any) -> Any:
    """Arrays of scalars, and columns and matrices of CasADi, as nested lists."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif hasattr(value, "numel") and value.numel() != 1:
        rows, columns = value.shape
        nested = [[value[i, j] for j in range(columns)] for i in range(rows)]
        value = nested if columns > 1 else [row[0] for row in nested]
    if isinstance(value, (list, tuple)):
        return [_lists(x) for x in value]
    return value


def _shape(value: Any, name: str) -> tuple[int, ...]:
    """() of a scalar, (m,) of a list, (m, k) of rows; anything else is refused."""
    if not isinstance(value, (list, tuple)):
        if isinstance(value, (str, bytes, dict, set, type(None))) or callable(value):
            raise OptionError(
                f"{name} returned {shown(value)}, expected scalars, or lists of them",
                "end it with: return ..." if value is None else None,
            )
        return ()
    shapes = list(dict.fromkeys(_shape(x, name) for x in value))
    if len(shapes) != 1:
        parts = ", ".join(str(shape) if shape else "scalar" for shape in shapes[:4])
        returned = f"parts of different shapes: {parts}" if shapes else "an empty list"
        raise OptionError(
            f"{name} returned {returned}, expected a scalar, a list, or rows of one length",
            "several results: compile one function for each, or return all entries in one list",
        )
    return (len(value), *shapes[0])
