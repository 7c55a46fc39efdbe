"""The event recorder: a recorded run is SimPy's run, its steps are the states of the
model, and its page is complete.
"""

import html
import json
import re
import shutil
import subprocess
from fractions import Fraction

import pytest
import simpy
from engine.programs import PLANS, Listed, modelled, resources_of
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Page, check_bad_input, check_refused, outcome

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import within
from cgrsp_simpy.base.table import grouped
from cgrsp_simpy.engine.events import ENVIRONMENT
from cgrsp_simpy.engine.recorder import TEMPLATE, ModelRecorder
from cgrsp_simpy.studies.subject import subject_of

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

# ---- the same run ----


@given(PLANS, st.sampled_from([simpy, cg]))
@settings(max_examples=120, deadline=None)
def test_a_recorded_run_has_simpys_events_in_its_order(plans, kind):
    listed, recorder = Listed(), cg.EventRecorder(steps=10_000)
    assert modelled(recorder, plans, resources_of(recorder, kind)) == modelled(
        listed, plans, resources_of(listed, kind)
    )
    assert [step.event[:3] for step in recorder.steps[1:]] == listed.order
    # each event was the first of the list that the step before shows
    for before, after in zip(recorder.steps, recorder.steps[1:]):
        assert before.future[0][:3] == after.event[:3]
        assert before.future == tuple(sorted(before.future))


@given(PLANS, st.integers(0, 12), st.integers(1, 12))
@settings(max_examples=50, deadline=None)
def test_a_window_shows_part_of_the_same_run(plans, from_time, steps):
    whole, part = cg.EventRecorder(), cg.EventRecorder(from_time=from_time, steps=steps)
    assert modelled(whole, plans, resources_of(whole, simpy)) == modelled(
        part, plans, resources_of(part, simpy)
    )
    events = [step.event for step in whole.steps[1:]]
    expected = [event for event in events if event.time >= from_time][:steps]
    assert [step.event[:3] for step in part.steps[1:]] == [row[:3] for row in expected]
    # the numbers of processes are those of the whole run
    assert [step.event.processes for step in part.steps[1:]] == [
        row.processes for row in expected
    ]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("scenario", "policy"),
    [
        (cg.day("hectic", jobs=30), "rh"),
        (cg.cluster.Scenario(cg.cluster.Offered(jobs=30, warm_up=0)), "easy"),
        (cg.spot.Scenario(hours=4.0, deadline=6.0), "uniform-progress"),
    ],
)
def test_a_recorded_model_has_the_same_figures(scenario, policy):
    subject, recorder = subject_of(scenario), ModelRecorder(steps=10_000)
    with within(ENVIRONMENT, lambda: recorder):
        run = subject.simulation(subject.make_policy(policy), 1).finish()
    assert run.summary() == cg.simulate(scenario, policy, 1).summary()
    assert len(recorder.steps) > 30


def test_a_run_can_be_continued_and_stepped():
    env = cg.EventRecorder(5)
    end = env.process(timeouts(env))
    env.run(until=6)
    env.step()
    env.step()
    assert env.now == 7
    assert env.run(end) == "done"
    env.step()
    with pytest.raises(simpy.core.EmptySchedule):
        env.step()
    assert [step.event.event for step in env.steps[1:]] == [
        "start",
        "end of env.run",
        "after the end of env.run",
        "timeout 2",
        "timeout 2",
        "end of timeouts 1",
        "after the end of env.run",
    ]


def timeouts(env):
    yield env.timeout(2)
    yield env.timeout(2)
    return "done"


# ---- the steps ----


def customer(env, desk, name, work):
    with desk.request() as turn:
        yield turn
        yield env.timeout(work)


def arrivals(env, desk):
    for number, gap in enumerate((1, 1, 5)):
        yield env.timeout(gap)
        env.process(customer(env, desk, number, 4))


def queue(**window):
    """The events of three customers at one server."""
    env = cg.EventRecorder(**window)
    desk = simpy.Resource(env, 1)
    env.process(arrivals(env, desk))
    env.run(20)
    return env


