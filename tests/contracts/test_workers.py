"""The rows do not depend on processes, tasks or intermediate failures."""

import json
import multiprocessing
import os
import sys
import threading
from collections import Counter
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import astuple
from pathlib import Path

import pytest
from support import CGRSP, check_refused, process, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.checks import WorkerError
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.studies import executors
from cgrsp_simpy.studies import replicate as module
from cgrsp_simpy.studies.replicate import Replications, replicate
from cgrsp_simpy.studies.store import Store
from cgrsp_simpy.studies.subject import subject_of

SMALL_S = 0.0119  # of a task, at least: ten quiet runs
quiet, normal = cg.day("quiet"), cg.day("normal", jobs=40)
spawn = multiprocessing.get_context("spawn")
# Ends its process silently at the first decision of some seeds.
DEADLY = """
import os
import cgrsp_simpy as cg
scenario = cg.day({day!r})
days = [scenario.workload.generate(seed, scenario.service) for seed in {seeds}]
first_s = [next(iter(jobs))[0].submit_s for jobs in days]
def rule(view):
    if view.now_s in first_s:
        os._exit(1)
    return zip(view.queue, view.idle)
"""


def deadly(folder, day, *seeds):
    (folder / "my_rules.py").write_text(DEADLY.format(day=day, seeds=seeds))
    return f"{folder / 'my_rules.py'}:rule"


def first_in_first_out(view):
    return zip(view.queue, view.idle)


thrifty = cg.ListPolicy(
    order=cg.rules.by_deadline, place=cg.rules.cheapest, name="thrifty"
)


@pytest.fixture
def small_tasks(monkeypatch):
    """Studies are cut into many tasks, by the parent process."""
    monkeypatch.setattr(module, "TASK_S", SMALL_S)


def compared(**more):
    return cg.compare(
        normal,
        ["fifo", "random", "cadr:critical_ratio=5", first_in_first_out],
        range(7),
        **more,
    )


def swept(**more):
    return cg.sweep(
        cg.day,
        {"name": "normal", "jobs": [6, 30, 90], "rh:reserve": [0, 1]},
        ["fifo", "rh"],
        range(3),
        **more,
    )


def over_months(**more):
    month = cg.month({"quiet": 0.8, "normal": 0.2}, 5)
    return cg.compare(month, ["spt", "rh"], range(2), **more)


STUDIES = {
    "compare": compared,
    "sweep": swept,
    "month": over_months,
}


def text(study):
    """Every figure of every row in full, and the study's sentences on them."""
    return "\n".join([csv_text(study.rows), study.json(), str(study)])


# ---- the same rows ----


@pytest.fixture(scope="module")
def expected():
    """Each study as it is carried out here, in tasks of the usual size."""
    return {study: text(study()) for study in STUDIES.values()}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_rows_do_not_depend_on_the_tasks(study, expected, monkeypatch):
    for seconds in (0.0, 0.005, SMALL_S):
        monkeypatch.setattr(module, "TASK_S", seconds)
        assert text(study()) == expected[study]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("study", "workers"),
    [
        pytest.param(study, workers, id=f"{workers}-{name}")
        for name, study in STUDIES.items()
        for workers in (1, 2, 5)
    ],
)
def test_rows_do_not_depend_on_the_workers(study, workers, expected, small_tasks):
    assert text(study(executor=workers)) == expected[study]
    assert not multiprocessing.active_children()


def test_the_rows_equal_those_of_single_runs(small_tasks):
    rows = compared().rows
    policies = ["fifo", "random", "cadr:critical_ratio=5", first_in_first_out]
    assert rows == [
        {"policy": policy if isinstance(policy, str) else policy.__name__, "seed": seed}
        | cg.simulate(normal, policy, seed).summary()
        for policy in policies
        for seed in range(7)
    ]


FAILING = """
import cgrsp_simpy as cg
scenario = cg.day("normal", jobs=40)
first_s = next(iter(scenario.workload.generate(3, scenario.service)))[0].submit_s
def rule(view):
    if view.now_s == first_s:
        raise ValueError("no luck")
    return zip(view.queue, view.idle)
"""


@pytest.mark.slow
def test_failed_runs_do_not_depend_on_the_workers(small_tasks, tmp_path):
    (tmp_path / "my_rules.py").write_text(FAILING)
    policies = ["fifo", f"{tmp_path / 'my_rules.py'}:rule"]
    here, there = (
        cg.compare(normal, policies, range(6), executor=executor)
        for executor in (None, 2)
    )
    assert text(there) == text(here)
    assert [row["seed"] for row in here.failures] == [3]


