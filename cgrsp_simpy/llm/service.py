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
        "Greatest number of concurrent requests per replica.", default=64
    )
    chunk_tokens: Count = parameter(
        "Greatest number of prompt tokens per prefill step; longer prompts take"
        " several steps.",
        default=2048,
    )
    whole: bool = parameter(
        "Whether each prompt is prefilled in one step, even a longer one.",
        default=False,
    )

    def __post_init__(self) -> None:
        degree = self.tensor_parallel
        groups = f"a multiple of tensor_parallel, {degree}"
        require(self.gpus % degree == 0, "gpus", self.gpus, groups)
        room = f"less than the memory of a replica, {degree * self.memory_gb:g} GB"
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
