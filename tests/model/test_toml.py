"""TOML in and out: exact round trips, and refusals that say what and where."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dynamis.errors import FileError, SymbolError
from dynamis.model.chain import chain
from dynamis.model.check.finding import Finding
from dynamis.model.formats.files import model_from_toml, read_toml, toml_text
from dynamis.model.formats.tables import LARGEST
from dynamis.model.quantity import Expression

from ..model_strategies import any_floats, hostile_texts, models

HEAD = 'schema = 1\nname = "arm"\nconvention = "standard"\n'
LINK = '[[link]]\njoint = "revolute"\na = 1.0\n'
PLAIN = HEAD + LINK
SLIDE = HEAD + '[[link]]\njoint = "prismatic"\n'


@settings(deadline=None)
@given(models())
def test_a_saved_model_loads_equal(model):
    assert model_from_toml(toml_text(model), "arm.toml") == model


@settings(deadline=None)
@given(any_floats, any_floats)
def test_every_float_survives(a, d):
    link = replace(model_from_toml(PLAIN).links[0], a=a, d=d)
    model = replace(model_from_toml(PLAIN), links=(link,))
    again = model_from_toml(toml_text(model)).links[0]
    assert (again.a, again.d) == (a, d)


@settings(deadline=None)
@given(hostile_texts(xml=False), hostile_texts(xml=False))
def test_hostile_texts_stay_texts(name, description):
    model = replace(model_from_toml(PLAIN), name=name, description=description)
    again = model_from_toml(toml_text(model))
    assert (again.name, again.description, again.n) == (name, description, 1)


def test_control_characters_are_escaped():
    text = toml_text(replace(model_from_toml(PLAIN), name='a"\x00\x1f\x7f\r\n\\'))
    assert 'name = "a\\"\\u0000\\u001F\\u007F\\r\\n\\\\"' in text


def test_half_a_character_cannot_be_written():
    with pytest.raises(FileError, match="half of a character"):
        toml_text(replace(model_from_toml(PLAIN), name="\ud800"))


def test_defaults_are_not_written():
    assert toml_text(model_from_toml(PLAIN)) == (HEAD + "gravity = [0.0, 0.0, -9.81]\n\n" + LINK)


def test_everything_the_format_can_say():
    text = """
