"""Kinematics of a Robot."""

from typing import Any

import numpy as np

from ..arguments import choice
from ..errors import OptionError, did_you_mean, shown
from ..spatial.frames import Frame, compose
from .calls import Calls, fast

FRAMES = ("base", "tool")


class KinematicMethods(Calls):
    """Where the links are and how the tool moves."""

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

    def _seen_from(self, frame: str, link: str | None) -> dict[str, Any]:
        """Options of a Jacobian kernel; none for the default one."""
        choice(frame, "frame", FRAMES)
        if frame == "base" and link is None:
            return {}
        index, offset = self._place(link)
        return {"frame": frame, "link": index, "offset": offset}

    def _place(self, link: str | None) -> tuple[int | None, Frame | None]:
        """Tree index and offset of a named frame; None is the tool."""
        if link is None:
            return None, None
        model, c = self.model, self.chain
        names = [*model.link_names, *(f.name for f in model.frames), model.base_name]
        if not isinstance(link, str):
            raise OptionError(
                f"robot {model.name!r} has no link {shown(link)}", did_you_mean(link, names)
            )
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
        raise OptionError(
            f"robot {model.name!r} has no link {shown(link)}", did_you_mean(link, names)
        )
