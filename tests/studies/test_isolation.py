"""A policy or a model keeps no memory after a run: the row of a seed is always the
same.
"""

import importlib
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from studies.runs import busy, normal, quiet, same
from support import check_refused, process, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import write_files
from cgrsp_simpy.decide.gaps import over_draws
from cgrsp_simpy.studies.isolation import isolated
from cgrsp_simpy.studies.replicate import studies_on
from cgrsp_simpy.waiting import Scenario as Waiting

# Every policy of the module serves the queue in turns from the front and from the back,
# by what it remembers.
MODULE = """
from functools import cache
import turns

memory, count = [], 0

def in_turns(view, number):
    return zip(view.queue if number % 3 else reversed(view.queue), view.idle)

def of_default(view, memory=[]):
    memory.append(view.now_s)
    return in_turns(view, len(memory))

def of_global(view):
    memory.append(view.now_s)
    return in_turns(view, len(memory))

def of_number(view):
    global count
    count += 1
    return in_turns(view, count)

def of_other_module(view):
    turns.count += 1  # is seen by the functions of the module, and the other way round
    assert turns.counted() == turns.count
    return in_turns(view, turns.count)

def of_imported_module(view):
    import turns_package.turns
    turns_package.turns.count += 1
    from turns_package import turns
    return in_turns(view, turns.count > 20)

def of_attribute(view):
    of_attribute.count += 1
    return in_turns(view, of_attribute.count)

of_attribute.count = 0

def with_closure():
    count = 0

    @cache
    def first(time_s):
        return count

    def of_closure(view):
        nonlocal count
        count += 1
        return in_turns(view, first(view.now_s))

    return of_closure

of_closure = with_closure()

class OfClass:
    memory = []

    def __call__(self, view):
        self.memory.append(view.now_s)
        return in_turns(view, len(self.memory))

class OfObject:
    def __init__(self):
        self.count = 0

    def __call__(self, view):
        self.count += 1
        return in_turns(view, self.count)

of_object = OfObject()
of_method = of_object.__call__
"""
TURNS = """
count = 0

def counted():
    return count
"""
POLICIES = (
    "of_default of_global of_number of_other_module of_imported_module of_attribute"
    " of_closure OfClass OfObject of_object of_method"
).split()


def write_turns(folder):
    """Write the module that policies change, once within a package."""
    (folder / "turns_package").mkdir()
    for path in (folder, folder / "turns_package"):
        (path / "turns.py").write_text(TURNS)


