"""The page that plays a run: its data are the run's, it is small and needs nothing else, and
a browser shows of it what the run was.
"""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import queue_length, values_at
from cgrsp_simpy.model.timeline import CLAIM, VISIT, Timeline, timeline_of
from cgrsp_simpy.plots.player import player_page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
RUNS = {
    "rental": lambda: cg.simulate(
        cg.day("hectic", jobs=250, slots=3, tight_fraction=0.6), "spt", 1
    ),
    "suspended": lambda: cg.simulate(
        cg.day("hectic", jobs=60, slots=3, terms=cg.Terms(suspension=True, warm_s=300)),
        "srpt",
        1,
    ),
    "waiting": lambda: cg.waiting.Scenario(
        cg.waiting.ExponentialJobs(60, 0.02, 500.0), machines=8
    ).run("ajw-t", 1),
    "hgsp": lambda: cg.hgsp.Scenario("tasks1", noise=0.2).varied(tasks=60).run("atc", 1),
    "llm": lambda: cg.llm.Scenario(cg.llm.Offered(60)).run("wsrpt"),
    "cluster": lambda: cg.cluster.Scenario(cg.cluster.Offered(jobs=60, warm_up=0)).run("easy", 1),
    "dag": lambda: cg.dag.Scenario("er:n=30", cg.dag.Servers(3)).run("heft", 1),
    "spot": lambda: cg.spot.Scenario(hours=8.0, deadline=10.0).run("uniform-progress", 1),
}
every_run = pytest.mark.parametrize("name", RUNS)


