"""Every numbered example runs, says something, and what it says is so."""

import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import dynamis as dy

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("[0-9]*.py"))
PICTURES = {
    "06_pendulum": ("06_pendulum.png", "06_pendulum.gif"),
    "07_six_torques": ("07_six_torques.png",),
    "08_single_joint": ("08_single_joint.png",),
    "09_computed_torque": ("09_computed_torque.png",),
    "10_puma_controllers": ("10_puma_controllers.png",),
    "11_stiction": ("11_stiction.png",),
    "12_identify_puma": ("12_identify_puma.png",),
    "18_how_sure": ("18_how_sure.png", "18_how_sure_worst.png", "18_how_sure.html"),
    "19_parallel_robot": ("19_parallel_robot.png",),
    "21_own_friction": ("21_own_friction.png",),
    "22_own_path": ("22_own_path.png",),
    "23_elastic_joint": ("23_elastic_joint.png",),
    "24_backlash": ("24_backlash.png",),
    "25_hysteresis": ("25_hysteresis.png",),
    "26_arm_that_rings": ("26_arm_that_rings.png",),
    "27_lab_computer": ("27_lab_computer.png",),
    "28_dh_step_by_step": ("28_dh_step_by_step.png", "28_dh_step_by_step.html"),
    "29_arm_on_a_ship": ("29_arm_on_a_ship.png",),
    "30_as_built_arm": ("30_as_built_arm.png",),
}


