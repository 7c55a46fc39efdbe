"""Users' code: refused in one line if it cannot be right, otherwise accepted."""

import math
import threading
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import simpy

import cgrsp_simpy as cg
from cgrsp_simpy.engine.simulation import Simulation


class Shop(cg.Model):
    """A model from functions: `job_process` of the jobs, `beside` of other
    processes.
    """

    def __init__(self, job_process, arrivals=5, slots=1, beside=()):
        at_s = range(arrivals) if isinstance(arrivals, int) else arrivals
        self.job_process, self.beside = job_process, beside
        self.jobs, self.slots = [(time_s, n) for n, time_s in enumerate(at_s)], slots
        self.log = []

    def resources(self):
        return cg.slots(self.slots)

    def arrivals(self, draw):
        return self.jobs

    def processes(self, run):
        return [process(run) for process in self.beside]

    def job_process(self, run, job):
        return self.job_process(run, job)


def simulated(job_process, policy=cg.first_come, **how):
    return cg.simulate(Shop(job_process, **how), policy)


def waits(run, job):
    with run.claim(job) as claim:
        yield claim
        yield run.timeout(10.0)


# ---- a forgotten word ----


def forgets_the_claim(run, job):
    with run.claim(job):
        yield run.timeout(10.0)


def leaves_at_once(run, job):
    with run.claim(job):
        pass
    yield run.timeout(10.0)


def forgets_the_claim_with_patience(run, job):
    with run.claim(job, 3.0):
        yield run.timeout(10.0)


def calls_resumed(run, job):
    run.resumed(job, 10.0)
    yield run.timeout(1.0)


def yields_resumed(run, job):
    yield run.resumed(job, 10.0)


def yields_a_number(run, job):
    yield 10.0


@pytest.mark.parametrize("slots", [1, 10])
@pytest.mark.parametrize(
    ("job_process", "words"),
    [
        (forgets_the_claim, "`with run.claim(job) as claim: yield claim`"),
        (leaves_at_once, "`with run.claim(job) as claim: yield claim`"),
        (
            forgets_the_claim_with_patience,
            "`with run.claim(job) as claim: yield claim`",
        ),
        (calls_resumed, "`yield from run.resumed(job, work_s)`"),
        (yields_resumed, "`yield from`"),
        (yields_a_number, 'Invalid yield value "10.0"'),
    ],
)
def test_a_forgotten_word_is_named(job_process, words, slots):
    with pytest.raises(cg.InputError) as refused:
        simulated(job_process, slots=slots)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_resumed_that_a_process_beside_the_jobs_forgets_is_named():
    def crew(run):
        run.resumed("crew", 10.0)
        yield run.timeout(1.0)

    with pytest.raises(cg.InputError, match="yield from"):
        simulated(waits, beside=[crew])


def test_down_that_a_process_forgets_to_enter_is_named():
    def crew(run):
        run.down(run.resources[0])
        yield run.timeout(1.0)

    with pytest.raises(cg.InputError, match=r"`with run\.down\(resource\):`"):
        simulated(waits, beside=[crew])


@pytest.mark.parametrize("delay", [math.nan, math.inf, -1.0, "5", None])
@pytest.mark.parametrize("where", [lambda run: run, lambda run: run.env])
def test_a_timeout_that_is_no_finite_time_is_refused(delay, where):
    def job_process(run, job):
        yield where(run).timeout(delay)

    with pytest.raises(cg.InputError, match=r"^timeout\(.*must be a finite number"):
        simulated(job_process)


# ---- ways to wait that are right ----


def prepares_first(run, job):
    with run.claim(job) as claim:
        yield run.timeout(3.0)
        yield claim
        yield run.timeout(10.0)


def prepares_meanwhile(run, job):
    with run.claim(job) as claim:
        yield claim & run.timeout(3.0)
        yield run.timeout(10.0)


@pytest.mark.parametrize("job_process", [prepares_first, prepares_meanwhile])
def test_a_job_may_do_something_else_before_it_waits_for_its_grant(job_process):
    run = simulated(job_process, arrivals=[0.0, 0.0, 100.0])
    assert run.jobs["finish_s"].tolist() == [13.0, 23.0, 113.0]


