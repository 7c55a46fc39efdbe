"""The search for changes: possible changes, counted costs, and situations
whose answer is known from theory, or from all options on many seeds.
"""

from dataclasses import replace
from itertools import product, starmap

import numpy as np
import pytest
from scipy import stats
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.decide.recommend import (
    COST,
    FIXED,
    FREE,
    INCONVENIENCE,
    LEVELS,
    PARTS,
    Option,
    Prices,
    Search,
    Spot,
    Trials,
    fleets,
    neighbours,
    scheduled,
    under_load,
    variant,
    varies_by_hour,
)
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.studies.subject import subject_of

DAY = cg.day("hectic", jobs=60)
AT_ONCE = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))
SLOW = cg.GpuType("slow", 1.0, (120.0, 140.0, 200.0), 1.0)
FAST = cg.GpuType("fast", 0.3, (60.0, 70.0, 100.0), 1.0)
MANY = range(10_000, 10_040)  # seeds of what is taken for the truth
TWO = (
    cg.DeadlineClass("tight", 0.3, 300.0, True),
    cg.DeadlineClass("loose", 0.7, 20_000.0),
)


def place(gap_s=200.0, slots=1, gpus=(FAST,), classes=TWO, market=AT_ONCE, jobs=60):
    """Sixty jobs of 72 s or so on a slot, provisioned at once."""
    load = cg.PoissonWorkload(jobs, 1 / gap_s, deadlines=classes)
    return cg.Scenario(
        "small", load, cg.round_robin(slots, gpus), tuple(gpus), market=market
    )


def truth(scenario, option, prices=Prices(), figure=COST):  # noqa: B008 - frozen
    trials = Trials(scenario, [option.policy], prices)
    trials.run([option], MANY)
    return trials.mean(option, figure, MANY).mean


# ---- possible changes ----


@pytest.mark.parametrize("slots", range(1, 10))
@pytest.mark.parametrize("of", [1, 4, 5, 7])
def test_a_variant_is_the_day_with_that_number_of_slots(of, slots):
    assert variant(cg.day("hectic", slots=of), False, slots) == cg.day(
        "hectic", slots=slots
    )


def test_the_slots_of_each_kind_of_types():
    day = cg.day("hectic", slots=["RTX 3090", "RTX 3090", "RTX A4000"])
    own = fleets(day, Spot(0.4, 0.2))
    names = {kind: [gpu.name for gpu in own[kind](4).slots] for kind in own}
    assert list(own)[:2] == [FIXED, FREE]
    assert names[FIXED] == ["RTX 3090", "RTX 3090", "RTX A4000", "RTX 3090"]
    assert own[FREE](5).free_types and not own["all RTX 3090"](5).free_types
    assert names["all RTX A5000"] == ["RTX A5000"] * 4
    assert names["plus RTX A5000"] == [gpu.name for gpu in day.slots] + ["RTX A5000"]
    assert [kind for kind in own if kind.startswith("spot")] == [
        "spot RTX 3090",
        "spot RTX A4000",
    ]
    check_refused(lambda: own["plus RTX A5000"](3), "more than the present number")
    assert next(iter(fleets(cg.day("hectic", free_types=True)))) == FREE
    assert list(fleets(place())) == [FIXED]


def test_a_fleet_on_spot_instances_is_cheaper_and_preempted():
    fleet = fleets(DAY, Spot(0.4, 0.2))["spot RTX 3090"](5)
    prices = {gpu.name: gpu.price_usd_per_h for gpu in DAY.gpus}
    for gpu in (*fleet.slots, *fleet.gpus):
        assert gpu.price_usd_per_h == pytest.approx(
            prices[gpu.name] * (0.4 if gpu.name == "RTX 3090" else 1.0)
        )
    assert fleet.terms.preemption == (cg.Preemption("RTX 3090", 0.2),)
    taken = replace(DAY, terms=cg.Terms(preemption_per_h=0.1))
    check_refused(lambda: fleets(taken, Spot(0.4, 0.2)), "already has preemptions")


