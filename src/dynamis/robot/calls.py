"""Calls of one robot: its kernels, compiled once, arrays in and out; names other libraries use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, update_wrapper
from inspect import Parameter, signature
from types import MethodType
from typing import Any, TypeVar

import numpy as np

from ..arguments import known_options, strict
from ..compile import arrays
from ..compile.kernels import KERNELS, Kernel, input_shape, shape_of
from ..compile.libraries import evaluate_elsewhere, like, origins
from ..compile.service import Code, compiling
from ..errors import OptionError, SingularError, did_you_mean
from ..lazy import LOCK, cached_property, once
from ..model.chain import Chain, chain
from ..model.model import Model
from .closing import drive_hint, refuse_open

F = TypeVar("F", bound=Callable[..., Any])


def fast(method: F) -> F:
    """A method of Robot that is bound as a C callable; of the same type, for a type checker."""
    return FastMethod(method)  # type: ignore[return-value]


class FastMethod:
    """A method that is bound as a C callable.

    A call it has no code for goes to the Python method, which compiles and installs the code; from
    then on arrays and lists go straight to it. What is wrong or rare goes to the method too.
    """

    def __init__(self, method: Callable[..., Any]):
        code: Any = method.__code__  # type: ignore[attr-defined]
        self.parameters = code.co_varnames[1 : code.co_argcount]
        self.defaults = method.__defaults__ or ()  # type: ignore[attr-defined]
        self.method = strict(with_call_options(method))
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, robot: Any, owner: type | None = None) -> Any:
        if robot is None:
            return self.method
        bound = MethodType(self.method, robot)
        if arrays.Fast is None:
            return bound
        callable_ = arrays.Fast(bound, self.parameters, self.defaults)
        update_wrapper(callable_, bound, updated=())  # the signature is that of the bound method
        robot.__dict__[self.name] = robot._calls.bound[self.name] = callable_
        return callable_


def with_keywords(known: Mapping[str, Any]) -> Callable[[F], F]:
    """A method, with the names that its last parameter ** takes in the signature `help` shows."""

    def shown_with(method: F) -> F:
        own = signature(method)
        *parameters, _ = own.parameters.values()
        by_name = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default)
            for name, default in known.items()
            if name not in own.parameters
        ]
        method.__dict__["__signature__"] = own.replace(parameters=(*parameters, *by_name))
        return method

    return shown_with


with_call_options = with_keywords(arrays.CALL_OPTIONS)


class Calls:
    """A model and its compiled kernels."""

    def __init__(self, model: Model):
        self.model = model
        self.bound: dict[str, Any] = {}  # C callables of the methods that have been looked up
        self._codes: dict[tuple[str, str, bool], Code] = {}
        self._functions: dict[tuple, Any] = {}

    @cached_property
    def chain(self) -> Chain:
        """The canonical chain over floats; raises if a symbol has no value."""
        return chain(self.model)

    def __call__(
        self,
        name: str,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any],
        words: Mapping[str, Any] | None = None,
        **chosen: Any,
    ) -> Any:
        """Evaluate a kernel by compiled code; one array, or a tuple if it has several results.

        Further arguments of the kernel may be None: not given. `words` are the method's parameters
        that decided the options `chosen` for the algorithm.
        """
        kernel, given = _row(name, arguments, chosen)
        if arrays.foreign(given.values()) and origins(given.values()):
            return self.elsewhere(kernel, given, options)
        if kernel.by_columns(self.model):
            result = self.by_columns(kernel, given, options)
            if self._refuses and not all(np.isfinite(x).all() for x in _each(result)):
                refuse_open(self, given, options.get("dtype"), _each(result))
            return result
        method = self.bound.get(kernel.method or kernel.name)
        careful = self._refuses or (kernel.solves and not self.model.closures)  # of NaN
        result = self._evaluate(kernel, given, options, method, words, careful)
        if careful and not all(np.isfinite(x).all() for x in _each(result)):
            if self._refuses:
                refuse_open(self, given, options.get("dtype"), _each(result))
            if kernel.solves:
                self.refuse_singular(given["q"])
        return result

    @property
    def _refuses(self) -> bool:
        """Whether samples of a closed mechanism that cannot be computed are errors."""
        return bool(self.model.closures) and not self.model.closure_nan

    def interpreted(
        self,
        name: str,
        arguments: Mapping[str, Any],
        options: Mapping[str, Any] | None = None,
        **chosen: Any,
    ) -> Any:
        """Evaluate a kernel's algorithm over NumPy arrays: formulations that are not compiled."""
        kernel, given = _row(name, arguments, chosen)
        known_options(options or {}, arrays.CALL_OPTIONS)
        return self._over_arrays(kernel, self.arrays(given), tuple(given), options or {})

    def code(self, kernel: Kernel, dtype: str, parameters: bool = False) -> Code:
        """Compiled code of a kernel, made once."""
        key = kernel.key, dtype, parameters
        code = self._codes.get(key)
        if code is None:
            with LOCK:  # a fork waits for imports
                from ..compile.function import kernel_function

            code = kernel_function(kernel, self.model, parameters).code(dtype)
            self._codes[key] = code
        return code

    def function(self, kernel: Kernel, parameters: bool) -> Callable[..., Any]:
        """A kernel as a function of arrays; with `parameters`, their vector comes last."""
        names = (*kernel.inputs, "parameters") if parameters else kernel.inputs

        def evaluated(given: Mapping[str, Any], options: Mapping[str, Any], callable_: Any) -> Any:
            if arrays.foreign(given.values()) and origins(given.values()):
                return self.elsewhere(kernel, given, options)
            if kernel.by_columns(self.model) and not parameters:
                return self.by_columns(kernel, given, options)
            return self._evaluate(kernel, given, options, callable_)

        return arrays.function(f"kernel {kernel.name!r}", names, evaluated)

    @property
    def _what(self) -> str:
        return f"robot {self.model.name!r} with joints {', '.join(self.model.joint_names)}"

    def arrays(self, arguments: Mapping[str, Any]) -> list[np.ndarray]:
        """Checked arguments as float64 arrays."""
        hint = partial(drive_hint, self)
        return [
            arrays.as_batch(value, name, input_shape(name, self.model), self._what, hint)
            for name, value in arguments.items()
        ]

    def refuse_singular(self, q: Any) -> None:
        """Name the joint and the sample that make the mass matrix singular, if any does."""
        pivots = self.interpreted("pivots", {"q": q})
        finite = np.isfinite(np.asarray(q, dtype=float)).all(axis=-1)
        bad = np.isnan(pivots) & np.asarray(finite)[..., None]
        if not bad.any():
            return
        *sample, _ = (int(i[0]) for i in np.nonzero(bad))
        joint = int(np.flatnonzero(bad[tuple(sample)])[-1])
        if self.chain.mobility is not None:
            joint = self.chain.mobility.independent[joint]
        where = f" (sample {tuple(sample)})" if sample else ""
        raise SingularError(
            f"robot {self.model.name!r} has a singular mass matrix at joint "
            f"{self.model.joint_names[joint]!r} (joint {joint + 1}){where}: it "
            "moves no inertia",
            "give the links it moves an inertia about its axis, or the joint a rotor inertia",
        )

    def refuse_immovable(self, q: Any) -> None:
        """Raise where a motion cannot begin at one q: M or the loops are singular."""
        if not self.model.closures:
            return self.refuse_singular(q)
        rest = {"q": q, "qd": np.zeros(self.model.n), "tau": np.zeros(self.model.n)}
        if not np.isfinite(self.interpreted("forward_dynamics", rest)).all():
            self("forward_dynamics", rest, {})  # which says what is wrong

    def by_columns(
        self, kernel: Kernel, arguments: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Any:
        """The matrix a kernel would give, one column per seed."""
        rest = {key: value for key, value in options.items() if key != "out"}
        checked = zip(arguments, self.arrays(arguments), strict=True)
        expanded = {name: array[..., None, :] for name, array in checked}
        column = kernel.column
        assert column is not None
        seed = "seed" if "seed" in column.inputs else "parameters"
        (size,) = input_shape(seed, self.model)
        got = self._evaluate(column, {**expanded, seed: np.eye(size)}, rest)
        if seed == "parameters" and self.model.own_laws:  # may give what none multiplies
            got = got - self._evaluate(column, {**expanded, seed: np.zeros(size)}, rest)
        turned = [np.swapaxes(r, -1, -2) for r in (got if isinstance(got, tuple) else (got,))]
        return arrays.stored(turned, options)

    def elsewhere(
        self, kernel: Kernel, given: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Any:
        """A kernel over arrays of another library, computed where they lie.

        Where a sample cannot be computed (a singular mass matrix) it is NaN: nothing is waited for.
        """
        with LOCK:
            from ..compile.function import kernel_function

        def evaluated(row: Kernel, values: Mapping[str, Any], rest: Mapping[str, Any]) -> Any:
            key = "elsewhere", row.key, "parameters" in values
            made = self._functions.get(key)
            if made is None:
                made = kernel_function(row, self.model, "parameters" in values)
                self._functions[key] = made
            return evaluate_elsewhere(made, values, rest, self._what)

        column = kernel.by_columns(self.model)
        if column is None:
            return evaluated(kernel, given, options)
        if options.get("out") is not None:
            raise OptionError(
                f"{kernel.name} of {self.model.n} joints is computed column by column, which out "
                "does not take on other arrays than NumPy's"
            )
        seed = "seed" if "seed" in column.inputs else "parameters"
        (size,) = input_shape(seed, self.model)
        first = next(value for value in given.values() if origins([value]))
        expanded = {name: like(first, value)[..., None, :] for name, value in given.items()}
        got = evaluated(column, {**expanded, seed: like(first, np.eye(size))}, options)
        if seed == "parameters" and self.model.own_laws:
            nothing = like(first, np.zeros(size))
            got = got - evaluated(column, {**expanded, seed: nothing}, options)
        if isinstance(got, tuple):
            return tuple(r.swapaxes(-1, -2) for r in got)
        return got.swapaxes(-1, -2)

    def _evaluate(
        self,
        kernel: Kernel,
        given: Mapping[str, Any],
        options: Mapping[str, Any],
        callable_: Any = None,
        words: Mapping[str, Any] | None = None,
        refuse_nan: bool = False,
    ) -> Any:
        """A kernel over checked arguments; its code is given to the C callable, if there is one."""
        known_options(options, arrays.CALL_OPTIONS)
        checked = self.arrays(given)
        out, threads, kind = arrays.checked_options(options)
        if not compiling():
            return self._over_arrays(kernel, checked, tuple(given), options)
        code = self.code(kernel, kind.name, "parameters" in given)
        if callable_ is not None:
            arrays.install(callable_, code, words, refuse_nan)
        return arrays.run(code, checked, tuple(given), out, threads)

    def _over_arrays(
        self,
        kernel: Kernel,
        checked: Sequence[np.ndarray],
        names: tuple[str, ...],
        options: Mapping[str, Any],
    ) -> Any:
        """A kernel without machine code: the algorithm over arrays, or its program interpreted."""
        plain = not kernel.differentiate and len(kernel.outputs) == 1
        if plain and "parameters" not in names:
            (shape,) = kernel.outputs.values()
            function = kernel.function()

            def call(*scalars: Any) -> Any:
                *values, fn = scalars
                return function(self.chain, *values, fn=fn)

            dims = [len(input_shape(name, self.model)) for name in names]
            output = shape_of(shape, self.model)
            return arrays.evaluate(call, checked, dims, output, names, **options)
        from ..compile.interpreter import interpret
        from ..compile.programs import program

        given = "parameters" in names
        made = partial(program, kernel, self.model, given)
        found = once(self, ("program", kernel.key, given), made)
        return arrays.stored(interpret(found, checked), options)


def _each(result: Any) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def _row(
    name: str, arguments: Mapping[str, Any], chosen: Mapping[str, Any]
) -> tuple[Kernel, dict[str, Any]]:
    """The row for the arguments that are given, and these."""
    row = KERNELS[name]
    given = {k: v for k, v in arguments.items() if v is not None or k in row.inputs}
    kernel = row.taking(*(k for k in given if k not in row.inputs))
    return (replace(kernel, options=chosen) if chosen else kernel), given


# what other libraries call our methods, for the reader of their code

TOOLBOX = {
    "rne": "inverse_dynamics",
    "accel": "forward_dynamics",
    "inertia": "mass_matrix",
    "coriolis": "coriolis_matrix",
    "gravload": "gravity_torque",
    "friction": "friction_torque",
    "fkine": "fk",
    "fkine_all": "frames",
    "jacob0": "jacobian",
    "jacobe": "jacobian(q, frame='tool')",
    "ikine": "ik",
    "ikine_LM": "ik",
    "fdyn": "dy.simulate(robot, ...)",
}
OTHERS = {
    "rnea": "inverse_dynamics",
    "aba": "forward_dynamics",
    "crba": "mass_matrix",
    "forward_kinematics": "fk",
    "inverse_kinematics": "ik",
    "M": "mass_matrix",
    "C": "coriolis_matrix",
    "G": "gravity_torque",
    "g": "gravity_torque",
    "simulate": "dy.simulate(robot, ...)",
    "identify": "dy.identify(robot, log)",
    "excite": "dy.excite(robot)",
}


def no_attribute(name: str, known: list[str]) -> AttributeError:
    """What to say of a name that a Robot does not have."""
    ours = (TOOLBOX | OTHERS).get(name)
    course = f" (from dynamis.rtb import {name} for course code)" if name in TOOLBOX else ""
    close = did_you_mean(name, known)
    hint = close if close.startswith("did") else "see help(dy.Robot)"
    found = hint if ours is None else f"dynamis calls it {ours}{course}"
    return AttributeError(f"Robot has no {name!r}; {found}")
