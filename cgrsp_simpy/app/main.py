"""Script that Streamlit runs: a task and the page selected in the sidebar."""

from __future__ import annotations

import streamlit as st

from cgrsp_simpy.analysis.solver import SolverError
from cgrsp_simpy.app import pages
from cgrsp_simpy.app.parts import plain
from cgrsp_simpy.base.checks import InputError, WorkerError
from cgrsp_simpy.base.policy import PolicyError

# page, question and task by name
PAGES = {
    "A day": (
        pages.day_page,
        "How do waiting times depend on the policy and on the number of slots?",
        "Reduce the slots from 5 to 4 and compare the new row of the table with the one"
        " before the change. Then select `edf` next to the policy: do fewer jobs miss"
        " their deadlines?",
    ),
    "Compare policies": (
        pages.comparison_page,
        "Which policy misses the fewest deadlines on the same days?",
        "Compare the policies on 10 days. Which differences from the first policy are"
        " significant? Increase the seeds until you can name the best policy, and"
        " explain why more seeds help.",
    ),
    "Own or rent": (
        pages.own_or_rent_page,
        "How many machines should you own if you can rent the others by the hour?",
        "Set the price per owned hour to 0.8. How does the number of machines with"
        " the lowest price change under `njw`, and why? Then simulate that number and"
        " check the formulas.",
    ),
    "Advice on a log": (
        pages.advice_page,
        "What should change for the jobs of a log: policy, GPU types or slots?",
        "Press Advise for the sample log. Then raise the price of a slot to 5 USD per"
        " day: does the advice still recommend more slots? Repeat it for your log.",
    ),
    "A cluster": (
        pages.cluster_page,
        "How much load can a cluster carry under FIFO and under backfilling (EASY)?",
        "Increase the offered load from 0.6 in steps of 0.05. From which load on does"
        " FIFO's queue grow without end, and from which load on EASY's?",
    ),
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
h1 { font-size: 1.5rem !important; padding: 0 0 1.2rem !important; }
h2 { font-size: 1.25rem !important; }
[data-testid="stCaptionContainer"] { opacity: 1 !important; }
[data-testid="stSidebarUserContent"] [data-testid="stVerticalBlock"] { gap: .5rem; }
[data-testid="stSidebarHeader"] { height: 1.5rem; margin: 0; }
</style>"""
REPORTED = (
    InputError,
    PolicyError,
    SolverError,
    WorkerError,
    OverflowError,
    RecursionError,
    MemoryError,
    OSError,  # such as of a full disk
)


def main() -> None:
    """Show a page; report invalid input on one line."""
    st.set_page_config(page_title="Scheduling on rented GPUs", layout="wide")
    st.html(STYLE)
    page, question, task = PAGES[st.sidebar.selectbox("Page", list(PAGES), key="page")]
    st.title(question, anchor=False)
    st.markdown(f"**Task.** {task}")
    try:
        page()
    except REPORTED as error:
        st.error(plain(" ".join(str(error).split())))


if __name__ == "__main__":
    main()