def test_no_fleet_is_tried_on_which_a_job_does_not_fit():
    wide = cg.JobList([cg.Job(0, 0.0, 900.0, gpus=2), cg.Job(1, 5.0, 900.0)])
    trials = Trials(replace(place(slots=3), workload=wide), ["fifo"], Prices())
    assert [trials.able(trials.now._replace(slots=n)) for n in range(5)] == [
        *(False, False),
        *(True, True, True),
    ]


def test_a_higher_load_only_changes_the_rate(file):
    assert under_load(cg.day("surge"), 1.3) == cg.day(
        "surge", jobs=949, rate_per_s=1.3 * cg.day("surge").workload.rate_per_s
    )
    hourly = cg.HourlyWorkload(100, cg.ArrivalRates((tuple(range(24)),)))
    even = cg.HourlyWorkload(1, cg.ArrivalRates(((2.0,) * 24,)))
    days = [replace(DAY, workload=load) for load in (hourly, DAY.workload, even)]
    assert list(map(varies_by_hour, days)) == [True, False, False]
    doubled = under_load(days[0], 2.0).workload
    assert doubled.jobs == 200 and doubled.rates.per_h[0] == tuple(range(0, 48, 2))
    assert (under_load(DAY, 1.0), under_load(DAY, 1e-9).jobs) == (DAY, 1)
    path = file(
        "submit_s,service_s,deadline_s\n100,5,150\n300,5,340\n500,5,900\n", "log.csv"
    )
    log = under_load(cg.trace(path), 2.0).workload
    assert isinstance(log, cg.LoggedWorkload) and log.submit_s == (100.0, 200.0, 300.0)
    assert log.deadline_s == (150.0, 240.0, 700.0) and log.service_s == (5.0,) * 3
    assert log.rate_per_s == pytest.approx(2 * cg.trace(path).workload.rate_per_s)
    listed = replace(place(), workload=cg.JobList([cg.Job(0, 0.0, 900.0)]))
    check_refused(lambda: under_load(listed, 2.0), "load can change only")


# ---- counted costs ----


def weighed(weight=7.0, **more):
    classes = (
        cg.DeadlineClass("gold", 0.4, 400.0, True, weight),
        cg.DeadlineClass("rest", 0.6, 3000.0),
    )
    return place(60.0, classes=classes, **more)


@pytest.mark.parametrize("policy", ["fifo", "triage"])
def test_a_bill_sums_the_weighted_cost_of_each_job(policy):
    """By hand, job by job; the mean weight is not that of the jobs that miss."""
    prices, run = Prices(2.0, 0.03, 0.004, 0.5), cg.simulate(weighed(), policy, 3)
    bill = prices.bill(Totals(*subject_of(run.scenario).outcome(run)), 4, 2.0)
    expected = dict.fromkeys(PARTS, 0.0)
    for job in run.jobs:
        late_s = max(0.0, job["finish_s"] - job["deadline_s"])
        expected["rent_usd"] += job["cost_usd"] / 2
        expected["misses_usd"] += job["weight"] * 2.0 * (late_s > 0) / 2
        expected["late_usd"] += job["weight"] * 0.03 * late_s / 60 / 2
        expected["waits_usd"] += (
            job["weight"] * 0.004 * (job["start_s"] - job["submit_s"]) / 60 / 2
        )
    expected["slots_usd"] = 0.5 * 4
    assert {part: bill[part] for part in PARTS} == pytest.approx(expected)
    assert bill[COST] == pytest.approx(sum(expected.values()))
    own = sum(expected[part] for part in INCONVENIENCE)
    assert prices.of_jobs(run.jobs).sum() / 2 == pytest.approx(own)
    plain = Prices().of_jobs(cg.simulate(weighed(1.0), policy, 3).jobs).sum()
    assert own > 2 * plain > 0


