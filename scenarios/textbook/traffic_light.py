"""If two more vehicles pass per green phase, the wait is two fifths shorter.

Vehicles gather while the light is red; a green phase releases as many as can pass, and
the others wait for the next. Source: Bailey (1954), Journal of the Royal Statistical
Society B 16, 80-87.
"""

import cgrsp_simpy as cg


@cg.model(figures={"wait": cg.Metric("wait", "s"), "lane_level": cg.Metric("queue")})
def traffic_light(env, draw, batch=10, cycle=60.0, gap=6.5, end=100_000):
    """Vehicles pass in batches. gap: mean seconds between them; cycle: in seconds."""
    lane = cg.Store(env, name="lane")
    wait = cg.Monitor(env, "wait")

    def light():
        while True:
            yield env.timeout(cycle)
            for _ in range(min(batch, len(lane.items))):
                arrival = yield lane.get()
                wait.tally(env.now - arrival)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            yield lane.put(env.now)

    env.process(light())
    env.process(source())
    env.run(end)


if __name__ == "__main__":
    print(cg.compare(traffic_light, [{"batch": 10}, {"batch": 12}], seeds=range(10)))
    for batch in (10, 12):
        wait = cg.queueing.batch_service(1 / 6.5, 60, batch)
        print(f"formula: {batch} vehicles per green phase, mean wait {wait:.2f} s")
