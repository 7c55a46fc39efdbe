"""Page: a day of the thesis under one policy, or two side by side."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.app.parts import beside_of, pictures, scenario_of, told
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
    """Show choices on the left; an animated run, and figures over seeds."""
    with st.sidebar:
        policies = beside_of("Policy", POLICIES, "policy")
    scenario = scenario_of()
    told(scenario, policies, SHOWN, lambda: pictures(scenario, policies, scenario.name))
