"""Write the lists of public names: docs/reference/api.md and docs/llms.txt.

Run `python docs/api.py` in a clone after a change of public names or of the first
sentences of their docstrings.
"""

import ast
import inspect
import re
import types
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, NamedTuple

import cgrsp_simpy
from cgrsp_simpy.cli import VERBS

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "cgrsp_simpy"
SCENARIOS = ROOT / "scenarios"


class Name(NamedTuple):
    """A public name, with its module and its object."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        """The name with its module."""
        return f"{self.module}.{self.name}"


def shown_by_use() -> dict[str, list[str]]:
    """Return the names that scripts and pages import from each module."""
    line = re.compile(
        r"^from (cgrsp_simpy[\w.]*) import (\([^)]*\)|[^\n(#]*)", re.MULTILINE
    )
    found: dict[str, set[str]] = {}
    for path in (
        *SCENARIOS.rglob("*.py"),
        *(ROOT / "docs").glob("*/*.md"),
        ROOT / "README.md",
    ):
        for module, names in line.findall(path.read_text(encoding="utf-8")):
            found.setdefault(module, set()).update(
                re.findall(r"(\w+)(?: as \w+)?", names)
            )
    return {module: sorted(names) for module, names in found.items()}


def modules() -> dict[str, list[str]]:
    """Return the public names of every module, packages first.

    These are the names in `__all__`, or else those that scripts and pages import.
    """
    names = ["cgrsp_simpy"]
    names += [
        found.name
        for found in walk_packages(cgrsp_simpy.__path__, "cgrsp_simpy.")
        # commands by purpose
        if not re.search(r"\.(cli|app|__main__)\b", found.name)
    ]
    loaded = {name: import_module(name) for name in names}
    ranked = sorted(
        names, key=lambda name: (not hasattr(loaded[name], "__path__"), name)
    )
    used = shown_by_use()
    listed = {
        name: getattr(loaded[name], "__all__", used.get(name, [])) for name in ranked
    }
    return {name: own for name, own in listed.items() if own}


def public() -> dict[str, list[Name]]:
    """Return the public names by module, each under its shortest public path."""
    seen: set[Any] = set()
    found: dict[str, list[Name]] = {}
    for module, names in modules().items():
        loaded = import_module(module)
        for name in names:
            value = getattr(loaded, name)
            if isinstance(value, types.ModuleType):
                continue
            place = home(loaded, name)
            if place in seen:
                continue
            seen.add(place)
            found.setdefault(module, []).append(Name(module, name, value))
    return found


def home(loaded: types.ModuleType, name: str) -> tuple[str, str]:
    """Return the module and the name under which an object is defined."""
    value = getattr(loaded, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return value.__module__, value.__qualname__
    # also of imports for type checkers, whose names are loaded when they are used
    for node in ast.walk(tree(loaded.__name__)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return home(import_module(node.module), alias.name)
    return loaded.__name__, name


@cache
def tree(module: str) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(Path(import_module(module).__file__).read_text(encoding="utf-8"))


def plain(lines: list[str], literal: bool = False) -> list[str]:
    """Return a docstring as reStructuredText, with bars and underscores escaped.

    literal: show indented lines as literal blocks.
    """
    shown, before = [], ""
    for line in lines:
        if literal and line[:1] == " ":
            if before[:1] != " ":
                shown += ["", "::", ""]
        else:
            if before[:1] == " ":
                shown.append("")
            parts = re.split("(`[^`]*`)", line)
            parts[::2] = [
                re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", part) for part in parts[::2]
            ]
            line = "".join(parts)
        shown.append(line)
        before = line or before
    return shown


def is_constant(each: Name) -> bool:
    """Return whether a name has no docstring: it is not a class or function here."""
    if inspect.isclass(each.value) and each.value.__module__.startswith("simpy."):
        return False  # it has SimPy's
    own = getattr(each.value, "__module__", "").startswith("cgrsp_simpy")
    return not own or not (inspect.isclass(each.value) or inspect.isroutine(each.value))


def comment(module: str, name: str) -> str:
    """Return the string below a definition, or else its comment, or else ""."""
    lines = (
        Path(import_module(module).__file__).read_text(encoding="utf-8").splitlines()
    )
    body = tree(module).body
    for node, after in zip(body, [*body[1:], None]):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [getattr(node, "target", None)]
        )
        flat = [part for each in targets for part in getattr(each, "elts", [each])]
        if name in [getattr(each, "id", None) for each in flat]:
            below = getattr(getattr(after, "value", None), "value", None)
            if isinstance(after, ast.Expr) and isinstance(below, str):
                return "\n".join(plain(inspect.cleandoc(below).splitlines()))
            above, place = [], node.lineno - 2
            while place >= 0 and lines[place].startswith("#"):
                above.insert(0, lines[place].lstrip("# "))
                place -= 1
            behind = re.search(r"[^\"']#\s*(.*)$", lines[node.lineno - 1])
            told = " ".join(above) or (behind.group(1) if behind else "")
            return "".join(plain([_sentence(told)]))
    return ""


def _sentence(told: str) -> str:
    """Return a comment as a sentence."""
    stop = "." if told and told[-1] not in ".:!?" else ""
    return f"{told[:1].upper()}{told[1:]}{stop}"


def summary(module: str) -> str:
    """Return the first paragraph of a module's docstring."""
    text = inspect.getdoc(import_module(module)) or ""
    return " ".join(text.partition("\n\n")[0].split())


# ---- Pages in the repository ----


