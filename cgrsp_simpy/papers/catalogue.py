"""The tables and figures of each paper, and a function that makes all of them."""

from __future__ import annotations

import inspect
import logging
import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

from cgrsp_simpy.base.checks import InputError, check_one_of
from cgrsp_simpy.base.files import check_folder, write_files, write_whole
from cgrsp_simpy.base.parameters import Count, Entries, Positive, TwoOrMore, checked
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import (
    Table,
    cells_of,
    csv_text,
    document,
    json_text,
    short_text,
)
from cgrsp_simpy.dag.scenario import Scenario as DagScenario
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster import printed
from cgrsp_simpy.papers.cluster import table as cluster_paper
from cgrsp_simpy.papers.dag.distance import correlate
from cgrsp_simpy.papers.hgsp.table import PRINTED, table_one
from cgrsp_simpy.papers.llm.table import table_two
from cgrsp_simpy.papers.thesis.printed import IDS, entries
from cgrsp_simpy.studies.store import kept_json
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)

# ---- tables: printed numbers next to ours ----

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
    statements = ledger.of_paper("thesis", entries(seeds, executor, ids, out))
    rows = ledger.rows(statements)
    summary = ledger.summary(statements)
    verdicts = Table("Verdicts", cells_of(summary))
    return Output(
        document("thesis", rows, seeds=range(seeds or 0), summary=summary),
        rows,
        [*ledger.by_place(statements), verdicts],
    )


@checked
def cluster(
    seeds: Count = 10,
    loads: Entries[Positive] = cluster_paper.LOADS,
    executor: Workers = None,
) -> Output:
    """Reproduce Table II over offered loads, and judge the paper's claims."""
    studies = cluster_paper.studies(loads, range(seeds), executor=executor)
    rows = cluster_paper.rows(studies)
    judged = [*printed.cells(studies), *printed.sentences(studies)]
    verdicts = ledger.of_paper("cluster", judged)
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
    return Output(
        document("cluster", rows, seeds=range(seeds), verdicts=ledger.rows(verdicts)),
        rows,
        [table, ledger.listed("Verdicts", verdicts)],
    )


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
    cells = cells_of(rows, lambda value: short_text(value) if value == value else "-")
    return Output(
        document("hgsp", rows, alternatives=[*policies], seeds=range(seeds)),
        rows,
        [Table("Table I", cells)],
    )


def llm() -> Output:
    """Reproduce Table II by the authors' loop, with and without its double count."""
    rows = table_two()
    return Output(
        document("llm", rows, note=NOTE_OF_LLM),
        rows,
        [Table("Table II", cells_of(rows), NOTE_OF_LLM)],
    )


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
    result = correlate(subject_of(scenario).draw(seed), pairs, seed, concentration)
    rows = [
        {
            "coefficient": name,
            "found": coefficient,
            "ci95_low": low,
            "ci95_high": high,
            "printed": text,
        }
        for name, coefficient, (low, high), text in (
            ("pearson", result.pearson, result.pearson_ci95, "0.16 to 0.57, mean 0.46"),
            ("spearman", result.spearman, result.spearman_ci95, "mean 0.51"),
        )
    ]
    title = f"{scenario}: correlation of SPD and FTG, {pairs} pairs of random plans"
    return Output(
        document("dag", rows, seeds=[seed]),
        rows,
        [Table(title, cells_of(rows, short_text))],
    )


# ---- the papers ----

SEEDS = ("seeds", "instances", "graphs")  # names for the number of replications
VERSIONED = ("cgrsp_simpy", "simpy", "numpy", "scipy", "matplotlib")


class Paper(NamedTuple):
    """A paper, or a topic with figures.

    gallery: the module of its figures. prefix: prefix of the figures' files. table: the
    function that makes its tables, or None.
    """

    title: str
    gallery: str
    prefix: str
    table: Callable[..., Output] | None = None
    ids: Sequence[str] = ()

    @property
    def module(self) -> Any:
        """The module of the figures; loads matplotlib."""
        return import_module(f"cgrsp_simpy.{self.gallery}")

    @property
    def figure_parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the runs behind the figures."""
        return inspect.signature(self.module.FIGURES.runs).parameters

    @property
    def table_parameters(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the tables; none if the paper has no tables."""
        return inspect.signature(self.table).parameters if self.table else {}

    def tables(self, seeds: int | None, executor: Any, **parameters: Any) -> Output:
        """Make the tables; seeds, executor: used if the tables have them."""
        assert self.table is not None
        known = self.table_parameters
        parameters |= {"executor": executor} if "executor" in known else {}
        return self.table(**with_seeds(known, seeds), **parameters)


PAPERS = {
    "thesis": Paper(
        "Cloud GPU rendering scheduling, the master's thesis",
        "papers.thesis.figures",
        "figure",
        thesis,
        IDS,
    ),
    "waiting": Paper(
        "Waiting policies for fixed and on-demand machines",
        "papers.waiting.figures",
        "waiting",
    ),
    "cluster": Paper(
        "Schedulers of multi-GPU clusters",
        "papers.cluster.figures",
        "cluster",
        cluster,
        ("II",),
    ),
    "hgsp": Paper(
        "Weighted tardiness on heterogeneous GPUs",
        "papers.hgsp.figures",
        "hgsp",
        hgsp,
        ("I",),
    ),
    "llm": Paper(
        "LLM inference, in the paper of hgsp",
        "papers.llm.figures",
        "llm",
        llm,
        ("II",),
    ),
    "dag": Paper(
        "Training graphs on GPUs (WORL-RTGS)",
        "papers.dag.figures",
        "dag",
        dag,
        ("correlation",),
    ),
    "spot": Paper(
        "One job under a deadline on spot instances (Can't Be Late)",
        "papers.spot.figures",
        "spot",
    ),
}


