"""The page that plays a run: it has the data of the run, is small and self-contained,
and a browser shows the run.
"""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import Page, check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.analysis.metrics import queue_length
from cgrsp_simpy.base.timeline import CLAIM, VISIT, Timeline, timeline_of
from cgrsp_simpy.plots.animation import player_page
from cgrsp_simpy.studies.subject import subject_of

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
    "waiting": (
        lambda: subject_of(
            cg.waiting.Scenario(cg.waiting.ExponentialJobs(60, 0.02, 500.0), machines=8)
        ).run("ajw-t", 1)
    ),
    "hgsp": lambda: subject_of(
        subject_of(cg.hgsp.Scenario("tasks1", noise=0.2)).varied(tasks=60)
    ).run("atc", 1),
    "llm": lambda: subject_of(cg.llm.Scenario(cg.llm.Offered(60))).run("wsrpt"),
    "cluster": (
        lambda: subject_of(
            cg.cluster.Scenario(cg.cluster.Offered(jobs=60, warm_up=0))
        ).run("easy", 1)
    ),
    "dag": lambda: subject_of(cg.dag.Scenario("er:n=30", cg.dag.Servers(3))).run(
        "heft", 1
    ),
    "spot": (
        lambda: subject_of(cg.spot.Scenario(hours=8.0, deadline=10.0)).run(
            "uniform-progress", 1
        )
    ),
}
every_run = pytest.mark.parametrize("name", RUNS)


def decoded(run):
    """The claims and visits that a run of a page represents, in ticks, as its docstring
    says.
    """
    jobs, bars = run["jobs"], run["bars"]
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
        key = (int(ids[number]), place, run["phases"][phase]["name"], begin[row])
        amount = run["sizes"][place] if bars["low"] is None else bars["amount"][row]
        assert claims.get(key, (length, 0))[0] == length
        claims[key] = (length, claims.get(key, (length, 0.0))[1] + amount)
    return claims, visits


def same_as(data, timeline, number=0):
    """Assert that data hold a timeline, times to half a tick, amounts to six
    decimals.
    """
    run, tick_s = data["runs"][number], data["tick_s"]
    claims, visits = decoded(run)
    assert 1e-8 <= tick_s / (data["end"] * tick_s) <= 1.1e-6
    message = {}
    for claim in timeline.claims:
        from_s, to_s = np.rint([claim["from_s"] / tick_s, claim["to_s"] / tick_s])
        key = (claim["job"], claim["resource"], claim["phase"], from_s)
        before = message.get(key, (to_s - from_s, 0.0))
        message[key] = (to_s - from_s, before[1] + claim["amount"])
    assert set(message) == set(claims)
    for key, (length, amount) in message.items():
        assert claims[key] == (length, pytest.approx(amount, abs=1e-5))
    assert set(visits) == set(timeline.visits["job"].tolist())
    for visit in timeline.visits.tolist():
        expected = [time_s / tick_s for time_s in visit[1:]]
        assert visits[visit[0]] == pytest.approx(expected, abs=0.5, nan_ok=True)
    assert run["places"] == list(timeline.resources)
    assert run["sizes"] == pytest.approx(timeline.sizes)


def data_of(*runs):
    return Page(player_page(runs, "a")).data


@every_run
def test_the_data_are_the_claims_and_visits_of_the_run(name):
    timeline = RUNS[name]().timeline
    data = data_of(timeline)
    same_as(data, timeline)
    (run,) = data["runs"]
    kinds = [run["kinds"][kind]["name"] for kind in run["jobs"]["kind"] or []]
    ids = np.cumsum(run["jobs"]["job"]).tolist()
    assert kinds in ([], [timeline.kinds.get(job, "executing") for job in ids])
    assert run["jobs"]["label"] in (
        None,
        [timeline.labels.get(job, str(job)) for job in ids],
    )


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
def test_any_claims_survive_a_round_trip(wanted):
    """Jobs of odd amounts and times, some with deadlines, some never served; places
    that hold any number of them.
    """
    claims, visits = [], []
    for job, (place, amount, at_s, length_s, due) in enumerate(wanted):
        visits.append(
            (3 * job - 5, at_s, at_s, at_s + length_s, at_s + 7 if due else np.nan)
        )
        claims.append((3 * job - 5, place, amount, "executing", at_s, at_s + length_s))
    visits.append((1_000_000, 2.5, np.nan, 9.0, np.nan))
    places = ("a", "b", "c")
    made = Timeline(
        "x", places, (60.0,) * 3, np.array(claims, CLAIM), np.array(visits, VISIT)
    )
    same_as(data_of(made), made)


