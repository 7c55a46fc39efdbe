"""Allowed imports between subpackages, imports that only some may use, and forbidden
calls.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import cgrsp_simpy
from cgrsp_simpy.base.streams import stream

pytestmark = pytest.mark.slow
PACKAGE = Path(cgrsp_simpy.__file__).parent
SCENARIO_MODULES = {"waiting", "hgsp", "llm", "cluster", "dag", "spot"}
BELOW_SCENARIOS = {"engine", "analysis", "logs", "base", "studies", "plots"}
BELOW_PAPERS = BELOW_SCENARIOS | SCENARIO_MODULES | {"market", "rental", "decide"}
ARROWS = {
    "base": set(),
    "logs": {"base"},
    "engine": {"base"},
    "analysis": {"base"},
    "market": {"analysis", "logs", "base", "plots"},
    "rental": {"engine", "analysis", "logs", "base", "studies", "market"},
    "studies": {"engine", "analysis", "base"},
    "plots": {"engine", "analysis", "base"},
    **dict.fromkeys(SCENARIO_MODULES, BELOW_SCENARIOS),
    "spot": BELOW_SCENARIOS | {"market"},
    "decide": BELOW_SCENARIOS | {"market", "rental"},
    "papers": BELOW_PAPERS | {"__init__"},
    "exercises": BELOW_PAPERS | {"__init__"},
    "app": BELOW_PAPERS,
    "cli": BELOW_PAPERS | {"papers", "exercises", "app", "__init__"},
    "__init__": BELOW_PAPERS | {"exercises", "papers"},
    "__main__": {"cli"},
}


def room_of(module):
    """Return the subpackage of a module, or its own name if it is in none."""
    first, _, rest = module.partition("/")
    return first if rest else first.removesuffix(".py")


@cache
def nodes(tree):
    """Return the nodes of a tree, which is walked only once."""
    return [*ast.walk(tree)]


def imported(module, tree):
    """The full dotted names that a module imports, at its top or within functions;
    `from a import b` gives a.b.
    """
    package = ["cgrsp_simpy", *module.split("/")[:-1]]
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in (
            "import_module",
            "__import__",
        ):
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant)
            )


def rooms_imported(module, tree):
    """The subpackages that a module imports from; __init__ for names from the package
    itself.
    """
    for name in imported(module, tree):
        own, _, rest = name.partition(".")
        if own == "cgrsp_simpy":
            room = rest.split(".")[0]
            yield room if room in ARROWS else "__init__"


def outsiders(module, tree):
    """The top-level packages that a module imports."""
    return {name.partition(".")[0] for name in imported(module, tree)}


def calls(tree):
    """The calls in a module, as pairs of the dotted name and the node."""
    return [
        (ast.unparse(node.func), node)
        for node in nodes(tree)
        if isinstance(node, ast.Call)
    ]


@cache
def modules():
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in PACKAGE.rglob("*.py")
        if "lectures" not in path.parts  # which a wheel brings along
    }


def every_module(check):
    """One test of all modules, which lists each one with a fault: a case per module
    costs more.
    """

    def test():
        faults = {}
        for module, tree in modules().items():
            try:
                check(module, tree)
            except AssertionError as fault:
                faults[module] = str(fault)
        assert not faults

    return test


def test_every_subpackage_is_a_documented_one():
    assert len(modules()) > 200
    assert {room_of(module) for module in modules()} <= set(ARROWS)


def test_the_table_in_contributing_lists_the_subpackages():
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = re.findall(r"^\| `(\w+)` \|", text.partition("## Structure")[2], re.M)
    assert rooms == [*dict.fromkeys(rooms)]
    assert {*rooms} == {
        path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()
    }
    for place, room in enumerate(rooms):
        assert ARROWS[room] - {"__init__"} <= {*rooms[:place]}


@every_module
def test_imports_follow_the_arrows(module, tree):
    room = room_of(module)
    assert set(rooms_imported(module, tree)) - {room} <= ARROWS[room]


def test_no_files_of_the_engine_import_each_other():
    files = {
        module.removesuffix(".py").replace("/", "."): tree
        for module, tree in modules().items()
        if room_of(module) == "engine"
    }
    graph = {
        file: {
            other
            for other in files
            for name in imported(file.replace(".", "/") + ".py", tree)
            if f"{name}.".startswith(f"cgrsp_simpy.{other}.")
        }
        for file, tree in files.items()
    }
    assert len(graph) > 10 and graph["engine.model"] > {"engine.view"}
    assert list(TopologicalSorter(graph).static_order())[-1] in graph


@pytest.mark.parametrize(
    ("module", "source", "rooms"),
    [
        ("rental/x.py", "from cgrsp_simpy.engine.claim import Slot", {"engine"}),
        ("rental/x.py", "def f():\n    import cgrsp_simpy.engine.claim", {"engine"}),
        ("rental/x.py", "from cgrsp_simpy import engine", {"engine"}),
        ("rental/x.py", "from cgrsp_simpy import simulate", {"__init__"}),
        ("rental/x.py", "import cgrsp_simpy as cg", {"__init__"}),
        ("rental/x.py", "from ..engine import fleet", {"engine"}),
        ("rental/x.py", "from .rules import Tiers", {"rental"}),
        ("rental/x.py", "import_module('cgrsp_simpy.plots')", {"plots"}),
        ("__init__.py", "from .cli import main", {"cli"}),
        ("rental/x.py", "import numpy", set()),
    ],
)
def test_an_import_is_seen_however_it_is_written(module, source, rooms):
    assert set(rooms_imported(module, ast.parse(source))) == rooms


@every_module
def test_simpy_only_in_the_engine_and_the_scenario_modules(module, tree):
    assert "simpy" not in outsiders(module, tree) or room_of(module) in {
        "engine",
        "rental",
        "exercises",  # which run processes that a reader has written
        *SCENARIO_MODULES,
    }


@every_module
def test_matplotlib_is_imported_only_to_draw_figures(module, tree):
    drawing = room_of(module) in {"plots", "papers"} or Path(module).stem.endswith(
        "figures"
    )
    assert not {"matplotlib", "mpl_toolkits"} & outsiders(module, tree) or drawing


@every_module
def test_streamlit_only_in_the_live_page(module, tree):
    assert "streamlit" not in outsiders(module, tree) or room_of(module) == "app"


@every_module
def test_print_only_on_the_command_line(module, tree):
    assert "print" not in [name for name, _ in calls(tree)] or room_of(module) == "cli"


@every_module
def test_random_numbers_come_only_from_named_streams(module, tree):
    if module == "base/streams.py":
        return
    sources = {
        name
        for name in imported(module, tree)
        if name.startswith("numpy.random") or name.partition(".")[0] == "random"
    }
    # the others only show whether anything has been drawn, and undo it
    allowed = {
        "numpy.random.BitGenerator",
        "numpy.random.Generator",
        "random.Random",
        "numpy.random.get_state",
        "numpy.random.set_state",
        "random.getstate",
        "random.setstate",
    }
    assert sources <= allowed, "use streams"
    attributes = {
        ast.unparse(node) for node in nodes(tree) if isinstance(node, ast.Attribute)
    }
    assert not attributes & {"np.random", "numpy.random"}
    for name, call in calls(tree):
        assert name.split(".")[-1] != "Generator"
        assert name.split(".")[-1] != "Random" or "stream(" in ast.unparse(call), (
            "a generator without a stream's seed"
        )
        if name.split(".")[-1] == "stream" and isinstance(call.args[1], ast.Constant):
            assert call.args[1].value in " ".join(stream.__doc__.split()), (
                "a name in use"
            )


def test_importing_loads_neither_matplotlib_nor_pandas_nor_a_part_of_scipy():
    """They take longest; parts of SciPy are loaded on first use."""
    parts = ("optimize", "special", "stats", "sparse", "linalg")
    late = {"matplotlib", "pandas", "streamlit", *(f"scipy.{name}" for name in parts)}
    code = "from cgrsp_simpy.cluster import *; import cgrsp_simpy.cli, sys; "
    code += f"print(*{late!r} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == []
