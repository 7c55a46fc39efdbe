"""A SimPy model that is an ordinary function, as the subject of a study."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of, require
from cgrsp_simpy.base.metric import Metric
from cgrsp_simpy.base.policy import Named
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.timeline import Timeline
from cgrsp_simpy.engine.claim import ClaimRecord
from cgrsp_simpy.engine.events import Environment, policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.monitors import Resource, Series, figures_of, monitors
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Records, Run
from cgrsp_simpy.studies.subject import Subject

Function = TypeVar("Function", bound=Callable[..., Any])

RECEIVED = ("env", "draw", "seed")  # what a model receives by these names
MARK = "_figures_of_model"  # attribute of a function that is declared to be a model


def model(function: Any = None, *, figures: Mapping[str, Metric] | None = None) -> Any:
    """Declare a function to be a model: `compare`, `sweep`, `select` and `simulate`
    take it. It stays an ordinary function.

        @cg.model
        def bank(env, draw, tellers=2):
            desk = cg.Resource(env, tellers, name="desk")
            ...
            env.run(8 * 3600)

        cg.compare(bank, [{"tellers": 2}, {"tellers": 3}], seeds=range(30))

    The function sets a SimPy model up, calls `env.run`, and returns further figures by
    name, or nothing. It receives what it names of `env`, a simpy.Environment, `draw`,
    whose `draw("name")` is a NumPy Generator of the run, and `seed`; all others are
    parameters, which need a default. Times are in seconds where a plot shows them.

    Parameters
    ----------
    function : function
        The model.
    figures : mapping, optional
        Name -> Metric of the figures that a study shows and tests, the chief one
        first. By default all, and less is better.

    Raises
    ------
    InputError
        For a generator, and a parameter without a default.
    """

    def declare(function: Function) -> Function:
        _check(function)
        setattr(function, MARK, dict(figures or {}))
        return function

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
        if parameter.name not in RECEIVED and parameter.default is parameter.empty:
            raise InputError(
                f"model {name}: parameter {parameter.name!r} needs a default"
                f" (only {', '.join(RECEIVED)} have none)"
            )


def as_model(scenario: Any) -> Any:
    """Return a function that is declared to be a model, or a `functools.partial` of
    one, as a Model; all else as it is.
    """
    fixed = {}
    function = scenario
    if isinstance(scenario, functools.partial):
        function, fixed = scenario.func, scenario.keywords
    if not hasattr(function, MARK):
        return scenario
    return FunctionModel(function).varied(fixed)


class Observations(NamedTuple):
    """What a run of a function leaves for its report."""

    figures: Mapping[str, float]
    series: Mapping[str, Mapping[str, Series]]
    resources: Sequence[str]
    sizes: Sequence[float]


class FunctionReport(Report):
    """Figures of a function's monitors, and one row per process that made requests."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        declared: Mapping[str, Metric] = getattr(model.function, MARK, {})
        self.metrics = declared
        self.shown = self.tested = tuple(declared)

    @property
    def precise(self) -> str:  # type: ignore[override]
        return next(iter(self.metrics), "")

    def summary(self, run: Any) -> dict[str, Any]:
        return dict(run.plan.figures)

    def timeline(self, run: Any, **parts: Any) -> Timeline:
        usual = {
            "resources": tuple(run.plan.resources),
            "sizes": tuple(run.plan.sizes),
        }
        return super().timeline(run, **{**usual, **parts})


