"""Parameters as people write them in a formula: Izz1, ZZ1 or Izz[forearm], and in LaTeX."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..model.model import Model

DIGITS = 12


class Words(NamedTuple):
    """One parameter in a formula, in Khalil's notation, and in LaTeX (# is the index)."""

    plain: str
    khalil: str
    latex: str


WORDS: Mapping[str, Words] = {
    "m": Words("m", "M", "m_{#}"),
    "mcx": Words("mcx", "MX", "mc_{x,#}"),
    "mcy": Words("mcy", "MY", "mc_{y,#}"),
    "mcz": Words("mcz", "MZ", "mc_{z,#}"),
    "Ixx": Words("Ixx", "XX", "I_{xx,#}"),
    "Ixy": Words("Ixy", "XY", "I_{xy,#}"),
    "Iyy": Words("Iyy", "YY", "I_{yy,#}"),
    "Ixz": Words("Ixz", "XZ", "I_{xz,#}"),
    "Iyz": Words("Iyz", "YZ", "I_{yz,#}"),
    "Izz": Words("Izz", "ZZ", "I_{zz,#}"),
    "rotor_inertia": Words("rotor_inertia", "IA", "J_{a,#}"),
    "viscous": Words("viscous", "FV", "F_{v,#}"),
    "coulomb+": Words("coulomb_plus", "FS_plus", "F_{c,#}^{+}"),
    "coulomb-": Words("coulomb_minus", "FS_minus", "F_{c,#}^{-}"),
    "offset": Words("offset", "OFF", r"\tau_{0,#}"),
    "motor_viscous": Words("motor_viscous", "FVM", "F_{vm,#}"),
    "motor_coulomb+": Words("motor_coulomb_plus", "FSM_plus", "F_{cm,#}^{+}"),
    "motor_coulomb-": Words("motor_coulomb_minus", "FSM_minus", "F_{cm,#}^{-}"),
    "unbalance_x": Words("unbalance_x", "UX", "u_{x,#}"),
    "unbalance_y": Words("unbalance_y", "UY", "u_{y,#}"),
}


def labels(model: Model, names: Sequence[str], style: str = "plain") -> list[str]:
    """Every parameter name in a style: "plain", "khalil" or "latex"."""
    return [_label(model, name, style) for name in names]


def _label(model: Model, name: str, style: str) -> str:
    owner, _, parameter = name.rpartition(".")
    form = getattr(WORDS[parameter], style)
    number = _number(model, owner)
    if style == "latex":
        word = owner.replace("_", r"\_")
        return form.replace("#", number or rf"\mathrm{{{word}}}")
    return f"{form}{number}" if number else f"{form}[{owner}]"


def _number(model: Model, owner: str) -> str:
    """1 for link1 and joint1 if all links (or joints) are called so; else nothing."""
    for word, known in (("link", model.link_names), ("joint", model.tree_joint_names)):
        if owner in known and known == tuple(f"{word}{i + 1}" for i in range(len(known))):
            return owner.removeprefix(word)
    return ""


def sum_text(terms: Sequence[tuple[Any, str]], product: str = "*", write: Any = None) -> str:
    """A sum of coefficient times label, as text."""
    text = ""
    for coefficient, label in terms:
        factor = (write or coefficient_text)(coefficient)
        minus = factor.startswith("-")
        factor = factor.removeprefix("-")
        sign = (" - " if minus else " + ") if text else ("-" if minus else "")
        text += sign + (label if factor == "1" else f"{factor}{product}{label}")
    return text


def coefficient_text(x: Any) -> str:
    """A coefficient, shortest: 0.4318, L1**2, (L1 + L2)."""
    if not hasattr(x, "free_symbols"):
        return f"{float(x):.{DIGITS}g}"
    import sympy as sp

    text = sp.sstr(_decimal(x), full_prec=False)
    return f"({text})" if x.is_Add else text


def coefficient_latex(x: Any) -> str:
    """A coefficient in LaTeX."""
    if not hasattr(x, "free_symbols"):
        mantissa, _, exponent = f"{float(x):.{DIGITS}g}".partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
    import sympy as sp

    text = sp.latex(_decimal(x), full_prec=False)
    return rf"\left({text}\right)" if x.is_Add else text


def _decimal(x: Any) -> Any:
    """Fractions as decimal numbers."""
    import sympy as sp

    fractions = [r for r in x.atoms(sp.Rational) if r.q != 1]
    return x.xreplace({r: sp.Float(f"{float(r):.{DIGITS}g}") for r in fractions})
