"""Laws of one's own: frozen dataclasses of the user's that compute torques over any scalar.

    @dataclass(frozen=True)
    class Hose:                                       # a load: robot.with_load(Hose(stiffness=3.0))
        stiffness: float
        damping: float = 0.0
        def torque(self, q, qd, constants, fn):       # n torques that the drives must supply
            return [0.0, constants["stiffness"] * fn.sin(q[1]) + constants["damping"] * qd[1]]

    @dataclass(frozen=True)
    class Grease:                                     # friction: dy.Friction(law=Grease(dry=2.0))
        dry: float
        def torque(self, qd, direction, constants, fn):
            return constants["dry"] * direction

Its constants are the fields that hold numbers. A law is called once, when it is given to a robot,
and kept as the tape of what it computed: it never runs again, and a robot never changes.

A law may have states, numbers that a simulation integrates from 0 on. It names them and gives their
rates; `torque` takes them last. Without a motion in time they are where `steady` puts them, else 0.

    @dataclass(frozen=True)
    class Dahl:
        stiffness: float
        dry: float
        states = ("stretch",)
        def torque(self, qd, direction, constants, fn, state):
            return constants["stiffness"] * state["stretch"]
        def rate(self, qd, direction, constants, fn, state):
            slip = constants["stiffness"] / constants["dry"] * abs(qd) * state["stretch"]
            return {"stretch": qd - slip}
        def steady(self, qd, direction, constants, fn):
            return {"stretch": constants["dry"] / constants["stiffness"] * direction}
"""

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Real
from typing import Any, NamedTuple

from ..arguments import is_flag, is_list, real
from ..errors import DynamisError, ModelError, counted, shown
from ..spatial.recorder import Recorded
from ..spatial.tape import LawRecorder, Tape, recorded
from ..user_code import explained, location

CONSTANTS, STATE = "constants", "state"
LOAD = "self, q, qd, constants, fn"  # arguments of the methods, without states
FRICTION = "self, qd, direction, constants, fn"
NAN = "look where it comes from: a constant of the law, or 0.0 / 0.0"


class LawStates(NamedTuple):
    """States of a law: their names, and torque and rates as they depend on them too."""

    names: tuple[str, ...]
    torque: Tape
    rate: Tape


class UserLaw(NamedTuple):
    """A law as its robot keeps it: the user's object, what it computed, and its constants.

    The torque is linear in the constants `linear` together: they are parameters. `tape` is the
    torque without a motion in time, states where they are steady.
    """

    own: Any
    name: str
    tape: Tape
    energy: Tape | None
    linear: tuple[str, ...]
    constants: tuple[tuple[str, float], ...]
    states: LawStates | None = None

    def with_constants(self, values: Mapping[str, float]) -> "UserLaw":
        """With other constants; what it computes stays."""
        if not values:
            return self
        constants = tuple({**dict(self.constants), **values}.items())
        return self._replace(own=replace(self.own, **values), constants=constants)


def load_law(law: Any, joints: Sequence[str]) -> UserLaw:
    """A load on the joints (the coordinates q), from an instance of the user's class."""
    if isinstance(law, UserLaw) and len(law.tape.results) == len(joints):
        return law
    law = law.own if isinstance(law, UserLaw) else law
    calls = _Calls(law, "load", LOAD, {"q": len(joints), "qd": len(joints)})
    what, n = calls.what, len(joints)

    def torques(found: Any) -> Sequence[Any]:
        if not is_list(found) or len(found := list(found)) != n:
            one = "one value" if isinstance(found, Recorded) else shown(found)
            given = counted(len(found), "torque") if isinstance(found, list) else one
            raise ModelError(
                f"{what}{location(law.torque)} returned {given}, expected a list of {n}, one per "
                f"joint: {', '.join(joints)}",
                "end it with: return [...]" if found is None else None,
            )
        return found

    energy = None
    if getattr(law, "energy", None) is not None:
        energies = lambda recorder: [law.energy(*calls.vectors(recorder, "q"))]  # noqa: E731
        energy = _taped(energies, f"the energy of {what}", calls.constants)
    return calls.law(torques)._replace(energy=energy)


def friction_law(law: Any) -> UserLaw:
    """Friction of one joint, from an instance of the user's class."""
    if isinstance(law, UserLaw):
        return law
    calls = _Calls(law, "friction law", FRICTION, {"qd": None, "direction": None})

    def torque(found: Any) -> Sequence[Any]:
        if not isinstance(found, (Recorded, Real)):
            told = counted(len(found), "value") if is_list(found) else shown(found)
            raise ModelError(
                f"{calls.what}{location(law.torque)} returned {told}, expected one torque",
                "end it with: return torque" if found is None else "it is asked joint by joint",
            )
        return [found]

    return calls.law(torque)