def after(env, event, process):
    """The first step after an event of a process."""
    return next(
        step
        for step in env.steps[1:]
        if step.event.event == event and process in step.event.processes
    )


FIRST, SECOND = "customer 1 (name=0, work=4)", "customer 2 (name=1, work=4)"


def test_the_steps_of_a_queue_with_one_server():
    env = queue()
    start = env.steps[0]
    assert (start.time, start.event) == (0, None)
    assert [entry[3:] for entry in start.future] == [
        ("start", ("arrivals 1",)),
        ("end of env.run", ()),
    ]
    desk = ("desk", "0 of 1 in use", (), ())
    assert (*start.resources, start.processes[0].waits_for) == (desk, "start")
    step = after(env, "start", SECOND)
    assert step.time == 2
    assert step.resources == (
        ("desk", "1 of 1 in use", (FIRST,), (f"{SECOND} (request)",)),
    )
    assert [(entry.time, *entry[3:]) for entry in step.future] == [
        (5, "timeout 4", (FIRST,)),
        (7, "timeout 5", ("arrivals 1",)),
        (20, "end of env.run", ()),
    ]
    waiting = {process.name: process for process in step.processes}
    assert waiting[SECOND].waits_for == "request of desk"
    line = customer.__code__.co_firstlineno
    assert waiting[SECOND].lines == (
        (f"customer (test_recorder.py, line {line})", line + 2),
    )
    granted = after(env, "request of desk, granted", SECOND)
    assert (granted.time, granted.resources[0].users) == (5, (SECOND,))
    assert (env.steps[-1].time, env.steps[-1].processes) == (20, ())


def test_a_process_that_delegates_is_shown_at_both_lines():
    env = cg.EventRecorder()

    def outer():
        yield from timeouts(env)

    env.process(outer())
    env.run()
    first, second = env.steps[1].processes[0].lines
    assert first[0].startswith("test_a_process_that_delegates")
    assert second[1] == timeouts.__code__.co_firstlineno + 1


@pytest.mark.parametrize("name", [5, ["desk"], {"desk": 1}, object])
def test_a_resource_may_have_a_name_of_any_type(name, tmp_path):
    env = cg.EventRecorder()
    desk = simpy.Resource(env)
    desk.name = name

    def user():
        with desk.request() as turn:
            yield turn

    env.process(user())
    env.run()
    assert env.steps[-1].resources[0].name == str(name)
    env.to_html(tmp_path / "page.html")


def test_interrupts_conditions_and_ends_are_named():
    env = cg.EventRecorder()
    desk, done = simpy.PreemptiveResource(env, 1), env.event()

    def user(priority):
        with desk.request(priority=priority) as turn:
            yield turn | env.timeout(9)
            while not done.processed:
                try:
                    yield env.timeout(5) if priority == 0 else done
                    return
                except simpy.Interrupt:
                    pass

    def chief(worker):
        yield env.timeout(2)
        yield env.process(user(0))
        worker.interrupt("late")
        yield env.timeout(1)
        done.succeed("over")
        yield worker & env.timeout(1)

    env.process(chief(env.process(user(1))))
    env.run()
    worker = "user 1 (priority=1)"
    assert (
        {
            ("any of (request of desk, priority 1, granted; timeout 9)", (worker,)),
            ("interrupt", (worker,)),  # by preemption
            ("interrupt: late", (worker,)),
            ("event: over", (worker,)),
            ("end of user 2 (priority=0)", ("chief 1",)),
            ("timeout 9", ()),  # nobody waits for it any longer
        }
        <= {step.event[3:] for step in env.steps[1:]}
    )
    waits = {process.waits_for for step in env.steps for process in step.processes}
    assert f"all of (end of {worker}; timeout 1)" in waits


