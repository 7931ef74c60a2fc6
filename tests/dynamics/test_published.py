"""Published numbers: inputs and outputs others printed, with their own precision."""

import math

import numpy as np
import pytest

import dynamis as dy

pytestmark = pytest.mark.usefixtures("compiled")

GRAVITY = (0, 0, -9.81)


def puma():
    return dy.load("puma560")


def rne(x):
    robot = puma().with_gravity([-g for g in x["gravity"]])
    return robot.inverse_dynamics(x["q"], x["qd"], x["qdd"], wrench=x.get("fext"))


TOOLBOX = {  # what its functions are here, of the inputs of a case
    "rne": rne,
    "inertia": lambda x: puma().mass_matrix(x["q"]),
    "gravload": lambda x: puma().gravity_torque(x["q"]),
    "itorque": lambda x: puma().mass_matrix(x["q"]) @ np.array(x["qdd"]),
    "inertia_x": lambda x: puma().operational_inertia(x["q"]),
    "cinertia": lambda x: puma().operational_inertia(x["q"]),
    "accel": lambda x: puma().forward_dynamics(x["q"], x["qd"], x["tau"]),
}


class TestPuma560RoboticsToolbox:
    """24 values of the Robotics Toolbox's own tests; its gravity [0, 0, 9.81] is our -9.81."""

    @pytest.fixture(autouse=True)
    def _cases(self, reference):
        self.cases = reference("puma560_rtb_tests")["tests"]

    def of(self, *names):
        found = [c for c in self.cases if c["function"] in names]
        assert found
        return found

    def test_count(self):
        assert len(self.cases) == 24

    @pytest.mark.parametrize("name", TOOLBOX)
    def test_values(self, name):
        cases = [c for c in self.of(name) if not isinstance(c["inputs"].get("tau"), str)]
        assert cases
        for case in cases:
            ours, tolerance = TOOLBOX[name](case["inputs"]), 1.5 if name == "rne" else 1.0
            assert np.allclose(ours, case["expected"], rtol=0, atol=tolerance * case["abs_tol"])

    def test_coriolis_times_velocity(self):
        """The matrix is not unique; its product with the velocity is."""
        for case in self.of("coriolis"):
            q, qd = case["inputs"]["q"], np.array(case["inputs"]["qd"])
            ours = puma().coriolis_matrix(q, qd) @ qd
            rounding = case["abs_tol"] * np.abs(qd).sum()
            assert np.allclose(ours, np.array(case["expected"]) @ qd, rtol=0, atol=rounding)

    @pytest.mark.parametrize(
        ("pose", "rate", "index"),
        [
            ([0, math.pi / 4, math.pi, 0, math.pi / 4, 0], [0, 1, 0, 0, 2, 0], 0),
            ([0, math.pi / 4, -math.pi, 1, math.pi / 4, 0], [0, 1, 0, 0, 2, 0], 1),
            ([0, math.pi / 2, -math.pi, 1, math.pi / 2, 0], [0, 0.5, 0, 0, 1, 0], 2),
        ],
    )
    def test_acceleration_from_inverse_dynamics(self, pose, rate, index):
        case = [c for c in self.of("accel") if isinstance(c["inputs"]["tau"], str)][index]
        tau = puma().inverse_dynamics(pose, rate, rate)
        qdd = puma().forward_dynamics(case["inputs"]["q"], case["inputs"]["qd"], tau)
        assert np.allclose(qdd, case["expected"], rtol=0, atol=case["abs_tol"])

    def test_rotor_inertia_is_counted_once(self):
        """Their joint-dynamics helper adds G^2 Jm to a mass matrix that already holds it."""
        case = self.of("jointdynamics (J,B motor side, joints 1-3)")[0]
        robot = puma()
        M = robot.mass_matrix(case["inputs"]["q"])
        for i, (J, B) in enumerate(case["expected"]):
            drive = robot.model.links[i].drive
            ours = M[i, i] / drive.gear**2
            assert J - ours == pytest.approx(drive.rotor_inertia, rel=1e-3)  # theirs, once more
            assert drive.viscous == pytest.approx(B)


