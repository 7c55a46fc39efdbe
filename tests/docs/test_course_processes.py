"""Exercises of lectures 1 to 4 and 15: right answers, and typical wrong answers."""

import sys

import numpy as np
import pytest
from support import answer_of, check_refused, code_tests, fifo_waits, number_tests

from cgrsp_simpy.exercises import check, exercise
from cgrsp_simpy.exercises.processes import EXERCISES

# ---- exercises with numbers of the student's own: right answer, wrong answers ----


def beds(load, pct):
    """Return the least number of beds, by the recursion of formula B."""
    blocked, number = 1.0, 0
    while 100 * blocked > pct:
        number += 1
        blocked = load * blocked / (number + load * blocked)
    return number


NUMBERS_ASKED = {
    "1.1": [
        (lambda arrivals, services: np.mean(fifo_waits(arrivals, services)), "right"),
        (lambda arrivals, services: np.sum(fifo_waits(arrivals, services)), "the sum"),
        (
            lambda arrivals, services: np.mean(fifo_waits(arrivals, services)[1:]),
            "does not wait counts",
        ),
        (
            lambda arrivals, services: np.mean(fifo_waits(arrivals, services, 2)),
            "two tellers",
        ),
        (
            lambda arrivals, services: np.mean(
                fifo_waits(arrivals, services) + np.array(services)
            ),
            "time in the bank",
        ),
        (
            lambda arrivals, services: np.mean(
                fifo_waits(np.cumsum(arrivals), services)
            ),
            "not interarrival",
        ),
        (
            lambda arrivals, services: np.mean(fifo_waits(arrivals, services)) / 60,
            "not yet",
        ),
        (lambda arrivals, services: None, "a number (min)"),
    ],
    "2.1": [
        (lambda gap, service: service**2 / (gap - service), "right"),
        (lambda gap, service: service * gap / (gap - service), "time in the system"),
        (lambda gap, service: service / (gap - service), "in service times"),
        (lambda gap, service: service / gap, "the utilisation"),
        (lambda gap, service: service**2 / (gap - service) / 2, "of equal length"),
        (lambda gap, service: service**2 / (gap - service) / gap, "in the queue"),
        (lambda gap, service: service**2 / (gap - service) / 60, "in hours"),
        (lambda gap, service: 1.02 * service**2 / (gap - service), "not yet"),
        (lambda gap, service: "many", "a number (min)"),
    ],
    "3.1": [
        (
            lambda times, lengths, end: np.dot(lengths, np.diff([*times, end])) / end,
            "right",
        ),
        (lambda times, lengths, end: np.mean(lengths), "every length once"),
        (
            lambda times, lengths, end: np.dot(lengths, np.diff([*times, end])),
            "the area",
        ),
        (
            lambda times, lengths, end: (
                np.dot(lengths[:-1], np.diff(times)) / times[-1]
            ),
            "until the end",
        ),
        (
            lambda times, lengths, end: np.dot(lengths[:-1], np.diff(times)) / end,
            "until the end",
        ),
        (
            lambda times, lengths, end: np.dot(lengths[1:], np.diff(times)) / end,
            "not up to it",
        ),
        (lambda times, lengths, end: np.mean(lengths[1:]), "not yet"),
    ],
    "3.2": [
        (lambda patients, per_day: 24 * patients / per_day, "right"),
        (lambda patients, per_day: patients / per_day, "in days"),
        (lambda patients, per_day: per_day / patients, "not yet"),
        (lambda patients, per_day: 24 * per_day / patients, "the other way round"),
        (lambda patients, per_day: patients * per_day, "what is asked for"),
        (lambda patients, per_day: 24 * patients * per_day, "divide by the rate"),
        (lambda patients, per_day: 24 / per_day, "interarrival"),
        (lambda patients, per_day: 24 * (patients - 1) / per_day, "not yet"),
    ],
    "4.1": [
        (lambda per_day, days, pct: beds(per_day * days, pct), "right"),
        (lambda per_day, days, pct: per_day * days, "the load:"),
        (lambda per_day, days, pct: beds(per_day * days, pct) - 1, "off by one"),
        (lambda per_day, days, pct: beds(per_day * days, pct) + 1, "off by one"),
        (lambda per_day, days, pct: beds(per_day / days, pct), "the rate times"),
        (lambda per_day, days, pct: beds(per_day * days, pct / 100), "percentage"),
    ],
    "15.1": [
        (
            lambda work, mean, minutes: (
                mean * (1 - np.exp(-work / mean)) * np.exp((work + minutes / 60) / mean)
            ),
            "right",
        ),
        (
            lambda work, mean, minutes: mean * (np.exp(work / mean) - 1),
            "without the time of restarts",
        ),
        (
            lambda work, mean, minutes: (
                mean * (np.exp((work + minutes / 60) / mean) - 1)
            ),
            "needs no restart",
        ),
        (
            lambda work, mean, minutes: (
                mean * (1 - np.exp(-work / mean)) * np.exp((work + minutes) / mean)
            ),
            "minutes, not hours",
        ),
        (
            lambda work, mean, minutes: work * (1 + (work / 2 + minutes / 60) / mean),
            "can fail as well",
        ),
        (
            lambda work, mean, minutes: (
                60
                * mean
                * (1 - np.exp(-work / mean))
                * np.exp((work + minutes / 60) / mean)
            ),
            "in minutes",
        ),
        (lambda work, mean, minutes: work, "not yet"),
        (lambda work, mean, minutes: np.nan, "a number (hours)"),
    ],
}


