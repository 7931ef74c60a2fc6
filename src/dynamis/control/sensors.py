"""What a controller sees of the arm: encoders that count, velocities from differences, noise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import SEEDS, checked, choice, positive, strict, whole
from ..compile.arrays import numbers
from ..errors import OptionError, shown
from ..spatial.functions import Functions
from ..spatial.vectors import Scalars, plus
from .board.board import Board
from .random_numbers import POSITIONS, TORQUES, normal, uniform

if TYPE_CHECKING:
    from ..robot import Robot
    from .controller import Gain

VELOCITIES = ("exact", "difference")
SIDES = ("motor", "link")


@strict
@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Encoders and what is made of them.

    `encoder` is the smallest step of position (rad or m per count, one or one per joint); velocity
    comes from differences of counts per sample, low-passed at `velocity_filter` Hz, or is exact
    (the default without an encoder). `torque_noise` is the standard deviation of the torque that
    is logged, `position_noise` of the positions before they are counted. `seed`, sample, arm and
    joint decide it: every arm of an ensemble has noise of its own, the first that of an arm alone.
    `offset` (rad or m, one or one per joint) is the zero error of the encoders: what they show
    where the joint is at 0. Of elastic joints the encoders sit on the motors, `side="motor"`, or
    on the links, "link".

    With a `board` (`dy.control.Board`) counters and converters measure instead, the controller runs
    as its exported program does, from counts to codes, and its torques pass a D/A converter.
    `wired` is the board that is really there, where it is not the one that the program is told: an
    encoder that counts the other way, a converter off its calibration, a wiper without contact.
    """

    encoder: "Gain | None" = None
    velocity: str | None = None
    velocity_filter: float | None = None
    torque_noise: "Gain" = 0.0
    position_noise: "Gain" = 0.0
    seed: int = 0
    offset: "Gain | None" = None
    side: str = "motor"
    board: Board | None = None
    wired: Board | None = None

    def __post_init__(self) -> None:
        if self.board is not None:
            self._refuse_beside_board()
        elif self.wired is not None:
            raise OptionError(
                f"wired is {shown(self.wired)}, but there is no board",
                "board= is what the program is told, wired= what is really there",
            )
        if self.velocity is None:
            exact = self.encoder is None and self.board is None
            object.__setattr__(self, "velocity", "exact" if exact else "difference")
        choice(self.velocity, "velocity", VELOCITIES)
        choice(self.side, "side", SIDES)
        whole(self.seed, "seed", 0, SEEDS)
        cutoff = self.velocity_filter
        if cutoff is not None:
            cutoff = positive(cutoff, "velocity_filter", "Hz")
            object.__setattr__(self, "velocity_filter", cutoff)
        if cutoff is not None and self.velocity == "exact":
            raise OptionError(
                f"velocity_filter is {cutoff:g} Hz, but the velocity is exact",
                'give an encoder, or velocity="difference"',
            )

    def _refuse_beside_board(self) -> None:
        """Refuse what a board measures in its own way."""
        if not isinstance(self.board, Board):
            raise OptionError(f"board is {shown(self.board)}, expected dy.control.Board(...)")
        if self.wired is not None and not isinstance(self.wired, Board):
            raise OptionError(f"wired is {shown(self.wired)}, expected dy.control.Board(...)")
        usual = {"encoder": None, "side": "motor", "position_noise": 0.0}
        for name, value in usual.items():
            if repr(getattr(self, name)) != repr(value):
                raise OptionError(
                    f"{name} is {shown(getattr(self, name))}, but a board measures",
                    "its encoders, on the motors, and the noise of its potentiometers are "
                    "in dy.control.Board(...)",
                )
        if self.velocity == "exact":
            raise OptionError("velocity is 'exact', but a board counts", "leave velocity out")

    @property
    def devices(self) -> Board | None:
        """The board that is really there."""
        return self.board if self.wired is None else self.wired

    @property
    def noisy(self) -> bool:
        """Whether positions carry noise."""
        if self.devices is not None:
            return any(pot.noise > 0.0 for pot in self.devices.potentiometers or ())
        return self._has("position_noise")

    @property
    def of_links_alone(self) -> bool:
        """Whether they are exact, and say only that they are on the links."""
        return self.side == "link" and repr(self) == repr(Sensors(side="link"))

    def _has(self, noise: str) -> bool:
        """Whether "position_noise" or "torque_noise" is not zero."""
        deviation = getattr(self, noise)
        if type(deviation) is float and deviation == 0.0:
            return False  # most
        return bool((numbers(deviation, noise, "expected numbers") != 0).any())

    def noise(self, stream: int, first: int, count: int, arm: int, n: int) -> np.ndarray:
        """Noise of `count` samples from `first` on, (count, n), of positions or torques."""
        names = {POSITIONS: "position_noise", TORQUES: "torque_noise"}
        if stream == POSITIONS and self.devices is not None:
            pots = self.devices.of_joints("potentiometers", n)
            deviation = np.array([0.0 if pot is None else pot.noise for pot in pots])
        else:
            deviation = numbers(getattr(self, names[stream]), names[stream], "expected numbers")
        drawn = normal(uniform(self.seed, stream, first, count, 2 * n, arm))
        return deviation * drawn[:, ::2]  # two numbers to a joint

    @property
    def key(self) -> str:
        """What decides the code."""
        return repr(
            (
                self.encoder is None,
                self.velocity,
                self.velocity_filter is None,
                self.noisy,
                *([] if self.offset is None else ["offset"]),
                *([] if self.board is None else [self.board, self.wired]),
            )
        )

    @checked
    def constants(self, robot: "Robot") -> list[float]:
        """Encoder step per joint, the cut-off in rad/s, zero errors where there are any."""
        from .controller import per_joint

        step = per_joint(0.0 if self.encoder is None else self.encoder, "encoder", robot)
        zero = [] if self.offset is None else per_joint(self.offset, "offset", robot, lowest=None)
        return [*step, 2.0 * math.pi * (self.velocity_filter or 0.0), *zero]

    def start(
        self, q: Scalars, qd: Scalars, dt: Any, constants: Scalars, fn: Functions
    ) -> dict[str, list[Any]]:
        """Readings one sample before the first, as if the arm had moved evenly until now."""
        before = [a - dt * v for a, v in zip(q, qd, strict=True)]
        return {"measured_q": self.counted(before, constants, fn), "measured_qd": list(qd)}

    def counted(self, q: Scalars, constants: Scalars, fn: Functions) -> list[Any]:
        """Positions as the encoders give them."""
        if self.offset is not None:
            q = plus(q, constants[zero_errors(len(q))])
        if self.encoder is None:
            return list(q)
        rounded = []
        for a, step in zip(q, constants, strict=False):
            safe = fn.select(step > 0.0, step, 1.0)
            rounded.append(fn.select(step > 0.0, safe * fn.floor(a / safe + 0.5), a))
        return rounded

    def read(
        self,
        before: Mapping[str, Scalars],
        q: Scalars,
        qd: Scalars,
        noise: Any,
        constants: Scalars,
        dt: Any,
        fn: Functions,
    ) -> dict[str, list[Any]]:
        """The readings of this sample, from those before and where the arm is."""
        noisy = plus(q, noise) if self.noisy else list(q)
        q = self.counted(noisy, constants, fn)
        if self.velocity == "exact":
            return {"measured_q": q, "measured_qd": list(qd)}
        pole = None if self.velocity_filter is None else fn.exp(-constants[len(q)] * dt)
        qd = difference(q, before["measured_q"], dt, before["measured_qd"], pole)
        return {"measured_q": q, "measured_qd": qd}


def difference(q: Scalars, before: Scalars, since: Any, speed: Scalars, pole: Any) -> list[Any]:
    """Velocities from two positions, low-passed from those before unless `pole` is None."""
    rate = [(a - b) / since for a, b in zip(q, before, strict=True)]
    if pole is None:
        return rate
    return [pole * old + (1.0 - pole) * new for old, new in zip(speed, rate, strict=True)]


def zero_errors(n: int) -> slice:
    """Where the zero errors of n joints stand among `Sensors.constants`."""
    return slice(n + 1, 2 * n + 1)
