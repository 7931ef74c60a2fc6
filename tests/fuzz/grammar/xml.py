"""Changes of XML, and what URDF, SDF and MJCF know besides."""

import re
from collections.abc import Sequence
from functools import partial
from random import Random

from .plain import BLOCK_COUNTS, DEPTHS, MOST, NUMBERS, WORDS, text_change

TAG = re.compile(r"<[A-Za-z][^<>]*>")
ATTRIBUTE = re.compile(r'\s([\w:]+)="([^"]*)"')
URDF_PARTS = (
    *(
        '<joint name="j" type="fixed"><parent link="base"/><child link="l"/></joint>',
        "<link/>",
        "<x/>",
    ),
    *('<mimic joint="j1" multiplier="2"/>', '<limit lower="1" upper="-1"/>', '<axis xyz="0 0 0"/>'),
    *('<link name="l"/>', '<xacro:x xmlns:xacro="y"/>', "<drake:x/>", "<dynamis/>", "<robot/>"),
    *('<mesh filename="../outside/mesh.stl"/>', '<dynamis index="0"/>', '<dynamis tip="l"/>'),
    *(
        '<safety_controller k_velocity="1"/>',
        '<inertial><mass value="-1"/></inertial>',
        "<inertial/>",
    ),
    *(
        '<dynamis drive="gear = 100"/>',
        '<dynamis toml="[[[["/>',
        '<dynamics damping="1" friction="1"/>',
    ),
)
SDF_PARTS = (
    *("<pose>0 0 0 0 0 0</pose>", '<pose relative_to="a">1 2 3 0 0 0</pose>', "<static>1</static>"),
    *('<frame name="f" attached_to="f"/>', '<frame name="g" attached_to="upper"/>', "<link/>"),
    *('<pose relative_to="shoulder">0 0 0</pose>', "<lower>inf</lower>", "<upper>-1e400</upper>"),
    *('<model name="inner"><link name="l"/></model>', "<include><uri>../outside/x</uri></include>"),
    *('<joint name="k" type="ball"><parent>a</parent><child>b</child></joint>', "<axis/>"),
    *('<mimic joint="grip"/>', '<xyz expressed_in="elbow">0 0 1</xyz>', "<mass>-1</mass>", "<x/>"),
    *("<use_parent_model_frame>1</use_parent_model_frame>", '<inertial auto="true"/>', "<world/>"),
    *('<pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>', "<gravity>0 0 0</gravity>"),
)
MJCF_PARTS = (
    *("<freejoint/>", '<joint type="ball"/>', '<include file="../outside/robot.xml"/>', "<body/>"),
    *(
        '<geom type="sphere" size="1"/>',
        '<geom type="mesh" mesh="m"/>',
        '<geom size="1" mass="1"/>',
    ),
    *(
        '<asset><mesh name="m" file="../outside/mesh.stl"/></asset>',
        '<site name="s"/>',
        "<worldbody/>",
    ),
    *('<asset><hfield name="h" nrow="9999" ncol="9999" size="1 1 1 1"/></asset>', "<option/>"),
    *(
        '<asset><texture name="x" type="2d" builtin="flat" width="9999" height="9999"/></asset>',
        "<x/>",
    ),
    *('<replicate count="100000"><geom size="1"/></replicate>', '<compiler meshdir="../outside"/>'),
    *(
        '<composite type="grid" count="99 99 1"/>',
        '<option gravity="0 0 0"/>',
        '<frame pos="1 0 0"/>',
    ),
    *('<compiler angle="radian"/>', '<compiler boundmass="1" boundinertia="1"/>', "<inertial/>"),
    *(
        '<compiler inertiafromgeom="true"/>',
        '<size memory="99G"/>',
        '<size njmax="-1"/>',
        "<default/>",
    ),
    *('<default class="c"><joint damping="1"/></default>', '<option timestep="0"/>', "<mujoco/>"),
    *(
        '<equality><joint joint1="j1" joint2="j2"/></equality>',
        '<keyframe><key qpos="0"/></keyframe>',
    ),
    *('<actuator><motor joint="j1"/></actuator>', '<extension><plugin plugin="x"/></extension>'),
    *('<tendon><fixed><joint joint="j1" coef="1"/></fixed></tendon>', '<flexcomp type="grid"/>'),
    *(
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 9"/>',
        '<custom><text name="dynamis_tool" data="x"/></custom>',
    ),
    *(
        '<body mocap="true"/>',
        '<attach model="x" prefix="y"/>',
        '<compiler balanceinertia="true"/>',
    ),
)
PROLOGUES = (
    *(
        '<?xml version="1.0" encoding="{}"?>',
        '<?xml version="1.1"?>',
        '<?xml version="1.0" standalone="no"?>',
    ),
    *(
        '<!DOCTYPE a [<!ENTITY b "c">]>',
        '<!DOCTYPE a SYSTEM "../outside/robot.xml">',
        "<!-- {} -->",
    ),
    *(
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]>',
        "<?xml-stylesheet href='x'?>",
        "<a/>",
    ),
)
ENCODINGS = (
    *(
        "utf-8",
        "UTF-16",
        "latin-1",
        "cp037",
        "idna",
        "base64",
        "zip",
        "undefined",
        "punycode",
        "rot13",
    ),
    *(
        "utf-7",
        "unicode_escape",
        "mbcs",
        "x" * 1000,
        "..",
        "os",
        "",
        "\u00fc",
        "uu",
        "utf_8_sig",
        "hex",
    ),
)


