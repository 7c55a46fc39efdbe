"""What is seen in each figure of HGSP, in a sentence on its rows."""

from __future__ import annotations

from cgrsp_simpy.hgsp.figure_data import HIGH, Row
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.hgsp.llm import OWNED

__all__ = ["comparison", "gantt", "searches", "table_one", "table_two", "utilisation"]


def gantt(rows: list[Row]) -> str:
    """Of both charts: who is late how often."""
    found = {row["scheduler"]: row for row in rows}
    late = ", ".join(f"{row['late_of_all']} under {name}" for name, row in found.items())
    same = found["sagreedy"]["weighted_tardiness"] == found["greedy"]["weighted_tardiness"]
    more = " SAGreedy finds nothing better than Greedy, from which it starts." if same else ""
    return f"Late of {rows[0]['tasks']} tasks: {late}.{more}"


def comparison(rows: list[Row]) -> str:
    """Who is least late at each level, and SAGreedy beside its print."""
    found = {(row["level"], row["scheduler"]): row for row in rows}
    least, printed = [], []
    for level in LEVELS:
        best = min((row for row in rows if row["level"] == level), key=lambda row: float(row["of_fifo"]))
        least.append(f"{best['of_fifo']:.2f} at {level} ({best['scheduler']})")
        own = found[level, "sagreedy"]
        printed.append(f"{own['of_fifo']:.2f} ({own['published_of_fifo']:.2g})")
    return (
        f"The least that remains of FIFO's weighted tardiness is {', '.join(least)}. Under SAGreedy it is {', '.join(printed)};"
        " in brackets as published, of other instances."
    )


def table_one(rows: list[Row]) -> str:
    """How far from the best each level is known to be, and what is not as printed."""
    found = {(row["level"], row["scheduler"]): row for row in rows}
    gap_pct = {level: found[level, "annealing"].get("gap_pct") for level in LEVELS}
    gaps = " and ".join(f"{gap:.1f} % at {level}" for level, gap in gap_pct.items() if gap is not None)
    none = " and ".join(level for level, gap in gap_pct.items() if gap is None)
    own, wspt = (found[HIGH, name] for name in ("sagreedy", "wspt"))
    return (
        f"On average no schedule can be better than the annealing's by more than {gaps}; no bound above 0 is known at {none}."
        f" At {HIGH} SAGreedy misses {own['dmr_pct']:.1f} % of the deadlines, published are {own['published_dmr_pct']} %;"
        f" wspt, which looks at no deadline, misses {wspt['dmr_pct']:.1f} %."
    )


def utilisation(rows: list[Row]) -> str:
    """How the slow model is used, and that under high load use says nothing."""
    found = {(row["level"], row["scheduler"], row["gpu"]): row["busy_pct"] for row in rows}
    slow = {name: f"{found['tasks1', name, 'A30']:.0f} %" for name in ("fifo", "greedy", "edd")}
    least = min(value for (level, _, _), value in found.items() if level == HIGH)
    return (
        f"Under medium load the slow A30 is busy {slow['fifo']} of the time under fifo, {slow['greedy']} under greedy and"
        f" {slow['edd']} under edd; under high load every model works at least {least:.0f} % of the makespan, whoever schedules."
    )


def searches(rows: list[Row]) -> str:
    """From where to where each search comes."""
    last = {(row["search"], row["on"]): row for row in rows}
    first = {(row["search"], row["on"]): row for row in reversed(rows)}
    steps = (
        f"{name} from {first[name, on]['of_fifo']:.4f} to {row['best_of_fifo']:.4f} on {on} (bound {row['bound_of_fifo']:.4f})"
        for (name, on), row in last.items()
    )
    return f"Weighted tardiness, FIFO's being 1: {', '.join(steps)}."


def table_two(rows: list[Row]) -> str:
    """Which mode gives the printed values."""
    found = {(row["scheduler"], row["mode"], row["step_s"] is not None): row for row in rows}
    waves, keeping = (found["wsrpt", mode, True] for mode in ("waves", "work-conserving"))
    fifo = found["fifo", "work-conserving", True]
    return (
        f"The printed {waves['printed_weighted_response']:.2f} of WSRPT comes out if nothing starts until a whole batch has ended"
        f" ({waves['weighted_response']:.2f}); if each GPU is used as it falls idle, it is {keeping['weighted_response']:.2f},"
        f" and the mean {keeping['mean_response_s']:.3f} s in place of {waves['mean_response_s']:.3f} s. Apart from execution"
        f" requests then wait {keeping['mean_wait_s']:.3f} s on average, {fifo['mean_wait_s']:.3f} s under FIFO. {OWNED}"
    )
