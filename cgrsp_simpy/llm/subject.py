"""How studies run an LLM inference service."""

from __future__ import annotations

from typing import Any

from cgrsp_simpy.llm.requests import Offered
from cgrsp_simpy.llm.steps import steps_of
from cgrsp_simpy.studies.subject import Subject


class LlmSubject(Subject):
    """Subject of LLM requests, drawn or from a log, which needs only one run."""

    pace_per_s = 3000.0

    @property
    def is_random(self) -> bool:  # type: ignore[override]
        """Whether requests are drawn."""
        return isinstance(self.model.source, Offered)

    def completed(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """As `Subject.completed`; steps: a file or "roofline", see `steps_of`."""
        if isinstance(parameters.get("steps"), str):
            parameters["steps"] = steps_of(parameters["steps"])
        return parameters
