"""Where tasks run: here, in worker processes, or on any concurrent.futures executor."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import TypeVar

from cgrsp_simpy.base.checks import InputError, check_whole, needed
from cgrsp_simpy.studies.isolation import Sent, called

MOST_WORKERS = 1024  # processes at once, at most
Key = TypeVar("Key")
Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerError(RuntimeError):
    """A worker process, or the executor, ended before its work did."""


def as_they_come(
    carry_out: Callable[[Task], Result],
    tasks: Mapping[Key, Task],
    executor: Executor | int | None,
) -> Iterator[tuple[Key, Result]]:
    """Yield the key and the result of each task, as they become ready.

    executor: None runs here, as does a single task; a number in as many processes, but
    at most one per task. If the executor fails, its finished results still come, then a
    WorkerError; a task's InputError is raised as it is.
    """
    if not (executor is None or isinstance(executor, Executor)):
        check_whole("executor", executor, least=1, most=MOST_WORKERS)
        executor = min(executor, len(tasks)) if len(tasks) > 1 else None
    if executor is None:
        yield from ((key, carry_out(task)) for key, task in tasks.items())
        return
    failure: Exception | None = None
    with _pool(executor) as pool:
        futures: dict[Future[Result], Key] = {}
        try:
            with _deaf():
                for key, task in tasks.items():
                    futures[pool.submit(called, Sent(carry_out, task))] = key
        except Exception as error:  # the executor accepts no more
            failure = error
        try:
            for future in as_completed(futures):
                try:
                    result = future.result()
                except Exception as error:
                    failure = failure or error
                else:
                    yield futures[future], result
        finally:
            # a user's pool goes on: cancel what has not begun
            for future in futures if pool is executor else ():
                future.cancel()
    if isinstance(failure, InputError):
        raise failure
    if failure is not None:
        from concurrent.futures.process import BrokenProcessPool

        message = f"the executor failed: {type(failure).__name__}: {failure}"
        died = isinstance(failure, BrokenProcessPool)
        raise WorkerError("a worker process died" if died else message) from failure


@contextmanager
def _pool(executor: Executor | int) -> Iterator[Executor]:
    """The executor, or a pool of processes that ends at once on interrupts."""
    if isinstance(executor, Executor):
        yield executor
        return
    loky = needed(
        "loky", f"executor(={executor}) must be None where no process can be started"
    )
    pool = loky.ProcessPoolExecutor(
        executor, initializer=_begin, initargs=(os.getpid(),)
    )
    try:
        yield pool
    except BaseException:
        pool.shutdown(kill_workers=True)
        raise
    finally:
        pool.shutdown()


@contextmanager
def _deaf() -> Iterator[None]:
    """Delay Ctrl-C, and hide it from processes that start inside."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # its start would reset the mask
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(parent: int) -> None:
    """Set up a worker: ignore Ctrl-C, and end when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
