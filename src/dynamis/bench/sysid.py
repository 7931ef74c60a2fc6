"""MuJoCo's system identification (`mujoco.sysid`) on the torques of a log.

Its own residual rolls a model out in time and compares positions, and an arm that recorded torques
drive without feedback drifts away from its recording. So its optimiser and its parameters get a
residual of inverse dynamics: torques of `mj_inverse` beside the logged ones, on some rows of the
filtered motion. Unknown are the bodies (its log-Cholesky factors of the pseudo-inertia, always
physical), damping, friction loss, armature where rotors are sought, and a bias of each torque.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from ..errors import DynamisWarning, MissingPackageError, OptionError
from ..identify.processing import Samples
from ..interop.mjcf import to_mjcf
from ..lazy import install_command, package
from ..robot import Robot

WHAT = "MuJoCo's system identification"
FRICTION = "viscous, Coulomb, bias"
ROWS = 400  # of all motions that a residual looks at
ITERATIONS = 40
RADIUS = 0.05  # m: of the sphere that lends second moments to a body without them
THIN = 0.01  # of those: what counts as none
WIDE = {  # bounds of a body next to its description, wider than the toolbox's own
    "mass_bound_mult": np.array([0.02, 50.0]),
    "stretch_bound_mult": np.array([0.01, 100.0]),
    "shear_bound_off": np.array([-1.0, 1.0]),
    "ipos_bound_off": np.array([-0.5, 0.5]),
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a library found: the torque of a motion, what was done, whether bodies are physical."""

    torque: Callable[[Samples], np.ndarray]
    note: str
    physical: bool | None = None


def toolbox() -> tuple[Any, Any]:
    """`mujoco` and `mujoco.sysid`, whose import is silent where packages it needs are missing."""
    mujoco = package("mujoco", "mujoco", WHAT, "sysid")
    sysid = import_module("mujoco.sysid") if find_spec("mujoco.sysid") else None
    if not hasattr(sysid, "optimize"):
        raise MissingPackageError(f"{WHAT} is not installed", install_command("sysid"))
    return mujoco, sysid


def fit(robot: Robot, motions: Sequence[Samples], rotors: bool) -> Fitted:
    """Parameters by the toolbox's optimiser from samples of one or more motions."""
    mujoco, sysid = toolbox()
    try:
        return _fit(mujoco, sysid, robot, motions, rotors)
    except (ValueError, mujoco.FatalError) as error:  # what a MuJoCo model cannot be
        raise OptionError(f"MuJoCo: {error}") from None


def _fit(mujoco: Any, sysid: Any, robot: Robot, motions: Sequence[Samples], rotors: bool) -> Fitted:
    spec = _spec(mujoco, robot)
    q, qd, qdd, tau, weight = _thinned(motions)
    size = np.maximum(np.abs(tau).max(axis=0), 1e-9)
    speed = np.maximum(np.sqrt((qd**2).mean(axis=0)), 1e-9)
    if spec.compile().nv != robot.n:
        raise OptionError("MuJoCo: joints that follow others are soft constraints there")
    params = _parameters(sysid, spec, robot.joint_names, size, speed, rotors)
    scale = np.maximum(np.sqrt((tau**2).sum() / 2.0), 1e-300)

    def residual(x: np.ndarray, params: Any) -> tuple[list[np.ndarray], None, None]:
        columns = []
        for one in x.reshape(len(x), -1).T:
            params.update_from_vector(one)
            model = sysid.apply_param_modifiers(params, spec.copy())
            wrong = _torques(mujoco, model, robot.joint_names, q, qd, qdd) + _bias(params) - tau
            columns.append((weight * wrong / scale).ravel())
        return [np.stack(columns, axis=1) if x.ndim > 1 else columns[0]], None, None

    found, _ = sysid.optimize(
        params,
        residual,
        verbose=False,
        x_scale=_sizes(params),
        max_iters=ITERATIONS,
        output=StringIO(),
    )
    model = sysid.apply_param_modifiers(found, spec.copy())
    low, high = found.get_bounds()
    x = found.as_vector()
    near = 1e-3 * (high - low)

    def torque(s: Samples) -> np.ndarray:
        return _torques(mujoco, model, robot.joint_names, s.q, s.qd, s.qdd) + _bias(found)

    edge = int(((x - low < near) | (high - x < near)).sum())
    note = f"inverse dynamics on {len(q)} rows"
    note += f", {edge} of {len(x)} parameters at bounds" if edge else ""
    note += ", without the coupling of its motors" if robot.model.gear_matrix is not None else ""
    return Fitted(torque, note, physical=True)


def uncoupled(robot: Robot) -> Robot:
    """The robot without its drives if motors turn several joints."""
    model = robot.model
    if model.gear_matrix is None:
        return robot
    links = tuple(replace(link, drive=None) for link in model.links)
    return Robot(replace(model, links=links, gear_matrix=None))


