"""A two-link arm in ten lines: describe it, ask it things."""

import numpy as np

import dynamis as dy

arm = dy.Robot.from_dh(
    "two-link",
    convention="standard",
    gravity=(0, -9.81, 0),
    links=[
        dy.Link(a=1.0, mass=3.0, com=(-0.5, 0, 0), inertia=(0, 0.25, 0.25)),
        dy.Link(a=0.8, mass=2.0, com=(-0.4, 0, 0), inertia=(0, 0.11, 0.11)),
    ],
)
print(arm.dh())

q = np.radians([30, 45])
print("tool at", arm.fk(q)[:2, 3].round(4))
print("torque against gravity", arm.gravity_torque(q).round(3), "N m")
print("mass matrix\n", arm.mass_matrix(q).round(4))

answer = arm.ik(arm.fk(q))
print("inverse kinematics (deg):", np.degrees(answer.q).round(2).tolist())

print(arm.check())
