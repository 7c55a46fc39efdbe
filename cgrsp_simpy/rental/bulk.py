"""Compiled runs of triage and of policies made of rules, bit-identical to SimPy."""

from __future__ import annotations

import builtins
import dis
import hashlib
import logging
import math
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache, cached_property
from typing import Any

import numpy as np

from cgrsp_simpy.base.compiled import COMPILED, cache_folder, cached, forget
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.claim import ClaimRecord
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.run import BLOCK, Records, Run
from cgrsp_simpy.market.model import HourlyStock, Market
from cgrsp_simpy.market.stock import Stock
from cgrsp_simpy.rental.kernel import loop, state
from cgrsp_simpy.rental.kernel.state import FIGURES, LAST, TIERS, Array, filled
from cgrsp_simpy.rental.kernel.triage import CALLED
from cgrsp_simpy.rental.policies import outlook
from cgrsp_simpy.rental.policies.outlook import Delay, Forecasts, Outlook
from cgrsp_simpy.rental.policies.rules import (
    Index,
    ListPolicy,
    Rule,
    Score,
    Tiers,
    by_submission,
    first_idle,
)
from cgrsp_simpy.rental.policies.triage import Triage
from cgrsp_simpy.rental.record import RECORD
from cgrsp_simpy.rental.terms import PARTS, Terms, rounding_s
from cgrsp_simpy.rental.workload import Columns, Drawn, widths

if COMPILED:
    import numba

    from cgrsp_simpy.base.compiled import RULE

    KEPT = cache_folder(loop.advance)
    FILES = [
        module
        for name, module in sys.modules.items()
        if name.startswith(f"{state.__package__}.")
    ]
    if KEPT is not None:
        callees = {sys.modules[function.__module__] for function in CALLED}
        forget(KEPT, FILES, [*FILES, *callees, sys.modules[rounding_s.__module__]])

CompiledPolicy = ListPolicy | Triage
CLAIMED = "job gpus dispatch_s start_s finish_s".split()  # columns of a claim
log = logging.getLogger(__name__)
# figures that do not change in a run
CONSTANT = ("slots", "offered_load", "dearest_usd_per_h")
# initial numbers of jobs that wait or run, and of variates of statuses shown
ROOM, SEEN = 1024, 4096
# terms that the loop supports
BILLS = ("warm_s", "billed_from", "minimum_s", "increment_s")
NEEDED = 'it needs numba, the extra fast: pip install ".[fast]" in a clone'
LOOK_AHEAD_S = 86400.0  # the stock is drawn so far in advance


# ---- what can be compiled ----


def why_not_compiled(scenario: Any, policy: Any) -> str:
    """Return the reason why a policy cannot run compiled on a scenario, or ""."""
    mixed = any(job_class.weight is None for job_class in scenario.workload.classes)
    weighs = type(policy) is Triage
    indexed = isinstance(getattr(policy, "order", None), Index)
    sees, keeps = scenario.market.poll_s is not None, hasattr(policy, "keep_s")
    reasons = {
        "jobs of one deadline class differ in weight": mixed and (weighs or indexed),
        "triage depends on the observed stock": weighs and sees,
        "the policy decides how long instances are kept": (
            keeps and bool(scenario.terms.warm_s)
        ),
    }
    reason = first_reason(reasons) or scenario.compiled_setup.why_not_compiled
    return reason or of_policy(policy) or ("" if COMPILED else NEEDED)


def first_reason(reasons: dict[str, bool]) -> str:
    """Return the first reason that applies, or ""."""
    return next((reason for reason, applies in reasons.items() if applies), "")


def of_scenario(scenario: Any) -> str:
    """Return the reason why no policy can run compiled on a scenario, or ""."""
    market, kinds = scenario.market, scenario.types
    if users_part(scenario) is not None:
        return "a part of the scenario is an instance of a user-defined class"
    changed = [
        item.name
        for item in fields(Terms)
        if item.name not in BILLS and getattr(scenario.terms, item.name) != item.default
    ]
    plain = Market(
        market.clock,
        market.delay_s,
        market.high_cap,
        market.medium_factor,
        market.medium_cap,
        tuple(
            HourlyStock(item.gpu, item.chances, item.persistence_s)
            for item in market.stock
        ),
        market.persistence_s,
        market.sight,
    )
    reasons = {
        "its slots open and close by the hour": bool(scenario.opening.hours),
        f"its terms of renting have {', '.join(changed)}": bool(changed),
        "its stock is replayed, or has two time scales": plain != market,
        "two of its GPU types have one name": (
            len({gpu.name for gpu in kinds}) < len(kinds)
        ),
    }
    return first_reason(reasons)


