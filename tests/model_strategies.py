"""Random models for the file formats: every field, both DH conventions, URDF trees, symbols.

Strategies are kept: one that is made anew for every draw is also examined anew.
"""

from functools import cache

from hypothesis import strategies as st

from dynamis.model.check.finding import LEVELS, Finding
from dynamis.model.drive import Drive
from dynamis.model.friction import Friction
from dynamis.model.link import Link
from dynamis.model.memory import Memory
from dynamis.model.model import Model, NamedFrame, Payload
from dynamis.model.pose import Pose

VALUES = {"m1": 1.5, "L1": 0.75, "x_2": -0.3}
EXPRESSIONS = ("m1", "2*L1 + 0.1", "-(L1)", "m1*L1**2/3", "sin(x_2)", "(x_2)*pi/180")

numbers = st.integers(-3000, 3000).map(lambda k: k / 1000)
lengths = numbers
positive = st.integers(1, 5000).map(lambda k: k / 1000)
scalars = st.one_of(numbers, numbers, st.sampled_from(EXPRESSIONS))
any_floats = st.floats(allow_nan=False, allow_infinity=False)


@cache
def hostile_texts(xml: bool):
    """Names and descriptions as nobody should write them; only what XML can hold if `xml`."""
    categories = ("Cs", "Cc", "Cn") if xml else ("Cs",)
    alphabet = st.characters(exclude_categories=categories)
    nasty = st.sampled_from(
        ['"; import os', "a\nb", "\t'<&>\"", "]]>", "\\u0041", "é°", " ", "a,b"]
    )
    return st.one_of(nasty, st.text(alphabet, min_size=1, max_size=8))


@cache
def vectors(of=scalars, size=3):
    return st.lists(of, min_size=size, max_size=size).map(tuple)


@cache
def poses(of=scalars):
    return st.builds(Pose, vectors(of), vectors(of))


@cache
def either(*several):
    return st.one_of(*several)


@cache
def one_of_these(*values):
    return st.sampled_from(values)


nothing, rest = st.none(), st.just(Pose())
joints, rotors = one_of_these("revolute", "prismatic"), one_of_these("reflected", "full")
conventions = one_of_these("standard", "modified", "urdf")
counts = st.integers(1, 4)
booleans = st.booleans()
frictionless, direct, plain = st.just(Friction()), st.just(Drive()), st.just("")
payloads = st.builds(Payload, mass=positive, com=vectors())
axes = vectors(st.integers(-2, 2)).filter(any)
LAWS = [
    ("coulomb", {}),
    ("smooth", {}),
    ("stribeck", {"static_ratio": 1.7}),
    ("stribeck", {"velocity": 0.25}),
    ("grotjahn", {"ratio": 0.5}),
    ("lugre", {"stiffness": 2e4, "damping": 0.0}),
    ("lugre", {"stiffness": "m1", "static_ratio": 1.0}),
]
laws = st.sampled_from(LAWS)


memories = st.one_of(
    st.none(), st.builds(Memory, st.just((1e-3, 0.02)), vectors(size=2)), st.just(Memory(0.5, 2.0))
)


@st.composite
def frictions(draw):
    law, constants = draw(laws)
    coulomb = draw(either(scalars, vectors(size=2)))
    return Friction(
        viscous=draw(scalars),
        coulomb=coulomb,
        offset=draw(scalars),
        law=law,
        constants=constants,
        memory=None if law == "lugre" else draw(memories),
    )


@cache
def drives(joint):
    """Drives of a revolute or prismatic joint: a gear or a lead, a circuit or none."""
    common = {
        "rotor_inertia": scalars,
        "viscous": scalars,
        "coulomb": st.one_of(scalars, vectors(size=2)),
        "efficiency": st.sampled_from([1.0, 0.85]),
        "limits": st.one_of(st.none(), vectors(size=2)),
        "rotor_axis": st.one_of(st.none(), st.just((0, 1, 0))),
        "rotor_position": st.one_of(st.none(), vectors()),
        "unbalance": vectors(numbers, 2),
    }
    geared = st.builds(Drive, **common, gear=scalars)
    above = st.one_of(positive, st.sampled_from(EXPRESSIONS))
    circuit = {
        "resistance": above,
        "inductance": st.one_of(st.just(0.0), above),
        "torque_constant": above,
        "voltage_limit": st.one_of(st.none(), above),
        "current_limit": st.one_of(st.none(), above),
        "current_bandwidth": st.one_of(st.just(1000.0), above),
        "amplifier_gain": st.one_of(st.none(), above),
    }
    electric = st.builds(Drive, **common, gear=scalars, **circuit)
    if joint == "revolute":
        return st.one_of(geared, electric)
    lead = scalars.filter(lambda x: x != 0.0)
    screwed = st.builds(Drive, **common, lead=lead)
    return st.one_of(geared, screwed, st.builds(Drive, **common, lead=lead, **circuit))


