"""Lectures and modelling tasks as assignments: what they contain, and grades by
nbgrader.
"""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import check_bad_input, outcome, output

from cgrsp_simpy.cli import main, teaching
from cgrsp_simpy.exercises import EXERCISES, pages, question
from cgrsp_simpy.exercises.pages import assignment_text

ROOT = Path(__file__).parents[2]
LECTURES = sorted((ROOT / "scenarios" / "lectures").glob("[0-9]*.py"))
ANSWERS = ROOT / "scenarios" / "answers"
PAGE = (ROOT / "docs" / "howto" / "lectures.md").read_text(encoding="utf-8")
BAKERY = '''\
"""Bread for one oven.

(Assignment: a bakery)
"""

# %% [markdown]
# Write `wait(arrivals, work)`: the mean wait at one oven.

# %%
OVENS = 1


# %%
def wait(arrivals, work):
    """Return the mean wait."""
    ### BEGIN SOLUTION
    free = total = 0
    for arrival in arrivals:
        total += max(free - arrival, 0)
        free = max(free, arrival) + work
    return total / len(arrivals)
    ### END SOLUTION


# %% The tests
# 2 points
assert wait([0, 10], 5) == 0

# %%
# 3 points
assert wait([0, 10], 15) == 2.5
### BEGIN HIDDEN TESTS
assert wait([0, 1, 50], 5) == 4 / 3
### END HIDDEN TESTS

# %% [markdown]
# Is a second oven worth it?

# %% [markdown]
# <!-- 4 points -->
# Yes, if bread is sold warm.
'''


# an answer and the points of its test in one cell
GRADED = """
# %%
# 1 point
### BEGIN SOLUTION
ovens = 2
### END SOLUTION
"""


def text_of(number):
    return LECTURES[number - 1].read_text(encoding="utf-8")


def answers_to(number):
    return (ANSWERS / LECTURES[number - 1].name).read_text(encoding="utf-8")


def cells_of(text):
    """Cells by id, after nbformat's validation."""
    import nbformat

    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    return {cell["id"]: cell for cell in notebook.cells}


def marks(cell):
    """Return what nbgrader's metadata set: words, and points."""
    metadata = cell.metadata.get("nbgrader", {})
    assert (metadata.get("schema_version", 3), metadata.get("task", False)) == (
        3,
        False,
    )
    return [
        *(word for word in ("grade", "solution", "locked") if metadata.get(word)),
        *([metadata["points"]] if "points" in metadata else []),
    ]


# ---- notebooks ----


@pytest.mark.parametrize("number", range(1, 19))
def test_each_exercise_of_a_lecture_has_an_answer_and_a_test_worth_two_points(
    number, notebooks
):
    cells = cells_of(assignment_text(text_of(number)))
    names = [name for name in EXERCISES if name.split(".")[0] == str(number)]
    for name in names:
        key = name.replace(".", "_")
        assert cells[f"exercise_{key}"].source.startswith(f"**{name}** ")
        expected = f"print(cg.exercises.question({name}, student))"
        shown = cells[f"question_{key}"].source if f"question_{key}" in cells else ""
        assert (shown == expected) == (EXERCISES[name].numbers is not None)
        assert marks(cells[f"answer_{key}"]) == ["solution"]
        assert marks(cells[f"test_{key}"]) == ["grade", "locked", 2]
        assert f"check({name}, answer_{key}, student" in cells[f"test_{key}"].source
    assert sum("grade" in marks(cell) for cell in cells.values()) == len(names)
    whole = "\n".join(cell.source for cell in cells.values())
    assert '"your name")' not in whole
    assert whole.count("### BEGIN SOLUTION\nraise NotImplementedError\n") == (
        1 + len(names)
    )
    solved = cells_of(assignment_text(text_of(number), answers_to(number)))
    assert solved.keys() == cells.keys()
    assert "NotImplementedError" not in "".join(c.source for c in solved.values())
    assert "check(" not in "".join(solved[id].source for id in solved if "answer" in id)
    # each answer has the name that is assigned below it
    for id, cell in solved.items():
        if id.startswith("answer_"):
            name = cell.source.split(" = ")[-1]
            assert re.search(rf"\b{name}\b", cell.source.split("### END")[0])


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            number, marks=pytest.mark.slow if number == 1 else pytest.mark.long
        )
        for number in range(1, 19)
    ],
)
def test_with_answers_all_tests_of_a_lecture_pass(number, tmp_path, teach):
    text = assignment_text(text_of(number), answers_to(number))
    notebook = pytest.importorskip("nbformat").reads(text, as_version=4)
    pages.run(notebook, tmp_path)  # raises the error of a cell
    tests = [cell for cell in notebook.cells if cell["id"].startswith("test_")]
    printed = ["".join(each.get("text", "") for each in cell.outputs) for cell in tests]
    assert printed == ["right\n"] * len(tests)  # in one part or several


