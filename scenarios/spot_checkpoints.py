"""How often should a job on spot instances write a checkpoint?

Every twenty minutes, by Young's rule; from ten to forty it hardly matters.

Jobs of four hours run on instances at a third of the price, which are preempted every
three hours on average. A checkpoint takes a minute, a restart two. Young's interval is
the root of 2 x time of a checkpoint / rate of preemptions. Without checkpoints half of
the paid time is lost, and with it nearly half of the saving by spot instances. J. W.
Young, A first order approximation to the optimum checkpoint interval, Communications of
the ACM 17 (1974).
"""

from math import sqrt

import cgrsp_simpy as cg

ON_DEMAND_USD, SPOT_USD = 3.06, 0.97  # an hour
PER_H, WRITING_S, RESTART_S, SEEDS = 1 / 3, 60, 120, range(10)
YOUNG_S = sqrt(2 * WRITING_S * 3600 / PER_H)


def rented(price_usd, terms):
    """Twenty jobs of four hours on four slots that are in stock."""
    gpu = cg.GpuType("V100", price_usd, (4 * 3600,), 1.0)
    jobs = cg.PoissonWorkload(20, 1 / 7200, (1.0,), [cg.DeadlineClass("day", 1, 86400)])
    at_hand = cg.Market(delay_s=((60, 120),) * 3)
    return cg.Scenario("V100", jobs, (gpu,) * 4, (gpu,), market=at_hand, terms=terms)


def spot(checkpoint_s):
    """Terms of spot; None: without checkpoints."""
    terms = cg.Terms(preemption_per_h=PER_H, restart_s=RESTART_S)
    if checkpoint_s is None:
        return terms
    return cg.Terms(
        preemption_per_h=PER_H,
        checkpoint_s=checkpoint_s,
        checkpoint_cost_s=WRITING_S,
        restart_s=RESTART_S,
    )


def figures(price_usd, terms, seeds=SEEDS):
    """Mean figures of earliest deadline first."""
    study = cg.compare(rented(price_usd, terms), ["edf"], seeds)
    return {figure: value.mean for figure, value in study.means()["edf"].items()}


if __name__ == "__main__":
    dear_usd = figures(ON_DEMAND_USD, cg.Terms())["cost_usd"]
    print(f"on demand ${dear_usd:.0f}; Young: {YOUNG_S / 60:.0f} min")
    print("checkpoint  taken  lost, h  restarts, h  writing, h    $  of on demand")
    for minutes in (2, 5, 10, 20, 40, 80, None):
        found = figures(SPOT_USD, spot(minutes and 60 * minutes))
        print(
            f"{f'{minutes} min' if minutes else 'none':10}"
            f" {found['preemptions']:6.1f} {found['lost_s'] / 3600:8.1f}"
            f" {found['restarting_s'] / 3600:12.1f}"
            f" {found.get('checkpoints_s', 0) / 3600:11.1f} {found['cost_usd']:4.0f}"
            f" {found['cost_usd'] / dear_usd:13.1%}"
        )
