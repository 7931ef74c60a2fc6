"""`dynamis plant`: the simulated arm as a process behind a UDP port."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import arg

from ..errors import OptionError
from ..robot import load
from ..simulation.options import PLANT
from .arguments import (
    Json,
    Place,
    RobotName,
    RunXacro,
    Time,
    check_folders,
    place,
    simulation_options,
    units,
)
from .printing import data, data_json, number, table, talk

Simulation = simulation_options(PLANT)
COUNTS = {
    "steps": "steps of the arm",
    "sent": "measurements sent",
    "lost": "measurements lost",
    "received": "torques applied",
    "lost_torques": "torques lost",
    "stale": "torques received after a newer one",
    "silent": "steps without torque: no controller connected",
    "safe": "steps under a safe torque of the controller",
    "overruns": "steps that started more than a period late",
    "latest": "largest delay of a step in seconds",
}
# of every drive: in JSON, and the head of its column
JOINTS = {
    "end": "end ({0})",
    "lowest": "lowest",
    "highest": "highest",
    "largest_velocity": "largest velocity",
    "largest_torque": "largest torque ({1})",
}


def run(
    robot: RobotName, *, port: int = 5600, host: str = "127.0.0.1",
    rate: Annotated[float, arg(metavar="HZ")] = 1000.0, duration: Time = 0.0, start: Place = None,
    loss: float = 0.0, delay: Time = 0.0, jitter: Time = 0.0, seed: int = 0,
    encoder: float | None = None, side: Literal["motor", "link"] = "motor", log: Path | None = None,
    simulation: Simulation,  # type: ignore[valid-type]
    run_xacro: RunXacro = False, json: Json = False,
) -> int:  # fmt: skip
    """Simulate a robot in real time behind a UDP port, for an exported controller.

    Software in the loop: `make` in a folder of dynamis export ROBOT --controller .. builds a
    program NAME_loop that connects to this port. Brakes hold the arm until the first torque
    arrives. Ctrl-C or SIGTERM ends the simulation and prints the counts of packets and delays, how
    far every joint went under the controller, how fast and under which torque, and what passed its
    limits. Exit code 1 if the simulation diverges.

    For example:

      dynamis plant puma560 --port 5600 --duration 60 --loss 0.01 --jitter 0.001
      dynamis plant puma560 --start 0.5,-0.4,0.6,0.2,0.3,0.1
      dynamis plant scara --encoder 1e-4 --log run.csv

    Args:
        port: UDP port; 0 for any free one.
        host: Address to listen on; 0.0.0.0 for all interfaces.
        rate: Measurements per second, and steps of the arm: several shorter ones where its viscous
            friction needs them.
        duration: Length of the simulation; 0 to run until interrupted.
        start: Initial position, at rest (default: all joints at zero; closed mechanisms: home); if
            the controller follows a trajectory, where that starts.
        loss: Fraction of the measurements and torques that are lost, 0 to 1.
        delay: Delay of every packet, in both directions.
        jitter: Largest random additional delay.
        seed: Seed of loss and jitter, 0 or more.
        encoder: Resolution of the encoders, rad or m; velocities are then differences of positions
            (default: exact positions and velocities).
        side: Side of elastic joints on which the encoders are.
        log: Write t, q, qd (of the links) and torque of every step to this .csv.
    """
    import math

    from ..realtime.loop.plant import PlantServer, serve

    check_folders(log)
    if not duration >= 0:
        raise OptionError(
            f"duration is {duration!r}, expected seconds, or 0 to run until interrupted"
        )
    arm = load(robot, run_xacro=run_xacro)
    server = PlantServer(
        arm, port, host=host, q0=place(arm, start, "start"), rate=rate, loss=loss, delay=delay,
        jitter=jitter, seed=seed, encoder=encoder, side=side,
        keep=log is not None,
        **vars(simulation),
    )  # fmt: skip
    if server.remark:
        talk(server.remark)
    said = f"{arm.name} listens at {host} port {server.port}"
    found = serve(server, duration or math.inf, lambda: talk(said))
    if log is not None:
        found.save(log)
    counts = {name: getattr(found, name) for name in COUNTS}
    drives, past = {name: getattr(found, name) for name in JOINTS}, found.beyond(arm)
    if json:
        after = vars(found.afterwards)
        more = {
            "joints": found.joints,
            **drives,
            "afterwards": after,
            "beyond_limits": past,
            "message": found.message,
        }
        data_json({"robot": arm.name, "port": server.port, **counts, **more})
    else:
        rows = [[name, number(float(value)), COUNTS[name]] for name, value in counts.items()]
        data(table("", ["what", "number", "meaning"], rows, right=["number"]))
        heads = [head.format(*units(arm)) for head in JOINTS.values()]
        each = zip(*drives.values(), strict=True)
        rows = [
            [name, *map(number, values), ", ".join(past.get(name, ())) or "none"]
            for name, values in zip(found.joints, each, strict=True)
        ]
        data(table("", ["joint", *heads, "beyond limits"], rows, right=heads))
        if after := found.afterwards.steps:
            fastest = ", ".join(map(number, found.afterwards.largest_velocity))
            talk(
                f"lowest, highest and largest are those until the last running torque; largest "
                f"velocities in the {after} steps after it: {fastest}"
            )
    if found.message:
        talk(f"error: {found.message}")
    return int(bool(found.message))
