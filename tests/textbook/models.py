"""The models of scenarios/textbook, the same in bare SimPy, and their formulas."""

import functools
import inspect
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

import cgrsp_simpy as cg

BARE = Path(__file__).parent / "bare"
SCENARIOS = Path(__file__).parents[2] / "scenarios" / "textbook"
# parameters of a short run of each
SMALL = {
    "balking": {"end": 40_000},
    "bank": {"days": 1},
    "emergency_ward": {"end": 30_000},
    "inventory": {"days": 300},
    "job_shop": {"end": 150},
    "machine_repair": {"end": 800},
    "mmc": {"end": 40_000},
    "reneging": {"end": 20_000},
    "tandem": {"parts": 1000},
    "traffic_light": {"end": 30_000},
}
NAMES = tuple(SMALL)


@functools.cache
def script(name):
    """Return the module of a script of scenarios/textbook."""
    spec = spec_from_file_location(f"textbook_{name}", SCENARIOS / f"{name}.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(name, **parameters):
    """Return a model with changed parameters."""
    return functools.partial(getattr(script(name), name), **parameters)


def bare(name):
    """Return the function of the same model in bare SimPy."""
    return getattr(import_module(f"textbook.bare.{name}"), name)


def formulas():
    """Return (model, parameters, expected figures) of every model with a formula."""
    queueing = cg.queueing
    mmc = queueing.mmc(1 / 60, 1 / 100, 2)
    patient = queueing.mmc_patience(1 / 12, 1 / 60, 5, 90.0)
    served_wait = (patient.wait_s - 90 * patient.left) / (1 - patient.left)
    full = queueing.mmck(1 / 10, 1 / 18, 2, 2)
    crew = queueing.finite_source(10, 1 / 20, 1 / 5, 2)
    vip, plain = queueing.mg1_preemptive([0.3 / 150, 0.7 / 150], [100] * 2, [2e4] * 2)
    means = np.array([25.0, 15.0, 10.0])
    waits = queueing.mg1_priority(np.array([0.2, 0.5, 0.3]) / 20, means, 2 * means**2)
    level, immediate = script("inventory").formula(25, 60, 5 / 0.2)
    vehicle_wait = queueing.batch_service(1 / 6.5, 60.0, 10)
    return [
        (
            "mmc",
            {},
            {
                "desk_wait": mmc.wait_s,
                "desk_queue": mmc.wait_s / 60,
                "desk_utilisation_pct": 100 * mmc.utilisation,
            },
        ),
        (
            "reneging",
            {},
            {
                "desk_wait": served_wait,
                "desk_queue": patient.wait_s / 12,
                "desk_utilisation_pct": 100 * patient.utilisation,
                "desk_withdrawn_pct": 100 * patient.left,
            },
        ),
        (
            "balking",
            {},
            {
                "chair_wait": full.wait_s / (1 - full.left),
                "chair_queue": full.wait_s / 10,
                "chair_utilisation_pct": 100 * full.utilisation,
                "balked_pct": 100 * full.left,
            },
        ),
        (
            "bank",
            {"day": 1, "night": 1, "gap": 150.0},
            {"vip": vip, "plain": plain, "desk_utilisation_pct": 200 / 3},
        ),
        ("emergency_ward", {}, dict(zip(("urgent", "normal", "minor"), waits))),
        (
            "inventory",
            {},
            {"stock_level": level, "stock_immediate_pct": immediate},
        ),
        (
            "machine_repair",
            {},
            {
                "crew_wait": crew.wait_s,
                "crew_utilisation_pct": 100 * crew.utilisation,
                "parts_per_h": crew.utilisation * 2 * 20 / 5 / 0.5,
            },
        ),
        ("tandem", {}, {"throughput": 4 / 5, "buffer1_put_wait": 1 / 5 * 5 / 4}),
        (
            "traffic_light",
            {},
            {"wait": vehicle_wait, "lane_level": vehicle_wait / 6.5},
        ),
    ]


def program_lines(function):
    """Return the number of non-blank lines of a function."""
    lines = inspect.getsource(function).splitlines()
    return sum(bool(line.strip()) for line in lines)
