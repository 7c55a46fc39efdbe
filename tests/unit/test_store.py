"""A results directory: what it holds, that a study resumes there to the bit, what is refused there,
and how it bears ill luck.
"""

import errno
import importlib
import json
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields, replace
from enum import Enum
from functools import partial
from importlib.metadata import version
from math import isnan
from pathlib import Path
from typing import NamedTuple

import pytest
from support import CGRSP, process

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.model.model import foreign_part
from cgrsp_simpy.model.table import csv_text
from cgrsp_simpy.rental.gpu import GpuType
from cgrsp_simpy.rental.market import Clock, Market, Status
from cgrsp_simpy.rental.service import Service
from cgrsp_simpy.rental.workload import DeadlineClasses, PoissonWorkload
from cgrsp_simpy.studies import store
from cgrsp_simpy.studies.store import Store

RULE = "def rule(view):\n    return zip(view.queue, view.idle)\n"
NAN, INF = float("nan"), float("inf")
quiet = cg.day("quiet")
posix = pytest.mark.skipif(
    os.name != "posix", reason="signals, groups and limits are those of POSIX"
)


def compared(out=None, scenario=quiet, policies=("fifo", "spt"), seeds=range(5), **more):
    return cg.compare(scenario, policies, seeds, out=out, **more)


def swept(out=None, policies=("fifo", "rh"), seeds=range(3), scenario=cg.day, name="quiet", **grid):
    grid = {"name": name, "slots": [2, 3], "rh:reserve": [0, 1], **grid}
    return cg.sweep(scenario, grid, policies, seeds, out=out)


def over_months(out=None, mix=None, policies=("fifo", "spt"), days=4, replications=3, **more):
    mix = mix or {"quiet": 0.75, "normal": 0.25}
    return cg.month(mix, policies, days, replications, out=out, **more)


precise = partial(compared, scenario=cg.day("hectic", 2, jobs=6), precision=0.1)
STUDIES = {"compare": compared, "precision": precise, "sweep": swept, "month": over_months}
each_study = pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)


@pytest.fixture(autouse=True)
def many_tasks(monkeypatch):
    """Each study is cut into several tasks, and so into several files."""
    monkeypatch.setattr("cgrsp_simpy.studies.replicate.JOBS_PER_TASK", 20)


@pytest.fixture
def runs(monkeypatch):
    """The runs that are carried out: the seed of each."""
    seeds, run = [], cg.Scenario.run

    def counted(scenario, policy, seed, **more):
        seeds.append(seed)
        return run(scenario, policy, seed, **more)

    monkeypatch.setattr(cg.Scenario, "run", counted)
    return seeds


def files(folder):
    """Every file of a folder: its name, and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def times(folder):
    """When each finished task was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "chunks").glob("*.json")}


def refused(study, *words):
    """The study is refused with one line that holds the words."""
    with pytest.raises(cg.InputError) as caught:
        study()
    line = str(caught.value)
    assert "\n" not in line
    assert not [word for word in words if word not in line], line
    return line


# ---- what is in it ----


@each_study
def test_the_files_of_a_study(study, tmp_path):
    found = study(tmp_path / "results")
    names = set(files(tmp_path / "results"))
    chunks = {name for name in names if name.startswith("chunks/")}
    assert chunks == {f"chunks/{number:06}.json" for number in range(len(chunks))}
    assert len(chunks) > 2
    days = {"days.csv"} if study is over_months else set()
    assert (
        names - chunks == {"configuration.json", "manifest.json", "rows.csv", "summary.json"} | days
    )
    assert csv_text(found.rows) == csv_text(study().rows)  # a directory changes nothing
    assert study is not precise or len(found.seeds) > 5


