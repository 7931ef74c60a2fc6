"""`dynamis exercise`: exercises with numbers of one's own, and their answers checked."""

import re
from dataclasses import asdict
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from ..errors import OptionError
from ..exercises import EXERCISES, exercise, sheet
from ..exercises.exercise import Exercise, words
from .arguments import Json, Numbers, listed
from .printing import data, data_json, raw, table

DECIMAL = re.compile(r"[-+]?\d+,\d+")
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
    if which == "all" and answer is not None:
        raise OptionError("answers were given and no exercise", "say which: dynamis exercise 5 ...")
    if which == "all":
        if json:
            data_json([_facts(exercise(x, seed, language), solution) for x in EXERCISES])
        else:
            raw(sheet(seed, language, solutions=solution))
        return 0
    one = exercise(int(which) if which.isdecimal() else which, seed, language)
    if answer is None:
        if json:
            data_json(_facts(one, solution))
        else:
            raw(f"{one}\n{one.solution()}\n" if solution else str(one))
        return 0
    marks = one.check(_read(answer, one))
    if json:
        data_json([asdict(mark) for mark in marks])
    else:
        said = words(language)["words"]
        verdict = {True: (said["right"], "good"), False: (said["wrong"], "error")}
        rows = [(m.name, f"{m.given:g} {m.unit}", verdict[m.right], m.hint) for m in marks]
        columns = [said[x] for x in ("answer", "given", "mark", "hint")]
        data(table(f"{one.number}. {one.title}", columns, rows))
        if solution:
            raw(f"{one.solution()}\n")
    return int(not all(mark.right for mark in marks))


def _facts(one: Exercise, solution: bool) -> dict[str, Any]:
    """An exercise as JSON; who is to solve it does not find the answers there."""
    facts = asdict(one)
    return facts if solution else {k: x for k, x in facts.items() if k != "answers"}


def _read(answer: str, one: Exercise) -> list[float]:
    """Numbers; as many words with one comma each as answers are decimal commas."""
    given = answer.split()
    if len(given) == len(one.names) and all(DECIMAL.fullmatch(x) for x in given):
        answer = answer.replace(",", ".")
    return listed(answer, f"numbers of {', '.join(one.names)}", "answer")
