"""Every printed statement of the WORL-RTGS paper's results, as entries of the ledger.

The text of the document lacks the cells of Tables 1 to 3 and 5 to 19; only the numbers
printed in its sentences are judged.
"""

from __future__ import annotations

import math
from inspect import signature

import numpy as np
from scipy import stats

from cgrsp_simpy.base.metric import summed
from cgrsp_simpy.dag.generate import TIMES_S
from cgrsp_simpy.dag.platform import BUSY, IDLE
from cgrsp_simpy.dag.scenario import Scenario
from cgrsp_simpy.papers.dag.distance import correlate
from cgrsp_simpy.papers.dag.searches import AS_SET, worl_rtgs
from cgrsp_simpy.papers.ledger import (
    CONTRADICTED,
    DIFFERENT,
    IMPOSSIBLE,
    Entry,
    Setting,
    claimed,
    compared,
    settings,
    untestable,
)
from cgrsp_simpy.studies.subject import subject_of

# section, name, least, greatest, mean and variance
COEFFICIENTS = (
    ("Table 2", "Spearman, real workloads", 0.49, 0.55, 0.52, 0.004),
    ("Section 4.2", "Spearman, synthetic workloads", 0.42, 0.59, 0.508, 0.004),
    ("Section 4.2", "Pearson, all workloads", 0.16, 0.57, 0.4603, 0.003),
)
# results on synthetic workloads, printed in the text on Table 3
SYNTHETIC = {"pearson": (0.39, 0.55), "spearman": (0.42, 0.59)}
# Section 5.4: nodes -> longer makespan than WORL-RTGS, %, without WOA and without RL
ABLATION = {300: (129.1, 331.2), 1000: (121.5, 314.2), 5000: (137.0, 394.3)}
# Section 5.6: workloads -> critical difference of ranks, as printed
CRITICAL_DIFFERENCE = {10: 3.374, 7: 4.033}
# Table 19, large tasks, low load, as far as the text prints it
RANKS = {
    "WORL-RTGS": 1.00,
    "DRAS": 2.00,
    "mDRL": 3.86,
    "MAGRL": 3.86,
    "MIGMPS": 4.43,
    "RL-Hybrid": 5.86,
}
LARGE, LEAST_CHI2 = 7, 34.80  # workloads; Friedman's statistic in all cases


# nodes: least, greatest and step
SPANS = ((100, 1000, 100), (1200, 3000, 200), (4000, 10_000, 1000))
SIZES = tuple(len(range(least, most + 1, step)) for least, most, step in SPANS)
EPISODES = 3 * 300 * 10 * 1000  # Section 5.3.2: tasks, iterations, whales, episodes
MOST_RANK = 1.14  # largest rank of WORL-RTGS on synthetic workloads: Section 5.6
AGENT = (
    "the agent learns from three million episodes per workload, and the public program"
    " has no agent; searches of equal budgets: cgrsp papers figures dag searches"
)


def entries(*_: object) -> list[Entry]:
    """Return the coefficients, the ablation, the tests of ranks and other numbers."""
    return [
        *_coefficients(),
        *_correlations(),
        *_losses(),
        *_ranks(),
        *_counts(),
        *settings(SETTINGS),
        *untestable(NOT_TESTABLE),
    ]


def _correlations() -> list[Entry]:
    """Judge the coefficients of synthetic workloads by simulation."""
    return [
        claimed(
            "Table 3",
            f"{name}, synthetic workloads ({graph}, 10 GPUs)",
            least <= high and low <= greatest,
            ours=f"{getattr(correlation, name):.2f} [{low:.2f}, {high:.2f}]",
            reason="uneven random plans; the paper does not define its own",
            printed=f"{least:g} to {greatest:g}",
            otherwise=DIFFERENT,
        )
        for graph in ("er:n=300,degree=1", "er:n=300,degree=3")
        for scenario in [subject_of(Scenario(graph)).varied(gpus=10)]
        # even random plans do not give the paper's coefficients
        for correlation in [correlate(subject_of(scenario).draw(0), concentration=1.0)]
        for name, (least, greatest) in SYNTHETIC.items()
        for low, high in [getattr(correlation, f"{name}_ci95")]
    ]


