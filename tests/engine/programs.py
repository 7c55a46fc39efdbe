"""Random SimPy programs, and an environment that lists the events of a run."""

import operator
from functools import partial
from itertools import product

import simpy
from hypothesis import strategies as st

from cgrsp_simpy.engine.events import event_list


class Listed(simpy.Environment):
    """SimPy's environment, which lists time, priority and number of its events."""

    def __init__(self):
        super().__init__()
        self.order = []

    def step(self):
        self.order += [entry[:3] for entry in event_list(self)[:1]]
        super().step()


KINDS = ("Resource", "PriorityResource", "PreemptiveResource")
PAIRS = (
    *product(("request", "renege", "book", "poll"), KINDS),
    *product(("put", "get"), ("Container", "Store", "FilterStore", "PriorityStore")),
)
ACTIONS = (
    *map(" of ".join, PAIRS),
    *("timeout", "all", "child", "delegate", "interrupt", "event"),
)
PLANS = st.lists(
    st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.integers(0, 3)), min_size=1, max_size=6
    ),
    min_size=1,
    max_size=5,
)


def random_plans(rng):
    """Return longer plans than PLANS has."""
    return [
        [(rng.choice(ACTIONS), rng.randint(0, 3)) for _ in range(30)] for _ in range(9)
    ]


def resources_of(env, library):
    """Return a resource of each kind, of SimPy or of a package that has its kinds."""
    resources = {
        kind: getattr(library, kind)(env, 1 if kind in KINDS[:2] else 2)
        for kind in dict.fromkeys(kind for _, kind in PAIRS if kind != "Container")
    }
    return {**resources, "Container": library.Container(env, 5, init=2)}


def modelled(env, plans, resources, until=30):
    """Run random plans of processes; return what the processes have logged.

    Each process of a plan carries out its actions, each with a number from 0 to 3.
    """
    log, processes, bell = [], [], env.event()

    def work(delay):
        yield env.timeout(delay)

    def served(verb, kind, number):
        priority = {} if kind == "Resource" else {"priority": number}
        if kind == "PreemptiveResource":
            priority["preempt"] = number != 2
        desk = resources[kind]
        with desk.request(**priority) as turn:
            try:
                yield from work(1) if verb == "book" else ()
            except simpy.Interrupt:
                return "interrupted before it waited"
            waited = env.timeout(1) if verb == "poll" else turn
            while verb == "poll" and (
                turn in desk.queue if number % 2 else turn not in desk.users
            ):
                yield env.timeout(1)
            got = yield waited | env.timeout(number / 2 if verb == "renege" else 100)
            if waited in got:
                yield env.timeout(3 - number)
        return waited in got

    def traded(verb, kind, number):
        arguments = (number + 1,)
        if verb == "get" and kind != "Container":
            arguments = (partial(operator.le, number),) * (kind == "FilterStore")
        with getattr(resources[kind], verb)(*arguments) as trade:
            got = yield trade | env.timeout(4)
        return trade in got, got.todict().get(trade)

    def acted(name, number):
        verb, _, kind = name.partition(" of ")
        if kind:
            return (
                yield from (traded if verb in ("put", "get") else served)(
                    verb, kind, number
                )
            )
        if name == "timeout":
            yield env.timeout(number)
        elif name == "all":
            yield env.all_of([env.timeout(number), env.timeout(1)])
        elif name == "child":
            yield env.process(work(number))
        elif name == "delegate":
            yield from work(number)
        elif name == "interrupt":
            victim = processes[number % len(processes)]
            if victim.is_alive and victim is not env.active_process:
                victim.interrupt(number)
        elif not bell.triggered:
            bell.succeed(number)
        else:
            yield bell

    def state(kind):
        thing = resources[kind]
        if "Resource" in kind:
            return thing.count, len(thing.queue)
        return thing.level if kind == "Container" else [*thing.items]

    def customer(place, plan):
        for name, number in plan:
            try:
                result = yield from acted(name, number)
            except simpy.Interrupt as interrupt:
                result = getattr(interrupt.cause, "usage_since", interrupt.cause)
            log.append((env.now, place, name, result, *map(state, resources)))

    def release(kind, plain, request):
        log.append((env.now, kind, *state(kind)))
        return plain(request)

    for kind in KINDS:  # observed as in SimPy's guide to monitoring
        resources[kind].release = partial(release, kind, resources[kind].release)
    for place, plan in enumerate(plans):
        processes.append(env.process(customer(place, plan)))
    env.run(until)
    return log
