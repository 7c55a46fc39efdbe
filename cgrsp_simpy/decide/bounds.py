"""What no policy can do better than: a linear program over expectations, for arrivals that
are known (ours).

Let the jobs of a seed be known: when they come, of what complexity, due when. When a policy
dispatches a job it does not know the job's own draws. So whatever it does, job j has some chance
x_j(t, g) of being dispatched at time t on type g, and given that, its provisioning delay D and
execution S follow their laws (thesis Eq. 3.1, 3.2, 3.12). With L = D + S,

    for each job                   the sum of x_j(t, g) over g and t, from its submission on, is 1
    for each type g and instant s  the sum of x_j(t, g) P(L > s - t) over j and t <= s is at most
                                   the number of slots of g

and mean wait, misses and tardiness are linear in x. The least value over all such x is below the
expectation of every policy, even of one that knows the arrivals to come. Where types may be chosen,
slots are counted over all types at once.

No bound is lost to discrete time, by duality: for any prices p_g(s) >= 0 of a slot held at time s,

    sum over j of the least over t, g of [cost_j(t, g) + integral of p_g(s) P(L > s - t)]
    - sum over g of slots of g x integral of p_g(s)

is below that least value. Prices that are linear between knots a bin apart come from the program
with jobs in groups (columns are generated from the least terms above); the bound is then taken of
the jobs as they are. Poor prices make it lower, not false.

The least over t is taken over steps of at most STEP_S, of each something that no t of it is below:
a job may use the whole step in which it comes; misses and tardiness are of the step's beginning,
with the deadline put off to a whole step; wait and price are the lesser of both ends, less a
margin. For the price of a dispatch at t is the sum over steps' edges b of (p before b - p after b)
K(b - t), where K(u) = E min(L, u) is concave in u >= 0: where prices fall, its least is at an end;
where they rise by r, it dips below both by at most r h / 4 (P(L > b - t - h) - P(L > b - t)), t
the step's beginning and h its length. After the horizon prices are 0, and a job is taken to have
the type and the stock that suit it best. L is cut off where S would be longer with a chance of 1 in
1000 only, which lowers P(L > u). Where the law of the stock changes within a step, both count.

Slots that are whole, taken one by one, make it no tighter: whatever x meets the capacities can be
followed on each slot. Whenever the slot is free at t, let it take job j with chance x_j(t, g) over
(slots of g x the chance that it is free). By induction over t the latter is 1 - the sum over j and
s < t of x_j(s, g) P(L > t - s) / slots of g, and the constraint at t says that the chances of all j
add up to at most 1. What is lost between this bound and the best policy lies in "once each" on
every luck, not only on average, and in several slots at once.

Measured times have no law. There the bound is of policies that may know every job's time, and the
expectation is over stock and delays alone; times are rounded down to levels (`occupation`), which
lowers P(L > u), and so the bound.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.analysis.solver import SOLVED, SolverError, tried_twice
from cgrsp_simpy.decide.occupation import Laws, levels_of
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole, require
from cgrsp_simpy.rental.job import Draws, Job
from cgrsp_simpy.rental.scenario import Scenario

STEP_S, DAY_S = 10.0, 86400.0
GROUPS_PER_BIN = 2
# rounds of column generation at most; columns a group that are kept from one to the next
ROUNDS, KEPT = 40, 20
# the generation ends when prices give this little less than the program, minutes or per cent; share
GAP, GAP_SHARE = 0.06, 0.002
NEGLIGIBLE_S = 1e-4  # of a step that is held
AFTER_S = 1e-6  # by when a change of the clock has come, whatever its rounding
MOST_STEPS = 30_000  # of a horizon, three and a half days of STEP_S
MOST_CELLS = 2e8  # steps times shapes of prices: 1.6 GB
# What the proofs are of, by field of a scenario, its terms, its market and its hourly stock.
PROVED: dict[str, set[str]] = {
    "scenario": {"name", "workload", "slots", "gpus", "free_types", "market", "service", "terms"},
    "terms": set(),
    "market": {"clock", "delay_s", "high_cap", "medium_factor", "medium_cap", "stock"},
    "hourly stock": {"gpu", "chances"},
}


class Weights(NamedTuple):
    """What a minute of mean wait, a per cent of misses and a minute of mean tardiness count."""

    wait: float = 0.0
    miss: float = 0.0
    tardiness: float = 0.0


OBJECTIVES = {
    "wait": Weights(wait=1.0),
    "miss": Weights(miss=1.0),
    "tardiness": Weights(tardiness=1.0),
    "mix": Weights(1.0, 1.0, 1.0),
}
"""By name, what a bound is of."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on the expectation, over the draws, of an objective under any policy, for a
    seed's arrivals.

    Attributes
    ----------
    value : float
        The bound: minutes, per cent, or their sum, by the objective.
    program : float
        Value of the program with jobs in groups, itself no bound; it lies above by what is lost to
        groups, steps and the rounds that were left out.
    wait_min, miss_pct, tardiness_min : float
        At the program's solution, means over jobs: minutes, per cent, minutes.
    bin_s : float
        Seconds between knots of the prices.
    seconds : float
        What it took.
    status : str
        The solver's last message.
    """

    value: float
    program: float
    wait_min: float
    miss_pct: float
    tardiness_min: float
    bin_s: float
    seconds: float
    status: str


def check_proved(scenario: Scenario, what: str, known: Collection[str] = ()) -> None:
    """Refuse a scenario of which a bound or an optimum is not proved: one in which a part that the
    proof does not know of (stock that lasts or is seen, other terms of renting) is not left at
    its default.

    what: what is asked for, such as "a bound". known: fields that its proof knows of, beside those
    of a bound's. Raises InputError for such a part, by its name, and for what is no such scenario.
    """
    require(isinstance(scenario, Scenario), "scenario", scenario, "one of rented slots")
    parts: list[tuple[str, Any]] = [("scenario", scenario), ("terms", scenario.terms)]
    parts += [("market", scenario.market)]
    parts += [("hourly stock", stock) for stock in scenario.market.stock]
    for name, part in parts:
        for item in fields(part):
            if item.init and item.name not in PROVED[name] | set(known):
                made = item.default_factory
                usual = item.default if made is MISSING else made()
                value = getattr(part, item.name)
                require(value == usual, f"{item.name} of the {name}", value, f"{usual} for {what}")


def check_bin(name: str, bin_s: float, unit_s: float = 1.0) -> None:
    """Seconds, or another unit, between knots of the prices: from a second to a day."""
    check_number(name, bin_s, least=1 / unit_s)
    most = DAY_S / unit_s
    require(bin_s <= most, name, bin_s, f"at most {most:g}")


def weights_of(objective: str | Weights) -> Weights:
    """The weights of an objective's name, or checked ones."""
    if not isinstance(objective, Weights):
        check_one_of("objective", objective, OBJECTIVES)
        return OBJECTIVES[objective]
    for name, weight in zip(Weights._fields, objective):
        check_number(f"weight of {name}", weight, least=0)
    require(any(objective), "weights", tuple(objective), "not all 0")
    return objective


