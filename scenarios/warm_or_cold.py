"""Should a studio keep instances warm between jobs?

On a hectic day, for one minute: three quarters less wait for 4 % more rent.

There the next job follows within the minute, and nearly all of the thesis's wait is
for instances in place of others that were given back a moment ago. Where provisioning
is paid, too, the day gets cheaper by two thirds. On a normal day jobs are minutes
apart: five minutes cost four times the rent and save a minute or two of wait, half an
hour costs ten times the rent and saves most of it.
"""

import cgrsp_simpy as cg

DAYS, KEPT_S, SEEDS = ("normal", "hectic", "surge"), (0, 60, 300, 1800), range(6)


def days(name, warm_s, seeds=SEEDS):
    """Mean figures of first come, first served; provisioning is paid as well."""
    terms = cg.Terms(warm_s=warm_s, billed_from="provisioning")
    study = cg.compare(cg.day(name, terms=terms), ["fifo"], seeds)
    return {figure: value.mean for figure, value in study.means()["fifo"].items()}


if __name__ == "__main__":
    print(
        f"mean of {len(SEEDS)} days, fifo       | $ for\n"
        "day     kept, s  wait, min  late, % | execution   idle  provisioning    all"
    )
    for name in DAYS:
        for warm_s in KEPT_S:
            day = days(name, warm_s)
            print(
                f"{name:7} {warm_s:7} {day['wait_min']:10.1f} {day['miss_pct']:8.2f} |"
                f" {day['executing_usd']:9.2f} {day.get('idle_usd', 0):6.2f}"
                f" {day['provisioning_usd']:13.2f} {day['cost_usd']:6.2f}"
            )
