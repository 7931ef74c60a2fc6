"""Frequency responses of elastic joints: from a log by averaged spectra, and of the fitted model.

    velocity of the motor = H(f) torque,    deflection = E(f) torque

H1 estimates, S_yu / S_uu of spectra that are averaged over segments of the log (Welch). What the
torques of the other joints do to an output, by the fitted model, is taken away from it before: in a
closed loop they follow each other, and no spectrum tells them apart. The coherence is the share of
the power that the own torque explains: Coulomb friction, other configurations and noise lower it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.signal import get_window

from ...control.linearise import linearise
from ...errors import OptionError
from ...logs.log import Log
from ...model.friction import Friction, sides
from ...robot.resonances import Resonances
from ..motion import on_even_grid

if TYPE_CHECKING:
    from ...robot import Robot
    from ..estimate import Estimate

OUTPUTS: tuple[str, ...] = ("velocity", "deflection")
SEGMENTS = 5  # of a log at least, before they overlap by half
LONGEST = 8.0  # s of a segment
SHORTEST = 64  # samples of one
HIGHEST = 0.4  # of the sampling rate
BEYOND = 3.0  # times the highest mode: what is shown
FIRST = 2  # lines of a spectrum that the window takes
SEEN = 0.7  # coherence from which a response is seen
APART = 0.25  # of the power that other torques give an output: less of its own is not told apart
FAINT = 1e-3  # of the power of a joint's strongest line: less is what the window leaks


@dataclass(frozen=True, eq=False)
class JointResponse:
    """Responses of one joint to the torque of its own motor at frequencies f (F,).

    `measured`, `model` (complex) and `coherence` are (F,) by output: "velocity" of the motor,
    "deflection" of the gear (motor less link). Where the torque has no power of its own, or the
    torques of other joints move the output far more, nothing is measured, nor are deflections by
    logs of motors alone: the coherence is 0.
    """

    name: str
    f: np.ndarray
    measured: dict[str, np.ndarray]
    coherence: dict[str, np.ndarray]
    model: dict[str, np.ndarray]

    def seen(self, output: str) -> np.ndarray:
        """Frequencies at which the log shows the response, (F,) bool."""
        return self.coherence[output] >= SEEN


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Responses of all elastic joints about `q`, the middle of the log, and the modes there."""

    joints: tuple[JointResponse, ...]
    q: np.ndarray
    modes: Resonances


def frequency_response(estimate: "Estimate") -> FrequencyResponse:
    """Responses of the elastic joints of an estimate, from its logs and its model."""
    elastic, robot = estimate.elastic, estimate.robot
    if elastic is None or not elastic.joints:
        raise OptionError(
            "the estimate has no elastic joints, so no frequency responses",
            'dy.identify(..., elastic="auto") with a log of both sides of the gears',
        )
    logs = [on_even_grid(piece) for log in estimate.recorded for piece in log.pieces()]
    size, f = _segments(logs)
    q = np.concatenate([log.q for log in logs]).mean(axis=0)
    modes, model = _sliding(robot).resonances(q), _of_model(robot, q, f)
    passed = np.ones(len(f)) if elastic.deflections is None else elastic.deflections.passed(f)
    measured, coherence = _averaged(logs, size, model, passed)
    shown = (f >= f[FIRST]) & (f <= min(BEYOND * modes.free.max(), HIGHEST * logs[0].rate))
    joints = []
    for x in elastic.joints:
        k = robot.drive_names.index(x.name)
        parts = measured[:, :, k], coherence[:, :, k], model[:, :, k, k]
        seen = (dict(zip(OUTPUTS, a[:, shown], strict=True)) for a in parts)
        joints.append(JointResponse(x.name, f[shown], *seen))
    return FrequencyResponse(tuple(joints), q, modes)