def sentence(name: Name) -> str:
    """Return the first sentence of the docstring or comment of a name."""
    text = (
        comment(*home(import_module(name.module), name.name))
        if is_constant(name)
        else inspect.getdoc(name.value) or ""
    )
    first = " ".join(text.partition("\n\n")[0].split())
    first = re.sub(r":\w+:`~?", "`", first)  # roles of Sphinx, in SimPy's docstrings
    return re.split(r"(?<=[.:!?])\s(?=[A-Z])", first)[0]


def names_page() -> str:
    """Return the page with one row per public name, each module with its source."""
    parts = [
        "# Names\n\n"
        "The public names of each module with the first sentence of their docstrings."
        " `help(name)` prints the rest; the site has all parameters. `cg` is"
        " `cgrsp_simpy`. This page is written by `python docs/api.py`."
    ]
    for module, names in public().items():
        path = Path(import_module(module).__file__).relative_to(ROOT)
        rows = [f"| `{each.name}` | {sentence(each)} |" for each in names]
        text = summary(module)
        parts.append(
            f"## {module}\n\n{text}{' ' * bool(text)}[Source](../../{path.as_posix()})"
            "\n\n| name | meaning |\n|---|---|\n" + "\n".join(rows)
        )
    return "\n\n".join(parts) + "\n"


def described(page: Path) -> str:
    """Return a link to a page with the first sentence of its text."""
    title, _, text = page.read_text(encoding="utf-8").partition("\n\n")
    first = " ".join(text.partition("\n\n")[0].split())
    first = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first)
    path = page.relative_to(DOCS).with_suffix(".html").as_posix()
    first = re.split(r"(?<=[.:!?])\s(?=[A-Z])", first)[0]
    return f"- [{title.lstrip('# ')}]({path}): {first}"


def llms() -> str:
    """Return llms.txt: what an assistant needs to write programs with the package."""
    pages = [
        *(DOCS / "tutorial" / f"{name}.md" for name in TUTORIAL),
        *sorted((DOCS / "howto").rglob("*.md")),
        *sorted((DOCS / "explanation").glob("*.md")),
        *sorted((DOCS / "reference").glob("*.md")),
    ]
    links = [described(page) for page in pages if page.stem not in ("index", "api")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    scripts = _scripts(ROOT / "README.md")
    scripts += [
        script
        for page, part in (("market", "GpuType("), ("policy", "class Alternating"))
        for script in _scripts(DOCS / "howto" / f"{page}.md")
        if part in script
    ]
    verbs = [f"- `cgrsp {verb}`: {text}" for verb, (_, text) in VERBS.items()]
    names = [
        f"- `cg.{each.name}{_arguments(each.value)}`: {sentence(each)}"
        for each in public()["cgrsp_simpy"]
    ]
    about = " ".join(readme.split("\n\n")[1].split())
    return (
        "\n\n".join(
            [
                f"# cgrsp_simpy\n\n> {about}",
                "All times are in seconds, names end in their unit, and `import"
                " cgrsp_simpy as cg` has the names below. The command line is"
                " `cgrsp VERB SCENARIO name=value ... --options`; `cgrsp VERB -h`,"
                " `cgrsp parameters SCENARIO` and `cgrsp policies SCENARIO` list what"
                " is valid.",
                "## Examples",
                *scripts,
                SHORT_EXAMPLES,
                "## Commands\n\n" + "\n".join(verbs),
                "## Pages\n\n" + "\n".join(links),
                "## Names\n\n" + "\n".join(names),
            ]
        )
        + "\n"
    )


def _scripts(page: Path) -> list[str]:
    """Return the Python scripts of a page, with their fences."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```python\n.*?^```$", text, re.M | re.S)


def _arguments(value: Any) -> str:
    """Return the names of the arguments of a function or class, with defaults."""
    if not callable(value):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return ""
    shown = []
    for each in parameters:
        default = repr(each.default)
        known = each.default is not each.empty and len(default) < 20
        stars = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        plain_default = f"={default}" if known and " at 0x" not in default else ""
        optional = "=..." if each.default is not each.empty else ""
        shown.append(f"{stars}{each.name}{plain_default or optional}")
    return f"({', '.join(shown)})"


# calls and commands that names and verbs alone do not show; the how-tos have them, too
SHORT_EXAMPLES = """\
- Shifts: `cg.schedule(env, desk, [(0, 2), (4 * 3600, 4)], period=8 * 3600)` sets the
  capacity of a `cg.Resource` from each time on, again in each period; with a period,
  end the run by `env.run(until_s)`.
- A log: `cgrsp run rental trace=LOG.csv log.submit=COLUMN log.service=COLUMN
  "log.delimiter=;" log.decimal=, log.tz=Europe/Berlin --policy fifo`; in Python,
  `cg.trace("LOG.csv", columns={"submit": "COLUMN", "service": "COLUMN"},
  delimiter=";", decimal=",", tz="Europe/Berlin")`.
- GPU types from a file: `gpus=FILE.csv`, with the columns name, price_usd_per_h, speed.
  Speeds scale the run times of a log; generated jobs take `mean_execution_s`.
- A policy in a file: `cgrsp compare hectic --policies fifo,FILE.py:NAME --seeds 10`. A
  policy with memory is a class: each run of a study begins with a new object.
- A figure with other parameters, for LaTeX: `cgrsp papers figures thesis 5.6 slots=6
  --seeds 20 --out DIR`, then `cgrsp redraw DIR/figure_5_6.csv --style width=120`
  (`pgf=yes` if LaTeX is installed). A table: `cgrsp papers tables thesis --format
  latex`."""

TUTORIAL = ("first_study", "day_and_policy", "log_and_advice")

PAGES = {"reference/api.md": names_page, "llms.txt": llms}  # in docs -> its text


if __name__ == "__main__":
    for name, text in PAGES.items():
        (DOCS / name).write_text(text(), encoding="utf-8")
