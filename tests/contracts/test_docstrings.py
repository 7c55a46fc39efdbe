"""Public docstrings: a summary, and such NumPy sections as there are agree with the
signature.

Public is what is reached without a leading underscore from the package and its modules:
functions, classes, their methods, the entries of registries such as POLICIES, and the
package's classes that any of these answer with. A method that overrides another may
leave its docstring to that one.
"""

import ast
import builtins
import dataclasses
import inspect
import re
import sys
import typing
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import pytest

import cgrsp_simpy as cg
import cgrsp_simpy.logs
import cgrsp_simpy.rental.policies
from cgrsp_simpy.base import checks, policy
from cgrsp_simpy.base.parameters import meanings
from cgrsp_simpy.studies import executors

ROOTS = [
    cg,
    cg.hgsp,
    cg.llm,
    cg.cluster,
    cg.dag,
    cg.spot,
    cg.waiting,
    cg.plots,
    cg.exercises,
    cgrsp_simpy.logs,
    cgrsp_simpy.rental.policies,
]
SECTIONS = (
    "Parameters Attributes Returns Yields Raises Warns Notes References Examples"
).split()
HEADING = re.compile(r"^(\w[\w ]*)\n(-{3,})$", re.MULTILINE)


def own(thing):
    """Return whether the package defines a thing."""
    return (getattr(thing, "__module__", None) or "").partition(".")[0] == "cgrsp_simpy"


def is_public(name):
    return name.isidentifier() and not name.startswith("_")


# ---- public objects ----


def uncached(thing):
    """Return the function behind a cached one."""
    return thing.__wrapped__ if hasattr(thing, "cache_info") else thing


def names_of(module):
    """Return the names that it lists or, without a list, defines."""
    made = [
        name
        for name, thing in vars(module).items()
        if is_public(name) and getattr(thing, "__module__", None) == module.__name__
    ]
    return getattr(module, "__all__", made)


def shown(module):
    """Return the public objects of a module, including those in its registries."""
    for name in names_of(module):
        thing = getattr(module, name)
        yield uncached(thing)
        if isinstance(thing, dict):
            yield from thing.values()


def answered(function):
    """Return the package's classes in the return type of a function."""
    hint = function.__annotations__.get("return")
    try:
        pending = [eval(hint, inspect.unwrap(function).__globals__)]
    except NameError:  # a name that is imported for type checkers only
        return
    while pending:
        hint = pending.pop()
        pending += typing.get_args(hint)
        if inspect.isclass(hint) and own(hint) and is_public(hint.__name__):
            yield hint


def members(cls):
    """Pairs of name and function or property of a class, those of its bases in the
    package too.
    """
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items() if own(base) else ():
            if is_public(name):
                # of a class or static method
                member = uncached(getattr(member, "__func__", member))
                if isinstance(member, property | cached_property) or inspect.isfunction(
                    member
                ):
                    yield f"{base.__qualname__}.{name}", member


def key(thing):
    """Return where an object is defined."""
    return f"{thing.__module__.removeprefix('cgrsp_simpy.')}.{thing.__qualname__}"


@cache
def public():
    """Key -> function, class, method or property."""
    result, seen = {}, set()
    pending = [thing for module in ROOTS for thing in shown(module)]
    while pending:
        thing = pending.pop()
        if isinstance(thing, ModuleType):
            pending += shown(thing) if thing not in ROOTS else []
            continue
        is_code = inspect.isclass(thing) or inspect.isfunction(thing)
        if not (is_code and own(thing) and is_public(thing.__name__)) or thing in seen:
            continue
        seen.add(thing)
        result[key(thing)] = thing
        if inspect.isclass(thing):
            for name, member in members(thing):
                function = getattr(member, "fget", None) or getattr(
                    member, "func", member
                )
                if own(function) and function.__qualname__ == name:
                    result[key(function)] = member
                    pending += answered(function)
        else:
            pending += answered(thing)
    return dict(sorted(result.items()))


