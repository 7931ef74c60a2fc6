"""Animations: as many pictures as asked for, whole files or none."""

import json
import re
import stat
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import dynamis as dy
from dynamis.errors import FileError, OptionError
from dynamis.plots import animate, animation
from dynamis.plots.animation import resampled

from .fakes import waving


def durations(path):
    image = Image.open(path)
    found = []
    for k in range(image.n_frames):
        image.seek(k)
        found.append(image.info["duration"])
    return found


@pytest.mark.parametrize("name", ["pendulum3", "puma560"])
def test_gif_has_every_picture_and_the_true_time(tmp_path, name):
    path = animate(waving(name, duration=1.0), tmp_path / "arm.gif", fps=30)
    image = Image.open(path)
    assert image.size == (512, 384)
    assert image.n_frames == 31
    assert sum(durations(path)[:-1]) == pytest.approx(1000, abs=10)
    assert [p.name for p in tmp_path.iterdir()] == ["arm.gif"]


def test_gif_is_small(tmp_path):
    path = animate(waving("puma560", duration=2.0, count=401), tmp_path / "arm.gif", fps=20)
    assert path.stat().st_size < 0.4e6  # 2 MB for ten seconds


@pytest.mark.parametrize(("fps", "speed", "count"), [(10, 1, 21), (10, 2, 11), (25, 0.5, 101)])
def test_resampled_at_even_moments(fps, speed, count):
    run = waving("scara", duration=2.0, count=2001)
    motion = resampled(run, fps, speed, True, True)
    assert len(motion.t) == count
    np.testing.assert_allclose(np.diff(motion.t), speed / fps)
    exact = run.robot.fk(0.6 * np.sin((2.0 + 0.3 * np.arange(3)) * motion.t[:, None]))
    np.testing.assert_allclose(motion.arm.tool, exact, atol=1e-5)  # linear between samples


def test_axes_hold_the_whole_motion():
    motion = resampled(waving("puma560"), 30, 1, True, True)
    seen = motion.view.seen(motion.arm.points)
    assert (seen > motion.bounds[:, 0]).all()
    assert (seen < motion.bounds[:, 1]).all()


def test_pictures_move_and_the_scenery_does_not():
    motion = resampled(waving("pendulum3"), 10, 1, True, True)
    pictures = list(animation.film(motion))
    changed = np.any(pictures[0] != pictures[5], axis=-1)
    assert 200 < changed.sum() < 0.2 * changed.size
    assert not changed[:30].any()
    grey = [np.all(np.abs(p.astype(int) - (0x46, 0x56, 0x6A)) < 5, axis=-1).sum() for p in pictures]
    assert max(grey) < 1.5 * min(grey)  # no arm of a moment before is left
    purple = np.all(np.abs(pictures[-1].astype(int) - (0x8E, 0x44, 0xAD)) < 40, axis=-1)
    assert purple.sum() > 30


def test_colours_survive_in_the_gif(tmp_path):
    image = Image.open(animate(waving("pendulum3"), tmp_path / "arm.gif", fps=10))
    image.seek(image.n_frames - 1)
    pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    for colour in ((0xD6, 0x28, 0x28), (0x2A, 0x9D, 0x3A), (0x8E, 0x44, 0xAD), (255, 255, 255)):
        assert (np.abs(pixels - colour).max(axis=1) <= 2).any()


def test_html_is_one_file_that_needs_no_network(tmp_path):
    path = animate(waving("rppr"), tmp_path / "arm.html", fps=10)
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"<script[^>]*\ssrc=", text)
    assert not re.search(r"<link[^>]*\shref=", text)
    assert "Plotly.newPlot" in text
    assert [p.name for p in tmp_path.iterdir()] == ["arm.html"]


def test_html_pictures_follow_the_arm(tmp_path):
    run = waving("puma560")
    text = animate(run, tmp_path / "arm.html", fps=10).read_text(encoding="utf-8")
    start = text.rindex("Plotly.addFrames(")
    frames, _ = json.JSONDecoder().raw_decode(text[text.index("[{", start) :])
    assert len(frames) == 11
    for k, frame in enumerate(frames):
        sticks = frame["data"][0]
        end = np.array([sticks[axis][-2] for axis in "xyz"])
        np.testing.assert_allclose(end, run.robot.fk(run.q[10 * k])[:3, 3], atol=1e-4)
    assert text.count('"label":"1.00"') == 1


