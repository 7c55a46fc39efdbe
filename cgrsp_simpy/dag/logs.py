"""Logs of workflows as graphs: WfFormat of the WfCommons, and batch tasks of Alibaba's
cluster trace of 2018.

Ours: a second of a log is a second on a GPU of 1 TFLOPS, so that the work in 10^12
operations is the same number; where a workflow tells the clocks of its machines, a
second on the fastest of them.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import overload

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_bool
from cgrsp_simpy.base.files import faults_of, listed, note
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.logs import Tags, read_log
from cgrsp_simpy.logs.formats import TASK

log = logging.getLogger(__name__)
BYTES_PER_GB, BYTES_PER_MB = 1 << 30, 10**6


def read_wfformat(path: str | Path) -> Graph:
    """Read a workflow in WfFormat, the JSON of the WfCommons, of version 1.3 to 1.6
    (`cgrsp_simpy.logs.wfformat`).

    A node is a task. Work is the run time, by the clock of its machine over the fastest
    in the file where it is recorded; data of an edge are the files that its start
    writes and its end reads; memory is rounded up to megabytes.

    Result: with the tasks' names. Raises InputError with the file's name, for a cycle,
    too.
    """
    found = read_log(path, "wfformat")
    speed = np.ones(1)
    if "speed_mhz" in found.tags:
        mhz = np.array([float(text or "nan") for text in found.tags["speed_mhz"]])
        speed = np.nan_to_num(mhz / np.nanmax(mhz), nan=1.0)
    with faults_of(found.path):
        graph = Graph(
            work_tflop=found["service_s"] * speed,
            memory_mb=np.ceil(found["memory_gb"] * BYTES_PER_GB / BYTES_PER_MB),
            edges=np.array([(start, end) for start, end, _ in found.edges]),
            data_gb=np.array([data_gb for _, _, data_gb in found.edges]),
            names=found.tags["job_id"],
            name=found.path.name.removesuffix(".gz").removesuffix(".json"),
            tags=found.tags,
        )
    log.info("%s: %d nodes and %d edges read", path, graph.nodes, len(graph.edges))
    return graph


@overload
def read_alibaba(
    path: str | Path, job: None = None, *, strict: bool = False
) -> dict[str, Graph]: ...
@overload
def read_alibaba(path: str | Path, job: str, *, strict: bool = False) -> Graph: ...
def read_alibaba(
    path: str | Path, job: str | None = None, *, strict: bool = False
) -> dict[str, Graph] | Graph:
    """Read batch_task.csv of Alibaba's cluster-trace-v2018: a graph a job.

    A node is a task. Its name tells what it waits for: M5_3_4 is task 5 and starts
    after 3 and 4; names without a number after their letters, such as task_xyz, wait
    for nothing. Work is end_time - start_time in seconds, whatever the status and the
    number of instances, which run side by side. Data and memory are 0: the trace tells
    no data, and memory only as a share of the largest machine.

    A job is left out as a whole, with a logged warning, if one of its rows is bad or
    has a time outside the trace (0), or if it names a task that is not there, has two
    tasks of a number or a cycle.

    job: the name of the one job that is wanted; a fault of it is always refused.
    strict: refuse a file with faults. Result: by the name of the job, or the graph of
    the one job. Raises InputError with the file's name, and the line where there is
    one: for such a fault, no usable job, an unknown job.
    """
    check_bool("strict", strict)
    found = read_log(
        path,
        "alibaba",
        strict=strict or job is not None,
        where=None if job is None else ("job_name", job),
    )
    spoiled = {fault.group for fault in found.report.bad}
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(found.tags["job_name"]):
        rows.setdefault(name, []).append(row)
    graphs: dict[str, Graph] = {}
    faults: list[tuple[int, str]] = []  # with the line
    with faults_of(found.path):
        for name in (name for name in rows if name not in spoiled):
            own = np.array(rows[name])
            try:
                graphs[name] = _graph(
                    name, found["service_s"][own], found.tags.chosen(own)
                )
            except InputError as error:
                faults.append((int(found.line[own[0]]), f"job {name}: {error}"))
        bad = [f"line {line}: {fault}" for line, fault in sorted(faults)]
        if bad and job is not None:
            raise InputError(listed(bad))
        if bad:
            note(
                log,
                found.path,
                strict,
                f"{len(bad)} fault{'s' * (len(bad) > 1)}: {listed(bad)}",
                "jobs left out",
            )
        if not graphs:
            raise InputError(f"no usable job (faults: {len(bad)})")
    log.info(
        "%s: %d jobs read; jobs with faults: %d",
        found.path,
        len(graphs),
        len(spoiled) + len(bad),
    )
    return graphs if job is None else graphs[job]


def _graph(name: str, work_s: np.ndarray, tags: Tags) -> Graph:
    tasks = tags["job_id"]
    place: dict[str, int] = {}  # of tasks, by their numbers
    needs: list[tuple[str, int]] = []
    for node, task in enumerate(tasks):
        if found := TASK.fullmatch(task):
            if found[1] in place:
                raise InputError(
                    f"tasks {tasks[place[found[1]]]} and {task} have the same number"
                )
            place[found[1]] = node
            needs += [
                (before, node) for before in dict.fromkeys(found[2].split("_")[1:])
            ]
    for before, node in needs:
        if before not in place:
            raise InputError(f"task {tasks[node]}: there is no task {before}")
    return Graph(
        work_tflop=work_s,
        memory_mb=np.zeros(len(tasks), dtype=np.int64),
        edges=np.array([(place[before], node) for before, node in needs]),
        data_gb=np.zeros(len(needs)),
        names=tasks,
        name=name,
        tags=tags,
    )
