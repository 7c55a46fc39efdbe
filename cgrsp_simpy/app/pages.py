"""Pages: a day, policies, a cluster, owned machines, and advice on a log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import streamlit as st

from cgrsp_simpy.app.parts import (
    Progress,
    compared,
    draw,
    estimate,
    means_of,
    one_or_two_of,
    pictures,
    plain,
    policies_of,
    scenario_of,
    seeds_of,
    wanted,
)
from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.files import write_whole
from cgrsp_simpy.base.table import many, page, short_text
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario as ClusterScenario
from cgrsp_simpy.decide.advice import PRINT, SEARCHED, advise
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.plots.marks import lines
from cgrsp_simpy.plots.style import axes
from cgrsp_simpy.rental.days import trace
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import compare
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.formulas import closed_form, optimum
from cgrsp_simpy.waiting.jobs import ExponentialJobs
from cgrsp_simpy.waiting.machines import Prices as PricesOfMachines
from cgrsp_simpy.waiting.policies import waiting_policy
from cgrsp_simpy.waiting.scenario import Scenario as WaitingScenario

FIGURES_OF_A_DAY = (
    "wait_min",
    "miss_pct",
    "tight_miss_pct",
    "tardiness_min",
    "cost_usd",
    "utilisation_pct",
)


def day_page() -> None:
    """Show a day under one or two policies: means over seeds, and a run."""
    with st.sidebar:
        policies = one_or_two_of("Policy", POLICIES, "policy", "fifo")
    scenario = scenario_of()
    means_of(
        scenario,
        policies,
        FIGURES_OF_A_DAY,
        lambda: pictures(scenario, policies, scenario.name),
    )


def comparison_page() -> None:
    """Compare policies on the same days."""
    scenario = scenario_of()
    policies = policies_of(
        "days", scenario, "Policies; the first is compared with each of the others"
    )
    compared(scenario, policies, seeds_of("days", 100, 10), ("wait_min", "miss_pct"))


def cluster_page() -> None:
    """Show means over seeds, a run and a comparison of schedulers of a cluster."""
    with st.sidebar:
        schedulers = one_or_two_of("Scheduler", SCHEDULERS, "scheduler", "easy", "fifo")
        scenario = _cluster()
    report = subject_of(scenario).report

    def show() -> None:
        pictures(scenario, schedulers, "cluster")
        st.header("Schedulers on the same jobs")
        compared(
            scenario,
            policies_of(
                "cluster",
                scenario,
                "Schedulers; the first is compared with each of the others",
            ),
            seeds_of("cluster", 20, 5),
            report.tested[:2],
        )

    means_of(scenario, schedulers, report.shown, show)


def _cluster() -> ClusterScenario:
    """Return the cluster and jobs set by the sliders."""
    nodes = st.slider("Nodes", 1, 64, 8, key="nodes")
    gpus = st.select_slider("GPUs per node", [1, 2, 4, 8, 16], 8, key="gpus")
    load = st.slider("Offered load", 0.1, 1.5, 0.6, 0.05, key="load")
    jobs = st.slider("Measured jobs", 20, 2000, 200, 20, key="cluster: jobs")
    offered = Offered(jobs=jobs, load=load, warm_up=jobs, after=4 * jobs)
    return ClusterScenario(offered, Cluster((gpus,) * nodes))


# ---- own or rent ----

FIGURES_OF_PLANS = {
    "wait_s": "mean wait, s",
    "price": "price per hour of work",
    "on_demand_fraction": "fraction on demand",
}


def own_or_rent_page() -> None:
    """Show each policy's best number of machines, then formula and simulation."""
    scenario = _owned()
    selected = policies_of("rent", scenario, "Policies")
    policies = [policy for policy in selected if not _left_out(scenario, policy)]
    if not policies:
        st.info("Select a policy that has a steady state.")
        return
    _by_formula(scenario, policies)
    st.header(f"{many(scenario.number, 'machine')}: formula and simulation")
    seeds = seeds_of("rent", 30, 5)
    if wanted("Simulate", estimate(len(policies) * len(seeds), scenario)):
        with Progress() as executor:
            study = compare(scenario, policies, seeds, executor)
        for table in subject_of(scenario).study_details(study)[0]:
            st.code(table.text(), language=None)


