"""A third teller at night helps the plain customers; the others are hardly affected.

Tellers work in shifts and finish the customer whom they serve. VIP customers preempt
plain ones, who continue later. Source: Kleinrock, Queueing Systems, volume 2 (1976),
Section 3.4, for a single teller.
"""

import simpy

import cgrsp_simpy as cg


@cg.model
def bank(env, draw, day=4, night=2, gap=60.0, work=100.0, vip_share=0.3, days=5):
    """Customers with priorities. gap, work: mean seconds; day, night: tellers."""
    desk = cg.PreemptiveResource(env, day, name="desk")
    cg.schedule(env, desk, [(0, day), (16 * 3600, night)], period=24 * 3600)
    responses = [cg.Monitor(env, "vip"), cg.Monitor(env, "plain")]

    def customer(priority, left):
        arrival = env.now
        while left > 0:
            with desk.request(priority) as turn:
                yield turn
                begin = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= env.now - begin
        responses[priority].tally(env.now - arrival)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            priority = 0 if draw("vip").random() < vip_share else 1
            env.process(customer(priority, draw("work").exponential(work)))

    env.process(source())
    env.run(days * 24 * 3600)


if __name__ == "__main__":
    print(cg.compare(bank, [{"night": 2}, {"night": 3}], seeds=range(10)))
    single = {"day": 1, "night": 1, "gap": 150.0}
    study = cg.compare(bank, {"one teller": single}, seeds=range(10))
    rates = [0.3 / 150, 0.7 / 150]
    formula = cg.queueing.mg1_preemptive(rates, [100] * 2, [2 * 100**2] * 2)
    for kind, response in zip(("vip", "plain"), formula):
        mean = study.means()["one teller"][kind].mean
        print(f"one teller, {kind}: {mean:.1f} s, by the formula {response:.1f} s")
