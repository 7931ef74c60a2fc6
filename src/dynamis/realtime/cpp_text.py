"""A C++17 class over the C of a control law: arrays in, arrays out, nothing allocated."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .. import templates
from ..backends.cpp_header import namespace
from .c_text import stem_of, words

if TYPE_CHECKING:
    from .law import Law


def cpp_header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The text of <stem>.hpp."""
    space = namespace(stem_of(law))
    return templates.filled(__package__, "controller.hpp", **words(law, notes, dtype), SPACE=space)
