"""An arm behind a board: counters that overflow, starts from anywhere, devices of all kinds."""

from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.control.board.program import STARTING
from dynamis.control.board.readings import FAULTS
from dynamis.control.board.startup import PHASES, STEEPEST, _blend, _shares
from dynamis.errors import ModelError, OptionError
from dynamis.realtime import Law
from tests.control.boards import ENCODERS, GEARS, MOTION, POTENTIOMETER, arm, board, law

pytestmark = pytest.mark.usefixtures("compiled")
c = dy.control
DT = 0.005
TRACKS = 0.002  # rad: a motor turn is 0.1


def simulated(robot, seconds, q0, sensors, motion=MOTION, controller=None, **options):
    return dy.simulate(
        robot, seconds, 1e-3, q0=q0, controller=controller or law(robot), reference=motion,
        sensors=sensors, sample_time=DT, check_step=False, **options,
    )  # fmt: skip


def deviation(run):
    """How far what the computer takes for positions is off, (K, n), at its samples."""
    assert run.measured is not None
    return np.abs(run.measured.q - run.q[:: round(DT / run.dt)])


def late_error(run, count):
    """Largest distance from the reference in the last steps."""
    assert run.reference is not None
    return np.abs(run.q - run.reference.q)[-count:].max()


@pytest.fixture(scope="module")
def run(compiled):
    return simulated(arm(), 9.0, [0.5, -1.0], dy.Sensors(board=board(), seed=3))


def samples(run, *names):
    """States of a run at its samples."""
    return [run.states[name][:: round(DT / run.dt)] for name in names]


def test_the_phases_follow_one_another(run):
    (phase, status) = samples(run, "board.phase", "computer.status")
    assert (np.diff(phase[:, 0]) >= 0).all()
    assert set(phase[:, 0]) == set(range(len(PHASES)))
    assert ((status == STARTING) == (phase < 3)).all()
    assert ((status == 0) == (phase == 3)).all()
    assert not run.message and not run.states["board.fault"].any()


def test_positions_are_coarse_then_exact_to_a_count(run):
    """Until the index within the potentiometer's noise; after it within half a count."""
    (phase,) = samples(run, "board.phase")
    off = deviation(run)
    half = 0.5 * 2 * np.pi / np.array([4000 * 60, 1000 * 50])
    assert (off[phase[:, 0] >= 2] <= 1.0001 * half).all()
    first = off[phase[:, 0] == 0]
    noise = 6 * 2e-3 * 5.6 / 4 + 5.6 / 4 * 5 / 4096
    assert (first <= noise).all() and (first.max(0) > 5 * half).all()


def test_counters_overflow_and_nothing_happens(run):
    (counts,) = samples(run, "board.counts")
    jumps = np.abs(np.diff(counts, axis=0)) > [32768, 2048]
    assert jumps.sum(0).min() >= 2
    assert (counts < [65536, 4096]).all() and (counts >= 0).all()


def test_the_reference_is_taken_over_smoothly(run):
    """No leap of the torque where the phases change, and the arm is on its reference after them."""
    (phase,) = samples(run, "board.phase")
    (volts,) = samples(run, "board.volts")
    steps = np.abs(np.diff(volts, axis=0)).max(1)
    assert steps[5:].max() < 2.0  # of 8.9 V
    running = run.t >= DT * (np.argmax(phase[:, 0] == 3) + 40)
    error = run.q - run.reference.q
    assert running.sum() > 500
    assert np.abs(error[running]).max() < 0.03  # without friction; the reference moves at 1 rad/s


def test_torques_are_those_of_codes(run):
    """The arm feels whole codes: K (A/V) G volts, and nothing between."""
    per_code = 0.2 * 0.9 * np.array(GEARS) * 20 / 4096
    codes = run.tau / per_code
    assert np.abs(codes - np.round(codes)).max() < 1e-9
    assert np.abs(np.round(codes)).max() > 20


def test_the_motor_turns_no_faster_than_the_search_in_it(run):
    phase = np.repeat(samples(run, "board.phase")[0][:, 0], 5)[: len(run.t)]
    speed = np.abs(run.qd[(phase == 1) & (run.t > 0.5)]) * np.abs(GEARS) / (2 * np.pi)
    assert 0.8 < speed.max() < 1.3  # turns a second


def test_a_search_goes_away_from_the_nearer_stop():
    still = dy.trajectory.sine([2.3, -2.3], [0.0, 0.0], 1.0)
    found = simulated(arm(), 2.0, [2.3, -2.3], dy.Sensors(board=board()), still, stops=True)
    assert (found.q[:, 0] < 2.32).all() and (found.q[:, 1] > -2.32).all()
    assert found.states["board.phase"].max() >= 2


