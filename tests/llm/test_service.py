"""A service: its replicas, the room of their caches, and bad input."""

from itertools import product
from pathlib import Path
from statistics import median

import pytest
from support import DATA, check_refused, refusals

from cgrsp_simpy.llm.service import (
    MS,
    Measured,
    Roofline,
    Service,
    StepTable,
    Surface,
    llama2_70b,
    read_steps,
    steps_of,
)


def test_the_default_is_llama_2_70b_on_pairs_of_h100():
    """Keys and values: 2 x 8 heads x 128 numbers x 80 layers x 2 bytes per token.
    Measured on two H100, 32 requests of 640 tokens fitted, 64 did not.
    """
    service = Service()
    assert service.kv_mb * 1e6 == 2 * 8 * 128 * 80 * 2
    assert (service.replicas, service.kv_tokens) == (4, 36_621)
    assert 32 * 640 < service.kv_tokens < 64 * 640
    assert Service(16, 8).replicas == 2
    assert Service(1, 1, memory_gb=1.5, weights_gb=1.4995, kv_mb=0.2).kv_tokens == 2
    assert [Service(kv_mb=mb).kv_tokens for mb in (12_000, 1.2e-11)] == [1, 1e15]
    assert str(Service(16, 8)) == "16 h100-80gb, 8 per replica"


