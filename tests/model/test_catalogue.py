"""The catalogue and the files it is made of: names, figures, loading and saving."""

import math
import warnings
from dataclasses import replace
from importlib import import_module

import pytest

from dynamis.errors import FileError
from dynamis.model import catalogue
from dynamis.model.chain import chain
from dynamis.model.dh.table import dh_table
from dynamis.model.formats.files import (
    load_model,
    model_from_toml,
    read_toml,
    save_model,
    toml_text,
)
from dynamis.model.formats.urdf_write import same_frame
from dynamis.model.model import Payload
from dynamis.spatial.frames import Frame, about_z, compose, matrix, translation

NAMES = {
    *("pendulum3", "rppr", "elbow6"),
    *("planar-rr", "planar-rp", "cartesian-xy", "scara", "kr16", "kr16-p4"),
    *("sixr", "planar-2link", "puma560", "puma560-mdh", "polar-rp"),
    *("stanford", "panda", "ur10e"),
    *("five-bar", "palletizer", "delta", "gough-stewart", "3-rps"),
}
REAL = {  # arms as they are sold, each after one public description
    *("ur3", "ur5", "ur10", "ur3e", "ur5e", "iiwa7", "iiwa14", "fr3", "gen3", "jaco2", "sawyer"),
    *("baxter-arm", "xarm6", "xarm7", "so100", "so101", "koch", "z1", "fetch-arm"),
    *("vx300s", "wx250s", "irb120", "irb140", "irb2400", "tx60", "lrmate200id", "gp7", "kr6-r900"),
}
NAMES |= REAL
SYMBOLIC = {"planar-rr", "planar-rp", "cartesian-xy", "scara", "polar-rp", "sixr"} | {
    *("kr16", "kr16-p4"),
}
INVENTED = SYMBOLIC | {"five-bar", "palletizer", "delta", "gough-stewart", "3-rps"}  # partly
VERTICAL = {  # -9.8 in the first document, -9.81 elsewhere, each along its own vertical
    "pendulum3": (0, -9.8, 0),
    "rppr": (0, 0, -9.8),
    "elbow6": (0, 0, -9.8),
    "planar-rr": (0, -9.81, 0),
    "planar-rp": (0, -9.81, 0),
    "cartesian-xy": (0, -9.81, 0),
    "planar-2link": (0, -9.81, 0),
    "five-bar": (0, -9.81, 0),
}


def fk(model, q):
    """Tool pose in the reference frame, straight from the canonical chain."""
    c = chain(model)
    poses = []
    for i, joint in enumerate(c.joints):
        above = Frame() if joint.parent < 0 else poses[joint.parent]
        motion = about_z(q[i]) if joint.kind == "revolute" else translation(z=q[i])
        poses.append(compose(compose(above, joint.placement), motion))
    return matrix(compose(poses[c.tip], c.tool))


def test_the_names_are_these():
    assert set(catalogue.names()) == NAMES
    assert list(catalogue.names()) == sorted(NAMES)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_robot_loads_and_saves_equal(name):
    model = load_model(name)
    assert model.name == name
    assert len(model.description) > 40
    assert ("home" if model.closures else "zero") in model.configurations  # q = 0 need not close
    assert model_from_toml(toml_text(model)) == model


def test_descriptions_of_real_arms_name_their_source_and_when_it_was_read():
    for name in REAL:
        text = load_model(name).description
        assert "read in November 2026" in text, name
        weighed = any(link.mass for link in load_model(name).links)
        assert weighed == ("kinematics work, dynamics do not" not in text), name


@pytest.mark.parametrize("name", sorted(NAMES))
def test_gravity_is_each_documents_own(name):
    assert load_model(name).gravity == VERTICAL.get(name, (0, 0, -9.81))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_symbols_have_values_and_values_are_said_to_be_invented(name):
    model = load_model(name)
    assert set(model.symbols) == set(model.values)
    assert bool(model.symbols) == (name in SYMBOLIC)
    assert ("invented" in model.description) == (name in INVENTED)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_configurations_respect_the_limits_or_are_zero(name):
    model = load_model(name)
    ready = model.configurations.get("home", model.configurations.get("ready"))
    if ready is None or name == "puma560":  # its ready pose is the toolbox's own
        return
    for q, link in zip(ready, model.links, strict=True):
        lower, upper = link.limits or (-math.inf, math.inf)
        assert lower <= q <= upper, link.name


