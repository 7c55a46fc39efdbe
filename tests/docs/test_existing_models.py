"""The page on existing models is correct: its diffs turn SimPy's examples into studies,
and draws from global generators raise the error that it shows.
"""

import random
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import cgrsp_simpy as cg

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "howto" / "existing_models.md"
TEXT = PAGE.read_text(encoding="utf-8")
DIFFS = {
    re.match(r"--- (\w+)\.py", diff).group(1): diff.splitlines()
    for diff in (
        *re.findall(r"^```diff\n(.*?)^```", TEXT, re.M | re.S),
        *(
            path.read_text(encoding="utf-8")
            for path in (TESTS.parent / "scenarios/simpy_examples").glob("*.diff")
        ),
    )
}
SCRIPTS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
MOST = 10  # new lines


def lines_of(diff, signs):
    """Return the lines of a diff with these signs, without the signs."""
    return [line[1:] for line in diff if line[:1] in signs]


def hunks_of(diff):
    """Return the hunks of a diff, each a list of lines."""
    starts = [number for number, line in enumerate(diff) if line.startswith("@@")]
    return [
        [line or " " for line in diff[start + 1 : end]]
        for start, end in zip(starts, [*starts[1:], len(diff)])
    ]


def converted(name):
    """Return an example of SimPy with its diff applied."""
    path = TESTS / "data" / "simpy_examples" / f"{name}.txt"
    text = path.read_text(encoding="utf-8")
    for hunk in hunks_of(DIFFS[name]):
        before, after = (
            "".join(f"{line}\n" for line in lines_of(hunk, signs))
            for signs in (" -", " +")
        )
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


def test_the_page_converts_three_examples():
    assert sorted(DIFFS) == ["carwash", "gas_station_refuel", "movie_renege"]


@pytest.mark.parametrize("name", DIFFS)
def test_an_example_becomes_a_study_by_at_most_ten_lines(name):
    hunks = hunks_of(DIFFS[name])
    removed = {line.strip() for hunk in hunks for line in lines_of(hunk, "-")}
    added = [line.strip() for hunk in hunks for line in lines_of(hunk, "+")]
    written = [line for line in added if line and line not in removed]
    assert 5 < len(written) <= MOST
    assert not re.search(r"\brandom\.", converted(name))
    assert sum("draw(" in line for line in written) >= 2


@pytest.mark.parametrize("name", DIFFS)
def test_a_converted_example_runs_as_a_study(name, tmp_path, capsys):
    script = tmp_path / f"{name}.py"
    text = converted(name)
    assert text.count("range(10)") == 1
    script.write_text(text.replace("range(10)", "range(2)"), encoding="utf-8")
    runpy.run_path(str(script))
    printed = capsys.readouterr().out
    assert ": mean of 2 seeds" in printed
    assert "failed" not in printed


def run_script(text, folder):
    """Run a script and return its names."""
    path = folder / "script.py"
    path.write_text(text, encoding="utf-8")
    return runpy.run_path(str(path), run_name="__main__")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("number", range(len(SCRIPTS)))
def test_a_script_of_the_page_is_a_study_without_failures(number, tmp_path, capsys):
    run_script(SCRIPTS[number], tmp_path)
    printed = capsys.readouterr().out
    assert ": mean of 10 seeds" in printed
    assert "failed" not in printed
    assert "nurses_wait" in printed


@pytest.mark.slow
def test_only_streams_by_name_give_alternatives_the_same_customers(tmp_path):
    [text] = (script for script in SCRIPTS if "default_rng" in script)
    names = run_script(text, tmp_path)
    same = {}
    for name in ("as_it_was", "with_streams"):
        study = cg.compare(names[name], [{"nurses": 2}, {"nurses": 3}], seeds=[1])
        arrivals = [
            study.run(policy, 1).requests["made_s"].tolist()
            for policy in study.policies
        ]
        same[name] = arrivals[0] == arrivals[1]
    assert same == {"as_it_was": False, "with_streams": True}


def one_of(draw_time):
    """Return a model that draws its only time in this way."""

    @cg.model
    def clinic(env, nurses=2):
        env.process(iter_of(env, draw_time))
        env.run()
        return {"end": env.now}

    return clinic


def iter_of(env, draw_time):
    yield env.timeout(draw_time())


@pytest.mark.parametrize(
    ("draw_time", "module"),
    [
        (lambda: random.expovariate(1.0), "random"),
        (lambda: np.random.exponential(1.0), "numpy.random"),  # noqa: NPY002
    ],
)
def test_draws_from_a_global_generator_give_the_message_shown(draw_time, module):
    study = cg.compare(one_of(draw_time), [{"nurses": 2}], seeds=range(2))
    assert len(study.failures) == 2
    message = re.search(r"^PolicyError: .*$", TEXT, re.M)[0]
    assert message.replace("module random", f"module {module}") in str(study)