@pytest.fixture
def remembering(tmp_path, monkeypatch):
    """The module of policies that remember, imported."""
    (tmp_path / "remembering.py").write_text(MODULE)
    write_turns(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("remembering")
    for name in ("remembering", "turns", "turns_package", "turns_package.turns"):
        sys.modules.pop(name, None)


def row_of_5(policies, name, seeds, executor=None):
    study = cg.compare(busy, policies, seeds, executor)
    assert not study.failures
    [row] = [row for row in study.rows if (row["policy"], row["seed"]) == (name, 5)]
    return study, row


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("source", ["module", "file"])
def test_the_row_of_a_seed_does_not_depend_on_other_rows(name, source, remembering):
    policy = (
        f"{remembering.__file__}:{name}"
        if source == "file"
        else getattr(remembering, name)
    )
    _, alone = row_of_5({"mine": policy}, "mine", [5])
    again, last = row_of_5(
        {"other": remembering.of_global, "mine": policy}, "mine", [3, 4, 5]
    )
    assert same([alone], [last])
    run = again.run("mine", 5)
    assert same([run.summary()], [{name: alone[name] for name in run.summary()}])
    assert (remembering.memory, remembering.OfClass.memory, remembering.count) == (
        [],
        [],
        0,
    ) and sys.modules["turns"] is remembering.turns  # not a copy


def counts_in_a_module(env):
    import turns  # of the fixture

    turns.count += 1
    time.sleep(0.05)  # so that another thread begins its run
    return {"count": turns.count}


def test_runs_in_threads_do_not_import_the_copies_of_others(remembering):
    with ThreadPoolExecutor(2) as threads:
        study = cg.compare(cg.model(counts_in_a_module), None, range(4), threads)
    assert study.values("counts_in_a_module", "count") == [1] * 4


def test_each_run_of_a_study_begins_with_the_state_left_by_the_script(remembering):
    rows = []
    for remembering.count in (0, 1):
        rows.append(
            [
                row_of_5([remembering.of_number], "of_number", seeds)[1]
                for seeds in ([5], [4, 5])
            ]
        )
        assert same(rows[-1][:1], rows[-1][1:])
    assert not same(*rows)
    cg.simulate(busy, remembering.of_number, 5)
    assert remembering.count > 1  # a single run leaves its memory to the script


@pytest.mark.slow
def test_rows_are_equal_in_processes_for_policies_of_a_script(tmp_path):
    script = f"""
import cgrsp_simpy as cg
{MODULE}
if __name__ == "__main__":
    import turns_package.turns
    # processes see what the script has changed
    turns.count = turns_package.turns.count = 1
    day = cg.day("hectic", jobs=60)
    policies = {{name: globals()[name] for name in {POLICIES}}}
    rows = [cg.compare(day, {{name: policies[name]}}, [5]).rows[0] for name in policies]
    for executor in (None, 1):
        together = cg.compare(day, policies, [3, 4, 5], executor).rows[2::3]
        print(rows == together, [row["policy"] for row in rows if "error" in row])
"""
    write_turns(tmp_path)
    (tmp_path / "script.py").write_text(script)
    assert process([sys.executable, "script.py"], tmp_path).stdout == "True []\n" * 2


def forgetful(answer):
    """A function of a view that fails if it remembers a later time."""

    def remembering(view, times_s=[]):  # noqa: B006
        assert not times_s or times_s[-1] <= view.now_s
        times_s.append(view.now_s)
        return answer(view)

    return remembering


only_forward = forgetful(lambda view: zip(view.queue, view.idle))
in_order = forgetful(lambda view: view.queue)
first_room = forgetful(lambda view: zip(view.queue, view.rooms(None)))

TAGGED = "submit_s,service_s,deadline_s,customer\n0,5,20,a\n1,6,20,b\n2,5,20,a\n"


def by_customer(tmp_path):
    (tmp_path / "log.csv").write_text(TAGGED)
    return cg.compare(cg.trace(tmp_path / "log.csv", slots=1), [only_forward], [0]).by(
        "customer"
    )


STUDIES = {
    "sweep": lambda _: cg.sweep(normal, {"slots": [2, 3]}, [only_forward], range(2)),
    "many jobs": lambda _: studies_on(jobs=10**6)(cg.compare)(
        normal, [only_forward], range(2)
    ),
    "month": lambda _: cg.compare(
        cg.month({"quiet": 1.0}, 2), [only_forward], range(2)
    ),
    "select": lambda _: cg.select(quiet, ["fifo", only_forward], 5.0, first=3),
    "list policy": lambda _: cg.compare(
        normal,
        [cg.ListPolicy(in_order, cg.rules.cheapest, "in order x cheapest")],
        range(2),
    ),
    "by a column": by_customer,
    "draws": lambda _: over_draws(normal, only_forward, 0, 2),
    "waiting": lambda _: cg.compare(
        Waiting(cg.waiting.ExponentialJobs(60), machines=1, order=first_room),
        ["sww", "ajw"],
        range(2),
    ),
}


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_does_not_pass_the_memory_of_a_run_to_the_next(name, tmp_path):
    assert not getattr(STUDIES[name](tmp_path), "failures", ())
    assert only_forward.__defaults__ == in_order.__defaults__ == ([],)


# ---- models ----


@dataclass(eq=False)
class Part:
    id: int
    left_s: float


class Shop(cg.Model):
    """A model that remembers runs, with jobs that change."""

    served: ClassVar = []
    policies: ClassVar = {
        "first": cg.first_come,
        "last": lambda view: zip(reversed(view.queue), view.free),
    }

    def resources(self):
        return cg.slots(1, "bench")

    def arrivals(self, draw):
        return [(0.0, Part(number, 1.0 + number)) for number in range(4)]

    def job_process(self, run, job):
        self.served.append(job)
        with run.claim(job) as claim:
            yield claim
            yield run.timeout(job.left_s + len(self.served))
        job.left_s = 0.0


def test_the_memory_of_a_model_and_its_jobs_ends_with_the_run():
    both = cg.compare(Shop(), [cg.first_come, "last"], seeds=[0, 1])
    for name, policy in both.named.items():
        alone = cg.compare(Shop(), {name: policy}, seeds=[1])
        assert same(
            alone.rows,
            [row for row in both.rows if (row["policy"], row["seed"]) == (name, 1)],
        )
    assert Shop.served == []


# ---- shared values, and errors ----


@pytest.mark.parametrize(
    "policy",
    [
        "fifo",
        "rh:reserve=2",
        cg.first_come,
        cg.ListPolicy(cg.rules.by_deadline, cg.rules.cheapest),
    ],
    ids=["name", "text", "function", "object"],
)
def test_code_of_the_package_is_not_copied(policy):
    scenario, same_policy, *_ = isolated(normal, policy)
    assert scenario is normal and same_policy is policy


@pytest.mark.parametrize(
    ("module", "file"), [("library", "library.py"), ("package", "package/__init__.py")]
)
def test_code_that_pip_has_installed_into_a_folder_is_not_copied(
    module, file, tmp_path, monkeypatch
):
    text = "def rule(view):\n    return zip(view.queue, view.idle)\n"
    write_files(
        {tmp_path / file: text.encode(), tmp_path / "l-1.0.dist-info/RECORD": b""}
    )
    monkeypatch.syspath_prepend(tmp_path)
    rule = importlib.import_module(module).rule
    assert isolated(normal, rule) == (normal, rule, [], [])
    del sys.modules[module]


def test_a_copy_shares_constants_and_keeps_the_line_of_an_error():
    constant = cg.day("quiet")

    def policy(view):
        return constant

    _, copy, *_ = isolated(normal, policy)
    assert copy is not policy and copy(None) is constant
    assert copy.__code__ is policy.__code__


def shuffles(view):
    jobs = list(view.queue)
    random.shuffle(jobs)
    return zip(jobs, view.idle)


def chooses(view, choice=random.choice):
    return [(choice(view.queue), view.idle[0])]


def tosses(view):
    return zip(view.queue, view.idle) if np.random.random() < 1 else []  # noqa: NPY002


def draws_from(integer):
    return lambda view: [(view.queue[integer(len(view.queue))], view.idle[0])]


earlier = (random.Random(1), np.random.default_rng(1))


@pytest.mark.parametrize(
    ("policy", "generator"),
    [
        (shuffles, "the generator of the module random, which all runs share"),
        (chooses, "the generator of the module random, which all runs share"),
        (tosses, "the generator of the module numpy.random, which all runs share"),
    ],
)
def test_a_policy_that_draws_from_a_global_generator_is_a_failed_run(policy, generator):
    study = cg.compare(busy, ["fifo", policy], [0])
    [row] = study.failures
    assert f"draws from {generator}" in row["error"]
    check_refused(
        lambda: study.run(policy.__name__, 0), r"draw from draw\(", cg.PolicyError
    )


@cg.model
def seeds_the_generator(env, until=60.0):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    cg.Resource(env, name="till")
    env.run(until * random.random())


@cg.model
def draws_from_an_earlier_one(env, number=0):
    cg.Resource(env, name="till")
    env.run(1 + earlier[number].random())


@pytest.mark.parametrize(
    ("model", "generator"),
    [
        (seeds_the_generator, "the generator of the module random"),
        (draws_from_an_earlier_one, "a generator created before the run, and copied"),
        (lambda env: draws_from_an_earlier_one(env, 1), "a generator created before"),
    ],
)
def test_a_model_whose_draws_do_not_depend_on_the_seed_is_a_failed_run(
    model, generator
):
    random.seed(7)
    before = random.getstate(), str(np.random.get_state())  # noqa: NPY002
    study = cg.compare(cg.model(model), seeds=range(3))
    assert len(study.failures) == 3
    assert all(f"draws from {generator}" in row["error"] for row in study.failures)
    assert (random.getstate(), str(np.random.get_state())) == before  # noqa: NPY002


@cg.model
def has_no_seed(env, entropy=None):
    env.run(np.random.default_rng(entropy).exponential())
    return {"end": env.now}


@cg.model
def never_releases(env, draw, customers=2):
    desk = cg.Resource(env, name="desk")
    env.run(draw("start").random())
    [desk.request() for _ in range(customers)]
    env.run(2)


@pytest.mark.parametrize(
    ("scenario", "policies", "seeds", "warned"),
    [
        (never_releases, [{"customers": 1}, {}], 3, ["default"]),
        (has_no_seed, [{}, {"entropy": 2}], 3, ["default", "entropy=2"]),
        (
            busy,
            ["random", draws_from(lambda n: np.random.default_rng().integers(n))],
            3,
            ["<lambda>"],
        ),
        (normal, ["random", lambda view: [(view.queue[0], view.idle[0])]], 3, []),
        # each error has another address
        (normal, ["random", lambda view: {}[object()]], 3, []),
        # a single seed shows neither
        (never_releases, [{"customers": 1}, {}], 1, []),
    ],
    ids=["never granted", "model", "policy", "right", "failed", "one seed"],
)
def test_figures_that_show_a_mistake_are_reported(
    scenario, policies, seeds, warned, caplog
):
    assert cg.compare(scenario, policies, seeds=range(seeds)).n == seeds
    assert [line.split(":")[0].split()[-1] for line in caplog.messages] == warned


def test_a_policy_does_not_change_the_folder_of_the_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moves.py").write_text(
        "import os\nos.chdir('/')\ndef first(view):\n    os.chdir('/')"
        "\n    return zip(view.queue, view.idle)"
    )
    cg.compare(quiet, ["moves.py:first"], range(2), out="out")
    assert (tmp_path / "out" / "rows.csv").exists()


