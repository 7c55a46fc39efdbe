"""An hour of LLM requests on 16 GPUs: WSRPT lets short prompts through, and all wait 18 s on average in place of FIFO's 44 s.

The log is Azure's code-completion trace of 2023, with bursts of long prompts that FIFO queues everyone behind. A request claims
two GPUs at once; short prompts (up to 1000 tokens) have weight 10. To wait until a whole batch has ended makes it far worse.
Run it as: python scenarios/llm_requests.py PATH
"""

import sys

from cgrsp_simpy.hgsp.llm import simulate
from cgrsp_simpy.hgsp.llm_requests import LlmCluster, read_requests

if __name__ == "__main__":
    requests = read_requests(sys.argv[1], weight="short")
    print(f"{requests.requests} requests in {requests.arrival_s[-1] / 60:.0f} min")
    print("GPUs  mode             scheduler  weighted wait / weight, s  mean wait, s  busy, %")
    for gpus in (12, 16, 24):
        for waves in (False, True):
            for scheduler in ("fifo", "wsrpt"):
                found = simulate(requests, LlmCluster(gpus), scheduler, waves=waves).metrics
                weighted_s = found["weighted_wait"] / requests.weight.sum()
                print(
                    f"{gpus:4}  {'waves' if waves else 'work-conserving':15}  {scheduler:9} {weighted_s:26.1f}"
                    f" {found['mean_wait_s']:13.1f} {found['utilisation_pct']:8.1f}"
                )
