"""Workflow logs as graphs: WfFormat of WfCommons, and Alibaba's 2018 batch tasks.

By assumption, a second in a log is a second on a GPU of 1 TFLOPS; if a workflow records
the clock speeds of its machines, a second on its fastest machine is.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import overload

import numpy as np

from cgrsp_simpy.base.checks import (
    InputError,
    require,
    shown,
)
from cgrsp_simpy.base.files import faults_of, listed, note
from cgrsp_simpy.base.parameters import checked
from cgrsp_simpy.base.table import grouped, many
from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.logs import Tags, read_log
from cgrsp_simpy.logs.formats import TASK

log = logging.getLogger(__name__)
BYTES_PER_GB, BYTES_PER_MB = 1 << 30, 10**6


def read_wfformat(path: str | Path) -> Graph:
    """Read a WfCommons workflow in WfFormat (JSON), versions 1.3 to 1.6, as a graph.

    Work is the run time of a task, times its machine's clock speed over the fastest in
    the file if recorded. Data of an edge are the files that its first task writes and
    its second reads; memory is rounded up to megabytes (`cgrsp_simpy.logs.wfformat`).
    Raises InputError with the file's name, also for a cycle.
    """
    table = read_log(path, "wfformat")
    speed = np.ones(1)
    if "speed_mhz" in table.tags:
        mhz = np.array([float(text or "nan") for text in table.tags["speed_mhz"]])
        speed = np.nan_to_num(mhz / np.nanmax(mhz), nan=1.0)
    with faults_of(table.path):
        graph = Graph(
            work_tflop=table["service_s"] * speed,
            memory_mb=np.ceil(table["memory_gb"] * BYTES_PER_GB / BYTES_PER_MB),
            edges=np.array([(start, end) for start, end, _ in table.edges]),
            data_gb=np.array([data_gb for _, _, data_gb in table.edges]),
            names=table.tags["job_id"],
            name=table.path.name.removesuffix(".gz").removesuffix(".json"),
            tags=table.tags,
        )
    nodes, edges = many(graph.nodes, "node"), many(len(graph.edges), "edge")
    log.info("%s: %s and %s read", path, nodes, edges)
    return graph


@overload
def read_alibaba(
    path: str | Path, job: None = None, *, strict: bool = False
) -> dict[str, Graph]: ...
@overload
def read_alibaba(path: str | Path, job: str, *, strict: bool = False) -> Graph: ...
@checked
def read_alibaba(
    path: str | Path, job: str | None = None, *, strict: bool = False
) -> dict[str, Graph] | Graph:
    """Read batch_task.csv of Alibaba's cluster-trace-v2018: one graph per job.

    A task's name lists its predecessors: M5_3_4 is task 5 and starts after 3 and 4;
    names such as task_xyz have none. Work is end_time - start_time in seconds, for any
    status and number of (parallel) instances. Data and memory are 0: the trace has no
    data, and memory only as a share of the largest machine. A job is left out, with a
    logged warning, if one of its rows is bad or has a time outside the trace (0), or if
    it has an unknown predecessor, a repeated number or a cycle.

    job: read this job only, and raise for its faults. strict: raise for any fault.
    Returns graphs by job name, or the one job's. Raises InputError with file and line
    for such a fault, no usable job or an unknown job.
    """
    table = read_log(
        path,
        "alibaba",
        strict=strict or job is not None,
        where=None if job is None else ("job_name", job),
    )
    spoiled = {fault.group for fault in table.report.bad}
    rows = grouped(range(len(table)), table.tags["job_name"].__getitem__)
    graphs: dict[str, Graph] = {}
    faults: list[tuple[int, str]] = []  # with the line
    with faults_of(table.path):
        for name in (name for name in rows if name not in spoiled):
            of_job = np.array(rows[name])
            try:
                graphs[name] = _graph(
                    name, table["service_s"][of_job], table.tags.chosen(of_job)
                )
            except InputError as error:
                faults.append((int(table.line[of_job[0]]), f"job {name}: {error}"))
        bad = [f"line {line}: {fault}" for line, fault in sorted(faults)]
        if bad and job is not None:
            raise InputError(listed(bad))
        if bad:
            note(
                log,
                table.path,
                strict,
                f"{many(len(bad), 'fault')}: {listed(bad)}",
                "jobs left out",
            )
        if not graphs:
            raise InputError(f"no usable job (faults: {len(bad)})")
    log.info(
        "%s: %s read; jobs with faults: %d",
        table.path,
        many(len(graphs), "job"),
        len(spoiled) + len(bad),
    )
    return graphs if job is None else graphs[job]


def read_graph(text: str) -> str | Graph:
    """Read a graph from a file by its extension; return any other string unchanged.

    text: a file in WfFormat (.json or .json.gz), or a file of Alibaba's batch tasks and
    one of its jobs, as in "tasks.csv:j_17" (.csv or .csv.gz). Raises InputError with
    the file's name, and the line if known.
    """
    path, colon, job = text.partition(":")
    if path.endswith((".json", ".json.gz")):
        require(
            not colon,
            "graph",
            text,
            "a file name without a job: a file in WfFormat contains one graph",
        )
        return read_wfformat(path)
    if path.endswith((".csv", ".csv.gz")):
        if not job:
            raise InputError(
                f"graph(={shown(text)}) must include a job of the file, such as"
                f" {path}:j_17"
            )
        return read_alibaba(path, job)
    return text


def _graph(name: str, work_s: np.ndarray, tags: Tags) -> Graph:
    tasks = tags["job_id"]
    place: dict[str, int] = {}  # task number -> index
    needs: list[tuple[str, int]] = []
    for node, task in enumerate(tasks):
        if matched := TASK.fullmatch(task):
            if matched[1] in place:
                raise InputError(
                    f"tasks {tasks[place[matched[1]]]} and {task} have the same number"
                )
            place[matched[1]] = node
            needs += [
                (before, node) for before in dict.fromkeys(matched[2].split("_")[1:])
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
