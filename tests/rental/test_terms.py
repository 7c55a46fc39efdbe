"""Terms of renting, by hand: refusals, warm instances, bills and budgets; from Python,
TOML and the command line.
"""

from dataclasses import replace
from itertools import islice
from unittest.mock import ANY

import pytest
from support import check_refused, phases, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.rental.terms import Opening, describe_hours, slot_hours
from cgrsp_simpy.studies.subject import subject_of

GPU = cg.GpuType("G", 3.6, (100.0,), 1.0)  # 0.001 USD per second
OTHER = cg.GpuType("H", 7.2, (50.0,), 1.0)
TEN_S = cg.Market(delay_s=((10, 10),) * 3)


def one_slot(
    submits, terms, market=TEN_S, gpus=(GPU,), slots=1, widths=None, free_types=False
):
    """Jobs of 100 s on slots of one type, 10 s of provisioning."""
    widths = widths or [1] * len(submits)
    listed = [
        cg.Job(id, at_s, 1e6, gpus=width)
        for id, (at_s, width) in enumerate(zip(submits, widths))
    ]
    return cg.Scenario(
        "one", cg.JobList(listed), (GPU,) * slots, gpus, free_types, market,
        cg.Service(sigma=(0,)), terms,
    )  # fmt: skip


def heard(scenario, policy="fifo"):
    events = []
    subject_of(scenario).run(policy, listener=events.append)
    return [
        (event.time_s, event.kind, event.job)
        for event in events
        if event.kind != "decide"
    ]


# ---- warm instances ----


def test_a_job_starts_at_once_on_a_warm_instance_and_idle_time_is_paid():
    run = cg.simulate(one_slot([0, 200, 500], cg.Terms(warm_s=150)), "fifo")
    assert phases(run) == [
        (0, 0, "provisioning", 0, 10),
        (0, 0, "executing", 10, 110),
        (0, 0, "idle-warm", 110, 200),
        (1, 0, "executing", 200, 300),
        (1, 0, "idle-warm", 300, 450),
        (2, 0, "provisioning", 500, 510),
        (2, 0, "executing", 510, 610),
        (2, 0, "idle-warm", 610, 760),
    ]
    names = ("idle_usd", "executing_usd", "cost_usd", "warm_starts")
    assert [run.jobs[name].tolist() for name in names] == [
        pytest.approx(column)
        for column in ([0.09, 0.15, 0.15], [0.1] * 3, [0.19, 0.25, 0.25], [0, 1, 0])
    ]
    result = run.summary()
    assert (result["warm_starts"], result["makespan_h"]) == (1, 610 / 3600)
    assert result["cost_usd"] == pytest.approx(
        result["executing_usd"] + result["idle_usd"]
    )


def test_a_listing_shows_the_return_of_a_warm_instance_and_a_step_its_time():
    scenario = one_slot([0], cg.Terms(warm_s=150))
    finished, expired = list(cg.step_through(scenario, "fifo"))[-2:]
    assert list(map(str, finished.future)) == ["260.00 expire"]
    assert expired.event.detail == "slot 0 is released"
    assert heard(scenario) == [
        (0, "submit", 0), (0, "dispatch", 0), (10, "start", 0), (110, "finish", 0),
        (260, "expire", None),
    ]  # fmt: skip


def test_a_job_of_another_type_does_not_use_the_warm_instance():
    def alternately(view):
        for job in view.queue[: view.idle_count]:
            offers = view.offers()
            yield (
                job,
                next(slot for slot in offers if slot.gpu == (GPU, OTHER)[job.id % 2]),
            )

    terms = cg.Terms(warm_s=1000)
    run = cg.simulate(
        one_slot([0, 200], terms, gpus=(GPU, OTHER), free_types=True), alternately
    )
    assert phases(run)[2:4] == [
        (0, 0, "idle-warm", 110, 200),
        (1, 0, "provisioning", 200, 210),
    ]
    assert run.jobs["idle_usd"] == pytest.approx([0.09, 1000 * 0.002])


def test_a_job_on_two_slots_waits_for_the_cold_one_and_pays_the_warm_one_meanwhile():
    run = cg.simulate(
        one_slot([0, 200], cg.Terms(warm_s=150), slots=2, widths=[1, 2]), "fifo"
    )
    assert phases(run)[3:7] == [
        (1, 0, "provisioning", 200, 210),
        (1, 0, "executing", 210, 310),
        (1, 1, "provisioning", 200, 210),
        (1, 1, "executing", 210, 310),
    ]
    assert run.jobs["idle_usd"] == pytest.approx([0.09, 0.01 + 2 * 0.15])
    assert run.jobs["warm_starts"].tolist() == [0, 0]


