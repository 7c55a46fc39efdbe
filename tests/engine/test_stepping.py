"""A run one event at a time: the same run, and after each event the state that must
follow from what has happened so far.
"""

import io
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from support import check_refused, output

import cgrsp_simpy as cg


def three_jobs(slots=1):
    """Two jobs at the start and one later, on slots of known delays."""
    market = cg.Market(delay_s=((10, 10), (10, 10), (10, 10)))
    listed = [cg.Job(0, 0.0, 1000.0), cg.Job(1, 0.0, 1000.0), cg.Job(2, 30.0, 1000.0)]
    return cg.Scenario(
        "three", cg.JobList(listed), cg.round_robin(slots), market=market
    )


def test_a_step_prints_event_queue_slots_and_future():
    sent = list(cg.step_through(three_jobs(), "fifo"))[3]
    first, *rest = str(sent).splitlines()
    assert first == str(sent.event)
    assert [line.split(": ")[1] for line in rest] == [
        "1",
        "0…",
        "10.00 start 0, 30.00 submit 2",
    ]


def test_only_used_slots_are_shown_if_there_are_over_twelve():
    few, many = (
        str(list(cg.step_through(three_jobs(slots), "fifo"))[3]) for slots in (12, 13)
    )
    assert f"slots: 0…{' -' * 11}\n" in few
    assert "slots: 0:0…\n" in many


@given(
    st.sampled_from(["fifo", "edf", "spt-rescue", "rh"]),
    st.integers(0, 20),
    st.integers(1, 4),
)
@settings(max_examples=25)
def test_predicted_events_occur(policy, seed, slots):
    """Dispatches, starts and finishes were announced, at their times; no clock goes
    back; a job waits or holds a slot.
    """
    announced, clock_s = set(), 0.0
    for step in cg.step_through(cg.day("hectic", jobs=15, slots=slots), policy, seed):
        kind, job = step.event.kind, step.event.job
        assert step.time_s >= clock_s
        clock_s = step.time_s
        if kind in ("dispatch", "start", "finish"):
            assert (step.time_s, kind, job) in announced
        announced |= set(step.future)
        assert [due.time_s for due in step.future] == sorted(
            due.time_s for due in step.future
        )
        assert job not in step.waiting or kind == "submit"
        assert kind == "decide" or (job in step.slots) == (
            kind in ("dispatch", "start")
        )
        held = [each for each in step.slots if each is not None]
        assert not set(held) & set(step.waiting)
    assert step.future == step.waiting == ()
    assert set(step.slots) == {None}


def test_a_policy_that_asks_to_be_woken_is_announced():
    def later(view):
        return zip(view.queue, view.idle) if view.now_s >= 500 else [cg.Wake(500.0)]

    steps = list(cg.step_through(three_jobs(), later))
    assert (500.0, "wake", None) in steps[2].future


def test_a_wrong_policy_or_seed_is_an_error():
    check_refused(lambda: cg.step_through(three_jobs(), "nope"), ["unknown policy"])
    check_refused(lambda: cg.step_through(three_jobs(), "fifo", -1), ["seed"])
    check_refused(
        lambda: list(cg.step_through(three_jobs(), lambda view: [])),
        "left 3 jobs waiting",
        cg.PolicyError,
    )


def stepped(capsys, monkeypatch, *options, typed="\n" * 1000):
    keyboard = io.StringIO(typed)
    monkeypatch.setattr(sys, "stdin", keyboard)
    return output(
        capsys, "run", "quiet", "jobs=3", *options
    ).splitlines(), keyboard.tell()


def test_the_command_waits_for_enter_after_each_event(capsys, monkeypatch):
    lines, read = stepped(capsys, monkeypatch, "--show", "step")
    events, _ = stepped(capsys, monkeypatch, "--show", "events")
    shown = [line for line in lines if not line.startswith(" " * 12)]
    assert shown == events
    assert read == sum(line.startswith(" " * 12 + "to come") for line in lines) == 15


def test_the_command_continues_after_the_end_of_input(capsys, monkeypatch):
    assert (
        stepped(capsys, monkeypatch, "--show", "step", typed="")[0]
        == stepped(capsys, monkeypatch, "--show", "step")[0]
    )


def test_a_step_lists_at_most_one_decision_though_links_are_requested_later():
    links = cg.dag.Servers(3, contention=True)
    scenario = cg.dag.Scenario("er:n=12,degree=3", links)
    steps = list(cg.step_through(scenario, "heft", 1))
    due = [sum(entry.kind == "decide" for entry in step.future) for step in steps]
    assert any(step.event.kind == "data" for step in steps)
    assert max(due) == 1
