"""Fixed and rented machines: their sizes and prices, and the packing of jobs."""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from itertools import starmap
from pathlib import Path

import numpy as np

from cgrsp_simpy.base.arrays import Bools, Floats, Ints
from cgrsp_simpy.base.checks import InputError, check_whole, read_as, require, shown
from cgrsp_simpy.base.files import csv_rows, faults_in, faults_of
from cgrsp_simpy.base.parameters import (
    Count,
    NotNegative,
    UpToInfinity,
    declared,
    parameter,
)

GB_PER_CORE = 4.0  # fixed machine, as on an m5.16xlarge
WRITTEN = "a number of machines with their cores and GB, such as 3, 3x64 or 3x64x256"


@declared("{} price")
class Prices:
    """Prices of a machine per hour, in any currency; default: m5.large, US cents.

    waiting-policies.txt Table 1 and Section 3.1.
    """

    fixed: NotNegative = parameter(
        "p_f, price of a fixed machine, whether busy or idle, >= 0.",
        default=3.84,
        metadata={"unit": "per h"},
    )
    on_demand: NotNegative = parameter(
        "p_o, on-demand price, >= 0.", default=9.6, metadata={"unit": "per h"}
    )

    @property
    def share(self) -> float:
        """Fixed price over the on-demand price; InputError if the latter is 0."""
        require(
            self.on_demand > 0, "on-demand price", self.on_demand, "above 0 in a plan"
        )
        return self.fixed / self.on_demand

    @property
    def notes(self) -> list[str]:
        """Warnings about unusual but allowed prices."""
        odd = (
            (
                self.fixed == 0,
                (
                    "the fixed price is 0: owning costs nothing, so more machines are"
                    " never worse"
                ),
            ),
            (
                self.on_demand == 0,
                "the on-demand price is 0: renting costs nothing, so no machine pays",
            ),
            (
                self.fixed > self.on_demand > 0,
                (
                    "the fixed price exceeds the on-demand price: no machine pays,"
                    " however busy it is"
                ),
            ),
        )
        return [note for applies, note in odd if applies]


PAPER_PRICES = Prices()  # prices of the paper


def exact_gb(memory_gb: Floats) -> Floats:
    """Round memory to multiples of 2^-20 GB, so that sums and differences are exact."""
    return np.rint(memory_gb * 2.0**20) / 2.0**20


# further columns that a price table may have
BILLED = tuple(
    "increment_s minimum_s boot_s spot_per_h interruptions_per_h reserved_1y_per_h"
    " reserved_3y_per_h".split()
)


@declared("{} of {name}")
class Size:
    """A machine size, as in a provider's price table."""

    name: str = parameter("Name in the provider's price list.")
    cores: Count = parameter("Number of cores, at least 1.")
    memory_gb: NotNegative = parameter("Memory, GB, >= 0.")
    price_per_h: NotNegative = parameter("On-demand price, in any unit of money, >= 0.")
    increment_s: NotNegative = parameter(
        "Rented time is billed in multiples of this increment, seconds, >= 0; 0:"
        " the exact time is billed.",
        default=0.0,
    )
    minimum_s: NotNegative = parameter(
        "Minimum billed time, seconds, >= 0.", default=0.0
    )
    boot_s: NotNegative = parameter(
        "Time from renting until a job starts, seconds, >= 0; it is billed, and a"
        " plan counts it as wait.",
        default=0.0,
    )
    spot_per_h: UpToInfinity = parameter(
        "Price of a spot instance; infinite if there are none, as for reserved"
        " instances.",
        default=math.inf,
    )
    interruptions_per_h: NotNegative = parameter(
        "Rate at which the provider preempts a spot instance, >= 0.", default=0.0
    )
    reserved_1y_per_h: UpToInfinity = parameter(
        "Price of a machine reserved for one year, whether busy or idle.",
        default=math.inf,
    )
    reserved_3y_per_h: UpToInfinity = parameter(
        "Price of a machine reserved for three years, whether busy or idle.",
        default=math.inf,
    )
    unit: str = parameter('Unit of the cores: "cores" or "gpus".', default="cores")

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "memory_gb", float(exact_gb(np.asarray(self.memory_gb)))
        )


# The m5 family at US$ 0.048 a core and hour, 4 GB a core (waiting-policies.txt Section
# 5). One core, half an m5.large, is for sale nowhere, but in the authors' own program.
M5 = tuple(
    Size(name, cores, 4.0 * cores, 0.048 * cores)
    for name, cores in (
        ("half m5.large", 1),
        ("m5.large", 2),
        ("m5.xlarge", 4),
        ("m5.2xlarge", 8),
        ("m5.4xlarge", 16),
        ("m5.8xlarge", 32),
        ("m5.12xlarge", 48),
        ("m5.16xlarge", 64),
    )
)


