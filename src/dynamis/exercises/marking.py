"""Marks of the answers of a class: forms that were handed in, and what could not be marked."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..arguments import checked, choice, is_list, path_of
from ..errors import (
    DynamisError,
    FileError,
    ModelError,
    OptionError,
    abbreviated,
    counted,
    legible,
    shown,
)
from ..files import checked_path, write
from ..lazy import cached_property
from ..model.quantity import quantity
from .classes import ClassList, Student, kept_cells, kept_titles, read_class
from .exercise import exercise
from .question import LANGUAGES, words
from .spreadsheets import Spreadsheet, read_table, table_bytes

MOST_FILES = 10_000  # in a folder that is marked
OF_SYSTEMS = ("thumbs.db", "desktop.ini", "__macosx")  # which nobody handed in
CLASS, SHEET, EXERCISE, WANTED, UNIT, ANSWER = range(6)  # columns of a form
DECIMAL = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")
BEFORE_COMMA = re.compile(r"[-+]?\d+")
NAME = re.compile(r"answers-(\d{1,9})(?!\d)", re.IGNORECASE)  # of the file of a form


@dataclass(frozen=True)
class StudentMarks:
    """Answers of one student that are right; `by_exercise` counts them, number -> (right, of)."""

    student: Student
    by_exercise: Mapping[int, tuple[int, int]]
    remarks: tuple[str, ...] = ()
    handed_in: bool = True  # one form, not blank

    @property
    def right(self) -> int:
        """Right answers."""
        return sum(right for right, _ in self.by_exercise.values())

    @property
    def of(self) -> int:
        """Answers that were asked for."""
        return sum(of for _, of in self.by_exercise.values())


@dataclass(frozen=True)
class ClassMarks:
    """Marks of a class, and what could not be marked."""

    students: tuple[StudentMarks, ...]
    problems: tuple[str, ...]
    language: str

    @property
    def unassigned(self) -> tuple[str, ...]:
        """Problems that are no student's remark."""
        said = {remark for one in self.students for remark in one.remarks}
        return tuple(x for x in self.problems if x not in said)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write a table (.csv): a row for each student, then one for each unassigned problem.

        Columns of the list of students (ID, e-mail) stand first, as they came in.
        """
        said = words(self.language)["words"]
        numbers = sorted({k for one in self.students for k in one.by_exercise})
        titles = kept_titles([one.student for one in self.students])
        before = [*titles, said["sheet"]] if titles else [said["sheet"], said["student"]]
        rows: list[list[Any]] = [[*before, said["right"], said["of"], *numbers, said["remarks"]]]
        for one in self.students:
            marks = [one.by_exercise.get(k, ("", 0))[0] for k in numbers]
            who = [*kept_cells(one.student, titles), one.student.sheet]
            who = who if titles else [*who, one.student.name]
            rows.append([*who, one.right, one.of, *marks, "; ".join(one.remarks)])
        empty = [""] * (len(before) + 2 + len(numbers))
        rows += [[*empty, problem] for problem in self.unassigned]
        content = table_bytes(rows, self.language)
        return write(checked_path(path, (".csv",), "table of marks"), content)


@dataclass(frozen=True)
class TermMarks:
    """Marks of several classes of a term, one row for each student; `sheets` names the classes."""

    sheets: tuple[str, ...]
    classes: tuple[ClassMarks, ...]

    @cached_property
    def students(self) -> Mapping[str, tuple[StudentMarks | None, ...]]:
        """Name -> marks in every class; None where the class has no such student.

        Where all classes have the same columns of a list (ID, e-mail), these cells are the name.
        """
        named = [{self._who(x.student): x for x in one.students} for one in self.classes]
        for label, one, known in zip(self.sheets, self.classes, named, strict=True):
            if "" in known or len(known) < len(one.students):
                raise FileError(
                    f"{label}: students of the class have no name, or the same one",
                    "marks of a term are put together by the names of --students",
                )
        names = dict.fromkeys(name for known in named for name in known)
        return {name: tuple(known.get(name) for known in named) for name in names}

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Titles of the columns that all classes kept; none if they differ."""
        each = {kept_titles([x.student for x in one.students]) for one in self.classes}
        return each.pop() if len(each) == 1 else ()

    def _who(self, student: Student) -> str:
        return "\t".join(kept_cells(student, self.titles)).strip("\t") or student.name

    @property
    def rows(self) -> list[list[str]]:
        """A table: the head, then of each student right answers of every sheet, and the mean (%)
        over those handed in, how many these are, and how many are missing."""
        said = words(self.classes[0].language)["words"]
        head = self.titles or (said["student"],)
        found = [[*head, *self.sheets, *(said[x] for x in ("mean", "count", "missing"))]]
        for name, marks in self.students.items():
            came = [x for x in marks if x is not None and x.handed_in]
            mean = f"{100.0 * sum(x.right / x.of for x in came) / len(came):.0f}" if came else ""
            each = ["" if x is None or not x.handed_in else f"{x.right}/{x.of}" for x in marks]
            first = next(x.student for x in marks if x is not None)
            who = kept_cells(first, self.titles) or [name]
            found.append([*who, *each, mean, str(len(came)), str(len(marks) - len(came))])
        return found

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be marked, by class."""
        each = zip(self.sheets, self.classes, strict=True)
        return tuple(f"{label}: {x}" for label, one in each for x in one.problems)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write `rows` (.csv)."""
        content = table_bytes(self.rows, self.classes[0].language)
        return write(checked_path(path, (".csv",), "table of marks"), content)


