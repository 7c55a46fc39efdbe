"""Live page of `cgrsp app`: a Streamlit script, main.py, with one function per page.

It needs the extra `app`. Only the other files of this folder import Streamlit.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["SCRIPT"]

SCRIPT = Path(__file__).with_name("main.py")
