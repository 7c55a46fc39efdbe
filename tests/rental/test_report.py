"""Explanations of a run: its stock, and the reasons given by the rules."""

from math import inf

import pytest
from support import whole_queue

import cgrsp_simpy as cg
from cgrsp_simpy.rental.policies.rules import by_deadline, first_idle, tiers
from cgrsp_simpy.rental.policies.watch import urgent_first
from cgrsp_simpy.studies.subject import subject_of


@pytest.mark.parametrize(
    "policy", ["fifo", "edf", "cadr:critical_ratio=5", "rh", "atc", "spt"]
)
def test_the_first_by_the_rules_are_dispatched_by_the_run(policy):
    """At each decision, unless slots are withheld; where there was a choice, to the
    type given.
    """
    run = cg.simulate(cg.day("hectic", jobs=120, tight_fraction=0.5), policy, 1)
    sent, checked = run.jobs, 0
    reasons = run.report.reasons(run)
    assert len(reasons.choices) == run.decisions
    for choice in reasons.choices:
        now = sent[sent["dispatch_s"] == choice.time_s]
        if not choice.kept and len(now) <= len(choice.ranked):
            first = [job for job, _ in choice.ranked][: len(now)]
            assert sorted(now["job"].tolist()) == sorted(first)
            checked += 1
        for job, (taken, *_) in choice.offers.items():
            (row,) = sent[sent["job"] == job]
            assert taken.startswith(run.scenario.gpus[row["gpu"]].name)
            assert taken.endswith(("High)", "Medium)", "Low)")) == (
                "status" in getattr(cg.make_policy(policy).place, "arguments", ())
            )
    assert checked > 60


@tiers
def unnamed():
    """The first, the second."""
    return (50.0, 0, 0.0), (150.0, 1, 1.0), (inf, 2, 60.0)


def test_a_rule_names_its_ranks_in_its_docstring_in_their_order():
    jobs = [
        cg.Job(id, 0.0, due_s, 1, due_s == 200)
        for id, due_s in enumerate((1e5, 100.0, 30.0, 200.0))
    ]
    ranks = {
        "cadr": [
            "at-risk jobs by deadline",
            *["safe ones by time, 60 s"] * 2,
            "doomed ones",
        ],
        "spt-rescue": [
            *["jobs of little laxity by deadline"] * 3,
            "the others by time, 60 s",
        ],
        "adaptive": [
            *["critical jobs by deadline"] * 2,
            "others by time, 60 s",
            "hopeless ones",
        ],
        "rh:gate=9": [
            "tight jobs by deadline while there is a reserve",
            "urgent ones by deadline",
            "normal ones by time, 60 s",
            "hopeless ones",
        ],
        "edf": [""] * 4,  # a single one has no name
        unnamed: ["the first", "the second, 1 s", *["rank 2, 60 s"] * 2],
        urgent_first: [
            *["jobs of little laxity by deadline"] * 2,
            "the shortest, 60 s",
            "doomed ones, 60 s",
        ],
    }
    for rule, names in ranks.items():
        view = cg.day("hectic").moment(jobs, busy={0: 50.0})
        order = cg.make_policy(rule).order if isinstance(rule, str) else rule
        result = order.ranked(view, 5)
        assert [message for _, message in result] == names
        assert [job for job, _ in result] == whole_queue(order, view)


def test_only_declared_rules_give_reasons():
    day = cg.day("quiet", jobs=20)
    youngest = cg.ListPolicy(lambda view: view.queue[::-1], first_idle, "youngest")
    mine = cg.ListPolicy(by_deadline, first_idle, "mine", lambda view: 1)
    for policy in ("random", youngest, mine):
        assert subject_of(day).report.reasons(cg.simulate(day, policy)) is None
    withheld = subject_of(day).report.reasons(cg.simulate(day, "rh:reserve=2,gate=9"))
    assert {choice.kept for choice in withheld.choices} == {2}
    assert withheld.place.startswith("Least w_qos")


@pytest.mark.parametrize("policy", ["triage", "watch"])
def test_a_policy_that_holds_slots_gives_the_reasons_for_its_dispatches(policy):
    run = cg.simulate(cg.day("quiet", jobs=20, persistence_s=600), policy)
    reasons, jobs = run.report.reasons(run), run.jobs
    pairs = [(job, each.time_s) for each in reasons.choices for job, _ in each.ranked]
    assert sorted(pairs) == sorted(zip(jobs["job"], jobs["dispatch_s"]))
    assert {choice.kept for choice in reasons.choices} == {0}
    begins = {"triage": "its wait costs", "watch": "ends first on RTX A4000, in 88 s"}
    assert reasons.choices[0].ranked[0][1].startswith(begins[policy])


def test_bands_are_the_stock_at_dispatches_and_the_hours_of_the_clock():
    day = cg.day("normal", jobs=100, persistence_s=3600)
    run = cg.simulate(day, "edf", 2)
    bands = subject_of(day).report.bands(run)
    # 12 to 18 h of a day from 8 h on
    assert bands.scarce == [(4 * 3600.0, 10 * 3600.0)]
    for row in run.jobs:
        name = day.gpus[row["gpu"]].name
        messages = [
            (level, message)
            for at_s, level, message in bands.levels[name]
            if at_s <= row["dispatch_s"]
        ]
        assert messages[-1] == (
            row["status"] / 2,
            ("High", "Medium", "Low")[row["status"]],
        )
    hours = cg.Market(cg.Clock(((0, 1.0), (12, 0.5), (18, 0.7)), start_h=13.5))
    drawn = subject_of(cg.day("normal", jobs=100)).varied(market=hours)
    later = subject_of(drawn).report.bands(cg.simulate(drawn, "edf", 2))
    for gpu in drawn.gpus:
        for at_s, level, _ in later.levels[gpu.name]:
            assert level == drawn.market.probabilities(gpu, at_s)[2]
    assert max(item[1] for item in later.levels["RTX 3090"]) > 0.3 and later.scarce == [
        (0.0, 4.5 * 3600.0)
    ]
