"""Lectures as notebooks, with their pictures in them, and as slides."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import check_bad_input, check_refused, outcome

from cgrsp_simpy.cli import main
from cgrsp_simpy.exercises import pages

FOLDER = Path(__file__).parents[2] / "scenarios" / "lectures"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
SCRIPTS = [*sorted(FOLDER.glob("[0-9]*.py")), FOLDER / "lab_own_log.py"]


def on_slides(script):
    """The first lines of the slides of a lecture's notebook."""
    cells = pages.notebook(script.read_text(encoding="utf-8")).cells
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    return [text.splitlines()[0] for text in texts if text.startswith("#")]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_each_heading_and_each_title_of_a_cell_begins_a_slide(script, notebooks):
    result = on_slides(script)
    text = script.read_text(encoding="utf-8")
    headings = re.findall(r"^# (#{1,3} .*)$", text, re.MULTILINE)
    titles = [
        f"## {title}" for title in re.findall(r"^# %% ([^\[\n].*)$", text, re.MULTILINE)
    ]
    # the docstring is the first
    assert re.match(r"# (Lecture \d+|Lab): ", result[0])
    assert sorted(result[1:]) == sorted(headings + titles) and len(result) >= 6


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_slides_show_no_code_that_draws(script, notebooks):
    cells = pages.notebook(script.read_text(encoding="utf-8")).cells
    shown = "\n".join(
        cell.source
        for cell in cells
        if cell.cell_type == "code"
        and pages.PICTURE not in cell.metadata.get("tags", ())
    )
    assert not re.findall(r"plt\.|styled\(|\.set_title\(|\.legend\(|colou?r=", shown)


LONG = """\
# %% [markdown]
# Before
#
# ## Heading
# Text

# %% Title
{0}

# %%
{0}

plt.savefig("x.png")
"""


def test_slides_have_at_most_22_lines_of_code_and_none_that_draws(
    monkeypatch, notebooks
):
    ran = []
    monkeypatch.setattr(pages, "run", lambda *what: ran.append(what))
    parts = ["\n".join(f"x{n}_{k} = 0" for k in range(n)) for n in (9, 12, 8, 14, 3)]
    page = pages.slides(LONG.format("\n\n".join(parts)))
    blocks = re.findall("<pre>.*?</pre>", page, re.DOTALL)
    # with empty lines between parts: 9 + 12, 8 (with 14 it would be 23), 14 + 3
    assert [text.count("\n") for text in blocks] == [22, 8, 18]
    assert (
        len(re.findall("<h2|^## ", page, re.MULTILINE)) == 2 and "savefig" not in page
    )
    assert ".highlight .k" in page and "{{" not in page
    assert len(ran) == 1


def test_a_notebook_is_run_in_a_folder_and_shows_its_pictures(monkeypatch):
    calls = []

    def client(notebook, **settings):
        return SimpleNamespace(execute=lambda env: calls.append((settings, env)))

    monkeypatch.setattr(
        pages, "_needed", lambda _: SimpleNamespace(NotebookClient=client)
    )
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pages.run(None, "here")
    [(settings, env)] = calls
    assert settings["resources"] == {"metadata": {"path": "here"}}
    assert env == {
        name: os.environ[name] for name in os.environ if name != "MPLBACKEND"
    }


def test_a_notebook_is_the_same_each_time_and_valid(notebooks):
    script = SCRIPTS[2].read_text(encoding="utf-8")
    notebook, again = map(pages.notebook, [script] * 2)
    assert notebook == again
    sys.modules["nbformat"].validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert [cell["id"] for cell in notebook.cells] == [
        f"cell-{place}" for place in range(len(notebook.cells))
    ]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(script, marks=pytest.mark.long if n else pytest.mark.slow)
        for n, script in enumerate(SCRIPTS)
    ],
    ids=lambda script: script.stem,
)
def test_a_notebook_prints_the_out_file_and_shows_the_picture_inline_once(
    script, tmp_path, teach
):
    notebook = pages.notebook(script.read_text(encoding="utf-8"))
    pages.run(notebook, tmp_path)
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    printed = [each.text for each in outputs if each.get("name") == "stdout"]
    assert "".join(printed) == script.with_suffix(".out").read_text(encoding="utf-8")
    assert sum("image/png" in each.get("data", {}) for each in outputs) == 1
    assert len(list(tmp_path.rglob("*.png"))) == 1


