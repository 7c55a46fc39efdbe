"""Random-number streams: for each seed, one named stream per purpose."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from numpy.random import PCG64, Generator, SeedSequence

from cgrsp_simpy.base.checks import check_whole


def stream(seed: int, name: str, *numbers: int) -> Generator:
    """Return the stream `name` of a seed, independent of the order of calls.

    numbers: select among several streams of a name, such as by a job's id.

    Names in use: arrivals, complexity, deadlines, status, delay, service, needs (the
    jobs' draws), attempts (by job, from the second dispatch on), preemptions (by slot
    and type), seen (the statuses that the scheduler sees), "market TYPE" (persistent
    stock), state (by job, unknowns of a queue's state), "state TYPE" (courses of the
    stock that agree with a state), "market start" (start of a replayed series), "wait
    predictions" and "run predictions" (which fail), policy (a random policy's own),
    lucks (seeds of other draws for the same arrivals), days (a month's kinds of days
    and their seeds) and bootstrap; in HGSP tasks, workloads, memory, weights, "service
    noise", and sagreedy and search (of the searches); of jobs of clusters arrivals,
    gpus, durations, estimates, kinds, families, rates (of the families) and users; of
    LLM requests arrivals, prompts and outputs; of plans growth (jobs that are added to
    a log) and interruptions (of spot instances); of DAGs "dag edges", "dag work", "dag
    data", "dag memory", "in use" (of the GPUs), "plan pairs", "random plan", "random
    search", "dag annealing", whales, network and exploration; of spot instances "spot
    start" (start in its traces) and "spot zone 0", 1 and so on; verify (which runs are
    repeated), "public program" (of the cluster paper), generated (the thesis's jobs, in
    its figures), exercise, and "run " before those of a job process. Those of scenarios
    that are drawn at random begin with "suite".
    """
    check_whole("seed", seed, least=0)
    # the name of a student may contain half of a pair in UTF-16
    return Generator(
        PCG64(
            SeedSequence(
                seed,
                spawn_key=(zlib.crc32(name.encode(errors="surrogatepass")), *numbers),
            )
        )
    )


def uniforms(generator: Generator) -> Iterator[float]:
    """Yield uniform variates on [0, 1), as Python floats."""
    while True:
        yield from generator.random(1024).tolist()


class Draw:
    """Random-number streams of a run.

    `draw("gaps")` and `draw("health", 3)` return Generators by name, always the same
    one. prefix: added to the names. Raises InputError for a number that is not whole or
    is negative.
    """

    def __init__(self, seed: int, prefix: str = "") -> None:
        self.seed, self.prefix = seed, prefix
        self._streams: dict[tuple[str, int], Generator] = {}

    def __call__(self, name: str, number: int = 0) -> Generator:
        key = name, number
        if key not in self._streams:
            check_whole(f"number of the stream {name!r}", number, least=0)
            self._streams[key] = stream(self.seed, f"{self.prefix}{name}", number)
        return self._streams[key]
