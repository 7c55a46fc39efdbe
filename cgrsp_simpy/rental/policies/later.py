"""Postponement of loose jobs while the market is scarce, for any policy.

An hour is scarce if its mean provisioning delay over the available types is above the
day's mean (thesis Eq. 3.1 and 3.2). In scarce hours the policy sees only tight jobs,
and loose jobs that would be late if they started when the scarcity ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import Suspend, Wake, chosen
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.view import Assignment, OperatorKnowledge, Policy, View

AFTER_S = 1e-6  # after the change of an hour, in spite of rounding
TOLERANCE = 1e-9  # relative, of a mean delay


@dataclass(eq=False)
class LooseLater:
    """A policy from which loose jobs are hidden while the market is scarce.

    policy: as in `make_policy`; it must not suspend jobs. The name becomes, for
    example, "edf-later".
    """

    policy: str
    name: str = field(init=False)
    _policy: Policy | None = field(init=False, default=None, repr=False)
    _spans: list[tuple[float, float]] = field(
        init=False, default_factory=list, repr=False
    )

    def __post_init__(self) -> None:
        self.name = f"{self.policy}-later"

    def __call__(self, view: View) -> Iterator[Assignment | Wake | Suspend]:
        """Yield the policy's decisions, and a Wake for when hidden jobs may start."""
        if self._policy is None:
            self._policy = chosen("policy", self.policy, POLICIES)
            self._spans = scarce_spans(view.known)
        hour = view.known.market.clock.hour(view.now_s)
        left_h = [
            end - at
            for first, end in self._spans
            for at in (hour, hour + 24)
            if first <= at < end
        ]
        if not left_h:
            yield from self._policy(view) or ()
            return
        end_s = view.now_s + 3600 * left_h[0] + AFTER_S
        fastest_s = view.known.fastest_s

        def shown(job: Job) -> bool:
            done_s = end_s + fastest_s[job.complexity - 1]
            return job.tight or done_s > job.deadline_s

        seen = view.filtered(shown)
        kept = view.waiting - seen.waiting
        yield from (self._policy(seen) or ()) if seen.waiting else ()
        if kept:
            yield Wake(end_s)


def scarce_spans(known: OperatorKnowledge) -> list[tuple[float, float]]:
    """Return the scarce periods of the market, as (start, end) in hours of day.

    An end after midnight is above 24. Empty if all hours are equally scarce.
    """
    market = known.market
    delays_s = [(least + most) / 2 for least, most in market.delay_s]
    parts = list(pairwise([*market.change_hours, 24.0]))
    means_s = []
    for first, end in parts:
        at_s = 3600 * (((first + end) / 2 - market.clock.start_h) % 24)
        chances = [market.probabilities(gpu, at_s) for gpu in known.types]
        total_s = summed(p * d for row in chances for p, d in zip(row, delays_s))
        means_s.append(total_s / len(chances))
    mean_s = (
        summed((end - at) * delay_s for (at, end), delay_s in zip(parts, means_s)) / 24
    )
    spans: list[tuple[float, float]] = []
    for (first, end), delay_s in zip(parts, means_s):
        if delay_s <= mean_s * (1 + TOLERANCE):
            continue
        if spans and spans[-1][1] == first:
            spans[-1] = spans[-1][0], end
        else:
            spans.append((first, end))
    if spans and spans[0][0] == 0 and spans[-1][1] == 24:
        spans[-1] = spans[-1][0], 24 + spans.pop(0)[1]
    return spans
