"""Numbers that the papers print, with the places that hold them; and constants and
defaults of functions, methods and classes, by their names, whichever file holds them.
`python tests/pins/test_constants.py` rewrites the latter; names behind it are pinned
from then on.
"""

import importlib
import inspect
import json
import pkgutil
import re
import sys
from dataclasses import fields, is_dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.report import STARVED_S
from cgrsp_simpy.dag import generate as dag_generate
from cgrsp_simpy.decide.month import THESIS_MIX
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.hgsp.instance import CLUSTERS
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.papers.dag import searches as network
from cgrsp_simpy.papers.hgsp import sagreedy
from cgrsp_simpy.papers.llm import table as llm_paper
from cgrsp_simpy.papers.thesis import statements, verdict
from cgrsp_simpy.rental import workload
from cgrsp_simpy.rental.job import DeadlineClasses
from cgrsp_simpy.rental.policies import classic, rules
from cgrsp_simpy.rental.policies.hybrid import (
    MISS_WEIGHT,
    RH_COST_WEIGHT,
    RH_QOS_WEIGHT,
    WAIT_WEIGHT,
)

DEFAULTS = Path(__file__).with_name("constants.json")
PLACES_ON_PAPER = ("plots", "app")
DRAWN = ("figures", "page", "paper.runs")


def default(function, name):
    return inspect.signature(function).parameters[name].default


def of(registry, policy):
    return partial(default, registry[policy])


