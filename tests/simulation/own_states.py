"""Laws of a user's own with states, for tests."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dahl:
    """Friction of a stretch that saturates."""

    stiffness: float = 2000.0  # N/m
    dry: float = 3.0  # N
    grease: float = 0.4  # N s/m

    states = ("stretch",)

    def torque(self, qd, direction, constants, fn, state):
        return constants["stiffness"] * state["stretch"] + constants["grease"] * qd

    def rate(self, qd, direction, constants, fn, state):
        slip = constants["stiffness"] / constants["dry"] * abs(qd) * state["stretch"]
        return {"stretch": qd - slip}

    def steady(self, qd, direction, constants, fn):
        return {"stretch": constants["dry"] / constants["stiffness"] * direction}


@dataclass(frozen=True)
class Maxwell:
    """Spring and damper in series, beside one joint."""

    stiffness: float = 60.0
    damping: float = 5.0
    gain: float = 1.0
    joint: int = 0

    states = ("stretch",)

    def torque(self, q, qd, constants, fn, state):
        pull = constants["gain"] * constants["stiffness"] * state["stretch"]
        return [pull if i == self.joint else 0.0 for i in range(len(q))]

    def rate(self, q, qd, constants, fn, state):
        leak = constants["stiffness"] / constants["damping"] * state["stretch"]
        return [qd[self.joint] - leak]


@dataclass(frozen=True)
class Aging:
    """Friction that grows while a joint rests, and the way it has gone."""

    dry: float = 1.0
    rise: float = 2.0
    time: float = 0.3  # s
    length: float = 0.05  # m
    stiffness: float = 0.0

    states = ("rest", "way")

    def torque(self, qd, direction, constants, fn, state):
        most = constants["dry"] + constants["rise"] * state["rest"]
        return most * direction + constants["stiffness"] * state["way"]

    def rate(self, qd, direction, constants, fn, state):
        held = 1.0 - abs(direction)
        grow = (1.0 - state["rest"]) / constants["time"]
        fall = abs(qd) / constants["length"] * state["rest"]
        return {"way": qd, "rest": held * grow - fall}
