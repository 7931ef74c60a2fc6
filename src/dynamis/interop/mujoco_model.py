"""Compiled MuJoCo models as robots: includes, geoms and defaults are resolved already.

What makes another machine of it is refused by name: free and ball joints, tendons that act, fluids,
soft bodies. What only acts on it from outside is named in a warning.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arguments import checked
from ..lazy import cached_property, package
from ..model.check.finding import Finding
from ..model.closure import Closure
from ..model.drive import Drive
from ..model.friction import Friction
from ..model.model import Model
from ..model.quantity import quantity
from ..model.spring import Spring
from ..robot import Robot
from ..spatial.frames import Frame, compose, translation
from ..spatial.rotations import rotation_from_quaternion
from .draft import Draft, limits, reflected
from .mjcf_gears import IN_THE_GAP, TendonGear, rotor_inertia, tendon_gears
from .rigid_tree import NotRepresentableError
from .unsupported import warn_left_out

Tie = tuple[int, float, float]  # leader or -1, factor, constant
TOOL = "dynamis.tool"  # the <custom> text that names the tool's site
ENDS = ("_first", "_second")  # of the sites that a closure holds together
UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model without a name
OTHERS_ACTING = ("stiffnesspoly", "dampingpoly", "frictionloss", "armature")
ACTING = ("stiffness", "damping", *OTHERS_ACTING)


@checked
def from_mujoco(model: Any, tip: str | None = None, lock: Mapping[str, Any] | None = None) -> Robot:
    """The robot of a `mujoco.MjModel`: a tree of hinges and slides.

    `tip` names the body or site that is the tool; default is the site this package wrote as the
    tool, else the body that most joints lead to. `lock` holds joints at a value.

    Links sit at their joints: a body's frame moved to the joint's `pos`. Linear joint equalities
    are mimics, those with a constant lock the joint; connect and weld equalities are closures, ball
    and weld, and hold exactly what MuJoCo holds softly; beside them, joints without an actuator are
    passive. A rotor tied to a joint by a fixed tendon that is a spring is the joint's elastic
    drive. Keyframes are configurations.
    """
    mujoco = package("mujoco", "mujoco", "from_mujoco", "mujoco")
    if not isinstance(model, mujoco.MjModel):
        raise NotRepresentableError(
            f"{type(model).__name__} was given, expected a mujoco.MjModel",
            "text and files go into from_mjcf",
        )
    return _MujocoReader(mujoco, model).robot(tip, lock or {})


class _MujocoReader:
    """Walks the bodies of one model, parents first."""

    def __init__(self, mujoco: Any, model: Any):
        self.mujoco, self.model = mujoco, model
        self.draft, self.names, self.sites = Draft(root="world"), {}, {}
        self.loops: dict[int, tuple[str, list[str]]] = {}  # name of a closure, of its frames
        self.ties = _resolved(dict(self._equalities()), self._words)

    def robot(self, tip: str | None, locked: Mapping[str, Any]) -> Robot:
        m, draft = self.model, self.draft
        for why in self._others():
            raise NotRepresentableError(
                f"not representable: {why}", "where that may be neglected, take it out of the model"
            )
        places = {0: ("world", Frame())}
        for b in range(1, m.nbody):
            places[b] = self._body(b, *places[int(m.body_parentid[b])])
        for i in range(m.nsite):
            link, place = places[int(m.site_bodyid[i])]
            child = self.sites[i] = draft.link(m.site(i).name or f"site{i}")
            here = compose(place, _frame(m.site_pos[i], m.site_quat[i]))
            draft.joint(f"{child}_fixed", (link, child), here)
        for i in self._held:
            self._loop(i, places)
        own = m.names.split(b"\0")[0].decode()
        name = "robot" if own in ("", UNNAMED) else own
        warn_left_out("MuJoCo", name, self._left_out())
        gravity = np.zeros(3) if self._off("GRAVITY") else m.opt.gravity
        lock = {self.names[j]: start for j, (leader, _, start) in self.ties.items() if leader < 0}
        lock |= self._locked(locked)
        found = draft.model(name, tip or self._tool(), lock, gravity=tuple(gravity.tolist()))
        at = {name: int(m.jnt_qposadr[j]) for j, name in self.names.items()}
        rows = [at[name] for name in found.joint_names]
        keys = {m.key(i).name or f"key{i}": m.key_qpos[i, rows].tolist() for i in range(m.nkey)}
        springs = (*self._joint_springs(found.tree_joint_names), *self._tendon_springs(found))
        found, closures = self._driven(found), tuple(self._closures(found))
        ends = {f"{m.tendon(t).name}{x}" for t in self._tendons for x in ("_from", "_to")}
        ends |= {f"{name}{x}" for name, _ in self.loops.values() for x in ENDS}
        ends |= {frame for _, frames in self.loops.values() for frame in frames}
        ends |= {m.body(int(m.jnt_bodyid[j])).name for j in self._shafts}
        frames = tuple(frame for frame in found.frames if frame.name not in ends)
        held = {"configurations": keys, "springs": springs, "closures": closures}
        return Robot(replace(found, frames=frames, **held))

    def _locked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Joints that are asked to be held and those they lead, from where bodies are written."""
        zero = {name: self._zero(j) for j, name in self.names.items()}
        found: dict[str, Any] = {}
        for name, value in given.items():
            at = quantity(value, f"lock[{name!r}]")
            found[name] = at - zero.get(name, 0.0) if isinstance(at, float) else value
        for j, (leader, factor, start) in self.ties.items():
            at = found.get(self.names.get(leader, ""))
            if isinstance(at, float) and self.names[j] not in given:
                found[self.names[j]] = factor * at + start
        return found

    @cached_property
    def _held(self) -> dict[int, bool]:
        """Equalities that close loops: whether they hold rotation too."""
        m, kinds = self.model, self.mujoco.mjtEq
        found = {}
        for i in range(0 if self._off("EQUALITY", "CONSTRAINT") else m.neq):
            kind = int(m.eq_type[i])
            if kind not in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
                continue
            if m.eq_active0[i] and not self._rigid(i, int(m.eq_obj1id[i]), int(m.eq_obj2id[i])):
                found[i] = kind == int(kinds.mjEQ_WELD) and bool(m.eq_data[i, 10])
        return found

    def _loop(self, i: int, places: Mapping[int, tuple[str, Frame]]) -> None:
        """Put the two frames of a closure on their links, as frames with names of their own."""
        m, kinds = self.model, self.mujoco.mjtObj
        ids, data = (int(m.eq_obj1id[i]), int(m.eq_obj2id[i])), m.eq_data[i]
        weld = int(m.eq_type[i]) == int(self.mujoco.mjtEq.mjEQ_WELD)
        unit = np.array([1.0, 0.0, 0.0, 0.0])
        if int(m.eq_objtype[i]) == int(kinds.mjOBJ_SITE):
            bodies = [int(m.site_bodyid[k]) for k in ids]
            frames = [_frame(m.site_pos[k], m.site_quat[k]) for k in ids]
        elif weld:
            bodies = list(ids)  # the anchor is on the second body, its place and turn on the first
            frames = [_frame(data[3:6], data[6:10]), _frame(data[:3], unit)]
        else:
            bodies = list(ids)
            frames = [_frame(data[:3], unit), _frame(data[3:6], unit)]
        name, children = m.eq(i).name or f"closure{len(self.loops) + 1}", []
        for body, frame, end in zip(bodies, frames, ENDS, strict=True):
            link, place = places[body]
            child = self.draft.link(f"{name}{end}")
            self.draft.joint(f"{child}_fixed", (link, child), compose(place, frame))
            children.append(child)
        self.loops[i] = name, children

    def _closures(self, found: Model) -> Iterator[Closure]:
        """Ball and weld closures; of links that lock joined there is nothing to close."""
        frames = {frame.name: frame for frame in found.frames}
        for i, (name, ends) in self.loops.items():
            a, b = (frames[end] for end in ends)
            if a.link != b.link:
                kind = "weld" if self._held[i] else "ball"
                between, both = (a.link, b.link), (a.pose, b.pose)
                yield Closure(kind=kind, name=name, between=between, frames=both)

    def _driven(self, found: Model) -> Model:
        """Beside closures, joints without an actuator are passive; where none has one, said so."""
        m = self.model
        if not self.loops:
            return found
        rows = [i for i in range(m.nu) if m.actuator_trntype[i] in self._direct]
        moved = (int(m.actuator_trnid[i, 0]) for i in rows)
        driven = {self.names[self._shafts.get(j, j)] for j in moved}
        idle = [x for x in found.moving_links if x.joint_name not in driven]
        what, links = "", found.links
        if not driven:
            what = "the model has closures and no actuators: every joint is taken as driven"
        elif geared := [str(x.joint_name) for x in idle if x.drive is not None]:
            what = f"{', '.join(geared)}: no actuator but armature, taken as driven"
        if driven:
            free = {x.name for x in idle if x.drive is None}
            links = tuple(replace(x, passive=x.name in free) for x in links)
        said = Finding("warning", "drives", what, "set passive = true where there is no drive")
        return replace(found, links=links, findings=(*found.findings, *([said] if what else [])))

    def _joint_springs(self, joints: Sequence[str]) -> Iterator[Spring]:
        m = self.model
        for j in np.flatnonzero(_has(m, "jnt", "stiffness")):
            if self.names[j] in joints and not self._off("SPRING", "PASSIVE"):
                rest, stiff = float(m.qpos_spring[m.jnt_qposadr[j]]), float(m.jnt_stiffness[j])
                name = self.names[j]
                yield Spring(kind="torsion", joint=name, stiffness=stiff, rest_angle=rest)

    def _tendon_springs(self, found: Model) -> Iterator[Spring]:
        """Springs between two sites, which are named frames of the model, or its tool."""
        m = self.model
        frames = {frame.name: (frame.link, frame.pose.xyz) for frame in found.frames}
        frames[found.tool_name] = (found.tool_link or found.link_names[-1], found.tool.xyz)
        for t, sites in self._tendons.items():
            (a, start), (b, end) = (frames[self.sites[i]] for i in sites)
            stiff = 0.0 if self._off("SPRING", "PASSIVE") else float(m.tendon_stiffness[t])
            damping = 0.0 if self._off("DAMPER", "PASSIVE") else float(m.tendon_damping[t])
            length = float(m.tendon_lengthspring[t, 0])
            yield Spring(
                name=m.tendon(t).name or f"tendon{t}", from_=a, from_point=start, to=b,
                to_point=end, stiffness=stiff, damping=damping, rest_length=length,
            )  # fmt: skip

    @cached_property
    def _tendons(self) -> dict[int, list[int]]:
        """Tendons that are springs between two sites of bodies that move apart: the sites."""
        m, found = self.model, {}
        for t in np.flatnonzero(_has(m, "tendon", "stiffness", "damping")):
            rows = slice(int(m.tendon_adr[t]), int(m.tendon_adr[t] + m.tendon_num[t]))
            kinds, sites = m.wrap_type[rows], m.wrap_objid[rows]
            low, high = m.tendon_lengthspring[t]
            straight = len(sites) == 2 and (kinds == int(self.mujoco.mjtWrap.mjWRAP_SITE)).all()
            if straight and low == high and not _has(m, "tendon", *OTHERS_ACTING)[t]:
                found[int(t)] = [int(i) for i in sites]
        return found

    @cached_property
    def _gears(self) -> dict[int, TendonGear]:
        """Tendons that are elastic gears, by the joint that they move."""
        if self._off("SPRING", "PASSIVE"):
            return {}
        return tendon_gears(self.mujoco, self.model, self.ties, self._armature)

    @cached_property
    def _shafts(self) -> dict[int, int]:
        """Joints of rotors, and those that they move by an elastic gear."""
        return {gear.motor: j for j, gear in self._gears.items()}

    def _armature(self, j: int) -> float:
        return float(self.model.dof_armature[self.model.jnt_dofadr[j]]) + self._motors(j)[0]

    def _off(self, *names: str) -> bool:
        """Whether one of these flags is disabled; not every version has all."""
        bits = (getattr(self.mujoco.mjtDisableBit, f"mjDSBL_{x}", 0) for x in names)
        return any(int(bit) & self.model.opt.disableflags for bit in bits)

    def _body(self, b: int, link: str, place: Frame) -> tuple[str, Frame]:
        """A body's joints and mass; returns its link and the body's frame on it."""
        m = self.model
        place = compose(place, _frame(m.body_pos[b], m.body_quat[b]))
        name = m.body(b).name or f"body{b}"
        first, count = int(m.body_jntadr[b]), int(m.body_jntnum[b])
        if first in self._shafts:
            if m.body_weldid[m.body_parentid[b]] == 0:
                return link, place
            count = 0
        for j in range(first, first + count):
            inner = self.draft.link(name if j == first + count - 1 else f"{name}_{j - first + 1}")
            self._joint(j, (link, inner), place)
            link, place = inner, translation(*(-m.jnt_pos[j]).tolist())
        if not count:
            inner = self.draft.link(name)
            self.draft.joint(f"{inner}_fixed", (link, inner), place)
            link, place = inner, Frame()
        T = compose(place, _frame(m.body_ipos[b], m.body_iquat[b]))
        self.draft.weigh(link, float(m.body_mass[b]), np.zeros(3), np.diag(m.body_inertia[b]), T)
        return link, place

    def _joint(self, j: int, ends: tuple[str, str], place: Frame) -> None:
        m, kinds = self.model, self.mujoco.mjtJoint
        k, kind = int(m.jnt_dofadr[j]), kinds(int(m.jnt_type[j]))
        if kind not in (kinds.mjJNT_HINGE, kinds.mjJNT_SLIDE):
            word = "free" if kind == kinds.mjJNT_FREE else "ball"
            raise NotRepresentableError(
                f"not representable: {self._words(j)} is {word}, expected hinge or slide",
                "keep what moves as hinge and slide joints on a fixed base",
            )
        leader, factor, start = self.ties.get(j, (-1, 0.0, 0.0))
        start += self._zero(j) - (factor * self._zero(leader) if leader >= 0 else 0.0)
        limited = m.jnt_limited[j] and not self._off("LIMIT", "CONSTRAINT")
        self.names[j] = self.draft.joint(
            m.joint(j).name or f"{ends[1]}_joint",
            ends,
            compose(place, translation(*m.jnt_pos[j].tolist())),
            "revolute" if kind == kinds.mjJNT_HINGE else "prismatic",
            m.jnt_axis[j],
            index=k,
            limit=limits(*m.jnt_range[j]) if limited else None,
            mimic=(m.joint(leader).name, factor, start) if leader >= 0 else None,
            offset=-self._zero(j),
            friction=Friction(**self._friction(j)),
            **self._drive(j),
        )

    def _friction(self, j: int) -> dict[str, Any]:
        m, k = self.model, int(self.model.jnt_dofadr[j])
        coulomb = 0.0 if self._off("FRICTIONLOSS", "CONSTRAINT") else m.dof_frictionloss[k]
        damping = m.dof_damping[k] + self._motors(j)[1]
        viscous = 0.0 if self._off("DAMPER", "PASSIVE") else damping
        return {"viscous": float(viscous), "coulomb": float(coulomb)}

    def _drive(self, j: int) -> dict[str, Any]:
        """Drive and effort limit; of an elastic joint those of its rotor."""
        m, gear = self.model, self._gears.get(j)
        motor = j if gear is None else gear.motor
        most = np.abs(m.jnt_actfrcrange[motor]).min() if m.jnt_actfrclimited[motor] else None
        if gear is None:
            limit = None if most is None else float(most)
            return {"drive": reflected(self._armature(j)), "effort_limit": limit}
        damping = 0.0 if self._off("DAMPER", "PASSIVE") else gear.damping
        inertia = rotor_inertia(self.mujoco, m, motor) + self._armature(motor)
        own: dict[str, Any] = {x: getattr(gear, x) for x in TendonGear._fields[2:]}
        own |= {**self._friction(motor), "damping": damping, "rotor_inertia": inertia}
        drive = Drive(**own)
        return {"drive": drive, "effort_limit": None if most is None else most * abs(gear.gear)}

    def _zero(self, j: int) -> float:
        """The joint's position where its body stands as written (`ref`)."""
        return float(self.model.qpos0[self.model.jnt_qposadr[j]])

    def _words(self, j: int) -> str:
        m = self.model
        body = int(m.jnt_bodyid[j])
        named = f"joint {m.joint(j).name!r}" if m.joint(j).name else "the unnamed joint"
        return f"{named} of body {m.body(body).name or f'body{body}'!r}"

    def _motors(self, j: int) -> tuple[float, float]:
        """Inertia and damping at the joint of what drives it, in versions where actuators have."""
        m, found = self.model, np.zeros(2)
        for i in np.flatnonzero(_has(m, "actuator", "armature", "damping")):
            if m.actuator_trntype[i] in self._direct and m.actuator_trnid[i, 0] == j:
                rows = (m.actuator_armature[i], m.actuator_damping[i])
                found += m.actuator_gear[i, 0] ** 2 * np.array(rows)
        return float(found[0]), float(found[1])

    @property
    def _direct(self) -> tuple[int, int]:
        kinds = self.mujoco.mjtTrn
        return int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)

    def _tool(self) -> str | None:
        """The site this package wrote as the tool."""
        m = self.model
        i = self.mujoco.mj_name2id(m, self.mujoco.mjtObj.mjOBJ_TEXT, TOOL)
        if i < 0:
            return None
        first, size = int(m.text_adr[i]), int(m.text_size[i])
        written = m.text_data[first : first + size].rstrip(b"\0").decode(errors="replace")
        return written if written in self.draft.links else None

    def _equalities(self) -> Iterator[tuple[int, Tie]]:
        """Joints tied to others, relative to their zeros; what is no such tie is refused."""
        m, kinds = self.model, self.mujoco.mjtEq
        tied: set[int] = set()
        for i in range(0 if self._off("EQUALITY", "CONSTRAINT") else m.neq):
            kind = kinds(int(m.eq_type[i]))
            one, two = int(m.eq_obj1id[i]), int(m.eq_obj2id[i])
            if i in self._held or not m.eq_active0[i]:
                continue
            if kind != kinds.mjEQ_JOINT and self._rigid(i, one, two):
                continue
            word = kind.name.removeprefix("mjEQ_").lower()
            what = f"the equality {m.eq(i).name or i!r} ({word})"
            start, factor, *rest = m.eq_data[i, :5].tolist()
            if kind != kinds.mjEQ_JOINT or any(rest):
                linear = "is not linear"
                why = linear if kind == kinds.mjEQ_JOINT else "is no joint, connect or weld"
                raise NotRepresentableError(
                    f"not representable: {what} {why}",
                    "connect, weld, and joint equalities with polycoef='a b 0 0 0' are held; "
                    "deactivate others",
                )
            if one in tied and factor and two >= 0:
                one, two, start, factor = two, one, -start / factor, 1.0 / factor
            if one in tied:
                raise NotRepresentableError(
                    f"not representable: {what} ties {self._words(one)} a second time"
                )
            tied.add(one)
            yield one, (two, factor, start) if two >= 0 and factor else (-1, 0.0, start)

    def _rigid(self, i: int, one: int, two: int) -> bool:
        """Whether an equality is between bodies, or their sites, that never move apart."""
        m, kinds = self.model, self.mujoco.mjtObj
        on = {int(kinds.mjOBJ_BODY): np.arange(m.nbody), int(kinds.mjOBJ_SITE): m.site_bodyid}
        bodies = on.get(int(m.eq_objtype[i]))
        return bodies is not None and m.body_weldid[bodies[one]] == m.body_weldid[bodies[two]]

    def _others(self) -> Iterator[str]:
        """What else makes another machine of it, in words."""
        m = self.model
        if m.opt.density or m.opt.viscosity:
            fluid = f"density {m.opt.density:g}, viscosity {m.opt.viscosity:g}"
            yield f"a fluid drags at its bodies ({fluid})"
        if getattr(m, "nflex", 0):
            yield "it has soft bodies (flex)"
        for b in np.flatnonzero(m.body_plugin >= 0):
            yield f"a plugin acts on body {m.body(b).name!r}"
        for b in {int(m.body_rootid[b]) for b in m.dof_bodyid}:
            if m.body_mocapid[b] >= 0:
                yield f"body {m.body(b).name!r} is moved by motion capture and carries joints"
        for k in np.flatnonzero(_has(m, "dof", "dampingpoly")):
            yield f"{self._words(m.dof_jntid[k])} has damping that is not proportional to velocity"
        for i in np.flatnonzero(_has(m, "tendon", *ACTING)):
            if int(i) not in {*self._tendons, *(gear.tendon for gear in self._gears.values())}:
                name = m.tendon(i).name
                yield f"tendon {name!r} acts, and is no spring with a rest length between two sites"
        for i in np.flatnonzero(_has(m, "actuator", "armature", "damping", "dampingpoly")):
            if m.actuator_trntype[i] not in self._direct or m.actuator_dampingpoly[i].any():
                name = m.actuator(i).name
                yield f"actuator {name!r} has inertia or damping other than of one joint"

    def _left_out(self) -> list[str]:
        m = self.model
        springs = np.any(_has(m, "jnt", "stiffnesspoly"))
        touching = m.ngeom and np.any(m.geom_contype | m.geom_conaffinity)
        uneven = np.any(m.jnt_actfrclimited & (m.jnt_actfrcrange.sum(axis=1) != 0))
        shafts = list(self._shafts)
        found = {
            IN_THE_GAP: any(gear.backlash and gear.damping for gear in self._gears.values()),
            "limits of motors behind elastic gears": shafts and np.any(m.jnt_limited[shafts]),
            "springs that are not linear": springs and not self._off("SPRING", "PASSIVE"),
            "actuators": m.nu,
            "effort limits that differ by direction (the smaller one is taken)": uneven,
            "limits of tendons": np.any(m.tendon_limited),
            "gravity compensation of bodies": np.any(m.body_gravcomp),
            "motion capture (its bodies stand still)": m.nmocap,
            "contacts": touching and not self._off("CONTACT"),
        }
        return [word for word, there in found.items() if there]