@pytest.mark.parametrize(
    "policy",
    [
        lambda view: [(view.rng.choice(view.queue), view.idle[0])],
        draws_from(random.Random(1).randrange),
        draws_from(np.random.default_rng(1).integers),
    ],
)
def test_a_generator_of_the_view_or_the_policy_is_allowed(policy):
    rows = [
        cg.compare(normal, {"mine": policy}, seeds).rows[-1] for seeds in ([5], [4, 5])
    ]
    assert same(rows[:1], rows[1:]) and "error" not in rows[0]


class Opens:
    """Attributes that cannot be copied are created at the first decision."""

    def __init__(self):
        self.lock = None

    def __call__(self, view):
        self.lock = self.lock or threading.Lock()
        with self.lock:
            return zip(view.queue, view.idle)


class TwoPartError(Exception):
    """It can be pickled, but not unpickled."""

    def __init__(self, text, number):
        super().__init__(text)


def test_a_value_that_cannot_be_copied_is_rejected_but_a_run_may_create_it():
    for value in (threading.Lock(), TwoPartError("lock", 2)):
        check_refused(
            lambda value=value: cg.compare(
                quiet, {"mine": lambda view: [] if value else None}, [0]
            ),
            ["policy 'mine' cannot be copied ", ": TypeError: ", "within the run"],
        )
        shop = type("held", (Shop,), {"value": value})()
        check_refused(
            lambda shop=shop: cg.compare(shop, seeds=[0]),
            ["scenario 'held' cannot be copied ", ": TypeError: ", "within the run"],
        )
    study = cg.compare(quiet, ["fifo", Opens], [0])
    assert study.values("Opens", "wait_min") == study.values("fifo", "wait_min")


test_a_class_of_which_no_policy_can_be_created_is_refused = refusals(
    *(
        (study, policy, words)
        for study in (cg.simulate, lambda day, policy: cg.compare(day, [policy], [0]))
        for policy, words in (
            (
                type("Needs", (), {"__init__": lambda self, days: None}),
                "it raised TypeError: .*'days'",
            ),
            (int, "policy(=0) must be a name or a function of a view"),
        )
    ),
    call=lambda study, policy: study(quiet, policy),
)