@pytest.mark.parametrize(
    "case, which",
    [("puma560_standard_dh", ""), ("puma560_modified_dh", "2"),
     *(pytest.param(*x, marks=pytest.mark.thorough)
       for x in (("puma560_standard_dh", "2"), ("puma560_modified_dh", "")))],
)  # fmt: skip
def test_sympybotics(reference, case, which):
    """Fifteen digits, both conventions, a physical and a random parameter vector."""
    x = reference("puma560_sympybotics")["cases"][case]
    convention = "standard" if "standard" in case else "modified"
    links = [dy.Link(alpha=al, a=a, d=d) for al, a, d in x["dh_alpha_a_d"]]
    robot = dy.Robot.from_dh("puma", convention=convention, links=links, gravity=GRAVITY)
    values = robot.parameters.values.copy()
    theirs = np.array(x["dynparm" + which]).reshape(6, 10)
    xx, xy, xz, yy, yz, zz, hx, hy, hz, m = theirs.T  # their order, by name
    values[:60] = np.stack([m, hx, hy, hz, xx, xy, yy, xz, yz, zz], axis=1).ravel()
    robot = robot.with_parameters(values)
    q, qd, qdd = (np.array(x[k]) for k in ("q", "dq", "ddq"))
    close = {"rtol": 0, "atol": 1e-10}
    assert np.allclose(robot.fk(q), x["T06"], **close)
    assert np.allclose(robot.jacobian(q), x["J0"], **close)
    assert np.allclose(robot.inverse_dynamics(q, qd, qdd), x["tau" + which], **close)
    assert np.allclose(robot.gravity_torque(q), x["g" + which], **close)
    assert np.allclose(robot.coriolis_matrix(q, qd) @ qd, x["c" + which], **close)
    assert np.allclose(robot.mass_matrix(q), x["M" + which], **close)


def test_motoman_kdl(reference):
    """KDL's solver test: seven joints, rotors, a wrench applied to the robot."""
    x = reference("motoman_sia10_kdl")
    tol = {"rtol": 0, "atol": x["abs_tol"]}
    robot = dy.Robot.from_dh(
        "sia10",
        convention="standard",
        gravity=x["gravity"],
        tool={"xyz": (0, 0, x["tool_z"])},
        links=[
            dy.Link(
                d=x["d"][i],
                a=x["a"][i],
                alpha=x["alpha"][i],
                mass=x["m"][i],
                com=x["com"][i],
                inertia=x["I_diag_com"][i],
                drive=dy.Drive(rotor_inertia=x["armature"][i]),
            )
            for i in range(7)
        ],
    )
    q, qd, zero = np.array(x["q"]), np.array(x["qd"]), np.zeros(7)
    assert np.allclose(robot.fk(q)[:3, 3], x["fk_p"], **tol)
    assert np.allclose(robot.fk(q)[:3, :3], x["fk_R"], **tol)
    assert np.allclose(robot.gravity_torque(q), x["tau_gravity"], **tol)
    assert np.allclose(robot.coriolis_matrix(q, qd) @ qd, x["tau_coriolis"], **tol)
    assert np.allclose(robot.mass_matrix(q), x["M"], **tol)
    wrench = -np.array(x["fext_tool_f_n"])  # theirs acts on the robot, ours on the world
    bias = robot.inverse_dynamics(q, qd, zero, wrench=wrench)
    assert np.allclose(bias, x["tau_noninertial_with_fext"], **tol)
    for tau, expected in (
        (zero, x["qdd_for_tau0_with_fext"]),
        (x["tau_in"], x["qdd_for_tau_in_with_fext"]),
    ):
        assert np.allclose(robot.forward_dynamics(q, qd, tau, wrench=wrench), expected, **tol)


def test_rbdl_planar_chains(reference):
    x = reference("rbdl_planar_chains")
    for n in (1, 2, 3):
        links = [dy.Link(a=1.0, mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)) for _ in range(n)]
        robot = dy.Robot.from_dh("chain", convention="standard", links=links, gravity=(0, -9.81, 0))
        qdd = robot.forward_dynamics(np.zeros(n), np.zeros(n), np.zeros(n))
        assert np.allclose(qdd, x["qdd"][f"{n}R"], rtol=0, atol=1e-12)
    one = x["1R_nontrivial"]
    link = dy.Link(mass=one["m"], com=one["com"], inertia=one["I_com_diag"])
    robot = dy.Robot.from_dh("one", convention="modified", links=[link], gravity=(0, -9.81, 0))
    assert np.allclose(robot.forward_dynamics([0], [0], [0]), one["qdd"], rtol=0, atol=1e-12)


def two_link():
    """Spong's arm in the vertical plane: the base turns the plane up, gravity stays put."""
    links = [dy.Link(a=1.0, mass=1.0, com=(-0.5, 0, 0)) for _ in range(2)]
    base = {"rpy": ("pi/2", 0, 0)}
    return dy.Robot.from_dh("two", convention="standard", links=links, gravity=GRAVITY, base=base)


