"""A SimPy environment that records a run, for a page that steps through its events.

It only reads SimPy's objects, so recording does not change a run.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from itertools import islice
from numbers import Real
from pathlib import Path
from types import GeneratorType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import simpy
from simpy.events import Condition, Initialize, Interruption
from simpy.resources.base import BaseResource, Get, Put
from simpy.resources.resource import Release, Request

from cgrsp_simpy.base.checks import InputError, check_number, check_whole, require
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.table import filled_page, or_none
from cgrsp_simpy.engine.events import Environment, event_list

TEMPLATE = Path(__file__).parents[1] / "data" / "event_list.html"
MOST_RESOURCES = 12  # if there are more, idle ones are left out
MOST_ITEMS = 50  # letters of a text, and items of a store
MOST_STEPS = 10_000
KINDS = {
    Request: ("request", "of"),
    Release: ("release", "of"),
    Put: ("put", "into"),
    Get: ("get", "from"),
}
NAMES = {"Initialize": "start", "Interruption": "interrupt"}


class Entry(NamedTuple):
    """An entry of the future event list.

    Attributes
    ----------
    time : float
        Time at which it is due.
    priority : int
        SimPy's priority: at equal times, 0 (urgent) precedes 1 (normal).
    number : int
        SimPy's number; at equal time and priority, lower numbers are processed first.
    event : str
        Description, such as "timeout 5".
    processes : tuple of str
        The processes that wait for it, start by it, or made the request.
    """

    time: float
    priority: int
    number: int
    event: str
    processes: tuple[str, ...]


class ProcessState(NamedTuple):
    """A process that has not ended.

    Attributes
    ----------
    name : str
        Its function's name, a number, and those arguments that are plain values.
    waits_for : str
        The event that resumes it.
    lines : tuple of (str, int)
        Function and line at which it is suspended, preceded by those that delegate to
        it by `yield from`.
    """

    name: str
    waits_for: str
    lines: tuple[tuple[str, int], ...]


class ResourceState(NamedTuple):
    """A resource, container or store: its name, state, users, and pending requests."""

    name: str
    state: str
    users: tuple[str, ...]
    queue: tuple[str, ...]


class EventStep(NamedTuple):
    """The state right after an event; in the first step, before the first event.

    Attributes
    ----------
    time : float
        The clock, in the model's unit.
    event : Entry or None
        Description of the event.
    future : tuple of Entry
        The future event list, in SimPy's order.
    processes, resources : tuple
        The states of both.
    """

    time: float
    event: Entry | None
    future: tuple[Entry, ...]
    processes: tuple[ProcessState, ...]
    resources: tuple[ResourceState, ...]


class EventRecorder(simpy.Environment):
    """A simpy.Environment that records the state after each event, and writes a page
    that steps through the future event list. The run is the same as with SimPy. A
    notebook displays the page as the value of a cell.

        env = cg.EventRecorder()
        ...
        env.run(10)
        env.to_html("events.html")

    Parameters
    ----------
    initial_time : float
        As in SimPy.
    from_time : float, optional
        Time from which events are recorded; by default from the start.
    steps : int
        Number of events that are recorded; the run goes on after them.

    Attributes
    ----------
    steps : list of EventStep
        The state before the first recorded event, and after each.
    """

    def __init__(
        self,
        initial_time: float = 0,
        *,
        from_time: float | None = None,
        steps: int = 200,
    ) -> None:
        check_number("initial_time", initial_time)
        if from_time is not None:
            check_number("from_time", from_time)
        check_whole("steps", steps, least=1, most=MOST_STEPS)
        self.steps: list[EventStep] = []
        self._from_time = -math.inf if from_time is None else from_time
        self._most = steps
        self._processed = self._before = 0  # events so far; those before from_time
        # names; objects to which the model refers no more are forgotten
        self._processes: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._resources: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._numbers: Counter[str] = Counter()  # processes per name
        self._sources: dict[str, tuple[list[str], int]] = {}
        super().__init__(initial_time)

    def step(self) -> None:
        """Process the next event, and record the state after it."""
        first = self._queue[0] if self._queue else None
        is_early = first is not None and first[0] < self._from_time
        self._processed += first is not None
        self._before += is_early
        if first is None or is_early or len(self.steps) > self._most:
            if first and is_early and isinstance(first[3], Initialize):
                self._entry(first)  # processes are numbered from the start
            return super().step()
        if not self.steps:
            self.steps.append(self._state(None))
        entry = self._entry(first)
        try:
            super().step()
        finally:  # also at the end of a run, which SimPy signals by an exception
            self.steps.append(self._state(entry))

    # ---- states ----

    def _state(self, entry: Entry | None) -> EventStep:
        future = tuple(map(self._entry, event_list(self)))
        processes = tuple(
            ProcessState(name, self._described(process.target), self._lines(process))
            for process, name in [*self._processes.items()]
            if process.is_alive
        )
        resources = [self._resource(*item) for item in [*self._resources.items()]]
        if len(resources) > MOST_RESOURCES:
            resources = [item for item in resources if item.users or item.queue]
        return EventStep(self.now, entry, future, processes, tuple(resources))

    def _entry(self, scheduled: Any) -> Entry:
        time, priority, number, event = scheduled
        names = tuple(dict.fromkeys(map(self._name, _processes_of(event))))
        # SimPy schedules what ends a run again, for its other callbacks
        text = self._described(event) if priority >= 0 else "after the end of env.run"
        return Entry(time, int(priority), number, text, names)

    def _described(self, event: Any, with_resource: bool = True) -> str:
        """Describe an event, such as "request of desk"."""
        kind = next((KINDS[kind] for kind in KINDS if isinstance(event, kind)), None)
        if kind:
            verb, preposition = kind
            name = self._resource_name(event.resource, event.proc)
            rank = plain(getattr(event, "priority", None))
            amount = plain(getattr(event, "amount", getattr(event, "item", None)))
            is_granted = isinstance(event, Request) and event.triggered
            return (
                f"{verb}{amount and f' {amount}'}"
                f"{f' {preposition} {name}' if with_resource else ''}"
                f"{rank and f', priority {rank}'}"
                f"{', granted' if is_granted else ''}"
            )
        if isinstance(event, simpy.Process):
            return f"end of {self._name(event)}"
        if isinstance(event, Condition):
            word = "all" if event._evaluate is Condition.all_events else "any"
            return f"{word} of ({'; '.join(map(self._described, event._events))})"
        if simpy.core.StopSimulation.callback in (event.callbacks or ()):
            return "end of env.run"
        name = type(event).__name__
        words = NAMES.get(name) or re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()
        delay = f" {plain(event._delay)}" if isinstance(event, simpy.Timeout) else ""
        # cause of an interrupt
        text = plain(getattr(event._value, "cause", event._value))
        return f"{words.strip('_')}{delay}{text and f': {text}'}"

    def _resource(self, resource: Any, name: str) -> ResourceState:
        users = getattr(resource, "users", ())
        items = getattr(resource, "items", users)
        size = (
            "" if resource.capacity == math.inf else f" of {plain(resource.capacity)}"
        )
        texts = ", ".join(filter(None, map(plain, islice(items, MOST_ITEMS))))
        queue = tuple(
            f"{self._name(event.proc)} ({self._described(event, False)})"
            for event in (*resource.put_queue, *resource.get_queue)
        )
        names = tuple(self._name(request.proc) for request in users)
        state = f"{len(items)}{size} {'in use' if items is users else 'stored'}"
        if hasattr(resource, "level"):
            state = f"level {plain(resource.level)}{size}"
        return ResourceState(name, f"{state}{texts and f': {texts}'}", names, queue)

    def _lines(self, process: Any) -> tuple[tuple[str, int], ...]:
        """Return (function, line) pairs of a process and its delegates."""
        lines = []
        for frame in _frames(process):
            code = frame.f_code
            place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
            name = f"{code.co_qualname.replace('<locals>.', '')} ({place})"
            if name not in self._sources:
                self._sources[name] = _source(code)
            lines.append((name, frame.f_lineno))
        return tuple(lines)

    # ---- names ----

    def _name(self, process: Any) -> str:
        """Return the name of a process; a new process is given one."""
        if process is None:
            return "no process"
        if process not in self._processes:
            function = getattr(process._generator, "__name__", "process").strip("_")
            self._numbers[function] += 1
            arguments = [
                f"{name}={text}"
                for frame in _frames(process)[:1]
                for name in frame.f_code.co_varnames[: frame.f_code.co_argcount]
                if (text := plain(frame.f_locals.get(name)))
            ]
            text = f" ({', '.join(arguments)})" if arguments else ""
            self._processes[process] = f"{function} {self._numbers[function]}{text}"
            if self._numbers[function] == 1:
                self._name_resources(process)
        return self._processes[process]

    def _resource_name(self, resource: Any, process: Any, name: str = "") -> str:
        """Return the name of a resource: its attribute, or that of a variable.

        name: the variable, if it is known; else the process is searched.
        """
        if resource not in self._resources and not name:
            self._name_resources(process)
        if resource not in self._resources:
            if label := getattr(resource, "label", ""):  # resource of a cg.Model
                name = f"{label} {resource.index}"
            name = str(getattr(resource, "name", name) or type(resource).__name__)
            self._numbers[f"resource {name}"] += 1
            same = self._numbers[f"resource {name}"]
            self._resources[resource] = name if same == 1 else f"{name} #{same}"
        return self._resources[resource]

    def _name_resources(self, process: Any) -> None:
        """Name the resources that a process's variables hold."""
        for frame in _frames(process):
            names = (name for name in frame.f_code.co_names if name in frame.f_globals)
            variables = {
                **{name: frame.f_globals[name] for name in names},
                **frame.f_locals,
            }
            for variable, value in variables.items():
                for name, item in _contents(variable, value):
                    if isinstance(item, BaseResource) and item._env is self:
                        self._resource_name(item, process, name)

    # ---- the page ----

    def to_html(self, path: str | Path, title: str = "Future event list") -> None:
        """Write a self-contained page that steps through the recorded events.

        path: ends in .html; an existing file is overwritten. Raises InputError if no
        event was recorded.
        """
        write_whole(Path(page_path(path)), self._page(title).encode())

    def _repr_html_(self) -> str | None:
        if not self.steps:
            return None
        page = escape(self._page("Future event list"))
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 700px"></iframe>'

    def _page(self, title: str) -> str:
        require(isinstance(title, str), "title", title, "a string")
        if not self.steps:
            reason = "call env.run, and pass this env to all processes and resources"
            if self._before:
                reason = f"from_time={self._from_time:g}, but it ended at {self.now:g}"
            raise InputError(f"no event of the run was recorded: {reason}")
        rows: dict[Any, int] = {}  # equal rows of several steps are written once
        steps = [
            [
                step.time,
                *(
                    [rows.setdefault(row, len(rows)) for row in column]
                    for column in ((step.event,) * bool(step.event), *step[2:])
                ),
            ]
            for step in self.steps
        ]
        data = {
            "steps": steps,
            "rows": list(rows),
            "sources": self._sources,
            "before": self._before,
            "after": self._processed - self._before - len(steps) + 1,
            "end": self.now,
        }
        return filled_page(TEMPLATE, title, or_none(data))


