"""A service of LLM inference: its figures by hand, the Azure log on it, and bad
input.
"""

import heapq
from pathlib import Path

import numpy as np
import pytest
from support import DATA, STEPS, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.llm.report import LATENCIES, METRICS
from cgrsp_simpy.llm.service import Roofline, llama2_70b
from cgrsp_simpy.studies.subject import subject_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "explanation" / "results.md"
AZURE = DATA / "azure_llm_2023" / "AzureLLMInferenceTrace_code.csv"
ONE = cg.llm.Service(1, 1, memory_gb=2.0, weights_gb=1.0, kv_mb=1.0)


def words(path):
    return " ".join(path.read_text(encoding="utf-8").split())


def test_the_figures_of_a_run_by_hand():
    """One after the other: first tokens at .1 and .62, ends at .12 and .62; 4 output
    tokens in .52 s from the first arrival to the last completion, of which .02 s idle.
    """
    source = cg.llm.RequestList([0.1, 0.12], [100, 500], [3, 1], [1.0, 3.0])
    ends_s = 0.1 + 0.1 + 0.02, 0.1 + 0.1 + 0.02 + 0.5
    scenario = cg.llm.Scenario(
        source, cg.llm.Service(**vars(ONE) | {"max_batch": 1}), STEPS, 0.2
    )
    result = subject_of(scenario).run("fifo").summary()
    ttft_s, e2e_s = (0.1, ends_s[1] - 0.12), (0.12, ends_s[1] - 0.12)
    assert set(result) == set(METRICS)
    assert result == pytest.approx(
        {
            **of("ttft", ttft_s),
            **of("tpot", (0.01,)),
            **of("e2e", e2e_s),
            "weighted_e2e_s": (e2e_s[0] + 3 * e2e_s[1]) / 4,
            "wait_s": (ends_s[0] - 0.12) / 2,
            "goodput_pct": 50.0,
            "goodput_per_s": 1 / (ends_s[1] - 0.1),
            "tokens_per_s": 4 / (ends_s[1] - 0.1),
            "utilisation_pct": 100.0,
        }
    )


def of(name, values):
    """The figures of some times."""
    percentiles = np.percentile(values, (50, 90, 99))
    more = {f"{name}_p{p}_s": value for p, value in zip((50, 90, 99), percentiles)}
    return {f"{name}_s": np.mean(values), **more}


def test_both_targets_count():
    source = cg.llm.RequestList([0.0], [100], [3], [1.0])
    run = subject_of(cg.llm.Scenario(source, ONE, STEPS)).run("fifo")
    for shares, within in (((1, 1), 100), ((0.9, 1), 0), ((1, 0.9), 0)):
        targets_s = np.multiply(shares, run.jobs[["ttft_s", "tpot_s"]].tolist()[0])
        run = subject_of(cg.llm.Scenario(source, ONE, STEPS, *targets_s)).run("fifo")
        assert run.summary()["goodput_pct"] == within


def test_rows_have_the_times_and_the_replica_of_each_request():
    scenario = cg.llm.Scenario(cg.llm.Offered(12, rate_per_s=9.0), cg.llm.Service(4))
    run = subject_of(scenario).run("fifo", 3)
    rows = run.rows()
    assert {row["resources"].split(":")[0] for row in rows} == {"0", "1"}
    for row in rows:
        assert row["resources"].split(":")[1] == str(
            row["prompt_tokens"] + row["output_tokens"]
        )
        assert row["e2e_s"] == row["finish_s"] - row["submit_s"]
        decode_s = row["tpot_s"] * (row["output_tokens"] - 1)
        assert row["ttft_s"] + decode_s == pytest.approx(row["e2e_s"])
        # none is faster than alone, except in the mean
        assert row["alone_s"] <= row["e2e_s"] * 1.01
    phases = run.claims["phase"].tolist()
    assert phases.count("decoding") == phases.count("executing") == 12
    assert set(LATENCIES) < set(rows[0])


def test_a_single_request_takes_the_predicted_time():
    """The sum over a context that grows is as often that of its middle."""
    for source, steps, within in (
        (cg.llm.Offered(20, rate_per_s=1e-3), llama2_70b(), 0.01),
        (cg.llm.Offered(20, rate_per_s=1e-3), Roofline(bandwidth_gb_per_s=100.0), 1e-5),
        (
            cg.llm.RequestList([0], [9], [1], [1]),
            Roofline(bandwidth_gb_per_s=100.0),
            1e-9,
        ),
    ):
        scenario = cg.llm.Scenario(source, steps=steps)
        jobs = subject_of(scenario).run("fifo", 1).jobs
        # of longer ones chunks are not as long as the whole
        own = jobs[jobs["prompt_tokens"] <= scenario.service.chunk_tokens]
        assert own["alone_s"] == pytest.approx(own["e2e_s"], rel=within)


# ---- the Azure log ----


@pytest.fixture(scope="module")
def azure():
    if not AZURE.exists():
        pytest.skip("the Azure log is not here")
    return cg.llm.read_requests(AZURE, strict=True)


