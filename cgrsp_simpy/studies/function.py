"""Studies of a SimPy model that is an ordinary function."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_number, check_one_of, require
from cgrsp_simpy.base.metric import COLUMNS, Metric, check_figures
from cgrsp_simpy.base.policy import Named
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import write_csv
from cgrsp_simpy.base.timeline import MOST_LETTERS, VISIT, Timeline
from cgrsp_simpy.engine.claim import ClaimRecord
from cgrsp_simpy.engine.events import Environment, is_invalid_yield, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.monitors import (
    Resource,
    Series,
    check_window,
    figures_of,
    monitors,
)
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Records, Run, recorded
from cgrsp_simpy.studies.source import check_yields
from cgrsp_simpy.studies.subject import Parameter, Subject

Function = TypeVar("Function", bound=Callable[..., Any])

RECEIVED = ("env", "draw", "seed")  # special parameters of a model
MOST_AT_ONCE = 1_000_000  # timeouts that do not advance the clock, unless it loops
MARK = "_declared_model"  # attribute of a function that is declared to be a model


class Declaration(NamedTuple):
    """Declaration of a model: its figures, and its unit of time in seconds."""

    figures: Mapping[str, Metric]
    unit_s: float


def model(
    function: Any = None,
    *,
    figures: Mapping[str, Metric] | None = None,
    unit_s: float = 1.0,
) -> Any:
    """Declare a function as a model for `compare`, `sweep`, `select` and `simulate`.

        @cg.model
        def bank(env, draw, tellers=2):
            desk = cg.Resource(env, tellers, name="desk")
            ...
            env.run(8 * 3600)

        cg.compare(bank, [{"tellers": 2}, {"tellers": 3}], seeds=range(30))

    The function sets up a SimPy model, calls `env.run`, and returns further figures by
    name, or nothing. The arguments `env` (a simpy.Environment), `draw` (`draw("name")`
    is a NumPy Generator of the run) and `seed` are passed if it declares them; all
    others are parameters, which need a default. It remains an ordinary function.

    figures: name -> Metric of the figures that a study shows and tests, the chief one
    first; the function has to measure or return each. Default: all figures; lower
    values are better. unit_s: seconds per unit of the model's time, such as 3600 for
    hours; records and plots are in seconds. Raises InputError for a generator function,
    a parameter without a default or that is positional-only, and invalid figures.
    """

    def declare(function: Function) -> Function:
        _check(function)
        setattr(function, MARK, Declaration(dict(metrics), unit_s))
        return function

    check_number("unit_s", unit_s, above=0)
    metrics = {} if figures is None else figures
    are_metrics = isinstance(metrics, Mapping) and all(
        isinstance(metric, Metric) and metric.better in ("less", "more", "")
        for metric in metrics.values()
    )
    require(
        are_metrics,
        "figures",
        figures,
        "a mapping from names to cg.Metric, with better='less', 'more' or ''",
    )
    return declare if function is None else declare(function)


def _check(function: Any) -> None:
    """Raise InputError for a function that cannot be a model."""
    require(inspect.isfunction(function), "model", function, "a function")
    name = function.__name__
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise InputError(
            f"model {name} must not yield itself: define its processes inside it,"
            " start them with env.process(...), and call env.run(...)"
        )
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise InputError(f"model {name}: *{parameter.name} cannot be a parameter")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise InputError(
                f"model {name}: {parameter.name!r} is positional-only; it must be one"
                " that can be passed by name"
            )
        if parameter.name not in RECEIVED and parameter.default is parameter.empty:
            raise InputError(
                f"model {name}: parameter {parameter.name!r} needs a default"
                f" (only {', '.join(RECEIVED)} have none)"
            )


def as_model(scenario: Any) -> Any:
    """Return a function with `@cg.model`, or a partial of one, as a Model. Raises
    InputError for a forgotten `yield` in a model of the user.
    """
    fixed = {}
    function = scenario
    if isinstance(scenario, functools.partial):
        function, fixed = scenario.func, scenario.keywords
    if not hasattr(function, MARK):
        check_yields(type(scenario))
        return scenario
    check_yields(function)
    if function is not scenario and scenario.args:
        raise InputError(
            f"functools.partial of model {function.__name__} has positional arguments"
            f" {scenario.args}; parameters must be passed by name"
        )
    return FunctionModel(function).varied(fixed)


REQUEST = np.dtype(
    [
        ("job", np.intp),  # indexes; where Python has 32 bits, bincount takes no "i8"
        ("process", f"U{MOST_LETTERS}"),
        ("resource", "i4"),
        ("made_s", "f8"),
        ("granted_s", "f8"),
        ("ended_s", "f8"),
    ]
)
"""Columns of a request: the number of its process and the name of the function that it
runs, the number of the resource, when it was made, granted and withdrawn or released;
NaN for what did not happen.
"""


class Observations(NamedTuple):
    """Observations from a run of a function, for its report.

    end_s: end of the run, seconds. resources: name -> greatest capacity. requests:
    array of REQUEST in time order. series: by monitor and kind.
    """

    figures: Mapping[str, float]
    end_s: float
    resources: Mapping[str, float]
    requests: np.ndarray[Any, Any] | None
    series: Mapping[str, Mapping[str, Series]]


class FunctionReport(Report):
    """Report with a function's figures and one row per process that made requests."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        self.metrics = model.declaration.figures
        self.shown = self.tested = tuple(self.metrics)

    @property
    def precise(self) -> str:  # type: ignore[override]
        return next(iter(self.metrics), "")

    def summary(self, run: Any) -> dict[str, Any]:
        return dict(run.plan.figures)

    def timeline(self, run: Any, **parts: Any) -> Timeline:
        requests = run.requests
        visits = np.empty(len(requests), VISIT)
        times = ("job", "made_s", "granted_s", "ended_s")
        for name, column in zip(VISIT.names or (), times):
            visits[name] = requests[column]
        visits["end_s"] = np.where(
            np.isnan(visits["end_s"]), run.plan.end_s, visits["end_s"]
        )
        visits["due_s"] = np.nan
        return super().timeline(
            run,
            **{
                "resources": tuple(run.plan.resources),
                "sizes": tuple(run.plan.resources.values()),
                "visits": visits,
                **parts,
            },
        )


