"""A real market, replayed: policies that use the observed stock wait for two minutes in
the median run, or one if they choose the type; the mean depends on two or three of the
sixteen days on which runs begin, when both types are out of stock.

The market is a month of half-hourly offers of H100 and A100 GPUs (GPU price tracker,
October and November 2025). Each seed is a normal day of the thesis that begins on one
of the market's days; seeds that begin on the same day count as one observation. Run it
as: python scenarios/replay_month.py FILE FILE
"""

import sys
from statistics import median

import cgrsp_simpy as cg

SEEDS = range(5000, 5030)


def replayed(files, free_types, sight):
    """A normal day on the catalogue's types; stock and prices are the market's."""
    day = cg.day("normal", gpus="2025", free_types=free_types)
    return cg.on_market(day, cg.measured(*files), sight=sight)


def waits(study, policy):
    """Median of the runs' mean waits, their mean over the days on which they begin, and
    the days of more than an hour.
    """
    runs = study.values(policy, "wait_min")
    (own,) = study.independent(runs)
    mean, long = study.means()[policy]["wait_min"], sum(wait > 60 for wait in own)
    return (
        f"{policy:5} {median(runs):6.1f} min in the median, {mean.mean:5.1f} ±"
        f" {mean.half_width:4.1f} in the mean, over an hour on {long:2} of {len(own)}"
    )


if __name__ == "__main__":
    for each in cg.measured(*sys.argv[1:]).stock:
        low_pct = 100 * sum(low for *_, low in each.chances) / 24
        hours = each.persistence_s / 3600
        print(f"{each.gpu}: Low {low_pct:.0f} % of the time, persistence {hours:.1f} h")
    for free_types in (False, True):
        for sight in ("none", "now"):
            scenario = replayed(sys.argv[1:], free_types, sight)
            study = cg.compare(scenario, ["fifo", "spt", "watch"], SEEDS)
            kind, seen = "free" if free_types else "fixed", "not " * (sight == "none")
            print(
                f"{kind} types, stock {seen}seen: {len(SEEDS)} runs on {study.n} days"
            )
            for policy in study.policies:
                print(f"  {waits(study, policy)}")
