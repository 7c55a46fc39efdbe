"""The lower bound: by hand where all is certain, below every policy, and hardly moved
by the width of its bins.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from support import check_refused, drawn, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.cli import decisions as verb
from cgrsp_simpy.cli import parser_of
from cgrsp_simpy.decide.bounds import Bound, lower_bound
from cgrsp_simpy.decide.occupation import HoldTimes, levels_of
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.rental.record import Totals
from cgrsp_simpy.rental.workload import DeadlineClasses, JobList, PoissonWorkload
from cgrsp_simpy.studies.subject import subject_of

MINUTE = cg.GpuType("minute", 0.1, (60.0, 120.0), 0.5)
DEAR = replace(MINUTE, price_usd_per_h=60.0)
CERTAIN = cg.Market(cg.Clock(((0, 1.0),)), delay_s=((20.0, 20.0),) * 3)


def listed(*rows, slots=1, market=CERTAIN, sigma=0.0, **other):
    """A scenario of jobs (submission, deadline, complexity) on slots of one type."""
    jobs = tuple(cg.Job(i, *row) for i, row in enumerate(rows))
    return cg.Scenario(
        "by hand",
        JobList(jobs),
        (MINUTE,) * slots,
        (MINUTE,),
        market=market,
        service=cg.Service(sigma=(sigma,) * 2),
        **other,
    )


def value(scenario, objective, bin_s=10.0, seed=0):
    """The bound of the program; 0 if none is known."""
    return lower_bound(scenario, seed, objective, bin_s=bin_s).value or 0.0


def test_a_single_job_waits_for_its_delay_and_has_the_least_tardiness():
    assert value(listed((0, 1000, 1)), "wait") == pytest.approx(20 / 60, abs=1e-6)
    assert value(listed((0, 50, 1)), "tardiness") == pytest.approx(30 / 60, abs=1e-6)
    assert value(listed((0, 50, 1)), "mix") == pytest.approx(50 / 60 + 100, abs=1e-6)
    assert value(listed((0, 90, 1)), "miss") == pytest.approx(0, abs=1e-6)
    late = listed((500, 1500, 1))  # the wait counts from the submission
    assert value(late, "wait") == pytest.approx(20 / 60, abs=1e-6)


def test_the_bound_of_a_single_job_is_its_probability_of_a_miss():
    """Stock is Low half of the time: a job of 80 s with a slack of 90 s is late if the
    delay is long.
    """
    market = cg.Market(
        cg.Clock(((0, 1.0),)),
        delay_s=((0.0, 0.0), (0.0, 0.0), (1000.0, 1000.0)),
        medium_factor=0.0,
    )
    assert value(listed((0, 90, 1), market=market), "miss") == pytest.approx(
        50, abs=1e-6
    )
    assert value(listed((0, 90, 1), market=market), "wait") == pytest.approx(
        500 / 60, abs=1e-6
    )


def test_two_jobs_and_one_slot():
    """The second waits for the first, 80 s; the program may run shares of both at a
    time, which saves it a part of that.
    """
    exact = (20 + 100) / 2 / 60
    assert 0.75 * exact < value(listed((0, 1000, 1), (0, 1000, 1)), "wait") <= exact
    assert value(listed((0, 1000, 1), (0, 1000, 1), slots=2), "wait") == pytest.approx(
        20 / 60, abs=1e-6
    )


def test_of_two_jobs_that_cannot_both_be_in_time_one_is_missed():
    assert value(listed((0, 80, 1), (0, 80, 1)), "miss") == pytest.approx(50, abs=1)
    assert value(listed((0, 80, 1), (0, 160, 1)), "miss") == pytest.approx(0, abs=1e-6)


# ---- in money ----

PRICES = Prices(price_miss=2.0, price_late=0.1, price_wait=0.03, price_slot=0.5)


def billed(scenario, run, prices=PRICES):
    days = max(1.0, scenario.jobs / scenario.workload.rate_per_s / 86_400)
    return prices.bill(
        Totals(*subject_of(scenario).outcome(run)), len(scenario.slots), days
    )["total_usd"]


@pytest.mark.parametrize("bin_s", [None, 10.0])
@pytest.mark.parametrize("due_s", [50.0, 1000.0])
def test_a_single_job_costs_the_bill_of_advice(due_s, bin_s):
    """A dear one, in time and late: with its rent and the slot's price."""
    alone = replace(listed((0, due_s, 1)), gpus=(DEAR,), slots=(DEAR,))
    bound = lower_bound(alone, 0, PRICES, bin_s)
    assert bound.value == pytest.approx(
        billed(alone, cg.simulate(alone, "fifo", 0)), abs=1e-6
    )
    usual = lower_bound(alone, 0, "cost", bin_s).value
    assert usual == lower_bound(alone, 0, Prices(), bin_s).value != bound.value