def owned(requests, servers):
    """Mean response, s, if a request owns two GPUs from start to end at the rates of
    hgsp.txt.
    """
    free_s, response_s = [0.0] * servers, []
    time_s = requests.prompt_tokens / 1000 + requests.output_tokens / 5000
    for at_s, each in zip(requests.arrival_s.tolist(), time_s.tolist()):
        end_s = max(at_s, heapq.heappop(free_s)) + each
        heapq.heappush(free_s, end_s)
        response_s.append(end_s - at_s)
    return np.mean(response_s)


@pytest.mark.slow
def test_the_results_on_the_azure_log(azure):
    """Its means on 4, 8 and 16 GPUs are those of the scenario's printed table."""
    page = words(RESULTS)
    assert azure.requests == 8819
    assert f"rates of the paper | {owned(azure, 4):.0f} s |" in page
    mean_s = subject_of(cg.llm.Scenario(azure)).run("fifo").summary()["e2e_s"]
    assert f"| 4 | 19 s | | 8 | {mean_s:.1f} s | | 16 | 2.4 s |" in page


def test_the_text_of_the_script_agrees_with_its_output():
    script = ROOT / "scenarios" / "llm_requests.py"
    rows = {
        tuple(line.split()[:4]): [float(cell) for cell in line.split()[4:]]
        for line in (
            script.with_suffix(".out").read_text(encoding="utf-8").splitlines()[2:]
        )
    }
    said = " ".join(script.read_text(encoding="utf-8").split('"""')[1].split())
    fifo, wsrpt = (rows["4", "64", "2048", policy] for policy in ("fifo", "wsrpt"))
    eight, chunks = (rows["8", "64", size, "fifo"] for size in ("2048", "512"))
    alone = rows["8", "1", "2048", "fifo"]
    for text in (
        f"On 8, the mean response is {eight[3]:.1f} s",
        f"on 8 GPUs, requests would take {alone[3]:.0f} s on average",
        (
            f"reduces FIFO's mean from {fifo[3]:.0f} s to {wsrpt[3]:.0f} s, and"
            f" increases the 99th percentile from {fifo[4]:.0f} s to {wsrpt[4]:.0f} s"
        ),
        f"the time per token from {eight[2]:.2f} s to {chunks[2]:.2f} s, and the"
        f" first token comes {chunks[0] - eight[0]:.2f} s later".replace(" 0.", " ."),
    ):
        assert text in said, text
    page = words(RESULTS)
    sixteen = rows["16", "64", "2048", "fifo"]
    assert (
        f"| 4 | {fifo[3]:.0f} s | | 8 | {eight[3]:.1f} s | | 16 | {sixteen[3]:.1f} s |"
        f" | 8, one request at a time | {alone[3]:.0f} s |" in page
    )


# ---- bad input ----

LISTED = cg.llm.RequestList([0.0, 1.0], [100, 600], [50, 500], [1.0, 1.0])


test_bad_input_gives_a_one_line_error = refusals(
    (
        lambda: cg.simulate(
            cg.llm.Scenario(cg.llm.RequestList([1e17], [9], [9], [1])), "fifo"
        ),
        "arrival_s of request 1(=1e+17) must be small enough for the clock",
    ),
    (
        lambda: cg.llm.Scenario(LISTED, ONE, STEPS),
        (
            "request 2 needs a cache of 1100 tokens; a replica of 1 h100-80gb, 1 per"
            " replica has 1000"
        ),
    ),
    (
        lambda: subject_of(
            cg.llm.Scenario(cg.llm.Offered(9, 1, 900, 200, 0), ONE, STEPS)
        ).run("fifo"),
        "request 1 needs a cache of 1100 tokens",
    ),
    (
        lambda: cg.llm.Scenario(source=3),
        "source(=3) must be of type Offered or of type RequestList",
    ),
    (lambda: cg.llm.Scenario(service=3), "service(=3) must be of type Service"),
    (
        lambda: cg.llm.Scenario(steps=3),
        "steps(=3) must be of type StepTable or of type Roofline",
    ),
    (
        lambda: cg.llm.Scenario(ttft_target_s=0),
        "ttft_target_s(=0) must be a number > 0",
    ),
    (
        lambda: cg.llm.Scenario(tpot_target_s=-1),
        "tpot_target_s(=-1) must be a number > 0",
    ),
    (
        lambda: subject_of(cg.llm.Scenario()).varied(gpu="b200"),
        "unknown gpu 'b200'",
    ),
    (
        lambda: subject_of(cg.llm.Scenario()).varied(waves=True),
        "unknown parameter 'waves'",
    ),
    (
        lambda: subject_of(cg.llm.Scenario()).run("wsprt"),
        "unknown policy 'wsprt'; did you mean 'wsrpt'?",
    ),
)


def test_a_listing_shows_when_a_request_starts_and_ends():
    requests = cg.llm.RequestList([0.0, 1.0], [100, 100], [10, 10], [1.0, 1.0])
    messages = []
    scenario = cg.llm.Scenario(requests)
    cg.simulate(
        scenario,
        subject_of(scenario).default_policies()[0],
        0,
        listener=messages.append,
    )
    words = {
        "start": "s of wait",
        "finish": "s after its arrival",
        "submit": "weight 1",
    }
    results = [(event.kind, str(event)) for event in messages if event.kind in words]
    assert len(results) == 6 and all(
        text.endswith(words[kind]) for kind, text in results
    )