@pytest.mark.parametrize(
    ("name", "count", "kinds"),
    [
        ("pendulum3", 3, "RRR"),
        ("rppr", 4, "RPPR"),
        ("elbow6", 6, "RRRRRR"),
        ("planar-rp", 2, "RP"),
        ("cartesian-xy", 2, "PP"),
        ("scara", 3, "RRP"),
        ("kr16", 6, "RRRRRR"),
        ("kr16-p4", 6, "RRRPRR"),
        ("stanford", 6, "RRPRRR"),
        ("panda", 7, "RRRRRRR"),
        ("ur10e", 6, "RRRRRR"),
        ("five-bar", 4, "RRRR"),
        ("palletizer", 10, "RRRRRRRRRR"),
        ("delta", 12, "RRRRRRRRRPPP"),
        ("gough-stewart", 24, "PPPRRR" + "RRP" * 6),
        ("3-rps", 9, "RPRRRRPRP"),
    ],
)
def test_joints_are_of_the_documents_kind(name, count, kinds):
    model = load_model(name)
    assert model.n == count
    assert "".join(link.joint[0].upper() for link in model.links) == kinds


def test_puma_figures(reference):
    given = reference("puma560_params")["standard_dh"]
    model = load_model("puma560")
    for i, link in enumerate(model.links):
        drive = link.drive
        assert (link.d, link.a, link.alpha) == (given["d"][i], given["a"][i], given["alpha"][i])
        assert link.mass == given["m"][i]
        assert list(link.com or (0, 0, 0)) == given["r"][i]
        assert list(link.inertia) == given["I"][i]
        assert (drive.gear, drive.rotor_inertia) == (given["G"][i], given["Jm"][i])
        assert drive.viscous == given["B_motor"][i]
        assert list(drive.coulomb) == given["Tc_motor_plus_minus"][i]
        assert [math.degrees(x) for x in link.limits] == pytest.approx(given["qlim_deg_matlab"][i])
    friendly = {"zero": "qz", "ready": "qr", "stretch": "qs", "nominal": "qn"}
    for ours, theirs in friendly.items():
        assert list(model.configurations[ours]) == given["poses"][theirs]
        assert model.configurations[theirs] == model.configurations[ours]


def test_puma_mdh_figures(reference):
    given = reference("puma560_params")["modified_dh_AKB86"]
    for i, link in enumerate(load_model("puma560-mdh").links):
        assert link.d == given["d"][i]
        assert (link.a, link.alpha) == (given["a_im1"][i], given["alpha_im1"][i])
        assert (link.mass, list(link.inertia)) == (given["m"][i], given["I"][i])
        assert list(link.com or (0, 0, 0)) == given["r"][i]
        assert (link.drive.gear, link.drive.rotor_inertia) == (given["G"][i], given["Jm"][i])
        assert link.drive.coulomb == (0, 0)


def test_panda_figures(reference):
    given = reference("panda_gaz2019")
    body, friction = given["standard_params_p_hat_TableVIII_IX"], given["classical_LS_TableIII"]
    for i, link in enumerate(load_model("panda").links):
        xx, xy, xz, yy, yz, zz = body["I_com_xx_xy_xz_yy_yz_zz"][i]
        assert link.mass == body["m"][i]
        assert list(link.com[:2]) == body["com"][i][:2]
        assert link.inertia == (xx, yy, zz, xy, yz, xz)
        assert link.friction.viscous == max(0, friction["fv"][i])
        assert link.friction.coulomb[0] == friction["fc"][i]
        assert link.friction.offset == friction["fo"][i]
        assert link.d == given["mdh"]["d"][i]


