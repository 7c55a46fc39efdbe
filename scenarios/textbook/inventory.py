"""Reordering at 30 instead of 25 items serves more customers at once, from more stock.

Order up to S items when s are left: an (s, S) policy. Customers wait for what is out of
stock. Source: Zipkin, Foundations of Inventory Management (2000), Chapter 6; Law,
Simulation Modeling and Analysis, Section 1.5.
"""

from scipy import special

import cgrsp_simpy as cg


@cg.model
def inventory(env, draw, low=25, high=60, gap=0.2, lead=5.0, warm_up=100, days=1100):
    """Customers buy an item each. gap: mean days between them; lead: days."""
    stock = cg.Container(env, init=high, name="stock")
    cg.warm_up(env, warm_up)

    def delivery(amount):
        yield env.timeout(lead)
        yield stock.put(amount)

    def customer():
        yield stock.get(1)

    def source():
        position = high
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            env.process(customer())
            position -= 1
            if position == low:
                env.process(delivery(high - low))
                position = high

    env.process(source())
    env.run(days)


def formula(low, high, demand):
    """Return mean stock and share in % of customers served at once.

    The stock is the position a delivery time ago, which is uniform on s + 1 to S, less
    the Poisson demand since then. demand: its mean.
    """
    level = served = 0.0
    for position in range(low + 1, high + 1):
        below = special.pdtr(position - 1, demand)  # P(demand < position)
        at_most = special.pdtr(position, demand)
        level += position * at_most - demand * below
        served += 100 * below
    return level / (high - low), served / (high - low)


if __name__ == "__main__":
    print(cg.compare(inventory, [{"low": 25}, {"low": 30}], seeds=range(10)))
    for low in (25, 30):
        level, served = formula(low, 60, 5 / 0.2)
        print(f"formula: s = {low}, level {level:.2f}, {served:.2f} % served at once")
