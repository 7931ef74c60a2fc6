"""Assignment of Denavit-Hartenberg frames to links, step by step as it is taught.

`model/dh/procedure.py` does it; `telling.py` (frames) and `parameters.py` (table, matrices) say
what it did and why, `drawing.py` draws it, `steps.py` is the result and `render.py` prints it.
"""

from ..lazy import package

package("sympy", "sympy", "writing the DH procedure", "equations")
