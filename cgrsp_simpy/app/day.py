"""A day of the thesis under one policy."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import figures, pictures, scenario_of
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.studies.replicate import simulate

SHOWN = ("wait_min", "miss_pct", "tight_miss_pct", "tardiness_min", "cost_usd", "utilisation_pct")


def page() -> None:
    """Sliders, figures, and pictures of the run."""
    scenario = scenario_of()
    left, right = st.columns(2)
    policy = left.selectbox("Policy", list(POLICIES), key="policy")
    seed = int(right.number_input("Seed", 0, 1_000_000, 0, key="seed"))
    run = simulate(scenario, policy, seed)
    figures(run, scenario, SHOWN)
    pictures(run, f"{scenario.name}_{policy}_{seed}")
