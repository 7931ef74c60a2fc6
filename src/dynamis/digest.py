"""Whether code changed: the digest of what a function computes with; classes as they were defined.

A law is traced: its Program says what it computes, and machine code is found by the text of it
(`compile/service.py`). What is never traced (measures, functions as controllers) is known by its
digest.

A function counts by its code and the code within it, its defaults, what it encloses, and the
globals and imports that it names; a class by its bases and attributes; an object by its class and
the state that pickle would keep. A module of the user's counts by its source, that of the modules
it imports, and the values of the attributes that the code names; one that is a value itself (a
field, a default), or is asked by `getattr`, by all its numbers and texts. What is installed counts
by name and version. Places in memory, files and lines have no part in it: it is the same in every
process.
"""

import ast
import copyreg
import dis
import hashlib
import os
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec, resolve_name
from itertools import accumulate
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from .errors import shown
from .lazy import MADE_ONCE
from .user_code import in_environment

PLAIN = (bool, int, float, complex, str, bytes, type(None))
BY_VALUE = (tuple, frozenset, CodeType, MethodType, BuiltinFunctionType)  # shared or not: the same
DESCRIPTORS = (
    GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType,
    ClassMethodDescriptorType,
)  # fmt: skip
# what code names in order to compute with something outside the program, by module
OUTSIDE = {
    "builtins": "open|input|eval|exec|globals|__import__",
    "_io": "open",
    "os": "environb?|getenvb?",
    "sys": "argv|stdin|modules|_getframe",
    "importlib": "import_module",
    "numpy": "load|loadtxt|genfromtxt|fromfile|memmap",
}
READING = "read_.*"  # of any module that is installed
INDIRECT = {"getattr", "vars", "attrgetter", "__dict__"}  # names are not in the code then
READ = {"open", "read_text", "read_bytes"}  # whatever they are attributes of
OF_MODULES = {"__name__", "__file__", "__spec__", "__loader__", "__package__", "__builtins__"}
LATE = {  # attributes that Python itself gives a class when they are first asked for
    "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__",
    "__slotnames__",
}  # fmt: skip
OF_CLASSES = LATE | {  # what says where a class is written, or is said by its functions too
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__firstlineno__",
    "__static_attributes__", "__dataclass_fields__", "__dataclass_params__", "__parameters__",
    "__orig_bases__", "__type_params__", "__abstractmethods__", "_abc_impl",
}  # fmt: skip
GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")

ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
VERSION = "version"  # attribute of a function: it alone says whether the function changed
VERSIONS = (str, int, float)

Parts = list[tuple[str, Any]]  # names for messages, and values


class UnidentifiedError(Exception):
    """Something whose changes would not be seen; the message says what, and where it was met."""


def digest_of(value: Any) -> str:
    """Digest of a value; it raises an UnidentifiedError for what it cannot identify."""
    return _digest(value, "", ())


def _digest(value: Any, trail: str, inside: tuple[int, ...]) -> str:
    """Digest of a value within some sets, given by their ids.

    Every object is described once, by its kind and parts; the parts are numbers of objects that are
    described later, or were before. So nothing recurs, however deep or circular.
    """
    found, kept = hashlib.sha256(), []  # kept: an id is unique while its object is there
    numbers: dict[int, int] = {}
    left: deque[tuple[Any, str]] = deque()

    def add(text: bytes) -> None:
        found.update(b"%d " % len(text) + text)

    def refer(part: Any, name: str) -> None:
        plain = _plain(part)
        if plain is not None:
            add(plain)
            return
        number = None if type(part) in BY_VALUE else numbers.get(id(part))
        if number is None:
            number = len(kept)
            kept.append(part)
            numbers[id(part)] = number
            left.append((part, name))
        add(b"object %d" % number)

    refer(value, trail)
    while left:
        item, trail = left.popleft()
        if type(item) in (set, frozenset):
            kind, parts = _set(item, trail, inside), []
        else:
            kind, parts = _described(item, trail)
        add(kind)
        add(b"%d parts" % len(parts))
        for name, part in parts:
            refer(part, f"{trail}, {name}" if trail and name else trail or name)
    return found.hexdigest()