def test_a_weight_multiplies_the_prices_of_its_job_but_not_its_rent():
    """A job of weight 3 that waits 20 s, ends 30 s late, and is missed."""
    job = cg.Job(0, 0, 50, weight=3.0)
    alone = replace(
        listed((0, 50, 1)), gpus=(DEAR,), slots=(DEAR,), workload=JobList((job,))
    )
    usd = 3 * (20 / 60 * 0.03 + 2.0 + 30 / 60 * 0.1) + 60 * 60 / 3600 + 0.5
    for bin_s in (None, 10.0):
        assert lower_bound(alone, 0, PRICES, bin_s).value == pytest.approx(
            usd, abs=1e-6
        )


@pytest.mark.slow
def test_no_policy_costs_less_than_the_bound_of_the_cost():
    bounds = np.array([lower_bound(busy(), seed, "cost").value for seed in range(3)])
    for policy in ("fifo", "edf", "triage"):
        runs = [cg.simulate(busy(), policy, seed) for seed in range(3)]
        above = np.array([billed(busy(), run, Prices()) for run in runs]) - bounds
        assert above.mean() > -4 * above.std(ddof=1) / np.sqrt(3), policy
        assert bounds.mean() > 1


# ---- terms of renting ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "terms", [{"warm_s": 600.0}, {"retry_s": 60.0, "minimum_s": 90.0}]
)
def test_instances_that_may_be_warm_or_refused_count_as_immediate(terms):
    day = cg.day("quiet", jobs=6, slots=2)
    at_once = replace(day, market=cg.Market(day.market.clock, ((0.0, 0.0),) * 3))
    other = replace(day, terms=cg.Terms(**terms))
    for objective in ("wait", "cost"):
        bound = lower_bound(other, 0, objective, 600.0).value
        assert bound == pytest.approx(lower_bound(at_once, 0, objective, 600.0).value)
    assert 0 < bound < np.mean([billed(other, cg.simulate(other, "edf", 0), Prices())])


# ---- by hand, again ----


def in_bands(*bands):
    """One job of a minute, on stock that is High or Low, with an hour of delay."""
    market = cg.Market(cg.Clock(bands), ((0, 0), (0, 0), (3600, 3600)), high_cap=1.0)
    sure = cg.GpuType("sure", 0.1, (60.0,), 1.0)
    jobs, service = JobList((cg.Job(0, 0, 9000),)), cg.Service(sigma=(0.0,))
    return cg.Scenario("bands", jobs, (sure,), (sure,), market=market, service=service)


@pytest.mark.parametrize(
    ("change_s", "from_s"), [(360.0, 360), (364.7, 360), (369.9, 360)]
)
def test_a_job_is_held_until_scarcity_ends(change_s, from_s):
    """The bound counts a step of 10 s in which the stock changes as High: a job that
    waits for the change is never below it.
    """
    scenario = in_bands((0, 0.0), (change_s / 3600, 1.0))
    assert value(scenario, "wait") == pytest.approx(from_s / 60, abs=1e-6)


def test_a_good_band_that_is_shorter_than_a_step_is_used():
    """High stock for the first half second, and Low stock from then on."""
    scenario = in_bands((0, 1.0), (0.5 / 3600, 0.0))
    reached = cg.simulate(scenario, "fifo", 0).summary()["wait_min"]
    assert value(scenario, "wait") == pytest.approx(reached, abs=1e-6) == 0


TIMES = {
    "exponential": (cg.Service("exponential"), stats.expon()),
    "sigma 0.23": (
        cg.Service(sigma=(0.23,)),
        stats.lognorm(0.23, scale=np.exp(-(0.23**2) / 2)),
    ),
    "sigma 2": (cg.Service(sigma=(2.0,)), stats.lognorm(2.0, scale=np.exp(-2.0))),
}


