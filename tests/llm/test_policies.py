"""Orders of waiting requests by hand, routing, and invalid assignments."""

import numpy as np
import pytest
from support import STEPS, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of


def scenario(rows, gpus=1, max_batch=1):
    """Rows of arrival, prompt tokens, weight; caches of 1,000 tokens."""
    arrival, prompt, weight = np.array(rows, float).T
    source = cg.llm.RequestList(arrival, prompt, np.ones(len(rows)), weight)
    own = cg.llm.Service(
        gpus, 1, memory_gb=2.0, weights_gb=1.0, kv_mb=1.0, max_batch=max_batch
    )
    return cg.llm.Scenario(source, own, STEPS)


def order(run):
    return run.jobs["job"][np.argsort(run.jobs["start_s"], kind="stable")].tolist()


ONE_BY_ONE = scenario(
    [(0, 300, 1), (0.1, 500, 9), (0.1, 200, 1), (0.1, 400, 4), (0.1, 200, 5)]
)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("fifo", [1, 2, 3, 4, 5]),
        ("sjf", [1, 3, 5, 4, 2]),  # equal ones by arrival
        ("wsrpt", [1, 5, 2, 4, 3]),  # weight over seconds: 25, 18, 10, 5
        (lambda view: zip(view.queue[::-1], view.free), [1, 5, 4, 3, 2]),
    ],
)
def test_the_order_of_those_that_wait(policy, expected):
    assert order(subject_of(ONE_BY_ONE).run(policy)) == expected


def test_each_request_goes_to_the_least_loaded_replica():
    """Loads: 300 and nothing; 300 and 100; then 200 more to the second, and 50 to
    either of 300.
    """
    rows = [(0, 299, 1), (0, 99, 1), (0, 199, 1), (0, 49, 1)]
    run = subject_of(scenario(rows, gpus=2, max_batch=4)).run("fifo")
    assert [row["resources"] for row in run.rows()] == [
        "0:300",
        "1:100",
        "1:200",
        "0:50",
    ]


def test_nobody_overtakes_the_first_that_does_not_fit():
    """900 tokens are held; 200 do not fit, and 50 behind them wait, too."""
    run = subject_of(scenario([(0, 899, 1), (0, 199, 1), (0, 49, 1)], max_batch=4)).run(
        "fifo"
    )
    assert run.jobs["start_s"].tolist() == pytest.approx([0, 0.899, 0.899])


def test_the_view_shows_the_remaining_work_of_replicas():
    seen = []

    def watching(view):
        [replica] = view.resources
        seen.append(
            (
                round(view.now_s, 3),
                len(view.free),
                view.backlog(replica),
                view.room(replica),
                view.need(view.queue[-1]),
            )
        )
        if not view.running:
            return [(view.queue[0], replica)]
        return None

    subject_of(scenario([(0, 299, 1), (0.1, 99, 1)], max_batch=2)).run(watching)
    assert seen == [
        (0.0, 1, 0, 1000, 300),
        (0.1, 1, 299, 700, 100),
        (0.299, 1, 0, 1000, 100),
    ]


test_wrong_answers_and_an_overfull_cache_are_reported = refusals(
    (
        scenario([(0, 300, 1)] * 5),
        lambda view: [(request, view.resources[0]) for request in view.queue],
        ["assigned job 2 to replica 0, which already has 1 request"],
    ),
    (
        scenario([(0, 300, 1)] * 5),
        lambda view: [(request, 0) for request in view.queue],
        ["assigned job 1 to 0, which is not a resource"],
    ),
    (
        scenario([(0, 300, 1)] * 5),
        lambda view: [],
        ["left 5 jobs waiting, job 1 (request 1, 300 prompt and 1 output token"],
    ),
    (
        scenario([(0, 600, 1)] * 2, max_batch=4),
        lambda view: [(request, view.resources[0]) for request in view.queue],
        ["assigned job 2 to replica 0, which has 399 tokens free; the job needs 601"],
    ),
    call=lambda model, policy: subject_of(model).run(policy),
    error=cg.PolicyError,
)