THESIS = {  # papers/thesis.txt, read as calibration.md says
    "prices, USD/h, Table 4.1": (
        [gpu.price_usd_per_h for gpu in cg.THESIS_GPUS],
        [0.46, 0.27, 0.25, 0.25],
    ),
    "mean times, s, Table 4.1": (
        [gpu.mean_execution_s for gpu in cg.THESIS_GPUS],
        [
            (59.7, 70.2, 100.9),
            (60.9, 69.7, 99.6),
            (62.2, 71.2, 88.7),
            (60.0, 68.7, 98.2),
        ],
    ),
    "average times, s, Table 4.1": (
        [round(78.1 / gpu.speed, 9) for gpu in cg.THESIS_GPUS],
        [78.1, 74.0, 86.0, 97.9],
    ),
    "beta, Section 5.1.1": (
        [gpu.high_stock_probability for gpu in cg.THESIS_GPUS],
        [0.50, 0.65, 0.70, 0.75],
    ),
    "caps and factor of Eq. 3.1": (
        [cg.Market().high_cap, cg.Market().medium_factor, cg.Market().medium_cap],
        [0.95, 1.5, 0.90],
    ),
    "delays, s, Eq. 3.2": (cg.Market().delay_s, ((0, 10), (30, 120), (600, 7200))),
    "multipliers, Section 3.2": (
        sorted(multiplier for _, multiplier in CLOCKS["printed"].bands),
        [0.5, 0.9, 1.0, 1.3],
    ),
    "calibrated hours": (
        (CLOCKS["calibrated"].bands, CLOCKS["calibrated"].start_h),
        (((0, 1.3), (8, 0.9), (12, 0.5), (18, 1.0)), 8),
    ),
    "days, Section 5.1.1": (
        workload.DAYS,
        {
            "quiet": (0.0008, 6),
            "normal": (0.002, 100),
            "hectic": (0.1, 950),
            "surge": (0.02, 730),
        },
    ),
    "complexity, Section 4.4": (workload.COMPLEXITY_MIX, (0.4, 0.4, 0.2)),
    "sigma, Remark 1": (cg.Service().sigma, (0.04, 0.11, 0.23)),
    "tight share": (DeadlineClasses().tight_fraction, 0.2),
    "windows, s": (
        (DeadlineClasses().tight_window_s, DeadlineClasses().loose_window_s),
        (3600, 28_800),
    ),
    "w_c, Eq. 4.1": (
        [of(cg.POLICIES, name)("cost_weight") for name in ("spt", "spt-rescue")],
        [0.3, 0.3],
    ),
    "sp(s), Eq. 4.1": (rules.STOCK_PENALTY, (0.0, 0.2, 1.0)),
    "sigma(s), Section 4.5.4": (classic.STOCK_FACTOR, (1.0, 1.05, 1.15)),
    "alpha of Balanced": (of(cg.POLICIES, "balanced")("alpha"), 0.8),
    "theta of SPT+Rescue, s": (of(cg.POLICIES, "spt-rescue")("threshold_s"), 600),
    "theta, P and widened theta of Adaptive": (
        [
            of(cg.POLICIES, "adaptive")(name)
            for name in ("threshold_s", "pressure", "wide_s")
        ],
        [600, 10, 28_800],
    ),
    "reserve and gate of RH": (
        [of(cg.POLICIES, "rh")(name) for name in ("reserve", "gate")],
        [1, 0.95],
    ),
    "weights of RH": (
        [RH_QOS_WEIGHT, RH_COST_WEIGHT, WAIT_WEIGHT, MISS_WEIGHT],
        [0.5, 0.5, 1, 10],
    ),
    "CR* of CADR": (
        [of(cg.POLICIES, name)("critical_ratio") for name in ("cadr", "cadr-oo")],
        [3, 3],
    ),
    "mix of days, Phase 4": (
        THESIS_MIX,
        {"quiet": 0.20, "normal": 0.55, "hectic": 0.15, "surge": 0.10},
    ),
    "t* of 30 seeds, Section 5.1.3": (round(verdict.z_limit(30), 3), 2.045),
    "large |d|, Section 5.1.3": (statements.LARGE, 0.8),
}
HGSP = {  # papers/hgsp.txt
    "T, alpha, K of SAGreedy, in the authors' program": (
        [sagreedy.INITIAL, sagreedy.COOLING, sagreedy.ITERATIONS],
        [1000, 0.99, 1000],
    ),
    "priority ratio, Eq. 15": ((sagreedy.LEAST_RATIO, sagreedy.MOST_RATIO), (0.1, 0.8)),
    "small cluster, Section IV": (
        [(gpu.name, gpu.memory_gb, gpu.speed) for gpu in CLUSTERS["small-30"]],
        [("A100", 80, 57.0), ("A30", 24, 30.0), ("L40", 48, 55.5)],
    ),
    "sizes of the clusters": (
        {name: len(gpus) for name, gpus in CLUSTERS.items()},
        {
            name + end: 3 * each
            for each, name in enumerate(("small", "medium", "large"), 1)
            for end in ("", "-30")
        },
    ),
    "tasks of the levels": (
        {name: level.tasks for name, level in LEVELS.items()},
        {"tasks1": 1000, "tasks2": 1000, "tasks3": 1500, "tasks4": 2000},
    ),
    "step, s, Section VI.D": (llm_paper.STEP_S, 0.01),
    "GPUs, and of a request, Section VI.C": (
        (llm_paper.GPUS, llm_paper.DEGREE),
        (16, 2),
    ),
    "H100, TFLOPS and GB/s, Section VI.C": (
        (cg.llm.Roofline().tflops, cg.llm.Roofline().bandwidth_gb_per_s),
        (989, 3350),
    ),
}
WAITING = {  # papers/waiting-policies.txt
    "prices, cents/h": (
        (cg.waiting.Prices().on_demand, cg.waiting.Prices().fixed),
        (9.6, 3.84),
    ),
    "short jobs, s": (of(cg.waiting.POLICIES, "ljw")("short_s"), 180),
    "jobs per second of the log": (cg.waiting.BurstyJobs.rate_per_s, 0.4527),
}
CLUSTER = {  # papers/cluster-schedulers.txt, notes.md
    "HPS": (
        [
            of(cg.cluster.SCHEDULERS, "hps")(name)
            for name in ("aging_threshold_s", "aging_boost", "max_wait_s")
        ],
        [300, 2, 1800],
    ),
    "PBS": (
        [
            of(cg.cluster.SCHEDULERS, "pbs")(name)
            for name in ("threshold", "small_gpus", "medium_s", "tolerance")
        ],
        [0.1, 2, 3600, 0.2],
    ),
    "SBS": (
        [
            of(cg.cluster.SCHEDULERS, "sbs")(name)
            for name in ("capacity", "least_similarity")
        ],
        [8, 0.8],
    ),
    "kinds, Section IV.A": (cg.cluster.Mix().kind_shares, (0.5, 0.3, 0.2)),
    "widths, Section IV.A": (
        cg.cluster.Mix().gpu_shares,
        (0.35, 0.25, 0.20, 0.15, 0.05),
    ),
    "durations, Section IV.A": (
        (cg.cluster.Mix().limits_s, cg.cluster.Mix().duration_shares),
        ((1800, 7200, 28_800), (0.40, 0.35, 0.20, 0.05)),
    ),
    "starving, s, Section IV.C": (STARVED_S, 1800),
}
DAG = {  # papers/worl-rtgs.txt, notes.md
    "whales, iterations, b": (
        [
            of(cg.dag.POLICIES, "worl-rtgs")(name)
            for name in ("whales", "iterations", "b")
        ],
        [10, 300, 1],
    ),
    "gamma": (of(cg.dag.POLICIES, "worl-rtgs")("gamma"), 0.97),
    "episodes": (of(cg.dag.POLICIES, "ddqn")("episodes"), 1000),
    "hidden layers": (network.HIDDEN, (128, 64)),
    "times, s, Section 4.2 and 5.6": (
        dag_generate.TIMES_S,
        {"small": (10, 2), "medium": (20, 4), "large": (30, 6), "short": (2, 1)},
    ),
}
PRINTED = {
    f"{paper}: {name}": pair
    for paper, some in (
        ("thesis", THESIS),
        ("hgsp", HGSP),
        ("waiting", WAITING),
        ("cluster", CLUSTER),
        ("dag", DAG),
    )
    for name, pair in some.items()
}


