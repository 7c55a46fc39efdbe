"""LLM inference requests and the cluster that serves them (hgsp.txt Section VI.A), and the reader
of a log of requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cgrsp_simpy.logs import Tags, read_log
from cgrsp_simpy.model.checks import (
    InputError,
    check_entries,
    check_number,
    check_one_of,
    check_whole,
    entries_of,
    order_columns,
    require,
    set_columns,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
# columns of whole numbers, and the least of each
WHOLE = {"prompt_tokens": 0, "output_tokens": 0, "gpus": 1}


@dataclass(frozen=True)
class LlmModel:
    """A language model.

    Parameters
    ----------
    name : str
        For messages.
    memory_gb : float
        What it needs in all, m_i, GB, >= 0; each of tau GPUs holds m_i / tau of it.
    """

    name: str
    memory_gb: float

    def __post_init__(self) -> None:
        check_number(f"memory_gb of {self.name}", self.memory_gb, least=0)


QWEN3 = LlmModel("Qwen3", 30.0)  # the model of hgsp.txt Section VI.C: 15 GB per GPU with tau = 2


@dataclass(frozen=True, eq=False)
class RequestList:
    """Requests in order of arrival, those that arrive together in the order given; columns of
    shape (requests,).

    Parameters
    ----------
    arrival_s : array of float
        a_i, seconds, at least 0.
    prompt_tokens, output_tokens : arrays of int
        Tokens of the phases PREFILL and DECODE, at least 0 and not both 0; a request of one phase
        has 0 tokens of the other.
    weight : array of float
        w_i, at least 0.
    gpus : array of int
        tau_i, the GPUs that a request holds at once.
    models : tuple of LlmModel
        One a request.
    name : str
        Of all.
    request_names : tuple of str
        One a request; numbers from 1 in the order given unless given. Of a log, the line of each.
    tags : Tags
        Of requests of a log, all its other columns, as texts.

    Raises
    ------
    InputError
        Naming the request, for what is not allowed.

    References
    ----------
    hgsp.txt Section VI.A.2.
    """

    arrival_s: Floats = field(repr=False)
    prompt_tokens: Ints = field(repr=False)
    output_tokens: Ints = field(repr=False)
    weight: Floats = field(repr=False)
    gpus: Ints = field(repr=False)
    models: tuple[LlmModel, ...] = field(repr=False)
    name: str = "requests"
    request_names: tuple[str, ...] = field(repr=False, default=())
    tags: Tags = field(default_factory=Tags, repr=False)

    def __post_init__(self) -> None:
        columns = dict.fromkeys(("arrival_s", "weight", *WHOLE), "f8")
        set_columns(self, columns, "request")
        number = self.requests
        if number == 0:
            raise InputError(f"{self.name}: no request")
        names = tuple(self.request_names) or tuple(map(str, range(1, number + 1)))
        models = entries_of("models", self.models, "a list of models, one a request")
        for name, own in (("request_names", names), ("models", models)):
            require(len(own) == number, f"number of {name}", len(own), f"{number}, one a request")
            object.__setattr__(self, name, own)
        for name in columns:
            check_entries(
                name,
                getattr(self, name),
                lambda number: f"request {names[number - 1]}",
                least=WHOLE.get(name, 0),
                whole=name in WHOLE,
            )
        for name in np.array(names)[self.prompt_tokens + self.output_tokens == 0][:1]:
            require(False, f"prompt_tokens + output_tokens of request {name}", 0, "at least 1")
        set_columns(self, columns | dict.fromkeys(WHOLE, "i8"), "request")
        order = np.argsort(self.arrival_s, kind="stable")
        order_columns(self, (*columns, "models", "request_names"), order)

    @property
    def requests(self) -> int:
        """Number of requests, n."""
        return len(self.arrival_s)


@dataclass(frozen=True)
class LlmCluster:
    """GPUs of one type. The defaults are printed.

    Parameters
    ----------
    gpus : int
        Their number.
    gpu : str
        Their type.
    memory_gb : float
        M_j of each.
    prefill_tokens_per_s, decode_tokens_per_s : float
        lambda_j of the two phases; one request has it whatever its tau.

    References
    ----------
    hgsp.txt Sections VI.A.2 and VI.C.
    """

    gpus: int = 16
    gpu: str = "H100"
    memory_gb: float = 80.0
    prefill_tokens_per_s: float = 1000.0
    decode_tokens_per_s: float = 5000.0

    def __post_init__(self) -> None:
        check_whole("gpus of the cluster", self.gpus, least=1)
        check_number(f"memory_gb of {self.gpu}", self.memory_gb, least=0)
        check_number(f"prefill_tokens_per_s of {self.gpu}", self.prefill_tokens_per_s, above=0)
        check_number(f"decode_tokens_per_s of {self.gpu}", self.decode_tokens_per_s, above=0)

    def times_s(self, requests: RequestList) -> Floats:
        """p_i = prompt tokens / prefill throughput + output tokens / decode throughput, seconds."""
        return (
            requests.prompt_tokens / self.prefill_tokens_per_s
            + requests.output_tokens / self.decode_tokens_per_s
        )

    def check(self, requests: RequestList) -> None:
        """Refuse requests of which one can never run here: too many GPUs, or too much memory on
        each; InputError names the request.
        """
        for index in np.flatnonzero(requests.gpus > self.gpus)[:1]:
            raise InputError(
                f"request {requests.request_names[index]} needs {requests.gpus[index]} GPUs at"
                f" once; the cluster has {self.gpus} {self.gpu} in all"
            )
        for name, model, gpus in zip(
            requests.request_names, requests.models, requests.gpus.tolist()
        ):
            if model.memory_gb / gpus > self.memory_gb:
                raise InputError(
                    f"request {name} needs {model.memory_gb / gpus:g} GB on each of {gpus} GPUs"
                    f" ({model.name}); {self.gpu} has {self.memory_gb:g} GB"
                )


def printed_requests() -> RequestList:
    """The workload of Table II: 20 requests at 0 with tau = 2, 8 long ones of weight 1, then 12
    short ones of weight 10.

    All tokens are prompt tokens: the printed waiting times are those of 2000 / 1000 s and
    500 / 1000 s, without a decode phase.
    """
    long = np.arange(20) < 8
    prompt, weight = np.where(long, 2000, 500), np.where(long, 1.0, 10.0)
    return RequestList(
        np.zeros(20),
        prompt,
        np.zeros(20, np.int64),
        weight,
        np.full(20, 2),
        (QWEN3,) * 20,
        "Table II",
    )


# ---- a log of requests ----

# the printed workload weighs prompts of 500 tokens 10, of 2000 tokens 1
SHORT_TOKENS, SHORT_WEIGHT = 1000, 10.0

# Name of a law -> weights from the columns prompt_tokens and output_tokens. Logs hold no weights:
# these laws are ours.
WEIGHTS: dict[str, Callable[[Ints, Ints], Floats]] = {
    "equal": lambda prompt, output: np.ones(len(prompt)),  # noqa: ARG005, as of every law
    "short": lambda prompt, output: np.where(prompt <= SHORT_TOKENS, SHORT_WEIGHT, 1.0),  # noqa: ARG005
}


def read_requests(
    path: str | Path,
    *,
    weight: str = "equal",
    gpus: int = 2,
    model: LlmModel = QWEN3,
    strict: bool = False,
    format: str = "azure",
    window: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> RequestList:
    """Read a log of LLM requests, a CSV file with the columns of the Azure LLM inference trace of
    2023.

    Needed are submit_s, prompt_tokens and output_tokens; time 0 is the first arrival. A log knows
    nothing else; for columns of one's own: `dataclasses.replace(requests, weight=...)`. Each
    request is named by its line.

    weight: a law of WEIGHTS: "equal" (all 1) or "short" (10 up to 1000 prompt tokens, else 1).
    gpus: tau, the same for all requests, >= 1. model: the same for all requests. strict, format,
    window, columns: as of `cgrsp_simpy.logs.read_log`. Result: in order of arrival. Raises
    InputError with the file's name, and the line where there is one.
    """
    check_one_of("law of weights", weight, WEIGHTS)
    check_whole("gpus", gpus, least=1)
    found = read_log(path, format, window=window, strict=strict, columns=columns)
    found = found.usable("LLM requests", ("submit_s", "prompt_tokens", "output_tokens"), {})
    arrival_s, prompt, output = (
        found["submit_s"],
        *(found[name].astype(int) for name in ("prompt_tokens", "output_tokens")),
    )
    name, number = found.path.name.removesuffix(".gz").rpartition(".")[0], len(found)
    weights = WEIGHTS[weight](prompt, output)
    same, lines = (np.full(number, gpus), (model,) * number), tuple(map(str, found.line.tolist()))
    return RequestList(
        arrival_s - arrival_s[0], prompt, output, weights, *same, name, lines, found.tags
    )