def test_html_escapes_names(tmp_path):
    run = waving("scara")
    run.robot = dy.Robot(replace(run.robot.model, name="</script><b>"))
    text = animate(run, tmp_path / "arm.html", fps=5).read_text(encoding="utf-8")
    assert "</script><b>" not in text


def test_ensemble_shows_its_first_member(tmp_path):
    run = waving("scara", members=3)
    motion = resampled(run, 10, 1, True, True)
    np.testing.assert_allclose(motion.arm.tool[5], run.robot.fk(run.q[0, 50]))
    assert motion.note == "run 1 of 3"


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("arm.avi", {}, OptionError, r"\.gif, \.html, \.mp4"),
        ("arm", {}, OptionError, "no suffix"),
        ("no/arm.gif", {}, FileError, "no folder"),
        ("arm.gif", {"fps": 0}, OptionError, "fps is 0"),
        ("arm.gif", {"fps": 60}, OptionError, "at most 50"),
        ("arm.html", {"speed": -1.0}, OptionError, "speed is -1.0"),
        ("arm.html", {"speed": float("nan")}, OptionError, "speed is nan"),
        ("arm.html", {"fps": "fast"}, OptionError, "'fast'"),
        ("arm.html", {"speed": 1e-6}, OptionError, "raise speed"),
    ],
)
def test_refusals_come_first_and_leave_nothing(tmp_path, name, options, error, words):
    with pytest.raises(error, match=words):
        animate(waving("scara"), tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_a_diverged_run_is_refused(tmp_path):
    run = waving("scara")
    run.q[50:] = np.nan
    with pytest.raises(OptionError, match=r"t = 0\.5 s"):
        animate(run, tmp_path / "arm.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["gif", "html"])
def test_a_failure_halfway_keeps_the_old_file(tmp_path, monkeypatch, suffix):
    target = tmp_path / f"arm.{suffix}"
    target.write_text("old")

    def broken(*_):
        yield 0
        raise RuntimeError("halfway")

    monkeypatch.setattr(animation, "counted", broken)
    with pytest.raises(RuntimeError, match="halfway"):
        animate(waving("scara"), target)
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_mp4_without_ffmpeg_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(animation.shutil, "which", lambda _: None)
    monkeypatch.setattr(animation.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"install ffmpeg .*or write \.gif or \.html"):
        animate(waving("scara"), tmp_path / "arm.mp4")
    assert not list(tmp_path.iterdir())


def encoder(folder, body):
    script = folder / "encoder"
    script.write_text("#!/bin/sh\n" + body)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return str(script)


def test_mp4_hands_every_picture_to_ffmpeg(tmp_path):
    program = encoder(tmp_path, 'for last; do :; done\ncat > "$last"\n')
    with mpl.rc_context({"animation.ffmpeg_path": program}):
        path = animate(waving("pendulum3"), tmp_path / "arm.mp4", fps=10)
    assert path.stat().st_size == 11 * 512 * 384 * 3


def test_mp4_reports_what_ffmpeg_says(tmp_path):
    program = encoder(tmp_path, "echo no such codec >&2\nexit 3\n")
    with (
        mpl.rc_context({"animation.ffmpeg_path": program}),
        pytest.raises(FileError, match="no such codec"),
    ):
        animate(waving("pendulum3"), tmp_path / "arm.mp4", fps=10)
    assert [p.name for p in tmp_path.iterdir()] == ["encoder"]


@pytest.mark.parametrize("links", ["solid", "sticks"])
def test_palette_fits_a_gif(links):
    motion = resampled(waving("rppr", duration=0.1), 30, 1, True, True, links)
    assert len(animation._palette(motion).getpalette()) <= 3 * 256


def test_solid_links_move_and_leave_nothing_behind():
    motion = resampled(waving("puma560"), 6, 1, False, False, "solid")
    pictures = np.array(list(animation.film(motion))).astype(int)
    orange = (pictures[..., 0] > 100) & (pictures[..., 0] - pictures[..., 2] > 60)
    counts = orange.sum(axis=(1, 2))
    assert counts.min() > 150 and counts.max() < 2.5 * counts.min()
    assert (orange[0] != orange[3]).sum() > 100
