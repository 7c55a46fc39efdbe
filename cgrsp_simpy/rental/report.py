"""Metrics, rows and descriptions of runs on rented slots, and reasons for decisions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, cast

import numpy as np

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.policy import Wake
from cgrsp_simpy.base.timeline import Bands, Choice, Reasons, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.report import NO_COLUMNS, Report, columns_of, rows_of
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.logs import Tags
from cgrsp_simpy.market.model import LOW
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
from cgrsp_simpy.rental.policies.watch import Watch, urgent_first
from cgrsp_simpy.rental.record import (
    GAPS,
    KINDS,
    METRICS,
    RECORD,
    STATUS_NAMES,
    Totals,
    figures,
    metrics_of,
)
from cgrsp_simpy.rental.view import Assignment, SlotView, View


class RentalReport(Report):
    """Metrics for the scenario's deadline classes and terms of renting."""

    claim_columns = NO_COLUMNS
    metrics = METRICS
    shown = (
        "wait_min",
        "miss_pct",
        "tight_miss_pct",
        "tardiness_min",
        "cost_usd",
        "utilisation_pct",
        "wait_gap_min",
        "miss_gap_pct",
    )
    tested = ("wait_min", "miss_pct", "tardiness_min", "cost_usd")
    precise = "wait_min"

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        more = model.terms.metrics | model.opening.metrics
        metrics = metrics_of(model.workload.classes) | more
        further = [name for name in metrics if name not in METRICS]
        after = {
            "miss_pct": [name for name in further if name.endswith("_miss_pct")],
            "tardiness_min": ["weighted_tardiness_min"],
            "utilisation_pct": more,
        }
        shown = [name for old in self.shown for name in (old, *after.get(old, ()))]
        kinds = RECORD | model.columns
        self.groups = [*(name for name in kinds if kinds[name][0] != "f"), "slots"]
        self.metrics = metrics
        self.shown = tuple(name for name in shown if name in (*metrics, *GAPS))

    @property
    def tags(self) -> Tags:
        return getattr(self.model.workload, "tags", Tags())

    @property
    def dtypes(self) -> dict[str, str]:
        columns: dict[str, str] = self.model.columns
        return RECORD | columns

    def tally(self) -> Totals:
        more = self.model.terms.metrics | self.model.opening.metrics
        return Totals.of(self.model.workload.classes, more)

    def state_class(self) -> Any:
        from cgrsp_simpy.rental.state import State  # it needs the scenario

        return State

    def summary(self, run: Run) -> dict[str, Any]:
        """Return the metrics of a run by name, with units in the names.

        jobs, completed: numbers. wait_min: mean wait (thesis Eq. 3.7). miss_pct,
        tight_miss_pct, loose_miss_pct: share of all, tight and loose jobs that end
        after their deadline (NaN if there are none). tardiness_min: mean over all jobs
        (Eq. 3.6). cost_usd: sum (Eq. 3.11). utilisation_pct: time average of used
        slots, with provisioning, from time 0 to the last completion. makespan_h: time
        of the last completion. Time 0 is the scenario's, not the first arrival.

        Other deadline classes have NAME_wait_min, NAME_miss_pct and NAME_tardiness_min
        instead of the metrics of tight and loose jobs. If jobs or classes have weights
        other than 1: weighted_tardiness_min, sum of weight x tardiness over sum of
        weights. `Terms.metrics` contains the metrics that terms of renting add.
        """
        return figures_of(self.model, run.tally)

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        sums = Totals.of(self.model.workload.classes, self.model.terms.columns)
        records = run.jobs[chosen]
        if records.size:
            sums.add({name: records[name] for name in records.dtype.names})
        capacity_s = len(self.model.slots) * run.tally.end_s
        return {**figures(sums, int(chosen.sum()), capacity_s), **sums.more}

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """Return one dict per job: the columns of JobRecord, with names for indices.

        slots: indices of all slots of the job, as a string separated by spaces.
        """
        columns = columns_of(run)
        names = {
            "status": STATUS_NAMES,
            "deadline_class": [part.name for part in self.model.workload.classes],
            "gpu": [gpu.name for gpu in self.model.gpus],
        }
        for name, texts in names.items():
            columns[name] = [texts[index] for index in columns[name].tolist()]
        columns["slots"] = columns.pop("resources")
        return rows_of(columns, self.tags)

    def kinds(self, run: Run, by: str) -> dict[int, str]:
        """Return the kind of each job by its id.

        by: "complexity", "class" (deadline class) or "status" (stock at dispatch).
        """
        check_one_of("colour_by", by, KINDS)
        column, first, names = KINDS[by]
        if by == "class":
            classes = self.model.workload.classes
            names = tuple(f"{part.name} deadline" for part in classes)
        values, last = run.jobs[column].astype(int) - first, len(names) - 1
        if values.max(initial=0) > last:
            names = (*names[:-1], f"{names[-1]} and more")
        kinds = np.array(names)[np.minimum(values, last)].tolist()
        return dict(zip(run.jobs["job"].tolist(), kinds))

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        names = tuple(f"{n}  {gpu.name}" for n, gpu in enumerate(self.model.slots))
        return super().timeline(
            run, resources=names, kinds=self.kinds(run, "complexity"), **parts
        )

    def describe(self, kind: str, claim: Claim) -> str:
        job, now_s = claim.job, claim.env.now
        if kind == "submit":
            name = self.model.workload.classes[job.deadline_class].name
            gpus = f", {job.gpus} GPUs" if job.gpus > 1 else ""
            return (
                f"complexity {job.complexity}, {name}, due {job.deadline_s:.2f}{gpus}"
            )
        if kind == "start":
            delay_s, wait_s = now_s - claim.granted_s, now_s - job.submit_s
            return f"{delay_s:.2f} s of provisioning, {wait_s:.2f} s of wait in all"
        late = "late" if now_s > job.deadline_s else "in time"
        return f"{now_s - claim.started_s:.2f} s of execution, {late}"

    def bands(self, run: Run) -> Bands:
        """Return the stock of the slots' types over time, for the player.

        If each dispatch draws its status, levels are probabilities of Low stock. Scarce
        spans: that probability, averaged over the types, is above its mean over the
        day.
        """
        market, end_s = self.model.market, run.timeline.end_s
        gpus, stock = list(dict.fromkeys(self.model.slots)), Stock(market, run.seed)
        levels = dict[str, list[tuple[float, float, str]]]()
        for gpu in gpus:
            course = levels[gpu.name] = list[tuple[float, float, str]]()
            for at_s in (0.0, *stock.changes_s(gpu, 0.0, end_s)):
                low = market.probabilities(gpu, at_s)[LOW]
                level, text = low, f"{100 * low:.0f} % probability of Low stock"
                if stock.persists(gpu):
                    status = stock.status(gpu, at_s, 0.0)
                    level, text = status / LOW, status.name.title()
                if not course or course[-1][1:] != (level, text):
                    course.append((at_s, level, text))

        def low_at(at_s: float) -> float:
            lows = [market.probabilities(gpu, at_s)[LOW] for gpu in gpus]
            return summed(lows) / len(lows)

        day = [0.0, *law_changes_s(market, 0.0, DAY_S), DAY_S]
        mean = (
            summed(low_at(from_s) * (to_s - from_s) for from_s, to_s in pairwise(day))
            / DAY_S
        )
        spans = list(pairwise([0.0, *law_changes_s(market, 0.0, end_s), end_s]))
        return Bands(
            levels, [span for span in spans if low_at(span[0]) > mean + ROUNDING]
        )

    def reasons(self, run: Run) -> Reasons | None:
        """Repeat a run and return its rules' reasons; None if they are not known."""
        if type(run.rule) in RULES:
            traced: Any = Dispatches(run.rule)
        elif is_traceable(run.rule):
            traced = TracingPolicy(run.rule)
        else:
            return None
        repeated = self.model.subject(self.model).simulation(traced, run.seed)
        repeated.finish()
        return cast(TracingPolicy | Dispatches, repeated.policy).reasons


