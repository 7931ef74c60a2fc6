"""Boards: data that check themselves, files, numbers of a joint, devices."""

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.control.board.board import Board
from dynamis.control.board.hardware import Hardware
from dynamis.control.board.program import BoardLaw
from dynamis.control.board.readings import nearest
from dynamis.control.board.wiring import channels
from dynamis.errors import DynamisError, FileError, ModelError, OptionError
from dynamis.realtime import Law
from dynamis.spatial.functions import MATH

from .boards import ENCODERS, GEARS, POTENTIOMETER, arm, board, law

c = dy.control
DT = 0.005


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: c.Encoder(counts=0), "encoder.counts is 0"),
        (lambda: c.Encoder(counts=1000.0), "encoder.counts is 1000.0, expected a whole"),
        (lambda: c.Encoder(counts=1000, bits=40), "encoder.bits is 40"),
        (lambda: c.Encoder(counts=1000, index=1000), "encoder.index is 1000"),
        (lambda: c.Encoder(counts=1000, direction=0), "encoder.direction is 0, expected 1 or -1"),
        (lambda: c.Encoder(counts=70_000, bits=16), "the index, is lost in its overflow"),
        (lambda: c.Encoder(counts=1000, zero="L1"), "encoder.zero is 'L1', expected a number"),
        (lambda: c.Encoder(counts=1000, zero=math.nan), "encoder.zero is nan"),
        (lambda: c.Resolver(bits=2), "resolver.bits is 2"),
        (lambda: c.Potentiometer(range=(1, -1)), "potentiometer.range is (1.0, -1.0)"),
        (lambda: c.Potentiometer(range=(-1, 1), noise=-1), "potentiometer.noise is -1.0"),
        (lambda: c.Potentiometer(range=(-1, 1), volts=(2, 2)), "expected two that differ"),
        (lambda: c.Potentiometer(range=(-1, 1), dead_band=1), "nothing is left between them"),
        (lambda: c.AnalogInput(bits=30), "input.bits is 30"),
        (lambda: c.AnalogOutput(range=(5, -5)), "output.range is (5.0, -5.0)"),
        (lambda: c.AnalogOutput(offset=30), "more than its whole range"),
        (lambda: board(encoders=3), "board.encoders is 3, expected Encoder or Resolver"),
        (lambda: board(encoders=[]), "board.encoders is [], expected"),
        (lambda: board(potentiometers=None), "either potentiometers or the positions"),
        (lambda: board(parked=[0, 0]), "either potentiometers or the positions"),
        (lambda: board(samples=0), "board.samples is 0"),
        (lambda: board(search_speed=0), "board.search_speed is 0.0, expected above 0"),
        (lambda: board(slip=-1), "board.slip is -1"),
        (lambda: dy.Sensors(board=3), "board is 3, expected dy.control.Board"),
        (lambda: dy.Sensors(board=board(), encoder=0.1), "encoder is 0.1, but a board measures"),
        (lambda: dy.Sensors(board=board(), side="link"), "side is 'link', but a board"),
        (lambda: dy.Drive(amplifier_gain=0), "amplifier_gain is 0"),
    ],
)
def test_wrong_data_are_refused(make, message):
    with pytest.raises(DynamisError, match=re.escape(message)):
        make()


REFUSED = [
    ({"gears": (60.0, -50.0), "torque_constant": None}, {}, "has no torque_constant"),
    ({"amplifier_gain": None}, {}, "'joint1' has no amplifier_gain: volts are torque by nothing"),
    ({}, {"encoders": [ENCODERS[0]] * 3}, "board.encoders has 3 entries, the arm 2 joints"),
    ({}, {"encoders": c.Encoder(counts=4000, bits=11, index=None)}, "which way is lost"),
    ({}, {"outputs": c.AnalogOutput(range=(0, 5))}, "does not reach to both sides of 0 V"),
    ({}, {"potentiometers": c.Potentiometer(range=(-2.8, 2.8), volts=(0.5, 4.5), noise=0.2)},
     "may be off by"),
    ({}, {"potentiometers": c.Potentiometer(range=(-2.8, 2.8), volts=(-5, 5))},
     "leave the range of their converter"),
]  # fmt: skip


