"""Cost of a service of LLM inference, compared with bare SimPy in the same run.

Asserts nothing.

    python tests/benchmarks/llm.py [--repeats 5] [--requests 2000]

CPU time, the fastest of several runs that alternate with bare SimPy: one process per
replica with as many timeouts as it ran steps, and one process per request that waits
for its end.
"""

from __future__ import annotations

import simpy
from skeleton import beside, parser_of

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of


def bare(replicas, steps, requests):
    """Processes with as many events."""
    env = simpy.Environment()
    ends = [env.event() for _ in range(requests)]

    def replica(number):
        for step in range(steps // replicas):
            yield env.timeout(1.0)
            if (own := number + replicas * step) < requests:
                ends[own].succeed()

    def job_process(end):
        yield end

    for number in range(replicas):
        env.process(replica(number))
    for end in ends:
        env.process(job_process(end))
    env.run()


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, default=2000)
    given = parser.parse_args()
    for policy, rate_per_s, output in (
        ("fifo", 2.5, 28),
        ("wsrpt", 9.0, 28),
        ("fifo", 2.5, 200),
    ):
        offered = cg.llm.Offered(
            given.requests, rate_per_s, output_tokens=output, weight="short"
        )
        scenario = cg.llm.Scenario(offered)
        batches = subject_of(scenario).run(policy).plan
        steps = sum(batch.steps for batch in batches)
        seconds, ratio = beside(
            lambda scenario=scenario, policy=policy: subject_of(scenario).run(policy),
            lambda steps=steps, batches=batches: bare(
                len(batches), steps, given.requests
            ),
            given.repeats,
        )
        what = f"{policy}, {rate_per_s} requests/s of {output} tokens"
        print(
            f"{what:40} {given.requests / seconds:8,.0f} requests/s"
            f" {steps / seconds:8,.0f} steps/s {1000 * seconds:8,.0f} ms {ratio:6.2f} x"
            " bare SimPy",
            flush=True,
        )