def _resolved(ties: Mapping[int, Tie], words: Callable[[int], str]) -> dict[int, Tie]:
    """Every tied joint by the free one at the end of its ties; -1 where that one is held."""
    found = {}
    for joint in ties:
        at, factor, start, seen = joint, 1.0, 0.0, set()
        while at in ties:
            if at in seen:
                raise NotRepresentableError(
                    f"not representable: the equalities of {words(joint)} form a loop"
                )
            seen.add(at)
            at, a, b = ties[at]
            factor, start = factor * a, start + factor * b
        found[joint] = (at, factor, start)
    return found


def _has(model: Any, what: str, *fields: str) -> np.ndarray:
    """Which rows of a kind have one of these numbers, in versions that have the field."""
    rows = [np.asarray(getattr(model, f"{what}_{x}", ())) for x in fields]
    return np.logical_or.reduce([row.reshape(len(row), -1).any(axis=1) for row in rows if len(row)])


def _frame(p: np.ndarray, wxyz: np.ndarray) -> Frame:
    w, x, y, z = wxyz.tolist()
    if not (np.isfinite(p).all() and abs(np.linalg.norm(wxyz) - 1.0) < 1e-3):
        raise NotRepresentableError(
            f"a frame has pos {p.tolist()} and quat {wxyz.tolist()}, expected finite numbers"
            " and length 1"
        )
    return Frame(rotation_from_quaternion((x, y, z, w)), tuple(p.tolist()))