@checked
def term_marks(
    directories: Sequence[str | Path], students: Sequence[str | Path], language: str | None = None
) -> TermMarks:
    """Marks of several classes: a folder of forms and a teacher/class.csv for each of them."""
    for name, given in (("directories", directories), ("students", students)):
        if not is_list(given):
            raise OptionError(f"{name} is {shown(given)}, expected a list of paths")
    directories, students = list(directories), list(students)
    if not directories or len(directories) != len(students):
        raise OptionError(
            f"{counted(len(directories), 'folder')} of forms and {counted(len(students), 'class')} "
            "were given, expected one class for every folder",
            "--mark back1,back2 --students class1/teacher/class.csv,class2/teacher/class.csv",
        )
    pairs = zip(directories, students, strict=True)
    classes = [class_marks(folder, group, language) for folder, group in pairs]
    return TermMarks(tuple(Path(x).name for x in directories), tuple(classes))


@checked
def class_marks(
    directory: str | Path, students: str | Path, language: str | None = None
) -> ClassMarks:
    """Marks of the forms in a folder (and its folders), for every student of a class.

    `students` is the path of teacher/class.csv. Files that are no form, forms that cannot be read,
    are of another class, nobody's, or came twice are `problems`, and do not count; blank forms do
    not count either. Remarks are in the `language` of the class, unless another is given.
    """
    if language is not None:
        choice(language, "language", LANGUAGES)
    folder = path_of(directory, "directory")
    if not folder.is_dir():
        raise FileError(f"{str(folder)!r} is no folder", "give the folder of the forms")
    group = read_class(students)
    language = language or group.language
    said = words(language)["forms"]
    handed_in = {x.sheet: HandedIn() for x in group.students}
    problems = []
    for path in _files(folder, Path(students)):
        name = str(path.relative_to(folder))
        read = _form(path)
        problem = _problem(read, group, said)
        if isinstance(read, Form) and problem is None:
            handed_in[read.sheet].forms[name] = read
        else:
            problems.append(legible(f"{name}: {problem}"))
            match = NAME.search(path.name) if isinstance(read, str) else None
            if match and int(match[1]) in handed_in:  # whose it is, only its name tells
                handed_in[int(match[1])].unread.append(problems[-1])
    for sheet, own in handed_in.items():
        if len(own.filled) > 1:
            problems.append(legible(said["same"].format(files=", ".join(own.filled), sheet=sheet)))
    if not any(own.filled for own in handed_in.values()):
        problems.insert(0, legible(said["none"].format(folder=repr(str(folder)))))
    marks = (_marked(student, handed_in[student.sheet], language) for student in group.students)
    return ClassMarks(tuple(marks), tuple(problems), language)


def _files(folder: Path, students: Path) -> list[Path]:
    """What was handed in."""
    if students.resolve().is_relative_to(folder.resolve()):
        raise FileError(
            f"{str(folder)!r} has {students.name} itself: it is the teacher's folder, not that of "
            "the forms handed in",
            "collect the forms that come back in a folder of their own, and give that",
        )
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file()
        and not any(x[0] == "." or x.lower() in OF_SYSTEMS for x in path.relative_to(folder).parts)
    )
    if not 0 < len(found) <= MOST_FILES:
        given = f"has {len(found)} files, expected at most {MOST_FILES}" if found else "is empty"
        raise FileError(
            f"{str(folder)!r} {given}", "give the folder with the forms that were handed in"
        )
    return found


# forms


@dataclass(frozen=True)
class Form:
    """What was handed in: class, sheet, and (exercise, name) -> what was written."""

    class_id: str
    sheet: int
    answers: Mapping[tuple[str, str], str]