@pytest.mark.parametrize("rows", [3, 5])
def test_rates_of_an_approach_are_those_of_its_places(rows):
    """Against differences, towards a moving reference; at the ends the place and the reference."""
    pace, h = 0.4, 1e-5

    def at(u):
        wanted = MOTION.derivatives(u / pace)[:rows]
        return np.array(_blend([x.tolist() for x in wanted], 0, -0.7, u, pace))

    for u in (0.1, 0.45, 0.8):
        slope = (at(u + h * pace) - at(u - h * pace)) / (2 * h)
        assert at(u)[1:] == pytest.approx(slope[:-1], rel=1e-6)
    assert at(0.0) == pytest.approx([-0.7, *[0.0] * (rows - 1)])
    assert at(1.0) == pytest.approx([x[0] for x in MOTION.derivatives(1.0 / pace)[:rows]])


@pytest.mark.parametrize("rows", [3, 5])
def test_the_steepest_rate_of_a_blend(rows):
    rates = [_shares(u, 1.0, rows)[1] for u in np.linspace(0.0, 1.0, 1001)]
    assert max(rates) == pytest.approx(STEEPEST[rows], rel=1e-12)


def starts(count, seed):
    """Errors at the end of starts from random places, (count, n); a turn lost would be 0.1 rad."""
    q0 = np.random.default_rng(seed).uniform(-2.3, 2.3, (count, 2))
    still = dy.trajectory.sine([0.3, -0.4], [0.0, 0.0], 1.0)
    robot = arm()
    found = simulated(robot, 14.0, q0, dy.Sensors(board=board(), seed=seed), still,
                      law(robot, 15.0), save_every=1000)  # fmt: skip
    return np.abs(found.q[:, -1] - still(14.0).q)


def test_starts_from_a_hundred_places():
    assert (starts(100, 2) < TRACKS).all()


def test_parked_arms_and_resolvers_need_no_search():
    encoders = [c.Resolver(bits=12, zero=0.02), c.Encoder(counts=1000, bits=24, index=None)]
    made = board(encoders=encoders, potentiometers=None, parked=[0.503, -1.0])
    found = simulated(arm(), 6.0, [0.5, -1.0], dy.Sensors(board=made))
    (phase,) = samples(found, "board.phase")
    assert (phase[:, 0] == 1).sum() <= 2
    off = deviation(found)
    assert (off[1:, 0] <= 0.5001 * 2 * np.pi / 4096 / 60).all()  # by the resolver, not the parking
    assert (off[1:, 1] <= 0.5001 * 2 * np.pi / 1000 / 50).all()


def test_a_dead_band_is_a_dead_potentiometer():
    pot = c.Potentiometer(range=(-2.8, 2.8), volts=(0.5, 4.5), dead_band=0.8)
    found = simulated(arm(), 0.1, [2.2, 0.0], dy.Sensors(board=board(potentiometers=pot)))
    assert found.states["board.fault"][-1, 0] == 5 and found.states["board.joint"][-1, 0] == 0
    assert found.message.endswith("safe state from t = 0.005 s on: potentiometer dead (joint1)")
    assert not found.states["board.volts"].any()


# what is wired otherwise than the program is told

STILL = dy.trajectory.sine([0.3, -0.4], [0.0, 0.0], 1.0)
BACKWARDS = [ENCODERS[0], replace(ENCODERS[1], direction=1)]  # of the second joint


def faulty(told, wired, seconds=6.0, **options):
    """A start with other devices than the program is told of: run, fault and joint at its end."""
    found = simulated(arm(), seconds, [0.5, -1.0], dy.Sensors(board=told, wired=wired, seed=1),
                      STILL, **options)  # fmt: skip
    fault, joint = (int(found.states[f"board.{x}"][-1, 0]) for x in ("fault", "joint"))
    return found, FAULTS[fault].name, joint


def test_a_counter_that_counts_backwards_is_found_by_the_potentiometer():
    """Before its motor has gone half a turn the wrong way, and the converters give 0 V."""
    found, fault, joint = faulty(board(), board(encoders=BACKWARDS))
    assert (fault, joint) == ("counter backwards", 1)
    latched = int(np.argmax(found.states["computer.status"][:, 0] == 2))
    assert np.abs(found.q[:latched, 1] + 1.0).max() < np.pi / 50
    assert not found.states["board.volts"][latched:].any()


def test_without_a_potentiometer_the_joint_strays():
    told = {"potentiometers": None, "parked": [0.5, -1.0]}
    for stray in (3.0, 1.0):
        made = board(**told, stray=stray)
        found, fault, joint = faulty(made, board(**told, encoders=BACKWARDS))
        assert (fault, joint) == ("joint strays", 1)
        latched = int(np.argmax(found.states["computer.status"][:, 0] == 2))
        turns = np.abs(found.q[latched, 1] + 1.0) * 50 / (2 * np.pi)
        assert turns == pytest.approx(stray, rel=0.3)


