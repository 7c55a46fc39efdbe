"""The cluster's schedulers, each against small cases worked out by hand; and the four
failures of the adaptive one.
"""

from dataclasses import replace

import numpy as np
import pytest
from cluster.cases import (
    ONE_NODE,
    TWO_NODES,
    jobs_of,
    simulate,
    started,
    starts,
    waiting_run,
)
from support import refusals, waits_s

from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER, Cluster
from cgrsp_simpy.cluster.jobs import Mix, generate
from cgrsp_simpy.cluster.policies import (
    SCHEDULERS,
    Multifactor,
    Received,
    hps_aging,
    make_scheduler,
    scores_of_queue,
)

HOUR = 3600.0


def first(scheduler, jobs, now_s=0.0):
    """The job that is started first."""
    return started(scheduler, waiting_run(jobs, Cluster((64,)), now_s))[0]


# ---- one objective ----

MIXED = jobs_of((0, 4, 100), (0, 1, 300), (0, 2, 400), (0, 4, 50), (0, 1, 300))


@pytest.mark.parametrize(
    ("scheduler", "order"),
    [
        ("fifo", [0, 1, 2, 3, 4]),
        ("fifo-skip", [0, 1, 2, 3, 4]),
        ("sjf", [1, 4, 2, 0, 3]),  # GPUs 1 1 2 4 4
        ("shortest", [3, 0, 1, 4, 2]),  # seconds 50 100 300 300 400
        ("shortest-gpu", [3, 1, 4, 0, 2]),  # GPU-seconds 200 300 300 400 800
        ("las", [0, 1, 2, 3, 4]),  # nobody has received anything
        ("ordered", [4, 3, 2, 1, 0]),
        ("ordered:by=shortest", [3, 0, 1, 4, 2]),
        ("ordered:by=widest,blocked=wait", [0, 3, 2, 1, 4]),
    ],
)
def test_orders_of_a_queue_for_which_there_is_room(scheduler, order):
    assert started(scheduler, waiting_run(MIXED, TWO_NODES)) == order


RECEIVED = ((0, 8, 10), (0, 4, 15), (1, 8, 5), (2, 8, 5), (3, 8, 5))


@pytest.mark.parametrize(
    ("scheduler", "rows", "user", "start_s"),
    [
        # user 0 has had 8 GPUs for 10 s, user 1 4 of them for 10 s, user 2 nothing;
        # user 1's job still runs at 20 s
        ("las", RECEIVED, [0, 1, 0, 1, 2], [0, 10, 35, 30, 25]),
        ("fifo", RECEIVED, [0, 1, 0, 1, 2], [0, 10, 25, 30, 35]),
        # user 0's first job, number 0, still runs
        (
            "las",
            ((0, 7, 100), (0, 1, 10), (5, 1, 5), (5, 1, 5)),
            [0, 1, 0, 1],
            [0, 0, 15, 10],
        ),
        # user 0's first job ends at 4 s, seen only at 20 s: it has received 8 x 4
        # GPU-seconds, not 8 x 20; user 1 40
        (
            "las",
            ((0, 8, 4), (6, 4, 10), (20, 8, 5), (20, 8, 5)),
            [0, 1, 1, 0],
            [0, 6, 25, 20],
        ),
    ],
)
def test_least_attained_service_starts_with_the_user_served_least(
    scheduler, rows, user, start_s
):
    assert starts(scheduler, jobs_of(*rows, user=user)) == start_s


@pytest.mark.parametrize("scheduler", ["sjf", "shortest-gpu", "hps", "adaptive"])
def test_equal_jobs_go_by_arrival(scheduler):
    jobs = jobs_of(*((0, 1 + job % 2, 60) for job in range(100)))
    assert started(scheduler, waiting_run(jobs, Cluster((150,)))) == [
        *range(0, 100, 2),
        *range(1, 100, 2),
    ]


# ---- HPS ----


