"""Ten jobs on two nodes of four GPUs: when each job starts, and on which node, under
every scheduler; worked out by hand.
"""

import numpy as np
import pytest
from cluster.cases import jobs_of, simulate
from support import placed

import cgrsp_simpy as cg
from cgrsp_simpy.cluster.cluster import PLACEMENTS, Cluster, Need, Nodes, Pools

# Job: arrival (min), GPUs, duration (min), iterations per second, family, user. Job 6
# takes both nodes.
TEN = (
    (0, 4, 20, 0.1, 1, 1),
    (1, 2, 60, 0.6, 0, 1),
    (2, 4, 10, 0.1, 1, 2),
    (2, 4, 60, 0.3, 0, 2),
    (7, 3, 10, 0.4, 1, 2),
    (7, 2, 5, 0.6, 0, 1),
    (9, 8, 10, 0.1, 0, 1),
    (12, 2, 90, 0.1, 0, 1),
    (17, 4, 5, 0.1, 1, 2),
    (17, 2, 10, 0.1, 0, 0),
)

# Jobs 0 and 1 take node 0 and half of node 1; then 5 and 7 take the other half one
# after the other, which leaves node 0 from 20 min on. job@minute:nodes. All schedulers
# but strict FIFO and the two that keep reservations differ by what they do with it.
LOGS = {
    # nothing passes 2, then 3, then 4, which waits for three GPUs, then 6, which waits
    # for both nodes
    "fifo": "0@0:0 1@1:1 2@20:0 3@30:0 4@61:1 5@71:1 6@90:0+1 7@100:0 8@100:1 9@100:0",
    # 6 is passed by all
    "fifo-skip": (
        "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 3@30:0 9@61:1 4@90:0 8@100:0 6@105:0+1"
    ),
    # 2, 3, 4, 4, 4, 8 GPUs; at 102 node 1 is empty, and 8 has it
    "sjf": "0@0:0 1@1:1 5@7:1 7@12:1 9@20:0 4@30:0 2@40:0 3@50:0 8@102:1 6@110:0+1",
    # 5, 10, 10, 10, 60 min; 6 with its 10 min never finds two empty nodes before
    "shortest": "0@0:0 1@1:1 5@7:1 7@12:1 8@20:0 2@25:0 4@35:0 9@45:0 3@55:0 6@115:0+1",
    # 20, 20, 30, 40, 240 GPU-minutes
    "shortest-gpu": (
        "0@0:0 1@1:1 5@7:1 7@12:1 8@20:0 9@25:0 4@35:0 2@45:0 3@55:0 6@115:0+1"
    ),
    # the newest that fits: at 20 9, at 30 8, at 35 4, at 45 3; 6 finds no two empty
    # nodes before 112
    "ordered": (
        "0@0:0 1@1:1 5@7:1 7@12:1 9@20:0 8@30:0 4@35:0 3@45:0 2@102:1 6@112:0+1"
    ),
    # 4, 4, 4, 3, 2 GPUs; 6 with its 8 never finds two empty nodes before
    "ordered:by=widest": (
        "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 3@30:0 9@61:1 8@90:0 4@95:0 6@105:0+1"
    ),
    # at 12 2 is the shortest and holds up 7; from 45 on 6 holds up 9, which arrived
    # later, 3 and 7
    "ordered:by=shortest,blocked=wait": (
        "0@0:0 1@1:1 5@7:1 8@20:0 2@25:0 4@35:0 6@61:0+1 3@71:1 7@71:0 9@71:0"
    ),
    # 7 does not delay 2, nor 9 at 45 6, which gets both nodes at 102; 3 would, by three
    # minutes
    "ordered:by=shortest,blocked=backfill": (
        "0@0:0 1@1:1 5@7:1 7@12:1 8@20:0 2@25:0 4@35:0 9@45:0 6@102:0+1 3@112:0"
    ),
    # at 20, of six jobs: 2 0.96, 4 0.86, 8 0.70, 9 0.68, 3 0.60; then fairness counts
    # twice: at 30 4 1.06, 3 0.90; at 40 8 0.70
    "adaptive": (
        "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 4@30:0 3@40:0 9@61:1 8@100:0 6@105:0+1"
    ),
    # at 20: 9 0.57, 2 0.51, 8 0.46, 4 0.42 (its wait counts 0.87), 3 0.30; at 30: 2
    # 0.80; at 40: 4 0.98; at 50: 8 0.92, 3 0.50
    "hps": "0@0:0 1@1:1 5@7:1 7@12:1 9@20:0 2@30:0 4@40:0 8@50:0 3@55:0 6@115:0+1",
    # at 20: 2 0.65, 9 0.57; at 30: 4 0.84, 9 0.75; at 40: 9 0.98, 8 0.79
    "hps:monotone=true": (
        "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 4@30:0 9@40:0 8@50:0 3@55:0 6@115:0+1"
    ),
    # 4, for its efficiency of 0.13; 9, the only small one; fewest GPUs below an hour:
    # 2, then 8, both with four; 3
    "pbs": "0@0:0 1@1:1 5@7:1 7@12:1 4@20:0 9@30:0 2@40:0 8@50:0 3@55:0 6@115:0+1",
    # efficiencies: 4 0.133, 3 0.075, 9 0.05, 2 and 8 0.025: 4 and 3 excel; then 9
    # fits alone, 2 and 8 are equal, 8 last
    "pbs:mode=text": (
        "0@0:0 1@1:1 5@7:1 7@12:1 4@20:0 3@30:0 9@61:1 2@90:0 8@100:0 6@105:0+1"
    ),
    # no three of a family with eight GPUs together; alone: 4 0.065, 9 0.029, 3 0.019,
    # 8 0.012, 2 0.011
    "sbs": "0@0:0 1@1:1 5@7:1 7@12:1 4@20:0 9@30:0 3@40:0 8@100:0 2@102:1 6@112:0+1",
    # 7 may run until 102, for it does not delay 2, the head; so 4 must wait for node 0
    # at 90; 8 would delay 6 from 102 to 105
    "easy": "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 3@30:0 9@61:1 4@90:0 6@102:0+1 8@112:0",
    # 4 is promised node 1 at 61, and 6 both nodes at 90: 7 would delay them and waits;
    # 9 and 8 fit in between
    "conservative": (
        "0@0:0 1@1:1 5@7:1 9@17:1 2@20:0 3@30:0 4@61:1 8@71:1 6@90:0+1 7@100:0"
    ),
    # wide jobs and users who have had little go first: at 40 job 6 of user 1 is the
    # head and no other is to delay it from 102; 4 and 8, of user 2, are behind
    "multifactor": (
        "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 9@30:0 3@40:0 6@102:0+1 4@112:1 8@112:0"
    ),
    # user 1 has had much, so 6 is last; at 20 users 0 and 2 have had nothing; at 30
    # user 2 has had 40 GPU-minutes
    "las": "0@0:0 1@1:1 5@7:1 7@12:1 2@20:0 9@30:0 3@40:0 4@100:0 8@102:1 6@110:0+1",
}


