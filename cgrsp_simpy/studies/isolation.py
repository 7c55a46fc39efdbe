"""Copies of user code, one per run, so that runs do not influence one another.

A user's function, class or module is copied with its defaults, closure and globals, and
the modules that its functions import. Code of this package and of installed libraries
is shared.
"""

from __future__ import annotations

import functools
import inspect
import io
import marshal
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from random import Random, getstate, setstate
from threading import RLock, current_thread, main_thread
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as reducers
from numpy.random import BitGenerator, get_state, set_state

from cgrsp_simpy.base.checks import InputError, error_text
from cgrsp_simpy.base.metric import users_part
from cgrsp_simpy.base.policy import Named, PolicyError, from_file, in_file
from cgrsp_simpy.engine.events import policy_name
from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.engine.run import Run
from cgrsp_simpy.studies.identity import home, imported_by
from cgrsp_simpy.studies.subject import subject_of

# of `random` and `numpy.random`: all code of a process draws from them
GLOBAL_GENERATORS: dict[Any, Any] = {
    "random": getstate.__self__,  # type: ignore[attr-defined]
    "numpy.random": get_state.__self__,  # type: ignore[attr-defined]
}
# names of a module that are not copied
NOT_COPIED = {"__builtins__", "__loader__", "__spec__", "__cached__"}
CACHED = type(functools.cache(len))
_IMPORTS = RLock()  # held while import statements return copies of modules
ATOMS = {*map(type, (None, True, 0, 0.0, "", b"", (), [])), dict, type, FunctionType}


def run_isolated(scenario: Model, policy: Any, seed: int, **how: Any) -> Run:
    """Run a policy on a seed without changing the state of the user's code.

    how: as in `Subject.run`. Raises InputError if the user's code cannot be copied;
    PolicyError if it draws from a generator that all runs share, or a user's model from
    one that was created before the run: every seed would then draw the same values.
    """
    policy = policy.policy if isinstance(policy, Named) else policy
    compiles = how.get("engine", "simpy") != "simpy"
    subject = subject_of(scenario)
    if compiles and not subject.not_compiled(subject.make_policy(policy)):
        # made of rules, which remember nothing
        return subject.run(policy, seed, **how)
    scenario_copy, policy_copy, modules, generators = isolated(scenario, policy)
    if scenario_copy is scenario and policy_copy is policy:
        return subject.run(policy, seed, **how)
    subject, is_main = subject_of(scenario_copy), current_thread() is main_thread()
    # in other threads, others may draw from the global generators at the same time
    watched = {**(GLOBAL_GENERATORS if is_main else {}), **dict(enumerate(generators))}
    before = _states(watched)
    try:
        # the study's paths are relative to its own folder
        with importing(modules), chdir(os.curdir) if is_main else nullcontext():
            run = subject.run(policy_copy, seed, **how)
        after = _states(watched)
    finally:  # so that the next run is noticed, too, if each seeds the generator
        if is_main:
            setstate(pickle.loads(before[0]))
            set_state(pickle.loads(before[1]))  # noqa: NPY002
    drawn = [name for name, old, new in zip(watched, before, after) if old != new]
    if drawn:
        source = (
            f"the generator of the module {drawn[0]}, which all runs share, even if the"
            " run sets its seed"
            if drawn[0] in GLOBAL_GENERATORS
            else "a generator created before the run, and copied for each run"
        )
        raise PolicyError(
            f'the run draws from {source}: draw from draw("name") in a model, from'
            " view.rng in a policy, or from a generator that the run creates with a"
            " seed from one of these"
        )
    return run


def isolated(
    scenario: Model, policy: Any
) -> tuple[Model, Any, list[ModuleType], list[Any]]:
    """Return the scenario and the policy for one run, copied if they contain user code.

    Third, the copies of the user's modules, for `importing`; fourth, the copies of
    random generators from which a user's model must not draw. A policy in a file is
    loaded. Raises InputError if the code cannot be copied.
    """
    name, policy = (
        policy if isinstance(policy, Named) else (policy_name(policy), policy)
    )
    users = users_part(scenario) is not None
    if isinstance(policy, str):
        if in_file(policy):
            policy = from_file(scenario.policy_label, policy)
        elif not users:
            return scenario, policy, [], []
    pickler = ByValue(share=True)
    try:
        with _IMPORTS:  # not while another thread imports its copies
            data = pickler.dumps((scenario if users else None, policy))
        if not pickler.holds_user_code:
            return scenario, policy, [], []
        (scenario_copy, policy_copy), modules, generators = pickler.loads(data)
    except Exception:
        _check_copyable("policy", name, policy)
        _check_copyable("scenario", scenario.name, scenario)
        raise
    # policies may have generators: the draws of the package's scenarios differ anyway
    if not users:
        scenario_copy, generators = scenario, []
    return scenario_copy, policy_copy, modules, generators


@contextmanager
def importing(modules: Iterable[ModuleType]) -> Iterator[None]:
    """Make import statements return these modules within a with block."""
    copies = {module.__name__: module for module in modules}
    if not copies:
        yield
        return
    with _IMPORTS:  # other threads wait
        before = {name: sys.modules[name] for name in copies if name in sys.modules}
        sys.modules.update(copies)
        try:
            yield
        finally:
            for name in copies:
                sys.modules.pop(name, None)
            sys.modules.update(before)


def _check_copyable(what: str, name: str, value: Any) -> None:
    try:
        pickler = ByValue()
        pickler.loads(pickler.dumps(value))
    except Exception as error:
        raise InputError(
            f"{what} {name!r} cannot be copied for each run: {error_text(error)};"
            " create what cannot be copied, such as a lock or a SimPy environment with"
            " processes, within the run"
        ) from None


