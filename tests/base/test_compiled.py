"""Compilation: without a folder for the cache, and after a change of a module."""

import os
from types import SimpleNamespace
from unittest.mock import Mock, call

import pytest
from support import check_refused

from cgrsp_simpy.base.compiled import cached, forget


def test_what_cannot_be_cached_is_compiled_in_each_process_and_reported_once(caplog):
    caplog.set_level("INFO")
    refused = RuntimeError("cannot cache function 'f'"), lambda function: [function]
    decorator = Mock(side_effect=[*refused * 2, RuntimeError("no compiler")])
    assert [cached(len, decorator, 1, fast=True) for _ in range(2)] == [[len]] * 2
    twice = [call(1, cache=True, fast=True), call(1, fast=True)] * 2
    assert decorator.call_args_list == twice
    assert [message.split(",")[0] for message in caplog.messages] == [
        "numba cannot write a cache"
    ]
    check_refused(lambda: cached(len, decorator), "no compiler", RuntimeError)


@pytest.mark.parametrize(
    ("stem", "compiled_s", "kept"),
    [("loop", 8, False), ("loop", 9, True), ("other", 8, True)],
)
def test_cached_code_is_removed_if_a_module_is_newer(stem, compiled_s, kept, tmp_path):
    index, module = tmp_path / f"{stem}.advance-9.py311.nbi", tmp_path / "loop.py"
    for path, changed_s in ((index, compiled_s), (module, 9)):
        path.touch()
        os.utime(path, (changed_s, changed_s))
    loop = SimpleNamespace(__file__=module)
    forget(tmp_path, [loop], [loop])
    assert index.exists() == kept
