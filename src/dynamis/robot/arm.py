"""A robot over any scalar, for control laws and functions of one's own."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..dynamics import (
    coupling,
    drive_coordinates,
    drives,
    elastic_inverse,
    elements,
    energy,
    equation,
    forward_dynamics,
    kinematics,
    projected,
)
from ..dynamics.coordinates import Closed, Free, coordinates
from ..dynamics.drive_coordinates import Placed
from ..dynamics.elastic import coordinate
from ..dynamics.elements import friction, gears, loads, memory, springs
from ..dynamics.instant import Instant
from ..dynamics.reduce import reduced
from ..errors import OptionError
from ..lazy import cached_property, once
from ..model.chain import Chain
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, plus

if TYPE_CHECKING:
    from . import Robot

Rows = Sequence[Scalars]  # of a matrix
JOINTS = "joints"  # name of the part of a state that holds the positions of all of them


class Given:
    """All joints are given, of an open arm or of a closed mechanism; see `Placed` for drives."""

    def __init__(self, chain: Chain, q: Scalars, fn: Functions):
        self.q, self._chain, self._fn = q, chain, fn

    @cached_property
    def on(self) -> Free | Closed:
        """Their free coordinates."""
        return coordinates(self._chain, self.q, self._fn)

    def joint_rates(self, qd: Scalars) -> Scalars:
        """The rates given."""
        return qd

    def joint_accelerations(
        self, qdd: Scalars, rates: Scalars, moved: Scalars | None = None
    ) -> Scalars:
        """The accelerations given."""
        return qdd

    all_from_drives = of_drives = certain = carried = per_drive = torque_columns = joint_rates

    def per_drive_dot(self, rows: Rows, before: Rows, rates: Scalars) -> Rows:
        """The rows."""
        return rows


JointPositions = Given | Placed  # all joints, from the coordinates that an Arm is asked with


class Arm:
    """The robot a scalar-generic function gets: the same algorithms, one sample, any scalar.

    Vectors are sequences of scalars, matrices rows of them; the elementary functions are here too.
    Torques may be computed on a `lean` chain, whose inertias are regrouped.
    """

    def __init__(self, chain: Chain, fn: Functions, lean: Chain | None = None):
        self.chain, self.fn, self.n = chain, fn, chain.n
        self.dof = len(chain.mobility.independent) if chain.mobility is not None else chain.n
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

    def _at(self, q: Scalars) -> JointPositions:
        """All joints at q."""
        return Given(self.lean, q, self.fn)

    def _square(self, q: Scalars, what: str) -> JointPositions:
        """All joints at q, where there is a matrix over the coordinates."""
        return self._at(q)

    # as a control computer sees it: of an open arm every joint is measured

    def near(self, joints: Scalars, drives: Scalars, sampled: bool = True) -> "Arm":
        """The arm itself; of its drives alone one that is near positions of all joints."""
        return self

    def approached(self, home: Scalars, drives: Scalars) -> Scalars:
        """All joints from home to near where drives are measured."""
        return drives

    def approach(self, joints: Scalars, drives: Scalars, share: Any, home: Scalars) -> Scalars:
        """All joints with the drives a share of the way from home to where they are measured."""
        return drives

    @property
    def memory(self) -> dict[str, list[Any]]:
        """What it has to know at the next sample, by name: nothing."""
        return {}

    @property
    def here(self) -> JointPositions:
        """All joints where the robot is: rates and torques of drives depend on it."""
        return self._at(())

    # dynamics

    def inverse_dynamics(self, q: Scalars, qd: Scalars, qdd: Scalars, **options: Any) -> Scalars:
        """Torques tau of a motion: inertia, Coriolis, gravity, friction, springs, loads, (n,).

        `options` are further arguments of `Robot.inverse_dynamics`, such as `wrench`.
        """
        c, at = self.chain if options else self.lean, self._at(q)
        rates = at.joint_rates(qd)
        motion = at.q, rates, at.joint_accelerations(qdd, rates)
        return at.of_drives(projected.inverse_dynamics(c, *motion, self.fn, on=at.on, **options))

    def forward_dynamics(self, q: Scalars, qd: Scalars, tau: Scalars, **options: Any) -> Scalars:
        """Accelerations qdd under the torques tau, (n,); NaN where M(q) is singular.

        `options` are further arguments of `Robot.forward_dynamics`, such as `wrench`.
        """
        c, at = self.chain if options else self.lean, self._at(q)
        state = at.q, at.joint_rates(qd), at.all_from_drives(tau)
        return at.of_drives(projected.forward_dynamics(c, *state, self.fn, on=at.on, **options))

    def mass_matrix(self, q: Scalars) -> Rows:
        """Mass matrix M(q), n rows of n; of all joints of closed mechanisms dof rows of dof."""
        at = self._square(q, "mass_matrix")
        return projected.mass_matrix(self.lean, at.q, self.fn, at.on)

    def coriolis_matrix(self, q: Scalars, qd: Scalars) -> Rows:
        """C(q, qd) with Mdot - 2C skew, rows as those of `mass_matrix`."""
        at = self._square(q, "coriolis_matrix")
        return projected.coriolis_matrix(self.lean, at.q, at.joint_rates(qd), self.fn, at.on)

    def coriolis_transposed(self, q: Scalars, qd: Scalars) -> Scalars:
        """C(q, qd)^T qd, as long as a row of `mass_matrix`."""
        at = self._square(q, "coriolis_transposed")
        return projected.coriolis_transposed(self.lean, at.q, at.joint_rates(qd), self.fn, at.on)

    def gravity_torque(self, q: Scalars) -> Scalars:
        """Torques g(q) that hold the weights, (n,); of all joints of closed mechanisms (dof,)."""
        at = self._at(q)
        return projected.gravity_torque(self.lean, at.q, self.fn, at.on)

    def friction_torque(self, qd: Scalars, stretched: Scalars | None = None) -> Scalars:
        """Friction on the joint side of an arm that transmits nothing, (n,).

        Friction with memory is at its largest, or as far `stretched` as `follow_memory` says.
        """
        here = self.here
        rates = here.joint_rates(qd)
        if stretched is None:
            return here.carried(friction.friction_torque(self.chain, rates, self.fn))
        own = friction.friction_torque(memory.without(self.chain), rates, self.fn)
        return here.carried(plus(own, memory.torque(self.chain, stretched)))

    @property
    def has_memory(self) -> bool:
        """True where friction of some joint has memory."""
        return any(x.memory for x in self.chain.resistances)

    def relaxed_memory(self, q: Scalars) -> list[Any]:
        """Friction with memory that is not stretched, at q: a state for `follow_memory`."""
        return memory.relaxed(self.chain, self._at(q).q)

    def follow_memory(self, stretched: Scalars, q: Scalars) -> list[Any]:
        """Friction with memory once the joints moved on to q, straight from the sample before."""
        return memory.followed(self.chain, stretched, self._at(q).q, self.fn)

    def load_friction(self, qd: Scalars, carried: Scalars) -> Scalars | None:
        """Friction under load of joints that transmit `carried`, (n,); None where there is none."""
        return self._under_load(friction.load_friction, qd, carried)

    def driven_load_friction(self, qd: Scalars, tau: Scalars) -> Scalars | None:
        """Friction under load of joints whose drives exert `tau`; None where there is none."""
        return self._under_load(friction.driven_load_friction, qd, tau)

    def _under_load(self, law: Any, qd: Scalars, torque: Scalars) -> Scalars | None:
        if not friction.load_dependent(self.chain):
            return None
        here = self.here
        rates, whole = here.joint_rates(qd), here.all_from_drives(torque)
        return here.of_drives(law(self.chain, rates, whole, self.fn))

    def gear_losses(self, tau: Scalars, qd: Scalars, qdd: Scalars) -> Scalars | None:
        """Torques that drives must add to tau for the losses of their gears, (n,).

        `tau` is the torque of the motion without losses; None where gears lose nothing.
        """
        return self._in_gears(equation.gear_losses, tau, qd, qdd)

    def driven_gear_losses(self, tau: Scalars, qd: Scalars) -> Scalars | None:
        """Torques that gears take away of the drives' tau, (n,); None where they lose nothing.

        Rotors are taken to turn at a steady speed.
        """
        return self._in_gears(equation.driven_gear_losses, tau, qd)

    def _in_gears(self, law: Any, *motion: Scalars) -> Scalars | None:
        if not drives.lossy(self.chain):
            return None
        here = self.here  # passive joints have no gear
        return here.of_drives(law(self.chain, *map(here.all_from_drives, motion), self.fn))

    def spring_torque(self, q: Scalars, qd: Scalars | None = None) -> Scalars:
        """Torques against the springs, (n,); with qd against their damping too."""
        at = self._at(q)
        rates = None if qd is None else at.joint_rates(qd)
        return at.carried(springs.spring_torque(self.chain, at.q, self.fn, rates))

    def load_torque(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques against loads of one's own, (n,)."""
        at = self._at(q)
        return at.carried(loads.load_torque(self.chain, at.q, at.joint_rates(qd), self.fn))

    def load_rest(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques against loads of one's own that no parameter multiplies, (n,)."""
        at = self._at(q)
        return at.carried(loads.load_rest(self.chain, at.q, at.joint_rates(qd), self.fn))

    def applied_torque(self, q: Scalars, qd: Scalars) -> Scalars:
        """Torques against springs, their damping, and loads of one's own, (n,)."""
        at = self._at(q)
        state = at.q, at.joint_rates(qd), [0.0] * self.chain.n
        return at.carried(elements.torque(Instant(self.chain, self.fn, *state), elements.applied))

    def static_torque(self, q: Scalars) -> Scalars:
        """Torques that hold the arm, (n,): gravity, springs and loads of one's own."""
        at, still = self._at(q), [0.0] * self.chain.n
        return self._of_motion(at, (still, still), elements.without_rotors)

    def frictionless_torque(self, q: Scalars, qd: Scalars, qdd: Scalars) -> Scalars:
        """M qdd + C qd + g, rotors, springs and loads, (n,): all but friction and its offset."""
        at = self._at(q)
        rates = at.joint_rates(qd)
        motion = rates, at.joint_accelerations(qdd, rates)
        return self._of_motion(at, motion, elements.frictionless)

    def _of_motion(
        self, at: JointPositions, motion: tuple[Scalars, Scalars], chosen: elements.Choice
    ) -> Scalars:
        """Torques of the drives for some of what acts."""
        h = elements.torque(Instant(self.lean, self.fn, at.q, *motion), chosen)
        return at.of_drives(at.on.held(h, *motion)[0])

    def _entry(self, joint: int) -> int:
        """Where a joint stands among the vectors of this arm."""
        return joint

    def flat_motors(
        self, q: Scalars, qd: Scalars, qdd: Scalars, jerk: Scalars, snap: Scalars
    ) -> tuple[Scalars, Scalars, Scalars]:
        """Torques, positions and rates of the motors for a motion of the links, (n,) each.

        In units of the joints; of rigid joints q and qd. With damping of gears the slow solution.
        """
        motion = q, qd, qdd, jerk, snap
        return elastic_inverse.elastic_inverse_dynamics(self.lean, *motion, self.fn)

    def static_motors(self, q: Scalars) -> tuple[Scalars, Scalars]:
        """Torques that hold the links at q, and motor positions there, (n,) each."""
        held, motor = self.static_torque(q), list(q)
        for gear in self.chain.elastic:
            k = self._entry(coordinate(self.chain, gear))
            s = gears.static_deflection(gear, held[k], self.fn)
            motor[k] = q[k] + s
            if not zero(gear.backlash):
                motor[k] = motor[k] + gear.backlash * self.sign(s)
        return held, motor

    def mass_times(self, q: Scalars, v: Scalars) -> Scalars:
        """M(q) v, as long as v; of all joints of closed mechanisms (dof,) from (dof,)."""
        at = self._square(q, "mass_times")
        return projected.mass_times(self.lean, at.q, v, self.fn, at.on)

    def regressor(
        self, q: Scalars, qd: Scalars, qdd: Scalars, qd_ref: Scalars | None = None
    ) -> Rows:
        """Y, n rows of p; with qd_ref columns of M qdd + C(q, qd) qd_ref + g, friction's zero."""
        at = self._at(q)
        rates = at.joint_rates(qd)
        wanted = None if qd_ref is None else at.joint_rates(qd_ref)
        motion = at.q, rates, at.joint_accelerations(qdd, rates, wanted)
        return at.of_drives(projected.regressor(self.chain, *motion, self.fn, wanted, on=at.on))

    def solve(self, M: Sequence[Scalars], b: Scalars) -> Scalars:
        """x of M x = b, M symmetric positive definite; NaN where it is not."""
        return forward_dynamics.solve(M, b, self.fn)

    # kinematics and energy

    def fk(self, q: Scalars) -> Rows:
        """Pose of the tool in the reference frame, 4 rows of 4."""
        at = self._at(q)
        *upper, last = kinematics.fk(self.chain, at.q, self.fn)
        return [*(at.certain(row) for row in upper), last]

    def jacobian(self, q: Scalars, frame: str = "base") -> Rows:
        """Jacobian of the tool, 6 rows of n, linear first; `frame` is "base" or "tool"."""
        at = self._square(q, "jacobian")
        return at.per_drive(kinematics.jacobian(self.chain, at.q, self.fn, frame=frame))

    def jacobian_dot(self, q: Scalars, qd: Scalars, frame: str = "base") -> Rows:
        """Rate dJ/dt of the Jacobian, 6 rows of n, linear first."""
        at = self._square(q, "jacobian_dot")
        rates = at.joint_rates(qd)
        J = kinematics.jacobian(self.chain, at.q, self.fn, frame=frame)
        Jd = kinematics.jacobian_dot(self.chain, at.q, rates, self.fn, frame=frame)
        return at.per_drive_dot(Jd, J, rates)

    def joint_rates(self, q: Scalars, qd_active: Scalars) -> Scalars:
        """Rates qd of all joints from those of the drives."""
        return projected.joint_rates(self.lean, q, qd_active, self.fn)

    def tree_rates(self, qd: Scalars) -> Scalars:
        """Rates of all joints of the tree, those that mimic others and rotors too."""
        return coupling.rates(self.chain, self.here.joint_rates(qd))

    def lowered(self, columns: Sequence[Scalars]) -> Sequence[Scalars]:
        """Torques over all joints of the tree, each as torques of the coordinates."""
        return self.here.torque_columns([coupling.torques(self.chain, c) for c in columns])

    def kinetic_energy(self, q: Scalars, qd: Scalars) -> Any:
        """Kinetic energy with the reflected rotors, a scalar."""
        at = self._at(q)
        return at.certain([energy.kinetic_energy(self.chain, at.q, at.joint_rates(qd), self.fn)])[0]

    def potential_energy(self, q: Scalars) -> Any:
        """Potential energy of weights and springs, a scalar."""
        at = self._at(q)
        return at.certain([energy.potential_energy(self.chain, at.q, self.fn)])[0]


class DriveArm(Arm):
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
        self.n, self.robot = len(chain.driven), robot
        self._near, self._known = near, dict[Any, Placed]()
        self._measured: Placed | None = None

    def near(self, joints: Scalars, drives: Scalars, sampled: bool = True) -> "DriveArm":
        """A copy with all joints near the positions given, and drives that are measured.

        `sampled`: those are positions of the sample before.
        """
        found = DriveArm(self.chain, self.fn, self.lean, joints, self.robot)
        given = self._controlled, drives, joints, self.fn
        here = drive_coordinates.followed(*given, sampled=sampled)
        found._measured = found._known[_key(drives)] = here
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
    def here(self) -> Placed:
        """The measured configuration; refused where passive joints are not known."""
        if self._measured is None:
            raise OptionError(
                "the controller computes with the model of a mechanism with closures, whose "
                "passive joints are not known",
                "say needs_model = True in its class",
            )
        return self._measured

    def _entry(self, joint: int) -> int:
        """Where a joint stands among the drives."""
        return self.chain.driven.index(joint)

    @property
    def joints(self) -> Scalars:
        """Positions of all joints to go on from.

        The measured ones where they close, else those before; NaN from where the mechanism nears a
        singular configuration: nobody knows on which side of it the other joints go on.
        """
        here, fn, found = self.here, self.fn, []
        assert self._near is not None
        for now, before in zip(here.q, self._near, strict=True):
            kept = fn.select(here.sound > 0.0, now, before)
            found.append(fn.select(here.lost > 0.0, math.nan, kept))
        return found

    @property
    def memory(self) -> dict[str, list[Any]]:
        """What it has to know at the next sample, by name: positions of all joints."""
        return {JOINTS: list(self.joints)}

    def _at(self, q: Scalars) -> Placed:
        """Where the drives are at q; others than the measured ones are reached from there."""
        key, here = _key(q), self.here
        if key not in self._known:
            far = drive_coordinates.FARTHER
            self._known[key] = drive_coordinates.followed(here.chain, q, here.q, self.fn, far)
        return self._known[key]

    def _square(self, q: Scalars, what: str) -> Placed:
        """Where the drives are at q, if they are as many as the degrees of freedom."""
        if self.n != self.dof:
            raise OptionError(
                f"arm.{what} of a mechanism with {self.n} drives and {self.dof} degrees of freedom",
                "its drives are not independent: use frictionless_torque or inverse_dynamics",
            )
        return self._at(q)

    def joint_rates(self, q: Scalars, qd_active: Scalars) -> Scalars:
        """Rates qd of all joints from those of the drives."""
        at = self._at(q)
        return at.certain(at.joint_rates(qd_active))


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
        return DriveArm(robot.chain, fn, lean, robot=robot)
    return Arm(robot.chain, fn, lean)
