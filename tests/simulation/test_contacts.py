"""Arms that touch a world: cases with exact answers (impacts, friction, reactions)."""

import math
from dataclasses import replace

import numpy as np
import pytest

import dynamis as dy
from dynamis.errors import OptionError
from dynamis.simulation.contact.setting import contact_points

from .bodies import GRAVITY, body, free_body, hinge, moving_point, slide, tilted

pytestmark = pytest.mark.usefixtures("compiled")
BALL = dy.Geometry(kind="sphere", radius=0.1)
POINT = 1e-12  # m: a sphere this small is a point


def ball(mass=2.0, limits=None):
    """A ball that moves up and down."""
    link = dy.Link(
        joint="prismatic", name="ball", mass=mass, com=(0, 0, 0), inertia=(0, 0, 0), limits=limits
    )
    return dy.Robot.from_dh(
        "ball",
        convention="standard",
        links=[link],
        gravity=(0, 0, -GRAVITY),
        geometry=[replace(BALL, link="ball")],
    )


def test_heights_of_bounces():
    """h e^(2n), and at rest at sqrt(2 h / g) (1 + e) / (1 - e) but for the last, slow bounces."""
    e = 0.8
    run = dy.simulate(ball(), 4.2, q0=[1.1], world=[dy.Plane(restitution=e)], check_step=False)
    z, v = run.q[:, 0] - 0.1, run.qd[:, 0]
    height = z + v * v / (2 * GRAVITY)
    bounces = np.flatnonzero(np.diff(v) > 0.1)
    assert len(bounces) > 15 and z.min() >= 0.0
    for n, k in enumerate(bounces[:15], start=1):
        assert height[k + 1] == pytest.approx(e ** (2 * n), rel=4e-13)
    zeno = math.sqrt(2 / GRAVITY) * (1 + e) / (1 - e)
    rest = run.t[np.flatnonzero(v != 0.0)[-1]]
    assert zeno == pytest.approx(4.063713, abs=1e-6) and zeno - 0.02 < rest < zeno
    assert z[-1] == 0.0
    assert run.contacts.normal_force[-1, 0] == pytest.approx(2.0 * GRAVITY, rel=1e-14)


def test_momentum_of_an_impact_is_in_its_force():
    """The force of a step is its mean: m (1 + e) v over the step, less what gravity gave."""
    run = dy.simulate(ball(), 0.5, q0=[1.1], world=[dy.Plane(restitution=0.5)], check_step=False)
    impulse = run.dt * run.contact_force[:-1, 0, 2].sum()
    change = 2.0 * (run.qd[-1, 0] - run.qd[0, 0]) + 2.0 * GRAVITY * run.t[-1]
    assert impulse == pytest.approx(change, rel=1e-12)


@pytest.mark.parametrize("share", [1.000001, 0.8])
def test_a_block_on_an_incline(share):
    """tan a = 1/2: at rest where mu is above it, else v = g (sin a - mu cos a) t."""
    a, mu = math.atan(0.5), 0.5 * share
    block = moving_point([dy.Geometry(kind="box", size=(0.2, 0.2, 0.1))], gravity=tilted(a))
    run = dy.simulate(block, 0.5, q0=[0.05, 0, 0], world=[dy.Plane(friction=mu)], check_step=False)
    expected = max(0.0, GRAVITY * (math.sin(a) - mu * math.cos(a)) * 0.5)
    if share > 1:
        assert not run.qd.any()
    else:
        assert run.qd[-1] == pytest.approx([0.0, expected, 0.0], abs=1e-12)
        assert expected == pytest.approx(0.4387, abs=5e-5)
    total = run.contact_force[0].sum(axis=0)
    assert total[2] == pytest.approx(GRAVITY * math.cos(a), rel=1e-12)
    assert run.contacts.residual.max() < 1e-12


