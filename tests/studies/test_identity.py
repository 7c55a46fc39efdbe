"""Identity of a study in a results directory: code and values of policies, and users'
classes.
"""

import importlib
import json
import math
import subprocess
import sys
import sysconfig
import threading
from dataclasses import fields, replace
from enum import Enum
from functools import partial, singledispatch, update_wrapper
from pathlib import Path
from shutil import which
from typing import NamedTuple

import numpy as np
import pytest
from studies.directories import compared, quiet, refused
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.rental.workload import DeadlineClasses, PoissonWorkload
from cgrsp_simpy.studies.identity import Identity, Restored, home, imported_by

# ---- users' code ----


@pytest.fixture
def same_study(runs):
    """Run a study twice: the second time nothing is run."""

    def run(study):
        study()
        done = len(runs)
        study()
        assert len(runs) == done

    return run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder on the path, whose modules are forgotten at the end."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    for name in (path.stem for path in tmp_path.glob("*.py")):
        sys.modules.pop(name, None)


RULE = "def rule(view):\n    return zip(view.queue, view.idle)\n"


class Scaled:
    """A callable object that names the function within, as decorators do."""

    def __init__(self, function, factor):
        update_wrapper(self, function)
        self.function, self.factor = function, factor

    def __call__(self, number):
        return self.factor * self.function(number)


@cg.model
def of_value(env, value=None):
    env.run(1)
    return {"figure": float(value(2.0) if callable(value) else np.ma.sum(value))}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Scaled(abs, 1.0), Scaled(abs, 5.0)),
        tuple(map(type("Values", (list,), {}), ([1.0], [2.0]))),
        tuple(np.ma.array([1.0, 2.0], mask=[0, last]) for last in (0, 1)),
        # whose SeedSequence is copied by a function of Cython
        tuple(partial(lambda _, n: n, np.random.default_rng(seed)) for seed in (1, 2)),
    ],
)
def test_objects_with_different_contents_are_different_studies(first, second, tmp_path):
    for value in (first, first):
        cg.compare(of_value, {"a": {"value": value}}, range(2), out=tmp_path / "out")
    check_refused(
        lambda: cg.compare(
            of_value, {"a": {"value": second}}, range(2), out=tmp_path / "out"
        ),
        "was created with",
    )


def test_arrays_and_long_lists_of_numbers_are_kept_and_others_are_not():
    identity, values = Identity(), (True, 1, 1.5, "text", b"bytes")
    digests = [identity.of(np.array([value]))["data"] for value in values]
    assert ([*identity.data], len(digests[0])) == (digests[:3], 16)
    assert [
        type(identity.of(value))
        for value in ((0.5,) * 100, (1, 0.5, "a") * 34, (True,) * 101)
    ] == [list, dict, list]


@pytest.mark.parametrize(
    "value",
    [
        (None, True, 0, "float", 1.5, (1, (2, "b")), ("float", 1), ("float", "nan ")),
        (math.inf, -math.inf, math.nan, ()),
        {"a": 1.5, "b": {"c": (1,)}},
        (0.1,) * 101,
        (0.1,) * 100,
        np.arange(6.0).reshape(2, 3),
        np.array([True, False]),
        cg.Terms(warm_s=60, preemption=(cg.Preemption("A", 1.5),)),
        cg.Status.LOW,
    ],
    ids=str,
)
def test_plain_values_are_restored(value):
    identity = Identity()
    plain = json.loads(json.dumps(identity.of(value)))
    assert repr(Restored(identity.data.__getitem__).of(plain)) == repr(value)


test_only_numbers_and_classes_of_this_package_are_restored = refusals(
    ({"class": "subprocess:Popen"}, "'subprocess:Popen', which only the script that"),
    ({"class": "signal:Signals"}, "which only the script that wrote it"),  # an Enum
    ({"class": "cgrsp_simpy.base.checks:require"}, "which only the script"),
    ({"array": "O", "shape": [1], "data": "a"}, "array(='O') must be one of numbers"),
    call=Restored({}.__getitem__).of,
)


def test_a_function_is_not_confused_with_a_deleted_one():
    """Python may reuse the id of a deleted object."""
    of, module = Identity().of, {"__name__": "mine"}
    assert len({str(of(eval(f"lambda: {n}", module))) for n in range(9)}) == 9


COMPILED = """
#include <Python.h>
static PyObject *twice(PyObject *self, PyObject *number) {
  return PyFloat_FromDouble(2.0 * PyFloat_AsDouble(number));
}
static PyMethodDef all[] = {{"twice", twice, METH_O, ""}, {NULL}};
static PyModuleDef one = {PyModuleDef_HEAD_INIT, "in_c", "", -1, all};
PyMODINIT_FUNC PyInit_in_c(void) { return PyModule_Create(&one); }
"""


