"""Multiobjective tuning: NSGA-II on training seeds, and its front on test seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.analysis.statistics import Mean, mean, paired_difference
from cgrsp_simpy.base.checks import (
    check_number,
    check_one_of,
    entries_of,
    needed,
    python_number,
    require,
)
from cgrsp_simpy.base.parameters import Count, TwoOrMore, checked
from cgrsp_simpy.base.policy import PolicyError, in_file
from cgrsp_simpy.base.table import Table, digits, figure_text, or_none
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.studies.compare import Comparison, compared_at
from cgrsp_simpy.studies.replicate import check_policies, check_seeds, checked_model
from cgrsp_simpy.studies.store import open_store
from cgrsp_simpy.studies.study import (
    Results,
    Row,
    failure_lines,
    interval,
    many,
    plain_mean,
)
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.sweep import Point, policies_at, scenarios_of

FIGURES = ("wait_min", "miss_pct", "cost_usd")
STEPS = 1000  # of a range with an end that is not whole
GIVEN, KINDS = "as given", ("training", "test")


@checked
def tune(
    scenario: Model,
    ranges: Mapping[str, Sequence[float]],
    policy: str,
    seeds: Iterable[int] = range(30),
    executor: Executor | int | None = None,
    *,
    training: Count = 10,
    population: TwoOrMore = 24,
    generations: Count = 20,
    figures: Sequence[str] = FIGURES,
    out: str | Path | None = None,
    engine: str = "auto",
) -> Tuned:
    """Find Pareto-optimal parameters by NSGA-II on training seeds; judge them on
    others.

    With common random numbers. Needs the extra search (pymoo).

    Parameters
    ----------
    scenario : Model
        Of any module.
    ranges : mapping
        Name, as in the grid of `sweep` -> the least and the greatest value; whole
        numbers between two that are whole.
    policy : str
        Its name, with the parameters that stay: "rh:gate=0.9".
    seeds : iterable of int
        For the test. The training seeds follow the last of them.
    executor
        As in `compare`.
    training : int
        Number of training seeds.
    population : int
        Choices per generation.
    generations : int
        Including the first, which is random.
    figures : sequence of str
        Of a run's summary, all to be minimised.
    out, engine
        As in `compare`.

    Returns
    -------
    Tuned
        `print` shows it.

    Raises
    ------
    InputError
        For what is not allowed, or if pymoo is missing.
    PolicyError
        If a run on a training seed fails.

    References
    ----------
    K. Deb, A. Pratap, S. Agarwal, T. Meyarivan, A fast and elitist multiobjective
    genetic algorithm: NSGA-II, IEEE Transactions on Evolutionary Computation 6 (2002).
    """
    require(isinstance(policy, str), "policy", policy, "a text")
    listed = check_seeds(seeds)
    short = policy if in_file(policy) else policy.partition(":")[0]
    named = dict.fromkeys(
        [short], *check_policies([policy], checked_model(scenario)).values()
    )
    less = [
        name
        for name, metric in subject_of(scenario).report.metrics.items()
        if metric.better == "less"
    ]
    for name in entries_of("figures", figures, "names of figures"):
        check_one_of("figure", name, less)
    require(
        isinstance(ranges, Mapping) and len(ranges) > 0,
        "ranges",
        ranges,
        "at least one name with its range",
    )
    axes = [_axis(name, ends) for name, ends in ranges.items()]
    learnt = list(range(max(listed) + 1, max(listed) + 1 + training))

    def point(steps: Iterable[float]) -> Point:
        return {axis.name: axis.at(int(step)) for axis, step in zip(axes, steps)}

    def placed(points: Sequence[Point]) -> list[tuple[Model, dict[str, Any]]]:
        places = scenarios_of(scenario, points, [short])
        return [
            (at, policies_at(choice, named, at)) for choice, at in zip(points, places)
        ]

    # or a range is wrong
    placed([point([0] * len(axes)), point(axis.steps for axis in axes)])
    search = _nsga2(
        [axis.steps for axis in axes], len(figures), population, generations
    )
    sizes = {"training": training, "population": population, "generations": generations}
    identity = {
        "ranges": {axis.name: [axis.low, axis.high] for axis in axes},
        "figures": [*figures],
    }
    store = open_store(
        out,
        "tune",
        named,
        listed,
        scenario=scenario,
        **identity,
        **sizes,
        pymoo=version("pymoo"),
    )

    def judged(points: Sequence[Point], seeds: list[int]) -> tuple[Comparison, ...]:
        return compared_at(placed(points), seeds, executor, store, engine)

    tried: dict[tuple[int, ...], Comparison] = {}
    # none: all are tried
    while search.has_next() and (asked := search.ask()) is not None:
        steps = [tuple(map(int, choice)) for choice in asked.get("X")]
        new = [choice for choice in dict.fromkeys(steps) if choice not in tried]
        tried |= zip(new, judged([point(choice) for choice in new], learnt))
        asked.set("F", np.array([_means(tried[choice], figures) for choice in steps]))
        search.tell(infills=asked)
    values = [tuple(_means(study, figures)) for study in tried.values()]
    # the first tried
    alike = {values[n]: n for n in reversed(np.flatnonzero(undominated(values)))}
    front = [alike[value] for value in sorted(alike)]
    points = [{}, *(point(list(tried)[n]) for n in front)]
    trained = [*judged(points[:1], learnt), *(list(tried.values())[n] for n in front)]
    test = judged(points, listed)
    result = Tuned(tuple(points), tuple(trained), test, tuple(figures), len(tried))
    result.keep(store)
    return result


class _Axis(NamedTuple):
    name: str
    low: float
    high: float

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def steps(self) -> int:
        return int(self.high - self.low) if self.whole else STEPS

    def at(self, step: int) -> float:
        if self.whole:
            return self.low + step
        return float(f"{self.low + (self.high - self.low) * step / STEPS:.6g}")


def _axis(name: str, ends: Any) -> _Axis:
    allowed = "two numbers, the least and the greatest"
    limits = [*map(python_number, entries_of(f"range of {name}", ends, allowed))]
    for end in limits:
        check_number(f"range of {name}", end)
    require(
        len(limits) == 2 and limits[0] < limits[1], f"range of {name}", ends, allowed
    )
    return _Axis(name, *limits)


def _nsga2(
    steps: Sequence[int], figures: int, population: int, generations: int
) -> Any:
    """Set up the search (an ask-and-tell interface)."""
    part = partial(needed, told='tune needs pymoo: pip install ".[search]" in a clone')
    rounded = part("pymoo.operators.repair.rounding").RoundingRepair()
    how = {"prob": 1.0, "eta": 3.0, "vtype": float, "repair": rounded}
    search = part("pymoo.algorithms.moo.nsga2").NSGA2(
        pop_size=population,
        sampling=part("pymoo.operators.sampling.rnd").IntegerRandomSampling(),
        crossover=part("pymoo.operators.crossover.sbx").SBX(**how),
        mutation=part("pymoo.operators.mutation.pm").PM(**how),
    )
    problem = part("pymoo.core.problem").Problem(
        n_var=len(steps), n_obj=figures, xl=0, xu=np.array(steps), vtype=int
    )
    search.setup(problem, termination=("n_gen", generations), seed=0, verbose=False)
    return search


def _mean(study: Comparison, figure: str) -> Mean:
    """Mean of a study of one policy."""
    return mean(study.independent(study.values(study.policies[0], figure))[0])


def _means(study: Comparison, figures: Sequence[str]) -> list[float]:
    """Means by figure; PolicyError if a run has failed."""
    if study.failures:
        raise PolicyError(failure_lines(study)[-1])
    return [_mean(study, name).mean for name in figures]


def undominated(values: Sequence[Sequence[float]]) -> np.ndarray[Any, Any]:
    """Return which choices (rows of values by figure) are Pareto-optimal."""
    one, other = np.array(values)[:, None], np.array(values)[None]
    return np.asarray(~((other <= one).all(-1) & (other < one).any(-1)).any(-1))


@dataclass(frozen=True, repr=False)
class Tuned(Results):
    """The front of the training seeds, judged on the test seeds.

    points: what is varied, by choice: {} for the original parameters, then the front;
    of choices with equal figures the first. training, test: comparisons by choice on
    those seeds. figures: to be minimised. tried: number of choices that the search ran.
    """

    points: tuple[Point, ...]
    training: tuple[Comparison, ...]
    test: tuple[Comparison, ...]
    figures: tuple[str, ...]
    tried: int

    @property
    def rows(self) -> list[Row]:
        """One dict per choice and seed: kind of seeds, then as in `Sweep.rows`."""
        return [
            {"seeds": kind, **dict.fromkeys(self.points[-1], GIVEN), **point, **row}
            for kind, studies in zip(KINDS, (self.training, self.test))
            for point, study in zip(self.points, studies)
            for row in study.rows
        ]

    @property
    def kept(self) -> list[bool]:
        """By choice, whether no other beats it by the means of the test seeds."""
        return list(
            map(bool, undominated([_means(study, self.figures) for study in self.test]))
        )

    def promised(self) -> dict[str, tuple[Mean, Mean]]:
        """Return the change of each figure from the original parameters to its best
        choice.

        The best on the training seeds; on these, and on the test seeds.
        """
        changes_of = {}
        for name in self.figures:
            front = [_mean(study, name).mean for study in self.training[1:]]
            best, changes = 1 + front.index(min(front)), []
            for studies in (self.training, self.test):
                pair = [
                    comparison.values(comparison.policies[0], name)
                    for comparison in (studies[best], studies[0])
                ]
                values, original = studies[0].independent(*pair)
                changes.append(paired_difference(values, original))
            changes_of[name] = changes[0], changes[1]
        return changes_of

    def as_dict(self) -> dict[str, Any]:
        """Return the choices with their means, and what the training seeds promised."""
        first = self.test[0]
        fewer = zip(self.points, self.training, self.test, self.kept)

        def means(study: Comparison) -> dict[str, Any]:
            return {name: plain_mean(_mean(study, name)) for name in self.figures}

        choices = [
            {"at": point, "training": means(train), "test": means(tested), "kept": kept}
            for point, train, tested, kept in fewer
        ]
        promised = {
            name: {"training": plain_mean(train), "test": plain_mean(tested)}
            for name, (train, tested) in self.promised().items()
        }
        [policy] = first.named.values()
        content = {"scenario": first.title, "policy": policy, "tried": self.tried}
        seeds = {"training": self.training[0].seeds, "test": first.seeds}
        return dict(
            or_none(
                {**content, "seeds": seeds, "choices": choices, "promised": promised}
            )
        )

    @property
    def _held(self) -> str:
        [policy] = self.test[0].named.values()
        return f"{self.test[0].title}, {policy}: {many(len(self.points) - 1, 'choice')}"

    @property
    def tables(self) -> list[Table]:
        """The front by both kinds of seeds, and what its best choices promised."""
        names, counts = list(self.points[-1]), (self.training[0].n, self.test[0].n)
        studied = (
            f"{many(counts[0], 'training seed')}, judged on"
            f" {many(counts[1], 'test seed')}"
        )
        title = (
            f"{self._held}, of {self.tried} tried on {studied}: mean, ± 95 % half width"
        )
        head = (item for name in self.figures for item in (f"{name}, trained", name))
        rows = [[*(name.rpartition(":")[2] for name in names), *head, "kept"]]
        for point, train, other, kept in zip(
            self.points, self.training, self.test, self.kept
        ):
            cells = [str(point.get(name, GIVEN)) for name in names]
            # an interval says nothing of what was chosen by the figure
            for name in self.figures:
                cells.append(figure_text(_mean(train, name).mean))
                cells.append(interval(_mean(other, name), counts[1]))
            rows.append([*cells, "yes" if kept else "no"])
        note = (
            "kept: no other choice of the table beats it by the means of the test seeds"
        )
        changes = [["least", *KINDS, "flattered by"]]
        for name, pair in self.promised().items():
            gap = pair[1].mean - pair[0].mean
            cells = [interval(item, count, "+") for item, count in zip(pair, counts)]
            changes.append([name, *cells, f"{gap:+z{digits(gap)}}"])
        promise = (
            "The choice of least on the training seeds, its change from what is given"
        )
        return [Table(title, rows, note), Table(promise, changes)]
