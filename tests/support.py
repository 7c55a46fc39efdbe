"""Shared parts of tests: commands, their output in a terminal, refusals, logs."""

import ast
import csv
import inspect
import io
import json
import os
import re
import struct
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from itertools import permutations, product
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure as Canvas
from PIL import Image

import cgrsp_simpy as cg
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.cli import main
from cgrsp_simpy.exercises import check, exercise
from cgrsp_simpy.hgsp.schedule import from_sequences
from cgrsp_simpy.llm.service import Measured, StepTable
from cgrsp_simpy.studies.subject import subject_of

CGRSP = [sys.executable, "-m", "cgrsp_simpy"]
# next to the project, if it exists
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ANSWERS = Path(__file__).resolve().parents[1] / "scenarios" / "answers"
# of an LLM service: a prompt token takes 1 ms, a step that only decodes 10 ms
STEPS = StepTable(
    tuple(
        Measured("h100-80gb", 1, phase, 1, tokens, ms)
        for phase, tokens, ms in (
            *(("prompt", 1, 1.0), ("prompt", 1001, 1001.0)),
            *(("token", 1, 10.0), ("token", 1001, 10.0)),
        )
    )
)


def needs(package, *marks):
    """Marks of a case that needs a package beyond those of the quick tests, with
    others.
    """
    missing = find_spec(package) is None
    return (*marks, pytest.mark.skipif(missing, reason=f"could not import {package!r}"))