@pytest.mark.slow
def test_slides_by_command_show_pictures_whatever_backend_is_set(
    tmp_path, capfd, caplog, monkeypatch, teach
):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert main(["lectures", "1", "--slides", str(tmp_path)]) == 0
    (path,) = tmp_path.iterdir()
    # the kernel and what makes the page say nothing of their own
    assert (*capfd.readouterr(), *caplog.messages) == (f"{path}\n", "")
    page = path.read_text(encoding="utf-8")
    assert len(re.findall("<h[123] ", page)) == len(on_slides(SCRIPTS[0]))
    # nothing is loaded from elsewhere
    assert not re.search(r"(src|href)=.(https?:)?//", page)
    assert "checked: Four customers are eight events (8: equal 8)" in page
    # the code that draws is left out
    assert "heapq" in page and "savefig" not in page
    assert page.count('src="data:image/png;base64,') == 1
    result = outcome(capfd, "lectures", 1, "--slides", tmp_path)
    check_bad_input(result, ["a folder without 01_event_list.slides.html"])
    check_refused(lambda: pages.slides("# %%\n1 / 0"), "fails: ZeroDivisionError")


def slide_heights(page, folder):
    """The height of each slide's content in Chromium, px of a slide of 720."""
    measure = """<script>addEventListener("load", () => setTimeout(() => {
      document.title = slides.map((each) => {
        each.classList.add("now");
        each.style.transform = "none";
        const boxes = [...each.children].map(
          (block) => block.getBoundingClientRect().bottom);
        each.classList.remove("now");
        return Math.max(...boxes);
      }).join(" ");
    }, 500))</script></html>"""
    path = folder / "measured.html"
    path.write_text(page.replace("</html>", measure), encoding="utf-8")
    quiet = (
        "--headless --no-sandbox --disable-gpu --disable-background-networking"
        " --no-first-run"
    )
    own = ["--window-size=1280,720", "--virtual-time-budget=4000", "--dump-dom"]
    command = [BROWSER, *quiet.split(), f"--user-data-dir={folder / 'profile'}", *own]
    done = subprocess.run(
        [*command, path.as_uri()], capture_output=True, text=True, timeout=120
    )
    (message,) = re.findall("<title>(.*?)</title>", done.stdout)
    return [float(each) for each in message.split()]


@pytest.mark.long
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_no_slide_is_higher_than_the_screen(script, tmp_path, teach):
    text = script.read_text(encoding="utf-8")
    heights = slide_heights(pages.slides(text), tmp_path)
    assert len(heights) >= len(on_slides(script))
    assert max(heights) <= 720


def test_a_notebook_by_command(tmp_path, capsys, notebooks):
    assert main(["lectures", "lab", "--notebook", str(tmp_path)]) == 0
    capsys.readouterr()
    written = sys.modules["nbformat"].read(tmp_path / "lab_own_log.ipynb", as_version=4)
    sys.modules["nbformat"].validate(written)
    assert written.cells[1].source.startswith("# Lab: your own log")
    install, lines = written.cells[0].source, written.cells[0].source.splitlines()
    exec(install, {})  # installs nothing: the package is here
    folder, wheel = (
        line.removeprefix("# %pip install ") for line in lines if "%pip" in line
    )
    project = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())[
        "project"
    ]
    assert Path(folder).name == project["name"]
    # as PEP 427 names the wheel of a package without compiled code
    assert (
        Path(wheel).name == f"{project['name']}-{project['version']}-py3-none-any.whl"
    )
    elsewhere = subprocess.run(
        [sys.executable, "-I", "-S", "-c", install], capture_output=True, text=True
    )
    # and the lines above say what to do
    assert "No module named 'cgrsp_simpy'" in elsewhere.stderr


def test_without_the_packages_a_one_line_error_names_the_extra(
    monkeypatch, capsys, tmp_path
):
    monkeypatch.setitem(sys.modules, "jupytext", None)
    assert main(["lectures", "1", "--notebook", str(tmp_path)]) == 2
    assert (
        capsys.readouterr().err
        == 'cgrsp lectures: notebooks and slides need jupytext: pip install ".[teach]"'
        " in a clone\n"
    )
    assert not list(tmp_path.iterdir())