def test_a_sphere_slides_and_then_rolls():
    """It ends at 5/7 of its velocity, and rolls from 2 v / (7 mu g) on."""
    v, mu, r = np.array([1.0, 0.3]), 0.2, 0.1
    sphere = free_body([BALL], mass=2.0, inertia=(0.4 * 2.0 * r * r,) * 3)
    rates = np.linalg.solve(sphere.jacobian(np.zeros(6)), [*v, 0, 0, 0, 0])
    run = dy.simulate(
        sphere, 0.2, q0=[r, 0, 0, 0, 0, 0], qd0=rates, world=[dy.Plane(friction=mu)],
        check_step=False,
    )  # fmt: skip
    twist = np.array([sphere.jacobian(q) @ qd for q, qd in zip(run.q, run.qd, strict=True)])
    np.testing.assert_allclose(twist[-1, :3], [*(5 / 7 * v), 0.0], atol=1e-10)
    rolls = run.t[int(np.argmax(run.contacts.slip[:, 0] < 1e-9))]
    expected = 2 * math.hypot(*v) / (7 * mu * GRAVITY)
    assert expected == pytest.approx(0.15203, abs=1e-5) and expected <= rolls < expected + 2e-3
    assert (run.contacts.mode[:100, 0] == 1).all() and (run.contacts.mode[-40:, 0] == 2).all()
    assert np.ptp(run.q[:, 0]) < 1e-15


@pytest.mark.parametrize("friction", [0.0, 0.3])
def test_a_sphere_in_a_groove(friction):
    """Between walls at 45 degrees: m g / (2 cos 45) each without friction; it rests with any."""
    s = math.sqrt(0.5)
    walls = [dy.Plane(normal=(x, 0, s), friction=friction) for x in (s, -s)]
    sphere = moving_point([BALL])
    run = dy.simulate(sphere, 0.3, q0=[0.1 / s, 0, 0], world=walls, check_step=False)
    assert np.abs(run.qd).max() < 1e-15
    assert run.contact_force[-1].sum(axis=0) == pytest.approx([0, 0, GRAVITY], abs=1e-12)
    if friction == 0.0:
        np.testing.assert_allclose(run.contacts.normal_force[-1], GRAVITY / (2 * s), rtol=1e-12)


def two_links():
    """The arm of the notes: 0.5 and 0.4 m, 5 and 3 kg, in a level plane."""
    links = [
        dy.Link(name="a", a=0.5, mass=5, com=(-0.25, 0, 0), inertia=(0, 0, 0.02)),
        dy.Link(name="b", a=0.4, mass=3, com=(-0.2, 0, 0), inertia=(0, 0, 0.01)),
    ]
    tip = dy.Geometry(kind="sphere", link="b", radius=POINT)
    return dy.Robot.from_dh(
        "arm", convention="standard", links=links, gravity=(0, 0, 0), geometry=[tip]
    )


AT_WALL = np.array([0.3, 0.8])


def pressed(along, duration=0.01, **options):
    """The arm that pushes a wall with 20 N, and along it."""
    arm = two_links()
    x, J = arm.fk(AT_WALL)[0, 3], arm.jacobian(AT_WALL)[:2]
    wall = dy.Plane(normal=(-1, 0, 0), offset=-x - POINT, friction=0.4, name="wall")
    torque = J.T @ [20.0, along]
    return dy.simulate(
        arm, duration, q0=AT_WALL, torque=torque, world=[wall], check_step=False, **options
    )


