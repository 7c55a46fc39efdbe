"""Slots by the hour, or one more slot when jobs wait?

The better of the two costs about a third of the best fixed number of slots, or less. If
a slot boots in five minutes, the rule is best, because it opens only the slots that a
day needs. If it takes 40 minutes, the rule opens slots too late for the rush, and the
schedule is best.

Jobs take about ten minutes: three arrive in two hours, and thirty from 9 to 10 h; each
is due 30 minutes after its submission. A missed deadline costs 1 USD, and a slot 2 USD
per day, paid by the hour and free while it boots.
"""

import numpy as np

import cgrsp_simpy as cg

GPU = cg.GpuType("L4", 0.0, (560.0, 600.0, 700.0), 1.0)
CLOCK = cg.Clock(((0.0, 1.0),))
SEEDS, BOOTS_S, SLOT_USD_PER_H = range(20), (300.0, 2400.0), 2 / 24


class Threshold(cg.Scenario):
    """One slot is always open; others open when jobs wait and close when idle."""

    def set_up(self, run):
        run.ordered = 1

    def processes(self, run):
        return [self.slot(run, slot) for slot in run.resources[1:]]

    def slot(self, run, slot):
        while True:
            with run.down(slot, interrupt=False):
                while run.view.waiting <= run.ordered:
                    yield run.timeout(60)
                run.ordered += 1
                yield run.timeout(self.opening.boot_s)
            while run.view.waiting or slot.filled_by:
                yield run.timeout(60)
            run.ordered -= 1


def studio(boot_s, slots, hours=(), kind=cg.Scenario):
    """The day of the studio on a number of slots, all of them or by the hour."""
    rates = cg.ArrivalRates(((1.5,) * 9 + (30.0,) + (1.5,) * 14,), 0.0)
    deadlines = (cg.DeadlineClass("all", 1.0, 1800.0),)
    return kind(
        "studio",
        cg.HourlyWorkload(65, rates, deadlines=deadlines),
        (GPU,) * slots,
        (GPU,),
        market=cg.Market(CLOCK, delay_s=((0, 0),) * 3),
        opening=cg.Opening(hours, boot_s),
    )


def cost_of(scenario, seed):
    """USD for slots and missed deadlines, and these, per cent."""
    run = cg.simulate(scenario, "fifo", seed)
    slot_s = len(scenario.slots) * run.jobs["finish_s"].max() - sum(run.closed_s)
    missed = np.mean(run.jobs["finish_s"] > run.jobs["deadline_s"])
    return slot_s / 3600 * SLOT_USD_PER_H + missed * len(run.jobs), 100 * missed


def plans(boot_s):
    """Fixed numbers, schedules and the rule, by name."""
    by_name = {f"{n} slots, always open": studio(boot_s, n) for n in (3, 4, 5, 6)}
    for begin, peak in ((8, 5), (8, 6), (9, 5), (9, 6)):
        hours = ((0, 1), (begin, peak), (11, 1))
        by_name[f"1 slot, {peak} from {begin} to 11 h"] = studio(boot_s, peak, hours)
    return by_name | {"threshold rule": studio(boot_s, 6, kind=Threshold)}


def main():
    for boot_s in BOOTS_S:
        title = f"boot time {boot_s / 60:g} min"
        print(f"{title:24}  {'USD per day':>13}  missed, %")
        for name, scenario in plans(boot_s).items():
            usd, missed = np.transpose([cost_of(scenario, seed) for seed in SEEDS])
            half = 2.09 * usd.std(ddof=1) / len(usd) ** 0.5
            print(f"{name:24}  {usd.mean():6.2f} ± {half:4.2f}  {missed.mean():9.1f}")


if __name__ == "__main__":
    main()
