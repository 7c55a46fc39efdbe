"""Names from files and from users are shown literally in every plot, page, table, file
and message, whatever characters they contain.
"""

import csv
import io
import json
import xml.etree.ElementTree as ET
from contextlib import suppress
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from support import check_refused, frame_at, outcome

import cgrsp_simpy as cg
from cgrsp_simpy import plots
from cgrsp_simpy.base.table import (
    FORMULA,
    Table,
    csv_text,
    from_cell,
    page,
    visible,
    write_csv,
)
from cgrsp_simpy.cli.papers import OTHERS
from cgrsp_simpy.papers.catalogue import PAPERS
from cgrsp_simpy.papers.dag import figures as dag
from cgrsp_simpy.plots.animation import player_page
from cgrsp_simpy.plots.figure import TEXTS
from cgrsp_simpy.plots.figure import Figure as Declared
from cgrsp_simpy.plots.labels import Mark
from cgrsp_simpy.plots.parts import MATH

FIGURES = Path(__file__).parents[2] / "figures"
NAMES = (
    r"$\frac{x$",
    "$x_1$",
    r"\$5",
    r"$\infty$",
    "<img src=x onerror=alert(1)></script><!--",
    "\x1b[31mred\x00\x7f",
    "\u202eevil\u2066",
    '=HYPERLINK("x")',
    "@SUM(A1)",
    "-2+3",
    "_hidden",
    "two\nlines",
    "%s{0}@DATA@&amp;",
    "\ud800",
)
# an unpaired surrogate character is in no file
WHOLE = [name for name in NAMES if name != "\ud800"]


# ---- scenarios and studies with such names ----


def policy(name):
    """Return a policy of this name, which serves jobs in order of arrival."""

    def first(view):
        return zip(view.queue, view.idle)

    first.__name__ = name
    return first


@cg.model
def foreign_bank(env, draw):
    desk = cg.Resource(env, name=NAMES[0])

    def customer():
        with desk.request() as turn:
            yield turn
            yield env.timeout(draw("work").exponential(5))

    for _ in range(200):
        env.process(customer())
    env.run(900)


def day(name=NAMES[0]):
    """A day whose scenario and GPU types have such names, beginning with one."""
    usual, names = cg.day("quiet", jobs=12, slots=3), cycle([name, *NAMES])
    types = {
        gpu: replace(gpu, name=f"{next(names)} {number}")
        for number, gpu in enumerate(usual.gpus)
    }
    return replace(
        usual,
        name=name,
        gpus=list(types.values()),
        slots=[types[gpu] for gpu in usual.slots],
    )


@pytest.fixture(scope="module")
def runs():
    return [cg.simulate(day(), policy(name), 0) for name in NAMES]


@pytest.fixture(scope="module")
def study():
    return cg.compare(day(), list(map(policy, NAMES)), range(2))


@pytest.fixture(scope="module")
def sweep():
    return cg.sweep(
        day, {"name": NAMES[:4]}, [policy(name) for name in NAMES[:3]], range(2)
    )


@pytest.fixture(scope="module")
def month():
    types = [policy(name) for name in NAMES[:3]]
    month = cg.month({name: 1 / len(NAMES) for name in NAMES}, 6, day)
    return cg.compare(month, types, range(2))


@pytest.fixture(scope="module")
def timeline(runs):
    """A run whose jobs, kinds and resources have such names."""
    names, usual = cycle(NAMES), runs[0].timeline
    jobs = usual.visits["job"].tolist()
    return replace(
        usual,
        policy=NAMES[0],
        label=NAMES[1],
        labels=dict(zip(jobs, names)),
        kinds=dict(zip(jobs, names)),
    )


# ---- figures ----


def check_figure(figure):
    """A figure can be drawn and written, each of its texts letter by letter, and
    visibly.
    """
    picture = io.BytesIO()
    figure.savefig(picture, format="svg")
    ET.fromstring(picture.getvalue())
    for text in figure.findobj(Text):
        if "$" in text.get_text() and text not in MATH:
            assert not text.get_parse_math() or text.get_text().startswith(
                r"$\mathdefault{"
            ), text
        assert visible(text.get_text(), "\n") == text.get_text()


