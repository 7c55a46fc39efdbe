"""Exercises of lectures 1 to 4 and 15: right answers, and typical wrong answers."""

import contextlib
import sys

import numpy as np
import pytest
import simpy
from support import code_tests

from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.exercises import check, exercise
from cgrsp_simpy.exercises.processes import EXERCISES

STUDENTS = [f"student {n}" for n in range(100)]


# ---- exercises with numbers of the student's own: right answer, wrong answers ----


def four_waits(arrivals, services, servers=1):
    free, waits = [0] * servers, []
    for arrival, service in zip(arrivals, services):
        begin = max(arrival, min(free))
        free[free.index(min(free))] = begin + service
        waits.append(begin - arrival)
    return waits


def beds(load, pct):
    """Return the least number of beds, by the recursion of formula B."""
    blocked, number = 1.0, 0
    while 100 * blocked > pct:
        number += 1
        blocked = load * blocked / (number + load * blocked)
    return number


NUMBERS_ASKED = {
    "1.1": (
        lambda arrivals, services: np.mean(four_waits(arrivals, services)),
        lambda arrivals, services: np.sum(four_waits(arrivals, services)),
        lambda arrivals, services: np.mean(four_waits(arrivals, services)[1:]),
        lambda arrivals, services: np.mean(four_waits(arrivals, services, 2)),
        lambda arrivals, services: np.mean(
            four_waits(arrivals, services) + np.array(services)
        ),
        lambda arrivals, services: np.mean(four_waits(np.cumsum(arrivals), services)),
        lambda arrivals, services: np.mean(four_waits(arrivals, services)) / 60,
        lambda arrivals, services: None,
    ),
    "2.1": (
        lambda gap, service: service**2 / (gap - service),
        lambda gap, service: service * gap / (gap - service),
        lambda gap, service: service / (gap - service),
        lambda gap, service: service / gap,
        lambda gap, service: service**2 / (gap - service) / 2,
        lambda gap, service: service**2 / (gap - service) / 60,
        lambda gap, service: 1.02 * service**2 / (gap - service),
        lambda gap, service: "many",
    ),
    "3.1": (
        lambda times, lengths, end: np.dot(lengths, np.diff([*times, end])) / end,
        lambda times, lengths, end: np.mean(lengths),
        lambda times, lengths, end: np.dot(lengths, np.diff([*times, end])),
        lambda times, lengths, end: np.dot(lengths[:-1], np.diff(times)) / times[-1],
        lambda times, lengths, end: np.dot(lengths[:-1], np.diff(times)) / end,
        lambda times, lengths, end: np.dot(lengths[1:], np.diff(times)) / end,
        lambda times, lengths, end: np.mean(lengths[1:]),
    ),
    "3.2": (
        lambda patients, per_day: 24 * patients / per_day,
        lambda patients, per_day: patients / per_day,
        lambda patients, per_day: per_day / patients,
        lambda patients, per_day: 24 * per_day / patients,
        lambda patients, per_day: patients * per_day,
        lambda patients, per_day: 24 * patients * per_day,
        lambda patients, per_day: 24 / per_day,
        lambda patients, per_day: 24 * (patients - 1) / per_day,
    ),
    "4.1": (
        lambda per_day, days, pct: beds(per_day * days, pct),
        lambda per_day, days, pct: per_day * days,
        lambda per_day, days, pct: beds(per_day * days, pct) - 1,
        lambda per_day, days, pct: beds(per_day * days, pct) + 1,
        lambda per_day, days, pct: beds(per_day / days, pct),
        lambda per_day, days, pct: beds(per_day * days, pct / 100),
    ),
    "15.1": (
        lambda work, mean, minutes: (
            mean * (1 - np.exp(-work / mean)) * np.exp((work + minutes / 60) / mean)
        ),
        lambda work, mean, minutes: mean * (np.exp(work / mean) - 1),
        lambda work, mean, minutes: mean * (np.exp((work + minutes / 60) / mean) - 1),
        lambda work, mean, minutes: mean * (np.exp((work + minutes) / mean) - 1),
        lambda work, mean, minutes: 60 * mean * (np.exp(work / mean) - 1),
        lambda work, mean, minutes: work,
        lambda work, mean, minutes: work * (1 + (work / 2 + minutes / 60) / mean),
        lambda work, mean, minutes: np.nan,
    ),
}


