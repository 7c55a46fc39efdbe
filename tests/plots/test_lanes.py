"""Positions of claims: jobs that share a resource are drawn above each other, each as
high as its amount, and do not move.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from support import frame_at, refusals

from cgrsp_simpy.base.timeline import CLAIM, VISIT, Timeline
from cgrsp_simpy.plots import gantt, queue_length, slot_timeline
from cgrsp_simpy.plots.lanes import bars, stays
from cgrsp_simpy.plots.style import (
    MISSED,
    OWN_PHASES,
    PROVISIONING,
    kind_colours,
)


def timeline(claims, sizes=(8.0,), visits=(), **more):
    places = tuple(f"node {index}" for index in range(len(sizes)))
    return Timeline(
        "node",
        places,
        sizes,
        np.array(claims, CLAIM),
        np.array(list(visits), VISIT),
        **more,
    )


def spans(claims, sizes=(8.0,)):
    """Job, and low and high in the unit of the place, from from_s to to_s, of each
    bar.
    """
    result = bars(timeline(claims, sizes))
    size = np.array(sizes)[result["resource"]]
    return [
        (job, low, high, from_s, to_s)
        for job, low, high, from_s, to_s in zip(
            result["job"].tolist(),
            (result["low"] * size).tolist(),
            (result["high"] * size).tolist(),
            result["from_s"],
            result["to_s"],
        )
    ]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (  # jobs that share a node lie one above the other
            [(1, 4, 0, 10), (2, 2, 0, 20), (3, 4, 10, 30)],
            [(1, 0, 4, 0, 10), (2, 4, 6, 0, 20), (3, 0, 4, 10, 30)],
        ),
        (  # without one stretch that is long enough a job has several bars
            [(1, 3, 0, 5), (2, 2, 0, 9), (3, 3, 0, 5), (4, 5, 5, 9)],
            [
                (1, 0, 3, 0, 5),
                (2, 3, 5, 0, 9),
                (3, 5, 8, 0, 5),
                (4, 0, 3, 5, 9),
                (4, 5, 7, 5, 9),
            ],
        ),
        ([(1, 3, 5, 5), (2, 0, 0, 9)], []),  # no time, or nothing held
    ],
)
def test_bars_of_jobs_that_share_a_node(claims, expected):
    rows = [(job, 0, amount, "executing", *span) for job, amount, *span in claims]
    assert spans(rows) == expected


def test_a_claim_of_a_node_without_size_has_a_bar():
    assert spans([(2, 0, 0, "executing", 0, 9)], (0.0,)) == [(2, 0, 0, 0, 9)]


def test_a_job_stays_where_it_is_from_phase_to_phase():
    claims = [
        (1, 0, 3, "executing", 0, 5),
        (2, 0, 3, "provisioning", 2, 5),
        (2, 0, 3, "executing", 5, 9),
        (3, 0, 3, "executing", 5, 6),
    ]
    assert spans(claims)[1:3] == [(2, 3, 6, 2, 5), (2, 3, 6, 5, 9)]
    joined = [tuple(row) for row in stays(bars(timeline(claims)))]
    assert [row[:1] + row[-2:] for row in joined] == [(1, 0, 5), (2, 2, 9), (3, 5, 6)]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.integers(1, 9),
            st.integers(1, 9),
            st.integers(0, 3),
            st.integers(1, 9),
        ),
        max_size=40,
    )
)
@settings(max_examples=150)
def test_bars_never_overlap_and_are_as_high_as_the_amounts(wanted):
    """Jobs that arrive one after the other, each to one of two resources once it has
    room.
    """
    sizes, claims = (9.0, 0.9), []  # tenths are not exact as doubles
    free_at = [[0.0] * 9, [0.0] * 9]  # of each ninth of a place
    for job, (place, gap, ninths, provisioning_s, run_s) in enumerate(wanted):
        from_s = max(gap * job / 3, sorted(free_at[place])[ninths - 1])
        end_s = from_s + provisioning_s + run_s
        free_at[place] = [end_s] * ninths + sorted(free_at[place])[ninths:]
        amount = ninths * sizes[place] / 9
        claims += (
            [(job, place, amount, "provisioning", from_s, from_s + provisioning_s)]
            if provisioning_s
            else []
        )
        claims += [(job, place, amount, "executing", from_s + provisioning_s, end_s)]
    result = bars(timeline(claims, sizes))
    assert ((result["low"] >= 0) & (result["high"] <= 1 + 1e-12)).all()
    for one, other in (
        (one, other)
        for at, one in enumerate(result)
        for other in result[:at]
        if one["resource"] == other["resource"]
    ):
        apart = one["from_s"] >= other["to_s"] or other["from_s"] >= one["to_s"]
        assert (
            apart
            or one["low"] >= other["high"] - 1e-12
            or other["low"] >= one["high"] - 1e-12
        )
    for job, place, amount, phase, from_s, to_s in claims:
        own = result[(result["job"] == job) & (result["phase"] == phase)]
        assert (own["high"] - own["low"]).sum() * sizes[place] == pytest.approx(amount)
        assert set(own["from_s"].tolist()) == {from_s}
        assert set(own["to_s"].tolist()) == {to_s}
    joined = stays(result)
    assert len(joined) == len(np.unique(result[["job", "low"]]))


# ---- in pictures ----


@pytest.fixture
def ax():
    figure = Figure()
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def mixed():
    """A node of eight GPUs and one of one: provisioning, execution, a phase of another
    kind, and a job too late.
    """
    claims = [
        (1, 0, 4, "provisioning", 0, 10),
        (1, 0, 4, "executing", 10, 40),
        (2, 0, 2, "executing", 0, 60),
        (2, 1, 1, "moving", 60, 70),
        (3, 0, 8, "executing", 60, 100),
    ]
    nan = np.nan
    visits = [
        (1, 0, 0, 40, 30),
        (2, 0, 0, 70, 90),
        (3, 5, 60, 100, nan),
        (4, 20, nan, 30, nan),
    ]
    kinds = {1: "16 GPUs", 2: "2 GPUs", 3: "16 GPUs"}
    return timeline(
        claims, (8.0, 1.0), visits, kinds=kinds, labels={2: "train"}, policy="easy"
    )


def test_a_gantt_chart_of_places_that_jobs_share(ax):
    gantt(mixed(), ax)
    drawn = {}
    for each in ax.collections:
        if isinstance(each, PolyCollection):
            boxes = [path.get_extents() for path in each.get_paths()]
            drawn[to_hex(each.get_facecolor()[0])] = [
                (box.x0, box.x1, round(box.y0, 3), round(box.y1, 3)) for box in boxes
            ]
    colours = kind_colours(["16 GPUs", "2 GPUs"])
    assert list(colours) == ["2 GPUs", "16 GPUs"]
    assert drawn == {
        colours["2 GPUs"]: [(0, 60, 0.0, 0.195)],
        colours["16 GPUs"]: [(10, 40, -0.39, 0.0), (60, 100, -0.39, 0.39)],
        PROVISIONING: [(0, 10, -0.39, 0.0)],
        OWN_PHASES[0]: [(60, 70, 0.61, 1.39)],
    }
    messages = [text.get_text() for text in ax.get_legend().texts]
    assert messages == [
        "2 GPUs",
        "16 GPUs",
        "provisioning",
        "moving",
        "missed its deadline",
    ]
    assert sorted(text.get_text() for text in ax.texts) == ["J1", "J3", "train"]
    (line,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert to_hex(line.get_edgecolor()[0]) == MISSED.lower()
    assert [segment.round(3).tolist() for segment in line.get_segments()] == [
        [[0, 0.025], [40, 0.025]]
    ]
    assert ax.get_ylabel() == "node"


def test_jobs_that_give_up_wait_until_then(ax):
    queue_length(mixed(), ax)
    assert ax.lines[0].get_label() == "easy"
    at_s, waiting = ax.lines[0].get_data()
    assert [waiting[at_s <= time_s][-1] for time_s in (10, 25, 35, 59, 60)] == [
        1,
        2,
        1,
        1,
        0,
    ]


def test_runs_that_have_no_policy_are_numbered(ax):
    queue_length([timeline([], visits=[(1, 0, 1, 2, np.nan)])] * 2, ax)
    assert [line.get_label() for line in ax.lines] == ["run (1)", "run (2)"]


def test_a_fraction_of_a_resource_counts_as_that_fraction(ax):
    slot_timeline(mixed(), ax)
    assert [text.get_text() for text in ax.get_legend().texts] == [
        "executing",
        "provisioning",
        "moving",
        "idle",
    ]
    executing = ax.collections[0].get_paths()[0].get_extents()
    assert (executing.x0, executing.x1, executing.y1) == (0, 100, 1.0)
    upper = ax.collections[1].get_paths()[0].vertices
    # two of eight execute, four are provisioned
    assert max(y for x, y in upper if x <= 10) == 0.75
    assert ax.get_ylabel() == "nodes"


@pytest.mark.parametrize(
    ("jobs", "run_s", "label", "first_s"),
    [
        (199, 1.0, "nodes", 1),
        (200, 1.0, "nodes, mean over 1 s", 1),
        (200, 60.0, "nodes, mean over 1 min", 60),
        (200, 60.3, "nodes, mean over 2 min", 120),
        (200, 3600.0, "nodes, mean over 1 h", 3600),
        (200, 86400.0, "nodes, mean over 24 h", 86400),
        (200, 86400.5, "nodes, mean over 48 h", 172800),
    ],
)
def test_of_many_jobs_averages_over_equal_spans_are_drawn(
    jobs, run_s, label, first_s, ax
):
    claims = [
        (job, 0, 8, "executing", job * run_s, (job + 1) * run_s) for job in range(jobs)
    ]
    slot_timeline(timeline(claims), ax)
    assert ax.get_ylabel() == label
    unit_s = {"time (s)": 1, "time (min)": 60, "time (h)": 3600}[ax.get_xlabel()]
    edges_s = np.unique(ax.collections[0].get_paths()[0].vertices[:, 0]) * unit_s
    assert edges_s[[0, 1, -1]] == pytest.approx([0, first_s, jobs * run_s])


def crowd(places=2000):
    claims = [(job, job, 1, "executing", job, job + 100) for job in range(places)]
    visits = [(job, job, job, job + 100, np.nan) for job in range(places)]
    return timeline(claims, (1.0,) * places, visits)


@pytest.mark.parametrize(("places", "drawn"), [(100, 100), (101, 51), (2000, 100)])
def test_evenly_spaced_resources_are_drawn_if_there_are_over_a_hundred(
    ax, places, drawn
):
    gantt(crowd(places), ax)
    (boxes,) = ax.collections
    assert len(boxes.get_paths()) == drawn
    assert np.ptp(ax.get_ylim()) == pytest.approx(drawn + 0.1)
    assert ax.get_ylabel() == (
        "node" if drawn == places else f"{drawn} of {places:,} nodes"
    )
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) <= 25
    step = -(-places // 100)
    assert all(int(name.split()[1]) % step == 0 for name in names)


def test_the_resources_used_by_the_requested_jobs_are_drawn(ax):
    gantt(crowd(), ax, jobs=[7, 1234])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["node 7", "node 1234"]
    assert ax.get_ylabel() == "2 of 2,000 nodes"


def test_the_legend_shows_some_of_many_kinds(ax):
    many = timeline(
        [(job, 0, 1, "executing", job, job + 1) for job in range(30)],
        kinds={job: f"weight {job}" for job in range(30)},
    )
    gantt(many, ax)
    assert [text.get_text() for text in ax.get_legend().texts] == [
        f"weight {job}" for job in range(0, 30, 4)
    ]
    assert len({to_hex(each.get_facecolor()[0]) for each in ax.collections}) == 30


@pytest.mark.slow
def test_two_thousand_boxes_are_wider_than_high_in_all():
    _, bottom = frame_at(crowd(), 0)
    assert len(bottom.texts) == 0
    columns, rows = (
        np.ptp(limits) for limits in (bottom.get_xlim(), bottom.get_ylim())
    )
    assert columns * rows >= 2000
    assert 5 < columns / rows < 7


test_colours_by_class_require_a_rental_run = refusals(
    (
        lambda: gantt(mixed(), colour_by="class"),
        ["colour_by(='class') must be omitted unless a run is drawn"],
    )
)
