"""Plans: a bill is the sum of its rows, known optimal numbers of machines are found,
limits and budgets are kept.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support import check_refused, refusals, simulated
from waiting.cases import jobs_of

from cgrsp_simpy.waiting.jobs import DAY_S, BurstyJobs, ListedJobs
from cgrsp_simpy.waiting.machines import BILLED, Prices, Size
from cgrsp_simpy.waiting.plan import Limit, Search, grown, plan
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario

ONE = Size("one", 1, 0.0, 9.6)
HALF_HOUR = "p95=30min"


def month(seed=0, jobs=3_000, cores=None):
    """Bursty jobs of a month, or fewer of less; of one core by default."""
    submit_s, run_s, own, _ = map(
        np.concatenate,
        zip(*BurstyJobs(jobs, max(0.001, jobs / 30 / DAY_S)).chunks(seed)),
    )
    if cores:  # whole minutes, which may be just as long as a limit
        minutes_s = 60 * np.ceil(run_s / 60)
        return ListedJobs(submit_s, minutes_s, own, np.zeros(jobs))
    return ListedJobs(submit_s, run_s, np.ones(jobs), np.zeros(jobs))


BILLING = {
    "by second": {},
    "60 s minimum, 120 s boot": {"minimum_s": 60.0, "boot_s": 120.0},
    "full hours": {"increment_s": 3600.0},
    "spot": {"boot_s": 30.0, "spot_per_h": 2.0, "interruptions_per_h": 0.2},
}


def by_hand(job, size, at):
    """The bill of a rented job, in full: boot and run, minimum, increment, several
    machines.
    """
    number = max(1, math.ceil(job["cores"] / size.cores))

    def paid(seconds, per_h):
        seconds = max(seconds + size.boot_s, size.minimum_s)
        if size.increment_s:
            seconds = math.ceil(seconds / size.increment_s) * size.increment_s
        return number * per_h * seconds / 3600

    if at is None:
        return paid(job["run_s"], size.price_per_h)
    whole = paid(job["run_s"], size.price_per_h) * (at < job["run_s"])
    return paid(min(at, job["run_s"]), size.spot_per_h) + whole


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("billing", BILLING)
@pytest.mark.parametrize(
    "policy", ["njw", "ajw-t:wait_s=600", "compound:wait_s=600,short_s=120"]
)
def test_the_bill_is_the_sum_of_its_rows_which_equal_the_simulation(billing, policy):
    """Money by row, worked out by hand from the simulation's rows; machines by the
    hour.
    """
    size = Size("four", 4, 0.0, 4.0, **BILLING[billing], reserved_1y_per_h=1.5)
    jobs = month(3, 400, cores=True)
    search = Search(jobs, (size,), Prices(), Limit.read(HALF_HOUR), None, 0.0, 0)
    # what boots has its wait before it
    assert search.first("sww").wait_s == 1800 - size.boot_s
    made, spot = waiting_policy(policy), billing == "spot"
    wait_s, money, goes = search.rows((5,), made, spot)
    done = simulated(Scenario(jobs, made, (size,) * 5, sizes=(size,)), keep=True).jobs
    np.testing.assert_array_equal(goes, done["on_demand"])
    own = ~goes
    np.testing.assert_array_equal(
        wait_s[own], (done["start_s"] - done["submit_s"])[own]
    )
    year, taken = search.years[0], 0
    for row, job in enumerate(done):
        if not goes[row]:
            assert money[row] == 0
            continue
        waited = job["start_s"] - job["submit_s"] + size.boot_s
        at = None
        if spot and year.spot[row] and waited + job["run_s"] + size.boot_s <= 1800:
            lost_s = year.lost_s[row]
            at, taken = (lost_s - size.boot_s if lost_s else math.inf), taken + 1
            waited += lost_s
        assert wait_s[row] == pytest.approx(waited)
        assert money[row] == pytest.approx(by_hand(job, size, at), rel=1e-12)
    assert bool(taken) == spot
    tried = search.attempt((5,), made, spot)
    total = tried.cost[1].sum()
    assert total == pytest.approx(
        5 * 1.5 * jobs.submit_s[-1] / 3600 + money.sum(), rel=1e-9
    )


@pytest.mark.slow
def test_the_number_is_the_best_of_all_simulated_ones():
    jobs, costs = month(0, 1_000), []
    for number in range(41):
        case = Scenario(jobs, waiting_policy("sww:wait_s=1800"), number)
        done = simulated(case, keep=True).jobs
        rented_s = done["run_s"][done["on_demand"]].sum()
        costs.append(3.84 * number * jobs.submit_s[-1] + 9.6 * rented_s)
    result = plan(jobs, HALF_HOUR, sizes=(ONE,), policies=["sww:wait_s=1800"])
    assert result.own == {"one": int(np.argmin(costs))} != {"one": 40}


def test_a_plan_owns_and_costs_as_expected_with_one_job_per_hour():
    """Two jobs of 40 min each hour for five weeks: one machine would let them wait too
    long, after three days for any limit of a day.
    """
    rows = [(1800 * n, 2400, 1, 0) for n in range(48 * 35)]
    result, later = (
        plan(
            jobs_of(*((from_s + at_s, *job) for at_s, *job in rows)),
            "p95=600",
            sizes=(ONE,),
        )
        for from_s in (0, 9e5)
    )
    assert (result.own, result.reason) == ({"one": 2}, "")
    assert (result.p95_wait_s, result.on_demand, str(result).count("\n")) == (0, 0, 2)
    assert result.bill.mean == pytest.approx(2 * 3.84 * 8760)
    assert (result.price.low, result.price.mean, result.price.high) == pytest.approx(
        (2 * 3.84 / (4 / 3),) * 3, rel=1e-3
    )
    assert str(later) == str(result)
    until_full = plan(
        jobs_of(*rows[:400]), "p95=1d", sizes=(ONE,), policies=[f"ajw-t:wait_s={DAY_S}"]
    ).frontier[-1]
    assert until_full["p95_wait_s"] == DAY_S


@pytest.mark.parametrize("days", [2, 3, 4])
def test_less_than_four_days_give_no_interval_no_range_and_no_regret(days):
    rng = np.random.default_rng(days)
    arrivals = np.sort(rng.uniform(0, 86_400 * days, 40 * days))
    arrivals[[0, -1]] = 0, 86_400 * days
    jobs = jobs_of(*((arrival, 3000, 1, 0) for arrival in arrivals))
    result = plan(jobs, HALF_HOUR, sizes=(ONE,))
    means = (result.price, result.bill, result.load)
    assert result.reason.startswith(
        f"{days} days, and less than 14; what decides is the load"
    )
    if days < 4:
        assert all(
            math.isnan(value) for mean in means for value in (mean.low, mean.high)
        )
        assert result.range is None and math.isnan(result.regret)
        assert [
            str(result).count(text)
            for text in ("no interval", "95 %:", "machines are best")
        ] == [3, 0, 0]
        words = [f"days of the log(={days})", "at least 4 for a budget"]
        check_refused(lambda: plan(jobs, budget=1e6, sizes=(ONE,)), words)
    else:
        assert all(mean.low < mean.mean < mean.high for mean in means)
        assert result.range[0] <= result.range[1] and result.regret >= 0
        assert "no interval" not in str(result) and "machines are best" in str(result)


@pytest.mark.parametrize("days", [10, 20])
def test_a_log_with_work_on_few_of_its_days_gives_no_interval(days):
    result = plan(
        jobs_of((0, 1800, 1, 0.0), (86_400 * days, 1800, 1, 0.0)),
        HALF_HOUR,
        sizes=(ONE,),
    )
    assert result.load.mean == pytest.approx(2 * 1800 / (86_400 * days))
    assert math.isnan(result.load.low) and math.isnan(result.bill.high)
    assert "no interval" in str(result) and "95 %:" not in str(result)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["p50", "p95", "mean"])
def test_no_plan_breaks_its_limit_on_the_log(name):
    limit = f"{name}=300"
    jobs, sizes = month(1), (replace(ONE, boot_s=100.0),)
    result = plan(jobs, limit, sizes=sizes)
    search = Search(jobs, sizes, Prices(), Limit.read(limit), None, 0.0, 0)
    wait_s, _, _ = search.rows((result.own["one"],), result.policy, result.spot)
    used = {
        "p95": np.quantile(wait_s, 0.95),
        "p50": np.median(wait_s),
        "mean": wait_s.mean(),
    }
    assert used[name] <= 300


@pytest.mark.slow
def test_within_a_budget_waits_are_short_and_the_bill_is_below_it_with_its_interval():
    jobs = month(2)
    cheap, dear = (plan(jobs, budget=budget, sizes=(ONE,)) for budget in (2.6e5, 1e7))
    assert cheap.bill.high <= 2.6e5
    assert (dear.wait_s, dear.p95_wait_s) == (0, 0) != (cheap.wait_s, cheap.p95_wait_s)
    assert dear.bill.mean > cheap.bill.mean
    check_refused(
        lambda: plan(jobs, budget=10.0, sizes=(ONE,)), ["budget(=10)", "too small"]
    )


def test_the_search_keeps_the_bill_below_the_budget_by_an_eleventh():
    """All jobs rented; the rest is for the interval of the bill."""
    jobs = month(2, 700)
    bill = 9.6 * jobs.run_s.sum() / 3600 / jobs.submit_s[-1] * 365 * DAY_S
    for budget in (1.0, 1.1 * bill * (1 - 1e-9), 1.1 * bill * (1 + 1e-9)):
        search = Search(jobs, (ONE,), Prices(), Limit(), budget, 0.0, 0)
        assert search.attempt((0,), waiting_policy("njw")).value[0] == pytest.approx(
            max(0.0, bill - budget / 1.1), rel=1e-3
        )


def test_a_budget_pays_for_a_machine_per_job_and_may_be_used_in_full():
    """Of 40 jobs of a minute, submitted together once per day."""
    days, sizes = DAY_S * np.arange(5), (replace(ONE, boot_s=600.0),)
    jobs = jobs_of(*((at_s + n / 1000, 60, 1, 0) for at_s in days for n in range(40)))
    result = plan(jobs, budget=1e9, sizes=sizes)
    search = Search(jobs, sizes, Prices(), Limit(), result.bill.high, 0.0, 0)
    search.attempt((40,), result.policy)
    assert result.own == search.chosen().own == {"one": 40}


def test_growth_adds_jobs_at_the_same_time_of_other_days_or_drops_some():
    jobs = month(5)
    more, fewer = grown(jobs, 1.5, 0), grown(jobs, 0.5, 0)
    assert (more.jobs, fewer.jobs) == pytest.approx(
        (1.5 * jobs.jobs, 0.5 * jobs.jobs), rel=0.05
    )
    assert set(jobs.submit_s) <= set(more.submit_s) and set(fewer.submit_s) <= set(
        jobs.submit_s
    )
    assert grown(jobs, 1.0, 0) is jobs
    hours = [
        np.bincount((each.submit_s % DAY_S // 21_600).astype(int))
        for each in (jobs, more)
    ]
    np.testing.assert_allclose(hours[1] / more.jobs, hours[0] / jobs.jobs, atol=0.05)
    # in two days a job moves by a day, in two weeks by a week
    for days, expected in ((2, [1, 3, 2]), (14, [1, *[2] * 6, 3, *[2] * 7])):
        log = jobs_of(*((DAY_S * n, 60, 1, 0) for n in range(days + 1)))
        assert list(Counter(grown(log, 2, 0).submit_s // DAY_S).values()) == expected


def test_a_plan_does_not_depend_on_the_unit_of_money():
    """A power of two, so that the bits are the same: all amounts are below 1e-6."""
    jobs = jobs_of(
        *((7200 * n, 1000 + 37 * (n * n % 97), 1 + n % 4, 0) for n in range(180))
    )
    size = Size("four", 4, 0.0, 4.0, 60.0, 0.0, 9.0, 2.0, 0.1, 1.5, 1.4)
    prices = [name for name in BILLED if "_per_h" in name and "interr" not in name]
    small = {name: getattr(size, name) * 2.0**-40 for name in ("price_per_h", *prices)}
    one, other = (
        plan(jobs, HALF_HOUR, sizes=(each,)) for each in (size, replace(size, **small))
    )
    assert (other.own, other.policy, other.spot) == (one.own, one.policy, one.spot)
    assert (other.regret, other.range) == (one.regret, one.range)
    assert other.bill.mean == one.bill.mean * 2.0**-40
    assert other.price.half_width == pytest.approx(one.price.half_width * 2.0**-40)


def test_a_job_uses_spot_if_that_is_cheaper_on_average():
    """Of one to eight hours, on instances that last exponential times of two hours on
    average.
    """
    run_s = 3600.0 * np.arange(1, 9)
    jobs = ListedJobs(DAY_S * np.arange(8.0), run_s, np.ones(8), np.zeros(8))
    size = replace(ONE, spot_per_h=3.5, interruptions_per_h=0.5)
    (year,) = Search(jobs, (size,), Prices(), Limit.read(HALF_HOUR), None, 0.0, 0).years
    lasts_s = -7200 * np.log((np.arange(1000) + 0.5) / 1000)[:, None]
    paid = 3.5 * np.minimum(lasts_s, run_s) + 9.6 * run_s * (lasts_s < run_s)
    assert year.spot.tolist() == (paid.mean(axis=0) < 9.6 * run_s).tolist()
    assert 0 < year.spot.sum() < 8


def test_shared_machines_of_several_sizes():
    """Jobs of 4 and of 1 core without pause: one large machine for the one, a small one
    for the other, though each comes in two sizes.
    """
    rows = sorted(
        (3600 * n + 10 * c, 3500, c, 0) for n in range(24 * 21) for c in (1, 4)
    )
    sizes = (
        Size("small", 1, 0.0, 1.0, reserved_1y_per_h=0.4),
        Size("large", 4, 0.0, 4.0, reserved_1y_per_h=1.6),
    )
    result = plan(jobs_of(*rows), "p95=60", sizes=sizes)
    assert (result.own, result.on_demand) == ({"small": 1, "large": 1}, 0)


test_an_impossible_plan_gives_a_one_line_error = refusals(
    (lambda: plan(month()), ["limit", "budget"]),
    (lambda: plan(month(), HALF_HOUR, budget=1.0), ["limit", "budget"]),
    (lambda: plan(month(), budget=0.0), ["budget(=0.0)"]),
    (lambda: plan(month(), HALF_HOUR, growth=-1.0), ["growth(=-1.0)"]),
    (
        lambda: plan(jobs_of((0, 9, 1, 0), (9, 9, 1, 0)), HALF_HOUR),
        ["days", "at least 2"],
    ),
    (lambda: plan(jobs_of((0, 0, 1, 0), (9e5, 0, 1, 0)), HALF_HOUR), ["work"]),
    (
        lambda: plan(month(), HALF_HOUR, prices=Prices(0, 1)),
        ["reserved price", "above 0"],
    ),
    (
        lambda: plan(month(), HALF_HOUR, prices=Prices(1, 0)),
        ["on-demand price(=0)", "above 0"],
    ),
    (lambda: plan(month(), HALF_HOUR, policies=["fifo"]), ["'fifo'"]),
    (lambda: plan(month(), HALF_HOUR, policies=[]), ["policies(=[])", "at least one"]),
    (lambda: plan(month(), HALF_HOUR, policies="sww"), ["policies(='sww')", "a list"]),
    (lambda: plan(month(), HALF_HOUR, sizes=()), ["sizes(=())", "at least one"]),
    (
        lambda: plan(
            month(), HALF_HOUR, sizes=(Size("free", 1, 0, 0, reserved_1y_per_h=1),)
        ),
        ["price of the sizes for rent(=0)", "above 0"],
    ),
    (lambda: plan(month(), HALF_HOUR, seed=-1), ["seed(=-1)"]),
    (lambda: plan(month(), 600), ["limit(='600')", "mean=600"]),
    (
        lambda: plan(month(0, 500, True), "p95=9", sizes=(replace(ONE, boot_s=60.0),)),
        ["limit", "60 s to boot"],
    ),
    (
        lambda: plan(jobs_of((0, 9, 1, 1), (9e5, 9, 1, 0)), HALF_HOUR, sizes=(ONE,)),
        ["job 1 (1 GB)", "does not fit on any machine"],
    ),
    (lambda: plan(month(), "p95=-1"), ["limit(='p95=-1')"]),
    (lambda: plan(month(), "p0=1h"), ["limit(='p0=1h')"]),
    (lambda: plan(month(), "most=1h"), ["limit(='most=1h')", "mean=600"]),
)


def test_a_wait_of_just_the_limit_keeps_it():
    waits_s = np.array([0.0, 1800.0, 1800.1])
    assert Limit.read("p95=30min").used(waits_s).tolist() == [0, 0, 1]
    assert Limit.read("mean=30min").used(waits_s).tolist() == pytest.approx(
        [0, 1, 1800.1 / 1800]
    )