def script(name):
    """Return the module of a script of scenarios/, such as "research/tune"."""
    path = Path(__file__).parents[1] / "scenarios" / f"{name}.py"
    spec = spec_from_file_location(path.stem, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn_with(path):
    """The Matplotlib, such as "3.11", that drew a picture, and whether this one is it:
    the letters of another differ a little.
    """
    with Image.open(path) as picture:
        version = re.search(r"version(\d+\.\d+)", picture.info["Software"])[1]
    return version, matplotlib.__version__.startswith(f"{version}.")


def outcome(capsys, *words):
    """Status, stdout and stderr of a command."""
    try:
        status = main([str(word) for word in words])
    except SystemExit as left:
        status = left.code
    return status, *capsys.readouterr()


def output(capsys, *words):
    """Stdout of a command that succeeds."""
    assert main([str(word) for word in words]) == 0
    return capsys.readouterr().out


def rows_of(figure, runs):
    """The rows of a figure, as they are read from its CSV."""
    return figure.read(csv_text(figure.rows(runs)))


def canvas_of(figure, rows):
    """A figure of rows on a canvas, laid out."""
    canvas = Canvas(figsize=(6.3, 5), layout="constrained")
    FigureCanvasAgg(canvas)
    figure.draw(canvas, rows)
    canvas.canvas.draw()
    return canvas


class Page(HTMLParser):
    """A page: its tags with their attributes, the text of each element that has an id,
    and the elements that are not closed in their order.
    """

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.texts, self._id = [], [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._id = dict(attributes).get("id", self._id)
        self.open += [tag] * (tag not in ("meta", "input"))

    def handle_endtag(self, tag):
        self._id = None
        if self.open[-1:] == [tag]:
            self.open.pop()

    def handle_data(self, text):
        self.texts[self._id] = self.texts.get(self._id, "") + text

    @property
    def data(self):
        """The data that the script of the page shows."""
        return json.loads(self.texts["data"])


def named_colours(axes):
    """Yield name and colour of each labelled line, and of each bar with a name."""
    for ax in axes:
        for line in ax.lines:
            yield line.get_label(), to_hex(line.get_color())
        names = [label.get_text() for label in ax.get_yticklabels()]
        if len(names) == len(ax.patches):
            fillings = (to_hex(patch.get_facecolor()) for patch in ax.patches)
            yield from zip(names, fillings)


def figures_of(text):
    """The figures of the first alternative of an answer in JSON."""
    row = json.loads(text)["figures"][0]
    return {name: value for name, value in row.items() if name != "alternative"}


def csv_rows(text):
    """The rows of a CSV text, by column."""
    return list(csv.DictReader(io.StringIO(text)))


def process(words, folder, timeout=120):
    """Run a command in a folder, in a separate process."""
    return subprocess.run(
        words, cwd=folder, capture_output=True, text=True, check=False, timeout=timeout
    )


def seen_on_a_terminal(line, is_enough, columns):
    """Output of a command in a terminal; it is killed when there is enough."""
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(
        [*CGRSP, *line.split()], stdout=subprocess.DEVNULL, stderr=theirs
    ) as command:
        os.close(theirs)
        seen = b""
        try:
            while not is_enough(seen):
                seen += os.read(ours, 4096)  # fails at the end of the command
        finally:
            command.kill()
            os.close(ours)
    return seen


def check_refused(call, words, error=cg.InputError):
    """A call raises an error of one line that has these words, or this text, which may
    be a regular expression; return the line.
    """
    with pytest.raises(error) as refused:
        call()
    line = str(refused.value)
    if isinstance(words, str):
        assert words in line or re.search(words, line), line
    assert isinstance(words, str) or all(word in line for word in words), line
    assert "\n" not in line
    return line


def refusals(*cases, call=None, error=cg.InputError):
    """Return one test of calls that are rejected with one line.

    Each case has the arguments of the call and the words of its message, as for
    `check_refused`; without `call`, the only argument is the call.
    """

    def refused():
        for *arguments, words in cases:
            check_refused(
                partial(*(call, *arguments) if call else arguments), words, error
            )

    return refused


def phases(run):
    """The claims of a run on rented slots: job, slot, phase, from and to."""
    names = ["job", "resource", "phase", "from_s", "to_s"]
    return run.claims[names].tolist()


def messages(caplog, level):
    """Messages that were logged at a level."""
    return [record.getMessage() for record in caplog.records if record.levelno == level]


def swf_of_three(folder):
    """A log of jobs of 100 s, of which two ask for 50 s and the third for more than it
    runs.
    """
    log = folder / "three.swf"
    lines = [
        f"{job} 0 -1 100 8 -1 -1 8 {asked_s} -1 1 1 1 1 -1 -1 -1 -1\n"
        for job, asked_s in ((1, 50), (2, 50), (3, 200))
    ]
    log.write_text("".join(lines), encoding="utf-8")
    return log


def frame_at(run, time_s):
    """The axes of a frame of a film: queue, and resources."""
    film = cg.plots.animate(run, 2).film()
    film._draw_was_started = True  # or Matplotlib warns: it is not saved
    film._func(time_s)
    return film._fig.axes


def check_lecture(picture):
    """A picture is as wide as a lecture's, and not too high."""
    width, height = np.frombuffer(picture.read_bytes()[16:24], ">u4")
    assert width == 2000  # 10 inches at 200 dpi
    assert 0.4 < height / width < 0.8


def check_bad_input(found, words):
    """Of the outcome of a command: status 2, and one line that has these words."""
    status, out, err = found
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert all(word in err for word in words), err


def simulated(scenario, seed=0, *, keep=False):
    """The run in SimPy of a scenario of waiting jobs under its own policy."""
    return subject_of(scenario).simulation(scenario.policy, seed, records=keep).finish()


def waits_s(jobs):
    """Return the wait of each job of a run, seconds."""
    return jobs["start_s"] - jobs["submit_s"]


def events_of(simulation, *given):
    """Time, kind, job and places of all events of a run but decisions."""
    texts = []
    simulation(*given, texts.append).finish()
    return [
        (event.time_s, event.kind, event.job, event.slots)
        for event in texts
        if event.kind != "decide"
    ]


def placed(run):
    """The number and amount of each place of each job, by its number."""
    return list(dict(sorted(run.parts().items())).values())


def several(slots):
    """The slots of an answer, of one or several."""
    return slots if isinstance(slots, tuple) else (slots,)


def drawn(scenario, seed=0):
    """The jobs of a seed of rented slots, with their draws."""
    return list(scenario.workload.generate(seed, scenario.service))


def brute_force(instance):
    """The least weighted tardiness of HGSP tasks over all assignments and orders."""
    n, m = instance.times_s.shape
    best = np.inf
    for order in permutations(range(n)):
        for gpus in product(range(m), repeat=n):
            if all(np.isfinite(instance.times_s[i, j]) for i, j in zip(order, gpus)):
                sequences = [
                    [i for i, j in zip(order, gpus) if j == own] for own in range(m)
                ]
                best = min(best, from_sequences(instance, sequences).weighted_tardiness)
    return best


def utilisation(run):
    """Share of slot time held, provisioning included, from time 0 to the last
    completion: from the slots and from the jobs.
    """
    capacity_s, jobs = len(run.held_s) * run.tally.end_s, run.jobs
    away_s = jobs["away_s"] if "away_s" in run.scenario.terms.columns else 0.0
    held_s = (jobs["finish_s"] - jobs["dispatch_s"] - away_s) * jobs["gpus"]
    return sum(run.held_s) / capacity_s, float(held_s.sum()) / capacity_s


def whole_queue(order, view):
    """An order by tiers, by its definition: all waiting jobs, each by its own tier."""
    tiers_of_class = order.at(view)

    def key(job):
        own = next(tier for tier in tiers_of_class(job) if job.deadline_s < tier[0])
        return own[1], own[2], job.deadline_s, job.id

    return sorted(view.queue, key=key)


def z(values, expected):
    """Return the difference of the mean of independent values from its expectation, in
    standard errors.
    """
    return (np.mean(values) - expected) * len(values) ** 0.5 / np.std(values, ddof=1)


def fifo_waits(arrivals, services, servers=1):
    """Return the waits of customers who are served in the order of their arrival."""
    free, waits = [0] * servers, []
    for arrival, service in zip(arrivals, services):
        begin = max(arrival, min(free))
        free[free.index(min(free))] = begin + service
        waits.append(begin - arrival)
    return waits


def edited(function, *texts):
    """Return a function whose source has other texts: an old one, the new one, ..."""
    source, names = inspect.getsource(function), dict(function.__globals__)
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        assert old in source, old
        source = source.replace(old, new)
    exec(source, names)
    return names[function.__name__]


def answer_of(script, name, nth=0):
    """The nth function of a name in a script of scenarios/answers, which is not run,
    with the functions before it.
    """
    path = ANSWERS / f"{script}.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    imports = [each for each in body if isinstance(each, ast.Import | ast.ImportFrom)]
    functions = [each for each in body if isinstance(each, ast.FunctionDef)]
    chosen = [each for each in functions if each.name == name][nth]
    space = {}
    module = ast.Module([*imports, *functions[: functions.index(chosen) + 1]], [])
    exec(compile(module, str(path), "exec"), space)
    return space[name]


def code_tests(right, wrong, others=range(1, 5)):
    """Return two tests of exercises that ask for code: right and wrong answers.

    right: number -> code. wrong: (number, hint, code) or (number, hint, old text, new
    text, ...) of the right code. Each on twenty drawn cases: those of the students; the
    slow tests draw others, with these seeds.
    """

    def verdict(number, code, seed, monkeypatch):
        monkeypatch.setattr(exercise, "stream", lambda _, name: stream(seed, name))
        monkeypatch.setattr(exercise, "EVENTS", 3000)
        return check(number, code)

    each_seed = pytest.mark.parametrize(
        "seed",
        [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in others)],
    )

    @each_seed
    @pytest.mark.parametrize("number", right)
    def accepted(number, seed, monkeypatch):
        assert verdict(number, right[number], seed, monkeypatch)

    @each_seed
    @pytest.mark.parametrize(
        ("number", "hint", "answer"), [(a, b, c) for a, b, *c in wrong]
    )
    def refused(number, hint, answer, seed, monkeypatch):
        code = answer[0] if callable(answer[0]) else edited(right[number], *answer)
        result = verdict(number, code, seed, monkeypatch)
        assert not result
        assert hint in result.message or seed
        assert "\n" not in result.message

    return accepted, refused


def number_tests(exercises, asked, quick=2):
    """Return a test of exercises that ask for numbers: right and wrong answers.

    exercises: number -> exercise. asked: number -> pairs of a function of a student's
    numbers, and "right" or words of the hint. quick: students in the quick tier, of a
    hundred.
    """
    all_students = [f"student {n}" for n in range(100)]
    slow = pytest.param(all_students[quick:], marks=pytest.mark.slow)

    @pytest.mark.parametrize("students", [all_students[:quick], slow], ids=len)
    @pytest.mark.parametrize("number", asked)
    def judged(number, students):
        numbers, hints = exercises[number].numbers, 0
        for student in students:
            values = numbers(stream(0, f"exercise of {student}")) if numbers else {}
            for answer, message in asked[number]:
                verdict = check(number, answer(**values), student)
                assert bool(verdict) == (message == "right"), (student, verdict)
                hints += message in verdict.message
        # two mistakes may give the same number, which gets one hint
        assert hints >= 0.9 * len(students) * len(asked[number])

    return judged
