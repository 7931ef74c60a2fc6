"""The board between an arm and its control computer: counters, converters, and what they need.

devices, board    data: encoders, potentiometers, converters, a whole board; TOML files
wiring            numbers of a board on a robot, one channel per joint
readings          counters unwrapped, the home found, faults named
startup           the reference until the arm is on its own
program           counts in, codes out: the step that is simulated and exported
hardware          the devices themselves, simulated
"""
