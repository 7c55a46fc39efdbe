"""The figures of DAGs from runs of our own: of each the data as CSV, and the picture
as PNG and SVG.
"""

from __future__ import annotations

from functools import partial

from cgrsp_simpy.dag import figure_data as data
from cgrsp_simpy.dag import findings, panels
from cgrsp_simpy.dag.figure_data import Row, Runs
from cgrsp_simpy.plots.gallery import Gallery, Picture, markdown


def _pictures(runs: Runs) -> dict[str, Picture]:
    graphs, nodes, evaluations = runs.graphs, runs.nodes, runs.evaluations
    own = f"{graphs} Erdős–Rényi graphs of {nodes} nodes, mean degree 3, on 10 GPUs"
    searched = f"{own};\n{evaluations:,} plans evaluated by each search"
    small = (
        f"{graphs} graphs of {nodes // 3} nodes, {(evaluations + 1) // 2:,} plans evaluated"
        " by each search"
    )
    return {
        "gantt": Picture(
            "dag_gantt",
            "A training step on four GPUs",
            data.gantt,
            panels.gantt,
            findings.gantt,
            "8 layers in 4 pipeline stages, 4 micro-batches, on 2 servers of 2 GPUs",
            (6.3, 4.4),
        ),
        "placement": Picture(
            "dag_placement",
            "A small graph, and where HEFT puts it",
            data.placement,
            panels.placement,
            findings.placement,
            "18 nodes, mean degree 1.5, on 2 servers of 2 GPUs of three speeds;"
            " edges lead to the right",
            (6.3, 3.2),
        ),
        "convergence": Picture(
            "dag_convergence",
            "How searches converge",
            data.convergence,
            panels.convergence,
            findings.convergence,
            f"{own}; {min(graphs, data.COURSES)} of them here.\n"
            "Lines: medians; areas: the middle half",
            (6.3, 3.6),
        ),
        "order": Picture(
            "dag_order",
            "What part is order, what part is placement",
            data.order,
            panels.order,
            findings.order,
            f"{searched}; 95 % intervals",
            (6.3, 3.6),
        ),
        "ranks": Picture(
            "dag_ranks",
            "Who is best: critical differences",
            data.ranks,
            panels.ranks,
            findings.ranks,
            searched,
            (6.3, 3.4),
        ),
        "ablation": Picture(
            "dag_ablation",
            "What whales and learning contribute",
            data.ablation,
            panels.ablation,
            findings.ablation,
            f"{searched}; 95 % intervals",
            (6.3, 2.2),
            _ablation,
        ),
        "sensitivity": Picture(
            "dag_sensitivity",
            "WORL-RTGS: how much its parameters matter",
            data.sensitivity,
            panels.sensitivity,
            partial(findings.sensitivity, studied=small),
            small,
            (6.3, 4.4),
        ),
        "scatter": Picture(
            "dag_scatter",
            "Distance of plans and gap of finish times",
            data.scatter,
            panels.scatter,
            findings.scatter,
            f"500 pairs of random plans of {nodes} nodes on 10 GPUs. Even: each GPU equally"
            " likely;\n"
            "uneven: with probabilities from a Dirichlet law of parameter 1, drawn for each plan",
            (6.3, 3.2),
        ),
        "coefficients": Picture(
            "dag_coefficients",
            "Correlation of both distances, as Tables 1 to 3",
            data.coefficients,
            panels.coefficients,
            findings.coefficients,
            "1000 pairs a mark; a pair of marks is busy and idle",
            (6.3, 4.6),
        ),
    }


def _intro(runs: Runs) -> list[str]:
    return [
        "# Figures of DAGs, drawn from this package's graphs and runs",
        "After “Efficient Scheduling for GPU-Based Neural Network Training via Hybrid"
        f" Reinforcement Learning and Metaheuristic Optimization”: {runs.graphs} Erdős–Rényi"
        f" graphs of {runs.nodes} nodes with the paper's law of times, on 10 GPUs of three speeds;"
        f" every search evaluates {runs.evaluations:,} plans. The paper's 10 whales move 300 times,"
        " and for each of these 3,000 plans its agent learns for 1,000 episodes, three million"
        " in all, too long for here: WORL-RTGS and DDQN learn for one a plan. So no figure"
        " here repeats the paper's budget. Random search at equal evaluations is the control;"
        " HEFT, CPOP, annealing, which begins with HEFT's plan, and the other rules are beside"
        " it for comparison; the five learning baselines of the paper are not described enough"
        " to be rebuilt. Each picture has the CSV of what is plotted beside it. All of them:"
        " `cgrsp dag figures --out figures/dag`.",
    ]


def _ablation(rows: list[Row]) -> str:
    """Makespans in Markdown."""
    head = "variant | scheduler | mean makespan, s | standard deviation, s | increase, %"
    lines = []
    for row in rows:
        times_s = [f"{row[name]:.2f}" for name in ("makespan_s", "sd_s")]
        lines.append([row["variant"], row["scheduler"], *times_s, f"{row['increase_pct']:.1f}"])
    return markdown(head, 2, lines)


draw_figures = Gallery("dag", Runs, _pictures, _intro).draw
FIGURES = _pictures(Runs())
"""The figures by id."""
