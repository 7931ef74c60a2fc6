"""How far an arm is from itself and from what stands around it.

Pairs of shapes for collision, exact for spheres, capsules, boxes and planes. Left out, by name, are
shapes of one link or of links that a joint or a closure joins, shapes of the base beside the world,
and pairs that overlap at every one of many random positions: the arm is built so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked
from ..compile import arrays
from ..compile.arrays import NUMPY
from ..compile.kernels import LIMIT
from ..dynamics import coupling
from ..dynamics.kinematics import poses
from ..errors import OptionError, counted, worded
from ..lazy import once
from ..model.geometry import SOLIDS, carrier, solid_of
from ..model.world import Obstacle, obstacles
from ..spatial.functions import MATH, Functions
from ..spatial.geometry import Nearest, Plane, Solid, nearest
from .preflight import random_positions
from .user_function import compile_function

if TYPE_CHECKING:
    from . import Robot

LOOKS = 400  # random positions that tell which pairs always overlap
TWO_BOXES, OTHERS = 3500, 400  # operations of the distance of a pair, rounded up


class Body(NamedTuple):
    """A solid on a link in its joint frame; -1: still, in the reference frame."""

    name: str
    link: int
    solid: Solid | Plane


class NearestPair(NamedTuple):
    """The nearest two bodies at one position: metres between them, their names and points."""

    distance: float
    names: tuple[str, str]
    points: tuple[np.ndarray, np.ndarray]  # (3,) each, in the reference frame


@dataclass(frozen=True)
class CollisionPairs:
    """Pairs of bodies whose distance is kept in view, and those left out with the reason."""

    robot: "Robot"
    pairs: tuple[tuple[Body, Body], ...]
    left_out: Mapping[tuple[str, str], str]
    _evaluate: Callable[[np.ndarray], np.ndarray]

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Names of every pair."""
        return tuple((a.name, b.name) for a, b in self.pairs)

    @checked
    def distances(self, q: Any) -> np.ndarray:
        """Distance of every pair, (..., pairs); negative where they overlap."""
        return self._evaluate(_positions(self.robot, q))

    @checked
    def nearest(self, q: Any) -> NearestPair:
        """The nearest pair at one position q (n,), with its points."""
        model = self.robot.model
        one = arrays.one_sample(_positions(self.robot, q), "q", (model.n,), f"robot {model.name!r}")
        arrays.finite(one, "q")
        a, b = self.pairs[int(np.argmin(self._evaluate(one)))]
        found = _nearest(self.robot.chain, ((a, b),), one.tolist(), MATH)[0]
        return NearestPair(
            float(found.distance), (a.name, b.name), (np.array(found.a), np.array(found.b))
        )


def collision_pairs(robot: "Robot", world: Any = None) -> CollisionPairs:
    """Pairs of bodies of an arm, and of the arm with a world, found once for each world."""
    around = obstacles(world)
    key = ("collision pairs", tuple(around.items()))
    return once(robot, key, lambda: _pairs(robot, around))


def distance(robot: "Robot", q: Any, world: Any) -> np.ndarray:
    """Distance of the nearest pair, (...,)."""
    return collision_pairs(robot, world).distances(q).min(axis=-1, initial=np.inf)


def collides(robot: "Robot", q: Any, world: Any) -> np.ndarray:
    """Whether any pair overlaps, (...,)."""
    apart = distance(robot, q, world)
    arrays.finite(np.where(np.isnan(apart), np.nan, 0.0), "the distance")
    return apart < 0.0


def _pairs(robot: "Robot", world: Mapping[str, Obstacle]) -> CollisionPairs:
    own = _bodies(robot)
    around = [Body(name, -1, x.solid) for name, x in world.items()]
    if not own:
        raise OptionError(
            f"robot {robot.name!r} has no geometry for collision",
            'give shapes: [[geometry]] in its file, or geometry=[dy.Geometry(kind="capsule", ...)]',
        )
    taken = {body.name for body in own}
    if (twice := next((x.name for x in around if x.name in taken), None)) is not None:
        raise OptionError(f"geometry and an obstacle of the world are both called {twice!r}")
    joined, left_out = _joined(robot), {}
    pairs = []
    for a, b in [*combinations(own, 2), *((a, b) for a in own for b in around)]:
        reason = _never(robot, a, b, joined)
        if reason is None:
            pairs.append((a, b))
        else:
            left_out[a.name, b.name] = reason
    if not robot.model.closures and pairs:
        looks = random_positions(robot, LOOKS, np.random.default_rng(0))
        touching = np.all(_generic(robot, pairs)(looks) < 0.0, axis=0).tolist()
        for (a, b), always in zip(pairs, touching, strict=True):
            if always:
                left_out[a.name, b.name] = f"they overlap at all of {LOOKS} random positions"
        pairs = [pair for pair, always in zip(pairs, touching, strict=True) if not always]
    return CollisionPairs(robot, tuple(pairs), left_out, _evaluated(robot, pairs))


