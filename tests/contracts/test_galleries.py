"""The galleries of all modules: files and an index, reproducible bytes, pictures for a
lecture, errors before anything is written, and the command.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from support import check_bad_input, check_lecture, outcome

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.llm import Offered as LlmJobs
from cgrsp_simpy.papers.cluster import figures as cluster
from cgrsp_simpy.papers.dag import figures as dag
from cgrsp_simpy.papers.hgsp import figures as hgsp
from cgrsp_simpy.papers.llm import figures as llm
from cgrsp_simpy.papers.spot import figures as spot
from cgrsp_simpy.papers.waiting import figures as waiting
from cgrsp_simpy.spot import expected


class Case(NamedTuple):
    """A gallery.

    module: that declares it. sizes: small ones. soon: figures of runs, soon drawn.
    wrong: sizes that are not allowed.
    """

    module: Any
    sizes: dict[str, Any]
    soon: tuple[str, ...]
    wrong: tuple[dict[str, int], ...]


CASES = {
    "cluster": Case(
        cluster, {"seeds": 2, "jobs": 60}, ("waits",), ({"jobs": 1}, {"seeds": 0})
    ),
    "dag": Case(
        dag,
        {"graphs": 2, "nodes": 30, "evaluations": 30},
        ("order", "gantt"),
        ({"graphs": 1}, {"nodes": 6}, {"evaluations": 0}),
    ),
    "hgsp": Case(
        hgsp,
        {"instances": 2, "moves": 2000},
        ("comparison",),
        ({"moves": 0}, {"instances": 0}),
    ),
    "llm": Case(
        llm, {"source": LlmJobs(60, rate_per_s=6.0, output_tokens=20)}, ("table2",), ()
    ),
    "spot": Case(spot, {"seeds": 2}, ("course",), ({"seeds": 1},)),
    "waiting": Case(
        waiting, {"jobs": 100, "trials": 2}, ("3", "11", "15"), ({"jobs": 0},)
    ),
}
every = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module", autouse=True)
def smaller():
    """Graphs, tasks and steps of the programs that have no size in their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            dag, "SIZES", {"small": (30, "o"), "medium": (40, "s"), "large": (50, "^")}
        )
        patch.setattr(expected, "STEPS", 60)
        for level, tasks in {
            "tasks1": 400,
            "tasks2": 150,
            "tasks3": 80,
            "tasks4": 80,
        }.items():
            patch.setitem(LEVELS, level, replace(LEVELS[level], tasks=tasks))
        yield


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.slow
            if name in ("dag", "llm", "spot")
            else pytest.mark.long,
        )
        for name in CASES
    ],
)
def test_every_figure_has_its_files_and_a_place_in_the_index(name, tmp_path):
    figures, sizes = CASES[name].module.FIGURES, CASES[name].sizes
    paths = CASES[name].module.FIGURES.draw(tmp_path, **sizes)
    assert sorted(paths) == sorted(tmp_path.iterdir())
    assert len(paths) == 4 * len(figures) + 1
    assert all(path.stat().st_size > 0 for path in paths)
    index = (tmp_path / "README.md").read_text(encoding="utf-8")
    for id, figure in figures.items():
        assert f"({figure.stem}.png)" in index
        assert f"`cgrsp papers figures {name} {id}" in index
    assert not re.search(r"[{}]|\bnan\b", index)


@pytest.mark.slow
@every
def test_the_same_runs_give_the_same_files_to_the_byte_wherever_they_run(
    name, tmp_path
):
    module, sizes, soon, _ = CASES[name]
    here = module.FIGURES.draw(tmp_path / "here", soon, **sizes)
    with ThreadPoolExecutor(2) as two:
        there = module.FIGURES.draw(tmp_path / "there", soon, **sizes, executor=two)
    assert [path.name for path in here] == [path.name for path in there]
    assert [path.read_bytes() for path in here] == [path.read_bytes() for path in there]
    assert not (tmp_path / "here" / "README.md").exists()  # an index is of all


@pytest.mark.slow
def test_a_picture_for_a_lecture(tmp_path):
    cluster.FIGURES.draw(tmp_path, ("aging",), style="lecture")
    check_lecture(tmp_path / "cluster_aging.png")


@pytest.mark.parametrize("name", ["cluster", "dag", "hgsp", "spot"])
def test_notes_are_short_enough_for_a_lecture(name):
    for figure in CASES[name].module.FIGURES.values():
        note = (
            figure.note if isinstance(figure.note, str) else figure.note(figure.usual())
        )
        assert max(map(len, note.split("\n"))) <= 95
        assert not re.search(r"[{}]", note)


@every
def test_invalid_input_is_rejected_before_anything_is_written(name, tmp_path):
    module, _, soon, sizes = CASES[name]
    wrong = [(soon, size, *size) for size in sizes]
    for ids, given, words in (
        *wrong,
        (("no such",), {}, "unknown figure 'no such'"),
        (soon, {"style": "poster"}, "unknown style 'poster'"),
    ):
        with pytest.raises(InputError, match=words):
            module.FIGURES.draw(tmp_path / "none", ids, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_impossible_folder_gives_a_one_line_error_and_status_2(tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    words = ("gantt", "--out", tmp_path / "file")
    check_bad_input(outcome(capsys, "papers", "figures", "hgsp", *words), ())
