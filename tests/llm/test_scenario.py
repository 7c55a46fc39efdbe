"""LLM requests on a tensor-parallel cluster: cases by hand, and the printed loop beside the engine."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgrsp_simpy.llm.policies import SCHEDULERS
from cgrsp_simpy.llm.requests import (
    LlmCluster,
    LlmModel,
    RequestList,
    printed_requests,
    read_requests,
)
from cgrsp_simpy.llm.scenario import MOST_STEPS, Scenario
from cgrsp_simpy.model.checks import InputError

SMALL = LlmModel("small", 1.0)

AZURE = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "azure_llm_2023"
    / "AzureLLMInferenceTrace_code.csv"
)
MODES = list(product(SCHEDULERS, (False, True), (None, 0.01)))


def requests_of(*rows):
    """Rows of arrival, milliseconds of execution (as prompt tokens), weight, tau."""
    arrival, prompt, weight, gpus = np.array(rows, dtype=float).T
    return RequestList(arrival, prompt, np.zeros(len(rows)), weight, gpus, (SMALL,) * len(rows))


def simulate(requests, cluster, scheduler="wsrpt", **mode):
    return Scenario(requests, cluster, **mode).run(scheduler)


def started(requests, gpus=4, **options):
    return simulate(requests, LlmCluster(gpus), **options).jobs["start_s"].tolist()


@pytest.mark.parametrize(("waves", "step_s"), list(product((False, True), (None, 0.01, 0.25))))
def test_wsrpt_weighs_no_more_than_fifo_on_the_printed_workload(waves, step_s):
    fifo, wsrpt = (
        simulate(printed_requests(), LlmCluster(), scheduler, waves=waves, step_s=step_s).summary()[
            "weighted_response"
        ]
        for scheduler in ("fifo", "wsrpt")
    )
    assert wsrpt < fifo


# ---- the fixed step ----


def loop(requests, gpus, scheduler, waves, clock):
    """Section VI.D, line by line: at each step completions, arrivals, decisions.

    The start of each request.
    """
    time_s = requests.prompt_tokens / 1000
    order = {"fifo": lambda i: i, "wsrpt": lambda i: (-requests.weight[i] / time_s[i], i)}[
        scheduler
    ]
    start, coming, waiting, running, free = {}, list(range(requests.requests)), [], [], gpus
    for t in clock:
        for i in [i for i in running if start[i] + time_s[i] <= t]:
            running.remove(i)
            free += requests.gpus[i]
        while coming and requests.arrival_s[coming[0]] <= t:
            waiting.append(coming.pop(0))
        waiting.sort(key=order)
        if not (waves and running):
            while waiting and requests.gpus[waiting[0]] <= free:
                i = waiting.pop(0)
                start[i] = t
                running.append(i)
                free -= requests.gpus[i]
        if len(start) == requests.requests:
            return [start[i] for i in range(requests.requests)]
    raise AssertionError("the clock has run out")


def summed(step_s=0.01):
    """The clock of the paper's loop as a program would have it."""
    t = 0.0
    while t < 1000:
        yield t
        t += step_s


def test_the_late_step_is_that_of_a_clock_that_adds_up_its_steps():
    """250 steps of 0.01 s add up to less than 2.5 s. With exact multiples nothing would be late."""
    requests = printed_requests()
    for clock, late in ((summed(), 2.51), ((k * 0.01 for k in range(1000)), 2.5)):
        assert max(loop(requests, 16, "fifo", False, clock)) == pytest.approx(late)
    assert max(started(requests, 16, scheduler="fifo", step_s=0.01)) == pytest.approx(2.51)


def test_what_happens_between_steps_is_noticed_at_the_next():
    """Step 0.25 s: an arrival at 0.3 starts at 0.5; its completion at 1.1 is noticed at 1.25, and
    1.1 is its completion.
    """
    served = simulate(
        requests_of((0.3, 600, 1, 4), (0.5, 100, 1, 4)), LlmCluster(4), "fifo", step_s=0.25
    )
    assert served.jobs["start_s"].tolist() == [0.5, 1.25]
    assert served.jobs["finish_s"].tolist() == [1.1, 1.35]


