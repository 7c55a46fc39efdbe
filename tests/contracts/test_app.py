"""The live page: every page shows results of the package and one-line errors, and one
command starts it.
"""

import math
import re
import socket
import subprocess
import threading
import time
import urllib.request
from importlib.util import find_spec

import pytest
from support import CGRSP

import cgrsp_simpy as cg
from cgrsp_simpy.app import SCRIPT
from cgrsp_simpy.cli import main
from cgrsp_simpy.cli import teaching as command
from cgrsp_simpy.plots.animation import player_page
from cgrsp_simpy.studies.replicate import engine_for
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.waiting.policies import waiting_policy

PAGES = ["A day", "Compare policies", "Own or rent", "Advice on a log", "A cluster"]
with_streamlit = pytest.mark.skipif(
    find_spec("streamlit") is None,
    reason="could not import streamlit, of the extra app",
)
LOG = "submit_s,service_s\n" + "".join(
    f"{40 * job},{60 + job % 90}\n" for job in range(60)
)


@pytest.fixture
def page(monkeypatch):
    """Show a page of the app; fail if it raises an error."""
    # as Streamlit would at its import, and for good
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from streamlit.testing.v1 import AppTest

    def show(name, **values):
        at = AppTest.from_file(str(SCRIPT), default_timeout=600)
        at.session_state["page"] = name
        return then(at.run(), **values)

    return show


def then(at, press=None, **values):
    """Return the page after widgets were set and, optionally, a button was pressed."""
    for kind, chosen in values.items():
        for key, value in chosen.items():
            getattr(at, kind)(key=key).set_value(value)
    at.run()
    if press is not None:
        (button,) = [each for each in at.button if each.label == press]
        button.click().run()
    assert not at.exception
    return at


def errors(at):
    return [each.value for each in at.error]


def texts(at):
    """All texts and tables of the page."""
    elements = [*at.markdown, *at.caption, *at.code, *at.warning, *at.info, *at.error]
    tables = [table.value.to_string() for table in at.table]
    return "\n".join([*(element.value for element in elements), *tables])


# ---- pages ----


@pytest.mark.slow
@with_streamlit
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_with_a_question_a_task_and_little_work(page, name, monkeypatch):
    work_s = []

    def counted(model, policies, seeds, *more):
        assert engine_for("auto", (), 1000) == "simpy"  # compiling takes a minute
        subject = subject_of(model)
        work_s.append(len(policies) * len(seeds) * subject.work / subject.pace_per_s)
        return cg.compare(model, policies, seeds, *more)

    from cgrsp_simpy.app import parts

    monkeypatch.setattr(parts, "compare", counted)
    at = page(name)
    (title,) = at.title
    assert re.fullmatch(r"[^.?]+\?", title.value)
    assert at.markdown[0].value.startswith("**Task.** ")
    assert sum(work_s) <= 4
    assert not re.search(r"\b(inf|nan)\b|without end on", texts(at))
    assert errors(at) == []
    assert all(not button.disabled for button in at.button)


@pytest.mark.slow
@with_streamlit
def test_a_queue_without_end_is_described_in_words(page):
    at = page(
        "A cluster",
        slider={"nodes": 4, "cluster: jobs": 20, "load": 1.5, "cluster: seeds": 2},
        multiselect={"cluster: policies": ["fifo", "easy"]},
        press="Compare",
    )
    wait = rows_of(at)["fifo"]["mean wait (s)"]
    assert re.fullmatch(r"the queue grows without end on \d+ of 20 seeds", wait)
    assert "no end" in at.code[0].value
    assert not re.search(r"\b(inf|nan)\b", texts(at))


def rows_of(at):
    """The rows of figures, by their first cells."""
    return {row["policy"]: row for row in at.table[0].value.to_dict("records")}


def interval(study, policy, metric):
    """Format a mean and its half width, to two significant digits of the half width."""
    found = study.means()[policy][metric]
    decimals = max(0, 1 - math.floor(math.log10(found.half_width)))
    return f"{found.mean:.{decimals}f} ± {found.half_width:.{decimals}f}"


