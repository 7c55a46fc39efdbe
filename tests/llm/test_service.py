"""A service: its replicas, the room of their caches, and bad input."""

from pathlib import Path

from support import refusals

from cgrsp_simpy.llm.service import Service


def test_the_default_is_llama_2_70b_on_pairs_of_h100():
    """Keys and values: 2 x 8 heads x 128 numbers x 80 layers x 2 bytes a token.
    Measured on two H100, 32 requests of 640 tokens fitted, 64 did not.
    """
    service = Service()
    assert service.kv_mb * 1e6 == 2 * 8 * 128 * 80 * 2
    assert (service.replicas, service.kv_tokens) == (4, 36_621)
    assert 32 * 640 < service.kv_tokens < 64 * 640
    assert Service(16, 8).replicas == 2
    assert str(Service(16, 8)) == "16 h100-80gb, 8 a replica"


test_bad_input_is_refused = refusals(
    ({"gpus": 0}, "gpus(=0) must be a whole number >= 1"),
    ({"gpus": 7}, "gpus(=7) must be a multiple of tensor_parallel, 2"),
    (
        {"tensor_parallel": 1},
        "weights_gb(=140.0) must be less than the memory of a replica, 76 GB",
    ),
    (
        {"memory_gb": 70},
        "weights_gb(=140.0) must be less than the memory of a replica, 140 GB",
    ),
    ({"kv_mb": 0}, "kv_mb(=0) must be a number > 0"),
    ({"max_batch": 0}, "max_batch(=0) must be a whole number >= 1"),
    ({"chunk_tokens": 1.5}, "chunk_tokens(=1.5) must be a whole number >= 1"),
    ({"whole": 1}, "whole(=1) must be true or false"),
    call=lambda own: Service(**own),
)


def test_the_licence_of_the_measurements_is_with_them():
    data = Path(__file__).parents[2] / "cgrsp_simpy" / "data"
    assert (
        "Copyright (c) 2024 Pratyush Patel"
        in (data / "llama2_70b_steps.LICENSE").read_text()
    )