def of_policy(policy: Any) -> str:
    """Return the reason why a policy cannot run compiled, or ""."""
    name = policy_name(policy)
    if type(policy) is Triage:
        return ""
    if type(policy) is not ListPolicy:
        return f"policy {name} is not composed of an order and a placement rule"
    order, place, reserve = policy.order, policy.place, policy.reserve
    takes_first = order is by_submission
    constant = type(reserve) is Rule and (
        {*reserve.arguments}.issubset([*CONSTANT, *reserve.parameters])
    )
    reasons = {
        f"the order of {name} is not a rule": not (
            takes_first or isinstance(order, (Tiers, Index))
        ),
        f"the placement of {name} is not a rule": not (
            place is first_idle or isinstance(place, Score)
        ),
        f"the reserve of {name} is not a rule that is constant during a run": (
            reserve is not None and (takes_first or not constant)
        ),
    }
    rules: list[tuple[Any, Any]] = [
        (type(rule), rule) for rule in (order, place) if isinstance(rule, Rule)
    ]
    for _, rule in rules:
        plain = all(
            isinstance(value, (int, float)) for value in rule.parameters.values()
        )
        reason = f"rule {rule.function.__name__} has a parameter that is no number"
        reasons[reason] = not plain
    unfit = (not_plain(kind, rule.function) for kind, rule in rules)
    return first_reason(reasons) or next(filter(None, unfit), "")


@cache
def not_plain(kind: Any, function: Any) -> str:
    """Return the reason why the results of a compiled rule could differ, or "".

    A rule may use + - * /, comparisons, min, max, abs, nextafter, exp, and constants.
    """
    subject = f"rule {function.__name__}"
    for step in dis.get_instructions(function):
        if step.opname == "BINARY_OP" and step.argrepr.rstrip("=") not in "+-*/":
            return f"{subject} uses {step.argrepr}"
    for name in function.__code__.co_names:
        if not _is_plain(function.__globals__.get(name, getattr(builtins, name, None))):
            return f"{subject} uses {name}"
    if not COMPILED:
        return ""
    try:
        compiled_rule(kind, function)
    except numba.core.errors.NumbaError as error:
        return f"{subject} cannot be compiled: {str(error).splitlines()[0]}"
    return ""


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(entry, (int, float)) for entry in value)
    return isinstance(value, (int, float)) or value in PLAIN


# the C library's functions when compiled
PLAIN = (min, max, abs, math.nextafter, math.exp)


# ---- rules, compiled ----


WHOLE = dict.fromkeys(("waiting", "slots", "status", "best_status"), "int") | {
    "tight": "bool"
}
OF_TIERS = [f"t[{tier}][{part}]" for tier in range(TIERS) for part in range(3)]
# kind of rule -> (form of its answer as a tuple, maximum length, parts that are used)
LAYOUT: dict[type[Rule], tuple[str, int, list[str]]] = {
    Tiers: (f"{{}} + ({'(inf, 0, 0.0), ' * (TIERS - 1)})", 2 * TIERS - 1, OF_TIERS),
    Score: ("{} + (0.0, 0.0)", 5, ["t[0]", "t[1]", "t[2]"]),
    Index: ("(-{},)", 1, ["t[0]"]),
}


