@INTRO@
/* The law of @STEM@.c as a plugin of ros2_control. update() reads the state interfaces, calls the C and writes
 * the torques: no allocation, no lock that waits, no log. What cannot be read is NaN, which the C
 * answers with its safe torque. */

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
@IF INSIDE@
@ELSE@
#include <mutex>
@END@
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller_interface/controller_interface.hpp"
#include "hardware_interface/types/hardware_interface_type_values.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"
@IF INSIDE@
@ELSE@
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"
@END@

#include "@STEM@.hpp"

namespace @STEM@_ros2 {

using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;
using Law = ::dynamis::@SPACE@::controller;
using Vector = Law::vector;

constexpr std::size_t joints = Law::joints;
constexpr unsigned int rate = @RATE@;  // Hz

// handles of ros2_control: get_value() before Jazzy, get_optional() since; set_value() may return a flag

template <class Handle, class = void>
struct gives_optional : std::false_type {};

template <class Handle>
struct gives_optional<Handle, std::void_t<decltype(std::declval<const Handle&>().get_optional())>> : std::true_type {};

template <class Handle>
double value_of(const Handle& handle) {
    if constexpr (gives_optional<Handle>::value) {
        return handle.get_optional().value_or(std::numeric_limits<double>::quiet_NaN());
    } else {
        return handle.get_value();
    }
}

template <class Handle>
bool written(Handle& handle, double value) {
    if constexpr (std::is_void_v<decltype(handle.set_value(value))>) {
        handle.set_value(value);
        return true;
    } else {
        return handle.set_value(value);
    }
}

class Controller : public controller_interface::ControllerInterface {
public:
    CallbackReturn on_init() override {
        auto_declare<std::vector<std::string>>("joints", {});
@IF INSIDE@
        auto_declare<double>("start_tolerance", @TOLERANCE@);
@ELSE@
        auto_declare<double>("reference_timeout", @TIMEOUT@);
@END@
        return CallbackReturn::SUCCESS;
    }

    CallbackReturn on_configure(const rclcpp_lifecycle::State&) override {
        names_ = get_node()->get_parameter("joints").as_string_array();
        if (names_.size() != joints) {
            RCLCPP_ERROR(get_node()->get_logger(), "parameter joints has %zu names, expected %zu", names_.size(), joints);
            return CallbackReturn::FAILURE;
        }
        if (get_update_rate() != rate) {
            RCLCPP_ERROR(get_node()->get_logger(),
                "the update rate is %u Hz, the law was exported for %u Hz: set update_rate, or export with another sample_time",
                get_update_rate(), rate);
            return CallbackReturn::FAILURE;
        }
@IF INSIDE@
        tolerance_ = get_node()->get_parameter("start_tolerance").as_double();
@ELSE@
        const double timeout = get_node()->get_parameter("reference_timeout").as_double();
        if (!(timeout > 0.0 && timeout < 1e9)) {
            RCLCPP_ERROR(get_node()->get_logger(), "parameter reference_timeout is %g, expected seconds above 0", timeout);
            return CallbackReturn::FAILURE;
        }
        timeout_ = static_cast<std::int64_t>(1e9 * timeout);
        subscription_ = get_node()->create_subscription<Point>(
            "~/reference", rclcpp::SystemDefaultsQoS(), [this](const Point& message) { receive(message); });
@END@
        timer_ = get_node()->create_wall_timer(std::chrono::milliseconds(200), [this]() { report(); });
        return CallbackReturn::SUCCESS;
    }

    InterfaceConfiguration command_interface_configuration() const override {
        return {controller_interface::interface_configuration_type::INDIVIDUAL,
            named({hardware_interface::HW_IF_EFFORT})};
    }

    InterfaceConfiguration state_interface_configuration() const override {
        return {controller_interface::interface_configuration_type::INDIVIDUAL,
            named({hardware_interface::HW_IF_POSITION@IF DIFFERENCE@@ELSE@, hardware_interface::HW_IF_VELOCITY@END@})};
    }

    CallbackReturn on_activate(const rclcpp_lifecycle::State&) override {
        if (!in_order(command_interfaces_, command_interface_configuration().names) ||
            !in_order(state_interfaces_, state_interface_configuration().names)) {
            RCLCPP_ERROR(get_node()->get_logger(), "the claimed interfaces are not those of the parameter joints, in its order");
            return CallbackReturn::FAILURE;
        }
        measure();
        for (std::size_t i = 0; i < joints; i++) {
            if (!std::isfinite(q_[i]) || !std::isfinite(qd_[i])) {
                RCLCPP_ERROR(get_node()->get_logger(), "joint %s has no finite position and velocity yet", names_[i].c_str());
                return CallbackReturn::FAILURE;
            }
@IF INSIDE@
            if (!(std::fabs(static_cast<double>(q_[i]) - beginning_[i]) <= tolerance_)) {
                RCLCPP_ERROR(get_node()->get_logger(), "joint %s is at %g, the trajectory begins at %g: move the arm there first",
                    names_[i].c_str(), static_cast<double>(q_[i]), beginning_[i]);
                return CallbackReturn::FAILURE;
            }
@END@
        }
        law_.init(q_, qd_);
        status_.store(0);
        reported_ = 0;
@IF INSIDE@
        begun_ = false;
@ELSE@
        const std::lock_guard<std::mutex> lock(mutex_);
        fresh_ = false;
        wanted_ = {q_, {}, {}};  // until a reference comes the arm stays where it is
@END@
        return CallbackReturn::SUCCESS;
    }

