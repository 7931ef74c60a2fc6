"""`dynamis exercise`: exercises with numbers of one's own, sheets of a class, and their marks."""

import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import Positional, arg

from ..errors import OptionError, counted
from ..exercises import (
    EXERCISES,
    ClassMarks,
    StudentMarks,
    TermMarks,
    class_marks,
    exercise,
    register,
    sheet,
    term_marks,
    write_assignment,
    write_class,
    write_quiz,
)
from ..exercises.exercise import Exercise
from ..exercises.question import words
from ..exercises.sheets import SUFFIXES, worked_text
from ..files import checked_path, write
from .arguments import Json, Numbers, listed
from .printing import data, data_json, raw, table, talk, wrote

DECIMAL = re.compile(r"[-+]?\d+,\d+")
RANGE = re.compile(r"(\d+)(?:-(\d+))?")
MOST_SEEDS = 1000
QUIZZES = (".xml", ".gift")
Which = Annotated[
    Positional[str],
    arg(
        metavar="[EXERCISE,..]",
        help="Numbers, names or ranges such as 1-8 (default: all).",
        help_behavior_hint="",
    ),
]
Language = Literal["en", "es"]


def run(
    which: Which = "all", *, seed: int = 0, language: Language | None = None,
    answer: Numbers = None, solution: bool = False, working: bool = False,
    exercises: Path | None = None, seeds: str | None = None, students: Path | None = None,
    mark: Path | None = None,
    format: Literal["html", "markdown", "latex"] = "html",
    output: Path | None = None, overwrite: bool = False, json: Json = False,
) -> int:  # fmt: skip
    """Print an exercise, or a sheet of all, and check answers; make and mark sheets of a class.

    Every seed (a student's number, say) has numbers of its own, the same on every machine. Exit
    code 1 if an answer is wrong, or if a file that was handed in could not be marked.

    For example:

      dynamis exercise --seed 2041 > sheet.md
      dynamis exercise 5 --seed 2041
      dynamis exercise 5 --seed 2041 --answer 74.2,18.9
      dynamis exercise gravity-torques --seed 2041 --language es --working
      dynamis exercise 1,5,gear --seed 2041 --working --output sheet.html

    A class: sheets and forms for answers in class1/students, solutions in class1/teacher; then
    marks of the forms that came back:

      dynamis exercise 1-8 --seeds 1-30 --output class1
      dynamis exercise 1,5,8 --students names.txt --output class1 --language es
      dynamis exercise --mark returned --students class1/teacher/class.csv --output marks.csv
      dynamis exercise --exercises mine.py --seeds 1-20 --output quiz.xml
      dynamis exercise --mark back1,back2 --students 1/teacher/class.csv,2/teacher/class.csv

    Args:
        seed: Seed of the numbers, such as a student's number.
        language: Language of the text: en (English, the default) or es (Spanish); with --mark that
            of the class if none is given.
        answer: Answers to check, in the order and units of the question.
        solution: Print the solution too.
        working: Print the solution step by step.
        exercises: Python file (.py) with exercises of your own, which is run: give only files that
            you trust. They are known by number and name, and `all` means them.
        seeds: A sheet for each of these seeds, such as 1-30 or 3,7,12-20; needs --output. To a file
            .xml (Moodle XML) or .gift: a variant of each exercise.
        students: A sheet for each student of a file: names (one a line), or a table (.csv) with a
            column student (or first name and surname) and perhaps seed; needs --output. With
            --mark: the teacher's class.csv.
        mark: Folder of the forms that were handed in; --output writes the marks as .csv. Several
            folders, with as many files after --students: one table of a term.
        format: Of the sheets of a class.
        output: File of a sheet (.html, .md, .tex), of an assignment for nbgrader (.ipynb), of
            questions for a course platform (.xml, .gift; needs --seeds), or folder of a class.
        overwrite: Write into a folder that is not empty; another class there is not replaced.
    """
    own = [] if exercises is None else [x.number for x in register(exercises)]
    if mark is not None:
        if students is None:
            raise OptionError(
                "the class of the forms is not given", "--students class1/teacher/class.csv"
            )
        folders, classes = _several(mark), _several(students)
        if len(folders) > 1 or len(classes) > 1:
            return _mark_term(folders, classes, language, output, json)
        return _mark(mark, students, language, output, json)
    language = language or "en"
    chosen = own if own and which == "all" else _chosen(which)
    if output is not None and output.suffix.lower() in QUIZZES:
        if seeds is None:
            raise OptionError(
                "questions for a course platform need seeds", "--seeds 1-20: a variant for each"
            )
        wrote(write_quiz(output, _seeds(seeds), chosen, language))
        return 0
    if seeds is not None or students is not None:
        if output is None or (seeds is not None and students is not None):
            raise OptionError(
                "sheets of a class need a folder, and either seeds or students",
                "--seeds 1-30 --output class1",
            )
        who = students if students is not None else _seeds(seeds or "")
        some = None if which == "all" and not own else chosen
        paths = write_class(output, who, some, language, format, overwrite)
        talk(f"wrote {counted(len(paths), 'file')} to {output}")
        return 0
    if output is not None and output.suffix.lower() == ".ipynb":
        wrote(write_assignment(output, seed, chosen, language))
        return 0
    if output is not None:
        formats = {suffix: name for name, suffix in SUFFIXES.items()}
        path = checked_path(output, formats, "sheet")
        kind = formats[path.suffix.lower()]
        wrote(write(path, sheet(seed, language, chosen, solution, working, kind, drawings=True)))
        return 0
    if answer is not None:
        if len(chosen) > 1:
            raise OptionError(
                "answers were given and no exercise", "say which: dynamis exercise 5 ..."
            )
        return _check(exercise(chosen[0], seed, language), answer, solution, working, json)
    found = [exercise(x, seed, language) for x in chosen]
    if json:
        facts = [_facts(one, solution, working) for one in found]
        data_json(facts[0] if which != "all" and not found[1:] else facts)
    elif which == "all" or found[1:]:
        raw(sheet(seed, language, chosen, solution, working))
    else:
        raw(str(found[0]) + _solved(found[0], solution, working))
    return 0