@pytest.mark.parametrize("number", NUMBERS_ASKED)
def test_numbers_of_a_hundred_students(number):
    right, *wrong = NUMBERS_ASKED[number]
    for student in STUDENTS:
        numbers = EXERCISES[number].numbers(stream(0, f"exercise of {student}"))
        assert check(number, right(**numbers), student), (number, numbers)
        for mistake in wrong:
            assert not check(number, mistake(**numbers), student), (number, numbers)


# ---- exercises that ask for code: right answers, and wrong ones with their hints ----


def customer(env, desk, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        wait = env.now - arrival
        yield env.timeout(service)
    return wait


def customer_without_result(env, desk, service):
    yield from customer(env, desk, service)


def customer_in_system(env, desk, service):
    wait = yield from customer(env, desk, service)
    return wait + service


def customer_never_releases(env, desk, service):
    arrival = env.now
    yield desk.request()
    wait = env.now - arrival
    yield env.timeout(service)
    return wait


def customer_releases_early(env, desk, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        wait = env.now - arrival
    yield env.timeout(service)
    return wait


def customer_does_not_wait(env, desk, service):
    with desk.request():
        arrival = env.now
        yield env.timeout(service)
    return env.now - arrival - service


def customer_by_the_clock(env, desk, service):
    with desk.request() as turn:
        yield turn
        begin = env.now
        yield env.timeout(service)
    return begin


def customer_arrives_late(env, desk, service):
    with desk.request() as turn:
        yield turn
        arrival = env.now
        yield env.timeout(service)
    return env.now - arrival - service


def customer_requests_twice(env, desk, service):
    arrival = env.now
    with desk.request():
        yield desk.request()
        wait = env.now - arrival
        yield env.timeout(service)
    return wait


def customer_comes_again(env, desk, service):
    while True:
        yield from customer(env, desk, service)


def station(env, before, after, work):
    while True:
        part = yield before.get()
        yield env.timeout(work)
        yield after.put(part)


def station_for_one(env, before, after, work):
    part = yield before.get()
    yield env.timeout(work)
    yield after.put(part)


def station_at_once(env, before, after, work):
    def one(part):
        yield env.timeout(work)
        yield after.put(part)

    while True:
        part = yield before.get()
        env.process(one(part))


def station_without_time(env, before, after, work):
    while True:
        part = yield before.get()
        env.timeout(work)
        yield after.put(part)


def station_works_first(env, before, after, work):
    while True:
        yield env.timeout(work)
        part = yield before.get()
        yield after.put(part)


def station_keeps(env, before, after, work):
    while True:
        yield before.get()
        yield env.timeout(work)


def station_in_circles(env, before, after, work):
    while True:
        before.get()
        yield env.timeout(0)


def station_without_yield(env, before, after, work):
    while True:
        part = before.get()
        env.timeout(work)
        after.put(part)


def station_passes_on_the_event(env, before, after, work):
    while True:
        part = before.get()
        yield part
        yield env.timeout(work)
        yield after.put(part)


def station_works_last(env, before, after, work):
    while True:
        part = yield before.get()
        yield after.put(part)
        yield env.timeout(work)


def stays(env, desk, stay, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        yield env.timeout(service)
    stay.tally(env.now - arrival)


def stays_wait(env, desk, stay, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        stay.tally(env.now - arrival)
        yield env.timeout(service)


def stays_by_the_clock(env, desk, stay, service):
    with desk.request() as turn:
        yield turn
        yield env.timeout(service)
    stay.tally(env.now)


def stays_without_wait(env, desk, stay, service):
    with desk.request() as turn:
        yield turn
        arrival = env.now
        yield env.timeout(service)
    stay.tally(env.now - arrival)


def stays_without_time(env, desk, stay, service):
    yield from stays(env, desk, stay, 0)


def stays_release_early(env, desk, stay, service):
    arrival = env.now
    with desk.request() as turn:
        yield turn
    yield env.timeout(service)
    stay.tally(env.now - arrival)


def stays_for_ever(env, desk, stay, service):
    arrival = env.now
    yield desk.request()
    yield env.timeout(service)
    stay.tally(env.now - arrival)


def in_order(events):
    return [number for *_, number in sorted(events, key=lambda event: event[:2])]


def in_order_whole(events):
    return [number for *_, number in sorted(events)]


def in_order_of_time(events):
    return [number for *_, number in sorted(events, key=lambda event: event[0])]


def in_order_of_priority(events):
    return [number for *_, number in sorted(events, key=lambda event: event[1])]


def in_order_last_first(events):
    return in_order(events[::-1])


def in_order_greatest_first(events):
    key = lambda event: (event[0], -event[1])  # noqa: E731
    return [number for *_, number in sorted(events, key=key)]


def source(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)
        times.append(env.now)


def source_of_gaps(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)
        times.append(gap)


def source_from_0(env, gaps, times):
    for gap in gaps:
        times.append(env.now)
        yield env.timeout(gap)


def source_with_one_more(env, gaps, times):
    times.append(env.now)
    yield from source(env, gaps, times)


def source_without_time(env, gaps, times):
    for gap in gaps:
        env.timeout(gap)
        times.append(env.now)
    yield env.timeout(0)


def source_of_sums(env, gaps, times):
    times.extend(np.cumsum(gaps))
    yield env.timeout(0)


def source_ahead(env, gaps, times):
    for gap in gaps:
        times.append(env.now + gap)
        yield env.timeout(gap)


def source_last(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)
    times.append(env.now)


def source_silent(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)


def patient(env, bed, urgent, stay):
    arrival = env.now
    with bed.request(priority=1 - urgent) as turn:
        yield turn
        wait = env.now - arrival
        yield env.timeout(stay)
    return wait


def patient_in_order(env, bed, urgent, stay):
    return (yield from patient(env, bed, 1, stay))


def patient_reversed(env, bed, urgent, stay):
    return (yield from patient(env, bed, 1 - urgent, stay))


def patient_until_end(env, bed, urgent, stay):
    return stay + (yield from patient(env, bed, urgent, stay))


def patient_keeps_bed(env, bed, urgent, stay):
    arrival = env.now
    yield bed.request(priority=1 - urgent)
    wait = env.now - arrival
    yield env.timeout(stay)
    return wait


def patient_by_the_clock(env, bed, urgent, stay):
    arrival = env.now
    return arrival + (yield from patient(env, bed, urgent, stay))


def patient_requests_twice(env, bed, urgent, stay):
    with bed.request(priority=1 - urgent):
        return (yield from patient(env, bed, urgent, stay))


def patient_without_result(env, bed, urgent, stay):
    yield from patient(env, bed, urgent, stay)


def patient_without_stay(env, bed, urgent, stay):
    return (yield from patient(env, bed, urgent, 0))


def pieces(env, work, every):
    while work > 1e-9:
        piece = min(every, work)
        try:
            yield env.timeout(piece)
            work -= piece
        except simpy.Interrupt:
            pass
    return env.now


def pieces_without_result(env, work, every):
    yield from pieces(env, work, every)


def pieces_begin_again(env, work, every):
    return (yield from pieces(env, work, work))


def pieces_lose_nothing(env, work, every):
    while work > 1e-9:
        begin = env.now
        try:
            yield env.timeout(work)
            work = 0
        except simpy.Interrupt:
            work -= env.now - begin
    return env.now


def pieces_only_one(env, work, every):
    return (yield from pieces(env, every, every))


def pieces_all_equal(env, work, every):
    while work > 1e-9:
        try:
            yield env.timeout(every)
            work -= every
        except simpy.Interrupt:
            pass
    return env.now


def pieces_do_not_catch(env, work, every):
    yield env.timeout(work)
    return env.now


def caller(env, desk, talk, patience):
    with desk.request() as turn:
        if turn in (yield turn | env.timeout(patience)):
            yield env.timeout(talk)
            return 1
    return 0


def caller_reversed(env, desk, talk, patience):
    return 1 - (yield from caller(env, desk, talk, patience))


def caller_without_result(env, desk, talk, patience):
    yield from caller(env, desk, talk, patience)


def caller_with_patience(env, desk, talk, patience):
    with desk.request() as turn:
        yield turn
        yield env.timeout(talk)
    return 1


def caller_keeps_request(env, desk, talk, patience):
    turn = desk.request()
    if turn in (yield turn | env.timeout(patience)):
        yield env.timeout(talk)
        desk.release(turn)
        return 1
    return 0


def caller_never_releases(env, desk, talk, patience):
    turn = desk.request()
    if turn in (yield turn | env.timeout(patience)):
        yield env.timeout(talk)
        return 1
    turn.cancel()
    return 0


def caller_waits_for_the_agent(env, desk, talk, patience):
    arrival = env.now
    with desk.request() as turn:
        yield turn
        if env.now - arrival > patience:
            return 0
        yield env.timeout(talk)
    return 1


def caller_half_patience(env, desk, talk, patience):
    return (yield from caller(env, desk, talk, patience / 2))


def urgent_job(env, machine, priority, work):
    arrival, left = env.now, work
    while left > 0:
        with machine.request(priority=priority) as turn:
            yield turn
            begin = env.now
            try:
                yield env.timeout(left)
                left = 0
            except simpy.Interrupt:
                left -= env.now - begin
    return env.now - arrival


def urgent_job_repeats(env, machine, priority, work):
    arrival, done = env.now, False
    while not done:
        with machine.request(priority=priority) as turn:
            yield turn
            try:
                yield env.timeout(work)
                done = True
            except simpy.Interrupt:
                pass
    return env.now - arrival


def urgent_job_waits(env, machine, priority, work):
    arrival = env.now
    with machine.request(priority=priority, preempt=False) as turn:
        yield turn
        yield env.timeout(work)
    return env.now - arrival


def urgent_job_reversed(env, machine, priority, work):
    return (yield from urgent_job(env, machine, -priority, work))


def urgent_job_by_the_clock(env, machine, priority, work):
    yield from urgent_job(env, machine, priority, work)
    return env.now


def urgent_job_without_work(env, machine, priority, work):
    return (yield from urgent_job(env, machine, priority, work)) - work


def urgent_job_without_result(env, machine, priority, work):
    yield from urgent_job(env, machine, priority, work)


def urgent_job_gives_up(env, machine, priority, work):
    arrival = env.now
    with machine.request(priority=priority) as turn:
        yield turn
        with contextlib.suppress(simpy.Interrupt):
            yield env.timeout(work)
    return env.now - arrival


RIGHT = {
    "15.2": pieces,
    "15.3": caller,
    "15.4": urgent_job,
    "4.2": patient,
    "1.2": in_order,
    "1.3": source,
    "2.2": customer,
    "2.3": station,
    "3.3": stays,
}
WRONG = [
    ("15.2", pieces_without_result, "returns nothing"),
    ("15.2", pieces_begin_again, "begins again after each failure"),
    ("15.2", pieces_lose_nothing, "nothing is lost"),
    ("15.2", pieces_only_one, "only one piece"),
    ("15.2", pieces_all_equal, "the last piece"),
    ("15.2", pieces_do_not_catch, "Interrupt"),
    ("15.3", caller_reversed, "1 if served"),
    ("15.3", caller_without_result, "returns nothing"),
    ("15.3", caller_with_patience, "nobody reneges"),
    ("15.3", caller_keeps_request, "withdraw the request"),
    ("15.3", caller_never_releases, "who releases"),
    ("15.3", caller_half_patience, "comes out"),
    ("15.3", caller_waits_for_the_agent, "as soon as the patience ends"),
    ("15.4", urgent_job_repeats, "subtract the work done"),
    ("15.4", urgent_job_waits, "nobody is interrupted"),
    ("15.4", urgent_job_reversed, "smallest priority"),
    ("15.4", urgent_job_by_the_clock, "on the clock"),
    ("15.4", urgent_job_without_work, "without service"),
    ("15.4", urgent_job_without_result, "returns nothing"),
    ("15.4", urgent_job_gives_up, "comes out"),
    ("4.2", patient_in_order, "give the request a priority"),
    ("4.2", patient_reversed, "the others go first"),
    ("4.2", patient_until_end, "until the patient leaves"),
    ("4.2", patient_keeps_bed, "who releases"),
    ("4.2", patient_by_the_clock, "on the clock"),
    ("4.2", patient_requests_twice, "no process ends"),
    ("4.2", patient_without_result, "returns nothing"),
    ("4.2", patient_without_stay, "nobody waits"),
    ("1.2", sorted, "comes out"),
    ("1.2", list.sort, "returns nothing"),
    ("1.2", in_order_whole, "not of their numbers"),
    ("1.2", in_order_of_time, "by priority first"),
    ("1.2", in_order_of_priority, "time counts before"),
    ("1.2", in_order_last_first, "scheduled first goes first"),
    ("1.2", in_order_greatest_first, "smaller priority"),
    ("1.3", source_of_gaps, "append `env.now`"),
    ("1.3", source_from_0, "after the first gap"),
    ("1.3", source_with_one_more, "nobody arrives at time 0"),
    ("1.3", source_without_time, "no time passes"),
    ("1.3", source_of_sums, "no time passes"),
    ("1.3", source_ahead, "after the first gap"),
    ("1.3", source_last, "not only the last"),
    ("1.3", source_silent, "nothing is appended"),
    ("3.3", stays_wait, "that is the wait"),
    ("3.3", stays_by_the_clock, "on the clock"),
    ("3.3", stays_without_wait, "that is the service time"),
    ("3.3", stays_for_ever, "who releases"),
    ("3.3", stays_release_early, "served at once"),
    ("3.3", stays_without_time, "no time passes"),
    ("3.3", customer, "takes 3 positional arguments"),
    ("2.2", customer_without_result, "returns nothing"),
    ("2.2", customer_in_system, "until the customer leaves"),
    ("2.2", customer_never_releases, "who releases"),
    ("2.2", customer_releases_early, "nobody waits"),
    ("2.2", customer_does_not_wait, "nobody waits"),
    ("2.2", customer_by_the_clock, "on the clock"),
    ("2.2", customer_arrives_late, "before the request"),
    ("2.2", customer_requests_twice, "one request is enough"),
    ("2.2", customer_comes_again, "no end"),
    ("2.2", lambda env, desk, service: None, "without `yield` is not a process"),
    ("2.3", station_for_one, "only the first part"),
    ("2.3", station_at_once, "at the same time"),
    ("2.3", station_without_time, "no time passes"),
    ("2.3", station_works_first, "leaves without work"),
    ("2.3", station_keeps, "no part leaves"),
    ("2.3", station_in_circles, "the clock shows 0"),
    ("2.3", station_without_yield, "the clock shows 0"),
    ("2.3", station_passes_on_the_event, "returns the part"),
    ("2.3", station_works_last, "leaves without work"),
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
    assert "loop without an end" in check(number, answer).message
    assert sys.gettrace() is None


def test_a_forgotten_name_is_mentioned():
    assert "no name" in check(1.1, 0).message
    assert "no name" not in check(1.1, 0, "ada").message
    assert "no name" not in check(1.2, 0).message


def test_every_exercise_is_tested():
    assert {*NUMBERS_ASKED, *RIGHT} == {*EXERCISES}
