"""What lectures 9 to 16 say is so: read from what they print, and worked out anew with
other seeds, by formula, or by another way.
"""

import contextlib
import io
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean, paired_difference
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.studies.subject import subject_of

FOLDER = Path(__file__).parents[2] / "scenarios" / "lectures"


def script(number):
    (path,) = FOLDER.glob(f"{number:02}_*.py")
    return path


def printed(number):
    return script(number).with_suffix(".out").read_text(encoding="utf-8")


def numbers(number, start):
    """The numbers in the one printed line of a lecture that starts so, behind that."""
    lines = [line.strip() for line in printed(number).splitlines()]
    (line,) = (line for line in lines if line.startswith(start))
    found = re.findall(
        r"[-+]?\d[\d,]*\.?\d*", line.removeprefix(start).replace("[", " ")
    )
    return [float(each.replace(",", "")) for each in found]


def beginning(number, until):
    """What a lecture defines above a line."""
    text = script(number).read_text(encoding="utf-8")
    names = {"__name__": "lecture"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text[: text.index(until)], script(number).name, "exec"), names)
    return names


# ---- lecture 9: input modelling ----


@pytest.mark.slow
def test_the_usual_test_rejects_a_fitted_exponential_law_nine_times_too_rarely():
    rng, n = np.random.default_rng(90), 200
    distances = []
    for _ in range(400):
        x = np.sort(rng.exponential(1, (1000, n)), axis=1)
        below = 1 - np.exp(-x / x.mean(axis=1, keepdims=True))
        steps = np.arange(n + 1) / n
        distances.append(np.maximum(steps[1:] - below, below - steps[:-1]).max(axis=1))
    d = np.concatenate(distances)
    found, half = numbers(9, "the usual test at 5 % rejects")[:2]
    share = 100 * np.mean(d > stats.kstwo.ppf(0.95, n))
    assert abs(found - share) < 3 * half
    assert 8.5 < 5 / (found + half) < 5 / (found - half) < 9.5
    assert 8.5 < 5 / share < 9.5
    assert numbers(9, "the usual test at 5 % rejects")[2] == pytest.approx(
        np.quantile(d, 0.95), abs=0.002
    )


def test_the_bootstrap_finds_out_a_gamma_law_that_the_usual_test_lets_pass():
    p = {
        (n, law): numbers(9, f"{n} jobs {law}")[1:]
        for n in (200, 2000)
        for law in ("exponential", "gamma", "lognormal")
    }
    assert all(max(p[n, "exponential"]) < 0.05 for n in (200, 2000))
    usual, bootstrap, *chi2 = p[200, "gamma"]
    assert bootstrap < 0.05 < min(usual, *chi2)
    assert max(p[2000, "gamma"]) < 0.01
    assert min(*p[200, "lognormal"], *p[2000, "lognormal"]) > 0.05
    assert all(p[200, law][0] >= p[200, law][1] for law in ("gamma", "lognormal"))


def test_a_parameter_fitted_to_the_data_takes_less_than_a_degree_of_freedom():
    """Chernoff and Lehmann 1954: of three cells, the mean of an exponential law fitted
    to the data, chi-square has a mean between those of one and of two degrees of
    freedom.
    """
    x = np.random.default_rng(91).exponential(1, (10_000, 300))
    u = -np.expm1(-x / x.mean(axis=1, keepdims=True))
    counts = np.array(
        [((u >= k / 3) & (u < (k + 1) / 3)).sum(axis=1) for k in range(3)]
    )
    found = mean(((counts - 100) ** 2 / 100).sum(axis=0))
    assert 1 + 4 * found.half_width < found.mean < 2 - 4 * found.half_width


def test_arrivals_follow_the_rates_by_hour_and_not_one_rate():
    found, limit = numbers(9, "chi-square of a constant rate:")
    assert found > 10 * limit
    (critical,) = numbers(9, "in 5 % of exponential samples it exceeds")
    assert (
        numbers(9, "gaps on that clock")[1] < critical < numbers(9, "gaps as logged")[1]
    )
    (held,) = re.findall(r"^(\d+) of 24 intervals of 95 %", printed(9), re.MULTILINE)
    assert int(held) >= 20  # of 24 at 95 %, fewer with a chance below 1 %
    assert critical == pytest.approx(1.06, abs=0.03)  # Lilliefors 1969, exponential law


