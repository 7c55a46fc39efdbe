"""LLM requests: recorded and generated ones, and errors in either."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from support import check_refused, refusals

from cgrsp_simpy.base.streams import Draw
from cgrsp_simpy.llm.requests import MOST_DRAWN, Offered, RequestList, read_requests

HEAD = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_requests_are_put_in_order_of_arrival_with_all_that_is_theirs():
    result = RequestList([2, 0, 2], [20, 5, 21], [7, 8, 9], [2, 1, 3])
    columns = (
        result.arrival_s,
        result.prompt_tokens,
        result.output_tokens,
        result.weight,
    )
    assert [column.tolist() for column in columns] == [
        [0, 2, 2],
        [5, 20, 21],
        [8, 7, 9],
        [1, 2, 3],
    ]
    assert result.request_names == ("2", "1", "3")


def test_drawn_requests_have_the_means_and_the_variation_that_are_asked_for():
    """Within four standard errors of 40,000 draws; a lognormal distribution with the
    mean as its median would be 12 % off.
    """
    offered = Offered(40_000, 4.0, 900, 300, 0.5, "short")
    result = offered.draw(Draw(1))
    error = 4 / 40_000**0.5
    assert np.diff(result.arrival_s).mean() == pytest.approx(1 / 4, rel=error)
    for column, mean in ((result.prompt_tokens, 900), (result.output_tokens, 300)):
        assert column.mean() == pytest.approx(mean, rel=0.5 * error)
        assert column.std() / column.mean() == pytest.approx(0.5, rel=0.05)
    assert (result.weight == np.where(result.prompt_tokens <= 1000, 10, 1)).all()


def test_drawn_requests_may_be_equal_and_respect_the_stated_maximum():
    equal = Offered(9, 1.0, 100.4, 7, 0).draw(Draw(1))
    assert set(equal.prompt_tokens.tolist()) == {100}
    assert set(equal.output_tokens.tolist()) == {7}
    wide = Offered(2000, 1.0, 3000, 1, 3.0).draw(Draw(1))
    assert (wide.prompt_tokens.max(), wide.output_tokens.min()) == (MOST_DRAWN, 1)
    assert f"cut to {MOST_DRAWN} tokens" in " ".join(Offered.__doc__.split())


ONE = RequestList([0], [10], [1], [1])


test_invalid_requests_are_rejected = refusals(
    (lambda: RequestList([], [], [], []), "requests contains no requests"),
    (
        lambda: RequestList([0, 0], [5, 5], [1, 1], [1, 0]),
        "weight of request 2(=0.0) must be",
    ),
    (
        lambda: replace(ONE, arrival_s=[-1]),
        "arrival_s of request 1(=-1.0) must be a number",
    ),
    (
        lambda: replace(ONE, prompt_tokens=[0]),
        "prompt_tokens of request 1(=0.0) must be a wh",
    ),
    (
        lambda: replace(ONE, output_tokens=[0.5]),
        "output_tokens of request 1(=0.5) must be a",
    ),
    (lambda: replace(ONE, prompt_tokens=[1e16]), "a whole number from 1 to 1e+15"),
    (lambda: replace(ONE, weight=[1, 1]), "shape of weight(=(2,)) must be (1,)"),
    (
        lambda: replace(ONE, request_names="ab"),
        "request_names(='ab') must be a list",
    ),
    (
        lambda: replace(ONE, request_names=["a", "b"]),
        "number of request_names(=2) must be 1",
    ),
    (lambda: Offered(0), "requests(=0) must be a whole number >= 1"),
    (lambda: Offered(rate_per_s=0), "rate_per_s(=0) must be a number >= 1e-06"),
    (
        lambda: Offered(prompt_tokens=0.5),
        "prompt_tokens(=0.5) must be a number >= 1",
    ),
    (  # its draws would be cut
        lambda: Offered(output_tokens=8193),
        "output_tokens(=8193) must be a number >= 1, at most 8192",
    ),
    (lambda: Offered(cv=-1), "cv(=-1) must be a number >= 0"),
    (lambda: Offered(cv=1e200), "cv(=1e+200) must be a number >= 0, at most 100"),
    (
        lambda: Offered(weight="shrt"),
        "unknown weight 'shrt'; did you mean 'short'?",
    ),
)


# ---- logs ----


@pytest.fixture
def log_of(file):
    return partial(file, name="log.csv")


GOOD = "2023-11-16 18:17:03.9799600,1000,10\n2023-11-16 18:17:04.9799600,1001,0\n"


def test_a_log_gives_arrivals_and_tokens_and_the_requested_weights(log_of):
    requests = read_requests(
        log_of(HEAD + GOOD), weight="short", window="2023-11-16 18:17:2023-11-17"
    )
    assert requests.arrival_s.tolist() == [0, 1]
    tokens = requests.prompt_tokens.tolist(), requests.output_tokens.tolist()
    assert tokens == ([1000, 1001], [10, 1])  # no token counts as one
    assert requests.weight.tolist() == [10, 1]
    assert requests.request_names == ("2", "3")
    assert read_requests(log_of(HEAD + GOOD)).weight.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "told"), [("log.csv", "log"), ("a.b.csv", "a.b"), ("log", "log")]
)
def test_requests_of_a_log_are_named_after_its_file(file, name, told):
    assert read_requests(file(HEAD + GOOD, name=name)).name == told


# A bad row -> the message on it; it is line 4
BAD_ROWS = [
    ("yesterday,5,5", "TIMESTAMP(='yesterday')"),
    ("2023-11-16 18:17:05,-5,5", "ContextTokens(='-5') must be a whole number"),
    ("2023-11-16 18:17:05,5,2.5", "GeneratedTokens(='2.5') must be a whole number"),
    ("2023-11-16 18:17:05,5,", "GeneratedTokens(='') must be a whole number"),
    (
        "2023-11-16 18:17:05,0,0",
        "GeneratedTokens(='0') must be at least 1 if the prompt has no token",
    ),
    (
        "2023-11-16 18:17:05,5," + "9" * 16,
        (
            "GeneratedTokens(='9999999999999999') must be a whole number >= 0 and at"
            " most 1e+15"
        ),
    ),
    ("2023-11-16 18:17:05,5", "2 fields, not 3"),  # a field short
    ("2023-11-16 18:17:05,5,5,5", "4 fields, not 3"),  # a field too many
]


@pytest.mark.parametrize(("row", "said"), BAD_ROWS)
def test_a_bad_row_is_reported_by_line_and_skipped_or_rejected(
    log_of, caplog, row, said
):
    path = log_of(HEAD + GOOD + row + "\n" + GOOD)
    assert read_requests(path).requests == 4
    assert f"log.csv: 1 bad row: line 4: {said}" in caplog.text
    check_refused(lambda: read_requests(path, strict=True), [f"line 4: {said}"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "log.csv: the file is empty"),
        (
            "TIMESTAMP,ContextTokens\n",
            "it resembles the format azure, without GeneratedTokens",
        ),
        (HEAD, "log.csv: no usable job (bad rows: 0; left out: none)"),
        (b"\xff\xfe\x00", "log.csv: not a text file in UTF-8"),
        (HEAD + GOOD + '"', "log.csv: line 4: not CSV (unexpected end of data)"),
    ],
)
def test_a_file_that_is_not_a_log_is_rejected(log_of, text, said):
    check_refused(lambda: read_requests(log_of(text)), [said])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"weight": "shrt"},
            "unknown distribution of weights 'shrt'; did you mean 'short'?",
        ),
        ({"strict": "no"}, "strict(='no') must be true or false"),
    ],
)
def test_options_of_the_reader_that_are_not_allowed(log_of, options, said):
    check_refused(lambda: read_requests(log_of(HEAD + GOOD), **options), [said])
