"""SimPy resources that record their own statistics, and monitors of observed values.

Each class extends SimPy's class of the same name and has a name for its figures; the
order of events is SimPy's. Times are in the model's unit, not necessarily seconds.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import simpy
from simpy.core import BoundClass
from simpy.events import PENDING
from simpy.resources import container, resource, store

from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_whole,
    is_number,
    require,
    shown,
)
from cgrsp_simpy.base.timeline import counted
from cgrsp_simpy.engine.run import recorded

Series = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # times, values


class Measured:
    """Base of objects that record statistics; registered on the environment by name.

    name: prefix of the figures; by default the class and a number. final: the figures
    of the measured window, once it has ended.
    """

    final: Mapping[str, float] | None = None

    def __init__(self, env: simpy.Environment, name: str = "") -> None:
        registered = monitors(env)
        kind = type(self).__name__.lower()
        self.name = name or f"{kind}{len(registered) + 1}"
        if self.name in registered:
            raise InputError(
                f"name={self.name!r} is used by two monitors; choose another name"
            )
        registered[self.name] = self
        self.reset()
        if env.now >= getattr(env, "window_end", math.inf):
            self.stop()

    def reset(self) -> None:
        """Discard all measurements before now."""
        raise NotImplementedError

    def stop(self) -> None:
        """End the measured window now."""
        self.final = self.figures()

    def figures(self) -> dict[str, float]:
        """Return the figures up to now by name; NaN if nothing was measured."""
        raise NotImplementedError

    def series(self) -> dict[str, Series]:
        """Return times and values over the whole run, if records were kept."""
        raise NotImplementedError


def monitors(env: simpy.Environment) -> dict[str, Any]:
    """Return the monitors that are registered on an environment, by name."""
    # vars(env) would work, but makes CPython read every attribute of env more slowly
    if not hasattr(env, "monitors"):
        env.monitors = {}  # type: ignore[attr-defined]
    return env.monitors  # type: ignore[attr-defined,no-any-return]


def figures_of(env: simpy.Environment) -> dict[str, float]:
    """Return the figures of all monitors by name, such as desk_wait."""
    figures: dict[str, float] = {}
    for name, monitor in monitors(env).items():
        for figure, value in (monitor.final or monitor.figures()).items():
            full = f"{name}_{figure}" if figure else name
            if full in figures:
                raise InputError(
                    f"two monitors have the figure {full!r}; rename one of the"
                    f" monitors {name!r}"
                )
            figures[full] = value
    return figures


def warm_up(env: simpy.Environment, until: float, end: float | None = None) -> None:
    """Measure only from the end of the warm-up: statistics are reset at that time.

    The counters are cleared, but not the system, as in Law, Simulation Modeling and
    Analysis. So a wait that began during the warm-up and ends after it counts in full.
    Time averages include only the time after the warm-up.

    Parameters
    ----------
    env : simpy.Environment
        Environment of the model.
    until : float
        End of the warm-up, later than now, in the model's unit of time.
    end : float, optional
        End of the measured window, later than `until`. The cool-down after it
        is not measured, except values of a `Monitor` that are recorded for a time
        within the window, such as the arrival of an entity.
    """
    require(
        is_number(until) and until > env.now,
        "until",
        until,
        f"a number > {env.now:g}, now: call cg.warm_up before env.run",
    )
    if earlier := getattr(env, "warm_up", 0.0):
        raise InputError(
            f"cg.warm_up was already called with {earlier:g}; call it once per run"
        )
    if end is not None:
        check_number("end", end, above=until)
    env.warm_up = until  # type: ignore[attr-defined]
    _schedule(env, until, lambda monitor: monitor.reset())
    if end is not None:
        env.window_end = end  # type: ignore[attr-defined]
        _schedule(env, end, lambda monitor: monitor.stop())


def check_window(name: str, env: simpy.Environment) -> None:
    """Raise InputError if a model, by its name, ended before its measured window."""
    warm_up, end = getattr(env, "warm_up", 0.0), getattr(env, "window_end", math.inf)
    is_too_short = env.now <= warm_up or env.now < end < math.inf
    if warm_up > 0 and is_too_short:
        to = f" to {end:g}" if end < math.inf else ""
        raise InputError(
            f"model {name} ended at {env.now:g}, but cg.warm_up measures from"
            f" {warm_up:g}{to}"
        )


def _schedule(env: simpy.Environment, time: float, action: Any) -> None:
    """Schedule an action on every monitor at a given time."""

    def act(_: simpy.Event) -> None:
        if env.peek() == math.inf:
            raise InputError(
                f"the model ended before {time:g}, a bound of the measured window"
            )
        for monitor in monitors(env).values():
            action(monitor)

    env.timeout(time - env.now).callbacks.append(act)


def schedule(
    env: simpy.Environment,
    resource: Resource,
    calendar: Sequence[tuple[float, int]],
    period: float | None = None,
) -> None:
    """Change the capacity of a resource by a calendar, such as the shifts of a day.

    Parameters
    ----------
    env : simpy.Environment
        Environment of the model.
    resource : Resource
        Work in progress is finished when the capacity is lowered.
    calendar : sequence of (time, capacity)
        Times relative to now, ascending, at least 0; whole capacities, at least 0.
    period : float, optional
        Time after which the calendar repeats, later than its last time; the run then
        needs an explicit end, as in `env.run(until)`.
    """
    allowed = "a cg.Resource, PriorityResource or PreemptiveResource"
    require(isinstance(resource, Resource), "resource", resource, allowed)
    try:
        shifts = [(float(time), capacity) for time, capacity in calendar]
    except (TypeError, ValueError):
        raise InputError(
            f"calendar(={shown(calendar)}) must be pairs of a time and a capacity"
        ) from None
    times = [time for time, _ in shifts]
    ascending = all(a < b for a, b in itertools.pairwise(times))
    require(
        bool(times) and times[0] >= 0 and ascending and times[-1] < math.inf,
        "times of the calendar",
        times,
        "finite, ascending, at least 0",
    )
    for _, capacity in shifts:
        check_whole("capacity", capacity, least=0)
    if period is not None:
        check_number("period", period, above=times[-1])

    def follow() -> Any:
        start = env.now
        while True:
            for time, capacity in shifts:
                if start + time > env.now:
                    yield env.timeout(start + time - env.now)
                resource.capacity = capacity
            if period is None:
                return
            start += period

    if times[0] == 0:  # also for requests before the process starts
        resource.capacity = shifts[0][1]
    env.process(follow())


def _counted(start: float, begins: Any, ends: Any) -> Series:
    """Return the number present over time, after all events of an instant. ends: NaN
    for an end that has not occurred.
    """
    times, number = counted(begins, ends[~np.isnan(ends)])
    times, number = np.append(start, times), np.append(0, number)
    # a departure and an arrival at one instant are never present together
    last = np.append(np.diff(times) > 0, True)
    return times[last], number[last]


def _mean(values: Sequence[float] | np.ndarray[Any, Any]) -> float:
    return float(np.mean(values)) if len(values) else math.nan


def _p95(values: Sequence[float] | np.ndarray[Any, Any]) -> float:
    return float(np.percentile(values, 95)) if len(values) else math.nan


def _share_pct(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else math.nan


class Monitor(Measured):
    """Statistics of values that a model observes, such as times in the system.

        response = cg.Monitor(env, "response")
        ...
        response.tally(env.now - arrival)

    Figures: the mean, under the monitor's name, and the 95th percentile.
    """

    def __init__(self, env: simpy.Environment, name: str = "") -> None:
        self._env = env
        self.times, self.values = array("d"), array("d")
        super().__init__(env, name)

    def reset(self) -> None:
        """Do nothing: whether a value counts depends on its time."""

    def stop(self) -> None:
        """Do nothing: values of the window may be recorded later."""

    def tally(self, value: float, at: float | None = None) -> None:
        """Record a value.

        at: the time to which it belongs, such as an entity's arrival, at most now, the
        default. If there is a measured window, values of times outside it do not count.
        """
        if at is not None:
            check_number("at", at)
            require(at <= self._env.now, "at", at, f"at most {self._env.now:g}, now")
        check_number("value", value)
        self.values.append(value)
        self.times.append(self._env.now if at is None else at)

    def figures(self) -> dict[str, float]:
        times, values = np.array(self.times), np.array(self.values)
        since = getattr(self._env, "warm_up", 0.0) or -math.inf
        until = getattr(self._env, "window_end", math.inf)
        values = values[(times >= since) & (times < until)]
        return {"": _mean(values), "p95": _p95(values)}

    def series(self) -> dict[str, Series]:
        times, values = np.array(self.times), np.array(self.values)
        # a value may belong to an earlier time than those recorded before it
        order = np.argsort(times, kind="stable")
        return {"value": (times[order], values[order])}


# The events below are SimPy's, created without the calls of its generic classes, which
# would take longer. A release takes effect at once, so that a resource's get_queue, in
# which SimPy looks for releases after every request, is always empty.


class _Request(resource.Request):
    """A request that records when it was made."""

    def __init__(self, resource: Any) -> None:
        env = self.env = resource._env
        self.callbacks, self.resource = [], resource
        self.proc, self.since = env._active_proc, env._now
        resource.put_queue.append(self)
        resource._trigger_put(None)

    def cancel(self) -> None:
        waited = self._value is PENDING
        super().cancel()
        if waited:
            resource: Any = self.resource
            resource._end(self, resource.withdrawn, self.since)

    def __exit__(self, kind: Any, *error: Any) -> None:
        if self._value is PENDING:
            self.cancel()
        if kind is not GeneratorExit:  # as in SimPy; a subclass may define `release`
            self.resource.release(self)


class _PriorityRequest(_Request, resource.PriorityRequest):
    """A request with a priority that records when it was made."""

    def __init__(
        self, resource: Any, priority: float = 0, preempt: bool = True
    ) -> None:
        # NaN, such as a missing due date, has no place in the order of the queue
        require(priority == priority, "priority", priority, "a number")
        self.priority, self.preempt = priority, preempt  # type: ignore[assignment]
        self.time = resource._env._now
        self.key = (priority, self.time, not preempt)  # type: ignore[assignment]
        super().__init__(resource)


class _Release(resource.Release):
    """A release; when it is processed, the next request is granted."""

    def __init__(self, resource: Any, request: Any) -> None:
        env = self.env = resource._env
        self.callbacks, self.resource = [resource._trigger_put], resource
        self.proc, self.request = env._active_proc, request
        if getattr(request, "resource", None) != resource:
            raise InputError(
                f"{resource.name} can release only its own requests: `turn ="
                " resource.request()`, then `yield turn`, which returns None"
            )
        if request in resource.users:  # otherwise withdrawn, preempted or released
            resource._leave(request)
        self._ok, self._value = True, None
        env.schedule(self)


class Resource(Measured, simpy.Resource):
    """A simpy.Resource that records statistics, with a capacity that can be changed.

    Lowering the capacity lets work in progress finish; `close` interrupts it. Figures:
    wait and wait_p95 of granted requests; queue, the time-average queue length;
    utilisation_pct, the utilisation of open servers (after the capacity was lowered, a
    server is open until it has finished its work); withdrawn_pct, the share of requests
    that were withdrawn, such as by customers who renege. The run fails with InputError
    if anything but the resource's own requests is released.

    Parameters
    ----------
    env : simpy.Environment
        Environment of the model.
    capacity : int
        Number of servers, at least 0.
    name : str
        Prefix of the figures; by default "resource" and a number.
    """

    request = BoundClass(_Request)
    release = BoundClass(_Release)

    def __init__(
        self, env: simpy.Environment, capacity: int = 1, name: str = ""
    ) -> None:
        check_whole("capacity", capacity, least=0)
        simpy.Resource.__init__(self, env, max(1, capacity))  # SimPy refuses 0
        self._capacity = capacity
        # requests that have ended, with the time, and changes of the capacity
        keeps_records = getattr(env, "keeps_records", False)
        self.log: list[tuple[Any, float]] | None = [] if keeps_records else None
        self.capacities = [(env.now, capacity)]
        super().__init__(env, name)

    def reset(self) -> None:
        # start of the statistics, and end of the time that is in open_time
        self._since = self._measured_to = self._env.now
        # lengths of waits that ended with a grant, of others, and of uses
        self.waits, self.withdrawn = array("d"), array("d")
        self._uses, self._open_time = array("d"), 0.0
        # parts of waits and uses before the start: the time averages subtract them
        self._before = self._unfinished()

    def _unfinished(self) -> tuple[float, float]:
        """Return the total wait of pending requests and usage time of users so far."""
        now = self._env.now
        waiting: Any = self.put_queue
        users: Any = self.users
        return (
            math.fsum(now - request.since for request in waiting),
            math.fsum(now - request.usage_since for request in users),
        )

    def figures(self) -> dict[str, float]:
        self._measure_open()
        span = self._env.now - self._since or math.nan
        unfinished_wait, unfinished_use = self._unfinished()
        earlier_wait, earlier_use = self._before
        ended_wait = math.fsum(self.waits) + math.fsum(self.withdrawn)
        use = math.fsum(self._uses) + unfinished_use - earlier_use
        ended = len(self.waits) + len(self.withdrawn)
        return {
            "wait": _mean(self.waits),
            "wait_p95": _p95(self.waits),
            "queue": (ended_wait + unfinished_wait - earlier_wait) / span,
            "utilisation_pct": 100.0 * use / (self._open_time or math.nan),
            "withdrawn_pct": _share_pct(len(self.withdrawn), ended),
        }

    def requests(self) -> list[tuple[Any, float, float, float]]:
        """Return each request's process and times of request, grant and end, in order
        of request; NaN for what has not happened.
        """
        unfinished = [(item, math.nan) for item in (*self.users, *self.put_queue)]
        rows = [
            (
                request.proc,
                request.since,
                math.nan if request.usage_since is None else request.usage_since,
                end,
            )
            for request, end in [*recorded(self.log), *unfinished]
        ]
        return sorted(rows, key=lambda row: row[1])

    def series(self) -> dict[str, Series]:
        rows = np.array([row[1:] for row in self.requests()]).reshape(-1, 3)
        requested, granted, ended = rows.T
        times, capacities = np.array(self.capacities, float).T
        waited_to = np.where(np.isnan(granted), ended, granted)
        served = ~np.isnan(granted)
        order = np.argsort(granted[served], kind="stable")
        return {
            "wait": (granted[served][order], (granted - requested)[served][order]),
            "queue": _counted(self.capacities[0][0], requested, waited_to),
            "in use": _counted(self.capacities[0][0], granted[served], ended[served]),
            "capacity": (times, capacities),
        }

    @property
    def capacity(self) -> int:
        """Number of open servers; work in progress is finished when it is lowered."""
        return int(self._capacity)

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        check_whole("capacity", capacity, least=0)
        self._measure_open()
        self._capacity = capacity
        self.capacities.append((self._env.now, capacity))
        for _ in range(len(self.put_queue)):  # each call grants one request
            self._trigger_put(None)

    def close(self, capacity: int = 0) -> None:
        """Lower the capacity at once, and interrupt users above the new capacity.

        Users of the lowest priority are interrupted first, or those granted last; the
        cause is a `simpy.resources.resource.Preempted`.
        """
        self.capacity = capacity
        for request in sorted(self.users, key=self._rank)[capacity:]:
            self._preempt(request, None)

    def _measure_open(self) -> None:
        """Add the open time of servers since the last measurement."""
        now = self._env._now
        self._open_time += max(self._capacity, len(self.users)) * (
            now - self._measured_to
        )
        self._measured_to = now

    def _trigger_put(self, _: Any) -> None:
        """Grant the first request if a server is free: one per call, as in SimPy."""
        queue = self.put_queue
        if queue and (len(self.users) < self._capacity or self._preempts_for(queue[0])):
            request = queue.pop(0)
            self.users.append(request)
            now = request.usage_since = self._env._now
            self.waits.append(now - request.since)
            request.succeed()

    def _preempts_for(self, request: Any) -> bool:
        """Preempt a user of lower priority, if any, for a request; return whether."""
        return False

    @staticmethod
    def _rank(request: Any) -> Any:
        return request.usage_since

    def _preempt(self, user: Any, by: Any) -> None:
        self._leave(user)
        user.proc.interrupt(resource.Preempted(by, user.usage_since, self))

    def _leave(self, user: Any) -> None:
        if len(self.users) > self._capacity:
            self._measure_open()
        self.users.remove(user)
        self._end(user, self._uses, user.usage_since)

    def _end(self, request: Any, times: array[float], since: float) -> None:
        """Record the end of a request's wait or usage."""
        now = self._env._now
        times.append(now - since)
        if self.log is not None:
            self.log.append((request, now))


