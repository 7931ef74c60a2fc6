/* What the exported plugin uses of rclcpp, with rclcpp's signatures. Messages go to stderr. */
#ifndef RCLCPP_RCLCPP_HPP
#define RCLCPP_RCLCPP_HPP

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define RCLCPP_ERROR(logger, ...) (static_cast<void>(logger), std::fprintf(stderr, __VA_ARGS__), std::fputc('\n', stderr))
#define RCLCPP_WARN(logger, ...) RCLCPP_ERROR(logger, __VA_ARGS__)

namespace rclcpp {

class Logger {};

class Time {
public:
    explicit Time(std::int64_t nanoseconds) : nanoseconds_(nanoseconds) {}
    std::int64_t nanoseconds() const { return nanoseconds_; }

private:
    std::int64_t nanoseconds_;
};

class Duration {
public:
    explicit Duration(std::chrono::nanoseconds) {}
};

class QoS {};
class SystemDefaultsQoS : public QoS {};

class TimerBase {
public:
    using SharedPtr = std::shared_ptr<TimerBase>;
    explicit TimerBase(std::function<void()> callback) : callback_(std::move(callback)) {}
    void execute_callback() { callback_(); }

private:
    std::function<void()> callback_;
};

template <class Message>
class Subscription {
public:
    using SharedPtr = std::shared_ptr<Subscription<Message>>;
};

class Parameter {
public:
    using Value = std::variant<double, std::vector<std::string>>;
    explicit Parameter(Value value) : value_(std::move(value)) {}
    double as_double() const { return std::get<double>(value_); }
    std::vector<std::string> as_string_array() const { return std::get<std::vector<std::string>>(value_); }

private:
    Value value_;
};

}  // namespace rclcpp

#endif
