"""Generate pages from lectures, scenarios, figures and docstrings.

Each build of the site writes these pages to docs/made, which Git ignores.
"""

import ast
import csv
import hashlib
import inspect
import os
import re
import shutil
import textwrap
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import jupytext
import nbformat
from api import (
    DOCS,
    PACKAGE,
    ROOT,
    SCENARIOS,
    Name,
    comment,
    home,
    is_constant,
    plain,
    public,
    summary,
)
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from cgrsp_simpy.base.table import Table, cells_of
from cgrsp_simpy.exercises import browser
from cgrsp_simpy.papers import ledger

LECTURES = SCENARIOS / "lectures"
FIGURES = ROOT / "figures"

# Folder or name of pictures that no README.md shows -> the command that draws them.
SINGLE = {
    "hectic_day": "python scenarios/readme_figure.py",
    "tiles": "python scenarios/tiles.py",
    "frontier": (
        "cgrsp bound hectic --frontier --seeds 10 --bin 10 --report figures/frontier"
    ),
    "advice": "cgrsp advise hectic --report figures/advice",
}

# Scripts that take minutes.
MINUTES = ("adaptive_threshold", "savings_by_the_hour", "tiles", "train_agent")

# Scripts that generate a market unless files are given as arguments.
GENERATED = ("how_many_zones", "spot_deadline")

# Front matter of a page of pictures: in the search, captions would hide other pages.
UNSEARCHED = "---\nnosearch: true\n---\n\n"

# Code before the first cell of a page: shows the pictures that a cell saves below it.
SET_UP = """import pathlib

pathlib.Path("figures").mkdir(exist_ok=True)
_shown = set()


def _show_saved(result):
    from IPython.display import Image, display

    for path in sorted({*pathlib.Path().rglob("*.png")} - _shown):
        _shown.add(path)
        display(Image(filename=str(path), width=760))


get_ipython().events.register("post_run_cell", _show_saved)"""