def figures_of(scenario: Any, sums: Totals) -> dict[str, Any]:
    """Return the metrics of a whole run from its totals."""
    slots, start_h = len(scenario.slots), scenario.market.clock.start_h
    capacity_s = scenario.opening.open_s(slots, start_h, sums.end_s)
    capacity_s += 3600.0 * sums.more.get("overtime_h", 0.0)
    return {
        **figures(sums, scenario.jobs, capacity_s),
        "makespan_h": sums.end_s / 3600,
        **sums.more,
    }


RANKED = 5  # waiting jobs listed per decision
ROUNDING = 1e-9  # rounding error of probabilities


def is_traceable(rule: Any) -> bool:
    """Return whether the reasons of a policy can be described."""
    plain = type(rule) is ListPolicy and isinstance(rule.reserve, Rule | None)
    return plain and (
        isinstance(rule.order, Tiers | Index) or rule.order is by_submission
    )


def explained(policy: Any, view: View) -> tuple[Any, dict[int, str]]:
    """Return a policy's decision and the reasons by job, empty for your own policy."""
    reasons: dict[int, str] = {}
    if type(policy) in RULES:
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
        super().__init__(
            policy.order, self._place_and_record, policy.name, policy.reserve
        )
        self._rule, self._offers = policy.place, dict[int, list[str]]()
        self.reasons = Reasons(sentence(policy.order), sentence(policy.place), [])

    def __call__(self, view: View) -> list[Assignment]:
        order, self._offers = self.order, {}
        if isinstance(order, Tiers | Index):
            ranked = [(job.id, reason) for job, reason in order.ranked(view, RANKED)]
        else:
            ranked = [(job.id, "") for job in view.first(RANKED)]
        kept = int(self.reserve(view)) if self.reserve else 0
        self.reasons.choices.append(Choice(view.now_s, ranked, self._offers, kept))
        return super().__call__(view)

    def _place_and_record(
        self, view: View, job: Job, offers: Sequence[SlotView]
    ) -> SlotView:
        """Return the rule's choice, and then describe it, since a rule may draw."""
        rule = self._rule
        best = rule(view, job, offers)
        self._offers[job.id] = [
            rule.describe(view, job, offer)
            if isinstance(rule, Score)
            else offer.gpu.name
            for offer in (best, *(offer for offer in offers if offer is not best))
        ]
        return best


RULES = {  # order and place, in words
    Triage: ("Greatest cost of waiting per second of a slot", "Least cost"),
    Watch: (sentence(urgent_first), "Earliest expected end"),
}


class Dispatches:
    """A triage or watch with unchanged decisions that records why it dispatched."""

    def __init__(self, policy: Triage | Watch) -> None:
        self.name, self._policy = policy.name, policy
        self.reasons = Reasons(*RULES[type(policy)], [])

    def __call__(self, view: View) -> list[Assignment | Wake]:
        texts: dict[int, str] = {}
        answer = self._policy.explained(view, texts)
        if texts:
            self.reasons.choices.append(Choice(view.now_s, [*texts.items()], {}, 0))
        return answer