@pytest.mark.parametrize("scheduler", LOGS)
def test_log(scheduler):
    arrival_s, gpus, duration_s, rate, family, user = np.array(TEN).T * [
        [60],
        [1],
        [60],
        [1],
        [1],
        [1],
    ]
    jobs = cg.cluster.Jobs(
        arrival_s,
        gpus,
        duration_s,
        duration_s,
        rate * duration_s,
        0 * gpus,
        family,
        user,
    )
    result = simulate(jobs, Cluster((4, 4)), cg.cluster.make_scheduler(scheduler))
    log = sorted(
        (minute, job)
        for job, minute in enumerate((result.jobs["start_s"] / 60).tolist())
    )
    nodes = ["+".join(str(node) for node, _ in place) for place in placed(result)]
    assert (
        " ".join(f"{job}@{minute:g}:{nodes[job]}" for minute, job in log)
        == LOGS[scheduler]
    )
    assert result.jobs["finish_s"] == pytest.approx(result.jobs["start_s"] + duration_s)


def test_every_scheduler_is_listed_here():
    assert {name.partition(":")[0] for name in LOGS} == set(cg.cluster.SCHEDULERS)


@pytest.mark.parametrize(
    ("placement", "node"), [("first", 0), ("best", 2), ("pack", 3), ("spread", 1)]
)
def test_a_placement_chooses_among_nodes_of_several_sizes(placement, node):
    """Shares of free GPUs: 15 of 16, 10 of 10, 2 of 2, 4 of 8."""
    nodes = Nodes((16, 10, 2, 8), PLACEMENTS[placement])
    assert nodes.room(nodes.packed((15, 10, 2, 4)), 1) == ((node, 1),)


