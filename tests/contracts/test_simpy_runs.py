"""Every command that simulates does so in SimPy: it makes the environments that it
should, and lets them run.
"""

import pytest
import simpy
from support import output

LOAD = "machines=101 jobs=200"
DAG = "dag:er:n=20 platform.gpus=3"
RUNS = {
    f"compare waiting {LOAD} order=sjf --policies ajw-t --seeds 3": 3,
    f"compare waiting {LOAD} --policies ajw-t --seeds 3": 0,  # by the recursion
    f"run waiting {LOAD} --policy ajw-t": 1,
    f"compare {DAG} --policies heft,cpop,work --seeds 1": 3,
    f"run {DAG} --policy heft": 1,
}


@pytest.mark.parametrize("command", RUNS)
def test_a_command_makes_one_simpy_run_per_reported_run(command, capsys, monkeypatch):
    made, step = {}, simpy.Environment.step
    monkeypatch.setattr(
        simpy.Environment,
        "step",
        lambda env: (made.setdefault(id(env), env), step(env))[1],
    )
    assert output(capsys, *command.split())
    assert len(made) == RUNS[command]
    assert all(env.now > 0 for env in made.values())