@each_study
def test_rows_and_summary_are_those_of_the_study(study, tmp_path):
    found = study(tmp_path / "results")
    found.to_csv(tmp_path / "rows.csv")
    found.to_json(tmp_path / "summary.json")
    for name in ("rows.csv", "summary.json"):
        assert (tmp_path / "results" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_month_keeps_its_days(tmp_path):
    found = over_months(tmp_path)
    assert (tmp_path / "days.csv").read_text() == csv_text(found.days)
    assert len(found.days) == 2 * 4 * 3


def test_the_manifest_tells_versions_seeds_and_command(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["study.py", "two words"])
    compared(tmp_path, seeds=[5, 3, 8])
    assert json.loads((tmp_path / "manifest.json").read_text()) == {
        "versions": {"Python": platform.python_version()}
        | {name: version(name) for name in ("simpy", "numpy", "scipy")}
        | {"cgrsp_simpy": f"{version('cgrsp_simpy')}, source {store.source_digest()}"},
        "seeds": [5, 3, 8],
        "command": shlex.join(["study.py", "two words"]),
    }


def test_the_configuration_tells_what_is_run(tmp_path):
    swept(tmp_path)
    found = json.loads((tmp_path / "configuration.json").read_text())
    assert (found["study"], found["seeds"], list(found["policies"])) == (
        "sweep",
        [0, 1, 2],
        ["fifo", "rh"],
    )
    assert [point for point, _ in found["points"]] == [
        {"name": "quiet", "slots": slots, "rh:reserve": reserve}
        for slots in (2, 3)
        for reserve in (0, 1)
    ]
    assert [len(scenario["slots"]) for _, scenario in found["points"]] == [2, 2, 3, 3]


def test_outcomes_come_back_as_they_were(tmp_path):
    there = Store(tmp_path, {}, [0], {})
    outcomes = [
        [[6, 1, 0, 0, 0.1 + 0.2, 1e-300, 1 / 3, INF, 2.0**60], "ValueError: “x”"],
        [{"a": -INF, "b": 1 / 3}],
    ]
    there.save(7, outcomes)
    there.save(8, [[{"a": NAN, "error": "no"}]])
    assert Store(tmp_path, {}, [0], {}).load(7, [2, 1]) == outcomes
    assert there.load(6, [2, 1]) is None
    [[found]] = there.load(8, [1])
    assert (isnan(found["a"]), found["error"]) == (True, "no")
    assert not [
        word
        for word in ("NaN", "Infinity")
        if word in (tmp_path / "chunks" / "000008.json").read_text()
    ]


@pytest.mark.parametrize("kind", [str, Path])
def test_folders_on_the_way_are_made(tmp_path, kind):
    compared(kind(tmp_path / "a" / "b"))
    assert (tmp_path / "a" / "b" / "rows.csv").is_file()


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("compare --day quiet --policies fifo,spt --seeds 3", []),
        ("sweep name=quiet slots=2,3 --policies fifo --seeds 3", []),
        (
            "month --mix quiet=0.5,normal=0.5 --days 2 --replications 3 --policies fifo",
            ["days.csv"],
        ),
    ],
)
def test_each_command_keeps_and_resumes(line, extra, tmp_path, capsys, caplog, runs):
    caplog.set_level("INFO")
    argv = [*line.split(), "--out", str(tmp_path / "results")]
    assert main(argv) == 0
    first, kept, done = capsys.readouterr().out, files(tmp_path / "results"), len(runs)
    assert {"rows.csv", "summary.json", *extra} <= set(kept)
    assert caplog.messages == [f"results are in {tmp_path / 'results'}"]
    assert main(argv) == 0
    assert (capsys.readouterr().out, files(tmp_path / "results"), len(runs)) == (first, kept, done)
    assert main(line.split()) == 0
    assert capsys.readouterr().out == first


# ---- resuming ----


@each_study
def test_a_finished_study_is_not_run_again(study, tmp_path, runs):
    first = study(tmp_path)
    kept, written, done = files(tmp_path), times(tmp_path), len(runs)
    again = study(tmp_path)
    assert len(runs) == done > 0
    assert csv_text(again.rows) == csv_text(first.rows)
    assert files(tmp_path) == kept
    assert times(tmp_path) == written


@each_study
def test_half_a_study_goes_on_to_the_same_files(study, tmp_path, runs):
    study(tmp_path)
    kept, written, done = files(tmp_path), times(tmp_path), len(runs)
    removed = sorted((tmp_path / "chunks").iterdir())[::2]
    for path in [*removed, tmp_path / "rows.csv", tmp_path / "summary.json"]:
        path.unlink()
    runs.clear()
    study(tmp_path)
    assert 0 < len(runs) < done
    assert files(tmp_path) == kept
    left = {name: written[name] for name in written if name not in {path.name for path in removed}}
    assert left.items() <= times(tmp_path).items()


def test_a_part_of_a_file_that_was_left_behind_does_no_harm(tmp_path):
    compared(tmp_path)
    kept = files(tmp_path)
    for name in ("chunks/000001.json", "configuration.json", "manifest.json", "rows.csv"):
        (tmp_path / name).unlink()
        (tmp_path / f"{name}.part").write_text("[[")
    shutil.rmtree(tmp_path / "chunks")  # as if it had ended before anything was whole
    (tmp_path / "rows.csv.part").unlink()
    (tmp_path / "summary.json").unlink()
    compared(tmp_path)
    assert files(tmp_path) == kept


def failing(view):
    raise ValueError("no")


def test_failed_runs_resume_as_failed(tmp_path, runs):
    first = compared(tmp_path, policies=["fifo", failing])
    assert len(first.failures) == 5
    done = len(runs)
    assert csv_text(compared(tmp_path, policies=["fifo", failing]).rows) == csv_text(first.rows)
    assert len(runs) == done


def test_where_it_runs_does_not_matter(tmp_path, runs):
    first = compared(tmp_path, executor=2)
    (tmp_path / "chunks" / "000001.json").unlink()
    again = compared(tmp_path)  # begun with workers, ended without
    assert len(runs) == 4  # two seeds a task, two policies; the others were carried out elsewhere
    assert csv_text(again.rows) == csv_text(first.rows) == csv_text(compared().rows)


# ---- another study ----


def five_slots(name):
    return cg.day(name, slots=5)


def four_slots(name):
    return cg.day(name, slots=4)