@pytest.mark.parametrize(
    ("name", "most_s"),
    [*((name, 20.0) for name in TIMES), ("exponential", 140.0), ("sigma 0.23", 140.0)],
)
def test_the_distribution_of_times_matches_the_draws_and_is_truncated(name, most_s):
    """Chances and means of min(L, u) against numerical integration of SciPy's
    distribution.
    """
    delays_s = np.array([20.0]) if most_s == 20 else 25.0 + 10 * np.arange(12)

    def later(at_s):
        """The probability of a longer occupation."""
        return factor.sf((at_s[:, None] - delays_s) / 600).mean(axis=1)

    service, factor = TIMES[name]
    gpu = cg.GpuType("ten minutes", 0.1, (600.0,), 0.5)
    jobs = JobList((cg.Job(0, 0, 9000),))
    scenario = cg.Scenario("", jobs, (gpu,), (gpu,), market=CERTAIN, service=service)
    [level], _ = levels_of(scenario, drawn(scenario))
    holds = HoldTimes([gpu], [level], [(20.0, most_s)] * 3, 10.0, [(0.2, 0.3, 0.5)])
    beyond, held_s = holds.beyond[0, 0, 0], holds.held_s[0, 0, 0]
    u = 10.0 * np.arange(holds.last + 1)
    assert beyond[:-1] == pytest.approx(
        later(u[:-1]), abs=1e-9 if most_s == 20 else 1e-3
    )
    assert beyond[-1] == 0 and later(u[-1:]) < factor.sf(level.most)
    fine = np.arange(0, u[-1], 0.5) + 0.25
    summed = np.concatenate([[0], np.cumsum(later(fine)) * 0.5])[::20]
    assert held_s == pytest.approx(summed[: len(u)], abs=0.05)
    assert holds.mean_s[0, 0, 0] == held_s[-1] <= 600 + (20 + most_s) / 2
    assert factor.sf(level.most) == pytest.approx(1e-3)


@pytest.mark.slow
def test_a_bound_does_not_depend_on_the_first_arrival_time():
    """Ten jobs at once on one slot, now or a day later, with prices in bins of 10
    min.
    """
    now, later = (listed(*[(at_s, at_s + 400, 1)] * 10) for at_s in (0, 86_400))
    assert value(later, "mix", 600.0) == pytest.approx(
        value(now, "mix", 600.0), rel=0.02
    )


def test_a_slot_of_each_type_or_one_of_any():
    """Of a slow and a fast slot, two jobs of free choice take the fast type both."""
    slow = cg.GpuType("slow", 0.1, (600.0,), 0.5)
    jobs = JobList((cg.Job(0, 0, 100), cg.Job(1, 0, 100)))
    fixed, free = (
        cg.Scenario(
            "",
            jobs,
            (MINUTE, slow),
            (MINUTE, slow),
            choice,
            CERTAIN,
            cg.Service(sigma=(0.0, 0.0)),
        )
        for choice in (False, True)
    )
    assert value(fixed, "tardiness") > 0.3
    assert value(free, "tardiness") == pytest.approx(0, abs=1e-6)


# ---- whole days ----


def busy():
    """Eighty jobs in half an hour on two slots; stock is scarce from minute 45 to the
    end of the second hour.
    """
    load = PoissonWorkload(80, 0.05, deadlines=DeadlineClasses(0.3, 600, 3600))
    market = cg.Market(cg.Clock(((0, 0.9), (0.75, 0.5), (2, 1.0))))
    return cg.Scenario("busy", load, cg.THESIS_GPUS[2:], market=market)


@pytest.mark.slow
def test_finer_bins_do_not_lower_the_bound():
    """By no more than what is left of the program when the generation of columns ends,
    and what groups and steps cost.
    """
    for objective, error in (("wait", 0.3), ("tardiness", 0.3), ("mix", 0.5)):
        coarse, fine = (value(busy(), objective, bin_s) for bin_s in (600, 300))
        assert coarse <= fine + error


@pytest.mark.long
@pytest.mark.parametrize(
    ("day", "free_types", "objective", "expected", "error"),
    [
        ("hectic", False, "wait", 126.5, 1.0),
        ("hectic", False, "mix", 132.7, 1.7),
        ("surge", False, "wait", 86.3, 7.3),
        ("surge", False, "miss", 0.44, 0.13),
        ("surge", False, "mix", 88.6, 7.4),
        ("hectic", True, "wait", 76.2, 1.0),
        ("surge", True, "wait", 34.3, 6.7),
    ],
)
def test_limits_of_the_thesis_days(day, free_types, objective, expected, error):
    """Long-run means of another program, which rounds times to bins; the error is four
    standard errors of ten seeds.
    """
    scenario = cg.day(day, free_types=free_types)
    values = [value(scenario, objective, 1200.0, seed) for seed in range(10)]
    assert np.mean(values) == pytest.approx(expected, abs=error)


# ---- input and command ----


test_bad_input_gives_a_one_line_error = refusals(
    ({"objective": "profit"}, "unknown objective 'profit'"),
    ({"seed": -1}, "seed"),
    ({"bin_s": 0}, "bin_s"),
    ({"bin_s": 86_401}, "bin_s.* at most 86400"),
    ({"scenario": 5}, "a scenario of rented slots"),
    call=lambda given: lower_bound(**({"scenario": busy()} | given)),
)


