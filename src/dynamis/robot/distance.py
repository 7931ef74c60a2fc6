"""Distances of an arm from itself and from what stands around it.

Pairs of shapes for collision, exact for spheres, capsules, boxes and planes; by coal for cylinders,
hulls and meshes. Left out, by name, are shapes of one link or of links that a joint or a closure
joins, shapes of the base beside the world, and pairs that overlap at every one of many random
positions: the arm is built so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arguments import checked
from ..compile import arrays
from ..compile.arrays import NUMPY
from ..compile.kernels import LIMIT
from ..errors import OptionError
from ..lazy import once
from ..model.geometry import SOLIDS, Geometry, carrier, solid_of
from ..model.world import Obstacle, obstacles
from ..spatial.frames import inverse, matrix
from ..spatial.functions import MATH, Functions
from ..spatial.geometry import Nearest, Plane, Solid, nearest
from .bodies.body import AnyBody, Body, placed_bodies
from .bodies.joined import STILL, never_apart
from .preflight import random_positions
from .user_function import compile_function

if TYPE_CHECKING:
    from . import Robot

LOOKS, FIRST = 400, 16  # random positions that tell which pairs always overlap
ALWAYS = f"they overlap at all of {LOOKS} random positions"
TWO_BOXES, OTHERS = 3500, 400  # operations of the distance of a pair, rounded up


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
        a, b = pair = self.pairs[int(np.argmin(self._evaluate(one)))]
        if a.is_exact and b.is_exact:
            found = distances_of(self.robot.chain, (pair,), one.tolist(), MATH)[0]
        else:
            from .bodies.coal_shapes import coal_nearest

            first, second = _by_coal(self.robot, pair)
            found = coal_nearest(first, second, self.robot.frames(one))
        return NearestPair(
            float(found.distance), (a.name, b.name), (np.array(found.a), np.array(found.b))
        )

    @checked
    def plot(self, q: Any, path: Any = None, ax: Any = None) -> Any:
        """A picture of the bodies at one position q (n,), with the nearest two."""
        from ..plots.distance_plot import plot_nearest

        return plot_nearest(self, q, path, ax)


def collision_pairs(robot: "Robot", world: Any = None) -> CollisionPairs:
    """Pairs of bodies of an arm, and of the arm with a world, found once for each world."""
    around = obstacles(world)
    key = ("collision pairs", tuple(around.items()))
    return once(robot, key, lambda: _pairs(robot, around))


def distance(robot: "Robot", q: Any, world: Any) -> np.ndarray:
    """Distance of the nearest pair, (...,)."""
    return collision_pairs(robot, world).distances(q).min(axis=-1, initial=np.inf)


def collides(robot: "Robot", q: Any, world: Any) -> np.ndarray:
    """True where any pair overlaps, (...,)."""
    apart = distance(robot, q, world)
    arrays.finite(np.where(np.isnan(apart), np.nan, 0.0), "the distance")
    return apart < 0.0


def _pairs(robot: "Robot", world: Mapping[str, Obstacle]) -> CollisionPairs:
    own = bodies_of(robot, [x for x in robot.model.geometry if "collision" in x.use])
    around = [Body(name, -1, x.solid) for name, x in world.items()]
    if not own:
        raise OptionError(
            f"robot {robot.name!r} has no geometry for collision",
            'give shapes: [[geometry]] in its file, or geometry=[dy.Geometry(kind="capsule", ...)]',
        )
    taken = {body.name for body in own}
    if (twice := next((x.name for x in around if x.name in taken), None)) is not None:
        raise OptionError(f"geometry and an obstacle of the world are both called {twice!r}")
    reason_of, left_out = never_apart(robot, own), {}
    pairs = []
    for a, b in [*combinations(own, 2), *((a, b) for a in own for b in around)]:
        still = b in around and a.link < 0
        reason = STILL if still else None if b in around else reason_of(a, b)
        if reason is None:
            pairs.append((a, b))
        else:
            left_out[a.name, b.name] = reason
    if not robot.model.closures:
        for pair in _always_touching(robot, pairs):
            left_out[pair[0].name, pair[1].name] = ALWAYS
        pairs = [(a, b) for a, b in pairs if (a.name, b.name) not in left_out]
    return CollisionPairs(robot, tuple(pairs), left_out, _evaluated(robot, pairs))


def _always_touching(
    robot: "Robot", pairs: Sequence[tuple[Body, Body]]
) -> Sequence[tuple[Body, Body]]:
    """Pairs that overlap at all random positions; few are left after the first ones."""
    looks = random_positions(robot, LOOKS, np.random.default_rng(0))
    for some in (looks[:FIRST], looks[FIRST:]):
        touching = np.all(_evaluated(robot, pairs, _generic)(some) < 0.0, axis=0).tolist()
        pairs = [pair for pair, always in zip(pairs, touching, strict=True) if always]
    return pairs


def _positions(robot: "Robot", q: Any) -> np.ndarray:
    return arrays.as_batch(q, "q", (robot.n,), f"robot {robot.name!r}")


def bodies_of(robot: "Robot", shapes: Sequence[Geometry]) -> list[Body]:
    """Shapes of an arm, in joint frames; shapes of coal in those of their links."""
    model, chain, found = robot.model, robot.chain, []
    for shape in shapes:
        i, place = carrier(model, shape.link)
        T = chain.base if i < 0 else chain.bodies[i].user
        if shape.kind in SOLIDS:
            own: Any = solid_of(shape, model.values, place).moved(T)
        else:
            from .bodies.coal_shapes import coal_of

            own = coal_of(shape, model.values, place)
        found.append(Body(str(shape.name), i, own, shape.link or model.base_name))
    return found


def distances_of(
    chain: Any, pairs: Sequence[tuple[AnyBody, AnyBody]], q: Sequence[Any], fn: Functions
) -> list[Nearest]:
    """Distance and nearest points of every pair of exact solids at q."""
    every = list({id(body): body for pair in pairs for body in pair}.values())
    placed = dict(zip(map(id, every), placed_bodies(chain, every, q, fn), strict=True))
    return [nearest(placed[id(a)], placed[id(b)], fn) for a, b in pairs]


Distances = Callable[[np.ndarray], np.ndarray]  # of all pairs at positions (..., n), (..., pairs)


def _evaluated(
    robot: "Robot",
    pairs: Sequence[tuple[Body, Body]],
    exactly: Callable[[Any, Sequence[tuple[Body, Body]]], Distances] | None = None,
) -> Distances:
    """Distances of all pairs: those of exact solids by `exactly`, others by coal."""
    exact = [k for k, (a, b) in enumerate(pairs) if a.is_exact and b.is_exact]
    first = (exactly or _compiled)(robot, [pairs[k] for k in exact])
    others = [k for k in range(len(pairs)) if k not in set(exact)]
    if not others:
        return first
    from .bodies.coal_shapes import coal_distances

    shapes = [_by_coal(robot, pairs[k]) for k in others]

    def distances(q: np.ndarray) -> np.ndarray:
        found = np.empty((*q.shape[:-1], len(pairs)))
        found[..., exact] = first(q)
        frames = robot.frames(q)
        flat = frames.reshape(-1, *frames.shape[-3:])
        found[..., others] = coal_distances(shapes, flat).reshape(*q.shape[:-1], len(others))
        return found

    return distances


def _by_coal(robot: "Robot", pair: tuple[Body, Body]) -> Any:
    """Both bodies as (row of the frames of base and links, shape of coal on it)."""
    from .bodies.coal_shapes import CoalShape, coal_twin

    found = []
    for body in pair:
        own: Any = body.solid
        if not isinstance(own, CoalShape):
            user = robot.chain.base if body.link < 0 else robot.chain.bodies[body.link].user
            own = coal_twin(own.moved(inverse(user)) if isinstance(own, Solid) else own)
            if body.link < 0 and isinstance(body.solid, Plane):
                T = np.array(matrix(inverse(user)))
                own = replace(own, place=T @ own.place)
        found.append((body.link + 1, own))
    return found


def _compiled(robot: "Robot", pairs: Sequence[tuple[Body, Body]]) -> Distances:
    """Distances of exact solids: machine code where it stays of sensible size."""
    if not pairs:
        return lambda q: np.empty((*q.shape[:-1], 0))
    boxes = sum(_is_box(a) and _is_box(b) for a, b in pairs)
    if TWO_BOXES * boxes + OTHERS * (len(pairs) - boxes) > LIMIT:
        return _generic(robot, pairs)

    def distances(arm: Any, q: Any) -> list[Any]:
        return [x.distance for x in distances_of(arm.chain, pairs, q, arm.fn)]

    return compile_function(robot, distances)


def _is_box(body: Body) -> bool:
    return isinstance(body.solid, Solid) and body.solid.half is not None


def _generic(robot: "Robot", pairs: Sequence[tuple[Body, Body]]) -> Distances:
    """Distances of exact solids over arrays."""

    def distances(q: np.ndarray) -> np.ndarray:
        scalars = [q[..., k] for k in range(robot.n)]
        found = [x.distance for x in distances_of(robot.chain, pairs, scalars, NUMPY)]
        rows = [np.broadcast_to(x, q.shape[:-1]) for x in found]
        return np.stack(rows, axis=-1) if rows else np.empty((*q.shape[:-1], 0))

    return distances
