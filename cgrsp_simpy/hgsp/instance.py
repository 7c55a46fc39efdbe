"""Instances of the Heterogeneous GPU Scheduling Problem: tasks, GPUs, and how long each takes on
which (hgsp.txt Section I).
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from cgrsp_simpy.logs import Tags
from cgrsp_simpy.model.checks import (
    InputError,
    check_entries,
    check_number,
    check_one_of,
    check_whole,
    entries_of,
    order_columns,
    require,
    set_columns,
)
from cgrsp_simpy.model.files import (
    check_keys,
    csv_faults,
    csv_rows,
    entries,
    listed,
    make,
    read_toml,
    text_of,
    write_whole,
)
from cgrsp_simpy.model.table import csv_text, from_cell

log = logging.getLogger(__name__)
Floats = npt.NDArray[np.float64]
COLUMNS = ("workload", "memory_gb", "deadline_s", "weight", "arrival_s")
"""Columns of a file of tasks."""
KNOWN = ("task", *COLUMNS)
AUTHORS = {
    "Task": "task",
    "Workload": "workload",
    "Memory": "memory_gb",
    "Deadline": "deadline_s",
    "Weight": "weight",
    "ArrivalTime": "arrival_s",
}
"""Headings of the files of hgsp.txt's authors -> columns."""
GPU_COLUMNS = ("name", "memory_gb", "speed")


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Parameters
    ----------
    name : str
        Of the model.
    memory_gb : float
        M_j, at least 0.
    speed : float
        v_j, workload per second, above 0.

    References
    ----------
    hgsp.txt Section I.B.
    """

    name: str
    memory_gb: float
    speed: float

    def __post_init__(self) -> None:
        check_number(f"memory_gb of {self.name}", self.memory_gb, least=0)
        check_number(f"speed of {self.name}", self.speed, above=0)


# hgsp.txt Section IV, with the speeds of the printed runs; those of the text are for an A30 of 30.
_MODELS = (Gpu("A100", 80.0, 76.0), Gpu("A30", 24.0, 40.0), Gpu("L40", 48.0, 74.0))
_IN_TEXT = (Gpu("A100", 80.0, 57.0), Gpu("A30", 24.0, 30.0), Gpu("L40", 48.0, 55.5))
CLUSTERS = {
    f"{name}{scale}": tuple(gpu for gpu in models for _ in range(each))
    for scale, models in (("", _MODELS), ("-30", _IN_TEXT))
    for name, each in (("small", 1), ("medium", 2), ("large", 3))
}
"""The paper's clusters: one, two or three GPUs of each model, those of a model side by side (of
GPUs that start a task equally early FIFO takes the first, which the printed figures show)."""


def cluster(name: str) -> tuple[Gpu, ...]:
    """The GPUs of a cluster.

    name: "small", "medium" or "large", 1, 2 or 3 of each model at the speeds of the printed runs
    (A100 76, A30 40, L40 74), "small-30" and so on at those of the text (57, 30, 55.5); or a file's
    name that ends in .csv or .toml; see `read_cluster`. Result: one entry a GPU. Raises InputError
    for an unknown name, or a file that is not allowed. hgsp.txt Section IV.
    """
    if name.endswith((".csv", ".toml")):
        return read_cluster(name)
    check_one_of("cluster", name, CLUSTERS)
    return CLUSTERS[name]


@dataclass(frozen=True, eq=False)
class Instance:
    """Tasks in order of arrival, those that arrive together in the order given, and the GPUs
    that they run on.

    Parameters
    ----------
    workload, memory_gb, deadline_s, weight, arrival_s : arrays of float, of shape (tasks,)
        L_i, m_i, d_i, w_i and a_i, all at least 0, the workload above 0. A deadline before the
        arrival is allowed, the task is late then.
    gpus : tuple of Gpu
        At least one.
    name : str
        Of all.
    task_names : tuple of str
        In the order given, all different; numbers from 1 unless given.
    free_s : array of float, of shape (GPUs,)
        From when on each GPU is there, seconds; from 0 on unless given.
    lines : tuple of int
        Of a file, the line of each task, for messages.
    tags : Tags
        Of tasks of a file, all its other columns, as texts.

    Raises
    ------
    InputError
        Naming the task, for what is not allowed, and for a task that fits on no GPU.

    References
    ----------
    hgsp.txt Section I.B.
    """

    workload: Floats = field(repr=False)
    memory_gb: Floats = field(repr=False)
    deadline_s: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    arrival_s: Floats = field(repr=False)
    gpus: tuple[Gpu, ...]
    name: str = "instance"
    task_names: tuple[str, ...] = field(repr=False, default=())
    free_s: Floats = field(repr=False, default_factory=lambda: np.zeros(0))
    lines: tuple[int, ...] = field(repr=False, default=())
    tags: Tags = field(repr=False, default_factory=Tags)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", entries_of("gpus", self.gpus, "a list of GPUs"))
        require(len(self.gpus) > 0, "gpus", self.gpus, "at least one GPU")
        set_columns(self, dict.fromkeys(COLUMNS, "f8"), "task")
        if self.tasks == 0:
            raise InputError(f"{self.name} holds no task")
        object.__setattr__(
            self, "task_names", tuple(self.task_names) or tuple(map(str, range(1, self.tasks + 1)))
        )
        self._check_names()
        for column in COLUMNS:
            above = 0 if column == "workload" else None
            check_entries(column, getattr(self, column), self._called, above=above)
        self._check_fit()
        self._check_free()
        self._warn_of_late()
        listed = ("task_names", *(("lines",) if self.lines else ()))
        order_columns(self, (*COLUMNS, *listed), np.argsort(self.arrival_s, kind="stable"))

    def _warn_of_late(self) -> None:
        late = np.flatnonzero(self.deadline_s < self.arrival_s)
        if len(late) and not self.free_s.any():  # of a plan that is made anew it has been said
            many = f"{len(late)} of {self.tasks} tasks have their deadline before they arrive"
            log.warning(
                "%s: %s, the first of them %s; they count as late",
                self.name,
                many,
                self._called(late[0] + 1),
            )

    def _called(self, number: int) -> str:
        """What messages call a task, by its number from 1 in the order given."""
        line = f" (line {self.lines[number - 1]})" if self.lines else ""
        return f"task {self.task_names[number - 1]}{line}"

    def _check_names(self) -> None:
        names = self.task_names
        require(
            len(names) == self.tasks,
            "number of task_names",
            len(names),
            f"{self.tasks}, one a task",
        )
        require(
            len(self.lines) in (0, self.tasks),
            "number of lines",
            len(self.lines),
            f"{self.tasks}, one a task",
        )
        for name, times in Counter(names).items():
            require(
                isinstance(name, str) and name != "", "name of a task", name, "a text, not empty"
            )
            require(
                times == 1, "name of a task", name, f"the name of one task alone; {times} have it"
            )

    def _check_fit(self) -> None:
        most = max(gpu.memory_gb for gpu in self.gpus)
        for index in np.flatnonzero(self.memory_gb > most)[:1]:
            raise InputError(
                f"memory_gb of {self._called(index + 1)}(={self.memory_gb[index].item()!r}) fits on"
                f" no GPU; the largest has {most:g} GB"
            )

    def _check_free(self) -> None:
        free_s, gpus = np.array(self.free_s, np.float64), len(self.gpus)
        free_s = free_s if free_s.size else np.zeros(gpus)
        require(free_s.shape == (gpus,), "shape of free_s", free_s.shape, f"({gpus},), one a GPU")
        check_entries("free_s", free_s, "GPU {}".format)
        object.__setattr__(self, "free_s", free_s)

    @property
    def tasks(self) -> int:
        """Number of tasks, n."""
        return len(self.workload)

    @cached_property
    def times_s(self) -> Floats:
        """p_ij = L_i / v_j, seconds, of shape (tasks, GPUs); infinite where a task does
        not fit (Eq. 3).
        """
        speeds = np.array([gpu.speed for gpu in self.gpus])
        memory_gb = np.array([gpu.memory_gb for gpu in self.gpus])
        return np.where(
            self.memory_gb[:, None] <= memory_gb, self.workload[:, None] / speeds, np.inf
        )

    @cached_property
    def least_time_s(self) -> Floats:
        """Time of each task on the fastest GPU that it fits on, seconds, of shape (tasks,)."""
        return np.asarray(self.times_s.min(axis=1))


# ---- files ----


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write the tasks to a CSV file with the columns task, workload, memory_gb, deadline_s,
    weight, arrival_s, and the tags.

    instance: the tasks. path: the file, in a folder that is there; one that is there is
    overwritten. Raises InputError if it cannot be written.
    """
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: there is no folder {Path(path).parent}")
    columns = [getattr(instance, column).tolist() for column in COLUMNS]
    rows = [
        {"task": task, **dict(zip(COLUMNS, values))}
        for task, values in zip(instance.task_names, zip(*columns))
    ]
    tagged = [{**row, **instance.tags.of(task, row)} for task, row in enumerate(rows)]
    write_whole(Path(path), csv_text(tagged).encode())


