"""What varies from arm to arm: bodies that can exist, friction, loads, encoders, starts.

A body is moved by maps under which a body stays one: its mass times a positive factor, its matter
stretched about the centre of mass along the axes of its link, and shifted. In terms of the 4 x 4
pseudo-inertia J these are J -> A J A^T, so J stays positive (semi)definite.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import SEEDS, a_robot, flag, is_list, number, strict, whole
from ..compile.arrays import numbers
from ..control.random_numbers import SAMPLES, RowFunction, normal, uniform
from ..errors import ModelError, OptionError, ShapeError, counted, shown, warn
from ..lazy import cached_property
from ..model.parameters import parameter_places
from ..spatial.functions import Functions
from ..spatial.inertia import NAMES
from ..spatial.vectors import plus

if TYPE_CHECKING:
    from ..robot import Robot

BODY = len(NAMES)
FACTORS: dict[str, tuple[str, ...]] = {  # of a joint, and the fields that each scales
    "viscous": ("viscous", "viscous_minus"),
    "coulomb": ("plus", "minus"),
    "memory": (),  # every element of it
    "rotor_inertia": ("inertia",),
}
UNIT = math.sqrt(12.0)  # a uniform number less its mean, times this, has variance 1
RELATIVE = {  # what is varied by a share of itself, or with a body, by name
    "mass": "mass",
    "com": "mass",
    "inertia": "mass",
    "friction": "friction",
    "rotor": "rotor inertia",
}
GIVEN = {  # how an arm gets it
    "friction": "give the arm friction, such as robot.with_friction(viscous=1.0, coulomb=0.5) "
    '(.save("arm.toml") for the command line), or friction = { viscous = 1.0, coulomb = 0.5 } of '
    "the links in its file",
    "rotor": "give the links of the arm drives with rotor_inertia, see dy.Drive",
}
ALTERNATIVES = ("reference", "delay", "sensors")  # one of several is drawn


@dataclass(frozen=True, eq=False)
class Draw:
    """A block of samples: everything in which its arms differ.

    `parameters` (count, p) like `robot.parameters.values`; `factors` (count, f), each with mean 0
    and variance 1, say where a sample lies; `chosen` says which of several alternatives it has.
    """

    index: np.ndarray  # sample numbers
    values: np.ndarray  # of the parameters that vary, (count, v)
    q0: np.ndarray
    qd0: np.ndarray
    joint_offset: np.ndarray
    factors: np.ndarray
    chosen: Mapping[str, np.ndarray]
    nominal: np.ndarray  # all parameters, (p,)
    varied: tuple[int, ...]  # which of them vary
    unplaced: np.ndarray | None = None  # of closed mechanisms: why a sample does not start, or ""

    @property
    def parameters(self) -> np.ndarray:
        """Full parameter vectors, (count, p)."""
        full = np.tile(self.nominal, (len(self.index), 1))
        full[:, list(self.varied)] = self.values
        return full

    def __len__(self) -> int:
        return len(self.index)

    def part(self, which: Any) -> "Draw":
        """Some of the samples."""
        chosen = {name: x[which] for name, x in self.chosen.items()}
        index, values, q0, qd0, offset, factors = (x[which] for x in self.arrays)
        unplaced = None if self.unplaced is None else self.unplaced[which]
        same = self.nominal, self.varied, unplaced
        return Draw(index, values, q0, qd0, offset, factors, chosen, *same)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """What has a row for every sample, but for what was chosen."""
        return self.index, self.values, self.q0, self.qd0, self.joint_offset, self.factors


@strict
@dataclass(frozen=True, kw_only=True)
class Scatter:
    """How arms differ from the model; every drawn body can exist.

    `mass` and `inertia` are relative standard deviations of the logarithm (0.05: about 5 %) of the
    mass, and of the second moments about the centre of mass; `com` is the standard deviation of
    each coordinate of the centre of mass (m); `friction` and `rotor` are like `mass`, for viscous
    and Coulomb friction and for rotor inertias. Each is one number or a dictionary by link or
    joint; an arm without friction has none to vary (`robot.with_friction(...)` gives it some).
    `payload` (least, most) is the mass of a load at `payload_com` in the tool frame, drawn
    uniformly; it takes the place of the robot's payload. `joint_offset` is the standard deviation
    of the encoders' zero error (rad or m). `q0` and `qd0` are standard deviations about the start
    of the study, or a pair (lowest, highest) to draw from uniformly. `reference`, `delay` and
    `sensors` are lists of alternatives, equally likely. Of a closed mechanism: encoders are those
    of its drives, q0 and qd0 of its independent joints, and the others are put where it closes.
    """

    robot: "Robot" = field(kw_only=False)
    mass: Any = 0.0
    com: Any = 0.0
    inertia: Any = 0.0
    friction: Any = 0.0
    rotor: Any = 0.0
    payload: Any = None
    payload_com: Any = (0.0, 0.0, 0.0)
    joint_offset: Any = 0.0
    q0: Any = None
    qd0: Any = None
    reference: Any = None
    delay: Any = None
    sensors: Any = None
    consistent: bool = True  # False: links that are no body are moved like the others

    def __post_init__(self) -> None:
        a_robot(self.robot)
        flag(self.consistent, "consistent")
        for name in ALTERNATIVES:
            given = getattr(self, name)
            if given is not None and (not is_list(given) or not list(given)):
                raise OptionError(f"{name} is {shown(given)}, expected a list of alternatives")
        for name in ("_body", "_rubbing", "_offset", "_load", "_starts"):
            getattr(self, name)  # refused now rather than later
        self._refuse_impossible()
        self._refuse_void()

    def __getstate__(self) -> dict[str, Any]:
        """What travels to workers: no code."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _nominal(self) -> np.ndarray:
        robot = self.robot
        if self.payload is not None and robot.model.payload is not None:
            robot = robot.with_payload(0.0)
        try:
            return np.array([float(x) for x in robot.parameters.values])
        except (TypeError, ValueError):
            raise ModelError(
                f"robot {robot.name!r} has symbols without values",
                "give them numbers with robot.with_values(...)",
            ) from None

    def _deviations(self, name: str, among: Sequence[str]) -> dict[str, float]:
        """One standard deviation by name."""
        given = getattr(self, name)
        one = "a number of 0 or more, or a dictionary of them"
        if isinstance(given, Mapping):
            unknown = next((key for key in given if key not in among), None)
            if unknown is not None:
                raise OptionError(f"{name} names {shown(unknown)}, expected {', '.join(among)}")
            found = {key: given.get(key, 0.0) for key in among}
        else:
            found = dict.fromkeys(among, given)
        good = {k: number(v, name, one, lambda x: 0.0 <= x < math.inf) for k, v in found.items()}
        if name != "com" and any(x > 3.0 for x in good.values()):
            raise OptionError(f"{name} is {shown(given)}, expected a share of it such as 0.05")
        return good

    @cached_property
    def _body(self) -> dict[str, dict[str, float]]:
        links = self.robot.model.link_names
        rows = self._nominal[: BODY * len(links)].reshape(-1, BODY)
        kept = [name for name, row in zip(links, rows, strict=True) if row.any()]
        found = {name: self._deviations(name, links) for name in ("mass", "com", "inertia")}
        return {what: {k: v for k, v in by.items() if k in kept} for what, by in found.items()}

    def _refuse_impossible(self) -> None:
        links = self.robot.model.link_names
        moved = [k for k, x in enumerate(links) if any(by.get(x) for by in self._body.values())]
        if not moved or not self.consistent:
            return
        from ..identify.feasible import physical  # late: workers never come here

        rows = self._nominal[: BODY * len(links)].reshape(-1, BODY)
        for name, fine in zip(
            [links[k] for k in moved], physical(rows[moved]).tolist(), strict=True
        ):
            if not fine:
                raise ModelError(
                    f"link {name!r} of robot {self.robot.name!r} is no body that can exist: its "
                    "pseudo-inertia is not positive (an inertia about one axis alone is not)",
                    "give the link all of its inertia, see robot.check(); or consistent=False",
                )

    def _refuse_void(self) -> None:
        """Refuse to vary what is zero; leave it out with a warning where something else varies."""
        links, joints = self.robot.model.link_names, self.robot.model.tree_joint_names
        moved = {key for by in self._body.values() for key in by}
        rubs: dict[str, set[str]] = {"friction": set(), "rotor": set()}
        for factor in self._rubbing:
            joint, _, kind = factor.rpartition(".")
            rubs["rotor" if kind == "rotor_inertia" else "friction"].add(joint)
        for name, worded in RELATIVE.items():
            among, there = (joints, rubs[name]) if name in rubs else (links, moved)
            asked = [key for key, x in self._deviations(name, among).items() if x]
            void = [key for key in asked if key not in there]
            every = len(void) == len(asked)
            if not void or (not every and not isinstance(getattr(self, name), Mapping)):
                continue  # one number for all joints is of those that have it
            kind = "joint" if name in rubs else "link"
            where = f"every {kind}" if every and len(void) > 1 else ", ".join(map(repr, void))
            what = (
                f"{worded} of {self.robot.name!r} is zero in {where}: to change it by "
                f"{name}={shown(getattr(self, name))} changes nothing"
            )
            if not self.names:
                raise OptionError(what, GIVEN.get(name))
            warn(f"{what}; it is left out")

    @cached_property
    def _load(self) -> tuple[float, float] | None:
        if self.payload is None:
            return None
        pair = numbers(self.payload, "payload", "expected (least, most) in kg")
        if pair.shape == () and 0.0 < pair < math.inf:
            raise OptionError(
                f"payload is {pair:g}, expected (least, most) in kg",
                f"(0, {pair:g}) varies the load; ({pair:g}, {pair:g}) gives every arm {pair:g} kg",
            )
        if pair.shape != (2,) or not (0.0 <= pair[0] <= pair[1] < math.inf):
            raise OptionError(f"payload is {shown(self.payload)}, expected (least, most) in kg")
        return float(pair[0]), float(pair[1])

    @cached_property
    def _offset(self) -> np.ndarray:
        found = numbers(self.joint_offset, "joint_offset", "expected one number or one per joint")
        count = len(self.robot.driven)
        if found.shape not in ((), (count,)) or not (found >= 0.0).all():
            raise OptionError(
                f"joint_offset is {shown(self.joint_offset)}, expected one standard deviation, or "
                f"{count}"
            )
        return np.broadcast_to(found, (count,))

    @cached_property
    def _starts(self) -> dict[str, tuple[np.ndarray, np.ndarray] | np.ndarray]:
        """By q0 and qd0: lowest and highest, or standard deviations."""
        found: dict[str, Any] = {}
        n = self.robot.dof
        for name in ("q0", "qd0"):
            given = getattr(self, name)
            if given is None:
                continue
            pair = isinstance(given, (tuple, list)) and len(given) == 2
            parts = [numbers(x, name, "expected numbers") for x in (given if pair else [given])]
            if any(x.shape not in ((), (n,)) or not np.isfinite(x).all() for x in parts):
                expected = f"one standard deviation or {n}, or a pair (lowest, highest)"
                raise ShapeError(f"{name} is {shown(given)}, expected {expected}")
            wide = [np.broadcast_to(x, (n,)) for x in parts]
            if (pair and (wide[0] > wide[1]).any()) or (not pair and (wide[0] < 0.0).any()):
                raise OptionError(f"{name} is {shown(given)}, expected (lowest, highest), or >= 0")
            found[name] = tuple(wide) if pair else wide[0]
        return found

    # factors: what is drawn, by name

    @cached_property
    def _rubbing(self) -> dict[str, tuple[float, list[int]]]:
        """By factor: the deviation of friction or rotor inertia, and the parameters it scales."""
        every = list(enumerate(parameter_places(self.robot.model)))
        joints = self.robot.model.tree_joint_names
        size = {name: self._deviations(name, joints) for name in ("friction", "rotor")}
        found = {}
        for i, joint in enumerate(joints):
            for kind, scaled in FACTORS.items():
                deviation = size["rotor" if kind == "rotor_inertia" else "friction"][joint]
                at = [k for k, x in every if x.index == i and (x.field in scaled or x.part == kind)]
                if deviation and self._nominal[at].any():
                    found[f"{joint}.{kind}"] = deviation, at
        return found

    @cached_property
    def _normal(self) -> list[tuple[str, Any]]:
        """Normal factors: name, and what they belong to."""
        axes = ("x", "y", "z")
        found: list[tuple[str, Any]] = []
        for k, link in enumerate(self.robot.model.link_names):
            if self._body["mass"].get(link):
                found.append((f"{link}.mass", ("mass", k)))
            for what in ("com", "inertia"):
                if self._body[what].get(link):
                    found += [(f"{link}.{what}.{a}", (what, k, i)) for i, a in enumerate(axes)]
        found += [(name, ("joint", name)) for name in self._rubbing]
        drives = (self.robot.joint_names[k] for k in self.robot.driven)
        found += [(f"{j}.zero", ("zero", i)) for i, j in enumerate(drives) if self._offset[i]]
        for name, given in self._starts.items():
            if not isinstance(given, tuple):
                joints = enumerate(self._starting)
                found += [(f"{j}.{name}", (name, i)) for i, j in joints if given[i]]
        return found

    @property
    def _starting(self) -> list[str]:
        """Joints whose start may vary: of a closed mechanism those that decide the others."""
        return [self.robot.joint_names[k] for k in self.robot.independent]

    @property
    def _places(self) -> bool:
        """Whether starts vary, and joints follow those whose starts do."""
        return bool(self._starts) and len(self._starting) < self.robot.n

    @cached_property
    def _uniform(self) -> list[tuple[str, Any]]:
        """Uniform factors: name, and what they belong to; alternatives come last."""
        found: list[tuple[str, Any]] = []
        if self._load is not None and self._load[1] > self._load[0]:
            found.append(("payload", ("payload",)))
        for name, given in self._starts.items():
            if isinstance(given, tuple):
                wide = enumerate(zip(self._starting, *given, strict=True))
                found += [(f"{j}.{name}", (name, i)) for i, (j, low, high) in wide if high > low]
        listed = {name: getattr(self, name) for name in ALTERNATIVES}
        found += [(k, (k,)) for k, given in listed.items() if given is not None and len(given) > 1]
        return found

    @property
    def names(self) -> tuple[str, ...]:
        """Names of everything that varies."""
        return tuple(name for name, _ in (*self._normal, *self._uniform))

    @cached_property
    def varied(self) -> tuple[int, ...]:
        """Numbers of the parameters that it changes."""
        links = self.robot.model.link_names
        moved = [
            k for k, link in enumerate(links) if any(by.get(link) for by in self._body.values())
        ]
        found = {BODY * k + i for k in moved for i in range(BODY)}
        found |= {k for _, at in self._rubbing.values() for k in at}
        return tuple(sorted(found | set(np.flatnonzero(self._unit_load).tolist())))

    @cached_property
    def _unit_load(self) -> np.ndarray:
        """What a load of one kilogram adds to the parameters."""
        if self._load is None:
            return np.zeros(len(self._nominal))
        loaded = self.robot.with_payload(1.0, self.payload_com).parameters.values
        bare = self.robot.with_payload(0.0).parameters.values
        return np.asarray(loaded, dtype=float) - np.asarray(bare, dtype=float)

    def _bodies(self, given: bool) -> RowFunction:
        """The varied parameters from factors; their values before come first if `given`."""
        where = {key: k for k, (_, key) in enumerate(self._normal)}
        links, varied = self.robot.model.link_names, self.varied
        place = {k: i for i, k in enumerate(varied)}
        body, rubbing, load = self._body, self._rubbing, self._unit_load
        own = [] if given else self._nominal[list(varied)].tolist()
        wide = len(varied) * given + len(self._normal) + 1

        def function(x: Any, fn: Functions) -> list[Any]:
            values = list(x[: len(varied)]) if given else list(own)
            z, payload = x[len(varied) * given : -1], x[-1]

            def drawn(deviation: float, *key: Any) -> Any:
                return deviation * z[where[key]] if deviation else 0.0

            def scale(deviation: float, *key: Any) -> Any:
                return fn.exp(drawn(deviation, *key)) if deviation else 1.0

            for k, link in enumerate(links):
                if BODY * k not in place or not any(by.get(link) for by in body.values()):
                    continue
                at = [place[BODY * k + i] for i in range(BODY)]
                factor = scale(body["mass"][link], "mass", k)
                stretch = [scale(0.5 * body["inertia"][link], "inertia", k, i) for i in range(3)]
                shift = [drawn(body["com"][link], "com", k, i) for i in range(3)]
                moved = moved_body([values[i] for i in at], factor, stretch, shift, fn)
                for i, value in zip(at, moved, strict=True):
                    values[i] = value
            for name, (deviation, numbers_) in rubbing.items():
                factor = scale(deviation, "joint", name)
                for k in numbers_:
                    values[place[k]] = values[place[k]] * factor
            for k in np.flatnonzero(load):
                values[place[int(k)]] = values[place[int(k)]] + float(load[k]) * payload
            return values

        text = repr((varied, self._normal, body, rubbing, load.tolist(), own))
        return RowFunction("scatter", function, wide, len(varied), (text,))

    @cached_property
    def _functions(self) -> tuple[RowFunction, RowFunction]:
        """Upon the model, and upon other parameters."""
        return self._bodies(False), self._bodies(True)

    @cached_property
    def _width(self) -> int:
        return len(self._normal) + len(self._normal) % 2

    def draw(self, first: int, count: int, seed: int = 0) -> Draw:
        """Samples first .. first + count - 1 of a seed."""
        whole(first, "first", 0)
        start = self.robot.home, np.zeros(self.robot.n)
        drawn = self._drawn(
            first, whole(count, "count"), whole(seed, "seed", 0, SEEDS), start=start
        )
        if not self._places:
            return drawn
        from .starts import placed

        return placed(self.robot, drawn, start[0], (), 1)

    def _drawn(
        self, first: int, count: int, seed: int, base: np.ndarray | None = None,
        start: tuple[np.ndarray, np.ndarray] | None = None, threads: int | None = 1,
    ) -> Draw:  # fmt: skip
        """Samples from number `first` on; `base` (count, p) are parameters to begin with."""
        wide, more = self._width, len(self._uniform)
        u = uniform(seed, SAMPLES, first, count, wide + more, threads=threads)
        z = normal(np.ascontiguousarray(u[:, :wide]), threads)[:, : len(self._normal)]
        v = u[:, wide:]
        n, given = self.robot.n, {key: v[:, k] for k, (_, key) in enumerate(self._uniform)}
        load = np.zeros(count)
        if self._load is not None:
            low, high = self._load
            load = low + (high - low) * given.get(("payload",), np.zeros(count))
        values = np.zeros((count, 0))
        if self.varied:
            before = [] if base is None else [np.take(base, self.varied, axis=1)]
            x = np.concatenate([*before, z, load[:, None]], axis=1)
            values = self._functions[base is not None](x, threads)
        offset, own = np.zeros((count, len(self.robot.driven))), list(self.robot.independent)
        starts = {"q0": np.zeros((count, n)), "qd0": np.zeros((count, n))}
        for k, name in enumerate(("q0", "qd0")):
            if start is not None:
                starts[name] += start[k]
            if isinstance(pair := self._starts.get(name), tuple):
                starts[name][:, own] = pair[0]
        for k, (_, key) in enumerate(self._normal):
            if key[0] == "zero":
                offset[:, key[1]] = self._offset[key[1]] * z[:, k]
            elif key[0] in starts:
                at = own[key[1]]
                starts[key[0]][:, at] += self._starts[key[0]][key[1]] * z[:, k]  # type: ignore
        for key, x in given.items():
            if key[0] in starts:
                low, high = self._starts[key[0]]
                starts[key[0]][:, own[key[1]]] = low[key[1]] + (high[key[1]] - low[key[1]]) * x
        chosen = {}
        for name in ALTERNATIVES:
            among = len(getattr(self, name) or ())
            if among > 1:
                chosen[name] = np.minimum((given[(name,)] * among).astype(int), among - 1)
            elif among:
                chosen[name] = np.zeros(count, dtype=int)
        factors = np.concatenate([z, UNIT * (v - 0.5)], axis=1)
        rows = np.arange(first, first + count), values, starts["q0"], starts["qd0"], offset, factors
        return Draw(*rows, chosen, self._nominal, self.varied)

    def __repr__(self) -> str:
        fixed = ""
        if self._load is not None and self._load[0] == self._load[1]:
            fixed = f", {self._load[0]:g} kg at every tool"
        return f"Scatter({self.robot.name!r}, {counted(len(self.names), 'factor')}{fixed})"


