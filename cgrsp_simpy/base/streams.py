"""Streams of random numbers: one seed, one stream a purpose, found by its name."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from numpy.random import PCG64, Generator, SeedSequence

from cgrsp_simpy.base.checks import check_whole


def stream(seed: int, name: str, *numbers: int) -> Generator:
    """The stream `name` of a seed. It depends on these alone, never on the order of
    calls.

    numbers: which of several streams of the name, such as a job's id.

    Names in use: arrivals, complexity, deadlines, status, delay, service, needs (the
    jobs' draws), attempts (by job, its luck from the second dispatch on), preemptions
    (by slot and type), seen (the statuses that the scheduler sees), "market TYPE"
    (stock of a type that persists), state (by job, what the state of a queue leaves
    open), "state TYPE" (which courses of the stock agree with a state), "market start"
    (where a replayed series begins), "wait predictions" and "run predictions" (which of
    these fail), policy (a random policy's own), lucks (seeds of other draws for the
    same arrivals), days (a month's kinds of days and their seeds) and bootstrap; in
    HGSP tasks, workloads, memory, weights, "service noise", and sagreedy and search (of
    the searches); of jobs of clusters arrivals, gpus, durations, estimates, kinds,
    families, rates (of the families) and users; of LLM requests arrivals, prompts and
    outputs; of plans growth (jobs that are added to a log) and interruptions (of spot
    instances); of DAGs "dag edges", "dag work", "dag data", "dag memory", "in use" (of
    the GPUs), "plan pairs", "random plan", "random search", "dag annealing", whales,
    network and exploration; of spot instances "spot start" (where in its traces a run
    begins) and "spot zone 0", 1 and so on; verify (which runs are repeated), "public
    program" (of the cluster paper), generated (the thesis's jobs, in its figures),
    exercise, and "run " before those of a job process. Those of scenarios that are
    drawn at random begin with "suite" (tests/benchmarks/suite.py).

    Raises InputError for a seed that is not a whole number >= 0.
    """
    check_whole("seed", seed, least=0)
    return Generator(
        PCG64(SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), *numbers)))
    )


def uniforms(generator: Generator) -> Iterator[float]:
    """Uniform variates on [0, 1), one after the other, as Python floats."""
    while True:
        yield from generator.random(1024).tolist()


class Draw:
    """The streams of a run by name: `draw("gaps")` and `draw("health", 3)` give a
    Generator each, the same one at every call.

    seed: of all. prefix: of the names.
    """

    def __init__(self, seed: int, prefix: str = "") -> None:
        self.seed, self.prefix = seed, prefix
        self._streams: dict[tuple[str, int], Generator] = {}

    def __call__(self, name: str, number: int = 0) -> Generator:
        key = name, number
        if key not in self._streams:
            self._streams[key] = stream(self.seed, f"{self.prefix}{name}", number)
        return self._streams[key]
