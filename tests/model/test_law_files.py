"""Robot files with torque laws and friction laws of one's own: their names and constants."""

import pytest

import dynamis as dy
from dynamis.errors import DynamisError
from tests.dynamics.test_own_laws import Bias, Numbered, rubbing
from tests.random_robots import Grease, Hose
from tests.simulation.own_states import Dahl, Maxwell


def test_files_hold_names_and_constants_never_code(tmp_path):
    arm = rubbing(dy.load("planar-2link")).with_load(Hose()).with_load(Numbered("hook", 2.0))
    path = tmp_path / "arm.toml"
    with pytest.raises(DynamisError, match="load 'Hose', load 'hook', friction law 'Grease' of"):
        arm.save(path)
    with pytest.raises(DynamisError, match="Python code, which a robot file does not hold"):
        arm.save(tmp_path / "arm.urdf", laws=True)
    assert not list(tmp_path.iterdir())
    arm.save(path, laws=True)
    laws = {"Hose": Hose, "Grease": Grease, "Numbered": Numbered}
    assert dy.load(path, laws=laws) == arm
    with pytest.raises(DynamisError, match=r"(?s)load 'Hose' does not exist.*laws=\{'Hose': Hose"):
        dy.load(path, laws={"Grease": Grease})
    with pytest.raises(DynamisError, match=r"(?s)friction law 'Grease' does.*'Grease': Grease\}"):
        dy.load(path)
    with pytest.raises(DynamisError, match=r"load 'Hose' cannot be made from stiffness.*unexpecte"):
        dy.load(path, laws=laws | {"Hose": Bias})
    with pytest.raises(DynamisError, match="expected classes by the names in the file"):
        dy.load(path, laws=["Hose"])
    with pytest.raises(DynamisError, match="'coulomb', which is a friction law of the package"):
        dy.load(path, laws={"coulomb": Grease})


def test_states_are_those_of_the_class(tmp_path):
    arm = rubbing(dy.load("planar-2link"), Dahl(dry=2.0)).with_load(Maxwell(damping=7.0))
    path = tmp_path / "arm.toml"
    arm.save(path, laws=True)
    assert "stretch" not in path.read_text()
    again = dy.load(path, laws={"Dahl": Dahl, "Maxwell": Maxwell})
    assert again == arm and again.model.loads[0].states.names == ("stretch",)


def test_a_plain_robot_saves_with_or_without_laws(tmp_path):
    arm = dy.load("planar-2link")
    arm.save(tmp_path / "a.toml")
    arm.save(tmp_path / "b.toml", laws=True)
    assert (tmp_path / "a.toml").read_bytes() == (tmp_path / "b.toml").read_bytes()
    assert dy.load(tmp_path / "a.toml", laws={"Hose": Hose}) == arm
