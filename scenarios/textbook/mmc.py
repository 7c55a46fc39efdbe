"""With a third server, customers of an M/M/2 queue wait a tenth as long.

Source: Gross and Harris, Fundamentals of Queueing Theory, Section 2.3.
"""

import cgrsp_simpy as cg


@cg.model
def mmc(env, draw, servers=2, gap=60.0, work=100.0, warm_up=20_000, end=500_000):
    """Customers wait for one of several servers. gap, work: mean times in seconds."""
    desk = cg.Resource(env, servers, name="desk")
    cg.warm_up(env, warm_up)

    def customer(work_s):
        with desk.request() as turn:
            yield turn
            yield env.timeout(work_s)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            env.process(customer(draw("work").exponential(work)))

    env.process(source())
    env.run(end)


if __name__ == "__main__":
    print(cg.compare(mmc, [{"servers": 2}, {"servers": 3}], seeds=range(10)))
    for servers in (2, 3):
        queue = cg.queueing.mmc(1 / 60, 1 / 100, servers)
        print(f"formula: {servers} servers, mean wait {queue.wait_s:.2f} s")
