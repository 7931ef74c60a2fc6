"""From a function to machine code: trace, kernels, the compile service, arrays, LLVM.

Called, as `dy.compile(function, robot)`, it compiles a function of one's own.
"""

from ..lazy import callable_package

callable_package(__name__, "arm", "compile_function")