def test_the_log_fits_its_model_and_is_far_from_a_constant_rate():
    waits = {
        name: numbers(9, name)
        for name in (
            "fitted rates, lognormal",
            "fitted rates, equal jobs",
            "constant rate, lognormal",
        )
    }
    fitted, equal, constant = (each[0] for each in waits.values())
    assert abs(waits["fitted rates, lognormal"][3]) < 2
    assert 2.5 < waits["fitted rates, equal jobs"][3] < 3.5
    assert waits["constant rate, lognormal"][3] > 10
    assert 1 - constant / fitted == pytest.approx(0.75, abs=0.05)
    assert abs(equal - fitted) < abs(constant - fitted)


@pytest.mark.slow
def test_a_constant_rate_loses_most_of_the_wait_with_other_seeds():
    lecture = beginning(9, "drawn = scenario(")
    hourly, scenario = lecture["hourly"], lecture["scenario"]
    true = cg.ArrivalRates(lecture["TRUE_PER_H"])
    even = cg.ArrivalRates([sum(lecture["TRUE_PER_H"]) / 24] * 24)
    seeds = range(5000, 5010)
    of_day, of_mean = (
        np.array(
            cg.compare(scenario(hourly(rates)), ["fifo"], seeds).values(
                "fifo", "wait_min"
            )
        )
        for rates in (true, even)
    )
    lost = mean(1 - of_mean / of_day.mean())
    assert 0.6 < lost.low < lost.high < 0.9


# ---- lecture 10: variates ----


def test_rejection_keeps_one_in_c_and_inversion_and_thinning_give_the_rates():
    p, share, half, _, by_formula = numbers(10, "rejection: KS p =")
    assert p > 0.05 and half == 0.01  # as wide as was asked for
    assert abs(share - by_formula) < 2 * half
    assert by_formula == pytest.approx(1 / stats.beta(2, 5).pdf(0.2), abs=5e-4)
    for right in ("inversion  ", "thinning"):
        assert numbers(10, right)[-1] > 0.05
    *hours, _, p = numbers(10, "the rate of this moment")
    assert p < 0.001
    assert hours[1] < 10 / 3 and hours[2] < 10 * 2 / 3 and hours[3] > 0.5 * 2


def expected_at_the_rate_of_this_moment(first_h):
    """Jobs of the hour that begins so many hours after the rate has risen from 0.5 to
    10: the gap that was begun before ends at the rate 0.5; from then on jobs come at
    10.
    """
    t = np.linspace(first_h, first_h + 1, 1001)
    rates = 0.5 * np.exp(-0.5 * t) + 10 * (1 - np.exp(-0.5 * t))
    return np.mean((rates[1:] + rates[:-1]) / 2)


@pytest.mark.slow
def test_the_gap_at_the_rate_of_this_moment_by_formula():
    lecture = beginning(10, "counts = {}")
    _, *found, _, _, _ = numbers(10, "the rate of this moment")
    error = 3.7 / math.sqrt(lecture["DAYS"])  # of the number of jobs in such an hour
    for first_h, came in enumerate(found):
        assert abs(came - expected_at_the_rate_of_this_moment(first_h)) < 4 * error
    lecture["stream"] = lambda seed, name: np.random.default_rng(1000 + seed)
    at_h = lecture["by_this_moment"]()
    came = (
        np.bincount((at_h[at_h < lecture["END_H"]] % 24).astype(int)) / lecture["DAYS"]
    )
    for first_h in (0, 1):
        wanted = expected_at_the_rate_of_this_moment(first_h)
        assert abs(came[8 + first_h] - wanted) < 3 * error


def test_draws_that_belong_to_whoever_starts_change_the_jobs():
    right, wrong = numbers(10, "the job"), numbers(10, "whoever starts next")
    assert right[2:] == [0, 0]
    assert abs(right[0] - wrong[0]) <= wrong[1]
    assert right[0] - right[1] > 0
    assert (
        numbers(10, "one stream for all")[1] == 18
        and numbers(10, "a stream a job")[1] == 1
    )
    ratio, low, high, _ = numbers(10, "for the same width the second needs")
    # of rounded widths
    assert ratio == pytest.approx((wrong[1] / right[1]) ** 2, rel=0.2)
    assert low < 1 < ratio < high < 4