def test_slots_are_billed_while_they_are_open_and_in_their_overtime():
    trials = Trials(DAY, ["fifo"], Prices())
    totals = Totals(*subject_of(DAY).outcome(cg.simulate(DAY, "fifo", 1)))
    longer = replace(totals, more={"overtime_h": 24.0 * trials.days})
    assert [trials.billed_slots(trials.now, sums) for sums in (totals, longer)] == [
        *(len(DAY.slots), len(DAY.slots) + 1)
    ]


def test_triage_weighs_by_the_prices():
    prices = Prices(price_miss=5.0, price_wait=0.0)
    weighed = "triage:price_miss_usd=5.0,price_wait_usd_per_min=0.0"
    own = "triage:price_late_usd_per_min=1"
    assert prices.passed_to(["fifo", "triage", own]) == ["fifo", weighed, own]
    assert Prices(price_slot=1.0).passed_to(["triage"]) == ["triage"]
    assert list(Trials(DAY, ["triage"], prices).policies) == [
        weighed,
        f"{weighed}-later",
    ]


test_prices_are_checked = refusals(
    ({"price_miss": -1}, "price_miss"),
    ({"price_slot": float("nan")}, "price_slot"),
    ({"price_miss": 1e307}, "at most 1,000,000,000 USD"),
    call=lambda given: Prices(**given),
)


test_spot_is_checked = refusals(
    (-0.1, 1, "share"),
    (1.1, 1, "from 0 to 1"),
    (0.5, 0, "per_h"),
    (float("nan"), 1, "share"),
    call=lambda share, per_h: Spot(share, per_h),
)


def test_differences_are_paired_and_of_few_seeds_have_no_interval():
    trials = Trials(place(80.0), ["fifo", "edf"], Prices())
    edf = trials.now._replace(policy="edf")
    trials.run([trials.now, edf], range(9))
    pair = [trials.values(each, "wait_min", range(9)) for each in (edf, trials.now)]
    result = trials.change(edf, trials.now, "wait_min", range(9))
    assert result.p == pytest.approx(stats.ttest_rel(*pair).pvalue)
    assert np.isnan(trials.change(edf, trials.now, COST, range(2)).low)
    study = cg.compare(place(80.0), ["edf"], range(9))
    assert trials.mean(edf, "wait_min", range(9)) == study.means()["edf"]["wait_min"]


# ---- the search ----


def search(
    scenario,
    policies,
    prices=Prices(),  # noqa: B008
    limits=None,
    least=COST,
    spot=None,
):
    return Search(Trials(scenario, policies, prices, spot), limits or {}, least, 100)


def test_the_least_change_comes_first():
    assert [" ".join(level) for level in LEVELS] == [
        *("", "policy", "types", "slots"),
        *("policy types", "policy slots", "types slots", "policy types slots"),
    ]


@pytest.mark.parametrize(
    ("least", "tries"), [(1, 8), (2, 8), (7, 6), (40, 17), (333, 31)]
)
def test_a_climb_ends_if_one_slot_more_and_one_fewer_are_worse(
    least, tries, monkeypatch
):
    """Its steps grow: it does not try each number."""
    own = search(place(slots=9), ["fifo"])
    visited = []

    def best(options, seeds, number=1):
        options = [each for each in options if each.slots >= 1]
        visited.extend(options)
        return sorted(options, key=lambda each: abs(each.slots - least))[:number]

    monkeypatch.setattr(own, "best", best)
    assert own.climb(own.trials.now, own.few).slots == least
    assert len(set(visited)) == tries


@pytest.fixture
def priced(monkeypatch):
    """A search in which each option's cost on a seed is given."""

    def make(cost, policies=("fifo", "edf"), scenario=None):
        tried = search(scenario or place(slots=2, gpus=(SLOW, FAST)), policies)

        def run(options, seeds):
            for option in options:
                done = tried.trials.figures.setdefault(option, {})
                done |= {seed: {COST: cost(option, seed)} for seed in seeds}

        monkeypatch.setattr(tried.trials, "run", run)
        return tried

    return make


