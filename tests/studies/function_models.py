"""Models as plain SimPy functions, for tests of studies."""

import cgrsp_simpy as cg


@cg.model
def bank(env, draw, tellers=2, gap_s=60.0, until_s=4 * 3600.0, rule=min):
    """Customers wait for a teller; until_s: when the bank closes."""
    desk = cg.Resource(env, tellers, name="desk")
    response = cg.Monitor(env, "response")

    def customer(work_s):
        arrival = env.now
        with desk.request() as turn:
            yield turn
            yield env.timeout(work_s)
        response.tally(env.now - arrival)

    def arrivals():
        while True:
            yield env.timeout(draw("gaps").exponential(gap_s))
            works = draw("work").exponential(100, 2)
            env.process(customer(rule(works) * 2))

    env.process(arrivals())
    env.run(until_s)


@cg.model(
    figures={
        "wait": cg.Metric("mean wait", "s"),
        "served": cg.Metric("customers served", better="more"),
    }
)
def short_bank(env, seed, draw, tellers=2):
    """The same with figures of its own; its first seeds fail with one teller."""
    if tellers == 0:
        raise RuntimeError(f"no teller on seed {seed}")
    desk = cg.Resource(env, tellers, name="desk")

    def customer(work_s):
        with desk.request() as turn:
            yield turn
            yield env.timeout(work_s)

    for _ in range(20):
        env.process(customer(draw("work").exponential(100)))
    env.run()
    figures = desk.figures()
    return {"wait": figures["wait"], "served": len(desk.waits)}
