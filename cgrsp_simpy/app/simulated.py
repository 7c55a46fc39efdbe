"""Pages that simulate: a day of the thesis, a comparison of policies, and a cluster."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import (
    compared,
    means_of,
    one_or_two_of,
    pictures,
    policies_of,
    scenario_of,
    seeds_of,
)
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.studies.subject import subject_of

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
        "days", scenario, "Policies: the first is compared with each other one"
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
                "Schedulers: the first is compared with each other one",
            ),
            seeds_of("cluster", 20, 5),
            report.tested[:2],
        )

    means_of(scenario, schedulers, report.shown, show)


def _cluster() -> Scenario:
    """Return the cluster and jobs set by the sliders."""
    nodes = st.slider("Nodes", 1, 64, 8, key="nodes")
    gpus = st.select_slider("GPUs per node", [1, 2, 4, 8, 16], 8, key="gpus")
    load = st.slider("Offered load", 0.1, 1.5, 0.6, 0.05, key="load")
    jobs = st.slider("Jobs", 20, 2000, 200, 20, key="cluster: jobs")
    offered = Offered(jobs=jobs, load=load, warm_up=jobs, after=4 * jobs)
    return Scenario(offered, Cluster((gpus,) * nodes))
