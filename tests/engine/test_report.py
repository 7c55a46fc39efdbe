"""Figures of a model's runs: waits, use of open resources, warm-up."""

from contextlib import suppress
from dataclasses import dataclass

import pytest
from support import check_refused, refusals

import cgrsp_simpy as cg


@dataclass(frozen=True)
class Shop(cg.Model):
    """Jobs that need two stations, one after the other."""

    jobs: int = 4
    gap_s: float = 10.0
    work_s: float = 10.0
    starts_s: float = 0.0

    def resources(self):
        return cg.slots(1, "station")

    def arrivals(self, draw):
        return [(n * self.gap_s, n) for n in range(self.jobs)]

    def set_up(self, run):
        if self.starts_s:
            cg.warm_up(run.env, self.starts_s)

    def job_process(self, run, job):
        for _ in range(2):
            with run.claim(job) as claim:
                yield claim
                yield run.timeout(self.work_s)


def test_a_job_waits_for_all_its_claims():
    run = cg.simulate(Shop(jobs=2), "first")
    # job 0 is served from 0 and from 20, job 1 from 10 and from 30
    assert run.jobs[["wait_s", "claims"]].tolist() == [(10, 2), (10, 2)]
    names = ("wait_s", "claim_wait_s", "response_s")
    assert [run.summary()[name] for name in names] == [10, 5, 30]


def test_after_a_warm_up_jobs_that_end_later_and_the_later_use_count():
    run = cg.simulate(Shop(jobs=4, gap_s=40.0, starts_s=45.0), "first")
    # busy: 0 to 20, 40 to 60, 80 to 100, 120 to 140
    assert run.summary()["utilisation_pct"] == pytest.approx(100 * 55 / 95)
    assert (run.summary()["response_s"], len(run.jobs)) == (20, 4)
    run = cg.simulate(Shop(jobs=4, gap_s=10.0, starts_s=45.0), "first")
    late, summary = run.jobs[run.jobs["finish_s"] >= 45], run.summary()
    assert summary["wait_s"] == pytest.approx(late["wait_s"].mean())
    # figures of some jobs leave the warm-up out, too
    [row] = run.by("claims")
    assert (row["claims"], row["jobs"]) == (2, 4)
    for name in ("wait_s", "claim_wait_s", "response_s"):
        assert row[name] == pytest.approx(summary[name])


test_a_warm_up_longer_than_the_run_is_rejected = refusals(
    (
        lambda: cg.simulate(Shop(starts_s=90.0, jobs=2, gap_s=30.0), "first"),
        "ended at 50, but cg.warm_up measures from 90$",
    )
)


def test_figures_that_cannot_leave_out_a_warm_up_reject_it():
    class Tasks(cg.hgsp.Scenario):
        def set_up(self, run):
            super().set_up(run)
            cg.warm_up(run.env, 100.0)

    check_refused(
        lambda: cg.simulate(Tasks("tasks1"), "fifo"), ["cannot exclude a warm-up"]
    )


@dataclass(frozen=True)
class Shifts(cg.Model):
    """One of two tellers goes home at 15 s and comes back at 100 s."""

    interrupt: bool = False

    def resources(self):
        return cg.slots(2, "teller")

    def arrivals(self, draw):
        return [(0.0, 0), (10.0, 1), (100.0, 2)]

    def processes(self, run):
        yield self.shift(run)

    def shift(self, run):
        yield run.timeout(15.0)
        with (  # twice at a time, which counts once
            run.down(run.resources[0], interrupt=self.interrupt),
            run.down(run.resources[0], interrupt=self.interrupt),
        ):
            yield run.timeout(85.0)

    def job_process(self, run, job):
        with run.claim(job) as claim:
            yield claim
            with suppress(cg.Interrupt):
                yield run.timeout(20.0)


@pytest.mark.parametrize(
    ("interrupt", "finish_s", "closed_s", "busy_s"),
    [
        # teller 0 works from 0 to 20, closed from 15; teller 1 from 10 to 30
        (False, [20, 30, 120], 80, 60),
        (True, [15, 30, 120], 85, 55),
    ],
)
def test_a_closed_resource_finishes_its_work_or_interrupts_it(
    interrupt, finish_s, closed_s, busy_s
):
    events = []
    run = cg.simulate(Shifts(interrupt), "first", listener=events.append)
    shift = [event for event in events if event.kind in ("down", "up")]
    assert [event.time_s for event in shift] == [15, 100]
    assert run.jobs["finish_s"].tolist() == finish_s
    assert (run.closed_s, sum(run.held_s)) == ((closed_s, 0.0), busy_s)
    used_pct = 100 * busy_s / (240 - closed_s)
    assert run.summary()["utilisation_pct"] == pytest.approx(used_pct)


@dataclass(frozen=True)
class Tandem(cg.Model):
    """A part blocks its first machine until the second is free."""

    def resources(self):
        return [*cg.slots(1, "first"), *cg.slots(1, "second")]

    def arrivals(self, draw):
        return [(0.0, 0), (0.0, 1)]

    def job_process(self, run, job):
        first = run.claim(job)
        yield first
        yield run.timeout(5.0)
        second = run.claim((job, 2))
        yield second
        first.release()
        yield run.timeout(8.0)
        second.release()


def test_a_claim_is_handed_over_by_release():
    def route(view):
        """Send each part to the machine that it asks for, if it is free."""
        free = {slot.label: slot for slot in view.free}
        for job in view.queue:
            label = "second" if isinstance(job, tuple) else "first"
            if label in free:
                yield job, free.pop(label)

    run = cg.simulate(Tandem(), route)
    spans = {
        (row["job"], row["resource"]): (row["from_s"], row["to_s"])
        for row in run.claims
    }
    # part 1 blocks the first machine until part 0 leaves the second
    assert spans == {(0, 0): (0, 5), (0, 1): (5, 13), (1, 0): (5, 13), (1, 1): (13, 21)}
    assert run.jobs["wait_s"].tolist() == [0, 5 + 3]


def test_the_measurements_of_a_model_are_among_its_figures():
    @dataclass(frozen=True)
    class Licensed(Shop):
        def set_up(self, run):
            run.licences = cg.Container(run.env, init=3, name="licences")

        def job_process(self, run, job):
            yield run.licences.get(1)
            yield run.timeout(10.0)
            yield run.licences.put(1)

    study = cg.compare(Licensed(jobs=4, gap_s=5.0), ["first"], seeds=[0])
    # taken: 1 from 0 to 5, 2 from 5 to 20, 1 from 20 to 25
    assert study.values("first", "licences_level") == [3 - (5 + 2 * 15 + 5) / 25]


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ({"late": 9.0}, "\nfirst   9.00"),  # shown, although `shown` lacks it
        (9, ": summary()(=9) must be a dict of figures by name"),
        ({9: 1.0}, ": figure of summary()(=9) must be a string"),
        ({"late": "9"}, ": figure 'late'(='9') must be a number"),
        ({"late": None}, ": figure 'late'(=None) must be a number"),
        ({"alternative": 9.0}, ": figure(='alternative') must be different from"),
        ({"seed": 9.0}, ": figure(='seed') must be different from the names of the"),
    ],
)
def test_a_summary_has_numbers_by_name(summary, text):
    report = type("Late", (cg.Report,), {"summary": lambda self, run: summary})
    study = cg.compare(type("Shop", (Shop,), {"report": report})(jobs=1), seeds=[0])
    assert text in str(study)
