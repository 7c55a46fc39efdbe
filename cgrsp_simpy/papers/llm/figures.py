"""Figures of LLM inference: latency by number of GPUs, and the paper's Table II."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, replace
from math import nan

from cgrsp_simpy.base.table import many
from cgrsp_simpy.llm.requests import Offered, RequestList
from cgrsp_simpy.llm.scenario import Scenario
from cgrsp_simpy.llm.service import Roofline, Service
from cgrsp_simpy.papers.ledger import REPRODUCED
from cgrsp_simpy.papers.llm.table import table_two
from cgrsp_simpy.plots import marks
from cgrsp_simpy.plots.figure import (
    Canvas,
    Gallery,
    Handles,
    Row,
    markdown,
    numbers,
    where,
)
from cgrsp_simpy.plots.parts import key
from cgrsp_simpy.plots.style import LOOKS
from cgrsp_simpy.studies.compare import sweep

# requests per second and tokens per request as in Azure's code log of 2023
LIKE_AZURE = Offered(
    requests=4000, rate_per_s=2.57, prompt_tokens=2048, output_tokens=28
)
# 8 billion parameters of two bytes; the cache of 32 layers of 8 heads of 128
SMALL = Service(1, 1, weights_gb=16.0, kv_mb=0.131072)
SERVICES = [
    *(("70B", Scenario(service=Service(8, degree))) for degree in (2, 4, 8)),
    ("8B", Scenario(service=SMALL, steps=Roofline())),
]
GPUS = {"70B": (2, 4, 6, 8, 12, 16), "8B": (1, 2, 4, 8, 16)}
MODELS = {"70B": "#0072b2", "8B": "#d55e00"}
MARKERS = {1: "o", 2: "o", 4: "s", 8: "^"}  # by GPUs per replica
SHOWN = (
    "ttft_s",
    "ttft_p99_s",
    "tpot_s",
    "e2e_s",
    "e2e_p50_s",
    "e2e_p99_s",
    "goodput_pct",
)


@dataclass(frozen=True)
class Runs:
    """Inputs of the figures. source: the requests."""

    source: Offered | RequestList = LIKE_AZURE
    executor: Executor | int | None = None


def _intro(_: Runs) -> list[str]:
    return [
        "# The figures of LLM inference, drawn from this package's runs",
        (
            "A service with batches, and Table II of “Heterogeneous GPU"
            " Scheduling”, Section VI. Next to each picture is the CSV of"
            " its data: `cgrsp papers figures llm --out figures/llm`."
        ),
    ]


FIGURES = Gallery("llm", Runs, _intro, handlelength=1.6)


@FIGURES.add(
    "gpus",
    "LLM inference: latency against the number of GPUs",
    (6.3, 3.7),
    note=(
        "70B: Llama 2 70B on H100, measured steps; its weights, 140"
        " GB, need two GPUs.\n"
        "8B: 8 billion parameters, one replica per GPU, steps by the"
        " roofline. FIFO, prompts in chunks of 2,048.\n"
        "Within targets: first token in 2 s and 0.2 s per further token"
    ),
    options=lambda runs: " trace=FILE" * isinstance(runs.source, RequestList),
    texts=("model", "source"),
)
def gpus(runs: Runs) -> list[Row]:
    """Times of requests per number of GPUs."""
    rows: list[Row] = []
    for model, service in SERVICES:
        degree, source = service.service.tensor_parallel, runs.source
        values = {"gpus": [number for number in GPUS[model] if number % degree == 0]}
        scenario = replace(service, source=source)
        rows += [
            {
                "source": source.name,
                "model": model,
                "tensor_parallel": degree,
                **point,
                **{name: study.rows[0][name] for name in SHOWN},
            }
            for point, study in sweep(scenario, values, ["fifo"], [0], runs.executor)
        ]
    return rows


@gpus.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    response, goodput = canvas.subplots(1, 2)
    handles = []
    for model, degree in dict.fromkeys(
        (row["model"], row["tensor_parallel"]) for row in rows
    ):
        selected = where(rows, model=model, tensor_parallel=degree)
        x = numbers(selected, "gpus")
        style: Row = {
            "color": MODELS[model],
            "marker": MARKERS[degree],
            "markersize": 4,
        }
        for ax, name, line in (
            (response, "e2e_s", "-"),
            (response, "e2e_p99_s", ":"),
            (goodput, "goodput_pct", "-"),
        ):
            ax.plot(x, numbers(selected, name), line, **style)
        label = f"{model}, {many(degree, 'GPU')} per replica"
        handles.append(key(label=label, **style))
    response.set(yscale="log", ylabel="from arrival to completion (s)")
    goodput.set(ylim=(0, 103), ylabel="requests within targets (%)")
    for ax in (response, goodput):
        ax.set(xscale="log", xlabel="GPUs")
        ax.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        ax.minorticks_off()
    canvas.supxlabel(f"requests: {rows[0]['source']}", fontsize="small")
    return [
        *handles,
        key(color=MODELS["70B"], label="mean"),
        key(color=MODELS["70B"], linestyle=":", label="99th percentile"),
    ]


@gpus.describes
def _(rows: list[Row]) -> str:
    source = rows[0]["source"]
    pairs = where(rows, model="70B", tensor_parallel=2)
    responses = ", ".join(f"{row['e2e_s']:.3g} s on {row['gpus']}" for row in pairs)
    azure = " (Azure Public Dataset, CC BY 4.0)" if source.startswith("Azure") else ""
    return (
        f"Requests: {source}{azure}. Mean response of the 70B in pairs of GPUs:"
        f" {responses}."
    )


table2 = FIGURES.add(
    "table2",
    "LLM inference: the printed workload by the authors' loop (Table II)",
    (6.3, 3.2),
    note=(
        "20 requests on 16 GPUs, two per request from start to end,"
        " decisions every 0.01 s.\n"
        "double count: running requests are counted twice, as in the"
        " authors' program.\n"
        "Response: from arrival to completion, printed as waiting"
    ),
    rows=lambda _: table_two(),
    texts=("figure", "verdict"),
)


@table2.draws
def _(canvas: Canvas, rows: list[Row]) -> Handles:
    labels = {
        "weighted_response": "weighted response (s)",
        "mean_response_s": "mean response (s)",
    }
    for ax, (figure, label) in zip(canvas.subplots(1, 2, sharey=True), labels.items()):
        selected = where(rows, figure=figure)
        names = [
            row["policy"] + ", double count" * row["double_count"] for row in selected
        ]
        colours = [LOOKS[row["policy"]].colour for row in selected]
        values, printed = numbers(selected, "found"), numbers(selected, "printed")
        marks.bars(ax, names, values, [nan] * len(selected), printed, colours)
        ax.set_xlabel(label)
    return [marks.published()]


@table2.describes
def _(rows: list[Row]) -> str:
    without = where(rows, policy="wsrpt", double_count=False)
    values = {row["figure"]: row["found"] for row in without}
    agree = [row["verdict"] == REPRODUCED for row in where(rows, double_count=True)]
    return (
        f"{sum(agree)} of {len(agree)} printed figures are reproduced if running"
        " requests"
        " are counted twice; otherwise those of WSRPT are"
        f" {values['weighted_response']:g} and {values['mean_response_s']:g} s."
    )


@table2.tables
def _(rows: list[Row]) -> str:
    head = "policy | double count | figure | verdict | found | printed"
    lines = [
        [
            row["policy"],
            "yes" if row["double_count"] else "no",
            row["figure"],
            row["verdict"],
            *(f"{row[name]:.3f}" for name in ("found", "printed")),
        ]
        for row in rows
    ]
    return markdown(head, 4, lines)
