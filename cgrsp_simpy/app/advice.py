"""Page: advice for your own log of jobs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import streamlit as st

from cgrsp_simpy.app.parts import (
    Progress,
    estimate,
    plain,
    policies_of,
    seeds_of,
    wanted,
)
from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.table import page as page_of
from cgrsp_simpy.decide.advice import PRINT, SEARCHED, advise
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.rental.days import trace
from cgrsp_simpy.rental.scenario import Scenario

PRICED = {
    "price_miss": "per missed deadline",
    "price_late": "per minute of tardiness",
    "price_wait": "per minute of waiting",
    "price_slot": "per slot and day",
}
SAMPLE = Path(__file__).parents[1] / "data" / "studio.csv"
BY_NAME = "from the file's name"
NEEDED = (
    "Without a file, the page uses the sample log of the package, `studio.csv`: two"
    " days of a studio. A CSV file needs one row per job with the columns `submit_s`"
    " (seconds, or a date and time) and `service_s` (seconds on a GPU); `deadline_s`,"
    " `gpus` and `weight` are optional. The file stays on this computer."
)


def page() -> None:
    """Show a log, its scenario, and the report."""
    left, right = st.columns([3, 1])
    log = left.file_uploader("Log of jobs", key="log")
    format = right.selectbox("Format", [BY_NAME, *FORMATS], key="format")
    slots = right.slider("Slots in use", 1, 20, 5, key="log: slots")
    left.caption(NEEDED)
    scenario = _read(log, None if format == BY_NAME else format, slots)
    st.text(f"{scenario.name}: {scenario.jobs:,} jobs")
    policies = policies_of("log", scenario, "Policies: the first is the one in use")
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
    report = page_of(advice.title, [advice.html()], PRINT)
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
    """Read the scenario of the sample log, or of an uploaded log, whose name appears in
    errors.
    """
    if log is None:
        return trace(SAMPLE, slots=slots)
    with TemporaryDirectory() as folder:
        path = Path(folder) / (Path(log.name).name or "log")
        path.write_bytes(log.getvalue())
        try:
            return trace(path, format, slots=slots)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None