def read_cluster(path: str | Path) -> tuple[Gpu, ...]:
    """Read the GPUs of a cluster, one an entry.

    path: a CSV file with the columns name, memory_gb and speed, others are not looked at; or a TOML
    file with a table [[gpu]] of these three for each GPU. Result: in the order of the file. Raises
    InputError with the file's name, and the line where there is one.
    """
    path = Path(path)
    with csv_faults(path):
        if path.suffix == ".toml":
            table = read_toml(path)
            check_keys("the file", table, ("gpu",))
            gpus = [make(Gpu, entry, "[[gpu]]") for entry in entries(table, "gpu")]
        else:
            gpus = [_gpu(line, row) for line, row in csv_rows(path, GPU_COLUMNS)]
    require(len(gpus) > 0, f"{path}: GPUs", 0, "at least one")
    return tuple(gpus)


def _gpu(line: int, row: dict[str, str]) -> Gpu:
    numbers = {column: _number(line, column, row[column]) for column in GPU_COLUMNS[1:]}
    return make(Gpu, {"name": row["name"], **numbers}, f"line {line}")


def read_instance(path: str | Path, gpus: tuple[Gpu, ...], *, skip_unfit: bool = False) -> Instance:
    """Read tasks from a CSV file with the columns of `write_instance`, or the headings of the
    paper's authors (AUTHORS); all others are kept as tags.

    The column task gives the tasks their names; in a file without it they are numbered from 1, in
    its order.

    gpus: that the tasks run on. skip_unfit: leave out tasks that fit on no GPU, with a logged note
    that names their lines, instead of refusing them. Result: named as the file. Raises InputError
    with the file's name, and the line where there is one.
    """
    path = Path(path)
    with csv_faults(path):
        rows = [
            _row(line, number, row)
            for number, (line, row) in enumerate(csv_rows(path, COLUMNS, AUTHORS), start=1)
        ]
        if skip_unfit:
            rows = _fitting(path, rows, max(gpu.memory_gb for gpu in gpus))
        columns = np.array([row.values for row in rows]).T if rows else np.empty((len(COLUMNS), 0))
        names, lines = tuple(row.name for row in rows), tuple(row.line for row in rows)
        others = list(rows[0].others) if rows else []
        tags = Tags({name: [row.others[name] for row in rows] for name in others})
        own = {"name": path.stem, "task_names": names, "lines": lines, "tags": tags}
        return Instance(**dict(zip(COLUMNS, columns)), gpus=gpus, **own)  # type: ignore[arg-type]


