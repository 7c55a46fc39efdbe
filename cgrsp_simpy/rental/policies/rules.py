"""Rules, and the policies made of an order (which job) and a placement (which slot).

A rule is a pure function whose arguments are looked up in the state by name.

    @tiers
    def by_risk(now_s, fastest_idle_s, critical_ratio=3.0):
        ...

SimPy calls a rule on a view, the compiled loop (`rental.bulk`) on arrays, with equal
results. An argument with another name must have a default: it is a parameter.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush, nsmallest
from inspect import Parameter, signature
from math import exp, inf
from typing import Any, ClassVar, Self

from cgrsp_simpy.base.checks import check_one_of, require
from cgrsp_simpy.rental.job import Job
from cgrsp_simpy.rental.view import Assignment, SlotView, View

Tier = tuple[float, int, float]
"""Deadline before which the tier lies, rank, seconds.

Jobs run by rank, then seconds, then deadline, then submission.
"""
Front = tuple[int, float, float, int, Job]
"""Rank, seconds, deadline and id of a job, and the job."""

# figure -> its expression at a view; `job` is a job, or a class of jobs
OF_MOMENT = {
    "now_s": "view.now_s",
    "waiting": "view.waiting",
    "next_free_s": "max(view.now_s, view.next_end_s or 0.0)",
    "slots": "len(view.known.fleet)",
    "offered_load": "view.known.offered_load",
    "dearest_usd_per_h": "view.known.dearest_usd_per_h",
    "mean_fastest_idle_s": "mean_fastest_s(view)",
}
OF_LEVEL = {
    "reference_s": "view.known.gpus[0].mean_execution_s",
    "fastest_s": "view.known.fastest_s",
    "slowest_s": "view.known.slowest_s",
    "fastest_idle_s": "view.fastest_s()",
}
OF_CLASS = {"tight": "job.tight"}
OF_WEIGHT = {"weight": "job.weight"}
OF_JOB = {"submit_s": "job.submit_s", "deadline_s": "job.deadline_s"}
OF_OFFERS = {
    "fastest_offer_s": "min([slot.gpu.mean_execution_s[level] for slot in offers])",
    "cheapest_offer_usd_per_h": "min([slot.gpu.price_usd_per_h for slot in offers])",
    "best_status": "min(map(view.status, offers))",
}
OF_SLOT = {
    "mean_s": "slot.gpu.mean_execution_s[level]",
    "price_usd_per_h": "slot.gpu.price_usd_per_h",
    "status": "view.status(slot)",
}
ONCE = OF_MOMENT | OF_LEVEL | OF_OFFERS
EACH = OF_CLASS | OF_WEIGHT | OF_JOB | OF_SLOT
EACH |= {name: f"{name}[level]" for name in OF_LEVEL}


class Rule:
    """A function of values of the state, called on a view.

    parameters: values that replace the function's defaults. figures: names that
    arguments can have. Raises InputError for an argument with no such name and no
    default.
    """

    figures: ClassVar[dict[str, str]] = OF_MOMENT
    form: ClassVar[str] = "def at(view):\n {once}\n return function({arguments})"

    def __init__(self, function: Callable[..., Any], **parameters: Any) -> None:
        items = signature(function).parameters.values()
        defaults = {
            item.name: item.default for item in items if item.name not in self.figures
        }
        for name, default in defaults.items():
            require(
                default is not Parameter.empty,
                f"argument of {function.__name__}",
                name,
                (
                    f"one of {', '.join(self.figures)}; a parameter of the rule needs"
                    " a default"
                ),
            )
        self.function, self.parameters = function, defaults
        self.arguments = tuple(item.name for item in items)
        self.__doc__ = function.__doc__
        self._code = self._written()
        self._set(parameters)

    def _written(self) -> Any:
        """Compile the function with its arguments looked up, for speed."""
        picked = [name for name in self.arguments if name in self.figures]
        lines = [f"{name} = {ONCE[name]}" for name in picked if name in ONCE]
        values = {name: name for name in self.arguments}
        values |= {name: EACH[name] for name in picked if name in EACH}
        text = self.form.format(
            once="; ".join(lines) or "pass", arguments=", ".join(values.values())
        )
        return compile(text, "<rule>", "exec")

    def _set(self, parameters: dict[str, Any]) -> None:
        for name in parameters:
            check_one_of(
                f"parameter of {self.function.__name__}", name, self.parameters
            )
        self.parameters = self.parameters | parameters
        names: dict[str, Any] = {"function": self.function, **self.parameters}
        names["mean_fastest_s"] = mean_fastest_s
        exec(self._code, names)  # safe: names of the tables above or of the function
        self.at: Callable[..., Any] = names["at"]

    def with_parameters(self, **parameters: Any) -> Self:
        """Return the rule with other values of its parameters."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._set(parameters)
        return other

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # it never changes

    def __reduce__(self) -> Any:
        return partial(type(self), **self.parameters), (self.function,)

    def __call__(self, view: View) -> Any:
        """Return the rule's result on a view."""
        return self.at(view)


