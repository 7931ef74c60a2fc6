"""What a co-simulation unit says about itself: modelDescription.xml of FMI 3.0 and 2.0."""

from xml.sax.saxutils import escape, quoteattr

from .. import templates
from .fmu_unit import Unit, Variable

BASE = {
    "s": {"s": 1}, "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "rad/s2": {"rad": 1, "s": -2},
    "m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "m/s2": {"m": 1, "s": -2},
    "N": {"kg": 1, "m": 1, "s": -2}, "N.m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip


def plain(text: str) -> str:
    """`text` on one line, of characters that XML may hold."""
    return "".join(c if c.isprintable() else "?" for c in text)


def description(unit: Unit, fmi: str, token: str) -> str:
    """modelDescription.xml."""
    from .. import __version__

    used = {v.unit for v in unit.variables if v.unit}
    units = [
        f"    <Unit name={quoteattr(name)}><BaseUnit {_attributes(powers)}/></Unit>"
        for name, powers in BASE.items() if name in used
    ]  # fmt: skip
    variables, structure = (_fmi3 if fmi == "3.0" else _fmi2)(unit)
    notes = (line for line in unit.origin.notes if line)
    return templates.filled(
        __package__,
        "modelDescription.xml",
        FMI=fmi,
        FMI3=fmi == "3.0",
        VERSION=__version__,
        TOKEN=token,
        STEM=unit.stem,
        NAME=quoteattr(plain(unit.name)),
        ABOUT=quoteattr(plain(unit.about)),
        STEP=repr(unit.step),
        UNITS="\n".join(units),
        VARIABLES="\n".join(variables),
        STRUCTURE="\n".join(structure),
        MODEL=unit.origin.model,
        PROGRAM=unit.origin.program,
        NOTES="\n".join(f"      <Note>{escape(plain(line))}</Note>" for line in notes),
    )


def build_description(unit: Unit) -> str:
    """sources/buildDescription.xml of FMI 3.0."""
    return templates.filled(__package__, "buildDescription.xml", STEM=unit.stem)


def _attributes(powers: dict[str, int]) -> str:
    return " ".join(f'{k}="{v}"' for k, v in powers.items())


def _common(v: Variable) -> str:
    words = {
        "name": v.name, "valueReference": str(v.reference), "causality": v.causality,
        "variability": v.variability, "description": plain(v.about),
    }  # fmt: skip
    return " ".join(f"{k}={quoteattr(x)}" for k, x in words.items())


def _typed(v: Variable) -> str:
    """Start and unit."""
    start = "" if v.start is None else str(int(v.start)) if v.integer else repr(v.start)
    words = {"start": start, "unit": v.unit}
    return "".join(f" {k}={quoteattr(x)}" for k, x in words.items() if x)


def _initial(v: Variable) -> str:
    if v.causality == "parameter":
        return ' initial="exact"'
    if v.causality == "output":
        return f' initial="{"calculated" if v.start is None else "exact"}"'
    return ""


def _outputs(unit: Unit) -> tuple[list[Variable], list[Variable]]:
    """All outputs, and those whose value at the start is calculated."""
    found = [v for v in unit.variables if v.causality == "output"]
    return found, [v for v in found if v.start is None]


def _fmi3(unit: Unit) -> tuple[list[str], list[str]]:
    variables = [
        f"    <{'Int32' if v.integer else 'Float64'} {_common(v)}{_initial(v)}{_typed(v)}/>"
        for v in unit.variables
    ]
    outputs, unknown = _outputs(unit)
    structure = [f'    <Output valueReference="{v.reference}"/>' for v in outputs]
    structure += [f'    <InitialUnknown valueReference="{v.reference}"/>' for v in unknown]
    return variables, structure


def _fmi2(unit: Unit) -> tuple[list[str], list[str]]:
    variables = [
        f"    <ScalarVariable {_common(v)}{_initial(v)}>"
        f"<{'Integer' if v.integer else 'Real'}{_typed(v)}/></ScalarVariable>"
        for v in unit.variables
    ]
    places = {v.name: k + 1 for k, v in enumerate(unit.variables)}
    structure = []
    for tag, found in zip(("Outputs", "InitialUnknowns"), _outputs(unit), strict=True):
        rows = "".join(f'<Unknown index="{places[v.name]}"/>' for v in found)
        if found:
            structure.append(f"    <{tag}>{rows}</{tag}>")
    return variables, structure