@pytest.mark.parametrize("q1", [0.0, 0.4])
def test_kr16_closed_form_of_the_first_three_joints(q1):
    """0A3 of the document, position column, and 0A3's z for the forearm's direction."""
    model = load_model("kr16")
    q2, q3 = 0.3, -0.7
    T = fk(model, [q1, q2, q3, 0, 0, 0])
    a1, a2, a3, d1 = 0.26, 0.68, 0.035, 0.675
    reach = math.cos(q2 + q3) * a3 + math.cos(q2) * a2 + a1
    height = math.sin(q2 + q3) * a3 + math.sin(q2) * a2 + d1
    forearm = 0.67 + 0.158  # the wrist is straight
    reach += -math.sin(q2 + q3) * forearm
    height += math.cos(q2 + q3) * forearm
    expected = (reach * math.cos(q1), reach * math.sin(q1), height)
    assert [row[3] for row in T[:3]] == pytest.approx(expected, abs=1e-12)


def test_kr16_has_the_real_arms_geometry():
    """Stretched forward the flange is at a1 + a2 + d4 + d6, 35 mm below the shoulder."""
    T = fk(load_model("kr16"), [0, 0, -math.pi / 2, 0, 0, 0])
    expected = (0.26 + 0.68 + 0.67 + 0.158, 0, 0.675 - 0.035)
    assert [row[3] for row in T[:3]] == pytest.approx(expected, abs=1e-12)


def test_kr16_p4_is_kr16_with_a_sliding_forearm():
    q = [0.1, 0.5, -1.2, 0, 0.4, 0.2]
    at = [*q[:3], 0.67, *q[4:]]
    rows, others = fk(load_model("kr16"), q), fk(load_model("kr16-p4"), at)
    for row, other in zip(rows, others, strict=True):
        assert row == pytest.approx(other, abs=1e-12)


def test_cartesian_moves_along_x_and_y():
    T = fk(load_model("cartesian-xy"), [0.3, 0.2])
    assert [row[3] for row in T[:3]] == pytest.approx((0.3, 0.2, 0), abs=1e-12)


def test_planar_rr_reaches_as_drawn():
    T = fk(load_model("planar-rr"), [math.pi / 2, -math.pi / 2])
    assert [row[3] for row in T[:3]] == pytest.approx((0.8, 1, 0), abs=1e-12)


def test_ur10e_is_the_manufacturers(data):
    """The same numbers as the public URDF, up to its 11 printed digits of pi."""
    ours, theirs = load_model("ur10e"), load_model(data / "ur10e" / "ur10e.urdf", tip="tool0")
    a, b = chain(ours), chain(theirs)
    for i in range(6):
        assert same_frame(a.joints[i].placement, b.joints[i].placement)
        assert list(ours.links[i].inertia) == pytest.approx(list(theirs.links[i].inertia))
        assert ours.links[i].com == pytest.approx(theirs.links[i].com)
        assert ours.links[i].mass == theirs.links[i].mass
        assert ours.links[i].limits == pytest.approx(theirs.links[i].limits)
        assert ours.links[i].effort_limit == theirs.links[i].effort_limit
    assert same_frame(a.tool, b.tool)


