"""Jobs of several GPUs on the nodes of a cluster."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import compared, figures, pictures, policies_of, seeds_of
from cgrsp_simpy.cluster.cluster import Cluster
from cgrsp_simpy.cluster.jobs import Offered
from cgrsp_simpy.cluster.policies import SCHEDULERS
from cgrsp_simpy.cluster.scenario import Scenario
from cgrsp_simpy.studies.replicate import simulate


def page() -> None:
    """Sliders, one run with its pictures, and schedulers compared."""
    scenario = _scenario()
    left, right = st.columns(2)
    scheduler = left.selectbox("Scheduler", list(SCHEDULERS), key="scheduler")
    seed = int(right.number_input("Seed", 0, 1_000_000, 0, key="cluster: seed"))
    run = simulate(scenario, scheduler, seed)
    figures(run, scenario, scenario.shown)
    pictures(run, f"cluster_{scheduler}_{seed}")
    st.subheader("Schedulers on the same jobs")
    schedulers = policies_of(
        "cluster", scenario, "Schedulers; the others are compared with the first"
    )
    compared(scenario, schedulers, seeds_of("cluster", 20, 5), scenario.tested[:2])


def _scenario() -> Scenario:
    """The cluster and its jobs that the sliders say."""
    left, middle, right = st.columns(3)
    nodes = left.slider("Nodes", 1, 64, 8, key="nodes")
    gpus = left.select_slider("GPUs of a node", [1, 2, 4, 8, 16], 8, key="gpus")
    load = middle.slider("Offered load", 0.1, 1.5, 0.9, 0.05, key="load")
    jobs = right.slider("Jobs", 20, 2000, 500, 20, key="cluster: jobs")
    offered = Offered(jobs=jobs, load=load, warm_up=jobs, after=4 * jobs)
    return Scenario(offered, Cluster((gpus,) * nodes))