def code_hash() -> str:
    """Return a digest of the package; pages run again after a change."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def pages(folder: Path) -> None:
    """Write all generated pages.

    Unchanged files are not written, so that Sphinx builds only the changed pages.
    """
    wanted = {
        folder / name: text
        for make in (_lectures, _scenarios, figures_of_papers, _ledger, _reference)
        for name, text in make()
    }
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.glob("*/*"):
        if path not in wanted and ".executed" not in path.parts:
            path.unlink()


def _listed(pages: list[str], *options: str) -> str:
    """Return a table of contents with titles only."""
    return "\n".join([":::{toctree}", ":maxdepth: 1", *options, "", *pages, ":::"])


# ---- Lectures and scenarios ----


def _lectures() -> Iterator[tuple[str, str]]:
    scripts = sorted(LECTURES.glob("*.py"))
    for script in scripts:
        yield f"lectures/{script.stem}.ipynb", notebook(script)
    intro = (
        "# Lectures\n\n"
        "A course in discrete-event simulation with SimPy, from the event list by hand"
        " to a comparison of scheduling policies. Each lecture is a script in cells;"
        " below a cell is its output. Each lecture ends with exercises that check"
        " answers: `cg.exercises.check(3.1, answer)`.\n\n"
        "```sh\n"
        "cgrsp lectures                    # what there is\n"
        "cgrsp lectures 1 --copy mine      # a copy to work on\n"
        "```"
    )
    hours = (
        "## How an hour goes\n\n"
        "Minutes by section, as a proposal. Students begin the exercises in the hour"
        " and finish them at home.\n\n"
        f"{_hours()}"
    )
    yield "lectures/index.md", f"{intro}\n\n{_contents(scripts)}\n\n{hours}\n"


def _hours() -> str:
    """Return the sections of each lecture with their minutes, from minutes.csv."""
    with (LECTURES / "minutes.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    sections: dict[str, list[str]] = {}
    for row in rows:
        sections.setdefault(row["lecture"], []).append(
            f"{row['section']} {row['minutes']}"
        )
    table = [f"| {number} | {' · '.join(own)} |" for number, own in sections.items()]
    return "\n".join(["| lecture | sections, min |", "|---|---|", *table])


def _scenarios() -> Iterator[tuple[str, str]]:
    folders = SCENARIOS, SCENARIOS / "research"
    scripts = sorted(
        (script for folder in folders for script in folder.glob("*.py")),
        key=lambda script: script.stem,
    )
    for script in scripts:
        make = notebook if _page(script).endswith(".ipynb") else recorded
        yield f"scenarios/{_page(script)}", make(script)
    intro = (
        "# Scenarios\n\n"
        "Scripts that each ask one question. Their code ran when this site was built;"
        " those that take minutes, or take files as arguments, show what they"
        " printed when they were written, which a test repeats where the files are."
    )
    yield "scenarios/index.md", f"{intro}\n\n{_contents(scripts)}\n"


CAPITALS = {
    "llm": "LLM",
    "gpus": "GPUs",
    "hps": "HPS",
    "readme": "README",
    "easy": "EASY",
}


def _told(script: Path) -> tuple[str, str, str]:
    """Return the title of a script, its finding, and the rest of its docstring."""
    told = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
    finds, _, rest = told.partition("\n\n")
    lecture = re.search(r"\((Lecture \d+: .*?|Lab: .*?)\)", rest, re.DOTALL)
    if lecture:
        return (
            lecture.group(1),
            " ".join(finds.split()),
            rest.replace(lecture.group(0), "").strip(),
        )
    words = [CAPITALS.get(word, word) for word in script.stem.split("_")]
    title = " ".join(words)
    return title[0].upper() + title[1:], " ".join(finds.split()), rest.strip()


def _page(script: Path) -> str:
    """Return the name of a page: a notebook, or Markdown with recorded output."""
    return f"{script.stem}.{'md' if _unrun(script) else 'ipynb'}"


def _unrun(script: Path) -> str:
    """Return why a script does not run while the site is built, or ""."""
    if script.stem in GENERATED:
        return "takes files as arguments; without them, it generates a market"
    if "sys.argv" in script.read_text(encoding="utf-8"):
        return "reads a log that does not come with the project"
    return "takes minutes" if script.stem in MINUTES else ""


def _contents(scripts: list[Path]) -> str:
    """Return the list of scripts with their findings, and titles for the side bar."""
    lines = []
    for script in scripts:
        title, finds, _ = _told(script)
        lines.append(f"- [{title}]({_page(script)}): {finds}")
    return "\n".join([*lines, "", _listed([each.stem for each in scripts], ":hidden:")])


def _without_docstring(text: str) -> str:
    first = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[first.end_lineno :]).lstrip("\n") + "\n"


def notebook(script: Path) -> str:
    """Return a script as a notebook that Sphinx runs, in its cells or as one cell."""
    title, finds, rest = _told(script)
    link = f"*{{download}}`{script.name} <{_up(script)}>`*"
    if script.parent == LECTURES:
        page = f"../../lite/notebooks/index.html?path={script.stem}.ipynb"
        link += f' · <a href="{page}">run it in your browser</a>'
    text = _without_docstring(script.read_text(encoding="utf-8"))
    cells = (
        jupytext.reads(text, fmt="py:percent").cells
        if re.search("^# %%", text, re.MULTILINE)
        else [new_code_cell(text.strip())]
    )
    head = new_markdown_cell(
        "\n\n".join(filter(None, [f"# {title}", finds, rest, link]))
    )
    set_up = new_code_cell(SET_UP, metadata={"tags": ["remove-cell"]})
    page = new_notebook(
        cells=[head, set_up, *(cell for cell in cells if cell.source.strip())]
    )
    page.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    for number, cell in enumerate(page.cells):
        cell.id = f"cell-{number}"  # the same each time
    return nbformat.writes(page)


def live(folder: Path) -> None:
    """The lectures that run in the reader's browser."""
    shutil.rmtree(folder, ignore_errors=True)
    browser.write(folder, sorted(LECTURES.glob("*.py")), None)


def recorded(script: Path) -> str:
    """Return the page of a script that does not run while the site is built."""
    title, finds, rest = _told(script)
    code = _without_docstring(script.read_text(encoding="utf-8"))
    printed = script.with_suffix(".out").read_text(encoding="utf-8")
    return (
        f"# {title}\n\n"
        f"{finds}\n\n"
        f"{rest}\n\n"
        f"*{{download}}`{script.name} <{_up(script)}>`*\n\n"
        "```python\n"
        f"{code}```\n\n"
        f"This script {_unrun(script)}. Its recorded output:\n\n"
        "```text\n"
        f"{printed}```\n"
    )