@pytest.mark.parametrize("kind", [simpy, cg])
def test_containers_and_stores(kind):
    env = cg.EventRecorder()
    stock = {} if kind is simpy else {"name": "fuel"}
    shop = type("Shop", (), {})()
    shop.tank = kind.Container(env, 10, init=1, **stock)
    shop.shelf = kind.Store(env)

    def driver(shop):
        yield shop.tank.get(4)
        yield env.timeout(1)
        item = yield shop.shelf.get()
        raise AssertionError(item)

    def supply(shop):
        yield env.timeout(1)
        yield shop.tank.put(6)
        yield shop.shelf.put("key")

    env.process(driver(shop))
    env.process(supply(shop))
    with pytest.raises(AssertionError):  # the error of a process is recorded, too
        env.run()
    tank, shelf = ("tank", "shelf") if kind is simpy else ("fuel", "store2")
    first = env.steps[1].resources
    assert first[0] == (tank, "level 1 of 10", (), ("driver 1 (get 4)",))
    assert [step.event.event for step in env.steps[1:]] == [
        "start",
        "start",
        "timeout 1",
        f"put 6 into {tank}",
        f"get 4 from {tank}",
        f"put key into {shelf}",
        "end of supply 1",
        "timeout 1",
        f"get from {shelf}",
        "end of driver 1",
    ]
    states = [item.state for step in env.steps for item in step.resources]
    assert list(dict.fromkeys(states)) == [
        *(
            "level 1 of 10",
            "0 stored",
            "level 7 of 10",
            "level 3 of 10",
            "1 stored: key",
        )
    ]


def recorded(scenario):
    recorder = ModelRecorder()
    subject_of(scenario).record("fifo", 1, recorder)
    return recorder.steps


def test_resources_of_models_and_many_resources():
    steps = recorded(cg.day("hectic", jobs=5, slots=3))
    shown = [item for step in steps for item in step.resources]
    assert {item.name for item in shown} == {"slot 0", "slot 1", "slot 2"}
    users = {user for item in shown for user in item.users}
    assert users == {f"job_process {n} (job={n - 1})" for n in range(1, 6)}
    names = {process.name for step in steps for process in step.processes}
    assert names - users == {"dispatcher 1", "source 1"}
    steps = recorded(cg.day("hectic", jobs=5, slots=30))
    assert steps[0].resources == ()  # idle ones are left out
    assert any(step.resources for step in steps)
    offered = cg.cluster.Offered(jobs=5, warm_up=0)
    nodes = [step.resources[0] for step in recorded(cg.cluster.Scenario(offered))]
    assert nodes[0] == ("node 0", "level 8 of 8", (), ())
    assert any("job_process 1 (job=0)" in node.users for node in nodes)


