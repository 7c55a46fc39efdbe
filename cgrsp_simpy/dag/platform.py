"""GPUs of different speed on servers, and their connections (worl-rtgs.txt 3.1)."""

from __future__ import annotations

from dataclasses import field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import (
    MOST_WHOLE,
    check_entries,
    check_one_of,
    numbers,
    refuse,
    require,
    set_columns,
)
from cgrsp_simpy.base.files import (
    check_keys,
    csv_rows,
    entries,
    faults_of,
    make,
    number_or_text,
    read_toml,
)
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    NotNegative,
    Positive,
    declared,
    from_text,
    limits,
    parameter,
    rule,
)
from cgrsp_simpy.base.table import many

# shares of the GPUs' capacity that others use, worl-rtgs.txt Section 4.2
BUSY, IDLE = (0.5, 0.8), (0.1, 0.5)


@declared(eq=False)
class Platform:
    """GPUs and their connections.

    tflops: speed of each GPU, 10^12 operations per second, > 0; shape (gpus,).
    memory_mb: whole megabytes >= 1; shape (gpus,). server: whole number per GPU; shape
    (gpus,). bandwidth_gb_per_s: from each GPU to each other, gigabytes per second;
    shape (gpus, gpus); 0 if there is no connection; the diagonal is ignored. latency_s:
    time of a transfer in addition to its data over the bandwidth, seconds >= 0; shape
    (gpus, gpus); default 0, as in the paper; otherwise like the start-up costs of
    HEFT's platform (Topcuoglu, Hariri and Wu 2002, IEEE TPDS 13, 260-274, Equation 3).
    names: names of the GPUs. contention: whether transfers over a link take turns,
    first come, first served; if not, each has the full bandwidth, as in the paper. By
    default, they take turns if nodes of the graph share units, as in training. Each two
    GPUs of a server and each two servers have one link per direction.
    """

    tflops: Floats = field(repr=False)
    memory_mb: Ints = field(repr=False)
    server: Ints = field(repr=False)
    bandwidth_gb_per_s: Floats = field(repr=False)
    latency_s: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    names: Entries[str] = field(default=(), repr=False)
    name: str = "GPUs"
    contention: bool | None = None

    def __post_init__(self) -> None:
        set_columns(self, dict.fromkeys(("tflops", "memory_mb", "server"), "f8"), "GPU")
        require(self.gpus > 0, "GPUs", self.gpus, "at least one")
        number, allowed = len(self.names), f"{self.gpus}, one per GPU"
        require(number in (0, self.gpus), "number of names", number, allowed)
        check_entries("tflops", self.tflops, lambda n: f"GPU {n - 1}", above=0)
        for column, least in (("memory_mb", 1), ("server", -MOST_WHOLE)):
            values = getattr(self, column)
            check_entries(
                column, values, lambda n: f"GPU {n - 1}", least=least, whole=True
            )
        set_columns(self, {"memory_mb": "i8", "server": "i8"}, "GPU")
        square = (self.gpus, self.gpus)
        if not np.size(self.latency_s):
            object.__setattr__(self, "latency_s", np.zeros(square))
        for column, most in (
            ("bandwidth_gb_per_s", np.inf),
            ("latency_s", np.finfo("f8").max),
        ):
            values = numbers(column, getattr(self, column), "f8")
            require(
                values.shape == square, f"shape of {column}", values.shape, f"{square}"
            )
            for one, other in np.argwhere(~((values >= 0) & (values <= most))):
                require(
                    False,
                    f"{column} from GPU {one} to GPU {other}",
                    values.item(one, other),
                    "a number >= 0",
                )
            object.__setattr__(self, column, values)

    @property
    def gpus(self) -> int:
        """Number of GPUs."""
        return len(self.tflops)

    def link(self, source: Ints, target: Ints) -> Ints:
        """Return the number of the link between GPUs; arrays are broadcast."""
        one, other = self._servers[source], self._servers[target]
        return np.where(
            one == other, source * self.gpus + target, -1 - one * self.gpus - other
        )

    @cached_property
    def _servers(self) -> Ints:
        """Index of each GPU's server, from 0."""
        return np.unique(self.server, return_inverse=True)[1]

    def in_use(self, share: Floats) -> Platform:
        """Return a platform with a share of each GPU's speed in use by others.

        The speed is multiplied by 1 - share (not in the paper). share: per GPU, at
        least 0 and below 1; shape (gpus,). Raises InputError for an invalid share.
        """
        used = np.asarray(share)
        refuse(
            ~((used >= 0) & (used < 1)),
            lambda gpu: (
                f"share in use of GPU {gpu}(={used.item(gpu)}) must be at least 0 and"
                " below 1"
            ),
        )
        return replace(self, tflops=self.tflops * (1 - used))


MOST_GPUS = 10_000  # every pair of them is a link
MOST_GB = 1e9  # maximum memory of a GPU


Memory = Annotated[
    float, limits(f"a number > 0, at most {MOST_GB:g}", gt=0, le=MOST_GB)
]
Gpus = Annotated[
    int, limits(f"a whole number >= 1, at most {MOST_GPUS:,}", ge=1, le=MOST_GPUS)
]


def whole_mb(memory_gb: float) -> int:
    """Return a memory in whole megabytes, rounded down."""
    return int(round(memory_gb * 1000, 6))  # 1.001 * 1000 is below 1001


