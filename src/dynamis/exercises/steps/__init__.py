"""Steps from the given numbers to the answers, over symbols; derived by the package with SymPy."""

from collections.abc import Callable, Mapping
from functools import cache

from ..question import Step
from ..questions import QUESTIONS
from . import frames, motion, planar, spatial

# the function of a question's name, in the module of the same name
STEPS: Mapping[str, Callable[[], list[Step]]] = {
    name: getattr(
        {"planar": planar, "frames": frames, "spatial": spatial, "motion": motion}[
            made.__module__.rpartition(".")[2]
        ],
        made.__name__,
    )
    for name, made in QUESTIONS.items()
}


@cache
def steps_of(name: str) -> tuple[Step, ...]:
    """The steps of a question over symbols; those of the answers carry their names."""
    return tuple(STEPS[name]())