OTHERS = [
    # (the study that made the directory, one that differs, what the line must name)
    # slots
    (compared, partial(compared, scenario=cg.day("quiet", 4)), ["scenario.slots", "5 entries"]),
    # types
    (
        compared,
        partial(compared, scenario=cg.day("quiet", ["RTX A4000"] * 5)),
        ["scenario.slots[0].name", "RTX A4000"],
    ),
    # jobs
    (
        compared,
        partial(compared, scenario=cg.day("quiet", jobs=7)),
        ["scenario.workload.jobs", " 6", " 7"],
    ),
    (
        compared,
        partial(compared, scenario=cg.day("quiet", 5, 0.3)),
        ["scenario.workload.deadlines.tight_fraction", "0.2", "0.3"],
    ),  # classes
    # hours of scarce stock
    (
        compared,
        partial(compared, scenario=cg.day("quiet", clock="printed")),
        ["scenario.market.clock"],
    ),
    # types
    (
        compared,
        partial(compared, scenario=cg.day("quiet", free_types=True)),
        ["scenario.free_types", "true"],
    ),
    # another day
    (
        compared,
        partial(compared, scenario=cg.day("normal")),
        ["scenario.name", '"quiet"', '"normal"'],
    ),
    (compared, partial(compared, policies=("fifo", "edf")), ["policies", "spt"]),  # another policy
    (compared, partial(compared, policies=("fifo", "spt", "edf")), ["policies", "edf"]),  # one more
    (compared, partial(compared, policies=("fifo",)), ["policies", "spt"]),  # one less
    # another order
    (
        compared,
        partial(compared, policies=("spt", "fifo")),
        ["policies", '"fifo", "spt"', '"spt", "fifo"'],
    ),
    (
        partial(compared, policies=("rh:reserve=1",)),
        partial(compared, policies=("rh:reserve=2",)),
        ["policies", "reserve"],
    ),
    # one more
    (
        compared,
        partial(compared, seeds=range(6)),
        ["seeds", "[0, 1, 2, 3, 4]", "[0, 1, 2, 3, 4, 5]"],
    ),
    (compared, partial(compared, seeds=range(1, 6)), ["seeds[0]", " 0", " 1"]),  # others
    (compared, partial(compared, precision=0.9), ["precision"]),  # a precision
    # another one
    (
        partial(compared, precision=0.9),
        partial(compared, precision=0.8),
        ["precision.wait_min", "0.9", "0.8"],
    ),
    (compared, swept, ["study", '"compare"', '"sweep"']),  # another kind
    (compared, over_months, ["study", '"compare"', '"month"']),  # another kind
    (over_months, swept, ["study", '"month"', '"sweep"']),  # another kind
    # another value in the grid
    (swept, partial(swept, slots=[2, 4]), ["points", "slots", " 3", " 4"]),
    (swept, partial(swept, slots=[2, 3, 4]), ["points"]),  # one more
    (swept, partial(swept, slots=[3, 2]), ["points", "slots"]),  # another order
    # another name in the grid
    (swept, partial(swept, tight_fraction=0.2), ["points", "tight_fraction"]),
    # another parameter of a policy
    (swept, partial(swept, **{"rh:reserve": [0, 2]}), ["points", "rh:reserve", " 1", " 2"]),
    (swept, partial(swept, policies=("spt", "rh")), ["policies", "fifo"]),  # another policy
    (swept, partial(swept, seeds=range(1, 4)), ["seeds[0]", " 0", " 1"]),  # other seeds
    # its function
    (
        swept,
        partial(swept, scenario=partial(cg.day, tight_fraction=0.5)),
        ["deadlines.tight_fraction"],
    ),
    # another mix
    (
        over_months,
        partial(over_months, mix={"quiet": 0.5, "normal": 0.5}),
        ["mix.quiet", "0.75", "0.5"],
    ),
    # another day in it
    (over_months, partial(over_months, mix={"quiet": 0.75, "surge": 0.25}), ["mix.normal", "0.25"]),
    # another order
    (
        over_months,
        partial(over_months, mix={"normal": 0.25, "quiet": 0.75}),
        ["mix", '"quiet", "normal"'],
    ),
    (over_months, partial(over_months, days=5), ["days", " 4", " 5"]),  # longer months
    # more of them
    (over_months, partial(over_months, replications=4), ["seeds", "[0, 1, 2]", "[0, 1, 2, 3]"]),
    (over_months, partial(over_months, first_seed=1), ["seeds[0]", " 0", " 1"]),  # others
    (
        partial(over_months, scenario=five_slots),
        partial(over_months, scenario=four_slots),
        ["scenarios.quiet.slots", "5 entries"],
    ),  # another scenario
]


@pytest.mark.parametrize(
    ("study", "other", "words"), OTHERS, ids=[", ".join(words) for _, _, words in OTHERS]
)
def test_another_study_is_refused_by_the_field_in_which_it_differs(study, other, words, tmp_path):
    study(tmp_path)
    before = files(tmp_path)
    refused(partial(other, tmp_path), str(tmp_path), "made with", "use another directory", *words)
    assert files(tmp_path) == before