@pytest.mark.slow
def test_draws_by_start_need_more_seeds_within_the_interval_that_the_lecture_gives():
    """What its own seeds could not decide; these are other and more."""
    run = beginning(10, "differences = {}")["run"]
    right, wrong = (
        np.array(
            [run(n, True, own)[0] - run(n, False, own)[0] for n in range(1000, 1300)]
        )
        for own in (True, False)
    )
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 300, (1000, 300))
    ratios = wrong[drawn].var(axis=1) / right[drawn].var(axis=1)
    assert np.quantile(ratios, 0.025) > 1
    _, low, high, _ = numbers(10, "for the same width the second needs")
    assert low < wrong.var() / right.var() < high
    assert abs(mean(right).mean - mean(wrong).mean) < 2 * mean(wrong).half_width
    assert mean(right).low > 0


# ---- lecture 11: interrupts ----


def expected_h(work_h, per_h=1 / 3):
    return math.expm1(per_h * work_h) / per_h


def test_mean_and_variance_of_a_job_that_starts_anew():
    rng, per_h, work_h = np.random.default_rng(11), 1 / 3, 4.0
    failures = rng.geometric(math.exp(-per_h * work_h), 40_000) - 1
    lives = [stats.truncexpon(per_h * work_h, scale=1 / per_h)]
    spent = lives[0].rvs(failures.sum(), random_state=rng)
    hours = work_h + np.array(
        [part.sum() for part in np.split(spent, np.cumsum(failures)[:-1])]
    )
    x = per_h * work_h
    sd = math.sqrt(math.exp(2 * x) - 2 * x * math.exp(x) - 1) / per_h
    assert hours.mean() == pytest.approx(expected_h(work_h), abs=4 * sd / 200)
    assert hours.std() == pytest.approx(sd, rel=0.04)
    runs = math.ceil((1.96 * sd / 0.05 / expected_h(work_h)) ** 2)
    line = f"4 h of work, {runs} runs:"
    found, half, by_formula = numbers(11, line)
    assert by_formula == pytest.approx(expected_h(work_h), abs=0.005)
    assert abs(found - by_formula) <= half
    assert half == pytest.approx(0.05 * by_formula, rel=0.1)
    assert expected_h(8.0) > 4 * expected_h(4.0)


def test_checkpoints_in_the_package_give_the_formula_and_young_is_nearly_the_best():
    for minutes in (5, 10, 20, 40, 80, 240):
        found, half, by_formula = numbers(11, f"{minutes} min ")
        assert abs(found - by_formula) < 2 * half + 0.01  # each is rounded to 0.01
    best_min, best_h = numbers(11, "the best of equal pieces:")
    young_min, young_h = numbers(11, "Young's rule, root of 2 c / r:")
    assert young_min == pytest.approx(60 * math.sqrt(2 / 60 * 3), abs=0.05)
    assert abs(best_min - young_min) < 1
    assert best_h <= young_h < 1.005 * best_h
    assert numbers(11, "20 min ")[2] == pytest.approx(4.5, abs=0.05)


@pytest.mark.slow
def test_the_formula_of_checkpoints_holds_for_power_that_fails_more_often():
    lecture = beginning(11, "MINUTES = (")
    lecture["PER_H"] = 1.0
    found = lecture["simulated_h"](400, 0.5, lecture["WRITING_H"], 0.2)
    by_formula = lecture["formula_h"](0.5, per_h=1.0, restart_h=0.2)
    assert abs(found.mean - by_formula) < 2 * found.half_width < 0.5
    assert abs(found.mean - lecture["formula_h"](0.5, per_h=1.0, restart_h=0)) > 2 * (
        found.half_width
    )


def test_preemption_serves_the_urgent_alone_and_costs_the_others_a_minute():
    rows = {
        name: numbers(11, name)
        for name in ("urgent first", "urgent interrupts", "work done is lost")
    }
    for name in ("urgent first", "urgent interrupts"):
        urgent, half, theory, others, other_half, other_theory = rows[name]
        assert abs(urgent - theory) <= half and abs(others - other_theory) <= other_half
    cobham = 0.2 * 1 + 0.1 * 16  # residual work, of exponential times
    assert rows["urgent first"][2] == pytest.approx(1 + cobham / 0.8, abs=0.006)
    assert rows["urgent first"][5] == pytest.approx(4 + cobham / 0.8 / 0.4, abs=0.006)
    # M/M/1 alone
    assert rows["urgent interrupts"][2] == pytest.approx(1 / (1 - 0.2), abs=0.006)
    assert rows["urgent interrupts"][5] - rows["urgent first"][5] == pytest.approx(
        1, abs=0.011
    )
    assert rows["work done is lost"][3] > 50 * rows["urgent interrupts"][3]
    assert numbers(11, "load of the others:") == [0.4, 2.0]
    work = np.random.default_rng(3).exponential(4, 10**6)  # e^(0.2 x) has a heavy tail
    assert np.mean(np.expm1(0.2 * np.minimum(work, 60)) / 0.2) == pytest.approx(
        20, rel=0.1
    )