PLOTS = {
    "gantt": lambda of: plots.gantt(of["timeline"]),
    "gantt of a run": lambda of: plots.gantt(of["runs"][0]),
    "queue_length": lambda of: plots.queue_length(of["runs"][:2]),
    "queue_length, many": lambda of: plots.queue_length(of["runs"]),
    "slot_timeline": lambda of: plots.slot_timeline(of["timeline"]),
    "wait_histogram": lambda of: plots.wait_histogram(of["runs"][:2]),
    "policy_bars": lambda of: plots.policy_bars(of["study"], "wait_min"),
    "differences": lambda of: plots.policy_bars(
        of["study"], "wait_min", differences=True
    ),
    "pareto": lambda of: plots.pareto(of["study"], "wait_min", "cost_usd"),
    "sweep_lines": lambda of: plots.sweep_lines(of["sweep"], "wait_min"),
    "daily": lambda of: plots.daily(
        [of["month"].run(name, 0) for name in of["month"].policies], "wait_min"
    ),
    "monitor": lambda of: plots.monitor(cg.simulate(foreign_bank), NAMES[0]),
    "welch": lambda of: plots.welch(
        cg.warm_up_time(foreign_bank, what="in use", seeds=[0], spans=20)
    ),
}


@pytest.fixture
def of(runs, study, sweep, month, timeline):
    return {
        "runs": runs,
        "study": study,
        "sweep": sweep,
        "month": month,
        "timeline": timeline,
    }


@pytest.mark.slow
def test_a_film_draws_each_name_letter_by_letter(timeline, tmp_path):
    cg.plots.animate(timeline, frames=2).save(tmp_path / "run.gif")
    check_figure(frame_at(timeline, timeline.end_s / 2)[0].figure)


AGAIN = ("gantt of a run", "queue_length, many", "differences")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    "plot",
    [
        pytest.param(plot, id=name, marks=pytest.mark.slow if name in AGAIN else ())
        for name, plot in PLOTS.items()
    ],
)
def test_a_plot_draws_each_name_letter_by_letter(plot, of):
    check_figure(plot(of).figure)


def test_every_public_plot_is_tried():
    tried = {name.split(" ")[0].rstrip(",") for name in PLOTS}
    assert {*plots.__all__} - {"marks", "styled", "animate"} <= tried
    assert {*cg.plots.marks.__all__} - {"hollow", "intervals", "published"} == {*MARKS}


VALUES, HALVES = [float(number) for number in range(len(NAMES))], [0.5] * len(NAMES)
ENDS = {name: (1.0, value) for name, value in zip(NAMES, VALUES)}
MARKS = {
    "bars": lambda ax: cg.plots.marks.bars(
        ax, NAMES, [*VALUES[1:], float("inf")], HALVES
    ),
    "lines": lambda ax: cg.plots.marks.lines(
        ax, NAMES, dict.fromkeys(NAMES, (VALUES, HALVES))
    ),
    "points": lambda ax: cg.plots.marks.points(
        ax, NAMES, (VALUES, HALVES), (VALUES, HALVES)
    ),
    "labels_at_ends": lambda ax: cg.plots.marks.labels_at_ends(
        ax, ENDS, ["black"] * len(NAMES)
    ),
    "label_marks": lambda ax: cg.plots.marks.label_marks(
        ax,
        {name: marks_at(value) for name, value in zip(NAMES, VALUES)},
        ["black"] * len(NAMES),
    ),
    "legend_above": lambda ax: cg.plots.marks.legend_above(
        ax, [Patch(label=name) for name in NAMES], NAMES[0]
    ),
}


def marks_at(value):
    """A point to be labelled."""
    return Mark(np.array([[value, value]]), np.array([[value, value]]))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_marks_draw_each_name_letter_by_letter_and_leave_the_texts_of_others(mark):
    figure = Figure()
    ax, other = figure.subplots(1, 2)
    ax.set_title("$x^2$")
    other.set_xlabel("$y$")
    mark(ax)
    assert ax.title.get_parse_math() and other.xaxis.label.get_parse_math()
    ax.title.set_text("")
    other.set_xlabel("")
    check_figure(figure)


def test_the_packages_own_mathtext_stays():
    ax = marks_of_bars = Figure().subplots()
    cg.plots.marks.bars(
        marks_of_bars, ["a", r"$\infty$"], [float("inf"), 1.0], [0.0, 0.0]
    )
    (ours,) = [text for text in ax.texts if text.get_text() == r"$\infty$"]
    theirs = ax.get_yticklabels()[1]
    assert theirs.get_text() == ours.get_text()
    assert ours.get_parse_math() and not theirs.get_parse_math()


