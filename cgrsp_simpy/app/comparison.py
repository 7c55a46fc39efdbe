"""Page: policies on the same days."""

from __future__ import annotations

from cgrsp_simpy.app.parts import compared, policies_of, scenario_of, seeds_of


def page() -> None:
    """Show sliders and the comparison."""
    scenario = scenario_of()
    policies = policies_of(
        "days", scenario, "Policies: the first is compared with each other one"
    )
    compared(scenario, policies, seeds_of("days", 100, 10), ("wait_min", "miss_pct"))
