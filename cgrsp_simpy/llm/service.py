"""What serves requests: replicas of a model, each on a group of GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from cgrsp_simpy.base.checks import (
    check_bool,
    check_fields,
    check_number,
    check_whole,
    require,
)

MB_PER_GB = 1000


@dataclass(frozen=True)
class Service:
    """GPUs of one type, and the model that they serve; that of the defaults is Llama 2
    70B.

    Parameters
    ----------
    gpus : int
        Their number.
    tensor_parallel : int
        GPUs that hold one replica of the model.
    gpu : str
        Their type, as the table of measured steps calls it.
    memory_gb : float
        What the weights and the cache may take of each; the rest of 80 is the engine's.
    weights_gb : float
        Of a replica, two bytes a parameter.
    kv_mb : float
        Of a token in the cache: keys and values of two bytes, of 8 heads of 128, in 80
        layers.
    max_batch : int
        Requests of a replica at once.
    chunk_tokens : int
        Prompt tokens that a step prefills, at most; longer prompts take several steps.
    whole : bool
        Prefill each prompt in one step, even a longer one.

    Raises
    ------
    InputError
        For what is not allowed, such as weights that leave no room for the cache.
    """

    gpus: int = 8
    tensor_parallel: int = 2
    gpu: str = "h100-80gb"
    memory_gb: float = 76.0
    weights_gb: float = 140.0
    kv_mb: float = 0.32768
    max_batch: int = 64
    chunk_tokens: int = 2048
    whole: bool = False

    def __post_init__(self) -> None:
        check_fields(
            self,
            check_whole,
            "gpus",
            "tensor_parallel",
            "max_batch",
            "chunk_tokens",
            least=1,
        )
        check_fields(self, check_number, "memory_gb", "weights_gb", "kv_mb", above=0)
        check_bool("whole", self.whole)
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