def element(text: str, rng: Random) -> str:
    """An element taken out, repeated under new names, moved into another, nested in itself."""
    found = _element(text, rng)
    if found is None:
        return text
    a, b = found
    whole, choice = text[a:b], rng.randrange(6)
    if choice == 0:
        return text[:a] + text[b:]
    if choice == 1:
        return text[:b] + whole * rng.choice(BLOCK_COUNTS) + text[b:]
    if choice == 2:
        count = rng.choice(BLOCK_COUNTS)
        return text[:b] + "".join(_renamed(whole, k) for k in range(count)) + text[b:]
    if choice == 3:
        rest = text[:a] + text[b:]
        k = rng.choice([match.end() for match in TAG.finditer(rest)] or [0])
        return rest[:k] + whole + rest[k:]
    tag = re.match(r"<([\w:]+)", whole)
    depth = rng.choice(DEPTHS)
    if choice == 4 and tag:
        opening = TAG.match(whole)
        return (
            text[:a]
            + (opening[0].replace("/>", ">") if opening else "") * depth
            + whole
            + (f"</{tag[1]}>" * depth + text[b:])
        )
    return text[:a] + chained(whole, depth) + text[b:]


def chained(whole: str, depth: int) -> str:
    """An element inside itself again and again, each time under new names."""
    end = whole.rfind("</")
    if end < 0:
        return whole
    head, tail = whole[:end], whole[end:]
    depth = min(depth, 1 + MOST // len(whole))
    return "".join(_renamed(head, k) for k in range(depth)) + tail * depth


def _element(text: str, rng: Random) -> tuple[int, int] | None:
    """Where a whole element lies."""
    starts = [match for match in TAG.finditer(text) if not match[0].startswith("</")]
    if not starts:
        return None
    start = rng.choice(starts)
    if start[0].endswith("/>"):
        return start.span()
    name, depth = re.match(r"<([\w:]+)", start[0])[1], 0  # type: ignore[index]
    for match in re.finditer(rf"<(/?){re.escape(name)}\b[^<>]*?(/?)>", text[start.start() :]):
        depth += -1 if match[1] else 0 if match[2] else 1
        if depth == 0:
            return start.start(), start.start() + match.end()
    return start.span()


def _renamed(text: str, k: int) -> str:
    return re.sub(r'\b(name|link|joint)="([^"]*)"', rf'\1="\2_{k}"', text)


def attribute(text: str, rng: Random) -> str:
    """An attribute taken out, doubled, renamed, or with another's value."""
    found = list(ATTRIBUTE.finditer(text))
    if not found:
        return text
    a, b = rng.choice(found), rng.choice(found)
    new = rng.choice(
        (
            *("", a[0] * 2, f' {b[1]}="{a[2]}"', f' {a[1]}="{b[2]}"', f' {a[1]}="{a[2]} {b[2]}"'),
            *(
                f' {a[1]}="{rng.choice(WORDS)}"',
                f' {a[1]}="{rng.choice(NUMBERS)}"',
                f" {a[1]}={a[2]}",
            ),
            *(
                f' {a[1]}="&{rng.choice(("lt", "x", "#0", "#x110000", "#27"))};"',
                f' x:{a[1]}="{a[2]}"',
            ),
            *(f' xmlns="{rng.choice(WORDS)}"', f' xmlns:{a[1]}="u"', a[0] + ' xmlns:x="u" x:y="1"'),
        )
    )
    return text[: a.start()] + new + text[a.end() :]


def part(parts: Sequence[str], text: str, rng: Random) -> str:
    """An element of the format where it belongs or where it does not."""
    k = rng.choice([match.end() for match in TAG.finditer(text)] or [0])
    old, new = rng.choice(("", "<!--", "<![CDATA[", "x", "&amp;")), rng.choice(parts)
    return text[:k] + new + (old if rng.random() < 0.1 else "") + text[k:]


def tag(text: str, rng: Random) -> str:
    """An element under the name of another."""
    found = list(re.finditer(r"</?([A-Za-z][\w:]*)", text))
    if not found:
        return text
    a, b = rng.choice(found)[1], rng.choice(found)[1]
    count = rng.choice((0, 2))
    return re.sub(rf"(</?){re.escape(a)}\b", rf"\g<1>{b}", text, count=count)


def prologue(text: str, rng: Random) -> str:
    """What may stand before the root: declarations, document types, comments."""
    head = rng.choice(PROLOGUES).format(rng.choice(ENCODINGS))
    return head + text[text.find("?>") + 2 if text.startswith("<?xml") else 0 :]


XML = tuple(map(text_change, (element, element, attribute, tag, prologue)))
URDF = (*XML, text_change(partial(part, URDF_PARTS)))
SDF = (*XML, text_change(partial(part, SDF_PARTS)))
MJCF = (*XML, text_change(partial(part, MJCF_PARTS)), text_change(partial(part, MJCF_PARTS)))