def hostile(figure, path, column):
    """The rows of a figure's CSV with such names in place of those of a column."""
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    names = dict(zip(dict.fromkeys(row.get(column, "") for row in rows), cycle(NAMES)))
    return csv_text([{**row, column: names[row.get(column, "")]} for row in rows])


def of_galleries():
    """Every figure with its committed CSV, and a column of texts."""
    galleries = {paper.prefix: paper.gallery for paper in PAPERS.values()} | OTHERS
    for prefix, name in galleries.items():
        module = import_module(f"cgrsp_simpy.{name}")
        others = [
            value for value in vars(module).values() if isinstance(value, Declared)
        ]
        figures = {
            figure.stem: figure for figure in (*module.FIGURES.values(), *others)
        }
        for path in sorted(FIGURES.rglob(f"{prefix}*.csv")):
            if (figure := figures.get(path.stem)) and path.stem.partition("_")[
                0
            ] == prefix:
                head = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
                for column in ({*figure.texts, *TEXTS} & {*head}) | {"other"}:
                    yield figure, path, column


CASES = sorted(of_galleries(), key=lambda case: (case[0].stem, case[2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "path", "column"),
    [
        pytest.param(figure, path, column, id=f"{figure.stem} {column}")
        for figure, path, column in CASES
    ],
)
def test_a_gallery_figure_is_drawn_from_such_names_or_rejected(
    figure, path, column, file
):
    copy = file(hostile(figure, path, column), path.name)
    with suppress(*[cg.InputError] * (column != "other")):
        check_figure(figure.redraw(copy))


# ---- pages and tables ----


class Tags(HTMLParser):
    """The elements and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, *[name for name, _ in attrs]))

    def handle_data(self, data):
        self.texts.append(data)

    def handle_comment(self, data):
        raise AssertionError(data)


def check_page(text):
    """A page in which names are texts, all of them visible."""
    tags = Tags(text)
    assert not [tag for tag in tags.elements if "onerror" in tag]  # that of a name
    assert visible(text, "\n\t") == text
    return tags


def check_table(text):
    assert visible(text, "\n\t") == text


def check_csv(text):
    """A CSV in which no cell is a formula; its rows."""
    rows = list(csv.reader(io.StringIO(text)))
    for cell in (cell for row in rows for cell in row):
        with suppress(ValueError):
            float(cell)
            continue
        assert not cell.startswith(FORMULA)
    return [[from_cell(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("kind", ["study", "sweep", "month"])
def test_the_tables_of_a_study_hold_each_name_as_text(kind, of):
    study = of[kind]
    check_table(str(study))
    check_table(repr(study))
    tags = check_page(page(NAMES[4], [study._repr_html_()]))
    assert any(NAMES[0] in text for text in tags.texts)
    names = {cell for row in check_csv(csv_text(study.rows)) for cell in row}
    assert names >= {*NAMES[:3]}
    assert NAMES[0] in json.dumps(json.loads(study.json())).replace(r"\\", "\\")


def test_the_tables_of_a_run_hold_each_name_as_text(runs):
    for run, name in zip(runs, NAMES):
        check_table(repr(run))
        assert any(
            visible(name, "\n") in text for text in check_page(run._repr_html_()).texts
        )
        check_csv(csv_text(run.rows()))


def test_a_table_of_texts_holds_them_as_texts():
    table = Table(NAMES[4], [NAMES, NAMES], NAMES[5])
    check_table(table.text())
    assert visible(NAMES[6]) in check_page(table.html()).texts


@pytest.mark.slow
def test_advice_holds_each_name_as_text():
    first, second = (policy(name) for name in (NAMES[4], NAMES[5]))
    advice = cg.advise(day(NAMES[4]), [first, second], range(2))
    check_table(str(advice))
    check_page(page(advice.title, [advice.html()]))
    check_csv(csv_text(advice.rows))


@pytest.mark.parametrize("name", NAMES)
def test_a_player_holds_each_name_as_text(name, timeline):
    text = player_page([timeline], name, {0.0: name})
    tags = check_page(text)
    data = json.loads(next(text for text in tags.texts if text.startswith('{"tick_s"')))
    assert tags.texts[tags.texts.index(visible(name, "\n\t"))]
    assert data["captions"] == [[0, visible(name, "\n")]]
    assert data["runs"][0]["noun"] == NAMES[1]


# ---- files ----


@pytest.mark.parametrize("name", WHOLE)
def test_a_scenario_is_read_as_it_was_written(name, tmp_path):
    day(name).to_toml(tmp_path / "day.toml")
    assert cg.Scenario.from_toml(tmp_path / "day.toml") == day(name)


def test_a_csv_is_written_with_an_unpaired_surrogate(tmp_path):
    write_csv(tmp_path / "names.csv", [{name: name for name in NAMES}])
    header, row = check_csv((tmp_path / "names.csv").read_text(encoding="utf-8"))
    assert header == row == [*WHOLE, r"\ud800"]


@pytest.mark.slow
def test_a_pgf_holds_no_commands_of_latex(tmp_path, monkeypatch):
    # LaTeX is not run
    monkeypatch.setattr("cgrsp_simpy.plots.figure.which", lambda name: name)
    figure = dag.FIGURES["order"]
    path = FIGURES / "dag" / f"{figure.stem}.csv"
    rows = figure.read(path.read_text(encoding="utf-8"))
    rows = [{**row, "other": r"\input{/etc/passwd}"} for row in rows]
    check_refused(
        lambda: figure.write(tmp_path, rows, pgf=True), ["pgf: text", "commands"]
    )
    assert not list(tmp_path.iterdir())


def test_an_unpaired_surrogate_is_rejected(tmp_path):
    check_refused(
        lambda: day("\ud800").to_toml(tmp_path / "day.toml"),
        ["an unpaired surrogate character"],
    )
    assert not list(tmp_path.iterdir())


# ---- commands ----


def check_outcome(words, folder, capsys):
    """A command prints visible texts, and writes such pages and pictures there."""
    status, out, err = outcome(capsys, *words.split())
    assert (status, visible(out, "\n\t"), visible(err, "\n\t")) == (0, out, err)
    if "csv" in words.split():
        check_csv(out)
    for path in folder.rglob("*.html"):
        check_page(path.read_text(encoding="utf-8"))
    for path in folder.rglob("*.svg"):
        ET.parse(path)


@pytest.mark.parametrize(
    "words",
    [
        "compare day.toml --policies fifo,edf --seeds 2",
        "compare day.toml --policies fifo,edf --seeds 2 --format csv",
        "run day.toml --policy cadr --show run.png --show run.svg --show run.html",
        "run day.toml --policy fifo --show events --by gpu",
        "run day.toml --policy fifo --format csv",
        pytest.param(
            "advise day.toml --seeds 2 --report report", marks=pytest.mark.slow
        ),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        NAMES[0],
        pytest.param(NAMES[4], marks=pytest.mark.slow),
        pytest.param(NAMES[5] + NAMES[6], marks=pytest.mark.slow),
    ],
)
def test_a_command_prints_and_draws_each_name(
    name, words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    day(name).to_toml(tmp_path / "day.toml")
    check_outcome(words, tmp_path, capsys)


@pytest.mark.parametrize(
    "words",
    [
        "run cluster trace=log.csv --by user",
        "run cluster trace=log.csv --show run.svg --show run.html --format csv",
        "replay log.csv",
        "run rental trace=log.csv --policy edf --by user --format json",
        "compare rental trace=log.csv --policies fifo,edf --seeds 2",
    ],
)
def test_a_command_prints_and_draws_each_name_of_a_log(
    words, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    head = ["submit_s", "service_s", "gpus", "user", "partition", *LOGGED]
    jobs = [
        [40 * job, 300, 1, name, name, *LOGGED]
        for job, name in enumerate([*LOGGED, *LOGGED])
    ]
    with (tmp_path / "log.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([head, *jobs])
    check_outcome(words, tmp_path, capsys)


LOGGED = [name for name in WHOLE if "\0" not in name]  # NUL is in no text file


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (place % 4 > 0))
        for place, name in enumerate(NAMES)
    ],
)
def test_an_error_is_one_visible_line(name, capsys):
    for words in (
        ["compare", "hectic", "--policies", name],
        ["compare", f"--{name}"],
        [name],
        ["run", name],
        ["replay", name],
        ["redraw", name],
    ):
        status, out, err = outcome(capsys, *words)
        assert (status, out) == (2, "")
        assert err.count("\n") == 1 and visible(err, "\n") == err
