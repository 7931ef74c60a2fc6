"""A compiled MuJoCo model as our robot: its includes, geoms and defaults are resolved already."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments import checked
from ..model.friction import Friction
from ..packages import package
from ..robot import Robot
from ..spatial.frames import Frame, compose, translation
from ..spatial.rotations import rotation_from_quaternion
from .lost import say
from .rigid_tree import NotRepresentableError
from .sketches import Draft, limits, reflected


@checked
def from_mujoco(model: Any, tip: str | None = None) -> Robot:
    """The robot of a `mujoco.MjModel`: a tree of hinges and slides; `tip` as in `from_mjcf`."""
    mujoco = package("mujoco", "mujoco", "from_mujoco", "peers")
    if not isinstance(model, mujoco.MjModel):
        raise NotRepresentableError(
            f"{type(model).__name__} was given, expected a mujoco.MjModel",
            "text and files go into from_mjcf",
        )
    for what, count in (("equality", model.neq), ("tendon", model.ntendon)):
        if count:
            raise NotRepresentableError(f"not representable: the model has {count} {what}(s)")
    draft, places = Draft(root="world"), {0: ("world", Frame())}
    for b in range(1, model.nbody):
        places[b] = _body(model, b, draft, places)
    for i in range(model.nsite):
        link, place = places[int(model.site_bodyid[i])]
        child = draft.link(model.site(i).name or f"site{i}")
        here = compose(place, _frame(model.site_pos[i], model.site_quat[i]))
        draft.joint(f"{child}_fixed", (link, child), here)
    say("MuJoCo", _name(model), _lost(model))
    return Robot(draft.model(_name(model), tip, gravity=tuple(map(float, model.opt.gravity))))


def _body(model: Any, b: int, draft: Draft, places: dict) -> tuple[str, Frame]:
    """A body's joints and mass; returns its link and the body's frame on it."""
    link, place = places[int(model.body_parentid[b])]
    place = compose(place, _frame(model.body_pos[b], model.body_quat[b]))
    name = model.body(b).name or f"body{b}"
    first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
    for j in range(first, first + count):
        inner = draft.link(name if j == first + count - 1 else f"{name}_{j - first + 1}")
        _joint(model, j, draft, (link, inner), place)
        link, place = inner, translation(*(-model.jnt_pos[j]).tolist())
    if not count:
        inner = draft.link(name)
        draft.joint(f"{inner}_fixed", (link, inner), place)
        link, place = inner, Frame()
    T = compose(place, _frame(model.body_ipos[b], model.body_iquat[b]))
    I = np.diag(model.body_inertia[b])
    draft.weigh(link, float(model.body_mass[b]), np.zeros(3), I, T)
    return link, place


def _joint(model: Any, j: int, draft: Draft, ends: tuple[str, str], place: Frame) -> None:
    mujoco = package("mujoco", "mujoco", "from_mujoco", "peers")
    kinds = {mujoco.mjtJoint.mjJNT_HINGE: "revolute", mujoco.mjtJoint.mjJNT_SLIDE: "prismatic"}
    kind = kinds.get(mujoco.mjtJoint(int(model.jnt_type[j])))
    name = model.joint(j).name or f"{ends[1]}_joint"
    if kind is None:
        raise NotRepresentableError(
            f"not representable: joint {name!r} is free or ball, expected hinge or slide"
        )
    k = int(model.jnt_dofadr[j])
    low, high = model.jnt_range[j]
    most = model.jnt_actfrcrange[j] if model.jnt_actfrclimited[j] else None
    viscous = float(np.atleast_1d(model.dof_damping[k])[0])
    draft.joint(
        name,
        ends,
        compose(place, translation(*model.jnt_pos[j].tolist())),
        kind,
        model.jnt_axis[j],
        index=k,
        limit=limits(low, high) if model.jnt_limited[j] else None,
        offset=-float(model.qpos0[model.jnt_qposadr[j]]),
        friction=Friction(viscous=viscous, coulomb=float(model.dof_frictionloss[k])),
        drive=reflected(model.dof_armature[k]),
        effort_limit=None if most is None else float(np.abs(most).min()),
    )


def _lost(model: Any) -> Iterator[str]:
    if np.any(model.jnt_stiffness):
        yield "joint springs"
    if model.nu:
        yield "actuators"
    if np.any(model.body_gravcomp):
        yield "gravity compensation of bodies"
    if model.ngeom and np.any(model.geom_contype | model.geom_conaffinity):
        yield "contacts"


def _name(model: Any) -> str:
    """The first of the model's names, which is its own."""
    return model.names.split(b"\0")[0].decode() or "robot"


def _frame(p: np.ndarray, wxyz: np.ndarray) -> Frame:
    w, x, y, z = wxyz.tolist()
    return Frame(rotation_from_quaternion((x, y, z, w)), tuple(p.tolist()))
