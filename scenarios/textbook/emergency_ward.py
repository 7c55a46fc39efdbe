"""With priorities, urgent patients wait a third as long, and minor cases much longer.

A doctor treats the most urgent patient next and interrupts no treatment. Source:
Cobham (1954), Operations Research 2, 70-76; Kleinrock, Queueing Systems, volume 2
(1976), Chapter 3.
"""

import cgrsp_simpy as cg

KINDS = ("urgent", "normal", "minor")
SHARES = (0.2, 0.5, 0.3)


@cg.model(figures={kind: cg.Metric(f"mean wait, {kind}", "min") for kind in KINDS})
def emergency_ward(
    env, draw, priorities=(0, 1, 2), gap=20.0, works=(25.0, 15.0, 10.0), end=100_000
):
    """Patients wait for a doctor. gap, works: mean minutes, works by kind."""
    doctor = cg.PriorityResource(env, name="doctor")
    waits = [cg.Monitor(env, kind) for kind in KINDS]

    def patient(kind, work):
        arrival = env.now
        with doctor.request(priorities[kind]) as turn:
            yield turn
            waits[kind].tally(env.now - arrival)
            yield env.timeout(work)

    def source():
        while True:
            yield env.timeout(draw("gaps").exponential(gap))
            kind = draw("kinds").choice(3, p=SHARES)
            env.process(patient(kind, draw("work").exponential(works[kind])))

    env.process(source())
    env.run(end)


if __name__ == "__main__":
    alternatives = {"as they come": {"priorities": (0, 0, 0)}, "by need": {}}
    print(cg.compare(emergency_ward, alternatives, seeds=range(10)))
    rates, means = [share / 20 for share in SHARES], (25, 15, 10)
    waits = cg.queueing.mg1_priority(rates, means, [2 * mean**2 for mean in means])
    for kind, wait in zip(KINDS, waits):
        print(f"formula: by need, {kind} {wait:.2f} min")