def test_a_job_may_look_whether_its_claim_is_granted():
    def looks(run, job):
        with run.claim(job) as claim:
            while not claim.triggered:
                yield run.timeout(1.0)
            yield run.timeout(10.0)

    run = simulated(looks, arrivals=[0.0, 0.5, 0.5])
    assert run.jobs["finish_s"].tolist() == [11.0, 21.5, 32.5]


def test_a_job_that_waits_after_its_patience_has_ended_hears_that_it_has_none():
    heard = []

    def job_process(run, job):
        with run.claim(job, patience_s=2.0) as claim:
            yield run.timeout(5.0)
            heard.append((yield claim))
            yield run.timeout(10.0)

    simulated(job_process, arrivals=[0.0, 0.0])
    assert [answer is None for answer in heard] == [False, True]


def test_a_job_that_reneges_by_a_race_or_an_interrupt_is_right():
    left = []

    def job_process(run, job):
        with run.claim(job) as claim:
            try:
                if job % 2:
                    yield claim | run.timeout(2.0)
                else:
                    yield claim
            except cg.Interrupt:
                left.append(job)
                return
            if claim.assignment is None:
                left.append(job)
                return
            yield run.timeout(10.0)

    def sends_away(run):
        yield run.timeout(5.0)
        run.completion(2).interrupt()

    simulated(job_process, arrivals=[0.0, 0.0, 0.0], beside=[sends_away])
    assert left == [1, 2]


def test_a_job_that_loses_its_slot_before_it_has_waited_for_it_is_interrupted():
    interrupted = []

    def job_process(run, job):
        with run.claim(job) as claim:
            try:
                yield run.timeout(5.0)
            except cg.Interrupt:
                interrupted.append(run.now_s)
                return
            yield claim

    def closes(run):
        yield run.timeout(1.0)
        with run.down(run.resources[0]):
            yield run.timeout(1.0)

    simulated(job_process, arrivals=[0.0], beside=[closes])
    assert interrupted == [1.0]


# ---- interrupts between the grant and its delivery ----


@pytest.mark.parametrize("caught_inside", [True, False])
def test_a_job_interrupted_before_it_hears_of_its_grant_releases_its_slot(
    caught_inside,
):
    def job_process(run, job):
        if job == 0:
            with run.claim(job) as claim:
                yield claim
                run.completion(1).interrupt()
                yield run.timeout(10.0)
            return
        try:
            with run.claim(job) as claim:
                try:
                    yield claim
                except cg.Interrupt:
                    if not caught_inside:
                        raise
        except cg.Interrupt:
            pass
        yield run.timeout(1.0)
        with run.claim((job, 2)) as claim:
            yield claim
            yield run.timeout(10.0)

    model = Shop(job_process, arrivals=[0.0, 0.0, 0.0], slots=2)
    simulation = Simulation(model, cg.first_come)
    while simulation.advance(1):
        for slot in simulation.resources:
            assert len(slot.users) <= 1
    assert [slot.users for slot in simulation.resources] == [[], []]


def test_a_slot_taken_down_as_its_job_is_sent_away_is_no_error():
    def job_process(run, job):
        try:
            with run.claim(job) as claim:
                yield claim
                yield run.timeout(10.0)
        except cg.Interrupt:
            yield run.timeout(0.5)

    def closes(run):
        yield run.timeout(0.0)  # the grant of this instant is not yet delivered
        with run.down(run.resources[0]):
            yield run.timeout(5.0)

    def sends_away(run):
        yield run.timeout(0.0)
        run.completion(0).interrupt("elsewhere")

    for beside in ([closes, sends_away], [sends_away, closes]):
        run = simulated(job_process, arrivals=[0.0], beside=beside)
        assert run.jobs["finish_s"][0] < 20.0


def test_taking_down_a_slot_whose_process_has_ended_names_the_missing_block():
    def job_process(run, job):
        claim = run.claim(job)
        yield claim

    def closes(run):
        yield run.timeout(5.0)
        with run.down(run.resources[0]):
            yield run.timeout(5.0)

    with pytest.raises(cg.InputError, match=r"with run\.claim"):
        simulated(job_process, arrivals=[0.0, 50.0], beside=[closes])