@pytest.mark.slow
@with_streamlit
def test_a_day_shows_means_over_seeds_before_and_after_a_change_and_its_runs(page):
    at = page(
        "A day",
        slider={"slots": 4, "tight": 0.5, "persistence": 30, "jobs of hectic": 60},
        selectbox={"policy": "rh"},
        number_input={"seed": 7},
    )
    day = cg.day("hectic", slots=4, tight_fraction=0.5, jobs=60, persistence_s=1800)
    study = cg.compare(day, ["rh", "edf"], range(20))
    found = rows_of(at)["rh"]
    assert found["mean wait (min)"] == interval(study, "rh", "wait_min")
    assert found["cost (USD)"] == interval(study, "rh", "cost_usd")
    assert at.caption[0].value == "Means of 20 seeds ± half of the 95 % interval."
    at = then(at, selectbox={"second policy": "edf"})
    rows = rows_of(at)
    assert list(rows) == ["rh", "edf", "rh, before"]
    assert rows["edf"]["mean wait (min)"] == interval(study, "edf", "wait_min")
    assert rows["rh, before"] == {**found, "policy": "rh, before"}
    at = then(at, slider={"slots": 5})
    now = rows_of(at)
    before = {name: {**row} for name, row in rows.items() if name in ("rh", "edf")}
    assert list(now) == ["rh", "edf", "rh, before", "edf, before"]
    for name, row in before.items():
        assert now[f"{name}, before"] == {**row, "policy": f"{name}, before"}
        assert now[name] != row
    srcdoc = at.get("iframe")[0].proto.srcdoc
    day = subject_of(day).varied(slots=5)
    assert srcdoc == player_page(
        [cg.simulate(day, name, 7) for name in ("rh", "edf")],
        "hectic: rh and edf, seed 7",
    )
    for name in ("Gantt", "Queue", "Resources"):
        at = then(at, radio={"picture": name})
        assert len(at.image) == 2 and not at.get("iframe")
        assert all(
            re.match("Plot: .+, .+", image.alt)
            for element in at.image
            for image in element.proto.imgs
        )
    assert errors(at) == []


@pytest.mark.slow
@with_streamlit
def test_policies_are_compared_on_the_seeds_asked_for(page):
    at = page(
        "Compare policies",
        slider={"jobs of hectic": 60, "days: seeds": 3},
        multiselect={"days: policies": ["edf", "fifo"]},
        press="Compare",
    )
    study = cg.compare(cg.day("hectic", jobs=60), ["edf", "fifo"], range(3))
    assert at.code[0].value == str(study)
    assert at.caption[0].value == "6 runs of 60 jobs: less than a second."
    assert len(at.image) == 2


@pytest.mark.slow
@with_streamlit
def test_work_of_minutes_is_announced_and_does_not_start(page):
    at = page("Compare policies", slider={"days: seeds": 100, "jobs of hectic": 2000})
    assert not at.button[0].disabled
    at = then(at, multiselect={"days: policies": list(cg.POLICIES)})
    assert at.button[0].disabled
    assert at.warning[0].value.startswith("That is more than 60 s")


@pytest.mark.slow
@with_streamlit
def test_own_or_rent_has_formula_and_simulation_side_by_side(page):
    at = page(
        "Own or rent", slider={"rent: jobs": 5000, "machines": 11}, press="Simulate"
    )
    (best,) = (each.value for each in at.table)
    (beside,) = (each.value for each in at.code)
    case = cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(5000, 72 / 3600, 480.0),
        machines=11,
        prices=cg.waiting.Prices(0.4, 1.0),
    )
    policies = list(best["policy"])
    assert policies == list(case.compared)
    study = cg.compare(case, policies, range(5))
    (table,), _ = subject_of(case).study_details(study)
    assert beside == table.text()
    for policy, wait, known, *_ in table.rows[1:]:
        form = case.under(waiting_policy(policy)).formula()
        assert known == f"{form['wait_s']:.4g}"
        assert abs(float(wait.split()[0]) - study.means()[policy]["wait_s"].mean) < 1
    at = then(at, slider={"machines": 5})
    assert (
        "ajw is left out: the queue grows without end (servers(=5) under ajw have no"
        " steady state" in at.warning[0].value
    )


@pytest.mark.slow
@with_streamlit
def test_the_page_gives_the_packages_advice_on_a_log(page, tmp_path):
    at = page("Advice on a log")
    assert at.selectbox(key="format").value == "recognised by content"
    at.file_uploader(key="log").set_value(("jobs.txt", LOG.encode(), "text/csv"))
    at.run()
    at.number_input(key="price_miss").set_value(5.0)
    at = then(
        at.run(),
        slider={"log: seeds": 2, "log: slots": 2},
        multiselect={"log: policies": ["fifo", "edf"]},
        press="Advise",
    )
    (tmp_path / "jobs.txt").write_text(LOG, encoding="utf-8")
    from cgrsp_simpy.decide.recommend import Prices

    found = cg.advise(
        cg.trace(tmp_path / "jobs.txt", slots=2),
        ["fifo", "edf"],
        range(2),
        prices=Prices(price_miss=5),
    )
    assert at.markdown[-1].value == "\n\n".join(found.lines)
    assert (at.code[-1].value, errors(at)) == (str(found), [])


@pytest.mark.slow
@with_streamlit
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("jobs.csv", b"", "jobs.csv: "),
        ("jobs.csv", b"submit_s,service_s\n1,x\n", "jobs.csv: "),
        ("../../jobs.csv", b"a,b\n1,2\n", "jobs.csv: "),
        ("jobs.swf", bytes(range(256)), "jobs.swf: "),
        ("jobs.json", b"{", "jobs.json: "),
        ("jobs.csv.gz", b"no gzip", "jobs.csv.gz: "),
        # names that no file can have
        ("..", b"", "log: "),
        ("x" * 300, b"", f"{'x' * 300}: File name too long"),
        # a name is not read as Markdown
        ("$x$ *b* [c](d) \u202e.csv", b"", r"\$x\$ \*b\* \[c\](d) \\u202e.csv: "),
    ],
)
def test_a_bad_log_gives_a_one_line_error(page, name, content, message):
    at = page("Advice on a log")
    at.file_uploader(key="log").set_value((name, content, "text/csv"))
    at = then(at)
    (line,) = errors(at)
    assert line.startswith(message)
    assert "\n" not in line and "Traceback" not in line and "/tmp" not in line