class FunctionSubject(Subject):
    """Subject of a function; alternatives are changed parameters or other functions."""

    pace_per_s: ClassVar[float] = 1.0  # runs: each is a task of its own
    work = 1

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        return self.is_random_under([self.model])

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        return any(
            name in ("draw", "seed")
            for policy in policies or [self.model]
            for name in inspect.signature(self.make_policy(policy).function).parameters
        )

    def default_policies(self) -> Sequence[str]:
        return (self.model.function.__name__,)

    @property
    def parameters(self) -> dict[str, Parameter]:
        function = self.model.function
        values = {**self.model.defaults, **self.model.parameters}
        return {
            name: Parameter(name, value, function) for name, value in values.items()
        }

    def varied(self, **parameters: Any) -> Any:
        return self.model.varied(parameters)

    def make_policy(self, policy: Any) -> FunctionModel:
        """Convert an alternative to a FunctionModel.

        policy: a mapping of changed parameters; the name of the function, for no
        change; or another function, which inherits the parameters that both have.
        InputError if its unit of time differs.
        """
        changes = policy.policy if isinstance(policy, Named) else policy
        model: FunctionModel = self.model
        if isinstance(changes, Mapping):
            return model.varied(changes)
        if isinstance(changes, str):
            check_one_of("alternative", changes, [model.function.__name__])
            return model
        other = as_model(changes)
        if not isinstance(other, FunctionModel):
            require(
                callable(changes),
                "alternative",
                changes,
                'a dict of changed parameters, as in [{"n": 3}], or a function',
            )
            _check(changes)
            other = FunctionModel(changes)
        if hasattr(other.function, MARK):
            unit_s, common = other.declaration.unit_s, model.declaration.unit_s
            require(
                unit_s == common,
                f"unit_s of {other.name}",
                unit_s,
                f"{common:g}, that of {model.name}",
            )
        shared = {
            name: value
            for name, value in model.parameters.items()
            if name in other.defaults
        }
        return other.varied({**shared, **other.parameters})

    def draw(self, seed: int) -> Any:
        return None  # the function draws itself

    def simulation(self, policy: Any, seed: int, **options: Any) -> Any:
        raise InputError(
            f"{self.model.name} is a function; only a cg.Model runs event by event"
        )

    def record(self, policy: Any, seed: int, env: Environment) -> None:
        self.make_policy(policy).run(env, seed)

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
        engine: str = "simpy",
    ) -> FunctionRun:
        alternative = self.make_policy(policy)
        if listener is not None:
            self.simulation(policy, seed)
        env = Environment()
        env.keeps_records = records
        env.most_at_once = MOST_AT_ONCE
        result = alternative.run(env, seed)
        name = alternative.function.__name__
        _check_ended(name, env)
        figures = _all_figures(name, env, result)
        if alternative.function is self.model.function:
            for figure in self.model.declaration.figures:
                check_one_of(f"declared figure of {name}", figure, figures)
        # a sweep's rows have its parameters, too
        check_figures(f"{name}()", figures, (*COLUMNS, *self.model.parameters))
        unit_s = self.model.declaration.unit_s
        observations = _observations(env, records, figures, unit_s)
        kept = Records(self.report, records)
        kept.tally.window = env.warm_up * unit_s, env.window_end * unit_s
        if observations.requests is not None:
            kept.take(_rows(observations.requests))
            kept.claims = _claims(observations.requests, observations.end_s)
        return FunctionRun(
            self.model, policy_name(policy), seed, kept, plan=observations, rule=policy
        )


