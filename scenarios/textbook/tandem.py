"""Two more places between two stations raise the throughput from 0.80 to 0.86.

A station that has finished keeps its part until there is a place for it: blocking after
service. Source: Hunt (1956), Operations Research 4, 674-683; Gross and Harris,
Fundamentals of Queueing Theory, Section 4.1.
"""

import cgrsp_simpy as cg


@cg.model(
    figures={
        "throughput": cg.Metric("parts per minute", better="more"),
        "buffer1_level": cg.Metric("parts between the first stations", better=""),
        "buffer1_put_wait": cg.Metric("time blocked per part", "min"),
    }
)
def tandem(env, draw, stations=2, places=2, work=1.0, parts=5000):
    """Parts pass stations in a line. work: mean minutes; places: between stations."""
    buffers = [cg.Store(env, places, f"buffer{n}") for n in range(1, stations)]
    streams = [draw("work", n) for n in range(stations)]

    def first():
        for _ in range(parts):
            works = [stream.exponential(work) for stream in streams]
            yield env.timeout(works[0])
            yield buffers[0].put(works)

    def station(number):
        for _ in range(parts):
            works = yield buffers[number - 1].get()
            yield env.timeout(works[number])
            if number < stations - 1:
                yield buffers[number].put(works)

    env.process(first())
    for number in range(1, stations):
        env.process(station(number))
    env.run()
    return {"throughput": parts / env.now}


if __name__ == "__main__":
    print(cg.compare(tandem, [{"places": 2}, {"places": 4}], seeds=range(10)))
    for places in (2, 4):
        print(f"formula: {places} places, {(places + 2) / (places + 3):.4f} per minute")
