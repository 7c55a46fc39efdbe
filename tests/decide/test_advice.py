"""Advice: each sentence and row is computed from the runs, with its uncertainty."""

import csv
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from support import check_refused, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import check_folder
from cgrsp_simpy.decide.advice import BAD_DAYS, WORTH, Advice, advise, limits_of
from cgrsp_simpy.decide.recommend import (
    COST,
    PARTS,
    REPRICED,
    Option,
    Prices,
    Search,
    Spot,
    Trials,
)

GPU = cg.GpuType("one", 0.3, (60.0, 70.0, 100.0), 1.0)
LOOSE = cg.DeadlineClass("loose", 1.0, 1200.0)


def place(gap_s=60.0, slots=1, jobs=60, classes=(LOOSE,)):
    """Jobs of 72 s or so on one type, provisioned at once."""
    load = cg.PoissonWorkload(jobs, 1 / gap_s, deadlines=classes)
    return cg.Scenario(
        "small",
        load,
        cg.round_robin(slots, (GPU,)),
        (GPU,),
        market=cg.Market(delay_s=((0, 0), (0, 0), (0, 0))),
    )


def advice_on(scenario, seeds, first=None, tried=(), **best):
    """Advice to make the changes `best`, of which `first` is a part, without a search.

    Two seeds of the search are enough for what was tried, and at other prices the
    answer is the same.
    """
    trials = Trials(scenario, ["fifo", "edf"], Prices(), Spot(0.4, 0.5))
    search = Search(trials, {}, COST, max(seeds) + 1)
    search.seeds = search.few = search.fewer = search.seeds[:2]
    trials.run(tried, search.few)
    best = trials.now._replace(**best)
    advice = Advice(search, best, first and trials.now._replace(**first), list(seeds))
    vars(advice)["repriced"] = dict.fromkeys(REPRICED, best)
    return advice


@pytest.fixture(scope="module")
def found():
    return advise(BUSY, ["fifo", "edf"], range(6))


BUSY = place(20.0, jobs=30)


def log_of_days(folder, days, per_day=24):
    """A log whose odd days bring more than a slot can do, and the scenario of one
    slot.
    """
    file = folder / "log.csv"
    gap_s = 86_400 / per_day
    jobs = (
        (gap_s * n + 900, gap_s * 1.25 if int(n / per_day) % 2 else gap_s / 6)
        for n in range(round(days * per_day) + 1)
    )
    file.write_text(
        "submit_s,service_s\n" + "".join(f"{at:.0f},{run}\n" for at, run in jobs)
    )
    return cg.trace(file, slots=1)


# ---- three lines ----


def costs_of(scenario, option, seeds, prices=Prices()):  # noqa: B008 - frozen
    """The parts of the cost of a day by seed, from the jobs alone."""
    rows = []
    for seed in seeds:
        jobs = cg.simulate(
            replace(scenario, slots=(GPU,) * option.slots), option.policy, seed
        ).jobs
        late_s = np.maximum(0, jobs["finish_s"] - jobs["deadline_s"])
        wait_s = jobs["start_s"] - jobs["submit_s"]
        rows.append(
            {
                "rent_usd": jobs["cost_usd"].sum(),
                "slots_usd": prices.price_slot * option.slots,
                "misses_usd": prices.price_miss * (late_s > 0).sum(),
                "late_usd": prices.price_late * late_s.sum() / 60,
                "waits_usd": prices.price_wait * wait_s.sum() / 60,
            }
        )
    return {part: np.array([row[part] for row in rows]) for part in PARTS}


def spread(x):
    return x.mean(), stats.t.ppf(0.975, len(x) - 1) * x.std(ddof=1) / len(x) ** 0.5


