"""Exercises of lectures 16 to 18: right answers, and typical wrong answers."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from support import answer_of, code_tests

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.exercises import check, question, scheduling
from cgrsp_simpy.exercises.scheduling import EXERCISES

STUDENTS = [f"student {n}" for n in range(40)]


# ---- exercises with numbers of the student's own: right answer, wrong answers ----


def lists(text):
    return [[*map(int, part.split(","))] for part in re.findall(r"\[(.*?)\]", text)]


def numbers(text):
    return [*map(float, re.findall(r"\d+\.?\d*", text))]


def lateness(works, dues, order):
    ends, now = {}, 0
    for job in sorted(range(4), key=order):
        ends[job] = now = now + works[job]
    return np.array([ends[job] - dues[job] for job in range(4)])


def answers_16_1(text):
    works, dues = lists(text)
    late = lateness(works, dues, works.__getitem__)
    by_due = lateness(works, dues, dues.__getitem__)
    listed = lateness(works, dues, lambda job: job)
    total = late.clip(0).sum()
    return total, {
        by_due.clip(0).sum(): "order of due dates",
        listed.clip(0).sum(): "order of the list",
        late.sum(): "does not make up",
        (late - works).clip(0).sum(): "not by its start",
        total / 4: "that is the mean",
        total + 1: "not yet",
    }


def answers_17_1(text):
    medium, _, low, _, work, slots = numbers(text)
    delay = 0.7 * medium + 0.3 * low
    pace = 3600 * slots / (delay + work)
    return pace, {
        3600 * slots / work: "execution alone",
        3600 * slots / delay: "provisioning alone",
        pace / slots: "one slot",
        pace / 3600: "per second",
        pace / 60: "per minute",
        3600 * slots * (0.7 / (medium + work) + 0.3 / (low + work)): "mean of paces",
        1.02 * pace: "not yet",
    }


def answers_18_1(text):
    printed, theirs, days, mean, sd = numbers(text)
    gap = printed - mean
    z = gap / np.hypot(sd / np.sqrt(theirs), sd / np.sqrt(days))
    return z, {
        -z: "the sign",
        gap / sd * np.sqrt(days): "printed mean is random",
        gap / sd * np.sqrt(theirs): "your mean is random",
        gap / sd: "deviations of a day",
        gap / sd * np.sqrt(theirs + days): "pools the days",
        1.02 * z: "not yet",
    }


ASKED = {"16.1": answers_16_1, "17.1": answers_17_1, "18.1": answers_18_1}


@pytest.mark.parametrize("number", ASKED)
def test_own_numbers_right_and_wrong_answers(number):
    answers = set()
    for student in STUDENTS:
        right, wrong = ASKED[number](question(number, student))
        answers.add(right)
        assert check(number, float(right), student)
        for answer, hint in wrong.items():
            verdict = check(number, float(answer), student)
            assert not verdict, (student, hint)
            assert hint in verdict.message, student
    assert len(answers) >= 15  # of forty students


# ---- exercises that ask for code ----


RIGHT = {
    "16.2": answer_of("16_scheduling", "job"),
    "16.3": answer_of("16_scheduling", "oven"),
    "16.4": answer_of("16_scheduling", "policy"),
    "17.2": answer_of("17_thesis_days", "job"),
}
TARDINESS = "max(0, env.now - due)"
DELAY = "        yield env.timeout(delay)\n"
AFTER = "        wait = env.now - submit\n        yield env.timeout(work)"
RATIO = "(job.due_s - view.now_s) / job.work_s"
# number, hint, and what is changed in the right answer
WRONG = [
    ("16.2", "returns nothing", f"return {TARDINESS}", "return"),
    ("16.2", "that is the lateness", TARDINESS, "env.now - due"),
    ("16.2", "shortest first", "priority=due", "priority=work"),
    ("16.2", "first come, first served", "priority=due", "priority=0"),
    ("16.2", "smallest priority", "priority=due", "priority=-due"),
    ("16.2", "on the clock", TARDINESS, "env.now"),
    (
        "16.2",
        "who releases",
        *("with machine.request(priority=due) as turn:", "if True:"),
        *("yield turn", "yield machine.request(priority=due)"),
    ),
    ("16.2", "nobody waits", "yield turn", "pass"),
    ("16.3", "not again with each one", "| over", "| env.timeout(patience)"),
    ("16.3", "cancel the request", "part.cancel()", "pass"),
    ("16.3", "one part at a time", "parts < size", "parts < 1"),
    ("16.3", "full batch", "timeout(patience)", "timeout(1e6)"),
    ("16.3", "does not wait for further", "timeout(patience)", "timeout(0)"),
    (
        "16.3",
        "comes out",
        *("        yield env.timeout(work)\n", ""),
        *(
            "[env.now] * parts)",
            "[env.now + work] * parts)\n        yield env.timeout(work)",
        ),
    ),
    ("16.3", "not per batch", "[env.now] * parts", "[env.now]"),
    (
        "16.3",
        "the time is 0",
        "yield store.get()",
        "yield env.timeout(0)\n        continue",
    ),
    ("16.4", "that is the slack", RATIO, "job.due_s - view.now_s - job.work_s"),
    ("16.4", "view.now_s", RATIO, "job.due_s / job.work_s"),
    ("16.4", "not the largest", RATIO, f"-{RATIO}"),
    ("16.4", "that is the due date", RATIO, "job.due_s"),
    ("16.4", "shortest first", RATIO, "job.work_s"),
    ("16.4", "first come, first served", RATIO, "0"),
    ("16.4", "Error", "zip(sorted(view.queue, key=ratio), view.free)", "[]"),
    ("17.2", "returns nothing", "return wait", "return"),
    ("17.2", "until the execution begins", "return wait", "return wait - delay"),
    ("17.2", "until the end", "return wait", "return wait + work"),
    ("17.2", "on the clock", "env.now - submit", "env.now"),
    (
        "17.2",
        "request it first",
        *(DELAY, ""),
        *("    with", "    yield env.timeout(delay)\n    with"),
    ),
    ("17.2", "released before", AFTER, AFTER.replace("        ", "    ")),
    (
        "17.2",
        "who releases",
        "with slot.request() as turn:",
        "if turn := slot.request():",
    ),
    ("17.2", "what of the delay", "timeout(delay)", "timeout(0)"),
    ("17.2", "nobody waits for the slot", "yield turn", "pass"),
]


test_right_code_is_accepted, test_wrong_code_is_refused_with_a_hint = code_tests(
    RIGHT, WRONG
)


# ---- a policy for rented GPUs ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        (answer_of("18_thesis_policies", "policy"), ""),
        ("fifo", "must not be overtaken"),
        ("spt", "must not be overtaken"),
        ("edf", "in no hurry"),
        (lambda view: 1 / 0, "the policy fails"),
    ],
)
def test_policy_of_18_2(policy, hint):
    answer = cg.make_policy(policy) if isinstance(policy, str) else policy
    verdict = check("18.2", answer)
    assert bool(verdict) == (not hint)
    assert hint in verdict.message


@pytest.mark.parametrize(
    ("late_pct", "wait_min", "hint"),
    [
        (1.0, 90.0, ""),
        (1.01, 0.0, "1.0 % of the rush orders are late"),
        (0.0, 90.1, "the mean wait is 90 min, FIFO's 100"),
    ],
)
def test_a_policy_is_judged_by_rush_orders_and_the_wait_of_fifo(
    late_pct, wait_min, hint, monkeypatch
):
    def compare(scenario, policies, seeds):
        assert (scenario.name, *policies.values()) == ("hectic", "fifo", len)
        assert seeds == range(3)
        figures = {"fifo": (50.0, 100.0), "yours": (late_pct, wait_min)}
        rows = {
            name: {"tight_miss_pct": mean([late] * 3), "wait_min": mean([wait] * 3)}
            for name, (late, wait) in figures.items()
        }
        return SimpleNamespace(failures=[], means=lambda: rows)

    monkeypatch.setattr(scheduling, "compare", compare)
    message = scheduling.EXERCISES["18.2"].judge(len)
    assert message.startswith(hint) and bool(message) == bool(hint)


def test_every_exercise_is_tested():
    assert {*ASKED, *RIGHT, "18.2"} == {*EXERCISES}