class Read(HTMLParser):
    """What a page says: the text of each element that has an id, and its links."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.sources, self._inside = {}, [], None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self._inside = given.get("id", self._inside)
        self.sources += [given[name] for name in ("src", "href") if name in given]

    def handle_data(self, text):
        self.texts[self._inside] = self.texts.get(self._inside, "") + text

    def handle_endtag(self, tag):
        self._inside = None


def decoded(data):
    """The claims and visits that the data of a page stand for, in ticks, as its docstring says."""
    jobs, bars = data["jobs"], data["bars"]
    ids, ready = np.cumsum(jobs["job"]), np.cumsum(jobs["ready"])
    since = {
        name: np.array([np.nan if value is None else value for value in jobs[name]])
        for name in ("wait", "stay", "due")
    }
    visits = {
        int(job): (at, *(at + since[name][row] for name in since))
        for row, (job, at) in enumerate(zip(ids, ready))
    }
    begin, claims = np.cumsum(bars["from"]), {}
    for row, (number, place, phase, length) in enumerate(
        zip(*(bars[name] for name in ("job", "place", "phase", "length")))
    ):
        key = (int(ids[number]), place, data["phases"][phase]["name"], begin[row])
        amount = data["sizes"][place] if bars["low"] is None else bars["amount"][row]
        assert claims.get(key, (length, 0))[0] == length
        claims[key] = (length, claims.get(key, (length, 0.0))[1] + amount)
    return claims, visits


def same_as(data, timeline):
    """Assert that data hold a timeline, times to half a tick, amounts to six decimals."""
    claims, visits = decoded(data)
    tick_s = data["tick_s"]
    assert 1e-8 <= tick_s / timeline.end_s <= 1e-6 * (1 + 1e-9)
    told = {}
    for claim in timeline.claims:
        from_s, to_s = np.rint([claim["from_s"] / tick_s, claim["to_s"] / tick_s])
        key = (claim["job"], claim["place"], claim["phase"], from_s)
        before = told.get(key, (to_s - from_s, 0.0))
        told[key] = (to_s - from_s, before[1] + claim["amount"])
    assert set(told) == set(claims)
    for key, (length, amount) in told.items():
        assert claims[key] == (length, pytest.approx(amount, abs=1e-5))
    assert set(visits) == set(timeline.visits["job"].tolist())
    for visit in timeline.visits.tolist():
        expected = [time_s / tick_s for time_s in visit[1:]]
        assert visits[visit[0]] == pytest.approx(expected, abs=0.5, nan_ok=True)
    assert data["places"] == list(timeline.places)
    assert data["sizes"] == pytest.approx(timeline.sizes)


def data_of(timeline):
    return json.loads(Read(player_page(timeline, "a")).texts["data"])


@every_run
def test_the_data_are_the_claims_and_visits_of_the_run(name):
    timeline = RUNS[name]().timeline
    data = data_of(timeline)
    same_as(data, timeline)
    kinds = [data["kinds"][kind]["name"] for kind in data["jobs"]["kind"] or []]
    ids = np.cumsum(data["jobs"]["job"]).tolist()
    assert kinds in ([], [timeline.kinds.get(job, "executing") for job in ids])
    assert data["jobs"]["label"] in (None, [timeline.labels.get(job, str(job)) for job in ids])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from([0.1, 0.5, 1.0, 3.0]),
            st.floats(0, 1e6),
            st.floats(1e-3, 1e5),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(max_examples=40)
def test_any_claims_come_back(wanted):
    """Jobs of odd amounts and times, some with deadlines, some never served; places that hold
    any number of them.
    """
    claims, visits = [], []
    for job, (place, amount, at_s, length_s, due) in enumerate(wanted):
        visits.append((3 * job - 5, at_s, at_s, at_s + length_s, at_s + 7 if due else np.nan))
        claims.append((3 * job - 5, place, amount, "executing", at_s, at_s + length_s))
    visits.append((1_000_000, 2.5, np.nan, 9.0, np.nan))
    places = ("a", "b", "c")
    made = Timeline("x", places, (60.0,) * 3, np.array(claims, CLAIM), np.array(visits, VISIT))
    same_as(data_of(made), made)


@pytest.mark.slow
def test_a_day_of_a_thousand_jobs_is_a_small_file(tmp_path):
    run = cg.simulate(cg.day("hectic", jobs=1000), "rh", 1)
    cg.plots.animate(run).save(tmp_path / "day.html")
    assert (tmp_path / "day.html").stat().st_size < 300_000
    same_as(
        json.loads(Read((tmp_path / "day.html").read_text("utf-8")).texts["data"]), run.timeline
    )


def test_a_page_needs_nothing_else_and_is_the_same_each_time(tmp_path):
    for name in ("a.html", "b.html"):
        (tmp_path / name[0]).mkdir()
        cg.plots.animate(RUNS["rental"]()).save(tmp_path / name[0] / "day.html")
    page, again = ((tmp_path / name / "day.html").read_text("utf-8") for name in "ab")
    assert page == again
    read = Read(page)
    assert read.sources == []
    assert not re.search(r"https?:|url\(|import|fetch|XMLHttp|@[A-Z]+@", page)


def test_names_are_text_and_never_markup():
    visits = np.array([(0, 0.0, 1.0, 2.0, np.nan)], VISIT)
    claims = np.array([(0, 0, 1.0, "executing", 1.0, 2.0)], CLAIM)
    name = "</script><b>&amp;@TITLE@"
    made = Timeline("x", (name,), (1.0,), claims, visits, labels={0: name}, policy=name)
    page = player_page(made, name)
    assert page.count("</script>") == 2
    assert data_of(made)["policy"] == name
    assert data_of(made)["jobs"]["label"] == [name]
    assert Read(page).texts[None].count(name) == 1  # the title


def test_a_run_without_length_has_a_page():
    visits = np.array([(0, 0.0, 0.0, 0.0, np.nan)], VISIT)
    made = Timeline("x", ("a",), (1.0,), np.array([], CLAIM), visits)
    assert decoded(data_of(made)) == ({}, {0: (0, 0, 0, pytest.approx(np.nan, nan_ok=True))})


# ---- in a browser ----


def shown(page, script, folder):
    """What a script in the page, run when it has loaded, answers."""
    told = f"""<script>{{
      const errors = [];
      window.addEventListener("error", ({{ message }}) => errors.push(message));
      const answer = document.createElement("pre");
      answer.id = "answer";
      document.body.append(answer);
      const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
      const tell = (found) => answer.textContent = JSON.stringify({{ found, errors }});
      {script}
    }}</script></html>"""
    path = folder / "shown.html"
    path.write_text(page.replace("</html>", told), encoding="utf-8")
    options = "--headless --no-sandbox --disable-gpu --disable-background-networking --no-first-run"
    page_of = "--window-size=1280,760 --virtual-time-budget=4000 --dump-dom"
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [BROWSER, *options.split(), profile, *page_of.split(), path.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    found = json.loads(Read(dom).texts["answer"])
    assert found["errors"] == []
    return found["found"]


in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)


@pytest.mark.slow
@in_browser
@every_run
def test_a_browser_shows_queue_and_places_at_any_time(name, tmp_path):
    timeline = timeline_of(RUNS[name]())
    seen = shown(
        player_page(timeline, name),
        f"const shares = {list(SHARES)};"
        """
        tell(shares.map((share) => {
          seek(share * end);
          const { width, height } = $("scene");
          const pixels = $("scene").getContext("2d").getImageData(0, 0, width, height).data;
          const inked = pixels.some((value, each) => each % 4 === 3 && value > 0);
          return [now, $("told").textContent, inked];
        }));
        """,
        tmp_path,
    )
    times_s, waiting = queue_length(timeline)
    claims = timeline.claims
    for time_s, told, inked in seen:
        # between two events, whose times are rounded, the numbers are those of the run
        near = 1e-6 * timeline.end_s
        events = np.concatenate([claims["from_s"], claims["to_s"], times_s])
        if np.abs(events - time_s).min() > near:
            in_use = len(
                set(claims["place"][(claims["from_s"] <= time_s) & (time_s < claims["to_s"])])
            )
            assert told.startswith(f"{values_at(np.array([time_s]), times_s, waiting)[0]} waiting")
            assert f"; {in_use} of {len(timeline.places)} " in told
        assert inked
    assert seen[0][0] == 0
    assert seen[-1][0] == pytest.approx(timeline.end_s, rel=1e-6)
    assert seen[-1][1].startswith("0 waiting; ")


@pytest.mark.slow
@in_browser
def test_keys_clicks_and_the_slider_move_the_run(tmp_path):
    run = RUNS["rental"]()
    seen = shown(
        player_page(run.timeline, "day"),
        """
        const seen = {};
        press("ArrowRight"); press("ArrowRight"); press("ArrowLeft");
        seen.second = [now, times[1]];
        const before = SPEEDS[speed];
        press("ArrowUp"); press("ArrowUp"); press("ArrowDown");
        seen.faster = SPEEDS[speed] > before;
        seek(end / 2);
        const hit = hits[hits.length - 1], job = hits[0].job;
        follow(job);
        seen.followed = [job.name, $("followed").textContent];
        $("scene").dispatchEvent(new MouseEvent("click", { clientX: 0, clientY: 0 }));
        seen.nobody = $("followed").textContent;
        $("scene").onclick({ offsetX: hit.x + hit.width / 2, offsetY: hit.y + hit.height / 2 });
        seen.clicked = [hit.job.name, $("followed").textContent];
        press("Escape");
        $("place").value = .25;
        $("place").oninput();
        seen.scrubbed = now / end;
        seen.late = jobs.filter((job) => isLate(job, end)).length;
        seek(end * .9);
        press(" ");
        seen.playing = $("play").textContent;
        setTimeout(() => { seen.ended = [now / end, $("play").textContent]; tell(seen); }, 3800);
        for (let each = 0; each < 9; each++) press("ArrowUp");
        """,
        tmp_path,
    )
    assert seen["second"][0] == seen["second"][1] > 0
    assert seen["faster"]
    assert seen["followed"][1].startswith(f"job {seen['followed'][0]}: ")
    assert seen["nobody"] == "Click a job to follow it."
    assert seen["clicked"][1].startswith(f"job {seen['clicked'][0]}: ")
    assert seen["scrubbed"] == pytest.approx(0.25)
    assert seen["late"] == int((run.jobs["finish_s"] > run.jobs["deadline_s"]).sum()) > 0
    assert seen["playing"] == "Pause"
    assert seen["ended"] == [1, "Play"]
