"""Radii of elements with memory: those that help, by what is left on blocks left out in turn."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..friction.models import RADII
from ..left_out import Score

MOST_ELEMENTS = 3  # with memory, of a joint

ScoreOf = Callable[[tuple[float, ...]], Score | None]  # of elements of some radii
Elements = tuple[Score, tuple[float, ...]]


def best_radii(
    score_of: ScoreOf, without: Score, asked: bool, tell: Callable[[str], None]
) -> Elements:
    """Radii of the elements that help, and the score with them; none: that `without`.

    They help where less is left surely, joint by joint: it is little torque. One is added after
    the other, then those without which as little is left are taken away, then each moves to the
    next radius as long as less of the torque as logged is left, as a filter hides small radii, and
    it helps there too.
    """
    best, radii = without, ()
    while len(radii) < MOST_ELEMENTS:
        tell(f"friction with memory, radius {len(radii) + 1}")
        sets = ((*radii, r) for r in RADII if r not in radii)
        more = _best_of(sets, score_of, without)
        if not (more[0].surely_better_by_joint(best) or (asked and not radii)):
            break
        best, radii = more
    best, radii = fewest(score_of, without, best, radii)
    while radii:
        scored = [(x, y) for y in _moved(radii) if (x := score_of(y)) is not None]
        beside = [x for x in scored if asked or x[0].surely_better_by_joint(without)]
        moved = min(beside, key=lambda x: x[0].joint, default=(best, radii))
        if not moved[0].joint < best.joint:
            break
        best, radii = moved
    return fewest(score_of, without, best, radii)


def fewest(score_of: ScoreOf, without: Score, best: Score, radii: tuple[float, ...]) -> Elements:
    """Without elements that leave as little when they are taken away."""
    while len(radii) > 1:
        sets = (tuple(x for x in radii if x != r) for r in radii)
        fewer = _best_of(sets, score_of, without)
        if best.surely_better_by_joint(fewer[0]):
            break
        best, radii = fewer
    return best, radii


def _best_of(sets: Iterable[tuple[float, ...]], score_of: ScoreOf, without: Score) -> Elements:
    """The radii with which the least is left, joint by joint."""
    scored = [(x, radii) for radii in sets if (x := score_of(radii)) is not None]
    return max(scored, key=lambda x: float(x[0].by_joint(without).mean()))


def _moved(radii: Sequence[float]) -> Iterator[tuple[float, ...]]:
    """Some of RADII with one moved to the next smaller or larger of them."""
    for k, r in enumerate(radii):
        at = RADII.index(r)
        for other in RADII[max(at - 1, 0) : at + 2]:
            if other not in radii:
                yield (*radii[:k], other, *radii[k + 1 :])