def moved_body(ten: Sequence[Any], factor: Any, stretch: Any, shift: Any, fn: Functions) -> list:
    """Ten parameters of a body: heavier by a factor, stretched about its centre, shifted."""
    m, h, (xx, xy, yy, xz, yz, zz) = ten[0], ten[1:4], ten[4:]
    half = 0.5 * (xx + yy + zz)
    S = [[half - xx, -xy, -xz], [-xy, half - yy, -yz], [-xz, -yz, half - zz]]  # second moments
    if isinstance(m, float):
        per: Any = 1.0 / m if m > 0.0 else 0.0
    else:
        per = fn.select(m > 0.0, 1.0 / fn.select(m > 0.0, m, 1.0), 0.0)
    c = [x * per for x in h]
    d = plus(c, shift)
    for i in range(3):
        for j in range(3):
            about = S[i][j] - m * c[i] * c[j]
            S[i][j] = factor * (stretch[i] * stretch[j] * about + m * d[i] * d[j])
    trace = S[0][0] + S[1][1] + S[2][2]
    moment = [factor * (m * x + (y - m * z)) for x, y, z in zip(d, h, c, strict=True)]
    return [
        factor * m, *moment, trace - S[0][0], -S[0][1], trace - S[1][1], -S[0][2], -S[1][2],
        trace - S[2][2],
    ]  # fmt: skip
