"""User code: rejected with one line if it is certainly wrong, otherwise accepted."""

import math
from collections import namedtuple
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import simpy
from engine.bench import Shop, eager_watchdog, waits
from simpy.events import PENDING
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.engine.events import Environment, event_list
from cgrsp_simpy.engine.watchdog import Watchdog


def simulated(job_process, policy=cg.first_come, **how):
    return cg.simulate(Shop(job_process, **how), policy)


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


def calls_resumed(run, job="crew"):
    run.resumed(job, 10.0)
    yield run.timeout(1.0)


def yields_resumed(run, job):
    yield run.resumed(job, 10.0)


def yields_a_number(run, job):
    yield 10.0


def calls_down(run):
    run.down(run.resources[0])
    yield run.timeout(2.0)


CLAIM = "`with run.claim(job) as claim: yield claim`"


test_a_forgotten_word_is_named = refusals(
    *(
        (job_process, slots, beside, [words])
        for job_process, beside, words in (
            (forgets_the_claim, [], CLAIM),
            (leaves_at_once, [], CLAIM),
            (forgets_the_claim_with_patience, [], CLAIM),
            (calls_resumed, [], "`yield from run.resumed(job, work_s)`"),
            (yields_resumed, [], "`yield from`"),
            (yields_a_number, [], 'Invalid yield value "10.0"'),
            (waits, [calls_resumed], "`yield from"),
            (calls_resumed, [calls_down], "`yield from"),  # the job ends first
            (waits, [calls_down], "`with run.down(resource):`"),
        )
        for slots in (1, 10)
    ),
    call=lambda job_process, slots, beside: simulated(
        job_process, slots=slots, beside=beside
    ),
)


CELL = """
import cgrsp_simpy as cg
def process(env):
    yield 5
@cg.model
def bank(env):
    env.process(process(env))
    env.run()
"""


def test_a_yield_of_no_event_is_explained_in_a_notebook_too():
    """Functions of notebook cells, which are in no file that SimPy could quote."""
    cell = {}
    exec(compile(CELL, "cell 1", "exec"), cell)
    check_refused(lambda: cg.simulate(cell["bank"]), "yielded a value that is no event")
    check_refused(
        lambda: simulated(lambda run, job: cell["process"](run.env)),
        "Invalid yield value: a process",
    )


@pytest.mark.parametrize(
    "delay",
    [math.nan, math.inf, -1.0, "5", None, cg.Draw(0)("gaps").exponential(60, 2)],
)
@pytest.mark.parametrize("where", [lambda run: run, lambda run: run.env])
def test_a_timeout_that_is_not_finite_is_rejected(delay, where):
    def job_process(run, job):
        yield where(run).timeout(delay)

    check_refused(
        lambda: simulated(job_process), ["timeout(", "must be a finite number"]
    )


# ---- valid ways to wait ----


def prepares_first(run, job):
    with run.claim(job) as claim:
        yield run.timeout(3.0)
        yield claim
        yield run.timeout(10.0)


def prepares_meanwhile(run, job):
    with run.claim(job) as claim:
        yield claim & run.timeout(3.0)
        yield run.timeout(10.0)


def looks(run, job):
    with run.claim(job) as claim:
        while not claim.triggered:
            yield run.timeout(1.0)
        yield run.timeout(10.0)


@pytest.mark.parametrize(
    ("job_process", "arrivals", "finish_s"),
    [
        (prepares_first, [0.0, 0.0, 100.0], [13.0, 23.0, 113.0]),
        (prepares_meanwhile, [0.0, 0.0, 100.0], [13.0, 23.0, 113.0]),
        (looks, [0.0, 0.5, 0.5], [11.0, 21.5, 32.5]),
    ],
)
def test_a_job_may_do_something_else_before_it_waits_for_its_grant(
    job_process, arrivals, finish_s
):
    run = simulated(job_process, arrivals=arrivals)
    assert run.jobs["finish_s"].tolist() == finish_s


