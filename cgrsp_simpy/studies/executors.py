"""Where tasks run: in this process, in processes of our own, or on any executor of concurrent.futures."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import TypeVar

from cgrsp_simpy.model.checks import check_whole

__all__ = ["WorkerError", "as_they_come"]

Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerError(RuntimeError):
    """A worker process, or the executor, ended before its work did."""


def as_they_come(
    carry_out: Callable[[Task], Result], tasks: Mapping[int, Task], executor: Executor | int | None
) -> Iterator[tuple[int, Result]]:
    """The number and the result of each task, in the order in which they are ready.

    If the executor fails, what it has finished still comes, and then a WorkerError.
    """
    if executor is None:
        yield from ((number, carry_out(task)) for number, task in tasks.items())
        return
    failure: Exception | None = None
    with _pool(executor) as pool:
        futures: dict[Future[Result], int] = {}
        try:
            with _deaf():
                for number, task in tasks.items():
                    futures[pool.submit(carry_out, task)] = number
        except Exception as error:  # the executor takes no more
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
            for future in futures if pool is executor else ():  # another's pool goes on: take back what has not begun
                future.cancel()
    if failure is not None:
        raise WorkerError(_told(failure)) from failure


def _told(failure: Exception) -> str:
    if isinstance(failure, BrokenProcessPool):
        return 'a worker process died (a script must call this under if __name__ == "__main__":)'
    return f"the executor failed: {type(failure).__name__}: {failure}"


@contextmanager
def _pool(executor: Executor | int) -> Iterator[Executor]:
    """The executor given, or a pool of processes of our own, which ends at once when we are interrupted."""
    if isinstance(executor, Executor):
        yield executor
        return
    check_whole("executor", executor, least=1)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(executor, multiprocessing.get_context("spawn"), _ignore_interrupt)
    try:
        yield pool
    except BaseException:
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes that start in here ignore Ctrl-C from their first instruction on; so do we, for this moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_interrupt() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent ends the workers
