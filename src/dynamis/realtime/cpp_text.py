"""A C++17 class over the C of a control law: arrays in, arrays out, nothing allocated."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..backends.c_function import PRECISIONS
from ..backends.cpp_header import namespace
from .c_text import intro, stem_of

if TYPE_CHECKING:
    from .law import Law


def cpp_header(law: "Law", notes: Sequence[str], dtype: str) -> str:
    """The text of <stem>.hpp."""
    stem, T, n = stem_of(law), PRECISIONS[dtype].type, law.n
    guard, space, inside = f"{stem.upper()}_HPP", namespace(stem), law.reference is not None
    takes = "double t" if inside else "const vector& q_d, const vector& qd_d, const vector& qdd_d"
    rows = [("q", "q_d"), ("qd", "qd_d"), ("qdd", "qdd_d")]
    copies = "".join(
        f"        for (::std::size_t i = 0; i < joints; i++) wanted.{a}[i] = {b}[i];\n"
        for a, b in rows
    )
    fills = "        wanted.t = t;\n" if inside else copies
    return f"""{intro(notes)}
#ifndef {guard}
#define {guard}

#include <array>
#include <cstddef>

#include "{stem}.h"

namespace dynamis::{space} {{

/* one controller and its state; the status of step is that of the C */
class controller {{
public:
    static constexpr ::std::size_t joints = {n};
    static constexpr double sample_time = {law.sample_time!r};
    using vector = ::std::array<{T}, joints>;

    controller(const vector& q, const vector& qd) noexcept {{ init(q, qd); }}

    void init(const vector& q, const vector& qd) noexcept {{
        const auto seen = measured(q, qd);
        ::{stem}_init(&state, &seen);
    }}

    [[nodiscard]] int step(const vector& q, const vector& qd, {takes},
        vector& torque) noexcept {{
        const auto seen = measured(q, qd);
        ::{stem}_reference wanted{{}};
{fills}        return ::{stem}_step(&state, &seen, &wanted, torque.data());
    }}

private:
    ::{stem}_state state{{}};

    static ::{stem}_measurement measured(const vector& q, const vector& qd) noexcept {{
        ::{stem}_measurement seen{{}};
        for (::std::size_t i = 0; i < joints; i++) {{
            seen.q[i] = q[i];
            seen.qd[i] = qd[i];
        }}
        return seen;
    }}
}};

}}  // namespace dynamis::{space}

#endif  // {guard}
"""
