"""Every printed statement of the HGSP paper's results, as entries of the ledger."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

from cgrsp_simpy.hgsp.generate import AUTHORS_SEEDS, generate
from cgrsp_simpy.hgsp.instance import CLUSTERS
from cgrsp_simpy.hgsp.schedule import greedy_assignment
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.hgsp.table import PRINTED, printed_value, table_one
from cgrsp_simpy.papers.ledger import Entry
from cgrsp_simpy.papers.llm.table import PRINTED as TABLE_TWO
from cgrsp_simpy.papers.llm.table import table_two

SEEDS = 40
UNITS = ("weighted tardiness", "missed deadlines, %")
# Table I, columns "Best": change from FIFO to SAGreedy, as printed
BEST = {
    "tasks1": ("-25%", "-14%"),
    "tasks2": ("-99.7%", "-95%"),
    "tasks3": ("-10%", "-43%"),
    "tasks4": ("-1.3%", "-7.8%"),
}
IMPROVEMENT = {"weighted_response": "-67.9%", "mean_response_s": "-25.0%"}  # Table II
COUNTED = {
    True: ("", "by the authors' loop, which counts the requests that run twice"),
    False: (", as described", "each request counted once; the text has no other count"),
}
DECODE = (5000, 100, 500)  # tokens/s: Section VI.A.2; range of Section VI.A.1
claimed, compared = (
    partial(judge, "hgsp") for judge in (ledger.claimed, ledger.compared)
)


def of_table_one(
    seeds: int | None = None, executor: Executor | int | None = None
) -> list[Entry]:
    """Judge the cells of Table I by simulation."""
    drawn = "the tasks are drawn by the law of the authors' file"
    return [
        Entry(
            "hgsp",
            "Table I",
            f"{row['dataset']}, {row['scheduler']}, {row['metric']}",
            row["verdict"],
            row["printed"],
            f"{row['least']:,.2f} to {row['greatest']:,.2f}",
            "" if row["dataset"] in AUTHORS_SEEDS else drawn,
        )
        for row in table_one(seeds=range(seeds or SEEDS), executor=executor)
        if row["printed"]
    ]


def of_table_two(*_: object) -> list[Entry]:
    """Judge the cells of Table II by the authors' loop, and as the text describes."""
    return [
        Entry(
            "hgsp",
            "Table II",
            f"{row['policy']}, {row['figure']}{kind}",
            row["verdict"],
            f"{row['printed']:g}",
            f"{row['found']:g}",
            reason,
        )
        for row in table_two()
        for kind, reason in [COUNTED[row["double_count"]]]
    ]


def _change_pct(dataset: str, unit: int = 0) -> float:
    """Return the change from FIFO to SAGreedy by the printed cells, per cent."""
    fifo, best = (
        printed_value(PRINTED[dataset, name][unit]) for name in ("fifo", "sagreedy")
    )
    return 100 * (best / fifo - 1)


def computed(*_: object) -> list[Entry]:
    """Judge changes and sentences by the printed cells."""
    change = {name: _change_pct(name) for name in BEST}
    missed = {key: float(cells[1]) for key, cells in PRINTED.items()}
    ties = [
        name
        for name in BEST
        if PRINTED[name, "sagreedy"][0] == PRINTED[name, "greedy"][0]
    ]
    slow = generate("tasks3", gpus=CLUSTERS["small-30"])
    text_speeds = greedy_assignment(slow, range(slow.tasks), True).weighted_tardiness
    decode, low, high = DECODE
    of_table = "from the printed cells"
    return [
        *(
            compared(
                "Table I",
                f"{name}, Best, {UNITS[unit]}",
                text,
                _change_pct(name, unit),
                f"{of_table}, {PRINTED[name, 'fifo'][unit]} and"
                f" {PRINTED[name, 'sagreedy'][unit]}",
            )
            for name, texts in BEST.items()
            for unit, text in enumerate(texts)
        ),
        *(
            compared(
                "Table II",
                f"Improvement, {figure}",
                text,
                100 * (TABLE_TWO["wsrpt"][figure] / TABLE_TWO["fifo"][figure] - 1),
                of_table,
            )
            for figure, text in IMPROVEMENT.items()
        ),
        claimed(
            "Section IV.B",
            "SAGreedy improves on Greedy across all load levels",
            not ties,
            f"equal on {', '.join(ties)}",
            "Table I",
        ),
        claimed(
            "Section V",
            "up to 25 % less weighted tardiness than FIFO at moderate load",
            min(change["tasks1"], change["tasks2"]) > -26,
            f"{-change['tasks2']:.1f} %",
            "Table I, tasks2",
            "25 %",
        ),
        claimed(
            "Section IV.B",
            "SAGreedy's advantage is more pronounced on tasks3 and tasks4",
            min(change["tasks3"], change["tasks4"])
            < max(change["tasks1"], change["tasks2"]),
            ", ".join(f"{name} {pct:.1f}%" for name, pct in change.items()),
            "weighted tardiness against FIFO, Table I",
        ),
        claimed(
            "Section IV.B",
            "all algorithms miss less than 6 % of the deadlines of tasks1 and tasks2",
            max(missed[key] for key in missed if key[0] in ("tasks1", "tasks2")) < 6,
            f"at most {max(missed['tasks1', 'fifo'], missed['tasks2', 'fifo']):g} %",
            "Table I",
            "6 %",
        ),
        compared(
            "Section V",
            "missed deadlines of tasks4, percentage points below FIFO",
            "7.8",
            missed["tasks4", "fifo"] - missed["tasks4", "sagreedy"],
            "Table I",
        ),
        claimed(
            "Section VI.A",
            "decoding, tokens/s for each request",
            low <= decode <= high,
            f"{low} to {high} for a single request",
            "printed in the same section",
            f"{decode:,}",
        ),
        claimed(
            "Section IV.A",
            "GPU speeds of 57, 30 and 55.5",
            f"{text_speeds / 1e6:.2f}M" == PRINTED["tasks3", "fifo"][0],
            f"{text_speeds / 1e6:.2f}M",
            "weighted tardiness of tasks3 under FIFO; speeds of 76, 40 and 74 give"
            f" {PRINTED['tasks3', 'fifo'][0]}, as printed",
            PRINTED["tasks3", "fifo"][0],
            ledger.DIFFERENT,
        ),
        *ledger.untestable(
            "hgsp",
            "no numbers; ours: cgrsp papers figures hgsp gantt",
            ("Figure 1", "Gantt charts", ""),
        ),
        *ledger.untestable(
            "hgsp",
            "the paper prints one cluster per data set; ours of all twelve settings:"
            " cgrsp papers tables hgsp",
            ("Table I", "eight further settings", ""),
        ),
    ]


GROUPS = {
    "cgrsp papers tables hgsp": of_table_one,
    "cgrsp papers tables llm": of_table_two,
    "cgrsp papers check hgsp": computed,
}
