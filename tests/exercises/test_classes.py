"""Sheets of a class: different numbers, answers kept apart, hostile names, and marks."""

import csv
import json
import re

import numpy as np
import pytest

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import DynamisWarning, FileError, OptionError

HOSTILE = ("../../../etc/x", "<script>alert(1)</script>", r"\input{/etc/passwd} & 50 %", "=1+cmd()")
WHICH = [1, 5, "gear"]


def rows(path):
    lines = path.read_text("utf-8-sig").splitlines()
    return list(csv.reader(lines, delimiter=max(",;", key=lines[0].count)))


def students_of(folder):
    """Sheet, student and seed."""
    return {int(row[3]): (row[2], int(row[4])) for row in rows(folder)[1:]}


def answered(folder, sheet, answers, delimiter=",", comma=".", encoding="utf-8-sig"):
    """A form, filled in, as a text editor writes it."""
    path = folder / "students" / f"answers-{sheet}.csv"
    header, *asked = rows(path)
    filled = [[*row[:5], x.replace(".", comma)] for row, x in zip(asked, answers, strict=True)]
    lines = "\r\n".join(delimiter.join(row) for row in (header, *filled))
    return lines.encode(encoding)


def solutions(seed, language="en"):
    found = [dy.exercises.exercise(x, seed, language) for x in WHICH]
    return [f"{x:.4g}" for one in found for x in one.answers]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A class of four with strange names."""
    folder = tmp_path_factory.mktemp("class") / "made"
    return folder, dy.exercises.write_class(folder, list(HOSTILE), WHICH, "es")


def test_students_get_sheets_and_the_teacher_the_rest(made):
    folder, paths = made
    assert all(path.is_file() for path in paths) and len(paths) == 4 * 3 + 2
    names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert names == sorted(
        [f"students/sheet-{k}.html" for k in range(1, 5)]
        + [f"students/answers-{k}.csv" for k in range(1, 5)]
        + [f"teacher/solutions-{k}.html" for k in range(1, 5)]
        + ["teacher/class.csv", "teacher/answers.csv"]
    )  # fmt: skip
    known = students_of(folder / "teacher" / "class.csv")
    assert len({seed for _, seed in known.values()}) == 4
    for sheet, (_, seed) in known.items():
        given = (folder / "students" / f"sheet-{sheet}.html").read_text()
        one = dy.exercises.exercise("gear", seed, "es")
        assert one.text.split(".")[0][:20] in given and f"answers-{sheet}.csv" in given
        assert str(seed) not in given, "who knows the seed knows the answers"
        form = (folder / "students" / f"answers-{sheet}.csv").read_text("utf-8-sig")
        assert (
            not all(x in given for x in solutions(seed, "es"))
            and str(seed) not in form
            and form.startswith("clase;hoja;")
        )
        solved = (folder / "teacher" / f"solutions-{sheet}.html").read_text()
        numbers = [float(x) for x in re.findall(r"\d+\.\d+", solved)]
        assert np.isclose(numbers, one.answers[1], rtol=5e-4).any() and "<math" in solved


def test_names_are_text_wherever_they_are_written(made, tmp_path):
    folder, _ = made
    pages = "".join(p.read_text() for p in folder.rglob("*.html"))
    assert "<script" not in pages and "&lt;script&gt;alert(1)&lt;/script&gt;" in pages
    assert [row[2] for row in rows(folder / "teacher" / "class.csv")][4] == "'=1+cmd()"
    for format, dangerous, harmless in (
        ("latex", r"\input{", r"\textbackslash{}input\{/etc/passwd\} \& 50 \%"),
        ("markdown", "<script", "&lt;script&gt;"),
    ):
        dy.exercises.write_class(tmp_path / format, list(HOSTILE), [1], format=format)
        text = "".join(
            p.read_text() for p in (tmp_path / format).rglob("*") if p.suffix in (".md", ".tex")
        )
        assert dangerous not in text and harmless in text


def test_marks_of_a_class(made, tmp_path, capsys):
    folder, _ = made
    table = folder / "teacher" / "class.csv"
    known = students_of(table)
    right = {sheet: solutions(seed, "es") for sheet, (_, seed) in known.items()}
    returned = tmp_path / "returned"
    (returned / "student 2").mkdir(parents=True)
    (returned / "a.csv").write_bytes(answered(folder, 1, right[1]))
    (returned / "blank.csv").write_bytes(answered(folder, 1, [""] * 6))
    wrong = [right[2][0], "", f"{-float(right[2][2])}", "six", *right[2][4:]]
    (returned / "student 2" / "a.CSV").write_bytes(answered(folder, 2, wrong, ";", ",", "cp1252"))
    for name in ("b.csv", "c.csv"):
        (returned / name).write_bytes(answered(folder, 3, right[3]))
    (returned / "answers-4.csv").write_bytes(b"\xff\xfe\x00")
    own = rows(folder / "students" / "answers-1.csv")[1][0]
    for name, group, sheet in (("e.csv", own, 77), ("f.csv", "bcdfgh", 4)):
        text = f"class,sheet,exercise,wanted,unit,answer\n{group},{sheet},1,x,m,0\n"
        (returned / name).write_text(text)
    (returned / "photo.jpg").write_bytes(b"\xff\xd8")
    (returned / ".DS_Store").write_bytes(b"")
    marks = dy.exercises.class_marks(returned, table, "en")
    assert [(x.student.sheet, x.right, x.of) for x in marks.students] == [
        (1, 6, 6), (2, 3, 6), (3, 0, 6), (4, 0, 6),
    ]  # fmt: skip
    assert marks.students[0].student.name == HOSTILE[0] and not marks.students[0].remarks
    assert marks.students[3].student.name == HOSTILE[3], "the quote for spreadsheets is taken off"
    assert set(marks.students[1].remarks) == {
        "5 tau1: the sign is wrong",
        "5 tau2: no number: 'six'",
    }
    assert marks.students[2].remarks == ("handed in more than once",)
    unread = "answers-4.csv: cannot be read: expected a form saved as .csv"
    assert marks.students[3].remarks == (unread,)
    assert set(marks.problems) == {
        unread,
        "b.csv, c.csv: all of sheet 3, expected one file",
        "e.csv: is of sheet 77, which the class does not have",
        "f.csv: is a form of another class",
        "photo.jpg: cannot be read: expected a form saved as .csv",
    }

    saved = tmp_path / "marks.csv"
    words = ["exercise", "--mark", str(returned), "--students", str(table), "--language", "es"]
    assert main([*words, "--output", str(saved)]) == 1, "some could not be marked"
    assert "warning: photo.jpg: no se puede leer" in capsys.readouterr().err
    header, first, second, *rest = rows(saved)
    assert header == ["hoja", "estudiante", "correcto", "de", "1", "5", "12", "observaciones"]
    assert first[2:] == ["6", "6", "2", "2", "2", ""] and second[2:7] == ["3", "6", "1", "0", "2"]
    assert rest[1][7].startswith("answers-4.csv: no se puede leer")
    assert rest[-2][0] == "" and rest[-2][7].startswith("photo.jpg: no se puede leer")
    assert main([*words, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)[1]["by_exercise"] == {"1": 1, "5": 0, "12": 2}
    assert main(words) == 1
    assert "entregado más de una vez" in capsys.readouterr().out


def marked(made, tmp_path, form, sheet=1):
    """Right answers and remarks of a sheet after one form."""
    (tmp_path / "returned").mkdir(exist_ok=True)
    (tmp_path / "returned" / "form.csv").write_bytes(form)
    marks = dy.exercises.class_marks(tmp_path / "returned", made[0] / "teacher" / "class.csv", "en")
    return marks.students[sheet - 1]


def test_decimal_commas_in_a_table_with_commas_are_not_cut(made, tmp_path):
    folder, _ = made
    right = solutions(students_of(folder / "teacher" / "class.csv")[1][1], "es")
    right = [x if "." in x else f"{x}.0" for x in right]
    commas = [x.replace(".", ",") for x in right]
    form = answered(folder, 1, commas)
    assert b",N m," + commas[2].encode() in form, "one cell more than the header has"
    assert marked(made, tmp_path, form).right == 6
    units = ["m", "m", "N m", "N m", "kg m²", "N m"]
    form = answered(folder, 1, [f"{x} {u}" for x, u in zip(commas, units, strict=True)])
    assert marked(made, tmp_path, form).right == 6
    # what may mean something else is named
    for written in ("{},5,5", ",{}", "{}.5,5", "{},,5", "{},note"):
        said = marked(made, tmp_path, answered(folder, 1, [written.format("3"), *right[1:]]))
        assert said.right == 5 and "1 x: no number: " in said.remarks[0], written
    form = answered(folder, 1, [",5", *right[1:]], ";")  # 5 in a second column, perhaps
    assert "1 x: no number: ',5'" in marked(made, tmp_path, form).remarks
    # a spreadsheet pads its header: the cell beside an answer is a cell of its own
    padded = answered(folder, 1, right).replace(b"\r\n", b",\r\n", 1)
    padded = padded.replace(f",x,m,{right[0]}".encode(), b",x,m,46,8", 1)
    assert "1 x: no number: '46, 8'" in marked(made, tmp_path, padded).remarks
    titled = answered(folder, 1, right).replace(b"\r\n", b",why\r\n", 1)
    titled = titled.replace(f",x,m,{right[0]}".encode(), f",x,m,{right[0]},8".encode(), 1)
    assert marked(made, tmp_path, titled).right == 6


def test_rows_that_a_sheet_does_not_have_are_named(made, tmp_path):
    folder, _ = made
    right = solutions(students_of(folder / "teacher" / "class.csv")[1][1], "es")
    form = answered(folder, 1, right, ";").replace(b";5;tau1", b";8;tau1")
    said = marked(made, tmp_path, form)
    assert said.right == 5 and "the sheet does not ask for 8 tau1" in said.remarks
    _, _, others = answered(folder, 1, ["7"] * 6, ";").partition(b"\n")
    said = marked(made, tmp_path, answered(folder, 1, right, ";") + b"\r\n" + others)
    assert said.right == 0 and f"1 x: no number: '{right[0]}; 7'" in said.remarks


def test_folders_that_are_not_of_forms_handed_in(made, tmp_path, capsys):
    folder, _ = made
    names = tmp_path / "names.txt"
    names.write_text("Ana\nLuis\n")
    (tmp_path / "empty").mkdir()
    table = folder / "teacher" / "class.csv"
    for where, who, said in (
        (folder / "students", names, "class.csv"),
        (tmp_path / "empty", table, "is empty"),
        (folder, table, "teacher's folder"),
        (folder / "teacher", table, "teacher's folder"),
    ):
        assert main(["exercise", "--mark", str(where), "--students", str(who)]) == 2
        assert said in capsys.readouterr().err
    words = ["--students", str(table)]  # which knows its language
    assert main(["exercise", "--mark", str(folder / "students"), *words]) == 1
    said = capsys.readouterr()
    assert "blanco" in said.out  # columns of a narrow table break lines
    assert "ningún formulario de esta clase con respuestas" in said.err


def test_seeds_make_the_sheets_that_everybody_can_print(tmp_path, capsys):
    words = ["exercise", "1,gear", "--seeds", "9-10,40", "--format", "markdown", "--output"]
    assert main([*words, str(tmp_path / "a")]) == 0
    assert "wrote 11 files" in capsys.readouterr().err
    sheet = (tmp_path / "a" / "students" / "sheet-09.md").read_text()
    for one in (1, "gear"):
        assert dy.exercises.exercise(one, 9).text in sheet
    assert students_of(tmp_path / "a" / "teacher" / "class.csv") == {
        k: ("", k) for k in (9, 10, 40)
    }
    assert main([*words, str(tmp_path / "a")]) == 2, "handed out already"
    assert "not empty" in capsys.readouterr().err
    assert main([*words, str(tmp_path / "a"), "--overwrite"]) == 0, "the same sheets"
    # who was in a class gets the same sheets again
    table = tmp_path / "a" / "teacher" / "class.csv"
    dy.exercises.write_class(tmp_path / "b", table, ["gear", 1], format="markdown")
    again = (tmp_path / "b" / "students" / "sheet-09.md").read_text()
    assert dy.exercises.exercise("gear", 9).text in again
    dy.exercises.write_class(tmp_path / "c", table, format="markdown")
    for name in ("students/sheet-09.md", "students/answers-09.csv", "teacher/class.csv"):
        assert (tmp_path / "c" / name).read_bytes() == (tmp_path / "a" / name).read_bytes()


def test_a_list_as_moodle_exports_it_in_spanish(tmp_path):
    (tmp_path / "list.csv").write_text(
        '\ufeffNombre,Apellido(s),"Número de ID","Dirección de correo"\nAna,Pérez,A01,ana@u.es\n',
        encoding="utf-8",
    )
    dy.exercises.write_class(tmp_path / "a", tmp_path / "list.csv", [1], language="es")
    (student,) = students_of(tmp_path / "a" / "teacher" / "class.csv").values()
    assert student[0] == "Ana Pérez"


def test_exercises_by_a_range(capsys):
    assert main(["exercise", "2-4,gear", "--seed", "9"]) == 0
    shown = capsys.readouterr().out
    assert [k for k in range(1, 16) if f"## {k}. " in shown] == [2, 3, 4, 12]
    for wrong in ("4-2", "1-99999999"):
        assert main(["exercise", wrong]) == 2
        assert f"exercise is '{wrong}'" in capsys.readouterr().err


def test_a_class_is_never_replaced(tmp_path):
    folder, table = tmp_path / "a", tmp_path / "a" / "teacher" / "class.csv"
    dy.exercises.write_class(folder, ["Ana", "Luis"], [1])
    before = {path: path.read_bytes() for path in folder.rglob("*.*")}
    for students, which in ((["Ana", "Luis"], [1]), (table, [2])):
        with pytest.raises(FileError, match="seeds"):
            dy.exercises.write_class(folder, students, which, overwrite=True)
    with pytest.raises(FileError, match=r"2 files of other sheets: sheet-1\.html, sheet-2"):
        (folder / "teacher" / "solutions-1.html").unlink()
        (folder / "teacher" / "solutions-2.html").unlink()
        dy.exercises.write_class(folder, table, format="markdown", overwrite=True)
    assert all(path.read_bytes() == before[path] for path in folder.rglob("*.*"))
    # a student who comes later
    table.write_bytes(before[table] + b",,Eva,,,\r\n")
    dy.exercises.write_class(folder, table, overwrite=True)
    assert table.read_bytes().startswith(before[table])
    group, _, name, sheet, _, which = rows(table)[3]
    assert (group, name, sheet, which) == (rows(table)[1][0], "Eva", "3", "1")


def test_files_of_students(tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("﻿Ana Núñez\n\n  Luis   Peña \n", "utf-8")
    dy.exercises.write_class(tmp_path / "a", names, [1], "es")
    assert [x for x, _ in students_of(tmp_path / "a" / "teacher" / "class.csv").values()] == [
        "Ana Núñez", "Luis Peña",
    ]  # fmt: skip
    table = tmp_path / "class.csv"
    table.write_text("Nombre;Semilla\nAna;12\nLuis;\n")
    dy.exercises.write_class(tmp_path / "b", table, [1])
    assert students_of(tmp_path / "b" / "teacher" / "class.csv")[1] == ("Ana", 12)
    table.write_bytes(
        "Apellidos;Nombre;Semilla\nNúñez;Ana;7\nPeña;Luis;7\nNúñez;Ana;8".encode("cp1252")
    )
    with pytest.warns(DynamisWarning) as said:
        dy.exercises.write_class(tmp_path / "c", table, [1])
    assert {str(x.message) for x in said} == {
        "sheets 1, 3 have the same name, Ana Núñez",
        "sheets 1, 2 have the same seed, 7: the sheets are the same",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,group\n1,a\n", "expected a column student"),
        ("student,seed\nAna,-3\n", "seed of student 1 is '-3'"),
        ("student,seed\nAna,²\n", "seed of student 1"),
        ("student,sheet\nAna,3\nLuis,3\n", "two students with sheet 3"),
        ("student\n" + "x" * 101 + "\n", "101 characters"),
        ("student\n", "0 students"),
    ],
)
def test_tables_of_students_that_mean_nothing(text, said, tmp_path):
    (tmp_path / "class.csv").write_text(text)
    with pytest.raises((OptionError, FileError), match=said):
        dy.exercises.write_class(tmp_path / "a", tmp_path / "class.csv")
    assert not (tmp_path / "a").exists()


def test_options_that_do_not_go_together(tmp_path, capsys):
    for words, said in (
        (["--seeds", "1-3"], "need a folder"),
        (["--seeds", "3-1", "--output", "x"], "such as 1-30"),
        (["--mark", str(tmp_path)], "class.csv"),
        (["--mark", str(tmp_path / "x"), "--students", "y"], "no folder"),
        (["1,2", "--answer", "1", "2"], "say which"),
        (["1,99", "--seeds", "1-3", "--output", str(tmp_path / "x")], "1 to 36"),
    ):
        assert main(["exercise", *words]) == 2
        assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_marks_of_a_term(tmp_path, capsys):
    """By name: the mean of the sheets that were handed in, how many, and how many are missing."""
    words = ["exercise", "--language", "en", "--mark"]
    names = [["Ada", "Grace"], ["Grace", "Sofia"]]
    for k, some in enumerate(names):
        dy.exercises.write_class(tmp_path / f"class{k}", some, WHICH)
        (tmp_path / f"back{k}").mkdir()
        known = students_of(tmp_path / f"class{k}" / "teacher" / "class.csv")
        answers = solutions(known[1][1])
        wrong = [*answers[:3], *["999"] * (len(answers) - 3)]
        form = answered(tmp_path / f"class{k}", 1, wrong if k else answers)
        (tmp_path / f"back{k}" / "answers-1.csv").write_bytes(form)
    folders = ",".join(str(tmp_path / f"back{k}") for k in range(2))
    tables = [str(tmp_path / f"class{k}" / "teacher" / "class.csv") for k in range(2)]
    assert main([*words, folders, "--students", ",".join(tables), "--json"]) == 0
    of = len(solutions(1))
    head = ("student", "back0", "back1", "mean of sheets (%)", "sheets", "missing")
    rows_of = [
        ("Ada", f"{of}/{of}", "", "100", "1", "1"),
        ("Grace", "", f"3/{of}", f"{300 / of:.0f}", "1", "1"),
        ("Sofia", "", "", "", "0", "2"),
    ]
    assert json.loads(capsys.readouterr().out) == [dict(zip(head, x, strict=True)) for x in rows_of]
    saved = tmp_path / "term.csv"
    assert main([*words, folders, "--students", ",".join(tables), "--output", str(saved)]) == 0
    assert rows(saved) == [list(head), *map(list, rows_of)]
    assert main([*words, folders, "--students", tables[0]]) == 2
    assert "expected one class for every folder" in capsys.readouterr().err
    with pytest.warns(DynamisWarning, match="the same name"):
        dy.exercises.write_class(tmp_path / "twins", ["Ada", "Ada"], WHICH)
    twins = dy.exercises.term_marks([tmp_path / "back0"], [tmp_path / "twins/teacher/class.csv"])
    with pytest.raises(dy.errors.FileError, match="no name, or the same one"):
        assert twins.students


LISTS = {  # as course platforms export them
    "moodle": (
        "First name,Surname,ID number,Email address\n"
        "Ana,Núñez,0012,ana@example.org\nLuis,Peña,0013,luis@example.org\n"
    ),
    "moodle-es": (
        "Nombre;Apellido(s);Número de ID;Dirección de correo\n"
        "Ana;Núñez;0012;ana@example.org\nLuis;Peña;0013;luis@example.org\n"
    ),
    "canvas": (
        "Student,ID,SIS Login ID,Section\n    Points Possible,,,\n"
        '"Núñez, Ana",501,ana@example.org,A\n"Peña, Luis",502,-luis,A\n'
    ),
}  # fmt: skip


@pytest.mark.parametrize("platform", LISTS)
def test_columns_of_a_list_come_back_with_the_marks(platform, tmp_path):
    given = tmp_path / "list.csv"
    given.write_text(LISTS[platform], "utf-8")
    folder = tmp_path / "class"
    dy.exercises.write_class(folder, given, WHICH)
    table = folder / "teacher" / "class.csv"
    returned = tmp_path / "returned"
    returned.mkdir()
    seed = students_of_columns(table)[1]
    (returned / "a.csv").write_bytes(answered(folder, 1, solutions(seed)))
    marks = dy.exercises.class_marks(returned, table)
    came = [row for row in rows(given) if "Points Possible" not in row[0]]
    saved = rows(marks.save(tmp_path / "marks.csv"))
    wide = len(came[0])
    assert [[x.removeprefix("'") for x in row[:wide]] for row in saved[:3]] == came
    assert saved[0][wide:] == ["sheet", "right", "of", "1", "5", "12", "remarks"]
    assert [row[wide + 1] for row in saved[1:]] == ["6", "0"]
    again = rows(
        dy.exercises.write_class(tmp_path / "again", table)[0].parents[1] / "teacher" / "class.csv"
    )
    assert again == rows(table), "who was in a class gets the same sheets again, ID and all"
    assert all("example.org" not in p.read_text() for p in (folder / "students").glob("*"))


def students_of_columns(table):
    return {int(row[3]): int(row[4]) for row in rows(table)[1:]}


def test_a_term_puts_students_together_by_their_columns(tmp_path):
    twins = "Name,Email address\nAna,a1@example.org\nAna,a2@example.org\n"
    other = "Name,Email address\nAna,a2@example.org\n"
    folders = []
    for k, text in enumerate((twins, other)):
        (tmp_path / f"list{k}.csv").write_text(text)
        if k == 0:
            with pytest.warns(DynamisWarning, match="same name"):
                dy.exercises.write_class(tmp_path / f"c{k}", tmp_path / f"list{k}.csv", [1])
        else:
            dy.exercises.write_class(tmp_path / f"c{k}", tmp_path / f"list{k}.csv", [1])
        back = tmp_path / f"back{k}"
        back.mkdir()
        form = tmp_path / f"c{k}" / "students" / "answers-1.csv"
        (back / "a.csv").write_bytes(form.read_bytes().replace(b",m,", b",m,9"))
        folders.append(back)
    tables = [tmp_path / f"c{k}" / "teacher" / "class.csv" for k in (0, 1)]
    term = dy.exercises.term_marks(folders, tables)
    assert term.rows == [
        ["Name", "Email address", "back0", "back1", "mean of sheets (%)", "sheets", "missing"],
        ["Ana", "a1@example.org", "0/2", "", "0", "1", "1"],
        ["Ana", "a2@example.org", "", "0/2", "0", "1", "1"],
    ]
