"""Workflows in WfFormat, the JSON format of WfCommons, versions 1.3 to 1.6: one row per
task, and the edges between tasks.

A task is a job; its run time is runtimeInSeconds, its memory memoryInBytes (0 if
missing). An edge leads from each task to the tasks that list it as a parent, or that it
lists as a child; the data sent are the files that the first task writes and the second
reads. Tasks are referenced by name up to 1.4, and by id from 1.5 on. The tag speed_mhz
is the recorded clock rate of the task's machine.

In 1.3 memory is in KB. Sizes of files are taken as bytes: the schema specifies KB, but
the files of WfCommons have the same numbers in 1.3 as in 1.4, where they are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, NamedTuple, TextIO

import numpy as np

from cgrsp_simpy.base.arrays import Floats
from cgrsp_simpy.base.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.base.files import json_of
from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.logs.log import Format, Tags

VERSIONS = ("1.3", "1.4", "1.5", "1.6")
SINCE = {
    "runtime": "runtimeInSeconds",
    "memory": "memoryInBytes",
    "size": "sizeInBytes",
}
KINDS = {"str": "a string", "list": "an array", "dict": "an object"}  # in JSON
BYTES_PER_GB = 1 << 30
EDGE_BYTES_PER_GB = 1e9

Whole = tuple[dict[str, Floats], Tags, tuple[tuple[int, int, float], ...]]


def _of(
    record: object, what: str, key: str, kind: type, otherwise: object = None
) -> Any:
    """Return an entry of a JSON object; InputError if missing or of the wrong type."""
    value = record.get(key, otherwise) if isinstance(record, dict) else None
    if not isinstance(value, kind):
        raise InputError(
            f"not WfFormat: {key} of {what}(={repr(value)[:50]}) must be"
            f" {KINDS[kind.__name__]}"
        )
    return value


def _tasks(file: object) -> list[dict[str, Any]]:
    """Return the tasks in the layout of version 1.4."""
    version = _of(file, "the file", "schemaVersion", str)
    require(version in VERSIONS, "schemaVersion", version, " or ".join(VERSIONS))
    workflow = _of(file, "the file", "workflow", dict)
    if version in ("1.3", "1.4"):
        entries: list[Any] = _of(workflow, "workflow", "tasks", list)
        converted = [_since(task) for task in entries] if version == "1.3" else entries
        return _with_speeds(converted, workflow)
    specification, execution = (
        _of(workflow, "workflow", part, dict) for part in ("specification", "execution")
    )
    files = _of(specification, "specification", "files", list, [])
    size = {_of(file, "a file", "id", str): file.get("sizeInBytes") for file in files}
    run = {
        _of(task, "a task", "id", str): task
        for task in _of(execution, "execution", "tasks", list)
    }
    tasks = [
        _earlier(task, run, size)
        for task in _of(specification, "specification", "tasks", list)
    ]
    return _with_speeds(tasks, execution)


def _since(task: Any) -> Any:
    """Rename the keys of a task or file of version 1.3 to those of version 1.4."""
    if not isinstance(task, dict):
        return task
    new = {SINCE.get(key, key): value for key, value in task.items()}
    kb, files = new.get("memoryInBytes"), new.get("files")
    if isinstance(kb, float):
        new["memoryInBytes"] = 1000 * kb
    if isinstance(files, list):
        new["files"] = [_since(file) for file in files]
    return new


def _with_speeds(tasks: list[Any], run: dict[str, Any]) -> list[Any]:
    """Add the clock rate of each task's first machine, if recorded."""
    speeds = dict[Any, float]()
    for machine in _of(run, "the run", "machines", list, []):
        cpu = machine.get("cpu") if isinstance(machine, dict) else None
        speed = (
            cpu.get("speedInMHz", cpu.get("speed")) if isinstance(cpu, dict) else None
        )
        if isinstance(speed, float) and 0 < speed < inf:
            speeds[str(machine.get("nodeName"))] = speed
    answer = []
    for task in tasks:
        entry = task if isinstance(task, dict) else {}
        several = entry.get("machines")
        first = several[0] if isinstance(several, list) and several else None
        speed = speeds.get(str(entry.get("machine", first)))
        answer.append(task if speed is None else {**entry, "speed_mhz": speed})
    return answer


