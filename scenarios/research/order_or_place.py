"""Why does EDF wait less than FIFO on the normal day? Not for its deadlines.

A policy is an order (which job is next) and a placement (on which slot). With FIFO's
placement, earliest deadline first waits as long as first come, first served; EDF waits
less because its placement prefers types in stock. On the hectic day, when jobs queue,
orders matter.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.statistics import paired_difference
from cgrsp_simpy.base.table import aligned
from cgrsp_simpy.rental.policies import rules

ORDERS = {
    "submission": rules.by_submission,
    "shortest": rules.shortest_first,
    "deadline": rules.by_deadline,
}
PLACES = {
    "first idle": rules.first_idle,
    "stock": rules.stock_then_fastest,
    "score": rules.speed_cost_stock,  # as in SPT
}
FIFO, EDF = ("submission", "first idle"), ("deadline", "stock")


def grid(day, seeds):
    """Compare all orders with all placements on a day of the thesis.

    The difference of two cells of one row is the placement's, of one column the
    order's.
    """
    policies = [
        cg.ListPolicy(ORDERS[order], PLACES[place], f"{order} x {place}")
        for order in ORDERS
        for place in PLACES
    ]
    return cg.compare(cg.day(day), policies, seeds)


def values(study, pair, figure="wait_min"):
    """Return a figure by seed of a pair of an order and a placement."""
    return study.values(" x ".join(pair), figure)


def shares(study, first, second, figure="wait_min"):
    """Split the difference of two pairs: in all, by the order, by the placement.

    The order changes first, under the first placement, then the placement.
    """
    steps = [values(study, pair, figure) for pair in (first, second)]
    steps.insert(1, values(study, (second[0], first[1]), figure))
    pairs = (2, 0), (1, 0), (2, 1)
    return [paired_difference(steps[late], steps[early]) for late, early in pairs]


def table(study, figure="wait_min"):
    """Return the means with 95 % half widths as text, one line per order."""
    means = study.means()
    rows = [[figure, *PLACES]]
    for order in ORDERS:
        cells = [means[f"{order} x {place}"][figure] for place in PLACES]
        rows.append([order, *(f"{x.mean:.2f} ± {x.half_width:.2f}" for x in cells)])
    return "\n".join(aligned(rows))


if __name__ == "__main__":
    for day, number in (("normal", 100), ("hectic", 20)):
        study = grid(day, range(5000, 5000 + number))
        print(f"{day} day, wait in minutes, {number} seeds")
        print(table(study))
        texts = [
            f"{x.mean:+.2f} ± {x.half_width:.2f}" for x in shares(study, FIFO, EDF)
        ]
        print("EDF less FIFO {}: order {}, placement {}\n".format(*texts))