@st.composite
def bodies(draw, convention, physical):
    kinds = ["com", "com", "none"] + ([] if physical else ["linear"])
    kind = draw(one_of_these(*kinds, *(["factor"] if convention == "standard" else [])))
    if kind == "none":
        return {}
    if kind == "linear":
        return {"linear": draw(vectors(numbers, 10))}
    body = {"mass": draw(positive), "inertia": draw(vectors(scalars, 6))}
    if kind == "factor":
        return body | {"com_factor": draw(numbers)}
    return body | {"com": draw(vectors())}


@st.composite
def places(draw, convention, joint, names):
    if convention != "urdf":
        constant = "d" if joint == "revolute" else "theta"
        return {key: draw(scalars) for key in ("a", "alpha", "offset", constant)}
    place = {"axis": draw(axes), "xyz": draw(vectors()), "rpy": draw(vectors())}
    place["parent"] = draw(st.sampled_from([None, *names]))
    return place | ({"offset": draw(numbers)} if draw(booleans) else {})


@cache
def findings(texts):
    """What whoever made a model may have known about it."""
    return st.builds(Finding, st.sampled_from(LEVELS), texts, texts, texts)


some_frictions = st.one_of(frictionless, frictions())
body_of = cache(bodies)


@cache
def name_lists(texts, count):
    return st.lists(texts, min_size=count, max_size=count, unique=True)


@st.composite
def models(draw, xml=False, physical=False):
    """A model that uses anything the files can say."""
    convention = draw(conventions)
    texts = hostile_texts(xml)
    count = draw(counts)
    names = draw(name_lists(texts, count + 1))
    links, free = [], []
    for i in range(count):
        joint = draw(joints)
        joint_name = f"{names[i]} joint"
        mimic = None
        if convention == "urdf" and free and draw(booleans):
            mimic = (draw(st.sampled_from(free)), draw(scalars), draw(scalars))
        else:
            free.append(joint_name)
        links.append(
            Link(
                joint=joint,
                name=names[i],
                joint_name=joint_name,
                mimic=mimic,
                **draw(places(convention, joint, names[:i])),
                **draw(body_of(convention, physical)),
                friction=draw(some_frictions),
                drive=draw(either(nothing, direct, drives(joint))),
                limits=draw(either(nothing, vectors(size=2))),
                velocity_limit=draw(either(nothing, scalars)),
                effort_limit=draw(either(nothing, scalars)),
            )
        )
    matrix = None
    if all(x.drive is None for x in links) and draw(booleans):
        matrix = draw(vectors(vectors(numbers, count), count))
    frame = NamedFrame(
        name=names[count], link=draw(st.sampled_from([None, *names[:count]])), pose=draw(poses())
    )
    return Model(
        name=draw(texts),
        convention=convention,
        links=tuple(links),
        gravity=draw(vectors()),
        base=draw(either(rest, poses())),
        tool=draw(either(rest, poses())),
        tool_link=draw(st.sampled_from([None, *names[:count]])),
        tool_name=draw(texts),
        base_name=draw(texts),
        payload=draw(either(nothing, payloads)),
        gear_matrix=matrix,
        rotors=draw(rotors),
        values=VALUES,
        configurations={draw(texts): draw(vectors(numbers, len(free)))},
        frames=draw(st.sampled_from([(), (frame,)])),
        description=draw(either(plain, texts)),
        findings=draw(st.sampled_from([(), (draw(findings(texts)),)])),
    )