def with_seeds(parameters: Mapping[str, Any], seeds: int | None) -> dict[str, Any]:
    """Return {name: seeds} if the parameters include a number of seeds, else {}."""
    name = next((name for name in SEEDS if name in parameters), None)
    return {} if name is None or seeds is None else {name: seeds}


def make_all(
    out: str | Path,
    names: Sequence[str] = (*PAPERS,),
    seeds: int | None = None,
    executor: Any = None,
    style: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Make every table and figure of papers, one folder per paper.

    out: the directory; items that an earlier call with the same seeds, style and
    versions made there are kept. seeds: number of seeds; default: as printed. Returns
    the manifest, which is also written as manifest.json and manifest.md: per item its
    files, printed and reproduced numbers, and seconds, or its error. Raises InputError
    for a folder that cannot be written.
    """
    from cgrsp_simpy.plots.figure import check_look  # loads matplotlib

    folder = Path(out)
    check_folder(folder)
    check_look(**{"style": "print", "width": None, **(style or {})})
    versions = {package: version(package) for package in VERSIONED}
    versions["python"] = platform.python_version()
    heading = {"seeds": seeds, "style": dict(style or {}), "versions": versions}
    kept, items = _kept(folder, heading), list[dict[str, Any]]()
    manifest = {**heading, "items": items}
    wanted = [  # wrong sizes are refused before anything is made
        (name, *item)
        for name in names
        for item in _items(name, folder / name, seeds, executor, style or {})
    ]
    for name, kind, id, make in wanted:
        item = kept.get((name, kind, id))
        if item is None:
            log.info("%s, %s %s", name, kind, id)
            item = _manifest_row(name, kind, id, make)
        items.append(item)
        write_whole(folder / "manifest.json", json_text(manifest).encode())
    cells = cells_of([*map(_row, items)])
    page = Table("Tables and figures of the papers", cells).markdown()
    write_whole(folder / "manifest.md", f"{page}\n".encode())
    return manifest


def _kept(
    folder: Path, heading: Mapping[str, Any]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the items without error from a manifest of the same runs."""
    try:
        manifest = kept_json(folder / "manifest.json")
        items = manifest.pop("items")
        return {
            (item["paper"], item["kind"], item["id"]): item
            for item in items
            if manifest == heading
            and not item["error"]
            and _row(item)
            and all((folder / name).is_file() for name in item["files"])
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _row(item: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of an item in the table of the manifest."""
    return {
        "item": f"{item['paper']}, {item['kind']} {item['id']}",
        "numbers": str(len(item["numbers"])),
        "seconds": f"{item['seconds']:.1f}",
        "files": item["error"] or ", ".join(item["files"]),
    }


Files = tuple[Sequence[str | Path], Sequence[Mapping[str, Any]]]
"""Files, and rows of printed and reproduced numbers."""


def _manifest_row(
    name: str, kind: str, id: str, make: Callable[[], Files]
) -> dict[str, Any]:
    begin, error = time.perf_counter(), ""
    try:
        files, numbers = make()
    except (InputError, PolicyError, OSError) as fault:
        files, numbers, error = (), (), str(fault)
    return {
        "paper": name,
        "kind": kind,
        "id": id,
        "files": [f"{name}/{Path(path).name}" for path in files],
        "numbers": [*numbers],
        "error": error,
        "seconds": time.perf_counter() - begin,
    }


def _items(
    name: str, folder: Path, seeds: int | None, executor: Any, style: Mapping[str, Any]
) -> Iterator[tuple[str, str, Callable[[], Files]]]:
    """Yield kind and id of the tables and figures of a paper, and what makes each."""
    paper = PAPERS[name]
    if paper.table is not None:
        yield (
            "table",
            ", ".join(paper.ids),
            partial(_tables, name, folder, seeds, executor),
        )
    how = {"executor": executor, **style}
    if name == "thesis":
        how["runs_from"] = folder / "runs"
    else:  # one set of runs for all figures
        sizes = with_seeds(paper.figure_parameters, seeds)
        how["runs"] = paper.module.FIGURES.runs(**sizes, executor=executor)

    def draw(id: str) -> Files:
        return paper.module.FIGURES.draw(folder, (id,), **how), ()

    for id in paper.module.FIGURES:
        yield "figure", id, partial(draw, id)


def _tables(name: str, folder: Path, seeds: int | None, executor: Any) -> Files:
    paper = PAPERS[name]
    out = {"out": folder / "runs"} if "out" in paper.table_parameters else {}
    output = paper.tables(seeds, executor, **out)
    contents = {
        "tables.csv": csv_text(output.rows),
        "tables.json": json_text(output.content) + "\n",
        "tables.md": "\n\n".join(map(Table.markdown, output.tables)) + "\n",
        "tables.tex": "\n\n".join(map(Table.latex, output.tables)) + "\n",
    }
    write_files({folder / name: text.encode() for name, text in contents.items()})
    return [*contents], output.rows