def test_a_job_that_waits_after_its_patience_has_ended_gets_an_error():
    heard = []

    def job_process(run, job):
        with run.claim(job, patience_s=2.0) as claim:
            yield run.timeout(5.0)
            heard.append((yield claim))
            yield run.timeout(10.0)

    simulated(job_process, arrivals=[0.0, 0.0])
    assert [answer is None for answer in heard] == [False, True]


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


def test_a_slot_may_go_down_when_its_job_is_suspended():
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
        yield run.claim(job)

    check_refused(
        lambda: simulated(job_process, arrivals=[0.0, 50.0], beside=[closes]),
        ["with run.claim"],
    )


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


def starts_what_starts_by_itself(run, job):
    with run.claim(job) as claim:
        yield claim
        claim.request()


test_a_start_out_of_order_is_rejected = refusals(
    (starts_twice, "requested already"),
    (starts_before_the_grant, "before its grant"),
    (starts_after_the_release, "after the claim was released"),
    (starts_what_starts_by_itself, "request=False"),
    call=lambda job_process: simulated(job_process),
)


def closes(run):
    yield run.timeout(5.0)
    with run.down(run.resources[0]):
        yield run.timeout(5.0)


def wakes(run):
    def sleeps():
        yield run.timeout(1e6)

    sleeper = run.process(sleeps())
    yield run.timeout(1.0)
    sleeper.interrupt("get up")


test_a_process_that_does_not_expect_an_interrupt_is_named = refusals(
    (
        closes,
        r"job 0 of shop was interrupted, since slot 0 went down.*cg.Inte",
    ),
    (wakes, "a process other than a job of shop was interrupted .'get up'."),
    call=lambda beside: simulated(waits, beside=[beside]),
)


# ---- false alarms, and runs without an end ----


def probes(run):
    while True:
        yield run.timeout(1.0)


@pytest.fixture
def eager(monkeypatch):
    eager_watchdog(monkeypatch)


def closed_for_half_a_day(run):
    with run.down(run.resources[0]):
        yield run.timeout(43_200.0)


def in_pairs(view):
    jobs = list(view.queue)
    return list(zip(jobs, view.free)) if len(jobs) > 1 else []


def impatient(run, job):
    with run.claim(job, patience_s=5000.0) as claim:
        yield claim


def long_errand(run, job):
    """A job waits for a process, and for a condition."""
    with run.claim(job) as claim:
        yield claim
        yield run.env.process(event for event in [run.timeout(5000.0)])
        yield run.env.event() | run.timeout(5000.0)


@pytest.mark.parametrize(
    ("job_process", "policy", "how", "start_s", "end_s"),
    [
        (waits, cg.first_come, {"beside": [closed_for_half_a_day]}, 43_200, 43_210),
        (waits, in_pairs, {"arrivals": [0.0, 5000.0], "slots": 2}, 5000, 5010),
        (impatient, lambda view: [], {}, math.nan, 5000),
        (long_errand, cg.first_come, {}, 0, 10_000),
    ],
    ids=["downtime", "held", "patience", "errand"],
)
def test_a_wait_may_be_long_while_a_process_wakes_each_second(
    job_process, policy, how, start_s, end_s, eager
):
    how = {"arrivals": [0.0], **how, "beside": [*how.get("beside", []), probes]}
    jobs = simulated(job_process, policy, **how).jobs
    assert jobs["start_s"] == pytest.approx(start_s, nan_ok=True)
    assert jobs["finish_s"] == pytest.approx(end_s)


def stays_closed(run):
    with run.down(run.resources[0]):
        yield run.env.event()


@pytest.mark.parametrize(
    ("policy", "beside"), [(lambda view: [], []), (cg.first_come, [stays_closed])]
)
def test_a_job_that_waits_for_ever_while_a_process_goes_on_is_an_error(
    policy, beside, eager
):
    check_refused(
        lambda: simulated(waits, policy, arrivals=[0.0], beside=[*beside, probes]),
        "no further events",
        cg.PolicyError,
    )