def lower_bound(
    scenario: Scenario, seed: int = 0, objective: str | Weights = "mix", bin_s: float = 300.0
) -> Bound:
    """A lower bound on an objective under any policy, in expectation over the draws, for the
    arrivals of a seed.

    By a linear program (ours), which the module's docstring describes.

    Parameters
    ----------
    scenario : Scenario
        Jobs of one GPU each. Of a log the bound is of the measured times, even for a policy that
        knows them; the draws are those of stock and delay.
    seed : int
        Of the arrivals, >= 0.
    objective : str or Weights
        "wait" (min), "miss" (%), "tardiness" (min), or "mix", their sum; or own weights, >= 0.
    bin_s : float
        Seconds between knots of the prices, from 1 to a day's. Narrower ones give greater bounds
        and take longer: on a hectic day 20, 10 and 5 minutes take some 5, 15 and 70 seconds.

    Returns
    -------
    Bound
        In the unit of the objective, with the program's solution.

    Raises
    ------
    InputError
        For another objective, a seed or bin that is not allowed, jobs of several GPUs, a log of
        many days, narrow bins over a long time, and markets of which the bound is not proved.
    SolverError
        If the linear program's solver fails.
    """
    weights = weights_of(objective)
    check_whole("seed", seed, least=0)
    check_bin("bin_s", bin_s)
    check_proved(scenario, "a bound")
    began = time.perf_counter()
    jobs = list(scenario.workload.generate(seed, scenario.service))
    widest = max((job for job, _ in jobs), key=lambda job: job.gpus)
    require(widest.gpus == 1, f"gpus of job {widest.id}", widest.gpus, "1 for a bound")
    program = _Program(scenario, jobs, weights, float(bin_s))
    price, solution = program.solve()
    parts = (program.parts @ solution.x).tolist()
    minutes, per_cent, late = (
        parts[0] / len(jobs) / 60,
        100 * parts[1] / len(jobs),
        parts[2] / len(jobs) / 60,
    )
    value = max(0.0, program.bound(price))
    return Bound(
        value,
        solution.fun,
        minutes,
        per_cent,
        late,
        float(bin_s),
        time.perf_counter() - began,
        solution.message,
    )


