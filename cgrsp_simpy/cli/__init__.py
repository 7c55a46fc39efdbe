"""The command line: `cgrsp` and `python -m cgrsp_simpy`.

Results go to stdout, everything else to stderr. Exit status: 0 for success; 1 if runs
or a check failed; 2, with a one-line message, for invalid arguments or input, or a
closed stdout; 130 after an interrupt, 143 after SIGTERM and 129 after SIGHUP.
"""

from __future__ import annotations

import argparse
import codecs
import ctypes
import io
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from cgrsp_simpy.analysis.solver import SolverError
from cgrsp_simpy.base.checks import (
    InputError,
    WorkerError,
    check_one_of,
    check_whole,
    nearest,
    require,
    shown,
)
from cgrsp_simpy.base.files import large_files
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import progress, visible
from cgrsp_simpy.cli.parsing import (
    SCENARIOS,
    Answer,
    Command,
    Parser,
    fill,
    one_line,
    wrapped,
)

__all__ = ["VERBS", "main", "overview", "parser_of"]

VERBS = {  # verb -> module of this package, loaded on use, and its summary
    "run": (
        "run",
        "Run one policy once; print figures, rows, events or steps, or draw a picture.",
    ),
    "step": (
        "run",
        "Write a page that steps through the future event list of a run, with"
        " processes, resources and source.",
    ),
    "compare": (
        "run",
        "Compare policies, or alternatives of a function, on the same "
        "seeds: means with 95 % intervals, and paired tests against the "
        "first.",
    ),
    "sweep": (
        "run",
        "Compare policies at every point of a grid: parameters with several"
        " values, such as slots=4,5,6 or rh:reserve=0,1.",
    ),
    "parameters": (
        "parameters",
        "List the parameters of a scenario with value, unit and meaning, "
        "or write its file.",
    ),
    "policies": (
        "parameters",
        "List the policies of a scenario with their parameters.",
    ),
    "advise": (
        "decisions",
        "Recommend a policy, a number of slots and GPU types, in USD per day.",
    ),
    "next": (
        "live",
        "List the dispatches that a policy makes now for a queue whose state is"
        " read from a file.",
    ),
    "forecast": (
        "live",
        "Forecast when each job of a queue starts and ends, and what one more slot,"
        " another policy or a later hour would change.",
    ),
    "bound": (
        "decisions",
        "Compute a lower bound for all policies on a scenario of rented slots.",
    ),
    "plan": (
        "plan",
        "Plan how many machines to own, and which jobs wait for them: for a log,"
        " with the yearly bill and its uncertainty, or by formula.",
    ),
    "replay": (
        "records",
        "Replay a log of a cluster: find the scheduler that matches its records,"
        " and the effect of changes.",
    ),
    "market": (
        "records",
        "Summarise recorded stock, or fit a model of stock to it.",
    ),
    "papers": (
        "papers",
        "Reproduce the tables and figures of the papers, or check them.",
    ),
    "redraw": (
        "papers",
        "Draw figures again from their CSV files, in another style, "
        "without simulating.",
    ),
    "verify": (
        "records",
        "Repeat a sample of the tasks of a results directory, and check that"
        " the results are identical.",
    ),
    "sample": (
        "records",
        "Write a small log of jobs, or generated tasks, to try out commands.",
    ),
    "lectures": (
        "teaching",
        "List the lectures on discrete-event simulation, print or copy one, "
        "or write it as a notebook, as slides or as an assignment.",
    ),
    "app": (
        "teaching",
        "Serve an interactive page in the browser: days, comparisons, own"
        " or rent, advice, clusters.",
    ),
}
# option without a verb -> the number of words that follow
ALONE = {"-h": 0, "--help": 0, "--version": 0, "--completion": 1}
SILENT_S, EVERY_S = 1.0, 0.5  # delay and period of the progress line

QUIET = {  # loggers, with the lowest level shown
    "matplotlib": logging.WARNING,  # it logs how it saves
    "fontTools": logging.WARNING,  # it logs the glyphs of a PDF
    "traitlets": logging.ERROR,  # for slides: it logs the kernel
}

ASCII = {  # for terminals that cannot show a character; others are escaped
    "±": "+-",
    "–": "-",
    "…": "...",
    "×": "x",
    "∞": "inf",
}
STRICT = ("strict", "surrogateescape")  # Python's choice of error handlers for stdout


class Visible(logging.Formatter):
    """Formatter that escapes control characters in log lines."""

    def format(self, record: logging.LogRecord) -> str:
        return visible(super().format(record))


