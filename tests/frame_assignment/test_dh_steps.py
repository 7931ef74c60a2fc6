"""The Denavit-Hartenberg procedure as steps: printed tables, kinematics, every number told."""

import math
import random
import re
from typing import Any

import numpy as np
import pytest
import sympy as sp

import dynamis as dy
from dynamis.errors import DynamisError, ModelError, OptionError
from dynamis.frame_assignment.parameters import about_lines, by_matrices, measured
from dynamis.frame_assignment.prose import PLACE, table, to_text
from dynamis.frame_assignment.steps import NUMBERINGS, dh_steps
from dynamis.model.dh.convert import construction
from dynamis.model.dh.procedure import DH_CONVENTIONS, Choices, constants, construct
from dynamis.model.model import Model
from dynamis.plots.labels import Labels
from dynamis.spatial.frames import matrix
from tests.thorough import thorough_but

from .axis_sets import random_axes

KEPT = 1e-12  # poses: rotations as they are, lengths by the size of the arm
EXACT = 1e-13

# tables as the documents print them: theta, d, a, alpha
PRINTED = {
    "planar-rr": [("q1", "0", "L1", "0"), ("q2", "0", "L2", "0")],
    "planar-rp": [("q1", "d1", "0", "-pi/2"), ("0", "q2", "0", "0")],
    "kr16": [
        ("q1", "d1", "a1", "pi/2"), ("q2", "0", "a2", "0"), ("q3", "0", "a3", "-pi/2"),
        ("q4", "d4", "0", "-pi/2"), ("q5", "0", "0", "pi/2"), ("q6", "d6", "0", "0"),
    ],
    "sixr": [
        ("q1", "0", "0", "-pi/2"), ("q2", "l1", "0", "pi/2"), ("q3 - pi/2", "0", "-l2", "pi/2"),
        ("q4", "l3", "0", "-pi/2"), ("q5", "0", "0", "pi/2"), ("q6", "l4", "0", "0"),
    ],
    "rppr": [
        ("q1", "0.4", "0", "0"), ("0", "q2", "-0.1", "-pi/2"), ("0", "q3", "0", "0"),
        ("q4", "0.2", "0", "0"),
    ],
    "elbow6": [
        ("q1", "0.315", "0", "-pi/2"), ("q2", "0", "0.45", "0"), ("q3", "0", "0", "pi/2"),
        ("q4", "0.5", "0", "-pi/2"), ("q5", "0", "0", "pi/2"), ("q6", "0.08", "0", "0"),
    ],
    "pendulum3": [("q1", "0", "1", "0"), ("q2", "0", "1", "0"), ("q3", "0", "1", "0")],
    "polar-rp": [("q1", "0", "0", "-pi/2"), ("0", "q2", "0", "0")],
}  # fmt: skip
# arms whose table comes from the lines of their axes alone; those that ask for a choice say which
FROM_AXES = {
    "planar-rr": {}, "planar-rp": {}, "polar-rp": {}, "pendulum3": {}, "cartesian-xy": {},
    "planar-2link": {}, "elbow6": {}, "kr16": {}, "kr16-p4": {}, "puma560": {},
    "scara": {"parallel": "joint"},
    "sixr": {"flip": (3,)},
    "panda": {"flip": (4,)},
}  # fmt: skip
TYPED = """
name typed rppr
revolute  0 0 0   0 0 1
prismatic 0 0 0.4   0 0 1
prismatic 0 0 0   0 1 0
revolute  -0.1 0 0.4   0 1 0
tool -0.1 0.2 0.4   -90deg 0 0
"""


def cells(steps):
    """Rows of the printed table: theta, d, a, alpha."""
    return [tuple(to_text(x) for x in row[2:]) for row in steps.cells[1:]]


def rows(made):
    return [(*constants(x), x.a, x.alpha) for x in made.chain.rows]


@pytest.mark.parametrize("name", PRINTED)
def test_tables_of_the_documents_as_they_are_printed(name):
    steps = dy.dh_steps(name, letters="by-place" if name == "kr16" else None)
    assert cells(steps) == PRINTED[name]


