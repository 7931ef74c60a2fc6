"""Every method and every peer agree, on the catalogue and on random robots."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import dynamis as dy
from dynamis.agree import Row, agreement
from dynamis.agree import peers as peer_table
from dynamis.agree import table as own_methods
from dynamis.agree.peers import FAULT, PEERS, PinocchioPeer, ToolboxPeer, installed, toolbox_peer
from dynamis.agree.table import QUANTITIES, peer_rows, random_states, relative_difference
from dynamis.compile.kernels import FORWARD_METHODS, INVERSE_METHODS
from dynamis.errors import OptionError
from dynamis.interop.rigid_tree import rigid_tree
from dynamis.model.model import Model
from tests.thorough import thorough_but

from ..closed_mechanisms import OPEN_ARMS
from ..random_robots import build, chains, sprung, states, trees

NAMES = OPEN_ARMS  # random states of closed mechanisms do not close
SOME = ("planar-2link", "scara", "stanford", "puma560-mdh", "panda", "sixr", "rppr", "ur10e")
IDENTITY = "forward(inverse) = identity"
SINGULAR = {"sixr"}  # no forward dynamics
SLIDING = {"rppr"}  # no regressor
ROUNDING = 1e-13  # of a solve, times the condition number of the mass matrix
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def need(peer):
    if not installed(peer):
        pytest.skip(f"{peer} is not installed: pip install {PEERS[peer].package}")


# the catalogue


@pytest.mark.parametrize("name", thorough_but(SOME, NAMES))
def test_own_methods_agree(name):
    table = agreement(dy.load(name), peers=())
    assert table.ok, str(table)
    gaps = {(row.source, row.quantity) for row in table.rows if not row.compared}
    expected = {(m, IDENTITY) for m in FORWARD_METHODS} if name in SINGULAR else set()
    expected |= {("regressor", "inverse dynamics")} if name in SLIDING else set()
    assert gaps == expected
    assert {row.source for row in table.rows} >= {*INVERSE_METHODS, *FORWARD_METHODS} - {
        own_methods.INVERSE
    }
    assert all(row.limit == 1e-10 for row in table.rows)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", thorough_but(SOME, NAMES))
def test_peers_agree(name, peer):
    need(peer)
    robot = dy.load(name)
    rows = peer_rows(robot, random_states(robot, 20, 0), peer)
    assert all(row.ok for row in rows), rows
    assert all(row.limit == 1e-9 for row in rows)
    gaps = [row for row in rows if not row.compared]
    if len(rows) == 1:
        assert explained(robot, peer, rows[0].reason), rows[0]
        return
    assert [row.quantity for row in rows] == list(QUANTITIES)
    assert [row.quantity for row in gaps] == ["forward dynamics"] * (name in SINGULAR)


def explained(robot, peer, reason):
    """Whether a peer may be silent about a robot: MuJoCo on impossible bodies, RTB on its fault."""
    if peer == "mujoco":
        return reason.startswith("not representable: MuJoCo refuses link ") and not all(
            is_solid(joint.body) for joint in rigid_tree(robot, np.zeros(robot.n))
        )
    if peer == "robotics-toolbox":
        return reason == FAULT and robot.name == "cartesian-xy"
    return False


def is_solid(body):
    low, middle, high = np.linalg.eigvalsh(body.inertia)
    return body.mass > 0 and low > 1e-15 and low + middle >= high


# random robots


def agree(robot, peer):
    rows = peer_rows(robot, random_states(robot, 3, 1), peer)
    assert [row.quantity for row in rows] == list(QUANTITIES), rows
    condition = max(np.linalg.cond(M) for M in robot.mass_matrix(random_states(robot, 3, 1).q))
    for row in rows:
        solved = row.quantity == "forward dynamics"
        limit = max(row.limit, ROUNDING * condition) if solved else row.limit
        assert row.difference is not None
        assert row.difference <= limit, row


@few
@given(st.one_of(chains(), chains(longest=5, rotors=True), trees()))
def test_random_robots_agree_with_pinocchio(robot):
    need("pinocchio")
    agree(robot, "pinocchio")


@few
@given(st.one_of(chains(), trees()))
def test_random_robots_agree_with_mujoco(robot):
    need("mujoco")
    agree(robot, "mujoco")


@pytest.mark.thorough
@few
@given(chains())
def test_random_robots_agree_with_the_toolbox(robot):
    need("robotics-toolbox")
    assume(robot.model.links[0].joint == "revolute")
    agree(with_law(robot, "coulomb"), "robotics-toolbox")


def with_law(robot, law):
    """With every friction law replaced, so that the toolbox has it too."""
    links = [
        replace(x, friction=replace(x.friction, law=law, offset=0.0, constants={}))
        for x in robot.model.links
    ]
    return dy.Robot(replace(robot.model, links=tuple(links)))


def test_the_toolbox_is_asked_with_friction():
    robot = with_law(build("standard", ["revolute"] * 3, 5), "coulomb")
    assert PEERS["robotics-toolbox"].has_friction(robot)
    assert not PEERS["robotics-toolbox"].has_friction(with_law(robot, "stribeck"))
    need("robotics-toolbox")
    q, qd, qdd = states(robot)
    tau = toolbox_peer(robot, q).inverse_dynamics(q, qd, qdd)
    assert np.allclose(tau, robot.inverse_dynamics(q, qd, qdd), rtol=1e-9)
    assert not np.allclose(tau, robot.inverse_dynamics(q, qd, qdd) - robot.friction_torque(qd))


def test_mimic_joints_agree_with_pinocchio():
    need("pinocchio")
    robot = build("urdf", ["revolute", "prismatic", "revolute", "prismatic"], 7, [-1, 0, 1, 1])
    links = list(robot.model.links)
    links[3] = replace(links[3], mimic=("joint2", -1.5, 0.2))
    tied = dy.Robot(replace(robot.model, links=tuple(links)))
    assert tied.n == 3
    agree(tied, "pinocchio")


def test_a_coupled_wrist_is_not_representable():
    robot = build("standard", ["revolute"] * 2, 3)
    gears = [[link.drive.gear, 0.0] for link in robot.model.links]
    gears[1] = [5.0, robot.model.links[1].drive.gear]
    coupled = dy.Robot(replace(robot.model, gear_matrix=gears))
    for peer in PEERS:
        need(peer)
        (row,) = peer_rows(coupled, random_states(coupled, 1, 0), peer)
        assert row.reason.startswith("not representable: "), row
        assert not row.compared


def test_a_first_moment_without_mass_is_not_representable():
    need("pinocchio")
    link = dy.Link(linear=(0, 0.1, 0, 0, 1, 0, 1, 0, 0, 1))
    robot = dy.Robot(Model(name="r", convention="standard", links=(link,)))
    (row,) = peer_rows(robot, random_states(robot, 1, 0), "pinocchio")
    assert row.reason == "not representable: link 'link1' has a first moment but no mass"


def test_the_toolbox_still_errs_on_a_first_prismatic_joint():
    """When this fails the toolbox has been corrected: drop FAULT and compare those robots too."""
    need("robotics-toolbox")
    need("pinocchio")
    slide = dy.Link(joint="prismatic", alpha="pi/2", mass=2.0)
    robot = dy.Robot.from_dh("slide", convention="modified", links=[slide])
    q = np.array([0.3])
    still = np.zeros(1)
    right = PinocchioPeer(robot, q).gravity_torque(q)
    theirs = ToolboxPeer(robot, q).peer
    assert np.allclose(robot.gravity_torque(q), right, atol=1e-14)
    assert np.allclose(theirs.rne_python(q, still, still), right, atol=1e-14)
    assert not np.allclose(theirs.rne(q, still, still), right, atol=1.0)


# the table


@pytest.mark.parametrize("peer", PEERS)
def test_a_wrong_sign_is_seen(peer, monkeypatch):
    need(peer)
    plain = PEERS[peer]
    upside_down = plain._replace(build=lambda r, q: plain.build(r.with_gravity(-r.gravity), q))
    monkeypatch.setitem(peer_table.PEERS, peer, upside_down)
    table = agreement(dy.load("panda"), samples=2, peers=[peer])
    assert not table.ok
    wrong = {row.quantity for row in table.rows if not row.ok}
    assert wrong == {"inverse dynamics", "gravity torque", "forward dynamics"}


def test_a_wrong_method_is_seen(monkeypatch):
    robot = dy.load("puma560")
    right = robot.inverse_dynamics

    def wrong(q, qd, qdd, method="newton-euler", **rest):
        return right(q, qd, qdd, method=method, **rest) * (1 + 1e-9 * (method == "gibbs-appell"))

    monkeypatch.setattr(robot, "inverse_dynamics", wrong)
    table = agreement(robot, samples=2, peers=())
    assert {row.source for row in table.rows if not row.ok} == {"gibbs-appell"}


def test_a_missing_peer_is_listed(monkeypatch):
    monkeypatch.setattr(peer_table, "find_spec", lambda name: None)
    table = agreement(dy.load("planar-rr"), samples=2)
    for peer in PEERS:
        (row,) = table.of(peer)
        assert row.reason == f"not installed: pip install {PEERS[peer].package}"
    assert table.ok


def test_difference_is_relative_to_the_largest():
    assert relative_difference(np.array([1.0, 4.0]), np.array([1.0, 5.0])) == pytest.approx(0.2)
    assert relative_difference(np.array([1e-15]), np.array([0.0]), least=1.0) == 1e-15
    assert relative_difference(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_difference(np.array([np.nan]), np.array([1.0])) == float("inf")


def test_rows_judge_themselves():
    assert Row("a", "b", 1e-10, 1e-10).ok
    assert not Row("a", "b", 1.1e-10, 1e-10).ok
    assert not Row("a", "b", float("inf"), 1e-10).ok
    assert Row("a", "b", None, 1e-10, "not installed").ok


def test_states_are_repeatable_and_in_range():
    robot = dy.load("rppr")
    a, b = random_states(robot, 200, 3), random_states(robot, 200, 3)
    assert np.array_equal(a.q, b.q)
    assert np.abs(a.q[:, [0, 3]]).max() <= np.pi
    assert a.q[:, [1, 2]].min() >= 0.1
    assert a.q[:, [1, 2]].max() <= 1.0


@pytest.mark.parametrize("options", [{"samples": 0}, {"samples": True}, {"peers": ["pinochio"]}])
def test_wrong_options_are_refused(options):
    with pytest.raises(OptionError):
        agreement(dy.load("planar-rr"), **options)


@pytest.mark.parametrize("name", ["cartesian-xy", "scara"])
def test_conjugate_gradients_stay_where_they_converged(name):
    """Gravity subtracted inside the iteration once made its last steps diverge."""
    robot = dy.load(name)
    q, qd, qdd = states(robot, 50)
    tau = robot.inverse_dynamics(q, qd, qdd)
    found = robot.forward_dynamics(q, qd, tau, method="walker-orin-4")
    assert relative_difference(found, qdd) < 1e-10


# springs


def test_a_sprung_arm_agrees_with_itself():
    """Damping of springs included; a wrong sign of it is seen."""
    arm = sprung(dy.load("puma560"), 3)
    table = agreement(arm, peers=())
    assert table.ok and all(row.compared for row in table.rows), str(table)


@pytest.mark.parametrize("peer", PEERS)
def test_peers_are_compared_without_springs(peer):
    """No peer is given springs: the rows are those of the arm without them."""
    need(peer)
    robot = dy.load("ur10e")
    arm, s = sprung(robot, 4), random_states(robot, 5, 0)
    rows, bare = peer_rows(arm, s, peer), peer_rows(robot, s, peer)
    assert rows == bare and all(row.ok for row in rows)
    assert any(row.compared for row in rows)
    q, qd, qdd = s.q, s.qd, s.qdd
    assert np.abs(arm.inverse_dynamics(q, qd, qdd) - robot.inverse_dynamics(q, qd, qdd)).max() > 1.0
