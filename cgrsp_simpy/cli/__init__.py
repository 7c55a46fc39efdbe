"""The command line: `cgrsp` and `python -m cgrsp_simpy`.

Results go to stdout, everything else to stderr. Exit status 0; 1 if runs failed or a
check was not met; 2 with one line for bad arguments or input, or a closed stdout; 130
when interrupted, 143 and 129 at SIGTERM and SIGHUP.
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
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from cgrsp_simpy.analysis.solver import SolverError
from cgrsp_simpy.base.checks import InputError, check_one_of, check_whole, require
from cgrsp_simpy.base.files import MOST_BYTES, MOST_LINES, large_files
from cgrsp_simpy.base.policy import PolicyError
from cgrsp_simpy.base.table import visible
from cgrsp_simpy.cli.options import MOST_HELD, Answer, add_options, summary
from cgrsp_simpy.cli.parsing import COMMON, Parser
from cgrsp_simpy.cli.working import working
from cgrsp_simpy.studies.executors import MOST_WORKERS, WorkerError

__all__ = ["main", "make_parser"]

VERBS = (  # modules of this package, each loaded on use
    "compare",
    "sweep",
    "tune",
    "month",
    "run",
    "bound",
    "advise",
    "market",
    "verify",
    "parameters",
    "policies",
    "thesis",
    "waiting",
    "hgsp",
    "llm",
    "cluster",
    "dag",
    "spot",
    "redraw",
    "lectures",
    "sample",
    "app",
)

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


def make_parser(verb: str = "") -> Parser:
    """Return the parser of all commands; or of one, in a tenth of the time."""
    parser = Parser(
        prog="cgrsp",
        usage="%(prog)s VERB ... [options]",
        description="Simulate scheduling on rented cloud GPUs.",
        epilog="The options below are those of every command, at any position.",
    )
    large = (
        f"read files of more than {MOST_LINES:,} lines or {MOST_BYTES >> 20} MiB"
        " unpacked"
    )
    add_options(
        parser,
        (
            "--format NAME",
            str,
            "of the answer: table, csv or json, unless the command has others",
        ),
        (
            "--workers N",
            int,
            "processes (default: this one; of figures and tables one a core)",
        ),
        (
            "--engine NAME",
            str,
            "of studies of rented slots: auto, simpy or compiled, equal bits",
        ),
        (
            "--yes",
            bool,
            f"start even if it takes more than an hour or {MOST_HELD / 1e9:g} GB",
        ),
        ("--large-files", bool, large),
    )
    parser.add_argument(
        "--version", action="version", version=f"cgrsp {version('cgrsp_simpy')}"
    )
    parser.add_argument(
        "--completion",
        action=Completion,
        metavar="SHELL",
        help=(
            "print the completion of words for bash, zsh or tcsh (needs the extra"
            " completion)"
        ),
    )
    verbs = parser.add_subparsers(
        dest="verb", required=True, metavar="VERB", prog="cgrsp"
    )
    for name in VERBS:
        if verb not in ("", name):
            verbs.add_parser(name)
            continue
        module = import_module(f"{__name__}.{name}")
        line = summary(module.__doc__)
        added = verbs.add_parser(name, help=line.replace("%", "%%"), description=line)
        added.set_defaults(formats=(), parallel=False, engines=False)
        module.add_arguments(added)
        if hasattr(module, "carry_out"):  # otherwise each action has its own
            added.set_defaults(carry_out=module.carry_out)
    return parser


class Completion(argparse.Action):
    """Print the completion script of a shell, and exit."""

    def __call__(
        self, parser: Any, namespace: Any, values: Any, option_string: Any = None
    ) -> None:
        try:
            shtab: Any = import_module("shtab")
        except ImportError:
            parser.error(
                'completion needs shtab: pip install ".[completion]" in a clone'
            )
        if values not in shtab.SUPPORTED_SHELLS:
            parser.error(
                f"--completion(={values!r}) must be {', '.join(shtab.SUPPORTED_SHELLS)}"
            )
        print(shtab.complete(make_parser(), values), flush=True)
        parser.exit()


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    parser = make_parser(next((word for word in words if word in VERBS), ""))
    for word in words:
        if word.startswith("-") and word.endswith(
            "=--"
        ):  # argparse would drop such a value
            parser.error(f"argument {word[:-3]}: expected one argument")
    # otherwise it takes the verb that follows
    if words and COMMON.get(words[-1]):
        parser.error(f"argument {words[-1]}: expected one argument")
    return parser.parse_args(words)


def _check_common(args: argparse.Namespace) -> None:
    """Raise InputError for a common option that this command does not support."""
    if args.format is not None:
        require(bool(args.formats), "--format", args.format, "left out here")
        check_one_of("--format", args.format, args.formats)
    elif args.formats:
        args.format = args.formats[0]
    if args.workers is not None:
        require(
            args.parallel,
            "--workers",
            args.workers,
            "left out here: one process does it",
        )
        check_whole("--workers", args.workers, least=1, most=MOST_WORKERS)
    if args.engine is not None:
        require(args.engines, "--engine", args.engine, "left out here: it is SimPy")
        check_one_of("--engine", args.engine, ("auto", "simpy", "compiled"))


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
    try:
        args = _parsed(sys.argv[1:] if arguments is None else arguments)
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:  # a completion cannot be printed
        return _failed(f"cgrsp: {error.strerror}", 2)
    _end_in_order()
    to_stderr = logging.StreamHandler()
    to_stderr.setFormatter(Visible("cgrsp: %(message)s"))
    logging.basicConfig(handlers=[to_stderr], level=logging.INFO)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)
    return _carried_out(args)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace what the encoding of stdout does not have; an error handler of codecs."""
    assert isinstance(error, UnicodeEncodeError)
    text = error.object[error.start : error.end]
    return (
        "".join(ASCII.get(letter) or ascii(letter)[1:-1] for letter in text),
        error.end,
    )


