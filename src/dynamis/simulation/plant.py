"""The arm in motion: one step from state to state, over any scalar.

    begin     which joints hold, and where the others slide           (once per step)
    rate      velocities and accelerations, held joints left out      (once per stage)
    finish    what stopped, reversed or hit a joint stop in the step  (once per step)

Directions are fixed during a step, so the stages see smooth forces and the integrator keeps its
order between events. A joint whose velocity changes sign within a step either goes on, with the
jump of its friction corrected over the rest of the step (second order in the step), or comes to
rest at its turning point by an impulse through M. A gear that loses power rubs like friction that
grows with the torque it transmits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from ..dynamics import closed, elements, equation
from ..dynamics.drives import lossy
from ..dynamics.elements import friction
from ..dynamics.instant import Instant
from ..lazy import cached_property
from ..model.chain import Chain
from ..spatial.functions import Functions, zero
from ..spatial.vectors import Scalars, inner, less, plus
from . import motors, rows
from .closing.loops import LoopFigures, loop_figures, or_nan, put_back
from .contact import step as contact
from .contact.calls import Solve
from .contact.points import Point
from .contact.solver import solved
from .elastic import backlash, stiff_gears
from .elastic.sides import SIDES, Sides
from .elastic.stiff_gears import ElasticGear
from .impacts import impacts, own_states_at_end, reversals, stretched_at_end
from .inertia import ArmInertia, Constrained, inertia_at
from .rows import Row
from .state import (
    CONTACT_VECTORS,
    PARTS,
    Acting,
    Beginning,
    ImplicitSums,
    PlantState,
    end_of_stages,
    moved,
)
from .tableau import Tableau

ENDLESS = 1e300  # the force of a joint stop


@dataclass(frozen=True)
class Plant:
    """An arm, its friction, its drives and its joint stops.

    `stops` are (lowest, highest) positions per coordinate, None where there is none; `order` is
    that of the steps, to which the loops of a closed mechanism are held. Motors behind elastic
    gears are coordinates of the chain, after those of the links; `gamma` is that of steps that are
    implicit in the gears (`stiff_gears`), 0 of explicit ones.
    """

    chain: Chain
    stops: tuple[tuple[float, float] | None, ...]
    restitution: float = 0.0
    drives: bool = True
    order: int = 4
    gamma: float = 0.0
    hard: tuple[bool, ...] = ()  # of gears with backlash: contacts are shorter than a step
    contacts: tuple[Point, ...] = field(default=(), repr=False)  # of a world, its stops among them

    def sizes(self, observed: bool) -> dict[str, int]:
        """Of the parts of its state; `observed`: whether an observer wants the impulse."""
        n, apart = self.chain.link_coordinates, len(self.gears)
        others = {
            **dict.fromkeys(SIDES.values(), apart),
            "flank": len(self.hard),
            "bristle": len(rows.bristles(self.chain)),
            "current": len(motors.inductive(self.chain)) if self.drives else 0,
            "warmth": 2 * len(friction.thermal_joints(self.chain)),
            "law_state": rows.own_states(self.chain),
            "loss": self._losses,
            "impulse": n * observed,
            **dict.fromkeys(CONTACT_VECTORS, 3 * len(self.contacts)),
            "contact_mode": len(self.contacts),
            "contact_paradox": len(self.contacts),
            "contact_residual": int(bool(self.contacts)),
        }
        return {f.name: others.get(f.name, n) for f in fields(PlantState) if f.name not in PARTS}

    @cached_property
    def key(self) -> str:
        """Cache key: two equal texts give the same code."""
        found = repr(self) + (repr(self.gears) if self.gears else "")
        return found + (repr(self.contacts) if self.contacts else "")

    @cached_property
    def gears(self) -> list[ElasticGear]:
        """Elastic gears with the coordinates of joint and motor."""
        return stiff_gears.elastic_gears(self.chain)

    @cached_property
    def sides(self) -> Sides:
        """Joints, and the motors behind elastic gears."""
        return Sides(self.chain.link_coordinates, self.gears)

    @cached_property
    def _losses(self) -> int:
        return len(self.chain.motors) if self.drives and lossy(self.chain) else 0

    @cached_property
    def unresolved(self) -> list[bool]:
        """Of every elastic gear, whether it vibrates faster than steps follow."""
        hard = iter(self.hard)
        return [bool(self.gamma) if zero(x.backlash) else next(hard) for x in self.chain.elastic]

    @property
    def lossless(self) -> bool:
        """Whether no gear loses power."""
        return not self._losses

    @cached_property
    def holds(self) -> list[bool]:
        """Which coordinates can come to a hold: by friction or at a stop."""
        return [rubs or stop is not None for rubs, stop in zip(self.rubs, self.stops, strict=True)]

    @cached_property
    def rubs(self) -> list[bool]:
        """Which coordinates friction can hold: of joints, shared motors, gears with losses."""
        held = rows.held(self.chain)
        if self._losses:
            held = held | set(motors.lossy_joints(self.chain))
        return [i in held for i in range(self.chain.n)]

    # the three parts of a step

    def in_state(self, x: PlantState, fn: Functions) -> "Plant":
        """The arm with the viscous friction of its temperatures, laws of the user's in theirs."""
        arm, joints = self, friction.thermal_joints(self.chain)
        if joints:
            above = {i: x.warmth[2 * k] + x.warmth[2 * k + 1] for k, (i, _, _) in enumerate(joints)}
            arm = replace(arm, chain=friction.warmed(arm.chain, above, fn))
        if rows.own_laws(arm.chain):
            arm = replace(arm, chain=rows.with_own_states(arm.chain, x.law_state))
        return arm

    def _engaged(self, x: PlantState) -> "Plant":
        """The arm with every gear on its flank, or within its gap."""
        if not self.hard:
            return self
        sides, gears = iter(x.flank), []
        for gear in self.chain.elastic:
            free = zero(gear.backlash)
            gears.append(gear if free else backlash.on_flank(gear, next(sides)))
        return replace(self, chain=replace(self.chain, elastic=tuple(gears)))

    def begin(
        self, x: PlantState, acting: Acting, h: Any, fn: Functions, solve: Solve = solved
    ) -> Beginning:
        """Directions of friction, direction of power through the gears, torques that act."""
        arm, x = self.in_state(x, fn), self.sides.joined(x)
        if self.hard:
            played = zip(backlash.with_backlash(self.gears), self.hard, strict=True)
            x = replace(x, flank=[backlash.flank(*gear, x.q, x.qd, h, fn) for gear in played])
        found = arm._engaged(x)._begin(x, self.sides.all_forces(acting), h, fn, solve)
        if not self.gears:
            return found
        rates = found.rates and self.sides.rates_apart(found.rates)
        return found._replace(state=self.sides.parted(found.state), rates=rates)

    def _begin(
        self, x: PlantState, acting: Acting, h: Any, fn: Functions, solve: Solve
    ) -> Beginning:
        tau, current_rate = self._drive(x, acting, fn)
        new = replace(x, tau=tau)
        if self._losses:
            new = replace(new, loss=motors.at_rest_lossless(self.chain, x.qd, x.loss, fn))
        inertia, rest, other, bristle_rate = self._forces(new, acting, h, fn)
        if self._all_forces_known:
            rates = self._rates(new, rest, other, bristle_rate, current_rate, fn)
            rates = self._implicit(new, rates, None, h, fn, forces=True)
            return Beginning(replace(new, friction=list(other)), rates)
        taken: dict[int, Any] = {}  # of joints that hold beside contacts
        if self.contacts:
            new, taken = contact.decided(self, new, inertia, rest, other, h, solve, fn)
        elif any(self.holds):
            new = replace(new, direction=self._directions(new, inertia, rest, other, h, fn))
        qdd, left = self._accelerations(inertia, rest, other, new, fn)
        for i, force in taken.items():
            left[i] = fn.select(new.direction[i] == 0.0, force, left[i])
        new = replace(new, friction=plus(other, left))
        if self._losses:
            loss = motors.losses(self.chain, tau, x.qd, qdd, new.direction, fn)
            return Beginning(replace(new, loss=loss))
        sines = closed.sines(self.chain, inertia.mass) if isinstance(inertia, Constrained) else None
        rates = self._rates(new, qdd, other, bristle_rate, current_rate, fn)
        return Beginning(new, self._implicit(new, rates, None, h, fn), sines)

    @property
    def _all_forces_known(self) -> bool:
        """Whether an implicit step begins without accelerations: nothing holds or closes loops."""
        bound = any(self.holds) or self.chain.closures or self._losses
        return bool(self.gamma) and not bound

    def _directions(
        self,
        x: PlantState,
        inertia: ArmInertia | Constrained,
        rest: Scalars,
        other: Scalars,
        h: Any,
        fn: Functions,
    ) -> list[Any]:
        """Where every joint slides in the coming step; 0 where it holds."""
        found = self._rows(x, other, fn)
        moving = [fn.select(v < 0.0, -1.0, 1.0) for v in x.qd]
        slide, r, sweeps = self._sliding(x, moving, other, fn), list(rest), rows.SWEEPS
        if self.gears:  # with bare masses joint and motor of a stiff gear would hold in turn
            inertia, push = self._effective(x, h, fn)
            r, sweeps = plus(r, push), rows.ELASTIC_SWEEPS
        for i, row in found.items():
            r[i] = r[i] - fn.select(row.holds > 0.0, 0.0, slide[i])
        guess = [x.direction[i] for i in found]
        left = self._shared(x, r, fn)
        held = rows.directions(inertia, left, [*found.values()], guess, fn, sweeps)
        d = [1.0] * len(r)
        for (i, row), di in zip(found.items(), held, strict=True):
            d[i] = fn.select(row.holds > 0.0, di, moving[i])
        return d

    def _effective(
        self, x: PlantState, h: Any, fn: Functions
    ) -> tuple[ArmInertia | Constrained, list[Any]]:
        """Inertia that forces meet in a step with elastic gears, and what their rates push."""
        Kt = stiff_gears.tangents(self.gears, x.q, x.qd, h, fn)
        k = stiff_gears.added_inertia(self.gears, Kt, [h] * len(Kt))
        way = [h * own.difference(x.qd) for own in self.gears]
        push = stiff_gears.spring_push(self.gears, Kt, way, None, self.chain.n)
        M = stiff_gears.stiffened(self._mass_matrix(x, fn), self.gears, k)
        return inertia_at(self.chain, x.q, fn, x.qd, M, self.holds), push

    def _implicit(
        self, x: PlantState, rates: dict[str, list[Any]], before: ImplicitSums | None,
        h: Any, fn: Functions, forces: bool = False,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """Rates of a stage of a step from x, implicit in the elastic gears.

        `before` are sums of the rates of earlier stages, None of the first. `forces`: those at x
        stand for the accelerations, M kv + k kv = f + ..., which saves their solution.
        Positions need no rates of their own (`moved`).
        """
        if not self.gamma:
            return rates
        n, g = self.chain.n, self.gamma
        Kt = stiff_gears.tangents(self.gears, x.q, x.qd, h, fn)
        k = stiff_gears.added_inertia(self.gears, Kt, [g * h] * len(Kt))
        a = rates["qd"]
        if before is None:
            before = ImplicitSums([g * own.difference(x.qd) for own in self.gears], None)
        push = stiff_gears.spring_push(self.gears, Kt, before.positions, before.velocities, n)
        for (i, j, _), own in zip(self.gears, k, strict=True):
            taken = 0.0 if forces else own * (a[i] - a[j])
            push[i] = h * push[i] - taken
            push[j] = h * push[j] + taken
        M = stiff_gears.stiffened(self._mass_matrix(x, fn), self.gears, k)
        inertia = inertia_at(self.chain, x.q, fn, None, M, self.holds)
        push = plus(a, push) if forces else push
        w, _ = inertia.solve(push, self.held(x), [0.0] * n, fn)
        return rates | {"qd": w if forces else plus(a, w)}

    def inertia_for(
        self, q: Scalars, fn: Functions, x: PlantState, times: Scalars, h: Any
    ) -> ArmInertia | Constrained:
        """Inertia at q for impulses that act for some time of a step from x.

        `times` are those of the coordinates; a stiff gear takes its motor along with the joint.
        """
        if not self.gears:
            return inertia_at(self.chain, q, fn, holds=self.holds)
        Kt = stiff_gears.tangents(self.gears, x.q, x.qd, h, fn)
        t = [fn.max(times[i], times[j]) for i, j, _ in self.gears]
        k = stiff_gears.added_inertia(self.gears, Kt, t, 0.5)
        M = stiff_gears.stiffened(equation.mass_matrix(self.chain, q, fn), self.gears, k)
        return inertia_at(self.chain, q, fn, M=M, holds=self.holds)

    def impact_inertia(
        self, q: Scalars, fn: Functions, x: PlantState, h: Any
    ) -> ArmInertia | Constrained:
        """Inertia at q that teeth with backlash meet: other gears move with what they are tied to.

        They act for half a step.
        """
        M = equation.mass_matrix(self.chain, q, fn)
        others = [own for own in self.gears if zero(own.gear.backlash)]
        if self.gamma:
            t = [0.5 * h] * len(others)
            k = stiff_gears.tangents(others, x.q, x.qd, h, fn)
            M = stiff_gears.stiffened(M, others, stiff_gears.added_inertia(others, k, t, 0.5))
        return inertia_at(self.chain, q, fn, M=M, holds=self.holds)

    def held(self, x: PlantState) -> list[Any]:
        """Which coordinates hold in a step; None: those that never do."""
        return [(d == 0.0) if can else None for d, can in zip(x.direction, self.holds, strict=True)]

    def rate(
        self, x: PlantState, acting: Acting, h: Any, fn: Functions,
        start: PlantState | None = None, before: ImplicitSums | None = None,
    ) -> dict[str, list[Any]]:  # fmt: skip
        """Time derivatives of what is integrated.

        Of a stage of an implicit step also the state at its `start` is needed, and the sums of the
        rates of stages `before`.
        """
        arm, acting = self.in_state(x, fn)._engaged(x), self.sides.all_forces(acting)
        found = arm._rate(self.sides.joined(x), acting, h, fn)
        if not self.gears:
            return found
        if self.gamma:
            assert start is not None
            found = arm._implicit(self.sides.joined(start), found, before, h, fn)
        return self.sides.rates_apart(found)

    def _rate(self, x: PlantState, acting: Acting, h: Any, fn: Functions) -> dict[str, list[Any]]:
        tau, current_rate = self._drive(x, acting, fn)
        x = replace(x, tau=tau)
        inertia, rest, other, bristle_rate = self._forces(x, acting, h, fn)
        qdd, _ = self._accelerations(inertia, rest, other, x, fn)
        return self._rates(x, qdd, other, bristle_rate, current_rate, fn)

    def accelerations(self, x: PlantState, acting: Acting, h: Any, fn: Functions) -> list[Any]:
        """Of the joints in a state that holds what the drives exert in the step from there on."""
        arm, acting = self.in_state(x, fn)._engaged(x), self.sides.all_forces(acting)
        x = self.sides.joined(x)
        inertia, rest, other, _ = arm._forces(x, acting, h, fn)
        qdd, _ = arm._accelerations(inertia, rest, other, x, fn)
        return qdd[: self.chain.link_coordinates]

    def _rates(
        self, x: PlantState, qdd: list[Any], other: Scalars, bristle: list[Any],
        current: list[Any], fn: Functions,
    ) -> dict[str, list[Any]]:  # fmt: skip
        warming = self._warming(x, other, fn)
        return {"q": list(x.qd), "qd": qdd, "motor": [], "motor_rate": [], "bristle": bristle,
                "current": current, "warmth": warming,
                "law_state": rows.own_rates(self.chain, x.q, x.qd, x.direction, fn)}  # fmt: skip

    def _warming(self, x: PlantState, other: Scalars, fn: Functions) -> list[Any]:
        """Rates of the temperatures, by the power of friction; offsets have none."""
        joints = friction.thermal_joints(self.chain)
        if not joints:
            return []
        slide, found = self._sliding(x, x.direction, other, fn), []
        for k, (i, c, law) in enumerate(joints):
            offset = self.chain.resistances[i].offset
            power = (slide[c] + other[c] - offset) * x.qd[c]
            found += friction.heating_rates(law, x.warmth[2 * k : 2 * k + 2], power)
        return found

    def finish(
        self, x: PlantState, end: PlantState, h: Any, fn: Functions, sines: Scalars | None = None,
        solve: Solve = solved,
    ) -> PlantState:  # fmt: skip
        """The state after a step from x, `end` being where the stages led.

        `sines` are those between the rows of J at x, if its beginning gave them.
        """
        found = self.in_state(x, fn)._finish(
            self.sides.joined(x), self.sides.joined(end), h, fn, sines, solve
        )
        impulse = end.impulse and [a + h * t for a, t in zip(end.impulse, x.tau, strict=True)]
        return replace(self.sides.parted(found), impulse=impulse)

    def _finish(
        self, x: PlantState, end: PlantState, h: Any, fn: Functions, sines: Scalars | None,
        solve: Solve,
    ) -> PlantState:  # fmt: skip
        q, qd, inertia = self._after_events(x, end, h, fn)
        if self.contacts:
            q, qd, parts = contact.struck(self, x, end, q, qd, h, solve, fn)
            end = replace(end, **parts)
        law_state = own_states_at_end(self, x, end, q, h, fn)
        q, qd = self._closed(q, qd, inertia, fn)
        if self.chain.closures:
            figures = self.loop_figures(x, end, q, fn, sines)
            sound = figures.sound(self.chain, self.order)
            q, qd = or_nan(q, sound, fn), or_nan(qd, sound, fn)
        bristle = stretched_at_end(self, x, end, q, qd, h, fn)
        return replace(end, q=q, qd=qd, bristle=bristle, law_state=law_state)

    def end_of_step(
        self, x: PlantState, end: PlantState, h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """q and qd after what stopped, reversed or hit a stop, with the loops closed."""
        return self._closed(*self._after_events(x, end, h, fn), fn)

    def _after_events(
        self, x: PlantState, end: PlantState, h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any], ArmInertia | Constrained | None]:
        """q and qd after what stopped, reversed or hit a stop; the inertia there, if known."""
        q, qd, inertia = list(end.q), list(end.qd), None
        if self.hard:
            q, qd = backlash.teeth(self, x, q, qd, h, fn)
        if any(self.rubs):
            q, qd, inertia = reversals(self._engaged(x), x, q, qd, h, fn)
        if any(self.stops):
            q, qd, inertia = impacts(self._engaged(x), x, q, qd, h, fn)
        if self.chain.closures and self.gamma:  # a stiff gear would be stretched without its motor
            inertia = self._engaged(x).inertia_for(q, fn, x, [h] * len(q), h)
        return q, qd, inertia

    def _closed(
        self, q: list[Any], qd: list[Any], inertia: ArmInertia | Constrained | None, fn: Functions
    ) -> tuple[list[Any], list[Any]]:
        """q and qd with the loops closed."""
        if not self.chain.closures:
            return q, qd
        inertia = inertia or inertia_at(self.chain, q, fn)
        return put_back(self.chain, q, qd, *self._resting(q, qd, fn), inertia, fn)

    def loop_figures(
        self, x: PlantState, end: PlantState, q: Scalars, fn: Functions,
        sines: Scalars | None = None,
    ) -> LoopFigures:  # fmt: skip
        """Agreement of a step from x to `end`, and from there to q, with the closures."""
        return loop_figures(self.chain, (x.q, x.qd), (end.q, end.qd), q, fn, sines)

    def _resting(self, q: Scalars, qd: Scalars, fn: Functions) -> tuple[list[Any], list[Any]]:
        """Joints that stay where they are while loops are closed, and those of them at a stop."""
        held: list[Any] = [
            1.0 * (v == 0.0) if can else None for v, can in zip(qd, self.holds, strict=True)
        ]
        stopped: list[Any] = [None] * len(q)
        for i, stop in enumerate(self.stops):
            if stop is not None:
                at = 1.0 * (q[i] <= stop[0]) + 1.0 * (q[i] >= stop[1])
                stopped[i] = fn.min(at, 1.0)
                held[i] = fn.max(held[i], stopped[i])
        return held, stopped

    def advance(
        self, x: PlantState, nodes: Sequence[Acting], h: Any, tableau: Tableau, fn: Functions
    ) -> PlantState:
        """One whole step; `nodes` are the forces at the distinct instants of the tableau."""
        begun = self.begin(x, nodes[0], h, fn)
        end = self._end_of_stages(begun, nodes, h, tableau, fn)
        return self.finish(begun.state, end, h, fn, begun.sines)

    def stages(
        self, x: PlantState, nodes: Sequence[Acting], h: Any, tableau: Tableau, fn: Functions
    ) -> tuple[PlantState, PlantState]:
        """The state a step begins with, and where its stages lead, over all coordinates."""
        begun = self.begin(x, nodes[0], h, fn)
        end = self._end_of_stages(begun, nodes, h, tableau, fn)
        return self.sides.joined(begun.state), self.sides.joined(end)

    def _end_of_stages(
        self, begun: Beginning, nodes: Sequence[Acting], h: Any, tableau: Tableau, fn: Functions
    ) -> PlantState:
        at = {c: nodes[k] for k, c in enumerate(tableau.nodes)}

        def rate(stage: PlantState, c: float, *before: Any) -> dict[str, list[Any]]:
            if not before:
                return self.rate(stage, at[c], h, fn)
            sums = self.implicit_sums(begun.state, before[0], tableau, h)
            return self.rate(stage, at[c], h, fn, begun.state, sums)

        end, _ = tableau.steps(
            begun.state,
            rate,
            lambda start, rates, weights: moved(start, rates, weights, h, tableau),
            begun.rates,
        )
        return end_of_stages(begun.state, end, tableau, h)

    def implicit_sums(
        self, start: PlantState, rates: Sequence[dict], tableau: Tableau, h: Any
    ) -> ImplicitSums:
        """What is known of a stage of an implicit step before it, from the rates before."""
        k, n = len(rates), self.chain.link_coordinates
        whole, weights = tableau.implicit_weights(k)
        velocities = [*start.qd, *start.motor_rate]
        parts = [[*r["qd"][:n], *r["motor_rate"]] for r in rates]
        positions, rows = [], []
        for own in self.gears:
            column, v = [own.difference(x) for x in parts], own.difference(velocities)
            positions.append(whole * v + (h * inner(weights, column) if k else 0.0))
            rows.append(inner(tableau.G[k], column) if k else 0.0)
        return ImplicitSums(positions, rows)

    # what the parts share

    def _drive(self, x: PlantState, acting: Acting, fn: Functions) -> tuple[list[Any], list[Any]]:
        command = list(x.command)
        if acting.torque is not None:
            command = plus(command, acting.torque)
        if not self.drives:
            return command, []
        return motors.driven(self.chain, command, x.qd, x.current, fn)

    def _rest(
        self, x: PlantState, acting: Acting, h: Any, fn: Functions
    ) -> tuple[list[Any], list[Any], list[Any]]:
        """Torque left for acceleration and for friction that can hold; friction that cannot, and
        the rates of its bristles.
        """
        c = self.chain
        still, given = [0.0] * c.n, (acting.wrench, acting.base_motion, acting.link_forces)
        at = Instant(c, fn, x.q, x.qd, still, *given)
        bias = elements.torque(at, elements.without_rotors)
        other, rates = rows.always(c, x.qd, x.bristle, h, fn)
        rest = [t - b - f for t, b, f in zip(x.tau, bias, other, strict=True)]
        if acting.external is not None:
            rest = plus(rest, acting.external)
        return rest, other, rates

    def torque_in_flight(
        self, x: PlantState, q: Scalars, qd: Scalars, h: Any, fn: Functions
    ) -> list[Any]:
        """Torques at q and qd of inertia, friction in its directions at x and gears with contacts
        that steps resolve.

        What drives and others from outside give does not change with q and qd in a step: it is
        left out, or that at x.
        """
        arm, at = self._engaged(x), replace(x, q=q, qd=qd)
        pairs = zip(arm.chain.elastic, self.unresolved, strict=True)
        soft = tuple(gear for gear, shorter in pairs if not shorter)
        arm = replace(arm, chain=replace(arm.chain, elastic=soft))
        rest, other, _ = arm._rest(at, Acting(), h, fn)
        return less(rest, arm._sliding(at, x.direction, other, fn))

    def _forces(
        self, x: PlantState, acting: Acting, h: Any, fn: Functions
    ) -> tuple[ArmInertia | Constrained, list[Any], list[Any], list[Any]]:
        """Inertia and torque left, as felt through gears that lose power; as `_rest`."""
        M = self._mass_matrix(x, fn)
        rest, other, rates = self._rest(x, acting, h, fn)
        if self._losses:
            rest = motors.lossy_torque(self.chain, rest, x.tau, x, fn)
        return inertia_at(self.chain, x.q, fn, x.qd, M, self.holds), rest, other, rates

    def _mass_matrix(self, x: PlantState, fn: Functions) -> Sequence[Scalars]:
        """M as felt through gears that lose power."""
        M: Sequence[Scalars] = equation.mass_matrix(self.chain, x.q, fn)
        return motors.lossy_matrix(self.chain, M, x.loss) if self._losses else M

    def _sliding(self, x: PlantState, d: Scalars, other: Scalars, fn: Functions) -> list[Any]:
        """Friction that can hold, of joints that slide in directions d, with their loads."""
        slide = rows.sliding(self.chain, x.qd, d, fn)
        if not friction.load_dependent(self.chain):
            return slide
        left = less(x.tau, other)
        return rows.under_load(self.chain, slide, left, x.qd, d, fn)

    def _accelerations(
        self,
        inertia: ArmInertia | Constrained,
        rest: Scalars,
        other: Scalars,
        x: PlantState,
        fn: Functions,
    ) -> tuple[list[Any], list[Any]]:
        """Accelerations, and what friction and stops take."""
        zeros = [0.0] * len(rest)
        slide = self._sliding(x, x.direction, other, fn)
        push = less(rest, slide)
        if not self.contacts:
            qdd, force = inertia.solve(push, self.held(x), zeros, fn)
            return qdd, inertia.holding(rest, push, qdd, force)
        touching, stopping = contact.held(self, x, inertia, push, fn)
        both = plus(touching, stopping)
        rest, push = plus(rest, both), plus(push, both)
        qdd, force = inertia.solve(push, self.held(x), zeros, fn)
        return qdd, less(inertia.holding(rest, push, qdd, force), stopping)

    def friction_boxes(
        self, x: PlantState, other: Scalars, fn: Functions
    ) -> list[tuple[Any, Any] | None]:
        """Bounds of what friction and gears hold of every coordinate; None: nothing does.

        `other` is the friction that cannot hold.
        """
        boxes = rows.limits(self.chain, fn)
        for c, r in friction.load_dependent(self.chain):
            if (box := boxes[c]) is not None:  # as if it began to slide, either way
                left = x.tau[c] - other[c]
                shares = (friction.load_share(r, 0.0, fn, d) for d in (-1.0, 1.0))
                low, high = (
                    edge + friction.taken(left - edge, share, fn)
                    for edge, share in zip(box, shares, strict=True)
                )
                boxes[c] = low, high
        if self._losses:
            for i, (low, high) in motors.bands(self.chain, x.tau, fn).items():
                before = boxes[i] or (0.0, 0.0)
                boxes[i] = (before[0] + low, before[1] + high)
        return boxes

    def _rows(self, x: PlantState, other: Scalars, fn: Functions) -> dict[int, Row]:
        """What friction, gears and stops hold, by joint."""
        found = {}
        for i, (rubs, stop) in enumerate(
            zip(self.friction_boxes(x, other, fn), self.stops, strict=True)
        ):
            if rubs is None and stop is None:
                continue
            low, high = rubs or (0.0, 0.0)
            if stop is not None:
                low = fn.select(x.q[i] <= stop[0], -ENDLESS, low)
                high = fn.select(x.q[i] >= stop[1], ENDLESS, high)
            found[i] = Row(i, low, high, (x.qd[i] == 0.0) * (high > low) * 1.0)
        return found

    def _shared(self, x: PlantState, r: list[Any], fn: Functions) -> list[Any]:
        """Leave to shared motors what they can hold while everything they turn is at rest."""
        if not rows.shared_motors(self.chain):
            return r
        at_rest: Any = 1.0
        for v in x.qd:
            at_rest = at_rest * (v == 0.0)
        taken = rows.shared_hold(self.chain, r, fn)
        return [a - fn.select(at_rest > 0.0, t, 0.0) for a, t in zip(r, taken, strict=True)]
