"""Parts of the waiting module, each against an example worked out by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from support import check_refused, simulated, waits_s

import cgrsp_simpy as cg
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.waiting.best import best_number
from cgrsp_simpy.waiting.bursty import BurstyJobs
from cgrsp_simpy.waiting.jobs import CHUNK, ExponentialJobs, ListedJobs, scenario_jobs
from cgrsp_simpy.waiting.machines import M5, Prices, Room, Size, read_sizes, rent_per_h, size_for
from cgrsp_simpy.waiting.policies import Mispredictions, foreseen, waiting_policy
from cgrsp_simpy.waiting.recursion import follow
from cgrsp_simpy.waiting.scenario import Scenario
from cgrsp_simpy.waiting.tally import of_trials

HOUR = 3600.0


def jobs_of(*rows):
    """Jobs from rows of submission, running time, cores and memory."""
    return ListedJobs(*(np.array(column) for column in zip(*rows)))


def test_more_jobs_than_are_made_at_a_time_are_as_many_as_asked_for():
    sizes = [len(chunk.submit_s) for chunk in ExponentialJobs(CHUNK + 5).chunks(0)]
    assert sizes == [CHUNK, 5]


# ---- machines ----


@pytest.mark.parametrize(
    ("cores", "memory_gb", "name"),
    [
        (1, 0, "half m5.large"),
        (1, 5, "m5.large"),  # memory decides
        (3, 0, "m5.xlarge"),
        (33, 0, "m5.12xlarge"),
        (64, 256, "m5.16xlarge"),
    ],
)
def test_a_job_rents_the_smallest_sufficient_size(cores, memory_gb, name):
    size = size_for(cores, memory_gb)
    assert size.name == name
    assert rent_per_h(np.array([cores]), np.array([memory_gb]))[0] == size.price_per_h


def test_a_job_too_large_for_all_sizes_rents_none():
    assert size_for(65, 0) is None
    assert rent_per_h(np.array([65, 1]), np.array([0.0, 257.0])).tolist() == [math.inf, math.inf]


def test_a_price_table_of_ones_own(tmp_path):
    path = tmp_path / "sizes.csv"
    path.write_text(
        "name,cores,memory_gb,price_per_h\nsmall,2,4,1\nodd,4,4,0.5\n", encoding="utf-8"
    )
    sizes = read_sizes(path)
    assert sizes == (Size("small", 2, 4.0, 1.0), Size("odd", 4, 4.0, 0.5))
    assert size_for(1, 1, sizes).name == "odd"  # the cheapest, not the smallest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        # no memory
        ("name,cores,price_per_h\na,1,1\n", ["columns", "name,cores,memory_gb,price_per_h"]),
        ("name,cores,memory_gb,price_per_h\na,x,4,1\n", ["line 2", "'x'"]),
        ("name,cores,memory_gb,price_per_h\na,0,4,1\n", ["line 2", "cores of a(=0)"]),
        ("name,cores,memory_gb,price_per_h\na,1,4,-1\n", ["line 2", "price_per_h of a(=-1.0)"]),
        ("name,cores,memory_gb,price_per_h\na,1,4\n", ["line 2"]),  # a cell is missing
        ("name,cores,memory_gb,price_per_h\n", ["no size"]),
        ("", ["columns"]),
        ("\0\0", []),
    ],
)
def test_a_wrong_price_table_is_refused_by_name_and_line(tmp_path, text, words):
    path = tmp_path / "sizes.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_sizes(path)
    assert all(word in str(refused.value) for word in [str(path), *words]), refused.value


def test_a_missing_price_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        read_sizes(tmp_path / "none.csv")


def test_best_fit_leaves_least():
    room = Room([Size("a", 8, 32, 1), Size("b", 4, 16, 1), Size("c", 4, 8, 1)])
    assert room.best(4, 4) == 2  # fewest cores left, then least memory
    assert room.best(4, 12) == 1
    assert room.best(5, 0) == 0
    assert room.best(9, 0) == room.best(1, 33) == -1
    room.change(0, -6, -30)
    assert room.best(2, 2) == 0
    room.change(0, 6, 30)
    assert room.best(5, 0) == 0


# ---- what happens, by hand ----


def test_five_jobs_on_one_machine_under_each_policy():
    """Jobs of 10, 10, 2, 10, 1 s come at 0, 1, 2, 3, 4 s; b = 12 s, t = 3 s.

    Start of each, and r for rented.
    """
    jobs = jobs_of((0, 10, 1, 0), (1, 10, 1, 0), (2, 2, 1, 0), (3, 10, 1, 0), (4, 1, 1, 0))
    expected = {
        "ajw": "0 10 20 22 32",
        "njw": "0 1r 2r 3r 4r",
        "ajw-t": "0 10 14r 15r 16r",
        "sww": "0 10 2r 3r 4r",
        "ljw": "0 10 2r 20 4r",
        "compound": "0 10 2r 3r 4r",
    }
    for name, starts in expected.items():
        for run in (simulated, follow):
            done = run(Scenario(jobs, waiting_policy(name, 12, 3), 1), keep=True).jobs
            told = " ".join(
                f"{start:g}{'r' if rented else ''}"
                for start, rented in zip(done["start_s"], done["on_demand"])
            )
            assert told == starts, name


def test_a_job_that_gives_up_lets_those_behind_it_in():
    """Shared machine of 4 cores: the second job needs all of them, and holds up the third until it
    leaves at 1 + 5 s.
    """
    jobs = jobs_of((0, 10, 2, 0), (1, 9, 4, 0), (2, 3, 2, 0))
    four = (Size("four", 4, 16, 1),)
    done = simulated(Scenario(jobs, waiting_policy("ajw-t", wait_s=5), four), keep=True).jobs
    assert done["start_s"].tolist() == [0, 6, 6]
    assert done["on_demand"].tolist() == [False, True, False]
    shortest = simulated(
        Scenario(jobs, waiting_policy("ajw-t", wait_s=5), four, "sjf"), keep=True
    ).jobs
    assert shortest["start_s"].tolist() == [0, 6, 2]  # of those that find room


def test_who_is_misled_waits_in_vain():
    jobs = jobs_of((0, 100, 1, 0), (1, 5, 1, 0), (2, 5, 1, 0))
    misled = Scenario(
        jobs, waiting_policy("sww", wait_s=7), 1, errors=Mispredictions(wait_under=1.0)
    )
    assert waits_s(simulated(misled, keep=True).jobs).tolist() == [0, 7, 7]
    sent = Scenario(jobs, waiting_policy("sww", wait_s=7), 1, errors=Mispredictions(wait_over=1.0))
    # an idle machine or not
    assert simulated(sent, keep=True).jobs["on_demand"].tolist() == [True, True, True]
    conserving = Scenario(
        jobs,
        waiting_policy("sww", wait_s=7),
        1,
        errors=Mispredictions(wait_over=1.0),
        work_conserving=True,
    )
    assert simulated(conserving, keep=True).jobs["on_demand"].tolist() == [False, True, True]


def test_shares_of_mistaken_jobs():
    """Of the short jobs a share is taken for long, of the long ones a share for short; draws
    are the jobs' own.
    """
    source, policy = ExponentialJobs(100_000), waiting_policy("ljw")
    ((chunk, exact), (_, mistaken)) = (
        next(foreseen(source, policy, errors))
        for errors in (Mispredictions(), Mispredictions(run_over=0.3, run_under=0.1))
    )
    short = chunk.run_s < 180
    np.testing.assert_array_equal(exact == 1, short)
    assert (mistaken[short] == 0).mean() == pytest.approx(
        0.3, abs=4 * math.sqrt(0.21 / short.sum())
    )
    assert (mistaken[~short] == 1).mean() == pytest.approx(
        0.1, abs=4 * math.sqrt(0.09 / (~short).sum())
    )


# ---- what it costs ----


def test_price_of_jobs_on_whole_machines():
    """Ten jobs of an hour, an hour apart, one machine, which is paid for the 10 h from the first
    submission to the last end.
    """
    jobs = jobs_of(*((hour * HOUR, HOUR, 1, 0) for hour in range(10)))
    figures = simulated(Scenario(jobs, waiting_policy("njw"), 1, prices=Prices(2, 5))).summary()
    assert figures == pytest.approx(
        {
            "wait_s": 0,
            "price": 2,
            "on_demand_fraction": 0,
            "opportunity": 0,
            "service_s": HOUR,
            "load": 1,
            "cost_per_h": 2,
        }
    )


def test_price_of_jobs_on_shared_machines():
    """Two jobs of 3 cores come together, every hour, for an hour; one finds room on 4 cores, the
    other rents 4 at 0.192 $.
    """
    jobs = jobs_of(*((hour * HOUR, HOUR, 3, 0) for hour in range(10) for _ in range(2)))
    case = Scenario(jobs, waiting_policy("njw"), (M5[2],), prices=Prices(3.84, 9.6))
    figures = simulated(case).summary()
    assert figures["on_demand_fraction"] == 0.5
    assert figures["load"] == pytest.approx(2 * 0.192)
    assert figures["price"] / 9.6 == pytest.approx((0.4 + 1) / 2)  # of renting for both
    assert figures["cost_per_h"] == pytest.approx(0.4 * 0.192 + 0.192)


class Generated:
    """Jobs that stand for a stream without end."""

    def __init__(self, listed):
        self.jobs, self.chunks = listed.jobs, listed.chunks


def test_of_generated_jobs_the_first_and_last_tenth_do_not_count():
    """Section 3.1: nine jobs at once wait 0, 1, ...

    8 s, a tenth none; the mean of the middle eight is 4.5 s, as of 1 to 8.
    """
    jobs = Generated(jobs_of(*((0, 1, 1, 0) for _ in range(9)), (50, 1, 1, 0)))
    assert simulated(Scenario(jobs, waiting_policy("ajw"), 1)).summary()["wait_s"] == np.mean(
        range(1, 9)
    )


def test_of_a_log_every_job_counts():
    jobs = jobs_of(*((0, 1, 1, 0) for _ in range(9)), (50, 1, 1, 0))
    figures = simulated(Scenario(jobs, waiting_policy("ajw"), 1)).summary()
    assert figures["wait_s"] == np.mean([*range(9), 0])
    assert figures["price"] == pytest.approx(3.84 * 51 / 10)


def test_a_log_pays_the_machines_until_its_backlog_is_done():
    """Three jobs of an hour at 1, 1 and 1.5 h on one machine: 3 h are paid, the least possible
    price; on two, twice 2 h.
    """
    jobs = jobs_of((HOUR, HOUR, 1, 0), (HOUR, HOUR, 1, 0), (1.5 * HOUR, HOUR, 1, 0))
    for machines, price in ((1, 2), (2, 2 * 2 * 2 / 3)):
        figures = simulated(
            Scenario(jobs, waiting_policy("ajw"), machines, prices=Prices(2, 5))
        ).summary()
        assert figures["price"] == pytest.approx(price)
        assert figures["cost_per_h"] == pytest.approx(2 * machines)


@pytest.mark.parametrize("run", [simulated, follow])
def test_jobs_that_come_all_at_once_have_a_price(run):
    """Runs of 100, 50 and 30 s on two machines take 100 s: 2 x 100 s are paid for 180 s of work."""
    jobs = jobs_of((7, 100, 1, 0), (7, 50, 1, 0), (7, 30, 1, 0))
    outcome = run(Scenario(jobs, waiting_policy("ajw"), 2))
    assert outcome.summary()["price"] == pytest.approx(3.84 * 200 / 180)
    assert outcome.summary()["load"] == pytest.approx(1.8)
    trial = outcome.scenario.outcome(outcome)
    assert of_trials([trial])["price"].mean == outcome.summary()["price"]


def test_jobs_of_no_running_time_among_others_are_free():
    jobs = jobs_of((0, 0, 1, 0), (5, 100, 1, 0), (9, 0, 1, 0))
    assert simulated(Scenario(jobs, waiting_policy("ajw"), 1)).summary()["price"] == pytest.approx(
        3.84 * 105 / 100
    )


def test_who_owns_no_machine_rents_for_every_job_at_once():
    jobs = jobs_of((0, 10, 1, 0), (0, 300, 2, 0), (4, 10, 1, 0))
    for name in ("njw", "ajw-t", "sww", "ljw", "compound"):
        for machines in (0, ()):
            for conserving in (False, True):
                case = Scenario(jobs, waiting_policy(name), machines, work_conserving=conserving)
                outcome = simulated(case, keep=True)
                assert outcome.jobs["on_demand"].all()
                assert (waits_s(outcome.jobs) == 0).all()
                assert outcome.summary()["price"] == pytest.approx(9.6)
                if machines == 0:
                    assert follow(case).summary() == pytest.approx(outcome.summary())


def test_simulation_and_recursion_count_the_same():
    case = Scenario(ExponentialJobs(5_000), waiting_policy("ajw-t"), 101)
    assert simulated(case, 1).summary() == follow(case, 1).summary()  # to the bit


def test_jobs_are_numbered_in_order_whatever_chunks_they_come_in():
    """Six days of bursty jobs, a chunk each; by simulation and by recursion the same jobs count."""
    source = BurstyJobs(5_000, rate_per_s=0.01)
    assert len(list(source.chunks(0))) > 3
    case = Scenario(source, waiting_policy("njw"), 30)
    one, followed = simulated(case, keep=True), follow(case, keep=True)
    np.testing.assert_array_equal(one.jobs["job"], np.arange(5_000) + 1)
    np.testing.assert_array_equal(followed.jobs["job"], np.arange(5_000) + 1)
    assert one.summary() == followed.summary() == simulated(case).summary()


def test_a_single_long_run_has_intervals_from_its_batches():
    outcome = follow(Scenario(ExponentialJobs(4_000), waiting_policy("njw"), 100), 5)
    price = of_trials([outcome.scenario.outcome(outcome)])["price"]
    found = outcome.summary()["price"]
    assert price.mean == pytest.approx(found)
    assert price.n == 20
    assert price.low < found < price.high


@pytest.mark.slow
def test_the_best_number_on_jobs_of_ones_own_is_the_best_of_all():
    jobs = ListedJobs(*next(ExponentialJobs(2_000, rate_per_s=0.01).chunks(0)))
    best = best_number(Scenario(jobs, waiting_policy("njw"), 1))
    prices = [
        simulated(Scenario(jobs, waiting_policy("njw"), n)).summary()["price"] for n in range(1, 16)
    ]
    assert best.scenario.machines == 1 + int(np.argmin(prices))
    patient = Scenario(jobs, waiting_policy("ajw-t", wait_s=300), 1)
    figures = [simulated(replace(patient, machines=n)).summary() for n in range(1, 16)]
    totals = [each["price"] * (each["wait_s"] + each["service_s"]) for each in figures]
    assert best_number(patient, "total").scenario.machines == 1 + int(np.argmin(totals))


def test_the_best_number_is_none_for_a_log_that_hardly_uses_a_machine_unless_all_jobs_must_wait_for_one():
    """Two jobs of 10 s a year apart; and for machines that jobs share, of which ajw
    must own one, too.
    """
    jobs = jobs_of((0, 200, 1, 0), (365 * 86_400, 200, 1, 0))
    for name in ("njw", "ajw-t", "sww", "ljw", "compound"):
        for by in ("price", "opportunity", "total"):
            for kind in (1, (M5[-1],)):
                best = best_number(Scenario(jobs, waiting_policy(name), kind), by)
                assert best.scenario.machines in (0, ())
                assert best.summary()["price"] == pytest.approx(9.6)
    assert best_number(Scenario(jobs, waiting_policy("ajw"), 1)).scenario.machines == 1
    assert best_number(Scenario(jobs, waiting_policy("ajw"), (M5[-1],))).scenario.machines == (
        M5[-1],
    )


def test_more_machines_than_ever_have_a_job_are_not_tried_however_cheap():
    """Three jobs, two of them at a time: two machines, at a price of next to nothing; short
    jobs use none.
    """
    jobs = jobs_of((0, 100, 1, 0), (50, 100, 1, 0), (150.5, 100, 1, 0))
    for by in ("price", "opportunity", "total"):
        cheap = Scenario(jobs, waiting_policy("ajw"), 1, prices=Prices(1e-12, 9.6))
        assert best_number(cheap, by).scenario.machines == (2 if by == "opportunity" else 1)
        assert best_number(replace(cheap, policy=waiting_policy("ljw")), by).summary()[
            "price"
        ] == pytest.approx(9.6)


def test_of_equal_opportunity_costs_the_cheapest_is_the_best():
    """Under njw no job waits, whatever is owned."""
    jobs = jobs_of((0, 100, 1, 0), (0, 100, 1, 0))
    assert (
        best_number(Scenario(jobs, waiting_policy("njw"), 1), "opportunity").scenario.machines == 2
    )


def test_a_job_that_fits_on_no_fixed_machine_goes_on_demand_though_idle_machines_are_lent():
    lent = Scenario(two(cores=3), waiting_policy("sww"), M5[:2], work_conserving=True)
    assert simulated(lent, keep=True).jobs["on_demand"].tolist() == [False, True]


def test_jobs_of_a_thesis_day_run_for_the_times_that_the_engine_draws():
    day = cg.day("hectic", slots=["RTX A4000"] * 5)
    jobs, run = scenario_jobs(day, "RTX A4000", seed=3), cg.simulate(day, "fifo", seed=3)
    np.testing.assert_allclose(np.sort(jobs.run_s), np.sort(run.jobs["service_s"]), rtol=1e-12)
    assert jobs.jobs == 950


# ---- what is refused ----


def idle(submit_s):
    """The figures of jobs without running time."""
    return simulated(
        Scenario(jobs_of(*((at, 0, 1, 0) for at in submit_s)), waiting_policy("njw"), 1)
    ).summary()


def two(*, cores=1, memory_gb=0.0):
    return jobs_of((0, 1, 1, 0.0), (1, 1, cores, memory_gb))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ExponentialJobs(0), ["jobs(=0)"]),
        (lambda: ExponentialJobs(1, rate_per_s=0), ["rate_per_s(=0)"]),
        (lambda: ListedJobs([], [], [], []), ["no usable job"]),
        (lambda: ListedJobs([0, 1], [1], [1, 1], [0, 0]), ["run_s"]),
        # a negative time
        (lambda: jobs_of((0, 1, 1, 0), (1, -1, 1, 0)), ["run_s of job 2(=-1.0)"]),
        (lambda: jobs_of((-1, 1, 1, 0)), ["submit_s of job 1(=-1.0)"]),
        (lambda: jobs_of((1, 1, 1, 0), (0, 1, 1, 0)), ["submit_s of job 2(=0.0)", "before"]),
        (lambda: two(cores=0), ["cores of job 2(=0)"]),
        (lambda: two(memory_gb=-1.0), ["memory_gb of job 2(=-1.0)"]),
        (lambda: Scenario(two(), waiting_policy("ajw"), 0), ["machines(=0)"]),
        (lambda: Scenario(two(), waiting_policy("njw"), -1), ["machines(=-1)"]),
        (lambda: Scenario(two(), waiting_policy("ajw"), ()), ["machines"]),
        (lambda: idle([0]), ["no price", "1 jobs", "0 s"]),
        (lambda: idle([0, 5]), ["no price", "2 jobs"]),
        (
            lambda: simulated(Scenario(ExponentialJobs(1), waiting_policy("ajw"), 1)).summary(),
            ["jobs(=1)", "at least 2"],
        ),
        (lambda: Scenario(two(), waiting_policy("ajw"), 1, "lifo"), ["unknown order 'lifo'"]),
        # no such size for rent
        (lambda: Scenario(two(), waiting_policy("ajw"), (Size("a", 128, 1, 0),)), ["price table"]),
        (
            lambda: Scenario(two(), waiting_policy("ajw"), M5, prices=Prices(1, 0)),
            ["on-demand price(=0)"],
        ),
        (
            lambda: simulated(Scenario(two(cores=65), waiting_policy("njw"), M5)),
            ["job 2 (65 cores, 0 GB)", "for rent", "64 cores"],
        ),
        (
            lambda: simulated(Scenario(two(cores=3), waiting_policy("ajw"), M5[:2])),
            ["job 2 (3 cores", "no fixed machine", "ajw"],
        ),
        (lambda: follow(Scenario(two(), waiting_policy("ajw"), M5)), ["recursion", "simulate"]),
        (lambda: follow(Scenario(two(), waiting_policy("ajw"), 1, "sjf")), ["recursion"]),
        (lambda: follow(Scenario(two(), waiting_policy("ajw"), 1), seed=-1), ["seed(=-1)"]),
        (lambda: Scenario(two(), "ajw", 1), ["policy(='ajw')", "WaitingPolicy"]),
        (
            lambda: best_number(Scenario(two(), waiting_policy("ajw"), 1, prices=Prices(0, 1))),
            ["fixed price(=0)"],
        ),
        (lambda: scenario_jobs(cg.day("quiet"), "H100"), ["gpu(='H100')", "RTX A4000"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(call, words):
    check_refused(call, words)


def test_a_job_that_no_fixed_machine_takes_is_rented_unless_all_must_wait():
    done = simulated(
        Scenario(two(cores=3), waiting_policy("ljw", short_s=0.5), M5[:2]), keep=True
    ).jobs
    assert done["on_demand"].tolist() == [False, True]
