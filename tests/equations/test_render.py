"""Derivations on paper and screen: well formed, escaped, self-contained, numbers as typed."""

import re
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import sympy as sp

import dynamis as dy
from dynamis.cli import main
from dynamis.equations.derivation.steps import METHODS, derivation
from dynamis.equations.render import math as render_math
from dynamis.equations.render.formula import mathml, plain
from dynamis.equations.render.html import body, page, write_page
from dynamis.errors import FileError

CASES = [("polar-rp", "lagrange-euler"), ("planar-rr", "newton-euler"), ("scara", "gibbs-appell")]
LONG = [("sixr", "newton-euler"), ("rppr", "lagrange-euler")]
CASES += [pytest.param(case, marks=pytest.mark.thorough, id="-".join(case)) for case in LONG]
HOSTILE = '<script>alert("1")</script> & $x_1$ \\end'


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def steps(request):
    name, method = request.param
    robot = dy.load(name)
    return derivation(robot, method, [[0.3] * robot.n, [0.5] * robot.n, [1.0] * robot.n])


def hostile():
    link = dy.Link(a=1.0, mass=2.0, name="<b>link</b>", joint_name="<i>joint</i> & $_#%")
    return dy.Robot.from_dh(HOSTILE, convention="standard", links=[link], description=HOSTILE)


def test_html_is_well_formed_and_alone(steps):
    text = page(steps)
    ElementTree.fromstring(f"<div>{body(steps)}</div>")  # every tag closed, every sign escaped
    assert "http" not in text
    assert "<script" not in text
    assert "<math>" in text
    assert 'name="viewport"' in text


def test_latex_is_balanced(steps):
    text = steps.latex()
    opened, closed = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
    assert sorted(opened) == sorted(closed)
    plain_text = text.replace(r"\{", "").replace(r"\}", "")
    assert plain_text.count("{") == plain_text.count("}")
    assert text.count(r"\[") == text.count(r"\]")
    assert text.count(r"\left") == text.count(r"\right")


def test_markdown_and_text_hold_every_step(steps):
    markdown, text = steps.markdown(), steps.text()
    assert markdown.count("$$") % 2 == 0
    for step in steps:
        assert f"## {step.number}. " in markdown
        assert f"{step.number}. {step.title}" in text


def test_text_shows_matrices_and_numbers_beside_them():
    steps = derivation(dy.load("polar-rp"), "lagrange-euler", ([0.3, 0.8], [0, 0], [0, 0]))
    text = steps.text()
    assert "0A2 = [ s1   0   c1   q2 c1 ] = [  0.29552   0  0.955336   0.764269 ]" in text
    assert "d11 = L1^2 m1 + m2 q2^2 = 2.28" in text
    assert "U112 = U121 = U122 = U222 = 0" in text


def test_angles_of_parallel_axes_are_summed():
    text = derivation(dy.load("planar-rr")).text()
    assert "L1 c1 + L2 c12" in text


@pytest.mark.parametrize("method", METHODS)
def test_numbers_are_printed_as_typed(method):
    steps = derivation(dy.load("planar-rr"), method)
    for text in (steps.text(), steps.latex(), steps.markdown()):
        assert "9.81" in text
        assert "981" not in text.replace("9.81", "")


def test_decimals():
    x = sp.Symbol("q1", real=True)
    for value, text in (
        (sp.Rational("9.81"), "9.81"),
        (sp.Rational("0.000642"), "0.000642"),
        (sp.Rational(1, 2), "0.5"),
        (sp.Integer(3), "3"),
        (sp.Rational("0.123456789012"), "0.123457"),
    ):
        assert render_math.text(value * x) == f"{text} q1"
    assert render_math.latex(sp.Rational("0.00004") * x) == r"4 \cdot 10^{-5} \, q_{1}"
    assert render_math.text(sp.sqrt(x)) == "sqrt(q1)"