@pytest.mark.skipif(which("gcc") is None, reason="no compiler")
def test_a_function_in_c_is_identified_by_its_file(folder, monkeypatch):
    (folder / "in_c.c").write_text(COMPILED)
    file = folder / f"in_c{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    if not (Path(include) / "Python.h").exists():
        pytest.skip("no headers")
    command = ["gcc", "-shared", "-fPIC", f"-I{include}", "in_c.c", "-o", file.name]
    subprocess.run(command, cwd=folder, check=True)
    function = importlib.import_module("in_c").twice
    first, changed = Identity(), Identity()
    first.of(function)
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"compiled again")
    changed.of(function)
    assert first.code.keys() == changed.code.keys() and first.code != changed.code
    monkeypatch.delattr(sys.modules["in_c"], "__file__")
    check_refused(lambda: Identity().of(function), "which is in no file")


@pytest.mark.parametrize(
    "study",
    [
        partial(compared, "results", policies=["fifo", "my_rules.py:rule"]),
        lambda: compared(
            "results",
            cg.waiting.Scenario(
                cg.waiting.ExponentialJobs(9), machines=1, order="my_rules.py:rule"
            ),
            policies=["sww"],
        ),
    ],
    ids=["policy", "order"],
)
def test_a_changed_policy_file_is_rejected(study, tmp_path, monkeypatch, runs):
    monkeypatch.chdir(tmp_path)
    Path("my_rules.py").write_text(RULE)
    study()
    done = len(runs)
    Path("my_rules.py").write_text(RULE)  # touched, not changed
    study()
    assert len(runs) == done
    Path("my_rules.py").write_text(RULE.replace("view.queue", "view.queue[::-1]"))
    refused(
        study,
        "results",
        "code.cgrsp_simpy_rules.my_rules:rule",
        "use another directory",
    )


def fresh_module(folder, **texts):
    """Write modules, forget what was imported before, and import the first."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
        sys.modules.pop(name, None)
    importlib.invalidate_caches()
    return importlib.import_module(next(iter(texts)))


HELPER = (
    "MOST = 1\n"
    "BY = {'a': -1, 'b': 2}\n\n"
    "def order(queue):\n"
    "    return list(queue)[:MOST]\n"
)
USES = {
    "a name": (
        "from helper import order\n\n"
        "def rule(view):\n"
        "    return zip(order(view.queue), view.idle)\n"
    ),
    "a module": (
        "import helper\n\n"
        "def rule(view):\n"
        "    return zip(helper.order(view.queue), view.idle)\n"
    ),
    "within": (
        "def rule(view):\n"
        "    from helper import order\n"
        "    return zip(order(view.queue), view.idle)\n"
    ),
    "within a function of a module": (
        "import helper\n\n"
        "def rule(view):\n"
        "    def first():\n"
        "        return helper.order(view.queue)\n"
        "    return zip(first(), view.idle)\n"
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
        "from helper import Parent\n\n"
        "class Rule(Parent):\n"
        "    name = 'rule'\n\n"
        "rule = Rule()\n"
    ),
    "a method": "from helper import Parent\n\nrule = Parent().__call__\n",
    "a function within": (
        "from helper import order\n\n"
        "def rule(view):\n"
        "    def ordered():\n"
        "        return order(view.queue)\n\n"
        "    return zip(ordered(), view.idle)\n"
    ),
    "a property of an Enum": (
        "from enum import Enum\n"
        "from helper import order\n\n"
        "class Rules(Enum):\n"
        "    FIRST = 1\n\n"
        "    @property\n"
        "    def order(self):\n"
        "        return order\n\n"
        "def rule(view):\n"
        "    return zip(Rules.FIRST.order(view.queue), view.idle)\n"
    ),
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
def test_a_policy_is_identified_by_all_the_code_and_values_that_it_uses(
    text, folder, runs, same_study
):
    """A helper of another file, and its own constant, are part of a policy, however the
    policy comes to them.
    """
    helper = HELPER + MORE

    def study(helper):
        modules = {
            "helper": helper,
            "between": "from helper import order\n",
            "policies": text,
        }
        for name in ("policies", "between"):
            sys.modules.pop(name, None)
        fresh_module(folder, **modules)
        policy = importlib.import_module("policies").rule
        return compared(folder / "results", policies=["fifo", policy], seeds=range(2))

    same_study(lambda: study(helper))
    done = len(runs)
    for old, new in (
        ("MOST = 1", "MOST = 2"),
        ("(queue)[:MOST]", "(queue)[::-1][:MOST]"),
    ):
        refused(
            partial(study, helper.replace(old, new)),
            "code.helper:order",
            "use another directory",
        )
    changed = helper.replace("'b': 2", "'b': 3")  # which nobody uses
    if "helper.order" in text or text == USES["within"]:  # a module as a whole
        refused(partial(study, changed), "code.policies:rule")
    else:
        study(changed)
    assert len(runs) == done


@pytest.mark.parametrize("dots", [".", ".."])
def test_relative_imports_of_a_policy_are_part_of_it(dots, folder, runs):
    def study(most):
        for name in [
            name for name in sys.modules if name.partition(".")[0] == "dotted"
        ]:
            del sys.modules[name]
        inner = folder / "dotted" / "inner"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "__init__.py").touch()
        ((inner if dots == "." else inner.parent) / "helper.py").write_text(
            f"MOST = {most}\n"
        )
        (inner / "rules.py").write_text(
            "def rule(view):\n"
            f"    from {dots}helper import MOST\n"
            "    return zip(view.queue[:MOST], view.idle)\n"
        )
        importlib.invalidate_caches()
        policy = importlib.import_module("dotted.inner.rules").rule
        return compared(folder / "results", policies=["fifo", policy], seeds=range(2))

    assert not study(1).failures
    done = len(runs)
    study(1)
    assert len(runs) == done
    refused(partial(study, 2), "code.dotted.inner.rules:rule", "use another directory")


def recursive():
    """Helpers that call each other, and a function that contains itself."""

    def rule(view):
        return rest(view.queue, view.idle)

    def rest(queue, idle):
        return (
            [(queue[0], idle[0]), *rest(queue[1:], idle[1:])] if queue and idle else []
        )

    rule.itself = rule
    return rule


def test_self_references_are_reported(tmp_path, same_study):
    same_study(lambda: compared(tmp_path, policies=["fifo", recursive()]))
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
    """A function without a source file."""
    names = {"__name__": "nowhere"}
    exec(RULE.replace("view.queue", f"view.queue[:{number}]"), names)
    return names["rule"]


ORDERS = {1: cg.rules.by_deadline, 2: cg.rules.by_submission}
TOLD = {
    "within a function": only,
    "nameless": lambda number: lambda view: list(zip(view.queue, view.idle))[:number],
    "an object": Rule,
    "a named tuple": Numbered,
    "an object with less content by protocol 5 of pickle": lambda number: type(
        "Shared",
        (Rule,),
        {"__reduce_ex__": lambda rule, at: (Rule, (rule.number if at < 5 else 2,))},
    )(number),
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


@pytest.mark.parametrize("policy", TOLD.values(), ids=TOLD)
def test_policies_of_every_kind_are_distinguished(policy, tmp_path, same_study):
    def study(number):
        return compared(tmp_path, policies=["fifo", policy(number)], seeds=range(2))

    same_study(lambda: study(1))
    refused(lambda: study(2), "created with", "use another directory")


ANNOTATED = """
class Rule:
    most: int = 1
    rest: list

    def __call__(self, view):
        return zip(list(view.queue)[: self.most], view.idle)