@cache
def compiled_rule(kind: Any, function: Any) -> Any:
    """Return a rule's compiled function, cached on disk by a digest of its inputs."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    extra = [name for name in names if name not in kind.figures]
    inputs = [
        (
            f"p[{extra.index(name)}]"
            if name in extra
            else f"{WHOLE.get(name, '')}(f[{FIGURES.index(name)}])"
        )
        for name in names
    ]
    code, more = function.__code__, LAYOUT[kind]
    parts = (
        code.co_code,
        code.co_consts,
        code.co_names,
        [repr(function.__globals__.get(name)) for name in code.co_names],
        inputs,
        more,
        numba.__version__,
    )
    name = (
        f"{function.__name__}_{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"
    )
    lines = [
        f"def {name}(figures, parameters, answer):",
        (
            f"f, p = carray(figures, {len(FIGURES)}), carray(parameters,"
            f" {max(1, len(extra))})"
        ),
        f"a = carray(answer, {LAST + 1})",
        "try: t = " + more[0].format(f"function({', '.join(inputs)})"),
        "except Exception: return",
        f"if len(t) > {more[1]}: return",
        *[f"a[{at}] = {value}" for at, value in enumerate(more[2])],
        f"a[{LAST}] = 1.0",
    ]
    namespace = {"__name__": __name__, "carray": numba.carray, "inf": math.inf}
    namespace["function"] = numba.njit(function)
    exec(compile("\n ".join(lines), code.co_filename, "exec"), namespace)
    return cached(namespace[name], numba.cfunc, RULE)


def address(rule: Any) -> int:
    """Return the address of a rule's compiled function; 0 if it is not a rule."""
    if not isinstance(rule, Rule):
        return 0
    kind: Any = type(rule)
    return int(compiled_rule(kind, rule.function).address)


def parameters(rule: Any) -> Array:
    """Return a rule's parameters in the order of its arguments; [0.0] if none."""
    values = getattr(rule, "parameters", {})
    names = [name for name in getattr(rule, "arguments", ()) if name in values]
    return np.array([float(values[name]) for name in names] or [0.0])


# ---- a run ----


@cache
def _report_first_use(decides: str) -> None:
    """Log once, in advance, that the loop must be compiled with a decision function."""
    if KEPT is None or not list(KEPT.glob(f"{decides}-*.nbi")):
        kept = "" if KEPT is None else "; it is kept for later runs"
        log.info("the loop is compiled, which takes about half a minute%s", kept)


def bulk(
    scenario: Any, policy: CompiledPolicy, seed: int, drawn: Drawn | None, records: bool
) -> Run | None:
    """Run a policy that can be compiled; return None if SimPy must report an error."""
    blocks = (
        scenario.workload.columns(seed, scenario.service)
        if drawn is None
        else drawn.columns
    )
    return Bulk(scenario, policy, seed, tables(blocks), records).finish()


def arrays(forecasts: Forecasts, levels: int) -> Forecasts:
    """Convert Forecasts to arrays for `kernel`. levels: number of complexities."""

    def row(delay: Delay) -> tuple[Any, ...]:
        parts = [*delay.parts, *[outlook.Part(0.0, 0.0, 0.0)] * (3 - len(delay.parts))]
        return (list(map(tuple, parts)), *delay[1:])

    warm = [outlook.NO_DELAY] * len(forecasts.delays[0])
    most = max(len(hours) for columns in forecasts.later for hours in columns)
    later = np.zeros((len(forecasts.starts_s), 2 * len(warm), most), state.LATER)
    later["after_s"], later["seen"] = math.inf, True  # padding
    for band, by_type in enumerate(forecasts.later):
        for kind, hours in enumerate(by_type):
            rows = [(start_s, row(delay), seen) for start_s, delay, seen in hours]
            later[band, kind, : len(rows)] = rows
    lines = np.array([by_level[:levels] for by_level in forecasts.lines], state.LINE)
    return Forecasts(
        np.array(forecasts.starts_s, float),
        np.array(forecasts.rates),
        np.array(forecasts.spares),
        np.array(forecasts.variations),
        np.array(forecasts.done),
        np.array(
            [
                [row(delay) for delay in (*columns, *warm)]
                for columns in forecasts.delays
            ],
            state.DELAY,
        ),
        later,
        lines.reshape(len(forecasts.starts_s), levels, -1),
        np.array([columns[:levels] for columns in forecasts.work_s], float),
        np.array([columns[:levels] for columns in forecasts.rent_usd]),
        np.array(forecasts.billed_usd_per_h, float),
        np.array(forecasts.fastest_s[:levels], float),
        forecasts.slots,
    )


