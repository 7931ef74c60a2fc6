"""Messages: never long, and nothing in them that a terminal obeys."""

import json
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dynamis as dy
from dynamis.cli import main
from dynamis.errors import (
    LONGEST,
    DynamisError,
    DynamisWarning,
    OptionError,
    abbreviated,
    legible,
    shown,
)
from dynamis.model.formats.files import model_from_toml, toml_text
from dynamis.model.formats.urdf import model_from_urdf

EVIL = "a\x1b]0;owned\x07\x1b[2J\x9b31m\u202egp\x7f\r\x00ñ"
OBEYED = {"Cc", "Cs"}
TURNED = set("\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_calm(text: str) -> bool:
    """Whether a terminal only shows the text."""
    return not any(
        c in TURNED or (unicodedata.category(c) in OBEYED and c not in "\n\t") for c in text
    )


@given(st.text(st.characters(codec=None)))
def test_legible_text_is_calm_and_keeps_what_is(text):
    assert is_calm(legible(text))
    kept = "".join(c for c in text if is_calm(c))
    assert legible(kept) == kept


@given(st.integers(0, 9000), st.integers(50, 3000))
def test_abbreviated_keeps_both_ends(size, most):
    text = "<" + "x" * size + ">"
    short = abbreviated(text, most)
    assert len(short) <= most and (short[0], short[-1]) == ("<", ">")
    assert short == text or size > most - 3


@pytest.mark.parametrize("kind", [DynamisWarning, DynamisError, *DynamisError.__subclasses__()])
def test_no_message_is_long_or_moves_the_cursor(kind):
    error = kind(EVIL + "x" * 100_000)
    assert len(str(error)) <= LONGEST + 100 and is_calm(str(error))
    if issubclass(kind, DynamisError):
        both = kind("wrong", EVIL + "y" * 100_000)
        assert str(both).endswith(f"\nhint: {both.hint}") and len(str(both)) < LONGEST + 200


def test_a_warning_is_as_calm():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(EVIL, DynamisWarning, stacklevel=1)
    assert is_calm(str(caught[0].message))


class Unshowable:
    """A stranger's class."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


GIVEN = {"digits": 10**5000, "class": Unshowable(), "text": "x" * 10**6, "list": [0] * 10**5}


@pytest.mark.parametrize("name", GIVEN)
def test_whatever_is_given_is_quoted_in_short(name):
    value = GIVEN[name]
    assert len(shown(value)) <= 200
    for call in (
        lambda: dy.Link(joint=value),
        lambda: dy.Link(a=value),
        lambda: dy.Link(com=value),
        lambda: dy.Link(inertia=value),
        lambda: dy.Link(mimic=value),
        lambda: dy.Link(friction=value),
        lambda: dy.Link(drive=value),
        lambda: dy.Friction(law=value),
        lambda: dy.Robot.from_dh("x", convention="standard", links=[value]),
        lambda: dy.Robot.from_dh("x", convention="standard", links=[dy.Link()], rotors=value),
        lambda: dy.Robot.from_dh("x", convention="standard", links=[dy.Link()], base=value),
        lambda: dy.Robot.from_dh("x", convention="standard", links=[dy.Link()], gear_matrix=value),
    ):
        with pytest.raises(DynamisError) as refusal:
            call()
        assert len(str(refusal.value)) < 1000


def test_a_file_of_long_texts_is_refused_in_short():
    long = "n" * 500_000
    head = 'schema = 1\nname = "x"\nconvention = "standard"\n'
    for text in (f'"{long}" = 1', f'schema = "{long}"', f'{head}[[link]]\na = "{long}"'):
        with pytest.raises(DynamisError) as refusal:
            model_from_toml(text)
        assert len(str(refusal.value)) < 2 * LONGEST + 200
    for text in (f"<{long}/>", f'<robot><link name="{long}"/><link name="{long}"/></robot>'):
        with pytest.raises(DynamisError) as refusal:
            model_from_urdf(text.encode())
        assert len(str(refusal.value)) < 2 * LONGEST + 200


@pytest.fixture
def evil(tmp_path):
    """The file of an arm all of whose texts are hostile."""
    link = dy.Link(a=1.0, mass=0.0, name=EVIL, joint_name=EVIL + "j", limits=(-400, 400))
    load = {"configurations": {EVIL: (0.1,)}, "description": EVIL, "tool_name": EVIL}
    arm = dy.Robot.from_dh(EVIL, convention="standard", links=[link], **load)
    path = tmp_path / "evil.toml"
    path.write_text(toml_text(arm.model))
    return path


@pytest.mark.parametrize("words", [["show"], ["show", "--q", "0.1"], ["check"], ["equations"]])
def test_a_models_texts_never_move_the_cursor(evil, words, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "240")
    main([words[0], str(evil), *words[1:]])
    printed = capsys.readouterr()
    assert printed.out and is_calm(printed.out) and is_calm(printed.err)


def test_json_holds_the_texts_themselves_in_calm_letters(evil, capsys):
    main(["show", str(evil), "--json"])
    printed = capsys.readouterr().out
    assert is_calm(printed) and json.loads(printed)["name"] == EVIL


def test_names_of_files_and_options_are_calm_too(tmp_path, capsys):
    for words in (
        ["check", str(tmp_path / f"{EVIL[:-2]}.toml")],
        ["show", "puma560", "--q", EVIL[:-2]],
    ):
        assert main(words) == 2
        assert is_calm(capsys.readouterr().err)
    assert main(["check", "arm\udcff.urdf"]) == 2
    assert is_calm(capsys.readouterr().err)


def test_a_table_of_hostile_names_is_calm(evil):
    assert is_calm(str(dy.load(evil).dh("modified")))


def test_a_hint_does_not_repeat_the_words_of_its_message():
    with pytest.raises(OptionError) as caught:
        dy.Link(joint="P")
    assert caught.value.hint is None and "'revolute' or 'prismatic'" in str(caught.value)
    with pytest.raises(OptionError) as caught:
        dy.Link(joint="prismatik")
    assert caught.value.hint == "did you mean 'prismatic'?"


def test_counts_have_one_word_for_one():
    from dynamis.errors import counted

    assert [counted(k, "joint") for k in (0, 1, 2)] == ["0 joints", "1 joint", "2 joints"]
    assert [counted(k, "entry") for k in (1, 3)] == ["1 entry", "3 entries"]
    link = dy.Link(a=1.0, mass=1.0)
    arm = dy.Robot.from_dh("one", convention="standard", links=[link])
    assert "1 joint R" in repr(arm) and arm.model.size_text == "1 joint"