def test_a_changed_file_of_policies_is_refused(tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(RULE)
    study = partial(compared, "results", policies=["fifo", "my_rules.py:rule"])
    study()
    done = len(runs)
    Path("my_rules.py").write_text(RULE)  # touched, not changed
    study()
    assert len(runs) == done
    Path("my_rules.py").write_text(RULE.replace("view.queue", "view.queue[::-1]"))
    refused(study, "results", "code.cgrsp_simpy_rules.my_rules:rule", "use another directory")


# ---- code of one's own ----


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path, whose modules are forgotten at the end."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in (path.stem for path in tmp_path.glob("*.py")):
        sys.modules.pop(name, None)


def fresh_module(folder, **texts):
    """Write modules, forget what was imported before, and import the first."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module(next(iter(texts)))


HELPER = "MOST = 1\nBY = {'a': -1, 'b': 2}\n\ndef order(queue):\n    return list(queue)[:MOST]\n"
USES = {
    "a name": (
        "from helper import order\n\n"
        "def rule(view):\n"
        "    return zip(order(view.queue), view.idle)\n"
    ),
    "a module": (
        "import helper\n\ndef rule(view):\n    return zip(helper.order(view.queue), view.idle)\n"
    ),
    "within": (
        "def rule(view):\n"
        "    from helper import order\n"
        "    return zip(order(view.queue), view.idle)\n"
    ),
    "through another": (
        "from between import order\n\n"
        "def rule(view):\n"
        "    return zip(order(view.queue), view.idle)\n"
    ),
    "a closure": (
        "from helper import order\n\n"
        "def made(f):\n"
        "    def rule(view):\n"
        "        return zip(f(view.queue), view.idle)\n"
        "    return rule\n\n"
        "rule = made(order)\n"
    ),
    "a default": (
        "from helper import order\n\n"
        "def rule(view, f=order):\n"
        "    return zip(f(view.queue), view.idle)\n"
    ),
    "a keyword": (
        "from helper import order\n\n"
        "def rule(view, *, f=order):\n"
        "    return zip(f(view.queue), view.idle)\n"
    ),
    "filled in": (
        "from functools import partial\n"
        "from helper import order\n\n"
        "def of(f, view):\n"
        "    return zip(f(view.queue), view.idle)\n\n"
        "rule = partial(of, order)\n"
        "rule.__name__ = 'rule'\n"
    ),
    "an object": (
        "from helper import order\n\n"
        "class Rule:\n"
        "    name = 'rule'\n"
        "    def __init__(self, f):\n"
        "        self.f = f\n"
        "    def __call__(self, view):\n"
        "        return zip(self.f(view.queue), view.idle)\n\n"
        "rule = Rule(order)\n"
    ),
    "a parent": (
        "from helper import Parent\n\nclass Rule(Parent):\n    name = 'rule'\n\nrule = Rule()\n"
    ),
    "a method": "from helper import Parent\n\nrule = Parent().__call__\n",
    "cached": (
        "from helper import order\n"
        "import functools\n\n"
        "@functools.cache\n"
        "def most():\n"
        "    return order\n\n"
        "def rule(view):\n"
        "    return zip(most()(view.queue), view.idle)\n"
    ),
}
MORE = (
    "\nclass Parent:\n"
    "    def __call__(self, view):\n"
    "        return zip(order(view.queue), view.idle)\n"
)


@pytest.mark.parametrize("text", USES.values(), ids=USES)
def test_a_policy_is_told_by_all_the_code_and_all_the_values_that_it_uses(text, folder, runs):
    """A helper of another file, and its own constant, are part of a policy, however the policy
    comes to them.
    """
    helper = HELPER + MORE

    def study(helper):
        modules = {"helper": helper, "between": "from helper import order\n", "policies": text}
        for name in ("policies", "between"):
            sys.modules.pop(name, None)
        fresh_module(folder, **modules)
        policy = importlib.import_module("policies").rule
        return compared(folder / "results", policies=["fifo", policy], seeds=range(2))

    study(helper)
    done = len(runs)
    study(helper)
    assert len(runs) == done
    for old, new in (("MOST = 1", "MOST = 2"), ("(queue)[:MOST]", "(queue)[::-1][:MOST]")):
        refused(
            partial(study, helper.replace(old, new)), "code.helper:order", "use another directory"
        )
    changed = helper.replace("'b': 2", "'b': 3")  # which nobody uses
    if text in (USES["a module"], USES["within"]):  # a module that is used as a whole
        refused(partial(study, changed), "code.policies:rule")
    else:
        study(changed)
    assert len(runs) == done


@pytest.mark.parametrize("dots", [".", ".."])
def test_what_is_imported_by_dots_within_a_policy_is_part_of_it(dots, folder, runs):
    def study(most):
        for name in [name for name in sys.modules if name.partition(".")[0] == "dotted"]:
            del sys.modules[name]
        inner = folder / "dotted" / "inner"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "__init__.py").touch()
        ((inner if dots == "." else inner.parent) / "helper.py").write_text(f"MOST = {most}\n")
        (inner / "rules.py").write_text(
            "def rule(view):\n"
            f"    from {dots}helper import MOST\n"
            "    return zip(view.queue[:MOST], view.idle)\n"
        )
        importlib.invalidate_caches()
        policy = importlib.import_module("dotted.inner.rules").rule
        return compared(folder / "results", policies=["fifo", policy], seeds=range(2))

    study(1)
    done = len(runs)
    study(1)
    assert len(runs) == done
    refused(partial(study, 2), "code.dotted.inner.rules:rule", "use another directory")


def test_a_value_that_is_changed_in_the_running_module_is_told(folder, runs):
    module = fresh_module(
        folder,
        rules_of_mine="MOST = 1\n\ndef rule(view):\n    return zip(view.queue[:MOST], view.idle)\n",
    )
    study = partial(compared, folder / "results", policies=["fifo", module.rule])
    study()
    module.MOST = 2
    refused(study, "code.rules_of_mine:rule", "use another directory")


def recursive():
    """Helpers that name each other, and a function that holds itself."""

    def rule(view):
        return rest(view.queue, view.idle)

    def rest(queue, idle):
        return [(queue[0], idle[0]), *rest(queue[1:], idle[1:])] if queue and idle else []

    rule.itself = rule
    return rule


def test_what_names_itself_is_told(tmp_path, runs):
    compared(tmp_path, policies=["fifo", recursive()])
    done = len(runs)
    compared(tmp_path, policies=["fifo", recursive()])
    assert len(runs) == done
    other = recursive()
    other.most = 3  # an attribute, which a function may look up
    refused(partial(compared, tmp_path, policies=["fifo", other]), "rule")


def only(number):
    def rule(view):
        return list(zip(view.queue, view.idle))[:number]

    return rule


class Rule:
    name = "rule"

    def __init__(self, number):
        self.number = number

    def __call__(self, view):
        return list(zip(view.queue, view.idle))[: self.number]

    def rule(self, view):
        return self(view)


class Numbered(NamedTuple):
    number: int

    def __call__(self, view):
        return list(zip(view.queue, view.idle))[: self.number]


def executed(number):
    """A function of which no file holds the source."""
    names = {"__name__": "nowhere"}
    exec(RULE.replace("view.queue", f"view.queue[:{number}]"), names)
    return names["rule"]


ORDERS = {1: cg.rules.by_deadline, 2: cg.rules.by_submission}
TOLD = {
    "within a function": only,
    "nameless": lambda number: lambda view: list(zip(view.queue, view.idle))[:number],
    "an object": Rule,
    "a named tuple": Numbered,
    "a method": lambda number: Rule(number).rule,
    "filled in": lambda number: named(
        partial(lambda number, view: list(zip(view.queue, view.idle))[:number], number)
    ),
    "a pair of rules": lambda number: cg.ListPolicy(ORDERS[number], cg.rules.cheapest),
    "made from text": lambda number: cg.make_policy(f"rh:reserve={number}"),
    "without a file": executed,
}


def named(policy):
    policy.__name__ = "rule"
    return policy


@pytest.mark.parametrize("made", TOLD.values(), ids=TOLD)
def test_policies_of_every_kind_are_told_from_each_other(made, tmp_path, runs):
    study = lambda number: compared(tmp_path, policies=["fifo", made(number)], seeds=range(2))  # noqa: E731
    study(1)
    done = len(runs)
    study(1)
    assert len(runs) == done
    refused(lambda: study(2), "made with", "use another directory")


ANNOTATED = """
class Rule:
    most: int = 1
    rest: list

    def __call__(self, view):
        return zip(list(view.queue)[: self.most], view.idle)
"""


def test_an_annotation_does_not_count(folder, runs):
    def study(text):
        rule = fresh_module(folder, rules_of_mine=text).Rule
        return compared(folder / "results", policies=["fifo", rule()], seeds=range(2))

    study(ANNOTATED)
    done = len(runs)
    study(ANNOTATED.replace("most: int", "most: float").replace("rest: list", "rest: dict"))
    assert len(runs) == done
    refused(lambda: study(ANNOTATED.replace("= 1", "= 2")), "code.rules_of_mine:Rule")


LOCK = threading.Lock()


def guarded(view):
    with LOCK:
        return zip(view.queue, view.idle)


def test_a_policy_that_uses_what_cannot_be_told_is_refused_before_anything_is_made(tmp_path, runs):
    refused(
        partial(compared, tmp_path / "results", policies=["fifo", guarded]),
        "results directory",
        "lock",
    )
    assert not (tmp_path / "results").exists()
    assert runs == []


class Late(PoissonWorkload):
    """The plain workload, whose jobs are due at once."""

    def generate(self, seed, service):
        return [
            (cg.Job(*job[:2], job.submit_s, *job[3:]), draws)
            for job, draws in super().generate(seed, service)
        ]


class Slow(Service):
    def factors(self, generator, complexity):
        return [60 * factor for factor in super().factors(generator, complexity)]


class Scarce(Market):
    def provisioning_s(self, status, uniform):
        return 7200.0


class Dear(GpuType):
    pass


class Early(Clock):
    def multiplier(self, time_s):
        return 0.1


class Short(DeadlineClasses):
    def window_s(self, tight):
        return super().window_s(tight) / 100


def part_of(cls, plain):
    return cls(**{item.name: getattr(plain, item.name) for item in fields(plain) if item.init})


OWN_PARTS = {
    "workload": replace(quiet, workload=part_of(Late, quiet.workload)),
    "workload.deadlines": replace(quiet, workload=replace(quiet.workload, deadlines=Short())),
    "service": replace(quiet, service=Slow()),
    "market": replace(quiet, market=Scarce()),
    "market.clock": replace(quiet, market=Market(part_of(Early, quiet.market.clock))),
    "slots[2]": replace(
        quiet, slots=(*quiet.slots[:2], part_of(Dear, quiet.slots[2]), *quiet.slots[3:])
    ),
    "gpus[1]": replace(quiet, gpus=(quiet.gpus[0], part_of(Dear, quiet.gpus[1]), *quiet.gpus[2:])),
}


@pytest.mark.parametrize("part", OWN_PARTS)
def test_a_part_of_a_class_of_ones_own_is_never_taken_for_its_parent(part, tmp_path, runs):
    own = OWN_PARTS[part]
    compared(tmp_path / "plain")
    refused(
        partial(compared, tmp_path / "plain", own),
        f"scenario.{part}.class",
        "test_store",
        "use another directory",
    )
    found = compared(tmp_path / "own", own)
    refused(partial(compared, tmp_path / "own"), f"scenario.{part}.class", "use another directory")
    done = len(runs)
    assert (
        csv_text(compared(tmp_path / "own", own).rows)
        == csv_text(found.rows)
        == csv_text(compared(scenario=own).rows)
    )
    assert len(runs) == done + 10  # the last has no directory
    with pytest.raises(cg.InputError, match="cannot be written to TOML"):
        own.to_toml(tmp_path / "own.toml")
    assert not (tmp_path / "own.toml").exists()


class Colour(Enum):
    RED = 1


def test_a_part_of_a_class_of_ones_own_is_found_within_a_list():
    own = OWN_PARTS["market.clock"].market
    assert foreign_part((1, Status.HIGH, Market())) is None
    assert foreign_part((1, own)) is own.clock
    assert foreign_part((1, Colour.RED)) is Colour.RED
    assert foreign_part(((1, own), Colour.RED)) is own.clock


def test_a_subclass_misses_deadlines_that_its_parent_meets(tmp_path):
    """What made a folder of the one a false answer for the other."""
    late, plain = (
        compared(scenario=each).means()["fifo"]["miss_pct"].mean
        for each in (OWN_PARTS["workload"], quiet)
    )
    assert (late, plain) == (100, 0)


def test_a_class_of_ones_own_is_told_by_its_code(folder, runs):
    text = (
        "from cgrsp_simpy.rental.workload import PoissonWorkload\n\n"
        "FACTOR = 1\n\n"
        "class Mine(PoissonWorkload):\n"
        "    def generate(self, seed, service):\n"
        "        return super().generate(seed + FACTOR, service)\n"
    )

    def study(text):
        cls = fresh_module(folder, workloads=text).Mine
        return compared(folder / "results", replace(quiet, workload=part_of(cls, quiet.workload)))

    study(text)
    done = len(runs)
    study(text)
    assert len(runs) == done
    refused(lambda: study(text.replace("FACTOR = 1", "FACTOR = 2")), "code.workloads:Mine.generate")
    refused(lambda: study(text.replace("seed +", "seed -")), "code.workloads:Mine.generate")


class Burst(PoissonWorkload):
    """Equal to another of its fields, though it has a number more."""

    def __init__(self, jobs, rate_per_s, first_s):
        super().__init__(jobs, rate_per_s)
        object.__setattr__(self, "first_s", first_s)

    def generate(self, seed, service):
        for job, draws in super().generate(seed, service):
            yield (
                cg.Job(
                    job.id, job.submit_s + self.first_s, job.deadline_s + self.first_s, *job[3:]
                ),
                draws,
            )


def test_scenarios_that_are_equal_only_by_name_are_run_apart(tmp_path):
    def scenario(first_s):
        return cg.Scenario("burst", Burst(6, 0.01, first_s))

    assert scenario(1.0) == scenario(2.0)
    study = cg.sweep(scenario, {"first_s": [0.0, 36000.0]}, ["fifo"], range(2))
    early, late = (point.means()["fifo"]["makespan_h"].mean for _, point in study)
    assert late > early + 9
    compared(tmp_path, scenario(1.0))
    refused(lambda: compared(tmp_path, scenario(2.0)), "scenario.workload.first_s", "1.0", "2.0")


def test_what_a_run_leaves_in_a_policy_is_no_other_policy(tmp_path, runs):
    class Remembers:
        name = "remembers"

        def __init__(self):
            self.seen = []

        def __call__(self, view):
            self.seen.append(view.now_s)
            return zip(view.queue, view.idle)

    policy = Remembers()
    compared(tmp_path, policies=["fifo", policy])
    done = len(runs)
    compared(tmp_path, policies=["fifo", policy])
    assert len(runs) == done


def test_another_source_of_the_package_is_refused(tmp_path, monkeypatch):
    compared(tmp_path)
    monkeypatch.setattr(store, "source_digest", lambda: "0123456789abcdef")
    refused(
        partial(compared, tmp_path),
        "version of cgrsp_simpy",
        "source 0123456789abcdef",
        "use another directory",
    )


# ---- another log, other versions, other files ----


@pytest.mark.parametrize(
    "changed",
    [
        "submit_s,service_s\n0,5\n10,60\n",  # other seconds of service
        "submit_s,service_s\n0,5\n900,6\n",  # other submissions
        "submit_s,service_s,deadline_s\n0,5,9000\n10,6,9000\n",  # deadlines
        "submit_s,service_s,gpus\n0,5,2\n10,6,1\n",  # wider jobs
    ],
)
def test_a_changed_log_is_refused(tmp_path, changed):
    log = tmp_path / "log.csv"
    log.write_text("submit_s,service_s\n0,5\n10,6\n")
    compared(tmp_path / "results", cg.trace(log))
    log.write_text(changed)
    refused(lambda: compared(tmp_path / "results", cg.trace(log)), "use another directory")


@pytest.mark.parametrize("name", ["Python", "cgrsp_simpy", "simpy", "numpy", "scipy"])
def test_other_versions_are_refused_with_both_numbers(tmp_path, name):
    compared(tmp_path)
    path = tmp_path / "manifest.json"
    manifest = json.loads(path.read_text())
    now, manifest["versions"][name] = manifest["versions"][name], "0.0.9"
    path.write_text(json.dumps(manifest))
    before = files(tmp_path)
    refused(
        partial(compared, tmp_path),
        str(tmp_path),
        f"version of {name}",
        '"0.0.9"',
        f'"{now}"',
        "use another directory",
    )
    assert files(tmp_path) == before


def test_another_command_and_time_are_no_other_study(tmp_path, monkeypatch):
    compared(tmp_path)
    kept = files(tmp_path)
    monkeypatch.setattr(sys, "argv", ["another.py"])
    compared(tmp_path)
    assert files(tmp_path) == kept  # the manifest stays that of the beginning


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused(partial(compared, tmp_path), str(tmp_path), "notes.txt", "empty directory")
    assert files(tmp_path) == {"notes.txt": b"mine"}


def test_a_folder_that_is_refused_stays_as_it_was(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    refused(partial(compared, tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_chunks_without_a_configuration_are_never_another_studys_results(tmp_path):
    compared(tmp_path, cg.day("quiet", 1))
    # ended early, and a damaged configuration removed
    for name in ("configuration.json", "rows.csv", "summary.json"):
        (tmp_path / name).unlink()
    refused(partial(compared, tmp_path), str(tmp_path), "no configuration.json", "empty directory")


# ---- damage ----

DAMAGE = [
    # (a file, what is in it)
    ("chunks/000001.json", b""),  # empty
    ("chunks/000001.json", b"[[[6, 1, 0"),  # cut off
    ("chunks/000001.json", b"\xff\xfe\x00"),  # binary
    *(
        ("chunks/000001.json", text)
        for text in (
            b"[]",  # neither of two units
            b"{}",  # not a list
            b"null",  # nothing
            b"5",  # a number
            b'"abc"',  # a text, whose letters would pass for errors
            b"[[], []]",  # units without outcomes
            b"[[[1], [1]], [[1], [1]]]",  # sums without numbers
            b"[[5, 5], [5, 5]]",  # numbers in place of sums
            b'[["a", "b"]]',  # one unit of two
            b'[["a"], ["b"]]',  # one policy of two
            b'{"outcomes": [[["a", "b"]]]}',  # no checksum
            b'{"sha256": "", "outcomes": [["a", "b"], ["a", "b"]]}',  # a wrong one
        )
    ),
    ("manifest.json", b""),  # empty
    ("manifest.json", b"{"),  # cut off
    *(("manifest.json", text) for text in (b"[]", b"{}", b"5")),  # no versions
    ("configuration.json", b""),  # empty
    ("configuration.json", b"{"),  # cut off
    ("configuration.json", b"[]"),  # not a table
    ("configuration.json", b"{}"),  # without a field
]


@pytest.mark.parametrize(
    ("name", "text"), DAMAGE, ids=[f"{name} {text!r}" for name, text in DAMAGE]
)
def test_a_damaged_file_is_one_line(name, text, tmp_path, capsys):
    command = [
        "compare",
        "--day",
        "quiet",
        "--policies",
        "fifo,spt",
        "--seeds",
        "6",
        "--out",
        str(tmp_path),
    ]
    assert main(command) == 0
    capsys.readouterr()
    (tmp_path / name).write_bytes(text)
    before = files(tmp_path)
    assert main(command) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert str(tmp_path) in err
    assert (
        "made with"
        if text in (b"[]", b"{}") and name == "configuration.json"
        else f"{name} is damaged"
    ) in err
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "0", "1e9", "-1", "6.0000001", '"6"', "null", "true"]
)
@pytest.mark.parametrize("place", range(9))
def test_an_altered_number_is_refused(tmp_path, place, number):
    compared(tmp_path, seeds=range(2))
    path = tmp_path / "chunks" / "000000.json"
    kept = json.loads(path.read_text())
    text = json.dumps(kept["outcomes"][0][0][place])
    kept["outcomes"][0][0][place] = json.loads(number)
    path.write_text(json.dumps(kept))
    if number == text:
        compared(tmp_path, seeds=range(2))
    else:
        refused(partial(compared, tmp_path, seeds=range(2)), "000000.json", "altered", "remove it")


def test_a_file_of_another_task_or_study_is_refused(tmp_path):
    compared(tmp_path / "one")
    compared(tmp_path / "other", cg.day("quiet", 4))
    chunks = tmp_path / "one" / "chunks"
    kept = (chunks / "000000.json").read_bytes()
    for path in (chunks / "000001.json", tmp_path / "other" / "chunks" / "000000.json"):
        (chunks / "000000.json").write_bytes(path.read_bytes())
        refused(partial(compared, tmp_path / "one"), "000000.json", "altered")
    (chunks / "000000.json").write_bytes(kept)
    compared(tmp_path / "one")


def test_a_damaged_chunk_that_is_removed_is_made_again(tmp_path):
    compared(tmp_path)
    kept = files(tmp_path)
    path = tmp_path / "chunks" / "000001.json"
    path.write_text("[[[6, 1, 0")
    refused(partial(compared, tmp_path), str(path), "damaged", "remove it")
    path.unlink()
    compared(tmp_path)
    assert files(tmp_path) == kept


# ---- nowhere to write ----


@pytest.mark.parametrize(
    "where",
    ["file", "file/results", "/proc/nowhere/results", "/dev/null", "x" * 300],
    ids=lambda it: it[:24],
)
def test_a_place_that_cannot_be_written_is_one_line(where, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("mine")
    assert main(["compare", "--day", "quiet", "--seeds", "2", "--out", where]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert f"cgrsp compare: {where}: " in err
    assert files(tmp_path) == {"file": b"mine"}


def test_a_file_in_place_of_the_chunks_is_one_line(tmp_path):
    compared(tmp_path)
    shutil.rmtree(tmp_path / "chunks")
    (tmp_path / "chunks").write_text("mine")
    refused(partial(compared, tmp_path), str(tmp_path / "chunks"))


def test_a_disk_that_has_become_read_only_is_one_line(tmp_path, monkeypatch):
    opened = Path.open

    def read_only(path, mode="r", *more, **options):
        if mode == "r":
            return opened(path, mode, *more, **options)
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def kept(path, missing_ok=False):  # as Linux does, whether the file is there or not
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    compared(tmp_path)
    (tmp_path / "chunks" / "000001.json").unlink()
    monkeypatch.setattr(Path, "open", read_only)
    monkeypatch.setattr(Path, "unlink", kept)
    refused(partial(compared, tmp_path), "000001.json", os.strerror(errno.EROFS))


@pytest.mark.parametrize("call", range(1, 8))
def test_a_full_disk_is_one_line_and_leaves_no_half_of_a_file(call, tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    compared(whole)
    kept, calls, fsync = files(whole), [], os.fsync

    def full(number):
        calls.append(number)
        if len(calls) == call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(number)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        refused(
            partial(compared, tmp_path / "full"), str(tmp_path / "full"), os.strerror(errno.ENOSPC)
        )
    assert len(calls) == call
    # what is there is whole, and there is no .part
    assert files(tmp_path / "full").items() <= kept.items()
    assert len(files(tmp_path / "full")) == call - 1
    compared(tmp_path / "full")  # there is room again
    assert files(tmp_path / "full") == kept


def test_a_study_writes_seven_files(tmp_path):
    compared(tmp_path)
    assert len(files(tmp_path)) == 7  # one for each call of the test above


def limited():
    """No file may grow beyond 8000 bytes: configuration and manifest fit, the rows of
    300 runs do not.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, 8000))