@pytest.mark.parametrize(
    ("monotone", "wait_s", "expected"),
    [
        (
            False,
            [0, 300, 301, 600, 900, 1800, 9999],
            [1, 1, 2 * 301 / 1800, 2 / 3, 1, 2, 2],
        ),
        (True, [0, 300, 1050, 1800, 9999], [1, 1, 1.5, 2, 2]),
    ],
)
def test_aging_drops_past_the_threshold_unless_it_is_monotone(
    monotone, wait_s, expected
):
    """The authors' is 1 again at 900 s."""
    result = hps_aging(np.array(wait_s, float), 300, 2, 1800, monotone)
    assert result == pytest.approx(expected)


LATER = jobs_of((0, 8, 1800), (200, 4, 3600)), jobs_of((0, 8, 1800), (1100, 4, 3600))
BETTER = jobs_of((0, 1, 1800), (301, 1, 2000))


@pytest.mark.parametrize(
    ("scheduler", "jobs", "now_s", "expected"),
    [
        # 1/(1+0.5)/(1+8/4) = 0.222 against 1/(1+1)/(1+4/4) = 0.25
        ("hps", LATER[0], 200, 1),
        ("hps", LATER[1], 1100, 0),  # x 1.22 = 0.272
        ("hps:monotone=true", LATER[1], 1100, 0),
        ("hps:aging_threshold_s=1200", LATER[1], 1100, 1),
        ("hps:aging_boost=1", LATER[1], 1100, 1),
        ("hps:max_wait_s=3600", LATER[1], 1100, 1),  # x 0.61
        # the first is the better one, until at 301 s its aging is 0.33
        ("hps", BETTER, 301, 1),
        ("hps:monotone=true", BETTER, 301, 0),
    ],
)
def test_hps_weighs_time_waiting_and_gpus(scheduler, jobs, now_s, expected):
    """Half an hour on 8 GPUs that waits since 0 s, an hour on 4 that has just
    arrived; and a job that falls behind by waiting.
    """
    assert first(scheduler, jobs, now_s) == expected


# ---- the adaptive scheduler, and how it failed (Section III.D) ----


def crowd(jobs):
    """Each job arrives a second after the one before it and is a second shorter: old
    jobs are the long ones.
    """
    return jobs_of(*((second, 1, 500 - second) for second in range(jobs)))


def test_scores_are_of_the_queue():
    """GPU-seconds 800, 400, 200; waits 10, 5, 0 s; g (1 + left) with 4 free: 8 GPUs do
    not fit and count 8 as left.
    """
    jobs = jobs_of((0, 8, 100), (5, 4, 100), (10, 2, 100))
    view = waiting_run(jobs, now_s=10, free=[4]).view
    expected = [
        [0, 400 / 600, 1],
        [1, 0.5, 0],
        [0, (72 - 4) / (72 - 4), (72 - 6) / (72 - 4)],
    ]
    assert scores_of_queue(view) == pytest.approx(np.array(expected))


def test_objective_interference_a_hundredth_of_weight_turns_the_whole_queue_round():
    results = [
        started(
            f"adaptive:fairness=0.4,efficiency={weight}",
            waiting_run(crowd(10), Cluster((64,)), now_s=9),
        )
        for weight in (0.39, 0.41)
    ]
    assert results == [list(range(10)), list(range(10))[::-1]]


def test_normalisation_the_same_job_is_the_least_efficient_and_then_nearly_the_most():
    jobs = jobs_of((0, 1, HOUR), (0, 1, 2 * HOUR), (0, 1, 101 * HOUR))
    assert scores_of_queue(waiting_run(jobs.chosen([0, 1], "two")).view)[
        0
    ].tolist() == [1, 0]
    assert scores_of_queue(waiting_run(jobs).view)[0].tolist() == pytest.approx(
        [1, 0.99, 0]
    )


