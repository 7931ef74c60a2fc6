"""Completion scripts work in their shells."""

import shutil
import subprocess

import pytest

from dynamis.cli import COMMANDS, arguments, main, run_of
from dynamis.cli.completion import script as completion


def completed(words):
    """What bash offers for the last of the words."""
    listed = " ".join(f"'{w}'" for w in words)
    script = f"""{completion("bash")}
COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _dynamis; printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_commands_options_and_robots(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pumpkin.toml").write_text("")
    assert completed(["dynamis", "si"]) == ["simulate"]
    assert completed(["dynamis", "agree", "--s"]) == ["--samples", "--seed"]
    assert set(completed(["dynamis", "show", "pu"])) == {"puma560", "puma560-mdh", "pumpkin.toml"}
    assert completed(["dynamis", "show", "pump"]) == ["pumpkin.toml"]
    assert completed(["dynamis", "nothing", "--"]) == []
    assert completed(["dynamis", "simulate", "puma560", "--ref"]) == ["--reference"]
    laws = {"pid", "point-to-point", "computed-torque", "feed-forward"}
    assert set(completed(["dynamis", "simulate", "puma560", "--controller", ""])) == laws
    assert completed(["dynamis", "simulate", "puma560", "--controller", "co"]) == [
        "computed-torque"
    ]


def test_every_option_is_one(capsys):
    for name in COMMANDS:
        known = list(arguments.options(run_of(name)))
        assert all(f" {option}" in completion("bash").replace('"', " ") for option in known), name
        with pytest.raises(SystemExit):
            main([name, "--help"])
        said = capsys.readouterr().out
        assert all(option in said for option in known), name


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_theirs(shell, tmp_path):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    file = tmp_path / "script"
    file.write_text(completion(shell))
    subprocess.run([shell, "-n", file], check=True, capture_output=True)


def test_fish_completes(tmp_path):
    if shutil.which("fish") is None:
        pytest.skip("no fish here")
    file = tmp_path / "dynamis.fish"
    file.write_text(completion("fish"))
    asked = f"source {file}; complete -C 'dynamis agree --s'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["--samples", "--seed"]


def test_the_command_prints_it(capsys):
    assert main(["completion", "bash"]) == 0
    assert capsys.readouterr().out == completion("bash")
