"""Exercises of lectures 16 to 18: right answers, and typical wrong answers."""

import re

import numpy as np
import pytest
from support import code_tests

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import check, question
from cgrsp_simpy.exercises.scheduling import EXERCISES

STUDENTS = [f"student {n}" for n in range(100)]


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
    assert len(answers) >= 25  # of a hundred students


# ---- exercises that ask for code ----


def job(env, machine, work, due):
    with machine.request(priority=due) as turn:
        yield turn
        yield env.timeout(work)
    return max(0, env.now - due)


def job_without_result(env, machine, work, due):
    yield from job(env, machine, work, due)


def job_lateness(env, machine, work, due):
    yield from job(env, machine, work, due)
    return env.now - due


def job_shortest(env, machine, work, due):
    with machine.request(priority=work) as turn:
        yield turn
        yield env.timeout(work)
    return max(0, env.now - due)


def job_first_come(env, machine, work, due):
    with machine.request() as turn:
        yield turn
        yield env.timeout(work)
    return max(0, env.now - due)


def job_reversed(env, machine, work, due):
    with machine.request(priority=-due) as turn:
        yield turn
        yield env.timeout(work)
    return max(0, env.now - due)


def job_by_the_clock(env, machine, work, due):
    yield from job(env, machine, work, due)
    return env.now


def job_keeps_machine(env, machine, work, due):
    yield machine.request(priority=due)
    yield env.timeout(work)
    return max(0, env.now - due)


def job_does_not_wait(env, machine, work, due):
    with machine.request(priority=due):
        yield env.timeout(work)
    return max(0, env.now - due)


def oven(env, store, size, patience, work, ends):
    while True:
        yield store.get()
        parts, over = 1, env.timeout(patience)
        while parts < size:
            part = store.get()
            if part not in (yield part | over):
                part.cancel()
                break
            parts += 1
        yield env.timeout(work)
        ends.extend([env.now] * parts)


def oven_patient_again(env, store, size, patience, work, ends):
    while True:
        yield store.get()
        parts = 1
        while parts < size:
            part = store.get()
            if part not in (yield part | env.timeout(patience)):
                part.cancel()
                break
            parts += 1
        yield env.timeout(work)
        ends.extend([env.now] * parts)


def oven_loses_parts(env, store, size, patience, work, ends):
    while True:
        yield store.get()
        parts, over = 1, env.timeout(patience)
        while parts < size and (part := store.get()) in (yield part | over):
            parts += 1
        yield env.timeout(work)
        ends.extend([env.now] * parts)


def oven_records_ahead(env, store, size, patience, work, ends):
    while True:
        yield store.get()
        parts, over = 1, env.timeout(patience)
        while parts < size:
            part = store.get()
            if part not in (yield part | over):
                part.cancel()
                break
            parts += 1
        ends.extend([env.now + work] * parts)
        yield env.timeout(work)


def oven_for_one(env, store, size, patience, work, ends):
    yield from oven(env, store, 1, patience, work, ends)


def oven_waits_for_all(env, store, size, patience, work, ends):
    while True:
        for _ in range(size):
            yield store.get()
        yield env.timeout(work)
        ends.extend([env.now] * size)


def oven_does_not_wait(env, store, size, patience, work, ends):
    yield from oven(env, store, size, 0, work, ends)


class Once(list):
    def __init__(self, ends):
        super().__init__()
        self.ends = ends

    def extend(self, times):
        self.ends.append(times[0])


def oven_once_per_batch(env, store, size, patience, work, ends):
    yield from oven(env, store, size, patience, work, Once(ends))


def oven_without_end(env, store, size, patience, work, ends):
    while True:
        store.get()
        yield env.timeout(0)


def ratio(view):
    key = lambda job: (job.due_s - view.now_s) / job.work_s  # noqa: E731
    return zip(sorted(view.queue, key=key), view.free)


def ratio_slack(view):
    key = lambda job: job.due_s - view.now_s - job.work_s  # noqa: E731
    return zip(sorted(view.queue, key=key), view.free)


def ratio_without_time(view):
    key = lambda job: job.due_s / job.work_s  # noqa: E731
    return zip(sorted(view.queue, key=key), view.free)


def ratio_largest(view):
    key = lambda job: -(job.due_s - view.now_s) / job.work_s  # noqa: E731
    return zip(sorted(view.queue, key=key), view.free)


