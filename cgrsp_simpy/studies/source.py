"""A check of the source of users' processes for a forgotten `yield`."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from cgrsp_simpy.base.checks import InputError
from cgrsp_simpy.studies.identity import captured, home, names_in

# methods that return an event to wait for; requests of a granted claim do not wait
EVENTS, EVENTS_OF_CLAIMS = (".timeout", ".request"), (".timeout",)


def check_yields(code: Any) -> None:
    """Raise InputError if user code forgets to wait for a timeout or a request, or to
    start a process.

    code: a function or class; those of the user to which it refers are checked, too.
    Code without a source file is not checked.
    """
    waiting, checked = [code], set[int]()
    while waiting:
        value = waiting.pop()
        if not isinstance(value, FunctionType | type) or home(value) != "user":
            continue
        if id(value) in checked:
            continue
        checked.add(id(value))
        used = _used_by(value)
        waiting += used.values()
        processes = [
            name for name, part in used.items() if inspect.isgeneratorfunction(part)
        ]
        fault = _first_fault(value, frozenset(processes))
        if fault:
            raise InputError(fault)


def _used_by(value: FunctionType | type) -> dict[str, Any]:
    """Return what a function or class refers to, as it is written in the source."""
    if isinstance(value, type):
        return {f"self.{name}": part for name, part in vars(value).items()}
    names, attributes, _ = names_in(value.__code__)
    around = value.__globals__
    used = {name: around[name] for name in names & around.keys()} | captured(value)
    for module, content in list(used.items()):
        if isinstance(content, ModuleType):
            for name in attributes & vars(content).keys():
                used[f"{module}.{name}"] = vars(content)[name]
    return used


@functools.cache
def _first_fault(value: Any, processes: frozenset[str]) -> str:
    """Return a message about the first forgotten `yield`, "" if there is none.

    processes: generator functions to which a function or class refers.
    """
    try:
        lines, first = inspect.getsourcelines(value)
        source = textwrap.dedent("".join(lines))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):  # such as a lambda within an expression
        return ""
    events = EVENTS_OF_CLAIMS if "claim" in source else EVENTS
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    generators = [node for node in functions if _yields(node)]
    processes |= {node.name for node in generators if not node.decorator_list}
    faults = list[tuple[int, str]]()
    for node in functions:
        for call in _without_use(node):
            text, function = ast.unparse(call), ast.unparse(call.func)
            if function in processes:
                message = f"`{text}` runs nothing: use `env.process({text})`"
            elif node in generators and function.endswith(events):
                advice = f"`_ = {text}` if it is not to wait"
                message = f"no `yield` waits for `{text}` ({advice})"
            else:
                continue
            faults.append((first + call.lineno - 1, message))
    if not faults:
        return ""
    line, message = min(faults)
    return f"{Path(inspect.getfile(value)).name}, line {line}: {message}"


def _yields(part: ast.AST) -> bool:
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _inner(part))


def _inner(part: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a part of a function, without those of functions within it."""
    for node in ast.iter_child_nodes(part):
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            yield from _inner(node)


def _without_use(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """Yield the calls in a function whose results are not used."""
    for node in _inner(function):
        results = list[tuple[ast.expr, ast.expr | None, ast.AST]]()
        match node:
            case ast.Expr(value=value):
                results.append((value, None, node))
            case ast.Assign(targets=[target], value=value):
                results.append((value, target, function))
            case ast.With(items=items) if _yields(node):  # else it leaves at once
                results += [
                    (item.context_expr, item.optional_vars, node) for item in items
                ]
        for result, name, scope in results:
            if isinstance(result, ast.Call) and not _is_used(name, scope):
                yield result


def _is_used(target: ast.expr | None, scope: ast.AST) -> bool:
    """Return whether what is assigned to a target is read, except to release it.

    The name `_` counts as read, as do attributes and items of other objects.
    """
    if not isinstance(target, ast.Name) or target.id == "_":
        return target is not None
    released = set[ast.AST]()
    for node in ast.walk(scope):
        match node:
            case ast.Expr(value=value) | ast.Attribute(value=value, attr="cancel"):
                released.add(value)
            case ast.Call(func=ast.Attribute(attr="release"), args=arguments):
                released.update(arguments)
            case ast.Nonlocal(names=names) | ast.Global(names=names):
                if target.id in names:  # another function may read it
                    return True
    return any(
        isinstance(node, ast.Name)
        and node.id == target.id
        and isinstance(node.ctx, ast.Load)
        and node not in released
        for node in ast.walk(scope)
    )