def _owned() -> WaitingScenario:
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
    return WaitingScenario(
        source, machines=machines, prices=PricesOfMachines(fixed, 1.0)
    )


def _left_out(scenario: WaitingScenario, policy: str) -> bool:
    """Return whether a policy has no steady state; if so, show a warning."""
    reason = scenario.under(waiting_policy(policy)).unsteady
    if reason:
        st.warning(f"{policy} is left out: the queue grows without end ({reason}).")
    return bool(reason)


def _by_formula(scenario: WaitingScenario, policies: Sequence[str]) -> None:
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
        draw(column, _lines, machines, values, FIGURES_OF_PLANS[name])
    st.caption("The number of machines with the lowest price, by formula")
    st.table(
        [_row(name, optimum(name, *load, prices=scenario.prices)) for name in policies]
    )


def _row(policy: str, figures: Mapping[str, float]) -> dict[str, str]:
    texts = {
        name: short_text(figures[figure]) for figure, name in FIGURES_OF_PLANS.items()
    }
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
    ax.set(xlabel="machines owned", ylabel=label)
    return ax


# ---- advice on a log ----

PRICED = {
    "price_miss": "per missed deadline",
    "price_late": "per minute of tardiness",
    "price_wait": "per minute of waiting",
    "price_slot": "per slot and day",
}
SAMPLE = Path(__file__).parents[1] / "data" / "studio.csv"
BY_CONTENT = "recognised by content"
NEEDED = (
    "Without a file, the page uses the sample log of the package, `studio.csv`: two"
    " days of a studio. A CSV file needs one row per job with the columns `submit_s`"
    " (seconds, or a date and time) and `service_s` (seconds on a GPU); `deadline_s`,"
    " `gpus` and `weight` are optional. The file stays on this computer."
)


def advice_page() -> None:
    """Show a log, its scenario, and the report."""
    left, right = st.columns([3, 1])
    log = left.file_uploader("Log of jobs", key="log")
    format = right.selectbox("Format", [BY_CONTENT, *FORMATS], key="format")
    slots = right.slider("Slots in use", 1, 20, 5, key="log: slots")
    left.caption(NEEDED)
    scenario = _read(log, None if format == BY_CONTENT else format, slots)
    st.text(f"{scenario.name}: {many(scenario.jobs, 'job', ',')}")
    policies = policies_of("log", scenario, "Policies: the first is the current policy")
    seeds = seeds_of("log", 20, 5)
    prices = _prices()
    if not wanted(
        "Advise", estimate(SEARCHED * len(policies) + 3 * len(seeds), scenario)
    ):
        return
    with Progress() as executor:
        advice = advise(scenario, policies, seeds, executor, prices=prices)
    st.markdown(plain("\n\n".join(advice.lines)))
    st.code(str(advice), language=None)
    report = page(advice.title, [advice.html()], PRINT)
    st.download_button("Save the report", report, "advice.html", "text/html")


def _prices() -> Prices:
    """Return the prices set by number inputs, which exclude the rent."""
    prices = {
        name: column.number_input(
            f"USD {unit}", 0.0, value=getattr(Prices(), name), format="%g", key=name
        )
        for column, (name, unit) in zip(st.columns(len(PRICED)), PRICED.items())
    }
    return Prices(**prices)


def _read(log: Any, format: str | None, slots: int) -> Scenario:
    """Read the sample log, or an uploaded one, whose name appears in errors."""
    if log is None:
        return trace(SAMPLE, slots=slots)
    with TemporaryDirectory() as folder:
        path = Path(folder) / (Path(log.name).name.strip(".") or "log")
        try:
            write_whole(path, log.getvalue())
            return trace(path, format, slots=slots)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None