def test_threshold_one_more_job_in_the_queue_turns_the_order_of_all_others_round():
    few, more = (
        started("adaptive", waiting_run(crowd(jobs), Cluster((64,)), now_s=30))
        for jobs in (5, 6)
    )
    # fairness counts twice up to 5
    assert (few, more) == (list(range(5)), list(range(6))[::-1])
    many, beyond = (
        started(
            "adaptive:fairness=0.5", waiting_run(crowd(n), Cluster((64,)), now_s=30)
        )
        for n in (20, 21)
    )
    # efficiency counts twice beyond 20
    assert (many, beyond) == (list(range(20)), list(range(21))[::-1])


# ---- PBS ----

RULES = jobs_of(
    (0, 4, 2000), (0, 2, 9000), (0, 1, 8000), (0, 4, 1000), iterations=[4000, 18, 8, 4]
)


@pytest.mark.parametrize(
    ("scheduler", "jobs", "expected"),
    [
        ("pbs", RULES, 0),  # efficiency 0.5 > 0.1
        ("pbs:threshold=0.5", RULES, 2),  # not above 0.5: the shortest of the small
        ("pbs:threshold=0.5,small_gpus=4", RULES, 3),
        ("pbs", RULES.chosen([1, 2, 3], "none above 0.1"), 1),
        ("pbs:mode=text", RULES, 0),
        # 9 % above the next is not enough
        ("pbs:mode=text", jobs_of((0, 1, 100), (0, 1, 50), iterations=[109, 50]), 1),
        ("pbs:mode=text", jobs_of((0, 1, 100), (0, 1, 50), iterations=[110, 50]), 0),
        ("pbs:mode=text", jobs_of((0, 1, 9), iterations=[1]), 0),  # there is no next
        # the fewest GPUs of those below an hour
        ("pbs", jobs_of((0, 8, 500), (0, 4, 3599), (0, 3, 3600)), 1),
        ("pbs:medium_s=600", jobs_of((0, 8, 500), (0, 4, 3599), (0, 3, 3600)), 0),
        ("pbs", jobs_of((0, 8, 5000), (0, 4, 4000), (0, 3, 6000)), 1),  # the shortest
    ],
)
def test_rules_of_pbs(scheduler, jobs, expected):
    assert first(scheduler, jobs) == expected


PAIRS = jobs_of(
    (0, 4, 100), (0, 4, 70), (0, 4, 95), (0, 8, 70), iterations=[400, 4000, 200, 1]
)


ALIKE = jobs_of((0, 4, 100), (0, 4, 100), (0, 1, 100), iterations=[400, 300, 200])
UNLIKE = jobs_of((0, 1, 100), (0, 1, 100), (0, 1, 10), iterations=[100, 100, 60])


@pytest.mark.parametrize(
    ("scheduler", "jobs", "free", "expected"),
    [
        ("pbs", RULES, [3, 0], [2, 1]),  # only these fit
        ("pbs", PAIRS, [8, 0], [1, 0]),
        # the only two whose times are within 20 % of the longer
        ("pbs:pairs=true", PAIRS, [8, 0], [0, 2]),
        # 4400/680; 4200/660 and 600/780 are less
        ("pbs:pairs=true,tolerance=0.3", PAIRS, [8, 0], [0, 1]),
        # no node has room for a pair: by efficiency
        ("pbs:pairs=true", PAIRS, [7, 4], [1, 0]),
        # and so when a pair has started
        ("pbs:pairs=true", PAIRS, [8, 7], [0, 2, 1]),
        # iterations per GPU second: 700/800, 600/500, 500/500
        ("pbs:pairs=true", ALIKE, [8, 0], [0, 2]),
        # of times that differ: 200/200, 160/110, 160/110
        ("pbs:pairs=true,tolerance=1", UNLIKE, [2, 0], [0, 2]),
    ],
)
def test_pbs_starts_the_best_pair_that_one_node_has_room_for(
    scheduler, jobs, free, expected
):
    assert started(scheduler, waiting_run(jobs, TWO_NODES, free=free)) == expected