class _Calls:
    """The methods of a law, called with symbols.

    `motion` has the size of every argument before the constants; None of a single number.
    """

    def __init__(self, law: Any, kind: str, arguments: str, motion: Mapping[str, int | None]):
        self.own, self.arguments, self.motion = law, arguments, motion
        self.what, self.constants = _checked(law, kind, f"torque({arguments})")
        self.states = _states(law, self.what, arguments)

    def vectors(self, recorder: LawRecorder, *groups: str) -> Iterator[Any]:
        """The arguments of a method: parts of the motion, constants, elementary functions."""
        for group in groups:
            n = self.motion[group]
            entries = [recorder.input(group, i) for i in range(1 if n is None else n)]
            yield entries[0] if n is None else entries
        yield {name: recorder.input(CONSTANTS, name) for name in self.constants}
        yield recorder.functions()

    def law(self, torques: Callable[[Any], Sequence[Any]]) -> UserLaw:
        """All that the law computes; `torques` checks what its torque returns."""
        law, states = self.own, None
        arguments = lambda recorder: self.vectors(recorder, *self.motion)  # noqa: E731
        if self.states:
            torque = self._taped(
                lambda recorder: torques(law.torque(*arguments(recorder), self._inputs(recorder)))
            )
            rate = self._taped(lambda recorder: self._by_state("rate", arguments, recorder), "rate")
            states = LawStates(self.states, torque, rate)

        def steady(recorder: LawRecorder) -> Sequence[Any]:
            given: list[Any] = [*arguments(recorder)]
            if self.states:
                at: Sequence[Any] = [0.0] * len(self.states)
                if getattr(law, "steady", None) is not None:
                    at = self._by_state("steady", arguments, recorder)
                given.append(self._named(at))
            return torques(law.torque(*given))

        tape, constants = self._taped(steady), self.constants
        linear = tape.linear(CONSTANTS, list(constants))
        if states is not None:
            linear = _linear_with_states(tape, states, list(constants))
        return UserLaw(law, law_name(law), tape, None, linear, tuple(constants.items()), states)

    def _taped(self, function: Callable[[LawRecorder], Sequence[Any]], method: str = "") -> Tape:
        what = f"the {method} of {self.what}" if method else self.what
        return _taped(function, what, self.constants)

    def _named(self, values: Sequence[Any]) -> "_StateValues":
        return _StateValues(self.what, zip(self.states, values, strict=True))

    def _inputs(self, recorder: LawRecorder) -> "_StateValues":
        return self._named([recorder.input(STATE, name) for name in self.states])

    def _by_state(
        self, method: str, arguments: Callable[[LawRecorder], Iterator[Any]], recorder: LawRecorder
    ) -> list[Any]:
        """One value per state of what `rate` or `steady` returns, in the order of the states."""
        function = getattr(self.own, method)
        given = [*arguments(recorder), *([self._inputs(recorder)] if method == "rate" else [])]
        found, names = function(*given), ", ".join(map(repr, self.states))
        if isinstance(found, Mapping) and set(found) == set(self.states):
            found = [found[name] for name in self.states]
        if is_list(found) and len(found := list(found)) == len(self.states):
            return found
        if isinstance(found, Mapping):
            told = f"values of {', '.join(map(repr, found)) or 'nothing'}"
        elif isinstance(found, list):
            told = counted(len(found), "value")
        else:
            told = "one value" if isinstance(found, Recorded) else shown(found)
        entries = ", ".join(f"{name!r}: ..." for name in self.states)
        raise ModelError(
            f"{method} of {self.what}{location(function)} returned {told}, expected one value per "
            f"state: {names}",
            f"end it with: return {{{entries}}}",
        )


class _StateValues(dict[str, Any]):
    """States by name, as a law is given them."""

    def __init__(self, what: str, values: Iterable[tuple[str, Any]]):
        super().__init__(values)
        self.what = what

    def __missing__(self, name: Any) -> Any:
        raise ModelError(
            f"{self.what} has no state {shown(name)}", f"it has: {', '.join(map(repr, self))}"
        )


