"""Compilation without a folder for the cache."""

from unittest.mock import Mock, call

from support import check_refused

from cgrsp_simpy.base.compiled import cached


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