def _chosen(which: str) -> list[int | str]:
    """Exercises by number or name."""
    if which == "all":
        return list(EXERCISES)
    parts = re.split(r"[,\s]+", which.strip(" ,"))
    return [x for part in parts for x in (_numbers(part) or [part])]


def _numbers(part: str) -> list[int]:
    """A number, or those of a range such as 1-8; none for what is neither, or too many."""
    match = RANGE.fullmatch(part)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    return [] if last - first >= MOST_SEEDS else list(range(first, last + 1))


def _seeds(given: str) -> list[int]:
    """1-30, or 3,7,12-20."""
    found: list[int] = []
    for part in re.split(r"[,\s]+", given.strip(" ,")):
        numbers = _numbers(part)
        if not numbers:
            raise OptionError(
                f"seeds is {given!r}, expected whole numbers such as 1-30 or 3,7,12-20, at most "
                f"{MOST_SEEDS}"
            )
        found += numbers
    return found


def _solved(one: Exercise, solution: bool, working: bool) -> str:
    if working:
        return "\n" + worked_text(one).partition("\n\n")[2]
    return f"\n{one.solution()}\n" if solution else ""


def _check(one: Exercise, answer: str, solution: bool, working: bool, json: bool) -> int:
    """Marks of the answers to one exercise."""
    marks = one.check(_read(answer, one))
    if json:
        data_json(marks)
    else:
        said = words(one.language)["words"]
        verdict = {True: (said["right"], "good"), False: (said["wrong"], "error")}
        rows = [(m.name, f"{m.given:g} {m.unit}", verdict[m.right], m.hint) for m in marks]
        columns = [said[x] for x in ("answer", "given", "mark", "hint")]
        data(table(f"{one.number}. {one.title}", columns, rows))
        raw(_solved(one, solution, working).removeprefix("\n"))
    return int(not all(mark.right for mark in marks))


def _mark(
    folder: Path, students: Path, language: str | None, output: Path | None, json: bool
) -> int:
    """Marks of a class, as a table or a file."""
    if output is not None:
        checked_path(output, (".csv",), "table of marks")
    marks = class_marks(folder, students, language)
    said = words(marks.language)["words"]
    if json:
        data_json([_marked_facts(one) for one in marks.students])
    elif output is None:
        rows = [
            (str(x.student.sheet), x.student.name, str(x.right), str(x.of), "; ".join(x.remarks))
            for x in marks.students
        ]
        rows += [("", "", "", "", problem) for problem in marks.unassigned]
        columns = [said[x] for x in ("sheet", "student", "right", "of", "remarks")]
        data(table(f"{said['marks']}: {folder}", columns, rows, right=columns[2:4]))
    return _told(marks, output)


def _told(marks: ClassMarks | TermMarks, output: Path | None) -> int:
    """The file of the marks, and what could not be marked."""
    if output is not None:
        wrote(marks.save(output))
    for problem in marks.problems:
        talk(f"warning: {problem}")
    return int(bool(marks.problems))


def _several(given: Path) -> list[Path]:
    """Paths with commas between them; a comma may also be part of a name."""
    return [given] if given.exists() else [Path(x) for x in str(given).split(",")]


def _mark_term(
    folders: list[Path], classes: list[Path], language: str | None, output: Path | None, json: bool
) -> int:
    """Marks of several classes, as a table or a file."""
    if output is not None:
        checked_path(output, (".csv",), "table of marks")
    marks = term_marks(folders, classes, language)
    (head, *rows), said = marks.rows, words(marks.classes[0].language)["words"]
    if json:
        data_json([dict(zip(head, row, strict=True)) for row in rows])
    elif output is None:
        data(table(said["marks"], head, rows, right=head[1:]))
    return _told(marks, output)


def _marked_facts(one: StudentMarks) -> dict[str, Any]:
    student = asdict(one.student) | {"columns": dict(one.student.columns)}
    by_exercise = {k: right for k, (right, _) in one.by_exercise.items()}
    return student | {
        "right": one.right, "of": one.of, "by_exercise": by_exercise, "remarks": one.remarks
    }  # fmt: skip


def _facts(one: Exercise, solution: bool, working: bool) -> dict[str, Any]:
    """An exercise as JSON; who is to solve it does not find the answers there."""
    said = {"question"} if solution or working else {"question", "answers"}
    facts = {x.name: getattr(one, x.name) for x in fields(one) if x.name not in said}
    if working:
        facts["working"] = [asdict(x) | {"plain": str(x)} for x in one.working()]
    return facts


def _read(answer: str, one: Exercise) -> Sequence[float]:
    """Numbers; as many words with one comma each as answers are decimal commas."""
    given = answer.split()
    if len(given) == len(one.names) and all(DECIMAL.fullmatch(x) for x in given):
        answer = answer.replace(",", ".")
    return listed(answer, f"numbers of {', '.join(one.names)}", "answer")
