"""Every printed statement of the cluster paper's results, as entries of the ledger."""

from __future__ import annotations

from concurrent.futures import Executor

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.cluster.cluster import PAPER_CLUSTER
from cgrsp_simpy.cluster.jobs import (
    Mix,
    least_gpu_hours,
    least_of_any_law,
    mean_gpu_hours,
)
from cgrsp_simpy.cluster.report import STARVED_S
from cgrsp_simpy.papers.cluster import public_program
from cgrsp_simpy.papers.cluster.table import (
    CLAIMS,
    CUT,
    DYNAMIC,
    FIGURES,
    JOBS,
    LOADS,
    PUBLISHED,
    STATIC,
    UNCUT,
    Results,
    claims,
    closest,
    gpu_hours,
    least_variance,
    studies,
    verdict,
)
from cgrsp_simpy.papers.ledger import (
    DIFFERENT,
    IMPOSSIBLE,
    UNTESTABLE,
    Entry,
    claimed,
    settings,
    untestable,
    verdict_of,
)

SEEDS = 10
WHERE = {name: "Table II" if name in DYNAMIC else "Section VI" for name in PUBLISHED}
VARIANCE = FIGURES[3]
# printed shares of completed jobs, %: Section VI.B
SUCCESS_PCT = {"static": (STATIC, 79.0, 87.0), "dynamic": (DYNAMIC, 94.0, 100.0)}
PROGRAM = (
    "github.com/akhmadmamirov/orca, commit d10624a, offers a job in the second of its"
    f" arrival only; {PAPER_CLUSTER.gpus} GPUs, {JOBS:,} jobs of its kind over a day"
)
KINDS = {
    "mean": "dynamic schedulers beat static ones on average",
    "best": "every dynamic scheduler beats every static one",
}
AS_MEASURED = {CUT: "", UNCUT: ", without the paper's cut"}


def simulated(
    seeds: int | None = None, executor: Executor | int | None = None
) -> list[Entry]:
    """Judge Table II and the sentences of Section VI by simulation."""
    results = studies(LOADS, range(seeds or SEEDS), executor=executor)
    return [*cells(results), *sentences(results)]


def cells(results: Results) -> list[Entry]:
    """Judge each number at the load whose utilisation is closest to the printed one."""
    return [
        _cell(name, figure, printed, results[CUT, load].means()[name][figure], load)
        for name, load in closest(results).items()
        for figure, printed in PUBLISHED[name].items()
        if (name in DYNAMIC, figure) != (True, VARIANCE)  # impossible, see below
    ]


def _cell(name: str, figure: str, printed: float, ours: Mean, load: float) -> Entry:
    chosen, digits = figure == "utilisation_pct", int(abs(ours.mean) < 1000)
    return Entry(
        WHERE[name],
        f"{name}, {figure}",
        UNTESTABLE if chosen else verdict_of(printed, ours),
        printed=f"{printed:g}",
        ours=f"{ours.mean:,.{digits}f} ± {ours.half_width:,.{digits}f}",
        reason=f"at an offered load of {load:g}; the paper gives none"
        + ": it is chosen by this" * chosen,
    )


def sentences(results: Results) -> list[Entry]:
    """Judge the claims on both groups, and the shares of completed jobs."""
    tested, loads = claims(results), closest(results)
    return [
        *(
            Entry(
                "Section VI",
                f"{text}: {figure}{AS_MEASURED[setting]}",
                judged,
                ours=loads_of_claim,
                reason="by load: cgrsp papers figures cluster claims",
            )
            for setting in dict.fromkeys(setting for setting, _ in results)
            for figure in CLAIMS
            for kind, text in KINDS.items()
            for judged, loads_of_claim in [verdict(tested, figure, kind, setting)]
        ),
        *(
            claimed(
                "Section VI.B",
                f"{group} schedulers, jobs completed, %",
                all(mean.high >= low and mean.low <= high for mean in means),
                ours=span([mean.mean for mean in means]),
                reason="completed when the last job arrives, at the loads of Table II",
                printed=f"{low:g} to {high:g}",
                otherwise=DIFFERENT,
            )
            for group, (names, low, high) in SUCCESS_PCT.items()
            for means in [
                [
                    results[CUT, loads[name]].means()[name]["success_pct"]
                    for name in names
                ]
            ]
        ),
    ]


def span(values: list[float]) -> str:
    """Format the least and the greatest value."""
    return f"{min(values):.1f} to {max(values):.1f}"


