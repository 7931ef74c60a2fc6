"""Every form of a call gives the bits of the Python method, and its errors, without leaving C."""

import copy
import gc
import pickle
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.compile import arrays

pytestmark = [
    pytest.mark.usefixtures("compiled"),
    pytest.mark.skipif(arrays.Fast is None, reason="no C compiler when it was installed"),
]

N = 3  # joints of the arm whose calls are made up
ARGUMENTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "joint_reactions": ("q", "qd", "qdd"),
    "regressor": ("q", "qd", "qdd"),
    "fk": ("q",),
    "jacobian": ("q",),
    "jacobian_dot": ("q", "qd"),
    "kinetic_energy": ("q", "qd"),
    "gravity_torque": ("q",),
}
FURTHER = {
    "inverse_dynamics": {"wrench": (6,), "base_motion": (9,), "link_forces": (N, 6)},
    "forward_dynamics": {"wrench": (6,), "base_motion": (9,), "link_forces": (N, 6)},
    "joint_reactions": {"wrench": (6,), "base_motion": (9,), "link_forces": (N, 6)},
    "inverse_dynamics_derivatives": {"wrench": (6,)},
    "regressor": {"qd_ref": (N,)},
}
WORDS = {
    "fk": {"link": (None, "link3", "base")},
    "jacobian": {"link": (None, "link3"), "frame": ("base", "tool")},
    "jacobian_dot": {"link": (None, "link3"), "frame": ("base", "tool")},
    "forward_dynamics": {"method": (None, "walker-orin-3", "articulated-body")},
    "inverse_dynamics": {"method": ("newton-euler",)},
}
LEADING = ((), (1,), (3,), (2, 3), (1, 3), (2, 1), (0,), (2, 0))


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(np.float64).reshape(x.shape)
    view[...] = x
    return view


FORMS = {
    "plain": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "int64": lambda x: x.astype(np.int64),
    "int32": lambda x: x.astype(np.int32),
    "int8": lambda x: x.astype(np.int8),
    "float16": lambda x: x.astype(np.float16),
    "long double": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of scalars": list,
    "list of numbers": lambda x: (
        [int(v) if k % 2 else float(v) for k, v in enumerate(x)] if x.ndim == 1 else x.tolist()
    ),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
    "columns": np.asfortranarray,
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "masked": np.ma.masked_array,
    "unaligned": unaligned,
}
DTYPES = (None, "float64", "float32", np.float32, np.float64, float, np.dtype("f4"), ">f8")


@pytest.fixture(scope="module")
def arm():
    return dy.load("puma560")


@pytest.fixture(scope="module")
def small():
    return dy.load("pendulum3")


def bits(result):
    results = result if isinstance(result, tuple) else (result,)
    return [(r.dtype, r.shape, r.tobytes()) for r in results]


def outcome(call, *arguments, **options):
    """What a call returns, bit for bit, or the error it raises."""
    try:
        return bits(call(*arguments, **options))
    except (dy.errors.DynamisError, TypeError) as error:
        return type(error), str(error).replace("Robot.", "")


def both(robot, name, arguments, options):
    """(as called, by the Python method alone)"""
    python = getattr(dy.Robot, name)
    made = [dict(options) for _ in range(2)]
    for own in made:
        if "out" in own:
            own["out"] = own["out"]()
    compiled = outcome(getattr(robot, name), *arguments, **made[0])
    return compiled, outcome(python, robot, *arguments, **made[1])