def test_arrivals_and_completions_at_a_step_belong_to_it():
    """Step 0.25 s: the completion at 0.5 frees the GPUs for the decision at 0.5, and the arrival at
    0.5 is there for it.
    """
    requests = requests_of((0, 500, 1, 4), (0, 1000, 1, 4), (0.5, 250, 1, 4))
    assert started(requests, scheduler="wsrpt", step_s=0.25) == [0, 0.75, 0.5]


def test_a_wake_that_comes_a_rounding_late_is_no_step_late():
    """0.000098 s + the delay to 0.01 s is, in floating point, a little more than 0.01 s."""
    assert started(requests_of((0.000098, 500, 1, 1)), step_s=0.01) == pytest.approx(
        [0.01], abs=1e-12
    )


@st.composite
def workloads(draw):
    """Small workloads in fractions of a second, so that much falls together, or just
    beside a step.
    """
    row = st.tuples(
        st.integers(0, 60).map(lambda k: k / 40),
        st.sampled_from([5, 10, 130, 500, 700]),
        st.sampled_from([0, 1, 2, 10]),
        st.integers(1, 4),
    )
    return requests_of(*draw(st.lists(row, min_size=1, max_size=12)))


@given(
    workloads(),
    st.sampled_from(list(SCHEDULERS)),
    st.booleans(),
    st.sampled_from([0.01, 0.1, 0.25]),
)
def test_the_engine_does_at_steps_what_the_printed_loop_does(requests, scheduler, waves, step_s):
    expected = loop(requests, 4, scheduler, waves, summed(step_s))
    assert started(requests, scheduler=scheduler, waves=waves, step_s=step_s) == pytest.approx(
        expected, abs=1e-9
    )


# ---- GPUs held together, orders, waves ----


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_request_of_all_gpus_is_not_overtaken(scheduler):
    """1 GPU is busy to 1.0 s; the next in order needs all 4 and waits for them; the last would
    fit on the idle 3.
    """
    requests = requests_of((0, 1000, 9, 1), (0.1, 1000, 9, 4), (0.2, 1000, 1, 1))
    assert started(requests, scheduler=scheduler) == [0, 1, 2]


def test_wsrpt_takes_the_largest_weight_over_time_and_breaks_ties_by_arrival_then_number():
    """Ratios 1, 2, 4, 2, 2 and 0 behind a request that holds the only GPU; the third of ratio
    2 arrived first.
    """
    rows = (
        (0, 100, 1, 1),
        (0.02, 1000, 1, 1),
        (0.02, 500, 1, 1),
        (0.02, 250, 1, 1),
        (0.02, 1000, 2, 1),
        (0.01, 250, 0.5, 1),
    )
    served = simulate(requests_of(*rows, (0.01, 1, 0, 1)), LlmCluster(1), "wsrpt")
    ranks = [sorted(served.jobs["start_s"]).index(start_s) for start_s in served.jobs["start_s"]]
    assert served.jobs["arrival_s"].tolist() == [0, 0.01, 0.01, 0.02, 0.02, 0.02, 0.02]
    # the ratios 0.5 / 0.25 and, tied with it, 1 / 0.5 and 2 / 1; then 1 and 0
    assert ranks == [0, 2, 6, 5, 3, 1, 4]


def test_both_phases_count_in_time_and_order():
    """2000 / 1000 + 5000 / 5000 = 3 s; the other is all output, 1 s, and goes first under WSRPT."""
    two = RequestList([0, 0], [2000, 0], [5000, 5000], [1, 1], [1, 1], (SMALL,) * 2)
    served = simulate(two, LlmCluster(1), "wsrpt")
    assert (served.jobs["start_s"].tolist(), served.jobs["finish_s"].tolist()) == ([1, 0], [4, 1])
    assert LlmCluster(1, prefill_tokens_per_s=2000, decode_tokens_per_s=500).times_s(
        two
    ).tolist() == [11, 10]