# ---- content of docstrings ----


def sections(text):
    """Heading -> body; the text before the first has the key ""."""
    parts = HEADING.split(text)
    return {
        "": parts[0].strip(),
        **{h: body for h, _, body in zip(*[iter(parts[1:])] * 3)},
    }


def named(body):
    """The names of a section of items, in order: those of its lines that are not
    indented.
    """
    lines = [line for line in body.splitlines() if line and not line[0].isspace()]
    return [name.strip() for line in lines for name in line.split(" : ")[0].split(",")]


def takes_named_arguments(thing):
    """Return whether a thing is called with arguments that the package names."""
    if not inspect.isclass(thing):
        return inspect.isfunction(thing)
    if issubclass(thing, Enum) or getattr(thing, "_is_protocol", False):
        return False
    # else it takes what its base takes, as exceptions do
    return inspect.isfunction(thing.__init__) or issubclass(thing, tuple)


def parameters(thing):
    """The names that a docstring must explain, as they are written there."""
    if not takes_named_arguments(thing):
        return []
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [
        stars.get(each.kind, "") + each.name
        for each in inspect.signature(thing).parameters.values()
        if is_public(each.name) and each.name not in ("self", "cls")
    ]


def overrides(thing):
    """Return whether a method or property overrides one of a base class."""
    function = getattr(thing, "fget", None) or getattr(thing, "func", thing)
    owner, _, name = function.__qualname__.rpartition(".")
    cls = getattr(sys.modules[function.__module__], owner, None)
    return inspect.isclass(cls) and any(hasattr(base, name) for base in cls.__mro__[1:])


def is_exception(name, thing):
    """Return whether a module, or Python, knows an exception of this name."""
    module = sys.modules[thing.__module__]
    places = (module, builtins, checks, policy, executors)
    result = next(
        (getattr(place, name) for place in places if hasattr(place, name)), None
    )
    return inspect.isclass(result) and issubclass(result, BaseException)


def faults(thing):
    """Return the faults of a docstring."""
    text = inspect.cleandoc(thing.__doc__ or "")
    if dataclasses.is_dataclass(thing) and text.startswith(f"{thing.__name__}("):
        text = ""  # made by dataclass
    said = sections(text)
    summary = said[""].partition("\n\n")[0]
    if not summary:
        return [] if overrides(thing) else ["no summary"]
    result = [] if summary[-1] in ".!?:" else ["summary ends without a full stop"]
    headings = [each for each in said if each]
    if headings != [each for each in SECTIONS if each in headings]:
        result.append(f"sections {', '.join(headings)}")
    return result + faults_of_parameters(thing, said) + faults_of_raises(thing, said)


def faults_of_parameters(thing, said):
    wanted, has = parameters(thing), named(said.get("Parameters", ""))
    if not has or has == wanted:
        return []
    return [f"Parameters are {', '.join(has)}, and not {', '.join(wanted)}"]


def faults_of_raises(thing, said):
    function = getattr(thing, "fget", None) or getattr(thing, "func", thing)
    return [
        f"Raises {name}, which is no exception"
        for name in named(said.get("Raises", ""))
        if not is_exception(name, function)
    ]


# ---- entries that say no more than the signature ----

EMPTY = {*"a an the of or and to be it its this that is are as in for with".split()}
SECTION_ENTRY = re.compile(
    r"^( *)([\w*, ]+?)(?: : (.+))?\n\1    (.+(?:\n\1    .+)*)", re.MULTILINE
)
LINE_ENTRY = re.compile(r"(?:^|[.:] |\n *)([a-z_]\w*(?:, \w+)*)(: )([^.:]+)\.")


def words(text):
    """The words of a text, or of names in it, each without the s of a plural."""
    apart = re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()
    return {word.rstrip("s") for word in re.findall(r"[a-z]+", apart)}


