"""The assignments' own solutions pass their tests for any student, and typical wrong
ones are refused.
"""

import re
from itertools import pairwise
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "scenarios" / "assignments"
POINTS = {
    "call_centre": 20,
    "inventory": 20,
    "job_shop": 20,
    "machine_repair": 20,
    "project": 40,
}
STUDENTS = ("Ada", "Grace Hopper", "Li Wei", "Zoë", "O'Neill", "N.N.", "", "Kofi")
STUDENTS += ("Fatima al-Zahra", "Jan-Ole 7")
POINTS_LINE = re.compile(r"# (?:<!-- )?(\d+) points(?: -->)?$")
SOLUTION = re.compile(
    r"^( *)### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION\n", re.DOTALL | re.MULTILINE
)


def source(name):
    return (FOLDER / f"{name}.py").read_text(encoding="utf-8")


def cells(text):
    """The cells of a percent script, each without its mark: whether it is code, and
    its text.
    """
    parts = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    return [("code", parts[0])] + [
        ("markdown" if "[markdown]" in mark else "code", body.strip("\n") + "\n")
        for mark, body in zip(parts[1::2], parts[2::2])
    ]


def points(body):
    first = POINTS_LINE.match(body.split("\n", 1)[0])
    return int(first[1]) if first else 0


def graded(text):
    """Run the cells as a notebook does, on after an error; yield points and error, or
    None, of each test cell.
    """
    namespace = {"__name__": "assignment"}
    for kind, body in cells(text):
        if kind == "markdown":
            continue
        error = None
        try:
            exec(compile(body, "assignment", "exec"), namespace)
        except Exception as raised:
            if not points(body) and not isinstance(raised, NotImplementedError):
                raise
            error = raised
        if points(body):
            yield points(body), error


def refusals(text, is_enough=lambda errors: False):
    """Return the errors of the test cells, and the number of these cells."""
    errors, tests = [], 0
    for _, error in graded(text):
        tests += 1
        errors += [error] * (error is not None)
        if is_enough(errors):
            break
    return errors, tests


def replaced(text, changes):
    """The script with parts of its solutions replaced, each of which occurs once."""
    for right, wrong in changes:
        assert sum(right in match[2] for match in SOLUTION.finditer(text)) == 1, right
        assert text.count(right) == 1, right
        text = text.replace(right, wrong)
    return text


@pytest.mark.parametrize("name", POINTS)
def test_points_and_marks(name):
    text = source(name)
    parts = cells(text)
    assert sum(points(body) for _, body in parts) == POINTS[name]
    docstring = text.split('"""')[1]
    assert docstring.endswith(f"\n(Assignment: {name.replace('_', ' ')})\n")
    assert text.count('\nstudent = "your name"\n') == 1
    for part in ("SOLUTION", "HIDDEN TESTS"):
        assert text.count(f"### BEGIN {part}") == text.count(f"### END {part}") > 0
    for kind, body in parts:
        is_test = kind == "code" and points(body) > 0
        assert ("HIDDEN TESTS" in body) == is_test
        assert not (is_test and "SOLUTION" in body)
        if "SOLUTION" in body:  # students can change it: no helper of the tests
            assert "def agrees" not in body and "def trace" not in body
        if kind == "code" and is_test:  # visible tests first
            assert "assert" in body.split("### BEGIN HIDDEN TESTS")[0]
            assert body.endswith("### END HIDDEN TESTS\n")
    # a rubric before each answer that is marked by hand
    for (_, before), (kind, body) in pairwise(parts):
        if kind == "markdown" and points(body):
            rows = re.findall(r"^# \| .*? \((\d)\) \|", before, re.MULTILINE)
            assert sum(map(int, rows)) == points(body)
            assert "# | criterion | full | half | none |" in before


