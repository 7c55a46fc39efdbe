"""Continuous batching: steps by hand, limits of theory, and what holds of every run."""

from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import STEPS

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of


def service(**more):
    """One GPU with a cache of 1,000 tokens."""
    return cg.llm.Service(
        **{
            "gpus": 1,
            "tensor_parallel": 1,
            "memory_gb": 2.0,
            "weights_gb": 1.0,
            "kv_mb": 1.0,
        }
        | more
    )


def requests(*rows):
    """Rows of arrival, prompt and output tokens."""
    arrival, prompt, output = zip(*rows)
    return cg.llm.RequestList(arrival, prompt, output, np.ones(len(rows)))


def run_of(source, policy="fifo", **more):
    return subject_of(cg.llm.Scenario(source, service(**more), STEPS)).run(policy)


def times(run):
    jobs = run.jobs
    return list(
        zip(
            (jobs["submit_s"] + jobs["ttft_s"]).round(9).tolist(),
            jobs["finish_s"].round(9).tolist(),
        )
    )


# ---- by hand ----


CHUNKS = {"chunk_tokens": 100}


@pytest.mark.parametrize(
    ("rows", "options", "expected"),
    [
        # joining and leaving between steps: the first prompt to .1; the second and a
        # token of the first to .151; a token of both to .161, the last of the first;
        # one to .171
        (((0, 100, 3), (0, 50, 3)), CHUNKS, [(0.1, 0.161), (0.151, 0.171)]),
        # a request may fill the cache, and a short prompt takes less than a decode
        (((0, 999, 1),), {}, [(0.999, 0.999)]),
        (((0, 5, 1),), {}, [(0.005, 0.005)]),
        # a request that arrives within a step, or as it ends, is in the next
        (
            ((0, 100, 1), (0.03, 50, 1), (0.06, 20, 1)),
            {},
            [(0.1, 0.1), (0.17, 0.17), (0.17, 0.17)],
        ),
        (((0, 100, 1), (0.1, 50, 1)), {}, [(0.1, 0.1), (0.15, 0.15)]),
        # 90 of the second prompt together with the first to .1; 100 and a token to
        # .201; 60 and a token to .262
        (((0, 10, 5), (0, 250, 1)), CHUNKS, [(0.1, 0.282), (0.262, 0.262)]),
        # whole, the second waits for the first, which waits for all of it
        (
            ((0, 10, 5), (0, 250, 1)),
            CHUNKS | {"whole": True},
            [(0.01, 0.291), (0.261, 0.261)],
        ),
        # the last token of a chunk is used
        (((0, 99, 1), (0, 50, 1)), CHUNKS, [(0.1, 0.1), (0.149, 0.149)]),
    ],
)
def test_times_of_steps(rows, options, expected):
    assert times(run_of(requests(*rows), **options)) == expected


def test_steps_are_counted_and_a_request_starts_with_the_first_of_its_tokens():
    run = run_of(requests((0, 100, 3), (0, 50, 3)), chunk_tokens=100)
    assert run.jobs["start_s"].tolist() == pytest.approx([0, 0.1])
    assert run.plan[0].steps == 4


def test_the_cache_and_the_batch_size_limit_admission():
    """Two of 600 tokens do not fit together in 1,000; nor do two in a batch of one."""
    for more in ({}, {"max_batch": 1, "kv_mb": 0.1}):
        run = run_of(requests((0, 500, 100), (0, 500, 100)), **more)
        assert run.jobs["start_s"].round(9).tolist() == [0, 1.49]
    run = run_of(requests((0, 500, 100), (0, 500, 100)), kv_mb=0.1)
    assert run.jobs["start_s"].tolist() == [0, 0]


def test_a_request_of_one_token_has_no_time_per_token():
    run = run_of(requests((0, 100, 1)))
    assert np.isnan(run.jobs["tpot_s"]).all()
    figures = run.summary()
    assert np.isnan(figures["tpot_p99_s"])
    assert figures["goodput_pct"] == 100


# ---- limits ----


def alone(rho, cv=0.0, number=1000, **more):
    """Requests that one server serves in .1 s, one after the other."""
    offered = cg.llm.Offered(number, rho / 0.1, 100, 1, cv)
    return cg.llm.Scenario(offered, service(max_batch=1, **more), STEPS)


