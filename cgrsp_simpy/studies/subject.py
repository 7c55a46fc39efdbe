"""Interface between studies and models: policies, draws, runs and their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import fields, is_dataclass, replace
from difflib import get_close_matches
from typing import Any, ClassVar, NamedTuple

from cgrsp_simpy.base.checks import (
    InputError,
    check_one_of,
    is_number,
    nearest,
    require,
    shown,
)
from cgrsp_simpy.base.files import within
from cgrsp_simpy.base.metric import check_figures
from cgrsp_simpy.base.parameters import hints, meanings
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import Table
from cgrsp_simpy.engine.events import ENVIRONMENT
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.recorder import ModelRecorder
from cgrsp_simpy.engine.report import Report
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.engine.simulation import Simulation

AMBIGUOUS = "ambiguous"  # a short name that two parts have
FEW = 5  # names that an error lists in full


class Parameter(NamedTuple):
    """A parameter of a model.

    name: full name, including parts that contain it, such as "terms.warm_s". value:
    current value. owner: class that declares it. meaning: description, if declared.
    """

    name: str
    value: Any
    owner: Any
    meaning: str = ""

    @property
    def hint(self) -> Any:
        """The declared type, or the type of the value if no type is declared."""
        try:
            return hints(self.owner)[self.name.rpartition(".")[2]]
        except (KeyError, NameError):
            return type(self.value)


class Subject:
    """Interface by which studies run a model; `Model.subject` names the class.

    report: the model's Report. common: noun for what runs of several seeds share, such
    as a starting day on a replayed market; "" if they are independent. is_random:
    whether results depend on the seed; if not, a single run is made. has_timeline:
    whether a run is one simulation, which pictures show. pace_per_s: jobs per second
    that one process simulates, roughly, for estimates of computing time.
    """

    common: str = ""
    is_random: bool = True
    has_timeline: ClassVar[bool] = True
    pace_per_s: ClassVar[float] = 30_000.0

    def __init__(self, model: Any) -> None:
        self.model: Any = model
        self.report: Report = model.report(model)

    @property
    def work(self) -> int:
        """Cost of a run, in simulated jobs."""
        jobs: Any = getattr(self.model, "jobs", None)
        number = len(jobs) if isinstance(jobs, Sized) else jobs
        return int(number) if is_number(number) else 1000  # an estimate

    def work_of(self, policies: Sequence[Any]) -> int:
        """Return the cost of one run per policy, in simulated jobs."""
        return self.work * len(policies)

    def make_policy(self, policy: Any) -> Any:
        """Create a policy from its text; return a function unchanged.

        Texts: "name", "name:parameter=2" or "own.py:function". Raises InputError for an
        unknown name, parameter or file, or an invalid value.
        """
        return chosen(self.model.policy_label, policy, self.model.policies)

    def default_policies(self) -> Sequence[str]:
        """Return the policies that a comparison runs by default."""
        names = self.model.compared or tuple(self.model.policies)
        return tuple(name for name in names if name not in self.left_out())

    def left_out(self) -> Mapping[str, str]:
        """Return a mapping: policy that a comparison omits by default -> reason."""
        return {}

    def is_random_under(self, policies: Sequence[Any]) -> bool:
        """Return whether results of these policies depend on the seed."""
        return self.is_random

    def in_common(self, seed: int) -> int:
        """Return a seed's cluster of shared data, or the seed if it is independent."""
        return seed

    def draw(self, seed: int) -> Any:
        """Draw the arrivals of a seed, which are the same for all policies."""
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
        """Set up a run without starting it; policy: from `make_policy`."""
        return Simulation(
            self.model, policy, seed, drawn=drawn, records=records, listener=listener
        )

    def record(self, policy: Any, seed: int, env: ModelRecorder) -> None:
        """Run a policy on a seed in an environment that records the events."""
        with within(ENVIRONMENT, lambda: env):
            self.simulation(self.make_policy(policy), seed).finish()

    def not_compiled(self, policy: Any) -> str:
        """Return why a policy cannot run in a compiled loop; "" if it can."""
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
        """Run a policy on a seed; engine: "simpy", or compiled if possible."""
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
        """Return what a study saves of a run, as plain values: its summary."""
        summary = run.summary()
        check_figures("summary()", summary)
        return summary

    def figures(self, outcome: Any) -> dict[str, Any]:
        """Return the figures by name, from what `outcome` returned."""
        return dict(outcome)

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters that are parts, that is, have parameters themselves."""
        return parts_of(self.model)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters by full name; one of a part is named "terms.warm_s"."""
        return {item.name: item for item in _parameters(self.model, self.parts)}

    def full_names(self, names: Iterable[str]) -> dict[str, str]:
        """Return the full names of parameters; InputError for an unknown name.

        "warm_s" is short for "terms.warm_s" if no other part has a parameter of that
        name.
        """
        known: dict[str, str] = {}
        for full in sorted(self.parameters, key=lambda full: full.count(".")):
            short = full.rpartition(".")[2]
            level = known.get(short, full).count(".")
            if level == full.count("."):  # otherwise a parameter of the model itself
                known[short] = AMBIGUOUS if short in known else full
        known = {name: full for name, full in known.items() if full != AMBIGUOUS}
        every = known | {full: full for full in self.parameters}
        for name in names:
            if name not in every:
                close = get_close_matches(name, known, n=FEW, cutoff=0)
                several = f"closest of {len(known)}: {', '.join(close)}"
                listed = (
                    f"allowed: {', '.join(known)}" if len(known) <= FEW else several
                )
                meant = nearest(name, known) or f" ({listed})"
                raise InputError(f"unknown parameter {shown(name)}{meant}")
        return {name: every[name] for name in names}

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return parameters by full name, with abbreviated values expanded."""
        return parameters

    def details(self, run: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return additional tables on a run, and their content for JSON."""
        return (), {}

    def study_details(self, study: Any) -> tuple[Sequence[Table], Mapping[str, Any]]:
        """Return additional tables on a comparison, and their content for JSON."""
        return (), {}

    def check_effective(self, names: Sequence[str], policies: Sequence[Any]) -> None:
        """Raise InputError for a parameter that affects none of these policies."""

    def varied(self, **parameters: Any) -> Any:
        """Return the model with changed parameters, for sweeps.

        parameters: by name; that of a part as "terms.warm_s", or as "warm_s" if no
        other part has that name. Raises InputError for an unknown name or an invalid
        value.
        """
        if not is_dataclass(self.model):
            raise InputError(
                f"{type(self.model).__name__} has no parameters that a sweep could vary"
            )
        inner = [name for name in parameters if name.partition(".")[0] in parameters]
        inner = [name for name in inner if "." in name]
        if inner:  # also for a part given as a whole
            whole = {name: parameters[name] for name in parameters if name not in inner}
            rest = {name: parameters[name] for name in inner}
            return subject_of(self.varied(**whole)).varied(**rest)
        changed: dict[str, Any] = {}
        for name, full in self.full_names(parameters).items():
            require(
                full not in changed,
                name,
                parameters[name],
                f"omitted: {full} is given twice",
            )
            changed[full] = parameters[name]
        return replaced(self.model, self.parts, self.completed(changed))


