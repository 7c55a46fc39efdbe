"""LLM requests: the printed workload, logs of real ones, and what is wrong with a file."""

from functools import partial
from pathlib import Path

import pytest

from cgrsp_simpy.llm import paper as llm
from cgrsp_simpy.llm.requests import (
    QWEN3,
    LlmCluster,
    LlmModel,
    RequestList,
    printed_requests,
    read_requests,
)
from cgrsp_simpy.model.checks import InputError

SMALL = LlmModel("small", 1.0)

PAPER = Path(__file__).parents[3] / "shared" / "papers" / "hgsp.txt"
HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_the_rate_of_a_request_is_that_of_a_batch_of_10_to_50():
    """What is said of owned GPUs: Section VI.A gives 100 to 500 tokens/s for a single
    request that decodes.
    """
    batch = [LlmCluster().decode_tokens_per_s / alone for alone in (500, 100)]
    said = "the 5000 that it gives to each request are those of a batch of {:g} to {:g}".format(
        *batch
    )
    assert said in " ".join(llm.__doc__.split())
    if PAPER.is_file():
        assert (
            r"processing tokens at $\sim 100\text{--}500$ tokens/s (single request)"
            in PAPER.read_text(encoding="utf-8")
        )


def test_what_the_scenario_says_of_its_log_is_what_it_prints():
    """Mean wait and 99th percentile on 16 GPUs, work-conserving; in waves both are longer."""
    script = Path(__file__).parents[2] / "scenarios" / "llm_requests.py"
    said = " ".join(script.read_text(encoding="utf-8").split('"""')[1].split())
    rows = {
        tuple(line.split()[:3]): line.split()[3:7]
        for line in script.with_suffix(".out").read_text(encoding="utf-8").splitlines()
    }
    mean, p99 = (
        [float(rows["16", "work-conserving", name][column]) for name in ("wsrpt", "fifo")]
        for column in (0, 3)
    )
    assert "all wait {:.0f} s on average in place of FIFO's {:.0f} s".format(*mean) in said
    assert (
        "One in a hundred waits over {:.0f} s under WSRPT, {:.0f} s under FIFO".format(*p99) in said
    )
    for scheduler in ("fifo", "wsrpt"):
        for column in (0, 3):
            assert float(rows["16", "waves", scheduler][column]) > float(
                rows["16", "work-conserving", scheduler][column]
            )


def test_requests_are_put_in_order_of_arrival_with_all_that_is_theirs():
    models = tuple(LlmModel(name, 1) for name in "abc")
    found = RequestList([2, 0, 2], [20, 5, 21], [7, 8, 9], [2, 1, 3], [4, 2, 3], models)
    columns = (found.arrival_s, found.prompt_tokens, found.output_tokens, found.weight, found.gpus)
    assert [column.tolist() for column in columns] == [
        [0, 2, 2],
        [5, 20, 21],
        [8, 7, 9],
        [1, 2, 3],
        [2, 4, 3],
    ]
    assert found.models == (models[1], models[0], models[2])


def test_the_printed_workload_and_cluster():
    """Section VI.C: 20 requests at 0, tau = 2, 8 of weight 1 and 2000 tokens, 12 of weight 10 and
    500; 16 H100, 15 GB.
    """
    requests, cluster = printed_requests(), LlmCluster()
    assert (cluster.gpus, cluster.gpu, cluster.memory_gb) == (16, "H100", 80)
    rows = list(
        zip(
            requests.arrival_s,
            requests.prompt_tokens + requests.output_tokens,
            requests.weight,
            requests.gpus,
        )
    )
    assert rows == [(0, 2000, 1, 2)] * 8 + [(0, 500, 10, 2)] * 12
    assert {(model.name, model.memory_gb / 2) for model in requests.models} == {("Qwen3", 15)}


# ---- logs ----


@pytest.fixture
def log_of(file):
    return partial(file, name="log.csv")


GOOD = "2023-11-16 18:17:03.9799600,1000,10\n2023-11-16 18:17:04.9799600,1001,0\n"