@pytest.mark.parametrize("holds", [True, False])
def test_a_job_that_waits_for_an_event_that_never_happens_is_named(eager, holds):
    def job_process(run, job):
        if not holds:
            yield run.env.event()
        with run.claim(job) as claim:
            yield claim
            yield run.env.event()

    check_refused(
        lambda: simulated(job_process, arrivals=[0.0], beside=[probes]),
        ["process of job 0 has not ended"],
    )


STILL = SimpleNamespace(_value=PENDING, process=None, job=1, patience_s=math.inf)
IDLE = {
    "dispatcher": SimpleNamespace(grants=0, wake=None),
    "pending_claims": {1: STILL},
    "granted_claims": {},
    "job_processes": {1: STILL},
    "records": SimpleNamespace(number=0),
    "ledger": SimpleNamespace(closed={}),
    "model": SimpleNamespace(name="shop"),
    "check_calls": print,
    "_source_process": SimpleNamespace(is_alive=False),
}


@pytest.mark.parametrize(
    ("limit", "step_s", "state"),
    [
        (1000, 0, {}),
        (1000, 1, {}),
        (100_000, 1, {"pending_claims": {}}),
        (100_000, 1, {"granted_claims": [STILL]}),
        (100_000, 1, {"ledger": SimpleNamespace(closed={0: 1})}),
        (math.inf, 1, {"dispatcher": SimpleNamespace(grants=1, wake=5.0)}),
        (math.inf, 1, {"_source_process": SimpleNamespace(is_alive=True)}),
        (math.inf, 1, {"pending_claims": {1: SimpleNamespace(patience_s=9.0)}}),
        (math.inf, 1, {"job_processes": {1: SimpleNamespace(_value=None)}}),
    ],
)
def test_a_run_hangs_after_so_many_events_without_progress(limit, step_s, state, eager):
    run = SimpleNamespace(**IDLE | state)
    watchdog = Watchdog(run)
    for number, events in enumerate((500, min(limit, 10**9), 1)):
        run.now_s = number * step_s
        with (
            nullcontext()
            if events > 1 or limit == math.inf
            else pytest.raises(
                cg.InputError, match="job 1 has" if step_s else "at t = 0 s without"
            )
        ):
            watchdog.count(events)


# ---- the event list ----


@pytest.mark.parametrize("patience_s", [math.inf, 1e9])
def test_useless_wakes_and_ends_of_patience_leave_the_event_list(patience_s):
    lengths = []

    def job_process(run, job):
        with run.claim(job, patience_s=patience_s) as claim:
            yield claim
            lengths.append(len(event_list(run.env)))

    def patient(view):
        yield cg.Wake(1e9 + view.now_s)
        yield from cg.first_come(view)

    simulated(job_process, patient, arrivals=1000)
    assert max(lengths) < 200


@pytest.mark.parametrize(("size", "left"), [(1000, 499), (127, 62)])
def test_cancelling_events_changes_no_order(size, left):
    """They are removed when they are half of all events, and more than 64."""
    env, happened, events = Environment(), [], []
    for number in range(size):
        event = env.timeout(number % 7)
        event.callbacks.append(lambda _, number=number: happened.append(number))
        events.append(event)
    for number, event in enumerate(events):
        if number % 3:
            env.cancel(event)
    assert len(event_list(env)) == left
    env.run()
    assert happened == sorted(range(0, size, 3), key=lambda n: (n % 7, n))


def test_simpys_timeout_and_the_engines_differ_only_in_their_checks():
    ours, simpys = (
        kind.timeout(3.0, "value") for kind in (Environment(), simpy.Environment())
    )
    assert vars(ours) | {"env": None} == vars(simpys) | {"env": None}


def test_a_submission_after_the_arrival_is_rejected():
    job, model = namedtuple("Job", ["id", "submit_s"]), Shop(waits)
    model.jobs = [(0.0, job(0, 0.0)), (1.0, job(1, 1.5))]
    message = r"arrives at 1 s, before its submit_s, 1\.5"
    check_refused(lambda: cg.simulate(model, cg.first_come), message)