class _Row(NamedTuple):
    """A task of a file. values: in the order of COLUMNS. others: texts by their columns."""

    line: int
    name: str
    values: list[float]
    others: dict[str, str]


def _row(line: int, number: int, cells: dict[str, str]) -> _Row:
    return _Row(
        line,
        from_cell(cells.get("task") or str(number)),
        [_number(line, column, cells[column]) for column in COLUMNS],
        {name: text or "" for name, text in cells.items() if name not in KNOWN},
    )


def _number(line: int, column: str, text: str | None) -> float:
    try:
        return float(text or "")
    except ValueError:
        raise InputError(f"line {line}: {column}(={text!r}) must be a number") from None


def _fitting(path: Path, rows: list[_Row], most_gb: float) -> list[_Row]:
    memory = COLUMNS.index("memory_gb")
    unfit = [f"line {row.line}: task {row.name}" for row in rows if row.values[memory] > most_gb]
    if unfit:
        log.warning(
            "%s: %d tasks fit on no GPU and are left out: %s", path, len(unfit), listed(unfit)
        )
    return [row for row in rows if not row.values[memory] > most_gb]


# n of the instances in the OR-Library's files of weighted tardiness, by their names. The number of
# numbers does not tell it: the 125 instances of n = 40 could be 100 of n = 50, or 50 of n = 100.
ORLIB_TASKS = {"wt40": 40, "wt50": 50, "wt100": 100}


def read_orlib(
    path: str | Path, index: int = 1, machines: int = 1, tasks: int | None = None
) -> Instance:
    """An instance of the OR-Library's weighted tardiness files: per instance n processing times, n
    weights, n due dates.

    index: of the instance in it, from 1. machines: number of identical ones, >= 1; due dates are
    divided by it. tasks: n; known of the library's own files wt40.txt, wt50.txt and wt100.txt.
    Result: all tasks arrive at 0 and need no memory. Raises InputError with the file's name for any
    other file without `tasks`, one whose count of numbers does not fit n, or an index beyond its
    end.
    """
    check_whole("index", index, least=1)
    check_whole("machines", machines, least=1)
    if tasks is not None:
        check_whole("tasks of an instance", tasks, least=1)
    try:
        with text_of(path, "ascii") as file:
            numbers = np.array(file.read().split(), dtype=np.float64)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError:
        raise InputError(f"{path}: not a list of numbers") from None
    n = tasks or ORLIB_TASKS.get(Path(path).stem) or _refuse_to_guess(path, len(numbers))
    held = len(numbers) // (3 * n)
    fits = len(numbers) > 0 and len(numbers) % (3 * n) == 0
    require(
        fits,
        f"{path}: numbers",
        len(numbers),
        f"a multiple of {3 * n}, three for each of {n} tasks",
    )
    require(index <= held, f"{path}: index", index, f"a number from 1 to {held}")
    times, weights, due = numbers.reshape(held, 3, n)[index - 1]
    none = np.zeros(n)
    gpus = tuple(Gpu(f"machine {number + 1}", 0.0, 1.0) for number in range(machines))
    return Instance(times, none, due / machines, weights, none, gpus, f"{Path(path).stem} {index}")


def _refuse_to_guess(path: str | Path, numbers: int) -> NoReturn:
    fitting = [
        f"{numbers // (3 * n)} instances of {n}"
        for n in ORLIB_TASKS.values()
        if numbers and numbers % (3 * n) == 0
    ]
    could = f" ({' or '.join(fitting)} would fit)" if fitting else ""
    raise InputError(
        f"{path}: {numbers} numbers do not tell how many tasks an instance has{could};"
        " give it (tasks=N)"
    )
