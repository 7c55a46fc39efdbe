"""Execution of tasks: here, in workers, or by a concurrent.futures executor."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from functools import partial
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

from cgrsp_simpy.base.checks import InputError, WorkerError, check_whole, needed
from cgrsp_simpy.studies.isolation import Sent, called

MOST_WORKERS = 1024  # processes at once, at most
SENT_S = 0.5  # duration of short tasks sent to a worker together
Key = TypeVar("Key")
Task = TypeVar("Task")
Result = TypeVar("Result")
_Timed = tuple[list[Result], float]


def as_they_come(
    carry_out: Callable[[Task], Result],
    tasks: Mapping[Key, Task],
    executor: Executor | int | None,
) -> Iterator[tuple[Key, Result]]:
    """Yield the key and result of each task when the result is ready.

    executor: None, or a single task: this process; a number: at most that many
    processes. Short tasks are sent in batches of about SENT_S. If the executor fails,
    its finished results are yielded before a WorkerError; a task's InputError is raised
    unchanged.
    """
    if not (executor is None or isinstance(executor, Executor)):
        check_whole("executor", executor, least=1, most=MOST_WORKERS)
        executor = min(executor, len(tasks)) if len(tasks) > 1 else None
    if executor is None:
        yield from ((key, carry_out(task)) for key, task in tasks.items())
        return
    failure: Exception | None = None
    with _pool(executor) as pool:
        keys, futures = iter(tasks), dict[Future[_Timed[Result]], list[Key]]()
        finished: SimpleQueue[Future[_Timed[Result]]] = SimpleQueue()

        def submit(number: int) -> None:
            nonlocal failure
            sent = list(islice(keys, number))
            if not sent or failure is not None:
                return
            argument = [tasks[key] for key in sent]
            try:
                with _ctrl_c_delayed():
                    call = Sent(partial(_timed, carry_out), argument)
                    future = pool.submit(called, call)
            except Exception as error:  # the executor accepts no more
                failure = error
            else:
                futures[future] = sent
                future.add_done_callback(finished.put)

        try:
            at_once = 2 * executor if isinstance(executor, int) else MOST_WORKERS
            for _ in range(at_once):
                submit(1)
            while futures:
                future = finished.get()
                sent = futures.pop(future)
                number = 1
                try:
                    results, seconds = future.result()
                except Exception as error:
                    failure = failure or error
                else:
                    yield from zip(sent, results)
                    number = min(2 * len(sent), int(SENT_S * len(sent) / seconds))
                submit(max(1, number))
        finally:
            # a user's pool continues: cancel the tasks that have not started
            for future in futures if pool is executor else ():
                future.cancel()
    if isinstance(failure, InputError):
        raise failure
    if failure is not None:
        from concurrent.futures.process import BrokenProcessPool

        message = f"the executor failed: {type(failure).__name__}: {failure}"
        died = isinstance(failure, BrokenProcessPool)
        raise WorkerError("a worker process died" if died else message) from failure


def _timed(
    carry_out: Callable[[Task], Result], tasks: Sequence[Task]
) -> _Timed[Result]:
    """Return the results of tasks and their computing time, seconds."""
    begin_s = time.perf_counter()
    results = [carry_out(task) for task in tasks]
    return results, max(1e-9, time.perf_counter() - begin_s)


@contextmanager
def _pool(executor: Executor | int) -> Iterator[Executor]:
    """Yield the executor, or a pool of processes that ends at once on an interrupt."""
    if isinstance(executor, Executor):
        yield executor
        return
    loky = needed(
        "loky", f"executor(={executor}) must be None where no process can be started"
    )
    with loky.ProcessPoolExecutor(
        executor, initializer=_begin, initargs=(os.getpid(),)
    ) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(kill_workers=True)
            raise


@contextmanager
def _ctrl_c_delayed() -> Iterator[None]:
    """Delay Ctrl-C within a with block, and hide it from processes started in it."""
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