class FunctionRun(Run):
    """One run of a function: its figures, requests, and what its monitors recorded."""

    @property
    def requests(self) -> np.ndarray[Any, Any]:
        """Structured array of REQUEST with one row per request, in order of time."""
        return recorded(self.plan.requests)

    def series(self, monitor: str, what: str) -> Series:
        """Return a monitor's record over the run: times and values, in model units.

        what: "wait" (by the time of the grant), "queue", "in use" or "capacity" of a
        resource; "level" of a container or store; "value" of a `cg.Monitor`. Raises
        InputError for other names, and a run without records.
        """
        check_one_of(f"series of {monitor}", what, self.recorded(monitor))
        return cast(Series, self.plan.series[monitor][what])

    def recorded(self, monitor: str) -> tuple[str, ...]:
        """Return the names of the series that a monitor recorded."""
        recorded(self.plan.requests)
        check_one_of("monitor", monitor, self.plan.series)
        return tuple(self.plan.series[monitor])

    def to_csv(self, path: str | Path, layout: str = "jobs") -> None:
        """Write a CSV file; an existing one is overwritten.

        layout: "jobs", one row per process that made requests; "vidigi", one row per
        event, in the columns that the package vidigi reads for its animations.
        """
        check_one_of("layout", layout, ("jobs", "vidigi"))
        write_csv(path, self.rows() if layout == "jobs" else self._events())

    def _events(self) -> list[dict[str, Any]]:
        """Return one dict per event, in the format of vidigi's EventLogger."""
        ends = "arrival_departure"
        events: list[tuple[Any, ...]] = [
            (row["submit_s"], row["job"], row["process"], ends, "arrival", None)
            for row in self.jobs
        ]
        names, servers = tuple(self.plan.resources), _servers(self.requests)
        for request, server in zip(self.requests, servers):
            name, entity = names[request["resource"]], (request["job"], request[1])
            events.append((request["made_s"], *entity, "queue", f"{name} queue", None))
            if server:
                begin, end = request["granted_s"], request["ended_s"]
                events.append((begin, *entity, "resource_use", name, server))
                events.append((end, *entity, "resource_use_end", f"{name} end", server))
        events += [
            (row["finish_s"], row["job"], row["process"], ends, "depart", None)
            for row in self.jobs
        ]
        columns = ("time", "entity_id", "pathway", "event_type", "event", "resource_id")
        return [
            {**dict(zip(columns, event)), "run_number": self.seed}
            for event in sorted(
                (event for event in events if not math.isnan(event[0])),
                key=itemgetter(0),
            )
        ]


@dataclass(frozen=True)
class FunctionModel(Model):
    """Model of a function; parameters: those that differ from their defaults."""

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    policies: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    policy_label = "alternative"
    report = FunctionReport
    subject = FunctionSubject

    def resources(self) -> Sequence[Any]:
        """Return an empty tuple: the function creates its resources when it is run."""
        return ()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def declaration(self) -> Declaration:
        """The arguments of `model`."""
        return getattr(self.function, MARK, Declaration({}, 1.0))

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            item.name: item.default for item in parameters if item.name not in RECEIVED
        }

    def run(self, env: Environment, seed: int) -> Any:
        """Call the function with its arguments and return its result."""
        received = {"env": env, "draw": Draw(seed), "seed": seed}
        names = inspect.signature(self.function).parameters
        passed = {name: value for name, value in received.items() if name in names}
        try:
            return self.function(**passed, **self.parameters)
        except OSError as error:
            if is_invalid_yield(error):
                raise InputError(
                    f"a process of {self.name} yielded a value that is no event, such"
                    " as env.timeout(5)"
                ) from None
            raise

    def varied(self, parameters: Mapping[str, Any]) -> FunctionModel:
        """Return the model with changed parameters; InputError for an unknown name."""
        for name in parameters:
            check_one_of(f"parameter of {self.function.__name__}", name, self.defaults)
        return FunctionModel(self.function, {**self.parameters, **parameters})


