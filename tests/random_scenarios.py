"""Small scenarios at random, for property tests."""

from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.market.model import CLOCKS
from cgrsp_simpy.rental.job import DeadlineClasses

WHOLE_TIMES = tuple(  # mean execution times that meet in the same instant
    cg.GpuType(name, price, times, stock)
    for name, price, times, stock in [
        ("A", 0.5, (60, 60, 120), 0.5),
        ("B", 0.25, (60, 90, 180), 1.0),
        ("C", 0.0, (30, 60, 90), 0.0),
    ]
)


def fleets():
    types = st.sampled_from([cg.THESIS_GPUS, WHOLE_TIMES])
    number = types.flatmap(
        lambda gpus: st.integers(1, 7).map(
            lambda slots: (gpus, cg.round_robin(slots, gpus))
        )
    )
    listed = types.flatmap(
        lambda gpus: st.lists(
            st.sampled_from([gpu.name for gpu in gpus]), min_size=1, max_size=7
        ).map(lambda names: (gpus, cg.round_robin(names, gpus)))
    )
    return number | listed


def delay_ranges():
    bounds = st.tuples(st.floats(0, 200), st.floats(0, 2000)).map(
        lambda pair: (pair[0], pair[0] + pair[1])
    )
    nothing = st.just((0.0, 0.0))
    return (
        st.just(cg.Market().delay_s)
        | st.just(((0.0, 0.0),) * 3)
        | st.tuples(*[nothing | bounds] * 3)
    )


@st.composite
def poisson(draw):
    windows = draw(
        st.sampled_from(
            [(3600.0, 28800.0), (600.0, 600.0), (65.0, 900.0), (1.0, 120.0)]
        )
    )
    return cg.PoissonWorkload(
        jobs=draw(st.integers(1, 60)),
        rate_per_s=10.0 ** draw(st.floats(-4, 0.5)),  # far apart, or all at once
        deadlines=DeadlineClasses(draw(st.floats(0, 1)), *windows),
    )


@st.composite
def listed(draw, most_gpus):
    """Jobs that arrive together, deadlines that are equal, some of them out of reach
    from the start.
    """
    jobs, now = [], 0.0
    for id in range(draw(st.integers(1, 25))):
        now += draw(st.sampled_from([0.0, 0.0, 0.0, 1.0, 30.0, 60.0, 500.5]))
        window = draw(st.sampled_from([0.0, 10.0, 60.0, 120.0, 600.0, 3600.0, 28800.0]))
        gpus = draw(st.integers(1, most_gpus))
        jobs.append(
            cg.Job(
                id,
                now,
                now + window,
                draw(st.integers(1, 3)),
                draw(st.booleans()),
                gpus,
            )
        )
    return cg.JobList(jobs)


def shares(number):
    """Shares of so many parts, the last of them at times 0."""
    parts = st.lists(st.integers(1, 9), min_size=number, max_size=number)
    return parts.map(lambda found: [each / sum(found) for each in found])


@st.composite
def deadline_classes(draw):
    """One to five classes of any names and windows; "tight" and "loose" are what they
    say. Some have shares of complexity of their own.
    """
    pool = ["rush", "bulk", "vip", "night-run", "a_1", "Überstunde", "tight", "loose"]
    names = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=5, unique=True))
    return [
        cg.DeadlineClass(
            name,
            share,
            draw(st.sampled_from([1.0, 65.0, 600.0, 3600.0, 28800.0, 1e5])),
            name == "tight" or (name != "loose" and draw(st.booleans())),
            draw(st.sampled_from([1.0, 1.0, 0.0, 0.25, 7.5])),
            draw(st.none() | shares(3)),
        )
        for name, share in zip(names, draw(shares(len(names))))
    ]


def hourly(numbers):
    return st.lists(numbers, min_size=24, max_size=24)


@st.composite
def rates(draw, start_h):
    """Rates by hour of the day or of the week, including hours without arrivals."""
    day = hourly(st.sampled_from([0.0, 0.5, 3.0, 20.0, 400.0])).filter(any)
    per_h = draw(day | st.lists(day, min_size=7, max_size=7))
    return cg.ArrivalRates(
        per_h, start_h, draw(st.sampled_from(["Monday", "Saturday", "Sunday"]))
    )


@st.composite
def named(draw):
    """Listed jobs of named classes."""
    listed = []
    for id in range(draw(st.integers(1, 25))):
        kind = draw(st.integers(0, 3))
        window_s = draw(st.sampled_from([0.0, 60.0, 3600.0, 28800.0]))
        weight = draw(st.sampled_from([1.0, 0.0, 2.5]))
        job = cg.Job(id, 7.5 * id, 7.5 * id + window_s, 1, kind < 2, 1, weight, kind)
        listed.append(job)
    return cg.JobList(listed, ["vip", "rush", "bulk", "night"])


@st.composite
def opened(draw, start_h):
    """Jobs of any deadline classes: listed, at a constant rate or at hourly rates."""
    jobs, classes = draw(st.integers(1, 40)), draw(deadline_classes())
    kind = draw(st.sampled_from(["written down", "constant", "hourly"]))
    if kind == "written down":
        return draw(named())
    if kind == "constant":
        return cg.PoissonWorkload(
            jobs, 10.0 ** draw(st.floats(-4, 0.5)), deadlines=classes
        )
    return cg.HourlyWorkload(jobs, draw(rates(start_h)), deadlines=classes)


def stock_of(name):
    """Probabilities by hour for a type; some of them are 0 or 1."""
    sure = [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]
    one = st.sampled_from([*sure, (0.2, 0.5, 0.3), (0.6, 0.4, 0.0)])
    return hourly(one).map(lambda chances: cg.HourlyStock(name, chances))


def stocks(gpus):
    """Probabilities by hour for some of the types."""
    names = st.lists(st.sampled_from([gpu.name for gpu in gpus]), unique=True)
    return names.flatmap(lambda own: st.tuples(*map(stock_of, own)))


# persistence and visibility of stock: the thesis's in half of the cases
lasting = st.just({}) | st.builds(
    lambda tau_s, sight: {"persistence_s": tau_s, "sight": sight},
    st.sampled_from([10.0, 900.0, 1e5]),
    st.sampled_from(["none", "now", "poll:50"]),
)


def completed(draw, workloads, fleet, clock, stock):
    """A scenario with these parts, and any others."""
    gpus, slots = fleet
    laws = [cg.Service(), cg.Service(sigma=(0, 0, 0)), cg.Service("exponential")]
    return cg.Scenario(
        name="any",
        workload=draw(workloads),
        slots=slots,
        gpus=gpus,
        free_types=draw(st.booleans()),
        market=cg.Market(
            clock, draw(delay_ranges()), stock=draw(stock), **draw(lasting)
        ),
        service=draw(st.sampled_from(laws)),
    )


clocks = st.sampled_from(list(CLOCKS.values()))


@st.composite
def scenarios(draw, gangs=False):
    """A small scenario; gangs: with jobs of several GPUs."""
    fleet, clock = draw(fleets()), draw(clocks)
    alone = poisson() | listed(1) | opened(clock.start_h)
    workloads = listed(len(fleet[1])) if gangs else alone
    return completed(draw, workloads, fleet, clock, st.just(()) | stocks(fleet[0]))


@st.composite
def open_scenarios(draw):
    """A small scenario of other classes, rates and markets than the thesis's."""
    fleet, clock = draw(fleets()), draw(clocks)
    return completed(draw, opened(clock.start_h), fleet, clock, stocks(fleet[0]))
