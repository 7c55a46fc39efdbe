"""Tables of the papers: printed numbers next to ours."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.base.parameters import Count, Entries, Positive, TwoOrMore, checked
from cgrsp_simpy.base.table import Table, cells_of, document, short_text
from cgrsp_simpy.dag.scenario import Scenario as DagScenario
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster import printed
from cgrsp_simpy.papers.cluster import table as cluster_paper
from cgrsp_simpy.papers.dag.distance import correlate
from cgrsp_simpy.papers.hgsp.table import PRINTED, table_one
from cgrsp_simpy.papers.llm.table import table_two
from cgrsp_simpy.papers.thesis.printed import IDS, entries
from cgrsp_simpy.studies.subject import subject_of

NOTE_OF_LLM = (
    "response: from arrival to completion, which the paper calls waiting. double count:"
    " the authors' loop counts the requests that run twice."
)
NOTE_OF_CLUSTER = (
    "cut: 1,000 jobs and none after them, as in the paper; uncut: jobs go on arriving\n"
    "*: the load whose utilisation, cut, is closest to the printed one"
)
SCHEDULERS = tuple(dict.fromkeys(scheduler for _, scheduler in PRINTED))
"""Of Table I of hgsp."""
Workers = Executor | int | None


class Output(NamedTuple):
    """Printable tables, their rows, and the content for JSON."""

    content: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    tables: Sequence[Table]


@checked
def thesis(
    ids: Sequence[str] = IDS,
    seeds: TwoOrMore | None = None,
    executor: Workers = None,
    out: str | Path | None = None,
) -> Output:
    """Reproduce tables of the thesis by number; default: as many seeds as printed."""
    found = [*entries(seeds, executor, ids, out)]
    rows, summary = ledger.rows(found), ledger.summary(found)
    content = document("thesis", rows, seeds=range(seeds or 0), summary=summary)
    tables = ledger.by_place(found)
    return Output(content, rows, [*tables, Table("Verdicts", cells_of(summary))])


@checked
def cluster(
    seeds: Count = 10,
    loads: Entries[Positive] = cluster_paper.LOADS,
    executor: Workers = None,
) -> Output:
    """Reproduce Table II over offered loads, and judge the paper's claims."""
    found = cluster_paper.studies(loads, range(seeds), executor=executor)
    rows = cluster_paper.rows(found)
    verdicts = [*printed.cells(found), *printed.sentences(found)]
    shown = [
        {
            "scheduler": row["scheduler"],
            "load": row["load"],
            "setting": row["setting"],
            "closest": "*" if row["closest"] else "",
            **{
                name: value
                for figure in cluster_paper.FIGURES
                for name, value in (
                    (figure, row[figure]),
                    (f"{figure}, printed", row[f"published_{figure}"]),
                )
            },
        }
        for row in rows
    ]
    table = Table("Table II", cells_of(shown, short_text), NOTE_OF_CLUSTER)
    content = document(
        "cluster", rows, seeds=range(seeds), verdicts=ledger.rows(verdicts)
    )
    return Output(content, rows, [table, ledger.listed("Verdicts", verdicts)])


@checked
def hgsp(
    seeds: Count = 40,
    policies: Collection[str] = SCHEDULERS,
    tasks: str | None = None,
    executor: Workers = None,
) -> Output:
    """Reproduce Table I cell by cell.

    tasks: a folder with the authors' tasks1.csv to tasks4.csv; without it tasks1 and
    tasks2 are drawn from their distributions.
    """
    for name in policies:
        check_one_of("policy", name, SCHEDULERS)
    rows = table_one(tasks, range(seeds), policies, executor)
    content = document("hgsp", rows, alternatives=[*policies], seeds=range(seeds))
    cells = cells_of(rows, lambda value: short_text(value) if value == value else "-")
    return Output(content, rows, [Table("Table I", cells)])


def llm() -> Output:
    """Reproduce Table II by the authors' loop, with and without its double count."""
    rows = table_two()
    content = document("llm", rows, note=NOTE_OF_LLM)
    return Output(content, rows, [Table("Table II", cells_of(rows), NOTE_OF_LLM)])


def dag(
    graph: str = "er:n=300,degree=3",
    pairs: int = 1000,
    concentration: float | None = None,
    seed: int = 0,
    gpus: Count = 10,
    state: Literal["free", "busy", "idle"] = "free",
) -> Output:
    """Correlate distances of plans (SPD) with gaps of finish times (FTG).

    pairs, concentration, seed: see `correlate`; graph, gpus, state: see `cg.dag`.
    """
    scenario = subject_of(DagScenario(graph, state=state)).varied(gpus=gpus)
    problem = subject_of(scenario).draw(seed)
    found = correlate(problem, pairs, seed, concentration)
    printed = {"pearson": "0.16 to 0.57, mean 0.46", "spearman": "mean 0.51"}
    rows = []
    for name, text in printed.items():
        low, high = getattr(found, f"{name}_ci95")
        rows.append(
            {
                "coefficient": name,
                "found": getattr(found, name),
                "ci95_low": low,
                "ci95_high": high,
                "printed": text,
            }
        )
    title = f"{scenario}: correlation of SPD and FTG, {pairs} pairs of random plans"
    content = document("dag", rows, seeds=[seed])
    return Output(content, rows, [Table(title, cells_of(rows, short_text))])
