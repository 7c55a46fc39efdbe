"""Readers of logs of workflows into graphs: WfFormat of the WfCommons, and batch tasks of Alibaba's cluster trace of 2018.

Ours: a second of a log is a second on a GPU of 1 TFLOPS, so that the work in 10^12 operations is the same number.
"""

from __future__ import annotations

import csv
import json
import logging
import re
from collections.abc import Iterator
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np

from cgrsp_simpy.dag.graph import Graph
from cgrsp_simpy.model.checks import InputError, check_bool, check_number, check_one_of, require
from cgrsp_simpy.model.reading import csv_faults, listed, note

__all__ = ["read_alibaba", "read_wfformat"]

log = logging.getLogger(__name__)
VERSIONS = ("1.4", "1.5", "1.6")
Fault = tuple[int, str]  # line of a CSV file, and what is wrong
KINDS = {"str": "a string", "list": "an array", "dict": "an object"}  # of JSON
COLUMNS = 9  # task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu, plan_mem
TASK = re.compile(r"[A-Za-z]+(\d+)((?:_\d+)*)")  # M5_3_4: task 5, after 3 and 4


# ---- WfFormat ----


def read_wfformat(path: str | Path) -> Graph:
    """Read a workflow in WfFormat, the JSON of the WfCommons, of version 1.4, 1.5 or 1.6.

    A node is a task, and an edge leads from each task to those that name it as a parent, or that it names as a child. Work is
    the runtime; data of an edge are the files that its start writes and its end reads; memory is memoryInBytes, rounded up to
    megabytes, 0 where it is not given. Tasks are named as the file refers to them: by name in 1.4, by id since.

    Raises InputError with the file's name: for no JSON, with line and column, no WfFormat, a task without runtime, an unknown
    parent, a number that is none or negative, and a cycle.
    """
    path = Path(path)
    with csv_faults(path):  # of a missing file, say
        graph = _workflow(_tasks(_json(path)), path.stem)
    log.info("%s: %d nodes and %d edges read", path, graph.nodes, len(graph.edges))
    return graph


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"), parse_int=float)  # of any length
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError("not JSON") from None


def _of(record: object, what: str, key: str, kind: type, otherwise: object = None) -> Any:
    """An entry of a JSON object; InputError if there is none, or one of another kind."""
    value = record.get(key, otherwise) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise InputError(f"not WfFormat: {key} of {what}(={repr(value)[:50]}) must be {KINDS[kind.__name__]}")
    return value


def _tasks(file: object) -> list[dict[str, Any]]:
    """The tasks in the layout of version 1.4."""
    version = _of(file, "the file", "schemaVersion", str)
    require(version in VERSIONS, "schemaVersion", version, " or ".join(VERSIONS))
    workflow = _of(file, "the file", "workflow", dict)
    if version == "1.4":
        return _of(workflow, "workflow", "tasks", list)  # type: ignore[no-any-return]
    specification, execution = (_of(workflow, "workflow", part, dict) for part in ("specification", "execution"))
    files = _of(specification, "specification", "files", list, [])
    size = {_of(file, "a file", "id", str): file.get("sizeInBytes") for file in files}
    run = {_of(task, "a task", "id", str): task for task in _of(execution, "execution", "tasks", list)}
    return [_earlier(task, run, size) for task in _of(specification, "specification", "tasks", list)]


def _earlier(task: object, run: dict[str, Any], size: dict[str, Any]) -> dict[str, Any]:
    """A task of version 1.5 in the layout of 1.4, with its run and the sizes of its files."""
    name = _of(task, "a task", "id", str)
    links = [(link, file) for link in ("input", "output") for file in _of(task, f"task {name}", f"{link}Files", list, [])]
    related = {key: _of(task, f"task {name}", key, list, []) for key in ("parents", "children")}
    files = [{"link": link, "name": file, "sizeInBytes": size.get(str(file))} for link, file in links]
    return {**run.get(name, {}), **related, "name": name, "files": files}


class _Task(NamedTuple):
    work_tflop: float
    memory_mb: int
    read: set[str]
    written: dict[str, float]  # bytes


def _task(name: str, task: dict[str, Any]) -> _Task:
    run = {"memoryInBytes": 0.0, "runtimeInSeconds": None, **task}
    for key in ("memoryInBytes", "runtimeInSeconds"):
        check_number(f"{key} of task {name}", run[key], least=0)
    sizes: dict[str, dict[str, float]] = {"input": {}, "output": {}}
    for file in _of(task, f"task {name}", "files", list, []):
        file_name, link = (_of(file, f"a file of task {name}", key, str) for key in ("name", "link"))
        check_one_of(f"link of file {file_name} of task {name}", link, sizes)
        check_number(f"sizeInBytes of file {file_name} of task {name}", file.get("sizeInBytes"), least=0)
        sizes[link][file_name] = file["sizeInBytes"]
    return _Task(run["runtimeInSeconds"], ceil(run["memoryInBytes"] / 1e6), set(sizes["input"]), sizes["output"])