@pytest.mark.parametrize(
    ("along", "reaction", "acceleration"),
    [(7.9, 20.0, 0.0), (8.1, 19.963175678, 0.019948687), (12.0, 18.527027103, 0.797947475)],
)
def test_an_arm_at_a_wall(along, reaction, acceleration):
    """The wall pushes back, and rubs up to 0.4 of that; l_n = -b_n / (G_nn - mu G_nt)."""
    run = pressed(along)
    found = run.contacts
    assert found.normal_force[0, 0] == pytest.approx(reaction, abs=1e-9)
    friction = min(along, 0.4 * reaction)
    assert run.contact_force[0, 0] == pytest.approx([-reaction, -friction, 0.0], abs=1e-9)
    J = two_links().jacobian(AT_WALL)[:2]
    assert (J @ run.qd[1])[1] / run.dt == pytest.approx(acceleration, abs=2e-6)
    assert found.mode[0, 0] == (2 if acceleration == 0.0 else 1)
    assert np.abs(found.distance).max() < 1e-15


def test_sliding_along_a_wall_is_of_fourth_order():
    """Held within the stages, contacts leave the order of the steps."""
    ends = [pressed(12.0, 0.4, dt=dt).q[-1] for dt in (8e-3, 4e-3, 2e-3, 1e-3)]
    errors = [np.abs(x - ends[-1]).max() for x in ends[:-1]]
    assert errors[0] / errors[1] > 12 and errors[1] / errors[2] > 12


def test_a_peg_between_two_walls():
    """Pressed against one of two walls that it touches: only that one pushes back."""
    peg = moving_point([dy.Geometry(kind="capsule", from_=(0, 0, 0), to=(0, 0, 0.2), radius=0.1)])
    walls = [
        dy.Plane(normal=(1, 0, 0), offset=-0.1, friction=0.3, name="left"),
        dy.Plane(normal=(-1, 0, 0), offset=-0.1, friction=0.3, name="right"),
    ]
    run = dy.simulate(peg, 0.1, world=walls, torque=[GRAVITY, 5.0, 0.0], check_step=False)
    assert run.contacts.pairs == (("geometry1", "left"),) * 2 + (("geometry1", "right"),) * 2
    assert run.contacts.of(obstacle="right")[-1] == pytest.approx([-5, 0, 0], abs=1e-12)
    assert not run.contacts.of(obstacle="left").any() and not run.qd.any()
    # pulled along the hole with less than friction holds, and with more
    for pull, moves in ((1.4, 0.0), (1.6, 0.1)):
        run = dy.simulate(peg, 0.1, world=walls, torque=[GRAVITY, 5.0, pull], check_step=False)
        assert run.qd[-1, 2] == pytest.approx(moves * 0.1, abs=1e-12)


def rod(angle, radius=1e-3):
    """A uniform rod of 1 m and 1 kg in a vertical plane, its lower end 0.5 m from the middle."""
    links = [slide(math.pi / 2, math.pi / 2), slide(-math.pi / 2, math.pi / 2)]
    links.append(hinge(mass=1.0, inertia=(1 / 12,) * 3))
    way = (0.5 * math.cos(angle), 0.0, -0.5 * math.sin(angle))
    plain = body(*links, geometry=[dy.Geometry(kind="sphere", radius=radius)])
    end = plain.fk(np.zeros(3))[:3, :3].T @ way
    shape = dy.Geometry(kind="sphere", radius=radius, xyz=tuple(end.tolist()))
    return body(*links, geometry=[shape]), [0.5 * math.sin(angle) + radius, 0.0, 0.0]


def test_the_rod_of_painleve_is_named_and_does_not_explode():
    """Pushed with its end ahead under much friction: G_nn < mu |G_nt|."""
    arm, q0 = rod(math.radians(60))
    with pytest.warns(dy.errors.DynamisWarning, match="Painleve"):
        run = dy.simulate(
            arm, 1.0, q0=q0, qd0=[0, 2.0, 0], world=[dy.Plane(friction=1.9)], check_step=False
        )
    assert any("Painleve" in x.what for x in run.check())
    energy = run.energy.total
    assert energy.max() < energy[0] + 1e-9 and run.contacts.distance.min() > -1e-9
    assert run.contacts.paradox[0, 0] == 1.0