class ByValue(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickler of a value and of the modules of the user that it uses, by value.

    share: do not copy constants of this package; then only `loads` of the same object
    can read the result of `dumps`. holds_user_code: whether user code was pickled.
    """

    def __init__(self, share: bool = False) -> None:
        self._file = io.BytesIO()
        super().__init__(self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self.holds_user_code = False
        self._shared: list[Any] | None = [] if share else None
        self._modules: dict[int, ModuleType] = {}  # copies, by the id of the namespace
        self._copied: list[ModuleType] = []
        self._generators: list[Any] = []

    def dumps(self, value: Any) -> bytes:
        """Pickle a value, and the modules and random generators pickled with it."""
        self.dump((value, self._copied, self._generators))
        return self._file.getvalue()

    def loads(self, data: bytes) -> Any:
        """Return copies of the value, modules and generators that `dumps` pickled."""
        unpickler = _Unpickler(io.BytesIO(data))
        unpickler.shared = self._shared or []
        return unpickler.load()

    def persistent_id(self, value: Any) -> int | None:
        kind = type(value)
        if kind in ATOMS or self._shared is None:  # first: asked of every object
            return None
        if kind is not CodeType and not _is_constant(value):
            return None
        self._shared.append(value)
        return len(self._shared) - 1

    def reducer_override(self, value: Any) -> Any:
        for name, generator in GLOBAL_GENERATORS.items():
            if value is generator:
                return _global_generator, (name,)
        if isinstance(value, (Random, BitGenerator)):
            self._generators.append(value)
        # unchanged, with the file named in error messages
        if isinstance(value, CodeType):
            return marshal.loads, (marshal.dumps(value),)
        if isinstance(value, CACHED):
            return _cached, (value.__wrapped__, value.cache_parameters())
        if any(value is copy for copy in self._modules.values()):
            # with its package, for relative imports
            return ModuleType, (value.__name__,), {"__package__": value.__package__}
        if (
            not isinstance(value, (FunctionType, type, ModuleType))
            or home(value) != "user"
        ):
            return super().reducer_override(value)
        self.holds_user_code = True
        if isinstance(value, FunctionType):
            self._namespace(value.__globals__)
            reduced = self._dynamic_function_reduce(value)
            _, attributes = reduced[2]
            attributes["_cloudpickle_submodules"] += imported_by(value)
            return reduced
        if isinstance(value, ModuleType):
            self._copied.append(value)
            content = {
                name: part
                for name, part in vars(value).items()
                if name not in NOT_COPIED
            }
            return _same, (self._copy_of(vars(value)),), content, None, None, _fill
        return _untracked(*reducers._dynamic_class_reduce(value))

    def _namespace(self, names: dict[str, Any]) -> None:
        """Make functions of a module, and the module itself, share one namespace."""
        if id(names) not in self.globals_ref:
            self.globals_ref[id(names)] = _Namespace(self._copy_of(names))

    def _copy_of(self, names: dict[str, Any]) -> ModuleType:
        if id(names) not in self._modules:
            copy = ModuleType(names.get("__name__", "__main__"))
            copy.__package__ = names.get("__package__")
            self._modules[id(names)] = copy
        return self._modules[id(names)]


class _Namespace(dict[str, Any]):
    """Placeholder that is pickled as the namespace of a module."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __reduce__(self) -> Any:
        return vars, (self._module,)


class _Unpickler(pickle.Unpickler):
    shared: list[Any]

    def persistent_load(self, number: int) -> Any:
        return self.shared[number]


def _is_constant(value: Any) -> bool:
    """Return whether a value is a frozen package dataclass without user code."""
    kind: Any = type(value)
    if (
        not hasattr(kind, "__dataclass_fields__")
        or callable(value)
        or home(kind) != "own"
    ):
        return False
    return bool(kind.__dataclass_params__.frozen) and users_part(value) is None


def _untracked(
    maker: Callable[..., Any], arguments: tuple[Any, ...], *more: Any
) -> Any:
    """Return a class's reduce value without cloudpickle's key of the original class."""
    bound = inspect.signature(maker).bind(*arguments)
    bound.arguments["class_tracker_id"] = None
    return maker, bound.args, *more


def _same(value: Any) -> Any:
    return value


def _fill(module: ModuleType, content: Mapping[str, Any]) -> None:
    vars(module).update(content)


def _global_generator(name: str) -> Any:
    return GLOBAL_GENERATORS[name]


def _cached(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


def _states(generators: Mapping[Any, Any]) -> list[bytes]:
    """Return the states of random generators of Python and NumPy."""
    return [pickle.dumps(_state(generator)) for generator in generators.values()]


def _state(generator: Any) -> Any:
    if isinstance(generator, Random):
        return generator.getstate()
    if isinstance(generator, BitGenerator):
        return generator.state
    return generator.get_state(legacy=False)  # the global generator of NumPy


class Sent:
    """A function and its argument; the parts with user code are pickled by value."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        argument: Any,
        modules: Iterable[ModuleType] = (),
    ) -> None:
        self.function, self.argument = function, argument
        self.modules = modules  # copies of those of the sending process

    def __reduce__(self) -> Any:
        return _received, (ByValue().dumps((self.function, self.argument)),)


def called(sent: Sent) -> Any:
    """Call the function with its argument and return the result."""
    with importing(sent.modules):
        return sent.function(sent.argument)


def _received(data: bytes) -> Sent:
    (function, argument), modules, _ = pickle.loads(data)
    return Sent(function, argument, modules)
