"""The tables and figures of each paper, and a function that makes all of them."""

from __future__ import annotations

import inspect
import json
import logging
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.base.files import check_folder, write_whole
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import Table, cells_of, csv_text, json_text
from cgrsp_simpy.papers import tables
from cgrsp_simpy.papers.tables import Output
from cgrsp_simpy.papers.thesis.printed import IDS

log = logging.getLogger(__name__)
SEEDS = ("seeds", "instances", "graphs")  # what runs of figures call their number
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
        return inspect.signature(self.module.GALLERY.runs).parameters


PAPERS = {
    "thesis": Paper(
        "Cloud GPU rendering scheduling, the master's thesis",
        "papers.thesis.figures",
        "figure",
        tables.thesis,
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
        tables.cluster,
        ("II",),
    ),
    "hgsp": Paper(
        "Weighted tardiness on heterogeneous GPUs",
        "papers.hgsp.figures",
        "hgsp",
        tables.hgsp,
        ("I",),
    ),
    "llm": Paper(
        "LLM inference, in the paper of hgsp",
        "papers.llm.figures",
        "llm",
        tables.llm,
        ("II",),
    ),
    "dag": Paper(
        "Training graphs on GPUs (WORL-RTGS)",
        "papers.dag.figures",
        "dag",
        tables.dag,
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
    folder = Path(out)
    check_folder(folder)
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
            item = _made(name, kind, id, make)
        items.append(item)
        write_whole(folder / "manifest.json", json_text(manifest).encode())
    rows = [
        {
            "item": f"{item['paper']}, {item['kind']} {item['id']}",
            "numbers": str(len(item["numbers"])),
            "seconds": f"{item['seconds']:.1f}",
            "files": item["error"] or ", ".join(item["files"]),
        }
        for item in items
    ]
    page = Table("Tables and figures of the papers", cells_of(rows)).markdown()
    write_whole(folder / "manifest.md", f"{page}\n".encode())
    return manifest


def _kept(
    folder: Path, heading: Mapping[str, Any]
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Return the items without error from a manifest of the same runs."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        items = manifest.pop("items")
        return {
            (item["paper"], item["kind"], item["id"]): item
            for item in items
            if manifest == heading
            and not item["error"]
            and all((folder / name).is_file() for name in item["files"])
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


Made = tuple[Sequence[str | Path], Sequence[Mapping[str, Any]]]
"""Files, and rows of printed and reproduced numbers."""


def _made(name: str, kind: str, id: str, make: Callable[[], Made]) -> dict[str, Any]:
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
) -> Iterator[tuple[str, str, Callable[[], Made]]]:
    """Yield kind and id of the tables and figures of a paper, and what makes each."""
    paper = PAPERS[name]
    if paper.table is not None:
        yield (
            "table",
            ", ".join(paper.ids),
            lambda: _tables(name, folder, seeds, executor),
        )
    how = {"executor": executor, **style}
    if name == "thesis":
        how["runs_from"] = folder / "runs"
    else:  # one set of runs for all figures, which make what they need
        sizes = with_seeds(paper.figure_parameters, seeds)
        how["runs"] = paper.module.GALLERY.runs(**sizes, executor=executor)

    def draw(id: str) -> Made:
        return paper.module.draw_figures(folder, (id,), **how), ()

    for id in paper.module.FIGURES:
        yield "figure", id, lambda id=id: draw(id)  # type: ignore[misc]


def _tables(name: str, folder: Path, seeds: int | None, executor: Any) -> Made:
    make = PAPERS[name].table
    assert make is not None
    parameters = inspect.signature(make).parameters
    how: dict[str, Any] = with_seeds(parameters, seeds)
    how |= {"executor": executor} if "executor" in parameters else {}
    how |= {"out": folder / "runs"} if "out" in parameters else {}
    output = make(**how)
    contents = {
        "csv": csv_text(output.rows),
        "json": json_text(output.content) + "\n",
        "md": "\n\n".join(map(Table.markdown, output.tables)) + "\n",
        "tex": "\n\n".join(map(Table.latex, output.tables)) + "\n",
    }
    paths = [folder / f"tables.{ending}" for ending in contents]
    for path, text in zip(paths, contents.values()):
        write_whole(path, text.encode())
    return paths, output.rows