test_bad_input_is_rejected = refusals(
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
    # one token must fit, and the number of tokens be finite
    ({"kv_mb": 12_001}, "kv_mb(=12001) must be a number from 1.2e-11 to 12000, the"),
    ({"kv_mb": 1e-310}, "kv_mb(=1e-310) must be a number from 1.2e-11 to 12000"),
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


MEASURED = DATA / "splitwise" / "perf_model_llama2_70b.csv"
RESULTS = Path(__file__).parents[2] / "docs" / "explanation" / "results.md"
TABLE = llama2_70b()
PAIR = TABLE.of(Service())  # two H100


def cells(gpu, degree, phase):
    return {
        (row.batch, row.tokens): row.ms / MS
        for row in TABLE.rows
        if (row.gpu, row.tensor_parallel, row.phase) == (gpu, degree, phase)
    }


def cell(row):
    return tuple(vars(row).values())[:-1]


def test_a_measured_step_takes_its_time():
    for gpu, degree in product(("a100-80gb", "h100-80gb"), (2, 4, 8)):
        step_s = TABLE.of(Service(8, degree, gpu))
        for (batch, tokens), time_s in cells(gpu, degree, "prompt").items():
            assert step_s(batch, tokens, 0, 0) == pytest.approx(time_s, rel=1e-12)
        for (batch, tokens), time_s in cells(gpu, degree, "token").items():
            assert step_s(0, 0, batch, tokens) == pytest.approx(time_s, rel=1e-12)


def test_two_h100_prefill_6100_tokens_a_second_and_decode_27_for_each_request():
    """As measured: a step of 37 ms at batch 1, and 42 ms at 16."""
    assert 512 / PAIR(1, 512, 0, 0) == pytest.approx(6100, rel=0.01)
    assert 8192 / PAIR(1, 8192, 0, 0) == pytest.approx(6100, rel=0.01)
    assert 1 / PAIR(0, 0, 1, 600) == pytest.approx(27, rel=0.01)
    assert [round(MS * PAIR(0, 0, batch, 576 * batch)) for batch in (1, 16)] == [37, 42]


def held_out(phase, gpu="h100-80gb"):
    """Return the relative error of interpolating each inner row from the others:
    (degree, batch, tokens) -> share.
    """
    missed = {}
    for degree in (2, 4, 8):
        own = cells(gpu, degree, phase)
        ends = {min(own), max(own), max(cell for cell in own if cell[0] == 1)}
        for cell in own.keys() - ends:
            rest = Surface(
                {each: time_s for each, time_s in own.items() if each != cell}
            )
            missed[degree, *cell] = rest(*cell) / own[cell] - 1
    return missed


def test_most_rows_that_the_table_has_not_are_met_within_10_pct():
    """Each row between others left out in turn; those around it are then a factor of
    four in tokens or batch apart.
    """
    page = RESULTS.read_text(encoding="utf-8")
    for gpu in ("h100-80gb", "a100-80gb"):
        within = []
        for phase, name in (("token", "decode"), ("prompt", "prefill")):
            result = held_out(phase, gpu)
            shares = {cell: abs(share) for cell, share in result.items()}
            within.append(sum(share <= 0.1 for share in shares.values()) / len(shares))
            degree, batch, tokens = max(shares, key=shares.get)
            row = (
                f"| {gpu[:4].upper()} | {name} | {round(within[-1] * len(shares))} of"
                f" {len(shares)} | {100 * median(shares.values()):.1f} % |"
                f" {100 * max(shares.values()):.0f} % (batch {batch}, {tokens:,}"
                f" tokens, {degree} GPUs) |"
            )
            assert row in page, row
        assert within[0] > 0.9 and within[1] > 0.65
    assert (
        min(held_out("token").values()) > -0.1 and max(held_out("token").values()) < 0.1
    )


LINES = {(1, 100): 1.0, (1, 300): 2.0, (4, 200): 3.0}
# one prompt takes 10 ms for 100 tokens and 30 for 200: the line is at 0 for 50
STEEP = {(1, 100): 0.01, (1, 200): 0.03, (2, 50): 0.01}


@pytest.mark.parametrize(
    ("measured", "batch", "tokens", "time_s"),
    [
        (LINES, 1, 200, 1.5),
        (LINES, 4, 200, 3.0),
        (LINES, 4, 300, 4.0),
        (LINES, 2, 200, 1.5 * (1 + 1 / 3)),
        (LINES, 1, 500, 3.0),  # beyond, along the last two
        (LINES, 1, 1, 1.0),  # never less than the shortest
        (STEEP, 2, 50, 0.01),  # by a factor of the shortest time
        (STEEP, 2, 60, 0.01),
        (STEEP, 2, 200, 0.03),
    ],
)
def test_a_larger_batch_takes_the_line_of_the_smallest_by_a_factor(
    measured, batch, tokens, time_s
):
    assert Surface(measured)(batch, tokens) == pytest.approx(time_s, rel=1e-12)


def test_a_mixed_step_adds_one_token_per_decoding_request():
    assert PAIR(1, 500, 12, 9000) == PAIR(1, 512, 0, 0)
    assert PAIR(1, 1, 32, 18432) == PAIR(0, 0, 32, 18432)  # the decoding takes longer


def test_the_table_of_the_package_is_the_median_of_the_measurements():
    if not MEASURED.exists():
        pytest.skip("the measurements are not here")
    result = {}
    for row in read_steps(MEASURED).rows:
        result.setdefault(cell(row), []).append(row.ms)
    medians = {key: median(ms) for key, ms in result.items() if "pcap" not in key[0]}
    assert {cell(row): row.ms for row in TABLE.rows} == pytest.approx(
        medians, abs=0.0006
    )


def test_rows_whose_phases_do_not_add_up_are_left_out(file):
    """64 prompts of 512 tokens do not fit on two H100: 5.7 s of steps, 84 s in all."""
    head = "hardware,prompt_size,batch_size,token_size,prompt_time,token_time,e2e_time"
    rows = (
        "h100,512,64,128,360.6,42.3,83891.5,2",
        "h100,512,2,128,155.8,37.4,4908.3,2",
        "h100,512,4,10,2,1,10,2",  # 12 and 10 ms
    )
    assert read_steps(file("\n".join([f"{head},tensor_parallel", *rows]))).rows == (
        Measured("h100", 2, "prompt", 2, 1024, 155.8),
        Measured("h100", 2, "token", 2, 1152, 37.4),
        Measured("h100", 2, "prompt", 4, 2048, 2.0),
        Measured("h100", 2, "token", 4, 2068, 1.0),
    )


SPLIT = (
    "model,hardware,prompt_size,batch_size,token_size,prompt_time,token_time,e2e_time,"
    "tensor_parallel\n"
    "llama2-70b,h100,512,2,128,155.8,37.4,4908.3,2\n"
    "bloom-176b,h100,512,2,128,300.0,97.0,12716.0,2\n"
)
PLAIN = (
    "gpu,tensor_parallel,phase,batch,tokens,ms,model\n"
    "h100,2,prompt,2,1024,155.8,llama2-70b\nh100,2,prompt,2,1024,300.0,bloom-176b\n"
    "h100,2,token,2,1152,37.4,llama2-70b\nh100,2,token,2,1152,97.0,bloom-176b\n"
)


@pytest.mark.parametrize("text", [SPLIT, PLAIN], ids=["splitwise", "plain"])
def test_the_steps_of_the_named_model_are_read(file, text):
    path = file(text)
    for model, prompt_ms, token_ms in (
        ("llama2-70b", 155.8, 37.4),
        ("bloom-176b", 300.0, 97.0),
    ):
        assert steps_of(f"{path}:model={model}").rows == (
            Measured("h100", 2, "prompt", 2, 1024, prompt_ms),
            Measured("h100", 2, "token", 2, 1152, token_ms),
        )
    several = (
        "model(=None) must be one of llama2-70b, bloom-176b: the file contains"
        " several models"
    )
    check_refused(lambda: read_steps(path), [str(path), several])
    check_refused(
        lambda: read_steps(path, "opt"), ["unknown model 'opt'", "bloom-176b"]
    )


def test_a_model_can_be_named_only_if_the_file_has_models(file):
    one = file("\n".join(SPLIT.splitlines()[:2]))
    assert steps_of(str(one)) == read_steps(one, "llama2-70b")
    check_refused(
        lambda: read_steps(file(HEAD + "h,2,prompt,1,512,9\n"), "opt"),
        ["model(='opt') must be omitted: the file has no column model"],
    )
    blank = SPLIT.replace("bloom-176b", "")
    check_refused(lambda: read_steps(file(blank)), ["one of llama2-70b, (blank)"])


def test_the_roofline_by_hand_and_the_shares_that_are_reached():
    """Two H100, 140 GB: 512 tokens take 140e9 x 512 operations; a step reads all
    weights.
    """
    whole = Roofline(efficiency=1.0).of(Service())
    assert whole(1, 512, 0, 0) == pytest.approx(140e9 * 512 / (2 * 989e12))
    assert whole(0, 0, 1, 0) == pytest.approx(140 / (2 * 3350))
    assert whole(0, 0, 1, 10_000) == pytest.approx((140 + 3.2768) / (2 * 3350))
    assert 2 * whole(1, 500, 12, 0) == Roofline().of(Service())(1, 512, 0, 0)
    reached = (
        whole(1, 512, 0, 0) / PAIR(1, 512, 0, 0),
        whole(0, 0, 1, 576) / PAIR(0, 0, 1, 576),
    )
    assert [f"{share:.2f}" for share in reached] == ["0.43", "0.57"]
    assert "with tensor parallelism 2: .43 and .57" in " ".join(
        Roofline.__doc__.split()
    )


HEAD = "gpu,tensor_parallel,phase,batch,tokens,ms\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "gpu,phase\n",
            "columns(='gpu,phase') must be a list that includes"
            " gpu,tensor_parallel,phase",
        ),
        (HEAD, "rows(=0) must be at least one"),
        (HEAD + "h,2,prompt,1,512,x\n", "line 2: ms(='x') must be a number > 0"),
        (HEAD + "h,2,prompt,1,512,0\n", "line 2: ms(=0) must be a number > 0"),
        (HEAD + "h,2,decode,1,512,9\n", "line 2: unknown phase 'decode'"),
        (HEAD + "h,0,prompt,1,512,9\n", "line 2: tensor_parallel(=0)"),
        (HEAD + "h,2,prompt,1\n", "line 2: tokens(='') must be a whole number >= 1"),
        (
            SPLIT.replace("155.8", "fast").replace("bloom-176b", "llama2-70b"),
            "line 2: prompt_time(='fast') must be a number > 0",
        ),
    ],
)
def test_a_file_that_is_not_a_table_is_rejected(file, text, said):
    path = file(text)
    check_refused(lambda: read_steps(path), [str(path), said])


test_figures_that_were_not_measured_are_rejected = refusals(
    (
        lambda: TABLE.of(Service(gpu="h200")),
        "unknown gpu 'h200' (allowed: a100-80gb, h100-80gb)",
    ),
    (
        lambda: TABLE.of(Service(6, 3)),
        "tensor_parallel(=3) must be one of those measured on",
    ),
    (
        lambda: StepTable((Measured("h100-80gb", 2, "token", 1, 9, 1.0),)).of(
            Service()
        ),
        "rows of phase prompt(=0) must be at least one for h100-80gb x 2",
    ),
    (lambda: Roofline(tflops=0), "tflops(=0) must be a number > 0"),
    (
        lambda: Roofline(efficiency=2),
        "efficiency(=2) must be a number > 0, at most 1",
    ),
)
