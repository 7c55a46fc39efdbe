"""The commands and scripts of the README and of the pages run, and print the output
that is shown.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from shutil import which

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.cli import VERBS, parser_of

ROOT = Path(__file__).parents[2]
SECTIONS = ("howto", "reference", "explanation")
PAGES = {
    path.stem: path.read_text(encoding="utf-8")
    for path in (
        ROOT / "README.md",
        *(
            path
            for name in SECTIONS
            for path in sorted((ROOT / "docs" / name).glob("*.md"))
        ),
    )
    if path.stem != "index"
}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
BLOCKS = {name: BLOCK.findall(text) for name, text in PAGES.items()}
TUTORIAL = sorted((ROOT / "docs" / "tutorial").glob("*_*.md"))
COMMANDS = list(
    dict.fromkeys(
        line
        for blocks in BLOCKS.values()
        for kind, text in blocks
        if kind == "sh"
        for line in text.splitlines()
    )
)
OF_SCENARIOS = {
    path.read_text(encoding="utf-8") for path in (ROOT / "scenarios").glob("*.py")
}
SCENARIOS = [  # and the suite; other tests run them
    line for line in COMMANDS if re.match(r"\.venv/bin/python (scenarios|tests)/", line)
]
SCRIPTS = [
    pytest.param(text, id=f"{name}-{number}")
    for name, blocks in BLOCKS.items()
    for number, text in enumerate(text for kind, text in blocks if kind == "python")
    if text not in OF_SCENARIOS  # test_scenarios.py runs them
]
SHOWN = {
    text.strip(): after.strip()
    for blocks in BLOCKS.values()
    for (_, text), (kind, after) in pairwise(blocks)
    if kind == "text"
}
QUICK = re.compile(  # a few of every kind; the others: pytest -m slow
    r"cgrsp (plan waiting|run (hgsp|cluster)|policies|lectures$|sample|run .*--(show"
    r" step|by))"
)
INSTALL = re.compile(r"pip install (\S+)")
CALLED = re.compile(
    r"(?<!\.)\bcgrsp ([a-z]+)((?: [a-z_.:]+(?:=\S+)?)*)((?: --[a-z-]+)*)"
)
# minutes
LONG = re.compile(r"cgrsp (bound|compare) hectic .*(--bin|free_types|suspension)")
DATA = ROOT.parent / "shared" / "data"
LOGS = {  # not carried
    "lora_request_trace.csv": DATA / "alibaba_genai_2026",
    "NASA-iPSC-1993-3.1-cln.swf.gz": DATA / "swf",
}


def run(arguments, folder):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    # a first run compiles, and another test may have been the first
    said = re.sub(r"cgrsp: the loop is compiled.*\n", "", done.stderr)
    return (said + done.stdout).strip()


def tier(command):
    return (
        []
        if QUICK.search(command)
        else pytest.mark.long
        if LONG.search(command)
        else pytest.mark.slow
    )


def calls(command):
    """Return the programs that a command line calls after the set-up."""
    programs = {
        ".venv/bin/cgrsp": [sys.executable, "-m", "cgrsp_simpy"],
        ".venv/bin/python": [sys.executable],
    }
    lines = [shlex.split(part, comments=True) for part in command.split("&&")]
    return [
        [*programs[words[0]], *words[1:]] for words in lines if words[0] in programs
    ]


# file that a script of a page writes -> the page, and a part of the script
WRITTEN = {
    "own.toml": ("market", 'to_toml("own.toml")'),
    "prices.csv": ("price_list", 'Path("prices.csv").write_text('),
}


def folder_of(command, place):
    """Return where a command runs: next to its log, or in an empty folder with the
    scenarios and with the files that other commands of the pages make; never in the
    project's own.
    """
    for name, folder in LOGS.items():
        if name in command:
            return folder
    (place / "scenarios").symlink_to(ROOT / "scenarios")
    for file, (page, text) in WRITTEN.items():
        if file in command:
            [script] = (block for _, block in BLOCKS[page] if text in block)
            run([sys.executable, "-c", script], place)
    for name in re.findall(r"(\w+)(?:/\w+)?\.(?:csv|swf)\b", command):
        if f"{name}.csv" in WRITTEN:
            continue
        made = next(
            c for c in COMMANDS if re.search(rf"(sample|--out|--show) {name}\b", c)
        )
        if made != command:
            run(calls(made)[0], place)
    states = [text for kind, text in BLOCKS["live"] if kind == "json"]
    for file, state in zip(("state.json", "cluster.json"), states, strict=True):
        if file in command:
            (place / file).write_text(state, encoding="utf-8")
    if "bank.py" in command:
        [script] = (text for _, text in BLOCKS["README"] if "def bank(" in text)
        (place / "bank.py").write_text(script, encoding="utf-8")
    return place


@pytest.mark.quick_cases(0)
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=tier(command))
        for command in COMMANDS
        if "pytest" not in command and command not in SCENARIOS
    ],
)
def test_command(command, tmp_path):
    if "pgf=yes" in command and which("pdflatex") is None:
        pytest.skip("LaTeX is not installed")
    folder = folder_of(command, tmp_path)
    if not folder.is_dir():
        pytest.skip("the log is not here")
    printed = [run(arguments, folder) for arguments in calls(command)]
    assert all(printed) and printed
    if command in SHOWN:
        assert printed == [SHOWN[command]]


def test_every_command_exists():
    checked = 0
    for command in COMMANDS:
        for words in calls(command):
            if words[1:3] == ["-m", "cgrsp_simpy"]:
                verb = words[3]
                assert parser_of(verb).parse_words(words[4:])
                checked += 1
    assert checked >= 40
    assert all(
        (ROOT / words[-1]).is_file() for line in SCENARIOS for words in calls(line)
    )


def texts_of(path):
    """The strings in a file, line by line, with {} for inserted values."""
    return "\n".join(
        (
            "".join(
                part.value if isinstance(part, ast.Constant) else "{}"
                for part in node.values
            )
            if isinstance(node, ast.JoinedStr)
            else node.value
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str))
    )


@pytest.mark.slow
def test_advice_in_messages_can_be_followed():
    """Extras are those of pyproject.toml, installed from a clone, for the package has
    no other home; commands and options of cgrsp are there.
    """
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    text = "\n".join(map(texts_of, (ROOT / "cgrsp_simpy").rglob("*.py")))
    named = [
        name
        for name in INSTALL.findall(text)
        # the first cells of notebooks; in a browser from the folder itself
        if not name.startswith("/where/it/lies/") and name != "-q"
    ]
    installs = {re.fullmatch(r'"\.\[(\w+)\]"', name) for name in named}
    assert None not in installs and {result[1] for result in installs} == {
        *("app", "completion", "fast", "forecast", "pandas", "teach"),
    }
    assert {result[1] for result in installs} <= extras.keys()
    assert "cgrsp_simpy[" not in text
    commands = set(CALLED.findall(text))
    assert ("papers", " tables thesis", " --out") in commands and len(commands) > 10
    for verb, _, options in commands:
        assert verb in VERBS
        known = parser_of(verb)._option_string_actions
        assert {*options.split()} <= known.keys(), (verb, options)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIAL, ids=lambda page: page.stem)
def test_a_part_of_the_tutorial_runs_from_top_to_bottom(page, tmp_path):
    printed, compared = "", 0
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            name = re.match(r"# (\w+\.py)\n", text)[1]
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif kind == "sh":
            outputs = [
                run(arguments, tmp_path)
                for line in text.splitlines()
                for arguments in calls(line)
            ]
            printed = "\n".join(filter(None, outputs))
        else:
            assert printed == text.strip()
            compared += 1
    assert compared >= 2


@pytest.mark.slow
def test_the_tutorial_states_how_many_jobs_wait_for_over_two_hours():
    text, scope = TUTORIAL[0].read_text(encoding="utf-8"), {"__name__": "mine"}
    exec(next(code for kind, code in BLOCK.findall(text) if kind == "python"), scope)
    day, policy = cg.day("hectic"), scope["shortest_or_oldest"]
    jobs = [cg.simulate(day, policy, seed).jobs for seed in range(10)]
    late = sum((rows["dispatch_s"] - rows["submit_s"] > 7200).mean() for rows in jobs)
    assert f"{10 * late:.0f} % of the jobs wait for over two hours" in text


@pytest.mark.slow
@pytest.mark.parametrize("module", ["dag", "hgsp"])
def test_an_installed_package_offers_its_schedulers_as_the_page_shows(
    module, tmp_path, monkeypatch
):
    (entries,) = (text for kind, text in BLOCKS["extensions"] if kind == "toml")
    (script,) = (text for kind, text in BLOCKS["extensions"] if kind == "python")
    groups = tomllib.loads(entries)["project"]["entry-points"]
    name = {"dag": "last-gpu", "hgsp": "in-order"}[module]
    (tmp_path / "my_package.py").write_text(script, encoding="utf-8")
    info = tmp_path / "my_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: my_package\nVersion: 1\n"
    )
    lines = [
        f"[{group}]\n{key} = {value}\n"
        for group, points in groups.items()
        for key, value in points.items()
    ]
    (info / "entry_points.txt").write_text("".join(lines))
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    monkeypatch.setenv("PYTHONPATH", paths)
    scenario = {"dag": "dag:er:n=20", "hgsp": "hgsp:tasks1"}[module]
    words = ["compare", scenario, "--policies", f"{name}", "--seeds", "1"]
    assert name in run([sys.executable, "-m", "cgrsp_simpy", *words], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script, tmp_path):
    if "distributed" in script:
        pytest.importorskip("distributed")
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    run([sys.executable, "script.py"], tmp_path)


def test_scripts_match_the_scenarios():
    study, policy = (
        next(text for kind, text in BLOCKS[page] if kind == "python")
        for page in ("studies", "policy")
    )
    assert study == (ROOT / "scenarios" / "hectic_day.py").read_text(encoding="utf-8")
    assert policy in (ROOT / "scenarios" / "own_policy.py").read_text(encoding="utf-8")


def test_the_readme_is_short():
    text = PAGES["README"]
    assert len(text.splitlines()) <= 120