@pytest.mark.parametrize("name", POINTS)
def test_intervals_of_the_model_answers_equal_the_output(name):
    output = (FOLDER / f"{name}.out").read_text(encoding="utf-8")
    intervals = [
        (mean, half)
        for kind, body in cells(source(name))
        if kind == "markdown" and points(body)
        for mean, half in re.findall(r"([\d.]+) ± ?(\d+\.\d+)", body)
    ]
    assert len(intervals) >= 3
    for mean, half in intervals:
        assert re.search(rf"\b{re.escape(mean)} ± ?{re.escape(half)}\b", output), mean


@pytest.mark.slow
@pytest.mark.parametrize("name", POINTS)
def test_without_an_answer_no_test_passes(name):
    text = SOLUTION.sub(r"\1raise NotImplementedError\n", source(name))
    errors, tests = refusals(text)
    assert len(errors) == tests > 4


@pytest.mark.long  # test_scenarios.py runs each as it is
@pytest.mark.parametrize("student", STUDENTS)
@pytest.mark.parametrize("name", POINTS)
def test_the_solution_passes_for_any_student(name, student):
    text = source(name).replace('"your name"', repr(student), 1)
    assert refusals(text)[0] == []


WRONG = {
    "call_centre": {
        "patience ends a talk": [
            (
                "yield env.timeout(talk_min)",
                "yield env.timeout(min(talk_min, patience_min))",
            )
        ],
        "patience is looked at only by the agent": [
            ("yield turn | env.timeout(patience_min)", "yield turn"),
            ("if turn.triggered:", "if env.now - call['arrival'] < patience_min:"),
        ],
        "patience begins a minute late": [
            ("env.timeout(patience_min)", "env.timeout(patience_min + 1)")
        ],
        "who reneges keeps the place": [
            ("with desk.request() as turn:", "if turn := desk.request():"),
            (
                "yield env.timeout(talk_min)",
                "yield env.timeout(talk_min); desk.release(turn)",
            ),
        ],
        "rates for means": [("exponential(talk_min)", "exponential(1 / talk_min)")],
        "no seed": [
            (
                'talk = draw("talk").exp',
                "talk = np.random.default_rng().exp",
            )
        ],
        "callers depend on the agents": [
            ('talk = draw("talk").exp', 'talk = draw(f"talk {agents}").exp')
        ],
        "warm-up ignored": [
            (
                "if decided is not None and warm_up_min <= decided <= end_min",
                "if decided is not None",
            )
        ],
        "talks to their end": [
            ('min(begin + call["talk"], end_min)', "begin + call['talk']")
        ],
        "waits of the served alone": [
            (
                'waits.append(decided - call["arrival"])',
                "waits.append((decided - call['arrival']) * (begin is not None))",
            )
        ],
        "Erlang C for Erlang A": [
            ("falls = falls + np.maximum(inside - agents, 0) / patience_min", "")
        ],
        "one agent too many": [
            ("if interval.high <= MOST_PCT)", "if interval.high <= MOST_PCT) + 1")
        ],
        "one agent too few": [
            ("if interval.high <= MOST_PCT)", "if interval.high <= MOST_PCT) - 1")
        ],
    },
    "job_shop": {
        "a machine is never released": [
            ("with groups[group].request(", "if turn := groups[group].request("),
            (' if rule == "spt" else 0) as turn:', ' if rule == "spt" else 0):'),
        ],
        "longest first": [("request(work_h if", "request(-work_h if")],
        "shortest job, not operation": [
            ("request(work_h if", "request(sum(works_h) if")
        ],
        "one queue position for all": [
            ("groups[group].request", "groups[route[0]].request")
        ],
        "operations that depend on the rule": [
            ('draw("works").gamma', 'draw(f"works {rule}").gamma')
        ],
        "warm-up ignored": [
            (
                "if finish is not None and warm_up_h <= finish <= end_h",
                "if finish is not None",
            )
        ],
        "operations to their end": [
            (
                "min(start + work, end_h) - max(start, warm_up_h)",
                "start + work - max(start, warm_up_h)",
            )
        ],
        "flow time without the first wait": [
            ('finish - record["arrival"]', "finish - record['starts'][0]")
        ],
        "utilisation without the number of machines": [
            ("100 * number * mean / gap_h / n", "100 * number * mean / gap_h")
        ],
        "bound of the longest job alone": [
            (
                "max(*by_group, *(sum(works) for _, works in jobs))",
                "max(sum(works) for _, works in jobs)",
            )
        ],
        "the wrong group": [("best_group = max(", "best_group = min(")],
        "sign": [
            (
                '        study.values("today", "flow_h"), study.values(name, "flow_h")',
                '        study.values(name, "flow_h"), study.values("today", "flow_h")',
            )
        ],
    },
    "inventory": {
        "level for position": [
            (
                'position = store["level"] + store["on_order"]',
                'position = store["level"]',
            )
        ],
        "always S - s": [
            ('store["on_order"] += high - position', 'store["on_order"] += high - low'),
            (
                "delivery(env, store, high - position, lead_days)",
                "delivery(env, store, high - low, lead_days)",
            ),
        ],
        "below s only": [("if position <= low:", "if position < low:")],
        "on order is never reduced": [('store["on_order"] -= items', "pass")],
        "lost sales": [
            (
                'store["level"] -= items',
                'store["level"] = max(0, store["level"] - items)',
            )
        ],
        "sizes from 0": [("items = 1 + int(", "items = int(")],
        "warm-up ignored": [("max(time, warm_up_days))", "time)")],
        "level for stock": [("stock += max(level, 0) * days", "stock += level * days")],
        "mean of the entries": [
            (
                "days = max(0.0, min(end, end_days) - max(time, warm_up_days))",
                "days = (end_days - warm_up_days) / len(log)",
            )
        ],
        "orders of the warm-up count": [("and warm_up_days <= time <= end_days", "")],
        "all positions alike": [
            (
                "return np.linalg.lstsq(equations, right, rcond=None)[0]",
                "return np.full(states, 1 / states)",
            )
        ],
        "the dearest pair": [("chosen = min(pairs", "chosen = max(pairs")],
    },
    "machine_repair": {
        "a repair without a repairer": [
            ("with repairers.request() as turn:", "if True:"),
            ("yield turn\n", "pass\n"),
        ],
        "two repairers a machine": [
            (
                "with repairers.request() as turn:",
                "with repairers.request() as turn, repairers.request() as turn:",
            )
        ],
        "the repairer stays": [
            ("with repairers.request() as turn:", "if turn := repairers.request():")
        ],
        "the start is the failure": [
            ('failure["start"] = env.now', 'failure["start"] = failure["failed"]')
        ],
        "one stream for all machines": [('draw("lives", number)', 'draw("lives")')],
        "all machines the same life": [
            ('draw("lives", number)', 'cg.Draw(draw.seed)("lives")')
        ],
        "warm-up ignored": [("end - max(begin, warm_up_h)", "end - begin")],
        "repairs to their end": [
            (
                "end = end_h if end is None else min(end, end_h)",
                "end = end_h if end is None else end + 1",
            )
        ],
        "down only while waiting": [
            (
                'inside_h(row["failed"], row["end"])',
                'inside_h(row["failed"], row["start"])',
            )
        ],
        "an infinite source": [
            ("rise = (machines - down) / life_h", "rise = machines / life_h")
        ],
        "one repairer in the formula": [
            ("fall = min(down + 1, repairers) / repair_h", "fall = 1 / repair_h")
        ],
        "the dearest crew": [("chosen = min(means", "chosen = max(means")],
    },
    "project": {
        "only who has left": [
            (
                "return patients, count",
                'return [row for row in patients if row["departure"]], count',
            )
        ],
        "no seed": [
            (
                'draw("gaps").exponential(gap)',
                '__import__("random").expovariate(1 / gap)',
            )
        ],
        "arrivals by alternative": [('draw("gaps")', 'draw(f"gaps {nurses}")')],
        "count without the doctors": [
            ("        if is_ill:", "        change(-is_ill)\n        if is_ill:"),
            (
                'row["departure"] = env.now',
                'row["departure"] = env.now; change(is_ill)',
            ),
        ],
        "Erlang C of the wrong load": [
            ("mmc(1 / 8, 1 / 4, 1)", "mmc(1 / 8, 1 / 6, 1)")
        ],
        "one server in place of two": [
            ("simpy.Resource(env, doctors)", "simpy.Resource(env, 1)")
        ],
        "the dearest alternative": [("recommended = min(", "recommended = max(")],
        "other seeds": [
            (
                "seeds=range(FIRST_SEED, FIRST_SEED + 20))\ncosts",
                "seeds=range(20))\ncosts",
            )
        ],
        "too few runs": [
            (
                "seeds=range(FIRST_SEED, FIRST_SEED + 20))\ncosts",
                "seeds=range(FIRST_SEED, FIRST_SEED + 5))\ncosts",
            )
        ],
    },
}


