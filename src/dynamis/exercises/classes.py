"""Sheets of a class, each with numbers of its own.

Names of students are data: file names hold numbers of sheets only, and a name is escaped wherever
it is written, in tables for spreadsheets too.
"""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from ..arguments import checked, choice, is_list, path_of, whole
from ..errors import FileError, OptionError, counted, legible, shown, warn
from ..files import write_folder
from .exercise import LARGEST_SEED, Exercise, exercise, number_of
from .question import EXERCISES, LANGUAGES, words
from .sheets import SUFFIXES, Sheet
from .spreadsheets import FORMULA, number_text, read_table, table_bytes, text_of

SECRET_SEEDS = 10**9  # seeds nobody told are drawn below
MOST_STUDENTS = 1000
LONGEST_NAME = 100  # characters
ID_LETTERS, ID_LENGTH = "bcdfghjklmnpqrstvwxz", 6  # no spreadsheet takes it for a number or a date
ID = re.compile(rf"[{ID_LETTERS}]{{{ID_LENGTH}}}")
OF_A_SHEET = re.compile(r"(sheet|answers|solutions)-\d+\.\w+")
COLUMNS = {  # of a table of students, in both languages
    "class_id": ("class_id",), "language": ("language",),
    "student": (
        "student", "name", "first name", "full name", "estudiante", "nombre", "nombre completo",
        "nombre y apellidos", "nombre(s)",
    ),
    "surname": (
        "surname", "last name", "family name", "apellido", "apellidos", "apellido(s)",
    ),
    "sheet": ("sheet", "hoja"), "seed": ("seed", "semilla"),
    "exercises": ("exercises", "ejercicios"),
}  # fmt: skip
NO_STUDENT = "points possible"  # the second row of a table of Canvas
CLASS_COLUMNS = ("class_id", "language", "student", "sheet", "seed", "exercises")  # of class.csv


@dataclass(frozen=True)
class Student:
    """Who gets a sheet: its number, the seed of its numbers, and which exercises it has.

    `columns` are those of the list of students (title, cell) as they came in: ID, e-mail, ...
    """

    sheet: int
    seed: int
    name: str = ""
    exercises: tuple[int, ...] = tuple(range(1, len(EXERCISES) + 1))
    columns: tuple[tuple[str, str], ...] = ()

    def drawn(self, language: str) -> tuple[Exercise, ...]:
        """The exercises of the sheet."""
        return tuple(exercise(x, self.seed, language) for x in self.exercises)


@dataclass(frozen=True)
class ClassList:
    """Students, and a random `id` that tells forms of the class from those of another."""

    id: str
    students: tuple[Student, ...]
    language: str = "en"


# sheets


@checked
def write_class(
    directory: str | Path,
    students: Any,
    which: Sequence[int | str] | None = None,
    language: str = "en",
    format: str = "html",
    overwrite: bool = False,
) -> list[Path]:
    """Write a sheet with numbers of its own for every student; all files or none.

    `students` are seeds (whole numbers), names, or the path of a file: names, one a line, or a
    table (.csv) with a column student (or first name and surname) and perhaps seed. Where seeds
    are not given they are drawn at random, and only the teacher's class.csv holds them. A list
    that a course platform exports keeps its columns (ID, e-mail) in the table of marks. `which`
    and `language` are as of `sheet`; `format` is "html", "markdown" or "latex".

    students/ has the sheets and a form for the answers of each; teacher/ has class.csv (which
    `class_marks` needs), the answers of all and the worked solutions of each. `overwrite` writes
    into a folder that is not empty; a class that is there is kept: it may get further students
    (rows in its class.csv), but no other seeds or exercises.
    """
    choice(language, "language", LANGUAGES)
    choice(format, "format", SUFFIXES)
    chosen = None if which is None else tuple(map(number_of, which))
    group = _class_list(students, chosen)
    folder = path_of(directory, "directory")
    if not overwrite and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(
            f"{str(folder)!r} is there and not empty",
            "choose another directory; overwrite=True (--overwrite) writes into this one, but "
            "never over the seeds of another class",
        )
    group = _continued(folder, group)
    width = len(str(max(x.sheet for x in group.students)))
    files: dict[str, str | bytes] = {}
    for student in group.students:
        files |= _files_of(student, group.id, language, format, width)
    files["teacher/class.csv"] = table_bytes(_class_rows(group, language), language)
    files["teacher/answers.csv"] = table_bytes(_answer_rows(group.students, language), language)
    _check_others(folder, files)
    for note in _notes(group.students):
        warn(note)
    return write_folder(folder, files, overwrite=True)


