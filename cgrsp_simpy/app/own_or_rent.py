"""Page: how many machines to own, and which jobs wait; formulas and simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from cgrsp_simpy.app.parts import (
    Progress,
    draw,
    estimate,
    policies_of,
    seeds_of,
    wanted,
)
from cgrsp_simpy.base.table import short_text
from cgrsp_simpy.plots.marks import lines
from cgrsp_simpy.plots.style import axes
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import closed_form, optimum
from cgrsp_simpy.waiting.jobs import ExponentialJobs
from cgrsp_simpy.waiting.machines import Prices
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario

FIGURES = {
    "wait_s": "mean wait, s",
    "price": "price per hour of work",
    "on_demand_fraction": "fraction on demand",
}


def page() -> None:
    """Show each policy's best number of machines, then formula and simulation."""
    scenario = _scenario()
    selected = policies_of("rent", scenario, "Policies")
    policies = [policy for policy in selected if not _left_out(scenario, policy)]
    if not policies:
        st.info("Select a policy that has a steady state.")
        return
    _by_formula(scenario, policies)
    st.header(f"{scenario.machines} machines: formula and simulation")
    seeds = seeds_of("rent", 30, 5)
    if wanted("Simulate", estimate(len(policies) * len(seeds), scenario)):
        with Progress() as executor:
            study = compare(scenario, policies, seeds, executor)
        for table in subject_of(scenario).study_details(study)[0]:
            st.code(table.text(), language=None)


def _scenario() -> Scenario:
    """Return the jobs, prices and machines set by the sliders."""
    left, middle, right = st.columns(3)
    per_h = left.slider("Jobs per hour", 1, 500, 72, key="rate")
    service_min = left.slider(
        "Mean running time, minutes", 0.5, 60.0, 8.0, 0.5, key="service"
    )
    machines = middle.slider("Machines owned", 1, 200, 12, key="machines")
    jobs = middle.slider(
        "Jobs per run", 1_000, 100_000, 20_000, 1_000, key="rent: jobs"
    )
    fixed = right.slider(
        "Price per owned hour (on demand: 1)",
        0.05,
        1.0,
        0.4,
        0.05,
        key="fixed",
    )
    source = ExponentialJobs(jobs, per_h / 3600, 60 * service_min)
    return Scenario(source, machines=machines, prices=Prices(fixed, 1.0))


def _left_out(scenario: Scenario, policy: str) -> bool:
    """Return whether a policy has no steady state; if so, show a warning."""
    if reason := scenario.under(waiting_policy(policy)).unsteady:
        st.warning(f"{policy} is left out: the queue grows without end ({reason}).")
    return bool(reason)


def _by_formula(scenario: Scenario, policies: Sequence[str]) -> None:
    """Show price and wait over the number of machines, and the lowest price."""
    source = scenario.source
    assert isinstance(source, ExponentialJobs)
    load = source.rate_per_s, source.service_s
    machines = np.arange(1, max(10, 2 * round(load[0] * load[1])) + 1)
    forms = {
        policy: closed_form(waiting_policy(policy), *load, machines, scenario.prices)
        for policy in policies
    }
    for column, name in zip(st.columns(2), ("price", "wait_s")):
        values = {
            policy: np.where(np.isfinite(form.wait_s), getattr(form, name), np.nan)
            for policy, form in forms.items()
        }
        draw(column, _lines, machines, values, FIGURES[name])
    st.caption("The number of machines with the lowest price, by formula")
    st.table(
        [_row(name, optimum(name, *load, prices=scenario.prices)) for name in policies]
    )


def _row(policy: str, figures: Mapping[str, float]) -> dict[str, str]:
    texts = {name: short_text(figures[figure]) for figure, name in FIGURES.items()}
    return {"policy": policy, "machines": short_text(figures["servers"]), **texts}


def _lines(machines: np.ndarray, values: dict[str, np.ndarray], label: str) -> Any:
    """Plot one line per policy with a steady state."""
    ax = axes(None)
    lines(
        ax,
        machines.tolist(),
        {name: (mean, np.full(len(mean), np.nan)) for name, mean in values.items()},
        marker="",
    )
    ax.set_xlabel("machines owned")
    ax.set_ylabel(label)
    return ax