@declared()
class Servers:
    """GPUs on servers of equal size, the last possibly smaller; no link latency."""

    gpus: Gpus = parameter("Number of GPUs.", default=10)
    per_server: Count = parameter("Number of GPUs per server.", default=8)
    tflops: Annotated[Entries[Positive], rule("a list of at least one speed", bool)] = (
        parameter(
            "Speeds, assigned to the GPUs in turn, 10^12 operations per second. The"
            " defaults are those of V100, A100 and H100 in single precision; the"
            " paper prints none.",
            default=(15.7, 19.5, 66.9),
        )
    )
    memory_gb: Memory = parameter("Memory of a GPU, gigabytes.", default=80.0)
    intra_gb_per_s: NotNegative = parameter(
        "Bandwidth within a server, NVLink (worl-rtgs.txt Section 3.1: 50 to 600 GB/s);"
        " 0: no connection.",
        default=300.0,
    )
    inter_gb_per_s: NotNegative = parameter(
        "Bandwidth of the network between servers; 0: no connection.", default=25.0
    )
    contention: bool | None = parameter(
        "Whether transfers over a link are served one at a time; by default only"
        " if nodes share units, as in training.",
        default=None,
    )

    @property
    def name(self) -> str:
        """The number of GPUs."""
        return many(self.gpus, "GPU")

    def platform(self) -> Platform:
        """Return the platform of these GPUs."""
        server = np.arange(self.gpus) // self.per_server
        return Platform(
            np.resize(self.tflops, self.gpus),
            np.full(self.gpus, whole_mb(self.memory_gb)),
            server,
            np.where(
                server[:, None] == server, self.intra_gb_per_s, self.inter_gb_per_s
            ),
            name=self.name,
            contention=self.contention,
        )


Entry = tuple[str, dict[str, Any]]  # place in the file, and content
TEXTS = ("name", "server", "one_end", "other_end")


@declared()
class _Gpu:
    """A GPU, or `count` identical GPUs of one name."""

    server: Annotated[
        str | int, rule("a name or a whole number", lambda server: server != "")
    ]
    tflops: Positive
    memory_gb: Annotated[
        float, limits(f"a number >= 0.001, at most {MOST_GB:g}", ge=0.001, le=MOST_GB)
    ]
    name: str = ""
    count: Gpus = 1


@declared()
class _Link:
    """The link between all GPUs of two names or servers, in both directions."""

    one_end: str | int
    other_end: str | int
    gb_per_s: Positive
    latency_s: NotNegative = 0.0


COLUMNS = tuple(item.name for cls in (_Gpu, _Link) for item in fields(cls))


def read_platform(path: str | Path) -> Platform:
    """Read a platform from a TOML or CSV file, by its extension.

    A GPU has server, tflops and memory_gb; optionally a name and a count of identical
    GPUs. A link has one_end and other_end, each the name of a server or of GPUs,
    gb_per_s and, optionally, latency_s. It connects every GPU of the one end with every
    GPU of the other, in both directions; if two GPUs have several links, the last one
    applies; without a link there is no connection. In TOML the tables are [[gpu]] and
    [[link]]; in CSV these keys are the columns, and a row with an end is a link. Raises
    InputError with the file's name, and the table or line, for invalid input.
    """
    path = Path(path)
    ending = path.suffix.lower()
    require(
        ending in READERS,
        "platform",
        str(path),
        f"a file that ends in {' or '.join(READERS)}",
    )
    with faults_of(path):
        tables, links = READERS[ending](path)
        connected = [(where, make(_Link, table, where)) for where, table in links]
        kinds = [make(_Gpu, table, where) for where, table in tables]
        gpus = [kind for kind in kinds for _ in range(kind.count)]
        require(len(gpus) <= MOST_GPUS, "GPUs", len(gpus), f"at most {MOST_GPUS:,}")
        servers = list(dict.fromkeys(str(gpu.server) for gpu in gpus))
        members: dict[str, list[int]] = {}  # server or named GPU -> GPU indices
        for place, gpu in enumerate(gpus):
            require(
                gpu.name not in servers,
                "name",
                gpu.name,
                "different from the names of the servers",
            )
            for end in filter(None, (str(gpu.server), gpu.name)):
                members.setdefault(end, []).append(place)
        bandwidth, latency_s = np.zeros((2, len(gpus), len(gpus)))
        for where, link in connected:
            ends = str(link.one_end), str(link.other_end)
            for end in ends:
                check_one_of(f"end of the link in {where}", end, members)
            for one, other in (ends, ends[::-1]):
                between = np.ix_(members[one], members[other])
                bandwidth[between], latency_s[between] = link.gb_per_s, link.latency_s
        return Platform(
            np.array([gpu.tflops for gpu in gpus]),
            np.array([whole_mb(gpu.memory_gb) for gpu in gpus]),
            np.array([servers.index(str(gpu.server)) for gpu in gpus]),
            bandwidth,
            latency_s,
            tuple(gpu.name for gpu in gpus) if any(gpu.name for gpu in gpus) else (),
            f"{path.stem}, {many(len(gpus), 'GPU')}",
        )


def _toml(path: Path) -> list[list[Entry]]:
    content = read_toml(path)
    check_keys("the file", content, ("gpu", "link"))
    return [
        [(f"[[{key}]] {n}", table) for n, table in enumerate(entries(content, key), 1)]
        for key in ("gpu", "link")
    ]


def _csv(path: Path) -> list[list[Entry]]:
    gpus, links = list[Entry](), list[Entry]()
    for line, row in csv_rows(path, ()):
        check_keys("the header", row, COLUMNS)
        cells = {
            key: text.strip() if key in TEXTS else number_or_text(text.strip())
            for key, text in row.items()
            if (text or "").strip()
        }
        to = links if "one_end" in cells or "other_end" in cells else gpus
        to.append((f"line {line}", cells))
    return [gpus, links]


READERS = {".toml": _toml, ".csv": _csv}


AnyPlatform = Annotated[Servers | Platform, from_text(read_platform)]
"""GPUs, or the name of a file with them."""
