"""Each lecture prints its .out file and draws its figure.

`PYTHONPATH=tests python tests/docs/test_lectures.py` writes both.
"""

import ast
import csv
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from fractions import Fraction
from functools import reduce
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.testing.compare import compare_images
from support import check_refused, drawn_with
from support import output as output_of

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.exercises import EXERCISES
from cgrsp_simpy.exercises.exercise import Mistake
from cgrsp_simpy.exercises.exercise import number as judge_of

FOLDER = Path(__file__).parents[2] / "scenarios" / "lectures"
LECTURES = sorted(FOLDER.glob("[0-9]*.py"))
NUMBERS = list(range(1, len(LECTURES) + 1))
LAB = FOLDER / "lab_own_log.py"
ANSWERS = sorted((FOLDER.parent / "answers").glob("*.py"))


def lecture(script):
    """The number of a lecture."""
    return int(script.name[:2])


def picture(script):
    """The file of its figure, in the folder where it is run."""
    return Path("pictures") / f"lecture_{lecture(script)}.png"


def output(script, folder):
    environment = {
        **os.environ,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONWARNINGS": "error",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SHORT = {1, 2, 4, 5, 7, 8}  # less than 8 s each


def of_lecture(number):
    """Return the numbers of its exercises."""
    return [each for each in EXERCISES if each.split(".")[0] == str(number)]


def test_lectures_are_numbered_each_with_answers():
    assert [lecture(script) for script in LECTURES] == NUMBERS
    assert [script.name for script in ANSWERS] == [script.name for script in LECTURES]


def is_as_before(drawn):
    """Return whether a picture equals the stored one; False if another Matplotlib drew
    it.
    """
    if not drawn_with(FOLDER / drawn.name)[1]:
        return True
    expected = shutil.copy(FOLDER / drawn.name, drawn.parent / "expected.png")
    return compare_images(str(expected), str(drawn), tol=5) is None


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            script,
            marks=pytest.mark.slow if lecture(script) in SHORT else pytest.mark.long,
        )
        for script in LECTURES
    ],
    ids=lambda script: script.stem,
)
def test_a_lecture_prints_its_out_file_and_draws_its_figure(script, tmp_path):
    assert output(script, tmp_path) == script.with_suffix(".out").read_text(
        encoding="utf-8"
    )
    assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*.*")] == [
        picture(script)
    ]
    assert is_as_before(tmp_path / picture(script))


@pytest.mark.slow
def test_the_lab_prints_its_out_file_on_its_sample(tmp_path):
    assert output(LAB, tmp_path) == LAB.with_suffix(".out").read_text(encoding="utf-8")
    drawn = tmp_path / "pictures" / "lab_own_log.png"
    assert [*tmp_path.rglob("*.*")] == [drawn]
    assert is_as_before(drawn)


@pytest.mark.slow
def test_the_lab_runs_on_a_log_with_silent_hours_and_other_columns(tmp_path):
    """Two days, a job every half hour from 9 to 17 o'clock."""
    starts = [
        f"2026-05-0{day} {hour:02}:{m}0"
        for day in "456"
        for hour in range(9, 17)
        for m in "03"
    ]
    rows = [f"{start}:00,{600 + 10 * n}" for n, start in enumerate(starts)]
    (tmp_path / "mine.csv").write_text(
        "\n".join(["when,took", *rows]) + "\n", encoding="utf-8"
    )
    text = LAB.read_text(encoding="utf-8")
    for line, own in (
        ("LOG = SAMPLE", 'LOG = "mine.csv"'),
        ("COLUMNS = {}", 'COLUMNS = {"submit_s": "when", "service_s": "took"}'),
    ):
        assert text.count(f"\n{line}  #") == 1
        text = text.replace(f"\n{line}  #", f"\n{own}  #")
    (tmp_path / "lab.py").write_text(text, encoding="utf-8")
    printed = output(tmp_path / "lab.py", tmp_path)
    assert printed.startswith("48 jobs in 2.3 days\n")
    assert "true rate" not in printed and "nan" not in printed
    assert printed.count("  so ") == 2


