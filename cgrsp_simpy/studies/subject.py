"""A model as the subject of a study: its policies, draws, runs and their outcomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import fields, is_dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation


class Subject:
    """How studies run a model; `Model.subject` names the class.

    Attributes
    ----------
    report : Report
        The model's.
    common : str
        What runs of several seeds may have in common, such as a starting day on a
        market that is replayed; "" if they are independent.
    is_random : bool
        Whether results depend on the seed; if not, a single run is made.
    pace_per_s : float
        Roughly how many jobs per second one process simulates, for estimates of the
        time that a study takes.
    """

    common: str = ""
    is_random: bool = True
    pace_per_s: ClassVar[float] = 30_000.0

    def __init__(self, model: Any) -> None:
        self.model: Any = model
        self.report: Report = model.report(model)

    @property
    def work(self) -> int:
        """Cost of a run, in jobs simulated; a study is divided into tasks by it."""
        jobs = getattr(self.model, "jobs", 1000)
        return len(jobs) if isinstance(jobs, Sized) else int(jobs)

    def work_of(self, policies: Sequence[Any]) -> int:
        """Return the cost of one run per policy, in jobs simulated."""
        return self.work * len(policies)

    def make_policy(self, policy: Any) -> Any:
        """Return a policy from its text, "name", "name:parameter=2" or
        "own.py:function"; a function is returned as it is.

        Raises InputError for an unknown name, parameter or file, or a value that is not
        allowed.
        """
        return chosen(self.model.policy_label, policy, self.model.policies)

    def default_policies(self) -> Sequence[str]:
        """Return the policies that a comparison takes by default."""
        return self.model.compared or tuple(self.model.policies)

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Whether results of these policies depend on the seed."""
        return self.is_random

    def in_common(self, seed: int) -> int:
        """Return which of `common` the runs of a seed have: runs of seeds that share it
        are not independent. The seed itself if all are independent.
        """
        return seed

    def draw(self, seed: int) -> Any:
        """Draw what all policies share on a seed: the arrivals."""
        return list(self.model.arrivals(Draw(seed)))

    def simulation(
        self,
        policy: Any,
        seed: int,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
    ) -> Simulation:
        """Set up a run without starting it.

        policy: from `make_policy`. drawn: from `draw`, for this seed.
        """
        return Simulation(
            self.model, policy, seed, drawn=drawn, records=records, listener=listener
        )

    def not_compiled(self, policy: Any) -> str:
        """Return why a policy cannot run in a compiled loop; "" if it can.

        policy: from `make_policy`.
        """
        return f"{self.model.name} has no compiled loop"

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
        """Run a policy on a seed, as `cg.simulate`.

        engine: "simpy"; else in a compiled loop, if possible.
        """
        policy = self.make_policy(policy)
        if engine != "simpy" and listener is None:
            run = self.compiled(policy, seed, drawn, records)
            if run is not None:
                return run
        return self.simulation(
            policy, seed, drawn=drawn, records=records, listener=listener
        ).finish()

    def compiled(self, policy: Any, seed: int, drawn: Any, records: bool) -> Run | None:
        """Run in a compiled loop; None if that is not possible."""
        return None

    def outcome(self, run: Any) -> Any:
        """Return what a study keeps of a run, as plain values: its summary."""
        return run.summary()

    def figures(self, outcome: Any) -> dict[str, Any]:
        """Return the figures by name, from what `outcome` returned."""
        return dict(outcome)

    @property
    def parts(self) -> Mapping[str, Any]:
        """Field -> its value, a dataclass whose fields are parameters, too."""
        return {}

    def varied(self, **parameters: Any) -> Any:
        """Return the model with other parameters, for sweeps.

        Raises InputError for a name that is no parameter, or a value that is not
        allowed.
        """
        if not is_dataclass(self.model):
            raise InputError(
                f"{type(self.model).__name__} has no parameters that a sweep could vary"
            )
        inner = {part: _names(value) for part, value in self.parts.items()}
        known = [*_names(self.model), *chain(*inner.values())]
        for name in parameters:
            check_one_of("parameter", name, known)
        for part, names in inner.items():
            values = {n: parameters.pop(n) for n in names if n in parameters}
            if values:
                whole = parameters.get(part, self.parts[part])
                parameters[part] = replace(whole, **values)
        return replace(self.model, **parameters)  # type: ignore[type-var]


def subject_of(model: Model) -> Subject:
    """Return the subject by which studies run a model."""
    kind: type[Subject] = model.subject or Subject
    return kind(model)


def _names(part: Any) -> list[str]:
    """Return the names with which a dataclass is made."""
    return [item.name for item in fields(part) if item.init]