def _check_ended(name: str, env: Environment) -> None:
    """Raise InputError if a model was not run, or ended before its measured window."""
    if env.now == 0 and env.peek() < math.inf:
        raise InputError(
            f"model {name} was not run: call env.run() or env.run(until) in it"
        )
    check_window(name, env)


def _all_figures(name: str, env: Any, result: Any) -> dict[str, float]:
    """Return the figures of the monitors, and those that the function returned."""
    result = {} if result is None else result
    check_figures(f"{name}()", result)
    measured, returned = figures_of(env), dict(result)
    for figure, value in returned.items():
        try:  # results directories store no NumPy integers and fractions
            returned[figure] = float(value)
        except OverflowError:
            raise InputError(f"figure {figure!r} is too large for a float") from None
        require(
            figure not in measured,
            "figure",
            figure,
            "a name that no figure of a monitor has",
        )
    if not measured and not returned:
        raise InputError(
            f"model {name} has no figures: use cg.Resource, cg.Monitor and so on, with"
            " the env that it receives, or return figures by name"
        )
    return {**measured, **returned}


def _name_of(process: Any) -> str:
    """Return the name of the function that a process runs, or ""; a long one is cut."""
    name = str(getattr(getattr(process, "_generator", None), "__name__", ""))
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def _observations(
    env: Environment, records: bool, figures: Mapping[str, float], unit_s: float
) -> Observations:
    measured = monitors(env)
    resources = [item for item in measured.values() if isinstance(item, Resource)]
    sizes = {
        resource.name: float(max(size for _, size in resource.capacities))
        for resource in resources
    }
    end_s = env.now * unit_s
    if not records:
        return Observations(figures, end_s, sizes, None, {})
    series = {name: item.series() for name, item in measured.items()}
    requests = sorted(
        (
            (requested, number, process, granted, ended)
            for number, resource in enumerate(resources)
            for process, requested, granted, ended in resource.requests()
        ),
        key=itemgetter(0),
    )
    jobs: dict[Any, int] = {}
    rows = [
        (
            jobs.setdefault(process, len(jobs)),
            _name_of(process),
            number,
            requested * unit_s,
            granted * unit_s,
            ended * unit_s,
        )
        for requested, number, process, granted, ended in requests
    ]
    return Observations(figures, end_s, sizes, np.array(rows, REQUEST), series)


def _rows(requests: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Return one row per process that made requests, as columns.

    wait_s: its total wait. claims: the number of its requests.
    """
    number = int(requests["job"].max(initial=-1)) + 1
    _, first = np.unique(requests["job"], return_index=True)
    granted_s, ended_s = requests["granted_s"], requests["ended_s"]
    starts, ends, waits_s = np.full(number, np.inf), np.zeros(number), np.zeros(number)
    np.fmin.at(starts, requests["job"], granted_s)
    np.maximum.at(ends, requests["job"], ended_s)  # NaN if one has not ended
    waited_to = np.where(np.isnan(granted_s), ended_s, granted_s)
    np.add.at(waits_s, requests["job"], waited_to - requests["made_s"])
    starts[np.isinf(starts)] = np.nan
    return {
        "job": np.arange(number),
        "submit_s": requests["made_s"][first],
        "dispatch_s": starts,
        "start_s": starts,
        "finish_s": ends,
        "process": requests["process"][first],
        "wait_s": waits_s,
        "claims": np.bincount(requests["job"], minlength=number),
    }


def _claims(requests: np.ndarray[Any, Any], end_s: float) -> list[ClaimRecord]:
    """Return the uses of resources as claim records, like those of a cg.Model."""
    return [
        (
            job,
            ((number, 1.0),),
            math.nan,
            granted_s,
            end_s if ended_s != ended_s else ended_s,
            (),
        )
        for job, _, number, _, granted_s, ended_s in requests.tolist()
        if granted_s == granted_s
    ]


def _servers(requests: np.ndarray[Any, Any]) -> list[int]:
    """Assign the lowest free server, from 1, to each request; 0 if not granted."""
    servers = [0] * len(requests)
    busy: dict[int, list[tuple[float, int]]] = {}  # by resource: until when, server
    order = np.argsort(requests["granted_s"], kind="stable")
    granted = np.count_nonzero(~np.isnan(requests["granted_s"]))  # the others are last
    for place in order[:granted].tolist():
        request = requests[place]
        used = busy.setdefault(int(request["resource"]), [])
        used[:] = [(end, n) for end, n in used if not end <= request["granted_s"]]
        taken = {n for _, n in used}
        servers[place] = next(n for n in count(1) if n not in taken)
        used.append((float(request["ended_s"]), servers[place]))
    return servers