def test_spot_under_a_deadline_is_cheaper_and_never_late():
    dear, greedy, uniform = (
        numbers(11, name) for name in ("on-demand", "greedy", "uniform-progress")
    )
    assert dear[2] == greedy[2] == uniform[2] == 0
    assert uniform[0] + uniform[1] < greedy[0] - greedy[1] < dear[0]


# ---- lecture 12: validation ----

MODELS = (
    "right",
    "no delays  ",
    "a slot too many",
    "shortest first",
    "no delays, tuned",
)


def test_the_mean_finds_three_wrong_models_and_the_tuned_one_only_by_another_figure():
    text = printed(12)
    table = {}
    for line in text[
        text.index("model - log") : text.index("the log lies")
    ].splitlines()[1:]:
        for name in MODELS:
            if line.startswith(name) and "±" in line:
                table[name] = [
                    float(each)
                    for each in re.findall(r"-?\d+\.?\d*", line.removeprefix(name))
                ]
    assert len(table) == 5

    def excludes(name, figure):
        found, half = table[name][4 * figure : 4 * figure + 2]
        return abs(found) > half

    assert [excludes(name, 0) for name in MODELS] == [False, True, True, True, False]
    # of 20 tests at 5 % more than 4 reject with a chance of 0.3 %
    assert [table[name][2] > 4 for name in MODELS] == [False, True, True, True, False]
    assert table["no delays, tuned"][4] - table["no delays, tuned"][5] > 40
    assert table["no delays  "][4] - table["no delays  "][5] > 40
    assert not excludes("shortest first", 1)
    assert [table[name][6] for name in ("no delays  ", "no delays, tuned")] == [20, 20]
    assert max(table["right"][6], table["shortest first"][6]) <= 4


def test_ranks_of_the_log_among_replays():
    right = numbers(12, "right           the log")
    wrong = numbers(12, "shortest first  the log")
    assert stats.binomtest(int(right[0]), 20, 0.1).pvalue > 0.05
    assert stats.binomtest(int(wrong[0]), 20, 0.1).pvalue < 0.001
    assert abs(right[2] - 10.5) < 2 * math.sqrt((20**2 - 1) / 12 / 20)
    assert wrong[2] > 10.5 + 4 * math.sqrt((20**2 - 1) / 12 / 20)


@pytest.mark.slow
def test_a_right_model_agrees_and_wrong_ones_do_not_with_other_days():
    lecture = beginning(12, "recorded = [")
    replay, truth, waits = lecture["replay"], lecture["TRUTH"], lecture["waits_min"]
    recorded = [cg.simulate(truth, "fifo", day) for day in range(5000, 5020)]
    log = np.array([waits(run) for run in recorded])

    def model(policy="fifo", **other):
        return np.array(
            [
                waits(
                    cg.simulate(
                        subject_of(replay(run)).varied(**other), policy, 6000 + day
                    )
                )
                for day, run in enumerate(recorded)
            ]
        )

    right = paired_difference(model().mean(axis=1), log.mean(axis=1))
    assert abs(right.mean) < 2 * right.half_width
    for how in ({"policy": "spt"}, {"slots": 4}):
        assert paired_difference(model(**how).mean(axis=1), log.mean(axis=1)).high < 0


# ---- lecture 13: experiments ----


def test_rush_orders_change_no_wait_and_factors_interact():
    for name in (
        "rush   ",
        "slots x rush   ",
        "rush x persistence",
        "slots x rush x persistence",
    ):
        assert numbers(13, name)[:2] == [0, 0]
    assert numbers(13, "rush   ")[2] > numbers(13, "rush   ")[3]
    slot, persistence = numbers(13, "slots   "), numbers(13, "persistence")
    together = numbers(13, "slots x persistence")
    assert slot[0] + slot[1] < 0 and persistence[0] + persistence[1] < 0
    assert together[0] - together[1] > 0
    added, simulated, short, half = numbers(13, "both: added up")
    assert simulated - added == pytest.approx(short, abs=0.1)
    assert short - half > 30 and short == pytest.approx(2 * together[0], abs=0.02)
    base, more, kept = numbers(13, "wait, min: as it is")
    assert more + kept - base == pytest.approx(added, abs=0.1)
    assert more < base - 20 and kept < base - 20


