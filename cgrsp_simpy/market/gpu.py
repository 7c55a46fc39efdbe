"""GPU types that a studio can rent, with their prices and mean execution times."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Annotated

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    check_whole,
    require,
    shown,
)
from cgrsp_simpy.base.files import csv_rows, faults_in, faults_of
from cgrsp_simpy.base.parameters import (
    Entries,
    Fraction,
    NotNegative,
    Positive,
    declared,
    parameter,
    rule,
)


@declared("{} of {name}")
class GpuType:
    """A GPU type that is rented by the second."""

    name: Annotated[str, rule("a non-empty string", bool)] = parameter(
        "Name in the provider's price list."
    )
    price_usd_per_h: NotNegative = parameter(
        "Rent while a job executes, USD per hour, >= 0; provisioning is free."
    )
    mean_execution_s: Annotated[
        Entries[Positive], rule("a list of one time per complexity level", bool)
    ] = parameter("Mean execution time per complexity 1, 2, ..., seconds, > 0.")
    high_stock_probability: Fraction = parameter(
        "beta_g, the probability of High stock at multiplier 1 (thesis Section 5.1.1)."
    )
    speed: Positive = parameter(
        "Speed relative to the RTX 3090, > 0; the execution times of a log are"
        " divided by it. Without a log it has no effect.",
        default=1.0,
    )


# Thesis Table 4.1: prices of 10 March 2026, and mean execution times for complexity 1
# and 3. Complexity 2 is printed for the RTX 3090 and the RTX A4000 (Section 3.7) and
# inferred for the other two (A4000's complexity 1 and 2 are both A5000's x 98.2 /
# 99.6). beta_g: Section 5.1.1. Speed: the table's average times, 78.1, 74.0, 86.0 and
# 97.9 s. The order is the one in which slots are filled (Section 4.3: with five slots
# two are RTX 3090).
THESIS_GPUS: tuple[GpuType, ...] = (
    GpuType("RTX 3090", 0.46, (59.7, 70.2, 100.9), 0.50, 1.0),
    GpuType("RTX A5000", 0.27, (60.9, 69.7, 99.6), 0.65, 78.1 / 74.0),
    GpuType("RTX A4500", 0.25, (62.2, 71.2, 88.7), 0.70, 78.1 / 86.0),
    GpuType("RTX A4000", 0.25, (60.0, 68.7, 98.2), 0.75, 78.1 / 97.9),
)


REFERENCE = THESIS_GPUS[0]


def _of_2025(name: str, price: float, high: float, speed: float) -> GpuType:
    times = tuple(round(mean_s / speed, 1) for mean_s in REFERENCE.mean_execution_s)
    return GpuType(name, price, times, high, speed)


# Types and names of github.com/tugot17/gpu-price-tracker (MIT), 957 half-hourly
# snapshots of 19 October to 16 November 2025. Price: the median of the snapshots'
# median price per GPU. beta_g: share of the snapshots with labelled offers that had one
# labelled high. Speed: the geometric mean over ten models of the throughput in
# training, mixed precision, over that of an RTX 3090, of
# github.com/lambdal/deeplearning-benchmark (commit 0551cb7, PyTorch of September 2022
# or later). A job of the thesis takes as long as on its RTX 3090 over the speed: how
# long it takes on these GPUs nobody has measured.
GPUS_2025: tuple[GpuType, ...] = (
    _of_2025("H100_80GB SXM5", 2.69, 0.281, 3.63),
    _of_2025("A100_80GB PCIe", 1.64, 0.109, 2.07),
)
# Types that can be rented, by the name of their list, as in gpus=2025.
CATALOGUES: dict[str, tuple[GpuType, ...]] = {"thesis": THESIS_GPUS, "2025": GPUS_2025}


def read_gpus(path: str | Path, memory_gb: float = 0.0) -> tuple[GpuType, ...]:
    """Read the types of a price list from a CSV file.

    Columns: name, price_usd_per_h and speed (see `GpuType`); optional:
    high_stock_probability (default: that of the RTX 3090) and memory_gb. A job of the
    thesis takes as long as on its RTX 3090, divided by the speed. memory_gb: memory
    that each job needs; types with less are left out. Raises InputError with the file's
    name and, if known, the line.
    """
    with faults_of(path):
        columns = ["name", "price_usd_per_h", "speed"]
        columns += ["memory_gb"] * (memory_gb > 0)
        rows = csv_rows(path, columns)
        require(bool(rows), "number of types", 0, "at least 1")
        types = [gpu for line, row in rows if (gpu := _of_row(line, row, memory_gb))]
        require(
            bool(types),
            "memory_gb",
            memory_gb,
            "at most the memory of the largest type in the list",
        )
    return tuple(types)


def _of_row(line: int, row: dict[str, str], memory_gb: float) -> GpuType | None:
    """Return the type that a row describes; None if its memory is too small."""
    allowed = "a GPU type, with a speed above 0 and a number in each column except name"
    with faults_in(line, row, allowed):
        price, speed = float(row["price_usd_per_h"]), float(row["speed"])
        high = float(
            row.get("high_stock_probability") or REFERENCE.high_stock_probability
        )
        if memory_gb and float(row["memory_gb"]) < memory_gb:
            return None
        times = tuple(mean_s / speed for mean_s in REFERENCE.mean_execution_s)
        return GpuType(row["name"], price, times, high, speed)


def catalogue(gpus: str | int | Sequence[GpuType]) -> tuple[GpuType, ...]:
    """Return the GPU types of a catalogue in CATALOGUES, or of a CSV file.

    gpus: a name, a file (see `read_gpus`), or the types; InputError for other values.
    """
    if not isinstance(gpus, str | int):
        return tuple(gpus)
    if str(gpus).endswith(".csv"):
        return read_gpus(str(gpus))
    check_one_of("gpus", str(gpus), [*CATALOGUES, "a file, FILE.csv"])
    return CATALOGUES[str(gpus)]


def round_robin(
    slots: int | Sequence[str], gpus: Sequence[GpuType] = THESIS_GPUS
) -> tuple[GpuType, ...]:
    """Return the GPU type of each slot of a fleet.

    slots: number of slots, to which the types are assigned in turn, or a list of one
    type name per slot. Raises InputError for a number below 1, an empty list or an
    unknown type. Thesis Section 4.3 (round-robin target), interpreted as fixed types.
    """
    if isinstance(slots, Integral):
        check_whole("slots", slots, least=1, most=1_000_000)
        return tuple(gpus[i % len(gpus)] for i in range(slots))
    if isinstance(slots, str) or not isinstance(slots, Sequence) or not slots:
        raise InputError(
            f"slots(={shown(slots)}) must be a whole number >= 1 or a non-empty list"
            " of GPU type names"
        )
    by_name = {gpu.name: gpu for gpu in gpus}
    for name in slots:
        check_one_of("GPU type", name, by_name)
    return tuple(by_name[name] for name in slots)