def test_warm_slots_are_offered_first():
    seen = []

    def watch(view):
        job, offers = view.queue[0], view.offers()
        after = view.offers_after(offers, offers[0])
        seen.append(
            [
                [(slot.index, view.warm(slot)) for slot in each]
                for each in (offers, after)
            ]
        )
        return [(job, offers[0] if job.id else view.idle[2])]

    cg.simulate(one_slot([0, 150], cg.Terms(warm_s=150), slots=3), watch)
    assert seen == [[[(0, False)], [(1, False)]], [[(2, True)], [(0, False)]]]


class Keeper:
    """First come, first served; keeps an instance for the given time."""

    name = "keeper"

    def __init__(self, kept_s):
        self.kept_s = kept_s

    def __call__(self, view):
        return list(zip(view.queue, view.idle))

    def keep_s(self, view, slot):
        assert view.now_s == 110
        assert slot.gpu == GPU
        return self.kept_s


@pytest.mark.parametrize(("kept_s", "until_s"), [(0, 110), (20.5, 130.5), (1e9, 260)])
def test_a_policy_decides_how_long_an_instance_is_kept(kept_s, until_s):
    run = cg.simulate(one_slot([0], cg.Terms(warm_s=150)), Keeper(kept_s))
    assert run.claims["to_s"].max() == until_s
    assert len(cg.simulate(one_slot([0], cg.Terms()), Keeper(kept_s)).claims) == 2


test_a_policy_that_returns_no_number_for_keep_gets_an_error = refusals(
    *(
        (Keeper(kept_s), r"'keeper' at t = 110 s keeps slot 0 for .* >= 0")
        for kept_s in (-1, float("nan"), None, "long")
    ),
    call=lambda policy: cg.simulate(one_slot([0], cg.Terms(warm_s=150)), policy),
    error=cg.PolicyError,
)


# ---- refusals ----


def test_a_refused_job_leaves_its_slot_and_asks_again():
    low, high = (0, 0, 1), (1, 0, 0)
    stock = cg.HourlyStock("G", [low] * 9 + [high] * 15)
    market = cg.Market(delay_s=((10, 10),) * 3, stock=[stock])  # a run starts at 8
    scenario = one_slot([0, 3500], cg.Terms(retry_s=1000), market)
    run = cg.simulate(scenario, "fifo")
    columns = run.jobs[["refusals", "dispatch_s", "status"]]
    assert columns.tolist() == [(4, 4000, 0), (1, 4500, 0)]
    assert heard(scenario)[:4] == [
        (0, "submit", 0), (0, "refuse", 0), (1000, "submit", 0), (1000, "refuse", 0),
    ]  # fmt: skip
    assert run.summary()["utilisation_pct"] == pytest.approx(100 * 220 / 4610)


def test_a_returning_job_keeps_its_position_in_the_queue():
    low, high = (0, 0, 1), (1, 0, 0)
    stock = cg.HourlyStock("G", [low] * 9 + [high] * 15)
    market = cg.Market(delay_s=((10, 10),) * 3, stock=[stock])
    queues = []

    def watch(view):
        of_class = [job.id for own in view.classes for job in own.jobs]
        queues.append(([job.id for job in view.queue], of_class))
        return [(view.queue[0], view.idle[0])] if view.idle else []

    # job 2 is refused at 3520 and back at 3620, when job 0 runs and jobs 1 and 3 wait
    model = one_slot([3500, 3510, 3520, 3605], cg.Terms(retry_s=100), market)
    cg.simulate(model, watch)
    ids = [[0], [1], [2], [0], [1, 2, 3], [2, 3], [3]]
    assert queues == [(waiting, waiting) for waiting in ids]


def test_refusals_depend_on_job_and_attempt_alone():
    stock = [cg.HourlyStock("G", [(0.3, 0.3, 0.4)] * 24)]
    market, submits = cg.Market(stock=stock), list(range(0, 4000, 80))
    scenario = one_slot(submits, cg.Terms(retry_s=30), market, slots=2)

    def last_first(view):
        return list(zip(reversed(view.queue), view.idle))

    one, other = (cg.simulate(scenario, policy).jobs for policy in ("fifo", last_first))
    assert 15 < one["refusals"].sum() < 60
    assert one["refusals"].tolist() == other["refusals"].tolist()
    assert one["delay_s"].tolist() == other["delay_s"].tolist()
    assert one["start_s"].tolist() != other["start_s"].tolist()