@pytest.mark.parametrize("name", FROM_AXES)
def test_tables_come_from_the_axes_alone(name):
    model = dy.load(name).model
    own = construction(model, model.convention)
    axes = [(x.kind, x.point, x.direction) for x in own.axes]
    base, tool = (np.array(matrix(T)) for T in (own.frames[0], own.frames[-1]))
    choices = FROM_AXES[name]
    steps = dy.dh_steps(axes, model.convention, base=base, tool=tool, **choices)
    assert np.allclose(rows(steps.construction), rows(own), rtol=0, atol=EXACT)
    assert not steps.own


def test_a_document_s_arm_typed_as_lines_of_text():
    """Origins next to the joints, x2 turned round: the table that the document prints."""
    steps = dy.dh_steps(TYPED, parallel="joint", flip=(2,))
    assert cells(steps) == PRINTED["rppr"]
    assert steps.robot.name == "typed rppr"
    assert cells(dy.dh_steps(TYPED))[0] == ("q1", "0", "0", "0")  # without those choices


# kinematics


def largest(a, b, size):
    gap = np.abs(np.array(matrix(a)) - np.array(matrix(b)))
    gap[:3, 3] /= size
    return gap.max()


def kept(seed, convention, choices=None):
    """How far the table's kinematics are from the axes', at three positions."""
    axes, _, base, tool = random_axes(seed)
    made = construct(axes, convention, base, tool, choices or Choices())
    points = [made.tip.p, *(x.p for x in made.frames), *(x.point for x in made.axes)]
    size = max(math.dist(p, base.p) for p in points) or 1.0
    draw, worst = random.Random(seed), 0.0
    for _ in range(3):
        x = [draw.uniform(-3, 3) * (size if y.kind == "prismatic" else 1.0) for y in axes]
        worst = max(worst, largest(about_lines(made, x), by_matrices(made, x), size))
    return worst


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
@pytest.mark.parametrize("block", thorough_but(range(1), range(20)))
def test_kinematics_of_random_axes_are_kept(block, convention):
    """Fifty sets in each of twenty blocks: 1000."""
    for seed in range(50 * block, 50 * block + 50):
        assert kept(seed, convention) < KEPT, seed
        choices = Choices(frozenset(range(1, len(random_axes(seed)[0]), 2)), "joint")
        assert kept(seed, convention, choices) < KEPT, seed


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_the_robot_of_the_steps_moves_as_its_axes(convention):
    """Its poses of base and tool are angles again: nothing is lost there either."""
    for seed in range(12):
        axes, _, base, tool = random_axes(seed)
        start, end = np.array(matrix(base)), np.array(matrix(tool))
        made = construct(axes, convention, base, tool)
        rows_of = [(x.kind, x.point, x.direction) for x in axes]
        arm = dy.Robot.from_axes("arm", rows_of, convention=convention, base=start, tool=end)
        q = np.linspace(-1.0, 1.0, len(axes))
        told = dy.dh_steps(rows_of, convention, base=start, tool=end).robot
        assert np.array_equal(told.fk(q), arm.fk(q))
        assert np.allclose(told.fk(q), matrix(about_lines(made, list(q))), rtol=0, atol=10 * KEPT)


def test_random_sets_have_every_case():
    found = set()
    for seed in range(50):
        axes, cases, base, tool = random_axes(seed)
        made = construct(axes, "standard", base, tool)
        found |= {bar.case for bar in made.bars}
        for k, case in enumerate(cases, 1):
            if axes[k - 1].kind == axes[k].kind == "revolute":
                assert made.bars[k].case == case, (seed, k)
    assert found == {"", "skew", "intersecting", "parallel", "coincident"}


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_what_is_measured_on_the_frames_is_the_table(convention):
    """theta, d, a, alpha by the formulas that are printed, next to the rows."""
    for seed in range(40):
        axes, _, base, tool = random_axes(seed)
        made = construct(axes, convention, base, tool)
        for joint, row in enumerate(rows(made), 1):
            theta, d, a, alpha = measured(made, joint).values
            assert abs(math.remainder(theta - row[0], 2 * math.pi)) < 1e-10
            assert abs(d - row[1]) < 1e-10 and abs(a - row[2]) < 1e-10
            assert abs(math.remainder(alpha - row[3], 2 * math.pi)) < 1e-10


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_bars_meet_both_axes_at_right_angles(convention):
    for seed in range(40):
        axes, _, base, tool = random_axes(seed)
        made = construct(axes, convention, base, tool)
        for k in range(1, len(axes)):
            bar, lines = made.bars[k], made.lines[k - 1 : k + 1]
            for line, foot in zip(lines, (bar.start, bar.end), strict=True):
                assert math.dist(line.foot(foot), foot) < 1e-9
                assert abs(np.dot(bar.x, line.direction)) < 1e-9
            origin = made.frames[k].p
            assert math.dist(origin, bar.end if convention == "standard" else bar.start) < 1e-9
            assert np.allclose([r[0] for r in made.frames[k].R], bar.x, atol=1e-9)


