"""Reasons for decisions: the stock over time, and the rules' ranks per decision."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.timeline import Bands, Choice, Reasons
from cgrsp_simpy.market.gpu import GpuType
from cgrsp_simpy.market.law import LOW, Market
from cgrsp_simpy.market.stock import DAY_S, Stock, law_changes_s
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.policies.rules import (
    Index,
    ListPolicy,
    Rule,
    Score,
    Tiers,
    by_submission,
    sentence,
)
from cgrsp_simpy.rental.policies.triage import Triage
from cgrsp_simpy.rental.view import Assignment, SlotView, View

RANKED = 5  # waiting jobs listed per decision
ROUNDING = 1e-9  # of chances


def reasons(scenario: Any, rule: Any, seed: int) -> Reasons | None:
    """Repeat a run and return its rules' reasons; None if they cannot be described."""
    if not is_traceable(rule):
        return None
    run = scenario.subject(scenario).simulation(TracingPolicy(rule), seed)
    run.finish()
    return cast(TracingPolicy, run.policy).reasons


def is_traceable(rule: Any) -> bool:
    """Whether the reasons of a policy can be described."""
    plain = type(rule) is ListPolicy and isinstance(rule.reserve, Rule | None)
    return plain and (
        isinstance(rule.order, Tiers | Index) or rule.order is by_submission
    )


def explained(policy: Any, view: View) -> tuple[Any, dict[int, str]]:
    """Return a policy's decision and the reasons by job, empty for your own policy."""
    reasons: dict[int, str] = {}
    if type(policy) is Triage:
        return policy.explained(view, reasons), reasons
    if not is_traceable(policy):
        return policy(view), reasons
    tracing = TracingPolicy(policy)
    answer = tracing(view)
    [choice] = tracing.reasons.choices
    ranks, order = dict(choice.ranked), tracing.reasons.order
    for job, _ in answer:
        offers = choice.offers.get(job.id, ())[:1]
        reasons[job.id] = ", ".join([ranks.get(job.id) or order.lower(), *offers])
    return answer, reasons


class TracingPolicy(ListPolicy):
    """A list policy with unchanged decisions that records its rules' reasons."""

    def __init__(self, policy: ListPolicy) -> None:
        super().__init__(policy.order, self._told, policy.name, policy.reserve)
        self._rule, self._offers = policy.place, dict[int, list[str]]()
        self.reasons = Reasons(sentence(policy.order), sentence(policy.place), [])

    def __call__(self, view: View) -> list[Assignment]:
        order, self._offers = self.order, {}
        if isinstance(order, Tiers | Index):
            ranked = [(job.id, said) for job, said in order.ranked(view, RANKED)]
        else:
            ranked = [(job.id, "") for job in view.first(RANKED)]
        kept = int(self.reserve(view)) if self.reserve else 0
        self.reasons.choices.append(Choice(view.now_s, ranked, self._offers, kept))
        return super().__call__(view)

    def _told(self, view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
        """Return the rule's choice, and then describe it, since a rule may draw."""
        rule, said = self._rule, list[str]()
        best = rule(view, job, offers)
        for offer in (best, *(offer for offer in offers if offer is not best)):
            said.append(
                rule.said(view, job, offer)
                if isinstance(rule, Score)
                else offer.gpu.name
            )
        self._offers[job.id] = said
        return best


def bands(market: Market, slots: Sequence[GpuType], seed: int, end_s: float) -> Bands:
    """Return the stock of the slots' types over time, up to end_s seconds.

    If each dispatch draws its status, levels are probabilities of Low stock. Scarce
    spans: that probability, averaged over the types, is above its mean over the day.
    """
    gpus, stock, levels = list(dict.fromkeys(slots)), Stock(market, seed), {}
    for gpu in gpus:
        course = levels[gpu.name] = list[tuple[float, float, str]]()
        for at_s in (0.0, *stock.changes_s(gpu, 0.0, end_s)):
            low = market.probabilities(gpu, at_s)[LOW]
            level, text = low, f"{100 * low:.0f} % chance of Low stock"
            if stock.persists(gpu):
                status = stock.status(gpu, at_s, 0.0)
                level, text = status / LOW, status.name.title()
            if not course or course[-1][1:] != (level, text):
                course.append((at_s, level, text))

    def low_at(at_s: float) -> float:
        return summed(market.probabilities(gpu, at_s)[LOW] for gpu in gpus) / len(gpus)

    day = [0.0, *law_changes_s(market, 0.0, DAY_S), DAY_S]
    mean = (
        summed(low_at(from_s) * (to_s - from_s) for from_s, to_s in pairwise(day))
        / DAY_S
    )
    spans = list(pairwise([0.0, *law_changes_s(market, 0.0, end_s), end_s]))
    return Bands(levels, [span for span in spans if low_at(span[0]) > mean + ROUNDING])