# ---- bills ----


@pytest.mark.parametrize(
    ("terms", "parts"),
    [
        ({}, {}),
        ({"checkpoint_s": 60}, {}),  # that cost nothing
        ({"suspension": True}, {}),  # nor does a restart
        ({"suspension": True, "restart_s": 5}, {"executing": 0.1, "wasted": 0.0}),
        ({"billed_from": "provisioning"}, {"executing": 0.1, "provisioning": 0.01}),
        ({"minimum_s": 300}, {"executing": 0.1, "rounding": 0.2}),
        ({"minimum_s": 90}, {"executing": 0.1, "rounding": 0.0}),
        ({"minimum_s": 0.5}, {"executing": 0.1, "rounding": 0.0}),
        ({"increment_s": 0.5}, {"executing": 0.1, "rounding": 0.0}),
        ({"warm_s": 0.5}, {"executing": 0.1, "idle": 0.0005}),
        ({"suspension": True, "restart_s": 0.5}, {"executing": 0.1, "wasted": 0.0}),
        (
            {"checkpoint_s": 60, "checkpoint_cost_s": 0.5},
            {"executing": 0.1, "checkpoints": 0.0005},
        ),
        ({"preemption_per_h": 1e-9}, {"executing": 0.1, "wasted": 0.0}),
        ({"increment_s": 60}, {"executing": 0.1, "rounding": 0.02}),
        ({"increment_s": 100}, {"executing": 0.1, "rounding": 0.0}),
        ({"minimum_s": 130, "increment_s": 60}, {"executing": 0.1, "rounding": 0.08}),
        (
            {"billed_from": "provisioning", "increment_s": 60, "warm_s": 50},
            {"executing": 0.1, "provisioning": 0.01, "idle": 0.05, "rounding": 0.02},
        ),
    ],
)
def test_the_parts_of_a_bill(terms, parts):
    run = cg.simulate(one_slot([0], cg.Terms(**terms)), "fifo")
    result = run.summary()
    shown = {
        name[:-4]: value for name, value in result.items() if name.endswith("_usd")
    }
    assert shown.pop("cost") == pytest.approx(sum(parts.values()) if parts else 0.1)
    assert shown == pytest.approx(parts)
    assert {name: run.rows()[0][f"{name}_usd"] for name in parts} == pytest.approx(
        parts
    )


# ---- budgets ----


def test_when_the_budget_is_spent_jobs_wait_for_midnight():
    scenario = one_slot([0, 50, 60], cg.Terms(budget_usd_per_day=0.1))
    run = cg.simulate(scenario, "fifo")
    midnight_s = 16 * 3600  # a run starts at 8
    assert run.jobs["dispatch_s"].tolist() == [0, midnight_s, midnight_s + 24 * 3600]
    rich = one_slot([0, 50, 60], cg.Terms(budget_usd_per_day=1))
    runs = run, cg.simulate(rich, "fifo")
    assert [run.summary()["budget_days"] for run in runs] == [2, 0]


# ---- Python, TOML, command line ----


@pytest.mark.parametrize("policy", ["fifo", "rh", "cadr", "triage", "edf-p"])
@pytest.mark.parametrize(
    "more",
    [{"budget_usd_per_day": 1e9}, {"suspension": True}],
    ids=["a budget that is never spent", "suspension that no policy uses"],
)
def test_terms_without_effect_leave_the_thesis_bit_identical(more, policy):
    """By the other process."""
    terms = cg.Terms(suspension=policy == "edf-p")
    thesis = cg.simulate(cg.day("hectic", jobs=200, terms=terms), policy)
    terms = replace(terms, **more)
    other = cg.simulate(cg.day("hectic", jobs=200, terms=terms), policy)
    for name in thesis.jobs.dtype.names:
        assert thesis.jobs[name].tobytes() == other.jobs[name].tobytes()
    assert thesis.decisions == other.decisions
    assert sorted(thesis.claims.tolist()) == sorted(other.claims.tolist())


# 300 s in stock, 300 s not
LOW_AT_300 = cg.StockSeries("G", (0.0, 300.0), (0, 2), 600.0)
SPOT = cg.Terms(taken_when_low=True)