def _coefficients() -> list[Entry]:
    return [
        *(
            claimed(
                where,
                f"{name}: variance",
                variance <= most,
                ours=f"at most {most:.4f}",
                reason=f"of values from {least:g} to {greatest:g} with a mean of"
                f" {middle:g} (Bhatia and Davis 2000)",
                printed=f"{variance:g}",
                otherwise=IMPOSSIBLE,
            )
            for where, name, least, greatest, middle, variance in COEFFICIENTS
            for most in [(greatest - middle) * (middle - least)]
        ),
        compared(
            "Section 4.2",
            "Spearman, all workloads: mean",
            "0.51",
            (36 * COEFFICIENTS[0][4] + 108 * COEFFICIENTS[1][4]) / (36 + 108),
            reason="36 real and 108 synthetic configurations",
        ),
        compared(
            "Section 4.2",
            "SPD = (n - 1) FTG in the example of a star",
            "16 for n = 9, num = 2",
            _star_distance(9, 2),
            reason="Equation 26 divides by n: SPD = (n - 1) / n FTG",
            within=1e-9,
        ),
        claimed(
            "Section 4.2",
            "Spearman's coefficient is consistently higher than Pearson's",
            False,
            ours="in 92 % of the cases",
            reason="the same section",
        ),
    ]


def _star_distance(nodes: int, moved: int) -> float:
    """Compute Equation 26 on the paper's star: n - 1 nodes of a second, two GPUs."""
    even, more = (nodes - 1) / 2, (nodes - 1) / 2 + moved
    loads = [abs(more - even)] * int(more)
    loads += [abs(nodes - 1 - more - even)] * int(nodes - 1 - more)
    return summed(loads) / nodes


def _losses() -> list[Entry]:
    """Judge the ablation of Section 5.4."""
    by_kind = dict(
        zip(("without WOA (DDQN)", "without RL (WOA)"), zip(*ABLATION.values()))
    )
    return [
        *(
            claimed(
                "Section 5.4",
                f"the loss {kind} becomes more pronounced as the job grows",
                [*losses] == sorted(losses),
                ours=", ".join(
                    f"{loss:g} % ({n})" for n, loss in zip(ABLATION, losses)
                ),
                reason="printed in the same section",
            )
            for kind, losses in by_kind.items()
        ),
        *(
            compared(
                "Section 5.4",
                f"greatest loss {kind}, %",
                printed,
                max(losses),
                reason="printed in the same section",
            )
            for (kind, losses), printed in zip(by_kind.items(), ("137", "394"))
        ),
        *untestable(
            {
                AGENT: [
                    *(
                        (
                            f"Table {table}",
                            f"{nodes} nodes, longer makespan {kind}, %",
                            f"{loss:g}",
                        )
                        for kind, losses in by_kind.items()
                        for table, (nodes, loss) in enumerate(
                            zip(ABLATION, losses), start=13
                        )
                    )
                ]
            }
        ),
    ]


def _ranks() -> list[Entry]:
    """Judge the tests of ranks; Friedman's statistic without ties."""
    k, root_of_2 = len(RANKS), math.sqrt(2)
    q = float(stats.studentized_range.ppf(0.95, k, np.inf))
    squares = summed(rank**2 for rank in RANKS.values())
    chi2 = 12 * LARGE / (k * (k + 1)) * squares - 3 * LARGE * (k + 1)
    root_of_large = math.sqrt(k * (k + 1) / (6 * LARGE))
    of_printed = CRITICAL_DIFFERENCE[LARGE] / root_of_large * root_of_2
    better = math.floor((MOST_RANK - 1) * SIZES[1])
    return [
        *(
            compared(
                "Section 5.6",
                f"critical difference of {k} ranks, {workloads} workloads",
                f"{printed:g}",
                q / root_of_2 * root,
                reason="Nemenyi's test divides by the root of 2; without it"
                f" {q * root:.3f}",
            )
            for workloads, printed in CRITICAL_DIFFERENCE.items()
            for root in [math.sqrt(k * (k + 1) / (6 * workloads))]
        ),
        compared(
            "Section 5.6",
            "alpha of the printed critical difference, 7 workloads",
            "0.05",
            float(stats.studentized_range.sf(of_printed, k, np.inf)),
            reason="by Nemenyi's test",
        ),
        *(
            compared(
                "Section 5.6",
                f"difference of ranks of {one} and {other}, large tasks",
                printed,
                RANKS[other] - RANKS[one],
                reason="Table 19",
            )
            for one, other, printed in (
                ("WORL-RTGS", "RL-Hybrid", "4.86"),
                ("WORL-RTGS", "DRAS", "1.00"),
                ("mDRL", "MAGRL", "0.00"),
            )
        ),
        claimed(
            "Section 5.6",
            "Friedman's statistic, large tasks, low load",
            chi2 >= LEAST_CHI2,
            ours=f"{chi2:.2f}",
            reason="from the six rounded ranks of Table 19, without ties",
            printed=f"at least {LEAST_CHI2:g}",
        ),
        claimed(
            "Section 5.5",
            "WORL-RTGS has the lowest makespan in all settings",
            False,
            ours="mean ranks of up to 2.61; always lowest is 1.00",
            reason="Table 16, in the same section",
        ),
        claimed(
            "Section 5.6",
            "DRAS and mDRL outperform WORL-RTGS in several cases of medium size",
            better >= 2,
            ours=f"in at most {better} of {SIZES[1]}",
            reason=f"its mean rank is at most {MOST_RANK} in all conditions (the"
            f" same section): the ranks of {SIZES[1]} workloads exceed 1 by at most"
            f" {SIZES[1] * (MOST_RANK - 1):.1f} in all",
        ),
    ]


