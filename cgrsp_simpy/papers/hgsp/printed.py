"""Every printed statement of the HGSP paper's results, as entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor

from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.hgsp.table import (
    AGREES,
    DIFFERS,
    INSIDE,
    OUTSIDE,
    PRINTED,
    UNDECIDED,
    printed_value,
    table_one,
)
from cgrsp_simpy.papers.ledger import Entry
from cgrsp_simpy.papers.llm.table import PRINTED as TABLE_TWO
from cgrsp_simpy.papers.llm.table import table_two

SEEDS = 40
VERDICTS = {
    AGREES: ledger.REPRODUCED,
    INSIDE: ledger.REPRODUCED,
    DIFFERS: ledger.DIFFERENT,
    OUTSIDE: ledger.DIFFERENT,
    UNDECIDED: ledger.UNDECIDED,
}
UNITS = ("weighted tardiness", "missed deadlines, %")
# Table I, columns "Best": change from FIFO to SAGreedy, as printed
BEST = {
    "tasks1": ("-25%", "-14%"),
    "tasks2": ("-99.7%", "-95%"),
    "tasks3": ("-10%", "-43%"),
    "tasks4": ("-1.3%", "-7.8%"),
}
IMPROVEMENT = {"weighted_response": "-67.9%", "mean_response_s": "-25.0%"}  # Table II


def entries(
    seeds: int | None = None, executor: Executor | int | None = None
) -> Iterator[Entry]:
    """Yield Tables I and II and the sentences about them."""
    for row in table_one(seeds=range(seeds or SEEDS), executor=executor):
        yield Entry(
            "hgsp",
            "Table I",
            f"{row['dataset']}, {row['scheduler']}, {row['metric']}",
            VERDICTS[row["verdict"]],
            row["printed"],
            f"{row['least']:,.2f} to {row['greatest']:,.2f}",
            "drawn by the law of the authors' file"
            if row["verdict"] in (INSIDE, OUTSIDE)
            else "",
        )
    yield from _best()
    yield from _table_two()
    yield from _sentences()
    for where, what, reason in (
        (
            "Table I",
            "eight further settings",
            "the authors' files have 12, of which"
            " the table prints 4: cgrsp papers tables hgsp tasks=FOLDER reads them",
        ),
        ("Figure 1", "Gantt charts", "no numbers; cgrsp papers figures hgsp gantt"),
    ):
        yield Entry("hgsp", where, what, ledger.UNTESTABLE, reason=reason)


def _change_pct(before: str, after: str) -> float:
    return 100 * (printed_value(after) / printed_value(before) - 1)


def _agrees(printed: str, pct: float) -> bool:
    """Whether a change in per cent is as printed, to one unit of its last figure."""
    text = printed.rstrip("%")
    unit = 10.0 ** -len(text.partition(".")[2])
    return abs(float(text) - pct) <= unit


def _best() -> Iterator[Entry]:
    """Recompute the changes from the printed cells beside them."""
    for dataset, printed in BEST.items():
        fifo, best = PRINTED[dataset, "fifo"], PRINTED[dataset, "sagreedy"]
        for unit, text, before, after in zip(UNITS, printed, fifo, best):
            pct = _change_pct(before, after)
            yield Entry(
                "hgsp",
                "Table I",
                f"{dataset}, Best, {unit}",
                ledger.REPRODUCED if _agrees(text, pct) else ledger.CONTRADICTED,
                text,
                f"{pct:.1f}%",
                f"from the printed cells, {before} and {after}",
            )


def _table_two() -> Iterator[Entry]:
    for row in table_two():
        if row["double_count"]:
            agrees = row["verdict"] == AGREES
            yield Entry(
                "hgsp",
                "Table II",
                f"{row['policy']}, {row['figure']}",
                ledger.REPRODUCED if agrees else ledger.DIFFERENT,
                f"{row['printed']:g}",
                f"{row['found']:g}",
                "by the authors' loop, which counts the requests that run twice",
            )
    for figure, text in IMPROVEMENT.items():
        pct = 100 * (TABLE_TWO["wsrpt"][figure] / TABLE_TWO["fifo"][figure] - 1)
        yield Entry(
            "hgsp",
            "Table II",
            f"Improvement, {figure}",
            ledger.REPRODUCED if _agrees(text, pct) else ledger.CONTRADICTED,
            text,
            f"{pct:.1f}%",
            "from the printed cells",
        )


def _sentences() -> Iterator[Entry]:
    """Judge sentences by the printed cells."""
    tardiness = {key: printed_value(cells[0]) for key, cells in PRINTED.items()}
    tied = tardiness["tasks2", "sagreedy"] == tardiness["tasks2", "greedy"]
    yield Entry(
        "hgsp",
        "Section IV.B",
        "SAGreedy improves on Greedy across all load levels",
        ledger.CONTRADICTED if tied else ledger.REPRODUCED,
        "",
        f"tasks2: {PRINTED['tasks2', 'sagreedy'][0]} and"
        f" {PRINTED['tasks2', 'greedy'][0]}",
        "Table I",
    )
    moderate = min(
        _change_pct(PRINTED[name, "fifo"][0], PRINTED[name, "sagreedy"][0])
        for name in ("tasks1", "tasks2")
    )
    yield Entry(
        "hgsp",
        "Section V",
        "up to 25 % less weighted tardiness than FIFO at moderate load",
        ledger.REPRODUCED if moderate > -26 else ledger.CONTRADICTED,
        "25 %",
        f"{-moderate:.1f} %",
        "Table I, tasks2",
    )
    changes = {
        name: _change_pct(PRINTED[name, "fifo"][0], PRINTED[name, "sagreedy"][0])
        for name in BEST
    }
    hard = min(changes["tasks3"], changes["tasks4"])
    easy = max(changes["tasks1"], changes["tasks2"])
    yield Entry(
        "hgsp",
        "Section IV.B",
        "SAGreedy's advantage is more pronounced on tasks3 and tasks4",
        ledger.REPRODUCED if hard < easy else ledger.CONTRADICTED,
        "",
        ", ".join(f"{name} {pct:.1f}%" for name, pct in changes.items()),
        "weighted tardiness against FIFO, Table I",
    )


GROUPS = {"cgrsp papers check hgsp": entries}