@pytest.mark.slow
def test_a_day_of_a_thousand_jobs_under_two_policies_is_a_small_file(tmp_path):
    day = cg.day("hectic", jobs=1000, persistence_s=600)
    runs = [cg.simulate(day, policy, 1) for policy in ("rh", "cadr")]
    cg.plots.animate(runs).save(tmp_path / "day.html")
    assert (tmp_path / "day.html").stat().st_size < 300_000
    data = Page((tmp_path / "day.html").read_text("utf-8")).data
    for number, run in enumerate(runs):
        same_as(data, run.timeline, number)


def test_the_page_shows_the_explanations_of_the_rules():
    run = cg.simulate(cg.day("hectic", jobs=60, tight_fraction=0.5), "cadr", 1)
    data, message = data_of(run), run.report.reasons(run)
    why = data["runs"][0]["why"]
    ids = np.cumsum(data["runs"][0]["jobs"]["job"]).tolist()
    texts = why["texts"]
    assert [why["order"], why["place"]] == [message.order, message.place]
    assert len(message.choices) == len(why["at"]) == run.decisions
    for at, rows, said, offers, kept, choice in zip(
        np.cumsum(why["at"]),
        *(why[name] for name in ("jobs", "said", "offers", "kept")),
        message.choices,
    ):
        assert at == round(choice.time_s / data["tick_s"])
        assert [
            (ids[row], texts[text]) for row, text in zip(rows, said)
        ] == choice.ranked
        result = {ids[row]: [texts[text] for text in own] for row, *own in offers}
        assert (result, kept) == (choice.offers, choice.kept)
    assert any(choice.offers for choice in message.choices)


def test_only_runs_of_the_same_jobs_are_compared():
    day = cg.day("quiet", jobs=20)
    run = cg.simulate(day, "fifo", 1)
    for others in (
        [cg.simulate(day, "edf", 2)],
        [cg.simulate(subject_of(day).varied(jobs=19), "edf", 1)],
    ):
        with pytest.raises(
            cg.InputError, match="must be runs of the same jobs and seed"
        ):
            cg.plots.animate([run, *others])
    check_refused(lambda: cg.plots.animate([run] * 3), ["runs(=3) must be one or two"])
    late = {0: "the first job", 1e9: "the end"}
    check_refused(
        lambda: cg.plots.animate(run, captions=late),
        ["time of a caption(=1000000000.0) must be at most "],
    )


def test_a_page_needs_nothing_else_and_is_the_same_each_time(tmp_path):
    for name in ("a.html", "b.html"):
        (tmp_path / name[0]).mkdir()
        cg.plots.animate(RUNS["rental"]()).save(tmp_path / name[0] / "day.html")
    page, again = ((tmp_path / name / "day.html").read_text("utf-8") for name in "ab")
    assert page == again
    assert not [row for _, row in Page(page).tags if {"src", "href"} & row.keys()]
    assert not re.search(r"https?:|url\(|import|fetch|XMLHttp|@[A-Z]+@", page)


def test_a_run_without_length_has_a_page():
    visits = np.array([(0, 0.0, 0.0, 0.0, np.nan)], VISIT)
    made = Timeline("x", ("a",), (1.0,), np.array([], CLAIM), visits)
    assert (made.end_s, *decoded(data_of(made)["runs"][0])) == (
        0,
        {},
        {0: (0, 0, 0, pytest.approx(np.nan, nan_ok=True))},
    )


# ---- in a browser ----


def shown(page, script, folder, size="1280,760"):
    """Run a script in the page once it has loaded, and return its answer."""
    message = f"""<script>{{
      const errors = [];
      window.addEventListener("error", ({{ message }}) => errors.push(message));
      const answer = document.createElement("pre");
      answer.id = "answer";
      document.body.append(answer);
      const press = (key) =>
        document.dispatchEvent(new KeyboardEvent("keydown", {{ key }}));
      const give = (found) => answer.textContent = JSON.stringify({{ found, errors }});
      {script}
    }}</script></html>"""
    return answered(page.replace("</html>", message), folder, size)


