"""What every public function asks of its arguments; an error says what was given and expected.

Arrays are checked by `numbers` and `as_batch` of `compile.arrays`.
"""

import functools
import inspect
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from numbers import Integral
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from .errors import (
    DynamisError,
    FileError,
    KeywordError,
    OptionError,
    closest,
    did_you_mean,
    shown,
    warn,
)

if TYPE_CHECKING:
    from .robot import Robot

F = TypeVar("F", bound=Callable[..., Any])
Given = tuple[tuple[Any, ...], dict[str, Any]]  # arguments by position and by keyword
Former = Callable[[tuple[Any, ...], dict[str, Any]], Given | None]
BOUND = ("self", "cls")
UNKNOWN: Any = object()  # an argument that calls of version 0.2 do not have
LONGEST_NAME, LONGEST_PATH = 255, 4000  # bytes of a file's name and of its path
MOST = 2**63 - 1  # the largest whole number a machine word holds
LARGEST = 2**31 - 1  # a whole number that any loop or array may be asked to hold
SEEDS = 2**128 - 1  # the largest: as long as NumPy recommends


CLASSES = (  # of ours, held to by name: naming them in an annotation is enough
    *("Controller", "Estimate", "Friction", "Law", "Link", "Log", "Model", "Processing", "Robot"),
    *("Run", "Trajectory", "Validation"),
)
WORDS = {
    **{"bool": "True or False", "int": "a whole number", "float": "a number", "str": "a text"},
    **{"Path": "a path", "Mapping": "a dictionary", "Sequence": "a list", "Iterable": "a list"},
}

PLAIN = {"bool": bool, "int": int, "float": float}


def real(value: Any) -> float:
    """A scalar as a float; NaN for what is no real number: a text, a flag, an array."""
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    shape = getattr(value, "shape", ())
    if isinstance(value, (bool, str, bytes)) or kind not in "fiu" or shape != ():
        return math.nan
    try:
        return math.nan if hasattr(value, "mask") else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def number(
    value: Any,
    name: str,
    expected: str = "a finite number",
    good: Callable[[float], bool] = math.isfinite,
) -> float:
    """A real number that `good` accepts; `expected` says which, in words."""
    found = real(value)
    if found != found or not good(found):
        raise OptionError(f"{name} is {shown(value)}, expected {expected}")
    return found


def positive(value: Any, name: str, what: str = "a number") -> float:
    """A finite number above zero; `what` says of what, such as "seconds"."""
    return number(value, name, f"{what} above 0", lambda x: 0.0 < x < math.inf)


def fraction(value: Any, name: str, most: float = 1.0) -> float:
    """A number from 0 to `most`."""
    return number(value, name, f"a number from 0 to {most:g}", lambda x: 0.0 <= x <= most)


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, NumPy's too, and no flag."""
    return isinstance(value, Integral) and not is_flag(value)


def whole(value: Any, name: str, least: int = 1, most: int = LARGEST) -> int:
    """A whole number from `least` to `most`."""
    found = int(value) if is_whole(value) else least - 1
    if found < least:
        words = " above 0" if least == 1 else f", {least} or more"
        raise OptionError(f"{name} is {shown(value)}, expected a whole number{words}")
    if found > most:
        raise OptionError(
            f"{name} is {shown(value)}, expected a whole number from {least} to {most}"
        )
    return found


