"""Check by mutation whether the quick tests detect changes of the program.

    python -m tests.mutation --sample 200

draws changes by a seed, the same number in each room of the package, makes each in a
copy of the project and asks the tests that run the changed line, up to the first that
fails: the FIRST of those that run the fewest lines, then the others. The file `--lines`
says which test runs which lines; if it is not there, all quick tests are run once to
record it: delete it when much has changed. Each change after which no test fails is
printed, and counts by room; exit status 1 where a room falls below its floor. Drawings
and pages are left out: their numbers are sizes and places on paper; and the data of
figures: the long tests compute the committed rows again. Changes that cannot alter any
result are listed in EQUAL, with the reason.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import Queue
from typing import NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "cgrsp_simpy"
FLOORS = {  # share of the changes that the quick tests must notice
    "engine": 0.98,
    "rental/policies": 0.98,
    "rental/kernel": 0.95,
    "rental": 0.95,
    "market": 0.95,
    "waiting": 0.95,
    "cluster": 0.95,
    "dag": 0.95,
    "hgsp": 0.95,
    "analysis": 0.95,
    "studies": 0.95,
    "base": 0.95,
    "logs": 0.95,
    "spot": 0.95,
    "llm": 0.95,
    "decide": 0.95,
    "exercises": 0.95,
    "cli": 0.95,
    "papers": 0.95,
}
LEFT_OUT = ("plots", "app")  # rooms of drawings and pages
DRAWN = ("figures", "page")  # ends of the names of files of drawings
NOT_COPIED = (".git", ".venv", ".*cache*", "__pycache__", "build", "dist")
FIRST = 40  # tests asked before the others are
ALL_S = 3600  # of all tests, to record which lines they run
SAVED = "100 * (only_usd - cost_usd) / most_usd if most_usd "
EQUAL: dict[tuple[str, str], str] = {
    (
        "engine/resources.py",
        "super().__init__(env, capacity=spec.size or 1.1, init=spec.size)",
    ): ("of a pool of nothing, nothing is ever taken or given back"),
    (
        "engine/resources.py",
        "return rounded if abs(rounded - amount) <= TOLERANCE / 1000 else amount",
    ): "no rounding error is exactly so large",
    **dict.fromkeys(
        [
            (
                "engine/ledger.py",
                "if left * 1:  # only fractions have rounding errors",
            ),
            ("engine/ledger.py", "if left * 1:"),
            ("engine/ledger.py", "if left % 2:"),
        ],
        "whole amounts are exact: the condition only saves time",
    ),
    (
        "engine/watchdog.py",
        "self._at_one_time = self._without_progress = 1",
    ): "the first count sets both to 0",
    (
        "studies/executors.py",
        "return results, max(1.1000000000000001e-09, time.perf_counter() - begin_s)",
    ): "no task takes so little time",
    (
        "analysis/statistics.py",
        "least, most = 1, 3",
    ): "the search between the two finds the same number",
    (
        "logs/formats.py",
        "numbers = [int(text) for text in ids] if are_numbers else list(range(1, jobs"
        " + 2))",
    ): "the other columns of a row end first",
    (
        "base/compiled.py",
        "return path or Path(path)",
    ): "only compiled functions have a path",
    (
        "base/table.py",
        'return f"{value:,.4g}" if abs(value) < 1001 else f"{value:,.0f}"',
    ): "four digits of such a number are its whole part",
    (
        "base/metric.py",
        "return kind in PLAIN and (issubclass(kind, Enum) and in_package)",
    ): "values of these types are examined one by one with the same result",
    (
        "base/compiled.py",
        'how = {"forceinline": False, **CALLEE}',
    ): "inlined or not, a function computes the same",
    (
        "rental/kernel/rules.py",
        "best, row, gpus, nth = 0, 1, 0, 0",
    ): "the first turn of the loop sets the row",
    (
        "rental/kernel/rules.py",
        "if uniform <= setting.below[kind, band, 0]:",
    ): "no number is drawn that is exactly this one",
    (
        "rental/kernel/queue.py",
        "run.at_s[other] == run.at_s[least] and run.order[other] <= run.order[least]",
    ): "no two events that come have the same order",
    (
        "rental/kernel/queue.py",
        "run.number.order += 2",
    ): "only which order is less is read",
    (
        "rental/kernel/rules.py",
        "run.rank[job_class, 0, 1] = run.answer[0]",
    ): "the other number of a rank is 0 in all classes",
    (
        "rental/kernel/rules.py",
        "epoch = bisect(epochs_s, at_s, 1, len(epochs_s), True) - 1",
    ): "the first variate holds from the begin",
    (
        "rental/policies/outlook.py",
        "bisect_right(forecasts.starts_s, time_s % DAY_S, 1, len(forecasts.starts_s))"
        " - 1",
    ): "the first band begins at midnight",
    (
        "rental/kernel/rules.py",
        "band = bisect(setting.hours, hour, 1, len(setting.hours), True) - 1",
    ): "the first band begins at midnight",
    (
        "rental/kernel/loop.py",
        "if number.done > len(run.out) - len(run.fleet):",
    ): "one event ends one job: there is room for it",
    (
        "rental/kernel/queue.py",
        "while at and not free and run.idle[run.offers[at - 1]] >= slot:",
    ): "no two offers have the same slot",
    (
        "rental/kernel/loop.py",
        "if run.at_s[len(run.fleet) + 1] <= math.inf:  # set in the run's first state",
    ): "events that never come have no order",
    ("rental/kernel/loop.py", "run.fleet[slot].row = -2"): "no row is negative",
    (
        "exercises/outputs.py",
        "np.sum(np.cumsum(gaps) + _responses(gaps, works) < closes),",
    ): "no drawn customer leaves at exactly this time",
    (
        "exercises/outputs.py",
        "np.reshape(waits, (-2, batches)).T.ravel(), batches",
    ): "NumPy computes any negative length",
    (
        "exercises/scheduling.py",
        "jobs = tuple(map(_Job, range(len(columns[1])), *columns))",
    ): "the columns of the jobs have the same length",
    (
        "rental/bulk.py",
        "self.most = max(widths(scenario.workload), default=2)",
    ): "it only reserves more memory",
    (
        "rental/bulk.py",
        "until_s = 3 * self.run.now_s[0] + LOOK_AHEAD_S",
    ): "drawn further ahead, the stock is the same",
    ("rental/bulk.py", 'fleet["row"] = fleet["payer"] = -2'): "no row is negative",
    (
        "rental/kernel/loop.py",
        "number.open = 2",
    ): "any number but 0 is true",
    (
        "hgsp/exact.py",
        "(dict.fromkeys(self._x[i], 1.0), 1.0, 1.1),  # Eq. 2",
    ): "they are whole numbers",
    (
        "hgsp/exact.py",
        "self._rows.append((both, -np.inf, 1.1))",
    ): "they are whole numbers",
    **dict.fromkeys(
        [
            ("hgsp/exact.py", line)
            for line in (
                "left = known * (2 + 1e-9) - (alone.sum() - alone)",
                "left = known * (1 + 1.1000000000000001e-09) - (alone.sum() - alone)",
                "left = known * (1 + 1e-9) + (alone.sum() - alone)",
                "allowed_s = left / np.where(jobs.weight > 0, jobs.weight,"
                " 1.1000000000000002e-12)",
                "big = max(1.0, self._latest_s[first]"
                " - self.instance.arrival_s[second])",
                "big = max(0.0, self._latest_s[first]"
                " + self.instance.arrival_s[second])",
                "for since_s in np.unique("
                "jobs.arrival_s[jobs.arrival_s < jobs.arrival_s[k]]):",
                "before = [i for i in range(n)"
                " if i != k and jobs.arrival_s[i] > since_s]",
                "**{self._y[i, k]: jobs.least_time_s[i] for i in before},",
                "if more >= 0:",
                "if more > 1:",
                "self._x[k, j]: more,",
                "**{self._y[i, k]: self._times_s[i, j] for i in fit},",
                "for j in range(2, len(times_s)):",
                "before = dict.fromkeys(self._x[fit[:place], j - 1], -1.1)",
                "self._rows += [({self._x[i, j]: 1.0, **before}, -np.inf, 1.0)]",
                "most[starts] = np.maximum("
                "jobs.arrival_s, self._latest_s + jobs.least_time_s)",
                "most[late] = np.maximum("
                "least[late], self._latest_s + jobs.deadline_s)",
            )
        ],
        "a looser limit has the same optimum: it only takes time",
    ),
    **dict.fromkeys(
        [
            ("rental/kernel/queue.py", "if at - first <= last - at - 1:"),
            ("rental/kernel/queue.py", "if at - first < last + at - 1:"),
            ("rental/kernel/queue.py", "if at + first < last - at - 1:"),
        ],
        "either part of the queue may move: the shorter one takes less time",
    ),
    ("dag/graph.py", "if len(answer) <= self.nodes:"): (
        "a graph without a cycle passes the second test, too"
    ),
    (
        "market/measured.py",
        "even = polls.snapshots.time_s // DAY_S % 2 == 1",
    ): "both halves of the days are used alike",
    (
        "market/measured.py",
        "medium = min(round(shares[1], 4), round(1 - high, 5))",
    ): "the share of High has four digits: one minus it has no more",
    (
        "studies/isolation.py",
        "return generator.get_state(legacy=True)  # the global generator of NumPy",
    ): "equal states are equal in either form",
    (
        "hgsp/descent.py",
        "best_s, chosen, where, begin_s = inf, 1, 0, 0.0",
    ): "every task fits on a GPU, which replaces it",
    (
        "decide/bounds.py",
        "(before < middle) & (middle <= knot),",
    ): "knots are whole numbers, and middles are not",
    (
        "decide/recommend.py",
        "*((hour - later_h, number) for later_h in MOVES_H),",
    ): "hours move as far forward as back",
    (
        "studies/isolation.py",
        'ATOMS = {*map(type, (None, True, 1, 0.0, "", b"", (), [])), dict, type,'
        " FunctionType}",
    ): "1 has the type of 0",
    **dict.fromkeys(
        [
            ("rental/kernel/rules.py", f"best, best_tier, least = -1, {start}")
            for start in (
                "1, (0.0, 0.0, 0.0, 0)",
                "0, (1.0, 0.0, 0.0, 0)",
                "0, (0.0, 1.0, 0.0, 0)",
                "0, (0.0, 0.0, 1.0, 0)",
                "0, (0.0, 0.0, 0.0, 1)",
            )
        ],
        "the first key is compared with none",
    ),
    (
        "hgsp/instance.py",
        "number > 1 and number % (3 * n) == 0,",
    ): "a positive multiple of 3 is more than 1",
    **dict.fromkeys(
        [
            ("hgsp/instance.py", ").reshape(-2, len(numbers))"),
            (
                "hgsp/bounds.py",
                "np.maximum(0.0, -result.ineqlin.marginals).reshape(len(models), -2)",
            ),
            (
                "rental/bulk.py",
                "lines.reshape(len(forecasts.starts_s), levels, -2),",
            ),
        ],
        "NumPy computes any negative length",
    ),
    (
        "analysis/statistics.py",
        "allowed = np.where(np.isinf(magnitudes), 1, rounding)[order]",
    ): "an infinite number is apart from every finite one",
    (
        "analysis/statistics.py",
        "least, most = most, 3 * most",
    ): "halving finds the same number between any two such bounds",
    (
        "studies/compare.py",
        "have, need = len(study.seeds), 1",
    ): "a study has at least one seed",
    (
        "studies/compare.py",
        "scenario, named[policy], seed, records=True",
    ): "the figures of a run do not depend on its records",
    (
        "studies/replicate.py",
        "if all(row == rows[1] for row in rows):",
    ): "rows that equal the second equal the first",
    (
        "studies/replicate.py",
        "engine_used = engine_for(engine, wanted, _work(blocks) / max(1, workers))",
    ): "the limit is a whole number: a fraction below it is rounded to below it",
    **dict.fromkeys(
        [
            (
                "analysis/queueing.py",
                f"lost = np.ones(int(numbers.max(initial={initial})) + {more})",
            )
            for initial, more in ((1, 1), (0, 2))
        ],
        "the recursion goes on, and its further terms are not returned",
    ),
    (
        "analysis/queueing.py",
        "left = wait * np.where(rho <= 1, underloaded, 1 - 1 / rho + 1 / (rho *"
        " growth))",
    ): "at a load of 1 both forms lose no digits",
    **dict.fromkeys(
        [
            (
                "studies/replicate.py",
                f"shared = len(policies) {more} and users_part(scenario) is None",
            )
            for more in ("> 2", ">= 1")
        ],
        "what is drawn belongs to the seed: each run draws the same again",
    ),
    (
        "studies/isolation.py",
        'compiles = how.get("engine", "simpy") == "simpy"',
    ): "policies that can be compiled remember nothing: a copy gives the same results",
    (
        "studies/replicate.py",
        "first = store.take_numbers(len(tasks)) if store else 1",
    ): "without a store, no file has a number",
    (
        "analysis/statistics.py",
        "return mean(x[len(x) % batches :].reshape(batches, -2).mean(axis=1),"
        " confidence)",
    ): "NumPy computes any negative length",
    **dict.fromkeys(
        [
            (
                "analysis/queueing.py",
                f"if ratio {below}:  # the terms fall by e^-0.19 or faster",
            )
            for below in ("<= 0.5", "< 0.55")
        ],
        "at such a load both forms lose no digits",
    ),
    (
        "base/policy.py",
        "assert spec is not None or spec.loader is not None",
    ): "it is for the type checker: of a file neither is None",
    (
        "analysis/statistics.py",
        "starts = np.flatnonzero(np.append(len(known) >= 0, apart))",
    ): "no numbers have no ranks",
    (
        "waiting/recursion.py",
        "state = [np.array(column, float) for column in ([], *free, [0.0, math.inf])]",
    ): "no job has left that could have had a place before the first start",
    (
        "waiting/recursion.py",
        "fast: bool = True,",
    ): "compiled or not, the starts are the same",
    **dict.fromkeys(
        [
            ("waiting/plan.py", "fast = len(kinds) * 100 > COMPILED_FROM"),
            ("waiting/plan.py", "fast = len(kinds) * 101 >= COMPILED_FROM"),
            ("waiting/plan.py", "fast = len(kinds) / 100 >= COMPILED_FROM"),
        ],
        "compiled or not, the starts are the same",
    ),
    (
        "analysis/queueing.py",
        "k = np.arange(1, 301)",
    ): "the last of 300 terms is below e^-57",
    (
        "rental/process.py",
        "run.view._closed.setdefault(number, 1.0)",
    ): "a slot that is closed at the start has no job until it opens: no time is read",
    (
        "rental/kernel/loop.py",
        "elif leaf >= len(run.fleet):",
    ): "equal numbers are in the case before",
    (
        "exercises/outputs.py",
        "lambda clerks: mmc(rate / 60, 1 / work, clerks).wait_s < limit,",
    ): "no mean wait is exactly its limit",
    (
        "engine/resources.py",
        "width = width + half",
    ): "a wider search finds the same bit: it only takes time",
    (
        "rental/kernel/rules.py",
        "for level in range(len(run.fastest_s) if offers else 1):",
    ): "without an idle slot, no rule that reads it is asked",
    ("rental/kernel/rules.py", "run.shown[:] = -2"): "any negative number is no status",
    ("rental/kernel/rules.py", "return -2"): "any negative number is no type",
    (
        "rental/kernel/rules.py",
        "for slot in range(len(run.fleet) if setting.how.looks_ahead else 1):",
    ): "no rule reads the time otherwise",
    (
        "rental/policies/triage.py",
        "return inf if cheaper(now, front, offers, left) else -1.1",
    ): "any negative time is none",
    (
        "market/model.py",
        "for turn in range(first, int(before_s / self.length_s) + 1):",
    ): "of a positive quotient, int takes the whole part, too",
    (
        "market/stock.py",
        "for day in range(int(after_s // DAY_S), int(before_s / DAY_S) + 1):",
    ): "of a positive quotient, int takes the whole part, too",
    ("rental/kernel/bill.py", "run.fleet[slot].payer = -2"): "no row is negative",
    (
        "exercises/inputs.py",
        "or (bool(day) and day == _arrivals(submitted, seed + 2, 1))",
    ): "any other seed gives other arrivals",
    (
        "exercises/inputs.py",
        '"": not wrong.any() and abs(dispersion) <= MOST_Z * sd,',
    ): "a rational number, such as the dispersion, is not equal to this root",
    (
        "exercises/inputs.py",
        "wrong = np.abs(means - MEAN_COUNTS) > MOST_Z * np.sqrt(MEAN_COUNTS / DAYS)",
    ): "a multiple of 0.001 is not equal to this root",
    (
        "exercises/inputs.py",
        "halves, expected = (x.reshape(-2, 48, 5).sum(axis=2)"
        " for x in (counts, MEAN_COUNTS))",
    ): "NumPy computes any negative length",
    (
        "base/table.py",
        'return f"{value:,.4g}" if abs(value) <= 1000 else f"{value:,.0f}"',
    ): "both write 1000 as 1,000",
    (
        "rental/policies/rules.py",
        "if deadlines_s[first] > before_s:",
    ): "no job is due before the first: it only takes time",
    (
        "market/series.py",
        '_, header = next(table, (1, ""))',
    ): "the number of the line is not used",
    ("logs/log.py", "return stamp, False"): (
        "only different answers in one file have an effect"
    ),
    (
        "rental/bulk.py",
        "table = np.zeros(len(columns[1]), state.JOB)",
    ): "all columns are equally long",
    **dict.fromkeys(
        [
            (
                "rental/state.py",
                f"for slot in (SlotView({index}, gpu) for gpu in scenario.types)",
            )
            for index in (1, -2)
        ],
        "of an observation only the type is read",
    ),
    (
        "base/metric.py",
        'in_package = kind.__module__.partition(".")[1] in KNOWN',
    ): "an enumeration has no parts: it only saves time",
    (
        "engine/state.py",
        'if table.get("wake_s", 1.0) is None:',
    ): "any default but None is the same",
    (
        "exercises/processes.py",
        "lambda _, services: 0 / services,",
    ): "no service takes 0 s",
    (
        "waiting/plan.py",
        "for n in (number, YEAR_D / length)",
    ): "a multinomial draw takes the whole part of a number",
    (
        "waiting/plan.py",
        "moved = draws.integers(1, max(days / step, 2), len(row)) * step * DAY_S"
        " * ~first",
    ): "a draw of integers takes the whole part of its limit",
    **dict.fromkeys(
        [
            ("waiting/scenario.py", line)
            for line in (
                "short = np.where(short, draws >= errors.run_over, draws"
                " <= errors.run_under)",
                "short = np.where(short, draws > errors.run_over, draws"
                " < errors.run_under)",
                "predictions[draws <= errors.wait_over] = RENTS_AT_ONCE",
                "predictions[draws > 1 - errors.wait_under] = MISLED",
            )
        ],
        "no number is drawn that is exactly this one",
    ),
    (
        "market/stock.py",
        "path, begin_s, was_low = self._path(gpu), 0.0, False",
    ): "a shortage from time 0 on is after no time that is asked for",
    (
        "waiting/plan.py",
        "first = np.diff(row, prepend=-2) > 0",
    ): "any negative number is below every row",
    (
        "market/model.py",
        "for turn in range(first, int(before_s // self.length_s) + 2):",
    ): "times after the span are left out",
    (
        "rental/kernel/rules.py",
        "if figures.next_free_s <= run.now_s[0] or figures.next_free_s == math.inf:",
    ): "of two equal times, either is the same",
    **dict.fromkeys(
        [
            (
                "rental/state.py",
                "held = [stock.status(gpu, at_s, 1.0)"
                " for gpu in gpus if stock.persists(gpu)]",
            ),
            ("rental/report.py", "status = stock.status(gpu, at_s, 1.0)"),
            (
                "rental/view.py",
                "status = self._stock.status(slot.gpu, seen_s, 1.0)",
            ),
        ],
        "of stock that persists the variate of a job is not used",
    ),
    (
        "rental/report.py",
        "day = [1.0, *law_changes_s(market, 0.0, DAY_S), DAY_S]",
    ): "a second of a day takes no hour across the mean",
    (
        "rental/bulk.py",
        'more["free"] = np.concatenate([np.arange(size, 3 * size), run.free])',
    ): "what is behind the number of free rows is never read",
    (
        "dag/platform.py",
        "one == other, source * self.gpus + target, -1 - one / self.gpus - other",
    ): "numbers of links need only differ",
    (
        "dag/problem.py",
        "if gpu.shape[1] and (problem.contention or gpu.shape[1] < FEW):",
    ): "plans at once have the same times as one by one, to the bit",
    (
        "dag/problem.py",
        "of_unit = np.full(graph.units, -2)",
    ): "every unit has a node",
    (
        "hgsp/descent.py",
        "before = start_s + opens[k] >= gaps.shortest_s[j]",
    ): "gaps too short for any task only take time",
    (
        "waiting/report.py",
        "self._counted, self._uncounted, self._enough = 0, 1, CHUNK",
    ): "however many jobs are counted at once, the sums are the same",
    (
        "cluster/logs.py",
        "held_s = np.maximum(end_s - start_s,"
        ' np.maximum(table.get("limit_s", 1), 1.0))',
    ): "without limits, a second is the least time",
    **dict.fromkeys(
        [
            ("spot/report.py", SAVED + "> 1.1000000000000001e-09 else nan"),
            ("spot/report.py", SAVED + ">= 1e-9 else nan"),
        ],
        "no saving is so small: this is the rounding of two equal costs",
    ),
    (
        "papers/thesis/printed.py",
        "agree += gaps < z_limit(days) * errors",
    ): "no gap of computed means is equal to its limit",
    (
        "exercises/exercise.py",
        "while self.peek() < END:",
    ): "no event of an exercise is at this time",
    (
        "exercises/outputs.py",
        "return float(times[np.cumsum(gaps) + served * times > warm_up].mean())",
    ): "no drawn customer arrives, or is served, at exactly this time",
    (
        "cluster/policies.py",
        'if len(queue) or blocked != "skip":',
    ): "if no job fits, none starts, whatever the queue",
    (
        "cluster/logs.py",
        "before = np.where(late | (before >= np.arange(len(table))), -2, before)",
    ): "every negative number becomes -1",
    (
        "cluster/scenario.py",
        "if (rest_s := ended_s + think_s - run.now_s) >= 0:",
    ): "a delay of 0 s ends at the same time",
    **dict.fromkeys(
        [
            (
                "cluster/backfilling.py",
                "return any(start_s < now_s for start_s, _ in self._coming[:2]) or (",
            ),
            (
                "cluster/backfilling.py",
                "any(end_s <= now_s for end_s, _ in view.ends[:2])"
                "  # by its first estimate",
            ),
        ],
        "they are in order: the first is the least",
    ),
    (
        "analysis/statistics.py",
        "positive2, most2 ="
        " int(ranks2[differences[left] >= 0].sum()), int(ranks2.sum())",
    ): "of these differences none is 0",
    (
        "dag/listing.py",
        "self._gaps[place : place + 1] ="
        " [part for part in parts if part[1] <= part[0]]",
    ): "gaps of no length hold no run: they only take time",
    (
        "decide/advice.py",
        "part = since_s / (max(span_s, since_s.max()) or 1.1) * parts",
    ): "of no time, every part is the first",
    (
        "decide/recommend.py",
        "LEVELS = [level for number in range(5)"
        " for level in combinations(CHANGES, number)]",
    ): "there are no four of three kinds of change",
    (
        "decide/month.py",
        "scenario, policy, month_day.seed, records=True, engine=engine",
    ): "only the totals of a day are used: records only take memory",
    (
        "decide/gaps.py",
        "lines += [(0, 2, 0), (1, 0, 0)]",
    ): "twice a number is at least 0 if the number is",
    (
        "market/zones.py",
        "up = bool(random.random() <= self.up_h / (self.up_h + self.down_h))",
    ): "no number is drawn that is exactly this one",
    (
        "papers/dag/searches.py",
        "spiral = generator.random((shape[0], 1)) > 0.5",
    ): "no number is drawn that is exactly this one",
    (
        "papers/thesis/statements.py",
        '_column("significant", lambda p: np.sum(p <= 0.05), 15, 15, "5.3", "p"),',
    ): "no printed p is exactly this one",
    (
        "papers/thesis/statements.py",
        "lambda p: (22 - 15 + 1) * p[p <= 0.05].max(),",
    ): "no printed p is exactly this one",
    (
        "spot/optimum.py",
        "value = np.full((self.idle + max(self.market.regions) + 2, len(left)),"
        " np.inf)",
    ): "a row of no region is never read",
    **dict.fromkeys(
        [
            ("spot/policies.py", "if lead_s < ROUNDING_S:"),
            ("spot/policies.py", "if lead_s > -ROUNDING_S:"),
            ("spot/policies.py", "if left_s < ROUNDING_S:"),
            ("spot/policies.py", "if view.now_s > net_s - ROUNDING_S:"),
            ("spot/policies.py", "if view.on is None and behind_s < ROUNDING_S:"),
            (
                "spot/scenario.py",
                "lambda hours: abs(hours * HOUR_S - max(1, round(hours * HOUR_S)))"
                " <= 1e-6,",
            ),
            ("spot/scenario.py", "if self.deadline <= least_h - 1e-9:"),
            (
                "spot/scenario.py",
                "if run.view.left_s <= ROUNDING_S:"
                "  # the job completes at this instant",
            ),
            ("spot/view.py", "if self._on is None or left_s <= ROUNDING_S:"),
            ("spot/view.py", "return view.slack_s < least_slack_s(view) + ROUNDING_S"),
            ("hgsp/descent.py", "if objective(best) < least or tried >= moves:"),
            ("hgsp/descent.py", "if abs(delay_s) < ROUNDING * now_s:"),
            ("hgsp/schedule.py", ">= 1e-9 * np.maximum(1, self.finish_s),"),
            (
                "rental/policies/outlook.py",
                "if delay.mean_s <= least_s - ROUNDING:",
            ),
        ],
        "no difference of times is exactly the rounding error that is allowed",
    ),
    (
        "hgsp/schedule.py",
        "continue",
    ): "of no GPUs, none is assigned: it only takes time",
    (
        "rental/policies/outlook.py",
        "return make_dataclass(kind.__name__, kind._fields, slots=False)",
    ): "no other attribute is set: slots only save time and memory",
    **dict.fromkeys(
        [
            ("rental/policies/watch.py", "if recovers < ROUNDING:"),
            (
                "rental/policies/outlook.py",
                "if not holding.persistence_s or 1 - low < ROUNDING:",
            ),
        ],
        "1 minus a probability is a multiple of 2**-53, which 1e-9 is not",
    ),
    ("rental/policies/rules.py", "if view.waiting < 1:"): (
        "one job is the first in any order: it only takes time"
    ),
    (
        "rental/policies/triage.py",
        "if before <= (-front.index, front.deadline_s, front.id):",
    ): "no two jobs have the same id",
    (
        "rental/policies/triage.py",
        "if usd < 0.0:  # not even if it is in time then",
    ): "0 is not more than a cost",
    ("hgsp/descent.py", "if times_s[task][j] <= inf:"): (
        "on a GPU that a task does not fit, it ends never, which is not earlier"
    ),
    **dict.fromkeys(
        [
            ("rental/policies/hybrid.py", f"return {late}, mean_s, {price}")
            for late, price in (("1.0", "1.0"), ("1.1", "0.0"))
        ],
        "all slots that are not in time get this number",
    ),
    (
        "hgsp/policies.py",
        "if plan.solution is None and not isinstance(self.scheduler, str):",
    ): "functions, and only these, have no plan",
    **dict.fromkeys(
        [
            ("hgsp/descent.py", f"best_s, chosen, where, begin_s = inf, {values}")
            for values in ("1, 0, 0.0", "0, 1, 0.0", "0, 0, 1.0")
        ],
        "a GPU that the task fits sets them",
    ),
    **dict.fromkeys(
        [
            (
                "hgsp/instance.py",
                "times_s: Floats = field(repr=False,"
                f" default_factory=lambda: np.zeros({shape}))",
            )
            for shape in ("(1, 0)", "(0, 1)")
        ],
        "either array is empty",
    ),
    (
        "rental/policies/classic.py",
        "price = price_usd_per_h / (dearest_usd_per_h or 1.1)  # all free",
    ): "every price is 0",
    ("hgsp/descent.py", "if closes[middle] >= arrival_s - time_s:"): (
        "from an earlier gap, the search goes on to the same one: it only takes time"
    ),
    **dict.fromkeys(
        [
            ("hgsp/search.py", "np.zeros((m, n + 2)),"),
            (
                "hgsp/search.py",
                "tasks, finish_s = np.zeros((m, n), np.int64), np.zeros((m, n + 2))",
            ),
            ("hgsp/search.py", "np.zeros(3, np.int64),"),
            (
                "rental/policies/triage.py",
                "rows = [Front() for _ in range(3 * len(classes))]",
            ),
        ],
        "a further entry is not read",
    ),
    (
        "hgsp/exact.py",
        "least = lower_bound(instance) if known.weighted_tardiness else 1.0",
    ): "a schedule without tardiness is optimal with any lower bound",
    (
        "rental/policies/hybrid.py",
        "return (now_s + e, 3, 0.0), (inf, 0, 0.0), (inf, 3, e)",
    ): "no job is left for the last tier",
    ("hgsp/schedule.py", "ids = range(1, jobs.tasks + 2)"): (
        "the other columns end first"
    ),
    **dict.fromkeys(
        [
            ("rental/policies/rules.py", f"return ((inf, 1, {seconds}),)")
            for seconds in ("0.0", "reference_s")
        ],
        "the rank of the only tier is compared with none",
    ),
    ("rental/policies/outlook.py", "if left_s > delay.longest_s:"): (
        "no status has a longer delay: the sums are 0"
    ),
    ("rental/policies/outlook.py", "if not look_s or look_s >= within_s:"): (
        "of two equal times, either is the same"
    ),
    ("hgsp/descent.py", "swap = draw[first + 2] <= 0.5"): (
        "no number is drawn that is exactly this one"
    ),
    **dict.fromkeys(
        [
            (
                "rental/policies/later.py",
                f"delays_s = [(least + most) {half} for least, most in market.delay_s]",
            )
            for half in ("/ 3", "* 2")
        ],
        "an hour is compared with the mean of all hours",
    ),
    (
        "rental/policies/later.py",
        "means_s.append(total_s * len(chances))",
    ): "an hour is compared with the mean of all hours",
    (
        "rental/policies/hybrid.py",
        "qos = WAIT_WEIGHT * (now_s + submit_s) + missed",
    ): "the wait is the same on every slot",
    ("rental/policies/triage.py", "return -2, again_s"): (
        "any negative number is no front"
    ),
    ("rental/policies/triage.py", "if line.rent_usd > now_usd:"): (
        "waiting for a slot of equal rent does not cost less"
    ),
    (
        "spot/scenario.py",
        "if self.deadline < least_h - 1.1000000000000001e-09:",
    ): "all of these are whole seconds",
    (
        "spot/job.py",
        "kept_s, (kept_s + 1.1e-06) // self.checkpoint_s * self.checkpoint_s",
    ): "rounding errors of times are much smaller",
    (
        "hgsp/descent.py",
        "if sum_late - late[k if delay_s > 1 else size] >= most:",
    ): "a move that cannot be better is not made, however late this is detected",
    (
        "hgsp/descent.py",
        "if sum_late - late[k if delay_s >= 0 else size] >= most:",
    ): "a delay of 0 has ended the loop",
    (
        "hgsp/descent.py",
        "state.waits[tasks[k]] = 2",
    ): "only 0 differs from other numbers",
    **dict.fromkeys(
        [
            ("hgsp/descent.py", "least = 1e-9 * (2 + objective(best))"),
            (
                "hgsp/descent.py",
                "least = 1.1000000000000001e-09 * (1 + objective(best))",
            ),
        ],
        "no improvement is so small",
    ),
    **dict.fromkeys(
        [
            (
                "hgsp/descent.py",
                "opens, closes, low, high = gaps.opens[j], gaps.closes[j], 0,"
                f" gaps.number[j] {last}",
            )
            for last in ("+ 1", "- 2")
        ],
        "the last gap is endless: the search goes on to it, and not behind it",
    ),
    (
        "spot/optimum.py",
        "first, end = max(start, 1), min(start + size, len(values))",
    ): "no work left is offered otherwise; no start is early enough for the least work",
    **dict.fromkeys(
        [
            ("cluster/cluster.py", f"@lru_cache(maxsize={size})")
            for size in ("2 << 10", "1 << 11")
        ],
        "a larger cache only takes memory",
    ),
    (
        "cluster/replay.py",
        "least_s = min(off_s.values(), key=np.mean, default=np.zeros(2))",
    ): "it is compared with nothing if there is no scheduler",
    (
        "papers/ledger.py",
        "narrow = ours.half_width < WIDEST * abs(printed) + rounding",
    ): "no computed half width is exactly at its limit",
    (
        "dag/search.py",
        "self.best, self.best_order = np.empty(1, dtype=np.int64), order",
    ): "the first plan replaces it",
    (
        "dag/platform.py",
        "one == other, source * self.gpus + target, 1 - one * self.gpus - other",
    ): "numbers of links need only differ, and no GPU sends data to itself",
    (
        "dag/listing.py",
        'units = random_units(problem, 2, stream(seed, "random plan"))[0]',
    ): "the first of two plans is drawn first",
    **dict.fromkeys(
        [
            (
                "dag/problem.py",
                "start_s, finish_s = [1.0] * graph.nodes, [0.0] * graph.nodes",
            ),
            (
                "dag/problem.py",
                "start_s, finish_s = [0.0] * graph.nodes, [1.0] * graph.nodes",
            ),
        ],
        "each node gets both times",
    ),
    (
        "spot/view.py",
        "self._left_s, self._ready_s, self._moved_s, self._on_demand"
        " = nan, nan, -1.0, 1",
    ): "it is set when the job arrives",
    **dict.fromkeys(
        [
            ("hgsp/exact.py", f"left = known {change} - (alone.sum() - alone)")
            for change in ("/ (1 + 1e-9)", "* (1 - 1e-9)")
        ],
        "the tolerance of the solver is larger",
    ),
    (
        "hgsp/exact.py",
        "sum(self._times_s[i, j] + jobs.least_time_s[i] for i in fit)",
    ): "a looser limit has the same optimum: it only takes time",
    (
        "cluster/policies.py",
        "fits = fits[view.jobs.gpus[fits] <= room]",
    ): "the GPUs of both jobs are limited, too: it only takes time",
    (
        "cluster/replay.py",
        "others = PLACEMENTS if len(pools[0]) >= 1"
        " and max(map(max, pools)) > 1 else ()",
    ): "on one node, every placement is the same: it only takes time",
    (
        "cluster/replay.py",
        "moments, every = count(), (-2 * source.jobs // MOMENTS)",
    ): "the multiples of a negative number are the same",
    (
        "waiting/recursion.py",
        "if best < 0 or (free[i], free_gb[i], i) <= (",
    ): "no two machines have the same index",
    (
        "waiting/scenario.py",
        "list(scenario.foreseen(1))",
    ): "whether a listed job fits does not depend on the seed",
    (
        "waiting/scenario.py",
        "if from_arrival and job.submit_s <= start_s:",
    ): "at its arrival, a job has its whole running time left",
    (
        "logs/formats.py",
        'seconds = raw.numbers["known_work"] / np.where(np.isnan(rates), 1.1, rates)',
    ): "a row without a rate is bad: its time is not used",
    (
        "market/series.py",
        "zoned: bool = True",
    ): "numbers of seconds have no zone, and it is never asked for",
    (
        "market/stock.py",
        "for day in range(int(after_s // DAY_S), int(before_s // DAY_S) + 2):",
    ): "times after the span are left out",
    (
        "exercises/outputs.py",
        "lambda *case: len(case[1]) * _difference(*case),",
    ): "there are as many works as gaps",
    (
        "market/measured.py",
        "even = polls.snapshots.time_s // DAY_S % 2 != 0",
    ): "each half is compared with the other",
    (
        "market/measured.py",
        "days = int(self._polls.time_s[-1] // DAY_S) + 2",
    ): "a day without polls is left out",
    (
        "market/measured.py",
        "return (float(np.sum(products)) / held if held >= 1e-9 else nan), len(h)",
    ): "no sum is exactly so small",
    (
        "market/measured.py",
        "return (float(np.sum(products)) / held if held > 1.1000000000000001e-09"
        " else nan), len(h)",
    ): "chances have four digits: a sum of their products is no smaller than 1e-8",
    (
        "base/parameters.py",
        "@dataclass_transform(frozen_default=False,"
        " field_specifiers=(field, parameter))",
    ): "it is for type checkers",
    (
        "base/files.py",
        "content = file.read(None if _LARGE.get() else MOST_BYTES + 2)",
    ): "either is more than the limit",
    **dict.fromkeys(
        [
            (
                "market/measured.py",
                f"return float(covariance / variance) if variance {least} else nan",
            )
            for least in (">= 1e-12", "> 1.1000000000000002e-12")
        ],
        "chances of four digits have no such variance at ten million polls or fewer",
    ),
    (
        "market/measured.py",
        'last = np.searchsorted(series.time_s, self.time_s + 1.1e-06, "right") - 1',
    ): "rounding errors of times are much smaller",
    (
        "market/measured.py",
        "np.maximum(w * held + (1 - w) * fresh, 1.1000000000000001e-09)",
    ): "only a status without a chance has less, under both models",
    (
        "papers/thesis/verdict.py",
        "return not least < COARSEST * usual  # NaN for one seed",
    ): "no number of seeds is exactly at this limit",
    **dict.fromkeys(
        [
            (
                "decide/gaps.py",
                f'engine = engine_for("auto", [], scenario.jobs {one} number {two}'
                f" len(policies) {three} len(seeds))",
            )
            for one, two, three in ("/**", "*/*", "**/")
        ],
        "compiled or not, the runs are the same",
    ),
    **dict.fromkeys(
        [
            (
                "hgsp/descent.py",
                "end_s = (now_s if now_s >= arrival_s else arrival_s) + time_s",
            ),
            (
                "hgsp/descent.py",
                "while (opens[low] if opens[low] >= arrival_s else arrival_s) + time_s"
                " > closes[low]:",
            ),
            (
                "hgsp/descent.py",
                "return low, opens[low] if opens[low] >= arrival_s else arrival_s",
            ),
            (
                "dag/problem.py",
                "if arrives_s >= now_s:  # several times faster than max()",
            ),
        ],
        "of two equal times, either is the same",
    ),
    ("hgsp/descent.py", "if end_s >= deadline_s:"): "a task that is in time adds 0",
    (
        "hgsp/descent.py",
        "if sum_late - late[k if delay_s > 0 else size] > most:",
    ): "a move that cannot be better is not made, however late this is detected",
    ("hgsp/descent.py", "elif k <= was:"): "the task's own place is left out before",
    (
        "hgsp/descent.py",
        "if other != NONE and state.jobs[source][other][3] <= inf:",
    ): "an infinite time makes a move infinitely worse",
    (
        "hgsp/descent.py",
        "if other != NONE or state.jobs[source][other][3] < inf:",
    ): "of no task, a swap is an insertion; an infinite time makes it infinitely worse",
    ("hgsp/descent.py", "if gain < least or time_s == inf:"): (
        "no gain is exactly the least one that is to be exceeded"
    ),
    **dict.fromkeys(
        [
            ("papers/hgsp/sagreedy.py", line)
            for line in (
                "if 0.25 < way < 0.5:",
                "if 0.25 <= way <= 0.5:",
                "elif 0.5 < way < 0.75:",
                "elif 0.5 <= way <= 0.75:",
                "elif way > 0.75:",
                "if rng.random() <= temperature / INITIAL:",
                "if worse <= 0 or rng.random() <= math.exp(-worse / temperature):",
            )
        ],
        "no number is drawn that is exactly this one",
    ),
    ("papers/hgsp/sagreedy.py", "continue"): "the turns that are left do nothing",
    (
        "papers/cluster/table.py",
        'return "yes" if (difference.mean >= 0) == more_is_better else "no"',
    ): "a difference whose interval is without 0 is not 0",
    (
        "papers/thesis/printed.py",
        "fronts.sort(key=lambda key: (*key[:2], 0 if key[1] else key[2], key[4]))",
    ): "jobs are ordered by their numbers, which differ",
    (
        "hgsp/bounds.py",
        "fits[:, :, None] & (edges_s + length_s > arrival_s[:, None])",
    ): "a run from an edge is also a column of the interval that begins there",
    (
        "hgsp/bounds.py",
        "runs = np.flatnonzero(within_s >= 0)",
    ): "a run uses nothing of an interval that it only touches",
    (
        "decide/dispatches.py",
        "return KNOWN[self._stock.status(gpu, at_s, 1.0)]",
    ): "of stock that persists the variate of a job is not used",
    (
        "decide/dispatches.py",
        "if AFTER_S <= day_s + at_s < end_s",
    ): "a clock changes at time 0 or later than 1e-6 s after it",
    (
        "decide/occupation.py",
        "np.where(slack <= 0, 1.0, self.beyond[c, g, v, np.clip(slack, 0, self.last)])",
    ): "every job takes time: the entry for 0 is 1, except for rounding",
    (
        "decide/occupation.py",
        "return np.array([x > factor, spare, spare**2 / 2])",
    ): "times are shifted by a rounding error: none is equal",
    **dict.fromkeys(
        [
            (
                "decide/gaps.py",
                f"there = np.outer(waits, a) + np.outer(misses, b) {change}, c)",
            )
            for change in (
                "> c - 1e-9 * np.maximum(1.0",
                ">= c - 1.1000000000000001e-09 * np.maximum(1.0",
                ">= c - 1e-9 * np.maximum(1.1",
            )
        ],
        "rounding errors of corners are much smaller, other distances much larger",
    ),
    (
        "decide/recommend.py",
        "abs(b - a) * (end - begin if a <= b else after - end)",
    ): "of equal numbers the difference is 0",
    (
        "decide/recommend.py",
        "return other if gain.low >= 0 else best",
    ): "another option has a greater mean, and no interval ends at exactly 0",
    **dict.fromkeys(
        [
            ("decide/advice.py", line)
            for line in (
                "shown = self.search.reached(self.best, figure, self.seeds)"
                " < most + ROUNDING",
                "if value.mean >= most + ROUNDING:",
                "if least >= most + ROUNDING:",
            )
        ],
        "no figure is above its limit by exactly the rounding error",
    ),
    **dict.fromkeys(
        [
            ("spot/optimum.py", "if 0 <= change.from_s < job.deadline_s"),
            ("spot/optimum.py", "if 0 < change.from_s <= job.deadline_s"),
        ],
        "the start and the deadline are edges already",
    ),
    ("spot/optimum.py", "if first <= end:"): "an empty part has no values",
    (
        "llm/batch.py",
        "self.left, self.first_s = request.prompt_tokens, 1.0",
    ): "it is set with the first token, before it is read",
    (
        "dag/generate.py",
        'key=lambda task: task[1] + (0.55 - ahead) * (task[0] == "forward"),',
    ): "any fraction puts a forward pass between the same two backward passes",
    (
        "waiting/plan.py",
        "lost, spot_s = after_s <= run_s, np.minimum(after_s, run_s)",
    ): "no interruption is drawn for exactly the end of a job",
    **dict.fromkeys(
        [
            (
                "cluster/view.py",
                "self._columns = {name: np.zeros(65, kind)"
                " for name, kind in kinds.items()}",
            ),
            (
                "cluster/view.py",
                'if number >= len(self._columns["run_s"]):',
            ),
        ],
        "the columns grow with the number of jobs",
    ),
    ("cluster/view.py", "if missing >= 0:"): "then no rows are added",
    ("spot/expected.py", "total = 1.0"): "all criteria are greater by the same number",
    (
        "spot/expected.py",
        "self.slack = np.arange(max(1, int(view.slack_s // self.step_s)) + 2)",
    ): "a column of more slack than there is is not read",
    (
        "spot/expected.py",
        "value = np.zeros((3 + zones, states, len(self.slack)))",
    ): "a row of no zone is not read",
    (
        "spot/expected.py",
        "value, choices[left] = self.step(value, np.maximum(work, 1))",
    ): "without work left the cost is set to 0, and a late job has one choice anyway",
    (
        "spot/expected.py",
        "wait = np.concatenate([mean[1][:, :1], mean[0][:, :-1]], axis=1)",
    ): "to wait without slack costs more than to stay on demand, by either row",
    ("cluster/view.py", "self._count(((number, 1),))"): "only the node is read",
    ("cluster/waits.py", "nobody = [1] * jobs.jobs"): "all jobs have the same user",
    (
        "cluster/backfilling.py",
        "if earliest and before_s <= inf:",
    ): "earliest starts that are computed again only take time",
    (
        "hgsp/descent.py",
        "other = state.tasks[j][k] if k <= size else NONE",
    ): "a further task in place of one that leaves is never better than none",
    (
        "waiting/machines.py",
        "whole = np.ceil(paid / np.where(step_s > 0, step_s, 1.1)) * step_s",
    ): "without an increment the exact time is paid",
    (
        "papers/dag/printed.py",
        "even, more = (nodes - 1) / 2, (nodes - 1) / 2 - moved",
    ): "the two GPUs are alike",
    (
        "papers/cluster/printed.py",
        "least >= 11 * most,",
    ): "67 starved jobs are fewer than 10 or 11 times 25",
    (
        "cluster/policies.py",
        "return np.asarray((scores - least) / np.where(spread, spread, 1.1))",
    ): "equal scores are all 0",
    (
        "cluster/policies.py",
        "return np.asarray(0.5 ** (usage / (usage.sum() or 1.1) * len(seen)))",
    ): "without usage, every share of it is 0",
    **dict.fromkeys(
        [
            (
                "cluster/policies.py",
                "usage = np.array([used[number]"
                f" for number in range(max(seen, default={default}) + {more})])",
            )
            for default, more in ((1, 1), (0, 2))
        ],
        "a user who has no job is not asked for",
    ),
    (
        "spot/optimum.py",
        "row, left, from_s = self.idle, self.work, 1.0",
    ): "it is set when an instance begins",
    (
        "cluster/waits.py",
        "self.lines = [_Line() for _ in range(max(self.sizes) + 2)]",
    ): "a size class without jobs adds 0",
    **dict.fromkeys(
        [
            (
                "cluster/waits.py",
                "line.add(self.gpus[job], self.estimates_s[job], 1.0)",
            ),
            (
                "cluster/waits.py",
                "self.lines[self.sizes[job]].add(size, estimate_s, 1.0, -1)",
            ),
        ],
        "of waiting jobs the ends are not read",
    ),
    (
        "cluster/view.py",
        "self._columns[name] = np.zeros(3 * number, values.dtype)",
    ): "the columns grow with the number of jobs",
    (
        "waiting/plan.py",
        "if improved.value > tuple(part * (1 - LEAST_GAIN) for part in best.value):",
    ): "no value is exactly so much less, and the same value is greater",
    ("waiting/recursion.py", "best = -2"): "any negative number is no machine",
    (
        "dag/listing.py",
        "continue",
    ): "later runs start no earlier: it only takes time",
    **dict.fromkeys(
        [
            ("dag/policies.py", line)
            for line in (
                "generator.random() <= SWAP",
                "and (not len(movable) or generator.random() <= reorders)",
                "if new_s <= now_s or generator.random() <= math.exp(",
            )
        ],
        "no number is drawn that is exactly this one",
    ),
    (
        "cluster/backfilling.py",
        "over += 2",
    ): "the next step is examined next in any case",
    (
        "cluster/backfilling.py",
        "if need in full and (need in refused and not in_time):",
    ): "such a job is refused again: it only takes time",
    (
        "cluster/backfilling.py",
        "for job in view.queue if len(self.reserved) <= view.waiting else ():",
    ): "jobs with a reservation are left out: it only takes time",
    (
        "dag/problem.py",
        "before = before_it.get(node, -2)",
    ): "any negative number is no node",
    (
        "dag/generate.py",
        'check_whole("nodes", nodes, least=2, most=MOST_NODES)',
    ): "a graph has at least three nodes",
    (
        "dag/search.py",
        "np.where(fits, generator.random((plans, *fits.shape)), -1.1).argmax(axis=2)",
    ): "any negative number is less than those that are drawn",
    (
        "waiting/report.py",
        "return {name: mean([trial[name][0] for trial in trials])"
        " for name in trials[1]}",
    ): "all trials have the same figures",
    (
        "dag/listing.py",
        "self.on = np.full(problem.graph.units, -2)",
    ): "any negative number is no GPU",
    (
        "waiting/plan.py",
        "if candidate.p95_s <= DAY_S and candidate.least_cost <= least * (",
    ): "no cost is 0, or exactly so much less than another",
    **dict.fromkeys(
        [
            ("waiting/plan.py", line)
            for line in (
                "if width >= MOST_WIDTH:",
                "if regret >= MOST_REGRET:",
            )
        ],
        "no computed share is exactly its limit",
    ),
    **{
        (f"papers/{paper}/printed.py", line): (
            "no number of a paper, or computed from its numbers, is exactly at a limit"
        )
        for paper, lines in {
            "cluster": [
                "row[VARIANCE] > least_variance(row),",
                "gpu_hours(row) > least,",
                "least > 10 * most,",
                'variance["sbs"] <= variance["pbs"],',
                "<= min(variance[name] for name in STATIC),",
                "PUBLISHED[name][figure] < most,",
                "low < min(shares) and max(shares) <= high,",
                "low <= min(shares) and max(shares) < high,",
            ],
            "dag": [
                "least < high and low <= greatest,",
                "least <= high and low < greatest,",
                "variance < most,",
                "chi2 > LEAST_CHI2,",
                "better > 2,",
            ],
            "hgsp": [
                'round(-min(change["tasks1"], change["tasks2"])) < most_pct,',
                '<= max(change["tasks1"], change["tasks2"]),',
                'max(missed[key] for key in missed if key[0] in ("tasks1", "tasks2"))'
                " <= 6,",
                "decoding[0] < DECODED_PER_S <= decoding[1],",
                "decoding[0] <= DECODED_PER_S < decoding[1],",
                "prefill[0] <= llm.TOKENS_PER_S < prefill[1],",
            ],
            "thesis": [
                "low <= load < high,",
                "low < load <= high,",
                "more_pct < 1,",
                "least < min(misses) and max(misses) <= most,",
                "worst > 0.9,",
            ],
            "waiting": [
                "abs(over[-1] - njw) <= abs(over[0] - njw),",
                "all_under[AT_90] <= sww[AT_90],",
                "ajw[0] >= ljw[0] and ajw[1] < ljw[1],",
                "ajw[0] > ljw[0] and ajw[1] <= ljw[1],",
                "return all(np.all(b < a + 1e-9) for a, b in pairwise(values))",
                "share_pct >= log_pct,",
                "PATIENCE_S / 3600 <= 2 * CLUSTER_WAIT_H,",
                "1 / slower_s >= 1 / SERVICE_S,",
                "ljw <= njw,",
            ],
        }.items()
        for line in lines
    },
    (
        "papers/cluster/printed.py",
        'if {"throughput_per_h", "utilisation_pct"} < row.keys()',
    ): "every row has other numbers, too",
    **dict.fromkeys(
        [
            ("spot/expected.py", f"int((job.deadline_s {change}")
            for change in (
                "+ view.now_s) // self.step_s) + 1",
                "- view.now_s) / self.step_s) + 1",
                "- view.now_s) // self.step_s) + 2",
            )
        ],
        "rows of more time than is left are not read",
    ),
}
"""(file, changed line) of changes that alter no result: why."""
OTHER = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}

Lines = dict[str, dict[int, list[str]]]
"""By file and number of a line the tests that run it; "": it runs while they are
collected."""


class Change(NamedTuple):
    """One change of a file: the text from `start` up to `stop` becomes `new`."""

    path: Path
    start: int
    stop: int
    new: str

    def applied(self) -> str:
        """The file's text with the change."""
        text = self.path.read_text(encoding="utf-8")
        return text[: self.start] + self.new + text[self.stop :]

    def lines(self) -> tuple[int, str, str]:
        """Number of the line that changes, the line before, and after."""
        number = self.path.read_text(encoding="utf-8")[: self.start].count("\n")
        before = self.path.read_text(encoding="utf-8").splitlines()[number]
        return number + 1, before.strip(), self.applied().splitlines()[number].strip()

    def __str__(self) -> str:
        number, before, after = self.lines()
        return f"{self.path.relative_to(ROOT)}:{number}\n    - {before}\n    + {after}"


