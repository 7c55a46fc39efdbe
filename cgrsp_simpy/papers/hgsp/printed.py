"""Every printed statement of the HGSP paper's results, as entries of the ledger."""

from __future__ import annotations

from concurrent.futures import Executor

from cgrsp_simpy.hgsp.generate import AUTHORS_SEEDS, LEVELS, generate
from cgrsp_simpy.hgsp.instance import CLUSTERS
from cgrsp_simpy.hgsp.schedule import greedy_assignment
from cgrsp_simpy.llm.service import Roofline
from cgrsp_simpy.papers.hgsp import sagreedy
from cgrsp_simpy.papers.hgsp.table import PRINTED, printed_value, table_one
from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    Entry,
    Setting,
    claimed,
    compared,
    settings,
    untestable,
)
from cgrsp_simpy.papers.llm import table as llm

SEEDS = 40
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
DECODED_PER_S = 5000  # tokens per second of a request, Section VI.A
TASKS = {"tasks1": "1000", "tasks2": "2000", "tasks3": "1000", "tasks4": "2000"}
# reason -> place, subject and printed text of statements that cannot be tested
FIGURE_AND_TABLE = {
    "no numbers; ours: cgrsp papers figures hgsp gantt": [
        ("Figure 1", "Gantt charts", "")
    ],
    "the paper prints one cluster per data set; ours of all twelve settings: cgrsp"
    " papers tables hgsp": [("Table I", "eight further settings", "")],
}
SIMULATION = {
    "Table II does not depend on it, and no other run is printed": [
        ("Section VI.C", "memory of an H100, GB", "80")
    ],
    "the paper names no such simulator": [
        ("Section VI.D", "queue of event-driven simulators", "1")
    ],
}


def of_table_one(
    seeds: int | None = None, executor: Executor | int | None = None
) -> list[Entry]:
    """Judge the cells of Table I by simulation."""
    drawn = "the tasks are drawn from the distribution of the authors' file"
    return [
        Entry(
            "Table I",
            f"{row['dataset']}, {row['scheduler']}, {row['metric']}",
            row["verdict"],
            printed=row["printed"],
            ours=f"{row['least']:,.2f} to {row['greatest']:,.2f}",
            reason="" if row["dataset"] in AUTHORS_SEEDS else drawn,
        )
        for row in table_one(seeds=range(seeds or SEEDS), executor=executor)
        if row["printed"]
    ]


def of_table_two(*_: object) -> list[Entry]:
    """Judge the cells of Table II by the authors' loop and by the text."""
    return [
        Entry(
            "Table II",
            f"{row['policy']}, {row['figure']}{kind}",
            row["verdict"],
            printed=f"{row['printed']:g}",
            ours=f"{row['found']:g}",
            reason=reason,
        )
        for row in llm.table_two()
        for kind, reason in [COUNTED[row["double_count"]]]
    ]


def _change_pct(dataset: str, unit: int = 0) -> float:
    """Return the change from FIFO to SAGreedy by the printed cells, percent."""
    fifo, best = (
        printed_value(PRINTED[dataset, name][unit]) for name in ("fifo", "sagreedy")
    )
    return 100 * (best / fifo - 1)


def computed(*_: object) -> list[Entry]:
    """Judge changes and sentences by the printed cells."""
    return [
        *_changes(),
        *_sentences(),
        *_assumptions(),
        *untestable(FIGURE_AND_TABLE),
        *_settings(),
        *untestable(SIMULATION),
    ]


def _changes() -> list[Entry]:
    """Compare the printed changes with those of the printed cells."""
    of_table = "from the printed cells"
    best = [
        compared(
            "Table I",
            f"{name}, Best, {what}",
            text,
            _change_pct(name, unit),
            reason=f"{of_table}, {PRINTED[name, 'fifo'][unit]} and"
            f" {PRINTED[name, 'sagreedy'][unit]}",
            within=0.3,  # the printed cells are rounded
        )
        for name, texts in BEST.items()
        for unit, (what, text) in enumerate(
            zip(("weighted tardiness", "missed deadlines, %"), texts)
        )
    ]
    return best + [
        compared(
            "Table II",
            f"Improvement, {figure}",
            text,
            100 * (llm.PRINTED["wsrpt"][figure] / llm.PRINTED["fifo"][figure] - 1),
            reason=of_table,
        )
        for figure, text in IMPROVEMENT.items()
    ]


def _sentences() -> list[Entry]:
    """Judge the sentences on Table I by its cells."""
    change = {name: _change_pct(name) for name in BEST}
    missed = {key: float(cells[1]) for key, cells in PRINTED.items()}
    most_pct = 25
    ties = [
        name
        for name in BEST
        if PRINTED[name, "sagreedy"][0] == PRINTED[name, "greedy"][0]
    ]
    return [
        claimed(
            "Section IV.B",
            "SAGreedy improves on Greedy across all load levels",
            not ties,
            ours=f"equal on {', '.join(ties)}",
            reason="Table I",
        ),
        claimed(
            "Section V",
            f"up to {most_pct} % less weighted tardiness than FIFO at moderate load",
            round(-min(change["tasks1"], change["tasks2"])) <= most_pct,
            ours=f"{-change['tasks2']:.1f} %",
            reason="Table I, tasks2",
            printed=f"{most_pct} %",
        ),
        claimed(
            "Section IV.B",
            "SAGreedy's advantage is more pronounced on tasks3 and tasks4",
            min(change["tasks3"], change["tasks4"])
            < max(change["tasks1"], change["tasks2"]),
            ours=", ".join(f"{name} {pct:.1f}%" for name, pct in change.items()),
            reason="weighted tardiness against FIFO, Table I",
        ),
        claimed(
            "Section IV.B",
            "all algorithms miss less than 6 % of the deadlines of tasks1 and tasks2",
            max(missed[key] for key in missed if key[0] in ("tasks1", "tasks2")) < 6,
            ours="at most"
            f" {max(missed['tasks1', 'fifo'], missed['tasks2', 'fifo']):g} %",
            reason="Table I",
            printed="6 %",
        ),
        compared(
            "Section V",
            "missed deadlines of tasks4, percentage points below FIFO",
            "7.8",
            missed["tasks4", "fifo"] - missed["tasks4", "sagreedy"],
            reason="Table I",
        ),
    ]


