@INTRO@
#ifndef @UP@_HPP
#define @UP@_HPP

#include <array>
#include <cstddef>

#include "@STEM@.h"

namespace dynamis::@SPACE@ {

/* one controller and its state; the status of step is that of the C */
class controller {
public:
    static constexpr ::std::size_t joints = @N@;
    static constexpr double sample_time = @SAMPLE_TIME@;
    using vector = ::std::array<@T@, joints>;

    controller(const vector& q, const vector& qd) noexcept { init(q, qd); }

    void init(const vector& q, const vector& qd) noexcept {
        const auto seen = measured(q, qd);
        ::@STEM@_init(&state, &seen);
    }

    [[nodiscard]] int step(const vector& q, const vector& qd, @IF INSIDE@double t@ELSE@const vector& q_d, const vector& qd_d, const vector& qdd_d@IF SMOOTH@, const vector& jerk_d, const vector& snap_d@END@@END@,
        vector& torque) noexcept {
        const auto seen = measured(q, qd);
        ::@STEM@_reference wanted{};
@IF INSIDE@
        wanted.t = t;
@ELSE@
        for (::std::size_t i = 0; i < joints; i++) wanted.q[i] = q_d[i];
        for (::std::size_t i = 0; i < joints; i++) wanted.qd[i] = qd_d[i];
        for (::std::size_t i = 0; i < joints; i++) wanted.qdd[i] = qdd_d[i];
@IF SMOOTH@
        for (::std::size_t i = 0; i < joints; i++) wanted.jerk[i] = jerk_d[i];
        for (::std::size_t i = 0; i < joints; i++) wanted.snap[i] = snap_d[i];
@END@
@END@
        return ::@STEM@_step(&state, &seen, &wanted, torque.data());
    }

private:
    ::@STEM@_state state{};

    static ::@STEM@_measurement measured(const vector& q, const vector& qd) noexcept {
        ::@STEM@_measurement seen{};
        for (::std::size_t i = 0; i < joints; i++) {
            seen.q[i] = q[i];
            seen.qd[i] = qd[i];
        }
        return seen;
    }
};

}  // namespace dynamis::@SPACE@

#endif  // @UP@_HPP