# ---- raw errors ----


def starts_twice(run, job):
    with run.claim(job, request=False) as claim:
        yield claim
        claim.request()
        claim.request()


def starts_before_the_grant(run, job):
    with run.claim(job, request=False) as claim:
        claim.request()
        yield claim


def starts_after_the_release(run, job):
    with run.claim(job, request=False) as claim:
        yield claim
    claim.request()


@pytest.mark.parametrize(
    ("job_process", "words"),
    [
        (starts_twice, "requested already"),
        (starts_before_the_grant, "before its grant"),
        (starts_after_the_release, "after the claim was released"),
    ],
)
def test_a_start_out_of_order_is_refused(job_process, words):
    with pytest.raises(cg.InputError, match=words):
        simulated(job_process)


def test_a_job_that_starts_by_itself_cannot_be_started():
    def job_process(run, job):
        with run.claim(job) as claim:
            yield claim
            claim.request()

    with pytest.raises(cg.InputError, match=r"request=False"):
        simulated(job_process)


def test_a_policy_that_cannot_be_copied_is_refused():
    class Locked:
        def __init__(self):
            self.lock = threading.Lock()

        def __call__(self, view):
            return cg.first_come(view)

    with pytest.raises(cg.InputError, match="policy 'Locked' cannot be copied"):
        simulated(waits, policy=Locked())


def test_a_job_that_does_not_expect_that_its_slot_is_taken_down_is_named():
    def closes(run):
        yield run.timeout(5.0)
        with run.down(run.resources[0]):
            yield run.timeout(5.0)

    words = r"job 0 of shop was interrupted, since slot 0 was taken down.*cg.Interrupt"
    with pytest.raises(cg.InputError, match=words):
        simulated(waits, beside=[closes])


def test_a_process_that_does_not_expect_an_interrupt_is_named():
    def sleeps(run):
        yield run.timeout(1e6)

    def wakes(run):
        sleeper = run.process(sleeps(run))
        yield run.timeout(1.0)
        sleeper.interrupt("get up")

    words = "a process other than a job of shop was interrupted .'get up'."
    with pytest.raises(cg.InputError, match=words):
        simulated(waits, beside=[wakes])


# ---- false alarms, and runs without an end ----


def probes(run):
    while True:
        yield run.timeout(1.0)


def down_for_days(days):
    def closes(run):
        with run.down(run.resources[0]):
            yield run.timeout(days * 86_400.0)

    return closes


@pytest.mark.parametrize(
    "days",
    [
        2,
        pytest.param(10, marks=pytest.mark.slow),
        pytest.param(30, marks=pytest.mark.slow),
    ],
)
def test_a_slot_may_be_down_for_long_beside_a_process_that_wakes_each_second(days):
    run = simulated(waits, arrivals=[0.0], beside=[down_for_days(days), probes])
    assert run.jobs["start_s"][0] == days * 86_400.0


def in_pairs(view):
    jobs = list(view.queue)
    return list(zip(jobs, view.free)) if len(jobs) > 1 else []


def test_a_policy_may_hold_a_job_until_the_next_arrives_however_late():
    late_s = 200_000.0
    run = simulated(
        waits, policy=in_pairs, arrivals=[0.0, late_s], slots=2, beside=[probes]
    )
    assert run.jobs["start_s"].tolist() == [late_s, late_s]


def test_a_job_whose_patience_ends_late_is_no_job_that_waits_for_ever():
    def job_process(run, job):
        with run.claim(job, patience_s=200_000.0) as claim:
            yield claim

    run = simulated(
        job_process, policy=lambda view: [], arrivals=[0.0], beside=[probes]
    )
    assert math.isnan(run.jobs["start_s"][0])


def test_a_job_that_waits_for_ever_beside_an_endless_process_is_an_error():
    with pytest.raises(cg.PolicyError, match="nothing else to come"):
        simulated(waits, policy=lambda view: [], arrivals=[0.0], beside=[probes])


