"""CuPy arrays and CUDA tensors given to a robot: computed there, returned as the same kind."""

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError, ShapeError

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
torch = pytest.importorskip("torch", reason="PyTorch is not installed")
pytestmark = pytest.mark.usefixtures("compiled")
ROBOT = dy.load("puma560")
RNG = np.random.default_rng(0)


def tensor(x):
    return torch.as_tensor(np.asarray(x), device="cuda")


def host(x) -> np.ndarray:
    return x.get() if isinstance(x, cupy.ndarray) else x.cpu().numpy()


KINDS = pytest.mark.parametrize("there", [cupy.asarray, tensor], ids=["cupy", "torch"])


@KINDS
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (0,), (2, 0, 3)])
def test_leading_axes(there, shape):
    q, qd, qdd = RNG.uniform(-2, 2, (3, *shape, 6))
    found = ROBOT.inverse_dynamics(there(q), there(qd), there(qdd))
    assert type(found) is type(there(q))
    assert tuple(found.shape) == (*shape, 6)
    np.testing.assert_array_equal(host(found), ROBOT.inverse_dynamics(q, qd, qdd))
    M = ROBOT.mass_matrix(there(q))
    np.testing.assert_array_equal(host(M), ROBOT.mass_matrix(q))


@KINDS
def test_broadcasting_lists_and_strides(there):
    q, qd = RNG.uniform(-2, 2, (4, 1, 6)), RNG.uniform(-2, 2, (5, 6))
    found = ROBOT.inverse_dynamics(there(q), there(qd), [0.0] * 6)
    np.testing.assert_array_equal(host(found), ROBOT.inverse_dynamics(q, qd, np.zeros(6)))
    wide = RNG.uniform(-2, 2, (8, 12))
    found = ROBOT.gravity_torque(there(wide)[::2, ::2])
    np.testing.assert_array_equal(host(found), ROBOT.gravity_torque(wide[::2, ::2]))
    whole = np.arange(12).reshape(2, 6)
    found = ROBOT.gravity_torque(there(whole))
    np.testing.assert_array_equal(host(found), ROBOT.gravity_torque(whole))


@KINDS
def test_the_arrays_decide_the_kind_of_number(there):
    q = RNG.uniform(-2, 2, (9, 6)).astype(np.float32)
    found = ROBOT.gravity_torque(there(q))
    assert host(found).dtype == np.float32
    np.testing.assert_array_equal(host(found), ROBOT.gravity_torque(q, dtype="float32"))
    assert host(ROBOT.gravity_torque(there(q), dtype="float64")).dtype == np.float64
    assert host(ROBOT.inverse_dynamics(there(q), there(q), [0] * 6)).dtype == np.float32


@KINDS
def test_out(there):
    q = RNG.uniform(-2, 2, (9, 6))
    expected = ROBOT.gravity_torque(q)
    out = there(np.zeros((9, 6)))
    assert ROBOT.gravity_torque(there(q), out=out) is out
    np.testing.assert_array_equal(host(out), expected)
    turned = there(np.zeros((6, 9))).T
    ROBOT.gravity_torque(there(q), out=turned)
    np.testing.assert_array_equal(host(turned), expected)
    own = there(q)
    ROBOT.gravity_torque(own, out=own)
    np.testing.assert_array_equal(host(own), expected)
    with pytest.raises(ShapeError, match=r"out is .*\(8, 6\)"):
        ROBOT.gravity_torque(there(q), out=there(np.zeros((8, 6))))
    with pytest.raises(ShapeError, match="float32"):
        ROBOT.gravity_torque(there(q), out=there(np.zeros((9, 6), np.float32)))
    with pytest.raises(ShapeError, match="out is"):
        ROBOT.gravity_torque(there(q), out=np.zeros((9, 6)))


@KINDS
def test_several_results_and_parameters(there):
    q, qd, qdd = RNG.uniform(-2, 2, (3, 4, 6))
    found = ROBOT.inverse_dynamics_derivatives(there(q), there(qd), there(qdd))
    for a, b in zip(found, ROBOT.inverse_dynamics_derivatives(q, qd, qdd), strict=True):
        np.testing.assert_array_equal(host(a), b)
    kernel = ROBOT.kernel("inverse_dynamics", parameters="argument")
    values = np.asarray(ROBOT.parameters.values) * RNG.uniform(0.5, 1.5, (4, 1))
    found = kernel(there(q), there(qd), there(qdd), there(values))
    np.testing.assert_array_equal(host(found), kernel(q, qd, qdd, values))