def _segments(logs: Sequence[Log]) -> tuple[int, np.ndarray]:
    """Samples of a segment, and frequencies of its spectrum."""
    longest = max(len(x) for x in logs)
    size = int(min(longest // SEGMENTS, LONGEST * logs[0].rate))
    if size < SHORTEST:
        raise OptionError(
            f"the longest stretch of the logs has {longest} samples, expected "
            f"{SHORTEST * SEGMENTS} or more for spectra",
            "record for longer",
        )
    return size, np.fft.rfftfreq(size, 1.0 / logs[0].rate)


def _averaged(
    logs: Sequence[Log], size: int, model: np.ndarray, passed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Responses to the own torque and their coherence, (2, F, n); `model` is (2, F, n, n).

    `passed` (F,) is what the sensor of deflections makes of them.
    """
    n = logs[0].n
    others, diagonal = model * (1.0 - np.eye(n)), np.einsum("kfii->kfi", model)
    both, power, foreign = np.zeros((3, *model.shape[:3]), complex)
    own, window = np.zeros(model.shape[1:3]), np.asarray(get_window("hann", size))[:, None]
    for log in logs:
        if abs(log.rate - logs[0].rate) > 1e-6 * log.rate:
            continue
        motor = log.q if log.motor is None else log.motor
        signals = log.tau, np.gradient(motor, log.step, axis=0), motor - log.q
        for first in range(0, len(log) - size + 1, size // 2):
            u, *y = (np.fft.rfft(window * _level(x[first : first + size]), axis=0) for x in signals)
            y[0] *= _differenced(np.fft.rfftfreq(size, log.step), log.step)[:, None]
            y[1] /= passed[:, None]
            theirs = np.einsum("kfij,fj->kfi", others, u)
            alone = np.stack(y) - theirs
            both += alone * u.conj()
            power += np.abs(alone) ** 2
            foreign += np.abs(theirs) ** 2
            own += np.abs(u) ** 2
    excited = own > FAINT * own[FIRST:].max(axis=0)
    apart = np.abs(diagonal) ** 2 * own >= APART * foreign.real
    coherence = np.abs(both) ** 2 / np.maximum(power.real * own, 1e-300)
    if logs[0].motor is None:
        coherence[OUTPUTS.index("deflection")] = 0.0  # of motors alone: none is measured
    return both / np.maximum(own, 1e-300), excited * apart * coherence


def _level(x: np.ndarray) -> np.ndarray:
    """A segment less its line from first to last."""
    t = np.linspace(-1.0, 1.0, len(x))[:, None]
    return x - x.mean(axis=0) - t * (t * x).sum(axis=0) / (t * t).sum()


def _differenced(f: np.ndarray, step: float) -> np.ndarray:
    """What a central difference makes of a derivative, undone: w h / sin(w h)."""
    w = 2.0 * np.pi * f * step
    return np.where(w < 0.9 * np.pi, 1.0 / np.maximum(np.sinc(w / np.pi), 0.1), 1.0)


def _of_model(robot: "Robot", q: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Velocities of motors and deflections per torque of every motor, (2, F, n, n).

    Of the arm about q, teeth in touch, with the viscous part of its friction; 0 at the frequency 0.
    """
    lin = linearise(_sliding(robot), q)
    states, found = list(lin.states), np.zeros((2, len(f), robot.n, robot.n), complex)
    jw = 2j * np.pi * f[1:, None, None]
    B = np.broadcast_to(lin.B, (len(f) - 1, *lin.B.shape))
    x = np.linalg.solve(jw * np.eye(len(states)) - lin.A, B)
    for k in range(robot.n):
        joint, name = states.index(f"q{k + 1}"), f"motor{k + 1}"
        motor = states.index(name) if name in states else joint
        found[0, 1:, k] = jw[:, 0] * x[:, motor]
        found[1, 1:, k] = x[:, motor] - x[:, joint]
    return found


def _sliding(robot: "Robot") -> "Robot":
    """The robot as it slides, teeth in touch: friction of joints and motors by its viscous part."""
    links: list[Any] = []
    for link in robot.model.links:
        viscous: Any = 0.5 * sum(sides(link.friction.viscous))  # type: ignore[arg-type]
        drive = None if link.drive is None else replace(link.drive, coulomb=0.0, backlash=0.0)
        links.append(replace(link, friction=Friction(viscous=viscous), drive=drive))
    return robot._with_model(links=tuple(links))