class PriorityResource(Resource, simpy.PriorityResource):
    """A simpy.PriorityResource that records statistics."""

    request = BoundClass(_PriorityRequest)

    @staticmethod
    def _rank(request: Any) -> Any:
        return request.key


class PreemptiveResource(PriorityResource, simpy.PreemptiveResource):
    """A simpy.PreemptiveResource that records statistics."""

    def _preempts_for(self, request: Any) -> bool:
        if not request.preempt or not self.users:
            return False
        user = max(self.users, key=self._rank)
        if user.key > request.key:  # its server is taken over, even one that closes
            self._preempt(user, request.proc)
            return True
        return False


class _Put(container.ContainerPut, store.StorePut):
    """A put of an item into a store."""

    def __init__(self, resource: Any, item: Any) -> None:
        self.amount = self.item = item  # SimPy's container reads the amount
        env = self.env = resource._env
        self.callbacks, self.resource = [resource._trigger_get], resource
        self.proc, self.since = env._active_proc, env._now
        resource.put_queue.append(self)
        resource._trigger_put(None)


class _AmountPut(_Put):
    """A put of an amount into a container."""

    def __init__(self, resource: Any, amount: float) -> None:
        _check_positive("amount", amount)
        super().__init__(resource, amount)


class _Get(container.ContainerGet, store.FilterStoreGet):
    """A get of the first item of a store."""

    def __init__(self, resource: Any) -> None:
        env = self.env = resource._env
        self.callbacks, self.resource = [resource._trigger_put], resource
        self.proc, self.since = env._active_proc, env._now
        resource.get_queue.append(self)
        resource._trigger_get(None)

    def cancel(self) -> None:
        waited = self._value is PENDING
        super().cancel()
        if waited:
            self.resource.withdrawn += 1