class Told(Executor):
    """An executor that calls a function with the number of a call, its future and its
    work.
    """

    def __init__(self, submitted):
        self.submitted, self.calls = submitted, []

    def submit(self, work, *arguments):
        future = Future()
        self.calls.append((future, lambda: future.set_result(work(*arguments))))
        self.submitted(self.calls)
        return future


def test_rows_do_not_depend_on_the_order_in_which_tasks_end(expected, small_tasks):
    def last_first(calls):
        if len(calls) == 4:  # all four tasks
            for _, run in reversed(calls):
                run()

    backwards = Told(last_first)
    assert text(compared(executor=backwards)) == expected[compared]
    assert len(backwards.calls) == 4


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_rows(expected, small_tasks):
    distributed = pytest.importorskip("distributed")
    settings = {
        "n_workers": 1,
        "threads_per_worker": 2,
        "processes": False,
        "dashboard_address": None,
    }
    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        assert text(compared(executor=executor)) == expected[compared]
        assert text(over_months(executor=executor)) == expected[over_months]


BROWSER = """
import sys, threading
for name in ("loky", "psutil", "_multiprocessing"):
    sys.modules[name] = None  # Pyodide has none of them
def refuse(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refuse
import cgrsp_simpy as cg
from cgrsp_simpy.studies import replicate
replicate.TASK_S = 0.001  # two tasks
for executor in (None, 2):
    try:
        study = cg.compare(cg.day("quiet"), ["fifo"], range(2), executor=executor)
        print(len(study.rows))
    except cg.InputError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_browsers_python_has_neither_processes_nor_threads_and_needs_none(tmp_path):
    done = process(
        [sys.executable, "-W", "always::RuntimeWarning", "-c", BROWSER], tmp_path
    )
    message = "2\nexecutor(=2) must be None where no process can be started\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, message, "")


# ---- tasks ----


@pytest.fixture
def tasks_of(small_tasks, monkeypatch):
    """Return the tasks of replications, which are not carried out."""

    def made(wanted):
        tasks = []

        def stop(function, numbered, executor):
            tasks.extend(numbered.values())
            raise InterruptedError

        monkeypatch.setattr(module, "as_they_come", stop)
        with pytest.raises(InterruptedError):
            replicate(wanted)
        return tasks

    return made


MIXED = [
    # A day of thousands of jobs among small ones, and runs that are wanted twice.
    Replications(quiet, ["fifo"], range(13)),
    Replications(cg.day("normal", jobs=60), ["fifo", "spt"], range(2)),
    Replications(cg.day("surge", jobs=400), ["fifo", "spt", "rh"], range(2)),
    Replications(quiet, ["spt"], range(8, 20)),
    Replications(cg.day("normal", jobs=1), ["edf"], range(3)),
]


def runs_of(units):
    return [
        (unit.scenario, policy, unit.seed) for unit in units for policy in unit.policies
    ]


def test_tasks_are_large_enough_to_send_and_contain_every_run(tasks_of):
    def seconds(units):
        subjects = [subject_of(unit.scenario) for unit in units]
        runs = zip(subjects, [len(unit.policies) for unit in units])
        return sum(n * (module.RUN_S + one.work / one.pace_per_s) for one, n in runs)

    tasks = tasks_of(MIXED)
    *full, last = tasks
    assert all(seconds(task) >= SMALL_S for task in full)
    assert 0 < seconds(last) < SMALL_S  # so the rule has an exception to make
    # and no more than that
    assert all(seconds(task[:-1]) < SMALL_S for task in full)
    wanted = {
        (scenario, policy, seed)
        for scenario, policies, seeds in MIXED
        for policy in policies
        for seed in seeds
    }
    assert Counter(run for task in tasks for run in runs_of(task)) == Counter(wanted)
    # of very many jobs each policy is a task
    big = [task for task in tasks if task[0].scenario.workload.jobs > 300]
    assert [runs_of(task) for task in big] == [
        [(MIXED[2].scenario, policy, seed)]
        for seed in range(2)
        for policy in ("fifo", "spt", "rh")
    ]


def test_runs_of_one_job_are_enough_tasks_for_two_processes(tasks_of, monkeypatch):
    monkeypatch.undo()
    short = Replications(cg.day("quiet", jobs=1), ["fifo"], range(1000))
    assert len(tasks_of([short])) == 3


@pytest.mark.parametrize(("sent_s", "calls"), [(0.5, range(40)), (0.0, [2000])])
def test_short_tasks_are_sent_in_batches(sent_s, calls, monkeypatch):
    monkeypatch.setattr(executors, "MOST_WORKERS", 4)
    monkeypatch.setattr(executors, "SENT_S", sent_s)
    counted = Told(lambda calls: calls[-1][1]())
    tasks = {key: key + 1 for key in range(2000)}
    answers = dict(executors.as_they_come(str, tasks, counted))
    assert answers == {key: str(task) for key, task in tasks.items()}
    assert len(counted.calls) in calls


def test_a_single_task_is_done_in_this_process():
    done = executors.as_they_come(lambda _: os.getpid(), {"one": 1}, 2)
    assert dict(done) == {"one": os.getpid()}


@pytest.mark.parametrize("runs", [1, 2])
def test_a_seed_of_a_scenario_makes_its_jobs_once(runs, tasks_of, monkeypatch):
    """The runs are just enough for a task, and their jobs for numba to be loaded."""
    monkeypatch.setattr(
        module,
        "TASK_S",
        runs * (module.RUN_S + 40 / subject_of(normal).pace_per_s),
    )
    monkeypatch.setattr(module, "MANY", 160)
    again = Replications(cg.day("normal", jobs=40), ["spt", "fifo"], [3, 4])
    assert tasks_of([Replications(normal, ["fifo"], [3]), again]) == [
        [(normal, 3, ("fifo", "spt"), "auto", None)],
        [(normal, 4, ("spt", "fifo"), "auto", None)],
    ]


def test_scenarios_that_differ_in_unhashable_parts_are_distinguished(small_tasks, file):
    logs = []
    for deadline in (20, 2000):
        path = file(
            f"submit_s,service_s,deadline_s\n0,5,{deadline}\n1,6,{deadline}\n",
            f"{deadline}.csv",
        )
        logs.append(cg.trace(path, slots=1))
    runs = replicate([Replications(log, ["fifo"], range(4)) for log in logs])
    for log in logs:
        assert [runs.figures(log, "fifo", seed) for seed in range(4)] == [
            cg.simulate(log, "fifo", seed).summary() for seed in range(4)
        ]
    assert runs.figures(logs[0], "fifo", 0) != runs.figures(logs[1], "fifo", 0)


# ---- how many processes ----


@pytest.fixture
def started(monkeypatch):
    """The requested number of processes of each pool; threads replace them."""
    numbers = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, number, **_):
            numbers.append(number)
            super().__init__(number)

        def shutdown(self, **_):
            super().shutdown()

    monkeypatch.setattr("loky.ProcessPoolExecutor", Pool)
    return numbers


def test_there_are_at_most_as_many_processes_as_tasks(started, small_tasks):
    for workers in (2, 12, 500):
        assert cg.compare(quiet, ["fifo"], range(20), workers).n == 20  # in two tasks
    assert cg.compare(quiet, ["fifo"], range(5), 12).n == 5  # in a single one
    assert started == [2, 2, 2]


def test_a_task_of_a_fast_model_has_as_many_seconds_of_work_as_others(started):
    fast = cg.waiting.Scenario(cg.waiting.ExponentialJobs(50_000), machines=8)
    assert subject_of(fast).pace_per_s == 1e6
    assert cg.compare(fast, ["ajw"], range(2), 12).n == 2  # 0.1 s
    assert started == []


test_a_number_of_processes_is_checked_for_a_single_task_too = refusals(
    (lambda: cg.compare(quiet, ["fifo"], [0], 0), r"executor\(?=0")
)


# ---- an executor that fails ----


def kept(folder):
    return sorted(path.name for path in (folder / "chunks").iterdir())


def loaded(folder, number, seeds):
    """The outcomes of a finished task of one policy, as the store gives them back."""
    configuration = json.loads((folder / "configuration.json").read_text())
    return Store(folder, configuration, configuration["seeds"], {}).load(
        number, [1] * seeds
    )


def harmless(scenario, seeds):
    return [
        [json.loads(json.dumps(astuple(cg.simulate(scenario, "fifo", seed).tally)))]
        for seed in seeds
    ]


@pytest.mark.slow
def test_a_broken_user_pool_is_reported(small_tasks, tmp_path):
    policy = deadly(tmp_path, "quiet", 25)
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        with pytest.raises(WorkerError, match="worker process died"):
            cg.compare(
                quiet, [policy], range(40), executor=pool, out=tmp_path / "results"
            )
        assert kept(tmp_path / "results") == ["000000.json", "000001.json"]
        # it stays broken
        with pytest.raises(WorkerError, match=r"executor failed|worker process died"):
            cg.compare(quiet, ["fifo"], range(40), executor=pool)


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_command_with_one_line_and_keeps_the_rest(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", "")  # not every system has a pgrep to find the others
    deadly(tmp_path, "hectic", 60)  # of tasks of 16 seeds, the last
    line = (
        "compare hectic --policies my_rules.py:rule --seeds 64 --workers 2"
        " --out results"
    )
    done = process([*CGRSP, *line.split()], tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    names = kept(tmp_path / "results")
    assert 2 <= len(names) < 5  # with the task of the first run, which is repeated
    [message] = done.stderr.splitlines()
    assert message.startswith("cgrsp compare: a worker process died")
    assert message.endswith(f"; {len(names)} of 5 tasks are saved in results")
    assert not (tmp_path / "results" / "rows.csv").exists()
    number = int(Path(names[0]).stem)
    outcomes = loaded(tmp_path / "results", number, seeds=16)
    assert outcomes[:2] == harmless(cg.day("hectic"), [16 * number, 16 * number + 1])


def tired(refuses):
    """An executor that takes two tasks, and refuses or fails the third."""
    error = OSError("no room\nfor a third")

    def submitted(calls):
        future, run = calls[-1]
        if refuses and len(calls) > 2:
            raise error
        if len(calls) == 3:
            future.set_exception(error)
        else:
            run()

    return Told(submitted)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("refuses", "number"),
    [(False, 3), (True, 2)],
    ids=["a task fails", "submit raises"],
)
def test_results_finished_before_an_executor_failed_are_kept(
    refuses, number, small_tasks, tmp_path
):
    with pytest.raises(
        WorkerError, match="the executor failed: OSError: no room"
    ) as caught:
        cg.compare(quiet, ["fifo"], range(40), executor=tired(refuses), out=tmp_path)
    assert isinstance(caught.value.__cause__.__cause__, OSError)
    assert str(caught.value).endswith(f"{number} of 4 tasks are saved in {tmp_path}")
    assert len(kept(tmp_path)) == number
    # the rest is made here
    result = cg.compare(quiet, ["fifo"], range(40), out=tmp_path)
    assert csv_text(result.rows) == csv_text(
        cg.compare(quiet, ["fifo"], range(40)).rows
    )


def test_without_a_directory_no_directory_is_mentioned(small_tasks):
    with pytest.raises(WorkerError) as caught:
        cg.compare(quiet, ["fifo"], range(40), executor=tired(refuses=True))
    assert "saved" not in str(caught.value)


def test_a_pool_that_was_shut_down_is_reported(small_tasks):
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(
        WorkerError, match="the executor failed: RuntimeError: cannot schedule"
    ):
        compared(executor=pool)


def test_a_full_disk_cancels_the_unstarted_tasks_of_a_user_pool(
    small_tasks, tmp_path, monkeypatch
):
    def full(*_):
        raise cg.InputError("no room")

    monkeypatch.setattr(Store, "save", full)
    pool = Told(lambda calls: len(calls) > 1 or calls[0][1]())
    check_refused(
        lambda: cg.compare(quiet, ["fifo"], range(40), executor=pool, out=tmp_path),
        ["no room"],
    )
    assert [future.cancelled() for future, _ in pool.calls] == [False, True, True, True]


@pytest.mark.parametrize("executor", [None, 2])
def test_a_policy_that_cannot_be_copied_is_rejected_before_anything_runs(
    monkeypatch, executor
):
    monkeypatch.setattr(module, "as_they_come", None)
    lock = threading.Lock()
    check_refused(
        lambda: cg.compare(
            quiet, ["fifo", lambda view: [] if lock else None], [0], executor
        ),
        [
            "'<lambda>' cannot be copied for each run: TypeError",
            "such as a lock or a SimPy environment with processes, within the run",
        ],
    )