def _assumptions() -> list[Entry]:
    """Judge the assumed rates of tokens, and the GPU speeds in the text."""
    slow = generate("tasks3", gpus=CLUSTERS["small-30"])
    at_text_speeds = greedy_assignment(slow, range(slow.tasks), True)
    tardiness = f"{at_text_speeds.weighted_tardiness / 1e6:.2f}M"
    printed = PRINTED["tasks3", "fifo"][0]
    rates = "printed in the same section"
    decoding, prefill = (100, 500), (1000, 2000)  # printed ranges, tokens/s
    return [
        claimed(
            "Section VI.A",
            "decoding, tokens/s for each request",
            decoding[0] <= DECODED_PER_S <= decoding[1],
            ours=f"{decoding[0]} to {decoding[1]} for a single request",
            reason=rates,
            printed=f"{DECODED_PER_S:,}",
        ),
        claimed(
            "Section VI.A",
            "prefill within its range, tokens/s",
            prefill[0] <= llm.TOKENS_PER_S <= prefill[1],
            ours=f"{prefill[0]} to {prefill[1]}",
            reason=rates,
            printed=f"{llm.TOKENS_PER_S:,.0f}",
        ),
        claimed(
            "Section IV.A",
            "GPU speeds of 57, 30 and 55.5",
            tardiness == printed,
            ours=tardiness,
            reason="weighted tardiness of tasks3 under FIFO; speeds of 76, 40 and 74"
            f" give {printed}, as printed",
            printed=printed,
            otherwise=DIFFERENT,
        ),
    ]


FIRST_REQUEST, LAST_REQUEST = llm.REQUESTS[0], llm.REQUESTS[-1]
# reason -> place, subject, printed text and our values
SETTINGS: dict[str, list[Setting]] = {
    "the authors' files have as many": [
        *(
            ("Section IV.A", f"{name}, tasks", text, [LEVELS[name].tasks])
            for name, text in TASKS.items()
        ),
        ("Figure 1", "tasks of tasks1", "1000", [LEVELS["tasks1"].tasks]),
    ],
    "as the clusters are named here": [
        (
            "Section IV.A",
            "GPUs, small, medium and large",
            "3, 6, 9",
            [len(CLUSTERS[name]) for name in ("small", "medium", "large")],
        ),
        (
            "Section IV.A",
            "memory of A100, A30 and L40, GB",
            "80, 24, 48",
            [gpu.memory_gb for gpu in CLUSTERS["small"]],
        ),
    ],
    "those of the authors' program, which give Table I": [
        ("Section IV.A", "initial temperature", "1000", [sagreedy.INITIAL]),
        ("Section IV.A", "cooling rate", "0.95", [sagreedy.COOLING]),
        ("Section IV.A", "iterations", "100", [sagreedy.ITERATIONS]),
        (
            "Section IV.A",
            "priority ratio",
            "0.1 to 0.8",
            [sagreedy.LEAST_RATIO, sagreedy.MOST_RATIO],
        ),
    ],
    "with these Table II is computed": [
        ("Section VI.C", "requests, all at t = 0", "20", [len(llm.REQUESTS)]),
        (
            "Section VI.C",
            "GPUs, of a request, and requests at once",
            "16, 2, 8",
            [llm.GPUS, llm.DEGREE, llm.GPUS // llm.DEGREE],
        ),
        (
            "Section VI.C",
            "first requests: number, weight and tokens",
            "8, 1, 2000",
            [llm.REQUESTS.count(FIRST_REQUEST), *FIRST_REQUEST],
        ),
        (
            "Section VI.C",
            "next requests: number, weight and tokens",
            "12, 10, 500",
            [llm.REQUESTS.count(LAST_REQUEST), *LAST_REQUEST],
        ),
        ("Section VI.A", "prefill, tokens/s", "1000", [llm.TOKENS_PER_S]),
        ("Section VI.D", "time step, s", "0.01", [llm.STEP_S]),
    ],
    "defaults of steps from data sheets; Table II does not use them": [
        (
            "Section VI.C",
            "H100: bandwidth, GB/s, and TFLOPS",
            "3350, 989",
            [Roofline().bandwidth_gb_per_s, Roofline().tflops],
        ),
    ],
}


def _settings() -> list[Entry]:
    """Compare the settings of Sections IV and VI with the package's."""
    return [
        *settings(SETTINGS),
        compared(
            "Section VI.C",
            "weights of a GPU, 30 billion parameters, GB",
            "15",
            30 / llm.DEGREE,
            reason="one byte per parameter",
        ),
        compared(
            "Section VI.C",
            "FIFO, wait of the first request of high weight, s",
            "2",
            FIRST_REQUEST[1] / llm.TOKENS_PER_S,
            reason="a request of low weight runs for as long",
        ),
    ]


GROUPS = {
    "cgrsp papers tables hgsp": of_table_one,
    "cgrsp papers tables llm": of_table_two,
    "cgrsp papers check hgsp": computed,
}
