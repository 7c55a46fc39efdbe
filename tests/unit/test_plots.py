"""Plots draw what the run holds, on the Axes given, and neither save nor show."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

import cgrsp_simpy as cg
from cgrsp_simpy.plots.style import COMPLEXITY, MISSED, POLICY, PROVISIONING


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


@pytest.fixture(scope="module")
def run():
    return cg.simulate(cg.day("hectic", jobs=60, tight_fraction=1.0), "fifo")


def bars(ax, colour):
    return sorted((p.get_x(), p.get_width()) for p in ax.patches if to_hex(p.get_facecolor()) == colour.lower())


def test_gantt_draws_each_provisioning_and_each_execution(run, ax):
    assert cg.plots.gantt(run, ax=ax) is ax
    jobs = run.jobs
    unit = 60.0 if "min" in ax.get_xlabel() else 3600.0
    assert np.allclose(bars(ax, PROVISIONING), sorted(zip(jobs["dispatch_s"] / unit, jobs["delay_s"] / unit)))
    for level, colour in enumerate(COMPLEXITY, start=1):
        part = jobs[jobs["complexity"] == level]
        assert np.allclose(bars(ax, colour), sorted(zip(part["start_s"] / unit, part["service_s"] / unit)))


def test_gantt_marks_each_job_that_missed_its_deadline(ax):
    listed = [cg.Job(0, 0.0, 100.0), cg.Job(1, 0.0, 100.0), cg.Job(2, 0.0, 100.0)]
    at_once = cg.Market(delay_s=((0, 0), (0, 0), (0, 0)))
    scenario = cg.Scenario("three", cg.JobList(listed), cg.round_robin(1), market=at_once)
    cg.plots.gantt(cg.simulate(scenario, "fifo"), ax=ax)
    (lines,) = ax.collections
    assert len(lines.get_segments()) == 2  # of three jobs of a minute, one after the other, the first alone is in time
    assert to_hex(lines.get_edgecolor()[0]) == MISSED.lower()
    assert [text.get_text() for text in ax.texts] == ["J0", "J1", "J2"]


def test_queue_draws_a_line_a_run_in_the_colour_of_its_policy(run, ax):
    cg.plots.queue([run, cg.simulate(cg.day("normal"), "cadr")], ax=ax)
    assert [line.get_label() for line in ax.lines] == ["fifo", "cadr"]
    assert [line.get_color() for line in ax.lines] == [POLICY["fifo"], POLICY["cadr"]]
    assert ax.lines[0].get_ydata()[-1] == 0
    assert ax.lines[0].get_ydata().max() > 10
    assert "(h)" in ax.get_xlabel()
    assert ax.get_ylabel() == "waiting jobs"


def test_every_policy_has_a_colour_of_its_own():
    assert list(POLICY) == list(cg.POLICIES)
    assert len(set(POLICY.values())) == len(POLICY)


def test_without_axes_a_new_figure_is_made(run):
    axes = cg.plots.gantt(run)
    assert axes.figure is plt.gcf()
    plt.close(axes.figure)