def test_a_log_gives_arrivals_from_the_first_and_tokens_and_the_rest_as_asked(log_of):
    requests = read_requests(log_of(HEAD + GOOD), weight="short", gpus=4, model=SMALL)
    assert requests.arrival_s.tolist() == [0, 1]
    assert (requests.prompt_tokens.tolist(), requests.output_tokens.tolist()) == (
        [1000, 1001],
        [10, 0],
    )
    assert (requests.weight.tolist(), requests.gpus.tolist(), requests.models) == (
        [10, 1],
        [4, 4],
        (SMALL, SMALL),
    )
    plain = read_requests(log_of(HEAD + GOOD))
    assert (plain.weight.tolist(), plain.gpus.tolist(), plain.models) == (
        [1, 1],
        [2, 2],
        (QWEN3, QWEN3),
    )


# A row that is none -> what is said of it; it is line 4
BAD_ROWS = [
    ("yesterday,5,5", "TIMESTAMP(='yesterday')"),
    ("2023-11-16 18:17:05,-5,5", "ContextTokens(='-5') must be a whole number"),
    ("2023-11-16 18:17:05,5,2.5", "GeneratedTokens(='2.5') must be a whole number"),
    ("2023-11-16 18:17:05,5,", "GeneratedTokens(='') must be a whole number"),
    (
        "2023-11-16 18:17:05,0,0",
        "GeneratedTokens(='0') must be at least 1 where the prompt has no token",
    ),
    (
        "2023-11-16 18:17:05,5," + "9" * 16,
        "GeneratedTokens(='9999999999999999') must be a whole number >= 0 and at most 1e+15",
    ),
    ("2023-11-16 18:17:05,5", "2 fields, not 3"),  # a field short
    ("2023-11-16 18:17:05,5,5,5", "4 fields, not 3"),  # a field too many
]


@pytest.mark.parametrize(("row", "said"), BAD_ROWS)
def test_a_bad_row_is_named_by_its_line_and_left_out_or_refused(log_of, caplog, row, said):
    path = log_of(HEAD + GOOD + row + "\n" + GOOD)
    assert read_requests(path).requests == 4
    assert f"log.csv: 1 bad row: line 4: {said}" in caplog.text
    with pytest.raises(InputError) as refused:
        read_requests(path, strict=True)
    assert f"line 4: {said}" in str(refused.value)


def test_a_log_out_of_order_is_sorted_with_a_note_or_refused(log_of, caplog):
    path = log_of(HEAD + GOOD + "2023-11-16 18:17:02.979960,7,7\n")
    requests = read_requests(path)
    assert (requests.arrival_s.tolist(), requests.prompt_tokens.tolist()) == (
        [0, 1, 2],
        [7, 1000, 1001],
    )
    assert "out of order, first at line 4" in caplog.text
    with pytest.raises(InputError, match="line 4"):
        read_requests(path, strict=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "log.csv: the file is empty"),
        (
            "TIMESTAMP,ContextTokens\n",
            "line 1: no column GeneratedTokens (columns: 'TIMESTAMP, ContextTokens')",
        ),
        (HEAD, "log.csv: no usable job (bad rows: 0; left out: none)"),
        (b"\xff\xfe\x00", "log.csv: not a text file in UTF-8"),
        (HEAD + GOOD + '"', "log.csv: line 4: not CSV (unexpected end of data)"),
    ],
)
def test_a_file_that_is_no_log_is_refused(log_of, text, said):
    with pytest.raises(InputError) as refused:
        read_requests(log_of(text))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight": "shrt"}, "unknown law of weights 'shrt'; did you mean 'short'?"),
        ({"gpus": 0}, "gpus(=0) must be a whole number >= 1"),
        ({"strict": "no"}, "strict(='no') must be true or false"),
    ],
)
def test_options_of_the_reader_that_are_not_allowed(log_of, options, said):
    with pytest.raises(InputError) as refused:
        read_requests(log_of(HEAD + GOOD), **options)
    assert said in str(refused.value)


def test_a_log_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: No such file"):
        read_requests(tmp_path / "none.csv")
