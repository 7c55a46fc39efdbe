"""With one agent fewer, more than twice as many callers hang up.

Callers hang up after waiting for 90 seconds. Source: Zeltyn and Mandelbaum (2005),
Queueing Systems 51, 361-402.
"""

import cgrsp_simpy as cg


@cg.model
def reneging(env, draw, agents=5, patience=90.0, gap=12.0, talk=60.0, end=100_000):
    """Callers renege. gap, talk: mean times; patience: the longest wait; seconds."""
    desk = cg.Resource(env, agents, name="desk")

    def caller(talk_s):
        with desk.request() as turn:
            if turn in (yield turn | env.timeout(patience)):
                yield env.timeout(talk_s)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            env.process(caller(draw("talk").exponential(talk)))

    env.process(source())
    env.run(end)


if __name__ == "__main__":
    print(cg.compare(reneging, [{"agents": 5}, {"agents": 4}], seeds=range(10)))
    for agents in (5, 4):
        queue = cg.queueing.mmc_patience(1 / 12, 1 / 60, agents, 90)
        print(
            f"formula: {agents} agents, {100 * queue.left:.2f} % renege,"
            f" queue {queue.wait_s / 12:.2f}"
        )