@pytest.mark.parametrize(("drive", "devices", "message"), REFUSED)
def test_boards_that_do_not_fit_their_arm_are_refused(drive, devices, message):
    robot = arm(**drive)
    with pytest.raises(DynamisError, match=re.escape(message)):
        BoardLaw(Law(c.JointPID(1.0), robot, DT), board(**devices))


def test_arms_without_a_motor_for_each_joint_are_refused():
    robot = dy.load("five-bar")
    with pytest.raises(OptionError, match="closures or joints without a drive"):
        channels(board(), robot, DT)


# files

NUMBERS = st.floats(-3, 3).map(lambda x: round(x, 6))
BOARDS = st.builds(
    Board,
    encoders=st.one_of(
        st.builds(c.Encoder, counts=st.integers(4, 5000), bits=st.sampled_from([16, 24, 32]),
                  index=st.sampled_from([None, 0, 3]), direction=st.sampled_from([1, -1]),
                  zero=NUMBERS),
        st.builds(c.Resolver, bits=st.integers(8, 16), zero=NUMBERS),
        st.just(ENCODERS),
        st.just([ENCODERS[0], c.Resolver(bits=14)]),
    ),
    potentiometers=st.sampled_from([POTENTIOMETER, [POTENTIOMETER] * 2]),
    inputs=st.builds(c.AnalogInput, bits=st.integers(8, 16), offset=NUMBERS),
    outputs=st.sampled_from([c.AnalogOutput(), [c.AnalogOutput(bits=14), c.AnalogOutput()]]),
    samples=st.integers(1, 99), search_speed=st.floats(0.1, 9), slip=st.integers(0, 9),
)  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(made=BOARDS)
def test_a_file_gives_the_board_that_was_written(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("board") / "board.toml"
    made.save(path)
    assert Board.load(path) == made


def test_a_parked_board_is_written_too(tmp_path):
    made = board(potentiometers=None, parked=["90 deg", -0.25])
    assert made.parked == (math.pi / 2, -0.25)
    made.save(tmp_path / "b.toml")
    assert Board.load(tmp_path / "b.toml") == made


GOOD = "schema = 1\n[[joint]]\nencoder = { counts = 1000 }\nparked = 0.1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "schema is None, expected 1"),
        ("schema = 1\n", "encoders"),
        ("schema = 1\nencodr = 2\n", "unknown key 'encodr'"),
        (GOOD.replace("counts", "count"), "unknown key of encoder of joint 1: 'count'"),
        (GOOD.replace("counts = 1000", ""), "encoder of joint 1 has no counts"),
        (GOOD.replace("{ counts = 1000 }", "7"), "encoder of joint 1 is 7, expected a table"),
        (GOOD + "[[joint]]\nencoder = { counts = 9 }\n[[joint]]\nparked = 1\n", "one too many"),
        (GOOD.replace("0.1", '"here"'), "parked"),
        ("schema = 1\nstart = 3\n", "expected a table [start]"),
        ("schema =", "is not valid TOML"),
        ("\xff", "UTF-8"),
    ],
)
def test_wrong_files_are_refused_with_their_path(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DynamisError, match=re.escape(message)) as error:
        Board.load(path)
    assert "wrong.toml" in str(error.value)
    with pytest.raises(FileError):
        Board.load(tmp_path / "none.toml")


# numbers of joints, and devices


def test_a_motor_turn_is_its_counts():
    """Signs of gear and direction: a joint that moves by 2 pi / |gear| moves its counter a turn."""
    for one, gear, encoder in zip(channels(board(), arm(), DT), GEARS, ENCODERS, strict=True):
        assert one.scale * encoder.counts == pytest.approx(encoder.direction * math.tau / gear)
        assert one.per_volt == pytest.approx(0.2 * 0.9 * gear)
    screw = dy.Robot.from_dh("screw", convention="standard", links=[
        dy.Link(joint="prismatic", mass=1.0, limits=(-0.3, 0.3), drive=dy.Drive(
            lead=-0.005, torque_constant=0.1, amplifier_gain=2.0))])  # fmt: skip
    slide = board(
        encoders=c.Encoder(counts=2000),
        potentiometers=c.Potentiometer(range=(-0.3, 0.3), volts=(0.5, 4.5)),
        inputs=c.AnalogInput(bits=16, range=(0, 5)),
    )
    (one,) = channels(slide, screw, DT)
    assert one.scale * 2000 == pytest.approx(-0.005)  # metres per turn
    assert one.per_volt == pytest.approx(-0.1 * 2.0 * math.tau / 0.005)