def test_a_batch_of_one_is_a_single_server_first_come_first_served():
    run = cg.simulate(alone(0.9, cv=1.0, number=500, kv_mb=0.01), "fifo", 1)
    jobs = run.jobs
    free_s, expected = 0.0, []
    for at_s, alone_s in zip(jobs["submit_s"].tolist(), jobs["alone_s"].tolist()):
        free_s = max(free_s, at_s) + alone_s
        expected.append(free_s)
    assert jobs["finish_s"] == pytest.approx(expected, rel=1e-9)


# ---- properties of every run ----


@dataclass(frozen=True)
class Recording(cg.llm.Roofline):
    """Record the steps of each use: prompts, their tokens, batch, context."""

    uses: list = field(default_factory=list)

    def of(self, service):
        step_s, own = super().of(service), []
        self.uses.append(own)

        def recorded(*step):
            own.append(step)
            return step_s(*step)

        return recorded


def gaps(spans):
    """When none of the spans goes on, between the first and the last."""
    ends = accumulate((end for _, end in spans), max)
    return [(end, start) for end, (start, _) in zip(ends, spans[1:]) if start > end]


lists = st.lists(
    st.tuples(st.integers(0, 40), st.integers(1, 400), st.integers(1, 60)),
    min_size=1,
    max_size=25,
)


@given(
    lists,
    st.sampled_from(["fifo", "sjf", "wsrpt"]),
    st.integers(1, 3),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([32, 256]),
    st.booleans(),
)
def test_tokens_are_made_once_caches_hold_and_no_replica_idles_while_one_waits(
    rows, policy, gpus, max_batch, chunk_tokens, whole
):
    source = requests(*((at / 100, *tokens) for at, *tokens in rows))
    steps = Recording(0.5, 20.0)
    own = service(
        gpus=gpus,
        kv_mb=2.0,
        max_batch=max_batch,
        chunk_tokens=chunk_tokens,
        whole=whole,
    )
    scenario = cg.llm.Scenario(source, own, steps)
    steps.uses.clear()
    run = subject_of(scenario).run(policy)
    made = steps.uses[0]  # the other is that of the times alone
    assert sum(step[1] for step in made) == source.prompt_tokens.sum()
    assert sum(step[2] for step in made) == (source.output_tokens - 1).sum()
    assert all(step[3] <= own.kv_tokens and step[2] <= max_batch for step in made)
    if not whole:
        assert all(step[1] <= chunk_tokens for step in made)
    for batch in run.plan:
        left = (
            batch.held,
            batch.backlog,
            batch.batch,
            batch.context,
            len(batch.prompts),
        )
        assert left == (0, 0, 0, 0, 0)
        assert not batch.ends
    jobs, claims = run.jobs, run.claims
    waits = [
        (at_s, start_s)
        for at_s, start_s in jobs[["submit_s", "start_s"]].tolist()
        if start_s > at_s
    ]
    for number, batch in enumerate(run.plan):
        spans = sorted(
            claims[claims["resource"] == number][["from_s", "to_s"]].tolist()
        )
        if not spans:
            assert not waits
            continue
        idle = [(0.0, spans[0][0]), *gaps(spans)]
        assert not any(
            max(one[0], other[0]) + 1e-9 < min(one[1], other[1])
            for one in waits
            for other in idle
        )
        held_s = max(end for _, end in spans) - sum(end - start for start, end in idle)
        assert batch.busy_s == pytest.approx(held_s)
        changes = sorted(
            [
                (from_s, 1, amount)
                for _, place, amount, _, from_s, _ in claims.tolist()
                if place == number
            ]
            + [
                (to_s, 0, -amount)
                for _, place, amount, _, _, to_s in claims.tolist()
                if place == number
            ]
        )
        assert max(accumulate(change[2] for change in changes)) <= own.kv_tokens
    assert (jobs["ttft_s"] <= jobs["e2e_s"]).all()
    for before, after in pairwise(("submit_s", "start_s", "finish_s")):
        assert (jobs[before] <= jobs[after]).all()