@pytest.mark.parametrize(("speed", "friction"), [(2.0, 0.3), (-2.0, 0.3), (-2.0, 1.2)])
def test_a_rod_that_falls_gains_no_energy(speed, friction):
    arm, q0 = rod(math.radians(60))
    run = dy.simulate(
        arm, 1.0, q0=q0, qd0=[0, speed, 0], world=[dy.Plane(friction=friction)], check_step=False
    )
    energy = run.energy.total
    assert energy.max() < energy[0] + 1e-9
    assert run.contacts.distance.min() > -1e-9


def cage(sphere, restitution, duration):
    """A sphere that flies about in a box of six walls."""
    walls = [
        dy.Plane(normal=(0, 0, s), offset=-0.4, friction=0.0, restitution=restitution)
        for s in (1, -1)
    ]
    for s in (1, -1):
        for k, room in enumerate((0.15, 0.16)):
            normal = [0.0, 0.0, 0.0]
            normal[k] = s
            walls.append(
                dy.Plane(normal=normal, offset=-room, friction=0.0, restitution=restitution)
            )
    return dy.simulate(
        sphere, duration, q0=[0.1, 0.01, 0.02], qd0=[2.0, 3.0, 5.0], world=walls, check_step=False,
        save_every=10,
    )  # fmt: skip


@pytest.mark.parametrize("duration", [20.0, pytest.param(1300.0, marks=pytest.mark.thorough)])
def test_impacts_create_no_energy(duration):
    """1e5 elastic impacts of three pairs of walls, corners among them, in the long run."""
    run = cage(moving_point([BALL]), 1.0, duration)
    energy = run.energy.total
    np.testing.assert_allclose(energy, energy[0], rtol=1e-12)


def test_a_pressed_tool_does_not_drift():
    """A minute long a point that sticks near its limit moves by rounding alone."""
    run = pressed(7.9, 60.0, save_every=1000)
    assert np.abs(run.q - AT_WALL).max() < 1e-11
    assert np.abs(run.contacts.distance).max() < 1e-15
    assert run.contacts.unsolved == 0


def test_joint_stops_beside_a_world_act_as_without_one():
    arm = ball(limits=(-1.0, 0.5))
    options = {"q0": [0.2], "qd0": [5.0], "stops": True, "restitution": 0.5, "check_step": False}
    alone = dy.simulate(arm, 1.0, **options)
    beside = dy.simulate(arm, 1.0, world=[dy.Plane(offset=-5.0)], **options)
    np.testing.assert_allclose(beside.q, alone.q, atol=1e-7)
    assert beside.q.max() <= 0.5 and alone.q.max() <= 0.5
    assert beside.friction[-1] == pytest.approx(alone.friction[-1], abs=1e-12)


def test_friction_at_a_stop_beside_a_world():
    """What holds a joint at its stop is friction and stop together, as without a world."""
    link = dy.Link(
        joint="prismatic", name="rail", mass=1.0, com=(0, 0, 0), inertia=(0, 0, 0),
        friction=dy.Friction(coulomb=3.0), limits=(-1.0, 0.2),
    )  # fmt: skip
    arm = dy.Robot.from_dh(
        "rail", convention="standard", links=[link], gravity=(0, 0, 0),
        geometry=[dy.Geometry(kind="sphere", link="rail", radius=0.1)],
    )  # fmt: skip
    options = {"torque": [5.0], "stops": True, "check_step": False}
    alone = dy.simulate(arm, 1.0, **options)
    beside = dy.simulate(arm, 1.0, world=[dy.Plane(offset=-5.0)], **options)
    assert beside.q[-1] == alone.q[-1] == 0.2
    assert beside.friction[-1] == pytest.approx(5.0) and alone.friction[-1] == pytest.approx(5.0)


