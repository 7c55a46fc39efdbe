"""An hour of LLM requests on 16 GPUs: WSRPT lets short prompts through; all wait 16 s
on average in place of FIFO's 42 s.

The log is Azure's code-completion trace of 2023, with bursts of long prompts that FIFO
queues everyone behind. A request claims two GPUs at once; short prompts (up to 1000
tokens) have weight 10. One in a hundred waits over 189 s under WSRPT, 141 s under FIFO.
To wait until a whole batch has ended makes it far worse. A request owns its GPUs from
start to end, as in the paper; a server that batches requests needs far fewer GPUs.
Run it as: python scenarios/llm_requests.py PATH
"""

import sys

import cgrsp_simpy as cg

if __name__ == "__main__":
    requests = cg.llm.read_requests(sys.argv[1], weight="short")
    print(f"{requests.requests} requests in {requests.arrival_s[-1] / 60:.0f} min")
    print(
        "Wait: from arrival to start, s. Response: from arrival to completion, s,"
        " here weighted."
    )
    print(
        "GPUs  mode             scheduler   mean wait      p50      p90      p99"
        "  weighted response  busy, %"
    )
    for gpus in (12, 16, 24):
        for waves in (False, True):
            scenario = cg.llm.Scenario(requests, cg.llm.LlmCluster(gpus), waves)
            for scheduler in ("fifo", "wsrpt"):
                found = cg.simulate(scenario, scheduler).summary()
                waits = "".join(
                    f"{found[f'{name}_s']:9.1f}"
                    for name in ("mean_wait", "wait_p50", "wait_p90", "wait_p99")
                )
                weighted_s = found["weighted_response"] / requests.weight.sum()
                mode = "waves" if waves else "work-conserving"
                print(
                    f"{gpus:4}  {mode:15}  {scheduler:9}{waits} {weighted_s:23.1f}"
                    f" {found['utilisation_pct']:8.1f}"
                )