@pytest.mark.parametrize("scheduler", ["pbs", "pbs:pairs=true", "sbs"])
def test_jobs_on_cores_alone_have_the_efficiency_of_jobs_of_one_gpu(scheduler):
    """Two jobs on cores wait for job 0; the more efficient one is the later."""
    rows = (0, 1, 10), (1, 0, 10), (2, 0, 10)
    jobs = jobs_of(*rows, iterations=[1, 1, 5], cores=[4, 4, 4])
    run = simulate(jobs, Cluster((1,), cores=(4,)), make_scheduler(scheduler))
    assert run.jobs["start_s"].tolist() == [0, 20, 10]


# ---- SBS ----

FAMILIES = jobs_of(  # three alike of family 1 among others
    *(
        (0, 1, HOUR),
        (0, 1, 2 * HOUR),
        (0, 1, HOUR / 4),
        (0, 1, 2 * HOUR),
        (0, 1, 2 * HOUR),
        (0, 1, HOUR),
    ),
    family=[0, 1, 2, 1, 1, 0],
)


@pytest.mark.parametrize(
    ("scheduler", "jobs", "expected"),
    [
        ("sbs", FAMILIES, 1),
        ("sbs:capacity=2", FAMILIES, 2),  # 3 GPUs are too many; by itself the shortest
        ("sbs", FAMILIES.chosen([0, 1, 2, 3, 5], "two of each"), 2),
        # 1/(1 + 2/3) < 0.8
        ("sbs", jobs_of(*((0, 1, hours * HOUR) for hours in (3, 2, 1))), 2),
        (
            "sbs:least_similarity=0.6",
            jobs_of(*((0, 1, hours * HOUR) for hours in (3, 2, 1))),
            0,
        ),
        (
            "sbs:time_unit_s=1",
            jobs_of(*((0, 1, second) for second in (102, 101, 100))),
            2,
        ),
        ("sbs", jobs_of(*((0, 1, second) for second in (102, 101, 100))), 0),
        # the GPUs vary as much
        ("sbs", jobs_of(*((0, gpus, HOUR) for gpus in (3, 2, 1))), 2),
        # the best three in a row, not 1 to 5
        ("sbs", jobs_of(*((0, 1, HOUR),) * 6, iterations=[1, 1, 5, 6, 5, 1]), 2),
        (
            "sbs",
            jobs_of(
                *((0, 1, HOUR * (1 + (n == 5))) for n in range(6)),
                iterations=[1, 1, 1, 9, 1, 1],
            ),
            1,
        ),
        # 8/4 is more than 5/3 and 9/5
        ("sbs", jobs_of(*((0, 1, HOUR),) * 5, iterations=[1, 3, 1, 1, 3]), 1),
        # 9/5 is more than 5/3 and 6/4
        ("sbs", jobs_of(*((0, 1, HOUR),) * 6, iterations=[1, 3, 1, 1, 1, 3]), 1),
        (  # 6.6/(3 x 2 h) x 0.82 is less than 3/(3 x 1 h) x 1
            "sbs",
            jobs_of(
                *((0, 1, hours * HOUR) for hours in (1, 1, 2, 1, 1, 1)),
                family=[0] * 3 + [1] * 3,
                iterations=[2.2] * 3 + [1] * 3,
            ),
            3,
        ),
    ],
)
def test_sbs_starts_the_first_job_of_the_best_batch(scheduler, jobs, expected):
    assert first(scheduler, jobs) == expected


def test_sbs_without_a_batch_weighs_efficiency_gpus_and_time():
    """By GPU-hours 1.5, 1.4, 1.1, over 3, 2, 1.5; then 1 and 1.5, over 2 and 4."""
    jobs = jobs_of(
        (0, 8, HOUR),
        (0, 4, HOUR),
        (0, 2, HOUR),
        family=[0, 1, 2],
        iterations=[12, 5.6, 2.2],
    )
    assert started("sbs", waiting_run(jobs, TWO_NODES)) == [2, 1, 0]
    assert started(
        "sbs", waiting_run(jobs_of((0, 1, 3 * HOUR), (0, 1, HOUR), iterations=[4.5, 1]))
    ) == [1, 0]