class Fixed:
    """Data that all compiled runs of a scenario share.

    why_not_compiled: why none can be. setting: the Setting without a policy's values.
    """

    def __init__(self, scenario: Any) -> None:
        self.why_not_compiled = of_scenario(scenario)
        if self.why_not_compiled:
            return
        known, kinds, market = scenario.known(), scenario.types, scenario.market
        self.kinds = kinds
        values = len(known.fleet), known.offered_load, known.dearest_usd_per_h
        self.constant = dict(zip(CONSTANT, values))
        free = scenario.free_types
        levels = len(scenario.workload.mix)
        terms = scenario.terms
        group = [0 if free else kinds.index(gpu) for gpu in scenario.slots]
        index = {gpu.name: place for place, gpu in enumerate(scenario.gpus)}
        stock, hours = Stock(market, 0), market.change_hours
        holds = [stock.persists(gpu) for gpu in kinds]
        look_s = -1.0 if market.poll_s is None else market.poll_s
        by_level = known.gpus[0].mean_execution_s, known.fastest_s, known.slowest_s
        pairs = [(item.tight, item.weight) for item in scenario.workload.classes]
        alike, none = list(dict.fromkeys(pairs)), np.zeros(1)
        indices = [alike.index(pair) for pair in pairs]
        self.most = max(widths(scenario.workload), default=1)
        self.how = {"free_types": free, "rents": terms != Terms()}
        self.setting = state.Setting(
            how=filled(state.HOW, **self.how)[0],
            rules=np.zeros(2, np.int64),
            of_order=none,
            of_score=none,
            group=np.array(group, np.int64),
            mean_s=np.array([gpu.mean_execution_s[:levels] for gpu in kinds], float),
            price=np.array([gpu.price_usd_per_h for gpu in kinds], float),
            gpu=np.array([index[gpu.name] for gpu in kinds], np.int64),
            below=np.array(
                [[market.below(gpu, hour) for hour in hours] for gpu in kinds]
            ),
            hours=np.array(hours, float),
            start_h=np.array([market.clock.start_h], float),
            delay_s=np.array([*market.delay_s, (0, 0)], float),
            look_s=np.array([look_s if held else -1.0 for held in holds]),
            holds=np.array(holds),
            by_level=np.array([row[:levels] for row in by_level], float),
            mix=np.array(known.complexity_mix, float),
            alike=np.arange(levels * len(alike)).reshape(levels, -1)[:, indices],
            level=np.repeat(np.arange(levels), len(alike)),
            tight=np.array([tight for tight, _ in alike] * levels, float),
            weight=np.array([weight or 0.0 for _, weight in alike] * levels, float),
            terms=filled(
                state.TERMS,
                ordered=terms.billed_from == "provisioning",
                warm_s=terms.warm_s,
                minimum_s=terms.minimum_s,
                increment_s=terms.increment_s,
            )[0],
        )
        self.known = known

    @cached_property
    def weighed(self) -> Forecasts:
        """The Forecasts of triage, as arrays."""
        return arrays(Outlook(self.known).forecasts, self.setting.by_level.shape[1])

    def under(self, policy: CompiledPolicy) -> state.Setting:
        """Return the Setting for a policy."""
        if isinstance(policy, Triage):
            return self.setting._replace(of_order=np.array(policy.prices))
        order, place, kept = policy.order, policy.place, 0
        asked = {*getattr(order, "arguments", ()), *getattr(place, "arguments", ())}
        scored, shows = isinstance(place, Score), asked & {"status", "best_status"}
        rule: Any = policy.reserve
        if rule is not None:
            values = self.constant | rule.parameters
            kept = int(rule.function(*[values[name] for name in rule.arguments]))
        how = filled(
            state.HOW,
            **self.how,
            first_come=order is by_submission,
            by_index=type(order) is Index,
            by_score=2 if shows else scored,
            held_back=kept,
            looks_ahead="next_free_s" in asked,
            of_idle=bool(asked & {"fastest_idle_s", "mean_fastest_idle_s"}),
        )
        return self.setting._replace(
            how=how[0],
            # first come, first served, needs one class only
            alike=self.setting.alike * (order is not by_submission),
            rules=np.array([address(order), address(place)], np.int64),
            of_order=parameters(order),
            of_score=parameters(place),
        )


class BulkClaims:
    """The claims of a run; each ClaimRecord is created when it is read.

    blocks: per block, columns of jobs, those of RECORD first. slots: per block, the
    jobs' slots. kept: per block, intervals of instances kept warm after a job.
    """

    def __init__(self, blocks: list[list[Array]] | None) -> None:
        self.blocks = blocks
        self.slots, self.kept = list[Array](), list[Array]()

    def __iter__(self) -> Iterator[ClaimRecord]:
        for block, slots in zip(self.blocks or (), self.slots):
            columns = dict(zip(RECORD, block))
            rows = zip(*[columns[name].tolist() for name in CLAIMED], slots.tolist())
            for job, gpus, dispatch_s, start_s, finish_s, of_job in rows:
                parts = tuple([(slot, 1) for slot in of_job[:gpus]])
                yield job, parts, dispatch_s, start_s, finish_s, ()
        for intervals in self.kept:
            for job, slot, from_s, to_s in intervals.tolist():
                phases = (("idle-warm", from_s),)
                yield job, ((slot, 1.0),), from_s, math.nan, to_s, phases