def _states(law: Any, what: str, arguments: str) -> tuple[str, ...]:
    """Names of the states of a law; what does not fit them is refused."""
    names = getattr(law, "states", ())
    if not is_list(names) or not all(isinstance(x, str) and x for x in names):
        raise ModelError(
            f"{what} has states = {shown(names)}, expected a tuple of texts",
            'states = ("z",) names one',
        )
    names = tuple(names)
    twice = [x for k, x in enumerate(names) if x in names[:k]]
    if twice:
        raise ModelError(f"{what} has two states {twice[0]!r}", "give each a name of its own")
    if not names:
        count = arguments.count(",")
        if _takes(law.torque, count + 1) and not _takes(law.torque, count):
            raise ModelError(
                f"{what} names no states, but torque{location(law.torque)} takes one more argument "
                f"than torque({arguments})",
                'states = ("z",) in the class names one',
            )
        return ()
    given = ", ".join(map(repr, names))
    if not callable(getattr(law, "rate", None)):
        raise ModelError(
            f"{what} has states {given} and no rate, expected a method rate({arguments}, {STATE})",
            "it returns d(state)/dt of every state by name",
        )
    for method, wanted in (("torque", f"{arguments}, {STATE}"), ("rate", f"{arguments}, {STATE}"),
                           ("steady", arguments)):  # fmt: skip
        function = getattr(law, method, None)
        if function is not None and not _takes(function, wanted.count(",")):
            raise ModelError(
                f"{what} has states {given}, but {method}{location(function)} does not take what "
                f"such a law is given, expected {method}({wanted})",
            )
    return names


def _takes(function: Any, count: int) -> bool:
    """True where a function can be called with so many arguments by position."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # it does not tell
        return True
    try:
        signature.bind(*range(count))
    except TypeError:
        return False
    return True


def _linear_with_states(tape: Tape, states: LawStates, names: list[str]) -> tuple[str, ...]:
    """Constants in which the torque is linear whatever the states, on which these do not depend."""
    left = [x for x in names if x not in states.rate.takes(CONSTANTS)]
    found = list(states.torque.linear(CONSTANTS, left))
    steady = tape.linear(CONSTANTS, found)
    return tuple(x for x in found if x in steady or x not in tape.takes(CONSTANTS))


def law_name(law: Any) -> str:
    """What a law is called: by its `name`, else by its class."""
    return getattr(law, "name", None) or type(law).__name__


def settings(law: Any) -> dict[str, Any]:
    """Fields of a law that a constructor takes: numbers, texts and flags by name."""
    return {f.name: getattr(law, f.name) for f in fields(law) if f.init}


def _checked(law: Any, kind: str, method: str) -> tuple[str, dict[str, float]]:
    """How to call a law in messages, and its constants."""
    if isinstance(law, type):
        raise ModelError(f"{kind} is the class {law.__name__}, expected {law.__name__}(...)")
    if not is_dataclass(law):
        raise ModelError(
            f"{kind} is {shown(law)}, expected a frozen dataclass with {method}",
            "put @dataclass(frozen=True) above the class: its fields are the law's constants",
        )
    if not law.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ModelError(
            f"{kind} {type(law).__name__} can be changed after it was given to a robot",
            "make it @dataclass(frozen=True)",
        )
    name = getattr(law, "name", None)
    if not (name is None or (isinstance(name, str) and name)):
        raise ModelError(f"{kind} has name {shown(name)}, expected a non-empty text")
    what = f"{kind} {law_name(law)!r}"
    if not callable(getattr(law, "torque", None)):
        raise ModelError(f"{what} has no torque, expected a method {method}")
    return what, dict(_constants(law, what))


def _constants(law: Any, what: str) -> Iterator[tuple[str, float]]:
    for name, value in settings(law).items():
        if value is None or isinstance(value, str) or is_flag(value):
            continue
        number = real(value)
        if name == "states":
            raise ModelError(
                f"{what} has its states as a constant", 'write states = ("z",) without a type'
            )
        if number != number and not isinstance(value, float):
            raise ModelError(
                f"{what} has {name} = {shown(value)}, expected a number, a text or a flag",
                "a constant is a number with a name: give each a field of its own",
            )
        if not math.isfinite(number):
            raise ModelError(f"{what} has {name} = {number}, expected a finite number")
        yield name, number


def _taped(
    function: Callable[[LawRecorder], Sequence[Any]], what: str, constants: Iterable[str]
) -> Tape:
    """The tape of a law; what cannot be recorded is said plainly."""
    try:
        tape = recorded(function)
    except DynamisError:
        raise
    except Exception as error:  # whatever somebody else's code does with a symbol
        if isinstance(error, KeyError) and error.args[0] not in constants:
            names = ", ".join(map(repr, constants)) or "none: the law has no field with a number"
            raise ModelError(f"{what} has no constant {error}", f"it has: {names}") from error
        raise ModelError(*explained(error, "fn", f"{what} cannot be used")) from error
    numbers = [(k, step[1]) for k, step in enumerate(tape.steps) if step[0] == "number"]
    for k, number in numbers:
        if number != number or (k in tape.results and not math.isfinite(number)):
            raise ModelError(f"{what} gives {number} whatever its arguments", NAN)
    return tape