@pytest.mark.slow
@posix
@pytest.mark.parametrize("workers", [[], ["--workers", "2"]], ids=["here", "2 workers"])
def test_a_file_that_cannot_grow_ends_the_command_with_one_line(tmp_path, workers):
    command = [
        *CGRSP,
        *"compare --day quiet --policies fifo,spt --seeds 150 --out results".split(),
        *workers,
    ]
    options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False, "timeout": 60}
    done = subprocess.run(
        command, preexec_fn=limited, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, **options
    )
    assert (done.returncode, done.stdout) == (2, "")
    [line] = [line for line in done.stderr.splitlines() if line != "cgrsp: results are in results"]
    assert (
        line
        == f"cgrsp compare: {Path('results', 'chunks', '000000.json')}: {os.strerror(errno.EFBIG)}"
    )
    assert set(files(tmp_path)) == {"results/configuration.json", "results/manifest.json"}
    done = subprocess.run(command, **options)  # the limit is gone
    assert done.returncode == 0
    assert (tmp_path / "results" / "rows.csv").stat().st_size > 2500


# ---- two at once ----


def test_two_commands_in_one_directory_do_not_disturb_each_other(tmp_path, monkeypatch):
    one, other = Store(tmp_path, {}, [0], {}), Store(tmp_path, {}, [0], {})
    outcomes, fsync = [[[6, 1.5]]], os.fsync

    def meanwhile(number):
        monkeypatch.setattr(os, "fsync", fsync)
        other.save(0, outcomes)
        fsync(number)

    monkeypatch.setattr(os, "fsync", meanwhile)
    one.save(0, outcomes)
    assert one.load(0, [1]) == outcomes
    assert [path.name for path in (tmp_path / "chunks").iterdir()] == ["000000.json"]


