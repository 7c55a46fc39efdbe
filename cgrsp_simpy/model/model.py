"""What the scenario of every module is: a model, which is simulated, compared and
swept in one way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from types import FunctionType
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from cgrsp_simpy.model.checks import InputError, check_one_of
from cgrsp_simpy.model.parameters import chosen

__all__ = ["Metric", "Model", "foreign_part"]

PLAIN = (int, float, bool, str, type(None))
KNOWN = ("cgrsp_simpy", "builtins", "numpy", "pathlib")  # where the classes of parts are from

RunT = TypeVar("RunT")


class Metric(NamedTuple):
    """What a figure of a run is.

    Parameters
    ----------
    label : str
        In words, as on an axis.
    unit : str
        Such as "min" or "%"; "" for numbers and ratios.
    better : str
        "less" or "more"; "" where neither is better.
    """

    label: str
    unit: str = ""
    better: str = "less"

    def __str__(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


class Model(ABC, Generic[RunT]):
    """Everything that a run depends on, but the policy and the seed.

    Attributes
    ----------
    name : str
        For tables and messages.
    metrics : mapping
        Name of each figure of a run's summary -> Metric.
    shown, tested : sequences of str
        The figures of a comparison's table, and those compared with the first policy's.
    precise : str
        The figure that a precision without a name speaks of.
    policies : mapping
        Name -> factory of a policy, with its parameters.
    compared : sequence of str
        The policies that a comparison takes unless told.
    noun : str
        What a policy is called here.
    note : str
        What readers of the figures have to know; it stands below every table.
    common : str
        What runs of several seeds may have in common, such as a starting day on a market that is
        replayed; "" if they are independent.
    is_random : bool
        Whether seeds differ; of a log without luck, one run is all there is.
    pace_per_s : float
        How many jobs a second one process simulates in a study, roughly: by that a command tells
        beforehand how long it will take.
    """

    metrics: ClassVar[Mapping[str, Metric]]
    shown: ClassVar[Sequence[str]]
    tested: ClassVar[Sequence[str]]
    precise: ClassVar[str]
    policies: ClassVar[Mapping[str, Callable[..., Any]]]
    compared: ClassVar[Sequence[str]]
    noun: ClassVar[str] = "policy"
    name: str
    note: str = ""
    common: str = ""
    is_random: bool = True
    pace_per_s: float = 30_000.0

    @property
    @abstractmethod
    def jobs(self) -> int:
        """Number of jobs of a run."""

    @property
    def work(self) -> int:
        """What a run costs, in jobs simulated: by that a study is divided into tasks."""
        return self.jobs

    @abstractmethod
    def simulation(
        self,
        policy: Any,
        seed: int,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
    ) -> Any:
        """A run that has been set up and not let go.

        Parameters
        ----------
        policy : Any
            As `make_policy` answers.
        seed : int
            Of all its random numbers.
        drawn : Any
            What `draw` has drawn for this seed, if it has been drawn already.
        records : bool
            Whether the run keeps what became of each job.
        listener : callable, optional
            Called with each Event.

        Returns
        -------
        Any
            Something with env, engine and `close()`, which answers with the run: its `summary()`
            gives the figures by name, its `claims` and `timeline` who held what.
        """

    def make_policy(self, policy: Any) -> Any:
        """A policy from its text; a function is passed through.

        Parameters
        ----------
        policy : Any
            "name", "name:parameter=2" or "own.py:function", or a function.

        Returns
        -------
        Any
            What `simulation` takes.

        Raises
        ------
        InputError
            For an unknown name, parameter or file, or a value that a parameter cannot have.
        """
        return chosen(self.noun, policy, self.policies)

    def default_policies(self) -> Sequence[str]:
        """The policies that a comparison takes unless told."""
        return self.compared

    def is_random_under(self, policies: Sequence[Any]) -> bool:  # noqa: ARG002, most models have luck of their own
        """Whether seeds differ for these policies.

        Parameters
        ----------
        policies : sequence
            As `make_policy` takes.

        Returns
        -------
        bool
            False where one run is all there is.
        """
        return self.is_random

    def in_common(self, seed: int) -> int:
        """Which of `common` the runs of a seed have: those of two seeds with one are not
        independent.

        Parameters
        ----------
        seed : int
            Of the runs.

        Returns
        -------
        int
            The seed itself where runs are independent.
        """
        return seed

    def draw(self, seed: int) -> Any:  # noqa: ARG002, most models draw as they go
        """What the policies that meet on a seed share, drawn once; None where that is nothing.

        Parameters
        ----------
        seed : int
            Of the runs.

        Returns
        -------
        Any
            Given to `simulation` as drawn.
        """
        return None

    def run(
        self,
        policy: Any,
        seed: int = 0,
        *,
        drawn: Any = None,
        records: bool = True,
        listener: Any = None,
    ) -> RunT:
        """The run of a policy on a seed, carried out.

        Parameters
        ----------
        policy : Any
            As `make_policy` takes.
        seed, drawn, records, listener
            As of `simulation`.

        Returns
        -------
        Run
            Its `summary()` gives the figures by name.

        Raises
        ------
        InputError
            For a policy that is not allowed.
        PolicyError
            If the policy answers what cannot be carried out.
        """
        made = self.make_policy(policy)
        run = self.simulation(made, seed, drawn=drawn, records=records, listener=listener)
        run.env.run()
        return run.close()  # type: ignore[no-any-return]

    def outcome(self, run: RunT) -> Any:
        """What a study keeps of a run, as plain values: the figures of its summary.

        Parameters
        ----------
        run : Run
            As of `run`.

        Returns
        -------
        Any
            Plain values, which `figures` reads.
        """
        return run.summary()  # type: ignore[attr-defined]

    def figures(self, outcome: Any) -> dict[str, Any]:
        """The figures by name, from what a study has kept of a run.

        Parameters
        ----------
        outcome : Any
            As of `outcome`.

        Returns
        -------
        dict
            Its keys are among those of `metrics`.
        """
        return dict(outcome)

    def varied(self, **parameters: Any) -> Self:
        """The model with other parameters, for sweeps.

        Parameters
        ----------
        **parameters : Any
            Name -> value, of fields of the model's dataclass.

        Returns
        -------
        Model
            A copy; the model itself stays as it is.

        Raises
        ------
        InputError
            For a name that is no parameter, or a value that is not allowed.
        """
        return self._varied(parameters)

    def _varied(
        self,
        parameters: Mapping[str, Any],
        part: str = "",
        value: Any = None,
        names: Sequence[str] = (),
    ) -> Self:
        """The model with other parameters: its own, and those of a part of it.

        Parameters
        ----------
        parameters : mapping
            Their values by name.
        part : str
            Name of the part among the model's own parameters.
        value : Any
            The part as it is.
        names : sequence of str
            The parameters of the part that may be given.
        """
        if not is_dataclass(self):
            raise InputError(f"{type(self).__name__} has no parameters that a sweep could vary")
        for name in parameters:
            mine = [each.name for each in fields(self) if each.init]
            check_one_of("parameter", name, [*mine, *names])
        changed = {name: each for name, each in parameters.items() if name not in names}
        if own := {name: each for name, each in parameters.items() if name in names}:
            changed[part] = replace(changed.get(part, value), **own)
        return replace(self, **changed)


def foreign_part(model: Any) -> object | None:
    """The first part of a model, itself included, that is a function or of a class of
    the user's own.
    """
    if type(model) in PLAIN:
        return None
    if type(model) is tuple:
        if all(map(_is_plain, {type(each) for each in model})):
            return None
        return next((found for each in model if (found := foreign_part(each)) is not None), None)
    if isinstance(model, FunctionType) or type(model).__module__.partition(".")[0] not in KNOWN:
        return model  # type: ignore[no-any-return]
    inner = [getattr(model, item.name) for item in fields(model)] if is_dataclass(model) else []
    return next((found for each in inner if (found := foreign_part(each)) is not None), None)


def _is_plain(kind: type) -> bool:
    """Whether what is of a type is a value, or a name of an enumeration of the package."""
    own = issubclass(kind, Enum) and kind.__module__.partition(".")[0] in KNOWN
    return own or kind in PLAIN
