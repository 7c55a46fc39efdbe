"""Platforms from files: GPUs with speed and memory, and links with bandwidth and latency,
in TOML or CSV.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.dag.platform import Platform
from cgrsp_simpy.model.checks import check_number, check_one_of, check_whole, require
from cgrsp_simpy.model.files import text_of
from cgrsp_simpy.model.reading import csv_faults
from cgrsp_simpy.model.toml import check_keys, entries, make, read_toml

Entry = tuple[str, dict[str, Any]]  # where it stands in the file, and what it says
TEXTS = ("name", "server", "one_end", "other_end")


@dataclass(frozen=True)
class _Gpu:
    """A GPU, or `count` equal ones of one name."""

    server: str | int
    tflops: float
    memory_gb: float
    name: str = ""
    count: int = 1

    def __post_init__(self) -> None:
        named = type(self.server) in (str, int) and self.server != ""
        require(named, "server", self.server, "a name or a whole number")
        require(isinstance(self.name, str), "name", self.name, "a text")
        check_number("tflops", self.tflops, above=0)
        check_number("memory_gb", self.memory_gb, least=0.001)
        check_whole("count", self.count, least=1)


@dataclass(frozen=True)
class _Link:
    """What connects all GPUs of one name or server with those of another, in both directions."""

    one_end: str | int
    other_end: str | int
    gb_per_s: float
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        check_number("gb_per_s", self.gb_per_s, above=0)
        check_number("latency_s", self.latency_s, least=0)


COLUMNS = tuple(item.name for cls in (_Gpu, _Link) for item in fields(cls))


def read_platform(path: str | Path) -> Platform:
    """Read a platform from a TOML or CSV file, by its ending.

    A GPU has server, tflops and memory_gb; where given, a name, and count, how many there are
    of it. A link has one_end and other_end, each the name of a server or of GPUs, gb_per_s and,
    where given, latency_s. It connects every GPU of the one end with every GPU of the other,
    in both directions; of several links between two GPUs the last holds; without one there is
    no connection. In TOML the tables are [[gpu]] and [[link]]; in CSV these keys are the columns,
    and a row is a link where it has an end.

    path: of the file; it ends in .toml or .csv. Result: named by the file; GPUs in its order.
    Raises InputError with the file's name, and the table or line, for what is not allowed.
    """
    path = Path(path)
    ending = path.suffix.lower()
    require(ending in READERS, "platform", str(path), f"a file that ends in {' or '.join(READERS)}")
    with csv_faults(path):
        gpus, links = READERS[ending](path)
        made = [(where, make(_Link, table, where)) for where, table in links]
        return _platform([make(_Gpu, table, where) for where, table in gpus], made, path.stem)


def _toml(path: Path) -> tuple[list[Entry], list[Entry]]:
    found = read_toml(path)
    check_keys("the file", found, ("gpu", "link"))
    gpus, links = (
        [(f"[[{key}]] {n}", each) for n, each in enumerate(entries(found, key), 1)]
        for key in ("gpu", "link")
    )
    return gpus, links


def _csv(path: Path) -> tuple[list[Entry], list[Entry]]:
    gpus, links = list[Entry](), list[Entry]()
    with text_of(path) as file:
        table = csv.DictReader(file, restkey="", restval="", strict=True)
        columns = table.fieldnames or ()
        check_keys("the header", dict.fromkeys(columns), COLUMNS)
        require(
            len(set(columns)) == len(columns),
            "the header",
            ",".join(columns),
            "columns that differ",
        )
        for row in table:
            where = f"line {table.line_num}"
            require("" not in row, where, row.get(""), "a row of no more fields than the header")
            cells = {key: _value(key, text.strip()) for key, text in row.items() if text.strip()}
            (links if "one_end" in cells or "other_end" in cells else gpus).append((where, cells))
    return gpus, links


def _value(key: str, text: str) -> Any:
    """A cell as a text or a number; what is none is told when it is looked at."""
    for kind in () if key in TEXTS else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


READERS = {".toml": _toml, ".csv": _csv}


def _platform(kinds: list[_Gpu], links: Iterable[tuple[str, _Link]], name: str) -> Platform:
    gpus = [kind for kind in kinds for _ in range(kind.count)]
    require(len(gpus) > 0, "GPUs", 0, "at least one")
    servers = list(dict.fromkeys(str(gpu.server) for gpu in gpus))
    for gpu in gpus:
        require(gpu.name not in servers, "name", gpu.name, "another than those of the servers")
    members: dict[str, list[int]] = {}
    for place, gpu in enumerate(gpus):
        for end in filter(None, (str(gpu.server), gpu.name)):
            members.setdefault(end, []).append(place)
    bandwidth, latency_s = np.zeros((2, len(gpus), len(gpus)))
    for where, link in links:
        ends = str(link.one_end), str(link.other_end)
        for end in ends:
            check_one_of(f"end of the link in {where}", end, members)
        for one, other in (ends, ends[::-1]):
            between = np.ix_(members[one], members[other])
            bandwidth[between], latency_s[between] = link.gb_per_s, link.latency_s
    return Platform(
        np.array([gpu.tflops for gpu in gpus]),
        np.array([int(gpu.memory_gb * 1000) for gpu in gpus]),
        np.array([servers.index(str(gpu.server)) for gpu in gpus]),
        bandwidth,
        latency_s,
        tuple(gpu.name for gpu in gpus) if any(gpu.name for gpu in gpus) else (),
        f"{name}, {len(gpus)} GPUs",
    )
