"""A run in motion: what a frame of a film shows, and the files it becomes."""

import shutil
import subprocess

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from matplotlib.colors import to_hex
from PIL import Image
from support import check_bad_input, frame_at, outcome, output, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.timeline import CLAIM, VISIT, Timeline
from cgrsp_simpy.cli import main
from cgrsp_simpy.dag.scenario import simulate
from cgrsp_simpy.plots.style import EXECUTING, PROVISIONING


@pytest.fixture(scope="module")
def run():
    return cg.simulate(cg.day("hectic", jobs=30, slots=3), "spt", 1)


def colours_of_box(bottom, column):
    """The filling of a box, from the bottom up: colours and how high they
    reach.
    """
    filled = bottom.collections[0]
    boxes = [path.get_extents() for path in filled.get_paths()]
    return [
        (to_hex(colour), round((box.y1 + 0.95) / 0.9, 6))
        for colour, box in sorted(
            zip(filled.get_facecolor().tolist(), boxes), key=lambda each: each[1].y0
        )
        if column < box.x0 < column + 1
    ]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9])
def test_a_frame_shows_queue_and_slots_at_its_time(run, share):
    time_s = share * run.tally.end_s
    top, bottom = frame_at(run, time_s)
    jobs = run.jobs
    waiting = int(((jobs["submit_s"] <= time_s) & (time_s < jobs["dispatch_s"])).sum())
    assert top.get_title("left").endswith(f"{waiting} waiting")
    assert top.lines[0].get_ydata()[-1] == waiting
    for slot in range(3):
        held = jobs[
            (jobs["slot"] == slot)
            & (jobs["dispatch_s"] <= time_s)
            & (time_s < jobs["finish_s"])
        ]
        runs = bool(len(held)) and held["start_s"][0] <= time_s
        filled = [] if not len(held) else [(EXECUTING if runs else PROVISIONING, 1.0)]
        assert colours_of_box(bottom, slot) == filled
        assert bottom.texts[2 * slot].get_text() == (
            f"job {held['job'][0]}" if len(held) else ""
        )


@pytest.mark.slow
def test_a_run_without_length_has_a_film(tmp_path):
    visits = np.array([(0, 0.0, 0.0, 0.0, np.nan)], VISIT)
    run = Timeline("slot", ("a",), (1.0,), np.array([], CLAIM), visits)
    cg.plots.animate(run, frames=2).save(tmp_path / "a.gif")


@pytest.mark.slow
def test_a_gif_has_the_frames(run, tmp_path):
    cg.plots.animate(run, frames=5, fps=10).save(tmp_path / "day.gif")
    with Image.open(tmp_path / "day.gif") as picture:
        assert picture.n_frames == 5
        assert picture.info["duration"] == 100


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("ffprobe") is None, reason="ffmpeg is not installed")
def test_a_film_of_two_policies_has_the_frames(run, tmp_path):
    other = cg.simulate(run.scenario, "edf", 1)
    cg.plots.animate([run, other], frames=6, fps=3).save(tmp_path / "day.mp4")
    asked = "-count_frames -show_entries stream=nb_read_frames,width,height -of csv=p=0"
    message = subprocess.run(
        ["ffprobe", "-v", "error", *asked.split(), tmp_path / "day.mp4"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert message.strip() == "1280,540,6"


def test_without_ffmpeg_a_one_line_error_appears_before_anything_runs(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    path = tmp_path / "day.mp4"
    assert main(["run", "quiet", "--show", str(path)]) == 2
    message = (
        f"cgrsp run: {path}: an .mp4 file needs ffmpeg, which is not installed;"
        " .html and"
        " .gif do not\n"
    )
    assert capsys.readouterr() == ("", message)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [("link/a.html", "link is not a directory"), ("folder.gif", "not of a folder")],
)
def test_an_unwritable_file_gives_a_one_line_error_and_leaves_nothing(
    name, message, tmp_path, capsys
):
    (tmp_path / "folder.gif").mkdir()
    (tmp_path / "link").symlink_to("nowhere")
    line = ["run", "quiet", "jobs=3", "--show", tmp_path / name]
    check_bad_input(outcome(capsys, *line), [name, message])
    assert len([*tmp_path.rglob("*")]) == 2


# ---- cgrsp run --show ----


@pytest.mark.slow
def test_two_policies_are_shown_and_printed(tmp_path, capsys):
    words = ["run", "quiet", "jobs=12", "--policy"]
    policies = "edf,rh:reserve=2,gate=9"
    assert (
        output(capsys, *words, policies, "--show", str(tmp_path / "day.html"))
        .splitlines()[1]
        .split()[1]
        == "edf"
    )
    page = (tmp_path / "day.html").read_text("utf-8")
    assert page.count('"policy":"edf"') == page.count('"policy":"rh"') == 1
    assert main([*words, "edf,spt"]) == 2
    message = "one, or two with --show FILE that ends in .html, .gif, .mp4"
    assert (
        capsys.readouterr().err
        == f"cgrsp run: --policy(='edf,spt') must be {message}\n"
    )


test_frames_and_names_of_files_are_checked = refusals(
    (
        lambda run: cg.plots.animate(run, frames=2).save("day.avi"),
        "file(='day.avi') must be a name that ends in .html, .gif, .mp4",
    ),
    (lambda run: cg.plots.animate(run, frames=1), "frames"),
    (
        lambda run: cg.plots.animate(cg.simulate(run.scenario, "fifo", records=False)),
        "has no records",
    ),
    (
        lambda run: cg.plots.animate(cg.simulate(cg.model(lambda env: {"x": 1.0}))),
        "processes that request a cg.Resource",
    ),
    (lambda run: cg.plots.animate(run, fps=1e-6), "from 0.1 to 100"),
    (lambda run: cg.plots.animate(run, fps=1e9), "from 0.1 to 100"),
    (lambda run: cg.plots.animate(run).save(b"x.html"), "file(=b'x.html') must be a"),
    (lambda run: cg.plots.animate(run).save(None), "file(=None) must be a name"),
    call=lambda made: made(cg.simulate(cg.day("quiet"), "fifo")),
)


@pytest.mark.parametrize("name", ["a.avi", "a"])
def test_a_wrong_name_is_rejected_before_anything_is_run_or_drawn(
    name, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    line = f"run quiet --show events --show day.png --show {name}"
    suffixes = ".png, .svg, .pdf, .html, .gif, .mp4, .swf"
    words = [f"--show(='{name}') must be events, step, or a file that ends", suffixes]
    check_bad_input(outcome(capsys, *line.split()), words)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_box_shows_the_name_of_its_job_if_it_fits():
    graph = cg.dag.Graph(
        [8, 4], [0, 0], [], [], names=("r0 l3.0", "map_of_the_genome_023")
    )
    plan = cg.dag.Plan(np.array([0, 1]))
    texts = {}
    for gpus in (2, 12):
        run = simulate(
            cg.dag.Problem(graph, cg.dag.Servers(gpus, tflops=(1.0,)).platform()), plan
        )
        _, bottom = frame_at(run, 1.0)
        texts[gpus] = [text.get_text() for text in bottom.texts[:4:2]]
    assert texts == {2: ["r0 l3.0", "map_of_the_genome_023"], 12: ["r0…3.0", "ma…023"]}