def _counts() -> list[Entry]:
    """Judge printed numbers of workloads, configurations, episodes and edges."""
    return [
        compared(
            "Section 4.2",
            "synthetic workloads",
            "54",
            2 * sum(SIZES),
            reason=f"{SIZES} sizes, 2 degrees; 27 for each degree",
        ),
        compared(
            "Section 4.2",
            "configurations of synthetic workloads",
            "108",
            2 * 3 * 6 * 2,
            reason="2 states, 3 scales, 6 numbers of GPUs and 2 degrees",
        ),
        compared(
            "Section 5.3.2",
            "episodes of training",
            "9,000,000",
            EPISODES,
            reason="3 tasks, 300 iterations, 10 whales, 1000 episodes",
        ),
        compared(
            "Section 5.3.2",
            "stages of 1000 episodes",
            "9000",
            EPISODES / 1000,
            reason="of nine million episodes",
        ),
        compared(
            "Section 5.6",
            "synthetic workloads: "
            + ", ".join(f"{a} to {b} nodes in steps of {c}" for a, b, c in SPANS),
            "27",
            sum(SIZES),
            reason="as many as these steps give",
        ),
        Entry(
            "Section 5.3.2",
            "64.9 is a variance",
            CONTRADICTED,
            reason="Table 8, which it is from, lists the standard deviation",
        ),
        compared(
            "Section 5.6",
            "graphs of 100 nodes: mean in-degree and out-degree",
            "100",
            (100 - 1) / 2,
            reason="an acyclic graph of n nodes has at most n (n - 1) / 2 edges",
            otherwise=IMPOSSIBLE,
        ),
    ]


WORL_RTGS = signature(worl_rtgs).parameters
# reason -> place, subject, printed text and our values
SETTINGS: dict[str, list[Setting]] = {
    "of the whales' agent; 1000 would take days per search": [
        ("Section 5.3.4", "episodes", "1000", [WORL_RTGS["episodes"].default]),
    ],
    "as set here": [
        (
            "Section 5.3.4",
            "gamma and b",
            "0.97, 1.0",
            [AS_SET.gamma, WORL_RTGS["b"].default],
        ),
        ("Section 5.3.4", "iterations", "300", [WORL_RTGS["iterations"].default]),
        (
            "Section 5.6",
            "part of a GPU in use, busy and idle, %",
            "50 to 80, 10 to 50",
            [100 * share for share in (*BUSY, *IDLE)],
        ),
        (
            "Section 5.6",
            "times of nodes: mean and standard deviation, s",
            "2, 1",
            TIMES_S["short"],
        ),
    ],
}