@pytest.mark.parametrize(
    ("allowed", "refused", "words"),
    [
        (lambda: cg.Terms(retry_s=1e9), lambda: cg.Terms(retry_s=1.001e9), "retry_s"),
        (
            lambda: cg.Terms(checkpoint_s=5, checkpoint_cost_s=5),
            lambda: cg.Terms(checkpoint_s=5, checkpoint_cost_s=5.1),
            "at least checkpoint_cost_s",
        ),
        (
            lambda: cg.Terms(checkpoint_s=99).check_against(cg.Market(), ["G"], 100),
            lambda: cg.Terms(checkpoint_s=100).check_against(cg.Market(), ["G"], 100),
            "less than the longest",
        ),
        (
            lambda: cg.Terms(preemption_per_h=360).check_against(
                cg.Market(), ["G"], 100
            ),
            lambda: cg.Terms(preemption_per_h=361).check_against(
                cg.Market(), ["G"], 100
            ),
            "at most 360, because a job needs 100 s",
        ),
        (
            lambda: SPOT.check_against(cg.Market(persistence_s=10), ["G"], 100),
            lambda: SPOT.check_against(cg.Market(persistence_s=9.9), ["G"], 100),
            "persistence_s of G.* at least 10, because a job needs 100 s",
        ),
        (
            lambda: SPOT.check_against(cg.Market(series=(LOW_AT_300,)), ["G"], 100),
            lambda: SPOT.check_against(cg.Market(series=(LOW_AT_300,)), ["G"], 100.1),
            "longest seconds without Low stock of G.* at least 300.3",
        ),
    ],
    ids=["retry", "cost", "checkpoint", "rate", "persistence", "series"],
)
def test_a_limit_itself_is_allowed_as_the_message_states(allowed, refused, words):
    allowed()
    check_refused(refused, words)


def test_a_type_that_is_never_in_stock_cannot_be_asked_for_again():
    never = [cg.HourlyStock("G", [(0, 0, 1)] * 24)]
    check_refused(
        lambda: one_slot([0], cg.Terms(retry_s=1), cg.Market(stock=never)),
        "omitted if G is out of stock at every hour",
    )


# ---- slots by the hour ----


H = 3600.0
FROM_MIDNIGHT = cg.Market(cg.Clock(((0.0, 1.0),)), delay_s=((10, 10),) * 3)


def run_of(submits, hours, boot_s=0.0, minimum_s=0.0, market=FROM_MIDNIGHT, **more):
    """FIFO on slots that are open by the hour: jobs of 100 s, 10 s of provisioning."""
    jobs = cg.JobList([cg.Job(id, at_s, 1e7) for id, at_s in enumerate(submits)])
    scenario = cg.Scenario(
        "one",
        jobs,
        (GPU,) * max(number for _, number in hours),
        (GPU,),
        market=market,
        service=cg.Service(sigma=(0,)),
        opening=Opening(hours, boot_s, minimum_s),
        **more,
    )
    return cg.simulate(scenario, "fifo")


DAILY = [(1, 1), (3, 0)]


@pytest.mark.parametrize(
    ("submits", "hours", "options", "start_s", "overtime_h"),
    [
        # a slot opens and closes every day, and a job waits for it
        (
            [0, 2 * H, 3 * H, 25 * H],
            DAILY,
            {},
            [H + 20, 2 * H + 10, 25 * H + 20, 25 * H + 130],
            0,
        ),
        # a slot whose hours have begun is open without an order
        ([0], [(0, 1), (3, 0)], {"boot_s": 600}, [10], ANY),
        # a closing slot finishes its job and is billed until then
        ([3 * H - 50, 3 * H], DAILY, {}, [3 * H - 40, 25 * H + 20], round(60 / H, 9)),
        # it still runs when the next hours begin: billed in between, and not ordered
        # again
        (
            [3 * H - 50, 3 * H + 5],
            [*DAILY, (3.01, 1)],
            {},
            [3 * H - 40, 3 * H + 60 + 10],
            0.01,
        ),
        # boot time is billed, and may last longer than the hours
        ([0], DAILY, {"boot_s": 600}, [H + 620], ANY),
        ([0], DAILY, {"boot_s": 2 * H - 20}, [3 * H], ANY),
        (
            [0],
            [(0, 0), (1, 2), (2, 1), (3, 0)],
            {"boot_s": 1.5 * H},
            [2.5 * H + 20],
            ANY,
        ),
        # each order has its minimum
        ([1.2 * H, 26 * H], [(1, 1), (1.5, 0)], {"minimum_s": 2 * H}, ANY, 2 * 1.5),
    ],
)
def test_slots_by_the_hour(submits, hours, options, start_s, overtime_h):
    run = run_of(submits, hours, **options)
    assert run.jobs["start_s"].tolist() == start_s
    assert round(run.summary()["overtime_h"], 9) == overtime_h
    assert not run.jobs["slot"].any()


