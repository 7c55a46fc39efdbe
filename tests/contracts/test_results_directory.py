"""A results directory as a state machine: a study is begun, stopped, resumed, its files
are lost, damaged or exchanged. It ends with the files of an undisturbed study, or it is
rejected with one line and nothing is changed.
"""

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from studies.directories import compared, files, refused

import cgrsp_simpy as cg
from cgrsp_simpy.studies import store
from cgrsp_simpy.studies.store import verifying

small = partial(compared, policies=("fifo",), seeds=range(3))  # in three tasks
OTHERS: tuple[Callable[[Path], object], ...] = (
    partial(small, seeds=range(4)),
    partial(small, seeds=range(1, 4)),
    partial(small, policies=("edf",)),
    partial(small, scenario=cg.day("quiet", 4)),
    partial(small, precision=0.9),
)
TEXTS = (
    *(b"", b"[[[6, 1", b"\xff\xfe", b"[]", b"{}", b"null", b"5", b'{"outcomes": 1}'),
    *(b"[" * 100_000, b'{"a":' * 500 + b"1" + b"}" * 500),
)
NUMBERS = (float("nan"), float("inf"), -1, 6.0000001, 1e9, "6", None, True)
STOPS = (KeyboardInterrupt, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
chunks_exist = precondition(lambda self: self.chunks())
sound = precondition(lambda self: not self.damaged)


class Directory(RuleBasedStateMachine):
    """`whole`: the files of an undisturbed study. `path`: the disturbed directory."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.patch = mock.patch("cgrsp_simpy.studies.replicate.TASK_S", 0.001)
        self.patch.start()
        self.path = self.folder / "results"
        small(self.folder / "whole")  # the command of the manifest is kept
        self.whole = files(self.folder / "whole")
        self.damaged = set()  # names of files

    def teardown(self):
        self.patch.stop()
        shutil.rmtree(self.folder)

    def chunks(self):
        return sorted((self.path / "chunks").glob("*.json"))

    def is_refused(self, study, *words):
        before = files(self.path)
        refused(study, str(self.path), *words)
        assert files(self.path) == before

    @rule()
    def resumed(self):
        if self.damaged:
            self.is_refused(lambda: small(self.path), "remove it")
            return
        small(self.path)
        assert files(self.path) == self.whole

    @sound
    @rule(call=st.integers(1, 8), fault=st.sampled_from(STOPS))
    def stopped(self, call, fault):
        calls, fsync = [], os.fsync

        def stop(number):
            calls.append(number)
            if len(calls) == call:
                os.ftruncate(number, 3)
                raise fault
            fsync(number)

        with mock.patch.object(os, "fsync", stop):
            try:
                small(self.path)
            except KeyboardInterrupt:
                pass
            except cg.InputError as error:
                assert os.strerror(errno.ENOSPC) in str(error)
                assert not [*self.path.rglob("*.part")]

    @chunks_exist
    @rule(place=st.integers(0, 2))
    def lost(self, place):
        path = self.chunks()[place % len(self.chunks())]
        path.unlink()
        self.damaged.discard(path.name)

    @chunks_exist
    @rule(place=st.integers(0, 2), text=st.sampled_from(TEXTS))
    def overwritten(self, place, text):
        path = self.chunks()[place % len(self.chunks())]
        path.write_bytes(text)
        self.damaged.add(path.name)

    @sound
    @chunks_exist
    @rule(
        place=st.integers(0, 2), at=st.integers(0, 8), number=st.sampled_from(NUMBERS)
    )
    def altered(self, place, at, number):
        path = self.chunks()[place % len(self.chunks())]
        kept = json.loads(path.read_text())
        if json.dumps(kept["outcomes"][0][0][at]) != json.dumps(number):
            kept["outcomes"][0][0][at] = number
            path.write_text(json.dumps(kept))
            self.damaged.add(path.name)

    @precondition(lambda self: len(self.chunks()) > 1)
    @rule()
    def exchanged(self):
        path, other = self.chunks()[:2]
        path.write_bytes(other.read_bytes())
        self.damaged.add(path.name)

    @precondition(lambda self: (self.path / "configuration.json").exists())
    @rule(other=st.sampled_from(OTHERS))
    def of_another_study(self, other):
        self.is_refused(lambda: other(self.path), "use another directory")

    @precondition(lambda self: (self.path / "configuration.json").exists())
    @rule()
    def of_another_version(self):
        with mock.patch.object(store, "source_digest", lambda: "0123456789abcdef"):
            self.is_refused(lambda: small(self.path), "source 0123456789abcdef")

    @sound
    @precondition(lambda self: len(self.chunks()) == 3)
    @rule()
    def verified(self):
        with verifying(3) as checked:
            small(self.path)
        assert (len(checked.tasks), checked.differing) == (3, [])

    @invariant()
    def sound_files_are_those_of_the_whole_study(self):
        for name, content in files(self.path).items():
            part = name.endswith(".part") or Path(name).name in self.damaged
            assert part or content == self.whole[name]


Directory.TestCase.settings = settings(max_examples=8, stateful_step_count=8)
test_directory = Directory.TestCase
