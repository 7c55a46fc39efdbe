"""Notes on cells that do not agree, and on what cannot be reproduced."""

from __future__ import annotations

_COST = (
    "known: the printed mean of these 30 seeds lies about two standard errors below the"
    " long-run mean"
)
_CADR = (
    "known: on the normal day CADR's printed figure lies two to two and a half standard"
    " errors from the long-run mean"
)
_RH = (
    "known: neither a reservation of 0 nor of 1 slots explains RH's printed miss,"
    " tardiness and cost of the month together"
)
_FIGURE = (
    "known: in Table 5.2, the same day with as many slots, waits are 129 to 159 min"
)

# (table, row, column, part) -> note.
KNOWN = {
    ("5.2", "SPT", "cost, USD", ""): _COST,
    ("5.2", "Balanced", "cost, USD", ""): _COST,
    ("5.5", "normal", "CADR", "wait, min"): _CADR,
    ("5.5", "normal", "CADR", "miss, %"): _CADR,
    (
        "5.6",
        "50 %",
        "SPT+Rescue",
        "",
    ): "known: the long-run mean is 21.8; its neighbours at 30 % and 70 % agree",
    **{
        ("5.13", "RH", column, ""): _RH
        for column in ("wait, min", "miss, %", "tardiness, min", "cost, USD")
    },
    **{
        ("Figure 5.7", "hectic", f"{which} wait, min", ""): _FIGURE
        for which in ("least", "greatest")
    },
}

CHANCE = "not among the cells known to differ; one in twenty does so by chance"
"""Note on a cell that differs without a known reason."""
STANDARDISED = ("t", "d", "d of wait", "d of miss")
"""Columns that are divided by a standard deviation."""
STANDARDISED_NOTE = (
    "divided by standard deviations of which FIFO's printed ones are small: 9.1 min of"
    " wait by its interval, against 11.4 in the long run"
)
"""Note on such a cell that differs."""

CANNOT = (
    (
        "Table 4.1, Figures 5.1 and 5.3 (b)",
        "The data set of 6,627 rendering jobs is not public: Table 4.1's averages over"
        " all jobs and Figures 5.1 and 5.3 (b) rest on it. Its means by type and"
        " complexity, as printed, are inputs here.",
    ),
    (
        "Table 5.1",
        "Table 5.1 is one seed of a generator that is not public; its figures cannot"
        " recur, but must lie within the distribution over seeds.",
    ),
    (
        "Tables 5.2 to 5.13",
        "The published seeds' random numbers are unknown: equality is possible in"
        " distribution only.",
    ),
    (
        "Tables 2.1 and 3.1 to 3.3",
        "Tables 2.1 and 3.1 to 3.3 are text: related work and symbols.",
    ),
    (
        "Table 5.13",
        "The mix of days of Phase 4 is not printed; it is inferred (0.20 quiet, 0.55"
        " normal, 0.15 hectic, 0.10 surge, drawn day by day) from Table 5.13's"
        " intervals and costs.",
    ),
    (
        "Table 5.3",
        "Of the 22 comparisons of Section 5.3's family Table 5.3 prints 13; Holm's"
        " step-down is taken over these.",
    ),
    (
        "Figures 3.1 to 5.2",
        "Figures 3.1, 3.2, 4.1 and 5.2 are examples and a diagram; they are drawn anew"
        " from runs of the same examples.",
    ),
    (
        "Figures 5.4 to 5.9",
        "Figures 5.4 to 5.9 print only the numbers of the tables and of their captions;"
        " they are drawn again from our runs.",
    ),
)
"""Table or figure -> what cannot be reproduced, and why."""
