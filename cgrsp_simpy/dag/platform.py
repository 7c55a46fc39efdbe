"""GPUs of different speed on servers, and what connects them (worl-rtgs.txt Section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.model.checks import check_number, check_whole, entries_of, require
from cgrsp_simpy.model.streams import stream

__all__ = ["BUSY", "IDLE", "Platform", "servers"]

BUSY, IDLE = (0.5, 0.8), (0.1, 0.5)  # shares of the GPUs' capacity that others use, worl-rtgs.txt Section 4.2


@dataclass(frozen=True, eq=False)
class Platform:
    """GPUs. tflops: speed of each, 10^12 operations per second > 0, shape (gpus,). memory_mb: of each, whole megabytes >= 1.

    server: of each, whole numbers. bandwidth_gb_per_s: between each two GPUs, gigabytes per second, shape (gpus, gpus); 0 where
    there is no connection, and not looked at on the diagonal: data need not move on one GPU. Raises InputError for what is not
    allowed.
    """

    tflops: Floats = field(repr=False)
    memory_mb: Ints = field(repr=False)
    server: Ints = field(repr=False)
    bandwidth_gb_per_s: Floats = field(repr=False)
    name: str = "GPUs"

    def __post_init__(self) -> None:
        for column in ("tflops", "bandwidth_gb_per_s"):
            object.__setattr__(self, column, np.array(getattr(self, column), dtype=np.float64))
        for column in ("memory_mb", "server"):
            object.__setattr__(self, column, np.array(getattr(self, column), dtype=np.int64))
        require(self.gpus > 0, "GPUs", self.gpus, "at least one")
        for column in ("memory_mb", "server"):
            require(
                len(getattr(self, column)) == self.gpus,
                f"number of {column}",
                len(getattr(self, column)),
                f"{self.gpus}, one a GPU",
            )
        for gpu, (tflops, memory_mb) in enumerate(zip(self.tflops.tolist(), self.memory_mb.tolist())):
            check_number(f"tflops of GPU {gpu}", tflops, above=0)
            check_whole(f"memory_mb of GPU {gpu}", memory_mb, least=1)
        shape = self.bandwidth_gb_per_s.shape
        require(shape == (self.gpus, self.gpus), "shape of bandwidth_gb_per_s", shape, f"({self.gpus}, {self.gpus})")
        for one, other in np.argwhere(~(self.bandwidth_gb_per_s >= 0))[:1].tolist():
            value = self.bandwidth_gb_per_s[one, other].item()
            require(False, f"bandwidth_gb_per_s from GPU {one} to GPU {other}", value, "a number >= 0")

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.tflops)

    def in_use(self, share: Floats) -> Platform:
        """The platform with a share of each GPU's speed in use by others; shape (gpus,), each at least 0 and below 1.

        Scaling the speed by 1 - share is ours (the paper only says that the servers are busy or idle).
        """
        for gpu, used in enumerate(np.asarray(share).tolist()):
            require(0 <= used < 1, f"share in use of GPU {gpu}", used, "at least 0 and below 1")
        return replace(self, tflops=self.tflops * (1 - np.asarray(share)))


def servers(
    gpus: int,
    per_server: int = 8,
    tflops: tuple[float, ...] = (15.7, 19.5, 66.9),
    memory_gb: float = 80.0,
    intra_gb_per_s: float = 300.0,
    inter_gb_per_s: float = 25.0,
    used: tuple[float, float] | None = None,
    seed: int = 0,
) -> Platform:
    """GPUs on servers of per_server each, the last with what is left.

    tflops: speeds, dealt to the GPUs in turn; the defaults are those of V100, A100 and H100 in single precision (ours; the paper
    prints none). Bandwidth: NVLink within a server (worl-rtgs.txt Section 3.1: 50 to 600 GB/s), a network between servers. used:
    bounds of the share of each GPU that others use, drawn uniformly by the seed, as BUSY or IDLE.
    """
    check_whole("gpus", gpus, least=1)
    check_whole("per_server", per_server, least=1)
    check_number("memory_gb", memory_gb, above=0)
    check_number("intra_gb_per_s", intra_gb_per_s, least=0)
    check_number("inter_gb_per_s", inter_gb_per_s, least=0)
    speeds = entries_of("tflops", tflops, "a list of speeds")
    server = np.arange(gpus) // per_server
    bandwidth = np.where(server[:, None] == server, intra_gb_per_s, inter_gb_per_s)
    memory_mb = np.full(gpus, int(memory_gb * 1000))
    platform = Platform(np.resize(speeds, gpus), memory_mb, server, bandwidth, f"{gpus} GPUs")
    return platform if used is None else platform.in_use(stream(seed, "in use").uniform(*used, gpus))