test_numbers_of_a_hundred_students = number_tests(EXERCISES, NUMBERS_ASKED, 10)


# ---- exercises that ask for code: right answers, and wrong ones with their hints ----


def station_at_once(env, before, after, work):
    def one(part):
        yield env.timeout(work)
        yield after.put(part)

    while True:
        part = yield before.get()
        env.process(one(part))


def caller_waits_for_the_agent(env, desk, talk, patience):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        if env.now - arrival > patience:
            return 0
        yield env.timeout(talk)
    return 1


def in_order(events):
    return [number for *_, number in sorted(events, key=lambda event: event[:2])]


RIGHT = {
    "15.2": answer_of("15_interrupts", "job"),
    "15.3": answer_of("15_interrupts", "caller"),
    "15.4": answer_of("15_interrupts", "job", 1),
    "4.2": answer_of("04_concept_and_verification", "patient"),
    "1.2": in_order,
    "1.3": answer_of("01_event_list", "source"),
    "2.2": answer_of("02_processes", "customer"),
    "2.3": answer_of("02_processes", "station"),
    "3.3": answer_of("03_measuring", "customer"),
}
ASKS = "with desk.request() as turn:"
STAYS = "env.now - arrival"
# number, hint, and an answer, or what is changed in the right one
WRONG = [
    ("15.2", "returns nothing", "return env.now", "return"),
    ("15.2", "begins again after each failure", "min(every, work)", "work"),
    (
        "15.2",
        "nothing is lost",
        *("piece = min(every, work)", "piece, begin = work, env.now"),
        *("pass", "work -= env.now - begin"),
    ),
    ("15.2", "only one piece", "    while", "    work = every\n    while"),
    ("15.2", "the last piece", "min(every, work)", "every"),
    ("15.2", "catch `simpy.Interrupt`", "simpy.Interrupt", "ZeroDivisionError"),
    ("15.3", "1 if served", "return 1", "return False", "return 0", "return 1"),
    ("15.3", "returns nothing", "return 1", "return", "return 0", "return"),
    ("15.3", "nobody reneges", "timeout(patience)", "timeout(1e6)"),
    (
        "15.3",
        "withdraw the request",
        *(ASKS, "for turn in [desk.request()]:"),
        *("return 1", "desk.release(turn)\n            return 1"),
    ),
    (
        "15.3",
        "who releases",
        *(ASKS, "for turn in [desk.request()]:"),
        *("return 0", "turn.cancel()\n    return 0"),
    ),
    ("15.3", "as soon as the patience ends", caller_waits_for_the_agent),
    ("15.3", "comes out", "timeout(patience)", "timeout(patience / 2)"),
    ("15.4", "subtract the work done", "left -= env.now - begin", "pass"),
    ("15.4", "nobody is interrupted", "=priority)", "=priority, preempt=False)"),
    ("15.4", "smallest priority", "=priority", "=-priority"),
    ("15.4", "on the clock", STAYS, "env.now"),
    ("15.4", "without service", STAYS, f"{STAYS} - work"),
    ("15.4", "returns nothing", f"return {STAYS}", "return"),
    ("15.4", "comes out", "left -= env.now - begin", "left = 0"),
    ("4.2", "give the request a priority", "1 - urgent", "0"),
    ("4.2", "the others go first", "1 - urgent", "urgent"),
    ("4.2", "until the patient leaves", "return wait", "return wait + stay"),
    (
        "4.2",
        "who releases",
        *("with bed.request(priority=1 - urgent) as turn:", "if True:"),
        *("yield turn", "yield bed.request(priority=1 - urgent)"),
    ),
    ("4.2", "on the clock", "return wait", "return arrival + wait"),
    ("4.2", "no process ends", "yield turn", "yield turn & bed.request(1 - urgent)"),
    ("4.2", "returns nothing", "return wait", "return"),
    ("4.2", "nobody waits", "timeout(stay)", "timeout(0)"),
    ("1.2", "comes out", sorted),
    ("1.2", "returns nothing", list.sort),
    ("1.2", "not of their numbers", "event[:2]", "event"),
    ("1.2", "by priority first", "event[:2]", "event[0]"),
    ("1.2", "time counts before", "event[:2]", "event[1]"),
    ("1.2", "scheduled first goes first", "sorted(events", "sorted(events[::-1]"),
    ("1.2", "smaller priority", "event[:2]", "(event[0], -event[1])"),
    ("1.3", "append `env.now`", "env.now", "gap"),
    (
        "1.3",
        "after the first gap",
        *("yield env.timeout(gap)", "times.append(env.now)"),
        *(
            "(env.now)\n        times.append(env.now)",
            "(env.now)\n        yield env.timeout(gap)",
        ),
    ),
    (
        "1.3",
        "after the first gap",
        *("        yield env.timeout(gap)\n", ""),
        *("env.now)", "env.now + gap)\n        yield env.timeout(gap)"),
    ),
    ("1.3", "nobody arrives at time 0", "    for", "    times.append(0)\n    for"),
    (
        "1.3",
        "no time passes",
        *("yield", "not"),
        *("(env.now)", "(env.now)\n    yield env.timeout(0)"),
    ),
    (
        "1.3",
        "no time passes",
        *("gap in gaps", 'now in __import__("itertools").accumulate(gaps)'),
        *("timeout(gap)", "timeout(0)"),
        *("(env.now)", "(now)"),
    ),
    ("1.3", "a process yields events", "yield env.timeout(gap)", "yield 5"),
    ("1.3", "not only the last", "        times", "    times"),
    ("1.3", "nothing is appended", "times.append(env.now)", "pass"),
    (
        "3.3",
        "that is the wait",
        *("        yield env.timeout(service)\n", ""),
        *(
            f"    stay.tally({STAYS})",
            f"        stay.tally({STAYS})\n        yield env.timeout(service)",
        ),
    ),
    ("3.3", "on the clock", STAYS, "env.now"),
    ("3.3", "that is the service time", "turn\n", "turn\n        arrival = env.now\n"),
    ("3.3", "who releases", ASKS, "if turn := desk.request():"),
    ("3.3", "served at once", "        yield env", "    yield env"),
    ("3.3", "no time passes", "timeout(service)", "timeout(0)"),
    ("3.3", "takes 3 positional arguments", RIGHT["2.2"]),
    ("2.2", "returns nothing", "return wait", "return"),
    ("2.2", "until the customer leaves", "return wait", "return wait + service"),
    ("2.2", "who releases", ASKS, "if turn := desk.request():"),
    ("2.2", "nobody waits", "        yield env", "    yield env"),
    ("2.2", "nobody waits", "yield turn", "pass"),
    ("2.2", "on the clock", "return wait", "return wait + arrival"),
    ("2.2", "before the request", "turn\n", "turn\n        arrival = env.now\n"),
    ("2.2", "one request is enough", "yield turn", "yield desk.request()"),
    ("2.2", "never ends", "    with", "    while True:\n     with"),
    ("2.2", "without `yield` is not a process", lambda env, desk, service: None),
    ("2.3", "only the first part", "while", "if"),
    ("2.3", "at the same time", station_at_once),
    ("2.3", "no time passes", "yield env.timeout", "env.timeout"),
    (
        "2.3",
        "leaves without work",
        *("        yield env.timeout(work)\n", ""),
        *("True:\n", "True:\n        yield env.timeout(work)\n"),
    ),
    ("2.3", "no part leaves", "yield after.put(part)", "pass"),
    (
        "2.3",
        "the time is 0",
        *("yield before", "before"),
        *("(work)", "(0)"),
        *("yield after.put(part)", "pass"),
    ),
    ("2.3", "the time is 0", "yield ", ""),
    (
        "2.3",
        "returns the part",
        "yield before.get()",
        "before.get()\n        yield part",
    ),
    (
        "2.3",
        "leaves without work",
        *("        yield env.timeout(work)\n", ""),
        *("(part)", "(part)\n        yield env.timeout(work)"),
    ),
]