@pytest.mark.parametrize("script", LECTURES, ids=lambda script: script.stem)
def test_a_lecture_is_short_and_has_its_parts(script):
    text = script.read_text(encoding="utf-8")
    lines = text.splitlines()
    logical = sum(
        token.type == tokenize.NEWLINE
        for token in tokenize.generate_tokens(StringIO(text).readline)
    )
    assert logical <= 230
    finds = ast.get_docstring(ast.parse(text)).splitlines()[0]
    assert text.startswith('"""') and len(finds) > 40
    assert text.count("# %% [markdown]") >= 2
    assert sum(line == "# %%" or line.startswith("# %% ") for line in lines) >= 4
    headings = re.findall("^# ## (.*)$", text, re.MULTILINE)
    assert {"Three misconceptions", "Five questions", "You can now"} <= {*headings}
    assert headings[-2:] == ["References", "Exercises"]
    assert text.count("<details>") == text.count("</details>") > 0
    for exercise in of_lecture(lecture(script)):
        assert f"# **{exercise}** " in text.split("## Exercises")[1]


@pytest.mark.slow
@pytest.mark.parametrize("script", ANSWERS, ids=lambda script: script.stem)
def test_answers_are_right(script, tmp_path):
    printed = output(script, tmp_path)
    assert printed == script.with_suffix(".out").read_text(encoding="utf-8")
    judged = [line for line in printed.splitlines() if line.endswith(": right")]
    assert [line.split(":")[0] for line in judged] == of_lecture(lecture(script))
    assert not list(tmp_path.iterdir())


def sections(script):
    """Return the parts of a lecture in minutes.csv: its start, and its headings."""
    text = script.read_text(encoding="utf-8")
    headings = re.findall("^# ## (.*)$", text, re.MULTILINE)
    first = text.split("# %% [markdown]\n")[1]
    return headings if first.startswith("# ## ") else ["Opening", *headings]


def test_minutes_are_given_by_section_and_each_hour_has_at_most_sixty():
    with (FOLDER / "minutes.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    given = {
        number: [r for r in rows if int(r["lecture"]) == number] for number in NUMBERS
    }
    # in order, and no others
    assert [row for own in given.values() for row in own] == rows
    for script, own in zip(LECTURES, given.values()):
        assert [row["section"] for row in own] == sections(script)
        assert 45 <= sum(int(row["minutes"]) for row in own) <= 60
        assert min(int(row["minutes"]) for row in own) > 0


# ---- exercises ----


def test_every_lecture_has_two_to_four_exercises():
    for number in NUMBERS:
        result = of_lecture(number)
        assert result == [f"{number}.{n}" for n in range(1, len(result) + 1)]
        assert len(result) in (2, 3, 4)
    for number, exercise in EXERCISES.items():
        assert exercise.question.endswith(("?", ".", ")")), number


OF_CODE = [
    number
    for number, each in EXERCISES.items()
    if each.of()[1].__qualname__.startswith("code.")
]


@pytest.mark.parametrize(
    "number",
    [
        # the right answer takes seconds
        pytest.param(
            each,
            marks=[pytest.mark.slow] * (each in ("4.2", "5.1", "6.1", "13.1", "13.2")),
        )
        for each in EXERCISES
    ],
)
def test_wrong_answers_get_the_same_message_on_both_sides_without_a_number(
    number,
):
    messages = {
        cg.exercises.check(number, answer).message for answer in (-1e9, -7.7, 1e8, 1e9)
    }
    assert len(messages) == 1 or number in OF_CODE
    assert not messages & {"", "right"}
    assert not re.search(
        r"too (high|low)|more than|less than|fewer", " ".join(messages)
    )


@pytest.mark.parametrize("number", [each for each in EXERCISES if each not in OF_CODE])
def test_the_right_answer_is_taken_to_three_figures_or_more_and_another_is_not(number):
    judge = EXERCISES[number].of("anyone")[1]
    held = dict(
        zip(judge.__code__.co_freevars, (c.cell_contents for c in judge.__closure__))
    )
    exact = held["answer"]()
    third = 10.0 ** (
        math.floor(math.log10(abs(exact))) - 2
    )  # a unit of the third figure
    for figures in (3, 4, 5, 6, 17):
        assert cg.exercises.check(number, float(f"{exact:.{figures}g}"), "anyone")
    for wrong in (exact + third, exact - third):
        assert bool(judge(wrong)) == (third > held["tolerance"] * abs(exact)), wrong


NO_NUMBERS = (
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    10**400,
    10**5000,
    1j,
    3 + 0j,
)
NO_NUMBERS += ("what?", "3.5", None, True, [1.0], np.array([1.0]))
NO_NUMBERS += (reduce(lambda inner, _: [inner], range(10**5), []),)  # nested deeply


