"""Instances of the Heterogeneous GPU Scheduling Problem (hgsp.txt Section I)."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import (
    InputError,
    check_entries,
    check_one_of,
    check_whole,
    numbers,
    order_columns,
    read_as,
    refuse,
    require,
    set_columns,
    shown,
)
from cgrsp_simpy.base.files import (
    check_keys,
    csv_rows,
    entries,
    faults_of,
    listed,
    make,
    number_or_text,
    opened,
    read_toml,
)
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    NotNegative,
    Positive,
    checked,
    declared,
    parameter,
    rule,
)
from cgrsp_simpy.base.table import from_cell, many, write_csv
from cgrsp_simpy.engine.report import rows_of
from cgrsp_simpy.logs import Tags

log = logging.getLogger(__name__)
COLUMNS = ("workload", "memory_gb", "deadline_s", "weight", "arrival_s")
"""Columns of a file of tasks."""
AUTHORS = {
    "Task": "task",
    "Workload": "workload",
    "Memory": "memory_gb",
    "Deadline": "deadline_s",
    "Weight": "weight",
    "ArrivalTime": "arrival_s",
}
"""Headings of the files of hgsp.txt's authors -> columns."""
TIMES = "time_s:"  # and a GPU's name: the column of the times of tasks on it


@declared("{} of {name}")
class Gpu:
    """A GPU (hgsp.txt Section I.B)."""

    name: str = parameter("Name of the model.")
    memory_gb: NotNegative = parameter("M_j, at least 0.")
    speed: Positive = parameter("v_j, workload per second, above 0.")


# hgsp.txt Section IV, with the speeds of the printed runs; those of the text are for an
# A30 of 30.
_MODELS = (Gpu("A100", 80.0, 76.0), Gpu("A30", 24.0, 40.0), Gpu("L40", 48.0, 74.0))
_IN_TEXT = (Gpu("A100", 80.0, 57.0), Gpu("A30", 24.0, 30.0), Gpu("L40", 48.0, 55.5))
CLUSTERS = {
    f"{name}{scale}": tuple(gpu for gpu in models for _ in range(number))
    for scale, models in (("", _MODELS), ("-30", _IN_TEXT))
    for name, number in (("small", 1), ("medium", 2), ("large", 3))
}
"""The paper's clusters: one, two or three GPUs of each model, those of a model side by
side (of GPUs that start a task equally early FIFO takes the first, which the printed
figures show)."""


def cluster(name: str) -> tuple[Gpu, ...]:
    """Return the GPUs of a cluster (hgsp.txt Section IV).

    name: "small", "medium" or "large": 1, 2 or 3 GPUs per model, with the speeds of the
    printed runs (A100 76, A30 40, L40 74); "small-30" and so on: the same with the
    speeds in the text (57, 30, 55.5); or the name of a .csv or .toml file, see
    `read_cluster`. Raises InputError for an unknown name or an invalid file.
    """
    if name.endswith((".csv", ".toml")):
        return read_cluster(name)
    check_one_of("cluster", name, CLUSTERS)
    return CLUSTERS[name]