class Tiers(Rule):
    """An order by tiers of deadlines, computed from the first jobs of each class.

    function: returns the tiers of a class of jobs (complexity, tight) in increasing
    order of deadline, at most four, the last without limit. A tier's seconds are an
    estimate for shortest-first, or 0 for earliest deadline. Its docstring must name the
    ranks, such as "at-risk jobs by deadline, then safe ones by time".
    """

    figures = OF_MOMENT | OF_LEVEL | OF_CLASS
    form = (
        "def at(view):\n {once}\n def of_class(job):\n"
        "  level = job.complexity - 1\n  return function({arguments})\n return of_class"
    )

    def __call__(self, view: View) -> list[Job]:
        """Return the first jobs per tier and class, as many as slots are idle."""
        if view.waiting <= 1:
            return [*view.queue]
        return [key[4] for key in sorted(self.fronts(view, view.idle_count))]

    def fronts(self, view: View, most: int) -> list[Front]:
        """Return the first jobs of each tier of each class, up to `most`, unsorted."""
        tiers_of_class, fronts = self.at(view), list[Front]()
        for members in view.classes:
            jobs, deadlines_s, first = members.jobs, members.deadlines_s, 0
            if not jobs:
                continue
            last_s = deadlines_s[-1]
            for before_s, rank, seconds in tiers_of_class(members):
                if deadlines_s[first] >= before_s:
                    continue
                last = last_s < before_s
                stop = len(jobs) if last else bisect_left(deadlines_s, before_s, first)
                for job in jobs[first : min(first + most, stop)]:
                    fronts.append((rank, seconds, job.deadline_s, job.id, job))
                if last:
                    break
                first = stop
        return fronts

    def ranked(self, view: View, most: int) -> list[tuple[Job, str]]:
        """Return the first waiting jobs, each with the reason for its rank."""
        names = [name.removeprefix("then ") for name in sentence(self).split(", ")]
        reasons = []
        for rank, seconds, _, _, job in nsmallest(most, self.fronts(view, most)):
            name = names[rank].lower() if rank < len(names) else f"rank {rank}"
            parts = [name * (len(names) > 1), f"{seconds:.0f} s" * (seconds > 0)]
            reasons.append((job, ", ".join(filter(None, parts))))
        return reasons