def impossible() -> list[Entry]:
    """Judge printed numbers by the printed mix of jobs and by each other."""
    mix, gpus, least = Mix(), PAPER_CLUSTER.gpus, least_gpu_hours(Mix())
    bounds = (
        f"the mean job of the printed mix has at least {least:.2f} GPU-hours if GPUs"
        f" and duration are independent, as they are here ({mean_gpu_hours(mix):.2f}"
        " with durations log-uniform within their classes), and"
        f" {least_of_any_law(mix):.2f} if the widest jobs are the shortest"
    )
    return [
        *(
            claimed(
                WHERE[name],
                f"{name}, {VARIANCE}",
                row[VARIANCE] >= least_variance(row),
                ours=f"at least {least_variance(row):,.0f}",
                reason=f"{row['starved']:g} waits of more than {STARVED_S:g} s among"
                f" {JOBS} around a mean of {row['wait_s']:g} s (in min^2 it could be)",
                printed=f"{row[VARIANCE]:g}",
                otherwise=IMPOSSIBLE,
            )
            for name, row in PUBLISHED.items()
            if name in DYNAMIC
        ),
        *(
            claimed(
                WHERE[name],
                f"{name}, throughput and utilisation together",
                gpu_hours(row) >= least,
                ours=f"{gpu_hours(row):.2f} GPU-hours per job",
                reason=f"{bounds}: {row['utilisation_pct']} % of {gpus} GPUs allow at"
                f" most {row['utilisation_pct'] / 100 * gpus / least:.1f} jobs per"
                " hour",
                printed=f"{row['throughput_per_h']:g}/h, {row['utilisation_pct']:g} %",
            )
            for name, row in PUBLISHED.items()
            if {"throughput_per_h", "utilisation_pct"} <= row.keys()
        ),
    ]


def contradicted() -> list[Entry]:
    """Judge sentences by the numbers that are printed next to them."""
    static, dynamic = (
        {name: PUBLISHED[name] for name in group} for group in (STATIC, DYNAMIC)
    )
    least = min(row["starved"] for row in static.values() if "starved" in row)
    most = max(row["starved"] for row in dynamic.values())
    variance = {name: row[VARIANCE] for name, row in PUBLISHED.items()}
    return [
        claimed(
            "Section VII",
            "dynamic schedulers starve fewer jobs by an order of magnitude",
            least >= 10 * most,
            ours=f"{least:g} (shortest-gpu) and {most:g} (sbs): {least / most:.1f}"
            " times",
            reason="printed in the paper",
        ),
        claimed(
            "Section VI",
            "SBS further improves fairness, after PBS",
            variance["sbs"] < variance["pbs"],
            ours=f"variances of {variance['sbs']:g} and {variance['pbs']:g}",
            reason="printed in the paper",
        ),
        claimed(
            "Abstract",
            "dynamic schedulers have less variance of waits than static ones",
            max(variance[name] for name in DYNAMIC)
            < min(variance[name] for name in STATIC),
            ours=", ".join(f"{name} {value:g}" for name, value in variance.items()),
            reason="printed in the paper",
        ),
    ]


def by_public_program(seeds: int) -> list[Entry]:
    """Judge the printed numbers by the program that the paper names."""
    drawn = [public_program.drawn(seed, JOBS) for seed in range(seeds)]
    runs = [
        public_program.run(jobs, order, PAPER_CLUSTER.gpus)
        for jobs in drawn
        for order in public_program.ORDERS.values()
    ]
    shares = [100 * len(waits_s) / JOBS for waits_s in runs]
    longest_s = max(map(max, runs))
    starved = sum(max(waits_s) > STARVED_S for waits_s in runs)
    return [
        *(
            claimed(
                WHERE[name],
                f"{name}, {figure}, by the public program",
                PUBLISHED[name][figure] <= most,
                ours=f"at most {most:.1f}",
                reason=PROGRAM,
                printed=f"{PUBLISHED[name][figure]:g}",
                otherwise=IMPOSSIBLE,
            )
            for name in DYNAMIC
            for figure, most in (("wait_s", longest_s), ("starved", starved))
        ),
        *(
            claimed(
                "Section VI.B",
                f"{group} schedulers, jobs completed, %, by the public program",
                low <= min(shares) and max(shares) <= high,
                ours=span(shares),
                reason=PROGRAM,
                printed=f"{low:g} to {high:g}",
                otherwise=DIFFERENT,
            )
            for group, (_, low, high) in SUCCESS_PCT.items()
        ),
    ]


def computed(seeds: int | None = None, _: object = None) -> list[Entry]:
    """Return what follows from the paper's numbers and from its public program."""
    return [
        *impossible(),
        *contradicted(),
        *by_public_program(seeds or SEEDS),
        *settings(
            {
                "as it is counted here": [
                    (
                        "Section VI.B",
                        "wait of a starved job, min",
                        "30",
                        [STARVED_S / 60],
                    ),
                ]
            }
        ),
        *untestable(
            {
                "sums up the numbers above": [
                    ("Abstract", "static schedulers, utilisation, %", "45 to 67"),
                    ("Abstract", "static schedulers, jobs per hour", "12.5 to 18.3"),
                    ("Section VII", "greatest variance of waits", "2847"),
                ]
            }
        ),
    ]


GROUPS = {
    "cgrsp papers tables cluster": simulated,
    "cgrsp papers check cluster": computed,
}
