"""Programs: tracing, folding, counts, text, and the interpreter that defines them."""

import hashlib
import math

import casadi as ca
import numpy as np
import pytest

import dynamis as dy
from dynamis.compile.builder import Builder
from dynamis.compile.interpreter import interpret
from dynamis.compile.kernels import KERNELS
from dynamis.compile.ops import OPS
from dynamis.compile.optimise import factored, share_reciprocals
from dynamis.compile.program import Operation, Port
from dynamis.compile.programs import program
from dynamis.compile.tracer import SX, nested, trace
from dynamis.spatial.functions import Functions

from ..every_op import every_op


def test_every_op_is_in_the_program_of_every_op():
    used = {i.op for i in every_op().instructions if isinstance(i, Operation)}
    assert used == set(OPS)


def test_interpreter_on_every_op():
    (out,) = interpret(every_op(), [np.array([0.7, -1.3, 2.0])])
    x, y, z = 0.7, -1.3, 2.0
    expected = {
        "add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "neg": -x, "sin": math.sin(x),
        "cos": math.cos(x), "sqrt": math.sqrt(z), "exp": math.exp(x), "log": math.log(z),
        "tanh": math.tanh(x), "pow": z**x, "atan2": math.atan2(x, y), "floor": -2.0, "abs": 1.3,
        "sign": -1.0, "min": y, "max": x, "lt": 0.0, "le": 0.0, "eq": 0.0, "ne": 1.0, "not": 1.0,
        "and": 0.0, "or": 1.0, "select": y,
    }  # fmt: skip
    assert np.allclose(out, [expected[name] for name in OPS], rtol=1e-15)


def test_constants_fold_and_equal_values_are_made_once():
    ports = [Port("x", (2,))]

    def f(x, fn):
        a = x[0] * 1.0 + 0.0 * x[1]
        return [fn.sin(a) * fn.sin(x[0]), 2.0 * 3.0, x[0] * x[1] + x[1] * x[0]]

    p = trace("f", f, ports, [Port("y", (3,))])
    assert (p.cost.trig, p.cost.mul, p.cost.add) == (1, 2, 1)
    assert np.allclose(interpret(p, [[2.0, 3.0]])[0], [math.sin(2) ** 2, 6.0, 12.0])


def test_structural_zeros_come_back():
    p = trace("f", lambda x, fn: [0.0, x[0], 0.0 * x[0], 1.0], [Port("x", (1,))], [Port("y", (4,))])
    assert interpret(p, [[5.0]])[0].tolist() == [0.0, 5.0, 0.0, 1.0]


def test_select_is_one_operation():
    p = trace(
        "f", lambda x, fn: [fn.select(x[0] > 0, x[0], x[1])], [Port("x", (2,))], [Port("y", (1,))]
    )
    assert [i.op for i in p.instructions if isinstance(i, Operation)] == ["lt", "select"]
    assert interpret(p, [[-1.0, 7.0]])[0] == 7.0
    assert interpret(p, [[1.0, np.nan]])[0] == 1.0  # the branch not taken does not matter


def test_reciprocals_are_shared():
    p = trace("f", lambda x, fn: [x[0] / x[2], x[1] / x[2]], [Port("x", (3,))], [Port("y", (2,))])
    assert p.cost.div == 2
    q = share_reciprocals(p)
    assert (q.cost.div, q.cost.mul) == (1, 2)
    assert np.allclose(interpret(q, [[1.0, 2.0, 3.0]])[0], [1 / 3, 2 / 3], rtol=1e-15)


def test_malformed_programs_are_refused():
    b = Builder()
    x = b.input(0, 0)
    with pytest.raises(ValueError, match="not 2"):
        b.program("f", [Port("x", (1,))], [Port("y", (2,))], [[x]])


def test_operations_outside_the_list_are_named():
    import casadi as ca

    with pytest.raises(dy.errors.OptionError, match="OP_ERF"):
        trace("f", lambda x, fn: [ca.erf(x[0])], [Port("x", (1,))], [Port("y", (1,))])


def test_text_and_hash_are_stable():
    robot = dy.load("planar-rr")
    a, b = (program(KERNELS["inverse_dynamics"], robot.model) for _ in range(2))
    assert a.text == b.text and a.hash == b.hash
    assert a.text.startswith("program inverse_dynamics\ninput q[2]\n")
    other = program(KERNELS["inverse_dynamics"], robot.with_payload(1.0).model)
    assert other.hash != a.hash


DIRECT = [k for k, v in KERNELS.items() if not v.differentiate and v.serves(closed=False)]