def _spec(mujoco: Any, robot: Robot) -> Any:
    """The robot for `mj_inverse`, with bodies inside the cone of physical ones to start from."""
    robot = uncoupled(robot)  # motors that turn several joints have no place in MJCF
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DynamisWarning)  # offsets, velocity limits
        spec = mujoco.MjSpec.from_string(to_mjcf(robot))
    flags = mujoco.mjtDisableBit
    spec.option.disableflags |= int(flags.mjDSBL_LIMIT) | int(flags.mjDSBL_CONTACT)
    for body in spec.bodies[1:]:
        body.mass = max(body.mass, 1e-3)
        least = 0.2 * body.mass * RADIUS**2
        second = 0.5 * body.inertia.sum() - body.inertia  # principal second moments of the mass
        second = np.where(second < THIN * least, least, second)
        body.inertia = second.sum() - second
    return spec


def _thinned(motions: Sequence[Samples]) -> tuple[np.ndarray, ...]:
    """q, qd, qdd, tau and weights of about `ROWS` rows; torques low-passed as for a fit of ours."""
    every = max(1, sum(map(len, motions)) // ROWS)
    parts = []
    for s in motions:
        rows = s.q, s.qd, s.qdd, s.low_passed(s.tau), s.weight
        parts.append([x[::every] for x in rows])
    return tuple(np.concatenate(x) for x in zip(*parts, strict=True))


def _parameters(
    sysid: Any, spec: Any, joints: Sequence[str], size: np.ndarray, speed: np.ndarray, rotors: bool
) -> Any:
    """What is sought: per body, per joint."""
    params, model = sysid.ParameterDict(), spec.compile()
    for body in spec.bodies[1:]:
        params.add(
            sysid.body_inertia_param(
                spec, model, body.name, inertia_type=sysid.InertiaType.Pseudo,
                modifier=_body_of(sysid, body.name), **WIDE,
            )
        )  # fmt: skip
    for i, name in enumerate(joints):
        ranges = {"damping": size[i] / speed[i], "frictionloss": size[i]}
        ranges |= {"armature": 10.0} if rotors else {}
        for field, most in ranges.items():

            def put(spec: Any, param: Any, name: str = name, field: str = field) -> None:
                joint, value = spec.joint(name), float(param.value[0])
                many = np.ndim(getattr(joint, field))  # damping is a polynomial from 4.0 on
                setattr(joint, field, np.array([value, 0.0, 0.0]) if many else value)

            described = float(np.ravel(getattr(spec.joint(name), field))[0])
            start = np.clip(described, 0.01 * most, most)
            params.add(sysid.Parameter(f"{name}.{field}", start, 0.0, most, modifier=put))
    params.add(sysid.Parameter("bias", np.zeros(len(joints)), -size, size))
    return params


def _sizes(params: Any) -> np.ndarray:
    """What is a step of about the same importance for every parameter."""
    body = np.array([1.0] * 4 + [0.1] * 6)  # logarithms, then metres
    return np.concatenate(
        [
            body if hasattr(p, "inertia_type") else 0.1 * (p.max_value - p.min_value)
            for p in params.values()
        ]
    )


def _body_of(sysid: Any, name: str) -> Callable[[Any, Any], None]:
    """Writes a pseudo-inertia into a body; what the toolbox writes MuJoCo 4.0 does not compile."""

    def put(spec: Any, param: Any) -> None:
        m, *rest = sysid.model_modifier.pi_from_theta(param.value)
        com = np.array(rest[:3]) / m
        cross = sysid.model_modifier.skew(com)
        moments, axes = np.linalg.eigh(np.reshape(rest[3:], (3, 3)) + m * cross @ cross)
        axes[:, 2] *= np.linalg.det(axes)  # a rotation
        body = spec.body(name)
        body.mass, body.ipos, body.inertia = m, com, moments
        body.iquat = np.roll(Rotation.from_matrix(axes).as_quat(), 1)  # w first

    return put


def _bias(params: Any) -> np.ndarray:
    return params["bias"].value


def _torques(
    mujoco: Any, model: Any, joints: Sequence[str], q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """qfrc_inverse row by row, (N, n)."""
    data, out = mujoco.MjData(model), np.empty(q.shape)
    at = np.argsort([int(model.joint(name).dofadr[0]) for name in joints])  # in MuJoCo's order
    views, force = (data.qpos, data.qvel, data.qacc), data.qfrc_inverse
    for i, state in enumerate(zip(q[:, at], qd[:, at], qdd[:, at], strict=True)):
        for view, values in zip(views, state, strict=True):
            view[:] = values
        mujoco.mj_inverse(model, data)
        out[i] = force
    return out[:, np.argsort(at)]