@pytest.mark.slow
@with_streamlit
def test_a_cluster_shows_a_run_and_compares(page):
    at = page(
        "A cluster",
        slider={"nodes": 4, "cluster: jobs": 40, "cluster: seeds": 2},
        selectbox={"scheduler": "easy"},
        multiselect={"cluster: policies": ["fifo", "easy"]},
        press="Compare",
    )
    offered = cg.cluster.Offered(jobs=40, load=0.6, warm_up=40, after=160)
    setting = cg.cluster.Scenario(offered, cg.cluster.Cluster((8,) * 4))
    assert at.code[0].value == str(cg.compare(setting, ["fifo", "easy"], range(2)))
    study = cg.compare(setting, ["easy"], range(20))
    report = subject_of(setting).report
    metric = report.shown[0]
    # not a day's
    assert all("mean wait (min)" not in row for row in rows_of(at).values())
    told = rows_of(at)["easy"][str(report.metrics[metric])]
    assert told == interval(study, "easy", metric)
    at = then(at, select_slider={"gpus": 1}, slider={"nodes": 1})
    assert len(errors(at)) == 1


@pytest.mark.slow
@with_streamlit
@pytest.mark.parametrize("name", PAGES)
def test_a_page_without_choices_asks_for_them(page, name):
    at = page(name)
    if at.multiselect:
        at = then(at, multiselect={at.multiselect[0].key: []})
        for button in at.button:
            button.click().run()
        assert not at.exception
        assert len(errors(at)) + len(at.info) <= 1


@pytest.mark.slow
@with_streamlit
def test_progress_counts_the_work_that_is_done(monkeypatch):
    from cgrsp_simpy.app import parts

    class Bar:
        shares, gone = [], False

        def progress(self, share):
            self.shares.append(share)

        def empty(self):
            self.gone = True

    bar = Bar()
    monkeypatch.setattr(parts.st, "progress", lambda share: bar)
    day = cg.day("quiet", jobs=10_000)
    with parts.Progress() as executor:
        found = cg.compare(day, ["fifo", "spt"], range(3), executor)
    assert found.rows == cg.compare(day, ["fifo", "spt"], range(3)).rows
    assert bar.shares == sorted(bar.shares) and bar.shares[-1] == 1.0
    assert len(bar.shares) == 3 and bar.gone


@pytest.mark.slow
@with_streamlit
def test_two_sessions_at_once_leave_the_settings_of_matplotlib():
    from matplotlib import rcParams

    from cgrsp_simpy.app.parts import draw
    from cgrsp_simpy.plots import policy_bars

    study = cg.compare(cg.day("quiet", jobs=20), ["fifo"], range(2))
    before, (inside, left) = dict(rcParams), (threading.Event(), threading.Event())
    sizes = []

    class Panel:
        def __init__(self, here, other):
            self.here, self.other = here, other

        def pyplot(self, figure, alt):
            self.here.set()
            self.other.wait(0.3)  # the other session is drawing as well, if it may
            sizes.append(rcParams["font.size"])

    def first():
        draw(Panel(threading.Event(), inside), policy_bars, study, "wait_min")
        left.set()

    sessions = [
        threading.Thread(target=first),
        threading.Thread(
            target=draw,
            args=(Panel(inside, left), policy_bars, study, "wait_min"),
        ),
    ]
    for session in sessions:
        session.start()
        time.sleep(0.1)
    for session in sessions:
        session.join()
    assert (dict(rcParams), sizes) == (before, [16.0, 16.0])


# ---- the command ----


def test_the_error_names_the_missing_extra(monkeypatch, capsys):
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert main(["app"]) == 2
    told = 'cgrsp app: Streamlit is missing: pip install ".[app]" in a clone\n'
    assert capsys.readouterr() == ("", told)


def test_the_command_gives_streamlit_its_port_and_reports_its_failure(monkeypatch):
    calls = []
    monkeypatch.setattr(command, "find_spec", lambda name: name)
    monkeypatch.setattr(
        command.subprocess, "call", lambda words: calls.append(words) or 3
    )
    assert main(["app", "--headless", "--port", "65535"]) == 1
    assert calls[0][-2:] == ["--server.port=65535", "--server.headless=true"]


@pytest.mark.slow
@with_streamlit
def test_one_command_serves_the_page_and_leaves_no_file(tmp_path):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    words = [*CGRSP, "app", "--headless", "--port", str(port)]
    with subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as served:
        try:
            assert answered(f"http://localhost:{port}/_stcore/health") == b"ok"
        finally:
            served.terminate()
        assert served.wait(30) == 143
    assert list(tmp_path.iterdir()) == []


def answered(url):
    """Return the answer of a server once it has started."""
    for _ in range(120):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read()
        except OSError:
            time.sleep(0.5)
    return None
