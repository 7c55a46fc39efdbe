"""Watch: a slot whose type is observed Low is held until its stock recovers.

If stock persists and can be observed, the expected delay of a dispatch is known. Let
p_k be the probabilities of the statuses at the current hour, D_k their mean delays
(thesis Eq. 3.1 and 3.2), and q_k the probabilities given the last observation, perhaps
in another hour (`outlook.seen_chances`):

    D = sum over k of q_k D_k                                      dispatched now
    H = (R + sum over k but Low of p_k D_k) / (1 - p_Low)          held for now

R / (1 - p_Low) is the mean time until stock is redrawn as other than Low
(`Holding.recovery_s`); with one time scale, R is the persistence tau. A slot is held
while D > H: if it is seen Low, or if it is seen Medium and stock is redrawn often.
The policy decides again after `look_s` seconds, or at the next poll. The laxity of a
job is its deadline - now - least mean execution time over the idle slots. Jobs with a
laxity from 0 to below `urgent_s` are first, by deadline; then the shortest; then jobs
of negative laxity. Each takes the slot of least D + mean execution time. In the
thesis's model, without persistent stock, no slot is held: only the order applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from cgrsp_simpy.base.checks import check_number
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.market.model import LOW
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.outlook import ROUNDING, next_look_s, seen_chances
from cgrsp_simpy.rental.policies.rules import Tier, assign, tiers
from cgrsp_simpy.rental.view import Assignment, SlotView, View


@dataclass(eq=False)
class Watch:
    """Hold a slot whose type is seen Low while that saves delay; urgent jobs first.

    urgent_s: laxity in seconds below which a job goes first. look_s: seconds between
    two observations of a slot that is held. Stock model: thesis Eq. 3.1 and 3.2.
    """

    urgent_s: float = 600.0
    look_s: float = 30.0
    name = "watch"

    def __post_init__(self) -> None:
        check_number("urgent_s", self.urgent_s, least=0)
        check_number("look_s", self.look_s, above=0)
        self._order = urgent_first.with_parameters(urgent_s=self.urgent_s)

    def __call__(self, view: View) -> list[Assignment | Wake]:
        return self.explained(view, {})

    def explained(self, view: View, reasons: dict[int, str]) -> list[Assignment | Wake]:
        """Return the assignments, and a Wake if slots are held.

        The reason of each assignment is added to `reasons`.
        """
        answer: list[Assignment | Wake] = []
        offers = view.offers()
        delay_s = {slot.gpu.name: expected_s(view, slot) for slot in offers}
        for job in self._order(view):
            slots: list[SlotView] = []
            while len(slots) < job.gpus:
                best = soonest(view, job, offers, delay_s)
                if best is None:
                    break
                slots.append(best)
                offers = view.offers_after(offers, best)
            if len(slots) == job.gpus:  # if not, only held slots are left
                answer.append(assign(job, slots))
                gpu = slots[0].gpu.name
                soon_s = delay_s[gpu] + view.mean_s(job, slots[0])
                reasons[job.id] = f"ends first on {gpu}, in {soon_s:.0f} s"
        if view.waiting > len(answer) and inf in delay_s.values():
            look_s = next_look_s(view.known.market, view.now_s)
            answer.append(Wake(view.now_s + max(self.look_s, look_s)))
        return answer


@tiers
def urgent_first(
    now_s: float, fastest_idle_s: float, urgent_s: float = 600.0
) -> tuple[Tier, ...]:
    """Jobs of little laxity by deadline, then the shortest, then doomed ones."""
    e, soon_s = fastest_idle_s, now_s + urgent_s
    return (now_s + e, 2, e), (soon_s + e, 0, 0.0), (inf, 1, e)


def soonest(
    view: View,
    job: Job,
    offers: Sequence[SlotView],
    delay_s: dict[str, float],
) -> SlotView | None:
    """Return the slot with the earliest expected end of a job; None if all are held."""

    def end_s(slot: SlotView) -> float:
        return delay_s[slot.gpu.name] + view.mean_s(job, slot)

    best = min(offers, key=end_s, default=None)
    return best if best is not None and end_s(best) < inf else None


def expected_s(view: View, slot: SlotView) -> float:
    """Return D, the expected delay of a dispatch in s; inf if the slot is held."""
    market, seen_s = view.known.market, view.seen_s(slot)
    chances = market.probabilities(slot.gpu, view.now_s)
    delays_s = [(least + most) / 2 for least, most in market.delay_s]
    expected_s = summed(chance * delay_s for chance, delay_s in zip(chances, delays_s))
    holding = market.holding(slot.gpu.name)
    if seen_s is None or not holding.persistence_s:
        return expected_s
    seen = seen_chances(market, slot.gpu, view.now_s, seen_s, view.status(slot))
    now_s = summed(chance * delay_s for chance, delay_s in zip(seen, delays_s))
    recovers = 1 - chances[LOW]
    if recovers <= ROUNDING:
        return now_s
    recovery_s = holding.recovery_s(chances[LOW])
    held_s = (recovery_s + expected_s - chances[LOW] * delays_s[LOW]) / recovers
    return inf if now_s > held_s else now_s