class _AmountGet(_Get):
    """A get of an amount from a container."""

    def __init__(self, resource: Any, amount: float) -> None:
        _check_positive("amount", amount)
        self.amount = amount
        super().__init__(resource)


class _FilterGet(_Get):
    """A get of the first item of a store that a function accepts."""

    def __init__(
        self, resource: Any, filter: Callable[[Any], bool] = lambda _: True
    ) -> None:
        require(callable(filter), "filter", filter, "a function of an item")
        self.filter = filter
        super().__init__(resource)


def _check_positive(name: str, value: Any) -> None:
    """Check that a value is a number > 0; inf is accepted."""
    try:
        is_positive = value > 0
    except TypeError:
        is_positive = False
    if not is_positive:
        check_number(name, value, above=0)


class _Stock(Measured):
    """Base of containers and stores.

    Figures: level, its time average; wait of the served gets, and immediate_pct, the
    share of them that did not wait; put_wait, the wait of puts; withdrawn_pct, the
    share of gets that were withdrawn.
    """

    put, get = BoundClass(_Put), BoundClass(_Get)
    _env: simpy.Environment

    def __init__(self, env: simpy.Environment, name: str) -> None:
        self.keeps_records = getattr(env, "keeps_records", False)
        self._measured_to = env.now
        self.times = array("d", [env.now])
        self.levels = array("d", [self._current()])
        super().__init__(env, name)

    def _current(self) -> float:
        """Return the level now."""
        raise NotImplementedError

    def reset(self) -> None:
        self._record_change(self._current())
        self._since = self._measured_to = self._env.now
        self.waits, self.put_waits = array("d"), array("d")
        self.withdrawn, self._area = 0, 0.0

    def figures(self) -> dict[str, float]:
        now = self._env.now
        area = self._area + self._current() * (now - self._measured_to)
        ended = len(self.waits) + self.withdrawn
        return {
            "level": area / (now - self._since or math.nan),
            "wait": _mean(self.waits),
            "immediate_pct": _share_pct(self.waits.count(0.0), len(self.waits)),
            "put_wait": _mean(self.put_waits),
            "withdrawn_pct": _share_pct(self.withdrawn, ended),
        }

    def series(self) -> dict[str, Series]:
        recorded(self.keeps_records or None)
        self._record_change(self._current())
        return {"level": (np.array(self.times), np.array(self.levels))}

    def _record_change(self, level: float) -> None:
        """Record a level that was set directly, as in shop.items = [...], as valid
        since the last put or get.
        """
        if self.keeps_records and level != self.levels[-1]:
            self.times.append(self._measured_to)
            self.levels.append(level)

    def _served(self, event: Any, waits: array[float], before: float) -> None:
        """Record a wait, and the level since the last change, `before`."""
        now = self._env._now
        waits.append(now - event.since)
        self._area += before * (now - self._measured_to)
        if self.keeps_records:
            self._record_change(before)
            self.times.append(now)
            self.levels.append(self._current())
        self._measured_to = now

    def _do_put(self, event: Any) -> Any:
        before = self._current()
        proceed = super()._do_put(event)  # type: ignore[misc]
        if event._value is not PENDING:
            self._served(event, self.put_waits, before)
        return proceed

    def _do_get(self, event: Any) -> Any:
        before = self._current()
        proceed = super()._do_get(event)  # type: ignore[misc]
        if event._value is not PENDING:
            self._served(event, self.waits, before)
        return proceed