def test_the_three_lines_agree_with_the_runs(found):
    what, saves, sure = found.lines
    assert (
        what == f"Recommendation: {found.best.slots} slots instead of 1 (+"
        f" {found.best.slots - 1} one)."
    )
    now, then = (costs_of(BUSY, each, range(6)) for each in (found.now, found.best))
    saved = {part: now[part] - then[part] for part in PARTS}
    mean, half = spread(sum(saved.values()))
    assert (
        f"Saving per day: {mean:.2f} ± {half:.2f} of"
        f" {sum(now.values()).mean():.2f} USD: " in saves
    )
    bills = saved["rent_usd"] + saved["slots_usd"]
    assert (
        f"bills {bills.mean():+.2f} (rent +0.00, slots"
        f" {saved['slots_usd'].mean():+.2f})" in saves
    )
    unease = spread(saved["misses_usd"] + saved["late_usd"] + saved["waits_usd"])
    parts = ", ".join(
        f"{noun} {saved[part].mean():+.2f}"
        for part, noun in (
            ("misses_usd", "misses"),
            ("late_usd", "lateness"),
            ("waits_usd", "waiting"),
        )
    )
    assert f"inconvenience {unease[0]:+.2f} ± {unease[1]:.2f} ({parts})" in saves
    p = stats.ttest_1samp(sum(saved.values()), 0).pvalue
    assert (
        sure == f"Confidence: 95 % interval {mean - half:.2f} to {mean + half:.2f} USD,"
        " over 6 days of the same distributions that the search did not use, p ="
        f" {p:.1g}."
    )


def test_the_search_uses_none_of_the_seeds_of_the_comparison(found):
    assert found.search.seeds[0] == max(found.seeds) + 1
    judged = {*found.compared, *found.search.finalists()}
    searched = [each for each in found.tried if each not in judged]
    assert searched
    for each in searched:
        assert found.trials.figures[each].keys() <= set(found.search.seeds)


def test_options_that_are_not_shown_are_not_advised():
    """A result of the search is not advised if the comparison's seeds do not confirm
    it.
    """
    none = advice_on(place(), range(2), slots=2)
    assert none.advised == none.now != none.best
    assert none.lines[0].startswith(
        "Recommendation: no change, fifo on 1 slot, fixed types."
    )
    assert (
        "does not cost significantly less." in none.lines[0]
        and "Saving per day with " in none.lines[1]
    )
    assert none.lines[2] == "Confidence: 2 seeds: no interval (at least 3)."
    assert "nan" not in str(none)


def test_a_saving_under_a_tenth_of_a_per_cent_is_not_advised(found, monkeypatch):
    low = found.mean(found.now).mean * WORTH
    saved = found.saved(found.best)
    for mean, pays in ((0.9 * low, False), (1.1 * low, True)):
        own = replace(saved, mean=mean, low=0.5 * mean, high=2 * mean)
        monkeypatch.setattr(type(found), "saved", lambda *_, own=own: own)
        assert found.pays(found.best) == pays


def test_a_good_configuration_gets_no_recommendation():
    own = advise(place(1500.0, jobs=20), ["fifo", "edf"], range(5))
    assert own.best == own.now and own.first is None
    assert own.lines[0] == "Recommendation: no change, fifo on 1 slot, fixed types."
    of = f"of {len(own.tried) - 1} in the search."
    assert own.lines[2] == f"Confidence: no option is better, {of}"


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("most", "verdict"),
    [(90, "met"), (0.1, "no plan can be below 8.33; the nearest option")],
)
def test_a_target_is_reported_as_met_or_missed(most, verdict):
    classes = (cg.DeadlineClass("soon", 1.0, 100.0),)
    own = advise(
        place(300.0, classes=classes), ["fifo"], range(6), target=f"miss<={most}%"
    )
    mean, half = spread(np.array(own.trials.values(own.best, "miss_pct", range(6))))
    assert own.lines[2].endswith(
        f" miss_pct <= {most}: {verdict}, {mean:.2f} ± {half:.2f}."
    )
    assert own.advised == own.best and (own.best == own.now) == (most == 90)
    late = "8.33 % of the jobs miss their deadlines under any policy"
    assert own.rest[1].startswith(late)


def test_a_target_met_only_in_the_mean_is_reported_as_such(found):
    miss = found.mean(found.best, "wait_min")
    found.search.limits["wait_min"] = (miss.mean + miss.high) / 2
    message = found.lines[2]
    del found.search.limits["wait_min"]
    assert "met by the mean, but not significantly" in message


@pytest.mark.parametrize(
    ("target", "limits"),
    [
        ("miss<=1%,wait<=30", {"miss_pct": 1, "wait_min": 30}),
        (
            " tardiness <= .5 , tight_miss<=2 %",
            {"tardiness_min": 0.5, "tight_miss_pct": 2},
        ),
        (None, {}),
    ],
)
def test_targets_name_figures_without_their_units(target, limits):
    assert limits_of(cg.day("hectic"), target) == limits


# ---- the rest ----