# ---- more than GPUs ----


@pytest.mark.parametrize(
    ("nodes", "plain"), [(None, True), ([1, 1], True), ([1, 2], False), ([0, 1], False)]
)
def test_needs_are_numbers_of_gpus_if_each_job_is_on_one_node(nodes, plain):
    needs = Cluster((4, 4)).needs(jobs_of((0, 4, 9), (0, 2, 9), nodes=nodes))
    assert (needs == [4, 2]) == plain


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_needs_are_met_as_by_counting_node_by_node(placement):
    """Jobs arrive and leave on nodes with GPUs, cores and memory; checked by brute
    force.
    """
    random = np.random.default_rng(7)
    sizes = np.array([[4, 4, 8, 0, 2], [16, 8, 32, 64, 4], [5, 9, 0, 7, 3]])
    nodes = Pools(sizes.tolist(), PLACEMENTS[placement])
    free, left, running, refused = nodes.all, sizes.copy(), [], 0
    for _ in range(800):
        number = int(random.integers(1, 4))
        amounts = tuple(int(each) for each in random.integers(0, (9, 20, 6)))
        if max(amounts) < number:
            continue
        need = Need(amounts, number, int(random.integers(1, 32)))
        parts = [-(-amount // number) for amount in amounts]
        fit = [
            node
            for node in range(5)
            if need.where >> node & 1 and (left[:, node] >= parts).all()
        ]
        place = nodes.room(free, need)
        assert (place is not None) == nodes.fits(free, need) == (len(fit) >= number)
        if place is None:
            refused += 1
            if running:
                free = nodes.give(free, gone := running.pop(0))
                np.add.at(left.reshape(-1), *np.array(gone).T)
            continue
        assert nodes.serves(place, need) and {each % 5 for each, _ in place} <= {*fit}
        assert len({each % 5 for each, _ in place}) == number
        assert {most - least for most, least in _spans(place, number)} <= {0, 1}
        free = nodes.take(free, place)
        np.subtract.at(left.reshape(-1), *np.array(place).T)
        running.append(place)
        assert nodes.counts(free) == left.reshape(-1).tolist()
    assert 40 < refused < 760


def _spans(place, number):
    """The greatest and the least part of each pool; 0 of nodes without one."""
    for pool in {each // 5 for each, _ in place}:
        parts = [amount for each, amount in place if each // 5 == pool]
        yield max(parts), min(parts) if len(parts) == number else 0


@pytest.mark.parametrize(
    "place",
    [
        ((0, 4),),
        ((0, 2), (1, 2)),
        ((0, 2), (2, 1)),
        ((0, 1), (1, 1), (2, 2)),
        ((3, 2), (0, 2)),
    ],
)
def test_a_resource_that_does_not_satisfy_the_need_is_rejected(place):
    """Four GPUs are to be on two nodes, of which node 1 is none."""
    nodes, need = Pools([(4, 4, 4, 4)]), Need((4,), 2, 0b1101)
    assert nodes.serves(((0, 2), (2, 2)), need)
    assert nodes.serves(place, need) == (place == ((3, 2), (0, 2)))


@pytest.mark.parametrize("wide", [(), range(2, 8)])
def test_a_node_may_be_listed_more_than_once(wide):
    nodes, place = (
        Nodes((4, 4, *(4 for _ in wide))),
        ((0, 1), (1, 2), (0, 1), (0, 1), *((node, 1) for node in wide)),
    )
    assert nodes.counts(left := nodes.take(nodes.all, place)) == [
        *(1, 2),
        *(3 for _ in wide),
    ]
    assert nodes.give(left, place) == nodes.all