@KINDS
def test_a_function_of_ones_own(there):
    def pull(arm, q, v):
        return [a * arm.sin(b) for a, b in zip(v, q, strict=True)]

    function = dy.compile(ROBOT, pull)
    q, v = RNG.uniform(-2, 2, (2, 4, 6))
    np.testing.assert_array_equal(host(function(there(q), there(v))), function(q, v))


@KINDS
def test_wrong_arrays(there):
    q = RNG.uniform(-2, 2, (4, 6))
    with pytest.raises(ShapeError, match=r"qd has shape \(4, 5\)"):
        ROBOT.inverse_dynamics(there(q), there(q[:, :5]), there(q))
    with pytest.raises(ShapeError, match="broadcast"):
        ROBOT.inverse_dynamics(there(q), there(q[:3]), there(q))
    with pytest.raises(ShapeError, match="two kinds"):
        ROBOT.inverse_dynamics(there(q), q, there(q))
    with pytest.raises(ShapeError, match="complex"):
        ROBOT.gravity_torque(there(q + 0j))
    with pytest.raises(OptionError, match="has no keyword"):
        ROBOT.gravity_torque(there(q), colour="red")


def test_two_kinds_and_gradients():
    q = RNG.uniform(-2, 2, (4, 6))
    with pytest.raises(ShapeError, match="two kinds"):
        ROBOT.inverse_dynamics(cupy.asarray(q), tensor(q), tensor(q))
    with pytest.raises(ShapeError, match="two kinds"):
        ROBOT.inverse_dynamics(tensor(q), torch.as_tensor(q), tensor(q))
    with pytest.raises(OptionError, match=r"dynamis\.torch"):
        ROBOT.gravity_torque(tensor(q).requires_grad_())


def test_the_stream_of_the_caller():
    q = RNG.uniform(-2, 2, (100_000, 6))
    expected = ROBOT.gravity_torque(q)
    with cupy.cuda.Stream(non_blocking=True) as stream:
        busy = cupy.random.default_rng(0).standard_normal((3000, 3000))
        for _ in range(5):
            busy = busy @ busy / 1e3
        late = cupy.asarray(q) + 0.0 * busy[0, 0]
        found = ROBOT.gravity_torque(late) + 0.0
        stream.synchronize()
    np.testing.assert_array_equal(host(found), expected)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        busy = torch.randn(3000, 3000, device="cuda")
        for _ in range(5):
            busy = busy @ busy / 1e3
        late = tensor(q) + 0.0 * busy[0, 0]
        found = ROBOT.gravity_torque(late) + 0.0
    side.synchronize()
    np.testing.assert_array_equal(host(found), expected)


def test_singular_arms_are_nan_on_a_gpu():
    body = {"mass": 1.0, "com": (0.1, 0, 0), "inertia": (0, 0, 0, 0, 0, 0)}
    arm = dy.Robot.from_dh(
        "point", convention="standard", links=[dy.Link(a=0.0, **body | {"com": (0, 0, 0)})]
    )
    found = arm.forward_dynamics(cupy.zeros((3, 1)), cupy.zeros((3, 1)), cupy.ones((3, 1)))
    assert not cupy.isfinite(found).any()


def test_long_arms_by_columns():
    body = {"mass": 1.0, "com": (0.05, 0, 0), "inertia": (1e-2, 2e-2, 2e-2, 0, 0, 0)}
    links = [dy.Link(a=0.1, alpha=0.5, **body) for _ in range(20)]
    arm = dy.Robot.from_dh("long", convention="modified", links=links)
    q, qd = RNG.uniform(-1, 1, (2, 3, 20))
    for there in (cupy.asarray, tensor):
        found = arm.coriolis_matrix(there(q), there(qd))
        np.testing.assert_array_equal(host(found), arm.coriolis_matrix(q, qd))
