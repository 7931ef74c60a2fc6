#ifndef HARDWARE_INTERFACE_TYPE_VALUES_HPP
#define HARDWARE_INTERFACE_TYPE_VALUES_HPP

namespace hardware_interface {
constexpr char HW_IF_POSITION[] = "position";
constexpr char HW_IF_VELOCITY[] = "velocity";
constexpr char HW_IF_EFFORT[] = "effort";
}  // namespace hardware_interface

#endif
