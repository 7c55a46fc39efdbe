"""How many slots until at most 1 % of deadlines are missed on a hectic day?

CADR needs six; FIFO and RH need eight.
"""

import cgrsp_simpy as cg

if __name__ == "__main__":
    study = cg.sweep(
        cg.day,
        {"name": "hectic", "slots": range(3, 11)},
        policies=["fifo", "rh", "cadr"],
        seeds=range(30),
        executor=2,
    )
    print(study)
    print(
        "\nleast number of slots with at most 1 % missed, the whole 95 % interval"
        " included:"
    )
    for policy in study.policies:
        missed = {
            point["slots"]: comparison.means()[policy]["miss_pct"]
            for point, comparison in study
        }
        slots = min(slots for slots, miss in missed.items() if miss.high <= 1)
        print(
            f"{policy:5} {slots}:"
            f" {missed[slots].mean:.2f} ± {missed[slots].half_width:.2f} %"
        )