@pytest.mark.parametrize(("gap_s", "over"), [(30.0, True), (300.0, False)])
def test_overload_is_reported_if_the_daily_cost_depends_on_the_run_length(gap_s, over):
    own = advice_on(place(gap_s), range(3))
    load = float(np.mean([row["load"] for row in own.hours]))
    assert (
        (load > 1)
        == over
        == ("Overloaded: " in own.rest[0])
        == ("Stable; " not in own.rest[0])
    )
    assert f"the load is {load:.2f} times the capacity" in own.rest[0]
    bills = []
    for days in (1, 2, 3):
        run = cg.simulate(place(gap_s, jobs=days * 300), "fifo", 0)
        bills.append(Prices().of_jobs(run.jobs).sum() / days)
    assert (bills[2] > 1.2 * bills[1] > 1.44 * bills[0] > 0) == over


def test_hours_are_of_the_slots_time_and_of_all_inconvenience(tmp_path):
    scenario = log_of_days(tmp_path, 2)
    own = advice_on(scenario, range(2))
    run = cg.simulate(scenario, "fifo", 0)
    assert len(own.hours) == 48
    assert sum(row["load"] for row in own.hours) * 3600 == pytest.approx(
        sum(run.held_s)
    )
    usd = [row["usd"] for row in own.hours]
    assert sum(usd) == pytest.approx(Prices().of_jobs(run.jobs).sum())
    top = own.hours[int(np.argmax(usd))]["hour"]
    share = 100 * max(usd) / sum(usd)
    assert (
        f"of the hour from {int(top)}:15 cause {share:.0f} % of the inconvenience"
        in own.rest[0]
    )


@pytest.mark.parametrize("number", [5, BAD_DAYS])
def test_a_bad_day_is_a_quantile_or_the_worst(number):
    few = place(30.0, jobs=20)
    own = advice_on(few, range(number), slots=2)
    totals = [
        sum(costs_of(few, each, range(number)).values()) for each in (own.now, own.best)
    ]
    [message] = [each for each in own.rest if each.startswith("Cost of a bad day")]
    worst, of = (
        ([each.max() for each in totals], "the worst of 5 days (a 95th percentile")
        if number < BAD_DAYS
        else ([np.quantile(each, 0.95) for each in totals], "percentile of 20 days: ")
    )
    assert of in message and message.endswith(
        f": {worst[0]:.2f} USD today, {worst[1]:.2f} after the change."
    )


def test_worse_figures_are_reported(found):
    assert [each for each in found.rest if each.startswith("What gets worse")] == [
        f"What gets worse: slots, USD: +{0.25 * (found.best.slots - 1):.2f}."
    ]


def test_slots_by_the_hour_are_compared_with_the_best_fixed_number():
    now = Option("fifo", 5, "fixed types")
    own = advice_on(
        *(cg.day("normal", jobs=20), range(3), None),
        [now._replace(slots=slots) for slots in (4, 6)],
        **{"slots": 6, "hours": ((0.0, 4), (12.0, 6))},
    )
    assert own.compared == [now, own.best, now._replace(slots=4)]
    assert own.rest[1] == (
        "Slots by the hour save -0.25 USD per day compared with fifo on 4 slots, fixed"
        " types, the best fixed fleet that was tried."
    )


@pytest.mark.parametrize(
    ("seeds", "form"),
    [
        (
            6,
            "First step, the {} the search: 2 slots instead of 1 (+ 1 one); it saves"
            " {:.2f} ± {:.2f}",
        ),
        (
            2,
            "The {} the search, 2 slots instead of 1 (+ 1 one), does not save"
            " significantly: {:.2f}",
        ),
    ],
)
def test_the_first_step_is_printed_with_its_saving(seeds, form):
    seeds = range(seeds)
    own = advice_on(place(20.0, jobs=30), seeds, {"slots": 2}, slots=3)
    now, then = (
        costs_of(place(20.0, jobs=30), each, seeds) for each in (own.now, own.first)
    )
    saved = spread(sum(now.values()) - sum(then.values()))
    text = form.format("smallest single change that reduced the cost in", *saved)
    assert f"{text} USD per day" in " ".join(own.rest)


# ---- rows ----