    CallbackReturn on_deactivate(const rclcpp_lifecycle::State&) override {
        for (auto& handle : command_interfaces_) static_cast<void>(written(handle, 0.0));
        return CallbackReturn::SUCCESS;
    }

    return_type update(const rclcpp::Time& time, const rclcpp::Duration&) override {
        const std::int64_t now = time.nanoseconds();
        Vector torque{};
        measure();
@IF INSIDE@
        if (!begun_) start_ = now;
        begun_ = true;
        const double t = 1e-9 * static_cast<double>(now - start_);
        status_.store(law_.step(q_, qd_, t, torque));
@ELSE@
        refer(now);
        status_.store(law_.step(q_, qd_, wanted_.q, wanted_.qd, wanted_.qdd, torque));
@END@
        bool all = true;
        for (std::size_t i = 0; i < joints; i++) all = written(command_interfaces_[i], static_cast<double>(torque[i])) && all;
        return all ? return_type::OK : return_type::ERROR;
    }

private:
    std::vector<std::string> named(const std::vector<std::string>& kinds) const {
        std::vector<std::string> found;
        for (const auto& kind : kinds)
            for (const auto& name : names_) found.push_back(name + "/" + kind);
        return found;
    }

    template <class Handles>
    static bool in_order(const Handles& handles, const std::vector<std::string>& names) {
        if (handles.size() != names.size()) return false;
        for (std::size_t i = 0; i < names.size(); i++)
            if (handles[i].get_name() != names[i]) return false;
        return true;
    }

    void measure() {
        for (std::size_t i = 0; i < joints; i++) {
            q_[i] = static_cast<@T@>(value_of(state_interfaces_[i]));
@IF DIFFERENCE@
            qd_[i] = 0;  // the law makes velocities from positions
@ELSE@
            qd_[i] = static_cast<@T@>(value_of(state_interfaces_[joints + i]));
@END@
        }
    }

    void report() {
        const int status = status_.load();
        if (status == @UP@_SAFE && reported_ != status)
            RCLCPP_ERROR(get_node()->get_logger(), "@LATCH@ bad samples in a row: safe torque until the controller is activated anew");
        reported_ = status;
@IF INSIDE@
@ELSE@
        if (refused_.exchange(0) > 0)
            RCLCPP_WARN(get_node()->get_logger(), "a reference was refused: expected %zu positions, and as many velocities and accelerations or none", joints);
@END@
    }

@IF INSIDE@
@ELSE@
    using Point = trajectory_msgs::msg::JointTrajectoryPoint;

    struct Wanted {
        Vector q, qd, qdd;
    };

    static bool fits(const std::vector<double>& row, bool needed) { return row.size() == joints || (row.empty() && !needed); }

    void receive(const Point& message) {
        if (!fits(message.positions, true) || !fits(message.velocities, false) || !fits(message.accelerations, false)) {
            refused_.fetch_add(1);
            return;
        }
        const std::lock_guard<std::mutex> lock(mutex_);
        received_ = {};
        for (std::size_t i = 0; i < joints; i++) received_.q[i] = static_cast<@T@>(message.positions[i]);
        for (std::size_t i = 0; i < message.velocities.size(); i++) received_.qd[i] = static_cast<@T@>(message.velocities[i]);
        for (std::size_t i = 0; i < message.accelerations.size(); i++) received_.qdd[i] = static_cast<@T@>(message.accelerations[i]);
        fresh_ = true;
    }

    void refer(std::int64_t now) {
        const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
        if (lock.owns_lock() && fresh_) {
            wanted_ = received_;
            received_at_ = now;
            fresh_ = false;
        } else if (now - received_at_ > timeout_) {
            wanted_.qd = {};
            wanted_.qdd = {};
        }
    }

@END@
    Law law_{Vector{}, Vector{}};
    Vector q_{}, qd_{};
    std::vector<std::string> names_;
    std::atomic<int> status_{0};
    int reported_ = 0;
    rclcpp::TimerBase::SharedPtr timer_;
@IF INSIDE@
    const std::array<double, joints> beginning_{@BEGINNING@};
    double tolerance_ = @TOLERANCE@;
    bool begun_ = false;
    std::int64_t start_ = 0;
@ELSE@
    rclcpp::Subscription<Point>::SharedPtr subscription_;
    std::mutex mutex_;
    Wanted received_{}, wanted_{};
    bool fresh_ = false;
    std::int64_t received_at_ = 0, timeout_ = 0;  // ns
    std::atomic<int> refused_{0};
@END@
};

}  // namespace @STEM@_ros2

PLUGINLIB_EXPORT_CLASS(@STEM@_ros2::Controller, controller_interface::ControllerInterface)