class ModelRecorder(EventRecorder, Environment):
    """An EventRecorder for a cg.Model; it supports cancelled events."""


def page_path(path: str | Path) -> str:
    """Return the path of a page as a string; InputError if it does not end in .html."""
    name = str(path) if isinstance(path, Path) else path
    is_html = isinstance(name, str) and name.lower().endswith(".html")
    require(is_html, "page", name, "a file that ends in .html")
    return name


def plain(value: Any) -> str:
    """Format a number, a string or a tuple of them in short; an object with an id as
    its id; other values as "".
    """
    value = getattr(value, "id", value)
    if isinstance(value, tuple):
        return " ".join(map(plain, value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)[:MOST_ITEMS] if isinstance(value, str | Real) else ""


def _processes_of(event: Any) -> Iterator[Any]:
    """Yield the processes that an event resumes, directly or by a condition, and the
    one that has requested it.
    """
    owners = [getattr(call, "__self__", None) for call in event.callbacks or ()]
    if isinstance(event, Interruption):
        owners = [event.process]
    elif not owners or isinstance(owners[0], BaseResource):
        owners.append(getattr(event, "proc", None))
    for owner in owners:
        if isinstance(owner, simpy.Process):
            yield owner
        elif isinstance(owner, Condition) and owner is not event:
            yield from _processes_of(owner)


def _frames(process: Any) -> list[Any]:
    """Return the frames of a process and of its delegates by `yield from`."""
    frames, generator = [], getattr(process, "_generator", None)
    while isinstance(generator, GeneratorType) and generator.gi_frame:
        frames.append(generator.gi_frame)
        generator = generator.gi_yieldfrom
    return frames


def _source(code: Any) -> tuple[list[str], int]:
    """Return the lines of a function, and the number of the first."""
    try:
        lines, first = inspect.getsourcelines(code)
    except OSError:
        return ["# The source is not available."], code.co_firstlineno
    return [line.rstrip() for line in lines], first


def _contents(name: str, value: Any, depth: int = 2) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) pairs of a variable and, recursively, of its content: entries
    of lists and attributes of objects.
    """
    yield name, value
    if depth:
        if isinstance(value, list | tuple):
            value = getattr(value, "_asdict", lambda: dict(enumerate(value)))()
        if isinstance(value, dict):
            contents = {f"{name}[{key}]": item for key, item in value.items()}
        else:
            contents = getattr(value, "__dict__", {})
        for label, item in [*contents.items()]:
            yield from _contents(label, item, depth - 1)
