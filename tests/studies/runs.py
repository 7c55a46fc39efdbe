"""Scenarios of studies, policies that fail, and rows as text."""

import cgrsp_simpy as cg
from cgrsp_simpy.base.table import csv_text

quiet, normal = cg.day("quiet"), cg.day("normal", jobs=30)
busy = cg.day("hectic", jobs=60)


def same(rows, others):
    """Return whether rows are bit-identical, compared as text because of NaN."""
    return csv_text(rows) == csv_text(others)


def first_s(scenario, seed):
    return next(iter(scenario.workload.generate(seed, scenario.service)))[0].submit_s


def unlucky(scenario, seeds):
    """FIFO that raises on some seeds; it knows them by their first submission."""
    times_s = {first_s(scenario, seed) for seed in seeds}

    def rule(view):
        if view.now_s in times_s:
            raise ValueError("no\nluck")
        return zip(view.queue, view.idle)

    return rule


def never(view):
    raise ValueError("never")