def repeats(text):
    """The entries of a docstring whose words are those of the name and its type; one
    with a number or a sign states what is allowed.
    """
    results = [match.groups()[-3:] for match in SECTION_ENTRY.finditer(text)]
    results += [match.groups() for match in LINE_ENTRY.finditer(text)]
    return [
        name
        for name, kind, message in results
        if words(message) - EMPTY <= words(f"{name} {kind or ''}")
        and not re.search(r"[\d<>=]", message)
    ]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Sum.\n\nParameters\n----------\njob : Job\n    The job.", ["job"]),
        ("Sum.\n\nParameters\n----------\njob : Job\n    To be sent.", []),
        ("Sum.\n\nseeds: the seeds. jobs: their number.", ["seeds"]),
        ("Sum.\n\ndelay_s: seconds.", []),
    ],
)
def test_an_entry_that_repeats_the_signature_is_reported(text, names):
    assert repeats(text) == names


@pytest.mark.slow
def test_no_entry_repeats_the_signature():
    result = {}
    for path in sorted(Path(cg.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            documented = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if documented and (again := repeats(ast.get_docstring(node) or "")):
                result[f"{path.stem}.{node.name}"] = again
    assert not result


def test_every_declared_parameter_has_a_meaning_beyond_its_signature():
    classes = [thing for thing in public().values() if dataclasses.is_dataclass(thing)]
    declared = {cls: meanings(cls) for cls in classes if meanings(cls)}
    assert len(declared) > 20
    lacking = {
        cls.__name__: [
            item.name
            for item in dataclasses.fields(cls)
            if item.init and item.name not in texts
        ]
        + repeats(cls.__doc__)
        for cls, texts in declared.items()
    }
    assert not {name: names for name, names in lacking.items() if names}


# ---- tests ----


def test_public_docstrings_agree_with_their_signatures():
    wrong = {
        name: result for name, thing in public().items() if (result := faults(thing))
    }
    lines = [f"{name}: {'; '.join(result)}" for name, result in wrong.items()]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(public())}:", *lines])


def test_the_public_names_are_at_most_168():
    modules = (
        cg,
        cg.hgsp,
        cg.llm,
        cg.cluster,
        cg.dag,
        cg.spot,
        cg.waiting,
        cg.plots,
        cg.exercises,
    )
    assert sum(len(module.__all__) for module in modules) <= 168


def test_public_names_are_found_in_the_listed_modules():
    assert {
        "studies.compare.compare",
        "analysis.queueing.mmc",  # of a module that is shown
        "rental.policies.classic.edf",  # by its name in POLICIES
        "engine.run.Run.summary",  # a method of a returned class
        "studies.study.Results.to_csv",  # inherited
    } <= set(public())


PARAMETERS = "\n\nParameters\n----------\n"
RETURNS = "\n\nReturns\n-------\nint\n    Their sum."


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "The sum." + PARAMETERS + "a : int\n    One.\n*more\n    Others." + RETURNS,
            None,
        ),
        ("The sum." + PARAMETERS + "a, *more : int\n    All." + RETURNS, None),
        ("", "no summary"),
        (
            "The sum" + PARAMETERS + "a, *more\n    All." + RETURNS,
            "without a full stop",
        ),
        (
            "The sum." + PARAMETERS + "a\n    One." + RETURNS,
            "Parameters are a, and not a, *more",
        ),
        (
            "The sum." + PARAMETERS + "*more, a\n    All." + RETURNS,
            "Parameters are *more, a",
        ),
        (
            "The sum." + RETURNS + PARAMETERS + "a, *more\n    All.",
            "sections Returns, Parameters",
        ),
        (
            "The sum." + RETURNS + "\n\nRaises\n------\nNoError\n    Never.",
            "NoError, which is no",
        ),
        ("The sum.\n\nWarnings\n--------\nNone.", "sections Warnings"),
    ],
)
def test_a_docstring_that_disagrees_with_the_signature_is_reported(text, fault):
    def total(a: int, *more: int) -> int:
        return a + sum(more)

    total.__doc__ = text
    result = "; ".join(faults(total))
    assert not result if fault is None else fault in result