def test_printed_figures_of_the_papers():
    for name, (value, printed) in PRINTED.items():
        assert value == printed, name


# ---- every other number ----


def plain(value):
    """Return whether the value is a number, or a list or table of numbers and their
    names.
    """
    if isinstance(value, np.ndarray):
        return np.issubdtype(value.dtype, np.number)
    if isinstance(value, dict):
        return all(isinstance(key, str | int) for key in value) and plain(
            (*value.values(),)
        )
    if isinstance(value, tuple | list):
        numbers = [each for each in value if not isinstance(each, str)]
        return bool(numbers) and all(map(plain, numbers))
    return isinstance(value, int | float) and value == value


def owned(module):
    """Names of numbers, and of defaults of functions and classes, that a module
    defines; and the bounds of the thesis's sentences.
    """
    if module is statements:
        yield (
            "of sentences",
            [
                (part.text, part.low, part.high, part.n)
                for claim in statements.CLAIMS
                for part in claim.parts
            ],
        )
    for name, value in vars(module).items():
        if name.strip("_").isupper() and name != "TYPE_CHECKING":
            yield name, value
        if getattr(value, "__module__", "") == module.__name__:
            yield from defaults(name, value)


def defaults(name, value):
    """Names of the numbers in a class, and of the defaults of its fields and methods,
    or of a function's, which may be compiled.
    """
    value = getattr(value, "py_func", value)
    if inspect.isfunction(value):
        for each, parameter in inspect.signature(value).parameters.items():
            yield f"{name}.{each}", parameter.default
    elif inspect.isclass(value):
        for each, member in vars(value).items():
            yield f"{name}.{each}", member
            member = getattr(member, "__func__", member)
            if inspect.isfunction(member):
                yield from defaults(f"{name}.{each}", member)
        for field in fields(value) if is_dataclass(value) else ():
            yield f"{name}.{field.name}", field.default
            yield f"{name}.{field.name} shown", field.repr


@cache
def modules():
    """All modules but those of drawings and pages."""
    found = []
    for room in pkgutil.iter_modules(cg.__path__, "cgrsp_simpy."):
        if room.ispkg and room.name.rpartition(".")[2] not in PLACES_ON_PAPER:
            path = importlib.import_module(room.name).__path__
            found += [
                importlib.import_module(info.name)
                for info in pkgutil.walk_packages(path, room.name + ".")
                if not info.name.endswith(DRAWN)
            ]
    return found


def numbers():
    """Name -> the values that it has in the package, whichever file holds it."""
    found = {}
    for module in modules():
        for name, value in owned(module):
            if plain(value):
                found.setdefault(name, set()).add(
                    json.dumps(value, default=np.ndarray.tolist)
                )
    return {name: list(map(json.loads, sorted(found[name]))) for name in sorted(found)}


def test_constants_and_defaults_equal_the_pins():
    pinned, found = json.loads(DEFAULTS.read_text(encoding="utf-8")), numbers()
    now = {name: found.get(name) for name in pinned}
    assert now == pinned, "if it is meant, run python tests/pins/test_constants.py"


def data_classes():
    return [
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and is_dataclass(value)
    ]


def test_data_classes_of_arrays_are_equal_to_themselves_alone():
    """Of two arrays == is no truth value."""
    arrays = re.compile(r"(Ints|Floats|np\.ndarray|npt\.NDArray)\b")
    compared = {
        each.__name__
        for each in data_classes()
        if each.__eq__ is not object.__eq__
        and any(
            arrays.match(str(field.type)) for field in fields(each) if field.compare
        )
    }
    assert compared == {"Tally"}


def test_data_classes_are_frozen_except_these():
    loose = {
        each.__name__ for each in data_classes() if not each.__dataclass_params__.frozen
    }
    assert loose == set("Checked Front LooseLater Tally Totals Watch _Content".split())


def written(path, table):
    lines = (
        f"{json.dumps(name)}: {json.dumps(value)}" for name, value in table.items()
    )
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    kept = [*json.loads(DEFAULTS.read_text(encoding="utf-8")), *sys.argv[1:]]
    found = numbers()
    written(DEFAULTS, {name: found[name] for name in sorted({*kept}) if name in found})