@pytest.mark.parametrize("name", [*PRINTED, "puma560", "puma560-mdh", "panda", "stanford"])
def test_a_table_of_its_own_is_told_by_its_frames(name):
    """Bars of the table meet both axes at right angles, and give its rows again."""
    model = dy.load(name).model
    made = construction(model, model.convention)
    frames = dy.Robot(model).frames(np.zeros(model.n))
    for k, bar in enumerate(made.bars):
        assert np.allclose(bar.x, frames[k][:3, 0], atol=EXACT)
        feet = [(line, foot) for line, foot in ((k - 1, bar.start), (k, bar.end)) if
                0 < k < len(made.lines)]  # fmt: skip
        for line, foot in feet:
            assert math.dist(made.lines[line].foot(foot), foot) < EXACT
            assert abs(np.dot(bar.x, made.lines[line].direction)) < EXACT
    for joint, row in enumerate(rows(made), 1):
        assert np.allclose(measured(made, joint).values, row, rtol=0, atol=EXACT)


def test_letters_leave_symbols_of_the_robot_alone():
    links = [dy.Link(a="l1"), dy.Link(a=0.3, d="d2"), dy.Link(a=0.3, d=0.2)]
    robot = dy.Robot.from_dh("a", convention="standard", links=links, values={"l1": 1, "d2": 2})
    assert [row[1:3] for row in cells(dy.dh_steps(robot, letters="numbered"))] == [
        ("0", "l1"), ("d2", "l2"), ("l3", "l4"),
    ]  # fmt: skip
    links[2] = dy.Link(a=0.3, d="2*a3")
    robot = dy.Robot.from_dh("a", convention="standard", links=links,
                             values={"l1": 1, "d2": 2, "a3": 3})  # fmt: skip
    assert cells(dy.dh_steps(robot, letters="by-place"))[2][1:3] == ("2 a3", "aa3")


def test_choices_do_what_they_say():
    axes = [("revolute", (0, 0, 0), (0, 0, 1)), ("revolute", (0.5, 0, 0.2), (0, 0, 1)),
            ("revolute", (0.9, 0, 0.2), (0, 1, 0))]  # fmt: skip
    usual, flipped = (dy.dh_steps(axes, flip=f).construction for f in ((), (1,)))
    assert usual.bars[1].a == -flipped.bars[1].a == 0.5
    told = " ".join(dy.dh_steps(axes, flip=(1,)).text().split())
    assert "x1 = (-1, 0, 0): from z1 to z0, so that the length a will be negative" in told
    assert "x1 points from z1 to z0, against the rule: It was asked to be turned round." in told
    assert usual.bars[1].x == (1, 0, 0) and flipped.bars[1].x == (-1, 0, 0)
    near, next_to = (dy.dh_steps(axes, parallel=p).construction for p in ("previous", "joint"))
    assert [x.d for x in near.chain.rows[:2]] == [0, 0.2]
    assert [x.d for x in next_to.chain.rows[:2]] == [0.2, 0]


# what is printed


@pytest.mark.parametrize("name", ["kr16", "rppr", "sixr", "panda", "stanford"])
@pytest.mark.parametrize("convention", DH_CONVENTIONS)
def test_printed_matrices_multiply_to_the_forward_kinematics(name, convention):
    robot = dy.load(name)
    steps = dy.dh_steps(robot, convention, letters="numbered")
    values = {sp.Symbol(k, real=True): v for k, v in steps.robot.model.values.items()}
    q = [0.3, -0.7, 0.5, 0.2, -0.4, 0.9, 1.1][: robot.n]
    values |= {sp.Symbol(f"q{i + 1}", real=True): x for i, x in enumerate(q)}
    named = {sp.Symbol(f"theta{i + 1}", real=True): x for i, x in enumerate(q)}  # of odd angles
    values |= {k: v + row.offset for (k, v), row in zip(
        named.items(), steps.construction.chain.rows, strict=True)}  # fmt: skip

    def product(step):
        T = np.eye(4)
        for item in steps[step].items:
            T = T @ np.array(item.expression.subs(values).evalf(), dtype=float)
        return T

    assert np.allclose(product("DH13"), robot.fk(q), atol=1e-7)  # numbers print with six digits
    around = [x.expression for x in steps["DH13"].items if "mathrm" in x.name]
    inner = product("DH14")
    base = steps.robot.model.base.frame({})
    tool = matrix(steps.robot.model.tool.frame(steps.robot.model.values))
    assert np.allclose(np.array(matrix(base)) @ inner @ np.array(tool), robot.fk(q), atol=1e-7)
    assert len(around) <= 2