# ---- a sudden end ----

KILLED = "compare --day hectic --policies fifo,spt,rh --seeds 24 --workers 2 --out results"


def killed(folder, enough):
    """A command that is killed, with its workers, as soon as so many tasks are finished."""
    command = subprocess.Popen(
        [*CGRSP, *KILLED.split()],
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while (
            not enough(len(list(folder.glob("results/chunks/*.json")))) and time.monotonic() < until
        ):
            assert command.poll() is None, "it ended before it was killed"
            time.sleep(0.002)
    finally:
        os.killpg(command.pid, signal.SIGKILL)
    assert command.wait(20) == -signal.SIGKILL


def finished(folder):
    done = process([*CGRSP, *KILLED.split()], folder)
    assert (done.returncode, done.stderr) == (0, "cgrsp: results are in results\n")
    return done.stdout


@pytest.mark.slow
@posix
def test_a_killed_study_goes_on_to_the_same_files_to_the_bit(tmp_path):
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    stopped.mkdir()
    whole.mkdir()
    killed(stopped, enough=lambda tasks: tasks >= 2)
    left = times(stopped / "results")
    again, once = finished(stopped), finished(whole)
    kept = files(whole)
    assert 2 <= len(left) < len(times(whole / "results"))  # it was not finished
    assert again == once
    # the command in manifest.json, too: it is the same one in another folder
    assert files(stopped) == kept
    # what was finished was not made again
    assert left.items() <= times(stopped / "results").items()
    assert json.loads(kept["results/manifest.json"])["command"].endswith(f" {KILLED}")


def test_the_source_is_told_alike_from_a_checkout_and_from_a_wheel_which_carries_the_lectures(
    tmp_path,
):
    package = Path(cg.__file__).parent
    copy = tmp_path / "cgrsp_simpy"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "lectures").mkdir(exist_ok=True)
    (copy / "lectures" / "09_new.py").write_text("print()\n")
    (copy / "cli" / "run.py").write_text("")
    assert store.source_digest(copy) == store.source_digest(package)
    with (copy / "model" / "market.py").open("a") as file:
        file.write("# changed\n")
    assert store.source_digest.__wrapped__(copy) != store.source_digest(package)
