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
from cgrsp_simpy.decide.advice import PRINT, SEARCHED, advise
from cgrsp_simpy.decide.recommend import Prices
from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.rental.days import trace
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.page import page as page_of

PRICED = {
    "price_miss": "a missed deadline",
    "price_late": "a late minute",
    "price_wait": "a waiting minute",
    "price_slot": "a slot and day",
}
BY_NAME = "by the file's name, else csv"
NEEDED = (
    "A CSV needs one row per job with the columns `submit_s`, seconds or a date and"
    " time, and `service_s`, seconds on a GPU; `deadline_s`, `gpus` and `weight` are"
    " optional. The file stays on this computer."
)


def page() -> None:
    """Show a log, its scenario, and the report."""
    left, right = st.columns([3, 1])
    log = left.file_uploader("A log of jobs", key="log")
    format = right.selectbox("Its format", [BY_NAME, *FORMATS], key="format")
    slots = right.slider("Slots that there are", 1, 20, 5, key="log: slots")
    left.caption(NEEDED)
    if log is None:
        return
    scenario = _read(log, None if format == BY_NAME else format, slots)
    st.text(f"{scenario.name}: {scenario.jobs:,} jobs")
    policies = policies_of("log", scenario, "Policies; the first is the one in use")
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
    printed = page_of(advice.title, [advice.html()], PRINT)
    st.download_button("The report as a page", printed, "advice.html", "text/html")


def _prices() -> Prices:
    """Ask for prices other than the rent."""
    usual, paid = Prices(), {}
    for column, (price, noun) in zip(st.columns(len(PRICED)), PRICED.items()):
        given = getattr(usual, price)
        paid[price] = column.number_input(
            f"USD {noun}", 0.0, value=given, format="%g", key=price
        )
    return Prices(**paid)


def _read(log: Any, format: str | None, slots: int) -> Scenario:
    """Read the scenario of an uploaded log, whose original name errors use."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / (Path(log.name).name or "log")
        path.write_bytes(log.getvalue())
        try:
            return trace(path, format, slots=slots)
        except InputError as error:
            raise InputError(str(error).replace(f"{folder}/", "")) from None
