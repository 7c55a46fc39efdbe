"""Replicas of a model, each on a group of GPUs, and the time that a step takes them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from statistics import fmean, median
from typing import Annotated, Literal, cast

from cgrsp_simpy.base.checks import MOST_WHOLE, check_one_of, require
from cgrsp_simpy.base.files import csv_rows, faults_of, make, number_or_text
from cgrsp_simpy.base.parameters import (
    Count,
    Entries,
    Positive,
    PositiveFraction,
    declared,
    from_text,
    parameter,
)
from cgrsp_simpy.base.policy import create

MB_PER_GB = 1000


@declared()
class Service:
    """GPUs of one type, and the model that they serve; default: Llama 2 70B.

    Raises InputError if the weights leave no room for the cache.
    """

    gpus: Count = parameter("Number of GPUs.", default=8)
    tensor_parallel: Count = parameter(
        "Number of GPUs per replica of the model.", default=2
    )
    gpu: str = parameter(
        "GPU type, as named in the table of measured steps.",
        default="h100-80gb",
    )
    memory_gb: Positive = parameter(
        "Memory per GPU for the weights and the cache; the engine uses the rest"
        " of the 80 GB.",
        default=76.0,
    )
    weights_gb: Positive = parameter(
        "Size of the weights of a replica, with two bytes per parameter.", default=140.0
    )
    kv_mb: Positive = parameter(
        "Size of a token in the cache: keys and values of two bytes each, 8 heads"
        " of dimension 128, 80 layers.",
        default=0.32768,
    )
    max_batch: Count = parameter(
        "Maximum number of concurrent requests per replica.", default=64
    )
    chunk_tokens: Count = parameter(
        "Maximum number of prompt tokens per prefill step; longer prompts take"
        " several steps.",
        default=2048,
    )
    whole: bool = parameter(
        "Whether each prompt is prefilled in one step, even a longer one.",
        default=False,
    )

    def __post_init__(self) -> None:
        degree = self.tensor_parallel
        require(
            self.gpus % degree == 0,
            "gpus",
            self.gpus,
            f"a multiple of tensor_parallel, {degree}",
        )
        most_mb = self._cache_mb
        require(
            most_mb > 0,
            "weights_gb",
            self.weights_gb,
            f"less than the memory of a replica, {degree * self.memory_gb:g} GB",
        )
        least_mb = most_mb / MOST_WHOLE
        require(
            least_mb <= self.kv_mb <= most_mb,
            "kv_mb",
            self.kv_mb,
            f"a number from {least_mb:g} to {most_mb:g}, the size of the cache in MB",
        )

    @property
    def replicas(self) -> int:
        """Number of replicas."""
        return self.gpus // self.tensor_parallel

    @property
    def kv_tokens(self) -> int:
        """Tokens that the cache of a replica holds."""
        return int(self._cache_mb / self.kv_mb)

    @property
    def _cache_mb(self) -> float:
        return (self.tensor_parallel * self.memory_gb - self.weights_gb) * MB_PER_GB

    def __str__(self) -> str:
        return f"{self.gpus} {self.gpu}, {self.tensor_parallel} per replica"


StepTime = Callable[[int, int, int, int], float]
"""Seconds of a step that prefills so many prompts of so many tokens in all, and decodes
one token each of a batch of requests with so many tokens of context in all.
"""
MS = 1000.0  # in a second
# share by which a measured time in all may differ from that of its phases
ADDS_UP = 0.2


@declared()
class Measured:
    """A measured step."""

    gpu: str = parameter("Type of the GPUs.")
    tensor_parallel: Count = parameter("Number of GPUs per replica of the model.")
    phase: Literal["prompt", "token"] = parameter("Phase of the step.")
    batch: Count = parameter("Number of requests.")
    tokens: Count = parameter("Total number of tokens of their prompts or contexts.")
    ms: Positive = parameter("Duration of the step, milliseconds.")


@declared()
class _Splitwise:
    """A row of splitwise-sim: the phases of requests with equal numbers of tokens."""

    hardware: str
    tensor_parallel: Count
    prompt_size: Count
    batch_size: Count
    token_size: Count
    prompt_time: Positive
    token_time: Positive
    e2e_time: Positive

    def steps(self) -> list[Measured]:
        """Return the two steps, or none if their times differ from the total time."""
        tokens, batch = self.token_size, self.batch_size
        differs_ms = abs(self.prompt_time + tokens * self.token_time - self.e2e_time)
        if differs_ms > ADDS_UP * self.e2e_time:
            return []
        gpus = self.hardware, self.tensor_parallel
        context = batch * (self.prompt_size + tokens // 2)  # halfway
        return [
            Measured(
                *gpus, "prompt", batch, batch * self.prompt_size, self.prompt_time
            ),
            Measured(*gpus, "token", batch, context, self.token_time),
        ]


@declared()
class StepTable:
    """Measured steps; the median of repeated measurements is used.

    For the smallest batch, time is interpolated and extrapolated linearly in the number
    of tokens. For larger batches it is multiplied by a factor, which is linear between
    measured batches. A step that prefills and decodes takes as long as one that
    prefills one more token per decoding request, and at least as long as the decoding
    (our rule; the table has no such steps).
    """

    rows: Entries[Measured] = parameter("The measured steps, in any order.", repr=False)

    def of(self, service: Service) -> StepTime:
        """Return the step time on a service's GPUs; InputError if not measured."""
        gpu, degree = service.gpu, service.tensor_parallel
        check_one_of("gpu", gpu, [row.gpu for row in self.rows])
        degrees = dict.fromkeys(
            row.tensor_parallel for row in self.rows if row.gpu == gpu
        )
        require(
            degree in degrees,
            "tensor_parallel",
            degree,
            f"one of those measured on {gpu}: {', '.join(map(str, degrees))}",
        )
        cells: dict[str, dict[tuple[int, int], list[float]]] = {
            "prompt": {},
            "token": {},
        }
        for row in self.rows:
            if (row.gpu, row.tensor_parallel) == (gpu, degree):
                cells[row.phase].setdefault((row.batch, row.tokens), []).append(row.ms)
        for phase, times_ms in cells.items():
            require(
                bool(times_ms),
                f"rows of phase {phase}",
                0,
                f"at least one for {gpu} x {degree}",
            )
        prompt, token = (
            Surface({cell: median(ms) / MS for cell, ms in cells[phase].items()})
            for phase in cells
        )

        def step_s(prompts: int, prompt_tokens: int, batch: int, context: int) -> float:
            decode_s = token(batch, context) if batch else 0.0
            return (
                max(prompt(prompts, prompt_tokens + batch), decode_s)
                if prompts
                else decode_s
            )

        return step_s


