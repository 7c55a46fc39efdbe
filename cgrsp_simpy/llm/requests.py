"""LLM inference requests: read from a log, or generated at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import Annotated, Literal, Unpack

import numpy as np
from numpy.random import Generator

from cgrsp_simpy.base.arrays import Floats, Ints
from cgrsp_simpy.base.checks import (
    InputError,
    check_entries,
    check_one_of,
    entries_of,
    order_columns,
    require,
    set_columns,
)
from cgrsp_simpy.base.files import name_of
from cgrsp_simpy.base.parameters import (
    AtLeastAMillionth,
    Count,
    declared,
    limits,
    parameter,
)
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.base.table import many
from cgrsp_simpy.logs import Reading, Tags, read_log

TOKENS = ("prompt_tokens", "output_tokens")
MOST_DRAWN = 8192  # tokens of a prompt or an output; longer draws are cut

# the workload of hgsp.txt Table II weighs prompts of 500 tokens 10, of 2000 tokens 1
SHORT_TOKENS, SHORT_WEIGHT = 1000, 10.0
# Name of a distribution -> weights from the prompt tokens. Logs hold no weights: these
# distributions are ours.
WEIGHTS: dict[str, Callable[[Ints], Floats]] = {
    "equal": lambda prompt: np.ones(len(prompt)),
    "short": lambda prompt: np.where(prompt <= SHORT_TOKENS, SHORT_WEIGHT, 1.0),
}


@dataclass(frozen=True, eq=False)
class RequestList:
    """Requests in order of arrival, then as listed; columns of shape (requests,).

    arrival_s: seconds, at least 0. prompt_tokens, output_tokens: at least 1. weight:
    weight of the response time, above 0. request_names: default: numbers from 1; for a
    log, line numbers. tags: for a log, all its other columns, as strings.
    """

    arrival_s: Floats = field(repr=False)
    prompt_tokens: Ints = field(repr=False)
    output_tokens: Ints = field(repr=False)
    weight: Floats = field(repr=False)
    name: str = "requests"
    request_names: tuple[str, ...] = field(repr=False, default=())
    tags: Tags = field(default_factory=Tags, repr=False)

    def __post_init__(self) -> None:
        columns = dict.fromkeys(("arrival_s", "weight", *TOKENS), "f8")
        set_columns(self, columns, "request")
        number = self.requests
        if number == 0:
            raise InputError(f"{self.name} contains no requests")
        names = entries_of("request_names", self.request_names, "a list") or tuple(
            map(str, range(1, number + 1))
        )
        require(
            len(names) == number,
            "number of request_names",
            len(names),
            f"{number}, one per request",
        )
        object.__setattr__(self, "request_names", names)
        for name in columns:
            whole = name in TOKENS
            check_entries(
                name,
                getattr(self, name),
                lambda number: f"request {names[number - 1]}",
                above=0 if name == "weight" else None,
                least=int(whole),
                whole=whole,
            )
        set_columns(self, columns | dict.fromkeys(TOKENS, "i8"), "request")
        order_columns(
            self, (*columns, "request_names"), np.argsort(self.arrival_s, kind="stable")
        )

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.arrival_s)


MOST_CV = 100
Cv = Annotated[float, limits(f"a number >= 0, at most {MOST_CV}", ge=0, le=MOST_CV)]
MeanTokens = Annotated[
    float, limits(f"a number >= 1, at most {MOST_DRAWN}", ge=1, le=MOST_DRAWN)
]


@declared()
class Offered:
    """Randomly generated requests: Poisson arrivals, lognormal numbers of tokens."""

    requests: Count = parameter("Number of requests.", default=1000)
    rate_per_s: AtLeastAMillionth = parameter("Arrivals per second.", default=2.5)
    prompt_tokens: MeanTokens = parameter(
        "Mean length of a prompt; longer draws are cut to 8192 tokens.",
        default=2000.0,
    )
    output_tokens: MeanTokens = parameter(
        "Mean length of an output, cut likewise.", default=200.0
    )
    cv: Cv = parameter(
        "Coefficient of variation of both lengths, at most 100; 0: all equal the mean.",
        default=1.0,
    )
    weight: Literal["equal", "short"] = parameter(
        "Distribution of the weights: equal (all 1) or short (10 for up to 1000"
        " prompt tokens, otherwise 1).",
        default="equal",
    )

    @property
    def name(self) -> str:
        """The number of requests, for tables."""
        return many(self.requests, "drawn request")

    def draw(self, draw: Draw) -> RequestList:
        """Return the requests of a run."""
        gaps_s = draw("arrivals").exponential(1 / self.rate_per_s, self.requests)
        prompt = self._tokens(draw("prompts"), self.prompt_tokens)
        output = self._tokens(draw("outputs"), self.output_tokens)
        return RequestList(
            gaps_s.cumsum(), prompt, output, WEIGHTS[self.weight](prompt), self.name
        )

    def _tokens(self, rng: Generator, mean: float) -> Ints:
        variance = log(1 + self.cv**2)
        tokens = rng.lognormal(log(mean) - variance / 2, variance**0.5, self.requests)
        return np.clip(tokens.round(), 1, MOST_DRAWN).astype(int)


def read_requests(
    path: str | Path,
    *,
    weight: str = "equal",
    format: str | None = None,
    window: str | None = None,
    **reading: Unpack[Reading],
) -> RequestList:
    """Read a log of LLM requests in order of arrival; the first arrives at time 0.

    Formats: the Azure LLM inference traces, Mooncake, or the column names of vLLM,
    BurstGPT, Vidur or Splitwise. Required columns: submit_s, prompt_tokens and
    output_tokens; 0 tokens count as 1. Each request is named by its line number.
    weight: a rule of WEIGHTS: "equal" (all 1) or "short" (10 up to 1000 prompt tokens,
    else 1). format, window, reading: as in `cgrsp_simpy.logs.read_log`; the default
    format is azure if `columns` is passed. Raises InputError with the file's name and,
    if known, the line.
    """
    check_one_of("distribution of weights", weight, WEIGHTS)
    format = format or ("azure" if reading.get("columns") else None)
    table = read_log(path, format, window=window, **reading)
    table = table.usable("LLM requests", ("submit_s", *TOKENS), {})
    prompt, output = (np.maximum(table[name].astype(int), 1) for name in TOKENS)
    return RequestList(
        table["ready_s"] - table["ready_s"][0],
        prompt,
        output,
        WEIGHTS[weight](prompt),
        name_of(table.path),
        tuple(map(str, table.line.tolist())),
        table.tags,
    )