def _up(path: Path) -> str:
    """Return the path from a generated page to a file of the project."""
    return f"../../../{path.relative_to(ROOT).as_posix()}"


def with_code(text: str) -> str:
    """Return a page with the code, folded, in place of each line "[`file:name`](path)".

    In a clone such a line is a link.
    """
    return re.sub(
        r"^\[`(\S+):(\S+)`\]\((\S+)\)$",
        "<details><summary><code>\\1</code>: <code>\\2</code></summary>\n\n"
        "```{literalinclude} \\3\n:pyobject: \\2\n```\n\n</details>",
        text,
        flags=re.M,
    )


def linked(text: str, page: Path) -> str:
    """Return a page whose links to files of the project lead to their generated pages.

    In a clone they lead to the files.
    """

    def target(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(page.parent / link[2]))
        made = _made_of(path)
        return link[1] + (os.path.relpath(made, page.parent) if made else link[2])

    return re.sub(r"(\]\(|^\[[^]]+\]: )([^)\s:#]+)(?=[)\s#])", target, text, flags=re.M)


def _made_of(path: Path) -> Path | None:
    """Return the page generated from a file or folder, if there is one."""
    folder = DOCS / "made"
    if path in (SCENARIOS, LECTURES):
        return folder / path.name / "index.md"
    if path.suffix == ".py" and path.parent in (SCENARIOS, SCENARIOS / "research"):
        return folder / "scenarios" / _page(path)
    if path.suffix == ".py" and path.parent == LECTURES:
        return folder / "lectures" / f"{path.stem}.ipynb"
    if path.suffix == ".py" and PACKAGE in path.parents:
        parts = path.relative_to(ROOT).with_suffix("").parts[:2]
        name = ".".join(part for part in parts if part != "__init__")
        return folder / "reference" / f"{name}.rst"
    if path.name == "README.md" and (path.parent == FIGURES or FIGURES in path.parents):
        name = path.parent.name.replace("figures", "thesis")
        return folder / "figures" / f"{name}.md"
    return None


# ---- Figures ----


def figures_of_papers() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page of figures."""
    readmes = sorted(FIGURES.rglob("README.md"), key=lambda path: len(path.parts))
    names = {
        readme: readme.parent.name.replace("figures", "thesis") for readme in readmes
    }
    for readme, name in names.items():
        yield f"figures/{name}.md", UNSEARCHED + gallery(readme)
        yield f"parts/{name}.md", _seen(readme)
    shown = {picture for readme in readmes for picture in _pictures(readme)}
    rest = sorted(set(FIGURES.rglob("*.png")) - shown)
    yield "figures/more.md", UNSEARCHED + _more(rest)
    intro = (
        "# Figures\n\n"
        "Every picture of the project with what it shows, the command that makes it,"
        " and the CSV of what is plotted. Tests hold each CSV to what the package"
        " gives today."
    )
    yield "figures/index.md", f"{intro}\n\n{_listed([*names.values(), 'more'])}\n"


def _ledger() -> Iterator[tuple[str, str]]:
    """Write the recorded ledger of each paper, as a part of its page."""
    found = ledger.recorded()
    for paper in ledger.PAPERS:
        groups = ledger.by_command(entry for entry in found if entry.paper == paper)
        parts = [
            f"`{command}`:\n\n{_verdicts(entries)}"
            for command, entries in groups.items()
        ]
        yield f"parts/ledger_{paper}.md", "\n".join(parts)


def _verdicts(entries: list[ledger.Entry]) -> str:
    """Return the entries that a command computes, as a table."""
    hidden = ("paper", "command", "seconds")
    rows = [
        {k: v for k, v in row.items() if k not in hidden}
        for row in ledger.rows(entries)
    ]
    text = Table("", cells_of(rows)).markdown()
    return text.replace("$", r"\$") + "\n"  # a price, not a formula


def _pictures(readme: Path) -> list[Path]:
    found = re.findall(r"!\[.*?\]\((.*?\.png)\)", readme.read_text(encoding="utf-8"))
    return [readme.parent / name for name in found]


def _index(readme: Path) -> str:
    """Return a text in which a dollar sign is a price and does not begin a formula."""
    return readme.read_text(encoding="utf-8").replace("$", r"\$")


def gallery(readme: Path) -> str:
    """Return a folder's index of figures, with paths relative to the page."""
    folder = _up(readme.parent)
    text = _index(readme)
    text = re.sub(r"(!\[.*?\])\(([^)]+\.png)\)", rf"\1({folder}/\2)", text)
    return re.sub(
        r"\[([^]]*)\]\(([^):]+\.csv)\)", rf"{{download}}`\1 <{folder}/\2>`", text
    )