def test_fractions_of_symbols():
    m, k = sp.symbols("m1 k", real=True)
    third = sp.Rational(1, 3)
    for expression, text, latex in (
        (m / 3, "m1/3", r"\frac{1}{3} \, m_{1}"),
        (m * sp.Rational(f"{1 / 3:.15g}"), "m1/3", r"\frac{1}{3} \, m_{1}"),  # as a float
        (-5 * m * (m + k) / 6, "-5 m1 (k + m1)/6",
         r"- \frac{5}{6} \, m_{1} \, \left(k + m_{1}\right)"),
        (sp.Mul(third, m + k, evaluate=False), "(k + m1)/3",
         r"\frac{1}{3} \, \left(k + m_{1}\right)"),
        (m / 4 - sp.Rational("4.905") * k, "-4.905 k + m1/4",
         r"- 4.905 \, k + \frac{1}{4} \, m_{1}"),
        (m * sp.Rational(1, 97), "0.0103093 m1", r"0.0103093 \, m_{1}"),
        (sp.Rational("0.333333") * m, "0.333333 m1", r"0.333333 \, m_{1}"),  # typed so
        (third * sp.Symbol("q1"), "0.333333 q1", r"0.333333 \, q_{1}"),  # numbers only
    ):  # fmt: skip
        assert (render_math.text(expression), render_math.latex(expression)) == (text, latex)


def test_rods_of_symbols_are_printed_with_fractions():
    rod = {"mass": "m1", "com": ("-L1/2", 0, 0), "inertia": (0, "m1*L1**2/12", "m1*L1**2/12")}
    robot = dy.Robot.from_dh("rod", convention="standard", links=[dy.Link(a="L1", **rod)])
    steps = derivation(robot)
    assert "d11 = L1^2 m1/3" in steps.text()
    for written in (steps.text(), steps.latex(), steps.markdown(), body(steps)):
        assert "0.333" not in written
        assert "0.5" not in written
    assert r"\frac{1}{3} \, L_{1}^{2} \, m_{1}" in steps.latex()


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("q1", "q_{1}"),
        ("qd2", r"\dot{q}_{2}"),
        ("qdd12", r"\ddot{q}_{12}"),
        ("m1", "m_{1}"),
        ("lc2", r"\mathit{lc}_{2}"),
        ("alpha_1", r"\alpha_{1}"),
        ("w3.x", r"\omega_{3x}"),
        ("vd10.z", r"\dot{v}_{10z}"),
        ("A56.12", "A_{56}^{(12)}"),
        ("I_xx", r"I_{\mathrm{xx}}"),
    ],
)
def test_symbols_in_latex(name, latex):
    assert render_math.symbol_latex(name) == latex


def test_sines_and_cosines_are_short():
    q1, q2 = sp.symbols("q1 q2", real=True)
    assert render_math.text(sp.cos(q1 + q2) ** 2 * sp.sin(q1)) == "s1 c12^2"
    assert render_math.text(sp.cos(q1 - q2)) == "cos(q1 - q2)"
    assert render_math.latex(sp.sin(2 * q1)) == r"\sin\left(2 \, q_{1}\right)"


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"{}^{0}A_{1}", "0A1"),
        (r"{}^{i-1}R_{i}^{T}", "(i-1)R_i^T"),
        (r"\dot{\omega}_{3x}", "wd3x"),
        (r"\tau = D \, \ddot{q} + H + C", "tau = D qdd + H + C"),
        (r"\sum_{k=1}^{n} h_{ikm}", "sum(k=1 to n) h_ikm"),
    ],
)
def test_formulas_as_plain_text(latex, text):
    assert plain(latex) == text


def test_formulas_as_mathml():
    assert mathml("U_{21}") == "<msub><mi>U</mi><mn>21</mn></msub>"
    assert mathml(r"\frac{a}{b}") == "<mfrac><mi>a</mi><mi>b</mi></mfrac>"
    assert mathml("a < b").count("&lt;") == 1
    assert "∑" in mathml(r"\sum_{k=1}^{n}")