@st.composite
def calls(draw):
    name = draw(st.sampled_from(sorted(ARGUMENTS)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def value(core):
        shape = (*draw(st.sampled_from(LEADING)), *core)
        return FORMS[draw(st.sampled_from(sorted(FORMS)))](3 * rng.normal(size=shape))

    given_ = {key: value((N,)) for key in ARGUMENTS[name]}
    positional = draw(st.integers(0, len(given_)))
    arguments = list(given_.values())[:positional]
    options = dict(list(given_.items())[positional:])
    for key, core in FURTHER.get(name, {}).items():
        if draw(st.booleans()):
            options[key] = draw(st.sampled_from((None, value(core))))
    for key, words in WORDS.get(name, {}).items():
        if draw(st.booleans()):
            options[key] = "".join(w) if (w := draw(st.sampled_from(words))) else None
    if draw(st.booleans()):
        options["threads"] = draw(st.sampled_from((None, 1, 2, 4096)))
    if draw(st.booleans()):
        options["dtype"] = draw(st.sampled_from(DTYPES))
    return name, arguments, options, draw(st.sampled_from(("no", "fresh", "strided", "wrong")))


@settings(deadline=None, max_examples=100)
@given(calls())
def test_every_form_of_a_call_is_the_python_method(small, call):
    name, arguments, options, out = call
    python = getattr(dy.Robot, name)
    expected = outcome(python, small, *arguments, **options)
    assert outcome(getattr(small, name), *arguments, **options) == expected
    if out == "no" or isinstance(expected, tuple):
        return
    shapes = [(dtype, shape) for dtype, shape, _ in expected]

    def made():
        wide = 2 if out == "strided" else 1
        own = [np.full((*shape, wide), 9.0, dtype)[..., 0] for dtype, shape in shapes]
        own = [np.zeros(4)] * len(own) if out == "wrong" else own
        return own[0] if len(own) == 1 else own

    got, reference = both(small, name, arguments, {**options, "out": made})
    assert got == reference
    if out != "wrong":
        own = made()
        result = getattr(small, name)(*arguments, **options, out=own)
        assert result is own or all(a is b for a, b in zip(result, own, strict=True))
        assert bits(result) == expected


WRONG = (
    ((np.zeros(5), np.zeros(6), np.zeros(6)), {}),
    ((np.zeros(6), np.zeros(6)), {}),
    ((np.zeros(6),) * 3, {"q": np.zeros(6)}),
    ((np.zeros(6),) * 3, {"thread": 1}),
    ((np.zeros(6),) * 3, {"threads": 0}),
    ((np.zeros(6),) * 3, {"threads": 4097}),
    ((np.zeros(6),) * 3, {"threads": True}),
    ((np.zeros(6),) * 3, {"threads": 1.0}),
    ((np.zeros(6),) * 3, {"threads": 10**30}),
    ((np.zeros(6),) * 3, {"dtype": "float16"}),
    ((np.zeros(6),) * 3, {"dtype": object}),
    ((np.zeros(6),) * 3, {"wrench": np.zeros(5)}),
    ((np.zeros(6),) * 3, {"wrench": "hard"}),
    ((np.zeros(6),) * 3, {"link_forces": np.zeros(36)}),
    ((np.zeros(6),) * 3, {"link_forces": np.zeros((6, 7))}),
    ((np.zeros(6),) * 3, {"link_forces": np.zeros((4, 9))}),
    ((np.zeros(6),) * 3, {"link_forces": [0.0] * 36}),
    ((np.zeros((2, 6)),) * 3, {"link_forces": np.zeros((3, 6, 6))}),
    ((np.zeros(6),) * 3, {"method": "newton"}),
    ((np.zeros(6),) * 3, {"method": None}),
    ((np.zeros(6),) * 3, {"method": "lagrange-euler", "base_motion": np.zeros(9)}),
    ((np.zeros((2, 6)), np.zeros((3, 6)), np.zeros(6)), {}),
    (([0.0] * 5 + [True], np.zeros(6), np.zeros(6)), {}),
    (([True] * 6, np.zeros(6), np.zeros(6)), {}),
    (([0.0] * 5, np.zeros(6), np.zeros(6)), {}),
    (([0.0] * 5 + ["1"], np.zeros(6), np.zeros(6)), {}),
    (([0.0] * 5 + [None], np.zeros(6), np.zeros(6)), {}),
    (([10**400] * 6, np.zeros(6), np.zeros(6)), {}),
    (([2**63] * 6, np.zeros(6), np.zeros(6)), {}),
    ((None, np.zeros(6), np.zeros(6)), {}),
    ((np.zeros(6, complex), np.zeros(6), np.zeros(6)), {}),
    ((np.zeros(6, bool), np.zeros(6), np.zeros(6)), {}),
    ((np.array(0.0), np.zeros(6), np.zeros(6)), {}),
    ((np.zeros(6),) * 3, {"out": lambda: np.zeros(6, np.float32)}),
    ((np.zeros(6),) * 3, {"out": lambda: np.zeros((1, 6))}),
    ((np.zeros(6),) * 3, {"out": lambda: [0.0] * 6}),
    ((np.zeros(6),) * 3, {"out": lambda: np.broadcast_to(np.zeros(6), 6)}),
    ((np.zeros(6),) * 3, {"out": lambda: np.ma.masked_array(np.zeros(6))}),
    ((np.zeros(6),) * 3, {"out": lambda: (np.zeros(6),)}),
    ((np.zeros(6),) * 7, {}),
)


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_what_is_wrong_is_told_as_by_the_method(arm, case):
    arm.inverse_dynamics(np.zeros(6), np.zeros(6), np.zeros(6))
    compiled, python = both(arm, "inverse_dynamics", *WRONG[case])
    assert compiled == python


def test_results_over_the_inputs(arm):
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 5, 6))
    expected = arm.inverse_dynamics(q, qd, qdd)
    for shift in (0, 1, -1):
        memory = np.zeros(42)
        x = memory[6:36].reshape(5, 6)
        x[...] = q
        out = memory[6 + 6 * shift : 36 + 6 * shift].reshape(5, 6)
        assert np.array_equal(arm.inverse_dynamics(x, qd, qdd, out=out), expected)
    single = q.astype(np.float32)
    out = single.reshape(-1).view(np.float64)  # 15 numbers that lie over the samples they need
    expected = arm.gravity_torque(single[:2])
    assert np.array_equal(arm.gravity_torque(single[:2], out=out[:12].reshape(2, 6)), expected)


def test_numbers_too_large_for_single_precision_are_told(arm):
    q = np.full(6, 1e300)
    for call in (arm.inverse_dynamics, arm.inverse_dynamics):
        with pytest.warns(RuntimeWarning, match="overflow"):
            call(np.zeros(6), np.zeros(6), q, dtype="float32")