def test_hours_repeat_daily_across_midnight_from_any_hour_on():
    spans = Opening([(2, 0), (20, 1)]).spans_s(0, start_h=22)
    assert list(islice(spans, 2)) == [(-2 * H, 4 * H), (22 * H, 28 * H)]
    assert list(Opening([(2, 1)]).spans_s(0, 5.0)) == [(0, float("inf"))]
    opening = Opening([(0, 2), (10, 5), (14, 3)])
    assert opening.mean_slots(5) == pytest.approx((10 * 2 + 4 * 5 + 10 * 3) / 24)
    assert opening.open_s(5, 9.0, 2 * H) == pytest.approx((2 + 5) * H)
    text = describe_hours(opening.hours)
    assert text == "2 slots, 5 from 10 to 14 h, 3 from 14 to 24 h"


def test_scarce_stock_refuses_or_delays_an_order():
    scarce = cg.HourlyStock("G", ((0, 0, 1),) * 2 + ((1, 0, 0),) * 22)
    market = replace(
        FROM_MIDNIGHT, stock=(scarce,), delay_s=((10, 10), (10, 10), (300, 300))
    )
    late = run_of([0], [(1, 1), (3, 0)], market=market)
    assert late.jobs["start_s"] == H + 600
    terms = cg.Terms(retry_s=600)
    refused = run_of([0], [(1, 1), (3, 0)], market=market, terms=terms)
    assert refused.jobs["start_s"] == 2 * H + 20
    assert cg.simulate(
        replace(
            refused.scenario, opening=Opening([(0, 0), (1, 1), (1.5, 0), (2.5, 1)])
        ),
        "fifo",
    ).summary()["overtime_h"] == pytest.approx(-0.5)


def test_a_warm_instance_is_returned_when_its_slot_closes():
    terms = cg.Terms(warm_s=3 * H)
    run = run_of([H, 3 * H - 50], [(1, 1), (3, 0)], terms=terms)
    idle = [row for row in run.claims if row["phase"] == "idle-warm"]
    assert [(row["from_s"], row["to_s"]) for row in idle] == [(H + 120, 3 * H - 50)]
    run = run_of([H], [(1, 1), (3, 0)], terms=terms)
    [idle] = [row for row in run.claims if row["phase"] == "idle-warm"]
    assert idle["to_s"] == 3 * H


def test_utilisation_is_of_the_open_slots():
    run = run_of([H - 10], [(0, 1), (1, 0)])
    used = run.held_s[0] / (H + 100)
    assert run.summary()["utilisation_pct"] == pytest.approx(100 * used)


def test_hours_in_python_words_and_files(tmp_path, capsys):
    pairs = [(0, 2), (10, 5), (14, 3)]
    day = cg.day("normal", slots=pairs)
    assert len(day.slots) == 5 and day.opening.hours == tuple(pairs)
    assert subject_of(cg.day("normal")).varied(slots=pairs) == day
    assert subject_of(day).varied(slots=4).opening.hours == ()
    assert slot_hours(["RTX 3090"]) == (["RTX 3090"], ())
    path = tmp_path / "day.toml"
    day.to_toml(path)
    assert cg.Scenario.from_toml(path) == day
    words = ["normal", "slots=0:2+10:5+14:3", "--policy", "fifo"]
    assert main(["run", *words, "--format", "json"]) == 0
    assert '"overtime_h"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "word",
    [
        "slots=0:2+0:3",
        "slots=10:2+9:3",
        "slots=0:0+10:0",
        "slots=25:2",
        "slots=0:2+10:-1",
        "opening.boot_s=-1",
    ],
)
def test_wrong_hours_give_a_one_line_error(word, capsys):
    assert main(["run", "normal", word, "--policy", "fifo"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "must be" in error


test_impossible_hours_are_rejected = refusals(
    (
        lambda: run_of([0], [(1, 1), (3, 0)], boot_s=2 * H),
        r"boot_s.* less than the 7200 s",
    ),
    (
        lambda: replace(cg.day("normal"), opening=Opening([(0, 2), (10, 4)])),
        "whose largest number is the number of slots, 5",
    ),
    (
        lambda: cg.simulate(
            cg.day("normal", slots=[(0, 1)]), "fifo", engine="compiled"
        ),
        "open and close by the hour",
    ),
    (lambda: cg.day("hectic", slots=[(0, 2, 3)]), r"^unknown GPU type \(0, 2, 3\)"),
    (lambda: cg.day("hectic", slots=[3]), "^unknown GPU type 3 "),
)
