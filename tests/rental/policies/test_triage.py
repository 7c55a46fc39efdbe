"""Triage: its equations, evaluated one by one over all jobs and slots, and cases
computed by hand.
"""

from collections import Counter
from dataclasses import replace
from math import erfc, exp, inf, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_scenarios import scenarios
from support import refusals, several

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies import triage
from cgrsp_simpy.rental.policies.outlook import (
    NO_DELAY,
    Delay,
    Later,
    Line,
    Outlook,
    completed,
    expected_work_s,
    mean_work_s,
)
from cgrsp_simpy.rental.policies.triage import (
    Queue,
    Triage,
    line_of,
    moment_of,
    queue_of,
)

HOUR = 3600.0
# within the peak of the calibrated clock, 4 h to 10 h, in which every type may be Low
PEAK_S, END_S = 6 * HOUR, 10 * HOUR
# in the peak an RTX 3090 is Low with chance 0.375, an RTX A4000 with 0.0625
SLOW, FAST = "RTX 3090", "RTX A4000"
GPU = cg.THESIS_GPUS[0]


def loose(id, left_s, now_s=0.0, complexity=1):
    """A job with so many seconds to its deadline."""
    return cg.Job(id, 0.0, now_s + left_s, complexity)


def answer(queue, now_s, slots, parameters="", busy=None, **scenario):
    return cg.make_policy(f"triage:{parameters}")(
        cg.day("hectic", slots=slots, **scenario).moment(queue, now_s, busy)
    )


def pairs(answer):
    """Pairs (job id, slot index)."""
    return [
        (item[0].id, item[1].index) for item in answer if not isinstance(item, cg.Wake)
    ]


def assign(*args, **kwargs):
    return pairs(answer(*args, **kwargs))


# ---- the definition ----


def beyond(delay, left_s):
    """P(D > x) and E[(D - x)+], status by status."""
    if not delay.parts:  # a warm instance
        return float(left_s < 0), max(0.0, -left_s)
    chance = late_s = 0.0
    for own, least, most in delay.parts:
        if left_s < least:
            chance += own
            late_s += own * ((least + most) / 2 - left_s)
        elif left_s < most:
            chance += own * (most - left_s) / (most - least)
            late_s += own * (most - left_s) ** 2 / 2 / (most - least)
    return chance, late_s


