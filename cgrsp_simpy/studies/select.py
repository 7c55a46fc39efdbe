"""Selection of the best of several policies on one scenario, with as few runs as that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cgrsp_simpy.analysis.selection import Selection, kim_nelson
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.model.checks import check_one_of, require
from cgrsp_simpy.studies.replicate import check_policies, checked_model, simulate


def select(
    scenario: Model,
    policies: Sequence[Any],
    indifference: float,
    figure: str | None = None,
    confidence: float = 0.95,
    first: int = 20,
) -> Selection:
    """Run policies on the seeds 0, 1, 2, ... and leave out, run by run, those that cannot be the
    best; see `analysis.selection.kim_nelson`.

    All policies that are left meet the same seed (common random numbers).

    Parameters
    ----------
    scenario : Model
        Of any module, as in `simulate`.
    policies : sequence
        Two or more, as in `compare`.
    indifference : float
        The least difference worth detecting, > 0, in the unit of the figure.
    figure : str, optional
        A figure of the run's summary of which less, or more, is better; unless given the model's
        chief one (the wait).
    confidence : float
        Promised chance of selecting the best, if it is better by the indifference at least.
    first : int
        Runs of each policy before any is left out, >= 2.

    Returns
    -------
    Selection
        The policy by its label, and the runs that each took.

    Raises
    ------
    InputError
        For an argument that is not allowed, a market that is replayed, or a run without the figure.
    PolicyError
        If a policy answers what cannot be carried out.

    References
    ----------
    Kim and Nelson (2001), ACM Transactions on Modeling and Computer Simulation 11, 251-273.
    """
    named = check_policies(policies, checked_model(scenario))
    once = f"one whose seeds are independent: more of them begin on the same {scenario.common}"
    require(not scenario.common, "scenario", scenario.name, once)
    figure = scenario.precise if figure is None else figure
    judged = [name for name, metric in scenario.metrics.items() if metric.better]
    check_one_of("figure", figure, judged)

    def observe(policy: str, seed: int) -> float:
        run = simulate(scenario, named[policy], seed, records=False)
        return float(run.summary()[figure])

    better = scenario.metrics[figure].better
    return kim_nelson(observe, list(named), indifference, confidence, first, better)
