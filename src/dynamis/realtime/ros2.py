"""A ros2_control package around the C of a control law: one controller plugin, its build, its YAML.

Names of a model reach two files: quoted in the YAML of the parameters, where the plugin reads its
joints, and as plain text in comments and descriptions. In code there are identifiers only.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from .. import templates
from ..errors import OptionError
from ..export.c_folder import namespace
from ..export.c_function import PRECISIONS, literal, remarks
from . import c_text
from .c_text import plain, stem_of

if TYPE_CHECKING:
    from ..control.law import Law

TARGET = "ros2"
TIMEOUT = 0.1  # s without a new reference, after which the wanted velocity is zero
PRINTED = re.compile(r"[ !#-\[\]-~]")  # what stands for itself between double quotes


def rate_of(law: "Law") -> int:
    """The update rate in Hz, which ros2_control counts in whole numbers."""
    rate = round(1.0 / law.sample_time)
    if rate < 1 or abs(rate * law.sample_time - 1.0) > 1e-9:
        raise OptionError(
            f"sample_time is {law.sample_time:g} s, which is {1.0 / law.sample_time:g} Hz; the "
            "update rate of ros2_control is a whole number",
            f"give sample_time=1/{max(1, rate)}",
        )
    return rate


def package_files(law: "Law", dtype: str, trig: str, notes: Sequence[str]) -> dict[str, str]:
    """File name -> text: the C, the plugin and what ament builds them with."""
    stem, space = stem_of(law), namespace(stem_of(law))
    first = [] if law.reference is None else law.reference(0.0).q.tolist()
    kind = type(law.controller).__name__
    given: dict[str, Any] = {
        **c_text.words(law, notes, dtype),
        **{"SPACE": space, "RATE": rate_of(law), "LIBM": trig != "own"},
        "TIMEOUT": repr(TIMEOUT),
        "TOLERANCE": repr(c_text.START_TOLERANCE),
        "BEGINNING": ", ".join(literal(x, PRECISIONS["float64"]) for x in first),
        "JOINTS": "\n".join(f"      - {quoted(name)}" for name in law.robot.drive_names),
        "SHOWN": c_text.joint_rows(law),
        "ABOUT": escape(plain(f"{kind} of {law.robot.name}, exported by dynamis")),
        "REMARKS": remarks(notes),
        "XML_REMARKS": f"<!--\n{remarks(map(_dashes, notes), ' ')}-->",
        "GRAVITY": law.safe == "gravity",
        "RAMP": f"{law.ramp:g}",
        "DAMPED": c_text.damped(law),
        "ORIGIN": "\n".join(f"    {plain(line)}".rstrip() for line in notes),
    }
    files = {
        "package.xml": "ros2_package.xml",
        "CMakeLists.txt": "ros2_CMakeLists.txt",
        f"{stem}_plugin.xml": "ros2_plugin.xml",
        f"{stem}_ros2.cpp": "ros2_controller.cpp",
        f"{stem}.yaml": "ros2_parameters.yaml",
        "README.md": "ros2_README.md",
    }
    return {
        f"{stem}.h": c_text.header(law, notes, dtype),
        f"{stem}.hpp": c_text.cpp_header(law, notes, dtype),
        f"{stem}.c": c_text.source(law, notes, dtype, trig),
        f"{stem}_test.c": c_text.self_test(law, notes, dtype, c_text.sample_rows(law)),
        **{name: templates.filled(__package__, x, **given) for name, x in files.items()},
    }


def quoted(name: str) -> str:
    """A name as a double-quoted scalar of YAML: whatever is in it, it stays one text."""
    return '"' + "".join(c if PRINTED.match(c) else f"\\U{ord(c):08x}" for c in name) + '"'


def _dashes(line: str) -> str:
    """A note as it may stand in a comment of XML."""
    return re.sub("-(?=-)", "- ", line)