class Container(_Stock, simpy.Container):
    """A simpy.Container that records statistics.

    env, capacity, init: as in SimPy. name: prefix of the figures.
    """

    put, get = BoundClass(_AmountPut), BoundClass(_AmountGet)

    def __init__(
        self,
        env: simpy.Environment,
        capacity: float = math.inf,
        init: float = 0,
        name: str = "",
    ) -> None:
        _check_positive("capacity", capacity)
        if init:
            _check_positive("init", init)
        simpy.Container.__init__(self, env, capacity, init)
        super().__init__(env, name)

    def _current(self) -> float:
        return self._level


class Store(_Stock, simpy.Store):
    """A simpy.Store that records statistics; its level is the number of items.

    env, capacity: as in SimPy. name: prefix of the figures.
    """

    def __init__(
        self, env: simpy.Environment, capacity: float = math.inf, name: str = ""
    ) -> None:
        _check_positive("capacity", capacity)
        simpy.Store.__init__(self, env, capacity)
        super().__init__(env, name)

    def _current(self) -> float:
        return len(self.items)


class PriorityStore(Store, simpy.PriorityStore):
    """A simpy.PriorityStore that records statistics."""


class FilterStore(Store, simpy.FilterStore):
    """A simpy.FilterStore that records statistics."""

    get = BoundClass(_FilterGet)
