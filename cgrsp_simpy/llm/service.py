"""Servers of requests: replicas of a model, each on a group of GPUs."""

from __future__ import annotations

from cgrsp_simpy.base.checks import require
from cgrsp_simpy.base.parameters import Count, Positive, declared, parameter

MB_PER_GB = 1000


@declared()
class Service:
    """GPUs of one type, and the model that they serve; default: Llama 2 70B.

    Raises InputError if the weights leave no room for the cache.
    """

    gpus: Count = parameter("Number of GPUs.", default=8)
    tensor_parallel: Count = parameter(
        "GPUs that hold one replica of the model.", default=2
    )
    gpu: str = parameter(
        "Type of the GPUs, as the table of measured steps calls it.",
        default="h100-80gb",
    )
    memory_gb: Positive = parameter(
        "Memory of each GPU for the weights and the cache; the rest of 80 GB is the"
        " engine's.",
        default=76.0,
    )
    weights_gb: Positive = parameter(
        "Weights of a replica, two bytes per parameter.", default=140.0
    )
    kv_mb: Positive = parameter(
        "Size of a token in the cache: keys and values of two bytes, of 8 heads of 128,"
        " in 80 layers.",
        default=0.32768,
    )
    max_batch: Count = parameter("Requests of a replica at once.", default=64)
    chunk_tokens: Count = parameter(
        "Prompt tokens that a step prefills, at most; longer prompts take several"
        " steps.",
        default=2048,
    )
    whole: bool = parameter(
        "Prefill each prompt in one step, even a longer one.", default=False
    )

    def __post_init__(self) -> None:
        degree = self.tensor_parallel
        groups = f"a multiple of tensor_parallel, {degree}"
        require(self.gpus % degree == 0, "gpus", self.gpus, groups)
        room = f"less than the {degree * self.memory_gb:g} GB of a replica"
        require(self.kv_tokens > 0, "weights_gb", self.weights_gb, room)

    @property
    def replicas(self) -> int:
        """Number of replicas."""
        return self.gpus // self.tensor_parallel

    @property
    def kv_tokens(self) -> int:
        """Tokens that the cache of a replica holds."""
        left_gb = self.tensor_parallel * self.memory_gb - self.weights_gb
        return int(left_gb * MB_PER_GB / self.kv_mb)

    def __str__(self) -> str:
        return f"{self.gpus} {self.gpu}, {self.tensor_parallel} a replica"
