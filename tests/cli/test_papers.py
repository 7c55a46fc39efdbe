"""The tables and figures of papers, by command and with a manifest."""

import json
from copy import copy
from dataclasses import replace
from unittest.mock import ANY

import pytest
from support import check_bad_input, check_refused, outcome, output

from cgrsp_simpy.papers import catalogue, ledger
from cgrsp_simpy.papers.catalogue import PAPERS

REFUSED = {  # a command -> the content of its error line
    "papers": ["arguments are required"],
    "papers tables": ["tables requires a paper: thesis, waiting"],
    "papers tables nope": ["unknown paper 'nope'"],
    "papers tables spot": ["spot has no tables"],
    "papers tables llm 3": ["unknown table '3'"],
    "papers tables llm --seeds 3": ["--seeds must be omitted: the tables of llm"],
    "papers tables llm slots=3": ["parameter(='slots')", "has no parameters"],
    "papers tables cluster loads=0.5,a": ["loads", "'a'"],
    "papers tables cluster --policies fifo": ["--policies", "do not use it"],
    "papers tables hgsp --policies nope": ["unknown policy 'nope'", "fifo"],
    "papers tables dag pairs=2": ["pairs(=2)", ">= 4"],
    "papers tables thesis 5.9 --seeds 1": ["seeds(=1)", ">= 2"],
    "papers tables thesis slots=6": ["parameter(='slots')", "has no parameters"],
    "papers figures thesis 5.77": ["unknown figure '5.77'", "'5.7'"],
    "papers figures thesis 5.6 --slots 6": ["written as NAME=VALUE"],
    "papers figures thesis 5.3 --seeds 5 --policies fifo": [
        "figure 5.3 does not depend on policies and seeds",
        "5.4",
    ],
    "papers figures thesis 5.4 slots=4,5": ["slots=4,5", "one value for papers"],
    "papers figures waiting 2 jobs=5,6": ["jobs(='5,6')", "one value"],
    "papers figures llm --seeds 3": ["--seeds(=3)", "llm do not use it"],
    "papers figures spot slots=6": ["parameter(='slots')", "have no parameters"],
    "papers figures spot --policies fifo": ["--policies", "do not use it"],
    "papers figures llm trace=none.csv": ["none.csv: No such file"],
    "papers figures llm --format json": ["--format(='json')", "omitted"],
    "papers figures thesis 5.5 --from /dev": ["not a results directory"],
    "papers check 5.2": ["unknown paper '5.2'"],
    "papers check spot": ["unknown paper 'spot'"],
    "papers check --seeds 1": ["--seeds(=1)"],
    "papers check --out x": ["--out must be omitted with check"],
    "papers tables llm --all": ["--all must be omitted with tables"],
    "papers all": ["all requires --out DIR"],
    "papers all nope --out x": ["unknown paper 'nope'"],
    "papers list --out x": ["--out must be omitted with list"],
    "redraw none.csv": ["none.csv", "figure, waiting"],
}


@pytest.mark.parametrize("line", REFUSED)
def test_invalid_calls_give_a_one_line_error(line, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_bad_input(outcome(capsys, *line.split()), REFUSED[line])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("line", "folder", "ids", "sizes"),
    [
        ("llm", "figures/llm", (), {}),
        ("llm gpus trace=log.csv", "figures/llm", ("gpus",), {"source": ANY}),
        (
            "waiting 2 3 jobs=5 trials=2 trace=jobs.csv --out x",
            "x",
            ("2", "3"),
            {"jobs": 5, "trials": 2, "trace": ANY},
        ),
        (
            "cluster loads --seeds 3 jobs=9 --style single",
            "figures/cluster",
            ("loads",),
            {"seeds": 3, "jobs": 9, "style": "single"},
        ),
        (
            "thesis 5.4 slots=6 --seeds 2 --policies fifo,spt",
            "figures",
            ("5.4",),
            {"seeds": 2, "policies": ["fifo", "spt"], "scenario": {"slots": 6}},
        ),
    ],
)
def test_words_and_options_of_figures(
    line, folder, ids, sizes, file, capsys, caplog, monkeypatch, tmp_path
):
    caplog.set_level("INFO")
    monkeypatch.chdir(tmp_path)
    file("submit_s,service_s,cores\n0,5,2\n3,4,1\n", "jobs.csv")
    file(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,8,2\n", "log.csv"
    )
    module, calls = PAPERS[line.split()[0]].module, []
    monkeypatch.setattr(
        module.FIGURES, "draw", lambda *args, **how: calls.append((args, how)) or [1, 2]
    )
    assert output(capsys, "papers", "figures", *line.split()) == "1\n2\n"
    assert ("drawing all figures" in caplog.text, calls) == (
        not ids,
        [
            (
                (folder, ids or tuple(module.FIGURES)),
                {"executor": ANY, "style": "print", **sizes},
            )
        ],
    )