@pytest.mark.slow
def test_the_interaction_is_there_with_other_seeds():
    wait = {
        (slots, persistence_s): np.array(
            cg.compare(
                cg.day("hectic", slots=slots, persistence_s=persistence_s),
                ["fifo"],
                range(7000, 7020),
            ).values("fifo", "wait_min")
        )
        for slots in (5, 6)
        for persistence_s in (0.0, 7200.0)
    }
    base = wait[5, 0.0]
    slot = wait[6, 0.0]
    kept = wait[5, 7200.0]
    both = wait[6, 7200.0]
    assert paired_difference(both, slot + kept - base).low > 30
    assert min(mean(base - slot).low, mean(base - kept).low) > 20


def test_the_selection_takes_fewer_runs_and_keeps_its_promise():
    rows = re.findall(
        r"^(\w+) +([\d.]+) +(\d+)(?: +selected)?$", printed(13), re.MULTILINE
    )
    runs = {name: int(number) for name, _, number in rows}
    total = sum(runs.values())
    taken = numbers(13, f"{total} runs; as many for each as for the best:")
    assert taken == [8 * max(runs.values())] and total < taken[0]
    assert {name for name in runs if runs[name] == max(runs.values())} == {"spt", "lcf"}
    means = {name: float(value) for name, value, _ in rows}
    assert means["spt"] - means["lcf"] > 0.1 > abs(means["lcf"] - means["cadr"])
    kept, equal, blind = (
        numbers(13, name)
        for name in ("Kim and Nelson", "shared equally", "blind choice")
    )
    assert kept[0] > 95
    assert kept[0] - kept[1] > equal[0] + equal[1]
    assert abs(blind[0] - 100 / 8) < blind[1]


# ---- lecture 14: variance reduction ----


@pytest.mark.slow
def test_all_methods_estimate_the_mean_of_the_same_queue():
    lecture = beginning(14, "def tell(")
    u = np.random.default_rng(14).random((2, lecture["CUSTOMERS"], 20_000))
    truth = mean(lecture["mean_waits"](u))
    assert truth.half_width < 0.2
    for name in ("control: gap and service", "control: M/M/1", "control: all three"):
        plain, half, reduced, less = numbers(14, name)[-7:-3]
        assert abs(plain - truth.mean) < 1.5 * half
        assert abs(reduced - truth.mean) < 1.5 * less
    simulated, formula = numbers(14, "M/M/1: simulated")[:2]
    assert formula == 20 and abs(simulated - 20) < 1


def ratio(number, start):
    return numbers(number, start)[-3:]


def test_which_methods_help_and_which_hurts():
    assert ratio(14, "antithetic, wait")[1] > 1
    assert ratio(14, "antithetic, wait")[2] < 1.5
    assert ratio(14, "antithetic, off the plan")[2] < 1
    inputs, formula, together = (
        ratio(14, f"control: {name}")
        for name in ("gap and service", "M/M/1", "all three")
    )
    assert min(inputs[1], formula[1], together[1]) > 1.5
    assert together[1] > inputs[2]
    assert ratio(14, "common numbers, 5 % faster")[1] > 10
    assert 1 < ratio(14, "common numbers, a third server")[2] < 1.5


@pytest.mark.slow
def test_variance_ratios_with_other_numbers():
    lecture = beginning(14, 'u = uniforms("plain")')
    rng, runs = np.random.default_rng(15), 8000
    u, second = rng.random((2, 2, 200, runs))
    of = lecture["mean_waits"]
    own, other, opposite, third = of(u), of(second), of(1 - u), of(u, 3)
    gain = (own + other).var() / (own + opposite).var()
    assert 1.25 < gain < 1.75

    def off(u):
        return np.abs(lecture["exponential"](u[1], 10.0).sum(axis=0) - 2000)

    assert 0.7 < (off(u) + off(second)).var() / (off(u) + off(1 - u)).var() < 0.9
    assert 1.05 < (of(second, 3) - own).var() / (third - own).var() < 1.4
    gaps, works = (
        lecture["exponential"](v, m) for v, m in zip(u, (lecture["GAP_S"], 9.5))
    )
    faster = lecture["waits_s"](gaps, works).mean(axis=0)
    gaps, works = (
        lecture["exponential"](v, m) for v, m in zip(second, (lecture["GAP_S"], 9.5))
    )
    apart = lecture["waits_s"](gaps, works).mean(axis=0)
    assert 10 < (apart - own).var() / (faster - own).var() < 25