def subject_of(model: Model) -> Subject:
    """Return the Subject of a model."""
    kind: type[Subject] = model.subject or Subject
    return kind(model)


def parts_of(part: Any) -> dict[str, Any]:
    """Return the parameters of a dataclass that are dataclasses themselves."""
    values = {name: getattr(part, name) for name in _names(part)}
    return {name: value for name, value in values.items() if is_dataclass(value)}


def replaced(part: Any, parts: Mapping[str, Any], parameters: Mapping[str, Any]) -> Any:
    """Return a dataclass with changed parameters; parts: its dataclass fields."""
    direct, inner = dict[str, Any](), dict[str, dict[str, Any]]()
    for full, value in parameters.items():
        name, _, rest = full.partition(".")
        if rest:
            inner.setdefault(name, {})[rest] = value
        else:
            direct[name] = value
    for name, values in inner.items():
        whole = direct.get(name, parts[name])
        for other in values:
            check_one_of(f"parameter of {name}", other.partition(".")[0], _names(whole))
        direct[name] = replaced(whole, parts_of(whole), values)
    return replace(part, **direct)


def _parameters(part: Any, parts: Mapping[str, Any]) -> Iterator[Parameter]:
    """Yield the parameters of a part, each followed by its own parameters."""
    texts = meanings(part) if is_dataclass(part) else {}
    for name in _names(part):
        yield Parameter(name, getattr(part, name), type(part), texts.get(name, ""))
        inner = parts.get(name)
        for item in [] if inner is None else _parameters(inner, parts_of(inner)):
            yield item._replace(name=f"{name}.{item.name}")


def _names(part: Any) -> list[str]:
    items = fields(part) if is_dataclass(part) else ()
    return [item.name for item in items if item.init]