class Surface:
    """Seconds by batch and tokens, as in `StepTable`; at least the shortest time."""

    def __init__(self, cells: Mapping[tuple[int, int], float]) -> None:
        least, self.floor_s = min(batch for batch, _ in cells), min(cells.values())
        self.tokens = sorted(tokens for batch, tokens in cells if batch == least)
        self.times_s = [cells[least, tokens] for tokens in self.tokens]
        self.batches = sorted({batch for batch, _ in cells})
        self.ratios = [
            fmean(
                time_s / max(along(tokens, self.tokens, self.times_s), self.floor_s)
                for (size, tokens), time_s in cells.items()
                if size == batch
            )
            for batch in self.batches
        ]

    def __call__(self, batch: int, tokens: int) -> float:
        time_s = along(tokens, self.tokens, self.times_s)
        return max(time_s * along(batch, self.batches, self.ratios), self.floor_s)


def along(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """Interpolate linearly, or extrapolate from the last two points."""
    if len(xs) == 1:
        return ys[0]
    place = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    x0, y0 = xs[place - 1], ys[place - 1]
    return y0 + (ys[place] - y0) * (x - x0) / (xs[place] - x0)


@declared()
class Roofline:
    """Steps from data sheets: the longer of arithmetic and reading weights and cache.

    Defaults: H100 (hgsp.txt Section VI.C). A parameter has two bytes and takes two
    operations per token, so a token takes as many operations as the weights have bytes.
    """

    tflops: Positive = parameter(
        "Speed of a GPU, 10^12 operations per second.", default=989.0
    )
    bandwidth_gb_per_s: Positive = parameter(
        "Bandwidth of the memory of a GPU.", default=3350.0
    )
    efficiency: PositiveFraction = parameter(
        "Share of both that is attained; measured on H100 with tensor parallelism"
        " 2: .43 and .57.",
        default=0.5,
    )

    def of(self, service: Service) -> StepTime:
        """Return the step time on a service's GPUs."""
        reached = service.tensor_parallel * self.efficiency
        token_s = service.weights_gb / (1000 * self.tflops * reached)
        weights_s = service.weights_gb / (self.bandwidth_gb_per_s * reached)
        context_s = service.kv_mb / (1000 * self.bandwidth_gb_per_s * reached)

        def step_s(_: int, prompt_tokens: int, batch: int, context: int) -> float:
            return max(
                (prompt_tokens + batch) * token_s, weights_s + context * context_s
            )

        return step_s


TEXTS = ("gpu", "hardware", "phase")  # columns that are no numbers


def read_steps(path: str | Path, model: str | None = None) -> StepTable:
    """Read a table from a CSV file with the columns of `Measured`, or of splitwise-sim.

    phase: prompt or token. Rows of splitwise-sim whose phases differ from the total
    time by over a fifth are left out, as the batch did not fit, or the output ended
    early. model: value of the column "model" to read; required if the file has several.
    Raises InputError with the file's name and, if known, the line.
    """
    with faults_of(path):
        lines = csv_rows(path, ())
        of_splitwise = bool(lines) and lines[0][1].keys() >= {
            *_Splitwise.__annotations__
        }
        kind: type[Measured | _Splitwise] = _Splitwise if of_splitwise else Measured
        steps, columns = list[Measured](), [*kind.__annotations__]
        for line, row in _of_model(csv_rows(path, columns), model):
            cells = {
                name: row[name] if name in TEXTS else number_or_text(row[name] or "")
                for name in columns
            }
            step = make(kind, cells, f"line {line}")
            steps += [step] if isinstance(step, Measured) else step.steps()
        require(bool(steps), "rows", 0, "at least one")
        return StepTable(tuple(steps))


def _of_model(
    lines: Sequence[tuple[int, dict[str, str]]], model: str | None
) -> Sequence[tuple[int, dict[str, str]]]:
    """Return the rows of one model, which must be named if there are several."""
    models = dict.fromkeys(row["model"] or "" for _, row in lines if "model" in row)
    if model is None:
        names = ", ".join(name or "(blank)" for name in models)
        require(
            len(models) < 2,
            "model",
            None,
            f"one of {names}: the file contains several models",
        )
        return lines
    require(bool(models), "model", model, "omitted: the file has no column model")
    check_one_of("model", model, models)
    return [(line, row) for line, row in lines if row["model"] == model]


@cache
def llama2_70b() -> StepTable:
    """Return medians of splitwise-sim's measurements of Llama 2 70B.

    They are for 2, 4 and 8 A100 and H100. Source: github.com/Mutinifni/splitwise-sim,
    commit 8f99e7d, MIT; the licence is in the same folder.
    """
    return read_steps(str(files("cgrsp_simpy") / "data" / "llama2_70b_steps.csv"))


def steps_of(text: str) -> StepTable | Roofline:
    """Return the steps that a string specifies: a file, or "roofline".

    "FILE:model=NAME" selects a model of the file; "roofline" may have parameters, as in
    "roofline:tflops=500,efficiency=0.4". Raises InputError as `read_steps` does, and
    for an unknown or invalid parameter.
    """
    name, _, rest = text.partition(":")
    if name == "roofline":
        return cast(Roofline, create("steps", text, {name: Roofline}))
    model = rest.removeprefix("model=")
    require(not rest or rest != model, "steps", text, "FILE, or FILE:model=NAME")
    return read_steps(name, model or None)


Steps = Annotated[StepTable | Roofline, from_text(steps_of)]
"""A model of the time per step, or a string for `steps_of`."""
