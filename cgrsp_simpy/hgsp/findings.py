"""What is seen in each figure of HGSP, in a sentence on its rows."""

from __future__ import annotations

from cgrsp_simpy.hgsp.figure_data import HIGH, MEDIUM, READINGS, Row
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.hgsp.llm import OWNED
from cgrsp_simpy.model.table import half

BLOCKED = (
    "what it moves to the front of its order takes a GPU at once and blocks it until it has"
    " arrived and run"
)


def gantt(rows: list[Row]) -> str:
    """Of both charts: who is late how often."""
    found = {row["scheduler"]: row for row in rows}
    late = ", ".join(f"{row['late_of_all']} under {name}" for name, row in found.items())
    same = found["sagreedy"]["weighted_tardiness"] == found["greedy"]["weighted_tardiness"]
    more = (
        f" SAGreedy finds nothing better than Greedy, from which it starts: {BLOCKED}."
        if same
        else ""
    )
    return f"Late of {rows[0]['tasks']} tasks: {late}.{more}"


def comparison(rows: list[Row]) -> str:
    """Who is least late at each level, and SAGreedy beside its print."""
    found = {(row["level"], row["scheduler"]): row for row in rows}
    least = []
    for level in LEVELS:
        best = min(
            (row for row in rows if row["level"] == level), key=lambda row: float(row["of_fifo"])
        )
        least.append(f"{best['of_fifo']:.2f} at {level} ({best['scheduler']})")
    blocking, arrived = (
        ", ".join(f"{found[level, name]['of_fifo']:.2f}" for level in LEVELS) for name in READINGS
    )
    printed = ", ".join(f"{found[level, 'sagreedy']['published_of_fifo']:.2g}" for level in LEVELS)
    return (
        f"The least that remains of FIFO's weighted tardiness is {', '.join(least)}."
        f" Under SAGreedy it is {blocking} if {BLOCKED} (sagreedy), {arrived} if only tasks that"
        f" have arrived are placed (sagreedy-arrived); published are {printed}, of other instances."
        " The paper's text can be read in both ways."
    )


def table_one(rows: list[Row]) -> str:
    """How far from the best each level is known to be, and what is not as printed."""
    found = {(row["level"], row["scheduler"]): row for row in rows}
    gap_pct = {level: found[level, "annealing"].get("gap_pct") for level in LEVELS}
    gaps = " and ".join(
        f"{gap:.1f} % at {level}" for level, gap in gap_pct.items() if gap is not None
    )
    none = " and ".join(level for level, gap in gap_pct.items() if gap is None)
    own, arrived, wspt = (found[HIGH, name] for name in (*READINGS, "wspt"))
    medium = [found[MEDIUM, name] for name in ("greedy", *READINGS)]
    claim = "; ".join(_claimed(medium[0], row) for row in medium[1:])
    printed = " for Greedy's ".join(
        f"{row['published_weighted_tardiness']:,.0f}" for row in (medium[1], medium[0])
    )
    return (
        f"On average no schedule can be better than the annealing's by more than {gaps};"
        f" no bound above 0 is known at {none}. That SAGreedy is better than Greedy at medium load"
        f" ({MEDIUM}, published {printed} s) depends on the reading: {claim}. At {HIGH} SAGreedy"
        f" misses {own['dmr_pct']:.1f} % of the deadlines, or {arrived['dmr_pct']:.1f} % as"
        f" sagreedy-arrived; published are {own['published_dmr_pct']} %; wspt, which looks at no"
        f" deadline, misses {wspt['dmr_pct']:.1f} %."
    )


def _claimed(greedy: Row, own: Row) -> str:
    """Whether a reading of SAGreedy is better than Greedy, beyond its interval."""
    difference, spread = own["minus_greedy"], own[half("minus_greedy")]
    told = f"{own['weighted_tardiness']:,.0f} for {greedy['weighted_tardiness']:,.0f} s"
    better, no_better = difference + spread < 0, difference - spread >= 0
    verdict = "it holds" if better else "it fails" if no_better else "it is not shown"
    return (
        f"{verdict} for {own['scheduler']} ({told}, difference {difference:,.0f} ± {spread:,.0f} s)"
    )


def utilisation(rows: list[Row]) -> str:
    """How the slow model is used, and that under high load use says nothing."""
    found = {(row["level"], row["scheduler"], row["gpu"]): row["busy_pct"] for row in rows}
    slow = {name: f"{found['tasks1', name, 'A30']:.0f} %" for name in ("fifo", "greedy", "edd")}
    least = min(value for (level, _, _), value in found.items() if level == HIGH)
    return (
        f"Under medium load the slow A30 is busy {slow['fifo']} of the time under fifo,"
        f" {slow['greedy']} under greedy and {slow['edd']} under edd; under high load every model"
        f" works at least {least:.0f} % of the makespan, whoever schedules."
    )


def searches(rows: list[Row]) -> str:
    """From where to where each search comes."""
    last = {(row["search"], row["on"]): row for row in rows}
    first = {(row["search"], row["on"]): row for row in reversed(rows)}
    steps = (
        f"{name} from {first[name, on]['of_fifo']:.4f} to {row['best_of_fifo']:.4f} on {on}"
        f" (bound {row['bound_of_fifo']:.4f})"
        for (name, on), row in last.items()
    )
    return f"Weighted tardiness, FIFO's being 1: {', '.join(steps)}."


def table_two(rows: list[Row]) -> str:
    """Which mode gives the printed values."""
    found = {(row["scheduler"], row["mode"], row["step_s"] is not None): row for row in rows}
    waves, keeping = (found["wsrpt", mode, True] for mode in ("waves", "work-conserving"))
    fifo = found["fifo", "work-conserving", True]
    return (
        f"The printed {waves['printed_weighted_response']:.2f} of WSRPT comes out if"
        f" nothing starts until a whole batch has ended ({waves['weighted_response']:.2f});"
        f" if each GPU is used as it falls idle, it is {keeping['weighted_response']:.2f}, and the"
        f" mean {keeping['mean_response_s']:.3f} s in place of {waves['mean_response_s']:.3f} s."
        f" Apart from execution requests then wait {keeping['mean_wait_s']:.3f} s on average,"
        f" {fifo['mean_wait_s']:.3f} s under FIFO. {OWNED}"
    )
