"""A 3-RPS platform from its drawing to a controller in C: excite, log, identify, compare, export."""

from pathlib import Path

import numpy as np

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

robot = dy.load("3-rps")
drives = list(robot.driven)
home = robot.home[drives]
print(f"{robot.name}: {robot.n} joints, {len(drives)} drives, {robot.dof} degrees of freedom")
