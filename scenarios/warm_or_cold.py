"""Should a studio keep instances warm between jobs?

On a hectic day, for one minute: the wait falls by three quarters, and the rent rises by
4 %.

There the next job follows within the minute, and nearly all of the thesis's wait is for
instances that replace others returned a moment ago. If provisioning is paid, too, the
day costs two thirds less. On a normal day jobs are minutes apart: keeping an instance
for five minutes costs four times the rent and saves one to two minutes of wait; half an
hour costs ten times the rent and saves most of the wait.
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