# refused by the tests of the experiment, which end a script
LATE = (
    "one agent too many",
    "one agent too few",
    "the wrong group",
    "sign",
    "the dearest pair",
    "one server in place of two",
    "the dearest alternative",
    "other seeds",
    "too few runs",
)


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        pytest.param(
            name,
            mistake,
            marks=pytest.mark.long if mistake in LATE else pytest.mark.slow,
        )
        for name in WRONG
        for mistake in WRONG[name]
    ],
)
def test_a_typical_wrong_solution_is_rejected(name, mistake):
    text = replaced(source(name), WRONG[name][mistake])
    assert [*map(type, refusals(text, is_enough=bool)[0])] == [AssertionError]


# ---- marked submissions ----

MARKED = re.compile(
    r"^## (\w+), submission (\d)\n\n"
    r"Code: ([^\n]*)\. Tests: (\d+) of (\d+) points\.\n(.*?)"
    r"^Reports: ([\d.]+) of (\d+) points\. Sum: ([\d.]+) of (\d+)\.$",
    re.MULTILINE | re.DOTALL,
)
SUBMISSIONS = MARKED.findall((FOLDER / "marked.md").read_text(encoding="utf-8"))
SHARES = {"full": 1.0, "half": 0.5, "none": 0.0}


def test_two_submissions_of_each_assignment_are_marked():
    marked = [submission[:2] for submission in SUBMISSIONS]
    assert sorted(marked) == [
        (name, number) for name in sorted(POINTS) for number in "12"
    ]