"""


@pytest.mark.parametrize("place", [None, "a_file_in_no_folder"])
def test_a_module_without_a_file_is_user_code(place, monkeypatch):
    module = type(sys)(f"made_{place}")
    module.__spec__ = place and importlib.machinery.ModuleSpec(
        module.__name__, None, origin=place, is_package=True
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    # eval as in a program that runs submitted code: the function has no module
    assert [
        *map(
            home,
            (
                module,
                *(eval("lambda: 0", names) for names in ({}, {"__name__": "__main__"})),
                cg,
                sys,
                int,
                type,
                abs,
                [].append,
            ),
        )
    ] == [
        *["user"] * 3,
        "own",
        *["library"] * 5,
    ]
    # of libraries, and of this package
    assert [*map(imported_by, (singledispatch, cg.Scenario.compiled_setup.func))] == [
        [],
        [],
    ]


def test_an_annotation_does_not_count(folder, runs):
    def study(text):
        rule = fresh_module(folder, rules_of_mine=text).Rule
        return compared(folder / "results", policies=["fifo", rule()], seeds=range(2))

    study(ANNOTATED)
    done = len(runs)
    study(
        ANNOTATED.replace("most: int", "most: float").replace(
            "rest: list", "rest: dict"
        )
    )
    assert len(runs) == done
    refused(lambda: study(ANNOTATED.replace("= 1", "= 2")), "code.rules_of_mine:Rule")


LOCK = threading.Lock()


def guarded(view):
    with LOCK:
        return zip(view.queue, view.idle)


def test_a_policy_that_uses_unidentifiable_values_is_rejected_before_any_run(
    tmp_path, runs
):
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


class Slow(cg.Service):
    def factors(self, generator, complexity):
        return [60 * factor for factor in super().factors(generator, complexity)]


class Scarce(cg.Market):
    def provisioning_s(self, status, uniform):
        return 7200.0


class Dear(cg.GpuType):
    pass


class Early(cg.Clock):
    def multiplier(self, time_s):
        return 0.1


class Short(DeadlineClasses):
    def window_s(self, tight):
        return super().window_s(tight) / 100


def part_of(cls, plain):
    return cls(
        **{item.name: getattr(plain, item.name) for item in fields(plain) if item.init}
    )


OWN_PARTS = {
    "workload": replace(quiet, workload=part_of(Late, quiet.workload)),
    "workload.deadlines": replace(
        quiet, workload=replace(quiet.workload, deadlines=Short())
    ),
    "service": replace(quiet, service=Slow()),
    "market": replace(quiet, market=Scarce()),
    "market.clock": replace(
        quiet, market=cg.Market(part_of(Early, quiet.market.clock))
    ),
    "slots[2]": replace(
        quiet, slots=(*quiet.slots[:2], part_of(Dear, quiet.slots[2]), *quiet.slots[3:])
    ),
    "gpus[1]": replace(
        quiet, gpus=(quiet.gpus[0], part_of(Dear, quiet.gpus[1]), *quiet.gpus[2:])
    ),
}


@pytest.mark.parametrize("part", OWN_PARTS)
def test_a_part_of_a_user_class_is_never_confused_with_its_parent(part, tmp_path, runs):
    own = OWN_PARTS[part]
    compared(tmp_path / "plain")
    refused(
        partial(compared, tmp_path / "plain", own),
        f"scenario.{part}.class",
        "test_identity",
        "use another directory",
    )
    result = compared(tmp_path / "own", own)
    refused(
        partial(compared, tmp_path / "own"),
        f"scenario.{part}.class",
        "use another directory",
    )
    done = len(runs)
    assert (
        csv_text(compared(tmp_path / "own", own).rows)
        == csv_text(result.rows)
        == csv_text(compared(scenario=own).rows)
    )
    # the last has no directory; the first run of each policy is repeated
    assert len(runs) == done + 12
    check_refused(
        lambda: own.to_toml(tmp_path / "own.toml"), ["cannot be written to TOML"]
    )
    assert not (tmp_path / "own.toml").exists()


def test_a_number_of_numpy_is_the_python_number_unless_it_has_more_digits():
    of = Identity().of
    for number, plain in ((np.float64(0.5), 0.5), (np.int8(3), 3), (np.bool_(1), True)):
        assert (of(number), type(of(number))) == (plain, type(plain))
    one = np.longdouble(1)
    assert of(one) == of(np.longdouble(1)) != of(np.nextafter(one, np.longdouble(2)))


class Colour(Enum):
    RED = 1


def test_a_part_of_a_user_class_is_found_within_a_list():
    own = OWN_PARTS["market.clock"].market
    assert users_part((1, cg.Status.HIGH, cg.Market())) is None
    assert users_part((1, own)) is own.clock
    assert users_part((1, Colour.RED)) is Colour.RED
    assert users_part(((1, own), Colour.RED)) is own.clock


def test_a_user_class_is_identified_by_its_code(folder, same_study):
    text = (
        "from cgrsp_simpy.rental.workload import PoissonWorkload\n\n"
        "FACTOR = 1\n\n"
        "class Mine(PoissonWorkload):\n"
        "    def generate(self, seed, service):\n"
        "        return super().generate(seed + FACTOR, service)\n"
    )

    def study(text):
        cls = fresh_module(folder, workloads=text).Mine
        return compared(
            folder / "results", replace(quiet, workload=part_of(cls, quiet.workload))
        )

    same_study(lambda: study(text))
    refused(
        lambda: study(text.replace("FACTOR = 1", "FACTOR = 2")),
        "code.workloads:Mine.generate",
    )
    refused(
        lambda: study(text.replace("seed +", "seed -")), "code.workloads:Mine.generate"
    )


class Burst(PoissonWorkload):
    """Equal to another of its fields, though it has a number more."""

    def __init__(self, jobs, rate_per_s, first_s):
        super().__init__(jobs, rate_per_s)
        object.__setattr__(self, "first_s", first_s)

    def generate(self, seed, service):
        for job, draws in super().generate(seed, service):
            yield (
                cg.Job(
                    job.id,
                    job.submit_s + self.first_s,
                    job.deadline_s + self.first_s,
                    *job[3:],
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
    refused(
        lambda: compared(tmp_path, scenario(2.0)),
        "scenario.workload.first_s",
        "1.0",
        "2.0",
    )


def test_a_policy_changed_by_a_run_is_the_same_policy(tmp_path, same_study):
    class Remembers:
        name = "remembers"

        def __init__(self):
            self.seen = []

        def __call__(self, view):
            self.seen.append(view.now_s)
            return zip(view.queue, view.idle)

    policy = Remembers()
    same_study(lambda: compared(tmp_path, policies=["fifo", policy]))