def test_an_angle_that_is_no_right_one_is_printed_by_its_name():
    lines = "revolute 0 0 0 0 0 1; revolute 0.3 0.1 0.5 0 1 0.5; R 0.9 0.4 0.7 0 1 0.5"
    steps = dy.dh_steps(lines, "modified")
    told = steps.text()
    angle = re.search(r"Here theta2 = q2 ([-+] [\d.]+)\.", told)
    assert angle and abs(float(angle[1].replace(" ", "")) - steps.robot.dh().rows[1].offset) < 1e-4
    assert "cos(theta2)" in told


def test_every_case_is_named_with_its_numbers():
    text = dy.dh_steps(
        [
            ("revolute", (0, 0, 0), (0, 0, 1)),
            ("revolute", (0.1, 5, 0.4), (0, 1, 0)),
            ("revolute", (0.5, 0, 0.4), (0, 1, 0)),
            ("revolute", (0.5, 1, 0.4), (1, 0, 0)),
            ("revolute", (2, 1, 0.4), (-1, 0, 0)),
        ]
    ).text()
    text = " ".join(text.split())
    assert "z0 and z1 are skew" in text
    assert "It leaves z0 at (0, 0, 0.4) and meets z1 at (0.1, 0, 0.4), 0.1 m apart" in text
    assert "z1 and z2 are parallel, 0.4 m apart" in text
    assert "z2 and z3 intersect at (0.5, 1, 0.4)" in text
    assert "z3 and z4 lie on the same line" in text
    assert "O2 along z2: it is where d2 = 0" in text
    assert "x4: any direction across the line would do. It is that of x3" in text


def test_letters_one_for_every_length():
    axes = [("revolute", (0, 0, 0), (0, 0, 1)), ("revolute", (0.4, 0, 0.4), (0, 1, 0)),
            ("prismatic", (0.8, 0, 0.4), (0, 1, 0))]  # fmt: skip
    tool = {"xyz": (0.8, -0.25, 0.4), "rpy": (-math.pi / 2, 0, 0)}
    steps = dy.dh_steps(axes, tool=tool, letters="numbered")
    assert cells(steps) == [
        ("q1", "l1", "l2", "-pi/2"),
        ("q2", "0", "l3", "0"),
        ("0", "q3 - l4", "0", "0"),
    ]
    assert dict(steps.values) == {"l1": 0.4, "l2": 0.4, "l3": 0.4, "l4": 0.25}
    by_place = dy.dh_steps(axes, tool=tool, letters="by-place")
    assert [x for x, _ in by_place.values] == ["d1", "a1", "a2", "s3"]
    modified = dy.dh_steps(axes, "modified", tool=tool, letters="by-place")
    assert cells(modified)[1] == ("q2", "0", "a1", "-pi/2")
    q = [0.3, 0.4, 0.1]
    assert np.allclose(steps.robot.fk(q), dy.dh_steps(axes, tool=tool).robot.fk(q), atol=1e-15)
    own = dy.dh_steps("sixr", letters="numbered")  # symbols that are there stay, d has none
    assert cells(own) == PRINTED["sixr"]


def test_numberings_hold_the_same_steps():
    fourteen, sixteen = (dy.dh_steps("planar-rr", numbering=x) for x in NUMBERINGS)
    assert (len(fourteen), len(sixteen)) == (14, 16)
    assert [x.label for x in fourteen][-1] == "DH14" and [x.label for x in sixteen][-1] == "DH16"
    assert fourteen["DH5"].topic == sixteen["DH6"].topic == "origins"
    assert sixteen["DH3"].topic == "lines" and sixteen["DH16"].topic == "meaning"
    assert sixteen["DH16"].items[0].value[0][3] == fourteen.robot.fk([0, 0])[0, 3]
    with pytest.raises(OptionError, match="no step is called 'DH15'"):
        fourteen["DH15"]


