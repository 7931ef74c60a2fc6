/* The interface of a controller of ros2_control, as its subclasses see it; the test stands in for the manager. */
#ifndef CONTROLLER_INTERFACE_CONTROLLER_INTERFACE_HPP
#define CONTROLLER_INTERFACE_CONTROLLER_INTERFACE_HPP

#include "hardware_interface/loaned_interfaces.hpp"
#include "rclcpp_lifecycle/lifecycle_node.hpp"

namespace controller_interface {

using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;

enum class return_type : std::uint8_t { OK = 0, ERROR = 1 };
enum class interface_configuration_type : std::uint8_t { ALL = 0, INDIVIDUAL = 1, NONE = 2 };

struct InterfaceConfiguration {
    interface_configuration_type type;
    std::vector<std::string> names = {};
};

class ControllerInterface : public rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface {
public:
    virtual InterfaceConfiguration command_interface_configuration() const = 0;
    virtual InterfaceConfiguration state_interface_configuration() const = 0;
    virtual CallbackReturn on_init() = 0;
    virtual return_type update(const rclcpp::Time& time, const rclcpp::Duration& period) = 0;

    std::shared_ptr<rclcpp_lifecycle::LifecycleNode> get_node() { return node_; }
    std::shared_ptr<const rclcpp_lifecycle::LifecycleNode> get_node() const { return node_; }
    unsigned int get_update_rate() const { return update_rate_; }

    void assign_interfaces(std::vector<hardware_interface::LoanedCommandInterface>&& commands,
        std::vector<hardware_interface::LoanedStateInterface>&& states) {
        command_interfaces_ = std::move(commands);
        state_interfaces_ = std::move(states);
    }
    void set_update_rate(unsigned int rate) { update_rate_ = rate; }  // of this test only

    template <typename ParameterT>
    auto auto_declare(const std::string& name, const ParameterT& default_value) {
        return std::get<ParameterT>(node_->parameters.try_emplace(name, default_value).first->second);
    }

protected:
    std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
    std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;

private:
    std::shared_ptr<rclcpp_lifecycle::LifecycleNode> node_ = std::make_shared<rclcpp_lifecycle::LifecycleNode>();
    unsigned int update_rate_ = 0;
};

}  // namespace controller_interface

#endif
