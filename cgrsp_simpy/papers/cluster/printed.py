"""Every printed statement of the cluster paper's results, as entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor

from cgrsp_simpy.cluster.jobs import Mix, least_gpu_hours
from cgrsp_simpy.cluster.metrics import STARVED_S
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster import public_program
from cgrsp_simpy.papers.cluster.table import (
    CLAIMS,
    CUT,
    DYNAMIC,
    FIGURES,
    FULL,
    JOBS,
    LOADS,
    PUBLISHED,
    STATIC,
    Found,
    claims,
    gpu_hours,
    least_variance,
    studies,
    verdict,
)
from cgrsp_simpy.papers.ledger import Entry

SEEDS = 10
WHERE = {name: "Table II" if name in DYNAMIC else "Section VI" for name in PUBLISHED}
# printed shares of completed jobs, %: Section VI.B
SUCCESS_PCT = {"static": (STATIC, 79.0, 87.0), "dynamic": (DYNAMIC, 94.0, 100.0)}
PROGRAM = "github.com/akhmadmamirov/orca, commit d10624a"


def entries(
    seeds: int | None = None, executor: Executor | int | None = None
) -> Iterator[Entry]:
    """Yield Table II, the sentences of Section VI, and what the public program does."""
    found = studies(LOADS, range(seeds or SEEDS), executor=executor)
    yield from _cells(found)
    yield from _impossible()
    yield from _contradicted()
    yield from _claims(found)
    yield from _success(found)
    yield from _public_program(seeds or SEEDS)
    reason = "sums up the numbers above"
    for where, what, printed in (
        ("Abstract", "static schedulers, utilisation, %", "45 to 67"),
        ("Abstract", "static schedulers, jobs per hour", "12.5 to 18.3"),
        ("Section VII", "greatest variance of waits", "2847"),
    ):
        yield Entry("cluster", where, what, ledger.UNTESTABLE, printed, "", reason)


def _cells(found: Found) -> Iterator[Entry]:
    """Judge each number at the load whose utilisation is closest to the printed one."""
    for name, printed in PUBLISHED.items():
        means = {
            load: study.means()[name]
            for (setting, load), study in found.items()
            if setting == CUT
        }
        wanted = printed.get("utilisation_pct")
        load = FULL
        if wanted is not None:
            load = min(
                means, key=lambda at: abs(means[at]["utilisation_pct"].mean - wanted)
            )
        for figure, value in printed.items():
            ours = means[load][figure]
            judged = ledger.verdict_of(value, ours)
            reason = f"at an offered load of {load:g}; the paper gives none"
            if figure == "utilisation_pct":
                judged, reason = ledger.UNTESTABLE, f"{reason}: it is chosen by this"
            if figure == "wait_variance_s2" and name in DYNAMIC:
                continue  # impossible, see below
            yield Entry(
                "cluster",
                WHERE[name],
                f"{name}, {figure}",
                judged,
                f"{value:g}",
                f"{ours.mean:.1f} ± {ours.half_width:.1f}",
                reason,
            )


def _impossible() -> Iterator[Entry]:
    """Judge numbers that contradict the mix or one another."""
    for name, printed in PUBLISHED.items():
        if name in DYNAMIC:
            too_small = printed[FIGURES[3]] < least_variance(printed)
            yield Entry(
                "cluster",
                WHERE[name],
                f"{name}, {FIGURES[3]}",
                ledger.IMPOSSIBLE if too_small else ledger.UNDECIDED,
                f"{printed[FIGURES[3]]:g}",
                f"at least {least_variance(printed):,.0f}",
                f"{printed['starved']:g} waits of more than {STARVED_S:g} s among"
                f" {JOBS} around a mean of {printed['wait_s']:g} s (in min^2 it could"
                " be)",
            )
        if {"throughput_per_h", "utilisation_pct"} <= printed.keys():
            too_few = gpu_hours(printed) < least_gpu_hours(Mix())
            yield Entry(
                "cluster",
                WHERE[name],
                f"{name}, throughput and utilisation together",
                ledger.CONTRADICTED if too_few else ledger.REPRODUCED,
                f"{printed['throughput_per_h']:g}/h, {printed['utilisation_pct']:g} %",
                f"{gpu_hours(printed):.2f} GPU-hours a job",
                f"the mean job of the printed mix has at least"
                f" {least_gpu_hours(Mix()):.2f} GPU-hours if GPUs and duration are"
                " independent",
            )


def _contradicted() -> Iterator[Entry]:
    """Judge sentences by the numbers that are printed beside them."""
    starved = {
        name: row["starved"] for name, row in PUBLISHED.items() if "starved" in row
    }
    least = min(starved[name] for name in STATIC if name in starved)
    most = max(starved[name] for name in DYNAMIC)
    variance = {name: row["wait_variance_s2"] for name, row in PUBLISHED.items()}
    greatest = max(variance[name] for name in DYNAMIC)
    for where, text, holds, ours in (
        (
            "Section VII",
            "dynamic schedulers starve fewer jobs by an order of magnitude",
            least >= 10 * most,
            f"{least:g} (shortest-gpu) and {most:g} (sbs): {least / most:.1f} times",
        ),
        (
            "Section VI",
            "SBS further improves fairness, after PBS",
            variance["sbs"] < variance["pbs"],
            f"variances of {variance['sbs']:g} and {variance['pbs']:g}",
        ),
        (
            "Abstract",
            "dynamic schedulers have less variance of waits than static ones",
            greatest < min(variance[name] for name in STATIC),
            f"fifo {variance['fifo']:g}, hps {variance['hps']:g}",
        ),
    ):
        yield Entry(
            "cluster",
            where,
            text,
            ledger.REPRODUCED if holds else ledger.CONTRADICTED,
            ours=ours,
            reason="printed in the paper",
        )


def _claims(found: Found) -> Iterator[Entry]:
    tested = claims(found)
    for figure in CLAIMS:
        for kind, text in (
            ("mean", "dynamic schedulers beat static ones on average"),
            ("best", "every dynamic scheduler beats every static one"),
        ):
            holds = verdict(tested, figure, kind)
            answers = {
                row[f"{kind}_holds"] for row in tested if row["figure"] == figure
            }
            judged = ledger.REPRODUCED if holds == "holds" else ledger.UNDECIDED
            judged = ledger.DIFFERENT if "no" in answers else judged
            yield Entry("cluster", "Section VI", f"{text}: {figure}", judged, "", holds)


def _success(found: Found) -> Iterator[Entry]:
    study = found[CUT, FULL]
    for group, (names, low, high) in SUCCESS_PCT.items():
        means = [study.means()[name]["success_pct"] for name in names]
        ours = f"{min(m.mean for m in means):.1f} to {max(m.mean for m in means):.1f}"
        inside = all(m.high >= low and m.low <= high for m in means)
        yield Entry(
            "cluster",
            "Section VI.B",
            f"{group} schedulers, jobs completed, %",
            ledger.REPRODUCED if inside else ledger.DIFFERENT,
            f"{low:g} to {high:g}",
            ours,
            f"completed when the last job arrives, at a load of {FULL:g}",
        )


def _public_program(seeds: int) -> Iterator[Entry]:
    """Judge what the printed numbers say against the program that the paper names."""
    waits, shares = list[float](), list[float]()
    for seed in range(seeds):
        jobs = public_program.drawn(seed, JOBS)
        for order in public_program.ORDERS.values():
            started = public_program.run(jobs, order, gpus=64)
            waits.append(max(started))
            shares.append(100 * len(started) / JOBS)
    lost = f"{PROGRAM}, offers a job in the second of its arrival only"
    starved = sum(wait_s > STARVED_S for wait_s in waits)
    ours = f"at most {max(waits):.1f}"
    for name in DYNAMIC:
        for figure, most in (("wait_s", max(waits)), ("starved", starved)):
            possible = PUBLISHED[name][figure] <= most
            yield Entry(
                "cluster",
                WHERE[name],
                f"{name}, {figure}, by the public program",
                ledger.REPRODUCED if possible else ledger.IMPOSSIBLE,
                f"{PUBLISHED[name][figure]:g}",
                ours if figure == "wait_s" else f"{starved}",
                lost,
            )
    for group, (_, low, high) in SUCCESS_PCT.items():
        inside = low <= min(shares) and max(shares) <= high
        yield Entry(
            "cluster",
            "Section VI.B",
            f"{group} schedulers, jobs completed, %, by the public program",
            ledger.REPRODUCED if inside else ledger.DIFFERENT,
            f"{low:g} to {high:g}",
            f"{min(shares):.1f} to {max(shares):.1f}",
            f"{lost}; 64 GPUs, {JOBS} jobs of its own kind over a day",
        )


GROUPS = {"cgrsp papers check cluster": entries}