# ---- lecture 15: random numbers and their tests ----


def test_neighbours_of_a_generator_correlate_by_one_over_its_multiplier():
    """Over the whole period the correlation of x and (a x + c) mod m is near 1 / a, and
    that of RANDU's neighbours near 0 (Knuth, The Art of Computer Programming 2, 3.3.3).
    """
    m = 2**16
    x = np.arange(m)
    for a in (5, 13, 29):
        assert np.corrcoef(x, (a * x + 1) % m)[0, 1] == pytest.approx(1 / a, abs=0.001)
    assert numbers(15, "a = 5: correlation of neighbours") == [
        pytest.approx(1 / 5, abs=0.005)
    ]


@pytest.mark.slow
def test_a_bad_generator_biases_the_wait_of_a_queue_from_other_seeds_too():
    lecture = beginning(15, "# ## The planes")
    rng = np.random.default_rng(15)

    def ratio(in_a_row):
        """Mean wait of M/M/1 at 0.8 over the formula's, one long run of 400,000
        customers.
        """
        seeds, n = rng.integers(0, 2**31, 2).tolist(), 400_000
        one, two = (
            lecture["taken"](lecture["lcg"](5, 1, seed), 2 * n) for seed in seeds
        )
        gaps, work = (one[::2], one[1::2]) if in_a_row else (one[:n], two[:n])
        steps = -np.log1p(-work[:-1]) + np.log1p(-gaps[1:]) / 0.8
        walk = np.append(0, np.cumsum(steps))
        return (walk - np.minimum.accumulate(walk)).mean() / 4  # Lindley's recursion

    assert 0.5 < ratio(in_a_row=True) < 0.65
    assert 1.4 < ratio(in_a_row=False) < 1.9


# ---- lecture 16: from system to verified program ----


def test_the_lognormal_stay_has_the_mean_it_is_said_to_have_and_the_fault_has_not():
    lecture = beginning(16, "# %% [markdown]\n# ## By hand")
    for kind, mean_h in (("Ward", 96.0), ("Median", 96 * math.exp(0.8**2 / 2))):
        stays = lecture[kind](patients=200_000).stays_h(np.random.default_rng(16))
        assert stays.mean() == pytest.approx(mean_h, abs=4 * stays.std() / 200_000**0.5)


# ---- exercises ----


@pytest.mark.parametrize(
    ("exercise", "wrong"),
    [
        (9.2, lambda: _chi_square_of_exercise(19)),
        (10.1, lambda: 1 / math.sqrt(2 * math.e / math.pi)),
        (11.1, lambda: expected_h(8.0)),
        (11.2, lambda: 12),
        (12.1, lambda: 1.0),
        (14.1, lambda: 62),
        (14.2, lambda: 14.0),
        (15.1, lambda: 0.3),
        (16.1, lambda: 22),
    ],
)
def test_a_usual_mistake_of_a_later_exercise_gets_a_hint_of_its_own(exercise, wrong):
    verdict = cg.exercises.check(exercise, wrong())
    assert not verdict and not verdict.message.startswith("not yet")


def _chi_square_of_exercise(freedom):
    x = stream(9, "exercise").gamma(2.0, 300.0, 500)
    cells = np.histogram(
        stats.gamma(*stats.gamma.fit(x, floc=0)).cdf(x), 20, range=(0, 1)
    )[0]
    return stats.chi2.sf(((cells - 25) ** 2 / 25).sum(), freedom)


def test_hints_of_later_exercises_tell_mistakes_from_the_answer():
    """No mistake lies within the tolerance of the answer, nor of an earlier mistake."""
    numeric = "9.1 9.2 10.1 10.2 11.1 11.2 12.1 12.2 14.1 14.2 15.1 16.1"
    for number in numeric.split():
        judge = cg.exercises.EXERCISES[number].judge
        held = dict(
            zip(
                judge.__code__.co_freevars, (c.cell_contents for c in judge.__closure__)
            )
        )
        hints = [judge(mistake.answer()) for mistake in held["mistakes"]]
        assert hints == [mistake.hint for mistake in held["mistakes"]], number
        assert judge(held["answer"]()) == ""