def test_both_languages_say_the_same():
    english, spanish = table("en"), table("es")
    assert {k: set(v) for k, v in english.items()} == {k: set(v) for k, v in spanish.items()}
    for part, phrases in english.items():
        for key, phrase in phrases.items():
            other = spanish[part][key]
            assert sorted(PLACE.findall(phrase)) == sorted(PLACE.findall(other)), (part, key)
            assert phrase.count("$") % 2 == other.count("$") % 2 == 0
    told = dy.dh_steps("kr16", language="es").text()
    assert "z0 y z1 se cruzan" in told and "z1 y z2 son paralelos, a 0.68 m" in told
    assert "Libre aquí:" in told and " the " not in told


@pytest.mark.parametrize("convention", DH_CONVENTIONS)
@pytest.mark.parametrize("numbering", NUMBERINGS)
@pytest.mark.parametrize("language", ["en", "es"])
def test_no_place_of_a_phrase_is_left_empty(convention, numbering, language):
    for seed in range(6):
        axes, _, base, tool = random_axes(seed)
        given = [(x.kind, x.point, x.direction) for x in axes]
        steps = dh_steps(
            given, convention, base=np.array(matrix(base)), tool=np.array(matrix(tool)),
            numbering=numbering, language=language,
        )  # fmt: skip
        page = steps._repr_html_().split("</style>")[1]
        for text in (steps.text(), steps.markdown(), steps.latex(), page):
            assert "@" not in text and "nan" not in text and "None" not in text


def test_robots_of_every_kind_end_at_their_table():
    """URDF in both conventions; a DH robot in its own and in the other."""
    for name, convention in (("ur10e", "standard"), ("ur10e", "modified"), ("puma560", "modified"),
                             ("puma560-mdh", None), ("stanford", None)):  # fmt: skip
        robot = dy.load(name)
        steps = dy.dh_steps(robot, convention)
        own = [(x.theta, x.d, x.a, x.alpha, x.offset) for x in robot.dh(steps.convention).rows]
        told = [(x.theta, x.d, x.a, x.alpha, x.offset) for x in steps.robot.dh().rows]
        assert own == told
        made = steps.construction
        assert np.allclose(
            rows(made), [(*constants(x), x.a, x.alpha) for x in steps.robot.model.links]
        )
        assert steps.own == (convention in (None, robot.model.convention))
    assert dy.dh_steps("ur10e").convention == "standard"  # what DH1 to DH14 teach


# drawings and files


@pytest.mark.parametrize("topic", dict.fromkeys([*NUMBERINGS["dh"], *NUMBERINGS["sixteen"]]))
def test_every_step_has_a_drawing(topic):
    steps = dy.dh_steps("rppr", numbering="sixteen")
    step = next(x for x in steps if x.topic == topic)
    figure = steps.plot(step.label)
    figure.canvas.draw()
    names = [x for a in figure.axes for x in a.get_children() if isinstance(x, Labels)]
    assert names and names[0].marks
    for mark in names[0].marks:
        assert np.isfinite(mark.point).all()


def test_drawn_normals_are_those_of_the_procedure():
    steps = dy.dh_steps("kr16")
    axes: Any = steps.plot("DH5").axes[0]
    drawn = [np.array(x.get_data_3d()).T for x in axes.lines if x.get_linewidth() == 3.0]
    bars = [b for b in steps.construction.bars[1:6] if b.a]
    assert len(drawn) == len(bars) == 3
    for line, bar in zip(drawn, bars, strict=True):
        assert np.allclose(line, [bar.start, bar.end])