def test_marks_of_a_script_become_cells_of_nbgrader(notebooks):
    cells = [*cells_of(assignment_text(BAKERY + GRADED, "")).values()]
    assert [marks(cell) for cell in cells] == [
        [],  # import of the package
        ["locked"],
        ["locked"],
        [],
        ["solution"],
        ["locked"],
        ["grade", "locked", 2],
        ["grade", "locked", 3],
        ["locked"],
        ["grade", "solution", 4],
        ["grade", "solution", 1],
    ]
    assert "free = total = 0" in cells[4].source
    assert cells[-2].source == "<!-- 4 points -->\nYes, if bread is sold warm."
    emptied = [*cells_of(assignment_text(BAKERY + GRADED)).values()]
    assert emptied[4].source == (
        'def wait(arrivals, work):\n    """Return the mean wait."""\n'
        "    ### BEGIN SOLUTION\n    raise NotImplementedError\n    ### END SOLUTION"
    )
    assert [cell.source for cell in emptied[-2:]] == [
        "<!-- 4 points -->\n\nYour answer.",
        "# 1 point\n### BEGIN SOLUTION\nraise NotImplementedError\n### END SOLUTION",
    ]
    same = [n for n, cell in enumerate(cells) if cell.source == emptied[n].source]
    assert same == [0, 1, 2, 3, 5, 6, 7, 8]
    assert "1, 50" in emptied[7].source  # the lecturer's file keeps hidden tests


# ---- the command ----


@pytest.fixture
def bakery(tmp_path, monkeypatch):
    """The project's folder of assignments, with one script."""
    (tmp_path / "scenarios" / "assignments").mkdir(parents=True)
    script = tmp_path / "scenarios" / "assignments" / "bakery.py"
    script.write_text(BAKERY, encoding="utf-8")
    monkeypatch.setattr(teaching, "SCENARIOS", tmp_path / "scenarios")


def test_assignments_are_listed_after_the_lectures(bakery, capsys):
    *_, lab, last = output(capsys, "lectures").splitlines()
    assert lab.startswith("lab     ") and last == "bakery  Bread for one oven."


def test_answers_are_copied_on_request_only(capsys, tmp_path):
    assert main(["lectures", "3", "--copy", str(tmp_path / "a")]) == 0
    assert main(["lectures", "3", "--copy", str(tmp_path / "b"), "--with-answers"]) == 0
    plain, more = (
        sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*"))
        for folder in (tmp_path / "a", tmp_path / "b")
    )
    answers = ["answers/03_measuring.out", "answers/03_measuring.py"]
    assert sorted(plain + answers) == sorted(more) and len(plain) == 3
    copied = tmp_path / "b" / "answers" / "03_measuring.py"
    assert copied.read_bytes() == (ANSWERS / copied.name).read_bytes()


WRONG = {
    "--with-answers": "--with-answers requires --copy or --assignment",
    "3 --notebook x --with-answers": "--with-answers requires --copy",
    "lab --copy x --with-answers": "--with-answers must be omitted: lab_own",
    "bakery": "assignment(='bakery') must be given only together",
    "bakery --copy x": "assignment(='bakery') must be given only together",
    "bakary --assignment x": "unknown lecture 'bakary'; did you",
    "--assignment x": "--assignment(='x') must be given together with the number of a"
    " lecture",
}