def test_in_waves_nothing_starts_until_the_whole_batch_has_ended():
    """0.2 s ends long before 1.0 s, but its 2 GPUs idle to 1.0 s; the arrival at 0.5 s finds 1 GPU
    idle all the time.
    """
    requests = requests_of((0, 200, 1, 2), (0, 1000, 1, 1), (0, 300, 1, 2), (0.5, 100, 1, 1))
    assert started(requests, scheduler="fifo") == [0, 0, 0.2, 0.5]
    assert started(requests, scheduler="fifo", waves=True) == [0, 0, 1, 1]
    assert started(requests, scheduler="fifo", waves=True, step_s=0.3) == pytest.approx(
        [0, 0, 1.2, 1.2]
    )


@given(workloads(), st.sampled_from(MODES))
def test_no_more_gpus_are_held_than_there_are_and_none_starts_before_it_arrives(requests, mode):
    scheduler, waves, step_s = mode
    served = simulate(requests, LlmCluster(4), scheduler, waves=waves, step_s=step_s)
    held = [
        requests.gpus[(served.jobs["start_s"] <= t) & (t < served.jobs["finish_s"])].sum()
        for t in served.jobs["start_s"]
    ]
    assert max(held) <= 4
    assert (served.jobs["start_s"] >= requests.arrival_s).all()
    assert (served.jobs["finish_s"] - served.jobs["start_s"]).tolist() == pytest.approx(
        (requests.prompt_tokens / 1000).tolist()
    )


# ---- results ----


def test_the_metrics_of_a_run_by_hand():
    """On 2 GPUs: 0 to 1.0 s on both, then 1.0 to 1.5 s on one of them, arrived at 0.5 s; held 2.5
    of 3.0 GPU-seconds.
    """
    served = simulate(requests_of((0, 1000, 3, 2), (0.5, 500, 4, 1)), LlmCluster(2), horizon_s=1.0)
    assert served.summary() == {
        "weighted_response": 7.0,
        "mean_response_s": 1.0,
        "mean_wait_s": 0.25,
        "wait_p50_s": 0.25,
        "wait_p90_s": 0.45,
        "wait_p99_s": 0.495,
        "makespan_s": 1.5,
        "completed": 1,  # at 1.0 s, T_max itself
        "completion_rate_pct": 50.0,
        "utilisation_pct": pytest.approx(100 * 2.5 / 3),
    }


def test_utilisation_counts_from_the_first_arrival():
    assert simulate(requests_of((5, 1000, 1, 4)), LlmCluster(4)).summary()[
        "utilisation_pct"
    ] == pytest.approx(100)


@pytest.mark.skipif(not AZURE.exists(), reason="the Azure log is not at hand")
def test_the_azure_log_is_read_whole_and_served():
    """8,819 requests in 57 minutes; a request of 2 GPUs takes 2.05 s on the average, so that 8 at
    a time are 65 % busy.
    """
    requests = read_requests(AZURE, strict=True)
    assert requests.requests == 8819
    assert requests.arrival_s[-1] == pytest.approx(3435.948, abs=1e-3)
    assert (requests.prompt_tokens.sum(), requests.output_tokens.sum()) == (18059974, 245896)
    cluster = LlmCluster()
    fifo, wsrpt = (
        simulate(requests, cluster, scheduler).summary() for scheduler in ("fifo", "wsrpt")
    )
    work_s = 18059974 / 1000 + 245896 / 5000
    for found in (fifo, wsrpt):
        assert found["completed"] == 8819
        assert found["utilisation_pct"] == pytest.approx(
            100 * 2 * work_s / (16 * found["makespan_s"])
        )
    assert wsrpt["mean_wait_s"] < fifo["mean_wait_s"]


# ---- bad input ----

ONE = requests_of((0, 1000, 1, 2))