@pytest.mark.parametrize("name", ["conservative", "las", "multifactor"])
def test_schedulers_with_memory_are_new_in_every_run(name):
    scheduler = make_scheduler(name)
    jobs = jobs_of((0, 8, 4), (1, 4, 9), (2, 6, 5), (2, 8, 5), user=[0, 1, 0, 1])
    assert np.array_equal(
        *(simulate(jobs, ONE_NODE, scheduler).jobs["start_s"] for _ in range(2))
    )


# ---- by name ----


@pytest.mark.parametrize("name", SCHEDULERS)
def test_a_run_names_its_scheduler(name):
    assert simulate(jobs_of((0, 1, 1)), ONE_NODE, make_scheduler(name)).policy == name


test_a_wrong_text_gives_an_error_with_the_allowed_ones = refusals(
    ("hsp", "unknown scheduler 'hsp'; did you mean 'hps'?"),
    (7, r"scheduler\(=7\) must be a name or a function of a view"),
    (
        "fifo:monotone=true",
        r"scheduler\(='fifo:monotone=true'\) must be fifo: it has no",
    ),
    ("hps:monoton=true", "did you mean 'monotone'"),
    ("hps:monotone", "'monotone' must be of the form parameter=value"),
    ("hps:monotone=1", r"monotone\(='1'\) must be true or false"),
    ("hps:aging_boost=much", r"aging_boost\(='much'\) must be a number"),
    ("hps:aging_boost=2,aging_boost=3", "aging_boost is given twice"),
    ("hps:aging_boost=0.5", r"aging_boost\(=0.5\) must be a number >= 1"),
    ("hps:aging_threshold_s=-1", "aging_threshold_s"),
    ("hps:max_wait_s=300", "max_wait_s.* must be a number > 300"),
    ("pbs:mode=printed", "unknown mode of pbs 'printed'"),
    ("pbs:small_gpus=1.5", "small_gpus.* must be a whole number"),
    ("pbs:small_gpus=0", "small_gpus"),
    ("pbs:threshold=nan", "threshold"),
    ("pbs:medium_s=-1", "medium_s"),
    ("pbs:tolerance=-1", "tolerance"),
    ("sbs:capacity=0", "capacity"),
    ("sbs:least_similarity=1.5", "least_similarity"),
    ("sbs:time_unit_s=0", "time_unit_s"),
    ("adaptive:fairness=-1", "fairness"),
    ("adaptive:short_queue=-1", "short_queue"),
    ("adaptive:short_queue=30", r"long_queue\(=20\) must be a whole number >= 30"),
    ("adaptive:shift=0.5", "shift"),
    ("multifactor:age=-1", r"age\(=-1.0\) must be a number >= 0"),
    ("multifactor:half_life_s=0", r"half_life_s\(=0.0\) must be a number > 0"),
    ("multifactor:depth=-1", r"depth\(=-1\)"),
    ("easy:depth=-1", r"depth\(=-1\)"),
    ("ordered:by=longest", "unknown by of ordered 'longest'"),
    ("ordered:blocked=no", "unknown blocked of ordered 'no'"),
    call=lambda text: make_scheduler(text),
)


@pytest.mark.parametrize("monotone", ["false", "true"])
@pytest.mark.parametrize("hours", [4, 12])
def test_aging_does_not_bound_a_wait(hours, monotone):
    """A job of 8 GPUs and 2 h waits as long as half nodes of 10 min keep coming: at
    most 2 x 0.33 x 0.33 against 0.86 x 0.5.

    The paper says that aging keeps jobs from starving (Section V.A); its boost is at
    most 2, whatever the wait.
    """
    small = [(minute * 60, 4, 600) for minute in range(0, 60 * hours, 5)]
    jobs = jobs_of(*small, (1, 8, 7200))
    result = simulate(jobs, ONE_NODE, make_scheduler(f"hps:monotone={monotone}"))
    wide = int(np.argmax(jobs.gpus))
    assert waits_s(result.jobs)[wide] >= (hours * 60 - 5) * 60
    assert waits_s(result.jobs)[jobs.gpus == 4].max() == 0


