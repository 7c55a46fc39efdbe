"""Sentences of the how-to on a replayed log agree with the output of its commands."""

import json
import re
from pathlib import Path

import pytest
from support import output

HOWTO = Path(__file__).parents[2] / "docs" / "howto" / "replay.md"
TEXT = " ".join(HOWTO.read_text(encoding="utf-8").split())
COMMANDS = [
    re.search(rf"venv/bin/cgrsp ({action} .*mine.swf.*)", HOWTO.read_text("utf-8"))[1]
    for action in ("run", "replay")
]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The output of the two commands, as JSON."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("replay"))
        run, replay = COMMANDS
        capture = {}

        def printed(capsys):
            if not capture:
                output(capsys, *run.split())
                capture.update(
                    json.loads(output(capsys, *replay.split(), "--format", "json"))
                )
            return capture

        yield printed


def hours(seconds):
    return f"{abs(seconds) / 3600:.1f}"


def test_easy_is_named_with_the_distance_of_the_next_scheduler(found, capsys):
    answer = found(capsys)
    recorded, best, following, *_ = answer["figures"]
    assert answer["best"] == best["scheduler"] == "easy"
    assert best["unexplained_pct"] == pytest.approx(0, abs=1e-6)
    assert following["scheduler"] == "conservative"
    low, high = (
        f"{following[f'wait_difference_s_{end}'] / 3600:.1f}" for end in ("low", "high")
    )
    assert (
        f"EASY agrees at {best['agreement_pct']:.0f} % of the moments, and its"
        f" simulation reproduces every recorded wait (mean {hours(best['wait_s'])}"
        " hours). Conservative backfilling, the next best, agrees at"
        f" {following['agreement_pct']:.1f} %, and the interval of its mean difference,"
        f" {low} to {high} hours, includes 0; but the differences add up to"
        f" {following['unexplained_pct']:.0f} % of the recorded waits." in TEXT
    )
    assert best["wait_s"] == pytest.approx(recorded["wait_s"])


def test_what_if_agrees_with_the_text(found, capsys):
    node, conservative, shallow = found(capsys)["what_if"]
    mean, low, high = (
        {
            name: each[f"wait_difference_s{end}"]
            for name, each in zip("ncs", (node, conservative, shallow))
        }
        for end in ("", "_low", "_high")
    )
    assert high["n"] < 0 and low["c"] < 0 < high["c"] and low["s"] > 0
    assert (
        f"shortens the mean wait by {hours(mean['n'])} hours (95 % interval"
        f" {hours(high['n'])} to {hours(low['n'])}, block" in TEXT
    )
    assert (
        f"is not significant (-{hours(low['c'])} to {hours(high['c'])} hours)" in TEXT
    )
    assert (
        f"lengthens it by {hours(mean['s'])} hours ({hours(low['s'])} to"
        f" {hours(high['s'])})" in TEXT
    )