def test_two_link_gravity_and_wrench(reference):
    zero = np.zeros(2)
    for case in reference("twolink_rtb")["tests"]:
        if "expected_over_g" in case:
            tau = two_link().inverse_dynamics(case["q"], zero, zero)
            assert np.allclose(tau, 9.81 * np.array(case["expected_over_g"]), atol=1e-12)
        else:
            wrench = [float(s) for s in case["fn"].split("[")[1].split("]")[0].split()]
            robot = two_link().with_gravity((0, 0, 0))
            tau = robot.inverse_dynamics(case["q"], zero, zero, wrench=wrench)
            assert np.allclose(tau, case["expected"], atol=1e-12)


def test_two_link_closed_form():
    robot = two_link()
    q, qd = np.array([0.3, 0.8]), np.array([0.7, -1.1])
    c, s = np.cos(q[1]), np.sin(q[1])
    M = [[1.5 + c, 0.25 + 0.5 * c], [0.25 + 0.5 * c, 0.25]]
    h = -0.5 * s
    assert np.allclose(robot.mass_matrix(q), M, atol=1e-12)
    expected = [h * (2 * qd[0] * qd[1] + qd[1] ** 2), -h * qd[0] ** 2]
    assert np.allclose(robot.coriolis_matrix(q, qd) @ qd, expected, atol=1e-12)


class TestPractica3:
    """Document 000: three-bar pendulum, RPPR arm, elbow arm."""

    @pytest.fixture(autouse=True)
    def _reference(self, reference):
        self.x = reference("practica3_umh")

    def test_pendulum(self):
        robot = dy.load("pendulum3")
        recomputed = self.x["newtoneuler3_pendulum"]["recomputed"]
        for case in recomputed["inverse_dynamics"]:
            tau = robot.inverse_dynamics(case["q"], case["qd"], case["qdd"])
            assert np.allclose(tau, case["tau"], rtol=1e-12)
        rest = np.zeros(3)
        qdd = robot.forward_dynamics(rest, rest, rest)
        assert np.allclose(qdd, recomputed["qdd_at_rest"], rtol=1e-12)

    def test_elbow(self):
        for case in self.x["newtoneuler6"]["recomputed"]:
            robot = dy.load("elbow6").with_payload(case["load_m"], inertia=[case["load_I"]] * 3)
            tau = robot.inverse_dynamics(case["q"], case["qd"], case["qdd"])
            assert np.allclose(tau, case["tau"], rtol=1e-12, atol=1e-12)

    def test_rppr_carries_its_weight(self):
        robot = dy.load("rppr").with_payload(3.0, inertia=[0.05] * 3)
        q = [0.3, 0.5, 0.2, -0.7]
        tau = robot.inverse_dynamics(q, [0] * 4, [0] * 4)
        assert tau[1] == pytest.approx((5 + 5 + 3 + 3) * 9.8, abs=1e-12)
        assert tau[1] == pytest.approx(156.8, abs=1e-12)


def test_polar_arm_of_document_004():
    """D, H and C, and the matrices on the way."""
    robot = dy.load("polar-rp")
    v = robot.model.values
    m1, m2, L1 = v["m1"], v["m2"], v["L1"]
    th, d, thd, dd = 0.4, 0.7, 1.3, -0.6
    terms = robot.lagrange_euler([th, d], [thd, dd], [0.5, 0.9])
    C1, S1 = np.cos(th), np.sin(th)
    A1 = [[C1, 0, -S1, 0], [S1, 0, C1, 0], [0, -1, 0, 0], [0, 0, 0, 1]]
    A2 = [[C1, 0, -S1, -d * S1], [S1, 0, C1, d * C1], [0, -1, 0, 0], [0, 0, 0, 1]]
    U21 = [[-S1, 0, -C1, -d * C1], [C1, 0, -S1, -d * S1], [0] * 4, [0] * 4]
    U22 = [[0, 0, 0, -S1], [0, 0, 0, C1], [0] * 4, [0] * 4]
    U212 = [[0, 0, 0, -C1], [0, 0, 0, -S1], [0] * 4, [0] * 4]
    J1 = np.zeros((4, 4))
    J1[2:, 2:] = [[m1 * L1**2, m1 * L1], [m1 * L1, m1]]
    for got, expected in (
        (terms.A[0], A1),
        (terms.A[1], A2),
        (terms.U[1, 0], U21),
        (terms.U[1, 1], U22),
        (terms.U[0, 1], np.zeros((4, 4))),
        (terms.UU[1, 0, 1], U212),
        (terms.UU[1, 1, 0], U212),
        (terms.UU[1, 1, 1], np.zeros((4, 4))),
        (terms.J[0], J1),
        (terms.J[1], np.diag([0, 0, 0, m2])),
        (terms.D, np.diag([m1 * L1**2 + m2 * d**2, m2])),
        (terms.h[0], [[0, m2 * d], [m2 * d, 0]]),
        (terms.h[1], [[-m2 * d, 0], [0, 0]]),
        (terms.H, [2 * d * m2 * thd * dd, -d * m2 * thd**2]),
        (terms.C, [0, 0]),
    ):
        assert np.allclose(got, expected, rtol=0, atol=1e-12)


