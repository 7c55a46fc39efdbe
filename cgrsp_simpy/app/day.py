"""Page: a day of the thesis under one policy, or two side by side."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import beside_of, means_of, pictures, scenario_of
from cgrsp_simpy.rental.policies import POLICIES

SHOWN = (
    "wait_min",
    "miss_pct",
    "tight_miss_pct",
    "tardiness_min",
    "cost_usd",
    "utilisation_pct",
)


def page() -> None:
    """Show choices in the sidebar, means over seeds, and a run."""
    with st.sidebar:
        policies = beside_of("Policy", POLICIES, "policy", "fifo")
    scenario = scenario_of()
    means_of(
        scenario, policies, SHOWN, lambda: pictures(scenario, policies, scenario.name)
    )
