"""Situations with a known answer: brute force over plans, independent of the search."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.decide.advice import advise, limits_of
from cgrsp_simpy.decide.recommend import COST, Prices, quantiles
from cgrsp_simpy.market.gpu import read_gpus

GPU = cg.GpuType("one", 0.0, (60.0, 70.0, 100.0), 1.0)
FLAT = cg.Clock(((0.0, 1.0),))
AT_ONCE = cg.Market(FLAT, delay_s=((0, 0),) * 3)
PRICES = Prices(price_miss=1.0, price_late=0.0, price_wait=0.01, price_slot=6.0)


def place(submits, lasts_s=600.0, due_s=1200.0, slots=1, market=AT_ONCE, **more):
    """Jobs of known length on slots of one type, provisioned at once."""
    number = len(submits)
    lasts, dues = (
        np.broadcast_to(times, number).tolist() for times in (lasts_s, due_s)
    )
    deadlines = [at + due for at, due in zip(submits, dues)]
    ones = [1] * number
    load = cg.LoggedWorkload(list(submits), lasts, deadlines, ones, ones)
    return cg.Scenario("known", load, (GPU,) * slots, (GPU,), market=market, **more)


def cost_of(scenario, slots, hours=(), prices=PRICES, seed=0):
    """The cost of a day under FIFO, from the jobs and the hours alone."""
    opening = replace(scenario.opening, hours=hours)
    fleet = replace(scenario, slots=(GPU,) * slots, opening=opening)
    run = cg.simulate(fleet, "fifo", seed)
    missed = run.jobs["finish_s"] > run.jobs["deadline_s"]
    wait_min = (run.jobs["start_s"] - run.jobs["submit_s"]) / 60
    ends = [*(hour for hour, _ in hours[1:]), hours[0][0] + 24] if hours else []
    open_h = sum((end - hour) * n for (hour, n), end in zip(hours, ends))
    open_h = open_h + run.summary()["overtime_h"] if hours else 24 * slots
    unease = prices.price_miss * missed.sum() + prices.price_wait * wait_min.sum()
    return unease + prices.price_slot * open_h / 24


def two_levels(numbers, hours=range(24)):
    """All schedules of two numbers of slots that change twice a day."""
    for low, high in combinations(numbers, 2):
        for begin, end in combinations(hours, 2):
            yield ((begin, high), (end, low)) if begin else ((0, high), (end, low))


def by_brute_force(scenario, numbers, hours=range(24)):
    """The least cost of all fixed numbers, and of these and all of `two_levels`."""
    fixed = min(cost_of(scenario, number) for number in numbers)
    schedules = two_levels(numbers, hours)
    costs = [cost_of(scenario, max(n for _, n in s), s) for s in schedules]
    return fixed, min(fixed, *costs)


# ---- targets ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "slots"),
    [("p95_wait<=5", 2), ("p90_wait<=0", 2), ("p95_wait<=4.9", 3)],
)
def test_a_quantile_target_is_met_up_to_the_boundary(target, slots):
    submits = [*[0.0] * 3, 300.0, *(3600.0 * n for n in range(1, 17))]
    scenario = place(submits, slots=1)
    ((figure, most),) = limits_of(scenario, target).items()

    def meets(number):
        jobs = cg.simulate(replace(scenario, slots=(GPU,) * number), "fifo").jobs
        wait_min = np.sort(jobs["start_s"] - jobs["submit_s"]) / 60
        share = int(figure[1:3]) / 100
        return np.count_nonzero(wait_min <= most) >= share * len(wait_min)

    least = next(number for number in range(1, 9) if meets(number))
    advice = advise(scenario, ["fifo"], range(2), target=target, prices=PRICES)
    assert (advice.fixed or advice.best).slots == least
    assert f"{figure} <= {most:g}: met, " in advice.lines[2]


def test_a_quantile_is_the_least_value_that_few_enough_jobs_exceed():
    jobs = {
        "submit_s": np.zeros(20),
        "start_s": np.arange(1, 21) * 60.0,
        "finish_s": np.arange(1, 21) * 60.0,
        "deadline_s": np.full(20, 600.0),
    }
    values = quantiles(jobs)
    assert [values[f"p{p}_wait_min"] for p in (90, 95, 99)] == [18, 19, 20]
    assert [values[f"p{p}_tardiness_min"] for p in (90, 95, 99)] == [8, 9, 10]


def test_a_wait_below_the_provisioning_delay_is_out_of_reach():
    market = cg.Market(FLAT, delay_s=((30, 30),) * 3)
    scenario = place([1200.0 * n for n in range(20)], market=market)
    advice = advise(scenario, ["fifo"], range(3), target="wait<=.4")
    assert advice.least["wait_min"] == 0.5
    assert "wait_min <= 0.4: no plan can be below 0.50; " in advice.lines[2]


test_a_wrong_quantile_target_gives_a_one_line_error = refusals(
    *(
        (target, "target")
        for target in (
            "p95_wait",
            "p95_wait<=x",
            "p50_wait<=1",
            "p95_cost<=1",
            "p95_miss<=1",
        )
    ),
    call=lambda target: advise(cg.day("normal", jobs=5), ["fifo"], [0], target=target),
)


# ---- ties, risk and prices ----


@pytest.mark.slow
def test_two_equal_plans_are_both_listed_with_their_bad_day():
    """Jobs of one length: shortest first is first come, first served."""
    load = cg.PoissonWorkload(
        60,
        1 / 40,
        complexity_mix=(1.0,),
        deadlines=(cg.DeadlineClass("all", 1.0, 600.0),),
    )
    scenario = cg.Scenario(
        "equal", load, (GPU,), (GPU,), market=AT_ONCE, service=cg.Service(sigma=(0.0,))
    )
    advice = advise(scenario, ["fifo", "spt"], range(20), prices=PRICES)
    assert {option.policy for option in advice.tied} >= {"fifo", "spt"}
    assert advice.daily(advice.tied[0]).std() == min(
        advice.daily(option).std() for option in advice.tied
    )
    [table] = [
        t for t in advice.tables if t.title == "Plans without a significant difference"
    ]
    assert len(table.rows) == 1 + len(advice.tied)
    for option, row in zip(advice.tied, table.rows[1:]):
        days = [cost_of(scenario, option.slots, seed=seed) for seed in range(20)]
        assert row[0] == str(option)
        assert float(row[4]) == pytest.approx(np.quantile(days, 0.95), abs=0.005)


@pytest.mark.slow
def test_other_prices_change_the_answer_as_brute_force_does():
    submits = sorted(3600.0 * n + 10 * k for n in range(24) for k in range(8))
    scenario, prices = place(submits, due_s=1e5), replace(PRICES, price_slot=8.0)
    least = {
        factor: min(
            range(1, 7),
            key=lambda n, factor=factor: cost_of(
                scenario, n, prices=replace(prices, price_wait=factor * 0.01)
            ),
        )
        for factor in (0.5, 1, 2)
    }
    assert len(set(least.values())) == 3
    advice = advise(scenario, ["fifo"], range(3), prices=prices)
    fixed = advice.repriced.values()
    assert advice.fixed is None and advice.best.slots == least[1]
    assert [option.slots for option in fixed] == [least[0.5], least[2]]
    [line] = [text for text in advice.rest if text.startswith("Prices: ")]
    assert "1 USD per missed deadline" in line and "0.01 per minute waiting" in line
    assert f"If the first three are halved: {least[0.5]} slot" in line


# ---- slots by the hour ----


def peaks(*spans):
    """Submissions of a day: one job per hour, and of each span (from, to, jobs) so many
    per hour in addition.
    """
    jobs = [3600.0 * hour + 60 for hour in range(24)]
    for begin, end, number in spans:
        jobs += [
            3600.0 * hour + 3600.0 * n / number + 90
            for hour, n in product(range(begin, end), range(number))
        ]
    return sorted(jobs)


def best_of(scenario, numbers=range(1, 5), hours=range(6, 16)):
    """The advice, checked against brute force: at most 2 % dearer than the best."""
    fixed, least = by_brute_force(scenario, numbers, hours)
    advice = advise(scenario, ["fifo"], range(3), prices=PRICES)
    cost = advice.mean(advice.best).mean
    assert cost == pytest.approx(
        cost_of(scenario, advice.best.slots, advice.best.hours)
    )
    assert cost <= 1.02 * least
    return advice, fixed, least


@pytest.mark.slow
def test_a_day_whose_best_fleet_changes_twice():
    advice, fixed, least = best_of(place(peaks((9, 12, 18))))
    assert least < 0.8 * fixed and len(advice.best.hours) == 2
    saved = advice.trials.change(advice.fixed, advice.best, COST, advice.seeds).mean
    assert saved == pytest.approx(fixed - advice.mean(advice.best).mean)
    assert any(text.startswith("Slots by the hour save ") for text in advice.rest)


@pytest.mark.slow
@pytest.mark.parametrize("most_min", [0, 6])
def test_a_target_is_met_by_the_cheapest_schedule(most_min):
    """Of fixed numbers and schedules with a low 90th percentile of the wait."""
    scenario, numbers = place(peaks((9, 12, 18))), range(1, 6)

    def meets(slots, hours=()):
        opening = replace(scenario.opening, hours=hours)
        fleet = replace(scenario, slots=(GPU,) * slots, opening=opening)
        jobs = cg.simulate(fleet, "fifo", 0).jobs
        wait_min = (jobs["start_s"] - jobs["submit_s"]) / 60
        return np.mean(wait_min <= most_min + 1e-9) >= 0.9

    fixed = min(cost_of(scenario, n) for n in numbers if meets(n))
    schedules = [
        (max(n for _, n in hours), hours) for hours in two_levels(numbers, range(7, 14))
    ]
    least = min(cost_of(scenario, *s) for s in schedules if meets(*s))
    target = f"p90_wait<={most_min}"
    advice = advise(scenario, ["fifo"], range(3), prices=PRICES, target=target)
    assert least < 0.8 * fixed
    assert meets(advice.best.slots, advice.best.hours)
    assert advice.mean(advice.best).mean <= 1.02 * least
    assert f"p90_wait_min <= {most_min}: met, " in advice.lines[2]
    assert any(text.startswith("Slots by the hour save ") for text in advice.rest)


@pytest.mark.long
def test_scarce_hours_prevent_scaling_up():
    """From 8 to 14 h every order is refused: slots open before, or not at all."""
    chances = [(0.0, 0.0, 1.0) if 8 <= h < 14 else (1.0, 0.0, 0.0) for h in range(24)]
    market = replace(AT_ONCE, stock=(cg.HourlyStock("one", chances),))
    scenario = place(peaks((9, 12, 18)), market=market)
    scenario = replace(scenario, terms=cg.Terms(retry_s=3000.0))
    late = cost_of(scenario, 4, ((9, 4), (12, 1)))
    assert late == pytest.approx(cost_of(scenario, 1), abs=0.5)
    advice, _, least = best_of(scenario, hours=(6, 7, 8, 9, 12, 13, 14))
    assert least < late
    assert all(not 8 <= hour < 14 or n <= 1 for hour, n in advice.best.hours)


@pytest.mark.slow
def test_boot_times_longer_than_the_peak():
    """Slots take three hours to open: those for the peak are ordered by 8 h."""
    scenario = place(peaks((10, 12, 20)))
    scenario = replace(scenario, opening=cg.Opening(boot_s=3 * 3600.0))
    assert cost_of(scenario, 4, ((10, 4), (12, 1))) > cost_of(scenario, 1)
    advice, _, _ = best_of(scenario)
    assert [hour for hour, n in advice.best.hours if n > 1][:1] <= [8]


@pytest.mark.slow
def test_no_schedule_pays_if_each_order_is_billed_for_a_day():
    scenario = place(peaks((9, 12, 18)))
    scenario = replace(scenario, opening=cg.Opening(minimum_s=24 * 3600.0))
    advice, fixed, least = best_of(scenario)
    assert least == fixed and advice.best.hours == ()
    assert any("no schedule is better" in text for text in advice.rest)


@pytest.mark.slow
@pytest.mark.parametrize("target", [None, "wait<=100"])
def test_todays_schedule_is_kept_by_other_changes_and_left_for_a_fixed_number(target):
    scenario = place(peaks((0, 1, 4)), slots=2)
    scenario = replace(scenario, opening=cg.Opening([(0, 1), (1, 2)]))
    prices = replace(PRICES, price_slot=0.0)
    advice = advise(scenario, ["fifo", "spt"], range(3), prices=prices, target=target)
    assert advice.now.hours == ((0, 1), (1, 2))
    policy = advice.now._replace(policy="spt")
    assert policy in advice.tried or target
    assert advice.search.changed(policy) == ("policy",)
    assert advice.best.hours == (advice.now.hours if target else ())
    usd = cost_of(scenario, 2, advice.now.hours, prices)
    assert advice.mean(advice.now).mean == pytest.approx(usd)


@pytest.mark.slow
def test_no_schedule_is_tried_if_the_hour_does_not_matter():
    advice = advise(cg.day("normal", jobs=20), ["fifo"], range(2))
    assert not any(option.hours for option in advice.tried)


# ---- a price list ----


LIST = (
    "name,price_usd_per_h,speed,memory_gb,high_stock_probability\n"
    "small,0.2,0.5,12,\nmiddle,1.5,1,24,1\nlarge,2,2.0,48,1\n"
)


def test_types_with_less_memory_are_left_out(file):
    types = [read_gpus(file(LIST, "list.csv"), memory_gb) for memory_gb in (0, 24)]
    assert types[1] == types[0][1:]
    assert [(gpu.name, gpu.high_stock_probability) for gpu in types[0]] == [
        ("small", cg.THESIS_GPUS[0].high_stock_probability),
        *(("middle", 1.0), ("large", 1.0)),
    ]


@pytest.mark.slow
def test_the_best_type_of_a_price_list(file):
    day = cg.day("normal", slots=3, jobs=40, gpus=read_gpus(file(LIST, "list.csv"), 20))
    prices = Prices(price_slot=0.0)
    advice = advise(day, ["fifo"], range(2), prices=prices)
    rent = {
        gpu.name: cg.simulate(replace(day, slots=(gpu,) * 3), "fifo", 0).summary()
        for gpu in day.gpus
    }
    assert rent["large"]["cost_usd"] < rent["middle"]["cost_usd"]
    assert advice.best.types == "all large"


@pytest.mark.parametrize(
    ("text", "memory_gb", "message"),
    [
        ("name,speed\na,1\n", 0, "columns"),
        ("name,price_usd_per_h,speed\n", 0, "number of types(=0)"),
        ("name,price_usd_per_h,speed\na,x,1\n", 0, "must be a GPU type, with"),
        ("name,price_usd_per_h,speed\na,1,0\n", 0, "with a speed above 0"),
        ("name,price_usd_per_h,speed\na,1,-1\n", 0, "line 2"),
        ("name,price_usd_per_h,speed\na,1,1\n", 1, "columns"),
        ("name,price_usd_per_h,speed,memory_gb\na,1,1,4\n", 8, "memory_gb(=8)"),
    ],
)
def test_a_wrong_price_list_gives_a_one_line_error(file, text, memory_gb, message):
    path = file(text, "list.csv")
    check_refused(lambda: read_gpus(path, memory_gb), [message, "list.csv"])
