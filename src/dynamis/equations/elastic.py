"""Elastic joints in closed form: what gears transmit, and the equations of both their sides.

e = K (th - q) + K3 (th - q)^3 + D (th' - q')    of every elastic joint
links: tau(q, q', q'') without its motors = e    motors: B th'' + friction(th') + e = tau
"""

from dataclasses import dataclass
from typing import Any

import sympy as sp

from ..dynamics.elastic import coordinate, expanded
from ..dynamics.elements import friction
from ..errors import OptionError
from ..model.chain import Chain, Elasticity
from ..model.model import Model
from ..spatial.functions import Functions, zero
from .closed import signed
from .render.math import latex
from .scalars.scalars import coordinates, exactly

TITLE = "Elastic joints"
TEXT = (
    "Behind an elastic gear the motor has a position of its own, theta in units of the joint. The "
    "gear transmits a torque e that grows with its deflection. It moves the links, so e takes the "
    "place of the torque of the steps before, without the rotor and the friction of the motor; and "
    "the motor gives what its gear takes."
)
BEFORE = r"\text{of the step before}"
WITHOUT_LOAD = r"\text{without friction under load}"


@dataclass(frozen=True)
class ElasticForms:
    """Both sides of the elastic joints; letters e1, ... stand for what their gears transmit."""

    joints: tuple[int, ...]  # entries of q
    motor: tuple[Any, ...]  # th1, ... in units of the joints, and their rates
    motor_rate: tuple[Any, ...]
    motor_acceleration: tuple[Any, ...]
    letters: tuple[Any, ...]
    gears: tuple[Any, ...]  # what the letters stand for
    motors: tuple[Any, ...]  # torques of the motors, with letters
    alone: tuple[Any, ...]  # rotor and friction of motors that move with their joints


def elastic_forms(model: Model, chain: Chain) -> ElasticForms:
    """Closed forms of the elastic joints of a symbolic chain."""
    joints = tuple(coordinate(chain, gear) for gear in chain.elastic)
    names = [[f"{x}{k + 1}" for k in joints] for x in ("th", "thd", "thdd", "e")]
    taken = {x for row in names for x in row} & {*model.symbols}
    if taken:
        raise OptionError(
            f"robot {model.name!r} has a symbol {min(taken)!r}, which is the name of a motor's "
            "position or a gear's torque in the equations of its elastic joints",
            "rename the symbol",
        )
    th, thd, thdd, e = (tuple(sp.Symbol(x, real=True) for x in row) for row in names)
    q, qd, qdd = ([x[j] for j in joints] for x in coordinates(chain.n))
    gears = [
        gear_torque(gear, th[k] - q[k], thd[k] - qd[k]) for k, gear in enumerate(chain.elastic)
    ]
    rotors = [chain.motors[gear.joint].inertia for gear in chain.elastic]
    rows = zip(rotors, thdd, e, _friction(chain, thd), strict=True)
    motors = [B * a + x + own + share * sp.Abs(B * a + x) for B, a, x, (own, share) in rows]
    rows = zip(rotors, qdd, _friction(chain, qd), strict=True)
    alone = [B * a + own for B, a, (own, _) in rows]
    return ElasticForms(joints, th, thd, thdd, e, tuple(gears), tuple(motors), tuple(alone))


def _friction(chain: Chain, rates: Any) -> list[tuple[Any, Any]]:
    """Friction of the motors of elastic joints, and its share of what they transmit."""

    def of_motors(whole: Chain, rates: Any, fn: Functions) -> list[list[Any]]:
        own = zip(whole.resistances[chain.links :], rates, strict=True)
        return [
            [friction.torque(r, x, fn), 0 if zero(r.load) else friction.load_share(r, x, fn)]
            for r, x in own
        ]

    return [(signed(a), signed(b)) for a, b in exactly(of_motors, expanded(chain), rates)]


def gear_torque(gear: Elasticity, d: Any, rate: Any) -> Any:
    """e at a deflection and its rate; with backlash by the side that touches."""

    def law(s: Any) -> Any:
        return gear.stiffness * s + gear.hardening * s**3 + gear.damping * rate

    if zero(gear.backlash):
        return law(d)
    b = gear.backlash
    return sp.Piecewise((law(d - b), d > b), (law(d + b), d < -b), (0, True))


def formulas(forms: ElasticForms, load: bool) -> tuple[str, ...]:
    """Gears, links and motors in LaTeX; `load`: the torques before have friction under load."""
    found, before = [], WITHOUT_LOAD if load else BEFORE
    for k, j in enumerate(forms.joints):
        e, tau = rf"e_{{{j + 1}}}", rf"\tau_{{{j + 1}}}"
        found.append(f"{e} = {latex(forms.gears[k])}")
        found.append(rf"{e} = {tau} - \left({latex(forms.alone[k])}\right) \quad {before}")
        found.append(f"{tau} = {latex(forms.motors[k])}")
    return tuple(found)
