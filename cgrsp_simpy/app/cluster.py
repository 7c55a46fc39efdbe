"""Page: jobs of several GPUs on the nodes of a cluster."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import (
    beside_of,
    compared,
    pictures,
    policies_of,
    seeds_of,
    told,
)
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of


def page() -> None:
    """Show sliders, an animated run, and a comparison of schedulers."""
    with st.sidebar:
        schedulers = beside_of("Scheduler", SCHEDULERS, "scheduler")
        scenario = _scenario()

    def shown() -> None:
        pictures(scenario, schedulers, "cluster")
        st.subheader("Schedulers on the same jobs")
        others = policies_of(
            "cluster", scenario, "Schedulers; the others are compared with the first"
        )
        compared(
            scenario,
            others,
            seeds_of("cluster", 20, 5),
            subject_of(scenario).report.tested[:2],
        )

    told(scenario, schedulers, subject_of(scenario).report.shown, shown)


def _scenario() -> Scenario:
    """Return the cluster and jobs set by the sliders."""
    nodes = st.slider("Nodes", 1, 64, 8, key="nodes")
    gpus = st.select_slider("GPUs of a node", [1, 2, 4, 8, 16], 8, key="gpus")
    load = st.slider("Offered load", 0.1, 1.5, 0.9, 0.05, key="load")
    jobs = st.slider("Jobs", 20, 2000, 500, 20, key="cluster: jobs")
    offered = Offered(jobs=jobs, load=load, warm_up=jobs, after=4 * jobs)
    return Scenario(offered, Cluster((gpus,) * nodes))