def answered(page, folder, size):
    """Return the answer of a page in a browser."""
    path = folder / "shown.html"
    path.write_text(page, encoding="utf-8")
    options = (
        "--headless --no-sandbox --disable-gpu --disable-background-networking"
        " --no-first-run"
    )
    page_of = f"--window-size={size} --virtual-time-budget=4000 --dump-dom"
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [BROWSER, *options.split(), profile, *page_of.split(), path.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    result = json.loads(Page(dom).texts["answer"])
    assert result["errors"] == []
    return result["found"]


in_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)


@pytest.mark.slow
@in_browser
@every_run
def test_a_browser_shows_queue_and_places_at_any_time(name, tmp_path):
    timeline = timeline_of(RUNS[name]())
    seen = shown(
        player_page([timeline], name),
        f"const shares = {list(SHARES)};"
        """
        give(shares.map((share) => {
          seek(share * end);
          const { canvas, part } = panes[0], { width, height } = canvas;
          const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
          const inked = pixels.some((value, each) => each % 4 === 3 && value > 0);
          return [now, part(".told").textContent, inked];
        }));
        """,
        tmp_path,
    )
    times_s, waiting = queue_length(timeline)
    claims = timeline.claims
    for time_s, message, inked in seen:
        # between two events, whose times are rounded, the numbers are those of the run
        near = 1e-6 * timeline.end_s
        events = np.concatenate([claims["from_s"], claims["to_s"], times_s])
        if np.abs(events - time_s).min() > near:
            in_use = len(
                set(
                    claims["resource"][
                        (claims["from_s"] <= time_s) & (time_s < claims["to_s"])
                    ]
                )
            )
            past = int(np.searchsorted(times_s, time_s, side="right"))
            number = waiting[past - 1] if past else 0
            assert message.startswith(f"{number} waiting")
            assert f"; {in_use} of {len(timeline.resources)} " in message
        assert inked
    assert seen[0][0] == 0
    assert seen[-1][0] == pytest.approx(timeline.end_s, rel=1e-6)
    assert seen[-1][1].startswith("0 waiting; ")


