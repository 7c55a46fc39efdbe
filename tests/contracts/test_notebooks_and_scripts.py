"""Several processes with what a user writes: policies of a notebook's cell, and of a
script without a guard.
"""

import json
import sys

import pytest
from support import process

POLICY = "def youngest(view):\n    return list(zip(reversed(view.queue), view.idle))\n"
STUDY = (
    'cg.compare(cg.day("quiet"), ["fifo", youngest,'
    " lambda view: youngest(view)], range(4), executor=2)"
)


@pytest.mark.slow
def test_a_script_without_a_guard_runs_on_several_processes(tmp_path):
    script = (
        "import json\n"
        "import cgrsp_simpy as cg\n"
        f"{POLICY}\n"
        f"print(json.dumps({STUDY}.rows))\n"
    )
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    done = process([sys.executable, "script.py"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    own = [
        [{**row, "policy": ""} for row in rows if row["policy"] == name]
        for name in ("youngest", "<lambda>")
    ]
    assert len(rows) == 12
    assert own[0] == own[1]


@pytest.mark.slow
def test_policies_of_notebook_cells_run_in_several_processes():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    cells = [
        "import cgrsp_simpy as cg",
        POLICY,
        f"study = {STUDY}\nassert not study.failures\nprint(len(study.rows))",
        "study",
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells]
    )
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    [printed] = [
        output.text
        for output in notebook.cells[2].outputs
        if output.output_type == "stream" and output.name == "stdout"
    ]
    assert printed == "12\n"
    [shown] = notebook.cells[3].outputs
    assert "<table>" in shown.data["text/html"]
    assert shown.data["text/plain"].startswith(
        "<Comparison of quiet: policies fifo, youngest,"
    )
    assert notebook.cells[0].outputs == []
