"""With four places to wait, not two, fewer customers balk, and the others wait longer.

Source: Gross and Harris, Fundamentals of Queueing Theory, Section 2.4 (M/M/c/K).
"""

import cgrsp_simpy as cg


@cg.model
def balking(env, draw, barbers=2, places=2, gap=10.0, work=18.0, end=100_000):
    """Customers who find all places taken do not enter. gap, work: mean minutes."""
    chair = cg.Resource(env, barbers, name="chair")
    arrived = balked = 0

    def customer(work_min):
        with chair.request() as turn:
            yield turn
            yield env.timeout(work_min)

    def source():
        nonlocal arrived, balked
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            work_min = draw("work").exponential(work)
            arrived += 1
            if chair.count == barbers and len(chair.queue) >= places:
                balked += 1
            else:
                env.process(customer(work_min))

    env.process(source())
    env.run(end)
    return {"balked_pct": 100 * balked / arrived}


if __name__ == "__main__":
    print(cg.compare(balking, [{"places": 2}, {"places": 4}], seeds=range(10)))
    for places in (2, 4):
        queue = cg.queueing.mmck(1 / 10, 1 / 18, 2, places)
        wait = queue.wait_s / (1 - queue.left)
        print(
            f"formula: {places} places, {100 * queue.left:.2f} % balk,"
            f" the others wait {wait:.2f} min"
        )
