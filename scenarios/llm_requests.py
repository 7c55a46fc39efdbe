"""How many GPUs does an hour of LLM requests take? On 8, the mean response is 5.2 s.

The log is Azure's code-completion trace of 2023, with bursts of long prompts. A replica
of Llama 2 70B on two H100 batches its requests: they join and leave between steps,
whose durations were measured. One at a time on 8 GPUs, requests would take 177 s on
average.

On 4 GPUs, WSRPT, which prefers prompts of up to 1000 tokens (weight 10), reduces FIFO's
mean from 19 s to 12 s, and increases the 99th percentile from 72 s to 114 s. On 8 GPUs,
chunks of 512 tokens in place of 2048 reduce the time per token from .14 s to .07 s, and
the first token comes .26 s later. Run it as: python scenarios/llm_requests.py PATH
"""

import sys

import cgrsp_simpy as cg

SHOWN = ("ttft_s", "ttft_p99_s", "tpot_s", "e2e_s", "e2e_p99_s", "goodput_pct")


def told(scenario, policy):
    found = cg.simulate(scenario, policy).summary()
    figures = "".join(f"{found[name]:13.2f}" for name in SHOWN)
    own = scenario.service
    head = f"{own.gpus:4}  {own.max_batch:5}  {own.chunk_tokens:5}"
    return f"{head}  {policy:6}{figures}"


if __name__ == "__main__":
    requests = cg.llm.read_requests(sys.argv[1], weight="short")
    print(f"{requests.requests} requests in {requests.arrival_s[-1] / 60:.0f} min")
    print("GPUs  batch  chunk  policy" + "".join(f"{name:>13}" for name in SHOWN))
    for gpus in (2, 4, 8, 16):
        for policy in ("fifo", "sjf", "wsrpt"):
            print(told(cg.llm.Scenario(requests, cg.llm.Service(gpus)), policy))
    for own in ({"chunk_tokens": 512}, {"max_batch": 1}):
        print(told(cg.llm.Scenario(requests, cg.llm.Service(8, **own)), "fifo"))