def test_a_page_needs_nothing_else(tmp_path):
    steps = dy.dh_steps("planar-rp", language="es")
    steps.save(tmp_path / "dh.html")
    page = (tmp_path / "dh.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 14 and page.count("<section>") == 14
    assert 'lang="es"' in page
    assert not re.search(r'(src|href)="http', page) and "<script" not in page


def test_latex_has_its_drawings_beside_it(tmp_path):
    dy.dh_steps("planar-rp").save(tmp_path / "dh.tex")
    body = (tmp_path / "dh.tex").read_text(encoding="utf-8")
    pictures = re.findall(r"\\includegraphics\[[^]]*\]\{([^}]+)\}", body)
    assert len(pictures) == 14
    assert all((tmp_path / x).read_bytes().startswith(b"%PDF") for x in pictures)
    assert body.count("{") == body.count("}") and body.count("$") % 2 == 0
    for kind in ("itemize", "tabular", "center", "bmatrix", "document"):
        assert body.count(rf"\begin{{{kind}}}") == body.count(rf"\end{{{kind}}}")


@pytest.mark.parametrize(("suffix", "start"), [(".md", "# planar-rp"), (".txt", "planar-rp: ")])
def test_text_files(tmp_path, suffix, start):
    path = tmp_path / f"dh{suffix}"
    dy.dh_steps("planar-rp").save(path)
    assert path.read_text().startswith(start)
    with pytest.raises(OptionError, match="suffix decides how the steps"):
        dy.dh_steps("planar-rp").save(tmp_path / "dh.doc")


def test_names_are_no_markup():
    """A dollar, a tag or a backslash in a name stays what it is."""
    link = dy.Link(name="$x<b>&", a=0.5, joint_name="a_$b\\c")
    robot = dy.Robot.from_dh("arm $1 <i>", convention="standard", links=[link])
    steps = dy.dh_steps(robot)
    assert "$x<b>&" in steps.text() and "arm $1 <i>" in steps.text()
    page = steps._repr_html_()
    assert "$x&lt;b&gt;&amp;" in page and "<i>" not in page and "<b>&" not in page
    assert r"a\_\$b\textbackslash{}c" in steps.latex()
    steps.plot("DH1").canvas.draw()


# what is refused


def test_trees_and_closed_mechanisms_are_refused_by_name():
    links = [dy.Link(name="torso"), dy.Link(name="left", parent="torso"), dy.Link(parent="torso")]
    model = Model(name="twins", convention="urdf", links=tuple(links))
    with pytest.raises(ModelError, match=r"'twins' is a tree: 'torso' carries[\s\S]*hint: lock"):
        dy.dh_steps(dy.Robot(model))
    with pytest.raises(ModelError, match=r"'five-bar' has closures[\s\S]*hint: give the axes"):
        dy.dh_steps("five-bar")


AXIS = ("revolute", (0, 0, 0), (0, 0, 1))


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ([], {}, "no axes were given"),
        (3, {}, "source is 3, expected joint axes, a robot"),
        ([AXIS, "revolute"], {}, r"axes\[1\] is 'revolute', expected \(kind, point, direction\)"),
        ([AXIS, ("revolute", (0, 0, 0), (0, 0, 0))], {}, r"axes\[1\]: axis direction is \(0, 0, 0"),
        ([("hinge", (0, 0, 0), (0, 0, 1))], {}, r"axes\[0\]: axis kind 'hinge' does not exist"),
        ([AXIS], {"flip": (1,)}, "flip has 1, expected frames between axes"),
        ([AXIS], {"flip": "x"}, "flip is 'x', expected a list"),
        ([AXIS], {"letters": "greek"}, "letters is 'greek', expected 'numbered', 'by-place'"),
        ([AXIS], {"numbering": "DH"}, "numbering is 'DH', expected 'dh', 'sixteen'"),
        ([AXIS], {"language": "fr"}, "language is 'fr'"),
        ([AXIS], {"convention": "craig"}, "convention 'craig' does not exist for a DH table"),
        ([AXIS] * 101, {}, "101 joints were given, expected at most 100"),
        ("kr16", {"tool": {"xyz": (0, 0, 1)}}, "tool was given for robot 'kr16'"),
        ("kr16", {"flip": (2,)}, "flip was given for robot 'kr16', which has its own"),
        ("R 1e160 0 0 0 0 1; R 0 1e160 0 0 1 0", {}, r"the arm is .* m large, expected 1e-09 to"),
        ("R 1e-99 0 0 0 0 1; R 0 1e-98 0 0 1 0", {}, r"the arm is 1e-98 m large"),
        ("revolute 0 0 0", {}, "axes: line 1: 3 numbers after the joint"),
        ("no-such-robot", {}, "neither a robot of the catalogue nor a file"),
    ],
)
def test_wrong_input_is_named(given, options, message):
    with pytest.raises(DynamisError, match=message):
        dy.dh_steps(given, **options)