class _Terminated(KeyboardInterrupt):
    """Signal to end the command, as Ctrl-C does. number: of the signal."""

    def __init__(self, number: int) -> None:
        self.number = number


def _end_in_order() -> None:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does, with its workers."""

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
    """Let a second signal end the process at once, also in C code.

    Python calls handlers only between its own instructions. Needs glibc, whose
    `sysv_signal` removes a handler at the first signal.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None)
    if hasattr(libc, "sysv_signal"):
        for function in (libc.signal, libc.sysv_signal):
            function.argtypes = (ctypes.c_int, ctypes.c_void_p)
            function.restype = ctypes.c_void_p
        # the C function that records signals for Python
        handler = libc.signal(number, None)
        libc.sysv_signal(number, handler)


def _carried_out(args: argparse.Namespace) -> int:
    from cgrsp_simpy.studies.replicate import studies_on  # loads part of SciPy

    try:
        with warnings.catch_warnings():
            # NumPy's warnings if a number overflows, since the result is then invalid
            warnings.filterwarnings(
                "error", category=RuntimeWarning, module=r"(cgrsp_simpy|numpy|scipy)\."
            )
            with (
                large_files() if args.large_files else nullcontext(),
                working(_told(args)) if not _prints(args) else nullcontext(),
            ):
                _check_common(args)
                with studies_on(args.engine or "auto"):
                    text, status = cast(Answer, args.carry_out(args))
        print(visible(text, "\n\t"), flush=True)
    except (InputError, PolicyError, SolverError, WorkerError) as error:
        return _failed(f"cgrsp {args.verb}: {error}", 2)
    except MemoryError as error:
        return _failed(
            f"cgrsp {args.verb}: not enough memory{f': {error}' if str(error) else ''}",
            2,
        )
    except (OverflowError, RecursionError, RuntimeWarning) as error:
        return _failed(
            f"cgrsp {args.verb}: a number is out of range for this: {error}", 2
        )
    except BrokenPipeError:
        return _reader_left()
    except OSError as error:
        named = f": {error.filename}" if error.filename else ""
        return _failed(f"cgrsp {args.verb}: {error.strerror}{named}", 2)
    except _Terminated as end:
        return _failed(
            f"cgrsp {args.verb}: ended by {signal.Signals(end.number).name}",
            128 + end.number,
        )
    except KeyboardInterrupt:
        return _failed(f"cgrsp {args.verb}: interrupted", 130)
    return status


def _told(args: argparse.Namespace) -> str:
    """Return the name of a command and its action."""
    words = (
        "cgrsp",
        args.verb,
        getattr(args, "action", ""),
        getattr(args, "id", ""),
    )
    return visible(" ".join(word for word in words if word))


def _prints(args: argparse.Namespace) -> bool:
    """Whether a command prints while it runs, or runs until it is interrupted."""
    return args.verb == "app" or not {"events", "step"}.isdisjoint(
        getattr(args, "show", None) or ()
    )


def _reader_left() -> int:
    """Drop the remaining output, as with `| head`; exit status 0."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _failed(line: str, status: int) -> int:
    print(visible(" ".join(line.split())), file=sys.stderr)
    return status