@dataclass
class HandedIn:
    """Files of one sheet: name -> form, and what is to be said about those that are none."""

    forms: dict[str, Form] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @property
    def filled(self) -> dict[str, Form]:
        """Forms that are not blank."""
        return {name: form for name, form in self.forms.items() if any(form.answers.values())}


def _problem(read: Form | str, group: ClassList, said: Mapping[str, str]) -> str | None:
    """Why a file is not marked."""
    if isinstance(read, str):
        return said[read]
    if read.class_id != group.id:
        return said["other"]
    known = any(student.sheet == read.sheet for student in group.students)
    return None if known else said["no_sheet"].format(sheet=read.sheet)


def _form(path: Path) -> Form | str:
    """A form, or why it is none; columns are where they were, with titles of any language."""
    if path.suffix.lower() != ".csv":
        return "unreadable"
    try:
        table = read_table(path)
    except DynamisError:
        return "unreadable"
    if len(table.header) <= ANSWER or not table.rows or any(len(x) < UNIT for x in table.rows):
        return "no_form"
    if len({(row[CLASS], row[SHEET]) for row in table.rows}) != 1:
        return "several"
    class_id, sheet = table.rows[0][:EXERCISE]
    if not re.fullmatch("[0-9]{1,18}", sheet):
        return "no_form"
    answers: dict[tuple[str, str], str] = {}
    for row in table.rows:
        key, answer = (row[EXERCISE], row[WANTED]), _answer(row, table)
        before = answers.get(key, "")
        answers[key] = f"{before}; {answer}" if before and answer else before or answer
    return Form(class_id, int(sheet), answers)


def _answer(row: Sequence[str], table: Spreadsheet) -> str:
    """What the last cells of a row say.

    A decimal comma that separates cells (46,8 typed into a table with commas) is put back: the row
    is then longer than the header, which no spreadsheet writes. Whatever else is there is kept.
    """
    titles = table.header
    others = {k for k, title in enumerate(titles) if title and k != ANSWER}
    cells = [x for k, x in enumerate(row) if k not in others]
    while cells and not cells[-1]:
        cells.pop()
    if table.separator == "," and len(titles) == ANSWER + 1 and len(cells) == 2:
        whole, decimals = cells
        if BEFORE_COMMA.fullmatch(whole) and decimals[0].isdigit():
            return f"{whole},{decimals}"
    return f"{table.separator} ".join(cells)


# marks


def _marked(student: Student, handed_in: HandedIn, language: str) -> StudentMarks:
    """Marks of one student, with what is to be said about wrong answers."""
    said = words(language)
    filled = list(handed_in.filled.values())
    answers = dict(filled[0].answers) if len(filled) == 1 else {}
    counts, remarks = {}, list(handed_in.unread)
    if len(filled) > 1:
        remarks.append(said["words"]["twice"])
    elif not filled and handed_in.forms:
        remarks.append(said["words"]["blank"])
    elif not filled and not remarks:
        remarks.append(said["words"]["nothing"])
    for one in student.drawn(language):
        given = []
        for names in zip(*(_names(one.number, x) for x in LANGUAGES), strict=True):
            cells = [answers.pop((str(one.number), x), "") for x in dict.fromkeys(names)]
            written = next(filter(None, cells), "")
            unit = one.units[len(given)]
            value = _value(written, unit)
            if value is None:
                shown_text = abbreviated(written, 40)
                remarks.append(
                    f"{one.number} {one.names[len(given)]}: {said['words']['unread']} "
                    f"{shown_text!r}"
                )
            given.append(math.nan if value is None else value)
        marks = one.check(given)
        counts[one.number] = sum(mark.right for mark in marks), len(marks)
        remarks += [f"{one.number} {mark.name}: {mark.hint}" for mark in marks if mark.hint]
    others = ", ".join(" ".join(key) for key, written in answers.items() if written)
    if others:
        remarks.append(said["forms"]["no_rows"].format(rows=abbreviated(others, 80)))
    return StudentMarks(student, counts, tuple(map(legible, remarks)), len(filled) == 1)


def _names(number: int, language: str) -> tuple[str, ...]:
    return exercise(number, 0, language).names


def _value(written: str, unit: str) -> float | None:
    """A number as people write it; NaN for nothing, None for what is none."""
    number = written.removesuffix(unit).strip() if unit else written
    if not number:
        return math.nan
    if DECIMAL.fullmatch(number):
        number = number.replace(",", ".")
    try:
        found = quantity(number, "answer")
    except ModelError:
        return None
    return found if isinstance(found, float) else None
