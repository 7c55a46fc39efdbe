"""An LLM inference service: replicas process requests in batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import nan
from typing import ClassVar

from cgrsp_simpy.base.checks import refuse, require
from cgrsp_simpy.base.parameters import Positive, declared, parameter
from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.resources import ResourceSpec, pools
from cgrsp_simpy.engine.simulation import Process, Simulation
from cgrsp_simpy.llm.batch import Batch, Request
from cgrsp_simpy.llm.policies import POLICIES, View
from cgrsp_simpy.llm.report import LATENCIES, LlmReport
from cgrsp_simpy.llm.requests import Offered, RequestList
from cgrsp_simpy.llm.service import Service, Steps, StepTime, llama2_70b
from cgrsp_simpy.studies.subject import Subject


class LlmSubject(Subject):
    """Subject of LLM requests, drawn or from a log, which needs only one run."""

    pace_per_s = 3000.0

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether requests are drawn."""
        return isinstance(self.model.source, Offered)


# columns of a RequestList, in the order of the fields of a Request
COLUMNS = ("arrival_s", "prompt_tokens", "output_tokens", "weight")


@declared()
class Scenario(Model):
    """Requests on the replicas of a service: a run's parameters except policy and seed.

    A request claims room for all its tokens in the cache of a replica, joins its batch
    at the next step, and leaves it with its last token. Raises InputError for an
    invalid parameter, or a request that is too large for a replica.
    """

    source: Offered | RequestList = parameter(
        "The requests: drawn for each seed, or from a log, the same for every seed.",
        default_factory=Offered,
    )
    service: Service = parameter(
        "The GPUs and the language model that they serve.", default_factory=Service
    )
    steps: Steps = parameter(
        "Model of the time per step of a batch, or its description, see `steps_of`; by"
        " default the times measured for Llama 2 70B.",
        default_factory=llama2_70b,
    )
    ttft_target_s: Positive = parameter(
        "Target of the time to first token for the goodput, seconds; default:"
        " that of MLPerf Inference.",
        default=2.0,
    )
    tpot_target_s: Positive = parameter(
        "Target of the time per output token for the goodput, seconds; default:"
        " that of MLPerf Inference.",
        default=0.2,
    )

    policies = POLICIES
    compared = tuple(POLICIES)
    report = LlmReport
    subject = LlmSubject
    columns: ClassVar[Mapping[str, str]] = dict.fromkeys(LATENCIES, "f8")

    def __post_init__(self) -> None:
        self.step_time()  # so that steps that do not fit the service are refused now
        if isinstance(self.source, RequestList):
            self._check_room(self.source)

    # ---- the model ----

    def resources(self) -> tuple[ResourceSpec, ...]:
        return pools(
            [self.service.kv_tokens] * self.service.replicas, "replica", "tokens"
        )

    def arrivals(self, draw: Draw) -> Iterator[tuple[float, Request]]:
        source = self.source
        requests = source if isinstance(source, RequestList) else source.draw(draw)
        self._check_room(requests)
        step_s = self.step_time()
        columns = (getattr(requests, name).tolist() for name in COLUMNS)
        rows = enumerate(zip(requests.request_names, *columns), start=1)
        for id, (name, arrival_s, prompt, output, weight) in rows:
            # on an idle replica: the prompt in one step, which makes the first token,
            # then one step per token, at their mean context
            prefill_s = step_s(1, prompt, 0, 0)
            decode_s = (output - 1) * step_s(0, 0, 1, prompt + output // 2)
            require(
                arrival_s + prefill_s > arrival_s,
                f"arrival_s of request {name}",
                arrival_s,
                f"small enough for the clock to resolve a step of {prefill_s:.3g} s",
            )
            request = Request(
                id, name, arrival_s, prompt, output, weight, prefill_s + decode_s
            )
            yield arrival_s, request

    def set_up(self, run: Simulation) -> None:
        # one batch per replica; a run keeps its plan, so that reports find them there
        step_s = self.step_time()
        run.plan = [Batch(run, self.service, step_s) for _ in run.resources]

    def processes(self, run: Simulation) -> list[Process]:
        return [batch.serve() for batch in run.plan]

    def job_process(self, run: Simulation, request: Request) -> Process:
        """Wait for room in a replica's cache; join its batch until the last token."""
        with run.claim(request) as claim:
            yield claim
            replica, _ = claim.parts[0]
            first_token_s = yield run.plan[replica].join(request)
            claim.phase("decoding", first_token_s)
        ttft_s = first_token_s - request.submit_s
        e2e_s = run.now_s - request.submit_s
        later = request.output_tokens - 1
        tpot_s = (e2e_s - ttft_s) / later if later else nan
        run.record(request, ttft_s, tpot_s, e2e_s)

    def view(self, run: Simulation) -> View:
        return View(run)

    def need(self, job: Request) -> int:
        return job.tokens

    def step_time(self) -> StepTime:
        """Return the function for the time per step on the service's GPUs."""
        return self.steps.of(self.service)

    def _check_room(self, requests: RequestList) -> None:
        """Raise InputError for a request that does not fit into an empty cache."""
        tokens = requests.prompt_tokens + requests.output_tokens
        most = self.service.kv_tokens
        refuse(
            tokens > most,
            lambda row: (
                f"request {requests.request_names[row]} needs a cache of"
                f" {tokens[row]} tokens; a replica of {self.service} has {most}"
            ),
        )

    @property
    def name(self) -> str:
        """Description of the requests and the service."""
        return f"{self.source.name}, {self.service}"

    @property
    def jobs(self) -> int:
        """Number of requests of a run."""
        return self.source.requests