@declared(eq=False)
class Instance:
    """Tasks, by arrival and then as listed, and their GPUs (hgsp.txt Section I.B).

    workload, memory_gb, deadline_s, weight, arrival_s: L_i, m_i, d_i, w_i and a_i,
    shape (tasks,), all at least 0, the workload above 0. A task is late if its deadline
    is before its arrival. If times_s is set, a workload of () means 1. task_names:
    unique names; default: numbers from 1. free_s: time from which each GPU is
    available, seconds, shape (GPUs,); default 0. times_s: p_ij, seconds, above 0,
    infinite if a task does not fit, shape (tasks, GPUs); by default L_i / v_j (Eq. 4).
    Infinite also if the memory does not suffice (Eq. 3). lines: line of each task in a
    file, for messages. tags: all other columns of a file, as strings.

    Raises InputError, naming the task, for an invalid value or a task that fits on no
    GPU.
    """

    workload: Floats = field(repr=False)
    memory_gb: Floats = field(repr=False)
    deadline_s: Floats = field(repr=False)
    weight: Floats = field(repr=False)
    arrival_s: Floats = field(repr=False)
    gpus: Annotated[Entries[Gpu], rule("at least one Gpu", bool)]
    name: str = "instance"
    task_names: Entries[str] = field(repr=False, default=())
    free_s: Floats = field(repr=False, default_factory=lambda: np.zeros(0))
    times_s: Floats = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    lines: Entries[int] = field(repr=False, default=())
    tags: Tags = field(repr=False, default_factory=Tags)

    def __post_init__(self) -> None:
        object.__setattr__(self, "times_s", numbers("times_s", self.times_s, "f8"))
        if self.times_s.size and not np.size(self.workload):
            object.__setattr__(self, "workload", np.ones(self.times_s.shape[:1]))
        set_columns(self, dict.fromkeys(COLUMNS, "f8"), "task")
        if self.tasks == 0:
            raise InputError(f"{self.name} contains no tasks")
        names = self.task_names or tuple(map(str, range(1, self.tasks + 1)))
        object.__setattr__(self, "task_names", names)
        self._check_names()
        check_entries("workload", self.workload, self._called, above=0)
        for column in COLUMNS[1:]:
            check_entries(column, getattr(self, column), self._called)
        self._set_times()
        self._check_free()
        self._warn_of_late()
        columns = (*COLUMNS, "times_s", "task_names", *["lines"] * bool(self.lines))
        order_columns(self, columns, np.argsort(self.arrival_s, kind="stable"))

    def _warn_of_late(self) -> None:
        late = np.flatnonzero(self.deadline_s < self.arrival_s)
        # a plan that is made again has been reported
        if len(late) and not self.free_s.any():
            log.warning(
                "%s: %d of %d tasks have a deadline before their arrival, first"
                " %s; they count as late",
                self.name,
                len(late),
                self.tasks,
                self._called(late[0] + 1),
            )

    def _called(self, number: int) -> str:
        """Return the name of a task in messages, by its number from 1 as listed."""
        line = f" (line {self.lines[number - 1]})" if self.lines else ""
        return f"task {self.task_names[number - 1]}{line}"

    def _check_names(self) -> None:
        names = self.task_names
        require(
            len(names) == self.tasks,
            "number of task_names",
            len(names),
            f"{self.tasks}, one per task",
        )
        require(
            len(self.lines) in (0, self.tasks),
            "number of lines",
            len(self.lines),
            f"{self.tasks}, one per task",
        )
        for name, times in Counter(names).items():
            require(name != "", "name of a task", name, "a non-empty string")
            require(
                times == 1,
                "name of a task",
                name,
                f"unique, but {times} tasks have it",
            )

    def _set_times(self) -> None:
        times_s = self.times_s if self.times_s.size else self.related_s
        shape = (self.tasks, len(self.gpus))
        require(times_s.shape == shape, "shape of times_s", times_s.shape, f"{shape}")
        refuse(
            ~(times_s > 0),
            lambda index, j: (
                f"time of {self._called(index + 1)} on GPU"
                f" {j + 1}(={times_s[index, j].item()}) must be a number > 0, or"
                " inf for a task that does not fit"
            ),
        )
        most_gb = max(gpu.memory_gb for gpu in self.gpus)
        times_s = np.where(np.isinf(self.related_s), np.inf, times_s)
        refuse(
            np.isinf(times_s).all(axis=1),
            lambda index: (
                f"{self._called(index + 1)} fits on no GPU: each of its times is inf"
                if self.memory_gb[index] <= most_gb
                else (
                    "memory_gb of"
                    f" {self._called(index + 1)}(={self.memory_gb[index].item()}) fits"
                    f" on no GPU; the largest has {most_gb:g} GB"
                )
            ),
        )
        object.__setattr__(self, "times_s", times_s)
        least_s = times_s.min(axis=1)
        refuse(
            self.arrival_s + least_s <= self.arrival_s,
            lambda index: (
                f"arrival_s of {self._called(index + 1)}"
                f"(={self.arrival_s[index].item()}) must be small enough for the clock"
                f" to resolve its time of {least_s[index]:.3g} s"
            ),
        )

    def _check_free(self) -> None:
        free_s, gpus = numbers("free_s", self.free_s, "f8"), len(self.gpus)
        free_s = free_s if free_s.size else np.zeros(gpus)
        require(
            free_s.shape == (gpus,),
            "shape of free_s",
            free_s.shape,
            f"({gpus},), one per GPU",
        )
        check_entries("free_s", free_s, "GPU {}".format)
        object.__setattr__(self, "free_s", free_s)

    @property
    def tasks(self) -> int:
        """Number of tasks, n."""
        return len(self.workload)

    @property
    def related_s(self) -> Floats:
        """L_i / v_j, seconds, (tasks, GPUs); infinite if the memory is too small."""
        speeds, memory_gb = np.array(
            [(gpu.speed, gpu.memory_gb) for gpu in self.gpus]
        ).T
        return np.where(
            self.memory_gb[:, None] <= memory_gb,
            self.workload[:, None] / speeds,
            np.inf,
        )

    @cached_property
    def least_time_s(self) -> Floats:
        """Time of each task on the fastest GPU that it fits on, seconds, (tasks,)."""
        return np.asarray(self.times_s.min(axis=1))