schema = 1
name = "all"
convention = "urdf"
description = "d"
gravity = [0, -9.81, "g"]
base = { xyz = [1, 2, 3] }
tool = [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
tool_link = "arm"
tool_name = "grip"
base_name = "ground"
payload = { mass = 2, com = [0, 0, 0.1], inertia = [1, 2, 3] }
gear_matrix = [[100, 0], [5, 50]]
rotors = "full"
[values]
g = 0.0
[configurations]
"home pose" = [0.5]
[[link]]
joint = "revolute"
name = "arm"
joint_name = "shoulder"
xyz = [0, 0, "90 deg"]
axis = [0, 1, 0]
friction = { viscous = 0.1, coulomb = [1, -2], law = "stribeck", static_ratio = 1.8 }
drive = { rotor_inertia = 1e-4, coulomb = 0.5, resistance = 2, torque_constant = 0.1 }
[[link]]
joint = "prismatic"
parent = "arm"
mimic = { joint = "shoulder", multiplier = -2 }
linear = [0, 0, 0, 0, 1, 0, 2, 0, 0, 3]
[[frame]]
name = "camera"
link = "arm"
rpy = [0, "pi/2", 0]
[[finding]]
level = "note"
where = "arm"
what = "its mass is a guess"
remedy = "weigh it"
"""
    model = model_from_toml(text)
    arm, slide = model.links
    assert model.findings == (Finding("note", "arm", "its mass is a guess", "weigh it"),)
    assert model.gravity == (0.0, -9.81, Expression("g"))
    assert model.tool.xyz == (0.5, 0.0, 0.0)
    assert model.configurations["home pose"] == (0.5,)
    assert arm.xyz[2] == pytest.approx(1.5707963267948966)
    assert arm.friction.constants == {"static_ratio": 1.8, "velocity": 0.1}
    assert arm.drive.coulomb == (0.5, -0.5)
    assert (arm.drive.resistance, arm.drive.torque_constant) == (2.0, 0.1)
    assert slide.name == "link2"
    assert slide.mimic == ("shoulder", -2.0, 0.0)
    assert model.frames[0].link == "arm"
    assert model_from_toml(toml_text(model)) == model


def test_a_symbol_may_wait_for_its_value():
    model = model_from_toml(HEAD + '[[link]]\njoint = "revolute"\nmass = "m1"\n')
    assert model.symbols == ("m1",)
    with pytest.raises(SymbolError, match="m1"):
        chain(model)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["'schema' is missing", "schema = 1"]),
        ("schema = 2\n", ["schema is 2", "reads schema 1"]),
        ("schema = true\n", ["schema is True"]),
        ('schema = 1\nname = "x"\n', ["'convention' is missing", "never guessed"]),
        ('schema = 1\nconvention = "standard"\n', ["'name' is missing"]),
        (HEAD, ["'link' is missing", "[[link]]"]),
        (HEAD + "link = 3\n", ["link is 3", "[[link]]"]),
        (HEAD + "link = []\n", ["link is []", "[[link]]"]),
        (
            HEAD + "[[links]]\na = 1\n",
            ["the file has 'links': write [[link]]"],
        ),
        (HEAD + "[link]\na = 1\n", ["write [[link]], not [link]"]),
        (PLAIN + "d = 0,4\n", ["not valid TOML", "decimal point, not a comma: 0.4"]),
        (PLAIN + 'd = "0,4"\n', ["link 1", "decimal point, not a comma: 0.4"]),
        (PLAIN + "friction = { viscous = 0,8 }\n", ["decimal point, not a comma: 0.8"]),
        (PLAIN + "com = [-0,3, 0, 0]\n", ["com has 4 entries, expected 3", "point: 0.3 for 0,3"]),
        (HEAD + "gravity = [0, -9,81, 0]\n" + LINK, ["4 entries", "point: -9.81 for -9,81"]),
        (PLAIN + 'mass = "m*L^2"\n', ["cannot read 'm*L^2'", "hint: a power is **: 'm*L**2'"]),
        (PLAIN + 'theta = "q1"\n', ["link 1", "hint: leave theta out: q1 is implied"]),
        (SLIDE + 'd = "q1"\n', ["link 1", "hint: leave d out: q1 is implied"]),
        (SLIDE + 'd = "q1 + h"\n', ["the variable is implied: write the constant shift as offset"]),
        (
            SLIDE + 'theta = "q1"\n',
            ["theta of link 'link1'", "'q1'", "joint 1 is d, named q1: leave theta out or give a"],
        ),
        (PLAIN + 'mass = "2*qd1"\n', ["mass of link 'link1'", "velocity", "another name"]),
        (HEAD + 'gravity = [0, "qdd1", 0]\n' + LINK, ["gravity", "'qdd1'", "acceleration"]),
        (HEAD + "link = [1]\n", ["link 1", "is 1, expected a table"]),
        (HEAD + "gravty = [0, 0, 0]\n" + LINK, ["unknown key 'gravty'", "mean 'gravity'"]),
        (PLAIN + "alhpa = 1\n", ["link 1", "unknown key 'alhpa'", "did you mean 'alpha'"]),
        (PLAIN + 'name = "elbow"\nmas = 1\n', ["link 1 ('elbow')", "'mas'", "'mass'"]),
        (PLAIN + "friction = { viscos = 1 }\n", ["friction", "'viscos'", "'viscous'"]),
        (PLAIN + "friction = { constants = {} }\n", ["unknown key 'constants'"]),
        (PLAIN + "drive = { gear = 10, lead = 0.1 }\n", ["link 1", "both gear", "lead 0.1"]),
        (PLAIN + "drive = { lead = 0.1 }\n", ["link 1", "drive.lead 0.1", "prismatic"]),
        (PLAIN + 'friction = { law = "stribek" }\n', ["'stribek'", "'stribeck'"]),
        (PLAIN + "friction = { law = [] }\n", ["law is []", "expected text"]),
        (PLAIN + "friction = 3\n", ["friction is 3", "expected a table"]),
        (PLAIN + "drive = { geer = 1 }\n", ["drive", "'geer'", "'gear'"]),
        (PLAIN + "mimic = { multiplier = 2 }\n", ["mimic", "joint None"]),
        (PLAIN + 'mass = "import os"\n', ["link 1", "mass", "'import os'", "expected a number"]),
        (PLAIN + "mass = \"__import__('os')\"\n", ["mass", "cannot read"]),
        (PLAIN + "mass = -1\n", ["link 1", "mass is -1.0", ">= 0"]),
        (PLAIN + "mass = nan\n", ["mass is nan", "finite"]),
        (PLAIN + "mass = inf\n", ["mass is inf", "finite"]),
        (PLAIN + f"mass = 1{'0' * 400}\n", ["mass is too large", "finite"]),
        (PLAIN + f"mass = 1{'0' * 5000}\n", ["not valid TOML"]),
        (PLAIN + "mass = true\n", ["mass is True", "expected a number"]),
        (PLAIN + "mass = 1979-05-27\n", ["mass is datetime", "expected a number"]),
        (PLAIN + "com = [1, 2]\n", ["com has 2 entries", "expected 3"]),
        (PLAIN + "name = 3\n", ["name is 3", "expected text"]),
        (PLAIN + "joint_name = []\n", ["joint_name is []"]),
        (HEAD + '[[link]]\njoint = "ball"\n', ["link 1", "'ball'", "'revolute'"]),
        (HEAD + "name = 3\n" + LINK, ["not valid TOML", "line 4"]),
        (HEAD + "convention = \n", ["not valid TOML", "line 4"]),
        ('schema = 1\nname = 3\nconvention = "standard"\n' + LINK, ["name is 3"]),
        ('schema = 1\nname = "x"\nconvention = "denavit"\n' + LINK, ["'denavit'", "'standard'"]),
        (HEAD + "gravity = 9.81\n" + LINK, ["gravity is 9.81", "expected 3 numbers"]),
        (HEAD + "base = { xyx = [0, 0, 0] }\n" + LINK, ["base", "'xyx'", "xyz, rpy"]),
        (HEAD + "values = 3\n" + LINK, ["values is 3", "expected a table"]),
        (HEAD + 'values = { "m 1" = 3 }\n' + LINK, ["values", "'m 1'", "name of a symbol"]),
        (HEAD + "values = { pi = 3 }\n" + LINK, ["values", "'pi'", "name of a symbol"]),
        (HEAD + 'values = { m1 = "m2" }\n' + LINK, ["values.m1", "'m2'", "without symbols"]),
        (HEAD + "configurations = { a = [1, 2] }\n" + LINK, ["configurations.a", "expected 1"]),
        (HEAD + "payload = { com = [0, 0, 0] }\n" + LINK, ["payload has no mass"]),
        (HEAD + "payload = { mass = 1, con = 1 }\n" + LINK, ["payload", "'con'", "'com'"]),
        (HEAD + "gear_matrix = 3\n" + LINK, ["gear_matrix is 3", "rows"]),
        (HEAD + "gear_matrix = [[1, 2]]\n" + LINK, ["gear_matrix[0] has 2", "expected 1"]),
        (HEAD + 'tool_link = "lnik1"\n' + LINK, ["'lnik1'", "'link1'"]),
        (HEAD + 'rotors = "ful"\n' + LINK, ["'ful'", "'full'"]),
        (PLAIN + "[[frame]]\nxyz = [0, 0, 0]\n", ["frame 1", "no name"]),
        (PLAIN + '[[frame]]\nname = "f"\nlink = "nik1"\n', ["'f'", "'nik1'", "'link1'"]),
        (HEAD + "x = " + "[" * 20000 + "\n", ["not valid TOML"]),
    ],
)
def test_a_bad_file_is_refused_by_name(text, parts):
    with pytest.raises(FileError) as caught:
        model_from_toml(text, "arm.toml")
    message = str(caught.value)
    assert message.startswith("arm.toml: ")
    missing = [part for part in parts if part not in message]
    assert not missing, f"{missing} not in: {message}"


def test_degrees_are_not_read_into_a_symbol():
    model = model_from_toml(HEAD + '[[link]]\njoint = "revolute"\nalpha = "twist_deg"\n')
    assert model.symbols == ("twist_deg",)


def test_invalid_utf8_is_named_with_its_line(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_bytes(b'schema = 1\nname = "\xff"\n')
    with pytest.raises(FileError, match=r"arm\.toml: line 2 is not UTF-8 text \(byte 0xff\)"):
        read_toml(path)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_bytes(b"\xef\xbb\xbf" + PLAIN.encode())
    assert read_toml(path).name == "arm"


def test_binary_garbage_is_refused(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_bytes(bytes(range(256)) * 8)
    with pytest.raises(FileError, match="UTF-8"):
        read_toml(path)


def test_a_huge_file_is_not_read(tmp_path):
    path = tmp_path / "arm.toml"
    with path.open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(FileError, match=f"has {LARGEST + 1} bytes, expected at most {LARGEST}"):
        read_toml(path)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_loads_or_is_refused(text):
    try:
        model_from_toml(text, "arm.toml")
    except FileError as error:
        assert str(error).startswith("arm.toml: ")


@pytest.mark.parametrize("part", ["a", '"a"', "'a'"])
@pytest.mark.parametrize("text", ["{}=1", "[{}]", "x={{{}=1}}", "[[{}]]"])
def test_keys_of_many_parts_are_refused_before_they_eat_the_memory(text, part):
    """The parser keeps every prefix of a dotted key: 80 kB of it would take gigabytes."""
    for count in (17, 40_000):
        with pytest.raises(FileError, match="more than 16 parts"):
            model_from_toml(text.format(".".join([part] * count)))


def test_dots_in_strings_and_comments_are_no_keys():
    dots = ".".join(["a"] * 40)
    text = f'''# {dots}
schema = 1
name = "{dots}"
description = """{dots}"""
convention = "standard"
[[link]]
a = 1.0
'''
    assert model_from_toml(text).name == dots


INSIDE = st.text(st.sampled_from(list("a.\\\"'# \n=")), max_size=12)


def _basic(text: str, ends: str) -> str:
    return ends + text.replace("\\", "\\\\").replace('"', '\\"') + ends


STRINGS = st.one_of(
    INSIDE.map(lambda x: _basic(x, '"""')),
    INSIDE.map(lambda x: _basic(x.replace("\n", ""), '"')),
    INSIDE.map(lambda x: "'" + x.replace("'", "").replace("\n", "") + "'"),
    INSIDE.map(lambda x: "'''" + x.replace("'", "") + "'''"),
    st.sampled_from(
        [
            *('"""\\""""', '"""\\""" """', '"""a"""""', '"""""a"""', '"""\\\\"""', '"""\\\\\\""""'),
            *("'''a'''''", "'''''a'''", "'''\\'''", "'\\'", '""', "''", '"""', "'''"),
        ]
    ),
)
ENDS = st.sampled_from(["\n", ' # "\n', "#'''\n"])