def test_kr16_closed_forms_of_document_001():
    """0A3 and 3A6."""
    robot = dy.load("kr16")
    q = np.array([0.3, -0.4, 0.5, 0.6, -0.7, 0.8])
    c, s = np.cos(q), np.sin(q)
    row = {r.joint_name: r for r in robot.dh().rows}
    d1, a1, a2, a3, d4, d6 = (
        row["joint1"].d, row["joint1"].a, row["joint2"].a, row["joint3"].a,
        row["joint4"].d, row["joint6"].d,
    )  # fmt: skip
    c23, s23 = np.cos(q[1] + q[2]), np.sin(q[1] + q[2])
    A03 = np.array([
        [c[0] * c23, -s[0], -c[0] * s23, c[0] * (a3 * c23 + a2 * c[1] + a1)],
        [s[0] * c23, c[0], -s[0] * s23, s[0] * (a3 * c23 + a2 * c[1] + a1)],
        [s23, 0, c23, a3 * s23 + a2 * s[1] + d1],
        [0, 0, 0, 1],
    ])  # fmt: skip
    c4, c5, c6, s4, s5, s6 = *c[3:], *s[3:]
    A36 = np.array([
        [c4 * c5 * c6 - s4 * s6, -c4 * c5 * s6 - s4 * c6, c4 * s5, c4 * s5 * d6],
        [s4 * c5 * c6 + c4 * s6, -s4 * c5 * s6 + c4 * c6, s4 * s5, s4 * s5 * d6],
        [-s5 * c6, s5 * s6, c5, c5 * d6 + d4],
        [0, 0, 0, 1],
    ])  # fmt: skip
    frames = robot.frames(q)
    assert np.allclose(frames[3], A03, rtol=0, atol=1e-12)
    assert np.allclose(np.linalg.inv(frames[3]) @ frames[6], A36, rtol=0, atol=1e-12)


def test_sixr_corrected_angular_acceleration_of_document_002():
    """w-dot of link 2 is (-S2 th1'' - C2 th1' th2', th2'', C2 th1'' - S2 th1' th2')."""
    from dynamis.dynamics.newton_euler import outward
    from dynamis.spatial.functions import MATH
    from dynamis.spatial.rotations import rotate_back

    robot = dy.load("sixr")
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=(3, 6))
    _, links = outward(robot.chain, q.tolist(), qd.tolist(), qdd.tolist(), MATH)
    wd = rotate_back(robot.chain.bodies[1].user.R, links[1].wd)
    C2, S2 = np.cos(q[1]), np.sin(q[1])
    expected = (
        -S2 * qdd[0] - C2 * qd[0] * qd[1],
        qdd[1],
        C2 * qdd[0] - S2 * qd[0] * qd[1],
    )
    assert np.allclose(wd, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["ur10e", "kuka_lwr4", "tx40"])
def test_pinocchio_on_urdf(reference, data, name):
    """Torques Pinocchio gives for three arms' URDF files; joints mapped by name."""
    entry = reference("pinocchio_urdf")["robots"][name]
    robot = dy.load(data.parent / entry["urdf"]).with_gravity(entry["gravity"])
    order = [robot.joint_names.index(j) for j in entry["joints"]]
    friction_free = robot.with_parameters(without_friction(robot))
    for case in entry["cases"]:
        q, qd, qdd = (np.zeros(robot.n) for _ in range(3))
        q[order], qd[order], qdd[order] = case["q"], case["qd"], case["qdd"]
        tau = friction_free.inverse_dynamics(q, qd, qdd)[order]
        assert np.allclose(tau, case["tau"], rtol=1e-9, atol=1e-9)
        assert np.allclose(robot.gravity_torque(q)[order], case["g"], rtol=1e-9, atol=1e-9)
        M = robot.mass_matrix(q)[np.ix_(order, order)]
        assert np.allclose(M, case["M"], rtol=1e-9, atol=1e-9)


def without_friction(robot):
    p = robot.parameters
    values = p.values.copy()
    for k, name in enumerate(p.names):
        if name.split(".")[-1] in ("viscous", "coulomb+", "coulomb-", "offset"):
            values[k] = 0.0
    return values