def test_bins_too_narrow_for_the_memory_are_rejected(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.decide.bounds.MOST_CELLS", 1e4)
    later = listed((0, 100, 1), (3600, 3700, 1))
    assert lower_bound(later, objective="wait", bin_s=600).value > 0
    check_refused(
        lambda: lower_bound(later, objective="wait", bin_s=20),
        r"bin_s.* must be greater for a horizon of 1\.0 h",
    )


def answered(line):
    return (
        verb.COMMANDS["bound"]
        .carry_out(parser_of("bound").parse_words(line.split()))
        .text
    )


@pytest.mark.slow
def test_the_command_prints_each_seed_and_the_mean():
    line = "quiet jobs=3 --objective wait --bin 30"
    content = json.loads(answered(f"{line} --seeds 3:5 --format json"))
    own = lower_bound(cg.day("quiet", jobs=3), 3, "wait", 1800).value
    assert [row["seed"] for row in content["figures"]] == [3, 4]
    assert content["figures"][0]["value"] == own and content["bin_min"] == 30
    assert content["bound"]["mean"] == pytest.approx(
        np.mean([row["value"] for row in content["figures"]])
    )
    assert (
        answered(f"{line} --seeds 3:4 --format csv")
        .splitlines()[1]
        .startswith(f"3,{own}")
    )
    assert f"no policy has less than {own:.2f} minutes of mean wait" in answered(
        f"{line} --seeds 3:4"
    )
    for wrong in ("0", "1441"):
        with pytest.raises(cg.InputError, match="--bin"):
            answered(f"quiet --bin {wrong}")


def reported(monkeypatch, *values):
    """Bounds of seeds in the table and in JSON."""
    bounds = [Bound(value, value or 0.0, 600.0) for value in values]
    monkeypatch.setattr(verb, "lower_bounds", lambda *_: [bounds])
    line = f"quiet --objective miss --seeds {len(values)}"
    return answered(line), json.loads(answered(f"{line} --format json"))


def test_an_interval_that_reaches_below_0_is_reported_as_too_few_seeds(monkeypatch):
    table, result = reported(monkeypatch, 0.01, 0.83)
    head = (
        "quiet: no policy has less than 0.42 per cent missed, averaged over the draws"
    )
    note = (
        "mean of these 2 seeds alone: they are too few for an interval, which would"
        " include negative values"
    )
    assert (
        table.startswith(head)
        and note in table.splitlines()
        and note in result["notes"]
    )
    table, result = reported(monkeypatch, 0.41, 0.42, 0.43)
    assert (
        "0.42 ± 0.02 per cent" in table
        and "few" not in table
        and not any("few" in note for note in result["notes"])
    )


@pytest.mark.parametrize(
    ("words", "bounds", "bin_min", "notes"),
    [
        (
            "",
            [Bound(0.5, None, 10.0)],
            None,
            ["all draws of each job, in steps of 10 s"],
        ),
        # the first by the recursion
        (
            "",
            [Bound(0.5, None, 10.0), Bound(0.5, 0.7, 600.0)],
            10,
            [
                "prices in bins of 10 min: 0.20 below the program in groups; narrower"
                " bins raise the bound and take longer"
            ],
        ),
        *(
            (words, [Bound(0.5, None, 10.0)], None, [note, "all draws of each job, in"])
            for words, note in (
                ("warm_s=60", "provisioning is left out, as instances may be warm or"),
                ("retry_s=60", "provisioning is left out, as instances may be warm or"),
                ("persistence_s=900", "the bound is for policies that know the future"),
            )
        ),
    ],
)
def test_notes_describe_the_program_if_there_is_one(
    words, bounds, bin_min, notes, monkeypatch
):
    monkeypatch.setattr(verb, "lower_bounds", lambda *_: [bounds])
    line = f"quiet {words} --objective miss --seeds {len(bounds)}"
    result = json.loads(answered(f"{line} --format json"))
    assert result["bin_min"] == bin_min and all(
        text.startswith(note) for text, note in zip(result["notes"], notes, strict=True)
    )
    assert answered(line).startswith("quiet: no policy has less than 0.50")


def test_an_unknown_bound_is_not_shown(monkeypatch):
    table, result = reported(monkeypatch, None, None)
    assert table.splitlines()[0] == "quiet: no bound known" and result["bound"] is None
    assert [row["value"] for row in result["figures"]] == [None, None]
    assert table.splitlines()[2].split() == ["0", "-", "0.00"]
    table, result = reported(monkeypatch, None, 0.4, 0.5)
    assert "no bound known for 1 seed, which count as 0" in table
    assert result["bound"]["mean"] == pytest.approx(0.3)


def test_no_figure_is_minus_0(monkeypatch):
    assert "-0.00" not in reported(monkeypatch, 0.2, 0.2)[0]