# ---- files ----


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write the tasks to a CSV file; an existing one is overwritten.

    Columns: task, workload, memory_gb, deadline_s, weight, arrival_s, the tags and, if
    times do not follow from the workload, time_s:GPU per GPU name. Raises InputError if
    the file cannot be written, or if times differ between GPUs of one name.
    """
    columns = {column: getattr(instance, column) for column in COLUMNS}
    if not np.array_equal(instance.times_s, instance.related_s):
        for gpu, times_s in zip(instance.gpus, instance.times_s.T):
            require(
                np.array_equal(columns.setdefault(TIMES + gpu.name, times_s), times_s),
                "GPUs with the same name",
                gpu.name,
                "equally fast for each task",
            )
    write_csv(path, rows_of({"task": instance.task_names, **columns}, instance.tags))


def read_cluster(path: str | Path) -> tuple[Gpu, ...]:
    """Read the GPUs of a cluster, in the order of a file.

    path: a CSV file with the columns name, memory_gb and speed (others are ignored), or
    a TOML file with a table [[gpu]] of these keys per GPU. Raises InputError with the
    file's name, and the line if known.
    """
    path = Path(path)
    with faults_of(path):
        if path.suffix == ".toml":
            table = read_toml(path)
            check_keys("the file", table, ("gpu",))
            gpus = [make(Gpu, entry, "[[gpu]]") for entry in entries(table, "gpu")]
        else:
            gpus = [
                make(
                    Gpu,
                    {
                        "name": row["name"],
                        "memory_gb": number_or_text(row["memory_gb"] or ""),
                        "speed": number_or_text(row["speed"] or ""),
                    },
                    f"line {line}",
                )
                for line, row in csv_rows(path, ("name", "memory_gb", "speed"))
            ]
        require(len(gpus) > 0, "GPUs", 0, "at least one")
    return tuple(gpus)


@checked
def read_instance(
    path: str | Path, gpus: tuple[Gpu, ...], *, skip_unfit: bool = False
) -> Instance:
    """Read tasks from a CSV file with the columns of `write_instance` or AUTHORS.

    All other columns are kept as tags. Without a column task, tasks are numbered from
    1. Columns time_s:GPU, one per GPU name, contain p_ij, inf if a task does not fit;
    the column workload is then optional. skip_unfit: omit tasks that fit on no GPU, and
    log a message that lists their lines. Raises InputError with the file's name, and
    the line if known.
    """
    path = Path(path)
    with faults_of(path):
        lines = csv_rows(path, COLUMNS[1:], AUTHORS)
        timed = _timed(lines[0][1] if lines else {}, gpus)
        numbers = (*COLUMNS, *timed)
        values = np.array(
            [  # the column of the workload is there unless the times are
                [
                    _number(line, name, {"workload": "1", **row}[name])
                    for name in numbers
                ]
                for line, row in lines
            ]
        ).reshape(-1, len(numbers))
        names = [
            from_cell(row.get("task") or str(n))
            for n, (_, row) in enumerate(lines, start=1)
        ]
        kept = list(range(len(lines)))
        if skip_unfit:
            needs_gb = values[:, [COLUMNS.index("memory_gb")]]
            times_s = values[:, len(COLUMNS) :]
            lacks = needs_gb > np.array([gpu.memory_gb for gpu in gpus])
            unfit = (lacks | (times_s == np.inf) if timed else lacks).all(axis=1)
            bad = [
                f"line {lines[n][0]}: task {names[n]}" for n in np.flatnonzero(unfit)
            ]
            if bad:
                message = "%s: %s left out, which no GPU can run: %s"
                log.warning(message, path, many(len(bad), "task"), listed(bad))
            kept = np.flatnonzero(~unfit).tolist()
        others = [
            name
            for name in (lines[0][1] if lines else ())
            if name not in ("task", *COLUMNS, *timed)
        ]
        return Instance(
            **dict(zip(COLUMNS, values[kept].T)),
            gpus=gpus,
            name=path.stem,
            task_names=tuple(names[n] for n in kept),
            times_s=values[kept, len(COLUMNS) :],
            lines=tuple(lines[n][0] for n in kept),
            tags=Tags(
                {name: [lines[n][1][name] or "" for n in kept] for name in others}
            ),
        )


def _timed(cells: dict[str, str], gpus: tuple[Gpu, ...]) -> list[str]:
    """Return the columns of times, one per GPU; none if workload determines them."""
    there = sorted(name for name in cells if name.startswith(TIMES))
    timed = [TIMES + gpu.name for gpu in gpus]
    require(
        (
            there == sorted({*timed})
            or (not there and (not cells or "workload" in cells))
        ),
        "columns",
        ",".join(cells),
        f"a list that includes workload, or {','.join(sorted({*timed}))}",
    )
    return timed if there else []


def _number(line: int, column: str, text: str | None) -> float:
    return read_as(
        float, text or "", f"line {line}: {column}(={shown(text)}) must be a number"
    )


# n of the instances in the OR-Library's files of weighted tardiness, by their names.
# The number of numbers does not determine it: the 125 instances of n = 40 could be 100
# of n = 50, or 50 of n = 100.
ORLIB_TASKS = {"wt40": 40, "wt50": 50, "wt100": 100}


@checked
def read_orlib(
    path: str | Path, index: Count = 1, machines: Count = 1, tasks: int | None = None
) -> Instance:
    """Read an instance of the OR-Library's weighted tardiness files.

    Each instance has n processing times, n weights and n due dates; all tasks arrive at
    0 and need no memory. index: number of the instance, from 1. machines: number of
    identical machines, by which due dates are divided. tasks: n; known for wt40.txt,
    wt50.txt and wt100.txt. Raises InputError with the file's name if n is unknown or
    does not fit the count of numbers, or if index is beyond the last instance.
    """
    if tasks is not None:
        check_whole("tasks of an instance", tasks, least=1)
    with faults_of(path), opened(Path(path)) as file:
        numbers = read_as(
            lambda text: np.array(text.split(), np.float64),
            file.read(),
            "not a list of numbers",
        )
        stem, number = Path(path).name.partition(".")[0], len(numbers)
        n = tasks or ORLIB_TASKS.get(stem)
        if n is None:
            sizes = [
                n for n in ORLIB_TASKS.values() if number and number % (3 * n) == 0
            ]
            fitting = " or ".join(
                f"{number // (3 * n)} instances of {n}" for n in sizes
            )
            could = f" ({fitting} would fit)" if sizes else ""
            raise InputError(
                f"{many(number, 'number')} cannot determine the number of tasks per"
                f" instance{could}; specify it with tasks=N"
            )
        require(
            number > 0 and number % (3 * n) == 0,
            "numbers",
            number,
            f"a multiple of {3 * n}, three for each of {many(n, 'task')}",
        )
        held = number // (3 * n)
        require(index <= held, "index", index, f"a number from 1 to {held}")
    times, weights, due = numbers.reshape(held, 3, n)[index - 1]
    none = np.zeros(n)
    gpus = tuple(Gpu(f"machine {number + 1}", 0.0, 1.0) for number in range(machines))
    return Instance(
        times, none, due / machines, weights, none, gpus, f"{Path(path).stem} {index}"
    )
