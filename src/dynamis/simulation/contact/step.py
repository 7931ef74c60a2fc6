"""Contacts within a step: what touches is decided once, held in the stages, struck at the end.

    decided   forces that leave no point moving into its obstacle at the end of the step, joints at
              rest held or not by the same solution; which points stick, slide or leave
    held      of every stage: accelerations with points that touch kept there, d'' = 0, and those
              that stick: u' = 0; sliding ones rub against their velocity
    struck    points that met their obstacle within the step: impulses through M where it was
              met, by Newton's restitution, and the rest of the step with the new velocities

A point that sticks, or is to come to rest within the step, is given the acceleration -u / h of its
velocity u at the start, so that it rests at the end whatever rounding left over.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ...spatial.functions import Functions, zero
from ...spatial.vectors import Scalars, inner, less, plus, unit
from ..impacts import REBOUND, SLOW
from ..inertia import ArmInertia, Constrained, independent_solve, inertia_at
from .calls import Kind, Solve
from .points import Motion, Point, Stop, motions
from .solver import DEPENDENT, ENDLESS, LEAST, Box, Cone, Problem, Solution, scales_of, solve_rows

if TYPE_CHECKING:
    from ..plant import Plant
    from ..state import PlantState

TOUCHING = 1e-8  # m or rad: nearer than that a point touches
UNSOLVED = 1e-4  # m/s: a residual that is no solution
GAIN = 1e-12  # of the energy of an impact: rounding
LIFTING = 1e-3  # acceleration by a push with its friction, of that by the push alone
SLIDING = 1e-6  # m/s: slower than that a point rests
OPEN, SLIDES, STICKS = 0.0, 1.0, 2.0
Inertia = ArmInertia | Constrained


class Rows(NamedTuple):
    """All rows of some points, with what a unit impulse along each changes of qd."""

    J: list[list[Any]]
    responses: list[list[Any]]

    @property
    def G(self) -> list[list[Any]]:
        """J L^-1 J^T"""
        size = range(len(self.J))
        G: list[list[Any]] = [[0.0] * len(self.J) for _ in size]
        for i in size:
            for j in range(i + 1):
                G[i][j] = G[j][i] = inner(self.J[i], self.responses[j])
        return G

    def change(self, l: Scalars) -> list[Any]:
        """L^-1 J^T l"""
        return [inner(column, l) for column in zip(*self.responses, strict=True)]


def _rows(J: list[list[Any]], inertia: Inertia, held: Scalars, fn: Functions) -> Rows:
    return Rows(J, [inertia.response(row, held, fn) for row in J])


def _places(found: list[Motion], first: int = 0) -> list[slice]:
    """Where the rows of every point are."""
    places = []
    for motion in found:
        places.append(slice(first, first + len(motion.rows)))
        first += len(motion.rows)
    return places


def _part(values: Scalars, k: int) -> tuple[Any, Any, Any]:
    """The vector of point k in a part of the state."""
    return values[3 * k], values[3 * k + 1], values[3 * k + 2]


def _vectors(found: list[Motion], values: Scalars, places: list[slice]) -> list[Any]:
    """Vectors of all points, one after the other, from values of their rows."""
    return [x for m, p in zip(found, places, strict=True) for x in m.vector(values[p])]


def decided_kinds(plant: "Plant") -> list[Kind]:
    """Blocks of the problem at the beginning: joints that friction may hold, then points."""
    return [None] * sum(plant.rubs) + struck_kinds(plant)


def struck_kinds(plant: "Plant") -> list[Kind]:
    """Blocks of the problem at the end."""
    return [_friction(p) for p in plant.contacts]


def _friction(point: Point) -> Kind:
    return None if zero(point.material.friction) else point.material.friction


# at the beginning


def decided(
    plant: "Plant", x: "PlantState", inertia: Inertia, rest: Scalars, other: Scalars, h: Any,
    solve: Solve, fn: Functions,
) -> tuple["PlantState", dict[int, Any]]:  # fmt: skip
    """Directions of the joints, and forces and modes of the points, in the coming step; what
    friction and stops take of joints that may hold."""
    found = motions(plant.contacts, plant.chain, x.q, fn, x.qd)
    joints = plant._rows(x, other, fn)
    moving = [fn.select(v < 0.0, -1.0, 1.0) for v in x.qd]
    slide, r = plant._sliding(x, moving, other, fn), list(rest)
    for i, row in joints.items():
        r[i] = r[i] - fn.select(row.holds > 0.0, 0.0, slide[i])
    free: list[Any] = [None] * len(r)
    a, _ = inertia.solve(r, free, [0.0] * len(r), fn)
    v = [u + h * w for u, w in zip(x.qd, a, strict=True)]
    rows = _rows(
        [*(unit(i, len(r)) for i in joints), *(row for m in found for row in m.rows)],
        inertia, free, fn,
    )  # fmt: skip
    places, bias = _places(found, len(joints)), [0.0] * len(joints)
    bias += [b for m in found for b in m.bias]
    now = [inner(row, x.qd) for row in rows.J]
    blocks: list[Box | Cone] = []
    guess: list[Any] = []
    for i, row in joints.items():
        low, high = -h * row.high, -h * row.low
        blocks.append(Box(row.holds * low, row.holds * high))
        before = -h * (x.friction[i] - other[i])
        guess.append(row.holds * fn.max(low, fn.min(before, high)))
    for k, (motion, place) in enumerate(zip(found, places, strict=True)):
        near = (motion.distance <= TOUCHING) * (now[place.start] >= -REBOUND)
        blocks.append(_block(plant, k, motion, near, fn))
        guess += [h * f for f in motion.along(_part(x.contact_force, k))]
    free_u = [inner(row, v) + h * b for row, b in zip(rows.J, bias, strict=True)]
    problem = Problem(rows.G, free_u, blocks)
    solution = solve(problem, guess, fn)
    modes = _modes(problem, solution, len(joints), fn)
    directions = list(moving)
    for (i, row), mode in zip(joints.items(), modes, strict=False):
        directions[i] = fn.select(row.holds > 0.0, mode, moving[i])
    per_time = [l / h for l in solution.l]
    taken = {i: -f for i, f in zip(joints, per_time, strict=False)}
    for point, motion, place in zip(plant.contacts, found, places, strict=True):
        if isinstance(point, Stop) and point.coordinate in taken:
            i = point.coordinate
            taken[i] = taken[i] - motion.rows[0][i] * per_time[place.start]
    new = replace(
        x,
        direction=directions,
        contact_force=_vectors(found, per_time, places),
        contact_mode=modes[len(joints) :],
        contact_target=_vectors(found, [-u / h for u in now], places),
        contact_residual=[solution.residual],
        contact_impulse=[0.0 for _ in x.contact_impulse],
        contact_paradox=_paradoxes(plant, problem, now, places, fn),
    )
    return new, taken


def _paradoxes(
    plant: "Plant", problem: Problem, u: Scalars, places: list[slice], fn: Functions
) -> list[Any]:
    """Of every point, whether it touches and slides so that a push along its normal, with the
    friction that belongs to it, moves it into its obstacle: G_nn < mu |G_nt| (Painleve)."""
    G, found = problem.G, []
    for point, place in zip(plant.contacts, places, strict=True):
        n, mu = place.start, point.material.friction
        if place.stop - n == 1:
            found.append(0.0)
            continue
        block = problem.blocks[len(problem.blocks) - len(places) + len(found)]
        assert isinstance(block, Cone)
        size = fn.sqrt(u[n + 1] * u[n + 1] + u[n + 2] * u[n + 2])
        drag = (u[n + 1] * G[n][n + 1] + u[n + 2] * G[n][n + 2]) * mu
        lifts = G[n][n] * size - drag > 0.0
        slides = fn.select(block.active, 1.0 * (size > SLIDING), 0.0)
        found.append(slides * (1.0 - lifts))
    return found


def _block(plant: "Plant", k: int, motion: Motion, active: Any, fn: Functions) -> Box | Cone:
    if len(motion.rows) == 1:
        return Box(0.0, fn.select(active, ENDLESS, 0.0))
    return Cone(plant.contacts[k].material.friction, active)


def _modes(problem: Problem, found: Solution, joints: int, fn: Functions) -> list[Any]:
    """Of joints the direction in which they slide, 0 where held; of points OPEN, SLIDES, STICKS."""
    scales, modes = scales_of(problem, fn), []
    for k, block in problem.places:
        z = [
            found.l[i] - fn.select(scales[i] > LEAST, found.u[i] / fn.max(scales[i], LEAST), 0.0)
            for i in range(k, k + block.size)
        ]
        if isinstance(block, Cone):
            closed = 1.0 * (z[0] > 0.0) * fn.select(block.active, 1.0, 0.0)
            radius = block.friction * found.l[k]
            inside = z[1] * z[1] + z[2] * z[2] <= radius * radius
            modes.append(closed * fn.select(inside, STICKS, SLIDES))
        elif len(modes) >= joints:  # a point without friction
            modes.append(SLIDES * (z[0] > 0.0) * (block.high > 0.0))
        else:  # a joint moves against the friction that its impulse is
            modes.append(fn.select(z[0] > block.high, -1.0, fn.select(z[0] < block.low, 1.0, 0.0)))
    return modes


# in the stages


def held(
    plant: "Plant", x: "PlantState", inertia: Inertia, push: Scalars, fn: Functions
) -> tuple[list[Any], list[Any]]:
    """Torques of points that touch and of joint stops, at a stage with torques `push` besides."""
    found = motions(plant.contacts, plant.chain, x.q, fn, x.qd)
    fixed, places = plant.held(x), _places(found)
    a, _ = inertia.solve(push, fixed, [0.0] * len(push), fn)
    rows = _rows([row for m in found for row in m.rows], inertia, fixed, fn)
    size = len(rows.J)
    A: list[list[Any]] = [[0.0] * size for _ in range(size)]
    b: list[Any] = [0.0] * size
    holds, columns, slopes = _columns(plant, x, found, rows, places, fn)
    for m, place in zip(found, places, strict=True):
        for i, bias in zip(range(place.start, place.stop), m.bias, strict=True):
            b[i] = -(inner(rows.J[i], a) + bias)
            for j in range(size):
                both = holds[i] if i == j else holds[i] * holds[j]
                A[i][j] = fn.select(both, inner(rows.J[i], columns[j]), float(i == j))
    for k, (m, place) in enumerate(zip(found, places, strict=True)):
        for i, target in zip(
            range(place.start, place.stop), m.along(_part(x.contact_target, k)), strict=True
        ):
            b[i] = fn.select(holds[i], b[i] + target, 0.0)
    l = solve_rows(A, b, fn, DEPENDENT)
    for i, j, slope in slopes:
        l[j] = l[j] + slope * l[i]
    torques: list[list[Any]] = [[0.0] * len(push), [0.0] * len(push)]
    for point, place in zip(plant.contacts, places, strict=True):
        which = isinstance(point, Stop)
        for row, own in zip(rows.J[place], l[place], strict=True):
            torques[which] = plus(torques[which], [own * e for e in row])
    return torques[0], torques[1]


def _columns(
    plant: "Plant", x: "PlantState", found: list[Motion], rows: Rows, places: list[slice],
    fn: Functions,
) -> tuple[list[Any], list[list[Any]], list[tuple[int, int, Any]]]:  # fmt: skip
    """Which rows hold; responses to each, a normal one with the friction of a point that slides;
    and (normal row, tangent row, force of the second per force of the first) of these."""
    holds: list[Any] = []
    columns, slopes = [list(r) for r in rows.responses], []
    for k, (m, place) in enumerate(zip(found, places, strict=True)):
        mode, n = x.contact_mode[k], place.start
        holds.append(1.0 * (mode > OPEN))
        if len(m.rows) == 1:
            continue
        sticks, slides = 1.0 * (mode == STICKS), 1.0 * (mode == SLIDES)
        holds += [sticks, sticks]
        against = _against(plant, x, k, m, fn)
        own = inner(rows.J[n], rows.responses[n])
        lift = own + sum(
            slope * inner(rows.J[n], rows.responses[n + i]) for i, slope in enumerate(against, 1)
        )
        slides = slides * (lift > LIFTING * own)  # else no push parts them: Painleve
        for i, slope in enumerate(against, start=1):
            slopes.append((n, n + i, slides * slope))
            columns[n] = plus(columns[n], [slides * slope * y for y in rows.responses[n + i]])
    return holds, columns, slopes


def _against(plant: "Plant", x: "PlantState", k: int, m: Motion, fn: Functions) -> list[Any]:
    """Friction per normal force of a point that slides, along both tangents."""
    f = m.along(_part(x.contact_force, k))
    begun = [fn.select(f[0] > LEAST, y / fn.max(f[0], LEAST), 0.0) for y in f[1:]]
    u = [inner(row, x.qd) for row in m.rows[1:]]
    size = fn.sqrt(u[0] * u[0] + u[1] * u[1])
    onward = (u[0] * begun[0] + u[1] * begun[1] < 0.0) * (size > LEAST)
    mu = plant.contacts[k].material.friction
    now = [-mu * y / fn.max(size, LEAST) for y in u]
    return [fn.select(onward, a, b) for a, b in zip(now, begun, strict=True)]


# at the end


class Hit(NamedTuple):
    """A strike of a point within a step: whether there was one, and the share of the step since."""

    hit: Any
    share: Any
    restitution: Any
    bounces: Any = 0.0


def struck(
    plant: "Plant", x: "PlantState", end: "PlantState", q: list[Any], qd: list[Any], h: Any,
    solve: Solve, fn: Functions,
) -> tuple[list[Any], list[Any], dict[str, list[Any]]]:  # fmt: skip
    """q, qd after what was met in a step from x; parts of the state that tell of it.

    Impulses act where the arm was when it first met something. The velocities they change have the
    rest of the step, with the accelerations that belong to them, or energy would come of nothing.
    """
    after = motions(plant.contacts, plant.chain, q, fn)
    places, gained = _places(after), less(qd, x.qd)
    hits = _hits(plant, x, after, qd, h, fn)
    since = _most([p.share for p in hits], fn)
    before = [v - since * g for v, g in zip(qd, gained, strict=True)]
    met = [a - since * h * (v - 0.5 * since * g) for a, v, g in zip(q, qd, gained, strict=True)]
    found = motions(plant.contacts, plant.chain, met, fn)
    event = _most([1.0 - 1.0 * (a == b) for a, b in zip(qd, end.qd, strict=True)], fn)
    event = fn.max(event, _most([p.hit for p in hits], fn))  # joints that turned back, and strikes
    hits, hard, raw, velocities = _speeds(hits, found, qd, gained, fn)
    fixed = [
        None if d is None else 1.0 * (v == 0.0) * (hard == 0.0)
        for d, v in zip(plant.held(x), qd, strict=True)
    ]
    inertia = inertia_at(plant.chain, met, fn, holds=plant.holds)
    rows = _rows([row for m in found for row in m.rows], inertia, fixed, fn)
    blocks: list[Box | Cone] = []
    for k, (m, p) in enumerate(zip(found, hits, strict=True)):
        active = fn.max(p.hit, 1.0 * (x.contact_mode[k] > OPEN)) > 0.0
        blocks.append(_block(plant, k, m, active, fn))
    problem = Problem(rows.G, velocities, blocks)
    solution = solve(problem, [0.0] * len(rows.J), fn)
    wanted = _solved_or_smooth(problem, solution, raw, fn)
    impulses = [fn.select(event > 0.0, l, 0.0) for l in wanted]
    impulses = _without_gain(problem.G, raw, impulses, fn)
    change, way = rows.change(impulses), rows.change(_lasting(impulses, hits, places, since, h, fn))
    q = plus(q, way)
    q = _put_back(x, after, hits, places, rows, problem.G, (q, way, solution), fn)
    residual = fn.max(end.contact_residual[0], fn.select(event > 0.0, solution.residual, 0.0))
    parts = {
        "contact_impulse": _vectors(found, impulses, places),
        "contact_residual": [residual],
    }
    bounced = _most([p.bounces * p.share for p in hits], fn) * h
    force = less(
        plant.torque_in_flight(x, met, plus(before, change), h, fn),
        plant.torque_in_flight(x, met, before, h, fn),
    )
    later = inertia.response(force, fixed, fn)
    new = [v + c + bounced * a for v, c, a in zip(qd, change, later, strict=True)]
    return q, [fn.select(event > 0.0, a, b) for a, b in zip(new, qd, strict=True)], parts


def _most(values: Scalars, fn: Functions) -> Any:
    found: Any = 0.0
    for x in values:
        found = fn.max(found, x)
    return found


def _hits(
    plant: "Plant", x: "PlantState", after: list[Motion], qd: Scalars, h: Any, fn: Functions
) -> list[Hit]:
    """Which points met their obstacle, and when: their distances are parabolas of time."""
    found = []
    for k, m in enumerate(after):
        u = inner(m.rows[0], qd)
        gain = u + h * m.along(_part(x.contact_target, k))[0]  # in the whole step
        hit = (x.contact_mode[k] == OPEN) * (m.distance < 0.0)
        share = fn.select(hit, _since(m.distance, u, gain, h, fn), 0.0)
        found.append(Hit(1.0 * hit, share, plant.contacts[k].material.restitution))
    return found


def _speeds(
    hits: list[Hit], found: list[Motion], qd: Scalars, gained: Scalars, fn: Functions
) -> tuple[list[Hit], Any, list[Any], list[Any]]:
    """Strikes with bounces, 1 for a hard blow, velocities of all rows, and less those wanted.

    All that strikes in one step has one restitution, the least. A point that comes to rest does so
    at the end of the step.
    """
    speeds, least, hard = [], 1.0, 0.0
    for m, p in zip(found, hits, strict=True):
        ahead = inner(m.rows[0], gained)
        speed = fn.min(inner(m.rows[0], qd) - p.share * ahead, 0.0)
        e = fn.select(-speed > REBOUND, p.restitution, 0.0)
        least = fn.select(p.hit > 0.0, fn.min(least, e), least)
        slow = SLOW * ahead
        hard = fn.max(hard, p.hit * (speed * speed > slow * slow))
        speeds.append(speed)
    bounced, raw, velocities = [], [], []
    for m, p, speed in zip(found, hits, speeds, strict=True):
        bounces = p.hit * (least * speed < 0.0)
        own = fn.select(bounces > 0.0, p.share, 0.0)
        u = [inner(row, qd) - own * inner(row, gained) for row in m.rows]
        raw += u
        u[0] = u[0] + fn.select(bounces > 0.0, least * speed, 0.0)
        velocities += u
        bounced.append(p._replace(bounces=bounces))
    return bounced, hard, raw, velocities


def _solved_or_smooth(problem: Problem, solution: Solution, u: Scalars, fn: Functions) -> list[Any]:
    """Impulses of a solution; of none, those that stop every point by itself, without friction."""
    found: list[Any] = []
    bad = 1.0 - 1.0 * (solution.residual <= UNSOLVED)
    for k, block in problem.places:
        G = problem.G[k][k]
        taken = block.active if isinstance(block, Cone) else block.high > 0.0
        stop = fn.select(taken, fn.max(-u[k] / fn.max(G, LEAST), 0.0), 0.0)
        stop = fn.select(G > LEAST, stop, 0.0)
        smooth = [stop, 0.0, 0.0][: block.size]
        pairs = zip(smooth, solution.l[k : k + block.size], strict=True)
        found += [fn.select(bad > 0.0, a, b) for a, b in pairs]
    return found


def _without_gain(G: Sequence[Scalars], u: Scalars, l: Scalars, fn: Functions) -> list[Any]:
    """Impulses, smaller where they would add to the kinetic energy: l . u + l . G l / 2.

    Newton's restitution together with friction can (Kane, 1984), and so can an unsolved problem.
    """
    work, inertial = inner(l, u), inner(l, [inner(row, l) for row in G])
    gains = 2.0 * work + inertial > GAIN * inertial
    most = fn.max(0.0, fn.min(-2.0 * work / fn.select(gains, inertial, 1.0), 1.0))
    return [fn.select(gains, most, 1.0) * x for x in l]


def _since(d: Any, u: Any, gain: Any, h: Any, fn: Functions) -> Any:
    """The share of a step since a distance was 0 that is d < 0 now and changes by u.

    d - u s h + gain s^2 h / 2 = 0, `gain` being what u gained in the whole step.
    """
    root = fn.sqrt(fn.max(u * u - 2.0 * gain * d / h, 0.0))
    below = fn.min(u - root, -LEAST)
    return fn.max(0.0, fn.min(2.0 * d / (h * below), 1.0))


def _lasting(
    l: Scalars, hits: list[Hit], places: list[slice], since: Any, h: Any, fn: Functions
) -> list[Any]:
    """Impulses times the seconds they had: those of points that touched before, the longest."""
    return [
        x * (h * fn.select(p.hit > 0.0, p.share, since))
        for p, place in zip(hits, places, strict=True)
        for x in l[place]
    ]


def _put_back(
    x: "PlantState", after: list[Motion], hits: list[Hit], places: list[slice], rows: Rows,
    G: Sequence[Scalars], moved: tuple[list[Any], list[Any], Solution], fn: Functions,
) -> list[Any]:  # fmt: skip
    """Positions with points that touch on their obstacles, and none beyond."""
    q, way, solution = moved
    normals = [place.start for place in places]
    which, wanted = [], []
    for k, (m, p, n) in enumerate(zip(after, hits, normals, strict=True)):
        d = m.distance + inner(m.rows[0], way)
        stays = 1.0 * (x.contact_mode[k] > OPEN) * (solution.u[n] <= REBOUND)
        rests = p.hit * (1.0 - p.bounces) * (solution.l[n] > 0.0)
        own = fn.max(fn.max(stays, rests), 1.0 * (d < 0.0))
        which.append(own)
        wanted.append(fn.select(own > 0.0, -d, 0.0))
    size = range(len(normals))
    A: list[list[Any]] = [[0.0] * len(normals) for _ in size]
    for i in size:
        for j in range(i + 1):
            both = which[i] if i == j else which[i] * which[j]
            A[i][j] = A[j][i] = fn.select(both > 0.0, G[normals[i]][normals[j]], float(i == j))
    y, _ = independent_solve(A, wanted, fn)
    for n, own, on in zip(normals, y, which, strict=True):
        step = fn.select(on > 0.0, own, 0.0)
        q = [a + step * b for a, b in zip(q, rows.responses[n], strict=True)]
    return q