# reason -> place, subject and printed text of the statements that it concerns
NOT_TESTABLE: dict[str, list[tuple[str, str, str]]] = {
    AGENT: [
        ("Section 5.3", "runs per configuration", "10"),
        ("Section 5.3.1", "gamma, iterations and b", "0.95, 300, 1.0"),
        ("Section 5.3.1", "episodes", "100, 500, 1000, 2000, 3000"),
        *(
            (f"Section 5.3.{n}", "nodes of the jobs", "500, 1000, 5000")
            for n in (1, 2, 3)
        ),
        ("Section 5.3.1", "episodes of a good trade-off", "1000 to 2000"),
        ("Section 5.3.2", "values of gamma", "0.90, 0.93, 0.95, 0.97, 0.99"),
        ("Section 5.3.2", "episodes", "1000"),
        ("Section 5.3.2", "reward is less at gamma", "0.90, 0.99"),
        ("Section 5.3.2", "smoother progress at gamma", "0.93"),
        ("Section 5.3.2", "best gamma", "0.95 to 0.97"),
        ("Section 5.3.3", "episodes and gamma", "1000, 0.97"),
        ("Section 5.3.3", "b: from, to and step", "0.5 to 2.0, 0.5"),
        ("Section 5.3.3", "trials per b", "30"),
        ("Section 5.3.3", "b of the shortest makespans", "1.0 to 1.5"),
        ("Section 5.3.3", "b of longer makespans", "0.5, 2.0"),
        ("Section 5.3.4", "nodes of short jobs", "100 to 1000"),
        ("Section 5.3.4", "nodes of long jobs", "1000 to 10,000"),
        ("Section 5.5", "tasks of short jobs", "100 to 1000"),
        ("Section 5.5", "tasks of long jobs", "1000 to 10,000"),
        ("Section 5.6", "repetitions", "100"),
        ("Section 5.6", "rank of WORL-RTGS", "1.00 to 1.14"),
        ("Table 19", "ranks", ", ".join(f"{rank:.2f}" for rank in RANKS.values())),
    ],
    "of other papers, which are cited": [
        ("Section 5.2", "DRAS above heuristics, %", "45"),
        ("Section 5.2", "mDRL above stateless schedulers, %", "over 20"),
        ("Section 5.2", "MAGRL, shorter completion times, %", "over 20"),
        ("Section 5.2", "RL-Hybrid, shorter mean and tail, %", "18.2, 20.7"),
        ("Section 5.2", "MIG+MPS, throughput, times", "1.87"),
    ],
    "the file of the log that is read here lists jobs, and no machines": [
        ("Section 5.1", "machines of the Alibaba log", "about 4000")
    ],
    "which jobs of the Alibaba log is not printed": [
        *(
            ("Section 5.1", f"tasks: {size} jobs", f"{a} to {b}, {step}")
            for size, (a, b, step) in zip(("small", "medium", "large"), SPANS)
        )
    ],
    "the agent's training is not public: no program has it": [
        (
            "Section 5.3.1",
            "makespan of 500 nodes, 100 to 1,000 episodes",
            "93.2 to 81.7",
        ),
        ("Section 5.3.1", "further reduction from 1,000 to 3,000 episodes", "1.4"),
        ("Section 5.3.1", "standard deviation, 5,000 nodes", "12.3 to 3.9"),
        ("Section 5.3.2", "final reward at gamma 0.97", "1401.8"),
        ("Section 5.3.2", "its variance or standard deviation", "64.9"),
        ("Section 5.3.4", "iterations until stable, busy and idle", "200 and 300"),
        ("Section 5.4", "variability of DDQN, times", "1.3 to 1.6"),
        ("Section 5.4", "variability of WOA, times", "7.7"),
        ("Section 5.4", "faster convergence than DDQN, times", "3.2"),
        ("Section 5.5", "makespan of WORL-RTGS, 10,000 tasks, busy, s", "891"),
        ("Section 5.5", "makespan of mDRL, 900 tasks, idle, s", "265"),
        ("Section 5.5", "makespan of RL-Hybrid, large jobs, s", "1175"),
        ("Section 4.2", "Pearson, all workloads: mean", "0.4603"),
        ("Table 2", "Spearman, real workloads", "0.49 to 0.55, mean 0.52"),
        ("Section 4.2", "Spearman above Pearson, % of cases", "92"),
        ("Section 4.2", "edge case, Pearson and Spearman", "0.386, > 0.41"),
        ("Section 5.3.3", "Friedman's p over b", "< 0.01"),
        ("Section 5.5", "Friedman's p, real workloads", "< 0.001"),
        ("Table 16", "ranks of WORL-RTGS and mDRL", "1.00 to 2.61, 2.5 to 3.0"),
        ("Section 5.6", "Friedman's p, synthetic workloads", "< 0.001"),
        ("Section 5.6", "ranks of DRAS", "2.00 to 2.20"),
        ("Section 5.6", "Friedman's statistic", "34.80 to 46.10"),
        ("Section 5.6", "DRAS and mDRL above WORL-RTGS, small, %", "3 to 7"),
        (
            "Section 5.6",
            "less than MIGMPS and RL-Hybrid, large, idle, %",
            "over 10",
        ),
    ],
    "the other cells are not in the text that is read here": [
        *(
            (where, "cells", "")
            for where in ("Tables 1 and 2", "Tables 7 to 12", "Tables 16 to 19")
        )
    ],
    "no numbers except the text's; ours: cgrsp papers figures dag": [
        *((where, "curves", "") for where in ("Figures 3 to 6", "Figures 7 to 13"))
    ],
}


GROUPS = {"cgrsp papers check dag": entries}