def _plain(value: Any) -> bytes | None:
    """Numbers and texts, whole."""
    if type(value) is int:
        return b"int %x" % value
    if type(value) in PLAIN:
        return f"{type(value).__name__} {value!r}".encode(errors="surrogatepass")
    if isinstance(value, np.generic):
        return f"number {value.dtype.str} ".encode() + value.tobytes()
    return f"dtype {value.descr!r}".encode() if isinstance(value, np.dtype) else None


def _set(value: Any, trail: str, inside: tuple[int, ...]) -> bytes:
    """The members of a set by their digests: their own order differs from process to process."""
    if id(value) in inside:
        return b"a set around it"
    members = sorted(_digest(x, trail, (*inside, id(value))) for x in value)
    return f"{type(value).__name__} {members}".encode()


def _described(value: Any, trail: str) -> tuple[bytes, Parts]:
    """Kind and parts of an object."""
    kind, name = type(value), _installed_name(value)
    if name is not None:
        _refuse_outside(name, trail)
        return f"{name} {_version(name)}".encode(), []
    if kind is np.ndarray:
        head = f"array {value.dtype.descr!r} {value.shape}".encode()
        if value.dtype.hasobject:
            return head, [("", value.tolist())]
        return head + np.ascontiguousarray(value).tobytes(), []
    if kind in (tuple, list):
        return kind.__name__.encode(), [("", x) for x in value]
    if kind in (dict, MappingProxyType):
        return b"dict", [(f"[{k!r:.40}]", x) for k, v in value.items() for x in (k, v)]
    if kind is CodeType:
        return _code(value)
    if kind is FunctionType:
        return b"function " + value.__name__.encode(), _function(value, trail)
    if kind is Source:
        return _source_of(value.module)
    if isinstance(value, ModuleType):
        return b"module", [("", Source.of(value)), *_numbers_and_texts(value)]
    if isinstance(value, type):
        return f"class {value.__name__}".encode(), _class(value)
    if kind is MethodType:
        return b"method", [("", value.__func__), ("its object", value.__self__)]
    if kind is BuiltinFunctionType:
        return f"builtin {value.__name__}".encode(), [("its object", value.__self__)]
    if isinstance(value, DESCRIPTORS):
        return f"{value.__qualname__}".encode(), []
    return _object(value, trail)


# what is installed


def _installed(module: str) -> bool:
    """Whether a module is not the user's: of Python, of this package or installed beside it."""
    found = sys.modules.get(module)
    if found is None or module == "__main__":
        return False
    places = getattr(found, "__file__", None), *getattr(found, "__path__", ())
    file = next(filter(None, places), None)
    return module in sys.builtin_module_names if file is None else in_environment(file)


def _installed_name(value: Any) -> str | None:
    """`numpy.sum` of a function, class or module that what is installed has under a name."""
    if isinstance(value, ModuleType):
        return value.__name__ if _installed(value.__name__) else None
    if value is os.environ:
        return "os.environ"
    if isinstance(value, type) and value in _defined and not _unchanged(value):
        return None
    module, name = (getattr(value, x, None) for x in ("__module__", "__qualname__"))
    if not (isinstance(module, str) and isinstance(name, str)) or not _installed(module):
        return None
    return f"{module}.{name}" if _held(module, name) is value else None


