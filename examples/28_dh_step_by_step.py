"""From joint axes to a Denavit-Hartenberg table, step by step, with a drawing of every step."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import dynamis as dy

OUT = Path("out")
OUT.mkdir(exist_ok=True)

# joint, a point of its axis, its direction: measured on the arm at q = 0, in metres
axes = """
name elbow with a slide
revolute   0    0   0      0 0 1
revolute   0.15 0   0.45   0 1 0
revolute   0.75 0   0.45   0 1 0
prismatic  0.80 0   0.55   1 0 0
revolute   0.95 0   0.55   1 0 0
tool       1.10 0   0.55   180deg -90deg 0
"""
steps = dy.dh_steps(axes, letters="numbered")
text = steps.text()
print(text[text.index("DH5.") : text.index("DH7.")])
print(steps.robot.dh())
print("letters:", ", ".join(f"{name} = {value:g} m" for name, value in steps.values))

# the same arm in Craig's convention: another table, the same arm
other = dy.dh_steps(axes, "modified")
print(other.robot.dh())
q = [0.3, -0.5, 0.8, 0.1, 1.2]
largest = np.abs(steps.robot.fk(q) - other.robot.fk(q)).max()
print(f"the tool poses of both differ by less than 1e-12: {largest < 1e-12}")

sheet = Figure(figsize=(11, 9), layout="constrained")
places = sheet.subplots(2, 2)
for place, step in zip(places.flat, ("DH3", "DH5", "DH7", "DH10"), strict=True):
    drawing = steps.plot(step)
    drawing.canvas.draw()
    place.imshow(np.asarray(drawing.canvas.buffer_rgba()))
    place.axis("off")
sheet.savefig(OUT / "28_dh_step_by_step.png", dpi=90)
steps.save(OUT / "28_dh_step_by_step.html")
