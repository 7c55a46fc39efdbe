"""LLM requests on a tensor-parallel cluster: Table II as printed, cases by hand, and the printed
loop beside the engine.
"""

from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cgrsp_simpy.hgsp import llm
from cgrsp_simpy.hgsp.llm import table_two
from cgrsp_simpy.hgsp.llm_policies import SCHEDULERS
from cgrsp_simpy.hgsp.llm_requests import (
    QWEN3,
    LlmCluster,
    LlmModel,
    RequestList,
    printed_requests,
    read_requests,
)
from cgrsp_simpy.hgsp.serving import MOST_STEPS, Requests
from cgrsp_simpy.model.checks import InputError

PAPER = Path(__file__).parents[3] / "shared" / "papers" / "hgsp.txt"
AZURE = (
    Path(__file__).parents[3]
    / "shared"
    / "data"
    / "azure_llm_2023"
    / "AzureLLMInferenceTrace_code.csv"
)
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
MODES = list(product(SCHEDULERS, (False, True), (None, 0.01)))
SMALL = LlmModel("small", 1.0)


def requests_of(*rows):
    """Rows of arrival, milliseconds of execution (as prompt tokens), weight, tau."""
    arrival, prompt, weight, gpus = np.array(rows, dtype=float).T
    return RequestList(arrival, prompt, np.zeros(len(rows)), weight, gpus, (SMALL,) * len(rows))


def simulate(requests, cluster, scheduler="wsrpt", **mode):
    return Requests(requests, cluster, **mode).run(scheduler)


def started(requests, gpus=4, **options):
    return simulate(requests, LlmCluster(gpus), **options).jobs["start_s"].tolist()


# ---- Table II ----


def test_table_two_as_printed_at_steps_of_0_01_s():
    """Printed: FIFO 336.400 and 2.402, WSRPT 108.040 and 1.802, all 20 completed, improvement
    -67.9 % and -25.0 %.

    Work-conserving, as the paper's loop reads, WSRPT would have 102 and 1.5.
    """
    stepped = {(row["scheduler"], row["mode"]): row for row in table_two() if row["step_s"] == 0.01}
    fifo, wsrpt = stepped["fifo", "waves"], stepped["wsrpt", "waves"]
    for row, weighted, mean in ((fifo, 336.4, 2.402), (wsrpt, 108.04, 1.802)):
        figures = (
            round(row["weighted_response"], 3),
            round(row["mean_response_s"], 3),
            row["completed"],
        )
        printed = tuple(
            row[f"printed_{name}"] for name in ("weighted_response", "mean_response_s", "completed")
        )
        assert figures == printed == (weighted, mean, 20)
    assert (round(wsrpt["weighted_change_pct"], 1), round(wsrpt["mean_change_pct"], 1)) == (
        -67.9,
        -25.0,
    )
    assert (wsrpt["printed_weighted_change_pct"], wsrpt["printed_mean_change_pct"]) == (
        -67.9,
        -25.0,
    )
    assert stepped["fifo", "work-conserving"]["weighted_response"] == fifo["weighted_response"]
    assert stepped["wsrpt", "work-conserving"]["weighted_response"] == pytest.approx(102, abs=1e-9)


def test_table_two_without_a_step():
    """By hand, 8 at a time, seconds: FIFO ends 8 at 2.0, 8 at 2.5, 4 at 3.0.

    WSRPT ends 8 short ones at 0.5, 4 short ones at 1.0 and 4 long ones at 2.5; the last 4 long ones
    at 3.0, or in waves at 4.5.
    """
    found = {(row["scheduler"], row["mode"]): row for row in table_two() if row["step_s"] is None}
    fifo = 8 * 2.0 + 10 * (8 * 2.5 + 4 * 3.0)
    soon, waves = (10 * (8 * 0.5 + 4 * 1.0) + 4 * 2.5 + 4 * last for last in (3.0, 4.5))
    for mode, wsrpt, mean in (("work-conserving", soon, 1.5), ("waves", waves, 1.8)):
        for scheduler, figures in (("fifo", (fifo, 2.4)), ("wsrpt", (wsrpt, mean))):
            row = found[scheduler, mode]
            assert (row["weighted_response"], row["mean_response_s"]) == pytest.approx(figures)
            # less the mean execution
            assert row["mean_wait_s"] == pytest.approx(figures[1] - (8 * 2.0 + 12 * 0.5) / 20)
        assert found["wsrpt", mode]["weighted_change_pct"] == pytest.approx(
            100 * (wsrpt / fifo - 1)
        )
        assert "printed_weighted_response" not in found["wsrpt", mode]
    assert (fifo, soon, waves) == (336, 102, 108)


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