def _held(module: str, name: str) -> Any:
    """Value that a module has under a name, which may have dots."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _version(name: str) -> str:
    """Version of the package that a name begins with; what is Python's own has Python's."""
    package = sys.modules.get(name.partition(".")[0])
    return str(getattr(package, "__version__", sys.version_info[:3]))


def _refuse_outside(name: str, trail: str) -> None:
    """Refuse what reads a file, or something else that is not in the program."""
    module, _, last = name.rpartition(".")
    if re.fullmatch(f"{OUTSIDE.get(module, READING)}|{READING}", last):
        raise UnidentifiedError(f"{f'{trail} uses' if trail else 'it uses'} {name}")


# classes of this package: its files decide what they compute, unless somebody changed them since

Definition = tuple[dict[str, Any], list[tuple[Any, ...]]]  # attributes; functions and their code
_defined: dict[type, Definition] = {}


def keep_definitions(*kinds: type) -> None:
    """Note how classes of this package, and their bases, are defined; where they are, at once."""
    for base in {base for kind in kinds for base in kind.__mro__}:
        _defined.setdefault(base, _definition(base))


def as_defined(value: Any) -> bool:
    """Whether an object is of a class of this package, all as it was defined, and has only fields.

    Only then do its class and its fields decide what it computes. Classes of the user's, also those
    of the same name, and classes or objects that were given other functions are not.
    """
    return vars(value).keys() <= _field_names(type(value)) and all(
        kind in _defined and _unchanged(kind) for kind in type(value).__mro__
    )


@cache
def _field_names(kind: type) -> frozenset[str]:
    return frozenset(x.name for x in fields(kind)) if is_dataclass(kind) else frozenset()


def _unchanged(kind: type) -> bool:
    attributes, functions = _defined[kind]
    same = vars(kind) == attributes or _attributes_of(kind) == attributes
    return same and all(
        f.__code__ is code and f.__defaults__ is defaults and f.__kwdefaults__ == more
        for f, code, defaults, more in functions
    )


def _definition(kind: type) -> Definition:
    functions = []
    for value in vars(kind).values():
        function = getattr(value, "fget", None) or getattr(value, "__func__", value)
        while isinstance(function, FunctionType):  # and those it is wrapped around
            state = function.__code__, function.__defaults__, copy(function.__kwdefaults__)
            functions.append((function, *state))
            function = getattr(function, "__wrapped__", None)
    return _attributes_of(kind), functions


def _attributes_of(kind: type) -> dict[str, Any]:
    return {name: x for name, x in vars(kind).items() if name not in LATE}


# functions and modules


def _code(code: CodeType) -> tuple[bytes, Parts]:
    """Instructions, constants and names, without lines and files."""
    shape = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    parts = (code.co_code, code.co_exceptiontable, code.co_consts, *shape, *names)
    return b"code", [("", x) for x in parts]


def _function(value: FunctionType, trail: str) -> Parts:
    """Code, defaults, what a function encloses, its attributes, and the globals it names."""
    version = vars(value).get(VERSION)
    if isinstance(version, VERSIONS):
        return [("", version)]
    code = value.__code__
    indirect = any(INDIRECT.intersection(x.co_names) for x in _nested(code))
    seen = (lambda x: x) if indirect else _by_source
    parts: Parts = [("", code), ("a default", value.__defaults__), ("", value.__kwdefaults__)]
    for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
        try:
            parts.append((name, seen(cell.cell_contents)))
        except ValueError:  # not bound yet
            parts.append((name, "unbound"))
    named = {f".{name}": x for name, x in vars(value).items()}
    if not _installed(value.__globals__.get("__name__", "")):
        named |= _used(value, trail)
    return parts + [x for k in sorted(named) for x in (("", k), (k, seen(named[k])))]


def _used(function: FunctionType, trail: str) -> dict[str, Any]:
    """Globals and modules that the code of a function names, and attributes of these modules."""
    held, every = function.__globals__, list(_nested(function.__code__))
    names = {name for code in every for name in code.co_names} - OF_MODULES
    for name in sorted(names & READ):
        _refuse_outside("builtins.open", f"{trail}, {name}," if trail else name)
    wanted = [x for code in every for x in _loaded(code)]  # global names, and attributes of them
    used = {name: held[name] for name, _ in wanted if name in held and name not in OF_MODULES}
    used |= _enclosed_modules(function)
    for name, attribute in wanted:
        found = used.get(name)
        if isinstance(found, ModuleType):
            _refuse_outside(f"{found.__name__}.{attribute}", trail)
        elif name not in held:
            _refuse_outside(f"builtins.{name}", trail)
    for module in (x for code in every for x in _imported(code, held)):
        used[f"import {module.__name__}"] = module
        for name in names if _installed(module.__name__) else ():
            _refuse_outside(f"{module.__name__}.{name}", trail)
    return used | _attributes(used, names)


def _enclosed_modules(function: FunctionType) -> dict[str, ModuleType]:
    """Modules that the function around it has imported."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # not bound yet
            if isinstance(cell.cell_contents, ModuleType):
                found[name] = cell.cell_contents
    return found


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Code and the code within it: inner functions, lambdas, generators, classes."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _loaded(code: CodeType) -> Iterator[tuple[str, str]]:
    """Global names that code loads, each with the attribute it takes of it, or ""."""
    steps = list(dis.get_instructions(code))
    attributes = [x.argval if x.opname in ATTRIBUTE else "" for x in steps[1:]]
    for step, attribute in zip(steps, [*attributes, ""], strict=True):
        if step.opname in GLOBAL:
            yield step.argval, attribute