def test_joint_friction_and_a_contact_share_a_load():
    """A slide with Coulomb friction pressed on a wall: both together take the load."""
    link = dy.Link(
        joint="prismatic", name="rail", mass=1.0, com=(0, 0, 0), inertia=(0, 0, 0),
        friction=dy.Friction(coulomb=3.0),
    )  # fmt: skip
    arm = dy.Robot.from_dh(
        "rail", convention="standard", links=[link], gravity=(0, 0, 0),
        geometry=[dy.Geometry(kind="sphere", link="rail", radius=0.1)],
    )  # fmt: skip
    wall = [dy.Plane(normal=(0, 0, -1), offset=-0.2, friction=0.0)]
    arrives = dy.simulate(arm, 1.0, torque=[5.0], world=wall, check_step=False)
    assert arrives.q[-1, 0] == pytest.approx(0.1, abs=1e-15) and not arrives.qd[-1].any()
    push = -arrives.contacts.force[-1, 0, 2] + arrives.friction[-1, 0]
    assert push == pytest.approx(5.0, abs=1e-12) and abs(arrives.friction[-1, 0]) <= 3.0 + 1e-12


def test_far_from_its_world_an_arm_moves_as_without_one():
    arm = two_links()
    options = {"q0": [0.1, 0.2], "qd0": [1.0, -2.0], "check_step": False}
    alone = dy.simulate(arm, 0.5, **options)
    beside = dy.simulate(arm, 0.5, world=[dy.Sphere(radius=0.1, xyz=(9, 0, 0))], **options)
    np.testing.assert_allclose(beside.q, alone.q, atol=1e-13)
    assert not beside.contact_force.any() and not beside.contacts.touching.any()


SHAPES = {
    "capsule": {"kind": "capsule", "from_": (0, 0, 0), "to": (0, 0, 0.2), "radius": 0.05},
    "box": {"kind": "box", "size": (0.1, 0.1, 0.1)},
    "mesh": {"kind": "mesh", "file": "none.stl"},
}


@pytest.mark.parametrize(
    ("shape", "obstacle", "said"),
    [
        ("box", dy.Box(size=(1, 1, 1), name="bench"), r"a box with a box .*'bench'"),
        ("capsule", dy.Box(size=(1, 1, 1)), "a capsule with a box"),
        ("capsule", dy.Capsule(from_=(0, 0, 0), to=(1, 0, 0), radius=0.1), "capsule with a caps"),
        ("mesh", dy.Plane(), "geometry1: mesh"),
        ("box", dy.Plane(stiffness=1e5, name="foam"), "'foam' has stiffness"),
        ("box", [dy.Plane(name=f"p{k}") for k in range(7)], "at 28 points, at most 24"),
    ],
)
def test_pairs_that_are_not_simulated_are_refused_by_name(shape, obstacle, said):
    arm = moving_point([dy.Geometry(**SHAPES[shape])])
    with pytest.raises(OptionError, match=said):
        dy.simulate(arm, 0.1, q0=[5.0, 0, 0], world=obstacle)


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"drive": dy.Drive(rotor_inertia=1e-4, gear=100, stiffness=1e4)}, {}, "elastic joints"),
        ({"drive": dy.Drive(rotor_inertia=1e-4, gear=100, efficiency=0.8)}, {}, "lose power"),
        ({}, {"integrator": "dormand-prince"}, "dormand-prince"),
        ({}, {"dtype": "float32"}, "float32"),
    ],
)
def test_what_is_not_simulated_beside_contacts_is_refused_by_name(change, options, said):
    arm = two_links()
    if change:
        first, second = arm.model.links
        arm = dy.Robot(replace(arm.model, links=(replace(first, **change), second)))
    with pytest.raises(OptionError, match=said):
        dy.simulate(arm, 0.1, world=[dy.Plane(offset=-1.0)], **options)