Columns = dict[tuple[int, int, int], list[tuple[int, int]]]
"""Dispatches of a group at a step: by level, type and multiplier, pairs of the group's
number and the step.
"""


class _Group(NamedTuple):
    """Jobs of one level that come, and are due, at about the same time; means in seconds."""

    submit_s: float
    deadline_s: float
    c: int
    jobs: int = 1


class _Program:
    """The program on a grid of steps, `width` of them a bin, up to step `end`. A step of several
    laws of the stock is there as often: step and law, an index of the multiplier, stand in `steps`
    and `law`.
    """

    def __init__(
        self,
        scenario: Scenario,
        drawn: list[tuple[Job, Draws]],
        weights: Weights,
        bin_s: float,
    ) -> None:
        self.width = math.ceil(bin_s / STEP_S)
        self.step_s = bin_s / self.width
        # of seconds of wait, misses, seconds of tardiness
        self.unit = np.array(weights) * (1 / 60, 100, 1 / 60) / len(drawn)
        levels, own = levels_of(scenario, drawn)
        self.alone = [_Group(job.submit_s, job.deadline_s, c) for (job, _), c in zip(drawn, own)]
        market = scenario.market
        changes_s = [
            3600 * (hour - market.clock.start_h) % DAY_S + AFTER_S for hour in market.change_hours
        ]

        def moment(time_s: float) -> tuple[float, int]:
            """A key of a time; at times of equal keys the law of the stock is the same."""
            return market.clock.multiplier(time_s), market.band(time_s) if market.stock else 0

        instants_s = {moment(time_s): time_s for time_s in changes_s}
        values = list(instants_s)

        def law(time_s: float) -> int:
            return values.index(moment(time_s))

        longest = max(
            gpu.mean_execution_s[level.complexity] * level.most
            for gpu in scenario.gpus
            for level in levels
        )
        most_s = MOST_STEPS * STEP_S
        for name, value_s in {
            "last submission": drawn[-1][0].submit_s,
            "longest execution": longest,
        }.items():
            allowed = f"at most {most_s / 3600:.0f} h for a bound"
            require(value_s <= most_s, name, f"{value_s / 3600:.1f} h", allowed)
        self.laws = Laws(scenario, levels, self.step_s, list(instants_s.values()))
        self.end = self._horizon(law)
        allowed = f"wider for a horizon of {self.end * self.step_s / 3600:.1f} h"
        require(self.end * (self.end // self.width) <= MOST_CELLS, "bin_s", bin_s, allowed)
        begins_s = [step * self.step_s for step in range(self.end)]
        pieces = {(step, law(at_s)) for step, at_s in enumerate(begins_s)}
        pieces |= {(step, law(at_s + AFTER_S)) for step, at_s in enumerate(begins_s)}
        for day in range(int(self.end * self.step_s // DAY_S) + 1):
            within_s = [day * DAY_S + change_s for change_s in changes_s]
            pieces |= {(int(at_s // self.step_s), law(at_s)) for at_s in within_s}
        self.steps, self.law = np.array(sorted(piece for piece in pieces if piece[0] < self.end)).T
        self.changes = sorted({*self.steps[np.flatnonzero(np.diff(self.law)) + 1].tolist()})
        self.groups = self._grouped(bin_s / GROUPS_PER_BIN)
        self.basis = self._basis()
        self.room_s = np.concatenate(
            [slots * self.basis.sum(axis=0) * self.step_s for slots in self.laws.slots]
        )
        self.parts, self.row, self.used = (
            np.empty((3, 0)),
            np.empty(0, int),
            scipy.sparse.csr_array((0, len(self.room_s))),
        )

    def _horizon(self, law: Callable[[float], int]) -> int:
        """The end of the bin by which half the fleet, never idle while jobs wait, would
        have served all; not much beyond all arrivals and twice MOST_STEPS.
        """
        laws, bin_s = self.laws, self.width * self.step_s
        shares = np.bincount([job.c for job in self.alone], minlength=len(laws.mean_s))
        arrived = np.bincount([int(job.submit_s // bin_s) for job in self.alone]).tolist()
        left, bins = 0.0, 0
        while bins < len(arrived) or (left > 0 and bins * self.width < 2 * MOST_STEPS):
            held_s = shares @ laws.mean_s[:, :, law(bins * bin_s + AFTER_S)] / len(self.alone)
            least_s = [
                min(held_s[g] for g, own in enumerate(laws.pool) if own == pool)
                for pool in range(len(laws.slots))
            ]
            left = max(
                0.0,
                left
                + sum(arrived[bins : bins + 1])
                - bin_s * float(np.sum(laws.slots / least_s)) / 2,
            )
            bins += 1
        return bins * self.width

    def _grouped(self, span_s: float) -> list[_Group]:
        """Jobs that come within a span, and are due within one where deadlines count."""
        together: dict[tuple[float, float, int], list[_Group]] = {}
        for job in self.alone:
            due = job.deadline_s // span_s if self.unit[1:].any() else 0.0
            together.setdefault((job.submit_s // span_s, due, job.c), []).append(job)
        return [
            _Group(
                sum(job.submit_s for job in own) / len(own),
                sum(job.deadline_s for job in own) / len(own),
                key[2],
                len(own),
            )
            for key, own in together.items()
        ]

    def _basis(self) -> np.ndarray:
        """What prices are sums of: hats over the knots, cut in two at changes of the clock, and
        where the first job comes if a bin or more is over by then; shape (steps, shapes).

        At either side of a change stands a block as long as a slot is held at least: what is held
        across a change for the worse was dispatched before it, so that prices jump there. Before
        the first job nothing is held.
        """
        first = int(self.alone[0].submit_s // self.step_s)
        cuts = {*self.changes, *([first] if first >= self.width else [])}
        middle = np.arange(self.end) + 0.5
        knots = sorted({*range(0, self.end + 1, self.width), *cuts})
        block = round(float(self.laws.mean_s.min()) / self.step_s)
        shapes = []
        for before, knot, after in zip([0, *knots], knots, [*knots[1:], self.end]):
            up = np.where(
                (before < middle) & (middle < knot), (middle - before) / max(knot - before, 1), 0.0
            )
            down = np.where(
                (knot < middle) & (middle < after), (after - middle) / max(after - knot, 1), 0.0
            )
            shapes += [up, down] if knot in cuts else [up + down]
        for change in self.changes:
            shapes += [
                (change - block < middle) & (middle < change),
                (change < middle) & (middle < change + block),
            ]
        return np.array([shape for shape in shapes if shape.any()], float).T

    # ---- columns ----

    def _used(self, c: int, g: int, v: int, steps: np.ndarray) -> scipy.sparse.csr_array:
        """Seconds held, weighted by each shape of each pool's price; shape (steps,
        shapes x pools).
        """
        laws, shapes = self.laws, self.basis.shape[1]
        held_s = np.diff(laws.held_s[c, g, v])
        held_s = held_s[held_s > NEGLIGIBLE_S]
        padded = np.vstack([self.basis, np.zeros((len(held_s), shapes))])
        used = scipy.sparse.csr_array(
            np.array([held_s @ padded[step : step + len(held_s)] for step in steps.tolist()])
        )
        return scipy.sparse.csr_array(
            (used.data, used.indices + laws.pool[g] * shapes, used.indptr),
            (len(steps), shapes * len(laws.slots)),
        )

    def _parts(self, group: _Group, g: int, v: int, steps: np.ndarray) -> np.ndarray:
        """Expected wait in seconds, misses and tardiness in seconds of a job; shape (3, steps)."""
        slack = math.ceil(group.deadline_s / self.step_s) - steps
        wait_s = np.maximum(0.0, steps * self.step_s - group.submit_s) + self.laws.delay_s[g, v]
        return np.array(
            [wait_s, self.laws.miss(group.c, g, v, slack), self.laws.late_s(group.c, g, v, slack)]
        )

    def _add(self, wanted: Columns) -> None:
        """Add columns: their parts (wait, misses, tardiness), their groups and what they use."""
        parts, row, used = [self.parts], [self.row], [self.used]
        for (c, g, v), pairs in wanted.items():
            groups, steps = np.array(pairs).T
            distinct, place = np.unique(steps, return_inverse=True)
            used.append(self._used(c, g, v, distinct)[place])
            row.append(groups)
            parts += [self._parts(self.groups[r], g, v, np.array([step])) for r, step in pairs]
        self.parts, self.row, self.used = (
            np.concatenate(parts, axis=1),
            np.concatenate(row),
            scipy.sparse.csr_array(scipy.sparse.vstack(used)),
        )

    def _start(self) -> None:
        """The first columns: a dispatch after the horizon, which takes no slot, and
        dispatches at each bin.
        """
        tails = [self._tail(group)[:, None] for group in self.groups]
        self.parts, self.row = np.concatenate(tails, axis=1), np.arange(len(self.groups))
        self.used = scipy.sparse.csr_array((len(self.groups), len(self.room_s)))
        wanted: Columns = {}
        for r, group in enumerate(self.groups):
            for step in range(0, self.end, self.width):
                if step * self.step_s >= group.submit_s:
                    v = int(self.law[np.searchsorted(self.steps, step)])
                    for g in range(len(self.laws.pool)):
                        wanted.setdefault((group.c, g, v), []).append((r, step))
        self._add(wanted)

    def _tail(self, group: _Group) -> np.ndarray:
        """What a job that is dispatched after the horizon has at least: wait in seconds, misses
        and tardiness in seconds, each on the type and at the stock where it is least.
        """
        laws, c = self.laws, group.c
        types, values = np.ix_(*map(np.arange, laws.delay_s.shape))
        slack = np.array(math.ceil(group.deadline_s / self.step_s) - self.end)
        waited_s = max(0.0, self.end * self.step_s - group.submit_s)
        return np.array(
            [
                waited_s + laws.delay_s.min(),
                laws.miss(c, types, values, slack).min(),
                laws.late_s(c, types, values, slack).min(),
            ]
        )

    def solve(self) -> tuple[np.ndarray, scipy.optimize.OptimizeResult]:
        """Good prices by pool and step, per slot-second, and the program's solution, of which
        `parts` has the columns.
        """
        self._start()
        jobs = [group.jobs for group in self.groups]
        best, best_price = -math.inf, np.zeros(len(self.room_s))
        for turn in range(ROUNDS):
            once = scipy.sparse.csr_array(
                (np.ones(len(self.row)), (self.row, np.arange(len(self.row))))
            )
            found = self._solved(once, jobs)
            price = np.maximum(0.0, -found.ineqlin.marginals)
            # prices of the first rounds swing: half way is better
            tried = (price + best_price) / 2 if turn else price
            value, wanted = self._answers(tried)
            if value > best:
                best, best_price = value, tried
            if found.fun - best <= max(GAP, GAP_SHARE * found.fun) or turn == ROUNDS - 1:
                break
            self._drop(found, price)
            self._add(wanted)
        return self._by_step(best_price), found

    def _solved(
        self, once: scipy.sparse.csr_array, jobs: list[int]
    ) -> scipy.optimize.OptimizeResult:
        cost = self.unit @ self.parts

        def solve(presolve: bool) -> scipy.optimize.OptimizeResult:
            found: scipy.optimize.OptimizeResult = scipy.optimize.linprog(  # type: ignore[call-overload]
                cost, self.used.T, self.room_s, once, jobs, options={"presolve": presolve}
            )
            return found

        found = tried_twice(solve)
        if found.status != SOLVED:
            raise SolverError(
                f"no lower bound: the solver failed, with presolve and without: {found.message}"
            )
        return found

    def _answers(self, price: np.ndarray) -> tuple[float, Columns]:
        """What groups add up to at prices, and the columns of their best answers on each type."""
        by_step = self._by_step(price)
        least = self._least(by_step)
        wanted: Columns = {}
        value = -float(price @ self.room_s)
        for r, group in enumerate(self.groups):
            first, cost = self._costs(least, group)
            value += group.jobs * min(float(cost.min()), float(self.unit @ self._tail(group)))
            for g, piece in enumerate((first + cost.argmin(axis=0)).tolist()):
                step, v = int(self.steps[piece]), int(self.law[piece])
                wanted.setdefault((group.c, g, v), []).extend([(r, step), (r, step + 1)])
        return value, wanted

    def _drop(self, found: scipy.optimize.OptimizeResult, price: np.ndarray) -> None:
        """Keep what is used, what needs no slot, and the columns that are nearest to being used."""
        reduced = self.unit @ self.parts + self.used @ price - found.eqlin.marginals[self.row]
        most = np.sort(reduced)[: KEPT * len(self.groups)][-1]
        keep = np.flatnonzero(
            (found.x > 0) | (reduced <= most) | (np.arange(len(reduced)) < len(self.groups))
        )
        self.parts, self.row, self.used = self.parts[:, keep], self.row[keep], self.used[keep]

    # ---- the bound at prices ----

    def _by_step(self, price: np.ndarray) -> np.ndarray:
        """Prices by pool and step, of prices by pool and shape."""
        by_step: np.ndarray = price.reshape(len(self.laws.slots), -1) @ self.basis.T
        return by_step

    def _least(self, price: np.ndarray) -> np.ndarray:
        """Wait from time 0 on and price of a dispatch within a step, at least; shape (levels,
        steps by laws, types).
        """
        laws = self.laws
        levels, types, values = laws.mean_s.shape
        least = np.empty((levels, len(self.steps), types))
        start_s = np.arange(self.end + 1) * self.step_s
        for c, g, v in np.ndindex(levels, types, values):
            own = np.concatenate([price[laws.pool[g]], np.zeros(laws.last)])
            paid = np.convolve(own, np.diff(laws.held_s[c, g, v])[::-1], "valid")
            paid += self.unit[0] * (start_s + laws.delay_s[g, v])
            rise = np.maximum(0.0, np.diff(own, append=0.0))
            margin = (
                self.step_s
                / 4
                * np.convolve(rise, -np.diff(laws.beyond[c, g, v])[::-1], "valid")[: self.end]
            )
            there = self.law == v
            lesser = np.minimum(paid[:-1], paid[1:]) - margin
            least[c, there, g] = lesser[self.steps[there]]
        return least

    def _costs(self, least: np.ndarray, group: _Group) -> tuple[int, np.ndarray]:
        """Where in `steps` a job can be dispatched first, and what it costs from there on, at
        least; shape (steps by laws, types).
        """
        step = min(int(group.submit_s // self.step_s), self.end - 1)
        first = int(np.searchsorted(self.steps, step))
        cost: np.ndarray = least[group.c, first:] - self.unit[0] * group.submit_s
        v, types = self.law[first:, None], np.arange(cost.shape[1])
        slack = math.ceil(group.deadline_s / self.step_s) - self.steps[first:, None]
        if self.unit[1]:
            cost = cost + self.unit[1] * self.laws.miss(group.c, types, v, slack)
        if self.unit[2]:
            cost = cost + self.unit[2] * self.laws.late_s(group.c, types, v, slack)
        return first, cost

    def bound(self, price: np.ndarray) -> float:
        """The bound that prices by pool and step give, of the jobs as they are."""
        least, value = self._least(price), -float((self.laws.slots @ price).sum()) * self.step_s
        for job in self.alone:
            value += min(
                float(self._costs(least, job)[1].min()), float(self.unit @ self._tail(job))
            )
        return value
