"""Lower bounds on the expected cost of every policy, by a linear program.

Let the submission, complexity and deadline of each job of a seed be known. A policy
that dispatches a job does not know the job's random delay and execution time. So under
any policy, job j has some probability x_j(t, g) of being dispatched at time t on type
g, and given that, its provisioning delay D and execution time S follow their
distributions (thesis Eq. 3.1, 3.2, 3.12). With L = D + S,

    for each job                   the sum of x_j(t, g) over g and t, from its
                                   submission on, is 1
    for each type g and instant s  the sum of x_j(t, g) P(L > s - t) over j and
                                   t <= s is at most the number of slots of g

and mean wait, misses, tardiness and rent are linear in x. The least value over all such
x is at most the expectation under every policy, even one that knows future arrivals. If
the policy may choose types, one constraint counts the slots of all types together.

By duality the bound is valid without discretising time: for any prices p_g(s) >= 0 of a
slot held at time s,

    sum over j of the least over t, g of
        [cost_j(t, g) + integral of p_g(s) P(L > s - t)]
    - sum over g of slots of g x integral of p_g(s)

is at most that least value. The prices are piecewise linear, with one knot per bin.
They are computed by column generation (with the minima above) for groups of similar
jobs; the bound is then computed for the individual jobs. It is valid for any prices,
but weaker for poor ones. `decide.dispatches` computes the price of a dispatch in each
step.

Treating slots individually does not tighten the bound: any x that meets the capacities
can be followed on each slot. If the slot is free at t, let it take job j with
probability x_j(t, g) / (slots of g x the probability that it is free). By induction
over t the latter is 1 - the sum over j and s < t of x_j(s, g) P(L > t - s) / slots of
g, and by the constraint at t the probabilities of all j add up to at most 1. There
remains a gap to the best policy, because a policy dispatches each job exactly once in
every realisation, not only on average, and because it uses several slots jointly. For
few jobs on one or two slots, `decide.recursion` dispatches each job once in every
realisation.

Measured execution times have no distribution. Their bound holds even for policies that
know every job's time; the expectation is over stock and delays only.

Stock that persists or is replayed is fixed by the seed. The bound then holds for
policies that know its path, hence for all. Given the path, delays are independent
again, and the above holds with the statuses of the path in place of their
probabilities. Terms of renting: with warm instances or refusals, delays are taken as 0
(a warm instance has no delay, a refused job holds no slot), and only execution is
billed. If instances are preempted or jobs suspended, a job may hold its slot in several
parts, and no bound is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import scipy

from cgrsp_simpy.analysis.solver import SOLVED, SolverError, tried_twice
from cgrsp_simpy.base.checks import check_number, check_one_of, require
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.base.parameters import Whole, checked
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.decide.dispatches import STEP_S, Dispatches, Group, Units
from cgrsp_simpy.decide.recommend import Prices, days_of
from cgrsp_simpy.decide.recursion import grid, least_cost
from cgrsp_simpy.market.stock import DAY_S
from cgrsp_simpy.rental.scenario import Scenario

BIN_S = 600.0
GROUPS_PER_BIN = 2
# rounds of column generation at most; columns a group that are kept from one to the
# next
ROUNDS, KEPT = 40, 20
# column generation ends when the bound is this close to the program's value: a share of
# it, and of a job that waits a minute, misses its deadline and is a minute late
GAP_SHARE, GAP = 0.002, 0.06
NEGLIGIBLE_S = 1e-4  # part of a step that is held
LEAST = 1e-9  # minutes, per cent or USD per day: less is rounding
MOST_CELLS = 2e8  # steps times shapes of prices: 1.6 GB
# costs other than execution
BILLED = {"billed_from", "minimum_s", "increment_s", "budget_usd_per_day"}
# Fields that the proofs cover: of a scenario, its terms, its market and hourly stock.
PROVED: dict[str, set[str]] = {
    "scenario": {
        "name",
        "workload",
        "slots",
        "gpus",
        "free_types",
        "market",
        "service",
        "terms",
    },
    "terms": {"retry_s", "warm_s"} | BILLED,
    "market": {
        *("clock", "delay_s", "high_cap", "medium_factor", "medium_cap", "stock"),
        *("persistence_s", "sight", "series"),
    },
    "hourly stock": {"gpu", "chances", "persistence_s"},
}


class Weights(NamedTuple):
    """Weights of a minute of wait, one per cent of misses and a minute of tardiness."""

    wait: float = 0.0
    miss: float = 0.0
    tardiness: float = 0.0


OBJECTIVES = {
    "wait": Weights(wait=1.0),
    "miss": Weights(miss=1.0),
    "tardiness": Weights(tardiness=1.0),
    "mix": Weights(1.0, 1.0, 1.0),
}
"""Objectives by name, without "cost"."""


@dataclass(frozen=True)
class Bound:
    """Lower bound on the expectation of an objective under any policy.

    It holds for given arrivals. value: minutes, per cent, their sum or USD per day,
    depending on the objective; None if no bound above 0 is known. program: optimum of
    the linear program with grouped jobs, which is not a bound, since groups, time steps
    and omitted rounds raise it; None for the recursion. step_s: seconds between knots
    of the prices, or per step of the recursion.
    """

    value: float | None
    program: float | None
    step_s: float


def check_proved(
    scenario: Scenario, what: str = "bound", but: Collection[str] = ()
) -> None:
    """Check that all fields that the proof does not cover have their default values.

    what: name of the result for the message, such as "optimum". but: parts (scenario,
    terms, market, hourly stock) all of whose fields must have their defaults. Raises
    InputError with the name of the field that differs, and for a scenario of another
    model.
    """
    require(
        isinstance(scenario, Scenario),
        "scenario",
        scenario,
        "a scenario of rented slots",
    )
    market = scenario.market
    parts: list[tuple[str, Any]] = [("scenario", scenario), ("terms", scenario.terms)]
    parts += [("market", market), *(("hourly stock", stock) for stock in market.stock)]
    for name, part in parts:
        for item in fields(part):
            if item.init and (name in but or item.name not in PROVED[name]):
                factory = item.default_factory
                usual = item.default if factory is MISSING else factory()
                value, label = getattr(part, item.name), f"{item.name} of the {name}"
                require(value == usual, f"no {what} known: {label}", value, f"{usual}")


def check_bin(name: str, bin_s: float, unit_s: float = 1.0) -> None:
    """Check that bin_s is from 1 second to 1 day. unit_s: its unit, in seconds."""
    check_number(name, bin_s, least=1 / unit_s)
    require(bin_s <= DAY_S / unit_s, name, bin_s, f"at most {DAY_S / unit_s:g}")


def _units(scenario: Scenario, objective: str | Weights | Prices) -> Units:
    """Return the costs of wait, misses, tardiness and rent in an objective."""
    if objective == "cost":
        objective = Prices()
    jobs = scenario.jobs
    if isinstance(objective, Prices):
        days = days_of(scenario)
        return Units(
            objective.price_wait / 60 / days,
            objective.price_miss / days,
            objective.price_late / 60 / days,
            rent=1 / days,
            weighed=True,
            constant=objective.price_slot * len(scenario.slots),
        )
    if not isinstance(objective, Weights):
        check_one_of("objective", objective, [*OBJECTIVES, "cost"])
        objective = OBJECTIVES[objective]
    for name, weight in zip(Weights._fields, objective):
        check_number(f"weight of {name}", weight, least=0)
    require(any(objective), "weights", tuple(objective), "not all 0")
    wait, miss, late = objective
    return Units(wait / 60 / jobs, 100 * miss / jobs, late / 60 / jobs)


@checked
def lower_bound(
    scenario: Scenario,
    seed: Whole = 0,
    objective: str | Weights | Prices = "mix",
    bin_s: float | None = None,
) -> Bound:
    """Return a lower bound on the expectation of an objective for a seed's arrivals.

    It is computed by a linear program (see the module's docstring), or for few jobs on
    one or two slots by a recursion (`decide.recursion`). Persistent stock follows the
    path of the seed.

    scenario: jobs must need one GPU each; for a log the bound holds even for policies
    that know the measured times, and the expectation is over stock and delays. seed:
    seed of the arrivals and of persistent stock, >= 0. objective: "wait" (min), "miss"
    (%), "tardiness" (min), "mix" (their sum), or Weights of these, >= 0; "cost" or
    Prices: USD per day as in `advise`, including rent; a job's weight multiplies the
    costs of its wait, miss and lateness. bin_s: seconds between knots of the prices,
    from 1 to a day; narrower bins give tighter bounds and take longer (on a hectic day,
    bins of 20, 10 and 5 minutes take about 5, 15 and 70 seconds); None: the recursion
    if there are few jobs and slots, else BIN_S. The bound has the unit of the
    objective. Raises InputError for an unknown objective, an invalid seed or bin, jobs
    of several GPUs, a log of many days, narrow bins over a long time, and terms without
    a known bound; SolverError if the solver fails.
    """
    check_proved(scenario)
    units = _units(scenario, objective)
    if bin_s is not None:
        check_bin("bin_s", bin_s)
    drawn = list(scenario.workload.generate(seed, scenario.service))
    widest = max((job for job, _ in drawn), key=lambda job: job.gpus)
    require(
        widest.gpus == 1,
        f"gpus of job {widest.id}",
        widest.gpus,
        "1 if a bound is computed",
    )
    small = grid(scenario, seed, drawn, units) if bin_s is None else None
    if small:
        value, program, step_s = least_cost(small, scenario), None, small.step_s
    else:
        step_s = BIN_S if bin_s is None else float(bin_s)
        width = math.ceil(step_s / STEP_S)
        linear = _Program(
            Dispatches(scenario, seed, drawn, units, step_s / width, width), width
        )
        price, optimum = linear.solve()
        value = linear.bound(price)
        program = (optimum if optimum > LEAST else 0.0) + units.constant
    return Bound(value + units.constant if value > LEAST else None, program, step_s)


Columns = dict[tuple[int, int, int], list[tuple[int, int]]]
"""Level, type and probabilities -> pairs of a group's number and a step."""


class _Program:
    """Linear program over dispatches on a time grid. width: number of steps per bin."""

    def __init__(self, problem: Dispatches, width: int) -> None:
        self.problem, self.width = problem, width
        bin_s = width * problem.step_s
        require(
            problem.end * (problem.end // width) <= MOST_CELLS,
            "bin_s",
            bin_s,
            f"greater for a horizon of {problem.end * problem.step_s / 3600:.1f} h",
        )
        self.groups = self._grouped(bin_s / GROUPS_PER_BIN)
        self.basis = self._basis()
        slot_s = self.basis.sum(axis=0) * problem.step_s
        self.room_s = np.concatenate([slots * slot_s for slots in problem.slots])
        # columns: their costs, their groups, and their use of each shape of
        # price
        self.cost, self.row = np.empty(0), np.empty(0, int)
        self.used = scipy.sparse.csr_array((0, len(self.room_s)))

    def _grouped(self, span_s: float) -> list[Group]:
        """Group jobs by level, submission and, if deadlines matter, deadline."""
        due_counts = self.problem.units.miss or self.problem.units.late

        def spans(job: Group) -> tuple[float, float, int]:
            due = due_counts and job.deadline_s // span_s
            return job.submit_s // span_s, due, job.c

        return [
            Group(
                summed(job.submit_s for job in jobs) / len(jobs),
                summed(job.deadline_s for job in jobs) / len(jobs),
                c,
                len(jobs),
            )
            for (_, _, c), jobs in grouped(self.problem.jobs, spans).items()
        ]

    def _basis(self) -> np.ndarray:
        """Return the basis functions of the prices, shape (steps, functions).

        They are hat functions at the knots. A hat is split in two where the clock
        changes the stock, and at the first submission if that is one bin or more after
        0, since no slot is held before it. Prices jump at a change, since jobs are
        dispatched before a change for the worse; so each side of a change also has a
        constant function as long as the shortest occupation.
        """
        problem, end = self.problem, self.problem.end
        first = int(problem.jobs[0].submit_s / problem.step_s)
        cuts = {*problem.changes, *([first] if first >= self.width else [])}
        middle = np.arange(end) + 0.5
        knots = sorted({*range(0, end + 1, self.width), *cuts})
        block = round(float(problem.holds.mean_s.min()) / problem.step_s)
        shapes = []
        for before, knot, after in zip(knots[:1] + knots, knots, [*knots[1:], end]):
            up = np.where(
                (before < middle) & (middle < knot),
                (middle - before) / max(knot - before, 1),
                0.0,
            )
            down = np.where(
                (knot < middle) & (middle < after),
                (after - middle) / max(after - knot, 1),
                0.0,
            )
            shapes += [up, down] if knot in cuts else [up + down]
        for change in problem.changes:
            shapes += [
                (change - block < middle) & (middle < change),
                (change < middle) & (middle < change + block),
            ]
        return np.array([shape for shape in shapes if shape.any()], float).T

    # ---- columns ----

    def _add(self, wanted: Columns) -> None:
        """Add columns: costs, groups, and slot-seconds per pool and basis function."""
        problem, shapes, size = self.problem, self.basis.shape[1], len(self.room_s)
        cost, row, used = [self.cost], [self.row], [self.used]
        for (c, g, v), pairs in wanted.items():
            groups, steps = np.array(pairs).T
            distinct, place = np.unique(steps, return_inverse=True)
            held_s = np.diff(problem.holds.held_s[c, g, v])
            held_s = held_s[held_s > NEGLIGIBLE_S]
            padded = np.vstack([self.basis, np.zeros((len(held_s), shapes))])
            matrix = np.zeros((len(distinct), size))
            columns = slice(problem.pool[g] * shapes, (problem.pool[g] + 1) * shapes)
            matrix[:, columns] = [
                held_s @ padded[step : step + len(held_s)] for step in distinct.tolist()
            ]
            used.append(scipy.sparse.csr_array(matrix)[place])
            row.append(groups)
            cost += [
                problem.at(self.groups[r], g, v, np.array([step])) for r, step in pairs
            ]
        self.cost, self.row = np.concatenate(cost), np.concatenate(row)
        self.used = scipy.sparse.csr_array(scipy.sparse.vstack(used))

    def _start(self) -> None:
        """Add the initial columns: a dispatch of each group at each bin, and one after
        the horizon, which uses no slot.
        """
        problem, wanted = self.problem, Columns()
        bins = [*range(0, problem.end, self.width), problem.end]
        for r, group in enumerate(self.groups):
            for step in bins:
                if step * problem.step_s >= group.submit_s:
                    for g, v in enumerate(
                        problem.kind[np.searchsorted(problem.steps, step)].tolist()
                    ):
                        wanted.setdefault((group.c, g, v), []).append((r, step))
        self._add(wanted)

    def solve(self) -> tuple[np.ndarray, float]:
        """Return the best prices found, per slot-second, by pool and step, and the
        value of the linear program.
        """
        self._start()
        units, jobs = self.problem.units, [group.jobs for group in self.groups]
        near = GAP * sum(jobs) * max(60 * units.wait, units.miss / 100, 60 * units.late)
        best, best_price = -math.inf, np.zeros(len(self.room_s))
        for turn in range(ROUNDS):
            once = scipy.sparse.csr_array(
                (np.ones(len(self.row)), (self.row, np.arange(len(self.row))))
            )
            solution = self._solved(once, jobs)
            price = np.maximum(0.0, -solution.ineqlin.marginals)
            # prices oscillate in the first rounds: half a step is better
            tried = (price + best_price) / 2 if turn else price
            value, wanted = self._answers(tried)
            if value > best:
                best, best_price = value, tried
            if solution.fun - best <= max(near, GAP_SHARE * solution.fun):
                break
            self._drop(solution)
            self._add(wanted)
        return self._by_step(best_price), float(solution.fun)

    def _solved(
        self, once: scipy.sparse.csr_array, jobs: list[int]
    ) -> scipy.optimize.OptimizeResult:
        linprog: Callable[..., scipy.optimize.OptimizeResult] = scipy.optimize.linprog
        program = self.cost, self.used.T, self.room_s, once, jobs
        solution = tried_twice(
            lambda presolve: linprog(*program, options={"presolve": presolve})
        )
        if solution.status != SOLVED:
            raise SolverError(
                "no lower bound: the solver failed, with presolve and without:"
                f" {solution.message}"
            )
        return solution

    def _answers(self, price: np.ndarray) -> tuple[float, Columns]:
        """Return the dual bound at prices, and each group's best column per type."""
        problem, wanted = self.problem, Columns()
        least, value = problem.least(self._by_step(price)), -float(price @ self.room_s)
        for r, group in enumerate(self.groups):
            first, cost = problem.costs(least, group)
            value += group.jobs * float(cost.min())
            for g, piece in enumerate((first + cost.argmin(axis=0)).tolist()):
                step, v = int(problem.steps[piece]), int(problem.kind[piece, g])
                ends = (r, step), (r, min(step + 1, problem.end))
                wanted.setdefault((group.c, g, v), []).extend(ends)
        return value, wanted

    def _drop(self, solution: scipy.optimize.OptimizeResult) -> None:
        """Drop columns that are unused and have a large reduced cost."""
        reduced = solution.lower.marginals
        most = np.sort(reduced)[: KEPT * len(self.groups)][-1]
        keep = np.flatnonzero(solution.x.astype(bool) | (reduced <= most))
        self.cost = self.cost[keep]
        self.row = self.row[keep]
        self.used = self.used[keep]

    # ---- the bound at prices ----

    def _by_step(self, price: np.ndarray) -> np.ndarray:
        """Convert prices per pool and basis function to prices per pool and step."""
        return np.asarray(price.reshape(len(self.problem.slots), -1) @ self.basis.T)

    def bound(self, price: np.ndarray) -> float:
        """Return the bound for individual jobs at prices per pool and step."""
        problem = self.problem
        least = problem.least(price)
        value = -float((problem.slots @ price).sum()) * problem.step_s
        for job in problem.jobs:
            value += float(problem.costs(least, job)[1].min())
        return value