def test_an_arm_without_shapes_or_within_an_obstacle_is_refused():
    with pytest.raises(OptionError, match=r"no link of robot 'planar-2link' has geometry"):
        dy.simulate(dy.load("planar-2link"), 0.1, world=[dy.Plane()])
    with pytest.raises(OptionError, match=r"'geometry1' starts 0\.1 m within 'plane1'"):
        dy.simulate(ball(), 0.1, q0=[0.0], world=[dy.Plane()])
    with pytest.raises(OptionError, match="no world to touch"):
        _ = dy.simulate(ball(), 0.01).contacts


def test_a_plot_of_contacts(tmp_path):
    run = pressed(12.0, 0.2)
    figure = run.contacts.plot(tmp_path / "contacts.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["normal force (N)", "friction, and its limit (N)", "slip (mm/s)"]
    drawn = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, run.contacts.normal_force[:, 0])
    assert (tmp_path / "contacts.png").stat().st_size > 10_000


def test_materials_of_a_pair():
    """The obstacle's, or with those of a shape the geometric mean and the larger."""
    plane = dy.Plane(friction=0.4, restitution=0.2)
    own = replace(BALL, friction=0.1, restitution=0.7)
    bare, both = (contact_points(moving_point([x]), [plane])[0].material for x in (BALL, own))
    assert (bare.friction, bare.restitution) == (0.4, 0.2)
    assert (both.friction, both.restitution) == (pytest.approx(0.2), 0.7)


def test_members_of_an_ensemble_are_single_runs():
    sphere, world = moving_point([BALL]), [dy.Plane(friction=0.3, restitution=0.5)]
    starts = [[0.3, 0, 0], [0.1, 0, 0]]
    rates = [[0, 1.0, 0], [0, 0.5, 0.2]]
    many = dy.simulate(sphere, 0.5, q0=starts, qd0=rates, world=world, check_step=False)
    assert many.contact_force.shape == (2, 501, 1, 3)
    for k in (0, 1):
        one = dy.simulate(sphere, 0.5, q0=starts[k], qd0=rates[k], world=world, check_step=False)
        np.testing.assert_array_equal(many.q[k], one.q)
        np.testing.assert_array_equal(many.contact_force[k], one.contact_force)


def test_without_machine_code_it_is_the_same(monkeypatch):
    run = pressed(12.0, 0.05)
    monkeypatch.setenv("DYNAMIS_COMPILE", "off")
    slow = pressed(12.0, 0.05)
    np.testing.assert_allclose(slow.q, run.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(slow.contact_force, run.contact_force, rtol=0, atol=1e-9)


def test_a_function_as_controller_sees_contacts_too():
    arm = two_links()
    J = arm.jacobian(AT_WALL)[:2]
    x = arm.fk(AT_WALL)[0, 3]
    wall = dy.Plane(normal=(-1, 0, 0), offset=-x - POINT, friction=0.4)
    torque = J.T @ [20.0, 7.9]
    run = dy.simulate(
        arm, 0.01, q0=AT_WALL, controller=lambda t, q, qd: torque, world=[wall], check_step=False
    )
    assert run.contact_force[0, 0] == pytest.approx([-20.0, -7.9, 0.0], abs=1e-9)


def test_an_arm_among_walls_keeps_its_energy():
    """Elastic impacts of a body that turns: what they are off by is of second order in dt."""
    walls = [
        dy.Plane(normal=normal, offset=-room, friction=0.0, restitution=1.0)
        for normal, room in (
            ((-1, 0, 0), 0.7),
            ((1, 0, 0), 0.7),
            ((0, 1, 0), 0.6),
            ((0, -1, 0), 0.6),
        )
    ]
    options = {"q0": AT_WALL, "qd0": [1.0, -2.0], "world": walls, "check_step": False}
    worst = []
    for dt in (2e-3, 5e-4):
        run = dy.simulate(two_links(), 20.0, dt=dt, **options)
        energy = run.energy.total
        assert (run.contacts.force.max(axis=(1, 2)) > 50).sum() > 4
        worst.append(np.abs(energy / energy[0] - 1).max())
    assert worst[0] < 5e-4 and worst[1] < 5e-5
