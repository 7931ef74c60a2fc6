#ifndef TRAJECTORY_MSGS_JOINT_TRAJECTORY_POINT_HPP
#define TRAJECTORY_MSGS_JOINT_TRAJECTORY_POINT_HPP

#include <vector>

namespace trajectory_msgs::msg {

struct JointTrajectoryPoint {
    std::vector<double> positions, velocities, accelerations, effort;
};

}  // namespace trajectory_msgs::msg

#endif
