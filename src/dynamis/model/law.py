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
"""

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

CONSTANTS = "constants"
LOAD = "torque(self, q, qd, constants, fn)"
FRICTION = "torque(self, qd, direction, constants, fn)"
NAN = "look where it comes from: a constant of the law, or 0.0 / 0.0"


class UserLaw(NamedTuple):
    """A law as its robot keeps it: the user's object, what it computed, and its constants.

    The torque is linear in the constants `linear` together: they are parameters.
    """

    own: Any
    name: str
    tape: Tape
    energy: Tape | None
    linear: tuple[str, ...]
    constants: tuple[tuple[str, float], ...]

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
    what, constants = _checked(law, "load", LOAD)
    n = len(joints)

    def vectors(recorder: LawRecorder, *groups: str) -> Iterator[Any]:
        for group in groups:
            yield [recorder.input(group, i) for i in range(n)]
        yield {name: recorder.input(CONSTANTS, name) for name in constants}
        yield recorder.functions()

    def torques(recorder: LawRecorder) -> Sequence[Any]:
        found = law.torque(*vectors(recorder, "q", "qd"))
        if not is_list(found) or len(found := list(found)) != n:
            one = "one value" if isinstance(found, Recorded) else shown(found)
            given = counted(len(found), "torque") if isinstance(found, list) else one
            raise ModelError(
                f"{what}{location(law.torque)} returned {given}, expected a list of {n}, one per "
                f"joint: {', '.join(joints)}",
                "end it with: return [...]" if found is None else None,
            )
        return found

    tape = _taped(torques, what, constants)
    energy = None
    if getattr(law, "energy", None) is not None:
        energies = lambda recorder: [law.energy(*vectors(recorder, "q"))]  # noqa: E731
        energy = _taped(energies, f"the energy of {what}", constants)
    linear = tape.linear(CONSTANTS, list(constants))
    return UserLaw(law, law_name(law), tape, energy, linear, tuple(constants.items()))


def friction_law(law: Any) -> UserLaw:
    """Friction of one joint, from an instance of the user's class."""
    if isinstance(law, UserLaw):
        return law
    what, constants = _checked(law, "friction law", FRICTION)

    def torque(recorder: LawRecorder) -> Sequence[Any]:
        given = {name: recorder.input(CONSTANTS, name) for name in constants}
        speed, direction = recorder.input("qd", 0), recorder.input("direction", 0)
        found = law.torque(speed, direction, given, recorder.functions())
        if not isinstance(found, (Recorded, Real)):
            told = counted(len(found), "value") if is_list(found) else shown(found)
            raise ModelError(
                f"{what}{location(law.torque)} returned {told}, expected one torque",
                "end it with: return torque" if found is None else "it is asked joint by joint",
            )
        return [found]

    tape = _taped(torque, what, constants)
    linear = tape.linear(CONSTANTS, list(constants))
    return UserLaw(law, law_name(law), tape, None, linear, tuple(constants.items()))


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