def ratio_due(view):
    return zip(sorted(view.queue, key=lambda job: job.due_s), view.free)


def ratio_shortest(view):
    return zip(sorted(view.queue, key=lambda job: job.work_s), view.free)


def ratio_first_come(view):
    return zip(view.queue, view.free)


def ratio_idle(view):
    return []


def rented(env, slot, delay, work):
    submit = env.now
    with slot.request() as turn:
        yield turn
        yield env.timeout(delay)
        wait = env.now - submit
        yield env.timeout(work)
    return wait


def rented_without_result(env, slot, delay, work):
    yield from rented(env, slot, delay, work)


def rented_until_granted(env, slot, delay, work):
    return (yield from rented(env, slot, delay, work)) - delay


def rented_until_end(env, slot, delay, work):
    return (yield from rented(env, slot, delay, work)) + work


def rented_delay_first(env, slot, delay, work):
    submit = env.now
    yield env.timeout(delay)
    with slot.request() as turn:
        yield turn
        wait = env.now - submit
        yield env.timeout(work)
    return wait


def rented_released_early(env, slot, delay, work):
    submit = env.now
    with slot.request() as turn:
        yield turn
        yield env.timeout(delay)
    wait = env.now - submit
    yield env.timeout(work)
    return wait


def rented_keeps_slot(env, slot, delay, work):
    submit = env.now
    yield slot.request()
    yield env.timeout(delay)
    wait = env.now - submit
    yield env.timeout(work)
    return wait


def rented_at_once(env, slot, delay, work):
    return (yield from rented(env, slot, 0, work))


def rented_without_queue(env, slot, delay, work):
    yield env.timeout(delay + work)
    return delay


RIGHT = {"16.2": job, "16.3": oven, "16.4": ratio, "17.2": rented}
WRONG = [
    ("16.2", job_without_result, "returns nothing"),
    ("16.2", job_lateness, "that is the lateness"),
    ("16.2", job_shortest, "shortest first"),
    ("16.2", job_first_come, "first come, first served"),
    ("16.2", job_reversed, "smallest priority"),
    ("16.2", job_by_the_clock, "on the clock"),
    ("16.2", job_keeps_machine, "who releases"),
    ("16.2", job_does_not_wait, "nobody waits"),
    ("16.3", oven_patient_again, "not again with each one"),
    ("16.3", oven_loses_parts, "cancel the request"),
    ("16.3", oven_for_one, "one part at a time"),
    ("16.3", oven_waits_for_all, "full batch"),
    ("16.3", oven_does_not_wait, "does not wait for further"),
    ("16.3", oven_records_ahead, "comes out"),
    ("16.3", oven_once_per_batch, "not per batch"),
    ("16.3", oven_without_end, "the clock shows 0"),
    ("16.4", ratio_slack, "that is the slack"),
    ("16.4", ratio_without_time, "view.now_s"),
    ("16.4", ratio_largest, "not the largest"),
    ("16.4", ratio_due, "that is the due date"),
    ("16.4", ratio_shortest, "shortest first"),
    ("16.4", ratio_first_come, "first come, first served"),
    ("16.4", ratio_idle, "Error"),
    ("17.2", rented_without_result, "returns nothing"),
    ("17.2", rented_until_granted, "until the execution begins"),
    ("17.2", rented_until_end, "until the end"),
    ("17.2", rented_delay_first, "request it first"),
    ("17.2", rented_released_early, "released before"),
    ("17.2", rented_keeps_slot, "who releases"),
    ("17.2", rented_at_once, "what of the delay"),
    ("17.2", rented_without_queue, "nobody waits for the slot"),
]


test_right_code_is_accepted, test_wrong_code_is_refused_with_a_hint = code_tests(
    RIGHT, WRONG
)


# ---- a policy for rented GPUs ----


def rush_in_time(view):
    def rank(job):
        expected_s = view.known.gpus[0].mean_execution_s[job.complexity - 1]
        slack_s = job.deadline_s - view.now_s - expected_s
        return (0, job.deadline_s) if job.tight and slack_s < 1800 else (1, expected_s)

    return zip(sorted(view.queue, key=rank), view.idle)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "hint"),
    [
        (rush_in_time, ""),
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


def test_every_exercise_is_tested():
    assert {*ASKED, *RIGHT, "18.2"} == {*EXERCISES}
