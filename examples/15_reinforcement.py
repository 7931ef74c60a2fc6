"""Reaching by torques as a Gymnasium environment: random torques, and PD with the arm's model."""

import time

import gymnasium
import numpy as np

import dynamis.gym

env = gymnasium.make(dynamis.gym.NAME, robot="planar-rr", max_steps=150)
arm, effort = env.unwrapped.robot, env.unwrapped.effort


def random_torques(q, qd, goal):
    return env.action_space.sample()


def pd(q, qd, goal):
    """M (kp (goal - q) - kd qd) + g, towards joint positions that inverse kinematics found."""
    way = np.arctan2(np.sin(goal - q), np.cos(goal - q))
    return (arm.mass_matrix(q) @ (25.0 * way - 10.0 * qd) + arm.gravity_torque(q)) / effort


def episodes(policy, count=10):
    """Mean return, the share that ends within tolerance, steps per second."""
    env.action_space.seed(0)
    total, reached, steps, begun = 0.0, 0, 0, time.perf_counter()
    for seed in range(count):
        env.reset(seed=seed)
        u, over = env.unwrapped, False
        place = np.eye(4)
        place[:3, 3] = u.target
        goal = arm.ik(place, "position").q[0]
        while not over:
            action = np.clip(policy(u.q, u.qd, goal), -1, 1).astype(np.float32)
            _, reward, terminated, truncated, info = env.step(action)
            total, over, steps = total + reward, terminated or truncated, steps + 1
        reached += info["is_success"]
    return total / count, reached / count, steps / (time.perf_counter() - begun)


print(f"observation {env.observation_space.shape}, torques {effort.round(1)} N m")
for name, policy in (("random", random_torques), ("PD with model", pd)):
    gained, reached, speed = episodes(policy)
    print(f"{name}: return {gained:.1f}, reached {100 * reached:.0f} %, {speed:.0f} steps/s")