def _continued(folder: Path, group: ClassList) -> ClassList:
    """The class, with the id of the one that is in the folder; another one is not replaced."""
    file = folder / "teacher" / "class.csv"
    if not file.exists():
        return group
    rows = _table_of_students(file)
    before, ids = _named(rows), {x.get("class_id", "") for x in rows} - {""}
    given = {(x.sheet, x.seed, x.exercises) for x in group.students}
    kept = all(
        (x.sheet, x.seed, x.exercises) in given
        for x, row in zip(before, rows, strict=True)
        if row.get("seed")  # students without one are added
    )
    if not kept or len(ids) != 1:
        raise FileError(
            f"{str(folder)!r} has another class, whose sheets cannot be marked without the seeds "
            f"in {str(file)!r}",
            "choose another directory, or delete this one if none of its sheets was handed out; "
            "to add students, add rows to class.csv and give it as the students",
        )
    return replace(group, id=ids.pop())


def _check_others(folder: Path, files: Mapping[str, Any]) -> None:
    """Refuse a folder with sheets that would lie beside the new ones."""
    there = [x for name in ("students", "teacher") for x in (folder / name).glob("*")]
    others = sorted(
        x.name
        for x in there
        if OF_A_SHEET.fullmatch(x.name) and x.relative_to(folder).as_posix() not in files
    )
    if others:
        raise FileError(
            f"{str(folder)!r} has {counted(len(others), 'file')} of other sheets: "
            f"{legible(', '.join(others[:3]))}{', ...' if others[3:] else ''}",
            "choose another directory, or move them away",
        )


def _notes(students: Sequence[Student]) -> list[str]:
    """What a teacher may not have meant."""
    found = []
    for what, key in (("name", lambda x: x.name), ("seed", lambda x: x.seed)):
        sheets: dict[Any, list[int]] = {}
        for student in students:
            sheets.setdefault(key(student), []).append(student.sheet)
        for value, alike in sheets.items():
            if value != "" and len(alike) > 1:
                same = ": the sheets are the same" if what == "seed" else ""
                found.append(
                    f"sheets {', '.join(map(str, alike))} have the same {what}, {value}{same}"
                )
    return found


def _files_of(
    student: Student, class_id: str, language: str, format: str, width: int
) -> dict[str, str | bytes]:
    """Sheet, form and solutions of a student."""
    number, drawn = f"{student.sheet:0{width}}", student.drawn(language)
    note = words(language)["words"]["handing_in"].format(file=f"answers-{number}.csv")
    sheet = Sheet(student.sheet, language, drawn, student.name, note)
    solved = Sheet(student.sheet, language, drawn, student.name, workings=True)
    form = _form_rows(student, class_id, drawn)
    suffix = SUFFIXES[format]
    return {
        f"students/sheet-{number}{suffix}": sheet.written(format),
        f"students/answers-{number}.csv": table_bytes(form, language),
        f"teacher/solutions-{number}{suffix}": solved.written(format),
    }


def _class_rows(group: ClassList, language: str) -> list[Sequence[Any]]:
    """The table that makes the sheets again, and marks them."""
    titles = kept_titles(group.students)
    rows: list[Sequence[Any]] = [(*CLASS_COLUMNS, *titles)]
    for x in group.students:
        which = " ".join(map(str, x.exercises))
        own = (group.id, language, x.name, x.sheet, x.seed, which)
        rows.append((*own, *kept_cells(x, titles)))
    return rows


