"""Why does EDF wait less than FIFO on the normal day? Not for its deadlines.

A policy is an order (what runs next) and a placement (where). With FIFO's placement,
earliest deadline first waits as long as first come, first served; what shortens the
wait is that EDF looks for stock. On the hectic day, when jobs queue, orders matter.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.decide.order_place import order_by_place
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
    """All orders with all placements on a day of the thesis."""
    return order_by_place(cg.day(day), ORDERS, PLACES, seeds)


if __name__ == "__main__":
    for day, number in (("normal", 100), ("hectic", 20)):
        found = grid(day, range(5000, 5000 + number))
        print(f"{day} day, wait in minutes, {number} seeds")
        print(found.table("wait_min"))
        shares = found.shares("wait_min", FIFO, EDF)
        texts = [f"{each.mean:+.2f} ± {each.half_width:.2f}" for each in shares]
        print("EDF less FIFO {}: order {}, placement {}\n".format(*texts))
