"""What every controller is: one step of a discrete law over any scalar, its state in plain sight.

    torque, state = step(arm, sample)

The step runs on floats (a Python loop), is compiled together with the arm and the integrator
(`dy.simulate`), and is printed as C. It never branches on a value: it writes `arm.select`.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from ..arguments import a_robot, check_fields, checked, choice, passed_on, positive, strict
from ..compile.arrays import NUMPY, finite, numbers, one_sample
from ..digest import as_defined
from ..errors import OptionError, ShapeError, counted, did_you_mean, shown
from ..lazy import once
from ..robot.arm import Arm, arm_of
from ..robot.user_function import over_symbols
from ..spatial.functions import MATH, Functions
from ..spatial.vectors import Scalars, less, plus
from ..user_code import location

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..robot import Robot

Values = Mapping[str, list[Any]]  # names to lists of scalars
Step = tuple[Scalars, Values]  # one number per joint, and the state after it
Gain = float | Sequence[float] | np.ndarray  # one number for all joints, or one per joint


class Reference(NamedTuple):
    """What is wanted at one sample."""

    q: Scalars
    qd: Scalars
    qdd: Scalars


class SmoothReference(NamedTuple):
    """What is wanted at one sample with jerk and snap, for laws that say derivatives = 4."""

    q: Scalars
    qd: Scalars
    qdd: Scalars
    jerk: Scalars
    snap: Scalars


def reference_of(rows: Iterable[Scalars]) -> "Reference | SmoothReference":
    """What is wanted, from rows (q, qd, qdd) or (q, qd, qdd, jerk, snap)."""
    lists = list(rows)
    return Reference(*lists) if len(lists) == len(Reference._fields) else SmoothReference(*lists)


class Sample(NamedTuple):
    """Everything a law knows at one sample: vectors are lists of scalars, one per joint.

    `t`, `q` and `qd` are measured; `gains` are the numbers of `gains(robot)` and `state` what the
    step before left, both by name; `dt` is the sample time. `tau`, for observers, is the mean
    torque that acted since the sample before. `start` has no state, reference, dt and tau yet.
    """

    t: Any
    q: Scalars
    qd: Scalars
    gains: SimpleNamespace
    state: SimpleNamespace = SimpleNamespace()
    reference: Any = Reference((), (), ())  # of a law with derivatives = 4 a SmoothReference
    dt: Any = None
    tau: Scalars = ()

    @property
    def e(self) -> list[Any]:
        """Control error q - q_d."""
        return less(self.q, self.reference.q)

    @property
    def ed(self) -> list[Any]:
        """Its rate qd - qd_d."""
        return less(self.qd, self.reference.qd)


class Block(ABC):
    """A part of a control computer: a frozen dataclass of numbers, words and a model.

    `model` is the robot it computes with (None: the robot it drives); `sample_time` is its own
    (None: every step of the simulation).
    """

    GAINS: ClassVar[tuple[str, ...]] = ()  # fields that are one number or one per joint
    CHOICES: ClassVar[Mapping[str, Iterable[str]]] = {}  # fields that are words, and which
    model: "Robot | None" = None
    sample_time: float | None = None
    needs_model: bool = True
    """Whether it asks the arm for more than its size; of closed mechanisms that takes all joints,
    which are then found at every sample."""

    @checked
    def gains(self, robot: "Robot") -> Values:
        """The numbers it computes with, by name, each a list; changing them compiles nothing.

        Those that GAINS names, one per joint; wrong lengths are refused, and a `limit` of None is
        none.
        """
        model_of(self, robot)
        given = {name: getattr(self, name) for name in self._gain_names()}
        if "limit" in given and given["limit"] is None:
            given["limit"] = NO_LIMIT
        return {name: per_joint(value, name, robot) for name, value in given.items()}

    def _gain_names(self) -> tuple[str, ...]:
        """GAINS, each of which is a field."""
        if isinstance(self.GAINS, str):
            raise OptionError(f"GAINS is {self.GAINS!r}, expected a tuple: ({self.GAINS!r},)")
        for name in self.GAINS:
            if not hasattr(self, name):
                known = [field.name for field in fields(self)] if is_dataclass(self) else []
                what = f"GAINS names {name!r}, which is no field of {type(self).__name__}"
                raise OptionError(what, did_you_mean(name, known) if known else "give it one")
        return self.GAINS

    def start(self, arm: Arm, sample: Sample) -> Values:
        """The state before the first step, by name, each a list of scalars."""
        return {}

    @abstractmethod
    def step(self, arm: Arm, sample: Sample) -> Step:
        """What it gives at this sample, one per joint; the state after it, as `start` named it."""

    def _check(self) -> None:
        """Fields held to their annotations and choices, the sample time above zero."""
        check_fields(self)
        for name, known in self.CHOICES.items():
            choice(getattr(self, name), name, known)
        if self.sample_time is not None:
            positive(self.sample_time, "sample_time", "seconds")

    @checked
    def sampled(self, sample_time: float) -> Self:
        """The block as it runs at a sample time; refuses one that it cannot run at."""
        return self

    @classmethod
    def _designed(
        cls,
        robot: "Robot | None",
        options: Mapping[str, Any],
        bandwidth: Gain,
        damping: Gain,
        inertia: np.ndarray | None = None,
        integral: bool = False,
        names: Sequence[str] = ("kp", "kd", "ki"),
        rows: int | None = None,
    ) -> Self:
        """With poles at `bandwidth`, two or three with integral; `options` are other fields.

        With `inertia` the gains are torques, else accelerations: one per drive of the robot or per
        row of a task. A call in the order of version 0.2 may have no robot to hold them to.
        """
        check_sampling(bandwidth, options.get("sample_time"))
        poles = third_order if integral else second_order
        gains: Sequence[Any] = poles(bandwidth, damping)
        if inertia is not None:
            gains = for_inertia(tuple(gains), inertia)
        elif robot is not None:
            check_count(gains, len(robot.driven) if rows is None else rows)
        given = dict(zip(names, gains, strict=False))
        law = cls(**given, **passed_on(options, cls, *given))
        if robot is not None:
            law.gains(robot)  # refuses what does not fit the robot
            if isinstance(law, Controller):
                law._warn_of_bandwidth(robot, bandwidth)
        return law

    @property
    def options(self) -> tuple[Any, ...]:
        """What besides the model decides the code of a law of this package: words, not gains."""
        return tuple(getattr(self, name) for name in self.CHOICES)

    @property
    def key(self) -> str:
        """Text that tells apart laws of this package whose code differs."""
        return f"{type(self).__module__}.{type(self).__qualname__}{self.options!r}"


class Controller(Block):
    """A discrete control law of n joints; `step` gives the torques. Errors are e = q - q_d."""

    needs_reference: ClassVar[bool] = True
    derivatives: int = 2
    """How many derivatives of the reference it computes with: 2, or 4, which few motions have."""
    knows_gears: ClassVar[bool] = False
    """Whether it computes with elastic gears, so that a bandwidth above their resonance may do."""
    dynamic: ClassVar[bool] = False
    """Whether its feedback passes filters or an observer: gains at rest do not say what it does."""

    def _warn_of_bandwidth(self, robot: "Robot", bandwidth: Gain) -> None:
        """Say which resonance of elastic gears limits a bandwidth of a law for the rigid arm."""
        from .resonance import warn_of_bandwidth

        if robot.chain.elastic:
            warn_of_bandwidth(robot, self, bandwidth)


class Compensating(Controller):
    """A law of this package that compensates friction at the velocity that `friction` names.

    Losses of gears (`Drive.efficiency` of the model) are compensated with it.

    At the measured velocity the sign of a joint near rest follows noise and delay, and the
    compensation drives a limit cycle; the desired velocity has no such feedback.
    """

    CHOICES = {"friction": ("desired", "measured", "none")}  # noqa: RUF012
    friction: str

    def __post_init__(self) -> None:
        self._check()

    def start(self, arm: Arm, sample: Sample) -> Values:
        """Friction with memory that is not stretched, of models that have some."""
        if self.friction == "none" or not arm.has_memory:
            return {}
        return {"memory": arm.relaxed_memory(sample.q)}

    def memory_after(self, arm: Arm, sample: Sample) -> Values:
        """Friction with memory at this sample, stretched by the chosen motion."""
        if self.friction == "none" or not arm.has_memory:
            return {}
        q = sample.reference.q if self.friction == "desired" else sample.q
        return {"memory": arm.follow_memory(sample.state.memory, q)}

    def compensation(
        self, arm: Arm, sample: Sample, carried: Scalars, qdd: Scalars, memory: Values
    ) -> Scalars:
        """Friction torque at the chosen velocity, offset and load included; zero for "none".

        `carried` is the torque without friction, of a motion with accelerations `qdd`, `memory`
        what `memory_after` gives.
        """
        if self.friction == "none":
            return [0.0] * arm.n
        qd = sample.reference.qd if self.friction == "desired" else sample.qd
        own = arm.friction_torque(qd, memory.get("memory"))
        loaded = arm.load_friction(qd, carried)
        total = own if loaded is None else plus(own, loaded)
        lost = arm.gear_losses(plus(carried, total), qd, qdd)
        return total if lost is None else plus(total, lost)


def text_of(robot: "Robot") -> str:
    """Text that decides what a robot computes: the chain, whose text leaves elastic gears out."""
    return once(robot, "text", lambda: repr((robot.chain, robot.chain.elastic)))


def code_key(block: Any) -> str | None:
    """Text that decides the code of a block as this package defines it; None: its Program does."""
    return block.key if as_defined(block) else None


def check_signatures(block: Block) -> None:
    """Refuse a block whose `start` or `step` does not take (arm, sample), with what to write."""
    for name in ("start", "step"):
        signature = inspect.signature(getattr(block, name))
        try:
            signature.bind("arm", "sample")
        except TypeError:
            raise OptionError(
                f"{type(block).__name__}.{name} takes {signature}, expected (arm, sample)",
                f"write def {name}(self, arm, sample): sample.gains, .state, .t, .q, .qd, "
                ".reference, .dt hold what the single arguments held",
            ) from None


def begun(block: Block, arm: Arm, sample: Sample) -> dict[str, list[Any]]:
    """The state a block starts from, as lists by name."""
    name = f"{type(block).__name__}.start"
    found, name = _asked(block.start, name, arm, sample), f"{name}{location(block.start)}"
    if not isinstance(found, Mapping):
        raise OptionError(
            f"{name} returned {shown(found)}, expected lists by name",
            'such as return {"integral": [0.0] * arm.n}',
        )
    return {str(k): _listed(v, f"{k!r} of {name}") for k, v in found.items()}


def stepped(block: Block, arm: Arm, sample: Sample) -> tuple[list[Any], dict[str, list[Any]]]:
    """One sample of a block: n torques and the state after it, under the names it had before."""
    name = f"{type(block).__name__}.step"
    found, name = _asked(block.step, name, arm, sample), f"{name}{location(block.step)}"
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise OptionError(
            f"{name} returned {_told(found)}, expected (torques, state)",
            "end it with: return tau, {} (or the state that start began)",
        )
    tau, after = _listed(found[0], f"the torques of {name}"), found[1]
    if len(tau) != arm.n:
        raise ShapeError(
            f"{name} returned {counted(len(tau), 'torque')}, expected {arm.n}: one per joint"
        )
    if not isinstance(after, Mapping):
        raise OptionError(f"{name} returned the state {shown(after)}, expected lists by name")
    lists = {str(k): _listed(v, f"{k!r} of {name}") for k, v in after.items()}
    sizes = {k: len(v) for k, v in vars(sample.state).items()}
    if {k: len(v) for k, v in lists.items()} != sizes:
        given = {k: len(v) for k, v in lists.items()}
        raise ShapeError(
            f"{name} returned a state of sizes {given}, expected {sizes} as start gave",
            "every name that start gives comes back from step, as long as it was",
        )
    return tau, lists


def _asked(method: Callable[[Arm, Sample], Any], name: str, arm: Arm, sample: Sample) -> Any:
    sample = _copied(sample)
    if arm.fn is MATH or arm.fn is NUMPY:
        return method(arm, sample)
    return over_symbols(method, name, arm, sample)


def _copied(sample: Sample) -> Sample:
    """A sample whose lists a block may write into."""
    q, qd, tau = ([*x] for x in (sample.q, sample.qd, sample.tau))
    gains, state = (
        SimpleNamespace(**{name: [*row] for name, row in vars(x).items()})
        for x in (sample.gains, sample.state)
    )
    wanted = reference_of([*x] for x in sample.reference)
    return Sample(sample.t, q, qd, gains, state, wanted, sample.dt, tau)


def _listed(value: Any, what: str) -> list[Any]:
    expected = "expected a list of scalars, one per joint"
    try:
        found = list(value)
    except Exception:  # of CasADi too
        raise OptionError(f"{what} is {_told(value)}, {expected}") from None
    wrong = [x for x in found if x is None or isinstance(x, (str, bytes, list, tuple, Mapping))]
    if wrong:
        raise OptionError(f"{what} holds {shown(wrong[0])}, {expected}")
    return found


def _told(value: Any) -> str:
    """What a law returned, for a message: symbols are not written out."""
    if isinstance(value, (tuple, list)):
        return counted(len(value), "value")
    return shown(value) if value is None or isinstance(value, (float, int, str)) else "one value"


UNBOUNDED = ("limit", "lowest", "highest")  # gains that may be infinite: there is no limit then


def finite_gains(block: Block, robot: "Robot", what: str) -> Values:
    """The gains of a block, if they are finite."""
    found = block.gains(robot)
    for name, row in found.items():
        bad = [x for x in row if not math.isfinite(x)]
        if bad and name not in UNBOUNDED:
            raise OptionError(f"{what}: {name} holds {bad[0]}, expected finite numbers")
    return found


def per_joint(
    value: Gain,
    name: str,
    robot: "Robot",
    lowest: float | None = 0.0,
    size: int | None = None,
) -> list[float]:
    """A gain for every joint from one number or n of them (or `size`, for a task)."""
    n = len(robot.driven) if size is None else size
    if type(value) is float and value >= (-np.inf if lowest is None else lowest):
        return [value] * n  # most gains
    of = f", one per joint of robot {robot.name!r}" if size is None else ""
    expected = f"expected one number or {n}{of}"
    given = numbers(value, name, expected)
    if given.shape not in ((), (n,)):
        raise ShapeError(f"{name} is {shown(value)}, {expected}")
    found = np.broadcast_to(given, (n,)).tolist()
    for number in found:
        if number != number or (lowest is not None and number < lowest):
            least = "" if lowest is None else f" at least {lowest:g}"
            raise OptionError(f"{name} is {shown(value)}, expected numbers{least}")
    return found


def above_zero(value: Gain, name: str, robot: "Robot", what: str) -> list[float]:
    """A number for every joint as `per_joint`, none of them 0; `what` says of what."""
    found = per_joint(value, name, robot)
    if 0.0 in found:
        raise OptionError(f"{name} is {shown(value)}, expected {what} above 0")
    return found


def model_of(block: Block, robot: "Robot") -> "Robot":
    """The robot a block computes with: its own model, as long as the robot it drives."""
    model = a_robot(robot) if block.model is None else block.model
    if len(model.driven) != len(robot.driven):
        raise ShapeError(
            f"the model {model.name!r} of {type(block).__name__} has "
            f"{counted(len(model.driven), 'joint')}, "
            f"expected {len(robot.driven)} as robot {robot.name!r} has"
        )
    return model


def refuse_passive(robot: "Robot", tau: np.ndarray, what: str) -> None:
    """Raise if torques (..., n) of all joints, or of those controllers see, act on passive ones."""
    active = robot.model.active
    if len(active) == robot.n:
        return
    joints = range(robot.n) if tau.shape[-1] == robot.n else robot.driven
    for column, joint in enumerate(joints):
        on = tau[..., column]
        if joint not in active and np.any(on):
            raise OptionError(
                f"{what} gives joint {robot.joint_names[joint]!r} {on[on != 0.0].flat[0]:.4g}, "
                "expected 0: it is passive, nothing drives it",
                "take `passive` out of the model if the joint has a drive; else give 0 there: a "
                "JointPID with gains of zero for it, or a law of your own",
            )


# all joints of a closed mechanism, found at every sample from where they were at the one before;
# those of an open arm are measured


def drives_at_first(
    model: "Robot", q: Scalars, fn: Functions, joints: Scalars | None = None
) -> Arm:
    """A robot as its control computer sees it before the first sample.

    `joints` are those on the way from home, where they were found before.
    """
    arm = arm_of(model, fn, computer=True)
    if joints is None:
        joints = arm.approached(model.home.tolist(), q)
    return arm.near(joints, q, sampled=False)


def approach(model: "Robot", joints: Scalars, q: Scalars, share: Any, fn: Functions) -> Scalars:
    """All joints with the drives a share of the way from home to q; one step of that way."""
    return arm_of(model, fn, computer=True).approach(joints, q, share, model.home.tolist())


def drives_at(model: "Robot", joints: Scalars, q: Scalars, fn: Functions) -> Arm:
    """A robot as its control computer sees it at a sample; `joints` are those of its memory."""
    return arm_of(model, fn, computer=True).near(joints, q)


# a torque limit, and an integral that does not wind up behind it

NO_LIMIT = 1e300  # stands for "no limit" among the gains, which are numbers


def clipped(arm: Arm, wanted: Any, limit: Any) -> Any:
    """min(max(wanted, -limit), limit)"""
    return arm.max(-limit, arm.min(wanted, limit))


def held(arm: Arm, wanted: Any, given: Any, e: Any, before: Any, after: Any) -> Any:
    """The integral of e after a sample: as before it where e drives the torque into its limit.

    The torque falls with the integral, so it gets worse where (wanted - given) e < 0.
    """
    return arm.select((wanted - given) * e < 0.0, before, after)


# Gains from a bandwidth w and a damping ratio: the poles of the error where they are wanted.
#
# second order   e'' + kd e' + kp e = 0               (s^2 + 2 damping w s + w^2)
# third order    e''' + kd e'' + kp e' + ki e = 0     (s + ratio w)(s^2 + 2 damping w s + w^2)

FASTEST = 0.5  # bandwidth times sample time; a sampled double integrator is unstable at 1 / damping


@strict
def second_order(bandwidth: Gain, damping: Gain = 1.0) -> tuple[Gain, Gain]:
    """(kp, kd) = (w^2, 2 damping w); w in rad/s, one number or one per joint."""
    w, zeta = _positive(bandwidth, "bandwidth"), _positive(damping, "damping")
    return _plain(w * w), _plain(2.0 * zeta * w)


@strict
def third_order(bandwidth: Gain, damping: Gain = 1.0, ratio: Gain = 1.0) -> tuple[Gain, Gain, Gain]:
    """(kp, kd, ki) of a loop with integral: the third pole is at -ratio w."""
    w, zeta = _positive(bandwidth, "bandwidth"), _positive(damping, "damping")
    a = _positive(ratio, "ratio")
    kp, kd, ki = (1.0 + 2.0 * zeta * a) * w * w, (2.0 * zeta + a) * w, a * w * w * w
    return _plain(kp), _plain(kd), _plain(ki)


def check_sampling(bandwidth: Gain, sample_time: float | None) -> None:
    """Refuse a bandwidth that its sample time cannot hold: w T > 0.5."""
    if sample_time is None:
        return
    sample_time = positive(sample_time, "sample_time", "seconds")
    product = float(np.max(_positive(bandwidth, "bandwidth"))) * sample_time
    if product > FASTEST:
        raise OptionError(
            f"bandwidth {bandwidth} rad/s times sample_time {sample_time} s is {product:.3g}, "
            f"expected at most {FASTEST}: the sampled loop would ring or diverge",
            f"lower the bandwidth below {FASTEST / sample_time:.3g} rad/s or sample faster",
        )


def one_position(robot: "Robot", q: "ArrayLike | None" = None) -> np.ndarray:
    """q (n,), finite; zero (of closed mechanisms `home`) if not given."""
    if q is None:
        return np.array(robot.home)
    return finite(one_sample(q, "q", (robot.n,), f"robot {robot.name!r}"), "q")


def joint_inertia(robot: "Robot", q: "ArrayLike | None" = None) -> np.ndarray:
    """Diagonal of the mass matrix at q (zero if not given), (n,): what each joint must move."""
    return np.diagonal(robot.mass_matrix(one_position(robot, q))).copy()


def check_count(gains: Iterable[Gain], size: int) -> None:
    """Refuse gains that are neither one number nor `size` of them."""
    for gain in gains:
        if np.shape(gain) not in ((), (size,)):
            raise ShapeError(
                f"bandwidth or damping has {np.size(gain)} numbers, expected one or {size}"
            )


def for_inertia(gains: tuple[Gain, ...], inertia: np.ndarray) -> list[tuple[float, ...]]:
    """Gains of a unit inertia, each times the inertia it has to move."""
    check_count(gains, len(inertia))
    return [tuple((inertia * np.asarray(gain)).tolist()) for gain in gains]


def _positive(value: Gain, name: str) -> np.ndarray:
    try:
        given = numbers(value, name, "")
    except ShapeError:
        given = np.zeros((0,))
    if given.ndim > 1 or not given.size:
        raise OptionError(f"{name} is {shown(value)}, expected a number above 0 or one per joint")
    if not (np.isfinite(given).all() and (given > 0.0).all()):
        raise OptionError(f"{name} is {shown(value)}, expected finite numbers above 0")
    return given


def _plain(value: np.ndarray) -> Gain:
    """A float or a tuple of floats: fields of a frozen dataclass that compare and hash."""
    return float(value) if value.ndim == 0 else tuple(value.tolist())