class Index(Rule):
    """An order by decreasing index; ties are broken by deadline, then submission.

    function: returns a job's index, which must not increase with the deadline among
    jobs of equal weight, complexity and tightness.
    """

    figures = (
        OF_MOMENT | OF_LEVEL | OF_CLASS | OF_WEIGHT | {"deadline_s": "job.deadline_s"}
    )
    form = (
        "def at(view):\n {once}\n def of_job(job):\n"
        "  level = job.complexity - 1\n  return function({arguments})\n return of_job"
    )

    def __call__(self, view: View) -> Iterator[Job]:
        """Yield all waiting jobs in order, lazily."""
        if view.waiting <= 1:
            yield from view.queue
            return
        index = self.at(view)
        fronts = [
            (
                -index(members.jobs[0]),
                members.deadlines_s[0],
                members.jobs[0].id,
                0,
                members.jobs,
            )
            for members in view.classes
            if members.jobs
        ]
        heapify(fronts)
        while fronts:
            *_, place, jobs = heappop(fronts)
            yield jobs[place]
            if place + 1 < len(jobs):
                job = jobs[place + 1]
                heappush(fronts, (-index(job), job.deadline_s, job.id, place + 1, jobs))

    def ranked(self, view: View, most: int) -> list[tuple[Job, str]]:
        """Return the first waiting jobs, each with its index."""
        index = self.at(view)
        keys = ((-index(job), job.deadline_s, job.id, job) for job in view.queue)
        return [
            (job, f"index {-least:.2g}") for least, _, _, job in nsmallest(most, keys)
        ]


def sentence(declared: Any) -> str:
    """Return the first sentence of a rule's docstring, up to ";" or a source."""
    paragraph = (declared.__doc__ or "").split("\n\n")[0]
    return re.split(r";| \(thesis|\.(?: |$)", " ".join(paragraph.split()))[0]


def mean_fastest_s(view: View) -> float:
    """Return the least mean time on idle slots, averaged over arriving jobs."""
    mean_s = 0.0
    for share, seconds in zip(view.known.complexity_mix, view.fastest_s()):
        mean_s += share * seconds
    return mean_s


class Score(Rule):
    """A placement on the offer with the least score; ties go to the first.

    function: returns one to three numbers; if it uses a status, those of all offers are
    drawn.
    """

    figures = OF_MOMENT | OF_LEVEL | OF_CLASS | OF_JOB | OF_OFFERS | OF_SLOT
    form = (
        "def at(view, job, offers):\n level = job.complexity - 1\n {once}\n"
        " least = None\n"
        " for slot in offers:\n  score = function({arguments})\n"
        "  if least is None or score < least:\n   least, best = score, slot\n"
        " return best"
    )

    def __call__(  # type: ignore[override]
        self, view: View, job: Job, offers: Sequence[SlotView]
    ) -> SlotView:
        best: SlotView = self.at(view, job, offers)
        return best

    def describe(self, view: View, job: Job, offer: SlotView) -> str:
        """Describe an offer as scored; call it after the score, which may draw."""
        texts = {
            "mean_s": f"{view.mean_s(job, offer):.0f} s",
            "price_usd_per_h": f"{offer.gpu.price_usd_per_h:g} USD/h",
        }
        if "status" in self.arguments:
            texts["status"] = view.status(offer).name.title()
        shown = [text for name, text in texts.items() if name in self.arguments]
        return f"{offer.gpu.name} ({', '.join(shown)})"


tiers, index, score, withheld = Tiers, Index, Score, Rule
"""Decorators for orders by tiers or an index, a placement by a score, and the number of
slots withheld from loose jobs.
"""


Order = Callable[[View], Iterable[Job]]
"""From a view to waiting jobs in order, at least as many as idle slots if possible."""

PlacementRule = Callable[[View, Job, Sequence[SlotView]], SlotView]
"""From a view, a job and at least two offers to one of these."""

Reserve = Callable[[View], int]
"""From a view to the number of idle slots withheld from loose jobs."""

COST_WEIGHT = 0.3  # w_c of thesis Eq. 4.1
STOCK_PENALTY = (0.0, 0.2, 1.0)  # sp(s) at High, Medium, Low, thesis Eq. 4.1 and 4.2


