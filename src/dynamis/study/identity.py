"""What decides the numbers of a study, as digests by name: whether a checkpoint belongs to it."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .. import __version__
from ..compile.service import sources
from ..control.controller import text_of
from ..digest import VERSION, VERSIONS, UnidentifiedError, digest_of
from ..errors import OptionError
from ..simulation.options import OF_A_STUDY, OPTIONS
from ..simulation.settings import stops_of
from .case import Case
from .ensemble import function_name
from .scatter import ALTERNATIVES

BY_CODE = (  # programs, numbers and rows that come from them count
    *("controller", "reference", "torque", "external", "wrench", "link_forces", "base_motion"),
    *("observer", "sensors"),
)
NO_MATTER = ("threads", "device", "fused")  # how it is computed; `fused` is asked beside
PROVED = 8  # samples that show whether functions of the user's give what they gave
ROWS = 20_000  # of references and forces, at a time


def identity_of(case: Case, fused: bool = False) -> dict[str, str]:
    """Digests of what decides the numbers of a study, by what a user calls it.

    A GPU gives the bits of the processor, unless it is `fused`.
    """
    robot, functions, scatter = case.robot, _functions(case), case.variation.scatter
    drawn, last = case.draw(*case.span(0)), case.draw(case.samples - 1, 1)
    found: dict[str, Any] = {
        "version": (__version__, sources()),
        "robot": (text_of(robot), repr(robot.model.values), stops_of(robot)),
        "samples": case.samples,
        "seed": case.seed,
        "measures": (case.names, case.band, case.columns),
        "vary": (case.variation.names, drawn.arrays, drawn.chosen, drawn.nominal, last.arrays),
        "functions": list(map(_function_digest, functions)),
    }
    if scatter is not None:
        listed = [list(getattr(scatter, name) or ()) for name in ALTERNATIVES]
        found["vary"] += ([[_function_digest(x) for x in row] for row in listed],)
    if case.evaluate is None:
        every = [_simulation(case, chosen) for _, chosen in case.groups(drawn)]
        found["options"] = (fused, case.duration, case.simulated, [options for options, _ in every])
        found["controller, reference or forces"] = [code for _, code in every]
    if functions:  # only running them shows what they do
        found["results of functions"] = case.values(case.draw(0, min(PROVED, case.samples))).values
    return {name: digest_of(value) for name, value in found.items()}


def _functions(case: Case) -> list[Callable[..., Any]]:
    """Those of the user's that decide a result."""
    listed = [*case.functions, case.evaluate, *case.options.values()]
    scatter, own = case.variation.scatter, __name__.partition(".")[0]
    if scatter is not None and scatter.reference is not None:
        listed += list(scatter.reference)
    return [x for x in listed if callable(x) and type(x).__module__.partition(".")[0] != own]


def _function_digest(function: Callable[..., Any]) -> str:
    """Digest of what a function of the user's computes with, or of the version it was given."""
    version, name = getattr(function, VERSION, None), function_name(function)
    if isinstance(version, VERSIONS):
        return digest_of((name, version))
    try:
        return digest_of(function)
    except UnidentifiedError as error:
        known = name.isidentifier()
        give = "give the function" if known else "write it as a function with def, and give it"
        raise OptionError(
            f"checkpoint: whether {name!r} changes cannot be seen, since {error}",
            f"{give} a version, and another one whenever it changes: "
            f'{name if known else "measure"}.{VERSION} = "1"; or leave checkpoint out',
        ) from None


def _simulation(case: Case, chosen: tuple[int, ...]) -> tuple[Any, Any]:
    """What decides a simulation: its options, and its code with the numbers that go into it."""
    ensemble = case.ensemble(chosen)
    s = ensemble.s
    names = [x for x in OF_A_STUDY if x not in (*BY_CODE, *NO_MATTER)]
    asked = {x: OPTIONS[x].checked(case.options[x]) for x in names}
    asked = {x: value for x, value in asked.items() if not callable(value)}
    options = [s.tableau.key, s.stops, repr(s.sensors), s.period, s.delay, asked]
    spans = list(pairwise([*range(0, s.span.steps + 1, ROWS), s.span.steps + 1]))
    if not case.simulated:
        wanted = ensemble.reference(s)
        return options, [digest_of(wanted(s.dt * np.arange(a, b))) for a, b in spans]
    drawn, (q0, qd0) = case.draw(0, 1), case.start
    own, none = drawn.nominal[None, list(drawn.varied)], np.zeros((1, len(s.driven)))
    nominal = replace(drawn, values=own, q0=q0[None], qd0=qd0[None], joint_offset=none)
    ready = ensemble.started(nominal, s, 1)
    m = ensemble.assembly if ensemble.streams else ensemble.simulator.assembly
    tasks = m.tasks if s.function is None else [m.plant_task]
    code = [(task.name, task.key or task.program().text) for task in tasks]
    signals = m.signals if s.function is None else m.plant_signal
    rows = [digest_of(signals(ready, a, b - a)) for a, b in spans]
    return options, [code, rows, m.constants(ready) if s.function is None else ()]