def command_of(verb: str) -> Command:
    """Return the command of a verb."""
    return cast(Command, import_module(f"{__name__}.{VERBS[verb][0]}").COMMANDS[verb])


def parser_of(verb: str) -> Parser:
    """Return the parser of a verb."""
    parser = Parser(prog=f"cgrsp {verb}", description=VERBS[verb][1])
    fill(parser, command_of(verb))
    return parser


def overview() -> str:
    """Return the help of the program: all verbs with their summaries."""
    lines = ["usage: cgrsp VERB ... [options]", ""]
    for verb, (_, summary) in VERBS.items():
        lines += [f"  {verb}", *wrapped(summary, "      ")]
    lines += [
        "",
        "cgrsp VERB -h prints the help of a verb, cgrsp --version prints the version.",
    ]
    return "\n".join(
        [
            *lines,
            *wrapped(
                "cgrsp --completion SHELL prints the completion for bash, zsh or tcsh"
                " (needs the extra completion)."
            ),
        ]
    )


WORDS = """
_cgrsp_words() {
  local words names short
  read -ra words <<<"$COMP_LINE"
  case ${words[1]} in
    plan) words[2]=waiting ;;
    replay) words[2]=cluster ;;
  esac
  names=$(cgrsp parameters "${words[2]}" --format csv 2>/dev/null |
    cut -d, -f1 | tail -n +2)
  short=$(sed 's/.*[.]//' <<<"$names" | sort | uniq -u)
  compgen -S = -W "$(sort -u <<<"$names"$'\\n'"$short")" -- "$1"
}
"""
"""Completion of the words behind a scenario, for bash, by full and by short names.

It reads the line, because bash divides words such as dag:er at the colon.
"""
JOINED = """
_cgrsp() {
  _shtab_cgrsp
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -F _cgrsp cgrsp
"""
"""Completion in bash that leaves no space between a name and its value."""


def completion(shell: str) -> str:
    """Return the completion script of a shell; InputError for an unknown one."""
    try:
        shtab: Any = import_module("shtab")
    except ImportError:
        raise InputError(
            'completion needs shtab: pip install ".[completion]" in a clone'
        ) from None
    check_one_of("--completion", shell, shtab.SUPPORTED_SHELLS)
    parser = argparse.ArgumentParser(prog="cgrsp")
    verbs = parser.add_subparsers(dest="verb")
    for verb, (_, summary) in VERBS.items():
        added = verbs.add_parser(verb, help=summary.replace("%", "%%"))
        fill(added, command_of(verb))
        for action in added._actions:
            if action.dest == "words":
                action.complete = {"bash": "_cgrsp_words"}  # type: ignore[attr-defined]
    text: str = shtab.complete(parser, shell, preamble={"bash": WORDS})
    return text + (JOINED if shell == "bash" else "")


def _parsed(words: Sequence[str]) -> argparse.Namespace | str:
    """Return the arguments, or a text to print."""
    verb, *rest = words or ["-h"]
    surplus = rest[ALONE.get(verb, len(rest)) :]
    require(not surplus, "arguments", " ".join(surplus), f"omitted with {verb}")
    if verb in ("-h", "--help"):
        return overview()
    if verb == "--version":
        return f"cgrsp {import_module('cgrsp_simpy').__version__}"
    if verb == "--completion":
        return completion("".join(rest))
    if verb not in VERBS:
        meant = nearest(verb, VERBS)
        if verb.startswith("-"):
            meant = "; options follow the verb, as in cgrsp compare hectic --seeds 5"
        elif verb in SCENARIOS:
            meant = f"; the scenario follows the verb, as in cgrsp compare {verb}"
        allowed = ", ".join(VERBS)
        raise InputError(f"unknown verb {shown(verb)}{meant} (allowed: {allowed})")
    args = parser_of(verb).parse_words(rest)
    args.verb = verb
    return args


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    # closed, as by 2>&- in a shell: print results without messages
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        return _failed("cgrsp: stdout is closed, so that no result can be printed", 2)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in STRICT:
        codecs.register_error("cgrsp", _in_ascii)
        sys.stdout.reconfigure(errors="cgrsp")
    name = "cgrsp"
    try:
        args = _parsed(sys.argv[1:] if arguments is None else arguments)
        if isinstance(args, str):
            print(args, flush=True)
            return 0
        name = f"cgrsp {args.verb}"
        text, status = _carried_out(args)
        print(visible(text, "\n\t"), flush=True)
    except (InputError, PolicyError, SolverError, WorkerError) as error:
        return _failed(f"{name}: {error}", 2)
    except MemoryError as error:
        detail = f": {error}" if str(error) else ""
        return _failed(f"{name}: not enough memory{detail}", 2)
    except (OverflowError, RecursionError, RuntimeWarning) as error:
        return _failed(f"{name}: a number is out of range for this: {error}", 2)
    except BrokenPipeError:
        # stdout was closed, as by `| head`: further output has no reader
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        file = f": {error.filename}" if error.filename else ""
        return _failed(f"{name}: {error.strerror}{file}", 2)
    except KeyboardInterrupt as end:
        return _interrupted(name, end)
    except Exception as error:
        # a library that cleans up after an interrupt may raise another error
        if isinstance(error.__context__, KeyboardInterrupt):
            return _interrupted(name, error.__context__)
        raise
    return status


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Error handler of codecs: replace characters that stdout's encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return (
        "".join(ASCII.get(letter) or ascii(letter)[1:-1] for letter in text),
        error.end,
    )


