"""Are estimated savings by hourly slots confirmed on fresh seeds?

Twenty random logs of three days, each with one or two peaks. `advise` searches
schedules of slots and reports a saving compared with the best fixed fleet, with a 95 %
interval over ten seeds. The saving is then measured on thirty fresh seeds.

Run time: half an hour.
"""

import tempfile
from pathlib import Path

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.decide.advice import advise
from cgrsp_simpy.decide.recommend import COST, Prices

DAYS, DUE_S = 3, 2700.0
FRESH = range(10_000, 10_030)


def random_log(number, folder):
    """Write a log: a base rate, and one or two peaks of one to four hours a day."""
    draw = np.random.default_rng(number)
    per_h = np.full(24, draw.uniform(0.5, 3.0))
    for _ in range(draw.integers(1, 3)):
        begin, hours = draw.integers(0, 20), draw.integers(1, 5)
        per_h[begin : begin + hours] = draw.uniform(8.0, 30.0)
    lines = ["submit_s,service_s,deadline_s"]
    for hour in range(24 * DAYS):
        jobs = draw.poisson(per_h[hour % 24])
        for at_s in 3600 * (hour + np.sort(draw.uniform(0, 1, jobs))):
            service_s = draw.lognormal(np.log(500), 0.5)
            lines.append(f"{at_s:.0f},{service_s:.0f},{at_s + DUE_S:.0f}")
    path = folder / f"log_{number}.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def main():
    inside = promised = 0
    print(f"{'log':>3} {'plan':46} {'promised, USD per day':>21} {'fresh':>6} inside")
    with tempfile.TemporaryDirectory() as folder:
        for number in range(20):
            scenario = cg.trace(
                random_log(number, Path(folder)), slots=["RTX 3090"] * 4
            )
            prices = Prices(price_slot=2.0)
            advice = advise(scenario, ["fifo"], range(10), prices=prices)
            best, trials = advice.best, advice.trials
            control = advice.fixed or advice.now
            saved = trials.change(control, best, COST, advice.seeds)
            trials.run([control, best], FRESH)
            fresh = trials.change(control, best, COST, FRESH).mean
            promised += bool(best.hours)
            holds = saved.low <= fresh <= saved.high
            inside += holds
            interval = f"{saved.low:.2f} to {saved.high:.2f}"
            print(
                f"{number:3} {best!s:46.46} {interval:>21} {fresh:6.2f} {holds}",
                flush=True,
            )
    print(f"{promised} schedules; {inside} of 20 inside the interval")


if __name__ == "__main__":
    main()
