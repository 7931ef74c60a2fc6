"""What decides the numbers of a study, as digests by name: whether a checkpoint belongs to it."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from .. import __version__
from ..control.controller import text_of
from ..simulation.settings import stops_of
from .case import Case

PROVED = 8  # samples that show whether functions of the user's give what they gave
LOOKED_AT = 20_000  # rows of references and forces that tell studies apart
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


def digest_of(value: Any) -> str:
    """Of numbers, texts, arrays, lists and dictionaries of them, and functions with their code."""
    found = hashlib.sha256()
    _feed(value, found.update, ())
    return found.hexdigest()


def _feed(value: Any, add: Callable[[bytes], None], inside: tuple[Any, ...]) -> None:
    """What decides a value. What has no text of its own counts as its kind: an address differs."""
    parts: list[Any] = []
    if isinstance(value, np.ndarray):
        add(f"array {value.dtype.str} {value.shape}".encode())
        if not value.dtype.hasobject:
            add(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, PLAIN):
        add(f"{type(value).__name__} {value!r}".encode())
    elif any(value is x for x in inside):
        add(b"recursion")
    elif isinstance(value, Mapping):
        parts = [x for key in sorted(value, key=repr) for x in (key, value[key])]
    elif isinstance(value, (tuple, list)):
        parts = list(value)
    elif isinstance(value, CodeType):
        parts = [value.co_code, value.co_names, value.co_consts]
    elif isinstance(value, FunctionType):
        parts = _function(value, inside)
    elif isinstance(value, MethodType):
        parts = [value.__func__, value.__self__]
    elif isinstance(value, functools.partial):
        parts = [value.func, value.args, value.keywords]
    elif isinstance(getattr(type(value), "__call__", None), FunctionType):  # noqa: B004
        parts = [type(value).__call__, _attributes(value)]
    add(f"{type(value).__qualname__} {getattr(value, '__qualname__', '')} {len(parts)}".encode())
    for part in parts:
        _feed(part, add, (*inside, value))


def _attributes(value: Any) -> dict[str, Any]:
    """Those of an object, without its cached properties: they come with the first call."""
    cached = functools.cached_property
    kept = vars(value).items()
    return {k: x for k, x in kept if not isinstance(getattr(type(value), k, None), cached)}


def _function(value: FunctionType, inside: tuple[Any, ...]) -> list[Any]:
    """Code, defaults, what a function encloses, and the globals it names in its own module."""
    outer = next((x for x in inside if isinstance(x, FunctionType)), value)
    if value.__globals__ is not outer.__globals__:
        return [value.__module__]
    cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
    used = {k: value.__globals__[k] for k in value.__code__.co_names if k in value.__globals__}
    return [value.__code__, value.__defaults__, value.__kwdefaults__, cells, used]


def identity_of(case: Case, fused: bool = False) -> dict[str, str]:
    """Digests of what decides the numbers of a study, by what a user calls it.

    A GPU gives the bits of the processor, unless it is `fused`.
    """
    robot, functions = case.robot, _functions(case)
    drawn, last = case.draw(*case.span(0)), case.draw(case.samples - 1, 1)
    found: dict[str, Any] = {
        "version": __version__,
        "robot": (text_of(robot), repr(robot.model.values), stops_of(robot)),
        "samples": case.samples,
        "seed": case.seed,
        "measures": (case.names, case.band, case.columns),
        "vary": (case.variation.names, drawn.arrays, drawn.chosen, drawn.nominal, last.arrays),
        "functions": functions,
    }
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


def _simulation(case: Case, chosen: tuple[int, ...]) -> tuple[Any, Any]:
    """What decides a simulation: its options, and its code with the numbers that go into it."""
    ensemble = case.ensemble(chosen)
    s = ensemble.s
    names = ("dt", "restitution", "drives", "tolerance", "period", "delay", "dtype")
    options = [s.tableau.key, s.stops, repr(s.sensors), *(getattr(s, name) for name in names)]
    if not case.simulated:
        t = s.dt * np.arange(min(s.steps + 1, LOOKED_AT))
        return options, ensemble.reference(s)(t)
    drawn, (q0, qd0) = case.draw(0, 1), case.start
    own, none = drawn.nominal[None, list(drawn.varied)], np.zeros((1, len(s.driven)))
    nominal = replace(drawn, values=own, q0=q0[None], qd0=qd0[None], joint_offset=none)
    ready = ensemble.started(nominal, s, 1)
    m = ensemble.assembly if ensemble.streams else ensemble.simulator.assembly
    tasks = m.tasks if s.function is None else [m.plant_task]
    code = [(task.name, task.key or task.program().text) for task in tasks]
    if s.function is not None:
        return options, code
    signals = m.signals(ready, 0, min(s.steps + 1, LOOKED_AT))
    return options, [code, signals, m.constants(ready)]
