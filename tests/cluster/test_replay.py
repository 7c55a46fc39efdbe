"""A log replayed: 20 logs simulated by schedulers drawn at random are told apart; intervals, changes
and refusals.

The law of the logs and the seeds from 1000 on were fixed before any of them was replayed; the
measure was chosen on seeds 0 to 49.
"""

from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest
from support import check_refused, waited

from cgrsp_simpy.cluster.jobs import Cluster, Mix, generate
from cgrsp_simpy.cluster.logs import read_jobs
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.replay import agreement, changed, replay
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.model.streams import stream

# all that need no more than a log of Slurm tells
CANDIDATES = sorted(SCHEDULERS.keys() - {"pbs", "sbs"})
CLUSTERS = [Cluster((8,) * 8), Cluster((4,) * 16), Cluster((8,) * 4 + (4,) * 8)]
MENU_S = np.array([0.5, 1, 2, 4, 8, 12, 24, 48, 72, 168]) * 3600  # what users ask for


def stamp(seconds):
    return (datetime(2026, 3, 1) + timedelta(seconds=round(float(seconds)))).isoformat()


def slurm(jobs):
    """The rows of a run as sacct prints them, in whole seconds."""
    lines = ["JobID|User|Submit|Start|End|Timelimit|AllocTRES"]
    for row in jobs:
        minutes, seconds = divmod(int(row["estimate_s"]), 60)
        limit = f"{minutes // 1440}-{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}"
        times = "|".join(stamp(row[name]) for name in ("submit_s", "start_s", "finish_s"))
        lines.append(f"{row['job']}|u{row['user']}|{times}|{limit}|gres/gpu={row['gpus']}")
    return "\n".join(lines) + "\n"


def drawn(seed, known, jobs=800):
    """The scheduler, the cluster and the log of a seed; known: users know run times, to the second,
    else they ask for a limit of the menu, for 1 to 4 times as long.
    """
    law = stream(seed, "replay law")
    scheduler, cluster = str(law.choice(CANDIDATES)), CLUSTERS[int(law.integers(len(CLUSTERS)))]
    placement = str(law.choice(["first", "best", "pack", "spread"]))
    drawn = generate(Mix(), jobs, law.uniform(0.75, 1.0), cluster, seed)
    asked_s = drawn.duration_s * law.uniform(1, 4, jobs)
    whole_s = np.ceil(drawn.duration_s)
    drawn = replace(
        drawn,
        arrival_s=np.floor(drawn.arrival_s),
        duration_s=whole_s,
        estimate_s=whole_s if known else MENU_S[np.searchsorted(MENU_S, asked_s)],
    )
    return scheduler, cluster, slurm(Scenario(drawn, cluster, placement).run(scheduler).jobs)


def named(seed, known, folder):
    """Whether replay names the scheduler of a log, and how that agrees."""
    scheduler, cluster, text = drawn(seed, known)
    path = folder / f"{seed}.txt"
    path.write_text(text, encoding="utf-8")
    scenario = Scenario(read_jobs(path, "sacct", cluster), cluster)
    told, _ = agreement(scenario, {name: scenario.make_policy(name) for name in CANDIDATES})
    means = {name: each.mean() for name, each in told.items()}
    return max(means, key=means.get) == scheduler, means[scheduler]


@pytest.mark.long
@pytest.mark.parametrize("known", [True, False])
def test_of_20_logs_the_scheduler_is_named_in_at_least_18(known, tmp_path):
    found = [named(seed, known, tmp_path) for seed in range(1000, 1020)]
    assert sum(right for right, _ in found) >= 18
