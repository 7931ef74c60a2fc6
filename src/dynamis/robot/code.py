"""Text and code from a Robot: operation counts, kernels with parameters, CasADi, C."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..arguments import checked, choice, is_word, known_options
from ..compile import arrays as door
from ..compile.columns import by_columns, column_kernel, goes_by_columns
from ..compile.kernels import FORWARD_METHODS, INVERSE_METHODS, OPTIMISE, Kernel, kernel_named
from ..errors import OptionError, did_you_mean, shown
from .calls import CALL_OPTIONS, run
from .dynamics import DynamicMethods

if TYPE_CHECKING:
    import casadi

    from ..compile.program import Cost, Program
    from ..equations.equations import Equations

PARAMETERS = ("inline", "argument")


class CodeMethods(DynamicMethods):
    """What is compiled, as counts, functions and files."""

    def program(
        self,
        name: str,
        method: str | None = None,
        parameters: str = "inline",
        optimise: str = "speed",
    ) -> "Program":
        """The straight-line program of a kernel.

        `optimise`: "speed" is what is compiled; "operations" counts sines and cosines as free and
        adds up the angles of parallel axes; "nothing" traces the model as it stands.
        """
        from ..compile.programs import program

        return program(_chosen(name, method, optimise), self.model, _argument(parameters))

    def cost(self, name: str, method: str | None = None, optimise: str = "speed") -> "Cost":
        """Operations of a kernel: .mul .add .div .trig, and .saved by each step of optimisation.

        Of a matrix that a long robot gets column by column: of one column.
        """
        from ..compile.programs import cost, program

        kernel = _chosen(name, method, optimise)
        if not goes_by_columns(name, self.n):
            return cost(kernel, self.model)
        column, argument = column_kernel(name)
        return program(_chosen(column, None, optimise), self.model, argument).cost

    def kernel(
        self, name: str, parameters: str = "inline", method: str | None = None
    ) -> Callable[..., Any]:
        """A kernel as a function; with parameters="argument" the parameter vector comes last.

        The vector may be one, or one per sample: kernel(q, qd, qdd, values).
        """
        kernel, argument = _chosen(name, method), _argument(parameters)
        names = (*kernel.inputs, "parameters") if argument else kernel.inputs

        def call(*arguments: Any, **options: Any) -> Any:
            if len(arguments) != len(names):
                raise OptionError(
                    f"kernel {name!r} got {len(arguments)} arguments, expected "
                    f"{len(names)}: {', '.join(names)}"
                )
            known_options(options, CALL_OPTIONS)
            given = dict(zip(names, arguments, strict=True))
            if goes_by_columns(name, self.n) and not argument:
                return by_columns(self, name, given, options)
            arrays = self._arrays(given)
            kind = door.checked_dtype(options.get("dtype"))
            door.checked_threads(options.get("threads"))
            code = self._code(kernel, kind.name, argument)
            return run(code, arrays, names, options.get("out"), options.get("threads"))

        call.__name__ = call.__qualname__ = name
        call.__doc__ = f"{name}({', '.join(names)}) of robot {self.model.name!r}."
        return call

    def equations(self, method: str = "lagrange-euler", gravity: str | None = None) -> "Equations":
        """The equations of motion in closed form: .M .C .g .tau (SymPy), .steps, .latex().

        `method` is "lagrange-euler", "newton-euler" or "gibbs-appell"; `gravity` names a symbol
        that stands for the size of gravity.
        """
        from ..equations.equations import equations

        return equations(self.model, method, gravity)

    def casadi(
        self, name: str, method: str | None = None, parameters: str = "inline"
    ) -> "casadi.Function":
        """A kernel as a CasADi Function of column vectors, for optimal control and estimation."""
        from ..export.casadi_folder import casadi_function

        return casadi_function(_chosen(name, method), self.model, _argument(parameters))

    @checked
    def export(
        self,
        names: str | Sequence[str],
        target: str = "c",
        directory: str | Path = "out",
        dtype: Any = None,
        optimise: str = "speed",
        overwrite: bool = False,
    ) -> list[Path]:
        """Write kernels as source code into a folder that compiles and tests itself.

        `optimise` as for `program`. Files that dynamis did not write are replaced only with
        `overwrite`; else nothing is written.
        """
        from ..export.export import export

        if not isinstance(names, (str, list, tuple)):
            raise OptionError(f"names is {shown(names)}, expected the name of a kernel, or several")
        wanted = [names] if isinstance(names, str) else list(names)
        kind = door.checked_dtype(dtype).name
        folder, way = Path(directory), _way(optimise)
        return export(self, wanted, target, folder, kind, way, overwrite)


def _way(optimise: str) -> str:
    return choice(optimise, "optimise", OPTIMISE)


def _chosen(name: str, method: str | None, optimise: str = "speed") -> Kernel:
    kernel = kernel_named(name)
    if _way(optimise) != kernel.optimise:
        kernel = replace(kernel, optimise=optimise)
    if method is None:
        return kernel
    known = {"inverse_dynamics": INVERSE_METHODS, "forward_dynamics": FORWARD_METHODS}
    methods = known.get(name.split(":", maxsplit=1)[0], ())
    if not is_word(method, methods):
        raise OptionError(
            f"kernel {name!r} has no method {shown(method)}", did_you_mean(method, methods)
        )
    return replace(kernel, options={"method": method})


def _argument(parameters: str) -> bool:
    return choice(parameters, "parameters", PARAMETERS) == "argument"
