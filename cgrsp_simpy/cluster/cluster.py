"""The nodes of a multi-GPU cluster, and what jobs take of them (cluster-schedulers.txt Section
IV.A).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cgrsp_simpy.cluster.placement import Need, Nodes, Placement, Pools, best_fit
from cgrsp_simpy.model.checks import check_whole, entries_of, require

if TYPE_CHECKING:
    from cgrsp_simpy.cluster.jobs import Jobs

MEMORY_STEPS = 256  # in which the memory of the largest node is counted, if it has more GB


@dataclass(frozen=True)
class Cluster:
    """Nodes with GPUs, which may differ in size.

    Parameters
    ----------
    sizes : sequence of int
        GPUs of each node.
    cores, memory_gb : sequence of int
        Of each node; none: jobs do not take them.
    types, partitions : sequence of str
        Of each node the type of its GPUs, and its partitions, parted by commas; none: jobs may have
        any node.

    Raises
    ------
    InputError
        For no node, one without GPUs (or cores, where these are told), and lists that are not one
        entry a node.
    """

    sizes: tuple[int, ...]
    cores: tuple[int, ...] = ()
    memory_gb: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("sizes", "cores", "memory_gb", "types", "partitions"):
            own = entries_of(name, getattr(self, name), "a list, one entry a node")
            object.__setattr__(self, name, own)
            require(len(self.sizes) > 0, "sizes", self.sizes, "at least one node")
            fit = len(own) in (0, len(self.sizes))
            require(fit, f"entries of {name}", len(own), f"{len(self.sizes)}, one a node")
        for name, least in {"GPUs": 0 if self.cores else 1, "cores": 1, "memory_gb": 0}.items():
            for node, size in enumerate(getattr(self, name.replace("GPUs", "sizes"))):
                check_whole(f"{name} of node {node}", size, least=least)

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return sum(self.sizes)

    def holds(self, gpus: int) -> bool:
        """Whether a job fits when nothing runs.

        gpus: of the job. Result: on one node, or, if it is too wide for any, on whole nodes.
        """
        return gpus <= max(self.sizes) or gpus <= self.gpus

    @property
    def step_gb(self) -> int:
        """Gigabytes in which memory is counted: those of a node rounded down, of a job up."""
        return -(-max(self.memory_gb, default=1) // MEMORY_STEPS)

    @property
    def pools(self) -> list[tuple[int, ...]]:
        """What jobs take of each node: GPUs, cores, steps of memory."""
        memory = tuple(size // self.step_gb for size in self.memory_gb)
        return [pool for pool in (self.sizes, self.cores, memory) if pool]

    def nodes(self, needs: Sequence[Any], placement: Placement = best_fit) -> Nodes:
        """The nodes, as jobs of some `needs` take them."""
        rich = isinstance(needs[0], Need)
        return Pools(self.pools, placement) if rich else Nodes(self.sizes, placement)

    def marks(self, jobs: Jobs) -> dict[str, tuple[str, ...]]:
        """Of each node what jobs look at in it, by the tag in which they tell what they want."""
        marks = {"gpu_type": self.types, "partition": self.partitions}
        return {name: own for name, own in marks.items() if own and name in jobs.tags}

    def needs(self, jobs: Jobs) -> Sequence[int] | Sequence[Need]:
        """What each job takes: its GPUs, where neither the jobs nor the cluster tell more.

        A job that does not tell its nodes takes the fewest on which it fits. A partition or type of
        GPU that is not told, or "a|b", leaves the choice.
        """
        marks, none = self.marks(jobs), np.zeros(jobs.jobs, np.int64)
        on_one = jobs.nodes is None or ((jobs.nodes == 1) & (jobs.gpus <= max(self.sizes))).all()
        if on_one and len(self.pools) == 1 and not marks:
            return list(map(int, jobs.gpus))
        cores = none if jobs.cores is None else jobs.cores
        memory = none if jobs.memory_gb is None else np.ceil(jobs.memory_gb / self.step_gb)
        told = [jobs.gpus, *[cores] * bool(self.cores), *[memory] * bool(self.memory_gb)]
        nodes = Pools(self.pools)

        @cache
        def where(name: str, text: str) -> int:
            wanted = {*re.split("[|,]", text)}
            fit = (not text or wanted & {*own.split(",")} for own in marks[name])
            return sum(1 << node for node, holds in enumerate(fit) if holds)

        @cache
        def need(amounts: tuple[int, ...], number: int, *texts: str) -> Need:
            allowed = (1 << len(self.sizes)) - 1
            for name, text in zip(marks, texts):
                allowed &= where(name, text)
            least = (Need(amounts, one, allowed) for one in range(1, len(self.sizes) + 1))
            fewest = (one for one in least if nodes.fits(nodes.all, one))
            own = min(number, max(amounts))  # no node without a part
            return Need(amounts, own, allowed) if number else next(fewest, Need(amounts, 1, 0))

        amounts = zip(*(column.astype(np.int64).tolist() for column in told))
        numbers = (none if jobs.nodes is None else jobs.nodes).tolist()
        return [need(*each) for each in zip(amounts, numbers, *map(jobs.tags.__getitem__, marks))]


PAPER_CLUSTER = Cluster((8,) * 8)  # 64 GPUs, cluster-schedulers.txt Section IV.A


def gpus_text(gpus: int) -> str:
    """A number of GPUs in words."""
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"
