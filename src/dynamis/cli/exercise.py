"""`dynamis exercise`: exercises with numbers of one's own, and their answers checked."""

from dataclasses import asdict
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from ..exercises import EXERCISES, exercise, sheet
from .arguments import Json, Numbers, listed
from .printing import data, data_json, raw, table

Which = Annotated[
    Positional[str],
    arg(metavar="[EXERCISE]", help="Number or name (default: all).", help_behavior_hint=""),
]


def run(
    which: Which = "all", *, seed: int = 0, language: Literal["en", "es"] = "en",
    answer: Numbers = None, solution: bool = False, json: Json = False,
) -> int:  # fmt: skip
    """Print an exercise, or a sheet of all, and check answers; exit code 1 if one is wrong.

    Every seed (a student's number, say) has numbers of its own, the same on every machine.

    For example:

      dynamis exercise --seed 2041 > sheet.md
      dynamis exercise 5 --seed 2041
      dynamis exercise 5 --seed 2041 --answer 74.2,18.9
      dynamis exercise gravity-torques --seed 2041 --language es --solution

    Args:
        seed: Whose numbers.
        language: Of the text, English or Spanish.
        answer: Answers to check, in the order asked for.
        solution: Print the solution too.
    """
    if which == "all" and answer is None:
        if json:
            data_json([asdict(exercise(x, seed, language)) for x in EXERCISES])
        else:
            raw(sheet(seed, language, solutions=solution))
        return 0
    one = exercise(int(which) if which.isdecimal() else which, seed, language)
    if answer is None:
        if json:
            data_json(asdict(one))
        else:
            raw(f"{one}\n{one.solution()}\n" if solution else str(one))
        return 0
    marks = one.check(listed(answer, f"numbers of {', '.join(one.names)}", "answer"))
    if json:
        data_json([asdict(mark) for mark in marks])
    else:
        rows = [
            (
                m.name,
                f"{m.given:g} {m.unit}",
                ("right", "good") if m.right else ("wrong", "error"),
                m.hint,
            )
            for m in marks
        ]
        data(table(f"{one.number}. {one.title}", ("answer", "given", "mark", "hint"), rows))
        if solution:
            raw(f"{one.solution()}\n")
    return int(not all(mark.right for mark in marks))