def _attributes(used: dict[str, Any], names: set[str]) -> dict[str, Any]:
    """Values of the attributes of the user's modules that code names, by dotted name."""
    found: dict[str, Any] = {}
    modules = [(k, x) for k, x in sorted(used.items()) if isinstance(x, ModuleType)]
    known = {id(module) for _, module in modules}
    for place, module in modules:  # which grows by modules of modules
        if _installed(module.__name__):
            continue
        for name in sorted(names & vars(module).keys()):
            value = found[f"{place}.{name}"] = vars(module)[name]
            if isinstance(value, ModuleType) and id(value) not in known:
                known.add(id(value))
                modules.append((f"{place}.{name}", value))
    return found


def _imported(code: CodeType, held: Mapping[str, Any]) -> Iterator[ModuleType]:
    """Modules that code imports when it runs."""
    steps = list(dis.get_instructions(code))
    for k, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, listed = steps[k - 2].argval, steps[k - 1].argval
            yield from _modules(held.get("__package__"), level, step.argval, listed or ())


def _modules(
    package: str | None, level: int, name: str, listed: Iterable[str]
) -> Iterator[ModuleType]:
    """Modules of an import: the one named, what it lies in, and those listed of it."""
    full = resolve_name("." * level + name, package) if level else name
    if full not in sys.modules and not _found_installed(full.partition(".")[0]):
        with suppress(Exception):  # what the function imports when it runs, or fails to
            import_module(full)
    within = accumulate(full.split("."), "{}.{}".format)
    for place in (*within, *(f"{full}.{x}" for x in listed)):
        if isinstance(sys.modules.get(place), ModuleType):
            yield sys.modules[place]


