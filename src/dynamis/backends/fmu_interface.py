"""The C of the Functional Mock-up Interface around a model: FMI 3.0 and 2.0, co-simulation.

What stands before it must define VALUES, STATES, FIXED, SETTABLE, INTEGER, TOKEN and

    model_reset(m), model_begin(m), model_step(m, t, length) -> NULL or what went wrong

which is called with finite numbers, length >= 0, t not before m->r[0].

A value reference is an index into m->r: 0 is time, then FIXED parameters, inputs up to SETTABLE,
outputs; INTEGER is the one that is an integer, 0 if there is none. Types are declared here: no
header of the standard is needed. Whoever calls with NULL or with a wrong reference gets an error,
not a crash.
"""

from .fmu_absent import ABSENT2, ABSENT3
from .fmu_functions import CREATE, FMI2, FMI3, HEAD, MAKE
from .fmu_model import EXPORT, SHARED


def interface(fmi: str) -> str:
    """All functions of the standard, around `model_step`."""
    prefix = f"fmi{fmi[0]}"
    done, absent = (FMI3, ABSENT3) if fmi == "3.0" else (FMI2, ABSENT2)
    parts = [HEAD[fmi], SHARED, EXPORT, MAKE[fmi]]
    for name, (body, arguments) in CREATE[fmi].items():
        parts.append(_function("void *", name, arguments, body))
    parts.append(_function("void ", f"{prefix}FreeInstance", "unit *u", "unit_free(u);"))
    for name, (body, arguments) in done.items():
        checked = f"if (u == NULL) return ERROR;\n    {body}"
        parts.append(_function("int ", f"{prefix}{name}", arguments or "unit *u", checked))
    for name, types in absent.items():
        listed = ["unit *u", *(t for t in types.split(", ") if t)]
        named = [t if k == 0 else f"{t} a{k}".replace("* a", "*a") for k, t in enumerate(listed)]
        parts.append(_function("int ", f"{prefix}{name}", ", ".join(named), "return ERROR;"))
    return "\n".join(parts)


def _function(result: str, name: str, arguments: str, body: str) -> str:
    """A function that says which of its arguments it does not use."""
    names = [_name(a) for a in arguments.split(", ")]
    words = set(body.replace("(", " ").replace(")", " ").replace("*", " ").replace("-", " ")
                .replace(";", " ").replace(",", " ").split())  # fmt: skip
    unused = "".join(f"    (void){n};\n" for n in names if n not in words)
    head = f"EXPORT {result}{name}({arguments})"
    lines = body.replace("; return", ";\n    return")
    return f"{head};\n{head}\n{{\n{_ordered(unused, lines)}}}\n"


def _ordered(unused: str, body: str) -> str:
    """Declarations first, as C of any age wants them."""
    first, _, rest = body.partition("\n")
    if first.startswith("unit *u ="):
        return f"    {first}\n{unused}{rest}\n"
    return f"{unused}    {body}\n"


def _name(argument: str) -> str:
    if "(*" in argument:
        return argument.partition("(*")[2].partition(")")[0]
    return argument.replace("*", " ").split()[-1]