# What is made or run -> what is said
BAD = [
    (
        lambda: simulate(replace(ONE, gpus=[32]), LlmCluster(16)),
        "request 1 needs 32 GPUs at once; the cluster has 16 H100 in all",
    ),
    (
        lambda: simulate(replace(ONE, models=(LlmModel("big", 180),)), LlmCluster(16)),
        "request 1 needs 90 GB on each of 2 GPUs (big); H100 has 80 GB",
    ),
    (
        lambda: simulate(ONE, LlmCluster(16), "wsprt"),
        "unknown scheduler 'wsprt'; did you mean 'wsrpt'?",
    ),
    (lambda: simulate(ONE, LlmCluster(16), waves="yes"), "waves(='yes') must be true or false"),
    (lambda: simulate(ONE, LlmCluster(16), step_s=0), "step_s(=0) must be a number > 0"),
    (lambda: simulate(ONE, LlmCluster(16), step_s=-0.01), "step_s(=-0.01) must be a number > 0"),
    (
        lambda: simulate(ONE, LlmCluster(16), step_s=float("nan")),
        "step_s(=nan) must be a number > 0",
    ),
    # a clock that would be added up for days
    (
        lambda: simulate(ONE, LlmCluster(16), step_s=0.9 / MOST_STEPS),
        "must be at least 1e-09 for requests of 1 s",
    ),
    (lambda: simulate(ONE, LlmCluster(16), horizon_s=0), "horizon_s(=0) must be a number > 0"),
    (lambda: LlmCluster(0), "gpus of the cluster(=0) must be a whole number >= 1"),
    (
        lambda: LlmCluster(prefill_tokens_per_s=0),
        "prefill_tokens_per_s of H100(=0) must be a number > 0",
    ),
    (
        lambda: LlmCluster(decode_tokens_per_s=0),
        "decode_tokens_per_s of H100(=0) must be a number > 0",
    ),
    (lambda: LlmCluster(memory_gb=-1), "memory_gb of H100(=-1) must be a number >= 0"),
    (lambda: LlmModel("m", -1), "memory_gb of m(=-1) must be a number >= 0"),
    (lambda: RequestList([], [], [], [], [], ()), "requests: no request"),
    (
        lambda: requests_of((0, 5, 1, 1), (0, 5, -1, 1)),
        "weight of request 2(=-1.0) must be a number >= 0",
    ),
    (lambda: requests_of((-1, 5, 1, 1)), "arrival_s of request 1(=-1.0) must be a number >= 0"),
    (
        lambda: requests_of((0, -5, 1, 1)),
        "prompt_tokens of request 1(=-5.0) must be a whole number from 0",
    ),
    (
        lambda: requests_of((0, 1e16, 1, 1)),
        "prompt_tokens of request 1(=1e+16) must be a whole number from 0 to 1e+15",
    ),
    (
        lambda: replace(ONE, output_tokens=[0.5]),
        "output_tokens of request 1(=0.5) must be a whole number from 0",
    ),
    (
        lambda: requests_of((0, 0, 1, 1)),
        "prompt_tokens + output_tokens of request 1(=0) must be at least 1",
    ),
    (lambda: requests_of((0, 5, 1, 0)), "gpus of request 1(=0.0) must be a whole number from 1"),
    (lambda: requests_of((0, 5, np.inf, 1)), "weight of request 1(=inf)"),
    (lambda: replace(ONE, weight=[1, 1]), "shape of weight(=(2,)) must be (1,), one a request"),
    (lambda: replace(ONE, models=()), "number of models(=0) must be 1, one a request"),
]


@pytest.mark.parametrize(("make", "said"), BAD, ids=[said for _, said in BAD])
def test_bad_input_is_refused_in_one_line(make, said):
    with pytest.raises(InputError) as refused:
        make()
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_as_much_memory_and_as_many_gpus_as_there_are_is_allowed():
    requests = replace(ONE, models=(LlmModel("big", 160),))
    assert simulate(requests, LlmCluster(2)).summary()["completed"] == 1