def _seen(readme: Path) -> str:
    """Return the list of figures of a folder, with their sentences."""
    lines = []
    for section in _index(readme).split("\n## ")[1:]:
        title, *parts = section.split("\n\n")
        seen = " ".join(part for part in parts if not part.startswith(("![", "|")))
        seen = re.sub(r"`cgrsp [^`]*`; \[CSV\]\(.*?\)", "", seen).strip()
        lines.append(f"- **{title}.** {seen}".strip())
    return "\n".join(lines) + "\n"


def _more(pictures: list[Path]) -> str:
    """Return the page of pictures that belong to no other page."""
    parts = ["# More pictures"]
    for picture in pictures:
        place = picture.relative_to(FIGURES)
        command = SINGLE.get(place.stem) or SINGLE[place.parent.as_posix()]
        caption = place.stem.replace("_", " ").capitalize()
        parts += [f"## {caption}", f"![{caption}]({_up(picture)})", f"`{command}`"]
    return "\n\n".join(parts) + "\n"


# ---- Reference ----


def _reference() -> Iterator[tuple[str, str]]:
    grouped: dict[str, list[str]] = {}
    found = public()
    for module in found:
        grouped.setdefault(".".join(module.split(".")[:2]), []).append(module)
    for page, names in grouped.items():
        text = [_heading(page, "=")]
        for module in names:
            text += [_heading(module, "-")] if module != page else []
            text += [_module(module, found[module])]
        yield f"reference/{page}.rst", "\n\n".join(text) + "\n"
    intro = (
        "# Modules\n\n"
        "Every public name with its parameters and source. The first page lists the"
        " names of `import cgrsp_simpy as cg`."
    )
    lines = [f"- [{page}]({page}.rst): {summary(page)}" for page in grouped]
    contents = "\n".join([*lines, "", _listed(list(grouped), ":hidden:")])
    yield "reference/index.md", f"{intro}\n\n{contents}\n"


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}"


def _module(module: str, names: list[Name]) -> str:
    # a function may have the name of its module
    told = inspect.getdoc(import_module(module)) or ""
    named = not inspect.isroutine(getattr(*_split(module), None))
    parts = [f".. py:module:: {module}"] * named + [
        "\n".join(plain(told.splitlines(), True))
    ]
    for each in names:
        if is_constant(each):
            parts.append(_datum(each))
        elif inspect.isclass(each.value):
            foreign = [
                base.__name__
                for base in each.value.__mro__
                if not base.__module__.startswith("cgrsp_simpy")
            ]
            parts.append(
                f".. autoclass:: {each.full}\n   :members:\n"
                f"   :inherited-members: {', '.join(foreign)}"
                # Matplotlib adds a method to its subclasses
                + "\n   :exclude-members: set"
                * ("Artist" in foreign)
            )
        else:
            parts.append(f".. autofunction:: {each.full}")
    return "\n\n".join(parts)


def _split(module: str) -> tuple[types.ModuleType, str]:
    """Return the package of a module, and the module's name in it."""
    package, _, name = module.rpartition(".")
    return import_module(package or module), name


def _datum(each: Name) -> str:
    """Return a constant, with the description at its definition."""
    module, name = home(import_module(each.module), each.name)
    value = repr(each.value)
    if len(value) > 160 or " at 0x" in value:
        value = ", ".join(map(str, each.value)) if isinstance(each.value, dict) else ""
    kind = type(each.value).__name__
    body = [
        comment(module, name),
        f"``{value}``" if value and len(value) <= 600 else f"A {kind}.",
    ]
    lines = textwrap.indent("\n\n".join(filter(None, body)), "   ")
    return f".. py:data:: {each.name}\n   :module: {each.module}\n\n{lines}"