def test_a_current_limit_is_a_limit_of_volts():
    free = channels(board(), arm(current_limit=None), DT)
    tight = channels(board(), arm(current_limit=1.8), DT)
    assert [x.most for x in tight] == pytest.approx([2.0, 2.0])
    assert [x.most for x in free] == pytest.approx([10.0 - 20.0 / 4096] * 2)


@given(st.integers(-(2**40), 2**40), st.sampled_from([256.0, 65536.0, 2.0**32]))
def test_a_difference_is_the_nearest_that_the_counter_allows(d, modulus):
    found = nearest(float(d % int(modulus)), modulus, MATH)
    assert -0.5 * modulus <= found < 0.5 * modulus
    assert (found - d) % modulus == 0.0


def test_counters_show_places_and_indices():
    """Counts of a slow and a fast motion, by hand: floor, overflow, the last pulse passed."""
    robot, made = arm(), board()
    rows = channels(made, robot, DT)
    hardware = Hardware(made, rows)
    q = np.array([-0.31, 1.2])
    x = hardware.initial_state(q.tolist(), MATH)
    origin = [math.floor((a - r.zero) / r.scale + 0.5) for a, r in zip(q, rows, strict=True)]
    before, seen = list(origin), 0
    for k in range(300):
        q = q + np.array([0.004, 0.02 * math.cos(0.05 * k)])
        readings, x = hardware.read(x, q.tolist(), [0.0, 0.0], MATH)
        for i, r in enumerate(rows):
            place = math.floor((q[i] - r.zero) / r.scale + 0.5)
            assert readings.counts[i] == (place - origin[i]) % 2 ** ENCODERS[i].bits
            low, high = sorted((before[i], place))
            passed = [p for p in range(low + 1, high + 1)
                      if (p - ENCODERS[i].index) % ENCODERS[i].counts == 0]  # fmt: skip
            assert readings.index[i] == bool(passed)
            if passed:
                last = passed[-1] if place > before[i] else passed[0]
                assert readings.latched[i] == (last - origin[i]) % 2 ** ENCODERS[i].bits
                seen += 1
            before[i] = place
        assert readings.tick == k
    assert seen > 10


def test_codes_of_a_potentiometer():
    made = board(potentiometers=c.Potentiometer(
        range=(-2.8, 2.8), volts=(4.5, 0.5), dead_band=0.3),
        inputs=c.AnalogInput(bits=10, range=(0, 5), offset=0.02))  # fmt: skip
    hardware = Hardware(made, channels(made, arm(), DT))
    for q in (-2.7, -2.5, -2.0, 0.0, 1.234, 2.5, 2.51):
        code = hardware._code(0, q, 0.0, MATH)
        volts = 2.5 - q / 1.4 if abs(q) <= 2.5 else 0.0
        assert code == max(0, math.floor((volts - 0.02) / (5 / 1024) + 0.5)), q


def test_converted_torques_come_back_within_half_a_code():
    robot = arm()
    whole = BoardLaw(
        Law(law(robot), robot, DT), board(outputs=c.AnalogOutput(bits=12, offset=0.01))
    )
    hardware = Hardware(whole.board, whole.channels)
    for tau in ([0.0, 0.0], [13.3, -7.1], [-30.0, 55.0], [1e4, -1e4]):
        volts, codes = whole._converted(tau, MATH)
        given = hardware.torques(codes)
        for one, asked, row, code in zip(given, tau, whole.channels, codes, strict=True):
            most = abs(row.most * row.per_volt)
            wanted = min(max(asked, -most), most)
            assert abs(one - wanted) <= 0.5001 * abs(row.per_volt) * row.step
            assert code == int(code) and 0 <= code <= 4095
        assert given == [row.per_volt * v for row, v in zip(whole.channels, volts, strict=True)]


def test_a_law_needs_a_board():
    robot = arm()
    with pytest.raises(OptionError, match="board is 3, expected"):
        BoardLaw(Law(law(robot), robot, DT), 3)
    with pytest.raises(OptionError, match="law is 3, expected"):
        BoardLaw(3, board())
    with pytest.raises(OptionError, match="nothing runs on the computer behind it"):
        dy.simulate(robot, 0.01, sensors=dy.Sensors(board=board()))
    assert issubclass(ModelError, DynamisError)