def _earlier(task: object, run: dict[str, Any], size: dict[str, Any]) -> dict[str, Any]:
    """Convert a task of version 1.5 or later to 1.4, with its run and file sizes."""
    name = _of(task, "a task", "id", str)
    links = [
        (link, file)
        for link in ("input", "output")
        for file in _of(task, f"task {name}", f"{link}Files", list, [])
    ]
    related = {
        key: _of(task, f"task {name}", key, list, []) for key in ("parents", "children")
    }
    files = [
        {"link": link, "name": file, "sizeInBytes": size.get(str(file))}
        for link, file in links
    ]
    return {**run.get(name, {}), **related, "name": name, "files": files}


class _Task(NamedTuple):
    run_s: float
    memory_bytes: float
    read: set[str]
    written: dict[str, float]  # bytes


def _task(name: str, task: dict[str, Any]) -> _Task:
    run = {"memoryInBytes": 0.0, "runtimeInSeconds": None, **task}
    for key in ("memoryInBytes", "runtimeInSeconds"):
        check_number(f"{key} of task {name}", run[key], least=0)
    sizes: dict[str, dict[str, float]] = {"input": {}, "output": {}}
    for file in _of(task, f"task {name}", "files", list, []):
        file_name, link = (
            _of(file, f"a file of task {name}", key, str) for key in ("name", "link")
        )
        check_one_of(f"link of file {file_name} of task {name}", link, sizes)
        check_number(
            f"sizeInBytes of file {file_name} of task {name}",
            file.get("sizeInBytes"),
            least=0,
        )
        sizes[link][file_name] = file["sizeInBytes"]
    return _Task(
        run["runtimeInSeconds"],
        run["memoryInBytes"],
        set(sizes["input"]),
        sizes["output"],
    )


def _edges(tasks: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """Return start and end of each edge once, even if both tasks list it."""
    edges = []
    for name, task in tasks.items():
        for key in ("parents", "children"):
            for other in _of(task, f"task {name}", key, list, []):
                if not isinstance(other, str) or other not in tasks:
                    raise InputError(
                        f"{key} of task {name}: there is no task {other!r}"
                    )
                edges.append((other, name) if key == "parents" else (name, other))
    return list(dict.fromkeys(edges))


def _whole(file: TextIO) -> Whole:
    """Return the columns, tags and edges of a file."""
    entries = _tasks(json_of(file.read(), parse_int=float))  # integers of any length
    tasks = {_of(task, "a task", "name", str): task for task in entries}
    require(
        len(tasks) == len(entries),
        "names of tasks",
        len(tasks),
        f"{len(entries)}, one per task",
    )
    nodes = {name: _task(name, task) for name, task in tasks.items()}
    place = {name: row for row, name in enumerate(tasks)}
    columns = {
        "service_s": np.array([node.run_s for node in nodes.values()]),
        "memory_gb": np.array(
            [node.memory_bytes / BYTES_PER_GB for node in nodes.values()]
        ),
    }
    edges = tuple(
        (place[start], place[end], _sent_gb(nodes[start], nodes[end]))
        for start, end in _edges(tasks)
    )
    return columns, Tags({"job_id": tasks, **_texts(tasks.values())}), edges


def _sent_gb(start: _Task, end: _Task) -> float:
    sizes = (size for file, size in start.written.items() if file in end.read)
    return summed(sizes) / EDGE_BYTES_PER_GB


def _texts(tasks: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the other strings and numbers of tasks, such as program or machine."""
    known = ("name", "memoryInBytes", "runtimeInSeconds")
    texts = [
        {
            key: str(value)
            for key, value in task.items()
            if isinstance(value, (str, float)) and key not in known
        }
        for task in tasks
    ]
    return {
        key: [values.get(key, "") for values in texts]
        for key in dict.fromkeys(key for values in texts for key in values)
    }


WFFORMAT = Format(
    "wfformat",
    "a workflow in WfFormat, the JSON of the WfCommons; a row is a task",
    (),
    keys=("schemaVersion",),
    whole=_whole,
)
"""Format of the WfCommons' workflows."""