def kept_titles(students: Sequence[Student]) -> tuple[str, ...]:
    """Titles of the columns that came in with a list of students."""
    return tuple(dict.fromkeys(title for x in students for title, _ in x.columns))


def kept_cells(student: Student, titles: Sequence[str]) -> list[str]:
    """Cells of a student in these columns."""
    known = dict(student.columns)
    return [known.get(title, "") for title in titles]


def _form_rows(student: Student, class_id: str, drawn: Sequence[Exercise]) -> list[list[Any]]:
    """The form for answers: one row for each, its last cell empty."""
    said = words(drawn[0].language)["words"]
    rows = [[said[x] for x in ("class", "sheet", "exercise", "wanted", "unit", "answer")]]
    for one in drawn:
        pairs = zip(one.names, one.units, strict=True)
        rows += [[class_id, student.sheet, one.number, name, unit, ""] for name, unit in pairs]
    return rows


def _answer_rows(students: Sequence[Student], language: str) -> list[list[Any]]:
    """Every answer of every student."""
    said = words(language)["words"]
    columns = ("sheet", "student", "exercise", "wanted", "unit", "answer")
    rows = [[said[x] for x in columns]]
    for student in students:
        for one in student.drawn(language):
            numbers = (number_text(x, language) for x in one.answers)
            answers = zip(one.names, one.units, numbers, strict=True)
            rows += [[student.sheet, student.name, one.number, *x] for x in answers]
    return rows


# students


def _class_list(given: Any, chosen: tuple[int, ...] | None) -> ClassList:
    """A class from seeds, names or a file, with the exercises chosen."""
    known = None
    if isinstance(given, (str, Path)):
        rows = _table_of_students(path_of(given, "students"))
        found, ids = _named(rows), {x.get("class_id", "") for x in rows} - {""}
        if len(ids) == 1 and all(chosen in (None, x.exercises) for x in found):
            known = ids.pop()  # the same sheets again
    elif not is_list(given):
        raise OptionError(
            f"students is {shown(given)}, expected a list of names or seeds, or the path of a file"
        )
    else:
        listed = list(islice(given, MOST_STUDENTS + 1))
        if all(isinstance(x, str) for x in listed):
            found = _named([{"student": x} for x in listed])
        else:
            found = [Student(x, x) for x in (whole(x, "seed", 0, LARGEST_SEED) for x in listed)]
    students = found if not chosen else [replace(x, exercises=chosen) for x in found]
    if known is None or not ID.fullmatch(known):
        known = "".join(secrets.choice(ID_LETTERS) for _ in range(ID_LENGTH))
    return ClassList(known, _checked_students(students))


def _checked_students(found: Sequence[Student]) -> tuple[Student, ...]:
    if not 0 < len(found) <= MOST_STUDENTS:
        raise OptionError(
            f"there are {counted(len(found), 'student')}, expected 1 to {MOST_STUDENTS}"
        )
    sheets = [x.sheet for x in found]
    twice = next((x for x in sheets if sheets.count(x) > 1), None)
    if twice is not None:
        raise OptionError(f"there are two students with sheet {twice}, expected one")
    return tuple(found)


def read_class(path: Any) -> ClassList:
    """The class of a class.csv; a list of students without seeds is refused."""
    file = path_of(path, "students")
    rows = _table_of_students(file)
    ids = {row.get("class_id", "") for row in rows}
    complete = all(row.get("sheet") and row.get("seed") for row in rows)
    if not rows or not complete or len(ids) != 1 or not ID.fullmatch(id := ids.pop()):
        raise FileError(
            f"{str(file)!r} is not the class.csv of a class: expected the columns "
            f"{', '.join(CLASS_COLUMNS)} with one class_id, and a sheet and a seed in every row",
            "give the teacher/class.csv that was written with the sheets: a list of names does "
            "not tell what is on them",
        )
    language = choice(rows[0].get("language") or "en", "language", LANGUAGES)
    return ClassList(id, _checked_students(_named(rows)), language)


