/* The part of a lifecycle node that the exported plugin uses; what it subscribed to is kept for the test. */
#ifndef RCLCPP_LIFECYCLE_LIFECYCLE_NODE_HPP
#define RCLCPP_LIFECYCLE_LIFECYCLE_NODE_HPP

#include "rclcpp/rclcpp.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace rclcpp_lifecycle {

class State {};

namespace node_interfaces {

class LifecycleNodeInterface {
public:
    enum class CallbackReturn : std::uint8_t { SUCCESS = 97, FAILURE = 98, ERROR = 99 };
    virtual CallbackReturn on_configure(const State&) { return CallbackReturn::SUCCESS; }
    virtual CallbackReturn on_activate(const State&) { return CallbackReturn::SUCCESS; }
    virtual CallbackReturn on_deactivate(const State&) { return CallbackReturn::SUCCESS; }
    virtual ~LifecycleNodeInterface() = default;
};

}  // namespace node_interfaces

class LifecycleNode {
public:
    std::map<std::string, rclcpp::Parameter::Value> parameters;
    std::function<void(const trajectory_msgs::msg::JointTrajectoryPoint&)> subscribed;
    std::string topic;
    rclcpp::TimerBase::SharedPtr timer;

    rclcpp::Logger get_logger() const { return {}; }
    rclcpp::Parameter get_parameter(const std::string& name) const { return rclcpp::Parameter(parameters.at(name)); }

    template <class Message, class Callback>
    std::shared_ptr<rclcpp::Subscription<Message>> create_subscription(
        const std::string& name, const rclcpp::QoS&, Callback&& callback) {
        topic = name;
        subscribed = std::forward<Callback>(callback);
        return std::make_shared<rclcpp::Subscription<Message>>();
    }

    template <class Period, class Callback>
    rclcpp::TimerBase::SharedPtr create_wall_timer(Period, Callback callback) {
        return timer = std::make_shared<rclcpp::TimerBase>(callback);
    }
};

}  // namespace rclcpp_lifecycle

#endif