class FunctionSubject(Subject):
    """How studies run a function; its alternatives are changed parameters, or other
    functions with such figures.
    """

    pace_per_s: ClassVar[float] = 1.0  # runs: each is a task of its own
    work = 1

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        received = inspect.signature(self.model.function).parameters
        return "draw" in received or "seed" in received

    def default_policies(self) -> Sequence[str]:
        return (self.model.function.__name__,)

    def varied(self, **parameters: Any) -> Any:
        return self.model.varied(parameters)

    def make_policy(self, policy: Any) -> FunctionModel:
        """Return an alternative as a FunctionModel.

        policy: a mapping of changed parameters; the name of the function, for no
        change; another function, which takes over the parameters that it has, too.
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
            _check(changes)
            other = FunctionModel(changes)
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
        received = {"env": env, "draw": Draw(seed), "seed": seed}
        names = inspect.signature(alternative.function).parameters
        result = alternative.function(
            **{name: value for name, value in received.items() if name in names},
            **alternative.parameters,
        )
        name = alternative.function.__name__
        _check_ended(name, env)
        kept = Records(self.report, records)
        log: list[ClaimRecord] = []
        if records:
            columns, log = _requests(env)
            kept.take(columns)
            kept.claims = log
        observations = _observed(env, records, _all_figures(name, env, result))
        label = policy_name(policy) if not isinstance(policy, str) else policy
        return FunctionRun(
            self.model, label, seed, kept, plan=observations, rule=policy
        )


class FunctionRun(Run):
    """One run of a function: its figures, and what its monitors recorded."""

    def series(self, monitor: str, what: str = "value") -> Series:
        """Return what a monitor recorded over the run: times and values.

        monitor: its name. what: "wait" (by the time of the grant), "queue", "in use" or
        "capacity" of a resource; "level" of a container or store; "value" of a
        `cg.Monitor`. Raises InputError for other names, and a run without records.
        """
        if self._blocks is None:
            raise InputError("this run kept no records; simulate with records=True")
        check_one_of("monitor", monitor, self.plan.series)
        check_one_of(f"series of {monitor}", what, self.plan.series[monitor])
        series: Series = self.plan.series[monitor][what]
        return series


@dataclass(frozen=True)
class FunctionModel(Model):
    """A function as a Model, with the parameters that are not at their defaults."""

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)

    policies: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    policy_label = "alternative"
    report = FunctionReport
    subject = FunctionSubject

    def resources(self) -> Sequence[Any]:
        """Return none: the function creates its resources when it is run."""
        return ()

    @property
    def name(self) -> str:
        """The function's, with the parameters that are changed."""
        changed = policy_name(self.parameters) if self.parameters else ""
        return " ".join(filter(None, [self.function.__name__, changed]))

    @property
    def defaults(self) -> dict[str, Any]:
        """The parameters with their defaults."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            item.name: item.default for item in parameters if item.name not in RECEIVED
        }

    def varied(self, parameters: Mapping[str, Any]) -> FunctionModel:
        """Return the model with changed parameters; InputError for an unknown name."""
        for name in parameters:
            check_one_of(f"parameter of {self.function.__name__}", name, self.defaults)
        return FunctionModel(self.function, {**self.parameters, **parameters})


def _check_ended(name: str, env: Any) -> None:
    """Raise InputError if a model was not run, or not as long as it measures."""
    if env.now == 0 and env.peek() < math.inf:
        raise InputError(
            f"model {name} was not run: call env.run() or env.run(until) in it"
        )
    for bound in ("warm_up", "window_end"):
        if getattr(env, bound, -math.inf) > env.now:
            raise InputError(
                f"model {name} ended at {env.now:g}, before the time"
                f" {getattr(env, bound):g} of cg.warm_up"
            )


def _all_figures(name: str, env: Any, result: Any) -> dict[str, float]:
    """Return the figures of the monitors, and those that the function returned."""
    allowed = "a dict of figures by name, or None"
    require(result is None or isinstance(result, Mapping), f"{name}()", result, allowed)
    measured, returned = figures_of(env), dict(result or {})
    for figure, value in returned.items():
        require(isinstance(figure, str), f"figure of {name}()", figure, "a text")
        require(isinstance(value, Real), f"figure {figure!r}", value, "a number")
        require(
            figure not in measured, "figure", figure, "another than a monitor's figure"
        )
    if not measured and not returned:
        raise InputError(
            f"model {name} has no figures: use cg.Resource, cg.Monitor and so on, or"
            " return figures by name"
        )
    return {**measured, **returned}


def _observed(env: Any, records: bool, figures: Mapping[str, float]) -> Observations:
    measured = monitors(env)
    resources = [item for item in measured.values() if isinstance(item, Resource)]
    series = {name: item.series() for name, item in measured.items()} if records else {}
    return Observations(
        figures,
        series,
        [resource.name for resource in resources],
        [max(size for _, size in resource.capacities) for resource in resources],
    )


def _requests(env: Any) -> tuple[dict[str, Any], list[ClaimRecord]]:
    """Return one row per process that made requests, as columns, and its uses of
    resources.
    """
    resources = [item for item in monitors(env).values() if isinstance(item, Resource)]
    requests = sorted(
        (
            (made, number, process, granted, ended)
            for number, resource in enumerate(resources)
            for process, made, granted, ended in resource.requests()
        ),
        key=lambda request: request[0],
    )
    numbers: dict[Any, int] = {}
    rows: list[list[Any]] = []
    log: list[ClaimRecord] = []
    for made, number, process, granted, ended in requests:
        job = numbers.setdefault(process, len(numbers))
        if job == len(rows):
            generator = getattr(process, "_generator", None)
            kind = getattr(generator, "__name__", "")
            rows.append([job, made, math.nan, math.nan, math.nan, kind, 0.0, 0])
        row = rows[job]
        if granted == granted:
            row[2] = row[3] = min(granted, row[2]) if row[2] == row[2] else granted
            until = env.now if math.isnan(ended) else ended
            log.append((job, ((number, 1.0),), math.nan, granted, until, ()))
        row[4] = max(ended, row[4]) if row[4] == row[4] and ended == ended else ended
        row[6] += (granted if granted == granted else ended) - made
        row[7] += 1
    names = ("job submit_s dispatch_s start_s finish_s process wait_s requests").split()
    columns = zip(*rows) if rows else [()] * len(names)
    return {name: np.array(column) for name, column in zip(names, columns)}, log
