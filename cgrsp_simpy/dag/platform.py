"""GPUs of different speed on servers, and what connects them (worl-rtgs.txt Section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.dag.graph import Floats, Ints
from cgrsp_simpy.model.checks import check_number, check_whole, entries_of, require

# shares of the GPUs' capacity that others use, worl-rtgs.txt Section 4.2
BUSY, IDLE = (0.5, 0.8), (0.1, 0.5)


@dataclass(frozen=True, eq=False)
class Platform:
    """GPUs, and what connects them.

    Parameters
    ----------
    tflops : array_like of float
        Speed of each GPU, 10^12 operations per second, > 0; shape (gpus,).
    memory_mb : array_like of int
        Memory of each GPU, whole megabytes >= 1; shape (gpus,).
    server : array_like of int
        Server of each GPU, whole numbers; shape (gpus,).
    bandwidth_gb_per_s : array_like of float
        From each GPU to each other, gigabytes per second; shape (gpus, gpus). 0 where there is no
        connection. The diagonal is not looked at: data need not move on one GPU.
    latency_s : array_like of float, optional
        What a transfer takes beside its data over the bandwidth, seconds >= 0; shape (gpus, gpus).
        0 unless given, as in the paper; elsewhere as the start-up costs of HEFT's platform.
    names : sequence of str, optional
        Of the GPUs, for people.
    name : str
        Of the platform.

    References
    ----------
    Topcuoglu, Hariri and Wu (2002), IEEE TPDS 13, 260-274, Equation 3: the start-up costs.
    """

    tflops: Floats = field(repr=False)
    memory_mb: Ints = field(repr=False)
    server: Ints = field(repr=False)
    bandwidth_gb_per_s: Floats = field(repr=False)
    latency_s: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    names: tuple[str, ...] = field(default=(), repr=False)
    name: str = "GPUs"

    def __post_init__(self) -> None:
        for column in ("tflops", "bandwidth_gb_per_s"):
            object.__setattr__(self, column, np.array(getattr(self, column), dtype=np.float64))
        for column in ("memory_mb", "server"):
            object.__setattr__(self, column, np.array(getattr(self, column), dtype=np.int64))
        square = (self.gpus, self.gpus)
        latency_s = np.array(self.latency_s, dtype=np.float64)
        object.__setattr__(self, "latency_s", latency_s if latency_s.size else np.zeros(square))
        object.__setattr__(self, "names", tuple(self.names))
        require(self.gpus > 0, "GPUs", self.gpus, "at least one")
        for column in ("memory_mb", "server", *(["names"] if self.names else [])):
            number = len(getattr(self, column))
            require(number == self.gpus, f"number of {column}", number, f"{self.gpus}, one a GPU")
        for gpu, (tflops, memory_mb) in enumerate(
            zip(self.tflops.tolist(), self.memory_mb.tolist())
        ):
            check_number(f"tflops of GPU {gpu}", tflops, above=0)
            check_whole(f"memory_mb of GPU {gpu}", memory_mb, least=1)
        self._check_between("bandwidth_gb_per_s", self.bandwidth_gb_per_s >= 0)
        self._check_between("latency_s", np.isfinite(self.latency_s) & (self.latency_s >= 0))

    def _check_between(self, column: str, allowed: npt.NDArray[np.bool_]) -> None:
        values = getattr(self, column)
        square = (self.gpus, self.gpus)
        require(values.shape == square, f"shape of {column}", values.shape, f"{square}")
        for one, other in np.argwhere(~allowed)[:1].tolist():
            what = f"{column} from GPU {one} to GPU {other}"
            require(False, what, values[one, other].item(), "a number >= 0")

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.tflops)

    def in_use(self, share: Floats) -> Platform:
        """The platform with a share of each GPU's speed in use by others.

        Scaling the speed by 1 - share is ours (the paper only says that the servers are busy or
        idle).

        share: of each GPU, at least 0 and below 1; shape (gpus,). Result: a copy with lower speeds.
        Raises InputError for a share that is not allowed.
        """
        for gpu, used in enumerate(np.asarray(share).tolist()):
            require(0 <= used < 1, f"share in use of GPU {gpu}", used, "at least 0 and below 1")
        return replace(self, tflops=self.tflops * (1 - np.asarray(share)))


MOST_GPUS = 10_000  # every pair of them is a link
MOST_GB = 1e9  # of one of them


@dataclass(frozen=True)
class Servers:
    """GPUs on servers of so many each, the last with what is left; no link has a latency.

    Parameters
    ----------
    gpus : int
        Number of GPUs.
    per_server : int
        Of a server.
    tflops : sequence of float
        Speeds, dealt to the GPUs in turn, 10^12 operations per second; the defaults are those of
        V100, A100 and H100 in single precision (ours; the paper prints none).
    memory_gb : float
        Of a GPU, gigabytes.
    intra_gb_per_s, inter_gb_per_s : float
        Bandwidth within a server, NVLink (worl-rtgs.txt Section 3.1: 50 to 600 GB/s), and of the
        network between servers; 0: no connection.
    """

    gpus: int = 10
    per_server: int = 8
    tflops: tuple[float, ...] = (15.7, 19.5, 66.9)
    memory_gb: float = 80.0
    intra_gb_per_s: float = 300.0
    inter_gb_per_s: float = 25.0

    def __post_init__(self) -> None:
        check_whole("gpus", self.gpus, least=1, most=MOST_GPUS)
        check_whole("per_server", self.per_server, least=1)
        check_number("memory_gb", self.memory_gb, above=0)
        require(self.memory_gb <= MOST_GB, "memory_gb", self.memory_gb, f"at most {MOST_GB:g}")
        check_number("intra_gb_per_s", self.intra_gb_per_s, least=0)
        check_number("inter_gb_per_s", self.inter_gb_per_s, least=0)
        object.__setattr__(self, "tflops", entries_of("tflops", self.tflops, "a list of speeds"))

    @property
    def name(self) -> str:
        """How many GPUs."""
        return f"{self.gpus} GPUs"

    def platform(self) -> Platform:
        """The GPUs one by one."""
        server = np.arange(self.gpus) // self.per_server
        together = server[:, None] == server
        bandwidth = np.where(together, self.intra_gb_per_s, self.inter_gb_per_s)
        memory_mb = np.full(self.gpus, int(self.memory_gb * 1000))
        return Platform(
            np.resize(self.tflops, self.gpus), memory_mb, server, bandwidth, name=self.name
        )
