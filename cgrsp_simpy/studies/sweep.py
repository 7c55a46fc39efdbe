"""Sweeps: the same comparison over a grid of scenario and policy parameters."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.statistics import mean
from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    entries_of,
    python_number,
    require,
)
from cgrsp_simpy.base.table import Table
from cgrsp_simpy.engine.events import value_text
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.studies.compare import Comparison, compared_at
from cgrsp_simpy.studies.function import as_model
from cgrsp_simpy.studies.replicate import (
    check_policies,
    check_seeds,
    checked_model,
    label,
)
from cgrsp_simpy.studies.store import open_store
from cgrsp_simpy.studies.study import Results, Row, counted, interval, many, mean_of
from cgrsp_simpy.studies.subject import subject_of

Point = dict[str, Any]


def sweep(
    scenario: Model | Callable[..., Model],
    grid: Mapping[str, Any],
    policies: Sequence[Any] | Mapping[str, Any] | None = None,
    seeds: Iterable[int] = range(10),
    executor: Executor | int | None = None,
    *,
    out: str | Path | None = None,
    engine: str = "auto",
) -> Sweep:
    """Compare policies on the same seeds at every point of a grid.

    A run that several points have in common is carried out once.

        sweep(day, {"name": "hectic", "slots": range(3, 11)}, ["fifo", "rh"], range(30))

    scenario: a scenario of any module, or a function with `@cg.model`, whose parameters
    are varied; or a function that returns a scenario, such as `day`. grid: name -> a
    value or a list of values; all combinations are compared. A name is a parameter of
    `scenario` ("slots"), or of a named policy ("rh:reserve"). The other arguments are
    those of `compare`. Raises InputError for an invalid argument, or another study's
    directory; WorkerError if the executor fails.
    """
    scenario = as_model(scenario)
    order = (
        "a scenario or a function that returns one; the call is sweep(scenario,"
        " grid, policies, seeds)"
    )
    require(
        isinstance(scenario, Model) or callable(scenario), "scenario", scenario, order
    )
    if policies is not None and not isinstance(policies, Mapping):
        policies = entries_of("policies", policies, "a list of policies")
    seeds, points = check_seeds(seeds), list(points_of(grid))
    places = scenarios_of(scenario, points, list(policies or ()))
    figures = [
        name
        for name, metric in subject_of(places[0]).report.metrics.items()
        if metric.better
    ]
    for name in grid:
        allowed = "different from the column names of a row"
        fresh = name not in ("policy", "seed", "error", *figures)
        require(fresh, "name in the grid", name, allowed)
    named = check_policies(policies, places[0])
    policies_by_point = [
        policies_at(point, named, place) for point, place in zip(points, places)
    ]
    store = open_store(out, "sweep", named, seeds, points=list(zip(points, places)))
    studies = compared_at(
        list(zip(places, policies_by_point)), seeds, executor, store, engine
    )
    varied = [name for name, values in grid.items() if _varies(values)]
    result = Sweep(
        tuple({name: value_text(point[name]) for name in varied} for point in points),
        studies,
    )
    result.keep(store)
    return result


def scenarios_of(
    scenario: Model | Callable[..., Model],
    points: Iterable[Point],
    policies: Sequence[Any],
) -> list[Model]:
    """Return the scenario at each point; parameters and errors as in `sweep`."""
    labels = [
        label(policy)
        for policy in entries_of("policies", policies, "a list of policies")
    ]
    return [_scenario(scenario, point, labels) for point in points]


def points_of(grid: Mapping[str, Any]) -> Iterator[Point]:
    """Yield the points of a grid; InputError as in `sweep`."""
    require(isinstance(grid, Mapping), "grid", grid, "a mapping from names to values")
    columns = [
        [python_number(value) for value in (values if _varies(values) else [values])]
        for values in grid.values()
    ]
    for name, column in zip(grid, columns):
        require(len(column) > 0, f"values of {name}", column, "at least one value")
        require(
            all(value not in column[:place] for place, value in enumerate(column)),
            f"values of {name}",
            column,
            "different",
        )
    for values in itertools.product(*columns):
        yield dict(zip(grid, values))


def _varies(values: Any) -> bool:
    return isinstance(values, Iterable) and not isinstance(values, str)


def _scenario(
    scenario: Model | Callable[..., Model], point: Point, named: Iterable[str]
) -> Model:
    for name in point:
        require(isinstance(name, str), "name in the grid", name, "a string")
    arguments = {name: value for name, value in point.items() if ":" not in name}
    if isinstance(scenario, Model):
        return subject_of(scenario).varied(**arguments) if arguments else scenario
    signature = inspect.signature(scenario)
    known = signature.parameters
    # a function with a kind accepts further parameters only if the kind is set
    others = any(item.kind is item.VAR_KEYWORD for item in known.values())
    if not others or ("kind" in known and "kind" not in arguments):
        for name in arguments:
            check_one_of(
                "name in the grid",
                name,
                [*known, *(f"{policy}:<parameter>" for policy in named)],
            )
    try:
        signature.bind(**arguments)
    except TypeError as error:
        raise InputError(f"grid: the scenario is {error}") from None
    return checked_model(scenario(**arguments))


def policies_at(
    point: Point, named: Mapping[str, Any], scenario: Model
) -> dict[str, Any]:
    """Return the policies by label, with their parameters at a point."""
    texts = dict(named)
    for name, value in point.items():
        if ":" in name:  # a parameter of a policy
            policy, _, parameter = name.rpartition(":")
            check_one_of(
                "policy in the grid",
                policy,
                [label for label in named if isinstance(named[label], str)],
            )
            text = str(texts[policy])
            shown = str(value).lower() if isinstance(value, bool) else value
            texts[policy] = f"{text}{',' if ':' in text else ':'}{parameter}={shown}"
    check_policies(list(texts.values()), scenario)
    return texts


@dataclass(frozen=True, repr=False)
class Sweep(Results):
    """Comparisons at every point of a grid.

    points: name -> value of the varied parameters. studies: in the order of the points.
    """

    points: tuple[Point, ...]
    studies: tuple[Comparison, ...]

    def __iter__(self) -> Iterator[tuple[Point, Comparison]]:
        return iter(zip(self.points, self.studies))

    def at(self, **where: Any) -> Comparison:
        """Return the comparison at the one matching point, such as `at(slots=7)`.

        Raises InputError for a name that is not in the grid, or unless exactly one
        point matches.
        """
        for name in where:
            check_one_of("name in the grid", name, self.points[0])
        wanted = {name: value_text(value) for name, value in where.items()}
        fitting = [study for point, study in self if wanted.items() <= point.items()]
        require(
            len(fitting) == 1,
            "at",
            where,
            f"one of the points {', '.join(map(str, self.points))}",
        )
        return fitting[0]

    @property
    def policies(self) -> list[str]:
        """The policies in the order of the sweep."""
        return self.studies[0].policies

    @property
    def rows(self) -> list[Row]:
        """One dict per point, policy and seed, as in `Comparison.rows`."""
        return [{**point, **row} for point, study in self for row in study.rows]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures of all points, with the varied parameters in each row."""
        parts = [(point, study.as_dict()) for point, study in self]
        first = parts[0][1]
        rows = {
            # point again: jobs=3 is no mean, although jobs are a figure, too
            name: [
                {**point, **row, **point} for point, part in parts for row in part[name]
            ]
            for name in ("figures", "differences")
        }
        content = {**first, "subject": self.studies[0].title, **rows}
        return {**content, "failures": self.failures} if self.failures else content

    @property
    def _held(self) -> str:
        varied, first = ", ".join(self.points[0]) or "nothing", self.studies[0]
        policies = counted(first.policy_label, self.policies)
        policies = f"{policies}, {many(len(first.seeds), 'seed')}"
        return f"{varied}, {many(len(self.points), 'point')}: {policies}"

    @property
    def tables(self) -> list[Table]:
        """Means with 95 % intervals per point and policy."""
        shown = [
            name
            for name in self.studies[0].shown
            if any(name in study.figures for study in self.studies)
        ]
        none = mean([])
        rows = [
            [
                *map(str, point.values()),
                policy,
                *(interval(row.get(name, none), study.n) for name in shown),
            ]
            for point, study in self
            for policy, row in study.means().items()
        ]
        names = list(dict.fromkeys(study.title for study in self.studies))
        names = [*names[:2], f"{len(names) - 2} more"] if len(names) > 3 else names
        means = dict.fromkeys(mean_of(study) for study in self.studies)
        title = f"{', '.join(names)}: {' or '.join(means)}"
        notes = dict.fromkeys(study.note for study in self.studies if study.note)
        return [
            Table(title, [[*self.points[0], "policy", *shown], *rows], "\n".join(notes))
        ]