class ListPolicy:
    """Take jobs in an order and place each one, while slots are idle.

    No job overtakes one of several GPUs that does not fit. order: function from a view
    to waiting jobs. place: from a view, a job and the slots on offer to one of these
    slots. name: for reports. reserve: from a view to a number of slots; a loose job
    starts only while more slots are idle, and is passed over otherwise.
    """

    def __init__(
        self,
        order: Order,
        place: PlacementRule,
        name: str = "list",
        reserve: Reserve | None = None,
    ) -> None:
        self.order, self.place, self.name, self.reserve = order, place, name, reserve

    def __call__(self, view: View) -> list[Assignment]:
        answer: list[Assignment] = []
        offers, idle = view.offers(), view.idle_count
        withheld = self.reserve(view) if self.reserve else 0
        taken: SlotView | None = None
        for job in self.order(view):
            if idle <= withheld and not job.tight:
                continue
            if job.gpus > idle:
                break
            slots = []
            for _ in range(job.gpus):
                if taken is not None:
                    offers = view.offers_after(offers, taken)
                one = len(offers) == 1
                taken = offers[0] if one else self.place(view, job, offers)
                slots.append(taken)
            answer.append(assign(job, slots))
            idle -= job.gpus
            if not idle:
                break
        return answer


def assign(job: Job, slots: Sequence[SlotView]) -> Assignment:
    """Return the pair that assigns a job its slot or slots."""
    return job, slots[0] if job.gpus == 1 else tuple(slots)


# ---- orders ----


def by_submission(view: View) -> Iterable[Job]:
    """First come, first served; as many jobs as slots are idle."""
    return view.first(view.idle_count)


@tiers
def by_deadline() -> tuple[Tier, ...]:
    """Earliest deadline first; ties by submission."""
    return ((inf, 0, 0.0),)


@tiers
def shortest_first(reference_s: float) -> tuple[Tier, ...]:
    """Shortest first by the estimate on the reference type; ties by deadline."""
    return ((inf, 0, reference_s),)


@index
def by_c_mu(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    weight: float,
    late: float = 11.0,
) -> float:
    """Weight x cost of a second (1, or `late` for a late job) / estimate."""
    slack_s = deadline_s - now_s - fastest_idle_s
    return weight * ((late if slack_s < 0 else 1.0) / fastest_idle_s)


@index
def by_atc(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    mean_fastest_idle_s: float,
    weight: float,
    look_ahead: float = 2.0,
) -> float:
    """Apparent tardiness cost, weight x exp(-slack / (K x mean time)) / estimate."""
    slack_s = max(0.0, deadline_s - now_s - fastest_idle_s)
    urgency = exp(-slack_s / (look_ahead * mean_fastest_idle_s))
    return weight * (urgency / fastest_idle_s)


@index
def by_covert(
    now_s: float,
    deadline_s: float,
    fastest_idle_s: float,
    mean_fastest_idle_s: float,
    weight: float,
    look_ahead: float = 2.0,
) -> float:
    """Cost over time, weight x (1 - slack / (K x mean time)) / estimate, at least 0."""
    slack_s = max(0.0, deadline_s - now_s - fastest_idle_s)
    urgency = max(0.0, 1.0 - slack_s / (look_ahead * mean_fastest_idle_s))
    return weight * (urgency / fastest_idle_s)


# ---- placements ----


def first_idle(view: View, job: Job, offers: Sequence[SlotView]) -> SlotView:
    """The slot that was registered first."""
    return offers[0]


@score
def fastest(mean_s: float) -> tuple[float]:
    """The least mean execution time."""
    return (mean_s,)


@score
def cheapest(price_usd_per_h: float, mean_s: float) -> tuple[float, float]:
    """The least price per second; ties go to the fastest."""
    return price_usd_per_h, mean_s


@score
def stock_then_fastest(status: int, mean_s: float) -> tuple[float, float]:
    """High before Medium before Low stock, then the fastest (thesis Section 4.5.3)."""
    return status, mean_s


@score
def speed_cost_stock(
    mean_s: float,
    fastest_offer_s: float,
    price_usd_per_h: float,
    cheapest_offer_usd_per_h: float,
    status: int,
    cost_weight: float = COST_WEIGHT,
) -> tuple[float]:
    """Least score of stock and of relative speed and cost (thesis Eq. 4.1)."""
    speed = mean_s / fastest_offer_s
    cost = price_usd_per_h / (cheapest_offer_usd_per_h or 1.0)  # all free
    return ((1 - cost_weight) * speed + cost_weight * cost + STOCK_PENALTY[status],)
