"""Arms with motors and amplifiers, and boards between them and a computer."""

import dynamis as dy

control = dy.control
DRIVE = {"rotor_inertia": 2e-4, "torque_constant": 0.2, "amplifier_gain": 0.9, "current_limit": 8.0}
STOPS = (-2.5, 2.5)
GEARS = (60.0, -50.0)


def arm(gears=GEARS, **drive):
    """Two bars in the vertical plane; the second motor turns against its joint."""
    made = [dy.Drive(**{**DRIVE, **drive, "gear": gear}) for gear in gears]
    links = [
        dy.Link(a=0.5, mass=4.0, com=(-0.25, 0, 0), inertia=(0, 0.1, 0.1), limits=STOPS,
                drive=made[0]),
        dy.Link(a=0.4, mass=2.0, com=(-0.2, 0, 0), inertia=(0, 0.05, 0.05), limits=STOPS,
                drive=made[1]),
    ]  # fmt: skip
    return dy.Robot.from_dh("bench", convention="standard", gravity=(0, -9.81, 0), links=links)


ENCODERS = (
    control.Encoder(counts=4000, bits=16, index=137, zero=0.01),
    control.Encoder(counts=1000, bits=12, index=5, direction=-1),
)
POTENTIOMETER = control.Potentiometer(range=(-2.8, 2.8), volts=(0.5, 4.5), noise=2e-3)


def board(**others):
    """Counters of 16 and 12 bits, potentiometers with noise, converters of 12 bits."""
    given = {"encoders": ENCODERS, "potentiometers": POTENTIOMETER,
             "inputs": control.AnalogInput(bits=12, range=(0, 5))}  # fmt: skip
    return control.Board(**{**given, **others})


def law(robot, bandwidth=10.0, **options):
    """Computed torque with integral."""
    return control.ComputedTorque.from_bandwidth(robot, bandwidth, integral=True, **options)


MOTION = dy.trajectory.sine([0.3, 0.5], [0.8, 0.6], [0.2, 0.3])