def test_waits_are_apart_from_execution_in_every_table():
    """FIFO at any time: 8 requests wait 0, 8 wait 2.0 s and 4 wait 2.5 s.

    WSRPT: 8 wait 0, 8 wait 0.5 s and 4 wait 1.0 s.
    """
    waits = {
        (row["scheduler"], row["mode"]): [
            row[name] for name in ("mean_wait_s", "wait_p50_s", "wait_p90_s", "wait_p99_s")
        ]
        for row in table_two()
        if row["step_s"] is None
    }
    assert waits["fifo", "work-conserving"] == pytest.approx(
        [(8 * 2.0 + 4 * 2.5) / 20, 2.0, 2.5, 2.5]
    )
    assert waits["wsrpt", "work-conserving"] == pytest.approx(
        [(8 * 0.5 + 4 * 1.0) / 20, 0.5, 1.0, 1.0]
    )


def test_the_rate_of_a_request_is_that_of_a_batch_of_10_to_50():
    """What is said of owned GPUs: Section VI.A gives 100 to 500 tokens/s for a single
    request that decodes.
    """
    batch = [LlmCluster().decode_tokens_per_s / alone for alone in (500, 100)]
    said = "the 5000 that it gives to each request are those of a batch of {:g} to {:g}".format(
        *batch
    )
    assert said in " ".join(llm.__doc__.split())
    if PAPER.is_file():
        assert (
            r"processing tokens at $\sim 100\text{--}500$ tokens/s (single request)"
            in PAPER.read_text(encoding="utf-8")
        )


def test_what_the_scenario_says_of_its_log_is_what_it_prints():
    """Mean wait and 99th percentile on 16 GPUs, work-conserving; in waves both are longer."""
    script = Path(__file__).parents[2] / "scenarios" / "llm_requests.py"
    said = " ".join(script.read_text(encoding="utf-8").split('"""')[1].split())
    rows = {
        tuple(line.split()[:3]): line.split()[3:7]
        for line in script.with_suffix(".out").read_text(encoding="utf-8").splitlines()
    }
    mean, p99 = (
        [float(rows["16", "work-conserving", name][column]) for name in ("wsrpt", "fifo")]
        for column in (0, 3)
    )
    assert "all wait {:.0f} s on average in place of FIFO's {:.0f} s".format(*mean) in said
    assert (
        "One in a hundred waits over {:.0f} s under WSRPT, {:.0f} s under FIFO".format(*p99) in said
    )
    for scheduler in ("fifo", "wsrpt"):
        for column in (0, 3):
            assert float(rows["16", "waves", scheduler][column]) > float(
                rows["16", "work-conserving", scheduler][column]
            )


def test_requests_are_put_in_order_of_arrival_with_all_that_is_theirs():
    models = tuple(LlmModel(name, 1) for name in "abc")
    found = RequestList([2, 0, 2], [20, 5, 21], [7, 8, 9], [2, 1, 3], [4, 2, 3], models)
    columns = (found.arrival_s, found.prompt_tokens, found.output_tokens, found.weight, found.gpus)
    assert [column.tolist() for column in columns] == [
        [0, 2, 2],
        [5, 20, 21],
        [8, 7, 9],
        [1, 2, 3],
        [2, 4, 3],
    ]
    assert found.models == (models[1], models[0], models[2])


def test_utilisation_counts_from_the_first_arrival():
    assert simulate(requests_of((5, 1000, 1, 4)), LlmCluster(4)).summary()[
        "utilisation_pct"
    ] == pytest.approx(100)


def test_the_printed_workload_and_cluster():
    """Section VI.C: 20 requests at 0, tau = 2, 8 of weight 1 and 2000 tokens, 12 of weight 10 and
    500; 16 H100, 15 GB.
    """
    requests, cluster = printed_requests(), LlmCluster()
    assert (cluster.gpus, cluster.gpu, cluster.memory_gb) == (16, "H100", 80)
    rows = list(
        zip(
            requests.arrival_s,
            requests.prompt_tokens + requests.output_tokens,
            requests.weight,
            requests.gpus,
        )
    )
    assert rows == [(0, 2000, 1, 2)] * 8 + [(0, 500, 10, 2)] * 12
    assert {(model.name, model.memory_gb / 2) for model in requests.models} == {("Qwen3", 15)}