def test_an_amplifier_with_its_wires_crossed_strays():
    """The motor turns the other way, and so does its encoder: the torque alone is wrong."""
    robot = arm()
    crossed = robot.with_drive(1, gear=-GEARS[1])
    told, wired = board(), board(encoders=BACKWARDS)
    believed = Law(law(robot), robot, DT, velocity="difference")
    found = simulated(crossed, 2.0, [0.5, -1.0], dy.Sensors(board=told, wired=wired), STILL,
                      believed)  # fmt: skip
    assert found.message.endswith(": joint strays (joint2)")
    right = simulated(robot, 2.0, [0.5, -1.0], dy.Sensors(board=told, wired=told), STILL, believed)
    assert not right.message


def test_converters_off_their_calibration():
    """The index puts right what the A/D converter says; of the D/A converter a torque is left."""
    off = board(inputs=c.AnalogInput(range=(0, 5), offset=0.015),
                outputs=c.AnalogOutput(offset=-0.05))  # fmt: skip
    found, fault, _ = faulty(board(), off, 10.0)
    assert fault == "none" and found.states["board.phase"][-1, 0] == 3
    shown = deviation(found)
    half = np.pi / np.array([4000 * 60, 1000 * 50])
    assert (shown[-100:] <= 1.0001 * half).all() and (shown[2:10] > 0.01).all()
    volts = found.tau / (0.2 * 0.9 * np.array(GEARS))
    codes = found.states["board.codes"]
    assert volts[::5][-50:] == pytest.approx(-10.05 + 20 / 4096 * codes[::5][-50:], abs=1e-9)


def test_another_wiring_is_other_code():
    """Machine code of one wiring is not that of the next."""
    for direction in (-1, 1):
        encoders = [ENCODERS[0], replace(ENCODERS[1], direction=direction)]
        _, fault, _ = faulty(board(), board(encoders=encoders), 3.0)
        assert fault == ("none" if direction == -1 else "counter backwards")


def test_wiring_without_a_board_and_other_things_are_refused():
    with pytest.raises(OptionError, match="but there is no board"):
        dy.Sensors(wired=board())
    with pytest.raises(OptionError, match="wired is 3, expected dy"):
        dy.Sensors(board=board(), wired=3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="has 3 entries, the arm 2 joints"):
        faulty(board(), board(encoders=[ENCODERS[0]] * 3))


# laws with jerk and snap


def test_elastic_arms_behind_a_board():
    """Counts of motors are enough for the links: two laws that follow jerk and snap."""
    robot = arm(stiffness=2000.0, damping=2.0)
    motion = dy.trajectory.sine([0.3, 0.5], [0.3, 0.2], [0.2, 0.3])
    flat = c.FlatnessFeedForward.from_bandwidth(robot, 15.0)
    state = c.StateFeedback.from_bandwidth(robot, 15.0, DT)
    for one in (flat, state):
        found = simulated(robot, 12.0, [0.5, -1.0], dy.Sensors(board=board()), motion, one)
        assert found.states["board.phase"][-1, 0] == 3 and not found.message
        assert late_error(found, 2000) < 2e-3


def test_prismatic_joints_and_screws():
    drive = dy.Drive(lead=-0.02, rotor_inertia=1e-4, torque_constant=0.1, amplifier_gain=2.0)
    links = [dy.Link(joint="prismatic", mass=3.0, limits=(-0.3, 0.3), drive=drive)]
    robot = dy.Robot.from_dh("slide", convention="standard", links=links)
    made = board(
        encoders=c.Encoder(counts=2000, index=77),
        potentiometers=c.Potentiometer(range=(-0.32, 0.32), volts=(0.5, 4.5), noise=1e-3),
    )
    motion = dy.trajectory.sine([0.0], [0.1], [0.5])
    found = simulated(robot, 6.0, [0.21], dy.Sensors(board=made), motion)
    assert not found.message and found.states["board.phase"][-1, 0] == 3
    assert deviation(found)[400:].max() <= 0.5001 * 0.02 / 2000
    assert late_error(found, 500) < 1e-3


def test_delays_observers_and_zero_errors_go_with_it():
    robot = arm()
    observer = c.MomentumObserver(gain=20.0)
    sensors = dy.Sensors(board=board(), offset=[0.01, 0.0])
    found = simulated(robot, 6.0, [0.5, -1.0], sensors, observer=observer, delay=2e-3)
    assert found.observed is not None and np.isfinite(found.observed).all()
    assert deviation(found)[-200:, 0] == pytest.approx(0.01, abs=3e-5)


def test_functions_and_single_precision_are_refused():
    robot = arm()
    with pytest.raises(OptionError, match="float64"):
        simulated(robot, 0.1, [0.5, -1.0], dy.Sensors(board=board()), dtype="float32")
    with pytest.raises(OptionError, match="nothing runs on the computer"):
        dy.simulate(
            robot, 0.1, controller=lambda t, q, qd: 0 * q, sensors=dy.Sensors(board=board())
        )
    assert POTENTIOMETER.slope == pytest.approx(1.4)
