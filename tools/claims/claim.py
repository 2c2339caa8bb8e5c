"""A claim of a paper beside what the simulator says, and the verdict: what docs/generated/reproduction.md is made of."""
from typing import NamedTuple

REPRODUCED, DIRECTION, NOT_REPRODUCED, IMPOSSIBLE = "reproduced", "same direction", "not reproduced", "impossible under the paper's own model"
UNJUDGED = "cannot be judged"
VERDICTS = (REPRODUCED, DIRECTION, NOT_REPRODUCED, IMPOSSIBLE, UNJUDGED)


class Claim(NamedTuple):
    """One row of the page."""
    where: str  # in the paper
    text: str  # what is claimed
    paper: str  # as printed
    ours: str
    difference: str
    verdict: str
    why: str  # "" where the verdict needs no words


def percent(value, digits=1):
    return f"{100 * value:.{digits}f} %"


def relative(difference):
    """A relative difference in whole per cent, never -0."""
    return f"{round(100 * difference):+d} %"


def times(value):
    return f"{value:.2f}x"


def compared(where, text, paper, ours, why="", *, form=times, within=0.1, neutral=1.0):
    """A number against a number: reproduced within that relative difference; in the same direction where both lie on the same side of
    `neutral` (None: there is no direction)."""
    difference = ours / paper - 1
    same_side = neutral is not None and (paper - neutral) * (ours - neutral) > 0
    verdict = REPRODUCED if abs(difference) <= within and (same_side or neutral is None) else DIRECTION if same_side else NOT_REPRODUCED
    return Claim(where, text, form(paper), form(ours), relative(difference), verdict, why)


def ranged(where, text, paper, ours, why="", *, within=0.1):
    """A range of gains against a range, as ratios of times (1.11 is 11 % ahead): reproduced where ours is ahead everywhere by half a per cent and both ends
    are within that relative difference; in the same direction where ours is nowhere behind by half a per cent and somewhere ahead by more than that."""
    ends = [mine / printed - 1 for mine, printed in zip(ours, paper)]
    ahead = min(ours) > 0.995 and max(ours) > 1.005
    verdict = REPRODUCED if min(ours) > 1.005 and max(map(abs, ends)) <= within else DIRECTION if ahead else NOT_REPRODUCED
    return Claim(where, text, gains(paper), gains(ours), " and ".join(map(relative, ends)), verdict, why)


def gains(ends):
    """A range of ratios as per cent ahead."""
    low, high = (round(100 * (ratio - 1)) for ratio in ends)
    return f"{low}-{high} %" if low >= 0 else f"{low} to {high} %"


def held(where, text, paper, ours, true, why=""):
    """A statement that is true or false in our numbers."""
    return Claim(where, text, paper, ours, "", REPRODUCED if true else NOT_REPRODUCED, why)


def impossible(where, text, paper, ours, why):
    return Claim(where, text, paper, ours, "", IMPOSSIBLE, why)


def unjudged(where, text, paper, why, ours="–"):
    return Claim(where, text, paper, ours, "", UNJUDGED, why)