@pytest.mark.parametrize("name", DIRECT)
def test_programs_equal_the_algorithms_they_were_traced_from(name):
    """Every kernel of the table, traced over SX and run over NumPy."""
    robot = dy.load("puma560")
    kernel = KERNELS[name]
    rng = np.random.default_rng(0)
    p = program(kernel, robot.model)
    arguments = [rng.normal(size=(4, *port.shape)) for port in p.inputs]
    arguments = [
        x / 1e3 if port.name == "dt" else x for x, port in zip(arguments, p.inputs, strict=True)
    ]
    from dynamis.compile.arrays import evaluate

    function = kernel.function()
    for k, got in enumerate(interpret(p, arguments)):

        def result(*s, k=k):
            found = function(robot.chain, *s[:-1], fn=s[-1])
            return found if len(p.outputs) == 1 else found[k]

        expected = evaluate(
            result,
            arguments,
            [len(port.shape) for port in p.inputs],
            p.outputs[k].shape,
            [port.name for port in p.inputs],
        )
        assert np.allclose(got, expected, rtol=1e-11, atol=1e-11)


def test_cost_of_the_puma():
    """What is compiled, counted; the formula of Luh, Walker and Paul gives 852 x and 738 +."""
    cost = dy.load("puma560").cost("inverse_dynamics")
    assert cost.mul <= 286 and cost.add <= 230 and cost.trig <= 12
    forward = dy.load("puma560").cost("forward_dynamics")
    assert forward.mul <= 622 and forward.add <= 439
    assert (
        dy.load("puma560").cost("forward_dynamics", method="articulated-body").total > forward.total
    )


def test_common_factors_are_taken_out():
    def f(x, fn):
        a, b, c, d = x
        return [a * b + c + d * b - a * c, a * c - b * c, a * d]

    p = trace("f", f, [Port("x", (4,))], [Port("y", (3,))])
    q = factored(p)
    assert q.cost.total < p.cost.total
    x = np.random.default_rng(0).normal(size=(5, 4))
    assert np.allclose(interpret(q, [x])[0], interpret(p, [x])[0], rtol=1e-14)
    assert q.cost.mul == 4  # (a + d) b, a c once, (a - b) c would lose it, a d


def test_a_product_that_is_needed_itself_is_not_taken_apart():
    p = trace("f", lambda x, fn: [x[0] * x[1] + x[2] * x[1], x[0] * x[1]], [Port("x", (3,))],
              [Port("y", (2,))])  # fmt: skip
    assert factored(p).cost == p.cost


@pytest.mark.parametrize("name", ["planar-2link", "rppr", "scara", "puma560"])
def test_programs_of_plain_arms_stay_what_they_are(name, reference):
    """Springs, laws of one's own, loads and temperatures cost a robot without them nothing.

    The digests are those of the texts before any of these existed. A better optimiser changes
    them: then compare the numbers first (`python -m tests.yardstick.compare`), and take new ones.
    """
    robot = dy.load(name)
    for kernel, digest in reference("program_digests")[name].items():
        text = robot.program(kernel).text
        assert hashlib.sha256(text.encode()).hexdigest()[: len(digest)] == digest, kernel


OF_CASADI = Functions(
    sin=ca.sin, cos=ca.cos, sqrt=ca.sqrt, exp=ca.exp, tanh=ca.tanh, sign=ca.sign, min=ca.fmin,
    max=ca.fmax, select=ca.if_else, floor=ca.floor, log=ca.log,
)  # fmt: skip
EXPRESSIONS = {
    "two": lambda a, b, fn: [a + b, a - b, a * b, a / b, a < b, a <= b, a > b, a >= b],
    "numbers": lambda a, b, fn: [2 + a, a + 2.0, 2 - a, a - 2.0, 3 * a, a * 3.0, 3 / a, a / 3.0],
    "folded": lambda a, b, fn: [0 * a + b, a + -0.0, a * a, a + a, -(b - a), a - a, 1.0 * a, a / 1],
    "compared": lambda a, b, fn: [a < 1, a <= 1.0, a > 1, a >= 1.0],
    "others": lambda a, b, fn: [-a, a**2, abs(a), a - np.float64(2.0)],
    "functions": lambda a, b, fn: [
        f(x) for f in (fn.sin, fn.cos, fn.sqrt, fn.exp, fn.tanh, fn.sign, fn.floor, fn.log)
        for x in (a, a * b)
    ],
    "select": lambda a, b, fn: [
        fn.select(a < b, a, b), fn.select(a < 1.0, 2, b), fn.select(a <= b, 0.0, 1.0),
        fn.min(a, b), fn.max(a, 2), fn.min(2.0, a), fn.max(b, a),
    ],
}  # fmt: skip


def in_place(a, b):
    a += b
    a *= 2.0
    a -= b
    a /= b
    return a


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_scalars_of_a_trace_are_the_expressions_of_casadi(kind):
    column = ca.SX.sym("x", 2)
    own, plain = nested(column, (2,)), (column[0], column[1])
    found, wanted = EXPRESSIONS[kind](*own, SX), EXPRESSIONS[kind](*plain, OF_CASADI)
    assert list(map(str, found)) == list(map(str, wanted))
    assert str(in_place(*own)) == str(in_place(*plain))