@pytest.mark.parametrize("words", WRONG)
def test_invalid_calls_give_a_one_line_error(
    words, bakery, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    check_bad_input(outcome(capsys, "lectures", *words.split()), [WRONG[words]])
    assert [path.name for path in tmp_path.iterdir()] == ["scenarios"]


def test_the_lab_is_no_assignment_and_a_file_is_not_overwritten(
    capsys, tmp_path, notebooks
):
    check_bad_input(
        outcome(capsys, "lectures", "lab", "--assignment", str(tmp_path)),
        ["nothing to grade"],
    )
    assert not [*tmp_path.iterdir()]
    assert main(["lectures", "1", "--assignment", str(tmp_path)]) == 0
    path = tmp_path / "source" / "lecture_01" / "lecture_01.ipynb"
    assert capsys.readouterr().out == f"{path}\n"
    check_bad_input(
        outcome(capsys, "lectures", "1", "--assignment", str(tmp_path)),
        ["a folder without source/lecture_01/lecture_01.ipynb"],
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("call_centre --assignment x", "lecture(='call_centre') must be one of 1, 2, "),
        (
            "1 --copy x --with-answers",
            "--with-answers must be omitted: the answers",
        ),
        ("1 --assignment x --with-answers", "--with-answers must be omitted"),
    ],
)
def test_a_wheel_rejects_names_that_it_does_not_contain(
    words, message, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(teaching, "SCENARIOS", tmp_path / "scenarios")
    hold = "are only in the repository and the source distribution"
    check_bad_input(outcome(capsys, "lectures", *words.split()), [message, hold])
    assert not [*tmp_path.iterdir()]


def test_an_installed_package_finds_the_sources_in_the_current_folder(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(teaching, "SCENARIOS", tmp_path / "none")
    monkeypatch.chdir(ANSWERS.parents[1])
    output(capsys, "lectures", "3", "--copy", tmp_path / "mine", "--with-answers")
    assert (tmp_path / "mine" / "answers" / "03_measuring.py").is_file()


# ---- grades ----

SOURCE = """\
def source(env, gaps, times):
    for gap in gaps:
        yield env.timeout(gap)
        times.append(env.now)

"""
TOO_EARLY = """\
def source(env, gaps, times):
    for gap in gaps:
        times.append(env.now)
        yield env.timeout(gap)

"""
IN_ORDER = """\
def in_order(events):
    return [event[2] for event in sorted(events, key=lambda event: event[:2])]

"""
WAIT = BAKERY.split("# %%\n")[2].split("\n\n")[0]
ONLY_VISIBLE = "def wait(arrivals, work):\n    return 2.5 if work > 10 else 0\n"


def mean_of_waits(student, number):
    """Code for exercise 1.1 with the numbers of a student, divided by a number."""
    lists = re.findall(r"\[(.*?)\]", question(1.1, student))
    arrivals, services = ([int(n) for n in part.split(",")] for part in lists)
    free_at = total = 0
    for arrival, service in zip(arrivals, services):
        total += max(free_at - arrival, 0)
        free_at = max(free_at, arrival) + service
    return f"answer = {total / number}\n"


def nbgrader(arguments, folder):
    # nbgrader finds alembic by PATH
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments.split()],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr


def submit(course, student, solutions):
    """Fill in the released notebooks, and hand them in."""
    import nbformat

    folder = course / "submitted" / student / "lecture_01"
    folder.mkdir(parents=True)
    for path in (course / "release" / "lecture_01").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        released = "\n".join(cell.source for cell in notebook.cells)
        assert "SOLUTION" not in released and "HIDDEN" not in released
        assert "free = total" not in released and "1, 50" not in released
        for cell in notebook.cells:
            if solution := solutions.get((path.stem, cell["id"])):
                stub = r"(?s).*# YOUR CODE HERE\n *raise NotImplementedError\(\)\n?"
                cell.source, times = re.subn(stub, "", cell.source)
                assert times == 1
                cell.source = solution + cell.source
        nbformat.write(notebook, folder / path.name)


@pytest.mark.slow
def test_two_students_get_the_points_of_their_own_answers(bakery, tmp_path, teach):
    """With the commands of the page about lectures; both notebooks are in one
    assignment, which saves half of the commands.
    """
    course = tmp_path / "course"
    for name in ("1", "bakery"):
        assert main(["lectures", name, "--assignment", str(course)]) == 0
    source = course / "source"
    (source / "bakery" / "bakery.ipynb").rename(source / "lecture_01" / "bakery.ipynb")
    release, *grade = re.findall("^nbgrader (.*)$", PAGE, re.MULTILINE)
    nbgrader(release, course)
    for student, waits, source, wait in (
        ("ada", mean_of_waits("ada", 4), SOURCE, WAIT),
        ("bob", mean_of_waits("bob", 3), TOO_EARLY, ONLY_VISIBLE),
    ):
        solutions = {
            ("lecture_01", "student"): f'student = "{student}"\n',
            ("lecture_01", "answer_1_1"): waits,
            ("lecture_01", "answer_1_2"): IN_ORDER,
            ("lecture_01", "answer_1_3"): source,
            ("bakery", "cell-3"): wait,
        }
        submit(course, student, solutions)
    for line in grade:
        nbgrader(line, course)
    with (course / "grades.csv").open(encoding="utf-8", newline="") as lines:
        rows = {row["student_id"]: row for row in csv.DictReader(lines)}
    points = {name: (row["score"], row["max_score"]) for name, row in rows.items()}
    # lecture: 3 exercises, and 1; bakery: both tests, and the one without hidden tests;
    # 4 points are given by hand
    assert points == {"ada": ("11.0", "15.0"), "bob": ("4.0", "15.0")}
    page = course / "feedback" / "bob" / "lecture_01" / "lecture_01.html"
    feedback = page.read_text(encoding="utf-8")
    assert "the customer who does not wait counts as well" in feedback