@pytest.mark.parametrize(
    ("line", "parts"),
    {
        "papers list": ("thesis: ", "5.14", "cluster: ", "gantt", "state=free"),
        "papers list dag --format json": ('"paper": "dag"',),
        "papers tables thesis 4.1": ("Table 4.1", "not testable"),
        "papers check waiting": ("waiting          56", "contradicted: Section 6.1"),
        "papers check waiting --all": ("reproduced: Section 3.2, NJW, best s",),
        "papers check waiting --format csv": ("waiting,Table 1,",),
        "papers check waiting --format json": ('"verdict": "contradicted"',),
        "papers tables thesis 4.1 --format latex": (r"\begin{table}", r"\toprule"),
        "papers tables thesis 4.1 --format html": ("<table>", "Table 4.1"),
        "papers tables thesis 4.1 --format markdown": ("Table 4.1", "| statement |"),
        "papers tables llm": ("requests that run twice", "108.04", "reproduced"),
        "papers tables llm --format markdown": ("| policy | double_count |",),
        "papers tables hgsp --policies fifo --seeds 1": ("tasks3   ", "4.40M"),
    }.items(),
)
def test_a_command_prints_the_result_that_it_names(line, parts, capsys):
    text = output(capsys, *line.split())
    assert [part for part in parts if part not in text] == []


def test_check_ends_with_1_if_a_recorded_agreement_is_lost(capsys, caplog, monkeypatch):
    recorded = [entry for entry in ledger.recorded() if entry.paper == "waiting"]
    changed = [replace(entry, verdict=ledger.DIFFERENT) for entry in recorded]
    for found, arguments, status in (
        (recorded, [], 0),
        (changed, [], 1),
        (changed, ["--seeds", "3"], 0),  # fewer seeds than recorded
    ):
        monkeypatch.setattr(ledger, "entries", lambda *_, found=found: iter(found))
        caplog.clear()
        assert outcome(capsys, "papers", "check", "waiting", *arguments)[0] == status
        lost = [text for text in caplog.messages if "no longer reproduced" in text]
        reproduced = [e for e in recorded if e.verdict == ledger.REPRODUCED]
        assert len(lost) == len(reproduced) * status
    with caplog.at_level("INFO"):
        outcome(capsys, "papers", "check")
    assert "this takes about 8 minutes" in caplog.text  # recorded: 452 s


@pytest.mark.slow
def test_the_table_of_clusters_marks_the_closest_load(capsys):
    line = "papers tables cluster loads=0.5,0.9 --seeds 2 --workers 1"
    text = output(capsys, *line.split())
    rows = [each.split() for each in text.splitlines() if each.startswith("hps ")]
    assert [row[1:3] for row in rows] == [
        [load, setting] for setting in ("cut", "uncut") for load in ("0.5", "0.9")
    ]
    assert sum("*" in row for row in rows) == 2


def test_all_of_a_paper_is_made_once_and_a_failure_is_reported(
    capsys, caplog, tmp_path, monkeypatch
):
    gallery, made = PAPERS["llm"].module, []

    def draw(folder, ids, **options):
        made.append([*ids, *options])
        if len(made) == 1:
            raise OSError("no room")
        folder.mkdir(exist_ok=True)
        (folder / f"{ids[0]}.png").write_bytes(b"picture")
        return [folder / f"{ids[0]}.png"]

    monkeypatch.setattr(gallery.FIGURES, "draw", draw)
    line = ["papers", "all", "llm", "--out", str(tmp_path / "out")]
    caplog.set_level("INFO")
    status, text, _ = outcome(capsys, *line)
    assert (status, text.splitlines()) == (
        1,
        [
            "llm, figure gpus: no room",
            f"{tmp_path / 'out' / 'manifest.md'}: 3 items, 5 files",
        ],
    )
    made_in_order = ["llm, table II", "llm, figure gpus", "llm, figure table2"]
    assert [text for text in caplog.messages if "llm" in text] == made_in_order
    assert outcome(capsys, *line)[0] == 0
    # what is there is kept
    assert made == [[id, "executor", "runs"] for id in ("gpus", "table2", "gpus")]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    table, *figures = manifest["items"]
    assert {row["printed"] for row in table["numbers"]} >= {336.4, 108.04}
    assert [item["id"] for item in figures if item["seconds"] < 9] == ["gpus", "table2"]
    assert all(
        (tmp_path / "out" / name).is_file()
        for item in manifest["items"]
        for name in item["files"]
    )
    assert {"numpy", "simpy", "python"} <= manifest["versions"].keys()
    files = ", ".join(f"llm/tables.{ending}" for ending in ("csv", "json", "md", "tex"))
    assert f"{files} |" in (tmp_path / "out" / "manifest.md").read_text()
    table["seconds"] = "x"
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest))
    # a damaged manifest is replaced, as is that of another number of seeds
    assert len(catalogue.make_all(tmp_path / "out", ["llm"])["items"]) == 3
    assert catalogue.make_all(tmp_path / "out", ["llm"], 3)["seeds"] == 3
    assert len(made) == 7
    check_refused(
        lambda: catalogue.make_all(tmp_path / "none", ["llm"], style={"width": 0}),
        "a number > 0",
    )
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_the_thesis_is_made_from_one_set_of_runs(tmp_path, capsys, monkeypatch):
    gallery = PAPERS["thesis"].module
    few = copy(gallery.FIGURES)
    for id in few.keys() - {"5.4", "5.9"}:
        del few[id]
    monkeypatch.setattr(gallery, "FIGURES", few)
    line = f"papers all thesis --seeds 2 --out {tmp_path / 'out'} --workers 1"
    assert outcome(capsys, *line.split())[0] == 0
    names = {path.name for path in (tmp_path / "out" / "thesis").iterdir()}
    assert {"tables.tex", "tables.csv", "figure_5_4.png", "runs"} <= names