class _Terminated(KeyboardInterrupt):
    """Exception to end the command, like Ctrl-C. number: the signal's number."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end_in_order() -> None:
    """Let SIGTERM and SIGHUP end the command and its workers, like Ctrl-C."""

    def end(number: int, _: Any) -> None:
        raise _Terminated(number)

    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            # nohup ignores it
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
                _end_at_second(number)


def _end_at_second(number: int) -> None:
    """Let a second signal end the process at once, even in C code.

    Needs glibc, whose `sysv_signal` removes a handler at the first signal.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "sysv_signal"):
        for function in (libc.signal, libc.sysv_signal):
            function.argtypes = (ctypes.c_int, ctypes.c_void_p)
            function.restype = ctypes.c_void_p
        # the C function that records signals for Python
        libc.sysv_signal(number, libc.signal(number, None))


def _carried_out(args: argparse.Namespace) -> Answer:
    """Carry out a command, with its signal handlers, log and warnings set up."""
    _end_in_order()
    to_stderr = logging.StreamHandler()
    to_stderr.setFormatter(Visible("cgrsp: %(message)s"))
    logging.basicConfig(handlers=[to_stderr], level=logging.INFO)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
    with (
        warnings.catch_warnings(),
        large_files() if args.large_files else nullcontext(),
        _working(f"cgrsp {args.verb}") if not _prints(args) else nullcontext(),
        _study_settings(args),
    ):
        # NumPy's warnings if a number overflows, since the result is then invalid
        warnings.filterwarnings(
            "error", category=RuntimeWarning, module=r"(cgrsp_simpy|numpy|scipy)\."
        )
        return cast(Answer, args.carry_out(args))


@contextmanager
def _study_settings(args: argparse.Namespace) -> Iterator[None]:
    """Check the number of workers and set the engine; without either, load nothing."""
    if args.workers is not None:
        from cgrsp_simpy.studies.executors import MOST_WORKERS

        check_whole("--workers", args.workers, least=1, most=MOST_WORKERS)
    if not hasattr(args, "engine"):
        yield
        return
    from cgrsp_simpy.studies.replicate import studies_on

    with studies_on(args.engine):
        yield


@contextmanager
def _working(what: str) -> Iterator[None]:
    """Show the task and the elapsed time on a terminal, after SILENT_S."""
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    clock = threading.Thread(target=_show_elapsed, args=(what, ended), daemon=True)
    clock.start()
    try:
        yield
    finally:
        ended.set()
        clock.join()


def _show_elapsed(what: str, ended: threading.Event) -> None:
    if ended.wait(SILENT_S):
        return
    with progress(desc=what, bar_format="{desc}: {elapsed}", delay=0) as line:
        line.start_t -= SILENT_S
        while not ended.wait(EVERY_S):
            line.refresh()


def _prints(args: argparse.Namespace) -> bool:
    """Return whether a command prints while it runs, or runs until interrupted."""
    return args.verb == "app" or not {"events", "step"}.isdisjoint(
        getattr(args, "show", None) or ()
    )


def _interrupted(what: str, end: KeyboardInterrupt) -> int:
    number = getattr(end, "number", signal.SIGINT)
    how = (
        "interrupted"
        if number == signal.SIGINT
        else f"ended by {signal.Signals(number).name}"
    )
    return _failed(f"{what}: {how}", 128 + number)


def _failed(line: str, status: int) -> int:
    with suppress(OSError):  # stderr may be on a full disk
        print(one_line(line), file=sys.stderr)
    return status