test_right_code_is_accepted, test_wrong_code_is_refused_with_a_hint = code_tests(
    RIGHT, WRONG
)


def customer_polls(env, desk, service):
    with desk.request() as turn:
        while not turn.triggered:
            pass
        yield env.timeout(service)


def in_no_order(events):
    while events:
        pass


@pytest.mark.skipif(sys.gettrace() is not None, reason="a debugger runs")
@pytest.mark.parametrize(
    ("number", "answer"), [("2.2", customer_polls), ("1.2", in_no_order)]
)
def test_a_loop_without_an_end_is_ended(number, answer, monkeypatch):
    monkeypatch.setattr(exercise, "LINES", 20_000)
    assert "endless loop" in check(number, answer).message
    assert sys.gettrace() is None


def test_texts_are_not_numbers_and_a_student_has_a_name():
    def texts(env, desk, service):
        wait = yield from RIGHT["2.2"](env, desk, service)
        return str(wait)

    assert "comes out in place of numbers" in check("2.2", texts).message
    text = check("1.2", lambda events: list(map(str, RIGHT["1.2"](events))))
    assert "comes out in place of numbers" in text.message
    check_refused(lambda: check("1.1", 3.0, b"Ana"), "student(=b'Ana') must be a name")


def test_a_forgotten_name_is_mentioned():
    assert "no name" in check(1.1, 0).message
    assert "no name" not in check(1.1, 0, "ada").message
    assert "no name" not in check(1.2, 0).message


def test_every_exercise_is_tested():
    assert {*NUMBERS_ASKED, *RIGHT} == {*EXERCISES}