@pytest.mark.slow
@in_browser
def test_keys_clicks_and_the_slider_move_the_run(tmp_path):
    run = RUNS["rental"]()
    seen = shown(
        player_page([run], "day"),
        """
        const seen = {}, { canvas, part, jobs } = panes[0];
        press("ArrowRight"); press("ArrowRight"); press("ArrowLeft");
        seen.second = [now, times[1]];
        const before = SPEEDS[speed];
        press("ArrowUp"); press("ArrowUp"); press("ArrowDown");
        seen.faster = SPEEDS[speed] > before;
        seek(end / 2);
        const { hits } = panes[0], hit = hits[hits.length - 1], job = hits[0].job;
        follow(job.id);
        seen.followed = [job.name, part(".followed").textContent];
        canvas.dispatchEvent(new MouseEvent("click", { clientX: 0, clientY: 0 }));
        seen.nobody = part(".followed").textContent;
        const middle = [hit.x + hit.width / 2, hit.y + hit.height / 2];
        canvas.onclick({ offsetX: middle[0], offsetY: middle[1] });
        seen.clicked = [hit.job.name, part(".followed").textContent];
        press("Escape");
        $("place").value = .25;
        $("place").oninput();
        seen.scrubbed = now / end;
        seen.late = jobs.filter((job) => isLate(job, end)).length;
        seek(end * .9);
        press(" ");
        seen.playing = $("play").textContent;
        const space = new KeyboardEvent(
          "keydown", { key: " ", bubbles: true, cancelable: true });
        $("faster").dispatchEvent(space);
        seen.space = [space.defaultPrevented, $("play").textContent];
        for (let each = 0; each < 9; each++) press("ArrowUp");
        let left = 70;  // pauses in which frames can be drawn
        const wait = () => {
          if (playing && left--) return setTimeout(wait, 50);
          seen.ended = [now / end, $("play").textContent];
          give(seen);
        };
        wait();
        """,
        tmp_path,
    )
    assert seen["second"][0] == seen["second"][1] > 0
    assert seen["faster"]
    assert seen["followed"][1].startswith(f"job {seen['followed'][0]}: ")
    assert seen["nobody"] == ""
    assert seen["clicked"][1].startswith(f"job {seen['clicked'][0]}: ")
    assert seen["scrubbed"] == pytest.approx(0.25)
    assert (
        seen["late"] == int((run.jobs["finish_s"] > run.jobs["deadline_s"]).sum()) > 0
    )
    assert seen["playing"] == "Pause"
    assert seen["space"] == [False, "Pause"]  # it presses that button
    assert seen["ended"] == [1, "Play"]


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("persistence_s", [0, 1800])
def test_bands_and_numbers_are_explained_and_no_text_hides_a_band(
    width, persistence_s, tmp_path
):
    """And the page has one heading of the first level; all texts are in landmarks."""
    day = cg.day("normal", persistence_s=persistence_s)
    seen = shown(
        player_page([cg.simulate(day, "cadr", 1)], "A day"),
        f"""
        document.body.style.maxWidth = "{width}px";
        """
        """
        const bars = [], texts = [], { fillRect, fillText } =
          CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.fillRect = function (x, y, wide, high) {
          if (this.canvas.id === "stock" && wide !== 2.5) bars.push([y, y + high]);
          fillRect.call(this, x, y, wide, high);
        };
        CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
          if (this.canvas.id === "stock")
            texts.push([y - this.font.match(/[\\d.]+(?=px)/)[0] * .75, y, text]);
          fillText.call(this, text, x, y);
        };
        seek(0);
        const outside = [...document.querySelectorAll("p, canvas, button, span")]
          .filter((element) => !element.closest("header, main, footer, template"));
        give({ bars, texts, outside: outside.map(({ id }) => id),
          font: parseFloat(getComputedStyle(document.body).fontSize),
          headings: [...document.querySelectorAll("h1")].map((h1) => h1.textContent),
          legend: $("legend").textContent, course: $("course-caption").textContent,
          stock: $("stock-caption").textContent });
        """,
        tmp_path,
        f"{max(width, 500)},844",
    )
    assert len(seen["texts"]) == len(set(day.slots))
    for top, bottom, _ in seen["texts"]:
        assert all(bottom <= low or top >= high for low, high in seen["bars"])
    assert seen["headings"] == ["A day"] and seen["outside"] == []
    assert "order of the policy at its last decision" in seen["legend"]
    assert "scarce hours: Low stock is more likely than" in seen["course"]
    levels = "HighMediumLow" if persistence_s else "0 %50 %100 %"
    assert levels in seen["stock"]


@pytest.mark.slow
@in_browser
def test_playing_waits_at_a_caption_and_goes_on(tmp_path):
    seen = shown(
        player_page([RUNS["rental"]()], "day", {3600: "An hour later"}),
        """
        let next;
        window.requestAnimationFrame = (frame) => (next = frame, 1);
        const played = () => {  // a frame a second, until it stops
          press(" ");
          for (let at = performance.now(); playing !== null; next(at += 1000));
          return now;
        };
        give([played(), played(), end]);
        """,
        tmp_path,
    )
    assert seen == [pytest.approx(3600, rel=1e-6), seen[-1], seen[-1]]


@pytest.mark.slow
@in_browser
@pytest.mark.parametrize("policy", ["fifo", "cadr", "rh"])
def test_every_first_job_that_waits_has_its_number(policy, tmp_path):
    """In the dense stacks of a hectic day, too."""
    seen = shown(
        player_page([cg.simulate(cg.day("hectic"), policy, 0)], "day"),
        """
        const written = [], fill = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
          if (/^[1-5](, [1-5])*\\.$/.test(text))
            written.push(...text.match(/\\d/g).map(Number));
          fill.call(this, text, ...more);
        };
        give([.1, .2, .3, .4, .6, .8].map((share) => {
          written.length = 0;
          seek(share * end);
          const ranks = choiceAt(now).ranked
            .map(([job], index) => [stateOf(job, now), index + 1])
            .filter(([state]) => state === "waiting").map(([, rank]) => rank);
          return [written.sort(), ranks];
        }));
        """,
        tmp_path,
    )
    assert all(written == ranks for written, ranks in seen)
    assert sum(len(ranks) for _, ranks in seen) > 20