def shared_machines(text: str) -> tuple[Size, ...]:
    """Return fixed machines from a string: "3x64" means three machines of 64 cores.

    A memory in GB may follow, as in "3x64x256"; by default it is GB_PER_CORE times the
    cores. Raises InputError for an invalid string.
    """
    message = f"machines(={shown(text)}) must be {WRITTEN}"
    numbers = [read_as(float, part, message) for part in text.split("x")]
    require(len(numbers) in (2, 3), "machines", text, WRITTEN)
    number, cores, memory_gb = [*numbers, GB_PER_CORE * numbers[1]][:3]
    for what, value in (("machines", number), ("cores of a machine", cores)):
        require(value.is_integer(), what, value, "a whole number")
    check_whole("machines", int(number), least=1, most=1_000_000)
    size = Size("fixed machine", int(cores), memory_gb, price_per_h=0.0)
    return (size,) * int(number)


def read_sizes(path: str | Path) -> tuple[Size, ...]:
    """Read a price table from a CSV file.

    Columns: name, cores (or gpus), memory_gb, price_per_h, and optionally other fields
    of `Size`; an empty cell means the default. Raises InputError with the file's name
    and, if known, the line.
    """
    with faults_of(path):
        sizes = tuple(
            starmap(_size, csv_rows(path, ("name", "memory_gb", "price_per_h")))
        )
    if not sizes:
        raise InputError(f"{path}: no machine sizes")
    return sizes


def _size(line: int, row: dict[str, str]) -> Size:
    unit = "gpus" if "gpus" in row else "cores"
    require(unit in row, "columns", ",".join(row), "a list that includes cores or gpus")
    named = ("memory_gb", "price_per_h", *(name for name in BILLED if row.get(name)))
    form = f"a size: {unit}, a whole number, and the numbers {', '.join(named)}"
    try:
        with faults_in(line, row, form):
            numbers = {name: float(row[name]) for name in named}
            return Size(row["name"], int(row[unit]), **numbers, unit=unit)
    except InputError as error:
        raise InputError(str(error).replace("cores of", f"{unit} of", 1)) from None


def rented(
    cores: Ints, memory_gb: Floats, sizes: Sequence[Size] = M5
) -> tuple[Ints, Floats, Floats]:
    """Return the machines that each job rents: one of the cheapest size on which it
    fits.

    If it fits on no single machine: the cheapest number of machines of one size.
    Returns the size's index, the number of machines (infinite if none holds the job)
    and their price per hour; shapes (jobs,).
    """
    index = np.zeros(len(cores), np.int64)
    number, rent = np.full((2, len(cores)), np.inf)
    for place, size in enumerate(sizes):
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.fmax(cores / size.cores, memory_gb / size.memory_gb)
            needed = np.fmax(np.ceil(needed), 1.0)
            price = needed * size.price_per_h
        one, has_one = needed == 1, number == 1
        better = np.isfinite(needed) & (
            (one > has_one) | ((one == has_one) & (price < rent))
        )
        for column, values in (
            (index, np.full(len(cores), place)),
            (number, needed),
            (rent, price),
        ):
            column[better] = values[better]
    return index, number, rent


def fits(cores: Ints, memory_gb: Floats, sizes: Iterable[Size]) -> Bools:
    """Return whether each job fits on a single machine of some size; shape (jobs,)."""
    answer = np.zeros(len(cores), bool)
    for size in set(sizes):
        answer |= (cores <= size.cores) & (memory_gb <= size.memory_gb)
    return answer


def rent_per_h(cores: Ints, memory_gb: Floats, sizes: Sequence[Size] = M5) -> Floats:
    """Return the rent of each job per hour, infinite if no machines hold it."""
    return rented(cores, memory_gb, sizes)[2]


def paid_s(run_s: Floats, index: Ints, sizes: Sequence[Size]) -> Floats:
    """Return the billed seconds per job: boot and run, with minimum and increment."""
    boot_s, least_s, step_s = (
        np.array([getattr(size, name) for size in sizes])[index]
        for name in ("boot_s", "minimum_s", "increment_s")
    )
    paid = np.maximum(run_s + boot_s, least_s)
    whole = np.ceil(paid / np.where(step_s > 0, step_s, 1.0)) * step_s
    return np.asarray(np.where(step_s > 0, whole, paid))


class Room:
    """Free cores and memory of machines that jobs share.

    Best fit: a job gets the machine with room that has the fewest free cores, then the
    least free memory.
    """

    def __init__(self, machines: Sequence[Size]) -> None:
        self.free: list[tuple[float, float]] = [
            (size.cores, size.memory_gb) for size in machines
        ]
        self._ranked = sorted(
            (cores, memory, index) for index, (cores, memory) in enumerate(self.free)
        )

    @property
    def most_cores(self) -> float:
        """Largest number of free cores on any machine."""
        return self._ranked[-1][0] if self._ranked else 0

    def best(self, cores: int, memory_gb: float) -> int | None:
        """Return the index of the machine that fits best, or None if none has room."""
        ranked = self._ranked
        for place in range(bisect_left(ranked, (cores, memory_gb, -1)), len(ranked)):
            if ranked[place][1] >= memory_gb:
                return ranked[place][2]
        return None

    def put(self, index: int, cores: float, memory_gb: float) -> None:
        """Set the free cores and memory of a machine."""
        del self._ranked[bisect_left(self._ranked, (*self.free[index], index))]
        self.free[index] = cores, memory_gb
        insort(self._ranked, (cores, memory_gb, index))
