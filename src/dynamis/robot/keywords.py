"""Keywords of a robot's methods that stand for a whole table of names, for type checkers.

They are written out here because a checker cannot read them from the tables themselves; a test
holds each to its table.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

import numpy as np

from ..model.check.finding import Finding
from ..model.closure import Closure
from ..model.drive import Drive
from ..model.friction import Friction
from ..model.geometry import Geometry
from ..model.memory import Memory
from ..model.model import KeptElements, NamedFrame, Payload
from ..model.pose import Pose
from ..model.quantity import Expression
from ..model.spring import Spring

if TYPE_CHECKING:
    from typing import Unpack

    from numpy.typing import ArrayLike, DTypeLike

    from ..model.world import World

Quantity = float | str | Expression  # 1.5, "pi/2", "90 deg" or a symbol
Quantities = Sequence[Quantity] | np.ndarray
Method = str | np.ndarray  # a word; arrays are refused, but f(*states) must not look like an error
Task = str | Sequence[float] | np.ndarray | None  # "pose", "position" or six of 0 and 1
PoseLike = Pose | Mapping[str, Quantities] | Sequence[Sequence[float]] | np.ndarray | None
PerJoint = Quantity | Sequence[Quantity | Sequence[Quantity]] | np.ndarray
Three = tuple[np.ndarray, np.ndarray, np.ndarray]
OnePose = Sequence[float] | np.ndarray[tuple[int] | tuple[int, int], Any]
ManyPoses = Sequence[np.ndarray] | np.ndarray[tuple[int, int, int, *tuple[int, ...]], Any]


class CommonOptions(TypedDict, total=False):
    """Options of every call: threads and precision, and `fused` multiply-adds on a GPU."""

    threads: int | None
    dtype: "DTypeLike | None"
    fused: bool


class Options(CommonOptions, total=False):
    """Options of a call with one result, which `out` receives."""

    out: np.ndarray | None


class ManyOptions(CommonOptions, total=False):
    """Options of a call with several results."""

    out: Sequence[np.ndarray] | None


class NamedOptions(CommonOptions, total=False):
    """Options of a call with results by name."""

    out: Mapping[str, np.ndarray] | None


class ArrayKernel(Protocol):
    """A kernel as a function of arrays by position."""

    def __call__(self, *arguments: "ArrayLike", **options: "Unpack[Options]") -> np.ndarray:
        """The kernel's result."""
        ...


class ManyKernel(Protocol):
    """A kernel with several results as a function of arrays by position."""

    def __call__(self, *arguments: "ArrayLike", **options: "Unpack[ManyOptions]") -> Three:
        """The kernel's results."""
        ...


class IkOptions(TypedDict, total=False):
    """Options of `Robot.ik`."""

    limits: bool | str | None
    tolerance: float
    starts: int | None
    seed: int
    q0: "ArrayLike | None"
    world: "World"


class ModelFields(TypedDict, total=False):
    """Fields of a model beside its name, convention, links, gravity, base and tool."""

    tool_link: str | None
    tool_name: str
    base_name: str
    payload: Payload | None
    gear_matrix: Sequence[Quantities] | np.ndarray | None
    rotors: str
    values: Mapping[str, float]
    configurations: Mapping[str, Quantities]
    frames: Sequence[NamedFrame]
    springs: Sequence[Spring]
    loads: Sequence[object]
    closures: Sequence[Closure]
    geometry: Sequence[Geometry]
    closure_tolerance: float | None
    closure_condition: float
    closure_nan: bool
    description: str
    findings: Sequence[Finding]
    kept_elements: KeptElements | None


class FrictionFields(TypedDict, total=False):
    """Fields of `dy.Friction` beside viscous and coulomb, and the constants of its laws."""

    offset: Quantity
    load: Quantity
    temperature_slope: Quantity
    reference_temperature: Quantity
    heating: Quantities
    heating_time: Quantities
    memory: Memory | None
    law: object
    constants: Mapping[str, float]
    velocity: Quantity
    ratio: Quantity
    static_ratio: Quantity
    stiffness: Quantity
    damping: Quantity


class DriveFields(TypedDict, total=False):
    """Fields of `dy.Drive`."""

    gear: Quantity
    lead: Quantity | None
    rotor_inertia: Quantity
    viscous: Quantity
    coulomb: Quantity | Quantities
    efficiency: Quantity
    limits: Quantities | None
    resistance: Quantity | None
    inductance: Quantity
    torque_constant: Quantity | None
    voltage_limit: Quantity | None
    current_limit: Quantity | None
    current_bandwidth: Quantity
    amplifier_gain: Quantity | None
    stiffness: Quantity | None
    damping: Quantity
    hardening: Quantity
    backlash: Quantity
    rotor_link: str | None
    rotor_axis: Quantities | None
    rotor_position: Quantities | None
    unbalance: Quantities


class SpringFields(TypedDict, total=False):
    """Fields of `dy.Spring`."""

    kind: str
    name: str | None
    from_: str | None
    from_point: Quantities
    to: str | None
    to_point: Quantities
    joint: str | None
    stiffness: Quantity
    rest_length: Quantity
    rest_angle: Quantity
    preload: Quantity
    damping: Quantity
    law: str
    force: Quantity
    gas_length: Quantity | None
    exponent: Quantity
    lengths: Sequence[float] | np.ndarray | None
    forces: Sequence[float] | np.ndarray | None


class LinkFields(TypedDict, total=False):
    """Fields of `dy.Link`."""

    joint: str
    name: str | None
    joint_name: str | None
    d: Quantity
    a: Quantity
    alpha: Quantity
    theta: Quantity
    offset: Quantity
    parent: str | None
    xyz: Quantities | None
    rpy: Quantities | None
    axis: Quantities | None
    mimic: tuple[str, Quantity, Quantity] | None
    mass: Quantity
    com: Quantities | None
    com_factor: Quantity | None
    inertia: Quantities | Sequence[Quantities] | None
    linear: Quantities | None
    friction: Friction
    drive: Drive | None
    limits: Quantities | None
    velocity_limit: Quantity | None
    effort_limit: Quantity | None
    passive: bool