@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda each: "_".join(each[:2]))
def test_marks_match_the_rubric_and_add_up(submission):
    name, _, code, tests, most_tests, text, reports, most_reports, total, most = (
        submission
    )
    rubric = re.findall(r"^# \| (.*?) \((\d)\) \|", source(name), re.MULTILINE)
    rows = re.findall(r"^\| (?!criterion)(.*?) \| (\w+) \| .+ \|$", text, re.MULTILINE)
    assert [criterion for criterion, _ in rows] == [
        criterion for criterion, _ in rubric
    ]
    marks = [SHARES[mark] * int(points) for (_, mark), (_, points) in zip(rows, rubric)]
    assert sum(marks) == float(reports)
    assert sum(int(points) for _, points in rubric) == int(most_reports)
    assert float(tests) + float(reports) == float(total)
    assert int(most_tests) + int(most_reports) == int(most) == POINTS[name]
    assert code == "the solution" or code.strip('"') in WRONG[name]


@pytest.mark.long
@pytest.mark.parametrize("submission", SUBMISSIONS, ids=lambda each: "_".join(each[:2]))
def test_the_code_of_a_marked_submission_gets_its_points_and_prints_its_numbers(
    submission, capsys
):
    name, _, code, tests, _, report, *_ = submission
    text = source(name)
    if code != "the solution":
        text = replaced(text, WRONG[name][code.strip('"')])
    assert sum(worth for worth, error in graded(text) if error is None) == int(tests)
    printed = re.findall(r"\d+\.\d+", capsys.readouterr().out)
    quoted = " ".join(re.findall("^> (.*)$", report, re.MULTILINE))
    for number in re.findall(r"\d+\.\d+|\d+(?= ±)|(?<=± )\d+", quoted):
        form = f".{len(number.partition('.')[2])}f"
        assert number in {format(float(value), form) for value in printed}