def _found_installed(package: str) -> bool:
    """Whether a package that is not imported yet would not be the user's."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return True
    return spec is None or spec.origin is None or in_environment(spec.origin)


class Source:
    """A module whose source counts: what code takes of it stands beside it."""

    def __init__(self, module: ModuleType):
        self.module = module

    @staticmethod
    @cache
    def of(module: ModuleType) -> "Source":
        """The one of a module."""
        return Source(module)


def _by_source(value: Any) -> Any:
    mine = isinstance(value, ModuleType) and not _installed(value.__name__)
    return Source.of(value) if mine else value


def _numbers_and_texts(module: ModuleType) -> Parts:
    """Those that a module has now, by name."""
    kinds = (*PLAIN, np.generic, np.ndarray, tuple, list, dict)
    named = {k: x for k, x in vars(module).items() if not k.startswith("__")}
    own = {k: x for k, x in named.items() if isinstance(x, kinds)}
    return [x for k in sorted(own) for x in (("", k), (f".{k}", own[k]))]


def _source_of(value: ModuleType) -> tuple[bytes, Parts]:
    """Source of a module of the user's, and the user's modules that it imports."""
    try:
        data = Path(value.__file__ or "").read_bytes()
    except (AttributeError, OSError):  # of a notebook
        return b"module", []
    try:
        tree = ast.parse(data)
        text = ast.dump(tree).encode()  # without comments
    except (SyntaxError, ValueError, RecursionError):  # an extension
        return b"module " + data, []
    found: dict[str, ModuleType] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for place, level, listed in _import_names(node):
                for x in _modules(value.__package__, level, place, listed):
                    found[x.__name__] = x
    mine = [found[k] for k in sorted(found) if not _installed(k)]
    return b"module " + text, [(x.__name__, Source.of(x)) for x in mine]


def _import_names(
    node: ast.Import | ast.ImportFrom,
) -> Iterator[tuple[str, int, list[str]]]:
    """Name, level and list of every import of a statement."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        yield node.module or "", node.level, names
    else:
        yield from ((name, 0, []) for name in names)


# classes and objects


def _class(value: type) -> Parts:
    """Bases and attributes of a class."""
    own = {k: x for k, x in vars(value).items() if k not in OF_CLASSES}
    parts: Parts = [("", type(value)), ("a base", value.__bases__)]
    return parts + [x for k in sorted(own) for x in (("", k), (f".{k}", own[k]))]


def _object(value: Any, trail: str) -> tuple[bytes, Parts]:
    """Function that an object wraps, or its class and state as pickle would keep them."""
    kind = type(value)
    head = kind.__name__.encode()
    if kind is property:
        return head, [("", x) for x in (value.fget, value.fset, value.fdel)]
    if isinstance(value, cached_property):
        return head, [("", value.func)]
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is not None and _installed(kind.__module__):  # staticmethod, lru_cache, jit
        return head, [("", kind), ("", wrapped)]
    found: Any = ""
    try:
        if hasattr(kind, "__dlpack__") and not isinstance(value, np.ndarray):
            return head, [("", np.asarray(value))]
        reduce = copyreg.dispatch_table.get(kind)
        found = value.__reduce_ex__(4) if reduce is None else reduce(value)
    except Exception:  # what refuses to be pickled does so in many ways
        pass
    if isinstance(found, str):
        return found.encode(), [("", kind), *_holder(value, found, trail)]
    function, given, state, items, pairs = (*found, None, None, None)[:5]
    rows = [[*(x or ())] for x in (items, pairs)]
    made: Parts = [("", x) for x in (kind, function, given, *rows)]
    return head, made + _state(state, kind)


def _holder(value: Any, name: str, trail: str) -> Parts:
    """The user's module that holds a value under a name; nothing if what is installed does."""
    modules = [
        k for k, x in [*sys.modules.items()] if getattr(x, "__dict__", {}).get(name) is value
    ]
    if not name or not modules:
        raise UnidentifiedError(f"{trail or 'it'} is {shown(value)}")
    return [] if any(map(_installed, modules)) else [("", sys.modules[min(modules)])]


def _state(state: Any, kind: type) -> Parts:
    """Attributes of an object, without those that are kept results."""
    if isinstance(state, tuple) and len(state) == 2:  # attributes, and slots
        return [*_state(state[0], kind), *_state(state[1], kind)]
    if type(state) is not dict or not all(isinstance(k, str) for k in state):
        return [("", state)]
    kept = (k for k in state if isinstance(getattr(kind, k, None), cached_property))
    names = sorted(state.keys() - {MADE_ONCE, *kept})
    return [x for k in names for x in (("", k), (f".{k}", state[k]))]