def test_names_are_escaped(tmp_path):
    robot = hostile()
    steps = derivation(robot, "newton-euler")
    steps.html(tmp_path / "page.html")
    for text in ((tmp_path / "page.html").read_text(), steps._repr_html_(), robot._repr_html_()):
        assert "<script" not in text
        assert "<i>" not in text
        assert "&lt;script&gt;" in text
    ElementTree.fromstring(f"<div>{body(steps)}</div>")
    assert r"\$x\_1\$" in steps.latex()
    assert "<script" not in steps.markdown()


def test_robot_in_a_notebook():
    text = dy.load("puma560")._repr_html_()
    ElementTree.fromstring(text)
    assert "0.4318" in text
    assert "17.4" in text
    assert "joint6" in text


def test_a_page_for_anything_that_has_steps(tmp_path):
    steps = derivation(dy.load("polar-rp"))
    like = SimpleNamespace(model=steps.model, method=steps.method, steps=steps.steps)
    equations = SimpleNamespace(model=steps.model, method=steps.method, steps=steps)
    for k, thing in enumerate((steps, like, equations)):
        write_page(thing, tmp_path / f"{k}.html")
    assert (tmp_path / "0.html").read_text() == (tmp_path / "2.html").read_text()
    assert (tmp_path / "0.html").read_text() == (tmp_path / "1.html").read_text()
    with pytest.raises(FileError, match="cannot write"):
        write_page(steps, tmp_path / "missing" / "page.html")


def test_command_prints_text(capsys):
    assert main(["equations", "polar-rp", "--q", "0.3", "0.8"]) == 0
    out = capsys.readouterr().out
    assert "polar-rp: Lagrange-Euler, step by step" in out
    assert "10. Equation of motion" in out


def test_command_writes_files(tmp_path, capsys):
    names = {"html": "<!doctype html>", "latex": r"\section*", "markdown": "# planar-rr"}
    words = [w for name in names for w in (f"--{name}", str(tmp_path / name))]
    assert main(["equations", "planar-rr", "--method", "newton-euler", *words]) == 0
    assert capsys.readouterr().out == ""
    for name, start in names.items():
        assert (tmp_path / name).read_text().startswith(start)


def test_command_names_mistakes(tmp_path, capsys):
    assert main(["equations", "polar-rp", "--method", "newton"]) == 2
    assert "newton-euler" in capsys.readouterr().err
    assert main(["equations", "polar-rp", "--q", "1"]) == 2
    assert "expected 2: joint1, joint2" in capsys.readouterr().err
    assert main(["equations", "polar-rp", "--latex", str(tmp_path / "a" / "b.tex")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_numbers_beside_the_symbols_from_python(tmp_path):
    import dynamis as dy

    equations = dy.load("polar-rp").equations("lagrange-euler")
    with_numbers = equations.derivation(q=[0.3, 0.8], qd=[1.0, 2.0])
    assert with_numbers.state is not None and len(with_numbers.text()) > len(equations.steps.text())
    equations.html(tmp_path / "plain.html")
    equations.html(tmp_path / "numbers.html", q=[0.3, 0.8])
    plain, numbers = ((tmp_path / f"{n}.html").stat().st_size for n in ("plain", "numbers"))
    assert numbers > plain


def test_brackets_are_equal_pairs_that_stretch_around_fractions_alone():
    left, right = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
    for given in (r"s_2 (\dot{q}_1 + \dot{q}_2)^{2}", r"s_2 \left(\dot{q}_1\right)^{2}"):
        found = mathml(given)
        assert found.count(left) == found.count(right) == 1
        assert (
            f"{right}</mrow><mn>2</mn></msup>" in found
        )  # a power of the pair, not of one bracket
    assert mathml(r"a )").endswith(f"{right}</mrow>")  # what was split over formulas
    assert mathml(r"(\frac{a}{b})").count('stretchy="true"') == 2
    assert "<msubsup><mpadded" in mathml(r"\dot{q}_{1}^{2}")
    assert plain(r"R_z(\theta_i)^{2}") == "R_z(theta_i)^2"