def test_a_slot_that_never_comes_up_again_is_an_error(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.watchdog.MANY", 1000)

    def closes(run):
        with run.down(run.resources[0]):
            yield run.env.event()

    with pytest.raises(cg.PolicyError, match="nothing else to come"):
        simulated(waits, arrivals=[0.0], beside=[closes, probes])


@pytest.mark.parametrize("holds", [True, False])
def test_a_job_that_waits_for_an_event_that_never_happens_is_named(monkeypatch, holds):
    monkeypatch.setattr("cgrsp_simpy.engine.watchdog.MANY", 1000)

    def job_process(run, job):
        if not holds:
            yield run.env.event()
        with run.claim(job) as claim:
            yield claim
            yield run.env.event()

    with pytest.raises(cg.InputError, match="process of job 0 has not ended"):
        simulated(job_process, arrivals=[0.0], beside=[probes])


def test_a_job_may_wait_long_for_a_condition_or_a_process(monkeypatch):
    monkeypatch.setattr("cgrsp_simpy.engine.watchdog.MANY", 100)

    def errand(run):
        yield run.timeout(50_000.0)

    def job_process(run, job):
        with run.claim(job) as claim:
            yield claim
            yield run.env.process(errand(run))
            yield run.env.event() | run.timeout(50_000.0)

    run = simulated(job_process, arrivals=[0.0], beside=[probes])
    assert run.jobs["finish_s"].tolist() == [100_000.0]


@pytest.mark.parametrize("start", ["set_up", "job_process"])
def test_a_run_ends_with_its_jobs_however_other_processes_were_started(start):
    class Endless(Shop):
        def set_up(self, run):
            if start == "set_up":
                run.env.process(probes(run))

        def job_process(self, run, job):
            if start == "job_process":
                run.env.process(probes(run))
            return waits(run, job)

    run = cg.simulate(Endless(waits, arrivals=[0.0, 0.0]), "first")
    assert run.jobs["finish_s"].tolist() == [10.0, 20.0]


# ---- the event list ----


def test_wakes_that_have_become_useless_leave_the_event_list():
    longest = [0]

    def patient(view):
        run = view._run
        longest[0] = max(longest[0], len(run.env._queue))
        yield cg.Wake(1e9 + view.now_s)
        yield from cg.first_come(view)

    cg.simulate(Shop(waits, arrivals=[0.1 * n for n in range(2000)]), patient)
    assert longest[0] < 200


def test_the_ends_of_patience_of_jobs_that_were_served_leave_the_event_list():
    longest = [0]

    def job_process(run, job):
        with run.claim(job, patience_s=1e9) as claim:
            yield claim
            longest[0] = max(longest[0], len(run.env._queue))

    simulated(job_process, arrivals=2000)
    assert longest[0] < 200


def test_cancelling_events_changes_no_order():
    env = cg.engine.events.Environment()
    happened, events = [], []
    for number in range(1000):
        event = env.timeout(number % 7)
        event.callbacks.append(lambda _, number=number: happened.append(number))
        events.append(event)
    left = [n for n in range(1000) if n % 3 == 0]
    for n in range(1000):
        if n % 3:
            env.cancel(events[n])
    assert len(env._queue) < 500
    env.run()
    assert happened == sorted(left, key=lambda n: (n % 7, n))


def test_simpys_own_timeout_and_the_engines_are_equal_in_all_but_their_checks():
    ours = cg.engine.events.Environment().timeout(3.0, "value")
    simpys = simpy.Environment().timeout(3.0, "value")
    shown = SimpleNamespace(ours=vars(ours).keys(), simpys=vars(simpys).keys())
    assert shown.ours == shown.simpys
    assert (ours.value, ours._delay, ours.ok) == (
        simpys.value,
        simpys._delay,
        simpys.ok,
    )


def test_a_submission_after_the_arrival_is_refused():
    class Job(NamedTuple):
        id: int
        submit_s: float

    class Late(Shop):
        def arrivals(self, draw):
            return [(0.0, Job(0, 0.0)), (1.0, Job(1, 1.5))]

    with pytest.raises(
        cg.InputError, match=r"arrives at 1 s, and its submit_s is 1\.5"
    ):
        cg.simulate(Late(waits), cg.first_come)