def test_equal_names_have_numbers_and_unknown_sources_a_note(tmp_path):
    env = cg.EventRecorder()
    desks = [simpy.Resource(env), simpy.Resource(env)]
    space = {"env": env, "desks": desks, "Lamp": simpy.Store}
    exec(
        "def visit():\n  lamp = Lamp(env)\n  yield lamp.put(1)"
        "\n  with desks[1].request() as turn:\n    yield turn",
        space,
    )
    env.process(space["visit"]())
    env.process(space["visit"]())
    env.process(Iterated(env))
    env.run()
    assert {item.name for item in env.steps[-1].resources} == {
        *("desks[0]", "desks[1]", "lamp", "lamp #2")
    }
    names = {process.name for step in env.steps for process in step.processes}
    assert {"visit 1", "visit 2", "process 1"} == names
    env.to_html(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "# The source is not available." in text


class Iterated:
    """A process that is no generator, which SimPy accepts."""

    def __init__(self, env):
        self.events = iter([env.timeout(1)])

    def send(self, value):
        return next(self.events)

    def throw(self, *error):
        raise error[0]


# ---- the page ----


def page_of(env, tmp_path, title="A <b>bank</b> @DATA@"):
    path = tmp_path / "page.html"
    env.to_html(path, title)
    return path, Page(path.read_text(encoding="utf-8"))


def test_the_page_is_one_accessible_file(tmp_path):
    path, page = page_of(queue(), tmp_path)
    tags = grouped(page.tags, lambda item: item[0])
    attributes = {name: [row for _, row in rows] for name, rows in tags.items()}
    assert not page.open
    assert attributes["html"] == [{"lang": "en"}]
    assert len(tags["h1"]) == len(tags["main"]) == len(tags["label"]) == 1
    viewport = "width=device-width, initial-scale=1"
    assert attributes["meta"][1]["content"] == viewport
    assert sum("aria-label" not in row for row in attributes["input"]) == 1
    ids = {row.get("id") for _, row in page.tags}
    assert {row["aria-labelledby"] for row in attributes["section"]} <= ids
    live = {row.get("aria-live") for row in attributes["div"]}
    assert live == {"polite", None}
    text = path.read_text()
    assert "http" not in text
    assert "&lt;b&gt;bank" in text
    assert page.data["after"] == page.data["before"] == 0
    assert len(page.data["steps"]) == len(queue().steps)


def test_a_notebook_shows_the_page_once_events_are_recorded(tmp_path):
    assert cg.EventRecorder()._repr_html_() is None
    env = queue()
    env.to_html(tmp_path / "page.html")
    [shown] = re.findall('srcdoc="([^"]*)"', env._repr_html_())
    assert html.unescape(shown) == (tmp_path / "page.html").read_text("utf-8")


def luminance(colour):
    full = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
    parts = [int(full[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    ]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear))


PAIRS = {  # rule -> the backgrounds behind its text
    "body": ("#fff", "#fff0c2", "#cfe3f7", "#f4f4f4", "#eef3f9"),
    "tr.new td:first-child::after": ("#fff", "#fff0c2"),
    "mark span": ("#cfe3f7",),
    "button[aria-disabled=true]": ("#f4f4f4",),
    ".right": ("#fff",),
    ".wrong": ("#fff",),
}


def test_texts_have_a_contrast_of_at_least_4_5():
    style = TEMPLATE.read_text(encoding="utf-8")
    for rule, backgrounds in PAIRS.items():
        block = re.search(rf"^{re.escape(rule)} {{(.*?)}}", style, re.M | re.S)[1]
        colour = re.search(r"(?<![\w-])color: (#\w+)", block)[1]
        for background in backgrounds:
            assert background in style
            low, high = sorted(map(luminance, (colour, background)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (rule, background)


def test_a_window_is_described_by_numbers_in_the_page(tmp_path):
    data = page_of(queue(from_time=3, steps=4), tmp_path)[1].data
    whole = len(queue().steps) - 1
    assert (len(data["steps"]), data["end"]) == (5, 20)
    assert data["before"] + 4 + data["after"] == whole
    assert data["before"] == sum(step.time < 3 for step in queue().steps[1:])


def test_times_of_any_kind_are_numbers_in_the_page(tmp_path):
    env = cg.EventRecorder()
    env.timeout(float("inf"))
    env.timeout(Fraction(1, 2))
    env.run(1)
    rows = page_of(env, tmp_path)[1].data["rows"]
    times = {row[3]: row[0] for row in rows}
    assert times == {"timeout 1/2": 0.5, "timeout inf": None, "end of env.run": 1} | {
        "after the end of env.run": 1
    }


SCRIPT = """
const result = [];
const key = (name) =>
  document.dispatchEvent(new KeyboardEvent("keydown", { key: name }));
const read = (id) => result.push($(id).textContent);
key("ArrowRight"); key("ArrowRight"); key("ArrowLeft"); read("step");
key("End"); read("step"); read("clock"); read("window");
key("Home"); $("ask").click();
const choose = (yes) => [...document.querySelectorAll("#quiz button")]
  .find((button) => (button.textContent === text(steps[at + 1].event)) === yes).click();
choose(true); result.push($("score").textContent);
while (document.querySelectorAll("#quiz button").length < 2) key("ArrowRight");
choose(false); result.push($("score").textContent.replace(/.*Score/, "Score"));
result.push(document.querySelectorAll("mark").length > 0);
document.body.textContent = "RESULT" + JSON.stringify(result) + "END";
"""


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_browser_steps_and_asks(tmp_path):
    path, _ = page_of(queue(from_time=1, steps=10), tmp_path, "queue")
    page = path.read_text().replace(
        "\ndraw();\n</script>", f"\ndraw();{SCRIPT}</script>"
    )
    path.write_text(page)
    shown = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path],
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    result = json.loads(re.search("RESULT(.*)END", shown)[1])
    window = (
        "This page shows 10 events, from time 1 to 7. 1 earlier event is not shown."
        " The run goes on until time 20, with 10 more events that are not shown."
    )
    assert result[:3] == ["step 1 of 10", "step 10 of 10", "Clock 7"]
    assert result[3] == window
    assert result[4].startswith("Right: ")
    assert result[5:] == ["Score: 1 of 2.", True]


# ---- wrong use ----


def test_invalid_calls_are_rejected(tmp_path):
    page = tmp_path / "page.html"
    for call, words in (
        (lambda: cg.EventRecorder(steps=-1), "steps"),
        (lambda: cg.EventRecorder(steps=0), "steps"),
        (lambda: cg.EventRecorder(steps=1.5), "steps"),
        (lambda: cg.EventRecorder(from_time="x"), "from_time"),
        (lambda: cg.EventRecorder("x"), "initial_time"),
        (lambda: queue().to_html(page, 5), "title(=5) must be a string"),
        (lambda: queue().to_html(b"page.html"), "page(=b'page.html')"),
        (lambda: queue().to_html(tmp_path / "page.pdf"), "ends in .html"),
        (lambda: cg.EventRecorder().to_html(page), "call env"),
        (
            lambda: queue(from_time=50).to_html(page),
            "from_time=50, but it ended at 20",
        ),
    ):
        check_refused(call, [words])
    assert not [*tmp_path.iterdir()]


MODELS = """
def bank(env, work=4, until=9):
    def customer():
        yield env.timeout(work)
    env.process(customer())
    env.run(until)

def idle(env):
    env.timeout(5)

def broken(env):
    env.process(iter(()).missing)
"""


def test_the_command_writes_a_page(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODELS)
    step = "step model.py:bank work=3 --html bank.html".split()
    assert outcome(capsys, *step) == (0, "4 events: bank.html\n", "")
    step = "step quiet jobs=5 --html q.html --policy fifo --seed 1 --from 9 --steps 7"
    assert outcome(capsys, *step.split())[0] == 0
    page = Page((tmp_path / "q.html").read_text())
    assert len(page.data["steps"]) == 8
    assert page.data["before"] > 0


REFUSED = {
    "step model.py:bank --html a.pdf": ["--html", "'a.pdf'", "ends in .html"],
    "step model.py:bank": ["required: --html"],
    "step model.py:idle --html a.html": ["no event", "call env.run"],
    "step model.py:broken --html a.html": ["model.py:broken, line 12", "missing"],
    "step model.py:bank --html a.html --steps -1": ["steps(=-1)", ">= 1"],
    "step model.py:bank --html a.html --from x": ["--from", "'x'"],
    "step model.py:bank --html a.html --from nan": ["from_time(=nan)"],
    "step model.py:bank --html a.html --from 10": ["from_time=10", "ended at 9"],
    "step model.py:bank works=3 --html a.html": ["'works'", "'work'"],
    "step quiet --html a.html --policy fifo,spt": ["--policy(='fifo,spt')"],
    "step month --html a.html": ["not a single simulation"],
}


@pytest.mark.parametrize("command", REFUSED)
def test_invalid_commands_give_a_one_line_error(command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODELS)
    check_bad_input(outcome(capsys, *command.split()), REFUSED[command])
    assert not [*tmp_path.glob("*.html")]