@pytest.mark.parametrize(("types", "usd"), [("all fast", 19.5), (FREE, 20.5)])
def test_the_cheapest_of_known_costs_is_found(types, usd, priced):
    """Today's types cost 20 USD on today's 2 slots and 18 USD on 3; other types, usd
    and usd - 1, but the least on 13 slots, with another policy.
    """

    def cost(option, seed):
        slots, policy = option.slots, 3 if option.slots < 10 else -3
        costs = {FIXED: 18 + 2 * abs(slots - 3), types: usd - 11 + abs(slots - 13)}
        more = costs.get(option.types, 30 + slots) + policy * (option.policy == "edf")
        return more + (seed * 7) % 5

    assert priced(cost).cheapest() == Option("edf", 13, types)


def test_options_without_a_significant_or_large_difference_are_ties(
    priced, monkeypatch
):
    """Compared with the best: the mean difference, and that by chance."""
    monkeypatch.setattr("cgrsp_simpy.decide.recommend.FINALISTS", 9)
    more = {
        3: (0.0, 0.0),  # the best
        4: (0.0, 0.0),
        2: (0.5, 3.0),  # today's
        5: (0.5, 3.0),
        6: (1.0, 0.0),  # certainly worse
        7: (2.0, 60.0),  # 2 %
        8: (2.1, 60.0),
    }
    tried = priced(
        lambda option, seed: (
            100 + np.dot(more.get(option.slots, (9, 0)), (1, (-1) ** seed))
        )
    )
    options = {slots: tried.trials.now._replace(slots=slots) for slots in more}
    tried.trials.run(options.values(), tried.few)
    assert [option.slots for option in tried.ties(options[3], tried.seeds)] == [
        *(3, 4, 5, 7)
    ]
    assert tried.ties(options[2], tried.seeds) == [options[2]]
    # only what is certainly better replaces the best
    assert [tried.repriced(options[n], COST).slots for n in (2, 6)] == [2, 3]


@pytest.mark.parametrize(
    ("cost", "most", "excess", "expected"),
    [
        (lambda option, _: 10 - (option.policy == "edf"), 10.0, 0.0, {}),
        (lambda option, _: 3, 0.0, 3.0, {}),
        # two more slots would do, too
        (
            lambda option, _: (
                30 - 11 * (option.policy == "edf") - 5 * min(option.slots, 5)
            ),
            *(10.0, 1.0, {"policy": "edf"}),
        ),
        # on the first seeds 4 slots would do
        (
            lambda option, seed: 8 + 1.5 * abs(option.slots - (4 if seed < 106 else 6)),
            *(10.0, 0.1, {"slots": 6}),
        ),
        # nothing does: the nearest
        (
            lambda option, _: 11 + abs(option.slots - 3) + (option.policy == "edf"),
            *(10.0, 0.2, {"slots": 3}),
        ),
    ],
)
def test_the_smallest_change_that_meets_the_limits(
    cost, most, excess, expected, priced
):
    tried = priced(
        lambda option, seed: cost(option, seed) + 5.0 * (option.types != FIXED)
    )
    now, tried.limits = tried.trials.now, {COST: most}
    assert tried.least_change() == now._replace(**expected)
    assert tried.excess(now, tried.few) == pytest.approx(excess, rel=1e-8, abs=1e-12)


HOURLY = Option("fifo", 4, FIXED, ((0.0, 2), (9.0, 4)))


def test_neighbours_of_a_schedule_differ_by_one_change():
    """Hours are from 0 to below 24, and two spans do not begin together."""
    expected = [
        HOURLY._replace(slots=slots, hours=hours)
        for slots, hours in (
            *((4, ((0, 3), (9, 4))), (4, ((0, 1), (9, 4)))),
            *((4, ((1, 2), (9, 4))), (4, ((3, 2), (9, 4))), (4, ())),
            *((5, ((0, 2), (9, 5))), (3, ((0, 2), (9, 3)))),
            *((4, ((0, 2), (10, 4))), (4, ((0, 2), (8, 4)))),
            *((4, ((0, 2), (12, 4))), (4, ((0, 2), (6, 4))), (2, ())),
        )
    ]
    assert neighbours(HOURLY, 1) == expected
    # with one slot at night, jobs of two GPUs would never end
    assert neighbours(HOURLY, 2) == expected[:1] + expected[2:]
    early = HOURLY._replace(hours=((1.0, 2), (23.0, 4)))
    assert {hour for each in neighbours(early, 1) for hour, _ in each.hours} == {
        *(0.0, 1.0, 2.0, 4.0, 20.0, 22.0, 23.0)
    }