def test_rows_describe_the_runs_and_the_table_has_the_best_of_each_kind():
    changes = (
        {"policy": "edf"},
        {"types": "free types"},
        {"policy": "edf", "types": "free types"},
        {"types": "spot RTX A4500"},
        {"types": "spot RTX A5000"},
        {"policy": "fifo-later"},
        {"slots": 4},
        {"slots": 6, "hours": ((0.0, 5), (12.0, 6))},
        {"slots": 6},
    )
    now = Option("fifo", 5, "fixed types")
    tried = [now._replace(**change) for change in changes]
    own = advice_on(cg.day("normal", jobs=20), range(3), tried=tried, slots=6)
    later = now._replace(types="spot RTX 3090")  # as the search at other prices does
    own.trials.run([later], own.search.seeds[:1])
    assert later not in own.tried
    compared = [row for row in own.rows if row["compared"]]
    assert [
        Option(row["policy"], row["slots"], row["types"]) for row in compared
    ] == own.compared
    assert len(own.rows) == len(compared) + len(own.tried)
    for row, option in zip(own.rows, [*own.compared, *own.tried], strict=True):
        assert row[COST] == pytest.approx(sum(row[part] for part in PARTS))
        seeds = own.seeds if row["compared"] else own.search.seeds[: row["seeds"]]
        fleet, policy = own.trials.fleet(option), own.trials.policies[option.policy]
        waits_min = [cg.simulate(fleet, policy, n).summary()["wait_min"] for n in seeds]
        assert row["wait_min"] == pytest.approx(np.mean(waits_min))
    kinds = {row["change"] for row in own.rows}
    assert kinds >= {
        "today",
        "policy",
        "types",
        "slots",
        "start later",
        "slots by the hour",
        "spot",
        "policy, types",
    }
    assert {row["change"] for row in own.shown} == kinds and len(own.shown) <= 12
    [spot] = [row for row in own.shown if row["change"] == "spot"]
    costs = {row["types"]: row[COST] for row in own.rows if row["seeds"] == 2}
    spots = ("spot RTX A4500", "spot RTX A5000")
    assert spot["types"] == min(spots, key=costs.__getitem__)
    [head, *cells] = own.tables[0].rows
    names = ("change", "policy", "types")
    for row, shown in zip(own.shown, map(partial(zip, head), cells), strict=True):
        shown = dict(shown)
        assert [shown[name] for name in names] == [row[name] for name in names]
        assert shown["slots"] == (row["hours"] or str(row["slots"]))
        assert float(shown[COST].split()[0]) == pytest.approx(row[COST], abs=0.005)
        of = "" if row["compared"] else " (search)"
        assert shown["seeds"] == f"{row['seeds']}{of}"
    assert "Spot instances cost 0.4 of a type's price" in own.tables[0].note
    assert own._repr_html_().count("<tr>") == len(own.shown) + 1


def test_a_new_policy_and_starting_later_are_instructions():
    own = advice_on(cg.day("normal", jobs=20), range(2))
    message = {
        Option("edf", 5, "fixed types"): "edf instead of fifo",
        Option(
            "fifo-later", 5, "fixed types"
        ): "loose jobs after the scarce hours, fifo as today",
        Option("fifo", 5, "free types"): "free choice of the types",
        Option("fifo", 6, "fixed types"): "6 slots instead of 5 (+ 1 RTX A5000)",
        Option("fifo", 4, "fixed types"): "4 slots instead of 5 (- 1 RTX 3090)",
        Option("fifo", 7, "plus RTX A4500"): "7 slots instead of 5 (+ 2 RTX A4500)",
        Option("fifo", 5, "spot RTX A4500"): "RTX A4500 as spot instances",
        Option(
            "edf", 4, "all RTX A4500"
        ): "edf instead of fifo; all slots of type RTX A4500; 4 slots instead of 5",
    }
    names = {str(option): own.instruction(option) for option in message}
    assert names == {str(option): text for option, text in message.items()}


# ---- the population of an interval ----


