"""Page: jobs of several GPUs on the nodes of a cluster."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import (
    beside_of,
    compared,
    means_of,
    pictures,
    policies_of,
    seeds_of,
)
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of


def page() -> None:
    """Show sliders, means over seeds, a run and a comparison of schedulers."""
    with st.sidebar:
        schedulers = beside_of("Scheduler", SCHEDULERS, "scheduler", "easy", "fifo")
        scenario = _scenario()

    def show() -> None:
        pictures(scenario, schedulers, "cluster")
        st.header("Schedulers on the same jobs")
        compared_schedulers = policies_of(
            "cluster", scenario, "Schedulers: the first is compared with each other one"
        )
        compared(
            scenario,
            compared_schedulers,
            seeds_of("cluster", 20, 5),
            subject_of(scenario).report.tested[:2],
        )

    means_of(scenario, schedulers, subject_of(scenario).report.shown, show)


def _scenario() -> Scenario:
    """Return the cluster and jobs set by the sliders."""
    nodes = st.slider("Nodes", 1, 64, 8, key="nodes")
    gpus = st.select_slider("GPUs per node", [1, 2, 4, 8, 16], 8, key="gpus")
    load = st.slider("Offered load", 0.1, 1.5, 0.6, 0.05, key="load")
    jobs = st.slider("Jobs", 20, 2000, 200, 20, key="cluster: jobs")
    offered = Offered(jobs=jobs, load=load, warm_up=jobs, after=4 * jobs)
    return Scenario(offered, Cluster((gpus,) * nodes))