def is_flag(value: Any) -> bool:
    """Whether a value is True or False, NumPy's too; a text or a number is neither."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def flag(value: Any, name: str) -> bool:
    """True or False."""
    if not is_flag(value):
        raise OptionError(f"{name} is {shown(value)}, expected True or False")
    return bool(value)


def is_list(value: Any) -> bool:
    """Whether a value is a list of things: any iterable but texts, dictionaries and scalars."""
    bare = isinstance(value, (str, bytes, Mapping, type)) or getattr(value, "shape", None) == ()
    return not bare and hasattr(value, "__iter__")


def duplicate(values: Iterable[Any]) -> Any:
    """The first of some values that stands there twice; None where there is none."""
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def is_word(value: Any, known: Iterable[str]) -> bool:
    """Whether a value is one of a few words; a list or an array never is."""
    return isinstance(value, str) and value in known


def one_of(
    value: Any, known: Iterable[str], message: str, error: type[DynamisError] = OptionError
) -> None:
    """Refuse what is not one of a few words, with a hint at the closest.

    Without a close one the hint lists all words, unless the message does already.
    """
    words = tuple(known)
    if not is_word(value, words):
        hint = did_you_mean(value, words)
        said = hint.startswith("known: ") and all(word in message for word in words)
        raise error(message, None if said else hint)


def choice(value: Any, name: str, known: Iterable[str]) -> str:
    """One of a few words."""
    words = tuple(known)
    listed = ", ".join(repr(word) for word in words)
    one_of(value, words, f"{name} is {shown(value)}, expected {listed}")
    return value


def text(value: Any, name: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise OptionError(f"{name} is {shown(value)}, expected a text")
    return value


def a_robot(value: Any, name: str = "robot", also: str = "") -> "Robot":
    """A Robot; `also` says what else would do."""
    from .robot import Robot

    if not isinstance(value, Robot):
        raise OptionError(f"{name} is {shown(value)}, expected a Robot{also}", "use dy.load(...)")
    return value


def path_of(value: Any, name: str = "path") -> Path:
    """A path, from text or a path."""
    if not isinstance(value, (str, os.PathLike)) or isinstance(value, os.DirEntry):
        raise FileError(f"{name} is {shown(value)}, expected a path")
    found = Path(value)
    try:
        lengths = [len(os.fsencode(part)) for part in found.parts]
    except UnicodeEncodeError:
        lengths = [LONGEST_NAME + 1]
    if "\0" in str(found) or max(lengths, default=0) > LONGEST_NAME or sum(lengths) > LONGEST_PATH:
        raise FileError(f"{name} is {shown(value)}, expected a path that a file can have")
    return found


def known_options(
    options: Mapping[str, Any], known: Iterable[str], message: str = "unknown option"
) -> Mapping[str, Any]:
    """Options whose names exist; the `message` ends with the one that does not."""
    names = tuple(known)
    unknown = next((key for key in options if key not in names), None)
    if unknown is not None:
        raise KeywordError(f"{message} {shown(unknown)}", unknown, names)
    return options


def passed_on(
    options: Mapping[str, Any], function: Callable[..., Any], *taken: str
) -> Mapping[str, Any]:
    """Options that a function takes by name, those `taken` not among them."""
    names = inspect.signature(function).parameters
    return known_options(options, (x for x in names if x not in ("self", *taken)))


# keywords that do not exist


def strict(thing: F) -> F:
    """A function that answers a misspelt keyword with the one that was meant.

    Of a class: its constructor and its public methods, but for those that are traced. A class may
    first put the keywords of its constructor in order by `_flat(named)`.
    """
    if not isinstance(thing, type):
        return _strict(thing)
    flat: Any = getattr(thing, "_flat", None)
    ordered = flat and (lambda given, named: (given, flat(named)))
    for name, value in list(vars(thing).items()):
        function = getattr(value, "__func__", value)  # of class methods and static ones
        public = name in ("__init__", "__call__") or not name.startswith("_")
        if not public or not isinstance(function, FunctionType) or _stays(function):
            continue
        made = _strict(function, ordered if name == "__init__" else None)
        setattr(thing, name, made if function is value else type(value)(made))
    return thing  # type: ignore[return-value]


def _strict(function: F, prepared: Callable[..., Given] | None = None) -> F:
    """The function behind a check of its keywords, once its arguments are `prepared`."""
    former: Former | None = getattr(function, "_former", None)

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if former is not None:
            given, named = _in_new_order(function, former, given, named)
        if prepared is not None:
            given, named = prepared(given, named)
        if named:
            refuse_unknown(function, len(given), named)
        try:
            return function(*given, **named)
        except KeywordError as error:
            if error.given in named:  # what was passed on may have been meant for this function
                known = (*error.known, *_open(function, len(given), named))
                raise KeywordError(error.message, error.given, known) from None
            raise

    return call  # type: ignore[return-value]


def refuse_unknown(function: Callable[..., Any], places: int, named: Mapping[str, Any]) -> None:
    """Refuse keywords that a function does not take, with a hint at the closest that it does.

    `places` arguments are given by position. A function of any keywords knows them itself, unless
    one that it must be given is missing.
    """
    takes = _takes(function)
    unknown = [word for word in named if word not in takes.names]
    if not unknown:
        return
    known = _open(function, places, named)
    if takes.any:
        known = [word for word in known if word in takes.required]
        unknown = [word for word in unknown if closest(word, known)]
    if unknown:
        what = f"{_public_name(function)} has no keyword {shown(unknown[0])}"
        every = [word for word in takes.names if word not in BOUND]
        raise KeywordError(what, unknown[0], known or every)


class _Takes(NamedTuple):
    """Parameters of a function: their names, those without a default, and whether any other."""

    names: tuple[str, ...]
    required: tuple[str, ...]
    any: bool


@functools.cache
def _takes(function: Callable[..., Any]) -> _Takes:
    found = inspect.signature(function).parameters.values()
    named = [x for x in found if x.kind in (x.POSITIONAL_OR_KEYWORD, x.KEYWORD_ONLY)]
    required = tuple(x.name for x in named if x.default is x.empty)
    return _Takes(
        tuple(x.name for x in named), required, any(x.kind is x.VAR_KEYWORD for x in found)
    )


def _open(function: Callable[..., Any], places: int, named: Mapping[str, Any]) -> list[str]:
    """Parameters that a call leaves open."""
    names = _takes(function).names[places:]
    return [word for word in names if word not in named and word not in BOUND]


def _stays(function: FunctionType) -> bool:
    """Whether a method is strict already, or scalar-generic code, which is traced as it is."""
    code = function.__code__
    traced = not {"arm", "fn"}.isdisjoint(code.co_varnames[: code.co_argcount])
    return traced or code.co_filename == strict.__code__.co_filename


# the order of arguments that version 0.2 had


def formerly(former: Former) -> Callable[[F], F]:
    """A function that takes its arguments in the order of version 0.2 too, with a warning.

    `former` gives the arguments of such a call in the order of the signature, without self and cls;
    None of any other call. The function, or the class it is in, is `strict` or `checked`.
    """

    def mark(function: F) -> F:
        function._former = former  # type: ignore[attr-defined]
        return function

    return mark


def robot_second(given: tuple[Any, ...], named: dict[str, Any]) -> Given | None:
    """A call (something, robot, ...) as (robot, something, ...)."""
    if not given or _fits(given[0], "Robot"):
        return None
    if "robot" in named:
        return (named["robot"], *given), {k: v for k, v in named.items() if k != "robot"}
    if len(given) > 1 and _fits(given[1], "Robot"):
        return (given[1], given[0], *given[2:]), named
    return None


def no_robot(given: tuple[Any, ...], named: dict[str, Any]) -> Given | None:
    """A call (bandwidth, ...) as (robot, bandwidth, ...), in which robot is None."""
    first = given[0] if given else named.get("bandwidth")
    gain = is_list(first) or not math.isnan(real(first))
    meant = any(closest(name, ("robot",)) for name in named)
    if not gain or meant or any(_fits(value, "Robot") for value in given):
        return None
    return (UNKNOWN, *given), named


def _in_new_order(
    function: Callable[..., Any], former: Former, given: tuple[Any, ...], named: dict[str, Any]
) -> Given:
    """Arguments in the order of the signature; a warning shows the call if it had another."""
    names = _takes(function).names
    bound = int(names[0] in BOUND)
    found = former(given[bound:], named)
    if found is None:
        return given, named
    places, words = (*given[:bound], *found[0]), found[1]
    refuse_unknown(function, len(places), words)
    listed = [_written(*pair) for pair in zip(names[bound:], found[0], strict=False)]
    listed += [f"{name}={_written(name, value)}" for name, value in words.items()]
    name = _public_name(function)
    if names[0] == "self":
        name = name[0].lower() + name[1:]
    warn(f"this order of arguments is that of version 0.2; write {name}({', '.join(listed)})")
    return places, words


def _written(name: str, value: Any) -> str:
    """An argument of a call: numbers, texts and None as they are, anything else by its name."""
    return shown(value) if isinstance(value, (int, float, str, type(None))) else name


# what annotations say


def checked(function: F) -> F:
    """A function whose arguments are held to their annotations before it runs.

    Flags, numbers, texts, paths, maps and objects of ours are checked; which word, array or range
    of numbers is right the function knows itself. It is `strict` too.
    """
    names = tuple(inspect.signature(function).parameters)
    rules = _rules(function.__annotations__)

    def held(given: tuple[Any, ...], named: dict[str, Any]) -> Given:
        try:
            places = [
                _held(value, name, rules[name]) if name in rules else value
                for name, value in zip(names, given, strict=False)
            ]
        except OptionError as error:
            raise _in_order(error, names, rules, given, function) from None
        words = {k: _held(v, k, rules[k]) if k in rules else v for k, v in named.items()}
        return (*places, *given[len(places) :]), words

    return _strict(function, held)


def _in_order(
    error: OptionError,
    names: Sequence[str],
    rules: Mapping[str, Any],
    given: Any,
    function: Callable[..., Any],
) -> OptionError:
    """The error; where a Robot was given in the place of something else, with the order."""
    robots = [name for name, value in zip(names, given, strict=False) if _fits(value, "Robot")]
    if not robots or "Robot" in rules.get(robots[0], ()):
        return error
    listed = ", ".join(name for name in names[: max(len(given), 2)] if name not in BOUND)
    hint = f"the order is {_public_name(function)}({listed})"
    return OptionError(error.message, hint)


def _public_name(function: Callable[..., Any]) -> str:
    """dy.compile of the function behind it; its own name where it has no such name."""
    package = sys.modules[__name__.partition(".")[0]]
    known = ((name, vars(package).get(name)) for name in package.__all__)
    found = (f"dy.{name}" for name, value in known if _unwrapped(value) is function)
    return next(found, function.__qualname__.removesuffix(".__init__"))


def _unwrapped(value: Any) -> Any:
    while hasattr(value, "__wrapped__"):
        value = value.__wrapped__
    return value


def check_fields(data: Any) -> None:
    """Hold the fields of a dataclass to their annotations."""
    for name, words in _rules_of(type(data)).items():
        object.__setattr__(data, name, _held(getattr(data, name), name, words))


@functools.cache
def _rules_of(kind: type) -> dict[str, tuple[str, ...]]:
    return _rules({f.name: f.type for f in fields(kind)})


def _rules(annotations: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The words of every annotation that can be checked."""
    found = {name: _words(value) for name, value in annotations.items() if name != "return"}
    known = {*WORDS, *CLASSES, "None"}
    return {name: words for name, words in found.items() if set(words) <= known}


