"""A live page in the browser: days, comparisons, own or rent, advice, clusters."""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.util import find_spec

from cgrsp_simpy.app import SCRIPT
from cgrsp_simpy.base.checks import InputError, check_whole
from cgrsp_simpy.cli.options import Answer, add_options

OPTIONS = {  # Streamlit's settings
    "server.address": "localhost",  # not reachable from other computers
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",  # it works offline and sends nothing
    "client.toolbarMode": "minimal",
    "theme.base": "light",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_options(
        parser,
        ("--port N", int, "of this computer (default: %(default)s)", 8501),
        ("--headless", bool, "open no browser"),
    )


def carry_out(args: argparse.Namespace) -> Answer:
    """Serve the page until it is interrupted."""
    check_whole("--port", args.port, least=1, most=65535)
    if find_spec("streamlit") is None:
        raise InputError('Streamlit is missing: pip install ".[app]" in a clone')
    told = OPTIONS | {
        "server.port": str(args.port),
        "server.headless": str(args.headless).lower(),
    }
    words = [f"--{name}={value}" for name, value in told.items()]
    status = subprocess.call(
        [sys.executable, "-m", "streamlit", "run", str(SCRIPT), *words]
    )
    return Answer("", min(status, 1))
