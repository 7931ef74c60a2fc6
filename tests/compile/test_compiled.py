"""The compiled Robot: same numbers as the algorithms, whatever the shape, from any thread."""

import pickle
import threading

import numpy as np
import pytest

import dynamis as dy
from dynamis.compile import arrays
from dynamis.compile.kernels import KERNELS
from tests.thorough import thorough_but

from ..random_robots import build, states

pytestmark = pytest.mark.usefixtures("compiled")

CATALOGUE = ["puma560", "puma560-mdh", "rppr", "elbow6", "pendulum3", "stanford", "scara", "ur10e"]
AGREE = 1e-11


def generic(robot, call):
    """The same call without machine code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DYNAMIS_COMPILE", "off")
        return call(dy.Robot(robot.model))


def close(a, b, tolerance=AGREE):
    scale = max(np.abs(b).max(initial=0.0), 1.0)
    assert np.shape(a) == np.shape(b)
    assert np.abs(np.asarray(a) - b).max(initial=0.0) <= tolerance * scale


WRENCH = np.array([1.0, -2.0, 3.0, 0.5, -0.6, 0.7])
METHODS = {
    "fk": lambda r, q, qd, x: r.fk(q),
    "frames": lambda r, q, qd, x: r.frames(q),
    "fk of a link": lambda r, q, qd, x: r.fk(q, link=r.link_names[0]),
    "jacobian": lambda r, q, qd, x: r.jacobian(q),
    "jacobian in the tool": lambda r, q, qd, x: r.jacobian(q, frame="tool"),
    "jacobian_dot": lambda r, q, qd, x: r.jacobian_dot(q, qd),
    "inverse_dynamics": lambda r, q, qd, x: r.inverse_dynamics(q, qd, x),
    "with a wrench": lambda r, q, qd, x: r.inverse_dynamics(q, qd, x, wrench=WRENCH),
    "forward_dynamics": lambda r, q, qd, x: r.forward_dynamics(q, qd, x),
    "forward with a wrench": lambda r, q, qd, x: r.forward_dynamics(q, qd, x, wrench=WRENCH),
    "with forces on links": lambda r, q, qd, x: r.inverse_dynamics(
        q, qd, x, link_forces=np.outer(np.arange(len(r.link_names)), WRENCH)
    ),
    "forward with forces on links": lambda r, q, qd, x: r.forward_dynamics(
        q, qd, x, link_forces=np.outer(np.arange(len(r.link_names)), WRENCH)
    ),
    "mass_matrix": lambda r, q, qd, x: r.mass_matrix(q),
    "gravity_torque": lambda r, q, qd, x: r.gravity_torque(q),
    "friction_torque": lambda r, q, qd, x: r.friction_torque(qd),
    "kinetic_energy": lambda r, q, qd, x: r.kinetic_energy(q, qd),
    "potential_energy": lambda r, q, qd, x: r.potential_energy(q),
    "momentum": lambda r, q, qd, x: r.momentum(q, qd),
    "motor_torque": lambda r, q, qd, x: r.motor_torque(q, qd, x),
    "joint_reactions": lambda r, q, qd, x: r.joint_reactions(q, qd, x, wrench=WRENCH),
}


SMALL = {"rppr", "pendulum3"}


@pytest.mark.parametrize("name", thorough_but(SMALL, CATALOGUE))
def test_compiled_equals_generic(name):
    robot = dy.load(name)
    q, qd, x = states(robot, 11)
    for call in METHODS.values():
        expected = generic(robot, lambda r, c=call: c(r, q, qd, x))
        got = call(robot, q, qd, x)
        close(got, expected)
        one = call(robot, q[3], qd[3], x[3])
        assert np.array_equal(one, got[3])  # to the last bit


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_compiled_equal_generic(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.choice(["revolute", "prismatic"], size=3).tolist()
    robot = build(["standard", "modified", "urdf", "standard"][seed], kinds, seed)
    q, qd, x = states(robot, 5)
    for name in ("inverse_dynamics", "coriolis", "regressor", "two velocities"):
        call = {
            "inverse_dynamics": lambda r: r.inverse_dynamics(q, qd, x, wrench=WRENCH,
                                                             base_motion=np.arange(9.0)),
            "coriolis": lambda r: r.coriolis_matrix(q, qd),
            "regressor": lambda r: r.regressor(q, qd, x),
            "two velocities": lambda r: r.regressor(q, qd, x, qd_ref=x),
        }[name]  # fmt: skip
        close(call(robot), generic(robot, call))


@pytest.fixture(scope="module")
def puma():
    return dy.load("puma560")


def test_shapes(compiled, puma):
    rng = np.random.default_rng(0)
    q = rng.normal(size=(3, 4, 6))
    whole = puma.inverse_dynamics(q, q, q)
    assert whole.shape == (3, 4, 6) and whole.dtype == np.float64
    assert np.array_equal(puma.inverse_dynamics(q[0], q[0], q[0]), whole[0])
    assert np.array_equal(puma.inverse_dynamics(q[0, 0], q[0, 0], q[0, 0]), whole[0, 0])
    assert puma.inverse_dynamics(q[:0], q[:0], q[:0]).shape == (0, 4, 6)
    assert puma.inverse_dynamics(np.empty((0, 6)), np.empty((0, 6)), np.zeros(6)).shape == (0, 6)
    mixed = puma.inverse_dynamics(q, q[0, 0], q[:, :1])
    assert np.array_equal(mixed[2, 3], puma.inverse_dynamics(q[2, 3], q[0, 0], q[2, 0]))
    strided = np.asfortranarray(q[0])
    assert np.array_equal(puma.inverse_dynamics(strided, strided, strided), whole[0])
    assert np.array_equal(puma.inverse_dynamics(q[0][::-1], q[0][::-1], q[0][::-1]), whole[0][::-1])
    integers = puma.inverse_dynamics([0, 1, 2, 0, 1, 0], [0] * 6, np.zeros(6, np.float32))
    close(integers, puma.inverse_dynamics(np.array([0, 1, 2, 0, 1, 0.0]), np.zeros(6), np.zeros(6)))


def test_single_precision(compiled, puma):
    q, qd, qdd = states(puma, 50)
    got = puma.inverse_dynamics(q, qd, qdd, dtype="float32")
    assert got.dtype == np.float32
    close(got.astype(float), puma.inverse_dynamics(q, qd, qdd), 1e-5)


def test_out(compiled, puma):
    q, qd, qdd = states(puma, 20)
    expected = puma.inverse_dynamics(q, qd, qdd)
    out = np.empty((20, 6))
    assert puma.inverse_dynamics(q, qd, qdd, out=out) is out
    assert np.array_equal(out, expected)
    wide = np.zeros((20, 12))
    puma.inverse_dynamics(q, qd, qdd, out=wide[:, ::2])
    assert np.array_equal(wide[:, ::2], expected) and not wide[:, 1::2].any()
    same = q.copy()
    puma.inverse_dynamics(same, qd, qdd, out=same)  # over its own input
    assert np.array_equal(same, expected)
    three = [np.empty((20, 6, 6)) for _ in range(3)]
    puma.inverse_dynamics_derivatives(q, qd, qdd, out=three)
    assert np.array_equal(three[2], puma.inverse_dynamics_derivatives(q, qd, qdd)[2])
    with pytest.raises(dy.errors.ShapeError, match="expected 3 arrays"):
        puma.inverse_dynamics_derivatives(q, qd, qdd, out=out)


def test_threads_give_the_same_bits(compiled, puma):
    q, qd, qdd = states(puma, 5000)
    one = puma.inverse_dynamics(q, qd, qdd, threads=1)
    for threads in (2, 3, 8):
        assert np.array_equal(puma.inverse_dynamics(q, qd, qdd, threads=threads), one)


def test_hammered_from_eight_threads(compiled):
    """One fresh robot, first use and all, from eight threads at once."""
    robot = dy.load("puma560")
    q, qd, qdd = states(robot, 64)
    expected = dy.load("puma560").inverse_dynamics(q, qd, qdd)
    wrong = []

    def hammer(k):
        for i in range(300):
            row = (i + 8 * k) % 64
            ok = np.array_equal(robot.inverse_dynamics(q[row], qd[row], qdd[row]), expected[row])
            ok = ok and np.array_equal(robot.inverse_dynamics(q, qd, qdd), expected)
            if not ok:
                wrong.append((k, i))

    threads = [threading.Thread(target=hammer, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_derivatives_against_differences(compiled, puma):
    q, qd, qdd = states(puma)
    step = 1e-6

    def slope(f, x):
        columns = [(f(x + step * e) - f(x - step * e)) / (2 * step) for e in np.eye(6)]
        return np.stack(columns, axis=-1)

    dq, dqd, dqdd = puma.inverse_dynamics_derivatives(q, qd, qdd)
    close(dq, slope(lambda x: puma.inverse_dynamics(x, qd, qdd), q), 1e-7)
    close(dqd, slope(lambda x: puma.inverse_dynamics(q, x, qdd), qd), 1e-7)
    close(dqdd, puma.mass_matrix(q))
    tau = puma.inverse_dynamics(q, qd, qdd)
    aq, aqd, atau = puma.forward_dynamics_derivatives(q, qd, tau)
    close(aq, slope(lambda x: puma.forward_dynamics(x, qd, tau), q), 1e-6)
    close(aqd, slope(lambda x: puma.forward_dynamics(q, x, tau), qd), 1e-6)
    close(atau @ dqdd, np.eye(6))
    batch = puma.forward_dynamics_derivatives(q[None], qd[None], tau[None])
    assert all(np.array_equal(a[0], b) for a, b in zip(batch, (aq, aqd, atau), strict=True))


def test_parameters_as_an_argument(compiled, puma):
    q, qd, qdd = states(puma, 7)
    values = puma.parameters.values
    kernel = puma.kernel("inverse_dynamics", parameters="argument")
    close(kernel(q, qd, qdd, values), puma.inverse_dynamics(q, qd, qdd))
    rng = np.random.default_rng(0)
    ensemble = values * rng.uniform(0.9, 1.1, size=(7, len(values)))  # one set per sample
    got = kernel(q, qd, qdd, ensemble)
    for i in range(7):
        other = puma.with_parameters(ensemble[i])
        close(got[i], generic(other, lambda r, k=i: r.inverse_dynamics(q[k], qd[k], qdd[k])))
    with pytest.raises(dy.errors.OptionError, match="expected 4: q, qd, qdd, parameters"):
        kernel(q, qd, qdd)
    with pytest.raises(dy.errors.OptionError, match="did you mean 'argument'"):
        puma.kernel("inverse_dynamics", parameters="arguments")


def test_functions_of_ones_own(compiled, puma):
    def pd_with_gravity(arm, q, qd, target, gains):
        g = arm.gravity_torque(q)
        return [
            gains[0] * arm.tanh(t - x) - gains[1] * v + gi
            for t, x, v, gi in zip(target, q, qd, g, strict=True)
        ]

    controller = dy.compile(puma, pd_with_gravity, sizes={"gains": 2})
    q, qd, target = states(puma, 9)
    expected = 50 * np.tanh(target - q) - 5 * qd + puma.gravity_torque(q)
    close(controller(q, qd, target, [50, 5]), expected)
    close(controller(q[0], qd[0], target[0], [50, 5]), expected[0])
    energy = dy.compile(puma, lambda arm, q, qd: arm.kinetic_energy(q, qd))
    close(energy(q, qd), puma.kinetic_energy(q, qd))
    mass = dy.compile(puma, lambda arm, q: arm.mass_matrix(q))
    close(mass(q), puma.mass_matrix(q))
    with pytest.raises(dy.errors.OptionError, match="sizes names 'gain'"):
        dy.compile(puma, pd_with_gravity, sizes={"gain": 2})


def test_casadi_function(compiled, puma):
    f = puma.casadi("inverse_dynamics")
    q, qd, qdd = states(puma)
    close(np.array(f(q, qd, qdd)).ravel(), puma.inverse_dynamics(q, qd, qdd))
    assert f.name_in() == ["q", "qd", "qdd"] and f.name_out() == ["tau"]
    M = puma.casadi("mass_matrix")
    close(np.array(M(q)), puma.mass_matrix(q))
    tau = puma.casadi("inverse_dynamics", parameters="argument")
    close(np.array(tau(q, qd, qdd, puma.parameters.values)).ravel(), f(q, qd, qdd).full().ravel())


def test_the_bound_method_is_the_compiled_callable(compiled):
    if arrays.Fast is None:
        pytest.skip("no C compiler when the package was installed")
    robot = dy.load("puma560")
    method = robot.inverse_dynamics  # taken before the first call
    q, qd, qdd = states(robot)
    first = method(q, qd, qdd)
    assert isinstance(method, arrays.Fast) and robot.inverse_dynamics is method
    assert np.array_equal(method(q, qd, qdd), first)
    assert "tau = M qdd" in method.__doc__ and method.__name__ == "inverse_dynamics"
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot and np.array_equal(again.inverse_dynamics(q, qd, qdd), first)


def test_the_call_path_refuses_what_the_method_refuses(compiled, puma):
    q, qd, qdd = states(puma)
    puma.inverse_dynamics(q, qd, qdd)
    for bad, message in (
        ((q[:5], qd, qdd), r"q has shape \(5,\)"),
        ((q, qd, None), "qdd is None"),
        ((q, qd, qdd.astype(complex)), "complex"),
        ((q.reshape(1, 6), np.zeros((2, 6)), np.zeros((3, 6))), "do not broadcast"),
    ):
        with pytest.raises(dy.errors.ShapeError, match=message):
            puma.inverse_dynamics(*bad)
    with pytest.raises(dy.errors.OptionError, match="did you mean 'threads'"):
        puma.inverse_dynamics(q, qd, qdd, thread=2)
    swapped = q.astype(">f8")
    assert np.array_equal(
        puma.inverse_dynamics(swapped, qd, qdd), puma.inverse_dynamics(q, qd, qdd)
    )
    nan = q.copy()
    nan[1] = np.nan
    assert np.isnan(puma.inverse_dynamics(nan, qd, qdd)).any()
    assert np.isnan(puma.forward_dynamics(nan, qd, qdd)).all()


def test_singular_mass_matrix_is_named_by_compiled_code(compiled):
    robot = dy.load("sixr")
    rng = np.random.default_rng(0)
    q = rng.normal(size=(3, 6))
    with pytest.raises(dy.errors.SingularError, match="joint 6"):
        robot.forward_dynamics(q, q, q)
    with pytest.raises(dy.errors.SingularError, match="joint 6"):
        robot.forward_dynamics(q[0], q[0], q[0])
    with pytest.raises(dy.errors.SingularError, match="joint 6"):
        robot.forward_dynamics_derivatives(q[0], q[0], q[0])


def test_without_the_extension(compiled, monkeypatch):
    monkeypatch.setattr(arrays, "Fast", None)
    robot = dy.load("puma560")
    q, qd, qdd = states(robot, 4)
    got = robot.inverse_dynamics(q, qd, qdd)
    monkeypatch.undo()
    assert np.array_equal(got, dy.load("puma560").inverse_dynamics(q, qd, qdd))


def test_every_kernel_has_a_method_or_serves_one():
    served = [row.method or row.name for row in KERNELS.values() if not row.internal]
    assert all(hasattr(dy.Robot, name) for name in served)
    columns = [row.column for row in KERNELS.values() if row.column is not None]
    assert all(KERNELS[column.name] is column for column in columns)


def test_method_names_are_the_rows_of_the_tables():
    from dynamis.compile import kernels as methods
    from dynamis.dynamics import forward_dynamics
    from dynamis.dynamics.elements import bodies

    assert tuple(bodies.RECURSIONS) == methods.RECURSIONS
    assert tuple(bodies.CLOSED) == methods.CLOSED
    assert tuple(forward_dynamics.MASS_MATRICES) == methods.MASS_MATRICES


DEPENDS = ("inverse_dynamics", "forward_dynamics", "gravity_torque", "mass_matrix", "jacobian",
           "coriolis_matrix", "regressor", "kinetic_energy", "motor_torque",
           "joint_reactions")  # fmt: skip


@pytest.mark.parametrize("name", DEPENDS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_shows_even_where_it_does_not_matter(compiled, puma, name, bad):
    """The torque does not depend on q1 or q6; a sample that has a NaN there is still NaN."""
    inputs = len(KERNELS[name].inputs)
    good = [np.full(6, 0.3) for _ in range(inputs)]
    expected = getattr(puma, name)(*good)
    for port in range(inputs):
        for i in range(6):
            wrong = [g.copy() for g in good]
            wrong[port][i] = bad
            assert not np.isfinite(getattr(puma, name)(*wrong)).all()
            rows = [np.stack([g] * 9) for g in good]
            rows[port][4, i] = bad
            batch = getattr(puma, name)(*rows)
            assert not np.isfinite(batch[4]).all()
            assert np.array_equal(batch[5], expected) and np.array_equal(batch[3], expected)


def test_derivatives_of_forward_dynamics_with_parameters(compiled, puma):
    q, qd, tau = states(puma)
    kernel = puma.kernel("forward_dynamics_derivatives", parameters="argument")
    got = kernel(q, qd, tau, puma.parameters.values)
    for a, b in zip(got, puma.forward_dynamics_derivatives(q, qd, tau), strict=True):
        close(a, b, 1e-9)


def test_functions_that_cannot_be_compiled_are_told_why(compiled, puma):
    import math

    for function, message in (
        (lambda arm, q: math.sin(q[0]), "instead of the functions of math"),
        (lambda arm, q: q[0] if q[0] > 0 else q[1], "use arm.select"),
        (3, "expected a function"),
    ):
        with pytest.raises(dy.errors.OptionError, match=message):
            dy.compile(puma, function)
    with pytest.raises(dy.errors.OptionError, match="expected a Robot"):
        dy.compile("puma560", lambda arm, q: q)


def test_numpy_results_take_the_options_too(compiled, puma):
    q, qd, qdd = states(puma, 3)
    out = np.empty((3, 6, 6), np.float32)
    assert puma.operational_inertia(q, out=out, dtype="float32") is out
    assert puma.manipulability(q, dtype="float32").dtype == np.float32
    assert puma.torque_terms(q, qd, qdd, dtype="float32")["gravity"].dtype == np.float32
    with pytest.raises(dy.errors.OptionError, match="did you mean 'dtype'"):
        puma.manipulability(q, dtypes="float32")


def test_a_robot_does_not_change(compiled, puma):
    with pytest.raises(ValueError, match="read-only"):
        puma.limits[0, 0] = 9.0
    with pytest.raises(ValueError, match="read-only"):
        puma.configurations["ready"][0] = 9.0


@pytest.mark.thorough
def test_long_robots_go_by_columns(compiled):
    """Sixteen joints: the derivatives are compiled column by column, with the same answers."""
    from dynamis.bench.single import chain_of

    robot = chain_of(16)
    q, qd, qdd = states(robot)
    dq, dqd, M = robot.inverse_dynamics_derivatives(q, qd, qdd)
    close(M, robot.mass_matrix(q))
    step = 1e-6
    e = np.eye(16)[3]
    slope = (robot.inverse_dynamics(q + step * e, qd, qdd)
             - robot.inverse_dynamics(q - step * e, qd, qdd)) / (2 * step)  # fmt: skip
    close(dq[:, 3], slope, 1e-6)
    out = [np.empty((16, 16)) for _ in range(3)]
    robot.inverse_dynamics_derivatives(q, qd, qdd, out=out)
    assert np.array_equal(out[1], dqd)
    assert np.array_equal(robot.kernel("inverse_dynamics_derivatives")(q, qd, qdd)[0], dq)
    assert robot.cost("inverse_dynamics_derivatives").total < 30_000
    with pytest.raises(dy.errors.OptionError, match="export its column"):
        robot.export("inverse_dynamics_derivatives", directory="unused")
