/* A controller manager of one plugin: commands on stdin, torques on stdout.
 *
 *   joints NAME...        the parameter                 rate HZ        the update rate
 *   configure activate deactivate                       said: SUCCESS or FAILURE; the claimed interfaces
 *   timer                 what the node does besides    commands       what stands in the command interfaces
 *   state X...            positions, then velocities
 *   reference X...        a message, up to three rows   parameter NAME X
 *   update NANOSECONDS    what it returned, how often it allocated, the torques
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "controller_interface/controller_interface.hpp"

controller_interface::ControllerInterface* created_plugin();

static long allocations = 0;
void* operator new(std::size_t size) {
    allocations++;
    void* found = std::malloc(size);
    if (found == nullptr) throw std::bad_alloc();
    return found;
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }

int main() {
    using controller_interface::CallbackReturn;
    const std::unique_ptr<controller_interface::ControllerInterface> plugin(created_plugin());
    auto node = plugin->get_node();
    if (plugin->on_init() != CallbackReturn::SUCCESS) return 1;
    std::vector<double> states, commands;
    const rclcpp_lifecycle::State now;
    const auto say = [](CallbackReturn found) { std::puts(found == CallbackReturn::SUCCESS ? "SUCCESS" : "FAILURE"); };
    static char line[4096];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        std::vector<std::string> rest;
        for (char* x = std::strtok(line, " \n"); x != nullptr; x = std::strtok(nullptr, " \n")) rest.emplace_back(x);
        if (rest.empty()) continue;
        const std::string word = rest.front();
        rest.erase(rest.begin());
        std::vector<double> numbers;
        if (word != "joints" && word != "parameter")
            for (const auto& x : rest) numbers.push_back(std::strtod(x.c_str(), nullptr));
        if (word == "joints") node->parameters["joints"] = rest;
        if (word == "parameter") node->parameters[rest.at(0)] = std::strtod(rest.at(1).c_str(), nullptr);
        if (word == "rate") plugin->set_update_rate(static_cast<unsigned int>(numbers.at(0)));
        if (word == "configure") {
            say(plugin->on_configure(now));
            std::vector<hardware_interface::LoanedCommandInterface> lent;
            std::vector<hardware_interface::LoanedStateInterface> shown;
            const auto wanted = plugin->command_interface_configuration().names;
            const auto seen = plugin->state_interface_configuration().names;
            commands.assign(wanted.size(), 0.0);
            states.assign(seen.size(), 0.0);
            for (std::size_t i = 0; i < wanted.size(); i++) lent.emplace_back(wanted[i], &commands[i]);
            for (std::size_t i = 0; i < seen.size(); i++) shown.emplace_back(seen[i], &states[i]);
            plugin->assign_interfaces(std::move(lent), std::move(shown));
            for (const auto& name : wanted) std::printf("%s ", name.c_str());
            for (const auto& name : seen) std::printf("%s ", name.c_str());
            std::puts("");
        }
        if (word == "activate") say(plugin->on_activate(now));
        if (word == "deactivate") say(plugin->on_deactivate(now));
        if (word == "timer") node->timer->execute_callback();
        if (word == "state") states = numbers;
        if (word == "reference") {
            trajectory_msgs::msg::JointTrajectoryPoint point;
            const std::size_t n = commands.size();
            std::vector<double>* rows[] = {&point.positions, &point.velocities, &point.accelerations};
            for (std::size_t i = 0; i < numbers.size() && i < 3 * n; i++) rows[i / n]->push_back(numbers[i]);
            node->subscribed(point);
        }
        if (word == "update") {
            const rclcpp::Time time(std::strtoll(rest.at(0).c_str(), nullptr, 10));
            const rclcpp::Duration period(std::chrono::nanoseconds(0));
            const long before = allocations;
            const auto found = plugin->update(time, period);
            const long made = allocations - before;
            std::printf("%d %ld", static_cast<int>(found), made);
            for (const double x : commands) std::printf(" %.17g", x);
            std::puts("");
        }
        if (word == "commands") {
            for (const double x : commands) std::printf("%g ", x);
            std::puts("");
        }
    }
    return 0;
}
