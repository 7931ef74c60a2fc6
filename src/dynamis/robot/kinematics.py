"""Kinematics of a Robot."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError, did_you_mean
from ..spatial.frames import Frame, compose
from .calls import Calls, checked, fast

if TYPE_CHECKING:
    from ..ik.solutions import Solutions

FRAMES = ("base", "tool")


class KinematicMethods(Calls):
    """Where the links are, how the tool moves, and the way back."""

    @fast
    def fk(self, q: Any, link: str | None = None, **options: Any) -> np.ndarray:
        """Pose of the tool (or of a named link) in the reference frame, (..., 4, 4)."""
        index, offset = self._place(link)
        if index is None:
            return self._call("fk", {"q": q}, options)
        return self._call("link_pose", {"q": q}, options, link=index, offset=offset)

    @fast
    def frames(self, q: Any, **options: Any) -> np.ndarray:
        """Base and link frames in the user's own frames (DH or URDF), (..., links + 1, 4, 4)."""
        return self._call("frames", {"q": q}, options)

    @fast
    def jacobian(
        self, q: Any, frame: str = "base", link: str | None = None, **options: Any
    ) -> np.ndarray:
        """J: (v, w) = J qd, linear rows first, in base or tool axes, (..., 6, n)."""
        return self._call("jacobian", {"q": q}, options, **self._seen_from(frame, link))

    @fast
    def jacobian_dot(
        self, q: Any, qd: Any, frame: str = "base", link: str | None = None, **options: Any
    ) -> np.ndarray:
        """dJ/dt along qd, (..., 6, n)."""
        arguments = {"q": q, "qd": qd}
        return self._call("jacobian_dot", arguments, options, **self._seen_from(frame, link))

    def manipulability(self, q: Any, task: Any = None) -> np.ndarray:
        """Yoshikawa's measure sqrt(det(J J^T)) of the task's rows, (...,)."""
        from ..ik.task import task_mask

        J = self.jacobian(q)[..., task_mask(self, task), :]
        if J.shape[-2] > self.n:
            J = np.swapaxes(J, -1, -2)
        with np.errstate(invalid="ignore"):
            return np.sqrt(np.maximum(np.linalg.det(J @ np.swapaxes(J, -1, -2)), 0.0))

    def ik(self, T: Any, task: Any = None, **options: Any) -> "Solutions":
        """Every distinct q found that puts the tool at T: .q (k, n), .residual (k,), .reason.

        `task` is "pose" (default for n >= 6), "position" (default for n < 6) or a mask of six;
        `limits=True` keeps only solutions within the joint limits.
        """
        from ..ik.solve import solve

        return solve(self, T, task, **checked(options, ("limits", "tolerance", "starts", "seed")))

    def _seen_from(self, frame: str, link: str | None) -> dict[str, Any]:
        """Options of a Jacobian kernel; none for the default one."""
        if frame not in FRAMES:
            raise OptionError(
                f"frame is {frame!r}, expected 'base' or 'tool'", did_you_mean(str(frame), FRAMES)
            )
        if frame == "base" and link is None:
            return {}
        index, offset = self._place(link)
        return {"frame": frame, "link": index, "offset": offset}

    def _place(self, link: str | None) -> tuple[int | None, Frame | None]:
        """Tree index and offset of a named frame; None is the tool."""
        if link is None:
            return None, None
        model, c = self.model, self.chain
        if link in model.link_names:
            i = model.link_names.index(link)
            return i, c.bodies[i].user
        if link == model.base_name:
            return -1, c.base
        for frame in model.frames:
            if frame.name == link:
                offset = frame.pose.frame(model.values)
                if frame.link is None:
                    return -1, compose(c.base, offset)
                i = model.link_names.index(frame.link)
                return i, compose(c.bodies[i].user, offset)
        if link == model.tool_name:
            return c.tip, c.tool
        names = [*model.link_names, *(f.name for f in model.frames), model.base_name]
        raise OptionError(f"robot {model.name!r} has no link {link!r}", did_you_mean(link, names))
