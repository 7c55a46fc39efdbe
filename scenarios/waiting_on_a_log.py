"""Should NASA have owned its 128 processors?

That was 14 % cheaper than renting for every job; 64 processors and longer waits are 26
% cheaper.

The log is that of an iPSC/860 at NASA Ames, October to December 1993 (Parallel
Workloads Archive; its submit times are start times). With 64 owned processors, every
job of 128 is rented. If short jobs are rented as well (ljw) and the shortest of the
long ones is first, the mean wait is 37 minutes; first come, first served, it is 10
hours. All jobs count, and owned processors are paid for from the first submission until
the last job has ended. Run it as: python scenarios/waiting_on_a_log.py PATH
"""

import sys

import cgrsp_simpy as cg
from cgrsp_simpy.waiting.jobs import describe
from cgrsp_simpy.waiting.policies import waiting_policy

w = cg.waiting
SIZES = tuple(
    w.Size(f"{cores} cores", cores, 4.0 * cores, 0.048 * cores)
    for cores in (1, 2, 4, 8, 16, 32, 64, 128)
)

if __name__ == "__main__":
    jobs = w.read_jobs(sys.argv[1]).jobs
    print(describe(jobs))
    print(
        "price as a share of renting for every job, wait in minutes, share of jobs on"
        " demand; longest wait 1 h, short below 3 min"
    )
    print("machine         order", *(f"{name:>20}" for name in w.POLICIES))
    for machines in ((SIZES[7],), (SIZES[6],), (SIZES[6], SIZES[5])):
        for order in ("fcfs", "sjf"):
            scenario = w.Scenario(
                jobs, waiting_policy("njw"), machines, order, sizes=SIZES
            )
            cells = []
            for name in w.POLICIES:
                if name == "ajw" and machines[0].cores < 128:
                    # a job of 128 processors would wait for ever
                    cells.append(f"{'-':>20}")
                    continue
                policy = waiting_policy(name, wait_s=3600, short_s=180)
                found = cg.simulate(scenario, policy, records=False).summary()
                share = found["price"] / w.Prices().on_demand
                wait_min = found["wait_s"] / 60
                cells.append(
                    f"{share:6.3f} {wait_min:6.1f} {found['on_demand_fraction']:6.1%}"
                )
            print(
                f"{' + '.join(str(size.cores) for size in machines):15} {order:5}",
                *cells,
            )