def _edges(tasks: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """Start and end of each edge, once, whether it is told by the one or the other."""
    edges = []
    for name, task in tasks.items():
        for key in ("parents", "children"):
            for other in _of(task, f"task {name}", key, list, []):
                if not isinstance(other, str) or other not in tasks:
                    raise InputError(f"{key} of task {name}: there is no task {other!r}")
                edges.append((other, name) if key == "parents" else (name, other))
    return list(dict.fromkeys(edges))


def _workflow(found: list[dict[str, Any]], name: str) -> Graph:
    tasks = {_of(task, "a task", "name", str): task for task in found}
    require(len(tasks) == len(found), "names of tasks", len(tasks), f"{len(found)}, one a task")
    nodes = {name: _task(name, task) for name, task in tasks.items()}
    edges, place = _edges(tasks), {name: node for node, name in enumerate(tasks)}
    sent = [sum(size for file, size in nodes[start].written.items() if file in nodes[end].read) for start, end in edges]
    return Graph(
        work_tflop=np.array([node.work_tflop for node in nodes.values()]),
        memory_mb=np.array([node.memory_mb for node in nodes.values()]),
        edges=np.array([(place[start], place[end]) for start, end in edges]),
        data_gb=np.array(sent) / 1e9,
        names=tuple(tasks),
        name=name,
    )


# ---- Alibaba's batch tasks ----


@overload
def read_alibaba(path: str | Path, job: None = None, *, strict: bool = False) -> dict[str, Graph]: ...
@overload
def read_alibaba(path: str | Path, job: str, *, strict: bool = False) -> Graph: ...
def read_alibaba(path: str | Path, job: str | None = None, *, strict: bool = False) -> dict[str, Graph] | Graph:
    """Read batch_task.csv of Alibaba's cluster-trace-v2018: a graph a job by its name, or that of the one job that is given.

    The file has no header; its columns are task_name, instance_num, job_name, task_type, status, start_time, end_time, plan_cpu
    and plan_mem. A node is a task. Its name tells what it waits for: M5_3_4 is task 5 and starts after 3 and 4; names without a
    number after their letters, such as task_xyz, wait for nothing. Work is end_time - start_time in seconds, whatever the status
    and the number of instances, which run side by side. Data and memory are 0: the trace tells no data, and memory only as a
    share of the largest machine.

    A job is left out as a whole, with a logged warning, if one of its lines is not of the format or has a time outside the trace
    (0), or if it names a task that is not there, has two tasks of a number or a cycle. strict: such a file is refused, as a
    fault of the one job that is given always is.

    Raises InputError with the file's name, and the line where there is one: for such a fault, no usable job, an unknown job.
    """
    check_bool("strict", strict)
    path = Path(path)
    with csv_faults(path):
        rows, faults = _rows(path, job)
        graphs = dict(_graphs(rows, faults))
        bad = [f"line {line}: {fault}" for line, fault in sorted(faults)]
        if bad and job is not None:
            raise InputError(listed(bad))
        if bad:
            note(log, path, strict, f"{len(bad)} fault{'s' * (len(bad) > 1)}: {listed(bad)}", "jobs left out")
        if not graphs:
            raise InputError(f"no usable job (faults: {len(bad)})" if job is None else f"there is no job {job!r}")
    log.info("%s: %d jobs read; faults: %d", path, len(graphs), len(bad))
    return graphs if job is None else graphs[job]


class _Row(NamedTuple):
    line: int
    task: str
    work_tflop: float


def _rows(path: Path, job: str | None) -> tuple[dict[str, list[_Row]], list[Fault]]:
    """The tasks of each job of which all lines are good, or of the one that is given, and what is wrong with the others."""
    jobs, faults, spoiled = dict[str, list[_Row]](), list[Fault](), set[str]()
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file)
        for cells in filter(None, table):
            name = cells[2] if len(cells) > 3 else ""  # a third field that is the last may be cut off
            if job not in (None, name):
                continue
            try:
                jobs.setdefault(name, []).append(_row(table.line_num, cells))
            except ValueError as error:
                faults.append((table.line_num, str(error)))
                spoiled.add(name)
    return {name: rows for name, rows in jobs.items() if name not in spoiled}, faults


def _row(line: int, cells: list[str]) -> _Row:
    if len(cells) != COLUMNS:
        raise InputError(f"{len(cells)} fields, not {COLUMNS}")
    task = cells[0]
    require(cells[2] != "", "job_name", cells[2], "given")
    like = TASK.fullmatch(task) or not re.match(r"[A-Za-z]+\d", task)
    require(bool(like), "task_name", task, "like M5_3_4, or without a number after its letters")
    start_s, end_s = (_seconds(name, text) for name, text in zip(("start_time", "end_time"), cells[5:7]))
    require(end_s >= start_s, "end_time", end_s, f"at least start_time, {start_s:g}")
    return _Row(line, task, end_s - start_s)


def _seconds(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{name}(={text[:20]!r}) must be a number") from None
    check_number(name, value, above=0)  # 0 stands for a time outside the trace
    return value


def _graphs(jobs: dict[str, list[_Row]], faults: list[Fault]) -> Iterator[tuple[str, Graph]]:
    for name, rows in jobs.items():
        try:
            yield name, _job(name, rows)
        except InputError as error:
            faults.append((rows[0].line, f"job {name}: {error}"))


def _job(name: str, rows: list[_Row]) -> Graph:
    place: dict[str, int] = {}  # of tasks, by their numbers
    needs: list[tuple[str, int]] = []
    for node, row in enumerate(rows):
        if found := TASK.fullmatch(row.task):
            if found[1] in place:
                raise InputError(f"tasks {rows[place[found[1]]].task} and {row.task} have the same number")
            place[found[1]] = node
            needs += [(before, node) for before in dict.fromkeys(found[2].split("_")[1:])]
    for before, node in needs:
        if before not in place:
            raise InputError(f"task {rows[node].task}: there is no task {before}")
    return Graph(
        work_tflop=np.array([row.work_tflop for row in rows]),
        memory_mb=np.zeros(len(rows), dtype=np.int64),
        edges=np.array([(place[before], node) for before, node in needs]),
        data_gb=np.zeros(len(needs)),
        names=tuple(row.task for row in rows),
        name=name,
    )