def _table_of_students(file: Path) -> list[dict[str, Any]]:
    """Rows of a file, column -> cell: names, one a line, or a table (.csv).

    "columns" has the cells to keep by their titles.
    """
    if file.suffix.lower() != ".csv":
        return [{"student": x} for x in text_of(file).splitlines() if x.strip()]
    table = read_table(file)
    titles = [cell.lower() for cell in table.header]
    ours = tuple(titles[: len(CLASS_COLUMNS)]) == CLASS_COLUMNS
    looked_at = titles[: len(CLASS_COLUMNS)] if ours else titles
    places = {
        key: next((k for k, title in enumerate(looked_at) if title in known), None)
        for key, known in COLUMNS.items()
    }
    if places["student"] is None and places["seed"] is None:
        raise FileError(
            f"the header of {str(file)!r} is {shown(', '.join(table.header))}, expected a column "
            "student (and perhaps seed)"
        )
    found = []
    for row in table.rows:
        cells: dict[str, Any] = {
            key: row[k] for key, k in places.items() if k is not None and k < len(row)
        }
        if cells.get("student", "").lower() == NO_STUDENT:
            continue
        cells["columns"] = tuple(
            (table.header[k], _unquoted(row[k])) for k in _kept(titles) if k < len(row)
        )
        found.append(cells)
    return found


def _kept(titles: Sequence[str]) -> list[int]:
    """Columns to keep: those behind our own of a class.csv, or all of another list with an ID."""
    if tuple(titles[: len(CLASS_COLUMNS)]) == CLASS_COLUMNS:
        return [k for k in range(len(CLASS_COLUMNS), len(titles)) if titles[k]]
    meaning = {title: key for key, known in COLUMNS.items() for title in known}
    if all(title in meaning for title in titles if title):
        return []
    names = ("student", "surname", None)
    return [k for k, title in enumerate(titles) if title and meaning.get(title) in names]


def _unquoted(cell: str) -> str:
    """A cell without the quote that keeps a spreadsheet from computing it."""
    rest = cell.removeprefix("'")
    return rest if FORMULA.match(rest) else cell


def _named(rows: Sequence[Mapping[str, Any]]) -> list[Student]:
    """Students of the rows of a table; what is not given is counted, drawn, or as before."""
    found, used = [], set[int]()
    for k, row in enumerate(rows, 1):
        whole_name = f"{row.get('student', '')} {row.get('surname', '')}"
        name = _unquoted(legible(" ".join(whole_name.split())))
        if len(name) > LONGEST_NAME:
            raise OptionError(
                f"the name of student {k} has {counted(len(name), 'character')}, expected at most "
                f"{LONGEST_NAME}"
            )
        seed = _whole(row.get("seed"), "seed", k)
        while seed is None or (not row.get("seed") and seed in used):
            seed = secrets.randbelow(SECRET_SEEDS)
        used.add(seed)
        sheet = _whole(row.get("sheet"), "sheet", k)
        own = tuple(
            number_of(int(x) if x.isdecimal() else x) for x in row.get("exercises", "").split()
        )
        own = own or (found[-1].exercises if found else Student.exercises)
        number, columns = k if sheet is None else sheet, row.get("columns", ())
        found.append(Student(number, seed, name, own, columns))
    return found


def _whole(cell: str | None, name: str, k: int) -> int | None:
    if not cell:
        return None
    if not cell.isdecimal() or not cell.isascii() or len(cell) > len(str(LARGEST_SEED)):
        raise OptionError(f"the {name} of student {k} is {shown(cell)}, expected a whole number")
    return whole(int(cell), name, 0, LARGEST_SEED)
