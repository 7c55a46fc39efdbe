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
    """Raise InputError if user code forgets to wait for a timeout, a request or the
    next item of a store, or to start a process.

    code: a function or class; those of the user to which it refers are checked, too.
    Code without a source file is not checked.
    """
    # with the methods of its class, by the names that its source has for them
    waiting, checked = [(code, dict[str, Any]())], set[int]()
    while waiting:
        value, methods = waiting.pop()
        value = getattr(value, "__func__", value)  # of a static method
        is_code = isinstance(value, FunctionType | type)
        if not is_code or home(value) != "user" or id(value) in checked:
            continue
        checked.add(id(value))
        if isinstance(value, type):
            methods = {
                f"self.{name}": part
                for cls in reversed(value.__mro__)
                for name, part in vars(cls).items()
            }
            waiting += [(part, methods) for part in methods.values()]
            continue
        used = _used_by(value)
        waiting += [(part, methods) for part in used.values()]
        functions = {
            name: inspect.isgeneratorfunction(part)
            for name, part in (used | methods).items()
            if isinstance(part, FunctionType)
        }
        fault = _first_fault(value, frozenset(functions.items()))
        if fault:
            raise InputError(fault)


def _used_by(function: FunctionType) -> dict[str, Any]:
    """Return what a function refers to, by its names in the source."""
    names, attributes, _ = names_in(function.__code__)
    around = function.__globals__
    used = {name: around[name] for name in names & around.keys()} | captured(function)
    return used | {
        f"{module}.{name}": vars(content)[name]
        for module, content in used.items()
        if isinstance(content, ModuleType)
        for name in attributes & vars(content).keys()
    }


@functools.cache
def _first_fault(function: FunctionType, others: frozenset[tuple[str, bool]]) -> str:
    """Return a message about the first forgotten `yield`, "" if there is none.

    others: functions of the user to which it refers, and whether each is a generator.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        source = textwrap.dedent("".join(lines))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError):  # such as a lambda within an expression
        return ""
    events = EVENTS_OF_CLAIMS if "claim" in source else EVENTS
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    generators = [node for node in functions if _yields(node)]
    methods = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
    }
    is_process = dict(others) | {
        f"self.{node.name}" if node in methods else node.name: (
            node in generators and not node.decorator_list
        )
        for node in functions[1:]
    }
    faults = list[tuple[int, str]]()
    for node in functions:
        for call in _without_use(node):
            text, name = ast.unparse(call), ast.unparse(call.func)
            can_wait = node in generators and name not in is_process
            if is_process.get(name):
                message = f"`{text}` runs nothing: use `env.process({text})`"
            elif can_wait and (name.endswith(events) or text.endswith(".get()")):
                advice = f"`_ = {text}` if it is not to wait"
                message = f"no `yield` waits for `{text}` ({advice})"
            else:
                continue
            faults.append((first + call.lineno - 1, message))
    if not faults:
        return ""
    line, message = min(faults)
    return f"{Path(inspect.getfile(function)).name}, line {line}: {message}"


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