class Bulk:
    """A compiled run of a policy for which `why_not_compiled` returns "".

    tables: blocks of jobs in order of submission, as returned by `tables`.
    """

    def __init__(
        self,
        scenario: Any,
        policy: CompiledPolicy,
        seed: int,
        tables: Iterable[Array],
        keep: bool,
    ) -> None:
        self.scenario, self.policy, self.seed, self.keep = scenario, policy, seed, keep
        self.setup, self.tables = scenario.compiled_setup, iter(tables)
        self.kinds, self.setting = self.setup.kinds, self.setup.under(policy)
        self.records = Records(scenario.report(scenario), keep)
        self.stock: Stock = scenario.stock_of(seed)
        self.seen = stream(seed, "seen")  # stream of the statuses shown
        self.claims = BulkClaims(self.records.blocks)
        if keep:
            self.records.claims = self.claims
        self.run = self._state()
        self._jobs()

    def finish(self) -> Run | None:
        """Complete the run; return None if a rule failed or jobs would wait forever."""
        needs = {
            state.JOBS: self._jobs,
            state.ROOM: self._room,
            state.ROWS: self._rows,
            state.SEEN: self._seen,
            state.STOCK: self._stock,
        }
        weighs = isinstance(self.policy, Triage)
        forecasts = self.setup.weighed if weighs else None
        _report_first_use("triage.by_cost" if weighs else "rules.by_rules")
        while (need := loop.advance(self.run, self.setting, forecasts)) != state.ENDED:
            if need == state.FAILED:
                return None
            needs[need]()
        while self.run.number["done"]:
            self._rows()
        return Run(
            self.scenario,
            policy_name(self.policy),
            self.seed,
            self.records,
            decisions=int(self.run.number["decisions"]),
            held_s=self.run.fleet["held_s"].tolist(),
            rule=self.policy,
        )

    def _state(self) -> state.State:
        slots = len(self.scenario.slots)
        kinds = len(self.kinds)
        jobs = self.scenario.jobs
        levels = len(self.scenario.workload.mix)
        room = min(jobs, ROOM)
        # jobs that end within a block, or have ended and still pay for a slot
        kept = (min(jobs, BLOCK) + 2 * slots) * self.setup.most
        leaves = 1 << (slots + 1).bit_length()  # two more than slots, at least
        # the first leaf below each node
        tree = [
            (node << leaves.bit_length() - node.bit_length()) - leaves
            for node in range(2 * leaves)
        ]
        classes = 1 if self.setting.how["first_come"] else len(self.setting.tight)
        fleet = np.zeros(slots, state.SLOT)
        fleet["row"] = fleet["payer"] = -1
        most, block = self.setup.most, min(max(1, jobs), BLOCK) + slots
        return state.State(
            now_s=np.zeros(1),
            horizon_s=np.array([0.0 if self.setting.holds.any() else math.inf]),
            number=filled(state.NUMBER, left=jobs, open=True, idle=slots, free=room)[0],
            jobs=np.empty(0, state.JOB),
            rows=np.zeros(room, state.JOB),
            slots=np.zeros((room, most), np.int64),
            free=np.arange(room),
            due_s=np.empty((classes, room)),
            who=np.empty((classes, room), np.int64),
            first=np.zeros(classes, np.int64),
            last=np.zeros(classes, np.int64),
            at_s=np.full(leaves, math.inf),
            order=np.zeros(leaves, np.int64),
            tree=np.array(tree),
            fleet=fleet,
            idle=np.unique(self.setting.group, return_index=True)[1],
            out=np.empty(block, state.JOB),
            out_slots=np.zeros((block, most), np.int64),
            kept=np.empty(kept, state.KEPT),
            seen=np.empty(0),
            shown=np.empty(len(self.scenario.gpus), np.int64),
            epochs_s=np.zeros((kinds, 1)),
            levels=np.zeros((kinds, 1)),
            took=np.zeros((classes, TIERS), np.int64),
            stop=np.zeros((classes, TIERS), np.int64),
            rank=np.zeros((classes, TIERS, 2)),
            offers=np.zeros(kinds, np.int64),
            fastest_s=np.zeros(levels),
            figures=filled(state.FIGURE, **self.setup.constant),
            answer=np.zeros(LAST + 1),
            fronts=np.zeros(2 * classes, state.FRONT),
            taken=np.zeros((classes, 2), np.int64),
            turn=np.zeros(classes, np.int64),
            sent=np.zeros(slots, state.SENT),
        )

    def _jobs(self) -> None:
        jobs, number = next(self.tables), self.run.number
        number["next"], number["loaded"] = 0, len(jobs)
        number["left"] -= len(jobs)
        self.run = self.run._replace(jobs=jobs)

    def _room(self) -> None:
        """Enlarge the arrays of waiting and running jobs."""
        run, more = self.run, {}
        if not run.number["free"]:
            size = len(run.rows)
            for name in ("rows", "slots"):
                old = getattr(run, name)
                more[name] = np.concatenate([old, np.zeros_like(old)])
            more["free"] = np.concatenate([np.arange(size, 2 * size), run.free])
            run.number["free"] = size
        room = run.who.shape[1]
        size = room if (run.last - run.first).max() < room // 2 else 2 * room
        for name in ("due_s", "who"):
            old = getattr(run, name)
            more[name] = np.empty((len(old), size), old.dtype)
            for job_class, (first, last) in enumerate(zip(run.first, run.last)):
                more[name][job_class, : last - first] = old[job_class, first:last]
        run.last[:] -= run.first
        run.first[:] = 0
        self.run = run._replace(**more)

    def _rows(self) -> None:
        """Record a block of completed jobs, and all warm intervals."""
        number = self.run.number
        ended, terms = min(number["done"], BLOCK), self.scenario.terms.columns
        table = self.run.out[:ended]
        columns = {name: table[name] for name in state.JOB.names or ()}
        columns["job"] = table["id"]
        if terms:
            columns["executing_usd"] = columns["cost_usd"]
            none = np.zeros(ended)
            parts = [columns.get(f"{part}_usd", none).tolist() for part in PARTS]
            columns["cost_usd"] = np.array([math.fsum(entry) for entry in zip(*parts)])
        kinds = RECORD | self.scenario.columns
        self.records.take(
            {name: columns[name].astype(kinds[name]) for name in (*RECORD, *terms)}
        )
        if self.keep:
            self.claims.slots.append(self.run.out_slots[:ended].astype("i4"))
            self.claims.kept.append(self.run.kept[: number["intervals"]].copy())
        for array in (self.run.out, self.run.out_slots):
            array[: number["done"] - ended] = array[ended : number["done"]]
        number["done"] -= ended
        number["intervals"] = 0

    def _seen(self) -> None:
        """Draw further variates for the statuses shown to the policy."""
        number = self.run.number
        left = self.run.seen[number["looked"] :]
        number["looked"] = 0
        self.run = self.run._replace(
            seen=np.concatenate([left, self.seen.random(SEEN)])
        )

    def _stock(self) -> None:
        """Draw the stock up to a later time."""
        until_s = 2 * self.run.now_s[0] + LOOK_AHEAD_S
        self.run.horizon_s[0] = until_s
        paths = [([0.0], [0.0])] * len(self.kinds)
        for place in np.flatnonzero(self.setting.holds).tolist():
            path: Any = self.stock._path(self.kinds[place])
            level = path._levels[0]  # the only level, since there is one time scale
            level._draw_until(until_s)
            paths[place] = level._epochs_s, level._uniforms
        longest = max(len(epochs_s) for epochs_s, _ in paths)
        epochs_s, levels = np.full((2, len(paths), longest), math.inf)
        for place, (starts_s, uniforms) in enumerate(paths):
            epochs_s[place, : len(starts_s)] = starts_s
            levels[place, : len(uniforms)] = uniforms
        self.run = self.run._replace(epochs_s=epochs_s, levels=levels)


def tables(blocks: Iterable[Columns]) -> Iterator[Array]:
    """Yield blocks of jobs, from a workload's `columns`, as rows for the loop."""
    for columns in blocks:
        table = np.zeros(len(columns[0]), state.JOB)
        for name, column in zip(state.DRAWN, columns):
            table[name] = column
        yield table
