"""Dispatching as a Gymnasium environment: its checker, policies replayed, rewards that
add up.
"""

import numpy as np
import pytest
from support import script

import cgrsp_simpy as cg
from cgrsp_simpy.decide.recommend import COST, Prices
from cgrsp_simpy.studies.subject import subject_of

pytest.importorskip("gymnasium")
gym_environment = script("research/gym_environment")
GymEnvironment = gym_environment.GymEnvironment

BUSY = cg.day("surge", jobs=150)
FREE = cg.day("hectic", jobs=60, free_types=True)
SEEN = cg.day("hectic", jobs=60, persistence_s=3600.0, sight="now")


def noted(scenario, policy, seed):
    """A run of a policy and its decisions: dispatched jobs with type and slot, and
    wake-up times.
    """
    decisions = []

    def answered(view):
        own = []
        decisions.append(own)
        for item in made(view) or ():
            own.append(item)
            yield item

    made = subject_of(scenario).make_policy(policy)
    return cg.simulate(scenario, answered, seed), decisions


def replayed(scenario, decisions, seed):
    """Return the run with recorded decisions, and the sum of its rewards."""
    left = [list(own) for own in decisions]
    wakes = [
        min((x.at_s for x in own if isinstance(x, cg.Wake)), default=None)
        for own in left
    ]
    chosen = {}
    env = GymEnvironment(
        scenario,
        pick=lambda view, jobs: next(job for job in jobs if job.id == chosen["job"]),
        look=lambda view: chosen["wake"],
    )
    _, content = env.reset(seed=seed)
    total, over, n = 0.0, False, 0
    while not over:
        sent = [item for item in left[n] if not isinstance(item, cg.Wake)]
        action, chosen["wake"] = env.hold, wakes[n]
        if sent:
            job, slot = sent[0]
            left[n].remove(sent[0])
            chosen["job"] = job.id
            place = env.classes.index((job.deadline_class, job.complexity))
            action = place * len(env.types) + env.types.index(slot.gpu)
        assert content["action_mask"][action]
        decision = env.run.decisions
        _, reward, over, cut, content = env.step(action)
        assert not cut
        total += reward
        n += env.run.decisions - decision
    assert not any(not isinstance(item, cg.Wake) for own in left for item in own)
    return env.run.close(), total


@pytest.mark.slow
@pytest.mark.parametrize("policy", cg.POLICIES)
@pytest.mark.parametrize("scenario", [BUSY, FREE, SEEN], ids=["fixed", "free", "seen"])
def test_a_policy_replayed_gives_its_own_records(policy, scenario):
    for seed in (1, 2):
        run, decisions = noted(scenario, policy, seed)
        again, total = replayed(scenario, decisions, seed)
        # random takes any slot of a type, and not the first
        for name in run.jobs.dtype.names:
            if (policy, name) != ("random", "slot"):
                assert again.jobs[name].tobytes() == run.jobs[name].tobytes(), name
        assert total == pytest.approx(-Prices().bill(run.tally, 0, 1.0)[COST])


@pytest.mark.slow
@pytest.mark.parametrize("scenario", [cg.day("quiet", jobs=12), FREE, SEEN])
def test_gymnasium_finds_no_fault(scenario):
    checker = pytest.importorskip("gymnasium.utils.env_checker")
    checker.check_env(GymEnvironment(scenario), skip_render_check=True)


def played(seed, choose, scenario=BUSY):
    """Return what an agent receives in a run: observations, masks and rewards."""
    env, result = GymEnvironment(scenario), []
    seen, content = env.reset(seed=seed)
    over = False
    while not over:
        action = choose(content["action_mask"])
        seen, reward, over, _, content = env.step(action)
        result.append((seen, content["action_mask"], reward))
    return env, result


@pytest.mark.slow
def test_allowed_values_can_be_used_and_fit_the_space():
    rng = np.random.default_rng(5)
    env, result = played(2, lambda mask: rng.choice(np.flatnonzero(mask)))
    assert all(env.observation_space.contains(seen) for seen, _, _ in result)
    assert sum(reward for *_, reward in result) < 0
    assert len(env.run.close().jobs) == 150


@pytest.mark.slow
def test_the_observation_matches_its_description():
    env = GymEnvironment(BUSY)
    seen, content = env.reset(seed=4)
    [job] = env.run.view.queue
    place = env.classes.index((job.deadline_class, job.complexity))
    counts, due_h = seen[0:12:2], seen[1:12:2]
    assert counts.tolist() == [float(n == place) for n in range(6)]
    assert due_h[place] == pytest.approx((job.deadline_s - env.run.now_s) / 3600)
    assert set(np.delete(due_h, place)) == {48.0}  # nothing waits
    types = seen[12:28].reshape(4, 4)
    assert types[:, 0].tolist() == [2, 1, 1, 1]  # five slots, types in turn
    for gpu, chances in zip(env.types, types[:, 1:]):
        law = BUSY.market.probabilities(gpu, env.run.now_s)
        assert chances.tolist() == pytest.approx(law)
    turn = BUSY.market.clock.hour(env.run.now_s) / 24 * 2 * np.pi
    assert seen[28:].tolist() == pytest.approx([np.sin(turn), np.cos(turn), 0])
    allowed = np.flatnonzero(content["action_mask"]).tolist()
    assert allowed == [*range(4 * place, 4 * place + 4), env.hold]
    first = list(env.types).index(BUSY.slots[0])
    seen, *_ = env.step(4 * place + first)
    assert seen[12 + 4 * first] == 1 or env.run.now_s > job.submit_s


@pytest.mark.slow
def test_a_job_held_for_ever_is_dispatched_eventually():
    _, result = played(0, lambda mask: len(mask) - 1, cg.day("quiet", jobs=2))
    assert sum(mask[-1] == 0 for _, mask, _ in result) == 2  # for each job once
    assert len(result) > 2 * gym_environment.MOST_HELD


@pytest.mark.slow
def test_a_seed_is_the_runs_and_without_one_it_is_drawn_from_the_last():
    first = cg.simulate(BUSY, "fifo", 7).jobs["submit_s"][0]
    env = GymEnvironment(BUSY)
    env.reset(seed=7)
    assert env.run.view.queue[0].submit_s == first
    drawn = []
    for _ in range(2):
        env.reset(seed=7)
        env.reset()
        drawn.append(env.run.seed)
    assert drawn[0] == drawn[1] != 7


def test_the_first_job_of_a_class_that_can_be_in_time_is_dispatched():
    late, soon, later = (
        cg.Job(n, 0.0, due) for n, due in enumerate((10.0, 900.0, 2000.0))
    )
    view = BUSY.moment([late, soon, later], now_s=50.0)
    assert gym_environment.earliest_due(view, view.queue) is soon
    assert gym_environment.earliest_due(view, [late]) is late


def test_jobs_that_need_several_slots_are_rejected():
    gang = cg.JobList([cg.Job(0, 0.0, 100.0, gpus=2)])
    with pytest.raises(ValueError, match="several slots"):
        GymEnvironment(cg.Scenario("gang", gang))