class Definition:
    """The answer at a view by Eq. 1 to 5 of the policy's text, with nothing kept and
    nothing left out: r is summed up over all jobs.

    Of each class the first job that is late already and the first that is not are
    weighed, as in the policy; whole: all jobs are. reasons: why jobs were held.
    """

    def __init__(self, policy, view, whole=False):
        self.policy, self.view, self.whole, self.now_s = policy, view, whole, view.now_s
        self.outlook = Outlook(view.known)
        self.band = self.outlook.band(self.now_s)
        self.u = policy.price_wait_usd_per_min / 60
        self.v = policy.price_late_usd_per_min / 60
        self.miss = policy.price_miss_usd
        self.n, self.m = len(view.queue), len(view.known.fleet)
        spread_s = self.band.variation * sqrt(self.n) / self.band.rate
        self.h = policy.ahead_s + policy.spread * spread_s
        self.reasons = Counter()

    def fastest_s(self, job):
        return min(
            gpu.mean_execution_s[job.complexity - 1] for gpu in self.view.known.types
        )

    def rent_usd(self, job, gpu):
        return gpu.mean_execution_s[job.complexity - 1] * gpu.price_usd_per_h / 3600

    def completed(self, from_s, to_s):
        law = self.outlook.forecasts
        return completed(law, to_s) - completed(law, from_s)

    def cost(self, delay, left_s, after_s=0.0):
        """Eq. 1."""
        chance, late_s = beyond(delay, left_s - after_s)
        return self.u * (after_s + delay.mean_s) + self.v * late_s + self.miss * chance

    def second_usd(self):
        """Return s of Eq. 2."""
        known = self.view.known
        load = known.arrival_rate_per_s * known.gpus_per_job / self.band.rate
        number = sum(job.weight for job in self.view.queue)
        return self.u * number / (self.m * max(1 - load, 1 / 2))

    def billed_usd(self, gpu, delay):
        """The rent of a delay, where that is billed."""
        billed = self.view.known.terms.billed_from == "provisioning"
        return delay.mean_s * gpu.price_usd_per_h / 3600 if billed else 0.0

    def on_slot(self, job, slot):
        """W, x, D and Eq. 2."""
        work_s = slot.gpu.mean_execution_s[job.complexity - 1]
        left_s = job.deadline_s - self.now_s - work_s
        delay, _ = self.outlook.moment(self.view, slot)
        others_usd = self.second_usd() * (work_s + delay.mean_s)
        own_usd = job.weight * self.cost(delay, left_s) + self.billed_usd(
            slot.gpu, delay
        )
        usd = self.rent_usd(job, slot.gpu) + own_usd + others_usd
        return work_s, left_s, delay, usd

    def rate(self, start_s, chance):
        """The numerator of Eq. 3."""
        usd = self.u + self.v * chance
        if chance < 1:
            slack_s = self.completed(self.now_s, start_s) / self.band.rate
            usd += (1 - chance) * self.miss / self.h * exp(-slack_s / self.h)
        return usd

    def index(self, job, slot):
        """Eq. 3; of a job of several GPUs, per GPU."""
        work_s, left_s, delay, _ = self.on_slot(job, slot)
        chance, _ = beyond(delay, left_s)
        rate = self.rate(job.deadline_s - work_s, chance)
        return job.weight * rate / (work_s + delay.mean_s) / job.gpus

    def slot_usd(self):
        """The rate r of Eq. 4."""
        total = 0.0
        for job in self.view.queue:
            start_s = job.deadline_s - self.fastest_s(job)
            total += job.weight * self.rate(start_s, float(start_s < self.now_s))
        return total / self.m

    def later_is_cheaper(self, job, slot, later):
        """Eq. 4."""
        work_s, left_s, now, _ = self.on_slot(job, slot)
        after_s, then, r = (
            triage.after_of(later, self.now_s),
            later.delay,
            self.slot_usd(),
        )
        chance, late_s = beyond(then, left_s - after_s)
        if later.seen:
            here_s, there_s = now.mean_s, after_s + then.mean_s
            spare_s = max(0.0, left_s - then.mean_s)
            chance = exp(-spare_s / after_s) if after_s else 0.0
            late_s = chance * after_s
        else:
            here_s, there_s = beyond(now, after_s - work_s)[1], work_s + then.mean_s
            begin_s = self.now_s + after_s
            k = 1 + sum(other.deadline_s < job.deadline_s for other in self.view.queue)
            room = self.completed(begin_s, max(begin_s, job.deadline_s - work_s))
            chance = max(chance, erfc((room - k) / sqrt(2 * k) / sqrt(2)) / 2)
        if left_s < 0:
            chance, late_s = 1.0, after_s + then.mean_s - left_s
        usd = self.u * (after_s + then.mean_s) + self.v * late_s + self.miss * chance
        usd = job.weight * usd + self.billed_usd(slot.gpu, then)
        here_usd = job.weight * self.cost(now, left_s) + self.billed_usd(slot.gpu, now)
        return here_usd + r * here_s > usd + r * there_s

    def busy_is_cheaper(self, job, slot, gpu, left):
        """Eq. 5."""
        known, own_usd = self.view.known, self.rent_usd(job, gpu)
        alike = [each for each in known.types if self.rent_usd(job, each) <= own_usd]
        rate = sum(known.types[each] / self.band.busy_s[each.name] for each in alike)
        spare = max(rate - known.arrival_rate_per_s * known.gpus_per_job, rate / 2)
        if known.free_types:
            return False
        left_s = job.deadline_s - self.now_s - gpu.mean_execution_s[job.complexity - 1]
        delay = self.band.delays[gpu.name]
        there_usd = own_usd + self.billed_usd(gpu, delay)
        there_usd += job.weight * self.cost(delay, left_s, len(left) / spare)
        _, here_s, delay, _ = self.on_slot(job, slot)
        here_usd = self.rent_usd(job, slot.gpu) + self.billed_usd(slot.gpu, delay)
        return there_usd < here_usd + job.weight * self.cost(delay, here_s)

    def until_s(self, job, slot, offers, left):
        """Return how long a job is held, 0 for the shortest time; None if it is not."""
        for later in self.outlook.moment(self.view, slot)[1]:
            if self.later_is_cheaper(job, slot, later):
                self.reasons["seen" if later.seen else "hour"] += 1
                return 0.0 if later.seen else triage.after_of(later, self.now_s)
        busy = [
            gpu
            for gpu in self.view.known.types
            if all(s.gpu is not gpu for s in offers)
        ]
        if any(self.busy_is_cheaper(job, slot, gpu, left) for gpu in busy):
            self.reasons["busy"] += 1
            return inf
        return None

    def weighed(self, left):
        if self.whole:
            return left
        result = {}
        for job in sorted(left, key=lambda job: (job.deadline_s, job.id)):
            late = job.deadline_s < self.now_s + self.fastest_s(job)
            result.setdefault((job.complexity, job.tight, job.weight, late), job)
        return list(result.values())

    def choice(self, left, offers):
        """The job and the slot of greatest index that is not held, and when to look
        again.
        """
        best = {
            job: min(offers, key=lambda s: self.on_slot(job, s)[3])
            for job in self.weighed(left)
        }
        again_s = inf
        for job in sorted(
            best, key=lambda j: (-self.index(j, best[j]), j.deadline_s, j.id)
        ):
            until_s = self.until_s(job, best[job], offers, left)
            if until_s is None:
                return job, best[job], again_s
            again_s = min(again_s, until_s)
        return None, None, again_s

    def look_s(self):
        """Until the last poll within `look_s`, if there is one."""
        now_s, most_s = self.now_s, self.policy.look_s
        poll_s = self.view.known.market.poll_s
        if not poll_s:
            return most_s
        number = int((now_s + most_s) // poll_s)  # of the last poll in that time
        return number * poll_s - now_s if number * poll_s > now_s else most_s

    def answer(self):
        """Triples of job, slot and type, and the time of the wake."""
        view, left, offers = self.view, list(self.view.queue), self.view.offers()
        again_s, result = inf, []
        while left and offers:
            job, slot, again_s = self.choice(left, offers)
            if job is None:
                break
            slots, offers = [slot], view.offers_after(offers, slot)
            while len(slots) < job.gpus and offers:
                mean_s = {
                    own: self.outlook.moment(view, own)[0].mean_s for own in offers
                }
                slots.append(min(offers, key=mean_s.get))
                offers = view.offers_after(offers, slots[-1])
            if len(slots) < job.gpus:
                break
            result += [(job.id, own.index, own.gpu.name) for own in slots]
            left.remove(job)
        wake_s = self.now_s + max(self.look_s(), again_s)
        return result, None if again_s == inf else pytest.approx(wake_s)


def any_scenario(seed):
    """Types, slots, hours, delays and jobs at random; now and then stock that persists
    and is seen, free types, warm instances, and, of every fourth seed, jobs of two
    GPUs, of every third, jobs of two weights.
    """
    rng = np.random.default_rng(seed)
    most_gpus = 2 if seed % 4 == 3 else 1
    gpus = tuple(
        cg.GpuType(
            f"type {number}",
            0.1 * 100 ** rng.random(),
            tuple(rng.uniform(10, 90, 3).cumsum().tolist()),
            rng.uniform(0.3, 1),
        )
        for number in range(rng.integers(1, 4))
    )
    slots = cg.round_robin(int(rng.integers(most_gpus, 6)), gpus)
    hours = [0.0, *sorted(rng.uniform(0.1, 23.9, rng.integers(0, 4)).tolist())]
    levels = rng.choice([0.3, 0.6, 1.0, 1.3], len(hours)) * rng.uniform(
        0.9, 1.1, len(hours)
    )
    clock = cg.Clock(tuple(zip(hours, levels.tolist())), rng.uniform(0, 23.9))
    low_s = rng.uniform(50, 900)
    delay_s = (
        (0, rng.uniform(1, 20)),
        (30, rng.uniform(31, 200)),
        (low_s, low_s * rng.uniform(1, 24)),
    )
    stock = {
        "persistence_s": rng.uniform(100, 1500),
        "sight": str(rng.choice(["none", "now", "poll:333"])),
    }
    market = cg.Market(clock, delay_s, **(stock if rng.random() < 0.5 else {}))
    number, load = int(rng.integers(10, 30)), 0.2 * 20 ** rng.random()
    work_s = np.mean([gpu.mean_execution_s for gpu in slots])
    submit_s = rng.exponential(work_s / len(slots) / load, number).cumsum()
    windows_s = 30 * 1000 ** rng.random(number)
    jobs = [
        cg.Job(
            id,
            begin_s,
            begin_s + window_s,
            int(rng.integers(1, 4)),
            bool(rng.random() < 0.4),
            int(rng.integers(1, most_gpus + 1)),
            (1.0, 0.2)[id % 2] if seed % 3 == 2 else 1.0,
        )
        for id, (begin_s, window_s) in enumerate(
            zip(submit_s.tolist(), windows_s.tolist())
        )
    ]
    billed_from = str(rng.choice(["execution", "provisioning"]))
    warm_s = rng.uniform(50, 900) if rng.random() < 0.3 else 0.0
    terms = cg.Terms(warm_s=warm_s, billed_from=billed_from)
    free_types = bool(rng.random() < 0.3)
    return cg.Scenario(
        "any", cg.JobList(jobs), slots, gpus, free_types, market, terms=terms
    )


def any_policy(seed):
    """Prices at random, in every second case."""
    rng = np.random.default_rng([seed, 1])
    prices = [
        10 ** rng.uniform(-2, 1),
        10 ** rng.uniform(-4, -1),
        10 ** rng.uniform(-6, -2),
    ]
    rest = [rng.uniform(50, 900), rng.uniform(0, 2), rng.uniform(1, 100)]
    return Triage(*prices, *rest) if seed % 2 else Triage()


def check_definition(scenario, policy, seed, whole=False):
    """Every answer of a run is that of the definition; the reasons for which jobs were
    held.
    """
    reasons = Counter()

    def look_on(view):
        answer = policy(view)
        slots = [(job, own) for job, own in filter(is_pair, answer)]
        results = [
            (job.id, s.index, s.gpu.name) for job, own in slots for s in several(own)
        ]
        wakes = [each.at_s for each in answer if isinstance(each, cg.Wake)]
        definition = Definition(policy, view, whole)
        assert (results, wakes[0] if wakes else None) == definition.answer(), view.now_s
        reasons.update(definition.reasons)
        reasons["sent"] += len(slots)
        return answer

    cg.simulate(scenario, look_on, seed)
    return reasons


def is_pair(each):
    return not isinstance(each, cg.Wake)


@pytest.fixture
def all_rates(monkeypatch):
    """The rates of all jobs are summed up, not those of a sample of each class."""
    monkeypatch.setattr(triage, "SAMPLED", 10**9)


@pytest.mark.parametrize(
    ("seeds", "least"),
    [
        # one with each reason to hold a job, and of the kinds of scenario each
        ((3, 8, 13, 15, 17), 1),
        pytest.param(range(224), 100, marks=pytest.mark.slow),
    ],
)
def test_every_result_of_a_run_satisfies_the_equations(seeds, least, all_rates):
    reasons = Counter()
    for seed in seeds:
        reasons += check_definition(any_scenario(seed), any_policy(seed), seed)
    assert min(reasons[why] for why in ("hour", "seen", "busy", "sent")) >= least


@settings(max_examples=25)
@given(scenario=scenarios() | scenarios(gangs=True), seed=st.integers(0, 99))
def test_triage_follows_its_definition_in_any_scenario(scenario, seed):
    """With whole seconds, equal jobs, certain stock and no expensive types."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triage, "SAMPLED", 10**9)
        check_definition(scenario, Triage(), seed)


@pytest.mark.parametrize("seed", [0, 3, 9])
def test_on_one_type_without_delays_the_first_of_a_class_has_its_greatest_index(
    seed, all_rates
):
    """A delay that may make the first job of a class late lowers its index."""
    some = any_scenario(seed)
    jobs = [job._replace(gpus=1) for job in some.workload.listed]
    market, own = cg.Market(delay_s=((0, 0),) * 3), some.gpus[:1]
    day = cg.Scenario(
        "sure", cg.JobList(jobs), own * len(some.slots), own, market=market
    )
    assert check_definition(day, any_policy(seed), seed, whole=True)["sent"] == len(
        jobs
    )


def test_r_of_a_long_class_equals_that_of_a_sample():
    """Of 30 jobs those at 5, 15 and 25; for equal jobs it makes no difference."""
    policy = Triage()

    def r_of(queue):
        view = cg.day("hectic", slots=[FAST, FAST]).moment(queue, PEAK_S)
        law, queue = Outlook(view.known).forecasts, queue_of(view.classes)
        now = moment_of(law, policy.prices, queue, {}, {}, PEAK_S)
        wanted = Definition(policy, view)
        assert [
            *(now.slot_usd, now.ahead_s, now.wait_usd, now.late_usd, now.miss_usd)
        ] == pytest.approx(
            [wanted.second_usd(), wanted.h, wanted.u, wanted.v, wanted.miss]
        )
        return line_of(now), wanted

    for left_s in (5000, 0):
        alike, wanted = r_of([loose(id, left_s, PEAK_S) for id in range(30)])
        assert alike == pytest.approx(wanted.slot_usd())
    queue = [loose(id, 2000 + 100 * id, PEAK_S) for id in range(30)]
    result, definition = r_of(queue)
    starts_s = [
        queue[place].deadline_s - definition.fastest_s(queue[0])
        for place in (5, 15, 25)
    ]
    assert result == pytest.approx(
        sum(definition.rate(s, 0.0) for s in starts_s) * 10 / 2
    )
    assert result == pytest.approx(definition.slot_usd(), rel=0.2)


# ---- the slot ----


CHEAP = cg.GpuType("cheap", 0.3, (60.0, 60.0, 90.0), 0.6)
DEAR = cg.GpuType("dear", 10.0, (15.0,) * 3, 0.6)


# ---- preemption ----


def test_the_mean_execution_time_includes_the_work_repeated_after_preemptions():
    rate_per_s = 30 / 3600
    rng = np.random.default_rng(1)

    def drawn_s(parts_s, restart_s=0.0):
        """Of each part, attempts until one of them is not broken off."""
        total_s = 0.0
        for part_s in parts_s:
            while (life_s := rng.exponential(1 / rate_per_s)) < part_s:
                total_s += life_s + restart_s
            total_s += part_s
        return total_s

    for values, parts_s in (
        ({"restart_s": 20.0}, [60.0]),
        ({"checkpoint_s": 60, "checkpoint_cost_s": 5}, [60.0]),
        ({"checkpoint_s": 25, "checkpoint_cost_s": 5}, [30, 30, 10]),
    ):
        terms = cg.Terms(preemption=(cg.Preemption(CHEAP.name, 30.0),), **values)
        load = cg.PoissonWorkload(9, 0.001)
        day = cg.Scenario("taken", load, (CHEAP, DEAR), (CHEAP, DEAR), terms=terms)
        expected_s = np.expm1(rate_per_s * np.array(parts_s)).sum() * (
            1 / rate_per_s + terms.restart_s
        )
        assert expected_work_s(day.known(), CHEAP)[0] == pytest.approx(expected_s)
        mean_s = np.mean([drawn_s(parts_s, terms.restart_s) for _ in range(8_000)])
        assert expected_s == pytest.approx(mean_s, rel=0.02)
        assert expected_work_s(day.known(), DEAR) == DEAR.mean_execution_s


# ---- refusals ----


def refused(chances, persistence_s=0.0, **terms):
    """Forecasts for a type whose Low stock is two hours, or a refusal."""
    stock = (cg.HourlyStock(GPU.name, [(1.0, 0.0, 0.0), *[chances] * 23]),)
    market = cg.Market(
        cg.Clock(((0, 1.0),), 12),
        ((0, 10), (50, 70), (7200, 7200)),
        stock=stock,
        persistence_s=persistence_s,
    )
    load, terms = cg.PoissonWorkload(9, 0.001), cg.Terms(**terms)
    day = cg.Scenario("refused", load, (GPU,), (GPU,), market=market, terms=terms)
    return Outlook(day.known()).band(0.0)


def test_a_refusal_lasts_until_an_attempt_finds_other_stock():
    chances, good_s = (0.5, 0.25, 0.25), 5 * 2 / 3 + 60 / 3
    recovers_s = 90 / -np.expm1(-90 * 0.75 / 1800)
    bands = [
        refused(chances, persistence_s, **terms)
        for chances, persistence_s, terms in (
            (chances, 0, {}),
            (chances, 0, {"retry_s": 90}),
            (chances, 1800, {"retry_s": 90}),
            # a day on average, which is the most
            (chances, 0, {"retry_s": 0.75 * 86_400}),
            # never refused
            ((2 / 3, 1 / 3, 0.0), 0, {"retry_s": 90}),
        )
    ]
    results = [band.delays[GPU.name] for band in bands]
    waits_s = 7200, 90 / 0.75 + good_s, recovers_s + good_s, 86_400, good_s
    assert [delay.mean_s for delay in results] == pytest.approx(
        [0.75 * good_s + 0.25 * wait_s for wait_s in waits_s]
    )
    # a refusal holds no slot
    assert [delay.held_s for delay in results] == pytest.approx(
        [results[0].mean_s, *[good_s] * 4]
    )
    # with persistence, the slot works only while stock is not Low
    work_s = mean_work_s(bands[0].known, GPU)
    assert [
        (work_s + delay.held_s) / band.busy_s[GPU.name]
        for delay, band in zip(results, bands)
    ] == pytest.approx([1, 1, 0.75, 1, 1])


@pytest.mark.parametrize(
    ("retry_s", "high"), [(1e-6, 0.0), (60.0, 0.0), (60.0, 1e-9), (1e9, 0.0)]
)
def test_an_hour_of_certain_low_stock_refuses_orders_for_at_most_a_day(retry_s, high):
    certain = refused((high, 0.0, 1 - high), retry_s=retry_s)
    delay, most_s = certain.delays[GPU.name], max(86_400, retry_s)
    assert (delay.mean_s, delay.held_s) == (pytest.approx(most_s), 0)
    assert certain.busy_s[GPU.name] > most_s


def test_jobs_do_not_wait_for_the_end_of_a_scarcity_if_low_stock_is_refused():
    now_s = END_S - 1200
    queue = [loose(id, 9000, now_s) for id in range(20)]
    assert assign(queue, now_s, [SLOW]) == []
    assert assign(queue, now_s, [SLOW], terms=cg.Terms(retry_s=60)) == [
        (queue[0].id, 0)
    ]


def test_a_job_does_not_wait_for_an_idle_type_with_any_view_object():
    """Each slot of a log has a separate type, equal to the others."""
    for seed in (46, 96):
        own = any_scenario(seed)
        apart = replace(own, slots=[replace(gpu) for gpu in own.slots])
        runs = [cg.simulate(each, "triage", seed).jobs for each in (own, apart)]
        assert np.array_equal(*runs), seed


# ---- jobs of several GPUs, other markets ----


def test_one_policy_object_serves_runs_in_different_markets():
    policy = cg.make_policy("triage")
    load = cg.PoissonWorkload(50, 0.05)
    calm = cg.Scenario("calm", load, market=cg.Market(cg.Clock(((0, 1.0),))))
    scarce = cg.Scenario(
        "scarce", load, market=cg.Market(cg.Clock(((0, 0.5), (1, 1.0))))
    )
    seen = replace(
        scarce, market=replace(scarce.market, persistence_s=900, sight="now")
    )
    for scenario in (calm, scarce, seen, calm):
        again, fresh = (cg.simulate(scenario, each, 3) for each in (policy, "triage"))
        assert again.jobs.tobytes() == fresh.jobs.tobytes()


# ---- parameters ----


test_wrong_parameters_are_named_in_one_line = refusals(
    ("price_miss_usd=-1", "price_miss_usd"),
    ("price_late_usd_per_min=-0.1", "price_late_usd_per_min"),
    ("price_wait_usd_per_min=inf", "price_wait_usd_per_min"),
    ("ahead_s=0", "ahead_s"),
    ("ahead_s=nan", "ahead_s"),
    ("spread=-0.1", "spread"),
    ("spread=inf", "spread"),
    ("look_s=0", "look_s"),
    ("look_s=soon", "a number"),
    ("gate=0.3", "gate"),
    ("sight=false", "sight"),
    ("name=mine", "name"),
    call=lambda text: cg.make_policy(f"triage:{text}"),
)


# ---- a decision's parts, by hand ----


THEN = Delay((), 30.0, 90.0, 30.0)
NOW = SimpleNamespace(
    now_s=100.0,
    queue=queue_of([]),
    delays=[THEN, THEN._replace(mean_s=20.0), THEN._replace(mean_s=20.0)],
    wait_usd=1.0,
    late_usd=2.0,
    miss_usd=0.0,
    slot_usd=1.0,
    later=[[Later(50.0, THEN, True)]],
    band=0,
    forecasts=SimpleNamespace(
        work_s=[[100.0], [47.0]] * 2,  # cold and warm
        rent_usd=[[0.0], [0.0]] * 2,
        billed_usd_per_h=[3600.0] * 4,
        starts_s=[0.0],
        rates=[0.02],
        done=[0.0, 1728.0],
        lines=[[[Line(kind, rent_usd=0.0, spare=1.0) for kind in (0, 1)]]],
        delays=[[NO_DELAY, NO_DELAY._replace(held_s=1.0)]],
    ),
)


def front(usd):
    """A job that takes 100 s and has 50 s left; usd: its cost if dispatched now."""
    return SimpleNamespace(offer=0, level=0, usd=usd, weight=1.0, deadline_s=150.0)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        # of 200 s left, 30 s of delay, and 50 s until the stock recovers
        (
            triage.late_then(NOW, 400.0, 100.0, Later(50.0, THEN, True), 50.0),
            (exp(-170 / 50), 50 * exp(-170 / 50)),
        ),
        (triage.late_then(NOW, 210.0, 100.0, Later(50.0, THEN, True), 50.0), (1, 50)),
        (triage.late_then(NOW, 150.0, 100.0, Later(50.0, THEN, True), 50.0), (1, 130)),
        (triage.late_then(NOW, 200.0, 100.0, Later(0.0, THEN, True), 0.0), (0, 0)),
        # 3 jobs are completed from 150 to 300 s
        (
            triage.late_then(NOW, 400.0, 100.0, Later(50.0, THEN), 50.0),
            (erfc((3 - 1) / 2) / 2, 0),
        ),
        # one of the jobs that still wait is due earlier
        (
            triage.late_then(
                SimpleNamespace(
                    **vars(NOW)
                    | {"queue": Queue([[50.0, 200.0, 500.0]], [1], [3], [1], [0], [0])}
                ),
                *(400.0, 100.0, Later(50.0, THEN), 50.0),
            ),
            (erfc((3 - 2) / sqrt(2) / 2) / 2, 0),
        ),
        (triage.rate_usd(NOW, -1e9, 1.0), 3),  # late for certain
        # held for 50 s and a billed delay of 30 s, it ends 130 s late: 80 + 30 + 2 x
        # 130 USD
        (triage.saves(NOW, front(370.0), [0], Later(50.0, THEN, True), 50.0, 0.0), 0),
        (triage.saves(NOW, front(370.1), [0], Later(50.0, THEN, True), 50.0, 0.0), 1),
        # a billed delay of 30 s, 80 s of lateness, and others wait for 130 s
        (triage.service_usd(NOW, front(0.0), 0), (30 + 30 + 2 * 80 + 130, 220)),
        # a slot on which it takes 47 s is free in 3 s, and bills a second more
        (triage.cheaper(NOW, front(4.0), [0], 3), 0),
        (triage.cheaper(NOW, front(4.1), [0], 3), 1),
        (triage.held(NOW, front(4.0), [0], 0.0, 3), -1),
        (triage.held(NOW, front(4.1), [0], 0.0, 3), inf),
        (triage.held(NOW, front(370.1), [0], 0.0, 3), 0),
        (triage.cheaper(NOW, front(4.1), [0, 1], 3), 0),  # one is idle
        (triage.cheaper(NOW, front(4.1), [0, 3], 3), 0),  # a warm one is
        (triage.soonest(NOW, [0, 2, 1]), 1),
        (triage.soonest(NOW, [2, 1, 0]), 0),
    ],
)
def test_parts_of_a_decision_by_hand(found, expected):
    assert found == pytest.approx(expected)
