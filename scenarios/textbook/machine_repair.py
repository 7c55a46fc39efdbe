"""With a third repairer, ten machines make a seventh more parts.

Breakdowns interrupt a part, which is continued after the repair. Source: Gross and
Harris, Fundamentals of Queueing Theory, Section 2.7 (finite-source queues).
"""

import simpy

import cgrsp_simpy as cg


@cg.model
def machine_repair(
    env, draw, machines=10, repairers=2, life=20.0, repair=5.0, part=0.5, end=4000
):
    """Machines break down. life, repair, part: mean hours."""
    crew = cg.Resource(env, repairers, name="crew")
    parts = 0

    def breakdown(machine, life_h):
        yield env.timeout(life_h)
        machine.interrupt()

    def machine(number):
        nonlocal parts
        draws = [draw(name, number) for name in ("lives", "repairs", "parts")]
        lives, repairs, works = (stream.exponential for stream in draws)
        env.process(breakdown(env.active_process, lives(life)))
        while True:
            left = works(part)
            while left > 0:
                begin = env.now
                try:
                    yield env.timeout(left)
                    left = 0
                except simpy.Interrupt:
                    left -= env.now - begin
                    with crew.request() as turn:
                        yield turn
                        yield env.timeout(repairs(repair))
                    env.process(breakdown(env.active_process, lives(life)))
            parts += 1

    for number in range(machines):
        env.process(machine(number))
    env.run(end)
    return {"parts_per_h": parts / env.now}


if __name__ == "__main__":
    alternatives = [{"repairers": 2}, {"repairers": 3}]
    print(cg.compare(machine_repair, alternatives, seeds=range(10)))
    for repairers in (2, 3):
        queue = cg.queueing.finite_source(10, 1 / 20, 1 / 5, repairers)
        up = queue.utilisation * repairers * 20 / 5  # machines that work
        print(
            f"formula: {repairers} repairers, {up / 0.5:.2f} parts per hour,"
            f" mean wait {queue.wait_s:.2f} h"
        )
