"""Script that Streamlit runs: one of the pages, chosen on the left."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.analysis.solver import SolverError
from cgrsp_simpy.app import advice, cluster, comparison, day, own_or_rent
from cgrsp_simpy.app.parts import plain
from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.studies.executors import WorkerError
from cgrsp_simpy.studies.replicate import MANY, studies_on

PAGES = {
    "A day": day.page,
    "Compare policies": comparison.page,
    "Own or rent": own_or_rent.page,
    "Advice on a log": advice.page,
    "A cluster": cluster.page,
}
STYLE = """<style>
.stMainBlockContainer { padding: 1rem 1.5rem; }
.stApp:has([data-testid="stExpandSidebarButton"]) .stMainBlockContainer {
  padding-top: 4rem;
}
@media (max-width: 640px) {
  .stMainBlockContainer { padding: 1rem .5rem; }
  [data-testid="stTable"] :is(p, th, td) {
    font-size: .7rem; line-height: 1.2; padding: .15rem;
  }
}
.stMainBlockContainer [data-testid="stVerticalBlock"] { gap: .4rem; }
[data-testid="stSidebarUserContent"] [data-testid="stVerticalBlock"] { gap: .5rem; }
[data-testid="stSidebarHeader"] { height: 1.5rem; margin: 0; }
</style>"""
TOLD = (InputError, PolicyError, SolverError, WorkerError, OverflowError, MemoryError)


def main() -> None:
    """Show the page; refused input is reported in one line."""
    st.set_page_config(page_title="Scheduling on rented GPUs", layout="wide")
    st.html(STYLE)
    chosen = st.sidebar.selectbox("Page", list(PAGES), key="page")
    try:
        # load the compiled loop once for all pages
        with studies_on(jobs=MANY):
            PAGES[chosen]()
    except TOLD as error:
        st.error(plain(" ".join(str(error).split())))


if __name__ == "__main__":
    main()
