"""Should a studio own its slots if every day is hectic?

Not for a rush of three hours: renting for every job is best.

The day's C_max slots become fixed machines, reserved around the clock at 40 % of the
thesis's price and always ready. A job that does not wait for them runs on demand at the
full price, without provisioning delay. One slot under ajw is cheaper, but works through
the night, and three jobs in five are late; one slot under ljw costs $4.50, and a
twelfth of the jobs are late. All other options cost more than renting.
"""

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.jobs import scenario_jobs
from cgrsp_simpy.waiting.policies import waiting_policy

w = cg.waiting
GPU = "RTX A4000"
PRICE = next(gpu.price_usd_per_h for gpu in cg.THESIS_GPUS if gpu.name == GPU)
LONGEST_S, SHORT_S = 1800, 65  # half an hour; most jobs of the lowest complexity
SEEDS = range(10)


def one_day(name, slots, seed):
    """Cost in $, mean wait in minutes, and share of missed deadlines of a day."""
    day = cg.day("hectic", slots=slots)
    scenario = w.Scenario(scenario_jobs(day, GPU, seed), machines=slots)
    done = cg.simulate(scenario, waiting_policy(name, LONGEST_S, SHORT_S)).jobs
    deadline_s = np.array(
        [job.deadline_s for job, _ in day.workload.generate(seed, day.service)]
    )
    rented_h = done["run_s"][done["on_demand"]].sum() / 3600
    late = done["finish_s"] > deadline_s
    return (
        slots * 24 * 0.4 * PRICE + rented_h * PRICE,
        (done["start_s"] - done["submit_s"]).mean() / 60,
        late.mean(),
    )


if __name__ == "__main__":
    print(
        f"{GPU}, mean of {len(SEEDS)} hectic days: $ a day, wait in min, missed"
        " deadlines in %"
    )
    rented = [
        scenario_jobs(cg.day("hectic"), GPU, seed).run_s.sum() / 3600 * PRICE
        for seed in SEEDS
    ]
    print(
        f"no slot, every job on demand: $ {np.mean(rented):.2f}, no wait, none missed"
    )
    print("slots    ", *(f"{name:>19}" for name in w.POLICIES))
    for slots in (1, 2, 3, 5, 7):
        cells = []
        for name in w.POLICIES:
            cost, wait, missed = np.mean(
                [one_day(name, slots, seed) for seed in SEEDS], axis=0
            )
            cells.append(f"{cost:6.2f} {wait:6.1f} {100 * missed:5.1f}")
        print(f"{slots:5}    ", *cells)
