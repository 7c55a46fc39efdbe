"""Comparisons on common seeds, selections with few runs, and sweeps over a grid."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cgrsp_simpy.analysis.selection import Selection, kim_nelson
from cgrsp_simpy.analysis.statistics import mean, replications_needed
from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    entries_of,
    python_number,
    require,
)
from cgrsp_simpy.base.metric import COLUMNS, Metric
from cgrsp_simpy.base.table import Table, many
from cgrsp_simpy.engine.events import policy_name, value_text
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.studies.function import as_model
from cgrsp_simpy.studies.replicate import (
    Replications,
    check_policies,
    check_seeds,
    checked_model,
    replicate,
    simulate_for_study,
)
from cgrsp_simpy.studies.store import Store, open_store
from cgrsp_simpy.studies.study import (
    Comparison,
    Results,
    Row,
    counted,
    interval,
    mean_of,
)
from cgrsp_simpy.studies.subject import subject_of

MOST_SEEDS = 10_000  # limit of the search for a precision
# values before its end: a few may be close together by chance
LEAST_VALUES = 10
# if all are equal: then, with 95 % confidence, at most 10 % of all runs differ
LEAST_EQUAL_VALUES = 30


def compare(
    scenario: Model | Callable[..., Any],
    policies: Sequence[Any] | Mapping[str, Any] | None = None,
    seeds: Iterable[int] = range(10),
    executor: Executor | int | None = None,
    *,
    out: str | Path | None = None,
    precision: float | Mapping[str, float] | None = None,
    engine: str = "auto",
) -> Comparison:
    """Run each policy on each seed, with common random numbers.

    A run that raises an exception becomes a row with the key "error". The first run of
    each policy that involves your code is repeated; if the two differ, a warning is
    logged.

    Parameters
    ----------
    scenario : Model or function
        As in `simulate`.
    policies : sequence or mapping, optional
        Policies (for a function: alternatives) as in `simulate`, or a mapping from
        labels to them; the others are tested against the first. Default: those of the
        scenario.
    seeds : iterable of int
        Distinct whole numbers >= 0.
    executor : Executor or int, optional
        None: run in this process; a number: in at most that many processes; or any
        concurrent.futures.Executor.
    out : str or Path, optional
        Results directory, from which a repeated call resumes.
    precision : float or mapping, optional
        Relative half width, > 0 and at most 1, for the model's main figure (the wait),
        or a mapping by figure ({"miss_pct": 0.1}): seeds are added until every policy's
        95 % interval is that narrow, to at least 10, or 30 if all values are equal.
    engine : str
        "simpy"; "compiled", with identical results, for policies composed of rules on
        rented slots (needs the extra "fast"); "auto": compiled if possible and faster.

    Raises
    ------
    InputError
        For an invalid policy, seed or precision, or another study's directory.
    WorkerError
        If the executor fails.
    """
    scenario = checked_model(scenario)
    named, seeds = check_policies(policies, scenario), check_seeds(seeds)
    wanted = _precision(precision, scenario, seeds)
    store = open_store(
        out, "compare", named, seeds, scenario=scenario, precision=wanted
    )
    [study] = compared_at([(scenario, named)], seeds, executor, store, engine)
    while number := _seeds_missing(study, wanted):
        start = max(study.seeds) + 1
        more = range(start, start + number)
        [added] = compared_at([(scenario, named)], more, executor, store, engine)
        rows = study.rows + added.rows
        by_policy = [row for name in named for row in rows if row["policy"] == name]
        study = Comparison(scenario, named, by_policy)
    study.keep(store)
    return study


def compared_at(
    places: Sequence[tuple[Model, Mapping[str, Any]]],
    seeds: Sequence[int],
    executor: Executor | int | None,
    store: Store | None,
    engine: str,
) -> tuple[Comparison, ...]:
    """Compare each scenario's policies, by their labels, on the same seeds."""
    wanted = [
        Replications(place, list(labelled.values()), seeds)
        for place, labelled in places
    ]
    runs, studies = replicate(wanted, executor, store, engine), []
    for place, labelled in places:
        rows = [
            {"policy": name, "seed": seed, **runs.figures(place, policy, seed)}
            for name, policy in labelled.items()
            for seed in seeds
        ]
        studies.append(Comparison(place, dict(labelled), rows))
    return tuple(studies)


def _precision(
    precision: float | Mapping[str, float] | None, scenario: Model, seeds: list[int]
) -> dict[str, float]:
    """Return the required relative half width by figure."""
    wanted: dict[str, float] = {}
    if isinstance(precision, Mapping):
        wanted = dict(precision)
    elif precision is not None:
        wanted = {subject_of(scenario).report.precise: precision}
    for figure, width in wanted.items():
        check_judged("figure of precision", figure, subject_of(scenario).report)
        check_number("precision", width, above=0)
        require(
            width <= 1,
            "precision",
            width,
            f"a share of the mean, at most 1: write {width / 100:g} for {width:g} per"
            " cent",
        )
    require(
        not (wanted and subject_of(scenario).common),
        "precision",
        precision,
        "omitted if a market is replayed: additional seeds start on the same days",
    )
    require(
        not wanted or len(seeds) > 1,
        "seeds",
        seeds,
        "at least two if a precision is specified",
    )
    return wanted