def _positions(robot: "Robot", q: Any) -> np.ndarray:
    return arrays.as_batch(q, "q", (robot.n,), f"robot {robot.name!r}")


def _bodies(robot: "Robot") -> list[Body]:
    """Shapes for collision in joint frames."""
    model, chain, found = robot.model, robot.chain, []
    others = [x for x in model.geometry if "collision" in x.use and x.kind not in SOLIDS]
    if others:
        what = f"{counted(len(others), 'shape')} of {robot.name!r} for collision"
        raise OptionError(
            f"{what} ({worded(f'{x.name}: {x.kind}' for x in others)}): distances are of "
            f"{', '.join(SOLIDS)}",
            'describe these links by capsules or boxes for collision, and use="visual" for meshes',
        )
    for shape in model.geometry:
        if "collision" in shape.use:
            i, place = carrier(model, shape.link)
            T = chain.base if i < 0 else chain.bodies[i].user
            solid = solid_of(shape, model.values, place).moved(T)
            found.append(Body(str(shape.name), i, solid))
    return found


def _joined(robot: "Robot") -> set[frozenset[int]]:
    """Links that a joint or a closure joins."""
    model = robot.model
    found = {frozenset((i, parent)) for i, parent in enumerate(model.parents)}
    for closure in model.closures:
        found.add(frozenset(model.link_index(name) for name in closure.between))
    return found


def _never(robot: "Robot", a: Body, b: Body, joined: set[frozenset[int]]) -> str | None:
    """Why two bodies are not a pair."""
    if a.link == b.link:
        return "both are still" if a.link < 0 else "both are on one link"
    world = b.link < 0 and b.name not in {str(x.name) for x in robot.model.geometry}
    if not world and frozenset((a.link, b.link)) in joined:
        return "their links are joined"
    return None


def _nearest(
    chain: Any, pairs: Sequence[tuple[Body, Body]], q: Sequence[Any], fn: Functions
) -> list[Nearest]:
    """Distance and nearest points of every pair at q."""
    where = poses(chain, coupling.positions(chain, q), fn)
    placed: dict[str, Solid | Plane] = {}
    for body in (body for pair in pairs for body in pair):
        if body.name not in placed:
            own = body.solid
            if isinstance(own, Solid) and body.link >= 0:
                own = own.moved(where[body.link])
            placed[body.name] = own
    return [nearest(placed[a.name], placed[b.name], fn) for a, b in pairs]


def _evaluated(
    robot: "Robot", pairs: Sequence[tuple[Body, Body]]
) -> Callable[[np.ndarray], np.ndarray]:
    """Distances of all pairs: machine code where it stays of sensible size."""
    if not pairs:
        return lambda q: np.empty((*q.shape[:-1], 0))
    boxes = sum(_is_box(a) and _is_box(b) for a, b in pairs)
    if TWO_BOXES * boxes + OTHERS * (len(pairs) - boxes) > LIMIT:
        return _generic(robot, pairs)

    def distances(arm: Any, q: Any) -> list[Any]:
        return [x.distance for x in _nearest(arm.chain, pairs, q, arm.fn)]

    return compile_function(robot, distances)


def _is_box(body: Body) -> bool:
    return isinstance(body.solid, Solid) and body.solid.half is not None


def _generic(
    robot: "Robot", pairs: Sequence[tuple[Body, Body]]
) -> Callable[[np.ndarray], np.ndarray]:
    """Distances of all pairs over arrays."""

    def distances(q: np.ndarray) -> np.ndarray:
        scalars = [q[..., k] for k in range(robot.n)]
        found = [x.distance for x in _nearest(robot.chain, pairs, scalars, NUMPY)]
        return np.stack([np.broadcast_to(x, q.shape[:-1]) for x in found], axis=-1)

    return distances
