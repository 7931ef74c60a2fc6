"""One step of the smooth arm: forward dynamics, friction as it slides, nothing that holds or hits.

A step that can be differentiated. `dy.simulate` without static friction, drives and stops takes
the same steps.
"""

from typing import Any

from ..dynamics.equation import forward_dynamics
from ..errors import OptionError
from ..model.chain import Chain
from ..model.model import Model
from ..spatial.functions import Functions
from .tableau import RK4


def step(
    chain: Chain, q: Any, qd: Any, tau: Any, dt: Any, fn: Functions, wrench: Any = None
) -> tuple[Any, Any]:
    """(q, qd) after `dt` seconds under a torque that stays, by the classical Runge-Kutta step.

    `wrench` stays too, in the tool frame.
    """
    start = [*q, *qd]
    n = len(q)

    def rate(x: list[Any], _: float) -> list[Any]:
        return [*x[n:], *forward_dynamics(chain, x[:n], x[n:], tau, fn, wrench)]

    def moved(x: list[Any], rates: Any, weights: Any) -> list[Any]:
        terms = [(w, k) for w, k in zip(weights, rates, strict=True) if w != 0.0]
        return [a + dt * sum(w * k[i] for w, k in terms) for i, a in enumerate(x)]

    end, _ = RK4.steps(start, rate, moved)
    return end[:n], end[n:]


def refuse_more_states(model: Model) -> None:
    """Name a joint whose motor moves by itself, or a law with states: not known to this step."""
    if model.law_states:
        raise OptionError(
            f"step: {model.law_states[0]} is a state of a law, and a step of the smooth arm has "
            "none but q and qd",
            "dy.Simulator steps the arm with the states of its laws",
        )
    for link in model.links:
        if link.drive is not None and link.drive.stiffness is not None:
            raise OptionError(
                f"step: joint {link.joint_name!r} is elastic, and a step of the smooth arm has no "
                "motors that move by themselves",
                f"robot.with_drive({link.joint_name!r}, stiffness=None, damping=0, hardening=0, "
                "backlash=0) is the rigid arm; dy.Simulator steps the elastic one",
            )