def _seeds_missing(study: Comparison, wanted: dict[str, float]) -> int:
    """Estimate how many more seeds the precision needs; 0 if it is reached."""
    have, need = len(study.seeds), 0
    is_random = subject_of(study.scenario).is_random_under(list(study.named.values()))
    for figure, width in wanted.items():
        for policy in study.policies:
            values = study.values(policy, figure)
            estimate = mean(values)
            failed = sum(row["policy"] == policy for row in study.failures)
            if estimate.n == 0 and failed < have:
                raise InputError(
                    f"precision of {figure} cannot be reached: no run of {policy}"
                    " has a value for it"
                )
            if estimate.n == 0 or math.isinf(estimate.mean):
                continue
            # fewer values than seeds: other runs failed, or lack the figure
            least = LEAST_VALUES if estimate.sd else LEAST_EQUAL_VALUES
            if is_random and estimate.n < least:
                need = max(need, have + least - estimate.n)
            elif not estimate.half_width <= width * abs(estimate.mean):
                need = max(
                    need, have + 1, min(replications_needed(values, width), 4 * have)
                )
    if need > MOST_SEEDS:
        raise InputError(f"precision(={wanted}) is not reached with {MOST_SEEDS} seeds")
    return max(0, need - have)


def select(
    scenario: Model | Callable[..., Any],
    policies: Sequence[Any],
    indifference: float,
    figure: str | None = None,
    confidence: float = 0.95,
    first: int = 20,
) -> Selection:
    """Select the best policy: run all seed by seed, and drop those that cannot be the
    best.

    The procedure is `analysis.selection.kim_nelson` with common random numbers, on the
    seeds 0, 1, 2, ...

    Parameters
    ----------
    scenario : Model or function
        As in `simulate`.
    policies : sequence
        Two or more, as in `compare`.
    indifference : float
        The least difference worth detecting, > 0, in the unit of the figure.
    figure : str, optional
        A figure of the run's summary with a preferred direction; default: the model's
        main figure (the wait).
    confidence : float
        Probability of selecting the best if its advantage is at least `indifference`.
    first : int
        Runs of each policy before any is dropped, >= 2.

    Raises
    ------
    InputError
        For an invalid argument, a replayed market, or a run without the figure.
    PolicyError
        If a policy's decision cannot be carried out.

    References
    ----------
    Kim and Nelson (2001), ACM Transactions on Modeling and Computer Simulation 11,
    251-273.
    """
    scenario = checked_model(scenario)
    named = check_policies(policies, scenario)
    require(
        not subject_of(scenario).common,
        "scenario",
        scenario.name,
        "a scenario with independent seeds: here, additional seeds start on the same"
        f" {subject_of(scenario).common}",
    )
    report = subject_of(scenario).report
    figure = report.precise if figure is None else figure
    check_judged("figure", figure, report)

    def observe(policy: str, seed: int) -> float:
        figures = simulate_for_study(
            scenario, named[policy], seed, records=False
        ).summary()
        check_one_of("figure", figure, figures)
        return float(figures[figure])

    metric = report.metrics.get(figure, Metric(figure))
    return kim_nelson(
        observe, list(named), indifference, confidence, first, metric.better
    )


def check_judged(what: str, figure: str, report: Report) -> None:
    """Raise InputError for a figure without a preferred direction."""
    require(
        bool(figure),
        what,
        figure,
        'named, as in precision={"desk_wait": 0.1} or figure="desk_wait": the model'
        " declares no figures",
    )
    if report.metrics:
        judged = [name for name, metric in report.metrics.items() if metric.better]
        check_one_of(what, figure, judged)


# ---- sweeps ----

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
    are varied, or a function that returns a scenario, such as `day`. grid: name -> a
    value or a list of values; all combinations are compared. A name is a parameter of
    `scenario` ("slots"), or of a named policy ("rh:reserve"). The other arguments are
    those of `compare`. Raises InputError for an invalid argument, or another study's
    directory; WorkerError if the executor fails.
    """
    scenario = as_model(scenario)
    require(
        isinstance(scenario, Model) or callable(scenario),
        "scenario",
        scenario,
        "a scenario or a function that returns one; the call is sweep(scenario,"
        " grid, policies, seeds)",
    )
    if policies is not None and not isinstance(policies, Mapping):
        policies = entries_of("policies", policies, "a list of policies")
    seeds, points = check_seeds(seeds), list(points_of(grid))
    places = scenarios_of(scenario, points, list(policies or ()))
    metrics = subject_of(places[0]).report.metrics.items()
    columns = [*COLUMNS, *(name for name, metric in metrics if metric.better)]
    for name in grid:
        require(
            name not in columns,
            "name in the grid",
            name,
            f"different from the other columns of a row ({', '.join(columns)})",
        )
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
        policy_name(policy)
        for policy in entries_of("policies", policies, "a list of policies")
    ]
    return [_scenario(scenario, point, labels) for point in points]


def points_of(grid: Mapping[str, Any]) -> Iterator[Point]:
    """Yield the points of a grid; InputError as in `sweep`."""
    require(isinstance(grid, Mapping), "grid", grid, "a mapping from names to values")
    columns = []
    for name, values in grid.items():
        varied = values if _varies(values) else [values]
        column = [python_number(value) for value in varied]
        flat = not any(hasattr(value, "ndim") for value in column)
        allowed = "a value or a list of values, none of which is an array"
        require(flat, f"values of {name}", values, allowed)
        require(len(column) > 0, f"values of {name}", column, "at least one value")
        require(
            all(value not in column[:place] for place, value in enumerate(column)),
            f"values of {name}",
            column,
            "different",
        )
        columns.append(column)
    for values in itertools.product(*columns):
        yield dict(zip(grid, values))


def _varies(values: Any) -> bool:
    # an array without dimensions is not iterable
    single = isinstance(values, str) or getattr(values, "ndim", None) == 0
    return isinstance(values, Iterable) and not single


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
        return (
            f"{varied}, {many(len(self.points), 'point')}: {policies},"
            f" {many(len(first.seeds), 'seed')}"
        )

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
            Table(
                title,
                [[*self.points[0], self.studies[0].policy_label, *shown], *rows],
                "\n".join(notes),
            )
        ]
