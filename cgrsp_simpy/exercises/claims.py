"""Sentences of a text that stand or fall with what the code beside them finds."""

from __future__ import annotations

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.model.checks import require


class ClaimError(AssertionError):
    """A sentence says what was not found."""


def claim(
    sentence: str,
    found: Mean | float,
    *,
    above: float | None = None,
    below: float | None = None,
    equal: float | None = None,
) -> str:
    """Check a sentence against what was found, so that a text cannot say what its code denies.

    Of a mean the whole interval must lie within the bounds: an interval that reaches 0 is above
    nothing. "No difference" is a claim with two bounds, the least difference that would matter.

    sentence: as it stands in the text. found: with its interval, or a number that has none, such as
    a count, or True and False. above, below: what is claimed, both excluded; in the unit of
    `found`. equal: the number itself, in place of bounds. Result: a line to print: the sentence,
    what was found and what was claimed of it. Raises ClaimError where it is not so; NaN is never
    so; InputError for a sentence without a claim.
    """
    claimed = {"above": above, "below": below, "equal": equal}
    said = [f"{word} {bound:g}" for word, bound in claimed.items() if bound is not None]
    require(bool(said), "claim", sentence, "given with above, below or equal")
    low, high = (found.low, found.high) if isinstance(found, Mean) else (found, found)
    whole = isinstance(found, bool)  # yes or no: no number to show
    line = sentence if whole else f"{sentence} ({_shown(found)}: {', '.join(said)})"
    if not (
        (above is None or low > above)
        and (below is None or high < below)
        and (equal is None or low == equal == high)
    ):
        raise ClaimError(f"not so: {line}")
    return f"so: {line}"


def _shown(found: Mean | float) -> str:
    if isinstance(found, Mean):
        return f"{found.mean:.3g} ± {found.half_width:.2g}"
    return f"{found:.4g}"
