"""`dy.simulate`: an arm in motion, alone, under torques, or under a controller."""

from typing import TYPE_CHECKING, Any

from .run import Run
from .simulator import Simulator

if TYPE_CHECKING:
    from ..robot import Robot


def simulate(
    robot: "Robot",
    duration: float = 1.0,
    dt: float = 1e-3,
    q0: Any = None,
    qd0: Any = None,
    controller: Any = None,
    integrator: str = "rk4",
    *,
    reference: Any = None,
    torque: Any = None,
    external: Any = None,
    wrench: Any = None,
    link_forces: Any = None,
    observer: Any = None,
    sensors: Any = None,
    sample_time: float | None = None,
    delay: float = 0.0,
    stops: bool = False,
    restitution: float = 0.0,
    drives: bool = True,
    parameters: Any = None,
    save_every: int = 1,
    events: Any = (),
    tolerance: float = 1e-9,
    threads: int | None = None,
    progress: bool | None = None,
    device: Any = None,
    dtype: Any = None,
    fused: bool = False,
    project: bool = False,
) -> Run:
    """Simulate an arm from (q0, qd0) for `duration` seconds in steps of `dt`.

        M(q) qdd + C(q, qd) qd + g(q) + friction + J^T wrench + sum J_i^T link_forces_i
            = tau + external

    `controller` is one of `dy.control`, run every `sample_time` (default: every step, or its own)
    with its torques held in between and acting `delay` seconds after they were computed (which
    needs steps of one length). Its step is the one that `dy.export_controller` writes, safe state
    included (`run.states["computer.status"]`); other options of the export go into a
    `dynamis.realtime.Law`, which is a controller too. Or it is any function(t, q, qd) -> tau, asked
    at every stage of the integrator unless a sample time or sensors are given. `reference` is a
    trajectory, a place, or a function of t. `torque`, `external`, `wrench` and `link_forces`
    (a row per link, as in `inverse_dynamics`) stay, are functions of t, or have one more axis: an
    entry per step.

    Coulomb friction holds joints exactly; `stops` makes the joint limits act (`restitution` 0 to
    1); `drives` lets motor limits, circuits and gear efficiencies act. q0, qd0 and `parameters`
    may have leading axes: an ensemble, which gives q, qd, tau, friction and stuck only. `events`
    are functions g(t, q, qd): their zeros are found between any two steps, whatever `save_every`,
    and one with a true attribute `terminal` ends the run.

    Closed mechanisms: q0 must close the loops and qd0 keep them closed, or `project=True` puts both
    where they do; they stay closed at every step. A controller, a reference and measurements are
    of the drives (`robot.driven`), `torque` and the run itself of all joints.

    integrator: "rk4", "heun", "euler", "semi-implicit-euler", or "dormand-prince", which chooses
    its own steps for `tolerance` and gives the states every dt. A run whose steps become too short
    for that ends there; `message` says so, and `diverged` stays False.

    `device="cuda"` runs all steps of all arms in one kernel of a GPU, with the same bits; functions
    as controllers, steps of their own length and events are refused there. The run's arrays are of
    the library (and on the GPU) of q0, qd0 or `parameters`. `dtype`: "float64" or "float32";
    `fused` adds products without rounding them first: faster, last digits differ.
    """
    sim = Simulator(
        robot, dt, controller, integrator, reference=reference, torque=torque, external=external,
        wrench=wrench, link_forces=link_forces, observer=observer, sensors=sensors,
        sample_time=sample_time, delay=delay, stops=stops, restitution=restitution, drives=drives,
        parameters=parameters, events=events, tolerance=tolerance, threads=threads,
        progress=progress, device=device, dtype=dtype, fused=fused, project=project,
    )  # fmt: skip
    sim.reset(q0, qd0)
    return sim.run(duration, save_every)