@pytest.mark.slow
@in_browser
# no window of Chromium is narrower
@pytest.mark.parametrize("size", ["1366,768", "1280,900", "500,844"])
def test_two_policies_are_labelled_without_overlap(size, tmp_path):
    day = cg.day("normal", persistence_s=1800, tight_fraction=0.8)
    runs = [cg.simulate(day, policy, 1) for policy in ("spt", "cadr")]
    width = 390 if size.startswith("500") else 1366
    seen = shown(
        player_page(runs, "day", {0: "From the start", 3600: "An hour later"}),
        f"""
        document.body.style.maxWidth = "{width}px";
        """
        """
        answer.hidden = true;
        const selectors = "h2, p, canvas, output, nav, header > span";
        const boxes = () => [...document.body.querySelectorAll(selectors)]
          .filter((each) => each.getClientRects().length && !each.closest("footer"))
          .map((each) => ({ ...each.getBoundingClientRect().toJSON(),
            name: each.className || each.id }));
        const upon = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 &&
          a.top < b.bottom - 1 && b.top < a.bottom - 1;
        give([0, 3 * 3600, 5 * 3600].map((at) => {
          seek(at);
          const all = boxes(), pairs = all.flatMap((a, each) => all.slice(each + 1)
            .filter((b) => upon(a, b)).map((b) => [a.name, b.name]));
          const cut = ["watch", "caption"]
            .filter((name) => $(name).scrollHeight > $(name).clientHeight + 1);
          const bottom = $("stock").getBoundingClientRect().bottom;
          const over = bottom - document.querySelector("footer").offsetTop;
          return { pairs, cut, over, caption: $("caption").textContent,
            watch: $("watch").textContent,
            why: panes.map(({ part }) => part(".why").textContent),
            rule: panes.map(({ part }) => part(".rule").textContent) };
        }));
        """,
        tmp_path,
        size,
    )
    assert [each["pairs"] + each["cut"] for each in seen] == [[]] * 3
    assert width == 390 or max(each["over"] for each in seen) <= 0
    assert [each["caption"] for each in seen] == ["From the start"] + [
        "An hour later"
    ] * 2
    assert seen[1]["watch"].startswith("Next: scarce hours in 1 h")
    assert "scarce hours until 10:00:00" in seen[2]["watch"]
    assert "misses its deadline under" in seen[1]["watch"]
    assert "doomed ones. Place: The cheapest slot in time" in seen[1]["rule"][1]
    assert re.match(
        r"Order at 2:\d\d:\d\d: \d+ \(safe ones by time, \d+ s\)", seen[1]["why"][1]
    )


@pytest.mark.slow
@in_browser
def test_an_embedded_page_keeps_its_position_when_it_is_regenerated(tmp_path):
    """As on the live page, when a slider moves."""
    day = cg.day("quiet", jobs=20)
    pages = [
        player_page([cg.simulate(subject_of(day).varied(slots=n), "edf", 1)], "day")
        for n in (5, 6)
    ]
    message = json.dumps(pages).replace("</", "<\\/")
    outer = f"""<html><iframe id="inner"></iframe><pre id="answer"></pre><script>
      const pages = {message}, inner = document.getElementById("inner"), found = [];
      inner.onload = () => {{
        const within = inner.contentWindow;
        found.push(within.eval("[now, speed, panes[0].places.length]"));
        if (found.length === 1) {{
          within.eval("seek(1000); change(2)");
          found.push(within.eval("[now, speed]"));
          inner.srcdoc = pages[1];
        }} else document.getElementById("answer").textContent =
          JSON.stringify({{ found, errors: [] }});
      }};
      inner.srcdoc = pages[0];
    </script></html>"""
    (start, _, slots), moved, after = answered(outer, tmp_path, "1280,760")
    assert (start, slots) == (0, 5)
    assert after == [*moved, 6]
    assert moved[0] == 1000
