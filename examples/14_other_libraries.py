"""One arm in other libraries: to Pinocchio, MuJoCo and the Robotics Toolbox, and back."""

import warnings
from importlib.util import find_spec

import numpy as np

import dynamis as dy
from dynamis.rtb import DHRobot

arm = dy.load("ur10e")
rng = np.random.default_rng(0)
q, qd, qdd = rng.uniform(-1, 1, (3, arm.n))
tau = arm.inverse_dynamics(q, qd, qdd)


def apart(other):
    return np.abs(other - tau).max() / np.abs(tau).max()


with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    if find_spec("pinocchio"):
        import pinocchio as pin

        model = dy.interop.to_pinocchio(arm)
        print(f"Pinocchio's rnea: {apart(pin.rnea(model, model.createData(), q, qd, qdd)):.1e}")
        back = dy.interop.from_pinocchio(model)
        print(f"there and back: {apart(back.inverse_dynamics(q, qd, qdd)):.1e}")
    if find_spec("roboticstoolbox"):
        theirs = dy.interop.to_rtb(arm, "modified")
        print(f"the Robotics Toolbox' rne: {apart(theirs.rne(q, qd, qdd)):.1e}")
    text = dy.interop.to_mjcf(arm)
    if find_spec("mujoco"):
        import mujoco

        model = mujoco.MjModel.from_xml_string(text)
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        print(f"MuJoCo's mj_inverse: {apart(data.qfrc_inverse):.1e}")
    back = dy.interop.from_mjcf(text)
    print(f"MJCF, {len(text)} characters, and back: {apart(back.inverse_dynamics(q, qd, qdd)):.1e}")
print("warning:", said[0].message)

# course code of the toolbox, on our robot
robot = DHRobot("puma560")
print("gravload at qn:", robot.gravload(robot.qn).round(4))
t, q, qd = robot.nofriction().fdyn(0.5, robot.qn)
print(f"fdyn: after {t[-1]} s joint 2 is at {q[-1, 1]:.4f} rad")