@pytest.mark.parametrize(
    ("numbers", "hours"),
    [
        (
            [2] * 6 + [5] * 3 + [4] * 3 + [9] * 4 + [8] * 2 + [3] * 6,
            ((0, 2), (6, 5), (12, 9), (18, 3)),
        ),
        # the last adds 1 slot for 4 h, the first would add 1 for 5 h; midnight is
        # no change
        (
            [4] * 5 + [5] * 5 + [9] * 5 + [4] * 5 + [3] * 4,
            ((5, 5), (10, 9), (15, 4)),
        ),
        # from 6 to 8 slots are 2 more for 4 h, from 4 to 6 are 2 more for 3 h
        (
            [8] * 4 + [6] * 4 + [2] * 5 + [4] * 3 + [6] * 5 + [1] * 3,
            ((0, 8), (8, 2), (13, 6), (21, 1)),
        ),
        ([3] * 24, ()),
    ],
)
def test_a_schedule_merges_the_spans_whose_merger_adds_fewest_slots(numbers, hours):
    expected = HOURLY._replace(slots=max(numbers), hours=hours)
    assert scheduled(HOURLY, numbers) == expected


def test_slots_in_use_are_counted_every_five_minutes_by_the_hour_of_day(priced):
    """From 23 h on, two GPUs for 3900 s and one for 7500 s; they are not yet in use at
    23:00.

    Slots that take over an hour to open are ordered at 21 h.
    """
    gpu = cg.GpuType("long", 1.0, (3900.0, 7500.0, 7500.0), 1.0)
    scenario = cg.Scenario(
        "late",
        cg.JobList([cg.Job(0, 0.0, 9e4, 1, gpus=2), cg.Job(1, 0.0, 9e4, 2)]),
        *((gpu,) * 3, (gpu,)),
        opening=cg.Opening(boot_s=3601.0),
        market=replace(AT_ONCE, clock=cg.Clock(((0, 4.0),), 23.0)),
        service=cg.Service(sigma=(0.0,) * 3),
    )
    own = priced(
        lambda option, _: abs(min(dict(option.hours), default=9) - 4),
        ["fifo"],
        scenario,
    )
    assert own.slots_in_use(own.trials.now).tolist() == [
        *(pytest.approx(1 + 2 * 2 / 12), 1, *[0] * 21),
        pytest.approx(3 * 11 / 12),
    ]
    assert own.schedules([own.trials.now]) == []  # the hour does not matter
    # the first schedule closes a slot at 0 h, which costs more than at 4 h
    assert own.by_hour(own.trials.now).hours == ((4, 2), (21, 3))
    assert (own.seeds, own.few, own.fewer) == (
        range(100, 118),
        range(100, 106),
        range(100, 103),
    )


def scarce():
    """Before nine o'clock instances take four hours; jobs have eight."""
    market = cg.Market(
        cg.Clock(((0, 1.0), (8, 0.0), (9, 1.0)), 8.0),
        ((0, 0), (14_400, 14_400), (14_400, 14_400)),
    )
    loose = cg.DeadlineClass("loose", 1.0, 28_800.0)
    return place(60.0, classes=[loose], market=market)