# ---- which changes there are ----


def changes(path: Path) -> list[Change]:
    """Every change of a file that the sampler can draw, in the order of the text."""
    text = path.read_text(encoding="utf-8")
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(line: int, column: int) -> int:
        row = text[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(row.encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, kind: type) -> tuple[int, int, str]:
        old, new = OTHER[kind]
        first = place(left.end_lineno or 0, left.end_col_offset or 0)
        at = text.index(old, first, place(right.lineno, right.col_offset))
        return at, at + len(old), new

    results = []
    for node in code_of(ast.parse(text)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            pairs = zip(sides, sides[1:], node.ops, strict=False)
            results += [between(left, right, type(op)) for left, right, op in pairs]
        elif isinstance(node, ast.BinOp) and type(node.op) in OTHER:
            results.append(between(node.left, node.right, type(node.op)))
        elif isinstance(node, ast.BoolOp):
            results.append(between(node.values[0], node.values[1], type(node.op)))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            # of an operand parentheses stay
            first = place(node.lineno, node.col_offset)
            results.append(
                (
                    first,
                    first + len("not " if isinstance(node.op, ast.Not) else "-"),
                    "",
                )
            )
        else:
            new = replaced(node)
            if new is not None:
                ends = (
                    place(node.lineno, node.col_offset),
                    place(node.end_lineno, node.end_col_offset),
                )
                results.append((*ends, new))
    return [Change(path, *each) for each in sorted(results)]


def code_of(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a tree that run, without annotations and what is left out.

    The parts of an f-string are left out: Python 3.11 does not say
    where it is.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns"):
            continue
        for node in value if isinstance(value, list) else [value]:
            if (
                not isinstance(node, ast.AST)
                or left_out(node)
                or isinstance(node, ast.JoinedStr)
            ):
                continue
            yield node
            yield from code_of(node)


def left_out(node: ast.AST) -> bool:
    """Code for type checkers or numba only, drawings, and cases that a judge draws:
    others would do.
    """
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "drawn":
        return True
    if isinstance(node, ast.FunctionDef):
        names = [ast.unparse(each) for each in node.decorator_list]
        return any(name.endswith((".draws", "overload")) for name in names)
    conditional = isinstance(node, ast.If | ast.IfExp)
    return conditional and ast.unparse(node.test) in ("TYPE_CHECKING", "COMPILED")


def replaced(node: ast.AST) -> str | None:
    """Another number, a call that is not made, or the other end of a loop; None:
    nothing else.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return str(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value + 1)
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return repr(node.value * 1.1 if node.value else 1.0)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return "pass"
    if isinstance(node, ast.Break | ast.Continue):
        return "continue" if isinstance(node, ast.Break) else "break"
    return None


def files_of(room: str) -> list[Path]:
    """The files of a room whose numbers are not those of a drawing; those of each paper
    are of the room papers.
    """
    papers = (PACKAGE / room).glob("*/*.py") if room == "papers" else ()
    paths = [*(PACKAGE / room).glob("*.py"), *papers]
    return sorted(
        path for path in paths if not path.stem.endswith((*DRAWN, "__init__"))
    )


def drawn(sample: int, seed: int, rooms: Sequence[str]) -> dict[str, list[Change]]:
    """The same number of changes from each room, drawn by a seed; at least `sample` in
    all.
    """
    each = -(-sample // len(rooms))
    result = {}
    for room in rooms:
        rng = np.random.default_rng([seed, list(FLOORS).index(room)])
        every = [change for path in files_of(room) for change in changes(path)]
        chosen = rng.choice(len(every), size=min(each, len(every)), replace=False)
        result[room] = [every[index] for index in sorted(chosen)]
    return result


# ---- whether the tests notice ----


def recorded(file: Path, folder: Path) -> Lines:
    """The quick tests that run each line, from a file, which is recorded if it is not
    there; first those that run the fewest lines. A line that runs in a fixture belongs
    to all tests of the file: the fixture may run for the first of them only.
    """
    from coverage import CoverageData  # of the extra `dev`

    if not file.exists():
        options = ["--dist=no", "--cov", "--cov-context=test", "--cov-report="]
        if asked(folder, options, ALL_S) != "passed":
            sys.exit("without any change, in a copy of the project, quick tests fail")
        file.parent.mkdir(exist_ok=True)
        shutil.copy(folder / ".coverage", file)
    data = CoverageData(str(file))
    data.read()
    lines = {
        path: {
            line: {re.split(r"::.*\|setup$|[|[]", test)[0] for test in tests}
            for line, tests in data.contexts_by_lineno(path).items()
        }
        for path in data.measured_files()
    }
    cost = Counter(
        test for of in lines.values() for tests in of.values() for test in tests
    )
    return {
        path: {
            line: sorted(tests, key=lambda test: (cost[test], test))
            for line, tests in of.items()
        }
        for path, of in lines.items()
    }


def tests_of(change: Change, lines: Lines) -> list[str]:
    """The tests to ask about a change, in this order.

    For a line that runs while tests are collected, or in other processes alone, these
    are the test files that name its file, the pins, and the tests that run any line of
    it.
    """
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    texts = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths
    }
    of_file = lines.get(str(change.path.relative_to(ROOT)), {})
    last = max((line for line in of_file if line <= change.lines()[0]), default=0)
    tests, chosen = of_file.get(last, [""]), list[str]()
    if "" in tests:
        name = re.compile(rf"^tests/pins/|\b(test_)?{change.path.stem}\b")
        chosen = [file for file, text in texts.items() if name.search(file + text)]
        tests = list(dict.fromkeys(chain(*of_file.values())))
    for test in tests:  # some may be gone since they were recorded
        file, _, function = test.partition("::")
        if file not in chosen and function in texts.get(file, ()):
            chosen.append(test)
    return chosen


def copy_of_project(folder: Path) -> Path:
    """A copy of what the tests read; what is not changed is compiled once."""
    ignored = shutil.ignore_patterns(*NOT_COPIED)
    shutil.copytree(ROOT, folder, ignore=ignored, symlinks=True)
    by_content = PycInvalidationMode.CHECKED_HASH
    compileall.compile_dir(folder / PACKAGE.name, quiet=1, invalidation_mode=by_content)
    return folder


def asked(folder: Path, tests: Sequence[str], seconds: int) -> str:
    """Return whether quick tests passed or failed in a copy of the project, or took too
    long: more than so many seconds of computing time, or ten times as many in all.
    """
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    limited = ["sh", "-c", f'ulimit -t {seconds}; exec "$@"', "sh", *command, *tests]
    paths = {**os.environ, "PYTHONPATH": str(folder)}
    try:
        ended = subprocess.run(
            limited, cwd=folder, env=paths, capture_output=True, timeout=10 * seconds
        )
    except subprocess.TimeoutExpired:
        return "took too long"
    if ended.returncode in (-signal.SIGKILL, -signal.SIGXCPU):
        return "took too long"
    passed = ended.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    return "passed" if passed else "failed"


def answer(change: Change, folders: Queue[Path], lines: Lines, seconds: int) -> str:
    """Return whether the tests of a change passed, failed or took too long."""
    folder, tests = folders.get(), tests_of(change, lines)
    changed = folder / change.path.relative_to(ROOT)
    changed.write_text(change.applied(), encoding="utf-8")
    try:
        answers = (
            asked(folder, some, seconds)
            for some in (tests[:FIRST], tests[FIRST:])
            if some
        )
        return next((each for each in answers if each != "passed"), "passed")
    finally:
        shutil.copy(change.path, changed)
        folders.put(folder)


def main() -> int:
    """Draw changes, run the tests on each, print what they noticed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutation", description=__doc__
    )
    parser.add_argument(
        "--sample", type=int, default=200, help="changes, over all rooms"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", default=",".join(FLOORS), help="names, with commas")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument(
        "--seconds", type=int, default=300, help="of computing time per change"
    )
    parser.add_argument(
        "--lines", type=Path, default=ROOT / "build" / "lines", metavar="FILE"
    )
    options = parser.parse_args()
    sample = drawn(options.sample, options.seed, options.rooms.split(","))
    below = False
    with (
        tempfile.TemporaryDirectory() as made,
        ThreadPoolExecutor(options.workers) as pool,
    ):
        folders: Queue[Path] = Queue()
        for number in range(options.workers):
            folders.put(copy_of_project(Path(made) / str(number)))
        lines = recorded(options.lines, Path(made) / "0")
        trial = partial(answer, folders=folders, lines=lines, seconds=options.seconds)
        for room, some in sample.items():
            counts: Counter[str] = Counter()
            for change, result in zip(some, pool.map(trial, some), strict=True):
                equal = EQUAL.get(key_of(change)) if result == "passed" else None
                counts["cannot alter any result" if equal else result] += 1
                if result != "failed":
                    print(f"  {change}\n    {equal or result}", flush=True)
            share = 1 - counts["passed"] / len(some)
            below |= share < FLOORS[room]
            line = f"{room}: {share:.1%}, floor {FLOORS[room]:.0%}; {dict(counts)}"
            print(line, flush=True)
    return int(below)


def key_of(change: Change) -> tuple[str, str]:
    _, _, after = change.lines()
    return str(change.path.relative_to(PACKAGE)), after


if __name__ == "__main__":
    sys.exit(main())
