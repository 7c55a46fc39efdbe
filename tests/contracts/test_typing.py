"""Public names as a type checker sees them, including those that load on first use."""

import subprocess
import sys

import pytest

# An ignore that is not needed is an error: a name that were Any would need none.
SCRIPT = """\
from cgrsp_simpy.studies.study import Comparison
import cgrsp_simpy as cg

setting: cg.hgsp.Scenario = cg.hgsp.Scenario("tasks1", noise=0.2)
cg.hgsp.Scenario("tasks1", noise="much")  # type: ignore[arg-type]
cg.llm.Scenario(service=2.5)  # type: ignore[arg-type]
cg.cluster.Scenario(3)  # type: ignore[arg-type]
cg.dag.Scenario(state=1)  # type: ignore[arg-type]
jobs = cg.waiting.ExponentialJobs(40, 0.02, 500.0)
cg.waiting.Scenario(jobs, machines="8")  # type: ignore[arg-type]
cg.plots.gantt(7)  # type: ignore[arg-type]
cg.exercises.check([], 0)  # type: ignore[arg-type]
cg.advise(7)  # type: ignore[arg-type]
cg.lower_bound(7)  # type: ignore[arg-type]
cg.hgsp.no_such_name  # type: ignore[attr-defined]
cg.no_such_name  # type: ignore[attr-defined]

run: cg.Run = cg.simulate(setting, "atc")
served: cg.Run = cg.simulate(cg.llm.Scenario(), "fifo")
rented: cg.Run = cg.simulate(cg.day("hectic"), "rh")
wrong: int = cg.simulate(setting, "atc")  # type: ignore[assignment]
study: Comparison = cg.compare(cg.cluster.Scenario(), ["fifo", "easy"], range(3))
means: float = study.means()["fifo"]["wait_s"].mean
"""


@pytest.mark.long
def test_a_type_checker_sees_every_module(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout, done.returncode) == (
        "Success: no issues found in 1 source file\n",
        0,
    )