def waiting_costs(price_miss, price_wait):
    """Prices that are 0 except for these two and the price of a slot."""
    return Prices(price_miss, 0.0, price_wait, 50.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "policies", "prices", "best"),
    [
        # where a slot costs 50 USD, earliest deadline first is what saves deadlines
        (
            lambda: place(80.0),
            ["fifo", "edf"],
            Prices(price_slot=50.0),
            ("edf", 1, FIXED),
        ),
        (
            lambda: replace(place(300.0, gpus=(SLOW, FAST)), slots=(SLOW,)),
            ["fifo"],
            Prices(),
            ("fifo", 1, "all fast"),
        ),
        # a job that is sent at eight starts at noon, and all wait for its slot; one
        # that is sent at nine starts then
        (scarce, ["fifo"], Prices(price_slot=500.0), ("fifo-later", 1, FIXED)),
        # of policies that know mean times alone none has a lower mean wait on one slot
        # (Smith 1956)
        (
            lambda: place(75.0),
            ["fifo", "edf", "spt"],
            waiting_costs(0.0, 0.01),
            ("spt", 1, FIXED),
        ),
        (
            lambda: place(75.0),
            ["fifo", "edf", "spt"],
            waiting_costs(1.0, 0.0),
            ("edf", 1, FIXED),
        ),
    ],
)
def test_the_search_finds_the_known_answer(scenario, policies, prices, best):
    assert search(scenario(), policies, prices).cheapest() == Option(*best)


@pytest.mark.parametrize("change", [{"policy": "edf"}, {"slots": 3}, {"slots": 1}, {}])
def test_the_first_step_changes_one_thing_though_two_save_more(change, priced):
    tried = priced(
        lambda option, seed: (
            seed % 5
            + 9 * (bool(change) and option != now._replace(**change))
            - 20 * (len(tried.changed(option)) == 2)
        )
    )
    now = tried.trials.now
    assert tried.first_step() == (now._replace(**change) if change else None)
    assert {start.slots for start in tried.starts if "plus" in start.types} == {3}


@pytest.mark.slow
def test_a_budget_buys_the_least_inconvenience():
    """If each slot helps, the advice is the most slots within the budget."""
    own = search(
        place(20.0), ["fifo"], limits={"bills_usd": 2.0}, least="inconvenience_usd"
    )
    result = own.cheapest()
    bills = {
        n: truth(place(20.0), result._replace(slots=n), figure="bills_usd")
        for n in (3, 6, 7)
    }
    assert result.slots == 6 and bills[6] <= 2.0 < bills[7]


@pytest.mark.slow
def test_a_class_may_have_its_own_price():
    """Gold jobs of weight 20 go first by the c mu rule (Cox and Smith 1961); of weight
    1 the order is that of the shortest.
    """
    prices = Prices(0.0, 0.0, 0.01, 50.0)
    for weight, policy in ((20.0, "c-mu"), (1.0, "spt")):
        gold = cg.DeadlineClass("gold", 0.3, 1e6, weight=weight)
        classes = (gold, cg.DeadlineClass("rest", 0.7, 1e6))
        result = search(
            place(75.0, classes=classes), ["fifo", "spt", "c-mu"], prices
        ).cheapest()
        costs = {
            each: truth(place(75.0, classes=classes), Option(each, 1, FIXED), prices)
            for each in ("fifo", "spt", "c-mu")
        }
        assert costs[result.policy] <= 1.001 * min(costs.values())
        assert costs[policy] <= 1.001 * min(costs.values()) < 0.999 * costs["fifo"]
    assert costs["c-mu"] == pytest.approx(costs["spt"])


@pytest.mark.long
def test_the_result_is_nearly_the_best_of_all():
    """Of two policies on 2 to 12 slots of all kinds, each on 10 seeds: 2 % dearer at
    most.
    """
    own = search(cg.day("hectic", jobs=100, slots=4), ["fifo", "cadr"])
    result, seeds = own.cheapest(), range(5000, 5010)
    every = product(own.trials.policies, range(2, 13), own.trials.fleets)
    able = [each for each in starmap(Option, every) if own.trials.able(each)]
    own.trials.run([*able, result], seeds)
    costs = {each: own.trials.mean(each, COST, seeds).mean for each in (*able, result)}
    assert costs[result] <= 1.02 * min(costs.values()) and len(costs) > 150
