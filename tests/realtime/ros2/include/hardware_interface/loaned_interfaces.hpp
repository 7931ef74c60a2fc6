/* Handles over the numbers of the test: as in Humble, or with HANDLES_SINCE_JAZZY as since Jazzy. */
#ifndef HARDWARE_INTERFACE_LOANED_INTERFACES_HPP
#define HARDWARE_INTERFACE_LOANED_INTERFACES_HPP

#include <optional>
#include <string>
#include <utility>

namespace hardware_interface {

class Loaned {
public:
    Loaned(std::string name, double* value) : name_(std::move(name)), value_(value) {}
    Loaned(const Loaned&) = delete;
    Loaned(Loaned&&) = default;
    virtual ~Loaned() = default;
    const std::string& get_name() const { return name_; }

protected:
    std::string name_;
    double* value_;
};

#ifdef HANDLES_SINCE_JAZZY
class LoanedStateInterface : public Loaned {
public:
    using Loaned::Loaned;
    template <typename T = double>
    [[nodiscard]] std::optional<T> get_optional(unsigned int = 10) const {
        if (value_ == nullptr) return std::nullopt;
        return *value_;
    }
};

class LoanedCommandInterface : public Loaned {
public:
    using Loaned::Loaned;
    template <typename T>
    [[nodiscard]] bool set_value(const T& value, unsigned int = 10) {
        if (value_ == nullptr) return false;
        *value_ = value;
        return true;
    }
};
#else
class LoanedStateInterface : public Loaned {
public:
    using Loaned::Loaned;
    double get_value() const { return *value_; }
};

class LoanedCommandInterface : public Loaned {
public:
    using Loaned::Loaned;
    void set_value(double value) { *value_ = value; }
};
#endif

}  // namespace hardware_interface

#endif
