"""A week of tasks with tight deadlines on three GPUs: under ATC, which weighs time and
slack, tardiness is a quarter of FIFO's.

Each task is due after 1.2 to 3 times its time on an A30; the offered load is 80 %.
Planned in advance, the rule gives the same schedule as online, whenever a GPU becomes
free.
"""

import cgrsp_simpy as cg

WEEK = cg.hgsp.Level(
    tasks=76_000,
    cluster="small-30",
    load=0.8,
    slack=(1.2, 3.0),
    workload=(200.0, 1600.0),
)

if __name__ == "__main__":
    tasks = cg.hgsp.generate(WEEK, seed=1)
    print(
        f"{tasks.tasks} tasks in {tasks.arrival_s[-1] / 86400:.1f} days on"
        f" {len(tasks.gpus)} GPUs"
    )
    print("scheduler  weighted tardiness  missed, %  busy, %")
    planned = {
        "fifo": cg.hgsp.greedy_assignment(tasks, range(tasks.tasks), least_start=True),
        "greedy": cg.hgsp.greedy_assignment(tasks, range(tasks.tasks)),
        **{name: cg.hgsp.dispatch(tasks, rule) for name, rule in cg.hgsp.RULES.items()},
    }
    for name, schedule in planned.items():
        found = schedule.metrics
        print(
            f"{name:9} {found['weighted_tardiness']:19,.0f} {found['dmr_pct']:10.2f}"
            f" {found['utilisation_pct']:8.1f}"
        )
    online = cg.simulate(cg.hgsp.Scenario(tasks), cg.hgsp.Online(cg.hgsp.RULES["atc"]))
    print(f"atc, online {cg.hgsp.schedule_of(online).weighted_tardiness:17,.0f}")