# ---- Slurm's priority ----


def test_multifactor_is_the_weighted_sum_of_its_four_factors():
    """At 100 s, when users 0 and 1 have received 100 and 300 GPU-seconds, and user 2
    nothing.
    """
    jobs = jobs_of(
        *[(0, 1, 100), (0, 3, 100), (60, 4, 5), (40, 8, 5), (100, 1, 5)],
        user=[0, 1, 0, 1, 2],
    )
    jobs = replace(jobs, qos=[0, 0, 0.5, 1, 0])
    weights = {"age": 10, "size": 100, "fairshare": 1000, "qos": 10_000}
    scheduler = Multifactor(**weights, max_age_s=50, half_life_s=1e12)
    seen = []

    def look(view):
        if view.now_s == 100 and len(view.queue) == 3:
            seen.append(scheduler.priority(view, np.array(view.queue)))
        yield from SCHEDULERS["fifo"](view)

    simulate(jobs, ONE_NODE, look)
    # waits 40, 60 and 0 s; 8, 4 and 1 of 8 GPUs; a quarter, three quarters and nothing
    # of all usage against a third each. Jobs go by arrival: user 1's is the older
    expected = [
        10 * min(60 / 50, 1) + 100 * 8 / 8 + 1000 * 2 ** (-0.75 * 3) + 10_000 * 0.5,
        10 * 40 / 50 + 100 * 4 / 8 + 1000 * 2 ** (-0.25 * 3) + 10_000,
        0 + 100 / 8 + 1000 + 0,
    ]
    assert seen[0] == pytest.approx(expected)
    small = Multifactor(0, 100, 0, favor_small=True)
    view = waiting_run(jobs_of((0, 1, 1), (0, 6, 1)), ONE_NODE).view
    assert small.priority(view, np.array([0, 1])).tolist() == [87.5, 25]


@pytest.mark.parametrize("half_life_s", [8.0, float("inf")])
def test_received_service_counts_half_after_each_half_life(half_life_s):
    """A user's 2 GPUs for 16 s that ended 8 s ago, and 1 that has run for 4 s; by the
    integral.
    """
    jobs = jobs_of((0, 2, 16), (20, 1, 16), (24, 1, 1), user=[5, 5, 5])
    seen = []

    def look(view):
        received = Received(half_life_s).by_user(view, view.jobs.user)
        seen.append((view.now_s, dict(received)))
        yield from SCHEDULERS["fifo"](view)

    simulate(jobs, ONE_NODE, look)
    at_s = np.linspace(0, 24, 240_001)
    held = 2.0 * (at_s < 16) + (at_s >= 20)
    [of_view] = [received[5] for now_s, received in seen if now_s == 24]
    assert of_view == pytest.approx(
        np.trapezoid(held * 0.5 ** ((24 - at_s) / half_life_s), at_s), 1e-3
    )


def test_multifactor_by_age_alone_is_easy_and_depth_limits_both():
    jobs = generate(Mix(), 100, 1.4, PAPER_CLUSTER, 0)
    by_age = "multifactor:size=0,fairshare=0,max_age_s=1e9"
    for depth in ("", ",depth=3"):
        easy = f"easy{depth.replace(',', ':')}"
        first, second = (
            simulate(jobs, PAPER_CLUSTER, make_scheduler(name)).jobs["start_s"]
            for name in (easy, by_age + depth)
        )
        assert np.array_equal(first, second)
    assert not np.array_equal(
        *(
            simulate(jobs, PAPER_CLUSTER, make_scheduler(name)).jobs["start_s"]
            for name in ("easy", easy)
        )
    )