# ---- logs ----


@pytest.fixture
def log_of(file):
    return partial(file, name="log.csv")


GOOD = "2023-11-16 18:17:03.9799600,1000,10\n2023-11-16 18:17:04.9799600,1001,0\n"


def test_a_log_gives_arrivals_from_the_first_and_tokens_and_the_rest_as_asked(log_of):
    requests = read_requests(log_of(HEAD + GOOD), weight="short", gpus=4, model=SMALL)
    assert requests.arrival_s.tolist() == [0, 1]
    assert (requests.prompt_tokens.tolist(), requests.output_tokens.tolist()) == (
        [1000, 1001],
        [10, 0],
    )
    assert (requests.weight.tolist(), requests.gpus.tolist(), requests.models) == (
        [10, 1],
        [4, 4],
        (SMALL, SMALL),
    )
    plain = read_requests(log_of(HEAD + GOOD))
    assert (plain.weight.tolist(), plain.gpus.tolist(), plain.models) == (
        [1, 1],
        [2, 2],
        (QWEN3, QWEN3),
    )


# A row that is none -> what is said of it; it is line 4
BAD_ROWS = [
    ("yesterday,5,5", "TIMESTAMP(='yesterday')"),
    ("2023-11-16 18:17:05,-5,5", "ContextTokens(='-5') must be a whole number"),
    ("2023-11-16 18:17:05,5,2.5", "GeneratedTokens(='2.5') must be a whole number"),
    ("2023-11-16 18:17:05,5,", "GeneratedTokens(='') must be a whole number"),
    (
        "2023-11-16 18:17:05,0,0",
        "GeneratedTokens(='0') must be at least 1 where the prompt has no token",
    ),
    (
        "2023-11-16 18:17:05,5," + "9" * 16,
        "GeneratedTokens(='9999999999999999') must be a whole number >= 0 and at most 1e+15",
    ),
    ("2023-11-16 18:17:05,5", "2 fields, not 3"),  # a field short
    ("2023-11-16 18:17:05,5,5,5", "4 fields, not 3"),  # a field too many
]


@pytest.mark.parametrize(("row", "said"), BAD_ROWS)
def test_a_bad_row_is_named_by_its_line_and_left_out_or_refused(log_of, caplog, row, said):
    path = log_of(HEAD + GOOD + row + "\n" + GOOD)
    assert read_requests(path).requests == 4
    assert f"log.csv: 1 bad row: line 4: {said}" in caplog.text
    with pytest.raises(InputError) as refused:
        read_requests(path, strict=True)
    assert f"line 4: {said}" in str(refused.value)


def test_a_log_out_of_order_is_sorted_with_a_note_or_refused(log_of, caplog):
    path = log_of(HEAD + GOOD + "2023-11-16 18:17:02.979960,7,7\n")
    requests = read_requests(path)
    assert (requests.arrival_s.tolist(), requests.prompt_tokens.tolist()) == (
        [0, 1, 2],
        [7, 1000, 1001],
    )
    assert "out of order, first at line 4" in caplog.text
    with pytest.raises(InputError, match="line 4"):
        read_requests(path, strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "log.csv: the file is empty"),
        (
            "TIMESTAMP,ContextTokens\n",
            "line 1: no column GeneratedTokens (columns: 'TIMESTAMP, ContextTokens')",
        ),
        (HEAD, "log.csv: no usable job (bad rows: 0; left out: none)"),
        (b"\xff\xfe\x00", "log.csv: not a text file in UTF-8"),
        (HEAD + GOOD + '"', "log.csv: line 4: not CSV (unexpected end of data)"),
    ],
)
def test_a_file_that_is_no_log_is_refused(log_of, text, said):
    with pytest.raises(InputError) as refused:
        read_requests(log_of(text))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": "shrt"}, "unknown law of weights 'shrt'; did you mean 'short'?"),
        ({"gpus": 0}, "gpus(=0) must be a whole number >= 1"),
        ({"strict": "no"}, "strict(='no') must be true or false"),
    ],
)
def test_options_of_the_reader_that_are_not_allowed(log_of, options, said):
    with pytest.raises(InputError) as refused:
        read_requests(log_of(HEAD + GOOD), **options)
    assert said in str(refused.value)


def test_a_log_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: No such file"):
        read_requests(tmp_path / "none.csv")


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
