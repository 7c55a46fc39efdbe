"""Plots of monitors and of a warm-up."""

import pytest
from studies.function_models import bank
from studies.test_warm_up import settling
from support import refusals

import cgrsp_simpy as cg
from cgrsp_simpy import plots


def labels(ax):
    return [line.get_label() for line in ax.get_lines()]


def test_a_resource_is_drawn_with_queue_use_and_capacity():
    run = cg.simulate(bank, seed=1)
    ax = plots.monitor(run, "desk")
    assert labels(ax) == ["queue", "in use", "capacity"]
    times, queue = run.series("desk", "queue")
    line = ax.get_lines()[0]
    assert line.get_ydata()[:-1].tolist() == queue.tolist()
    assert line.get_xdata()[:-1] == pytest.approx(times / 3600)


def test_a_monitor_is_drawn_with_its_running_mean():
    run = cg.simulate(bank, seed=1)
    ax = plots.monitor(run, "response")
    assert labels(ax) == ["value", "running mean"]
    assert ax.get_lines()[1].get_ydata()[-1] == pytest.approx(run.summary()["response"])


def test_values_of_earlier_times_are_drawn_in_order():
    @cg.model
    def model(env):
        response = cg.Monitor(env, "response")
        env.timeout(9)
        env.run()
        for arrival, value in ((5, 1), (2, 3), (7, 8)):
            response.tally(value, at=arrival)

    line = plots.monitor(cg.simulate(model), "response").get_lines()[1]
    assert line.get_xydata().tolist() == [[2, 3], [5, 2], [7, 4], [9, 4]]


@pytest.mark.parametrize("name", ["desk", "seen"])
def test_a_run_that_ends_at_time_0_has_an_empty_plot(name):
    @cg.model
    def model(env):
        cg.Resource(env, name="desk")
        cg.Monitor(env, "seen")
        env.run()

    assert plots.monitor(cg.simulate(model), name).get_xlim() == (0, 1)


def test_welchs_plot_marks_the_suggested_warm_up():
    warm_up = cg.warm_up_time(settling, what="value", seeds=range(3))
    ax = plots.welch(warm_up)
    assert labels(ax)[:2] == ["mean of 3 runs", "moving average"]
    assert f"{warm_up.time:g}" in labels(ax)[2]


test_other_runs_and_names_are_rejected = refusals(
    (
        lambda: plots.monitor(cg.simulate(cg.day("quiet"), "fifo"), "slot 0"),
        ["a run of a function"],
    ),
    (lambda: plots.monitor(cg.simulate(bank), "disk"), ["did you mean 'desk'"]),
)