@settings(deadline=None)
@given(st.lists(STRINGS, max_size=6), st.integers(0, 6), ENDS)
@example(['"""\\""" """', '"""a"""'], 1, "\n")
@example(['"""\\""""', '"""\\""""'], 1, ' # """\n')
def test_no_string_and_no_comment_hides_a_key(strings, place, end):
    """Wherever the parser finds a key of 17 parts, the walk over the text found it before."""
    lines = [f"k{i} = [{text}, 'b']{end}" for i, text in enumerate(strings)]
    lines.insert(place, ".".join(["a"] * 17) + " = 1\n")
    deep = "".join(lines)
    try:
        found = tomllib.loads(deep)
    except tomllib.TOMLDecodeError:
        return
    if "a" in found:
        with pytest.raises(FileError, match="more than 16 parts"):
            model_from_toml(deep)


@settings(deadline=None)
@given(st.lists(STRINGS, max_size=6))
def test_nothing_in_a_string_is_a_key(strings):
    dots = ".".join(["a"] * 17)
    text = "".join(f"k{i} = [{x}, '{dots}'] # {dots}\n" for i, x in enumerate(strings))
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    if len(found) == len(strings):
        with pytest.raises(FileError, match="'schema' is missing"):
            model_from_toml(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a",
            " ",
            '\\"',
            "'",
            '"',
            '"""',
            "'''",
            '"""\\',
            "\n'",
            "a ",
            "[",
            "{a=",
            "#",
            "a\t.",
            '"."',
        ),
        *("a = '\n", '""" \\""" ', "''' '' "),
    ],
)
@pytest.mark.parametrize(
    "head",
    ["", *(pytest.param(x, marks=pytest.mark.thorough) for x in ('x = """', 'x = "', "x = '''"))],
)
def test_a_megabyte_of_nonsense_is_answered(head, text):
    with pytest.raises(FileError):
        model_from_toml(head + text * (990_000 // len(text)))


def test_a_number_of_a_thousand_digits_is_refused_before_anyone_prints_it():
    with pytest.raises(FileError, match="more than 1000 characters"):
        model_from_toml("schema = 0x" + "F" * 9000)


def test_too_many_links_are_refused_at_once():
    head = 'schema = 1\nname = "x"\nconvention = "standard"\n'
    with pytest.raises(FileError, match="has 30000 links, expected at most 1000"):
        model_from_toml(head + "[[link]]\na = 1\n" * 30_000)
    with pytest.raises(FileError, match="characters, expected at most"):
        model_from_toml("#" * 1_000_001)