def test_a_singular_arm_is_refused_in_every_form():
    sixr = dy.load("sixr")
    q = np.random.default_rng(0).normal(size=(3, 6))
    for _ in range(2):  # also once code is installed
        for options in ({}, {"out": np.empty((3, 6))}, {"threads": 1}, {"wrench": np.zeros(6)}):
            with pytest.raises(dy.errors.SingularError, match="joint 6"):
                sixr.forward_dynamics(q, q, q, **options)
        with pytest.raises(dy.errors.SingularError, match="joint 6"):
            sixr.forward_dynamics_derivatives(q, q, q)


def forms(robot):
    """Calls that stay in C once each has been made."""
    q, qd, x = np.random.default_rng(2).normal(size=(3, 6))
    Q = np.random.default_rng(3).normal(size=(16, 6))
    three, link = np.empty((3, 6, 6)), robot.link_names[2]
    return [
        lambda: robot.inverse_dynamics(q, qd=qd, qdd=x),
        lambda: robot.inverse_dynamics(q, qd, x, out=three[0, 0]),
        lambda: robot.inverse_dynamics(q, qd, x, wrench=qd, base_motion=[0.0] * 9),
        lambda: robot.inverse_dynamics(q, qd, x, threads=7, dtype="float32"),
        lambda: robot.inverse_dynamics(q.tolist(), tuple(qd.tolist()), x.astype(np.float32)),
        lambda: robot.inverse_dynamics(Q[::2], qd, x[::-1], threads=1),
        lambda: robot.inverse_dynamics(Q.reshape(4, 4, 6), Q[:4], x),
        lambda: robot.inverse_dynamics_derivatives(q, qd, x, out=list(three)),
        lambda: robot.fk(q, link=link),
        lambda: robot.jacobian(Q, "tool", link, out=np.empty((16, 6, 6))[::-1]),
        lambda: robot.forward_dynamics(q, qd, x, "walker-orin-3", wrench=x),
        lambda: robot.regressor(Q, Q, Q, qd_ref=qd),
    ]


def test_these_forms_stay_in_c(arm, monkeypatch):
    calls_ = forms(arm)
    expected = [bits(call()) for call in calls_]
    monkeypatch.delattr(arrays, "run")  # the only way of the Python methods to machine code
    assert [bits(call()) for call in calls_] == expected
    with pytest.raises(AttributeError):
        arm.inverse_dynamics(np.zeros(6, np.float16), np.zeros(6), np.zeros(6))


def test_nothing_is_leaked(arm):
    q, out, wrench = np.zeros(6), np.empty(6), [0.5] * 6
    calls_ = [
        *forms(arm),
        lambda: arm.inverse_dynamics(q, q, q, wrench=wrench, out=out),
        lambda: outcome(arm.inverse_dynamics, q, q, q, wrench=wrench[:5]),
        lambda: outcome(arm.inverse_dynamics, np.zeros((99, 6)), q, ["no"] * 6),
    ]
    for call in calls_:
        call()
        call()
    gc.collect()
    before = [sys.getrefcount(x) for x in (q, out, wrench, arm)]
    tracemalloc.start()
    try:
        for call in calls_:
            call()
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            for call in calls_:
                call()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - start < 20_000
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(x) for x in (q, out, wrench, arm)] == before


def test_a_dropped_robot_is_freed():
    import weakref

    robot = dy.load("planar-rr")
    robot.fk([0.1, 0.2], link=robot.link_names[0])
    seen = weakref.ref(robot)
    del robot
    gc.collect()
    assert seen() is None


def test_many_threads_at_once():
    robot = dy.load("puma560")
    calls_ = forms(dy.load("puma560"))
    expected = [bits(call()) for call in calls_]
    wrong = []

    def work():
        for _ in range(30):
            wrong.extend(k for k, c in enumerate(forms(robot)) if bits(c()) != expected[k])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def test_functions_take_every_form(arm):
    q, qd, x = np.random.default_rng(2).normal(size=(3, 6))
    values = arm.parameters.values
    kernel = arm.kernel("inverse_dynamics", parameters="argument")
    own = dy.compile(arm, lambda arm, q, out: [a + b for a, b in zip(q, out, strict=True)])
    for _ in range(2):
        expected = kernel(q, qd, x, values)
        assert np.array_equal(kernel(q.tolist(), qd, x[::-1][::-1], values, threads=1), expected)
        assert np.array_equal(kernel(q, qd, x, np.stack([values] * 3))[2], expected)
        assert np.array_equal(own(q.tolist(), qd, out=np.empty(6)), q + qd)
        with pytest.raises(dy.errors.OptionError, match="expected 4: q, qd, qdd, parameters"):
            kernel(q, qd, x, parameters=values)
        with pytest.raises(dy.errors.OptionError, match="expected 2: q, out"):
            own(q, out=qd)
    assert copy.copy(own) is own and copy.deepcopy([own])[0] is own
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(own)
