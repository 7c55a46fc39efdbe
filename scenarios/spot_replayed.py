"""Does a rate of preemptions predict what happens to jobs on spot instances?

It predicts most of the lost work, but not the waits: 0.3 hours, where the record has
7.8 and a fitted model 6.9. All four instances are preempted at once, and then none is
available for hours.

Twenty jobs of four hours on four spot instances of a recorded zone (SkyPilot's spot
traces); seeds that begin on the same recorded day count as one observation. The replay
is compared with a model fitted to it (law), and with preemptions at the same rate per
hour of stock, with instances always available (rate). The model has two time scales, a
quarter of an hour and half a day. Its preemptions and waits do not differ significantly
from the record's. Run it as: python scenarios/spot_replayed.py FILE
"""

import sys

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of

SEEDS = range(60)
GPU = cg.GpuType("V100", 0.97, (4 * 3600,), 1.0)
AT_HAND = cg.Market(delay_s=((60, 120),) * 3)
SAVED = {"checkpoint_s": 1200, "checkpoint_cost_s": 60, "restart_s": 120}
TAKEN = cg.Terms(taken_when_low=True, retry_s=600, **SAVED)


def rented(market, terms):
    """The jobs, which come every two hours, on four slots of the zone."""
    jobs = cg.PoissonWorkload(20, 1 / 7200, (1.0,), [cg.DeadlineClass("day", 1, 86400)])
    scenario = cg.Scenario("V100", jobs, (GPU,) * 4, (GPU,), market=AT_HAND)
    if market is not None:
        scenario = cg.on_market(scenario, market, {"V100": market.stock[0].gpu})
    return subject_of(scenario).varied(terms=terms)


def per_h(series):
    """How often the zone runs out in an hour in which it has instances."""
    edges = [*series.times_s, series.length_s]
    spans = zip(series.statuses, edges, edges[1:])
    up_s = sum(to_s - from_s for status, from_s, to_s in spans if status < 2)
    falls = sum(
        before < 2 <= after
        for before, after in zip(series.statuses, series.statuses[1:])
    )
    return 3600 * falls / up_s


if __name__ == "__main__":
    zone = cg.measured(sys.argv[1])
    rate = per_h(zone.series[0])
    cases = {
        "replay": rented(zone, TAKEN),
        "law": rented(zone._replace(series=()), TAKEN),
        "rate": rented(None, cg.Terms(preemption_per_h=rate, **SAVED)),
    }
    print(f"{zone.stock[0].gpu}: runs out every {1 / rate:.1f} h of those in stock")
    print("        taken  lost, h      wait, h     missed, %     $")
    for name, scenario in cases.items():
        found = cg.compare(scenario, ["edf"], SEEDS).means()["edf"]
        wait, missed = found["wait_min"], found["miss_pct"]
        taken, lost_h = found["preemptions"].mean, found["lost_s"].mean / 3600
        print(
            f"{name:6} {taken:6.1f} {lost_h:8.1f}"
            f" {wait.mean / 60:6.1f} ± {wait.half_width / 60:4.1f}"
            f" {missed.mean:6.1f} ± {missed.half_width:4.1f}"
            f" {found['cost_usd'].mean:5.0f}"
        )