def test_a_log_has_an_interval_over_days_and_one_over_hidden_draws(tmp_path):
    """By hand: the jobs of each day of each seed, and their cost today and with the
    advice. The log is of 8.75 days, divided into nine.
    """
    scenario = log_of_days(tmp_path, 8.75, 8)
    found = advice_on(scenario, range(3), slots=2)

    def daily(option):
        costs = np.zeros(9)
        for seed in range(3):
            jobs = cg.simulate(found.trials.fleet(option), option.policy, seed).jobs
            late_s = np.maximum(0, jobs["finish_s"] - jobs["deadline_s"])
            wait_s = jobs["start_s"] - jobs["submit_s"]
            costs_usd = (
                jobs["cost_usd"]
                + 1.0 * (late_s > 0)
                + 0.01 * late_s / 60
                + wait_s / 60e3
            )
            for at, cost in zip(jobs["submit_s"], costs_usd):
                costs[min(8, int(9 * at / (8.75 * 86_400)))] += cost / 3
        return costs * 9 / 8.75 + 0.25 * option.slots

    saved = daily(found.now) - daily(found.best)
    around = np.concatenate([saved, saved[:2]])  # blocks of 3, in a circle
    blocks = [around[at : at + 3].mean() for at in range(9)]
    half = stats.t.ppf(0.975, 2) * (np.var(blocks) / 2) ** 0.5
    days = found.for_days(found.best)
    assert days.mean == pytest.approx(found.saved(found.best).mean)
    assert days.half_width == pytest.approx(half)
    assert half > found.saved(found.best).half_width
    sure = found.lines[2]
    assert (
        "over 3 seeds (the same jobs, other stock and delays) that the search" in sure
    )
    low, high = saved.mean() - half, saved.mean() + half
    assert (
        f"; for days like these {low:.2f} to {high:.2f} USD (bootstrap of 9 days in"
        " blocks of 3)" in sure
    )
    assert (found.advised == found.best) == (low > 0)


def test_a_short_log_gives_a_note_that_other_days_may_differ(tmp_path):
    own = advice_on(log_of_days(tmp_path, 2, 8), range(3), slots=2)
    assert (
        "; no interval for other days, since the log has fewer than 7." in own.lines[2]
    )
    assert own.for_days(own.best) is None
    assert "Cost of a bad day, the worst of 2 days (" in str(own)


@pytest.mark.long
def test_the_interval_of_the_saving_covers_the_true_one():
    """In nine of ten comparisons on ten days of their own, each after a search on days
    of its own; the truth is of 2,000 days. One slot at a load of 1.8.
    """
    scenario, truth, covered = place(40.0, jobs=40), {}, []
    for trial in range(100):
        seeds = range(1000 * trial, 1000 * trial + 10)
        own = advise(scenario, ["fifo"], seeds)
        if own.best == own.now:
            continue  # nothing is promised
        if own.best not in truth:
            many = range(200_000, 202_000)
            own.trials.run([own.now, own.best], many)
            truth[own.best] = own.trials.change(own.now, own.best, COST, many).mean
        saved = own.saved(own.best)
        covered.append(saved.low <= truth[own.best] <= saved.high)
    assert sum(covered) >= 0.9 * len(covered) and len(covered) >= 50


# ---- the command ----


@pytest.mark.slow
def test_the_command_writes_a_report(capsys, tmp_path):
    line = "advise hectic jobs=30 --policies fifo,edf --seeds 3 --format json --report"
    content = json.loads(output(capsys, *line.split(), str(tmp_path)))
    assert (
        len(content["advice"]["lines"]) == 3
        and content["advice"]["advised"]["slots"] > 0
    )
    names = {path.name for path in tmp_path.iterdir()}
    pictures = {
        f"{stem}.{end}"
        for stem in ("advice_cost", "advice_slots")
        for end in ("csv", "png", "svg", "pdf")
    }
    assert names == {"advice.html", "advice.csv", *pictures}
    page = (tmp_path / "advice.html").read_text()
    assert page.count("<figure>") == 2 and "data:image/png;base64," in page
    with (tmp_path / "advice.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(content["figures"])
    for line in content["advice"]["lines"]:
        assert line.replace("'", "&#x27;").replace("<", "&lt;") in page


def test_a_folder_may_exist_or_not(tmp_path):
    for path in (tmp_path, tmp_path / "new" / "er"):
        check_folder(path)
    assert not (tmp_path / "new").exists()
    check_refused(lambda: check_folder(tmp_path / ("x" * 300)), "name too long")


test_other_kinds_are_rejected = refusals(
    ({"prices": 5}, "a Prices"),
    ({"spot": (0.4, 0.2)}, "a Spot"),
    ({"scenario": 5}, "scenario"),
    ({"policies": []}, "policies"),
    (
        {"target": "miss<=1", "budget_usd": 9},
        "budget_usd(=9) must be omitted if a target is given",
    ),
    call=lambda given: advise(
        **({"scenario": place(), "policies": ["fifo"], "seeds": [0]} | given)
    ),
)