@pytest.mark.parametrize(
    ("name", "toolbox", "lengths"),
    [("ur3", "UR3", 6), ("ur10", "UR10", 6), ("irb140", "IRB140", 6), ("sawyer", "Sawyer", 6)],
)
def test_lengths_are_those_of_the_robotics_toolbox(name, toolbox, lengths):
    """Its tables are from data sheets, ours from URDF files; Sawyer's last length is the hand's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(import_module("roboticstoolbox").models.DH, toolbox)()
    ours = dh_table(load_model(name), "standard").rows[:lengths]
    for key in "ad":
        expected = [abs(float(x)) for x in getattr(theirs, key)[:lengths]]
        assert [abs(getattr(row, key)) for row in ours] == pytest.approx(expected, abs=1e-9)


def test_lengths_of_the_irb_2400():
    """Modified DH of Obal and Gierlak (2025): d1, a1, a2, a3, d4 and the tool flange."""
    rows = dh_table(load_model("irb2400"), "modified").rows
    found = [[round(abs(getattr(row, key)), 9) for row in rows] for key in "ad"]
    assert found[0] == [0.0, 0.1, 0.705, 0.135, 0.0, 0.0]
    assert found[1][:4] == [0.615, 0.0, 0.0, 0.755]
    tool = fk(load_model("irb2400"), [0.0] * 6)
    assert tool[0][3] == pytest.approx(0.1 + 0.755 + 0.085)
    assert tool[2][3] == pytest.approx(0.615 + 0.705 + 0.135)


# loading and saving


@pytest.mark.parametrize("suffix", [".toml", ".urdf", ".xml", ".URDF"])
@pytest.mark.filterwarnings("ignore::dynamis.errors.DynamisWarning")
def test_saved_files_load_equal(tmp_path, suffix):
    model = load_model("scara")
    path = tmp_path / f"arm{suffix}"
    save_model(model, path)
    assert load_model(path) == model
    assert load_model(str(path)) == model
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_name_beats_a_file_of_that_name(tmp_path, monkeypatch):
    (tmp_path / "scara").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_model("scara").name == "scara"


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("puma650", ["'puma650'", "did you mean 'puma560'"]),
        ("xyzzy", ["'xyzzy'", "known: ", "panda"]),
        ("nowhere.toml", ["nowhere.toml", "no such file"]),
        ("nowhere.urdf", ["nowhere.urdf", "no such file"]),
        ("no/where", ["no/where", "suffix ''", ".toml, .urdf"]),
        ("arm.xacro", ["is a xacro file: a program", "xacro in.xacro", "run_xacro=True"]),
        ("arm.txt", ["'arm.txt' is neither", "catalogue"]),
        ("folder", ["folder is a directory"]),
        ("folder.toml", ["folder.toml", "is a directory"]),
        ("", ["''", "catalogue name or a path"]),
        ("a\0b.toml", ["expected a catalogue name or a path"]),
        (3, ["3 was given", "catalogue name or a path"]),
        (None, ["None was given"]),
    ],
)
def test_what_cannot_be_loaded_is_named(tmp_path, monkeypatch, source, parts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError) as caught:
        load_model(source)
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_an_unknown_name_in_the_catalogue():
    with pytest.raises(FileError, match=r"no robot 'pand' in the catalogue\nhint: .*'panda'"):
        catalogue.path("pand")


def test_a_tip_of_a_toml():
    model = load_model("ur10e", tip="forearm_link")
    assert (model.tool_link, model.tool_name, model.tool.xyz) == (
        *("forearm_link", "forearm_link"),
        (0, 0, 0),
    )
    assert load_model("ur10e", tip="ee_link").tool.xyz == (0, 0.117, 0)
    assert load_model("ur10e", tip="tool0") == load_model("ur10e")
    with pytest.raises(FileError, match=r"tip 'forarm_link' is not(.|\n)*'forearm_link'"):
        load_model("ur10e", tip="forarm_link")


def test_a_tip_does_not_move_a_payload(tmp_path):
    path = tmp_path / "loaded.toml"
    save_model(replace(load_model("scara"), payload=Payload(mass=1)), path)
    with pytest.raises(FileError, match="would move the payload, which is held by 'tool'"):
        load_model(path, tip="link2")


def test_a_toml_has_no_joints_to_lock():
    with pytest.raises(FileError, match="only the joints of a URDF, SDF or MJCF"):
        load_model("puma560", lock={"joint1": 0})


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("arm.stl", ["suffix '.stl'", ".toml, .urdf"]),
        ("arm", ["suffix ''"]),
        ("no/where/arm.toml", ["no folder", "where"]),
        ("folder.toml", ["is a directory"]),
    ],
)
def test_what_cannot_be_saved_is_named(tmp_path, name, parts):
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError) as caught:
        save_model(load_model("scara"), tmp_path / name)
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "arm.toml"
    save_model(load_model("scara"), path)
    before = path.read_bytes()

    def broken(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", broken)
    with pytest.raises(FileError, match=r"cannot write .*arm\.toml': No space left"):
        save_model(load_model("panda"), path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["arm.toml"]


def test_a_model_that_cannot_be_written_leaves_no_file(tmp_path):
    path = tmp_path / "arm.toml"
    with pytest.raises(FileError, match="half of a character"):
        save_model(replace(load_model("scara"), name="\ud800"), path)
    assert not list(tmp_path.iterdir())


def test_a_file_made_by_hand_and_by_path_are_the_same():
    assert read_toml(catalogue.path("panda")) == load_model("panda")