def numbers(text):
    """Every number of a text."""
    return [float(x) for x in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", text)]


def line(said, start):
    """The numbers of the line that begins so, after its beginning."""
    found = next(row for row in said.splitlines() if row.strip().startswith(start))
    return numbers(found.strip().removeprefix(start))


def pendulum(said):
    assert line(said, "observed order")[0] == pytest.approx(4.0, abs=0.15)
    assert line(said, "without friction, half the step: energy drifts")[0] == pytest.approx(
        16, abs=2
    )
    assert line(said, "and over 10 s at 1 ms by")[0] < 1e-6


def six_torques(said):
    arm = dy.load("sixr")
    rows = np.array([line(said, f"joint{i}") for i in range(1, 7)])
    ends = arm.gravity_torque(np.array([np.zeros(6), np.full(6, np.pi / 4)]))
    np.testing.assert_allclose(rows[:, :2], ends.T, atol=5.1e-3)  # two digits are printed
    assert (rows[:, 2] <= rows[:, :2].min(axis=1)).all()
    assert (rows[:, 3] >= rows[:, :2].max(axis=1)).all()
    np.testing.assert_array_equal(rows[5], 0.0)  # a point on its own axis
    assert rows[1, 3] > 50.0


def single_joint(said):
    left = line(said, "PD: a disturbance of 2.0 N m leaves")[0]
    assert abs(left) == line(said, "tau_p / (k kp) =")[0] == 0.1
    assert line(said, "PID: a disturbance of 2.0 N m leaves")[0] == 0.0
    assert line(said, "simulated PD:")[0] == left and line(said, "simulated PID:")[0] == 0.0
    for share, stable in (("0.9", "True"), ("1.0", "False"), ("1.1", "False")):
        assert f"ki = {share} of that: stable {stable}" in said


def computed_torque(said):
    rows = [numbers(row) for row in said.splitlines()[2:]]
    with_integral, without, stiffer = (row[-2:] for row in rows)
    assert [row[:3] for row in rows] == [[25, 10, 100], [25, 10, 0], [50, 10, 0]]
    for i in range(2):
        assert without[i] > 3 * with_integral[i] > 0  # several times larger; a small one stays
        assert stiffer[i] == pytest.approx(without[i] / 2, rel=0.1)


def controller_in_c(said):
    assert line(said, "the law in Python beside the simulated one:")[0] < 1e-10
    if "no C compiler" not in said:
        assert "self-test: passed: 210 samples" in said  # 200, and disturbed ones


def puma_controllers(said):
    published = line(said, "published, on the real arm")
    for name in ("point to point", "computed torque", "with integral"):
        got = line(said, name)
        assert len(got) == 6 and all(a < b for a, b in zip(got, published, strict=True))
    compiled, python, then = (
        line(said, f"one control cycle, {name}:")[0]
        for name in ("compiled", "dy.control.ControlLoop in Python", "published")
    )
    assert min(compiled, python, then) > 0  # how fast is the machine's matter


def stiction(said):
    assert line(said, "90 % of the static friction, 60 s: every joint moved") == [0.0]
    for i in range(1, 7):
        static, reached, error = line(said, f"joint{i}")
        assert reached == pytest.approx(static, rel=5e-4) and 0 <= error <= 1.01e-4
    when, *_, last = line(said, "gains of 1e7: diverged at t =")
    assert 0 < last < when < 1


def identify_puma(said):
    inside, unknowns = line(said, "inside their 99 % intervals:")
    # 57 are to be expected; by noise alone and with the cut-off of the rule it was 54
    assert unknowns == 58 and inside >= 56


def other_libraries(said):
    places = [row for row in said.splitlines() if re.search(r"(rnea|rne|mj_inverse|back): ", row)]
    assert places and all(numbers(row)[-1] < 1e-12 for row in places)
    assert line(said, "gravload at qn:")[1] == pytest.approx(31.6399, abs=1e-3)


def reinforcement(said):
    by_random, by_law = (line(said, name) for name in ("random: return", "PD with model: return"))
    assert by_law[0] > by_random[0] + 100 and by_law[1] >= 90 > 50 > by_random[1]


def own_laws(said):
    assert line(said, "inverse dynamics beside NumPy:")[0] < 1e-12
    assert "it comes to rest: True, both joints stuck: True" in said
    for name in ("Hose.stiffness", "Hose.damping", "joint1.dry", "joint1.thick", "joint2.dry"):
        value, std, true = line(said, f"identified {name}")
        assert abs(value - true) < 5.0 * std + 1e-3 and std < 0.05
    assert "in C: passed" in said or "no C compiler" in said


def ensemble(said):
    half, most = (
        line(said, "largest error of half of them below")[0],
        line(said, "of 999 in 1000 below"),
    )
    assert 0.0 < half < most[0] <= most[1] < 0.05
    assert "the same bits True" in said


def how_sure(said):
    bound = line(said, "999 of 1000 arms keep the tool within")[0]
    low, high = line(said, "with 95 % confidence between")
    sample, worst = line(said, "the worst is sample")
    assert low <= bound <= high <= worst + 0.01 and 0 <= sample < 4000
    assert line(said, "replayed:")[0] == worst
    assert line(said, "of the variance, payload explains")[0] > 80  # a load that the law ignores


def parallel_robot(said):
    assert line(said, "37 parameters, physical: True; on another motion")[0] < 8.0
    drawn, identified = (line(said, f"computed torque, {x}") for x in ("drawn", "identified"))
    assert sum(identified) < 0.7 * sum(drawn) < 0.7 * sum(line(said, "PID"))


def own_controller(said):
    idea = line(said, "as a function:        largest error")[0]
    (plain, rest), (adaptive, left) = (
        line(said, f"as a law, adapt {x}") for x in ("   0: largest", "2000: largest")
    )
    assert idea < 0.03 and plain < 0.03 and adaptive <= plain and left < 0.6 * rest
    assert "in C: passed" in said or "no C compiler" in said


def own_friction(said):
    found = line(said, "fitted: dry")
    assert found == pytest.approx([3.0, 1.5, 4.0, 0.04, 0.7], abs=0.1)
    assert line(said, "torque beside the measurements:")[0] < 0.06
    (slips, rest), (slides, less) = (
        line(said, f"simulated, {x}:") for x in ("fitted", "without stick")
    )
    assert slips > slides and rest > less + 20
    assert "in C: passed" in said or "no C compiler" in said


def own_path(said):
    assert "findings: none" in said
    seconds, speed, acceleration = line(said, "without times:")[:3]
    assert speed <= 2.0 and acceleration <= 8.0 and max(speed / 2, acceleration / 8) > 0.99
    assert line(said, "followed within")[0] < 1e-4 and seconds > 1.0
    rows, knots, off = line(said, "a recording of")
    assert rows == 2001 and knots < 20 and off <= 1.2e-4
    assert "22_points.csv, line 3, column 'joint1'" in said
    assert "in C: passed" in said or "no C compiler" in said


def elastic_joint(said):
    locked, free = line(said, "rotors locked:"), line(said, "rotors free:")
    assert all(a < b for a, b in zip(locked, free, strict=True))
    for gains in ("20 rad/s", "60 rad/s"):
        assert line(said, f"{gains}, rigid: overshoot")[0] == 0.0
    assert line(said, "20 rad/s, elastic: overshoot")[0] < 1.0
    assert line(said, "60 rad/s, elastic: overshoot")[0] > 25.0
    rigid, elastic = (line(said, f"60 rad/s, {x}: overshoot")[1] for x in ("rigid", "elastic"))
    assert elastic > 4.0 * rigid
    assert 0.8 * locked[0] < line(said, "the link rings at")[0] < locked[0]
    link, motor = line(said, "swing from 0.3 to 0.6 s: link")
    assert link > 2.0 * motor > 0.0


def arm_that_rings(said):
    def of(law):
        """rms and swing with the right model, then with the wrong one."""
        rms, swing, *_, wrong_rms, wrong_swing = line(said, f"{law}:")
        return rms, swing, wrong_rms, wrong_swing

    rigid, flat, states = (
        of(x) for x in ("rigid feed-forward", "flatness          ", "state feedback    ")
    )
    assert rigid[0] == pytest.approx(14.0, rel=0.1)
    assert flat[0] < 0.3 and states[0] < 0.2 and states[1] < 0.1
    assert flat[2] < rigid[2] and states[2] < 0.8 * flat[2] and states[3] < 0.2 * flat[3]
    *_, unshaped = line(said, "unshaped: lasts")
    *_, shaped = line(said, "shaped: lasts")
    assert unshaped > 1.0 and shaped < 0.3


def arm_on_a_ship(said):
    """The weight by hand; an error that only the deck makes; forces that it adds."""
    harbour, sea, known = (
        line(said, f"{x}: error") for x in ("in the harbour", "at sea", "at sea, deck known")
    )
    arm = dy.load("ur10e").with_payload(8.0, com=(0.0, 0.0, 0.1))
    weight = 9.81 * sum(body.inertia.m for body in arm.chain.bodies)
    assert harbour[1] == pytest.approx(weight, rel=0.02)
    assert harbour[0] < 1.0 and known[0] < 1.5 * harbour[0] and sea[0] > 50.0
    assert sea[1] > harbour[1] + 20.0 and sea[-2] > 5.0 * harbour[-2]
    assert line(said, "by its IMU:")[0] < 1e-9


def backlash(said):
    assert line(said, "without play: after 20 s within")[0] < 1e-9
    exact = {  # period (s), amplitude (mrad), of a loop without delay and steps cut at the teeth
        "2e+03": (0.638718, 7.233),
        "2e+04": (0.642043, 6.387),
        "2e+05": (0.644104, 6.182),
        "2e+06": (0.644818, 6.122),
    }
    for stiffness, (period, amplitude) in exact.items():
        found = line(said, f"stiffness {stiffness}: period")[:2]
        assert found == pytest.approx([period, amplitude], rel=3e-3)
    assert line(said, "the teeth are apart")[0] > 80


def hysteresis(said):
    smooth, memory = (line(said, f"{law}:")[0] for law in ("smooth", "memory"))
    assert memory < 1.0 and smooth > 10.0
    weights = line(said, "found")  # weight, radius, weight, radius
    assert weights == pytest.approx([3.0, 1e-3, 4.0, 1e-2], rel=0.02)
    blind, follows = (
        line(said, f"feed-forward {law}: largest error")[0] for law in ("smooth", "memory")
    )
    assert follows < 0.25 < 10.0 < blind


def lab_computer(said):
    (found,), (searched,), (gone,) = (
        line(said, x)[:1] for x in ("potentiometers", "index pulses", "approach")
    )
    assert found == pytest.approx(0.075) and 0.3 < searched < 1.7 and 1.0 < gone < 10.0
    published = line(said, "published, RMS")
    rms = {x: line(said, f"{x}, RMS") for x in ("trajectory", "with integral")}
    assert all(a < b for a, b in zip(rms["trajectory"], published, strict=True))
    assert all(5 * a < b for a, b in zip(rms["with integral"], rms["trajectory"], strict=True))
    if "no C compiler" not in said:
        assert "self-test: passed: 254 samples, codes within 0" in said
        assert line(said, "one cycle from counts to codes:")[0] > 0  # the machine's matter


def dh_step_by_step(said):
    """Rows by hand: the elbow's lengths, and a slide along the forearm."""
    rows = [x.split() for x in said.splitlines() if x.startswith("joint") and "type" not in x]
    assert [x[2:] for x in rows[:5]] == [
        ["q1", "l1", "l2", "-pi/2"], ["q2", "0", "l3", "0"],
        ["q3", "-", "pi/2", "0", "l4", "-pi/2"], ["0", "q4", "0", "0"], ["q5", "l5", "0", "0"],
    ]  # fmt: skip
    assert line(said, "letters:")[1::2] == [0.45, 0.15, 0.6, 0.1, 0.35]
    assert "differ by less than 1e-12: True" in said


def as_built_arm(said):
    """The arm misses by millimetres before, by little more than the tracker's noise after."""
    sizes = re.search(r"elsewhere: ([0-9.]+) mm before, ([0-9.]+) mm after", said)
    before, after = map(float, sizes.groups())
    assert before > 1.0 and after < 0.06
    assert "good" in said and "same within 1e-12: True" in said


FIGURES = {
    "06_pendulum": pendulum,
    "07_six_torques": six_torques,
    "08_single_joint": single_joint,
    "09_computed_torque": computed_torque,
    "10_puma_controllers": puma_controllers,
    "13_controller_in_c": controller_in_c,
    "11_stiction": stiction,
    "12_identify_puma": identify_puma,
    "14_other_libraries": other_libraries,
    "15_reinforcement": reinforcement,
    "16_own_laws": own_laws,
    "17_ensemble": ensemble,
    "18_how_sure": how_sure,
    "19_parallel_robot": parallel_robot,
    "20_own_controller": own_controller,
    "21_own_friction": own_friction,
    "22_own_path": own_path,
    "23_elastic_joint": elastic_joint,
    "24_backlash": backlash,
    "25_hysteresis": hysteresis,
    "26_arm_that_rings": arm_that_rings,
    "27_lab_computer": lab_computer,
    "28_dh_step_by_step": dh_step_by_step,
    "29_arm_on_a_ship": arm_on_a_ship,
    "30_as_built_arm": as_built_arm,
}


NOT_SHOWN = DeprecationWarning, ImportWarning, PendingDeprecationWarning, ResourceWarning


LONG = {  # examples of many seconds; what they use has tests of its own
    *("06_pendulum", "10_puma_controllers", "11_stiction", "12_identify_puma"),
    *("13_controller_in_c", "17_ensemble", "18_how_sure", "19_parallel_robot"),
    *("14_other_libraries", "15_reinforcement", "16_own_laws"),
    *("20_own_controller", "21_own_friction", "27_lab_computer"),
}


def example(path):
    marks = [pytest.mark.thorough] if path.stem in LONG else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.mark.parametrize("path", [example(path) for path in EXAMPLES])
def test_example(path, compiled, tmp_path, monkeypatch, capfd):
    """As a program of this process: what all of them import takes longer than most of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(path)])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        runpy.run_path(str(path), run_name="__main__")
    said = capfd.readouterr()
    assert not [w for w in warned if not issubclass(w.category, NOT_SHOWN)]
    assert said.out.strip() and "Warning" not in said.err
    FIGURES.get(path.stem, len)(said.out)
    for picture in PICTURES.get(path.stem, ()):
        assert (tmp_path / "out" / picture).stat().st_size > 5_000


def test_an_example_starts_by_itself(compiled, tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES[0])], capture_output=True, text=True, cwd=tmp_path,
        env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and not done.stderr


def test_there_are_examples():
    assert len(EXAMPLES) >= 12
