"""A model: what jobs there are, what they claim and how they live. Scenarios of every
module are models, and so is what you write yourself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import fields, is_dataclass, replace
from inspect import get_annotations, getattr_static, isfunction
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.metric import Metric, summed
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.timeline import VISIT, Bands, Reasons, Timeline
from cgrsp_simpy.engine.claim import Claim
from cgrsp_simpy.engine.resources import ResourceSpec
from cgrsp_simpy.engine.run import Run, Tally
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.engine.view import View, first_come


class Model:
    """Everything that a run depends on, but the policy and the seed: a frozen dataclass
    of parameters that says what `resources`, `arrivals` and `job_process` are.

    Attributes
    ----------
    name : str
        For tables and messages; the class's in words, unless given.
    metrics : mapping
        Name of each figure of a run's summary -> Metric.
    shown, tested : sequences of str
        The figures of a comparison's table, and those compared with the first policy's.
    precise : str
        The figure that a precision without a name speaks of.
    policies : mapping
        Name -> policy, or a factory of one with its parameters.
    compared : sequence of str
        The policies that a comparison takes unless told; all, unless given.
    columns : mapping
        Name -> dtype of what `run.record` is called with, in that order. Missing values
        are NaN, or -1 in columns of whole numbers.
    noun : str
        What a policy is called here.
    note : str
        What readers of the figures have to know; it stands below every table.
    infinite : str
        What it means of a policy that a figure is infinite; with the names of such, it
        stands below a comparison.
    common : str
        What runs of several seeds may have in common, such as a starting day on a
        market that is replayed; "" if they are independent.
    is_random : bool
        Whether seeds differ; of a log without luck, one run is all there is.
    keeps_jobs : bool
        Whether the figures need every job, and who held what: no run is without
        records.
    pace_per_s : float
        How many jobs a second one process simulates in a study, roughly: by that a
        command tells beforehand how long it will take.
    """

    metrics: ClassVar[Mapping[str, Metric]] = {
        "wait_s": Metric("mean wait", "s"),
        "wait_p95_s": Metric("95th percentile of the wait", "s"),
        "response_s": Metric("mean time from arrival to completion", "s"),
        "utilisation_pct": Metric("places in use", "%", "more"),
    }
    shown: ClassVar[Sequence[str]] = tuple(metrics)
    tested: ClassVar[Sequence[str]] = ("wait_s", "wait_p95_s", "response_s")
    precise: ClassVar[str] = "wait_s"
    policies: ClassVar[Mapping[str, Callable[..., Any]]] = {"first": first_come}
    compared: ClassVar[Sequence[str]] = ()
    columns: ClassVar[Mapping[str, str]] = {}
    policy_label: ClassVar[str] = "policy"
    note: ClassVar[str] = ""
    infinite: ClassVar[str] = ""
    common: ClassVar[str] = ""
    is_random: ClassVar[bool] = True
    keeps_jobs: ClassVar[bool] = False
    pace_per_s: ClassVar[float] = 30_000.0

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        taken = [name for name in vars(Model) if not name.startswith("_")]
        for name in taken:
            if name in _field_names(cls) or _hides_method(cls, name):
                raise InputError(
                    f"{cls.__name__}: {name!r} is an attribute of every model; choose"
                    f" another name (taken: {', '.join(taken)})"
                )

    def __getattr__(self, name: str) -> Any:
        if name == "name":
            return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(self).__name__).lower()
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}"
        )

    # ---- what a model says ----

    def resources(self) -> Iterable[ResourceSpec]:
        """What jobs claim: `cg.slots(...)`, `cg.pools(...)`, or both."""
        raise NotImplementedError(f"{type(self).__name__} does not say its resources()")

    def arrivals(self, draw: Draw) -> Iterable[tuple[Any, ...]]:
        """The jobs in order of arrival: pairs (second, job), or (second, job, luck),
        where luck is what the life may know (`run.hidden[job]`) and no policy sees. A
        job is anything that can be hashed, with a whole number `id`, or a whole number.
        Its fields are columns of `Run.jobs`, and the same for all jobs.

        draw: draw("name") is the run's stream of random numbers of that name, a NumPy
        Generator.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say its arrivals()")

    def job_process(self, run: Simulation, job: Any) -> Process:
        """A job from its arrival on: a SimPy process."""
        raise NotImplementedError(
            f"{type(self).__name__} does not say the job_process() of a job"
        )

    def processes(self, run: Simulation) -> Iterable[Process]:
        """Processes beside the jobs'; the run does not wait for their end."""
        return ()

    def set_up(self, run: Simulation) -> None:
        """Called once before anything happens, for what a life shares with others:
        attributes of the run, such as `run.licences`; InputError for a name that the
        engine uses.
        """

    def view(self, run: Simulation) -> Any:
        """What policies see of a run; a View, or what derives from it."""
        return View(run)

    def need(self, job: Any) -> float:
        """How much a job needs of a place."""
        return 1

    def says(self, kind: str, claim: Claim) -> str:
        """What a listing says of the claim of a job, kind: submit, start or finish."""
        return ""

    # ---- figures, rows and pictures; by themselves, unless a model knows better ----

    def tally(self) -> Any:
        """What sums up the jobs of a run: something with add(columns)."""
        return Tally()

    def summary(self, run: Run) -> dict[str, Any]:
        """The figures of a run by name."""
        capacity = summed(place.size for place in self.resources()) * run.tally.end_s
        held_pct = 100.0 * summed(run.held_s) / capacity if capacity else float("nan")
        return {**run.tally.figures(), "utilisation_pct": held_pct}

    def summary_of(self, run: Run, chosen: np.ndarray[Any, Any]) -> dict[str, Any]:
        """The figures of some jobs of a run; chosen: of shape (jobs,), whether each is
        one.
        """
        tally, jobs = Tally(), run.jobs[chosen]
        tally.add({name: jobs[name] for name in jobs.dtype.names or ()})
        return {"jobs": int(chosen.sum()), **tally.figures()}

    def kinds_of_columns(self) -> Mapping[str, str]:
        """Name -> dtype of columns of `Run.jobs`; others have that of their values."""
        return self.columns

    @property
    def tags(self) -> Any:
        """Columns of the log that jobs are from, as of `cgrsp_simpy.logs.Tags`; those
        of `source`, if the model has one.
        """
        return getattr(getattr(self, "source", None), "tags", {})

    def rows(self, run: Run) -> list[dict[str, Any]]:
        """One dict a job, for files: `row_columns`, and a log's own columns."""
        columns, tags = self.row_columns(run), self.tags
        values = [
            getattr(each, "tolist", lambda each=each: each)()
            for each in columns.values()
        ]
        rows = [dict(zip(columns, row)) for row in zip(*values)]
        return [row | tags.of(n, row) for n, row in enumerate(rows)] if tags else rows

    def row_columns(self, run: Run) -> Mapping[str, Any]:
        """Columns of `rows`, by name: those of `Run.jobs`, and the places of each job's
        last claim as text, with the amount where that is not one: "0 3", or "2:4".
        """
        jobs, held = run.jobs, run.parts()
        places = [
            " ".join(
                f"{number}" if amount == 1 else f"{number}:{amount:g}"
                for number, amount in held.get(job, ())
            )
            for job in jobs["job"].tolist()
        ]
        return {
            **{name: jobs[name] for name in jobs.dtype.names or ()},
            "resources": places,
        }

    def kinds(self, run: Run, by: str) -> dict[int, str]:
        """By job the kind by which it is coloured, from a column of `Run.jobs`."""
        check_one_of("colour_by", by, run.jobs.dtype.names or ())
        return {
            job: f"{by} {value}"
            for job, value in zip(run.jobs["job"].tolist(), run.jobs[by].tolist())
        }

    def timeline(self, run: Run, **parts: Any) -> Timeline:
        """A run as places and jobs. parts: fields of Timeline that the model knows
        better.
        """
        jobs, places = run.jobs, tuple(self.resources())
        visits = np.empty(len(jobs), VISIT)
        names = jobs.dtype.names or ()
        for name, column in zip(
            VISIT.names or (),
            ("job", "submit_s", "dispatch_s", "finish_s", "deadline_s"),
        ):
            visits[name] = jobs[column] if column in names else np.nan
        told = {
            "label": places[0].label if places else "resource",
            "resources": tuple(str(place.index) for place in places),
            "sizes": tuple(place.size for place in places),
            "claims": run.claims,
            "visits": visits,
            "policy": run.policy,
        }
        return Timeline(**{**told, **parts})

    def bands(self, run: Run) -> Bands | None:
        """What was scarce when in a run; None where nothing is known of that."""
        return None

    def reasons(self, run: Run) -> Reasons | None:
        """Why a run's policy chose as it did; None of one that declares no rules."""
        return None

    # ---- studies ----

    @property
    def work(self) -> int:
        """What a run costs, in jobs simulated: a study is divided into tasks by it."""
        jobs = getattr(self, "jobs", 1000)
        return len(jobs) if isinstance(jobs, Sized) else int(jobs)

    def work_of(self, policies: Sequence[Any]) -> int:
        """What a run of each of these policies costs, in jobs simulated."""
        return self.work * len(policies)

    def make_policy(self, policy: Any) -> Any:
        """A policy from its text, "name", "name:parameter=2" or "own.py:function"; a
        function is passed through.

        Raises InputError for an unknown name, parameter or file, or a value that is not
        allowed.
        """
        return chosen(self.policy_label, policy, self.policies)

    def default_policies(self) -> Sequence[str]:
        """The policies that a comparison takes unless told."""
        return self.compared or tuple(self.policies)

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Whether seeds differ for these policies; else one run is all there is."""
        return self.is_random

    def in_common(self, seed: int) -> int:
        """Which of `common` the runs of a seed have: those of two seeds with one are
        not independent. The seed itself where they are.
        """
        return seed

    def draw(self, seed: int) -> Any:
        """What the policies that meet on a seed share, drawn once: the arrivals."""
        return list(self.arrivals(Draw(seed)))

    def simulation(
        self,
        policy: Any,
        seed: int,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
    ) -> Simulation:
        """A run that has been set up and not let go.

        policy: as `make_policy` answers. drawn: what `draw` has drawn for this seed.
        """
        return Simulation(
            self, policy, seed, drawn=drawn, records=records, listener=listener
        )

    def not_compiled(self, policy: Any) -> str:
        """Why a policy cannot run in a compiled loop; "" where it can.

        policy: as `make_policy` answers.
        """
        return f"{self.name} has no compiled loop"

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
        engine: str = "simpy",
    ) -> Run:
        """The run of a policy on a seed, carried out; as `cg.simulate`.

        engine: "simpy"; else in a compiled loop, where it can be.
        """
        own = self.make_policy(policy)
        if engine != "simpy" and listener is None:
            run = self.in_bulk(own, seed, drawn, records)
            if run is not None:
                return run
        made = self.simulation(
            own, seed, drawn=drawn, records=records, listener=listener
        )
        return made.finish()

    def in_bulk(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        """The run in a compiled loop; None where there is none."""
        return None

    def outcome(self, run: Any) -> Any:
        """What a study keeps of a run, as plain values: the figures of its summary."""
        return run.summary()

    def figures(self, outcome: Any) -> dict[str, Any]:
        """The figures by name, from what a study has kept of a run."""
        return dict(outcome)

    @property
    def parts(self) -> Mapping[str, Any]:
        """Field -> its value, a dataclass whose fields are parameters, too."""
        return {}

    def varied(self, **parameters: Any) -> Self:
        """The model with other parameters, for sweeps.

        Raises InputError for a name that is no parameter, or a value that is not
        allowed.
        """
        if not is_dataclass(self):
            raise InputError(
                f"{type(self).__name__} has no parameters that a sweep could vary"
            )
        inner = {part: _names(value) for part, value in self.parts.items()}
        for name in parameters:
            check_one_of("parameter", name, [*_names(self), *chain(*inner.values())])
        for part, names in inner.items():
            own = {name: parameters.pop(name) for name in names if name in parameters}
            if own:
                whole = parameters.get(part, self.parts[part])
                parameters[part] = replace(whole, **own)
        return replace(self, **parameters)


def _field_names(cls: type) -> set[str]:
    """The names of which a dataclass decorator makes fields, of bases too."""
    return {
        name
        for base in cls.__mro__
        if base is not Model
        for name, kind in get_annotations(base).items()
        if not re.match(
            r"(\w+\.)?ClassVar\b", kind if type(kind) is str else repr(kind)
        )
    }


def _hides_method(cls: type, name: str) -> bool:
    """Whether a value, such as a number, takes the place of a method of Model."""
    if not isfunction(vars(Model)[name]):
        return False
    value = getattr_static(cls, name)
    return not (callable(value) or isinstance(value, classmethod))


def _names(made: Any) -> list[str]:
    """The names with which a dataclass is made."""
    return [item.name for item in fields(made) if item.init]