@pytest.mark.parametrize(
    "answer", NO_NUMBERS, ids=lambda answer: f"{type(answer).__name__}"
)
def test_a_value_that_is_not_a_number_gives_a_one_line_error(answer):
    verdict = cg.exercises.check(1.1, answer, "anyone")
    assert not verdict
    assert verdict.message.startswith("answer(=")
    assert verdict.message.endswith(") must be a number (min)")
    assert "\n" not in verdict.message and len(verdict.message) < 300


@pytest.mark.parametrize("answer", [np.float64(2.0), np.int64(2), 2, Fraction(4, 2)])
def test_numbers_of_all_kinds_are_taken(answer):
    assert judge_of_four()(2 * answer) == ""


@settings(max_examples=200, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.floats(3, 9))
def test_answers_do_not_reveal_the_direction_of_an_error(answer):
    """Any answer that is neither right nor a common mistake gets the same message."""
    message = judge_of_four()(answer)
    assert (message == "") == (abs(answer - 4) <= 0.05 * 4)
    assert (message == "half of that") == (abs(answer - 8) <= 0.05 * 8)
    assert message in ("", "half of that", "not yet (minutes, to 5 %): count them")


def judge_of_four():
    twice = Mistake(lambda: 8.0, "half of that")
    return judge_of(lambda: 4.0, "minutes", 0.05, twice, way="count them")


def test_a_verdict_has_a_text():
    right = cg.exercises.Verdict(True, "right")
    assert right
    assert str(right) == repr(right) == "right"
    fails = cg.exercises.check(6.2, lambda u: u.nothing)
    assert fails.message.startswith("AttributeError: ")
    for answer in (0.5, NO_NUMBERS[-1]):
        message = cg.exercises.check(6.2, answer, "\ud800").message
        assert "without calling it, not " in message
    assert cg.exercises.check(6.2, sys.exit).message.startswith("SystemExit: ")
    check_refused(lambda: cg.exercises.check(99.1, 0), ["unknown exercise '99.1'"])


# ---- the command ----


def test_the_command_lists_shows_and_copies(capsys, tmp_path):
    assert main(["lectures"]) == 0
    listed = capsys.readouterr().out.splitlines()
    names = [line.split()[0] for line in listed]
    assert names[: len(NUMBERS) + 1] == [*map(str, NUMBERS), "lab"]  # then assignments
    assert main(["lectures", "3"]) == 0
    assert capsys.readouterr().out == LECTURES[2].read_text(encoding="utf-8")
    assert main(["lectures", "3", "--copy", str(tmp_path / "mine")]) == 0
    copied = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert all(
        path.read_bytes() == (FOLDER / path.relative_to(tmp_path / "mine")).read_bytes()
        for path in copied
    )
    assert [path.parent.name for path in copied] == ["mine"] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], f"unknown lecture 'x' (allowed: {', '.join(map(str, NUMBERS))}, lab"),
        (
            ["--copy", "x"],
            "--copy(='x') must be given together with the number of a lecture",
        ),
        (
            ["--slides", "x"],
            "--slides(='x') must be given together with the number of a lecture",
        ),
    ],
)
def test_bad_input_gives_a_one_line_error(capsys, arguments, message):
    assert main(["lectures", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cgrsp lectures: {message}")


def test_the_lab_is_copied_without_answers(capsys, tmp_path):
    assert main(["lectures", "lab", "--copy", str(tmp_path)]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names == ["lab_own_log.py", "lab_own_log.out", "lab_own_log.png"]


def test_a_students_copy_is_kept_and_missing_files_are_added(capsys, tmp_path, file):
    mine = file("my notes", LECTURES[0].name)
    kept, *others = output_of(capsys, "lectures", 1, "--copy", tmp_path).splitlines()
    assert kept == f"{mine} (changed since it was copied: kept)"
    assert sorted(map(str, tmp_path.iterdir())) == sorted([str(mine), *others])
    assert len(others) == 2 and mine.read_text(encoding="utf-8") == "my notes"


if __name__ == "__main__":
    for each in (*LECTURES, LAB, *ANSWERS):
        with tempfile.TemporaryDirectory() as place:
            each.with_suffix(".out").write_text(output(each, place), encoding="utf-8")
            for drawn in Path(place).rglob("*.png"):
                shutil.copy(drawn, FOLDER / drawn.name)