def _words(annotation: Any) -> tuple[str, ...]:
    """bool | None as ("bool", "None"), with the arguments of generic types left out."""
    text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    plain = re.sub(r"\[.*\]|['\" ]", "", text)
    return tuple(word.rpartition(".")[2] for word in plain.split("|"))


def _held(value: Any, name: str, words: tuple[str, ...]) -> Any:
    """The value, if it is of one of the kinds; numbers of other libraries as Python's own."""
    if value is UNKNOWN:
        return None
    kind = next((word for word in words if _fits(value, word)), None)
    if kind is None:
        listed = [w for w in words if w != "str" or "Path" not in words]
        expected = [WORDS.get(w, w if w == "None" else f"a {w}") for w in listed]
        hint = "use dy.load(...)" if "Robot" in words else None
        raise OptionError(f"{name} is {shown(value)}, expected {' or '.join(expected)}", hint)
    if kind in ("str", "Path") and "Path" in words:
        path_of(value, name)
    plain = kind in PLAIN and not isinstance(value, (bool, int, float))
    return PLAIN[kind](value) if plain else value


def _fits(value: Any, word: str) -> bool:
    match word:
        case "None":
            return value is None
        case "bool":
            return is_flag(value)
        case "int":
            return is_whole(value) and -MOST <= int(value) <= MOST
        case "float":
            return not math.isnan(real(value)) or (isinstance(value, float) and value != value)
        case "str":
            return isinstance(value, str)
        case "Path":
            return isinstance(value, os.PathLike)
        case "Mapping":
            return isinstance(value, Mapping)
        case "Sequence" | "Iterable":
            return is_list(value)
    return any(c.__name__ == word and _ours(c) for c in type(value).__mro__)


def _ours(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]
